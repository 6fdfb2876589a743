/* draft.c -- glk_matcher_fill_draft, see gramlock.h.  Tested by tests/test_drafts.py.
 *
 * The matcher itself goes from token to token: back to the last token on the way to the next one, then
 * forward.  In depth-first order that is one accept a token; in any order it is right.  At the end it
 * goes back to where it was. */
#include "matcher.h"

typedef struct draft {
    glk_matcher *matcher;
    const uint32_t *tokens, *parents; /* no parents: a chain */
    uint32_t *masks;
    size_t stride, words;
    bool *valid;
    glk_vec path;  /* u32: the tokens accepted now, by place in the draft */
    glk_vec route; /* u32: the way to a token, from it upwards */
    glk_error *err;
} draft;

static uint32_t parent_of(const draft *self, uint32_t at) {
    return self->parents != NULL ? self->parents[at] : at == 0 ? GLK_NONE : at - 1;
}

static glk_status check_parents(const uint32_t *parents, size_t count, glk_error *err) {
    if (count >= GLK_NONE) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "a draft of %zu tokens", count);
    }
    for (size_t i = 0; parents != NULL && i < count; i++) {
        if (parents[i] != GLK_NONE && parents[i] >= i) {
            return glk_fail(err, GLK_ERR_ARGUMENT,
                            "the parent of draft token %zu is %u, not one before it", i,
                            (unsigned)parents[i]);
        }
    }
    return GLK_OK;
}

/* Leaves accepted what the path and the route to `at` share, and lists the rest of the route. */
static glk_status turn_back(draft *self, uint32_t at) {
    uint32_t common = 0;
    self->route.count = 0;
    for (uint32_t up = at; up != GLK_NONE; up = parent_of(self, up)) {
        GLK_TRY(glk_vec_push_u32(&self->route, up, self->err));
    }
    const uint32_t *route = GLK_VEC_U32(&self->route), *path = GLK_VEC_U32(&self->path);
    while (common < self->path.count && common < self->route.count &&
           path[common] == route[self->route.count - 1 - common]) {
        common++;
    }
    GLK_TRY(glk_matcher_rollback(self->matcher, self->path.count - common, self->err));
    self->path.count = common;
    self->route.count -= common;
    return GLK_OK;
}

/* Goes to token `at`; *good = false if it, or one before it, cannot come. */
static glk_status go_to(draft *self, uint32_t at, bool *good) {
    uint32_t parent = parent_of(self, at);
    *good = parent == GLK_NONE || self->valid[parent];
    if (!*good) {
        return GLK_OK;
    }
    GLK_TRY(turn_back(self, at));
    while (*good && self->route.count > 0) {
        uint32_t next = GLK_VEC_U32(&self->route)[--self->route.count];
        GLK_TRY(glk_vec_reserve(&self->path, 1, self->err));
        GLK_TRY(glk_matcher_accept_token(self->matcher, self->tokens[next], good, self->err));
        if (*good) {
            GLK_TRY(glk_vec_push_u32(&self->path, next, self->err));
        }
    }
    return GLK_OK;
}

static glk_status fill_here(draft *self, size_t row, bool good) {
    uint32_t *mask = self->masks + row * self->stride;
    if (!good || self->matcher->ended) {
        memset(mask, 0, self->words * sizeof *mask);
        return GLK_OK;
    }
    return glk_matcher_fill(self->matcher, mask, self->words, self->err);
}

static glk_status fill_all(draft *self, uint32_t count) {
    GLK_TRY(glk_matcher_fill(self->matcher, self->masks, self->words, self->err));
    for (uint32_t i = 0; i < count; i++) {
        bool good;
        GLK_TRY(go_to(self, i, &good));
        self->valid[i] = good;
        GLK_TRY(fill_here(self, (size_t)i + 1, good));
    }
    return GLK_OK;
}

glk_status glk_matcher_fill_draft(glk_matcher *self, const uint32_t *tokens,
                                  const uint32_t *parents, size_t count, uint32_t *masks,
                                  size_t stride, size_t words, bool *valid, glk_error *err) {
    GLK_TRY(check_parents(parents, count, err));
    if (words > stride && count > 0) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "rows of %zu words at a stride of %zu", words,
                        stride);
    }
    draft job = {.matcher = self,
                 .tokens = tokens,
                 .parents = parents,
                 .masks = masks,
                 .stride = stride,
                 .words = words,
                 .valid = valid,
                 .err = err};
    glk_vec_init(&job.path, NULL, sizeof(uint32_t));
    glk_vec_init(&job.route, NULL, sizeof(uint32_t));
    glk_status status = fill_all(&job, (uint32_t)count);
    (void)glk_matcher_rollback(self, job.path.count, NULL);
    glk_vec_free(&job.path);
    glk_vec_free(&job.route);
    return status;
}
