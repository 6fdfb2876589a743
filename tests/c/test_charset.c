/* test_charset.c -- sets of code points as expressions, exhaustively: every byte string that an
 * expression accepts is decoded by a strict decoder of this file, must be a member of the set, and
 * every member must be met in each of its spellings. */
#include "charset.h"
#include "check.h"

enum { POINTS = 0x110000, MOST_RANGES = 1000, NO_POINT = -1 };

/* ---- decoders ---- */

static bool is_surrogate(int32_t point) { return point >= 0xD800 && point <= 0xDFFF; }

/* The code point that the whole of `text` is, or NO_POINT. */
static int32_t decode_utf8(const uint8_t *text, size_t length) {
    static const int32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    static const uint8_t lead_bits[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    if (length < 1 || length > 4) {
        return NO_POINT;
    }
    uint8_t lead = text[0];
    size_t wanted = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (wanted != length || lead >= 0xF8) {
        return NO_POINT;
    }
    int32_t point = lead & lead_bits[length];
    for (size_t i = 1; i < length; i++) {
        if (text[i] < 0x80 || text[i] > 0xBF) {
            return NO_POINT;
        }
        point = point * 64 + (text[i] - 0x80);
    }
    bool valid = (length == 1 || point >= least[length]) && point < POINTS && !is_surrogate(point);
    return valid ? point : NO_POINT;
}

/* `\uXXXX` at text: its value, or NO_POINT. */
static int32_t decode_unit(const uint8_t *text) {
    int32_t value = 0;
    if (text[0] != '\\' || text[1] != 'u') {
        return NO_POINT;
    }
    for (size_t i = 2; i < 6; i++) {
        uint8_t c = text[i];
        int32_t digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : NO_POINT;
        if (digit == NO_POINT) {
            return NO_POINT;
        }
        value = value * 16 + digit;
    }
    return value;
}

static int32_t decode_short(uint8_t letter) {
    static const char letters[] = "\"\\/bfnrt", members[] = "\"\\/\b\f\n\r\t";
    const char *found = letter != 0 ? strchr(letters, letter) : NULL;
    return found != NULL ? members[found - letters] : NO_POINT;
}

static int32_t decode_json(const uint8_t *text, size_t length) {
    if (length == 2 && text[0] == '\\') {
        return decode_short(text[1]);
    }
    if (length == 6) {
        int32_t unit = decode_unit(text);
        return is_surrogate(unit) ? NO_POINT : unit;
    }
    if (length == 12) {
        int32_t high = decode_unit(text), low = decode_unit(text + 6);
        bool valid = high >= 0xD800 && high < 0xDC00 && low >= 0xDC00 && low < 0xE000;
        return valid ? 0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00) : NO_POINT;
    }
    int32_t point = decode_utf8(text, length);
    return point < 0x20 || point == '"' || point == '\\' ? NO_POINT : point;
}

/* Whether `text` spells `point` with no escape but the one it needs, a short one if there is any. */
static bool is_minimal(const uint8_t *text, size_t length, int32_t point) {
    if (point >= 0x20 && point != '"' && point != '\\') {
        return text[0] != '\\';
    }
    if (point != 0 && strchr("\"\\\b\f\n\r\t", point) != NULL) {
        return length == 2;
    }
    bool capital = text[5] >= 'A' && text[5] <= 'F';
    return length == 6 && !capital;
}

/* How many spellings a code point has, upper and lower case hexadecimal digits counted once. */
static uint32_t spellings(int32_t point, glk_encoding encoding) {
    if (encoding != GLK_JSON) {
        return 1;
    }
    uint32_t raw = point < 0x20 || point == '"' || point == '\\' ? 0 : 1;
    uint32_t named = point != 0 && point < 0x80 && strchr("\"\\/\b\f\n\r\t", point) != NULL;
    return raw + named + 1;
}

/* ---- all strings of an expression ---- */

typedef struct walk {
    glk_exprs exprs;
    glk_encoding encoding;
    uint8_t (*follow)[256];   /* by state: the bytes that lead on */
    uint32_t (*target)[256];  /* ... and to which state */
    int16_t *follow_count;    /* -1 = not yet known */
    uint32_t rows;
    bool *member;             /* what the set holds */
    uint8_t *seen;            /* strings met, by code point */
    uint8_t text[16];
} walk;

enum { MOST_STATES = 6000 };

static void init_walk(walk *self) {
    memset(self, 0, sizeof *self);
    self->follow = check_memory(MOST_STATES * sizeof *self->follow);
    self->target = check_memory(MOST_STATES * sizeof *self->target);
    self->follow_count = check_memory(MOST_STATES * sizeof *self->follow_count);
    self->member = check_memory(POINTS * sizeof *self->member);
    self->seen = check_memory(POINTS * sizeof *self->seen);
}

static void free_walk(walk *self) {
    free(self->follow);
    free(self->target);
    free(self->follow_count);
    free(self->member);
    free(self->seen);
}

static void derive_row(walk *self, uint32_t state) {
    int16_t count = 0;
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t next;
        CHECK_OK(glk_expr_derive(&self->exprs, state, (uint8_t)byte, &next, NULL));
        if (next != GLK_EXPR_NEVER) {
            self->follow[state][count] = (uint8_t)byte;
            self->target[state][count++] = next;
        }
    }
    self->follow_count[state] = count;
}

/* Whether `byte` is the capital form of a hexadecimal digit, which is then skipped: either case
 * must lead to the same state. */
static bool is_other_case(walk *self, uint32_t state, size_t at, uint8_t byte) {
    bool hex = at >= 2 && at != 6 && at != 7 && self->text[0] == '\\' && self->text[1] == 'u';
    uint8_t small = byte | 32;
    if (!hex || small < 'a' || small > 'f') {
        return false;
    }
    uint32_t capital_next, small_next;
    CHECK_OK(glk_expr_derive(&self->exprs, state, small & 0xDF, &capital_next, NULL));
    CHECK_OK(glk_expr_derive(&self->exprs, state, small, &small_next, NULL));
    CHECK_EQUAL(capital_next, small_next);
    return byte != small;
}

static void visit_strings(walk *self, uint32_t state, size_t length) {
    CHECK(length <= 12 && state < MOST_STATES);
    if (glk_expr_nullable(&self->exprs, state)) {
        int32_t point = self->encoding == GLK_UTF8 ? decode_utf8(self->text, length)
                                                   : decode_json(self->text, length);
        CHECK(point != NO_POINT);
        CHECK(self->encoding != GLK_JSON_MINIMAL || is_minimal(self->text, length, point));
        CHECK(self->member[point]);
        self->seen[point]++;
    }
    if (self->follow_count[state] < 0) {
        derive_row(self, state);
    }
    for (int16_t i = 0; i < self->follow_count[state]; i++) {
        uint8_t byte = self->follow[state][i];
        if (self->encoding == GLK_JSON && is_other_case(self, state, length, byte)) {
            continue;
        }
        self->text[length] = byte;
        visit_strings(self, self->target[state][i], length + 1);
    }
}

static void mark_members(walk *self, const uint32_t *ranges, size_t count) {
    memset(self->member, 0, POINTS * sizeof *self->member);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t point = ranges[2 * i]; point <= ranges[2 * i + 1]; point++) {
            self->member[point] = !is_surrogate((int32_t)point);
        }
    }
}

/* All encodings of one set, every string, every code point. */
static void check_set(walk *self, const uint32_t *ranges, size_t count) {
    static const glk_encoding encodings[] = {GLK_UTF8, GLK_JSON, GLK_JSON_MINIMAL};
    mark_members(self, ranges, count);
    for (size_t e = 0; e < 3; e++) {
        uint32_t expr;
        self->encoding = encodings[e];
        CHECK_OK(glk_exprs_init(&self->exprs, "test_bytes", 0, NULL, NULL));
        CHECK_OK(glk_charset_expr(&self->exprs, ranges, count, self->encoding, &expr, NULL));
        memset(self->follow_count, -1, MOST_STATES * sizeof *self->follow_count);
        memset(self->seen, 0, POINTS);
        visit_strings(self, expr, 0);
        for (int32_t point = 0; point < POINTS; point++) {
            uint32_t wanted = self->member[point] ? spellings(point, self->encoding) : 0;
            CHECK_EQUAL(self->seen[point], wanted);
        }
        glk_exprs_destroy(&self->exprs);
    }
}

/* ---- the sets ---- */

static const uint32_t edges[] = {0,      0x1F,   0x20,   '"',    '/',    '\\',    0x7E,
                                 0x7F,   0x80,   0x7FF,  0x800,  0xFFF,  0x1000,  0xD7FF,
                                 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF,  0x10000,
                                 0x103FF, 0x10400, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF};
enum { EDGES = sizeof edges / sizeof edges[0] };

static void sets_of_one_edge(walk *self) {
    for (size_t i = 0; i < EDGES; i++) {
        uint32_t one[] = {edges[i], edges[i]};
        check_set(self, one, 1);
    }
}

static void sets_between_edges(walk *self) {
    for (size_t round = 0; round < 30; round++) {
        uint32_t a = check_random(EDGES), b = check_random(EDGES);
        uint32_t between[] = {edges[a < b ? a : b], edges[a < b ? b : a]};
        check_set(self, between, 1);
    }
}

static void sets_that_cover_nearly_all(walk *self) {
    static const uint32_t all[] = {0, POINTS - 1};
    static const uint32_t no_quote[] = {0x23, 0x5B, 0, 0x21, 0x5D, POINTS - 1};
    static const uint32_t no_edges[] = {1, 0x7E, 0x81, 0xFFFE, 0x10001, POINTS - 2};
    check_set(self, all, 1);
    check_set(self, no_quote, 3);
    check_set(self, no_edges, 3);
    check_set(self, NULL, 0);
}

/* Ranges of one scale, in any order, overlapping as they please. */
static size_t random_ranges(uint32_t *ranges, size_t most) {
    static const uint32_t limits[] = {0x80, 0x900, 0x11000, 0x30000, POINTS};
    uint32_t limit = limits[check_random(5)], scale = 1u << check_random(14);
    size_t count = check_random((uint32_t)most);
    for (size_t i = 0; i < count; i++) {
        uint32_t low = check_random(limit), high = low + check_random(scale);
        ranges[2 * i] = low;
        ranges[2 * i + 1] = high < POINTS ? high : POINTS - 1;
    }
    return count;
}

static void random_sets(walk *self) {
    uint32_t ranges[2 * MOST_RANGES];
    for (size_t round = 0; round < 120; round++) {
        size_t count = random_ranges(ranges, round % 8 == 0 ? MOST_RANGES : 12);
        check_set(self, ranges, count);
    }
}

static void equal_sets_are_equal_expressions(void) {
    static const uint32_t one_way[] = {'a', 'z', 0x100, 0x2FF, 0x10000, 0x10FFFF};
    static const uint32_t other_way[] = {0x10000, 0x50000, 0x200, 0x2FF, 'b', 'z',
                                         0x40000, 0x10FFFF, 'a', 'm', 0x100, 0x1FF, 'a', 'a'};
    for (int encoding = GLK_UTF8; encoding <= GLK_JSON_MINIMAL; encoding++) {
        glk_exprs exprs;
        uint32_t a, b;
        CHECK_OK(glk_exprs_init(&exprs, "test_bytes", 0, NULL, NULL));
        CHECK_OK(glk_charset_expr(&exprs, one_way, 3, (glk_encoding)encoding, &a, NULL));
        uint32_t before = exprs.exprs.count;
        CHECK_OK(glk_charset_expr(&exprs, other_way, 7, (glk_encoding)encoding, &b, NULL));
        CHECK_EQUAL(a, b);
        CHECK_EQUAL(exprs.exprs.count, before);
        glk_exprs_destroy(&exprs);
    }
}

static void expressions_stay_small(void) {
    static const uint32_t all[] = {0, POINTS - 1}, ascii[] = {'a', 'z'};
    glk_exprs exprs;
    uint32_t expr;
    CHECK_OK(glk_exprs_init(&exprs, "test_bytes", 0, NULL, NULL));
    CHECK_OK(glk_charset_expr(&exprs, ascii, 1, GLK_UTF8, &expr, NULL));
    CHECK_EQUAL(glk_expr_at(&exprs, expr)->kind, GLK_CLASS);
    CHECK_OK(glk_charset_expr(&exprs, all, 1, GLK_UTF8, &expr, NULL));
    CHECK(exprs.exprs.count < 50);
    CHECK_OK(glk_charset_expr(&exprs, all, 1, GLK_JSON, &expr, NULL));
    CHECK(exprs.exprs.count < 120);
    glk_exprs_destroy(&exprs);
}

static void mistakes_are_named(void) {
    static const uint32_t beyond[] = {'a', 'z', 0x10FFFF, 0x110000}, inverted[] = {'z', 'a'};
    glk_exprs exprs;
    glk_error err = {.code = GLK_OK};
    uint32_t expr = 99;
    CHECK_OK(glk_exprs_init(&exprs, "test_bytes", 0, NULL, NULL));
    CHECK_EQUAL(glk_charset_expr(&exprs, beyond, 2, GLK_UTF8, &expr, &err), GLK_ERR_ARGUMENT);
    CHECK(strstr(err.text, "110000") != NULL);
    CHECK_EQUAL(glk_charset_expr(&exprs, inverted, 1, GLK_JSON, &expr, &err), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_charset_expr(&exprs, inverted, SIZE_MAX / 8, GLK_JSON, &expr, &err),
                GLK_ERR_MEMORY);
    CHECK_EQUAL(expr, 99);
    glk_exprs_destroy(&exprs);
}

/* Every second code point: many ranges that share nothing. */
static size_t scattered_ranges(uint32_t *ranges) {
    for (uint32_t i = 0; i < MOST_RANGES; i++) {
        ranges[2 * i] = ranges[2 * i + 1] = 0x700 + i * (i % 7 + 2);
    }
    return MOST_RANGES;
}

static void budgets_are_kept(void) {
    uint32_t ranges[2 * MOST_RANGES], expr = 99;
    size_t count = scattered_ranges(ranges);
    glk_exprs exprs;
    glk_error err = {.code = GLK_OK};
    CHECK_OK(glk_exprs_init(&exprs, "test_bytes", 0, NULL, NULL));
    exprs.account.limit = exprs.account.used + 10000;
    CHECK_EQUAL(glk_charset_expr(&exprs, ranges, count, GLK_JSON, &expr, &err), GLK_ERR_LIMIT);
    CHECK(strcmp(err.budget, "test_bytes") == 0);
    CHECK_EQUAL(expr, 99);
    exprs.account.limit = 0;
    CHECK_OK(glk_charset_expr(&exprs, ranges, count, GLK_JSON, &expr, &err));
    glk_exprs_destroy(&exprs);
}

static glk_status attempt_charset(void *context, glk_error *err) {
    uint32_t ranges[2 * MOST_RANGES], expr = 99;
    size_t count = scattered_ranges(ranges);
    glk_exprs exprs;
    GLK_TRY(glk_exprs_init(&exprs, "test_bytes", 0, NULL, err));
    glk_status status =
        glk_charset_expr(&exprs, ranges, count, *(const glk_encoding *)context, &expr, err);
    CHECK_EQUAL(expr == 99, status != GLK_OK);
    glk_exprs_destroy(&exprs);
    return status;
}

static void failing_allocations_are_clean(void) {
    glk_encoding encodings[] = {GLK_UTF8, GLK_JSON};
    for (size_t i = 0; i < 2; i++) {
        CHECK(check_failing_allocations(attempt_charset, &encodings[i]) >= 5);
    }
}

int main(void) {
    walk shared;
    init_walk(&shared);
    sets_that_cover_nearly_all(&shared);
    sets_of_one_edge(&shared);
    sets_between_edges(&shared);
    random_sets(&shared);
    free_walk(&shared);
    equal_sets_are_equal_expressions();
    expressions_stay_small();
    mistakes_are_named();
    budgets_are_kept();
    failing_allocations_are_clean();
    return check_done();
}
