/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and shares of powers of e: the same bits in every width (see widths.h), by rows and by
 * columns, with powers that are kept and such that are made again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "widths.h"

#include "eval/fast/exp_fast.c"

#include "unit.h"

#define MOST 120000 /* elements */
#define COLUMNS 1300

static double some_number(int round) {
  const double unit = (double)(unit_random() >> 11) * 0x1p-53 - 0.5;
  static const double odd[] = {-INFINITY, -1000, -3e38, 3e38, -INFINITY, -1e5, INFINITY, -NAN};
  if (round % 5 == 0 && unit_random() % 500 == 0) return odd[unit_random() % (round % 2 ? 6 : 8)];
  return unit * (round % 3 == 0 ? 1 : round % 3 == 1 ? 40 : 250);
}

typedef struct results {
  double top[COLUMNS], sum[COLUMNS];
  uint64_t shares[MOST];
} results;

/* `e` in one width. What is kept is of 16-bit floats. */
static void compute_as(int w, surg__exp_runs *e, bool keep, results *r) {
  const surg__array out = {.dtype = e->x->dtype, .count = e->x->count, .data = r->shares};
  memset(r, 0, sizeof *r);
  variant = w;
  e->room = malloc(SURG__EXP_ROOM * COLUMNS * sizeof(double));
  e->o = &out;
  e->kept = keep && surg__exp_half(e->x->dtype)
                ? malloc((size_t)(e->length * (e->single ? 1 : e->n)) * sizeof(float))
                : NULL;
  surg__exp_sums(e, r->top, r->sum);
  surg__exp_shares(e, r->top, r->sum);
  for (uint64_t j = 0; j < e->n; j++) /* what the sum is there is not said */
    if (!isfinite(r->top[j])) r->sum[j] = 0;
  free(e->kept);
  free(e->room);
}

static const int types[] = {SURG_FLOAT, SURG_DOUBLE, SURG_FLOAT16, SURG_BFLOAT16};

static surg__exp_runs some_runs(int round, surg__array *x) {
  const bool single = round / 4 % 2;
  const uint64_t n = single ? 1 : unit_between(1, round % 3 ? 40 : COLUMNS);
  const uint64_t most = MOST / n < 3000 ? MOST / n : 3000, length = unit_between(1, most);
  x->dtype = types[round % 4];
  x->count = length * n;
  for (uint64_t i = 0; i < x->count; i++)
    surg__store_f64(x->dtype, x->data, i, some_number(round));
  for (uint64_t i = 0; i < length && round % 6 == 0; i++) /* a run of nothing but the least */
    surg__store_f64(x->dtype, x->data, i * n, -INFINITY);
  return (surg__exp_runs){.x = x, .length = length, .step = n, .n = n, .single = single};
}

START_TEST(powers_of_e) {
  static uint64_t in[MOST];
  static results first, other;
  for (int round = 0; round < 80; round++) {
    surg__array x = {.data = in};
    surg__exp_runs e = some_runs(round, &x);
    compute_as(0, &e, round / 8 % 2, &first);
    for (int w = 1; w < count_variants(); w++) {
      compute_as(w, &e, round / 8 % 2, &other);
      ck_assert_msg(memcmp(&first, &other, sizeof first) == 0, "%s, %d x %d, width %d",
                    surg__dtype_name(x.dtype), (int)e.length, (int)e.n, w);
    }
  }
}
END_TEST

/* Runs beside each other give the bits of each alone, kept or not. */
START_TEST(either_way) {
  static uint64_t in[MOST], turned[MOST];
  static results all, one;
  for (int round = 0; round < 40; round++) {
    surg__array x = {.data = in};
    surg__exp_runs e = some_runs(round + round / 4 * 4, &x);
    const size_t size = surg__dtype_unpacked(x.dtype);
    const surg__array run = {.dtype = x.dtype, .count = e.length, .data = turned};
    compute_as(count_variants() - 1, &e, round / 4 % 2, &all);
    for (uint64_t j = 0; j < e.n; j += e.n / 16 + 1) {
      surg__exp_runs f = {.x = &run, .length = e.length, .step = 1, .n = 1, .single = true};
      for (uint64_t i = 0; i < e.length; i++)
        memcpy((char *)turned + i * size, (char *)in + (i * e.n + j) * size, size);
      compute_as(0, &f, round % 2, &one);
      ck_assert(one.top[0] == all.top[j] || (isnan(one.top[0]) && isnan(all.top[j])));
      ck_assert(one.sum[0] == all.sum[j]);
      for (uint64_t i = 0; i < e.length; i++)
        ck_assert_msg(memcmp((char *)one.shares + i * size,
                             (char *)all.shares + (i * e.n + j) * size, size) == 0,
                      "%s, %d x %d", surg__dtype_name(x.dtype), (int)e.length, (int)e.n);
    }
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_widths_exp");
  TCase *c = tcase_create("exp");
  tcase_set_timeout(c, 120);
  tcase_add_test(c, powers_of_e);
  tcase_add_test(c, either_way);
  suite_add_tcase(s, c);
  return unit_run(s);
}
