/* value.c -- see value.h.  One reader serves both questions.  A whole text adds what it meets to
 * the interned values.  An unfinished one only looks them up, since what is not there equals no
 * member, and is left where the text ends: with containers open, perhaps inside a scalar.
 *
 * Crit-bit trees: D. J. Bernstein, "Crit-bit trees" (2004).  Past its end a value reads as bytes
 * 0xFF, which UTF-8 never holds and which no id consists of, so no value begins another. */
#include "value.h"

#include "scanner.h"

typedef struct value {
    const uint8_t *bytes; /* aligned for words */
    uint32_t count;
} value;

typedef struct node {
    uint32_t bit;     /* where its members part, the highest bit of byte 0 being bit 0 */
    uint32_t side[2]; /* sets: with the bit clear, with the bit set */
    uint32_t count;   /* members */
} node;

typedef struct frame { /* an open array or object that is being read */
    uint8_t kind;   /* [ or { */
    uint32_t first; /* where its finished children begin in ids: values, or pairs sorted by key */
    uint32_t count; /* how many children, or pairs */
    uint32_t key;   /* of an object, between a key and the end of its member: the key */
} frame;

enum { CONTAINER_HEAD = 4 }; /* bytes before the words of an array or object */

void glk_values_init(glk_values *self, glk_account *account) {
    glk_arena_init(&self->arena, account);
    glk_table_init(&self->values, account, sizeof(value));
    glk_index_init(&self->value_index, account);
    glk_table_init(&self->nodes, account, sizeof(node));
    glk_index_init(&self->node_index, account);
    glk_vec_init(&self->bytes, account, 1);
    glk_vec_init(&self->frames, account, sizeof(frame));
    glk_vec_init(&self->ids, account, sizeof(uint32_t));
    glk_vec_init(&self->path, account, sizeof(uint32_t));
}

void glk_values_free(glk_values *self) {
    glk_arena_free(&self->arena);
    glk_table_free(&self->values);
    glk_index_free(&self->value_index);
    glk_table_free(&self->nodes);
    glk_index_free(&self->node_index);
    glk_vec_free(&self->bytes);
    glk_vec_free(&self->frames);
    glk_vec_free(&self->ids);
    glk_vec_free(&self->path);
}

/* ------------------------------------------------------------------ values */

static const value *value_at(const glk_values *self, uint32_t id) {
    return (const value *)glk_table_at(&self->values, id);
}

/* The children of an array, the pairs of an object. */
static const uint32_t *words_of(const value *self) {
    return (const uint32_t *)(const void *)(self->bytes + CONTAINER_HEAD);
}

static uint32_t word_count(const value *self) {
    return (self->count - CONTAINER_HEAD) / (uint32_t)sizeof(uint32_t);
}

/* The first of `count` sorted pairs whose key is not below `key`. */
static uint32_t pair_from(const uint32_t *pairs, uint32_t count, uint32_t key) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (pairs[2 * (size_t)middle] < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool has_pair(const uint32_t *pairs, uint32_t count, uint32_t at, uint32_t key) {
    return at < count && pairs[2 * (size_t)at] == key;
}

/* The value of an object's member, or GLK_NONE. */
static uint32_t member_of(const value *object, uint32_t key) {
    const uint32_t *pairs = words_of(object);
    uint32_t count = word_count(object) / 2, at = pair_from(pairs, count, key);
    return has_pair(pairs, count, at, key) ? pairs[2 * (size_t)at + 1] : GLK_NONE;
}

static uint32_t hash_bytes(const uint8_t *bytes, uint32_t count) {
    uint64_t hash = count;
    for (uint32_t at = 0; at < count; at += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + at, count - at < 8 ? count - at : 8);
        hash = glk_mix(hash, word);
    }
    return (uint32_t)(hash ^ (hash >> 29));
}

/* The value whose canonical bytes are in self->bytes; GLK_NONE if it is new and not to be added. */
static glk_status intern_value(glk_values *self, bool add, uint32_t *out, glk_error *err) {
    const uint8_t *bytes = self->bytes.data;
    uint32_t count = self->bytes.count, hash = hash_bytes(bytes, count), id = 0;
    for (glk_probe p = glk_probe_start(&self->value_index, hash);
         glk_probe_next(&self->value_index, &p, &id);) {
        const value *other = value_at(self, id);
        if (other->count == count && memcmp(other->bytes, bytes, count) == 0) {
            *out = id;
            return GLK_OK;
        }
    }
    *out = GLK_NONE;
    if (!add) {
        return GLK_OK;
    }
    if (self->values.count >= 1u << 30) { /* set ids have 32 bits */
        return glk_fail_memory(err);
    }
    void *memory;
    GLK_TRY(glk_index_reserve(&self->value_index, err));
    GLK_TRY(glk_arena_take(&self->arena, count, &memory, err));
    memcpy(memory, bytes, count);
    GLK_TRY(glk_table_add(&self->values, &id, err));
    *(value *)glk_table_at(&self->values, id) = (value){.bytes = memory, .count = count};
    (void)glk_index_add(&self->value_index, hash, id, err);
    *out = id;
    return GLK_OK;
}

/* ------------------------------------------------------------------ sets */

static uint32_t set_of(uint32_t id) { return 2 * id + 1; }
static bool is_single(uint32_t set) { return (set & 1) != 0; }
static uint32_t single_value(uint32_t set) { return set / 2; }

static const node *node_at(const glk_values *self, uint32_t set) {
    return (const node *)glk_table_at(&self->nodes, set / 2 - 1);
}

static uint32_t member_count(const glk_values *self, uint32_t set) {
    return set == 0 ? 0 : is_single(set) ? 1 : node_at(self, set)->count;
}

static uint32_t byte_at(const uint8_t *bytes, uint32_t count, uint32_t at) {
    return at < count ? bytes[at] : 0xFF;
}

static uint32_t bit_at(const uint8_t *bytes, uint32_t count, uint32_t bit) {
    return (byte_at(bytes, count, bit >> 3) >> (7 - (bit & 7))) & 1;
}

/* The first bit in which two different values differ. */
static uint32_t first_difference(const value *a, const value *b) {
    uint32_t at = 0;
    while (byte_at(a->bytes, a->count, at) == byte_at(b->bytes, b->count, at)) {
        at++;
    }
    uint32_t bits = byte_at(a->bytes, a->count, at) ^ byte_at(b->bytes, b->count, at);
    return 8 * at + (uint32_t)__builtin_clz(bits) - 24;
}

/* The subtree, or single value, that bytes lead to by the bits before `end`. */
static uint32_t follow(const glk_values *self, uint32_t set, const uint8_t *bytes, uint32_t count,
                       uint32_t end) {
    while (!is_single(set) && node_at(self, set)->bit < end) {
        const node *at = node_at(self, set);
        set = at->side[bit_at(bytes, count, at->bit)];
    }
    return set;
}

/* The members that begin with these bytes, as a set. */
static uint32_t beginning_with(const glk_values *self, uint32_t set, const uint8_t *bytes,
                               uint32_t count) {
    if (set == 0) {
        return 0;
    }
    uint32_t found = follow(self, set, bytes, count, 8 * count), some = found;
    while (!is_single(some)) {
        some = node_at(self, some)->side[0];
    }
    const value *member = value_at(self, single_value(some));
    return member->count >= count && memcmp(member->bytes, bytes, count) == 0 ? found : 0;
}

static glk_status intern_node(glk_values *self, node item, uint32_t *out, glk_error *err) {
    uint32_t key[] = {item.bit, item.side[0], item.side[1]}, id = 0;
    uint32_t hash = glk_hash_u32s(key, 3, 0);
    for (glk_probe p = glk_probe_start(&self->node_index, hash);
         glk_probe_next(&self->node_index, &p, &id);) {
        const node *other = (const node *)glk_table_at(&self->nodes, id);
        if (other->bit == item.bit && other->side[0] == item.side[0] &&
            other->side[1] == item.side[1]) {
            *out = 2 * id + 2;
            return GLK_OK;
        }
    }
    if (self->nodes.count >= 1u << 30) {
        return glk_fail_memory(err);
    }
    item.count = member_count(self, item.side[0]) + member_count(self, item.side[1]);
    GLK_TRY(glk_index_reserve(&self->node_index, err));
    GLK_TRY(glk_table_add(&self->nodes, &id, err));
    *(node *)glk_table_at(&self->nodes, id) = item;
    (void)glk_index_add(&self->node_index, hash, id, err);
    *out = 2 * id + 2;
    return GLK_OK;
}

bool glk_values_has(const glk_values *self, uint32_t set, uint32_t id) {
    if (set == 0) {
        return false;
    }
    const value *sought = value_at(self, id);
    return follow(self, set, sought->bytes, sought->count, UINT32_MAX) == set_of(id);
}

glk_status glk_values_add(glk_values *self, uint32_t set, uint32_t id, uint32_t *out,
                          glk_error *err) {
    if (set == 0) {
        *out = set_of(id);
        return GLK_OK;
    }
    const value *added = value_at(self, id);
    uint32_t nearest = follow(self, set, added->bytes, added->count, UINT32_MAX);
    if (nearest == set_of(id)) {
        *out = set;
        return GLK_OK;
    }
    if (member_count(self, set) >= GLK_SEEN_VALUES) {
        return glk_fail_limit(err, "seen_values", GLK_SEEN_VALUES + 1, GLK_SEEN_VALUES);
    }
    uint32_t bit = first_difference(added, value_at(self, single_value(nearest))), below = set;
    self->path.count = 0;
    while (!is_single(below) && node_at(self, below)->bit < bit) {
        const node *at = node_at(self, below);
        GLK_TRY(glk_vec_push_u32(&self->path, below, err));
        below = at->side[bit_at(added->bytes, added->count, at->bit)];
    }
    node made = {.bit = bit};
    uint32_t side = bit_at(added->bytes, added->count, bit), result;
    made.side[side] = set_of(id);
    made.side[1 - side] = below;
    GLK_TRY(intern_node(self, made, &result, err));
    for (uint32_t i = self->path.count; i > 0; i--) {
        made = *node_at(self, GLK_VEC_U32(&self->path)[i - 1]);
        made.side[bit_at(added->bytes, added->count, made.bit)] = result;
        GLK_TRY(intern_node(self, made, &result, err));
    }
    *out = result;
    return GLK_OK;
}

/* ------------------------------------------------------------------ the reader
 * Below, GLK_ERR_ARGUMENT means that the text is no JSON text; err is left to the caller. */

typedef enum phase { /* what comes next */
    VALUE,
    VALUE_OR_CLOSE, /* after [ */
    KEY,
    KEY_OR_CLOSE, /* after { */
    COLON,
    AFTER /* a value is finished */
} phase;

typedef struct reader {
    glk_values *values;
    glk_scanner scanner; /* where the text is read, and the scalar it ends inside */
    phase phase;
    uint32_t value; /* in phase AFTER with nothing open: its id; GLK_NONE: not known */
    glk_error *err;
} reader;

static glk_status start_reading(reader *self, glk_values *values, const uint8_t *text, size_t count,
                                bool whole, glk_error *err) {
    if (count > GLK_VALUE_BYTES) {
        return glk_fail_limit(err, "value_bytes", count, GLK_VALUE_BYTES);
    }
    values->bytes.count = values->frames.count = values->ids.count = 0;
    *self = (reader){.values = values, .err = err};
    self->scanner =
        (glk_scanner){.text = text, .count = count, .whole = whole, .bytes = &values->bytes};
    GLK_TRY(glk_vec_reserve(&values->ids, 2, err)); /* never NULL */
    return glk_vec_reserve(&values->bytes, 2 * (uint32_t)count + 64, err);
}

/* Reads a scalar; *id is it, or GLK_NONE if it is new and not to be added.  *finished: false if the
 * text ends before it does. */
static glk_status read_scalar(reader *self, uint32_t *id, bool *finished) {
    glk_scan scan = glk_scanner_read(&self->scanner);
    *finished = scan == GLK_SCAN_FINISHED;
    if (scan == GLK_SCAN_WRONG) {
        return GLK_ERR_ARGUMENT;
    }
    return *finished ? intern_value(self->values, self->scanner.whole, id, self->err) : GLK_OK;
}

/* ------------------------------------------------------------------ arrays and objects */

static frame *last_frame(const reader *self) {
    const glk_vec *frames = &self->values->frames;
    return frames->count == 0 ? NULL : (frame *)frames->data + (frames->count - 1);
}

static glk_status open_container(reader *self, uint8_t kind) {
    glk_values *values = self->values;
    if (values->frames.count >= GLK_VALUE_DEPTH) {
        /* No member nests deeper, so what only asks has its answer. */
        return self->scanner.whole ? glk_fail_limit(self->err, "value_depth", GLK_VALUE_DEPTH + 1,
                                            GLK_VALUE_DEPTH)
                           : GLK_ERR_ARGUMENT;
    }
    frame opened = {.kind = kind, .first = values->ids.count};
    self->scanner.at++;
    self->phase = kind == '[' ? VALUE_OR_CLOSE : KEY_OR_CLOSE;
    return glk_vec_push(&values->frames, &opened, self->err);
}

/* Keeps the pairs sorted; a key that comes again takes the new value. */
static glk_status add_pair(reader *self, frame *object, uint32_t id) {
    glk_vec *ids = &self->values->ids;
    GLK_TRY(glk_vec_reserve(ids, 2, self->err));
    uint32_t *pairs = GLK_VEC_U32(ids) + object->first;
    uint32_t at = pair_from(pairs, object->count, object->key);
    uint32_t *pair = pairs + 2 * (size_t)at;
    if (!has_pair(pairs, object->count, at, object->key)) {
        memmove(pair + 2, pair, 2 * (size_t)(object->count - at) * sizeof *pair);
        ids->count += 2;
        object->count++;
    }
    pair[0] = object->key;
    pair[1] = id;
    return GLK_OK;
}

static glk_status finish_value(reader *self, uint32_t id) {
    frame *last = last_frame(self);
    self->phase = AFTER;
    if (last == NULL) {
        self->value = id;
        return GLK_OK;
    }
    if (last->kind == '{') {
        return add_pair(self, last, id);
    }
    last->count++;
    return glk_vec_push_u32(&self->values->ids, id, self->err);
}

static glk_status close_container(reader *self) {
    glk_values *values = self->values;
    const frame *last = last_frame(self);
    const uint32_t *words = GLK_VEC_U32(&values->ids);
    values->bytes.count = 0;
    glk_scanner_put(&self->scanner, last->kind);
    while (values->bytes.count < CONTAINER_HEAD) {
        glk_scanner_put(&self->scanner, 0);
    }
    for (uint32_t i = last->first; i < values->ids.count; i++) {
        memcpy((uint8_t *)values->bytes.data + values->bytes.count, words + i, sizeof *words);
        values->bytes.count += (uint32_t)sizeof *words;
    }
    assert(values->bytes.count <= values->bytes.capacity);
    values->ids.count = last->first;
    values->frames.count--;
    uint32_t id; /* GLK_NONE if a child is: then nothing equal was ever added */
    GLK_TRY(intern_value(values, self->scanner.whole, &id, self->err));
    return finish_value(self, id);
}

/* ------------------------------------------------------------------ texts */

static glk_status read_value(reader *self) {
    uint8_t byte = self->scanner.text[self->scanner.at];
    bool finished;
    uint32_t id;
    if (byte == '[' || byte == '{') {
        return open_container(self, byte);
    }
    self->phase = VALUE;
    GLK_TRY(read_scalar(self, &id, &finished));
    return finished ? finish_value(self, id) : GLK_OK;
}

static glk_status read_key(reader *self) {
    bool finished;
    if (!glk_scanner_is_at(&self->scanner, '"')) {
        return GLK_ERR_ARGUMENT;
    }
    GLK_TRY(read_scalar(self, &last_frame(self)->key, &finished));
    self->phase = finished ? COLON : KEY;
    return GLK_OK;
}

/* After a value. */
static glk_status read_on(reader *self) {
    const frame *last = last_frame(self);
    if (last == NULL) {
        return GLK_ERR_ARGUMENT;
    }
    if (glk_scanner_take(&self->scanner, last->kind == '[' ? ']' : '}')) {
        return close_container(self);
    }
    self->phase = last->kind == '[' ? VALUE : KEY;
    return glk_scanner_take(&self->scanner, ',') ? GLK_OK : GLK_ERR_ARGUMENT;
}

static glk_status read_next(reader *self) {
    switch (self->phase) {
    case VALUE_OR_CLOSE:
        if (glk_scanner_take(&self->scanner, ']')) {
            return close_container(self);
        }
        return read_value(self);
    case VALUE:
        return read_value(self);
    case KEY_OR_CLOSE:
        if (glk_scanner_take(&self->scanner, '}')) {
            return close_container(self);
        }
        return read_key(self);
    case KEY:
        return read_key(self);
    case COLON:
        self->phase = VALUE;
        return glk_scanner_take(&self->scanner, ':') ? GLK_OK : GLK_ERR_ARGUMENT;
    case AFTER:
        break;
    }
    return read_on(self);
}

static glk_status read_text(reader *self) {
    glk_scanner *scanner = &self->scanner;
    for (;;) {
        bool white = true;
        while (white) {
            white = glk_scanner_take(scanner, ' ') || glk_scanner_take(scanner, '\n') ||
                    glk_scanner_take(scanner, '\t') || glk_scanner_take(scanner, '\r');
        }
        if (glk_scanner_at_end(scanner)) {
            return GLK_OK;
        }
        GLK_TRY(read_next(self));
    }
}

glk_status glk_value_read(glk_values *self, const uint8_t *text, size_t count, uint32_t *id,
                          glk_error *err) {
    reader reading;
    GLK_TRY(start_reading(&reading, self, text, count, true, err));
    glk_status status = read_text(&reading);
    bool ended = reading.phase == AFTER && self->frames.count == 0;
    if (status == GLK_ERR_ARGUMENT || (status == GLK_OK && !ended)) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "no JSON value: wrong at byte %zu of %zu",
                        reading.scanner.at, count);
    }
    GLK_TRY(status);
    *id = reading.value;
    return GLK_OK;
}

/* ------------------------------------------------------------------ what a text may become */

/* The members that the unfinished scalar may become, apart from what glk_scanner_goes_on tells; of
 * numbers perhaps only some. */
static uint32_t narrow(const reader *self, uint32_t set) {
    const glk_scanner *scanner = &self->scanner;
    const uint8_t *bytes = self->values->bytes.data;
    uint32_t count = self->values->bytes.count, skipped = 0;
    if (scanner->unfinished == GLK_SCALAR_NONE) {
        return set;
    }
    if (scanner->unfinished == GLK_SCALAR_NUMBER) {
        skipped = scanner->digits;
        uint32_t found =
            scanner->digits_open ? beginning_with(self->values, set, bytes, skipped) : 0;
        if (found != 0) {
            return found;
        }
    }
    return beginning_with(self->values, set, bytes + skipped, count - skipped);
}

/* Whether a narrowed member is one indeed. */
static bool goes_on(const reader *self, uint32_t id) {
    const value *member = value_at(self->values, id);
    return glk_scanner_goes_on(&self->scanner, member->bytes, member->count);
}

static bool fits_scalar(const reader *self, uint32_t id) {
    return narrow(self, set_of(id)) != 0 && goes_on(self, id);
}

/* Whether a value has the finished children of an open container.  An object that is `open` inside
 * a member is about to replace what it has under that key. */
static bool has_children(const reader *self, const frame *container, bool open,
                         const value *whole) {
    const uint32_t *ids = GLK_VEC_U32(&self->values->ids) + container->first;
    if (whole->bytes[0] != container->kind) {
        return false;
    }
    if (container->kind == '[') {
        return container->count == 0 ||
               (word_count(whole) >= container->count &&
                memcmp(words_of(whole), ids, container->count * sizeof *ids) == 0);
    }
    for (const uint32_t *pair = ids; pair < ids + 2 * (size_t)container->count; pair += 2) {
        uint32_t found = member_of(whole, pair[0]);
        bool replaced = open && pair[0] == container->key;
        if (!replaced && (found == GLK_NONE || found != pair[1])) {
            return false;
        }
    }
    return true;
}

/* The value's child in the place that is being written, or GLK_NONE. */
static uint32_t open_child(const frame *container, const value *whole) {
    if (container->kind == '{') {
        return member_of(whole, container->key);
    }
    return container->count < word_count(whole) ? words_of(whole)[container->count] : GLK_NONE;
}

/* Whether an object has a further member whose key the unfinished one may become. */
static bool has_other_key(const reader *self, const frame *container, const value *object) {
    const uint32_t *pairs = words_of(object);
    const uint32_t *done = GLK_VEC_U32(&self->values->ids) + container->first;
    for (uint32_t i = 0; i < word_count(object); i += 2) {
        uint32_t at = pair_from(done, container->count, pairs[i]);
        if (!has_pair(done, container->count, at, pairs[i]) && fits_scalar(self, pairs[i])) {
            return true;
        }
    }
    return false;
}

/* Whether the text, with containers open, may become this value. */
static bool fits(const reader *self, uint32_t id) {
    const frame *frames = self->values->frames.data;
    uint32_t last = self->values->frames.count - 1;
    for (uint32_t i = 0; i < last; i++) {
        const value *whole = value_at(self->values, id);
        if (!has_children(self, &frames[i], frames[i].kind == '{', whole)) {
            return false;
        }
        id = open_child(&frames[i], whole);
        if (id == GLK_NONE) {
            return false;
        }
    }
    const value *whole = value_at(self->values, id);
    bool in_member = self->phase == COLON || self->phase == VALUE;
    if (!has_children(self, &frames[last], in_member, whole)) {
        return false;
    }
    if (self->phase == KEY) {
        return has_other_key(self, &frames[last], whole);
    }
    if (!in_member) {
        return true;
    }
    id = open_child(&frames[last], whole);
    return id != GLK_NONE && fits_scalar(self, id);
}

static glk_status any_member(const reader *self, uint32_t set,
                             bool (*holds)(const reader *self, uint32_t id), bool *out) {
    glk_vec *path = &self->values->path;
    path->count = 0;
    *out = false;
    if (set != 0) {
        GLK_TRY(glk_vec_push_u32(path, set, self->err));
    }
    while (path->count > 0 && !*out) {
        uint32_t last = GLK_VEC_U32(path)[--path->count];
        if (is_single(last)) {
            *out = holds(self, single_value(last));
            continue;
        }
        GLK_TRY(glk_vec_push_u32(path, node_at(self->values, last)->side[1], self->err));
        GLK_TRY(glk_vec_push_u32(path, node_at(self->values, last)->side[0], self->err));
    }
    return GLK_OK;
}

glk_status glk_values_may_become(glk_values *self, uint32_t set, const uint8_t *text, size_t count,
                                 bool *out, glk_error *err) {
    reader reading;
    GLK_TRY(start_reading(&reading, self, text, count, false, err));
    glk_status status = read_text(&reading);
    if (status == GLK_ERR_ARGUMENT) {
        *out = false;
        return GLK_OK;
    }
    GLK_TRY(status);
    if (self->frames.count > 0) {
        const frame *first = self->frames.data;
        return any_member(&reading, beginning_with(self, set, &first->kind, 1), fits, out);
    }
    if (reading.phase == AFTER) {
        *out = reading.value != GLK_NONE && glk_values_has(self, set, reading.value);
        return GLK_OK;
    }
    return any_member(&reading, narrow(&reading, set), goes_on, out);
}
