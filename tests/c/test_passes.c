/* test_passes.c -- the rewriter's passes on grammars written by hand: golden dumps, containers,
 * what has no sentence, depth; and the stripped expressions of strip.c. */
#include "containers.h"
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

/* ---- containers ---- */

static struct {
    glk_grammar *grammar;
    glk_code code;
    uint32_t a, never, x, y, z; /* two nodes, three keys */
} at;

static void open_containers(void) {
    CHECK_OK(glk_grammar_new(source, &at.grammar, &err));
    glk_code_init(&at.code, NULL);
    open_target(NULL);
    at.a = text(at.grammar, "a");
    at.never = rule(at.grammar);
    at.x = literal("\"x\"");
    at.y = literal("\"y\"");
    at.z = literal("\"z\"");
}

static void close_containers(void) {
    glk_code_free(&at.code);
    close_target();
    glk_grammar_release(at.grammar);
}

static glk_status rewritten(uint32_t root) {
    glk_code_free(&at.code);
    CHECK_OK(glk_grammar_set_root(at.grammar, root, &err));
    return glk_rewrite(at.grammar, &env, 100000, &at.code, &err);
}

static glk_container container_at(uint32_t id) {
    CHECK_EQUAL(glk_code_at(&at.code, id)->op, GLK_OP_CONTAINER);
    return glk_container_view(glk_code_list(&at.code, glk_code_at(&at.code, id)->b));
}

/* The root, which must have a sentence. */
static glk_container container_of(uint32_t root) {
    CHECK_OK(rewritten(root));
    return container_at(at.code.root);
}

static void fails(uint32_t root) { CHECK_EQUAL(rewritten(root), GLK_ERR_UNSATISFIABLE); }

static uint32_t object(const plain_member *members, size_t count, const plain_member *extra,
                       size_t extra_count) {
    return plain_object(at.grammar, GLK_EXPR_EPSILON, members, count, extra, extra_count,
                        DECLARED_ORDER);
}

static void test_objects(void) {
    open_containers();
    plain_member good[] = {{at.x, at.a, 1}, {at.y, at.never, 0}};
    plain_member bad[] = {{at.x, at.a, 0}, {at.y, at.never, 1}};
    plain_member free_good = {at.z, at.a, 0}, free_bad = {at.z, at.never, 0};
    glk_container made = container_of(object(good, 2, &free_good, 1));
    CHECK(made.named == 1 && made.free == 1 && made.ordered == 1 && made.choice_count == 2);
    CHECK(glk_class_required(&made, 0) && !glk_class_required(&made, 1));
    CHECK_EQUAL(glk_class_first(&made, 1), 1);
    CHECK_EQUAL(glk_code_at(&at.code, glk_choice_value(&made, 1))->op, GLK_OP_TERM);
    made = container_of(object(good, 2, &free_bad, 1));
    CHECK(made.named == 1 && made.free == 0 && made.choice_count == 1);
    fails(object(bad, 2, NULL, 0));
    /* An object that contains itself, if it must, has no sentence. */
    uint32_t self = rule(at.grammar);
    plain_member must[] = {{at.x, self, 1}}, may[] = {{at.x, self, 0}};
    CHECK_OK(glk_grammar_define(at.grammar, self, object(must, 1, NULL, 0), &err));
    fails(self);
    self = may[0].value = rule(at.grammar);
    CHECK_OK(glk_grammar_define(at.grammar, self, object(may, 1, NULL, 0), &err));
    made = container_of(self);
    CHECK(made.named == 1 && glk_choice_value(&made, 0) == at.code.root);
    close_containers();
}

/* An object whose x has the literal 0 or the literal 1 or none, and whose y is never there. */
static draft conditions(uint32_t first, uint32_t second, bool required) {
    draft made = draft_of(0, 2, GLK_EXPR_EPSILON);
    draft_named(&made, at.y, false);
    draft_choice(&made, at.never, 1);
    draft_named(&made, at.x, required);
    draft_choice(&made, first, 1);
    draft_choice(&made, second, 2);
    draft_free(&made, at.z);
    draft_choice(&made, at.a, 4);
    return made;
}

static void test_formulas(void) {
    open_containers();
    draft made = conditions(at.a, at.never, true);
    glk_container code = container_of(draft_done(&made, at.grammar));
    CHECK(code.named == 1 && code.ordered == 1 && code.choice_count == 2);
    CHECK_EQUAL(glk_choice_literals(&code, 0), 1);
    made = conditions(at.never, at.never, true);
    fails(draft_done(&made, at.grammar));
    /* What the formula names stays, and its classes are numbered anew. */
    made = conditions(at.a, at.never, false);
    uint32_t free_one = draft_atom(&made, GLK_F_AT_LEAST, 3, LIST(2, 2, 1, 0));
    uint32_t all = draft_atom(&made, GLK_F_ALL_BUT, 9, LIST(GLK_EVERY, GLK_PRESENCE));
    (void)draft_join(&made, GLK_F_AND, LIST(all, free_one));
    code = container_of(draft_done(&made, at.grammar));
    CHECK(code.named == 1 && code.free == 1);
    CHECK(code.formula[4] == 1 && code.formula[6] == 0 && code.formula[11] == GLK_EVERY);
    (void)draft_atom(&made, GLK_F_ALL_BUT, 0, LIST(0, GLK_PRESENCE));
    code = container_of(draft_done(&made, at.grammar));
    CHECK(code.named == 2 && code.ordered == 2 && glk_class_count(&code, 0) == 0);
    CHECK(code.formula[4] == 2);
    /* What only the choice without sentence would satisfy. */
    made = conditions(at.a, at.never, false);
    (void)draft_atom(&made, GLK_F_AT_LEAST, 1, LIST(1, 1));
    fails(draft_done(&made, at.grammar));
    made = conditions(at.a, at.a, false);
    (void)draft_atom(&made, GLK_F_AT_LEAST, 1, LIST(1, 1));
    CHECK_EQUAL(container_of(draft_done(&made, at.grammar)).choice_count, 3);
    /* x cannot have both. */
    uint32_t one = draft_atom(&made, GLK_F_AT_LEAST, 1, LIST(1, 0));
    (void)draft_join(&made, GLK_F_AND, LIST(0, one));
    fails(draft_done(&made, at.grammar));
    close_containers();
}

/* `depth` containers, each of which needs the next one to be there, and the last one `end`. */
static uint32_t chain(uint32_t depth, uint32_t end) {
    uint32_t node = end;
    for (uint32_t i = 0; i < depth; i++) {
        draft made = conditions(at.never, node, false);
        (void)draft_atom(&made, GLK_F_AT_LEAST, 1, LIST(1, 1));
        node = draft_done(&made, at.grammar);
    }
    return node;
}

static void test_formulas_in_each_other(void) {
    open_containers();
    CHECK_OK(rewritten(chain(200, at.a)));
    fails(chain(200, at.never));
    uint32_t self = rule(at.grammar), other = rule(at.grammar);
    CHECK_OK(glk_grammar_define(at.grammar, self, chain(3, self), &err));
    fails(self);
    CHECK_OK(glk_grammar_define(
        at.grammar, other, choice(at.grammar, LIST(chain(3, other), at.a)), &err));
    CHECK_OK(rewritten(other));
    close_containers();
}

/* An array ends before a position that cannot be written. */
static void test_arrays(void) {
    open_containers();
    draft made = draft_of(GLK_ARRAY, 0, GLK_EXPR_EPSILON);
    draft_named(&made, 0, false);
    draft_choice(&made, at.a, 0);
    draft_named(&made, 0, false);
    draft_choice(&made, at.never, 0);
    draft_free(&made, 0);
    draft_choice(&made, at.a, 1);
    glk_container code = container_of(draft_done(&made, at.grammar));
    CHECK(code.named == 2 && code.free == 1 && code.ordered == 2);
    CHECK(glk_class_count(&code, 0) == 1 && glk_class_count(&code, 1) == 0);
    CHECK(glk_class_first(&code, 2) == 1 && glk_choice_literals(&code, 1) == 1);
    (void)draft_atom(&made, GLK_F_AT_LEAST, 1, LIST(GLK_EVERY, GLK_PRESENCE));
    CHECK_OK(rewritten(draft_done(&made, at.grammar)));
    made.formula[2] = 2;
    fails(draft_done(&made, at.grammar));
    made.formula[2] = 1, made.formula[4] = 2, made.formula[5] = 0;
    fails(draft_done(&made, at.grammar));
    missing_bytes = "[";
    made.words = 0;
    fails(draft_done(&made, at.grammar));
    missing_bytes = ":{}";
    CHECK_EQUAL(container_of(draft_done(&made, at.grammar)).choice_count, 2);
    missing_bytes = "";
    close_containers();
}

/* Without some of the bytes of JSON's structure. */
static void test_objects_without_bytes(void) {
    open_containers();
    plain_member one[] = {{at.x, at.a, 0}, {at.y, at.a, 1}};
    plain_member two[] = {{at.x, at.a, 1}, {at.y, at.a, 1}};
    plain_member none[] = {{at.x, at.a, 0}, {at.y, at.a, 0}}, extra = {at.z, at.a, 0};
    missing_bytes = "}";
    fails(object(none, 2, &extra, 1));
    missing_bytes = ":";
    fails(object(one, 2, &extra, 1));
    glk_container code = container_of(object(none, 2, &extra, 1));
    CHECK(code.named == 0 && code.free == 0);
    missing_bytes = ",";
    fails(object(two, 2, &extra, 1));
    code = container_of(object(one, 2, &extra, 1));
    CHECK(code.named == 2 && code.free == 1 && code.formula_words == 6);
    CHECK(code.formula[0] == 1 && code.formula[1] == GLK_F_ALL_BUT && code.formula[2] == 1);
    draft made = conditions(at.a, at.a, false);
    (void)draft_atom(&made, GLK_F_AT_LEAST, 1, LIST(1, 0));
    CHECK_OK(rewritten(draft_done(&made, at.grammar)));
    made.formula[2] = 2;
    fails(draft_done(&made, at.grammar));
    missing_bytes = "";
    close_containers();
}

/* Keys and white space that the vocabulary cannot spell: here, without blanks. */
static void test_cut_gaps(void) {
    glk_bytes alphabet = {{~(1ull << ' '), ~0ull, ~0ull, ~0ull}};
    uint32_t wide, blank = literal(" ");
    open_containers();
    close_target();
    open_target(&alphabet);
    CHECK_OK(glk_expr_rep(source, blank, 0, 1, &wide, &err));
    draft made = draft_of(0, 0, GLK_EXPR_EPSILON);
    draft_named(&made, literal("\" \""), false);
    draft_choice(&made, at.a, 0);
    draft_named(&made, at.x, false);
    draft_choice(&made, at.a, 0);
    CHECK_EQUAL(container_of(draft_done(&made, at.grammar)).named, 1);
    made.shape.before_colon = blank;
    CHECK_EQUAL(container_of(draft_done(&made, at.grammar)).named, 0);
    made.shape.before_colon = GLK_EXPR_EPSILON;
    made.shape.after_comma = blank;
    CHECK(container_of(draft_done(&made, at.grammar)).formula_words > 0);
    made.shape.open = blank;
    CHECK_EQUAL(container_of(draft_done(&made, at.grammar)).named, 0);
    made.shape.close = blank;
    fails(draft_done(&made, at.grammar));
    /* Gaps that become equal: "{}" must not get one. */
    made.shape.after_comma = made.shape.close = GLK_EXPR_EPSILON;
    made.shape.open = wide;
    glk_container code = container_of(draft_done(&made, at.grammar));
    CHECK(code.named == 1 && code.gaps[GLK_GAP_OPEN] == code.gaps[GLK_GAP_CLOSE]);
    CHECK_EQUAL(code.flags, GLK_BARE);
    made.shape.close = wide;
    CHECK_EQUAL(container_of(draft_done(&made, at.grammar)).flags, 0);
    made.shape.flags = GLK_BARE;
    made.shape.open = made.shape.close = blank;
    code = container_of(draft_done(&made, at.grammar));
    CHECK(code.named == 0 && code.gaps[GLK_GAP_OPEN] == GLK_EXPR_EPSILON);
    close_containers();
}

static void test_container_dump(void) {
    open_containers();
    draft made = conditions(at.a, at.a, true);
    uint32_t some = draft_atom(&made, GLK_F_AT_LEAST, 1, LIST(1, 1, 2, 2));
    uint32_t few = draft_atom(&made, GLK_F_ALL_BUT, 9, LIST(GLK_EVERY, GLK_PRESENCE));
    (void)draft_join(&made, GLK_F_OR, LIST(some, few));
    made.shape.flags = GLK_UNIQUE | GLK_TIGHT;
    CHECK_OK(glk_grammar_set_root(at.grammar, draft_done(&made, at.grammar), &err));
    char expected[300];
    CHECK_OK(rewritten(at.grammar->root));
    glk_container code = container_at(at.code.root);
    (void)snprintf(expected, sizeof expected,
                   "root 1\n0 EMPTY\n1 CONTAINER object unique tight ordered 1 gaps 1 1 1 1 1 1 "
                   "!%u:2/1|2/2 *%u:2/4 [at_least 1 0:1 1:2] [all_but 9 *:*] [or 0 1]\n2 TERM %u\n",
                   glk_class_key(&code, 0), glk_class_key(&code, 1),
                   glk_code_at(&at.code, 2)->a);
    check_dump(at.grammar, expected);
    close_containers();
}

static glk_status rewrite_container(void *context, glk_error *error) {
    const draft *made = context;
    glk_code code;
    uint32_t id;
    glk_code_init(&code, NULL);
    glk_status status = draft_add(made, at.grammar, &id, error);
    if (status == GLK_OK) {
        CHECK_OK(glk_grammar_set_root(at.grammar, id, NULL));
        status = glk_rewrite(at.grammar, &env, 100000, &code, error);
    }
    glk_code_free(&code);
    return status;
}

static void test_container_limits(void) {
    open_containers();
    draft made = conditions(at.a, at.never, false);
    (void)draft_atom(&made, GLK_F_AT_LEAST, 3, LIST(2, 2));
    CHECK_OK(rewritten(draft_done(&made, at.grammar))); /* the stores have all they need */
    CHECK(check_failing_allocations(rewrite_container, &made) > 5);
    for (uint64_t steps = 0;; steps++) {
        glk_code_free(&at.code);
        glk_status status = glk_rewrite(at.grammar, &env, steps, &at.code, &err);
        if (status == GLK_OK) {
            CHECK(steps > 20);
            break;
        }
        CHECK_EQUAL(status, GLK_ERR_LIMIT);
        CHECK(strcmp(err.budget, "steps") == 0);
    }
    close_containers();
}

/* Linear, though every member brings its container nearer to a sentence. */
static void test_large_objects(void) {
    enum { COUNT = 20000 };
    plain_member *members = check_memory(COUNT * sizeof *members);
    open_containers();
    for (uint32_t i = 0; i < COUNT; i++) {
        char key[20];
        (void)snprintf(key, sizeof key, "\"%u\"", i);
        members[i] = (plain_member){literal(key), i % 3 == 1 ? at.never : at.a, i % 3 == 0};
    }
    uint32_t root = object(members, COUNT, NULL, 0);
    CHECK_OK(glk_grammar_set_root(at.grammar, root, &err));
    CHECK_OK(glk_rewrite(at.grammar, &env, 40 * COUNT, &at.code, &err));
    CHECK_EQUAL(container_at(at.code.root).named, COUNT - (COUNT + 1) / 3);
    free(members);
    close_containers();
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
    test_formulas();
    test_formulas_in_each_other();
    test_arrays();
    test_objects_without_bytes();
    test_cut_gaps();
    test_container_dump();
    test_container_limits();
    test_large_objects();
    test_unsatisfiable();
    test_depth();
    glk_exprs_release(source);
    return check_done();
}
