/* SPDX-License-Identifier: Apache-2.0 */
/* Resize as a weighted sum of the elements it reads, axis by axis, equivalent to
 * lib/eval/image/resize.c. Coordinates are computed in double, or in float where elements are
 * weighted. Neighbours of weight 0 are skipped, so that they cannot spread NaN. Scales and sizes
 * may be computed by the model. */
#include <math.h>

#include "base/counted.h"
#include "eval/image/resize.h"
#include "rewrite/lower/native.h"

#define MOST_TAPS 32 /* neighbours per side that are unrolled */

/* Properties of one axis, each a vector of one double (in original_single:
 * one float); `n`: int64. */
typedef struct axis {
  surg_value *in, *out, *n, *scale, *length, *start, *end;
  double known_scale; /* 0: not known */
} axis;

typedef struct resize {
  surg__builder *b;
  surg_node *node;
  surg__built x, roi, scales, sizes;
  surg__rz_words is;
  uint32_t axes[SURG__BT_RANK], n_axes;
  int number; /* type of the computation: SURG_DOUBLE; in original_single SURG_FLOAT */
} resize;

/* --- numbers --- */

static surg_value *op2(resize *r, const char *op, surg_value *x, surg_value *y) {
  return surg__b_binary(r->b, op, x, y);
}
static surg_value *num(resize *r, double v) {
  return surg__b_scalar(r->b, r->number, v);
}
static surg_value *with(resize *r, const char *op, surg_value *x, double v) {
  return op2(r, op, x, num(r, v));
}
static surg_value *real(resize *r, surg_value *v) {
  return surg__b_cast(r->b, v, r->number);
}
static surg_value *choose(resize *r, surg_value *c, surg_value *x, surg_value *y) {
  return surg__bint_choose(r->b, c, x, y);
}

/* --- reading --- */

static bool read_axes(resize *r) {
  size_t n = 0;
  const int64_t *axes = surg_node_ints(r->node, "axes", &n);
  r->n_axes = axes && n ? (uint32_t)n : r->x.rank;
  if (n > r->x.rank) return false;
  for (uint32_t i = 0; i < r->n_axes; i++) {
    const int64_t a = !axes || !n ? i : axes[i] < 0 ? axes[i] + r->x.rank : axes[i];
    if (a < 0 || a >= (int64_t)r->x.rank) return false;
    r->axes[i] = (uint32_t)a;
  }
  return true;
}

/* Reads an operand of `count` elements; an empty one counts as absent. False: not known. */
static bool operand(resize *r, const char *name, uint32_t count, surg__built *out) {
  *out = (surg__built){0};
  if (!surg__b_get(r->b, name)) return true;
  if (!surg__built_get(r->b, name, out) || out->rank != 1) return false;
  if (out->d[0].n == 0) *out = (surg__built){0};
  return !out->v || out->d[0].n == (int64_t)count;
}

/* Element i of a constant of floats, or `none`. */
static double known_float(const surg_value *v, uint32_t i, double none) {
  const surg_tensor *t = v ? surg_value_constant(v) : NULL;
  float f;
  if (!t || surg_tensor_dtype(t) != SURG_FLOAT || surg_tensor_read_numbers(t, i, &f, 1))
    return none;
  return isfinite(f) ? (double)f : none;
}

/* The scale of axis i if it is constant, else 0. */
static double known_scale(const resize *r, uint32_t i) {
  return fmax(known_float(r->scales.v, i, 0), 0);
}

/* Whether the size of axis i times its scale is an integer. Otherwise runtimes and the reference
 * implementation of ONNX disagree on coordinates with align_corners. */
static bool whole_size(const resize *r, uint32_t i) {
  const double scale = known_scale(r, i), n = (double)r->x.d[r->axes[i]].n;
  return scale > 0 && (scale == floor(scale) || (n >= 0 && n * scale == floor(n * scale)));
}

static bool corners_agree(const resize *r) {
  if (r->is.coords != SURG__RZ_ALIGN_CORNERS || !r->scales.v) return true;
  for (uint32_t i = 0; i < r->n_axes; i++)
    if (!whole_size(r, i)) return false;
  return true;
}

static bool read(resize *r) {
  surg__builder *b = r->b;
  r->node = surg__b_matched(b);
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &r->x) || !read_axes(r)) return false;
  r->is = surg__rz_read(r->node);
  if (r->is.mode == SURG__RZ_MODES || r->is.coords == SURG__RZ_COORDINATES ||
      r->is.rounding == SURG__RZ_ROUNDINGS || r->is.policy == SURG__RZ_POLICIES)
    return false;
  return operand(r, "r", 2 * r->n_axes, &r->roi) && operand(r, "s", r->n_axes, &r->scales) &&
         operand(r, "z", r->n_axes, &r->sizes) && !r->scales.v != !r->sizes.v &&
         (r->is.coords != SURG__RZ_CROP || r->roi.v);
}

/* --- sizes and coordinates that depend on precision --- */

#define SHORT_BITS 12     /* scales of so few bits give the same indices in float and double */
#define MOST_PLACES 65536 /* output elements that are compared */

/* Whether products with sizes below 2^12 are exact in float, and no quotient is rounded to an
 * integer. Unknown sizes are assumed to be so small. */
static bool is_short(double scale) {
  int exponent;
  const double digits = ldexp(frexp(scale, &exponent), SHORT_BITS);
  return scale > 0 && digits == floor(digits);
}

/* The size of the result; inference gives none where float and double arithmetic differ. */
static const surg_dim *result_dim(const resize *r, uint32_t i) {
  const surg_type *t = surg_value_type(surg_node_output(r->node, 0));
  const bool ranked = t && surg_type_has_rank(t) && surg_type_rank(t) == r->x.rank;
  return ranked ? surg_type_dim(t, r->axes[i]) : NULL;
}

static int64_t result_size(const resize *r, uint32_t i) {
  const surg_dim *d = result_dim(r, i);
  return d ? d->value : -1;
}

/* Whether the size of the result is proven to be a multiple of that of the input. */
static bool is_multiple(const resize *r, uint32_t i) {
  const surg_dim *d = result_dim(r, i);
  surg_dim times;
  return d && surg_dims_divide(r->b->m->m, d, 1, &r->x.d[r->axes[i]].dim, 1, &times) &&
         times.value > 0;
}

/* The scale of all axes under keep_aspect_ratio_policy; 0: not known. */
static double shared_scale(const resize *r) {
  surg_elem e[SURG__BT_RANK];
  double common = 0;
  if (surg__known_elements(r->sizes.v, e, SURG__BT_RANK) != (int64_t)r->n_axes) return 0;
  for (uint32_t i = 0; i < r->n_axes; i++) {
    const int64_t n = r->x.d[r->axes[i]].n;
    if (!e[i].known || e[i].value < 1 || n < 1) return 0;
    const double scale = (double)e[i].value / (double)n;
    const bool better = r->is.policy == SURG__RZ_NOT_LARGER ? scale < common : scale > common;
    if (i == 0 || better) common = scale;
  }
  return common;
}

/* Axis i with its sizes, scale and region. False: they are not known, or too large to compare. */
static bool known_axis(const resize *r, uint32_t i, surg__rz_axis *a) {
  *a = (surg__rz_axis){.in = r->x.d[r->axes[i]].n, .end = 1};
  if (r->is.coords == SURG__RZ_CROP) {
    a->start = known_float(r->roi.v, i, INFINITY);
    a->end = known_float(r->roi.v, r->n_axes + i, INFINITY);
  }
  if (a->in < 1 || !isfinite(a->start) || !isfinite(a->end)) return false;
  if (r->scales.v) {
    a->scale = known_scale(r, i);
    a->length = (double)a->in * a->scale;
  } else {
    a->length = (double)result_size(r, i);
    a->scale = r->is.policy == SURG__RZ_STRETCH ? a->length / (double)a->in : shared_scale(r);
  }
  if (!(a->scale > 0) || !(a->length >= 0) || a->length >= MOST_PLACES) return false;
  a->out = (int64_t)a->length;
  return true;
}

static bool whole_region(const resize *r, uint32_t i) {
  const bool whole =
      known_float(r->roi.v, i, 1) == 0 && known_float(r->roi.v, r->n_axes + i, 0) == 1;
  return r->is.coords != SURG__RZ_CROP || whole;
}

/* Whether the size of axis i may differ between runtimes: 10 * 0.7 is 7 in float, 6 in double. The
 * standard multiplies scales by the region, runtimes do not. */
static bool unclear_size(const resize *r, uint32_t i) {
  const double scale = known_scale(r, i), n = (double)r->x.d[r->axes[i]].n;
  if (!r->scales.v) return r->is.policy != SURG__RZ_STRETCH && result_size(r, i) < 0;
  if (scale <= 0 || !whole_region(r, i)) return true;
  return n < 0 ? !is_short(scale) : floor(n * scale) != (double)floorf((float)n * (float)scale);
}

/* Whether the precision of coordinates may decide which element of axis i is copied: a coordinate
 * that is an integer in float (as in ONNX Runtime) may be less in double. */
static bool unclear_place(const resize *r, uint32_t i) {
  surg__rz_axis a;
  if (known_axis(r, i, &a)) return surg__rz_unclear(&r->is, &a);
  if (r->is.coords == SURG__RZ_CROP) return !whole_region(r, i);
  /* A quotient of small integers is rounded to no integer. */
  if (r->is.coords == SURG__RZ_ALIGN_CORNERS) return false;
  if (r->sizes.v) return r->is.policy != SURG__RZ_STRETCH || !is_multiple(r, i);
  const double scale = known_scale(r, i);
  return !is_short(scale) || (r->is.coords == SURG__RZ_SYMMETRIC && scale != floor(scale));
}

/* Whether axis i may have a region and scale 1: ONNX Runtime copies such an axis. */
static bool region_ignored(const resize *r, uint32_t i) {
  const int64_t in = r->x.d[r->axes[i]].n, out = result_size(r, i);
  return !whole_region(r, i) && (in < 0 || out < 0 || in == out);
}

/* Whether the size of an axis may stay while elements move: with antialias, ONNX Runtime copies
 * such an axis. */
static bool axis_copied(const resize *r) {
  for (uint32_t i = 0; i < r->n_axes; i++) {
    surg__rz_axis a;
    const double scale = known_scale(r, i);
    if (known_axis(r, i, &a)) {
      if (a.out == a.in && surg__rz_moves(&r->is, &a)) return true;
    } else if (r->scales.v ? scale != 1 && scale < 2 : r->is.policy != SURG__RZ_STRETCH) {
      return true;
    }
  }
  return false;
}

/* Whether the shape stays and elements do not: ONNX Runtime copies the input. */
static bool copied(const resize *r) {
  bool moves = false;
  if (r->is.antialias && axis_copied(r)) return true;
  for (uint32_t i = 0; i < r->n_axes; i++)
    if (region_ignored(r, i)) return true;
  for (uint32_t i = 0; i < r->n_axes; i++) {
    surg__rz_axis a;
    if (!known_axis(r, i, &a) || a.out != a.in) return false;
    moves = moves || surg__rz_moves(&r->is, &a);
  }
  return moves;
}

/* Why runtimes may compute another result than the rewrite; NULL: proven that they do not. */
static const char *unclear(const resize *r) {
  if (!corners_agree(r)) return "runtimes differ on align_corners with a fractional size";
  for (uint32_t i = 0; i < r->n_axes; i++) {
    if (unclear_size(r, i)) return "the precision of scales decides the size of the result";
    if (r->is.mode == SURG__RZ_NEAREST && unclear_place(r, i))
      return "the precision of coordinates decides which element is read";
  }
  return copied(r) ? "runtimes copy an input or axis whose size stays" : NULL;
}

/* --- sizes --- */

static void size_axis(resize *r, uint32_t i, axis *a) {
  surg__builder *b = r->b;
  const surg__bdim d = r->x.d[r->axes[i]];
  a->in = real(r, surg__bdim_vector(b, &d, 1));
  a->known_scale = known_scale(r, i);
  if (r->scales.v) {
    a->scale = real(r, surg__bint_at(b, r->scales.v, i));
    a->length = op2(r, "Mul", a->in, a->scale);
    a->out = surg__b_unary(b, "Floor", a->length);
    a->n = surg__b_cast(b, a->out, SURG_INT64);
  } else {
    a->n = surg__bint_at(b, surg__bint_wide(b, r->sizes.v), i);
    a->length = a->out = real(r, a->n);
    a->scale = op2(r, "Div", a->out, a->in);
  }
  if (r->is.coords != SURG__RZ_CROP) return;
  a->start = real(r, surg__bint_at(b, r->roi.v, i));
  a->end = real(r, surg__bint_at(b, r->roi.v, r->n_axes + i));
}

/* Sets one scale for all axes: the smallest or the largest of those required by the sizes. The
 * scale of an empty axis is NaN and ignored; the axis remains empty. */
static void share_scale(resize *r, axis *a) {
  const char *op = r->is.policy == SURG__RZ_NOT_LARGER ? "Less" : "Greater";
  surg_value *common = a[0].scale;
  for (uint32_t i = 1; i < r->n_axes; i++) {
    surg_value *better = op2(r, op, a[i].scale, common);
    if (!surg__bdim_filled(&r->x.d[r->axes[i - 1]]))
      better = op2(r, "Or", better, surg__b_unary(r->b, "IsNaN", common));
    common = choose(r, better, a[i].scale, common);
  }
  for (uint32_t i = 0; i < r->n_axes; i++) {
    a[i].scale = common;
    surg_value *length = op2(r, "Mul", a[i].in, common);
    if (!surg__bdim_filled(&r->x.d[r->axes[i]]))
      length = choose(r, with(r, "Greater", a[i].in, 0), length, a[i].in);
    surg_value *half = with(r, "Add", length, 0.5);
    a[i].length = a[i].out = surg__b_unary(r->b, "Floor", half);
    a[i].n = surg__b_cast(r->b, a[i].out, SURG_INT64);
  }
}

/* --- coordinates --- */

/* The input coordinates of the output elements i. */
static surg_value *original(resize *r, const axis *a, surg_value *i) {
  surg_value *last = with(r, "Sub", a->in, 1);
  surg_value *half = op2(r, "Div", with(r, "Add", i, 0.5), a->scale);
  switch (r->is.coords) {
    case SURG__RZ_SYMMETRIC: {
      surg_value *adjust = op2(r, "Div", a->out, op2(r, "Mul", a->scale, a->in));
      surg_value *middle = with(r, "Div", a->in, 2);
      surg_value *shift = op2(r, "Mul", middle, op2(r, "Sub", num(r, 1), adjust));
      return with(r, "Sub", op2(r, "Add", shift, half), 0.5);
    }
    case SURG__RZ_PYTORCH: {
      surg_value *many = with(r, "Greater", a->out, 1);
      surg_value *x = with(r, "Sub", half, 0.5);
      return choose(r, many, x, num(r, 0));
    }
    case SURG__RZ_ALIGN_CORNERS: {
      surg_value *x = op2(r, "Mul", i, last);
      x = op2(r, "Div", x, with(r, "Sub", a->length, 1));
      surg_value *less = with(r, "Less", a->length, 1);
      surg_value *apart = op2(r, "Or", less, with(r, "Greater", a->length, 1));
      return choose(r, apart, x, num(r, 0));
    }
    case SURG__RZ_ASYMMETRIC:
      return op2(r, "Div", i, a->scale);
    case SURG__RZ_TF_NEAREST: {
      /* An axis with scale 1 is copied. */
      surg_value *less = with(r, "Less", a->scale, 1);
      surg_value *other = op2(r, "Or", less, with(r, "Greater", a->scale, 1));
      return choose(r, other, half, i);
    }
    case SURG__RZ_CROP: {
      surg_value *span = op2(r, "Sub", a->end, a->start);
      surg_value *step = op2(r, "Mul", op2(r, "Mul", i, span), last);
      surg_value *first = op2(r, "Mul", a->start, last);
      surg_value *x = op2(r, "Add", first, op2(r, "Div", step, with(r, "Sub", a->out, 1)));
      surg_value *middle =
          op2(r, "Mul", with(r, "Mul", op2(r, "Add", a->start, a->end), 0.5), last);
      return choose(r, with(r, "Greater", a->out, 1), x, middle);
    }
    default:
      return with(r, "Sub", half, 0.5);
  }
}

/* As `original`, computed in float. */
static surg_value *original_single(resize *r, const axis *a, surg_value *i) {
  axis f = *a;
  r->number = SURG_FLOAT;
  surg_value **const all[] = {&f.in, &f.out, &f.scale, &f.length, &f.start, &f.end};
  for (size_t k = 0; k < SURG_COUNT(all); k++)
    if (*all[k]) *all[k] = real(r, *all[k]);
  surg_value *x = original(r, &f, real(r, i));
  r->number = SURG_DOUBLE;
  return real(r, x);
}

/* Converts coordinates to indices from 0 to in - 1; NaN becomes 0. */
static surg__built clamped(resize *r, const axis *a, surg_value *x) {
  surg_value *last = with(r, "Sub", a->in, 1);
  surg_value *positive = with(r, "Greater", x, 0);
  x = choose(r, positive, x, num(r, 0));
  x = choose(r, op2(r, "Less", x, last), x, last);
  return (surg__built){.v = surg__b_cast(r->b, x, SURG_INT64),
                       .dtype = SURG_INT64,
                       .rank = 1,
                       .d = {surg__bdim_of(a->n)}};
}

/* Reshapes a vector for the elements of an axis, so that it broadcasts to the data. */
static surg_value *spread(resize *r, surg_value *v, uint32_t at) {
  const int64_t dims[SURG__BT_RANK] = {-1, 1, 1, 1, 1, 1, 1, 1};
  return r->x.rank - at == 1 ? v : surg__bint_reshape(r->b, v, dims, r->x.rank - at);
}

/* For tf_crop_and_resize: selects the extrapolation value where coordinates
 * are outside the input. */
static surg__built cropped(resize *r, const axis *a, uint32_t at, surg_value *x, surg__built y) {
  if (r->is.coords != SURG__RZ_CROP) return y;
  surg_value *beside = with(r, "Less", x, 0);
  beside = op2(r, "Or", beside, op2(r, "Greater", x, with(r, "Sub", a->in, 1)));
  beside = op2(r, "Or", beside, surg__b_unary(r->b, "IsNaN", x));
  beside = spread(r, beside, at);
  y.v = choose(r, beside, surg__b_scalar(r->b, y.dtype, r->is.outside), y.v);
  return y;
}

static surg__built nearest(resize *r, const axis *a, uint32_t at, surg_value *x, surg__built data) {
  surg_value *place = x;
  if (r->is.rounding == SURG__RZ_PREFER_FLOOR) place = with(r, "Sub", x, 0.5);
  if (r->is.rounding == SURG__RZ_PREFER_CEIL) place = with(r, "Add", x, 0.5);
  const bool up = r->is.rounding == SURG__RZ_PREFER_FLOOR || r->is.rounding == SURG__RZ_CEIL;
  place = surg__b_unary(r->b, up ? "Ceil" : "Floor", place);
  return cropped(r, a, at, x, surg__built_gather(r->b, data, clamped(r, a, place), at));
}

/* --- weights --- */

/* c3 * d^3 + c2 * d^2 + c1 * d + c0 */
static surg_value *cubic(resize *r, surg_value *d, double c3, double c2, double c1, double c0) {
  surg_value *v = with(r, "Add", with(r, "Mul", d, c3), c2);
  v = with(r, "Add", op2(r, "Mul", v, d), c1);
  return with(r, "Add", op2(r, "Mul", v, d), c0);
}

static surg_value *weight(resize *r, surg_value *x) {
  const double a = r->is.cubic_a;
  surg_value *d = surg__b_unary(r->b, "Abs", x);
  if (r->is.mode == SURG__RZ_LINEAR) {
    surg_value *inside = with(r, "Less", d, 1);
    surg_value *w = op2(r, "Sub", num(r, 1), d);
    return choose(r, inside, w, num(r, 0));
  }
  surg_value *inner = cubic(r, d, a + 2, -(a + 3), 0, 1);
  surg_value *outer = cubic(r, d, a, -5 * a, 8 * a, -4 * a);
  surg_value *reached = with(r, "Less", d, 2);
  outer = choose(r, reached, outer, num(r, 0));
  return choose(r, with(r, "Greater", d, 1), outer, inner);
}

/* Sets the weights of positions outside the input to 0, if exclude_outside is set. */
static surg_value *within(resize *r, const axis *a, surg_value *place, surg_value *w) {
  if (!r->is.exclude_outside) return w;
  surg_value *before = with(r, "Less", place, 0);
  surg_value *beside = op2(r, "Or", before, op2(r, "Greater", place, with(r, "Sub", a->in, 1)));
  return choose(r, beside, num(r, 0), w);
}

static surg_value *scaled(resize *r, surg_value *w, surg_value *sum) {
  surg_value *below = with(r, "Less", sum, 0);
  surg_value *some = op2(r, "Or", below, with(r, "Greater", sum, 0));
  return choose(r, some, op2(r, "Div", w, sum), w);
}

/* w * x, and 0 where w is 0, even if x is NaN. */
static surg_value *term(resize *r, surg_value *w, surg_value *x) {
  surg_value *below = with(r, "Less", w, 0);
  surg_value *some = op2(r, "Or", below, with(r, "Greater", w, 0));
  surg_value *product = op2(r, "Mul", w, x);
  return choose(r, some, product, num(r, 0));
}

/* Sums over `side` neighbours on each side, one by one. */
static surg__built by_taps(resize *r, const axis *a, uint32_t at, surg_value *x, surg__built data,
                           int side, double squeeze) {
  surg_value *w[2 * MOST_TAPS], *place[2 * MOST_TAPS], *sum = NULL;
  surg_value *base = with(r, "Sub", surg__b_unary(r->b, "Ceil", x), 1);
  surg_value *ratio = op2(r, "Sub", x, base);
  surg__built y = data;
  for (int j = 0; j < 2 * side; j++) {
    surg_value *d = op2(r, "Sub", num(r, 1 - side + j), ratio);
    place[j] = with(r, "Add", base, 1 - side + j);
    w[j] = weight(r, squeeze == 1 ? d : with(r, "Mul", d, squeeze));
    w[j] = within(r, a, place[j], w[j]);
    sum = j ? op2(r, "Add", sum, w[j]) : w[j];
  }
  for (int j = 0; j < 2 * side; j++) {
    if (r->is.exclude_outside || r->is.antialias) w[j] = scaled(r, w[j], sum);
    const surg__built one = surg__built_gather(r->b, data, clamped(r, a, place[j]), at);
    surg_value *t = term(r, spread(r, w[j], at), one.v);
    y.d[at] = one.d[at];
    y.v = j ? op2(r, "Add", y.v, t) : t;
  }
  return cropped(r, a, at, x, y);
}

/* Sums over all input elements and the positions outside that the filter may reach, most with
 * weight 0. Used if the width of the filter is computed, or large. */
static surg__built by_all(resize *r, const axis *a, uint32_t at, surg_value *x, surg__built data) {
  surg__builder *b = r->b;
  const int64_t column[2] = {-1, 1}, last = 1;
  surg_value *shrinks = with(r, "Less", a->scale, 1);
  surg_value *squeeze = choose(r, shrinks, a->scale, num(r, 1));
  surg_value *reach = op2(r, "Div", num(r, r->is.mode == SURG__RZ_LINEAR ? 1 : 2), squeeze);
  reach = surg__b_unary(b, "Ceil", reach);
  surg_value *count = op2(r, "Add", a->in, op2(r, "Add", reach, reach));
  if (!surg__bdim_filled(&data.d[at])) { /* an empty axis has no neighbours */
    surg_value *none = num(r, 0);
    count = choose(r, with(r, "Greater", a->in, 0), count, none);
  }
  surg__bdim n = surg__bdim_of(surg__b_cast(b, count, SURG_INT64));
  surg_value *from_zero = real(r, surg__built_range(b, n, SURG_INT64).v);
  surg_value *place = op2(r, "Sub", from_zero, reach);
  surg_value *d = op2(r, "Sub", place, surg__bint_reshape(b, x, column, 2));
  surg_value *w = within(r, a, place, weight(r, op2(r, "Mul", d, squeeze)));
  surg_value *sum = surg__b_over(b, "ReduceSum", w, &last, 1);
  surg__b_set_int(b, sum, "keepdims", 1);
  w = scaled(r, w, sum);
  /* The axis is moved to the end; each output element is a weighted sum over it. */
  surg__built at_places = clamped(r, a, place);
  at_places.d[0] = n;
  surg__built rows =
      surg__built_swap(b, surg__built_gather(b, data, at_places, at), at, data.rank - 1);
  rows = surg__built_unsqueeze(b, rows, data.rank - 1);
  rows.v = term(r, w, rows.v);
  rows.d[data.rank - 1] = surg__bdim_of(a->n);
  const surg__built y = surg__built_reduce(b, "ReduceSum", rows, data.rank, false);
  return cropped(r, a, at, x, surg__built_swap(b, y, at, data.rank - 1));
}

static surg__built smooth(resize *r, const axis *a, uint32_t at, surg_value *x, surg__built data) {
  const double support = r->is.mode == SURG__RZ_LINEAR ? 1 : 2;
  if (!r->is.antialias || a->known_scale >= 1) return by_taps(r, a, at, x, data, (int)support, 1);
  const double side = a->known_scale > 0 ? ceil(support / a->known_scale) : INFINITY;
  if (side <= MOST_TAPS) return by_taps(r, a, at, x, data, (int)side, a->known_scale);
  return by_all(r, a, at, x, data);
}

/* --- emissions --- */

/* Whether the sum of weights that divides may be close to 0: for cubic with exclude_outside, unless
 * the nearest weight exceeds the others. */
static bool unsteady(const resize *r) {
  return r->is.mode == SURG__RZ_CUBIC && r->is.exclude_outside &&
         !(r->is.cubic_a >= -1 && r->is.cubic_a <= 0);
}

/* Whether axis i is copied. */
static bool stays(const resize *r, uint32_t i) {
  const bool sized = r->sizes.v && r->is.policy == SURG__RZ_STRETCH &&
                     r->x.d[r->axes[i]].n > 0 && result_size(r, i) == r->x.d[r->axes[i]].n;
  return r->is.coords != SURG__RZ_CROP && (sized || known_scale(r, i) == 1);
}

/* y = Resize (x, r, s, z); `any`: where runtimes may compute another result, too. */
static surg_status by_parts(surg__builder *b, bool any) {
  axis a[SURG__BT_RANK] = {{0}};
  resize r = {.b = b, .number = SURG_DOUBLE};
  if (!read(&r) || surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9") ||
      surg__b_bad(b, r.is.antialias && r.x.rank >= SURG__BT_RANK,
                  "x: the rank is above the limit for antialias") ||
      surg__b_bad(b, unsteady(&r), "cubic_coeff_a is outside of [-1, 0] with exclude_outside"))
    return SURG_EUNSUPPORTED;
  const char *why = any ? NULL : unclear(&r);
  if (surg__b_bad(b, why != NULL, why)) return SURG_EUNSUPPORTED;
  const int type = r.x.dtype;
  const bool floats = type == SURG_FLOAT || type == SURG_DOUBLE || type == SURG_FLOAT16 ||
                      (type == SURG_BFLOAT16 && b->m->opset >= 13);
  if (surg__b_bad(b, !floats && (r.is.mode != SURG__RZ_NEAREST || r.is.coords == SURG__RZ_CROP),
                  "x: expected floats for this mode"))
    return SURG_EUNSUPPORTED;
  for (uint32_t i = 0; i < r.n_axes; i++)
    if (!stays(&r, i)) size_axis(&r, i, &a[i]);
  if (r.is.policy != SURG__RZ_STRETCH && r.sizes.v) share_scale(&r, a);
  surg__built y = r.x;
  for (uint32_t k = r.x.rank; k-- > 0;) {
    for (uint32_t i = 0; i < r.n_axes; i++) {
      if (r.axes[i] != k || stays(&r, i)) continue;
      if (r.is.mode != SURG__RZ_NEAREST && y.v == r.x.v) y = surg__built_cast(b, y, SURG_DOUBLE);
      surg__built count = surg__built_range(b, surg__bdim_of(a[i].n), SURG_INT64);
      if (r.is.mode == SURG__RZ_NEAREST)
        y = nearest(&r, &a[i], k, original(&r, &a[i], real(&r, count.v)), y);
      else
        y = smooth(&r, &a[i], k, original_single(&r, &a[i], count.v), y);
    }
  }
  surg__built_result(b, "y", surg__built_cast(b, y, type));
  return b->status;
}

static surg_status resize_by_parts(surg__builder *b) {
  return by_parts(b, false);
}
static surg_status resize_by_any_parts(surg__builder *b) {
  return by_parts(b, true);
}

/* Builds a list for all axes from elements of `named` and `others`; from[i] is an index into
 * their concatenation. */
static surg_value *all_of(surg__builder *b, surg_value *named, surg_value *others,
                          const int64_t *from, size_t n) {
  surg_value *both = surg__bint_concat(b, named, others, 0);
  return surg__b_binary(b, "Gather", both, surg__b_ints(b, from, n));
}

/* y = Resize <axes> (x, r, s, z) for versions without `axes`: lists all axes. */
static surg_status resize_all_axes(surg__builder *b) {
  static const char *const gone[] = {"axes", "antialias", "keep_aspect_ratio_policy", NULL};
  resize r = {.b = b, .number = SURG_DOUBLE};
  int64_t one[SURG__BT_RANK], two[2 * SURG__BT_RANK];
  if (!read(&r) || surg__b_bad(b, r.is.antialias, "antialias is unsupported") ||
      surg__b_bad(b, r.is.policy != SURG__RZ_STRETCH,
                  "keep_aspect_ratio_policy: expected stretch") ||
      surg__b_bad(b, b->m->opset < 13, "the rewrite requires opset 13"))
    return SURG_EUNSUPPORTED;
  const int64_t n = r.n_axes, rank = r.x.rank;
  for (int64_t k = 0; k < rank; k++) {
    one[k] = r.sizes.v ? n + k : n;
    two[k] = 2 * n;
    two[rank + k] = 2 * n + 1;
  }
  for (int64_t i = 0; i < n; i++) {
    one[r.axes[i]] = two[r.axes[i]] = i;
    two[rank + r.axes[i]] = n + i;
  }
  const int64_t single[1] = {1}, pair[1] = {2};
  const double ones[2] = {1, 1}, region[2] = {0, 1};
  surg_value *in[4] = {r.x.v, NULL, NULL, NULL};
  if (r.roi.v)
    in[1] = all_of(b, r.roi.v, surg__built_numbers(b, r.roi.dtype, pair, 1, region).v, two,
                   2 * (size_t)rank);
  if (r.scales.v)
    in[2] = all_of(b, r.scales.v, surg__built_numbers(b, SURG_FLOAT, single, 1, ones).v, one,
                   (size_t)rank);
  else
    in[3] = all_of(b, r.sizes.v, surg__b_unary(b, "Shape", r.x.v), one, (size_t)rank);
  surg_value *y = surg__b_node(b, "Resize", in, r.scales.v ? 3 : 4);
  if (b->status) return b->status;
  surg__b_copy_attrs(b, y, r.node, gone);
  surg__b_result(b, "y", y);
  return b->status;
}

/* y = Resize (x, r, s, z) in another mode that reads the same elements of every axis. */
static surg_status by_words(surg__builder *b, surg__rz_words want, const char *coords,
                            const char *rounding) {
  resize r = {.b = b, .number = SURG_DOUBLE};
  surg__bdim dims[SURG__BT_RANK];
  if (!read(&r)) return SURG_EUNSUPPORTED;
  const bool same = r.is.coords == want.coords && r.is.rounding == want.rounding;
  if (surg__b_bad(b, same && r.sizes.v, "it is in that mode"))
    return SURG_EUNSUPPORTED;
  bool by_scales = r.scales.v && r.n_axes == r.x.rank;
  for (uint32_t k = 0; k < r.x.rank; k++) dims[k] = r.x.d[k];
  for (uint32_t i = 0; i < r.n_axes; i++) {
    surg__rz_axis a;
    if (stays(&r, i)) continue;
    const bool known = known_axis(&r, i, &a) && a.out == result_size(&r, i) && a.out > 0;
    surg__rz_axis other = a;
    if (known) other.length = (double)a.out, other.scale = (double)a.out / (double)a.in;
    if (surg__b_bad(b, !known || surg__rz_compare(&r.is, &a, &want, &other) != SURG__RZ_EQUAL,
                    "other elements are read, or that is not known"))
      return SURG_EUNSUPPORTED;
    by_scales = by_scales && a.length == (double)a.out;
    dims[r.axes[i]] = surg__bdim_fixed(a.out);
  }
  if (surg__b_bad(b, same && by_scales, "it is in that mode")) return SURG_EUNSUPPORTED;
  const int64_t none[1] = {0};
  surg_value *empty =
      b->m->opset < 13 ? surg__built_numbers(b, SURG_FLOAT, none, 1, NULL).v : NULL;
  surg_value *in[4] = {r.x.v, empty, by_scales ? r.scales.v : empty,
                       by_scales ? NULL : surg__bdim_vector(b, dims, r.x.rank)};
  surg_value *y = surg__b_node(b, "Resize", in, by_scales ? 3 : 4);
  surg__b_set_string(b, y, "mode", "nearest");
  surg__b_set_string(b, y, "coordinate_transformation_mode", coords);
  surg__b_set_string(b, y, "nearest_mode", rounding);
  surg__b_result(b, "y", y);
  return b->status;
}

static surg_status resize_by_floor(surg__builder *b) {
  const surg__rz_words want = {.coords = SURG__RZ_ASYMMETRIC, .rounding = SURG__RZ_FLOOR};
  return by_words(b, want, "asymmetric", "floor");
}
static surg_status resize_by_round(surg__builder *b) {
  const surg__rz_words want = {.coords = SURG__RZ_HALF_PIXEL, .rounding = SURG__RZ_PREFER_CEIL};
  return by_words(b, want, "half_pixel", "round_prefer_ceil");
}
static surg_status resize_by_corners(surg__builder *b) {
  const surg__rz_words want = {.coords = SURG__RZ_ALIGN_CORNERS, .rounding = SURG__RZ_PREFER_CEIL};
  return by_words(b, want, "align_corners", "round_prefer_ceil");
}

const surg__native surg__natives_resize[] = {
    {"resize_by_floor", resize_by_floor, "Resize by asymmetric coordinates, rounded down"},
    {"resize_by_round", resize_by_round, "Resize by centers of pixels, rounded to the nearest"},
    {"resize_by_corners", resize_by_corners, "Resize by corners, rounded to the nearest"},
    {"resize_by_parts", resize_by_parts, "Resize as the elements it touches, with their weights"},
    {"resize_by_any_parts", resize_by_any_parts,
     "Resize as the elements it touches, in double where precision matters"},
    {"resize_all_axes", resize_all_axes, "Resize with a scale or size for every axis"},
    {NULL, NULL, NULL},
};
