/* lower.c -- the first pass: what the root reaches, as working code.
 *
 * Every grammar node gets its place in the code (a sequence one CAT for each item but the last)
 * when it is first referred to, and its content when it comes off the stack, so cycles and depth
 * need no care.  What can be seen at once is settled here:
 *
 *     a terminal without sentence                                     choice of nothing
 *     token ids that the vocabulary lacks                             dropped
 *     labels that no text can end with, members whose key has none    dropped
 *     a switch whose terminal matches the empty string                choice between the nodes of
 *                                                                     these labels and the rest
 *     repetition {0,1}                                                choice
 *     an object of which the vocabulary lacks ',' ':' '{' or '}'      what is left of it */
#include "passes.h"

typedef struct lowering {
    glk_work *work;
    uint32_t *place;  /* by grammar node: its code node; GLK_NONE = not met */
    glk_vec stack;    /* u32: grammar nodes, placed and not yet filled in */
    glk_vec labels;   /* u32: live labels of one switch; small objects */
    glk_vec dropped;  /* u32: labels to be stripped; the empty string's labels */
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

/* ---- objects ---- */

/* Collects into `items` the members whose key has text.  *fails: a required one has none. */
static glk_status collect_members(lowering *self, const uint32_t *list, uint32_t header[3],
                                  uint32_t *required, bool *fails, glk_error *err) {
    const uint32_t *item = list + 3;
    header[0] = header[1] = 0;
    header[2] = list[2];
    for (uint32_t i = 0; i < list[0] + list[1]; i++) {
        bool is_member = i < list[0], empty;
        bool is_required = is_member && item[2] != 0;
        uint32_t key, value;
        GLK_TRY(import_expr(self, item[0], &key, &empty, err));
        *fails = *fails || (empty && is_required);
        if (!empty) {
            GLK_TRY(place(self, item[1], &value, err));
            GLK_TRY(glk_vec_push_u32(&self->items, key, err));
            GLK_TRY(glk_vec_push_u32(&self->items, value, err));
            if (is_member) {
                GLK_TRY(glk_vec_push_u32(&self->items, is_required, err));
            }
            header[is_member ? 0 : 1]++;
            *required += is_required;
        }
        item += is_member ? 3 : 2;
    }
    return GLK_OK;
}

/* Adds an object that must have `member` (key, value), or none (NULL); its id goes to `labels`. */
static glk_status add_object(lowering *self, uint32_t gap, uint32_t order, const uint32_t *member,
                             glk_error *err) {
    glk_vec *lists = &self->work->code.lists;
    uint32_t length = member != NULL ? 6 : 3, id;
    GLK_TRY(glk_vec_reserve(lists, length, err));
    glk_instr object = {.op = GLK_OP_OBJECT, .a = gap, .b = lists->count};
    uint32_t *list = GLK_VEC_U32(lists) + lists->count;
    list[0] = member != NULL;
    list[1] = 0;
    list[2] = order;
    if (member != NULL) {
        list[3] = member[0];
        list[4] = member[1];
        list[5] = 1;
    }
    lists->count += length;
    GLK_TRY(glk_work_add(self->work, object, false, &id, err));
    return glk_vec_push_u32(&self->labels, id, err);
}

/* An object with at most one member, for vocabularies without ',': the choice, at `at`, between the
 * object without members and, for each member, the object that must have it. */
static glk_status lower_small_object(lowering *self, uint32_t gap, const uint32_t header[3],
                                     bool may_be_bare, uint32_t at, glk_error *err) {
    const uint32_t *item = self->items.data;
    self->labels.count = 0;
    if (may_be_bare) {
        GLK_TRY(add_object(self, gap, header[2], NULL, err));
    }
    for (uint32_t i = 0; i < header[0] + header[1]; i++) {
        bool is_member = i < header[0];
        if (may_be_bare || (is_member && item[2] != 0)) {
            GLK_TRY(add_object(self, gap, header[2], item, err));
        }
        item += is_member ? 3 : 2;
    }
    uint32_t count = self->labels.count, list;
    self->items.count = 0;
    GLK_TRY(glk_vec_reserve(&self->items, count, err));
    memcpy(self->items.data, self->labels.data, count * sizeof count);
    self->items.count = count;
    GLK_TRY(close_items(self, &count, 1, &list, err));
    *glk_work_at(self->work, at) = (glk_instr){.op = GLK_OP_ALT, .b = list};
    return GLK_OK;
}

static bool has(const lowering *self, char byte) {
    return self->work->env->has_byte(self->work->env->context, (uint8_t)byte);
}

static glk_status lower_object(lowering *self, const glk_node *node, uint32_t at,
                               glk_error *err) {
    uint32_t gap, required = 0, header[3];
    bool fails;
    GLK_TRY(import_expr(self, node->a, &gap, &fails, err));
    fails = fails || !has(self, '{') || !has(self, '}');
    if (!fails) {
        GLK_TRY(collect_members(self, glk_node_list(self->work->grammar, node->b), header,
                                &required, &fails, err));
    }
    if (!has(self, ':')) { /* no member can be written */
        fails = fails || required > 0;
        header[0] = header[1] = self->items.count = 0;
    }
    bool single = !has(self, ',');
    if (fails || (single && required > 1)) {
        self->items.count = 0;
        make_fail(self, at);
        return GLK_OK;
    }
    if (single) {
        return lower_small_object(self, gap, header, required == 0, at, err);
    }
    uint32_t list;
    GLK_TRY(close_items(self, header, 3, &list, err));
    *glk_work_at(self->work, at) = (glk_instr){.op = GLK_OP_OBJECT, .a = gap, .b = list};
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
    case GLK_N_OBJECT:
        return lower_object(self, node, at, err);
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
    glk_vec_init(&state.items, NULL, sizeof(uint32_t));
    glk_status status = lower(&state, err);
    glk_vec_free(&state.stack);
    glk_vec_free(&state.labels);
    glk_vec_free(&state.dropped);
    glk_vec_free(&state.items);
    return status;
}
