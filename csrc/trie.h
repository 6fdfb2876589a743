/* trie.h -- token texts as one flat byte trie.  Tested by tests/c/test_vocab.c.
 *
 * Nodes lie in depth-first order with siblings sorted by byte, and `tokens` lists every token id
 * sorted by its bytes.  To accept node i's byte go to i + 1; to reject it go to node[i].skip.  Two
 * ranges fall out of the ordering for free:
 *     ids spelled exactly by node i   tokens[node[i].first .. node[i + 1].first)
 *     ids at or below node i          tokens[node[i].first .. node[node[i].skip].first)
 * Invariants  i < node[i].skip <= count; node[0] is the empty prefix; node[count] is a sentinel
 *             whose `first` is token_count and whose depth is 0.
 * Ownership   the arrays live in the arena given to glk_trie_build; immutable afterwards.
 */
#ifndef GLK_TRIE_H
#define GLK_TRIE_H

#include "vec.h"

typedef struct glk_trie_node {
    uint32_t skip;   /* index of the first node outside this subtree */
    uint32_t first;  /* index in `tokens` of the first id at or below this node */
    uint16_t depth;  /* bytes from the root */
    uint16_t height; /* longest way down from here, in bytes */
    uint8_t byte;    /* label of the edge from the parent; unused in node[0] */
    bool plain;      /* every byte below is one that glk_trie_plain names */
} glk_trie_node;

/* Bytes that stand for themselves in most texts and inside JSON strings: printable ASCII but the
 * quote and the backslash.  Four subtrees out of five hold nothing else, and a state that all of
 * them leave as it is takes such a subtree whole. */
static inline bool glk_trie_plain(uint8_t byte) {
    return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

typedef struct glk_trie {
    const glk_trie_node *nodes; /* count + 1 of them */
    const uint32_t *tokens;
    uint32_t count, token_count;
} glk_trie;

/* One text to put in: `text` may be empty (then the id sits at the root). */
typedef struct glk_trie_item {
    const uint8_t *text;
    uint32_t length, id;
} glk_trie_item;

/* Appends tokens[first .. end) to a list of ids. */
static inline glk_status glk_trie_append(const glk_trie *self, uint32_t first, uint32_t end,
                                         glk_vec *ids, glk_error *err) {
    GLK_TRY(glk_vec_reserve(ids, end - first, err));
    if (end > first) {
        memcpy(GLK_VEC_U32(ids) + ids->count, self->tokens + first,
               (end - first) * sizeof(uint32_t));
        ids->count += end - first;
    }
    return GLK_OK;
}

/* child[b] = the root's child with byte b, or GLK_NONE. */
void glk_trie_index_root(const glk_trie *self, uint32_t child[256]);

/* Sorts `items` (by text, then id) and builds; equal (text, id) pairs are kept once.
 * GLK_ERR_LIMIT for a text over 65,535 bytes. */
glk_status glk_trie_build(glk_trie_item *items, uint32_t count, glk_arena *arena, glk_trie *out,
                          glk_error *err);

#endif
