/* rewrite.h -- from a grammar to a flat program, pass by pass.  Tested by tests/c/test_rewrite.c.
 *
 *   1. import       expressions into the vocabulary's store, cut to its reachable bytes
 *   2. productive   unreachable and unproductive nodes go; a root without sentence is
 *                   GLK_ERR_UNSATISFIABLE
 *   3. nullable     empty bodies of repeats become non-empty ones
 *   4. left         left recursion (direct, indirect, hidden behind nullable nodes) becomes right
 *                   recursion by the left-corner transform, polynomial in the grammar's size
 *   5. flatten      glk_code
 */
#ifndef GLK_REWRITE_H
#define GLK_REWRITE_H

#include "code.h"
#include "grammar.h"

/* What rewriting asks of the vocabulary's shared store; terminal.c provides it. */
typedef struct glk_rewrite_env {
    void *context;
    /* The grammar's expression in the vocabulary's store. */
    glk_status (*import)(void *context, const glk_exprs *from, uint32_t expr, uint32_t *out,
                         glk_error *err);
    /* Whether an expression of the vocabulary's store has no sentence. */
    glk_status (*is_empty)(void *context, uint32_t expr, bool *out, glk_error *err);
    /* Whether it matches the empty string (a tag counts). */
    bool (*is_nullable)(void *context, uint32_t expr);
    /* The expression without the empty string, for expressions without tags. */
    glk_status (*without_empty)(void *context, uint32_t expr, uint32_t *out, glk_error *err);
} glk_rewrite_env;

/* `max_steps` bounds the work of all passes together (budget "rewrite_steps"). `out` is initialised by the
 * caller (glk_code_init) and untouched on failure except for memory that glk_code_free releases. */
glk_status glk_rewrite(const glk_grammar *grammar, const glk_rewrite_env *env, uint64_t max_steps,
                       glk_code *out, glk_error *err);

#endif
