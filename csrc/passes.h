/* passes.h -- the rewriter's passes and the state that they share.  Only rewrite.c and the passes
 * include it.  Tested by tests/c/test_passes.c, tests/c/test_rewrite.c.
 *
 * The working code differs from the final one (code.h): there is no TABLE, JUMP is common, an ALT
 * has any number of alternatives, nodes may be unreachable.  Passes change nodes in place, so that
 * ids stay good, and append new ones; emit leaves the rest behind.  Two nodes are fixed:
 *
 *     0  EMPTY          the empty string
 *     1  ALT of none    no string: whatever turns out to have no sentence
 *
 * Every pass is linear but for leftcorner, and does all counting through glk_work_spend. */
#ifndef GLK_PASSES_H
#define GLK_PASSES_H

#include "rewrite.h"

enum { GLK_CODE_EMPTY = 0, GLK_CODE_FAIL = 1 };

typedef struct glk_work {
    const glk_grammar *grammar;
    const glk_rewrite_env *env;
    glk_code code;
    glk_vec nullable;   /* u8 by node: matches the empty string; from glk_pass_nullable on */
    glk_vec twins;      /* u32 by node: its version without the empty string, or GLK_NONE */
    glk_vec unfinished; /* u32: nodes whose twin is still to be filled in */
    glk_arena arena;    /* scratch arrays of the passes */
    uint64_t steps, max_steps;
    bool recursive; /* the grammar has rules, so there may be cycles */
} glk_work;

static inline glk_status glk_work_spend(glk_work *self, uint64_t steps, glk_error *err) {
    self->steps += steps;
    if (GLK_UNLIKELY(self->steps > self->max_steps)) {
        return glk_fail_limit(err, "steps", self->steps, self->max_steps);
    }
    return GLK_OK;
}

/* A zeroed scratch array that lives as long as the work. */
glk_status glk_work_array(glk_work *self, size_t count, size_t item_bytes, void *out,
                          glk_error *err);
/* Appends a node.  Once nullability is known, `nullable` must be what the node is. */
glk_status glk_work_add(glk_work *self, glk_instr instr, bool nullable, uint32_t *out,
                        glk_error *err);
/* An ALT's list of two at the end of the pool; *out is its offset. */
glk_status glk_work_list2(glk_work *self, uint32_t x, uint32_t y, uint32_t *out, glk_error *err);
/* Past all jumps, compressing the path.  A productive node never jumps in a circle. */
uint32_t glk_work_resolve(glk_work *self, uint32_t id);

static inline glk_instr *glk_work_at(glk_work *self, uint32_t id) {
    return (glk_instr *)self->code.instrs.data + id;
}
static inline bool glk_work_nullable(const glk_work *self, uint32_t id) {
    return ((const uint8_t *)self->nullable.data)[id] != 0;
}

/* lower.c: fills `code` from the grammar. */
glk_status glk_pass_lower(glk_work *self, glk_error *err);
/* productive.c: cuts what has no sentence out of every node that has one. */
glk_status glk_pass_productive(glk_work *self, glk_error *err);
/* productive.c: fills `nullable`. */
glk_status glk_pass_nullable(glk_work *self, glk_error *err);
/* nonempty.c: repeats over nullable bodies.  *changed: productivity must be settled again. */
glk_status glk_pass_nonempty(glk_work *self, bool *changed, glk_error *err);
/* nonempty.c: the version of a node without the empty string, to be completed by
 * glk_twins_finish before anyone looks into it. */
glk_status glk_twin(glk_work *self, uint32_t node, uint32_t *out, glk_error *err);
glk_status glk_twins_finish(glk_work *self, glk_error *err);
/* leftcorner.c: left recursion.  *changed as above. */
glk_status glk_pass_leftcorner(glk_work *self, bool *changed, glk_error *err);
/* emit.c: the final code. */
glk_status glk_pass_emit(glk_work *self, glk_code *out, glk_error *err);

#endif
