/* texts.c -- the texts of an expression that has few; see expr.h.
 *
 * Breadth first over the derivatives that still have a sentence: every such beginning of a length
 * leads to a text of its own, so there are too many texts as soon as beginnings and texts found so
 * far are too many together, and an expression with endlessly many is left early. */
#include "expr.h"

typedef struct beginning {
    uint32_t expr;   /* what may follow it */
    uint32_t parent; /* the beginning without its last byte; GLK_NONE of the empty one */
    uint32_t length;
    uint8_t byte;    /* the last one */
} beginning;

typedef struct listing {
    glk_exprs *exprs;
    glk_vec beginnings; /* beginning, by length */
    glk_vec *found;     /* u32: beginnings that are texts */
    uint32_t most;
    uint64_t *steps;
} listing;

static beginning at(const listing *self, uint32_t id) {
    return ((const beginning *)self->beginnings.data)[id];
}

/* Appends the beginnings that are one byte longer, and, if it is a text, this one to the found. */
static glk_status expand(listing *self, uint32_t id, glk_error *err) {
    glk_exprs *exprs = self->exprs;
    beginning from = at(self, id);
    if (glk_expr_nullable(exprs, from.expr)) {
        GLK_TRY(glk_vec_push_u32(self->found, id, err));
    }
    glk_bytes next = glk_bytes_and(glk_expr_at(exprs, from.expr)->first, exprs->alphabet);
    for (uint32_t byte = 0; byte < 256; byte++) {
        beginning longer = {.parent = id, .length = from.length + 1, .byte = (uint8_t)byte};
        bool empty = true;
        if (glk_bytes_has(&next, (uint8_t)byte)) {
            GLK_TRY(glk_expr_derive_within(exprs, from.expr, (uint8_t)byte, self->steps,
                                           &longer.expr, err));
            GLK_TRY(glk_expr_is_empty(exprs, longer.expr, self->steps, &empty, err));
        }
        if (!empty) {
            GLK_TRY(glk_vec_push(&self->beginnings, &longer, err));
        }
        if (self->found->count + (self->beginnings.count - 1 - id) > self->most) {
            return GLK_OK;
        }
    }
    return GLK_OK;
}

/* Beginnings wait from `id` on; each of them leads to a text that is not found yet. */
static glk_status list_texts(listing *self, uint32_t item, bool *more, glk_error *err) {
    beginning start = {.expr = item, .parent = GLK_NONE};
    bool empty;
    *more = false;
    GLK_TRY(glk_expr_is_empty(self->exprs, item, self->steps, &empty, err));
    if (!empty) {
        GLK_TRY(glk_vec_push(&self->beginnings, &start, err));
    }
    for (uint32_t id = 0; id < self->beginnings.count && !*more; id++) {
        GLK_TRY(expand(self, id, err));
        *more = self->found->count + (self->beginnings.count - 1 - id) > self->most;
    }
    return GLK_OK;
}

/* Turns the found beginnings into their texts, behind each other, and lengths. */
static glk_status write_texts(const listing *self, glk_vec *bytes, glk_error *err) {
    for (uint32_t i = 0; i < self->found->count; i++) {
        uint32_t *found = GLK_VEC_U32(self->found) + i;
        beginning text = at(self, *found);
        *found = text.length;
        GLK_TRY(glk_vec_reserve(bytes, text.length, err));
        uint8_t *end = (uint8_t *)bytes->data + bytes->count + text.length;
        bytes->count += text.length;
        for (; text.length > 0; text = at(self, text.parent)) {
            *--end = text.byte;
        }
    }
    return GLK_OK;
}

glk_status glk_expr_texts(glk_exprs *self, uint32_t item, uint32_t most, uint64_t *steps,
                          glk_vec *lengths, glk_vec *bytes, bool *more, glk_error *err) {
    listing job = {.exprs = self, .found = lengths, .most = most, .steps = steps};
    glk_vec_init(&job.beginnings, NULL, sizeof(beginning));
    glk_status status = list_texts(&job, item, more, err);
    if (status == GLK_OK && !*more) {
        status = write_texts(&job, bytes, err);
    }
    glk_vec_free(&job.beginnings);
    return status;
}
