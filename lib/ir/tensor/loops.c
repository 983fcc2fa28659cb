/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/tensor/loops.h"

#include "base/dtype.h"
#include "base/wide.h"

#define LANES 8

/* --- conversions --- */

SURG__LOOP void surg__floats_to_halves_body(const float *restrict in, uint16_t *restrict out,
                                            size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = surg__float_to_half(in[i]);
}
SURG__WIDE(surg__floats_to_halves, (const float *in, uint16_t *out, size_t n), (in, out, n))

SURG__LOOP void surg__floats_to_bf16_body(const float *restrict in, uint16_t *restrict out,
                                          size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = surg__float_to_bf16(in[i]);
}
SURG__WIDE(surg__floats_to_bf16, (const float *in, uint16_t *out, size_t n), (in, out, n))

SURG__LOOP void surg__halves_to_floats_body(const uint16_t *restrict in, float *restrict out,
                                            size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = surg__half_to_float(in[i]);
}
SURG__WIDE(surg__halves_to_floats, (const uint16_t *in, float *out, size_t n), (in, out, n))

SURG__LOOP void surg__bf16_to_floats_body(const uint16_t *restrict in, float *restrict out,
                                          size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = surg__bf16_to_float(in[i]);
}
SURG__WIDE(surg__bf16_to_floats, (const uint16_t *in, float *out, size_t n), (in, out, n))

SURG__LOOP void surg__narrow_ints_body(const int64_t *restrict in, int32_t *restrict out,
                                       size_t n) {
  for (size_t i = 0; i < n; i++)
    out[i] = in[i] > INT32_MAX ? INT32_MAX : in[i] < INT32_MIN ? INT32_MIN : (int32_t)in[i];
}
SURG__WIDE(surg__narrow_ints, (const int64_t *in, int32_t *out, size_t n), (in, out, n))

/* --- extents --- */

static inline int32_t larger(int32_t a, int32_t b) {
  return a > b ? a : b;
}

static inline int32_t smaller(int32_t a, int32_t b) {
  return a < b ? a : b;
}

/* All bits if a < b, else none, for numbers of 0 on. Branches would keep the loop from becoming
 * vectors. */
static inline int32_t mask_below(int32_t a, int32_t b) {
  return -(int32_t)((uint32_t)(a - b) >> 31);
}

SURG__LOOP void surg__extend_floats_body(surg__float_extent *e, const float *in, size_t n) {
  int32_t least = e->least, above = e->above, below = e->below, top = e->top, inf = e->inf;
  for (size_t i = 0; i < n; i++) {
    const uint32_t bits = surg__float_bits(in[i]);
    const int32_t x = (int32_t)(bits & 0x7fffffff), sign = -(int32_t)(bits >> 31);
    const int32_t y = x & mask_below(x, SURG__INF_BITS);
    top = larger(top, x);
    inf |= mask_below(x ^ SURG__INF_BITS, 1);
    above = larger(above, y & ~sign);
    below = larger(below, y & sign);
    least = smaller(least, y | (mask_below(y, 1) & INT32_MAX)); /* of 0 the largest number */
  }
  *e = (surg__float_extent){least, above, below, top, inf};
}
SURG__WIDE(surg__extend_floats, (surg__float_extent * e, const float *in, size_t n), (e, in, n))

SURG__LOOP void surg__extend_ints_body(surg__int_extent *e, const int64_t *in, size_t n) {
  int64_t low = e->low, high = e->high;
  uint64_t least = e->least;
  for (size_t i = 0; i < n; i++) {
    const uint64_t v = (uint64_t)in[i], size = (in[i] < 0 ? 0 - v : v) - 1;
    low = in[i] < low ? in[i] : low;
    high = in[i] > high ? in[i] : high;
    least = size < least ? size : least;
  }
  *e = (surg__int_extent){low, high, least};
}
SURG__WIDE(surg__extend_ints, (surg__int_extent * e, const int64_t *in, size_t n), (e, in, n))

SURG__LOOP void surg__extend_each_body(float *restrict least, float *restrict most,
                                       const float *restrict in, size_t n, int32_t *top) {
  int32_t most_bits = *top;
  for (size_t i = 0; i < n; i++) {
    most_bits = larger(most_bits, (int32_t)(surg__float_bits(in[i]) & 0x7fffffff));
    least[i] = in[i] < least[i] ? in[i] : least[i];
    most[i] = in[i] > most[i] ? in[i] : most[i];
  }
  *top = most_bits;
}
SURG__WIDE(surg__extend_each, (float *least, float *most, const float *in, size_t n, int32_t *top),
           (least, most, in, n, top))

/* --- quantizing --- */

/* Adding 1.5 * 2^23 rounds to nearest even, exactly below 2^22. */
SURG__LOOP float number_of(float x, float scale, float zero, float low, float high) {
  float r = x / scale;
  r = r < -0x1p21f ? -0x1p21f : r > 0x1p21f ? 0x1p21f : r;
  r = (r + 0x1.8p23f) - 0x1.8p23f + zero;
  return r < low ? low : r > high ? high : r;
}

SURG__LOOP void surg__quantize_floats_body(const surg__quantizer *q, const float *restrict in,
                                           float *restrict out, size_t n) {
  const float low = q->low, high = q->high;
  const float *restrict scale = q->scale, *restrict zero = q->zero;
  if (q->step) {
    for (size_t i = 0; i < n; i++) out[i] = number_of(in[i], scale[i], zero[i], low, high);
  } else {
    const float s = *scale, z = *zero;
    for (size_t i = 0; i < n; i++) out[i] = number_of(in[i], s, z, low, high);
  }
}
SURG__WIDE(surg__quantize_floats, (const surg__quantizer *q, const float *in, float *out, size_t n),
           (q, in, out, n))

SURG__LOOP void surg__floats_to_bytes_body(const float *restrict in, uint8_t *restrict out,
                                           size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = (uint8_t)(int32_t)in[i];
}
SURG__WIDE(surg__floats_to_bytes, (const float *in, uint8_t *out, size_t n), (in, out, n))

SURG__LOOP void surg__floats_to_words_body(const float *restrict in, uint16_t *restrict out,
                                           size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = (uint16_t)(int32_t)in[i];
}
SURG__WIDE(surg__floats_to_words, (const float *in, uint16_t *out, size_t n), (in, out, n))

SURG__LOOP void surg__pack_nibbles_body(const uint8_t *restrict in, uint8_t *restrict out,
                                        size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = (uint8_t)((in[2 * i] & 0xf) | in[2 * i + 1] << 4);
}
SURG__WIDE(surg__pack_nibbles, (const uint8_t *in, uint8_t *out, size_t n), (in, out, n))

/* Sums of every eighth element, added up at the end: their order does not depend on the
 * processor. */
SURG__LOOP void measure_noise(surg__noise *sum, const surg__quantizer *q, const float *in,
                              const float *r, size_t n, const size_t step) {
  double signal[LANES] = {0}, noise[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    float back[LANES];
    double x[LANES], e[LANES];
    for (size_t k = 0; k < LANES; k++)
      back[k] = (r[i + k] - q->zero[(i + k) * step]) * q->scale[(i + k) * step];
    for (size_t k = 0; k < LANES; k++) x[k] = (double)in[i + k];
    for (size_t k = 0; k < LANES; k++) e[k] = x[k] - (double)back[k];
    for (size_t k = 0; k < LANES; k++) signal[k] += x[k] * x[k];
    for (size_t k = 0; k < LANES; k++) noise[k] += e[k] * e[k];
  }
  for (size_t k = 0; i < n; i++, k++) {
    const double e = (double)in[i] - (double)((r[i] - q->zero[i * step]) * q->scale[i * step]);
    signal[k] += (double)in[i] * (double)in[i];
    noise[k] += e * e;
  }
  for (size_t k = 0; k < LANES; k++) {
    sum->signal += signal[k];
    sum->noise += noise[k];
  }
}

/* The step is a constant in each copy of the loop, so that it becomes vectors. */
SURG__LOOP void surg__measure_noise_body(surg__noise *sum, const surg__quantizer *q,
                                         const float *in, const float *r, size_t n) {
  if (q->step)
    measure_noise(sum, q, in, r, n, 1);
  else
    measure_noise(sum, q, in, r, n, 0);
}
SURG__WIDE(surg__measure_noise,
           (surg__noise * sum, const surg__quantizer *q, const float *in, const float *r, size_t n),
           (sum, q, in, r, n))
