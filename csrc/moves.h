/* moves.h -- the automaton's steps as everyone else takes them: remembered, without dead ends.
 * Tested by tests/c/test_parser.c and tests/test_agree.py.  States and locking: epoch.h. */
#ifndef GLK_MOVES_H
#define GLK_MOVES_H

#include "alive.h"

/* ---- with the lock held; `*steps` counts work down ---- */
/* Computes self->start, the configuration before any text.  Once, before the epoch is shared. */
glk_status glk_moves_start(glk_epoch *self, uint64_t *steps, glk_error *err);
/* A configuration's row, built if need be. */
glk_status glk_moves_row(glk_epoch *self, uint32_t config, uint64_t *steps, const glk_moves **out,
                         glk_error *err);
/* How many bytes may come next, 0, 1 or 2 for more, and the first of them.  (A row's `live` may have
 * more of them where values must differ.) */
glk_status glk_moves_count(glk_epoch *self, uint32_t config, uint64_t *steps, uint32_t *count,
                           uint8_t *first, glk_error *err);
/* The configuration after a byte; GLK_NONE, or GLK_MAYBE after a bare one. */
glk_status glk_moves_step(glk_epoch *self, uint32_t config, uint8_t byte, uint64_t *steps,
                          uint32_t *out, glk_error *err);
/* The configuration after a terminal that ended with these labels; GLK_NONE, or GLK_MAYBE. */
glk_status glk_moves_closure(glk_epoch *self, uint32_t cont, uint32_t labels, uint32_t text,
                             uint64_t *steps, uint32_t *out, glk_error *err);
/* The configuration after a token taken as a token, not as text, or GLK_NONE. */
glk_status glk_moves_take_token(glk_epoch *self, uint32_t config, uint32_t token, uint64_t *steps,
                                uint32_t *out, glk_error *err);

#endif
