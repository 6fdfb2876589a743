/* common.h -- status codes, the error record, and the few constants that every stage shares.
 *
 * Every fallible function returns a glk_status and, where a caller may want to know more, fills a
 * glk_error that the caller owns.  A status other than GLK_OK leaves outputs as they were.  A bug
 * is an assert, never a status; out of memory is a status, never an abort.
 */
#ifndef GLK_COMMON_H
#define GLK_COMMON_H

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gramlock.h"

#define GLK_NONE UINT32_MAX      /* "no such id" for every 32-bit id */
#define GLK_UNBOUNDED UINT32_MAX /* the upper bound of a repeat that has none */

#if defined(__GNUC__)
#define GLK_LIKELY(x) __builtin_expect(!!(x), 1)
#define GLK_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define GLK_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define GLK_LIKELY(x) (x)
#define GLK_UNLIKELY(x) (x)
#define GLK_PRINTF(f, a)
#endif

/* Passes a failing status up; the only control-flow macro in the core. */
#define GLK_TRY(call)                                     \
    do {                                                  \
        glk_status glk_try_status = (call);               \
        if (GLK_UNLIKELY(glk_try_status != GLK_OK)) {     \
            return glk_try_status;                        \
        }                                                 \
    } while (0)

/* Fills `err` (may be NULL) and returns `code`, so that a failure is one statement. */
GLK_PRINTF(3, 4)
static inline glk_status glk_fail(glk_error *err, glk_status code, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        err->code = code;
        va_start(args, format);
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return code;
}

/* A budget was passed: which one, how much was asked for, and how much it allows. */
static inline glk_status glk_fail_limit(glk_error *err, const char *budget, uint64_t asked,
                                        uint64_t limit) {
    if (err != NULL) {
        err->code = GLK_ERR_LIMIT;
        err->asked = asked;
        err->limit = limit;
        (void)snprintf(err->budget, sizeof err->budget, "%s", budget);
        (void)snprintf(err->text, sizeof err->text, "the budget %s is used up", budget);
    }
    return GLK_ERR_LIMIT;
}

static inline glk_status glk_fail_memory(glk_error *err) {
    return glk_fail(err, GLK_ERR_MEMORY, "out of memory");
}

#endif
