/* member.c -- see member.h. */
#include "member.h"

typedef enum phase {
    START,
    FIRST_GAP,
    FIRST,
    VALUE_GAP,
    NEXT,
    CLOSE,
    READING,
    COMMA = GLK_PHASE_DUE,
    COMMITTED, /* as READING, after white space that only a comma may follow */
    KEY_GAP,
    KEY
} phase;

static uint32_t pack(uint32_t obligations, phase at) {
    return obligations << GLK_PHASE_BITS | (uint32_t)at;
}

static uint32_t obligations_of(const glk_frame *frame) { return frame->param >> GLK_PHASE_BITS; }

static uint32_t gap_state(const glk_object *object, uint32_t gap) {
    return object->container.gaps[gap]; /* linked: states, no longer expressions */
}

/* ------------------------------------------------------------------ ways on */

static glk_status add_way(glk_epoch *self, uint32_t state, glk_frame frame, glk_error *err) {
    glk_way way = {.state = state, .frame = frame};
    return glk_vec_push(&self->ways, &way, err);
}

/* Reads a terminal, then goes on in another phase. */
static glk_status read_then(glk_epoch *self, const glk_frame *goal, uint32_t state,
                            uint32_t obligations, phase next, glk_error *err) {
    glk_frame frame = *goal;
    frame.param = pack(obligations, next);
    return add_way(self, state, frame, err);
}

/* ------------------------------------------------------------------ values that matter */

/* Where the text of the item or key that begins now starts; GLK_START_NONE if it does not matter. */
static uint32_t start_of(glk_epoch *self, const glk_object *object, uint32_t seen) {
    uint32_t flags = object->container.flags;
    if ((flags & GLK_UNIQUE) == 0) {
        return GLK_START_NONE;
    }
    if (self->text != GLK_TEXT_BARE && seen != GLK_SEEN_SOME) {
        return self->text;
    }
    /* Where it may run out, a comma inside a token has stopped there: see note_comma. */
    self->maybe = self->maybe || (flags & GLK_TIGHT) != 0;
    return seen == 0 || glk_object_may_run_out(object) ? GLK_START_FRESH : GLK_START_SOME;
}

/* A comma comes: in a bare configuration there may be nothing left to follow it. */
static void note_comma(glk_epoch *self, const glk_object *object, uint32_t obligations) {
    glk_obligations now = glk_object_read(&self->objects, object, obligations);
    self->maybe =
        self->maybe || (now.seen == GLK_SEEN_SOME && glk_object_may_run_out(object));
}

/* Takes in the item or key that has just ended.  *fresh: it is none of those seen. */
static glk_status take_value(glk_epoch *self, const glk_object *object, uint32_t *obligations,
                             bool *fresh, glk_error *err) {
    glk_obligations now = glk_object_read(&self->objects, object, *obligations);
    uint32_t seen = GLK_SEEN_SOME, value;
    *fresh = true;
    if (now.start == GLK_START_SOME) {
        self->maybe = true;
    } else if (now.start != GLK_START_FRESH) {
        GLK_TRY(glk_text_since(self, self->text, now.start, err));
        GLK_TRY(glk_value_read(&self->values, self->bytes.data, self->bytes.count, &value, err));
        *fresh = !glk_values_has(&self->values, now.seen, value);
        if (!*fresh) {
            return GLK_OK;
        }
        GLK_TRY(glk_values_add(&self->values, now.seen, value, &seen, err));
    }
    return glk_object_mark(&self->objects, object, *obligations, seen, GLK_START_NONE,
                           obligations, err);
}

/* ------------------------------------------------------------------ labelled terminals */

static bool may_read_free(const glk_epoch *self, const glk_object *object, uint32_t obligations) {
    const glk_container *container = &object->container;
    return container->free > 0 &&
           glk_object_next(&self->objects, object, obligations, container->named) != GLK_NONE;
}

/* Lists the keys that may come next in the expression store's scratch. */
static glk_status push_keys(glk_epoch *self, const glk_object *object, uint32_t obligations,
                            uint64_t *steps, glk_error *err) {
    glk_vec *scratch = &self->terminals->exprs.scratch;
    glk_objects *objects = &self->objects;
    for (uint32_t k = glk_object_next(objects, object, obligations, 0); k != GLK_NONE;
         k = glk_object_next(objects, object, obligations, k + 1)) {
        if (object->container.formula_words > 0) {
            self->turns.count = 0;
            GLK_TRY(glk_object_turns(objects, object, obligations, k, steps, &self->turns, err));
            if (self->turns.count == 0) {
                continue;
            }
        }
        GLK_TRY(glk_vec_push_u32(scratch, glk_class_key(&object->container, k), err));
    }
    return GLK_OK;
}

/* Lists the labelled alternatives of a phase there. */
static glk_status push_alternatives(glk_epoch *self, const glk_object *object,
                                    uint32_t obligations, phase at, uint64_t *steps,
                                    glk_error *err) {
    glk_vec *scratch = &self->terminals->exprs.scratch;
    glk_objects *objects = &self->objects;
    if (at != KEY && at != COMMA) {
        bool closes;
        GLK_TRY(glk_object_may_close(objects, object, obligations, &closes, err));
        if (closes) {
            GLK_TRY(glk_vec_push_u32(scratch, self->close_expr[glk_object_is_array(object)], err));
        }
    }
    if (at == NEXT || at == COMMA) {
        bool goes_on;
        GLK_TRY(glk_object_may_go_on(objects, object, obligations, steps, &goes_on, err));
        return goes_on ? glk_vec_push_u32(scratch, self->comma_expr, err) : GLK_OK;
    }
    return at == CLOSE || glk_object_is_array(object)
               ? GLK_OK
               : push_keys(self, object, obligations, steps, err);
}

static glk_status make_key_state(glk_epoch *self, const glk_object *object, uint32_t obligations,
                                 phase at, uint64_t *steps, uint32_t *out, glk_error *err) {
    glk_terminals *terminals = self->terminals;
    (void)pthread_mutex_lock(&terminals->lock);
    uint32_t base = terminals->exprs.scratch.count, expr;
    glk_status status = push_alternatives(self, object, obligations, at, steps, err);
    uint32_t listed = terminals->exprs.scratch.count - base;
    if (status == GLK_OK) {
        status = *steps < listed ? glk_fail_limit(err, "steps", listed, *steps) : GLK_OK;
    }
    *out = GLK_NONE;
    if (status == GLK_OK && listed > 0) {
        *steps -= listed;
        status = glk_expr_or_scratch(&terminals->exprs, base, &expr, err);
        if (status == GLK_OK) {
            status = glk_terminals_state(terminals, expr, out, err);
        }
    }
    terminals->exprs.scratch.count = base;
    (void)pthread_mutex_unlock(&terminals->lock);
    return status;
}

/* The state of a phase's labelled terminal; GLK_NONE: it has no alternative. */
static glk_status key_state(glk_epoch *self, const glk_frame *goal, const glk_object *object,
                            uint64_t *steps, uint32_t *out, glk_error *err) {
    uint32_t hash = (uint32_t)glk_mix(goal->node, goal->param), id = 0, state;
    glk_probe probe = glk_probe_start(&self->key_index, hash);
    while (glk_probe_next(&self->key_index, &probe, &id)) {
        const glk_key *known = glk_table_at(&self->keys, id);
        if (known->node == goal->node && known->param == goal->param) {
            *out = known->state;
            return GLK_OK;
        }
    }
    GLK_TRY(make_key_state(self, object, obligations_of(goal),
                           (phase)(goal->param & GLK_PHASE_MASK), steps, &state, err));
    GLK_TRY(glk_index_reserve(&self->key_index, err));
    GLK_TRY(glk_table_add(&self->keys, &id, err));
    *(glk_key *)glk_table_at(&self->keys, id) =
        (glk_key){.node = goal->node, .param = goal->param, .state = state};
    (void)glk_index_add(&self->key_index, hash, id, err);
    *out = state;
    return GLK_OK;
}

/* Reads a labelled terminal: brackets, comma, keys.  Seen values do not change which keys there are,
 * so the state is looked up without them. */
static glk_status enter_labelled(glk_epoch *self, const glk_frame *goal, const glk_object *object,
                                 phase at, uint64_t *steps, glk_error *err) {
    uint32_t obligations = obligations_of(goal), plain = obligations, state;
    glk_obligations now = glk_object_read(&self->objects, object, obligations);
    if (now.seen != 0) {
        GLK_TRY(glk_object_mark(&self->objects, object, obligations, 0, GLK_START_NONE, &plain,
                                err));
    }
    glk_frame unmarked = {.node = goal->node, .param = pack(plain, at)};
    GLK_TRY(key_state(self, &unmarked, object, steps, &state, err));
    bool keys = (at == KEY || at == FIRST) && !glk_object_is_array(object);
    if (keys && may_read_free(self, object, plain)) {
        uint32_t start = start_of(self, object, now.seen);
        if (start != GLK_START_NONE) {
            GLK_TRY(glk_object_mark(&self->objects, object, obligations, now.seen, start,
                                    &obligations, err));
        }
    }
    if (state == GLK_NONE) {
        return GLK_OK;
    }
    bool committed = at == COMMA && glk_state_goes_on(self->terminals, gap_state(object, GLK_GAP_COMMA));
    return read_then(self, goal, state, obligations, committed ? COMMITTED : READING, err);
}

/* ------------------------------------------------------------------ members */

/* A member of class `k`: each of its choices, then the rest of the container. */
static glk_status enter_value(glk_epoch *self, const glk_frame *frame, const glk_object *object,
                              uint32_t obligations, uint32_t k, uint64_t *steps, glk_error *err) {
    self->turns.count = 0;
    GLK_TRY(glk_object_turns(&self->objects, object, obligations, k, steps, &self->turns, err));
    uint32_t start = GLK_START_NONE, seen = 0;
    if (glk_object_is_array(object)) {
        seen = glk_object_read(&self->objects, object, obligations).seen;
        start = start_of(self, object, seen);
    }
    for (uint32_t i = 0; i < self->turns.count; i++) {
        glk_turn turn = ((const glk_turn *)self->turns.data)[i];
        if (start != GLK_START_NONE) {
            GLK_TRY(glk_object_mark(&self->objects, object, turn.after, seen, start, &turn.after,
                                    err));
        }
        glk_frame rest = *frame, value = {.node = turn.value};
        rest.param = pack(turn.after, VALUE_GAP);
        GLK_TRY(glk_cont_intern(self, &rest, 1, &value.rest, err));
        GLK_TRY(add_way(self, GLK_NONE, value, err));
    }
    return GLK_OK;
}

static glk_status enter_items(glk_epoch *self, const glk_frame *goal, const glk_object *object,
                              uint64_t *steps, glk_error *err) {
    uint32_t obligations = obligations_of(goal);
    uint32_t k = glk_object_next(&self->objects, object, obligations, 0);
    return k == GLK_NONE ? GLK_OK
                         : enter_value(self, goal, object, obligations, k, steps, err);
}

/* ------------------------------------------------------------------ phases */

static bool one_gap(const glk_object *object, uint32_t a, uint32_t b) {
    return gap_state(object, a) == gap_state(object, b);
}

static glk_status enter_first_gap(glk_epoch *self, const glk_frame *goal,
                                  const glk_object *object, uint64_t *steps, glk_error *err) {
    uint32_t obligations = obligations_of(goal);
    if ((object->container.flags & GLK_BARE) == 0) { /* lower.c sets it where the gaps differ */
        return read_then(self, goal, gap_state(object, GLK_GAP_OPEN), obligations, FIRST, err);
    }
    GLK_TRY(enter_labelled(self, goal, object, CLOSE, steps, err));
    bool goes_on;
    GLK_TRY(glk_object_may_go_on(&self->objects, object, obligations, steps, &goes_on, err));
    return goes_on ? read_then(self, goal, gap_state(object, GLK_GAP_OPEN), obligations, KEY, err)
                   : GLK_OK;
}

static glk_status enter_value_gap(glk_epoch *self, const glk_frame *goal, const glk_object *object,
                                  uint64_t *steps, glk_error *err) {
    uint32_t obligations = obligations_of(goal);
    if (glk_object_read(&self->objects, object, obligations).start != GLK_START_NONE) {
        bool fresh;
        GLK_TRY(take_value(self, object, &obligations, &fresh, err));
        if (!fresh) {
            return GLK_OK;
        }
    }
    if (one_gap(object, GLK_GAP_COMMA, GLK_GAP_CLOSE)) {
        return read_then(self, goal, gap_state(object, GLK_GAP_COMMA), obligations, NEXT, err);
    }
    bool closes, goes_on;
    GLK_TRY(glk_object_may_close(&self->objects, object, obligations, &closes, err));
    if (closes) {
        GLK_TRY(read_then(self, goal, gap_state(object, GLK_GAP_CLOSE), obligations, CLOSE, err));
    }
    GLK_TRY(glk_object_may_go_on(&self->objects, object, obligations, steps, &goes_on, err));
    if (!goes_on) {
        return GLK_OK;
    }
    uint32_t gap = gap_state(object, GLK_GAP_COMMA);
    if (glk_state_goes_on(self->terminals, gap)) {
        note_comma(self, object, obligations); /* it commits to the comma */
    }
    return read_then(self, goal, gap, obligations, COMMA, err);
}

glk_status glk_member_enter(glk_epoch *self, const glk_frame *goal, uint64_t *steps,
                            glk_error *err) {
    glk_object object = glk_object_view(self->code, goal->node);
    uint32_t obligations = obligations_of(goal);
    phase at = (phase)(goal->param & GLK_PHASE_MASK);
    switch (at) {
    case START:
        GLK_TRY(glk_object_start(&self->objects, &object, &obligations, err));
        return read_then(self, goal, self->open_state[glk_object_is_array(&object)], obligations,
                         FIRST_GAP, err);
    case FIRST_GAP:
        return enter_first_gap(self, goal, &object, steps, err);
    case VALUE_GAP:
        return enter_value_gap(self, goal, &object, steps, err);
    case KEY_GAP:
        return read_then(self, goal, gap_state(&object, GLK_GAP_ITEM), obligations, KEY, err);
    default:
        break;
    }
    assert(at != READING && at != COMMITTED);
    if (glk_object_is_array(&object) && (at == FIRST || at == KEY)) {
        GLK_TRY(enter_items(self, goal, &object, steps, err));
    }
    return at == KEY && glk_object_is_array(&object)
               ? GLK_OK
               : enter_labelled(self, goal, &object, at, steps, err);
}

glk_status glk_member_after(glk_epoch *self, const glk_frame *frame, uint32_t label,
                            uint64_t *steps, glk_error *err) {
    glk_object object = glk_object_view(self->code, frame->node);
    uint32_t obligations = obligations_of(frame);
    if (label == GLK_LABEL_CLOSE) {
        return add_way(self, GLK_NONE, (glk_frame){.node = GLK_NONE, .rest = frame->rest}, err);
    }
    if (label == GLK_LABEL_COMMA) {
        glk_frame next = *frame;
        next.param = pack(obligations, KEY_GAP);
        note_comma(self, &object, obligations);
        return add_way(self, GLK_NONE, next, err);
    }
    uint32_t k = glk_object_class(&object, label);
    glk_obligations now = glk_object_read(&self->objects, &object, obligations);
    if (now.start != GLK_START_NONE) {
        bool fresh = true;
        if (k >= object.container.named) {
            GLK_TRY(take_value(self, &object, &obligations, &fresh, err));
        } else {
            GLK_TRY(glk_object_mark(&self->objects, &object, obligations, now.seen,
                                    GLK_START_NONE, &obligations, err));
        }
        if (!fresh) {
            return GLK_OK;
        }
    }
    return enter_value(self, frame, &object, obligations, k, steps, err);
}
