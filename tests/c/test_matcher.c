/* test_matcher.c -- one sequence and many: histories, full tables, failing allocations, threads,
 * and texts far larger than any stack.  The language itself is tested in test_parser.c. */
#include "batch.h"
#include "machines.h"

static const glk_limits wide = {.program_bytes = 1 << 28, .steps = 1 << 30};
static glk_grammar *grammar;
static glk_vocab *vocab;

enum { MASK_WORDS = 64 };

/* ---- a grammar with a bit of everything ---- */

static uint32_t class_of(uint8_t low, uint8_t high) {
    glk_bytes set = {{0}};
    uint32_t id;
    glk_bytes_add_range(&set, low, high);
    CHECK_OK(glk_expr_class(source, &set, &id, &err));
    return id;
}

static uint32_t quoted(const char *name) {
    char key[40];
    (void)snprintf(key, sizeof key, "\"%s\"", name);
    return literal(key);
}

static uint32_t string_expr(uint32_t most) {
    uint32_t letters, quote = literal("\""), id;
    CHECK_OK(glk_expr_rep(source, class_of('a', 'z'), 0, most, &letters, &err));
    CHECK_OK(glk_expr_cat(source, letters, quote, &id, &err));
    CHECK_OK(glk_expr_cat(source, quote, id, &id, &err));
    return id;
}

/* value = string of up to 30 letters | number | "[" (value ("," value){0,50})? "]" | object */
static void open_values(void) {
    uint32_t digits, object;
    CHECK_OK(glk_exprs_new(0, &source, &err));
    CHECK_OK(glk_grammar_new(source, &grammar, &err));
    CHECK_OK(glk_expr_rep(source, class_of('0', '9'), 1, 12, &digits, &err));
    uint32_t value = rule(grammar), string = terminal(grammar, string_expr(30));
    uint32_t more = sequence(grammar, LIST(text(grammar, ","), value));
    uint32_t list = sequence(grammar, LIST(value, repetition(grammar, more, 0, 50)));
    list = sequence(grammar, LIST(text(grammar, "["), repetition(grammar, list, 0, 1),
                                  text(grammar, "]")));
    plain_member fields[] = {{quoted("id"), terminal(grammar, digits), 1},
                           {quoted("name"), string, 0},
                           {quoted("more"), value, 0}};
    object = plain_object(grammar, GLK_EXPR_EPSILON, fields, 3, NULL, 0, ANY_ORDER);
    uint32_t body = choice(grammar, LIST(string, terminal(grammar, digits), list, object));
    CHECK_OK(glk_grammar_define(grammar, value, body, &err));
    CHECK_OK(glk_grammar_set_root(grammar, value, &err));
}

static void close_values(void) {
    glk_grammar_release(grammar);
    glk_exprs_release(source);
}

static glk_program *compile(const glk_limits *limits) {
    glk_program *program;
    CHECK_OK(glk_program_new(vocab, grammar, limits, &program, &err));
    return program;
}

static glk_matcher *start(glk_program *program) {
    glk_matcher *matcher;
    CHECK_OK(glk_matcher_new(program, &matcher, &err));
    return matcher;
}

static bool take_text(glk_matcher *matcher, const char *bytes) {
    bool good;
    CHECK_OK(glk_matcher_accept_bytes(matcher, (const uint8_t *)bytes, strlen(bytes), &good, &err));
    return good;
}

static bool take(glk_matcher *matcher, uint32_t token) {
    bool good;
    CHECK_OK(glk_matcher_accept_token(matcher, token, &good, &err));
    return good;
}

static void fill(glk_matcher *matcher, uint32_t *mask) {
    CHECK_OK(glk_matcher_fill(matcher, mask, MASK_WORDS, &err));
}

/* A random token of a mask other than the end, or GLK_NONE. */
static uint32_t choose(const uint32_t *mask) {
    uint32_t allowed[MASK_WORDS * 32], count = 0;
    for (uint32_t id = 1; id < vocab->size; id++) {
        if (glk_mask_has(mask, id)) {
            allowed[count++] = id;
        }
    }
    return count > 0 ? allowed[check_random(count)] : GLK_NONE;
}

/* ---- histories ---- */

static void histories_move_both_ways(void) {
    uint32_t mask[MASK_WORDS], masks[40][MASK_WORDS], tokens[40];
    glk_program *program = compile(&wide);
    for (uint32_t round = 0; round < 30; round++) {
        glk_matcher *matcher = start(program), *twin;
        uint32_t count = 0;
        for (; count < 40; count++) {
            fill(matcher, masks[count]);
            tokens[count] = choose(masks[count]);
            if (tokens[count] == GLK_NONE) {
                break;
            }
            CHECK(take(matcher, tokens[count]));
        }
        CHECK_EQUAL(glk_matcher_steps(matcher), count);
        CHECK_OK(glk_matcher_fork(matcher, &twin, &err));
        CHECK_EQUAL(glk_matcher_rollback(matcher, count + 1, &err), GLK_ERR_ARGUMENT);
        for (uint32_t at = count; at > 0; at--) {
            CHECK_OK(glk_matcher_rollback(matcher, 1, &err));
            fill(matcher, mask);
            CHECK(memcmp(mask, masks[at - 1], sizeof mask) == 0);
        }
        size_t good;
        CHECK_OK(glk_matcher_validate_tokens(matcher, tokens, count, &good, &err));
        CHECK(good == count && glk_matcher_steps(matcher) == 0);
        glk_matcher_release(matcher);
        CHECK_EQUAL(glk_matcher_steps(twin), count); /* the fork has a history of its own */
        CHECK_OK(glk_matcher_rollback(twin, count / 2, &err));
        fill(twin, mask);
        CHECK(memcmp(mask, masks[count - count / 2], sizeof mask) == 0);
        glk_matcher_release(twin);
    }
    glk_program_release(program);
}

static void ends_end(void) {
    uint32_t mask[MASK_WORDS];
    bool good;
    size_t count;
    glk_program *program = compile(&wide);
    glk_matcher *matcher = start(program), *twin;
    CHECK(!take(matcher, END) && !take(matcher, vocab->size) && !take(matcher, 1));
    CHECK(!take_text(matcher, "[1}") && glk_matcher_steps(matcher) == 0);
    CHECK(take_text(matcher, "") && take_text(matcher, "[1") && take_text(matcher, ",2]"));
    CHECK_OK(glk_matcher_can_end(matcher, &good, &err));
    CHECK(good && take(matcher, END) && !take(matcher, END) && !take_text(matcher, ""));
    CHECK_OK(glk_matcher_is_terminated(matcher, &good, &err));
    CHECK(good);
    CHECK_EQUAL(glk_matcher_fill(matcher, mask, MASK_WORDS, &err), GLK_ERR_STATE);
    CHECK_OK(glk_matcher_validate_tokens(matcher, LIST(END), &count, &err));
    CHECK_EQUAL(count, 0);
    CHECK_OK(glk_matcher_fork(matcher, &twin, &err));
    CHECK_OK(glk_matcher_rollback(matcher, 1, &err));
    CHECK_OK(glk_matcher_validate_tokens(matcher, LIST(END, END), &count, &err));
    CHECK_EQUAL(count, 1);
    CHECK_OK(glk_matcher_is_terminated(matcher, &good, &err));
    CHECK(!good);
    CHECK_OK(glk_matcher_is_terminated(twin, &good, &err));
    CHECK(good);
    CHECK_EQUAL(glk_matcher_fill(matcher, mask, 1, &err), GLK_ERR_ARGUMENT);
    glk_matcher_release(matcher);
    glk_matcher_release(twin);
    glk_program_release(program);
}

static void forced_bytes_are_those(void) {
    static const char *const texts[][2] = {{"", ""},        {"{", "\"}"},     {"{\"n", "ame\":\""},
                                           {"{\"i", "d\":"}, {"{\"id\":1", ""}, {"\"a\"", ""}};
    uint8_t buffer[20];
    size_t count;
    glk_program *program = compile(&wide);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        glk_matcher *matcher = start(program);
        CHECK(take_text(matcher, texts[i][0]));
        const char *wanted = i == 1 ? "\"" : texts[i][1];
        CHECK_OK(glk_matcher_forced_bytes(matcher, buffer, sizeof buffer, &count, &err));
        CHECK(count == strlen(wanted) && memcmp(buffer, wanted, count) == 0);
        CHECK_EQUAL(glk_matcher_steps(matcher), 1);
        CHECK_OK(glk_matcher_forced_bytes(matcher, buffer, 1, &count, &err));
        CHECK(count <= 1);
        glk_matcher_release(matcher);
    }
    glk_program_release(program);
}

/* ---- full tables ---- */

/* The same walk under a narrow budget and under a wide one; returns the epochs it took. */
static uint64_t walk_in_step(uint64_t bytes, uint32_t *refused) {
    glk_limits narrow = {.program_bytes = bytes, .steps = 1 << 30};
    glk_program *programs[2] = {compile(&wide), NULL};
    if (glk_program_new(vocab, grammar, &narrow, &programs[1], &err) != GLK_OK) {
        CHECK_EQUAL(err.code, GLK_ERR_LIMIT);
        glk_program_release(programs[0]);
        ++*refused;
        return 0;
    }
    glk_matcher *free_one = start(programs[0]), *tight = start(programs[1]);
    for (uint32_t step = 0; step < 300; step++) {
        uint32_t mask[MASK_WORDS], other[MASK_WORDS], before[MASK_WORDS];
        memset(other, 0xA5, sizeof other);
        memcpy(before, other, sizeof before);
        fill(free_one, mask);
        glk_status status = glk_matcher_fill(tight, other, MASK_WORDS, &err);
        if (status != GLK_OK) {
            CHECK(status == GLK_ERR_LIMIT && strcmp(err.budget, "program_bytes") == 0);
            CHECK(memcmp(other, before, sizeof other) == 0);
            CHECK_EQUAL(glk_matcher_steps(tight), step);
            ++*refused;
            break;
        }
        CHECK(memcmp(mask, other, sizeof mask) == 0);
        uint32_t token = step < 6 ? '[' - 0x20 + SPECIALS : choose(mask);
        bool good;
        if (token == GLK_NONE) {
            break;
        }
        CHECK(take(free_one, token));
        status = glk_matcher_accept_token(tight, token, &good, &err);
        CHECK(status == GLK_OK ? good : status == GLK_ERR_LIMIT);
        if (status != GLK_OK) {
            CHECK_EQUAL(glk_matcher_steps(tight), step);
            break;
        }
    }
    glk_program_stats stats;
    glk_program_get_stats(programs[1], &stats);
    CHECK(stats.bytes < bytes + 100000);
    glk_matcher_release(free_one);
    glk_matcher_release(tight);
    glk_program_release(programs[0]);
    glk_program_release(programs[1]);
    return stats.epochs;
}

static void full_tables_start_anew(void) {
    uint64_t epochs = 0;
    uint32_t refused = 0;
    for (uint64_t bytes = 4000; bytes < 400000; bytes += bytes / 12) {
        epochs += walk_in_step(bytes, &refused);
    }
    CHECK(epochs > 3 && refused > 3);
}

/* Many short sequences over one small budget: each moves on, none is refused for the others. */
static void epochs_serve_many(void) {
    enum { MANY = 12 };
    glk_limits narrow = {.program_bytes = 90000, .steps = 1 << 30};
    glk_program *program = compile(&narrow), *free_program = compile(&wide);
    glk_matcher *tight[MANY], *free_ones[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        tight[i] = start(program);
        free_ones[i] = start(free_program);
        CHECK(take_text(tight[i], "[[[") && take_text(free_ones[i], "[[["));
    }
    for (uint32_t step = 0; step < 40 * MANY; step++) {
        uint32_t mask[MASK_WORDS], other[MASK_WORDS], i = check_random(MANY);
        fill(free_ones[i], mask);
        fill(tight[i], other);
        CHECK(memcmp(mask, other, sizeof mask) == 0);
        uint32_t token = choose(mask);
        if (glk_matcher_steps(tight[i]) > 25 || token == GLK_NONE) {
            size_t back = glk_matcher_steps(tight[i]) / 2;
            CHECK_OK(glk_matcher_rollback(tight[i], back, &err));
            CHECK_OK(glk_matcher_rollback(free_ones[i], back, &err));
        } else {
            CHECK(take(free_ones[i], token) && take(tight[i], token));
        }
    }
    glk_program_stats stats;
    glk_program_get_stats(program, &stats);
    CHECK(stats.epochs > 0);
    glk_program_release(program);
    glk_program_release(free_program);
    for (uint32_t i = 0; i < MANY; i++) {
        glk_matcher_release(tight[i]);
        glk_matcher_release(free_ones[i]);
    }
}

static void steps_are_limited(void) {
    uint32_t mask[MASK_WORDS], wanted[MASK_WORDS], refused = 0;
    glk_program *program = compile(&wide);
    glk_matcher *matcher = start(program);
    CHECK(take_text(matcher, "[\"a"));
    fill(matcher, wanted);
    glk_matcher_release(matcher);
    glk_program_release(program);
    for (uint64_t steps = 0, done = 0; done == 0; steps += 1 + steps / 8) {
        glk_limits narrow = {.program_bytes = 1 << 26, .steps = steps};
        glk_vocab_release(vocab);
        vocab = vocab_of(grammar, 0, 6, 0);
        glk_status status = glk_program_new(vocab, grammar, &narrow, &program, &err);
        if (status == GLK_OK) {
            bool good;
            matcher = start(program);
            status = glk_matcher_accept_bytes(matcher, (const uint8_t *)"[\"a", 3, &good, &err);
            status = status == GLK_OK ? glk_matcher_fill(matcher, mask, MASK_WORDS, &err) : status;
            glk_matcher_release(matcher);
            glk_program_release(program);
        }
        done = status == GLK_OK;
        CHECK(done || (status == GLK_ERR_LIMIT && strcmp(err.budget, "steps") == 0));
        refused += done == 0;
    }
    CHECK(refused > 5);
}

/* ---- memory ---- */

static glk_status use_once(glk_error *error, uint32_t *mask, glk_program **program,
                           glk_matcher **matcher) {
    bool good;
    glk_matcher *twin;
    if (*program == NULL) {
        GLK_TRY(glk_program_new(vocab, grammar, &wide, program, error));
    }
    if (*matcher == NULL) {
        GLK_TRY(glk_matcher_new(*program, matcher, error));
    }
    if (glk_matcher_steps(*matcher) == 0) {
        GLK_TRY(glk_matcher_accept_bytes(*matcher, (const uint8_t *)"[1,{\"id\":2,\"m", 13, &good,
                                         error));
        CHECK(good);
    }
    CHECK_EQUAL(glk_matcher_steps(*matcher), 1);
    GLK_TRY(glk_matcher_fill(*matcher, mask, MASK_WORDS, error));
    GLK_TRY(glk_matcher_fork(*matcher, &twin, error));
    glk_matcher_release(twin);
    return GLK_OK;
}

static glk_status attempt_matcher(void *context, glk_error *error) {
    uint32_t mask[MASK_WORDS], *wanted = context;
    glk_program *program = NULL;
    glk_matcher *matcher = NULL;
    glk_terminals_release(vocab->terminals); /* nothing is left from the attempt before */
    vocab->terminals = NULL;
    glk_status status = use_once(error, mask, &program, &matcher);
    glk_alloc_fail_after(-1);
    if (status != GLK_OK) { /* go on from where it failed */
        CHECK_OK(use_once(&err, mask, &program, &matcher));
    }
    CHECK(memcmp(mask, wanted, sizeof mask) == 0);
    glk_matcher_release(matcher);
    glk_program_release(program);
    return status;
}

static void failing_allocations_are_clean(void) {
    uint32_t wanted[MASK_WORDS];
    glk_program *program = compile(&wide);
    glk_matcher *matcher = start(program);
    CHECK(take_text(matcher, "[1,{\"id\":2,\"m"));
    fill(matcher, wanted);
    glk_matcher_release(matcher);
    glk_program_release(program);
    CHECK(check_failing_allocations(attempt_matcher, wanted) > 50);
}

static void releases_come_in_any_order(void) {
    for (uint32_t order = 0; order < 24; order++) {
        uint32_t left[4] = {0, 1, 2, 3}, mask[MASK_WORDS];
        open_values();
        glk_vocab *mine = vocab_of(grammar, 5, 6, 0);
        glk_program *program;
        CHECK_OK(glk_program_new(mine, grammar, &wide, &program, &err));
        glk_matcher *matcher = start(program), *twin;
        CHECK_OK(glk_matcher_fork(matcher, &twin, &err));
        for (uint32_t i = 0, rest = order; i < 4; rest /= 4 - i, i++) {
            uint32_t at = rest % (4 - i), chosen = left[at];
            left[at] = left[3 - i];
            if (chosen == 0) {
                glk_vocab_release(mine);
            } else if (chosen == 1) {
                glk_program_release(program);
            } else if (chosen == 2) {
                close_values();
            } else {
                glk_matcher_release(matcher);
            }
            fill(twin, mask);
        }
        CHECK(take_text(twin, "[{\"id\":1}]"));
        glk_matcher_release(twin);
    }
    glk_vocab_release(NULL);
    glk_program_release(NULL);
    glk_matcher_release(NULL);
}

/* ---- many rows ---- */

enum { ROWS = 40 };

static void batches_equal_rows(void) {
    static uint32_t masks[ROWS][MASK_WORDS], wanted[ROWS][MASK_WORDS];
    glk_status statuses[ROWS];
    for (uint32_t threads = 1; threads <= 4; threads++) {
        glk_program *fresh = compile(&wide), *calm = compile(&wide);
        glk_matcher *rows[ROWS], *single[ROWS];
        for (uint32_t i = 0; i < ROWS; i++) {
            rows[i] = start(fresh);
            single[i] = start(calm);
        }
        for (uint32_t step = 0; step < 30; step++) {
            CHECK_OK(glk_matchers_fill(rows, ROWS, masks[0], MASK_WORDS, MASK_WORDS, threads,
                                       statuses, &err));
            for (uint32_t i = 0; i < ROWS; i++) {
                CHECK_EQUAL(statuses[i], GLK_OK);
                fill(single[i], wanted[i]);
                uint32_t token = choose(wanted[i]);
                if (token != GLK_NONE) {
                    CHECK(take(single[i], token) && take(rows[i], token));
                }
            }
            CHECK(memcmp(masks, wanted, sizeof masks) == 0);
        }
        for (uint32_t i = 0; i < ROWS; i++) {
            glk_matcher_release(rows[i]);
            glk_matcher_release(single[i]);
        }
        glk_program_release(fresh);
        glk_program_release(calm);
    }
}

/* Rows fail alone, and the first of them is named. */
static void rows_fail_alone(void) {
    static uint32_t masks[ROWS][MASK_WORDS];
    glk_status statuses[ROWS];
    glk_program *program = compile(&wide);
    glk_matcher *rows[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = start(program);
        CHECK(i % 7 != 3 || (take_text(rows[i], "1") && take(rows[i], END)));
    }
    for (uint32_t round = 0; round < 50; round++) {
        glk_error error = {.code = GLK_OK};
        CHECK_EQUAL(glk_matchers_fill(rows, ROWS, masks[0], MASK_WORDS, MASK_WORDS, 1 + round % 4,
                                      statuses, &error),
                    GLK_ERR_STATE);
        CHECK(error.code == GLK_ERR_STATE && error.row == 3);
        for (uint32_t i = 0; i < ROWS; i++) {
            CHECK_EQUAL(statuses[i], i % 7 == 3 ? GLK_ERR_STATE : GLK_OK);
        }
    }
    CHECK_EQUAL(glk_matchers_fill(rows, 2, masks[0], 1, 2, 1, statuses, &err), GLK_ERR_ARGUMENT);
    CHECK_OK(glk_matchers_fill(rows, 0, masks[0], MASK_WORDS, MASK_WORDS, 4, statuses, &err));
    for (uint32_t i = 0; i < ROWS; i++) {
        glk_matcher_release(rows[i]);
    }
    glk_program_release(program);
}

/* ---- threads of one program ---- */

static void *walk_alone(void *context) {
    glk_program *program = context;
    uint32_t mask[MASK_WORDS];
    uint64_t seed = (uintptr_t)&mask / 64;
    for (uint32_t round = 0; round < 6; round++) {
        glk_error error;
        glk_matcher *matcher;
        bool good = true;
        CHECK_OK(glk_matcher_new(program, &matcher, &error));
        for (uint32_t step = 0; step < 25; step++) {
            CHECK_OK(glk_matcher_fill(matcher, mask, MASK_WORDS, &error));
            uint32_t first = (uint32_t)((seed = seed * 6364136223846793005u + 1) >> 40), token = 0;
            for (uint32_t i = 0; i < vocab->size && token == 0; i++) {
                uint32_t id = (first + i) % vocab->size;
                token = id != END && glk_mask_has(mask, id) ? id : 0;
            }
            if (token != 0) {
                CHECK_OK(glk_matcher_accept_token(matcher, token, &good, &error));
                CHECK(good);
            }
        }
        glk_matcher_release(matcher);
    }
    return NULL;
}

static void threads_share_a_program(void) {
    for (uint32_t round = 0; round < 2; round++) { /* the second with epochs that fill up */
        glk_limits narrow = {.program_bytes = 400000, .steps = 1 << 30};
        glk_program *program = compile(round == 0 ? &wide : &narrow);
        pthread_t threads[4];
        for (uint32_t i = 0; i < 4; i++) {
            CHECK_EQUAL(pthread_create(&threads[i], NULL, walk_alone, program), 0);
        }
        for (uint32_t i = 0; i < 4; i++) {
            CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
        }
        glk_program_release(program);
    }
}

/* ---- large texts and grammars, on a small stack ---- */

enum { DEEP = 20000, ALTERNATIVES = 1000, OPTIONAL = 5000, SMALL_STACK = 1 << 18 };

static void nesting_needs_no_stack(void) {
    uint32_t mask[MASK_WORDS];
    char *brackets = check_memory(DEEP + 1);
    glk_program *program = compile(&wide);
    glk_matcher *matcher = start(program);
    memset(brackets, '[', DEEP);
    CHECK(take_text(matcher, brackets));
    fill(matcher, mask);
    memset(brackets, ']', DEEP);
    CHECK(take_text(matcher, "1,2") && take_text(matcher, brackets) && take(matcher, END));
    glk_matcher_release(matcher);
    glk_program_release(program);
    free(brackets);
}

static void check_one(const char *good, const char *bad) {
    uint32_t mask[MASK_WORDS], walked[MASK_WORDS];
    glk_program *program = compile(&wide);
    glk_matcher *matcher = start(program);
    for (uint32_t i = 0; good[i] != 0; i++) {
        fill(matcher, mask);
        CHECK_OK(glk_matcher_fill_by_walk(matcher, walked, MASK_WORDS, &err));
        CHECK(memcmp(mask, walked, sizeof mask) == 0);
        CHECK(take_text(matcher, (char[]){good[i], 0}));
    }
    CHECK(take(matcher, END));
    CHECK_OK(glk_matcher_rollback(matcher, strlen(good) + 1, &err));
    CHECK(!take_text(matcher, bad));
    glk_matcher_release(matcher);
    glk_program_release(program);
}

static void many_alternatives(void) {
    static uint32_t nodes[ALTERNATIVES];
    CHECK_OK(glk_exprs_new(0, &source, &err));
    CHECK_OK(glk_grammar_new(source, &grammar, &err));
    for (uint32_t i = 0; i < ALTERNATIVES; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "n%u;", i);
        uint32_t end = text(grammar, i % 2 == 0 ? "a" : "b");
        nodes[i] = sequence(grammar, LIST(text(grammar, name), end));
    }
    CHECK_OK(glk_grammar_set_root(grammar, choice(grammar, nodes, ALTERNATIVES), &err));
    check_one("n998;a", "n998;b");
    close_values();
}

static void many_members(void) {
    plain_member *list = check_memory(OPTIONAL * sizeof *list);
    for (uint32_t order = DECLARED_ORDER; order <= ANY_ORDER; order++) {
        uint32_t object;
        CHECK_OK(glk_exprs_new(0, &source, &err));
        CHECK_OK(glk_grammar_new(source, &grammar, &err));
        for (uint32_t i = 0; i < OPTIONAL; i++) {
            char name[20];
            (void)snprintf(name, sizeof name, "m%u", i);
            list[i] = (plain_member){quoted(name), text(grammar, "1"), i == 4000};
        }
        object = plain_object(grammar, GLK_EXPR_EPSILON, list, OPTIONAL, NULL, 0,
                              (plain_order)order);
        CHECK_OK(glk_grammar_set_root(grammar, object, &err));
        check_one("{\"m5\":1,\"m4000\":1}", "{\"m5\":1}");
        check_one(order == ANY_ORDER ? "{\"m4000\":1,\"m5\":1}" : "{\"m4000\":1,\"m4999\":1}",
                  order == ANY_ORDER ? "{\"m4\":1,\"m4\"" : "{\"m4000\":1,\"m5");
        close_values();
    }
    free(list);
}

static void *large_ones(void *unused) {
    (void)unused;
    open_values();
    nesting_needs_no_stack();
    close_values();
    many_alternatives();
    many_members();
    return NULL;
}

static void large_ones_on_a_small_stack(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK_EQUAL(pthread_attr_init(&attributes), 0);
    CHECK_EQUAL(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
    CHECK_EQUAL(pthread_create(&thread, &attributes, large_ones, NULL), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    (void)pthread_attr_destroy(&attributes);
}

int main(void) {
    open_values();
    vocab = vocab_of(grammar, 200, 12, 0);
    histories_move_both_ways();
    ends_end();
    forced_bytes_are_those();
    full_tables_start_anew();
    epochs_serve_many();
    batches_equal_rows();
    rows_fail_alone();
    threads_share_a_program();
    failing_allocations_are_clean();
    steps_are_limited();
    close_values();
    releases_come_in_any_order();
    large_ones_on_a_small_stack();
    glk_vocab_release(vocab);
    return check_done();
}
