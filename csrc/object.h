/* object.h -- a JSON object's remaining obligations, member by member.
 * Tested by tests/c/test_parser.c and tests/test_agree.py.
 *
 * The obligations are one number, the parameter of the object's continuation:
 *     declared order   the index of the next declared member (all before it are passed)
 *     any order        the id of the set of declared members seen so far
 * From it follows which keys may come next, whether the object may close, and whether a comma may
 * come.  Keys carry labels; the common roles have fixed ones, so that the states behind them are
 * shared by all grammars.
 */
#ifndef GLK_OBJECT_H
#define GLK_OBJECT_H

#include "code.h"
#include "hash.h"

enum { GLK_LABEL_CLOSE = 1, GLK_LABEL_COMMA = 2, GLK_LABEL_FREE = 3, GLK_LABEL_NAMES = 64 };

typedef struct glk_object { /* a view of an OBJECT's list in glk_code */
    uint32_t member_count, free_count;
    bool any_order;
    uint32_t first_name_label;      /* label of member 0; the others follow */
    const uint32_t *members, *free; /* see code.h */
} glk_object;

typedef struct glk_objects { /* the sets of seen members, for any order */
    glk_account *account;
    glk_arena arena;
    glk_table sets;  /* const uint64_t *, words as the object has members */
    glk_index index; /* (object, words) -> set id */
} glk_objects;

void glk_objects_init(glk_objects *self, glk_account *account);
void glk_objects_free(glk_objects *self);

glk_object glk_object_view(const glk_code *code, uint32_t node);

/* The obligations at the start of the object. */
glk_status glk_object_start(glk_objects *self, const glk_object *object, uint32_t node,
                            uint32_t *out, glk_error *err);
/* ... after a member with this label. */
glk_status glk_object_after(glk_objects *self, const glk_object *object, uint32_t node,
                            uint32_t state, uint32_t label, uint32_t *out, glk_error *err);
/* The first declared member from index `from` on that may come next, or GLK_NONE.  To see all, start
 * at 0 and go on one after each answer. */
uint32_t glk_object_next(const glk_objects *self, const glk_object *object, uint32_t state,
                         uint32_t from);
/* Whether a free member may come next. */
bool glk_object_allows_free(const glk_objects *self, const glk_object *object, uint32_t state);
/* Whether nothing required is missing. */
bool glk_object_may_close(const glk_objects *self, const glk_object *object, uint32_t state);
/* Whether any member may come next. */
bool glk_object_may_go_on(const glk_objects *self, const glk_object *object, uint32_t state);

static inline uint32_t glk_object_key(const glk_object *self, uint32_t member) {
    return self->members[3 * member];
}
static inline uint32_t glk_object_value(const glk_object *self, uint32_t label) {
    return label >= self->first_name_label
               ? self->members[3 * (label - self->first_name_label) + 1]
               : self->free[2 * (label - GLK_LABEL_FREE) + 1];
}
static inline bool glk_object_requires(const glk_object *self, uint32_t member) {
    return self->members[3 * member + 2] != 0;
}

#endif
