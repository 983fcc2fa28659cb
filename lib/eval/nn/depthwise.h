/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of one input channel a group. */
#ifndef SURG_DEPTHWISE_H
#define SURG_DEPTHWISE_H

#include "eval/nn/im2col.h"

typedef struct surg__depthwise {
  surg__im2col windows;
  const double *weight;    /* of all output channels */
  uint64_t planes;         /* batches times output channels */
  uint64_t channels;       /* output channels */
  uint64_t multiplier;     /* output channels of an input channel */
} surg__depthwise;

/* Hands over the sums of every plane: as row `plane` of a product whose columns are positions. */
void surg__depthwise_run(const surg__depthwise *d, surg__gemm_store store, void *to);

#endif
