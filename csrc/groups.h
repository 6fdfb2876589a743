/* groups.h -- kinds of characters that most texts repeat freely.  Tested by tests/c/test_vocab.c.
 *
 * A walk of the trie spends its time on subtrees in which nothing happens: whatever letters follow
 * inside a string, the string goes on.  So each subtree is marked with the groups of the characters
 * in it, each state with the groups that it takes in any order, and a subtree whose groups the
 * state takes is decided at its top.
 *
 * ASCII is in six groups, but the quote, the backslash and controls, which belong to none.  TEXT is
 * every longer code point, in UTF-8 (RFC 3629), that ECMA-262 does not count as white space, so that
 * patterns of words take it too.  It is read by an automaton, since a token may end inside a
 * character, and the bytes of a character may be the end of one and the start of another. */
#ifndef GLK_GROUPS_H
#define GLK_GROUPS_H

#include "common.h"

enum {
    GLK_GROUP_SPACE = 1,
    GLK_GROUP_DIGIT = 2,
    GLK_GROUP_LOWER = 4,
    GLK_GROUP_UPPER = 8,
    GLK_GROUP_DASH = 16, /* - and _ */
    GLK_GROUP_PUNCTUATION = 32,
    GLK_GROUP_TEXT = 64,
    GLK_GROUP_OTHER = 128, /* whatever is in none of these: nobody takes it freely */
    GLK_GROUPS_ASCII = 63
};

/* States of the automaton of TEXT. */
enum { GLK_TEXT_BOUNDARY = 0, GLK_TEXT_STATES = 18, GLK_TEXT_DEAD = 18 };

/* The group of an ASCII byte, or OTHER. */
uint8_t glk_group_of(uint8_t byte);
/* The state after a byte from 0x80 on; GLK_TEXT_DEAD: no code point of TEXT goes on so. */
uint32_t glk_text_after(uint32_t state, uint8_t byte);

#endif
