/* SPDX-License-Identifier: Apache-2.0 */
/* Iteration over up to four arrays with different strides and one shape, in index order. */
#ifndef SURG_LOOP_H
#define SURG_LOOP_H

#include "eval/core/eval.h"

#define SURG__LOOP_ARRAYS 4

/* The state of an iteration. Axes of size 1 are removed, and adjacent axes are merged if all arrays
 * allow it. The last axis is the inner one: `inner` elements with strides `step`. */
typedef struct surg__loop {
  uint32_t n, rank; /* number of arrays; number of outer axes */
  int64_t inner, step[SURG__LOOP_ARRAYS];
  int64_t dims[SURG_LIMIT_RANK], index[SURG_LIMIT_RANK];
  int64_t strides[SURG__LOOP_ARRAYS][SURG_LIMIT_RANK];
  int64_t at[SURG__LOOP_ARRAYS]; /* offset of the first element of the inner run */
  bool done;                     /* all elements were visited */
} surg__loop;

/* Starts an iteration; strides[a] has `rank` strides of array a, in elements. */
void surg__loop_init(surg__loop *l, const int64_t *dims, uint32_t rank, uint32_t n,
                     const int64_t *const *strides);
/* Moves to the next inner run; sets `done` after the last. */
void surg__loop_next(surg__loop *l);
void surg__loop_rewind(surg__loop *l);
/* All elements in scratch memory as double (real types; a DOUBLE array is returned unchanged) or as
 * uint64_t (integers, sign-extended). NULL: out of memory. */
const void *surg__k_widen(surg_kctx *k, const surg__array *a);
/* The strides of a dense array of that shape. */
void surg__dense_strides(const int64_t *dims, uint32_t rank, int64_t *strides);

/* Starts an operator of two inputs: makes output 0 of `dtype` in the broadcast shape, requests the
 * work, and starts an iteration over the output and both inputs. Before opset 7 the second input is
 * broadcast only with broadcast=1, with its axes aligned at `axis`. */
surg__kstatus surg__k_pair(surg_kctx *k, int dtype, surg__loop *l);
/* Unidirectional broadcasting of b to a: strides of b along the axes of a. */
bool surg__aligned_strides(const surg__array *a, const surg__array *b, int64_t axis,
                           int64_t *strides);

#endif
