/* counted.c -- see counted.h. */
#include "counted.h"

enum {
    CHARACTERS_MOST = 255, /* of a token, as far as they are counted */
    WORD = 32              /* ids in a word of a bitmask */
};

/* The groups of a token's characters, and how many there are, the last of which may be incomplete. */
static void measure(const uint8_t *text, size_t length, uint8_t *groups, uint8_t *characters) {
    uint32_t state = GLK_TEXT_BOUNDARY, count = 0;
    uint8_t found = 0;
    for (size_t i = 0; i < length && (found & GLK_GROUP_OTHER) == 0; i++) {
        count += state == GLK_TEXT_BOUNDARY;
        if (text[i] < 0x80) {
            found |= state == GLK_TEXT_BOUNDARY ? glk_group_of(text[i]) : GLK_GROUP_OTHER;
            continue;
        }
        state = glk_text_after(state, text[i]);
        found |= state == GLK_TEXT_DEAD ? GLK_GROUP_OTHER : GLK_GROUP_TEXT;
    }
    *groups = found == 0 || count > CHARACTERS_MOST ? GLK_GROUP_OTHER : found;
    *characters = (uint8_t)(count > CHARACTERS_MOST ? CHARACTERS_MOST : count);
}

/* The groups of all ids, then their numbers of characters.  Ids outside the trie are of no group that counts.
 * Both are padded to whole words of a bitmask. */
static glk_status measure_all(glk_terminals *self, glk_error *err) {
    const glk_vocab *vocab = self->vocab;
    void *memory;
    size_t padded = glk_mask_words(vocab->size) * WORD;
    GLK_TRY(glk_arena_take(&self->arena, 2 * padded, &memory, err));
    uint8_t *measures = memory;
    memset(measures, GLK_GROUP_OTHER, 2 * padded);
    for (uint32_t t = 0; t < vocab->trie.token_count; t++) {
        size_t length;
        uint32_t id = vocab->trie.tokens[t];
        const uint8_t *text = glk_vocab_text(vocab, id, &length);
        measure(text, length, &measures[id], &measures[padded + id]);
    }
    self->measures = measures;
    return GLK_OK;
}

glk_status glk_counted_find(glk_terminals *self, uint32_t state, glk_counted *out,
                            glk_error *err) {
    glk_exprs *exprs = &self->exprs;
    const glk_expr *e = glk_expr_at(exprs, glk_state_at(self, state)->expr);
    *out = (glk_counted){0};
    if (e->kind != GLK_CAT || (e->flags & GLK_CHECKED) != 0) {
        return GLK_OK;
    }
    const glk_expr *repeat = glk_expr_at(exprs, e->a), *tail = glk_expr_at(exprs, e->b);
    if (repeat->kind != GLK_REP || repeat->hi > CHARACTERS_MOST ||
        (tail->flags & GLK_NULLABLE) != 0) {
        return GLK_OK;
    }
    GLK_TRY(glk_expr_single_groups(exprs, repeat->a, &out->groups, err));
    for (uint32_t b = 0; b < 256; b++) { /* where a repeat may go on or end, counts say less */
        if (glk_bytes_has(&tail->first, (uint8_t)b)) {
            out->groups &= (uint8_t)~(b < 0x80 ? glk_group_of((uint8_t)b) : GLK_GROUP_TEXT);
        }
    }
    out->most = repeat->hi;
    return GLK_OK;
}

glk_status glk_counted_mark(glk_terminals *self, const glk_counted *what, uint32_t *marks,
                            uint32_t *count, glk_error *err) {
    if (self->measures == NULL) {
        GLK_TRY(measure_all(self, err));
    }
    size_t words = glk_mask_words(self->vocab->size);
    const uint8_t *groups = self->measures, *characters = groups + words * WORD;
    uint8_t others = (uint8_t)~what->groups, most = (uint8_t)what->most;
    *count = 0;
    for (size_t w = 0; w < words; w++, groups += WORD, characters += WORD) {
        uint8_t fits[WORD]; /* in a loop of its own, of bytes alone, that processors do at once */
        uint32_t bits = 0;
        for (uint32_t i = 0; i < WORD; i++) {
            fits[i] = (groups[i] & others) == 0 && characters[i] <= most;
        }
        for (uint32_t i = 0; i < WORD; i++) {
            bits |= (uint32_t)fits[i] << i;
        }
        marks[w] |= bits;
        *count += glk_popcount(bits);
    }
    return GLK_OK;
}
