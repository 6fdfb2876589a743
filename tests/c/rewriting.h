/* rewriting.h -- what the tests of the rewriter share: a store for grammars, one for code, the
 * environment between them, and short words to build grammars with. */
#ifndef REWRITING_H
#define REWRITING_H

#include "check.h"
#include "rewrite.h"
#include "strip.h"

static glk_exprs *source; /* of grammars */
static glk_exprs target;  /* of code */
static glk_vec map;       /* from the one to the other */
static glk_error err;

/* ---- the environment ---- */

static inline glk_status env_import(void *context, const glk_exprs *from, uint32_t expr,
                                    uint32_t *out, glk_error *error) {
    (void)context;
    return glk_expr_import(&target, from, expr, &map, out, error);
}

static inline glk_status env_is_empty(void *context, uint32_t expr, bool *out, glk_error *error) {
                                      (void)context;
    uint64_t steps = 100000;
    return glk_expr_is_empty(&target, expr, &steps, out, error);
}

static inline glk_status env_key(void *context, const glk_exprs *from, uint32_t expr,
                                 uint32_t *out, bool *empty, glk_error *error) {
    GLK_TRY(env_import(context, from, expr, out, error));
    return env_is_empty(context, *out, empty, error);
}

static inline bool env_is_nullable(void *context, uint32_t expr) {
    (void)context;
    return glk_expr_nullable(&target, expr);
}

static inline glk_status env_without_empty(void *context, uint32_t expr, uint32_t *out,
                                           glk_error *error) {
    (void)context;
    return glk_strip_empty(&target, expr, out, error);
}

static inline glk_status env_live_labels(void *context, uint32_t expr, glk_vec *labels,
                                         glk_error *error) {
    return glk_strip_list(&target, expr, env_is_empty, context, labels, error);
}

static inline glk_status env_empty_labels(void *context, uint32_t expr, glk_vec *labels,
                                          glk_error *error) {
    (void)context;
    return glk_expr_labels(&target, expr, labels, error);
}

static inline glk_status env_without_labels(void *context, uint32_t expr, const uint32_t *labels,
                                            size_t count, uint32_t *out, glk_error *error) {
    (void)context;
    return glk_strip_labels(&target, expr, labels, count, out, error);
}

static const char *missing_bytes = "";

static inline bool env_has_byte(void *context, uint8_t byte) {
    (void)context;
    return strchr(missing_bytes, byte) == NULL;
}

static inline bool env_has_token(void *context, uint32_t id) {
    (void)context;
    return id < 100;
}

static const glk_rewrite_env env = {NULL,
                                    env_import,
                                    env_key,
                                    env_is_empty,
                                    env_is_nullable,
                                    env_without_empty,
                                    env_live_labels,
                                    env_empty_labels,
                                    env_without_labels,
                                    env_has_byte,
                                    env_has_token};

static inline void open_target(const glk_bytes *alphabet) {
    CHECK_OK(glk_exprs_init(&target, "test_bytes", 1 << 28, alphabet, &err));
    glk_vec_init(&map, NULL, sizeof(uint32_t));
}

static inline void close_target(void) {
    glk_exprs_destroy(&target);
    glk_vec_free(&map);
}

/* ---- building ---- */

static inline uint32_t literal(const char *text) {
    uint32_t id;
    CHECK_OK(glk_expr_literal(source, (const uint8_t *)text, strlen(text), GLK_EXPR_EPSILON, &id,
                              &err));
    return id;
}

static inline uint32_t terminal(glk_grammar *g, uint32_t expr) {
    uint32_t id;
    CHECK_OK(glk_grammar_terminal(g, expr, &id, &err));
    return id;
}

static inline uint32_t text(glk_grammar *g, const char *bytes) {
    return terminal(g, literal(bytes));
}

static inline uint32_t rule(glk_grammar *g) {
    uint32_t id;
    CHECK_OK(glk_grammar_rule(g, &id, &err));
    return id;
}

static inline uint32_t sequence(glk_grammar *g, const uint32_t *nodes, size_t count) {
    uint32_t id;
    CHECK_OK(glk_grammar_sequence(g, nodes, count, &id, &err));
    return id;
}

static inline uint32_t choice(glk_grammar *g, const uint32_t *nodes, size_t count) {
    uint32_t id;
    CHECK_OK(glk_grammar_choice(g, nodes, count, &id, &err));
    return id;
}

static inline uint32_t repetition(glk_grammar *g, uint32_t node, uint32_t low, uint32_t high) {
    uint32_t id;
    CHECK_OK(glk_grammar_repetition(g, node, low, high, &id, &err));
    return id;
}

#define LIST(...) (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4

#endif
