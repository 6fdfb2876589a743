/* emit.c -- the last pass: the final code, numbered from the root.
 *
 * Jumps are resolved, a SWITCH gets its TABLE, everything unreachable stays behind.
 * Numbers are given at first sight, so equal grammars give equal code. */
#include "passes.h"

enum { SMALL = 256 }; /* nodes for which room is made at once */

typedef struct emitter {
    glk_work *work;
    glk_code *out;
    uint32_t *number; /* by old id; GLK_NONE = not met */
    glk_vec stack;    /* u32: old ids, numbered and not yet written */
} emitter;

/* The new id of a node. */
static glk_status meet(emitter *self, uint32_t id, uint32_t *out, glk_error *err) {
    id = glk_work_resolve(self->work, id);
    if (glk_work_at(self->work, id)->op == GLK_OP_EMPTY) {
        id = GLK_CODE_EMPTY;
    }
    if (self->number[id] == GLK_NONE) {
        uint32_t slots = glk_work_at(self->work, id)->op == GLK_OP_SWITCH ? 2 : 1;
        GLK_TRY(glk_work_spend(self->work, slots, err));
        GLK_TRY(glk_vec_push_u32(&self->stack, id, err));
        GLK_TRY(glk_vec_reserve(&self->out->instrs, slots, err));
        self->number[id] = self->out->instrs.count;
        memset((glk_instr *)self->out->instrs.data + self->out->instrs.count, 0,
               slots * sizeof(glk_instr));
        self->out->instrs.count += slots;
    }
    *out = self->number[id];
    return GLK_OK;
}

static uint32_t list_length(const glk_code *code, const glk_instr *instr) {
    const uint32_t *list = glk_code_list(code, instr->b);
    switch ((glk_op)instr->op) {
    case GLK_OP_SWITCH:
        return 1 + 2 * list[0];
    case GLK_OP_CONTAINER:
        return glk_container_length(list);
    default:
        return 1 + list[0];
    }
}

/* Copies the list of `instr`, if it has one, and points `instr` to the copy. */
static glk_status copy_list(emitter *self, glk_instr *instr, glk_error *err) {
    if (instr->op != GLK_OP_SWITCH && instr->op != GLK_OP_ALT && instr->op != GLK_OP_TOKENS &&
        instr->op != GLK_OP_CONTAINER) {
        return GLK_OK;
    }
    const glk_code *from = &self->work->code;
    glk_vec *lists = &self->out->lists;
    uint32_t length = list_length(from, instr);
    GLK_TRY(glk_work_spend(self->work, length, err));
    GLK_TRY(glk_vec_reserve(lists, length, err));
    memcpy(GLK_VEC_U32(lists) + lists->count, glk_code_list(from, instr->b),
           length * sizeof(uint32_t));
    instr->b = lists->count;
    lists->count += length;
    return GLK_OK;
}

static glk_status write_node(emitter *self, uint32_t old, glk_error *err) {
    uint32_t id = self->number[old];
    glk_instr instr = *glk_work_at(self->work, old);
    GLK_TRY(copy_list(self, &instr, err));
    ((glk_instr *)self->out->instrs.data)[id] = instr;
    if (instr.op == GLK_OP_SWITCH) {
        ((glk_instr *)self->out->instrs.data)[id + 1] = (glk_instr){.op = GLK_OP_TABLE, .a = id};
    }
    if (instr.op == GLK_OP_REP && (instr.lo > 1 || instr.hi != GLK_UNBOUNDED)) {
        self->out->counted = true;
    }
    uint32_t count = glk_code_children(self->out, id);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t child;
        GLK_TRY(meet(self, *glk_code_child(self->out, id, k), &child, err));
        *glk_code_child(self->out, id, k) = child;
    }
    return GLK_OK;
}

static glk_status emit(emitter *self, glk_error *err) {
    uint32_t root, count = glk_code_count(&self->work->code);
    GLK_TRY(glk_vec_reserve(&self->out->instrs, count < SMALL ? count : SMALL, err));
    GLK_TRY(meet(self, GLK_CODE_EMPTY, &root, err));
    GLK_TRY(meet(self, self->work->code.root, &root, err));
    while (self->stack.count > 0) {
        uint32_t old = GLK_VEC_U32(&self->stack)[--self->stack.count];
        GLK_TRY(write_node(self, old, err));
    }
    self->out->root = root;
    return GLK_OK;
}

glk_status glk_pass_emit(glk_work *self, glk_code *out, glk_error *err) {
    emitter state = {.work = self, .out = out};
    uint32_t count = glk_code_count(&self->code);
    GLK_TRY(glk_work_array(self, count, sizeof(uint32_t), &state.number, err));
    memset(state.number, 0xFF, count * sizeof(uint32_t));
    glk_vec_init(&state.stack, NULL, sizeof(uint32_t));
    glk_status status = emit(&state, err);
    glk_vec_free(&state.stack);
    return status;
}
