/* test_vocab.c -- the token trie and the vocabulary, against the obvious definitions. */
#include "check.h"
#include "vocab.h"

/* ---- the trie ---- */

static int compare_texts(const glk_trie_item *a, const glk_trie_item *b) {
    uint32_t common = a->length < b->length ? a->length : b->length;
    int order = common > 0 ? memcmp(a->text, b->text, common) : 0;
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_items(const void *left, const void *right) {
    const glk_trie_item *a = left, *b = right;
    int order = compare_texts(a, b);
    return order != 0 ? order : (a->id > b->id) - (a->id < b->id);
}

static bool starts_with(const glk_trie_item *item, const uint8_t *prefix, uint32_t length) {
    return item->length >= length && (length == 0 || memcmp(item->text, prefix, length) == 0);
}

/* The ids of tokens[from .. to) must be those of the `items` (sorted, distinct) that start with the
 * prefix; with `exact` only those that equal it. */
static void check_ids(const glk_trie *trie, uint32_t from, uint32_t to, const glk_trie_item *items,
                      const uint8_t *prefix, uint32_t length, bool exact) {
    CHECK(from <= to && to <= trie->token_count);
    for (uint32_t i = 0; i < trie->token_count; i++) {
        bool wanted = starts_with(&items[i], prefix, length) &&
                      (!exact || items[i].length == length);
        CHECK_EQUAL(wanted, i >= from && i < to);
    }
}

static void check_node(const glk_trie *trie, uint32_t at, const glk_trie_item *items,
                       const uint8_t *prefix) {
    const glk_trie_node *node = &trie->nodes[at];
    uint32_t end = at + 1, deepest = node->depth;
    int last_byte = -1;
    for (; end < trie->count && trie->nodes[end].depth > node->depth; end++) {
        const glk_trie_node *below = &trie->nodes[end];
        deepest = below->depth > deepest ? below->depth : deepest;
        if (below->depth == node->depth + 1) {
            CHECK((int)below->byte > last_byte);
            last_byte = below->byte;
        }
    }
    CHECK_EQUAL(node->skip, end);
    CHECK_EQUAL(node->height, deepest - node->depth);
    check_ids(trie, node->first, trie->nodes[at + 1].first, items, prefix, node->depth, true);
    check_ids(trie, node->first, trie->nodes[end].first, items, prefix, node->depth, false);
}

/* Every node, given the sorted distinct items. */
static void check_trie(const glk_trie *trie, const glk_trie_item *items, uint32_t distinct) {
    uint8_t *prefix = check_memory(UINT16_MAX);
    uint32_t spelled = 0;
    CHECK(trie->count >= 1);
    CHECK_EQUAL(trie->token_count, distinct);
    CHECK_EQUAL(trie->nodes[0].depth, 0);
    CHECK_EQUAL(trie->nodes[trie->count].first, distinct);
    CHECK_EQUAL(trie->nodes[trie->count].depth, 0);
    for (uint32_t i = 0; i < distinct; i++) {
        CHECK_EQUAL(trie->tokens[i], items[i].id);
    }
    for (uint32_t at = 0; at < trie->count; at++) {
        const glk_trie_node *node = &trie->nodes[at];
        CHECK(at == 0 || (node->depth >= 1 && node->depth <= trie->nodes[at - 1].depth + 1));
        if (at > 0) {
            prefix[node->depth - 1] = node->byte;
        }
        check_node(trie, at, items, prefix);
        spelled += trie->nodes[at + 1].first - node->first;
    }
    CHECK_EQUAL(spelled, distinct);
    free(prefix);
}

/* Groups of the texts at and below a node from its edge on, byte after byte. */
static uint8_t groups_by_reading(const glk_trie *trie, uint32_t at, const uint32_t *parents) {
    uint8_t groups = 0, text[64];
    for (uint32_t below = at; below < trie->nodes[at].skip; below++) {
        uint32_t length = trie->nodes[below].depth - trie->nodes[at].depth + 1u;
        uint32_t node = below, state = GLK_TEXT_BOUNDARY;
        for (uint32_t i = length; i > 0; i--, node = parents[node]) {
            text[i - 1] = trie->nodes[node].byte;
        }
        for (uint32_t i = 0; i < length && state != GLK_TEXT_DEAD; i++) {
            if (text[i] >= 0x80) {
                state = glk_text_after(state, text[i]);
                groups |= GLK_GROUP_TEXT;
            } else {
                groups |= glk_group_of(text[i]);
                state = state == GLK_TEXT_BOUNDARY ? state : GLK_TEXT_DEAD;
            }
        }
        groups |= state == GLK_TEXT_DEAD ? GLK_GROUP_OTHER : 0;
    }
    return (groups & GLK_GROUP_OTHER) != 0 ? GLK_GROUP_OTHER : groups;
}

/* The children of a node by skips are those of its table, and those that glk_trie_next finds. */
static void check_children(const glk_trie *trie, uint32_t at) {
    const glk_trie_wide *wide = glk_trie_wide_at(trie, at);
    glk_bytes all = glk_bytes_all(), odd = {{0}};
    for (uint32_t i = 1; i < 256; i += 2) {
        glk_bytes_add(&odd, (uint8_t)i);
    }
    if (wide == NULL) {
        CHECK_EQUAL(glk_trie_below(at, wide, &odd), at + 1);
        return;
    }
    uint32_t next = glk_trie_below(at, wide, &all), next_odd = glk_trie_below(at, wide, &odd);
    for (uint32_t i = at + 1; i < trie->nodes[at].skip; i = trie->nodes[i].skip) {
        CHECK_EQUAL(next, i);
        next = glk_trie_beside(trie, i, wide, &all);
        if (trie->nodes[i].byte % 2 == 1) {
            CHECK_EQUAL(next_odd, i);
            next_odd = glk_trie_beside(trie, i, wide, &odd);
        }
    }
    CHECK_EQUAL(next, trie->nodes[at].skip);
    CHECK_EQUAL(next_odd, trie->nodes[at].skip);
}

static void check_index(const glk_trie *trie) {
    uint32_t *parents = check_memory((trie->count + 1) * sizeof *parents), wide = 0;
    uint32_t path[70] = {0};
    for (uint32_t at = 0; at < trie->count; at++) {
        uint32_t depth = trie->nodes[at].depth;
        CHECK(depth < 64);
        path[depth] = at;
        parents[at] = depth == 0 ? 0 : path[depth - 1];
    }
    for (uint32_t at = 0; at < trie->count; at++) {
        check_children(trie, at);
        wide += glk_trie_wide_at(trie, at) != NULL;
        uint8_t groups = trie->nodes[at].groups;
        groups = (groups & GLK_GROUP_OTHER) != 0 ? GLK_GROUP_OTHER : groups;
        CHECK(at == 0 || groups == groups_by_reading(trie, at, parents));
    }
    CHECK(wide > 0);
    free(parents);
}

static uint32_t text_of(uint32_t code, uint8_t *out) {
    uint32_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (uint32_t i = length; i > 1; i--, code >>= 6) {
        out[i - 1] = (uint8_t)(0x80 | (code & 0x3F));
    }
    out[0] = (uint8_t)(lead[length] | code);
    return length;
}

static bool is_space(uint32_t code) { /* ECMA-262, 12.2 and 12.3, past ASCII */
    return code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
           code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
           code == 0x3000 || code == 0xFEFF;
}

/* Every code point; then all texts of the automaton, which must be no more. */
static void text_is_utf8_but_white_space(void) {
    uint64_t codes = 0, ways[GLK_TEXT_STATES] = {1}, ends = 0;
    for (uint32_t code = 0x80; code <= 0x10FFFF; code++) {
        uint8_t text[4];
        uint32_t length = text_of(code, text), state = GLK_TEXT_BOUNDARY;
        for (uint32_t i = 0; i < length && state != GLK_TEXT_DEAD; i++) {
            state = glk_text_after(state, text[i]);
        }
        bool member = !is_space(code) && (code < 0xD800 || code > 0xDFFF);
        CHECK_EQUAL(state, member ? GLK_TEXT_BOUNDARY : GLK_TEXT_DEAD);
        codes += member;
    }
    for (uint32_t length = 1; length <= 5; length++) {
        uint64_t next[GLK_TEXT_STATES + 1] = {0};
        for (uint32_t s = 0; s < GLK_TEXT_STATES; s++) {
            for (uint32_t b = 0x80; b < 256 && ways[s] > 0; b++) {
                next[glk_text_after(s, (uint8_t)b)] += ways[s];
            }
        }
        ends += next[GLK_TEXT_BOUNDARY];
        next[GLK_TEXT_BOUNDARY] = 0;
        memcpy(ways, next, sizeof ways);
    }
    CHECK_EQUAL(ends, codes);
}

static void tries_are_indexed(void) {
    static const char *const letters[] = {
        "a", "b", "Z", "7", " ", "-", "/", "\"", "\n", "\xC3\xA9", "\xC2\xA0", "\xE4\xB8\xAD",
        "\xE2\x80\x8A", "\xE2\x80\x99", "\xF0\x9F\x98\x80", "\xF0\x9F", "\x80", "\xC0", "\xED\xA0\x80"};
    enum { COUNT = 900, LETTERS = sizeof letters / sizeof *letters };
    uint8_t *texts = check_memory(COUNT * 64);
    glk_trie_item *items = check_memory(COUNT * sizeof *items);
    for (uint32_t round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t length = 0;
            for (uint32_t k = check_random(8) + 1; k > 0; k--) {
                const char *letter = letters[check_random(round % 2 == 0 ? LETTERS : 15)];
                memcpy(texts + 64 * i + length, letter, strlen(letter));
                length += (uint32_t)strlen(letter);
            }
            items[i] = (glk_trie_item){texts + 64 * i, length, i};
        }
        glk_arena arena;
        glk_trie trie;
        glk_arena_init(&arena, NULL);
        CHECK_OK(glk_trie_build(items, COUNT, &arena, &trie, NULL));
        check_index(&trie);
        glk_arena_free(&arena);
    }
    free(items);
    free(texts);
}

/* Builds from `items` and checks; the items are sorted on return. */
static void build_and_check(glk_trie_item *items, uint32_t count) {
    glk_trie_item *sorted = check_memory(count * sizeof *sorted);
    uint32_t distinct = 0;
    glk_arena arena;
    glk_trie trie;
    glk_arena_init(&arena, NULL);
    if (count > 0) {
        memcpy(sorted, items, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_items);
    }
    CHECK_OK(glk_trie_build(items, count, &arena, &trie, NULL));
    for (uint32_t i = 0; i < count; i++) {
        CHECK(compare_items(&items[i], &sorted[i]) == 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (distinct == 0 || compare_items(&sorted[distinct - 1], &sorted[i]) != 0) {
            sorted[distinct++] = sorted[i];
        }
    }
    check_trie(&trie, sorted, distinct);
    glk_arena_free(&arena);
    free(sorted);
}

/* `count` texts of at most `longest` bytes over a few letters, all behind `shared` equal bytes; ids
 * repeat, so that equal pairs and equal texts both occur. */
static void random_trie(uint32_t count, uint32_t longest, uint32_t letters, uint32_t shared) {
    static const uint8_t alphabet[] = {0, 255, 'a', 128, 1, 'b', 127, 'z'};
    uint32_t room = shared + longest;
    uint8_t *texts = check_memory((size_t)count * (room + 1));
    glk_trie_item *items = check_memory(count * sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *text = texts + (size_t)i * (room + 1);
        memset(text, 'p', shared);
        uint32_t length = check_random(longest + 1);
        for (uint32_t k = 0; k < length; k++) {
            text[shared + k] = alphabet[check_random(letters)];
        }
        items[i] = (glk_trie_item){text, shared + length, check_random(count * 2)};
    }
    build_and_check(items, count);
    free(items);
    free(texts);
}

static void tries_of_random_texts(void) {
    for (uint32_t round = 0; round < 2000; round++) {
        uint32_t shared = round % 5 == 0 ? check_random(20) : 0;
        random_trie(check_random(30), check_random(14), 1 + check_random(8), shared);
    }
    random_trie(599, 6, 8, 0);
    random_trie(601, 6, 8, 0);
    random_trie(1500, 12, 2, 0);
    random_trie(1500, 3, 3, 9); /* all share the sorted prefix */
    random_trie(1000, 0, 1, 3); /* one text, many ids */
}

static void tries_of_texts_with_a_zero_padded_look(void) {
    static const uint8_t zeros[20] = {0};
    glk_trie_item items[700];
    for (uint32_t i = 0; i < 700; i++) {
        items[i] = (glk_trie_item){zeros, i * 7 % 20, 700 - i};
    }
    build_and_check(items, 40);
    build_and_check(items, 700);
}

static void tries_of_nothing(void) {
    glk_trie_item item = {(const uint8_t *)"", 0, 7};
    build_and_check(NULL, 0);
    build_and_check(&item, 1);
}

static void texts_have_a_longest_length(void) {
    uint8_t *text = check_memory(UINT16_MAX + 1);
    glk_error err = {.code = GLK_OK};
    glk_arena arena;
    glk_trie trie = {.count = 77};
    glk_trie_item items[2] = {{text, UINT16_MAX, 1}, {text, 2, 0}};
    glk_arena_init(&arena, NULL);
    CHECK_OK(glk_trie_build(items, 2, &arena, &trie, &err));
    CHECK_EQUAL(trie.count, UINT16_MAX + 1);
    CHECK_EQUAL(trie.nodes[0].height, UINT16_MAX);
    CHECK_EQUAL(trie.nodes[UINT16_MAX].depth, UINT16_MAX);
    items[0].length = UINT16_MAX + 1;
    trie.count = 77;
    CHECK_EQUAL(glk_trie_build(items, 2, &arena, &trie, &err), GLK_ERR_LIMIT);
    CHECK_EQUAL(err.asked, UINT16_MAX + 1);
    CHECK_EQUAL(err.limit, UINT16_MAX);
    CHECK_EQUAL(trie.count, 77);
    glk_arena_free(&arena);
    free(text);
}

/* ---- the vocabulary ---- */

typedef struct tokens { /* what glk_vocab_init is given */
    uint8_t *bytes;
    uint64_t *offsets;
    uint32_t *end_ids;
    uint32_t size;
    size_t end_count;
} tokens;

static tokens random_tokens(uint32_t size) {
    tokens made = {.size = size, .end_count = size > 0 ? check_random(5) : 0};
    uint64_t at = check_random(4); /* offsets need not start at 0 */
    made.bytes = check_memory((size_t)size * 6 + 4);
    made.offsets = check_memory((size_t)(size + 1) * sizeof(uint64_t));
    made.end_ids = check_memory(made.end_count * sizeof(uint32_t));
    made.offsets[0] = at;
    for (uint32_t id = 0; id < size; id++) {
        for (uint32_t length = check_random(3) * check_random(4); length > 0; length--) {
            made.bytes[at++] = (uint8_t)(250 + check_random(6));
        }
        made.offsets[id + 1] = at;
    }
    for (size_t i = 0; i < made.end_count; i++) {
        made.end_ids[i] = check_random(size);
    }
    return made;
}

static void free_tokens(tokens *self) {
    free(self->bytes);
    free(self->offsets);
    free(self->end_ids);
}

static bool is_end(const tokens *given, uint32_t id) {
    for (size_t i = 0; i < given->end_count; i++) {
        if (given->end_ids[i] == id) {
            return true;
        }
    }
    return false;
}

static bool has_own_token(const tokens *given, uint8_t byte) {
    for (uint32_t id = 0; id < given->size; id++) {
        uint64_t start = given->offsets[id];
        if (given->offsets[id + 1] == start + 1 && given->bytes[start] == byte &&
            !is_end(given, id)) {
            return true;
        }
    }
    return false;
}

static bool belongs_in_trie(const tokens *given, uint32_t id) {
    for (uint64_t i = given->offsets[id]; i < given->offsets[id + 1]; i++) {
        if (!has_own_token(given, given->bytes[i])) {
            return false;
        }
    }
    return given->offsets[id + 1] > given->offsets[id] && !is_end(given, id);
}

static void check_trie_members(const glk_vocab *vocab, const tokens *given) {
    glk_trie_item *items = check_memory(given->size * sizeof *items);
    uint32_t count = 0;
    for (uint32_t id = 0; id < given->size; id++) {
        if (belongs_in_trie(given, id)) {
            uint32_t length = (uint32_t)(given->offsets[id + 1] - given->offsets[id]);
            items[count++] = (glk_trie_item){given->bytes + given->offsets[id], length, id};
        }
    }
    qsort(items, count, sizeof *items, compare_items);
    check_trie(&vocab->trie, items, count);
    free(items);
}

static void check_vocab(const glk_vocab *vocab, const tokens *given) {
    uint64_t bits[4];
    uint32_t longest = 0, ends = 0;
    CHECK_EQUAL(vocab->size, given->size);
    for (uint32_t id = 0; id < given->size; id++) {
        size_t length;
        const uint8_t *text = glk_vocab_text(vocab, id, &length);
        CHECK_EQUAL(length, given->offsets[id + 1] - given->offsets[id]);
        CHECK(length == 0 || memcmp(text, given->bytes + given->offsets[id], length) == 0);
        longest = length > longest ? (uint32_t)length : longest;
        CHECK_EQUAL(glk_vocab_is_end(vocab, id), is_end(given, id));
        if (is_end(given, id)) {
            CHECK(ends < vocab->end_count);
            CHECK_EQUAL(vocab->end_ids[ends++], id);
        }
    }
    CHECK_EQUAL(vocab->end_count, ends);
    CHECK_EQUAL(vocab->longest, longest);
    glk_vocab_reachable(vocab, bits);
    for (uint32_t byte = 0; byte < 256; byte++) {
        bool expected = has_own_token(given, (uint8_t)byte);
        CHECK_EQUAL(glk_bytes_has(&vocab->reachable, (uint8_t)byte), expected);
        CHECK_EQUAL(bits[byte / 64] >> (byte % 64) & 1, expected);
    }
    check_trie_members(vocab, given);
}

static glk_status init_vocab(glk_vocab *vocab, const tokens *given, glk_error *err) {
    return glk_vocab_init(vocab, given->bytes, given->offsets, given->size, given->end_ids,
                          given->end_count, 1000, err);
}

static void vocabularies_of_random_tokens(void) {
    for (uint32_t round = 0; round < 600; round++) {
        tokens given = random_tokens(round < 3 ? round : check_random(60));
        glk_vocab vocab;
        CHECK_OK(init_vocab(&vocab, &given, NULL));
        check_vocab(&vocab, &given);
        CHECK_EQUAL(vocab.terminals_budget, 1000);
        CHECK_EQUAL(vocab.references, 1);
        CHECK(vocab.terminals == NULL);
        CHECK(vocab.account.used > 0);
        glk_vocab_destroy(&vocab);
        free_tokens(&given);
    }
}

static void an_empty_vocabulary_works(void) {
    glk_vocab vocab;
    CHECK_OK(glk_vocab_init(&vocab, NULL, NULL, 0, NULL, 0, 0, NULL));
    CHECK_EQUAL(vocab.size, 0);
    CHECK_EQUAL(vocab.trie.count, 1);
    CHECK_EQUAL(vocab.trie.token_count, 0);
    CHECK(glk_bytes_empty(&vocab.reachable));
    glk_vocab_destroy(&vocab);
}

static void mistakes_are_named(void) {
    static const uint8_t bytes[] = "abc";
    static const uint64_t good[] = {0, 1, 2, 3}, backwards[] = {0, 2, 1, 3};
    static const uint32_t ends[] = {1, 3};
    glk_vocab vocab;
    glk_error err = {.code = GLK_OK};
    CHECK_EQUAL(glk_vocab_init(&vocab, bytes, good, 3, ends, 2, 0, &err), GLK_ERR_ARGUMENT);
    CHECK(strstr(err.text, "end id 3") != NULL);
    CHECK_EQUAL(glk_vocab_init(&vocab, bytes, backwards, 3, ends, 1, 0, &err), GLK_ERR_ARGUMENT);
    CHECK(strstr(err.text, "token 1") != NULL);
    CHECK_EQUAL(glk_vocab_init(&vocab, NULL, NULL, UINT32_MAX, NULL, 0, 0, &err),
                GLK_ERR_ARGUMENT);
    CHECK_OK(glk_vocab_init(&vocab, bytes, good, 3, ends, 1, 0, &err));
    glk_vocab_destroy(&vocab);
}

static void only_texts_in_the_trie_are_limited(void) {
    enum { LENGTH = UINT16_MAX + 1 };
    uint8_t *bytes = check_memory(LENGTH + 1);
    uint64_t offsets[] = {0, LENGTH, LENGTH + 1};
    glk_vocab vocab;
    glk_error err = {.code = GLK_OK};
    CHECK_EQUAL(glk_vocab_init(&vocab, bytes, offsets, 2, NULL, 0, 0, &err), GLK_ERR_LIMIT);
    bytes[LENGTH] = 'x'; /* now the long one's byte is not reachable */
    CHECK_OK(glk_vocab_init(&vocab, bytes, offsets, 2, NULL, 0, 0, &err));
    CHECK_EQUAL(vocab.longest, LENGTH);
    CHECK_EQUAL(vocab.trie.token_count, 1);
    glk_vocab_destroy(&vocab);
    free(bytes);
}

static glk_status attempt_vocab(void *context, glk_error *err) {
    glk_vocab vocab;
    GLK_TRY(init_vocab(&vocab, context, err));
    check_vocab(&vocab, context);
    glk_vocab_destroy(&vocab);
    return GLK_OK;
}

static void failing_allocations_are_clean(void) {
    tokens given = random_tokens(800);
    CHECK(check_failing_allocations(attempt_vocab, &given) >= 3);
    free_tokens(&given);
}

int main(void) {
    tries_of_nothing();
    tries_are_indexed();
    text_is_utf8_but_white_space();
    tries_of_random_texts();
    tries_of_texts_with_a_zero_padded_look();
    texts_have_a_longest_length();
    an_empty_vocabulary_works();
    vocabularies_of_random_tokens();
    mistakes_are_named();
    only_texts_in_the_trie_are_limited();
    failing_allocations_are_clean();
    return check_done();
}
