/* test_grammar.c -- the builder of grammar.c: canonical forms, validation, and the fingerprint and
 * dump of describe.c. */
#include "grammar.h"

#include "check.h"
#include "containers.h"

static glk_exprs *store;
static glk_error err;

static uint32_t literal(const char *text) {
    uint32_t id;
    CHECK_OK(glk_expr_literal(store, (const uint8_t *)text, strlen(text), GLK_EXPR_EPSILON, &id,
                              &err));
    return id;
}

static uint32_t tagged(const char *text, uint32_t label) {
    uint32_t tag, id;
    CHECK_OK(glk_expr_tag(store, label, &tag, &err));
    CHECK_OK(glk_expr_cat(store, literal(text), tag, &id, &err));
    return id;
}

static uint32_t either(uint32_t x, uint32_t y) {
    uint32_t id;
    CHECK_OK(glk_expr_or2(store, x, y, &id, &err));
    return id;
}

static glk_grammar *new_grammar(void) {
    glk_grammar *grammar;
    CHECK_OK(glk_grammar_new(store, &grammar, &err));
    return grammar;
}

static uint32_t terminal(glk_grammar *g, const char *text) {
    uint32_t id;
    CHECK_OK(glk_grammar_terminal(g, literal(text), &id, &err));
    return id;
}

static uint32_t sequence(glk_grammar *g, const uint32_t *nodes, size_t count) {
    uint32_t id;
    CHECK_OK(glk_grammar_sequence(g, nodes, count, &id, &err));
    return id;
}

static uint32_t choice(glk_grammar *g, const uint32_t *nodes, size_t count) {
    uint32_t id;
    CHECK_OK(glk_grammar_choice(g, nodes, count, &id, &err));
    return id;
}

static uint32_t repetition(glk_grammar *g, uint32_t node, uint32_t low, uint32_t high) {
    uint32_t id;
    CHECK_OK(glk_grammar_repetition(g, node, low, high, &id, &err));
    return id;
}

#define LIST(...) (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4

static void test_canonical_forms(void) {
    glk_grammar *g = new_grammar();
    uint32_t a = terminal(g, "a"), b = terminal(g, "b"), c = terminal(g, "c"), id;
    CHECK_EQUAL(terminal(g, "a"), a);
    CHECK_EQUAL(terminal(g, ""), GLK_NODE_EMPTY);
    CHECK_OK(glk_grammar_terminal(g, GLK_EXPR_NEVER, &id, &err));
    CHECK_EQUAL(id, GLK_NODE_FAIL);

    CHECK_EQUAL(sequence(g, NULL, 0), GLK_NODE_EMPTY);
    CHECK_EQUAL(sequence(g, LIST(a)), a);
    CHECK_EQUAL(sequence(g, LIST(GLK_NODE_EMPTY, a, GLK_NODE_EMPTY)), a);
    CHECK_EQUAL(sequence(g, LIST(a, GLK_NODE_FAIL, b)), GLK_NODE_FAIL);
    uint32_t ab = sequence(g, LIST(a, b));
    CHECK_EQUAL(sequence(g, LIST(ab, c)), sequence(g, LIST(a, b, c)));
    CHECK_EQUAL(sequence(g, LIST(c, ab)), sequence(g, LIST(c, a, b)));
    CHECK(sequence(g, LIST(b, a)) != ab);

    CHECK_EQUAL(choice(g, NULL, 0), GLK_NODE_FAIL);
    CHECK_EQUAL(choice(g, LIST(a, a, GLK_NODE_FAIL)), a);
    uint32_t a_or_b = choice(g, LIST(a, b));
    CHECK_EQUAL(choice(g, LIST(a, b, a)), a_or_b);
    CHECK_EQUAL(choice(g, LIST(a_or_b, c)), choice(g, LIST(a, b, c)));
    CHECK(a_or_b != ab);

    CHECK_EQUAL(repetition(g, a, 1, 1), a);
    CHECK_EQUAL(repetition(g, a, 0, 0), GLK_NODE_EMPTY);
    CHECK_EQUAL(repetition(g, GLK_NODE_EMPTY, 3, 9), GLK_NODE_EMPTY);
    CHECK_EQUAL(repetition(g, GLK_NODE_FAIL, 0, 9), GLK_NODE_EMPTY);
    CHECK_EQUAL(repetition(g, GLK_NODE_FAIL, 1, 9), GLK_NODE_FAIL);
    CHECK_EQUAL(repetition(g, a, 2, 5), repetition(g, a, 2, 5));
    CHECK(repetition(g, a, 2, 5) != repetition(g, a, 2, 6));

    uint32_t tokens, again;
    CHECK_OK(glk_grammar_tokens(g, LIST(7, 3, 7), &tokens, &err));
    CHECK_OK(glk_grammar_tokens(g, LIST(3, 7), &again, &err));
    CHECK_EQUAL(tokens, again);
    CHECK_OK(glk_grammar_tokens(g, NULL, 0, &tokens, &err));
    CHECK_EQUAL(tokens, GLK_NODE_FAIL);

    uint32_t rule, other;
    CHECK_OK(glk_grammar_rule(g, &rule, &err));
    CHECK_OK(glk_grammar_rule(g, &other, &err));
    CHECK(rule != other);
    glk_grammar_release(g);
}

static void test_large_lists(void) {
    glk_grammar *g = new_grammar();
    uint32_t leaves[100], doubled[200];
    for (uint32_t i = 0; i < 100; i++) {
        char text[8];
        (void)snprintf(text, sizeof text, "x%u", i);
        leaves[i] = doubled[i] = doubled[199 - i] = terminal(g, text);
    }
    CHECK_EQUAL(choice(g, doubled, 200), choice(g, leaves, 100));
    uint32_t whole = sequence(g, leaves, 100);
    const glk_node *node = glk_node_at(g, sequence(g, LIST(whole, leaves[0])));
    CHECK_EQUAL(*glk_node_list(g, node->b), 2); /* a long list is not copied into its parent */
    uint32_t chain = leaves[0];
    for (uint32_t i = 0; i < 100000; i++) {
        chain = sequence(g, LIST(chain, leaves[i % 100]));
    }
    CHECK(g->lists.count < 100000 * 40);
    glk_grammar_release(g);
}

static void test_switches(void) {
    glk_grammar *g = new_grammar();
    uint32_t a = terminal(g, "a"), b = terminal(g, "b"), id, again;
    uint32_t expr = either(tagged("x", 5), tagged("y", 9));
    CHECK_OK(glk_grammar_switch(g, expr, (uint32_t[]){9, 5}, (uint32_t[]){b, a}, 2, &id, &err));
    CHECK_OK(glk_grammar_switch(g, expr, (uint32_t[]){5, 9, 7}, (uint32_t[]){a, b, a}, 3, &again,
                                &err));
    CHECK_EQUAL(id, again); /* sorted, without the label that the expression lacks */
    uint32_t count = g->nodes.count, lists = g->lists.count;
    CHECK_EQUAL(glk_grammar_switch(g, expr, (uint32_t[]){5}, (uint32_t[]){a}, 1, &id, &err),
                GLK_ERR_ARGUMENT); /* label 9 would be a dead end */
    CHECK_EQUAL(
        glk_grammar_switch(g, expr, (uint32_t[]){5, 9, 5}, (uint32_t[]){a, b, b}, 3, &id, &err),
        GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_grammar_switch(g, literal("x"), (uint32_t[]){5}, (uint32_t[]){a}, 1, &id, &err),
                GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_grammar_switch(g, either(tagged("x", 5), literal("z")), (uint32_t[]){5},
                                   (uint32_t[]){a}, 1, &id, &err),
                GLK_ERR_ARGUMENT); /* "z" ends without a label */
    CHECK_EQUAL(glk_grammar_switch(g, expr, (uint32_t[]){5, 9}, (uint32_t[]){a, 999}, 2, &id, &err),
                GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_grammar_terminal(g, expr, &id, &err), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(g->nodes.count, count);
    CHECK_EQUAL(g->lists.count, lists);
    CHECK_OK(glk_grammar_switch(g, GLK_EXPR_NEVER, (uint32_t[]){5}, (uint32_t[]){a}, 1, &id, &err));
    CHECK_EQUAL(id, GLK_NODE_FAIL);
    glk_grammar_release(g);
}

static void test_validation(void) {
    glk_grammar *g = new_grammar();
    uint32_t a = terminal(g, "a"), id = 77, rule;
    uint32_t count = g->nodes.count, lists = g->lists.count;
    CHECK_EQUAL(glk_grammar_sequence(g, LIST(a, 500), &id, &err), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_grammar_choice(g, LIST(a, 500), &id, &err), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_grammar_repetition(g, a, 2, 1, &id, &err), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_grammar_repetition(g, a, UINT32_MAX, UINT32_MAX, &id, &err), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_grammar_repetition(g, 500, 0, 1, &id, &err), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_grammar_set_root(g, 500, &err), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_grammar_terminal(g, 99999999, &id, &err), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(g->nodes.count, count);
    CHECK_EQUAL(g->lists.count, lists);
    CHECK_EQUAL(id, 77);
    CHECK_OK(glk_grammar_rule(g, &rule, &err));
    CHECK_EQUAL(glk_grammar_define(g, a, a, &err), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_grammar_define(g, rule, 500, &err), GLK_ERR_ARGUMENT);
    CHECK_OK(glk_grammar_define(g, rule, rule, &err));
    CHECK_EQUAL(glk_grammar_define(g, rule, a, &err), GLK_ERR_ARGUMENT);
    glk_grammar_release(g);
}

/* An object with two named classes, a free one and a formula of three nodes. */
static draft good_draft(uint32_t value) {
    draft good = draft_of(GLK_UNIQUE, 1, literal(" "));
    draft_named(&good, literal("\"x\""), true);
    draft_choice(&good, value, 1);
    draft_choice(&good, value, 0);
    draft_named(&good, literal("\"y\""), false);
    draft_free(&good, literal("\"z\""));
    draft_choice(&good, value, 1u << 30);
    uint32_t some = draft_atom(&good, GLK_F_AT_LEAST, 1, LIST(0, 0, 2, 30));
    uint32_t few = draft_atom(&good, GLK_F_ALL_BUT, 3, LIST(GLK_EVERY, GLK_PRESENCE));
    (void)draft_join(&good, GLK_F_OR, LIST(few, some));
    return good;
}

static void refused(glk_grammar *g, const draft *bad, const char *words) {
    uint32_t id = 77, count = g->nodes.count, lists = g->lists.count;
    CHECK_EQUAL(draft_add(bad, g, &id, &err), GLK_ERR_ARGUMENT);
    if (strstr(err.text, words) == NULL) {
        (void)fprintf(stderr, "\"%s\" does not say \"%s\"\n", err.text, words);
        exit(1);
    }
    CHECK_EQUAL(id, 77);
    CHECK_EQUAL(g->nodes.count, count);
    CHECK_EQUAL(g->lists.count, lists);
}

static void test_container_classes(void) {
    glk_grammar *g = new_grammar();
    uint32_t a = terminal(g, "a");
    draft good = good_draft(a), bad = good;
    CHECK_EQUAL(draft_done(&good, g), draft_done(&good, g));
    bad.classes[0].required = 2;
    refused(g, &bad, "required of class 0 is 2");
    bad = good, bad.classes[2].required = 1;
    refused(g, &bad, "class 2 is no name");
    bad = good, bad.classes[1].key = bad.classes[0].key;
    refused(g, &bad, "the same key");
    bad = good, bad.classes[2].key = bad.classes[0].key;
    refused(g, &bad, "the same key");
    bad = good, bad.classes[1].key = GLK_EXPR_EPSILON;
    refused(g, &bad, "a key must not match the empty string");
    bad = good, bad.classes[1].key = 99999999;
    refused(g, &bad, "99999999");
    bad = good, bad.classes[1].key = tagged("x", 1);
    refused(g, &bad, "key");
    bad = good, bad.classes[1].choices = 1;
    refused(g, &bad, "the classes have 4 choices, 3 are given");
    bad = good, bad.choices[2].value = 900;
    refused(g, &bad, "node 900");
    bad = good, bad.choices[1].literals = 1u << 31;
    refused(g, &bad, "choice 1 has the literals");
    bad = good, bad.shape.ordered = 3;
    refused(g, &bad, "3 of 2 named classes");
    bad = good, bad.shape.flags = 32;
    refused(g, &bad, "flags 32");
    uint32_t *gaps[] = {&bad.shape.open,        &bad.shape.close,        &bad.shape.before_comma,
                        &bad.shape.after_comma, &bad.shape.before_colon, &bad.shape.after_colon};
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        bad = good, *gaps[i] = tagged("x", 1);
        refused(g, &bad, "gap");
    }
    bad = draft_of(GLK_ARRAY, 0, GLK_EXPR_EPSILON);
    draft_free(&bad, 0);
    CHECK(draft_done(&bad, g) > a);
    draft_free(&bad, 0);
    refused(g, &bad, "at most one free class");
    bad = draft_of(GLK_ARRAY, 0, GLK_EXPR_EPSILON);
    draft_named(&bad, 0, true);
    refused(g, &bad, "class 0 is no name");
    glk_grammar_release(g);
}

static void test_container_formulas(void) {
    glk_grammar *g = new_grammar();
    draft good = good_draft(terminal(g, "a")), bad = good;
    bad.formula[0] = 4;
    refused(g, &bad, "ends inside its node 3");
    bad.formula[0] = 2;
    refused(g, &bad, "its 2 nodes take");
    bad.formula[0] = 0;
    refused(g, &bad, "no node");
    bad.formula[0] = 3, bad.formula[1] = 4;
    refused(g, &bad, "of kind 4");
    bad = good, bad.formula[3] = UINT32_MAX;
    refused(g, &bad, "ends inside its node 0");
    bad = good, bad.formula[4] = 3;
    refused(g, &bad, "names class 3");
    bad = good, bad.formula[5] = 31;
    refused(g, &bad, "names literal 31");
    bad = good, bad.formula[4] = GLK_EVERY;
    refused(g, &bad, "belongs to no class");
    bad = good, bad.formula[bad.words - 1] = 2;
    refused(g, &bad, "refers to node 2");
    bad = good, bad.words--;
    refused(g, &bad, "ends inside its node 2");
    bad = good, bad.formula[2] = UINT32_MAX;
    uint32_t id;
    CHECK_EQUAL(draft_add(&bad, g, &id, &err), GLK_ERR_LIMIT);
    CHECK(strcmp(err.budget, "member_count") == 0);
    bad = good, bad.formula[2] = 2; /* another bound, another node */
    CHECK(draft_done(&bad, g) != draft_done(&good, g));
    glk_grammar_release(g);
}

/* What is the same, and what makes a difference. */
static void test_container_fingerprints(void) {
    glk_grammar *g = new_grammar();
    uint32_t a = terminal(g, "a"), b = terminal(g, "b");
    draft drafts[12];
    uint64_t prints[12];
    for (uint32_t i = 0; i < 12; i++) {
        drafts[i] = good_draft(a);
    }
    drafts[1].shape.flags |= GLK_TIGHT;
    drafts[2].shape.ordered = 2;
    drafts[3].shape.close = GLK_EXPR_EPSILON;
    drafts[4].shape.open = GLK_EXPR_EPSILON;
    drafts[5].classes[0].required = 0;
    drafts[6].classes[0].choices = 1, drafts[6].classes[1].choices = 1;
    drafts[7].choices[0].value = b;
    drafts[8].choices[0].literals = 2;
    drafts[9].formula[2] = 2;
    drafts[10].words = 0;
    drafts[11].classes[0].key = literal("\"w\"");
    for (uint32_t i = 0; i < 12; i++) {
        CHECK_OK(glk_grammar_set_root(g, draft_done(&drafts[i], g), &err));
        prints[i] = glk_grammar_fingerprint(g);
        for (uint32_t k = 0; k < i; k++) {
            CHECK(prints[k] != prints[i]);
        }
    }
    glk_grammar_release(g);
}

static void check_container_dump(const draft *made, const char *expected) {
    glk_grammar *g = new_grammar();
    char dumped[600];
    size_t needed;
    CHECK_OK(glk_grammar_set_root(g, draft_done(made, g), &err));
    CHECK_OK(glk_grammar_dump(g, dumped, sizeof dumped, &needed, &err));
    char *end = strstr(dumped, ",\"exprs\"");
    CHECK(end != NULL);
    *end = '\0';
    if (strcmp(dumped, expected) != 0) {
        (void)fprintf(stderr, "got\n%s\nexpected\n%s\n", dumped, expected);
        exit(1);
    }
    glk_grammar_release(g);
}

static void test_container_dumps(void) {
    draft made = good_draft(GLK_NODE_EMPTY);
    char expected[600];
    uint32_t gap = literal(" ");
    (void)snprintf(expected, sizeof expected,
                   "{\"root\":2,\"nodes\":{\"2\":[\"container\",\"object\",[%u,%u,%u,%u,%u,%u],"
                   "[[%u,true,[[1,1],[1,0]]],[%u,false,[]]],[[%u,false,[[1,1073741824]]]],1,"
                   "[\"unique\"],[\"or\",[[\"all_but\",3,[[null,null]]],"
                   "[\"at_least\",1,[[0,0],[2,30]]]]]],\"1\":[\"empty\"]}",
                   gap, gap, gap, gap, gap, gap, literal("\"x\""), literal("\"y\""),
                   literal("\"z\""));
    check_container_dump(&made, expected);
    made = draft_of(GLK_ARRAY | GLK_ENDLESS | GLK_TIGHT | GLK_BARE, 9, GLK_EXPR_EPSILON);
    draft_named(&made, 0, false);
    draft_choice(&made, GLK_NODE_FAIL, 0);
    check_container_dump(&made,
                         "{\"root\":2,\"nodes\":{\"2\":[\"container\",\"array\",[1,1,1,1,1,1],"
                         "[[null,false,[[0,0]]]],[],1,[\"endless\",\"tight\",\"bare\"],null],"
                         "\"0\":[\"fail\"]}");
}

/* A formula in which every node has its predecessor twice, as a tree, is too large to print. */
static void test_large_dump(void) {
    glk_grammar *g = new_grammar();
    draft made = draft_of(0, 0, GLK_EXPR_EPSILON);
    uint32_t last = draft_atom(&made, GLK_F_ALL_BUT, 1, LIST(GLK_EVERY, GLK_PRESENCE));
    for (uint32_t i = 0; i < 40; i++) {
        last = draft_join(&made, GLK_F_AND, LIST(last, last));
    }
    size_t needed;
    CHECK_OK(glk_grammar_set_root(g, draft_done(&made, g), &err));
    CHECK(glk_grammar_fingerprint(g) != 0);
    CHECK_EQUAL(glk_grammar_dump(g, NULL, 0, &needed, &err), GLK_ERR_LIMIT);
    CHECK(strcmp(err.budget, "dumped_formula_nodes") == 0);
    glk_grammar_release(g);
}

/* value = "a" ( ("x" | "y"), value )*  |  switch  |  object, with `noise` ids before it. */
static glk_grammar *sample(uint32_t noise, const char *word) {
    glk_grammar *g = new_grammar();
    for (uint32_t i = 0; i < noise; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "n%u", i);
        (void)terminal(g, text);
    }
    uint32_t value, body[3], table;
    CHECK_OK(glk_grammar_rule(g, &value, &err));
    uint32_t xy = choice(g, LIST(terminal(g, "x"), terminal(g, word)));
    body[0] = sequence(
        g, LIST(terminal(g, "a"), repetition(g, sequence(g, LIST(xy, value)), 0, UINT32_MAX)));
    uint32_t expr = either(tagged("p", 1), tagged("q", 2));
    CHECK_OK(glk_grammar_switch(g, expr, (uint32_t[]){1, 2}, (uint32_t[]){value, GLK_NODE_EMPTY},
                                2, &table, &err));
    body[1] = table;
    draft object = draft_of(GLK_UNIQUE, 0, literal(" "));
    draft_named(&object, literal("\"k\""), true);
    draft_choice(&object, value, 1);
    draft_free(&object, literal("\"f\""));
    draft_choice(&object, GLK_NODE_EMPTY, 0);
    (void)draft_atom(&object, GLK_F_ALL_BUT, 9, LIST(GLK_EVERY, GLK_PRESENCE));
    body[2] = draft_done(&object, g);
    CHECK_OK(glk_grammar_define(g, value, choice(g, body, 3), &err));
    CHECK_OK(glk_grammar_set_root(g, value, &err));
    return g;
}

static void test_fingerprint(void) {
    glk_grammar *plain = sample(0, "y"), *shifted = sample(9, "y"), *other = sample(0, "z");
    uint64_t print = glk_grammar_fingerprint(plain);
    CHECK_EQUAL(print, glk_grammar_fingerprint(plain));
    CHECK_EQUAL(print, glk_grammar_fingerprint(shifted));
    CHECK(print != glk_grammar_fingerprint(other));
    CHECK_OK(glk_grammar_set_root(other, GLK_NODE_EMPTY, &err));
    CHECK(print != glk_grammar_fingerprint(other) && glk_grammar_fingerprint(other) != 0);
    glk_alloc_fail_after(0);
    CHECK_EQUAL(glk_grammar_fingerprint(plain), 0);
    glk_alloc_fail_after(-1);
    glk_grammar_release(plain);
    glk_grammar_release(shifted);
    glk_grammar_release(other);
}

/* The same grammar in another store, whose ids came in another order. */
static void test_fingerprint_across_stores(void) {
    glk_grammar *here = sample(0, "y");
    glk_exprs *first = store;
    CHECK_OK(glk_exprs_new(1 << 24, &store, &err));
    (void)either(literal("zz"), either(tagged("q", 2), tagged("p", 1)));
    glk_grammar *there = sample(0, "y");
    CHECK_EQUAL(glk_grammar_fingerprint(here), glk_grammar_fingerprint(there));
    glk_grammar_release(here);
    glk_grammar_release(there);
    glk_exprs_release(store);
    store = first;
}

static void test_dump(void) {
    glk_grammar *g = new_grammar();
    uint32_t digit_expr, rule, id;
    glk_bytes digits = {{0x03FF000000000000u, 1, 0, 0}};
    CHECK_OK(glk_expr_class(store, &digits, &digit_expr, &err));
    CHECK_OK(glk_grammar_terminal(g, digit_expr, &id, &err));
    CHECK_OK(glk_grammar_rule(g, &rule, &err));
    CHECK_OK(glk_grammar_define(g, rule, repetition(g, id, 2, UINT32_MAX), &err));
    CHECK_OK(glk_grammar_set_root(g, rule, &err));
    char expected[200], text[200], small[8];
    (void)snprintf(expected, sizeof expected,
                   "{\"root\":3,\"nodes\":{\"3\":[\"rule\",4],\"4\":[\"repetition\",2,2,null],"
                   "\"2\":[\"terminal\",%u]},\"exprs\":{\"%u\":[\"class\",[[48,57],[64,64]]]}}",
                   digit_expr, digit_expr);
    size_t needed = 0;
    CHECK_OK(glk_grammar_dump(g, NULL, 0, &needed, &err));
    CHECK_EQUAL(needed, strlen(expected));
    CHECK_OK(glk_grammar_dump(g, text, sizeof text, &needed, &err));
    CHECK(strcmp(text, expected) == 0);
    CHECK_OK(glk_grammar_dump(g, small, sizeof small, &needed, &err));
    CHECK(strlen(small) == sizeof small - 1 && strncmp(small, expected, sizeof small - 1) == 0);
    glk_grammar_release(g);
}

/* Brackets match, and every kind is there. */
static void test_dump_of_everything(void) {
    static const char *const words[] = {"\"rule\"",   "\"choice\"",     "\"sequence\"",
                                        "\"switch\"", "\"repetition\"", "\"container\"",
                                        "\"tag\"",    "\"union\"",      "\"concat\""};
    glk_grammar *g = sample(3, "y");
    size_t needed;
    CHECK_OK(glk_grammar_dump(g, NULL, 0, &needed, &err));
    char *text = check_memory(needed + 1);
    CHECK_OK(glk_grammar_dump(g, text, needed + 1, &needed, &err));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        CHECK(strstr(text, words[i]) != NULL);
    }
    int depth = 0;
    for (size_t i = 0; i < needed; i++) {
        depth += (text[i] == '[' || text[i] == '{') - (text[i] == ']' || text[i] == '}');
        CHECK(depth > 0 || i + 1 == needed);
    }
    CHECK_EQUAL(depth, 0);
    free(text);
    glk_grammar_release(g);
}

/* A rule in a rule in a rule ..., and a literal as long. */
static void test_depth(void) {
    enum { DEPTH = 200000 };
    glk_grammar *g = new_grammar();
    char *long_text = check_memory(DEPTH + 1);
    memset(long_text, 'a', DEPTH);
    uint32_t node = terminal(g, long_text), b = terminal(g, "b");
    for (uint32_t i = 0; i < DEPTH; i++) {
        uint32_t rule;
        CHECK_OK(glk_grammar_rule(g, &rule, &err));
        CHECK_OK(glk_grammar_define(g, rule, sequence(g, LIST(b, node, b)), &err));
        node = rule;
    }
    CHECK_OK(glk_grammar_set_root(g, node, &err));
    CHECK(glk_grammar_fingerprint(g) != 0);
    size_t needed;
    CHECK_OK(glk_grammar_dump(g, NULL, 0, &needed, &err));
    CHECK(needed > DEPTH);
    free(long_text);
    glk_grammar_release(g);
}

static glk_status build_all(void *context, glk_error *error) {
    (void)context;
    glk_grammar *g;
    uint32_t ids[40], id, expr = either(tagged("x", 5), tagged("y", 9));
    GLK_TRY(glk_grammar_new(store, &g, error));
    glk_status status = GLK_OK;
    for (uint32_t i = 0; i < 40 && status == GLK_OK; i++) {
        ids[i] = GLK_NODE_EMPTY;
        status = glk_grammar_rule(g, &ids[i], error);
    }
    if (status == GLK_OK) {
        status = glk_grammar_choice(g, ids, 40, &id, error);
    }
    if (status == GLK_OK) {
        status = glk_grammar_sequence(g, ids, 40, &id, error);
    }
    if (status == GLK_OK) {
        status = glk_grammar_tokens(g, ids, 40, &id, error);
    }
    if (status == GLK_OK) {
        status = glk_grammar_switch(g, expr, (uint32_t[]){5, 9}, ids, 2, &id, error);
    }
    draft object = draft_of(0, 0, GLK_EXPR_EPSILON);
    draft_named(&object, literal("\"x\""), true);
    draft_choice(&object, GLK_NODE_EMPTY, 1);
    uint32_t part = draft_atom(&object, GLK_F_AT_LEAST, 1, LIST(0, 0));
    (void)draft_join(&object, GLK_F_OR, LIST(part, part));
    if (status == GLK_OK) {
        status = draft_add(&object, g, &id, error);
    }
    size_t needed;
    if (status == GLK_OK) {
        status = glk_grammar_set_root(g, id, error);
    }
    if (status == GLK_OK) {
        status = glk_grammar_dump(g, NULL, 0, &needed, error);
    }
    glk_grammar_release(g);
    return status;
}

int main(void) {
    CHECK_OK(glk_exprs_new(1 << 28, &store, &err));
    test_canonical_forms();
    test_large_lists();
    test_switches();
    test_validation();
    test_container_classes();
    test_container_formulas();
    test_container_fingerprints();
    test_container_dumps();
    test_large_dump();
    test_fingerprint();
    test_fingerprint_across_stores();
    test_dump();
    test_dump_of_everything();
    test_depth();
    glk_status status = build_all(NULL, &err); /* so that the store has all it needs */
    CHECK_OK(status);
    CHECK(check_failing_allocations(build_all, NULL) > 10);
    glk_exprs_release(store);
    return check_done();
}
