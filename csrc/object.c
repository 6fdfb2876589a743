/* object.c -- see object.h. */
#include "object.h"

typedef struct glk_record {
    const uint32_t *words; /* node, index, seen, start, residual, there */
    uint8_t life;          /* glk_fate, of the obligations: whether they can be met */
} glk_record;

enum { HEAD = 4 };

#define RECORD_BIT 0x08000000u /* in the obligations: an id, not an index; they have 28 bits */

void glk_objects_init(glk_objects *self, glk_account *account) {
    self->account = account;
    glk_arena_init(&self->arena, account);
    glk_table_init(&self->records, account, sizeof(glk_record));
    glk_index_init(&self->index, account);
    glk_vec_init(&self->draft, account, sizeof(uint32_t));
}

void glk_objects_free(glk_objects *self) {
    glk_arena_free(&self->arena);
    glk_table_free(&self->records);
    glk_index_free(&self->index);
    glk_vec_free(&self->draft);
}

glk_object glk_object_view(const glk_code *code, uint32_t node) {
    const uint32_t *list = glk_code_list(code, glk_code_at(code, node)->b);
    glk_object object = {.container = glk_container_view(list), .node = node};
    object.first_name_label = GLK_LABEL_FREE + object.container.free;
    if (object.first_name_label < GLK_LABEL_NAMES) {
        object.first_name_label = GLK_LABEL_NAMES;
    }
    object.simple = object.container.formula_words == 0 && !glk_object_is_array(&object) &&
                    object.container.ordered == object.container.named;
    return object;
}

/* ------------------------------------------------------------------ records */

static bool has_bits(const glk_object *object) {
    return !glk_object_is_array(object) && object->container.ordered < object->container.named;
}

static uint32_t bits_at(const glk_object *object) {
    return HEAD + glk_formula_size(&object->container);
}

static uint32_t record_words(const glk_object *object) {
    uint32_t words = bits_at(object);
    return has_bits(object) ? words + (object->container.named + 31) / 32 : words;
}

static glk_record *record_at(const glk_objects *self, uint32_t state) {
    return glk_table_at(&self->records, state & ~RECORD_BIT);
}

/* The obligations of the draft. */
static glk_status intern(glk_objects *self, const glk_object *object, uint32_t *out,
                         glk_error *err) {
    const uint32_t *words = self->draft.data;
    uint32_t count = record_words(object), id = 0;
    if (object->simple && words[2] == 0 && words[3] == GLK_START_NONE) {
        *out = words[1];
        return GLK_OK;
    }
    uint32_t hash = glk_hash_u32s(words, count, 0);
    glk_probe probe = glk_probe_start(&self->index, hash);
    while (glk_probe_next(&self->index, &probe, &id)) {
        const uint32_t *known = record_at(self, id)->words;
        if (known[0] == words[0] && memcmp(known, words, count * sizeof *words) == 0) {
            *out = id | RECORD_BIT;
            return GLK_OK;
        }
    }
    void *memory;
    GLK_TRY(glk_index_reserve(&self->index, err));
    GLK_TRY(glk_arena_take(&self->arena, count * sizeof *words, &memory, err));
    memcpy(memory, words, count * sizeof *words);
    GLK_TRY(glk_table_add(&self->records, &id, err));
    if (id >= RECORD_BIT) {
        return glk_fail_memory(err);
    }
    *record_at(self, id) = (glk_record){.words = memory};
    (void)glk_index_add(&self->index, hash, id, err);
    *out = id | RECORD_BIT;
    return GLK_OK;
}

glk_obligations glk_object_read(const glk_objects *self, const glk_object *object,
                                uint32_t state) {
    if ((state & RECORD_BIT) == 0) {
        return (glk_obligations){.index = state, .start = GLK_START_NONE};
    }
    const uint32_t *words = record_at(self, state)->words;
    glk_obligations found = {.index = words[1], .seen = words[2], .start = words[3]};
    if (object->container.formula_words > 0) {
        found.residual = words + HEAD;
    }
    if (has_bits(object)) {
        found.there = words + bits_at(object);
    }
    return found;
}

/* Copies obligations into the draft. */
static glk_status draw(glk_objects *self, const glk_object *object, uint32_t state,
                       glk_error *err) {
    uint32_t count = record_words(object);
    self->draft.count = 0;
    GLK_TRY(glk_vec_reserve(&self->draft, count, err));
    uint32_t *words = self->draft.data;
    if ((state & RECORD_BIT) != 0) {
        memcpy(words, record_at(self, state)->words, count * sizeof *words);
        return GLK_OK;
    }
    memset(words, 0, count * sizeof *words);
    words[0] = object->node;
    words[1] = state;
    words[3] = GLK_START_NONE;
    return GLK_OK;
}

glk_status glk_object_start(glk_objects *self, const glk_object *object, uint32_t *out,
                            glk_error *err) {
    if (object->simple) {
        *out = 0;
        return GLK_OK;
    }
    GLK_TRY(draw(self, object, 0, err));
    GLK_TRY(glk_formula_start(&object->container, GLK_VEC_U32(&self->draft) + HEAD, err));
    return intern(self, object, out, err);
}

glk_status glk_object_mark(glk_objects *self, const glk_object *object, uint32_t state,
                           uint32_t seen, uint32_t start, uint32_t *out, glk_error *err) {
    GLK_TRY(draw(self, object, state, err));
    GLK_VEC_U32(&self->draft)[2] = seen;
    GLK_VEC_U32(&self->draft)[3] = start;
    return intern(self, object, out, err);
}

/* ------------------------------------------------------------------ order */

static bool is_there(const glk_obligations *now, uint32_t k) {
    return now->there != NULL && (now->there[k >> 5] >> (k & 31) & 1u) != 0;
}

/* The first required member of the declared order that is not passed, or the end of the order. */
static uint32_t barrier(const glk_object *object, const glk_obligations *now) {
    uint32_t k = now->index;
    while (k < object->container.ordered && !glk_class_required(&object->container, k)) {
        k++;
    }
    return k;
}

uint32_t glk_object_next(const glk_objects *self, const glk_object *object, uint32_t state,
                         uint32_t from) {
    const glk_container *container = &object->container;
    glk_obligations now = glk_object_read(self, object, state);
    uint32_t classes = glk_container_classes(container);
    if (glk_object_is_array(object)) {
        uint32_t k = now.index < container->named ? now.index : container->named;
        return k >= from && k < classes && glk_class_count(container, k) > 0 ? k : GLK_NONE;
    }
    if (from < now.index && from < container->ordered) {
        from = now.index;
    }
    /* A required member cannot be passed.  Members are asked for one by one, so that looking at the
     * one before is enough. */
    bool stopped = from > now.index && from < container->ordered &&
                   glk_class_required(container, from - 1);
    if (from >= container->ordered) {
        stopped = barrier(object, &now) < container->ordered;
    }
    for (uint32_t k = from; k < classes && !stopped; k++) {
        bool gone = k >= container->ordered && k < container->named && is_there(&now, k);
        if (!gone && glk_class_count(container, k) > 0) {
            return k;
        }
        stopped = k < container->ordered && glk_class_required(container, k);
    }
    return GLK_NONE;
}

/* ------------------------------------------------------------------ members */

static glk_status after(glk_objects *self, const glk_object *object, uint32_t state, uint32_t k,
                        uint32_t choice, uint32_t *out, glk_error *err) {
    const glk_container *container = &object->container;
    GLK_TRY(draw(self, object, state, err));
    uint32_t *words = self->draft.data;
    if (glk_object_is_array(object)) {
        words[1] += k < container->named;
    } else {
        words[1] = k < container->ordered ? k + 1 : container->ordered;
        if (k >= container->ordered && k < container->named) {
            words[bits_at(object) + (k >> 5)] |= 1u << (k & 31);
        }
    }
    GLK_TRY(glk_formula_step(container, words + HEAD, k, choice, 1, err));
    return intern(self, object, out, err);
}

/* Whether the obligations can be met.  Without a formula they can: the program has no required
 * member whose value fails. */
static glk_status is_alive(glk_objects *self, const glk_object *object, uint32_t state,
                           uint64_t *steps, bool *out, glk_error *err) {
    uint32_t size = glk_formula_size(&object->container);
    glk_obligations now = glk_object_read(self, object, state);
    *out = true;
    if (size == 0 || now.residual[size - 1] == GLK_F_TRUE) {
        return GLK_OK;
    }
    if (record_at(self, state)->life == GLK_FATE_UNKNOWN) {
        glk_outlook outlook = {
            .container = &object->container, .index = now.index, .seen = now.there};
        GLK_TRY(glk_formula_feasible(&outlook, now.residual, steps, out, err));
        record_at(self, state)->life = *out ? GLK_FATE_ALIVE : GLK_FATE_DEAD;
    }
    *out = record_at(self, state)->life == GLK_FATE_ALIVE;
    return GLK_OK;
}

/* Whether one of the turns from `base` on leads to the same with fewer conditions. */
static bool is_included(const glk_object *object, const glk_vec *turns, uint32_t base,
                        const uint32_t *choices, uint32_t choice, uint32_t state) {
    const glk_turn *known = (const glk_turn *)turns->data + base;
    uint32_t literals = glk_choice_literals(&object->container, choice);
    for (uint32_t i = 0; i < turns->count - base; i++) {
        uint32_t fewer = glk_choice_literals(&object->container, choices[i]);
        if (known[i].after == state && (fewer & literals) == fewer && fewer != literals) {
            return true;
        }
    }
    return false;
}

enum { MANY_CHOICES = 512 };

glk_status glk_object_turns(glk_objects *self, const glk_object *object, uint32_t state, uint32_t k,
                            uint64_t *steps, glk_vec *out, glk_error *err) {
    const glk_container *container = &object->container;
    uint32_t first = glk_class_first(container, k), count = glk_class_count(container, k);
    uint32_t base = out->count, taken[MANY_CHOICES];
    if (count > MANY_CHOICES) {
        return glk_fail_limit(err, "choices", count, MANY_CHOICES);
    }
    for (uint32_t i = 0; i < count; i++) { /* choices are listed from fewer to more literals */
        bool alive;
        glk_turn turn = {.value = glk_choice_value(container, first + i)};
        GLK_TRY(after(self, object, state, k, first + i, &turn.after, err));
        if (is_included(object, out, base, taken, first + i, turn.after)) {
            continue;
        }
        GLK_TRY(is_alive(self, object, turn.after, steps, &alive, err));
        if (alive) {
            taken[out->count - base] = first + i;
            GLK_TRY(glk_vec_push(out, &turn, err));
        }
    }
    return GLK_OK;
}

glk_status glk_object_may_close(const glk_objects *self, const glk_object *object, uint32_t state,
                                bool *out, glk_error *err) {
    const glk_container *container = &object->container;
    glk_obligations now = glk_object_read(self, object, state);
    *out = false;
    if (!glk_object_is_array(object)) {
        if (barrier(object, &now) < container->ordered) {
            return GLK_OK;
        }
        for (uint32_t k = container->ordered; k < container->named; k++) {
            if (glk_class_required(container, k) && !is_there(&now, k)) {
                return GLK_OK;
            }
        }
    }
    return glk_formula_closes(container, now.residual, out, err);
}

glk_status glk_object_may_go_on(glk_objects *self, const glk_object *object, uint32_t state,
                                uint64_t *steps, bool *out, glk_error *err) {
    *out = false;
    glk_vec turns;
    glk_vec_init(&turns, NULL, sizeof(glk_turn));
    glk_status status = GLK_OK;
    for (uint32_t k = glk_object_next(self, object, state, 0);
         k != GLK_NONE && !*out && status == GLK_OK;
         k = glk_object_next(self, object, state, k + 1)) {
        if (object->container.formula_words == 0) {
            *out = true;
        } else {
            status = glk_object_turns(self, object, state, k, steps, &turns, err);
            *out = turns.count > 0;
        }
    }
    glk_vec_free(&turns);
    return status;
}
