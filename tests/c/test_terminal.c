/* test_terminal.c -- rows, spans and distances of terminals, token by token.
 *
 * The other side is a table of all derivatives of the expression in a store of its own, with its
 * shortest ways to acceptance: no classes of bytes, no bases, no tries.  Expressions treat all
 * bytes but a, b and c alike, so the table has four columns. */
#include "languages.h"
#include "span.h"
#include "vocabularies.h"

enum { COLUMNS = LETTERS + 1, MOST_STATES = 3000, NOWHERE = UINT32_MAX, LONGEST = 64 };

static glk_exprs store;
static glk_vocab *vocab;
static glk_terminals *terminals;
static uint64_t steps;

/* ---- the table ---- */

static struct {
    uint32_t expr[MOST_STATES];
    uint32_t next[MOST_STATES][COLUMNS]; /* NOWHERE: not a byte of the vocabulary */
    uint32_t distance[MOST_STATES];      /* bytes to acceptance; NOWHERE: dead */
    uint32_t labels[MOST_STATES];        /* 0: none; bit 0: accepts plainly; bit l: label l */
    uint32_t count;
    uint32_t place[1 << 18];             /* by expression: index + 1 */
} table;

static uint32_t column_of(uint8_t byte) {
    return byte >= 'a' && byte < 'a' + LETTERS ? (uint32_t)(byte - 'a') : (uint32_t)LETTERS;
}

static uint32_t labels_of(uint32_t expr) {
    uint32_t result = 0;
    glk_vec labels;
    if (!glk_expr_nullable(&store, expr)) {
        return 0;
    }
    glk_vec_init(&labels, NULL, sizeof(uint32_t));
    CHECK_OK(glk_expr_labels(&store, expr, &labels, NULL));
    for (uint32_t i = 0; i < labels.count; i++) {
        result |= 1u << GLK_VEC_U32(&labels)[i];
    }
    glk_vec_free(&labels);
    return (glk_expr_at(&store, expr)->flags & GLK_TAGGED) != 0 ? result : 1;
}

static uint32_t place_of(uint32_t expr) {
    CHECK(expr < sizeof table.place / sizeof *table.place);
    if (table.place[expr] == 0 && table.count < MOST_STATES) {
        table.expr[table.count] = expr;
        table.labels[table.count] = labels_of(expr);
        table.place[expr] = ++table.count;
    }
    return table.place[expr] - 1;
}

static void settle_distances(void) {
    for (uint32_t i = 0; i < table.count; i++) {
        table.distance[i] = table.labels[i] != 0 ? 0 : NOWHERE;
    }
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = table.count; i-- > 0;) {
            for (uint32_t c = 0; c < COLUMNS; c++) {
                uint32_t next = table.next[i][c];
                uint32_t far = next != NOWHERE ? table.distance[next] : NOWHERE;
                if (far != NOWHERE && far + 1 < table.distance[i]) {
                    table.distance[i] = far + 1;
                    again = true;
                }
            }
        }
    }
}

static bool is_unwieldy(uint32_t expr) {
    const glk_expr *e = glk_expr_at(&store, expr);
    return (e->kind == GLK_OR || e->kind == GLK_AND) && e->b > 60;
}

/* False if there are too many derivatives to look at, or too large ones. */
static bool fill_table(uint32_t expr) {
    bool exists[COLUMNS] = {false};
    uint8_t sample[COLUMNS] = {0};
    for (uint32_t byte = 0; byte < 256; byte++) {
        if (glk_bytes_has(&vocab->reachable, (uint8_t)byte)) {
            exists[column_of((uint8_t)byte)] = true;
            sample[column_of((uint8_t)byte)] = (uint8_t)byte;
        }
    }
    for (uint32_t i = 0; i < table.count; i++) {
        table.place[table.expr[i]] = 0;
    }
    table.count = 0;
    (void)place_of(expr);
    for (uint32_t i = 0; i < table.count; i++) {
        for (uint32_t c = 0; c < COLUMNS; c++) {
            uint32_t next;
            table.next[i][c] = NOWHERE;
            if (exists[c]) {
                CHECK_OK(glk_expr_derive(&store, table.expr[i], sample[c], &next, NULL));
                table.next[i][c] = place_of(next);
                if (is_unwieldy(next)) {
                    return false;
                }
            }
        }
        if (table.count == MOST_STATES) {
            return false;
        }
    }
    settle_distances();
    return true;
}

static uint32_t step_table(uint32_t at, uint8_t byte) {
    if (at == NOWHERE || !glk_bytes_has(&vocab->reachable, byte)) {
        return NOWHERE;
    }
    uint32_t next = table.next[at][column_of(byte)];
    return next != NOWHERE && table.distance[next] != NOWHERE ? next : NOWHERE;
}

/* ---- states ---- */

static uint32_t label_bits(uint32_t set) {
    uint32_t result = set == GLK_LABELS_PLAIN ? 1 : 0;
    const glk_label_set *labels = glk_label_set_at(terminals, set);
    for (uint32_t i = 0; i < labels->count; i++) {
        CHECK(i == 0 || labels->labels[i - 1] < labels->labels[i]);
        result |= 1u << labels->labels[i];
    }
    return result;
}

static void check_row(uint32_t state, uint32_t at) {
    const glk_row *row;
    CHECK_OK(glk_terminals_build_row(terminals, state, &steps, &row, NULL));
    CHECK(glk_state_row(terminals, state) == row);
    CHECK_EQUAL(row->count, glk_bytes_count(&row->live));
    for (uint32_t byte = 0; byte < 256; byte++) {
        CHECK_EQUAL(glk_bytes_has(&row->live, (uint8_t)byte),
                    step_table(at, (uint8_t)byte) != NOWHERE);
    }
}

static void check_worst(uint32_t state, uint32_t at) {
    static bool seen[MOST_STATES];
    static uint32_t queue[MOST_STATES];
    uint32_t count = 1, farthest = 0, worst;
    memset(seen, 0, sizeof seen);
    queue[0] = at;
    seen[at] = true;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t far = table.distance[queue[i]];
        farthest = far > farthest ? far : farthest;
        for (uint32_t c = 0; c < COLUMNS; c++) {
            uint32_t next = table.next[queue[i]][c];
            if (next != NOWHERE && table.distance[next] != NOWHERE && !seen[next]) {
                seen[next] = true;
                queue[count++] = next;
            }
        }
    }
    bool fresh = glk_state_at(terminals, state)->worst == GLK_NONE;
    CHECK_OK(glk_terminals_worst(terminals, state, &steps, &worst, NULL));
    CHECK(worst >= farthest);
    CHECK(!fresh || worst == farthest || worst == GLK_UNBOUNDED - 1);
}

/* ---- spans ---- */

typedef struct verdict { /* what a span says of all tokens */
    bool *interior;
    uint32_t (*exits)[LONGEST]; /* by bytes before the rest: the labels, as bits */
} verdict;

static const uint8_t *text_of(uint32_t id, uint32_t *length) {
    size_t bytes;
    const uint8_t *text = glk_vocab_text(vocab, id, &bytes);
    *length = (uint32_t)bytes;
    return text;
}

/* Notes the tokens of a trie's nodes [begin, end), whose texts are rests that begin at `depth`. */
static void note_exits(const glk_trie *trie, uint32_t begin, uint32_t end, uint32_t depth,
                       uint32_t labels, verdict *out) {
    uint8_t path[LONGEST];
    for (uint32_t n = begin; n < end; n++) {
        uint32_t below = trie->nodes[n].depth - depth;
        path[below - 1] = trie->nodes[n].byte;
        for (uint32_t t = trie->nodes[n].first; t < trie->nodes[n + 1].first; t++) {
            uint32_t length;
            const uint8_t *text = text_of(trie->tokens[t], &length);
            CHECK(length > below && memcmp(text + length - below, path, below) == 0);
            CHECK_EQUAL(out->exits[trie->tokens[t]][length - below], 0);
            out->exits[trie->tokens[t]][length - below] = labels;
        }
    }
}

static void read_span(const glk_span *span, verdict *out) {
    uint32_t size = vocab->size;
    memset(out->interior, 0, size * sizeof *out->interior);
    memset(out->exits, 0, size * sizeof *out->exits);
    const glk_tokens *tokens = &span->interior;
    for (uint32_t id = 0; id < size; id++) {
        bool dense = tokens->dense != NULL && glk_mask_has(tokens->dense, id) &&
                     !glk_ids_have(tokens->minus, tokens->minus_count, id);
        out->interior[id] = span->base != GLK_NONE
                                ? glk_ids_have(span->kept, span->kept_count, id)
                                : dense || glk_ids_have(tokens->plus, tokens->plus_count, id);
    }
    for (uint32_t i = 0; i < span->exit_count; i++) {
        const glk_trie *trie = &span->exits[i].trie;
        CHECK_EQUAL(trie->nodes[1].first, trie->nodes[0].first); /* no rest is empty */
        note_exits(trie, 1, trie->count, 0, label_bits(span->exits[i].labels), out);
    }
    for (uint32_t i = 0; i < span->root_count; i++) {
        const glk_exit_root *root = &span->roots[i];
        const glk_trie_node *node = &vocab->trie.nodes[root->node];
        const glk_trie *trie = &vocab->trie;
        for (uint32_t n = root->node + 1; n < node->skip; n++) {
            for (uint32_t t = trie->nodes[n].first; t < trie->nodes[n + 1].first; t++) {
                CHECK_EQUAL(out->exits[trie->tokens[t]][node->depth], 0);
                out->exits[trie->tokens[t]][node->depth] = label_bits(root->labels);
            }
        }
    }
}

static void check_lists(const glk_span *span) {
    for (uint32_t i = 1; i < span->moved_count; i++) {
        CHECK(span->moved[i - 1] < span->moved[i]);
    }
    for (uint32_t i = 0; i < span->kept_count; i++) {
        CHECK(i == 0 || span->kept[i - 1] < span->kept[i]);
        CHECK(glk_ids_have(span->moved, span->moved_count, span->kept[i]));
    }
    for (uint32_t i = 0; span->base != GLK_NONE && i < span->exit_count; i++) {
        const glk_trie *trie = &span->exits[i].trie;
        for (uint32_t t = 0; t < trie->token_count; t++) {
            CHECK(glk_ids_have(span->moved, span->moved_count, trie->tokens[t]));
        }
    }
}

/* What the table says of a token, against what the span that decides about it says. */
static void check_token(uint32_t id, uint32_t at, const verdict *said) {
    uint32_t length, exits[LONGEST] = {0};
    const uint8_t *text = text_of(id, &length);
    bool text_counts = length > 0 && !glk_vocab_is_end(vocab, id);
    for (uint32_t i = 0; i < length && text_counts; i++) {
        text_counts = glk_bytes_has(&vocab->reachable, text[i]);
    }
    uint32_t now = text_counts ? at : (uint32_t)NOWHERE;
    for (uint32_t i = 0; i < length && now != NOWHERE; i++) {
        now = step_table(now, text[i]);
        if (now != NOWHERE && i + 1 < length) {
            exits[i + 1] = table.labels[now];
        }
    }
    CHECK_EQUAL(said->interior[id], now != NOWHERE);
    CHECK(now != NOWHERE || memcmp(exits, said->exits[id], sizeof exits) == 0);
}

static struct {
    uint32_t spans, bases, roots, dense, deepest;
} met; /* so that no kind of span goes untested */

static void check_span(uint32_t state, uint32_t at) {
    verdict said = {.interior = check_memory(vocab->size * sizeof *said.interior),
                    .exits = check_memory(vocab->size * sizeof *said.exits)};
    bool *decided = check_memory(vocab->size * sizeof *decided);
    for (uint32_t depth = 0, now = state; now != GLK_NONE; depth++) {
        const glk_span *span;
        CHECK_OK(glk_span_build(terminals, now, &steps, &span, NULL));
        CHECK(glk_state_span(terminals, now) == span);
        check_lists(span);
        read_span(span, &said);
        for (uint32_t id = 0; id < vocab->size; id++) {
            if (!decided[id] && (span->base == GLK_NONE ||
                                 glk_ids_have(span->moved, span->moved_count, id))) {
                check_token(id, at, &said);
                decided[id] = true;
            }
        }
        now = span->base;
        met.spans++;
        met.bases += span->base != GLK_NONE;
        met.roots += span->root_count > 0;
        met.dense += span->interior.dense != NULL;
        met.deepest = depth > met.deepest ? depth : met.deepest;
    }
    free(decided);
    free(said.interior);
    free(said.exits);
}

/* ---- whole expressions ---- */

/* Checks a state and those that a few steps lead to: `most` of them, chosen by chance. */
static void check_states(uint32_t state, uint32_t most) {
    struct {
        uint32_t state, at;
    } queue[400];
    uint32_t count = 1;
    CHECK(most <= 400);
    queue[0].state = state;
    queue[0].at = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = queue[i].at, one = queue[i].state, last = GLK_NONE;
        CHECK_EQUAL(label_bits(glk_state_at(terminals, one)->labels), table.labels[at]);
        check_row(one, at);
        check_span(one, at);
        check_worst(one, at);
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t next = step_table(at, (uint8_t)byte), target;
            if (next == NOWHERE) {
                continue;
            }
            CHECK_OK(glk_terminals_step(terminals, one, (uint8_t)byte, &steps, &target, NULL));
            CHECK_EQUAL(label_bits(glk_state_at(terminals, target)->labels), table.labels[next]);
            if (count < most && target != last && (i == 0 || check_random(2) == 0)) {
                queue[count].state = last = target;
                queue[count++].at = next;
            }
        }
    }
}

static uint32_t state_of(uint32_t expr) {
    uint32_t copy, state;
    glk_vec map;
    glk_vec_init(&map, NULL, sizeof(uint32_t));
    CHECK_OK(glk_expr_import(&terminals->exprs, &store, expr, &map, &copy, NULL));
    CHECK_OK(glk_terminals_state(terminals, copy, &state, NULL));
    glk_vec_free(&map);
    return state;
}

static void check_expr(uint32_t expr, uint32_t most) {
    if (fill_table(expr) && table.distance[0] != NOWHERE) {
        check_states(state_of(expr), most);
    }
}

static void open_all(void) {
    CHECK_OK(glk_exprs_init(&store, "test_bytes", 0, NULL, NULL));
    CHECK_OK(glk_terminals_acquire(vocab, &terminals, NULL));
    steps = UINT64_MAX;
}

static void close_all(void) {
    glk_terminals_release(terminals);
    glk_vocab_release(vocab);
    glk_exprs_destroy(&store);
}

/* Letters, sometimes many other bytes, long and repeated tokens, bytes without a token of their
 * own, ids without text, an end id with text. */
static void random_vocab(bool many_bytes, bool long_tokens) {
    const uint32_t ends[] = {0};
    add_word("a");
    add_bytes('a', check_random(4) == 0 ? 'b' : 'd');
    if (many_bytes) {
        add_bytes(0x20, 0x7E);
        add_bytes(0x80, 0xBF);
    }
    add_word("");
    add_random_tokens("abcd", 60, 8);
    add_random_tokens("aabA", 20, long_tokens ? 60 : 20);
    add_random_tokens("abz\x7F", 8, 5);
    vocab = make_vocab(ends, 1, 0);
}

static made random_terminal(const taste *like, uint32_t round) {
    made item = round % 4 == 0 ? random_tagged(&store, 3, like) : random_made(&store, 3, like);
    if (like->rest && round % 4 != 0) {
        item = random_wide(&store, item, like);
        item = check_random(2) == 0 ? random_wide(&store, item, like) : item;
    }
    return item;
}

static void random_terminals(void) {
    static const uint32_t most[] = {3, 8, 9, 15, 17, 50, 70};
    for (uint32_t round = 0; round < 840; round++) {
        taste like = {.checked = round % 2 == 0, .rest = round % 3 != 0, .most = most[round % 7]};
        random_vocab(round % 3 != 0, round % 5 < 2);
        open_all();
        check_expr(random_terminal(&like, round).expr, 10);
        check_expr(random_terminal(&like, round + 1).expr, 6); /* shares what it can */
        close_all();
    }
}

/* ---- expressions with a known shape ---- */

static made of_text(const char *text) {
    made result = {.all = {{0}}};
    CHECK_OK(glk_expr_literal(&store, (const uint8_t *)text, strlen(text), GLK_EXPR_EPSILON,
                              &result.expr, NULL));
    return result;
}

static made with_tag(made head, uint32_t label) {
    made tag = make_tag(&store, label);
    return make_cat(&store, &head, &tag);
}

/* Names beside all other strings, as object keys are. */
static made names_beside_the_rest(bool checked) {
    made wide = make_class(&store, 7, true), names[3] = {of_text("ab"), of_text("abba"),
                                                         of_text("cab")};
    made any = make_rep(&store, &wide, 0, checked ? GLK_UNBOUNDED : 30), result = make_never();
    for (uint32_t i = 0; i < 3; i++) {
        if (checked) {
            made other = make_not(&store, &names[i]);
            any = make_and(&store, &any, &other);
        }
    }
    made end = make_class(&store, 4, false);
    any = make_cat(&store, &any, &end);
    result = with_tag(any, 1);
    for (uint32_t i = 0; i < 3; i++) {
        made name = with_tag(names[i], 2);
        result = make_or(&store, &result, &name);
    }
    return result;
}

static void names_and_all_others(void) {
    for (uint32_t round = 0; round < 6; round++) {
        random_vocab(true, round % 2 == 0);
        open_all();
        check_expr(names_beside_the_rest(round < 3).expr, 60);
        close_all();
    }
}

/* x{lo,hi} y with x a letter or two, around every bound that matters, with and without "not". */
static void counts_near_every_bound(void) {
    static const uint32_t bounds[][2] = {{0, 7},   {0, 8},   {0, 9},  {2, 12}, {5, 9},
                                         {4, 16},  {0, 15},  {0, 17}, {9, 9},  {20, 20},
                                         {30, 50}, {0, 48},  {1, 49}, {5, 70}, {64, GLK_UNBOUNDED},
                                         {8, GLK_UNBOUNDED}};
    for (uint32_t i = 0; i < 4 * sizeof bounds / sizeof *bounds; i++) {
        const uint32_t *bound = bounds[i / 4];
        random_vocab(i % 2 == 0, true);
        open_all();
        made x = make_class(&store, i % 3 == 0 ? 1 : 3, i % 2 == 0), y = of_text("bb");
        made many = make_rep(&store, &x, bound[0], bound[1]);
        made item = make_cat(&store, &many, &y);
        if (i % 4 >= 2) {
            made ab = of_text("ab"), any = make_class(&store, 7, true);
            any = make_rep(&store, &any, 0, GLK_UNBOUNDED);
            ab = make_cat(&store, &ab, &any);
            ab = make_not(&store, &ab);
            item = make_and(&store, &item, &ab);
        }
        check_expr(item.expr, 30);
        close_all();
    }
}

/* Texts that must end in a certain way before a count is used up: near its bound they are dead,
 * though the state without the bound lives on. */
static void counts_that_leave_room_for_an_end(void) {
    static const char *const ends[] = {"c", "cccc", "bbbbbbbbb"};
    for (uint32_t i = 0; i < 12; i++) {
        random_vocab(i % 2 == 0, true);
        open_all();
        made x = make_class(&store, 7, true), end = of_text(ends[i % 3]);
        made many = make_rep(&store, &x, 0, 12 + 7 * (i / 3));
        made any = make_rep(&store, &x, 0, GLK_UNBOUNDED);
        any = make_cat(&store, &any, &end);
        check_expr(make_and(&store, &many, &any).expr, 60);
        close_all();
    }
}

/* Counts that start anew in a loop: a state's base leads back to that very state. */
static void counts_in_a_loop(void) {
    random_vocab(true, true);
    open_all();
    made x = make_class(&store, 3, true), y = make_class(&store, 4, false), ab = of_text("ab");
    made many = make_rep(&store, &x, 6, 60), item = make_cat(&store, &many, &y);
    ab = make_not(&store, &ab);
    item = make_rep(&store, &item, 0, GLK_UNBOUNDED);
    item = make_and(&store, &item, &ab);
    check_expr(item.expr, 60);
    close_all();
}

/* So many states before the end that the survey gives up. */
static void ends_too_far_to_survey(void) {
    random_vocab(true, true);
    open_all();
    made x = make_class(&store, 3, false), ab = of_text("ab"), few;
    made item = make_rep(&store, &x, 1800, GLK_UNBOUNDED), c = make_class(&store, 4, false);
    few = make_rep(&store, &c, 0, 60);
    ab = make_not(&store, &ab);
    item = make_cat(&store, &item, &few);
    item = make_and(&store, &item, &ab);
    check_expr(item.expr, 5);
    close_all();
}

/* Very many tokens: ends behind which nearly all of them go on, and bases from which nearly all
 * differ. */
static void more_rests_than_can_be_merged(void) {
    for (uint32_t length = 1; length <= 7; length++) {
        add_all_strings("abcd", length);
    }
    add_bytes(0x20, 0x7E);
    add_bytes(0x80, 0xBF);
    vocab = make_vocab(NULL, 0, 0);
    open_all();
    made a = make_class(&store, 1, false), wide = make_class(&store, 6, true);
    made spaces = make_rep(&store, &a, 0, 3), any = make_rep(&store, &wide, 0, GLK_UNBOUNDED);
    check_expr(spaces.expr, 3);
    made branch = with_tag(make_cat(&store, &a, &any), 1), other = with_tag(any, 2);
    check_expr(make_or(&store, &branch, &other).expr, 4); /* half the tokens begin otherwise */
    made every = make_class(&store, 7, true);
    every = make_rep(&store, &every, 0, 9);
    made not_a = make_cat(&store, &a, &every);
    not_a = make_not(&store, &not_a);
    check_expr(make_and(&store, &every, &not_a).expr, 4);
    CHECK(met.roots > 0);
    close_all();
}

/* ---- budgets and memory ---- */

static const glk_span *span_of(uint32_t state) {
    const glk_span *span;
    CHECK_OK(glk_span_build(terminals, state, &steps, &span, NULL));
    return span;
}

static void steps_are_limited(void) {
    glk_status status = GLK_ERR_LIMIT;
    uint32_t refused = 0;
    random_vocab(true, true);
    open_all();
    uint32_t state = state_of(names_beside_the_rest(true).expr);
    for (uint64_t allowed = 0; status != GLK_OK; allowed++) {
        const glk_span *span;
        glk_error err = {.code = GLK_OK};
        uint64_t left = allowed;
        status = glk_span_build(terminals, state, &left, &span, &err);
        CHECK(status == GLK_OK || status == GLK_ERR_LIMIT);
        CHECK(status == GLK_OK || strcmp(err.budget, "steps") == 0);
        refused += status != GLK_OK;
    }
    CHECK(refused > 5);
    CHECK(span_of(state) != NULL);
    CHECK(fill_table(names_beside_the_rest(true).expr));
    check_states(state, 30);
    close_all();
}

static void bytes_are_limited(void) {
    glk_error err = {.code = GLK_OK};
    random_vocab(true, true);
    vocab->terminals_budget = 1 << 20;
    open_all();
    uint32_t expr = names_beside_the_rest(false).expr, state = state_of(expr);
    const glk_span *span;
    terminals->account.limit = terminals->account.used;
    glk_status status = glk_span_build(terminals, state, &steps, &span, &err);
    if (status != GLK_OK) { /* else it fitted into the blocks there were */
        CHECK_EQUAL(status, GLK_ERR_LIMIT);
        CHECK(strcmp(err.budget, "vocabulary_bytes") == 0);
    }
    terminals->account.limit = 1 << 22;
    CHECK(fill_table(expr));
    check_states(state, 20);
    /* A registry that is half full takes no new programs; the old one goes with its users. */
    glk_terminals *old = terminals, *next;
    CHECK_OK(glk_terminals_acquire(vocab, &next, NULL));
    CHECK_EQUAL(next == old, glk_terminals_bytes(old) <= vocab->terminals_budget / 2);
    glk_terminals_release(next);
    vocab->terminals_budget = 2 * glk_terminals_bytes(old) - 2;
    CHECK_OK(glk_terminals_acquire(vocab, &next, NULL));
    CHECK(next != old);
    check_states(state, 5);
    glk_terminals_release(next);
    close_all();
}

/* A tagged copy is the copy, then the tag: the first time, again, and from another store, which may
 * have other expressions of the same number. */
static void tagged_copies(void) {
    for (uint32_t round = 0; round < 300; round++) {
        taste like = {.checked = round % 2 == 0, .rest = round % 3 == 0, .most = 9};
        random_vocab(true, false);
        if (round % 4 < 2) { /* nothing is cut away */
            add_bytes(0, 0xFF);
            glk_vocab_release(vocab);
            vocab = make_vocab(NULL, 0, 0);
        }
        open_all();
        glk_exprs *stores[2];
        uint32_t items[2], copy, tag, tagged, first;
        bool empty, found;
        for (uint32_t i = 0; i < 6; i++) {
            if (i < 2) {
                CHECK_OK(glk_exprs_new(0, &stores[i], NULL));
                items[i] = random_made(stores[i], 3, &like).expr;
            }
            uint32_t item = items[i % 2], label = i / 4;
            CHECK_OK(glk_terminals_import_is_empty(terminals, stores[i % 2], item, &steps, &empty,
                                                   NULL));
            CHECK_OK(glk_terminals_import_tagged(terminals, stores[i % 2], item, label, &first,
                                                 NULL));
            CHECK_OK(glk_terminals_import_tagged(terminals, stores[i % 2], item, label, &tagged,
                                                 NULL));
            CHECK_EQUAL(tagged, first);
            CHECK_OK(glk_terminals_import(terminals, stores[i % 2], item, &copy, NULL));
            CHECK_OK(glk_expr_is_empty(&terminals->exprs, copy, &steps, &found, NULL));
            CHECK_EQUAL(empty, found);
            CHECK_OK(glk_expr_tag(&terminals->exprs, label, &tag, NULL));
            CHECK_OK(glk_expr_cat(&terminals->exprs, copy, tag, &tagged, NULL));
            CHECK_EQUAL(first, tagged);
            CHECK_EQUAL(terminals->exprs.scratch.count, 0);
        }
        glk_exprs_release(stores[0]);
        glk_exprs_release(stores[1]);
        close_all();
    }
}

static glk_status use_terminals(uint32_t expr, glk_error *err) {
    uint32_t copy, state, worst;
    const glk_span *span;
    if ((glk_expr_at(&store, expr)->flags & GLK_TAGGED) == 0) {
        GLK_TRY(glk_terminals_import_tagged(terminals, &store, expr, 3, &copy, err));
    }
    GLK_TRY(glk_terminals_import(terminals, &store, expr, &copy, err));
    GLK_TRY(glk_terminals_state(terminals, copy, &state, err));
    GLK_TRY(glk_span_build(terminals, state, &steps, &span, err));
    return glk_terminals_worst(terminals, state, &steps, &worst, err);
}

static glk_status attempt_terminals(void *context, glk_error *err) {
    uint32_t expr = *(uint32_t *)context;
    glk_terminals_release(vocab->terminals);
    vocab->terminals = NULL;
    GLK_TRY(glk_terminals_acquire(vocab, &terminals, err));
    glk_status status = use_terminals(expr, err);
    glk_alloc_fail_after(-1);
    check_states(state_of(expr), 3); /* a failure leaves nothing behind */
    glk_terminals_release(terminals);
    return status;
}

static void failing_allocations_are_clean(void) {
    for (uint32_t round = 0; round < 3; round++) {
        random_vocab(true, true);
        open_all();
        glk_terminals_release(terminals);
        made x = make_class(&store, 3, true), end = of_text("c");
        made many = make_rep(&store, &x, 2, 60), item = make_cat(&store, &many, &end);
        made ab = of_text("ab");
        ab = make_not(&store, &ab);
        item = round == 1 ? make_and(&store, &item, &ab) : item;
        uint32_t expr = round < 2 ? item.expr : names_beside_the_rest(true).expr;
        atomic_fetch_add(&store.references, 1); /* it is no heap object: it must not be freed */
        CHECK(fill_table(expr));
        CHECK(check_failing_allocations(attempt_terminals, &expr) >= 20);
        glk_vocab_release(vocab);
        glk_exprs_destroy(&store);
    }
}

int main(void) {
    names_and_all_others();
    counts_near_every_bound();
    random_terminals();
    counts_that_leave_room_for_an_end();
    counts_in_a_loop();
    ends_too_far_to_survey();
    more_rests_than_can_be_merged();
    CHECK(met.bases > 1000 && met.dense > 100 && met.deepest > 1);
    tagged_copies();
    steps_are_limited();
    bytes_are_limited();
    failing_allocations_are_clean();
    return check_done();
}
