/* SPDX-License-Identifier: Apache-2.0 */
/* Pow for every pair of types. Integer bases are exact (modulo the width of the type); float bases
 * are computed in double and rounded once. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"

/* Reads the exponent of an integer base, which must be a nonnegative integer. */
static bool whole_exponent(const surg__array *y, uint64_t i, uint64_t *out) {
  const double v = surg__load_f64(y->dtype, y->data, i);
  if (!(v >= 0 && v < 0x1p63) || v != floor(v)) return false;
  *out = (uint64_t)v;
  return true;
}

/* Whether every element of the type is exact as a double. */
static bool fits_double(int dtype) {
  return surg__is_real(dtype) || surg__dtype_bits(dtype) < 64;
}

static bool all_small(const surg__array *y) {
  for (uint64_t i = 0; i < y->count; ++i) {
    const uint64_t v = surg__load_int(y->dtype, y->data, i);
    const bool negative = surg__dtype_is_signed_int(y->dtype) && (int64_t)v < 0;
    if ((negative ? 0 - v : v) > 1ull << 53) return false;
  }
  return true;
}

static double real_power(double x, double y) {
  const double r = y == 2 ? x * x : pow(x, y); /* a square is rounded correctly */
  return isnan(r) ? NAN : r;
}

/* x^y modulo 2^64; the exponent is read as unsigned. */
static uint64_t whole_power(uint64_t x, uint64_t y) {
  uint64_t r = 1;
  for (; y != 0; y >>= 1, x *= x)
    if (y & 1) r *= x;
  return r;
}

/* Computes one element; returns NULL, or the reason why there is no result. */
static const char *one(const surg__array *x, uint64_t ix, const surg__array *y, uint64_t iy,
                       const surg__array *o, uint64_t io) {
  static const char negative_power[] = "an integer to a negative or fractional power";
  uint64_t n;
  if (surg__is_real(x->dtype)) {
    const double e = surg__load_number(y->dtype, y->data, iy);
    surg__real_put(o, io, real_power(surg__real_at(x, ix), e));
    return NULL;
  }
  if (surg__is_real(y->dtype)) {
    if (!whole_exponent(y, iy, &n)) return negative_power;
  } else {
    n = surg__load_int(y->dtype, y->data, iy);
    if (surg__dtype_is_signed_int(y->dtype) && (int64_t)n < 0) return negative_power;
  }
  surg__store_int(o->dtype, o->data, io, whole_power(surg__load_int(x->dtype, x->data, ix), n));
  return NULL;
}

/* Whether a power overflows its integer type, or is not exact as a double: engines wrap, saturate
 * or round. Checked only when the result is folded. */
static bool too_large(const surg_kctx *k, surg__loop l) {
  const surg__array *x = &k->in[0], *y = &k->in[1];
  const double most = surg__int_agreed(x->dtype);
  for (; !l.done; surg__loop_next(&l))
    for (int64_t i = 0; i < l.inner; ++i) {
      const double v = surg__load_number(x->dtype, x->data, (uint64_t)(l.at[1] + i * l.step[1]));
      const double e = surg__load_number(y->dtype, y->data, (uint64_t)(l.at[2] + i * l.step[2]));
      if (pow(fabs(v), e) > most) return true;
    }
  return false;
}

surg__kstatus surg__k_pow(surg_kctx *k) {
  if (!k->wanted[0]) return SURG__K_OK;
  surg__loop l;
  SURG__K_TRY(surg__k_pair(k, k->in[0].dtype, &l));
  if (surg__is_real(k->in[0].dtype)) {
    if (!fits_double(k->in[1].dtype) && !all_small(&k->in[1]))
      return surg__k_cannot(k, "an integer exponent is too large for a float base");
  } else if (!k->running && too_large(k, l)) {
    SURG__K_TRY(surg__k_disputed(k, "a power too large for its type"));
  }
  for (; !l.done; surg__loop_next(&l)) {
    for (int64_t i = 0; i < l.inner; ++i) {
      const char *why =
          one(&k->in[0], (uint64_t)(l.at[1] + i * l.step[1]), &k->in[1],
              (uint64_t)(l.at[2] + i * l.step[2]), &k->out[0], (uint64_t)(l.at[0] + i * l.step[0]));
      if (why) return surg__k_cannot(k, why);
    }
  }
  return SURG__K_OK;
}
