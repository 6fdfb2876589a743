/* object.c -- see object.h. */
#include "object.h"

void glk_objects_init(glk_objects *self, glk_account *account) {
    self->account = account;
    glk_arena_init(&self->arena, account);
    glk_table_init(&self->sets, account, sizeof(const uint64_t *));
    glk_index_init(&self->index, account);
}

void glk_objects_free(glk_objects *self) {
    glk_arena_free(&self->arena);
    glk_table_free(&self->sets);
    glk_index_free(&self->index);
}

glk_object glk_object_view(const glk_code *code, uint32_t node) {
    const uint32_t *list = glk_code_list(code, glk_code_at(code, node)->b);
    glk_object object = {
        .member_count = list[0], .free_count = list[1], .any_order = list[2] == GLK_ORDER_ANY};
    object.members = list + 3;
    object.free = object.members + 3 * (size_t)object.member_count;
    object.first_name_label = GLK_LABEL_FREE + object.free_count;
    if (object.first_name_label < GLK_LABEL_NAMES) {
        object.first_name_label = GLK_LABEL_NAMES;
    }
    return object;
}

/* ------------------------------------------------------------------ sets of seen members */

static size_t set_words(const glk_object *object) { return ((size_t)object->member_count + 63) / 64; }

static const uint64_t *set_at(const glk_objects *self, uint32_t id) {
    return *(const uint64_t *const *)glk_table_at(&self->sets, id);
}

static bool has_seen(const glk_objects *self, uint32_t set, uint32_t member) {
    return (set_at(self, set)[member >> 6] >> (member & 63)) & 1u;
}

/* Sets of different objects never meet, since an id is used beside its object only; hashing the
 * node as well keeps those of equal content but different length apart. */
static glk_status intern_set(glk_objects *self, uint32_t node, const uint64_t *words, size_t count,
                             uint32_t *out, glk_error *err) {
    uint64_t mixed = glk_mix(node, count);
    for (size_t i = 0; i < count; i++) {
        mixed = glk_mix(mixed, words[i]);
    }
    uint32_t hash = (uint32_t)(mixed ^ (mixed >> 29)), id = 0;
    /* Each entry starts with its node, so that equality covers it. */
    glk_probe probe = glk_probe_start(&self->index, hash);
    while (glk_probe_next(&self->index, &probe, &id)) {
        const uint64_t *other = set_at(self, id);
        if (other[-1] == node && memcmp(other, words, count * sizeof *words) == 0) {
            *out = id;
            return GLK_OK;
        }
    }
    void *memory;
    GLK_TRY(glk_index_reserve(&self->index, err));
    GLK_TRY(glk_arena_take(&self->arena, (count + 1) * sizeof(uint64_t), &memory, err));
    uint64_t *copy = memory;
    copy[0] = node;
    if (count > 0) {
        memcpy(copy + 1, words, count * sizeof *words);
    }
    GLK_TRY(glk_table_add(&self->sets, &id, err));
    *(const uint64_t **)glk_table_at(&self->sets, id) = copy + 1;
    (void)glk_index_add(&self->index, hash, id, err);
    *out = id;
    return GLK_OK;
}

/* `from` (NULL: the empty set) with `member` (GLK_NONE: none) added. */
static glk_status extend_set(glk_objects *self, const glk_object *object, uint32_t node,
                             const uint64_t *from, uint32_t member, uint32_t *out,
                             glk_error *err) {
    size_t count = set_words(object), bytes = (count + 1) * sizeof(uint64_t);
    void *memory;
    GLK_TRY(glk_alloc(NULL, bytes, &memory, err));
    uint64_t *words = memory;
    if (from != NULL) {
        memcpy(words, from, count * sizeof *words);
    }
    if (member != GLK_NONE) {
        words[member >> 6] |= (uint64_t)1 << (member & 63);
    }
    glk_status status = intern_set(self, node, words, count, out, err);
    glk_release(NULL, memory, bytes);
    return status;
}

/* ------------------------------------------------------------------ obligations */

glk_status glk_object_start(glk_objects *self, const glk_object *object, uint32_t node,
                            uint32_t *out, glk_error *err) {
    if (object->any_order) {
        return extend_set(self, object, node, NULL, GLK_NONE, out, err);
    }
    *out = 0;
    return GLK_OK;
}

glk_status glk_object_after(glk_objects *self, const glk_object *object, uint32_t node,
                            uint32_t state, uint32_t label, uint32_t *out, glk_error *err) {
    bool named = label >= object->first_name_label;
    if (!object->any_order) {
        *out = named ? label - object->first_name_label + 1 : object->member_count;
        return GLK_OK;
    }
    if (!named) {
        *out = state;
        return GLK_OK;
    }
    return extend_set(self, object, node, set_at(self, state), label - object->first_name_label,
                      out, err);
}

uint32_t glk_object_next(const glk_objects *self, const glk_object *object, uint32_t state,
                         uint32_t from) {
    if (object->any_order) {
        while (from < object->member_count && has_seen(self, state, from)) {
            from++;
        }
    } else if (from < state) {
        from = state;
    } else if (from > state && glk_object_requires(object, from - 1)) {
        return GLK_NONE; /* a required member cannot be passed */
    }
    return from < object->member_count ? from : GLK_NONE;
}

bool glk_object_may_close(const glk_objects *self, const glk_object *object, uint32_t state) {
    for (uint32_t i = object->any_order ? 0 : state; i < object->member_count; i++) {
        if (glk_object_requires(object, i) && !(object->any_order && has_seen(self, state, i))) {
            return false;
        }
    }
    return true;
}

bool glk_object_allows_free(const glk_objects *self, const glk_object *object, uint32_t state) {
    return object->free_count > 0 &&
           (object->any_order || glk_object_may_close(self, object, state));
}

bool glk_object_may_go_on(const glk_objects *self, const glk_object *object, uint32_t state) {
    return glk_object_next(self, object, state, 0) != GLK_NONE ||
           glk_object_allows_free(self, object, state);
}
