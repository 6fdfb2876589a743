/* value.h -- JSON values seen at run time, sets of them, and what an unfinished text may become.
 * Tested by tests/c/test_value.c.
 *
 * Who asks: an array whose items must differ keeps the set of its finished items.  A finished item
 * is read once; while the next one is being written, nearly every byte asks whether it may still
 * become a member of the set.
 *
 * Value   interned canonical bytes, so that equal ids mean equal JSON values.  The first byte tells
 *         the kind: scalars are as in scanner.h, and
 *             [ 000 item item ...      arrays: ids, as 32-bit words
 *             { 000 key value ...      objects: ids, sorted by key
 * Set     a crit-bit tree over those bytes, its nodes interned.  Such a tree is determined by its
 *         members, so equal ids mean equal sets, and sets that differ in a few members share the
 *         rest.  The members that begin with given bytes are one subtree.
 *
 *             set 0            the empty set
 *             2 * value + 1    the set of one value
 *             2 * node + 2     a node: the bit where its members part, and either side
 *
 * Depth   texts are read with an explicit stack; values nest at most GLK_VALUE_DEPTH deep.
 * Memory  all of it on the owner's account; a failed call may leave values behind that nobody uses.
 * Threads none: the owner holds a lock.
 */
#ifndef GLK_VALUE_H
#define GLK_VALUE_H

#include "hash.h"
#include "vec.h"

enum {
    GLK_VALUE_DEPTH = 1000,      /* budget value_depth: open arrays and objects */
    GLK_VALUE_BYTES = 1 << 27,   /* budget value_bytes: length of a text */
    GLK_SEEN_VALUES = 1 << 16    /* budget seen_values: members of a set */
};

typedef struct glk_values {
    glk_arena arena;       /* canonical bytes */
    glk_table values;      /* by value id: canonical bytes and their count */
    glk_index value_index; /* canonical bytes -> value id */
    glk_table nodes;       /* of the trees */
    glk_index node_index;  /* (bit, sides) -> node */
    glk_vec bytes;         /* scratch: the canonical bytes being made */
    glk_vec frames, ids;   /* scratch: the containers being read, their finished children (u32) */
    glk_vec path;          /* scratch: u32, nodes of a tree */
} glk_values;

void glk_values_init(glk_values *self, glk_account *account);
void glk_values_free(glk_values *self);

/* The value that a whole JSON text denotes, white space around it allowed.  Of members with the
 * same key the last one counts; numbers are compared by exact value, and no exponent is expanded.
 * GLK_ERR_ARGUMENT if it is no JSON text (RFC 8259, in UTF-8); GLK_ERR_LIMIT value_depth or
 * value_bytes; GLK_ERR_MEMORY.  O(length). */
glk_status glk_value_read(glk_values *self, const uint8_t *text, size_t count, uint32_t *id,
                          glk_error *err);

/* The set with one more member.  GLK_ERR_LIMIT seen_values, GLK_ERR_MEMORY.  O(depth of the tree),
 * which is at most the bits of a value and mostly the logarithm of the members. */
glk_status glk_values_add(glk_values *self, uint32_t set, uint32_t value, uint32_t *out,
                          glk_error *err);

/* O(depth of the tree). */
bool glk_values_has(const glk_values *self, uint32_t set, uint32_t value);

/* Whether some way to finish the unfinished JSON text denotes a member of the set.
 *     Exact for strings, literals and whatever is finished, in any order of an object's members.
 *     Inside a number true if the digits fit, whatever the exponent: it may still follow.
 *     The rest of the text is taken to repeat no key whose member is finished; then an answer of
 *     false holds for every longer text, too.
 * False for what begins no JSON text.  Adds no values.  GLK_ERR_LIMIT value_bytes, GLK_ERR_MEMORY.
 * O(length), and with an open array or object O(members of that kind until one fits). */
glk_status glk_values_may_become(glk_values *self, uint32_t set, const uint8_t *text, size_t count,
                                 bool *out, glk_error *err);

#endif
