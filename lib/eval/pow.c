/* SPDX-License-Identifier: Apache-2.0 */
/* Pow: every pair of types. Integer bases are exact (modulo the width of the type); float bases
 * are computed in double and rounded once. */
#include <math.h>

#include "eval/cast_fast.h"
#include "eval/gemm.h"
#include "eval/kernels.h"
#include "eval/loop.h"
#include "eval/number.h"
#include "eval/pow_fast.h"

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

/* Whether every element of the type is a double exactly. */
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

#define PIECE 1024

/* n elements `step` apart as doubles; one where step is 0. */
static void load_piece(const surg__array *a, int64_t at, int64_t step, int64_t n, double *to) {
  const size_t size = surg__dtype_unpacked(a->dtype);
  const surg__array part = {.dtype = a->dtype, .count = (uint64_t)(step == 0 ? 1 : n),
                            .data = (char *)a->data + (size_t)at * size};
  const surg__array wide = {.dtype = SURG_DOUBLE, .count = part.count, .data = to};
  if (step == 1 && a->dtype != SURG_DOUBLE && surg__cast_fast(&part, &wide)) return;
  surg__load_run(a->dtype, a->data, (uint64_t)at, (uint64_t)step, part.count, to);
}

static void store_piece(const surg__array *o, int64_t at, int64_t n, const double *from) {
  const size_t size = surg__dtype_unpacked(o->dtype);
  const surg__array wide = {.dtype = SURG_DOUBLE, .count = (uint64_t)n, .data = (void *)from};
  const surg__array part = {.dtype = o->dtype, .count = (uint64_t)n,
                            .data = (char *)o->data + (size_t)at * size};
  if (o->dtype == SURG_DOUBLE || !surg__cast_fast(&wide, &part))
    surg__store_run(o->dtype, o->data, (uint64_t)at, (uint64_t)n, from);
}

static surg__kstatus reals(surg_kctx *k, surg__loop *l) {
  const surg__array *x = &k->in[0], *y = &k->in[1];
  double p[PIECE], q[PIECE], r[PIECE];
  if (!fits_double(y->dtype) && !all_small(y))
    return surg__k_cannot(k, "an integer exponent is too large for a float base");
  for (; !l->done; surg__loop_next(l)) {
    for (int64_t i = 0; i < l->inner; i += PIECE) {
      const int64_t n = l->inner - i < PIECE ? l->inner - i : PIECE;
      load_piece(x, l->at[1] + i * l->step[1], l->step[1], n, p);
      load_piece(y, l->at[2] + i * l->step[2], l->step[2], n, q);
      for (int64_t e = 1; l->step[1] == 0 && e < n; ++e) p[e] = *p;
      surg__pow_doubles(p, q, l->step[2] == 0, r, (uint64_t)n);
      store_piece(&k->out[0], l->at[0] + i, n, r);
    }
  }
  return SURG__K_OK;
}

static const char *one(const surg__array *x, uint64_t ix, const surg__array *y, uint64_t iy,
                       const surg__array *o, uint64_t io) {
  uint64_t n;
  if (!whole_exponent(y, iy, &n)) return "an integer to a negative or fractional power";
  surg__store_int(o->dtype, o->data, io, int_pow(surg__load_int(x->dtype, x->data, ix), n));
  return NULL;
}

surg__kstatus surg__k_pow(surg_kctx *k) {
  if (!k->wanted[0]) return SURG__K_OK;
  surg__loop l;
  SURG__K_TRY(surg__k_pair(k, k->in[0].dtype, &l));
  if (surg__is_real(k->in[0].dtype)) return reals(k, &l);
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
