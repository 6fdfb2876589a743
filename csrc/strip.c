/* strip.c -- see strip.h.
 *
 * Rebuilding walks down a spine to its end (a TAG or an OR), decides there, and puts the heads back
 * on; `spine` is the stack of heads.  A result equal to what was there is returned as the same id
 * without rebuilding, which is the common case. */
#include "strip.h"

#include <stdlib.h>

typedef struct strip {
    glk_exprs *store;
    const uint32_t *labels; /* ascending; to be dropped */
    size_t count;
    bool empty;      /* drop the empty string instead */
    glk_vec spine;   /* u32: expressions on the way down */
    glk_vec parts;   /* u32: members of unions being rebuilt */
    glk_vec results; /* u32 pairs (union, result) */
    glk_index seen;  /* union -> index in `results` / 2 */
} strip;

static uint32_t hash_id(uint32_t id) { return (uint32_t)glk_mix(1, id); }

static int compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static glk_status malformed(glk_error *err) {
    return glk_fail(err, GLK_ERR_ARGUMENT,
                    "in a tagged expression every alternative must end in a tag");
}

/* ---- labels ---- */

typedef struct labelling {
    const glk_exprs *store;
    glk_expr_test is_empty;
    void *context;
    glk_vec *labels;
    glk_vec unions; /* u32: still to be opened */
    glk_index seen; /* unions ever met */
} labelling;

static glk_status meet_union(labelling *self, uint32_t item, glk_error *err) {
    uint32_t hash = hash_id(item);
    uint32_t id;
    for (glk_probe p = glk_probe_start(&self->seen, hash); glk_probe_next(&self->seen, &p, &id);) {
        if (id == item) {
            return GLK_OK;
        }
    }
    GLK_TRY(glk_index_add(&self->seen, hash, item, err));
    return glk_vec_push_u32(&self->unions, item, err);
}

/* Follows one branch to its end. */
static glk_status label_branch(labelling *self, uint32_t item, glk_error *err) {
    for (;;) {
        const glk_expr *expr = glk_expr_at(self->store, item);
        if (expr->kind == GLK_TAG) {
            return glk_vec_push_u32(self->labels, expr->a, err);
        }
        if (expr->kind == GLK_OR) {
            return meet_union(self, item, err);
        }
        if (expr->kind == GLK_NEVER) {
            return GLK_OK;
        }
        if (expr->kind != GLK_CAT) {
            return malformed(err);
        }
        uint8_t head_flags = glk_expr_at(self->store, expr->a)->flags;
        if ((head_flags & GLK_TAGGED) != 0) {
            return malformed(err);
        }
        bool empty = false;
        if (self->is_empty != NULL && (head_flags & GLK_CHECKED) != 0) {
            GLK_TRY(self->is_empty(self->context, expr->a, &empty, err));
        }
        if (empty) {
            return GLK_OK;
        }
        item = expr->b;
    }
}

static glk_status label_all(labelling *self, uint32_t item, glk_error *err) {
    GLK_TRY(label_branch(self, item, err));
    while (self->unions.count > 0) {
        const glk_expr *expr =
            glk_expr_at(self->store, GLK_VEC_U32(&self->unions)[--self->unions.count]);
        for (uint32_t i = 0; i < expr->b; i++) {
            GLK_TRY(label_branch(self, expr->list[i], err));
        }
    }
    return GLK_OK;
}

/* Sorts the labels from `start` on and drops the doubles. */
static void settle_labels(glk_vec *labels, uint32_t start) {
    if (labels->count - start < 2) {
        return;
    }
    uint32_t *items = GLK_VEC_U32(labels) + start;
    uint32_t count = labels->count - start;
    qsort(items, count, sizeof *items, compare_u32);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < count; i++) {
        if (items[i] != items[kept - 1]) {
            items[kept++] = items[i];
        }
    }
    labels->count = start + kept;
}

glk_status glk_strip_list(const glk_exprs *self, uint32_t item, glk_expr_test is_empty,
                                void *context, glk_vec *labels, glk_error *err) {
    labelling state = {self, is_empty, context, labels, {0}, {0}};
    glk_vec_init(&state.unions, NULL, sizeof(uint32_t));
    glk_index_init(&state.seen, NULL);
    uint32_t start = labels->count;
    glk_status status = label_all(&state, item, err);
    if (status == GLK_OK) {
        settle_labels(labels, start);
    } else {
        labels->count = start;
    }
    glk_vec_free(&state.unions);
    glk_index_free(&state.seen);
    return status;
}

/* ---- rebuilding ---- */

static bool drops(const strip *self, uint32_t label) {
    return self->empty ||
           (self->count > 0 &&
            bsearch(&label, self->labels, self->count, sizeof label, compare_u32) != NULL);
}

/* An untagged expression without the empty string.  The general case costs one state: the
 * derivatives of (e and not epsilon) are those of e. */
static glk_status plain_without_empty(glk_exprs *store, uint32_t item, uint32_t *out,
                                      glk_error *err) {
    const glk_expr *expr = glk_expr_at(store, item);
    if ((expr->flags & GLK_NULLABLE) == 0) {
        *out = item;
        return GLK_OK;
    }
    if (expr->kind == GLK_EPSILON) {
        *out = GLK_EXPR_NEVER;
        return GLK_OK;
    }
    if (expr->kind == GLK_REP && !glk_expr_nullable(store, expr->a)) {
        return glk_expr_rep(store, expr->a, 1, expr->hi, out, err);
    }
    uint32_t pair[2] = {item, 0};
    GLK_TRY(glk_expr_not(store, GLK_EXPR_EPSILON, &pair[1], err));
    return glk_expr_and(store, pair, 2, out, err);
}

static glk_status strip_item(strip *self, uint32_t item, uint32_t *out, glk_error *err);

static glk_status strip_members(strip *self, uint32_t item, uint32_t *out, glk_error *err) {
    const glk_expr *expr = glk_expr_at(self->store, item);
    uint32_t base = self->parts.count;
    for (uint32_t i = 0; i < expr->b; i++) {
        uint32_t part;
        GLK_TRY(strip_item(self, expr->list[i], &part, err));
        GLK_TRY(glk_vec_push_u32(&self->parts, part, err));
    }
    GLK_TRY(glk_expr_or(self->store, GLK_VEC_U32(&self->parts) + base, expr->b, out, err));
    self->parts.count = base;
    return GLK_OK;
}

static glk_status strip_union(strip *self, uint32_t item, uint32_t *out, glk_error *err) {
    uint32_t hash = hash_id(item);
    uint32_t at;
    for (glk_probe p = glk_probe_start(&self->seen, hash); glk_probe_next(&self->seen, &p, &at);) {
        if (GLK_VEC_U32(&self->results)[2 * at] == item) {
            *out = GLK_VEC_U32(&self->results)[2 * at + 1];
            return GLK_OK;
        }
    }
    GLK_TRY(strip_members(self, item, out, err));
    GLK_TRY(glk_vec_reserve(&self->results, 2, err));
    GLK_TRY(glk_index_add(&self->seen, hash, self->results.count / 2, err));
    GLK_TRY(glk_vec_push_u32(&self->results, item, err));
    return glk_vec_push_u32(&self->results, *out, err);
}

/* What is left of the end of a spine. */
static glk_status strip_end(strip *self, uint32_t item, uint32_t *out, glk_error *err) {
    const glk_expr *expr = glk_expr_at(self->store, item);
    if (expr->kind == GLK_OR) {
        return strip_union(self, item, out, err);
    }
    if (expr->kind == GLK_TAG) {
        *out = drops(self, expr->a) ? GLK_EXPR_NEVER : item;
        return GLK_OK;
    }
    *out = item;
    return expr->kind == GLK_NEVER ? GLK_OK : malformed(err);
}

/* Puts one head back: `whole` is the old concatenation, `tail` what is left of its tail. */
static glk_status put_back(strip *self, uint32_t whole, uint32_t *tail, glk_error *err) {
    const glk_expr *expr = glk_expr_at(self->store, whole);
    uint32_t head = expr->a;
    if (self->empty) { /* head tail = (head without empty) tail | (tail without empty) */
        uint32_t first;
        GLK_TRY(plain_without_empty(self->store, head, &head, err));
        GLK_TRY(glk_expr_cat(self->store, head, expr->b, &first, err));
        return glk_expr_or2(self->store, first, *tail, tail, err);
    }
    if (*tail == expr->b) {
        *tail = whole;
        return GLK_OK;
    }
    return glk_expr_cat(self->store, head, *tail, tail, err);
}

static glk_status strip_item(strip *self, uint32_t item, uint32_t *out, glk_error *err) {
    uint32_t base = self->spine.count;
    const glk_expr *expr = glk_expr_at(self->store, item);
    while (expr->kind == GLK_CAT && !(self->empty && (expr->flags & GLK_NULLABLE) == 0)) {
        GLK_TRY(glk_vec_push_u32(&self->spine, item, err));
        item = expr->b;
        expr = glk_expr_at(self->store, item);
    }
    uint32_t result = item;
    if (!self->empty || (expr->flags & GLK_NULLABLE) != 0) {
        GLK_TRY(strip_end(self, item, &result, err));
    }
    while (self->spine.count > base) {
        uint32_t whole = GLK_VEC_U32(&self->spine)[--self->spine.count];
        GLK_TRY(put_back(self, whole, &result, err));
    }
    *out = result;
    return GLK_OK;
}

static glk_status run_strip(strip *self, uint32_t item, uint32_t *out, glk_error *err) {
    glk_vec_init(&self->spine, NULL, sizeof(uint32_t));
    glk_vec_init(&self->parts, NULL, sizeof(uint32_t));
    glk_vec_init(&self->results, NULL, sizeof(uint32_t));
    glk_index_init(&self->seen, NULL);
    uint32_t result = item;
    glk_status status = strip_item(self, item, &result, err);
    glk_vec_free(&self->spine);
    glk_vec_free(&self->parts);
    glk_vec_free(&self->results);
    glk_index_free(&self->seen);
    if (status == GLK_OK) {
        *out = result;
    }
    return status;
}

glk_status glk_strip_labels(glk_exprs *self, uint32_t item, const uint32_t *labels,
                                   size_t count, uint32_t *out, glk_error *err) {
    strip state = {.store = self, .labels = labels, .count = count};
    return run_strip(&state, item, out, err);
}

glk_status glk_strip_empty(glk_exprs *self, uint32_t item, uint32_t *out, glk_error *err) {
    if ((glk_expr_at(self, item)->flags & GLK_TAGGED) == 0) {
        return plain_without_empty(self, item, out, err);
    }
    strip state = {.store = self, .empty = true};
    return run_strip(&state, item, out, err);
}
