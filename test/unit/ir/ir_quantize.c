/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized elements and back: errors within half a scale, for all types, axes and blocks. */
#include <math.h>
#include <onnxsurg/precision.h>

#include "ir_common.h"

static surg_context *ctx;
static surg_model *m;

static void setup(void) {
  ctx = new_context();
  m = surg_model_new(ctx, 10, 21);
}

static void teardown(void) {
  surg_model_free(m);
  surg_context_free(ctx);
}

enum { A = 3, B = 37, C = 5, COUNT = A * B * C };
static const int64_t dims[] = {A, B, C};
static float x[COUNT];

/* Numbers of very different sizes, slices of zeros and of one sign among them. */
static surg_tensor *numbers(void) {
  uint32_t state = 1;
  for (size_t i = 0; i < COUNT; i++) {
    state = state * 1664525u + 1013904223u;
    const size_t b = i / C % B, c = i % C;
    x[i] = ((float)(state >> 8) / (float)(1 << 23) - 1) * ldexpf(1, (int)(b + c) % 21 - 10);
    if (c == 3) x[i] = fabsf(x[i]);
    if (c == 4 || b == 7) x[i] = 0;
  }
  return surg_tensor_new(m, SURG_FLOAT, dims, 3, x, sizeof x);
}

/* The scale of element i. */
static float scale_of(const surg_tensor *scale, const surg_quantization *how, size_t i) {
  static float all[COUNT];
  const size_t at[] = {i / C / B, i / C % B, i % C};
  ck_assert_int_eq(surg_tensor_read(scale, 0, all, (size_t)surg_tensor_bytes(scale)), SURG_OK);
  if (!how->each) return all[0];
  if (!how->block) return all[at[how->axis]];
  size_t place = 0;
  for (size_t d = 0; d < 3; d++)
    place = place * (size_t)surg_tensor_dims(scale)[d] +
            (d == how->axis ? at[d] / (size_t)how->block : at[d]);
  return all[place];
}

static void check(const surg_tensor *t, surg_quantization how) {
  surg_tensor *q, *scale, *zero, *back;
  static float y[COUNT];
  double noise = 0;
  ck_assert_int_eq(surg_tensor_quantize(m, t, &how, &q, &scale, &zero), SURG_OK);
  ck_assert_int_eq(surg_tensor_dequantize(m, q, scale, zero, how.axis, how.block, &back), SURG_OK);
  ck_assert_int_eq(surg_tensor_read(back, 0, y, sizeof y), SURG_OK);
  for (size_t i = 0; i < COUNT; i++) {
    const float s = scale_of(scale, &how, i);
    ck_assert(s > 0);
    /* The quotient and the product are floats, which 16 bits come near. */
    ck_assert_msg(fabsf(x[i] - y[i]) <= s * 0.51f,
                  "type %d axis %zu block %d element %zu: %g is %g", how.dtype, how.axis,
                  (int)how.block, i, (double)x[i], (double)y[i]);
    noise += (double)(x[i] - y[i]) * (double)(x[i] - y[i]);
  }
  ck_assert(fabs(how.noise - noise) <= 1e-6 * noise);
}

START_TEST(half_a_scale) {
  static const int types[] = {SURG_INT8,   SURG_UINT8, SURG_INT16,
                              SURG_UINT16, SURG_INT4,  SURG_UINT4};
  const surg_tensor *t = numbers();
  for (size_t k = 0; k < sizeof types / sizeof *types; k++)
    for (int form = 0; form < 4; form++) {
      surg_quantization how = {.size = sizeof how, .dtype = types[k]};
      how.symmetric = form & 1;
      how.reduced = form & 2;
      check(t, how);
      how.each = true;
      for (how.axis = 0; how.axis < 3; how.axis++)
        for (uint64_t block = 0; block <= 64; block = block ? block * 2 : 1) {
          how.block = block;
          check(t, how);
        }
    }
}
END_TEST

START_TEST(float8) {
  const surg_tensor *t = numbers();
  surg_quantization how = {.size = sizeof how, .dtype = SURG_FLOAT8E4M3FN, .each = true, .axis = 1};
  surg_tensor *q, *scale, *zero, *back;
  float y[COUNT];
  ck_assert_int_eq(surg_tensor_quantize(m, t, &how, &q, &scale, &zero), SURG_OK);
  ck_assert_int_eq(surg_tensor_dequantize(m, q, scale, zero, 1, 0, &back), SURG_OK);
  ck_assert_int_eq(surg_tensor_read(back, 0, y, sizeof y), SURG_OK);
  for (size_t i = 0; i < COUNT; i++) /* 4 digits, or the smallest denormal number, 2^-9 */
    ck_assert(fabsf(x[i] - y[i]) <=
              fmaxf(fabsf(x[i]) * 0x1.001p-4f, scale_of(scale, &how, i) * 0x1.001p-10f));
}
END_TEST

static surg_status status_of(int dtype, const int64_t *d, size_t rank, const void *data, size_t n,
                             surg_quantization how) {
  surg_tensor *q, *scale, *zero;
  return surg_tensor_quantize(m, surg_tensor_new(m, dtype, d, rank, data, n), &how, &q, &scale,
                              &zero);
}

START_TEST(left_out) {
  const float bad[] = {1, NAN, 2, INFINITY}, good[] = {1, 2, 3, 4};
  const int64_t four = 4, none = 0, ints[] = {1, 2};
  const surg_quantization how = {.size = sizeof how, .dtype = SURG_INT8};
  surg_quantization far = how, wide = how;
  far.each = true;
  far.axis = 1;
  wide.dtype = SURG_INT32;
  ck_assert_int_eq(status_of(SURG_FLOAT, &four, 1, bad, sizeof bad, how), SURG_EINVALID);
  ck_assert_int_eq(status_of(SURG_FLOAT, &four, 1, good, sizeof good, how), SURG_OK);
  ck_assert_int_eq(status_of(SURG_FLOAT, &four, 1, good, sizeof good, far), SURG_EUNSUPPORTED);
  ck_assert_int_eq(status_of(SURG_FLOAT, &four, 1, good, sizeof good, wide), SURG_EUNSUPPORTED);
  ck_assert_int_eq(status_of(SURG_FLOAT, &none, 1, NULL, 0, how), SURG_EUNSUPPORTED);
  ck_assert_int_eq(status_of(SURG_INT64, ints + 1, 1, ints, sizeof ints, how), SURG_EUNSUPPORTED);
  ck_assert_int_eq(surg_model_status(m), SURG_OK);
}
END_TEST

/* A tensor of several pieces. */
START_TEST(large) {
  enum { ROWS = 700, COLUMNS = 301 };
  static float f[ROWS * COLUMNS], y[ROWS * COLUMNS];
  const int64_t d[] = {ROWS, COLUMNS};
  for (size_t i = 0; i < ROWS * COLUMNS; i++) f[i] = (float)(i % 255) - 127;
  const surg_tensor *t = surg_tensor_new(m, SURG_FLOAT, d, 2, f, sizeof f);
  for (size_t axis = 0; axis < 2; axis++)
    for (uint64_t block = 0; block < 1000; block += 300) {
      surg_quantization how = {.size = sizeof how, .dtype = SURG_INT8, .symmetric = true};
      surg_tensor *q, *scale, *zero, *back;
      how.each = true;
      how.axis = axis;
      how.block = block;
      ck_assert_int_eq(surg_tensor_quantize(m, t, &how, &q, &scale, &zero), SURG_OK);
      ck_assert_int_eq(surg_tensor_dequantize(m, q, scale, zero, axis, block, &back), SURG_OK);
      ck_assert_int_eq(surg_tensor_read(back, 0, y, sizeof y), SURG_OK);
      for (size_t i = 0; i < ROWS * COLUMNS; i++) ck_assert(fabsf(y[i] - f[i]) <= 0.5001f);
    }
}
END_TEST

int main(void) {
  Suite *s = suite_create("ir_quantize");
  TCase *t = tcase_create("quantize");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, half_a_scale);
  tcase_add_test(t, float8);
  tcase_add_test(t, left_out);
  tcase_add_test(t, large);
  suite_add_tcase(s, t);
  return unit_run(s);
}
