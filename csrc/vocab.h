/* vocab.h -- a tokenizer's tokens as bytes, their trie, the end ids; immutable once built.
 * Tested by tests/c/test_vocab.c.  The registry of shared terminals hangs on it, see terminal.h. */
#ifndef GLK_VOCAB_H
#define GLK_VOCAB_H

#include <pthread.h>

#include "bitmask.h"
#include "trie.h"


struct glk_vocab {
    glk_account account;       /* tokens and trie; no limit */
    glk_arena arena;
    uint8_t *bytes;            /* all texts, one after the other */
    uint64_t *offsets;         /* size + 1 */
    uint32_t size;             /* ids, holes included */
    uint32_t longest;          /* bytes of the longest token */
    uint32_t *end_ids;         /* sorted, no duplicates, all < size */
    uint32_t end_count;
    glk_trie trie;             /* tokens with text whose every byte is reachable; end ids have no text here */
    glk_bytes reachable;       /* bytes with a token of their own */
    uint64_t terminals_budget; /* bytes for one epoch of shared terminals */
    pthread_mutex_t lock;      /* guards `terminals` (the pointer) */
    struct glk_terminals *terminals; /* terminal.h: the current registry; NULL before the first program */
    _Atomic uint32_t references;
};

static inline const uint8_t *glk_vocab_text(const glk_vocab *self, uint32_t id, size_t *length) {
    *length = (size_t)(self->offsets[id + 1] - self->offsets[id]);
    return self->bytes + self->offsets[id];
}
static inline bool glk_vocab_is_end(const glk_vocab *self, uint32_t id) {
    for (uint32_t i = 0; i < self->end_count; i++) {
        if (self->end_ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* Everything but `terminals`, whose release the api layer does first. */
glk_status glk_vocab_init(glk_vocab *self, const uint8_t *bytes, const uint64_t *offsets,
                          uint32_t size, const uint32_t *end_ids, size_t end_count,
                          uint64_t terminals_budget, glk_error *err);
void glk_vocab_destroy(glk_vocab *self);

#endif
