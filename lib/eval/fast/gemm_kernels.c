/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of matrix products with AVX2 and AVX-512. A tile of sums stays in registers.
 * Each sum is computed in order of depth, as in gemm.c, so the results are bit-identical. */
#include "eval/linear/gemm.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Defines a kernel for tiles of `rows` rows (a constant after inlining) and COLS vectors. */
#define TILE(name, attributes, V, LANES, COLS, SPLAT, LOAD, STORE, MULADD)                        \
  static inline __attribute__((always_inline)) attributes void name##_rows(                       \
      uint64_t depth, const double *a, const double *b, double *sums, const unsigned rows,        \
      const unsigned height) {                                                                    \
    V acc[8][COLS];                                                                               \
    _Pragma("GCC unroll 8") for (unsigned i = 0; i < rows; ++i) {                                 \
      _Pragma("GCC unroll 8") for (unsigned j = 0; j < (COLS); ++j) {                             \
        acc[i][j] = LOAD(sums + i * SURG__GEMM_BLOCK + j * (LANES));                              \
      }                                                                                           \
    }                                                                                             \
    for (uint64_t k = 0; k < depth; ++k, a += height, b += (COLS) * (LANES)) {                    \
      V right[COLS];                                                                              \
      _Pragma("GCC unroll 8") for (unsigned j = 0; j < (COLS); ++j) {                             \
        right[j] = LOAD(b + j * (LANES));                                                         \
      }                                                                                           \
      _Pragma("GCC unroll 8") for (unsigned i = 0; i < rows; ++i) {                               \
        V left = SPLAT(a[i]);                                                                     \
        _Pragma("GCC unroll 8") for (unsigned j = 0; j < (COLS); ++j) {                           \
          acc[i][j] = MULADD(left, right[j], acc[i][j]);                                          \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
    _Pragma("GCC unroll 8") for (unsigned i = 0; i < rows; ++i) {                                 \
      _Pragma("GCC unroll 8") for (unsigned j = 0; j < (COLS); ++j) {                             \
        STORE(sums + i * SURG__GEMM_BLOCK + j * (LANES), acc[i][j]);                              \
      }                                                                                           \
    }                                                                                             \
  }

#define ROWS(name, n, height) \
  case n:                     \
    name##_rows(depth, a, b, sums, n, height); \
    break;

#define ROWS_TO_3(name, height) ROWS(name, 1, height) ROWS(name, 2, height) ROWS(name, 3, height)
#define ROWS_TO_7(name, height)                                                          \
  ROWS_TO_3(name, height)                                                                \
  ROWS(name, 4, height) ROWS(name, 5, height) ROWS(name, 6, height) ROWS(name, 7, height)

/* Defines the kernel of a tile of `height` rows; FEWER: the cases of tiles with fewer. */
#define TILE_OF(height, FEWER, name, attributes)                                             \
  attributes static void name(uint64_t depth, const double *a, const double *b, double *sums, \
                              unsigned rows) {                                               \
    switch (rows) {                                                                          \
      FEWER(name, height)                                                                    \
      default:                                                                               \
        name##_rows(depth, a, b, sums, height, height);                                      \
    }                                                                                        \
  }

/* Defines the product of a row (surg__gemm_row): COLS vectors of sums stay in registers. */
#define ROW(name, attributes, V, LANES, COLS, SPLAT, LOAD, STORE, MULADD, WIDEN)                  \
  attributes static void name(uint64_t depth, uint64_t columns, const double *a, size_t a_step,   \
                              const float *b, size_t b_step, double *sums) {                      \
    const uint64_t width = (COLS) * (LANES);                                                      \
    for (; columns >= width; columns -= width, b += width, sums += width) {                       \
      V acc[COLS];                                                                                \
      _Pragma("GCC unroll 8") for (unsigned j = 0; j < (COLS); ++j) {                             \
        acc[j] = LOAD(sums + j * (LANES));                                                        \
      }                                                                                           \
      for (uint64_t k = 0; k < depth; ++k) {                                                      \
        const V left = SPLAT(a[k * a_step]);                                                      \
        _Pragma("GCC unroll 8") for (unsigned j = 0; j < (COLS); ++j) {                           \
          acc[j] = MULADD(left, WIDEN(b + k * b_step + j * (LANES)), acc[j]);                     \
        }                                                                                         \
      }                                                                                           \
      _Pragma("GCC unroll 8") for (unsigned j = 0; j < (COLS); ++j) {                             \
        STORE(sums + j * (LANES), acc[j]);                                                        \
      }                                                                                           \
    }                                                                                             \
    surg__gemm_plain_row(depth, columns, a, a_step, b, b_step, sums);                             \
  }

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
TILE(avx2_fused, AVX2, __m256d, 4, 2, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd,
     _mm256_fmadd_pd)
TILE_OF(4, ROWS_TO_3, avx2_fused, AVX2)
#define WIDEN_4(at) _mm256_cvtps_pd(_mm_loadu_ps(at))
ROW(avx2_row, AVX2, __m256d, 4, 6, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd,
    _mm256_fmadd_pd, WIDEN_4)

#define AVX512 __attribute__((target("avx512f")))
TILE(avx512_fused, AVX512, __m512d, 8, 3, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd,
     _mm512_fmadd_pd)
TILE_OF(8, ROWS_TO_7, avx512_fused, AVX512)
#define WIDEN_8(at) _mm512_cvtps_pd(_mm256_loadu_ps(at))
ROW(avx512_row, AVX512, __m512d, 8, 6, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd,
    _mm512_fmadd_pd, WIDEN_8)
#endif

const surg__gemm_kernel *surg__gemm_fast_at(unsigned i) {
#if defined(__x86_64__)
  static const surg__gemm_kernel avx512 = {"avx512", 8, 24, avx512_fused, avx512_row};
  static const surg__gemm_kernel avx2 = {"avx2", 4, 8, avx2_fused, avx2_row};
  if (__builtin_cpu_supports("avx512f") && i-- == 0) return &avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && i-- == 0) return &avx2;
#endif
  (void)i;
  return NULL;
}
