/* alive.h -- which threads can still be finished where values must differ.
 * Tested by tests/c/test_parser.c and tests/test_agree.py.
 *
 * An item of an array with unique items must become something new, and so must a free key.  While
 * its text is the beginning of a value seen before, whether it can is a question of the grammar: in
 * [true, t nothing new can follow.  So it is where an item or key is *due*, behind a comma.  The
 * answer is looked for among the texts that may follow, mostly shortest first, up to the first that
 * differs from all seen values; since every configuration can be finished apart from that, there is
 * an end behind it.  Containers that are *tight* (object.h) may run out of values later; for them the
 * search goes on to their end. */
#ifndef GLK_ALIVE_H
#define GLK_ALIVE_H

#include "parser.h"

/* ---- with the lock held ---- */
/* The configuration without the threads that cannot be finished; GLK_DEAD if none is left. */
glk_status glk_alive_filter(glk_epoch *self, uint32_t config, uint64_t *steps, uint32_t *out,
                            glk_error *err);
/* Whether every item or key being read differs from all that were seen, however it goes on. */
glk_status glk_alive_is_fresh(glk_epoch *self, uint32_t config, bool *out, glk_error *err);
/* Whether one of them may still become one that was seen after one more byte; inside of strings. */
glk_status glk_alive_may_repeat(glk_epoch *self, uint32_t config, uint8_t byte, bool *out,
                                glk_error *err);
/* Whether it is inside a tight container, so that its bare twin says little. */
glk_status glk_alive_is_tight(glk_epoch *self, uint32_t config, bool *out, glk_error *err);

#endif
