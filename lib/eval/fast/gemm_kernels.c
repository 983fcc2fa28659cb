/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of matrix products: tiles of sums that stay in registers, one variant for each
 * width of vectors. Each sum is made in the order of the depth in every variant. */
#include "eval/linear/gemm.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* A tile of `rows` (a constant after inlining) rows of COLS vectors. */
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

#define TILE_OF_8(name, attributes)                                                          \
  attributes static void name(uint64_t depth, const double *a, const double *b, double *sums, \
                              unsigned rows) {                                               \
    switch (rows) {                                                                          \
      ROWS(name, 1, 8)                                                                       \
      ROWS(name, 2, 8)                                                                       \
      ROWS(name, 3, 8)                                                                       \
      ROWS(name, 4, 8)                                                                       \
      ROWS(name, 5, 8)                                                                       \
      ROWS(name, 6, 8)                                                                       \
      ROWS(name, 7, 8)                                                                       \
      default:                                                                               \
        name##_rows(depth, a, b, sums, 8, 8);                                                \
    }                                                                                        \
  }
#define TILE_OF_4(name, attributes)                                                          \
  attributes static void name(uint64_t depth, const double *a, const double *b, double *sums, \
                              unsigned rows) {                                               \
    switch (rows) {                                                                          \
      ROWS(name, 1, 4)                                                                       \
      ROWS(name, 2, 4)                                                                       \
      ROWS(name, 3, 4)                                                                       \
      default:                                                                               \
        name##_rows(depth, a, b, sums, 4, 4);                                                \
    }                                                                                        \
  }

/* Two lanes: what every machine has. */
typedef double pair __attribute__((vector_size(16)));
static inline pair pair_load(const double *p) {
  pair v;
  memcpy(&v, p, sizeof v);
  return v;
}
#define PAIR_SPLAT(x) ((pair){x, x})
#define PAIR_STORE(p, v) memcpy(p, &(v), sizeof(pair))
#define PAIR_MULADD(x, y, z) ((z) + (x) * (y))
TILE(pairs, , pair, 2, 2, PAIR_SPLAT, pair_load, PAIR_STORE, PAIR_MULADD)
TILE_OF_4(pairs, )

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX2_MULADD(x, y, z) _mm256_add_pd(z, _mm256_mul_pd(x, y))
TILE(avx2_fused, AVX2, __m256d, 4, 2, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd,
     _mm256_fmadd_pd)
TILE(avx2_plain, AVX2, __m256d, 4, 2, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd,
     AVX2_MULADD)
TILE_OF_4(avx2_fused, AVX2)
TILE_OF_4(avx2_plain, AVX2)

#define AVX512 __attribute__((target("avx512f")))
#define AVX512_MULADD(x, y, z) _mm512_add_pd(z, _mm512_mul_pd(x, y))
TILE(avx512_fused, AVX512, __m512d, 8, 3, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd,
     _mm512_fmadd_pd)
TILE(avx512_plain, AVX512, __m512d, 8, 3, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd,
     AVX512_MULADD)
TILE_OF_8(avx512_fused, AVX512)
TILE_OF_8(avx512_plain, AVX512)

/* --- bytes --- */

/* Sums of products of pairs of int16_t, to int32_t: 192 * 255 * 255 is far below 2^31. */
#define TILE_OF_BYTES(name, attributes, vector, lanes, height, zero, splat, load, muladd, add)    \
  attributes static void name(uint64_t pairs, const uint32_t *a, const uint32_t *b, double *sums, \
                              unsigned rows) {                                                    \
    vector acc[height][2];                                                                        \
    for (unsigned r = 0; r < (height); ++r) acc[r][0] = acc[r][1] = zero();                       \
    for (uint64_t k = 0; k < pairs; ++k, a += (height), b += 2 * (lanes)) {                       \
      const vector x = load((const void *)b), y = load((const void *)(b + (lanes)));              \
      UNROLL for (unsigned r = 0; r < (height); ++r) {                                            \
        const vector v = splat((int)a[r]);                                                        \
        acc[r][0] = muladd(acc[r][0], v, x);                                                      \
        acc[r][1] = muladd(acc[r][1], v, y);                                                      \
      }                                                                                           \
    }                                                                                             \
    for (unsigned r = 0; r < rows; ++r, sums += SURG__GEMM_BLOCK) add(sums, acc[r]);              \
  }
#define UNROLL _Pragma("GCC unroll 8")

#define AVX512BW __attribute__((target("avx512f,avx512bw")))
#define AVX512VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))
#define ADD_16(attributes, name)                                                             \
  attributes static inline void name(double *sums, const __m512i *acc) {                     \
    for (unsigned i = 0; i < 2; ++i, sums += 16) {                                           \
      const __m512d low = _mm512_cvtepi32_pd(_mm512_castsi512_si256(acc[i]));                \
      const __m512d high = _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(acc[i], 1));         \
      _mm512_storeu_pd(sums, _mm512_add_pd(_mm512_loadu_pd(sums), low));                     \
      _mm512_storeu_pd(sums + 8, _mm512_add_pd(_mm512_loadu_pd(sums + 8), high));            \
    }                                                                                        \
  }
ADD_16(AVX512BW, add_16)
ADD_16(AVX512VNNI, add_16_vnni)
AVX2 static inline void add_8(double *sums, const __m256i *acc) {
  for (unsigned i = 0; i < 2; ++i, sums += 8) {
    const __m256d low = _mm256_cvtepi32_pd(_mm256_castsi256_si128(acc[i]));
    const __m256d high = _mm256_cvtepi32_pd(_mm256_extracti128_si256(acc[i], 1));
    _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), low));
    _mm256_storeu_pd(sums + 4, _mm256_add_pd(_mm256_loadu_pd(sums + 4), high));
  }
}
#define MADD_512(acc, x, y) _mm512_add_epi32(acc, _mm512_madd_epi16(x, y))
#define MADD_256(acc, x, y) _mm256_add_epi32(acc, _mm256_madd_epi16(x, y))
TILE_OF_BYTES(avx512_vnni_bytes, AVX512VNNI, __m512i, 16, 8, _mm512_setzero_si512,
              _mm512_set1_epi32, _mm512_loadu_si512, _mm512_dpwssd_epi32, add_16_vnni)
TILE_OF_BYTES(avx512_bytes, AVX512BW, __m512i, 16, 8, _mm512_setzero_si512, _mm512_set1_epi32,
              _mm512_loadu_si512, MADD_512, add_16)
TILE_OF_BYTES(avx2_bytes, AVX2, __m256i, 8, 4, _mm256_setzero_si256, _mm256_set1_epi32,
              _mm256_loadu_si256, MADD_256, add_8)
#endif

const surg__gemm_kernel *surg__gemm_bytes_at(unsigned i) {
#if defined(__x86_64__)
  static const surg__gemm_kernel vnni = {"avx512 vnni", 8, 32, .bytes = avx512_vnni_bytes};
  static const surg__gemm_kernel avx512 = {"avx512 bytes", 8, 32, .bytes = avx512_bytes};
  static const surg__gemm_kernel avx2 = {"avx2 bytes", 4, 16, .bytes = avx2_bytes};
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni") && i-- == 0)
    return &vnni;
  if (__builtin_cpu_supports("avx512bw") && i-- == 0) return &avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && i-- == 0) return &avx2;
#endif
  (void)i;
  return NULL; /* products of doubles do as well */
}

const surg__gemm_kernel *surg__gemm_kernel_at(unsigned i) {
#if defined(__x86_64__)
  static const surg__gemm_kernel avx512 = {"avx512", 8, 24, avx512_fused, avx512_plain, NULL};
  static const surg__gemm_kernel avx2 = {"avx2", 4, 8, avx2_fused, avx2_plain, NULL};
  if (__builtin_cpu_supports("avx512f") && i-- == 0) return &avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && i-- == 0) return &avx2;
#endif
  static const surg__gemm_kernel plain = {"pairs", 4, 4, pairs, pairs, NULL};
  return i == 0 ? &plain : NULL;
}
