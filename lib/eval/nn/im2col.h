/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of a convolution as a matrix (im2col) that is packed panel by panel and never stored
 * as a whole: columns are output positions, rows are pairs of channel and kernel element. Padding
 * is 0. */
#ifndef SURG_IM2COL_H
#define SURG_IM2COL_H

#include "eval/linear/gemm.h"
#include "eval/nn/window.h"

typedef struct surg__im2col {
  const surg__window *w;
  int dtype;
  const void *data;
  uint64_t at;       /* index of element 0 of the first channel */
  double zero;       /* the value of padding: the zero point */
  int64_t *offset;   /* per kernel element, n numbers: index times dilation */
  /* For the current run of positions, per kernel element: its first index in a channel, and the
   * range of positions that are inside the input. */
  int64_t *start;
  uint32_t *low, *high;
} surg__im2col;

/* Sets all members except dtype, data, at and zero. */
surg__kstatus surg__im2col_init(surg_kctx *k, const surg__window *w, surg__im2col *c);
void surg__im2col_pack(const void *user, const surg__panel *p);
/* Sets start, low and high for `n` output positions from `at` on that differ only in the last axis.
 * Pools use it as well. */
void surg__im2col_place(const surg__im2col *c, uint64_t at, uint32_t n);
/* The same for kernel element t only. */
void surg__im2col_place_one(const surg__im2col *c, uint64_t t, uint64_t at, uint32_t n);

#endif
