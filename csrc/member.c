/* member.c -- see member.h. */
#include "member.h"

typedef enum phase {
    START,
    FIRST_GAP,
    FIRST,
    VALUE_GAP,
    NEXT,
    KEY_GAP,
    KEY,
    READING
} phase;

enum { PHASE_BITS = 3, PHASE_MASK = 7 };

static uint32_t pack(uint32_t obligations, phase at) {
    return obligations << PHASE_BITS | (uint32_t)at;
}

/* ------------------------------------------------------------------ key terminals */

/* Lists the labelled alternatives of a phase in the expression store's scratch. */
static glk_status push_alternatives(glk_epoch *self, const glk_object *object, uint32_t obligations,
                                    phase at, glk_error *err) {
    glk_vec *scratch = &self->terminals->exprs.scratch;
    const glk_objects *objects = &self->objects;
    if (at != KEY && glk_object_may_close(objects, object, obligations)) {
        GLK_TRY(glk_vec_push_u32(scratch, self->close_expr, err));
    }
    if (at == NEXT) {
        return glk_object_may_go_on(objects, object, obligations)
                   ? glk_vec_push_u32(scratch, self->comma_expr, err)
                   : GLK_OK;
    }
    for (uint32_t i = glk_object_next(objects, object, obligations, 0); i != GLK_NONE;
         i = glk_object_next(objects, object, obligations, i + 1)) {
        GLK_TRY(glk_vec_push_u32(scratch, glk_object_key(object, i), err));
    }
    if (glk_object_allows_free(objects, object, obligations)) {
        for (uint32_t i = 0; i < object->free_count; i++) {
            GLK_TRY(glk_vec_push_u32(scratch, object->free[2 * i], err));
        }
    }
    return GLK_OK;
}

static glk_status make_key_state(glk_epoch *self, const glk_object *object, uint32_t obligations,
                                 phase at, uint64_t *steps, uint32_t *out, glk_error *err) {
    glk_terminals *terminals = self->terminals;
    (void)pthread_mutex_lock(&terminals->lock);
    uint32_t base = terminals->exprs.scratch.count, expr;
    glk_status status = push_alternatives(self, object, obligations, at, err);
    uint32_t listed = terminals->exprs.scratch.count - base;
    if (status == GLK_OK) {
        status = *steps < listed ? glk_fail_limit(err, "steps", listed, *steps) : GLK_OK;
    }
    if (status == GLK_OK) {
        *steps -= listed;
        status = glk_expr_or_scratch(&terminals->exprs, base, &expr, err);
    }
    if (status == GLK_OK) {
        status = glk_terminals_state(terminals, expr, out, err);
    }
    terminals->exprs.scratch.count = base;
    (void)pthread_mutex_unlock(&terminals->lock);
    return status;
}

static glk_status key_state(glk_epoch *self, const glk_frame *goal, const glk_object *object,
                            uint64_t *steps, uint32_t *out, glk_error *err) {
    uint32_t hash = (uint32_t)glk_mix(goal->node, goal->param), id = 0, state;
    glk_probe probe = glk_probe_start(&self->key_index, hash);
    while (glk_probe_next(&self->key_index, &probe, &id)) {
        const glk_key *known = glk_table_at(&self->keys, id);
        if (known->node == goal->node && known->param == goal->param) {
            *out = known->state;
            return GLK_OK;
        }
    }
    GLK_TRY(make_key_state(self, object, goal->param >> PHASE_BITS,
                           (phase)(goal->param & PHASE_MASK), steps, &state, err));
    GLK_TRY(glk_index_reserve(&self->key_index, err));
    GLK_TRY(glk_table_add(&self->keys, &id, err));
    *(glk_key *)glk_table_at(&self->keys, id) =
        (glk_key){.node = goal->node, .param = goal->param, .state = state};
    (void)glk_index_add(&self->key_index, hash, id, err);
    *out = state;
    return GLK_OK;
}

/* ------------------------------------------------------------------ phases */

glk_status glk_member_phase(glk_epoch *self, const glk_frame *goal, uint64_t *steps,
                            uint32_t *state, uint32_t *next, glk_error *err) {
    const glk_instr *code = glk_code_at(self->code, goal->node);
    glk_object object = glk_object_view(self->code, goal->node);
    uint32_t obligations = goal->param >> PHASE_BITS;
    phase at = (phase)(goal->param & PHASE_MASK);
    if (at == START) {
        GLK_TRY(glk_object_start(&self->objects, &object, goal->node, &obligations, err));
        *state = self->open_state;
        *next = pack(obligations, FIRST_GAP);
        return GLK_OK;
    }
    if (at == FIRST_GAP || at == VALUE_GAP || at == KEY_GAP) {
        *state = code->lo;
        *next = pack(obligations, at == FIRST_GAP ? FIRST : at == VALUE_GAP ? NEXT : KEY);
        return GLK_OK;
    }
    assert(at != READING);
    *next = pack(obligations, READING);
    return key_state(self, goal, &object, steps, state, err);
}

glk_status glk_member_after(glk_epoch *self, glk_frame frame, uint32_t label, glk_frame *next,
                            glk_error *err) {
    glk_object object = glk_object_view(self->code, frame.node);
    uint32_t obligations = frame.param >> PHASE_BITS;
    if (label == GLK_LABEL_CLOSE) {
        *next = (glk_frame){.node = GLK_NONE, .rest = frame.rest};
        return GLK_OK;
    }
    if (label == GLK_LABEL_COMMA) {
        *next = frame;
        next->param = pack(obligations, KEY_GAP);
        return GLK_OK;
    }
    glk_frame after = frame;
    uint32_t rest;
    GLK_TRY(glk_object_after(&self->objects, &object, frame.node, obligations, label, &obligations,
                             err));
    after.param = pack(obligations, VALUE_GAP);
    GLK_TRY(glk_cont_intern(self, &after, 1, &rest, err));
    *next = (glk_frame){.node = glk_object_value(&object, label), .rest = rest};
    return GLK_OK;
}
