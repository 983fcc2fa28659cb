/* SPDX-License-Identifier: Apache-2.0 */
/* Pow: every pair of types. Integer bases are exact (modulo the width of the type); float bases
 * are computed in double and rounded once. */
#include <math.h>

#include "eval/kernels.h"
#include "eval/loop.h"
#include "eval/number.h"

/* x to the n modulo 2^64. */
static uint64_t int_pow(uint64_t x, uint64_t n) {
  uint64_t r = 1;
  for (; n > 0; n >>= 1) {
    if (n & 1) r *= x;
    x *= x;
  }
  return r;
}

/* The exponent of an integer base, which must be a whole number not below zero. */
static bool whole_exponent(const surg__array *y, uint64_t i, uint64_t *out) {
  if (surg__is_real(y->dtype)) {
    double v = surg__load_f64(y->dtype, y->data, i);
    if (!(v >= 0 && v < 0x1p63) || v != floor(v)) return false;
    *out = (uint64_t)v;
    return true;
  }
  *out = surg__load_int(y->dtype, y->data, i);
  return !surg__dtype_is_signed_int(y->dtype) || (int64_t)*out >= 0;
}

/* The exponent of a float base, where it is a double exactly. */
static bool real_exponent(const surg__array *y, uint64_t i, double *out) {
  if (surg__is_real(y->dtype)) {
    *out = surg__load_f64(y->dtype, y->data, i);
    return true;
  }
  uint64_t v = surg__load_int(y->dtype, y->data, i);
  bool negative = surg__dtype_is_signed_int(y->dtype) && (int64_t)v < 0;
  uint64_t magnitude = negative ? 0 - v : v;
  if (magnitude > 1ull << 53) return false;
  *out = negative ? -(double)magnitude : (double)magnitude;
  return true;
}

static const char *one(const surg__array *x, uint64_t ix, const surg__array *y, uint64_t iy,
                       const surg__array *o, uint64_t io) {
  if (surg__is_real(x->dtype)) {
    double e;
    if (!real_exponent(y, iy, &e)) return "an integer exponent is too large for a float base";
    double v = surg__load_f64(x->dtype, x->data, ix);
    surg__store_f64(o->dtype, o->data, io, e == 2 ? v * v : pow(v, e));
    return NULL;
  }
  uint64_t n;
  if (!whole_exponent(y, iy, &n)) return "an integer to a negative or fractional power";
  surg__store_int(o->dtype, o->data, io, int_pow(surg__load_int(x->dtype, x->data, ix), n));
  return NULL;
}

surg__kstatus surg__k_pow(surg_kctx *k) {
  if (!k->wanted[0]) return SURG__K_OK;
  surg__loop l;
  SURG__K_TRY(surg__k_pair(k, k->in[0].dtype, &l));
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
