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

#include "bitmask.h"
#include "groups.h"
#include "vec.h"

typedef struct glk_trie_node {
    uint32_t skip;   /* index of the first node outside this subtree */
    uint32_t first;  /* index in `tokens` of the first id at or below this node */
    uint16_t depth;  /* bytes from the root */
    uint16_t height; /* longest way down from here, in bytes */
    uint8_t byte;    /* label of the edge from the parent; unused in node[0] */
    uint8_t groups;  /* groups.h: of the edge and all that is below, read from a boundary between
                        characters on; OTHER where the trie is small */
    uint16_t wide;   /* place in the trie's `wide`, plus one; 0: the children are few, or not indexed */
} glk_trie_node;

/* The children of a node by byte.  The children of the root and of a few hundred more nodes are many
 * and far apart, and most states can go on with few bytes: asking each child in turn would be one
 * cache miss after another. */
typedef struct glk_trie_wide {
    glk_bytes bytes;  /* those of the children */
    uint32_t end;     /* the node's `skip` */
    uint32_t child[]; /* by rank of the byte */
} glk_trie_wide;

typedef struct glk_trie {
    const glk_trie_node *nodes; /* count + 1 of them */
    const uint32_t *tokens;
    const glk_trie_wide *const *wide; /* NULL: not indexed */
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

static inline const glk_trie_wide *glk_trie_wide_at(const glk_trie *self, uint32_t node) {
    uint32_t place = self->nodes[node].wide;
    return place == 0 ? NULL : self->wide[place - 1];
}

/* The first child whose byte is `from` or more and in `live`, or the first node after them all. */
static inline uint32_t glk_trie_next(const glk_trie_wide *wide, const glk_bytes *live,
                                     uint32_t from) {
    for (uint32_t w = from >> 6; w < 4; w++) {
        uint64_t bits = wide->bytes.word[w] & live->word[w];
        bits &= w == from >> 6 ? UINT64_MAX << (from & 63) : UINT64_MAX;
        if (bits != 0) {
            return wide->child[glk_bytes_rank(&wide->bytes,
                                              (uint8_t)(w * 64 + (uint32_t)__builtin_ctzll(bits)))];
        }
    }
    return wide->end;
}

/* Where a walk goes on that is done with node `at`, a child of the node with these wide children
 * (NULL: few) and this set of live bytes. */
static inline uint32_t glk_trie_beside(const glk_trie *self, uint32_t at,
                                       const glk_trie_wide *parent, const glk_bytes *live) {
    const glk_trie_node *node = &self->nodes[at];
    return parent == NULL ? node->skip : glk_trie_next(parent, live, node->byte + 1u);
}

/* ... that enters node `at`, whose own live bytes are these. */
static inline uint32_t glk_trie_below(uint32_t at, const glk_trie_wide *own,
                                      const glk_bytes *live) {
    return own == NULL ? at + 1 : glk_trie_next(own, live, 0);
}

/* Makes `wide` and `groups`, writing into `nodes`, the trie's own; glk_trie_build does it to tries of many
 * texts. */
glk_status glk_trie_index(glk_trie *self, glk_trie_node *nodes, glk_arena *arena,
                               glk_error *err);

/* Sorts `items` (by text, then id) and builds; equal (text, id) pairs are kept once.
 * GLK_ERR_LIMIT for a text over 65,535 bytes. */
glk_status glk_trie_build(glk_trie_item *items, uint32_t count, glk_arena *arena, glk_trie *out,
                          glk_error *err);

#endif
