/* serial.c -- glk_grammar_write and glk_grammar_read, see gramlock.h.  Tested by tests/test_serial.py.
 *
 * A grammar is written as u32 words, in the order in which it can be built again: the expressions that
 * it reaches, parts before wholes, then its nodes, then the bodies of its rules.  Ids are numbered anew,
 * from the fixed ones on.
 *
 *     expressions   count, then each: kind and
 *                       CLASS 8 words | CAT head tail | OR, AND count members | NOT item
 *                       REP item low high | TAG label
 *     nodes         count, then each: kind and
 *                       TERMINAL expression | SWITCH expression count (label node)* | SEQUENCE, CHOICE
 *                       count nodes | REPETITION node low high | TOKENS count ids | RULE |
 *                       CONTAINER length and its list (formula.h)
 *     rules         count, then each: rule, body
 *     root
 *
 * Reading goes through the ordinary constructors, which check everything they are given, so words that
 * are wrong are an error or another grammar, never a broken one. */
#include "grammar.h"

enum { FIXED_EXPRS = 3, FIXED_NODES = 2, CLASS_WORDS = 8 };

/* ------------------------------------------------------------------ writing */

typedef struct writer {
    const glk_grammar *grammar;
    glk_vec exprs, nodes; /* u32: the ids reached; in ascending order at the end */
    glk_index known_exprs, known_nodes;
    glk_vec words;        /* u32 */
    glk_error *err;
} writer;

/* Lists an id once; the fixed ones are not listed. */
static glk_status reach(writer *self, glk_vec *ids, glk_index *known, uint32_t id,
                        uint32_t fixed) {
    uint32_t hash = id * 0x9E3779B1u, found;
    glk_probe probe = glk_probe_start(known, hash);
    while (glk_probe_next(known, &probe, &found)) {
        if (found == id) {
            return GLK_OK;
        }
    }
    if (id < fixed) {
        return GLK_OK;
    }
    GLK_TRY(glk_index_add(known, hash, id, self->err));
    return glk_vec_push_u32(ids, id, self->err);
}

static glk_status reach_expr(writer *self, uint32_t id) {
    return reach(self, &self->exprs, &self->known_exprs, id, FIXED_EXPRS);
}

static glk_status reach_node(writer *self, uint32_t id) {
    return reach(self, &self->nodes, &self->known_nodes, id, FIXED_NODES);
}

static glk_status reach_parts(writer *self, const glk_expr *e) {
    switch ((glk_expr_kind)e->kind) {
    case GLK_CAT:
        GLK_TRY(reach_expr(self, e->b));
        return reach_expr(self, e->a);
    case GLK_NOT:
    case GLK_REP:
        return reach_expr(self, e->a);
    case GLK_OR:
    case GLK_AND:
        for (uint32_t i = 0; i < e->b; i++) {
            GLK_TRY(reach_expr(self, e->list[i]));
        }
        return GLK_OK;
    default:
        return GLK_OK;
    }
}

static glk_status reach_container(writer *self, const uint32_t *list) {
    glk_container c = glk_container_view(list);
    for (uint32_t i = 0; i <= GLK_GAP_VALUE; i++) {
        GLK_TRY(reach_expr(self, c.gaps[i]));
    }
    for (uint32_t i = 0; i < c.named + c.free && (c.flags & GLK_ARRAY) == 0; i++) {
        GLK_TRY(reach_expr(self, c.classes[GLK_CLASS_WORDS * i]));
    }
    for (uint32_t i = 0; i < c.choice_count; i++) {
        GLK_TRY(reach_node(self, c.choices[GLK_CHOICE_WORDS * i]));
    }
    return GLK_OK;
}

static glk_status reach_children(writer *self, const glk_node *node) {
    const uint32_t *list = glk_node_list(self->grammar, node->b);
    switch ((glk_node_kind)node->kind) {
    case GLK_N_TERMINAL:
        return reach_expr(self, node->a);
    case GLK_N_SWITCH:
        for (uint32_t i = 0; i < list[0]; i++) {
            GLK_TRY(reach_node(self, list[2 + 2 * i]));
        }
        return reach_expr(self, node->a);
    case GLK_N_SEQUENCE:
    case GLK_N_CHOICE:
        for (uint32_t i = 0; i < list[0]; i++) {
            GLK_TRY(reach_node(self, list[1 + i]));
        }
        return GLK_OK;
    case GLK_N_REPETITION:
        return reach_node(self, node->a);
    case GLK_N_RULE:
        return node->a == GLK_NONE ? GLK_OK : reach_node(self, node->a);
    case GLK_N_CONTAINER:
        return reach_container(self, list);
    default:
        return GLK_OK;
    }
}

/* Everything in reach, sorted: parts have smaller ids than what they are in, but bodies of rules. */
static glk_status reach_all(writer *self) {
    GLK_TRY(reach_node(self, self->grammar->root));
    for (uint32_t i = 0; i < self->nodes.count; i++) {
        GLK_TRY(reach_children(self, glk_node_at(self->grammar, GLK_VEC_U32(&self->nodes)[i])));
    }
    for (uint32_t i = 0; i < self->exprs.count; i++) {
        GLK_TRY(reach_parts(
            self, glk_expr_at(self->grammar->exprs, GLK_VEC_U32(&self->exprs)[i])));
    }
    self->nodes.count = glk_sort_unique(GLK_VEC_U32(&self->nodes), self->nodes.count);
    self->exprs.count = glk_sort_unique(GLK_VEC_U32(&self->exprs), self->exprs.count);
    return GLK_OK;
}

static uint32_t renumber(const glk_vec *ids, uint32_t id, uint32_t fixed) {
    const uint32_t *items = ids->data;
    uint32_t low = 0, high = ids->count;
    if (id < fixed) {
        return id;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (items[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low + fixed;
}

static uint32_t expr_place(const writer *self, uint32_t id) {
    return renumber(&self->exprs, id, FIXED_EXPRS);
}
static uint32_t node_place(const writer *self, uint32_t id) {
    return renumber(&self->nodes, id, FIXED_NODES);
}

static glk_status put(writer *self, uint32_t word) {
    return glk_vec_push_u32(&self->words, word, self->err);
}

static glk_status put_expr(writer *self, const glk_expr *e) {
    GLK_TRY(put(self, e->kind));
    switch ((glk_expr_kind)e->kind) {
    case GLK_CLASS:
        for (uint32_t i = 0; i < CLASS_WORDS; i++) {
            GLK_TRY(put(self, (uint32_t)(e->first.word[i / 2] >> (i % 2 == 0 ? 0 : 32))));
        }
        return GLK_OK;
    case GLK_CAT:
        GLK_TRY(put(self, expr_place(self, e->a)));
        return put(self, expr_place(self, e->b));
    case GLK_OR:
    case GLK_AND:
        GLK_TRY(put(self, e->b));
        for (uint32_t i = 0; i < e->b; i++) {
            GLK_TRY(put(self, expr_place(self, e->list[i])));
        }
        return GLK_OK;
    case GLK_REP:
        GLK_TRY(put(self, expr_place(self, e->a)));
        GLK_TRY(put(self, e->lo));
        return put(self, e->hi);
    case GLK_TAG:
        return put(self, e->a);
    default: /* NOT; NEVER and EPSILON are fixed */
        return put(self, expr_place(self, e->a));
    }
}

static glk_status put_container(writer *self, const uint32_t *list) {
    glk_container c = glk_container_view(list);
    uint32_t length = glk_container_length(list);
    GLK_TRY(put(self, length));
    for (uint32_t i = 0; i < length; i++) {
        uint32_t word = list[i];
        const uint32_t *at = list + i;
        bool key = at >= c.classes && at < c.choices && (at - c.classes) % GLK_CLASS_WORDS == 0;
        bool value = at >= c.choices && at < c.formula && (at - c.choices) % GLK_CHOICE_WORDS == 0;
        if ((at >= c.gaps && at <= c.gaps + GLK_GAP_VALUE) ||
            (key && (c.flags & GLK_ARRAY) == 0)) {
            word = expr_place(self, word);
        } else if (value) {
            word = node_place(self, word);
        }
        GLK_TRY(put(self, word));
    }
    return GLK_OK;
}

static glk_status put_node(writer *self, const glk_node *node) {
    const uint32_t *list = glk_node_list(self->grammar, node->b);
    GLK_TRY(put(self, node->kind));
    switch ((glk_node_kind)node->kind) {
    case GLK_N_TERMINAL:
        return put(self, expr_place(self, node->a));
    case GLK_N_SWITCH:
        GLK_TRY(put(self, expr_place(self, node->a)));
        GLK_TRY(put(self, list[0]));
        for (uint32_t i = 0; i < list[0]; i++) {
            GLK_TRY(put(self, list[1 + 2 * i]));
            GLK_TRY(put(self, node_place(self, list[2 + 2 * i])));
        }
        return GLK_OK;
    case GLK_N_SEQUENCE:
    case GLK_N_CHOICE:
    case GLK_N_TOKENS:
        GLK_TRY(put(self, list[0]));
        for (uint32_t i = 0; i < list[0]; i++) {
            bool id = node->kind == GLK_N_TOKENS;
            GLK_TRY(put(self, id ? list[1 + i] : node_place(self, list[1 + i])));
        }
        return GLK_OK;
    case GLK_N_REPETITION:
        GLK_TRY(put(self, node_place(self, node->a)));
        GLK_TRY(put(self, node->lo));
        return put(self, node->hi);
    case GLK_N_CONTAINER:
        return put_container(self, list);
    default: /* RULE */
        return GLK_OK;
    }
}

static glk_status put_rules(writer *self) {
    uint32_t at = self->words.count, count = 0;
    GLK_TRY(put(self, 0));
    for (uint32_t i = 0; i < self->nodes.count; i++) {
        const glk_node *node = glk_node_at(self->grammar, GLK_VEC_U32(&self->nodes)[i]);
        if (node->kind == GLK_N_RULE && node->a != GLK_NONE) {
            GLK_TRY(put(self, i + FIXED_NODES));
            GLK_TRY(put(self, node_place(self, node->a)));
            count++;
        }
    }
    GLK_VEC_U32(&self->words)[at] = count;
    return GLK_OK;
}

static glk_status put_all(writer *self) {
    GLK_TRY(reach_all(self));
    GLK_TRY(put(self, self->exprs.count));
    for (uint32_t i = 0; i < self->exprs.count; i++) {
        GLK_TRY(put_expr(self, glk_expr_at(self->grammar->exprs,
                                           GLK_VEC_U32(&self->exprs)[i])));
    }
    GLK_TRY(put(self, self->nodes.count));
    for (uint32_t i = 0; i < self->nodes.count; i++) {
        GLK_TRY(put_node(self, glk_node_at(self->grammar, GLK_VEC_U32(&self->nodes)[i])));
    }
    GLK_TRY(put_rules(self));
    return put(self, node_place(self, self->grammar->root));
}

glk_status glk_grammar_write(glk_grammar *self, uint32_t *words, size_t capacity, size_t *needed,
                             glk_error *err) {
    writer job = {.grammar = self, .err = err};
    glk_vec *all[] = {&job.exprs, &job.nodes, &job.words};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        glk_vec_init(all[i], NULL, sizeof(uint32_t));
    }
    glk_index_init(&job.known_exprs, NULL);
    glk_index_init(&job.known_nodes, NULL);
    (void)pthread_mutex_lock(&self->exprs->lock);
    glk_status status = put_all(&job);
    (void)pthread_mutex_unlock(&self->exprs->lock);
    if (status == GLK_OK) {
        *needed = job.words.count;
        if (job.words.count <= capacity) {
            memcpy(words, job.words.data, job.words.count * sizeof *words);
        }
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        glk_vec_free(all[i]);
    }
    glk_index_free(&job.known_exprs);
    glk_index_free(&job.known_nodes);
    return status;
}

/* ------------------------------------------------------------------ reading */

typedef struct reader {
    glk_grammar *grammar;
    const uint32_t *words;
    size_t count, at;
    glk_vec exprs, nodes; /* u32: ids by place */
    glk_vec list, pairs;  /* u32; scratch */
    glk_error *err;
} reader;

static glk_status damaged(const reader *self, const char *what) {
    return glk_fail(self->err, GLK_ERR_DAMAGED, "word %zu of a grammar: %s", self->at, what);
}

static glk_status get(reader *self, uint32_t *out) {
    *out = 0;
    if (self->at >= self->count) {
        return damaged(self, "there are too few");
    }
    *out = self->words[self->at++];
    return GLK_OK;
}

/* A count of things of at least so many words each, which must be there. */
static glk_status get_count(reader *self, uint32_t words_each, uint32_t *out) {
    GLK_TRY(get(self, out));
    return *out > (self->count - self->at) / words_each ? damaged(self, "there are too few")
                                                        : GLK_OK;
}

static glk_status at_place(reader *self, const glk_vec *ids, uint32_t place, uint32_t *out) {
    if (place >= ids->count) {
        return damaged(self, "it names what has not been built");
    }
    *out = GLK_VEC_U32(ids)[place];
    return GLK_OK;
}

static glk_status get_expr(reader *self, uint32_t *out) {
    uint32_t place;
    GLK_TRY(get(self, &place));
    return at_place(self, &self->exprs, place, out);
}

static glk_status get_node(reader *self, uint32_t *out) {
    uint32_t place;
    GLK_TRY(get(self, &place));
    return at_place(self, &self->nodes, place, out);
}

/* A count and so many places, as ids in `list`. */
static glk_status get_list(reader *self, const glk_vec *ids) {
    uint32_t count, id;
    GLK_TRY(get_count(self, 1, &count));
    self->list.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        GLK_TRY(get(self, &id));
        if (ids != NULL) {
            GLK_TRY(at_place(self, ids, id, &id));
        }
        GLK_TRY(glk_vec_push_u32(&self->list, id, self->err));
    }
    return GLK_OK;
}

static glk_status read_class(reader *self, uint32_t *out) {
    glk_bytes set = {{0}};
    for (uint32_t i = 0; i < CLASS_WORDS; i++) {
        uint32_t word;
        GLK_TRY(get(self, &word));
        set.word[i / 2] |= (uint64_t)word << (i % 2 == 0 ? 0 : 32);
    }
    return glk_expr_class(self->grammar->exprs, &set, out, self->err);
}

static glk_status read_expr(reader *self, uint32_t *out) {
    glk_exprs *store = self->grammar->exprs;
    uint32_t kind, a, b, c;
    GLK_TRY(get(self, &kind));
    switch (kind) {
    case GLK_CLASS:
        return read_class(self, out);
    case GLK_CAT:
        GLK_TRY(get_expr(self, &a));
        GLK_TRY(get_expr(self, &b));
        return glk_expr_cat(store, a, b, out, self->err);
    case GLK_OR:
    case GLK_AND:
        GLK_TRY(get_list(self, &self->exprs));
        return kind == GLK_OR
                   ? glk_expr_or(store, self->list.data, self->list.count, out, self->err)
                   : glk_expr_and(store, self->list.data, self->list.count, out, self->err);
    case GLK_NOT:
        GLK_TRY(get_expr(self, &a));
        return glk_expr_not(store, a, out, self->err);
    case GLK_REP:
        GLK_TRY(get_expr(self, &a));
        GLK_TRY(get(self, &b));
        GLK_TRY(get(self, &c));
        return glk_expr_rep(store, a, b, c, out, self->err);
    case GLK_TAG:
        GLK_TRY(get(self, &a));
        return glk_expr_tag(store, a, out, self->err);
    default:
        return damaged(self, "no kind of expression");
    }
}

static glk_status read_switch(reader *self, uint32_t *out) {
    uint32_t expr, count, label, node;
    GLK_TRY(get_expr(self, &expr));
    GLK_TRY(get_count(self, 2, &count));
    self->list.count = self->pairs.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        GLK_TRY(get(self, &label));
        GLK_TRY(get_node(self, &node));
        GLK_TRY(glk_vec_push_u32(&self->pairs, label, self->err));
        GLK_TRY(glk_vec_push_u32(&self->list, node, self->err));
    }
    return glk_grammar_switch(self->grammar, expr, self->pairs.data, self->list.data, count, out,
                              self->err);
}

/* The list of a container with ids in place of places; *length words. */
static glk_status get_container(reader *self) {
    uint32_t length, word, id;
    GLK_TRY(get_count(self, 1, &length));
    const uint32_t *from = self->words + self->at;
    if (length < GLK_CONTAINER_HEADER) {
        return damaged(self, "a container is too short");
    }
    uint64_t classes = (uint64_t)from[0] + from[1];
    uint64_t choices_at = GLK_CONTAINER_HEADER + GLK_CLASS_WORDS * classes;
    uint64_t formula_at = choices_at + (uint64_t)GLK_CHOICE_WORDS * from[4];
    if (formula_at + from[5] != length) {
        return damaged(self, "a container's parts are not as long as it is");
    }
    self->list.count = 0;
    for (uint32_t i = 0; i < length; i++) {
        bool gap = i >= 6 && i < GLK_CONTAINER_HEADER;
        bool key = i >= GLK_CONTAINER_HEADER && i < choices_at && (from[3] & GLK_ARRAY) == 0 &&
                   (i - GLK_CONTAINER_HEADER) % GLK_CLASS_WORDS == 0;
        bool value = i >= choices_at && i < formula_at && (i - choices_at) % GLK_CHOICE_WORDS == 0;
        GLK_TRY(get(self, &word));
        id = word;
        if (gap || key) {
            GLK_TRY(at_place(self, &self->exprs, word, &id));
        } else if (value) {
            GLK_TRY(at_place(self, &self->nodes, word, &id));
        }
        GLK_TRY(glk_vec_push_u32(&self->list, id, self->err));
    }
    return GLK_OK;
}

static glk_status build_container(reader *self, glk_member_class *classes,
                                  glk_member_choice *choices, uint32_t *out) {
    glk_container c = glk_container_view(self->list.data);
    uint32_t next = 0;
    for (uint32_t i = 0; i < c.named + c.free; i++) {
        const uint32_t *from = c.classes + GLK_CLASS_WORDS * (size_t)i;
        classes[i] = (glk_member_class){.key = from[0], .required = from[1], .choices = from[3]};
        if (from[2] != next || from[3] > c.choice_count - next) {
            return damaged(self, "a container's choices are out of order");
        }
        next += from[3];
    }
    for (uint32_t i = 0; i < c.choice_count; i++) {
        const uint32_t *from = c.choices + GLK_CHOICE_WORDS * (size_t)i;
        choices[i] = (glk_member_choice){.value = from[0], .literals = from[1]};
    }
    glk_container_shape shape = {.flags = c.flags,
                                 .named = c.named,
                                 .free = c.free,
                                 .ordered = c.ordered,
                                 .open = c.gaps[GLK_GAP_OPEN],
                                 .close = c.gaps[GLK_GAP_CLOSE],
                                 .before_comma = c.gaps[GLK_GAP_COMMA],
                                 .after_comma = c.gaps[GLK_GAP_ITEM],
                                 .before_colon = c.gaps[GLK_GAP_COLON],
                                 .after_colon = c.gaps[GLK_GAP_VALUE]};
    return glk_grammar_container(self->grammar, &shape, classes, choices, c.choice_count,
                                 c.formula_words > 0 ? c.formula : NULL, c.formula_words, out,
                                 self->err);
}

static glk_status read_container(reader *self, uint32_t *out) {
    GLK_TRY(get_container(self));
    glk_container c = glk_container_view(self->list.data);
    size_t class_bytes = ((size_t)c.named + c.free + 1) * sizeof(glk_member_class);
    size_t choice_bytes = ((size_t)c.choice_count + 1) * sizeof(glk_member_choice);
    void *classes, *choices;
    GLK_TRY(glk_alloc(NULL, class_bytes, &classes, self->err));
    glk_status status = glk_alloc(NULL, choice_bytes, &choices, self->err);
    if (status == GLK_OK) {
        status = build_container(self, classes, choices, out);
        glk_release(NULL, choices, choice_bytes);
    }
    glk_release(NULL, classes, class_bytes);
    return status;
}

static glk_status read_node(reader *self, uint32_t *out) {
    glk_grammar *grammar = self->grammar;
    uint32_t kind, a, b, c;
    GLK_TRY(get(self, &kind));
    switch (kind) {
    case GLK_N_TERMINAL:
        GLK_TRY(get_expr(self, &a));
        return glk_grammar_terminal(grammar, a, out, self->err);
    case GLK_N_SWITCH:
        return read_switch(self, out);
    case GLK_N_SEQUENCE:
    case GLK_N_CHOICE:
        GLK_TRY(get_list(self, &self->nodes));
        return kind == GLK_N_SEQUENCE
                   ? glk_grammar_sequence(grammar, self->list.data, self->list.count, out, self->err)
                   : glk_grammar_choice(grammar, self->list.data, self->list.count, out, self->err);
    case GLK_N_REPETITION:
        GLK_TRY(get_node(self, &a));
        GLK_TRY(get(self, &b));
        GLK_TRY(get(self, &c));
        return glk_grammar_repetition(grammar, a, b, c, out, self->err);
    case GLK_N_TOKENS:
        GLK_TRY(get_list(self, NULL));
        return glk_grammar_tokens(grammar, self->list.data, self->list.count, out, self->err);
    case GLK_N_RULE:
        return glk_grammar_rule(grammar, out, self->err);
    case GLK_N_CONTAINER:
        return read_container(self, out);
    default:
        return damaged(self, "no kind of node");
    }
}

static glk_status read_exprs(reader *self) {
    uint32_t count, id;
    GLK_TRY(get_count(self, 1, &count));
    for (id = 0; id < FIXED_EXPRS; id++) {
        GLK_TRY(glk_vec_push_u32(&self->exprs, id, self->err));
    }
    for (uint32_t i = 0; i < count; i++) {
        GLK_TRY(read_expr(self, &id));
        GLK_TRY(glk_vec_push_u32(&self->exprs, id, self->err));
    }
    return GLK_OK;
}

static glk_status read_rest(reader *self) {
    uint32_t count, id, body;
    GLK_TRY(get_count(self, 1, &count));
    for (id = 0; id < FIXED_NODES; id++) {
        GLK_TRY(glk_vec_push_u32(&self->nodes, id, self->err));
    }
    for (uint32_t i = 0; i < count; i++) {
        GLK_TRY(read_node(self, &id));
        GLK_TRY(glk_vec_push_u32(&self->nodes, id, self->err));
    }
    GLK_TRY(get_count(self, 2, &count));
    for (uint32_t i = 0; i < count; i++) {
        GLK_TRY(get_node(self, &id));
        GLK_TRY(get_node(self, &body));
        GLK_TRY(glk_grammar_define(self->grammar, id, body, self->err));
    }
    GLK_TRY(get_node(self, &id));
    if (self->at != self->count) {
        return damaged(self, "there are too many");
    }
    return glk_grammar_set_root(self->grammar, id, self->err);
}

/* Expressions under the store's lock; nodes without, since their constructors take it. */
static glk_status read_all(reader *self) {
    glk_exprs *store = self->grammar->exprs;
    (void)pthread_mutex_lock(&store->lock);
    uint32_t base = store->scratch.count;
    glk_status status = read_exprs(self);
    store->scratch.count = base;
    (void)pthread_mutex_unlock(&store->lock);
    return status == GLK_OK ? read_rest(self) : status;
}

glk_status glk_grammar_read(glk_exprs *exprs, const uint32_t *words, size_t count,
                            glk_grammar **out, glk_error *err) {
    reader job = {.words = words, .count = count, .err = err};
    GLK_TRY(glk_grammar_new(exprs, &job.grammar, err));
    glk_vec *all[] = {&job.exprs, &job.nodes, &job.list, &job.pairs};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        glk_vec_init(all[i], NULL, sizeof(uint32_t));
    }
    glk_status status = read_all(&job);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        glk_vec_free(all[i]);
    }
    if (status == GLK_OK) {
        *out = job.grammar;
        return GLK_OK;
    }
    glk_grammar_release(job.grammar);
    if (status == GLK_ERR_ARGUMENT) { /* what a constructor refused */
        status = GLK_ERR_DAMAGED;
        if (err != NULL) {
            err->code = status;
        }
    }
    return status;
}
