/* SPDX-License-Identifier: Apache-2.0 */
/* Interval arithmetic, rounded outwards in the element type. */
#include "infer/ranges.h"

#include <float.h>
#include <math.h>

/* --- types --- */

static bool rounds(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16 ||
         dtype == SURG_BFLOAT16;
}

static surg_range anything(void) {
  return (surg_range){.low = -INFINITY, .high = INFINITY, .nan = true, .minus_zero = true};
}

bool surg__range_of_dtype(int dtype, surg_range *out) {
  const unsigned bits = surg__dtype_bits(dtype);
  *out = anything();
  if (surg__dtype_is_float(dtype)) return true;
  out->nan = out->minus_zero = false;
  out->low = 0;
  out->high = 1;
  if (dtype == SURG_BOOL) return true;
  if (!surg__dtype_is_int(dtype) || bits == 0 || bits > 64) return false;
  const bool minus = surg__dtype_is_signed_int(dtype);
  /* For 64 bits the bound is 2^63 or 2^64: the largest integer is not a double. */
  const double most = ldexp(1, (int)(minus ? bits - 1 : bits));
  out->low = minus ? -most : 0;
  out->high = bits < 54 ? most - 1 : most;
  return true;
}

/* Whether the type contains all integers from low to high, so that nothing wraps. */
static bool fits(int dtype, surg_range r) {
  surg_range all;
  if (!surg__range_of_dtype(dtype, &all)) return false;
  const bool open = surg__dtype_bits(dtype) >= 54;
  return r.low >= all.low && (open ? r.high < all.high : r.high <= all.high);
}

/* --- rounding --- */

static float half_of(int dtype, uint16_t h) {
  return dtype == SURG_FLOAT16 ? surg__half_to_float(h) : surg__bf16_to_float(h);
}

/* The next smaller number of the 16-bit float with the bits h; both formats order bits alike. */
static uint16_t below(uint16_t h) {
  if (h == 0) return 0x8001;
  return h & 0x8000 ? (uint16_t)(h + 1) : (uint16_t)(h - 1);
}

/* The largest number of the type that is at most v. */
static double down(int dtype, double v) {
  if (v != v || isinf(v) || dtype == SURG_DOUBLE || !rounds(dtype)) return v;
  if (dtype == SURG_FLOAT) {
    const float f = (float)v;
    return (double)f > v ? (double)nextafterf(f, -INFINITY) : (double)f;
  }
  uint16_t h = dtype == SURG_FLOAT16 ? surg__double_to_half(v) : surg__double_to_bf16(v);
  assert(dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16);
  if ((double)half_of(dtype, h) > v) h = below(h);
  return (double)half_of(dtype, h);
}

static double up(int dtype, double v) { return -down(dtype, -v); }

/* A result as computed in double, and on which side of it the exact result may be. */
typedef struct result {
  double v;
  bool less, more;
} result;

static double floor_of(int dtype, result r) {
  return down(dtype, r.less ? nextafter(r.v, -INFINITY) : r.v);
}
static double ceil_of(int dtype, result r) {
  return up(dtype, r.more ? nextafter(r.v, INFINITY) : r.v);
}

static result sum(double a, double b) {
  const double s = a + b;
  if (isinf(a) || isinf(b)) return (result){.v = s};
  if (isinf(s)) return (result){s, s > 0, s < 0};
  const double t = s - a, e = (a - (s - t)) + (b - t);
  return (result){s, e < 0, e > 0};
}

static result product(double a, double b) {
  if (a == 0 || b == 0) return (result){.v = 0}; /* infinity * 0: `nan` is set */
  const double p = a * b;
  if (isinf(a) || isinf(b)) return (result){.v = p};
  if (isinf(p)) return (result){p, p > 0, p < 0};
  if (fabs(p) < 1e-280) { /* underflow: digits may be lost */
    const bool minus = (a < 0) != (b < 0);
    return (result){p, minus, !minus};
  }
  const double e = fma(a, b, -p);
  return (result){p, e < 0, e > 0};
}

static result quotient(double a, double b) {
  const double q = a / b;
  if (a == 0 || isinf(a) || isinf(b)) return (result){.v = q};
  if (isinf(q)) return (result){q, q > 0, q < 0};
  const bool exact = fabs(q) > 1e-280 && fma(q, b, -a) == 0;
  /* The rounded-out bound never crosses zero: the result has the sign of a / b. */
  return (result){q, !exact && q != 0, !exact && q != 0};
}

/* --- sets --- */

surg_range surg__range_join(surg_range a, surg_range b) {
  assert(a.low <= a.high && b.low <= b.high);
  return (surg_range){.low = fmin(a.low, b.low),
                      .high = fmax(a.high, b.high),
                      .nan = a.nan || b.nan,
                      .minus_zero = a.minus_zero || b.minus_zero,
                      .assumed = a.assumed || b.assumed};
}

surg_range surg__range_meet(surg_range a, surg_range b) {
  assert(a.low <= a.high && b.low <= b.high);
  surg_range r = {.low = fmax(a.low, b.low),
                  .high = fmin(a.high, b.high),
                  .nan = a.nan && b.nan,
                  .minus_zero = a.minus_zero && b.minus_zero,
                  .assumed = a.assumed || b.assumed};
  /* An empty intersection: the value is never computed, or an assumption is wrong. */
  return r.low <= r.high ? r : a;
}

static bool holds(surg_range r, double v) { return r.low <= v && v <= r.high; }
static bool infinite(surg_range r) { return isinf(r.low) || isinf(r.high); }

/* Integers that may wrap have the bounds of the type. */
static surg_range settled(int dtype, surg_range r) {
  surg_range all;
  if (rounds(dtype) || fits(dtype, r)) return r;
  if (!surg__range_of_dtype(dtype, &all)) all = anything();
  all.assumed = r.assumed;
  return all;
}

/* --- arithmetic --- */

surg_range surg__range_add(int dtype, surg_range a, surg_range b) {
  surg_range r = {.low = floor_of(dtype, sum(a.low, b.low)),
                  .high = ceil_of(dtype, sum(a.high, b.high)),
                  .minus_zero = a.minus_zero && b.minus_zero,
                  .assumed = a.assumed || b.assumed};
  r.nan = a.nan || b.nan || (a.high == INFINITY && b.low == -INFINITY) ||
          (a.low == -INFINITY && b.high == INFINITY);
  if (r.low != r.low) r.low = -INFINITY;
  if (r.high != r.high) r.high = INFINITY;
  return settled(dtype, r);
}

surg_range surg__range_neg(int dtype, surg_range a) {
  surg_range r = {.low = -a.high,
                  .high = -a.low,
                  .nan = a.nan,
                  .minus_zero = rounds(dtype) && holds(a, 0),
                  .assumed = a.assumed};
  return settled(dtype, r);
}

static surg_range corners(int dtype, surg_range a, surg_range b, result (*f)(double, double)) {
  const double x[] = {a.low, a.high}, y[] = {b.low, b.high};
  surg_range r = {.low = INFINITY, .high = -INFINITY, .assumed = a.assumed || b.assumed};
  for (int i = 0; i < 4; i++) {
    const result c = f(x[i & 1], y[i >> 1]);
    r.low = fmin(r.low, floor_of(dtype, c));
    r.high = fmax(r.high, ceil_of(dtype, c));
  }
  return r;
}

surg_range surg__range_mul(int dtype, surg_range a, surg_range b) {
  surg_range r = corners(dtype, a, b, product);
  r.nan = a.nan || b.nan || (infinite(a) && holds(b, 0)) || (infinite(b) && holds(a, 0));
  /* Small products of opposite signs underflow to -0. */
  r.minus_zero = rounds(dtype) && (a.low < 0 || b.low < 0 || a.minus_zero || b.minus_zero);
  return settled(dtype, r);
}

surg_range surg__range_div(int dtype, surg_range a, surg_range b) {
  surg_range r = {.low = -INFINITY, .high = INFINITY, .nan = true, .minus_zero = rounds(dtype)};
  r.assumed = a.assumed || b.assumed;
  if (b.low > 0 || b.high < 0) {
    r = corners(dtype, a, b, quotient);
    if (infinite(a) && infinite(b)) r.low = -INFINITY, r.high = INFINITY;
    if (!rounds(dtype)) r.low = trunc(r.low), r.high = trunc(r.high);
    r.minus_zero = rounds(dtype) && (a.low < 0 || b.low < 0 || a.minus_zero);
  } else if (rounds(dtype) && b.low >= 0 && !b.minus_zero) {
    if (a.low >= 0) r.low = 0;
    if (a.high <= 0) r.high = 0;
    r.minus_zero = a.low < 0 || a.minus_zero;
  }
  r.nan = a.nan || b.nan || (holds(a, 0) && holds(b, 0)) || (infinite(a) && infinite(b));
  return settled(dtype, r);
}

/* Engines may ignore a NaN operand: then the other operand is the result. */
surg_range surg__range_max(surg_range a, surg_range b) {
  surg_range r = surg__range_join(a, b);
  r.low = fmax(a.low, b.low);
  if (a.nan) r.low = fmin(r.low, b.low);
  if (b.nan) r.low = fmin(r.low, a.low);
  return r;
}

surg_range surg__range_min(surg_range a, surg_range b) {
  surg_range r = surg__range_join(a, b);
  r.high = fmin(a.high, b.high);
  if (a.nan) r.high = fmax(r.high, b.high);
  if (b.nan) r.high = fmax(r.high, a.high);
  return r;
}

surg_range surg__range_round(int dtype, surg_range a) {
  a.low = down(dtype, a.low);
  a.high = up(dtype, a.high);
  return a;
}

surg_range surg__range_map(int dtype, surg_range a, double (*f)(double)) {
  a.low = f(a.low);
  a.high = f(a.high);
  return surg__range_round(dtype, a);
}

/* --- casts --- */

surg_range surg__range_cast(int from, int to, surg_range a) {
  surg_range r = a, all;
  if (!surg__range_of_dtype(to, &all)) return anything();
  all.assumed = a.assumed;
  if (to == SURG_BOOL) {
    if (!a.nan && a.low == 0 && a.high == 0) all.high = 0;
    if (a.low > 0 || a.high < 0) all.low = 1;
    return all;
  }
  if (rounds(to)) {
    r.low = down(to, a.low);
    r.high = up(to, a.high);
    /* A number below the smallest one of the type becomes zero, and keeps its sign. */
    r.minus_zero = a.minus_zero || (rounds(from) && a.low < 0);
    return r;
  }
  if (surg__dtype_is_float(to)) return all;
  r.minus_zero = false;
  r.low = trunc(a.low);
  r.high = trunc(a.high);
  return !a.nan && fits(to, r) ? r : all;
}
