/* SPDX-License-Identifier: Apache-2.0 */
/* Pow: every pair of types. Integer bases are exact (modulo the width of the type); float bases
 * are computed in double and rounded once. */
#include <math.h>

#include "eval/fast/cast_fast.h"
#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"
#include "eval/fast/piece.h"
#include "eval/fast/pow_fast.h"

/* The exponent of an integer base, which must be a whole number not below zero. */
static bool whole_exponent(const surg__array *y, uint64_t i, uint64_t *out) {
  const double v = surg__load_f64(y->dtype, y->data, i);
  if (!(v >= 0 && v < 0x1p63) || v != floor(v)) return false;
  *out = (uint64_t)v;
  return true;
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

#define PIECE SURG__PIECE

/* n of one element. */
#define REPEAT(v, n) \
  for (uint64_t e = 1; e < (n); ++e) (v)[e] = *(v)

/* Runs of one type need no pieces. */
static bool as_they_are(const surg_kctx *k, const surg__loop *l) {
  const surg__array *x = &k->in[0], *y = &k->in[1], *o = &k->out[0];
  const bool one = l->step[2] == 0;
  if (x->dtype != y->dtype || l->step[1] != 1 || l->step[2] > 1) return false;
  if (x->dtype == SURG_DOUBLE)
    surg__pow_doubles((const double *)x->data + l->at[1], (const double *)y->data + l->at[2], one,
                      (double *)o->data + l->at[0], (uint64_t)l->inner);
  else if (x->dtype == SURG_FLOAT)
    surg__pow_floats((const float *)x->data + l->at[1], (const float *)y->data + l->at[2], one,
                     (float *)o->data + l->at[0], (uint64_t)l->inner);
  return x->dtype == SURG_DOUBLE || x->dtype == SURG_FLOAT;
}

/* Both of one type of 16 bits. */
static void halves(const surg_kctx *k, surg__loop *l) {
  const int dtype = k->in[0].dtype;
  const uint16_t *x = k->in[0].data, *y = k->in[1].data;
  uint16_t *o = k->out[0].data, dense[PIECE] = {0};
  float p[2][PIECE], r[PIECE];
  for (; !l->done; surg__loop_next(l)) {
    for (int64_t i = 0; i < l->inner; i += PIECE) {
      const uint64_t n = (uint64_t)(l->inner - i < PIECE ? l->inner - i : PIECE);
      for (int a = 0; a < 2; ++a) {
        const int64_t step = l->step[1 + a];
        const uint16_t *from = (a ? y : x) + l->at[1 + a] + i * step;
        for (uint64_t e = 0; step != 1 && e < n; ++e) dense[e] = from[(int64_t)e * step];
        surg__widen_halves(dtype, step == 1 ? from : dense, p[a], n);
      }
      surg__pow_halves(p[0], p[1], l->step[2] == 0, r, n);
      surg__narrow_halves(dtype, r, o + l->at[0] + i, n);
    }
  }
}

static surg__kstatus reals(surg_kctx *k, surg__loop *l) {
  const surg__array *x = &k->in[0], *y = &k->in[1], *o = &k->out[0];
  double p[PIECE], q[PIECE], r[PIECE];
  if (!fits_double(y->dtype) && !all_small(y))
    return surg__k_cannot(k, "an integer exponent is too large for a float base");
  if (x->dtype == y->dtype && (x->dtype == SURG_FLOAT16 || x->dtype == SURG_BFLOAT16)) {
    halves(k, l);
    return SURG__K_OK;
  }
  for (; !l->done; surg__loop_next(l)) {
    if (as_they_are(k, l)) continue;
    for (int64_t i = 0; i < l->inner; i += PIECE) {
      const uint64_t n = (uint64_t)(l->inner - i < PIECE ? l->inner - i : PIECE);
      const bool one_x = l->step[1] == 0, one_y = l->step[2] == 0;
      surg__load_run(x->dtype, x->data, (uint64_t)(l->at[1] + i * l->step[1]),
                     (uint64_t)l->step[1], one_x ? 1 : n, p);
      surg__load_run(y->dtype, y->data, (uint64_t)(l->at[2] + i * l->step[2]),
                     (uint64_t)l->step[2], one_y ? 1 : n, q);
      if (one_x) REPEAT(p, n);
      if (x->dtype == SURG_DOUBLE)
        surg__pow_doubles(p, q, one_y, r, n);
      else
        surg__pow_wide_floats(p, q, one_y, r, n);
      surg__store_run(o->dtype, o->data, (uint64_t)(l->at[0] + i), n, r);
    }
  }
  return SURG__K_OK;
}

static const char negative_power[] = "an integer to a negative or fractional power";

/* Runs of one type of 32 bits, whose powers need no more; *top: the highest bit of any
 * exponent. */
static bool narrow_wholes(const surg_kctx *k, const surg__loop *l, bool *top) {
  const surg__array *x = &k->in[0], *y = &k->in[1], *o = &k->out[0];
  if (x->dtype != y->dtype || surg__dtype_bits(x->dtype) != 32) return false;
  if (l->step[1] != 1 || l->step[2] > 1) return false;
  *top = surg__pow_narrow_wholes((const uint32_t *)x->data + l->at[1],
                                 (const uint32_t *)y->data + l->at[2], l->step[2] == 0,
                                 (uint32_t *)o->data + l->at[0], (uint64_t)l->inner);
  return true;
}

static surg__kstatus wholes(surg_kctx *k, surg__loop *l) {
  const surg__array *x = &k->in[0], *y = &k->in[1], *o = &k->out[0];
  const bool is_signed = surg__dtype_is_signed_int(y->dtype);
  uint64_t p[PIECE], q[PIECE], r[PIECE];
  bool top = false;
  for (; !l->done; surg__loop_next(l)) {
    if (narrow_wholes(k, l, &top)) {
      if (top && is_signed) return surg__k_cannot(k, negative_power);
      continue;
    }
    for (int64_t i = 0; i < l->inner; i += PIECE) {
      const uint64_t n = (uint64_t)(l->inner - i < PIECE ? l->inner - i : PIECE);
      const bool one_x = l->step[1] == 0, one_y = l->step[2] == 0;
      surg__load_whole(x->dtype, x->data, (uint64_t)(l->at[1] + i * l->step[1]),
                       (uint64_t)l->step[1], one_x ? 1 : n, p);
      surg__load_whole(y->dtype, y->data, (uint64_t)(l->at[2] + i * l->step[2]),
                       (uint64_t)l->step[2], one_y ? 1 : n, q);
      if (one_x) REPEAT(p, n);
      top = surg__pow_wholes(p, q, one_y, r, n);
      if (top && is_signed) return surg__k_cannot(k, negative_power);
      surg__store_whole(o->dtype, o->data, (uint64_t)(l->at[0] + i), n, r);
    }
  }
  return SURG__K_OK;
}

/* An integer to the power of a float. */
static const char *one(const surg__array *x, uint64_t ix, const surg__array *y, uint64_t iy,
                       const surg__array *o, uint64_t io) {
  uint64_t n, power;
  const uint64_t v = surg__load_int(x->dtype, x->data, ix);
  if (!whole_exponent(y, iy, &n)) return negative_power;
  surg__pow_wholes(&v, &n, false, &power, 1);
  surg__store_int(o->dtype, o->data, io, power);
  return NULL;
}

/* Whether a power does not fit its type of integers, or a double: engines wrap, saturate or round.
 * Asked where the result would be a constant. */
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
  if (surg__is_real(k->in[0].dtype)) return reals(k, &l);
  if (!k->running && too_large(k, l))
    SURG__K_TRY(surg__k_disputed(k, "a power too large for its type"));
  if (!surg__is_real(k->in[1].dtype)) return wholes(k, &l);
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
