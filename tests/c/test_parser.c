/* test_parser.c -- the automaton against a chart recogniser, and its masks against each other.
 *
 * For every grammar: random sentences are accepted, by bytes and by tokens that the mask allows;
 * whatever the masks allow can be completed, and is then a sentence; at every prefix that a few
 * tokens lead to, the fast mask, the walk, and accepting token by token agree, and the text may
 * end exactly if it is a sentence. */
#include "containers.h"
#include "machines.h"

enum { MASK_WORDS = 1024, MOST_IDS = 32 * MASK_WORDS };

static const glk_limits limits = {.program_bytes = 1 << 26, .steps = 10000000};
static glk_grammar *grammar;
static glk_vocab *vocab;
static glk_program *program;

static struct {
    uint32_t programs, prefixes, sentences, ends, lost;
} met;

/* ---- roads ---- */

static bool take(glk_matcher *matcher, uint32_t token) {
    bool good;
    CHECK_OK(glk_matcher_accept_token(matcher, token, &good, &err));
    return good;
}

static bool ends_here(glk_matcher *matcher) {
    bool good;
    CHECK_OK(glk_matcher_can_end(matcher, &good, &err));
    return good;
}

static void add_symbols(symbols *text, uint32_t token) {
    size_t length;
    const uint8_t *bytes = glk_vocab_text(vocab, token, &length);
    for (size_t i = 0; i < length; i++) {
        CHECK(put_symbol(text, bytes[i]));
    }
    if (length == 0) {
        CHECK(put_symbol(text, SPECIAL + token));
    }
}

/* All roads to the mask after `text`; returns it in `mask`. */
static void check_masks(glk_matcher *matcher, const symbols *text, uint32_t *mask) {
    size_t count = glk_mask_words(vocab->size), bytes = count * sizeof *mask;
    uint32_t *walked = check_memory(bytes);
    CHECK_OK(glk_matcher_fill(matcher, mask, count, &err));
    CHECK_OK(glk_matcher_fill_by_walk(matcher, walked, count, &err));
    CHECK(memcmp(mask, walked, bytes) == 0);
    for (uint32_t token = 0; token < vocab->size; token++) {
        bool allowed = glk_mask_has(mask, token);
        CHECK_EQUAL(take(matcher, token), allowed);
        CHECK_OK(glk_matcher_rollback(matcher, allowed, &err));
    }
    bool sentence = recognises(grammar, text);
    CHECK_EQUAL(ends_here(matcher), sentence);
    CHECK_EQUAL(glk_mask_has(mask, END), sentence);
    free(walked);
    met.prefixes++;
}

/* One random way on, byte by byte: never a dead end; true if it leads to a sentence. */
static bool find_end(glk_matcher *matcher, symbols *text) {
    uint32_t mask[MASK_WORDS], allowed[200];
    for (uint32_t step = 0; step < 300; step++) {
        uint32_t count = 0;
        if (ends_here(matcher)) {
            return true;
        }
        CHECK_OK(glk_matcher_fill(matcher, mask, MASK_WORDS, &err));
        for (uint32_t token = 1; token < SPECIALS + 0x5F; token++) {
            if (glk_mask_has(mask, token)) {
                allowed[count++] = token;
            }
        }
        CHECK(count > 0); /* every byte has a token, so a dead end would show here */
        /* Brackets that close are the last bytes there are: a walk that likes them ends sooner. */
        uint32_t token = allowed[check_random(2) == 0 ? count - 1 : check_random(count)];
        CHECK(take(matcher, token));
        if (text->count < MOST_SYMBOLS) {
            add_symbols(text, token);
        }
    }
    return false;
}

/* Some way on leads to an end, and the whole is a sentence.  In a few grammars chance does not find
 * it: rules that branch out more than they end. */
static void check_completion(const glk_matcher *from, const symbols *before) {
    bool done = false;
    for (uint32_t tries = 0; tries < 60 && !done; tries++) {
        glk_matcher *matcher;
        symbols text = *before;
        CHECK_OK(glk_matcher_fork(from, &matcher, &err));
        done = find_end(matcher, &text);
        CHECK(!done || text.count == MOST_SYMBOLS || recognises(grammar, &text));
        glk_matcher_release(matcher);
    }
    met.ends++;
    met.lost += !done;
}

/* Visits prefixes by random tokens. */
static void wander(uint32_t walks, uint32_t depth) {
    uint32_t mask[MASK_WORDS];
    CHECK(vocab->size <= MOST_IDS);
    for (uint32_t walk = 0; walk < walks; walk++) {
        glk_matcher *matcher;
        symbols text = {.count = 0};
        CHECK_OK(glk_matcher_new(program, &matcher, &err));
        for (uint32_t step = 0; step < depth; step++) {
            static uint32_t allowed[MOST_IDS];
            uint32_t count = 0;
            check_masks(matcher, &text, mask);
            for (uint32_t token = 1; token < vocab->size; token++) {
                size_t length = 1;
                (void)glk_vocab_text(vocab, token, &length);
                if (glk_mask_has(mask, token) && text.count + length + 12 < MOST_SYMBOLS) {
                    allowed[count++] = token;
                }
            }
            if (count == 0) {
                break;
            }
            uint32_t token = allowed[check_random(count)];
            CHECK(take(matcher, token));
            add_symbols(&text, token);
        }
        if (walk % 2 == 0) {
            check_completion(matcher, &text);
        }
        glk_matcher_release(matcher);
    }
}

/* Takes a sentence by tokens that fit, chosen by chance. */
static void check_sentence(const symbols *text) {
    glk_matcher *matcher;
    CHECK_OK(glk_matcher_new(program, &matcher, &err));
    for (uint32_t at = 0; at < text->count;) {
        static uint32_t fitting[MOST_IDS], lengths[MOST_IDS];
        uint32_t count = 0, mask[MASK_WORDS];
        for (uint32_t token = 1; token < vocab->size; token++) {
            symbols one = {.count = 0};
            add_symbols(&one, token);
            if (at + one.count <= text->count &&
                memcmp(one.item, text->item + at, one.count * sizeof *one.item) == 0) {
                fitting[count] = token;
                lengths[count++] = one.count;
            }
        }
        CHECK(count > 0);
        CHECK_OK(glk_matcher_fill(matcher, mask, MASK_WORDS, &err));
        for (uint32_t i = 0; i < count; i++) {
            CHECK(glk_mask_has(mask, fitting[i]));
        }
        uint32_t chosen = check_random(count);
        CHECK(take(matcher, fitting[chosen]));
        at += lengths[chosen];
    }
    CHECK(ends_here(matcher));
    CHECK(take(matcher, END));
    glk_matcher_release(matcher);
    met.sentences++;
}

/* ---- a grammar as a whole ---- */

static void open_grammar(void) {
    CHECK_OK(glk_exprs_new(0, &source, &err));
    CHECK_OK(glk_grammar_new(source, &grammar, &err));
}

static void close_grammar(void) {
    glk_grammar_release(grammar);
    glk_exprs_release(source);
}

static void check_grammar(uint32_t root, uint32_t longest, uint32_t walks, uint32_t depth) {
    CHECK_OK(glk_grammar_set_root(grammar, root, &err));
    vocab = vocab_of(grammar, 40, longest, 0);
    glk_status status = glk_program_new(vocab, grammar, &limits, &program, &err);
    if (status == GLK_OK) {
        for (uint32_t i = 0; i < 8; i++) {
            symbols text;
            if (random_sentence(grammar, &text)) {
                check_sentence(&text);
            }
        }
        wander(walks, depth);
        glk_program_release(program);
        met.programs++;
    } else {
        symbols text;
        CHECK_EQUAL(status, GLK_ERR_UNSATISFIABLE);
        CHECK(!random_sentence(grammar, &text));
    }
    glk_vocab_release(vocab);
    close_grammar();
}

/* All strings of up to seven letters over {a, b}: a sentence if and only if accepted. */
static void check_all_strings(void) {
    for (uint32_t length = 0; length <= 7; length++) {
        for (uint32_t n = 0; n < 1u << length; n++) {
            symbols text = {.count = length};
            uint8_t bytes[8];
            bool good;
            glk_matcher *matcher;
            for (uint32_t i = 0; i < length; i++) {
                bytes[i] = (n >> i & 1u) != 0 ? 'b' : 'a';
                text.item[i] = bytes[i];
            }
            CHECK_OK(glk_matcher_new(program, &matcher, &err));
            CHECK_OK(glk_matcher_accept_bytes(matcher, bytes, length, &good, &err));
            CHECK_EQUAL(good && ends_here(matcher), recognises(grammar, &text));
            glk_matcher_release(matcher);
        }
    }
}

/* ---- expressions for grammars ---- */

static uint32_t class_of(const char *letters) {
    glk_bytes set = {{0}};
    uint32_t id;
    for (; *letters != 0; letters++) {
        glk_bytes_add(&set, (uint8_t)*letters);
    }
    CHECK_OK(glk_expr_class(source, &set, &id, &err));
    return id;
}

static uint32_t repeated(uint32_t expr, uint32_t low, uint32_t high) {
    uint32_t id;
    CHECK_OK(glk_expr_rep(source, expr, low, high, &id, &err));
    return id;
}

/* Strings over a, b of up to `most` letters, but not `text`. */
static uint32_t all_but(const char *text, uint32_t most) {
    uint32_t any = repeated(class_of("ab"), 0, most), not_text, id;
    CHECK_OK(glk_expr_not(source, literal(text), &not_text, &err));
    CHECK_OK(glk_expr_and(source, (uint32_t[]){any, not_text}, 2, &id, &err));
    return id;
}

static uint32_t random_expr(void) {
    switch (check_random(9)) {
    case 0:
    case 1:
        return literal("a");
    case 2:
        return literal("b");
    case 3:
        return literal("ab");
    case 4:
        return repeated(class_of("ab"), 0, 1 + check_random(30));
    case 5:
        return all_but("ab", 2 + check_random(20));
    case 6:
        return repeated(literal("b"), check_random(3), GLK_UNBOUNDED);
    case 7:
        return repeated(literal("a"), 2, 20);
    default:
        return class_of("ab");
    }
}

static uint32_t quoted(const char *name) {
    char key[20];
    (void)snprintf(key, sizeof key, "\"%s\"", name);
    return literal(key);
}

/* A quoted string over a, b of at least three letters, which no name here has. */
static uint32_t free_key(void) {
    uint32_t quote = literal("\""), id;
    CHECK_OK(glk_expr_cat(source, repeated(class_of("ab"), 3, GLK_UNBOUNDED), quote, &id, &err));
    CHECK_OK(glk_expr_cat(source, quote, id, &id, &err));
    return id;
}

static uint32_t object(const plain_member *list, size_t count, bool with_free, uint32_t free_value,
                       bool spaces, plain_order order) {
    uint32_t id, gap = spaces ? repeated(literal(" "), 0, 2) : (uint32_t)GLK_EXPR_EPSILON;
    plain_member other = {.key = free_key(), .value = free_value};
    id = plain_object(grammar, gap, list, count, &other, with_free ? 1 : 0, order);
    return id;
}

static uint32_t random_object(const uint32_t *pool, uint32_t count) {
    static const char *names[] = {"a", "b", "ab", "ba", ""};
    plain_member list[4];
    uint32_t members_count = check_random(4);
    for (uint32_t i = 0; i < members_count; i++) {
        list[i] = (plain_member){.key = quoted(names[i]),
                               .value = pool[check_random(count)],
                               .required = check_random(2)};
    }
    return object(list, members_count, check_random(2) == 0, pool[check_random(count)],
                  check_random(3) == 0, check_random(2) == 0 ? ANY_ORDER : DECLARED_ORDER);
}

static uint32_t some_spaces(void) {
    return check_random(3) == 0 ? repeated(literal(" "), 0, 1 + check_random(2))
                                : (uint32_t)GLK_EXPR_EPSILON;
}

/* A condition on a random class, or on all of them. */
static uint32_t random_atom(draft *made) {
    uint32_t classes = made->shape.named + made->shape.free, pairs[4], kind = check_random(2);
    for (uint32_t i = 0; i < 4; i += 2) {
        bool every = classes == 0 || check_random(4) == 0;
        pairs[i] = every ? GLK_EVERY : check_random(classes);
        pairs[i + 1] = every || check_random(3) == 0 ? GLK_PRESENCE : check_random(2);
    }
    return draft_atom(made, kind, check_random(kind == GLK_F_AT_LEAST ? 3 : 4), pairs,
                      2 + 2 * check_random(2));
}

/* `most`: of members, so that the recogniser need not look at many. */
static void random_formula(draft *made, uint32_t most) {
    uint32_t parts[3], node = random_atom(made);
    for (uint32_t joins = check_random(3); joins > 0; joins--) {
        parts[0] = node;
        parts[1] = random_atom(made);
        parts[2] = random_atom(made);
        node = draft_join(made, GLK_F_AND + check_random(2), parts, 2 + check_random(2));
    }
    parts[0] = node;
    parts[1] = draft_atom(made, GLK_F_ALL_BUT, most, LIST(GLK_EVERY, GLK_PRESENCE));
    (void)draft_join(made, GLK_F_AND, parts, 2);
}

/* Each value of the pool satisfies some of two conditions; for each set of conditions, by chance, the
 * choice of the values that satisfy them. */
static void random_choices(draft *made, const uint32_t *pool, uint32_t count) {
    uint32_t holding[3], values[3], wanted = 1 + check_random(15);
    CHECK(count <= 3);
    for (uint32_t i = 0; i < count; i++) {
        holding[i] = check_random(4);
    }
    for (uint32_t literals = 0; literals < 4; literals++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < count; i++) {
            if ((holding[i] & literals) == literals) {
                values[found++] = pool[i];
            }
        }
        if (found > 0 && (wanted >> literals & 1u) != 0) {
            draft_choice(made, choice(grammar, values, found), literals);
        }
    }
}

/* With GLK_UNIQUE, different texts of the pool must be different JSON values. */
static uint32_t random_container(const uint32_t *pool, uint32_t count, bool array, uint32_t flags) {
    static const char *names[] = {"a", "b", "ab"};
    draft made = draft_of((array ? (uint32_t)GLK_ARRAY : 0) | flags, 0, some_spaces());
    uint32_t *gaps[] = {&made.shape.open, &made.shape.before_comma, &made.shape.after_colon};
    for (uint32_t i = 0; i < 3 && check_random(3) == 0; i++) {
        *gaps[i] = some_spaces();
    }
    made.shape.flags |= check_random(4) == 0 ? (uint32_t)GLK_BARE : 0;
    uint32_t named = check_random(4);
    for (uint32_t i = 0; i < named; i++) {
        draft_named(&made, array ? 0 : quoted(names[i]), !array && check_random(3) == 0);
        random_choices(&made, pool, count);
    }
    made.shape.ordered = check_random(named + 1);
    if (check_random(4) > 0) {
        draft_free(&made, array ? 0 : free_key());
        random_choices(&made, pool, count);
    }
    if (array || check_random(5) > 0) {
        random_formula(&made, array ? 2 + check_random(2) : 5);
    }
    return draft_done(&made, grammar);
}

static uint32_t random_switch(const uint32_t *pool, uint32_t count) {
    uint32_t branches[3], labels[3] = {1, 2, 3}, nodes[3], expr, id;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t tag;
        CHECK_OK(glk_expr_tag(source, 1 + check_random(3), &tag, &err));
        CHECK_OK(glk_expr_cat(source, random_expr(), tag, &branches[i], &err));
        nodes[i] = pool[check_random(count)];
    }
    CHECK_OK(glk_expr_or(source, branches, 1 + check_random(3), &expr, &err));
    CHECK_OK(glk_grammar_switch(grammar, expr, labels, nodes, 3, &id, &err));
    return id;
}

/* ---- random grammars ---- */

static uint32_t random_node(const uint32_t *pool, uint32_t count, bool texts_only) {
    static const uint32_t highs[] = {1, 2, 4, 9, 40, GLK_UNBOUNDED};
    uint32_t items[3], arity = 2 + check_random(2), kind = check_random(texts_only ? 12 : 15), id;
    for (uint32_t i = 0; i < arity; i++) {
        items[i] = pool[check_random(count)];
    }
    if (kind < 5) {
        return sequence(grammar, items, arity);
    }
    if (kind < 8) {
        return choice(grammar, items, arity);
    }
    if (kind < 11) {
        uint32_t high = highs[check_random(6)];
        uint32_t low = check_random(4) == 0 ? check_random(high < 12 ? high + 1 : 12)
                                            : check_random(2);
        return repetition(grammar, items[0], low, high);
    }
    if (kind == 11) {
        return random_switch(pool, count);
    }
    if (kind < 14) {
        return check_random(2) == 0 ? random_object(pool, count)
                                    : random_container(pool + check_random(count - 2), 3,
                                                       check_random(2) == 0, 0);
    }
    CHECK_OK(glk_grammar_tokens(grammar, (uint32_t[]){1, 1 + check_random(3)}, 2, &id, &err));
    return id;
}

static uint32_t random_root(bool texts_only) {
    uint32_t pool[40], count = 0, rules = 1 + check_random(3), extra = 3 + check_random(8);
    for (uint32_t i = 0; i < rules; i++) {
        pool[count++] = rule(grammar);
    }
    for (uint32_t i = 0; i < 3; i++) {
        pool[count++] = terminal(grammar, random_expr());
    }
    pool[count++] = check_random(2) == 0 ? (uint32_t)GLK_NODE_EMPTY : pool[rules];
    for (uint32_t i = 0; i < extra; i++) {
        pool[count] = random_node(pool, count, texts_only);
        count++;
    }
    for (uint32_t i = 0; i < rules; i++) {
        uint32_t body = pool[rules + check_random(count - rules)];
        CHECK_OK(glk_grammar_define(grammar, pool[i], body, &err));
    }
    return pool[check_random(3) == 0 ? 0 : count - 1];
}

static void random_grammars(uint32_t rounds) {
    for (uint32_t round = 0; round < rounds; round++) {
        open_grammar();
        check_grammar(random_root(round % 2 == 0), 2 + check_random(12), 4, 6);
    }
}

static void random_grammars_on_all_strings(uint32_t rounds) {
    for (uint32_t round = 0; round < rounds; round++) {
        open_grammar();
        CHECK_OK(glk_grammar_set_root(grammar, random_root(true), &err));
        vocab = vocab_of(grammar, 10, 5, 0);
        if (glk_program_new(vocab, grammar, &limits, &program, &err) == GLK_OK) {
            check_all_strings();
            glk_program_release(program);
        }
        glk_vocab_release(vocab);
        close_grammar();
    }
}

/* ---- grammars with a known shape ---- */

static void objects_in_both_orders(void) {
    for (uint32_t round = 0; round < 16; round++) {
        open_grammar();
        uint32_t a = terminal(grammar, repeated(literal("a"), 1, 3)), b = text(grammar, "b");
        uint32_t inner = object((plain_member[]){{quoted("b"), b, 1}}, 1, round % 2 == 0, a,
                                round % 3 == 0, DECLARED_ORDER);
        plain_member list[] = {{quoted("a"), a, round & 1u},
                             {quoted("ab"), inner, round >> 1 & 1u},
                             {quoted("b"), choice(grammar, LIST(a, b)), round >> 2 & 1u}};
        uint32_t root = object(list, 3, (round >> 3 & 1u) != 0, b, round % 5 == 0,
                               round % 2 == 0 ? ANY_ORDER : DECLARED_ORDER);
        check_grammar(root, 12, 8, 8);
    }
}

static void containers(uint32_t rounds) {
    for (uint32_t round = 0; round < rounds; round++) {
        open_grammar();
        uint32_t pool[] = {terminal(grammar, repeated(literal("a"), 1, 3)), text(grammar, "b"), 0};
        pool[2] = random_container(pool, 2, round % 3 == 0, 0);
        check_grammar(random_container(pool, 3, round % 2 == 0, 0), 8, 6, 8);
    }
}

/* Items and keys that must not come twice: endlessly many, or one more than may come. */
static void different_members(uint32_t rounds) {
    static const uint32_t hints[] = {0, GLK_ENDLESS, GLK_TIGHT};
    for (uint32_t round = 0; round < rounds; round++) {
        open_grammar();
        uint32_t endless = terminal(grammar, repeated(class_of("12"), 1, GLK_UNBOUNDED));
        uint32_t pool[] = {endless, round % 3 == 2 ? terminal(grammar, class_of("1234")) : endless};
        bool array = round % 2 == 0;
        check_grammar(random_container(pool + (round % 3 == 2), 1, array,
                                       GLK_UNIQUE | (array ? hints[round % 3] : GLK_ENDLESS)),
                      8, 6, 8);
    }
}

static void counts_near_and_far(void) {
    static const uint32_t bounds[][2] = {{0, 3}, {2, 5}, {3, 3}, {0, 40}, {30, 50},
                                         {1, GLK_UNBOUNDED}, {12, GLK_UNBOUNDED}, {0, 1000000}};
    for (uint32_t i = 0; i < 8 * 2; i++) {
        open_grammar();
        const uint32_t *bound = bounds[i % 8], *other = bounds[(i * 3 + 1) % 5];
        uint32_t item = choice(grammar, LIST(text(grammar, "a"), text(grammar, "ab")));
        uint32_t many = repetition(grammar, item, bound[0], bound[1]);
        if (i >= 8) {
            many = sequence(grammar, LIST(text(grammar, "("), many, text(grammar, ")")));
            many = repetition(grammar, many, other[0] % 4, other[1]);
        }
        uint32_t root = sequence(grammar, LIST(many, text(grammar, "b")));
        check_grammar(root, i % 2 == 0 ? 3 : 14, 5, 14);
    }
}

/* Tokens that are runs of rounds, at every count: "far from a bound" must not be said too soon. */
static void counts_one_by_one(void) {
    static const uint32_t bounds[][2] = {{0, 9}, {0, 25}, {7, 24}, {20, 26}, {12, GLK_UNBOUNDED}};
    static const uint32_t ends[] = {END};
    for (uint32_t i = 0; i < 5 * 2; i++) {
        const uint32_t *bound = bounds[i % 5];
        char run[12] = "aaaaaaaaaa";
        glk_matcher *matcher;
        uint32_t mask[MASK_WORDS];
        open_grammar();
        uint32_t many = repetition(grammar, text(grammar, "a"), bound[0], bound[1]);
        uint32_t once = sequence(grammar, LIST(many, text(grammar, "b")));
        uint32_t root = i < 5 ? once : repetition(grammar, once, 1, 20);
        CHECK_OK(glk_grammar_set_root(grammar, root, &err));
        add_word("<end>");
        for (uint32_t id = 1; id < SPECIALS; id++) {
            add_word("");
        }
        add_word("b");
        for (uint32_t length = 1; length <= 8; length++) {
            add_token(run, length);
            run[length] = 'b';
            add_token(run, length + 1);
            run[length] = 'a';
        }
        vocab = make_vocab(ends, 1, 0);
        CHECK_OK(glk_program_new(vocab, grammar, &limits, &program, &err));
        CHECK_OK(glk_matcher_new(program, &matcher, &err));
        symbols text = {.count = 0};
        do {
            check_masks(matcher, &text, mask);
        } while (text.count < 40 && take(matcher, SPECIALS + 1) && put_symbol(&text, 'a'));
        glk_matcher_release(matcher);
        glk_program_release(program);
        glk_vocab_release(vocab);
        close_grammar();
    }
}

static void ambiguous_grammars(void) {
    for (uint32_t round = 0; round < 4; round++) {
        open_grammar();
        uint32_t s = rule(grammar), a = text(grammar, "a"), b = text(grammar, "b");
        uint32_t ss = sequence(grammar, LIST(s, s)), asb = sequence(grammar, LIST(a, s, b));
        uint32_t sss = sequence(grammar, LIST(s, s, s)), empty = GLK_NODE_EMPTY;
        uint32_t body = round == 0   ? choice(grammar, LIST(ss, a))
                        : round == 1 ? choice(grammar, LIST(sss, ss, a, empty))
                        : round == 2 ? choice(grammar, LIST(asb, ss, empty))
                                     : choice(grammar, LIST(asb, sequence(grammar, LIST(a, s)), b));
        CHECK_OK(glk_grammar_define(grammar, s, body, &err));
        check_grammar(s, 8, 8, 10);
    }
}

static void tokens_beside_text(void) {
    open_grammar();
    uint32_t one, two, a = terminal(grammar, repeated(class_of("ab"), 0, 4));
    CHECK_OK(glk_grammar_tokens(grammar, (uint32_t[]){1}, 1, &one, &err));
    CHECK_OK(glk_grammar_tokens(grammar, (uint32_t[]){2, 3, 1}, 3, &two, &err));
    uint32_t item = choice(grammar, LIST(sequence(grammar, LIST(one, a)),
                                         sequence(grammar, LIST(a, two)), one));
    check_grammar(repetition(grammar, item, 1, 6), 4, 10, 10);
}

/* ---- a large vocabulary ---- */

static uint32_t all_bytes_but_quotes(void) {
    glk_bytes set = {{0}};
    uint32_t id;
    glk_bytes_add_range(&set, 0x20, 0x7E);
    set.word['"' >> 6] &= ~((uint64_t)1 << ('"' & 63));
    CHECK_OK(glk_expr_class(source, &set, &id, &err));
    return id;
}

/* A quoted text of up to `most` bytes, which is none of the names. */
static uint32_t wide_string(uint32_t most, const char *const *names) {
    uint32_t text = repeated(all_bytes_but_quotes(), 0, most), quote = literal("\""), id, name;
    for (; names != NULL && *names != NULL; names++) {
        CHECK_OK(glk_expr_not(source, literal(*names), &name, &err));
        CHECK_OK(glk_expr_and(source, (uint32_t[]){text, name}, 2, &text, &err));
    }
    CHECK_OK(glk_expr_cat(source, text, quote, &id, &err));
    CHECK_OK(glk_expr_cat(source, quote, id, &id, &err));
    return id;
}

/* Gap, then an object with names and all other keys, a string beside another one, or a sequence of
 * words: dense sets, differences from them, rests by the thousand. */
static uint32_t wide_root(uint32_t round) {
    static const char *const names[] = {"a", "ab", "ca", NULL};
    uint32_t gap = terminal(grammar, repeated(literal(" "), 0, 3)), both, object_node;
    uint32_t few = terminal(grammar, wide_string(20, NULL));
    uint32_t many = terminal(grammar, wide_string(GLK_UNBOUNDED, NULL));
    uint32_t words_node = terminal(grammar, repeated(all_bytes_but_quotes(), 2, 9));
    if (round == 0) {
        plain_member list[] = {
            {quoted("a"), few, 1}, {quoted("ab"), many, 0}, {quoted("ca"), few, 0}};
        plain_member other = {.key = wide_string(GLK_UNBOUNDED, names), .value = few};
        object_node = plain_object(grammar, repeated(literal(" "), 0, 2), list, 3, &other, 1,
                                   ANY_ORDER);
        return sequence(grammar, LIST(gap, object_node, gap));
    }
    uint32_t one = sequence(grammar, LIST(few, gap, text(grammar, "a")));
    uint32_t two = sequence(grammar, LIST(many, text(grammar, "bc")));
    both = choice(grammar, LIST(one, two, terminal(grammar, wide_string(40, names))));
    return round == 1 ? sequence(grammar, LIST(gap, both))
                      : sequence(grammar, LIST(gap, words_node, gap, text(grammar, "\""), gap));
}

static void large_vocabularies(void) {
    static const uint32_t ends[] = {END};
    for (uint32_t round = 0; round < 3; round++) {
        open_grammar();
        CHECK_OK(glk_grammar_set_root(grammar, wide_root(round), &err));
        add_word("<end>");
        for (uint32_t i = 1; i < SPECIALS; i++) {
            add_word("");
        }
        add_bytes(0x20, 0x7E);
        for (uint32_t length = 2; length <= 6; length++) {
            add_all_strings("abc \"", length);
        }
        add_all_strings(" ", 8);
        vocab = make_vocab(ends, 1, 0);
        CHECK_OK(glk_program_new(vocab, grammar, &limits, &program, &err));
        wander(4, 5);
        glk_program_release(program);
        glk_vocab_release(vocab);
        close_grammar();
    }
}

/* ---- tokens of the grammar ---- */

/* Ids that the grammar names, although they have text or end the sequence. */
static void named_tokens_keep_their_other_meaning(void) {
    static const uint32_t ends[] = {3};
    uint32_t node, mask[1];
    bool good;
    glk_matcher *matcher;
    add_word("a");
    add_word("b");
    add_word("ab");
    add_word("<end>");
    vocab = make_vocab(ends, 1, 0);
    open_grammar();
    CHECK_OK(glk_grammar_tokens(grammar, (uint32_t[]){2, 3}, 2, &node, &err));
    uint32_t root = choice(grammar, LIST(sequence(grammar, LIST(node, text(grammar, "b"))),
                                         text(grammar, "aba"), GLK_NODE_EMPTY));
    CHECK_OK(glk_grammar_set_root(grammar, root, &err));
    CHECK_OK(glk_program_new(vocab, grammar, &limits, &program, &err));
    CHECK_OK(glk_matcher_new(program, &matcher, &err));
    CHECK_OK(glk_matcher_fill(matcher, mask, 1, &err));
    CHECK_EQUAL(mask[0], 1 | 4 | 8); /* "a", "ab" by text and as itself, the end in both senses */
    CHECK(take(matcher, 2));
    CHECK_OK(glk_matcher_fill(matcher, mask, 1, &err));
    CHECK_EQUAL(mask[0], 1 | 2); /* "aba", or the token "ab" and "b" */
    CHECK_OK(glk_matcher_rollback(matcher, 1, &err));
    CHECK(take(matcher, 3)); /* taken as the grammar's token, since it can be one */
    CHECK_OK(glk_matcher_is_terminated(matcher, &good, &err));
    CHECK(!good && take(matcher, 1) && ends_here(matcher) && take(matcher, 3));
    CHECK_OK(glk_matcher_is_terminated(matcher, &good, &err));
    CHECK(good && !take(matcher, 3));
    glk_matcher_release(matcher);
    glk_program_release(program);
    glk_vocab_release(vocab);
    close_grammar();
}

int main(void) {
    objects_in_both_orders();
    containers(150);
    different_members(60);
    counts_near_and_far();
    counts_one_by_one();
    ambiguous_grammars();
    large_vocabularies();
    tokens_beside_text();
    named_tokens_keep_their_other_meaning();
    random_grammars_on_all_strings(100);
    random_grammars(250);
    CHECK(met.programs > 150 && met.prefixes > 3000 && met.sentences > 1000);
    CHECK(met.lost < met.ends / 100);
    return check_done();
}
