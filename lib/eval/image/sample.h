/* SPDX-License-Identifier: Apache-2.0 */
/* Interpolation between the elements of a tensor, shared by GridSample and DeformConv. */
#ifndef SURG_SAMPLE_H
#define SURG_SAMPLE_H

#include "eval/core/number.h"

typedef enum surg__interpolation { SURG__NEAREST, SURG__LINEAR, SURG__CUBIC } surg__interpolation;
typedef enum surg__edge { SURG__ZEROS, SURG__BORDER, SURG__REFLECTION } surg__edge;

/* The elements along one axis that contribute to a coordinate, and their weights. */
typedef struct surg__taps {
  uint32_t n;
  int64_t at[4]; /* -1: outside, counts as zero */
  double weight[4];
} surg__taps;

/* The number of elements along an axis that contribute to a coordinate. */
static inline uint64_t surg__taps_of(surg__interpolation mode) {
  return mode == SURG__NEAREST ? 1 : mode == SURG__LINEAR ? 2 : 4;
}

/* Finds the taps of a finite coordinate x (0 is the first element) on an axis of n > 0 elements.
 * Reflection padding reflects at `low` and `high`. */
void surg__taps_find(surg__taps *t, surg__interpolation mode, surg__edge edge, double x, int64_t n,
                     double low, double high);
/* The weighted sum over `rank` axes. `p` points to the elements of one channel. */
double surg__taps_sum(const surg__taps *t, const int64_t *dims, uint32_t rank, const double *p);

#endif
