/* Microkernels that reach the roofs of a processor: fused multiply-adds per datatype, and streams through memory.
 *
 * bench_kernel does one job: a kernel, how often, and which part of the arrays (of how many) a stream is to move. It says
 * how many operations it did or bytes it moved, and whether the result is the one that follows: 0 operations mean that
 * the processor has no such datatype. A multiply-add is two operations; bytes are those read and those written.
 *
 * Each kernel keeps several independent sums in registers, so that the latency of an instruction does not count. The
 * compiler must contract a * b + c to one instruction (-ffp-contract=fast), and must not turn loops into library calls
 * (-fno-builtin).
 */
#include <stddef.h>
#include <stdint.h>

#ifndef BENCH_STREAM_BYTES
#define BENCH_STREAM_BYTES 65536 /* the size of each of the three arrays */
#endif

enum { FP32 = 0, FP64 = 1, FP16 = 2, INT8 = 3, FILL = 4, READ = 5, COPY = 6, TRIAD = 7 };

#define SUMS 12 /* what hides a latency of four to six cycles on two units, and fits into sixteen registers */

#if defined(__AVX512F__)
#define VECTOR 64
#define HELD "v"
#elif defined(__AVX__)
#define VECTOR 32
#define HELD "x"
#elif defined(__SSE2__)
#define VECTOR 16
#define HELD "x"
#elif defined(__ARM_NEON)
#define VECTOR 16
#define HELD "w"
#endif

/* x = x * 0.5 + 1 ends at 2 exactly, in every one of these types and however it rounds. */
#ifdef VECTOR
#define LANES(TYPE) (VECTOR / sizeof(TYPE))
#define VECTOR_OF(TYPE, NAME) typedef TYPE NAME __attribute__((vector_size(VECTOR)))
#else
#define LANES(TYPE) 1
#define VECTOR_OF(TYPE, NAME) typedef TYPE NAME __attribute__((vector_size(sizeof(TYPE))))
#endif

#define FUSED(NAME, TYPE)                                                                                             \
    VECTOR_OF(TYPE, NAME##_vector);                                                                                   \
    static int64_t NAME(int32_t repetitions, int64_t *right) {                                                        \
        volatile TYPE half = (TYPE)0.5, one = (TYPE)1;                                                                \
        NAME##_vector sums[SUMS], factor, addend;                                                                     \
        size_t lane, number;                                                                                          \
        int32_t step;                                                                                                 \
        for (lane = 0; lane < LANES(TYPE); lane++) factor[lane] = half, addend[lane] = one;                           \
        for (number = 0; number < SUMS; number++) sums[number] = addend;                                              \
        for (step = 0; step < repetitions; step++) {                                                                  \
            _Pragma("GCC unroll 12") for (number = 0; number < SUMS; number++) sums[number] =                         \
                sums[number] * factor + addend;                                                                       \
        }                                                                                                             \
        *right = 1;                                                                                                   \
        for (number = 0; number < SUMS; number++)                                                                     \
            for (lane = 0; lane < LANES(TYPE); lane++) *right &= sums[number][lane] == (TYPE)2;                       \
        return (int64_t)repetitions * SUMS * (int64_t)LANES(TYPE) * 2;                                                \
    }

FUSED(fp32, float)
FUSED(fp64, double)
#if defined(__AVX512FP16__) || defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
#define HAS_FP16 1
FUSED(fp16, _Float16)
#endif

#define __MM_MALLOC_H /* of immintrin.h: it would include stdlib.h, and there is no C library */

/* Products of bytes, added in 32 bits: by the widest instruction that the processor has for it. Every product is 1. */
#if defined(__AVX512VNNI__) && defined(__AVX512F__)
#include <immintrin.h>
typedef __m512i bytes_vector;
#define ONES _mm512_set1_epi8(1)
#define DOT(sum, a, b) sum = _mm512_dpbusd_epi32(sum, a, b)
#define PER_LANE 4
#elif defined(__AVXVNNI__)
#include <immintrin.h>
typedef __m256i bytes_vector;
#define ONES _mm256_set1_epi8(1)
#define DOT(sum, a, b) sum = _mm256_dpbusd_avx_epi32(sum, a, b)
#define PER_LANE 4
#elif defined(__AVX2__)
#include <immintrin.h>
typedef __m256i bytes_vector;
#define ONES _mm256_set1_epi8(1)
#define DOT(sum, a, b)                                                                                                \
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)))
#define PER_LANE 4
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
typedef int8x16_t bytes_vector;
#define ONES vdupq_n_s8(1)
#define DOT(sum, a, b) sum = (int8x16_t)vdotq_s32((int32x4_t)sum, a, b)
#define PER_LANE 4
#elif defined(__ARM_NEON)
#include <arm_neon.h>
typedef int8x16_t bytes_vector;
#define ONES vdupq_n_s8(1)
#define DOT(sum, a, b)                                                                                                \
    sum = (int8x16_t)vpadalq_s16(vpadalq_s16((int32x4_t)sum, vmull_s8(vget_low_s8(a), vget_low_s8(b))),               \
                                 vmull_s8(vget_high_s8(a), vget_high_s8(b)))
#define PER_LANE 4
#endif

#ifdef DOT
static int64_t int8(int32_t repetitions, int64_t *right) {
    union { bytes_vector vector; int32_t lanes[sizeof(bytes_vector) / 4]; } seen;
    bytes_vector sums[SUMS], a = ONES, b = ONES;
    size_t lane, number;
    int32_t step;
    for (number = 0; number < SUMS; number++) {
        for (lane = 0; lane < sizeof(bytes_vector) / 4; lane++) seen.lanes[lane] = 0;
        sums[number] = seen.vector;
    }
    for (step = 0; step < repetitions; step++) {
        _Pragma("GCC unroll 12") for (number = 0; number < SUMS; number++) {
            __asm__ volatile("" : "+" HELD(b)); /* the product is not known to be the same each time */
            DOT(sums[number], a, b);
        }
    }
    *right = 1;
    for (number = 0; number < SUMS; number++) {
        seen.vector = sums[number];
        for (lane = 0; lane < sizeof(bytes_vector) / 4; lane++) *right &= seen.lanes[lane] == repetitions * PER_LANE;
    }
    return (int64_t)repetitions * SUMS * (int64_t)sizeof(bytes_vector) * 2;
}
#else
static int64_t int8(int32_t repetitions, int64_t *right) {
    volatile int8_t unit = 1;
    int32_t sums[4] = {0, 0, 0, 0}, a = unit, b = unit, step;
    size_t number;
    for (step = 0; step < repetitions; step++) {
        _Pragma("GCC unroll 4") for (number = 0; number < 4; number++) {
            __asm__ volatile("" : "+r"(b));
            sums[number] += (int8_t)a * (int8_t)b;
        }
    }
    *right = 1;
    for (number = 0; number < 4; number++) *right &= sums[number] == repetitions;
    return (int64_t)repetitions * 4 * 2;
}
#endif

/* Streams: three arrays of whole cache lines, of which a job takes the part-th of so many parts. */
#define LINE 64
#define LINES (BENCH_STREAM_BYTES / LINE)
typedef float line_vector __attribute__((vector_size(LINE)));
static line_vector first[LINES] __attribute__((aligned(64)));
static line_vector second[LINES] __attribute__((aligned(64)));
static line_vector third[LINES] __attribute__((aligned(64)));

static int64_t stream(int32_t kernel, int32_t repetitions, size_t begin, size_t end, int64_t *right) {
    volatile float three = 3;
    line_vector sums[4];
    const float factor = three;
    int64_t moved = 0;
    int32_t step;
    size_t at, lane;
    for (at = 0; at < 4; at++)
        for (lane = 0; lane < 16; lane++) sums[at][lane] = 0;
    *right = end > begin;
    for (step = 0; step < repetitions; step++) {
        if (kernel == FILL)
            for (at = begin; at < end; at++)
                for (lane = 0; lane < 16; lane++) first[at][lane] = 0, second[at][lane] = 1, third[at][lane] = 2;
        else if (kernel == READ) {
            for (at = begin; at + 3 < end; at += 4) {
                sums[0] += second[at];
                sums[1] += second[at + 1];
                sums[2] += second[at + 2];
                sums[3] += second[at + 3];
            }
        } else if (kernel == COPY)
            for (at = begin; at < end; at++) first[at] = second[at];
        else
            for (at = begin; at < end; at++) first[at] = second[at] + third[at] * factor;
        __asm__ volatile("" : : : "memory"); /* the next repetition is done, too */
        moved += (int64_t)(end - begin) * LINE * (kernel == FILL || kernel == TRIAD ? 3 : kernel == COPY ? 2 : 1);
    }
    if (kernel == READ) *right &= sums[0][0] > 0;
    for (at = begin; at < end; at += 997) {
        if (kernel == COPY) *right &= first[at][7] == 1;
        if (kernel == TRIAD) *right &= first[at][7] == 7;
    }
    return moved;
}

/* job: kernel, repetitions, part, parts. said: operations or bytes, whether the result is right, bytes of an array. */
void bench_kernel(const int32_t job[4], int64_t said[4]) {
    size_t parts = (size_t)(job[3] > 0 ? job[3] : 1), part = (size_t)job[2];
    said[0] = 0;
    said[1] = 1;
    said[2] = (int64_t)sizeof first;
    said[3] = 0;
    switch (job[0]) {
    case FP32: said[0] = fp32(job[1], &said[1]); break;
    case FP64: said[0] = fp64(job[1], &said[1]); break;
#ifdef HAS_FP16
    case FP16: said[0] = fp16(job[1], &said[1]); break;
#endif
    case INT8: said[0] = int8(job[1], &said[1]); break;
    case FILL:
    case READ:
    case COPY:
    case TRIAD:
        said[0] = stream(job[0], job[1], LINES * part / parts, LINES * (part + 1) / parts, &said[1]);
        break;
    default: break;
    }
}
