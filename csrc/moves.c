/* moves.c -- see moves.h. */
#include "moves.h"

/* Without the threads that cannot be finished; GLK_NONE if none is left. */
static glk_status finish(glk_epoch *self, uint32_t raw, uint64_t *steps, uint32_t *out,
                         glk_error *err) {
    *out = raw;
    if (raw == GLK_NONE || raw == GLK_MAYBE) {
        return GLK_OK;
    }
    const glk_config *config = glk_config_at(self, raw);
    bool empty = config->count == 0 && !config->can_end;
    if (empty || glk_threads_risk(self, config->threads, config->count)) {
        GLK_TRY(glk_alive_filter(self, raw, steps, out, err));
        *out = *out == GLK_DEAD ? GLK_NONE : *out;
    }
    return GLK_OK;
}

glk_status glk_moves_row(glk_epoch *self, uint32_t id, uint64_t *steps, const glk_moves **out,
                         glk_error *err) {
    glk_config *config = glk_config_at(self, id);
    const glk_moves *known = atomic_load_explicit(&config->moves, memory_order_acquire);
    if (known != NULL) {
        *out = known;
        return GLK_OK;
    }
    glk_bytes live;
    GLK_TRY(glk_parser_live(self, id, steps, &live, err));
    uint32_t count = glk_bytes_count(&live), before = 0;
    void *memory;
    GLK_TRY(glk_arena_take(&self->arena, sizeof(glk_moves) + count * sizeof(uint32_t), &memory,
                           err));
    glk_moves *moves = memory;
    moves->live = live;
    for (uint32_t word = 0; word < 4; word++) {
        moves->before[word] = (uint8_t)before;
        before += glk_popcount(live.word[word]);
    }
    for (uint32_t i = 0; i < count; i++) {
        atomic_init(&moves->target[i], GLK_NONE);
    }
    atomic_store_explicit(&config->moves, moves, memory_order_release);
    *out = moves;
    return GLK_OK;
}

glk_status glk_moves_step(glk_epoch *self, uint32_t config, uint8_t byte, uint64_t *steps,
                          uint32_t *out, glk_error *err) {
    const glk_moves *moves;
    *out = GLK_NONE;
    GLK_TRY(glk_moves_row(self, config, steps, &moves, err));
    if (!glk_bytes_has(&moves->live, byte)) {
        return GLK_OK;
    }
    _Atomic uint32_t *slot =
        &((glk_moves *)(uintptr_t)moves)->target[glk_moves_rank(moves, byte)];
    uint32_t target = atomic_load_explicit(slot, memory_order_acquire);
    if (target == GLK_NONE) {
        uint32_t raw;
        GLK_TRY(glk_parser_step_raw(self, config, byte, steps, &raw, err));
        GLK_TRY(finish(self, raw, steps, &target, err));
        target = target == GLK_NONE ? GLK_DEAD : target;
        atomic_store_explicit(slot, target, memory_order_release);
    }
    *out = target == GLK_DEAD ? GLK_NONE : target;
    return GLK_OK;
}

glk_status glk_moves_count(glk_epoch *self, uint32_t config, uint64_t *steps, uint32_t *count,
                           uint8_t *first, glk_error *err) {
    const glk_moves *moves;
    GLK_TRY(glk_moves_row(self, config, steps, &moves, err));
    *count = 0;
    for (uint32_t byte = 0; byte < 256 && *count < 2; byte++) {
        uint32_t next = config;
        if (!glk_bytes_has(&moves->live, (uint8_t)byte)) {
            continue;
        }
        if (self->code->marked) {
            GLK_TRY(glk_moves_step(self, config, (uint8_t)byte, steps, &next, err));
        }
        if (next != GLK_NONE) {
            *first = *count == 0 ? (uint8_t)byte : *first;
            ++*count;
        }
    }
    return GLK_OK;
}

glk_status glk_moves_closure(glk_epoch *self, uint32_t cont, uint32_t labels, uint32_t text,
                             uint64_t *steps, uint32_t *out, glk_error *err) {
    uint32_t raw;
    GLK_TRY(glk_parser_closure(self, cont, labels, text, steps, &raw, err));
    return finish(self, raw, steps, out, err);
}

glk_status glk_moves_take_token(glk_epoch *self, uint32_t config, uint32_t token, uint64_t *steps,
                                uint32_t *out, glk_error *err) {
    uint32_t raw;
    GLK_TRY(glk_parser_take_token(self, config, token, steps, &raw, err));
    return finish(self, raw, steps, out, err);
}

glk_status glk_moves_start(glk_epoch *self, uint64_t *steps, glk_error *err) {
    GLK_TRY(glk_parser_start(self, steps, err));
    return finish(self, self->start, steps, &self->start, err);
}
