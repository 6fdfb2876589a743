/* productive.c -- two least fixpoints over the code, and the cut that follows from the first.
 *
 *     productive   the node has a sentence
 *     nullable     the node matches the empty string
 *
 * Both are computed the same way, in linear time: every node waits for a number of its children
 * (a CAT for both, an object for its required members, an ALT for any one), a node that waits for
 * nothing more holds, and tells its parents.  A node that keeps waiting does not hold; cycles need
 * no care (Knuth 1977, without weights).
 *
 * A container for which counting is not enough (it has a formula, or several choices for a required
 * member) waits until a search finds it feasible with the choices that hold.  It is searched when
 * nothing else can go on, and again only when another of its choices has come to hold. */
#include "passes.h"

enum { NEVER = UINT32_MAX, SEARCHED = UINT32_MAX - 1 }; /* waits for ever; for a search */

/* Who waits for whom: parents[start[n] .. start[n + 1]) wait for n, once per reference. */
typedef struct waiting {
    uint32_t *start, *parents;
} waiting;

/* Whether a container holds as soon as a number of its required members do. */
static bool is_counted(const glk_container *container) {
    if (container->formula_words > 0) {
        return false;
    }
    for (uint32_t k = 0; k < container->named; k++) {
        if (glk_class_required(container, k) && glk_class_count(container, k) > 1) {
            return false;
        }
    }
    return true;
}

/* The nodes that `id` waits for, as `children`. */
static glk_status list_awaited(const glk_code *code, uint32_t id, glk_vec *children,
                               glk_error *err) {
    const glk_instr *instr = glk_code_at(code, id);
    uint32_t count = glk_code_children(code, id);
    children->count = 0;
    GLK_TRY(glk_vec_reserve(children, count, err));
    uint32_t *items = GLK_VEC_U32(children);
    if (instr->op == GLK_OP_CONTAINER) {
        glk_container container = glk_container_view(glk_code_list(code, instr->b));
        if (is_counted(&container)) {
            for (uint32_t k = 0; k < container.named; k++) {
                if (glk_class_required(&container, k) && glk_class_count(&container, k) > 0) {
                    items[children->count++] =
                        glk_choice_value(&container, glk_class_first(&container, k));
                }
            }
            return GLK_OK;
        }
    }
    for (uint32_t k = 0; k < count; k++) {
        items[children->count++] = *glk_code_child(code, id, k);
    }
    return GLK_OK;
}

/* Counts two places ahead and fills one place ahead, which leaves the starts where they belong. */
static glk_status fill_waiting(glk_work *self, waiting *out, glk_vec *children, glk_error *err) {
    const glk_code *code = &self->code;
    uint32_t count = glk_code_count(code), edges = 0;
    GLK_TRY(glk_work_array(self, (size_t)count + 2, sizeof(uint32_t), &out->start, err));
    for (uint32_t id = 0; id < count; id++) {
        GLK_TRY(list_awaited(code, id, children, err));
        for (uint32_t k = 0; k < children->count; k++) {
            out->start[GLK_VEC_U32(children)[k] + 2]++;
        }
        edges += children->count;
    }
    GLK_TRY(glk_work_spend(self, (uint64_t)count + edges, err));
    GLK_TRY(glk_work_array(self, edges, sizeof(uint32_t), &out->parents, err));
    for (uint32_t i = 2; i < count + 2; i++) {
        out->start[i] += out->start[i - 1];
    }
    for (uint32_t id = 0; id < count; id++) {
        GLK_TRY(list_awaited(code, id, children, err));
        for (uint32_t k = 0; k < children->count; k++) {
            out->parents[out->start[GLK_VEC_U32(children)[k] + 1]++] = id;
        }
    }
    return GLK_OK;
}

/* ---- containers to be searched ---- */

typedef struct fixpoint {
    glk_work *work;
    waiting graph;
    uint32_t *pending;       /* by node; 0 = holds */
    uint32_t *queue, queued; /* nodes that hold */
    uint8_t *stale;          /* by node: in `searches` */
    glk_vec searches;        /* u32: containers of which a choice came to hold after their search */
    glk_vec children;        /* u32: scratch */
    glk_vec residual;        /* u32: scratch */
} fixpoint;

static bool holds(const void *context, uint32_t node) {
    return ((const uint32_t *)context)[node] == 0;
}

static glk_status want_search(fixpoint *self, uint32_t id, glk_error *err) {
    if (self->stale[id] != 0) {
        return GLK_OK;
    }
    self->stale[id] = 1;
    return glk_vec_push_u32(&self->searches, id, err);
}

/* Whether every required member has a choice that holds: all that is asked without a formula. */
static bool has_required(const fixpoint *self, const glk_container *container) {
    for (uint32_t k = 0; k < container->named; k++) {
        bool any = !glk_class_required(container, k);
        uint32_t end = glk_class_first(container, k) + glk_class_count(container, k);
        for (uint32_t i = glk_class_first(container, k); i < end && !any; i++) {
            any = self->pending[glk_choice_value(container, i)] == 0;
        }
        if (!any) {
            return false;
        }
    }
    return true;
}

static glk_status is_feasible(fixpoint *self, uint32_t id, bool *out, glk_error *err) {
    const glk_code *code = &self->work->code;
    glk_container container = glk_container_view(glk_code_list(code, glk_code_at(code, id)->b));
    GLK_TRY(glk_work_spend(self->work, container.choice_count, err));
    *out = has_required(self, &container);
    if (!*out || container.formula_words == 0) {
        return GLK_OK;
    }
    glk_outlook outlook = {.container = &container, .usable = holds, .context = self->pending};
    GLK_TRY(glk_vec_reserve(&self->residual, glk_formula_size(&container), err));
    GLK_TRY(glk_formula_start(&container, GLK_VEC_U32(&self->residual), err));
    uint64_t left = self->work->max_steps - self->work->steps;
    glk_status status =
        glk_formula_feasible(&outlook, GLK_VEC_U32(&self->residual), &left, out, err);
    self->work->steps = self->work->max_steps - left;
    return status;
}

/* Tells the parents of all nodes that hold. */
static glk_status drain(fixpoint *self, uint32_t *at, glk_error *err) {
    for (; *at < self->queued; ++*at) {
        uint32_t node = self->queue[*at];
        for (uint32_t i = self->graph.start[node]; i < self->graph.start[node + 1]; i++) {
            uint32_t parent = self->graph.parents[i];
            uint32_t *pending = &self->pending[parent];
            if (*pending == SEARCHED) {
                GLK_TRY(want_search(self, parent, err));
            } else if (*pending != 0 && *pending != NEVER && --*pending == 0) {
                self->queue[self->queued++] = parent;
            }
        }
    }
    return GLK_OK;
}

static glk_status settle(fixpoint *self, glk_error *err) {
    uint32_t count = glk_code_count(&self->work->code), at = 0;
    for (uint32_t id = 0; id < count; id++) {
        if (self->pending[id] == 0) {
            self->queue[self->queued++] = id;
        } else if (self->pending[id] == SEARCHED) {
            GLK_TRY(want_search(self, id, err));
        }
    }
    GLK_TRY(drain(self, &at, err));
    while (self->searches.count > 0) {
        uint32_t id = GLK_VEC_U32(&self->searches)[--self->searches.count];
        bool feasible = false;
        self->stale[id] = 0;
        GLK_TRY(is_feasible(self, id, &feasible, err));
        if (feasible) {
            self->pending[id] = 0;
            self->queue[self->queued++] = id;
            GLK_TRY(drain(self, &at, err));
        }
    }
    return GLK_OK;
}

/* `pending` by node: how many children it still waits for, or SEARCHED; afterwards 0 where the node
 * holds. */
static glk_status least_fixpoint(glk_work *self, uint32_t *pending, glk_error *err) {
    fixpoint state = {.work = self, .pending = pending};
    uint32_t count = glk_code_count(&self->code);
    glk_vec_init(&state.children, NULL, sizeof(uint32_t));
    glk_vec_init(&state.searches, NULL, sizeof(uint32_t));
    glk_vec_init(&state.residual, NULL, sizeof(uint32_t));
    glk_status status = fill_waiting(self, &state.graph, &state.children, err);
    if (status == GLK_OK) {
        status = glk_work_array(self, count, sizeof(uint32_t), &state.queue, err);
    }
    if (status == GLK_OK) {
        status = glk_work_array(self, count, sizeof(uint8_t), &state.stale, err);
    }
    if (status == GLK_OK) {
        status = settle(&state, err);
    }
    glk_vec_free(&state.children);
    glk_vec_free(&state.searches);
    glk_vec_free(&state.residual);
    return status;
}

/* ---- nullable ---- */

static uint32_t awaited_to_be_nullable(const glk_work *self, const glk_instr *instr) {
    switch ((glk_op)instr->op) {
    case GLK_OP_EMPTY:
        return 0;
    case GLK_OP_TERM:
        return self->env->is_nullable(self->env->context, instr->a) ? 0 : NEVER;
    case GLK_OP_CAT:
        return 2;
    case GLK_OP_ALT:
    case GLK_OP_JUMP:
        return 1;
    case GLK_OP_REP:
        return instr->lo == 0 ? 0 : 1;
    default: /* a SWITCH was split when it was lowered */
        return NEVER;
    }
}

glk_status glk_pass_nullable(glk_work *self, glk_error *err) {
    uint32_t count = glk_code_count(&self->code);
    uint32_t *pending;
    GLK_TRY(glk_work_array(self, count, sizeof(uint32_t), &pending, err));
    for (uint32_t id = 0; id < count; id++) {
        pending[id] = awaited_to_be_nullable(self, glk_work_at(self, id));
    }
    GLK_TRY(least_fixpoint(self, pending, err));
    GLK_TRY(glk_vec_reserve(&self->nullable, count, err));
    uint8_t *nullable = self->nullable.data;
    for (uint32_t id = 0; id < count; id++) {
        nullable[id] = pending[id] == 0;
    }
    self->nullable.count = count;
    return GLK_OK;
}

/* ---- productive ---- */

static uint32_t awaited_by_container(const uint32_t *list) {
    glk_container container = glk_container_view(list);
    uint32_t required = 0;
    if (!is_counted(&container)) {
        return SEARCHED;
    }
    for (uint32_t k = 0; k < container.named; k++) {
        if (glk_class_required(&container, k) && glk_class_count(&container, k) == 0) {
            return NEVER;
        }
        required += glk_class_required(&container, k);
    }
    return required;
}

static uint32_t awaited_to_be_productive(const glk_work *self, const glk_instr *instr) {
    switch ((glk_op)instr->op) {
    case GLK_OP_CAT:
        return 2;
    case GLK_OP_ALT:
    case GLK_OP_JUMP:
    case GLK_OP_SWITCH:
        return 1;
    case GLK_OP_REP:
        return instr->lo == 0 ? 0 : 1;
    case GLK_OP_CONTAINER:
        return awaited_by_container(glk_code_list(&self->code, instr->b));
    default:
        return 0;
    }
}

static void cut_choice(glk_work *self, glk_instr *instr, const uint32_t *pending) {
    uint32_t *list = GLK_VEC_U32(&self->code.lists) + instr->b;
    uint32_t kept = 0;
    for (uint32_t i = 1; i <= list[0]; i++) {
        if (pending[list[i]] == 0) {
            list[++kept] = list[i];
        }
    }
    list[0] = kept;
    if (kept == 1) {
        *instr = (glk_instr){.op = GLK_OP_JUMP, .a = list[1]};
    }
}

static glk_status cut_switch(glk_work *self, uint32_t id, const uint32_t *pending,
                             glk_error *err) {
    glk_instr *instr = glk_work_at(self, id);
    uint32_t *list = GLK_VEC_U32(&self->code.lists) + instr->b;
    uint32_t kept = 0, dropped = 0, *labels;
    for (uint32_t i = 0; i < list[0]; i++) {
        dropped += pending[list[2 + 2 * i]] != 0;
    }
    if (dropped == 0) {
        return GLK_OK;
    }
    GLK_TRY(glk_work_array(self, dropped, sizeof *labels, &labels, err));
    dropped = 0;
    for (uint32_t i = 0; i < list[0]; i++) {
        if (pending[list[2 + 2 * i]] != 0) {
            labels[dropped++] = list[1 + 2 * i];
        } else {
            list[1 + 2 * kept] = list[1 + 2 * i];
            list[2 + 2 * kept++] = list[2 + 2 * i];
        }
    }
    list[0] = kept;
    return self->env->without_labels(self->env->context, instr->a, labels, dropped, &instr->a,
                                     err);
}

/* ---- productive: containers ---- */

/* A list that is being cut in place: everything moves to the front or stays. */
typedef struct cutting {
    glk_container container;
    uint32_t *list, *classes, *choices;
    uint32_t *place;  /* by class: its new number, GLK_NONE = it goes */
    uint8_t *wanted;  /* by class: the formula names it */
} cutting;

/* Whether there is anything to cut. */
static bool is_whole(const glk_container *container, const uint32_t *pending) {
    for (uint32_t i = 0; i < container->choice_count; i++) {
        if (pending[glk_choice_value(container, i)] != 0) {
            return false;
        }
    }
    for (uint32_t k = 0; k < glk_container_classes(container); k++) {
        if (glk_class_count(container, k) == 0) {
            return false;
        }
    }
    return true;
}

static void mark_wanted(cutting *self) {
    const uint32_t *at = self->container.formula + 1;
    glk_formula_node node;
    for (uint32_t i = 0; i < glk_formula_size(&self->container); i++) {
        at = glk_formula_read(at, &node);
        for (uint32_t k = 0; node.kind <= GLK_F_ALL_BUT && k < node.count; k++) {
            if (node.items[2 * k] != GLK_EVERY) {
                self->wanted[node.items[2 * k]] = 1;
            }
        }
    }
}

/* Drops choices without sentence; classes keep theirs beside each other. */
static void cut_choices(cutting *self, const uint32_t *pending) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < glk_container_classes(&self->container); k++) {
        uint32_t *class = self->classes + GLK_CLASS_WORDS * (size_t)k;
        uint32_t from = class[2], end = class[2] + class[3];
        class[2] = kept;
        for (; from < end; from++) {
            const uint32_t *choice = self->choices + GLK_CHOICE_WORDS * (size_t)from;
            if (pending[choice[0]] == 0) {
                memmove(self->choices + GLK_CHOICE_WORDS * (size_t)kept++, choice,
                        GLK_CHOICE_WORDS * sizeof *choice);
            }
        }
        class[3] = kept - class[2];
    }
    self->list[4] = kept;
}

/* Drops classes that no member can be of, unless the formula names them or they are positions of an
 * array: those that follow such a position cannot be reached. */
static void cut_classes(cutting *self) {
    const glk_container *container = &self->container;
    bool array = (container->flags & GLK_ARRAY) != 0;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < glk_container_classes(container); k++) {
        const uint32_t *class = self->classes + GLK_CLASS_WORDS * (size_t)k;
        self->place[k] = GLK_NONE;
        if (class[3] > 0 || self->wanted[k] != 0 || array) {
            memmove(self->classes + GLK_CLASS_WORDS * (size_t)kept, class,
                    GLK_CLASS_WORDS * sizeof *class);
            self->place[k] = kept++;
        } else {
            self->list[0] -= k < container->named;
            self->list[1] -= k >= container->named;
            self->list[2] -= k < container->ordered;
        }
    }
    assert(kept == self->list[0] + self->list[1]);
    uint32_t *to = self->classes + GLK_CLASS_WORDS * (size_t)kept;
    memmove(to, self->choices, GLK_CHOICE_WORDS * (size_t)self->list[4] * sizeof *to);
    to += GLK_CHOICE_WORDS * (size_t)self->list[4];
    memmove(to, container->formula, container->formula_words * sizeof *to);
}

static void renumber_classes(const cutting *self) {
    glk_container container = glk_container_view(self->list);
    const uint32_t *at = container.formula + 1;
    glk_formula_node node;
    for (uint32_t i = 0; i < glk_formula_size(&container); i++) {
        at = glk_formula_read(at, &node);
        uint32_t *items = self->list + (node.items - self->list);
        for (uint32_t k = 0; node.kind <= GLK_F_ALL_BUT && k < node.count; k++) {
            if (items[2 * k] != GLK_EVERY) {
                items[2 * k] = self->place[items[2 * k]];
            }
        }
    }
}

/* What cannot be written cannot be a member, and the caller's free keys exclude the declared ones
 * anyway. */
static glk_status cut_container(glk_work *self, const glk_instr *instr, const uint32_t *pending,
                                glk_error *err) {
    cutting state = {.list = GLK_VEC_U32(&self->code.lists) + instr->b};
    state.container = glk_container_view(state.list);
    if (is_whole(&state.container, pending)) {
        return GLK_OK;
    }
    uint32_t count = glk_container_classes(&state.container);
    state.classes = state.list + (state.container.classes - state.list);
    state.choices = state.list + (state.container.choices - state.list);
    GLK_TRY(glk_work_array(self, count, sizeof *state.place, &state.place, err));
    GLK_TRY(glk_work_array(self, count, sizeof *state.wanted, &state.wanted, err));
    mark_wanted(&state);
    cut_choices(&state, pending);
    cut_classes(&state);
    renumber_classes(&state);
    return GLK_OK;
}

/* ---- productive: the pass ---- */

static glk_status cut_node(glk_work *self, uint32_t id, const uint32_t *pending, glk_error *err) {
    glk_instr *instr = glk_work_at(self, id);
    switch ((glk_op)instr->op) {
    case GLK_OP_ALT:
        cut_choice(self, instr, pending);
        return GLK_OK;
    case GLK_OP_SWITCH:
        return cut_switch(self, id, pending, err);
    case GLK_OP_CONTAINER:
        return cut_container(self, instr, pending, err);
    case GLK_OP_REP:
        if (pending[instr->a] != 0) {
            *instr = (glk_instr){.op = GLK_OP_EMPTY};
        }
        return GLK_OK;
    default:
        return GLK_OK;
    }
}

glk_status glk_pass_productive(glk_work *self, glk_error *err) {
    uint32_t count = glk_code_count(&self->code);
    uint32_t *pending;
    GLK_TRY(glk_work_array(self, count, sizeof(uint32_t), &pending, err));
    for (uint32_t id = 0; id < count; id++) {
        pending[id] = awaited_to_be_productive(self, glk_work_at(self, id));
    }
    GLK_TRY(least_fixpoint(self, pending, err));
    if (pending[self->code.root] != 0) {
        return glk_fail(err, GLK_ERR_UNSATISFIABLE, "the grammar has no sentence");
    }
    for (uint32_t id = 0; id < count; id++) {
        if (pending[id] == 0) {
            GLK_TRY(cut_node(self, id, pending, err));
        }
    }
    return GLK_OK;
}
