/* mask.c -- see mask.h. */
#include "mask.h"

enum { LIST_AT_MOST = 6000 }; /* longer lists become bitmasks: writing one costs about that much */

/* ------------------------------------------------------------------ walks */

typedef struct walk_level {
    uint32_t config;
    const glk_moves *moves;
    const glk_trie_wide *wide;
} walk_level;

/* The rests of tokens that left a terminal with these labels. */
typedef struct task {
    const glk_trie *trie;
    uint32_t node;         /* the rests are below it */
    uint32_t labels, rest; /* `rest`: the continuation */
    uint32_t text;         /* as in a configuration */
} task;

typedef struct thread_level {
    uint32_t state;
    uint8_t byte; /* of the edge to the next level */
    const glk_row *row;
    const glk_trie_wide *wide;
} thread_level;

typedef struct walk {
    glk_epoch *epoch;
    const glk_trie *trie;
    uint64_t *steps;
    glk_error *err;
    glk_vec path;      /* walk_level by depth below the start */
    glk_vec undecided; /* u32: tokens that depend on a text */
    glk_vec tasks;     /* task; what is left of walk_exits */
    glk_vec levels;    /* thread_level by depth below a task's node */
} walk;

static glk_status target_of(const walk *self, uint32_t config, const glk_moves *moves,
                            uint8_t byte, uint32_t *out) {
    *out = atomic_load_explicit(&moves->target[glk_moves_rank(moves, byte)],
                                memory_order_acquire);
    if (GLK_LIKELY(*out != GLK_NONE)) {
        return GLK_OK;
    }
    return glk_moves_step(self->epoch, config, byte, self->steps, out, self->err);
}

/* A configuration that is none: no token goes on there, or all below depend on a text. */
static glk_status leave_out(walk *self, uint32_t target, const glk_trie_node *node) {
    uint32_t end = self->trie->nodes[node->skip].first;
    return target == GLK_MAYBE
               ? glk_trie_append(self->trie, node->first, end, &self->undecided, self->err)
               : GLK_OK;
}

static glk_status end_walk(walk *self, uint64_t visited) {
    self->epoch->walks++;
    self->epoch->visited += visited;
    if (*self->steps < visited) {
        return glk_fail_limit(self->err, "steps", visited, *self->steps);
    }
    *self->steps -= visited;
    return GLK_OK;
}

/* Appends the ids below trie node `start` that `config` lets through.  The path is kept as
 * (configuration, row, wide children) so that a sibling needs no look-up. */
static glk_status walk_nodes(walk *self, uint32_t start, uint32_t config, glk_vec *out) {
    const glk_trie *trie = self->trie;
    const glk_trie_node *nodes = trie->nodes;
    walk_level *levels = self->path.data;
    uint64_t visited = 0;
    uint32_t above = nodes[start].depth + 1u, end = nodes[start].skip;
    levels[0].config = config;
    levels[0].wide = glk_trie_wide_at(trie, start);
    GLK_TRY(glk_moves_row(self->epoch, config, self->steps, &levels[0].moves, self->err));
    uint32_t i = glk_trie_below(start, levels[0].wide, &levels[0].moves->live);
    while (i < end) {
        const glk_trie_node *node = &nodes[i];
        uint32_t next;
        walk_level *level = &levels[node->depth - above];
        const glk_bytes *live = &level->moves->live;
        visited++;
        if (!glk_bytes_has(live, node->byte)) {
            i = glk_trie_beside(trie, i, level->wide, live);
            continue;
        }
        GLK_TRY(target_of(self, level->config, level->moves, node->byte, &next));
        if (GLK_UNLIKELY(next >= GLK_DEAD)) {
            GLK_TRY(leave_out(self, next, node));
            i = glk_trie_beside(trie, i, level->wide, live);
            continue;
        }
        if (nodes[i + 1].first > node->first) {
            GLK_TRY(glk_trie_append(trie, node->first, nodes[i + 1].first, out, self->err));
        }
        if (node->skip == i + 1) {
            i = glk_trie_beside(trie, i, level->wide, live);
            continue;
        }
        level[1].config = next;
        level[1].wide = glk_trie_wide_at(trie, i);
        GLK_TRY(glk_moves_row(self->epoch, next, self->steps, &level[1].moves, self->err));
        i = glk_trie_below(i, level[1].wide, &level[1].moves->live);
    }
    return end_walk(self, visited);
}

/* Room for a path as deep as the longest token. */
static glk_status open_walk(walk *self, glk_epoch *epoch, uint64_t *steps, glk_error *err) {
    *self = (walk){.epoch = epoch, .steps = steps, .err = err};
    glk_vec_init(&self->path, NULL, sizeof(walk_level));
    glk_vec_init(&self->undecided, NULL, sizeof(uint32_t));
    glk_vec_init(&self->tasks, NULL, sizeof(task));
    glk_vec_init(&self->levels, NULL, sizeof(thread_level));
    GLK_TRY(glk_vec_reserve(&self->levels, epoch->longest + 1, err));
    return glk_vec_reserve(&self->path, epoch->longest + 1, err);
}

static void close_walk(walk *self) {
    glk_vec_free(&self->path);
    glk_vec_free(&self->undecided);
    glk_vec_free(&self->tasks);
    glk_vec_free(&self->levels);
}

/* ------------------------------------------------------------------ threads */

static glk_status span_of(glk_epoch *self, uint32_t state, uint64_t *steps, const glk_span **out,
                          glk_error *err) {
    *out = glk_state_span(self->terminals, state);
    if (*out != NULL) {
        return GLK_OK;
    }
    (void)pthread_mutex_lock(&self->terminals->lock);
    glk_status status = glk_span_build(self->terminals, state, steps, out, err);
    (void)pthread_mutex_unlock(&self->terminals->lock);
    return status;
}

static glk_status add_ids(glk_vec *ids, const uint32_t *items, uint32_t count, glk_error *err) {
    GLK_TRY(glk_vec_reserve(ids, count, err));
    if (count > 0) {
        memcpy(GLK_VEC_U32(ids) + ids->count, items, count * sizeof(uint32_t));
        ids->count += count;
    }
    return GLK_OK;
}

/* ------------------------------------------------------------------ what follows a terminal */

enum { TASKS_AT_MOST = 64 }; /* more: the grammar is ambiguous here, and sets of threads pay */

static glk_status push_exits(walk *job, const glk_span *span, uint32_t rest) {
    task next = {.rest = rest};
    next.text = glk_cont_at(job->epoch, rest)->captures ? GLK_TEXT_BARE : GLK_TEXT_NONE;
    for (uint32_t i = 0; i < span->exit_count; i++) {
        next.trie = &span->exits[i].trie;
        next.labels = span->exits[i].labels;
        GLK_TRY(glk_vec_push(&job->tasks, &next, job->err));
    }
    for (uint32_t i = 0; i < span->root_count; i++) {
        next.trie = &job->epoch->terminals->vocab->trie;
        next.node = span->roots[i].node;
        next.labels = span->roots[i].labels;
        GLK_TRY(glk_vec_push(&job->tasks, &next, job->err));
    }
    return GLK_OK;
}

/* The text of an item or key that matters, if the continuation is inside one, after the bytes of so many
 * levels below the task. */
static glk_status text_after(walk *job, uint32_t rest, uint32_t text, uint32_t depth,
                             uint32_t *out) {
    const thread_level *levels = job->levels.data;
    *out = GLK_TEXT_NONE;
    if (glk_cont_at(job->epoch, rest)->captures) {
        *out = text;
        for (uint32_t i = 0; i < depth; i++) {
            GLK_TRY(glk_text_extend(job->epoch, *out, levels[i].byte, out, job->err));
        }
    }
    return GLK_OK;
}

/* The terminal may end at node `at`: what comes then is a task of its own.  *stays = whether the tokens
 * that end there may come: an item or key that ends with them may be one that was seen. */
static glk_status push_end(walk *job, const task *end, bool goes_on, bool *stays) {
    const glk_trie_node *nodes = end->trie->nodes;
    uint32_t own = nodes[end->node].first, below = nodes[end->node + 1].first, config;
    *stays = true;
    if ((end->text != GLK_TEXT_NONE || job->epoch->code->scarce) && below > own) {
        GLK_TRY(glk_moves_closure(job->epoch, end->rest, end->labels, end->text, job->steps,
                                  &config, job->err));
        *stays = config < GLK_DEAD || (config != GLK_MAYBE && goes_on);
        if (config == GLK_MAYBE) {
            GLK_TRY(glk_trie_append(end->trie, own, below, &job->undecided, job->err));
        }
    }
    return nodes[end->node].skip == end->node + 1 ? GLK_OK
                                                  : glk_vec_push(&job->tasks, end, job->err);
}

/* Appends the rests that stay inside the thread's terminal; where they leave it is a further task. */
static glk_status follow_thread(walk *job, const task *now, const glk_thread *thread,
                                uint32_t text, glk_vec *out) {
    const glk_trie *trie = now->trie;
    const glk_trie_node *nodes = trie->nodes;
    const glk_terminals *terminals = job->epoch->terminals;
    thread_level *levels = job->levels.data;
    uint32_t above = nodes[now->node].depth + 1u, end = nodes[now->node].skip;
    uint64_t visited = 0;
    levels[0].state = thread->state;
    levels[0].wide = glk_trie_wide_at(trie, now->node);
    GLK_TRY(glk_parser_row(job->epoch, thread->state, job->steps, &levels[0].row, job->err));
    uint32_t i = glk_trie_below(now->node, levels[0].wide, &levels[0].row->live);
    while (i < end) {
        const glk_trie_node *node = &nodes[i];
        thread_level *level = &levels[node->depth - above];
        const glk_bytes *live = &level->row->live;
        visited++;
        if (!glk_bytes_has(live, node->byte)) {
            i = glk_trie_beside(trie, i, level->wide, live);
            continue;
        }
        if (glk_row_takes(level->row, node)) {
            GLK_TRY(glk_trie_append(trie, node->first, nodes[node->skip].first, out, job->err));
            i = glk_trie_beside(trie, i, level->wide, live);
            continue;
        }
        task next = {.trie = trie, .node = i, .rest = thread->rest};
        uint32_t target;
        bool stays = true;
        level->byte = node->byte;
        GLK_TRY(glk_parser_target(job->epoch, level->state, node->byte, job->steps, &target,
                                  job->err));
        next.labels = glk_state_at(terminals, target)->labels;
        if (next.labels != GLK_LABELS_NONE) {
            GLK_TRY(text_after(job, thread->rest, text, node->depth - above + 1, &next.text));
            GLK_TRY(push_end(job, &next, glk_state_goes_on(terminals, target), &stays));
        }
        if (stays) {
            GLK_TRY(glk_trie_append(trie, node->first, nodes[i + 1].first, out, job->err));
        }
        if (node->skip == i + 1) {
            i = glk_trie_beside(trie, i, level->wide, live);
            continue;
        }
        level[1].state = target;
        level[1].wide = glk_trie_wide_at(trie, i);
        GLK_TRY(glk_parser_row(job->epoch, target, job->steps, &level[1].row, job->err));
        if (glk_row_takes_below(level[1].row, node)) {
            GLK_TRY(glk_trie_append(trie, nodes[i + 1].first, nodes[node->skip].first, out,
                                    job->err));
            i = glk_trie_beside(trie, i, level->wide, live);
            continue;
        }
        i = glk_trie_below(i, level[1].wide, &level[1].row->live);
    }
    return end_walk(job, visited);
}

/* What the rests do in each thread by itself: without the configurations on the way, which would be new
 * for every continuation. */
static glk_status run_task(walk *job, const task *now, bool by_thread, glk_vec *out) {
    uint32_t id;
    GLK_TRY(glk_moves_closure(job->epoch, now->rest, now->labels, now->text, job->steps, &id,
                              job->err));
    job->trie = now->trie;
    if (id >= GLK_DEAD) {
        return leave_out(job, id, &now->trie->nodes[now->node]);
    }
    const glk_config *config = glk_config_at(job->epoch, id);
    if (!by_thread || glk_threads_risk(job->epoch, config->threads, config->count)) {
        return walk_nodes(job, now->node, id, out);
    }
    for (uint32_t i = 0; i < config->count; i++) {
        if ((config->threads[i].state & GLK_TOKENS_BIT) == 0) {
            GLK_TRY(follow_thread(job, now, &config->threads[i], config->text, out));
        }
    }
    return GLK_OK;
}

/* Appends the tokens that leave the terminal and may go on as the continuation allows: thread by
 * thread, or, where that takes too long, configuration by configuration. */
static glk_status walk_exits(walk *job, const glk_span *span, uint32_t rest, glk_vec *out) {
    uint32_t before = out->count, undecided = job->undecided.count;
    for (int by_thread = 1; by_thread >= 0; by_thread--) {
        uint32_t done = 0;
        job->tasks.count = 0;
        GLK_TRY(push_exits(job, span, rest));
        while (job->tasks.count > 0 && (by_thread == 0 || done < TASKS_AT_MOST)) {
            task now = ((const task *)job->tasks.data)[--job->tasks.count];
            GLK_TRY(run_task(job, &now, by_thread != 0, out));
            done++;
        }
        if (job->tasks.count == 0) {
            return GLK_OK;
        }
        out->count = before;
        job->undecided.count = undecided;
    }
    return GLK_OK;
}

static glk_status keep_list(glk_epoch *self, const glk_vec *ids, const uint32_t **out,
                            glk_error *err) {
    void *memory;
    size_t bytes = ids->count * sizeof(uint32_t);
    GLK_TRY(glk_epoch_take_mask(self, bytes, &memory, err));
    if (ids->count > 0) {
        memcpy(memory, ids->data, bytes);
    }
    *out = memory;
    return GLK_OK;
}

/* Replaces long lists by a bitmask of their own. */
static glk_status densify(glk_epoch *self, glk_tokens *tokens, glk_error *err) {
    if (tokens->plus_count + tokens->minus_count <= LIST_AT_MOST) {
        return GLK_OK;
    }
    uint32_t size = self->terminals->vocab->size;
    void *memory;
    GLK_TRY(glk_epoch_take_mask(self, glk_mask_words(size) * sizeof(uint32_t), &memory, err));
    glk_mask_write(tokens, size, memory, glk_mask_words(size));
    *tokens = (glk_tokens){.dense = memory};
    return GLK_OK;
}

/* What the base's mask says of all tokens but the moved ones: those come out of its lists and out
 * of its bitmask. */
static glk_status start_from_base(glk_epoch *self, const glk_span *span, const glk_tokens *base,
                                  glk_tokens *out, glk_error *err) {
    void *memory;
    uint32_t count = base->minus_count + span->moved_count;
    GLK_TRY(glk_vec_reserve(&self->ids, base->plus_count, err));
    for (uint32_t i = 0; i < base->plus_count; i++) {
        if (!glk_ids_have(span->moved, span->moved_count, base->plus[i])) {
            GLK_VEC_U32(&self->ids)[self->ids.count++] = base->plus[i];
        }
    }
    *out = (glk_tokens){.dense = base->dense};
    if (base->dense == NULL) {
        return GLK_OK;
    }
    GLK_TRY(glk_epoch_take_mask(self, count * sizeof(uint32_t), &memory, err));
    uint32_t *minus = memory;
    if (base->minus_count > 0) {
        memcpy(minus, base->minus, base->minus_count * sizeof *minus);
    }
    if (span->moved_count > 0) {
        memcpy(minus + base->minus_count, span->moved, span->moved_count * sizeof *minus);
    }
    out->minus = minus;
    out->minus_count = count;
    return GLK_OK;
}

static glk_status text_mask(walk *job, const glk_thread *thread, const glk_span *span,
                            const glk_tokens *base, glk_tokens *out) {
    glk_epoch *self = job->epoch;
    glk_vec *ids = &self->ids;
    ids->count = 0;
    if (base != NULL) {
        GLK_TRY(start_from_base(self, span, base, out, job->err));
        GLK_TRY(add_ids(ids, span->kept, span->kept_count, job->err));
    } else {
        *out = span->interior;
        GLK_TRY(add_ids(ids, out->plus, out->plus_count, job->err));
    }
    GLK_TRY(walk_exits(job, span, thread->rest, ids));
    out->plus_count = ids->count;
    GLK_TRY(keep_list(self, ids, &out->plus, job->err));
    return densify(self, out, job->err);
}

static glk_status thread_mask(walk *job, const glk_thread *thread, const glk_thread_mask **out);

/* What is undecided from the base and not moved is so from here. */
static glk_status inherit_undecided(walk *job, const glk_span *span, const glk_thread_mask *base) {
    for (uint32_t i = 0; i < base->undecided_count; i++) {
        if (!glk_ids_have(span->moved, span->moved_count, base->undecided[i])) {
            GLK_TRY(glk_vec_push_u32(&job->undecided, base->undecided[i], job->err));
        }
    }
    return GLK_OK;
}

/* The tokens of a thread; appends the undecided ones to those of the job. */
static glk_status thread_mask_now(walk *job, const glk_thread *thread, glk_tokens *out) {
    glk_epoch *self = job->epoch;
    if ((thread->state & GLK_TOKENS_BIT) != 0) {
        const glk_instr *code = glk_code_at(self->code, thread->state & ~GLK_TOKENS_BIT);
        const uint32_t *list = glk_code_list(self->code, code->b);
        *out = (glk_tokens){.plus = list + 1, .plus_count = list[0]};
        return GLK_OK;
    }
    const glk_span *span;
    const glk_tokens *tokens = NULL;
    GLK_TRY(span_of(self, thread->state, job->steps, &span, job->err));
    if (span->base != GLK_NONE) {
        /* Bases get simpler each time, so this ends after a few levels. */
        glk_thread simpler = {.state = span->base, .rest = thread->rest};
        const glk_thread_mask *base;
        GLK_TRY(thread_mask(job, &simpler, &base));
        GLK_TRY(inherit_undecided(job, span, base));
        tokens = &base->tokens;
        if (span->moved_count == 0) {
            *out = *tokens;
            return GLK_OK;
        }
    }
    return text_mask(job, thread, span, tokens, out);
}

static glk_status thread_mask(walk *job, const glk_thread *thread, const glk_thread_mask **out) {
    glk_epoch *self = job->epoch;
    uint32_t hash = (uint32_t)glk_mix(thread->state, thread->rest), id = 0;
    glk_probe probe = glk_probe_start(&self->mask_index, hash);
    while (glk_probe_next(&self->mask_index, &probe, &id)) {
        const glk_thread_mask *known = glk_table_at(&self->masks, id);
        if (known->thread.state == thread->state && known->thread.rest == thread->rest) {
            *out = known;
            return GLK_OK;
        }
    }
    glk_tokens tokens;
    uint32_t base = job->undecided.count;
    GLK_TRY(thread_mask_now(job, thread, &tokens));
    glk_vec undecided = {.data = GLK_VEC_U32(&job->undecided) + base,
                         .count = job->undecided.count - base};
    const uint32_t *kept = NULL;
    if (undecided.count > 0) {
        GLK_TRY(keep_list(self, &undecided, &kept, job->err));
    }
    job->undecided.count = base;
    GLK_TRY(glk_index_reserve(&self->mask_index, job->err));
    GLK_TRY(glk_table_add(&self->masks, &id, job->err));
    glk_thread_mask *made = glk_table_at(&self->masks, id);
    *made = (glk_thread_mask){.thread = *thread,
                              .tokens = tokens,
                              .undecided = kept,
                              .undecided_count = undecided.count};
    (void)glk_index_add(&self->mask_index, hash, id, job->err);
    *out = made;
    return GLK_OK;
}

/* ------------------------------------------------------------------ configurations */

/* Adds a set to a bitmask, bit by bit where its lists speak. */
static glk_status add_dense(const glk_tokens *tokens, size_t words, uint32_t *mask,
                            glk_vec *scratch, glk_error *err) {
    scratch->count = 0;
    for (uint32_t i = 0; i < tokens->minus_count; i++) {
        if (!glk_mask_has(mask, tokens->minus[i])) {
            GLK_TRY(glk_vec_push_u32(scratch, tokens->minus[i], err));
        }
    }
    for (size_t w = 0; tokens->dense != NULL && w < words; w++) {
        mask[w] |= tokens->dense[w];
    }
    for (uint32_t i = 0; i < scratch->count; i++) {
        glk_mask_clear(mask, GLK_VEC_U32(scratch)[i]);
    }
    for (uint32_t i = 0; i < tokens->plus_count; i++) {
        glk_mask_set(mask, tokens->plus[i]);
    }
    return GLK_OK;
}

static glk_status unite_dense(glk_epoch *self, const glk_tokens *const *parts, uint32_t count,
                              glk_tokens *out, glk_error *err) {
    size_t words = glk_mask_words(self->terminals->vocab->size);
    void *memory;
    GLK_TRY(glk_epoch_take_mask(self, words * sizeof(uint32_t), &memory, err));
    memset(memory, 0, words * sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++) {
        GLK_TRY(add_dense(parts[i], words, memory, &self->ids, err));
    }
    *out = (glk_tokens){.dense = memory};
    return GLK_OK;
}

/* At most one part has a bitmask: its own, and everybody's lists put in. */
static glk_status unite_lists(glk_epoch *self, const glk_tokens *const *parts, uint32_t count,
                              const glk_tokens *dense, glk_tokens *out, glk_error *err) {
    self->ids.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        GLK_TRY(glk_vec_reserve(&self->ids, parts[i]->plus_count, err));
        if (parts[i]->plus_count > 0) {
            memcpy(GLK_VEC_U32(&self->ids) + self->ids.count, parts[i]->plus,
                   parts[i]->plus_count * sizeof(uint32_t));
        }
        self->ids.count += parts[i]->plus_count;
    }
    *out = (glk_tokens){0};
    if (dense != NULL) {
        out->dense = dense->dense;
        out->minus = dense->minus;
        out->minus_count = dense->minus_count;
    }
    out->plus_count = self->ids.count;
    GLK_TRY(keep_list(self, &self->ids, &out->plus, err));
    return densify(self, out, err);
}

static glk_status unite_parts(glk_epoch *self, const glk_tokens *const *parts, uint32_t count,
                              glk_tokens *out, glk_error *err) {
    const glk_tokens *dense = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i]->dense == NULL) {
            continue;
        }
        if (dense != NULL) {
            return unite_dense(self, parts, count, out, err);
        }
        dense = parts[i];
    }
    return unite_lists(self, parts, count, dense, out, err);
}

/* The union over all threads; the undecided tokens are left in the job. */
static glk_status unite_threads(walk *job, const glk_config *config, const glk_tokens **parts,
                                glk_tokens *out) {
    for (uint32_t i = 0; i < config->count; i++) {
        const glk_thread_mask *mask;
        GLK_TRY(thread_mask(job, &config->threads[i], &mask));
        GLK_TRY(add_ids(&job->undecided, mask->undecided, mask->undecided_count, job->err));
        parts[i] = &mask->tokens;
    }
    job->undecided.count =
        glk_sort_unique(GLK_VEC_U32(&job->undecided), job->undecided.count);
    return unite_parts(job->epoch, parts, config->count, out, job->err);
}

static glk_status config_mask(walk *job, glk_config *config, const glk_tokens **out) {
    glk_epoch *self = job->epoch;
    if (config->count == 1) {
        const glk_thread_mask *mask;
        GLK_TRY(thread_mask(job, &config->threads[0], &mask));
        config->undecided = mask->undecided;
        config->undecided_count = mask->undecided_count;
        *out = &mask->tokens;
        return GLK_OK;
    }
    void *memory, *parts;
    size_t bytes = (config->count + 1) * sizeof(const glk_tokens *);
    GLK_TRY(glk_epoch_take_mask(self, sizeof(glk_tokens), &memory, job->err));
    GLK_TRY(glk_alloc(NULL, bytes, &parts, job->err));
    job->undecided.count = 0;
    glk_status status = unite_threads(job, config, parts, memory);
    glk_release(NULL, parts, bytes);
    GLK_TRY(status);
    if (job->undecided.count > 0) {
        GLK_TRY(keep_list(self, &job->undecided, &config->undecided, job->err));
        config->undecided_count = job->undecided.count;
    }
    *out = memory;
    return GLK_OK;
}

/* The mask of a configuration without texts and seen values. */
static glk_status build_bare(glk_epoch *self, uint32_t id, uint64_t *steps, const glk_tokens **out,
                             glk_error *err) {
    glk_config *config = glk_config_at(self, id);
    *out = glk_config_mask(self, id);
    if (*out != NULL) {
        return GLK_OK;
    }
    walk job;
    glk_status status = open_walk(&job, self, steps, err);
    if (status == GLK_OK) {
        status = config_mask(&job, config, out);
    }
    close_walk(&job);
    GLK_TRY(status);
    self->mask_count++;
    atomic_store_explicit(&config->mask, *out, memory_order_release);
    return GLK_OK;
}

/* The mask of a configuration inside a tight container: by the general walk. */
static glk_status build_tight(glk_epoch *self, uint32_t id, uint64_t *steps,
                              const glk_tokens **out, glk_error *err) {
    size_t words = glk_mask_words(self->terminals->vocab->size);
    void *dense, *memory;
    GLK_TRY(glk_epoch_take_mask(self, words * sizeof(uint32_t), &dense, err));
    GLK_TRY(glk_epoch_take_mask(self, sizeof(glk_tokens), &memory, err));
    memset(dense, 0, words * sizeof(uint32_t));
    GLK_TRY(glk_mask_walk(self, id, steps, dense, err));
    *(glk_tokens *)memory = (glk_tokens){.dense = dense};
    *out = memory;
    self->mask_count++;
    return GLK_OK;
}

static glk_status build(glk_epoch *self, uint32_t id, uint64_t *steps, const glk_tokens **out,
                        glk_error *err) {
    uint32_t twin = id;
    bool tight = false;
    if (self->code->marked) {
        GLK_TRY(glk_alive_is_tight(self, id, &tight, err));
        GLK_TRY(glk_config_bare(self, id, &twin, err));
    }
    if (tight) {
        return build_tight(self, id, steps, out, err);
    }
    uint32_t far = glk_config_at(self, twin)->far;
    GLK_TRY(build_bare(self, far, steps, out, err));
    const glk_config *bare = glk_config_at(self, far);
    return twin == id ? GLK_OK
                      : glk_correct_mask(self, id, *out, bare->undecided, bare->undecided_count,
                                         steps, out, err);
}

glk_status glk_mask_build(glk_epoch *self, uint32_t id, uint64_t *steps, const glk_tokens **out,
                          glk_error *err) {
    *out = glk_config_mask(self, id);
    if (*out != NULL) {
        return GLK_OK;
    }
    /* What is left for an item to become may depend on every count. */
    bool counts = glk_config_at(self, id)->text != GLK_TEXT_NONE;
    uint32_t far = counts ? id : glk_config_at(self, id)->far;
    *out = far != id ? glk_config_mask(self, far) : NULL;
    if (*out == NULL) {
        GLK_TRY(build(self, far, steps, out, err));
        atomic_store_explicit(&glk_config_at(self, far)->mask, *out, memory_order_release);
    }
    atomic_store_explicit(&glk_config_at(self, id)->mask, *out, memory_order_release);
    return GLK_OK;
}

void glk_mask_write(const glk_tokens *tokens, uint32_t size, uint32_t *mask, size_t words) {
    size_t used = glk_mask_words(size);
    if (tokens->dense != NULL) {
        memcpy(mask, tokens->dense, used * sizeof *mask);
        memset(mask + used, 0, (words - used) * sizeof *mask);
    } else {
        memset(mask, 0, words * sizeof *mask);
    }
    for (uint32_t i = 0; i < tokens->minus_count; i++) {
        glk_mask_clear(mask, tokens->minus[i]);
    }
    for (uint32_t i = 0; i < tokens->plus_count; i++) {
        glk_mask_set(mask, tokens->plus[i]);
    }
}

glk_status glk_mask_walk(glk_epoch *self, uint32_t id, uint64_t *steps, uint32_t *mask,
                         glk_error *err) {
    walk job;
    glk_vec ids;
    glk_vec_init(&ids, NULL, sizeof(uint32_t));
    glk_status status = open_walk(&job, self, steps, err);
    if (status == GLK_OK) {
        job.trie = &self->terminals->vocab->trie;
        status = walk_nodes(&job, 0, id, &ids);
    }
    for (uint32_t i = 0; status == GLK_OK && i < ids.count; i++) {
        glk_mask_set(mask, GLK_VEC_U32(&ids)[i]);
    }
    const glk_config *config = glk_config_at(self, id);
    for (uint32_t t = 0; status == GLK_OK && t < config->count; t++) {
        uint32_t state = config->threads[t].state;
        if ((state & GLK_TOKENS_BIT) != 0) {
            const uint32_t *list =
                glk_code_list(self->code, glk_code_at(self->code, state & ~GLK_TOKENS_BIT)->b);
            for (uint32_t i = 0; i < list[0]; i++) {
                glk_mask_set(mask, list[1 + i]);
            }
        }
    }
    glk_vec_free(&ids);
    close_walk(&job);
    return status;
}
