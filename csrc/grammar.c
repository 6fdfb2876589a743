/* grammar.c -- the builder of grammar.h: validation, cheap canonical forms, hash-consing.
 *
 * A constructor that has a list writes it at the end of the pool first and then either keeps it
 * under a new node or, if an equal node exists or something failed, cuts the pool back.  Nodes,
 * pool and index change together, last of all, so a failure leaves the grammar as it was.
 *
 * Lists of up to FLATTEN_MAX items are flattened into a parent of the same kind; longer ones stay,
 * so that building a long sequence by appending one item at a time is not quadratic. */
#include "grammar.h"

#include <stdlib.h>

#include "strip.h"

enum { FLATTEN_MAX = 64, SMALL_LIST = 16 };
enum { MOST_LITERALS = 31, MOST_ITEMS = 1 << 27 }; /* of a class; of one list of a container */
enum { ALL_FLAGS = GLK_ARRAY | GLK_UNIQUE | GLK_ENDLESS | GLK_TIGHT | GLK_BARE };

/* ---- lifetime ---- */

static glk_status fill_fixed(glk_grammar *self, glk_error *err) {
    glk_node fail = {.kind = GLK_N_FAIL};
    glk_node empty = {.kind = GLK_N_EMPTY};
    GLK_TRY(glk_vec_push(&self->nodes, &fail, err));
    return glk_vec_push(&self->nodes, &empty, err);
}

glk_status glk_grammar_new(glk_exprs *exprs, glk_grammar **out, glk_error *err) {
    void *memory;
    GLK_TRY(glk_alloc(NULL, sizeof(glk_grammar), &memory, err));
    glk_grammar *self = memory;
    glk_account_init(&self->account, "grammar_bytes", 0);
    glk_vec_init(&self->nodes, &self->account, sizeof(glk_node));
    glk_vec_init(&self->lists, &self->account, sizeof(uint32_t));
    glk_index_init(&self->index, &self->account);
    atomic_init(&self->references, 1);
    self->root = GLK_NODE_FAIL;
    self->exprs = exprs;
    glk_exprs_retain(exprs);
    glk_status status = fill_fixed(self, err);
    if (status != GLK_OK) {
        glk_grammar_release(self);
        return status;
    }
    *out = self;
    return GLK_OK;
}

void glk_grammar_retain(glk_grammar *self) { atomic_fetch_add(&self->references, 1); }

void glk_grammar_release(glk_grammar *self) {
    if (self == NULL || atomic_fetch_sub(&self->references, 1) != 1) {
        return;
    }
    glk_exprs_release(self->exprs);
    glk_vec_free(&self->nodes);
    glk_vec_free(&self->lists);
    glk_index_free(&self->index);
    glk_release(NULL, self, sizeof *self);
}

/* ---- validation ---- */

static glk_status check_node(const glk_grammar *self, uint32_t node, glk_error *err) {
    if (node < self->nodes.count) {
        return GLK_OK;
    }
    return glk_fail(err, GLK_ERR_ARGUMENT, "node %u does not exist: the grammar has %u", node,
                    self->nodes.count);
}

static glk_status check_nodes(const glk_grammar *self, const uint32_t *nodes, size_t count,
                              glk_error *err) {
    if (count >= UINT32_MAX / 8) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "a list of %zu items is too long", count);
    }
    for (size_t i = 0; i < count; i++) {
        GLK_TRY(check_node(self, nodes[i], err));
    }
    return GLK_OK;
}

static glk_status expr_flags(const glk_grammar *self, uint32_t expr, uint8_t *out,
                             glk_error *err) {
    glk_exprs *store = self->exprs;
    pthread_mutex_lock(&store->lock);
    uint32_t count = store->exprs.count;
    if (expr < count) {
        *out = glk_expr_at(store, expr)->flags;
    }
    pthread_mutex_unlock(&store->lock);
    if (expr >= count) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "expression %u does not exist: the store has %u",
                        expr, count);
    }
    return GLK_OK;
}

static glk_status check_untagged(const glk_grammar *self, uint32_t expr, const char *what,
                                 uint8_t *flags, glk_error *err) {
    GLK_TRY(expr_flags(self, expr, flags, err));
    if ((*flags & GLK_TAGGED) != 0) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "the expression of a %s must not hold tags", what);
    }
    return GLK_OK;
}

/* ---- hash-consing ---- */

static uint32_t list_length(const glk_grammar *self, const glk_node *node) {
    switch ((glk_node_kind)node->kind) {
    case GLK_N_SWITCH:
        return 1 + 2 * *glk_node_list(self, node->b);
    case GLK_N_SEQUENCE:
    case GLK_N_CHOICE:
    case GLK_N_TOKENS:
        return 1 + *glk_node_list(self, node->b);
    case GLK_N_CONTAINER:
        return glk_container_length(glk_node_list(self, node->b));
    default:
        return 0;
    }
}

static uint32_t hash_node(const glk_grammar *self, const glk_node *node, uint32_t length) {
    uint64_t seed = glk_mix(glk_mix(glk_mix(node->kind, node->a), node->lo), node->hi);
    const uint32_t *list = length > 0 ? glk_node_list(self, node->b) : NULL;
    return glk_hash_u32s(list, length, seed);
}

static bool same_node(const glk_grammar *self, const glk_node *x, const glk_node *y,
                      uint32_t length) {
    if (x->kind != y->kind || x->a != y->a || x->lo != y->lo || x->hi != y->hi) {
        return false;
    }
    return length == 0 || (list_length(self, y) == length &&
                           memcmp(glk_node_list(self, x->b), glk_node_list(self, y->b),
                                  length * sizeof(uint32_t)) == 0);
}

static glk_status add_node(glk_grammar *self, const glk_node *node, uint32_t *out,
                           glk_error *err) {
    if (self->nodes.count >= GLK_NONE / 2) {
        return glk_fail_limit(err, "grammar_nodes", self->nodes.count, GLK_NONE / 2);
    }
    GLK_TRY(glk_vec_push(&self->nodes, node, err));
    *out = self->nodes.count - 1;
    return GLK_OK;
}

/* The node with this content; its list, if it has one, is the end of the pool. */
static glk_status intern(glk_grammar *self, const glk_node *node, uint32_t *out, glk_error *err) {
    uint32_t length = list_length(self, node);
    uint32_t hash = hash_node(self, node, length);
    uint32_t id;
    for (glk_probe p = glk_probe_start(&self->index, hash);
         glk_probe_next(&self->index, &p, &id);) {
        if (same_node(self, node, glk_node_at(self, id), length)) {
            self->lists.count -= length;
            *out = id;
            return GLK_OK;
        }
    }
    GLK_TRY(glk_index_reserve(&self->index, err));
    GLK_TRY(add_node(self, node, out, err));
    return glk_index_add(&self->index, hash, *out, err);
}

/* ---- terminals ---- */

glk_status glk_grammar_terminal(glk_grammar *self, uint32_t expr, uint32_t *out, glk_error *err) {
    uint8_t flags = 0;
    GLK_TRY(check_untagged(self, expr, "terminal", &flags, err));
    if (expr == GLK_EXPR_NEVER || expr == GLK_EXPR_EPSILON) {
        *out = expr == GLK_EXPR_NEVER ? GLK_NODE_FAIL : GLK_NODE_EMPTY;
        return GLK_OK;
    }
    glk_node node = {.kind = GLK_N_TERMINAL, .a = expr};
    return intern(self, &node, out, err);
}

typedef struct label_node {
    uint32_t label, node;
} label_node;

static int compare_label_nodes(const void *a, const void *b) {
    uint32_t x = ((const label_node *)a)->label;
    uint32_t y = ((const label_node *)b)->label;
    return (x > y) - (x < y);
}

/* The labels of `expr` (ascending), which must be well-formed. */
static glk_status list_labels(const glk_grammar *self, uint32_t expr, glk_vec *labels,
                              glk_error *err) {
    uint8_t flags = 0;
    GLK_TRY(expr_flags(self, expr, &flags, err));
    pthread_mutex_lock(&self->exprs->lock);
    glk_status status = glk_strip_list(self->exprs, expr, NULL, NULL, labels, err);
    pthread_mutex_unlock(&self->exprs->lock);
    return status;
}

/* Writes the table's list: the entries of `pairs` (ascending) whose label the expression has. */
static glk_status push_table(glk_grammar *self, const label_node *pairs, size_t count,
                             const glk_vec *labels, glk_error *err) {
    GLK_TRY(glk_vec_reserve(&self->lists, 1 + 2 * labels->count, err));
    uint32_t *list = GLK_VEC_U32(&self->lists) + self->lists.count;
    const uint32_t *wanted = GLK_VEC_U32(labels);
    list[0] = labels->count;
    size_t at = 0;
    for (uint32_t i = 0; i < labels->count; i++) {
        while (at < count && pairs[at].label < wanted[i]) {
            at++;
        }
        if (at == count || pairs[at].label != wanted[i]) {
            return glk_fail(err, GLK_ERR_ARGUMENT, "the switch has no node for label %u",
                            wanted[i]);
        }
        list[1 + 2 * i] = wanted[i];
        list[2 + 2 * i] = pairs[at].node;
    }
    self->lists.count += 1 + 2 * labels->count;
    return GLK_OK;
}

static glk_status make_switch(glk_grammar *self, uint32_t expr, glk_vec *pairs, glk_vec *labels,
                              uint32_t *out, glk_error *err) {
    label_node *items = pairs->data;
    qsort(items, pairs->count, sizeof *items, compare_label_nodes);
    for (uint32_t i = 1; i < pairs->count; i++) {
        if (items[i].label == items[i - 1].label) {
            return glk_fail(err, GLK_ERR_ARGUMENT, "the switch has label %u twice",
                            items[i].label);
        }
    }
    GLK_TRY(list_labels(self, expr, labels, err));
    if (labels->count == 0) { /* only NEVER is well-formed without a label */
        *out = GLK_NODE_FAIL;
        return GLK_OK;
    }
    glk_node node = {.kind = GLK_N_SWITCH, .a = expr, .b = self->lists.count};
    GLK_TRY(push_table(self, items, pairs->count, labels, err));
    return intern(self, &node, out, err);
}

glk_status glk_grammar_switch(glk_grammar *self, uint32_t expr, const uint32_t *labels,
                              const uint32_t *nodes, size_t count, uint32_t *out, glk_error *err) {
    GLK_TRY(check_nodes(self, nodes, count, err));
    glk_vec pairs, found;
    glk_vec_init(&pairs, NULL, sizeof(label_node));
    glk_vec_init(&found, NULL, sizeof(uint32_t));
    uint32_t mark = self->lists.count;
    glk_status status = glk_vec_reserve(&pairs, (uint32_t)count + 1, err);
    if (status == GLK_OK) {
        for (size_t i = 0; i < count; i++) {
            ((label_node *)pairs.data)[i] = (label_node){labels[i], nodes[i]};
        }
        pairs.count = (uint32_t)count;
        status = make_switch(self, expr, &pairs, &found, out, err);
    }
    if (status != GLK_OK) {
        self->lists.count = mark;
    }
    glk_vec_free(&pairs);
    glk_vec_free(&found);
    return status;
}

/* ---- sequences and choices ---- */

/* Appends `node`, or its items if it is a short list of the same kind. */
static glk_status append_flat(glk_grammar *self, glk_node_kind kind, uint32_t node,
                              glk_error *err) {
    const glk_node *child = glk_node_at(self, node);
    uint32_t count = child->kind == kind ? *glk_node_list(self, child->b) : 0;
    if (count == 0 || count > FLATTEN_MAX) {
        return glk_vec_push_u32(&self->lists, node, err);
    }
    GLK_TRY(glk_vec_reserve(&self->lists, count, err));
    memcpy(GLK_VEC_U32(&self->lists) + self->lists.count, glk_node_list(self, child->b + 1),
           count * sizeof(uint32_t));
    self->lists.count += count;
    return GLK_OK;
}

/* Keeps the first of equal items. */
static glk_status drop_doubles(uint32_t *items, uint32_t *count, glk_error *err) {
    glk_index seen;
    glk_index_init(&seen, NULL);
    uint32_t kept = 0;
    glk_status status = GLK_OK;
    for (uint32_t i = 0; i < *count && status == GLK_OK; i++) {
        bool met = false;
        if (*count <= SMALL_LIST) {
            for (uint32_t k = 0; k < kept && !met; k++) {
                met = items[k] == items[i];
            }
        } else {
            uint32_t hash = (uint32_t)glk_mix(1, items[i]);
            uint32_t id;
            for (glk_probe p = glk_probe_start(&seen, hash);
                 !met && glk_probe_next(&seen, &p, &id);) {
                met = id == items[i];
            }
            status = met ? GLK_OK : glk_index_add(&seen, hash, items[i], err);
        }
        if (!met && status == GLK_OK) {
            items[kept++] = items[i];
        }
    }
    glk_index_free(&seen);
    *count = kept;
    return status;
}

/* A node over the list that ends the pool at `at` + 1 and following; what it is without one. */
static glk_status close_list(glk_grammar *self, glk_node_kind kind, uint32_t at, uint32_t none,
                             uint32_t *out, glk_error *err) {
    uint32_t *list = GLK_VEC_U32(&self->lists) + at;
    list[0] = self->lists.count - at - 1;
    if (list[0] < 2) {
        *out = list[0] == 0 ? none : list[1];
        self->lists.count = at;
        return GLK_OK;
    }
    glk_node node = {.kind = (uint8_t)kind, .b = at};
    return intern(self, &node, out, err);
}

static glk_status make_sequence(glk_grammar *self, const uint32_t *nodes, size_t count,
                                uint32_t *out, glk_error *err) {
    uint32_t at = self->lists.count;
    GLK_TRY(glk_vec_push_u32(&self->lists, 0, err));
    for (size_t i = 0; i < count; i++) {
        if (nodes[i] == GLK_NODE_FAIL) {
            self->lists.count = at;
            *out = GLK_NODE_FAIL;
            return GLK_OK;
        }
        if (nodes[i] != GLK_NODE_EMPTY) {
            GLK_TRY(append_flat(self, GLK_N_SEQUENCE, nodes[i], err));
        }
    }
    return close_list(self, GLK_N_SEQUENCE, at, GLK_NODE_EMPTY, out, err);
}

static glk_status make_choice(glk_grammar *self, const uint32_t *nodes, size_t count,
                              uint32_t *out, glk_error *err) {
    uint32_t at = self->lists.count;
    GLK_TRY(glk_vec_push_u32(&self->lists, 0, err));
    for (size_t i = 0; i < count; i++) {
        if (nodes[i] != GLK_NODE_FAIL) {
            GLK_TRY(append_flat(self, GLK_N_CHOICE, nodes[i], err));
        }
    }
    uint32_t kept = self->lists.count - at - 1;
    GLK_TRY(drop_doubles(GLK_VEC_U32(&self->lists) + at + 1, &kept, err));
    self->lists.count = at + 1 + kept;
    return close_list(self, GLK_N_CHOICE, at, GLK_NODE_FAIL, out, err);
}

glk_status glk_grammar_sequence(glk_grammar *self, const uint32_t *nodes, size_t count,
                                uint32_t *out, glk_error *err) {
    GLK_TRY(check_nodes(self, nodes, count, err));
    uint32_t mark = self->lists.count;
    glk_status status = make_sequence(self, nodes, count, out, err);
    if (status != GLK_OK) {
        self->lists.count = mark;
    }
    return status;
}

glk_status glk_grammar_choice(glk_grammar *self, const uint32_t *nodes, size_t count,
                              uint32_t *out, glk_error *err) {
    GLK_TRY(check_nodes(self, nodes, count, err));
    uint32_t mark = self->lists.count;
    glk_status status = make_choice(self, nodes, count, out, err);
    if (status != GLK_OK) {
        self->lists.count = mark;
    }
    return status;
}

glk_status glk_grammar_repetition(glk_grammar *self, uint32_t node, uint32_t low, uint32_t high,
                                  uint32_t *out, glk_error *err) {
    GLK_TRY(check_node(self, node, err));
    if (low > high || low == GLK_UNBOUNDED) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "a repetition from %u to %u times is empty", low,
                        high);
    }
    if (high == 0 || node == GLK_NODE_EMPTY || (node == GLK_NODE_FAIL && low == 0)) {
        *out = GLK_NODE_EMPTY;
        return GLK_OK;
    }
    if (node == GLK_NODE_FAIL || (low == 1 && high == 1)) {
        *out = node;
        return GLK_OK;
    }
    glk_node repetition = {.kind = GLK_N_REPETITION, .a = node, .lo = low, .hi = high};
    return intern(self, &repetition, out, err);
}

/* ---- tokens ---- */

static int compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool ascending(const uint32_t *items, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        if (items[i - 1] >= items[i]) {
            return false;
        }
    }
    return true;
}

glk_status glk_grammar_tokens(glk_grammar *self, const uint32_t *ids, size_t count, uint32_t *out,
                              glk_error *err) {
    if (count >= UINT32_MAX / 8) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "a list of %zu items is too long", count);
    }
    if (count == 0) {
        *out = GLK_NODE_FAIL;
        return GLK_OK;
    }
    uint32_t at = self->lists.count;
    GLK_TRY(glk_vec_reserve(&self->lists, (uint32_t)count + 1, err));
    uint32_t *list = GLK_VEC_U32(&self->lists) + at;
    memcpy(list + 1, ids, count * sizeof *ids);
    list[0] = (uint32_t)count;
    if (!ascending(list + 1, list[0])) {
        qsort(list + 1, count, sizeof *list, compare_u32);
        uint32_t kept = 1;
        for (uint32_t i = 2; i <= count; i++) {
            if (list[i] != list[kept]) {
                list[++kept] = list[i];
            }
        }
        list[0] = kept;
    }
    self->lists.count = at + 1 + list[0];
    glk_node node = {.kind = GLK_N_TOKENS, .b = at};
    glk_status status = intern(self, &node, out, err);
    if (status != GLK_OK) {
        self->lists.count = at;
    }
    return status;
}

/* ---- containers ---- */

static bool is_array(const glk_container_shape *shape) { return (shape->flags & GLK_ARRAY) != 0; }

static glk_status check_pair(const glk_container_shape *shape, uint32_t k, uint32_t literal,
                             glk_error *err) {
    if (k == GLK_EVERY && literal != GLK_PRESENCE) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "literal %u belongs to no class", literal);
    }
    if (k != GLK_EVERY && k >= shape->named + shape->free) {
        return glk_fail(err, GLK_ERR_ARGUMENT,
                        "the formula names class %u: the container has %u", k,
                        shape->named + shape->free);
    }
    if (literal != GLK_PRESENCE && literal >= MOST_LITERALS) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "the formula names literal %u: the last one is %d",
                        literal, MOST_LITERALS - 1);
    }
    return GLK_OK;
}

/* The node at words[*at ...], which has number `number`; moves *at past it. */
static glk_status check_formula_node(const glk_container_shape *shape, const uint32_t *words,
                                     size_t count, uint32_t number, size_t *at, glk_error *err) {
    uint32_t op = *at < count ? words[*at] : 0;
    bool atom = op == GLK_F_AT_LEAST || op == GLK_F_ALL_BUT;
    if (op > GLK_F_OR) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "node %u of the formula is of kind %u, not 0 to 3",
                        number, op);
    }
    size_t header = atom ? 3 : 2, width = atom ? 2 : 1, left = count - *at;
    if (left < header || (left - header) / width < words[*at + header - 1]) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "the formula ends inside its node %u", number);
    }
    if (atom && words[*at + 1] > GLK_F_COUNT_MAX) {
        return glk_fail_limit(err, "member_count", words[*at + 1], GLK_F_COUNT_MAX);
    }
    const uint32_t *items = words + *at + header;
    uint32_t item_count = items[-1];
    for (size_t i = 0; i < item_count; i++) {
        if (atom) {
            GLK_TRY(check_pair(shape, items[2 * i], items[2 * i + 1], err));
        } else if (items[i] >= number) {
            return glk_fail(err, GLK_ERR_ARGUMENT,
                            "node %u of the formula refers to node %u, not to an earlier one",
                            number, items[i]);
        }
    }
    *at += header + width * item_count;
    return GLK_OK;
}

static glk_status check_formula(const glk_container_shape *shape, const uint32_t *words,
                                size_t count, glk_error *err) {
    size_t at = 1;
    if (count == 0) {
        return GLK_OK;
    }
    if (words[0] == 0) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "the formula has no node");
    }
    for (uint32_t number = 0; number < words[0]; number++) {
        GLK_TRY(check_formula_node(shape, words, count, number, &at, err));
    }
    if (at != count) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "the formula has %zu words, its %u nodes take %zu",
                        count, words[0], at);
    }
    return GLK_OK;
}

/* Lists of so many items would not fit into a pool of 32-bit offsets. */
static glk_status check_sizes(const glk_container_shape *shape, size_t choice_count,
                              size_t formula_words, glk_error *err) {
    uint64_t classes = (uint64_t)shape->named + shape->free;
    if (classes >= MOST_ITEMS || choice_count >= MOST_ITEMS || formula_words >= MOST_ITEMS) {
        return glk_fail_limit(err, "container_items", classes + choice_count + formula_words,
                              MOST_ITEMS - 1);
    }
    return GLK_OK;
}

static glk_status check_shape(const glk_grammar *self, const glk_container_shape *shape,
                              glk_error *err) {
    const uint32_t gaps[] = {shape->open,        shape->close,        shape->before_comma,
                             shape->after_comma, shape->before_colon, shape->after_colon};
    uint8_t flags = 0;
    if (shape->flags > ALL_FLAGS) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "there are no container flags %u", shape->flags);
    }
    if (is_array(shape) && shape->free > 1) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "an array has at most one free class, not %u",
                        shape->free);
    }
    if (!is_array(shape) && shape->ordered > shape->named) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "%u of %u named classes cannot be ordered",
                        shape->ordered, shape->named);
    }
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        GLK_TRY(check_untagged(self, gaps[i], "gap", &flags, err));
    }
    return GLK_OK;
}

static glk_status check_key(const glk_grammar *self, uint32_t key, glk_error *err) {
    uint8_t flags = 0;
    GLK_TRY(check_untagged(self, key, "key", &flags, err));
    if ((flags & GLK_NULLABLE) != 0) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "a key must not match the empty string");
    }
    return GLK_OK;
}

static glk_status check_classes(const glk_grammar *self, const glk_container_shape *shape,
                                const glk_member_class *classes, size_t choice_count,
                                glk_error *err) {
    uint64_t total = 0;
    for (uint32_t k = 0; k < shape->named + shape->free; k++) {
        uint32_t most = is_array(shape) || k >= shape->named ? 0 : 1;
        if (!is_array(shape)) {
            GLK_TRY(check_key(self, classes[k].key, err));
        }
        if (classes[k].required > most) {
            return glk_fail(err, GLK_ERR_ARGUMENT,
                            most == 0 ? "class %u is no name of an object: required is %u, not 0"
                                      : "required of class %u is %u, not 0 or 1",
                            k, classes[k].required);
        }
        total += classes[k].choices;
    }
    if (total != choice_count) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "the classes have %llu choices, %zu are given",
                        (unsigned long long)total, choice_count);
    }
    return GLK_OK;
}

static glk_status check_choices(const glk_grammar *self, const glk_member_choice *choices,
                                size_t count, glk_error *err) {
    for (size_t i = 0; i < count; i++) {
        GLK_TRY(check_node(self, choices[i].value, err));
        if (choices[i].literals >> MOST_LITERALS != 0) {
            return glk_fail(err, GLK_ERR_ARGUMENT,
                            "choice %zu has the literals %u: a class has at most %d", i,
                            choices[i].literals, MOST_LITERALS);
        }
    }
    return GLK_OK;
}

/* Equal expressions are the one overlap of keys that is cheap to see. */
static glk_status check_distinct_keys(const glk_container_shape *shape,
                                      const glk_member_class *classes, glk_error *err) {
    uint32_t all = shape->named + shape->free, count = all;
    if (is_array(shape)) {
        return GLK_OK;
    }
    glk_vec keys;
    glk_vec_init(&keys, NULL, sizeof(uint32_t));
    GLK_TRY(glk_vec_reserve(&keys, all, err));
    uint32_t *items = GLK_VEC_U32(&keys);
    for (uint32_t k = 0; k < all; k++) {
        items[k] = classes[k].key;
    }
    glk_status status = drop_doubles(items, &count, err);
    if (status == GLK_OK && count < all) {
        status = glk_fail(err, GLK_ERR_ARGUMENT, "two members of an object have the same key");
    }
    glk_vec_free(&keys);
    return status;
}

static void write_container(uint32_t *list, const glk_container_shape *shape,
                            const glk_member_class *classes, const glk_member_choice *choices,
                            uint32_t choice_count, const uint32_t *formula,
                            uint32_t formula_words) {
    const uint32_t header[GLK_CONTAINER_HEADER] = {
        shape->named,        shape->free,        is_array(shape) ? shape->named : shape->ordered,
        shape->flags,        choice_count,       formula_words,
        shape->open,         shape->close,       shape->before_comma,
        shape->after_comma,  shape->before_colon, shape->after_colon};
    memcpy(list, header, sizeof header);
    list += GLK_CONTAINER_HEADER;
    uint32_t first = 0;
    for (uint32_t k = 0; k < shape->named + shape->free; k++) {
        *list++ = is_array(shape) ? 0 : classes[k].key;
        *list++ = classes[k].required;
        *list++ = first;
        *list++ = classes[k].choices;
        first += classes[k].choices;
    }
    for (uint32_t i = 0; i < choice_count; i++) {
        *list++ = choices[i].value;
        *list++ = choices[i].literals;
    }
    if (formula_words > 0) {
        memcpy(list, formula, formula_words * sizeof *list);
    }
}

glk_status glk_grammar_container(glk_grammar *self, const glk_container_shape *shape,
                                 const glk_member_class *classes, const glk_member_choice *choices,
                                 size_t choice_count, const uint32_t *formula,
                                 size_t formula_words, uint32_t *out, glk_error *err) {
    GLK_TRY(check_sizes(shape, choice_count, formula_words, err));
    GLK_TRY(check_shape(self, shape, err));
    GLK_TRY(check_classes(self, shape, classes, choice_count, err));
    GLK_TRY(check_choices(self, choices, choice_count, err));
    GLK_TRY(check_distinct_keys(shape, classes, err));
    GLK_TRY(check_formula(shape, formula, formula_words, err));
    uint32_t at = self->lists.count, count = (uint32_t)choice_count;
    uint32_t length = (uint32_t)(GLK_CONTAINER_HEADER + formula_words) + GLK_CHOICE_WORDS * count +
                      GLK_CLASS_WORDS * (shape->named + shape->free);
    GLK_TRY(glk_vec_reserve(&self->lists, length, err));
    write_container(GLK_VEC_U32(&self->lists) + at, shape, classes, choices, count, formula,
                    (uint32_t)formula_words);
    self->lists.count += length;
    glk_node node = {.kind = GLK_N_CONTAINER, .b = at};
    glk_status status = intern(self, &node, out, err);
    if (status != GLK_OK) {
        self->lists.count = at;
    }
    return status;
}

/* ---- rules and root ---- */

glk_status glk_grammar_rule(glk_grammar *self, uint32_t *out, glk_error *err) {
    glk_node node = {.kind = GLK_N_RULE, .a = GLK_NONE};
    return add_node(self, &node, out, err);
}

glk_status glk_grammar_define(glk_grammar *self, uint32_t rule, uint32_t body, glk_error *err) {
    GLK_TRY(check_node(self, rule, err));
    GLK_TRY(check_node(self, body, err));
    glk_node *node = (glk_node *)self->nodes.data + rule;
    if (node->kind != GLK_N_RULE) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "node %u is not a rule", rule);
    }
    if (node->a != GLK_NONE) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "rule %u is defined already", rule);
    }
    node->a = body;
    return GLK_OK;
}

glk_status glk_grammar_set_root(glk_grammar *self, uint32_t node, glk_error *err) {
    GLK_TRY(check_node(self, node, err));
    self->root = node;
    return GLK_OK;
}
