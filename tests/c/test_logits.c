/* test_logits.c -- every kernel, type, shape and density against the obvious loop, bit for bit,
 * with guards around all that must not be written. */
#include <math.h>

#include "check.h"
#include "common.h"

static const char *const kernels[] = {"portable", "avx2", "avx512"};
static const glk_dtype dtypes[] = {GLK_FLOAT32, GLK_FLOAT16, GLK_BFLOAT16, GLK_FLOAT64};

typedef struct shape {
    size_t rows, columns, stride, words, mask_stride;
} shape;

static size_t item_bytes(glk_dtype dtype) {
    return dtype == GLK_FLOAT64 ? 8 : dtype == GLK_FLOAT32 ? 4 : 2;
}

/* The bit pattern of minus infinity. */
static uint64_t forbidden_pattern(glk_dtype dtype) {
    switch (dtype) {
    case GLK_FLOAT32: return 0xFF800000u;
    case GLK_FLOAT16: return 0xFC00u;
    case GLK_BFLOAT16: return 0xFF80u;
    default: return 0xFFF0000000000000u;
    }
}

/* The obvious loop; items are little-endian in memory. */
static void apply_slowly(uint8_t *logits, glk_dtype dtype, const shape *of, const uint32_t *masks) {
    size_t bytes = item_bytes(dtype);
    for (size_t r = 0; r < of->rows; r++) {
        for (size_t c = 0; c < of->columns; c++) {
            bool has_word = c / 32 < of->words;
            if (has_word && (masks[r * of->mask_stride + c / 32] >> (c % 32) & 1u) != 0) {
                continue;
            }
            for (size_t b = 0; b < bytes; b++) {
                logits[(r * of->stride + c) * bytes + b] =
                    (uint8_t)(forbidden_pattern(dtype) >> (8 * b));
            }
        }
    }
}

/* Words of all ones, of none, and between, so that bits are set about `density` in 16. */
static uint32_t random_word(uint32_t density) {
    uint32_t kind = check_random(4), word = 0;
    if (kind == 0) {
        return check_random(16) < density ? UINT32_MAX : 0;
    }
    for (uint32_t bit = 0; bit < 32; bit++) {
        word |= (check_random(16) < density ? 1u : 0u) << bit;
    }
    return word;
}

static void fill_random(uint8_t *memory, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        memory[i] = (uint8_t)check_random(256);
    }
}

/* Whether an entry of a row is anything but minus infinity. */
static bool anything_left(const uint8_t *row, glk_dtype dtype, size_t columns) {
    uint64_t pattern = forbidden_pattern(dtype);
    size_t bytes = item_bytes(dtype);
    for (size_t c = 0; c < columns; c++) {
        uint64_t item = 0;
        memcpy(&item, row + c * bytes, bytes);
        if (item != pattern) {
            return true;
        }
    }
    return false;
}

/* A copy of `logits` is what forbidding in place has made of them, wherever its rows lie. */
static void check_copy(const uint8_t *logits, const uint8_t *expected, glk_dtype dtype,
                       const shape *of, const uint32_t *masks, uint32_t threads) {
    size_t bytes = item_bytes(dtype), stride = of->columns + 3, all = of->rows * stride * bytes;
    uint8_t *copy = check_memory(all);
    bool *left = check_memory(of->rows * sizeof *left);
    memset(copy, 0x5A, all);
    glk_logits_copy(logits, of->stride, copy, stride, dtype, of->rows, of->columns, masks,
                    of->words, of->mask_stride, left, threads);
    for (size_t r = 0; r < of->rows; r++) {
        const uint8_t *row = copy + r * stride * bytes, *wanted = expected + r * of->stride * bytes;
        CHECK(memcmp(row, wanted, of->columns * bytes) == 0);
        CHECK_EQUAL(left[r], anything_left(wanted, dtype, of->columns));
        for (size_t i = of->columns * bytes; i < stride * bytes; i++) {
            CHECK_EQUAL(row[i], 0x5A);
        }
    }
    free(copy);
    free(left);
}

/* The memory ends with the last column, so that the sanitizer sees a step further. */
static void check_shape(const shape *of, glk_dtype dtype, uint32_t density) {
    size_t items = of->rows == 0 ? 0 : (of->rows - 1) * of->stride + of->columns;
    size_t bytes = items * item_bytes(dtype);
    size_t mask_words = of->rows == 0 ? 0 : (of->rows - 1) * of->mask_stride + of->words;
    uint8_t *logits = check_memory(bytes), *expected = check_memory(bytes);
    uint32_t *masks = check_memory(mask_words * sizeof(uint32_t));
    fill_random(logits, bytes);
    memcpy(expected, logits, bytes);
    for (size_t w = 0; w < mask_words; w++) {
        masks[w] = random_word(density);
    }
    apply_slowly(expected, dtype, of, masks);
    check_copy(logits, expected, dtype, of, masks, 2);
    glk_logits_apply(logits, dtype, of->rows, of->columns, of->stride, masks, of->words,
                     of->mask_stride);
    CHECK(memcmp(logits, expected, bytes) == 0);
    free(logits);
    free(expected);
    free(masks);
}

static void check_kernel(void) {
    static const size_t columns[] = {0,  1,  2,  15, 16,  17,  31,  32,   33,  48,
                                     63, 64, 65, 96, 100, 127, 128, 1000, 4099};
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        size_t exact = (columns[c] + 31) / 32;
        for (size_t d = 0; d < 4; d++) {
            for (uint32_t density = 0; density <= 16; density += 4) {
                shape one = {1, columns[c], columns[c], exact, exact};
                shape many = {3, columns[c], columns[c] + 5, exact, exact + 2};
                shape narrow = {2, columns[c], columns[c], exact / 2, exact / 2};
                shape wide = {2, columns[c], columns[c] + 1, exact + 3, exact + 3};
                check_shape(&one, dtypes[d], density);
                check_shape(&many, dtypes[d], density);
                check_shape(&narrow, dtypes[d], density);
                check_shape(&wide, dtypes[d], density);
            }
        }
    }
    shape long_rows = {5, 70000, 70000, 2100, 2100};
    check_shape(&long_rows, GLK_FLOAT32, 1);
    check_shape(&long_rows, GLK_BFLOAT16, 15);
    shape none = {0, 100, 100, 4, 4};
    check_shape(&none, GLK_FLOAT32, 8);
}

/* What lies past `columns`, in a row's slack and behind the last row, is never touched. */
static void check_guards(void) {
    enum { ROWS = 3, COLUMNS = 70, STRIDE = 75 };
    for (size_t d = 0; d < 4; d++) {
        size_t bytes = item_bytes(dtypes[d]);
        uint32_t masks[ROWS * 3] = {0};
        uint8_t *logits = check_memory(ROWS * STRIDE * bytes);
        memset(logits, 0x5A, ROWS * STRIDE * bytes);
        glk_logits_apply(logits, dtypes[d], ROWS, COLUMNS, STRIDE, masks, 3, 3);
        for (size_t i = 0; i < ROWS * STRIDE * bytes; i++) {
            bool slack = i / bytes % STRIDE >= COLUMNS;
            CHECK_EQUAL(logits[i] == 0x5A, slack);
        }
        free(logits);
    }
}

/* What other processors left as minus infinity is no choice; not a number is none of their doing. */
static void check_left(void) {
    uint32_t mask[2] = {1u << 3 | 1u << 9, 1u << 31};
    float from[64], to[64];
    bool left;
    for (size_t i = 0; i < 64; i++) {
        from[i] = i == 3 || i == 9 || i == 63 ? -INFINITY : 0;
    }
    glk_logits_copy(from, 64, to, 64, GLK_FLOAT32, 1, 64, mask, 2, 2, &left, 1);
    CHECK(!left);
    from[63] = NAN;
    glk_logits_copy(from, 64, to, 64, GLK_FLOAT32, 1, 64, mask, 2, 2, &left, 1);
    CHECK(left);
    glk_logits_copy(from, 64, to, 64, GLK_FLOAT32, 1, 63, mask, 2, 2, &left, 1);
    CHECK(!left);
}

/* Large enough to be shared out to threads. */
static void check_threads(void) {
    enum { ROWS = 64, COLUMNS = 80000 };
    shape large = {ROWS, COLUMNS, COLUMNS, COLUMNS / 32, COLUMNS / 32};
    check_shape(&large, GLK_FLOAT32, 8);
}

static void kernels_are_chosen_by_name(void) {
    CHECK(!glk_logits_force_kernel("abacus"));
    CHECK(glk_logits_force_kernel(NULL));
    const char *automatic = glk_logits_kernel();
    CHECK(glk_logits_force_kernel("portable"));
    CHECK(strcmp(glk_logits_kernel(), "portable") == 0);
    CHECK(!glk_logits_force_kernel("abacus"));
    CHECK(strcmp(glk_logits_kernel(), "portable") == 0);
    CHECK(glk_logits_force_kernel(NULL));
    CHECK(strcmp(glk_logits_kernel(), automatic) == 0);
}

int main(void) {
    CHECK(glk_logits_kernel() != NULL);
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        if (!glk_logits_force_kernel(kernels[k])) {
            (void)printf("(no %s here) ", kernels[k]);
            continue;
        }
        check_kernel();
        check_guards();
        check_left();
    }
    kernels_are_chosen_by_name();
    check_threads();
    return check_done();
}
