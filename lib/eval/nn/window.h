/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows over the spatial axes, for convolutions and pools. */
#ifndef SURG_WINDOW_H
#define SURG_WINDOW_H

#include "eval/core/eval.h"

typedef struct surg__window {
  uint32_t n; /* number of spatial axes */
  int64_t in[SURG_LIMIT_RANK], out[SURG_LIMIT_RANK], kernel[SURG_LIMIT_RANK];
  int64_t stride[SURG_LIMIT_RANK], dilation[SURG_LIMIT_RANK];
  int64_t begin[SURG_LIMIT_RANK], end[SURG_LIMIT_RANK]; /* padding */
  uint64_t in_count, out_count, kernel_count;
} surg__window;

/* An element of a window that is inside the input: its index in the kernel and in the input, both
 * over the spatial axes only. */
typedef struct surg__tap {
  uint64_t kernel, in;
} surg__tap;

/* Reads strides, dilations, pads, auto_pad and ceil_mode of the node. `kernel` has n sizes; NULL:
 * the attribute kernel_shape has them. in[0..n) are the spatial sizes of the input. */
surg__kstatus surg__window_init(surg_kctx *k, const int64_t *in, uint32_t n, const int64_t *kernel,
                                surg__window *w);
/* Allocates the taps of one position, after requesting the work for all positions. */
surg__kstatus surg__window_taps(surg_kctx *k, const surg__window *w, surg__tap **list);
/* Stores the taps of output position `at` (an index over the spatial axes) in kernel order, and
 * returns how many there are. `padded`: how many there would be if padding were part of the
 * input. */
uint64_t surg__window_at(const surg__window *w, uint64_t at, surg__tap *list, uint64_t *padded);
/* Reads an attribute of n integers; absent: all are `fallback`. False: wrong count, or one is below
 * `least`. */
bool surg__window_ints(surg_kctx *k, const char *name, uint32_t n, int64_t fallback, int64_t least,
                       int64_t *out);

#endif
