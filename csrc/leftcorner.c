/* leftcorner.c -- left recursion becomes right recursion.
 *
 * In the left-corner graph a node leads to what it may begin with: a CAT to its head, and to its
 * tail if the head is nullable; an ALT to its alternatives; a REP to its body.  A strongly
 * connected component with an edge inside that leaves something on the stack (a CAT to its head, a
 * REP to its body) is left recursive.  Its nodes, without the empty string, are nonterminals with
 *
 *     X -> seed          seed begins outside of the component
 *     X -> Y rest        Y is in the component
 *
 * and every node A of it that is entered from elsewhere is replaced by
 *
 *     A    = [empty] | seed T(X)              for every X -> seed
 *     T(Y) = [empty if Y is A] | rest T(X)    for every X -> Y rest
 *
 * with T of its own for each A: T(Y) is what is missing of an A once a Y at its beginning has been
 * read (Rosenkrantz and Lewis 1970; Johnson 1998).  Seeds are not empty, so no T is ever at the
 * left of anything but a T, and recursion hidden behind nullable nodes is gone as well:
 *
 *     X = CAT x y        X -> x y,  and  X -> y  if x is nullable
 *     X = REP x {l,h}    X -> x (REP x {l-1,h-1})
 *
 * Components are dealt with bottom up, so a seed is free of left recursion when its twin is made.
 *
 * Cost   linear where there is no left recursion; else entries x (nodes + productions) for each
 *        component. */
#include <stdlib.h>

#include "passes.h"

typedef struct production {
    uint32_t of;    /* local number of X */
    uint32_t first; /* local number of Y; GLK_NONE: a seed */
    uint32_t rest;  /* node; EMPTY if there is none.  The seed itself */
} production;

typedef struct corners {
    glk_work *work;
    uint32_t count;      /* nodes when the pass began */
    uint32_t *reached;   /* reachable nodes */
    uint32_t reached_count;
    uint32_t *component; /* by node; ascending bottom up; GLK_NONE = not reached */
    uint32_t *members;   /* nodes by component */
    uint32_t *start;     /* by component: its first in `members` */
    uint32_t components;
    uint8_t *looping;    /* by component: left recursive */
    uint8_t *entry;      /* by node: entered from elsewhere */
    uint32_t *local;     /* by node: number inside its component */
    glk_vec productions; /* production: of one component */
} corners;

static uint32_t left_children(const glk_work *work, uint32_t id) {
    const glk_instr *instr = glk_code_at(&work->code, id);
    switch ((glk_op)instr->op) {
    case GLK_OP_CAT:
        return glk_work_nullable(work, instr->a) ? 2 : 1;
    case GLK_OP_ALT:
    case GLK_OP_REP:
        return glk_code_children(&work->code, id);
    default:
        return 0;
    }
}

/* ---- reachable nodes ---- */

/* Finds them, and lets them refer past jumps. */
static glk_status find_reached(corners *self, glk_error *err) {
    glk_work *work = self->work;
    uint8_t *seen;
    uint64_t edges = 0;
    GLK_TRY(glk_work_array(work, self->count, sizeof *seen, &seen, err));
    GLK_TRY(glk_work_array(work, self->count, sizeof(uint32_t), &self->reached, err));
    work->code.root = glk_work_resolve(work, work->code.root);
    self->reached[self->reached_count++] = work->code.root;
    seen[work->code.root] = 1;
    for (uint32_t at = 0; at < self->reached_count; at++) {
        uint32_t id = self->reached[at];
        uint32_t children = glk_code_children(&work->code, id);
        edges += children;
        for (uint32_t k = 0; k < children; k++) {
            uint32_t *child = glk_code_child(&work->code, id, k);
            *child = glk_work_resolve(work, *child);
            if (!seen[*child]) {
                seen[*child] = 1;
                self->reached[self->reached_count++] = *child;
            }
        }
    }
    return glk_work_spend(work, self->reached_count + edges, err);
}

/* ---- components (Tarjan 1972, with a stack of its own) ---- */

typedef struct search {
    corners *of;
    uint32_t *index, *low; /* by node; index 0 = not visited */
    uint32_t *next;        /* by node: the next left child to look at */
    uint32_t *path;        /* nodes being visited */
    uint32_t *open;        /* visited nodes without a component */
    uint32_t depth, open_count, visited, done;
} search;

static void enter(search *self, uint32_t id) {
    self->index[id] = self->low[id] = ++self->visited;
    self->path[self->depth++] = id;
    self->open[self->open_count++] = id;
}

static void close_component(search *self, uint32_t id) {
    corners *of = self->of;
    of->start[of->components] = self->done;
    uint32_t member;
    do {
        member = self->open[--self->open_count];
        of->component[member] = of->components;
        of->members[self->done++] = member;
    } while (member != id);
    of->start[++of->components] = self->done;
}

static void leave(search *self, uint32_t id) {
    if (self->low[id] == self->index[id]) {
        close_component(self, id);
    }
    self->depth--;
    if (self->depth > 0) {
        uint32_t parent = self->path[self->depth - 1];
        if (self->low[id] < self->low[parent]) {
            self->low[parent] = self->low[id];
        }
    }
}

static void search_from(search *self, uint32_t start) {
    const glk_work *work = self->of->work;
    enter(self, start);
    while (self->depth > 0) {
        uint32_t id = self->path[self->depth - 1];
        if (self->next[id] == left_children(work, id)) {
            leave(self, id);
            continue;
        }
        uint32_t child = *glk_code_child(&work->code, id, self->next[id]++);
        if (self->index[child] == 0) {
            enter(self, child);
        } else if (self->of->component[child] == GLK_NONE &&
                   self->index[child] < self->low[id]) {
            self->low[id] = self->index[child];
        }
    }
}

static glk_status find_components(corners *self, glk_error *err) {
    glk_work *work = self->work;
    search state = {.of = self};
    uint32_t **arrays[] = {&state.index,     &state.low,      &state.next, &state.path,
                           &state.open,      &self->component, &self->members};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        GLK_TRY(glk_work_array(work, self->count, sizeof(uint32_t), arrays[i], err));
    }
    GLK_TRY(glk_work_array(work, (size_t)self->count + 1, sizeof(uint32_t), &self->start, err));
    memset(self->component, 0xFF, self->count * sizeof(uint32_t));
    for (uint32_t i = 0; i < self->reached_count; i++) {
        if (state.index[self->reached[i]] == 0) {
            search_from(&state, self->reached[i]);
        }
    }
    return GLK_OK;
}

/* ---- what is left recursive, and where it is entered ---- */

static bool find_looping(corners *self) {
    bool any = false;
    for (uint32_t i = 0; i < self->reached_count; i++) {
        uint32_t id = self->reached[i];
        const glk_instr *instr = glk_work_at(self->work, id);
        if ((instr->op == GLK_OP_CAT || instr->op == GLK_OP_REP) &&
            self->component[instr->a] == self->component[id]) {
            self->looping[self->component[id]] = 1;
            any = true;
        }
    }
    return any;
}

/* Inside a component only a CAT's tail and a REP's body are needed as a whole: in what is left. */
static void find_entries(corners *self) {
    const glk_code *code = &self->work->code;
    self->entry[code->root] = 1;
    for (uint32_t i = 0; i < self->reached_count; i++) {
        uint32_t id = self->reached[i];
        uint8_t op = glk_code_at(code, id)->op;
        uint32_t children = glk_code_children(code, id);
        for (uint32_t k = 0; k < children; k++) {
            uint32_t child = *glk_code_child(code, id, k);
            if (self->component[child] != self->component[id] || op == GLK_OP_REP ||
                (op == GLK_OP_CAT && k == 1)) {
                self->entry[child] = 1;
            }
        }
    }
}

/* ---- productions ---- */

static glk_status add_production(corners *self, uint32_t of, uint32_t first, uint32_t rest,
                                 glk_error *err) {
    production item = {self->local[of], first == GLK_NONE ? GLK_NONE : self->local[first], rest};
    return glk_vec_push(&self->productions, &item, err);
}

/* X may be `child`, without the empty string, and nothing else. */
static glk_status add_unit(corners *self, uint32_t of, uint32_t child, glk_error *err) {
    if (self->component[child] == self->component[of]) {
        return add_production(self, of, child, GLK_CODE_EMPTY, err);
    }
    uint32_t seed;
    GLK_TRY(glk_twin(self->work, child, &seed, err));
    return add_production(self, of, GLK_NONE, seed, err);
}

static glk_status add_pair(corners *self, uint32_t of, glk_instr pair, glk_error *err) {
    if (self->component[pair.a] == self->component[of]) {
        GLK_TRY(add_production(self, of, pair.a, pair.b, err));
    } else {
        uint32_t seed;
        glk_instr instr = {.op = GLK_OP_CAT, .b = pair.b};
        GLK_TRY(glk_twin(self->work, pair.a, &instr.a, err));
        GLK_TRY(glk_work_add(self->work, instr, false, &seed, err));
        GLK_TRY(add_production(self, of, GLK_NONE, seed, err));
    }
    return glk_work_nullable(self->work, pair.a) ? add_unit(self, of, pair.b, err) : GLK_OK;
}

/* What is left of a repeat after one round. */
static glk_status add_rounds(corners *self, uint32_t of, glk_instr repeat, glk_error *err) {
    uint32_t body = repeat.a, rest;
    repeat.lo -= repeat.lo > 0;
    repeat.hi -= repeat.hi != GLK_UNBOUNDED;
    bool nullable = repeat.lo == 0;
    if (repeat.hi == 1) {
        glk_instr once = {.op = GLK_OP_JUMP, .a = body};
        if (nullable) {
            once = (glk_instr){.op = GLK_OP_ALT};
            GLK_TRY(glk_work_list2(self->work, body, GLK_CODE_EMPTY, &once.b, err));
        }
        repeat = once;
    }
    GLK_TRY(glk_work_add(self->work, repeat, nullable, &rest, err));
    return add_production(self, of, body, rest, err);
}

static glk_status add_productions(corners *self, uint32_t of, glk_error *err) {
    glk_instr instr = *glk_work_at(self->work, of);
    if (instr.op == GLK_OP_CAT) {
        return add_pair(self, of, instr, err);
    }
    if (instr.op == GLK_OP_REP) {
        return add_rounds(self, of, instr, err);
    }
    assert(instr.op == GLK_OP_ALT);
    uint32_t count = *glk_code_list(&self->work->code, instr.b);
    for (uint32_t i = 1; i <= count; i++) {
        GLK_TRY(add_unit(self, of, glk_code_list(&self->work->code, instr.b)[i], err));
    }
    return GLK_OK;
}

static int compare_productions(const void *a, const void *b) {
    const production *x = a;
    const production *y = b;
    if (x->first != y->first) {
        return x->first < y->first ? -1 : 1;
    }
    if (x->of != y->of) {
        return x->of < y->of ? -1 : 1;
    }
    return (x->rest > y->rest) - (x->rest < y->rest);
}

/* Collects the productions of a component, sorted by `first`, seeds last, and where the group of
 * each local number starts; group `size` is that of the seeds. */
static glk_status collect(corners *self, const uint32_t *members, uint32_t size,
                          uint32_t **groups, glk_error *err) {
    self->productions.count = 0;
    for (uint32_t i = 0; i < size; i++) {
        self->local[members[i]] = i;
    }
    for (uint32_t i = 0; i < size; i++) {
        GLK_TRY(add_productions(self, members[i], err));
    }
    uint32_t count = self->productions.count;
    production *items = self->productions.data;
    qsort(items, count, sizeof *items, compare_productions);
    GLK_TRY(glk_work_array(self->work, (size_t)size + 2, sizeof **groups, groups, err));
    uint32_t group = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = items[i].first == GLK_NONE ? size : items[i].first;
        while (group < number) {
            (*groups)[++group] = i;
        }
    }
    while (group <= size) {
        (*groups)[++group] = count;
    }
    return GLK_OK;
}

/* ---- the transform ---- */

/* Makes `id` an ALT: the rest (or seed) of the productions from `begin` to `end`, each before the T
 * of what it is part of, and perhaps EMPTY.  `base` is the node of T(0). */
static glk_status fill_choice(corners *self, uint32_t id, uint32_t begin, uint32_t end,
                              uint32_t base, bool nullable, glk_error *err) {
    glk_work *work = self->work;
    glk_vec *lists = &work->code.lists;
    uint32_t count = end - begin + nullable, list = lists->count;
    GLK_TRY(glk_vec_reserve(lists, count + 1, err));
    lists->count += count + 1;
    GLK_VEC_U32(lists)[list] = count;
    for (uint32_t i = begin; i < end; i++) {
        production item = ((const production *)self->productions.data)[i];
        uint32_t next = base + item.of;
        if (item.rest != GLK_CODE_EMPTY) {
            glk_instr pair = {.op = GLK_OP_CAT, .a = item.rest, .b = next};
            GLK_TRY(glk_work_add(work, pair, false, &next, err));
        }
        GLK_VEC_U32(lists)[list + 1 + i - begin] = next;
    }
    if (nullable) {
        GLK_VEC_U32(lists)[list + count] = GLK_CODE_EMPTY;
    }
    *glk_work_at(work, id) = (glk_instr){.op = GLK_OP_ALT, .b = list};
    return GLK_OK;
}

/* Replaces the node with local number `goal`. */
static glk_status replace(corners *self, const uint32_t *members, uint32_t size,
                          const uint32_t *groups, uint32_t goal, glk_error *err) {
    uint32_t base = glk_code_count(&self->work->code);
    for (uint32_t i = 0; i < size; i++) {
        uint32_t id;
        GLK_TRY(glk_work_add(self->work, (glk_instr){.op = GLK_OP_ALT}, false, &id, err));
    }
    for (uint32_t i = 0; i < size; i++) {
        GLK_TRY(fill_choice(self, base + i, groups[i], groups[i + 1], base, i == goal, err));
    }
    uint32_t node = members[goal];
    return fill_choice(self, node, groups[size], groups[size + 1], base,
                       glk_work_nullable(self->work, node), err);
}

static glk_status transform(corners *self, uint32_t component, glk_error *err) {
    const uint32_t *members = self->members + self->start[component];
    uint32_t size = self->start[component + 1] - self->start[component];
    uint32_t *groups;
    GLK_TRY(collect(self, members, size, &groups, err));
    for (uint32_t i = 0; i < size; i++) {
        if (self->entry[members[i]]) {
            GLK_TRY(replace(self, members, size, groups, i, err));
        }
    }
    return GLK_OK;
}

static glk_status run(corners *self, bool *changed, glk_error *err) {
    glk_work *work = self->work;
    GLK_TRY(find_reached(self, err));
    GLK_TRY(find_components(self, err));
    GLK_TRY(glk_work_array(work, self->components, sizeof(uint8_t), &self->looping, err));
    if (!find_looping(self)) {
        return GLK_OK;
    }
    *changed = true;
    work->twins.count = 0; /* one that is out of reach may be left recursive: make new ones */
    GLK_TRY(glk_work_array(work, self->count, sizeof(uint8_t), &self->entry, err));
    GLK_TRY(glk_work_array(work, self->count, sizeof(uint32_t), &self->local, err));
    find_entries(self);
    for (uint32_t i = 0; i < self->components; i++) {
        if (self->looping[i]) {
            GLK_TRY(transform(self, i, err));
        }
    }
    return glk_twins_finish(work, err);
}

glk_status glk_pass_leftcorner(glk_work *self, bool *changed, glk_error *err) {
    corners state = {.work = self, .count = glk_code_count(&self->code)};
    glk_vec_init(&state.productions, NULL, sizeof(production));
    glk_status status = run(&state, changed, err);
    glk_vec_free(&state.productions);
    return status;
}
