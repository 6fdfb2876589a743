/* code.h -- the flat program: what rewriting leaves of a grammar, ready for the parser.
 * Tested by tests/c/test_rewrite.c.
 *
 * Nodes in one array, lists in one pool; expressions are ids of the vocabulary's shared store.
 *
 *     op       a              b            lo, hi     what it matches
 *     EMPTY                                           the empty string; node 0
 *     TERM     expression                             a string of the expression
 *     SWITCH   expression     list: count, count x (label, node) sorted by label
 *     TABLE    the SWITCH                             never entered: marks, inside a continuation,
 *                                                     a SWITCH whose terminal is being read;
 *                                                     it is always the node after its SWITCH
 *     CAT      node           node                    one, then the other
 *     ALT                     list: count, nodes      any of them
 *     REP      node                        bounds     counted repeat; the body is never empty
 *     TOKENS                  list: count, ids        one of these tokens
 *     JUMP     node                                   that node; only while rewriting, which leaves
 *                                                     references to the target instead
 *     CONTAINER               list (see formula.h)    a JSON object, or an array with conditions;
 *                                                     every value node is productive, every
 *                                                     container can be finished
 *
 * Invariants (established by rewrite.c, relied upon by parser.c)
 *   1. Every node has a sentence over the vocabulary's reachable bytes: no dead ends.
 *   2. No left recursion: the graph "n may begin with m while something stays on the stack" has no
 *      cycle.  Cycles of pure JUMP / ALT are allowed (the closure remembers what it has seen).
 *   3. REP bodies do not match the empty string, nor does a SWITCH's expression.
 */
#ifndef GLK_CODE_H
#define GLK_CODE_H

#include "formula.h"

typedef enum glk_op {
    GLK_OP_EMPTY,
    GLK_OP_TERM,
    GLK_OP_SWITCH,
    GLK_OP_TABLE,
    GLK_OP_CAT,
    GLK_OP_ALT,
    GLK_OP_REP,
    GLK_OP_TOKENS,
    GLK_OP_JUMP,
    GLK_OP_CONTAINER
} glk_op;

typedef struct glk_instr {
    uint8_t op; /* glk_op */
    uint32_t a, b;
    uint32_t lo, hi;
} glk_instr;

typedef struct glk_code {
    glk_vec instrs; /* glk_instr */
    glk_vec lists;  /* u32 */
    uint32_t root;
    bool marked;    /* holds a container whose items or free keys must differ; set when linked */
    bool scarce;    /* ... and of which there may not be enough different ones */
    bool counted;   /* holds a REP with a finite upper bound or a lower bound above 1 */
} glk_code;

static inline const glk_instr *glk_code_at(const glk_code *self, uint32_t id) {
    return (const glk_instr *)self->instrs.data + id;
}
static inline const uint32_t *glk_code_list(const glk_code *self, uint32_t offset) {
    return (const uint32_t *)self->lists.data + offset;
}
static inline uint32_t glk_code_count(const glk_code *self) { return self->instrs.count; }

/* The nodes that a node consists of: child k of glk_code_children; a pointer, so that a pass may
 * replace it. */
static inline uint32_t glk_code_children(const glk_code *self, uint32_t id) {
    const glk_instr *instr = glk_code_at(self, id);
    switch ((glk_op)instr->op) {
    case GLK_OP_CAT:
        return 2;
    case GLK_OP_REP:
    case GLK_OP_JUMP:
        return 1;
    case GLK_OP_ALT:
    case GLK_OP_SWITCH:
        return *glk_code_list(self, instr->b);
    case GLK_OP_CONTAINER:
        return glk_code_list(self, instr->b)[4];
    default:
        return 0;
    }
}

static inline uint32_t *glk_code_child(const glk_code *self, uint32_t id, uint32_t k) {
    glk_instr *instr = (glk_instr *)self->instrs.data + id;
    uint32_t *lists = self->lists.data;
    switch ((glk_op)instr->op) {
    case GLK_OP_CAT:
        return k == 0 ? &instr->a : &instr->b;
    case GLK_OP_REP:
    case GLK_OP_JUMP:
        return &instr->a;
    case GLK_OP_ALT:
        return lists + instr->b + 1 + k;
    case GLK_OP_SWITCH:
        return lists + instr->b + 2 + 2 * k;
    default:
        assert(instr->op == GLK_OP_CONTAINER);
        lists += instr->b;
        return lists + (glk_container_view(lists).choices - lists) + GLK_CHOICE_WORDS * (size_t)k;
    }
}

void glk_code_init(glk_code *self, glk_account *account);
void glk_code_free(glk_code *self);

/* One line per node, in order; *needed counts without the final NUL (capacity 0: only that). */
void glk_code_dump(const glk_code *self, char *buffer, size_t capacity, size_t *needed);

#endif
