/* SPDX-License-Identifier: Apache-2.0 */
/* What Attention and FlexAttention share. */
#ifndef SURG_ATTENTION_H
#define SURG_ATTENTION_H

#include <stdint.h>

/* Scores into probabilities. Of nothing but -inf, and with a NaN, all of them are NaN. */
void surg__probabilities(double *row, int64_t n);

#endif
