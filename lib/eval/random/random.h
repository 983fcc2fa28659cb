/* SPDX-License-Identifier: Apache-2.0 */
/* The generator of the random operators: the Mersenne Twister MT19937, seeded and read as in the
 * ONNX reference implementation. A seed gives the same numbers as the reference on every
 * machine. */
#ifndef SURG_RANDOM_H
#define SURG_RANDOM_H

#include "eval/core/eval.h"

#define SURG__TWISTER 624

typedef struct surg__random {
  uint32_t state[SURG__TWISTER];
  uint32_t at;
} surg__random;

/* Initializes the generator from the attribute `seed` of the node (a float or an integer), else
 * from the seed of the run. CANNOT if there is neither: the result is then not reproducible. */
surg__kstatus surg__random_init(surg_kctx *k, surg__random *r);
/* A number 0 <= u < 1 with 53 random bits. */
double surg__random_next(surg__random *r);

#endif
