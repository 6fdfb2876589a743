/* languages.h -- what the tests of expressions and terminals share: finite pictures of languages.
 *
 * A `language` holds the strings of up to six letters over {a, b, c}, one bit each.  It is computed
 * twice: from the meaning of every constructor, beside the expression (`made`), and from the
 * expression's derivatives.  The first knows nothing of derivatives or canonical forms. */
#ifndef LANGUAGES_H
#define LANGUAGES_H

#include "check.h"
#include "expr.h"

enum { LETTERS = 3, LENGTH = 6, STRINGS = 1093, WORDS = (STRINGS + 63) / 64, LABELS = 2 };

/* String n of length k is first_of[k] plus its letters as digits. */
static const uint32_t first_of[LENGTH + 2] = {0, 1, 4, 13, 40, 121, 364, STRINGS};

typedef struct language {
    uint64_t word[WORDS];
} language;

/* An expression beside the strings that it should have; those that end with label i + 1. */
typedef struct made {
    uint32_t expr;
    language all;
    language labelled[LABELS];
} made;

static inline bool has_string(const language *self, uint32_t string) {
    return (self->word[string / 64] >> (string % 64)) & 1u;
}

static inline void add_string(language *self, uint32_t string) {
    self->word[string / 64] |= (uint64_t)1 << (string % 64);
}

static inline bool same_language(const language *a, const language *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static inline language both(const language *a, const language *b, bool intersect) {
    language result;
    for (uint32_t i = 0; i < WORDS; i++) {
        result.word[i] = intersect ? a->word[i] & b->word[i] : a->word[i] | b->word[i];
    }
    return result;
}

static inline language others(const language *a) {
    language result = {{0}};
    for (uint32_t string = 0; string < STRINGS; string++) {
        if (!has_string(a, string)) {
            add_string(&result, string);
        }
    }
    return result;
}

static inline language only_empty(void) {
    language result = {{1}};
    return result;
}

static inline language joined(const language *a, const language *b) {
    language result = {{0}};
    uint32_t power[LENGTH + 1] = {1, 3, 9, 27, 81, 243, 729};
    for (uint32_t left = 0; left <= LENGTH; left++) {
        for (uint32_t x = first_of[left]; x < first_of[left + 1]; x++) {
            if (!has_string(a, x)) {
                continue;
            }
            for (uint32_t right = 0; left + right <= LENGTH; right++) {
                for (uint32_t y = first_of[right]; y < first_of[right + 1]; y++) {
                    if (has_string(b, y)) {
                        add_string(&result, first_of[left + right] +
                                                (x - first_of[left]) * power[right] +
                                                (y - first_of[right]));
                    }
                }
            }
        }
    }
    return result;
}

static inline language repeated(const language *body, uint32_t lo, uint32_t hi) {
    language power = only_empty(), result = {{0}};
    uint32_t skipped = lo > LENGTH + 1 ? lo - (LENGTH + 1) : 0; /* powers no longer change */
    for (uint32_t i = 0; i <= LENGTH + 1 + (lo - skipped) && i <= hi - skipped; i++) {
        result = i + skipped >= lo ? both(&result, &power, false) : result;
        power = joined(&power, body);
    }
    return result;
}

/* ---- the same from derivatives ---- */

static inline void picture_from(glk_exprs *store, uint32_t expr, uint32_t length, uint32_t value,
                                language *out) {
    if (glk_expr_nullable(store, expr)) {
        add_string(out, first_of[length] + value);
    }
    for (uint32_t letter = 0; letter < LETTERS && length < LENGTH; letter++) {
        uint32_t next;
        CHECK_OK(glk_expr_derive(store, expr, (uint8_t)('a' + letter), &next, NULL));
        if (next != GLK_EXPR_NEVER) {
            picture_from(store, next, length + 1, value * LETTERS + letter, out);
        }
    }
}

static inline language picture(glk_exprs *store, uint32_t expr) {
    language result = {{0}};
    picture_from(store, expr, 0, 0, &result);
    return result;
}

/* ---- constructors with their meaning ---- */

static inline made make_never(void) { return (made){.expr = GLK_EXPR_NEVER}; }

/* The letters of a set of bits, and all bytes that are no letter if `rest`. */
static inline made make_class(glk_exprs *store, uint32_t letters, bool rest) {
    glk_bytes set = {{0}};
    made result = make_never();
    for (uint32_t byte = 0; byte < 256; byte++) {
        bool letter = byte >= 'a' && byte < 'a' + LETTERS;
        if (letter ? (letters >> (byte - 'a') & 1u) != 0 : rest) {
            glk_bytes_add(&set, (uint8_t)byte);
        }
        if (letter && (letters >> (byte - 'a') & 1u) != 0) {
            add_string(&result.all, first_of[1] + byte - 'a');
        }
    }
    CHECK_OK(glk_expr_class(store, &set, &result.expr, NULL));
    return result;
}

static inline made make_cat(glk_exprs *store, const made *a, const made *b) {
    made result = {.all = joined(&a->all, &b->all)};
    for (uint32_t i = 0; i < LABELS; i++) {
        result.labelled[i] = joined(&a->all, &b->labelled[i]);
    }
    CHECK_OK(glk_expr_cat(store, a->expr, b->expr, &result.expr, NULL));
    return result;
}

static inline made make_or(glk_exprs *store, const made *a, const made *b) {
    made result = {.all = both(&a->all, &b->all, false)};
    for (uint32_t i = 0; i < LABELS; i++) {
        result.labelled[i] = both(&a->labelled[i], &b->labelled[i], false);
    }
    CHECK_OK(glk_expr_or2(store, a->expr, b->expr, &result.expr, NULL));
    return result;
}

static inline made make_and(glk_exprs *store, const made *a, const made *b) {
    made result = {.all = both(&a->all, &b->all, true)};
    uint32_t items[2] = {a->expr, b->expr};
    CHECK_OK(glk_expr_and(store, items, 2, &result.expr, NULL));
    return result;
}

static inline made make_not(glk_exprs *store, const made *a) {
    made result = {.all = others(&a->all)};
    CHECK_OK(glk_expr_not(store, a->expr, &result.expr, NULL));
    return result;
}

static inline made make_rep(glk_exprs *store, const made *a, uint32_t lo, uint32_t hi) {
    made result = {.all = repeated(&a->all, lo, hi)};
    CHECK_OK(glk_expr_rep(store, a->expr, lo, hi, &result.expr, NULL));
    return result;
}

static inline made make_tag(glk_exprs *store, uint32_t label) {
    made result = {.all = only_empty()};
    result.labelled[label - 1] = only_empty();
    CHECK_OK(glk_expr_tag(store, label, &result.expr, NULL));
    return result;
}

/* ---- random ones ---- */

typedef struct taste { /* what random expressions may hold */
    bool checked;      /* and, not */
    bool rest;         /* classes with all the bytes that are no letters */
    uint32_t most;     /* the largest upper bound of a repeat */
} taste;

static inline made random_leaf(glk_exprs *store, const taste *like) {
    uint32_t kind = check_random(12);
    if (kind == 0) {
        return (made){.expr = GLK_EXPR_EPSILON, .all = only_empty()};
    }
    if (kind == 1 && like->checked) {
        made never = make_never();
        return make_not(store, &never);
    }
    bool rest = like->rest && check_random(2) == 0;
    return make_class(store, check_random(2) == 0 ? 1u << check_random(LETTERS) : check_random(8),
                      rest);
}

static inline made random_repeat(glk_exprs *store, const made *body, const taste *like) {
    uint32_t lo = check_random(3) == 0 ? check_random(like->most + 1) : check_random(2);
    uint32_t hi = check_random(4) == 0 ? GLK_UNBOUNDED : lo + check_random(like->most + 1 - lo);
    return make_rep(store, body, lo, hi);
}

static inline made random_made(glk_exprs *store, uint32_t depth, const taste *like) {
    if (depth == 0 || check_random(8) == 0) {
        return random_leaf(store, like);
    }
    made a = random_made(store, depth - 1, like), b;
    uint32_t kind = check_random(like->checked ? 8 : 6);
    if (kind < 2 || kind == 6) {
        b = random_made(store, depth - 1, like);
    }
    switch (kind) {
    case 0:
        return make_or(store, &a, &b);
    case 1:
        return make_cat(store, &a, &b);
    case 6:
        return make_and(store, &a, &b);
    case 7:
        return make_not(store, &a);
    case 2:
    case 3:
        b = random_leaf(store, like);
        return kind == 2 ? make_cat(store, &b, &a) : make_or(store, &b, &a);
    default:
        return random_repeat(store, &a, like);
    }
}

/* An or of one to three branches, each with a tag behind it. */
static inline made random_tagged(glk_exprs *store, uint32_t depth, const taste *like) {
    made result = make_never();
    for (uint32_t i = check_random(3) + 1; i > 0; i--) {
        made head = random_made(store, depth, like);
        made tag = make_tag(store, 1 + check_random(LABELS));
        made branch = make_cat(store, &head, &tag);
        result = make_or(store, &result, &branch);
    }
    return result;
}

/* `item` among members of the kind that a simpler relative drops: wide branches beside narrow ones,
 * wide ones without a few narrow ones. */
static inline made random_wide(glk_exprs *store, made item, const taste *like) {
    made wide = make_class(store, check_random(8), true);
    made few = make_class(store, 1 + check_random(7), false);
    made other = random_made(store, 1, like);
    few = make_cat(store, &few, &other);
    wide = make_cat(store, &wide, &item);
    if (like->checked && check_random(2) == 0) {
        few = make_not(store, &few);
        item = make_and(store, &wide, &few);
    } else {
        item = make_or(store, &wide, &few);
    }
    other = random_made(store, 1, like);
    return check_random(3) == 0 ? make_cat(store, &item, &other) : item;
}

#endif
