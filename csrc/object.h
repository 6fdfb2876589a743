/* object.h -- what an object or array still owes, member by member.
 * Tested by tests/c/test_parser.c and tests/test_agree.py.
 *
 * The obligations are one number, the parameter of the container's continuation.  Most objects have
 * no formula and a declared order: the number is the index of the next declared member.  All others
 * are records, interned by content:
 *
 *     index     the next ordered member (all before it are passed), the next position of an array
 *     seen      the values, or free keys, that must not come again: a set of glk_values; GLK_SEEN_SOME
 *               in bare configurations (epoch.h), where it stands for any set that is not empty
 *     start     while an item or free key is read whose value will matter: where its text begins
 *     residual  what is left of the formula
 *     there     the members out of the declared order that were there, one bit each
 *
 * From them follows which keys may come next, whether the container may close, and whether a comma
 * may come.  Keys carry labels; the common roles have fixed ones, so that the states behind them are
 * shared by all grammars.
 */
#ifndef GLK_OBJECT_H
#define GLK_OBJECT_H

#include "code.h"
#include "hash.h"

enum { GLK_LABEL_CLOSE = 1, GLK_LABEL_COMMA = 2, GLK_LABEL_FREE = 3, GLK_LABEL_NAMES = 64 };

#define GLK_SEEN_SOME 0xFFFFFFFEu
#define GLK_START_NONE 0xFFFFFFFFu  /* no value is being read that matters */
#define GLK_START_FRESH 0xFFFFFFFEu /* bare: one that differs from all seen, whatever follows */
#define GLK_START_SOME 0xFFFFFFFDu  /* bare: one that may be among the seen */

typedef struct glk_object {
    glk_container container;
    uint32_t node;
    uint32_t first_name_label; /* label of class 0; the others follow */
    bool simple;               /* obligations are an index unless something was seen */
} glk_object;

typedef enum glk_fate { GLK_FATE_UNKNOWN, GLK_FATE_ALIVE, GLK_FATE_DEAD } glk_fate;

typedef struct glk_obligations { /* a view */
    uint32_t index, seen, start;
    const uint32_t *residual; /* NULL without a formula */
    const uint32_t *there;    /* NULL if all named members are ordered */
} glk_obligations;

/* The parameter of a container's continuation: obligations << GLK_PHASE_BITS | phase (member.h). */
enum {
    GLK_PHASE_BITS = 4,
    GLK_PHASE_MASK = 15,
    GLK_PHASE_DUE = 8 /* from this phase on a member must come */
};

typedef struct glk_objects { /* the records */
    glk_account *account;
    glk_arena arena;
    glk_table records; /* glk_record */
    glk_index index;   /* content -> record */
    glk_vec draft;     /* u32; the record being made */
} glk_objects;

typedef struct glk_turn { /* one way to read a member */
    uint32_t value; /* its node */
    uint32_t after; /* the obligations after it */
} glk_turn;

void glk_objects_init(glk_objects *self, glk_account *account);
void glk_objects_free(glk_objects *self);

glk_object glk_object_view(const glk_code *code, uint32_t node);
static inline bool glk_object_is_array(const glk_object *self) {
    return (self->container.flags & GLK_ARRAY) != 0;
}
static inline bool glk_object_is_unique(const glk_object *self) {
    return (self->container.flags & GLK_UNIQUE) != 0;
}
static inline uint32_t glk_object_label(const glk_object *self, uint32_t k) {
    return k < self->container.named ? self->first_name_label + k
                                     : GLK_LABEL_FREE + (k - self->container.named);
}
static inline uint32_t glk_object_class(const glk_object *self, uint32_t label) {
    return label >= self->first_name_label ? label - self->first_name_label
                                           : self->container.named + (label - GLK_LABEL_FREE);
}

/* Whether the next item or free key may turn out to be impossible, whatever was seen. */
static inline bool glk_object_may_run_out(const glk_object *self) {
    return glk_object_is_unique(self) && (self->container.flags & GLK_ENDLESS) == 0;
}
/* Whether too few different values may be left for the container to be finished. */
static inline bool glk_object_is_tight(const glk_object *self) {
    return glk_object_is_unique(self) && (self->container.flags & GLK_TIGHT) != 0;
}
/* Whether an item or key must come that differs from some known ones. */
static inline bool glk_object_is_due(const glk_object *self, const glk_obligations *now,
                                     uint32_t phase) {
    return phase >= GLK_PHASE_DUE && now->seen != 0 && now->seen != GLK_SEEN_SOME &&
           glk_object_may_run_out(self);
}
/* Whether what is being read, what must come next, or the container may turn out to be impossible to
 * finish because too few different values are left. */
static inline bool glk_object_is_risky(const glk_object *self, const glk_obligations *now,
                                       uint32_t phase) {
    bool reads = now->start < GLK_START_SOME && now->seen != 0 && now->seen != GLK_SEEN_SOME;
    return glk_object_is_tight(self) || (reads && glk_object_may_run_out(self)) ||
           glk_object_is_due(self, now, phase);
}

/* The obligations before any member. */
glk_status glk_object_start(glk_objects *self, const glk_object *object, uint32_t *out,
                            glk_error *err);
glk_obligations glk_object_read(const glk_objects *self, const glk_object *object, uint32_t state);
/* The same obligations with other seen values and another start. */
glk_status glk_object_mark(glk_objects *self, const glk_object *object, uint32_t state,
                           uint32_t seen, uint32_t start, uint32_t *out, glk_error *err);

/* The first class from `from` on that the order lets come next, or GLK_NONE.  To see all, start at 0
 * and go on one after each answer. */
uint32_t glk_object_next(const glk_objects *self, const glk_object *object, uint32_t state,
                         uint32_t from);
/* Appends to `out` (glk_turn) the ways to read a member of class `k` after which the container can
 * still be finished; none that another one includes.  `*steps` is the budget ("steps"). */
glk_status glk_object_turns(glk_objects *self, const glk_object *object, uint32_t state, uint32_t k,
                            uint64_t *steps, glk_vec *out, glk_error *err);
/* Whether nothing is missing. */
glk_status glk_object_may_close(const glk_objects *self, const glk_object *object, uint32_t state,
                                bool *out, glk_error *err);
/* Whether any member may come next. */
glk_status glk_object_may_go_on(glk_objects *self, const glk_object *object, uint32_t state,
                                uint64_t *steps, bool *out, glk_error *err);

#endif
