/* reach.c -- how far the end of a terminal may be; see glk_terminals_worst in terminal.h.
 * Lists everything that can be reached, with one edge per distinct target, then lowers distances
 * from the accepting states until none changes. */
#include "terminal.h"

enum { STATES_AT_MOST = 1500, TOO_MANY = UINT32_MAX - 1 };

typedef struct edge {
    uint32_t from, to; /* indices into `states` */
} edge;

typedef struct survey {
    glk_terminals *terminals;
    uint64_t *steps;
    glk_error *err;
    glk_vec states; /* u32 */
    glk_vec edges;  /* edge */
    glk_index index;
} survey;

/* The index of a state, listed if it is new. */
static glk_status place(survey *self, uint32_t state, uint32_t *out) {
    uint32_t hash = state * 0x9E3779B1u, at = 0;
    glk_probe probe = glk_probe_start(&self->index, hash);
    while (glk_probe_next(&self->index, &probe, &at)) {
        if (GLK_VEC_U32(&self->states)[at] == state) {
            *out = at;
            return GLK_OK;
        }
    }
    *out = self->states.count;
    GLK_TRY(glk_index_add(&self->index, hash, *out, self->err));
    return glk_vec_push_u32(&self->states, state, self->err);
}

static glk_status add_edge(survey *self, uint32_t from, uint32_t target) {
    edge found = {.from = from};
    GLK_TRY(place(self, target, &found.to));
    return glk_vec_push(&self->edges, &found, self->err);
}

static glk_status list_row(survey *self, uint32_t from, const glk_row *row) {
    uint32_t state = GLK_VEC_U32(&self->states)[from], last = GLK_NONE, target;
    for (uint32_t word = 0; word < 4; word++) {
        for (uint64_t bits = row->live.word[word]; bits != 0; bits &= bits - 1) {
            uint8_t byte = (uint8_t)(word * 64 + (uint32_t)__builtin_ctzll(bits));
            GLK_TRY(glk_terminals_step(self->terminals, state, byte, self->steps, &target,
                                       self->err));
            if (target != last) { /* neighbours mostly share their target */
                last = target;
                GLK_TRY(add_edge(self, from, target));
            }
        }
    }
    return GLK_OK;
}

static glk_status add_derivative(survey *self, uint32_t from, uint8_t byte) {
    glk_terminals *terminals = self->terminals;
    uint32_t expr = glk_state_at(terminals, GLK_VEC_U32(&self->states)[from])->expr, next, target;
    bool empty;
    GLK_TRY(glk_expr_derive_within(&terminals->exprs, expr, byte, self->steps, &next, self->err));
    GLK_TRY(glk_expr_is_empty(&terminals->exprs, next, self->steps, &empty, self->err));
    if (empty) {
        return GLK_OK;
    }
    GLK_TRY(glk_terminals_state(terminals, next, &target, self->err));
    return add_edge(self, from, target);
}

/* Rows that are there are read.  None is built: that would look for bases, those would ask for
 * surveys, and where counts start anew in a loop that would go round in circles. */
static glk_status list_targets(survey *self, uint32_t from) {
    glk_terminals *terminals = self->terminals;
    uint32_t state = GLK_VEC_U32(&self->states)[from], classes;
    const glk_row *row = glk_state_row(terminals, state);
    if (row != NULL) {
        return list_row(self, from, row);
    }
    uint32_t expr = glk_state_at(terminals, state)->expr;
    glk_bytes bytes = glk_expr_at(&terminals->exprs, expr)->first;
    uint8_t class_of[256];
    bool done[256] = {false};
    bytes = glk_bytes_and(bytes, terminals->exprs.alphabet);
    glk_expr_partition(&terminals->exprs, expr, class_of, &classes);
    for (uint32_t b = 0; b < 256; b++) {
        if (glk_bytes_has(&bytes, (uint8_t)b) && !done[class_of[b]]) {
            done[class_of[b]] = true;
            GLK_TRY(add_derivative(self, from, (uint8_t)b));
        }
    }
    return GLK_OK;
}

/* What holds for all states in reach of one holds for all in reach of these. */
static void keep_worst(survey *self, uint32_t worst) {
    for (uint32_t i = 0; i < self->states.count; i++) {
        glk_state *state = glk_state_at(self->terminals, GLK_VEC_U32(&self->states)[i]);
        if (state->worst == GLK_NONE || state->worst > worst) {
            state->worst = worst;
        }
    }
}

/* distance = 1 + the least distance of a successor, 0 where the state accepts. */
static uint32_t settle(const survey *self, uint32_t *distance) {
    const edge *edges = self->edges.data;
    bool changed = true;
    for (uint32_t i = 0; i < self->states.count; i++) {
        uint32_t labels = glk_state_at(self->terminals, GLK_VEC_U32(&self->states)[i])->labels;
        distance[i] = labels == GLK_LABELS_NONE ? TOO_MANY : 0;
    }
    while (changed) {
        changed = false;
        for (uint32_t i = self->edges.count; i > 0; i--) { /* later states lie nearer to the end */
            const edge *e = &edges[i - 1];
            if (distance[e->to] < TOO_MANY && distance[e->to] + 1 < distance[e->from]) {
                distance[e->from] = distance[e->to] + 1;
                changed = true;
            }
        }
    }
    uint32_t worst = 0;
    for (uint32_t i = 0; i < self->states.count; i++) {
        worst = distance[i] > worst ? distance[i] : worst;
    }
    return worst;
}

static glk_status explore(survey *self, uint32_t state, uint32_t *out) {
    uint32_t at;
    GLK_TRY(place(self, state, &at));
    for (uint32_t i = 0; i < self->states.count; i++) {
        if (self->states.count > STATES_AT_MOST) {
            *out = TOO_MANY;
            return GLK_OK;
        }
        GLK_TRY(list_targets(self, i));
    }
    void *memory;
    size_t bytes = self->states.count * sizeof(uint32_t);
    GLK_TRY(glk_alloc(NULL, bytes, &memory, self->err));
    *out = settle(self, memory);
    glk_release(NULL, memory, bytes);
    return GLK_OK;
}

glk_status glk_terminals_worst(glk_terminals *self, uint32_t id, uint64_t *steps, uint32_t *out,
                           glk_error *err) {
    glk_state *state = glk_state_at(self, id);
    if (state->worst == GLK_NONE) {
        survey job = {.terminals = self, .steps = steps, .err = err};
        glk_vec_init(&job.states, NULL, sizeof(uint32_t));
        glk_vec_init(&job.edges, NULL, sizeof(edge));
        glk_index_init(&job.index, NULL);
        uint32_t worst = 0;
        glk_status status = explore(&job, id, &worst);
        if (status == GLK_OK) { /* also "too many": each of them would ask for a survey as long */
            keep_worst(&job, worst);
        }
        glk_vec_free(&job.states);
        glk_vec_free(&job.edges);
        glk_index_free(&job.index);
        GLK_TRY(status);
        state->worst = worst;
    }
    *out = state->worst;
    return GLK_OK;
}

/* ------------------------------------------------------------------ a first guess */

enum { PARTS_AT_MOST = 32, DEPTH_AT_MOST = 8 };

typedef struct guess {
    glk_terminals *terminals;
    uint64_t *steps;
    glk_error *err;
    uint32_t parts; /* looked at so far */
} guess;

static glk_status guess_at(guess *self, uint32_t item, uint32_t depth, uint32_t *out);

/* Members of an or are as far as the farthest.  Those of an and go together as long as both can, so that
 * the nearest decides; what must not be does not count. */
static glk_status guess_members(guess *self, const glk_expr *e, uint32_t depth, uint32_t *out) {
    bool is_or = e->kind == GLK_OR, found = false;
    for (uint32_t i = 0; i < e->b; i++) {
        const glk_expr *m = glk_expr_at(&self->terminals->exprs, e->list[i]);
        uint32_t worst;
        if (is_or ? (m->flags & GLK_FINITE) != 0 : m->kind == GLK_NOT) {
            continue;
        }
        GLK_TRY(guess_at(self, e->list[i], depth + 1, &worst));
        *out = !found || (worst > *out) == is_or ? worst : *out;
        found = true;
    }
    return GLK_OK;
}

/* Looks at what repeats repeat: inside, a text is as far from the end as inside one of them alone. */
static glk_status guess_at(guess *self, uint32_t item, uint32_t depth, uint32_t *out) {
    glk_exprs *exprs = &self->terminals->exprs;
    *out = 0;
    while (self->parts++ < PARTS_AT_MOST && depth < DEPTH_AT_MOST) {
        const glk_expr *e = glk_expr_at(exprs, item);
        uint32_t worst = 0;
        if (e->kind == GLK_CAT) {
            GLK_TRY(guess_at(self, e->a, depth + 1, &worst));
        } else if (e->kind == GLK_OR || e->kind == GLK_AND) {
            GLK_TRY(guess_members(self, e, depth, &worst));
        } else if (e->kind == GLK_REP && (glk_expr_at(exprs, e->a)->flags & GLK_CHECKED) == 0) {
            uint32_t state;
            GLK_TRY(glk_terminals_state(self->terminals, e->a, &state, self->err));
            GLK_TRY(glk_terminals_worst(self->terminals, state, self->steps, &worst, self->err));
        }
        *out = worst > *out ? worst : *out;
        if (e->kind != GLK_CAT) {
            return GLK_OK;
        }
        item = e->b;
    }
    return GLK_OK;
}

glk_status glk_terminals_guess_worst(glk_terminals *self, uint32_t state, uint64_t *steps,
                                     uint32_t *out, glk_error *err) {
    guess job = {.terminals = self, .steps = steps, .err = err};
    return guess_at(&job, glk_state_at(self, state)->expr, 0, out);
}
