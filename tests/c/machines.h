/* machines.h -- what the tests of parser and matcher share: a chart recogniser for grammars, random
 * sentences, and vocabularies made of pieces of them.
 *
 * The recogniser works on the grammar itself, before any rewriting: for every node and start it
 * holds the set of ends, as the least fixpoint of what the nodes mean. */
#ifndef MACHINES_H
#define MACHINES_H

#include "grammar.h"
#include "matcher.h"
#include "rewriting.h"
#include "vocabularies.h"

enum { MOST_SYMBOLS = 60, MOST_NODES = 400, SPECIAL = 256, MOST_MEMBERS = 5 };

/* A text: bytes, and tokens without text as SPECIAL + id. */
typedef struct symbols {
    uint32_t item[MOST_SYMBOLS];
    uint32_t count;
} symbols;

typedef uint64_t places; /* positions in a text, as bits */

/* ---- the chart ---- */

static places chart[MOST_NODES][MOST_SYMBOLS + 1];

static inline void join_labels(uint32_t state, uint32_t label, uint32_t at, places *ends) {
    glk_vec labels;
    bool found = label == GLK_NONE;
    if (!glk_expr_nullable(source, state)) {
        return;
    }
    glk_vec_init(&labels, NULL, sizeof(uint32_t));
    CHECK_OK(glk_expr_labels(source, state, &labels, NULL));
    for (uint32_t i = 0; i < labels.count; i++) {
        found = found || GLK_VEC_U32(&labels)[i] == label;
    }
    glk_vec_free(&labels);
    *ends |= found ? (places)1 << at : 0;
}

/* Where a string of the expression that begins at `start` may end (with `label`, unless that is
 * GLK_NONE). */
static inline places expr_ends(const symbols *text, uint32_t expr, uint32_t label,
                               uint32_t start) {
    places ends = 0;
    for (uint32_t at = start; expr != GLK_EXPR_NEVER; at++) {
        join_labels(expr, label, at, &ends);
        if (at == text->count || text->item[at] >= SPECIAL) {
            break;
        }
        CHECK_OK(glk_expr_derive(source, expr, (uint8_t)text->item[at], &expr, NULL));
    }
    return ends;
}

static inline places all_ends(const symbols *text, uint32_t expr, places starts) {
    places ends = 0;
    for (; starts != 0; starts &= starts - 1) {
        ends |= expr_ends(text, expr, GLK_NONE, (uint32_t)__builtin_ctzll(starts));
    }
    return ends;
}

static inline places after_byte(const symbols *text, uint8_t byte, places starts) {
    places ends = 0;
    for (; starts != 0; starts &= starts - 1) {
        uint32_t at = (uint32_t)__builtin_ctzll(starts);
        ends |= at < text->count && text->item[at] == byte ? (places)2 << at : 0;
    }
    return ends;
}

static inline places node_ends(uint32_t node, places starts) {
    places ends = 0;
    for (; starts != 0; starts &= starts - 1) {
        ends |= chart[node][__builtin_ctzll(starts)];
    }
    return ends;
}

typedef struct members { /* an object's list, see grammar.h */
    uint32_t count, free_count;
    bool any_order;
    const uint32_t *list, *free_list;
} members;

static inline members members_of(const glk_grammar *g, const glk_node *node) {
    const uint32_t *list = glk_node_list(g, node->b);
    return (members){.count = list[0],
                     .free_count = list[1],
                     .any_order = list[2] == GLK_ORDER_ANY,
                     .list = list + 3,
                     .free_list = list + 3 + 3 * (size_t)list[0]};
}

/* Members are seen as a set; in declared order a member counts as seen once it is passed.  Returns
 * the set after member m (of m >= count: a free one), or GLK_NONE if it may not come. */
static inline uint32_t seen_after(const members *all, uint32_t seen, uint32_t m) {
    uint32_t passed = (m < all->count ? 1u << m : 1u << all->count) - 1;
    if (m < all->count && (seen >> m & 1u) != 0) {
        return GLK_NONE;
    }
    for (uint32_t i = 0; i < all->count && !all->any_order; i++) {
        if ((passed >> i & 1u) != 0 && (seen >> i & 1u) == 0 && all->list[3 * i + 2] != 0) {
            return GLK_NONE;
        }
    }
    seen |= all->any_order ? 0 : passed;
    return m < all->count ? seen | 1u << m : seen;
}

static inline bool may_close(const members *all, uint32_t seen) {
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->list[3 * i + 2] != 0 && (seen >> i & 1u) == 0) {
            return false;
        }
    }
    return true;
}

/* From where a key may begin: *closed gains the places after "}". */
static inline void object_members(const symbols *text, const glk_node *node, const members *all,
                                  places at, uint32_t seen, uint32_t depth, places *closed) {
    for (uint32_t m = 0; m < all->count + all->free_count && at != 0 && depth < 8; m++) {
        const uint32_t *member = m < all->count ? all->list + 3 * m
                                                : all->free_list + 2 * (m - all->count);
        uint32_t after = seen_after(all, seen, m);
        if (after == GLK_NONE) {
            continue;
        }
        places ends = all_ends(text, node->a, all_ends(text, member[0], at));
        ends = all_ends(text, node->a, after_byte(text, ':', ends));
        ends = all_ends(text, node->a, node_ends(member[1], ends));
        *closed |= may_close(all, after) ? after_byte(text, '}', ends) : 0;
        ends = all_ends(text, node->a, after_byte(text, ',', ends));
        object_members(text, node, all, ends, after, depth + 1, closed);
    }
}

static inline places object_ends(const glk_grammar *g, const symbols *text, const glk_node *node,
                                 uint32_t start) {
    members all = members_of(g, node);
    places closed = 0, first = after_byte(text, '{', (places)1 << start);
    first = all_ends(text, node->a, first);
    closed |= may_close(&all, 0) ? after_byte(text, '}', first) : 0;
    object_members(text, node, &all, first, 0, 0, &closed);
    return closed;
}

static inline places repetition_ends(const glk_node *node, const symbols *text, uint32_t start) {
    places now = (places)1 << start, ends = 0;
    uint32_t rounds = text->count + 2; /* from there on nothing changes */
    for (uint32_t i = 0; i <= node->hi && i <= node->lo + rounds && now != 0; i++) {
        ends |= i >= node->lo ? now : 0;
        now = node_ends(node->a, now);
    }
    return ends;
}

static inline places tokens_end(const symbols *text, const uint32_t *list, uint32_t start) {
    for (uint32_t i = 0; i < list[0] && start < text->count; i++) {
        if (text->item[start] == SPECIAL + list[1 + i]) {
            return (places)2 << start;
        }
    }
    return 0;
}

static inline places ends_of(const glk_grammar *g, uint32_t id, const symbols *text,
                             uint32_t start) {
    const glk_node *node = glk_node_at(g, id);
    const uint32_t *list = glk_node_list(g, node->b);
    places ends = 0;
    switch ((glk_node_kind)node->kind) {
    case GLK_N_FAIL:
        return 0;
    case GLK_N_EMPTY:
        return (places)1 << start;
    case GLK_N_TERMINAL:
        return expr_ends(text, node->a, GLK_NONE, start);
    case GLK_N_SWITCH:
        for (uint32_t i = 0; i < list[0]; i++) {
            ends |= node_ends(list[2 + 2 * i], expr_ends(text, node->a, list[1 + 2 * i], start));
        }
        return ends;
    case GLK_N_SEQUENCE:
        ends = (places)1 << start;
        for (uint32_t i = 1; i <= list[0]; i++) {
            ends = node_ends(list[i], ends);
        }
        return ends;
    case GLK_N_CHOICE:
        for (uint32_t i = 1; i <= list[0]; i++) {
            ends |= chart[list[i]][start];
        }
        return ends;
    case GLK_N_REPETITION:
        return repetition_ends(node, text, start);
    case GLK_N_TOKENS:
        return tokens_end(text, list, start);
    case GLK_N_RULE:
        return node->a == GLK_NONE ? 0 : chart[node->a][start];
    case GLK_N_OBJECT:
        return object_ends(g, text, node, start);
    }
    return 0;
}

/* Whether the text is a sentence. */
static inline bool recognises(const glk_grammar *g, const symbols *text) {
    CHECK(g->nodes.count <= MOST_NODES && text->count <= MOST_SYMBOLS);
    memset(chart, 0, sizeof chart);
    for (bool again = true; again;) {
        again = false;
        for (uint32_t id = 0; id < g->nodes.count; id++) {
            for (uint32_t start = text->count + 1; start-- > 0;) {
                places ends = ends_of(g, id, text, start);
                again = again || ends != chart[id][start];
                chart[id][start] = ends;
            }
        }
    }
    return (chart[g->root][0] >> text->count & 1u) != 0;
}

/* ---- random sentences ---- */

static inline bool put_symbol(symbols *text, uint32_t symbol) {
    if (text->count == MOST_SYMBOLS) {
        return false;
    }
    text->item[text->count++] = symbol;
    return true;
}

/* A random string of the expression that ends with `label` (GLK_NONE: any). */
static inline bool put_string(symbols *text, uint32_t expr, uint32_t label) {
    for (;;) {
        places ends = 0;
        join_labels(expr, label, 0, &ends);
        if (ends != 0 && check_random(3) == 0) {
            return true;
        }
        uint8_t live[256];
        uint32_t count = 0, next[256];
        for (uint32_t byte = 0x20; byte < 0x7F; byte++) {
            uint32_t target_expr;
            CHECK_OK(glk_expr_derive(source, expr, (uint8_t)byte, &target_expr, NULL));
            if (target_expr != GLK_EXPR_NEVER) {
                live[count] = (uint8_t)byte;
                next[count++] = target_expr;
            }
        }
        if (count == 0) {
            return ends != 0;
        }
        uint32_t chosen = check_random(count);
        if (!put_symbol(text, live[chosen])) {
            return false;
        }
        expr = next[chosen];
    }
}

static inline bool put_sentence(const glk_grammar *g, uint32_t id, uint32_t depth, symbols *text);

static inline bool put_object(const glk_grammar *g, const glk_node *node, uint32_t depth,
                              symbols *text) {
    members all = members_of(g, node);
    uint32_t seen = 0, total = all.count + all.free_count, written = 0;
    bool good = put_symbol(text, '{') && put_string(text, node->a, GLK_NONE);
    for (uint32_t tries = 0; good && total > 0 && tries < 20; tries++) {
        uint32_t m = check_random(total), after = seen_after(&all, seen, m);
        if (after == GLK_NONE || (may_close(&all, seen) && check_random(2) == 0)) {
            continue;
        }
        const uint32_t *member = m < all.count ? all.list + 3 * m
                                               : all.free_list + 2 * (m - all.count);
        good = (written++ == 0 || (put_symbol(text, ',') && put_string(text, node->a, GLK_NONE))) &&
               put_string(text, member[0], GLK_NONE) && put_string(text, node->a, GLK_NONE) &&
               put_symbol(text, ':') && put_string(text, node->a, GLK_NONE) &&
               put_sentence(g, member[1], depth + 1, text) && put_string(text, node->a, GLK_NONE);
        seen = after;
    }
    return good && may_close(&all, seen) && put_symbol(text, '}');
}

/* Appends a random sentence of a node; false: tried in vain. */
static inline bool put_sentence(const glk_grammar *g, uint32_t id, uint32_t depth, symbols *text) {
    const glk_node *node = glk_node_at(g, id);
    const uint32_t *list = glk_node_list(g, node->b);
    uint32_t count = 0, chosen = 0;
    bool good = true;
    if (depth > 40) {
        return false;
    }
    switch ((glk_node_kind)node->kind) {
    case GLK_N_FAIL:
        return false;
    case GLK_N_EMPTY:
        return true;
    case GLK_N_TERMINAL:
        return put_string(text, node->a, GLK_NONE);
    case GLK_N_SWITCH:
        chosen = check_random(list[0]);
        return put_string(text, node->a, list[1 + 2 * chosen]) &&
               put_sentence(g, list[2 + 2 * chosen], depth + 1, text);
    case GLK_N_SEQUENCE:
        for (uint32_t i = 1; i <= list[0] && good; i++) {
            good = put_sentence(g, list[i], depth + 1, text);
        }
        return good;
    case GLK_N_CHOICE:
        return list[0] > 0 && put_sentence(g, list[1 + check_random(list[0])], depth + 1, text);
    case GLK_N_REPETITION:
        count = node->lo + check_random(node->hi - node->lo < 4 ? node->hi - node->lo + 1 : 4);
        for (uint32_t i = 0; i < count && good; i++) {
            good = put_sentence(g, node->a, depth + 1, text);
        }
        return good;
    case GLK_N_TOKENS:
        return list[0] > 0 && put_symbol(text, SPECIAL + list[1 + check_random(list[0])]);
    case GLK_N_RULE:
        return node->a != GLK_NONE && put_sentence(g, node->a, depth + 1, text);
    case GLK_N_OBJECT:
        return put_object(g, node, depth, text);
    }
    return false;
}

static inline bool random_sentence(const glk_grammar *g, symbols *text) {
    for (uint32_t tries = 0; tries < 30; tries++) {
        text->count = 0;
        if (put_sentence(g, g->root, 0, text)) {
            return true;
        }
    }
    return false;
}

/* ---- vocabularies of pieces ---- */

enum { END = 0, SPECIALS = 4 }; /* ids 0: the end; 1 .. 3: without text */

/* All printable bytes, and pieces of sentences of up to `longest` bytes. */
static inline glk_vocab *vocab_of(const glk_grammar *g, uint32_t pieces, uint32_t longest,
                                  uint64_t budget) {
    static const uint32_t ends[] = {END};
    add_word("<end>");
    for (uint32_t i = 1; i < SPECIALS; i++) {
        add_word("");
    }
    add_bytes(0x20, 0x7E);
    for (uint32_t i = 0; i < pieces; i++) {
        symbols text;
        uint8_t piece[MOST_SYMBOLS];
        uint32_t count = 0;
        if (!random_sentence(g, &text) || text.count < 2) {
            continue;
        }
        uint32_t from = check_random(text.count - 1), wanted = 2 + check_random(longest - 1);
        while (count < wanted && from + count < text.count && text.item[from + count] < SPECIAL) {
            piece[count] = (uint8_t)text.item[from + count];
            count++;
        }
        add_token(piece, count);
    }
    return make_vocab(ends, 1, budget);
}

#endif
