/* lower.c -- the first pass: what the root reaches, as working code.
 *
 * Every grammar node gets its place in the code (a sequence one CAT for each item but the last)
 * when it is first referred to, and its content when it comes off the stack, so cycles and depth
 * need no care.  What can be seen at once is settled here:
 *
 *     a terminal without sentence                                     choice of nothing
 *     token ids that the vocabulary lacks                             dropped
 *     labels that no text can end with                                dropped
 *     choices of a class whose key has no text                        dropped
 *     a switch whose terminal matches the empty string                choice between the nodes of
 *                                                                     these labels and the rest
 *     repetition {0,1}                                                choice
 *     a container of which the vocabulary lacks brackets              choice of nothing
 *     ... or ':', or white space around it                            without choices
 *     ... or ',', or white space around it                            with at most one member */
#include "passes.h"

typedef struct lowering {
    glk_work *work;
    uint32_t *place;  /* by grammar node: its code node; GLK_NONE = not met */
    glk_vec stack;    /* u32: grammar nodes, placed and not yet filled in */
    glk_vec labels;   /* u32: live labels of one switch */
    glk_vec dropped;  /* u32: labels to be stripped; the empty string's labels */
    glk_vec choices;  /* u32: of a container */
    glk_vec items;    /* u32: a list under construction (children push lists of their own) */
} lowering;

static void make_fail(lowering *self, uint32_t at) {
    *glk_work_at(self->work, at) = (glk_instr){.op = GLK_OP_JUMP, .a = GLK_CODE_FAIL};
}

/* The place of a grammar node. */
static glk_status place(lowering *self, uint32_t node, uint32_t *out, glk_error *err) {
    if (self->place[node] == GLK_NONE) {
        const glk_grammar *grammar = self->work->grammar;
        const glk_node *content = glk_node_at(grammar, node);
        uint32_t slots = 1;
        if (content->kind == GLK_N_SEQUENCE) {
            slots = *glk_node_list(grammar, content->b) - 1;
        }
        uint32_t first = glk_code_count(&self->work->code);
        for (uint32_t i = 0; i < slots; i++) {
            uint32_t id;
            GLK_TRY(glk_work_add(self->work, (glk_instr){.op = GLK_OP_JUMP}, false, &id, err));
        }
        GLK_TRY(glk_vec_push_u32(&self->stack, node, err));
        self->place[node] = first;
    }
    *out = self->place[node];
    return GLK_OK;
}

/* Moves the list under construction into the code's pool, behind `header` numbers of its own. */
static glk_status close_items(lowering *self, const uint32_t *header, uint32_t header_count,
                              uint32_t *out, glk_error *err) {
    glk_vec *lists = &self->work->code.lists;
    uint32_t count = self->items.count;
    GLK_TRY(glk_work_spend(self->work, count, err));
    GLK_TRY(glk_vec_reserve(lists, header_count + count, err));
    uint32_t *list = GLK_VEC_U32(lists) + lists->count;
    memcpy(list, header, header_count * sizeof *header);
    if (count > 0) {
        memcpy(list + header_count, self->items.data, count * sizeof *header);
    }
    *out = lists->count;
    lists->count += header_count + count;
    self->items.count = 0;
    return GLK_OK;
}

static glk_status import_expr(lowering *self, uint32_t expr, uint32_t *out, bool *empty,
                              glk_error *err) {
    const glk_rewrite_env *env = self->work->env;
    GLK_TRY(env->import(env->context, self->work->grammar->exprs, expr, out, err));
    return env->is_empty(env->context, *out, empty, err);
}

static glk_status lower_terminal(lowering *self, const glk_node *node, uint32_t at,
                                 glk_error *err) {
    uint32_t expr;
    bool empty;
    GLK_TRY(import_expr(self, node->a, &expr, &empty, err));
    if (empty) {
        make_fail(self, at);
    } else if (expr == GLK_EXPR_EPSILON) {
        *glk_work_at(self->work, at) = (glk_instr){.op = GLK_OP_JUMP, .a = GLK_CODE_EMPTY};
    } else {
        *glk_work_at(self->work, at) = (glk_instr){.op = GLK_OP_TERM, .a = expr};
    }
    return GLK_OK;
}

/* ---- switches ---- */

/* Splits a table (ascending by label) into the entries whose label is in `labels` (ascending too),
 * which go into `items`, and the labels of the others, which go into `dropped`. */
static glk_status split_table(lowering *self, const uint32_t *table, glk_error *err) {
    const uint32_t *wanted = GLK_VEC_U32(&self->labels);
    uint32_t at = 0;
    for (uint32_t i = 0; i < table[0]; i++) {
        uint32_t label = table[1 + 2 * i];
        while (at < self->labels.count && wanted[at] < label) {
            at++;
        }
        if (at < self->labels.count && wanted[at] == label) {
            uint32_t child;
            GLK_TRY(place(self, table[2 + 2 * i], &child, err));
            GLK_TRY(glk_vec_push_u32(&self->items, label, err));
            GLK_TRY(glk_vec_push_u32(&self->items, child, err));
        } else {
            GLK_TRY(glk_vec_push_u32(&self->dropped, label, err));
        }
    }
    return GLK_OK;
}

/* A SWITCH on `expr` (not empty, without the empty string) at `at`. */
static glk_status fill_switch(lowering *self, uint32_t expr, const uint32_t *table, uint32_t at,
                              glk_error *err) {
    const glk_rewrite_env *env = self->work->env;
    self->labels.count = 0;
    self->dropped.count = 0;
    self->items.count = 0;
    GLK_TRY(env->live_labels(env->context, expr, &self->labels, err));
    GLK_TRY(split_table(self, table, err));
    if (self->dropped.count > 0) {
        GLK_TRY(env->without_labels(env->context, expr, GLK_VEC_U32(&self->dropped),
                                    self->dropped.count, &expr, err));
    }
    if (self->items.count == 0) {
        make_fail(self, at);
        return GLK_OK;
    }
    uint32_t count = self->items.count / 2;
    uint32_t list;
    GLK_TRY(close_items(self, &count, 1, &list, err));
    *glk_work_at(self->work, at) = (glk_instr){.op = GLK_OP_SWITCH, .a = expr, .b = list};
    return GLK_OK;
}

static uint32_t find_label(const uint32_t *table, uint32_t label) {
    for (uint32_t i = 0; i < table[0]; i++) {
        if (table[1 + 2 * i] == label) {
            return table[2 + 2 * i];
        }
    }
    return GLK_NODE_FAIL;
}

/* A choice at `at` between the nodes of the empty string's labels and the switch on the rest. */
static glk_status split_switch(lowering *self, uint32_t expr, const uint32_t *table, uint32_t at,
                               glk_error *err) {
    const glk_rewrite_env *env = self->work->env;
    uint32_t rest, list;
    GLK_TRY(glk_work_add(self->work, (glk_instr){.op = GLK_OP_JUMP}, false, &rest, err));
    self->dropped.count = 0;
    self->items.count = 0;
    GLK_TRY(env->empty_labels(env->context, expr, &self->dropped, err));
    for (uint32_t i = 0; i < self->dropped.count; i++) {
        uint32_t child;
        GLK_TRY(place(self, find_label(table, GLK_VEC_U32(&self->dropped)[i]), &child, err));
        GLK_TRY(glk_vec_push_u32(&self->items, child, err));
    }
    GLK_TRY(glk_vec_push_u32(&self->items, rest, err));
    uint32_t count = self->items.count;
    GLK_TRY(close_items(self, &count, 1, &list, err));
    *glk_work_at(self->work, at) = (glk_instr){.op = GLK_OP_ALT, .b = list};
    GLK_TRY(env->without_empty(env->context, expr, &expr, err));
    bool empty;
    GLK_TRY(env->is_empty(env->context, expr, &empty, err));
    if (empty) {
        make_fail(self, rest);
        return GLK_OK;
    }
    return fill_switch(self, expr, table, rest, err);
}

static glk_status lower_switch(lowering *self, const glk_node *node, uint32_t at,
                               glk_error *err) {
    const glk_rewrite_env *env = self->work->env;
    const uint32_t *table = glk_node_list(self->work->grammar, node->b);
    uint32_t expr;
    bool empty;
    GLK_TRY(import_expr(self, node->a, &expr, &empty, err));
    if (empty) {
        make_fail(self, at);
        return GLK_OK;
    }
    if (env->is_nullable(env->context, expr)) {
        return split_switch(self, expr, table, at, err);
    }
    return fill_switch(self, expr, table, at, err);
}

/* ---- sequences, choices, repetitions, tokens ---- */

static glk_status lower_sequence(lowering *self, const glk_node *node, uint32_t at,
                                 glk_error *err) {
    const uint32_t *list = glk_node_list(self->work->grammar, node->b);
    uint32_t count = list[0];
    for (uint32_t i = 1; i < count; i++) {
        uint32_t head, tail = at + i;
        GLK_TRY(place(self, list[i], &head, err));
        if (i + 1 == count) {
            GLK_TRY(place(self, list[count], &tail, err));
        }
        *glk_work_at(self->work, at + i - 1) =
            (glk_instr){.op = GLK_OP_CAT, .a = head, .b = tail};
    }
    return GLK_OK;
}

static glk_status lower_choice(lowering *self, const glk_node *node, uint32_t at,
                               glk_error *err) {
    const uint32_t *list = glk_node_list(self->work->grammar, node->b);
    for (uint32_t i = 1; i <= list[0]; i++) {
        uint32_t child;
        GLK_TRY(place(self, list[i], &child, err));
        GLK_TRY(glk_vec_push_u32(&self->items, child, err));
    }
    uint32_t offset;
    GLK_TRY(close_items(self, list, 1, &offset, err));
    *glk_work_at(self->work, at) = (glk_instr){.op = GLK_OP_ALT, .b = offset};
    return GLK_OK;
}

static glk_status lower_repetition(lowering *self, const glk_node *node, uint32_t at,
                                   glk_error *err) {
    uint32_t body;
    GLK_TRY(place(self, node->a, &body, err));
    glk_instr instr = {.op = GLK_OP_REP, .a = body, .lo = node->lo, .hi = node->hi};
    if (node->lo == 0 && node->hi == 1) {
        instr = (glk_instr){.op = GLK_OP_ALT};
        GLK_TRY(glk_work_list2(self->work, body, GLK_CODE_EMPTY, &instr.b, err));
    }
    *glk_work_at(self->work, at) = instr;
    return GLK_OK;
}

static glk_status lower_tokens(lowering *self, const glk_node *node, uint32_t at,
                               glk_error *err) {
    const glk_rewrite_env *env = self->work->env;
    const uint32_t *list = glk_node_list(self->work->grammar, node->b);
    for (uint32_t i = 1; i <= list[0]; i++) {
        if (env->has_token(env->context, list[i])) {
            GLK_TRY(glk_vec_push_u32(&self->items, list[i], err));
        }
    }
    uint32_t count = self->items.count, offset;
    if (count == 0) {
        make_fail(self, at);
        return GLK_OK;
    }
    GLK_TRY(close_items(self, &count, 1, &offset, err));
    *glk_work_at(self->work, at) = (glk_instr){.op = GLK_OP_TOKENS, .b = offset};
    return GLK_OK;
}

/* ---- containers ---- */

enum { GAPS = GLK_GAP_VALUE + 1 };

/* A container as it is written down again. */
typedef struct rewritten {
    glk_container source;
    uint32_t gaps[GAPS];
    bool bare;    /* the one without members has no white space */
    bool members; /* some can be written */
    bool single;  /* ... but not two */
} rewritten;

static bool has(const lowering *self, char byte) {
    return self->work->env->has_byte(self->work->env->context, (uint8_t)byte);
}

/* Imports the gaps and sees what can be written with them and with the vocabulary's bytes.  *fails:
 * nothing, not even a container without members. */
static glk_status import_gaps(lowering *self, rewritten *to, bool *fails, glk_error *err) {
    const glk_container *source = &to->source;
    bool array = (source->flags & GLK_ARRAY) != 0, empty[GAPS];
    /* Cutting to the vocabulary may make gaps equal that are not, hence the flag from here on. */
    to->bare = (source->flags & GLK_BARE) != 0 ||
               source->gaps[GLK_GAP_OPEN] != source->gaps[GLK_GAP_CLOSE];
    for (uint32_t i = 0; i < GAPS; i++) {
        GLK_TRY(import_expr(self, source->gaps[i], &to->gaps[i], &empty[i], err));
    }
    to->members = !empty[GLK_GAP_OPEN] && !empty[GLK_GAP_CLOSE];
    if (!array) {
        to->members = to->members && has(self, ':') && !empty[GLK_GAP_COLON] &&
                      !empty[GLK_GAP_VALUE];
    }
    to->single = !has(self, ',') || empty[GLK_GAP_COMMA] || empty[GLK_GAP_ITEM];
    *fails = !has(self, array ? '[' : '{') || !has(self, array ? ']' : '}') ||
             (!to->bare && empty[GLK_GAP_OPEN]);
    for (uint32_t i = 0; i < GAPS; i++) {
        bool of_members = i > GLK_GAP_CLOSE || to->bare;
        if (empty[i] || (of_members && !to->members)) {
            to->gaps[i] = GLK_EXPR_EPSILON; /* never read */
        }
    }
    return GLK_OK;
}

static glk_status push_words(lowering *self, const uint32_t *words, uint32_t count,
                             glk_error *err) {
    if (count == 0) {
        return GLK_OK;
    }
    GLK_TRY(glk_vec_reserve(&self->items, count, err));
    memcpy(GLK_VEC_U32(&self->items) + self->items.count, words, count * sizeof *words);
    self->items.count += count;
    return GLK_OK;
}

/* A class; its choices go to `choices`.  A key that cannot be spelt leaves it none. */
static glk_status push_class(lowering *self, const rewritten *to, uint32_t k, glk_error *err) {
    const glk_container *source = &to->source;
    uint32_t key = 0, first = self->choices.count / GLK_CHOICE_WORDS;
    bool empty = false;
    if ((source->flags & GLK_ARRAY) == 0) {
        const glk_rewrite_env *env = self->work->env;
        GLK_TRY(env->key(env->context, self->work->grammar->exprs, glk_class_key(source, k), &key,
                         &empty, err));
    }
    uint32_t count = empty || !to->members ? 0 : glk_class_count(source, k);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value, choice = glk_class_first(source, k) + i;
        GLK_TRY(place(self, glk_choice_value(source, choice), &value, err));
        GLK_TRY(glk_vec_push_u32(&self->choices, value, err));
        GLK_TRY(glk_vec_push_u32(&self->choices, glk_choice_literals(source, choice), err));
    }
    const uint32_t words[] = {key, glk_class_required(source, k), first, count};
    return push_words(self, words, GLK_CLASS_WORDS, err);
}

/* The formula, and that at most one member comes if no two can. */
static glk_status push_formula(lowering *self, const rewritten *to, glk_error *err) {
    static const uint32_t one_at_most[] = {GLK_F_ALL_BUT, 1, 1, GLK_EVERY, GLK_PRESENCE};
    const glk_container *source = &to->source;
    uint32_t start = self->items.count, nodes = glk_formula_size(source);
    GLK_TRY(push_words(self, source->formula, source->formula_words, err));
    if (!to->single) {
        return GLK_OK;
    }
    if (nodes == 0) {
        GLK_TRY(glk_vec_push_u32(&self->items, 0, err));
    }
    GLK_TRY(push_words(self, one_at_most, sizeof one_at_most / sizeof *one_at_most, err));
    if (nodes > 0) {
        const uint32_t both[] = {GLK_F_AND, 2, nodes - 1, nodes};
        GLK_TRY(push_words(self, both, sizeof both / sizeof *both, err));
    }
    GLK_VEC_U32(&self->items)[start] = nodes > 0 ? nodes + 2 : 1;
    return GLK_OK;
}

static glk_status lower_container(lowering *self, const glk_node *node, uint32_t at,
                                  glk_error *err) {
    rewritten to = {.source = glk_container_view(glk_node_list(self->work->grammar, node->b))};
    const glk_container *source = &to.source;
    bool fails;
    GLK_TRY(import_gaps(self, &to, &fails, err));
    if (fails) {
        make_fail(self, at);
        return GLK_OK;
    }
    self->choices.count = 0;
    for (uint32_t k = 0; k < glk_container_classes(source); k++) {
        GLK_TRY(push_class(self, &to, k, err));
    }
    uint32_t list, words = self->choices.count;
    GLK_TRY(push_words(self, GLK_VEC_U32(&self->choices), words, err));
    uint32_t before = self->items.count;
    GLK_TRY(push_formula(self, &to, err));
    uint32_t header[GLK_CONTAINER_HEADER] = {source->named,
                                             source->free,
                                             source->ordered,
                                             source->flags | (to.bare ? GLK_BARE : 0),
                                             words / GLK_CHOICE_WORDS,
                                             self->items.count - before};
    memcpy(header + GLK_CONTAINER_HEADER - GAPS, to.gaps, sizeof to.gaps);
    GLK_TRY(close_items(self, header, GLK_CONTAINER_HEADER, &list, err));
    *glk_work_at(self->work, at) = (glk_instr){.op = GLK_OP_CONTAINER, .b = list};
    return GLK_OK;
}

/* ---- the pass ---- */

static glk_status lower_rule(lowering *self, const glk_node *node, uint32_t at, glk_error *err) {
    uint32_t body = GLK_CODE_FAIL;
    self->work->recursive = true;
    if (node->a != GLK_NONE) {
        GLK_TRY(place(self, node->a, &body, err));
    }
    *glk_work_at(self->work, at) = (glk_instr){.op = GLK_OP_JUMP, .a = body};
    return GLK_OK;
}

static glk_status lower_node(lowering *self, uint32_t id, glk_error *err) {
    const glk_node *node = glk_node_at(self->work->grammar, id);
    uint32_t at = self->place[id];
    switch ((glk_node_kind)node->kind) {
    case GLK_N_TERMINAL:
        return lower_terminal(self, node, at, err);
    case GLK_N_SWITCH:
        return lower_switch(self, node, at, err);
    case GLK_N_SEQUENCE:
        return lower_sequence(self, node, at, err);
    case GLK_N_CHOICE:
        return lower_choice(self, node, at, err);
    case GLK_N_REPETITION:
        return lower_repetition(self, node, at, err);
    case GLK_N_TOKENS:
        return lower_tokens(self, node, at, err);
    case GLK_N_RULE:
        return lower_rule(self, node, at, err);
    case GLK_N_CONTAINER:
        return lower_container(self, node, at, err);
    default: /* FAIL and EMPTY are placed from the start */
        assert(false);
        return GLK_OK;
    }
}

static glk_status lower(lowering *self, glk_error *err) {
    const glk_grammar *grammar = self->work->grammar;
    uint32_t id;
    GLK_TRY(glk_vec_reserve(&self->work->code.instrs, grammar->nodes.count + 8, err));
    GLK_TRY(glk_vec_reserve(&self->work->code.lists, grammar->lists.count + 8, err));
    GLK_TRY(glk_vec_push_u32(&self->work->code.lists, 0, err)); /* the list of FAIL */
    GLK_TRY(glk_work_add(self->work, (glk_instr){.op = GLK_OP_EMPTY}, true, &id, err));
    GLK_TRY(glk_work_add(self->work, (glk_instr){.op = GLK_OP_ALT}, false, &id, err));
    self->place[GLK_NODE_EMPTY] = GLK_CODE_EMPTY;
    self->place[GLK_NODE_FAIL] = GLK_CODE_FAIL;
    GLK_TRY(place(self, grammar->root, &self->work->code.root, err));
    while (self->stack.count > 0) {
        uint32_t node = GLK_VEC_U32(&self->stack)[--self->stack.count];
        GLK_TRY(lower_node(self, node, err));
    }
    return GLK_OK;
}

glk_status glk_pass_lower(glk_work *self, glk_error *err) {
    lowering state = {.work = self};
    uint32_t count = self->grammar->nodes.count;
    GLK_TRY(glk_work_array(self, count, sizeof(uint32_t), &state.place, err));
    memset(state.place, 0xFF, count * sizeof(uint32_t));
    glk_vec_init(&state.stack, NULL, sizeof(uint32_t));
    glk_vec_init(&state.labels, NULL, sizeof(uint32_t));
    glk_vec_init(&state.dropped, NULL, sizeof(uint32_t));
    glk_vec_init(&state.choices, NULL, sizeof(uint32_t));
    glk_vec_init(&state.items, NULL, sizeof(uint32_t));
    glk_status status = lower(&state, err);
    glk_vec_free(&state.stack);
    glk_vec_free(&state.labels);
    glk_vec_free(&state.dropped);
    glk_vec_free(&state.choices);
    glk_vec_free(&state.items);
    return status;
}
