/* document.h -- a decoded JSON document as one flat table, out of the bytes of Python's marshal.
 * Tested by tests/c/test_document.c.
 *
 * marshal (format 4) is the cheapest exact picture of Python data: it tells 1 from True and 1.0, keeps
 * the order of members, and writes what occurs twice once, so a document that shares its parts stays
 * as small as it is.  Items stand in preorder, so a child follows its parent and `end` leads to the
 * next sibling; of an object come a name, its value, a name, ...  What occurs again is an ALIAS, and
 * may stand inside what it names.  The bytes are borrowed: strings and numbers are offsets into them.
 *
 * Bytes that hold anything but JSON data (or such data too deep, or too wide) are "foreign", which is
 * no error: whoever asks has another way to read them.  No byte is trusted.
 *
 * Cost: linear, one item for each value.  No recursion.
 */
#ifndef GLK_DOCUMENT_H
#define GLK_DOCUMENT_H

#include "vec.h"

enum { GLK_DOCUMENT_DEPTH = 256, GLK_DOCUMENT_MEMBERS = 20000 };

typedef enum glk_item_kind {
    GLK_ITEM_NULL,
    GLK_ITEM_FALSE,
    GLK_ITEM_TRUE,
    GLK_ITEM_INTEGER, /* of 32 bits */
    GLK_ITEM_BIG,     /* any other integer */
    GLK_ITEM_FLOAT,
    GLK_ITEM_STRING, /* UTF-8, perhaps with lone surrogates */
    GLK_ITEM_LIST,
    GLK_ITEM_OBJECT,
    GLK_ITEM_ALIAS
} glk_item_kind;

typedef struct glk_item {
    uint8_t kind;    /* glk_item_kind */
    int32_t integer; /* INTEGER */
    uint32_t at;     /* STRING: of its text; BIG, FLOAT, INTEGER: of what marshal wrote */
    uint32_t length; /* of that in bytes; ALIAS: the item that it is; LIST, OBJECT: values in it */
    uint32_t end;    /* the item after it and all that it holds */
} glk_item;

typedef struct glk_document {
    const uint8_t *bytes; /* borrowed */
    size_t count;
    glk_vec items; /* glk_item; the first one is the root */
    glk_vec named; /* u32: items that may occur again, as marshal counts them */
    glk_vec open;  /* u32: containers that are not closed yet */
} glk_document;

void glk_document_init(glk_document *self, const uint8_t *bytes, size_t count);
void glk_document_free(glk_document *self);

/* Fills `items`; *foreign tells whether the bytes are none of ours. */
glk_status glk_document_read(glk_document *self, bool *foreign, glk_error *err);

static inline const glk_item *glk_item_at(const glk_document *self, uint32_t index) {
    return (const glk_item *)self->items.data + index;
}

/* The item itself, of which `index` may be an alias. */
static inline uint32_t glk_item_behind(const glk_document *self, uint32_t index) {
    const glk_item *item = glk_item_at(self, index);
    return item->kind == GLK_ITEM_ALIAS ? item->length : index;
}

/* Whether `index`, no alias, is this text. */
static inline bool glk_item_is(const glk_document *self, uint32_t index, const uint8_t *text,
                               size_t count) {
    const glk_item *item = glk_item_at(self, index);
    return item->kind == GLK_ITEM_STRING && item->length == count &&
           memcmp(self->bytes + item->at, text, count) == 0;
}

/* Whether a list of texts (GLK_NONE: none) has the text at `name`. */
bool glk_item_lists(const glk_document *self, uint32_t list, uint32_t name);
/* What an object (GLK_NONE: none) has under the text at `name`, no alias; GLK_NONE: nothing. */
uint32_t glk_item_member(const glk_document *self, uint32_t object, uint32_t name);

#endif
