/* parser.c -- see parser.h.  The closure follows everything that needs no byte; a step follows a
 * byte in every thread and closes where terminals end. */
#include "parser.h"

#include "member.h"

/* ------------------------------------------------------------------ closure */

static glk_status spend(uint64_t *steps, glk_error *err) {
    if (*steps == 0) {
        return glk_fail_limit(err, "steps", 1, 0);
    }
    (*steps)--;
    return GLK_OK;
}

static uint32_t frame_hash(const glk_frame *frame) {
    return (uint32_t)glk_mix(glk_mix(frame->node, frame->param), frame->rest);
}

static bool frame_equal(const glk_frame *a, const glk_frame *b) {
    return a->node == b->node && a->param == b->param && a->rest == b->rest;
}

enum { SEARCH_LINEAR = 16 };

/* Queues a frame that has not been entered in this closure. */
static glk_status enter(glk_epoch *self, glk_frame frame, glk_error *err) {
    const glk_frame *seen = self->seen.data;
    uint32_t count = self->seen.count;
    if (count <= SEARCH_LINEAR) {
        for (uint32_t i = 0; i < count; i++) {
            if (frame_equal(&seen[i], &frame)) {
                return GLK_OK;
            }
        }
    } else {
        uint32_t at;
        glk_probe probe = glk_probe_start(&self->seen_index, frame_hash(&frame));
        while (glk_probe_next(&self->seen_index, &probe, &at)) {
            if (frame_equal(&seen[at], &frame)) {
                return GLK_OK;
            }
        }
    }
    if (count == SEARCH_LINEAR) { /* from here on the index serves */
        glk_index_free(&self->seen_index);
        for (uint32_t i = 0; i < count; i++) {
            GLK_TRY(glk_index_add(&self->seen_index, frame_hash(&seen[i]), i, err));
        }
    }
    if (count >= SEARCH_LINEAR) {
        GLK_TRY(glk_index_add(&self->seen_index, frame_hash(&frame), count, err));
    }
    GLK_TRY(glk_vec_push(&self->seen, &frame, err));
    return glk_vec_push(&self->todo, &frame, err);
}

static glk_status pop(glk_epoch *self, uint32_t cont, glk_error *err) {
    const glk_cont *k = glk_cont_at(self, cont);
    for (uint32_t i = 0; i < k->count; i++) {
        GLK_TRY(enter(self, k->frames[i], err));
    }
    return GLK_OK;
}

/* The continuation with one frame. */
static glk_status push(glk_epoch *self, uint32_t node, uint32_t param, uint32_t rest,
                       uint32_t *out, glk_error *err) {
    glk_frame frame = {.node = node, .param = param, .rest = rest};
    return glk_cont_intern(self, &frame, 1, out, err);
}

static glk_status add_thread(glk_epoch *self, uint32_t state, uint32_t rest, glk_error *err) {
    if ((state & GLK_TOKENS_BIT) == 0 && !glk_state_goes_on(self->terminals, state)) {
        return GLK_OK; /* nothing but the empty string: its end is followed elsewhere */
    }
    glk_thread thread = {.state = state, .rest = rest};
    return glk_vec_push(&self->threads, &thread, err);
}

static uint32_t state_labels(const glk_epoch *self, uint32_t state) {
    return glk_state_at(self->terminals, state)->labels;
}

static glk_status begin_terminal(glk_epoch *self, uint32_t state, uint32_t rest, glk_error *err) {
    GLK_TRY(add_thread(self, state, rest, err));
    return state_labels(self, state) == GLK_LABELS_NONE ? GLK_OK : pop(self, rest, err);
}

/* The node that a SWITCH's table gives for a label. */
static uint32_t table_entry(const glk_code *code, uint32_t table_node, uint32_t label) {
    const glk_instr *table = glk_code_at(code, table_node);
    const uint32_t *list = glk_code_list(code, glk_code_at(code, table->a)->b);
    for (uint32_t i = 0; i < list[0]; i++) {
        if (list[1 + 2 * i] == label) {
            return list[2 + 2 * i];
        }
    }
    return GLK_NONE;
}

static glk_status end_labelled(glk_epoch *self, uint32_t cont, uint32_t labels, uint64_t *steps,
                               glk_error *err);

/* Reads a terminal whose end the frames of `rest` decide by its labels. */
static glk_status begin_labelled(glk_epoch *self, uint32_t state, uint32_t rest, uint64_t *steps,
                                 glk_error *err) {
    uint32_t labels = state_labels(self, state);
    GLK_TRY(add_thread(self, state, rest, err));
    return labels == GLK_LABELS_NONE ? GLK_OK : end_labelled(self, rest, labels, steps, err);
}

/* Follows the moves from `base` on, and drops them. */
static glk_status follow_ways(glk_epoch *self, uint32_t base, uint64_t *steps, glk_error *err) {
    uint32_t count = self->ways.count;
    for (uint32_t i = base; i < count; i++) {
        glk_way way = ((const glk_way *)self->ways.data)[i];
        uint32_t rest;
        if (way.state != GLK_NONE) {
            GLK_TRY(glk_cont_intern(self, &way.frame, 1, &rest, err));
            GLK_TRY(state_labels(self, way.state) > GLK_LABELS_PLAIN
                        ? begin_labelled(self, way.state, rest, steps, err)
                        : begin_terminal(self, way.state, rest, err));
        } else if (way.frame.node != GLK_NONE) {
            GLK_TRY(enter(self, way.frame, err));
        } else {
            GLK_TRY(pop(self, way.frame.rest, err));
        }
    }
    self->ways.count = base;
    return GLK_OK;
}

/* Follows the labels of a state in the frames of a continuation whose terminal has ended. */
static glk_status end_labelled(glk_epoch *self, uint32_t cont, uint32_t labels, uint64_t *steps,
                               glk_error *err) {
    const glk_label_set *set = glk_label_set_at(self->terminals, labels);
    const glk_cont *k = glk_cont_at(self, cont);
    for (uint32_t f = 0; f < k->count; f++) {
        glk_frame frame = k->frames[f];
        bool container = glk_code_at(self->code, frame.node)->op == GLK_OP_CONTAINER;
        for (uint32_t i = 0; i < set->count; i++) {
            if (container) {
                uint32_t base = self->ways.count;
                GLK_TRY(glk_member_after(self, &frame, set->labels[i], steps, err));
                GLK_TRY(follow_ways(self, base, steps, err));
                continue;
            }
            glk_frame next = {.rest = frame.rest};
            next.node = table_entry(self->code, frame.node, set->labels[i]);
            if (next.node != GLK_NONE) {
                GLK_TRY(enter(self, next, err));
            } else {
                GLK_TRY(pop(self, next.rest, err));
            }
        }
    }
    return GLK_OK;
}

static glk_status enter_switch(glk_epoch *self, const glk_frame *goal, uint32_t state,
                               uint64_t *steps, glk_error *err) {
    uint32_t rest;
    GLK_TRY(push(self, goal->node + 1, 0, goal->rest, &rest, err));
    return begin_labelled(self, state, rest, steps, err);
}

static glk_status enter_repeat(glk_epoch *self, const glk_frame *goal, const glk_instr *code,
                               glk_error *err) {
    uint32_t count = goal->param, rest;
    if (count >= code->lo) {
        GLK_TRY(pop(self, goal->rest, err));
    }
    if (count >= code->hi) {
        return GLK_OK;
    }
    /* Without an upper bound the count matters up to the lower one only. */
    uint32_t next = code->hi == GLK_UNBOUNDED && count >= code->lo ? code->lo : count + 1;
    GLK_TRY(push(self, goal->node, next, goal->rest, &rest, err));
    return enter(self, (glk_frame){.node = code->a, .rest = rest}, err);
}

static glk_status enter_alternatives(glk_epoch *self, const glk_frame *goal,
                                     const glk_instr *code, glk_error *err) {
    const uint32_t *list = glk_code_list(self->code, code->b);
    for (uint32_t i = 0; i < list[0]; i++) {
        GLK_TRY(enter(self, (glk_frame){.node = list[1 + i], .rest = goal->rest}, err));
    }
    return GLK_OK;
}

static glk_status enter_container(glk_epoch *self, const glk_frame *goal, uint64_t *steps,
                                  glk_error *err) {
    uint32_t base = self->ways.count;
    GLK_TRY(glk_member_enter(self, goal, steps, err));
    return follow_ways(self, base, steps, err);
}

static glk_status follow(glk_epoch *self, const glk_frame *goal, uint64_t *steps, bool *can_end,
                         glk_error *err) {
    if (goal->node == GLK_NONE) {
        *can_end = true;
        return GLK_OK;
    }
    const glk_instr *code = glk_code_at(self->code, goal->node);
    uint32_t rest;
    switch ((glk_op)code->op) {
    case GLK_OP_EMPTY:
        return pop(self, goal->rest, err);
    case GLK_OP_TERM:
        return begin_terminal(self, code->lo, goal->rest, err);
    case GLK_OP_SWITCH:
        return enter_switch(self, goal, code->lo, steps, err);
    case GLK_OP_CAT:
        GLK_TRY(push(self, code->b, 0, goal->rest, &rest, err));
        return enter(self, (glk_frame){.node = code->a, .rest = rest}, err);
    case GLK_OP_ALT:
        return enter_alternatives(self, goal, code, err);
    case GLK_OP_REP:
        return enter_repeat(self, goal, code, err);
    case GLK_OP_TOKENS:
        return add_thread(self, GLK_TOKENS_BIT | goal->node, goal->rest, err);
    case GLK_OP_JUMP:
        return enter(self, (glk_frame){.node = code->a, .rest = goal->rest}, err);
    case GLK_OP_CONTAINER:
        return enter_container(self, goal, steps, err);
    case GLK_OP_TABLE:
        break;
    }
    assert(!"a TABLE is never entered");
    return GLK_OK;
}

static glk_status close(glk_epoch *self, uint32_t cont, uint32_t labels, uint32_t text,
                        uint64_t *steps, uint32_t *out, glk_error *err) {
    bool can_end = false;
    self->todo.count = self->seen.count = self->threads.count = self->ways.count = 0;
    self->text = text;
    self->maybe = false;
    if (labels == GLK_LABELS_PLAIN) {
        GLK_TRY(pop(self, cont, err));
    } else {
        GLK_TRY(end_labelled(self, cont, labels, steps, err));
    }
    while (self->todo.count > 0) {
        glk_frame goal = ((glk_frame *)self->todo.data)[--self->todo.count];
        GLK_TRY(spend(steps, err));
        GLK_TRY(follow(self, &goal, steps, &can_end, err));
    }
    if (self->maybe) {
        *out = GLK_MAYBE;
        return GLK_OK;
    }
    return glk_config_intern(self, can_end, text, out, err);
}

glk_status glk_parser_closure(glk_epoch *self, uint32_t cont, uint32_t labels, uint32_t text,
                              uint64_t *steps, uint32_t *out, glk_error *err) {
    uint32_t hash = (uint32_t)glk_mix(glk_mix(cont, labels), text), id = 0;
    glk_probe probe = glk_probe_start(&self->closure_index, hash);
    while (glk_probe_next(&self->closure_index, &probe, &id)) {
        const glk_closure *known = glk_table_at(&self->closures, id);
        if (known->cont == cont && known->labels == labels && known->text == text) {
            *out = known->config;
            return GLK_OK;
        }
    }
    uint32_t config;
    GLK_TRY(close(self, cont, labels, text, steps, &config, err));
    GLK_TRY(glk_index_reserve(&self->closure_index, err));
    GLK_TRY(glk_table_add(&self->closures, &id, err));
    *(glk_closure *)glk_table_at(&self->closures, id) =
        (glk_closure){.cont = cont, .labels = labels, .text = text, .config = config};
    (void)glk_index_add(&self->closure_index, hash, id, err);
    *out = config;
    return GLK_OK;
}

/* ------------------------------------------------------------------ steps */

glk_status glk_parser_row(glk_epoch *self, uint32_t state, uint64_t *steps, const glk_row **out,
                          glk_error *err) {
    const glk_row *row = glk_state_row(self->terminals, state);
    if (GLK_UNLIKELY(row == NULL)) {
        (void)pthread_mutex_lock(&self->terminals->lock);
        glk_status status = glk_terminals_build_row(self->terminals, state, steps, &row, err);
        (void)pthread_mutex_unlock(&self->terminals->lock);
        GLK_TRY(status);
    }
    *out = row;
    return GLK_OK;
}

/* A target that no one has asked for yet. */
static glk_status derive(glk_epoch *self, uint32_t state, uint8_t byte, uint64_t *steps,
                         uint32_t *out, glk_error *err) {
    (void)pthread_mutex_lock(&self->terminals->lock);
    glk_status status = glk_terminals_step(self->terminals, state, byte, steps, out, err);
    (void)pthread_mutex_unlock(&self->terminals->lock);
    return status;
}

glk_status glk_parser_target(glk_epoch *self, uint32_t state, uint8_t byte, uint64_t *steps,
                             uint32_t *out, glk_error *err) {
    const glk_row *row;
    *out = GLK_NONE;
    GLK_TRY(glk_parser_row(self, state, steps, &row, err));
    if (!glk_bytes_has(&row->live, byte)) {
        return GLK_OK;
    }
    *out = glk_row_target(row, byte);
    return *out == GLK_NONE ? derive(self, state, byte, steps, out, err) : GLK_OK;
}

/* Adds a configuration's threads to the scratch. */
static glk_status add_config(glk_epoch *self, uint32_t id, bool *can_end, glk_error *err) {
    const glk_config *config = glk_config_at(self, id);
    *can_end = *can_end || config->can_end;
    for (uint32_t i = 0; i < config->count; i++) {
        GLK_TRY(glk_vec_push(&self->threads, &config->threads[i], err));
    }
    return GLK_OK;
}

enum { FEW_THREADS = 32 };

/* Steps every thread.  Closures are looked up first, since they use the same scratch. */
static glk_status step_threads(glk_epoch *self, const glk_config *config, uint8_t byte,
                               uint32_t text, uint64_t *steps, uint32_t *ends, uint32_t *states,
                               glk_error *err) {
    for (uint32_t i = 0; i < config->count; i++) {
        states[i] = ends[i] = GLK_NONE;
        if ((config->threads[i].state & GLK_TOKENS_BIT) != 0) {
            continue;
        }
        GLK_TRY(glk_parser_target(self, config->threads[i].state, byte, steps, &states[i], err));
        if (states[i] == GLK_NONE) {
            continue;
        }
        uint32_t labels = state_labels(self, states[i]);
        if (labels != GLK_LABELS_NONE) {
            GLK_TRY(glk_parser_closure(self, config->threads[i].rest, labels, text, steps,
                                       &ends[i], err));
        }
    }
    return spend(steps, err);
}

static glk_status collect(glk_epoch *self, const glk_config *config, uint32_t text,
                          const uint32_t *ends, const uint32_t *states, uint32_t *out,
                          glk_error *err) {
    bool can_end = false;
    uint32_t ended = GLK_NONE, sources = 0;
    self->threads.count = 0;
    for (uint32_t i = 0; i < config->count; i++) {
        if (states[i] != GLK_NONE && glk_state_goes_on(self->terminals, states[i])) {
            GLK_TRY(add_thread(self, states[i], config->threads[i].rest, err));
            sources++;
        }
        if (ends[i] == GLK_MAYBE) {
            *out = GLK_MAYBE;
            return GLK_OK;
        }
        if (ends[i] != GLK_NONE) {
            ended = ends[i];
            sources++;
            GLK_TRY(add_config(self, ends[i], &can_end, err));
        }
    }
    if (sources == 1 && ended != GLK_NONE) {
        *out = ended; /* nothing to merge with */
        return GLK_OK;
    }
    return glk_config_intern(self, can_end, text, out, err);
}

glk_status glk_parser_live(glk_epoch *self, uint32_t id, uint64_t *steps, glk_bytes *out,
                           glk_error *err) {
    const glk_config *config = glk_config_at(self, id);
    *out = (glk_bytes){{0}};
    for (uint32_t i = 0; i < config->count; i++) {
        const glk_row *row;
        if ((config->threads[i].state & GLK_TOKENS_BIT) == 0) {
            GLK_TRY(glk_parser_row(self, config->threads[i].state, steps, &row, err));
            *out = glk_bytes_or(*out, row->live);
        }
    }
    return GLK_OK;
}

glk_status glk_parser_step_raw(glk_epoch *self, uint32_t id, uint8_t byte, uint64_t *steps,
                               uint32_t *out, glk_error *err) {
    const glk_config *config = glk_config_at(self, id);
    uint32_t text = GLK_TEXT_NONE;
    if (glk_threads_capture(self, config->threads, config->count)) {
        GLK_TRY(glk_text_extend(self, config->text, byte, &text, err));
    }
    uint32_t few[2 * FEW_THREADS];
    uint32_t *ends = few;
    size_t bytes = 2 * (size_t)config->count * sizeof(uint32_t);
    void *memory = NULL;
    if (config->count > FEW_THREADS) {
        GLK_TRY(glk_alloc(NULL, bytes, &memory, err));
        ends = memory;
    }
    uint32_t *states = ends + config->count;
    glk_status status = step_threads(self, config, byte, text, steps, ends, states, err);
    if (status == GLK_OK) {
        status = collect(self, config, text, ends, states, out, err);
    }
    glk_release(NULL, memory, bytes);
    return status;
}

static bool has_token(const glk_code *code, uint32_t node, uint32_t token) {
    const uint32_t *list = glk_code_list(code, glk_code_at(code, node)->b);
    return glk_ids_have(list + 1, list[0], token);
}

glk_status glk_parser_take_token(glk_epoch *self, uint32_t id, uint32_t token, uint64_t *steps,
                                 uint32_t *out, glk_error *err) {
    uint32_t result = GLK_NONE;
    for (uint32_t i = 0; i < glk_config_at(self, id)->count; i++) {
        glk_thread thread = glk_config_at(self, id)->threads[i];
        uint32_t next;
        if ((thread.state & GLK_TOKENS_BIT) != 0 &&
            has_token(self->code, thread.state & ~GLK_TOKENS_BIT, token)) {
            GLK_TRY(glk_parser_closure(self, thread.rest, GLK_LABELS_PLAIN,
                                       glk_config_at(self, id)->text, steps, &next, err));
            GLK_TRY(glk_parser_unite(self, result, next, steps, &result, err));
        }
    }
    *out = result;
    return GLK_OK;
}

glk_status glk_parser_unite(glk_epoch *self, uint32_t a, uint32_t b, uint64_t *steps,
                            uint32_t *out, glk_error *err) {
    if (a == GLK_NONE || b == GLK_NONE || a == b) {
        *out = a == GLK_NONE ? b : a;
        return GLK_OK;
    }
    if (a == GLK_MAYBE || b == GLK_MAYBE) {
        *out = GLK_MAYBE;
        return GLK_OK;
    }
    bool can_end = false;
    uint32_t text = glk_config_at(self, a)->text;
    GLK_TRY(spend(steps, err));
    self->threads.count = 0;
    GLK_TRY(add_config(self, a, &can_end, err));
    GLK_TRY(add_config(self, b, &can_end, err));
    return glk_config_intern(self, can_end,
                             text != GLK_TEXT_NONE ? text : glk_config_at(self, b)->text, out,
                             err);
}

glk_status glk_parser_start(glk_epoch *self, uint64_t *steps, glk_error *err) {
    uint32_t cont;
    GLK_TRY(push(self, self->code->root, 0, 0, &cont, err));
    return glk_parser_closure(self, cont, GLK_LABELS_PLAIN, GLK_TEXT_NONE, steps, &self->start,
                              err);
}
