/* mask.h -- the tokens that may come next: of a thread, of a configuration.
 * Tested by tests/test_agree.py.
 *
 *     mask(q, K) = interior(q)  +  exits(q) walked under closure(K)
 *
 * A thread's mask is the interior's shared bitmask with two lists: ids taken out (the span's) and ids
 * put in (the span's and those that the walk allowed).  Where both name an id, putting in wins, so
 * neither list needs sorting.  A configuration's mask is the union over its threads, of its far
 * twin where counts do not matter.  Both are memoised in the epoch.  Where values must differ, the
 * mask is made for the bare twin and corrected (correct.h).
 */
#ifndef GLK_MASK_H
#define GLK_MASK_H

#include "correct.h"

/* The configuration's mask without end ids, computed if need be; the epoch's lock is held. */
glk_status glk_mask_build(glk_epoch *self, uint32_t config, uint64_t *steps,
                          const glk_tokens **out, glk_error *err);

static inline const glk_tokens *glk_config_mask(const glk_epoch *self, uint32_t config) {
    return atomic_load_explicit(&glk_config_at(self, config)->mask, memory_order_acquire);
}

/* Writes a set into `words` words; those past the vocabulary's are cleared. */
void glk_mask_write(const glk_tokens *tokens, uint32_t size, uint32_t *mask, size_t words);

/* The same mask by walking the whole trie under `config`, without spans or memo; the lock is
 * held.  `mask` has at least glk_mask_words(size) words and is all zero. */
glk_status glk_mask_walk(glk_epoch *self, uint32_t config, uint64_t *steps, uint32_t *mask,
                         glk_error *err);

#endif
