/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit floats to doubles and back, in every width (see kernels_widths.c), against the conversions
 * of single numbers. */
#include <math.h>
#include <string.h>

#include "eval/hot.h"

static int width; /* 0: plain, 1: AVX2, 2: AVX-512 */
static bool has_wide(void) {
  return surg__cpu_wide();
}
static bool has_widest(void) {
  return surg__cpu_widest();
}
#define surg__cpu_wide() (width >= 1)
#define surg__cpu_widest() (width >= 2)
#include "eval/cast_fast.c"

#include "base/real.h"
#include "unit.h"

#define ALL 65536
static const int types[] = {SURG_FLOAT16, SURG_BFLOAT16};

static int count_variants(void) {
  return has_widest() ? 3 : has_wide() ? 2 : 1;
}

static float widened(int t, uint16_t i) {
  return t ? surg__bf16_to_float(i) : surg__half_to_float(i);
}

START_TEST(to_doubles) {
  static uint16_t in[ALL];
  static double out[ALL];
  for (int i = 0; i < ALL; i++) in[i] = (uint16_t)i;
  for (int t = 0; t < 2; t++) {
    for (width = 0; width < count_variants(); width++) {
      const uint64_t n = ALL - unit_between(0, 40);
      surg__halves_as_doubles(types[t], in, out, n);
      for (uint64_t i = 0; i < n; i++) {
        const double want = (double)widened(t, in[i]);
        ck_assert_msg(isnan(want) ? isnan(out[i]) : memcmp(&want, &out[i], sizeof want) == 0,
                      "%x, width %d: %a, not %a", in[i], width, out[i], want);
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
    for (width = 0; width < count_variants(); width++) {
      const uint64_t n = ALL - unit_between(0, 40);
      surg__narrow_doubles(types[t], in, out, n);
      for (uint64_t i = 0; i < n; i++) {
        const uint16_t want = t ? surg__double_to_bf16(in[i]) : surg__double_to_half(in[i]);
        ck_assert_msg(out[i] == want, "%a, width %d: %x, not %x", in[i], width, out[i], want);
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
  suite_add_tcase(s, c);
  return unit_run(s);
}
