/* program.c -- see program.h. */
#include "program.h"

#include "apart.h"
#include "strip.h"

/* ------------------------------------------------------------------ what rewriting asks */

typedef struct compilation { /* the context of glk_rewrite_env */
    glk_terminals *terminals;
    uint64_t steps;
} compilation;

static glk_status env_import(void *context, const glk_exprs *from, uint32_t expr, uint32_t *out,
                             glk_error *err) {
    compilation *self = context;
    /* The store is shared and locked inside, whatever the grammar's own view of it. */
    return glk_terminals_import(self->terminals, (glk_exprs *)(uintptr_t)from, expr, out, err);
}

/* Keys stay what they are in the grammar until they are linked: with their labels. */
static glk_status env_key(void *context, const glk_exprs *from, uint32_t expr, uint32_t *out,
                          bool *empty, glk_error *err) {
    compilation *self = context;
    GLK_TRY(glk_terminals_import_is_empty(self->terminals, (glk_exprs *)(uintptr_t)from, expr,
                                          &self->steps, empty, err));
    *out = expr;
    return GLK_OK;
}

static glk_status env_is_empty(void *context, uint32_t expr, bool *out, glk_error *err) {
    compilation *self = context;
    return glk_expr_is_empty_apart(&self->terminals->exprs, expr, GLK_SEARCH_NEAR, &self->steps,
                                   out, err);
}

static bool env_is_nullable(void *context, uint32_t expr) {
    compilation *self = context;
    return glk_expr_nullable(&self->terminals->exprs, expr);
}

static glk_status env_without_empty(void *context, uint32_t expr, uint32_t *out, glk_error *err) {
    compilation *self = context;
    return glk_strip_empty(&self->terminals->exprs, expr, out, err);
}

static glk_status env_live_labels(void *context, uint32_t expr, glk_vec *labels, glk_error *err) {
    compilation *self = context;
    return glk_strip_list(&self->terminals->exprs, expr, env_is_empty, context, labels, err);
}

static glk_status env_empty_labels(void *context, uint32_t expr, glk_vec *labels, glk_error *err) {
    compilation *self = context;
    return glk_expr_labels(&self->terminals->exprs, expr, labels, err);
}

static glk_status env_without_labels(void *context, uint32_t expr, const uint32_t *labels,
                                     size_t count, uint32_t *out, glk_error *err) {
    compilation *self = context;
    return glk_strip_labels(&self->terminals->exprs, expr, labels, count, out, err);
}

static bool env_has_byte(void *context, uint8_t byte) {
    compilation *self = context;
    return glk_bytes_has(&self->terminals->vocab->reachable, byte);
}

static bool env_has_token(void *context, uint32_t id) {
    compilation *self = context;
    return id < self->terminals->vocab->size;
}

/* ------------------------------------------------------------------ linking */

static glk_instr *instr_at(glk_code *code, uint32_t id) {
    return (glk_instr *)code->instrs.data + id;
}

static glk_status add_instr(glk_code *code, glk_instr instr, uint32_t *out, glk_error *err) {
    *out = code->instrs.count;
    return glk_vec_push(&code->instrs, &instr, err);
}

static glk_status add_term(glk_program *self, uint32_t expr, uint32_t *out, glk_error *err) {
    glk_instr instr = {.op = GLK_OP_TERM, .a = expr};
    GLK_TRY(glk_terminals_state(self->terminals, expr, &instr.lo, err));
    return add_instr(&self->code, instr, out, err);
}

typedef struct punctuation { /* terminals that stand before an object's values; 0: none */
    uint32_t before_colon, colon, after_colon;
} punctuation;

/* What follows a key: `gap ":" gap value`. */
static glk_status link_value(glk_program *self, const punctuation *between, uint32_t *value,
                             glk_error *err) {
    const uint32_t parts[] = {between->before_colon, between->colon, between->after_colon};
    for (size_t i = sizeof parts / sizeof *parts; i > 0; i--) {
        if (parts[i - 1] != 0) {
            glk_instr cat = {.op = GLK_OP_CAT, .a = parts[i - 1], .b = *value};
            GLK_TRY(add_instr(&self->code, cat, value, err));
        }
    }
    return GLK_OK;
}

/* A terminal for an expression that is not just the empty string, else 0. */
static glk_status gap_term(glk_program *self, uint32_t expr, uint32_t *out, glk_error *err) {
    *out = 0;
    return expr == GLK_EXPR_EPSILON ? GLK_OK : add_term(self, expr, out, err);
}

static uint32_t *list_of(glk_program *self, uint32_t id) {
    return GLK_VEC_U32(&self->code.lists) + instr_at(&self->code, id)->b;
}

/* The states of the gaps around members take the place of their expressions. */
static glk_status link_gaps(glk_program *self, uint32_t id, glk_error *err) {
    uint32_t *gaps = list_of(self, id) + 6; /* linking adds no lists */
    for (uint32_t gap = GLK_GAP_OPEN; gap <= GLK_GAP_ITEM; gap++) {
        GLK_TRY(glk_terminals_state(self->terminals, gaps[gap], &gaps[gap], err));
    }
    return GLK_OK;
}

/* Imports an object's keys with their labels and puts what follows a key in front of its values. */
static glk_status link_members(glk_program *self, glk_exprs *from, uint32_t id, uint32_t *colon,
                               glk_error *err) {
    uint32_t *list = list_of(self, id), expr;
    glk_object object = glk_object_view(&self->code, id);
    punctuation between;
    if (*colon == GLK_NONE) {
        GLK_TRY(glk_expr_byte(&self->terminals->exprs, ':', &expr, err));
        GLK_TRY(add_term(self, expr, colon, err));
    }
    between.colon = *colon;
    GLK_TRY(gap_term(self, object.container.gaps[GLK_GAP_COLON], &between.before_colon, err));
    GLK_TRY(gap_term(self, object.container.gaps[GLK_GAP_VALUE], &between.after_colon, err));
    uint32_t *classes = list + (object.container.classes - list);
    uint32_t *choices = list + (object.container.choices - list);
    for (uint32_t k = 0; k < glk_container_classes(&object.container); k++) {
        uint32_t *key = &classes[GLK_CLASS_WORDS * k];
        GLK_TRY(glk_terminals_import_tagged(self->terminals, from, *key,
                                            glk_object_label(&object, k), key, err));
    }
    for (uint32_t c = 0; c < object.container.choice_count; c++) {
        GLK_TRY(link_value(self, &between, &choices[GLK_CHOICE_WORDS * c], err));
    }
    return GLK_OK;
}

static glk_status link_container(glk_program *self, glk_exprs *from, uint32_t id, uint32_t *colon,
                                 glk_error *err) {
    glk_object object = glk_object_view(&self->code, id);
    self->code.marked = self->code.marked || glk_object_is_unique(&object);
    self->code.scarce = self->code.scarce || glk_object_is_tight(&object) ||
                        glk_object_may_run_out(&object);
    GLK_TRY(link_gaps(self, id, err));
    return glk_object_is_array(&object) ? GLK_OK : link_members(self, from, id, colon, err);
}

static glk_status check_tokens(const glk_program *self, const glk_instr *instr, glk_error *err) {
    const uint32_t *list = glk_code_list(&self->code, instr->b);
    for (uint32_t i = 0; i < list[0]; i++) {
        if (list[1 + i] >= self->vocab->size) {
            return glk_fail(err, GLK_ERR_ARGUMENT,
                            "the grammar names token %u, but the vocabulary has %u ids",
                            (unsigned)list[1 + i], (unsigned)self->vocab->size);
        }
    }
    return GLK_OK;
}

/* Gives every terminal its state and every object its labels; keys are of the store `from`. */
static glk_status link_code(glk_program *self, glk_exprs *from, glk_error *err) {
    uint32_t count = glk_code_count(&self->code), colon = GLK_NONE;
    for (uint32_t id = 0; id < count; id++) {
        glk_instr *instr = instr_at(&self->code, id);
        switch ((glk_op)instr->op) {
        case GLK_OP_TERM:
        case GLK_OP_SWITCH:
            GLK_TRY(glk_terminals_state(self->terminals, instr->a, &instr->lo, err));
            break;
        case GLK_OP_TOKENS:
            GLK_TRY(check_tokens(self, instr, err));
            break;
        case GLK_OP_CONTAINER:
            GLK_TRY(link_container(self, from, id, &colon, err));
            break;
        default:
            break;
        }
    }
    return GLK_OK;
}

/* ------------------------------------------------------------------ life */

static void destroy(glk_program *self) {
    glk_epoch_release(self->epoch);
    glk_code_free(&self->code);
    glk_terminals_release(self->terminals);
    glk_vocab_release(self->vocab);
    (void)pthread_mutex_destroy(&self->lock);
    glk_release(NULL, self, sizeof *self);
}

static glk_status compile(glk_program *self, const glk_grammar *grammar, glk_error *err) {
    compilation job = {.terminals = self->terminals, .steps = self->limits.steps};
    glk_rewrite_env env = {.context = &job,
                           .import = env_import,
                           .key = env_key,
                           .is_empty = env_is_empty,
                           .is_nullable = env_is_nullable,
                           .without_empty = env_without_empty,
                           .live_labels = env_live_labels,
                           .empty_labels = env_empty_labels,
                           .without_labels = env_without_labels,
                           .has_byte = env_has_byte,
                           .has_token = env_has_token};
    glk_terminals *terminals = self->terminals;
    (void)pthread_mutex_lock(&terminals->lock);
    uint32_t base = terminals->exprs.scratch.count;
    glk_status status = glk_rewrite(grammar, &env, self->limits.steps, &self->code, err);
    if (status == GLK_OK) {
        status = link_code(self, grammar->exprs, err);
    }
    terminals->exprs.scratch.count = base;
    (void)pthread_mutex_unlock(&terminals->lock);
    return status;
}

glk_status glk_program_own_epoch(glk_program *self, glk_epoch **out, glk_error *err) {
    glk_epoch *epoch;
    uint64_t steps = self->limits.steps;
    GLK_TRY(glk_epoch_new(&self->code, self->terminals, self->limits.program_bytes, &epoch, err));
    glk_status status = glk_moves_start(epoch, &steps, err);
    if (status == GLK_OK && epoch->start == GLK_NONE) {
        status = glk_fail(err, GLK_ERR_UNSATISFIABLE,
                          "the grammar has no sentence: too few different values");
    }
    if (status != GLK_OK) {
        glk_epoch_release(epoch);
        return status;
    }
    *out = epoch;
    return GLK_OK;
}

glk_status glk_program_new(glk_vocab *vocab, glk_grammar *grammar, const glk_limits *limits,
                           glk_program **out, glk_error *err) {
    void *memory;
    GLK_TRY(glk_alloc(NULL, sizeof(glk_program), &memory, err));
    glk_program *self = memory;
    glk_status status = glk_terminals_acquire(vocab, &self->terminals, err);
    if (status != GLK_OK) {
        glk_release(NULL, self, sizeof *self);
        return status;
    }
    glk_vocab_retain(vocab);
    self->vocab = vocab;
    self->limits = *limits;
    glk_account_init(&self->account, "code_bytes", 0);
    glk_code_init(&self->code, &self->account);
    (void)pthread_mutex_init(&self->lock, NULL);
    atomic_init(&self->references, 1);
    status = compile(self, grammar, err);
    if (status == GLK_OK) {
        status = glk_program_own_epoch(self, &self->epoch, err);
    }
    if (status != GLK_OK) {
        destroy(self);
        return status;
    }
    *out = self;
    return GLK_OK;
}

void glk_program_retain(glk_program *self) { atomic_fetch_add(&self->references, 1); }

void glk_program_release(glk_program *self) {
    if (self != NULL && atomic_fetch_sub(&self->references, 1) == 1) {
        destroy(self);
    }
}

/* ------------------------------------------------------------------ epochs and statistics */

static void add_stats(glk_program_stats *sum, const glk_epoch *epoch) {
    sum->configurations += epoch->configs.count;
    sum->continuations += epoch->conts.count;
    sum->masks += epoch->mask_count;
    sum->hits += atomic_load_explicit(&epoch->hits, memory_order_relaxed);
    sum->walks += epoch->walks;
    sum->visited += epoch->visited;
}

glk_status glk_program_epoch(glk_program *self, const glk_epoch *old, glk_epoch **out,
                             glk_error *err) {
    glk_status status = GLK_OK;
    (void)pthread_mutex_lock(&self->lock);
    if (self->epoch == old) {
        glk_epoch *fresh;
        status = glk_program_own_epoch(self, &fresh, err);
        if (status == GLK_OK) {
            (void)pthread_mutex_lock(&self->epoch->lock);
            add_stats(&self->past, self->epoch);
            (void)pthread_mutex_unlock(&self->epoch->lock);
            self->past.epochs++;
            glk_epoch_release(self->epoch);
            self->epoch = fresh;
        }
    }
    if (status == GLK_OK) {
        glk_epoch_retain(self->epoch);
        *out = self->epoch;
    }
    (void)pthread_mutex_unlock(&self->lock);
    return status;
}

void glk_program_get_stats(glk_program *self, glk_program_stats *out) {
    (void)pthread_mutex_lock(&self->lock);
    glk_epoch *epoch = self->epoch;
    (void)pthread_mutex_lock(&epoch->lock);
    *out = self->past;
    add_stats(out, epoch);
    out->bytes = atomic_load(&self->account.used) + atomic_load(&epoch->account.used);
    out->nodes = glk_code_count(&self->code);
    (void)pthread_mutex_unlock(&epoch->lock);
    (void)pthread_mutex_unlock(&self->lock);
}

void glk_program_get_bytes(glk_program *self, glk_program_bytes *out) {
    (void)pthread_mutex_lock(&self->lock);
    glk_epoch *epoch = self->epoch;
    (void)pthread_mutex_lock(&epoch->lock);
    uint64_t index = epoch->mask_index.slots == NULL
                         ? 0
                         : ((uint64_t)epoch->mask_index.mask + 1) * sizeof(glk_slot);
    out->code = atomic_load(&self->account.used);
    out->masks = epoch->mask_bytes + index + (uint64_t)epoch->masks.count * sizeof(glk_thread_mask);
    out->configurations = atomic_load(&epoch->account.used) - out->masks;
    out->shared = glk_terminals_bytes(self->terminals);
    (void)pthread_mutex_unlock(&epoch->lock);
    (void)pthread_mutex_unlock(&self->lock);
}

glk_status glk_program_dump(glk_program *self, char *buffer, size_t capacity, size_t *needed,
                            glk_error *err) {
    (void)err;
    glk_code_dump(&self->code, buffer, capacity, needed);
    return GLK_OK;
}
