/* formula.c -- see formula.h.  What a member does to a formula; the search for one that can be
 * finished is in feasible.c. */
#include "formula.h"

enum { FEW_NODES = 128 };

typedef struct marks { /* a word for each node, in place while they are few */
    uint32_t few[FEW_NODES];
    uint32_t *words;
    size_t bytes;
} marks;

static glk_status open_marks(marks *self, uint32_t count, glk_error *err) {
    void *memory = NULL;
    self->bytes = 0;
    self->words = self->few;
    if (count > FEW_NODES) {
        GLK_TRY(glk_alloc(NULL, count * sizeof(uint32_t), &memory, err));
        self->bytes = count * sizeof(uint32_t);
        self->words = memory;
    }
    memset(self->words, 0, count * sizeof(uint32_t));
    return GLK_OK;
}

static void close_marks(marks *self) {
    if (self->bytes > 0) {
        glk_release(NULL, self->words, self->bytes);
    }
}

/* What the children of an AND or OR make of it; 0 while it is open. */
static uint32_t join(const glk_formula_node *node, const uint32_t *residual) {
    uint32_t strong = node->kind == GLK_F_AND ? GLK_F_FALSE : GLK_F_TRUE;
    uint32_t weak = node->kind == GLK_F_AND ? GLK_F_TRUE : GLK_F_FALSE;
    bool all_weak = true;
    for (uint32_t i = 0; i < node->count; i++) {
        uint32_t child = residual[node->items[i]];
        if (child == strong) {
            return strong;
        }
        all_weak = all_weak && child == weak;
    }
    return all_weak ? weak : 0;
}

static void join_all(const glk_container *self, uint32_t *residual) {
    glk_formula_node node;
    const uint32_t *at = self->formula + 1;
    for (uint32_t id = 0; id < self->formula[0]; id++) {
        at = glk_formula_read(at, &node);
        if (node.kind >= GLK_F_AND && residual[id] == 0) {
            residual[id] = join(&node, residual);
        }
    }
}

glk_status glk_formula_settle(const glk_container *self, uint32_t *residual, glk_error *err) {
    uint32_t count = self->formula[0], offset = 1;
    glk_formula_node node;
    marks starts, wanted;
    GLK_TRY(open_marks(&starts, count, err));
    glk_status status = open_marks(&wanted, count, err);
    if (status != GLK_OK) {
        close_marks(&starts);
        return status;
    }
    join_all(self, residual);
    for (uint32_t id = 0; id < count; id++) {
        starts.words[id] = offset;
        offset = (uint32_t)(glk_formula_read(self->formula + offset, &node) - self->formula);
    }
    wanted.words[count - 1] = 1;
    for (uint32_t id = count; id-- > 0;) {
        if (wanted.words[id] == 0) {
            residual[id] = GLK_F_MOOT;
        } else if (residual[id] == 0) {
            (void)glk_formula_read(self->formula + starts.words[id], &node);
            for (uint32_t i = 0; node.kind >= GLK_F_AND && i < node.count; i++) {
                wanted.words[node.items[i]] = 1; /* an ALL_BUT may be down to 0 as well */
            }
        }
    }
    close_marks(&starts);
    close_marks(&wanted);
    return GLK_OK;
}

glk_status glk_formula_start(const glk_container *self, uint32_t *residual, glk_error *err) {
    glk_formula_node node;
    const uint32_t *at = self->formula + 1;
    for (uint32_t id = 0; id < glk_formula_size(self); id++) {
        at = glk_formula_read(at, &node);
        residual[id] = 0;
        if (node.kind == GLK_F_AT_LEAST) {
            residual[id] = node.bound == 0 ? GLK_F_TRUE : node.bound;
        } else if (node.kind == GLK_F_ALL_BUT) {
            residual[id] = node.bound;
        }
    }
    return glk_formula_size(self) == 0 ? GLK_OK : glk_formula_settle(self, residual, err);
}

bool glk_formula_hits(const glk_formula_node *atom, uint32_t k, uint32_t literals) {
    for (uint32_t i = 0; i < atom->count; i++) {
        uint32_t class = atom->items[2 * i], literal = atom->items[2 * i + 1];
        if ((class == k || class == GLK_EVERY) &&
            (literal == GLK_PRESENCE || (literals >> literal & 1u) != 0)) {
            return true;
        }
    }
    return false;
}

bool glk_formula_misses(const glk_formula_node *atom, uint32_t k, uint32_t literals) {
    for (uint32_t i = 0; i < atom->count; i++) {
        uint32_t class = atom->items[2 * i], literal = atom->items[2 * i + 1];
        if ((class == k || class == GLK_EVERY) &&
            (literal == GLK_PRESENCE || (literals >> literal & 1u) == 0)) {
            return true;
        }
    }
    return false;
}

glk_status glk_formula_step(const glk_container *self, uint32_t *residual, uint32_t k,
                            uint32_t choice, uint32_t times, glk_error *err) {
    uint32_t count = glk_formula_size(self), literals = glk_choice_literals(self, choice);
    if (count == 0 || residual[count - 1] >= GLK_F_FALSE) { /* decided */
        return GLK_OK;
    }
    glk_formula_node node;
    const uint32_t *at = self->formula + 1;
    bool changed = false;
    for (uint32_t id = 0; id < count; id++) {
        at = glk_formula_read(at, &node);
        uint32_t left = residual[id];
        if (node.kind >= GLK_F_AND || left > GLK_F_COUNT_MAX) {
            continue;
        }
        if (node.kind == GLK_F_AT_LEAST && glk_formula_hits(&node, k, literals)) {
            residual[id] = left > times ? left - times : GLK_F_TRUE;
        } else if (node.kind == GLK_F_ALL_BUT && glk_formula_misses(&node, k, literals)) {
            residual[id] = left >= times ? left - times : GLK_F_FALSE;
        }
        changed = changed || residual[id] >= GLK_F_FALSE;
    }
    return changed ? glk_formula_settle(self, residual, err) : GLK_OK;
}

void glk_formula_ends(const glk_container *self, const uint32_t *residual, uint32_t *ends) {
    glk_formula_node node;
    const uint32_t *at = self->formula + 1;
    for (uint32_t id = 0; id < glk_formula_size(self); id++) {
        at = glk_formula_read(at, &node);
        ends[id] = residual[id];
        if (node.kind < GLK_F_AND && residual[id] <= GLK_F_COUNT_MAX) {
            ends[id] = node.kind == GLK_F_AT_LEAST ? GLK_F_FALSE : GLK_F_TRUE;
        }
    }
    join_all(self, ends);
}

glk_status glk_formula_closes(const glk_container *self, const uint32_t *residual, bool *out,
                              glk_error *err) {
    uint32_t count = glk_formula_size(self);
    if (count == 0 || residual[count - 1] >= GLK_F_FALSE) {
        *out = count == 0 || residual[count - 1] == GLK_F_TRUE;
        return GLK_OK;
    }
    marks ends;
    GLK_TRY(open_marks(&ends, count, err));
    glk_formula_ends(self, residual, ends.words);
    *out = ends.words[count - 1] == GLK_F_TRUE;
    close_marks(&ends);
    return GLK_OK;
}
