/* formula.h -- the list of a container node, and the formula over its members.
 * Tested by tests/c/test_formula.c and tests/test_agree.py.
 *
 * A container is a JSON object, or an array with conditions that a sequence cannot say.  Its members
 * fall into classes: the named ones (an object's declared names; an array's first positions), then
 * the free ones (sets of further names; all further positions).  Each class has choices: the value,
 * and which of the class's conditions ("literals") it is known to satisfy.  Grammar and code hold it
 * as one list of u32 words:
 *
 *     named, free, ordered, flags, choices, words of the formula,
 *     open, close, before comma, after comma, before colon, after colon      gaps
 *     (named + free) x (key, required, first choice, choice count)
 *     choices x (value node, literals)
 *     formula: node count, then the nodes, children before parents, the root last
 *
 *     AT_LEAST n t (class, literal) x t    at least n members hit: their choice has the literal
 *     ALL_BUT  n t (class, literal) x t    at most n members of these classes miss: have it not
 *     AND, OR  k ids
 *
 * With GLK_PRESENCE as the literal every member of the class hits (misses); with GLK_EVERY as the
 * class all classes are meant.  Formulas are monotone in the literals, so a member may always
 * assert fewer of them than hold: choices need no complements.
 *
 * What is left of a formula after some members is a *residual*: a word for each node.  Of an atom
 * it is the count that is left, of AND and OR 0, until they are decided.
 */
#ifndef GLK_FORMULA_H
#define GLK_FORMULA_H

#include "vec.h"

enum { GLK_CONTAINER_HEADER = 12, GLK_CLASS_WORDS = 4, GLK_CHOICE_WORDS = 2 };
enum { GLK_GAP_OPEN, GLK_GAP_CLOSE, GLK_GAP_COMMA, GLK_GAP_ITEM, GLK_GAP_COLON, GLK_GAP_VALUE };

#define GLK_EVERY 0xFFFFFFFFu
#define GLK_PRESENCE 0xFFFFFFFFu

/* Words of a residual that are no counts. */
#define GLK_F_TRUE 0xFFFFFFFEu
#define GLK_F_FALSE 0xFFFFFFFDu
#define GLK_F_MOOT 0xFFFFFFFCu /* decided or not, it changes nothing any more */
#define GLK_F_COUNT_MAX 0xFFFFFF00u

typedef struct glk_container { /* a view of a list */
    uint32_t named, free, ordered, flags, choice_count, formula_words;
    const uint32_t *gaps, *classes, *choices, *formula;
} glk_container;

static inline glk_container glk_container_view(const uint32_t *list) {
    glk_container self = {.named = list[0],
                          .free = list[1],
                          .ordered = list[2],
                          .flags = list[3],
                          .choice_count = list[4],
                          .formula_words = list[5],
                          .gaps = list + 6,
                          .classes = list + GLK_CONTAINER_HEADER};
    self.choices = self.classes + GLK_CLASS_WORDS * (size_t)(self.named + self.free);
    self.formula = self.choices + GLK_CHOICE_WORDS * (size_t)self.choice_count;
    return self;
}

/* Words of the whole list. */
static inline uint32_t glk_container_length(const uint32_t *list) {
    return (uint32_t)GLK_CONTAINER_HEADER + GLK_CLASS_WORDS * (list[0] + list[1]) +
           GLK_CHOICE_WORDS * list[4] + list[5];
}

static inline uint32_t glk_container_classes(const glk_container *self) {
    return self->named + self->free;
}
static inline uint32_t glk_class_key(const glk_container *self, uint32_t k) {
    return self->classes[GLK_CLASS_WORDS * (size_t)k];
}
static inline bool glk_class_required(const glk_container *self, uint32_t k) {
    return self->classes[GLK_CLASS_WORDS * (size_t)k + 1] != 0;
}
static inline uint32_t glk_class_first(const glk_container *self, uint32_t k) {
    return self->classes[GLK_CLASS_WORDS * (size_t)k + 2];
}
static inline uint32_t glk_class_count(const glk_container *self, uint32_t k) {
    return self->classes[GLK_CLASS_WORDS * (size_t)k + 3];
}
static inline uint32_t glk_choice_value(const glk_container *self, uint32_t choice) {
    return self->choices[GLK_CHOICE_WORDS * (size_t)choice];
}
static inline uint32_t glk_choice_literals(const glk_container *self, uint32_t choice) {
    return self->choices[GLK_CHOICE_WORDS * (size_t)choice + 1];
}

/* Words of a residual; 0 without a formula, which then holds always. */
static inline uint32_t glk_formula_size(const glk_container *self) {
    return self->formula_words == 0 ? 0 : self->formula[0];
}

typedef struct glk_formula_node {
    uint32_t kind;         /* GLK_F_... */
    uint32_t bound;        /* an atom's n */
    uint32_t count;        /* of (class, literal) pairs, or of children */
    const uint32_t *items;
} glk_formula_node;

/* Reads the node at `at`; returns the place of the next one. */
static inline const uint32_t *glk_formula_read(const uint32_t *at, glk_formula_node *out) {
    bool atom = at[0] < GLK_F_AND;
    *out = (glk_formula_node){.kind = at[0], .bound = atom ? at[1] : 0, .count = at[atom ? 2 : 1]};
    out->items = at + (atom ? 3 : 2);
    return out->items + (atom ? 2 : 1) * (size_t)out->count;
}

/* Whether a member of class `k` with these literals hits an AT_LEAST, or misses an ALL_BUT. */
bool glk_formula_hits(const glk_formula_node *atom, uint32_t k, uint32_t literals);
bool glk_formula_misses(const glk_formula_node *atom, uint32_t k, uint32_t literals);

/* Works out AND and OR from what they join, and marks what changes nothing any more, so that
 * residuals of the same meaning mostly are the same words. */
glk_status glk_formula_settle(const glk_container *self, uint32_t *residual, glk_error *err);

/* The residual before any member. */
glk_status glk_formula_start(const glk_container *self, uint32_t *residual, glk_error *err);
/* ... after `times` members of a class that take this choice. */
glk_status glk_formula_step(const glk_container *self, uint32_t *residual, uint32_t k,
                            uint32_t choice, uint32_t times, glk_error *err);
/* What becomes of each node if no member follows: a word for each. */
void glk_formula_ends(const glk_container *self, const uint32_t *residual, uint32_t *ends);
/* Whether the formula holds if no member follows. */
glk_status glk_formula_closes(const glk_container *self, const uint32_t *residual, bool *out,
                              glk_error *err);

typedef struct glk_outlook { /* which members may still come */
    const glk_container *container;
    uint32_t index;       /* array: the next position; object: the first ordered class not passed */
    const uint32_t *seen; /* object: named classes that were there, one bit each; NULL: none */
    bool (*usable)(const void *context, uint32_t value); /* NULL: every choice's value is */
    const void *context;
} glk_outlook;

/* Whether some further members make all required ones present and the formula true.  A search, with
 * `*steps` as its budget ("steps"); free classes are taken to have any number of members. */
glk_status glk_formula_feasible(const glk_outlook *self, const uint32_t *residual, uint64_t *steps,
                                bool *out, glk_error *err);

#endif
