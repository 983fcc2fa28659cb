/* SPDX-License-Identifier: Apache-2.0 */
/* The same bits from every variant of a loop: what one machine folds is what another one does. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "widths.h"

#include "eval/fast/pow_fast.c"
#undef PIECE
#include "eval/fast/unary_fast.c"
#undef PIECE

#include "unit.h"

#define N 20000

/* Any bits, and every other one of moderate size. */
static double any_number(bool narrow) {
  const uint64_t bits = unit_random();
  const uint32_t low = (uint32_t)(bits >> 32);
  double x;
  float f;
  if (bits & 1) return ((double)(bits >> 12) * 0x1p-52 - 0.5) * 40;
  memcpy(&x, &bits, sizeof x);
  memcpy(&f, &low, sizeof f);
  return narrow ? (double)f : x;
}

/* NaN of whatever bits are one. */
#define SAME(a, b) (memcmp(&(a), &(b), sizeof(a)) == 0 || (isnan(a) && isnan(b)))

#define CHECK(type, run, what, op)                                                           \
  do {                                                                                       \
    static type first[N], other[N];                                                          \
    for (int w = 0; w < variants; w++) {                                                     \
      type *out = w == 0 ? first : other;                                                    \
      variant = w;                                                                             \
      run;                                                                                   \
      for (int i = 0; w > 0 && i < N; i++)                                                   \
        ck_assert_msg(SAME(first[i], other[i]), "%s %d, width %d: %a, not %a", what, op, w,  \
                      (double)other[i], (double)first[i]);                                   \
    }                                                                                        \
  } while (0)

START_TEST(one_input) {
  static float x[N];
  static double y[N];
  const int variants = count_variants();
  unsigned seen = 0;
  for (int i = 0; i < N; i++) {
    x[i] = (float)any_number(true);
    y[i] = any_number(false);
  }
  for (int op = 0; op < SURG_OP_COUNT; op++) {
    const surg__unary_fn of_floats = surg__unary_fast(op);
    const surg__unary_double_fn of_doubles = surg__unary_fast_double(op);
    if (of_floats) CHECK(float, of_floats(x, out, N, 0.25, 0.75), "operator", op);
    if (of_doubles) CHECK(double, of_doubles(y, out, N, 0.25, 0.75), "operator on doubles", op);
    seen += (of_floats != NULL) + (of_doubles != NULL);
  }
  ck_assert_uint_ge(seen, 60);
  for (int tanh = 0; tanh < 2; tanh++) {
    CHECK(float, surg__gelu_fast(tanh)(x, out, N, 0, 0), "Gelu", tanh);
    CHECK(double, surg__gelu_fast_double(tanh)(y, out, N, 0, 0), "Gelu of doubles", tanh);
  }
  /* near 0, where pieces take the short form */
  for (int i = 0; i < N; i++) {
    x[i] = isfinite(x[i]) ? fmodf(x[i], 3) : 3;
    y[i] = isfinite(y[i]) ? fmod(y[i], 1.25) : 1.25;
  }
  CHECK(float, surg__gelu_fast(false)(x, out, N, 0, 0), "near Gelu", 0);
  CHECK(double, surg__gelu_fast_double(false)(y, out, N, 0, 0), "near Gelu of doubles", 0);
}
END_TEST

START_TEST(powers) {
  static double x[N], y[N];
  static float p[N], q[N];
  const int variants = count_variants();
  for (int i = 0; i < N; i++) {
    x[i] = any_number(false);
    y[i] = any_number(false);
    p[i] = (float)any_number(true);
    q[i] = (float)any_number(true);
  }
  CHECK(double, surg__pow_doubles(x, y, false, out, N), "Pow", 0);
  CHECK(float, surg__pow_floats(p, q, false, out, N), "Pow of floats", 0);
  CHECK(float, surg__pow_halves(p, q, false, out, N), "Pow of 16-bit floats", 0);
  /* without what pieces with odd numbers ask */
  for (int i = 0; i < N; i++) {
    x[i] = (i % 2 ? 1 : -1) * (1 + fabs(fmod(x[i], 3)));
    y[i] = fmod(y[i], 40);
    x[i] = isfinite(x[i]) ? x[i] : 1;
    y[i] = isfinite(y[i]) ? y[i] : 1;
    p[i] = (float)x[i];
    q[i] = (float)y[i];
  }
  CHECK(double, surg__pow_doubles(x, y, false, out, N), "plain Pow", 0);
  CHECK(float, surg__pow_floats(p, q, false, out, N), "plain Pow of floats", 0);
  CHECK(float, surg__pow_halves(p, q, false, out, N), "plain Pow of 16-bit floats", 0);
  /* near 1 */
  for (int i = 0; i < N; i++) {
    y[i] = fmod(y[i], 5);
    q[i] = (float)y[i];
  }
  CHECK(double, surg__pow_doubles(x, y, false, out, N), "near Pow", 0);
  CHECK(float, surg__pow_floats(p, q, false, out, N), "near Pow of floats", 0);
  CHECK(float, surg__pow_halves(p, q, false, out, N), "near Pow of 16-bit floats", 0);
}
END_TEST

/* Against squaring and multiplying, for exponents of each number of bits that loops are made for. */
#define WHOLE_POWERS(name, type, function)                                                      \
  static void name(unsigned bits, bool one) {                                                   \
    static type x[N], y[N], want[N], got[N];                                                    \
    bool top = false;                                                                           \
    for (int i = 0; i < N; i++) {                                                               \
      x[i] = (type)unit_random();                                                               \
      y[i] = one && i > 0 ? y[0] : (type)unit_random() >> (8 * sizeof(type) - bits);            \
      top |= y[i] >> (8 * sizeof(type) - 1);                                                    \
      want[i] = 1;                                                                              \
      type base = x[i];                                                                         \
      for (type by = y[i]; by > 0; by >>= 1, base *= base)                                      \
        if (by & 1) want[i] *= base;                                                            \
    }                                                                                           \
    for (variant = 0; variant < count_variants(); variant++) {                                  \
      memset(got, 0, sizeof got);                                                               \
      ck_assert_int_eq(function(x, y, one, got, N), top);                                       \
      ck_assert_msg(memcmp(want, got, sizeof got) == 0, #type ", %u bits, width %d", bits,      \
                    variant);                                                                   \
    }                                                                                           \
  }
WHOLE_POWERS(wide_wholes, uint64_t, surg__pow_wholes)
WHOLE_POWERS(narrow_wholes, uint32_t, surg__pow_narrow_wholes)

START_TEST(whole_powers) {
  static const unsigned bits[] = {1, 2, 3, 4, 5, 8, 9, 10, 12, 17, 31, 32};
  for (size_t i = 0; i < SURG_COUNT(bits); i++) {
    for (int one = 0; one < 2; one++) {
      wide_wholes(bits[i], one);
      wide_wholes(bits[i] + 32, one);
      narrow_wholes(bits[i], one);
    }
  }
}
END_TEST

/* A table of functions of 16 bits, for every length of what several at a time leave over. */
START_TEST(tables) {
  static uint16_t table[1 << 16];
  uint16_t in[41], out[41];
  for (size_t i = 0; i < SURG_COUNT(table); i++) table[i] = (uint16_t)unit_random();
  for (size_t n = 0; n < SURG_COUNT(in); n++) {
    for (size_t i = 0; i < SURG_COUNT(in); i++) in[i] = (uint16_t)unit_random();
    memcpy(out, in, sizeof out);
    surg__look_up(table, in, out, n);
    for (size_t i = 0; i < SURG_COUNT(in); i++)
      ck_assert_uint_eq(out[i], i < n ? table[in[i]] : in[i]);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_widths");
  TCase *c = tcase_create("widths");
  tcase_set_timeout(c, 120);
  if (count_variants() < 3) printf("this machine has %d of 3 widths\n", count_variants());
  tcase_add_test(c, one_input);
  tcase_add_test(c, powers);
  tcase_add_test(c, whole_powers);
  tcase_add_test(c, tables);
  suite_add_tcase(s, c);
  return unit_run(s);
}
