/* SPDX-License-Identifier: Apache-2.0 */
/* Resize and Upsample. Every mode is separable: an output coordinate of one axis is a weighted
 * sum of input coordinates of that axis. So the axes are resized one by one, in double. Mode
 * nearest copies elements and supports every type. */
#include <math.h>
#include <string.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"
#include "eval/image/resize.h"

typedef surg__rz_axis axis_plan;

typedef struct resize {
  surg_kctx *k;
  surg__rz_words is;
  axis_plan axes[SURG_LIMIT_RANK];
} resize;

/* --- attributes and sizes --- */

static const char *const coordinate_words[SURG__RZ_COORDINATES] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
static const char *const rounding_words[SURG__RZ_ROUNDINGS] = {
    "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

static unsigned word_of(const char *const *list, unsigned count, const char *text, size_t n) {
  unsigned i = 0;
  while (i < count && (strlen(list[i]) != n || memcmp(list[i], text, n) != 0)) i++;
  return i;
}

surg__rz_coordinates surg__rz_coordinates_of(const char *text, size_t n) {
  return (surg__rz_coordinates)word_of(coordinate_words, SURG__RZ_COORDINATES, text, n);
}

surg__rz_rounding surg__rz_rounding_of(const char *text, size_t n) {
  return (surg__rz_rounding)word_of(rounding_words, SURG__RZ_ROUNDINGS, text, n);
}

surg__rz_words surg__rz_read(const surg_node *n) {
  static const char *const modes[] = {"nearest", "linear", "cubic"};
  static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};
  return (surg__rz_words){
      .mode = (surg__rz_mode)surg__node_word(n, "mode", "nearest", modes, SURG__RZ_MODES),
      .coords = (surg__rz_coordinates)surg__node_word(n, "coordinate_transformation_mode",
                                                      "half_pixel", coordinate_words,
                                                      SURG__RZ_COORDINATES),
      .rounding = (surg__rz_rounding)surg__node_word(n, "nearest_mode", "round_prefer_floor",
                                                     rounding_words, SURG__RZ_ROUNDINGS),
      .policy = (surg__rz_policy)surg__node_word(n, "keep_aspect_ratio_policy", "stretch",
                                                 policies, SURG__RZ_POLICIES),
      .antialias = surg_node_int(n, "antialias", 0) != 0,
      .exclude_outside = surg_node_int(n, "exclude_outside", 0) != 0,
      .cubic_a = (double)surg_node_float(n, "cubic_coeff_a", -0.75f),
      .outside = (double)surg_node_float(n, "extrapolation_value", 0)};
}

/* Upsample, and Resize before version 11, have only the attribute `mode`. Upsample-1 names
 * linear "bilinear". */
static surg__kstatus read_modes(resize *r) {
  static const char *const first_modes[] = {"nearest", "bilinear"};
  const surg_kctx *k = r->k;
  const bool old = k->op == SURG_OP_Upsample || k->since < 11;
  r->is = surg__rz_read(k->node);
  if (old)
    r->is = (surg__rz_words){.mode = r->is.mode, .coords = SURG__RZ_ASYMMETRIC,
                             .rounding = SURG__RZ_FLOOR};
  if (k->op == SURG_OP_Upsample && k->since < 7) {
    const int m = surg__k_word(k, "mode", "nearest", first_modes, 2);
    r->is.mode = m < 2 ? (surg__rz_mode)m : SURG__RZ_MODES;
  }
  if (r->is.mode == SURG__RZ_MODES) return surg__k_cannot(r->k, "this mode");
  if (r->is.coords == SURG__RZ_COORDINATES || r->is.rounding == SURG__RZ_ROUNDINGS ||
      r->is.policy == SURG__RZ_POLICIES)
    return surg__k_invalid(r->k, "an unknown mode or keep_aspect_ratio_policy");
  return SURG__K_OK;
}

/* The axes that sizes, scales and roi refer to, in their order: the attribute `axes` or all. */
static surg__kstatus read_axes(resize *r, uint32_t *list, uint32_t *n) {
  const surg__array *x = &r->k->in[0];
  size_t count = 0;
  bool seen[SURG_LIMIT_RANK] = {false};
  const int64_t *axes = r->k->since >= 18 ? surg_node_ints(r->k->node, "axes", &count) : NULL;
  *n = x->rank;
  for (uint32_t d = 0; d < x->rank; ++d) list[d] = d;
  if (!axes || count == 0) return SURG__K_OK;
  if (count > x->rank) return surg__k_invalid(r->k, "more axes than there are");
  *n = (uint32_t)count;
  for (uint32_t i = 0; i < *n; ++i) {
    if (!surg__k_axis(axes[i], x->rank, &list[i]) || seen[list[i]]) {
      return surg__k_invalid(r->k, "an axis is out of range or repeated");
    }
    seen[list[i]] = true;
  }
  return SURG__K_OK;
}

static bool set_scale(axis_plan *a, double scale, double out) {
  if (!(scale > 0) || !(out >= 0 && out < 0x1p40)) return false;
  a->scale = scale;
  a->out = (int64_t)out;
  a->length = (double)a->out;
  return true;
}

static surg__kstatus from_scales(resize *r, const uint32_t *list, uint32_t n,
                                 const surg__array *scales) {
  if (scales->count != n) return surg__k_invalid(r->k, "not one scale an axis");
  for (uint32_t i = 0; i < n; ++i) {
    axis_plan *a = &r->axes[list[i]];
    double scale = ((const float *)scales->data)[i];
    if (!set_scale(a, scale, floor((double)a->in * scale))) {
      return surg__k_invalid(r->k, "a scale is not above zero, or too large");
    }
    a->length = (double)a->in * scale;
    if (a->out != (int64_t)floorf((float)a->in * (float)scale))
      SURG__K_TRY(surg__k_disputed(r->k, "a size that differs in float and double"));
    if (r->is.coords == SURG__RZ_CROP && !(a->start == 0 && a->end == 1))
      SURG__K_TRY(surg__k_disputed(r->k, "scales of a region"));
    if (r->is.coords == SURG__RZ_ALIGN_CORNERS && (double)a->out != a->length) {
      SURG__K_TRY(surg__k_disputed(r->k, "align_corners with a size that is not an integer"));
    }
  }
  return SURG__K_OK;
}

static surg__kstatus from_sizes(resize *r, const uint32_t *list, uint32_t n, uint32_t input) {
  const surg__rz_policy policy = r->is.policy;
  uint64_t count = 0;
  const int64_t *sizes = surg__k_ints(r->k, input, &count);
  if (!sizes) return SURG__K_NOMEM;
  if (count != n) return surg__k_invalid(r->k, "not one size an axis");
  double common = 0;
  for (uint32_t i = 0; i < n; ++i) {
    axis_plan *a = &r->axes[list[i]];
    if (a->in == 0) { /* the scale is undefined; the size must remain 0 */
      if (sizes[i] != 0) return surg__k_invalid(r->k, "a size for an empty axis");
      continue;
    }
    double scale = (double)sizes[i] / (double)a->in;
    if (!set_scale(a, scale, (double)sizes[i])) return surg__k_invalid(r->k, "a size below one");
    const bool better = policy == SURG__RZ_NOT_LARGER ? scale < common : scale > common;
    if (common == 0 || better) common = scale;
  }
  for (uint32_t i = 0; policy != SURG__RZ_STRETCH && i < n; ++i) {
    axis_plan *a = &r->axes[list[i]];
    if (a->in != 0) set_scale(a, common, floor((double)a->in * common + 0.5));
  }
  return SURG__K_OK;
}

static surg__kstatus read_region(resize *r, const uint32_t *list, uint32_t n) {
  if (r->is.coords != SURG__RZ_CROP) return SURG__K_OK;
  if (!surg__k_has(r->k, 1) || r->k->in[1].count != 2 * (uint64_t)n) {
    return surg__k_invalid(r->k, "tf_crop_and_resize without its region");
  }
  const surg__array *roi = &r->k->in[1];
  for (uint32_t i = 0; i < n; ++i) {
    r->axes[list[i]].start = surg__load_f64(roi->dtype, roi->data, i);
    r->axes[list[i]].end = surg__load_f64(roi->dtype, roi->data, n + i);
  }
  return SURG__K_OK;
}

/* Upsample-1 scales the last two of four axes. */
static surg__kstatus from_plane(resize *r) {
  static const char *const names[] = {"height_scale", "width_scale"};
  if (r->k->in[0].rank != 4) return surg__k_invalid(r->k, "the input is not of rank 4");
  for (uint32_t i = 0; i < 2; ++i) {
    axis_plan *a = &r->axes[i + 2];
    double scale = surg_node_float(r->k->node, names[i], 0);
    if (!set_scale(a, scale, floor((double)a->in * scale))) {
      return surg__k_invalid(r->k, "a scale is not above zero, or too large");
    }
  }
  return SURG__K_OK;
}

/* Reads the scales: an attribute of Upsample-7, input 1 of Upsample-9 and Resize-10. Later
 * versions have scales or sizes. */
static surg__kstatus read_sizes(resize *r) {
  surg_kctx *k = r->k;
  const surg__array *x = &k->in[0];
  uint32_t list[SURG_LIMIT_RANK], n;
  for (uint32_t d = 0; d < x->rank; ++d) {
    r->axes[d] = (axis_plan){.in = x->dims[d], .out = x->dims[d], .scale = 1, .end = 1};
  }
  SURG__K_TRY(read_axes(r, list, &n));
  SURG__K_TRY(read_region(r, list, n));
  if (k->op == SURG_OP_Upsample && k->since < 7) return from_plane(r);
  if (k->op == SURG_OP_Upsample && k->since < 9) {
    size_t count = 0;
    const surg_attr *a = surg_node_attr(k->node, "scales");
    const float *scales = a ? surg_attr_floats(a, &count) : NULL;
    surg__array as_array = {.dtype = SURG_FLOAT, .count = count, .data = (void *)(uintptr_t)scales};
    return from_scales(r, list, n, &as_array);
  }
  if (k->op == SURG_OP_Upsample || k->since < 11) return from_scales(r, list, n, &k->in[1]);
  bool scales = surg__k_has(k, 2) && k->in[2].count > 0;
  bool sizes = surg__k_has(k, 3) && k->in[3].count > 0;
  if (scales == sizes) return surg__k_invalid(k, "not one of scales and sizes");
  return scales ? from_scales(r, list, n, &k->in[2]) : from_sizes(r, list, n, 3);
}

/* --- coordinates and weights --- */

/* The input coordinate of output element i, computed in `real`: double where elements are
 * copied, float where they are weighted, as engines do. The precision matters: a coordinate that
 * is an integer in one type may be off by 1e-7 in the other, and a neighbor that is infinite
 * makes a weight of 1e-7 infinite. */
#define ORIGINAL(name, real)                                                                       \
  static real name(surg__rz_coordinates coords, const axis_plan *a, int64_t i) {                   \
    const real x = (real)i, in = (real)a->in, out = (real)a->out, half = (real)0.5;                \
    const real scale = (real)a->scale, length = (real)a->length;                                   \
    const real start = (real)a->start, end = (real)a->end;                                         \
    switch (coords) {                                                                              \
      case SURG__RZ_SYMMETRIC: {                                                                   \
        const real adjust = out / (scale * in);                                                    \
        return in / 2 * (1 - adjust) + (x + half) / scale - half;                                  \
      }                                                                                            \
      case SURG__RZ_PYTORCH:                                                                       \
        return a->out > 1 ? (x + half) / scale - half : 0;                                         \
      case SURG__RZ_ALIGN_CORNERS:                                                                 \
        return length < 1 || length > 1 ? x * (in - 1) / (length - 1) : 0;                         \
      case SURG__RZ_ASYMMETRIC:                                                                    \
        return x / scale;                                                                          \
      case SURG__RZ_TF_NEAREST:                                                                    \
        return (x + half) / scale;                                                                 \
      case SURG__RZ_CROP:                                                                          \
        if (a->out <= 1) return half * (start + end) * (in - 1);                                   \
        return start * (in - 1) + x * (end - start) * (in - 1) / (out - 1);                        \
      default:                                                                                     \
        return (x + half) / scale - half;                                                          \
    }                                                                                              \
  }
ORIGINAL(original, double)
ORIGINAL(original_single, float)

static int64_t clamp(double x, int64_t n) {
  if (!(x > 0)) return 0;
  return x >= (double)(n - 1) ? n - 1 : (int64_t)x;
}

/* Whether x is outside the input in mode tf_crop_and_resize; also true for NaN. */
static bool beside(const surg__rz_words *is, const axis_plan *a, double x) {
  return is->coords == SURG__RZ_CROP && !(x >= 0 && x <= (double)(a->in - 1));
}

/* The index at coordinate x; -1: outside of the region. */
static int64_t index_at(const surg__rz_words *is, const axis_plan *a, double x) {
  if (beside(is, a, x)) return -1;
  switch (a->shrinks ? SURG__RZ_CEIL : is->rounding) {
    case SURG__RZ_PREFER_FLOOR:
      return clamp(ceil(x - 0.5), a->in);
    case SURG__RZ_PREFER_CEIL:
      return clamp(floor(x + 0.5), a->in);
    case SURG__RZ_CEIL:
      return clamp(ceil(x), a->in);
    default:
      return clamp(floor(x), a->in);
  }
}

int64_t surg__rz_nearest(const surg__rz_words *is, const surg__rz_axis *a, int64_t i) {
  return index_at(is, a, original(is->coords, a, i));
}

bool surg__rz_unclear(const surg__rz_words *is, const surg__rz_axis *a) {
  for (int64_t i = 0; i < a->out; ++i) {
    const double x = original(is->coords, a, i), single = original_single(is->coords, a, i);
    const double margin = 0x1p-20 * (1 + fabs(x)); /* of a few operations in float */
    if (index_at(is, a, x) != index_at(is, a, single)) return true;
    if (x != single && index_at(is, a, x - margin) != index_at(is, a, x + margin)) return true;
  }
  return false;
}

#define COMPARED_MOST 65536 /* elements of an axis that are compared, at most */

/* A coordinate within the input: those of weighted elements outside count as the nearest inside. */
static double inside(const surg__rz_words *is, const surg__rz_axis *a, int64_t i) {
  const double x = (double)original_single(is->coords, a, i);
  return !(x > 0) ? 0 : fmin(x, (double)(a->in - 1));
}

surg__rz_equality surg__rz_compare(const surg__rz_words *x, const surg__rz_axis *a,
                                   const surg__rz_words *y, const surg__rz_axis *b) {
  const double near = 0x1p-20 * (double)(a->in + 1);
  if (a->out != b->out || x->mode != y->mode) return SURG__RZ_UNEQUAL;
  if (a->out > COMPARED_MOST) return SURG__RZ_UNCLEAR;
  if ((x->antialias != y->antialias && a->out < a->in) || x->mode == SURG__RZ_CUBIC)
    return SURG__RZ_UNEQUAL;
  if (x->mode == SURG__RZ_NEAREST && (surg__rz_unclear(x, a) || surg__rz_unclear(y, b)))
    return SURG__RZ_UNCLEAR;
  for (int64_t i = 0; i < a->out; ++i)
    if (x->mode == SURG__RZ_NEAREST ? surg__rz_nearest(x, a, i) != surg__rz_nearest(y, b, i)
                                    : fabs(inside(x, a, i) - inside(y, b, i)) > near)
      return SURG__RZ_UNEQUAL;
  return SURG__RZ_EQUAL;
}

bool surg__rz_moves(const surg__rz_words *is, const surg__rz_axis *a) {
  const bool region = is->coords == SURG__RZ_CROP && !(a->start == 0 && a->end == 1);
  if (a->out != a->in || (a->scale == 1 && !region)) return false;
  if (is->mode != SURG__RZ_NEAREST) return true;
  for (int64_t i = 0; i < a->out; ++i)
    if (surg__rz_nearest(is, a, i) != i) return true;
  return false;
}

static double weight(const resize *r, double x) {
  double d = fabs(x), a = r->is.cubic_a;
  if (r->is.mode == SURG__RZ_LINEAR) return d < 1 ? 1 - d : 0;
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

/* The `n` input elements from `first` on that contribute to an output element, with their
 * weights. */
typedef struct filter {
  int64_t first;
  int64_t n;
  double *weights;
  bool outside;
} filter;

static double squeeze_of(const resize *r, const axis_plan *a) {
  return r->is.antialias && a->scale < 1 ? a->scale : 1;
}

/* The number of contributing elements on each side. */
static int64_t reach(const resize *r, const axis_plan *a) {
  return (int64_t)ceil((r->is.mode == SURG__RZ_LINEAR ? 1 : 2) / squeeze_of(r, a));
}

static void find_filter(const resize *r, const axis_plan *a, int64_t i, filter *f) {
  double x = (double)original_single(r->is.coords, a, i), squeeze = squeeze_of(r, a), sum = 0;
  double base = ceil(x) - 1, ratio = x - base;
  int64_t side = reach(r, a);
  f->n = 0;
  f->outside = beside(&r->is, a, x);
  if (f->outside) return;
  f->n = 2 * side;
  f->first = (int64_t)base + 1 - side;
  for (int64_t j = 0; j < f->n; ++j) {
    int64_t at = f->first + j;
    bool out = at < 0 || at >= a->in;
    double w = weight(r, ((double)(1 - side + j) - ratio) * squeeze);
    f->weights[j] = r->is.exclude_outside && out ? 0 : w;
    sum += f->weights[j];
  }
  bool rescale = (r->is.exclude_outside || r->is.antialias) && sum != 0;
  for (int64_t j = 0; rescale && j < f->n; ++j) f->weights[j] /= sum;
}

/* --- copying and summing --- */

static surg__kstatus resize_nearest(resize *r, const int64_t *dims, uint32_t rank) {
  surg_kctx *k = r->k;
  const surg__array *x = &k->in[0], *o = &k->out[0];
  size_t size = surg__dtype_unpacked(x->dtype);
  int64_t dense[SURG_LIMIT_RANK], index[SURG_LIMIT_RANK] = {0};
  int64_t *maps[SURG_LIMIT_RANK];
  surg__dense_strides(x->dims, rank, dense);
  for (uint32_t d = 0; d < rank; ++d) {
    maps[d] = surg__k_scratch(k, (size_t)dims[d], sizeof *maps[d]);
    if (!maps[d]) return SURG__K_NOMEM;
    for (int64_t i = 0; i < dims[d]; ++i) {
      int64_t from = r->axes[d].fixed ? i : surg__rz_nearest(&r->is, &r->axes[d], i);
      if (from < 0 && !surg__is_real(x->dtype)) return surg__k_cannot(k, "outside the input");
      maps[d][i] = from < 0 ? -1 : from * dense[d];
    }
  }
  for (uint64_t to = 0; to < o->count; ++to) {
    int64_t at = 0;
    for (uint32_t d = 0; d < rank && at >= 0; ++d) {
      int64_t step = maps[d][index[d]];
      at = step < 0 ? -1 : at + step;
    }
    if (at < 0) {
      surg__store_f64(o->dtype, o->data, to, r->is.outside);
    } else {
      memcpy((char *)o->data + to * size, (const char *)x->data + (size_t)at * size, size);
    }
    for (uint32_t d = rank; d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
  return SURG__K_OK;
}

/* Resizes one axis: `data` of shape [outer][in][inner] to a new array [outer][out][inner]. */
static surg__kstatus resize_axis(resize *r, const axis_plan *a, uint64_t outer, uint64_t inner,
                                 const double **data) {
  surg_kctx *k = r->k;
  uint64_t count, work;
  filter f = {0};
  if (!surg__mul_u64(outer, (uint64_t)a->out, &count) || !surg__mul_u64(count, inner, &count) ||
      !(reach(r, a) < 1ll << 40) || !surg__mul_u64(count, 2 * (uint64_t)reach(r, a), &work)) {
    return SURG__K_BUDGET;
  }
  SURG__K_TRY(surg__k_work(k, work));
  double *out = surg__k_scratch(k, (size_t)count, sizeof *out);
  f.weights = surg__k_scratch(k, (size_t)(2 * reach(r, a)), sizeof *f.weights);
  if (!out || !f.weights) return SURG__K_NOMEM;
  for (int64_t i = 0; i < a->out; ++i) {
    find_filter(r, a, i, &f);
    for (uint64_t p = 0; p < outer * inner; ++p) {
      uint64_t row = p / inner, column = p % inner;
      double sum = 0;
      for (int64_t j = 0; j < f.n; ++j) {
        int64_t at = f.first + j < 0 ? 0 : f.first + j >= a->in ? a->in - 1 : f.first + j;
        uint64_t from = (row * (uint64_t)a->in + (uint64_t)at) * inner + column;
        if (f.weights[j] != 0) sum += f.weights[j] * (*data)[from];
      }
      const uint64_t to = (row * (uint64_t)a->out + (uint64_t)i) * inner + column;
      out[to] = f.outside ? r->is.outside : sum;
    }
  }
  *data = out;
  return SURG__K_OK;
}

/* Resizes the axes from the last to the first. */
static surg__kstatus resize_smooth(resize *r, uint32_t rank) {
  surg_kctx *k = r->k;
  const surg__array *x = &k->in[0], *o = &k->out[0];
  if (!surg__is_real(x->dtype)) return surg__k_cannot(k, "interpolating integers");
  const double *data = surg__k_widen(k, x);
  if (!data) return SURG__K_NOMEM;
  uint64_t inner = 1, outer = x->count;
  for (uint32_t d = rank; d-- > 0;) {
    const axis_plan *a = &r->axes[d];
    outer /= (uint64_t)a->in;
    if (!a->fixed) SURG__K_TRY(resize_axis(r, a, outer, inner, &data));
    inner *= (uint64_t)a->out;
  }
  for (uint64_t i = 0; i < o->count; ++i) surg__store_f64(o->dtype, o->data, i, data[i]);
  return SURG__K_OK;
}

/* Reports what runtimes compute differently: coordinates in float, and a copy where the shape
 * stays. */
static surg__kstatus dispute(resize *r, uint32_t rank) {
  bool same = true, moves = false;
  for (uint32_t d = 0; d < rank; ++d) {
    const axis_plan *a = &r->axes[d];
    if (r->is.mode == SURG__RZ_NEAREST && !a->fixed && surg__rz_unclear(&r->is, a))
      SURG__K_TRY(surg__k_disputed(r->k, "an element chosen by the precision of coordinates"));
    if (a->out == a->in && a->scale == 1 && !a->fixed)
      SURG__K_TRY(surg__k_disputed(r->k, "a region of an axis whose size stays"));
    same = same && a->out == a->in;
    const bool moved = !a->fixed && surg__rz_moves(&r->is, a);
    if (moved && r->is.antialias)
      SURG__K_TRY(surg__k_disputed(r->k, "an axis whose size stays, with antialias"));
    moves = moves || moved;
  }
  return same && moves ? surg__k_disputed(r->k, "a result of the shape of the input") : SURG__K_OK;
}

surg__kstatus surg__k_resize(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  int64_t dims[SURG_LIMIT_RANK];
  if (!k->wanted[0]) return SURG__K_OK;
  resize *r = surg__arena_zalloc(k->arena, sizeof *r);
  if (!r) return SURG__K_NOMEM;
  r->k = k;
  SURG__K_TRY(read_modes(r));
  SURG__K_TRY(read_sizes(r));
  for (uint32_t d = 0; d < x->rank; ++d) {
    axis_plan *a = &r->axes[d];
    if (k->op == SURG_OP_Upsample && a->scale < 1) {
      return surg__k_cannot(k, "an Upsample that makes its input smaller");
    }
    a->shrinks = k->since < 11 && a->scale < 1;
    if (a->shrinks) SURG__K_TRY(surg__k_disputed(k, "shrinking before opset 11"));
    bool whole = r->is.coords != SURG__RZ_CROP || (a->start == 0 && a->end == 1);
    a->fixed = a->scale == 1 && a->out == a->in && whole;
    dims[d] = a->out;
  }
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, dims, x->rank));
  if (k->out[0].count == 0) return SURG__K_OK;
  if (x->count == 0) return surg__k_cannot(k, "resizing nothing");
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  SURG__K_TRY(dispute(r, x->rank));
  if (r->is.mode == SURG__RZ_NEAREST) return resize_nearest(r, dims, x->rank);
  return resize_smooth(r, x->rank);
}
