/* plain.c -- nodes of a grammar for plain schemas: see plain.h. */
#include "plain.h"

enum { MAX_COMPARED = 4000000, FOUNDED_DEPTH = 30 };

static glk_status value(glk_reader *r, uint32_t item, uint32_t *out, glk_error *err);

static glk_spot *spot_at(const glk_reader *r, uint32_t item) {
    return (glk_spot *)r->spots.data + item;
}

static glk_status sequence3(glk_reader *r, uint32_t a, uint32_t b, uint32_t c, uint32_t *out,
                            glk_error *err) {
    uint32_t nodes[3] = {a, b, c};
    return glk_grammar_sequence(r->grammar, nodes, 3, out, err);
}

static glk_status byte_terminal(glk_reader *r, char byte, uint32_t *out, glk_error *err) {
    uint8_t text = (uint8_t)byte;
    uint32_t expr;
    GLK_TRY(glk_exprs_literal(r->plain->exprs, &text, 1, &expr, err));
    return glk_grammar_terminal(r->grammar, expr, out, err);
}

/* ---- arrays: [ gap ( item gap ( , gap item gap )* )? ] ---- */

static glk_status make_brackets(glk_reader *r, uint32_t gap, glk_error *err) {
    uint32_t open, comma, close;
    GLK_TRY(byte_terminal(r, '[', &open, err));
    GLK_TRY(byte_terminal(r, ',', &comma, err));
    GLK_TRY(byte_terminal(r, ']', &close, err));
    GLK_TRY(sequence3(r, open, gap, GLK_NODE_EMPTY, &open, err));
    GLK_TRY(sequence3(r, comma, gap, GLK_NODE_EMPTY, &comma, err));
    r->list_open = open + 1;
    r->list_comma = comma + 1;
    r->list_close = close + 1;
    return GLK_OK;
}

/* `low` to `high` items, each as `item`. */
static glk_status list_of(glk_reader *r, uint32_t item, uint32_t low, uint32_t high, uint32_t *out,
                          glk_error *err) {
    uint32_t gap, body = GLK_NODE_EMPTY;
    GLK_TRY(glk_grammar_terminal(r->grammar, r->plain->base.gap, &gap, err));
    if (r->list_open == 0) {
        GLK_TRY(make_brackets(r, gap, err));
    }
    if (high > 0) {
        uint32_t more, rest, both[2] = {GLK_NODE_EMPTY, 0};
        GLK_TRY(sequence3(r, r->list_comma - 1, item, gap, &more, err));
        GLK_TRY(glk_grammar_repetition(r->grammar, more, low > 0 ? low - 1 : 0,
                                       high == GLK_UNBOUNDED ? high : high - 1, &rest, err));
        GLK_TRY(sequence3(r, item, gap, rest, &both[1], err));
        body = both[1];
        if (low == 0) {
            GLK_TRY(glk_grammar_choice(r->grammar, both, 2, &body, err));
        }
    }
    return sequence3(r, r->list_open - 1, body, r->list_close - 1, out, err);
}

static uint32_t count_of(const glk_reader *r, uint32_t item, uint32_t absent) {
    return item == GLK_NONE ? absent : (uint32_t)glk_item_at(&r->document, item)->integer;
}

static glk_status array(glk_reader *r, uint32_t own_index, uint32_t *out, glk_error *err) {
    glk_own own = *glk_own_at(r, own_index);
    uint32_t low = count_of(r, own.value[GLK_K_MIN_ITEMS], 0);
    uint32_t high = count_of(r, own.value[GLK_K_MAX_ITEMS], GLK_UNBOUNDED);
    uint32_t items = own.value[GLK_K_ITEMS], item = GLK_NODE_FAIL;
    if (high > 0) {
        if (items == GLK_NONE) {
            items = GLK_NONE - 1; /* any value */
        }
        GLK_TRY(value(r, items, &item, err));
        high = item == GLK_NODE_FAIL ? 0 : high;
    }
    return low > high ? glk_decline(r) : list_of(r, item, low, high, out, err);
}

/* ---- objects ---- */

typedef struct members { /* on the reader's stack: (name's item, required, node) each */
    uint32_t base, count;
} members;

static glk_status push_member(glk_reader *r, members *all, uint32_t name, bool required,
                              uint32_t schema, glk_error *err) {
    uint32_t node;
    GLK_TRY(value(r, schema, &node, err));
    if (node == GLK_NODE_FAIL && required) {
        return glk_decline(r);
    }
    GLK_TRY(glk_vec_push_u32(&r->stack, name, err));
    GLK_TRY(glk_vec_push_u32(&r->stack, required, err));
    GLK_TRY(glk_vec_push_u32(&r->stack, node, err));
    all->count++;
    return GLK_OK;
}

static glk_status push_declared(glk_reader *r, members *all, const glk_own *own, glk_error *err) {
    const glk_document *d = &r->document;
    uint32_t properties = own->value[GLK_K_PROPERTIES], required = own->value[GLK_K_REQUIRED];
    if (properties == GLK_NONE) {
        return GLK_OK;
    }
    uint64_t names = required == GLK_NONE ? 0 : glk_item_at(d, required)->length;
    if (names * glk_item_at(d, properties)->length > MAX_COMPARED) {
        return glk_decline(r);
    }
    for (uint32_t at = properties + 1; at < glk_item_at(d, properties)->end;) {
        uint32_t name = glk_item_behind(d, at), schema = glk_item_behind(d, at + 1);
        at = glk_item_at(d, at + 1)->end;
        GLK_TRY(push_member(r, all, name, glk_item_lists(d, required, name), schema, err));
    }
    return GLK_OK;
}

/* Required names that are declared nowhere, each once; `rest` is the schema of undeclared members. */
static glk_status push_undeclared(glk_reader *r, members *all, const glk_own *own, uint32_t rest,
                                  glk_error *err) {
    const glk_document *d = &r->document;
    uint32_t required = own->value[GLK_K_REQUIRED];
    for (uint32_t at = required + 1; required != GLK_NONE && at < glk_item_at(d, required)->end;
         at++) {
        uint32_t name = glk_item_behind(d, at);
        const glk_item *wanted = glk_item_at(d, name);
        bool known = false;
        for (uint32_t i = 0; i < all->count && !known; i++) {
            known = glk_item_is(d, GLK_VEC_U32(&r->stack)[all->base + 3 * i],
                                d->bytes + wanted->at, wanted->length);
        }
        if (known) {
            continue;
        }
        if (rest == GLK_NONE || all->count * (at - required) > MAX_COMPARED) {
            return glk_decline(r);
        }
        GLK_TRY(push_member(r, all, name, true, rest, err));
    }
    return GLK_OK;
}

/* The keys that none of the members has, in any spelling. */
static glk_status free_key(glk_reader *r, const members *all, uint32_t *out, glk_error *err) {
    const glk_plain_base *base = &r->plain->base;
    glk_exprs *exprs = r->plain->exprs;
    if (all->count == 0) {
        *out = base->string;
        return GLK_OK;
    }
    uint32_t start = r->stack.count, parts[3] = {base->quote, 0, base->quote}, both[2];
    for (uint32_t i = 0; i < all->count; i++) {
        uint32_t spelled;
        GLK_TRY(glk_plain_spellings(r, GLK_VEC_U32(&r->stack)[all->base + 3 * i], &spelled, err));
        GLK_TRY(glk_vec_push_u32(&r->stack, spelled, err));
    }
    r->stack.count = start;
    both[0] = base->characters;
    GLK_TRY(glk_exprs_union(exprs, GLK_VEC_U32(&r->stack) + start, all->count, &both[1], err));
    GLK_TRY(glk_exprs_complement(exprs, both[1], &both[1], err));
    GLK_TRY(glk_exprs_intersect(exprs, both, 2, &parts[1], err));
    return glk_exprs_concat(exprs, parts, 3, out, err);
}

/* The container of the members, and of any others if `rest` is a node that does not fail. */
static glk_status container(glk_reader *r, const members *all, uint32_t rest, uint32_t *out,
                            glk_error *err) {
    const glk_plain_base *base = &r->plain->base;
    glk_vec classes, choices;
    glk_vec_init(&classes, NULL, sizeof(glk_member_class));
    glk_vec_init(&choices, NULL, sizeof(glk_member_choice));
    glk_status status = glk_vec_reserve(&classes, all->count + 1, err);
    if (status == GLK_OK) {
        status = glk_vec_reserve(&choices, all->count + 1, err);
    }
    for (uint32_t i = 0; i < all->count && status == GLK_OK; i++) {
        const uint32_t *member = GLK_VEC_U32(&r->stack) + all->base + 3 * i;
        glk_member_class class = {.required = member[1], .choices = 1};
        glk_member_choice choice = {.value = member[2]};
        status = glk_plain_literal(r, member[0], &class.key, err);
        if (status == GLK_OK && choice.value != GLK_NODE_FAIL) {
            ((glk_member_class *)classes.data)[classes.count++] = class;
            ((glk_member_choice *)choices.data)[choices.count++] = choice;
        }
    }
    glk_container_shape shape = {.named = classes.count, .open = base->gap, .close = base->gap,
                                 .before_comma = base->gap, .after_comma = base->gap,
                                 .before_colon = base->gap, .after_colon = base->gap};
    shape.ordered = base->any_order ? 0 : shape.named;
    if (status == GLK_OK && rest != GLK_NODE_FAIL) {
        glk_member_class class = {.choices = 1};
        shape.free = 1;
        shape.flags = GLK_UNIQUE | GLK_ENDLESS;
        status = free_key(r, all, &class.key, err);
        ((glk_member_class *)classes.data)[classes.count++] = class;
        ((glk_member_choice *)choices.data)[choices.count++] = (glk_member_choice){.value = rest};
    }
    if (status == GLK_OK) {
        status = glk_grammar_container(r->grammar, &shape, classes.data, choices.data,
                                       choices.count, NULL, 0, out, err);
    }
    glk_vec_free(&classes);
    glk_vec_free(&choices);
    return status == GLK_ERR_ARGUMENT ? glk_decline(r) : status; /* forged: a name twice */
}

static glk_status object(glk_reader *r, uint32_t own_index, uint32_t *out, glk_error *err) {
    glk_own own = *glk_own_at(r, own_index);
    uint32_t rest = own.value[GLK_K_ADDITIONAL], node = GLK_NODE_FAIL;
    members all = {.base = r->stack.count};
    if (rest == GLK_NONE) {
        rest = GLK_NONE - 1; /* any value */
    } else if (glk_item_at(&r->document, rest)->kind == GLK_ITEM_FALSE) {
        rest = GLK_NONE;
    }
    GLK_TRY(push_declared(r, &all, &own, err));
    GLK_TRY(push_undeclared(r, &all, &own, rest, err));
    if (rest != GLK_NONE) {
        GLK_TRY(value(r, rest, &node, err));
    }
    glk_status status = container(r, &all, node, out, err);
    r->stack.count = all.base;
    return status;
}

/* ---- values ---- */

static glk_status any_of_shape(glk_reader *r, const glk_shape *shape, uint32_t *out,
                               glk_error *err);

/* Any JSON value: one recursive rule. */
static glk_status any_value(glk_reader *r, uint32_t *out, glk_error *err) {
    if (r->anything != 0) {
        *out = r->anything - 1;
        return GLK_OK;
    }
    uint32_t rule, body, own_index = r->own.count;
    glk_own own = {.types = GLK_T_ALL};
    memset(own.value, 0xFF, sizeof own.value);
    GLK_TRY(glk_vec_push(&r->own, &own, err));
    glk_shape all = {.open = GLK_T_ALL, .alias = GLK_NONE, .own = own_index, .own_count = 1};
    GLK_TRY(glk_grammar_rule(r->grammar, &rule, err));
    r->anything = rule + 1;
    GLK_TRY(any_of_shape(r, &all, &body, err));
    *out = rule;
    return glk_grammar_define(r->grammar, rule, body, err);
}

/* The choice between all values of a shape. */
static glk_status any_of_shape(glk_reader *r, const glk_shape *shape, uint32_t *out,
                               glk_error *err) {
    uint32_t base = r->stack.count, node;
    glk_vec constants;
    glk_vec_init(&constants, NULL, sizeof(uint32_t));
    glk_status status = glk_plain_scalars(r, shape, &constants, err);
    glk_vec_free(&constants);
    GLK_TRY(status);
    for (uint32_t i = 0; i < shape->own_count; i++) {
        if ((glk_own_at(r, shape->own + i)->types & GLK_T_ARRAY) != 0) {
            GLK_TRY(array(r, shape->own + i, &node, err));
            GLK_TRY(glk_vec_push_u32(&r->stack, node, err));
        }
    }
    for (uint32_t i = 0; i < shape->own_count; i++) {
        if ((glk_own_at(r, shape->own + i)->types & GLK_T_OBJECT) != 0) {
            GLK_TRY(object(r, shape->own + i, &node, err));
            GLK_TRY(glk_vec_push_u32(&r->stack, node, err));
        }
    }
    uint32_t count = r->stack.count - base;
    r->stack.count = base;
    return glk_grammar_choice(r->grammar, GLK_VEC_U32(&r->stack) + base, count, out, err);
}

/* The schema that this one is equal to, after all references, and what that one says. */
static glk_status settle(glk_reader *r, uint32_t *item, glk_shape *shape, glk_error *err) {
    for (uint32_t hops = 0; hops <= GLK_PLAIN_DEPTH; hops++) {
        if (glk_item_at(&r->document, *item)->kind != GLK_ITEM_OBJECT) {
            return GLK_OK; /* true or false */
        }
        GLK_TRY(glk_shape_of(r, *item, shape, err));
        if (shape->alias == GLK_NONE) {
            return GLK_OK;
        }
        *item = shape->alias;
    }
    return glk_decline(r);
}

static glk_status build(glk_reader *r, uint32_t item, uint32_t *out, glk_error *err) {
    uint32_t target = item, body;
    glk_shape shape;
    GLK_TRY(settle(r, &target, &shape, err));
    spot_at(r, item)->busy = true;
    r->depth++;
    if (target != item) {
        GLK_TRY(value(r, target, &body, err));
    } else if (shape.anything) {
        GLK_TRY(any_value(r, &body, err));
    } else {
        GLK_TRY(any_of_shape(r, &shape, &body, err));
    }
    r->depth--;
    spot_at(r, item)->busy = false;
    uint32_t rule = spot_at(r, item)->rule;
    if (rule != 0) {
        GLK_TRY(glk_grammar_define(r->grammar, rule - 1, body, err));
        body = body != GLK_NODE_FAIL ? rule - 1 : body;
    }
    spot_at(r, item)->emitted = body + 1;
    *out = body;
    return GLK_OK;
}

/* The node of the schema at `item` (GLK_NONE - 1: of any value), or a rule that will be it. */
static glk_status value(glk_reader *r, uint32_t item, uint32_t *out, glk_error *err) {
    if (item == GLK_NONE - 1 || glk_item_at(&r->document, item)->kind == GLK_ITEM_TRUE) {
        return any_value(r, out, err);
    }
    if (glk_item_at(&r->document, item)->kind == GLK_ITEM_FALSE) {
        *out = GLK_NODE_FAIL;
        return GLK_OK;
    }
    glk_spot *spot = spot_at(r, item);
    if (spot->emitted != 0) {
        *out = spot->emitted - 1;
        return GLK_OK;
    }
    if (spot->busy && spot->rule == 0) {
        GLK_TRY(glk_grammar_rule(r->grammar, out, err));
        spot->rule = *out + 1;
        r->recursive = true;
    }
    if (spot->rule != 0) {
        *out = spot->rule - 1;
        return GLK_OK;
    }
    return r->depth >= GLK_PLAIN_DEPTH ? glk_decline(r) : build(r, item, out, err);
}

/* ---- whether a recursive schema has a value ---- */

static glk_status is_founded(glk_reader *r, uint32_t item, uint32_t depth, bool *out,
                             glk_error *err);

static glk_status founded_array(glk_reader *r, const glk_own *own, uint32_t depth, bool *out,
                                glk_error *err) {
    *out = count_of(r, own->value[GLK_K_MIN_ITEMS], 0) == 0 || own->value[GLK_K_ITEMS] == GLK_NONE;
    return *out ? GLK_OK : is_founded(r, own->value[GLK_K_ITEMS], depth - 1, out, err);
}

/* Whether the members that every object of the schema has are founded. */
static glk_status founded_object(glk_reader *r, const glk_own *own, uint32_t depth, bool *out,
                                 glk_error *err) {
    const glk_document *d = &r->document;
    uint32_t required = own->value[GLK_K_REQUIRED];
    *out = true;
    for (uint32_t at = required + 1;
         *out && required != GLK_NONE && at < glk_item_at(d, required)->end; at++) {
        uint32_t name = glk_item_behind(d, at);
        uint32_t schema = glk_item_member(d, own->value[GLK_K_PROPERTIES], name);
        if (schema == GLK_NONE) {
            schema = own->value[GLK_K_ADDITIONAL];
        }
        if (schema != GLK_NONE) {
            GLK_TRY(is_founded(r, schema, depth - 1, out, err));
        }
    }
    return GLK_OK;
}

/* Whether the schema has a value that shows within `depth` levels.  The budget of schemas bounds it. */
static glk_status is_founded(glk_reader *r, uint32_t item, uint32_t depth, bool *out,
                             glk_error *err) {
    glk_shape shape;
    *out = true;
    if (depth == 0) {
        *out = false;
        return GLK_OK;
    }
    GLK_TRY(settle(r, &item, &shape, err));
    if (glk_item_at(&r->document, item)->kind != GLK_ITEM_OBJECT || shape.anything ||
        shape.constant != 0 ||
        (shape.open & (uint8_t)~(GLK_T_ARRAY | GLK_T_OBJECT)) != 0) {
        return GLK_OK;
    }
    *out = false;
    for (uint32_t i = 0; i < shape.own_count && !*out; i++) {
        glk_own own = *glk_own_at(r, shape.own + i);
        if ((own.types & GLK_T_ARRAY) != 0) {
            GLK_TRY(founded_array(r, &own, depth, out, err));
        }
        if ((own.types & GLK_T_OBJECT) != 0 && !*out) {
            GLK_TRY(founded_object(r, &own, depth, out, err));
        }
    }
    return GLK_OK;
}

/* ---- the boundary ---- */

static glk_status read_root(glk_reader *r, glk_error *err) {
    uint32_t node, edge;
    bool foreign, founded = true;
    GLK_TRY(glk_document_read(&r->document, &foreign, err));
    if (foreign || (glk_item_at(&r->document, 0)->kind != GLK_ITEM_OBJECT &&
                    glk_item_at(&r->document, 0)->kind != GLK_ITEM_TRUE)) {
        return glk_decline(r);
    }
    GLK_TRY(glk_draft_of(r, r->plain->base.draft, err));
    GLK_TRY(glk_vec_reserve(&r->spots, r->document.items.count, err));
    memset(r->spots.data, 0, (size_t)r->document.items.count * sizeof(glk_spot));
    GLK_TRY(glk_grammar_new(r->plain->exprs, &r->grammar, err));
    GLK_TRY(value(r, 0, &node, err));
    if (r->recursive) {
        GLK_TRY(is_founded(r, 0, FOUNDED_DEPTH, &founded, err));
    }
    if (node == GLK_NODE_FAIL || !founded || (r->named && r->refers)) {
        return glk_decline(r);
    }
    GLK_TRY(glk_grammar_terminal(r->grammar, r->plain->base.gap, &edge, err));
    GLK_TRY(sequence3(r, edge, node, edge, &node, err));
    return glk_grammar_set_root(r->grammar, node, err);
}

static void start_reader(glk_reader *r, glk_plain *plain, const uint8_t *bytes, size_t count) {
    memset(r, 0, sizeof *r);
    r->plain = plain;
    glk_document_init(&r->document, bytes, count);
    glk_vec_init(&r->spots, NULL, sizeof(glk_spot));
    glk_vec_init(&r->own, NULL, sizeof(glk_own));
    glk_vec_init(&r->listed, NULL, sizeof(glk_listed));
    glk_vec_init(&r->stack, NULL, sizeof(uint32_t));
    glk_vec_init(&r->text, NULL, 1);
    glk_vec_init(&r->needs, NULL, 1);
}

static void stop_reader(glk_reader *r) {
    glk_document_free(&r->document);
    glk_vec_free(&r->spots);
    glk_vec_free(&r->own);
    glk_vec_free(&r->listed);
    glk_vec_free(&r->stack);
    glk_vec_free(&r->text);
    glk_vec_free(&r->needs);
    glk_grammar_release(r->grammar);
}

glk_status glk_plain_read(glk_plain *self, const uint8_t *bytes, size_t count, uint8_t *needs,
                          size_t capacity, size_t *needed, glk_grammar **out, glk_error *err) {
    glk_reader r;
    start_reader(&r, self, bytes, count);
    glk_status status = read_root(&r, err);
    if (r.declined) {
        status = GLK_OK;
        r.missing = false;
        r.needs.count = 0;
    } else if (status == GLK_OK && !r.missing) {
        *out = r.grammar;
        r.grammar = NULL;
    }
    if (status == GLK_OK) {
        if (r.declined || r.missing) {
            *out = NULL;
        }
        *needed = r.needs.count;
        if (r.needs.count > 0 && r.needs.count <= capacity) {
            memcpy(needs, r.needs.data, r.needs.count);
        }
    }
    stop_reader(&r);
    return status;
}
