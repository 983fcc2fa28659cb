/* SPDX-License-Identifier: Apache-2.0 */
/* Interpolation between the elements of a tensor. */
#include "eval/image/sample.h"

#include <math.h>

/* Reflects x at low and high until it is in between. */
static double reflect(double x, double low, double high) {
  double range = high - low;
  if (!(range > 0)) return low;
  double over = x < low ? low - x : x > high ? x - high : -1;
  if (over < 0) return x;
  double times = trunc(over / range), rest = over - times * range;
  bool turned = fmod(times, 2) != 0;
  return (x < low) != turned ? low + rest : high - rest;
}

/* The element at an integer coordinate after padding by `edge`; -1: outside. */
static int64_t element(double x, surg__edge edge, int64_t n, double low, double high) {
  double last = (double)(n - 1);
  if (edge == SURG__BORDER) x = x < 0 ? 0 : x > last ? last : x;
  if (edge == SURG__REFLECTION) {
    x = trunc(reflect(x, low, high));
    x = x < 0 ? 0 : x > last ? last : x;
  }
  return x >= 0 && x <= last ? (int64_t)x : -1;
}

/* The cubic convolution kernel of Keys (1981) with a = -0.75, for |d| <= 2. */
static double cubic(double d) {
  const double a = -0.75;
  d = fabs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

void surg__taps_find(surg__taps *t, surg__interpolation mode, surg__edge edge, double x, int64_t n,
                     double low, double high) {
  if (mode == SURG__NEAREST) x = nearbyint(x);
  if (edge == SURG__REFLECTION) x = reflect(x, low, high);
  double base = mode == SURG__NEAREST ? x : floor(x), part = x - base;
  t->n = (uint32_t)surg__taps_of(mode);
  for (uint32_t i = 0; i < t->n; ++i) {
    double step = mode == SURG__CUBIC ? (double)i - 1 : (double)i;
    t->at[i] = element(base + step, edge, n, low, high);
    if (mode == SURG__NEAREST) t->weight[i] = 1;
    if (mode == SURG__LINEAR) t->weight[i] = i == 0 ? 1 - part : part;
    if (mode == SURG__CUBIC) t->weight[i] = cubic(part - step);
  }
}

double surg__taps_sum(const surg__taps *t, const int64_t *dims, uint32_t rank, const double *p) {
  uint32_t index[SURG_LIMIT_RANK] = {0};
  double sum = 0;
  for (;;) {
    double weight = 1;
    int64_t at = 0;
    for (uint32_t d = 0; d < rank && at >= 0; ++d) {
      int64_t i = t[d].at[index[d]];
      at = i < 0 ? -1 : at * dims[d] + i;
      weight *= t[d].weight[index[d]];
    }
    if (at >= 0) sum += weight * p[at];
    uint32_t d = rank;
    while (d-- > 0) {
      if (++index[d] < t[d].n) break;
      index[d] = 0;
    }
    if (d == UINT32_MAX) return sum;
  }
}
