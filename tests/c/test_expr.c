/* test_expr.c -- expressions against their meaning: random ones, all strings of up to six letters.
 * Then the claims of expr.h one by one: canonical forms, bounds, byte classes, emptiness, simpler
 * relatives, copies, budgets. */
#include "apart.h"
#include "languages.h"

static glk_exprs store;

static void open_store(const glk_bytes *alphabet) {
    CHECK_OK(glk_exprs_init(&store, "test_bytes", 0, alphabet, NULL));
}

static glk_bytes letters_alone(void) {
    glk_bytes set = {{0}};
    glk_bytes_add_range(&set, 'a', 'a' + LETTERS - 1);
    return set;
}

/* ---- what every expression must hold ---- */

static uint32_t shortest_of(const language *all) {
    uint32_t length = 0, string = 0;
    while (string < STRINGS && !has_string(all, string)) {
        string++;
    }
    while (length <= LENGTH && string >= first_of[length + 1]) {
        length++;
    }
    return length; /* LENGTH + 1: none that is so short */
}

/* `first` holds every byte that begins a string, and no other where neither and nor not occurs. */
static void check_first(const made *item) {
    const glk_expr *e = glk_expr_at(&store, item->expr);
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t next;
        CHECK_OK(glk_expr_derive(&store, item->expr, (uint8_t)byte, &next, NULL));
        bool first = glk_bytes_has(&e->first, (uint8_t)byte);
        CHECK(first || next == GLK_EXPR_NEVER);
        CHECK(!first || next != GLK_EXPR_NEVER || (e->flags & GLK_CHECKED) != 0);
    }
    for (uint32_t letter = 0; letter < LETTERS; letter++) {
        language begun = {{0}};
        for (uint32_t length = 1; length <= LENGTH; length++) {
            uint32_t width = (first_of[length + 1] - first_of[length]) / LETTERS;
            for (uint32_t i = 0; i < width; i++) {
                if (has_string(&item->all, first_of[length] + letter * width + i)) {
                    add_string(&begun, 0);
                }
            }
        }
        CHECK(begun.word[0] == 0 || glk_bytes_has(&e->first, (uint8_t)('a' + letter)));
    }
}

static uint32_t largest(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Sorted members without duplicates, none of which belongs one level up; at most one class. */
static void check_members(const glk_expr *e) {
    uint32_t classes = 0, most = 0;
    for (uint32_t i = 0; i < e->b; i++) {
        const glk_expr *m = glk_expr_at(&store, e->list[i]);
        CHECK(i == 0 || e->list[i - 1] < e->list[i]);
        CHECK(m->kind != e->kind && m->kind != GLK_NEVER && e->list[i] != GLK_EXPR_ANY);
        CHECK(m->depth < e->depth);
        classes += m->kind == GLK_CLASS;
        most = largest(most, m->most);
    }
    CHECK(e->b >= 2 && classes <= 1);
    CHECK_EQUAL(e->most, most);
}

static void check_repeat(const glk_expr *e) {
    const glk_expr *child = glk_expr_at(&store, e->a);
    CHECK(e->lo <= e->hi && e->hi > 0 && !(e->lo <= 1 && e->hi == 1));
    CHECK(child->kind != GLK_NEVER && child->kind != GLK_EPSILON);
    CHECK((child->flags & GLK_NULLABLE) == 0 || e->lo == 0);
    uint32_t reach = e->hi == GLK_UNBOUNDED ? 0 : e->hi * largest(child->shortest, 1);
    CHECK_EQUAL(e->most, largest(child->most, reach));
    CHECK_EQUAL(e->shortest, e->lo * child->shortest);
}

/* The form of one expression; its parts were checked when they were made or derived. */
static void check_form(uint32_t id) {
    const glk_expr *e = glk_expr_at(&store, id);
    CHECK(e->depth <= GLK_EXPR_DEPTH);
    switch ((glk_expr_kind)e->kind) {
    case GLK_CAT:
        CHECK(glk_expr_at(&store, e->a)->kind != GLK_CAT && e->a > GLK_EXPR_EPSILON);
        CHECK(e->b > GLK_EXPR_EPSILON);
        CHECK_EQUAL(e->most, largest(glk_expr_at(&store, e->a)->most,
                                     glk_expr_at(&store, e->b)->most));
        return;
    case GLK_OR:
    case GLK_AND:
        check_members(e);
        return;
    case GLK_NOT:
        CHECK(glk_expr_at(&store, e->a)->kind != GLK_NOT);
        CHECK_EQUAL(e->most, glk_expr_at(&store, e->a)->most);
        return;
    case GLK_REP:
        check_repeat(e);
        return;
    case GLK_CLASS:
        CHECK(!glk_bytes_empty(&e->first));
        CHECK_EQUAL(e->shortest, 1);
        return;
    case GLK_NEVER:
        CHECK_EQUAL(id, GLK_EXPR_NEVER);
        return;
    case GLK_EPSILON:
        CHECK_EQUAL(id, GLK_EXPR_EPSILON);
        return;
    case GLK_TAG:
        return;
    }
}

static void check_partition(uint32_t expr) {
    uint8_t class_of[256];
    uint32_t count, derived[256], known[256];
    bool met[256] = {false};
    glk_expr_partition(&store, expr, class_of, &count);
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint8_t class = class_of[byte];
        CHECK(class < count);
        if (!glk_bytes_has(&store.alphabet, (uint8_t)byte)) {
            continue; /* leads nowhere, and may lie in any class */
        }
        CHECK_OK(glk_expr_derive(&store, expr, (uint8_t)byte, &derived[byte], NULL));
        CHECK(!met[class] || known[class] == derived[byte]);
        met[class] = true;
        known[class] = derived[byte];
    }
}

static void check_labels(const made *item, uint32_t expr, uint32_t length, uint32_t value) {
    glk_vec labels;
    bool found[LABELS] = {false};
    glk_vec_init(&labels, NULL, sizeof(uint32_t));
    CHECK_OK(glk_expr_labels(&store, expr, &labels, NULL));
    for (uint32_t i = 0; i < labels.count; i++) {
        found[GLK_VEC_U32(&labels)[i] - 1] = true;
    }
    for (uint32_t i = 0; i < LABELS; i++) {
        CHECK_EQUAL(found[i], has_string(&item->labelled[i], first_of[length] + value));
    }
    glk_vec_free(&labels);
    for (uint32_t letter = 0; letter < LETTERS && length < LENGTH; letter++) {
        uint32_t next;
        CHECK_OK(glk_expr_derive(&store, expr, (uint8_t)('a' + letter), &next, NULL));
        check_labels(item, next, length + 1, value * LETTERS + letter);
    }
}

/* ---- emptiness by breadth ---- */

enum { MOST_STATES = 4000 };

/* Whether some string over a, b, c and (if the alphabet has it) z matches, by looking at all
 * derivatives; false in *sure if there are too many. */
static bool brute_alive(uint32_t expr, bool *sure) {
    static uint32_t states[MOST_STATES];
    static uint8_t seen[1 << 20];
    uint32_t count = 1;
    memset(seen, 0, sizeof seen);
    states[0] = expr;
    *sure = true;
    for (uint32_t i = 0; i < count; i++) {
        if (glk_expr_nullable(&store, states[i])) {
            return true;
        }
        for (uint32_t letter = 0; letter <= LETTERS; letter++) {
            uint32_t next;
            uint8_t byte = letter < LETTERS ? (uint8_t)('a' + letter) : 'z';
            CHECK_OK(glk_expr_derive(&store, states[i], byte, &next, NULL));
            CHECK(next < sizeof seen);
            if (seen[next] == 0) {
                seen[next] = 1;
                *sure = count < MOST_STATES;
                if (!*sure) {
                    return false;
                }
                states[count++] = next;
            }
        }
    }
    return false;
}

static void check_emptiness(uint32_t expr) {
    bool empty, sure, alive = brute_alive(expr, &sure);
    uint64_t steps = 1000000;
    CHECK_OK(glk_expr_is_empty(&store, expr, &steps, &empty, NULL));
    if (sure) {
        CHECK_EQUAL(empty, !alive);
    }
}

/* ---- random expressions ---- */

static void check_made(const made *item) {
    language found = picture(&store, item->expr);
    CHECK(same_language(&found, &item->all));
    uint32_t shortest = shortest_of(&item->all);
    CHECK(shortest > LENGTH || glk_expr_at(&store, item->expr)->shortest <= shortest);
    check_form(item->expr);
    check_first(item);
    check_partition(item->expr);
}

static void random_expressions(const glk_bytes *alphabet, uint32_t rounds) {
    for (uint32_t round = 0; round < rounds; round++) {
        taste like = {.checked = round % 2 == 0, .rest = round % 3 == 0, .most = 1 + round % 9};
        open_store(alphabet);
        made item = random_made(&store, 2 + round % 4, &like);
        language found = picture(&store, item.expr);
        CHECK(same_language(&found, &item.all));
        check_emptiness(item.expr);
        for (uint32_t id = 0, end = store.exprs.count; id < end && id < 400; id++) {
            check_form(id);
            check_partition(id);
        }
        check_made(&(made){.expr = item.expr, .all = item.all});
        made tagged = random_tagged(&store, 2, &like);
        found = picture(&store, tagged.expr);
        CHECK(same_language(&found, &tagged.all));
        check_labels(&tagged, tagged.expr, 0, 0);
        glk_exprs_destroy(&store);
    }
}

/* ---- canonical forms ---- */

static void laws_of_lists(const made *a, const made *b, const made *c) {
    made ab = make_or(&store, a, b), bc = make_or(&store, b, c), ba = make_or(&store, b, a);
    made left = make_or(&store, &ab, c), right = make_or(&store, a, &bc);
    made never = make_never(), any = make_not(&store, &never);
    CHECK_EQUAL(ab.expr, ba.expr);
    CHECK_EQUAL(left.expr, right.expr);
    CHECK_EQUAL(make_or(&store, a, a).expr, a->expr);
    CHECK_EQUAL(make_or(&store, a, &never).expr, a->expr);
    CHECK_EQUAL(make_or(&store, a, &any).expr, GLK_EXPR_ANY);
    ab = make_and(&store, a, b), bc = make_and(&store, b, c), ba = make_and(&store, b, a);
    left = make_and(&store, &ab, c), right = make_and(&store, a, &bc);
    CHECK_EQUAL(ab.expr, ba.expr);
    CHECK_EQUAL(left.expr, right.expr);
    CHECK_EQUAL(make_and(&store, a, a).expr, a->expr);
    CHECK_EQUAL(make_and(&store, a, &never).expr, GLK_EXPR_NEVER);
    CHECK_EQUAL(make_and(&store, a, &any).expr, a->expr);
    made not_a = make_not(&store, a);
    CHECK_EQUAL(make_not(&store, &not_a).expr, a->expr);
    if (glk_expr_at(&store, a->expr)->kind != GLK_AND &&
        glk_expr_at(&store, not_a.expr)->kind != GLK_AND) {
        CHECK_EQUAL(make_and(&store, a, &not_a).expr, GLK_EXPR_NEVER);
    }
}

static void laws_of_sequences(const made *a, const made *b, const made *c) {
    made never = make_never(), epsilon = {.expr = GLK_EXPR_EPSILON};
    made ab = make_cat(&store, a, b), bc = make_cat(&store, b, c);
    made left = make_cat(&store, &ab, c), right = make_cat(&store, a, &bc);
    CHECK_EQUAL(left.expr, right.expr);
    CHECK_EQUAL(make_cat(&store, a, &epsilon).expr, a->expr);
    CHECK_EQUAL(make_cat(&store, &epsilon, a).expr, a->expr);
    CHECK_EQUAL(make_cat(&store, a, &never).expr, GLK_EXPR_NEVER);
    CHECK_EQUAL(make_cat(&store, &never, a).expr, GLK_EXPR_NEVER);
    made star = make_rep(&store, a, 0, GLK_UNBOUNDED);
    CHECK_EQUAL(make_rep(&store, &star, 0, GLK_UNBOUNDED).expr, star.expr);
    CHECK_EQUAL(make_rep(&store, a, 1, 1).expr, a->expr);
    CHECK_EQUAL(make_rep(&store, a, 0, 0).expr, GLK_EXPR_EPSILON);
    made maybe = make_rep(&store, a, 0, 1);
    CHECK_EQUAL(maybe.expr, make_or(&store, a, &epsilon).expr);
    if (!glk_expr_nullable(&store, a->expr) && a->expr != GLK_EXPR_NEVER) {
        made some = make_rep(&store, a, 2, 5), more = make_rep(&store, a, 3, GLK_UNBOUNDED);
        made sum = make_cat(&store, &some, &more);
        CHECK_EQUAL(sum.expr, make_rep(&store, a, 5, GLK_UNBOUNDED).expr);
    }
}

static void equal_content_has_equal_ids(void) {
    for (uint32_t round = 0; round < 300; round++) {
        taste like = {.checked = round % 2 == 0, .rest = round % 4 < 2, .most = 4};
        open_store(NULL);
        made a = random_made(&store, 2, &like), b = random_made(&store, 2, &like);
        made c = random_made(&store, 2, &like);
        laws_of_lists(&a, &b, &c);
        laws_of_sequences(&a, &b, &c);
        glk_exprs_destroy(&store);
    }
    open_store(NULL);
    made ab = make_class(&store, 3, false), a = make_class(&store, 1, false);
    made b = make_class(&store, 2, false), c = make_class(&store, 4, true);
    CHECK_EQUAL(make_or(&store, &a, &b).expr, ab.expr);
    CHECK_EQUAL(make_and(&store, &ab, &b).expr, b.expr);
    CHECK_EQUAL(make_and(&store, &ab, &c).expr, GLK_EXPR_NEVER);
    uint32_t again;
    made epsilon = {.expr = GLK_EXPR_EPSILON, .all = only_empty()};
    CHECK_OK(glk_expr_literal(&store, (const uint8_t *)"ab", 2, GLK_EXPR_EPSILON, &again, NULL));
    CHECK_EQUAL(make_cat(&store, &a, &b).expr, again);
    made a24 = make_rep(&store, &a, 2, 4), a57 = make_rep(&store, &a, 5, 7);
    CHECK_EQUAL(make_or(&store, &a24, &a57).expr, make_rep(&store, &a, 2, 7).expr);
    CHECK(make_or(&store, &a24, &(made){.expr = make_rep(&store, &a, 6, 7).expr}).expr !=
          make_rep(&store, &a, 2, 7).expr);
    made maybe = make_or(&store, &a24, &epsilon);
    check_made(&maybe);
    glk_exprs_destroy(&store);
}

/* ---- simpler relatives ---- */

static bool is_part(const language *part, const language *whole, uint32_t strings) {
    for (uint32_t i = 0; i < strings; i++) {
        if (has_string(part, i) && !has_string(whole, i)) {
            return false;
        }
    }
    return true;
}

/* Returns whether the base differs from the expression itself. */
static bool check_base(uint32_t expr) {
    uint32_t base, ours, theirs;
    glk_bytes differs;
    CHECK_OK(glk_expr_base(&store, expr, &base, &differs, NULL));
    if (base == expr) {
        return false;
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        if (glk_bytes_has(&differs, (uint8_t)byte)) {
            continue;
        }
        CHECK_OK(glk_expr_derive(&store, expr, (uint8_t)byte, &ours, NULL));
        CHECK_OK(glk_expr_derive(&store, base, (uint8_t)byte, &theirs, NULL));
        if (ours != theirs) {
            language a = picture(&store, ours), b = picture(&store, theirs);
            CHECK(same_language(&a, &b));
        }
    }
    return true;
}

static void bases_agree_outside_of_their_bytes(void) {
    uint32_t found = 0;
    for (uint32_t round = 0; round < 3000; round++) {
        taste like = {.checked = round % 2 == 0, .rest = true, .most = 3};
        open_store(NULL);
        made item = random_made(&store, 2, &like);
        for (uint32_t i = 0; i < 3; i++) {
            item = random_wide(&store, item, &like);
        }
        found += check_base(item.expr);
        glk_exprs_destroy(&store);
    }
    CHECK(found > 1000);
}

/* Both can be continued alike, and both accept alike, after strings of up to `length` letters. */
static void check_alike(uint32_t a, uint32_t b, uint32_t length) {
    CHECK_EQUAL(a == GLK_EXPR_NEVER, b == GLK_EXPR_NEVER);
    CHECK_EQUAL(glk_expr_nullable(&store, a), glk_expr_nullable(&store, b));
    for (uint32_t letter = 0; letter < LETTERS && length > 0 && a != b; letter++) {
        uint32_t after_a, after_b;
        CHECK_OK(glk_expr_derive(&store, a, (uint8_t)('a' + letter), &after_a, NULL));
        CHECK_OK(glk_expr_derive(&store, b, (uint8_t)('a' + letter), &after_b, NULL));
        check_alike(after_a, after_b, length - 1);
    }
}

static uint32_t at_most(uint32_t a, uint32_t b) { return a < b ? a : b; }

static bool check_unbounded(uint32_t expr, uint32_t reach, uint32_t cut) {
    uint32_t lifted, bound;
    CHECK_OK(glk_expr_unbounded(&store, expr, reach, cut, &lifted, &bound, NULL));
    CHECK(bound >= reach - 1);
    if ((glk_expr_at(&store, expr)->flags & GLK_CHECKED) != 0) {
        language before = picture(&store, expr), after = picture(&store, lifted);
        CHECK(is_part(&before, &after, STRINGS));
        CHECK(is_part(&after, &before, first_of[at_most(bound, LENGTH) + 1]));
    } else {
        check_alike(expr, lifted, at_most(at_most(bound, cut - 1), LENGTH));
    }
    return lifted != expr;
}

static void lifted_bounds_do_not_show_within_reach(void) {
    uint32_t found = 0, cut_short = 0;
    for (uint32_t round = 0; round < 4000; round++) {
        taste like = {.checked = round % 2 == 0, .most = 7};
        open_store(NULL);
        made item = random_made(&store, 3, &like);
        found += check_unbounded(item.expr, 1 + check_random(5), GLK_UNBOUNDED);
        cut_short += check_unbounded(item.expr, 1 + check_random(5), 1 + check_random(6));
        made tagged = random_tagged(&store, 2, &like);
        (void)check_unbounded(tagged.expr, 1 + check_random(5), 1 + check_random(6));
        glk_exprs_destroy(&store);
    }
    CHECK(found > 500 && cut_short > 500);
}

/* The same with large counts, along random strings. */
static void large_bounds_do_not_show_within_reach(void) {
    uint32_t found = 0;
    for (uint32_t round = 0; round < 4000; round++) {
        uint32_t lifted, bound, reach = 4 + check_random(16), cut = 8 + check_random(50);
        open_store(NULL);
        made item = random_leaf(&store, &(taste){.most = 1});
        made end = random_leaf(&store, &(taste){.most = 1});
        for (uint32_t i = 0; i < 1 + round % 3; i++) {
            uint32_t lo = check_random(3) == 0 ? check_random(4) : check_random(40);
            uint32_t hi = check_random(3) == 0 ? GLK_UNBOUNDED : lo + check_random(40);
            uint32_t many;
            CHECK_OK(glk_expr_rep(&store, item.expr, lo, hi, &many, NULL));
            item.expr = many;
            CHECK_OK(check_random(2) == 0 ? glk_expr_or2(&store, many, end.expr, &item.expr, NULL)
                                          : glk_expr_cat(&store, many, end.expr, &item.expr, NULL));
        }
        CHECK_OK(glk_expr_unbounded(&store, item.expr, reach, cut, &lifted, &bound, NULL));
        found += lifted != item.expr;
        for (uint32_t walk = 0; walk < 4 && lifted != item.expr; walk++) {
            uint32_t a = item.expr, b = lifted, letters = 1 + check_random(LETTERS);
            for (uint32_t i = 0; i <= bound && i < cut && a != b; i++) {
                uint8_t letter = (uint8_t)('a' + check_random(letters));
                CHECK_EQUAL(a == GLK_EXPR_NEVER, b == GLK_EXPR_NEVER);
                CHECK_EQUAL(glk_expr_nullable(&store, a), glk_expr_nullable(&store, b));
                CHECK_OK(glk_expr_derive(&store, a, letter, &a, NULL));
                CHECK_OK(glk_expr_derive(&store, b, letter, &b, NULL));
            }
        }
        glk_exprs_destroy(&store);
    }
    CHECK(found > 1000);
}

/* ---- copies ---- */

static void copies_lose_the_bytes_that_do_not_exist(void) {
    glk_bytes few = {{0}};
    glk_bytes_add_range(&few, 'a', 'b');
    for (uint32_t round = 0; round < 1000; round++) {
        glk_exprs from;
        glk_vec map;
        uint32_t copy, again;
        taste like = {.checked = round % 2 == 0, .rest = round % 3 == 0, .most = 5};
        CHECK_OK(glk_exprs_init(&from, "test_bytes", 0, NULL, NULL));
        open_store(round % 2 == 0 ? &few : NULL);
        glk_vec_init(&map, NULL, sizeof(uint32_t));
        made item = round % 5 == 0 ? random_tagged(&from, 3, &like) : random_made(&from, 4, &like);
        for (uint32_t string = 0, length = 0; round % 2 == 0 && string < STRINGS; string++) {
            length += string == first_of[length + 1];
            for (uint32_t i = 0, rest = string - first_of[length]; i < length; i++, rest /= 3) {
                for (uint32_t set = 0; rest % 3 == 2 && set <= LABELS; set++) {
                    language *cut = set == 0 ? &item.all : &item.labelled[set - 1];
                    cut->word[string / 64] &= ~((uint64_t)1 << (string % 64));
                }
            }
        }
        CHECK_OK(glk_expr_import(&store, &from, item.expr, &map, &copy, NULL));
        language found = picture(&store, copy);
        CHECK(same_language(&found, &item.all));
        check_labels(&item, copy, 0, 0);
        uint32_t count = store.exprs.count;
        CHECK_OK(glk_expr_import(&store, &from, item.expr, &map, &again, NULL));
        CHECK_EQUAL(copy, again);
        map.count = 0; /* forgotten, but the content is the same */
        CHECK_OK(glk_expr_import(&store, &from, item.expr, &map, &again, NULL));
        CHECK(copy == again && store.exprs.count == count);
        glk_vec_free(&map);
        glk_exprs_destroy(&from);
        glk_exprs_destroy(&store);
    }
}

/* ---- sizes ---- */

/* The number of expressions after `count` steps by `byte`. */
static uint32_t grown_by(uint32_t expr, uint8_t byte, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        CHECK_OK(glk_expr_derive(&store, expr, byte, &expr, NULL));
        CHECK(expr != GLK_EXPR_NEVER);
    }
    return store.exprs.count;
}

static void counts_cost_nothing(void) {
    open_store(NULL);
    made a = make_class(&store, 1, false), aa = make_cat(&store, &a, &a);
    made either = make_or(&store, &a, &aa), many = make_rep(&store, &a, 0, 1000000);
    made star = make_rep(&store, &a, 0, GLK_UNBOUNDED);
    CHECK_EQUAL(make_rep(&store, &star, 0, GLK_UNBOUNDED).expr, star.expr);
    CHECK(store.exprs.count < 20);
    CHECK(grown_by(many.expr, 'a', 1000) < 1100);
    CHECK(grown_by(make_rep(&store, &either, 0, 1000).expr, 'a', 1000) < 8000);
    made nested = make_rep(&store, &many, 3, 1000000);
    CHECK(glk_expr_at(&store, nested.expr)->most == 1000000 * 1u);
    made huge = make_rep(&store, &aa, 0, GLK_UNBOUNDED - 1);
    CHECK_EQUAL(glk_expr_at(&store, huge.expr)->most, GLK_UNBOUNDED - 1);
    CHECK(grown_by(huge.expr, 'a', 10) < 10000);
    glk_exprs_destroy(&store);
}

static void long_texts_do_not_nest(void) {
    enum { LONG = 100000 };
    uint8_t *text = check_memory(LONG);
    uint32_t expr, twice;
    memset(text, 'a', LONG);
    text[LONG - 1] = 'b';
    open_store(NULL);
    CHECK_OK(glk_expr_literal(&store, text, LONG, GLK_EXPR_EPSILON, &expr, NULL));
    CHECK_OK(glk_expr_cat(&store, expr, expr, &twice, NULL));
    CHECK_EQUAL(glk_expr_at(&store, twice)->shortest, 2 * LONG);
    CHECK(glk_expr_at(&store, twice)->depth < 5);
    for (uint32_t i = 0; i < 2 * LONG; i++) {
        CHECK_OK(glk_expr_derive(&store, twice, text[i % LONG], &twice, NULL));
    }
    CHECK_EQUAL(twice, GLK_EXPR_EPSILON);
    glk_exprs other;
    glk_vec map;
    glk_vec_init(&map, NULL, sizeof(uint32_t));
    CHECK_OK(glk_exprs_init(&other, "test_bytes", 0, NULL, NULL));
    CHECK_OK(glk_expr_import(&other, &store, expr, &map, &twice, NULL));
    CHECK_EQUAL(glk_expr_at(&other, twice)->shortest, LONG);
    glk_exprs_destroy(&other);
    glk_exprs_destroy(&store);
    glk_vec_free(&map);
    free(text);
}

static void nesting_is_bounded(void) {
    open_store(NULL);
    uint32_t expr, class;
    glk_error err = {.code = GLK_OK};
    glk_status status = GLK_OK;
    CHECK_OK(glk_expr_byte(&store, 'a', &expr, NULL));
    CHECK_OK(glk_expr_byte(&store, 'b', &class, NULL));
    for (uint32_t i = 0; i < 1000 && status == GLK_OK; i++) {
        status = i % 2 == 0 ? glk_expr_rep(&store, expr, 2, 3 + i, &expr, &err)
                            : glk_expr_cat(&store, expr, class, &expr, &err);
    }
    CHECK_EQUAL(status, GLK_ERR_LIMIT);
    CHECK(strcmp(err.budget, "expression_depth") == 0);
    CHECK_OK(glk_expr_derive(&store, expr, 'a', &expr, NULL)); /* as deep as may be, yet usable */
    glk_exprs_destroy(&store);
}

/* ---- refusals, budgets, memory ---- */

static void misplaced_tags_are_refused(void) {
    open_store(NULL);
    uint32_t out = 99;
    made a = make_class(&store, 1, false), tag = make_tag(&store, 1);
    made end = make_cat(&store, &a, &tag);
    uint32_t items[2] = {a.expr, end.expr};
    CHECK_EQUAL(glk_expr_cat(&store, end.expr, a.expr, &out, NULL), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_expr_and(&store, items, 2, &out, NULL), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_expr_not(&store, end.expr, &out, NULL), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_expr_rep(&store, end.expr, 0, 3, &out, NULL), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(glk_expr_rep(&store, a.expr, 4, 3, &out, NULL), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(out, 99);
    CHECK_EQUAL(store.scratch.count, 0);
    glk_exprs_destroy(&store);
}

/* An expression that is empty, which takes many steps to see: two counts that never meet. */
static uint32_t hidden_never(glk_exprs *exprs, glk_error *err, glk_status *status) {
    uint32_t a, items[2], out = GLK_EXPR_NEVER;
    *status = glk_expr_byte(exprs, 'a', &a, err);
    for (uint32_t i = 0; i < 2 && *status == GLK_OK; i++) {
        *status = glk_expr_rep(exprs, a, i == 0 ? 2 : 3, i == 0 ? 2 : 3, &items[i], err);
        if (*status == GLK_OK) {
            *status = glk_expr_rep(exprs, items[i], 1, GLK_UNBOUNDED, &items[i], err);
        }
    }
    if (*status == GLK_OK) { /* (aa)+ and a(aa)*: even and odd */
        *status = glk_expr_rep(exprs, a, 2, 2, &items[1], err);
    }
    if (*status == GLK_OK) {
        *status = glk_expr_rep(exprs, items[1], 0, GLK_UNBOUNDED, &items[1], err);
    }
    if (*status == GLK_OK) {
        *status = glk_expr_cat(exprs, a, items[1], &items[1], err);
    }
    if (*status == GLK_OK) {
        *status = glk_expr_and(exprs, items, 2, &out, err);
    }
    return out;
}

static void searches_end_within_their_budget(void) {
    glk_error err = {.code = GLK_OK};
    glk_status status;
    bool empty = false;
    open_store(NULL);
    uint32_t expr = hidden_never(&store, &err, &status);
    CHECK_OK(status);
    for (uint64_t allowed = 0;; allowed++) {
        uint64_t steps = allowed;
        status = glk_expr_is_empty(&store, expr, &steps, &empty, &err);
        if (status == GLK_OK) {
            CHECK(allowed > 0 && empty);
            break;
        }
        CHECK_EQUAL(status, GLK_ERR_LIMIT);
        CHECK(strcmp(err.budget, "steps") == 0 && !empty);
        CHECK_EQUAL(err.limit, allowed);
    }
    uint64_t none = 0; /* known by now */
    CHECK_OK(glk_expr_is_empty(&store, expr, &none, &empty, &err));
    glk_exprs_destroy(&store);
}

/* What a search apart finds is what one in place finds, within the same budget, and it leaves less behind. */
static void searches_apart_find_the_same(void) {
    uint32_t apart = 0;
    for (uint32_t round = 0; round < 2000; round++) {
        taste like = {.checked = true, .most = 9};
        bool here, there;
        uint64_t steps = UINT64_MAX, near = check_random(30), left = UINT64_MAX;
        glk_exprs other;
        CHECK_OK(glk_exprs_init(&other, "test_bytes", 0, NULL, NULL));
        open_store(NULL);
        for (uint32_t i = 0; i < 3; i++) {
            made a = random_made(&store, 3, &like), b = random_made(&store, 3, &like);
            made item = make_and(&store, &a, &b);
            uint32_t copy;
            glk_vec copies;
            glk_vec_init(&copies, NULL, sizeof(uint32_t));
            CHECK_OK(glk_expr_import(&other, &store, item.expr, &copies, &copy, NULL));
            glk_vec_free(&copies);
            CHECK_OK(glk_expr_is_empty(&other, copy, &steps, &here, NULL));
            CHECK_OK(glk_expr_is_empty_apart(&store, item.expr, near, &left, &there, NULL));
            CHECK_EQUAL(here, there);
            uint64_t none = 0; /* known by now */
            CHECK_OK(glk_expr_is_empty(&store, item.expr, &none, &there, NULL));
            CHECK_EQUAL(here, there);
            CHECK_EQUAL(store.scratch.count, 0);
        }
        apart += store.apart != NULL;
        glk_exprs_destroy(&store);
        glk_exprs_destroy(&other);
    }
    CHECK(apart > 100);
    glk_error err = {.code = GLK_OK};
    glk_status status;
    bool empty = false;
    open_store(NULL);
    uint32_t expr = hidden_never(&store, &err, &status), before = store.exprs.count;
    uint64_t steps = 2;
    CHECK_EQUAL(glk_expr_is_empty_apart(&store, expr, 1, &steps, &empty, &err), GLK_ERR_LIMIT);
    CHECK(strcmp(err.budget, "steps") == 0 && !empty);
    steps = UINT64_MAX;
    CHECK_OK(glk_expr_is_empty_apart(&store, expr, 1, &steps, &empty, &err));
    CHECK(empty && store.apart != NULL && store.exprs.count < before + 10);
    glk_exprs_destroy(&store);
}

static void bytes_are_limited(void) {
    glk_error err = {.code = GLK_OK};
    open_store(NULL);
    store.account.limit = store.account.used + 5000;
    uint8_t text[2000];
    uint32_t out = 99;
    memset(text, 'a', sizeof text);
    CHECK_EQUAL(glk_expr_literal(&store, text, sizeof text, GLK_EXPR_EPSILON, &out, &err),
                GLK_ERR_LIMIT);
    CHECK(strcmp(err.budget, "test_bytes") == 0 && out == 99);
    store.account.limit = 0;
    CHECK_OK(glk_expr_literal(&store, text, sizeof text, GLK_EXPR_EPSILON, &out, &err));
    CHECK_EQUAL(glk_expr_at(&store, out)->shortest, sizeof text);
    glk_exprs_destroy(&store);
    CHECK_EQUAL(glk_exprs_init(&store, "test_bytes", 1000, NULL, &err), GLK_ERR_LIMIT);
}

/* Everything once, in a store of its own and copied to another. */
static glk_status use_store(glk_exprs *exprs, glk_exprs *other, glk_vec *map, glk_error *err) {
    uint32_t text, all, base, bound, copy;
    glk_bytes differs, most = glk_bytes_all();
    glk_status status;
    bool empty;
    uint64_t steps = 10000;
    uint32_t never = hidden_never(exprs, err, &status);
    GLK_TRY(status);
    GLK_TRY(glk_expr_is_empty_apart(exprs, never, 1, &steps, &empty, err));
    GLK_TRY(glk_expr_literal(exprs, (const uint8_t *)"aab", 3, GLK_EXPR_EPSILON, &text, err));
    GLK_TRY(glk_expr_class(exprs, &most, &all, err));
    GLK_TRY(glk_expr_rep(exprs, all, 2, 100, &all, err));
    GLK_TRY(glk_expr_or2(exprs, all, text, &all, err));
    for (uint32_t i = 0; i < 40; i++) {
        GLK_TRY(glk_expr_derive(exprs, all, 'a', &copy, err));
        GLK_TRY(glk_expr_base(exprs, all, &base, &differs, err));
        GLK_TRY(glk_expr_unbounded(exprs, all, 4, 9, &base, &bound, err));
        all = copy;
    }
    return glk_expr_import(other, exprs, all, map, &copy, err);
}

/* ---- texts ---- */

static void check_texts(uint32_t item, uint32_t most, const char *expected) {
    glk_vec lengths, bytes;
    bool more;
    uint64_t steps = 100000;
    char got[300] = "";
    glk_vec_init(&lengths, NULL, sizeof(uint32_t));
    glk_vec_init(&bytes, NULL, sizeof(uint8_t));
    CHECK_OK(glk_expr_texts(&store, item, most, &steps, &lengths, &bytes, &more, NULL));
    const char *text = bytes.data;
    for (uint32_t i = 0; i < lengths.count && !more; i++) {
        size_t used = strlen(got);
        int length = (int)GLK_VEC_U32(&lengths)[i];
        (void)snprintf(got + used, sizeof got - used, "<%.*s>", length, length > 0 ? text : "");
        text += length;
    }
    if (strcmp(more ? "more" : got, expected) != 0) {
        (void)fprintf(stderr, "\"%s\" is not \"%s\"\n", more ? "more" : got, expected);
        exit(1);
    }
    glk_vec_free(&lengths);
    glk_vec_free(&bytes);
}

static void few_texts_are_listed(void) {
    glk_bytes letters = {{0}};
    uint32_t ab, few, not_a, id;
    CHECK_OK(glk_exprs_init(&store, "test_bytes", 0, NULL, NULL));
    glk_bytes_add_range(&letters, 'a', 'b');
    CHECK_OK(glk_expr_class(&store, &letters, &ab, NULL));
    CHECK_OK(glk_expr_rep(&store, ab, 0, 2, &few, NULL));
    check_texts(GLK_EXPR_NEVER, 0, "");
    check_texts(GLK_EXPR_EPSILON, 1, "<>");
    check_texts(GLK_EXPR_EPSILON, 0, "more");
    check_texts(GLK_EXPR_ANY, 1000, "more");
    check_texts(few, 7, "<><a><b><aa><ab><ba><bb>");
    check_texts(few, 6, "more");
    CHECK_OK(glk_expr_literal(&store, (const uint8_t *)"a", 1, GLK_EXPR_EPSILON, &id, NULL));
    CHECK_OK(glk_expr_not(&store, id, &not_a, NULL));
    CHECK_OK(glk_expr_and(&store, (uint32_t[]){few, not_a}, 2, &id, NULL));
    check_texts(id, 6, "<><b><aa><ab><ba><bb>");
    CHECK_OK(glk_expr_rep(&store, ab, 1, GLK_UNBOUNDED, &id, NULL)); /* endless, and without one */
    CHECK_OK(glk_expr_and(&store, (uint32_t[]){id, few}, 2, &id, NULL));
    check_texts(id, 6, "<a><b><aa><ab><ba><bb>");
    CHECK_OK(glk_expr_not(&store, ab, &id, NULL));
    check_texts(id, 1000, "more");
    CHECK_OK(glk_expr_rep(&store, few, 900, 900, &id, NULL));
    uint64_t steps = 100;
    glk_vec lengths, bytes;
    bool more;
    glk_vec_init(&lengths, NULL, sizeof(uint32_t));
    glk_vec_init(&bytes, NULL, sizeof(uint8_t));
    CHECK_EQUAL(
        glk_expr_texts(&store, id, UINT32_MAX - 1, &steps, &lengths, &bytes, &more, NULL),
        GLK_ERR_LIMIT);
    glk_vec_free(&lengths);
    glk_vec_free(&bytes);
    glk_exprs_destroy(&store);
}

static glk_status attempt_store(void *context, glk_error *err) {
    glk_exprs exprs, other;
    glk_vec map;
    (void)context;
    GLK_TRY(glk_exprs_init(&exprs, "test_bytes", 0, NULL, err));
    glk_status status = glk_exprs_init(&other, "test_bytes", 0, NULL, err);
    if (status == GLK_OK) {
        glk_vec_init(&map, NULL, sizeof(uint32_t));
        status = use_store(&exprs, &other, &map, err);
        if (status != GLK_OK) { /* the stores are as good as before */
            glk_alloc_fail_after(-1);
            exprs.scratch.count = other.scratch.count = 0;
            CHECK_OK(use_store(&exprs, &other, &map, NULL));
        }
        glk_vec_free(&map);
        glk_exprs_destroy(&other);
    }
    glk_exprs_destroy(&exprs);
    return status;
}

int main(void) {
    glk_bytes letters = letters_alone();
    random_expressions(NULL, 700);
    random_expressions(&letters, 700);
    equal_content_has_equal_ids();
    bases_agree_outside_of_their_bytes();
    lifted_bounds_do_not_show_within_reach();
    large_bounds_do_not_show_within_reach();
    copies_lose_the_bytes_that_do_not_exist();
    counts_cost_nothing();
    long_texts_do_not_nest();
    nesting_is_bounded();
    misplaced_tags_are_refused();
    searches_end_within_their_budget();
    searches_apart_find_the_same();
    bytes_are_limited();
    few_texts_are_listed();
    CHECK(check_failing_allocations(attempt_store, NULL) >= 10);
    return check_done();
}
