/* hash.h -- intern tables: open addressing over {hash32, id32}, contents kept by the caller.
 * Tested by tests/c/test_base.c.
 *
 * The table stores ids only; the caller compares contents through glk_index_find's loop:
 *
 *     for (glk_probe p = glk_probe_start(&index, hash); glk_probe_next(&index, &p, &id);)
 *         if (same(id, key)) return id;
 *     ... make a new id ...
 *     glk_index_add(&index, hash, id, err);
 *
 * Load factor at most 1/2; slots are 8 bytes, so a look-up is one cache line most of the time.
 * Used under the owner's lock.  Never shrinks.
 *
 * Near hashes  What is made at one time is mostly made of what was made just before, and numbered on.
 *              glk_hash_near puts it beside each other, so that a hundred new items are some ten cache
 *              lines and one page, not a hundred of both.  A place that is wanted by many is left
 *              after some steps for one that hangs on all bits of the hash; a loop
 *              that goes on may therefore meet an id twice.
 */
#ifndef GLK_HASH_H
#define GLK_HASH_H

#include "arena.h"

static inline uint64_t glk_mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 32);
}

static inline uint32_t glk_hash_u32s(const uint32_t *items, size_t count, uint64_t seed) {
    uint64_t hash = seed + count;
    for (size_t i = 0; i < count; i++) {
        hash = glk_mix(hash, items[i]);
    }
    return (uint32_t)(hash ^ (hash >> 29));
}

/* A hash near the id `near`: its low bits are those of 2 near (there are two slots for each id, or
 * more) and a few to keep those apart that are near the same one; the others are those of `hash`. */
static inline uint32_t glk_hash_near(uint32_t hash, uint32_t near) {
    enum { WINDOW = 32 };
    uint32_t place = 2 * near + hash % WINDOW;
    uint32_t bits = 32u - (uint32_t)__builtin_clz(2 * near + WINDOW);
    return bits < 32 ? (hash / WINDOW) << bits | place : place;
}

typedef struct glk_slot {
    uint32_t hash, id; /* id GLK_NONE: free */
} glk_slot;

typedef struct glk_index {
    glk_account *account;
    glk_slot *slots;
    uint32_t count, mask; /* mask = capacity - 1; 0 before the first add */
} glk_index;

typedef struct glk_probe {
    uint32_t hash, at;
    uint32_t left; /* steps until the place changes */
} glk_probe;

enum { GLK_PROBE_NEAR = 16 };

static inline void glk_index_init(glk_index *self, glk_account *account) {
    *self = (glk_index){.account = account};
}

static inline void glk_index_free(glk_index *self) {
    if (self->slots != NULL) {
        glk_release(self->account, self->slots, ((size_t)self->mask + 1) * sizeof(glk_slot));
    }
    glk_index_init(self, self->account);
}

static inline glk_probe glk_probe_start(const glk_index *self, uint32_t hash) {
    return (glk_probe){.hash = hash, .at = hash & self->mask, .left = GLK_PROBE_NEAR};
}

/* To the next slot where an item of this hash may be. */
static inline void glk_probe_step(glk_probe *self, uint32_t mask) {
    if (GLK_UNLIKELY(self->left-- == 0)) {
        self->at = (uint32_t)(glk_mix(0, self->hash)) & mask; /* once: `left` will not be 0 again */
    } else {
        self->at = (self->at + 1) & mask;
    }
}

static inline bool glk_probe_next(const glk_index *self, glk_probe *probe, uint32_t *id) {
    if (self->slots == NULL) {
        return false;
    }
    for (;;) {
        const glk_slot *slot = &self->slots[probe->at];
        if (slot->id == GLK_NONE) {
            return false;
        }
        glk_probe_step(probe, self->mask);
        if (slot->hash == probe->hash) {
            *id = slot->id;
            return true;
        }
    }
}

static inline void glk_index_place(glk_slot *slots, uint32_t mask, glk_slot item) {
    glk_probe probe = {.hash = item.hash, .at = item.hash & mask, .left = GLK_PROBE_NEAR};
    while (slots[probe.at].id != GLK_NONE) {
        glk_probe_step(&probe, mask);
    }
    slots[probe.at] = item;
}

static inline glk_status glk_index_grow(glk_index *self, glk_error *err) {
    uint64_t capacity = self->slots == NULL ? 16 : ((uint64_t)self->mask + 1) * 2;
    if (capacity > (uint64_t)1 << 31) {
        return glk_fail_memory(err);
    }
    void *memory = NULL;
    GLK_TRY(glk_resize(self->account, &memory, 0, (size_t)capacity * sizeof(glk_slot), err));
    glk_slot *slots = memory;
    uint32_t mask = (uint32_t)(capacity - 1);
    memset(slots, 0xFF, (size_t)capacity * sizeof(glk_slot));
    for (uint64_t i = 0; self->slots != NULL && i <= self->mask; i++) {
        if (self->slots[i].id != GLK_NONE) {
            glk_index_place(slots, mask, self->slots[i]);
        }
    }
    uint32_t count = self->count;
    glk_index_free(self);
    self->slots = slots;
    self->mask = mask;
    self->count = count;
    return GLK_OK;
}

/* Makes sure that the next glk_index_add cannot fail. */
static inline glk_status glk_index_reserve(glk_index *self, glk_error *err) {
    if (self->slots == NULL || (uint64_t)self->count * 2 >= self->mask) {
        return glk_index_grow(self, err);
    }
    return GLK_OK;
}

static inline glk_status glk_index_add(glk_index *self, uint32_t hash, uint32_t id,
                                       glk_error *err) {
    GLK_TRY(glk_index_reserve(self, err));
    glk_index_place(self->slots, self->mask, (glk_slot){.hash = hash, .id = id});
    self->count++;
    return GLK_OK;
}

#endif
