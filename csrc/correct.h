/* correct.h -- the mask of a configuration with texts or seen values, from its bare twin's.
 * Tested by tests/test_agree.py.
 *
 * The bare twin answers as if the item or key being read were new, whatever it becomes.  That is
 * wrong for tokens that finish one seen before, or lead to where only such ones are left: they are
 * found by walking the trie of tokens along those texts only that may still become a seen value.
 * Tokens about which the bare twin says GLK_MAYBE (those that reach the next item or key) are tried
 * one by one. */
#ifndef GLK_CORRECT_H
#define GLK_CORRECT_H

#include "moves.h"

/* The tokens of `config` out of those of its bare twin; the lock is held.  *out may be `tokens`. */
glk_status glk_correct_mask(glk_epoch *self, uint32_t config, const glk_tokens *tokens,
                            const uint32_t *undecided, uint32_t undecided_count, uint64_t *steps,
                            const glk_tokens **out, glk_error *err);

#endif
