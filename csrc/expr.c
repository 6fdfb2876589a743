/* expr.c -- the store of expressions and its constructors; see expr.h for the canonical forms.
 *
 * Constructors of or / and work in place on the top of `scratch` (a stack of ids), so that nested
 * calls and growth of the stack never invalidate what they read. */
#include "expr.h"

#include "groups.h"

enum { MEMO_ENTRIES = 1 << 14 };

typedef struct shape { /* a candidate expression, before it has an id */
    glk_expr expr;
    const uint32_t *list;
    uint32_t count;
} shape;

/* Near the newest part. */
static uint32_t shape_hash(const shape *self) {
    const glk_expr *e = &self->expr;
    uint64_t hash = glk_mix(e->kind, ((uint64_t)e->a << 32) | e->b);
    uint32_t near = e->a > e->b ? e->a : e->b;
    if (e->kind == GLK_CLASS) {
        for (int i = 0; i < 4; i++) {
            hash = glk_mix(hash, e->first.word[i]);
        }
    } else if (e->kind == GLK_REP) {
        hash = glk_mix(hash, ((uint64_t)e->lo << 32) | e->hi);
    } else if (self->count > 0) {
        hash = glk_hash_u32s(self->list, self->count, hash);
        near = self->list[self->count - 1]; /* they ascend */
    }
    return glk_hash_near((uint32_t)(hash ^ (hash >> 29)), near);
}

static bool shape_equals(const shape *self, const glk_expr *other) {
    const glk_expr *e = &self->expr;
    if (e->kind != other->kind || e->a != other->a || e->b != other->b || e->lo != other->lo ||
        e->hi != other->hi) {
        return false;
    }
    if (e->kind == GLK_CLASS) {
        return glk_bytes_equal(&e->first, &other->first);
    }
    return self->count == 0 ||
           memcmp(self->list, other->list, self->count * sizeof(uint32_t)) == 0;
}

static glk_status intern(glk_exprs *self, const shape *candidate, uint32_t *out, glk_error *err) {
    uint32_t hash = shape_hash(candidate);
    uint32_t id = GLK_NONE;
    glk_probe probe = glk_probe_start(&self->index, hash);
    while (glk_probe_next(&self->index, &probe, &id)) {
        if (shape_equals(candidate, glk_expr_at(self, id))) {
            *out = id;
            return GLK_OK;
        }
    }
    if (candidate->expr.depth > GLK_EXPR_DEPTH) {
        return glk_fail_limit(err, "expression_depth", candidate->expr.depth, GLK_EXPR_DEPTH);
    }
    GLK_TRY(glk_index_reserve(&self->index, err));
    void *list = NULL;
    if (candidate->count > 0) {
        size_t bytes = candidate->count * sizeof(uint32_t);
        GLK_TRY(glk_arena_take(&self->arena, bytes, &list, err));
        memcpy(list, candidate->list, bytes);
    }
    GLK_TRY(glk_table_add(&self->exprs, &id, err));
    glk_expr *expr = glk_table_at(&self->exprs, id);
    *expr = candidate->expr;
    expr->list = list;
    expr->state = GLK_NONE;
    expr->groups = GLK_GROUP_OTHER;
    if (expr->kind == GLK_NEVER) {
        expr->life = GLK_LIFE_DEAD;
    } else if ((expr->flags & GLK_CHECKED) == 0 ||
               (expr->flags & (GLK_NULLABLE | GLK_INFINITE)) != 0) {
        expr->life = GLK_LIFE_ALIVE;
    }
    (void)glk_index_add(&self->index, hash, id, err);
    *out = id;
    return GLK_OK;
}

/* ------------------------------------------------------------------ store */

/* Of "all texts" and "all but finitely many": there are infinitely many, if there is a byte at all. */
static uint8_t infinite_texts(const glk_exprs *self) {
    return glk_bytes_empty(&self->alphabet) ? 0 : GLK_INFINITE;
}

static glk_status intern_fixed(glk_exprs *self, glk_error *err) {
    uint32_t id;
    shape never = {.expr = {.kind = GLK_NEVER, .flags = GLK_FINITE}};
    GLK_TRY(intern(self, &never, &id, err));
    assert(id == GLK_EXPR_NEVER);
    shape epsilon = {.expr = {.kind = GLK_EPSILON, .flags = GLK_NULLABLE | GLK_FINITE}};
    GLK_TRY(intern(self, &epsilon, &id, err));
    assert(id == GLK_EXPR_EPSILON);
    shape any = {.expr = {.kind = GLK_NOT,
                          .a = GLK_EXPR_NEVER,
                          .flags = GLK_NULLABLE | infinite_texts(self),
                          .depth = 1,
                          .first = self->alphabet}};
    GLK_TRY(intern(self, &any, &id, err));
    assert(id == GLK_EXPR_ANY);
    return GLK_OK;
}

glk_status glk_exprs_init(glk_exprs *self, const char *budget, uint64_t max_bytes,
                          const glk_bytes *alphabet, glk_error *err) {
    memset(self, 0, sizeof *self);
    glk_account_init(&self->account, budget, max_bytes);
    glk_arena_init(&self->arena, &self->account);
    glk_table_init(&self->exprs, &self->account, sizeof(glk_expr));
    glk_index_init(&self->index, &self->account);
    glk_vec_init(&self->scratch, &self->account, sizeof(uint32_t));
    glk_vec_init(&self->apart_map, NULL, sizeof(uint32_t));
    self->alphabet = alphabet != NULL ? *alphabet : glk_bytes_all();
    atomic_init(&self->references, 1);
    void *memo = NULL;
    glk_status status = glk_alloc(&self->account, MEMO_ENTRIES * sizeof(glk_derived), &memo, err);
    if (status == GLK_OK) {
        self->memo = memo;
        status = intern_fixed(self, err);
    }
    if (status != GLK_OK) {
        glk_release(&self->account, memo, MEMO_ENTRIES * sizeof(glk_derived));
        glk_arena_free(&self->arena);
        glk_table_free(&self->exprs);
        glk_index_free(&self->index);
        return status;
    }
    (void)pthread_mutex_init(&self->lock, NULL);
    return GLK_OK;
}

void glk_exprs_destroy(glk_exprs *self) {
    glk_exprs_release(self->apart);
    glk_vec_free(&self->apart_map);
    glk_release(&self->account, self->memo, MEMO_ENTRIES * sizeof(glk_derived));
    glk_arena_free(&self->arena);
    glk_table_free(&self->exprs);
    glk_index_free(&self->index);
    glk_vec_free(&self->scratch);
    (void)pthread_mutex_destroy(&self->lock);
}

glk_derived *glk_expr_memo(glk_exprs *self, uint32_t item, uint8_t byte) {
    uint32_t at = (item * 0x9E3779B1u) ^ ((uint32_t)byte * 0x85EBCA6Bu);
    return &self->memo[(at ^ (at >> 15)) & (MEMO_ENTRIES - 1)];
}

/* ------------------------------------------------------------------ leaves */

glk_status glk_expr_class(glk_exprs *self, const glk_bytes *set, uint32_t *out, glk_error *err) {
    glk_bytes cut = glk_bytes_and(*set, self->alphabet);
    if (glk_bytes_empty(&cut)) {
        *out = GLK_EXPR_NEVER;
        return GLK_OK;
    }
    shape candidate = {
        .expr = {.kind = GLK_CLASS, .first = cut, .shortest = 1, .flags = GLK_FINITE}};
    return intern(self, &candidate, out, err);
}

glk_status glk_expr_byte(glk_exprs *self, uint8_t byte, uint32_t *out, glk_error *err) {
    if (self->byte[byte] == GLK_EXPR_NEVER) {
        glk_bytes set = {{0}};
        glk_bytes_add(&set, byte);
        GLK_TRY(glk_expr_class(self, &set, &self->byte[byte], err));
    }
    *out = self->byte[byte];
    return GLK_OK;
}

glk_status glk_expr_tag(glk_exprs *self, uint32_t label, uint32_t *out, glk_error *err) {
    shape candidate = {.expr = {.kind = GLK_TAG,
                                .a = label,
                                .flags = GLK_NULLABLE | GLK_TAGGED | GLK_FINITE}};
    return intern(self, &candidate, out, err);
}

/* ------------------------------------------------------------------ concatenation */

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

static uint32_t times(uint32_t a, uint32_t b) {
    uint64_t product = (uint64_t)a * b;
    return product < GLK_UNBOUNDED ? (uint32_t)product : GLK_UNBOUNDED - 1;
}

static uint32_t add_bounds(uint32_t a, uint32_t b) {
    uint64_t sum = (uint64_t)a + b;
    return a == GLK_UNBOUNDED || b == GLK_UNBOUNDED || sum >= GLK_UNBOUNDED ? GLK_UNBOUNDED
                                                                            : (uint32_t)sum;
}

enum { INHERITED = GLK_CHECKED | GLK_COUNTED }; /* flags that a part hands on to the whole */

/* One link; `head` is neither a CAT nor a unit or zero. */
static glk_status link(glk_exprs *self, uint32_t head, uint32_t tail, uint32_t *out,
                       glk_error *err) {
    const glk_expr *h = glk_expr_at(self, head);
    const glk_expr *t = glk_expr_at(self, tail);
    uint32_t depth = (uint32_t)h->depth + 1;
    shape candidate = {.expr = {.kind = GLK_CAT, .a = head, .b = tail, .first = h->first}};
    if ((h->flags & GLK_NULLABLE) != 0) {
        candidate.expr.first = glk_bytes_or(h->first, t->first);
        candidate.expr.flags = t->flags & GLK_NULLABLE;
    }
    candidate.expr.flags |= t->flags & (GLK_TAGGED | INHERITED);
    candidate.expr.flags |= h->flags & INHERITED;
    candidate.expr.flags |= h->flags & t->flags & GLK_FINITE;
    if (h->life == GLK_LIFE_ALIVE && t->life == GLK_LIFE_ALIVE) {
        candidate.expr.flags |= (h->flags | t->flags) & GLK_INFINITE;
    }
    candidate.expr.depth = (uint16_t)(depth > t->depth ? depth : t->depth);
    candidate.expr.most = larger(h->most, t->most);
    candidate.expr.shortest = add_bounds(h->shortest, t->shortest);
    return intern(self, &candidate, out, err);
}

/* x{a,b} x{c,d} = x{a+c,b+d}, also when the second stands at the front of a concatenation. */
static glk_status link_repeats(glk_exprs *self, uint32_t head, uint32_t tail, uint32_t *out,
                               glk_error *err) {
    const glk_expr *h = glk_expr_at(self, head);
    const glk_expr *t = glk_expr_at(self, tail);
    const glk_expr *front = t->kind == GLK_CAT ? glk_expr_at(self, t->a) : t;
    if (h->kind != GLK_REP || front->kind != GLK_REP || h->a != front->a) {
        return link(self, head, tail, out, err);
    }
    uint32_t rest = t->kind == GLK_CAT ? t->b : GLK_EXPR_EPSILON;
    uint32_t merged;
    GLK_TRY(glk_expr_rep(self, h->a, add_bounds(h->lo, front->lo), add_bounds(h->hi, front->hi),
                         &merged, err));
    if (rest == GLK_EXPR_EPSILON) {
        *out = merged;
        return GLK_OK;
    }
    return link(self, merged, rest, out, err);
}

glk_status glk_expr_cat(glk_exprs *self, uint32_t head, uint32_t tail, uint32_t *out,
                        glk_error *err) {
    if (head == GLK_EXPR_NEVER || tail == GLK_EXPR_NEVER) {
        *out = GLK_EXPR_NEVER;
        return GLK_OK;
    }
    if (head == GLK_EXPR_EPSILON || tail == GLK_EXPR_EPSILON) {
        *out = head == GLK_EXPR_EPSILON ? tail : head;
        return GLK_OK;
    }
    if ((glk_expr_at(self, head)->flags & GLK_TAGGED) != 0) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "a tag must be the last part of a concatenation");
    }
    uint32_t base = self->scratch.count;
    glk_status status = GLK_OK;
    while (status == GLK_OK && glk_expr_at(self, head)->kind == GLK_CAT) {
        status = glk_vec_push_u32(&self->scratch, glk_expr_at(self, head)->a, err);
        head = glk_expr_at(self, head)->b;
    }
    if (status == GLK_OK) {
        status = link_repeats(self, head, tail, &tail, err);
    }
    while (status == GLK_OK && self->scratch.count > base) {
        self->scratch.count--;
        status = link_repeats(self, GLK_VEC_U32(&self->scratch)[self->scratch.count], tail, &tail,
                              err);
    }
    self->scratch.count = base;
    GLK_TRY(status);
    *out = tail;
    return GLK_OK;
}

glk_status glk_expr_literal(glk_exprs *self, const uint8_t *bytes, size_t count, uint32_t tail,
                            uint32_t *out, glk_error *err) {
    for (size_t i = count; i > 0 && tail != GLK_EXPR_NEVER; i--) {
        uint32_t byte;
        GLK_TRY(glk_expr_byte(self, bytes[i - 1], &byte, err));
        if (tail == GLK_EXPR_EPSILON || byte == GLK_EXPR_NEVER) {
            tail = byte;
        } else { /* a class needs no merging with what comes after it */
            GLK_TRY(link(self, byte, tail, &tail, err));
        }
    }
    *out = tail;
    return GLK_OK;
}

/* ------------------------------------------------------------------ or, and */

uint32_t glk_expr_stamp(glk_exprs *self) {
    if (++self->stamp == 0) { /* once in four billion */
        for (uint32_t i = 0; i < self->exprs.count; i++) {
            ((glk_expr *)glk_table_at(&self->exprs, i))->mark = 0;
        }
        self->stamp = 1;
    }
    return self->stamp;
}

/* Whether the expression has not got this stamp; now it has. */
static bool is_new(glk_exprs *self, uint32_t item, uint32_t stamp) {
    glk_expr *e = glk_table_at(&self->exprs, item);
    bool fresh = e->mark != stamp;
    e->mark = stamp;
    return fresh;
}

/* Replaces members of `kind` on the scratch top by their own members (one level: canonical members
 * hold no further level).  Each is kept once, lest lists that overlap add up to their square. */
static glk_status splice(glk_exprs *self, uint32_t base, glk_expr_kind kind, glk_error *err) {
    uint32_t end = self->scratch.count, kept = base, stamp = glk_expr_stamp(self);
    for (uint32_t i = base; i < end; i++) {
        uint32_t *items = GLK_VEC_U32(&self->scratch), item = items[i];
        const glk_expr *e = glk_expr_at(self, item);
        if (e->kind != kind) {
            items[kept] = item;
            kept += is_new(self, item, stamp);
            continue;
        }
        GLK_TRY(glk_vec_reserve(&self->scratch, e->b, err));
        items = GLK_VEC_U32(&self->scratch);
        for (uint32_t m = 0; m < e->b; m++) {
            items[self->scratch.count] = e->list[m];
            self->scratch.count += is_new(self, e->list[m], stamp);
        }
    }
    if (kept < end) {
        uint32_t *items = GLK_VEC_U32(&self->scratch), added = self->scratch.count - end;
        memmove(items + kept, items + end, added * sizeof *items);
        self->scratch.count = kept + added;
    }
    return GLK_OK;
}

/* Joins all classes on the scratch top into one, by union or by intersection. */
static glk_status join_classes(glk_exprs *self, uint32_t base, bool intersect, glk_error *err) {
    uint32_t *items = GLK_VEC_U32(&self->scratch);
    glk_bytes set = intersect ? glk_bytes_all() : (glk_bytes){{0}};
    uint32_t kept = base, classes = 0, class_id = 0;
    for (uint32_t i = base; i < self->scratch.count; i++) {
        const glk_expr *e = glk_expr_at(self, items[i]);
        if (e->kind == GLK_CLASS) {
            set = intersect ? glk_bytes_and(set, e->first) : glk_bytes_or(set, e->first);
            class_id = items[i];
            classes++;
        } else {
            items[kept++] = items[i];
        }
    }
    self->scratch.count = kept;
    if (classes == 0) {
        return GLK_OK;
    }
    if (classes > 1) {
        GLK_TRY(glk_expr_class(self, &set, &class_id, err));
    }
    return glk_vec_push_u32(&self->scratch, class_id, err);
}

/* The counted repeat at the front of an or-branch: x{lo,hi} or x{lo,hi} rest. */
static const glk_expr *front_repeat(const glk_exprs *self, uint32_t item, uint32_t *rest) {
    const glk_expr *e = glk_expr_at(self, item);
    *rest = GLK_EXPR_EPSILON;
    if (e->kind == GLK_CAT) {
        *rest = e->b;
        e = glk_expr_at(self, e->a);
    }
    return e->kind == GLK_REP ? e : NULL;
}

/* x{a,b} r | x{c,d} r = x{min,max} r where the intervals touch.  Keeps (a|aa){0,1000} from having
 * 1000 branches.  Quadratic in the number of such branches, hence the cap. */
static glk_status merge_repeats(glk_exprs *self, uint32_t base, glk_error *err) {
    enum { FEW = 64 };
    if (self->scratch.count - base > FEW) {
        return GLK_OK;
    }
    for (uint32_t i = base; i < self->scratch.count; i++) {
        uint32_t rest, other_rest;
        const glk_expr *one = front_repeat(self, GLK_VEC_U32(&self->scratch)[i], &rest);
        for (uint32_t j = i + 1; one != NULL && j < self->scratch.count;) {
            const glk_expr *two =
                front_repeat(self, GLK_VEC_U32(&self->scratch)[j], &other_rest);
            if (two == NULL || two->a != one->a || other_rest != rest ||
                add_bounds(one->hi, 1) < two->lo || add_bounds(two->hi, 1) < one->lo) {
                j++;
                continue;
            }
            uint32_t merged;
            uint32_t hi = one->hi > two->hi ? one->hi : two->hi;
            GLK_TRY(glk_expr_rep(self, one->a, smaller(one->lo, two->lo), hi, &merged, err));
            GLK_TRY(glk_expr_cat(self, merged, rest, &merged, err));
            uint32_t *items = GLK_VEC_U32(&self->scratch);
            items[i] = merged;
            items[j] = items[--self->scratch.count];
            one = front_repeat(self, merged, &rest);
            j = i + 1;
        }
    }
    return GLK_OK;
}

/* Drops NEVER, and EPSILON beside another untagged nullable member; finds ANY. */
static bool drop_or_units(glk_exprs *self, uint32_t base) {
    uint32_t *items = GLK_VEC_U32(&self->scratch);
    bool nullable = false, any = false, tagged = false;
    for (uint32_t i = base; i < self->scratch.count; i++) {
        uint8_t flags = glk_expr_at(self, items[i])->flags;
        tagged = tagged || (flags & GLK_TAGGED) != 0;
        any = any || items[i] == GLK_EXPR_ANY;
        nullable = nullable || (items[i] != GLK_EXPR_EPSILON &&
                                (flags & (GLK_NULLABLE | GLK_TAGGED)) == GLK_NULLABLE);
    }
    uint32_t kept = base;
    for (uint32_t i = base; i < self->scratch.count; i++) {
        bool drop = items[i] == GLK_EXPR_NEVER || (items[i] == GLK_EXPR_EPSILON && nullable);
        if (!drop) {
            items[kept++] = items[i];
        }
    }
    self->scratch.count = kept;
    return any && !tagged;
}

/* Whether all members but one are complements of finite sets and that one is infinite: taking finitely
 * many texts from infinitely many leaves infinitely many.  Nearly every set of free keys is such. */
static bool and_is_infinite(const glk_exprs *self, const uint32_t *items, uint32_t count) {
    uint32_t others = 0;
    bool infinite = true;
    for (uint32_t i = 0; i < count; i++) {
        const glk_expr *e = glk_expr_at(self, items[i]);
        if (e->kind == GLK_NOT && (glk_expr_at(self, e->a)->flags & GLK_FINITE) != 0) {
            continue;
        }
        others++;
        infinite = (e->flags & GLK_INFINITE) != 0;
    }
    return others == 0 ? infinite_texts(self) != 0 : others == 1 && infinite;
}

/* What is known about how many sentences there are. */
static uint8_t size_flags(const glk_exprs *self, glk_expr_kind kind, const uint32_t *items,
                          uint32_t count) {
    uint8_t any = 0, all = GLK_FINITE;
    for (uint32_t i = 0; i < count; i++) {
        any |= glk_expr_at(self, items[i])->flags;
        all &= glk_expr_at(self, items[i])->flags;
    }
    if (kind == GLK_OR) {
        return (uint8_t)((any & GLK_INFINITE) | (all & GLK_FINITE));
    }
    uint8_t infinite = and_is_infinite(self, items, count) ? GLK_INFINITE : 0;
    return (uint8_t)((any & GLK_FINITE) | infinite);
}

static glk_status intern_list(glk_exprs *self, glk_expr_kind kind, uint32_t base, uint32_t *out,
                              glk_error *err) {
    const uint32_t *items = GLK_VEC_U32(&self->scratch) + base;
    uint32_t count = self->scratch.count - base;
    const glk_expr *head = glk_expr_at(self, items[0]);
    shape candidate = {.expr = {.kind = (uint8_t)kind, .b = count},
                       .list = items,
                       .count = count};
    glk_expr *e = &candidate.expr;
    e->first = head->first;
    uint8_t nullable = head->flags & GLK_NULLABLE;
    for (uint32_t i = 0; i < count; i++) {
        const glk_expr *m = glk_expr_at(self, items[i]);
        bool or_kind = kind == GLK_OR;
        e->first = or_kind ? glk_bytes_or(e->first, m->first) : glk_bytes_and(e->first, m->first);
        nullable = (uint8_t)(or_kind ? nullable | m->flags : nullable & m->flags) & GLK_NULLABLE;
        e->flags |= m->flags & (GLK_TAGGED | INHERITED);
        e->depth = (uint16_t)(m->depth + 1 > e->depth ? m->depth + 1 : e->depth);
        e->most = larger(e->most, m->most);
        e->shortest = i == 0     ? m->shortest
                      : or_kind ? smaller(e->shortest, m->shortest)
                                : larger(e->shortest, m->shortest);
    }
    e->flags |= nullable | size_flags(self, kind, items, count);
    if (kind == GLK_AND) {
        e->flags |= GLK_CHECKED;
        if (glk_bytes_empty(&e->first)) {
            *out = nullable != 0 ? GLK_EXPR_EPSILON : GLK_EXPR_NEVER;
            return GLK_OK;
        }
    }
    return intern(self, &candidate, out, err);
}

/* The or of what lies on the scratch stack from `base` on; pops it. */
glk_status glk_expr_or_scratch(glk_exprs *self, uint32_t base, uint32_t *out, glk_error *err) {
    if (self->scratch.count - base == 1) {
        *out = GLK_VEC_U32(&self->scratch)[base];
        self->scratch.count = base;
        return GLK_OK;
    }
    glk_status status = splice(self, base, GLK_OR, err);
    if (status == GLK_OK) {
        status = join_classes(self, base, false, err);
    }
    if (status == GLK_OK) {
        status = merge_repeats(self, base, err);
    }
    if (status == GLK_OK) {
        bool any = drop_or_units(self, base);
        uint32_t *items = GLK_VEC_U32(&self->scratch) + base;
        uint32_t count = glk_sort_unique(items, self->scratch.count - base);
        self->scratch.count = base + count;
        if (any) {
            *out = GLK_EXPR_ANY;
        } else if (count < 2) {
            *out = count == 0 ? GLK_EXPR_NEVER : items[0];
        } else {
            status = intern_list(self, GLK_OR, base, out, err);
        }
    }
    self->scratch.count = base;
    return status;
}

/* Whether the sorted members hold both x and not x, EPSILON beside others, or NEVER. */
static bool and_is_settled(glk_exprs *self, uint32_t base, uint32_t *out) {
    const uint32_t *items = GLK_VEC_U32(&self->scratch) + base;
    uint32_t count = self->scratch.count - base;
    if (count == 0 || items[0] == GLK_EXPR_NEVER) {
        *out = count == 0 ? GLK_EXPR_ANY : GLK_EXPR_NEVER;
        return true;
    }
    bool nullable = true;
    for (uint32_t i = 0; i < count; i++) {
        const glk_expr *e = glk_expr_at(self, items[i]);
        nullable = nullable && (e->flags & GLK_NULLABLE) != 0;
        for (uint32_t j = 0; e->kind == GLK_NOT && j < count; j++) {
            if (items[j] == e->a) {
                *out = GLK_EXPR_NEVER;
                return true;
            }
        }
    }
    if (items[0] == GLK_EXPR_EPSILON || count == 1) {
        *out = count == 1 ? items[0] : nullable ? GLK_EXPR_EPSILON : GLK_EXPR_NEVER;
        return true;
    }
    return false;
}

glk_status glk_expr_and_scratch(glk_exprs *self, uint32_t base, uint32_t *out, glk_error *err) {
    glk_status status = splice(self, base, GLK_AND, err);
    for (uint32_t i = base; status == GLK_OK && i < self->scratch.count; i++) {
        if ((glk_expr_at(self, GLK_VEC_U32(&self->scratch)[i])->flags & GLK_TAGGED) != 0) {
            status = glk_fail(err, GLK_ERR_ARGUMENT, "a tag cannot stand under an intersection");
        }
    }
    if (status == GLK_OK) {
        status = join_classes(self, base, true, err);
    }
    if (status == GLK_OK) {
        uint32_t *items = GLK_VEC_U32(&self->scratch) + base;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < self->scratch.count - base; i++) {
            if (items[i] != GLK_EXPR_ANY) {
                items[kept++] = items[i];
            }
        }
        self->scratch.count = base + glk_sort_unique(items, kept);
        if (!and_is_settled(self, base, out)) {
            status = intern_list(self, GLK_AND, base, out, err);
        }
    }
    self->scratch.count = base;
    return status;
}

static glk_status push_all(glk_exprs *self, const uint32_t *items, size_t count, glk_error *err) {
    if (count > UINT32_MAX / 4) {
        return glk_fail_memory(err);
    }
    GLK_TRY(glk_vec_reserve(&self->scratch, (uint32_t)count, err));
    if (count > 0) {
        memcpy(GLK_VEC_U32(&self->scratch) + self->scratch.count, items, count * sizeof *items);
        self->scratch.count += (uint32_t)count;
    }
    return GLK_OK;
}

glk_status glk_expr_or(glk_exprs *self, const uint32_t *items, size_t count, uint32_t *out,
                       glk_error *err) {
    uint32_t base = self->scratch.count;
    GLK_TRY(push_all(self, items, count, err));
    return glk_expr_or_scratch(self, base, out, err);
}

glk_status glk_expr_or2(glk_exprs *self, uint32_t a, uint32_t b, uint32_t *out, glk_error *err) {
    uint32_t items[2] = {a, b};
    return glk_expr_or(self, items, 2, out, err);
}

glk_status glk_expr_and(glk_exprs *self, const uint32_t *items, size_t count, uint32_t *out,
                        glk_error *err) {
    uint32_t base = self->scratch.count;
    GLK_TRY(push_all(self, items, count, err));
    return glk_expr_and_scratch(self, base, out, err);
}

/* ------------------------------------------------------------------ not, repeat */

glk_status glk_expr_not(glk_exprs *self, uint32_t item, uint32_t *out, glk_error *err) {
    const glk_expr *e = glk_expr_at(self, item);
    if ((e->flags & GLK_TAGGED) != 0) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "a tag cannot stand under a complement");
    }
    if (e->kind == GLK_NOT) {
        *out = e->a;
        return GLK_OK;
    }
    if (item == GLK_EXPR_NEVER) {
        *out = GLK_EXPR_ANY;
        return GLK_OK;
    }
    shape candidate = {.expr = {.kind = GLK_NOT,
                                .a = item,
                                .first = self->alphabet,
                                .depth = (uint16_t)(e->depth + 1),
                                .most = e->most,
                                .flags = GLK_CHECKED}};
    if ((e->flags & GLK_FINITE) != 0) {
        candidate.expr.flags |= infinite_texts(self);
    }
    if ((e->flags & GLK_NULLABLE) == 0) {
        candidate.expr.flags |= GLK_NULLABLE;
    } else {
        candidate.expr.shortest = 1;
    }
    return intern(self, &candidate, out, err);
}

/* The members of an or but EPSILON, or the item itself: (x?){lo,hi} = x{0,hi}. */
static glk_status without_epsilon_member(glk_exprs *self, uint32_t item, uint32_t *out,
                                         glk_error *err) {
    const glk_expr *e = glk_expr_at(self, item);
    *out = item;
    if (e->kind != GLK_OR || e->list[0] != GLK_EXPR_EPSILON) {
        return GLK_OK;
    }
    return glk_expr_or(self, e->list + 1, e->b - 1, out, err);
}

glk_status glk_expr_rep(glk_exprs *self, uint32_t item, uint32_t lo, uint32_t hi, uint32_t *out,
                        glk_error *err) {
    if (lo > hi) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "a repeat's lower bound is above its upper one");
    }
    if ((glk_expr_at(self, item)->flags & GLK_TAGGED) != 0) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "a tag cannot stand under a repeat");
    }
    if (item == GLK_EXPR_NEVER || item == GLK_EXPR_EPSILON || hi == 0) {
        *out = item == GLK_EXPR_NEVER && lo > 0 ? GLK_EXPR_NEVER : GLK_EXPR_EPSILON;
        return GLK_OK;
    }
    if (glk_expr_nullable(self, item)) {
        lo = 0;
        GLK_TRY(without_epsilon_member(self, item, &item, err));
    }
    const glk_expr *e = glk_expr_at(self, item);
    bool star = e->kind == GLK_REP && e->lo == 0 && e->hi == GLK_UNBOUNDED;
    if (star || item == GLK_EXPR_ANY || (lo == 1 && hi == 1)) {
        *out = item;
        return GLK_OK;
    }
    if (lo == 0 && hi == 1) {
        return glk_expr_or2(self, item, GLK_EXPR_EPSILON, out, err);
    }
    if (lo == 0 && hi == GLK_UNBOUNDED && e->kind == GLK_REP && e->lo <= 1) {
        item = e->a; /* (x{0|1,n})* = x* */
        e = glk_expr_at(self, item);
    }
    shape candidate = {.expr = {.kind = GLK_REP,
                                .a = item,
                                .lo = lo,
                                .hi = hi,
                                .first = e->first,
                                .depth = (uint16_t)(e->depth + 1),
                                .shortest = times(lo, e->shortest),
                                .most = e->most,
                                .flags = e->flags & INHERITED}};
    if (lo >= GLK_MANY) {
        candidate.expr.flags |= GLK_COUNTED;
    }
    if (lo == 0 || (e->flags & GLK_NULLABLE) != 0) {
        candidate.expr.flags |= GLK_NULLABLE;
    }
    bool writes = e->life == GLK_LIFE_ALIVE && ((e->flags & GLK_CHECKED) == 0 || e->shortest > 0);
    if (hi != GLK_UNBOUNDED) {
        candidate.expr.flags |= e->flags & GLK_FINITE;
    } else if (writes) {
        candidate.expr.flags |= GLK_INFINITE;
    }
    if (hi != GLK_UNBOUNDED) {
        candidate.expr.most = larger(e->most, times(hi, larger(e->shortest, 1)));
    }
    return intern(self, &candidate, out, err);
}

/* ------------------------------------------------------------------ references */

glk_status glk_exprs_new(uint64_t max_bytes, glk_exprs **out, glk_error *err) {
    void *memory;
    GLK_TRY(glk_alloc(NULL, sizeof(glk_exprs), &memory, err));
    glk_status status = glk_exprs_init(memory, "expression_bytes", max_bytes, NULL, err);
    if (status != GLK_OK) {
        glk_release(NULL, memory, sizeof(glk_exprs));
        return status;
    }
    *out = memory;
    return GLK_OK;
}

void glk_exprs_retain(glk_exprs *self) { atomic_fetch_add(&self->references, 1); }

void glk_exprs_release(glk_exprs *self) {
    if (self != NULL && atomic_fetch_sub(&self->references, 1) == 1) {
        glk_exprs_destroy(self);
        glk_release(NULL, self, sizeof *self);
    }
}

uint64_t glk_exprs_bytes(const glk_exprs *self) {
    return atomic_load_explicit(&self->account.used, memory_order_relaxed);
}
