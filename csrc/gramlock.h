/* gramlock.h -- the public interface of the Gramlock core, and its manual.
 *
 * This header is also the only source of the Python binding's declarations, so it holds plain
 * declarations: no macros beyond the include guard, no inline functions.
 *
 * Conventions
 *   - A fallible call returns a glk_status.  On anything but GLK_OK the objects behind the
 *     call are as they were, scalar outputs are untouched, buffers may be half written, and `err`
 *     (if not NULL) says what went wrong.
 *   - `const` pointers are borrowed for the call.  Objects are reference counted: `*_new` gives one
 *     reference, `*_release` (NULL allowed) gives it back, children keep their parents alive, so
 *     the order of releases never matters.
 *   - Threads: an expression store, a vocabulary and a program may be used from any number of
 *     threads at once.  A grammar under construction and a matcher belong to one thread at a time;
 *     different matchers of one program may run in different threads.
 *   - Ids (expressions, nodes) are 32-bit and belong to the object that made them.
 */
#ifndef GRAMLOCK_H
#define GRAMLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum glk_status {
    GLK_OK = 0,
    GLK_ERR_MEMORY,        /* the system has no memory left */
    GLK_ERR_LIMIT,         /* a budget was passed: err->budget, asked, limit */
    GLK_ERR_ARGUMENT,      /* a caller's mistake */
    GLK_ERR_STATE,         /* the object is not in a state that allows this */
    GLK_ERR_UNSATISFIABLE, /* the grammar has no sentence (that the vocabulary can spell) */
    GLK_ERR_DAMAGED        /* serialised bytes that are not what they claim to be */
} glk_status;

typedef struct glk_error {
    glk_status code;
    uint32_t row;      /* in a batch: which row failed */
    uint64_t asked;    /* GLK_ERR_LIMIT: how much was wanted */
    uint64_t limit;    /* ... and how much the budget allows */
    char budget[32];   /* ... of which budget */
    char text[200];    /* one line for people */
} glk_error;

typedef struct glk_exprs glk_exprs;
typedef struct glk_grammar glk_grammar;
typedef struct glk_plain glk_plain;
typedef struct glk_vocab glk_vocab;
typedef struct glk_program glk_program;
typedef struct glk_matcher glk_matcher;

/* ---------------------------------------------------------------- expressions
 * Hash-consed regular expressions over bytes.  Equal content has equal id.  Fixed ids: */
enum {
    GLK_EXPR_NEVER = 0,   /* no string at all */
    GLK_EXPR_EPSILON = 1, /* the empty string */
    GLK_EXPR_ANY = 2      /* every byte string */
};

/* How a code point is written as bytes. */
typedef enum glk_encoding {
    GLK_UTF8 = 0, /* RFC 3629 */
    GLK_JSON = 1, /* inside a JSON string, every spelling of RFC 8259 section 7 (raw, short escape,
                     \uXXXX, surrogate pair); a lone surrogate is never written */
    GLK_JSON_MINIMAL = 2 /* the same, each character in one spelling: as it is, or by the escape that
                            it needs, a short one if there is any, else \u00xx in small letters */
} glk_encoding;

/* `high` of a repeat without upper bound is 4294967295 (UINT32_MAX). */

glk_status glk_exprs_new(uint64_t max_bytes, glk_exprs **out, glk_error *err);
void glk_exprs_retain(glk_exprs *self);
void glk_exprs_release(glk_exprs *self);
uint64_t glk_exprs_bytes(const glk_exprs *self); /* memory held */

/* One byte out of a set of 256 bits: bit (b & 63) of bits[b >> 6]. */
glk_status glk_exprs_class(glk_exprs *self, const uint64_t *bits, uint32_t *out, glk_error *err);
/* Exactly these bytes. */
glk_status glk_exprs_literal(glk_exprs *self, const uint8_t *bytes, size_t count, uint32_t *out,
                             glk_error *err);
/* One code point out of `count` inclusive ranges (low, high, low, high, ...; any order, overlaps
 * allowed; surrogates are dropped). */
glk_status glk_exprs_codepoints(glk_exprs *self, const uint32_t *ranges, size_t count,
                                glk_encoding encoding, uint32_t *out, glk_error *err);
glk_status glk_exprs_concat(glk_exprs *self, const uint32_t *items, size_t count, uint32_t *out,
                            glk_error *err);
glk_status glk_exprs_union(glk_exprs *self, const uint32_t *items, size_t count, uint32_t *out,
                           glk_error *err);
glk_status glk_exprs_intersect(glk_exprs *self, const uint32_t *items, size_t count,
                               uint32_t *out, glk_error *err);
glk_status glk_exprs_complement(glk_exprs *self, uint32_t item, uint32_t *out, glk_error *err);
glk_status glk_exprs_repeat(glk_exprs *self, uint32_t item, uint32_t low, uint32_t high,
                            uint32_t *out, glk_error *err);
/* The empty string, marked with a label; only as the last part of a concatenation under unions. */
glk_status glk_exprs_tag(glk_exprs *self, uint32_t label, uint32_t *out, glk_error *err);

/* Whether the expression matches the bytes (a tag counts as a match), within `max_steps`. */
glk_status glk_exprs_matches(glk_exprs *self, uint32_t item, const uint8_t *bytes, size_t count,
                             uint64_t max_steps, bool *out, glk_error *err);
/* Whether the expression matches nothing, within `max_steps` derivatives. */
glk_status glk_exprs_is_empty(glk_exprs *self, uint32_t item, uint64_t max_steps, bool *out,
                              glk_error *err);

/* The texts that the expression matches, shortest first, if there are at most `most`: *count of them,
 * their lengths (room for `most`), and behind each other their bytes if *needed, which counts them,
 * is at most `capacity`.  Otherwise *count is most + 1.  Within `max_steps` derivatives. */
glk_status glk_exprs_texts(glk_exprs *self, uint32_t item, uint32_t most, uint64_t max_steps,
                           uint32_t *lengths, uint8_t *bytes, size_t capacity, size_t *needed,
                           uint32_t *count, glk_error *err);

/* ---------------------------------------------------------------- grammars
 * The vocabulary-free representation.  Fixed nodes: */
enum { GLK_NODE_FAIL = 0, GLK_NODE_EMPTY = 1 };

/* ---- containers: a JSON object, or an array with conditions that a sequence cannot say ----
 *
 * Its members fall into classes: first `named` ones (an object's names, one key each, at most one
 * member each; an array's first positions, none of which may be skipped), then `free` ones (sets of
 * further keys, with any number of members; an array has at most one, for all further items).
 *
 * A class has choices.  A member is written as any one of its class's choices: the value, and the
 * literals that this value is known to satisfy, bit j for the class's j-th condition (j < 31).  If a
 * choice has some of the literals of another one of its class but not all, and none besides, it must
 * allow every value that the other one allows.
 *
 * A formula restricts which members come.  It is given as words: the number of its nodes, then the
 * nodes, children before parents, the root last; children are given by their place:
 *     GLK_F_AT_LEAST n t (class, literal) x t    at least n members hit one of the pairs
 *     GLK_F_ALL_BUT n t (class, literal) x t     at most n members miss one of them
 *     GLK_F_AND k ids                            all of these nodes hold
 *     GLK_F_OR k ids                             one of them does
 * A member hits (class, j) if it is of that class and its choice has literal j; it misses it if it
 * is of that class and its choice has not.  Literal 4294967295: every member of the class hits (in
 * AT_LEAST), misses (in ALL_BUT); class 4294967295, with this literal only: every member.  A member
 * may always leave out literals that hold, so nothing can ask for their absence.
 *
 * The text:  "{" open ( member ( before_comma "," after_comma member )* ) close "}"
 *            with  member = key before_colon ":" after_colon value  (an array's: value), or
 *            "{" gap "}"  with  gap = open if open and close are the same expression and the container
 *                               is not GLK_BARE, else nothing. */
enum {
    GLK_ARRAY = 1,
    GLK_UNIQUE = 2,  /* an array's items differ as JSON values; the keys of an object's free classes
                        differ as strings */
    GLK_ENDLESS = 4, /* an item or free key, however it began, can go on in endlessly many ways, so
                        that GLK_UNIQUE needs no look-ahead */
    GLK_TIGHT = 8,   /* different items or free keys may run out: look ahead to the end */
    GLK_BARE = 16    /* without members it has no white space: "{}" */
};

enum { GLK_F_AT_LEAST = 0, GLK_F_ALL_BUT = 1, GLK_F_AND = 2, GLK_F_OR = 3 };

typedef struct glk_container_shape {
    uint32_t flags;
    uint32_t named, free; /* classes */
    uint32_t ordered;     /* objects: so many of the named ones come as listed and before all other
                             members, which come in any order; ignored for arrays */
    uint32_t open, close, before_comma, after_comma, before_colon, after_colon; /* expressions */
} glk_container_shape;

typedef struct glk_member_class {
    uint32_t key;      /* objects: expression of the whole key with its quotes; ignored for arrays.
                          Keys must differ as languages. */
    uint32_t required; /* 0 or 1; 1 only for the named classes of an object */
    uint32_t choices;  /* how many; none: no such member can come */
} glk_member_class;

typedef struct glk_member_choice {
    uint32_t value;    /* node */
    uint32_t literals;
} glk_member_choice;

glk_status glk_grammar_new(glk_exprs *exprs, glk_grammar **out, glk_error *err);
void glk_grammar_retain(glk_grammar *self);
void glk_grammar_release(glk_grammar *self);

/* A byte string of the expression (which holds no tag). */
glk_status glk_grammar_terminal(glk_grammar *self, uint32_t expr, uint32_t *out, glk_error *err);
/* A byte string of the tagged expression, then the node of the label that matched. */
glk_status glk_grammar_switch(glk_grammar *self, uint32_t expr, const uint32_t *labels,
                              const uint32_t *nodes, size_t count, uint32_t *out, glk_error *err);
glk_status glk_grammar_sequence(glk_grammar *self, const uint32_t *nodes, size_t count,
                                uint32_t *out, glk_error *err);
glk_status glk_grammar_choice(glk_grammar *self, const uint32_t *nodes, size_t count,
                              uint32_t *out, glk_error *err);
glk_status glk_grammar_repetition(glk_grammar *self, uint32_t node, uint32_t low, uint32_t high,
                                  uint32_t *out, glk_error *err);
/* One of these token ids, as a token, never as its text. */
glk_status glk_grammar_tokens(glk_grammar *self, const uint32_t *ids, size_t count, uint32_t *out,
                              glk_error *err);
/* A container of shape->named + shape->free classes; `choices` lists those of the first class, then
 * those of the second, ... */
glk_status glk_grammar_container(glk_grammar *self, const glk_container_shape *shape,
                                 const glk_member_class *classes, const glk_member_choice *choices,
                                 size_t choice_count, const uint32_t *formula,
                                 size_t formula_words, uint32_t *out, glk_error *err);
/* A rule, to be referred to before it is defined; an undefined rule fails. */
glk_status glk_grammar_rule(glk_grammar *self, uint32_t *out, glk_error *err);
glk_status glk_grammar_define(glk_grammar *self, uint32_t rule, uint32_t body, glk_error *err);
glk_status glk_grammar_set_root(glk_grammar *self, uint32_t node, glk_error *err);
/* 64-bit content hash of what the root reaches, whatever the ids; 0 if memory runs out. */
uint64_t glk_grammar_fingerprint(const glk_grammar *self);
/* The bytes that occur in its texts, as a set of 256 bits. */
glk_status glk_grammar_bytes(const glk_grammar *self, uint64_t *bits, glk_error *err);
/* The grammar as JSON text (for people, tests and the oracle); *needed counts without the final NUL.
 * Call with capacity 0 to learn the size. */
glk_status glk_grammar_dump(const glk_grammar *self, char *buffer, size_t capacity, size_t *needed,
                            glk_error *err);

/* What the root reaches as 32-bit words, and a grammar out of such words.  *needed counts them; call
 * with capacity 0 to learn it.  The words name no ids of this process.  Reading checks all of them:
 * GLK_ERR_DAMAGED for words that are no grammar; it ends in a budget like any building. */
glk_status glk_grammar_write(glk_grammar *self, uint32_t *words, size_t capacity, size_t *needed,
                             glk_error *err);
glk_status glk_grammar_read(glk_exprs *exprs, const uint32_t *words, size_t count,
                            glk_grammar **out, glk_error *err);

/* ---------------------------------------------------------------- plain schemas
 * JSON Schemas that take no algebra, read straight into a grammar.  A glk_plain holds what all schemas
 * of one store and one set of options share; threads may use it at once. */
typedef struct glk_plain_base {
    uint32_t gap;       /* expressions: the white space of every gap */
    uint32_t string;    /* any string with its quotes */
    uint32_t characters; /* any string without */
    uint32_t quote;
    uint32_t integer, number; /* any */
    bool any_order;     /* of members */
    uint16_t draft;     /* of documents without $schema: 4, 6, 7, 2019 or 2020 */
} glk_plain_base;

/* What a leaf, a scalar with conditions, comes down to. */
typedef enum glk_leaf_kind {
    GLK_LEAF_UNKNOWN = 0,
    GLK_LEAF_DECLINED, /* to more than an expression, or to an error */
    GLK_LEAF_TERMINAL, /* an expression */
    GLK_LEAF_CONSTANT, /* the same, of a single value */
    GLK_LEAF_ASSERTED, /* of a format alone: it is enforced */
    GLK_LEAF_IGNORED   /* ... it says nothing */
} glk_leaf_kind;

glk_status glk_plain_new(glk_exprs *exprs, const glk_plain_base *base, uint64_t max_bytes,
                         glk_plain **out, glk_error *err);
void glk_plain_release(glk_plain *self);

/* Reads a schema as Python's marshal (format 4) writes it.  Three things may come out: *out, the
 * finished grammar; or *out = NULL and *needed > 0: leaves that are not known, each as the length of
 * its key (4 bytes, of this machine's order) and the key, marshal's bytes of a schema (or of a format
 * alone), in `needs` if *needed is at most `capacity`: put them and read again; or *out = NULL and
 * *needed = 0: the schema is not plain, or not right. */
glk_status glk_plain_read(glk_plain *self, const uint8_t *bytes, size_t count, uint8_t *needs,
                          size_t capacity, size_t *needed, glk_grammar **out, glk_error *err);
glk_status glk_plain_put(glk_plain *self, const uint8_t *key, size_t count, glk_leaf_kind kind,
                         uint32_t expr, glk_error *err);

/* ---------------------------------------------------------------- vocabularies */
typedef struct glk_vocab_stats {
    uint64_t bytes;        /* memory of tokens, trie and shared terminals */
    uint64_t states;       /* terminal states built so far */
    uint64_t trie_nodes;
    uint32_t longest_token; /* in bytes */
} glk_vocab_stats;

/* `size` ids; token i is bytes[offsets[i] .. offsets[i + 1]); an id without text (control token,
 * hole, padding) has an empty range.  `max_bytes`: budget of the tables shared by all programs
 * (when it is passed, later programs get fresh tables; one program that needs more than all of it
 * gets GLK_ERR_LIMIT). */
glk_status glk_vocab_new(const uint8_t *bytes, const uint64_t *offsets, uint32_t size,
                         const uint32_t *end_ids, size_t end_count, uint64_t max_bytes,
                         glk_vocab **out, glk_error *err);
void glk_vocab_retain(glk_vocab *self);
void glk_vocab_release(glk_vocab *self);
void glk_vocab_get_stats(glk_vocab *self, glk_vocab_stats *out);
/* Bytes that have a token of their own, as a set of 256 bits. */
void glk_vocab_reachable(const glk_vocab *self, uint64_t *bits);

/* ---------------------------------------------------------------- programs */
typedef struct glk_limits {
    uint64_t program_bytes; /* configurations and masks of one program */
    uint64_t steps;         /* work of one call: derivatives, closures, trie nodes */
} glk_limits;

typedef struct glk_program_stats {
    uint64_t bytes;          /* memory of the program's tables now */
    uint64_t nodes;          /* program nodes */
    uint64_t configurations; /* made since the program was compiled */
    uint64_t continuations;
    uint64_t masks;          /* computed (misses) */
    uint64_t hits;           /* masks that were there; those of a matcher are added now and then, the
                                last when it is released */
    uint64_t walks;          /* tries walked for them */
    uint64_t visited;        /* trie nodes visited in those walks */
    uint64_t epochs;         /* times that the tables were dropped because the budget was full */
} glk_program_stats;

/* Compiles.  GLK_ERR_UNSATISFIABLE if no sentence is left. */
glk_status glk_program_new(glk_vocab *vocab, glk_grammar *grammar, const glk_limits *limits,
                           glk_program **out, glk_error *err);
void glk_program_retain(glk_program *self);
void glk_program_release(glk_program *self);
void glk_program_get_stats(glk_program *self, glk_program_stats *out);
typedef struct glk_program_bytes { /* memory held, in bytes */
    uint64_t code;           /* the flat program */
    uint64_t configurations; /* of the current epoch: configurations, rows, continuations, memos */
    uint64_t masks;          /* of the current epoch: masks and lists of tokens */
    uint64_t shared;         /* terminals that all programs of the vocabulary share, counted for each */
} glk_program_bytes;
void glk_program_get_bytes(glk_program *self, glk_program_bytes *out);

/* The flat program as text, for people and golden tests. */
glk_status glk_program_dump(glk_program *self, char *buffer, size_t capacity, size_t *needed,
                            glk_error *err);

/* ---------------------------------------------------------------- matchers */
glk_status glk_matcher_new(glk_program *program, glk_matcher **out, glk_error *err);
void glk_matcher_release(glk_matcher *self);
glk_status glk_matcher_fork(const glk_matcher *self, glk_matcher **out, glk_error *err);

/* *out = whether the token may come next; if not, nothing changes. */
glk_status glk_matcher_accept_token(glk_matcher *self, uint32_t token, bool *out, glk_error *err);
/* The same for text, as one step. */
glk_status glk_matcher_accept_bytes(glk_matcher *self, const uint8_t *bytes, size_t count,
                                    bool *out, glk_error *err);
/* How many of these tokens could be accepted one after the other; changes nothing. */
glk_status glk_matcher_validate_tokens(glk_matcher *self, const uint32_t *tokens, size_t count,
                                       size_t *out, glk_error *err);
/* Undoes the last `steps` accepts.  GLK_ERR_ARGUMENT if there are fewer. */
glk_status glk_matcher_rollback(glk_matcher *self, size_t steps, glk_error *err);
size_t glk_matcher_steps(const glk_matcher *self); /* accepts that can be undone */
glk_status glk_matcher_can_end(glk_matcher *self, bool *out, glk_error *err);
/* True after an end id, and, where nothing can follow a sentence, at its end if there is no end id. */
glk_status glk_matcher_is_terminated(glk_matcher *self, bool *out, glk_error *err);
/* The bytes that must come next, at most `capacity` of them. */
glk_status glk_matcher_forced_bytes(glk_matcher *self, uint8_t *buffer, size_t capacity,
                                    size_t *count, glk_error *err);
/* Writes the mask: `words` 32-bit words, at least ceil(size / 32); further words are cleared.
 * GLK_ERR_STATE after an end id. */
glk_status glk_matcher_fill(glk_matcher *self, uint32_t *mask, size_t words, glk_error *err);
/* The same by the general walk, without any table of masks; what tests compare with. */
glk_status glk_matcher_fill_by_walk(glk_matcher *self, uint32_t *mask, size_t words,
                                    glk_error *err);
/* The masks of a draft in one call: `count` tokens, each behind the one at place parents[i], which is
 * smaller than i, or behind the sequence as it is (4294967295); parents NULL: a chain.  Row 0 is the mask
 * of the sequence as it is, row i + 1 the mask behind token i; rows are `stride` words apart.  valid[i]
 * = whether token i, and all before it, may come; where not, and behind an end id, the row is clear.
 * The matcher stays where it was. */
glk_status glk_matcher_fill_draft(glk_matcher *self, const uint32_t *tokens,
                                  const uint32_t *parents, size_t count, uint32_t *masks,
                                  size_t stride, size_t words, bool *valid, glk_error *err);
/* One call for many rows: matcher i writes masks + i * stride.  statuses[i] says how row i went;
 * the call fails with the first failing row's status and err->row. */
glk_status glk_matchers_fill(glk_matcher *const *matchers, size_t count, uint32_t *masks,
                             size_t stride, size_t words, uint32_t threads, glk_status *statuses,
                             glk_error *err);

/* ---------------------------------------------------------------- logits */
typedef enum glk_dtype { GLK_FLOAT32 = 0, GLK_FLOAT16 = 1, GLK_BFLOAT16 = 2, GLK_FLOAT64 = 3 } glk_dtype;

/* Sets logits[row][id] to minus infinity where the mask's bit is clear, and where id >= 32 * words.
 * Strides in items. */
void glk_logits_apply(void *logits, glk_dtype dtype, size_t rows, size_t columns, size_t stride,
                      const uint32_t *masks, size_t words, size_t mask_stride);
/* The same into a copy, which must not overlap: one pass over memory, and what is forbidden is not read.
 * left[row] = whether an entry of the copy is not minus infinity.  Big ones are shared by `threads`. */
void glk_logits_copy(const void *from, size_t from_stride, void *to, size_t to_stride,
                     glk_dtype dtype, size_t rows, size_t columns, const uint32_t *masks,
                     size_t words, size_t mask_stride, bool *left, uint32_t threads);
/* Which kernel runs: "avx512", "avx2", "portable". `force` (NULL: automatic) chooses one for tests; false if
 * this machine cannot run it. */
const char *glk_logits_kernel(void);
bool glk_logits_force_kernel(const char *name);

/* Test hook: the count-th allocation from now fails (negative: never). */
void glk_test_fail_allocation(int64_t count);

#endif
