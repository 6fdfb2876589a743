/* arena.c -- see arena.h.  Blocks are kept in a list and freed whole; nothing here moves memory
 * that was handed out. */
#include "arena.h"

#include <stdlib.h>

struct glk_block {
    glk_block *older;
    size_t bytes; /* of the whole allocation, header included */
};

enum { FIRST_BLOCK = 1 << 12, LARGEST_BLOCK = 1 << 20 };

static _Atomic int64_t fail_countdown = -1;

void glk_alloc_fail_after(int64_t count) { atomic_store(&fail_countdown, count); }

static bool injected_failure(void) {
    if (GLK_LIKELY(atomic_load_explicit(&fail_countdown, memory_order_relaxed) < 0)) {
        return false;
    }
    return atomic_fetch_sub(&fail_countdown, 1) <= 0;
}

void glk_account_init(glk_account *self, const char *name, uint64_t limit) {
    atomic_init(&self->used, 0);
    self->limit = limit;
    self->name = name;
}

glk_status glk_alloc(glk_account *account, size_t bytes, void **out, glk_error *err) {
    if (account != NULL && account->limit != 0) {
        uint64_t asked = atomic_load_explicit(&account->used, memory_order_relaxed) + bytes;
        if (asked > account->limit) {
            return glk_fail_limit(err, account->name, asked, account->limit);
        }
    }
    void *memory = injected_failure() ? NULL : calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        return glk_fail_memory(err);
    }
    if (account != NULL) {
        atomic_fetch_add_explicit(&account->used, bytes, memory_order_relaxed);
    }
    *out = memory;
    return GLK_OK;
}

void glk_release(glk_account *account, void *memory, size_t bytes) {
    if (memory == NULL) {
        return;
    }
    if (account != NULL) {
        atomic_fetch_sub_explicit(&account->used, bytes, memory_order_relaxed);
    }
    free(memory);
}

glk_status glk_resize(glk_account *account, void **memory, size_t old_bytes, size_t bytes,
                      glk_error *err) {
    if (account != NULL && account->limit != 0 && bytes > old_bytes) {
        uint64_t asked =
            atomic_load_explicit(&account->used, memory_order_relaxed) + (bytes - old_bytes);
        if (asked > account->limit) {
            return glk_fail_limit(err, account->name, asked, account->limit);
        }
    }
    void *moved = injected_failure() ? NULL : realloc(*memory, bytes > 0 ? bytes : 1);
    if (moved == NULL) {
        return glk_fail_memory(err);
    }
    if (account != NULL) {
        atomic_fetch_add_explicit(&account->used, bytes, memory_order_relaxed);
        atomic_fetch_sub_explicit(&account->used, old_bytes, memory_order_relaxed);
    }
    *memory = moved;
    return GLK_OK;
}

void glk_arena_init(glk_arena *self, glk_account *account) {
    *self = (glk_arena){.account = account, .block_bytes = FIRST_BLOCK};
}

void glk_arena_free(glk_arena *self) {
    glk_block *block = self->blocks;
    while (block != NULL) {
        glk_block *older = block->older;
        glk_release(self->account, block, block->bytes);
        block = older;
    }
    glk_arena_init(self, self->account);
}

static glk_status add_block(glk_arena *self, size_t bytes, glk_error *err) {
    size_t size = self->block_bytes;
    while (size < bytes + sizeof(glk_block)) {
        size *= 2;
    }
    void *memory = NULL;
    GLK_TRY(glk_resize(self->account, &memory, 0, size, err)); /* glk_alloc would write all of it */
    glk_block *block = memory;
    block->older = self->blocks;
    block->bytes = size;
    self->blocks = block;
    self->next = (uint8_t *)memory + sizeof(glk_block);
    self->end = (uint8_t *)memory + size;
    if (self->block_bytes < LARGEST_BLOCK) {
        self->block_bytes *= 2;
    }
    return GLK_OK;
}

glk_status glk_arena_take(glk_arena *self, size_t bytes, void **out, glk_error *err) {
    if (bytes > SIZE_MAX / 4) {
        return glk_fail_memory(err);
    }
    bytes = (bytes + 7) & ~(size_t)7;
    if ((size_t)(self->end - self->next) < bytes) {
        GLK_TRY(add_block(self, bytes, err));
    }
    *out = self->next;
    self->next += bytes;
    return GLK_OK;
}
