/* vec.h -- two growable arrays.  Tested by tests/c/test_base.c.
 *
 * glk_vec    contiguous, moves when it grows: scratch space and builder lists.
 * glk_table  items that never move: bucket k holds 8 << k items, so an index is two shifts and an
 *            add away from its address, and a reader without the lock may follow an id that was
 *            published to it.  Only the owner's lock holder appends.  What is not in use is not
 *            touched, and may be memory that was never written: many tables stay nearly empty.
 */
#ifndef GLK_VEC_H
#define GLK_VEC_H

#include "arena.h"

typedef struct glk_vec {
    glk_account *account;
    void *data;
    uint32_t count, capacity; /* in items */
    uint32_t item_bytes;
} glk_vec;

static inline void glk_vec_init(glk_vec *self, glk_account *account, size_t item_bytes) {
    *self = (glk_vec){.account = account, .item_bytes = (uint32_t)item_bytes};
}

static inline void glk_vec_free(glk_vec *self) {
    glk_release(self->account, self->data, (size_t)self->capacity * self->item_bytes);
    glk_vec_init(self, self->account, self->item_bytes);
}

/* Makes room for `extra` more items; contents are kept, `count` is unchanged. */
static inline glk_status glk_vec_reserve(glk_vec *self, uint32_t extra, glk_error *err) {
    uint64_t need = (uint64_t)self->count + extra;
    if (GLK_LIKELY(need <= self->capacity)) {
        return GLK_OK;
    }
    uint64_t capacity = self->capacity < 8 ? 8 : (uint64_t)self->capacity * 2;
    if (capacity < need) {
        capacity = need;
    }
    if (capacity >= UINT32_MAX) {
        return glk_fail_memory(err);
    }
    GLK_TRY(glk_resize(self->account, &self->data, (size_t)self->capacity * self->item_bytes,
                       (size_t)capacity * self->item_bytes, err));
    self->capacity = (uint32_t)capacity;
    return GLK_OK;
}

static inline glk_status glk_vec_push(glk_vec *self, const void *item, glk_error *err) {
    GLK_TRY(glk_vec_reserve(self, 1, err));
    memcpy((char *)self->data + (size_t)self->count * self->item_bytes, item, self->item_bytes);
    self->count++;
    return GLK_OK;
}

static inline glk_status glk_vec_push_u32(glk_vec *self, uint32_t item, glk_error *err) {
    assert(self->item_bytes == sizeof item);
    if (GLK_UNLIKELY(self->count == self->capacity)) {
        GLK_TRY(glk_vec_reserve(self, 1, err));
    }
    ((uint32_t *)self->data)[self->count++] = item;
    return GLK_OK;
}

#define GLK_VEC_U32(vec) ((uint32_t *)(vec)->data)

/* Sorts ids and drops repeats; returns how many are left.  Shell sort: lists are short or nearly
 * sorted, and this needs no memory and cannot fail. */
static inline uint32_t glk_sort_unique(uint32_t *items, uint32_t count) {
    uint32_t gap = 1, kept = 0;
    while (gap < count / 3) {
        gap = 3 * gap + 1;
    }
    for (; gap > 0; gap /= 3) {
        for (uint32_t i = gap; i < count; i++) {
            uint32_t item = items[i], j = i;
            for (; j >= gap && items[j - gap] > item; j -= gap) {
                items[j] = items[j - gap];
            }
            items[j] = item;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || items[kept - 1] != items[i]) {
            items[kept++] = items[i];
        }
    }
    return kept;
}

enum { GLK_TABLE_BUCKETS = 29, GLK_TABLE_FIRST = 8, GLK_TABLE_FIRST_LOG = 3 };

typedef struct glk_table {
    glk_account *account;
    uint32_t count;
    uint32_t item_bytes;
    void *buckets[GLK_TABLE_BUCKETS + 1]; /* up to a NULL */
} glk_table;

static inline void glk_table_init(glk_table *self, glk_account *account, size_t item_bytes) {
    self->account = account;
    self->count = 0;
    self->item_bytes = (uint32_t)item_bytes;
    self->buckets[0] = NULL;
}

static inline void glk_table_free(glk_table *self) {
    for (uint32_t k = 0; self->buckets[k] != NULL; k++) {
        glk_release(self->account, self->buckets[k],
                    ((size_t)GLK_TABLE_FIRST << k) * self->item_bytes);
    }
    glk_table_init(self, self->account, self->item_bytes);
}

static inline void *glk_table_at(const glk_table *self, uint32_t index) {
    uint32_t shifted = index + GLK_TABLE_FIRST;
    uint32_t bucket = 31u - (uint32_t)__builtin_clz(shifted) - GLK_TABLE_FIRST_LOG;
    uint32_t offset = shifted - ((uint32_t)GLK_TABLE_FIRST << bucket);
    return (char *)self->buckets[bucket] + (size_t)offset * self->item_bytes;
}

/* Appends one zeroed item; *out is its index. */
static inline glk_status glk_table_add(glk_table *self, uint32_t *out, glk_error *err) {
    uint32_t shifted = self->count + GLK_TABLE_FIRST;
    uint32_t bucket = 31u - (uint32_t)__builtin_clz(shifted) - GLK_TABLE_FIRST_LOG;
    if (bucket >= GLK_TABLE_BUCKETS) {
        return glk_fail_memory(err);
    }
    if (self->buckets[bucket] == NULL) {
        size_t bytes = ((size_t)GLK_TABLE_FIRST << bucket) * self->item_bytes;
        GLK_TRY(glk_alloc(self->account, bytes, &self->buckets[bucket], err));
        self->buckets[bucket + 1] = NULL;
    }
    *out = self->count++;
    return GLK_OK;
}

#endif
