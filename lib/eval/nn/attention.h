/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by Attention and FlexAttention. */
#ifndef SURG_ATTENTION_H
#define SURG_ATTENTION_H

#include <stdint.h>

/* Replaces scores by probabilities (softmax). If all are -inf, or one is NaN, all results are
 * NaN. */
void surg__probabilities(double *row, int64_t n);

#endif
