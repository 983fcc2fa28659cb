/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a tensor between its elements: what GridSample and DeformConv share. */
#ifndef SURG_SAMPLE_H
#define SURG_SAMPLE_H

#include "eval/core/number.h"

typedef enum surg__interpolation { SURG__NEAREST, SURG__LINEAR, SURG__CUBIC } surg__interpolation;
typedef enum surg__edge { SURG__ZEROS, SURG__BORDER, SURG__REFLECTION } surg__edge;

/* The elements one coordinate touches along one axis. */
typedef struct surg__taps {
  uint32_t n;
  int64_t at[4]; /* -1: outside, counts as zero */
  double weight[4];
} surg__taps;

/* How many elements a mode touches along an axis. */
static inline uint64_t surg__taps_of(surg__interpolation mode) {
  return mode == SURG__NEAREST ? 1 : mode == SURG__LINEAR ? 2 : 4;
}

/* A finite coordinate x (0: the first element) of an axis of n > 0 elements; a reflection is at
 * low and high. */
void surg__taps_find(surg__taps *t, surg__interpolation mode, surg__edge edge, double x, int64_t n,
                     double low, double high);
/* The weighted sum over `rank` axes; `p` are the elements of that part of the tensor. */
double surg__taps_sum(const surg__taps *t, const int64_t *dims, uint32_t rank, const double *p);

#endif
