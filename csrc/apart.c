/* apart.c -- see apart.h. */
#include "apart.h"

enum {
    SHARE = 8,             /* of the store's byte budget, for a store apart */
    LEAST = 4 * (1 << 20), /* bytes that it may have in any case */
    GROWN = 16 * (1 << 20), /* bytes with which it takes no further search */
    AGAIN = 8              /* a search after one that went apart goes there so much earlier */
};

static void leave(glk_exprs *self) {
    glk_exprs_release(self->apart);
    self->apart = NULL;
    glk_vec_free(&self->apart_map);
}

static glk_status enter(glk_exprs *self, glk_error *err) {
    if (self->apart != NULL) {
        return GLK_OK;
    }
    uint64_t limit = self->account.limit / SHARE;
    limit = self->account.limit != 0 && limit < LEAST ? LEAST : limit;
    void *memory;
    GLK_TRY(glk_alloc(NULL, sizeof(glk_exprs), &memory, err));
    glk_status status = glk_exprs_init(memory, "search_bytes", limit, &self->alphabet, err);
    if (status != GLK_OK) {
        glk_release(NULL, memory, sizeof(glk_exprs));
        return status;
    }
    self->apart = memory;
    return GLK_OK;
}

static glk_status search_apart(glk_exprs *self, uint32_t item, uint64_t *steps, bool *out,
                               glk_error *err) {
    uint32_t copy;
    GLK_TRY(enter(self, err));
    glk_status status =
        glk_expr_import(self->apart, self, item, &self->apart_map, &copy, err);
    if (status == GLK_OK) {
        status = glk_expr_is_empty(self->apart, copy, steps, out, err);
    }
    self->apart->scratch.count = 0; /* whatever failed */
    if (glk_exprs_bytes(self->apart) > GROWN) {
        leave(self);
    }
    return status;
}

glk_status glk_expr_is_empty_apart(glk_exprs *self, uint32_t item, uint64_t near, uint64_t *steps,
                                   bool *out, glk_error *err) {
    if (self->apart != NULL && self->far) {
        near /= AGAIN;
    }
    uint64_t left = *steps < near ? *steps : near, used = left;
    glk_status status = glk_expr_is_empty(self, item, &left, out, err);
    used -= left;
    if (status != GLK_ERR_LIMIT || left > 0 || *steps <= near) {
        self->far = false;
        *steps -= used;
        return status;
    }
    self->far = true;
    GLK_TRY(search_apart(self, item, steps, out, err));
    ((glk_expr *)glk_table_at(&self->exprs, item))->life = *out ? GLK_LIFE_DEAD : GLK_LIFE_ALIVE;
    return GLK_OK;
}
