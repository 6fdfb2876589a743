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
        if (row->keyword == GLK_K_NAMING) {
            if (schema != 0 && kind_of(r, value) == GLK_ITEM_STRING) {
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
    uint32_t index = r->own.count;
    out->open = types;
    out->numbers = (types & GLK_T_NUMBER) != 0 ? index : GLK_NONE;
    out->strings = (types & GLK_T_STRING) != 0 ? index : GLK_NONE;
    out->arrays = (types & GLK_T_ARRAY) != 0 ? index : GLK_NONE;
    out->objects = (types & GLK_T_OBJECT) != 0 ? index : GLK_NONE;
    own->types = types;
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

/* Adds the values of a branch, whose types must be its own: else there is something to work out. */
static glk_status join(glk_reader *r, glk_shape *whole, const glk_shape *branch, bool exclusive) {
    uint8_t whole_open = whole->open, branch_open = branch->open;
    whole_open |= (whole_open & GLK_T_NUMBER) != 0 ? GLK_T_NUMBER : 0;
    branch_open |= (branch_open & GLK_T_NUMBER) != 0 ? GLK_T_NUMBER : 0;
    if (branch->anything || (branch->open | branch->constant) == 0 ||
        (whole_open & (branch->open | branch->constant)) != 0 ||
        (branch_open & (whole->open | whole->constant)) != 0) {
        return glk_decline(r);
    }
    const glk_listed *lists = r->listed.data;
    for (uint32_t i = 0; exclusive && i < whole->listed_count; i++) {
        for (uint32_t j = 0; j < branch->listed_count; j++) {
            if (!apart(r, &lists[whole->listed + i], &lists[branch->listed + j])) {
                return glk_decline(r);
            }
        }
    }
    whole->open |= branch->open;
    whole->constant |= branch->constant;
    whole->numbers = branch->numbers != GLK_NONE ? branch->numbers : whole->numbers;
    whole->strings = branch->strings != GLK_NONE ? branch->strings : whole->strings;
    whole->arrays = branch->arrays != GLK_NONE ? branch->arrays : whole->arrays;
    whole->objects = branch->objects != GLK_NONE ? branch->objects : whole->objects;
    whole->listed_count += branch->listed_count;
    return GLK_OK;
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
        GLK_TRY(join(r, out, &shape, exclusive));
    }
    r->shaping--;
    return GLK_OK;
}

/* ---- schemas ---- */

glk_status glk_shape_of(glk_reader *r, uint32_t item, glk_shape *out, glk_error *err) {
    glk_own own;
    *out = (glk_shape){.alias = GLK_NONE, .numbers = GLK_NONE, .strings = GLK_NONE,
                       .arrays = GLK_NONE, .objects = GLK_NONE, .listed = r->listed.count};
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
    if (own.found == BIT(GLK_K_ALL_OF)) {
        uint32_t list = own.value[GLK_K_ALL_OF];
        if (glk_item_at(&r->document, list)->length != 1) {
            return glk_decline(r);
        }
        out->alias = glk_item_behind(&r->document, list + 1);
        return is_schema(r, out->alias) ? GLK_OK : glk_decline(r);
    }
    if (own.found == BIT(GLK_K_ANY_OF)) {
        return shape_union(r, own.value[GLK_K_ANY_OF], false, out, err);
    }
    if (own.found == BIT(GLK_K_ONE_OF)) {
        return shape_union(r, own.value[GLK_K_ONE_OF], true, out, err);
    }
    return glk_decline(r);
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
