/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit floats to doubles and back, in every width (see widths.h), against the conversions
 * of single numbers. */
#include <math.h>
#include <string.h>

#include "widths.h"

#include "eval/fast/cast_fast.c"

#include "base/real.h"
#include "unit.h"

#define ALL 65536
static const int types[] = {SURG_FLOAT16, SURG_BFLOAT16};

static float widened(int t, uint16_t i) {
  return t ? surg__bf16_to_float(i) : surg__half_to_float(i);
}

START_TEST(to_doubles) {
  static uint16_t in[ALL];
  static double out[ALL];
  for (int i = 0; i < ALL; i++) in[i] = (uint16_t)i;
  for (int t = 0; t < 2; t++) {
    for (variant = 0; variant < count_variants(); variant++) {
      const uint64_t n = ALL - unit_between(0, 40);
      surg__halves_as_doubles(types[t], in, out, n);
      for (uint64_t i = 0; i < n; i++) {
        const double want = (double)widened(t, in[i]);
        ck_assert_msg(isnan(want) ? isnan(out[i]) : memcmp(&want, &out[i], sizeof want) == 0,
                      "%x, width %d: %a, not %a", in[i], variant, out[i], want);
      }
    }
  }
}
END_TEST

/* At, between and next to the numbers of the type: what is lost is far below the last place of a
 * float, too. */
static double near_half(int t, uint32_t i) {
  const float a = widened(t, (uint16_t)i), b = widened(t, (uint16_t)(i + 1));
  const double middle = isfinite(b) ? ((double)a + (double)b) / 2 : (double)a * 1.001;
  switch (unit_between(0, 4)) {
    case 0:
      return (double)a;
    case 1:
      return middle;
    case 2:
      return nextafter(middle, INFINITY);
    case 3:
      return nextafter(middle, -INFINITY);
    default:
      return nextafter((double)a, unit_random() % 2 ? INFINITY : -INFINITY);
  }
}

START_TEST(from_doubles) {
  static double in[ALL];
  static uint16_t out[ALL];
  for (int round = 0; round < 12; round++) {
    const int t = round % 2;
    for (uint32_t i = 0; i < ALL; i++) in[i] = near_half(t, i);
    for (variant = 0; variant < count_variants(); variant++) {
      const uint64_t n = ALL - unit_between(0, 40);
      surg__narrow_doubles(types[t], in, out, n);
      for (uint64_t i = 0; i < n; i++) {
        const uint16_t want = t ? surg__double_to_bf16(in[i]) : surg__double_to_half(in[i]);
        ck_assert_msg(out[i] == want, "%a, width %d: %x, not %x", in[i], variant, out[i], want);
      }
    }
  }
}
END_TEST

/* Any bits, every fourth number one of the many NaN. */
START_TEST(from_floats) {
  static float in[ALL];
  static uint16_t out[ALL];
  for (int t = 0; t < 2; t++) {
    for (uint32_t i = 0; i < ALL; i++) {
      const uint32_t any = (uint32_t)(unit_random() >> 32) | (i % 4 ? 0 : 0x7f800001u);
      memcpy(&in[i], &any, sizeof any);
    }
    for (variant = 0; variant < count_variants(); variant++) {
      const uint64_t n = ALL - unit_between(0, 40);
      surg__narrow_halves(types[t], in, out, n);
      for (uint64_t i = 0; i < n; i++) {
        const uint16_t want = t ? surg__float_to_bf16(in[i]) : surg__float_to_half(in[i]);
        ck_assert_msg(out[i] == want, "%a, width %d: %x, not %x", (double)in[i], variant, out[i],
                      want);
      }
    }
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_widths_halves");
  TCase *c = tcase_create("halves");
  tcase_set_timeout(c, 120);
  tcase_add_test(c, to_doubles);
  tcase_add_test(c, from_doubles);
  tcase_add_test(c, from_floats);
  suite_add_tcase(s, c);
  return unit_run(s);
}
