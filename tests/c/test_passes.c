/* test_passes.c -- the rewriter's passes on grammars written by hand: golden dumps, objects, what
 * has no sentence, depth; and the stripped expressions of strip.c. */
#include "rewriting.h"

/* Unions that share their members: as many paths as there are bytes in the universe. */
static void test_shared_unions(void) {
    glk_vec labels;
    glk_vec_init(&labels, NULL, sizeof(uint32_t));
    uint32_t item, other, label = 1, expected;
    CHECK_OK(glk_expr_tag(source, 2, &expected, &err));
    CHECK_OK(glk_expr_tag(source, 1, &item, &err));
    CHECK_OK(glk_expr_or2(source, item, expected, &item, &err));
    for (uint32_t i = 0; i < 100; i++) {
        CHECK_OK(glk_expr_cat(source, literal("bb"), item, &other, &err));
        CHECK_OK(glk_expr_cat(source, literal("a"), item, &item, &err));
        CHECK_OK(glk_expr_or2(source, item, other, &item, &err));
        CHECK_OK(glk_expr_cat(source, literal("bb"), expected, &other, &err));
        CHECK_OK(glk_expr_cat(source, literal("a"), expected, &expected, &err));
        CHECK_OK(glk_expr_or2(source, expected, other, &expected, &err));
    }
    CHECK_OK(glk_strip_list(source, item, NULL, NULL, &labels, &err));
    CHECK(labels.count == 2 && GLK_VEC_U32(&labels)[0] == 1 && GLK_VEC_U32(&labels)[1] == 2);
    CHECK_OK(glk_strip_labels(source, item, &label, 1, &other, &err));
    CHECK_EQUAL(other, expected);
    label = 3;
    CHECK_OK(glk_strip_labels(source, item, &label, 1, &other, &err));
    CHECK_EQUAL(other, item);
    glk_vec_free(&labels);
}

static void check_dump(const glk_grammar *g, const char *expected) {
    glk_code code;
    char dumped[2000];
    size_t needed;
    glk_code_init(&code, NULL);
    CHECK_OK(glk_rewrite(g, &env, 100000, &code, &err));
    glk_code_dump(&code, dumped, sizeof dumped, &needed);
    CHECK_EQUAL(needed, strlen(dumped));
    if (strcmp(dumped, expected) != 0) {
        (void)fprintf(stderr, "got\n%sexpected\n%s", dumped, expected);
        exit(1);
    }
    glk_code_free(&code);
}

/* list = list "a" | "b" becomes "b" then T = empty | "a" T. */
static void test_dump(void) {
    glk_grammar *g;
    CHECK_OK(glk_grammar_new(source, &g, &err));
    open_target(NULL);
    uint32_t list = rule(g);
    CHECK_OK(glk_grammar_define(
        g, list, choice(g, LIST(sequence(g, LIST(list, text(g, "a"))), text(g, "b"))), &err));
    CHECK_OK(glk_grammar_set_root(g, list, &err));
    check_dump(g, "root 1\n0 EMPTY\n1 CAT 2 3\n2 TERM 3\n3 ALT 4 0\n4 CAT 5 3\n5 TERM 4\n");
    CHECK_OK(glk_grammar_set_root(g, repetition(g, text(g, "a"), 2, 4), &err));
    check_dump(g, "root 1 counted\n0 EMPTY\n1 REP 2 {2,4}\n2 TERM 4\n");
    close_target();
    glk_grammar_release(g);
}

static uint32_t object(glk_grammar *g, const glk_member *members, size_t count,
                       const glk_member *extra, size_t extra_count) {
    uint32_t id;
    CHECK_OK(glk_grammar_object(g, GLK_EXPR_EPSILON, members, count, extra, extra_count,
                                GLK_ORDER_DECLARED, &id, &err));
    return id;
}

/* Rewrites with this root; returns the list of the root, which must be an OBJECT, or NULL. */
static const uint32_t *rewritten_object(glk_grammar *g, uint32_t root, glk_code *code) {
    glk_code_free(code);
    CHECK_OK(glk_grammar_set_root(g, root, &err));
    glk_status status = glk_rewrite(g, &env, 100000, code, &err);
    if (status == GLK_ERR_UNSATISFIABLE) {
        return NULL;
    }
    CHECK_OK(status);
    CHECK_EQUAL(glk_code_at(code, code->root)->op, GLK_OP_OBJECT);
    return glk_code_list(code, glk_code_at(code, code->root)->b);
}

static void test_objects(void) {
    glk_grammar *g;
    glk_code code;
    CHECK_OK(glk_grammar_new(source, &g, &err));
    glk_code_init(&code, NULL);
    open_target(NULL);
    uint32_t a = text(g, "a"), never = rule(g);
    uint32_t x = literal("\"x\""), y = literal("\"y\""), z = literal("\"z\"");
    glk_member good[] = {{x, a, 1}, {y, never, 0}}, bad[] = {{x, a, 0}, {y, never, 1}};
    glk_member free_good = {z, a, 0}, free_bad = {z, never, 0};
    const uint32_t *list = rewritten_object(g, object(g, good, 2, &free_good, 1), &code);
    CHECK(list != NULL && list[0] == 1 && list[1] == 1 && list[5] == 1);
    CHECK_EQUAL(glk_code_at(&code, list[7])->op, GLK_OP_TERM); /* the free member's value */
    list = rewritten_object(g, object(g, good, 2, &free_bad, 1), &code);
    CHECK(list != NULL && list[0] == 1 && list[1] == 0);
    CHECK(rewritten_object(g, object(g, bad, 2, NULL, 0), &code) == NULL);
    /* An object that contains itself, if it must, has no sentence. */
    uint32_t self = rule(g);
    glk_member must[] = {{x, self, 1}}, may[] = {{x, self, 0}};
    CHECK_OK(glk_grammar_define(g, self, object(g, must, 1, NULL, 0), &err));
    CHECK(rewritten_object(g, self, &code) == NULL);
    self = may[0].value = rule(g);
    CHECK_OK(glk_grammar_define(g, self, object(g, may, 1, NULL, 0), &err));
    list = rewritten_object(g, self, &code);
    CHECK(list != NULL && list[0] == 1 && list[4] == code.root);
    glk_code_free(&code);
    close_target();
    glk_grammar_release(g);
}

/* Without some of the bytes of JSON's structure. */
static void test_objects_without_bytes(void) {
    glk_grammar *g;
    glk_code code;
    CHECK_OK(glk_grammar_new(source, &g, &err));
    glk_code_init(&code, NULL);
    open_target(NULL);
    uint32_t a = text(g, "a"), x = literal("\"x\""), y = literal("\"y\""), z = literal("\"z\"");
    glk_member one[] = {{x, a, 0}, {y, a, 1}}, two[] = {{x, a, 1}, {y, a, 1}};
    glk_member none[] = {{x, a, 0}, {y, a, 0}}, extra = {z, a, 0};
    missing_bytes = "}";
    CHECK(rewritten_object(g, object(g, none, 2, &extra, 1), &code) == NULL);
    missing_bytes = ":";
    CHECK(rewritten_object(g, object(g, one, 2, &extra, 1), &code) == NULL);
    const uint32_t *list = rewritten_object(g, object(g, none, 2, &extra, 1), &code);
    CHECK(list != NULL && list[0] == 0 && list[1] == 0);
    missing_bytes = ",";
    CHECK(rewritten_object(g, object(g, two, 2, &extra, 1), &code) == NULL);
    list = rewritten_object(g, object(g, one, 2, &extra, 1), &code);
    CHECK(list != NULL && list[0] == 1 && list[1] == 0 && list[5] == 1);
    glk_code_free(&code);
    CHECK_OK(glk_grammar_set_root(g, object(g, none, 2, &extra, 1), &err));
    CHECK_OK(glk_rewrite(g, &env, 100000, &code, &err));
    CHECK_EQUAL(glk_code_at(&code, code.root)->op, GLK_OP_ALT);
    CHECK_EQUAL(glk_code_children(&code, code.root), 4); /* {}, x, y or z */
    missing_bytes = "";
    glk_code_free(&code);
    close_target();
    glk_grammar_release(g);
}

/* Tokens that do not exist, the rule that is never defined, the rule that is only itself. */
static void test_unsatisfiable(void) {
    glk_grammar *g;
    glk_code code;
    CHECK_OK(glk_grammar_new(source, &g, &err));
    glk_code_init(&code, NULL);
    open_target(NULL);
    uint32_t self = rule(g), circle = rule(g), tokens;
    CHECK_EQUAL(glk_rewrite(g, &env, 1000, &code, &err), GLK_ERR_UNSATISFIABLE);
    CHECK_OK(glk_grammar_set_root(g, self, &err));
    CHECK_EQUAL(glk_rewrite(g, &env, 1000, &code, &err), GLK_ERR_UNSATISFIABLE);
    CHECK_OK(glk_grammar_define(g, self, circle, &err));
    CHECK_OK(glk_grammar_define(g, circle, self, &err));
    CHECK_EQUAL(glk_rewrite(g, &env, 1000, &code, &err), GLK_ERR_UNSATISFIABLE);
    CHECK_OK(glk_grammar_tokens(g, LIST(100, 101), &tokens, &err));
    CHECK_OK(glk_grammar_set_root(g, tokens, &err));
    CHECK_EQUAL(glk_rewrite(g, &env, 1000, &code, &err), GLK_ERR_UNSATISFIABLE);
    CHECK_OK(glk_grammar_tokens(g, LIST(9, 100, 4), &tokens, &err));
    CHECK_OK(glk_grammar_set_root(g, choice(g, LIST(self, tokens)), &err));
    check_dump(g, "root 1\n0 EMPTY\n1 TOKENS 4 9\n");
    CHECK_EQUAL(glk_rewrite(g, &env, 3, &code, &err), GLK_ERR_LIMIT);
    CHECK(strcmp(err.budget, "steps") == 0);
    glk_code_free(&code);
    close_target();
    glk_grammar_release(g);
}

/* Rules nested to the right and to the left, and a long sequence. */
static void test_depth(void) {
    enum { DEPTH = 100000 };
    glk_grammar *g;
    glk_code code;
    CHECK_OK(glk_grammar_new(source, &g, &err));
    glk_code_init(&code, NULL);
    open_target(NULL);
    uint32_t a = text(g, "a"), b = repetition(g, text(g, "b"), 0, 1), nodes[3] = {a, a, a};
    for (uint32_t i = 0; i < DEPTH; i++) {
        uint32_t outer[3];
        for (uint32_t k = 0; k < 2; k++) {
            outer[k] = rule(g);
            uint32_t pair[2] = {k == 0 ? nodes[0] : b, k == 0 ? b : nodes[1]};
            CHECK_OK(glk_grammar_define(g, outer[k], sequence(g, pair, 2), &err));
        }
        memcpy(nodes, outer, 2 * sizeof *nodes);
    }
    uint32_t *items = check_memory(10 * DEPTH * sizeof *items);
    for (uint32_t i = 0; i < 10 * DEPTH; i++) {
        items[i] = a;
    }
    nodes[2] = repetition(g, repetition(g, sequence(g, items, 10 * DEPTH), 0, 1), 1, 2);
    free(items);
    CHECK_OK(glk_grammar_set_root(g, choice(g, nodes, 3), &err));
    CHECK_OK(glk_rewrite(g, &env, UINT64_MAX, &code, &err));
    CHECK(glk_code_count(&code) > 12 * DEPTH);
    glk_code_free(&code);
    close_target();
    glk_grammar_release(g);
}

int main(void) {
    CHECK_OK(glk_exprs_new(1 << 28, &source, &err));
    test_shared_unions();
    test_dump();
    test_objects();
    test_objects_without_bytes();
    test_unsatisfiable();
    test_depth();
    glk_exprs_release(source);
    return check_done();
}
