/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the difference between two values. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/dtype.h"
#include "eval/core/number.h"
#include "eval/core/piece.h"
#include "run/run.h"

typedef struct compare {
  surg__distance *d;
  const surg__tolerance *t;
  double absolute;              /* of the current tensor */
  long double dot, got2, want2; /* long double, so that squares of large doubles do not overflow */
} compare;

/* --- description of the first difference --- */

static void SURG_PRINTF(2, 3) say(surg__distance *d, const char *fmt, ...) {
  va_list args;
  if (*d->why) return;
  va_start(args, fmt);
  vsnprintf(d->why, sizeof d->why, fmt, args);
  va_end(args);
}

/* Writes the multi-index of flat index i, such as "[0, 3]". */
static void put_index(const surg__array *a, uint64_t i, char *out, size_t n) {
  uint64_t at[SURG_LIMIT_RANK] = {0};
  size_t used = 0;
  for (uint32_t d = a->rank; d-- > 0;) {
    at[d] = i % (uint64_t)a->dims[d];
    i /= (uint64_t)a->dims[d];
  }
  used += (size_t)snprintf(out, n, "[");
  for (uint32_t d = 0; d < a->rank && used < n; d++)
    used +=
        (size_t)snprintf(out + used, n - used, "%s%llu", d ? ", " : "", (unsigned long long)at[d]);
  if (used < n) snprintf(out + used, n - used, "]");
}

static void put_value(const surg__array *a, uint64_t i, char *out, size_t n) {
  const int dtype = a->dtype;
  if (dtype == SURG_STRING) {
    snprintf(out, n, "another string");
  } else if (dtype == SURG_COMPLEX64 || dtype == SURG_COMPLEX128) {
    const int part = dtype == SURG_COMPLEX64 ? SURG_FLOAT : SURG_DOUBLE;
    snprintf(out, n, "%.9g%+.9gi", surg__load_f64(part, a->data, 2 * i),
             surg__load_f64(part, a->data, 2 * i + 1));
  } else if (surg__dtype_is_float(dtype)) {
    const double v = surg__load_f64(dtype, a->data, i);
    /* The sign of a NaN that a processor makes differs between processors. */
    snprintf(out, n, dtype == SURG_DOUBLE ? "%.17g" : "%.9g", isnan(v) ? (double)NAN : v);
  } else if (dtype == SURG_UINT64) {
    snprintf(out, n, "%llu", (unsigned long long)surg__load_int(dtype, a->data, i));
  } else {
    snprintf(out, n, "%lld", (long long)surg__load_int(dtype, a->data, i));
  }
}

static void differ(compare *c, const surg__array *got, const surg__array *want, uint64_t i) {
  char at[64], a[64], b[64];
  surg__distance *d = c->d;
  if (d->differing++ > 0) return;
  d->first = i;
  put_index(got, i, at, sizeof at);
  put_value(got, i, a, sizeof a);
  put_value(want, i, b, sizeof b);
  if (got->dtype == SURG_STRING)
    say(d, "element %s is %s", at, a);
  else
    say(d, "element %s is %s, not %s", at, a, b);
}

/* --- floats --- */

/* Maps the floats of a type to integers in the same order: neighbours differ by one, 0 and -0
 * are equal. */
static int64_t place(int dtype, const void *p, uint64_t i) {
  const unsigned bits = dtype == SURG_FLOAT4E2M1 ? 4 : surg__dtype_bits(dtype);
  const uint64_t code = bits == 64   ? ((const uint64_t *)p)[i]
                        : bits == 32 ? ((const uint32_t *)p)[i]
                        : bits == 16 ? ((const uint16_t *)p)[i]
                                     : ((const uint8_t *)p)[i];
  if (dtype == SURG_FLOAT8E8M0) return (int64_t)code; /* has no sign */
  const uint64_t sign = 1ull << (bits - 1), magnitude = code & (sign - 1);
  return code & sign ? -(int64_t)magnitude : (int64_t)magnitude;
}

static uint64_t steps(int64_t a, int64_t b) {
  return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* Adds finite pairs of floats to the sums of the cosine. */
static void add_products(compare *c, const double *a, const double *b, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    if (!isfinite(a[i]) || !isfinite(b[i])) continue;
    c->dot += (long double)a[i] * b[i];
    c->got2 += (long double)a[i] * a[i];
    c->want2 += (long double)b[i] * b[i];
  }
}

/* Compares element i of a floating-point type, whose value is a where b is expected; updates the
 * distance and returns whether it agrees. */
static bool real(compare *c, const surg__array *got, const surg__array *want, int dtype, uint64_t i,
                 double a, double b) {
  surg__distance *d = c->d;
  if (isnan(a) && isnan(b)) return true;
  if (a == b) return !c->t->signs || signbit(a) == signbit(b);
  if (!isfinite(a) || !isfinite(b)) return false;
  const double apart = fabs(a - b);
  const uint64_t ulp = steps(place(dtype, got->data, i), place(dtype, want->data, i));
  if (apart > d->max_abs) d->max_abs = apart;
  if (b != 0 && apart / fabs(b) > d->max_rel) d->max_rel = apart / fabs(b);
  if (ulp > d->max_ulp) d->max_ulp = ulp;
  return apart <= c->absolute + c->t->relative * fabs(b) || ulp <= c->t->ulp;
}

/* Compares two tensors of floats, or of complex numbers as pairs of floats. */
static void reals(compare *c, const surg__array *got, const surg__array *want) {
  const bool pairs = got->dtype == SURG_COMPLEX64 || got->dtype == SURG_COMPLEX128;
  const int dtype = got->dtype == SURG_COMPLEX64    ? SURG_FLOAT
                    : got->dtype == SURG_COMPLEX128 ? SURG_DOUBLE
                                                    : got->dtype;
  const uint64_t count = pairs ? 2 * got->count : got->count; /* the arrays are in memory */
  double a[SURG__PIECE], b[SURG__PIECE];
  bool first = true; /* the real part agrees */
  for (uint64_t at = 0, n; at < count; at += n) {
    n = count - at < SURG__PIECE ? count - at : SURG__PIECE;
    surg__load_run(dtype, got->data, at, 1, n, a);
    surg__load_run(dtype, want->data, at, 1, n, b);
    add_products(c, a, b, n);
    for (uint64_t i = 0; i < n; i++) {
      const bool same = real(c, got, want, dtype, at + i, a[i], b[i]);
      if (!pairs && !same) differ(c, got, want, at + i);
      if (pairs && (at + i) % 2 == 1 && !(same && first)) differ(c, got, want, (at + i) / 2);
      first = same;
    }
  }
}

static double largest_of(const surg__array *a) {
  double largest = 1, v[SURG__PIECE];
  if (!surg__dtype_is_float(a->dtype)) return 1;
  for (uint64_t at = 0, n; at < a->count; at += n) {
    n = a->count - at < SURG__PIECE ? a->count - at : SURG__PIECE;
    surg__load_run(a->dtype, a->data, at, 1, n, v);
    for (uint64_t i = 0; i < n; i++)
      if (fabs(v[i]) > largest && isfinite(v[i])) largest = fabs(v[i]);
  }
  return largest;
}

/* --- values --- */

static bool same_string(surg_str a, surg_str b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static bool is_number(int dtype) {
  return surg__dtype_is_float(dtype) || dtype == SURG_COMPLEX64 || dtype == SURG_COMPLEX128;
}

/* Compares two tensors of strings, integers or booleans. */
static void codes(compare *c, const surg__array *got, const surg__array *want) {
  const bool text = got->dtype == SURG_STRING;
  const surg_str *a = got->data, *b = want->data;
  const char *x = got->data, *y = want->data;
  const size_t size = surg__dtype_unpacked(got->dtype);
  if (!text && (got->count == 0 || memcmp(x, y, (size_t)got->count * size) == 0)) return;
  for (uint64_t i = 0; i < got->count; i++)
    if (text ? !same_string(a[i], b[i]) : memcmp(x + i * size, y + i * size, size) != 0)
      differ(c, got, want, i);
}

static void tensor(compare *c, const surg__array *got, const surg__array *want) {
  c->d->elements += got->count;
  c->absolute = c->t->absolute * (c->t->scaled ? largest_of(want) : 1);
  if (is_number(got->dtype))
    reals(c, got, want);
  else
    codes(c, got, want);
}

static const char *kind_name(int dtype) {
  static const char *const lists[] = {"a sequence", "an optional", "a map"};
  if (dtype == SURG_UNDEFINED) return "nothing";
  return dtype >= SURG__V_SEQUENCE ? lists[dtype - SURG__V_SEQUENCE] : surg__dtype_name(dtype);
}

/* Whether type and shape are equal, so that elements can be compared one by one. */
static bool same_form(surg__distance *d, const surg__array *got, const surg__array *want) {
  if (got->dtype != want->dtype)
    say(d, "is %s, not %s", kind_name(got->dtype), kind_name(want->dtype));
  else if (surg__array_is_list(got) && got->count != want->count)
    say(d, "has %llu items, not %llu", (unsigned long long)got->count,
        (unsigned long long)want->count);
  else if (got->rank != want->rank)
    say(d, "has rank %u, not %u", got->rank, want->rank);
  else {
    uint32_t i = 0;
    while (i < got->rank && got->dims[i] == want->dims[i]) i++;
    if (i == got->rank) return true;
    say(d, "dim %u is %lld, not %lld", i, (long long)got->dims[i], (long long)want->dims[i]);
  }
  d->other_shape = true;
  return false;
}

#define NESTING 16

static void value(compare *c, const surg__array *got, const surg__array *want, unsigned depth) {
  if (depth == NESTING) {
    c->d->other_shape = true;
    say(c->d, "is nested too deep to compare");
    return;
  }
  if (!same_form(c->d, got, want) || got->dtype == SURG_UNDEFINED) return;
  if (!surg__array_is_list(got)) {
    tensor(c, got, want);
    return;
  }
  for (uint64_t i = 0; i < got->count; i++)
    value(c, &surg__list_of(got)->items[i], &surg__list_of(want)->items[i], depth + 1);
}

/* Whether a value is one tensor of floats with the same bits, and so equal by every measure. */
static bool same_bits(const surg__array *got, const surg__array *want) {
  if (got->dtype != want->dtype || surg__array_is_list(got) || !is_number(got->dtype)) return false;
  if (got->rank != want->rank || got->count != want->count) return false;
  for (uint32_t i = 0; i < got->rank; i++)
    if (got->dims[i] != want->dims[i]) return false;
  const size_t size = surg__dtype_unpacked(got->dtype);
  return got->count == 0 || memcmp(got->data, want->data, (size_t)got->count * size) == 0;
}

bool surg__value_compare(const surg__array *got, const surg__array *want, const surg__tolerance *t,
                         surg__distance *out) {
  compare c = {.d = out, .t = t};
  *out = (surg__distance){.cosine = 1};
  if (same_bits(got, want)) {
    out->elements = got->count;
    return true;
  }
  value(&c, got, want, 0);
  if (c.got2 > 0 && c.want2 > 0)
    out->cosine = (double)(c.dot / (sqrtl(c.got2) * sqrtl(c.want2)));
  else if (c.got2 > 0 || c.want2 > 0)
    out->cosine = 0;
  return !out->other_shape && out->differing == 0;
}
