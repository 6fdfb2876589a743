/* expr.h -- hash-consed regular expressions over bytes, with and, not and counted repeats.
 * Tested by tests/c/test_expr.c.
 *
 * Every constructor brings its result into a canonical form (associativity, commutativity and
 * idempotence of or / and, units, zeros, merged classes, right-nested concatenation, merged
 * counted repeats), so that equal ids mean equal content and the derivatives of an expression are
 * finitely many (Brzozowski 1964; Owens, Reppy, Turon 2009).
 *
 *     kind     a            b           lo, hi      list
 *     NEVER                                                  id 0
 *     EPSILON                                                id 1
 *     NOT(NEVER)                                             id 2, "any"
 *     CLASS                                                  the bytes are `first`
 *     CAT      head         tail                             head is not a CAT
 *     OR, AND               count                   members  sorted ids, no duplicates
 *     NOT      child
 *     REP      child                    bounds
 *     TAG      label                                         matches empty, with a label
 *
 * Invariants  first is a superset of the bytes that a sentence may begin with (exact where neither
 *             and nor not occurs); an expression without and / not other than NEVER has a sentence.
 * Cost        constructors O(members); a derivative O(size of the expression's top part).
 * Files       expr.c holds the store and the constructors, derive.c what is computed from them.
 * Depth       left nesting and or / and / not / repeat nesting are bounded by GLK_EXPR_DEPTH, so
 *             recursion over them is bounded too; the right spine of CAT is walked in loops.
 * Threads     none: the owner of the store holds a lock.
 */
#ifndef GLK_EXPR_H
#define GLK_EXPR_H

#include <pthread.h>

#include "bitmask.h"
#include "hash.h"
#include "vec.h"

enum { GLK_EXPR_DEPTH = 600 };

typedef enum glk_expr_kind {
    GLK_NEVER,
    GLK_EPSILON,
    GLK_CLASS,
    GLK_CAT,
    GLK_OR,
    GLK_AND,
    GLK_NOT,
    GLK_REP,
    GLK_TAG
} glk_expr_kind;

enum {
    GLK_NULLABLE = 1, /* matches the empty string (a TAG does) */
    GLK_TAGGED = 2,   /* holds a TAG */
    GLK_CHECKED = 4,  /* holds an and / not: may be empty without looking so */
    GLK_COUNTED = 8,  /* holds, complements apart, a repeat of at least GLK_MANY */
    GLK_FINITE = 16,  /* surely has finitely many sentences */
    GLK_INFINITE = 32 /* surely has infinitely many, so that it is alive */
};

enum { GLK_MANY = 16 }; /* lower bounds from here on are worth lifting, see glk_expr_unbounded */

typedef struct glk_expr {
    glk_bytes first;       /* bytes a sentence may begin with */
    const uint32_t *list;  /* OR, AND: members */
    uint32_t a, b;         /* see the table above */
    uint32_t lo, hi;       /* REP; hi GLK_UNBOUNDED = no bound */
    uint32_t shortest;     /* no sentence has fewer bytes; saturates */
    uint32_t most;         /* largest reach of a finite repeat inside, 0 if there is none; the reach
                              of x{lo,hi} is hi times the shortest x: bytes before hi matters */
    uint32_t state;        /* the terminal state built on this expression, or GLK_NONE */
    uint16_t depth;        /* nesting, see Depth */
    uint8_t kind;          /* glk_expr_kind */
    uint8_t flags;
    uint8_t life;          /* glk_life; only CHECKED expressions start as UNKNOWN */
    uint8_t groups;        /* groups.h: all their characters are sentences; OTHER: not looked at yet */
    uint32_t mark;         /* the last stamp it got, see glk_expr_stamp */
} glk_expr;

typedef enum glk_life { GLK_LIFE_UNKNOWN, GLK_LIFE_ALIVE, GLK_LIFE_DEAD } glk_life;

typedef struct glk_derived { /* one entry of the derivative memo, direct mapped */
    uint32_t expr, byte, result;
} glk_derived;

struct glk_exprs {
    glk_account account;
    glk_arena arena;   /* member lists */
    glk_table exprs;   /* glk_expr */
    glk_index index;
    glk_derived *memo; /* direct mapped derivatives */
    glk_vec scratch;   /* u32; a stack for constructors and derivatives */
    uint64_t work;     /* parts that derivatives have looked at so far */
    uint32_t stamp;    /* the latest one */
    uint32_t byte[256]; /* classes of single bytes, NEVER until they are made: texts are long */
    glk_bytes alphabet; /* the bytes that exist; emptiness looks at no others */
    glk_exprs *apart;  /* apart.c: another store for long searches, or NULL */
    glk_vec apart_map; /* u32 per expression of this one */
    bool far;          /* the latest search went there */
    pthread_mutex_t lock;       /* taken by the glk_exprs_* functions, not by glk_expr_* */
    _Atomic uint32_t references;
};

static inline const glk_expr *glk_expr_at(const glk_exprs *self, uint32_t id) {
    return (const glk_expr *)glk_table_at(&self->exprs, id);
}
static inline bool glk_expr_nullable(const glk_exprs *self, uint32_t id) {
    return (glk_expr_at(self, id)->flags & GLK_NULLABLE) != 0;
}

/* `alphabet` NULL: all bytes.  `budget` (static text) names the byte budget in errors. */
glk_status glk_exprs_init(glk_exprs *self, const char *budget, uint64_t max_bytes,
                          const glk_bytes *alphabet, glk_error *err);
void glk_exprs_destroy(glk_exprs *self);

glk_status glk_expr_class(glk_exprs *self, const glk_bytes *set, uint32_t *out, glk_error *err);
glk_status glk_expr_byte(glk_exprs *self, uint8_t byte, uint32_t *out, glk_error *err);
glk_status glk_expr_literal(glk_exprs *self, const uint8_t *bytes, size_t count, uint32_t tail,
                            uint32_t *out, glk_error *err); /* the bytes, then `tail` */
glk_status glk_expr_cat(glk_exprs *self, uint32_t head, uint32_t tail, uint32_t *out,
                        glk_error *err);
glk_status glk_expr_or(glk_exprs *self, const uint32_t *items, size_t count, uint32_t *out,
                       glk_error *err);
glk_status glk_expr_or2(glk_exprs *self, uint32_t a, uint32_t b, uint32_t *out, glk_error *err);
glk_status glk_expr_and(glk_exprs *self, const uint32_t *items, size_t count, uint32_t *out,
                        glk_error *err);
glk_status glk_expr_not(glk_exprs *self, uint32_t item, uint32_t *out, glk_error *err);
glk_status glk_expr_rep(glk_exprs *self, uint32_t item, uint32_t lo, uint32_t hi, uint32_t *out,
                        glk_error *err);
glk_status glk_expr_tag(glk_exprs *self, uint32_t label, uint32_t *out, glk_error *err);

/* The or / and of what lies on `scratch` from index `base` on; pops it, also on failure. */
glk_status glk_expr_or_scratch(glk_exprs *self, uint32_t base, uint32_t *out, glk_error *err);
glk_status glk_expr_and_scratch(glk_exprs *self, uint32_t base, uint32_t *out, glk_error *err);

/* A number that no expression is marked with, for one pass over many that wants each once. */
uint32_t glk_expr_stamp(glk_exprs *self);

/* The memo's entry for a derivative; it may hold another one. */
glk_derived *glk_expr_memo(glk_exprs *self, uint32_t item, uint8_t byte);

/* What may follow `byte`. */
glk_status glk_expr_derive(glk_exprs *self, uint32_t item, uint8_t byte, uint32_t *out,
                           glk_error *err);
/* The same against a budget ("steps"): one for the derivative and one for each part of a sequence
 * or list that it looks at, since a long sequence of optional parts has as many as it is long. */
glk_status glk_expr_derive_within(glk_exprs *self, uint32_t item, uint8_t byte, uint64_t *steps,
                                  uint32_t *out, glk_error *err);

/* Adds the labels with which the empty string matches; a match without label adds nothing. */
glk_status glk_expr_labels(const glk_exprs *self, uint32_t item, glk_vec *labels, glk_error *err);

/* Splits the bytes into classes whose members have equal derivatives: class_of[b] < *count. */
void glk_expr_partition(glk_exprs *self, uint32_t item, uint8_t class_of[256], uint32_t *count);
/* The same against a budget ("steps"), counted down by the parts and bytes that it looks at. */
glk_status glk_expr_partition_within(glk_exprs *self, uint32_t item, uint64_t *steps,
                                     uint8_t class_of[256], uint32_t *count, glk_error *err);

/* Whether no string over the store's alphabet matches.  `*steps` is the budget ("steps"), counted
 * down as glk_expr_derive_within does. */
glk_status glk_expr_is_empty(glk_exprs *self, uint32_t item, uint64_t *steps, bool *out,
                             glk_error *err);

/* Whether there surely is a sentence that begins with `byte`, read off the shape.  false: ask
 * glk_expr_is_empty of the derivative. */
glk_status glk_expr_goes_on(glk_exprs *self, uint32_t item, uint8_t byte, bool *out,
                            glk_error *err);

/* The texts of the expression over the store's alphabet, shortest first, then by bytes: their lengths
 * (u32), and behind each other their bytes (u8).  *more: there are more than `most`; then nothing of
 * the kind.  `*steps` is the budget ("steps").  texts.c */
glk_status glk_expr_texts(glk_exprs *self, uint32_t item, uint32_t most, uint64_t *steps,
                          glk_vec *lengths, glk_vec *bytes, bool *more, glk_error *err);

/* A simpler expression with which `item` agrees after every byte outside *differs, or `item` itself;
 * on the empty string they may differ.  Drops or-branches and and-negations with few first bytes. */
glk_status glk_expr_base(glk_exprs *self, uint32_t item, uint32_t *out, glk_bytes *differs,
                         glk_error *err);
/* `item` with repeat bounds lifted that matter only `reach` bytes away or farther, complements
 * apart: upper bounds by their reach (see glk_expr.most), and, in expressions without and / not,
 * lower bounds, which become `cut`.  *bound = how near the nearest of them was; GLK_UNBOUNDED if none
 * was nearer than `cut`.
 *   with and / not      the result has every sentence of `item`, and both have the same ones of up to
 *                       *bound bytes
 *   without             both can be continued alike, and end alike, after up to *bound bytes, as
 *                       long as that is below `cut` */
glk_status glk_expr_unbounded(glk_exprs *self, uint32_t item, uint32_t reach, uint32_t cut,
                              uint32_t *out, uint32_t *bound, glk_error *err);

/* Groups of characters (groups.h) of which up to *reach, whichever they are, can be read and the rest
 * still be finished; GLK_UNBOUNDED: any number; no groups, none.  Less than the truth, read off the
 * expression's shape.  What one character may be is found once for each expression. */
glk_status glk_expr_free_groups(glk_exprs *self, uint32_t item, uint8_t *groups, uint32_t *reach,
                                glk_error *err);

/* Groups of characters each of which is a sentence of `item`, and of which `item` reads nothing more behind
 * it: no sentence of `item` begins with one and is longer. */
glk_status glk_expr_single_groups(glk_exprs *self, uint32_t item, uint8_t *groups,
                                  glk_error *err);

/* Copies an expression of another store, classes cut to this store's alphabet.  `map` (u32 per
 * expression of `from`, GLK_NONE = not yet) is extended along the way and may be kept. */
glk_status glk_expr_import(glk_exprs *self, const glk_exprs *from, uint32_t item, glk_vec *map,
                           uint32_t *out, glk_error *err);

#endif
