/* arena.h -- the only calls to malloc: accounts, bump arenas, growable buffers.  Tested by tests/c/test_base.c.
 *
 * An account counts the bytes that one owner (an expression store, a program's cache) holds and
 * refuses to pass its limit, so that "budget" and "allocation" are one mechanism.  Accounts nest in
 * no way; each is used under its owner's lock, only `used` may be read from anywhere.
 *
 * An arena hands out memory that is released all at once.  Blocks double up to 1 MiB.
 *
 * Failure injection: glk_alloc_fail_after(n) lets the n-th allocation from now on return NULL
 * (n < 0 switches it off); tests drive every path through it.
 */
#ifndef GLK_ARENA_H
#define GLK_ARENA_H

#include "common.h"

typedef struct glk_account {
    _Atomic uint64_t used; /* bytes held now */
    uint64_t limit;        /* bytes that may be held; 0 = no limit */
    const char *name;      /* the budget's name in errors; static text */
} glk_account;

void glk_account_init(glk_account *self, const char *name, uint64_t limit);

/* Plain memory on an account.  NULL account: uncounted.  Zeroed.  GLK_ERR_MEMORY or GLK_ERR_LIMIT. */
glk_status glk_alloc(glk_account *account, size_t bytes, void **out, glk_error *err);
void glk_release(glk_account *account, void *memory, size_t bytes);
/* Moves *memory (of `old_bytes`; NULL: of none) into room for `bytes`; what is new is not zeroed.  The
 * system remaps what is large, so a long history grows without being copied. */
glk_status glk_resize(glk_account *account, void **memory, size_t old_bytes, size_t bytes,
                      glk_error *err);

typedef struct glk_block glk_block;
typedef struct glk_arena {
    glk_account *account; /* borrowed; may be NULL */
    glk_block *blocks;    /* newest first */
    uint8_t *next, *end;  /* the free part of the newest block */
    size_t block_bytes;   /* size of the next block */
} glk_arena;

void glk_arena_init(glk_arena *self, glk_account *account);
void glk_arena_free(glk_arena *self);

/* 8-byte aligned, not zeroed. */
glk_status glk_arena_take(glk_arena *self, size_t bytes, void **out, glk_error *err);

/* Test hook, see above. */
void glk_alloc_fail_after(int64_t count);

#endif
