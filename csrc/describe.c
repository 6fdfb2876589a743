/* describe.c -- what a grammar's root reaches, as a fingerprint and as JSON text.
 * Tested by tests/c/test_grammar.c.
 *
 * Both number nodes and expressions by first visit, breadth first from the root, so the order
 * depends on content only.  The fingerprint hashes the stream of (kind, parameters, numbers of
 * children); an expression enters it by a hash of its own, bottom up, in which the members of or /
 * and commute, since their order in the store depends on ids.
 *
 * Expressions are read under the store's lock, one at a time: they never change and never move.
 * No recursion: spines and nesting may be as deep as the user likes. */
#include "grammar.h"
#include "text.h"

enum { SPINE_MAX = 256 };      /* items of one dumped concatenation */
enum { TREE_MAX = 1 << 20 };   /* nodes of one dumped formula */
enum { GAPS_AT = 6 };      /* where the gaps begin in a container's list */

/* Ids in the order of their first visit. */
typedef struct visits {
    glk_vec ids;     /* u32 */
    glk_vec hashes;  /* u64 by number; expressions only */
    glk_index index; /* id -> number */
} visits;

typedef struct reach {
    const glk_grammar *grammar;
    visits nodes;
    visits exprs;
    glk_vec stack; /* u32: expressions being hashed */
} reach;

static void visits_init(visits *self) {
    glk_vec_init(&self->ids, NULL, sizeof(uint32_t));
    glk_vec_init(&self->hashes, NULL, sizeof(uint64_t));
    glk_index_init(&self->index, NULL);
}

static void visits_free(visits *self) {
    glk_vec_free(&self->ids);
    glk_vec_free(&self->hashes);
    glk_index_free(&self->index);
}

static void reach_init(reach *self, const glk_grammar *grammar) {
    self->grammar = grammar;
    visits_init(&self->nodes);
    visits_init(&self->exprs);
    glk_vec_init(&self->stack, NULL, sizeof(uint32_t));
}

static void reach_free(reach *self) {
    visits_free(&self->nodes);
    visits_free(&self->exprs);
    glk_vec_free(&self->stack);
}

static uint32_t find_visit(const visits *self, uint32_t id) {
    uint32_t number;
    glk_probe p = glk_probe_start(&self->index, (uint32_t)glk_mix(1, id));
    while (glk_probe_next(&self->index, &p, &number)) {
        if (GLK_VEC_U32(&self->ids)[number] == id) {
            return number;
        }
    }
    return GLK_NONE;
}

/* The number of `id`, a new one at its first visit. */
static glk_status visit(visits *self, uint32_t id, uint32_t *out, glk_error *err) {
    *out = find_visit(self, id);
    if (*out != GLK_NONE) {
        return GLK_OK;
    }
    *out = self->ids.count;
    GLK_TRY(glk_index_reserve(&self->index, err));
    GLK_TRY(glk_vec_push_u32(&self->ids, id, err));
    return glk_index_add(&self->index, (uint32_t)glk_mix(1, id), *out, err);
}

static glk_expr read_expr(const reach *self, uint32_t id) {
    glk_exprs *store = self->grammar->exprs;
    pthread_mutex_lock(&store->lock);
    glk_expr expr = *glk_expr_at(store, id);
    pthread_mutex_unlock(&store->lock);
    return expr;
}

/* The expressions an expression consists of: child k of `count`. */
static uint32_t expr_children(const glk_expr *expr) {
    switch ((glk_expr_kind)expr->kind) {
    case GLK_CAT:
        return 2;
    case GLK_OR:
    case GLK_AND:
        return expr->b;
    case GLK_NOT:
    case GLK_REP:
        return 1;
    default:
        return 0;
    }
}

static uint32_t expr_child(const glk_expr *expr, uint32_t k) {
    if (expr->kind == GLK_OR || expr->kind == GLK_AND) {
        return expr->list[k];
    }
    return k == 0 ? expr->a : expr->b;
}

/* ---- fingerprint ---- */

static uint64_t hash_of(const reach *self, uint32_t expr) {
    return ((const uint64_t *)self->exprs.hashes.data)[find_visit(&self->exprs, expr)];
}

static uint64_t combine(const reach *self, const glk_expr *expr) {
    uint64_t hash = glk_mix(0x657870, expr->kind);
    switch ((glk_expr_kind)expr->kind) {
    case GLK_CLASS:
        for (int i = 0; i < 4; i++) {
            hash = glk_mix(hash, expr->first.word[i]);
        }
        return hash;
    case GLK_CAT:
        return glk_mix(glk_mix(hash, hash_of(self, expr->a)), hash_of(self, expr->b));
    case GLK_OR:
    case GLK_AND: {
        uint64_t sum = 0, mixed = 0;
        for (uint32_t i = 0; i < expr->b; i++) {
            uint64_t member = hash_of(self, expr->list[i]);
            sum += member;
            mixed += glk_mix(0x6D656D, member);
        }
        return glk_mix(glk_mix(glk_mix(hash, expr->b), sum), mixed);
    }
    case GLK_NOT:
        return glk_mix(hash, hash_of(self, expr->a));
    case GLK_REP:
        hash = glk_mix(glk_mix(hash, expr->lo), expr->hi);
        return glk_mix(hash, hash_of(self, expr->a));
    case GLK_TAG:
        return glk_mix(hash, expr->a);
    default:
        return hash;
    }
}

/* Pushes what must be hashed before `expr`; false if there is nothing of the kind. */
static glk_status push_unhashed(reach *self, const glk_expr *expr, bool *pushed, glk_error *err) {
    uint32_t count = expr_children(expr);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t child = expr_child(expr, k);
        if (find_visit(&self->exprs, child) == GLK_NONE) {
            GLK_TRY(glk_vec_push_u32(&self->stack, child, err));
            *pushed = true;
        }
    }
    return GLK_OK;
}

static glk_status hash_expr(reach *self, uint32_t root, uint64_t *out, glk_error *err) {
    GLK_TRY(glk_vec_push_u32(&self->stack, root, err));
    while (self->stack.count > 0) {
        uint32_t id = GLK_VEC_U32(&self->stack)[self->stack.count - 1];
        if (find_visit(&self->exprs, id) != GLK_NONE) {
            self->stack.count--;
            continue;
        }
        glk_expr expr = read_expr(self, id);
        bool pushed = false;
        GLK_TRY(push_unhashed(self, &expr, &pushed, err));
        if (!pushed) {
            uint64_t hash = combine(self, &expr);
            uint32_t number;
            GLK_TRY(glk_vec_push(&self->exprs.hashes, &hash, err));
            GLK_TRY(visit(&self->exprs, id, &number, err));
            self->stack.count--;
        }
    }
    *out = hash_of(self, root);
    return GLK_OK;
}

static glk_status mix_expr(reach *self, uint32_t expr, uint64_t *hash, glk_error *err) {
    uint64_t content = 0;
    GLK_TRY(hash_expr(self, expr, &content, err));
    *hash = glk_mix(*hash, content);
    return GLK_OK;
}

static glk_status mix_node(reach *self, uint32_t node, uint64_t *hash, glk_error *err) {
    uint32_t number;
    GLK_TRY(visit(&self->nodes, node, &number, err));
    *hash = glk_mix(*hash, number);
    return GLK_OK;
}

static glk_status mix_list(reach *self, const glk_node *node, uint64_t *hash, glk_error *err) {
    const uint32_t *list = glk_node_list(self->grammar, node->b);
    *hash = glk_mix(*hash, list[0]);
    for (uint32_t i = 1; i <= list[0]; i++) {
        if (node->kind == GLK_N_TOKENS) {
            *hash = glk_mix(*hash, list[i]);
        } else if (node->kind == GLK_N_SWITCH) {
            *hash = glk_mix(*hash, list[2 * i - 1]);
            GLK_TRY(mix_node(self, list[2 * i], hash, err));
        } else {
            GLK_TRY(mix_node(self, list[i], hash, err));
        }
    }
    return GLK_OK;
}

static glk_status mix_container(reach *self, const uint32_t *list, uint64_t *hash,
                                glk_error *err) {
    glk_container container = glk_container_view(list);
    uint32_t classes = glk_container_classes(&container);
    for (uint32_t i = 0; i < GAPS_AT; i++) {
        *hash = glk_mix(*hash, list[i]);
    }
    for (uint32_t i = GAPS_AT; i < GLK_CONTAINER_HEADER; i++) {
        GLK_TRY(mix_expr(self, list[i], hash, err));
    }
    for (uint32_t k = 0; k < classes; k++) {
        GLK_TRY(mix_expr(self, glk_class_key(&container, k), hash, err));
        *hash = glk_mix(glk_mix(*hash, glk_class_required(&container, k)),
                        glk_class_count(&container, k));
    }
    for (uint32_t i = 0; i < container.choice_count; i++) {
        GLK_TRY(mix_node(self, glk_choice_value(&container, i), hash, err));
        *hash = glk_mix(*hash, glk_choice_literals(&container, i));
    }
    for (uint32_t i = 0; i < container.formula_words; i++) {
        *hash = glk_mix(*hash, container.formula[i]);
    }
    return GLK_OK;
}

static glk_status mix_content(reach *self, uint32_t id, uint64_t *hash, glk_error *err) {
    const glk_node *node = glk_node_at(self->grammar, id);
    *hash = glk_mix(*hash, node->kind);
    switch ((glk_node_kind)node->kind) {
    case GLK_N_TERMINAL:
        return mix_expr(self, node->a, hash, err);
    case GLK_N_SWITCH:
        GLK_TRY(mix_expr(self, node->a, hash, err));
        return mix_list(self, node, hash, err);
    case GLK_N_SEQUENCE:
    case GLK_N_CHOICE:
    case GLK_N_TOKENS:
        return mix_list(self, node, hash, err);
    case GLK_N_REPETITION:
        *hash = glk_mix(glk_mix(*hash, node->lo), node->hi);
        return mix_node(self, node->a, hash, err);
    case GLK_N_RULE:
        return node->a == GLK_NONE ? GLK_OK : mix_node(self, node->a, hash, err);
    case GLK_N_CONTAINER:
        return mix_container(self, glk_node_list(self->grammar, node->b), hash, err);
    default:
        return GLK_OK;
    }
}

static glk_status fingerprint(reach *self, uint64_t *out) {
    uint64_t hash = glk_mix(0x676C6B, 2); /* the second number is the version of this scheme */
    GLK_TRY(mix_node(self, self->grammar->root, &hash, NULL));
    for (uint32_t i = 0; i < self->nodes.ids.count; i++) {
        GLK_TRY(mix_content(self, GLK_VEC_U32(&self->nodes.ids)[i], &hash, NULL));
    }
    *out = hash != 0 ? hash : 1;
    return GLK_OK;
}

uint64_t glk_grammar_fingerprint(const glk_grammar *self) {
    reach state;
    reach_init(&state, self);
    uint64_t hash = 0;
    glk_status status = fingerprint(&state, &hash);
    reach_free(&state);
    return status == GLK_OK ? hash : 0;
}

glk_status glk_grammar_bytes(const glk_grammar *self, uint64_t *bits, glk_error *err) {
    reach state;
    glk_bytes used = {{0}};
    uint64_t hash = 0;
    reach_init(&state, self);
    glk_status status = fingerprint(&state, &hash); /* visits everything */
    for (uint32_t i = 0; status == GLK_OK && i < state.exprs.ids.count; i++) {
        uint32_t id = GLK_VEC_U32(&state.exprs.ids)[i];
        glk_expr expr = read_expr(&state, id);
        if (expr.kind == GLK_CLASS || id == GLK_EXPR_ANY) {
            used = glk_bytes_or(used, expr.first);
        }
    }
    reach_free(&state);
    if (status != GLK_OK) {
        return glk_fail(err, status, "out of memory");
    }
    memcpy(bits, &used, sizeof used);
    return GLK_OK;
}

/* ---- dump ---- */

static void print_quoted(glk_text *text, const char *word) {
    glk_text_add(text, "\"");
    glk_text_add(text, word);
    glk_text_add(text, "\"");
}

static void print_bound(glk_text *text, uint32_t bound) {
    if (bound == GLK_UNBOUNDED) {
        glk_text_add(text, "null");
    } else {
        glk_text_number(text, bound);
    }
}

static void print_class(glk_text *text, const glk_bytes *set) {
    const char *comma = "";
    for (uint32_t low = 0; low < 256; low++) {
        if (!glk_bytes_has(set, (uint8_t)low)) {
            continue;
        }
        uint32_t high = low;
        while (high < 255 && glk_bytes_has(set, (uint8_t)(high + 1))) {
            high++;
        }
        glk_text_add(text, comma);
        glk_text_add(text, "[");
        glk_text_number(text, low);
        glk_text_add(text, ",");
        glk_text_number(text, high);
        glk_text_add(text, "]");
        comma = ",";
        low = high;
    }
}

static glk_status refer(visits *to, glk_text *text, uint32_t id, glk_error *err) {
    uint32_t number;
    GLK_TRY(visit(to, id, &number, err));
    glk_text_number(text, id);
    return GLK_OK;
}

/* The items of a concatenation; a long spine goes on in another expression. */
static glk_status print_spine(reach *self, glk_text *text, glk_expr expr, glk_error *err) {
    uint32_t tail = expr.b;
    for (uint32_t i = 2;; i++) {
        GLK_TRY(refer(&self->exprs, text, expr.a, err));
        glk_text_add(text, ",");
        tail = expr.b;
        expr = read_expr(self, tail);
        if (expr.kind != GLK_CAT || i >= SPINE_MAX) {
            return refer(&self->exprs, text, tail, err);
        }
    }
}

static glk_status print_members(reach *self, glk_text *text, const glk_expr *expr,
                                glk_error *err) {
    for (uint32_t i = 0; i < expr->b; i++) {
        glk_text_add(text, i > 0 ? "," : "");
        GLK_TRY(refer(&self->exprs, text, expr->list[i], err));
    }
    return GLK_OK;
}

static glk_status print_expr(reach *self, glk_text *text, uint32_t id, glk_error *err) {
    static const char *const names[] = {"never", "epsilon",   "class",      "concat", "union",
                                        "intersect", "complement", "repeat", "tag"};
    glk_expr expr = read_expr(self, id);
    print_quoted(text, names[expr.kind]);
    if (expr.kind == GLK_NEVER || expr.kind == GLK_EPSILON) {
        return GLK_OK;
    }
    glk_text_add(text, ",");
    switch ((glk_expr_kind)expr.kind) {
    case GLK_TAG:
        glk_text_number(text, expr.a);
        return GLK_OK;
    case GLK_NOT:
        return refer(&self->exprs, text, expr.a, err);
    case GLK_REP:
        GLK_TRY(refer(&self->exprs, text, expr.a, err));
        glk_text_add(text, ",");
        glk_text_number(text, expr.lo);
        glk_text_add(text, ",");
        print_bound(text, expr.hi);
        return GLK_OK;
    default:
        break;
    }
    glk_text_add(text, "[");
    if (expr.kind == GLK_CLASS) {
        print_class(text, &expr.first);
    } else if (expr.kind == GLK_CAT) {
        GLK_TRY(print_spine(self, text, expr, err));
    } else {
        GLK_TRY(print_members(self, text, &expr, err));
    }
    glk_text_add(text, "]");
    return GLK_OK;
}

static glk_status print_list(reach *self, glk_text *text, const glk_node *node, glk_error *err) {
    const uint32_t *list = glk_node_list(self->grammar, node->b);
    glk_text_add(text, ",[");
    for (uint32_t i = 1; i <= list[0]; i++) {
        glk_text_add(text, i > 1 ? "," : "");
        if (node->kind == GLK_N_TOKENS) {
            glk_text_number(text, list[i]);
        } else if (node->kind == GLK_N_SWITCH) {
            glk_text_add(text, "[");
            glk_text_number(text, list[2 * i - 1]);
            glk_text_add(text, ",");
            GLK_TRY(refer(&self->nodes, text, list[2 * i], err));
            glk_text_add(text, "]");
        } else {
            GLK_TRY(refer(&self->nodes, text, list[i], err));
        }
    }
    glk_text_add(text, "]");
    return GLK_OK;
}

/* ---- dump: containers ---- */

/* Classes first .. last - 1 as [key, required, [[value, literals], ...]]. */
static glk_status print_classes(reach *self, glk_text *text, const glk_container *container,
                                uint32_t first, uint32_t last, glk_error *err) {
    glk_text_add(text, ",[");
    for (uint32_t k = first; k < last; k++) {
        glk_text_add(text, k > first ? ",[" : "[");
        if ((container->flags & GLK_ARRAY) != 0) {
            glk_text_add(text, "null");
        } else {
            GLK_TRY(refer(&self->exprs, text, glk_class_key(container, k), err));
        }
        glk_text_add(text, glk_class_required(container, k) ? ",true,[" : ",false,[");
        uint32_t choice = glk_class_first(container, k);
        for (uint32_t i = 0; i < glk_class_count(container, k); i++, choice++) {
            glk_text_add(text, i > 0 ? ",[" : "[");
            GLK_TRY(refer(&self->nodes, text, glk_choice_value(container, choice), err));
            glk_text_add(text, ",");
            glk_text_number(text, glk_choice_literals(container, choice));
            glk_text_add(text, "]");
        }
        glk_text_add(text, "]]");
    }
    glk_text_add(text, "]");
    return GLK_OK;
}

/* Class or literal: what stands for all is null. */
static void print_part(glk_text *text, uint32_t part) {
    if (part == GLK_EVERY) {
        glk_text_add(text, "null");
    } else {
        glk_text_number(text, part);
    }
}

static void print_pairs(glk_text *text, const uint32_t *pairs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        glk_text_add(text, i > 0 ? ",[" : "[");
        print_part(text, pairs[2 * i]);
        glk_text_add(text, ",");
        print_part(text, pairs[2 * i + 1]);
        glk_text_add(text, "]");
    }
}

/* A formula node whose brackets are open: where it begins, and how many of its children are
 * printed. */
typedef struct open_node {
    uint32_t at, printed;
} open_node;

static void print_formula_start(glk_text *text, const uint32_t *node) {
    static const char *const names[] = {"at_least", "all_but", "and", "or"};
    glk_text_add(text, "[");
    print_quoted(text, names[node[0]]);
    if (node[0] <= GLK_F_ALL_BUT) {
        glk_text_add(text, ",");
        glk_text_number(text, node[1]);
    }
    glk_text_add(text, ",[");
    if (node[0] <= GLK_F_ALL_BUT) {
        print_pairs(text, node + 3, node[2]);
    }
}

/* Prints a node and all below it; `starts`: where the nodes begin.  A node with several parents is
 * printed for each of them, so the number of printed ones needs a limit. */
static glk_status print_tree(glk_text *text, const uint32_t *formula, const uint32_t *starts,
                             glk_vec *stack, glk_error *err) {
    open_node top = {.at = starts[formula[0] - 1]};
    uint32_t printed = 1;
    print_formula_start(text, formula + top.at);
    for (;;) {
        const uint32_t *node = formula + top.at;
        if (node[0] >= GLK_F_AND && top.printed < node[1]) {
            open_node child = {.at = starts[node[2 + top.printed]]};
            glk_text_add(text, top.printed++ > 0 ? "," : "");
            if (printed++ == TREE_MAX) {
                return glk_fail_limit(err, "dumped_formula_nodes", printed, TREE_MAX);
            }
            GLK_TRY(glk_vec_push(stack, &top, err));
            print_formula_start(text, formula + child.at);
            top = child;
            continue;
        }
        glk_text_add(text, "]]");
        if (stack->count == 0) {
            return GLK_OK;
        }
        top = ((const open_node *)stack->data)[--stack->count];
    }
}

static glk_status print_formula(glk_text *text, const uint32_t *formula, glk_error *err) {
    glk_vec starts, stack;
    glk_vec_init(&starts, NULL, sizeof(uint32_t));
    glk_vec_init(&stack, NULL, sizeof(open_node));
    glk_status status = glk_vec_reserve(&starts, formula[0], err);
    if (status == GLK_OK) {
        const uint32_t *at = formula + 1;
        for (uint32_t i = 0; i < formula[0]; i++) {
            glk_formula_node node;
            GLK_VEC_U32(&starts)[i] = (uint32_t)(at - formula);
            at = glk_formula_read(at, &node);
        }
        status = print_tree(text, formula, GLK_VEC_U32(&starts), &stack, err);
    }
    glk_vec_free(&starts);
    glk_vec_free(&stack);
    return status;
}

static glk_status print_container(reach *self, glk_text *text, const uint32_t *list,
                                  glk_error *err) {
    static const char *const flags[] = {"unique", "endless", "tight", "bare"}; /* from GLK_UNIQUE on */
    glk_container container = glk_container_view(list);
    glk_text_add(text, ",");
    print_quoted(text, (container.flags & GLK_ARRAY) != 0 ? "array" : "object");
    for (uint32_t i = 0; i < GLK_CONTAINER_HEADER - GAPS_AT; i++) {
        glk_text_add(text, i > 0 ? "," : ",[");
        GLK_TRY(refer(&self->exprs, text, container.gaps[i], err));
    }
    glk_text_add(text, "]");
    uint32_t all = glk_container_classes(&container);
    GLK_TRY(print_classes(self, text, &container, 0, container.named, err));
    GLK_TRY(print_classes(self, text, &container, container.named, all, err));
    glk_text_add(text, ",");
    glk_text_number(text, container.ordered);
    glk_text_add(text, ",[");
    const char *comma = "";
    for (uint32_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if ((container.flags & (uint32_t)GLK_UNIQUE << i) != 0) {
            glk_text_add(text, comma);
            print_quoted(text, flags[i]);
            comma = ",";
        }
    }
    glk_text_add(text, container.formula_words == 0 ? "],null" : "],");
    return container.formula_words == 0 ? GLK_OK : print_formula(text, container.formula, err);
}

static glk_status print_node(reach *self, glk_text *text, uint32_t id, glk_error *err) {
    static const char *const names[] = {"fail",   "empty",      "terminal", "switch", "sequence",
                                        "choice", "repetition", "tokens",   "rule",   "container"};
    const glk_node *node = glk_node_at(self->grammar, id);
    print_quoted(text, names[node->kind]);
    switch ((glk_node_kind)node->kind) {
    case GLK_N_TERMINAL:
    case GLK_N_SWITCH:
        glk_text_add(text, ",");
        GLK_TRY(refer(&self->exprs, text, node->a, err));
        return node->kind == GLK_N_SWITCH ? print_list(self, text, node, err) : GLK_OK;
    case GLK_N_CONTAINER:
        return print_container(self, text, glk_node_list(self->grammar, node->b), err);
    case GLK_N_SEQUENCE:
    case GLK_N_CHOICE:
    case GLK_N_TOKENS:
        return print_list(self, text, node, err);
    case GLK_N_REPETITION:
        glk_text_add(text, ",");
        GLK_TRY(refer(&self->nodes, text, node->a, err));
        glk_text_add(text, ",");
        glk_text_number(text, node->lo);
        glk_text_add(text, ",");
        print_bound(text, node->hi);
        return GLK_OK;
    case GLK_N_RULE:
        glk_text_add(text, node->a == GLK_NONE ? ",null" : ",");
        return node->a == GLK_NONE ? GLK_OK : refer(&self->nodes, text, node->a, err);
    default:
        return GLK_OK;
    }
}

typedef glk_status (*printer)(reach *self, glk_text *text, uint32_t id, glk_error *err);

/* Prints what `of` holds, and what it comes to hold on the way. */
static glk_status print_all(reach *self, glk_text *text, visits *of, printer print,
                            glk_error *err) {
    for (uint32_t i = 0; i < of->ids.count; i++) {
        uint32_t id = GLK_VEC_U32(&of->ids)[i];
        glk_text_add(text, i > 0 ? "," : "");
        glk_text_add(text, "\"");
        glk_text_number(text, id);
        glk_text_add(text, "\":[");
        GLK_TRY(print(self, text, id, err));
        glk_text_add(text, "]");
    }
    return GLK_OK;
}

static glk_status dump(reach *self, glk_text *text, glk_error *err) {
    glk_text_add(text, "{\"root\":");
    GLK_TRY(refer(&self->nodes, text, self->grammar->root, err));
    glk_text_add(text, ",\"nodes\":{");
    GLK_TRY(print_all(self, text, &self->nodes, print_node, err));
    glk_text_add(text, "},\"exprs\":{");
    GLK_TRY(print_all(self, text, &self->exprs, print_expr, err));
    glk_text_add(text, "}}");
    return GLK_OK;
}

glk_status glk_grammar_dump(const glk_grammar *self, char *buffer, size_t capacity, size_t *needed,
                            glk_error *err) {
    reach state;
    reach_init(&state, self);
    glk_text text = {.buffer = buffer, .capacity = capacity};
    glk_status status = dump(&state, &text, err);
    reach_free(&state);
    if (status == GLK_OK) {
        glk_text_end(&text);
        *needed = text.length;
    }
    return status;
}
