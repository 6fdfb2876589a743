/* charset.c -- see charset.h.
 *
 * A code point is written like a number in a positional system: its bits are dealt out to digits,
 * most significant first, and a table says which bytes spell each digit.
 *
 *     UTF-8, three bytes   4 bits E0..EF, 6 bits 80..BF, 6 bits 80..BF
 *     \uXXXX               four hexadecimal digits, either case
 *     a surrogate pair     d, 2 bits 8..B, 4, 4, \, u, d, 2 bits C..F, 4, 4   (counted from 10000)
 *
 * (`\`, `u` and `d` are digits of no bits.)  One walk serves all of them: at each digit it splits
 * the set, goes down where a block is in the set only in part, and joins the digits whose tails
 * came out as the same expression into one class.  Blocks that are wholly in the set share one
 * expression per digit, so a run of 100,000 code points costs no more than one: O(ranges), 5
 * microseconds for all of Unicode, 100 for the 650 ranges of the letters.
 *
 *     U+00E4 .. U+00FC in UTF-8   =   C3 [A4-BC] */
#include "charset.h"

enum {
    LAST_CODE_POINT = 0x10FFFF,
    FIRST_SURROGATE = 0xD800,
    LAST_SURROGATE = 0xDFFF,
    MOST_DIGITS = 10,
    MOST_BITS = 6
};

typedef struct range {
    uint32_t low, high;
} range;

typedef struct rangeset { /* sorted, disjoint, not adjacent */
    range *items;
    size_t count;
} rangeset;

typedef struct digit {
    uint8_t bits;
    uint8_t first; /* what spells 0: a byte, or a hexadecimal digit's value */
    bool hex;
} digit;

typedef struct coding {
    uint32_t low, high; /* the code points written this way */
    uint32_t origin;    /* what the value is counted from */
    uint32_t count;
    digit digits[MOST_DIGITS];
} coding;

static const coding two_bytes = {0x80, 0x7FF, 0, 2, {{5, 0xC0, false}, {6, 0x80, false}}};
static const coding three_bytes = {
    0x800, 0xFFFF, 0, 3, {{4, 0xE0, false}, {6, 0x80, false}, {6, 0x80, false}}};
static const coding four_bytes = {
    0x10000, LAST_CODE_POINT, 0, 4,
    {{3, 0xF0, false}, {6, 0x80, false}, {6, 0x80, false}, {6, 0x80, false}}};
static const coding four_hex = {
    0, 0xFFFF, 0, 4, {{4, 0, true}, {4, 0, true}, {4, 0, true}, {4, 0, true}}};
static const coding pair = {
    0x10000, LAST_CODE_POINT, 0x10000, 10,
    {{0, 0xD, true}, {2, 0x8, true}, {4, 0, true}, {4, 0, true}, {0, '\\', false},
     {0, 'u', false}, {0, 0xD, true}, {2, 0xC, true}, {4, 0, true}, {4, 0, true}}};

/* ---- range sets ---- */

static void sift_down(range *heap, size_t at, size_t count) {
    range moving = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1].low > heap[child].low) {
            child++;
        }
        if (heap[child].low <= moving.low) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

static void sort_by_low(range *items, size_t count) {
    size_t sorted = 1;
    while (sorted < count && items[sorted - 1].low <= items[sorted].low) {
        sorted++;
    }
    if (sorted >= count) {
        return;
    }
    for (size_t i = count / 2; i-- > 0;) {
        sift_down(items, i, count);
    }
    for (size_t last = count - 1; last > 0; last--) {
        range largest = items[0];
        items[0] = items[last];
        items[last] = largest;
        sift_down(items, 0, last);
    }
}

/* Appends what of `item` lies between `low` and `high`. */
static void append_part(rangeset *set, range item, uint32_t low, uint32_t high) {
    range part = {item.low > low ? item.low : low, item.high < high ? item.high : high};
    if (part.low <= part.high) {
        set->items[set->count++] = part;
    }
}

/* `items` sorted and merged, without surrogates, into `set` (room for count + 1). */
static void normalise(range *items, size_t count, rangeset *set) {
    sort_by_low(items, count);
    set->count = 0;
    for (size_t i = 0, next; i < count; i = next) {
        range merged = items[i];
        for (next = i + 1; next < count && items[next].low <= merged.high + 1; next++) {
            merged.high = items[next].high > merged.high ? items[next].high : merged.high;
        }
        append_part(set, merged, 0, FIRST_SURROGATE - 1);
        append_part(set, merged, LAST_SURROGATE + 1, LAST_CODE_POINT);
    }
}

static glk_bytes ascii_members(const rangeset *set) {
    glk_bytes bytes = {{0}};
    for (size_t i = 0; i < set->count && set->items[i].low < 0x80; i++) {
        uint32_t high = set->items[i].high < 0x7F ? set->items[i].high : 0x7F;
        glk_bytes_add_range(&bytes, set->items[i].low, high);
    }
    return bytes;
}

/* ---- one coding ---- */

typedef struct writer {
    glk_exprs *exprs;
    const coding *coding;
    rangeset set;                      /* values: code points less the origin */
    size_t at;                         /* first range that ends at or after the current block */
    uint32_t shift[MOST_DIGITS];       /* bits below each digit */
    uint32_t complete[MOST_DIGITS + 1]; /* every value from this digit on; GLK_NONE = not yet */
} writer;

typedef struct branches { /* digits of one place, joined by what follows them */
    uint32_t count;
    uint32_t tails[1 << MOST_BITS];
    glk_bytes heads[1 << MOST_BITS];
} branches;

static void add_spelling(glk_bytes *set, digit place, uint32_t value) {
    uint32_t v = place.first + value;
    if (!place.hex) {
        glk_bytes_add(set, (uint8_t)v);
        return;
    }
    glk_bytes_add(set, (uint8_t)"0123456789abcdef"[v]);
    glk_bytes_add(set, (uint8_t)"0123456789ABCDEF"[v]);
}

static glk_status class_then(glk_exprs *exprs, const glk_bytes *head, uint32_t tail, uint32_t *out,
                             glk_error *err) {
    uint32_t class;
    GLK_TRY(glk_expr_class(exprs, head, &class, err));
    return glk_expr_cat(exprs, class, tail, out, err);
}

/* Every value of the digits from `place` on. */
static glk_status complete(writer *self, uint32_t place, uint32_t *out, glk_error *err) {
    uint32_t from = place;
    while (self->complete[from] == GLK_NONE) {
        from++;
    }
    while (from > place) {
        digit last = self->coding->digits[--from];
        glk_bytes all = {{0}};
        for (uint32_t value = 0; value < 1u << last.bits; value++) {
            add_spelling(&all, last, value);
        }
        GLK_TRY(class_then(self->exprs, &all, self->complete[from + 1], &self->complete[from],
                           err));
    }
    *out = self->complete[place];
    return GLK_OK;
}

static void add_branch(branches *self, digit place, uint32_t value, uint32_t tail) {
    uint32_t i = self->count;
    while (i > 0 && self->tails[i - 1] != tail) {
        i--;
    }
    if (i == 0) {
        i = ++self->count;
        self->tails[i - 1] = tail;
        self->heads[i - 1] = (glk_bytes){{0}};
    }
    add_spelling(&self->heads[i - 1], place, value);
}

static glk_status join(writer *self, branches *found, uint32_t *out, glk_error *err) {
    for (uint32_t i = 0; i < found->count; i++) {
        GLK_TRY(class_then(self->exprs, &found->heads[i], found->tails[i], &found->tails[i], err));
    }
    return glk_expr_or(self->exprs, found->tails, found->count, out, err);
}

/* The members of the block that starts at `base`, written from digit `place` on.  Recursion is at
 * most MOST_DIGITS deep; blocks are visited in order, so `at` only moves forward. */
static glk_status write_block(writer *self, uint32_t place, uint32_t base, uint32_t *out,
                              glk_error *err) {
    digit here = self->coding->digits[place];
    branches found;
    found.count = 0;
    for (uint32_t value = 0; value < 1u << here.bits; value++) {
        uint32_t low = base + (value << self->shift[place]);
        uint32_t high = low + ((1u << self->shift[place]) - 1);
        while (self->at < self->set.count && self->set.items[self->at].high < low) {
            self->at++;
        }
        if (self->at == self->set.count) {
            break;
        }
        range next = self->set.items[self->at];
        uint32_t tail;
        if (next.low > high) {
            continue;
        }
        if (next.low <= low && next.high >= high) {
            GLK_TRY(complete(self, place + 1, &tail, err));
        } else {
            GLK_TRY(write_block(self, place + 1, low, &tail, err));
        }
        add_branch(&found, here, value, tail);
    }
    return join(self, &found, out, err);
}

/* The members of `set` that this coding writes; `values` has room for as many ranges. */
static glk_status write_coding(glk_exprs *exprs, const coding *how, const rangeset *set,
                               range *values, uint32_t *out, glk_error *err) {
    writer self = {.exprs = exprs, .coding = how, .set = {.items = values}};
    for (size_t i = 0; i < set->count; i++) {
        append_part(&self.set, set->items[i], how->low, how->high);
    }
    for (size_t i = 0; i < self.set.count; i++) {
        values[i].low -= how->origin;
        values[i].high -= how->origin;
    }
    if (self.set.count == 0) {
        *out = GLK_EXPR_NEVER;
        return GLK_OK;
    }
    uint32_t below = 0;
    for (uint32_t place = how->count; place-- > 0;) {
        self.shift[place] = below;
        self.complete[place] = GLK_NONE;
        below += how->digits[place].bits;
    }
    self.complete[how->count] = GLK_EXPR_EPSILON;
    return write_block(&self, 0, 0, out, err);
}

/* ---- the encodings ---- */

/* UTF-8, with `ascii` in place of the set's own one-byte members. */
static glk_status write_utf8(glk_exprs *exprs, const rangeset *set, const glk_bytes *ascii,
                             range *values, uint32_t *out, glk_error *err) {
    uint32_t parts[4];
    GLK_TRY(glk_expr_class(exprs, ascii, &parts[0], err));
    if (set->count == 0 || set->items[set->count - 1].high < 0x80) {
        *out = parts[0];
        return GLK_OK;
    }
    GLK_TRY(write_coding(exprs, &two_bytes, set, values, &parts[1], err));
    GLK_TRY(write_coding(exprs, &three_bytes, set, values, &parts[2], err));
    GLK_TRY(write_coding(exprs, &four_bytes, set, values, &parts[3], err));
    return glk_expr_or(exprs, parts, 4, out, err);
}

enum { NEEDED_SHORT = 7, ALL_SHORT = 8 }; /* a slash may stand as it is */

/* The letters that stand for ASCII members after a backslash; takes these members away. */
static glk_bytes short_escapes(glk_bytes *ascii, uint32_t count) {
    static const char members[] = "\"\\\b\f\n\r\t/", letters[] = "\"\\bfnrt/";
    glk_bytes set = {{0}};
    for (uint32_t i = 0; i < count; i++) {
        uint8_t member = (uint8_t)members[i];
        if (glk_bytes_has(ascii, member)) {
            glk_bytes_add(&set, (uint8_t)letters[i]);
            ascii->word[member / 64] &= ~((uint64_t)1 << member % 64);
        }
    }
    return set;
}

/* What may follow a backslash: a short escape, or `u` and one or two groups of hex digits. */
static glk_status write_escapes(glk_exprs *exprs, const rangeset *set, const glk_bytes *ascii,
                                range *values, uint32_t *out, glk_error *err) {
    uint32_t groups[2], after[2];
    glk_bytes named = *ascii, letters = short_escapes(&named, ALL_SHORT), u = {{0}};
    glk_bytes_add(&u, 'u');
    GLK_TRY(write_coding(exprs, &four_hex, set, values, &groups[0], err));
    GLK_TRY(write_coding(exprs, &pair, set, values, &groups[1], err));
    GLK_TRY(glk_expr_or(exprs, groups, 2, &after[0], err));
    GLK_TRY(class_then(exprs, &u, after[0], &after[0], err));
    GLK_TRY(glk_expr_class(exprs, &letters, &after[1], err));
    return glk_expr_or(exprs, after, 2, out, err);
}

/* What may follow a backslash where each character has one spelling: the letter of a short escape
 * that is needed, or u00 and two small hexadecimal digits for any other control character. */
static glk_status write_needed_escapes(glk_exprs *exprs, const glk_bytes *ascii, uint32_t *out,
                                       glk_error *err) {
    glk_bytes controls = *ascii, letters = short_escapes(&controls, NEEDED_SHORT);
    uint32_t rows[2], after[2];
    for (uint32_t row = 0; row < 2; row++) {
        glk_bytes head = {{0}}, last = {{0}};
        glk_bytes_add(&head, (uint8_t)('0' + row));
        for (uint32_t value = 0; value < 16; value++) {
            if (glk_bytes_has(&controls, (uint8_t)(16 * row + value))) {
                glk_bytes_add(&last, (uint8_t)"0123456789abcdef"[value]);
            }
        }
        GLK_TRY(class_then(exprs, &last, GLK_EXPR_EPSILON, &rows[row], err));
        GLK_TRY(class_then(exprs, &head, rows[row], &rows[row], err));
    }
    GLK_TRY(glk_expr_or(exprs, rows, 2, &after[0], err));
    for (uint32_t i = 3; i-- > 0;) {
        glk_bytes head = {{0}};
        glk_bytes_add(&head, (uint8_t)"u00"[i]);
        GLK_TRY(class_then(exprs, &head, after[0], &after[0], err));
    }
    GLK_TRY(glk_expr_class(exprs, &letters, &after[1], err));
    return glk_expr_or(exprs, after, 2, out, err);
}

static glk_status write_json(glk_exprs *exprs, const rangeset *set, bool minimal, range *values,
                             uint32_t *out, glk_error *err) {
    static const glk_bytes printable = {
        {0xFFFFFFFF00000000u & ~((uint64_t)1 << '"'), ~((uint64_t)1 << ('\\' - 64)), 0, 0}};
    glk_bytes ascii = ascii_members(set), raw = glk_bytes_and(ascii, printable), backslash = {{0}};
    uint32_t forms[2];
    glk_bytes_add(&backslash, '\\');
    GLK_TRY(write_utf8(exprs, set, &raw, values, &forms[0], err));
    if (minimal) {
        GLK_TRY(write_needed_escapes(exprs, &ascii, &forms[1], err));
    } else {
        GLK_TRY(write_escapes(exprs, set, &ascii, values, &forms[1], err));
    }
    GLK_TRY(class_then(exprs, &backslash, forms[1], &forms[1], err));
    return glk_expr_or(exprs, forms, 2, out, err);
}

/* ---- the entry ---- */

static glk_status write_set(glk_exprs *exprs, const uint32_t *ranges, size_t count,
                            glk_encoding encoding, glk_arena *scratch, uint32_t *out,
                            glk_error *err) {
    void *memory;
    if (count > SIZE_MAX / 64) {
        return glk_fail_memory(err);
    }
    GLK_TRY(glk_arena_take(scratch, (3 * count + 2) * sizeof(range), &memory, err));
    range *items = memory;
    rangeset set = {.items = items + count};
    range *values = set.items + count + 1;
    for (size_t i = 0; i < count; i++) {
        items[i] = (range){ranges[2 * i], ranges[2 * i + 1]};
        if (items[i].low > items[i].high || items[i].high > LAST_CODE_POINT) {
            return glk_fail(err, GLK_ERR_ARGUMENT, "%X to %X is no range of code points",
                            items[i].low, items[i].high);
        }
    }
    normalise(items, count, &set);
    if (encoding == GLK_UTF8) {
        glk_bytes ascii = ascii_members(&set);
        return write_utf8(exprs, &set, &ascii, values, out, err);
    }
    return write_json(exprs, &set, encoding == GLK_JSON_MINIMAL, values, out, err);
}

glk_status glk_charset_expr(glk_exprs *exprs, const uint32_t *ranges, size_t count,
                            glk_encoding encoding, uint32_t *out, glk_error *err) {
    glk_arena scratch;
    glk_arena_init(&scratch, NULL);
    glk_status status = write_set(exprs, ranges, count, encoding, &scratch, out, err);
    glk_arena_free(&scratch);
    return status;
}
