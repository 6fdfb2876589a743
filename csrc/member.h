/* member.h -- the phases of a JSON object inside a continuation.  Tested by tests/c/test_parser.c.
 *
 * The parameter of an OBJECT frame is obligations << 3 | phase:
 *
 *     START --"{"--> FIRST_GAP --gap--> FIRST --"}"--> (done)
 *                                         | key
 *                                         v
 *               KEY_GAP <--","-- NEXT <--gap-- VALUE_GAP <-- member's value
 *                  | gap          | "}"
 *                  v              v
 *                 KEY --key--> (member)                    READING: while one of the labelled
 *                                                          terminals of FIRST, NEXT, KEY is read
 */
#ifndef GLK_MEMBER_H
#define GLK_MEMBER_H

#include "epoch.h"

/* The terminal that phase `goal` reads and the parameter of the object's frame while it is read. */
glk_status glk_member_phase(glk_epoch *self, const glk_frame *goal, uint64_t *steps,
                            uint32_t *state, uint32_t *next, glk_error *err);
/* What comes after a labelled terminal that was read under `frame`: *next (node GLK_NONE: the
 * object is done, its rest follows). */
glk_status glk_member_after(glk_epoch *self, glk_frame frame, uint32_t label, glk_frame *next,
                            glk_error *err);

#endif
