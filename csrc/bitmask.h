/* bitmask.h -- sets as words: token bitmasks (32-bit words, the layout the field shares) and
 * byte sets (four 64-bit words).  Tested by tests/c/test_base.c. */
#ifndef GLK_BITMASK_H
#define GLK_BITMASK_H

#include "common.h"

/* Bits set in a word.  Spelled out, since portable builds would call a library for the builtin, and
 * ranks are taken at every step of a walk. */
static inline uint32_t glk_popcount(uint64_t word) {
    word -= (word >> 1) & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return (uint32_t)((word * 0x0101010101010101u) >> 56);
}

/* ---- token masks: bit (id & 31) of word (id >> 5) ---- */
static inline size_t glk_mask_words(uint32_t tokens) { return ((size_t)tokens + 31) / 32; }
static inline void glk_mask_set(uint32_t *mask, uint32_t id) { mask[id >> 5] |= 1u << (id & 31); }
static inline void glk_mask_clear(uint32_t *mask, uint32_t id) {
    mask[id >> 5] &= ~(1u << (id & 31));
}
static inline bool glk_mask_has(const uint32_t *mask, uint32_t id) {
    return (mask[id >> 5] >> (id & 31)) & 1u;
}

/* ---- byte sets ---- */
typedef struct glk_bytes {
    uint64_t word[4]; /* bit (b & 63) of word (b >> 6) */
} glk_bytes;

static inline void glk_bytes_add(glk_bytes *set, uint8_t byte) {
    set->word[byte >> 6] |= (uint64_t)1 << (byte & 63);
}
static inline bool glk_bytes_has(const glk_bytes *set, uint8_t byte) {
    return (set->word[byte >> 6] >> (byte & 63)) & 1u;
}
static inline void glk_bytes_add_range(glk_bytes *set, uint32_t low, uint32_t high) {
    for (uint32_t b = low; b <= high; b++) {
        glk_bytes_add(set, (uint8_t)b);
    }
}
static inline glk_bytes glk_bytes_or(glk_bytes a, glk_bytes b) {
    for (int i = 0; i < 4; i++) {
        a.word[i] |= b.word[i];
    }
    return a;
}
static inline glk_bytes glk_bytes_and(glk_bytes a, glk_bytes b) {
    for (int i = 0; i < 4; i++) {
        a.word[i] &= b.word[i];
    }
    return a;
}
static inline glk_bytes glk_bytes_all(void) {
    return (glk_bytes){{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
}
static inline bool glk_bytes_empty(const glk_bytes *set) {
    return (set->word[0] | set->word[1] | set->word[2] | set->word[3]) == 0;
}
static inline bool glk_bytes_equal(const glk_bytes *a, const glk_bytes *b) {
    return memcmp(a, b, sizeof *a) == 0;
}
static inline uint32_t glk_bytes_count(const glk_bytes *set) {
    uint32_t count = 0;
    for (int i = 0; i < 4; i++) {
        count += glk_popcount(set->word[i]);
    }
    return count;
}
/* How many members are smaller than `byte`: the index of `byte` in a row kept per member. */
static inline uint32_t glk_bytes_rank(const glk_bytes *set, uint8_t byte) {
    uint32_t rank = 0;
    for (uint32_t i = 0; i < (uint32_t)(byte >> 6); i++) {
        rank += glk_popcount(set->word[i]);
    }
    uint64_t below = ((uint64_t)1 << (byte & 63)) - 1;
    return rank + glk_popcount(set->word[byte >> 6] & below);
}

#endif
