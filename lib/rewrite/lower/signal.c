/* SPDX-License-Identifier: Apache-2.0 */
/* Signal operators whose lengths may be computed by the model: STFT as the product of each window
 * with a matrix of cosines and sines, MelWeightMatrix by comparisons. Computed in double,
 * equivalent to lib/eval/math/signal.c. */
#include <math.h>

#include "rewrite/lower/terms.h"

#define TURN 6.28318530717958647692

/* --- STFT --- */

typedef struct frames {
  surg__builder *b;
  val length, count, step; /* scalars of int64 */
  val window;              /* double; NULL: none */
  bool onesided;
} frames;

/* 0, 1, ..., n - 1; n is a scalar. */
static val counted(surg__builder *b, val n) {
  val zero = int64(b, 0);
  const val in[3] = {zero, n, int64(b, 1)};
  return surg__b_node(b, "Range", in, 3);
}

/* The windows of the real or imaginary part, [batch, frames, length]. */
static val framed(const frames *f, val x, int64_t part) {
  surg__builder *b = f->b;
  val starts = mul(b, counted(b, f->count), f->step);
  starts = unsqueeze(b, starts, 1);
  val at = add(b, starts, counted(b, f->length));
  val y = gather(b, gather(b, x, int64(b, part), 2), at, 1);
  return f->window ? mul(b, y, f->window) : y;
}

/* n / 2 + 1. */
static val half_and_one(surg__builder *b, val n) {
  val half = divide(b, n, int64(b, 2));
  return add(b, half, int64(b, 1));
}

/* Dimension `axis` of x, a scalar. */
static val size_of(surg__builder *b, val x, int64_t axis) {
  val shape = surg__b_unary(b, "Shape", x);
  return gather(b, shape, int64(b, axis), 0);
}

/* The angles 2 pi n k / length in radians, modulo one turn: [length, frequencies]. */
static val angles(const frames *f) {
  surg__builder *b = f->b;
  val half = f->onesided ? half_and_one(b, f->length) : f->length;
  val n = unsqueeze(b, counted(b, f->length), 1);
  val turns = op2(b, "Mod", mul(b, n, counted(b, half)), f->length);
  turns = cast(b, turns, SURG_DOUBLE);
  val part = divide(b, turns, cast(b, f->length, SURG_DOUBLE));
  return mul(b, part, number(b, SURG_DOUBLE, TURN));
}

/* y = STFT <onesided> (x, s, w, l) */
static surg_status short_fourier(surg__builder *b) {
  surg__built x;
  val window = surg__b_get(b, "w"), length = surg__b_get(b, "l");
  frames f = {.b = b};
  if (!surg__built_get(b, "x", &x) ||
      surg__b_bad(b, x.rank != 2 && x.rank != 3, "x: expected rank 2 or 3") ||
      !surg__b_attrs_known(b) ||
      surg__b_bad(b, b->m->opset < 11, "the rewrite requires opset 11") ||
      surg__b_bad(b, x.rank == 3 && x.d[2].n != 1 && x.d[2].n != 2,
                  "x: expected 1 or 2 numbers an element") ||
      surg__b_bad(b, !window && !length, "neither a window nor a frame length is given"))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b, x.dtype != SURG_FLOAT && x.dtype != SURG_DOUBLE,
                  "an element type is unknown or unsupported"))
    return SURG_EUNSUPPORTED;
  const bool pairs = x.rank == 3 && x.d[2].n == 2;
  f.onesided = surg_node_int(surg__b_matched(b), "onesided", 1) != 0;
  if (surg__b_bad(b, pairs && f.onesided, "onesided is unsupported for complex numbers"))
    return SURG_EUNSUPPORTED;
  /* Exporters leave the axis of real numbers out, and runtimes accept it. */
  if (x.rank == 2) x = surg__built_unsqueeze(b, x, 2);
  val samples = size_of(b, x.v, 1);
  f.length = length ? cast(b, surg__b_single(b, length), SURG_INT64) : size_of(b, window, 0);
  f.step = cast(b, surg__b_single(b, surg__b_get(b, "s")), SURG_INT64);
  f.count = divide(b, sub(b, samples, f.length), f.step);
  f.count = add(b, f.count, int64(b, 1));
  f.window = window ? cast(b, window, SURG_DOUBLE) : NULL;
  val wide = cast(b, x.v, SURG_DOUBLE), angle = angles(&f);
  val c = surg__b_unary(b, "Cos", angle), s = surg__b_unary(b, "Sin", angle);
  val real = framed(&f, wide, 0), re = op2(b, "MatMul", real, c);
  val im = surg__b_unary(b, "Neg", op2(b, "MatMul", real, s));
  if (pairs) {
    val other = framed(&f, wide, 1);
    re = add(b, re, op2(b, "MatMul", other, s));
    im = add(b, im, op2(b, "MatMul", other, c));
  }
  val first = unsqueeze(b, re, 3);
  val y = surg__bint_concat(b, first, unsqueeze(b, im, 3), 3);
  surg__b_result(b, "y", cast(b, y, x.dtype));
  return b->status;
}

/* --- MelWeightMatrix --- */

static val real(surg__builder *b, double v) {
  return number(b, SURG_DOUBLE, v);
}

/* A value of one element, as a scalar of double. */
static val single_real(surg__builder *b, const char *name) {
  return cast(b, surg__b_single(b, surg__b_get(b, name)), SURG_DOUBLE);
}

static val single_int(surg__builder *b, const char *name) {
  return cast(b, surg__b_single(b, surg__b_get(b, name)), SURG_INT64);
}

static val to_mel(surg__builder *b, val hertz) {
  val ratio = divide(b, hertz, real(b, 700));
  ratio = add(b, ratio, real(b, 1));
  ratio = surg__b_unary(b, "Log", ratio);
  return mul(b, ratio, real(b, 2595 / log(10)));
}

/* The bins of the spectrum for the edges of the triangles: [bins + 2]. */
static val mel_edges(surg__builder *b, val bins, val length) {
  val low = to_mel(b, single_real(b, "lo")), high = to_mel(b, single_real(b, "hi"));
  val count = add(b, bins, int64(b, 2));
  val i = cast(b, counted(b, count), SURG_DOUBLE);
  val at = mul(b, i, sub(b, high, low));
  at = divide(b, at, cast(b, count, SURG_DOUBLE));
  at = add(b, at, low);
  at = divide(b, at, real(b, 2595));
  val power = op2(b, "Pow", real(b, 10), at);
  val hertz = sub(b, power, real(b, 1));
  hertz = mul(b, hertz, real(b, 700));
  val points = cast(b, add(b, length, int64(b, 1)), SURG_DOUBLE);
  val bin = mul(b, points, hertz);
  return surg__b_unary(b, "Floor", divide(b, bin, single_real(b, "r")));
}

static val most_one(surg__builder *b, val x) {
  return op2(b, "Max", x, real(b, 1));
}

/* y = MelWeightMatrix <output_datatype> (n, l, r, lo, hi): each triangle rises from its left edge
 * to its center, is 1 there if both are equal, and falls to the right edge. */
static surg_status mel_weights(surg__builder *b) {
  static const char *const names[] = {"n", "l", "r", "lo", "hi"};
  const surg_node *n = surg__b_matched(b);
  for (size_t i = 0; i < SURG_COUNT(names); i++)
    if (surg__b_bad(b, !dtype_of(surg__b_get(b, names[i])),
                    "an element type is unknown or unsupported"))
      return SURG_EUNSUPPORTED;
  if (!surg__b_attrs_known(b)) return SURG_EUNSUPPORTED;
  if (b->m->opset < 11)
    return surg__b_decline(b, "the rewrite requires opset 11");
  val bins = single_int(b, "n"), length = single_int(b, "l"), edges = mel_edges(b, bins, length);
  val i = counted(b, bins), left = gather(b, edges, i, 0);
  val mid = gather(b, edges, add(b, i, int64(b, 1)), 0);
  val right = gather(b, edges, add(b, i, int64(b, 2)), 0);
  val lines = half_and_one(b, length);
  val j = unsqueeze(b, cast(b, counted(b, lines), SURG_DOUBLE), 1);
  val rise = sub(b, mid, left), fall = sub(b, right, mid), zero = real(b, 0);
  val up = sub(b, j, left), down = sub(b, right, j);
  up = divide(b, up, most_one(b, rise));
  down = divide(b, down, most_one(b, fall));
  val above = op2(b, "Greater", j, mid), below = op2(b, "Less", j, mid);
  val flat = op2(b, "Less", rise, real(b, 1)), beside = op2(b, "Or", above, below);
  val top = op2(b, "And", surg__b_unary(b, "Not", beside), flat);
  val y = where(b, top, real(b, 1), zero);
  val no_rise = op2(b, "Or", op2(b, "Or", op2(b, "Less", j, left), above), flat);
  y = where(b, no_rise, y, up);
  val falls = op2(b, "Less", j, right);
  falls = op2(b, "And", falls, surg__b_unary(b, "Not", below));
  y = where(b, falls, down, y);
  surg__b_result(b, "y", cast(b, y, (int)surg_node_int(n, "output_datatype", SURG_FLOAT)));
  return b->status;
}

const surg__native surg__natives_signal[] = {
    {"stft", short_fourier, "windows, and their product with a matrix of waves"},
    {"mel_weights", mel_weights, "the triangles of a mel filter bank"},
    {NULL, NULL, NULL},
};
