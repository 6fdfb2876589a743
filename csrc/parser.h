/* parser.h -- the automaton's moves: closure, steps by byte and by token.
 * Tested by tests/c/test_parser.c and tests/test_agree.py.  States and locking: epoch.h. */
#ifndef GLK_PARSER_H
#define GLK_PARSER_H

#include "epoch.h"

/* Computes self->start, the configuration before any text.  Once, before the epoch is shared. */
glk_status glk_parser_start(glk_epoch *self, uint64_t *steps, glk_error *err);

/* ---- with the lock held; `*steps` counts work down ---- */
/* The configuration after a terminal that ended with these labels. */
glk_status glk_parser_closure(glk_epoch *self, uint32_t cont, uint32_t labels, uint64_t *steps,
                              uint32_t *out, glk_error *err);
/* A configuration's row, built if need be. */
glk_status glk_parser_moves(glk_epoch *self, uint32_t config, uint64_t *steps,
                            const glk_moves **out, glk_error *err);
/* The configuration after a byte, or GLK_NONE. */
glk_status glk_parser_step(glk_epoch *self, uint32_t config, uint8_t byte, uint64_t *steps,
                           uint32_t *out, glk_error *err);
/* The configuration after a token taken as a token, not as text, or GLK_NONE. */
glk_status glk_parser_take_token(glk_epoch *self, uint32_t config, uint32_t token, uint64_t *steps,
                                 uint32_t *out, glk_error *err);
/* The union of two configurations (either may be GLK_NONE). */
glk_status glk_parser_unite(glk_epoch *self, uint32_t a, uint32_t b, uint64_t *steps,
                            uint32_t *out, glk_error *err);

#endif
