/* containers.h -- containers for tests: drafts that are put together class by class, plain objects,
 * and what a formula means, read off its definition. */
#ifndef CONTAINERS_H
#define CONTAINERS_H

#include "check.h"
#include "grammar.h"

/* ---- drafts ---- */

enum { DRAFT_CLASSES = 8, DRAFT_CHOICES = 32, DRAFT_WORDS = 200 };

typedef struct draft {
    glk_container_shape shape;
    glk_member_class classes[DRAFT_CLASSES];
    glk_member_choice choices[DRAFT_CHOICES];
    uint32_t choice_count, formula[DRAFT_WORDS], words;
} draft;

/* No class yet; the same white space everywhere. */
static inline draft draft_of(uint32_t flags, uint32_t ordered, uint32_t gap) {
    return (draft){.shape = {.flags = flags,
                             .ordered = ordered,
                             .open = gap,
                             .close = gap,
                             .before_comma = gap,
                             .after_comma = gap,
                             .before_colon = gap,
                             .after_colon = gap}};
}

/* Named classes come before free ones. */
static inline void draft_named(draft *self, uint32_t key, bool required) {
    CHECK(self->shape.free == 0 && self->shape.named < DRAFT_CLASSES);
    self->classes[self->shape.named++] = (glk_member_class){.key = key, .required = required};
}

static inline void draft_free(draft *self, uint32_t key) {
    uint32_t at = self->shape.named + self->shape.free++;
    CHECK(at < DRAFT_CLASSES);
    self->classes[at] = (glk_member_class){.key = key};
}

/* A choice of the class that was added last. */
static inline void draft_choice(draft *self, uint32_t value, uint32_t literals) {
    CHECK(self->choice_count < DRAFT_CHOICES);
    self->choices[self->choice_count++] = (glk_member_choice){value, literals};
    self->classes[self->shape.named + self->shape.free - 1].choices++;
}

static inline void draft_word(draft *self, uint32_t word) {
    CHECK(self->words < DRAFT_WORDS);
    self->formula[self->words++] = word;
}

/* Both give the number of the new node. */
static inline uint32_t draft_atom(draft *self, uint32_t kind, uint32_t bound, const uint32_t *pairs,
                                  size_t words) {
    if (self->words == 0) {
        draft_word(self, 0);
    }
    draft_word(self, kind);
    draft_word(self, bound);
    draft_word(self, (uint32_t)words / 2);
    for (size_t i = 0; i < words; i++) {
        draft_word(self, pairs[i]);
    }
    return self->formula[0]++;
}

static inline uint32_t draft_join(draft *self, uint32_t kind, const uint32_t *parts,
                                  size_t count) {
    draft_word(self, kind);
    draft_word(self, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        draft_word(self, parts[i]);
    }
    return self->formula[0]++;
}

static inline glk_status draft_add(const draft *self, glk_grammar *g, uint32_t *out,
                                   glk_error *error) {
    return glk_grammar_container(g, &self->shape, self->classes, self->choices,
                                 self->choice_count, self->formula, self->words, out, error);
}

static inline uint32_t draft_done(const draft *self, glk_grammar *g) {
    uint32_t id;
    CHECK_OK(draft_add(self, g, &id, NULL));
    return id;
}

/* ---- plain objects ---- */

typedef struct plain_member {
    uint32_t key, value, required;
} plain_member;

typedef enum plain_order { DECLARED_ORDER, ANY_ORDER } plain_order;

/* `members`, each at most once, and any number of `extra`. */
static inline uint32_t plain_object(glk_grammar *g, uint32_t gap, const plain_member *members,
                                    size_t count, const plain_member *extra, size_t extra_count,
                                    plain_order order) {
    uint32_t id;
    size_t all = count + extra_count;
    glk_member_class *classes = check_memory(all * sizeof *classes);
    glk_member_choice *choices = check_memory(all * sizeof *choices);
    draft plain = draft_of(0, order == ANY_ORDER ? 0 : (uint32_t)count, gap);
    plain.shape.named = (uint32_t)count;
    plain.shape.free = (uint32_t)extra_count;
    for (size_t i = 0; i < all; i++) {
        const plain_member *member = i < count ? members + i : extra + (i - count);
        classes[i] = (glk_member_class){member->key, i < count ? member->required : 0, 1};
        choices[i] = (glk_member_choice){member->value, 0};
    }
    CHECK_OK(glk_grammar_container(g, &plain.shape, classes, choices, all, NULL, 0, &id, NULL));
    free(classes);
    free(choices);
    return id;
}

/* ---- what a formula means ---- */

typedef struct met_member {
    uint32_t class, literals;
} met_member;

static inline bool pair_covers(const uint32_t *pair, met_member member, bool hit) {
    bool has = pair[1] == GLK_PRESENCE || ((member.literals >> pair[1] & 1u) != 0) == hit;
    return (pair[0] == GLK_EVERY || pair[0] == member.class) && has;
}

/* How many members hit (miss) one of the atom's pairs. */
static inline uint32_t covered(const glk_formula_node *atom, const met_member *members,
                               uint32_t count, bool hit) {
    uint32_t found = 0;
    for (uint32_t m = 0; m < count; m++) {
        bool any = false;
        for (uint32_t i = 0; i < atom->count && !any; i++) {
            any = pair_covers(atom->items + 2 * i, members[m], hit);
        }
        found += any;
    }
    return found;
}

/* Whether the formula holds of exactly these members. */
static inline bool formula_holds(const glk_container *container, const met_member *members,
                                 uint32_t count) {
    bool holds[DRAFT_WORDS];
    const uint32_t *at = container->formula + 1;
    uint32_t nodes = glk_formula_size(container);
    CHECK(nodes <= DRAFT_WORDS);
    for (uint32_t id = 0; id < nodes; id++) {
        glk_formula_node node;
        at = glk_formula_read(at, &node);
        if (node.kind == GLK_F_AT_LEAST) {
            holds[id] = covered(&node, members, count, true) >= node.bound;
        } else if (node.kind == GLK_F_ALL_BUT) {
            holds[id] = covered(&node, members, count, false) <= node.bound;
        } else {
            holds[id] = node.kind == GLK_F_AND;
            for (uint32_t i = 0; i < node.count; i++) {
                holds[id] = node.kind == GLK_F_AND ? holds[id] && holds[node.items[i]]
                                                   : holds[id] || holds[node.items[i]];
            }
        }
    }
    return nodes == 0 || holds[nodes - 1];
}

#endif
