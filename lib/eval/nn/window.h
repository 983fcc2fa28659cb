/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows over the spatial axes: what Conv and the pools share. */
#ifndef SURG_WINDOW_H
#define SURG_WINDOW_H

#include "eval/core/eval.h"

typedef struct surg__window {
  uint32_t n; /* spatial axes */
  int64_t in[SURG_LIMIT_RANK], out[SURG_LIMIT_RANK], kernel[SURG_LIMIT_RANK];
  int64_t stride[SURG_LIMIT_RANK], dilation[SURG_LIMIT_RANK];
  int64_t begin[SURG_LIMIT_RANK], end[SURG_LIMIT_RANK]; /* padding */
  uint64_t in_count, out_count, kernel_count;
} surg__window;

/* An element of a window that lies in the input: its index in the kernel and in the input, both
 * over the spatial axes alone. */
typedef struct surg__tap {
  uint64_t kernel, in;
} surg__tap;

/* Reads strides, dilations, pads, auto_pad, ceil_mode of the node. `kernel` holds n sizes; NULL:
 * they are the attribute kernel_shape. The input has the spatial sizes in[0..n). */
surg__kstatus surg__window_init(surg_kctx *k, const int64_t *in, uint32_t n, const int64_t *kernel,
                                surg__window *w);
/* Room for the taps of one position, after asking for the work of all. */
surg__kstatus surg__window_taps(surg_kctx *k, const surg__window *w, surg__tap **list);
/* The taps of output position `at` (an index over the spatial axes of the output), in the order of
 * the kernel; how many. `padded`: how many there were if the padding were elements too. */
uint64_t surg__window_at(const surg__window *w, uint64_t at, surg__tap *list, uint64_t *padded);
/* Attribute of n integers; absent: all `fallback`. False: another count or below `least`. */
bool surg__window_ints(surg_kctx *k, const char *name, uint32_t n, int64_t fallback, int64_t least,
                       int64_t *out);

#endif
