/* reach.h -- how far the end of a terminal may be.  Tested by tests/c/test_terminal.c. */
#ifndef GLK_REACH_H
#define GLK_REACH_H

#include "terminal.h"

/* The largest, over all states that can be reached from `state`, of the fewest bytes to acceptance;
 * GLK_UNBOUNDED - 1 if there are too many states to look at.  Kept in the state.  The registry's
 * lock is held. */
glk_status glk_reach_worst(glk_terminals *self, uint32_t state, uint64_t *steps, uint32_t *out,
                           glk_error *err);

#endif
