/* terminal.h -- terminals as lazily built DFAs, shared by every program of a vocabulary.
 * Tested by tests/c/test_terminal.c.
 *
 * A state is an expression of the registry's store; stepping it by a byte is taking a derivative.
 * Because expressions are hash-consed, two grammars that hold the same piece (a JSON string, a
 * number) meet in the same states and share their rows and token sets.
 *
 *     row of q:   live bytes | targets, one per live byte in byte order
 *
 * `live` is exact: a byte is live only if the target can still reach acceptance over the bytes
 * that the vocabulary can spell.  Rows are built on first use, by byte class.  Most states have a
 * simpler base that does the work:
 *     few bytes   the base agrees after every byte but a few (glk_expr_base): its targets are copied; the
 *                 few are derived when somebody asks for them, if they surely live
 *     far         the base lifts repeat bounds (glk_expr_unbounded) that are out of reach: whatever
 *                 the base can do within `bound` bytes, finishing included, the state can do too; its
 *                 live bytes are the base's, and targets are derived when somebody asks for them
 *
 * Epochs      A registry over its byte budget serves the programs that hold it but takes no new
 *             ones: the vocabulary starts another, and the old one goes with its last program.
 * Threads     `lock` guards growth.  Rows and spans are published with release stores and read
 *             without the lock; states never move.
 */
#ifndef GLK_TERMINAL_H
#define GLK_TERMINAL_H

#include "expr.h"
#include "vocab.h"

enum { GLK_SEARCH_NEAR = 50000 }; /* steps of a search whose derivatives the states will want */
enum { GLK_TAGS = 128 }; /* labels below are met by nearly every grammar */
enum { GLK_LABELS_NONE = 0, GLK_LABELS_PLAIN = 1 }; /* not accepting; accepting without a label */

typedef struct glk_row {
    glk_bytes live;
    uint8_t before[4];         /* live bytes in the words before word i */
    uint8_t groups;            /* groups.h: their characters may come in any order, ... */
    uint32_t reach;            /* ... up to so many of them; GLK_UNBOUNDED: any number */
    uint32_t count;            /* live bytes */
    _Atomic uint32_t target[]; /* state by rank of the byte; GLK_NONE: not derived yet */
} glk_row;

struct glk_span; /* span.h: the tokens that stay inside, and those that leave */

typedef struct glk_state {
    uint32_t expr;
    uint32_t labels;                       /* id of the label set with which it accepts */
    uint32_t base;                         /* a simpler state, see above, or GLK_NONE */
    uint32_t bound;                        /* far base: bytes within which both do alike */
    uint32_t worst;                        /* at least the longest shortest way to finish from any
                                              state in reach; GLK_NONE: not known yet */
    const glk_bytes *differs;              /* few-bytes base: the bytes; far base: NULL */
    _Atomic(glk_row *) row;                /* NULL until built */
    _Atomic(const struct glk_span *) span; /* NULL until built */
} glk_state;

typedef struct glk_label_set {
    const uint32_t *labels; /* sorted */
    uint32_t count;
} glk_label_set;

/* An object's key of `imported` with its label.  Making one walks the whole key, and grammars share
 * their keys. */
typedef struct glk_tagged {
    uint32_t key, label, expr;
} glk_tagged;

typedef struct glk_terminals {
    const glk_vocab *vocab; /* borrowed: programs keep the vocabulary alive */
    glk_account account;
    glk_arena arena;
    glk_exprs exprs;
    glk_table states;      /* glk_state */
    glk_table label_sets;  /* glk_label_set */
    glk_vec labels;        /* u32 scratch */
    uint32_t *marks;       /* scratch of span.c: a bit per token, all clear between uses; or NULL */
    const uint8_t *measures; /* counted.h: groups and number of characters of each id; or NULL */
    glk_exprs *imported;   /* the store that `map` belongs to, retained; or NULL */
    glk_vec map;           /* u32 per expression of `imported` */
    glk_vec tagged;        /* glk_tagged */
    glk_index tagged_index;
    uint32_t tags[GLK_TAGS]; /* by label: its expression; 0: not made yet */
    pthread_mutex_t lock;
    _Atomic uint32_t references;
} glk_terminals;

/* The vocabulary's current registry, or a fresh one if that is over half its budget; retained for
 * the caller. */
glk_status glk_terminals_acquire(glk_vocab *vocab, glk_terminals **out, glk_error *err);
void glk_terminals_release(glk_terminals *self);
/* Bytes held. */
uint64_t glk_terminals_bytes(const glk_terminals *self);

static inline glk_state *glk_state_at(const glk_terminals *self, uint32_t id) {
    return (glk_state *)glk_table_at(&self->states, id);
}
static inline const glk_label_set *glk_label_set_at(const glk_terminals *self, uint32_t id) {
    return (const glk_label_set *)glk_table_at(&self->label_sets, id);
}

/* Whether anything but the empty string may be read from a state. */
static inline bool glk_state_goes_on(const glk_terminals *self, uint32_t state) {
    uint32_t expr = glk_state_at(self, state)->expr;
    return !glk_bytes_empty(&glk_expr_at(&self->exprs, expr)->first);
}

/* ---- with the lock held ---- */
/* The expression of a grammar's store in this one.  Takes the lock of `from` itself. */
glk_status glk_terminals_import(glk_terminals *self, glk_exprs *from, uint32_t expr, uint32_t *out,
                                glk_error *err);
/* The same followed by a tag, without a copy of the expression alone. */
glk_status glk_terminals_import_tagged(glk_terminals *self, glk_exprs *from, uint32_t expr,
                                       uint32_t label, uint32_t *out, glk_error *err);
/* Whether the copy of an expression has no sentence; mostly found without one. */
glk_status glk_terminals_import_is_empty(glk_terminals *self, glk_exprs *from, uint32_t expr,
                                         uint64_t *steps, bool *out, glk_error *err);
/* The state of an expression that is not empty. */
glk_status glk_terminals_state(glk_terminals *self, uint32_t expr, uint32_t *out, glk_error *err);
/* The row of a state, built if need be; `*steps` counts derivatives down. */
glk_status glk_terminals_build_row(glk_terminals *self, uint32_t state, uint64_t *steps,
                                   const glk_row **out, glk_error *err);
/* The target of a live byte, derived if need be. */
glk_status glk_terminals_step(glk_terminals *self, uint32_t state, uint8_t byte, uint64_t *steps,
                              uint32_t *out, glk_error *err);

/* reach.c: no less than the largest, over all states that can be reached from `state`, of the fewest
 * bytes to acceptance; GLK_UNBOUNDED - 1 if there are too many states to look at.  Kept in the
 * states. */
glk_status glk_terminals_worst(glk_terminals *self, uint32_t state, uint64_t *steps, uint32_t *out,
                               glk_error *err);
/* What that mostly is not below, without a survey: read off the shape of the expression. */
glk_status glk_terminals_guess_worst(glk_terminals *self, uint32_t state, uint64_t *steps,
                                     uint32_t *out, glk_error *err);

/* Whether the edge of a trie node and all that is below it keep the terminal alive, from the state of
 * this row on: they are characters that may come in any order. */
static inline bool glk_row_takes(const glk_row *row, const glk_trie_node *node) {
    return (node->groups & ~row->groups) == 0 && node->height < row->reach;
}

/* The same of what is below the node alone, from the state after its edge on.  Where the edge is a part of
 * a character this cannot be told from the groups. */
static inline bool glk_row_takes_below(const glk_row *row, const glk_trie_node *node) {
    return node->byte < 0x80 && (node->groups & ~row->groups) == 0 && node->height <= row->reach;
}

/* ---- without the lock ---- */
static inline const glk_row *glk_state_row(const glk_terminals *self, uint32_t state) {
    return atomic_load_explicit(&glk_state_at(self, state)->row, memory_order_acquire);
}
/* The target of a live byte, or GLK_NONE where it is not derived yet. */
static inline uint32_t glk_row_target(const glk_row *row, uint8_t byte) {
    uint64_t below = ((uint64_t)1 << (byte & 63)) - 1;
    uint32_t rank = (uint32_t)row->before[byte >> 6] +
                    glk_popcount(row->live.word[byte >> 6] & below);
    return atomic_load_explicit(&row->target[rank], memory_order_acquire);
}

#endif
