/* test_base.c -- level 0: arenas and accounts, vectors, tables, intern indexes, word operations. */
#include "bitmask.h"
#include "check.h"
#include "hash.h"
#include "vec.h"

static void accounts_refuse_to_pass_their_limit(void) {
    glk_account account;
    glk_error err = {.code = GLK_OK};
    void *first, *second = NULL;
    glk_account_init(&account, "test_bytes", 100);
    CHECK_OK(glk_alloc(&account, 60, &first, &err));
    CHECK_EQUAL(glk_alloc(&account, 41, &second, &err), GLK_ERR_LIMIT);
    CHECK(second == NULL);
    CHECK_EQUAL(err.code, GLK_ERR_LIMIT);
    CHECK_EQUAL(err.asked, 101);
    CHECK_EQUAL(err.limit, 100);
    CHECK(strcmp(err.budget, "test_bytes") == 0);
    CHECK_OK(glk_alloc(&account, 40, &second, &err));
    CHECK_EQUAL(account.used, 100);
    glk_release(&account, first, 60);
    glk_release(&account, second, 40);
    glk_release(&account, NULL, 40);
    CHECK_EQUAL(account.used, 0);
}

static void memory_is_zeroed(void) {
    void *memory;
    CHECK_OK(glk_alloc(NULL, 1000, &memory, NULL));
    for (size_t i = 0; i < 1000; i++) {
        CHECK_EQUAL(((uint8_t *)memory)[i], 0);
    }
    glk_release(NULL, memory, 1000);
    CHECK_OK(glk_alloc(NULL, 0, &memory, NULL));
    CHECK(memory != NULL);
    glk_release(NULL, memory, 0);
}

static void arenas_hand_out_separate_aligned_memory(void) {
    enum { PIECES = 3000 };
    static uint8_t *pieces[PIECES];
    static size_t sizes[PIECES];
    glk_account account;
    glk_arena arena;
    glk_account_init(&account, "test_bytes", 0);
    glk_arena_init(&arena, &account);
    for (size_t i = 0; i < PIECES; i++) {
        void *memory;
        sizes[i] = check_random(i % 100 == 0 ? 100000 : 200);
        CHECK_OK(glk_arena_take(&arena, sizes[i], &memory, NULL));
        CHECK_EQUAL((uintptr_t)memory % 8, 0);
        pieces[i] = memory;
        if (sizes[i] > 0) {
            memset(memory, (int)(i % 251), sizes[i]);
        }
    }
    for (size_t i = 0; i < PIECES; i++) {
        for (size_t k = 0; k < sizes[i]; k++) {
            CHECK_EQUAL(pieces[i][k], i % 251);
        }
    }
    CHECK(account.used > 0);
    glk_arena_free(&arena);
    CHECK_EQUAL(account.used, 0);
    glk_arena_free(&arena);
}

static void arenas_fail_without_harm(void) {
    glk_account account;
    glk_arena arena;
    void *memory = NULL;
    glk_error err = {.code = GLK_OK};
    glk_account_init(&account, "test_bytes", 20000);
    glk_arena_init(&arena, &account);
    CHECK_EQUAL(glk_arena_take(&arena, SIZE_MAX - 3, &memory, &err), GLK_ERR_MEMORY);
    CHECK_EQUAL(glk_arena_take(&arena, 30000, &memory, &err), GLK_ERR_LIMIT);
    CHECK(memory == NULL);
    CHECK_OK(glk_arena_take(&arena, 1000, &memory, &err));
    glk_alloc_fail_after(0);
    CHECK_OK(glk_arena_take(&arena, 1000, &memory, &err)); /* fits the block */
    CHECK_EQUAL(glk_arena_take(&arena, 4000, &memory, &err), GLK_ERR_MEMORY);
    CHECK_OK(glk_arena_take(&arena, 4000, &memory, &err)); /* only one allocation failed */
    glk_arena_free(&arena);
    CHECK_EQUAL(account.used, 0);
}

static void the_nth_allocation_fails(void) {
    void *memory[4] = {NULL, NULL, NULL, NULL};
    glk_alloc_fail_after(2);
    CHECK_OK(glk_alloc(NULL, 8, &memory[0], NULL));
    CHECK_OK(glk_alloc(NULL, 8, &memory[1], NULL));
    CHECK_EQUAL(glk_alloc(NULL, 8, &memory[2], NULL), GLK_ERR_MEMORY);
    CHECK_OK(glk_alloc(NULL, 8, &memory[3], NULL));
    for (size_t i = 0; i < 4; i++) {
        glk_release(NULL, memory[i], 8);
    }
}

static void vectors_keep_what_was_pushed(void) {
    typedef struct triple {
        uint32_t a, b, c;
    } triple;
    glk_account account;
    glk_vec numbers, triples;
    glk_account_init(&account, "test_bytes", 0);
    glk_vec_init(&numbers, &account, sizeof(uint32_t));
    glk_vec_init(&triples, &account, sizeof(triple));
    for (uint32_t i = 0; i < 5000; i++) {
        triple item = {i, i * i, ~i};
        CHECK_OK(glk_vec_push_u32(&numbers, i * 7, NULL));
        CHECK_OK(glk_vec_push(&triples, &item, NULL));
    }
    for (uint32_t i = 0; i < 5000; i++) {
        const triple *item = (const triple *)triples.data + i;
        CHECK_EQUAL(GLK_VEC_U32(&numbers)[i], i * 7);
        CHECK(item->a == i && item->b == i * i && item->c == ~i);
    }
    CHECK_OK(glk_vec_reserve(&numbers, 100000, NULL));
    CHECK_EQUAL(numbers.count, 5000);
    CHECK(numbers.capacity >= 105000);
    CHECK_EQUAL(GLK_VEC_U32(&numbers)[4999], 4999 * 7);
    CHECK_EQUAL(glk_vec_reserve(&numbers, UINT32_MAX - 10, NULL), GLK_ERR_MEMORY);
    glk_vec_free(&numbers);
    glk_vec_free(&triples);
    CHECK_EQUAL(account.used, 0);
}

static void vectors_survive_a_failed_growth(void) {
    glk_vec vec;
    glk_vec_init(&vec, NULL, sizeof(uint32_t));
    for (uint32_t i = 0; i < 8; i++) {
        CHECK_OK(glk_vec_push_u32(&vec, i, NULL));
    }
    glk_alloc_fail_after(0);
    CHECK_EQUAL(glk_vec_push_u32(&vec, 8, NULL), GLK_ERR_MEMORY);
    CHECK_EQUAL(vec.count, 8);
    CHECK_OK(glk_vec_push_u32(&vec, 8, NULL));
    for (uint32_t i = 0; i < 9; i++) {
        CHECK_EQUAL(GLK_VEC_U32(&vec)[i], i);
    }
    glk_vec_free(&vec);
}

static void tables_never_move_an_item(void) {
    enum { ITEMS = 20000 };
    static uint64_t *items[ITEMS];
    glk_account account;
    glk_table table;
    glk_account_init(&account, "test_bytes", 0);
    glk_table_init(&table, &account, sizeof(uint64_t));
    for (uint32_t i = 0; i < ITEMS; i++) {
        uint32_t index = 0;
        CHECK_OK(glk_table_add(&table, &index, NULL));
        CHECK_EQUAL(index, i);
        items[i] = glk_table_at(&table, i);
        CHECK_EQUAL(*items[i], 0);
        *items[i] = (uint64_t)i * i;
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        CHECK(glk_table_at(&table, i) == items[i]);
        CHECK_EQUAL(*items[i], (uint64_t)i * i);
    }
    glk_table_free(&table);
    CHECK_EQUAL(account.used, 0);
}

static void tables_survive_a_failed_growth(void) {
    glk_table table;
    uint32_t index = 0;
    glk_table_init(&table, NULL, sizeof(uint64_t));
    for (uint32_t i = 0; i < GLK_TABLE_FIRST; i++) {
        CHECK_OK(glk_table_add(&table, &index, NULL));
    }
    glk_alloc_fail_after(0);
    CHECK_EQUAL(glk_table_add(&table, &index, NULL), GLK_ERR_MEMORY);
    CHECK_EQUAL(table.count, GLK_TABLE_FIRST);
    CHECK_OK(glk_table_add(&table, &index, NULL));
    CHECK_EQUAL(index, GLK_TABLE_FIRST);
    glk_table_free(&table);
}

/* Interns `key`; hashes are cut to `hash_bits`, so that collisions are common. */
static uint32_t intern(glk_index *index, glk_vec *keys, uint32_t key, uint32_t hash_bits) {
    uint32_t id, hash = glk_hash_u32s(&key, 1, 0) & ((1u << hash_bits) - 1);
    for (glk_probe probe = glk_probe_start(index, hash); glk_probe_next(index, &probe, &id);) {
        if (GLK_VEC_U32(keys)[id] == key) {
            return id;
        }
    }
    id = keys->count;
    CHECK_OK(glk_vec_push_u32(keys, key, NULL));
    CHECK_OK(glk_index_add(index, hash, id, NULL));
    return id;
}

static void indexes_find_what_was_added(uint32_t hash_bits, uint32_t range) {
    glk_account account;
    glk_index index;
    glk_vec keys;
    uint32_t *known = check_memory(range * sizeof(uint32_t)); /* id + 1 by key */
    glk_account_init(&account, "test_bytes", 0);
    glk_index_init(&index, &account);
    glk_vec_init(&keys, &account, sizeof(uint32_t));
    for (uint32_t i = 0; i < 3 * range; i++) {
        uint32_t key = check_random(range), before = keys.count;
        uint32_t id = intern(&index, &keys, key, hash_bits);
        CHECK_EQUAL(id, known[key] != 0 ? known[key] - 1 : before);
        known[key] = id + 1;
    }
    CHECK_EQUAL(index.count, keys.count);
    CHECK((uint64_t)index.count * 2 <= (uint64_t)index.mask + 1);
    glk_index_free(&index);
    glk_vec_free(&keys);
    CHECK_EQUAL(account.used, 0);
    free(known);
}

/* Items near the one before, of which many are near the same few: all are found, and none takes many
 * steps to find, wherever the crowd is. */
static void crowded_places_cost_little(uint32_t crowd) {
    enum { COUNT = 20000, FEW = 12 };
    glk_index index;
    glk_index_init(&index, NULL);
    uint32_t *hashes = check_memory(COUNT * sizeof(uint32_t));
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t near = i % 3 == 0 ? crowd : i;
        hashes[i] = glk_hash_near(glk_hash_u32s(&i, 1, 0), near);
        CHECK_OK(glk_index_add(&index, hashes[i], i, NULL));
    }
    uint64_t looks = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t id = GLK_NONE;
        for (glk_probe probe = glk_probe_start(&index, hashes[i]);
             id != i && glk_probe_next(&index, &probe, &id);) {
            looks++;
        }
        CHECK_EQUAL(id, i);
        glk_probe place = glk_probe_start(&index, hashes[i]);
        for (; index.slots[place.at].id != i; glk_probe_step(&place, index.mask)) {
            looks++;
        }
    }
    CHECK(looks < (uint64_t)COUNT * FEW);
    glk_index_free(&index);
    free(hashes);
}

static void indexes_survive_a_failed_growth(void) {
    glk_index index;
    uint32_t id;
    uint64_t found = 0; /* a bit per id */
    glk_index_init(&index, NULL);
    glk_alloc_fail_after(0);
    CHECK_EQUAL(glk_index_add(&index, 5, 1, NULL), GLK_ERR_MEMORY);
    glk_probe probe = glk_probe_start(&index, 5);
    CHECK(!glk_probe_next(&index, &probe, &id));
    while (index.slots == NULL || (uint64_t)index.count * 2 < index.mask) {
        CHECK_OK(glk_index_add(&index, index.count % 3, index.count, NULL));
    }
    glk_alloc_fail_after(0);
    CHECK_EQUAL(glk_index_reserve(&index, NULL), GLK_ERR_MEMORY);
    for (uint32_t hash = 0; hash < 3; hash++) {
        for (probe = glk_probe_start(&index, hash); glk_probe_next(&index, &probe, &id);) {
            CHECK_EQUAL(id % 3, hash);
            found |= (uint64_t)1 << id;
        }
    }
    CHECK(index.count >= 8 && index.count < 64);
    CHECK_EQUAL(found, ((uint64_t)1 << index.count) - 1);
    glk_index_free(&index);
}

static void token_masks_agree_with_an_array(void) {
    enum { TOKENS = 1000 };
    uint32_t mask[(TOKENS + 31) / 32] = {0};
    bool expected[TOKENS] = {false};
    CHECK_EQUAL(glk_mask_words(0), 0);
    CHECK_EQUAL(glk_mask_words(32), 1);
    CHECK_EQUAL(glk_mask_words(33), 2);
    CHECK_EQUAL(glk_mask_words(UINT32_MAX), 1u << 27);
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t id = check_random(TOKENS);
        expected[id] = check_random(2) == 0;
        if (expected[id]) {
            glk_mask_set(mask, id);
        } else {
            glk_mask_clear(mask, id);
        }
    }
    for (uint32_t id = 0; id < TOKENS; id++) {
        CHECK_EQUAL(glk_mask_has(mask, id), expected[id]);
    }
}

static glk_bytes random_bytes(bool members[256]) {
    glk_bytes set = {{0}};
    memset(members, 0, 256 * sizeof *members);
    for (uint32_t i = check_random(6); i > 0; i--) {
        uint32_t low = check_random(256), high = low + check_random(256 - low);
        glk_bytes_add_range(&set, low, high);
        memset(members + low, true, (high - low + 1) * sizeof *members);
    }
    return set;
}

static void byte_sets_agree_with_an_array(void) {
    bool in_a[256], in_b[256];
    for (uint32_t round = 0; round < 500; round++) {
        glk_bytes a = random_bytes(in_a), b = random_bytes(in_b);
        glk_bytes either = glk_bytes_or(a, b), both = glk_bytes_and(a, b);
        uint32_t count = 0;
        bool equal = true;
        for (uint32_t byte = 0; byte < 256; byte++) {
            CHECK_EQUAL(glk_bytes_has(&a, (uint8_t)byte), in_a[byte]);
            CHECK_EQUAL(glk_bytes_has(&either, (uint8_t)byte), in_a[byte] || in_b[byte]);
            CHECK_EQUAL(glk_bytes_has(&both, (uint8_t)byte), in_a[byte] && in_b[byte]);
            CHECK_EQUAL(glk_bytes_rank(&a, (uint8_t)byte), count);
            count += in_a[byte] ? 1 : 0;
            equal = equal && in_a[byte] == in_b[byte];
        }
        CHECK_EQUAL(glk_bytes_count(&a), count);
        CHECK_EQUAL(glk_bytes_empty(&a), count == 0);
        CHECK_EQUAL(glk_bytes_equal(&a, &b), equal);
    }
    glk_bytes all = glk_bytes_all();
    CHECK_EQUAL(glk_bytes_count(&all), 256);
}

static void errors_are_one_line_and_never_overflow(void) {
    glk_error err = {.code = GLK_OK};
    static const char *volatile budget = "a budget's name that is longer than the record allows";
    CHECK_EQUAL(glk_fail_limit(&err, budget, 7, 5), GLK_ERR_LIMIT);
    CHECK_EQUAL(strlen(err.budget), sizeof err.budget - 1);
    CHECK_EQUAL(glk_fail(&err, GLK_ERR_STATE, "%300d", 1), GLK_ERR_STATE);
    CHECK_EQUAL(strlen(err.text), sizeof err.text - 1);
    CHECK_EQUAL(glk_fail_memory(NULL), GLK_ERR_MEMORY);
    CHECK_EQUAL(glk_fail_limit(NULL, "x", 1, 0), GLK_ERR_LIMIT);
}

int main(void) {
    accounts_refuse_to_pass_their_limit();
    memory_is_zeroed();
    arenas_hand_out_separate_aligned_memory();
    arenas_fail_without_harm();
    the_nth_allocation_fails();
    vectors_keep_what_was_pushed();
    vectors_survive_a_failed_growth();
    tables_never_move_an_item();
    tables_survive_a_failed_growth();
    indexes_find_what_was_added(32 - 1, 2000);
    indexes_find_what_was_added(4, 300);
    crowded_places_cost_little(0);
    crowded_places_cost_little(5000);
    crowded_places_cost_little(UINT32_MAX / 2);
    indexes_survive_a_failed_growth();
    token_masks_agree_with_an_array();
    byte_sets_agree_with_an_array();
    errors_are_one_line_and_never_overflow();
    return check_done();
}
