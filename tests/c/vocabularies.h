/* vocabularies.h -- small vocabularies for tests, put together token by token. */
#ifndef VOCABULARIES_H
#define VOCABULARIES_H

#include "check.h"
#include "vocab.h"

enum { MOST_TOKENS = 100000, MOST_TOKEN_BYTES = 1000000 };

static struct {
    uint8_t bytes[MOST_TOKEN_BYTES];
    uint64_t offsets[MOST_TOKENS + 1];
    uint32_t count;
} words;

static inline void add_token(const void *text, size_t length) {
    uint64_t used = words.offsets[words.count];
    CHECK(words.count < MOST_TOKENS && used + length <= MOST_TOKEN_BYTES);
    if (length > 0) {
        memcpy(words.bytes + used, text, length);
    }
    words.offsets[++words.count] = used + length;
}

static inline void add_word(const char *text) { add_token(text, strlen(text)); }

/* The tokens "low", ..., "high", one byte each. */
static inline void add_bytes(uint8_t low, uint8_t high) {
    for (uint32_t byte = low; byte <= high; byte++) {
        uint8_t text = (uint8_t)byte;
        add_token(&text, 1);
    }
}

/* Every string of `length` bytes out of `letters`. */
static inline void add_all_strings(const char *letters, uint32_t length) {
    uint32_t base = (uint32_t)strlen(letters), count = 1;
    char text[16];
    for (uint32_t i = 0; i < length; i++) {
        count *= base;
    }
    for (uint32_t n = 0; n < count; n++) {
        for (uint32_t i = 0, rest = n; i < length; i++, rest /= base) {
            text[i] = letters[rest % base];
        }
        add_token(text, length);
    }
}

/* `count` tokens of one to `most` bytes out of `letters`; some come twice. */
static inline void add_random_tokens(const char *letters, uint32_t count, uint32_t most) {
    char text[64];
    for (uint32_t n = 0; n < count; n++) {
        uint32_t length = 1 + check_random(most), run = 0;
        for (uint32_t i = 0; i < length; i++, run = run > 0 ? run - 1 : 0) {
            if (run == 0) { /* runs, so that counts are met */
                text[i] = letters[check_random((uint32_t)strlen(letters))];
                run = check_random(8);
            } else {
                text[i] = text[i - 1];
            }
        }
        add_token(text, length);
        if (check_random(10) == 0) {
            add_token(text, length);
        }
    }
}

/* Makes the vocabulary of the tokens added so far, and starts over. */
static inline glk_vocab *make_vocab(const uint32_t *end_ids, size_t end_count, uint64_t budget) {
    glk_vocab *vocab;
    CHECK_OK(glk_vocab_new(words.bytes, words.offsets, words.count, end_ids, end_count, budget,
                           &vocab, NULL));
    words.count = 0;
    return vocab;
}

#endif
