/* plain_leaf.c -- scalars of plain schemas: the table of leaves, and texts as they are written.
 * See plain.h. */
#include "plain.h"

/* ---- leaves ---- */

glk_status glk_plain_new(glk_exprs *exprs, const glk_plain_base *base, uint64_t max_bytes,
                         glk_plain **out, glk_error *err) {
    void *memory;
    GLK_TRY(glk_alloc(NULL, sizeof(glk_plain), &memory, err));
    glk_plain *self = memory;
    if (pthread_mutex_init(&self->lock, NULL) != 0) {
        glk_release(NULL, self, sizeof *self);
        return glk_fail_memory(err);
    }
    glk_account_init(&self->account, "leaf_bytes", max_bytes);
    glk_exprs_retain(exprs);
    self->exprs = exprs;
    self->base = *base;
    glk_vec_init(&self->keys, &self->account, 1);
    glk_vec_init(&self->leaves, &self->account, sizeof(glk_leaf));
    glk_index_init(&self->index, &self->account);
    *out = self;
    return GLK_OK;
}

void glk_plain_release(glk_plain *self) {
    if (self == NULL) {
        return;
    }
    glk_vec_free(&self->keys);
    glk_vec_free(&self->leaves);
    glk_index_free(&self->index);
    glk_exprs_release(self->exprs);
    (void)pthread_mutex_destroy(&self->lock);
    glk_release(NULL, self, sizeof *self);
}

static uint32_t hash_key(const uint8_t *key, size_t count) {
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++) {
        hash = glk_mix(hash, key[i]);
    }
    return (uint32_t)(hash ^ (hash >> 29));
}

static glk_leaf *find_leaf(const glk_plain *self, uint32_t hash, const uint8_t *key, size_t count) {
    uint32_t id;
    for (glk_probe p = glk_probe_start(&self->index, hash); glk_probe_next(&self->index, &p, &id);) {
        glk_leaf *found = (glk_leaf *)self->leaves.data + id;
        if (found->length == count &&
            memcmp((const uint8_t *)self->keys.data + found->key, key, count) == 0) {
            return found;
        }
    }
    return NULL;
}

static glk_status put_leaf(glk_plain *self, const uint8_t *key, size_t count, glk_leaf_kind kind,
                           uint32_t expr, glk_error *err) {
    uint32_t hash = hash_key(key, count);
    if (find_leaf(self, hash, key, count) != NULL) {
        return GLK_OK;
    }
    glk_leaf made = {.key = self->keys.count, .length = (uint32_t)count, .kind = (uint8_t)kind,
                 .expr = expr};
    GLK_TRY(glk_index_reserve(&self->index, err));
    GLK_TRY(glk_vec_reserve(&self->keys, (uint32_t)count, err));
    GLK_TRY(glk_vec_push(&self->leaves, &made, err));
    memcpy((uint8_t *)self->keys.data + made.key, key, count);
    self->keys.count += (uint32_t)count;
    return glk_index_add(&self->index, hash, self->leaves.count - 1, err);
}

glk_status glk_plain_put(glk_plain *self, const uint8_t *key, size_t count, glk_leaf_kind kind,
                         uint32_t expr, glk_error *err) {
    if (count >= UINT32_MAX / 2) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "a key of %zu bytes is too long", count);
    }
    (void)pthread_mutex_lock(&self->lock);
    glk_status status = put_leaf(self, key, count, kind, expr, err);
    if (status == GLK_ERR_LIMIT) { /* the table is a cache: begin again */
        glk_vec_free(&self->keys);
        glk_vec_free(&self->leaves);
        glk_index_free(&self->index);
        status = put_leaf(self, key, count, kind, expr, err);
    }
    (void)pthread_mutex_unlock(&self->lock);
    return status;
}

/* ---- keys ---- */

static glk_status push_bytes(glk_vec *text, const void *bytes, size_t count, glk_error *err) {
    GLK_TRY(glk_vec_reserve(text, (uint32_t)count, err));
    if (count > 0) {
        memcpy((uint8_t *)text->data + text->count, bytes, count);
    }
    text->count += (uint32_t)count;
    return GLK_OK;
}

static glk_status push_short(glk_reader *r, const char *text, glk_error *err) {
    uint8_t head[2] = {'z', (uint8_t)strlen(text)};
    GLK_TRY(push_bytes(&r->text, head, sizeof head, err));
    return push_bytes(&r->text, text, head[1], err);
}

/* A scalar as marshal writes it where nothing refers to it. */
static glk_status push_scalar(glk_reader *r, uint32_t index, glk_error *err) {
    const glk_item *item = glk_item_at(&r->document, index);
    const uint8_t *bytes = r->document.bytes + item->at;
    if (item->kind == GLK_ITEM_STRING) {
        uint8_t head[5] = {'u', (uint8_t)item->length, (uint8_t)(item->length >> 8),
                           (uint8_t)(item->length >> 16), (uint8_t)(item->length >> 24)};
        GLK_TRY(push_bytes(&r->text, head, sizeof head, err));
        return push_bytes(&r->text, bytes, item->length, err);
    }
    uint32_t length = item->length > 0 ? item->length : 1;
    uint8_t type = bytes[0] & 0x7F;
    GLK_TRY(push_bytes(&r->text, &type, 1, err));
    return push_bytes(&r->text, bytes + 1, length - 1, err);
}

/* The key of some keywords of a schema, beside a type (NULL: none), in `r->text`. */
static glk_status make_key(glk_reader *r, const char *type, const glk_own *own, glk_keyword first,
                           glk_keyword last, glk_error *err) {
    bool old = r->draft == 4 && first == GLK_K_MINIMUM; /* where exclusive bounds are flags */
    r->text.count = 0;
    GLK_TRY(push_bytes(&r->text, "{", 1, err));
    if (old) {
        GLK_TRY(push_short(r, "$schema", err));
        GLK_TRY(push_short(r, "http://json-schema.org/draft-04/schema", err));
    }
    if (type != NULL) {
        GLK_TRY(push_short(r, "type", err));
        GLK_TRY(push_short(r, type, err));
    }
    for (glk_keyword k = first; k <= last; k++) {
        if (own->value[k] != GLK_NONE) {
            GLK_TRY(push_short(r, glk_keyword_name(k), err));
            GLK_TRY(push_scalar(r, own->value[k], err));
        }
    }
    return push_bytes(&r->text, "0", 1, err);
}

/* What is known of the key in `r->text`; GLK_LEAF_UNKNOWN, and the key is asked for. */
static glk_status look_up(glk_reader *r, glk_leaf *out, glk_error *err) {
    glk_plain *plain = r->plain;
    const uint8_t *key = r->text.data;
    uint32_t count = r->text.count;
    (void)pthread_mutex_lock(&plain->lock);
    const glk_leaf *found = find_leaf(plain, hash_key(key, count), key, count);
    *out = found == NULL ? (glk_leaf){.kind = GLK_LEAF_UNKNOWN} : *found;
    (void)pthread_mutex_unlock(&plain->lock);
    if (out->kind == GLK_LEAF_DECLINED) {
        return glk_decline(r);
    }
    if (out->kind == GLK_LEAF_UNKNOWN) {
        r->missing = true;
        GLK_TRY(push_bytes(&r->needs, &count, sizeof count, err));
        return push_bytes(&r->needs, key, count, err);
    }
    return GLK_OK;
}

glk_status glk_leaf_asserts(glk_reader *r, uint32_t format, bool *out, glk_error *err) {
    glk_own own;
    glk_leaf found;
    memset(own.value, 0xFF, sizeof own.value);
    own.value[GLK_K_FORMAT] = format;
    GLK_TRY(make_key(r, NULL, &own, GLK_K_FORMAT, GLK_K_FORMAT, err));
    GLK_TRY(look_up(r, &found, err));
    *out = found.kind != GLK_LEAF_IGNORED;
    return GLK_OK;
}

/* ---- text ---- */

/* The letter of a short escape, 0 if the byte has none. */
static uint8_t short_escape(uint8_t byte) {
    switch (byte) {
    case '"': return '"';
    case '\\': return '\\';
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return 0;
    }
}

/* A JSON string with its quotes into `r->text`, escaped only where it has to be; declines lone
 * surrogates. */
static glk_status quote(glk_reader *r, uint32_t index, glk_error *err) {
    static const uint8_t HEX[] = "0123456789abcdef";
    const glk_item *item = glk_item_at(&r->document, index);
    const uint8_t *bytes = r->document.bytes + item->at;
    glk_vec *text = &r->text;
    text->count = 0;
    GLK_TRY(glk_vec_reserve(text, 2, err));
    GLK_TRY(push_bytes(text, "\"", 1, err));
    for (uint32_t i = 0; i < item->length; i++) {
        uint8_t byte = bytes[i];
        uint8_t escape[6] = {'\\', short_escape(byte)};
        size_t length = 2;
        if (byte == 0xED && i + 1 < item->length && bytes[i + 1] >= 0xA0) {
            return glk_decline(r);
        }
        if (escape[1] == 0 && byte < 0x20) {
            escape[1] = 'u';
            escape[2] = escape[3] = '0';
            escape[4] = HEX[byte >> 4];
            escape[5] = HEX[byte & 15];
            length = sizeof escape;
        } else if (escape[1] == 0) {
            escape[0] = byte;
            length = 1;
        }
        GLK_TRY(push_bytes(text, escape, length, err));
    }
    return push_bytes(text, "\"", 1, err);
}

static glk_status literal(glk_reader *r, const void *bytes, size_t count, uint32_t *out,
                          glk_error *err) {
    return glk_exprs_literal(r->plain->exprs, bytes, count, out, err);
}

glk_status glk_plain_literal(glk_reader *r, uint32_t index, uint32_t *out, glk_error *err) {
    GLK_TRY(quote(r, index, err));
    return literal(r, r->text.data, r->text.count, out, err);
}

/* The code point that begins at bytes[*at] of `count`; any number where they are no UTF-8. */
static uint32_t decode(const uint8_t *bytes, uint32_t count, uint32_t *at) {
    uint32_t lead = bytes[(*at)++];
    uint32_t more = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    uint32_t point = more == 0 ? lead : lead & (0x3Fu >> more);
    for (; more > 0 && *at < count; more--) {
        point = point << 6 | (bytes[(*at)++] & 0x3Fu);
    }
    return point;
}

/* Every spelling of one character. */
static glk_status spell(glk_reader *r, uint32_t point, uint32_t *out, glk_error *err) {
    glk_plain *plain = r->plain;
    uint32_t range[2] = {point, point};
    uint32_t known = 0;
    if (point < GLK_SPELLED) {
        (void)pthread_mutex_lock(&plain->lock);
        known = plain->spelled[point];
        (void)pthread_mutex_unlock(&plain->lock);
    }
    if (known == 0) {
        GLK_TRY(glk_exprs_codepoints(plain->exprs, range, 1, GLK_JSON, &known, err));
    }
    if (point < GLK_SPELLED) {
        (void)pthread_mutex_lock(&plain->lock);
        plain->spelled[point] = known;
        (void)pthread_mutex_unlock(&plain->lock);
    }
    *out = known;
    return GLK_OK;
}

glk_status glk_plain_spellings(glk_reader *r, uint32_t index, uint32_t *out, glk_error *err) {
    const glk_item *item = glk_item_at(&r->document, index);
    const uint8_t *bytes = r->document.bytes + item->at;
    uint32_t base = r->stack.count;
    for (uint32_t at = 0; at < item->length;) {
        uint32_t one;
        GLK_TRY(spell(r, decode(bytes, item->length, &at), &one, err));
        GLK_TRY(glk_vec_push_u32(&r->stack, one, err));
    }
    uint32_t count = r->stack.count - base;
    r->stack.count = base;
    return glk_exprs_concat(r->plain->exprs, GLK_VEC_U32(&r->stack) + base, count, out, err);
}

/* ---- scalars ---- */

static glk_status terminal(glk_reader *r, uint32_t expr, uint32_t *out, glk_error *err) {
    return glk_grammar_terminal(r->grammar, expr, out, err);
}

static glk_status push_terminal(glk_reader *r, uint32_t expr, glk_error *err) {
    uint32_t node;
    GLK_TRY(terminal(r, expr, &node, err));
    return glk_vec_push_u32(&r->stack, node, err);
}

/* A leaf: pushes its node, or its expression on `constants` where it is a single value. */
static glk_status push_leaf(glk_reader *r, glk_vec *constants, glk_error *err) {
    glk_leaf found;
    GLK_TRY(look_up(r, &found, err));
    if (found.kind == GLK_LEAF_UNKNOWN) {
        return push_terminal(r, r->plain->base.string, err); /* the document is read again */
    }
    return found.kind == GLK_LEAF_CONSTANT ? glk_vec_push_u32(constants, found.expr, err)
                                           : push_terminal(r, found.expr, err);
}

static bool has_any(const glk_own *own, glk_keyword first, glk_keyword last) {
    for (glk_keyword k = first; k <= last; k++) {
        if (own->value[k] != GLK_NONE) {
            return true;
        }
    }
    return false;
}

static glk_status push_strings(glk_reader *r, const glk_own *own, glk_vec *constants,
                               glk_error *err) {
    if (!has_any(own, GLK_K_MIN_LENGTH, GLK_K_FORMAT)) {
        return push_terminal(r, r->plain->base.string, err);
    }
    GLK_TRY(make_key(r, "string", own, GLK_K_MIN_LENGTH, GLK_K_FORMAT, err));
    return push_leaf(r, constants, err);
}

static glk_status push_numbers(glk_reader *r, const glk_own *own, glk_vec *constants,
                               glk_error *err) {
    const glk_plain_base *base = &r->plain->base;
    bool whole = (own->types & GLK_T_FRACTION) == 0;
    if (!has_any(own, GLK_K_MINIMUM, GLK_K_MULTIPLE)) {
        return push_terminal(r, whole ? base->integer : base->number, err);
    }
    const char *type = whole ? "integer" : "number";
    GLK_TRY(make_key(r, type, own, GLK_K_MINIMUM, GLK_K_MULTIPLE, err));
    return push_leaf(r, constants, err);
}

/* The expressions of one list's values that are of its types. */
static glk_status push_listed(glk_reader *r, const glk_listed *listed, glk_vec *constants,
                              glk_error *err) {
    const glk_document *d = &r->document;
    uint32_t at = listed->one ? listed->item : listed->item + 1;
    uint32_t end = listed->one ? at + 1 : glk_item_at(d, listed->item)->end;
    for (; at < end; at++) { /* scalars only */
        uint32_t index = glk_item_behind(d, at), expr = GLK_EXPR_NEVER;
        const glk_item *item = glk_item_at(d, index);
        char digits[16];
        if (item->kind == GLK_ITEM_STRING && (listed->types & GLK_T_STRING) != 0) {
            GLK_TRY(glk_plain_literal(r, index, &expr, err));
        } else if (item->kind == GLK_ITEM_INTEGER && (listed->types & GLK_T_NUMBER) != 0) {
            int length = snprintf(digits, sizeof digits, "%d", (int)item->integer);
            GLK_TRY(literal(r, digits, (size_t)length, &expr, err));
        } else if (item->kind == GLK_ITEM_NULL && (listed->types & GLK_T_NULL) != 0) {
            GLK_TRY(literal(r, "null", 4, &expr, err));
        } else if (item->kind == GLK_ITEM_TRUE && (listed->types & GLK_T_BOOLEAN) != 0) {
            GLK_TRY(literal(r, "true", 4, &expr, err));
        } else if (item->kind == GLK_ITEM_FALSE && (listed->types & GLK_T_BOOLEAN) != 0) {
            GLK_TRY(literal(r, "false", 5, &expr, err));
        }
        if (expr != GLK_EXPR_NEVER) {
            GLK_TRY(glk_vec_push_u32(constants, expr, err));
        }
    }
    return GLK_OK;
}

static glk_status push_flags(glk_reader *r, uint8_t open, glk_vec *constants, glk_error *err) {
    static const char *const TEXTS[] = {"null", "true", "false"};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t expr;
        if ((open & (i == 0 ? GLK_T_NULL : GLK_T_BOOLEAN)) != 0) {
            GLK_TRY(literal(r, TEXTS[i], strlen(TEXTS[i]), &expr, err));
            GLK_TRY(glk_vec_push_u32(constants, expr, err));
        }
    }
    return GLK_OK;
}

glk_status glk_plain_scalars(glk_reader *r, const glk_shape *shape, glk_vec *constants,
                             glk_error *err) {
    GLK_TRY(push_flags(r, shape->open, constants, err));
    for (uint32_t i = 0; i < shape->listed_count; i++) {
        glk_listed listed = ((const glk_listed *)r->listed.data)[shape->listed + i];
        GLK_TRY(push_listed(r, &listed, constants, err));
    }
    for (uint32_t i = 0; i < shape->own_count; i++) {
        const glk_own *own = glk_own_at(r, shape->own + i);
        if ((own->types & GLK_T_STRING) != 0) {
            GLK_TRY(push_strings(r, own, constants, err));
        }
    }
    for (uint32_t i = 0; i < shape->own_count; i++) {
        const glk_own *own = glk_own_at(r, shape->own + i);
        if ((own->types & GLK_T_NUMBER) != 0) {
            GLK_TRY(push_numbers(r, own, constants, err));
        }
    }
    if (constants->count == 0) {
        return GLK_OK;
    }
    uint32_t expr;
    GLK_TRY(glk_exprs_union(r->plain->exprs, constants->data, constants->count, &expr, err));
    return push_terminal(r, expr, err);
}
