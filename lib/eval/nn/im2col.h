/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of a convolution as a matrix that is never held whole: a column is an output
 * position, a depth is a channel and an element of the kernel. Padding is zeros. */
#ifndef SURG_IM2COL_H
#define SURG_IM2COL_H

#include "eval/linear/gemm.h"
#include "eval/nn/window.h"

typedef struct surg__im2col {
  const surg__window *w;
  int dtype;
  const void *data;
  uint64_t at;       /* element 0 of the first channel */
  double zero;       /* the number that stands for 0 */
  int64_t *offset;   /* of each element of the kernel, n numbers: index times dilation */
  /* Of the run of positions at hand, for each element of the kernel: where it starts in a channel,
   * and which positions of the run lie inside. */
  int64_t *start;
  uint32_t *low, *high;
} surg__im2col;

/* Everything but dtype, data, at and zero. */
surg__kstatus surg__im2col_init(surg_kctx *k, const surg__window *w, surg__im2col *c);
void surg__im2col_pack(const void *user, const surg__panel *p);
/* Prepares start, low and high for `n` output positions from `at` on that differ in the last axis
 * alone: pools walk them too. */
void surg__im2col_place(const surg__im2col *c, uint64_t at, uint32_t n);
/* The same for element t of the kernel alone. */
void surg__im2col_place_one(const surg__im2col *c, uint64_t t, uint64_t at, uint32_t n);

#endif
