/* correct.c -- see correct.h. */
#include "correct.h"

typedef struct pair {
    uint32_t real, bare;
} pair;

typedef struct level { /* of the walk: where it is, and which children are of interest */
    pair at;
    const glk_bytes *live; /* NULL: all */
    const glk_trie_wide *wide;
} level;

typedef struct correction {
    glk_epoch *epoch;
    const glk_trie *trie;
    uint64_t *steps;
    glk_error *err;
    glk_vec path;    /* level, by depth */
    glk_vec removed; /* u32 ids */
    glk_vec added;   /* u32 ids */
} correction;

/* ------------------------------------------------------------------ undecided tokens */

static glk_status try_token(correction *self, uint32_t config, uint32_t token, bool *out) {
    size_t count;
    const uint8_t *text = glk_vocab_text(self->epoch->terminals->vocab, token, &count);
    for (size_t i = 0; i < count && config != GLK_NONE; i++) {
        GLK_TRY(glk_moves_step(self->epoch, config, text[i], self->steps, &config, self->err));
    }
    *out = config != GLK_NONE;
    return GLK_OK;
}

/* ------------------------------------------------------------------ texts seen before */

/* Whether this byte may keep one of the texts on the way to a value seen before, or end it. */
static glk_status matters(correction *self, uint32_t config, uint8_t byte, bool *out) {
    uint32_t text = glk_config_at(self->epoch, config)->text;
    const glk_text_node *node = glk_table_at(&self->epoch->texts, text);
    *out = node->mode == GLK_TEXT_OUTSIDE;
    return *out ? GLK_OK
                : glk_alive_may_repeat(self->epoch, config, byte, out, self->err);
}

static glk_status remove_below(correction *self, const glk_trie_node *node) {
    return glk_trie_append(self->trie, node->first, self->trie->nodes[node->skip].first,
                           &self->removed, self->err);
}

/* The same where the bare twin knows nothing. */
static glk_status visit_real(correction *self, uint32_t config, const glk_trie_node *node,
                             pair *next, bool *descend) {
    *next = (pair){.bare = GLK_MAYBE};
    GLK_TRY(glk_moves_step(self->epoch, config, node->byte, self->steps, &next->real, self->err));
    *descend = next->real != GLK_NONE;
    return *descend ? GLK_OK : remove_below(self, node);
}

/* Looks at one node of the trie below `at`; *next: where to go on, if its children matter. */
static glk_status visit(correction *self, pair at, const glk_trie_node *node, pair *next,
                        bool *descend) {
    if (at.bare == GLK_MAYBE) {
        return visit_real(self, at.real, node, next, descend);
    }
    bool fresh;
    GLK_TRY(matters(self, at.real, node->byte, descend));
    if (!*descend) {
        return GLK_OK;
    }
    *descend = false;
    GLK_TRY(glk_moves_step(self->epoch, at.bare, node->byte, self->steps, &next->bare, self->err));
    if (next->bare == GLK_NONE) {
        return GLK_OK;
    }
    if (next->bare == GLK_MAYBE) { /* tokens that stay inside a terminal are not undecided */
        return visit_real(self, at.real, node, next, descend);
    }
    GLK_TRY(glk_moves_step(self->epoch, at.real, node->byte, self->steps, &next->real, self->err));
    if (next->real == GLK_NONE) {
        return remove_below(self, node);
    }
    GLK_TRY(glk_alive_is_fresh(self->epoch, next->real, &fresh, self->err));
    *descend = !fresh;
    if (glk_config_at(self->epoch, next->real)->count <
        glk_config_at(self->epoch, next->bare)->count) {
        /* Threads are gone that could only repeat a value: behind 1, when 12 was seen and nothing else
         * begins so.  What is left is fresh, but the bare twin still counts on them. */
        next->bare = GLK_MAYBE;
        *descend = true;
    }
    return GLK_OK;
}

/* Opens the level below a node.  Where the bare twin is known, its dead bytes are those of the mask. */
static glk_status open_level(correction *self, uint32_t node, pair at, level *out) {
    *out = (level){.at = at};
    if (at.bare != GLK_MAYBE) {
        const glk_moves *moves;
        GLK_TRY(glk_moves_row(self->epoch, at.bare, self->steps, &moves, self->err));
        out->live = &moves->live;
        out->wide = glk_trie_wide_at(self->trie, node);
    }
    return GLK_OK;
}

static glk_status walk(correction *self, pair start) {
    const glk_trie *trie = self->trie;
    level *path = self->path.data;
    GLK_TRY(open_level(self, 0, start, &path[0]));
    uint32_t i = glk_trie_below(0, path[0].wide, path[0].live);
    while (i < trie->count) {
        const glk_trie_node *node = &trie->nodes[i];
        level *above = &path[node->depth - 1u];
        bool descend = false;
        pair next;
        if (*self->steps == 0) {
            return glk_fail_limit(self->err, "steps", 1, 0);
        }
        (*self->steps)--;
        if (above->live == NULL || glk_bytes_has(above->live, node->byte)) {
            GLK_TRY(visit(self, above->at, node, &next, &descend));
        }
        if (descend && node->skip > i + 1) {
            GLK_TRY(open_level(self, i, next, &above[1]));
            i = glk_trie_below(i, above[1].wide, above[1].live);
        } else {
            i = glk_trie_beside(trie, i, above->wide, above->live);
        }
    }
    return GLK_OK;
}

/* ------------------------------------------------------------------ commas */

/* Whether a comma may come next that commits to something new. */
static bool may_commit(const glk_epoch *self, uint32_t id) {
    const glk_config *config = glk_config_at(self, id);
    for (uint32_t i = 0; i < config->count; i++) {
        const glk_cont *rest = glk_cont_at(self, config->threads[i].rest);
        for (uint32_t f = 0; f < rest->count; f++) {
            const glk_frame *frame = &rest->frames[f];
            if (frame->node == GLK_NONE ||
                glk_code_at(self->code, frame->node)->op != GLK_OP_CONTAINER) {
                continue;
            }
            glk_object object = glk_object_view(self->code, frame->node);
            uint32_t state = frame->param >> GLK_PHASE_BITS;
            if (glk_object_may_run_out(&object) &&
                glk_object_read(&self->objects, &object, state).seen != 0) {
                return true;
            }
        }
    }
    return false;
}

/* The one token that may end with the comma's terminal, where no bare twin looks on. */
static glk_status try_comma(correction *self, uint32_t config) {
    uint32_t after = GLK_NONE, i = 1;
    while (i < self->trie->count && self->trie->nodes[i].byte != ',') {
        i = self->trie->nodes[i].skip;
    }
    if (i >= self->trie->count) {
        return GLK_OK;
    }
    GLK_TRY(glk_moves_step(self->epoch, config, ',', self->steps, &after, self->err));
    return after == GLK_NONE ? remove_below(self, &self->trie->nodes[i]) : GLK_OK;
}

/* ------------------------------------------------------------------ the result */

static glk_status keep(glk_epoch *self, const uint32_t *items, uint32_t count, uint32_t extra,
                       uint32_t **out, glk_error *err) {
    void *memory;
    size_t bytes = ((size_t)count + extra) * sizeof(uint32_t);
    GLK_TRY(glk_epoch_take_mask(self, bytes, &memory, err));
    if (count > 0) {
        memcpy(memory, items, count * sizeof(uint32_t));
    }
    *out = memory;
    return GLK_OK;
}

/* Whether the configuration takes this id as a token, whatever its text. */
static bool is_taken_as_token(const glk_epoch *self, uint32_t id, uint32_t token) {
    const glk_config *config = glk_config_at(self, id);
    for (uint32_t i = config->count; i-- > 0;) { /* such threads are the last ones */
        uint32_t state = config->threads[i].state;
        if ((state & GLK_TOKENS_BIT) == 0) {
            return false;
        }
        const glk_instr *code = glk_code_at(self->code, state & ~GLK_TOKENS_BIT);
        const uint32_t *list = glk_code_list(self->code, code->b);
        if (glk_ids_have(list + 1, list[0], token)) {
            return true;
        }
    }
    return false;
}

/* Sorts the removed ids and leaves those that are really to go. */
static void settle_removed(correction *self, uint32_t config) {
    uint32_t *gone = GLK_VEC_U32(&self->removed), kept = 0;
    uint32_t count = glk_sort_unique(gone, self->removed.count);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_taken_as_token(self->epoch, config, gone[i])) {
            gone[kept++] = gone[i];
        }
    }
    self->removed.count = kept;
}

/* `tokens` without the removed ids, with the added ones. */
static glk_status apply(correction *self, const glk_tokens *tokens, const glk_tokens **out) {
    glk_epoch *epoch = self->epoch;
    const uint32_t *gone = GLK_VEC_U32(&self->removed);
    uint32_t gone_count = self->removed.count, hidden = 0, *plus, *minus;
    void *memory;
    for (uint32_t i = 0; i < gone_count && tokens->dense != NULL; i++) {
        hidden += glk_mask_has(tokens->dense, gone[i]);
    }
    GLK_TRY(glk_epoch_take_mask(epoch, sizeof(glk_tokens), &memory, self->err));
    GLK_TRY(keep(epoch, NULL, 0, tokens->plus_count + self->added.count, &plus, self->err));
    GLK_TRY(keep(epoch, tokens->minus, tokens->minus_count, hidden, &minus, self->err));
    glk_tokens *made = memory;
    *made = (glk_tokens){.dense = tokens->dense, .plus = plus, .minus = minus};
    for (uint32_t i = 0; i < tokens->plus_count; i++) {
        if (!glk_ids_have(gone, gone_count, tokens->plus[i])) {
            plus[made->plus_count++] = tokens->plus[i];
        }
    }
    for (uint32_t i = 0; i < self->added.count; i++) {
        plus[made->plus_count++] = GLK_VEC_U32(&self->added)[i];
    }
    made->minus_count = tokens->minus_count;
    for (uint32_t i = 0; i < gone_count && hidden > 0; i++) {
        if (glk_mask_has(tokens->dense, gone[i])) {
            minus[made->minus_count++] = gone[i];
        }
    }
    *out = made;
    return GLK_OK;
}

static glk_status correct(correction *self, uint32_t config, const glk_tokens *tokens,
                          const uint32_t *undecided, uint32_t undecided_count,
                          const glk_tokens **out) {
    bool fresh;
    for (uint32_t i = 0; i < undecided_count; i++) {
        bool good;
        GLK_TRY(try_token(self, config, undecided[i], &good));
        /* Of several ways to read it another may have allowed it, as far as a bare one can tell. */
        GLK_TRY(glk_vec_push_u32(good ? &self->added : &self->removed, undecided[i], self->err));
    }
    if (may_commit(self->epoch, config)) {
        GLK_TRY(try_comma(self, config));
    }
    GLK_TRY(glk_alive_is_fresh(self->epoch, config, &fresh, self->err));
    if (!fresh) {
        pair start = {.real = config};
        GLK_TRY(glk_vec_reserve(&self->path, self->epoch->longest + 1, self->err));
        GLK_TRY(glk_config_bare(self->epoch, config, &start.bare, self->err));
        GLK_TRY(walk(self, start));
    }
    settle_removed(self, config);
    *out = tokens;
    return self->removed.count == 0 && self->added.count == 0 ? GLK_OK : apply(self, tokens, out);
}

glk_status glk_correct_mask(glk_epoch *self, uint32_t config, const glk_tokens *tokens,
                            const uint32_t *undecided, uint32_t undecided_count, uint64_t *steps,
                            const glk_tokens **out, glk_error *err) {
    correction job = {.epoch = self, .steps = steps, .err = err};
    job.trie = &self->terminals->vocab->trie;
    glk_vec_init(&job.path, NULL, sizeof(level));
    glk_vec_init(&job.removed, NULL, sizeof(uint32_t));
    glk_vec_init(&job.added, NULL, sizeof(uint32_t));
    glk_status status = correct(&job, config, tokens, undecided, undecided_count, out);
    glk_vec_free(&job.path);
    glk_vec_free(&job.removed);
    glk_vec_free(&job.added);
    return status;
}
