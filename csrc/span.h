/* span.h -- what a vocabulary's tokens do from a terminal state: stay inside, or leave part-way.
 * Tested by tests/c/test_terminal.c.
 *
 *     interior(q)  tokens whose every byte keeps the terminal alive
 *     exits(q)     for the other tokens: the rest of the token after each point at which the terminal
 *                  may end, merged into one small trie per label set
 *
 * Neither depends on any grammar, so both are computed once per vocabulary.  A state with a base
 * (terminal.h) keeps only what it does otherwise: `moved` lists the tokens that may fare differently,
 * `kept` those of them that stay inside, and its exits speak of them alone; every other token does
 * as it does from the base.  Where the rests are too many to merge (after white space nearly every
 * token leaves), the vocabulary's own trie serves, entered at `roots`.
 *
 * Ownership   everything lives in the registry's arena; immutable once published.
 */
#ifndef GLK_SPAN_H
#define GLK_SPAN_H

#include "terminal.h"

/* A set of token ids as a shared bitmask and its differences. */
typedef struct glk_tokens {
    const uint32_t *dense;       /* glk_mask_words(size) words, or NULL for the empty set */
    const uint32_t *plus;        /* sorted ids outside `dense` */
    const uint32_t *minus;       /* sorted ids inside `dense` */
    uint32_t plus_count, minus_count;
} glk_tokens;

typedef struct glk_exits { /* the rests of tokens after an end with these labels */
    uint32_t labels;       /* label set */
    glk_trie trie;
} glk_exits;

typedef struct glk_exit_root { /* the same, unmerged: below a node of the vocabulary's trie */
    uint32_t labels;
    uint32_t node;
} glk_exit_root;

typedef struct glk_span {
    uint32_t base;           /* the state that decides about all but `moved`, or GLK_NONE */
    const uint32_t *moved;   /* with a base: sorted ids */
    const uint32_t *kept;    /* with a base: sorted ids, a part of `moved` */
    glk_tokens interior;     /* without a base */
    const glk_exits *exits;
    const glk_exit_root *roots;
    uint32_t moved_count, kept_count, exit_count, root_count;
} glk_span;

static inline bool glk_ids_have(const uint32_t *ids, uint32_t count, uint32_t id) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ids[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && ids[low] == id;
}

/* The span of a state, built if need be; the registry's lock is held. */
glk_status glk_span_build(glk_terminals *self, uint32_t state, uint64_t *steps,
                          const glk_span **out, glk_error *err);

static inline const glk_span *glk_state_span(const glk_terminals *self, uint32_t state) {
    return atomic_load_explicit(&glk_state_at(self, state)->span, memory_order_acquire);
}

#endif
