/* document.c -- see document.h. */
#include "document.h"

#include <math.h>

enum { AGAIN = 0x80 }; /* on a type: the value counts among those that a later one may refer to */

typedef struct reader {
    glk_document *document;
    size_t at;
    bool foreign;
} reader;

void glk_document_init(glk_document *self, const uint8_t *bytes, size_t count) {
    self->bytes = bytes;
    self->count = count;
    glk_vec_init(&self->items, NULL, sizeof(glk_item));
    glk_vec_init(&self->named, NULL, sizeof(uint32_t));
    glk_vec_init(&self->open, NULL, sizeof(uint32_t));
}

void glk_document_free(glk_document *self) {
    glk_vec_free(&self->items);
    glk_vec_free(&self->named);
    glk_vec_free(&self->open);
}

/* The next `bytes` as one little-endian number; 0 where they are missing. */
static uint32_t number(reader *r, uint32_t bytes) {
    if (r->document->count - r->at < bytes) {
        r->foreign = true;
        return 0;
    }
    uint32_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        value |= (uint32_t)r->document->bytes[r->at++] << (8 * i);
    }
    return value;
}

static void skip(reader *r, size_t bytes) {
    if (r->document->count - r->at < bytes) {
        r->foreign = true;
    } else {
        r->at += bytes;
    }
}

static void read_string(reader *r, glk_item *item, uint32_t size_bytes) {
    item->kind = GLK_ITEM_STRING;
    item->length = number(r, size_bytes);
    item->at = (uint32_t)r->at;
    skip(r, item->length);
}

static void read_float(reader *r, glk_item *item) {
    double value = 0;
    size_t start = r->at;
    skip(r, sizeof value);
    if (!r->foreign) {
        uint64_t bits = 0;
        for (uint32_t i = 0; i < sizeof value; i++) {
            bits |= (uint64_t)r->document->bytes[start + i] << (8 * i);
        }
        memcpy(&value, &bits, sizeof value);
        r->foreign = !isfinite(value);
    }
    item->kind = GLK_ITEM_FLOAT;
    item->length = (uint32_t)(r->at - item->at);
}

/* An integer of any size: a signed count of digits of 15 bits, then these. */
static void read_big(reader *r, glk_item *item) {
    int64_t digits = (int32_t)number(r, 4);
    skip(r, 2 * (size_t)(digits < 0 ? -digits : digits));
    item->kind = GLK_ITEM_BIG;
    item->integer = digits < 0 ? -1 : 1;
    item->length = (uint32_t)(r->at - item->at);
}

static void read_alias(reader *r, glk_item *item) {
    uint32_t which = number(r, 4);
    item->kind = GLK_ITEM_ALIAS;
    if (which < r->document->named.count) {
        item->length = GLK_VEC_U32(&r->document->named)[which];
    } else {
        r->foreign = true;
    }
}

/* One value, its type read; a container's contents come later. */
static void read_value(reader *r, uint8_t type, glk_item *item) {
    item->at = (uint32_t)(r->at - 1);
    switch (type) {
    case 'N': item->kind = GLK_ITEM_NULL; break;
    case 'F': item->kind = GLK_ITEM_FALSE; break;
    case 'T': item->kind = GLK_ITEM_TRUE; break;
    case 'i':
        item->kind = GLK_ITEM_INTEGER;
        item->integer = (int32_t)number(r, 4);
        item->length = 5;
        break;
    case 'l': read_big(r, item); break;
    case 'g': read_float(r, item); break;
    case 'u':
    case 't':
    case 'a':
    case 'A': read_string(r, item, 4); break;
    case 'z':
    case 'Z': read_string(r, item, 1); break;
    case '[':
        item->kind = GLK_ITEM_LIST;
        item->length = number(r, 4);
        break;
    case '{': item->kind = GLK_ITEM_OBJECT; break;
    case 'r': read_alias(r, item); break;
    default: r->foreign = true;
    }
}

static glk_item *innermost(glk_document *self) {
    uint32_t index = GLK_VEC_U32(&self->open)[self->open.count - 1];
    return (glk_item *)self->items.data + index;
}

/* Closes lists that are complete; what they lack is kept in `end` while they are open. */
static void close_lists(glk_document *self) {
    while (self->open.count > 0) {
        glk_item *list = innermost(self);
        if (list->kind != GLK_ITEM_LIST || list->end > 0) {
            return;
        }
        list->end = self->items.count;
        self->open.count--;
    }
}

/* Notes that the innermost container got an item; names of members must be text. */
static void count_in(reader *r, const glk_item *item) {
    glk_document *self = r->document;
    glk_item *outer = innermost(self);
    if (outer->kind == GLK_ITEM_LIST) {
        outer->end--;
        return;
    }
    if (outer->end == 0) { /* a name comes */
        uint8_t kind = item->kind;
        if (kind == GLK_ITEM_ALIAS) {
            kind = glk_item_at(self, item->length)->kind;
        }
        r->foreign = r->foreign || kind != GLK_ITEM_STRING || outer->length >= GLK_DOCUMENT_MEMBERS;
        outer->end = 1;
    } else {
        outer->end = 0;
        outer->length++;
    }
}

static glk_status add(reader *r, uint8_t type, bool again, glk_error *err) {
    glk_document *self = r->document;
    glk_item item = {.end = self->items.count + 1};
    read_value(r, type, &item);
    if (r->foreign) {
        return GLK_OK;
    }
    if (self->open.count > 0) {
        count_in(r, &item);
    }
    bool holds = item.kind == GLK_ITEM_LIST || item.kind == GLK_ITEM_OBJECT;
    if (holds) {
        item.end = item.kind == GLK_ITEM_LIST ? item.length : 0;
        r->foreign = r->foreign || self->open.count >= GLK_DOCUMENT_DEPTH ||
                     item.end > self->count - r->at; /* each value takes a byte */
        GLK_TRY(glk_vec_push_u32(&self->open, self->items.count, err));
    }
    if (again) {
        GLK_TRY(glk_vec_push_u32(&self->named, self->items.count, err));
    }
    GLK_TRY(glk_vec_push(&self->items, &item, err));
    close_lists(self);
    return GLK_OK;
}

/* The end of an object, which must not stand between a name and its value. */
static void close_object(reader *r) {
    glk_document *self = r->document;
    glk_item *object = self->open.count > 0 ? innermost(self) : NULL;
    if (object == NULL || object->kind != GLK_ITEM_OBJECT || object->end != 0) {
        r->foreign = true;
        return;
    }
    object->end = self->items.count;
    self->open.count--;
    close_lists(self);
}

glk_status glk_document_read(glk_document *self, bool *foreign, glk_error *err) {
    reader r = {.document = self, .foreign = self->count >= UINT32_MAX};
    do {
        uint8_t type = (uint8_t)number(&r, 1);
        if (!r.foreign && type == '0') {
            close_object(&r);
        } else if (!r.foreign) {
            GLK_TRY(add(&r, type & (uint8_t)~AGAIN, (type & AGAIN) != 0, err));
        }
    } while (!r.foreign && self->open.count > 0);
    *foreign = r.foreign || r.at != self->count;
    return GLK_OK;
}

bool glk_item_lists(const glk_document *self, uint32_t list, uint32_t name) {
    const glk_item *wanted = glk_item_at(self, name);
    for (uint32_t at = list + 1; list != GLK_NONE && at < glk_item_at(self, list)->end; at++) {
        if (glk_item_is(self, glk_item_behind(self, at), self->bytes + wanted->at,
                        wanted->length)) {
            return true;
        }
    }
    return false;
}

uint32_t glk_item_member(const glk_document *self, uint32_t object, uint32_t name) {
    const glk_item *wanted = glk_item_at(self, name);
    for (uint32_t at = object + 1; object != GLK_NONE && at < glk_item_at(self, object)->end;
         at = glk_item_at(self, at + 1)->end) {
        if (glk_item_is(self, glk_item_behind(self, at), self->bytes + wanted->at,
                        wanted->length)) {
            return glk_item_behind(self, at + 1);
        }
    }
    return GLK_NONE;
}
