/* machines.h -- what the tests of parser and matcher share: a chart recogniser for grammars, random
 * sentences, and vocabularies made of pieces of them.
 *
 * The recogniser works on the grammar itself, before any rewriting: for every node and start it
 * holds the set of ends, as the least fixpoint of what the nodes mean. */
#ifndef MACHINES_H
#define MACHINES_H

#include "containers.h"
#include "grammar.h"
#include "matcher.h"
#include "rewriting.h"
#include "vocabularies.h"

enum { MOST_SYMBOLS = 60, MOST_NODES = 400, SPECIAL = 256 };

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

/* ---- the chart: containers ---- */

enum { MOST_MET = 8 };

/* A way into a container: the members so far. */
typedef struct way {
    const symbols *text;
    glk_container of;
    met_member met[MOST_MET];
    uint32_t from[MOST_MET], to[MOST_MET]; /* what must differ: an item, a free key */
    uint32_t count;
} way;

static inline bool is_array(const way *self) { return (self->of.flags & GLK_ARRAY) != 0; }

/* Without members it has no white space. */
static inline bool is_bare(const way *self) {
    return (self->of.flags & GLK_BARE) != 0 ||
           self->of.gaps[GLK_GAP_OPEN] != self->of.gaps[GLK_GAP_CLOSE];
}

static inline bool has_met(const way *self, uint32_t class) {
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->met[i].class == class) {
            return true;
        }
    }
    return false;
}

/* Whether a member of this class may come next, as far as order goes. */
static inline bool fits_in(const way *self, uint32_t class) {
    if (is_array(self)) {
        return class == (self->count < self->of.named ? self->count : self->of.named);
    }
    for (uint32_t i = 0; i < self->count; i++) {
        uint32_t earlier = self->met[i].class;
        if ((class < self->of.ordered && earlier > class) ||
            (class < self->of.named && earlier == class)) {
            return false;
        }
    }
    return true;
}

/* Test values and keys have one spelling each, so that equal ones are equal texts. */
static inline bool repeats(const way *self, uint32_t class, uint32_t from, uint32_t to) {
    if ((self->of.flags & GLK_UNIQUE) == 0 || (!is_array(self) && class < self->of.named)) {
        return false;
    }
    for (uint32_t i = 0; i < self->count; i++) {
        if ((is_array(self) || self->met[i].class >= self->of.named) &&
            self->to[i] - self->from[i] == to - from &&
            memcmp(self->text->item + self->from[i], self->text->item + from,
                   (to - from) * sizeof(uint32_t)) == 0) {
            return true;
        }
    }
    return false;
}

static inline bool may_close(const way *self) {
    for (uint32_t k = 0; k < self->of.named; k++) {
        if (glk_class_required(&self->of, k) && !has_met(self, k)) {
            return false;
        }
    }
    return formula_holds(&self->of, self->met, self->count);
}

static inline void go_on(way *self, places at, places *closed);

/* After a member, whose value ended at `ends`. */
static inline void after_member(way *self, met_member member, uint32_t from, uint32_t to,
                                places ends, places *closed) {
    const uint32_t *gaps = self->of.gaps;
    if (ends == 0 || self->count == MOST_MET || repeats(self, member.class, from, to)) {
        return;
    }
    self->met[self->count] = member;
    self->from[self->count] = from;
    self->to[self->count++] = to;
    if (may_close(self)) {
        places close = all_ends(self->text, gaps[GLK_GAP_CLOSE], ends);
        *closed |= after_byte(self->text, is_array(self) ? ']' : '}', close);
    }
    ends = after_byte(self->text, ',', all_ends(self->text, gaps[GLK_GAP_COMMA], ends));
    go_on(self, all_ends(self->text, gaps[GLK_GAP_ITEM], ends), closed);
    self->count--;
}

/* One choice for a member that begins at `start`. */
static inline void try_choice(way *self, uint32_t class, uint32_t choice, uint32_t start,
                              places *closed) {
    const uint32_t *gaps = self->of.gaps;
    uint32_t value = glk_choice_value(&self->of, choice);
    met_member member = {class, glk_choice_literals(&self->of, choice)};
    places ends = is_array(self) ? chart[value][start]
                                 : expr_ends(self->text, glk_class_key(&self->of, class), GLK_NONE,
                                             start);
    for (; ends != 0; ends &= ends - 1) {
        uint32_t to = (uint32_t)__builtin_ctzll(ends);
        places after = (places)1 << to;
        if (!is_array(self)) {
            after = after_byte(self->text, ':', all_ends(self->text, gaps[GLK_GAP_COLON], after));
            after = node_ends(value, all_ends(self->text, gaps[GLK_GAP_VALUE], after));
        }
        after_member(self, member, start, to, after, closed);
    }
}

/* From where a member may begin: *closed gains the places after the closing bracket. */
static inline void go_on(way *self, places at, places *closed) {
    for (; at != 0; at &= at - 1) {
        uint32_t start = (uint32_t)__builtin_ctzll(at);
        for (uint32_t k = 0; k < glk_container_classes(&self->of); k++) {
            uint32_t choice = glk_class_first(&self->of, k);
            for (uint32_t i = 0; fits_in(self, k) && i < glk_class_count(&self->of, k); i++) {
                try_choice(self, k, choice + i, start, closed);
            }
        }
    }
}

static inline places container_ends(const glk_grammar *g, const symbols *text,
                                    const glk_node *node, uint32_t start) {
    way self = {.text = text, .of = glk_container_view(glk_node_list(g, node->b))};
    const uint32_t *gaps = self.of.gaps;
    places closed = 0, bare = after_byte(text, is_array(&self) ? '[' : '{', (places)1 << start);
    places first = all_ends(text, gaps[GLK_GAP_OPEN], bare);
    if (may_close(&self)) {
        closed = after_byte(text, is_array(&self) ? ']' : '}', is_bare(&self) ? bare : first);
    }
    go_on(&self, first, &closed);
    return closed;
}

/* ---- the chart: everything ---- */

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
    case GLK_N_CONTAINER:
        return container_ends(g, text, node, start);
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

static inline bool put_gap(const way *self, symbols *text, uint32_t gap) {
    return put_string(text, self->of.gaps[gap], GLK_NONE);
}

/* One more member, of a random class and choice, if it may come here. */
static inline bool put_member(const glk_grammar *g, way *self, uint32_t depth, symbols *text) {
    uint32_t k = check_random(glk_container_classes(&self->of)), before = text->count;
    if (!fits_in(self, k) || glk_class_count(&self->of, k) == 0 || self->count == MOST_MET) {
        return true;
    }
    uint32_t choice = glk_class_first(&self->of, k) + check_random(glk_class_count(&self->of, k));
    bool good = self->count == 0 || (put_gap(self, text, GLK_GAP_COMMA) && put_symbol(text, ',') &&
                                     put_gap(self, text, GLK_GAP_ITEM));
    uint32_t from = text->count, to = from;
    if (good && !is_array(self)) {
        good = put_string(text, glk_class_key(&self->of, k), GLK_NONE);
        to = text->count;
        good = good && put_gap(self, text, GLK_GAP_COLON) && put_symbol(text, ':') &&
               put_gap(self, text, GLK_GAP_VALUE);
    }
    good = good && put_sentence(g, glk_choice_value(&self->of, choice), depth + 1, text);
    to = is_array(self) ? text->count : to;
    if (!good || repeats(self, k, from, to)) {
        text->count = before;
        return good;
    }
    self->met[self->count] = (met_member){k, glk_choice_literals(&self->of, choice)};
    self->from[self->count] = from;
    self->to[self->count++] = to;
    return true;
}

static inline bool put_container(const glk_grammar *g, const glk_node *node, uint32_t depth,
                                 symbols *text) {
    way self = {.text = text, .of = glk_container_view(glk_node_list(g, node->b))};
    bool good = put_symbol(text, is_array(&self) ? '[' : '{');
    uint32_t bare = text->count;
    good = good && put_gap(&self, text, GLK_GAP_OPEN);
    for (uint32_t tries = 0; good && tries < 20 && glk_container_classes(&self.of) > 0; tries++) {
        if (!may_close(&self) || check_random(2) == 0) {
            good = put_member(g, &self, depth, text);
        }
    }
    if (good && self.count > 0) {
        good = put_gap(&self, text, GLK_GAP_CLOSE);
    } else if (is_bare(&self)) {
        text->count = bare;
    }
    return good && may_close(&self) && put_symbol(text, is_array(&self) ? ']' : '}');
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
    case GLK_N_CONTAINER:
        return put_container(g, node, depth, text);
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
