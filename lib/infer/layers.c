/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of normalization, recurrent layers and resampling. */
#include "infer/rules.h"

#include <math.h>

void surg__infer_batch_norm(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg__infer_put_like(c, 0, surg__infer_dtype(c, 0), &x);
  if (c->since < 14) return;
  for (size_t k = 1; k < 3; k++) {
    const surg__fact running = surg__infer_in(c, k + 2);
    surg__infer_put_like(c, k, surg__infer_dtype(c, k), &running);
  }
}

void surg__infer_layer_norm(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg_dim dims[SURG_LIMIT_RANK];
  size_t axis;
  surg__infer_put_like(c, 0, surg__infer_dtype(c, 0), &x);
  if (c->op != SURG_OP_LayerNormalization || !x.ranked) return;
  if (!surg__infer_axis(c, surg_node_int(c->n, "axis", -1), x.rank, &axis)) return;
  const int64_t dtype = surg_node_int(c->n, "stash_type", SURG_FLOAT);
  if (dtype <= 0 || dtype >= SURG_DTYPE_COUNT) return;
  for (size_t i = 0; i < x.rank; i++) dims[i] = i < axis ? x.dims[i] : surg__dim(1);
  surg__infer_put(c, 1, (int)dtype, dims, x.rank);
  surg__infer_put(c, 2, (int)dtype, dims, x.rank);
}

/* The number of directions of a recurrent layer; -1: the attribute is invalid. */
static int directions(const surg__infer *c) {
  const surg_str s = surg_node_string(c->n, "direction", "forward");
  if (s.n == 13 && !memcmp(s.p, "bidirectional", 13)) return 2;
  /* "foward" is the default value in the schemas of early versions. */
  if ((s.n == 7 && (!memcmp(s.p, "forward", 7) || !memcmp(s.p, "reverse", 7))) ||
      (s.n == 6 && !memcmp(s.p, "foward", 6)))
    return 1;
  return -1;
}

void surg__infer_recurrent(surg__infer *c) {
  surg__fact x, r;
  const bool has_x = surg__infer_ranked(c, 0, &x), has_r = surg__infer_ranked(c, 2, &r);
  const bool batch_first = c->since >= 14 && surg_node_int(c->n, "layout", 0) != 0;
  const int64_t wanted = surg_node_int(c->n, "hidden_size", -1);
  const int dtype = surg__infer_dtype(c, 0);
  if ((has_x && x.rank != 3) || (has_r && r.rank != 3)) {
    surg__infer_bad(c);
    return;
  }
  const surg_dim unknown = surg__dim_unknown();
  const surg_dim steps = has_x ? x.dims[batch_first] : unknown;
  const surg_dim batch = has_x ? x.dims[!batch_first] : unknown;
  surg_dim hidden = wanted > 0 ? surg__dim(wanted) : unknown;
  if (has_r && !surg__dim_unify(hidden, r.dims[2], &hidden)) {
    surg__infer_bad(c);
    return;
  }
  const surg_dim dirs = surg__dim(directions(c));
  const surg_dim y[2][4] = {{steps, dirs, batch, hidden}, {batch, steps, dirs, hidden}};
  const surg_dim last[2][3] = {{dirs, batch, hidden}, {batch, dirs, hidden}};
  surg__infer_put(c, 0, dtype, y[batch_first], 4);
  surg__infer_put(c, 1, dtype, last[batch_first], 3);
  if (c->op == SURG_OP_LSTM) surg__infer_put(c, 2, dtype, last[batch_first], 3);
}

/* --- Resize, Upsample --- */

/* dim * scale, rounded down. Unknown where float and double arithmetic differ. Assumes that symbols
 * are small enough for an exact product with a short fraction. */
static surg_dim scaled(surg_dim d, float scale) {
  const int64_t most = 1024; /* the largest denominator of a scale, and its largest numerator */
  if (scale == 1.0f) return d;
  if (!(scale > 0)) return surg__dim_unknown();
  if (!surg__dim_known(d)) {
    int64_t over = 1;
    while (over < most && (double)scale * (double)over != floor((double)scale * (double)over))
      over *= 2;
    const double times = (double)scale * (double)over;
    if (times != floor(times) || times > (double)(most * over)) return surg__dim_unknown();
    return surg__dim_over(surg__dim_times(d, (int64_t)times), over);
  }
  assert(d.value >= 0);
  if (d.value > INT32_MAX) return surg__dim_unknown();
  const double wide = floor((double)d.value * (double)scale);
  const float narrow = floorf((float)d.value * scale);
  if (wide != (double)narrow || wide > (double)INT32_MAX) return surg__dim_unknown();
  return surg__dim((int64_t)wide);
}

/* The axes that the entries of scales and sizes refer to; n_axes of them. */
static bool resize_axes(surg__infer *c, size_t rank, size_t *axes, size_t *n_axes) {
  size_t n = 0;
  *n_axes = rank;
  for (size_t i = 0; i < rank; i++) axes[i] = i;
  if (!surg__schema_attr(c->schema, "axes") || !surg_node_attr(c->n, "axes")) return true;
  const int64_t *v = surg_node_ints(c->n, "axes", &n);
  if (!v || n > rank) return false;
  for (size_t i = 0; i < n; i++)
    if (!surg__infer_axis(c, v[i], rank, &axes[i])) return false;
  *n_axes = n;
  assert(n <= rank);
  return true;
}

static bool is_string(const surg__infer *c, const char *attr, const char *value) {
  const surg_str s = surg_node_string(c->n, attr, "");
  return s.n == strlen(value) && !memcmp(s.p, value, s.n);
}

static bool read_scales(surg__infer *c, float *scales, uint32_t *n) {
  if (c->op == SURG_OP_Upsample && c->since < 9) {
    size_t count = 0;
    const surg_attr *a = surg_node_attr(c->n, "scales");
    const float *v = a ? surg_attr_floats(a, &count) : NULL;
    if (!v || count > SURG_LIMIT_RANK) return false;
    memcpy(scales, v, count * sizeof *scales);
    *n = (uint32_t)count;
    return true;
  }
  const size_t input = c->op == SURG_OP_Upsample || c->since < 11 ? 1 : 2;
  return surg__infer_floats(c, input, scales, SURG_LIMIT_RANK, n) && *n > 0;
}

static void resize_by_scales(surg__infer *c, const surg_dim *in, surg_dim *dims, const size_t *axes,
                             size_t n_axes) {
  float scales[SURG_LIMIT_RANK];
  uint32_t n;
  if (is_string(c, "coordinate_transformation_mode", "tf_crop_and_resize")) return;
  if (!read_scales(c, scales, &n) || n != n_axes) return;
  for (uint32_t i = 0; i < n; i++) dims[axes[i]] = scaled(in[axes[i]], scales[i]);
}

/* Output sizes under keep_aspect_ratio_policy: one scale for all axes, the smallest of those that
 * the sizes request, or the largest. */
static void resize_kept(const surg__elem *e, const surg_dim *in, surg_dim *dims, const size_t *axes,
                        uint32_t n, bool largest) {
  double common = 0;
  for (uint32_t i = 0; i < n; i++) {
    const surg_dim d = in[axes[i]];
    if (!e[i].known || e[i].value < 1 || e[i].value > INT32_MAX || d.value < 1 ||
        d.value > INT32_MAX)
      return;
    const double scale = (double)e[i].value / (double)d.value;
    if (!i || (largest ? scale > common : scale < common)) common = scale;
  }
  for (uint32_t i = 0; i < n; i++) {
    const double size = (double)in[axes[i]].value * common;
    const float narrow = (float)in[axes[i]].value * (float)common;
    /* Runtimes multiply in float or in double. */
    if (floor(size + 0.5) == (double)floorf(narrow + 0.5f) && size < (double)INT32_MAX)
      dims[axes[i]] = surg__dim((int64_t)floor(size + 0.5));
  }
}

static void resize_by_sizes(surg__infer *c, const surg_dim *in, surg_dim *dims, const size_t *axes,
                            size_t n_axes) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  bool negative = false;
  const surg__elem *e = surg__infer_elems(c, 3, buf, &n);
  if (!e || n != n_axes) return;
  if (surg__schema_attr(c->schema, "keep_aspect_ratio_policy") &&
      surg_node_attr(c->n, "keep_aspect_ratio_policy") &&
      !is_string(c, "keep_aspect_ratio_policy", "stretch")) {
    const bool larger = is_string(c, "keep_aspect_ratio_policy", "not_smaller");
    if (larger || is_string(c, "keep_aspect_ratio_policy", "not_larger"))
      resize_kept(e, in, dims, axes, n, larger);
    return;
  }
  for (uint32_t i = 0; i < n; i++) dims[axes[i]] = surg__dim_of(e[i], &negative);
}

void surg__infer_resize(surg__infer *c) {
  surg__fact x, sizes;
  surg_dim in[SURG_LIMIT_RANK], dims[SURG_LIMIT_RANK];
  size_t axes[SURG_LIMIT_RANK], n_axes;
  if (!surg__infer_ranked(c, 0, &x) || !resize_axes(c, x.rank, axes, &n_axes)) return;
  const size_t rank = x.rank;
  const int dtype = x.dtype;
  memcpy(in, x.dims, rank * sizeof *in);
  memcpy(dims, x.dims, rank * sizeof *dims);
  for (size_t i = 0; i < n_axes; i++) dims[axes[i]] = surg__dim_unknown();
  const bool by_sizes =
      c->op == SURG_OP_Resize && c->since >= 11 && surg__infer_has(c, 3) &&
      !(surg__infer_ranked(c, 3, &sizes) && sizes.rank == 1 && sizes.dims[0].value == 0);
  if (by_sizes)
    resize_by_sizes(c, in, dims, axes, n_axes);
  else
    resize_by_scales(c, in, dims, axes, n_axes);
  surg__infer_put(c, 0, dtype, dims, rank);
}

void surg__infer_depth_to_space(surg__infer *c) {
  surg__fact x;
  const int64_t b = surg_node_int(c->n, "blocksize", 0);
  if (!surg__infer_ranked(c, 0, &x)) return;
  if (x.rank != 4 || b < 1 || b > INT32_MAX) {
    surg__infer_bad(c);
    return;
  }
  surg_dim dims[4];
  for (int i = 0; i < 4; i++) dims[i] = x.dims[i];
  const bool to_space = c->op == SURG_OP_DepthToSpace;
  for (int i = 1; i < 4 && b > 1; i++) {
    const bool divide = to_space == (i == 1);
    const int64_t by = i == 1 ? b * b : b;
    int64_t v = dims[i].value;
    if (surg__dim_known(dims[i]) && (divide ? v % by != 0 : !surg__mul_i64(v, by, &v))) {
      surg__infer_bad(c);
      return;
    }
    dims[i] = divide ? surg__dim_over(dims[i], by) : surg__dim_times(dims[i], by);
  }
  surg__infer_put(c, 0, x.dtype, dims, 4);
}

void surg__infer_roi_align(surg__infer *c) {
  surg__fact x, rois;
  const bool has_x = surg__infer_ranked(c, 0, &x), has_rois = surg__infer_ranked(c, 1, &rois);
  const int64_t h = surg_node_int(c->n, "output_height", 1);
  const int64_t w = surg_node_int(c->n, "output_width", 1);
  if ((has_x && x.rank != 4) || (has_rois && rois.rank != 2) || h < 0 || w < 0) {
    surg__infer_bad(c);
    return;
  }
  surg_dim count = has_rois ? rois.dims[0] : surg__dim_unknown();
  const surg_dim channels = has_x ? x.dims[1] : surg__dim_unknown();
  surg__fact batch;
  if (surg__infer_ranked(c, 2, &batch) &&
      (batch.rank != 1 || !surg__dim_unify(count, batch.dims[0], &count))) {
    surg__infer_bad(c);
    return;
  }
  const surg_dim dims[4] = {count, channels, surg__dim(h), surg__dim(w)};
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, 4);
}

void surg__infer_grid_sample(surg__infer *c) {
  surg__fact x, grid;
  surg_dim dims[SURG_LIMIT_RANK];
  if (!surg__infer_ranked(c, 0, &x) || !surg__infer_ranked(c, 1, &grid)) return;
  if (x.rank < 3 || grid.rank != x.rank) {
    surg__infer_bad(c);
    return;
  }
  dims[0] = x.dims[0];
  dims[1] = x.dims[1];
  for (uint32_t i = 2; i < x.rank; i++) dims[i] = grid.dims[i - 1];
  surg__infer_put(c, 0, x.dtype, dims, x.rank);
}
