/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign and MaxRoiPool. Region coordinates are computed in the type of the input (float for
 * 16-bit types), with the same steps as in runtimes: the number of samples, and whether one is
 * outside, depend on the last bit. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"

typedef struct regions {
  surg_kctx *k;
  int dtype;
  uint64_t channels;
  int64_t height, width, pooled_h, pooled_w;
  double scale;
  bool half_pixel, largest;
  int64_t ratio;
  const double *x;
} regions;

/* v rounded to the type of the computation. One operation on such values in double, rounded
 * again, gives the same result as in float. */
static double in_type(const regions *r, double v) {
  return r->dtype == SURG_DOUBLE ? v : (double)(float)v;
}

/* --- RoiAlign --- */

/* A region along one axis, divided into bins. */
typedef struct extent {
  double start, bin;
  int64_t samples;
} extent;

static bool find_extent(const regions *r, double from, double to, int64_t pooled, extent *e) {
  double shift = r->half_pixel ? 0.5 : 0;
  e->start = in_type(r, in_type(r, from * r->scale) - shift);
  double size = in_type(r, in_type(r, in_type(r, to * r->scale) - shift) - e->start);
  if (!r->half_pixel && size < 1) size = 1;
  e->bin = in_type(r, size / (double)pooled);
  double samples = r->ratio > 0 ? (double)r->ratio : ceil(e->bin);
  if (!isfinite(e->start) || !isfinite(e->bin) || !(samples <= SURG_LIMIT_ROI_SAMPLES))
    return false;
  e->samples = samples > 0 ? (int64_t)samples : 0;
  return true;
}

/* Finds the two elements around sample i of a bin along an axis of n elements, and the weight of
 * the second one in *part. False: the sample is outside. */
static bool neighbours(const regions *r, const extent *e, int64_t bin, int64_t i, int64_t n,
                       int64_t *low, int64_t *high, double *part) {
  double within = in_type(r, in_type(r, ((double)i + 0.5) * e->bin) / (double)e->samples);
  double x = in_type(r, in_type(r, e->start + in_type(r, (double)bin * e->bin)) + within);
  if (x < -1 || x > (double)n) return false;
  if (x < 0) x = 0;
  *low = (int64_t)x;
  *part = x - (double)*low;
  *high = *low + 1;
  if (*low >= n - 1) {
    *low = *high = n - 1;
    *part = 0;
  }
  return true;
}

/* The value of one sample: the weighted sum of its four corners, or the largest weighted corner. */
static double sample(const regions *r, const double *plane, const extent *ey, const extent *ex,
                     const int64_t *bin, int64_t iy, int64_t ix) {
  int64_t y[2], x[2];
  double py, px, v = 0;
  if (!neighbours(r, ey, bin[0], iy, r->height, &y[0], &y[1], &py) ||
      !neighbours(r, ex, bin[1], ix, r->width, &x[0], &x[1], &px)) {
    return r->largest ? 0 * plane[0] : 0;
  }
  for (int c = 0; c < 4; ++c) {
    double w = (c & 2 ? py : 1 - py) * (c & 1 ? px : 1 - px);
    double corner = w * plane[y[c >> 1] * r->width + x[c & 1]];
    v = !r->largest ? v + corner : c == 0 || corner > v ? corner : v;
  }
  return v;
}

static double pool_bin(const regions *r, const double *plane, const extent *ey, const extent *ex,
                       const int64_t *bin) {
  double v = 0;
  for (int64_t iy = 0; iy < ey->samples; ++iy) {
    for (int64_t ix = 0; ix < ex->samples; ++ix) {
      double s = sample(r, plane, ey, ex, bin, iy, ix);
      v = !r->largest ? v + s : (iy == 0 && ix == 0) || s > v ? s : v;
    }
  }
  int64_t count = ey->samples * ex->samples;
  return r->largest || count == 0 ? v : v / (double)count;
}

static surg__kstatus align(const regions *r, uint64_t roi, uint64_t batch) {
  surg_kctx *k = r->k;
  extent ey, ex;
  double box[4];
  for (uint64_t i = 0; i < 4; ++i) box[i] = surg__real_at(&k->in[1], roi * 4 + i);
  if (!find_extent(r, box[1], box[3], r->pooled_h, &ey) ||
      !find_extent(r, box[0], box[2], r->pooled_w, &ex)) {
    return surg__k_cannot(k, "a region that is not finite, or too large");
  }
  uint64_t bins = (uint64_t)(r->pooled_h * r->pooled_w);
  uint64_t counts[] = {r->channels, bins, (uint64_t)ey.samples, (uint64_t)ex.samples, 4};
  SURG__K_TRY(surg__k_work_product(k, counts, SURG_COUNT(counts)));
  for (uint64_t c = 0; c < r->channels; ++c) {
    const double *plane =
        r->x + (batch * r->channels + c) * (uint64_t)r->height * (uint64_t)r->width;
    for (uint64_t b = 0; b < bins; ++b) {
      int64_t bin[2] = {(int64_t)b / r->pooled_w, (int64_t)b % r->pooled_w};
      surg__real_put(&k->out[0], (roi * r->channels + c) * bins + b,
                     pool_bin(r, plane, &ey, &ex, bin));
    }
  }
  return SURG__K_OK;
}

/* Whether any element is NaN; then the maximum is not defined. */
static bool any_nan(const surg__array *a) {
  for (uint64_t i = 0; i < a->count; ++i) {
    if (isnan(surg__real_at(a, i))) return true;
  }
  return false;
}

static surg__kstatus start(surg_kctx *k, regions *r, int64_t columns) {
  const surg__array *x = &k->in[0], *rois = &k->in[1];
  if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != columns) {
    return surg__k_invalid(k, "the input or the regions have another shape");
  }
  if (r->pooled_h < 1 || r->pooled_w < 1) return surg__k_invalid(k, "a pooled size below one");
  r->k = k;
  r->dtype = x->dtype;
  r->channels = (uint64_t)x->dims[1];
  r->height = x->dims[2];
  r->width = x->dims[3];
  r->scale = surg_node_float(k->node, "spatial_scale", 1);
  const int64_t dims[4] = {rois->dims[0], x->dims[1], r->pooled_h, r->pooled_w};
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, dims, 4));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  if (k->out[0].count == 0) return SURG__K_OK;
  if (x->count == 0) return surg__k_cannot(k, "regions of nothing");
  SURG__K_TRY(surg__k_work(k, x->count));
  if (r->largest && any_nan(x)) return surg__k_cannot(k, "the largest of NaN");
  r->x = surg__k_widen(k, x);
  return r->x ? SURG__K_OK : SURG__K_NOMEM;
}

surg__kstatus surg__k_roi_align(surg_kctx *k) {
  static const char *const modes[] = {"avg", "max"};
  static const char *const coords[] = {"output_half_pixel", "half_pixel"};
  regions r = {.pooled_h = surg_node_int(k->node, "output_height", 1),
               .pooled_w = surg_node_int(k->node, "output_width", 1),
               .ratio = surg_node_int(k->node, "sampling_ratio", 0)};
  int mode = surg__k_word(k, "mode", "avg", modes, 2);
  int shift = k->since < 16
                  ? 0
                  : surg__k_word(k, "coordinate_transformation_mode", "half_pixel", coords, 2);
  if (!k->wanted[0]) return SURG__K_OK;
  if (mode == 2 || shift == 2) return surg__k_invalid(k, "an unknown mode");
  if (r.ratio > SURG_LIMIT_ROI_SAMPLES) return SURG__K_BUDGET;
  r.largest = mode == 1;
  r.half_pixel = shift == 1;
  const surg__array *batches = &k->in[2];
  if (batches->rank != 1 || k->in[1].rank < 1 || batches->dims[0] != k->in[1].dims[0]) {
    return surg__k_invalid(k, "not one batch index a region");
  }
  SURG__K_TRY(start(k, &r, 4));
  for (uint64_t i = 0; r.x && i < batches->count; ++i) {
    int64_t batch = ((const int64_t *)batches->data)[i];
    if (batch < 0 || batch >= k->in[0].dims[0]) {
      return surg__k_invalid(k, "a batch index is out of range");
    }
    SURG__K_TRY(align(&r, i, (uint64_t)batch));
  }
  return SURG__K_OK;
}

/* --- MaxRoiPool: integer coordinates, with the bins of Caffe --- */

/* The elements [*low, *high) of bin i of `pooled`, for a region from `first` to `last` on an
 * axis of n elements. */
static void bin_of(const regions *r, double first, double last, int64_t i, int64_t pooled,
                   int64_t n, int64_t *low, int64_t *high) {
  double size = last - first + 1 < 1 ? 1 : last - first + 1;
  double bin = in_type(r, size / (double)pooled), limit = (double)n;
  double from = floor(in_type(r, (double)i * bin)) + first;
  double to = ceil(in_type(r, (double)(i + 1) * bin)) + first;
  *low = from < 0 ? 0 : from > limit ? n : (int64_t)from;
  *high = to < 0 ? 0 : to > limit ? n : (int64_t)to;
}

static surg__kstatus pool_region(const regions *r, uint64_t roi) {
  surg_kctx *k = r->k;
  double box[5];
  for (uint64_t i = 0; i < 5; ++i) {
    box[i] = surg__real_at(&k->in[1], roi * 5 + i);
    if (i > 0) box[i] = round(in_type(r, box[i] * r->scale));
    if (!isfinite(box[i])) return surg__k_cannot(k, "a region that is not finite");
  }
  if (!(box[0] >= 0 && box[0] < (double)k->in[0].dims[0]) || box[0] != floor(box[0])) {
    return surg__k_invalid(k, "a batch index is out of range");
  }
  uint64_t bins = (uint64_t)(r->pooled_h * r->pooled_w);
  for (uint64_t i = 0; i < r->channels * bins; ++i) {
    uint64_t plane = (uint64_t)box[0] * r->channels + i / bins, b = i % bins;
    const double *p = r->x + plane * (uint64_t)r->height * (uint64_t)r->width;
    int64_t y0, y1, x0, x1;
    bin_of(r, box[2], box[4], (int64_t)b / r->pooled_w, r->pooled_h, r->height, &y0, &y1);
    bin_of(r, box[1], box[3], (int64_t)b % r->pooled_w, r->pooled_w, r->width, &x0, &x1);
    bool empty = y1 <= y0 || x1 <= x0;
    double most = empty ? 0 : -INFINITY;
    if (!empty) SURG__K_TRY(surg__k_work(k, (uint64_t)(y1 - y0) * (uint64_t)(x1 - x0)));
    for (int64_t y = y0; !empty && y < y1; ++y) {
      for (int64_t x = x0; x < x1; ++x) {
        if (p[y * r->width + x] > most) most = p[y * r->width + x];
      }
    }
    surg__real_put(&k->out[0], roi * r->channels * bins + i, most);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_max_roi_pool(surg_kctx *k) {
  size_t n = 0;
  const int64_t *pooled = surg_node_ints(k->node, "pooled_shape", &n);
  if (!k->wanted[0]) return SURG__K_OK;
  if (!pooled || n != 2) return surg__k_invalid(k, "pooled_shape has not two entries");
  regions r = {.pooled_h = pooled[0], .pooled_w = pooled[1], .largest = true};
  SURG__K_TRY(start(k, &r, 5));
  for (uint64_t i = 0; r.x && i < (uint64_t)k->in[1].dims[0]; ++i) {
    SURG__K_TRY(pool_region(&r, i));
  }
  return SURG__K_OK;
}
