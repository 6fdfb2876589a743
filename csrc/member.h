/* member.h -- the phases of a JSON object or array inside a continuation.
 * Tested by tests/c/test_parser.c.
 *
 * The parameter of a CONTAINER frame is obligations << GLK_PHASE_BITS | phase:
 *
 *     START --"{"--> FIRST_GAP --gap--> FIRST --"}"--> (done)
 *                                         | key
 *                                         v
 *               KEY_GAP <--","-- NEXT <--gap-- VALUE_GAP <-- member's value
 *                  | gap          | "}"
 *                  v              v
 *                 KEY --key--> (member)                    READING: while one of the labelled
 *                                                          terminals of FIRST, NEXT, KEY is read
 *
 * In an array the member's value takes the place of the key.  Where the gap before "}" differs from
 * the one before ",", COMMA and CLOSE stand for NEXT; behind white space that only a comma may follow
 * it is read in COMMITTED, which says that a member is due.
 */
#ifndef GLK_MEMBER_H
#define GLK_MEMBER_H

#include "epoch.h"

/* Both append to self->ways the ways on; they set self->maybe where these depend on a text that a
 * bare configuration does not have. */
/* From a CONTAINER frame that is entered. */
glk_status glk_member_enter(glk_epoch *self, const glk_frame *goal, uint64_t *steps,
                            glk_error *err);
/* After a labelled terminal that was read under `frame`. */
glk_status glk_member_after(glk_epoch *self, const glk_frame *frame, uint32_t label,
                            uint64_t *steps, glk_error *err);

#endif
