/* free_groups.c -- glk_expr_free_groups, see expr.h.
 *
 * A state that begins with a repeat x{lo,hi} can read up to hi characters, if each of them is a
 * sentence of x.  An intersection of such, like a string of limited length that also matches a pattern,
 * can, if all of them accept after each character (so that there is a common end).  What a character is is
 * asked of x for whole groups: of the single bytes of ASCII by its class, and of TEXT by deriving x
 * along that automaton. */
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

/* Steps from one place by all bytes of TEXT; false: x does not take one of them.  `alone`: behind a
 * character nothing more of x may come. */
static glk_status leave_place(glk_exprs *self, place from, bool alone, places *found, bool *takes,
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
            *takes = alone ? next.expr == GLK_EXPR_EPSILON : glk_expr_nullable(self, next.expr);
        }
    }
    return GLK_OK;
}

static glk_status takes_text(glk_exprs *self, uint32_t item, bool alone, bool *takes,
                             glk_error *err) {
    places found = {.list = {{.expr = item, .state = GLK_TEXT_BOUNDARY}}, .count = 1};
    *takes = true;
    for (uint32_t i = 0; i < found.count && *takes; i++) {
        GLK_TRY(leave_place(self, found.list[i], alone, &found, takes, err));
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
        GLK_TRY(takes_text(self, item, false, &text, err));
    }
    e->groups = text ? groups | GLK_GROUP_TEXT : groups;
    *out = e->groups;
    return GLK_OK;
}

typedef struct freedom {
    uint8_t groups;
    uint32_t reach;
} freedom;

/* The better of two branches: an or is as free as either. */
static freedom freer(freedom a, freedom b) {
    uint32_t more = glk_popcount(a.groups), less = glk_popcount(b.groups);
    if (more != less) {
        return more > less ? a : b;
    }
    return a.groups == b.groups && b.reach > a.reach ? b : a;
}

/* What both allow. */
static freedom common(freedom a, freedom b) {
    return (freedom){.groups = a.groups & b.groups, .reach = a.reach < b.reach ? a.reach : b.reach};
}

/* A sequence, or one repeat: what its first part takes.  `ends`: it must accept after each character. */
static glk_status freedom_of_repeat(glk_exprs *self, const glk_expr *e, bool ends, freedom *out,
                                    glk_error *err) {
    *out = (freedom){0};
    if ((e->flags & GLK_CHECKED) != 0) {
        return GLK_OK;
    }
    if (e->kind == GLK_CAT) {
        if (ends && !glk_expr_nullable(self, e->b)) {
            return GLK_OK;
        }
        e = glk_expr_at(self, e->a);
    }
    if (e->kind == GLK_REP && (!ends || e->lo == 0)) {
        GLK_TRY(groups_of(self, e->a, &out->groups, err));
        out->reach = e->hi;
    }
    return GLK_OK;
}

static glk_status freedom_of_branches(glk_exprs *self, const glk_expr *e, bool ends, freedom *out,
                                      glk_error *err) {
    *out = (freedom){0};
    if (e->kind != GLK_OR) {
        return freedom_of_repeat(self, e, ends, out, err);
    }
    for (uint32_t i = 0; i < e->b; i++) { /* no branch is an or itself */
        freedom branch;
        const glk_expr *member = glk_expr_at(self, e->list[i]);
        GLK_TRY(freedom_of_repeat(self, member, ends, &branch, err));
        *out = freer(*out, branch);
    }
    return GLK_OK;
}

/* An and whose members all accept after each such character accepts there as well. */
static glk_status freedom_of_and(glk_exprs *self, const glk_expr *e, freedom *out,
                                 glk_error *err) {
    *out = (freedom){.groups = GLK_GROUPS_ASCII | GLK_GROUP_TEXT, .reach = GLK_UNBOUNDED};
    for (uint32_t i = 0; i < e->b && out->groups != 0; i++) {
        freedom member;
        const glk_expr *m = glk_expr_at(self, e->list[i]);
        GLK_TRY(freedom_of_branches(self, m, true, &member, err));
        *out = common(*out, member);
    }
    return GLK_OK;
}

glk_status glk_expr_free_groups(glk_exprs *self, uint32_t item, uint8_t *groups, uint32_t *reach,
                                glk_error *err) {
    const glk_expr *e = glk_expr_at(self, item), *head = e;
    freedom found;
    bool alive = true;
    if (e->kind == GLK_CAT) {
        head = glk_expr_at(self, e->a);
        alive = glk_expr_at(self, e->b)->life == GLK_LIFE_ALIVE;
    }
    GLK_TRY(head->kind == GLK_AND && alive ? freedom_of_and(self, head, &found, err)
                                           : freedom_of_branches(self, e, false, &found, err));
    *groups = found.groups;
    *reach = found.reach;
    return GLK_OK;
}

glk_status glk_expr_single_groups(glk_exprs *self, uint32_t item, uint8_t *out, glk_error *err) {
    uint8_t groups;
    GLK_TRY(groups_of(self, item, &groups, err));
    for (uint32_t b = 0; b < 0x80; b++) {
        uint32_t rest;
        if ((groups & glk_group_of((uint8_t)b)) == 0 ||
            !glk_bytes_has(&self->alphabet, (uint8_t)b)) {
            continue;
        }
        GLK_TRY(glk_expr_derive(self, item, (uint8_t)b, &rest, err));
        if (rest != GLK_EXPR_EPSILON) {
            groups &= (uint8_t)~glk_group_of((uint8_t)b);
        }
    }
    bool alone = false;
    if ((groups & GLK_GROUP_TEXT) != 0) {
        GLK_TRY(takes_text(self, item, true, &alone, err));
    }
    *out = alone ? groups : groups & (uint8_t)~GLK_GROUP_TEXT;
    return GLK_OK;
}
