/* span.c -- see span.h.  Two roads to a span: a walk of the whole trie from the state, and a walk
 * of the places where the state and its base come apart.  The second is tried first and given up
 * when the differences grow past a few thousand tokens. */
#include "span.h"

#include "counted.h"

enum {
    MERGE_AT_MOST = 8192, /* rests of tokens worth merging into tries */
    SORT_AT_MOST = 64,    /* ids sorted by themselves */
    DIFFER_AT_MOST = 4096 /* tokens in which a state may differ from its base */
};

typedef struct exit_item { /* the rest of one token */
    uint32_t labels, id, from; /* `from`: bytes of the token before the rest */
} exit_item;

typedef struct level { /* of a walk: the state at a depth, and the children there */
    uint32_t state;
    const glk_row *row;
    const glk_trie_wide *wide;
    bool pure; /* all bytes so far are characters that were counted */
} level;

typedef struct pair_level { /* the same of a state and its base */
    uint32_t one, two;
    glk_bytes bytes; /* after all others they are alike */
    const glk_trie_wide *wide;
} pair_level;

typedef struct work {
    glk_terminals *terminals;
    const glk_trie *trie;
    uint64_t *steps;
    glk_error *err;
    glk_vec levels;       /* level, by depth */
    uint32_t inside;      /* tokens found inside; listed in `kept` up to `listed_most` of them */
    uint32_t listed_most;
    uint8_t counted;      /* groups of which all tokens are decided already, see counted.h */
    glk_vec pairs;        /* pair_level, by depth */
    glk_vec moved, kept;  /* u32: ids */
    glk_vec roots;        /* glk_exit_root */
    glk_vec items;        /* exit_item */
} work;

static void open_work(work *self, glk_terminals *terminals, uint64_t *steps, glk_error *err) {
    *self = (work){
        .terminals = terminals, .trie = &terminals->vocab->trie, .steps = steps, .err = err};
    glk_vec *ids[] = {&self->moved, &self->kept};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        glk_vec_init(ids[i], NULL, sizeof(uint32_t));
    }
    glk_vec_init(&self->levels, NULL, sizeof(level));
    glk_vec_init(&self->pairs, NULL, sizeof(pair_level));
    glk_vec_init(&self->roots, NULL, sizeof(glk_exit_root));
    glk_vec_init(&self->items, NULL, sizeof(exit_item));
}

static void close_work(work *self) {
    glk_vec *all[] = {&self->levels, &self->pairs, &self->moved,
                      &self->kept,   &self->roots, &self->items};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        glk_vec_free(all[i]);
    }
}

static glk_status count_steps(work *self, uint64_t steps) {
    if (*self->steps < steps) {
        return glk_fail_limit(self->err, "steps", steps, *self->steps);
    }
    *self->steps -= steps;
    return GLK_OK;
}

static glk_status row_of(work *self, uint32_t state, const glk_row **out) {
    const glk_row *row = glk_state_row(self->terminals, state);
    if (GLK_LIKELY(row != NULL)) {
        *out = row;
        return GLK_OK;
    }
    return glk_terminals_build_row(self->terminals, state, self->steps, out, self->err);
}

/* The state after a byte, or GLK_NONE. */
static glk_status step(work *self, uint32_t state, uint8_t byte, uint32_t *out) {
    const glk_row *row;
    *out = GLK_NONE;
    if (state == GLK_NONE) {
        return GLK_OK;
    }
    GLK_TRY(row_of(self, state, &row));
    if (!glk_bytes_has(&row->live, byte)) {
        return GLK_OK;
    }
    *out = glk_row_target(row, byte);
    if (GLK_LIKELY(*out != GLK_NONE)) {
        return GLK_OK;
    }
    return glk_terminals_step(self->terminals, state, byte, self->steps, out, self->err);
}

static uint32_t labels_of(const work *self, uint32_t state) {
    return state == GLK_NONE ? GLK_LABELS_NONE : glk_state_at(self->terminals, state)->labels;
}

/* The ids strictly below a node: [*begin, *end) in trie->tokens. */
static void ids_below(const glk_trie *trie, uint32_t node, uint32_t *begin, uint32_t *end) {
    *begin = trie->nodes[node + 1].first;
    *end = trie->nodes[trie->nodes[node].skip].first;
}

/* ------------------------------------------------------------------ exits */

/* Groups items by label set; within a group the trie sorts. */
static void sort_items(exit_item *items, uint32_t count) {
    uint32_t gap = 1;
    while (gap < count / 3) {
        gap = 3 * gap + 1;
    }
    for (; gap > 0; gap /= 3) {
        for (uint32_t i = gap; i < count; i++) {
            exit_item item = items[i];
            uint32_t j = i;
            for (; j >= gap && items[j - gap].labels > item.labels; j -= gap) {
                items[j] = items[j - gap];
            }
            items[j] = item;
        }
    }
}

static glk_status merge_group(work *self, const exit_item *items, uint32_t count, glk_exits *out) {
    const glk_vocab *vocab = self->terminals->vocab;
    void *memory;
    GLK_TRY(glk_alloc(NULL, count * sizeof(glk_trie_item), &memory, self->err));
    glk_trie_item *rests = memory;
    for (uint32_t i = 0; i < count; i++) {
        size_t length;
        const uint8_t *text = glk_vocab_text(vocab, items[i].id, &length);
        rests[i] = (glk_trie_item){.text = text + items[i].from,
                                   .length = (uint32_t)length - items[i].from,
                                   .id = items[i].id};
    }
    out->labels = items[0].labels;
    glk_status status =
        glk_trie_build(rests, count, &self->terminals->arena, &out->trie, self->err);
    glk_release(NULL, memory, count * sizeof(glk_trie_item));
    return status;
}

static glk_status merge_exits(work *self, glk_span *span) {
    exit_item *items = self->items.data;
    uint32_t count = self->items.count, groups = 0;
    if (count == 0) {
        return GLK_OK;
    }
    sort_items(items, count);
    for (uint32_t i = 0; i < count; i++) {
        groups += i == 0 || items[i].labels != items[i - 1].labels;
    }
    void *memory;
    GLK_TRY(glk_arena_take(&self->terminals->arena, groups * sizeof(glk_exits), &memory,
                           self->err));
    glk_exits *exits = memory;
    uint32_t group = 0;
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i + 1;
        while (end < count && items[end].labels == items[i].labels) {
            end++;
        }
        GLK_TRY(merge_group(self, items + i, end - i, &exits[group++]));
        i = end;
    }
    span->exits = exits;
    span->exit_count = groups;
    return GLK_OK;
}

static glk_status keep_roots(work *self, glk_span *span) {
    void *memory;
    size_t bytes = self->roots.count * sizeof(glk_exit_root);
    GLK_TRY(glk_arena_take(&self->terminals->arena, bytes, &memory, self->err));
    memcpy(memory, self->roots.data, bytes);
    span->roots = memory;
    span->root_count = self->roots.count;
    return GLK_OK;
}

/* The rests below all roots of the tokens that are not interior; *few = false if too many. */
static glk_status list_rests(work *self, const uint32_t *interior, bool *few) {
    const glk_exit_root *roots = self->roots.data;
    for (uint32_t r = 0; r < self->roots.count; r++) {
        uint32_t begin, end;
        ids_below(self->trie, roots[r].node, &begin, &end);
        GLK_TRY(count_steps(self, end - begin));
        for (uint32_t i = begin; i < end; i++) {
            uint32_t id = self->trie->tokens[i];
            if (glk_mask_has(interior, id)) {
                continue;
            }
            exit_item item = {.labels = roots[r].labels,
                              .id = id,
                              .from = self->trie->nodes[roots[r].node].depth};
            GLK_TRY(glk_vec_push(&self->items, &item, self->err));
            if (self->items.count > MERGE_AT_MOST) {
                *few = false;
                return GLK_OK;
            }
        }
    }
    *few = true;
    return GLK_OK;
}

/* ------------------------------------------------------------------ the whole trie */

/* The same where some may be marked already. */
static glk_status add_unmarked(work *self, uint32_t begin, uint32_t end) {
    for (uint32_t t = begin; t < end; t++) {
        uint32_t id = self->trie->tokens[t];
        if (glk_mask_has(self->terminals->marks, id)) {
            continue;
        }
        glk_mask_set(self->terminals->marks, id);
        if (++self->inside <= self->listed_most) {
            GLK_TRY(glk_vec_push_u32(&self->kept, id, self->err));
        }
    }
    return GLK_OK;
}

/* The tokens [begin, end) stay inside.  They are listed while they are few. */
static glk_status add_interior(work *self, uint32_t begin, uint32_t end) {
    const uint32_t *tokens = self->trie->tokens;
    if (self->counted != 0) {
        return add_unmarked(self, begin, end);
    }
    for (uint32_t t = begin; t < end; t++) {
        glk_mask_set(self->terminals->marks, tokens[t]);
    }
    self->inside += end - begin;
    return self->inside > self->listed_most
               ? GLK_OK
               : glk_trie_append(self->trie, begin, end, &self->kept, self->err);
}

/* Marks the tokens that their number of characters decides; the walk leaves out what holds only such. */
static glk_status add_counted(work *self, uint32_t state) {
    glk_terminals *terminals = self->terminals;
    glk_counted what;
    self->counted = 0;
    GLK_TRY(glk_counted_find(terminals, state, &what, self->err));
    if (what.groups == 0) {
        return GLK_OK;
    }
    uint32_t size = terminals->vocab->size;
    GLK_TRY(count_steps(self, size / 32));
    GLK_TRY(glk_counted_mark(terminals, &what, terminals->marks, &self->inside, self->err));
    self->counted = what.groups;
    for (uint32_t id = 0; id < size && self->inside <= self->listed_most; id++) {
        if (glk_mask_has(terminals->marks, id)) {
            GLK_TRY(glk_vec_push_u32(&self->kept, id, self->err));
        }
    }
    return GLK_OK;
}

static bool is_counted(const work *self, uint8_t byte) {
    return byte < 0x80 && (glk_group_of(byte) & self->counted) != 0;
}

/* A node below which the terminal may end. */
static glk_status note_root(work *self, uint32_t node, uint32_t state) {
    glk_exit_root root = {.labels = labels_of(self, state), .node = node};
    return root.labels == GLK_LABELS_NONE ? GLK_OK
                                          : glk_vec_push(&self->roots, &root, self->err);
}

/* Walks everything from `state`: interior tokens into `marks`, ends of the terminal into `roots`. */
static glk_status walk_all(work *self, uint32_t state) {
    const glk_trie *trie = self->trie;
    GLK_TRY(glk_vec_reserve(&self->levels, self->terminals->vocab->longest + 1, self->err));
    level *levels = self->levels.data;
    uint64_t visited = 0;
    levels[0].state = state;
    levels[0].wide = glk_trie_wide_at(trie, 0);
    levels[0].pure = self->counted != 0;
    GLK_TRY(row_of(self, state, &levels[0].row));
    uint32_t i = glk_trie_below(0, levels[0].wide, &levels[0].row->live);
    while (i < trie->count) {
        const glk_trie_node *node = &trie->nodes[i];
        level *above = &levels[node->depth - 1];
        const glk_bytes *live = &above->row->live;
        visited++;
        bool decided = above->pure && (node->groups & ~self->counted) == 0;
        if (decided || !glk_bytes_has(live, node->byte)) {
            i = glk_trie_beside(trie, i, above->wide, live);
            continue;
        }
        if (glk_row_takes(above->row, node)) {
            GLK_TRY(add_interior(self, node->first, trie->nodes[node->skip].first));
            i = glk_trie_beside(trie, i, above->wide, live);
            continue;
        }
        uint32_t target = glk_row_target(above->row, node->byte);
        if (GLK_UNLIKELY(target == GLK_NONE)) {
            GLK_TRY(step(self, above->state, node->byte, &target));
        }
        GLK_TRY(add_interior(self, node->first, trie->nodes[i + 1].first));
        if (node->skip == i + 1) {
            i = glk_trie_beside(trie, i, above->wide, live);
            continue;
        }
        level *own = above + 1;
        own->state = target;
        own->wide = glk_trie_wide_at(trie, i);
        own->pure = above->pure && is_counted(self, node->byte);
        GLK_TRY(row_of(self, target, &own->row));
        if (glk_row_takes_below(own->row, node)) {
            GLK_TRY(add_interior(self, trie->nodes[i + 1].first, trie->nodes[node->skip].first));
            i = glk_trie_beside(trie, i, above->wide, live);
            continue;
        }
        GLK_TRY(note_root(self, i, target));
        i = glk_trie_below(i, own->wide, &own->row->live);
    }
    return count_steps(self, visited);
}

static glk_status copy_ids(work *self, const glk_vec *ids, const uint32_t **out) {
    void *memory;
    GLK_TRY(glk_arena_take(&self->terminals->arena, ids->count * sizeof(uint32_t), &memory,
                           self->err));
    if (ids->count > 0) {
        memcpy(memory, ids->data, ids->count * sizeof(uint32_t));
    }
    *out = memory;
    return GLK_OK;
}

/* In order of the ids, without a look at all words where they are a handful. */
static glk_status sort_listed(work *self) {
    const uint32_t *marks = self->terminals->marks;
    if (self->kept.count <= SORT_AT_MOST) {
        self->kept.count = glk_sort_unique(GLK_VEC_U32(&self->kept), self->kept.count);
        return GLK_OK;
    }
    self->kept.count = 0;
    for (size_t i = 0; i < glk_mask_words(self->terminals->vocab->size); i++) {
        for (uint32_t bits = marks[i]; bits != 0; bits &= bits - 1) {
            uint32_t id = (uint32_t)(i * 32) + (uint32_t)__builtin_ctz(bits);
            GLK_TRY(glk_vec_push_u32(&self->kept, id, self->err));
        }
    }
    return GLK_OK;
}

/* Few tokens become a list, many a bitmask. */
static glk_status set_interior(work *self, glk_tokens *out) {
    *out = (glk_tokens){0};
    if (self->inside > self->listed_most) {
        size_t bytes = glk_mask_words(self->terminals->vocab->size) * sizeof(uint32_t);
        void *memory;
        GLK_TRY(glk_arena_take(&self->terminals->arena, bytes, &memory, self->err));
        memcpy(memory, self->terminals->marks, bytes);
        out->dense = memory;
        return GLK_OK;
    }
    GLK_TRY(sort_listed(self));
    out->plus_count = self->kept.count;
    return copy_ids(self, &self->kept, &out->plus);
}

static glk_status walk_whole(work *self, uint32_t state, glk_span *span) {
    bool few = true;
    GLK_TRY(add_counted(self, state));
    GLK_TRY(walk_all(self, state));
    GLK_TRY(set_interior(self, &span->interior));
    GLK_TRY(list_rests(self, self->terminals->marks, &few));
    return few ? merge_exits(self, span) : keep_roots(self, span);
}

/* `marks` is empty before and after. */
static glk_status build_whole(work *self, uint32_t state, glk_span *span) {
    glk_terminals *terminals = self->terminals;
    size_t bytes = glk_mask_words(terminals->vocab->size) * sizeof(uint32_t);
    if (terminals->marks == NULL) {
        void *memory;
        GLK_TRY(glk_arena_take(&terminals->arena, bytes, &memory, self->err));
        memset(memory, 0, bytes);
        terminals->marks = memory;
    }
    self->kept.count = 0;
    self->inside = 0;
    self->listed_most = terminals->vocab->size / 64;
    glk_status status = walk_whole(self, state, span);
    if (self->inside > self->listed_most || status != GLK_OK) {
        memset(terminals->marks, 0, bytes);
    } else {
        for (uint32_t i = 0; i < self->kept.count; i++) {
            glk_mask_clear(terminals->marks, GLK_VEC_U32(&self->kept)[i]);
        }
    }
    return status;
}

/* ------------------------------------------------------------------ differences from a base */

/* Whether the state and its base agree on all tokens in the subtree of a node, by the far base's
 * bound: they do alike within that many bytes. */
static bool within_bound(const glk_state *state, const glk_trie_node *node) {
    return state->differs == NULL && (uint32_t)node->depth + node->height <= state->bound;
}

/* The same from further down: the state reached has the base's state as its own far base.  Tokens that
 * spend little of a count (one word out of fifty) meet this long before their length is used up. */
static glk_status agree_below(work *self, const glk_trie_node *node, uint32_t one, uint32_t two,
                              bool *out) {
    const glk_row *row;
    *out = one == two;
    if (*out || one == GLK_NONE || two == GLK_NONE) {
        return GLK_OK;
    }
    GLK_TRY(row_of(self, one, &row)); /* finds the base as well */
    const glk_state *state = glk_state_at(self->terminals, one);
    *out = state->base == two && state->differs == NULL && node->height <= state->bound;
    return GLK_OK;
}

typedef bool taking(const glk_row *row, const glk_trie_node *node);

/* Whether what is at or below a node are characters that both may read freely. */
static glk_status both_take(work *self, taking *takes, const glk_trie_node *node, uint32_t one,
                            uint32_t two, bool *out) {
    const glk_row *row;
    *out = one != GLK_NONE && two != GLK_NONE && (node->groups & GLK_GROUP_OTHER) == 0;
    if (*out) {
        GLK_TRY(row_of(self, one, &row));
        *out = takes(row, node);
    }
    if (*out) {
        GLK_TRY(row_of(self, two, &row));
        *out = takes(row, node);
    }
    return GLK_OK;
}

/* The tokens [begin, end) may fare differently; *many = true once they are too many. */
static glk_status move_range(work *self, uint32_t begin, uint32_t end, bool *many) {
    if (self->moved.count + (end - begin) > DIFFER_AT_MOST) {
        *many = true;
        return GLK_OK;
    }
    for (uint32_t i = begin; i < end; i++) {
        GLK_TRY(glk_vec_push_u32(&self->moved, self->trie->tokens[i], self->err));
    }
    return GLK_OK;
}

/* One node at which the states differ; *deeper = whether its children need a look of their own. */
static glk_status differ_at(work *self, uint32_t at, uint32_t one, uint32_t two, bool *deeper,
                            bool *many) {
    const glk_trie_node *node = &self->trie->nodes[at];
    uint32_t begin, end;
    ids_below(self->trie, at, &begin, &end);
    *deeper = false;
    if (one == GLK_NONE || two == GLK_NONE) { /* one of them is dead: all that follows differs */
        return move_range(self, node->first, end, many);
    }
    if (labels_of(self, one) != labels_of(self, two)) {
        return move_range(self, begin, end, many);
    }
    *deeper = node->skip > at + 1;
    return GLK_OK;
}

enum { BASES_AT_MOST = 8 }; /* on the way from a state to its base's base ... */

/* The bytes after which two states may not be alike: all, but where one is a few-bytes base of the other,
 * or a base of its base. */
static glk_status differing(work *self, uint32_t one, uint32_t two, glk_bytes *out) {
    glk_bytes few = {{0}};
    const glk_row *row;
    *out = glk_bytes_all();
    for (int i = 0; i < BASES_AT_MOST && one != GLK_NONE && two != GLK_NONE; i++) {
        GLK_TRY(row_of(self, one, &row)); /* finds the base as well */
        const glk_state *state = glk_state_at(self->terminals, one);
        if (state->base == GLK_NONE || state->differs == NULL) {
            return GLK_OK;
        }
        few = glk_bytes_or(few, *state->differs);
        one = state->base;
        if (one == two) {
            *out = few;
            return GLK_OK;
        }
    }
    return GLK_OK;
}

static glk_status live_bytes(work *self, uint32_t state, glk_bytes *out) {
    const glk_row *row;
    *out = (glk_bytes){{0}};
    if (state != GLK_NONE) {
        GLK_TRY(row_of(self, state, &row));
        *out = row->live;
    }
    return GLK_OK;
}

/* Opens the level below a node for two states: of interest are bytes that one of them can go on with. */
static glk_status open_pair(work *self, uint32_t node, uint32_t one, uint32_t two, pair_level *out) {
    glk_bytes here, there;
    *out = (pair_level){.one = one, .two = two, .wide = glk_trie_wide_at(self->trie, node)};
    GLK_TRY(differing(self, one, two, &out->bytes));
    GLK_TRY(live_bytes(self, one, &here));
    GLK_TRY(live_bytes(self, two, &there));
    out->bytes = glk_bytes_and(out->bytes, glk_bytes_or(here, there));
    return GLK_OK;
}

/* Whether the states agree on a node and all that is below it, though not by being one. */
static glk_status agree_at(work *self, const glk_state *state, const glk_trie_node *node,
                           const pair_level *above, bool *out) {
    *out = !glk_bytes_has(&above->bytes, node->byte) || within_bound(state, node);
    return *out ? GLK_OK : both_take(self, glk_row_takes, node, above->one, above->two, out);
}

/* Walks the whole trie from a state and its base. */
static glk_status walk_difference(work *self, uint32_t id, const glk_state *state, bool *many) {
    const glk_trie *trie = self->trie;
    pair_level *levels = self->pairs.data;
    GLK_TRY(open_pair(self, 0, id, state->base, &levels[0]));
    uint32_t i = glk_trie_below(0, levels[0].wide, &levels[0].bytes);
    while (i < trie->count && !*many) {
        const glk_trie_node *node = &trie->nodes[i];
        pair_level *above = &levels[node->depth - 1];
        uint32_t one, two;
        bool deeper = false, alike;
        GLK_TRY(agree_at(self, state, node, above, &alike));
        if (!alike) {
            GLK_TRY(count_steps(self, 1));
            GLK_TRY(step(self, above->one, node->byte, &one));
            GLK_TRY(step(self, above->two, node->byte, &two));
            GLK_TRY(both_take(self, glk_row_takes_below, node, one, two, &alike));
        }
        if (!alike) {
            GLK_TRY(agree_below(self, node, one, two, &alike));
        }
        if (!alike) {
            GLK_TRY(differ_at(self, i, one, two, &deeper, many));
        }
        if (!deeper) {
            i = glk_trie_beside(trie, i, above->wide, &above->bytes);
            continue;
        }
        GLK_TRY(open_pair(self, i, one, two, above + 1));
        i = glk_trie_below(i, above[1].wide, &above[1].bytes);
    }
    return GLK_OK;
}

/* Steps through a moved token's text: it stays inside, or leaves at some points. */
static glk_status judge_token(work *self, uint32_t state, uint32_t id) {
    size_t length;
    const uint8_t *text = glk_vocab_text(self->terminals->vocab, id, &length);
    uint32_t before = self->items.count;
    for (uint32_t i = 0; i < length; i++) {
        GLK_TRY(step(self, state, text[i], &state));
        if (state == GLK_NONE) {
            return GLK_OK;
        }
        uint32_t labels = labels_of(self, state);
        if (labels != GLK_LABELS_NONE && i + 1 < length) {
            exit_item item = {.labels = labels, .id = id, .from = i + 1};
            GLK_TRY(glk_vec_push(&self->items, &item, self->err));
        }
    }
    self->items.count = before; /* it stays inside: no exit is needed */
    return glk_vec_push_u32(&self->kept, id, self->err);
}

static glk_status build_difference(work *self, uint32_t id, glk_span *span, bool *done) {
    const glk_state *state = glk_state_at(self->terminals, id);
    uint32_t longest = self->terminals->vocab->longest;
    bool many = false;
    GLK_TRY(glk_vec_reserve(&self->pairs, longest + 1, self->err));
    GLK_TRY(walk_difference(self, id, state, &many));
    *done = !many;
    if (many) {
        return GLK_OK;
    }
    self->moved.count = glk_sort_unique(GLK_VEC_U32(&self->moved), self->moved.count);
    for (uint32_t i = 0; i < self->moved.count; i++) {
        GLK_TRY(judge_token(self, id, GLK_VEC_U32(&self->moved)[i]));
    }
    span->base = state->base;
    span->moved_count = self->moved.count;
    span->kept_count = self->kept.count;
    GLK_TRY(copy_ids(self, &self->moved, &span->moved));
    GLK_TRY(copy_ids(self, &self->kept, &span->kept));
    return merge_exits(self, span);
}

/* ------------------------------------------------------------------ building */

static glk_status build(work *self, uint32_t id, glk_span *span) {
    const glk_row *row;
    bool done = false;
    span->base = GLK_NONE;
    GLK_TRY(row_of(self, id, &row)); /* finds the base as well */
    if (glk_state_at(self->terminals, id)->base != GLK_NONE) {
        GLK_TRY(build_difference(self, id, span, &done));
    }
    return done ? GLK_OK : build_whole(self, id, span);
}

glk_status glk_span_build(glk_terminals *self, uint32_t id, uint64_t *steps, const glk_span **out,
                          glk_error *err) {
    glk_state *state = glk_state_at(self, id);
    const glk_span *span = atomic_load_explicit(&state->span, memory_order_acquire);
    if (span == NULL) {
        void *memory;
        GLK_TRY(glk_arena_take(&self->arena, sizeof(glk_span), &memory, err));
        memset(memory, 0, sizeof(glk_span));
        work job;
        open_work(&job, self, steps, err);
        uint32_t base = self->exprs.scratch.count;
        glk_status status = build(&job, id, memory);
        self->exprs.scratch.count = base;
        close_work(&job);
        GLK_TRY(status);
        span = memory;
        atomic_store_explicit(&state->span, span, memory_order_release);
    }
    *out = span;
    return GLK_OK;
}
