/* epoch.h -- continuations, threads, configurations: the automaton's states and their intern tables.
 * Tested by tests/c/test_parser.c and tests/test_agree.py.
 *
 * Continuation   what remains once the current terminal ends: a set of frames (node, parameter, rest),
 *                where rest is again a continuation.  Frames with the same head are merged by uniting
 *                their rests, so an ambiguous grammar stays polynomial.  Id 0 is the bottom: the end of
 *                the text.
 * Thread         (terminal state, continuation): one live way to read the text so far.
 * Configuration  the canonical set of threads, and whether the text may end here.
 *
 * All three are hash-consed by content, so the third element of an array meets the configurations
 * of the second, and stepping by a byte is one look-up in the steady state:
 *
 *     row of c:   live bytes | targets, one per live byte, filled on demand
 *
 * A counted repeat keeps its count as the parameter.  Counts far from their bounds do not matter for
 * the next token, so each configuration knows its `far` twin, whose counts are cut; equal masks
 * are found there.
 *
 * Epochs   All of this is one epoch of a program: one account, dropped whole.
 * Threads  `lock` guards growth; configurations, rows and masks are published with release stores
 *          and read without it.  Order of locks: epoch, then registry of terminals.
 */
#ifndef GLK_EPOCH_H
#define GLK_EPOCH_H

#include "object.h"
#include "span.h"

typedef struct glk_frame {
    uint32_t node;  /* in the code; GLK_NONE: the end of the text */
    uint32_t param; /* REP: count so far; OBJECT: obligations and phase; else 0 */
    uint32_t rest;  /* continuation */
} glk_frame;

typedef struct glk_cont {
    const glk_frame *frames; /* sorted */
    uint32_t count;
    uint32_t far; /* the same with counts cut; itself if nothing changes */
} glk_cont;

#define GLK_TOKENS_BIT 0x80000000u /* in glk_thread.state: a TOKENS node, not a terminal state */

typedef struct glk_thread {
    uint32_t state; /* terminal state, or GLK_TOKENS_BIT | node */
    uint32_t rest;  /* continuation */
} glk_thread;

typedef struct glk_moves { /* a configuration's row */
    glk_bytes live;
    uint8_t before[4];
    _Atomic uint32_t target[]; /* configuration by rank of the byte; GLK_NONE: not stepped yet */
} glk_moves;

typedef struct glk_config {
    const glk_thread *threads; /* sorted by state, one per state */
    uint32_t count;
    uint32_t far;    /* configuration with equal masks, or itself */
    bool can_end;
    _Atomic(const glk_moves *) moves;
    _Atomic(const glk_tokens *) mask;
} glk_config;

typedef struct glk_epoch {
    const glk_code *code;       /* borrowed from the program */
    glk_terminals *terminals;   /* borrowed from the program */
    glk_account account;
    glk_arena arena;
    glk_table conts, configs;   /* glk_cont, glk_config */
    glk_table closures, unions; /* memos, see parser.c */
    glk_index cont_index, config_index, closure_index, union_index, key_index, mask_index;
    glk_table keys;             /* memo of object key terminals */
    glk_table masks;            /* glk_tokens; of threads, see mask.c */
    glk_objects objects;
    glk_vec todo, seen;         /* glk_frame; scratch of the closure */
    glk_index seen_index;
    glk_vec threads;            /* glk_thread; scratch */
    glk_vec frames;             /* glk_frame; scratch, a stack */
    glk_vec ids;                /* u32; scratch of mask.c */
    uint32_t open_state, close_expr, comma_expr; /* "{" and the tagged "}" and "," */
    uint32_t start;             /* the configuration before any text */
    uint32_t longest;           /* bytes of the longest token */
    uint64_t mask_count, walks, visited; /* statistics */
    pthread_mutex_t lock;
    _Atomic uint32_t references;
} glk_epoch;

typedef struct glk_closure { /* memo: (continuation, labels) -> configuration */
    uint32_t cont, labels, config;
} glk_closure;

typedef struct glk_union { /* memo: union of two continuations, a < b */
    uint32_t a, b, result;
} glk_union;

typedef struct glk_key { /* memo: an object's key terminal */
    uint32_t node, param, state;
} glk_key;

typedef struct glk_thread_mask { /* memo: a thread's mask, see mask.c */
    glk_thread thread;
    glk_tokens tokens;
} glk_thread_mask;

/* Empty tables; parser.h's glk_parser_start computes the first configuration. */
glk_status glk_epoch_new(const glk_code *code, glk_terminals *terminals, uint64_t max_bytes,
                         glk_epoch **out, glk_error *err);
void glk_epoch_retain(glk_epoch *self);
void glk_epoch_release(glk_epoch *self);

static inline glk_config *glk_config_at(const glk_epoch *self, uint32_t id) {
    return (glk_config *)glk_table_at(&self->configs, id);
}
static inline const glk_cont *glk_cont_at(const glk_epoch *self, uint32_t id) {
    return (const glk_cont *)glk_table_at(&self->conts, id);
}

/* ---- with the lock held ---- */
/* The continuation of these frames (sorted and merged here; copied). */
glk_status glk_cont_intern(glk_epoch *self, const glk_frame *frames, uint32_t count, uint32_t *out,
                           glk_error *err);
/* The configuration of the threads in self->threads (sorted and merged here). */
glk_status glk_config_intern(glk_epoch *self, bool can_end, uint32_t *out, glk_error *err);

/* ---- without the lock ---- */
static inline const glk_moves *glk_config_moves(const glk_epoch *self, uint32_t config) {
    return atomic_load_explicit(&glk_config_at(self, config)->moves, memory_order_acquire);
}
static inline uint32_t glk_moves_rank(const glk_moves *moves, uint8_t byte) {
    uint64_t below = ((uint64_t)1 << (byte & 63)) - 1;
    return (uint32_t)moves->before[byte >> 6] +
           glk_popcount(moves->live.word[byte >> 6] & below);
}

#endif
