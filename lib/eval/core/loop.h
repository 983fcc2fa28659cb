/* SPDX-License-Identifier: Apache-2.0 */
/* Walking up to four arrays of different strides over one shape, in index order. */
#ifndef SURG_LOOP_H
#define SURG_LOOP_H

#include "eval/core/eval.h"

#define SURG__LOOP_ARRAYS 4

/* Axes of size 1 are gone and neighbours that all arrays walk alike are merged. The last axis is
 * the inner one: `inner` elements at steps `step`. */
typedef struct surg__loop {
  uint32_t n, rank; /* arrays; outer axes */
  int64_t inner, step[SURG__LOOP_ARRAYS];
  int64_t dims[SURG_LIMIT_RANK], index[SURG_LIMIT_RANK];
  int64_t strides[SURG__LOOP_ARRAYS][SURG_LIMIT_RANK];
  int64_t at[SURG__LOOP_ARRAYS]; /* offset of the first element of the inner run */
  bool done;                     /* nothing (more) to visit */
} surg__loop;

/* strides[a] holds `rank` steps for array a. */
void surg__loop_init(surg__loop *l, const int64_t *dims, uint32_t rank, uint32_t n,
                     const int64_t *const *strides);
/* To the next inner run; sets done after the last. */
void surg__loop_next(surg__loop *l);
void surg__loop_rewind(surg__loop *l);
/* All elements as double (of the real types, a DOUBLE array as it is) or uint64_t (integers,
 * sign-extended) in scratch. NULL: out of memory. */
const void *surg__k_widen(surg_kctx *k, const surg__array *a);
/* Steps of a dense array of that shape. */
void surg__dense_strides(const int64_t *dims, uint32_t rank, int64_t *strides);

/* For operators of two inputs: makes output 0 of `dtype` in their common shape, asks for the work,
 * and walks output, first and second input. Before opset 7 the second input is laid over the
 * first one only with broadcast=1, from `axis` on. */
surg__kstatus surg__k_pair(surg_kctx *k, int dtype, surg__loop *l);
/* The same for given arrays a, b and one-sided rules: steps for b along the axes of a. */
bool surg__aligned_strides(const surg__array *a, const surg__array *b, int64_t axis,
                           int64_t *strides);

#endif
