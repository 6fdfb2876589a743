/* vocab.c -- see vocab.h.  Check, copy, decide which bytes have a token of their own, and put every
 * token that can be spelled with them into the trie. */
#include "vocab.h"

static glk_status check(const uint64_t *offsets, uint32_t size, const uint32_t *end_ids,
                        size_t end_count, glk_error *err) {
    if (size == GLK_NONE) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "a vocabulary of %u ids is too large", size);
    }
    for (uint32_t i = 0; i < size; i++) {
        if (offsets[i] > offsets[i + 1]) {
            return glk_fail(err, GLK_ERR_ARGUMENT, "the offsets of token %u run backwards", i);
        }
    }
    for (size_t i = 0; i < end_count; i++) {
        if (end_ids[i] >= size) {
            return glk_fail(err, GLK_ERR_ARGUMENT,
                            "end id %u is outside of the vocabulary of %u ids", end_ids[i], size);
        }
    }
    return GLK_OK;
}

/* Copies the texts; offsets start at 0 from here on. */
static glk_status copy_texts(glk_vocab *self, const uint8_t *bytes, const uint64_t *offsets,
                             glk_error *err) {
    void *copy, *starts;
    uint64_t base = self->size > 0 ? offsets[0] : 0;
    uint64_t total = self->size > 0 ? offsets[self->size] - base : 0;
    if (total > SIZE_MAX / 4) {
        return glk_fail_memory(err);
    }
    GLK_TRY(glk_arena_take(&self->arena, (size_t)total, &copy, err));
    GLK_TRY(glk_arena_take(&self->arena, ((size_t)self->size + 1) * sizeof(uint64_t), &starts,
                           err));
    if (total > 0) {
        memcpy(copy, bytes + base, (size_t)total);
    }
    self->bytes = copy;
    self->offsets = starts;
    self->offsets[0] = 0;
    for (uint32_t i = 0; i < self->size; i++) {
        uint64_t length = offsets[i + 1] - offsets[i];
        self->offsets[i + 1] = self->offsets[i] + length;
        if (length > self->longest) {
            self->longest = length < GLK_NONE ? (uint32_t)length : GLK_NONE;
        }
    }
    return GLK_OK;
}

/* `ends` becomes the set of end ids, and end_ids its members in order. */
static glk_status collect_ends(glk_vocab *self, const uint32_t *end_ids, size_t end_count,
                               uint32_t *ends, glk_error *err) {
    for (size_t i = 0; i < end_count; i++) {
        self->end_count += glk_mask_has(ends, end_ids[i]) ? 0 : 1;
        glk_mask_set(ends, end_ids[i]);
    }
    void *memory;
    GLK_TRY(glk_arena_take(&self->arena, (size_t)self->end_count * sizeof(uint32_t), &memory, err));
    self->end_ids = memory;
    uint32_t count = 0;
    for (uint32_t w = 0; w < glk_mask_words(self->size); w++) {
        for (uint32_t rest = ends[w]; rest != 0; rest &= rest - 1) {
            self->end_ids[count++] = w * 32 + (uint32_t)__builtin_ctz(rest);
        }
    }
    return GLK_OK;
}

static void collect_reachable(glk_vocab *self, const uint32_t *ends) {
    for (uint32_t id = 0; id < self->size; id++) {
        size_t length;
        const uint8_t *text = glk_vocab_text(self, id, &length);
        if (length == 1 && !glk_mask_has(ends, id)) {
            glk_bytes_add(&self->reachable, text[0]);
        }
    }
}

static bool spelled_with(const glk_bytes *set, const uint8_t *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (!glk_bytes_has(set, text[i])) {
            return false;
        }
    }
    return true;
}

static glk_status build_trie(glk_vocab *self, const uint32_t *ends, glk_arena *scratch,
                             glk_error *err) {
    void *memory;
    GLK_TRY(glk_arena_take(scratch, (size_t)self->size * sizeof(glk_trie_item), &memory, err));
    glk_trie_item *items = memory;
    uint32_t count = 0;
    for (uint32_t id = 0; id < self->size; id++) {
        size_t length;
        const uint8_t *text = glk_vocab_text(self, id, &length);
        if (length == 0 || glk_mask_has(ends, id) ||
            !spelled_with(&self->reachable, text, length)) {
            continue;
        }
        /* What does not fit is refused by the trie as too long. */
        uint32_t clipped = length < GLK_NONE ? (uint32_t)length : GLK_NONE;
        items[count++] = (glk_trie_item){.text = text, .length = clipped, .id = id};
    }
    return glk_trie_build(items, count, &self->arena, &self->trie, err);
}

static glk_status build(glk_vocab *self, const uint8_t *bytes, const uint64_t *offsets,
                        const uint32_t *end_ids, size_t end_count, glk_arena *scratch,
                        glk_error *err) {
    void *memory;
    size_t words = glk_mask_words(self->size) + 1; /* never none */
    GLK_TRY(copy_texts(self, bytes, offsets, err));
    GLK_TRY(glk_arena_take(scratch, words * sizeof(uint32_t), &memory, err));
    uint32_t *ends = memory;
    memset(ends, 0, words * sizeof(uint32_t));
    GLK_TRY(collect_ends(self, end_ids, end_count, ends, err));
    collect_reachable(self, ends);
    GLK_TRY(build_trie(self, ends, scratch, err));
    if (pthread_mutex_init(&self->lock, NULL) != 0) {
        return glk_fail_memory(err);
    }
    return GLK_OK;
}

glk_status glk_vocab_init(glk_vocab *self, const uint8_t *bytes, const uint64_t *offsets,
                          uint32_t size, const uint32_t *end_ids, size_t end_count,
                          uint64_t terminals_budget, glk_error *err) {
    GLK_TRY(check(offsets, size, end_ids, end_count, err));
    memset(self, 0, sizeof *self);
    glk_account_init(&self->account, "vocabulary_bytes", 0);
    glk_arena_init(&self->arena, &self->account);
    self->size = size;
    self->terminals_budget = terminals_budget;
    atomic_init(&self->references, 1);
    glk_arena scratch;
    glk_arena_init(&scratch, NULL);
    glk_status status = build(self, bytes, offsets, end_ids, end_count, &scratch, err);
    glk_arena_free(&scratch);
    if (status != GLK_OK) {
        glk_arena_free(&self->arena);
    }
    return status;
}

void glk_vocab_destroy(glk_vocab *self) {
    pthread_mutex_destroy(&self->lock);
    glk_arena_free(&self->arena);
}

void glk_vocab_reachable(const glk_vocab *self, uint64_t *bits) {
    memcpy(bits, self->reachable.word, sizeof self->reachable.word);
}
