/* matcher.c -- see matcher.h.
 *
 * Every operation that may grow the epoch's tables is an `attempt`: it runs under the epoch's lock,
 * and where the epoch is full the matcher moves to the next one and the attempt runs once more. */
#include "matcher.h"

enum { HITS_KEPT = 4096 };

typedef struct attempt attempt;
struct attempt {
    glk_status (*run)(glk_matcher *self, attempt *job, glk_error *err);
    uint64_t steps;           /* work that is left */
    uint32_t config;          /* in: where to start; out: where it led, or GLK_NONE */
    uint32_t token;           /* a token, or GLK_NONE for text */
    const uint8_t *bytes;     /* its text */
    size_t count;
    const glk_tokens *tokens; /* out: a mask */
    uint32_t *mask;           /* out: a mask by walk */
    uint32_t live;            /* out: how many bytes may come next; 2 for more */
    uint8_t first;            /* out: the first of them */
};

/* ------------------------------------------------------------------ life */

static void init_history(glk_matcher *self, glk_program *program, glk_epoch *epoch) {
    glk_program_retain(program);
    self->program = program;
    self->epoch = epoch;
    glk_account_init(&self->account, "matcher_bytes", 0);
    glk_vec_init(&self->configs, &self->account, sizeof(uint32_t));
    glk_vec_init(&self->steps, &self->account, sizeof(glk_step));
    glk_vec_init(&self->texts, &self->account, 1);
}

glk_status glk_matcher_new(glk_program *program, glk_matcher **out, glk_error *err) {
    void *memory;
    glk_epoch *epoch;
    GLK_TRY(glk_alloc(NULL, sizeof(glk_matcher), &memory, err));
    glk_status status = glk_program_epoch(program, NULL, &epoch, err);
    if (status != GLK_OK) {
        glk_release(NULL, memory, sizeof(glk_matcher));
        return status;
    }
    glk_matcher *self = memory;
    init_history(self, program, epoch);
    status = glk_vec_push_u32(&self->configs, epoch->start, err);
    if (status != GLK_OK) {
        glk_matcher_release(self);
        return status;
    }
    *out = self;
    return GLK_OK;
}

/* Adds the hits to the epoch's: seldom, since other threads add to the same word. */
static void report_hits(glk_matcher *self) {
    atomic_fetch_add_explicit(&self->epoch->hits, self->hits, memory_order_relaxed);
    self->hits = 0;
}

void glk_matcher_release(glk_matcher *self) {
    if (self == NULL) {
        return;
    }
    report_hits(self);
    glk_vec_free(&self->configs);
    glk_vec_free(&self->steps);
    glk_vec_free(&self->texts);
    glk_epoch_release(self->epoch);
    glk_program_release(self->program);
    glk_release(NULL, self, sizeof *self);
}

static glk_status copy_vec(const glk_vec *from, glk_vec *to, glk_error *err) {
    GLK_TRY(glk_vec_reserve(to, from->count, err));
    if (from->count > 0) {
        memcpy(to->data, from->data, (size_t)from->count * from->item_bytes);
    }
    to->count = from->count;
    return GLK_OK;
}

glk_status glk_matcher_fork(const glk_matcher *self, glk_matcher **out, glk_error *err) {
    void *memory;
    GLK_TRY(glk_alloc(NULL, sizeof(glk_matcher), &memory, err));
    glk_matcher *twin = memory;
    glk_epoch_retain(self->epoch);
    init_history(twin, self->program, self->epoch);
    twin->ended = self->ended;
    glk_status status = copy_vec(&self->configs, &twin->configs, err);
    if (status == GLK_OK) {
        status = copy_vec(&self->steps, &twin->steps, err);
    }
    if (status == GLK_OK) {
        status = copy_vec(&self->texts, &twin->texts, err);
    }
    if (status != GLK_OK) {
        glk_matcher_release(twin);
        return status;
    }
    *out = twin;
    return GLK_OK;
}

static uint32_t current(const glk_matcher *self) {
    return GLK_VEC_U32(&self->configs)[self->configs.count - 1];
}

/* ------------------------------------------------------------------ attempts */

static glk_status walk_text(glk_epoch *epoch, attempt *job, uint32_t *config, glk_error *err) {
    for (size_t i = 0; i < job->count && *config != GLK_NONE; i++) {
        GLK_TRY(glk_moves_step(epoch, *config, job->bytes[i], &job->steps, config, err));
    }
    return GLK_OK;
}

/* Takes a token by its text, by its id, or by both. */
static glk_status take(glk_epoch *epoch, attempt *job, glk_error *err) {
    uint32_t as_text = job->token == GLK_NONE || job->count > 0 ? job->config : GLK_NONE;
    uint32_t as_token = GLK_NONE;
    GLK_TRY(walk_text(epoch, job, &as_text, err));
    if (job->token != GLK_NONE) {
        GLK_TRY(glk_moves_take_token(epoch, job->config, job->token, &job->steps, &as_token, err));
    }
    return glk_parser_unite(epoch, as_text, as_token, &job->steps, &job->config, err);
}

static glk_status run_take(glk_matcher *self, attempt *job, glk_error *err) {
    return take(self->epoch, job, err);
}

static glk_status run_mask(glk_matcher *self, attempt *job, glk_error *err) {
    return glk_mask_build(self->epoch, job->config, &job->steps, &job->tokens, err);
}

static glk_status run_walk(glk_matcher *self, attempt *job, glk_error *err) {
    return glk_mask_walk(self->epoch, job->config, &job->steps, job->mask, err);
}

static glk_status run_count(glk_matcher *self, attempt *job, glk_error *err) {
    return glk_moves_count(self->epoch, job->config, &job->steps, &job->live, &job->first, err);
}

/* The text of a token as the trie has it: none for end ids and for unreachable bytes. */
static void set_token(const glk_matcher *self, uint32_t token, attempt *job) {
    const glk_vocab *vocab = self->program->vocab;
    job->token = token;
    job->count = 0;
    if (!glk_vocab_is_end(vocab, token)) {
        job->bytes = glk_vocab_text(vocab, token, &job->count);
    }
}

static glk_status replay_step(const glk_matcher *self, glk_epoch *epoch, const glk_step *step,
                              uint32_t *config, glk_error *err) {
    attempt job = {.steps = self->program->limits.steps, .config = *config, .token = GLK_NONE};
    if (step->token == GLK_NONE) {
        job.bytes = (const uint8_t *)self->texts.data + step->offset;
        job.count = step->length;
    } else {
        set_token(self, step->token, &job);
    }
    GLK_TRY(take(epoch, &job, err));
    *config = job.config;
    return GLK_OK;
}

static glk_status replay(const glk_matcher *self, glk_epoch *epoch, glk_vec *configs,
                         glk_error *err) {
    uint32_t config = epoch->start;
    uint32_t count = self->steps.count - (self->ended ? 1 : 0);
    GLK_TRY(glk_vec_reserve(configs, self->steps.count + 1, err));
    GLK_TRY(glk_vec_push_u32(configs, config, err));
    for (uint32_t i = 0; i < count; i++) {
        const glk_step *step = (const glk_step *)self->steps.data + i;
        GLK_TRY(replay_step(self, epoch, step, &config, err));
        assert(config != GLK_NONE);
        GLK_TRY(glk_vec_push_u32(configs, config, err));
    }
    return self->ended ? glk_vec_push_u32(configs, config, err) : GLK_OK;
}

/* Moves to the epoch after *left, the last one that was too full; *left = that epoch. */
static glk_status migrate(glk_matcher *self, const glk_epoch **left, bool alone, glk_error *err) {
    glk_epoch *next;
    glk_vec configs;
    GLK_TRY(alone ? glk_program_own_epoch(self->program, &next, err)
                  : glk_program_epoch(self->program, *left, &next, err));
    *left = next; /* only compared */
    glk_vec_init(&configs, &self->account, sizeof(uint32_t));
    (void)pthread_mutex_lock(&next->lock);
    glk_status status = replay(self, next, &configs, err);
    (void)pthread_mutex_unlock(&next->lock);
    if (status != GLK_OK) {
        glk_vec_free(&configs);
        glk_epoch_release(next);
        return status;
    }
    report_hits(self);
    glk_vec_free(&self->configs);
    self->configs = configs;
    glk_epoch_release(self->epoch);
    self->epoch = next;
    return GLK_OK;
}

static glk_status run_locked(glk_matcher *self, attempt *job, glk_error *err) {
    (void)pthread_mutex_lock(&self->epoch->lock);
    glk_status status = job->run(self, job, err);
    (void)pthread_mutex_unlock(&self->epoch->lock);
    return status;
}

static bool is_full(glk_status status, const glk_error *err) {
    return status == GLK_ERR_LIMIT && strcmp(err->budget, "program_bytes") == 0;
}

/* The next epoch may be one that others have filled already, or fill meanwhile, so the last one that
 * is tried belongs to this sequence alone: what fails there does not fit by itself. */
enum { EPOCHS_TRIED = 3 };

/* Runs an attempt on the current configuration. */
static glk_status run(glk_matcher *self, attempt *job, glk_error *err) {
    glk_error local = {0};
    glk_error *detail = err != NULL ? err : &local;
    attempt fresh = *job;
    job->steps = self->program->limits.steps;
    job->config = current(self);
    glk_status status = run_locked(self, job, detail);
    const glk_epoch *left = self->epoch;
    for (int tries = 0; is_full(status, detail) && tries < EPOCHS_TRIED; tries++) {
        status = migrate(self, &left, tries + 1 == EPOCHS_TRIED, detail);
        if (status == GLK_OK) {
            *job = fresh;
            job->steps = self->program->limits.steps;
            job->config = current(self);
            status = run_locked(self, job, detail);
        }
    }
    return status;
}

/* ------------------------------------------------------------------ accepting */

/* Follows published rows only; GLK_NONE in *out with true: a dead end; false: not all is known. */
static bool follow_published(const glk_epoch *epoch, uint32_t config, const uint8_t *bytes,
                             size_t count, uint32_t *out) {
    for (size_t i = 0; i < count; i++) {
        const glk_moves *moves = glk_config_moves(epoch, config);
        if (moves == NULL) {
            return false;
        }
        if (!glk_bytes_has(&moves->live, bytes[i])) {
            *out = GLK_NONE;
            return true;
        }
        config = atomic_load_explicit(&moves->target[glk_moves_rank(moves, bytes[i])],
                                      memory_order_acquire);
        if (config == GLK_NONE) {
            return false;
        }
        if (config == GLK_DEAD) {
            *out = GLK_NONE;
            return true;
        }
    }
    *out = config;
    return true;
}

static bool wants_tokens(const glk_epoch *epoch, uint32_t config) {
    const glk_config *c = glk_config_at(epoch, config);
    return c->count > 0 && (c->threads[c->count - 1].state & GLK_TOKENS_BIT) != 0;
}

/* Where a token or text leads from the current configuration, or GLK_NONE. */
static glk_status target(glk_matcher *self, attempt *job, uint32_t *out, glk_error *err) {
    uint32_t config = current(self);
    if (job->token == GLK_NONE || !wants_tokens(self->epoch, config)) {
        if (job->token != GLK_NONE && job->count == 0) {
            *out = GLK_NONE;
            return GLK_OK;
        }
        if (follow_published(self->epoch, config, job->bytes, job->count, out)) {
            return GLK_OK;
        }
    }
    job->run = run_take;
    GLK_TRY(run(self, job, err));
    *out = job->config;
    return GLK_OK;
}

static glk_status record(glk_matcher *self, uint32_t config, glk_step step, const uint8_t *text,
                         glk_error *err) {
    GLK_TRY(glk_vec_reserve(&self->configs, 1, err));
    GLK_TRY(glk_vec_reserve(&self->steps, 1, err));
    if (step.token == GLK_NONE && step.length > 0) {
        GLK_TRY(glk_vec_reserve(&self->texts, step.length, err));
        memcpy((uint8_t *)self->texts.data + self->texts.count, text, step.length);
        self->texts.count += step.length;
    }
    GLK_TRY(glk_vec_push(&self->steps, &step, err));
    return glk_vec_push_u32(&self->configs, config, err);
}

glk_status glk_matcher_accept_token(glk_matcher *self, uint32_t token, bool *out, glk_error *err) {
    const glk_vocab *vocab = self->program->vocab;
    if (self->ended || token >= vocab->size) {
        *out = false;
        return GLK_OK;
    }
    attempt job = {0};
    uint32_t config;
    set_token(self, token, &job);
    GLK_TRY(target(self, &job, &config, err));
    bool ends = false;
    if (config == GLK_NONE && glk_vocab_is_end(vocab, token)) {
        config = current(self);
        ends = glk_config_at(self->epoch, config)->can_end;
        config = ends ? config : GLK_NONE;
    }
    if (config == GLK_NONE) {
        *out = false;
        return GLK_OK;
    }
    GLK_TRY(record(self, config, (glk_step){.token = token}, NULL, err));
    self->ended = ends;
    *out = true;
    return GLK_OK;
}

glk_status glk_matcher_accept_bytes(glk_matcher *self, const uint8_t *bytes, size_t count,
                                    bool *out, glk_error *err) {
    if (count > UINT32_MAX / 2) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "more than 2 GiB of text in one step");
    }
    if (self->ended) {
        *out = false;
        return GLK_OK;
    }
    attempt job = {.token = GLK_NONE, .bytes = bytes, .count = count};
    uint32_t config;
    GLK_TRY(target(self, &job, &config, err));
    *out = config != GLK_NONE;
    if (*out) {
        glk_step step = {
            .token = GLK_NONE, .length = (uint32_t)count, .offset = self->texts.count};
        return record(self, config, step, bytes, err);
    }
    return GLK_OK;
}

glk_status glk_matcher_rollback(glk_matcher *self, size_t steps, glk_error *err) {
    if (steps > self->steps.count) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "rollback of %zu steps, but only %u were taken",
                        steps, (unsigned)self->steps.count);
    }
    for (size_t i = 0; i < steps; i++) {
        const glk_step *step = (const glk_step *)self->steps.data + --self->steps.count;
        self->configs.count--;
        if (step->token == GLK_NONE) {
            self->texts.count = (uint32_t)step->offset;
        }
        self->ended = false;
    }
    return GLK_OK;
}

size_t glk_matcher_steps(const glk_matcher *self) { return self->steps.count; }

glk_status glk_matcher_validate_tokens(glk_matcher *self, const uint32_t *tokens, size_t count,
                                       size_t *out, glk_error *err) {
    size_t accepted = 0;
    glk_status status = GLK_OK;
    while (accepted < count) {
        bool good;
        status = glk_matcher_accept_token(self, tokens[accepted], &good, err);
        if (status != GLK_OK || !good) {
            break;
        }
        accepted++;
    }
    (void)glk_matcher_rollback(self, accepted, NULL);
    if (status == GLK_OK) {
        *out = accepted;
    }
    return status;
}

/* ------------------------------------------------------------------ questions */

glk_status glk_matcher_can_end(glk_matcher *self, bool *out, glk_error *err) {
    (void)err;
    *out = !self->ended && glk_config_at(self->epoch, current(self))->can_end;
    return GLK_OK;
}

/* How many bytes may come next (2 for more), and the first of them. */
static glk_status count_live(glk_matcher *self, uint32_t *count, uint8_t *first, glk_error *err) {
    attempt job = {.run = run_count};
    GLK_TRY(run(self, &job, err));
    *count = job.live;
    *first = job.first;
    return GLK_OK;
}

glk_status glk_matcher_is_terminated(glk_matcher *self, bool *out, glk_error *err) {
    const glk_config *config = glk_config_at(self->epoch, current(self));
    if (self->ended || self->program->vocab->end_count > 0 || !config->can_end) {
        *out = self->ended;
        return GLK_OK;
    }
    uint32_t count;
    uint8_t first;
    GLK_TRY(count_live(self, &count, &first, err));
    *out = count == 0 && !wants_tokens(self->epoch, current(self));
    return GLK_OK;
}

/* The one byte that must come next, or -1. */
static glk_status forced_byte(glk_matcher *self, int *out, glk_error *err) {
    uint32_t count;
    uint8_t first;
    *out = -1;
    if (glk_config_at(self->epoch, current(self))->can_end ||
        wants_tokens(self->epoch, current(self))) {
        return GLK_OK;
    }
    GLK_TRY(count_live(self, &count, &first, err));
    if (count == 1) {
        *out = first;
    }
    return GLK_OK;
}

glk_status glk_matcher_forced_bytes(glk_matcher *self, uint8_t *buffer, size_t capacity,
                                    size_t *count, glk_error *err) {
    size_t found = 0;
    int byte = -1;
    glk_status status = self->ended ? GLK_OK : forced_byte(self, &byte, err);
    while (status == GLK_OK && byte >= 0 && found < capacity) {
        bool good = false;
        buffer[found] = (uint8_t)byte;
        status = glk_matcher_accept_bytes(self, &buffer[found], 1, &good, err);
        if (status != GLK_OK || !good) {
            break;
        }
        found++;
        status = forced_byte(self, &byte, err);
    }
    (void)glk_matcher_rollback(self, found, NULL);
    if (status == GLK_OK) {
        *count = found;
    }
    return status;
}

/* ------------------------------------------------------------------ masks */

static glk_status write_mask(glk_matcher *self, uint32_t *mask, size_t words, glk_error *err) {
    const glk_tokens *tokens = glk_config_mask(self->epoch, current(self));
    if (GLK_UNLIKELY(tokens == NULL)) {
        attempt job = {.run = run_mask};
        GLK_TRY(run(self, &job, err));
        tokens = job.tokens;
        report_hits(self);
    } else if (GLK_UNLIKELY(++self->hits == HITS_KEPT)) {
        report_hits(self);
    }
    glk_mask_write(tokens, self->program->vocab->size, mask, words);
    return GLK_OK;
}

static glk_status walk_mask(glk_matcher *self, uint32_t *mask, size_t words, glk_error *err) {
    attempt job = {.run = run_walk, .mask = mask};
    memset(mask, 0, words * sizeof *mask);
    return run(self, &job, err);
}

glk_status glk_matcher_fill_row(glk_matcher *self, uint32_t *mask, size_t words, bool by_walk,
                                glk_error *err) {
    const glk_vocab *vocab = self->program->vocab;
    if (GLK_UNLIKELY(words < glk_mask_words(vocab->size))) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "a mask of %zu words, but %u ids need %zu", words,
                        (unsigned)vocab->size, glk_mask_words(vocab->size));
    }
    if (GLK_UNLIKELY(self->ended)) {
        return glk_fail(err, GLK_ERR_STATE, "the sequence has ended: nothing may follow an end id");
    }
    GLK_TRY(by_walk ? walk_mask(self, mask, words, err) : write_mask(self, mask, words, err));
    if (glk_config_at(self->epoch, current(self))->can_end) {
        for (uint32_t i = 0; i < vocab->end_count; i++) {
            glk_mask_set(mask, vocab->end_ids[i]);
        }
    }
    return GLK_OK;
}

glk_status glk_matcher_fill(glk_matcher *self, uint32_t *mask, size_t words, glk_error *err) {
    return glk_matcher_fill_row(self, mask, words, false, err);
}

glk_status glk_matcher_fill_by_walk(glk_matcher *self, uint32_t *mask, size_t words,
                                    glk_error *err) {
    return glk_matcher_fill_row(self, mask, words, true, err);
}
