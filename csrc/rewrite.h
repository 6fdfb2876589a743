/* rewrite.h -- from a grammar to a flat program, pass by pass.  Tested by tests/c/test_rewrite.c.
 *
 *   1. lower        the reachable nodes as code; expressions go into the vocabulary's store, cut to
 *                   its reachable bytes; what has no sentence by itself becomes a choice of nothing
 *   2. productive   nodes without a sentence go; a root without one is GLK_ERR_UNSATISFIABLE
 *   3. nonempty     bodies of repeats that match the empty string become ones that do not
 *   4. leftcorner   left recursion (direct, indirect, hidden behind nullable nodes) becomes right
 *                   recursion by the left-corner transform, polynomial in the grammar's size
 *   5. emit         renumbered from the root, references resolved, the invariants of code.h
 *
 * Passes 1 to 4 work on code with JUMP, without TABLE, with any number of alternatives in an ALT
 * (passes.h); 3 and 4 do nothing where there is nothing to do, which is the case for every JSON
 * schema.
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
    /* The same for a container's key, as it stands in the code, and whether it has no sentence: the
     * caller may want to copy it later. */
    glk_status (*key)(void *context, const glk_exprs *from, uint32_t expr, uint32_t *out,
                      bool *empty, glk_error *err);
    /* Whether an expression of the vocabulary's store has no sentence. */
    glk_status (*is_empty)(void *context, uint32_t expr, bool *out, glk_error *err);
    /* Whether it matches the empty string (a tag counts). */
    bool (*is_nullable)(void *context, uint32_t expr);
    /* The expression, tagged or not, without the empty string (glk_strip_empty). */
    glk_status (*without_empty)(void *context, uint32_t expr, uint32_t *out, glk_error *err);
    /* Appends the labels that a tagged expression can end with, ascending; branches without a
     * sentence do not count (glk_strip_list with an emptiness test). */
    glk_status (*live_labels)(void *context, uint32_t expr, glk_vec *labels, glk_error *err);
    /* Appends the labels with which the empty string matches (glk_expr_labels). */
    glk_status (*empty_labels)(void *context, uint32_t expr, glk_vec *labels, glk_error *err);
    /* The expression without the branches of these labels, ascending (glk_strip_labels). */
    glk_status (*without_labels)(void *context, uint32_t expr, const uint32_t *labels,
                                 size_t count, uint32_t *out, glk_error *err);
    /* Whether a byte is reachable: it stands in some token. */
    bool (*has_byte)(void *context, uint8_t byte);
    /* Whether the vocabulary has a token of this id. */
    bool (*has_token)(void *context, uint32_t id);
} glk_rewrite_env;

/* `max_steps` bounds the work of all passes together (budget "steps").  `out` is
 * initialised by the caller (glk_code_init); after a failure it is only good for glk_code_free. */
glk_status glk_rewrite(const glk_grammar *grammar, const glk_rewrite_env *env, uint64_t max_steps,
                       glk_code *out, glk_error *err);

#endif
