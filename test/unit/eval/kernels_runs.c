/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that walk along one axis, in every type, against their plain meaning: reductions of
 * integers, ArgMax and ArgMin, CumSum and CumProd, and what sums exponentials. */
#include "kernel_arrays.h"

#define ROUNDS UNIT_ROUNDS(80)

static const int wholes[] = {SURG_INT8,  SURG_UINT8,  SURG_INT16, SURG_UINT16, SURG_INT32,
                             SURG_UINT32, SURG_INT64, SURG_UINT64};
static const int reals[] = {SURG_FLOAT, SURG_DOUBLE, SURG_FLOAT16, SURG_BFLOAT16};

/* Element i of run r of an array [a, b, c] along one of its axes. */
typedef struct runs {
  int64_t dims[3], axis;
  uint64_t n, length, step;
} runs;

static runs random_runs(int round) {
  runs r = {.axis = round % 3};
  for (int d = 0; d < 3; d++) r.dims[d] = (int64_t)unit_between(1, 12);
  /* around the size of a piece */
  r.dims[unit_between(0, 2)] = (int64_t)unit_between(500, 1100);
  r.length = (uint64_t)r.dims[r.axis];
  r.n = (uint64_t)(r.dims[0] * r.dims[1] * r.dims[2]) / r.length;
  r.step = r.axis == 0 ? (uint64_t)(r.dims[1] * r.dims[2]) : r.axis == 1 ? (uint64_t)r.dims[2] : 1;
  return r;
}

static uint64_t place(const runs *r, uint64_t run, uint64_t i) {
  return run / r->step * r->step * r->length + run % r->step + i * r->step;
}

/* Few values, so that there are many ties; and now and then the ends of the type, or NaN. */
static surg__array numbers(int dtype, const runs *r, bool wild) {
  surg__array a = array(dtype, r->dims, 3, wild);
  for (uint64_t i = 0; i < a.count && !wild; i++) {
    const int64_t v = (int64_t)unit_between(0, 6) - 3;
    if (surg__is_real(dtype))
      surg__store_f64(dtype, a.data, i, unit_random() % 999 ? (double)v : NAN);
    else
      surg__store_int(dtype, a.data, i, (uint64_t)v);
  }
  return a;
}

/* --- integers --- */

typedef __int128 wide;

static wide whole_at(const surg__array *a, uint64_t i) {
  const uint64_t v = surg__load_int(a->dtype, a->data, i);
  return surg__dtype_is_signed_int(a->dtype) ? (wide)(int64_t)v : (wide)v;
}

static uint64_t whole_reduced(const char *op, const surg__array *x, const runs *r, uint64_t run) {
  const bool product = strcmp(op, "ReduceProd") == 0, least = strcmp(op, "ReduceMin") == 0;
  const bool most = strcmp(op, "ReduceMax") == 0;
  wide sum = product ? 1 : 0;
  for (uint64_t i = 0; i < r->length; i++) {
    wide v = whole_at(x, place(r, run, i));
    if (strcmp(op, "ReduceL1") == 0 && v < 0) v = -v;
    if (strcmp(op, "ReduceSumSquare") == 0) v = (wide)((uint64_t)v * (uint64_t)v);
    if (product)
      sum = (wide)((uint64_t)sum * (uint64_t)v);
    else if (most || least)
      sum = i == 0 || (most ? v > sum : v < sum) ? v : sum;
    else
      sum += v;
  }
  return (uint64_t)(strcmp(op, "ReduceMean") == 0 ? sum / (wide)r->length : sum);
}

START_TEST(integers) {
  static const char *const ops[] = {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd",
                                    "ReduceL1",  "ReduceMean", "ReduceSumSquare"};
  for (int round = 0; round < ROUNDS; round++) {
    const char *op = ops[round % (int)SURG_COUNT(ops)];
    /* bytes and 16-bit integers have extremes alone, and only bytes */
    const bool extreme = strcmp(op, "ReduceMax") == 0 || strcmp(op, "ReduceMin") == 0;
    const size_t first = extreme && round % 2 ? 0 : 4;
    const int dtype = wholes[unit_between(first, first == 0 ? 1 : SURG_COUNT(wholes) - 1)];
    const runs r = random_runs(round);
    surg_node *n = node(op, 2);
    surg__array x = numbers(dtype, &r, strcmp(op, "ReduceMean") != 0), out = {0};
    int64_t one = 1, axis = r.axis;
    surg__array in[2] = {
        x, {.dtype = SURG_INT64, .rank = 1, .count = 1, .data = &axis, .dims = &one}};
    const bool by_input = strcmp(op, "ReduceSum") == 0;
    if (!by_input) {
      n = node(op, 1);
      surg_node_set_ints(n, "axes", &axis, 1);
    }
    const surg_status s = compute(n, in, &out);
    bool overflows = false;
    for (uint64_t i = 0; strcmp(op, "ReduceMean") == 0 && i < r.n; i++) {
      wide sum = 0;
      for (uint64_t e = 0; e < r.length; e++) sum += whole_at(&x, place(&r, i, e));
      overflows |= sum < surg__int_min(dtype) || sum > surg__int_max(dtype);
    }
    ck_assert_msg((s == SURG_OK) == !overflows, "%s of %s", op, surg__dtype_name(dtype));
    for (uint64_t i = 0; i < r.n && s == SURG_OK; i++) {
      uint64_t want = 0;
      surg__store_int(dtype, &want, 0, whole_reduced(op, &x, &r, i));
      want = surg__load_int(dtype, &want, 0);
      ck_assert_msg(want == surg__load_int(dtype, out.data, i), "%s of %s, run %d: %lld, not %lld",
                    op, surg__dtype_name(dtype), (int)i,
                    (long long)surg__load_int(dtype, out.data, i), (long long)want);
    }
    done(&out);
  }
}
END_TEST

/* Of 64-bit integers whose sums nearly fill the type, in runs longer than are walked at a time. */
START_TEST(long_means) {
  static const struct {
    int64_t dims[3], axis;
  } cases[] = {{{1, 1, 70001}, 2}, {{3, 1, 40000}, 2}, {{900, 1, 130}, 0}, {{2, 300, 700}, 1}};
  const int dtype = _i % 2 ? SURG_INT64 : SURG_UINT64;
  const runs r = {.dims = {cases[_i / 2].dims[0], cases[_i / 2].dims[1], cases[_i / 2].dims[2]},
                  .axis = cases[_i / 2].axis,
                  .length = (uint64_t)cases[_i / 2].dims[cases[_i / 2].axis],
                  .step = _i / 2 == 2 ? 130 : _i / 2 == 3 ? 700 : 1};
  surg__array x = array(dtype, r.dims, 3, false), out = {0};
  const uint64_t most = (uint64_t)surg__int_max(dtype) / r.length;
  for (uint64_t i = 0; i < x.count; i++) {
    const uint64_t v = unit_random() % most;
    surg__store_int(dtype, x.data, i, dtype == SURG_INT64 && i % 3 == 0 ? 0 - v : v);
  }
  surg_node *n = node("ReduceMean", 1);
  surg_node_set_ints(n, "axes", &r.axis, 1);
  ck_assert_int_eq(compute(n, &x, &out), SURG_OK);
  ck_assert_uint_eq(out.count * r.length, x.count);
  for (uint64_t i = 0; i < out.count; i++)
    ck_assert_uint_eq(surg__load_int(dtype, out.data, i),
                      whole_reduced("ReduceMean", &x, &r, i));
  done(&out);
}
END_TEST

/* --- ArgMax, ArgMin --- */

/* As long double, which holds every element of every type. */
static long double exact_at(const surg__array *a, uint64_t i) {
  return surg__is_real(a->dtype) ? (long double)number(a, i) : (long double)whole_at(a, i);
}

START_TEST(places) {
  for (int round = 0; round < 2 * ROUNDS; round++) {
    const size_t t = unit_between(0, SURG_COUNT(wholes) + SURG_COUNT(reals) - 1);
    const int dtype = t < SURG_COUNT(wholes) ? wholes[t] : reals[t - SURG_COUNT(wholes)];
    const bool largest = round % 2 == 0, last = round / 2 % 2 == 0;
    const runs r = random_runs(round);
    surg__array x = numbers(dtype, &r, round % 5 == 0), out = {0};
    surg_node *n = node(largest ? "ArgMax" : "ArgMin", 1);
    surg_node_set_int(n, "axis", r.axis);
    surg_node_set_int(n, "select_last_index", last);
    ck_assert_int_eq(compute(n, &x, &out), SURG_OK);
    ck_assert_uint_eq(out.count, r.n);
    for (uint64_t i = 0; i < r.n; i++) {
      uint64_t best = 0;
      for (uint64_t e = 1; e < r.length; e++) {
        const long double v = exact_at(&x, place(&r, i, e)), b = exact_at(&x, place(&r, i, best));
        if (isnan(b)) break;
        if (isnan(v) || (largest ? v > b : v < b) || (last && v == b)) best = e;
      }
      ck_assert_msg(((int64_t *)out.data)[i] == (int64_t)best,
                    "%s of %s [%d,%d,%d] axis %d run %d: %d, not %d", largest ? "ArgMax" : "ArgMin",
                    surg__dtype_name(dtype), (int)r.dims[0], (int)r.dims[1], (int)r.dims[2],
                    (int)r.axis, (int)i, (int)((int64_t *)out.data)[i], (int)best);
    }
    done(&out);
  }
}
END_TEST

/* --- CumSum --- */

START_TEST(cumulations) {
  static const int types[] = {SURG_FLOAT, SURG_DOUBLE, SURG_INT32, SURG_UINT32, SURG_INT64,
                              SURG_UINT64, SURG_FLOAT16, SURG_BFLOAT16};
  for (int round = 0; round < ROUNDS; round++) {
    const int dtype = types[unit_between(0, SURG_COUNT(types) - 1)];
    const bool exclusive = round % 2, reverse = round / 2 % 2;
    const runs r = random_runs(round);
    int64_t axis = r.axis - (round % 4 == 0 ? 3 : 0);
    surg__array x = array(dtype, r.dims, 3, round % 5 == 0), out = {0};
    surg__array in[2] = {x, {.dtype = SURG_INT64, .count = 1, .data = &axis}};
    surg_node *n = node("CumSum", 2);
    surg_node_set_int(n, "exclusive", exclusive);
    surg_node_set_int(n, "reverse", reverse);
    ck_assert_int_eq(compute(n, in, &out), SURG_OK);
    for (uint64_t i = 0; i < r.n; i++) {
      double sum = 0;
      uint64_t whole = 0;
      for (uint64_t e = 0; e < r.length; e++) {
        const uint64_t at = place(&r, i, reverse ? r.length - 1 - e : e);
        const bool real = surg__is_real(dtype);
        const double sum_after = real ? sum + number(&x, at) : 0;
        const uint64_t whole_after = real ? 0 : whole + surg__load_int(dtype, x.data, at);
        uint64_t want = 0;
        if (real) {
          ck_assert(same(rounded(dtype, exclusive ? sum : sum_after), number(&out, at)));
        } else {
          surg__store_int(dtype, &want, 0, exclusive ? whole : whole_after);
          ck_assert(surg__load_int(dtype, &want, 0) == surg__load_int(dtype, out.data, at));
        }
        sum = sum_after;
        whole = whole_after;
      }
    }
    done(&out);
  }
}
END_TEST

/* --- exponentials --- */

/* Within so many units of the last place of the type; a logarithm of what is summed in the same
 * type within those of 1. */
static void check_near(const char *op, int dtype, double got, long double want, double units) {
  static const int digits[] = {[SURG_FLOAT] = 24, [SURG_DOUBLE] = 53, [SURG_FLOAT16] = 11,
                               [SURG_BFLOAT16] = 8};
  if (isnan(want) || isinf(want)) {
    ck_assert_msg(same(got, (double)want), "%s: %a, not %La", op, got, want);
    return;
  }
  int e;
  frexpl(want, &e);
  const int least = dtype == SURG_FLOAT16 ? -24 : dtype == SURG_DOUBLE ? -1074 : -149;
  const bool same_type = dtype == SURG_DOUBLE || dtype == SURG_FLOAT;
  if (same_type && strcmp(op, "Softmax") != 0 && e < 1) e = 1;
  const int last = want == 0 || e - digits[dtype] < least ? least : e - digits[dtype];
  ck_assert_msg(fabsl(got - want) <= units * ldexpl(1, last), "%s of %s: %a, not %La", op,
                surg__dtype_name(dtype), got, want);
}

static void check_exponentials(const char *op, const surg__array *x, const surg__array *out,
                               const runs *r, uint64_t run) {
  long double top = -INFINITY, sum = 0;
  const bool one = strcmp(op, "ReduceLogSumExp") == 0;
  for (uint64_t e = 0; e < r->length; e++) {
    const double v = number(x, place(r, run, e));
    top = v > top || isnan(v) ? v : top;
    if (isnan(top)) break;
  }
  for (uint64_t e = 0; e < r->length; e++) sum += expl(number(x, place(r, run, e)) - top);
  const double units = x->dtype == SURG_DOUBLE ? 64 : x->dtype == SURG_FLOAT ? 2 : 0.6;
  if (one) {
    check_near(op, x->dtype, number(out, run), isfinite(top) ? top + logl(sum) : top, units);
    return;
  }
  for (uint64_t e = 0; e < r->length; e++) {
    const uint64_t at = place(r, run, e);
    const long double less = number(x, at) - top;
    const bool logarithm = strcmp(op, "LogSoftmax") == 0;
    const long double want = logarithm ? less - logl(sum) : expl(less) / sum;
    check_near(op, x->dtype, number(out, at), want, units);
  }
}

START_TEST(exponentials) {
  static const char *const ops[] = {"ReduceLogSumExp", "Softmax", "LogSoftmax"};
  for (int round = 0; round < ROUNDS; round++) {
    const char *op = ops[unit_between(0, 2)];
    const int dtype = reals[unit_between(0, 3)];
    const runs r = random_runs(round);
    surg__array x = array(dtype, r.dims, 3, false), out = {0};
    static const double odd[] = {INFINITY, -INFINITY, NAN, 1000, -1000, -0.0};
    for (uint64_t i = 0; i < x.count && round % 4 == 0; i++)
      if (unit_random() % 4000 == 0) surg__store_f64(dtype, x.data, i, odd[unit_between(0, 5)]);
    /* a run of nothing but the least */
    for (uint64_t e = 0; e < r.length && round % 8 == 0; e++)
      surg__store_f64(dtype, x.data, place(&r, 0, e), -INFINITY);
    surg_node *n = node(op, 1);
    if (strcmp(op, "ReduceLogSumExp") == 0)
      surg_node_set_ints(n, "axes", &r.axis, 1);
    else
      surg_node_set_int(n, "axis", r.axis);
    ck_assert_int_eq(compute(n, &x, &out), SURG_OK);
    for (uint64_t i = 0; i < r.n; i++) check_exponentials(op, &x, &out, &r, i);
    done(&out);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_runs");
  TCase *c = tcase_create("runs");
  tcase_set_timeout(c, 120);
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, integers);
  tcase_add_loop_test(c, long_means, 0, 8);
  tcase_add_test(c, places);
  tcase_add_test(c, cumulations);
  tcase_add_test(c, exponentials);
  suite_add_tcase(s, c);
  return unit_run(s);
}
