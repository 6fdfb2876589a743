/* productive.c -- two least fixpoints over the code, and the cut that follows from the first.
 *
 *     productive   the node has a sentence
 *     nullable     the node matches the empty string
 *
 * Both are computed the same way, in linear time: every node waits for a number of its children
 * (a CAT for both, an object for its required members, an ALT for any one), a node that waits for
 * nothing more holds, and tells its parents.  A node that keeps waiting does not hold; cycles need
 * no care (Knuth 1977, without weights). */
#include "passes.h"

enum { NEVER = UINT32_MAX }; /* waits for ever */

/* Who waits for whom: parents[start[n] .. start[n + 1]) wait for n, once per reference. */
typedef struct waiting {
    uint32_t *start, *parents;
} waiting;

static bool is_awaited(const glk_code *code, uint32_t id, uint32_t k) {
    const glk_instr *instr = glk_code_at(code, id);
    if (instr->op != GLK_OP_OBJECT) {
        return true;
    }
    const uint32_t *list = glk_code_list(code, instr->b);
    return k < list[0] && list[3 + 3 * k + 2] != 0;
}

/* Counts two places ahead and fills one place ahead, which leaves the starts where they belong. */
static glk_status build_waiting(glk_work *self, waiting *out, glk_error *err) {
    const glk_code *code = &self->code;
    uint32_t count = glk_code_count(code), edges = 0;
    GLK_TRY(glk_work_array(self, (size_t)count + 2, sizeof(uint32_t), &out->start, err));
    for (uint32_t id = 0; id < count; id++) {
        uint32_t children = glk_code_children(code, id);
        for (uint32_t k = 0; k < children; k++) {
            if (is_awaited(code, id, k)) {
                out->start[*glk_code_child(code, id, k) + 2]++;
                edges++;
            }
        }
    }
    GLK_TRY(glk_work_spend(self, (uint64_t)count + edges, err));
    GLK_TRY(glk_work_array(self, edges, sizeof(uint32_t), &out->parents, err));
    for (uint32_t i = 2; i < count + 2; i++) {
        out->start[i] += out->start[i - 1];
    }
    for (uint32_t id = 0; id < count; id++) {
        uint32_t children = glk_code_children(code, id);
        for (uint32_t k = 0; k < children; k++) {
            if (is_awaited(code, id, k)) {
                out->parents[out->start[*glk_code_child(code, id, k) + 1]++] = id;
            }
        }
    }
    return GLK_OK;
}

/* `pending` by node: how many children it still waits for; afterwards 0 where the node holds. */
static glk_status least_fixpoint(glk_work *self, uint32_t *pending, glk_error *err) {
    uint32_t count = glk_code_count(&self->code), queued = 0;
    uint32_t *queue;
    waiting graph;
    GLK_TRY(build_waiting(self, &graph, err));
    GLK_TRY(glk_work_array(self, count, sizeof(uint32_t), &queue, err));
    for (uint32_t id = 0; id < count; id++) {
        if (pending[id] == 0) {
            queue[queued++] = id;
        }
    }
    for (uint32_t at = 0; at < queued; at++) {
        for (uint32_t i = graph.start[queue[at]]; i < graph.start[queue[at] + 1]; i++) {
            uint32_t parent = graph.parents[i];
            if (pending[parent] != 0 && pending[parent] != NEVER && --pending[parent] == 0) {
                queue[queued++] = parent;
            }
        }
    }
    return GLK_OK;
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
    case GLK_OP_OBJECT: {
        const uint32_t *list = glk_code_list(&self->code, instr->b);
        uint32_t required = 0;
        for (uint32_t i = 0; i < list[0]; i++) {
            required += list[3 + 3 * i + 2] != 0;
        }
        return required;
    }
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

/* Optional and free members whose value has no sentence go: what is no member cannot be written,
 * and the caller's free keys exclude the declared ones anyway. */
static void cut_object(glk_work *self, const glk_instr *instr, const uint32_t *pending) {
    uint32_t *list = GLK_VEC_U32(&self->code.lists) + instr->b;
    uint32_t *to = list + 3;
    const uint32_t *from = to;
    uint32_t counts[2] = {list[0], list[1]};
    list[0] = list[1] = 0;
    for (uint32_t part = 0; part < 2; part++) {
        uint32_t width = part == 0 ? 3 : 2;
        for (uint32_t i = 0; i < counts[part]; i++, from += width) {
            if (pending[from[1]] == 0) {
                memmove(to, from, width * sizeof *to);
                to += width;
                list[part]++;
            }
        }
    }
}

static glk_status cut_node(glk_work *self, uint32_t id, const uint32_t *pending, glk_error *err) {
    glk_instr *instr = glk_work_at(self, id);
    switch ((glk_op)instr->op) {
    case GLK_OP_ALT:
        cut_choice(self, instr, pending);
        return GLK_OK;
    case GLK_OP_SWITCH:
        return cut_switch(self, id, pending, err);
    case GLK_OP_OBJECT:
        cut_object(self, instr, pending);
        return GLK_OK;
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
