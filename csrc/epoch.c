/* epoch.c -- see epoch.h.  Interning: sort, merge what has equal heads, look up, copy. */
#include "epoch.h"

enum { MERGE_DEPTH = 100 }; /* how deep rests are united; past it frames with equal heads stay apart */

/* ------------------------------------------------------------------ life */

static void destroy(glk_epoch *self) {
    glk_arena_free(&self->arena);
    glk_table *tables[] = {&self->conts,  &self->configs, &self->closures,
                           &self->unions, &self->keys,    &self->masks,
                           &self->texts};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        glk_table_free(tables[i]);
    }
    glk_index *indexes[] = {&self->cont_index,  &self->config_index, &self->closure_index,
                            &self->union_index, &self->key_index,    &self->mask_index,
                            &self->seen_index,  &self->text_index};
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
        glk_index_free(indexes[i]);
    }
    glk_vec *vecs[] = {&self->todo,  &self->seen,  &self->threads, &self->frames, &self->ids,
                       &self->ways, &self->turns, &self->bytes,   &self->visit};
    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++) {
        glk_vec_free(vecs[i]);
    }
    glk_objects_free(&self->objects);
    glk_values_free(&self->values);
    (void)pthread_mutex_destroy(&self->lock);
    glk_release(NULL, self, sizeof *self);
}

static void init_tables(glk_epoch *self) {
    glk_account *account = &self->account;
    glk_arena_init(&self->arena, account);
    glk_table_init(&self->conts, account, sizeof(glk_cont));
    glk_table_init(&self->configs, account, sizeof(glk_config));
    glk_table_init(&self->closures, account, sizeof(glk_closure));
    glk_table_init(&self->unions, account, sizeof(glk_union));
    glk_table_init(&self->keys, account, sizeof(glk_key));
    glk_table_init(&self->masks, account, sizeof(glk_thread_mask));
    glk_table_init(&self->texts, account, sizeof(glk_text_node));
    glk_index *indexes[] = {&self->cont_index,  &self->config_index, &self->closure_index,
                            &self->union_index, &self->key_index,    &self->mask_index,
                            &self->seen_index,  &self->text_index};
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
        glk_index_init(indexes[i], account);
    }
    glk_vec_init(&self->todo, account, sizeof(glk_frame));
    glk_vec_init(&self->seen, account, sizeof(glk_frame));
    glk_vec_init(&self->threads, account, sizeof(glk_thread));
    glk_vec_init(&self->frames, account, sizeof(glk_frame));
    glk_vec_init(&self->ids, account, sizeof(uint32_t));
    glk_vec_init(&self->ways, account, sizeof(glk_way));
    glk_vec_init(&self->turns, account, sizeof(glk_turn));
    glk_vec_init(&self->bytes, account, 1);
    glk_vec_init(&self->visit, account, sizeof(uint32_t));
    glk_objects_init(&self->objects, account);
    glk_values_init(&self->values, account);
}

/* Brackets, and tagged ones and ",", which all containers share. */
static glk_status make_punctuation(glk_epoch *self, glk_error *err) {
    static const uint8_t open[] = "{[", close[] = "}]";
    glk_exprs *exprs = &self->terminals->exprs;
    uint32_t expr, tag;
    for (size_t i = 0; i < 2; i++) {
        GLK_TRY(glk_expr_byte(exprs, open[i], &expr, err));
        GLK_TRY(glk_terminals_state(self->terminals, expr, &self->open_state[i], err));
        GLK_TRY(glk_expr_tag(exprs, GLK_LABEL_CLOSE, &tag, err));
        GLK_TRY(glk_expr_literal(exprs, close + i, 1, tag, &self->close_expr[i], err));
    }
    GLK_TRY(glk_expr_tag(exprs, GLK_LABEL_COMMA, &tag, err));
    return glk_expr_literal(exprs, (const uint8_t *)",", 1, tag, &self->comma_expr, err);
}

static glk_status make_bottom(glk_epoch *self, glk_error *err) {
    void *memory;
    uint32_t id = 0;
    GLK_TRY(glk_arena_take(&self->arena, sizeof(glk_frame), &memory, err));
    *(glk_frame *)memory = (glk_frame){.node = GLK_NONE};
    GLK_TRY(glk_table_add(&self->conts, &id, err));
    *(glk_cont *)glk_table_at(&self->conts, id) =
        (glk_cont){.frames = memory, .count = 1, .far = 0};
    GLK_TRY(glk_table_add(&self->texts, &id, err)); /* the empty text */
    return GLK_OK;
}

glk_status glk_epoch_new(const glk_code *code, glk_terminals *terminals, uint64_t max_bytes,
                         glk_epoch **out, glk_error *err) {
    void *memory = NULL;
    GLK_TRY(glk_resize(NULL, &memory, 0, sizeof(glk_epoch), err));
    glk_epoch *self = memory;
    memset(self, 0, offsetof(glk_epoch, conts));
    self->code = code;
    self->terminals = terminals;
    self->longest = terminals->vocab->longest;
    glk_account_init(&self->account, "program_bytes", max_bytes);
    init_tables(self);
    (void)pthread_mutex_init(&self->lock, NULL);
    atomic_init(&self->references, 1);
    glk_status status = make_bottom(self, err);
    if (status == GLK_OK) {
        (void)pthread_mutex_lock(&terminals->lock);
        status = make_punctuation(self, err);
        (void)pthread_mutex_unlock(&terminals->lock);
    }
    if (status != GLK_OK) {
        destroy(self);
        return status;
    }
    *out = self;
    return GLK_OK;
}

void glk_epoch_retain(glk_epoch *self) { atomic_fetch_add(&self->references, 1); }

void glk_epoch_release(glk_epoch *self) {
    if (self != NULL && atomic_fetch_sub(&self->references, 1) == 1) {
        destroy(self);
    }
}

/* ------------------------------------------------------------------ continuations */

static int compare_frames(const glk_frame *a, const glk_frame *b) {
    if (a->node != b->node) {
        return a->node < b->node ? -1 : 1;
    }
    if (a->param != b->param) {
        return a->param < b->param ? -1 : 1;
    }
    return a->rest < b->rest ? -1 : a->rest > b->rest;
}

static void sort_frames(glk_frame *frames, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        glk_frame frame = frames[i];
        uint32_t j = i;
        for (; j > 0 && compare_frames(&frames[j - 1], &frame) > 0; j--) {
            frames[j] = frames[j - 1];
        }
        frames[j] = frame;
    }
}

static glk_status unite(glk_epoch *self, uint32_t a, uint32_t b, uint32_t depth, uint32_t *out,
                        glk_error *err);

/* Sorts the frames on the stack from `base` on and unites the rests of equal heads. */
static glk_status merge_frames(glk_epoch *self, uint32_t base, uint32_t depth, glk_error *err) {
    sort_frames((glk_frame *)self->frames.data + base, self->frames.count - base);
    uint32_t kept = base;
    for (uint32_t i = base; i < self->frames.count; i++) {
        glk_frame *frames = self->frames.data;
        glk_frame *last = kept > base ? &frames[kept - 1] : NULL;
        if (last == NULL || last->node != frames[i].node || last->param != frames[i].param) {
            frames[kept++] = frames[i];
        } else if (last->rest != frames[i].rest) {
            if (depth >= MERGE_DEPTH) {
                frames[kept++] = frames[i];
                continue;
            }
            uint32_t rest;
            GLK_TRY(unite(self, last->rest, frames[i].rest, depth + 1, &rest, err));
            ((glk_frame *)self->frames.data)[kept - 1].rest = rest;
        }
    }
    self->frames.count = kept;
    return GLK_OK;
}

/* How many more rounds of a repeat matter for the next token; see glk_cont.far. */
static uint32_t far_count(const glk_epoch *self, const glk_instr *code, uint32_t count) {
    uint32_t reach = self->longest;
    bool below = count < code->lo;
    bool far_from_top = code->hi == GLK_UNBOUNDED || code->hi - count > reach;
    if (!far_from_top || (below && code->lo - count <= reach)) {
        return count;
    }
    return below ? 0 : code->lo;
}

/* A frame with its count cut. */
static glk_status far_frame(glk_epoch *self, glk_frame *frame, glk_error *err) {
    (void)err;
    if (frame->node != GLK_NONE) {
        const glk_instr *code = glk_code_at(self->code, frame->node);
        frame->rest = glk_cont_at(self, frame->rest)->far;
        if (code->op == GLK_OP_REP) {
            frame->param = far_count(self, code, frame->param);
        }
    }
    return GLK_OK;
}

/* A frame without texts and seen values. */
static glk_status bare_frame(glk_epoch *self, glk_frame *frame, glk_error *err) {
    if (frame->node == GLK_NONE) {
        return GLK_OK;
    }
    frame->rest = glk_cont_at(self, frame->rest)->bare;
    if (glk_code_at(self->code, frame->node)->op != GLK_OP_CONTAINER) {
        return GLK_OK;
    }
    glk_object object = glk_object_view(self->code, frame->node);
    uint32_t state = frame->param >> GLK_PHASE_BITS, phase = frame->param & GLK_PHASE_MASK;
    glk_obligations now = glk_object_read(&self->objects, &object, state);
    uint32_t seen = now.seen == 0 ? 0 : GLK_SEEN_SOME;
    uint32_t start = now.start < GLK_START_SOME ? GLK_START_FRESH : now.start;
    if (seen == now.seen && start == now.start) {
        return GLK_OK;
    }
    GLK_TRY(glk_object_mark(&self->objects, &object, state, seen, start, &state, err));
    frame->param = state << GLK_PHASE_BITS | phase;
    return GLK_OK;
}

typedef glk_status (*frame_change)(glk_epoch *self, glk_frame *frame, glk_error *err);

static glk_status intern_merged(glk_epoch *self, uint32_t base, uint32_t depth, uint32_t *out,
                                glk_error *err);

/* The twin of the frames on the stack with each of them changed, GLK_NONE if they are their own or
 * no twin is wanted: interned like any other, one level deep, since changed frames stay as they are. */
static glk_status find_twin(glk_epoch *self, uint32_t base, uint32_t depth, bool wanted,
                            frame_change change, uint32_t *out, glk_error *err) {
    uint32_t count = self->frames.count - base;
    bool same = true;
    for (uint32_t i = 0; i < count && wanted; i++) {
        glk_frame frame = ((glk_frame *)self->frames.data)[base + i], changed = frame;
        GLK_TRY(change(self, &changed, err));
        same = same && compare_frames(&frame, &changed) == 0;
        GLK_TRY(glk_vec_push(&self->frames, &changed, err));
    }
    *out = GLK_NONE;
    if (!same) {
        GLK_TRY(merge_frames(self, base + count, depth, err));
        GLK_TRY(intern_merged(self, base + count, depth, out, err));
    }
    self->frames.count = base + count;
    return GLK_OK;
}

/* What frames say about texts, see glk_cont. */
static void note_captures(const glk_epoch *self, glk_cont *cont) {
    for (uint32_t i = 0; i < cont->count && self->code->marked; i++) {
        const glk_frame *frame = &cont->frames[i];
        if (frame->node == GLK_NONE) {
            continue;
        }
        cont->captures = cont->captures || glk_cont_at(self, frame->rest)->captures;
        cont->risky = cont->risky || glk_cont_at(self, frame->rest)->risky;
        if (glk_code_at(self->code, frame->node)->op == GLK_OP_CONTAINER) {
            glk_object object = glk_object_view(self->code, frame->node);
            glk_obligations now =
                glk_object_read(&self->objects, &object, frame->param >> GLK_PHASE_BITS);
            cont->captures = cont->captures || now.start != GLK_START_NONE;
            cont->risky = cont->risky ||
                          glk_object_is_risky(&object, &now, frame->param & GLK_PHASE_MASK);
        }
    }
}

static glk_status add_cont(glk_epoch *self, uint32_t base, uint32_t hash, uint32_t far,
                           uint32_t bare, uint32_t *out, glk_error *err) {
    uint32_t count = self->frames.count - base, id = 0;
    size_t bytes = count * sizeof(glk_frame);
    void *memory;
    GLK_TRY(glk_index_reserve(&self->cont_index, err));
    GLK_TRY(glk_arena_take(&self->arena, bytes, &memory, err));
    memcpy(memory, (glk_frame *)self->frames.data + base, bytes);
    GLK_TRY(glk_table_add(&self->conts, &id, err));
    glk_cont *cont = glk_table_at(&self->conts, id);
    *cont = (glk_cont){.frames = memory,
                       .count = count,
                       .far = far == GLK_NONE ? id : far,
                       .bare = bare == GLK_NONE ? id : bare};
    note_captures(self, cont);
    (void)glk_index_add(&self->cont_index, hash, id, err);
    *out = id;
    return GLK_OK;
}

static glk_status intern_merged(glk_epoch *self, uint32_t base, uint32_t depth, uint32_t *out,
                                glk_error *err) {
    const glk_frame *frames = (const glk_frame *)self->frames.data + base;
    uint32_t count = self->frames.count - base, id = 0;
    if (count == 1 && frames->node == GLK_NONE) {
        *out = 0;
        return GLK_OK;
    }
    uint32_t hash = glk_hash_u32s((const uint32_t *)frames, 3 * (size_t)count, 0);
    glk_probe probe = glk_probe_start(&self->cont_index, hash);
    while (glk_probe_next(&self->cont_index, &probe, &id)) {
        const glk_cont *k = glk_cont_at(self, id);
        if (k->count == count && memcmp(k->frames, frames, count * sizeof *frames) == 0) {
            *out = id;
            return GLK_OK;
        }
    }
    uint32_t far, bare;
    GLK_TRY(find_twin(self, base, depth, self->code->counted, far_frame, &far, err));
    GLK_TRY(find_twin(self, base, depth, self->code->marked, bare_frame, &bare, err));
    return add_cont(self, base, hash, far, bare, out, err);
}

glk_status glk_cont_intern(glk_epoch *self, const glk_frame *frames, uint32_t count, uint32_t *out,
                           glk_error *err) {
    uint32_t base = self->frames.count;
    glk_status status = GLK_OK;
    for (uint32_t i = 0; i < count && status == GLK_OK; i++) {
        status = glk_vec_push(&self->frames, &frames[i], err);
    }
    if (status == GLK_OK && count > 1) {
        status = merge_frames(self, base, 0, err);
    }
    if (status == GLK_OK) {
        status = intern_merged(self, base, 0, out, err);
    }
    self->frames.count = base;
    return status;
}

static glk_status unite_now(glk_epoch *self, uint32_t a, uint32_t b, uint32_t depth, uint32_t *out,
                            glk_error *err) {
    uint32_t base = self->frames.count;
    const uint32_t both[2] = {a, b};
    for (int side = 0; side < 2; side++) {
        const glk_cont *k = glk_cont_at(self, both[side]);
        for (uint32_t i = 0; i < k->count; i++) {
            GLK_TRY(glk_vec_push(&self->frames, &k->frames[i], err));
        }
    }
    GLK_TRY(merge_frames(self, base, depth, err));
    return intern_merged(self, base, depth, out, err);
}

static glk_status unite(glk_epoch *self, uint32_t a, uint32_t b, uint32_t depth, uint32_t *out,
                        glk_error *err) {
    if (a > b) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    if (a == b) {
        *out = a;
        return GLK_OK;
    }
    uint32_t hash = (uint32_t)glk_mix(a, b), id = 0;
    glk_probe probe = glk_probe_start(&self->union_index, hash);
    while (glk_probe_next(&self->union_index, &probe, &id)) {
        const glk_union *known = glk_table_at(&self->unions, id);
        if (known->a == a && known->b == b) {
            *out = known->result;
            return GLK_OK;
        }
    }
    uint32_t base = self->frames.count, result;
    glk_status status = unite_now(self, a, b, depth, &result, err);
    self->frames.count = base;
    GLK_TRY(status);
    GLK_TRY(glk_index_reserve(&self->union_index, err));
    GLK_TRY(glk_table_add(&self->unions, &id, err));
    *(glk_union *)glk_table_at(&self->unions, id) = (glk_union){.a = a, .b = b, .result = result};
    (void)glk_index_add(&self->union_index, hash, id, err);
    *out = result;
    return GLK_OK;
}

/* ------------------------------------------------------------------ configurations */

static bool thread_less(const glk_thread *a, const glk_thread *b) {
    return a->state != b->state ? a->state < b->state : a->rest < b->rest;
}

static void sort_threads(glk_thread *threads, uint32_t count) {
    uint32_t gap = 1;
    while (gap < count / 3) {
        gap = 3 * gap + 1;
    }
    for (; gap > 0; gap /= 3) {
        for (uint32_t i = gap; i < count; i++) {
            glk_thread thread = threads[i];
            uint32_t j = i;
            for (; j >= gap && thread_less(&thread, &threads[j - gap]); j -= gap) {
                threads[j] = threads[j - gap];
            }
            threads[j] = thread;
        }
    }
}

/* Sorts self->threads and unites the continuations of equal states. */
static glk_status merge_threads(glk_epoch *self, glk_error *err) {
    glk_thread *threads = self->threads.data;
    uint32_t kept = 0;
    sort_threads(threads, self->threads.count);
    for (uint32_t i = 0; i < self->threads.count; i++) {
        if (kept == 0 || threads[kept - 1].state != threads[i].state) {
            threads[kept++] = threads[i];
        } else if (threads[kept - 1].rest != threads[i].rest) {
            GLK_TRY(unite(self, threads[kept - 1].rest, threads[i].rest, 0,
                          &threads[kept - 1].rest, err));
        }
    }
    self->threads.count = kept;
    return GLK_OK;
}

static glk_status intern_config(glk_epoch *self, bool can_end, uint32_t text, uint32_t *out,
                                glk_error *err);

/* The twin with equal masks, GLK_NONE if it is the configuration itself; see glk_config.far. */
static glk_status find_far_config(glk_epoch *self, bool can_end, const glk_config *config,
                                  uint32_t *out, glk_error *err) {
    bool same = true;
    self->threads.count = 0;
    for (uint32_t i = 0; i < config->count; i++) {
        glk_thread thread = config->threads[i];
        uint32_t far = glk_cont_at(self, thread.rest)->far;
        same = same && far == thread.rest;
        thread.rest = far;
        GLK_TRY(glk_vec_push(&self->threads, &thread, err));
    }
    *out = GLK_NONE;
    return same ? GLK_OK : intern_config(self, can_end, config->text, out, err);
}

static glk_status add_config(glk_epoch *self, bool can_end, uint32_t text, uint32_t hash,
                             uint32_t *out, glk_error *err) {
    uint32_t count = self->threads.count, id = 0;
    size_t bytes = count * sizeof(glk_thread);
    void *memory;
    GLK_TRY(glk_arena_take(&self->arena, bytes, &memory, err));
    if (count > 0) {
        memcpy(memory, self->threads.data, bytes);
    }
    glk_config draft = {.threads = memory, .count = count, .text = text, .can_end = can_end};
    uint32_t far = GLK_NONE;
    if (self->code->counted) {
        GLK_TRY(find_far_config(self, can_end, &draft, &far, err));
    }
    GLK_TRY(glk_index_reserve(&self->config_index, err));
    GLK_TRY(glk_table_add(&self->configs, &id, err));
    glk_config *config = glk_config_at(self, id);
    config->threads = draft.threads;
    config->count = count;
    config->can_end = can_end;
    config->text = text;
    config->far = far == GLK_NONE ? id : far;
    config->bare = GLK_NONE;
    (void)glk_index_add(&self->config_index, hash, id, err);
    *out = id;
    return GLK_OK;
}

/* Interns self->threads, sorted and merged. */
static glk_status intern_config(glk_epoch *self, bool can_end, uint32_t text, uint32_t *out,
                                glk_error *err) {
    const glk_thread *threads = self->threads.data;
    uint32_t count = self->threads.count, id = 0;
    if (text != GLK_TEXT_NONE && !glk_threads_capture(self, threads, count)) {
        text = GLK_TEXT_NONE;
    }
    uint32_t seed = (uint32_t)glk_mix(text, can_end);
    uint32_t hash = glk_hash_u32s((const uint32_t *)threads, 2 * (size_t)count, seed);
    glk_probe probe = glk_probe_start(&self->config_index, hash);
    while (glk_probe_next(&self->config_index, &probe, &id)) {
        const glk_config *c = glk_config_at(self, id);
        if (c->count == count && c->can_end == can_end && c->text == text &&
            (count == 0 || memcmp(c->threads, threads, count * sizeof *threads) == 0)) {
            *out = id;
            return GLK_OK;
        }
    }
    return add_config(self, can_end, text, hash, out, err);
}

glk_status glk_config_intern(glk_epoch *self, bool can_end, uint32_t text, uint32_t *out,
                             glk_error *err) {
    if (self->threads.count > 1) {
        GLK_TRY(merge_threads(self, err));
    }
    return intern_config(self, can_end, text, out, err);
}

glk_status glk_config_bare(glk_epoch *self, uint32_t id, uint32_t *out, glk_error *err) {
    const glk_config *config = glk_config_at(self, id);
    if (config->bare == GLK_NONE) {
        bool same = true;
        self->threads.count = 0;
        for (uint32_t i = 0; i < config->count; i++) {
            glk_thread thread = config->threads[i];
            thread.rest = glk_cont_at(self, thread.rest)->bare;
            same = same && thread.rest == config->threads[i].rest;
            GLK_TRY(glk_vec_push(&self->threads, &thread, err));
        }
        uint32_t twin = id;
        if (!same) {
            GLK_TRY(glk_config_intern(self, config->can_end, GLK_TEXT_BARE, &twin, err));
        }
        glk_config_at(self, id)->bare = twin;
    }
    *out = glk_config_at(self, id)->bare;
    return GLK_OK;
}

/* ------------------------------------------------------------------ texts */

static const glk_text_node *text_at(const glk_epoch *self, uint32_t id) {
    return glk_table_at(&self->texts, id);
}

static glk_text_mode next_mode(glk_text_mode mode, uint8_t byte) {
    if (mode == GLK_TEXT_ESCAPE) {
        return GLK_TEXT_STRING;
    }
    if (byte == '"') {
        return mode == GLK_TEXT_STRING ? GLK_TEXT_OUTSIDE : GLK_TEXT_STRING;
    }
    return mode == GLK_TEXT_STRING && byte == '\\' ? GLK_TEXT_ESCAPE : mode;
}

glk_status glk_text_extend(glk_epoch *self, uint32_t text, uint8_t byte, uint32_t *out,
                           glk_error *err) {
    if (text == GLK_TEXT_BARE ||
        (text_at(self, text)->mode == GLK_TEXT_OUTSIDE && glk_is_space(byte))) {
        *out = text;
        return GLK_OK;
    }
    uint32_t hash = (uint32_t)glk_mix(text, byte), id = 0;
    glk_probe probe = glk_probe_start(&self->text_index, hash);
    while (glk_probe_next(&self->text_index, &probe, &id)) {
        if (text_at(self, id)->parent == text && text_at(self, id)->byte == byte) {
            *out = id;
            return GLK_OK;
        }
    }
    GLK_TRY(glk_index_reserve(&self->text_index, err));
    GLK_TRY(glk_table_add(&self->texts, &id, err));
    const glk_text_node *parent = text_at(self, text);
    *(glk_text_node *)glk_table_at(&self->texts, id) =
        (glk_text_node){.parent = text,
                        .length = parent->length + 1,
                        .byte = byte,
                        .mode = (uint8_t)next_mode((glk_text_mode)parent->mode, byte)};
    (void)glk_index_add(&self->text_index, hash, id, err);
    *out = id;
    return GLK_OK;
}

glk_status glk_text_since(glk_epoch *self, uint32_t text, uint32_t start, glk_error *err) {
    uint32_t count = text_at(self, text)->length - text_at(self, start)->length;
    self->bytes.count = 0;
    GLK_TRY(glk_vec_reserve(&self->bytes, count, err));
    self->bytes.count = count;
    for (uint32_t i = count; i-- > 0; text = text_at(self, text)->parent) {
        ((uint8_t *)self->bytes.data)[i] = text_at(self, text)->byte;
    }
    return GLK_OK;
}
