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
 * Text           while an item of an array with unique items is read, or a free key of an object whose
 *                keys must differ, a configuration also has the text since that item or key began
 *                (since the outermost one, if they are nested), as a path in a shared trie.  It ends
 *                up in the set of seen values, a part of the container's obligations (object.h).
 * Bare           Texts and seen values would make every configuration new.  Few tokens ask for them,
 *                so a configuration has a *bare* twin without: GLK_TEXT_BARE, GLK_START_FRESH,
 *                GLK_SEEN_SOME.  Where the text matters, a step of a bare configuration leads to
 *                GLK_MAYBE; such tokens are tried on the configuration itself.
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
#include "value.h"

#define GLK_TEXT_NONE 0u
#define GLK_TEXT_BARE 0xFFFFFFFEu
#define GLK_MAYBE 0xFFFFFFFEu /* for a configuration: it depends on the text */
#define GLK_DEAD 0xFFFFFFFDu  /* ... there is none, though the byte looked live */

typedef struct glk_frame {
    uint32_t node;  /* in the code; GLK_NONE: the end of the text */
    uint32_t param; /* REP: count so far; CONTAINER: obligations and phase; else 0 */
    uint32_t rest;  /* continuation */
} glk_frame;

typedef struct glk_cont {
    const glk_frame *frames; /* sorted */
    uint32_t count;
    uint32_t far;  /* the same with counts cut; itself if nothing changes */
    uint32_t bare; /* the same without texts and seen values; itself if there are none */
    bool captures; /* inside it is an item or key whose text matters */
    bool risky;    /* ... and that may turn out to be impossible to finish, see alive.h */
    uint8_t life;  /* glk_fate; if all that it owes is something new */
} glk_cont;

typedef enum glk_text_mode { GLK_TEXT_OUTSIDE, GLK_TEXT_STRING, GLK_TEXT_ESCAPE } glk_text_mode;

typedef struct glk_text_node { /* a node of the trie of texts; 0 is the empty text */
    uint32_t parent, length;
    uint8_t byte;
    uint8_t mode; /* glk_text_mode: where in a JSON text it ends */
} glk_text_node;

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
    uint32_t bare;   /* its bare twin, itself, or GLK_NONE: not looked for yet */
    uint32_t text;   /* since the outermost item or key that matters began */
    bool can_end;
    _Atomic(const glk_moves *) moves;
    _Atomic(const glk_tokens *) mask;
    const uint32_t *undecided; /* of a bare one, once it has a mask: tokens to be tried one by one */
    uint32_t undecided_count;
} glk_config;

typedef struct glk_epoch {
    const glk_code *code;       /* borrowed from the program */
    glk_terminals *terminals;   /* borrowed from the program */
    glk_account account;
    glk_arena arena;
    glk_index cont_index, config_index, closure_index, union_index, key_index, mask_index;
    glk_index text_index;
    uint32_t text;              /* while a closure is made: the text so far */
    bool maybe;                 /* ... whether something in it depends on the text */
    glk_vec ways;               /* glk_way; scratch of the closure, a stack */
    glk_vec turns;              /* glk_turn; scratch of member.c */
    glk_vec bytes;              /* u8; scratch for texts */
    glk_vec visit;              /* u32; scratch of alive.c */
    glk_vec todo, seen;         /* glk_frame; scratch of the closure */
    glk_index seen_index;
    glk_vec threads;            /* glk_thread; scratch */
    glk_vec frames;             /* glk_frame; scratch, a stack */
    glk_vec ids;                /* u32; scratch of mask.c */
    uint32_t open_state[2];     /* "{" and "[" */
    uint32_t close_expr[2], comma_expr; /* the tagged "}", "]" and "," */
    uint32_t start;             /* the configuration before any text */
    uint32_t longest;           /* bytes of the longest token */
    uint64_t mask_count, mask_bytes, walks, visited; /* statistics */
    _Atomic uint64_t hits;      /* ... likewise, added to without the lock */
    pthread_mutex_t lock;
    _Atomic uint32_t references;
    /* From here on there are tables only, of which little is ever written, see vec.h. */
    glk_table conts, configs;   /* glk_cont, glk_config */
    glk_table closures, unions; /* memos, see parser.c */
    glk_table keys;             /* memo of object key terminals */
    glk_table masks;            /* glk_tokens; of threads, see mask.c */
    glk_table texts;            /* glk_text_node */
    glk_objects objects;
    glk_values values;
} glk_epoch;

typedef struct glk_way { /* one way on inside a container, see member.h */
    uint32_t state; /* a terminal to be read, or GLK_NONE: `frame` is entered at once */
    glk_frame frame;
} glk_way;

typedef struct glk_closure { /* memo: (continuation, labels, text) -> configuration */
    uint32_t cont, labels, text, config;
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
    const uint32_t *undecided;
    uint32_t undecided_count;
} glk_thread_mask;

/* Empty tables; moves.h's glk_moves_start computes the first configuration. */
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

/* Whether one of the threads is inside an item or key whose text matters. */
static inline bool glk_threads_capture(const glk_epoch *self, const glk_thread *threads,
                                       uint32_t count) {
    for (uint32_t i = 0; i < count && self->code->marked; i++) {
        if (glk_cont_at(self, threads[i].rest)->captures) {
            return true;
        }
    }
    return false;
}

/* Whether one of the threads may turn out to be impossible to finish, byte by byte. */
static inline bool glk_threads_risk(const glk_epoch *self, const glk_thread *threads,
                                    uint32_t count) {
    for (uint32_t i = 0; i < count && self->code->marked; i++) {
        if (glk_cont_at(self, threads[i].rest)->risky) {
            return true;
        }
    }
    return false;
}

/* ---- with the lock held ---- */
/* Memory of a mask, out of the arena. */
static inline glk_status glk_epoch_take_mask(glk_epoch *self, size_t bytes, void **out,
                                             glk_error *err) {
    GLK_TRY(glk_arena_take(&self->arena, bytes, out, err));
    self->mask_bytes += bytes;
    return GLK_OK;
}
/* The continuation of these frames (sorted and merged here; copied). */
glk_status glk_cont_intern(glk_epoch *self, const glk_frame *frames, uint32_t count, uint32_t *out,
                           glk_error *err);
/* The configuration of the threads in self->threads (sorted and merged here).  `text` is dropped
 * where no thread needs it. */
glk_status glk_config_intern(glk_epoch *self, bool can_end, uint32_t text, uint32_t *out,
                             glk_error *err);
/* The bare twin of a configuration. */
glk_status glk_config_bare(glk_epoch *self, uint32_t config, uint32_t *out, glk_error *err);
static inline bool glk_is_space(uint8_t byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}
/* A text with one byte more (GLK_TEXT_BARE stays so); white space between tokens is left out. */
glk_status glk_text_extend(glk_epoch *self, uint32_t text, uint8_t byte, uint32_t *out,
                           glk_error *err);
/* The bytes of a text after its beginning `start`, in self->bytes. */
glk_status glk_text_since(glk_epoch *self, uint32_t text, uint32_t start, glk_error *err);

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
