/* logits.c -- forbidding entries of logits, see gramlock.h.  Tested by tests/c/test_logits.c.
 *
 * A row is taken one mask word (32 columns) at a time.  A word of ones is skipped.  Of any other,
 * vector units store all forbidden lanes at once by masked stores, so that the cost hardly depends
 * on the density; where they have none (16-bit lanes on AVX2, and the portable code) a clear word
 * is filled whole and a mixed one lane by lane.  Only forbidden entries are ever written: another
 * thread may read the allowed ones meanwhile.
 *
 * The kernel is chosen at the first call by what the machine offers.  A row of 128,256 float32
 * costs 1 to 12 microseconds with either vector unit, and 3 to 90 without.
 *
 * A copy with forbidden entries goes block by block, each small enough to be forbidden while it is
 * still in the first cache; a block without a permitted entry is not even read. */
#include <math.h>

#include "batch.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define GLK_X86_KERNELS 1
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw")))
#endif

enum { FLOAT16_MINUS_INFINITY = 0xFC00, BFLOAT16_MINUS_INFINITY = 0xFF80 };

/* Each function treats `words` whole words of the mask, so 32 * words entries. */
typedef struct kernel {
    const char *name;
    void (*half)(uint16_t *row, const uint32_t *mask, size_t words, uint16_t value);
    void (*single)(float *row, const uint32_t *mask, size_t words);
    void (*dual)(double *row, const uint32_t *mask, size_t words);
} kernel;

/* ---- portable ---- */

/* Writes `value` at every clear bit of `mask`: dense parts in one piece, others bit by bit. */
#define FORBID_WORDS(row, mask, words, value)                                      \
    for (size_t w = 0; w < (words); w++) {                                         \
        uint32_t forbidden = ~(mask)[w];                                           \
        if (forbidden == UINT32_MAX) {                                             \
            for (uint32_t i = 0; i < 32; i++) {                                    \
                (row)[32 * w + i] = (value);                                       \
            }                                                                      \
            continue;                                                              \
        }                                                                          \
        for (; forbidden != 0; forbidden &= forbidden - 1) {                       \
            (row)[32 * w + (size_t)__builtin_ctz(forbidden)] = (value);            \
        }                                                                          \
    }

static void half_portable(uint16_t *row, const uint32_t *mask, size_t words, uint16_t value) {
    FORBID_WORDS(row, mask, words, value)
}

static void single_portable(float *row, const uint32_t *mask, size_t words) {
    FORBID_WORDS(row, mask, words, -INFINITY)
}

static void dual_portable(double *row, const uint32_t *mask, size_t words) {
    FORBID_WORDS(row, mask, words, -(double)INFINITY)
}

static const kernel portable = {"portable", half_portable, single_portable, dual_portable};

#ifdef GLK_X86_KERNELS

/* ---- AVX2: masked stores for 32 and 64 bits ---- */

AVX2 static void half_avx2(uint16_t *row, const uint32_t *mask, size_t words, uint16_t value) {
    FORBID_WORDS(row, mask, words, value)
}

AVX2 static void single_avx2(float *row, const uint32_t *mask, size_t words) {
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256 value = _mm256_set1_ps(-INFINITY);
    for (size_t w = 0; w < words; w++) {
        uint32_t forbidden = ~mask[w];
        for (float *at = row + 32 * w; forbidden != 0; forbidden >>= 8, at += 8) {
            __m256i lanes = _mm256_and_si256(_mm256_set1_epi32((int)(forbidden & 0xFF)), bits);
            _mm256_maskstore_ps(at, _mm256_cmpeq_epi32(lanes, bits), value);
        }
    }
}

AVX2 static void dual_avx2(double *row, const uint32_t *mask, size_t words) {
    const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8);
    const __m256d value = _mm256_set1_pd(-(double)INFINITY);
    for (size_t w = 0; w < words; w++) {
        uint32_t forbidden = ~mask[w];
        for (double *at = row + 32 * w; forbidden != 0; forbidden >>= 4, at += 4) {
            __m256i lanes = _mm256_and_si256(_mm256_set1_epi64x((int64_t)(forbidden & 0xF)), bits);
            _mm256_maskstore_pd(at, _mm256_cmpeq_epi64(lanes, bits), value);
        }
    }
}

static const kernel avx2 = {"avx2", half_avx2, single_avx2, dual_avx2};

/* ---- AVX-512: masked stores for every width ---- */

AVX512 static void half_avx512(uint16_t *row, const uint32_t *mask, size_t words, uint16_t value) {
    const __m512i values = _mm512_set1_epi16((short)value);
    for (size_t w = 0; w < words; w++) {
        uint32_t forbidden = ~mask[w];
        if (forbidden != 0) {
            _mm512_mask_storeu_epi16(row + 32 * w, (__mmask32)forbidden, values);
        }
    }
}

AVX512 static void single_avx512(float *row, const uint32_t *mask, size_t words) {
    const __m512 value = _mm512_set1_ps(-INFINITY);
    for (size_t w = 0; w < words; w++) {
        uint32_t forbidden = ~mask[w];
        if (forbidden != 0) {
            _mm512_mask_storeu_ps(row + 32 * w, (__mmask16)(forbidden & 0xFFFF), value);
            _mm512_mask_storeu_ps(row + 32 * w + 16, (__mmask16)(forbidden >> 16), value);
        }
    }
}

AVX512 static void dual_avx512(double *row, const uint32_t *mask, size_t words) {
    const __m512d value = _mm512_set1_pd(-(double)INFINITY);
    for (size_t w = 0; w < words; w++) {
        uint32_t forbidden = ~mask[w];
        for (double *at = row + 32 * w; forbidden != 0; forbidden >>= 8, at += 8) {
            _mm512_mask_storeu_pd(at, (__mmask8)(forbidden & 0xFF), value);
        }
    }
}

static const kernel avx512 = {"avx512", half_avx512, single_avx512, dual_avx512};

#endif

/* ---- choice ---- */

/* Best first. */
static uint32_t runnable_kernels(const kernel *found[3]) {
    uint32_t count = 0;
#ifdef GLK_X86_KERNELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
        found[count++] = &avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        found[count++] = &avx2;
    }
#endif
    found[count++] = &portable;
    return count;
}

static _Atomic(const kernel *) chosen;

static const kernel *current_kernel(void) {
    const kernel *current = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (GLK_UNLIKELY(current == NULL)) {
        const kernel *found[3];
        (void)runnable_kernels(found);
        current = found[0];
        atomic_store_explicit(&chosen, current, memory_order_relaxed);
    }
    return current;
}

const char *glk_logits_kernel(void) { return current_kernel()->name; }

bool glk_logits_force_kernel(const char *name) {
    const kernel *found[3];
    uint32_t count = runnable_kernels(found);
    for (uint32_t i = 0; i < count; i++) {
        if (name == NULL || strcmp(name, found[i]->name) == 0) {
            atomic_store_explicit(&chosen, found[i], memory_order_relaxed);
            return true;
        }
    }
    return false;
}

/* ---- rows ---- */

/* Forbids what is left of a row: the columns of the mask word that the row's end cuts, and the
 * columns without a mask word. */
#define FORBID_REST(row, columns, mask, words, value)                              \
    for (size_t i = 32 * whole_words(columns, words); i < (columns); i++) {        \
        if (i / 32 >= (words) || ((mask)[i / 32] >> (i % 32) & 1u) == 0) {         \
            (row)[i] = (value);                                                    \
        }                                                                          \
    }

static size_t whole_words(size_t columns, size_t words) {
    return columns / 32 < words ? columns / 32 : words;
}

static void forbid_row(const kernel *with, void *row, glk_dtype dtype, size_t columns,
                       const uint32_t *mask, size_t words) {
    if (dtype == GLK_FLOAT32) {
        with->single(row, mask, whole_words(columns, words));
        FORBID_REST((float *)row, columns, mask, words, -INFINITY)
    } else if (dtype == GLK_FLOAT64) {
        with->dual(row, mask, whole_words(columns, words));
        FORBID_REST((double *)row, columns, mask, words, -(double)INFINITY)
    } else {
        uint16_t value = dtype == GLK_FLOAT16 ? FLOAT16_MINUS_INFINITY : BFLOAT16_MINUS_INFINITY;
        with->half(row, mask, whole_words(columns, words), value);
        FORBID_REST((uint16_t *)row, columns, mask, words, value)
    }
}

static const size_t item_bytes[] = {
    [GLK_FLOAT32] = 4, [GLK_FLOAT16] = 2, [GLK_BFLOAT16] = 2, [GLK_FLOAT64] = 8};

void glk_logits_apply(void *logits, glk_dtype dtype, size_t rows, size_t columns, size_t stride,
                      const uint32_t *masks, size_t words, size_t mask_stride) {
    const kernel *with = current_kernel();
    for (size_t r = 0; r < rows; r++) {
        forbid_row(with, (char *)logits + r * stride * item_bytes[dtype], dtype, columns,
                   masks + r * mask_stride, words);
    }
}

/* ---- copies ---- */

enum { BLOCK_WORDS = 64 }; /* of the mask: 8 KiB of float32 */

/* Copies below this many bytes are not worth a second thread: memory is quick, and the threads of
 * whoever computed the scores still spin and keep ours waiting. */
static const size_t shared_bytes = (size_t)16 << 20;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static bool any_set(const uint32_t *mask, size_t words) {
    uint32_t all = 0;
    for (size_t w = 0; w < words; w++) {
        all |= mask[w];
    }
    return all != 0;
}

/* Whether the entry is anything but minus infinity; not a number counts, too. */
static bool is_open(const void *row, glk_dtype dtype, size_t i) {
    switch (dtype) {
    case GLK_FLOAT32: return ((const float *)row)[i] != -INFINITY;
    case GLK_FLOAT64: return ((const double *)row)[i] != -(double)INFINITY;
    case GLK_FLOAT16: return ((const uint16_t *)row)[i] != FLOAT16_MINUS_INFINITY;
    default: return ((const uint16_t *)row)[i] != BFLOAT16_MINUS_INFINITY;
    }
}

/* Whether some permitted entry can still be chosen; mostly the first one answers it. */
static bool something_left(const void *row, glk_dtype dtype, size_t columns, const uint32_t *mask,
                           size_t words) {
    for (size_t w = 0; w < words && 32 * w < columns; w++) {
        for (uint32_t bits = mask[w]; bits != 0; bits &= bits - 1) {
            size_t i = 32 * w + (size_t)__builtin_ctz(bits);
            if (i < columns && is_open(row, dtype, i)) {
                return true;
            }
        }
    }
    return false;
}

typedef struct copying {
    const kernel *with;
    const char *from;
    char *to;
    glk_dtype dtype;
    size_t columns, from_stride, to_stride, words, mask_stride;
    const uint32_t *masks;
    bool *left;
} copying;

static void copy_row(void *context, size_t row) {
    const copying *self = context;
    size_t item = item_bytes[self->dtype];
    const char *from = self->from + row * self->from_stride * item;
    char *to = self->to + row * self->to_stride * item;
    const uint32_t *mask = self->masks + row * self->mask_stride;
    for (size_t w = 0; 32 * w < self->columns; w += BLOCK_WORDS) {
        size_t columns = least(self->columns - 32 * w, (size_t)32 * BLOCK_WORDS);
        size_t first = least(w, self->words); /* a row may be wider than its mask */
        size_t words = least(self->words - first, BLOCK_WORDS), at = 32 * w * item;
        if (any_set(mask + first, words)) {
            memcpy(to + at, from + at, columns * item);
        }
        forbid_row(self->with, to + at, self->dtype, columns, mask + first, words);
    }
    self->left[row] = something_left(to, self->dtype, self->columns, mask, self->words);
}

void glk_logits_copy(const void *from, size_t from_stride, void *to, size_t to_stride,
                     glk_dtype dtype, size_t rows, size_t columns, const uint32_t *masks,
                     size_t words, size_t mask_stride, bool *left, uint32_t threads) {
    copying job = {.with = current_kernel(),
                   .from = from,
                   .to = to,
                   .dtype = dtype,
                   .columns = columns,
                   .from_stride = from_stride,
                   .to_stride = to_stride,
                   .words = words,
                   .mask_stride = mask_stride,
                   .masks = masks,
                   .left = left};
    bool worth_it = rows * columns * item_bytes[dtype] >= shared_bytes;
    glk_batch_run(copy_row, &job, rows, worth_it ? threads : 1);
}
