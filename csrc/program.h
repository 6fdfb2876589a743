/* program.h -- a compiled grammar: the flat code, the vocabulary's terminals, the current epoch.
 * Tested by tests/test_matcher.py and tests/test_threads.py.
 *
 * Lifetimes   shared, reference counted; keeps vocabulary and terminals alive.
 * Epochs      When the tables of an epoch pass the byte budget, a matcher asks for the next one and
 *             replays its text into it; the old one goes with its last user.  Whoever asks first
 *             makes it, so all matchers of the program meet in the same one.
 */
#ifndef GLK_PROGRAM_H
#define GLK_PROGRAM_H

#include "mask.h"
#include "rewrite.h"

struct glk_program {
    glk_vocab *vocab;         /* retained */
    glk_terminals *terminals; /* retained */
    glk_account account;      /* of the code; no limit */
    glk_code code;
    glk_limits limits;
    pthread_mutex_t lock;     /* guards what follows */
    glk_epoch *epoch;         /* the current one */
    glk_program_stats past;   /* sums over the epochs that are gone */
    _Atomic uint32_t references;
};

/* The current epoch, or the one after `old` if that is still current; retained for the caller. */
glk_status glk_program_epoch(glk_program *self, const glk_epoch *old, glk_epoch **out,
                             glk_error *err);

/* A fresh epoch that nobody else will be given. */
glk_status glk_program_own_epoch(glk_program *self, glk_epoch **out, glk_error *err);

#endif
