/* check.h -- what the C unit tests share: checks that print the failing line, random numbers with a
 * fixed seed, and the loop that fails every allocation once. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include "arena.h"

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

#define CHECK_EQUAL(left, right)                                                      \
    do {                                                                              \
        uint64_t check_left = (uint64_t)(left), check_right = (uint64_t)(right);      \
        if (check_left != check_right) {                                              \
            (void)fprintf(stderr, "%s:%d: %s is %llu, not %s (%llu)\n", __FILE__,     \
                          __LINE__, #left, (unsigned long long)check_left, #right,    \
                          (unsigned long long)check_right);                           \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

#define CHECK_OK(call) CHECK_EQUAL(call, GLK_OK)

/* ---- random numbers: the same ones in every run ---- */

static uint64_t check_seed = 0x9E3779B97F4A7C15u;

/* Uniform in 0 .. bound - 1. */
static inline uint32_t check_random(uint32_t bound) {
    check_seed ^= check_seed << 13;
    check_seed ^= check_seed >> 7;
    check_seed ^= check_seed << 17;
    return (uint32_t)((check_seed >> 16) % bound);
}

/* ---- memory ---- */

/* At least one byte, never NULL. */
static inline void *check_memory(size_t bytes) {
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    CHECK(memory != NULL);
    return memory;
}

/* Runs `attempt` with its first allocation failing, then its second, and so on until it succeeds;
 * each failure must be the clean GLK_ERR_MEMORY.  What leaks on the way the sanitizer finds.
 * Returns the number of allocations in a success. */
static inline uint32_t check_failing_allocations(glk_status (*attempt)(void *context,
                                                                       glk_error *err),
                                                 void *context) {
    for (uint32_t count = 0; count < 1000000; count++) {
        glk_error err = {.code = GLK_OK};
        glk_alloc_fail_after(count);
        glk_status status = attempt(context, &err);
        glk_alloc_fail_after(-1);
        if (status == GLK_OK) {
            return count;
        }
        CHECK_EQUAL(status, GLK_ERR_MEMORY);
        CHECK_EQUAL(err.code, GLK_ERR_MEMORY);
    }
    CHECK(!"the attempt never succeeds");
    return 0;
}

/* The last statement of main. */
static inline int check_done(void) {
    (void)puts("ok");
    return 0;
}

#endif
