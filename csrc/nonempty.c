/* nonempty.c -- nodes without the empty string, and repeats over them.
 *
 * The twin of a nullable node matches what the node matches, but for the empty string:
 *
 *     EMPTY              nothing
 *     TERM e             TERM (e without the empty string)
 *     CAT x y            ALT (CAT x' y) y'          both are nullable, or the CAT is not
 *     ALT x ...          ALT x' ...
 *     REP x {lo,hi}      REP x' {1,hi}
 *     JUMP x             JUMP x'
 *
 * A node that is not nullable is its own twin.  Twins are made once and filled in from a list, so
 * recursive rules and depth need no care.  A twin may have no sentence: productivity is settled
 * again afterwards.
 *
 * A repeat over a nullable body x becomes REP x' {0,hi}: empty rounds make up for any missing. */
#include "passes.h"

static glk_status begin_twins(glk_work *self, glk_error *err) {
    if (self->twins.count > 0) {
        return GLK_OK;
    }
    uint32_t count = glk_code_count(&self->code);
    GLK_TRY(glk_vec_reserve(&self->twins, count, err));
    memset(self->twins.data, 0xFF, count * sizeof(uint32_t));
    self->twins.count = count;
    return GLK_OK;
}

glk_status glk_twin(glk_work *self, uint32_t node, uint32_t *out, glk_error *err) {
    if (!glk_work_nullable(self, node)) {
        *out = node;
        return GLK_OK;
    }
    GLK_TRY(begin_twins(self, err));
    if (GLK_VEC_U32(&self->twins)[node] == GLK_NONE) {
        uint32_t twin;
        glk_instr none = {.op = GLK_OP_JUMP, .a = GLK_CODE_FAIL};
        GLK_TRY(glk_work_add(self, none, false, &twin, err));
        GLK_TRY(glk_vec_push_u32(&self->unfinished, node, err));
        GLK_VEC_U32(&self->twins)[node] = twin;
    }
    *out = GLK_VEC_U32(&self->twins)[node];
    return GLK_OK;
}

static glk_status twin_terminal(glk_work *self, glk_instr *instr, glk_error *err) {
    const glk_rewrite_env *env = self->env;
    bool empty;
    GLK_TRY(env->without_empty(env->context, instr->a, &instr->a, err));
    GLK_TRY(env->is_empty(env->context, instr->a, &empty, err));
    if (empty) {
        *instr = (glk_instr){.op = GLK_OP_JUMP, .a = GLK_CODE_FAIL};
    }
    return GLK_OK;
}

static glk_status twin_pair(glk_work *self, glk_instr *instr, glk_error *err) {
    uint32_t head, tail, first;
    GLK_TRY(glk_twin(self, instr->a, &head, err));
    GLK_TRY(glk_twin(self, instr->b, &tail, err));
    glk_instr pair = {.op = GLK_OP_CAT, .a = head, .b = instr->b};
    GLK_TRY(glk_work_add(self, pair, false, &first, err));
    *instr = (glk_instr){.op = GLK_OP_ALT};
    return glk_work_list2(self, first, tail, &instr->b, err);
}

static glk_status twin_choice(glk_work *self, glk_instr *instr, glk_error *err) {
    glk_vec *lists = &self->code.lists;
    uint32_t from = instr->b, count = *glk_code_list(&self->code, from);
    GLK_TRY(glk_work_spend(self, count, err));
    GLK_TRY(glk_vec_reserve(lists, count + 1, err));
    instr->b = lists->count;
    lists->count += count + 1;
    GLK_VEC_U32(lists)[instr->b] = count;
    for (uint32_t i = 1; i <= count; i++) {
        uint32_t twin;
        GLK_TRY(glk_twin(self, GLK_VEC_U32(lists)[from + i], &twin, err));
        GLK_VEC_U32(lists)[instr->b + i] = twin;
    }
    return GLK_OK;
}

static glk_status fill_twin(glk_work *self, uint32_t node, glk_error *err) {
    glk_instr instr = *glk_work_at(self, node);
    switch ((glk_op)instr.op) {
    case GLK_OP_TERM:
        GLK_TRY(twin_terminal(self, &instr, err));
        break;
    case GLK_OP_CAT:
        GLK_TRY(twin_pair(self, &instr, err));
        break;
    case GLK_OP_ALT:
        GLK_TRY(twin_choice(self, &instr, err));
        break;
    case GLK_OP_REP:
        GLK_TRY(glk_twin(self, instr.a, &instr.a, err));
        instr.lo = 1;
        break;
    case GLK_OP_JUMP:
        GLK_TRY(glk_twin(self, instr.a, &instr.a, err));
        break;
    default:
        assert(instr.op == GLK_OP_EMPTY); /* the others are not nullable */
        return GLK_OK;
    }
    *glk_work_at(self, GLK_VEC_U32(&self->twins)[node]) = instr;
    return GLK_OK;
}

glk_status glk_twins_finish(glk_work *self, glk_error *err) {
    while (self->unfinished.count > 0) {
        uint32_t node = GLK_VEC_U32(&self->unfinished)[--self->unfinished.count];
        GLK_TRY(fill_twin(self, node, err));
    }
    return GLK_OK;
}

glk_status glk_pass_nonempty(glk_work *self, bool *changed, glk_error *err) {
    uint32_t count = glk_code_count(&self->code);
    for (uint32_t id = 0; id < count; id++) {
        const glk_instr *instr = glk_work_at(self, id);
        if (instr->op != GLK_OP_REP || !glk_work_nullable(self, instr->a)) {
            continue;
        }
        uint32_t body;
        GLK_TRY(glk_twin(self, instr->a, &body, err));
        glk_work_at(self, id)->a = body;
        glk_work_at(self, id)->lo = 0;
        *changed = true;
    }
    return glk_twins_finish(self, err);
}
