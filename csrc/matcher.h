/* matcher.h -- one sequence being generated: a history of configurations.
 * Tested by tests/test_matcher.py and tests/test_agree.py.
 *
 * Step k led to configs[k + 1]; rollback drops entries, fork copies them.  Beside each step lies
 * what was accepted, so that the history can be replayed into a new epoch when the old one is
 * full.  The hit path of accept and fill takes no lock: it follows published rows and masks.
 *
 * Threads   a matcher belongs to one thread at a time; matchers of one program may run side by side.
 */
#ifndef GLK_MATCHER_H
#define GLK_MATCHER_H

#include "program.h"

typedef struct glk_step { /* what one accept took */
    uint32_t token;       /* an id, or GLK_NONE for text */
    uint32_t length;      /* text: bytes, at `offset` in `texts` */
    uint64_t offset;
} glk_step;

struct glk_matcher {
    glk_program *program; /* retained */
    glk_epoch *epoch;     /* retained */
    glk_account account;  /* of the history; no limit */
    glk_vec configs;      /* u32; one more than steps */
    glk_vec steps;        /* glk_step */
    glk_vec texts;        /* u8 */
    uint32_t hits;        /* masks that were there, not yet added to the epoch's */
    bool ended;           /* the last step was an end id */
};

/* The mask for the batch and for one row; see gramlock.h. */
glk_status glk_matcher_fill_row(glk_matcher *self, uint32_t *mask, size_t words, bool by_walk,
                                glk_error *err);

#endif
