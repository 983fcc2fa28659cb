/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over large arrays, compiled for the vectors of this machine. A body is written once; what
 * it computes is the same bits in every variant, since no variant may fuse or reorder. */
#ifndef SURG_HOT_H
#define SURG_HOT_H

#include <stdbool.h>

#if defined(__x86_64__)
#define SURG__WIDE __attribute__((target("avx2,fma,f16c")))
#if defined(__clang__)
#define SURG__WIDEST                                               \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,f16c"),     \
                 min_vector_width(512)))
#else
#define SURG__WIDEST \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,f16c,prefer-vector-width=512")))
#endif
/* No processor has AVX2 and not F16C. */
static inline bool surg__cpu_wide(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
static inline bool surg__cpu_widest(void) {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#else
#define SURG__WIDE
#define SURG__WIDEST
static inline bool surg__cpu_wide(void) {
  return false;
}
static inline bool surg__cpu_widest(void) {
  return false;
}
#endif

#define SURG__INLINE static inline __attribute__((always_inline))

/* SURG__HOT(name, (parameters), (arguments)) { body } defines `name`, a static function that returns
 * nothing. */
#define SURG__HOT(name, parameters, arguments)              \
  SURG__INLINE void name##_body parameters;                 \
  SURG__WIDEST static void name##_widest parameters {       \
    name##_body arguments;                                  \
  }                                                         \
  SURG__WIDE static void name##_wide parameters {           \
    name##_body arguments;                                  \
  }                                                         \
  static void name##_plain parameters {                     \
    name##_body arguments;                                  \
  }                                                         \
  static void name parameters {                             \
    if (surg__cpu_widest())                                 \
      name##_widest arguments;                              \
    else if (surg__cpu_wide())                              \
      name##_wide arguments;                                \
    else                                                    \
      name##_plain arguments;                               \
  }                                                         \
  SURG__INLINE void name##_body parameters

/* The same with a name that is a macro. */
#define SURG__HOT_OF(name, parameters, arguments) SURG__HOT(name, parameters, arguments)

#endif
