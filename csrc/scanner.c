/* scanner.c -- see scanner.h. */
#include "scanner.h"

static void put(glk_scanner *self, uint32_t byte) { glk_scanner_put(self, byte); }

/* ------------------------------------------------------------------ strings */

static void put_point(glk_scanner *self, uint32_t point) {
    if (point < 0x80) {
        put(self, point);
        return;
    }
    if (point < 0x800) {
        put(self, 0xC0 | point >> 6);
    } else {
        if (point < 0x10000) {
            put(self, 0xE0 | point >> 12);
        } else {
            put(self, 0xF0 | point >> 18);
            put(self, 0x80 | (point >> 12 & 0x3F));
        }
        put(self, 0x80 | (point >> 6 & 0x3F));
    }
    put(self, 0x80 | (point & 0x3F));
}

/* The high surrogate that waited stays alone. */
static void end_pair(glk_scanner *self) {
    if (self->high != 0) {
        put_point(self, self->high);
        self->high = 0;
    }
}

static void put_unit(glk_scanner *self, uint32_t unit) {
    if (self->high != 0 && unit >= 0xDC00 && unit < 0xE000) {
        put_point(self, 0x10000 + ((self->high - 0xD800) << 10) + (unit - 0xDC00));
        self->high = 0;
        return;
    }
    end_pair(self);
    if (unit >= 0xD800 && unit < 0xDC00) {
        self->high = unit;
    } else {
        put_point(self, unit);
    }
}

static uint32_t hex_value(uint8_t byte) {
    if (byte >= '0' && byte <= '9') {
        return byte - (uint32_t)'0';
    }
    uint32_t lower = byte | 0x20u;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : GLK_NONE;
}

/* Returns whether it is JSON so far. */
static bool read_escape(glk_scanner *self) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    self->escape = true;
    self->hex = self->hex_count = 0;
    self->at++;
    if (glk_scanner_at_end(self)) {
        return true;
    }
    if (!glk_scanner_take(self, 'u')) {
        const char *found = memchr(letters, self->text[self->at], sizeof letters - 1);
        if (found == NULL) {
            return false;
        }
        self->at++;
        put_unit(self, (uint8_t)meanings[found - letters]);
        self->escape = false;
        return true;
    }
    for (; self->hex_count < 4; self->hex_count++) {
        if (glk_scanner_at_end(self)) {
            return true;
        }
        uint32_t digit = hex_value(self->text[self->at]);
        if (digit == GLK_NONE) {
            return false;
        }
        self->at++;
        self->hex = self->hex << 4 | digit;
    }
    put_unit(self, self->hex);
    self->escape = false;
    return true;
}

/* One character as it stands (RFC 3629), or its beginning at the end of the text. */
static bool read_character(glk_scanner *self) {
    uint8_t lead = self->text[self->at];
    if (lead < 0x20 || (lead >= 0x80 && lead < 0xC2) || lead > 0xF4) {
        return false;
    }
    uint32_t follow = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    end_pair(self);
    put(self, lead);
    self->at++;
    for (; follow > 0 && !glk_scanner_at_end(self); follow--) {
        uint8_t byte = self->text[self->at];
        if (byte < low || byte > high) {
            return false;
        }
        put(self, byte);
        self->at++;
        low = 0x80;
        high = 0xBF;
    }
    return true;
}

static glk_scan read_string(glk_scanner *self) {
    put(self, '"');
    self->at++;
    self->high = 0;
    self->escape = false;
    while (!glk_scanner_at_end(self)) {
        if (glk_scanner_take(self, '"')) {
            end_pair(self);
            return GLK_SCAN_FINISHED;
        }
        if (!(glk_scanner_is_at(self, '\\') ? read_escape(self) : read_character(self))) {
            return GLK_SCAN_WRONG;
        }
    }
    self->unfinished = GLK_SCALAR_STRING;
    return GLK_SCAN_UNFINISHED;
}

/* A string's UTF-16 code unit at *at, or GLK_NONE at its end.  *low keeps the second half of a pair
 * for the next call. */
static uint32_t next_unit(const uint8_t *bytes, uint32_t count, uint32_t *at, uint32_t *low) {
    uint32_t kept = *low;
    *low = 0;
    if (kept != 0) {
        return kept;
    }
    if (*at >= count) {
        return GLK_NONE;
    }
    uint32_t lead = bytes[(*at)++];
    uint32_t follow = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    uint32_t point = follow == 0 ? lead : lead & (0x3Fu >> follow);
    for (; follow > 0; follow--) {
        point = point << 6 | (bytes[(*at)++] & 0x3Fu);
    }
    if (point < 0x10000) {
        return point;
    }
    *low = 0xDC00 + ((point - 0x10000) & 0x3FF);
    return 0xD800 + ((point - 0x10000) >> 10);
}

bool glk_scanner_goes_on(const glk_scanner *self, const uint8_t *bytes, uint32_t count) {
    uint32_t at = self->bytes->count, low = 0;
    if (self->unfinished != GLK_SCALAR_STRING) {
        return true;
    }
    if (((const uint8_t *)self->bytes->data)[at - 1] == 0xED) {
        /* A character was cut off.  It is no surrogate, though those begin with this byte, too. */
        return bytes[at] < 0xA0;
    }
    if (self->high != 0 && next_unit(bytes, count, &at, &low) != self->high) {
        return false;
    }
    if (!self->escape) {
        return true;
    }
    /* Any code unit can be spelled by four hexadecimal digits, so this covers the short escapes. */
    uint32_t unit = next_unit(bytes, count, &at, &low);
    return unit != GLK_NONE && unit >> (16 - 4 * self->hex_count) == self->hex;
}

/* ------------------------------------------------------------------ numbers */

static bool is_digit_at(const glk_scanner *self) {
    return !glk_scanner_at_end(self) && self->text[self->at] >= '0' && self->text[self->at] <= '9';
}

/* Copies digits, apart from zeros before all others; returns how many there were. */
static uint32_t read_digits(glk_scanner *self) {
    uint32_t count = 0;
    for (; is_digit_at(self); count++) {
        uint8_t digit = self->text[self->at++];
        if (digit != '0' || self->bytes->count > 1) {
            put(self, digit);
        }
    }
    return count;
}

/* Returns how many there were. */
static uint32_t drop_last_zeros(glk_scanner *self) {
    const uint8_t *bytes = self->bytes->data;
    uint32_t before = self->bytes->count;
    while (bytes[self->bytes->count - 1] == '0') {
        self->bytes->count--;
    }
    return before - self->bytes->count;
}

static void put_integer(glk_scanner *self, int64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = (uint64_t)(number < 0 ? -number : number);
    if (number < 0) {
        put(self, '-');
    }
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    for (; at < sizeof digits; at++) {
        put(self, (uint8_t)digits[at]);
    }
}

/* Writes (minus ? -e : e) + shift, where e is given by any number of digits. */
static void put_exponent(glk_scanner *self, const uint8_t *digits, size_t count, bool minus,
                         int64_t shift) {
    while (count > 0 && *digits == '0') {
        digits++;
        count--;
    }
    if (count <= 18) {
        int64_t exponent = 0;
        for (size_t i = 0; i < count; i++) {
            exponent = 10 * exponent + (digits[i] - '0');
        }
        put_integer(self, (minus ? -exponent : exponent) + shift);
        return;
    }
    if (minus) { /* the sum keeps the sign: the shift counts digits of a text */
        put(self, '-');
    }
    uint32_t first = self->bytes->count, zeros = 0;
    put(self, '0');
    for (size_t i = 0; i < count; i++) {
        put(self, digits[i]);
    }
    uint8_t *sum = (uint8_t *)self->bytes->data + first;
    int64_t carry = minus ? -shift : shift;
    for (size_t i = count + 1; i > 0; i--) {
        carry += sum[i - 1] - '0';
        int64_t digit = (carry % 10 + 10) % 10;
        sum[i - 1] = (uint8_t)('0' + digit);
        carry = (carry - digit) / 10;
    }
    while (sum[zeros] == '0') {
        zeros++;
    }
    memmove(sum, sum + zeros, count + 1 - zeros);
    self->bytes->count -= zeros;
}

/* Sign and digits are there; appends how the bytes begin if no digit follows. */
static glk_scan end_inside_number(glk_scanner *self, bool digits_open) {
    uint32_t count = self->bytes->count;
    self->unfinished = GLK_SCALAR_NUMBER;
    self->digits = count;
    self->digits_open = digits_open;
    if (count == 1) {
        put(self, '0');
        return GLK_SCAN_UNFINISHED;
    }
    for (uint32_t i = 0; i < count; i++) {
        put(self, ((const uint8_t *)self->bytes->data)[i]);
    }
    (void)drop_last_zeros(self);
    put(self, 'e');
    return GLK_SCAN_UNFINISHED;
}

static glk_scan read_number(glk_scanner *self) {
    bool minus = glk_scanner_take(self, '-'), zero = glk_scanner_is_at(self, '0');
    bool digits_open = true, minus_exponent = false;
    put(self, minus ? '-' : '+');
    uint32_t digits = read_digits(self), fraction = 0;
    if (zero && digits > 1) {
        return GLK_SCAN_WRONG;
    }
    bool complete = digits > 0;
    if (complete && glk_scanner_take(self, '.')) {
        fraction = read_digits(self);
        complete = fraction > 0;
    }
    size_t exponent = self->at;
    if (complete && (glk_scanner_take(self, 'e') || glk_scanner_take(self, 'E'))) {
        digits_open = false;
        minus_exponent = glk_scanner_take(self, '-');
        (void)(minus_exponent || glk_scanner_take(self, '+'));
        exponent = self->at;
        while (is_digit_at(self)) {
            self->at++;
        }
        complete = self->at > exponent;
    }
    if (glk_scanner_at_end(self) && !(self->whole && complete)) {
        return end_inside_number(self, digits_open);
    }
    if (!complete) {
        return GLK_SCAN_WRONG;
    }
    int64_t zeros = drop_last_zeros(self);
    if (self->bytes->count == 1) {
        self->bytes->count = 0;
        put(self, '0');
    } else {
        put(self, 'e');
        put_exponent(self, self->text + exponent, self->at - exponent, minus_exponent,
                     zeros - (int64_t)fraction);
    }
    return GLK_SCAN_FINISHED;
}

/* ------------------------------------------------------------------ all scalars */

static glk_scan read_literal(glk_scanner *self, const char *word) {
    for (; *word != '\0'; word++) {
        if (glk_scanner_at_end(self)) {
            self->unfinished = GLK_SCALAR_LITERAL;
            return GLK_SCAN_UNFINISHED;
        }
        if (!glk_scanner_take(self, (uint8_t)*word)) {
            return GLK_SCAN_WRONG;
        }
        put(self, (uint8_t)*word);
    }
    return GLK_SCAN_FINISHED;
}

glk_scan glk_scanner_read(glk_scanner *self) {
    self->bytes->count = 0;
    switch (self->text[self->at]) {
    case '"':
        return read_string(self);
    case 'n':
        return read_literal(self, "null");
    case 't':
        return read_literal(self, "true");
    case 'f':
        return read_literal(self, "false");
    default:
        return glk_scanner_is_at(self, '-') || is_digit_at(self) ? read_number(self)
                                                                 : GLK_SCAN_WRONG;
    }
}
