/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with one input channel per group. */
#ifndef SURG_DEPTHWISE_H
#define SURG_DEPTHWISE_H

#include "eval/nn/im2col.h"

typedef struct surg__depthwise {
  surg_kctx *k; /* asked whether to stop */
  surg__im2col windows;
  const double *weight;    /* of all output channels */
  uint64_t planes;         /* batch size times output channels */
  uint64_t channels;       /* number of output channels */
  uint64_t multiplier;     /* output channels per input channel */
} surg__depthwise;

/* Computes the sums of every plane and passes them to `store`, as rows (`plane`) of a product whose
 * columns are positions. */
void surg__depthwise_run(const surg__depthwise *d, surg__gemm_store store, void *to);

#endif
