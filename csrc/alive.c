/* alive.c -- see alive.h. */
#include "alive.h"

enum { MOST_VISITED = 1 << 16 }; /* configurations of one search */

/* ------------------------------------------------------------------ risk */

typedef struct judgement {
    bool pending; /* some text may still become a value that was seen */
    bool due;     /* a value must come that was not seen */
    bool tight;
} judgement;

enum { NO_BYTE = -1 };

/* What one frame says about the text so far, followed by `byte`. */
static glk_status judge_frame(glk_epoch *self, const glk_frame *frame, uint32_t text, int byte,
                              judgement *out, glk_error *err) {
    if (frame->node == GLK_NONE ||
        glk_code_at(self->code, frame->node)->op != GLK_OP_CONTAINER) {
        return GLK_OK;
    }
    glk_object object = glk_object_view(self->code, frame->node);
    glk_obligations now =
        glk_object_read(&self->objects, &object, frame->param >> GLK_PHASE_BITS);
    out->tight = out->tight || glk_object_is_tight(&object);
    out->due = out->due || glk_object_is_due(&object, &now, frame->param & GLK_PHASE_MASK);
    bool reads = now.start < GLK_START_SOME && now.seen != 0 && now.seen != GLK_SEEN_SOME;
    if (reads && text != GLK_TEXT_BARE && !out->pending) {
        GLK_TRY(glk_text_since(self, text, now.start, err));
        if (byte != NO_BYTE) {
            uint8_t last = (uint8_t)byte;
            GLK_TRY(glk_vec_push(&self->bytes, &last, err));
        }
        GLK_TRY(glk_values_may_become(&self->values, now.seen, self->bytes.data,
                                      self->bytes.count, &out->pending, err));
    }
    return GLK_OK;
}

/* Goes through the continuations below `cont` that hold frames of interest, each once. */
static glk_status judge(glk_epoch *self, uint32_t cont, uint32_t text, int byte, bool risky_only,
                        judgement *out, glk_error *err) {
    glk_vec *todo = &self->visit;
    todo->count = 0;
    GLK_TRY(glk_vec_push_u32(todo, cont, err));
    for (uint32_t at = 0; at < todo->count && !(out->pending && out->tight); at++) {
        const glk_cont *k = glk_cont_at(self, GLK_VEC_U32(todo)[at]);
        if (risky_only ? !k->risky : !k->captures && !k->risky) {
            continue;
        }
        for (uint32_t i = 0; i < k->count; i++) {
            const glk_frame *frame = &k->frames[i];
            bool known = false;
            GLK_TRY(judge_frame(self, frame, text, byte, out, err));
            for (uint32_t j = 0; j < todo->count && !known; j++) {
                known = GLK_VEC_U32(todo)[j] == frame->rest;
            }
            if (frame->node != GLK_NONE && !known) {
                GLK_TRY(glk_vec_push_u32(todo, frame->rest, err));
            }
        }
    }
    return GLK_OK;
}

static bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

/* Whether the text ends inside the digits before a number's point, not with a lone zero. */
static bool ends_in_integer(const uint8_t *bytes, size_t count) {
    size_t first = count;
    while (first > 0 && is_digit(bytes[first - 1])) {
        first--;
    }
    if (first == count || bytes[first] == '0') {
        return false;
    }
    uint8_t before = first > 0 ? bytes[first - 1] : '[';
    uint8_t sign = first > 1 && before == '-' ? bytes[first - 2] : '[';
    return before != '.' && before != '+' && (before | 0x20) != 'e' && (sign | 0x20) != 'e';
}

/* Whether the thread is inside a number that may go on with as many digits as one likes: then it may
 * become endlessly many numbers, and only finitely many values were seen.  This spares the search where
 * it would go far: behind 1 when 1 to 999 were seen. */
static glk_status may_grow(glk_epoch *self, const glk_thread *thread, uint32_t text,
                           uint64_t *steps, bool *out, glk_error *err) {
    uint32_t once, twice;
    *out = false;
    const glk_text_node *node = glk_table_at(&self->texts, text);
    if (node->mode != GLK_TEXT_OUTSIDE || !is_digit(node->byte) ||
        (thread->state & GLK_TOKENS_BIT) != 0) {
        return GLK_OK;
    }
    GLK_TRY(glk_text_since(self, text, GLK_TEXT_NONE, err));
    if (!ends_in_integer(self->bytes.data, self->bytes.count)) {
        return GLK_OK;
    }
    GLK_TRY(glk_parser_target(self, thread->state, '1', steps, &once, err));
    if (once != GLK_NONE) {
        GLK_TRY(glk_parser_target(self, once, '1', steps, &twice, err));
        *out = once == twice;
    }
    return GLK_OK;
}

static glk_status risk_of(glk_epoch *self, const glk_thread *thread, uint32_t text,
                          uint64_t *steps, judgement *out, glk_error *err) {
    *out = (judgement){0};
    if (!glk_cont_at(self, thread->rest)->risky) {
        return GLK_OK;
    }
    GLK_TRY(judge(self, thread->rest, text, NO_BYTE, true, out, err));
    if (out->pending && !out->due && !out->tight && text < GLK_START_SOME) {
        bool grows;
        GLK_TRY(may_grow(self, thread, text, steps, &grows, err));
        out->pending = !grows;
    }
    return GLK_OK;
}

static bool is_at_risk(const judgement *risk) {
    return risk->pending || risk->due || risk->tight;
}

static glk_status judge_all(glk_epoch *self, uint32_t id, int byte, judgement *out,
                            glk_error *err) {
    const glk_config *config = glk_config_at(self, id);
    for (uint32_t i = 0; i < config->count; i++) {
        GLK_TRY(judge(self, config->threads[i].rest, config->text, byte, false, out, err));
    }
    return GLK_OK;
}

glk_status glk_alive_is_fresh(glk_epoch *self, uint32_t id, bool *out, glk_error *err) {
    judgement found = {0};
    GLK_TRY(judge_all(self, id, NO_BYTE, &found, err));
    *out = !found.pending && !found.due;
    return GLK_OK;
}

glk_status glk_alive_may_repeat(glk_epoch *self, uint32_t id, uint8_t byte, bool *out,
                                glk_error *err) {
    judgement found = {0};
    GLK_TRY(judge_all(self, id, byte, &found, err));
    *out = found.pending || found.due;
    return GLK_OK;
}

glk_status glk_alive_is_tight(glk_epoch *self, uint32_t id, bool *out, glk_error *err) {
    judgement found = {0};
    GLK_TRY(judge_all(self, id, NO_BYTE, &found, err));
    *out = found.tight;
    return GLK_OK;
}

/* ------------------------------------------------------------------ one spelling */

/* Appends bytes to a text. */
static glk_status extend(glk_epoch *self, const uint8_t *bytes, size_t count, uint32_t *text,
                         glk_error *err) {
    for (size_t i = 0; i < count; i++) {
        GLK_TRY(glk_text_extend(self, *text, bytes[i], text, err));
    }
    return GLK_OK;
}

static bool is_numeric(uint8_t byte) {
    return (byte >= '0' && byte <= '9') || byte == '-' || byte == '+' || byte == '.' ||
           byte == 'e' || byte == 'E';
}

/* Whether a mantissa has no other digits than zeros. */
static bool is_zero(const uint8_t *bytes, size_t count) {
    while (count > 0 && (bytes[count - 1] < '1' || bytes[count - 1] > '9')) {
        count--;
    }
    return count == 0;
}

/* A number without zeros at the end of the fraction and at the beginning of the exponent; of zero,
 * whatever its exponent is. */
static glk_status extend_number(glk_epoch *self, const uint8_t *bytes, size_t count,
                                uint32_t *text, glk_error *err) {
    size_t mantissa = 0, end, exponent;
    bool fraction = false;
    while (mantissa < count && bytes[mantissa] != 'e' && bytes[mantissa] != 'E') {
        fraction = fraction || bytes[mantissa] == '.';
        mantissa++;
    }
    end = mantissa;
    while (fraction && end > 0 && (bytes[end - 1] == '0' || bytes[end - 1] == '.')) {
        end--;
        fraction = bytes[end] != '.';
    }
    GLK_TRY(extend(self, bytes, end, text, err));
    if (mantissa < count && is_zero(bytes, mantissa)) {
        return extend(self, (const uint8_t *)"e", 1, text, err);
    }
    exponent = mantissa + 1;
    bool negative = exponent < count && bytes[exponent] == '-';
    while (exponent < count &&
           (bytes[exponent] == '0' || bytes[exponent] == '+' || bytes[exponent] == '-')) {
        exponent++;
    }
    if (exponent < count || negative) { /* digits may follow "e-0" */
        GLK_TRY(extend(self, (const uint8_t *)"e-", negative ? 2 : 1, text, err));
    }
    return exponent < count ? extend(self, bytes + exponent, count - exponent, text, err) : GLK_OK;
}

/* What a \u escape of a printable ASCII character stands for, or 0. */
static uint8_t escaped_character(const uint8_t *bytes, size_t count) {
    unsigned value = 0;
    if (count < 6 || bytes[1] != 'u') {
        return count >= 2 && bytes[1] == '/' ? '/' : 0;
    }
    for (size_t i = 2; i < 6; i++) {
        uint8_t lower = bytes[i] | 0x20;
        value = value * 16 + (lower >= 'a' ? lower - 'a' + 10u : bytes[i] - '0' + 0u);
    }
    return value >= 0x20 && value < 0x7F && value != '"' && value != '\\' ? (uint8_t)value : 0;
}

/* Bytes of a string from `at` on that stand for one character (or a part of it). */
static size_t character(const uint8_t *bytes, size_t count, uint8_t *plain) {
    *plain = 0;
    if (bytes[0] != '\\' || count < 2) {
        return 1;
    }
    *plain = escaped_character(bytes, count);
    return *plain != 0 && bytes[1] == 'u' ? 6 : 2;
}

/* The same text in one spelling, so that the search does not look behind each one: the shortest of
 * numbers and of most characters. */
static glk_status one_spelling(glk_epoch *self, uint32_t text, uint32_t *out, glk_error *err) {
    bool in_string = false;
    *out = GLK_TEXT_NONE;
    GLK_TRY(glk_text_since(self, text, GLK_TEXT_NONE, err));
    const uint8_t *bytes = self->bytes.data;
    size_t count = self->bytes.count, step;
    for (size_t i = 0; i < count; i += step) {
        uint8_t plain;
        step = 1;
        if (in_string) {
            step = character(bytes + i, count - i, &plain);
            in_string = bytes[i] != '"';
            GLK_TRY(plain != 0 ? extend(self, &plain, 1, out, err)
                               : extend(self, bytes + i, step, out, err));
        } else if (is_numeric(bytes[i]) && bytes[i] != 'e') {
            while (i + step < count && is_numeric(bytes[i + step])) {
                step++;
            }
            GLK_TRY(extend_number(self, bytes + i, step, out, err));
        } else {
            in_string = bytes[i] == '"';
            GLK_TRY(extend(self, bytes + i, 1, out, err));
        }
    }
    return GLK_OK;
}

/* ------------------------------------------------------------------ search */

typedef struct search {
    glk_epoch *epoch;
    glk_vec queue;     /* u32: configurations, mostly the shortest text first */
    glk_index visited; /* configurations with the text in one spelling */
    uint64_t *steps;
    glk_error *err;
} search;

/* Whether one of a configuration's threads needs no further look. */
static glk_status is_safe(search *self, uint32_t id, bool *out) {
    const glk_config *config = glk_config_at(self->epoch, id);
    *out = config->can_end;
    for (uint32_t i = 0; i < config->count && !*out; i++) {
        judgement risk;
        GLK_TRY(risk_of(self->epoch, &config->threads[i], config->text, self->steps, &risk,
                        self->err));
        *out = !is_at_risk(&risk);
    }
    return GLK_OK;
}

/* Queues a configuration unless one that is equal but for spellings was there. */
static glk_status look_at_later(search *self, uint32_t id) {
    glk_epoch *epoch = self->epoch;
    const glk_config *config = glk_config_at(epoch, id);
    uint32_t key = id, text, known;
    if (config->text != GLK_TEXT_NONE && config->text < GLK_START_SOME) {
        GLK_TRY(one_spelling(epoch, config->text, &text, self->err));
        epoch->threads.count = 0;
        for (uint32_t i = 0; i < config->count; i++) {
            GLK_TRY(glk_vec_push(&epoch->threads, &config->threads[i], self->err));
        }
        GLK_TRY(glk_config_intern(epoch, config->can_end, text, &key, self->err));
    }
    glk_probe probe = glk_probe_start(&self->visited, key);
    while (glk_probe_next(&self->visited, &probe, &known)) {
        if (known == key) {
            return GLK_OK;
        }
    }
    if (self->queue.count >= MOST_VISITED) {
        return glk_fail_limit(self->err, "look_ahead", self->queue.count + 1, MOST_VISITED);
    }
    GLK_TRY(glk_index_add(&self->visited, key, key, self->err));
    return glk_vec_push_u32(&self->queue, id, self->err);
}

static glk_status try_byte(search *self, uint32_t id, uint8_t byte, bool *went, bool *found) {
    uint32_t next;
    GLK_TRY(glk_parser_step_raw(self->epoch, id, byte, self->steps, &next, self->err));
    if (next == GLK_MAYBE) {
        return GLK_OK;
    }
    const glk_config *config = glk_config_at(self->epoch, next);
    if (config->count == 0 && !config->can_end) {
        return GLK_OK;
    }
    *went = true;
    GLK_TRY(is_safe(self, next, found));
    return *found ? GLK_OK : look_at_later(self, next);
}

/* Looks behind the live bytes that are white space, or behind all others; *went: some lead on. */
static glk_status look_behind(search *self, uint32_t id, bool spaces, bool *went, bool *found) {
    glk_bytes live;
    GLK_TRY(glk_parser_live(self->epoch, id, self->steps, &live, self->err));
    for (uint32_t byte = 0; byte < 256 && !*found; byte++) {
        if (glk_bytes_has(&live, (uint8_t)byte) && glk_is_space((uint8_t)byte) == spaces) {
            GLK_TRY(try_byte(self, id, (uint8_t)byte, went, found));
        }
    }
    return GLK_OK;
}

enum { SPACES_WAIT = 8 };

/* White space that does not have to be there waits: it leads somewhere new only in some layouts.  Not
 * forever, since without it there may be endlessly many texts. */
static glk_status look_at_all(search *self, bool *found) {
    uint32_t plain = 0, spaced = 0;
    while (!*found && spaced < self->queue.count) {
        bool went = false;
        uint32_t id;
        if (plain < self->queue.count && plain < SPACES_WAIT * (spaced + 1)) {
            id = GLK_VEC_U32(&self->queue)[plain++];
            GLK_TRY(look_behind(self, id, false, &went, found));
        } else {
            id = GLK_VEC_U32(&self->queue)[spaced++];
        }
        if (!went) {
            GLK_TRY(look_behind(self, id, true, &went, found));
        }
    }
    return GLK_OK;
}

/* Whether a thread at risk can be finished. */
static glk_status search_for(glk_epoch *epoch, const glk_thread *thread, uint32_t text,
                           uint64_t *steps, bool *out, glk_error *err) {
    search job = {.epoch = epoch, .steps = steps, .err = err};
    uint32_t first;
    *out = false;
    epoch->threads.count = 0;
    GLK_TRY(glk_vec_push(&epoch->threads, thread, err));
    GLK_TRY(glk_config_intern(epoch, false, text, &first, err));
    glk_vec_init(&job.queue, NULL, sizeof(uint32_t));
    glk_index_init(&job.visited, NULL);
    glk_status status = glk_vec_push_u32(&job.queue, first, err);
    if (status == GLK_OK) {
        status = look_at_all(&job, out);
    }
    glk_vec_free(&job.queue);
    glk_index_free(&job.visited);
    return status;
}

static glk_status is_alive(glk_epoch *epoch, const glk_thread *thread, uint32_t text,
                           uint64_t *steps, bool *out, glk_error *err) {
    judgement risk;
    *out = true;
    GLK_TRY(risk_of(epoch, thread, text, steps, &risk, err));
    if (!is_at_risk(&risk)) {
        return GLK_OK;
    }
    if (risk.pending || risk.tight) {
        return search_for(epoch, thread, text, steps, out, err);
    }
    /* What is due comes after the terminal, whatever the text so far. */
    glk_cont *rest = glk_table_at(&epoch->conts, thread->rest);
    if (rest->life == GLK_FATE_UNKNOWN) {
        GLK_TRY(search_for(epoch, thread, text, steps, out, err));
        rest->life = *out ? GLK_FATE_ALIVE : GLK_FATE_DEAD;
    }
    *out = rest->life == GLK_FATE_ALIVE;
    return GLK_OK;
}

glk_status glk_alive_filter(glk_epoch *self, uint32_t id, uint64_t *steps, uint32_t *out,
                            glk_error *err) {
    const glk_config *config = glk_config_at(self, id);
    uint32_t dropped = 0;
    glk_vec kept;
    glk_vec_init(&kept, NULL, sizeof(glk_thread));
    glk_status status = GLK_OK;
    for (uint32_t i = 0; i < config->count && status == GLK_OK; i++) {
        bool alive = true;
        status = is_alive(self, &config->threads[i], config->text, steps, &alive, err);
        dropped += !alive;
        if (status == GLK_OK && alive) {
            status = glk_vec_push(&kept, &config->threads[i], err);
        }
    }
    *out = id;
    if (status == GLK_OK && kept.count == 0 && !config->can_end) {
        *out = GLK_DEAD;
    } else if (status == GLK_OK && dropped > 0) {
        self->threads.count = 0;
        status = glk_vec_reserve(&self->threads, kept.count, err);
        if (status == GLK_OK) {
            memcpy(self->threads.data, kept.data, kept.count * sizeof(glk_thread));
            self->threads.count = kept.count;
            status = glk_config_intern(self, config->can_end, config->text, out, err);
        }
    }
    glk_vec_free(&kept);
    return status;
}
