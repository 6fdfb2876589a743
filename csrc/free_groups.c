/* free_groups.c -- glk_expr_free_groups, see expr.h.
 *
 * A state that begins with a repeat x{lo,hi} can read up to hi characters, if each of them is a
 * sentence of x.  That is asked of x for whole groups of characters: of the single bytes of ASCII by
 * its class, and of TEXT by deriving x along that automaton. */
#include "expr.h"
#include "groups.h"

enum { PLACES_AT_MOST = 64 }; /* (derivative of x, state of TEXT) pairs; more: x does not take TEXT */

typedef struct place {
    uint32_t expr, state;
} place;

typedef struct places {
    place list[PLACES_AT_MOST];
    uint32_t count;
    bool full;
} places;

static void add_place(places *self, place item) {
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->list[i].expr == item.expr && self->list[i].state == item.state) {
            return;
        }
    }
    if (self->count == PLACES_AT_MOST) {
        self->full = true;
        return;
    }
    self->list[self->count++] = item;
}

/* Steps from one place by all bytes of TEXT; false: x does not take one of them. */
static glk_status leave_place(glk_exprs *self, place from, places *found, bool *takes,
                              glk_error *err) {
    for (uint32_t b = 0x80; b < 256 && *takes; b++) {
        place next = {.state = glk_text_after(from.state, (uint8_t)b)};
        if (next.state == GLK_TEXT_DEAD) {
            continue;
        }
        *takes = glk_bytes_has(&self->alphabet, (uint8_t)b) &&
                 glk_bytes_has(&glk_expr_at(self, from.expr)->first, (uint8_t)b);
        if (!*takes) {
            return GLK_OK;
        }
        GLK_TRY(glk_expr_derive(self, from.expr, (uint8_t)b, &next.expr, err));
        if (next.state != GLK_TEXT_BOUNDARY) {
            *takes = next.expr != GLK_EXPR_NEVER;
            add_place(found, next);
        } else {
            *takes = glk_expr_nullable(self, next.expr);
        }
    }
    return GLK_OK;
}

static glk_status takes_text(glk_exprs *self, uint32_t item, bool *takes, glk_error *err) {
    places found = {.list = {{.expr = item, .state = GLK_TEXT_BOUNDARY}}, .count = 1};
    *takes = true;
    for (uint32_t i = 0; i < found.count && *takes; i++) {
        GLK_TRY(leave_place(self, found.list[i], &found, takes, err));
    }
    *takes = *takes && !found.full;
    return GLK_OK;
}

/* The class among the branches of a character. */
static const glk_bytes *single_bytes(const glk_exprs *self, const glk_expr *e) {
    for (uint32_t i = 0; e->kind == GLK_OR && i < e->b; i++) {
        const glk_expr *member = glk_expr_at(self, e->list[i]);
        if (member->kind == GLK_CLASS) {
            return &member->first;
        }
    }
    return e->kind == GLK_CLASS ? &e->first : NULL;
}

/* The groups whose characters are all sentences of `item`. */
static glk_status groups_of(glk_exprs *self, uint32_t item, uint8_t *out, glk_error *err) {
    glk_expr *e = glk_table_at(&self->exprs, item);
    if (e->groups != GLK_GROUP_OTHER) {
        *out = e->groups;
        return GLK_OK;
    }
    const glk_bytes *bytes = single_bytes(self, e);
    uint8_t groups = bytes != NULL ? GLK_GROUPS_ASCII : 0;
    for (uint32_t b = 0; b < 0x80 && bytes != NULL; b++) {
        if (glk_bytes_has(&self->alphabet, (uint8_t)b) && !glk_bytes_has(bytes, (uint8_t)b)) {
            groups &= (uint8_t)~glk_group_of((uint8_t)b);
        }
    }
    bool text = false;
    if (glk_bytes_has(&e->first, 0xC3)) {
        GLK_TRY(takes_text(self, item, &text, err));
    }
    e->groups = text ? groups | GLK_GROUP_TEXT : groups;
    *out = e->groups;
    return GLK_OK;
}

static uint32_t members_of(uint8_t groups) { return glk_popcount(groups); }

glk_status glk_expr_free_groups(glk_exprs *self, uint32_t item, uint8_t *groups, uint32_t *reach,
                                glk_error *err) {
    const glk_expr *e = glk_expr_at(self, item);
    *groups = 0;
    *reach = 0;
    for (uint32_t i = 0; e->kind == GLK_OR && i < e->b; i++) { /* no branch is an or itself */
        uint8_t branch;
        uint32_t far;
        GLK_TRY(glk_expr_free_groups(self, e->list[i], &branch, &far, err));
        bool more = members_of(branch) > members_of(*groups);
        if (more || (branch == *groups && far > *reach)) {
            *groups = branch;
            *reach = far;
        }
    }
    if (e->kind == GLK_CAT && (e->flags & GLK_CHECKED) == 0) {
        e = glk_expr_at(self, e->a);
    }
    if (e->kind == GLK_REP && (e->flags & GLK_CHECKED) == 0) {
        GLK_TRY(groups_of(self, e->a, groups, err));
        *reach = e->hi;
    }
    return GLK_OK;
}
