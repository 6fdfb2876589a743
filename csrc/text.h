/* text.h -- a bounded text sink with the manners of snprintf.  Tested by tests/c/test_grammar.c.
 *
 * Text beyond the buffer is counted, not written, so one run with capacity 0 learns the size and a
 * second one fills a buffer of length + 1.  Nothing here can fail. */
#ifndef GLK_TEXT_H
#define GLK_TEXT_H

#include "common.h"

typedef struct glk_text {
    char *buffer;
    size_t capacity; /* of `buffer`, final NUL included */
    size_t length;   /* written or not, without the NUL */
} glk_text;

static inline void glk_text_bytes(glk_text *self, const char *bytes, size_t count) {
    if (self->length + 1 < self->capacity) {
        size_t room = self->capacity - 1 - self->length;
        memcpy(self->buffer + self->length, bytes, count < room ? count : room);
    }
    self->length += count;
}

static inline void glk_text_add(glk_text *self, const char *text) {
    glk_text_bytes(self, text, strlen(text));
}

static inline void glk_text_number(glk_text *self, uint32_t number) {
    char digits[10];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    glk_text_bytes(self, digits + at, sizeof digits - at);
}

/* Writes the final NUL, if there is room for any byte at all. */
static inline void glk_text_end(glk_text *self) {
    if (self->capacity > 0) {
        size_t last = self->capacity - 1;
        self->buffer[self->length < last ? self->length : last] = '\0';
    }
}

#endif
