/* test_plain.c -- plain schemas: what is read, what is asked for, what is declined, and documents of any kind.  That
 * the grammars are those of the general road is tested where that road is: tests/test_plain.py. */
#include "check.h"

#include "plain.h"

enum { ROOM = 4096 };

typedef struct writer { /* JSON text -> what marshal writes */
    const char *text;
    uint8_t bytes[ROOM];
    size_t count;
} writer;

static void put(writer *w, const void *bytes, size_t count) {
    CHECK(w->count + count <= ROOM);
    memcpy(w->bytes + w->count, bytes, count);
    w->count += count;
}

static void write_string(writer *w) {
    const char *end = strchr(w->text + 1, '"');
    uint8_t head[2] = {'z', (uint8_t)(end - w->text - 1)};
    put(w, head, sizeof head);
    put(w, w->text + 1, head[1]);
    w->text = end + 1;
}

/* A value: no blanks, no escapes, integers only.  A list's length is filled in at its end. */
static void write_value(writer *w) {
    if (*w->text == '"') {
        write_string(w);
    } else if (*w->text == '{') {
        put(w, "{", 1);
        for (w->text++; *w->text != '}'; w->text += *w->text == ',') {
            write_string(w);
            w->text++; /* the colon */
            write_value(w);
        }
        put(w, "0", 1);
        w->text++;
    } else if (*w->text == '[') {
        size_t at = w->count + 1;
        put(w, "[\0\0\0\0", 5);
        for (w->text++; *w->text != ']'; w->text += *w->text == ',') {
            write_value(w);
            w->bytes[at]++;
        }
        w->text++;
    } else if (strchr("tfn", *w->text) != NULL) {
        put(w, *w->text == 't' ? "T" : *w->text == 'f' ? "F" : "N", 1);
        w->text += *w->text == 'f' ? 5 : 4;
    } else {
        char *end;
        int32_t number = (int32_t)strtol(w->text, &end, 10);
        put(w, "i", 1);
        put(w, &number, sizeof number);
        w->text = end;
    }
}

static writer written(const char *json) {
    writer w = {.text = json};
    write_value(&w);
    CHECK(*w.text == 0);
    return w;
}

static glk_exprs *exprs;
static glk_plain *plain;
static glk_error err;

static uint32_t literal(const char *text) {
    uint32_t out;
    CHECK_OK(glk_exprs_literal(exprs, (const uint8_t *)text, strlen(text), &out, &err));
    return out;
}

static void open_plain(void) {
    static const uint32_t ALL[2] = {0, 0x10FFFF};
    glk_plain_base base = {.gap = GLK_EXPR_EPSILON, .draft = 2020};
    uint32_t one, parts[3];
    CHECK_OK(glk_exprs_new(0, &exprs, &err));
    CHECK_OK(glk_exprs_codepoints(exprs, ALL, 1, GLK_JSON, &one, &err));
    CHECK_OK(glk_exprs_repeat(exprs, one, 0, GLK_UNBOUNDED, &base.characters, &err));
    base.quote = literal("\"");
    parts[0] = parts[2] = base.quote;
    parts[1] = base.characters;
    CHECK_OK(glk_exprs_concat(exprs, parts, 3, &base.string, &err));
    base.integer = literal("7");
    base.number = literal("7.5");
    CHECK_OK(glk_plain_new(exprs, &base, 0, &plain, &err));
}

static void close_plain(void) {
    glk_plain_release(plain);
    glk_exprs_release(exprs);
}

typedef struct answer {
    glk_grammar *grammar;
    uint8_t needs[ROOM];
    size_t needed;
} answer;

static answer read_bytes(const uint8_t *bytes, size_t count) {
    answer found = {.grammar = NULL};
    CHECK_OK(glk_plain_read(plain, bytes, count, found.needs, ROOM, &found.needed, &found.grammar,
                            &err));
    return found;
}

static answer reading(const char *json) {
    writer w = written(json);
    return read_bytes(w.bytes, w.count);
}

static uint64_t fingerprint(const char *json) {
    answer found = reading(json);
    CHECK(found.grammar != NULL);
    uint64_t out = glk_grammar_fingerprint(found.grammar);
    glk_grammar_release(found.grammar);
    return out;
}

static void check_declined(const char *json) {
    answer found = reading(json);
    if (found.grammar != NULL || found.needed != 0) {
        (void)fprintf(stderr, "not declined: %s\n", json);
        exit(1);
    }
}

static void test_schemas_that_say_the_same(void) {
    static const char *const PAIRS[][2] = {
        {"true", "{}"},
        {"{\"title\":\"t\"}", "{\"default\":[{}]}"},
        {"{\"enum\":[1,\"a\"]}", "{\"enum\":[\"a\",1,null],\"type\":[\"string\",\"integer\"]}"},
        {"{\"const\":null}", "{\"type\":\"null\"}"},
        {"{\"type\":\"array\",\"items\":true}", "{\"type\":\"array\"}"},
        {"{\"$ref\":\"#/$defs/a~1b\",\"$defs\":{\"a/b\":{\"type\":\"null\"}}}", "{\"type\":\"null\"}"},
        {"{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"string\"}]}", "{\"type\":[\"string\",\"null\"]}"},
        {"{\"allOf\":[{\"type\":\"string\"}]}", "{\"type\":\"string\"}"},
        {"{\"type\":\"object\",\"required\":[\"a\",\"a\"]}",
         "{\"type\":\"object\",\"properties\":{\"a\":true},\"required\":[\"a\"]}"},
    };
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++) {
        CHECK_EQUAL(fingerprint(PAIRS[i][0]), fingerprint(PAIRS[i][1]));
    }
    CHECK(fingerprint("{\"type\":\"null\"}") != fingerprint("{\"type\":\"boolean\"}"));
}

static void test_leaves_are_asked_for(void) {
    static const char *const SCHEMA =
        "{\"type\":\"array\",\"items\":{\"type\":[\"string\",\"integer\"],\"minLength\":2,\"maximum\":9}}";
    answer found = reading(SCHEMA);
    CHECK(found.grammar == NULL);
    uint32_t keys = 0;
    for (size_t at = 0; at < found.needed; keys++) {
        uint32_t length;
        memcpy(&length, found.needs + at, sizeof length);
        at += sizeof length;
        uint32_t expr = literal(keys == 0 ? "\"ab\"" : "9");
        CHECK_OK(glk_plain_put(plain, found.needs + at, length, GLK_LEAF_TERMINAL, expr, &err));
        CHECK_OK(glk_plain_put(plain, found.needs + at, length, GLK_LEAF_DECLINED, 0, &err));
        at += length;
    }
    CHECK_EQUAL(keys, 2); /* what has been put first stays */
    CHECK(fingerprint(SCHEMA) != 0);
    found = reading("{\"format\":\"date\"}");
    uint32_t length;
    memcpy(&length, found.needs, sizeof length);
    CHECK(length + sizeof length < found.needed); /* then the string of that format */
    CHECK_OK(glk_plain_put(plain, found.needs + sizeof length, length, GLK_LEAF_IGNORED, 0, &err));
    CHECK_EQUAL(fingerprint("{\"format\":\"date\"}"), fingerprint("true"));
    CHECK_OK(glk_plain_put(plain, (const uint8_t *)"x", 1, GLK_LEAF_DECLINED, 0, &err));
}

static void test_what_is_declined(void) {
    static const char *const OTHERS[] = {
        "false", "[]", "{\"not\":{}}", "{\"type\":\"strin\"}", "{\"type\":[]}", "{\"enum\":[]}",
        "{\"enum\":[[]]}", "{\"$ref\":\"#/x\"}", "{\"$ref\":\"#\"}", "{\"$ref\":\"a.json\"}",
        "{\"$ref\":7}", "{\"items\":[]}", "{\"minItems\":-1}", "{\"properties\":{\"a\":1}}",
        "{\"required\":[1]}", "{\"anyOf\":[]}", "{\"$schema\":\"http://x\"}", "{\"$schema\":1}",
        "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"string\"}]}",
        "{\"oneOf\":[{\"const\":\"a\"},{\"enum\":[\"b\",\"a\"]}]}", "{\"anyOf\":[{},{\"type\":\"null\"}]}",
        "{\"type\":\"object\",\"required\":[\"a\"],\"additionalProperties\":false}",
        "{\"properties\":{\"a\":{\"$id\":\"b\"},\"c\":{\"$ref\":\"#\"}}}", "{\"type\":\"array\",\"minItems\":2,\"maxItems\":1}",
        "{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"],\"type\":\"object\"}",
        "{\"type\":\"string\",\"properties\":{\"a\":{\"type\":\"x\"}}}",
    };
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        check_declined(OTHERS[i]);
    }
}

static const char *const RECURSIVE =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"next\":{\"$ref\":\"#\"},"
    "\"kind\":{\"enum\":[\"a\",\"b\",null]},\"all\":{\"type\":\"array\",\"items\":{\"$ref\":\"#\"},"
    "\"maxItems\":3}},\"required\":[\"name\",\"more\"]}";

static void test_recursion(void) {
    CHECK(fingerprint(RECURSIVE) == fingerprint(RECURSIVE));
    CHECK(fingerprint("{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}") != 0);
}

/* Bytes changed at random: no schema any more, or another one, never more than that. */
static void test_any_document(void) {
    writer whole = written(RECURSIVE);
    for (uint32_t round = 0; round < 60000; round++) {
        size_t count = whole.count - check_random(2) * check_random(20);
        uint8_t *bytes = check_memory(count); /* of that size, so that the sanitizer sees its end */
        memcpy(bytes, whole.bytes, count);
        for (uint32_t i = check_random(4) + 1; i > 0; i--) {
            uint32_t at = check_random((uint32_t)count);
            bytes[at] = check_random(2) == 0 ? (uint8_t)check_random(256)
                                             : whole.bytes[check_random((uint32_t)whole.count)];
        }
        answer found = read_bytes(bytes, count);
        glk_grammar_release(found.grammar);
        free(bytes);
    }
}

static glk_status attempt(void *context, glk_error *error) {
    const writer *w = context;
    glk_grammar *grammar = NULL;
    size_t needed;
    GLK_TRY(glk_plain_read(plain, w->bytes, w->count, NULL, 0, &needed, &grammar, error));
    glk_grammar_release(grammar);
    return GLK_OK;
}

static glk_status attempt_to_put(void *context, glk_error *error) {
    uint8_t key[8] = {0};
    glk_plain *made;
    (void)context;
    GLK_TRY(glk_plain_new(exprs, &plain->base, 0, &made, error));
    glk_status status = GLK_OK;
    for (uint8_t i = 0; i < 40 && status == GLK_OK; i++) {
        key[3] = i;
        status = glk_plain_put(made, key, sizeof key, GLK_LEAF_DECLINED, 0, error);
    }
    glk_plain_release(made);
    return status;
}

static void test_memory_runs_out(void) {
    writer w = written(RECURSIVE);
    CHECK(check_failing_allocations(attempt, &w) > 10);
    CHECK(check_failing_allocations(attempt_to_put, NULL) > 3);
}

static void test_the_table_begins_again(void) {
    glk_plain *small;
    uint8_t key[64] = {0};
    CHECK_OK(glk_plain_new(exprs, &plain->base, 4000, &small, &err));
    for (uint32_t i = 0; i < 1000; i++) {
        memcpy(key, &i, sizeof i);
        CHECK_OK(glk_plain_put(small, key, sizeof key, GLK_LEAF_DECLINED, 0, &err));
        CHECK(small->account.used <= 4000);
    }
    CHECK(small->leaves.count > 0);
    glk_plain_release(small);
}

int main(void) {
    open_plain();
    test_schemas_that_say_the_same();
    test_leaves_are_asked_for();
    test_what_is_declined();
    test_recursion();
    test_any_document();
    test_memory_runs_out();
    test_the_table_begins_again();
    close_plain();
    return check_done();
}
