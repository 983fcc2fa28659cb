/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of the random operators: the Mersenne twister MT19937 as ONNX's reference seeds and
 * reads it, so that one seed gives the same numbers on every machine and as the reference. */
#ifndef SURG_RANDOM_H
#define SURG_RANDOM_H

#include "eval/core/eval.h"

#define SURG__TWISTER 624

typedef struct surg__random {
  uint32_t state[SURG__TWISTER];
  uint32_t at;
} surg__random;

/* From the attribute `seed` of the node, a float or an integer, or else from the seed of the run.
 * CANNOT where there is neither: then the result is nobody's to foretell. */
surg__kstatus surg__random_init(surg_kctx *k, surg__random *r);
/* 53 bits, 0 <= u < 1. */
double surg__random_next(surg__random *r);

#endif
