/* strip.h -- tagged expressions: which labels they end with, and expressions with something taken
 * away: some labels, or the empty string.  Tested by tests/c/test_passes.c.
 *
 * A well-formed tagged expression is a union of concatenations that each end in a TAG, or in such
 * an expression again; no TAG stands anywhere else:
 *
 *     tagged  =  TAG  |  CAT(untagged, tagged)  |  OR(tagged, ...)
 *
 * Recursion is on nested OR only, whose depth GLK_EXPR_DEPTH bounds; spines are walked in loops and
 * an OR is visited once.
 */
#ifndef GLK_STRIP_H
#define GLK_STRIP_H

#include "expr.h"

typedef glk_status (*glk_expr_test)(void *context, uint32_t expr, bool *out, glk_error *err);

/* Appends the labels that `item` can end with to `labels` (u32), ascending, each once.  A branch
 * with a head for which `is_empty` says true does not count (NULL: every branch counts; it is only
 * asked about heads that hold an and / not).  GLK_ERR_ARGUMENT if `item` is not well-formed. */
glk_status glk_strip_list(const glk_exprs *self, uint32_t item, glk_expr_test is_empty,
                                void *context, glk_vec *labels, glk_error *err);

/* `item` without the branches that end in one of `labels` (ascending). */
glk_status glk_strip_labels(glk_exprs *self, uint32_t item, const uint32_t *labels,
                                   size_t count, uint32_t *out, glk_error *err);

/* `item`, tagged or not, without the empty string. */
glk_status glk_strip_empty(glk_exprs *self, uint32_t item, uint32_t *out, glk_error *err);

#endif
