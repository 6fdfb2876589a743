/* parser.h -- what the automaton does: closure, and raw steps by byte and by token.
 * Tested by tests/c/test_parser.c and tests/test_agree.py.  States and locking: epoch.h.
 *
 * Raw: a configuration may hold threads that cannot be finished, because what they would have to
 * write was written before.  moves.h has the steps without them. */
#ifndef GLK_PARSER_H
#define GLK_PARSER_H

#include "epoch.h"

/* Computes self->start, the configuration before any text.  Once, before the epoch is shared. */
glk_status glk_parser_start(glk_epoch *self, uint64_t *steps, glk_error *err);

/* ---- with the lock held; `*steps` counts work down ---- */
/* The configuration after a terminal that ended with these labels, or GLK_MAYBE. */
glk_status glk_parser_closure(glk_epoch *self, uint32_t cont, uint32_t labels, uint32_t text,
                              uint64_t *steps, uint32_t *out, glk_error *err);
/* A terminal state's row, built if need be. */
glk_status glk_parser_row(glk_epoch *self, uint32_t state, uint64_t *steps, const glk_row **out,
                          glk_error *err);
/* The bytes with which some thread of a configuration may go on. */
glk_status glk_parser_live(glk_epoch *self, uint32_t config, uint64_t *steps, glk_bytes *out,
                           glk_error *err);
/* The terminal state after a byte, or GLK_NONE. */
glk_status glk_parser_target(glk_epoch *self, uint32_t state, uint8_t byte, uint64_t *steps,
                             uint32_t *out, glk_error *err);
/* The configuration after a live byte, maybe without threads, or GLK_MAYBE. */
glk_status glk_parser_step_raw(glk_epoch *self, uint32_t config, uint8_t byte, uint64_t *steps,
                               uint32_t *out, glk_error *err);
/* The configuration after a token taken as a token, not as text, or GLK_NONE. */
glk_status glk_parser_take_token(glk_epoch *self, uint32_t config, uint32_t token, uint64_t *steps,
                                 uint32_t *out, glk_error *err);
/* The union of two configurations (either may be GLK_NONE, or GLK_MAYBE). */
glk_status glk_parser_unite(glk_epoch *self, uint32_t a, uint32_t b, uint64_t *steps,
                            uint32_t *out, glk_error *err);

#endif
