/* test_value.c -- JSON values seen at run time: equal spellings, sets against an array, and what
 * the beginnings of texts may become. */
#include "check.h"
#include "value.h"

static glk_account account;
static glk_values values;
static glk_error err;

static void open_values(void) {
    glk_account_init(&account, "test_bytes", 0);
    glk_values_init(&values, &account);
}

static void close_values(void) {
    glk_values_free(&values);
    CHECK_EQUAL(account.used, 0);
}

static glk_status try_read(const char *text, size_t count, uint32_t *id) {
    return glk_value_read(&values, (const uint8_t *)text, count, id, &err);
}

static uint32_t read_value(const char *text) {
    uint32_t id = GLK_NONE;
    if (try_read(text, strlen(text), &id) != GLK_OK) {
        (void)fprintf(stderr, "%s: %s\n", text, err.text);
        exit(1);
    }
    return id;
}

static uint32_t add(uint32_t set, uint32_t value) {
    uint32_t out = GLK_NONE;
    CHECK_OK(glk_values_add(&values, set, value, &out, &err));
    return out;
}

static bool may_become(uint32_t set, const char *text, size_t count) {
    bool out = false;
    CHECK_OK(glk_values_may_become(&values, set, (const uint8_t *)text, count, &out, &err));
    return out;
}

/* ---- whole texts ---- */

/* A line: spellings of one value.  Different lines: different values. */
static const char *const spellings[][8] = {
    {"null", " null", "\t\r\nnull \n"},
    {"true"},
    {"false", "false "},
    {"0", "-0", "0.0", "-0.000e7", "0e99999999999999999999", "0E-99999999999999999999", "0.0e+0"},
    {"1", "1.0", "10e-1", "0.1e1", "1e0", "1E-0", "100000e-5", "0.00001e+0005"},
    {"-1", "-1.00", "-0.1E1"},
    {"10", "1e1", "1.0e1", "100e-1"},
    {"12", "12.0", "1.2e1", "0.012e3", "1200e-2"},
    {"1.2", "12e-1", "1.20"},
    {"120", "1.2e2", "12e1"},
    {"12.000000000000000000000000000000000000000001"},
    {"123456789012345678901234567890", "1.2345678901234567890123456789e29"},
    {"1e1000000000", "10e999999999", "0.1e1000000001", "1e0000000000000000000001000000000"},
    {"1e999999999999999999", "0.1e1000000000000000000", "10e999999999999999998"},
    {"1e9999999999999999999", "0.001e10000000000000000002", "10e9999999999999999998"},
    {"1e10000000000000000000", "10.00e9999999999999999999", "0.01e10000000000000000002"},
    {"1e-10000000000000000000", "0.1e-9999999999999999999", "100e-10000000000000000002"},
    {"1e-9999999999999999999", "10e-10000000000000000000", "0.1e-9999999999999999998"},
    {"1e-999999999999999999", "10e-1000000000000000000", "0.1e-999999999999999998"},
    {"1e18446744073709551616"},
    {"1e9223372036854775808"},
    {"1e-9223372036854775808"},
    {"\"\""},
    {"\"1\"", "\"\\u0031\""},
    {"\"a\"", "\"\\u0061\"", " \"a\" "},
    {"\"\\u0000\"", "\"\\u0000\" "},
    {"\"a\\u0000\""},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u0022\\u005c/\\u0008\\u000C\\u000a\\u000D\\u0009\""},
    {"\"\xC3\xA9\"", "\"\\u00e9\"", "\"\\u00E9\""},
    {"\"e\xCC\x81\""}, /* the same to the eye, not the same value */
    {"\"\xE2\x82\xAC\"", "\"\\u20aC\""},
    {"\"\xF0\x9F\x98\x80\"", "\"\\uD83D\\uDE00\"", "\"\\ud83d\\ude00\""},
    {"\"\xF4\x8F\xBF\xBF\"", "\"\\uDBFF\\uDFFF\""},
    {"\"\\uD83D\"", "\"\\ud83d\""},
    {"\"\\uDE00\""},
    {"\"\\uDE00\\uD83D\""},
    {"\"\\uD83Dx\\uDE00\""},
    {"\"\\uD83D\\uD83D\""},
    {"\"\\uD83D\\uD83D\\uDE00\"", "\"\\uD83D\xF0\x9F\x98\x80\""},
    {"\"\xEF\xBF\xBD\"", "\"\\uFFFD\""}, /* no lone surrogate becomes this */
    {"[]", "[ ]", " [\n] "},
    {"{}", "{\t}"},
    {"[[]]", "[ [ ] ]"},
    {"[{}]"},
    {"[0]", "[-0]", "[0.0 ]"},
    {"[1,2]", "[1.0,\n20e-1]"},
    {"[2,1]"},
    {"[1,[2]]"},
    {"[[1,2]]"},
    {"[[1],2]"},
    {"[null]"},
    {"[null,null]"},
    {"{\"a\":1}", "{ \"\\u0061\" : 1.0 }", "{\"a\":2,\"a\":1}", "{\"a\":{\"b\":0},\"a\":1}"},
    {"{\"a\":2}", "{\"a\":1,\"a\":2}"},
    {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", "{\"b\":1,\"a\":1,\"b\":2}"},
    {"{\"a\":2,\"b\":1}"},
    {"{\"a\":[1,{\"x\":null,\"y\":[]}]}", "{\"a\":[1,{\"y\":[],\"x\":null}]}"},
    {"{\"c\":1,\"a\":2,\"b\":3,\"\":4}", "{\"\":4,\"a\":2,\"b\":3,\"c\":1}",
     "{\"b\":3,\"c\":1,\"\":4,\"a\":2}"},
    {"[\"a\",1]"},
    {"{\"a\":\"1\"}"},
};

enum { LINES = sizeof spellings / sizeof *spellings };
enum { MOST = sizeof *spellings / sizeof **spellings };

static void spellings_of_one_value_have_one_id(void) {
    uint32_t ids[LINES];
    open_values();
    for (uint32_t line = 0; line < LINES; line++) {
        ids[line] = read_value(spellings[line][0]);
        for (uint32_t other = 0; other < line; other++) {
            CHECK(ids[other] != ids[line]);
        }
    }
    uint32_t count = values.values.count;
    for (uint32_t line = 0; line < LINES; line++) {
        for (uint32_t i = 0; i < MOST && spellings[line][i] != NULL; i++) {
            CHECK_EQUAL(read_value(spellings[line][i]), ids[line]);
        }
    }
    CHECK(values.values.count <= count + 2); /* what a repeated key replaced is kept, too */
    close_values();
}

static void what_is_no_json_is_an_error(void) {
    static const char *const texts[] = {
        "",        " ",       "nul",      "nulls",       "True",      "tru e",      "nan",
        "-",       "+1",      "01",       "-01",         "1.",        ".5",         "1.e1",
        "1e",      "1e+",     "1e1.0",    "0x1",         "1 2",       "--1",        "1-",
        "\"",      "\"a",     "\"\\\"",   "\"\\x\"",     "\"\\u12\"", "\"\\u12g4\"", "\"\n\"",
        "\"\x1F\"", "\"\\\n\"", "\"\xFF\"", "\"\x80\"",  "\"\xC0\x80\"", "\"\xC3\"", "\"\xC3(\"",
        "\"\xE0\x80\x80\"", "\"\xED\xA0\x80\"", "\"\xF0\x80\x80\x80\"", "\"\xF4\x90\x80\x80\"",
        "\"\xF5\x80\x80\x80\"", "\"\xE2\x82\"", "\"\" \"\"", "[",  "]", "[1", "[1,", "[1,]", "[,]",
        "[1 2]",   "[1}",     "[]]",      "{",           "}",         "{\"a\"",     "{\"a\":",
        "{\"a\":}", "{\"a\":1", "{\"a\":1,}", "{\"a\":1]", "{a:1}",   "{1:1}",      "{\"a\",1}",
        "{\"a\" 1}", "{,}",   "{\"a\":1 \"b\":2}", "[}", "{]",        "[:]",        "{}{}",
        "null,",   ",",       ":",        "\xEF\xBB\xBF" "1", "\v1",  "[1,,2]",     "{\"a\"::1}"};
    open_values();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint32_t id = 77;
        err.code = GLK_OK;
        CHECK_EQUAL(try_read(texts[i], strlen(texts[i]), &id), GLK_ERR_ARGUMENT);
        CHECK_EQUAL(err.code, GLK_ERR_ARGUMENT);
        CHECK_EQUAL(id, 77);
    }
    uint32_t id = 77;
    CHECK_EQUAL(try_read("1\0", 2, &id), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(try_read("\"\0\"", 3, &id), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(try_read("\"\\\0\"", 4, &id), GLK_ERR_ARGUMENT);
    CHECK_EQUAL(try_read("12", 1, &id), GLK_OK); /* nothing is read past the end */
    CHECK_EQUAL(id, read_value("1"));
    close_values();
}

static void limits_are_named(void) {
    enum { DEEP = GLK_VALUE_DEPTH + 1 };
    static char text[2 * DEEP];
    uint32_t id = GLK_NONE;
    bool out = true;
    open_values();
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    CHECK_OK(try_read(text + 1, 2 * (DEEP - 1), &id));
    uint32_t set = add(0, id);
    CHECK_EQUAL(try_read(text, 2 * DEEP, &id), GLK_ERR_LIMIT);
    CHECK(strcmp(err.budget, "value_depth") == 0);
    CHECK_EQUAL(err.limit, GLK_VALUE_DEPTH);
    for (size_t count = 0; count < 2 * DEEP - 1; count++) {
        CHECK(may_become(set, text + 1, count) == (count < 2 * DEEP - 1));
    }
    CHECK(!may_become(set, text, DEEP));
    const uint8_t *bytes = (const uint8_t *)text; /* too long to be looked at */
    size_t count = (size_t)GLK_VALUE_BYTES + 1;
    CHECK_EQUAL(glk_value_read(&values, bytes, count, &id, &err), GLK_ERR_LIMIT);
    CHECK(strcmp(err.budget, "value_bytes") == 0);
    CHECK_EQUAL(glk_values_may_become(&values, set, bytes, count, &out, &err), GLK_ERR_LIMIT);
    CHECK_EQUAL(err.asked, count);
    close_values();
}

static void large_values_are_read(void) {
    enum { MEMBERS = 3000, ROOM = 20 * MEMBERS };
    char *forth = check_memory(ROOM), *back = check_memory(ROOM), *digits = check_memory(ROOM);
    size_t forth_count = 1, back_count = 1;
    open_values();
    forth[0] = back[0] = '{';
    for (int i = 0; i < MEMBERS; i++) {
        int k = MEMBERS - 1 - i;
        forth_count +=
            (size_t)snprintf(forth + forth_count, ROOM - forth_count, "\"%d\":%d,", i, i);
        back_count += (size_t)snprintf(back + back_count, ROOM - back_count, "\"%d\":%d,", k, k);
    }
    forth[forth_count - 1] = back[back_count - 1] = '}';
    uint32_t first, second;
    CHECK_OK(try_read(forth, forth_count, &first));
    CHECK_OK(try_read(back, back_count, &second));
    CHECK_EQUAL(first, second);
    CHECK(may_become(add(0, first), back, back_count / 2));
    memset(digits, '9', ROOM);
    CHECK_OK(try_read(digits, ROOM, &first));
    digits[1] = '.';
    CHECK_OK(try_read(digits, ROOM, &second));
    CHECK(first != second);
    digits[1] = 'e'; /* an exponent of nearly as many digits */
    CHECK_OK(try_read(digits, ROOM, &first));
    CHECK(first != second);
    free(forth);
    free(back);
    free(digits);
    close_values();
}

/* ---- sets ---- */

/* Values whose bytes are beginnings of each other, or nearly. */
static uint32_t nth_value(uint32_t n) {
    char text[40] = "\"";
    if (n % 3 == 0) {
        uint32_t length = n / 6 + n % 2;
        memset(text + 1, n % 2 == 0 ? 'a' : 'b', length);
        memcpy(text + 1 + length, "\"", 2);
    } else {
        (void)snprintf(text, sizeof text, n % 3 == 1 ? "%u" : "[%u]", n / 3);
    }
    return read_value(text);
}

static void sets_agree_with_an_array(void) {
    enum { VALUES = 120 };
    uint32_t ids[VALUES];
    open_values();
    for (uint32_t i = 0; i < VALUES; i++) {
        ids[i] = nth_value(i);
    }
    for (uint32_t round = 0; round < 300; round++) {
        bool in[VALUES] = {false};
        uint32_t set = 0, again = 0;
        for (uint32_t i = check_random(round + 1); i > 0; i--) {
            uint32_t chosen = check_random(VALUES), before = set;
            set = add(set, ids[chosen]);
            CHECK_EQUAL(set == before, in[chosen]);
            in[chosen] = true;
        }
        for (uint32_t i = 0; i < VALUES; i++) {
            CHECK_EQUAL(glk_values_has(&values, set, ids[i]), in[i]);
            again = in[i] ? add(again, ids[i]) : again;
        }
        CHECK_EQUAL(set, again); /* the order does not matter */
    }
    close_values();
}

static void sets_are_bounded_and_share(void) {
    uint32_t set = 0, out = 77;
    char text[16];
    open_values();
    for (uint32_t i = 0; i < GLK_SEEN_VALUES; i++) {
        (void)snprintf(text, sizeof text, "%u", i);
        set = add(set, read_value(text));
    }
    CHECK_EQUAL(add(set, read_value("7")), set);
    uint32_t one_more = read_value("-1");
    CHECK_EQUAL(glk_values_add(&values, set, one_more, &out, &err), GLK_ERR_LIMIT);
    CHECK(strcmp(err.budget, "seen_values") == 0);
    CHECK_EQUAL(err.limit, GLK_SEEN_VALUES);
    CHECK_EQUAL(out, 77);
    /* All beginnings of the sequence are sets of their own, at some dozens of nodes a step. */
    CHECK(values.nodes.count < 100 * (uint32_t)GLK_SEEN_VALUES);
    CHECK(may_become(set, "6553", 4) && may_become(set, "6.5535e4", 8));
    CHECK(!may_become(set, "65536", 5) && !may_become(set, "-1", 2) && !may_become(set, "[", 1));
    close_values();
}

/* ---- unfinished texts ---- */

typedef struct question {
    const char *members[4]; /* NULL ends */
    const char *text;
    bool answer;
} question;

static const question questions[] = {
    {{NULL}, "", false},
    {{"1"}, "", true},
    {{"1"}, " \n", true},
    /* literals */
    {{"true", "null"}, "t", true},
    {{"true", "null"}, "f", false},
    {{"true", "null"}, "nul", true},
    {{"true"}, " true ", true},
    {{"true"}, "true t", false},
    {{"true"}, "truly", false},
    {{"false"}, "true", false},
    {{"\"true\""}, "t", false},
    /* numbers: the digits must fit as long as nothing finishes them, any exponent may follow */
    {{"12"}, "-", false},
    {{"-12"}, "-", true},
    {{"-12"}, "1", false},
    {{"0"}, "-", true},
    {{"0"}, "-0.00", true},
    {{"0"}, "-0.01", false},
    {{"12"}, "1", true},
    {{"12"}, "12", true},
    {{"12"}, "120", true},
    {{"12"}, "12.00", true},
    {{"12"}, "121", false},
    {{"12"}, "13", false},
    {{"12"}, "1.2e", true},
    {{"12"}, "1.2e7", true},
    {{"12"}, "1.2e7 ", false},
    {{"12"}, "1.2e1 ", true},
    {{"12"}, "1e", false},
    {{"12"}, "0", true},
    {{"12"}, "0.0", true},
    {{"12"}, "0e", false},
    {{"0"}, "0e", true},
    {{"12"}, "12 ", true},
    {{"12"}, "1 ", false},
    {{"12"}, "01", false},
    {{"12"}, "1.]", false},
    {{"12"}, "1e+ ", false},
    {{"\"12\""}, "1", false},
    {{"1e1000000000"}, "1e1", true},
    {{"1e1000000000"}, "1e100000000 ", false},
    /* strings */
    {{"\"abc\""}, "\"", true},
    {{"\"abc\""}, "\"ab", true},
    {{"\"abc\""}, "\"ac", false},
    {{"\"abc\""}, "\"abc", true},
    {{"\"abc\""}, "\"abcd", false},
    {{"\"abc\""}, "\"ab\"", false},
    {{"\"abc\""}, "\"abc\"", true},
    {{"\"abc\""}, "\"abc\" ,", false},
    {{"\"abc\"", "\"abd\""}, "\"abd", true},
    {{"\"abc\""}, "\"ab\\", true},
    {{"\"abc\""}, "\"abc\\", false},
    {{"\"abc\""}, "\"ab\\u", true},
    {{"\"abc\""}, "\"ab\\u006", true},
    {{"\"abc\""}, "\"ab\\u007", false},
    {{"\"abc\""}, "\"ab\\u0063", true},
    {{"\"abc\""}, "\"\\u0061\\u0062\\u00", true},
    {{"\"abc\"", "\"ab\\u00e9\"", "\"ab\""}, "\"ab\\u00e", true},
    {{"\"abc\""}, "\"ab\\n", false},
    {{"\"ab\\n\""}, "\"ab\\n", true},
    {{"\"ab\\n\""}, "\"ab\\u000A\"", true},
    {{"\"abc\""}, "\"ab\\q", false},
    {{"\"abc\""}, "\"ab\n", false},
    {{"\"\xC3\xA9\""}, "\"\xC3", true},
    {{"\"\xC3\xA9\""}, "\"\xC3\xA8", false},
    {{"\"\xC3\xA9\""}, "\"\xC3\"", false},
    {{"\"\xF0\x9F\x98\x80\""}, "\"\xF0\x9F", true},
    {{"\"\xF0\x9F\x98\x80\""}, "\"\\ud83d", true},
    {{"\"\xF0\x9F\x98\x80\""}, "\"\\ud83d\\", true},
    {{"\"\xF0\x9F\x98\x80\""}, "\"\\ud83d\\ude", true},
    {{"\"\xF0\x9F\x98\x80\""}, "\"\\ud83d\\udf", false},
    {{"\"\xF0\x9F\x98\x80\""}, "\"\\ud83dx", false},
    {{"\"\xF0\x9F\x98\x80\""}, "\"\\ud83d\"", false},
    {{"\"\xF0\x9F\x98\x80\""}, "\"\\ud83e", false},
    {{"\"\\ud83d\""}, "\"\\ud83d", true},
    {{"\"\\ud83d\""}, "\"\\ud83d\\", false},
    {{"\"\\ud83d\""}, "\"\\ud83d\"", true},
    {{"\"\\ud83d\\ud83d\""}, "\"\\ud83d\\ud8", true},
    {{"\"\\ud83d\\ud83d\""}, "\"\\ud83d\\ud83d\\", false},
    {{"\"\\ud83d\\n\""}, "\"\\ud83d\\", true},
    {{"\"\\ud83dx\""}, "\"\\ud83dx", true},
    {{"\"\\ude00\""}, "\"\\ud", true},
    {{"\"\\ud83d\""}, "\"\xED", false}, /* may not be written as it stands */
    {{"\"\xED\x9F\xBF\""}, "\"\xED", true},
    {{"\"\\ud83d\""}, "\"\xED\xA0", false},
    /* arrays */
    {{"[]", "1"}, "[", true},
    {{"{}", "1"}, "[", false},
    {{"[]"}, "[]", true},
    {{"[]"}, "[1", false},
    {{"[]"}, "[\"", false},
    {{"[1]"}, "[]", false},
    {{"[1,2]"}, " [ 1", true},
    {{"[1,2]"}, "[1 ", true},
    {{"[1,2]"}, "[10e-1 , ", true},
    {{"[1,2]"}, "[1]", false},
    {{"[1,2]"}, "[2,", false},
    {{"[1,2]"}, "[1,2 ", true},
    {{"[1,2]"}, "[1,2,", false},
    {{"[1,2]"}, "[1,2] ", true},
    {{"[1,2]"}, "[1,2],", false},
    {{"[1,2]"}, "[1,]", false},
    {{"[1,2]"}, "[1}", false},
    {{"[1,2]"}, "[3", false},
    {{"[1,2]", "[3]"}, "[3", true},
    {{"[1,\"ab\"]", "[2,\"cd\"]"}, "[2,\"a", false},
    {{"[1,\"ab\"]", "[2,\"cd\"]"}, "[2,\"c", true},
    {{"[1,\"ab\"]", "[2,\"cd\"]"}, "[3,\"c", false},
    {{"[[1],[2,[3]]]"}, "[[1],[2,[", true},
    {{"[[1],[2,[3]]]"}, "[[1],[2,[3", true},
    {{"[[1],[2,[3]]]"}, "[[1],[2,[3]", true},
    {{"[[1],[2,[3]]]"}, "[[1],[2,[4", false},
    {{"[[1],[2,[3]]]"}, "[[1,", false},
    {{"[[1],[2,[3]]]"}, "[[[", false},
    {{"[[1],[2,[3]]]"}, "[[1],{", false},
    {{"[[1],[2,[3]]]"}, "[[1],[2,[3]],", false},
    /* objects */
    {{"{}"}, "{", true},
    {{"{}"}, "{\"", false},
    {{"{}"}, "{}", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{}", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{ \"", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"c", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"\\u0063\\u006", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"ac", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\"", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"c\"", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"never read\"", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\" : ", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":2", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":1", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":\"", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":2.0}", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":2.0 ", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":2,", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":2,\"a", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":2,\"c", false}, /* keys do not repeat */
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":2,\"ab\":1", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":2,\"ab\":1,", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":2,\"ab\":1}", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":2,\"ab\":1}}", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":3,\"cd\":2", true}, /* but if they do, the last one counts */
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":[{\"new\":9}],\"cd\":2,\"ab\":1}", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":[{\"new\":9}],\"cd\":2,", true},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":2,\"cd\":3 ", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"cd\":2,\"new\":[\"new\"]", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"new\":1,\"new\":1,\"ab\"", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"ab\":1]", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{ab", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{,", false},
    {{"{\"ab\":1,\"cd\":2}"}, "{\"ab\",", false},
    {{"{\"ab\":1,\"cd\":2}"}, "[\"ab\"", false},
    {{"{\"a\":{\"b\":[{\"c\":true}]}}"}, "{\"a\":{\"b\":[{\"c\":tr", true},
    {{"{\"a\":{\"b\":[{\"c\":true}]}}"}, "{\"a\":{\"b\":[{\"c\":f", false},
    {{"{\"a\":{\"b\":[{\"c\":true}]}}"}, "{\"a\":{\"c\":[", false},
    {{"{\"a\":1,\"b\":{\"x\":2}}", "{\"a\":2,\"b\":{\"x\":3}}"}, "{\"b\":{\"x\":3},\"a\":1", false},
    {{"{\"a\":1,\"b\":{\"x\":2}}", "{\"a\":2,\"b\":{\"x\":3}}"}, "{\"b\":{\"x\":3},\"a\":2", true},
};

static void questions_are_answered(void) {
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        const question *asked = &questions[i];
        uint32_t set = 0;
        open_values();
        for (uint32_t k = 0; k < 4 && asked->members[k] != NULL; k++) {
            set = add(set, read_value(asked->members[k]));
        }
        uint32_t count = values.values.count;
        if (may_become(set, asked->text, strlen(asked->text)) != asked->answer) {
            (void)fprintf(stderr, "%s: not %d\n", asked->text, asked->answer);
            exit(1);
        }
        CHECK_EQUAL(values.values.count, count); /* asking adds nothing */
        close_values();
    }
}

static bool repeats_a_key(const char *text) {
    const char *a = strstr(text, "\"a\":"), *b = strstr(text, "\"b\":");
    return (a != NULL && strstr(a + 1, "\"a\":") != NULL) ||
           (b != NULL && strstr(b + 1, "\"b\":") != NULL);
}

static void every_beginning_may_become_the_value(void) {
    uint32_t ids[LINES], all = 0;
    open_values();
    for (uint32_t line = 0; line < LINES; line++) {
        ids[line] = read_value(spellings[line][0]);
        all = add(all, ids[line]);
    }
    for (uint32_t line = 0; line < LINES; line++) {
        for (uint32_t i = 0; i < MOST && spellings[line][i] != NULL; i++) {
            const char *text = spellings[line][i];
            size_t length = strlen(text);
            uint32_t set = add(0, ids[line]);
            for (size_t count = repeats_a_key(text) ? length : 0; count <= length; count++) {
                CHECK(may_become(set, text, count));
                CHECK(may_become(all, text, count));
            }
            for (uint32_t other = 0; other < LINES; other++) {
                bool ended = text[length - 1] < '0' || text[length - 1] > '9';
                CHECK(other == line || !ended || !may_become(add(0, ids[other]), text, length));
            }
        }
    }
    close_values();
}

/* All texts over a few bytes.  A value is what each of its beginnings may become; and once a text
 * may become nothing of a set, no longer text may (none here is long enough to repeat a key). */
static void short_texts_are_consistent(void) {
    static const char bytes[] = "[]{}\",:01.e-a\\ \xC3\xA9";
    static const char *const members[] = {
        "[[],1]", "[[1,-1]]", "{\"a\":0}", "{\"\":[]}", "\"a\xC3\xA9\"",
        "\"\\\\\"", "-1e1",     "0.11",      "1.01",       "[]"};
    enum { BYTES = sizeof bytes - 1, LENGTH = 5 };
    uint32_t digits[LENGTH] = {0}, texts = 0, endings = 0, some = 0, at = 0;
    char text[LENGTH];
    open_values();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        some = add(some, read_value(members[i]));
    }
    while (at < LENGTH) {
        uint32_t id = GLK_NONE;
        for (uint32_t i = 0; i < LENGTH; i++) {
            text[i] = bytes[digits[i]];
        }
        glk_status status = try_read(text, LENGTH, &id);
        CHECK(status == GLK_OK || status == GLK_ERR_ARGUMENT);
        texts += status == GLK_OK;
        bool before = true;
        for (size_t count = 0; count <= LENGTH; count++) {
            CHECK(status != GLK_OK || may_become(add(0, id), text, count));
            bool now = may_become(some, text, count);
            CHECK(before || !now);
            before = now;
        }
        CHECK(status != GLK_OK || before || !glk_values_has(&values, some, id));
        endings += before;
        for (at = 0; at < LENGTH && ++digits[at] == BYTES; at++) {
            digits[at] = 0;
        }
    }
    CHECK(texts > 1000 && endings > 100);
    close_values();
}

/* ---- failures ---- */

static glk_status use_values(void *context, glk_error *error) {
    static const char *const texts[] = {"[1,{\"a\":[],\"b\":\"\\ud83d\"}]", "\"ab\"", "\"aa\"",
                                        "1e99", "[[[[[[[[[[1,2,3,4,5,6,7,8,9]]]]]]]]]]"};
    glk_values *self = context;
    glk_status status = GLK_OK;
    uint32_t set = 0;
    glk_values_init(self, &account);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && status == GLK_OK; i++) {
        const uint8_t *text = (const uint8_t *)texts[i];
        size_t count = strlen(texts[i]);
        uint32_t id = GLK_NONE;
        bool out = false;
        status = glk_value_read(self, text, count, &id, error);
        status = status == GLK_OK ? glk_values_add(self, set, id, &set, error) : status;
        for (size_t k = 0; k < count && status == GLK_OK; k++) {
            status = glk_values_may_become(self, set, text, k, &out, error);
            CHECK(status != GLK_OK || out);
        }
    }
    glk_values_free(self);
    CHECK_EQUAL(account.used, 0);
    return status;
}

/* A value that could not be read at first is read later. */
static void failures_leave_the_store_usable(void) {
    static const char text[] = "{\"a\":[1,2,3],\"b\":{\"c\":\"d\"}}";
    open_values();
    uint32_t id = 77, out = 77;
    for (int64_t count = 0; id == 77; count++) {
        glk_alloc_fail_after(count);
        glk_status status = try_read(text, sizeof text - 1, &id);
        glk_alloc_fail_after(-1);
        CHECK(status == (id == 77 ? GLK_ERR_MEMORY : GLK_OK));
    }
    CHECK_EQUAL(read_value(text), id);
    uint32_t set = add(add(0, read_value("1")), read_value("2"));
    for (int64_t count = 0; out == 77; count++) {
        glk_alloc_fail_after(count);
        (void)glk_values_add(&values, set, id, &out, &err);
        glk_alloc_fail_after(-1);
    }
    CHECK(glk_values_has(&values, out, id) && !glk_values_has(&values, set, id));
    close_values();
}

static void the_account_is_asked(void) {
    char text[2000];
    uint32_t id = 77;
    glk_account_init(&account, "test_bytes", 1000);
    glk_values_init(&values, &account);
    memset(text, '1', sizeof text);
    CHECK_EQUAL(try_read(text, sizeof text, &id), GLK_ERR_LIMIT);
    CHECK(strcmp(err.budget, "test_bytes") == 0);
    CHECK_EQUAL(id, 77);
    close_values();
}

int main(void) {
    spellings_of_one_value_have_one_id();
    what_is_no_json_is_an_error();
    limits_are_named();
    large_values_are_read();
    sets_agree_with_an_array();
    sets_are_bounded_and_share();
    questions_are_answered();
    every_beginning_may_become_the_value();
    short_texts_are_consistent();
    glk_account_init(&account, "test_bytes", 0);
    CHECK(check_failing_allocations(use_values, &values) > 10);
    failures_leave_the_store_usable();
    the_account_is_asked();
    return check_done();
}
