/* test_document.c -- documents out of marshal's bytes: every kind of value, what is foreign, and bytes of any kind. */
#include "check.h"

#include "document.h"

typedef struct bytes {
    const char *text;
    size_t count;
} bytes;
#define BYTES(text) ((bytes){text, sizeof text - 1})

static glk_document reading(bytes input, bool *foreign) {
    glk_document document;
    glk_error err;
    glk_document_init(&document, (const uint8_t *)input.text, input.count);
    CHECK_OK(glk_document_read(&document, foreign, &err));
    return document;
}

static glk_document ours(bytes input) {
    bool foreign;
    glk_document document = reading(input, &foreign);
    CHECK(!foreign);
    return document;
}

static void check_foreign(bytes input) {
    bool foreign;
    glk_document document = reading(input, &foreign);
    CHECK(foreign);
    glk_document_free(&document);
}

static void test_every_kind(void) {
    static const char text[] = "\xFB"
                               "\xFA\x01" "a" "[\x05\x00\x00\x00" "NTF"
                               "i\xFE\xFF\xFF\xFF" "g\x00\x00\x00\x00\x00\x00\xF8\x3F"
                               "z\x01" "b" "l\xFE\xFF\xFF\xFF\x01\x00\x02\x00"
                               "u\x02\x00\x00\x00\xC3\xA9" "r\x01\x00\x00\x00"
                               "0";
    glk_document document = ours(BYTES(text));
    const glk_item *root = glk_item_at(&document, 0);
    CHECK_EQUAL(root->kind, GLK_ITEM_OBJECT);
    CHECK_EQUAL(root->length, 3);
    CHECK_EQUAL(root->end, document.items.count);
    CHECK(glk_item_is(&document, 1, (const uint8_t *)"a", 1));
    const glk_item *list = glk_item_at(&document, 2);
    CHECK_EQUAL(list->kind, GLK_ITEM_LIST);
    CHECK_EQUAL(list->length, 5);
    CHECK_EQUAL(list->end, 8);
    static const uint8_t KINDS[] = {GLK_ITEM_NULL, GLK_ITEM_TRUE, GLK_ITEM_FALSE, GLK_ITEM_INTEGER,
                                    GLK_ITEM_FLOAT};
    for (uint32_t i = 0; i < sizeof KINDS; i++) {
        CHECK_EQUAL(glk_item_at(&document, 3 + i)->kind, KINDS[i]);
    }
    CHECK(glk_item_at(&document, 6)->integer == -2);
    CHECK_EQUAL(glk_item_at(&document, 9)->kind, GLK_ITEM_BIG);
    CHECK(glk_item_at(&document, 9)->integer == -1);
    CHECK_EQUAL(glk_item_at(&document, 10)->length, 2);
    CHECK_EQUAL(glk_item_at(&document, 11)->kind, GLK_ITEM_ALIAS);
    CHECK_EQUAL(glk_item_behind(&document, 11), 1);
    glk_document_free(&document);
}

static void test_a_document_may_hold_itself(void) {
    glk_document document = ours(BYTES("\xFB" "z\x01" "a" "r\x00\x00\x00\x00" "0"));
    CHECK_EQUAL(glk_item_behind(&document, 2), 0);
    CHECK_EQUAL(document.items.count, 3);
    glk_document_free(&document);
}

static void test_what_is_foreign(void) {
    check_foreign(BYTES(""));
    check_foreign(BYTES("0"));                                    /* the end of nothing */
    check_foreign(BYTES("(\x00\x00\x00\x00"));                    /* a tuple */
    check_foreign(BYTES("NN"));                                   /* two values */
    check_foreign(BYTES("{" "N" "N" "0"));                        /* a name that is no text */
    check_foreign(BYTES("{" "z\x01" "a" "0"));                    /* a name without a value */
    check_foreign(BYTES("[\x01\x00\x00\x00" "0"));                /* an end in a list */
    check_foreign(BYTES("[\xFF\xFF\xFF\xFF" "N"));                /* longer than all bytes */
    check_foreign(BYTES("r\x00\x00\x00\x00"));                    /* nothing came before */
    check_foreign(BYTES("z\x05" "ab"));                           /* cut short */
    check_foreign(BYTES("g\x00\x00\x00\x00\x00\x00\xF0\x7F"));    /* infinity */
    check_foreign(BYTES("g\x00\x00\x00\x00\x00\x00\xF8\x7F"));    /* no number */
    check_foreign(BYTES("l\xFF\xFF\xFF\x7F\x01\x00"));            /* so many digits */
}

static void test_depth_is_bounded(void) {
    enum { LEVELS = 300 };
    char text[LEVELS * 5 + 1];
    for (uint32_t levels = 250; levels < LEVELS; levels++) {
        for (uint32_t i = 0; i < levels; i++) {
            memcpy(text + (size_t)5 * i, "[\x01\x00\x00\x00", 5);
        }
        text[5 * levels] = 'N';
        bool foreign;
        glk_document document = reading((bytes){text, (size_t)5 * levels + 1}, &foreign);
        CHECK_EQUAL(foreign, levels > GLK_DOCUMENT_DEPTH);
        glk_document_free(&document);
    }
}

/* Any bytes: what is read stays inside, and each alias leads to an item before the end. */
static void test_any_bytes(void) {
    static const char LETTERS[] = "{[0NTFigluztar\x80\x01\x00\xFF";
    for (uint32_t round = 0; round < 200000; round++) {
        char text[40];
        uint32_t count = check_random(sizeof text);
        for (uint32_t i = 0; i < count; i++) {
            text[i] = (char)(LETTERS[check_random(sizeof LETTERS - 1)] ^ (char)(check_random(2) << 7));
        }
        bool foreign;
        glk_document document = reading((bytes){text, count}, &foreign);
        for (uint32_t i = 0; !foreign && i < document.items.count; i++) {
            const glk_item *item = glk_item_at(&document, i);
            CHECK(item->end > i && item->end <= document.items.count);
            CHECK(glk_item_behind(&document, i) < document.items.count);
        }
        glk_document_free(&document);
    }
}

static glk_status attempt(void *context, glk_error *err) {
    const bytes *input = context;
    glk_document document;
    bool foreign;
    glk_document_init(&document, (const uint8_t *)input->text, input->count);
    glk_status status = glk_document_read(&document, &foreign, err);
    glk_document_free(&document);
    return status;
}

static void test_memory_runs_out(void) {
    bytes input = BYTES("\xFB" "z\x01" "a" "[\x01\x00\x00\x00" "N" "0");
    CHECK(check_failing_allocations(attempt, &input) >= 3);
}

int main(void) {
    test_every_kind();
    test_a_document_may_hold_itself();
    test_what_is_foreign();
    test_depth_is_bounded();
    test_any_bytes();
    test_memory_runs_out();
    return check_done();
}
