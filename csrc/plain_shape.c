/* plain_shape.c -- what a schema's keywords say, or that they are not for this road: see plain.h. */
#include "plain.h"

typedef struct keyword_row {
    const char *name;
    uint8_t length, keyword; /* glk_keyword */
    uint16_t since, until; /* drafts that know it */
} keyword_row;

enum { EVER = 4, NOW = 2020 };

#define ROW(name, keyword, since, until) {name, sizeof name - 1, keyword, since, until}

/* What no row names is an annotation, or says nothing without a keyword that is declined. */
static const keyword_row KEYWORDS[] = {
    ROW("type", GLK_K_TYPE, EVER, NOW),
    ROW("enum", GLK_K_ENUM, EVER, NOW),
    ROW("const", GLK_K_CONST, 6, NOW),
    ROW("minimum", GLK_K_MINIMUM, EVER, NOW),
    ROW("maximum", GLK_K_MAXIMUM, EVER, NOW),
    ROW("exclusiveMinimum", GLK_K_ABOVE, EVER, NOW),
    ROW("exclusiveMaximum", GLK_K_BELOW, EVER, NOW),
    ROW("multipleOf", GLK_K_MULTIPLE, EVER, NOW),
    ROW("minLength", GLK_K_MIN_LENGTH, EVER, NOW),
    ROW("maxLength", GLK_K_MAX_LENGTH, EVER, NOW),
    ROW("pattern", GLK_K_PATTERN, EVER, NOW),
    ROW("format", GLK_K_FORMAT, EVER, NOW),
    ROW("items", GLK_K_ITEMS, EVER, NOW),
    ROW("minItems", GLK_K_MIN_ITEMS, EVER, NOW),
    ROW("maxItems", GLK_K_MAX_ITEMS, EVER, NOW),
    ROW("uniqueItems", GLK_K_UNIQUE, EVER, NOW),
    ROW("properties", GLK_K_PROPERTIES, EVER, NOW),
    ROW("required", GLK_K_REQUIRED, EVER, NOW),
    ROW("additionalProperties", GLK_K_ADDITIONAL, EVER, NOW),
    ROW("$ref", GLK_K_REF, EVER, NOW),
    ROW("allOf", GLK_K_ALL_OF, EVER, NOW),
    ROW("anyOf", GLK_K_ANY_OF, EVER, NOW),
    ROW("oneOf", GLK_K_ONE_OF, EVER, NOW),
    ROW("$id", GLK_K_NAMING, EVER, NOW),
    ROW("id", GLK_K_NAMING, EVER, NOW),
    ROW("$anchor", GLK_K_NAMING, EVER, NOW),
    ROW("$dynamicAnchor", GLK_K_NAMING, EVER, NOW),
    ROW("$schema", GLK_K_DIALECT, EVER, NOW),
    ROW("not", GLK_K_OTHER, EVER, NOW),
    ROW("dependencies", GLK_K_OTHER, EVER, NOW),
    ROW("patternProperties", GLK_K_OTHER, EVER, NOW),
    ROW("minProperties", GLK_K_OTHER, EVER, NOW),
    ROW("maxProperties", GLK_K_OTHER, EVER, NOW),
    ROW("contains", GLK_K_OTHER, 6, NOW),
    ROW("propertyNames", GLK_K_OTHER, 6, NOW),
    ROW("if", GLK_K_OTHER, 7, NOW),
    ROW("dependentRequired", GLK_K_OTHER, 2019, NOW),
    ROW("dependentSchemas", GLK_K_OTHER, 2019, NOW),
    ROW("unevaluatedItems", GLK_K_OTHER, 2019, NOW),
    ROW("unevaluatedProperties", GLK_K_OTHER, 2019, NOW),
    ROW("$recursiveRef", GLK_K_OTHER, 2019, 2019),
    ROW("prefixItems", GLK_K_OTHER, 2020, NOW),
    ROW("$dynamicRef", GLK_K_OTHER, 2020, NOW),
};
enum { ROWS = sizeof KEYWORDS / sizeof KEYWORDS[0] };

#define BIT(keyword) (1u << (keyword))

static const uint32_t NUMERIC = BIT(GLK_K_MINIMUM) | BIT(GLK_K_MAXIMUM) | BIT(GLK_K_ABOVE) |
                                BIT(GLK_K_BELOW) | BIT(GLK_K_MULTIPLE);
static const uint32_t TEXTUAL = BIT(GLK_K_MIN_LENGTH) | BIT(GLK_K_MAX_LENGTH) |
                                BIT(GLK_K_PATTERN) | BIT(GLK_K_FORMAT);
static const uint32_t BRANCHING = BIT(GLK_K_ALL_OF) | BIT(GLK_K_ANY_OF) | BIT(GLK_K_ONE_OF);
static const uint32_t LISTING = BIT(GLK_K_ENUM) | BIT(GLK_K_CONST);

const char *glk_keyword_name(glk_keyword keyword) {
    for (uint32_t i = 0; i < ROWS; i++) {
        if (KEYWORDS[i].keyword == keyword) {
            return KEYWORDS[i].name;
        }
    }
    return "";
}

static const keyword_row *row_of(const glk_reader *r, const uint8_t *name, size_t length) {
    for (uint32_t i = 0; i < ROWS; i++) {
        const keyword_row *row = &KEYWORDS[i];
        if (row->length == length && memcmp(row->name, name, length) == 0) {
            return r->draft >= row->since && r->draft <= row->until ? row : NULL;
        }
    }
    return NULL;
}

static uint8_t kind_of(const glk_reader *r, uint32_t item) {
    return glk_item_at(&r->document, item)->kind;
}

static bool is_schema(const glk_reader *r, uint32_t item) {
    uint8_t kind = kind_of(r, item);
    return kind == GLK_ITEM_OBJECT || kind == GLK_ITEM_TRUE || kind == GLK_ITEM_FALSE;
}

/* ---- the keywords of one schema ---- */

static glk_status read_own(glk_reader *r, uint32_t schema, glk_own *own) {
    const glk_document *d = &r->document;
    memset(own->value, 0xFF, sizeof own->value);
    own->found = 0;
    for (uint32_t at = schema + 1; at < glk_item_at(d, schema)->end;) {
        const glk_item *name = glk_item_at(d, glk_item_behind(d, at));
        uint32_t value = at + 1;
        at = glk_item_at(d, value)->end;
        const keyword_row *row =
            name->length == 0 ? NULL : row_of(r, d->bytes + name->at, name->length);
        if (row == NULL) {
            continue;
        }
        value = glk_item_behind(d, value);
        if (row->keyword == GLK_K_NAMING || row->keyword == GLK_K_DIALECT) {
            bool text = schema != 0 && kind_of(r, value) == GLK_ITEM_STRING;
            r->named = r->named || (text && row->keyword == GLK_K_NAMING);
            if (text && row->keyword == GLK_K_DIALECT) {
                return glk_decline(r);
            }
            continue;
        }
        if (row->keyword == GLK_K_OTHER) {
            return glk_decline(r);
        }
        own->value[row->keyword] = value;
        own->found |= BIT(row->keyword);
    }
    return GLK_OK;
}

static bool is_count(const glk_reader *r, uint32_t item) {
    const glk_item *found = glk_item_at(&r->document, item);
    return found->kind == GLK_ITEM_INTEGER && found->integer >= 0;
}

static bool is_number(const glk_reader *r, uint32_t item) {
    uint8_t kind = kind_of(r, item);
    return kind == GLK_ITEM_INTEGER || kind == GLK_ITEM_BIG || kind == GLK_ITEM_FLOAT;
}

static bool is_bound(const glk_reader *r, glk_keyword keyword, uint32_t item) {
    if (r->draft == 4 && (keyword == GLK_K_ABOVE || keyword == GLK_K_BELOW)) {
        return kind_of(r, item) == GLK_ITEM_TRUE || kind_of(r, item) == GLK_ITEM_FALSE;
    }
    return is_number(r, item);
}

static bool is_list_of_names(const glk_reader *r, uint32_t item) {
    const glk_document *d = &r->document;
    if (kind_of(r, item) != GLK_ITEM_LIST) {
        return false;
    }
    for (uint32_t at = item + 1; at < glk_item_at(d, item)->end; at = glk_item_at(d, at)->end) {
        if (kind_of(r, glk_item_behind(d, at)) != GLK_ITEM_STRING) {
            return false;
        }
    }
    return true;
}

/* Whether the members of `properties` are schemas. */
static bool are_schemas(const glk_reader *r, uint32_t item) {
    const glk_document *d = &r->document;
    if (kind_of(r, item) != GLK_ITEM_OBJECT) {
        return false;
    }
    for (uint32_t at = item + 1; at < glk_item_at(d, item)->end; at = glk_item_at(d, at)->end) {
        at++;
        if (!is_schema(r, glk_item_behind(d, at))) {
            return false;
        }
    }
    return true;
}

static bool is_right(const glk_reader *r, glk_keyword keyword, uint32_t value) {
    switch (keyword) {
    case GLK_K_MINIMUM:
    case GLK_K_MAXIMUM:
    case GLK_K_ABOVE:
    case GLK_K_BELOW:
    case GLK_K_MULTIPLE: return is_bound(r, keyword, value);
    case GLK_K_MIN_LENGTH:
    case GLK_K_MAX_LENGTH:
    case GLK_K_MIN_ITEMS:
    case GLK_K_MAX_ITEMS: return is_count(r, value);
    case GLK_K_PATTERN:
    case GLK_K_FORMAT:
    case GLK_K_REF: return kind_of(r, value) == GLK_ITEM_STRING;
    case GLK_K_ITEMS:
    case GLK_K_ADDITIONAL: return is_schema(r, value);
    case GLK_K_UNIQUE: return kind_of(r, value) == GLK_ITEM_FALSE;
    case GLK_K_PROPERTIES: return are_schemas(r, value);
    case GLK_K_REQUIRED: return is_list_of_names(r, value);
    case GLK_K_ENUM:
    case GLK_K_ALL_OF:
    case GLK_K_ANY_OF:
    case GLK_K_ONE_OF: return kind_of(r, value) == GLK_ITEM_LIST;
    default: return true;
    }
}

static bool all_right(const glk_reader *r, const glk_own *own) {
    for (uint32_t k = 0; k < GLK_KEYWORDS; k++) {
        if (own->value[k] != GLK_NONE && !is_right(r, (glk_keyword)k, own->value[k])) {
            return false;
        }
    }
    return true;
}

/* ---- types ---- */

static uint8_t type_bits(const glk_reader *r, uint32_t item) {
    static const struct {
        const char *name;
        uint8_t bits;
    } TYPES[] = {
        {"string", GLK_T_STRING}, {"object", GLK_T_OBJECT},   {"array", GLK_T_ARRAY},
        {"number", GLK_T_NUMBER}, {"integer", GLK_T_INTEGER}, {"boolean", GLK_T_BOOLEAN},
        {"null", GLK_T_NULL},
    };
    for (uint32_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
        const char *name = TYPES[i].name;
        if (glk_item_is(&r->document, item, (const uint8_t *)name, strlen(name))) {
            return TYPES[i].bits;
        }
    }
    return 0;
}

/* The types that `type` leaves. */
static glk_status read_types(glk_reader *r, uint32_t item, uint8_t *out) {
    const glk_document *d = &r->document;
    *out = GLK_T_ALL;
    if (item == GLK_NONE) {
        return GLK_OK;
    }
    if (kind_of(r, item) != GLK_ITEM_LIST) {
        *out = type_bits(r, item);
        return *out == 0 ? glk_decline(r) : GLK_OK;
    }
    *out = 0;
    for (uint32_t at = item + 1; at < glk_item_at(d, item)->end; at = glk_item_at(d, at)->end) {
        uint8_t bits = type_bits(r, glk_item_behind(d, at));
        if (bits == 0) {
            return glk_decline(r);
        }
        *out |= bits;
    }
    return *out == 0 ? glk_decline(r) : GLK_OK;
}

/* The type of a value that can be listed; 0 for those that are not written here. */
static uint8_t listable(const glk_reader *r, uint32_t item) {
    switch (kind_of(r, item)) {
    case GLK_ITEM_NULL: return GLK_T_NULL;
    case GLK_ITEM_FALSE:
    case GLK_ITEM_TRUE: return GLK_T_BOOLEAN;
    case GLK_ITEM_INTEGER: return GLK_T_INTEGER;
    case GLK_ITEM_STRING: return GLK_T_STRING;
    default: return 0;
    }
}

/* enum or const, beside nothing but a type. */
static glk_status shape_listed(glk_reader *r, const glk_own *own, uint8_t types, glk_shape *out,
                               glk_error *err) {
    const glk_document *d = &r->document;
    bool one = (own->found & BIT(GLK_K_CONST)) != 0;
    glk_listed listed = {.item = own->value[one ? GLK_K_CONST : GLK_K_ENUM], .one = one,
                         .types = types};
    if ((own->found & ~(LISTING | BIT(GLK_K_TYPE))) != 0 || (own->found & LISTING) == LISTING) {
        return glk_decline(r);
    }
    uint32_t at = one ? listed.item : listed.item + 1;
    uint32_t end = one ? at + 1 : glk_item_at(d, listed.item)->end;
    while (at < end) {
        uint8_t type = listable(r, glk_item_behind(d, at));
        if (type == 0) {
            return glk_decline(r);
        }
        out->constant |= type & types;
        at = one ? end : glk_item_at(d, at)->end;
    }
    if (out->constant == 0) {
        return glk_decline(r); /* none of the values is left */
    }
    out->listed_count++;
    return glk_vec_push(&r->listed, &listed, err);
}

/* Subschemas of types that the schema has no values of are read by the general road only. */
static bool has_idle_schemas(const glk_reader *r, const glk_own *own, uint8_t types) {
    uint32_t rest = own->value[GLK_K_ADDITIONAL];
    bool idle_objects = (types & GLK_T_OBJECT) == 0 &&
                        ((own->found & BIT(GLK_K_PROPERTIES)) != 0 ||
                         (rest != GLK_NONE && kind_of(r, rest) == GLK_ITEM_OBJECT));
    bool idle_items = (own->found & BIT(GLK_K_ITEMS)) != 0 &&
                      kind_of(r, own->value[GLK_K_ITEMS]) == GLK_ITEM_OBJECT &&
                      ((types & GLK_T_ARRAY) == 0 ||
                       ((own->found & BIT(GLK_K_MAX_ITEMS)) != 0 &&
                        glk_item_at(&r->document, own->value[GLK_K_MAX_ITEMS])->integer == 0));
    return idle_objects || idle_items;
}

static glk_status shape_own(glk_reader *r, glk_own *own, glk_shape *out, glk_error *err) {
    uint8_t types;
    GLK_TRY(read_types(r, own->value[GLK_K_TYPE], &types));
    if ((own->found & BIT(GLK_K_FORMAT)) != 0) {
        bool asserts = false;
        GLK_TRY(glk_leaf_asserts(r, own->value[GLK_K_FORMAT], &asserts, err));
        if (!asserts) {
            own->found &= ~BIT(GLK_K_FORMAT);
            own->value[GLK_K_FORMAT] = GLK_NONE;
        }
    }
    out->anything = own->found == 0 || own->found == BIT(GLK_K_UNIQUE);
    if ((own->found & LISTING) != 0) {
        return shape_listed(r, own, types, out, err);
    }
    if (has_idle_schemas(r, own, types) ||
        ((own->found & BIT(GLK_K_PATTERN)) != 0 && (types & GLK_T_STRING) == 0) ||
        ((own->found & NUMERIC) != 0 && (types & GLK_T_NUMBER) == 0)) {
        return glk_decline(r);
    }
    out->open = own->types = types;
    out->own_count++;
    return glk_vec_push(&r->own, own, err);
}

/* ---- references ---- */

/* One step of a JSON pointer, its token unescaped in place of `r->text`. */
static glk_status step(glk_reader *r, uint32_t *item, const uint8_t *token, size_t length,
                       glk_error *err) {
    const glk_document *d = &r->document;
    if (kind_of(r, *item) != GLK_ITEM_OBJECT) {
        return glk_decline(r);
    }
    r->text.count = 0;
    for (size_t i = 0; i < length; i++) {
        uint8_t byte = token[i];
        if (byte == '~' && i + 1 < length && (token[i + 1] == '0' || token[i + 1] == '1')) {
            byte = token[++i] == '0' ? '~' : '/';
        }
        GLK_TRY(glk_vec_push(&r->text, &byte, err));
    }
    uint32_t found = GLK_NONE;
    for (uint32_t at = *item + 1; at < glk_item_at(d, *item)->end;) {
        uint32_t name = glk_item_behind(d, at), value = glk_item_behind(d, at + 1);
        const glk_item *key = glk_item_at(d, name);
        const keyword_row *row =
            key->length == 0 ? NULL : row_of(r, d->bytes + key->at, key->length);
        if (*item != 0 && row != NULL && row->keyword == GLK_K_NAMING &&
            kind_of(r, value) == GLK_ITEM_STRING) {
            return glk_decline(r); /* references inside are relative to another resource */
        }
        if (glk_item_is(d, name, r->text.data, r->text.count)) {
            found = value;
        }
        at = glk_item_at(d, at + 1)->end;
    }
    *item = found;
    return found == GLK_NONE ? glk_decline(r) : GLK_OK;
}

/* The schema that a local reference leads to. */
static glk_status follow(glk_reader *r, uint32_t reference, uint32_t *out, glk_error *err) {
    const glk_item *item = glk_item_at(&r->document, reference);
    const uint8_t *text = r->document.bytes + item->at;
    uint32_t length = item->length, at = 1;
    r->refers = true;
    if (length == 0 || text[0] != '#' || (length > 1 && text[1] != '/') ||
        memchr(text, '%', length) != NULL) {
        return glk_decline(r);
    }
    *out = 0;
    while (at < length) {
        uint32_t end = ++at;
        while (end < length && text[end] != '/') {
            end++;
        }
        GLK_TRY(step(r, out, text + at, end - at, err));
        at = end;
    }
    return is_schema(r, *out) ? GLK_OK : glk_decline(r);
}

/* ---- unions ---- */

static bool same_listed(const glk_reader *r, uint32_t x, uint32_t y) {
    const glk_document *d = &r->document;
    const glk_item *a = glk_item_at(d, x), *b = glk_item_at(d, y);
    if (a->kind != b->kind) {
        return false;
    }
    return a->kind == GLK_ITEM_STRING ? glk_item_is(d, x, d->bytes + b->at, b->length)
                                      : a->kind != GLK_ITEM_INTEGER || a->integer == b->integer;
}

/* Whether two lists of values have none in common (types aside, which leaves more of them). */
static bool apart(const glk_reader *r, const glk_listed *a, const glk_listed *b) {
    const glk_document *d = &r->document;
    uint32_t a_end = a->one ? a->item + 1 : glk_item_at(d, a->item)->end;
    uint32_t b_end = b->one ? b->item + 1 : glk_item_at(d, b->item)->end;
    for (uint32_t i = a->one ? a->item : a->item + 1; i < a_end; i++) {
        for (uint32_t j = b->one ? b->item : b->item + 1; j < b_end; j++) {
            if (same_listed(r, glk_item_behind(d, i), glk_item_behind(d, j))) {
                return false;
            }
        }
    }
    return true;
}

static bool is_nothing(const glk_reader *r, uint32_t item) { /* absent, or 0, or empty, or true */
    const glk_item *found = item == GLK_NONE ? NULL : glk_item_at(&r->document, item);
    return found == NULL || found->kind == GLK_ITEM_TRUE ||
           (found->kind == GLK_ITEM_INTEGER && found->integer == 0) ||
           ((found->kind == GLK_ITEM_LIST || found->kind == GLK_ITEM_OBJECT) &&
            found->length == 0);
}

/* Whether the alternative has all values of `type`, so that a union with it absorbs others. */
static bool is_whole(const glk_reader *r, const glk_own *own, uint8_t type) {
    const uint32_t *value = own->value;
    switch (type) {
    case GLK_T_NUMBER: return (own->types & GLK_T_FRACTION) != 0 && (own->found & NUMERIC) == 0;
    case GLK_T_STRING:
        return (own->found & TEXTUAL & ~BIT(GLK_K_MIN_LENGTH)) == 0 &&
               is_nothing(r, value[GLK_K_MIN_LENGTH]);
    case GLK_T_ARRAY:
        return value[GLK_K_MAX_ITEMS] == GLK_NONE && is_nothing(r, value[GLK_K_MIN_ITEMS]) &&
               is_nothing(r, value[GLK_K_ITEMS]);
    default:
        return is_nothing(r, value[GLK_K_PROPERTIES]) && is_nothing(r, value[GLK_K_REQUIRED]) &&
               is_nothing(r, value[GLK_K_ADDITIONAL]);
    }
}

/* Whether the objects of an alternative are told by their names alone: such ones share a container. */
static bool says_no_values(const glk_reader *r, const glk_own *own) {
    const glk_document *d = &r->document;
    uint32_t all = own->value[GLK_K_PROPERTIES], rest = own->value[GLK_K_ADDITIONAL];
    if (rest != GLK_NONE && kind_of(r, rest) == GLK_ITEM_OBJECT) {
        return false;
    }
    for (uint32_t at = all + 1; all != GLK_NONE && at < glk_item_at(d, all)->end;
         at = glk_item_at(d, at + 1)->end) {
        if (kind_of(r, glk_item_behind(d, at + 1)) == GLK_ITEM_OBJECT) {
            return false;
        }
    }
    return true;
}

/* Whether the union of two alternatives keeps both as they are. */
static bool stay_beside(const glk_reader *r, const glk_own *a, const glk_own *b) {
    static const uint8_t KINDS[] = {GLK_T_NUMBER, GLK_T_STRING, GLK_T_ARRAY, GLK_T_OBJECT};
    for (uint32_t i = 0; i < sizeof KINDS; i++) {
        uint8_t kind = KINDS[i];
        if ((a->types & kind) != 0 && (b->types & kind) != 0 &&
            (is_whole(r, a, kind) || is_whole(r, b, kind))) {
            return false;
        }
    }
    return (a->types & b->types & GLK_T_OBJECT) == 0 || !says_no_values(r, a) ||
           !says_no_values(r, b);
}

/* What the schema lists, if it does no more than that; no unions, no references. */
static glk_status listed_by(glk_reader *r, uint32_t schema, glk_listed *out, bool *found,
                            glk_error *err) {
    glk_own own;
    glk_shape shape = {.alias = GLK_NONE};
    uint32_t mark = r->listed.count;
    uint8_t types;
    *found = false;
    if (schema == GLK_NONE || kind_of(r, schema) != GLK_ITEM_OBJECT) {
        return GLK_OK;
    }
    GLK_TRY(read_own(r, schema, &own));
    if ((own.found & LISTING) == 0 || (own.found & (BRANCHING | BIT(GLK_K_REF))) != 0) {
        return GLK_OK;
    }
    if (!all_right(r, &own)) {
        return glk_decline(r);
    }
    GLK_TRY(read_types(r, own.value[GLK_K_TYPE], &types));
    GLK_TRY(shape_listed(r, &own, types, &shape, err));
    *out = ((const glk_listed *)r->listed.data)[mark];
    r->listed.count = mark;
    *found = true;
    return GLK_OK;
}

/* Whether a member that both kinds of object need has other values in each: it says which is meant. */
static glk_status told_apart(glk_reader *r, const glk_own *a, const glk_own *b, bool *out,
                             glk_error *err) {
    const glk_document *d = &r->document;
    uint32_t properties = a->value[GLK_K_PROPERTIES];
    *out = false;
    for (uint32_t at = properties + 1;
         !*out && properties != GLK_NONE && at < glk_item_at(d, properties)->end;
         at = glk_item_at(d, at + 1)->end) {
        uint32_t name = glk_item_behind(d, at);
        glk_listed ours, theirs;
        bool found = glk_item_lists(d, a->value[GLK_K_REQUIRED], name) &&
                     glk_item_lists(d, b->value[GLK_K_REQUIRED], name);
        if (found) {
            GLK_TRY(listed_by(r, glk_item_behind(d, at + 1), &ours, &found, err));
        }
        if (found) {
            uint32_t other = glk_item_member(d, b->value[GLK_K_PROPERTIES], name);
            GLK_TRY(listed_by(r, other, &theirs, &found, err));
        }
        *out = found && apart(r, &ours, &theirs);
    }
    return GLK_OK;
}

/* Whether no value is in both of two alternatives, as far as that shows at once. */
static glk_status exclude(glk_reader *r, const glk_own *a, const glk_own *b, bool *out,
                          glk_error *err) {
    uint8_t both = a->types & b->types;
    if ((a->types & GLK_T_NUMBER) != 0 && (b->types & GLK_T_NUMBER) != 0) {
        both |= GLK_T_NUMBER;
    }
    *out = both == 0;
    return both == GLK_T_OBJECT ? told_apart(r, a, b, out, err) : GLK_OK;
}

/* Whether the listed values of a shape and the open types of another have some kind in common. */
static bool mixes(const glk_shape *listed, const glk_shape *open) {
    uint8_t types = open->open | ((open->open & GLK_T_NUMBER) != 0 ? GLK_T_NUMBER : 0);
    return (types & listed->constant) != 0;
}

/* Adds the values of a branch to a union; declines where the two would have to be worked out. */
static glk_status join(glk_reader *r, glk_shape *whole, const glk_shape *branch, bool exclusive,
                       glk_error *err) {
    const glk_listed *lists = r->listed.data;
    if (branch->anything || (branch->open | branch->constant) == 0 || mixes(whole, branch) ||
        mixes(branch, whole)) {
        return glk_decline(r);
    }
    for (uint32_t i = 0; exclusive && i < whole->listed_count; i++) {
        for (uint32_t j = 0; j < branch->listed_count; j++) {
            if (!apart(r, &lists[whole->listed + i], &lists[branch->listed + j])) {
                return glk_decline(r);
            }
        }
    }
    for (uint32_t i = 0; i < whole->own_count; i++) {
        for (uint32_t j = 0; j < branch->own_count; j++) {
            glk_own a = *glk_own_at(r, whole->own + i), b = *glk_own_at(r, branch->own + j);
            bool fine = !exclusive;
            if (exclusive) {
                GLK_TRY(exclude(r, &a, &b, &fine, err));
            }
            if (!fine || !stay_beside(r, &a, &b)) {
                return glk_decline(r);
            }
        }
    }
    whole->open |= branch->open;
    whole->constant |= branch->constant;
    whole->own_count += branch->own_count;
    whole->listed_count += branch->listed_count;
    return GLK_OK;
}

/* Cuts a union down to some types. */
static glk_status narrow(glk_reader *r, glk_shape *shape, uint8_t types) {
    uint32_t kept = 0;
    shape->open = shape->constant = 0;
    for (uint32_t i = 0; i < shape->own_count; i++) {
        glk_own own = *glk_own_at(r, shape->own + i);
        bool drops_conditions = (own.types & ~types) != 0 && (own.found & ~BIT(GLK_K_TYPE)) != 0;
        if (((own.types & GLK_T_FRACTION) != 0 && (types & GLK_T_NUMBER) == GLK_T_INTEGER) ||
            drops_conditions) { /* which must be right all the same */
            return glk_decline(r);
        }
        own.types &= types;
        if (own.types != 0) {
            shape->open |= own.types;
            *glk_own_at(r, shape->own + kept++) = own;
        }
    }
    shape->own_count = kept;
    for (uint32_t i = 0; i < shape->listed_count; i++) {
        glk_listed *listed = (glk_listed *)r->listed.data + shape->listed + i;
        listed->types &= types;
        shape->constant |= listed->types;
    }
    return (shape->open | shape->constant) == 0 ? glk_decline(r) : GLK_OK;
}

static glk_status shape_union(glk_reader *r, uint32_t list, bool exclusive, glk_shape *out,
                              glk_error *err) {
    const glk_document *d = &r->document;
    if (glk_item_at(d, list)->length == 0 || r->shaping >= GLK_PLAIN_DEPTH) {
        return glk_decline(r);
    }
    r->shaping++;
    for (uint32_t at = list + 1; at < glk_item_at(d, list)->end; at = glk_item_at(d, at)->end) {
        uint32_t branch = glk_item_behind(d, at);
        glk_shape shape;
        for (uint32_t hops = 0;; hops++) {
            if (hops > GLK_PLAIN_DEPTH || kind_of(r, branch) != GLK_ITEM_OBJECT) {
                return glk_decline(r);
            }
            GLK_TRY(glk_shape_of(r, branch, &shape, err));
            if (shape.alias == GLK_NONE) {
                break;
            }
            branch = shape.alias;
        }
        GLK_TRY(join(r, out, &shape, exclusive, err));
    }
    r->shaping--;
    return GLK_OK;
}

/* ---- schemas ---- */

glk_status glk_shape_of(glk_reader *r, uint32_t item, glk_shape *out, glk_error *err) {
    glk_own own;
    *out = (glk_shape){.alias = GLK_NONE, .own = r->own.count, .listed = r->listed.count};
    if (++r->schemas > GLK_PLAIN_SCHEMAS) {
        return glk_decline(r);
    }
    GLK_TRY(read_own(r, item, &own));
    if ((own.found & BIT(GLK_K_REF)) != 0) { /* up to draft 7 it hides what stands beside it */
        bool alone = r->draft <= 7 || own.found == BIT(GLK_K_REF);
        if (!alone || kind_of(r, own.value[GLK_K_REF]) != GLK_ITEM_STRING) {
            return glk_decline(r);
        }
        return follow(r, own.value[GLK_K_REF], &out->alias, err);
    }
    if (!all_right(r, &own)) {
        return glk_decline(r);
    }
    if ((own.found & BRANCHING) == 0) {
        return shape_own(r, &own, out, err);
    }
    uint32_t branching = own.found & BRANCHING;
    if (own.found == BIT(GLK_K_ALL_OF)) {
        uint32_t list = own.value[GLK_K_ALL_OF];
        if (glk_item_at(&r->document, list)->length != 1) {
            return glk_decline(r);
        }
        out->alias = glk_item_behind(&r->document, list + 1);
        return is_schema(r, out->alias) ? GLK_OK : glk_decline(r);
    }
    if ((branching != BIT(GLK_K_ANY_OF) && branching != BIT(GLK_K_ONE_OF)) ||
        (own.found & ~(branching | BIT(GLK_K_TYPE))) != 0) {
        return glk_decline(r);
    }
    bool exclusive = branching == BIT(GLK_K_ONE_OF);
    uint32_t branches = own.value[exclusive ? GLK_K_ONE_OF : GLK_K_ANY_OF];
    GLK_TRY(shape_union(r, branches, exclusive, out, err));
    if ((own.found & BIT(GLK_K_TYPE)) == 0) {
        return GLK_OK;
    }
    uint8_t types;
    GLK_TRY(read_types(r, own.value[GLK_K_TYPE], &types));
    return narrow(r, out, types);
}

glk_status glk_draft_of(glk_reader *r, uint16_t fallback, glk_error *err) {
    static const struct {
        const char *uri;
        uint16_t draft;
    } DRAFTS[] = {
        {"http://json-schema.org/draft-04/schema", 4},
        {"http://json-schema.org/draft-06/schema", 6},
        {"http://json-schema.org/draft-07/schema", 7},
        {"https://json-schema.org/draft/2019-09/schema", 2019},
        {"https://json-schema.org/draft/2020-12/schema", 2020},
    };
    const glk_document *d = &r->document;
    (void)err;
    r->draft = fallback;
    if (kind_of(r, 0) != GLK_ITEM_OBJECT) {
        return GLK_OK;
    }
    for (uint32_t at = 1; at < glk_item_at(d, 0)->end; at = glk_item_at(d, at + 1)->end) {
        if (!glk_item_is(d, glk_item_behind(d, at), (const uint8_t *)"$schema", 7)) {
            continue;
        }
        const glk_item *uri = glk_item_at(d, glk_item_behind(d, at + 1));
        const uint8_t *text = d->bytes + uri->at;
        uint32_t length = uri->length;
        length -= uri->kind == GLK_ITEM_STRING && length > 0 && text[length - 1] == '#';
        for (uint32_t i = 0; i < sizeof DRAFTS / sizeof DRAFTS[0]; i++) {
            if (uri->kind == GLK_ITEM_STRING && strlen(DRAFTS[i].uri) == length &&
                memcmp(DRAFTS[i].uri, text, length) == 0) {
                r->draft = DRAFTS[i].draft;
                return GLK_OK;
            }
        }
        return glk_decline(r);
    }
    return GLK_OK;
}
