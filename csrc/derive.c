/* derive.c -- what is computed from expressions: derivatives, byte classes, emptiness, simpler
 * expressions that agree nearly everywhere, copies into another store.  See expr.h.
 *
 * Derivatives after Brzozowski (1964), on canonical forms.  Recursion goes into heads and members
 * only, whose nesting GLK_EXPR_DEPTH bounds; right spines are walked in loops. */
#include "expr.h"
#include "trie.h"

/* ------------------------------------------------------------------ derivatives */

static glk_status derive_now(glk_exprs *self, uint32_t item, uint8_t byte, uint32_t *out,
                             glk_error *err);

glk_status glk_expr_derive(glk_exprs *self, uint32_t item, uint8_t byte, uint32_t *out,
                           glk_error *err) {
    const glk_expr *e = glk_expr_at(self, item);
    if (!glk_bytes_has(&e->first, byte)) {
        *out = GLK_EXPR_NEVER;
        return GLK_OK;
    }
    if (e->kind == GLK_CLASS) {
        *out = GLK_EXPR_EPSILON;
        return GLK_OK;
    }
    if (e->kind == GLK_CAT && glk_expr_at(self, e->a)->kind == GLK_CLASS) {
        *out = e->b; /* most derivatives are of literals; they leave the memo to others */
        return GLK_OK;
    }
    glk_derived *memo = glk_expr_memo(self, item, byte);
    if (memo->expr == item && memo->byte == byte && item > GLK_EXPR_ANY) {
        *out = memo->result;
        return GLK_OK;
    }
    uint32_t base = self->scratch.count;
    glk_status status = derive_now(self, item, byte, out, err);
    self->scratch.count = base;
    GLK_TRY(status);
    *memo = (glk_derived){.expr = item, .byte = byte, .result = *out};
    return GLK_OK;
}

/* Takes what was done since `before` off the budget. */
static glk_status spend(const glk_exprs *self, uint64_t before, uint64_t extra, uint64_t *steps,
                        glk_error *err) {
    uint64_t spent = extra + (self->work - before), allowed = *steps;
    if (spent > allowed) {
        *steps = 0;
        return glk_fail_limit(err, "steps", spent, allowed);
    }
    *steps -= spent;
    return GLK_OK;
}

glk_status glk_expr_derive_within(glk_exprs *self, uint32_t item, uint8_t byte, uint64_t *steps,
                                  uint32_t *out, glk_error *err) {
    uint64_t before = self->work;
    uint32_t result;
    if (*steps == 0) {
        return glk_fail_limit(err, "steps", 1, 0);
    }
    GLK_TRY(glk_expr_derive(self, item, byte, &result, err));
    GLK_TRY(spend(self, before, 1, steps, err));
    *out = result;
    return GLK_OK;
}

/* d(head tail) = d(head) tail | d(tail) if head is nullable, along the whole spine. */
static glk_status derive_cat(glk_exprs *self, uint32_t item, uint8_t byte, uint32_t *out,
                             glk_error *err) {
    uint32_t base = self->scratch.count;
    for (;; self->work++) {
        const glk_expr *e = glk_expr_at(self, item);
        uint32_t part;
        if (e->kind != GLK_CAT) {
            GLK_TRY(glk_expr_derive(self, item, byte, &part, err));
            GLK_TRY(glk_vec_push_u32(&self->scratch, part, err));
            break;
        }
        uint32_t head = e->a, tail = e->b;
        GLK_TRY(glk_expr_derive(self, head, byte, &part, err));
        GLK_TRY(glk_expr_cat(self, part, tail, &part, err));
        if (part != GLK_EXPR_NEVER) {
            GLK_TRY(glk_vec_push_u32(&self->scratch, part, err));
        }
        if (!glk_expr_nullable(self, head)) {
            break;
        }
        item = tail;
    }
    return glk_expr_or_scratch(self, base, out, err);
}

static glk_status derive_list(glk_exprs *self, const glk_expr *e, uint8_t byte, uint32_t *out,
                              glk_error *err) {
    uint32_t base = self->scratch.count;
    const uint32_t *list = e->list; /* arena memory: stays put */
    uint32_t count = e->b;
    bool is_or = e->kind == GLK_OR;
    self->work += count;
    for (uint32_t i = 0; i < count; i++) {
        if (is_or && !glk_bytes_has(&glk_expr_at(self, list[i])->first, byte)) {
            continue;
        }
        uint32_t part;
        GLK_TRY(glk_expr_derive(self, list[i], byte, &part, err));
        if (!is_or && part == GLK_EXPR_NEVER) {
            *out = GLK_EXPR_NEVER;
            return GLK_OK;
        }
        GLK_TRY(glk_vec_push_u32(&self->scratch, part, err));
    }
    return is_or ? glk_expr_or_scratch(self, base, out, err)
                 : glk_expr_and_scratch(self, base, out, err);
}

static glk_status derive_repeat(glk_exprs *self, const glk_expr *e, uint8_t byte, uint32_t *out,
                                glk_error *err) {
    uint32_t child = e->a;
    uint32_t lo = e->lo > 0 ? e->lo - 1 : 0;
    uint32_t hi = e->hi == GLK_UNBOUNDED ? GLK_UNBOUNDED : e->hi - 1;
    uint32_t head, rest;
    GLK_TRY(glk_expr_derive(self, child, byte, &head, err));
    GLK_TRY(glk_expr_rep(self, child, lo, hi, &rest, err));
    return glk_expr_cat(self, head, rest, out, err);
}

static glk_status derive_now(glk_exprs *self, uint32_t item, uint8_t byte, uint32_t *out,
                             glk_error *err) {
    const glk_expr *e = glk_expr_at(self, item);
    switch ((glk_expr_kind)e->kind) {
    case GLK_CAT:
        return derive_cat(self, item, byte, out, err);
    case GLK_OR:
    case GLK_AND:
        return derive_list(self, e, byte, out, err);
    case GLK_REP:
        return derive_repeat(self, e, byte, out, err);
    case GLK_NOT: {
        uint32_t child;
        GLK_TRY(glk_expr_derive(self, e->a, byte, &child, err));
        return glk_expr_not(self, child, out, err);
    }
    case GLK_CLASS:
        *out = GLK_EXPR_EPSILON;
        return GLK_OK;
    case GLK_NEVER:
    case GLK_EPSILON:
    case GLK_TAG:
        break;
    }
    *out = GLK_EXPR_NEVER;
    return GLK_OK;
}

glk_status glk_expr_labels(const glk_exprs *self, uint32_t item, glk_vec *labels, glk_error *err) {
    for (;;) {
        const glk_expr *e = glk_expr_at(self, item);
        if ((e->flags & (GLK_NULLABLE | GLK_TAGGED)) != (GLK_NULLABLE | GLK_TAGGED)) {
            return GLK_OK;
        }
        if (e->kind == GLK_TAG) {
            return glk_vec_push_u32(labels, e->a, err);
        }
        if (e->kind == GLK_CAT) {
            item = e->b; /* the head is untagged, and nullable since the whole is */
            continue;
        }
        assert(e->kind == GLK_OR);
        for (uint32_t i = 0; i < e->b; i++) {
            GLK_TRY(glk_expr_labels(self, e->list[i], labels, err));
        }
        return GLK_OK;
    }
}

/* ------------------------------------------------------------------ byte classes */

enum { MEMBERS_A_STEP = 8 }; /* bytes of a class that take as long as a step */

typedef struct partition {
    uint8_t *class_of;
    uint32_t *count;
    uint32_t stamp;     /* marks what was looked at: sequences of optional parts share their tails */
    uint16_t size[256]; /* bytes in a class */
} partition;

/* Splits every class that `set` cuts.  A set and its complement cut alike, so the smaller one is
 * looked at: for a single byte that is one step.  Returns how many bytes were looked at. */
static uint32_t refine(partition *self, glk_bytes set) {
    uint8_t members[256];
    uint16_t inside[256];
    uint8_t renamed[256];
    uint32_t found = 0;
    if (glk_bytes_count(&set) > 128) {
        for (int i = 0; i < 4; i++) {
            set.word[i] = ~set.word[i];
        }
    }
    for (uint32_t word = 0; word < 4; word++) {
        for (uint64_t bits = set.word[word]; bits != 0; bits &= bits - 1) {
            members[found++] = (uint8_t)(word * 64 + (uint32_t)__builtin_ctzll(bits));
        }
    }
    for (uint32_t i = 0; i < found; i++) {
        inside[self->class_of[members[i]]] = 0;
    }
    for (uint32_t i = 0; i < found; i++) {
        inside[self->class_of[members[i]]]++;
    }
    for (uint32_t i = 0; i < found; i++) {
        renamed[self->class_of[members[i]]] = 0; /* class 0 is never a new one */
    }
    for (uint32_t i = 0; i < found; i++) {
        uint8_t old = self->class_of[members[i]];
        if (renamed[old] == 0) {
            if (inside[old] == self->size[old]) {
                continue; /* the whole class: nothing to split */
            }
            renamed[old] = (uint8_t)(*self->count)++;
            self->size[renamed[old]] = inside[old];
            self->size[old] = (uint16_t)(self->size[old] - inside[old]);
        }
        self->class_of[members[i]] = renamed[old];
    }
    return found;
}

static void partition_into(glk_exprs *self, uint32_t item, partition *job) {
    for (;;) {
        glk_expr *e = glk_table_at(&self->exprs, item);
        if (e->mark == job->stamp) {
            return;
        }
        e->mark = job->stamp;
        self->work++;
        switch ((glk_expr_kind)e->kind) {
        case GLK_CLASS:
            self->work += refine(job, e->first) / MEMBERS_A_STEP;
            return;
        case GLK_CAT:
            partition_into(self, e->a, job);
            if (!glk_expr_nullable(self, e->a)) {
                return;
            }
            item = e->b;
            continue;
        case GLK_OR:
        case GLK_AND:
            for (uint32_t i = 0; i < e->b && *job->count < 256; i++) {
                partition_into(self, e->list[i], job);
            }
            return;
        case GLK_NOT:
        case GLK_REP:
            item = e->a;
            continue;
        case GLK_NEVER:
        case GLK_EPSILON:
        case GLK_TAG:
            return;
        }
    }
}

void glk_expr_partition(glk_exprs *self, uint32_t item, uint8_t class_of[256], uint32_t *count) {
    partition job = {.class_of = class_of, .count = count, .stamp = glk_expr_stamp(self)};
    memset(class_of, 0, 256);
    *count = 1;
    job.size[0] = 256;
    partition_into(self, item, &job);
}

glk_status glk_expr_partition_within(glk_exprs *self, uint32_t item, uint64_t *steps,
                                     uint8_t class_of[256], uint32_t *count, glk_error *err) {
    uint64_t before = self->work;
    glk_expr_partition(self, item, class_of, count);
    return spend(self, before, 0, steps, err);
}

/* ------------------------------------------------------------------ emptiness */

typedef struct visit { /* one expression on the search path */
    uint32_t expr;
    uint32_t next;         /* next class to try */
    uint32_t count;        /* classes */
    uint8_t sample[256];   /* a byte of each class that may begin a sentence */
} visit;

/* Those bytes first behind which the end may be nearest: the search heads for a short sentence, and does
 * not use up a count of 255 before it looks at what comes behind. */
static glk_status sort_samples(glk_exprs *self, uint64_t *steps, visit *of, glk_error *err) {
    uint32_t keys[256];
    for (uint32_t i = 0; i < of->count; i++) {
        uint8_t byte = of->sample[i];
        uint32_t next, at = i;
        GLK_TRY(glk_expr_derive_within(self, of->expr, byte, steps, &next, err));
        const glk_expr *e = glk_expr_at(self, next);
        uint32_t key = e->life == GLK_LIFE_ALIVE ? 0 : e->shortest;
        for (; at > 0 && keys[at - 1] > key; at--) {
            keys[at] = keys[at - 1];
            of->sample[at] = of->sample[at - 1];
        }
        keys[at] = key;
        of->sample[at] = byte;
    }
    return GLK_OK;
}

static glk_status open_visit(glk_exprs *self, uint32_t item, uint64_t *steps, visit *out,
                             glk_error *err) {
    uint8_t class_of[256];
    bool taken[256] = {false};
    uint32_t classes;
    GLK_TRY(glk_expr_partition_within(self, item, steps, class_of, &classes, err));
    *out = (visit){.expr = item};
    const glk_expr *e = glk_expr_at(self, item);
    glk_bytes live = glk_bytes_and(e->first, self->alphabet);
    for (uint32_t b = 0; b < 256; b++) {
        if (glk_bytes_has(&live, (uint8_t)b) && !taken[class_of[b]]) {
            taken[class_of[b]] = true;
            out->sample[out->count++] = (uint8_t)b;
        }
    }
    return sort_samples(self, steps, out, err);
}

static void mark(glk_exprs *self, uint32_t item, glk_life life) {
    ((glk_expr *)glk_table_at(&self->exprs, item))->life = (uint8_t)life;
}

/* Depth-first search for a nullable expression, the most promising byte first.  `seen` lists what was opened; if the search ends
 * without success all of that is dead, else everything on the path is alive.  What was opened, left
 * and is on neither side stays unknown. */
static glk_status search_life(glk_exprs *self, uint32_t item, uint64_t *steps, glk_vec *path,
                              glk_vec *seen, glk_index *index, bool *alive, glk_error *err) {
    uint32_t wanted = item;
    *alive = false;
    for (;;) {
        if (wanted != GLK_NONE) {
            visit opened;
            GLK_TRY(open_visit(self, wanted, steps, &opened, err));
            GLK_TRY(glk_vec_push(path, &opened, err));
            GLK_TRY(glk_vec_push_u32(seen, wanted, err));
            GLK_TRY(glk_index_add(index, wanted * 0x9E3779B1u, wanted, err));
            wanted = GLK_NONE;
        }
        if (path->count == 0) {
            return GLK_OK;
        }
        visit *top = (visit *)path->data + (path->count - 1);
        if (top->next == top->count) {
            path->count--;
            continue;
        }
        uint8_t byte = top->sample[top->next++];
        uint32_t next, found;
        GLK_TRY(glk_expr_derive_within(self, top->expr, byte, steps, &next, err));
        glk_life life = (glk_life)glk_expr_at(self, next)->life;
        if (life == GLK_LIFE_ALIVE) {
            *alive = true;
            return GLK_OK;
        }
        bool known = life == GLK_LIFE_DEAD;
        glk_probe probe = glk_probe_start(index, next * 0x9E3779B1u);
        while (!known && glk_probe_next(index, &probe, &found)) {
            known = found == next;
        }
        wanted = known ? GLK_NONE : next;
    }
}

glk_status glk_expr_is_empty(glk_exprs *self, uint32_t item, uint64_t *steps, bool *out,
                             glk_error *err) {
    glk_life life = (glk_life)glk_expr_at(self, item)->life;
    if (life != GLK_LIFE_UNKNOWN) {
        *out = life == GLK_LIFE_DEAD;
        return GLK_OK;
    }
    uint64_t allowed = *steps;
    glk_vec path, seen;
    glk_index index;
    glk_vec_init(&path, &self->account, sizeof(visit));
    glk_vec_init(&seen, &self->account, sizeof(uint32_t));
    glk_index_init(&index, &self->account);
    bool alive = false;
    glk_status status = search_life(self, item, steps, &path, &seen, &index, &alive, err);
    if (status == GLK_OK && alive) {
        for (uint32_t i = 0; i < path.count; i++) {
            mark(self, ((visit *)path.data)[i].expr, GLK_LIFE_ALIVE);
        }
    } else if (status == GLK_OK) {
        for (uint32_t i = 0; i < seen.count; i++) {
            mark(self, GLK_VEC_U32(&seen)[i], GLK_LIFE_DEAD);
        }
    } else if (status == GLK_ERR_LIMIT && *steps == 0) {
        status = glk_fail_limit(err, "steps", allowed + 1, allowed);
    }
    glk_vec_free(&path);
    glk_vec_free(&seen);
    glk_index_free(&index);
    if (status == GLK_OK) {
        *out = !alive;
    }
    return status;
}

/* Whether an and surely has sentences that begin with `byte`: finitely many are taken from the infinitely
 * many that the one member other than complements has. */
static glk_status and_goes_on(glk_exprs *self, const glk_expr *e, uint8_t byte, bool *out,
                              glk_error *err) {
    uint32_t others = 0, rest = GLK_EXPR_ANY;
    for (uint32_t i = 0; i < e->b; i++) {
        const glk_expr *m = glk_expr_at(self, e->list[i]);
        if (m->kind != GLK_NOT || (glk_expr_at(self, m->a)->flags & GLK_FINITE) == 0) {
            others++;
            rest = e->list[i];
        }
    }
    if (others <= 1) {
        GLK_TRY(glk_expr_derive(self, rest, byte, &rest, err));
        *out = (glk_expr_at(self, rest)->flags & GLK_INFINITE) != 0;
    }
    return GLK_OK;
}

glk_status glk_expr_goes_on(glk_exprs *self, uint32_t item, uint8_t byte, bool *out,
                            glk_error *err) {
    *out = false;
    for (;;) { /* along the right spine */
        const glk_expr *e = glk_expr_at(self, item);
        if (!glk_bytes_has(&e->first, byte)) {
            return GLK_OK;
        }
        if ((e->flags & GLK_CHECKED) == 0) {
            *out = true;
            return GLK_OK;
        }
        if (e->kind == GLK_AND) {
            return and_goes_on(self, e, byte, out, err);
        }
        for (uint32_t i = 0; e->kind == GLK_OR && i < e->b && !*out; i++) {
            GLK_TRY(glk_expr_goes_on(self, e->list[i], byte, out, err));
        }
        if (e->kind != GLK_CAT || glk_expr_at(self, e->b)->life != GLK_LIFE_ALIVE) {
            return GLK_OK;
        }
        GLK_TRY(glk_expr_goes_on(self, e->a, byte, out, err));
        if (*out || !glk_expr_nullable(self, e->a)) {
            return GLK_OK;
        }
        item = e->b;
    }
}

/* ------------------------------------------------------------------ simpler relatives */

enum { FEW_BYTES = 48, MANY_BYTES = 64, SHARED_FROM = 4 };

static bool has_few_first(const glk_exprs *self, uint32_t item) {
    return glk_bytes_count(&glk_expr_at(self, item)->first) <= FEW_BYTES;
}

static glk_status base_of_list(glk_exprs *self, const glk_expr *e, uint32_t *out,
                               glk_bytes *differs, glk_error *err) {
    uint32_t base = self->scratch.count;
    bool is_or = e->kind == GLK_OR;
    const uint32_t *list = e->list;
    uint32_t count = e->b;
    glk_bytes dropped = {{0}};
    for (uint32_t i = 0; i < count; i++) {
        const glk_expr *m = glk_expr_at(self, list[i]);
        uint32_t kept = list[i];
        if (is_or && (m->flags & GLK_NULLABLE) == 0 && has_few_first(self, kept)) {
            dropped = glk_bytes_or(dropped, m->first);
            continue;
        }
        if (!is_or && m->kind == GLK_NOT && has_few_first(self, m->a)) {
            dropped = glk_bytes_or(dropped, glk_expr_at(self, m->a)->first);
            continue;
        }
        glk_bytes inner = {{0}};
        GLK_TRY(glk_expr_base(self, kept, &kept, &inner, err));
        dropped = glk_bytes_or(dropped, inner);
        GLK_TRY(glk_vec_push_u32(&self->scratch, kept, err));
    }
    if (glk_bytes_empty(&dropped) || self->scratch.count == base) {
        self->scratch.count = base;
        return GLK_OK;
    }
    *differs = dropped;
    return is_or ? glk_expr_or_scratch(self, base, out, err)
                 : glk_expr_and_scratch(self, base, out, err);
}

/* The head's base, if it has one.  Where that matches the empty string and the head does not (or the
 * other way round: a name that must not end here), what the tail begins with differs as well. */
static glk_status base_of_cat(glk_exprs *self, uint32_t item, uint32_t *out, glk_bytes *differs,
                              glk_error *err) {
    uint32_t head = glk_expr_at(self, item)->a, tail = glk_expr_at(self, item)->b, simpler;
    glk_bytes changed;
    GLK_TRY(glk_expr_base(self, head, &simpler, &changed, err));
    if (simpler == head) {
        return GLK_OK;
    }
    if (glk_expr_nullable(self, simpler) != glk_expr_nullable(self, head)) {
        if (!has_few_first(self, tail)) {
            return GLK_OK;
        }
        changed = glk_bytes_or(changed, glk_expr_at(self, tail)->first);
    }
    *differs = changed;
    return glk_expr_cat(self, simpler, tail, out, err);
}

glk_status glk_expr_base(glk_exprs *self, uint32_t item, uint32_t *out, glk_bytes *differs,
                         glk_error *err) {
    const glk_expr *e = glk_expr_at(self, item);
    *out = item;
    *differs = (glk_bytes){{0}};
    if (glk_bytes_count(&e->first) < MANY_BYTES) {
        return GLK_OK;
    }
    if (e->kind == GLK_OR || e->kind == GLK_AND) {
        return base_of_list(self, e, out, differs, err);
    }
    return e->kind == GLK_CAT ? base_of_cat(self, item, out, differs, err) : GLK_OK;
}

typedef struct lift { /* see glk_expr_unbounded */
    uint32_t reach, cut, bound;
} lift;

static glk_status lift_any(glk_exprs *self, uint32_t item, lift *job, uint32_t *out,
                           glk_error *err);

static glk_status lift_list(glk_exprs *self, const glk_expr *e, lift *job, uint32_t *out,
                            glk_error *err) {
    uint32_t base = self->scratch.count;
    for (uint32_t i = 0; i < e->b; i++) {
        uint32_t member;
        GLK_TRY(lift_any(self, e->list[i], job, &member, err));
        GLK_TRY(glk_vec_push_u32(&self->scratch, member, err));
    }
    return e->kind == GLK_OR ? glk_expr_or_scratch(self, base, out, err)
                             : glk_expr_and_scratch(self, base, out, err);
}

static glk_status lift_cat(glk_exprs *self, uint32_t item, lift *job, uint32_t *out,
                           glk_error *err) {
    uint32_t base = self->scratch.count;
    while (glk_expr_at(self, item)->kind == GLK_CAT) {
        uint32_t part;
        GLK_TRY(lift_any(self, glk_expr_at(self, item)->a, job, &part, err));
        GLK_TRY(glk_vec_push_u32(&self->scratch, part, err));
        item = glk_expr_at(self, item)->b;
    }
    uint32_t result;
    GLK_TRY(lift_any(self, item, job, &result, err));
    while (self->scratch.count > base) {
        self->scratch.count--;
        uint32_t part = GLK_VEC_U32(&self->scratch)[self->scratch.count];
        GLK_TRY(glk_expr_cat(self, part, result, &result, err));
    }
    *out = result;
    return GLK_OK;
}

static glk_status lift_repeat(glk_exprs *self, const glk_expr *e, lift *job, uint32_t *out,
                              glk_error *err) {
    uint32_t lo = e->lo < job->cut ? e->lo : job->cut, hi = e->hi, child;
    uint32_t shortest = glk_expr_at(self, e->a)->shortest;
    uint64_t reach = (uint64_t)hi * (shortest > 0 ? shortest : 1);
    /* A lower bound that is far cannot be met within its number of bytes: it may as well be
     * farther.  (With and / not it might be that nothing so long exists, so not there.) */
    if (job->cut != GLK_UNBOUNDED && e->lo >= GLK_MANY && e->lo < job->cut) {
        job->bound = e->lo - 1 < job->bound ? e->lo - 1 : job->bound;
        lo = job->cut;
        hi = GLK_UNBOUNDED;
    }
    /* After a low lower bound is met all counts share one lifted expression; with a middling one
     * each count would have its own, and nothing would be gained. */
    bool shares = e->lo <= SHARED_FROM || e->lo > job->cut;
    if (hi != GLK_UNBOUNDED && reach >= job->reach && shares) {
        job->bound = reach < job->bound ? (uint32_t)reach : job->bound;
        hi = GLK_UNBOUNDED;
    }
    GLK_TRY(lift_any(self, e->a, job, &child, err));
    return glk_expr_rep(self, child, lo < hi ? lo : hi, hi, out, err);
}

static glk_status lift_any(glk_exprs *self, uint32_t item, lift *job, uint32_t *out,
                           glk_error *err) {
    const glk_expr *e = glk_expr_at(self, item);
    *out = item;
    if (e->most < job->reach &&
        (job->cut == GLK_UNBOUNDED || (e->flags & GLK_COUNTED) == 0)) {
        return GLK_OK; /* nothing to lift inside */
    }
    switch ((glk_expr_kind)e->kind) {
    case GLK_CAT:
        return lift_cat(self, item, job, out, err);
    case GLK_OR:
    case GLK_AND:
        return lift_list(self, e, job, out, err);
    case GLK_REP:
        return lift_repeat(self, e, job, out, err);
    default:
        return GLK_OK;
    }
}

glk_status glk_expr_unbounded(glk_exprs *self, uint32_t item, uint32_t reach, uint32_t cut,
                              uint32_t *out, uint32_t *bound, glk_error *err) {
    const glk_expr *e = glk_expr_at(self, item);
    bool checked = (e->flags & GLK_CHECKED) != 0;
    lift job = {.reach = reach, .cut = checked ? GLK_UNBOUNDED : cut, .bound = GLK_UNBOUNDED};
    *out = item;
    *bound = GLK_UNBOUNDED;
    bool counted = !checked && (e->flags & GLK_COUNTED) != 0;
    if (e->most >= reach || (counted && e->shortest >= GLK_MANY)) {
        GLK_TRY(lift_any(self, item, &job, out, err));
        *bound = job.bound;
    }
    return GLK_OK;
}

/* ------------------------------------------------------------------ copies */

static uint32_t mapped(const glk_vec *map, uint32_t item) {
    return item < map->count ? GLK_VEC_U32(map)[item] : GLK_NONE;
}

static glk_status grow_map(glk_vec *map, uint32_t count, glk_error *err) {
    if (count > map->count) {
        GLK_TRY(glk_vec_reserve(map, count - map->count, err));
        memset(GLK_VEC_U32(map) + map->count, 0xFF, (count - map->count) * sizeof(uint32_t));
        map->count = count;
    }
    return GLK_OK;
}

/* Pushes the children that are not copied yet. */
static glk_status push_missing(const glk_expr *e, const glk_vec *map, glk_vec *todo,
                               glk_error *err) {
    switch ((glk_expr_kind)e->kind) {
    case GLK_CAT:
        if (mapped(map, e->b) == GLK_NONE) {
            GLK_TRY(glk_vec_push_u32(todo, e->b, err));
        }
        /* fall through */
    case GLK_NOT:
    case GLK_REP:
        return mapped(map, e->a) == GLK_NONE ? glk_vec_push_u32(todo, e->a, err) : GLK_OK;
    case GLK_OR:
    case GLK_AND:
        for (uint32_t i = 0; i < e->b; i++) {
            if (mapped(map, e->list[i]) == GLK_NONE) {
                GLK_TRY(glk_vec_push_u32(todo, e->list[i], err));
            }
        }
        return GLK_OK;
    default:
        return GLK_OK;
    }
}

static glk_status copy_one(glk_exprs *self, const glk_expr *e, const glk_vec *map, uint32_t *out,
                           glk_error *err) {
    uint32_t base = self->scratch.count;
    switch ((glk_expr_kind)e->kind) {
    case GLK_NEVER:
    case GLK_EPSILON:
        *out = e->kind == GLK_NEVER ? GLK_EXPR_NEVER : GLK_EXPR_EPSILON;
        return GLK_OK;
    case GLK_CLASS:
        return glk_expr_class(self, &e->first, out, err);
    case GLK_TAG:
        return glk_expr_tag(self, e->a, out, err);
    case GLK_CAT:
        return glk_expr_cat(self, mapped(map, e->a), mapped(map, e->b), out, err);
    case GLK_NOT:
        return glk_expr_not(self, mapped(map, e->a), out, err);
    case GLK_REP:
        return glk_expr_rep(self, mapped(map, e->a), e->lo, e->hi, out, err);
    case GLK_OR:
    case GLK_AND:
        break;
    }
    for (uint32_t i = 0; i < e->b; i++) {
        GLK_TRY(glk_vec_push_u32(&self->scratch, mapped(map, e->list[i]), err));
    }
    return e->kind == GLK_OR ? glk_expr_or_scratch(self, base, out, err)
                             : glk_expr_and_scratch(self, base, out, err);
}

static glk_status import_all(glk_exprs *self, const glk_exprs *from, glk_vec *map, glk_vec *todo,
                             glk_error *err) {
    while (todo->count > 0) {
        uint32_t item = GLK_VEC_U32(todo)[todo->count - 1];
        if (mapped(map, item) != GLK_NONE) {
            todo->count--;
            continue;
        }
        const glk_expr *e = glk_expr_at(from, item);
        uint32_t before = todo->count;
        GLK_TRY(push_missing(e, map, todo, err));
        if (todo->count == before) {
            uint32_t copy;
            GLK_TRY(copy_one(self, e, map, &copy, err));
            GLK_VEC_U32(map)[item] = copy;
            todo->count--;
        }
    }
    return GLK_OK;
}

glk_status glk_expr_import(glk_exprs *self, const glk_exprs *from, uint32_t item, glk_vec *map,
                           uint32_t *out, glk_error *err) {
    GLK_TRY(grow_map(map, item + 1, err));
    if (mapped(map, item) == GLK_NONE) {
        glk_vec todo;
        glk_vec_init(&todo, &self->account, sizeof(uint32_t));
        uint32_t base = self->scratch.count;
        glk_status status = glk_vec_push_u32(&todo, item, err);
        if (status == GLK_OK) {
            status = import_all(self, from, map, &todo, err);
        }
        self->scratch.count = base;
        glk_vec_free(&todo);
        GLK_TRY(status);
    }
    *out = mapped(map, item);
    return GLK_OK;
}
