/* feasible.c -- whether an object or array can still be finished; see formula.h.
 *
 * A depth-first search over the members that may follow.  Their order does not matter to a formula,
 * so the search does not follow it: it takes an AT_LEAST whose failing would fail the formula and
 * tries each member that would hit it, then to do without.  An array's positions come one after the
 * other instead.  What has been tried is barred from the branches beside it, bounds cut branches that
 * cannot succeed, and free members come in bulk, so that a count of a million is one step.  The
 * problem is satisfiability; hence the budget.
 *
 * A frame of the stack: residual | barred choices | decided classes | position, goal, cursor. */
#include "formula.h"

typedef struct search {
    const glk_outlook *outlook;
    glk_container container;
    uint32_t nodes, choice_words, class_words, frame_words;
    glk_vec stack; /* u32, frame by frame */
    glk_vec ends;  /* u32: a word for each node; scratch */
    uint64_t *steps;
    glk_error *err;
} search;

typedef struct frame { /* pointers into the stack; good until it grows */
    uint32_t *residual, *barred, *decided;
    uint32_t *position; /* array: the next one */
    uint32_t *goal;     /* the class or atom that the branches are about; see goal kinds */
    uint32_t *kind;
    uint32_t *cursor;   /* the next branch: choice * 2 + (1: the single one after the bulk) */
} frame;

enum goal_kind { FRESH, MEMBER, ATOM, NOTHING };

static bool bit(const uint32_t *bits, uint32_t i) { return (bits[i >> 5] >> (i & 31) & 1u) != 0; }
static void set_bit(uint32_t *bits, uint32_t i) { bits[i >> 5] |= 1u << (i & 31); }

static bool is_array(const search *self) { return (self->container.flags & GLK_ARRAY) != 0; }

static frame top(const search *self) {
    uint32_t *words = GLK_VEC_U32(&self->stack) + self->stack.count - self->frame_words;
    frame f = {.residual = words, .barred = words + self->nodes};
    f.decided = f.barred + self->choice_words;
    f.position = f.decided + self->class_words;
    f.goal = f.position + 1;
    f.kind = f.position + 2;
    f.cursor = f.position + 3;
    return f;
}

static bool is_usable(const search *self, const frame *f, uint32_t choice) {
    const glk_outlook *outlook = self->outlook;
    return !bit(f->barred, choice) &&
           (outlook->usable == NULL ||
            outlook->usable(outlook->context, glk_choice_value(&self->container, choice)));
}

static bool may_come(const search *self, const frame *f, uint32_t k) {
    return k >= self->container.named ||
           (is_array(self) ? k >= *f->position : !bit(f->decided, k));
}

/* How many members could still hit an atom: 0, 1 ... `enough`. */
static uint32_t potential(const search *self, const frame *f, const glk_formula_node *atom,
                          uint32_t enough) {
    uint32_t found = 0, classes = glk_container_classes(&self->container);
    bool every = false;
    for (uint32_t i = 0; i < atom->count; i++) {
        every = every || atom->items[2 * i] == GLK_EVERY;
    }
    uint32_t count = every ? classes : atom->count;
    for (uint32_t i = 0; i < count && found < enough; i++) {
        uint32_t k = every ? i : atom->items[2 * i];
        if (k >= classes || !may_come(self, f, k)) {
            continue;
        }
        uint32_t first = glk_class_first(&self->container, k);
        for (uint32_t c = first; c < first + glk_class_count(&self->container, k); c++) {
            if (is_usable(self, f, c) &&
                glk_formula_hits(atom, k, glk_choice_literals(&self->container, c))) {
                found = k >= self->container.named ? enough : found + 1;
                break;
            }
        }
    }
    return found;
}

/* Decides atoms that nothing can satisfy any more. */
static glk_status bound(search *self, const frame *f) {
    glk_formula_node node;
    const uint32_t *at = self->container.formula + 1;
    bool changed = false;
    for (uint32_t id = 0; id < self->nodes; id++) {
        at = glk_formula_read(at, &node);
        uint32_t left = f->residual[id];
        if (node.kind == GLK_F_AT_LEAST && left <= GLK_F_COUNT_MAX &&
            potential(self, f, &node, left) < left) {
            f->residual[id] = GLK_F_FALSE;
            changed = true;
        }
    }
    return changed ? glk_formula_settle(&self->container, f->residual, self->err) : GLK_OK;
}

/* The only usable choice of a class, GLK_NONE if there are more, GLK_NONE - 1 if there is none. */
static uint32_t only_choice(const search *self, const frame *f, uint32_t k) {
    uint32_t found = GLK_NONE - 1, first = glk_class_first(&self->container, k);
    for (uint32_t c = first; c < first + glk_class_count(&self->container, k); c++) {
        if (is_usable(self, f, c)) {
            if (found != GLK_NONE - 1) {
                return GLK_NONE;
            }
            found = c;
        }
    }
    return found;
}

/* Takes in required members that leave no choice.  *pending: one that does; *dead: one that cannot
 * come. */
static glk_status take_required(search *self, const frame *f, uint32_t *pending, bool *dead) {
    *pending = GLK_NONE;
    for (uint32_t k = 0; k < self->container.named && !*dead && !is_array(self); k++) {
        if (!glk_class_required(&self->container, k) || bit(f->decided, k)) {
            continue;
        }
        uint32_t choice = only_choice(self, f, k);
        *dead = choice == GLK_NONE - 1;
        if (choice == GLK_NONE) {
            *pending = k;
        } else if (!*dead) {
            set_bit(f->decided, k);
            GLK_TRY(glk_formula_step(&self->container, f->residual, k, choice, 1, self->err));
        }
    }
    return GLK_OK;
}

static void read_node(const search *self, uint32_t id, glk_formula_node *out) {
    const uint32_t *at = self->container.formula + 1;
    for (uint32_t i = 0; i <= id; i++) {
        at = glk_formula_read(at, out);
    }
}

/* An open AT_LEAST without which the formula would fail if nothing followed, or GLK_NONE.  Only
 * these are worth a branch: what holds at the end needs no member. */
static uint32_t failing_atom(const search *self, const frame *f) {
    uint32_t *ends = GLK_VEC_U32(&self->ends), id = self->nodes - 1;
    glk_formula_node node;
    if (self->nodes == 0) {
        return GLK_NONE;
    }
    glk_formula_ends(&self->container, f->residual, ends);
    for (;;) { /* a failing connective that is open has a child that fails and is open */
        uint32_t next = GLK_NONE;
        read_node(self, id, &node);
        if (node.kind == GLK_F_AT_LEAST) {
            return id;
        }
        for (uint32_t i = 0; i < node.count && next == GLK_NONE && node.kind >= GLK_F_AND; i++) {
            uint32_t child = node.items[i];
            if (ends[child] == GLK_F_FALSE && f->residual[child] < GLK_F_MOOT) {
                next = child;
            }
        }
        if (next == GLK_NONE) {
            return GLK_NONE;
        }
        id = next;
    }
}

static void choose_goal(const search *self, const frame *f, uint32_t pending) {
    const glk_container *container = &self->container;
    *f->kind = NOTHING;
    *f->cursor = 0;
    if (is_array(self)) {
        uint32_t k = *f->position < container->named ? *f->position : container->named;
        if (k < glk_container_classes(container)) {
            *f->kind = MEMBER;
            *f->goal = k;
            *f->cursor = 2 * glk_class_first(container, k);
        }
    } else if (pending != GLK_NONE) {
        *f->kind = MEMBER;
        *f->goal = pending;
        *f->cursor = 2 * glk_class_first(container, pending);
    } else {
        *f->goal = failing_atom(self, f);
        *f->kind = *f->goal == GLK_NONE ? NOTHING : ATOM;
    }
}

/* Looks at a frame for the first time; *done: it can be finished as it is. */
static glk_status visit(search *self, bool *done) {
    frame f = top(self);
    uint64_t cost = self->frame_words + self->container.formula_words;
    if (*self->steps < cost) {
        return glk_fail_limit(self->err, "steps", cost, *self->steps);
    }
    *self->steps -= cost;
    uint32_t pending;
    bool dead = false;
    *done = false;
    GLK_TRY(take_required(self, &f, &pending, &dead));
    if (self->nodes > 0 && !dead) {
        GLK_TRY(bound(self, &f));
        dead = f.residual[self->nodes - 1] == GLK_F_FALSE;
    }
    *f.kind = NOTHING;
    if (dead) {
        return GLK_OK;
    }
    if (pending == GLK_NONE) {
        GLK_TRY(glk_formula_closes(&self->container, f.residual, done, self->err));
    }
    if (!*done) {
        choose_goal(self, &f, pending);
    }
    return GLK_OK;
}

/* How many free members may come at once: until the nearest open count is reached. */
static uint32_t bulk(const search *self, const frame *f, uint32_t k, uint32_t choice,
                     bool *useful) {
    uint32_t most = GLK_F_COUNT_MAX, literals = glk_choice_literals(&self->container, choice);
    glk_formula_node node;
    const uint32_t *at = self->container.formula + 1;
    *useful = false;
    for (uint32_t id = 0; id < self->nodes; id++) {
        at = glk_formula_read(at, &node);
        uint32_t left = f->residual[id];
        if (node.kind >= GLK_F_AND || left > GLK_F_COUNT_MAX) {
            continue;
        }
        bool hit = node.kind == GLK_F_AT_LEAST && glk_formula_hits(&node, k, literals);
        bool miss = node.kind == GLK_F_ALL_BUT && glk_formula_misses(&node, k, literals);
        *useful = *useful || hit;
        if ((hit || miss) && left < most) {
            most = left;
        }
    }
    return most == 0 || most == GLK_F_COUNT_MAX ? 1 : most;
}

static uint32_t class_of(const search *self, uint32_t choice) {
    uint32_t low = 0, high = glk_container_classes(&self->container);
    while (high - low > 1) { /* classes list their choices in order */
        uint32_t middle = low + (high - low) / 2;
        if (glk_class_first(&self->container, middle) <= choice) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

typedef struct branch {
    uint32_t k, choice, times;
    bool deny; /* do without the goal's atom */
} branch;

/* Whether the choice is one of the goal's, and how often it would come first. */
static bool suits(const search *self, const frame *f, const glk_formula_node *atom, branch *out) {
    bool useful;
    out->k = class_of(self, out->choice);
    if (!may_come(self, f, out->k) || !is_usable(self, f, out->choice)) {
        return false;
    }
    out->times = 1;
    if (out->k >= self->container.named) {
        out->times = bulk(self, f, out->k, out->choice, &useful);
        if (!useful) {
            return false;
        }
    }
    return atom == NULL ||
           glk_formula_hits(atom, out->k, glk_choice_literals(&self->container, out->choice));
}

/* The next branch of the top frame; false if there are no more. */
static bool next_branch(const search *self, branch *out) {
    frame f = top(self);
    const glk_container *container = &self->container;
    if (*f.kind == NOTHING) {
        return false;
    }
    glk_formula_node node;
    uint32_t end = 2 * container->choice_count;
    if (*f.kind == MEMBER) {
        end = 2 * (glk_class_first(container, *f.goal) + glk_class_count(container, *f.goal));
    } else {
        read_node(self, *f.goal, &node);
    }
    while (*f.cursor < end) {
        bool single = (*f.cursor & 1) != 0;
        *out = (branch){.choice = *f.cursor / 2};
        bool fits = suits(self, &f, *f.kind == ATOM ? &node : NULL, out);
        bool again = fits && out->times > 1;
        *f.cursor += single || !again ? 2 - (*f.cursor & 1) : 1;
        if (fits) {
            out->times = single ? 1 : out->times;
            return true;
        }
    }
    out->deny = true;
    *f.cursor = end;
    bool denies = *f.kind == ATOM;
    *f.kind = NOTHING;
    return denies;
}

static glk_status enter(search *self, const branch *taken) {
    uint32_t words = self->frame_words;
    GLK_TRY(glk_vec_reserve(&self->stack, words, self->err));
    memcpy(GLK_VEC_U32(&self->stack) + self->stack.count,
           GLK_VEC_U32(&self->stack) + self->stack.count - words, words * sizeof(uint32_t));
    frame parent = top(self);
    uint32_t goal = *parent.goal;
    /* Later branches of the parent do without this member, except in an array's prefix. */
    bool last = taken->times == 1 && !taken->deny;
    if (last && (taken->k >= self->container.named || !is_array(self))) {
        set_bit(parent.barred, taken->choice);
    }
    self->stack.count += words;
    frame f = top(self);
    *f.kind = FRESH;
    if (taken->deny) {
        f.residual[goal] = GLK_F_FALSE;
        return glk_formula_settle(&self->container, f.residual, self->err);
    }
    if (taken->k < self->container.named) {
        set_bit(f.decided, taken->k);
        *f.position += 1;
    }
    return glk_formula_step(&self->container, f.residual, taken->k, taken->choice, taken->times,
                            self->err);
}

static glk_status run(search *self, bool *out) {
    *out = false;
    while (self->stack.count > 0) {
        branch next = {0};
        if (*top(self).kind == FRESH) {
            GLK_TRY(visit(self, out));
            if (*out) {
                return GLK_OK;
            }
        }
        if (next_branch(self, &next)) {
            GLK_TRY(enter(self, &next));
        } else {
            self->stack.count -= self->frame_words;
        }
    }
    return GLK_OK;
}

static glk_status open_search(search *self, const uint32_t *residual) {
    const glk_outlook *outlook = self->outlook;
    const glk_container *container = &self->container;
    GLK_TRY(glk_vec_reserve(&self->stack, self->frame_words, self->err));
    memset(self->stack.data, 0, self->frame_words * sizeof(uint32_t));
    self->stack.count = self->frame_words;
    frame f = top(self);
    if (self->nodes > 0) {
        memcpy(f.residual, residual, self->nodes * sizeof *residual);
    }
    *f.position = outlook->index;
    for (uint32_t k = 0; k < container->named && !is_array(self); k++) {
        bool passed = k < container->ordered && k < outlook->index;
        if (passed || (outlook->seen != NULL && bit(outlook->seen, k))) {
            set_bit(f.decided, k);
        }
    }
    return GLK_OK;
}

glk_status glk_formula_feasible(const glk_outlook *self, const uint32_t *residual, uint64_t *steps,
                                bool *out, glk_error *err) {
    const glk_container *container = self->container;
    search job = {.outlook = self, .container = *container, .steps = steps, .err = err};
    job.nodes = glk_formula_size(container);
    job.choice_words = (container->choice_count + 31) / 32;
    job.class_words = (container->named + 31) / 32;
    job.frame_words = job.nodes + job.choice_words + job.class_words + 4;
    glk_vec_init(&job.stack, NULL, sizeof(uint32_t));
    glk_vec_init(&job.ends, NULL, sizeof(uint32_t));
    glk_status status = glk_vec_reserve(&job.ends, job.nodes, err);
    if (status == GLK_OK) {
        status = open_search(&job, residual);
    }
    if (status == GLK_OK) {
        status = run(&job, out);
    }
    glk_vec_free(&job.stack);
    glk_vec_free(&job.ends);
    return status;
}
