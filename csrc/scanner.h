/* scanner.h -- JSON strings, numbers and literals as canonical bytes, as far as the text goes.
 * Tested by tests/c/test_value.c.
 *
 * Equal scalars have equal bytes, and what an unfinished one may become begins with its bytes:
 *
 *     null true false     as they are spelled
 *     0                   the number zero
 *     + 125 e -2          numbers: sign, digits without zeros around, exponent of ten
 *     " text              strings: UTF-8; a lone surrogate as its three bytes
 *
 * A number's exponent is kept as digits, however many; nothing is ever expanded.  A string may end
 * inside a pair of surrogates or inside an escape, which its bytes cannot say: those are fields.
 * Allocates nothing; one pass over the text. */
#ifndef GLK_SCANNER_H
#define GLK_SCANNER_H

#include "vec.h"

typedef enum glk_scan {
    GLK_SCAN_WRONG, /* no JSON (RFC 8259, in UTF-8) */
    GLK_SCAN_FINISHED,
    GLK_SCAN_UNFINISHED /* the text ends before the scalar does, or a number might go on */
} glk_scan;

typedef enum glk_scalar {
    GLK_SCALAR_NONE,
    GLK_SCALAR_LITERAL,
    GLK_SCALAR_NUMBER, /* bytes: sign and digits | what stands there if no digit follows */
    GLK_SCALAR_STRING
} glk_scalar;

typedef struct glk_scanner {
    const uint8_t *text;
    size_t count, at;
    bool whole;     /* a number at the end of the text is finished */
    glk_vec *bytes; /* of the scalar; borrowed, with room for 2 * count + 64 bytes */
    glk_scalar unfinished; /* which kind the text ends inside */
    uint32_t digits;       /* NUMBER: length of the first part of the bytes */
    bool digits_open;      /* NUMBER: digits may follow, no exponent has begun */
    uint32_t high;         /* STRING: an escaped high surrogate that may meet a low one; else 0 */
    bool escape;           /* STRING: inside an escape, ... */
    uint32_t hex;          /* ... whose hexadecimal digits so far are these */
    uint32_t hex_count;
} glk_scanner;

/* Reads the scalar that begins at self->at, which is not the end. */
glk_scan glk_scanner_read(glk_scanner *self);

/* Whether a string whose canonical bytes begin with those of the unfinished scalar goes on with its
 * surrogate and its escape.  True for other scalars. */
bool glk_scanner_goes_on(const glk_scanner *self, const uint8_t *bytes, uint32_t count);

static inline bool glk_scanner_at_end(const glk_scanner *self) { return self->at == self->count; }

static inline bool glk_scanner_is_at(const glk_scanner *self, uint8_t byte) {
    return !glk_scanner_at_end(self) && self->text[self->at] == byte;
}

/* Steps over a byte if it is this one. */
static inline bool glk_scanner_take(glk_scanner *self, uint8_t byte) {
    bool there = glk_scanner_is_at(self, byte);
    self->at += there;
    return there;
}

static inline void glk_scanner_put(glk_scanner *self, uint32_t byte) {
    glk_vec *bytes = self->bytes;
    assert(bytes->count < bytes->capacity);
    ((uint8_t *)bytes->data)[bytes->count++] = (uint8_t)byte;
}

#endif
