/* SPDX-License-Identifier: Apache-2.0 */
/* The range of a value that is quantized, from the counts of its elements. */
#include <math.h>

#include "quant_static.h"

#define LEVELS 128                     /* of the absolute values of 8 bits */
#define ENTROPY_LEAST (8 * QUANT_BINS) /* elements; the counts of fewer say little */
#define CLIPS 100                      /* ranges that are tried for the least square of errors */
#define LEAST_CLIP 0.2                 /* the smallest of them, as a part of the whole range */

static double center(const quant_value *v, size_t bin) {
  return v->low + (v->high - v->low) * ((double)bin + 0.5) / QUANT_BINS;
}

static double total(const quant_value *v) {
  double n = 0;
  for (size_t i = 0; i < QUANT_BINS; i++) n += (double)v->bins[i];
  return n;
}

/* Cuts so many elements from both ends that the rest is `percent` of them. */
static void by_percentile(const quant_value *v, double percent, double *low, double *high) {
  const double out = total(v) * (1 - percent / 100) / 2, width = (v->high - v->low) / QUANT_BINS;
  double below = 0, above = 0;
  size_t first = 0, last = QUANT_BINS;
  while (first < last && below + (double)v->bins[first] <= out) below += (double)v->bins[first++];
  while (last > first && above + (double)v->bins[last - 1] <= out) above += (double)v->bins[--last];
  *low = v->low + width * (double)first;
  *high = v->low + width * (double)last;
}

/* Counts of absolute values. */
static void absolute(const quant_value *v, double size, double *counts) {
  for (size_t i = 0; i < QUANT_BINS; i++) counts[i] = 0;
  for (size_t i = 0; i < QUANT_BINS; i++) {
    const size_t at = (size_t)(fabs(center(v, i)) / size * QUANT_BINS);
    counts[at < QUANT_BINS ? at : QUANT_BINS - 1] += (double)v->bins[i];
  }
}

/* The divergence of the first n counts, with the rest in the last of them, from the same in LEVELS
 * steps (Migacz, 8-bit inference with TensorRT, 2017). */
static double divergence(const double *counts, size_t n, double rest) {
  double sum = 0, p_total = rest, q_total = 0;
  for (size_t i = 0; i < n; i++) {
    p_total += counts[i];
    q_total += counts[i];
  }
  if (!(q_total > 0)) return HUGE_VAL;
  for (size_t k = 0; k < LEVELS; k++) {
    const size_t from = k * n / LEVELS, to = (k + 1) * n / LEVELS;
    double level = 0, used = 0;
    for (size_t i = from; i < to; i++) {
      level += counts[i];
      used += counts[i] > 0;
    }
    for (size_t i = from; i < to; i++) {
      const double p = (counts[i] + (i + 1 == n ? rest : 0)) / p_total;
      const double q = used > 0 && counts[i] > 0 ? level / used / q_total : 0;
      if (p > 0) sum += p * log(p / (q > 0 ? q : 1e-9));
    }
  }
  return sum;
}

static double by_entropy(const quant_value *v, double size) {
  double counts[QUANT_BINS], best = HUGE_VAL, rest = 0;
  size_t at = QUANT_BINS;
  absolute(v, size, counts);
  for (size_t n = QUANT_BINS; n >= LEVELS; n -= 16) {
    const double d = divergence(counts, n, rest);
    if (d < best) {
      best = d;
      at = n;
    }
    for (size_t i = n - 16; i < n; i++) rest += counts[i];
  }
  return size * (double)at / QUANT_BINS;
}

/* The sum of the squares of the errors in 255 steps between low and high. */
static double loss(const quant_value *v, double low, double high) {
  const double step = (high - low) / 255;
  double sum = 0;
  for (size_t i = 0; i < QUANT_BINS; i++) {
    const double x = center(v, i);
    const double out = x < low ? low - x : x > high ? x - high : 0;
    sum += (double)v->bins[i] * (out > 0 ? out * out : step * step / 12);
  }
  return sum;
}

static double by_squares(const quant_value *v) {
  double best = HUGE_VAL, part = 1;
  for (int i = 0; i <= CLIPS; i++) {
    const double t = 1 - (1 - LEAST_CLIP) * i / CLIPS, e = loss(v, v->low * t, v->high * t);
    if (e < best) {
      best = e;
      part = t;
    }
  }
  return part;
}

void quant_choose_range(const quant_static_state *s, quant_value *v) {
  const double size = fmax(-v->low, v->high);
  double low = v->low, high = v->high;
  if (v->bins && size > 0 && s->method == QUANT_PERCENTILE)
    by_percentile(v, s->percentile, &low, &high);
  if (v->bins && size > 0 && s->method == QUANT_ENTROPY && total(v) >= ENTROPY_LEAST) {
    const double most = by_entropy(v, size);
    low = fmax(low, -most);
    high = fmin(high, most);
  }
  if (v->bins && size > 0 && s->method == QUANT_MSE) {
    const double part = by_squares(v);
    low *= part;
    high *= part;
  }
  v->cut_low = fmin(low, 0);
  v->cut_high = fmax(high, 0);
}
