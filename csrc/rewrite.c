/* rewrite.c -- runs the passes in order; see rewrite.h for what they do and passes.h for the state
 * that they share. */
#include "rewrite.h"

#include "passes.h"

static void work_init(glk_work *self, const glk_grammar *grammar, const glk_rewrite_env *env,
                      uint64_t max_steps) {
    *self = (glk_work){.grammar = grammar, .env = env, .max_steps = max_steps};
    glk_code_init(&self->code, NULL);
    glk_vec_init(&self->nullable, NULL, sizeof(uint8_t));
    glk_vec_init(&self->twins, NULL, sizeof(uint32_t));
    glk_vec_init(&self->unfinished, NULL, sizeof(uint32_t));
    glk_arena_init(&self->arena, NULL);
}

static void work_free(glk_work *self) {
    glk_code_free(&self->code);
    glk_vec_free(&self->nullable);
    glk_vec_free(&self->twins);
    glk_vec_free(&self->unfinished);
    glk_arena_free(&self->arena);
}

glk_status glk_work_array(glk_work *self, size_t count, size_t item_bytes, void *out,
                          glk_error *err) {
    void *memory;
    GLK_TRY(glk_arena_take(&self->arena, count * item_bytes, &memory, err));
    memset(memory, 0, count * item_bytes);
    memcpy(out, &memory, sizeof memory);
    return GLK_OK;
}

glk_status glk_work_add(glk_work *self, glk_instr instr, bool nullable, uint32_t *out,
                        glk_error *err) {
    GLK_TRY(glk_work_spend(self, 1, err));
    if (self->nullable.count > 0) {
        uint8_t flag = nullable;
        GLK_TRY(glk_vec_push(&self->nullable, &flag, err));
    }
    if (self->twins.count > 0) {
        GLK_TRY(glk_vec_push_u32(&self->twins, GLK_NONE, err));
    }
    *out = self->code.instrs.count;
    return glk_vec_push(&self->code.instrs, &instr, err);
}

glk_status glk_work_list2(glk_work *self, uint32_t x, uint32_t y, uint32_t *out, glk_error *err) {
    GLK_TRY(glk_vec_reserve(&self->code.lists, 3, err));
    *out = self->code.lists.count;
    uint32_t *list = GLK_VEC_U32(&self->code.lists) + *out;
    list[0] = 2;
    list[1] = x;
    list[2] = y;
    self->code.lists.count += 3;
    return GLK_OK;
}

uint32_t glk_work_resolve(glk_work *self, uint32_t id) {
    uint32_t target = id;
    while (glk_work_at(self, target)->op == GLK_OP_JUMP) {
        target = glk_work_at(self, target)->a;
    }
    while (id != target) {
        uint32_t next = glk_work_at(self, id)->a;
        glk_work_at(self, id)->a = target;
        id = next;
    }
    return target;
}

static glk_status run_passes(glk_work *self, glk_code *out, glk_error *err) {
    bool changed = false;
    GLK_TRY(glk_pass_lower(self, err));
    GLK_TRY(glk_pass_productive(self, err));
    GLK_TRY(glk_pass_nullable(self, err));
    GLK_TRY(glk_pass_nonempty(self, &changed, err));
    if (changed) {
        GLK_TRY(glk_pass_productive(self, err));
    }
    if (self->recursive) {
        changed = false;
        GLK_TRY(glk_pass_leftcorner(self, &changed, err));
        if (changed) {
            GLK_TRY(glk_pass_productive(self, err));
        }
    }
    return glk_pass_emit(self, out, err);
}

glk_status glk_rewrite(const glk_grammar *grammar, const glk_rewrite_env *env, uint64_t max_steps,
                       glk_code *out, glk_error *err) {
    glk_work work;
    work_init(&work, grammar, env, max_steps);
    glk_status status = run_passes(&work, out, err);
    work_free(&work);
    return status;
}
