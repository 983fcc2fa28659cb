/* SPDX-License-Identifier: Apache-2.0 */
/* AffineGrid and GridSample. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/image/sample.h"

/* --- AffineGrid --- */

/* The normalized coordinate of element i of n, in [-1, 1]. */
static double normal(int64_t i, int64_t n, bool corners) {
  if (corners) return n > 1 ? 2 * (double)i / (double)(n - 1) - 1 : -1;
  return (2 * (double)i + 1) / (double)n - 1;
}

static surg__kstatus read_grid(surg_kctx *k, uint32_t *n, int64_t *dims, bool corners) {
  const surg__array *theta = &k->in[0], *size = &k->in[1];
  uint64_t count = 0;
  const int64_t *sizes = surg__k_ints(k, 1, &count);
  if (!sizes) return SURG__K_NOMEM;
  if (theta->rank != 3 || size->rank != 1 || (count != 4 && count != 5)) {
    return surg__k_invalid(k, "theta or size has another shape");
  }
  *n = (uint32_t)count - 2;
  if (theta->dims[0] != sizes[0] || theta->dims[1] != *n || theta->dims[2] != *n + 1) {
    return surg__k_invalid(k, "theta does not fit the size");
  }
  dims[0] = sizes[0];
  for (uint32_t d = 0; d < *n; ++d) {
    dims[d + 1] = sizes[d + 2];
    if (corners && dims[d + 1] == 1) {
      SURG__K_TRY(surg__k_disputed(k, "align_corners on an axis of one element"));
    }
  }
  dims[*n + 1] = *n;
  return SURG__K_OK;
}

surg__kstatus surg__k_affine_grid(surg_kctx *k) {
  const surg__array *theta = &k->in[0], *o = &k->out[0];
  bool corners = surg_node_int(k->node, "align_corners", 0) != 0;
  int64_t dims[5];
  uint32_t n = 0;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(read_grid(k, &n, dims, corners));
  SURG__K_TRY(surg__k_out(k, 0, theta->dtype, dims, n + 2));
  SURG__K_TRY(surg__k_work_product(k, (uint64_t[]){o->count, n + 1}, 2));
  for (uint64_t i = 0; i < o->count; ++i) {
    uint64_t row = i % n, at = i / n;
    double point[4] = {0}, sum = 0;
    /* The first entry of a theta row is the factor of x, the coordinate along the last axis. */
    for (uint32_t d = n; d-- > 0;) {
      point[n - 1 - d] = normal((int64_t)(at % (uint64_t)dims[d + 1]), dims[d + 1], corners);
      at /= (uint64_t)dims[d + 1];
    }
    point[n] = 1;
    for (uint32_t d = 0; d <= n; ++d) {
      sum += surg__real_at(theta, (at * n + row) * (n + 1) + d) * point[d];
    }
    surg__real_put(o, i, sum);
  }
  return SURG__K_OK;
}

/* --- GridSample --- */

typedef struct sampler {
  surg_kctx *k;
  uint32_t n; /* number of spatial axes */
  const int64_t *in;
  surg__interpolation mode;
  surg__edge edge;
  bool corners;
  uint64_t channels, plane, points; /* elements per channel; output points per batch entry */
  const double *wide;               /* X as double; NULL if elements are only copied */
  surg__taps *taps;
} sampler;

/* Converts a normalized grid coordinate to an element coordinate. The result is rounded to the
 * type of the grid (float for 16-bit types), as in runtimes. */
static double scaled(const sampler *s, const surg__array *grid, double v, int64_t n) {
  double length = (double)n;
  v = s->corners ? (v + 1) / 2 * (length - 1) : ((v + 1) * length - 1) / 2;
  return grid->dtype == SURG_DOUBLE ? v : (double)(float)v;
}

static surg__kstatus find_taps(const sampler *s, uint64_t point) {
  const surg__array *grid = &s->k->in[1];
  for (uint32_t d = 0; d < s->n; ++d) {
    int64_t n = s->in[d];
    double v = surg__real_at(grid, point * s->n + (s->n - 1 - d));
    double low = s->corners ? 0 : -0.5, high = s->corners ? (double)(n - 1) : (double)n - 0.5;
    if (!isfinite(v)) {
      SURG__K_TRY(surg__k_disputed(s->k, "a coordinate that is not finite"));
      v = -1; /* as in ONNX Runtime and PyTorch */
    }
    double x = scaled(s, grid, v, n);
    if (!isfinite(x)) return surg__k_cannot(s->k, "a coordinate that is not finite");
    surg__taps_find(&s->taps[d], s->mode, s->edge, x, n, low, high);
  }
  return SURG__K_OK;
}

/* Index of the element that mode nearest selects, or -1 if it is outside. */
static int64_t pointed(const sampler *s) {
  int64_t at = 0;
  for (uint32_t d = 0; d < s->n; ++d) {
    if (s->taps[d].at[0] < 0) return -1;
    at = at * s->in[d] + s->taps[d].at[0];
  }
  return at;
}

static surg__kstatus sample_point(const sampler *s, uint64_t b, uint64_t point) {
  const surg__array *x = &s->k->in[0], *o = &s->k->out[0];
  size_t size = surg__dtype_unpacked(x->dtype);
  SURG__K_TRY(find_taps(s, b * s->points + point));
  int64_t from = s->mode == SURG__NEAREST ? pointed(s) : -1;
  if (s->mode == SURG__NEAREST && from < 0 && x->dtype == SURG_STRING) {
    return surg__k_cannot(s->k, "text from outside the input");
  }
  for (uint64_t c = b * s->channels; c < (b + 1) * s->channels; ++c) {
    uint64_t to = c * s->points + point;
    char *at = (char *)o->data + to * size;
    if (s->mode != SURG__NEAREST) {
      surg__real_put(o, to, surg__taps_sum(s->taps, s->in, s->n, s->wide + c * s->plane));
    } else if (from < 0) {
      memset(at, 0, size);
    } else {
      memcpy(at, (const char *)x->data + (c * s->plane + (uint64_t)from) * size, size);
    }
  }
  return SURG__K_OK;
}

static surg__kstatus read_sampler(sampler *s, int64_t *dims) {
  static const char *const old_modes[] = {"nearest", "bilinear", "bicubic"};
  static const char *const modes[] = {"nearest", "linear", "cubic"};
  static const char *const edges[] = {"zeros", "border", "reflection"};
  surg_kctx *k = s->k;
  const surg__array *x = &k->in[0], *grid = &k->in[1];
  bool old = k->since < 20;
  int mode = surg__k_word(k, "mode", old ? "bilinear" : "linear", old ? old_modes : modes, 3);
  int edge = surg__k_word(k, "padding_mode", "zeros", edges, 3);
  if (mode == 3 || edge == 3) return surg__k_invalid(k, "an unknown mode");
  s->mode = (surg__interpolation)mode;
  s->edge = (surg__edge)edge;
  s->corners = surg_node_int(k->node, "align_corners", 0) != 0;
  if (x->rank < 3 || grid->rank != x->rank || (old && x->rank != 4) ||
      grid->dims[0] != x->dims[0] || grid->dims[grid->rank - 1] != x->rank - 2) {
    return surg__k_invalid(k, "the grid does not fit the input");
  }
  s->n = x->rank - 2;
  s->in = x->dims + 2;
  s->channels = (uint64_t)x->dims[1];
  dims[0] = x->dims[0];
  dims[1] = x->dims[1];
  memcpy(dims + 2, grid->dims + 1, s->n * sizeof *dims);
  return SURG__K_OK;
}

surg__kstatus surg__k_grid_sample(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  sampler s = {.k = k};
  int64_t dims[SURG_LIMIT_RANK];
  uint64_t each = 1;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(read_sampler(&s, dims));
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, dims, x->rank));
  if (o->count == 0) return SURG__K_OK;
  if (x->count == 0) return surg__k_cannot(k, "samples of nothing");
  if (s.mode != SURG__NEAREST && !surg__is_real(x->dtype)) {
    return surg__k_cannot(k, "interpolation of values that are not real numbers");
  }
  for (uint32_t d = 0; d < s.n; ++d) {
    if (!surg__mul_u64(each, surg__taps_of(s.mode), &each)) return SURG__K_BUDGET;
  }
  SURG__K_TRY(surg__k_work_product(k, (uint64_t[]){o->count, each, s.n}, 3));
  s.plane = x->count / (uint64_t)(x->dims[0] * x->dims[1]);
  s.points = o->count / (uint64_t)(x->dims[0] * x->dims[1]);
  s.taps = surg__k_scratch(k, s.n, sizeof *s.taps);
  if (s.mode != SURG__NEAREST) s.wide = surg__k_widen(k, x);
  if (!s.taps || (s.mode != SURG__NEAREST && !s.wide)) return SURG__K_NOMEM;
  for (uint64_t b = 0; b < (uint64_t)x->dims[0]; ++b) {
    for (uint64_t p = 0; p < s.points; ++p) SURG__K_TRY(sample_point(&s, b, p));
  }
  return SURG__K_OK;
}
