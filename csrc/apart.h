/* apart.h -- emptiness, without what long searches leave behind.  Tested by tests/c/test_expr.c.
 *
 * A search keeps every derivative that it looks at, for good: mostly some hundreds, which somebody will
 * ask for later anyway, but sometimes a million of which nobody asks again.  So a search that is not
 * done after a while begins anew in a store apart.  The next long one goes on there, since they
 * often meet the same expressions, until the store has grown; then it starts with an empty one.
 * Each has a share of the owner's byte budget ("search_bytes").
 */
#ifndef GLK_APART_H
#define GLK_APART_H

#include "expr.h"

/* glk_expr_is_empty; after more than `near` of the `*steps`, which then are not counted, in a store apart. */
glk_status glk_expr_is_empty_apart(glk_exprs *self, uint32_t item, uint64_t near, uint64_t *steps,
                                   bool *out, glk_error *err);

#endif
