/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over arrays, compiled twice: for every processor, and with AVX2 for those that have it.
 * Both come from one body without fused operations, so that they compute the same bytes. */
#ifndef SURG_WIDE_H
#define SURG_WIDE_H

#define SURG__LOOP static inline __attribute__((always_inline))

/* Defines `name params`, which calls name_body, a SURG__LOOP, with `args`. */
#if defined(__x86_64__) && defined(SURG_EVAL_FAST)
#define SURG__WIDE(name, params, args)                                            \
  __attribute__((target("avx2"))) static void name##_avx2 params { name##_body args; } \
  static void name##_plain params { name##_body args; }                           \
  void name params {                                                              \
    if (__builtin_cpu_supports("avx2"))                                           \
      name##_avx2 args;                                                           \
    else                                                                          \
      name##_plain args;                                                          \
  }
#else
#define SURG__WIDE(name, params, args) \
  void name params { name##_body args; }
#endif

#endif
