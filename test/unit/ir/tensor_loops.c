/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over elements of weights, by the conversions through double and by plain code: special
 * numbers at every place of a vector, and one float in 1021. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "base/dtype.h"
#include "ir/tensor/loops.h"

#define MANY ((size_t)1 << 16)
#define STRIDE 1021u

static float in[MANY], out[MANY];
static uint16_t halves[MANY], words[MANY];
static uint8_t bytes[MANY];
static uint32_t draw(void) {
  return (uint32_t)(unit_random() >> 16);
}

static const uint32_t special[] = {
    0,          0x80000000, 1,          0x80000001, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
    0x7f800001, 0xffc00000, 0x7fffffff, 0x477fefff, 0x477ff000, 0x477fffff, 0x47800000, 0x38800000,
    0x387fffff, 0x33000000, 0x33000001, 0x32ffffff, 0x3f800000, 0x3f801000, 0x3f803000, 0x3f808000,
    0x3f818000, 0x00800000, 0x007fffff, 0x7f7f8000, 0x7f7f7fff};

static void check_conversions(size_t n) {
  surg__floats_to_halves(in, halves, n);
  surg__floats_to_bf16(in, words, n);
  for (size_t i = 0; i < n; i++) {
    const uint16_t h = surg__double_to_half((double)in[i]), b = surg__double_to_bf16((double)in[i]);
    if (halves[i] != h) ck_abort_msg("%a: half %x, not %x", (double)in[i], halves[i], h);
    if (words[i] != b) ck_abort_msg("%a: bfloat16 %x, not %x", (double)in[i], words[i], b);
  }
}

START_TEST(one_float_in_many) {
  size_t n = 0;
  for (uint64_t x = 0; x <= UINT32_MAX; x += STRIDE) {
    in[n++] = surg__bits_float((uint32_t)x);
    if (n < MANY) continue;
    check_conversions(n);
    n = 0;
  }
  check_conversions(n);
}
END_TEST

/* Every half and its neighbors in float, at the ties, too. */
START_TEST(around_each_half) {
  for (uint32_t h = 0; h < 0x10000; h++) halves[h] = (uint16_t)h;
  surg__halves_to_floats(halves, out, MANY);
  for (uint32_t h = 0; h < 0x10000; h++) {
    const bool nan = (h & 0x7fff) > 0x7c00;
    const float back = out[h];
    ck_assert(nan ? isnan(back) : surg__double_to_half((double)back) == h);
  }
  for (int step = -1; step <= 1; step++) {
    for (uint32_t h = 0; h < 0x10000; h++) {
      const uint32_t x = surg__float_bits(out[h]);
      in[h] = surg__bits_float(x + (uint32_t)step + (h & 1 ? 0x1000 : 0));
    }
    check_conversions(MANY);
  }
}
END_TEST

START_TEST(each_bf16) {
  for (uint32_t h = 0; h < 0x10000; h++) words[h] = (uint16_t)h;
  surg__bf16_to_floats(words, out, MANY);
  for (uint32_t h = 0; h < 0x10000; h++)
    ck_assert_uint_eq(surg__float_bits(out[h]), h << 16);
}
END_TEST

static float drawn(bool harsh) {
  const size_t n = sizeof special / sizeof *special;
  if (harsh && draw() % 4 == 0) return surg__bits_float(special[draw() % n]);
  return ldexpf((float)(int32_t)draw(), -(int)(draw() % 60));
}

START_TEST(extents) {
  for (int round = 0; round < UNIT_ROUNDS(4000); round++) {
    const size_t n = draw() % 70, skip = draw() % 5;
    surg__float_extent e = {.least = INT32_MAX};
    float least = INFINITY, above = 0, below = 0;
    bool nan = false, inf = false;
    for (size_t i = 0; i < n; i++) {
      const float x = in[skip + i] = drawn(round % 2), size = fabsf(x);
      nan |= isnan(x) != 0;
      inf |= isinf(x) != 0;
      if (!(size <= FLT_MAX)) continue;
      if (size > 0 && size < least) least = size;
      if (x > above) above = x;
      if (-x > below) below = -x;
    }
    surg__extend_floats(&e, in + skip, n / 2);
    surg__extend_floats(&e, in + skip + n / 2, n - n / 2);
    ck_assert(nan == (e.top > SURG__INF_BITS) && inf == (e.inf != 0));
    ck_assert(surg__bits_float((uint32_t)e.above) == above);
    ck_assert(surg__bits_float((uint32_t)e.below) == below);
    ck_assert(e.least == INT32_MAX ? isinf(least) : surg__bits_float((uint32_t)e.least) == least);
  }
}
END_TEST

START_TEST(integers) {
  static int64_t v[70];
  static int32_t narrow[70];
  static const int64_t edge[] = {0, 1, -1, INT64_MIN, INT64_MAX, INT32_MAX, INT32_MIN, 1ll << 31};
  for (int round = 0; round < UNIT_ROUNDS(4000); round++) {
    const size_t n = draw() % 70;
    surg__int_extent e = {.least = UINT64_MAX};
    int64_t low = 0, high = 0;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
      v[i] = draw() % 4 ? (int64_t)draw() << draw() % 33 >> draw() % 64 : edge[draw() % 8];
      const uint64_t size = v[i] < 0 ? 0 - (uint64_t)v[i] : (uint64_t)v[i];
      if (v[i] < low) low = v[i];
      if (v[i] > high) high = v[i];
      if (size && size - 1 < least) least = size - 1;
    }
    surg__extend_ints(&e, v, n);
    ck_assert(e.low == low && e.high == high && e.least == least);
    surg__narrow_ints(v, narrow, n);
    for (size_t i = 0; i < n; i++)
      ck_assert(narrow[i] == (v[i] < INT32_MIN ? INT32_MIN : v[i] > INT32_MAX ? INT32_MAX : v[i]));
  }
}
END_TEST

/* QuantizeLinear by its text, with the rounding of the C library. */
static float quantized(float x, float scale, float zero, float low, float high) {
  const double r = nearbyint((double)(x / scale));
  return (float)fmin(fmax(r + (double)zero, (double)low), (double)high);
}

START_TEST(quantizing) {
  static float scale[70], zero[70], least[70], most[70];
  for (int round = 0; round < UNIT_ROUNDS(4000); round++) {
    const size_t n = draw() % 70;
    const bool word = round % 3 == 0;
    surg__quantizer q = {word ? -32768 : -128, word ? 32767 : 127, scale, zero, round % 2};
    surg__noise sum = {1, 2}, want = sum;
    for (size_t i = 0; i < n + 1; i++) {
      do in[i] = drawn(false);
      while (!(fabsf(in[i]) <= FLT_MAX));
      scale[i] = ldexpf((float)(draw() % 1000 + 1), (int)(draw() % 40) - 30);
      zero[i] = (float)((int)(draw() % 255) - 127);
      least[i] = most[i] = drawn(false);
    }
    surg__quantize_floats(&q, in, out, n);
    surg__floats_to_bytes(out, bytes, n);
    surg__floats_to_words(out, words, n);
    for (size_t i = 0; i < n; i++) {
      const size_t k = i * q.step;
      ck_assert(out[i] == quantized(in[i], scale[k], zero[k], q.low, q.high));
      ck_assert(words[i] == (uint16_t)(int32_t)out[i] && bytes[i] == (uint8_t)(int32_t)out[i]);
      const double e = (double)in[i] - (double)((out[i] - zero[k]) * scale[k]);
      want.signal += (double)in[i] * (double)in[i];
      want.noise += e * e;
    }
    surg__measure_noise(&sum, &q, in, out, n);
    ck_assert(fabs(sum.signal - want.signal) <= 1e-13 * want.signal);
    ck_assert(fabs(sum.noise - want.noise) <= 1e-13 * want.noise);
    float low[70], high[70];
    memcpy(low, least, sizeof low);
    memcpy(high, most, sizeof high);
    float largest = 0;
    int32_t top = 0;
    surg__extend_each(least, most, in, n, &top);
    for (size_t i = 0; i < n; i++) {
      ck_assert(least[i] == fminf(low[i], in[i]) && most[i] == fmaxf(high[i], in[i]));
      largest = fmaxf(largest, fabsf(in[i]));
    }
    ck_assert_int_eq(top, (int32_t)surg__float_bits(largest));
    const float nan = NAN;
    surg__extend_each(least, most, &nan, 1, &top);
    ck_assert_int_gt(top, SURG__INF_BITS);
  }
}
END_TEST

int main(void) {
  TCase *t = tcase_create("loops");
  tcase_add_test(t, one_float_in_many);
  tcase_add_test(t, around_each_half);
  tcase_add_test(t, each_bf16);
  tcase_add_test(t, extents);
  tcase_add_test(t, integers);
  tcase_add_test(t, quantizing);
  Suite *s = suite_create("tensor_loops");
  suite_add_tcase(s, t);
  return unit_run(s);
}
