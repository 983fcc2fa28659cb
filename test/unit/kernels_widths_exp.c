/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and shares of powers of e: the same bits in every width (see widths.h), by rows and by columns,
 * with powers that are kept and such that are made again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "widths.h"

#include "eval/exp_fast.c"

#include "unit.h"

#define MOST 3000
#define COLUMNS 40

static double some_number(int round) {
  const double unit = (double)(unit_random() >> 11) * 0x1p-53 - 0.5;
  if (round % 5 == 0 && unit_random() % 500 == 0) return unit_random() % 2 ? -INFINITY : -1000;
  return unit * (round % 3 == 0 ? 1 : round % 3 == 1 ? 40 : 250);
}

typedef struct results {
  double top[COLUMNS], sum[COLUMNS];
  uint64_t shares[MOST * COLUMNS];
} results;

/* `e` in one width. */
static void compute_as(int w, surg__exp_runs *e, bool keep, results *r) {
  static double room[SURG__EXP_ROOM * COLUMNS];
  const surg__array out = {.dtype = e->x->dtype, .count = e->x->count, .data = r->shares};
  memset(r, 0, sizeof *r);
  variant = w;
  e->room = room;
  e->o = &out;
  e->kept = keep && surg__exp_half(e->x->dtype) ? malloc((size_t)(e->length * (e->single ? 1 : e->n)) * sizeof(double)) : NULL;
  surg__exp_sums(e, r->top, r->sum);
  surg__exp_shares(e, r->top, r->sum);
  free(e->kept);
}

START_TEST(powers_of_e) {
  static const int types[] = {SURG_FLOAT, SURG_DOUBLE, SURG_FLOAT16, SURG_BFLOAT16};
  static uint64_t in[MOST * COLUMNS];
  static results first, other;
  for (int round = 0; round < 60; round++) {
    const int dtype = types[round % 4];
    const bool single = round / 4 % 2;
    const uint64_t length = unit_between(1, MOST), n = single ? 1 : unit_between(1, COLUMNS);
    const surg__array x = {.dtype = dtype, .count = length * n, .data = in};
    surg__exp_runs e = {.x = &x, .length = length, .step = n, .n = n, .single = single};
    for (uint64_t i = 0; i < x.count; i++) surg__store_f64(dtype, in, i, some_number(round));
    compute_as(0, &e, round / 8 % 2, &first);
    for (int w = 1; w < count_variants(); w++) {
      compute_as(w, &e, round / 8 % 2, &other);
      ck_assert_msg(memcmp(&first, &other, sizeof first) == 0, "%s, %d x %d, width %d",
                    surg__dtype_name(dtype), (int)length, (int)n, w);
    }
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_widths_exp");
  TCase *c = tcase_create("exp");
  tcase_set_timeout(c, 120);
  tcase_add_test(c, powers_of_e);
  suite_add_tcase(s, c);
  return unit_run(s);
}
