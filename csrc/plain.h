/* plain.h -- plain JSON Schemas, straight from the document to the grammar.
 * Tested by tests/c/test_plain.c and tests/test_plain.py.
 *
 * Most schemas say nothing that takes algebra: types, members, items, listed values, one range or
 * pattern at a leaf, references, unions that need no working out.  This stage reads those in one
 * pass and makes the very grammar that the general road (python/gramlock/schema) makes, ids aside;
 * at the first thing that is not of this kind, or not right, it *declines*, and the general road does
 * all of it, with its messages.  So nothing here reports, and no rule of a keyword is only here.
 *
 * A *leaf* is a scalar with conditions: its expression comes from the general road, too, once for each
 * different one.  It is asked for by a *key*: marshal's bytes of the schema of these keywords alone.
 * What is not known yet is collected, and the document read again once it is.
 *
 *     plain_shape.c    a schema's keywords -> what it says by type (a shape)
 *     plain_leaf.c     scalars of a shape -> terminals; the table of leaves
 *     plain.c          shapes -> nodes of a grammar; the boundary
 *
 * Depth    schemas under construction are bounded by GLK_PLAIN_DEPTH, so recursion over them is, too.
 * Threads  a glk_plain is shared; its lock guards the table.  A reader belongs to one call.
 */
#ifndef GLK_PLAIN_H
#define GLK_PLAIN_H

#include "document.h"
#include "grammar.h"

enum { GLK_PLAIN_DEPTH = 40, GLK_PLAIN_SCHEMAS = 5000 };

/* Type names as bits; all numbers are one bit beside the one that says "whole numbers only". */
enum {
    GLK_T_NULL = 1,
    GLK_T_BOOLEAN = 2,
    GLK_T_FRACTION = 4, /* numbers that are no integers */
    GLK_T_INTEGER = 8,
    GLK_T_STRING = 16,
    GLK_T_ARRAY = 32,
    GLK_T_OBJECT = 64,
    GLK_T_NUMBER = 12,
    GLK_T_ALL = 127
};

/* The keywords that are read here; their values are items, GLK_NONE where they are absent. */
typedef enum glk_keyword {
    GLK_K_TYPE,
    GLK_K_ENUM,
    GLK_K_CONST,
    GLK_K_MINIMUM, /* from here to MULTIPLE: of numbers, in the order of their keys */
    GLK_K_MAXIMUM,
    GLK_K_ABOVE,
    GLK_K_BELOW,
    GLK_K_MULTIPLE,
    GLK_K_MIN_LENGTH, /* to FORMAT: of strings */
    GLK_K_MAX_LENGTH,
    GLK_K_PATTERN,
    GLK_K_FORMAT,
    GLK_K_ITEMS, /* to UNIQUE: of arrays */
    GLK_K_MIN_ITEMS,
    GLK_K_MAX_ITEMS,
    GLK_K_UNIQUE,
    GLK_K_PROPERTIES, /* to ADDITIONAL: of objects */
    GLK_K_REQUIRED,
    GLK_K_ADDITIONAL,
    GLK_K_REF,
    GLK_K_ALL_OF,
    GLK_K_ANY_OF,
    GLK_K_ONE_OF,
    GLK_KEYWORDS, /* how many */
    GLK_K_NAMING, /* $id and its like */
    GLK_K_DIALECT, /* $schema */
    GLK_K_OTHER   /* a keyword that is not for this stage */
} glk_keyword;

const char *glk_keyword_name(glk_keyword keyword);

typedef struct glk_own {
    uint32_t value[GLK_KEYWORDS]; /* items, no aliases */
    uint32_t found;               /* bits of the keywords that are there */
    uint8_t types;                /* that values may be of */
} glk_own;

/* Listed values: enum or const of a schema, as far as its types go. */
typedef struct glk_listed {
    uint32_t item; /* the list, or the one value */
    bool one;
    uint8_t types;
} glk_listed;

/* What a schema says. */
typedef struct glk_shape {
    uint32_t alias;   /* it is equal to this schema; GLK_NONE: to none */
    bool anything;    /* it says nothing at all */
    uint8_t open;     /* types of which values are in it that are not listed */
    uint8_t constant; /* types of listed values */
    uint32_t own, own_count;       /* in the reader's list: its alternatives */
    uint32_t listed, listed_count; /* in the reader's list: values it lists */
} glk_shape;

typedef struct glk_leaf {
    uint32_t key, length; /* in `keys` */
    uint8_t kind;         /* glk_leaf_kind */
    uint32_t expr;
} glk_leaf;

enum { GLK_SPELLED = 128 };

struct glk_plain {
    glk_account account;
    glk_exprs *exprs; /* retained */
    glk_plain_base base;
    pthread_mutex_t lock; /* of all below */
    glk_vec keys;         /* u8 */
    glk_vec leaves;       /* glk_leaf */
    glk_index index;
    uint32_t spelled[GLK_SPELLED]; /* every spelling of a character; 0: not made yet */
};

typedef struct glk_spot { /* one item, as a schema */
    uint32_t emitted, rule; /* node + 1, 0 = none yet */
    bool busy;
} glk_spot;

typedef struct glk_reader {
    glk_plain *plain;
    glk_grammar *grammar;
    glk_document document;
    bool declined;     /* a failing status means no more than this */
    bool missing;      /* some leaf is not known */
    bool recursive;    /* a rule was made */
    bool named;        /* a schema below the root has an identifier */
    bool refers;       /* some schema is a reference: with the above, it may be relative to that one */
    uint16_t draft;    /* 4, 6, 7, 2019, 2020 */
    uint32_t depth;    /* schemas under construction */
    uint32_t shaping;  /* unions inside each other */
    uint32_t schemas;  /* read so far */
    uint32_t anything; /* the rule of any value + 1 */
    uint32_t list_open, list_comma, list_close; /* + 1, of arrays */
    glk_vec spots;     /* glk_spot for each item */
    glk_vec own;       /* glk_own */
    glk_vec listed;    /* glk_listed */
    glk_vec stack;     /* u32 */
    glk_vec text;      /* u8: one literal or key */
    glk_vec needs;     /* u8: keys that are not known, each after its length */
} glk_reader;

/* Ends the reading: the general road takes over.  Its status is passed up like any failure. */
static inline glk_status glk_decline(glk_reader *r) {
    r->declined = true;
    return GLK_ERR_ARGUMENT;
}

static inline glk_own *glk_own_at(const glk_reader *r, uint32_t index) {
    return (glk_own *)r->own.data + index;
}

/* Whether a format is enforced; asks for it where that is not known.  plain_leaf.c */
glk_status glk_leaf_asserts(glk_reader *r, uint32_t format, bool *out, glk_error *err);
/* The expression of a text that the schema lists, as it is written, with its quotes; of every spelling
 * of one, without them.  plain_leaf.c */
glk_status glk_plain_literal(glk_reader *r, uint32_t item, uint32_t *out, glk_error *err);
glk_status glk_plain_spellings(glk_reader *r, uint32_t item, uint32_t *out, glk_error *err);
/* Nodes of all values but arrays and objects, onto the stack; all constants (collected in the empty
 * `constants`) are one of them.  plain_leaf.c */
glk_status glk_plain_scalars(glk_reader *r, const glk_shape *shape, glk_vec *constants,
                             glk_error *err);

/* What the schema at `item` (no alias) says.  plain_shape.c */
glk_status glk_shape_of(glk_reader *r, uint32_t item, glk_shape *out, glk_error *err);
/* The draft that the root's $schema names.  plain_shape.c */
glk_status glk_draft_of(glk_reader *r, uint16_t fallback, glk_error *err);
#endif
