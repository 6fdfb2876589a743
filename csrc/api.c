/* api.c -- the boundary: what gramlock.h offers over expressions and vocabularies, with the locks
 * that the stages below leave to their owners.  Programs, matchers, grammars and logits export
 * their own functions from their own files. */
#include "apart.h"
#include "charset.h"
#include "terminal.h"

/* ------------------------------------------------------------------ expressions */

/* Brings the store's scratch back to where it was, whatever happened. */
static glk_status finish(glk_exprs *self, uint32_t base, glk_status status) {
    self->scratch.count = base;
    (void)pthread_mutex_unlock(&self->lock);
    return status;
}

static uint32_t start(glk_exprs *self) {
    (void)pthread_mutex_lock(&self->lock);
    return self->scratch.count;
}

static glk_status check_ids(const glk_exprs *self, const uint32_t *items, size_t count,
                            glk_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (items[i] >= self->exprs.count) {
            return glk_fail(err, GLK_ERR_ARGUMENT, "there is no expression %u",
                            (unsigned)items[i]);
        }
    }
    return GLK_OK;
}

glk_status glk_exprs_class(glk_exprs *self, const uint64_t *bits, uint32_t *out, glk_error *err) {
    glk_bytes set;
    memcpy(&set, bits, sizeof set);
    uint32_t base = start(self);
    return finish(self, base, glk_expr_class(self, &set, out, err));
}

glk_status glk_exprs_literal(glk_exprs *self, const uint8_t *bytes, size_t count, uint32_t *out,
                             glk_error *err) {
    uint32_t base = start(self);
    return finish(self, base, glk_expr_literal(self, bytes, count, GLK_EXPR_EPSILON, out, err));
}

glk_status glk_exprs_codepoints(glk_exprs *self, const uint32_t *ranges, size_t count,
                                glk_encoding encoding, uint32_t *out, glk_error *err) {
    uint32_t base = start(self);
    return finish(self, base, glk_charset_expr(self, ranges, count, encoding, out, err));
}

static glk_status concat(glk_exprs *self, const uint32_t *items, size_t count, uint32_t *out,
                         glk_error *err) {
    uint32_t result = GLK_EXPR_EPSILON;
    GLK_TRY(check_ids(self, items, count, err));
    for (size_t i = count; i > 0; i--) {
        GLK_TRY(glk_expr_cat(self, items[i - 1], result, &result, err));
    }
    *out = result;
    return GLK_OK;
}

glk_status glk_exprs_concat(glk_exprs *self, const uint32_t *items, size_t count, uint32_t *out,
                            glk_error *err) {
    uint32_t base = start(self);
    return finish(self, base, concat(self, items, count, out, err));
}

glk_status glk_exprs_union(glk_exprs *self, const uint32_t *items, size_t count, uint32_t *out,
                           glk_error *err) {
    uint32_t base = start(self);
    glk_status status = check_ids(self, items, count, err);
    if (status == GLK_OK) {
        status = glk_expr_or(self, items, count, out, err);
    }
    return finish(self, base, status);
}

glk_status glk_exprs_intersect(glk_exprs *self, const uint32_t *items, size_t count,
                               uint32_t *out, glk_error *err) {
    uint32_t base = start(self);
    glk_status status = check_ids(self, items, count, err);
    if (status == GLK_OK) {
        status = glk_expr_and(self, items, count, out, err);
    }
    return finish(self, base, status);
}

glk_status glk_exprs_complement(glk_exprs *self, uint32_t item, uint32_t *out, glk_error *err) {
    uint32_t base = start(self);
    glk_status status = check_ids(self, &item, 1, err);
    if (status == GLK_OK) {
        status = glk_expr_not(self, item, out, err);
    }
    return finish(self, base, status);
}

glk_status glk_exprs_repeat(glk_exprs *self, uint32_t item, uint32_t low, uint32_t high,
                            uint32_t *out, glk_error *err) {
    uint32_t base = start(self);
    glk_status status = check_ids(self, &item, 1, err);
    if (status == GLK_OK) {
        status = glk_expr_rep(self, item, low, high, out, err);
    }
    return finish(self, base, status);
}

glk_status glk_exprs_tag(glk_exprs *self, uint32_t label, uint32_t *out, glk_error *err) {
    uint32_t base = start(self);
    return finish(self, base, glk_expr_tag(self, label, out, err));
}

static glk_status matches(glk_exprs *self, uint32_t item, const uint8_t *bytes, size_t count,
                          uint64_t max_steps, bool *out, glk_error *err) {
    GLK_TRY(check_ids(self, &item, 1, err));
    if (count > max_steps) {
        return glk_fail_limit(err, "steps", count, max_steps);
    }
    for (size_t i = 0; i < count && item != GLK_EXPR_NEVER; i++) {
        GLK_TRY(glk_expr_derive(self, item, bytes[i], &item, err));
    }
    *out = glk_expr_nullable(self, item);
    return GLK_OK;
}

glk_status glk_exprs_matches(glk_exprs *self, uint32_t item, const uint8_t *bytes, size_t count,
                             uint64_t max_steps, bool *out, glk_error *err) {
    uint32_t base = start(self);
    return finish(self, base, matches(self, item, bytes, count, max_steps, out, err));
}

glk_status glk_exprs_is_empty(glk_exprs *self, uint32_t item, uint64_t max_steps, bool *out,
                              glk_error *err) {
    uint32_t base = start(self);
    glk_status status = check_ids(self, &item, 1, err);
    if (status == GLK_OK) {
        enum { NEAR = 5000 };
        status = glk_expr_is_empty_apart(self, item, NEAR, &max_steps, out, err);
    }
    return finish(self, base, status);
}

glk_status glk_exprs_texts(glk_exprs *self, uint32_t item, uint32_t most, uint64_t max_steps,
                           uint32_t *lengths, uint8_t *bytes, size_t capacity, size_t *needed,
                           uint32_t *count, glk_error *err) {
    glk_vec found, text;
    bool more = false;
    glk_vec_init(&found, NULL, sizeof(uint32_t));
    glk_vec_init(&text, NULL, sizeof(uint8_t));
    uint32_t base = start(self);
    glk_status status = check_ids(self, &item, 1, err);
    if (status == GLK_OK) {
        status = glk_expr_texts(self, item, most, &max_steps, &found, &text, &more, err);
    }
    (void)finish(self, base, status);
    if (status == GLK_OK) {
        *count = more ? most + 1 : found.count;
        *needed = more ? 0 : text.count;
        if (!more && found.count > 0) {
            memcpy(lengths, found.data, found.count * sizeof *lengths);
        }
        if (*needed > 0 && *needed <= capacity) {
            memcpy(bytes, text.data, text.count);
        }
    }
    glk_vec_free(&found);
    glk_vec_free(&text);
    return status;
}

/* ------------------------------------------------------------------ vocabularies */

glk_status glk_vocab_new(const uint8_t *bytes, const uint64_t *offsets, uint32_t size,
                         const uint32_t *end_ids, size_t end_count, uint64_t max_bytes,
                         glk_vocab **out, glk_error *err) {
    void *memory;
    GLK_TRY(glk_alloc(NULL, sizeof(glk_vocab), &memory, err));
    glk_status status =
        glk_vocab_init(memory, bytes, offsets, size, end_ids, end_count, max_bytes, err);
    if (status != GLK_OK) {
        glk_release(NULL, memory, sizeof(glk_vocab));
        return status;
    }
    *out = memory;
    return GLK_OK;
}

void glk_vocab_retain(glk_vocab *self) { atomic_fetch_add(&self->references, 1); }

void glk_vocab_release(glk_vocab *self) {
    if (self != NULL && atomic_fetch_sub(&self->references, 1) == 1) {
        glk_terminals_release(self->terminals);
        glk_vocab_destroy(self);
        glk_release(NULL, self, sizeof *self);
    }
}

void glk_vocab_get_stats(glk_vocab *self, glk_vocab_stats *out) {
    *out = (glk_vocab_stats){.bytes = atomic_load(&self->account.used),
                             .trie_nodes = self->trie.count,
                             .longest_token = self->longest};
    (void)pthread_mutex_lock(&self->lock);
    if (self->terminals != NULL) {
        out->bytes += glk_terminals_bytes(self->terminals);
        (void)pthread_mutex_lock(&self->terminals->lock);
        out->states = self->terminals->states.count;
        (void)pthread_mutex_unlock(&self->terminals->lock);
    }
    (void)pthread_mutex_unlock(&self->lock);
}

void glk_test_fail_allocation(int64_t count) { glk_alloc_fail_after(count); }
