/* grammar.h -- the vocabulary-free representation of a grammar and its builder.
 * Tested by tests/c/test_grammar.c.
 *
 * Nodes are values in one array; children are ids, lists lie in one u32 pool.  Simple nodes with
 * equal content get equal ids (rules never do).  Recursion goes through RULE only, which is filled
 * in later by glk_grammar_define.
 *
 *     kind        a                 b                lo, hi
 *     FAIL, EMPTY                                              ids 0 and 1
 *     TERMINAL    expression
 *     SWITCH      expression        list: count, then count x (label, node)
 *     SEQUENCE                      list: count, nodes
 *     CHOICE                        list: count, nodes
 *     REPETITION  node                               bounds
 *     TOKENS                        list: count, ids (sorted)
 *     RULE        body or GLK_NONE
 *     CONTAINER                     list: see formula.h; of an array, all named classes are ordered
 *                                   and keys are 0
 */
#ifndef GLK_GRAMMAR_H
#define GLK_GRAMMAR_H

#include "expr.h"
#include "formula.h"

typedef enum glk_node_kind {
    GLK_N_FAIL,
    GLK_N_EMPTY,
    GLK_N_TERMINAL,
    GLK_N_SWITCH,
    GLK_N_SEQUENCE,
    GLK_N_CHOICE,
    GLK_N_REPETITION,
    GLK_N_TOKENS,
    GLK_N_RULE,
    GLK_N_CONTAINER
} glk_node_kind;

typedef struct glk_node {
    uint8_t kind; /* glk_node_kind */
    uint32_t a, b;
    uint32_t lo, hi;
} glk_node;

struct glk_grammar {
    glk_account account;
    glk_exprs *exprs; /* retained */
    glk_vec nodes;    /* glk_node */
    glk_vec lists;    /* u32 */
    glk_index index;  /* hash-consing of simple nodes */
    uint32_t root;    /* GLK_NODE_FAIL until set */
    _Atomic uint32_t references;
};

static inline const glk_node *glk_node_at(const glk_grammar *self, uint32_t id) {
    return (const glk_node *)self->nodes.data + id;
}
static inline const uint32_t *glk_node_list(const glk_grammar *self, uint32_t offset) {
    return (const uint32_t *)self->lists.data + offset;
}

#endif
