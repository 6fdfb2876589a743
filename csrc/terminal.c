/* terminal.c -- see terminal.h. */
#include "terminal.h"

#include "apart.h"

/* ------------------------------------------------------------------ registry */

static glk_status add_label_set(glk_terminals *self, const uint32_t *labels, uint32_t count,
                                uint32_t *out, glk_error *err) {
    void *copy;
    GLK_TRY(glk_arena_take(&self->arena, count * sizeof(uint32_t), &copy, err));
    if (count > 0) {
        memcpy(copy, labels, count * sizeof(uint32_t));
    }
    uint32_t id = 0;
    GLK_TRY(glk_table_add(&self->label_sets, &id, err));
    *(glk_label_set *)glk_table_at(&self->label_sets, id) =
        (glk_label_set){.labels = copy, .count = count};
    *out = id;
    return GLK_OK;
}

static void destroy(glk_terminals *self) {
    glk_exprs_destroy(&self->exprs);
    glk_arena_free(&self->arena);
    glk_table_free(&self->states);
    glk_table_free(&self->label_sets);
    glk_vec_free(&self->labels);
    glk_vec_free(&self->map);
    glk_vec_free(&self->tagged);
    glk_index_free(&self->tagged_index);
    glk_exprs_release(self->imported);
    (void)pthread_mutex_destroy(&self->lock);
    glk_release(NULL, self, sizeof *self);
}

static glk_status create(const glk_vocab *vocab, glk_terminals **out, glk_error *err) {
    void *memory;
    GLK_TRY(glk_alloc(NULL, sizeof(glk_terminals), &memory, err));
    glk_terminals *self = memory;
    glk_status status = glk_exprs_init(&self->exprs, "vocabulary_bytes", vocab->terminals_budget,
                                       &vocab->reachable, err);
    if (status != GLK_OK) {
        glk_release(NULL, self, sizeof *self);
        return status;
    }
    self->vocab = vocab;
    glk_account_init(&self->account, "vocabulary_bytes", vocab->terminals_budget);
    glk_arena_init(&self->arena, &self->account);
    glk_table_init(&self->states, &self->account, sizeof(glk_state));
    glk_table_init(&self->label_sets, &self->account, sizeof(glk_label_set));
    glk_vec_init(&self->labels, &self->account, sizeof(uint32_t));
    /* As long as the grammars' store, whatever is imported from it: not this registry's doing, so
     * not on its account. */
    glk_vec_init(&self->map, NULL, sizeof(uint32_t));
    glk_vec_init(&self->tagged, &self->account, sizeof(glk_tagged));
    glk_index_init(&self->tagged_index, &self->account);
    (void)pthread_mutex_init(&self->lock, NULL);
    atomic_init(&self->references, 1);
    uint32_t id;
    status = add_label_set(self, NULL, 0, &id, err);
    if (status == GLK_OK) {
        status = add_label_set(self, NULL, 0, &id, err);
    }
    if (status != GLK_OK) {
        destroy(self);
        return status;
    }
    *out = self;
    return GLK_OK;
}

uint64_t glk_terminals_bytes(const glk_terminals *self) {
    return atomic_load_explicit(&self->account.used, memory_order_relaxed) +
           atomic_load_explicit(&self->exprs.account.used, memory_order_relaxed);
}

glk_status glk_terminals_acquire(glk_vocab *vocab, glk_terminals **out, glk_error *err) {
    glk_status status = GLK_OK;
    (void)pthread_mutex_lock(&vocab->lock);
    glk_terminals *current = vocab->terminals;
    bool full = current != NULL && vocab->terminals_budget != 0 &&
                glk_terminals_bytes(current) > vocab->terminals_budget / 2;
    if (current == NULL || full) {
        glk_terminals *fresh;
        status = create(vocab, &fresh, err);
        if (status == GLK_OK) {
            glk_terminals_release(current);
            vocab->terminals = fresh;
        }
    }
    if (status == GLK_OK) {
        atomic_fetch_add(&vocab->terminals->references, 1);
        *out = vocab->terminals;
    }
    (void)pthread_mutex_unlock(&vocab->lock);
    return status;
}

void glk_terminals_release(glk_terminals *self) {
    if (self != NULL && atomic_fetch_sub(&self->references, 1) == 1) {
        destroy(self);
    }
}

/* ------------------------------------------------------------------ copies of a grammar's expressions */

/* Forgets what was copied from another store. */
static void import_from(glk_terminals *self, glk_exprs *from) {
    if (self->imported != from) {
        glk_exprs_retain(from);
        glk_exprs_release(self->imported);
        self->imported = from;
        self->map.count = 0;
        self->tagged.count = 0;
        glk_index_free(&self->tagged_index);
    }
}

glk_status glk_terminals_import(glk_terminals *self, glk_exprs *from, uint32_t expr, uint32_t *out,
                                glk_error *err) {
    import_from(self, from);
    uint32_t known = expr < self->map.count ? GLK_VEC_U32(&self->map)[expr] : GLK_NONE;
    if (known != GLK_NONE) { /* without the lock of `from` */
        *out = known;
        return GLK_OK;
    }
    (void)pthread_mutex_lock(&from->lock);
    glk_status status = glk_expr_import(&self->exprs, from, expr, &self->map, out, err);
    (void)pthread_mutex_unlock(&from->lock);
    return status;
}

static glk_status tag_of(glk_terminals *self, uint32_t label, uint32_t *out, glk_error *err) {
    if (label >= GLK_TAGS) {
        return glk_expr_tag(&self->exprs, label, out, err);
    }
    if (self->tags[label] == 0) {
        GLK_TRY(glk_expr_tag(&self->exprs, label, &self->tags[label], err));
    }
    *out = self->tags[label];
    return GLK_OK;
}

/* From the tail on, so that each part of a concatenation is linked once. */
static glk_status copy_tagged(glk_terminals *self, const glk_exprs *from, uint32_t expr,
                              uint32_t label, uint32_t *out, glk_error *err) {
    glk_vec *heads = &self->exprs.scratch;
    uint32_t base = heads->count, tag, tail, head;
    for (; glk_expr_at(from, expr)->kind == GLK_CAT; expr = glk_expr_at(from, expr)->b) {
        GLK_TRY(glk_vec_push_u32(heads, glk_expr_at(from, expr)->a, err));
    }
    GLK_TRY(glk_expr_import(&self->exprs, from, expr, &self->map, &tail, err));
    GLK_TRY(tag_of(self, label, &tag, err));
    GLK_TRY(glk_expr_cat(&self->exprs, tail, tag, &tail, err));
    for (uint32_t i = heads->count; i > base; i--) {
        GLK_TRY(glk_expr_import(&self->exprs, from, GLK_VEC_U32(heads)[i - 1], &self->map, &head,
                                err));
        GLK_TRY(glk_expr_cat(&self->exprs, head, tail, &tail, err));
    }
    *out = tail;
    return GLK_OK;
}

glk_status glk_terminals_import_tagged(glk_terminals *self, glk_exprs *from, uint32_t expr,
                                       uint32_t label, uint32_t *out, glk_error *err) {
    import_from(self, from);
    uint32_t pair[] = {expr, label}, id = 0, copy, base = self->exprs.scratch.count;
    uint32_t hash = glk_hash_near(glk_hash_u32s(pair, 2, 0), expr);
    for (glk_probe p = glk_probe_start(&self->tagged_index, hash);
         glk_probe_next(&self->tagged_index, &p, &id);) {
        const glk_tagged *known = (const glk_tagged *)self->tagged.data + id;
        if (known->key == expr && known->label == label) {
            *out = known->expr;
            return GLK_OK;
        }
    }
    (void)pthread_mutex_lock(&from->lock);
    glk_status status = copy_tagged(self, from, expr, label, &copy, err);
    (void)pthread_mutex_unlock(&from->lock);
    self->exprs.scratch.count = base;
    GLK_TRY(status);
    GLK_TRY(glk_index_reserve(&self->tagged_index, err));
    GLK_TRY(glk_vec_push(&self->tagged, &(glk_tagged){expr, label, copy}, err));
    (void)glk_index_add(&self->tagged_index, hash, self->tagged.count - 1, err);
    *out = copy;
    return GLK_OK;
}

glk_status glk_terminals_import_is_empty(glk_terminals *self, glk_exprs *from, uint32_t expr,
                                         uint64_t *steps, bool *out, glk_error *err) {
    glk_bytes all = glk_bytes_all();
    uint32_t copy;
    if (glk_bytes_equal(&self->exprs.alphabet, &all)) { /* nothing is cut */
        (void)pthread_mutex_lock(&from->lock);
        bool alive = glk_expr_at(from, expr)->life == GLK_LIFE_ALIVE;
        (void)pthread_mutex_unlock(&from->lock);
        if (alive) {
            *out = false;
            return GLK_OK;
        }
    }
    GLK_TRY(glk_terminals_import(self, from, expr, &copy, err));
    return glk_expr_is_empty_apart(&self->exprs, copy, GLK_SEARCH_NEAR, steps, out, err);
}

/* ------------------------------------------------------------------ states */

/* The label sets number a few dozen, so a linear search will do; most are NONE or PLAIN. */
static glk_status find_label_set(glk_terminals *self, uint32_t expr, uint32_t *out,
                                 glk_error *err) {
    const glk_expr *e = glk_expr_at(&self->exprs, expr);
    if ((e->flags & GLK_NULLABLE) == 0) {
        *out = GLK_LABELS_NONE;
        return GLK_OK;
    }
    if ((e->flags & GLK_TAGGED) == 0) {
        *out = GLK_LABELS_PLAIN;
        return GLK_OK;
    }
    self->labels.count = 0;
    GLK_TRY(glk_expr_labels(&self->exprs, expr, &self->labels, err));
    uint32_t *labels = GLK_VEC_U32(&self->labels);
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->labels.count; i++) { /* insertion sort, without duplicates */
        uint32_t label = labels[i], at = count;
        while (at > 0 && labels[at - 1] > label) {
            at--;
        }
        if (at == 0 || labels[at - 1] != label) {
            memmove(labels + at + 1, labels + at, (count - at) * sizeof *labels);
            labels[at] = label;
            count++;
        }
    }
    for (uint32_t id = GLK_LABELS_PLAIN + 1; id < self->label_sets.count; id++) {
        const glk_label_set *set = glk_label_set_at(self, id);
        if (set->count == count && memcmp(set->labels, labels, count * sizeof *labels) == 0) {
            *out = id;
            return GLK_OK;
        }
    }
    return add_label_set(self, labels, count, out, err);
}

glk_status glk_terminals_state(glk_terminals *self, uint32_t expr, uint32_t *out, glk_error *err) {
    glk_expr *e = glk_table_at(&self->exprs.exprs, expr);
    if (e->state != GLK_NONE) {
        *out = e->state;
        return GLK_OK;
    }
    uint32_t labels, id = 0;
    GLK_TRY(find_label_set(self, expr, &labels, err));
    GLK_TRY(glk_table_add(&self->states, &id, err));
    glk_state *state = glk_state_at(self, id);
    state->expr = expr;
    state->labels = labels;
    state->base = state->worst = GLK_NONE;
    e->state = id;
    *out = id;
    return GLK_OK;
}

/* ------------------------------------------------------------------ rows */

typedef struct sketch { /* a row while it is being built: targets by byte */
    uint32_t target[256];
    glk_bytes live;
} sketch;

/* The state after `byte`, or GLK_NONE. */
static glk_status step(glk_terminals *self, uint32_t expr, uint8_t byte, uint64_t *steps,
                       uint32_t *out, glk_error *err) {
    uint32_t next;
    bool empty;
    GLK_TRY(glk_expr_derive_within(&self->exprs, expr, byte, steps, &next, err));
    GLK_TRY(glk_expr_is_empty(&self->exprs, next, steps, &empty, err));
    if (empty) {
        *out = GLK_NONE;
        return GLK_OK;
    }
    return glk_terminals_state(self, next, out, err);
}

static void put(sketch *draft, uint8_t byte, uint32_t target) {
    draft->target[byte] = target;
    glk_bytes_add(&draft->live, byte);
}

static glk_status step_one(glk_terminals *self, uint32_t expr, uint8_t byte, uint64_t *steps,
                           sketch *draft, glk_error *err) {
    uint32_t target;
    GLK_TRY(step(self, expr, byte, steps, &target, err));
    if (target != GLK_NONE) {
        put(draft, byte, target);
    }
    return GLK_OK;
}

static uint8_t first_byte(const glk_bytes *bytes) {
    uint32_t word = 0;
    while (bytes->word[word] == 0) {
        word++;
    }
    return (uint8_t)(word * 64 + (uint32_t)__builtin_ctzll(bytes->word[word]));
}

/* Steps by every byte of `bytes`, one derivative a class. */
static glk_status step_all(glk_terminals *self, uint32_t expr, const glk_bytes *bytes,
                           uint64_t *steps, sketch *draft, glk_error *err) {
    if (glk_bytes_count(bytes) == 1) { /* literals: no need to find classes */
        return step_one(self, expr, first_byte(bytes), steps, draft, err);
    }
    uint8_t class_of[256];
    bool done[256] = {false};
    uint32_t target_of[256];
    uint32_t classes;
    GLK_TRY(glk_expr_partition_within(&self->exprs, expr, steps, class_of, &classes, err));
    for (uint32_t b = 0; b < 256; b++) {
        if (!glk_bytes_has(bytes, (uint8_t)b)) {
            continue;
        }
        uint8_t class = class_of[b];
        if (!done[class]) {
            GLK_TRY(step(self, expr, (uint8_t)b, steps, &target_of[class], err));
            done[class] = true;
        }
        if (target_of[class] != GLK_NONE) {
            put(draft, (uint8_t)b, target_of[class]);
        }
    }
    return GLK_OK;
}

static glk_status pack(glk_terminals *self, const sketch *draft, glk_row **out, glk_error *err) {
    uint32_t count = glk_bytes_count(&draft->live);
    void *memory;
    GLK_TRY(glk_arena_take(&self->arena, sizeof(glk_row) + count * sizeof(uint32_t), &memory, err));
    glk_row *row = memory;
    row->live = draft->live;
    row->count = count;
    uint32_t rank = 0;
    for (uint32_t word = 0; word < 4; word++) {
        row->before[word] = (uint8_t)rank;
        for (uint64_t bits = draft->live.word[word]; bits != 0; bits &= bits - 1) {
            uint32_t byte = word * 64 + (uint32_t)__builtin_ctzll(bits);
            atomic_init(&row->target[rank++], draft->target[byte]);
        }
    }
    *out = row;
    return GLK_OK;
}

/* The groups of ASCII whose every character leaves the state as it is. */
static uint8_t steady_groups(const glk_terminals *self, const sketch *draft, uint32_t state) {
    glk_bytes same = {{0}};
    for (uint32_t word = 0; word < 2; word++) {
        for (uint64_t bits = draft->live.word[word]; bits != 0; bits &= bits - 1) {
            uint32_t b = word * 64 + (uint32_t)__builtin_ctzll(bits);
            same.word[word] |= draft->target[b] == state ? bits & (0 - bits) : 0;
        }
    }
    if (glk_bytes_empty(&same)) { /* nearly always, and at once in a literal */
        return 0;
    }
    uint8_t groups = GLK_GROUPS_ASCII;
    for (uint32_t b = 0; b < 0x80; b++) {
        if (!glk_bytes_has(&same, (uint8_t)b) &&
            glk_bytes_has(&self->exprs.alphabet, (uint8_t)b)) {
            groups &= (uint8_t)~glk_group_of((uint8_t)b);
        }
    }
    return groups;
}

/* What may be read in any order: by the shape of the expression, or since it changes nothing. */
static glk_status find_groups(glk_terminals *self, uint32_t id, const sketch *draft, glk_row *row,
                              glk_error *err) {
    uint32_t reach;
    uint8_t shape, steady = steady_groups(self, draft, id);
    GLK_TRY(glk_expr_free_groups(&self->exprs, glk_state_at(self, id)->expr, &shape, &reach, err));
    bool by_shape = (steady & ~shape) == 0;
    row->groups = by_shape ? shape : steady;
    row->reach = by_shape ? reach : GLK_UNBOUNDED;
    return GLK_OK;
}

/* ------------------------------------------------------------------ bases */

static void copy_targets(const glk_row *from, const glk_bytes *except, sketch *draft) {
    uint32_t rank = 0;
    for (uint32_t word = 0; word < 4; word++) {
        for (uint64_t bits = from->live.word[word]; bits != 0; bits &= bits - 1, rank++) {
            uint8_t byte = (uint8_t)(word * 64 + (uint32_t)__builtin_ctzll(bits));
            if (!glk_bytes_has(except, byte)) {
                put(draft, byte, atomic_load_explicit(&from->target[rank], memory_order_relaxed));
            }
        }
    }
}

/* The state of `expr` if that is not empty and accepts as `state` does, else GLK_NONE. */
static glk_status base_state(glk_terminals *self, const glk_state *state, uint32_t expr,
                             uint64_t *steps, uint32_t *out, glk_error *err) {
    bool empty;
    *out = GLK_NONE;
    GLK_TRY(glk_expr_is_empty(&self->exprs, expr, steps, &empty, err));
    if (empty) {
        return GLK_OK;
    }
    uint32_t found;
    GLK_TRY(glk_terminals_state(self, expr, &found, err));
    *out = glk_state_at(self, found)->labels == state->labels ? found : GLK_NONE;
    return GLK_OK;
}

static glk_status find_few_bytes_base(glk_terminals *self, glk_state *state, uint64_t *steps,
                                      glk_error *err) {
    uint32_t base;
    glk_bytes differs;
    GLK_TRY(glk_expr_base(&self->exprs, state->expr, &base, &differs, err));
    if (base == state->expr) {
        return GLK_OK;
    }
    void *memory;
    GLK_TRY(glk_arena_take(&self->arena, sizeof differs, &memory, err));
    GLK_TRY(base_state(self, state, base, steps, &base, err));
    memcpy(memory, &differs, sizeof differs);
    if (base != GLK_NONE) {
        state->differs = memory;
        state->base = base;
    }
    return GLK_OK;
}

enum {
    REACH_FAR = 16,    /* repeats that are lifted alone, so that nearer ones stay exact in the base */
    REACH_NEAR = 8,    /* ... those that are lifted where there is no farther one */
    REACH_SIMPLE = 12, /* ... and where there is no and / not: whole walks are cheaper there */
    SURVEY_MOST = 128  /* a count that stays (in a complement) beyond this: too many states to survey */
};

/* A far base, if the state can surely finish whenever the base can, one byte on. */
static glk_status find_far_base(glk_terminals *self, glk_state *state, uint64_t *steps,
                                glk_error *err) {
    const glk_expr *e = glk_expr_at(&self->exprs, state->expr);
    bool checked = (e->flags & GLK_CHECKED) != 0;
    uint32_t reach = e->most >= REACH_FAR ? REACH_FAR : checked ? REACH_NEAR : REACH_SIMPLE;
    uint32_t longest = self->vocab->longest, bound, base, worst = 0;
    GLK_TRY(glk_expr_unbounded(&self->exprs, state->expr, reach, longest + 1, &base, &bound, err));
    if (base == state->expr || (checked && glk_expr_at(&self->exprs, base)->most > SURVEY_MOST)) {
        return GLK_OK;
    }
    GLK_TRY(base_state(self, state, base, steps, &base, err));
    if (base != GLK_NONE && checked) { /* most surveys would find that the bound is too near */
        GLK_TRY(glk_terminals_guess_worst(self, base, steps, &worst, err));
        if (worst < bound) {
            GLK_TRY(glk_terminals_worst(self, base, steps, &worst, err));
        }
    }
    if (base != GLK_NONE && worst < bound) {
        state->bound = bound - worst;
        state->base = base;
    }
    return GLK_OK;
}

static glk_status find_base(glk_terminals *self, glk_state *state, uint64_t *steps,
                            glk_error *err) {
    if (state->base != GLK_NONE) {
        return GLK_OK; /* found in an attempt that failed later */
    }
    GLK_TRY(find_far_base(self, state, steps, err));
    return state->base == GLK_NONE ? find_few_bytes_base(self, state, steps, err) : GLK_OK;
}

/* Bytes that surely live wait for somebody to ask for their target; *left are the others. */
static glk_status leave_sure(glk_terminals *self, uint32_t expr, glk_bytes *left, sketch *draft,
                             glk_error *err) {
    glk_bytes doubtful = {{0}};
    for (uint32_t word = 0; word < 4; word++) {
        for (uint64_t bits = left->word[word]; bits != 0; bits &= bits - 1) {
            uint8_t byte = (uint8_t)(word * 64 + (uint32_t)__builtin_ctzll(bits));
            bool sure;
            GLK_TRY(glk_expr_goes_on(&self->exprs, expr, byte, &sure, err));
            if (sure) {
                put(draft, byte, GLK_NONE);
            } else {
                glk_bytes_add(&doubtful, byte);
            }
        }
    }
    *left = doubtful;
    return GLK_OK;
}

static glk_status draft_row(glk_terminals *self, glk_state *state, uint64_t *steps, sketch *draft,
                            glk_error *err) {
    glk_bytes bytes = glk_expr_at(&self->exprs, state->expr)->first;
    bytes = glk_bytes_and(bytes, self->exprs.alphabet);
    draft->live = (glk_bytes){{0}};
    GLK_TRY(find_base(self, state, steps, err));
    if (state->base != GLK_NONE) {
        const glk_row *row;
        /* Bases of bases get simpler each time, so this ends after a few levels. */
        GLK_TRY(glk_terminals_build_row(self, state->base, steps, &row, err));
        if (state->differs == NULL) {
            draft->live = row->live;
            memset(draft->target, 0xFF, sizeof draft->target);
            return GLK_OK;
        }
        copy_targets(row, state->differs, draft);
        bytes = glk_bytes_and(bytes, *state->differs);
        GLK_TRY(leave_sure(self, state->expr, &bytes, draft, err));
    }
    return glk_bytes_empty(&bytes) ? GLK_OK
                                   : step_all(self, state->expr, &bytes, steps, draft, err);
}

glk_status glk_terminals_build_row(glk_terminals *self, uint32_t id, uint64_t *steps,
                                   const glk_row **out, glk_error *err) {
    glk_state *state = glk_state_at(self, id);
    glk_row *row = atomic_load_explicit(&state->row, memory_order_acquire);
    if (row == NULL) {
        sketch draft;
        uint32_t base = self->exprs.scratch.count;
        glk_status status = draft_row(self, state, steps, &draft, err);
        self->exprs.scratch.count = base;
        if (status == GLK_OK) {
            status = pack(self, &draft, &row, err);
        }
        GLK_TRY(status);
        GLK_TRY(find_groups(self, id, &draft, row, err));
        atomic_store_explicit(&state->row, row, memory_order_release);
    }
    *out = row;
    return GLK_OK;
}

glk_status glk_terminals_step(glk_terminals *self, uint32_t id, uint8_t byte, uint64_t *steps,
                              uint32_t *out, glk_error *err) {
    const glk_row *row;
    GLK_TRY(glk_terminals_build_row(self, id, steps, &row, err));
    uint32_t target = glk_row_target(row, byte);
    if (target == GLK_NONE) {
        uint32_t next, rank = glk_bytes_rank(&row->live, byte);
        uint32_t base = self->exprs.scratch.count;
        glk_status status = glk_expr_derive_within(
            &self->exprs, glk_state_at(self, id)->expr, byte, steps, &next, err);
        if (status == GLK_OK) { /* a live byte: the derivative is not empty, no need to search */
            ((glk_expr *)glk_table_at(&self->exprs.exprs, next))->life = GLK_LIFE_ALIVE;
            status = glk_terminals_state(self, next, &target, err);
        }
        self->exprs.scratch.count = base;
        GLK_TRY(status);
        glk_row *mine = atomic_load_explicit(&glk_state_at(self, id)->row, memory_order_relaxed);
        atomic_store_explicit(&mine->target[rank], target, memory_order_release);
    }
    *out = target;
    return GLK_OK;
}
