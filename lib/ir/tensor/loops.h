/* SPDX-License-Identifier: Apache-2.0 */
/* The loops that convert and measure elements of weights. Input and output never overlap. */
#ifndef SURG_IR_TENSOR_LOOPS_H
#define SURG_IR_TENSOR_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rounded once, to nearest even; NaN becomes the quiet NaN of its sign. */
void surg__floats_to_halves(const float *in, uint16_t *out, size_t n);
void surg__floats_to_bf16(const float *in, uint16_t *out, size_t n);
void surg__halves_to_floats(const uint16_t *in, float *out, size_t n);
void surg__bf16_to_floats(const uint16_t *in, float *out, size_t n);
/* Integers beyond int32 become its nearest number. */
void surg__narrow_ints(const int64_t *in, int32_t *out, size_t n);

#define SURG__INF_BITS 0x7f800000

/* Absolute values of floats as bits, which have the order of the numbers. Starts as
 * {.least = INT32_MAX}. */
typedef struct surg__float_extent {
  int32_t least;        /* the smallest finite one other than 0 */
  int32_t above, below; /* the largest finite one of positive numbers, and of negative ones */
  int32_t top;          /* the largest: above SURG__INF_BITS there is NaN */
  int32_t inf;          /* not 0: there are infinities */
} surg__float_extent;
void surg__extend_floats(surg__float_extent *e, const float *in, size_t n);

/* Starts as {.least = UINT64_MAX}. */
typedef struct surg__int_extent {
  int64_t low, high;
  uint64_t least; /* the smallest absolute value other than 0, less 1 */
} surg__int_extent;
void surg__extend_ints(surg__int_extent *e, const int64_t *in, size_t n);

/* For each i: least[i] and most[i] become those of them and in[i]. NaN changes nothing. *top
 * becomes the largest of it and the bits of absolute values, as in surg__float_extent. */
void surg__extend_each(float *least, float *most, const float *in, size_t n, int32_t *top);

/* Quantizes as QuantizeLinear does: the quotient in float, rounded to nearest even, plus the zero
 * point, within [low, high], whose absolute values are below 2^21. `step` 0: one scale and zero
 * point; 1: one for each element. */
typedef struct surg__quantizer {
  float low, high;
  const float *scale, *zero;
  size_t step;
} surg__quantizer;
void surg__quantize_floats(const surg__quantizer *q, const float *in, float *out, size_t n);
void surg__floats_to_bytes(const float *in, uint8_t *out, size_t n);   /* integers, modulo 2^8 */
void surg__floats_to_words(const float *in, uint16_t *out, size_t n); /* integers, modulo 2^16 */
/* Packs pairs of elements of 4 bits into n bytes, the first of each in the low bits. */
void surg__pack_nibbles(const uint8_t *in, uint8_t *out, size_t n);
/* Adds up the squares of elements and of the errors that quantizing to `r` makes. */
typedef struct surg__noise {
  double signal, noise;
} surg__noise;
void surg__measure_noise(surg__noise *sum, const surg__quantizer *q, const float *in,
                         const float *r, size_t n);

#endif
