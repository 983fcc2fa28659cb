/* SPDX-License-Identifier: Apache-2.0 */
/* Col2Im, CenterCropPad, MaxUnpool and Det. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"
#include "eval/nn/window.h"

/* --- Col2Im: adds the windows of an image where they overlap --- */

typedef struct columns {
  surg_kctx *k;
  surg__window w;
  surg__tap *taps;
  uint64_t planes; /* batch size times channels */
} columns;

/* Adds the windows of one plane to `sum`, an array of double for float types, else of uint64_t. */
static void add_plane(const columns *c, uint64_t plane, void *sum) {
  const surg__array *x = &c->k->in[0];
  bool real = surg__is_real(x->dtype);
  uint64_t base = plane * c->w.kernel_count;
  for (uint64_t at = 0; at < c->w.out_count; ++at) {
    uint64_t padded, n = surg__window_at(&c->w, at, c->taps, &padded);
    for (uint64_t i = 0; i < n; ++i) {
      uint64_t from = (base + c->taps[i].kernel) * c->w.out_count + at, to = c->taps[i].in;
      if (real)
        ((double *)sum)[to] += surg__real_at(x, from);
      else
        ((uint64_t *)sum)[to] += surg__load_int(x->dtype, x->data, from);
    }
  }
}

static void put_plane(const columns *c, uint64_t plane, const void *sum) {
  const surg__array *o = &c->k->out[0];
  for (uint64_t i = 0; i < c->w.in_count; ++i) {
    uint64_t to = plane * c->w.in_count + i;
    if (surg__is_real(o->dtype))
      surg__real_put(o, to, ((const double *)sum)[i]);
    else
      surg__store_int(o->dtype, o->data, to, ((const uint64_t *)sum)[i]);
  }
}

static surg__kstatus read_columns(columns *c, int64_t *dims) {
  surg_kctx *k = c->k;
  const surg__array *x = &k->in[0];
  uint64_t n = 0, m = 0;
  const int64_t *image = surg__k_ints(k, 1, &n), *block = surg__k_ints(k, 2, &m);
  if (!surg__is_real(x->dtype) && !surg__is_int(x->dtype)) {
    return surg__k_cannot(k, "sums of values that are not numbers");
  }
  if (x->rank != 3 || n != m || n == 0 || n > SURG_LIMIT_RANK - 2) {
    return surg__k_invalid(k, "the input is not of rank 3, or image and block differ in rank");
  }
  for (uint64_t d = 0; d < n; ++d) {
    if (image[d] < 0) return surg__k_invalid(k, "a size of the image is negative");
  }
  SURG__K_TRY(surg__window_init(k, image, (uint32_t)n, block, &c->w));
  if ((uint64_t)x->dims[2] != c->w.out_count || (uint64_t)x->dims[1] % c->w.kernel_count != 0) {
    return surg__k_invalid(k, "the input has another number of blocks or elements of one");
  }
  for (uint32_t d = 0; n != 2 && d < n; ++d) {
    if (c->w.dilation[d] != 1) {
      SURG__K_TRY(surg__k_disputed(k, "dilations in other than two dimensions"));
    }
  }
  dims[0] = x->dims[0];
  dims[1] = x->dims[1] / (int64_t)c->w.kernel_count;
  memcpy(dims + 2, image, n * sizeof *dims);
  return SURG__K_OK;
}

surg__kstatus surg__k_col2im(surg_kctx *k) {
  columns c = {.k = k};
  int64_t dims[SURG_LIMIT_RANK];
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(read_columns(&c, dims));
  SURG__K_TRY(surg__k_out(k, 0, k->in[0].dtype, dims, c.w.n + 2));
  if (k->out[0].count == 0) return SURG__K_OK;
  c.planes = k->out[0].count / c.w.in_count;
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  uint64_t counts[] = {c.planes, c.w.out_count + 1, c.w.kernel_count};
  SURG__K_TRY(surg__k_work_product(k, counts, SURG_COUNT(counts)));
  SURG__K_TRY(surg__window_taps(k, &c.w, &c.taps));
  void *sum = surg__k_scratch(k, (size_t)c.w.in_count, sizeof(uint64_t));
  if (!sum) return SURG__K_NOMEM;
  for (uint64_t p = 0; p < c.planes; ++p) {
    memset(sum, 0, (size_t)c.w.in_count * sizeof(uint64_t)); /* also sets doubles to 0.0 */
    add_plane(&c, p, sum);
    put_plane(&c, p, sum);
  }
  return SURG__K_OK;
}

/* --- CenterCropPad --- */

/* Reads the output sizes from `shape` for the axes that the attribute `axes` lists. */
static surg__kstatus read_sizes(surg_kctx *k, int64_t *dims) {
  const surg__array *x = &k->in[0];
  uint64_t n = 0;
  size_t listed = 0;
  bool seen[SURG_LIMIT_RANK] = {false};
  const int64_t *shape = surg__k_ints(k, 1, &n);
  const int64_t *axes = surg_node_ints(k->node, "axes", &listed);
  if (!shape) return SURG__K_NOMEM;
  if (k->in[1].rank != 1 || n != (axes ? listed : x->rank)) {
    return surg__k_invalid(k, "not one size an axis");
  }
  for (uint32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  for (uint64_t i = 0; i < n; ++i) {
    uint32_t axis = (uint32_t)i;
    if ((axes && !surg__k_axis(axes[i], x->rank, &axis)) || seen[axis]) {
      return surg__k_invalid(k, "an axis is out of range or repeated");
    }
    seen[axis] = true;
    dims[axis] = shape[i];
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_center_crop_pad(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  int64_t dims[SURG_LIMIT_RANK], common[SURG_LIMIT_RANK];
  int64_t from_steps[SURG_LIMIT_RANK], to_steps[SURG_LIMIT_RANK], from = 0, to = 0;
  bool pads = false;
  surg__loop l;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(read_sizes(k, dims));
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, dims, x->rank));
  SURG__K_TRY(surg__k_work(k, o->count));
  surg__dense_strides(x->dims, x->rank, from_steps);
  surg__dense_strides(dims, x->rank, to_steps);
  for (uint32_t d = 0; d < x->rank; ++d) {
    common[d] = dims[d] < x->dims[d] ? dims[d] : x->dims[d];
    if (dims[d] > common[d]) pads = true;
    from += (x->dims[d] - common[d]) / 2 * from_steps[d];
    to += (dims[d] - common[d]) / 2 * to_steps[d];
  }
  if (o->count == 0) return SURG__K_OK;
  if (pads && x->dtype == SURG_STRING) return surg__k_cannot(k, "padding text");
  size_t size = surg__dtype_unpacked(x->dtype);
  if (pads) memset(o->data, 0, (size_t)o->count * size);
  surg__loop_init(&l, common, x->rank, 2, (const int64_t *const[]){to_steps, from_steps});
  for (; !l.done; surg__loop_next(&l)) {
    /* The inner run is the last axis with more than one element. It may have a step, as it is
     * not always the last axis. */
    for (int64_t i = 0; i < l.inner; ++i) {
      memcpy((char *)o->data + (size_t)(to + l.at[0] + i * l.step[0]) * size,
             (const char *)x->data + (size_t)(from + l.at[1] + i * l.step[1]) * size, size);
    }
  }
  return SURG__K_OK;
}

/* --- MaxUnpool --- */

/* The input sizes of the matching MaxPool, computed from the attributes. */
static surg__kstatus read_unpooled(surg_kctx *k, int64_t *dims) {
  const surg__array *x = &k->in[0];
  int64_t kernel[SURG_LIMIT_RANK], strides[SURG_LIMIT_RANK], pads[2 * SURG_LIMIT_RANK];
  if (x->rank < 2 || k->in[1].rank != x->rank ||
      memcmp(k->in[1].dims, x->dims, x->rank * sizeof *dims) != 0) {
    return surg__k_invalid(k, "input and indices differ in shape, or have no channels");
  }
  uint32_t n = x->rank - 2;
  if (!surg__window_ints(k, "kernel_shape", n, 0, 1, kernel) ||
      !surg__window_ints(k, "strides", n, 1, 1, strides) ||
      !surg__window_ints(k, "pads", 2 * n, 0, 0, pads)) {
    return surg__k_invalid(k, "kernel_shape, strides or pads do not fit the input");
  }
  memcpy(dims, x->dims, 2 * sizeof *dims);
  for (uint32_t d = 0; d < n; ++d) {
    int64_t size;
    if (!surg__mul_i64(x->dims[d + 2] - 1, strides[d], &size) || size > INT64_MAX / 2) {
      return SURG__K_BUDGET;
    }
    dims[d + 2] = size + kernel[d] - pads[d] - pads[n + d];
    if (kernel[d] == 0 || dims[d + 2] < 0) {
      return surg__k_invalid(k, "no kernel_shape, or a negative size");
    }
  }
  return SURG__K_OK;
}

/* Reads output_shape, which must be at least as large in each dimension. A larger one adds zeros
 * at the end of the axes. */
static surg__kstatus read_asked(surg_kctx *k, const int64_t *dims, int64_t *asked) {
  uint32_t rank = k->in[0].rank;
  uint64_t n = 0;
  memcpy(asked, dims, rank * sizeof *asked);
  if (!surg__k_has(k, 2)) return SURG__K_OK;
  const int64_t *shape = surg__k_ints(k, 2, &n);
  if (n != rank) return surg__k_invalid(k, "output_shape has another rank");
  for (uint32_t d = 0; d < rank; ++d) {
    if (shape[d] < dims[d]) return surg__k_invalid(k, "output_shape is too small");
    if (shape[d] > dims[d]) {
      SURG__K_TRY(surg__k_disputed(k, "whether indices are those of the larger output_shape"));
    }
    asked[d] = shape[d];
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_max_unpool(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  int64_t dims[SURG_LIMIT_RANK], asked[SURG_LIMIT_RANK];
  uint64_t room;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(read_unpooled(k, dims));
  SURG__K_TRY(read_asked(k, dims, asked));
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, asked, x->rank));
  SURG__K_TRY(surg__k_work(k, o->count));
  SURG__K_TRY(surg__k_work_product(k, (uint64_t[]){x->count, x->rank}, 2));
  if (!surg__dims_product(dims, x->rank, &room)) return SURG__K_BUDGET;
  size_t size = surg__dtype_unpacked(x->dtype);
  memset(o->data, 0, (size_t)o->count * size);
  for (uint64_t i = 0; i < x->count; ++i) {
    int64_t index = ((const int64_t *)k->in[1].data)[i];
    if (index < 0 || (uint64_t)index >= room) {
      return surg__k_invalid(k, "an index is out of range");
    }
    uint64_t rest = (uint64_t)index, to = 0, step = 1;
    for (uint32_t d = x->rank; d-- > 0;) {
      to += rest % (uint64_t)dims[d] * step;
      rest /= (uint64_t)dims[d];
      step *= (uint64_t)asked[d];
    }
    memcpy((char *)o->data + to * size, (const char *)x->data + i * size, size);
  }
  return SURG__K_OK;
}

/* --- Det --- */

/* The determinant of an n x n matrix, by Gaussian elimination with partial pivoting. Overwrites
 * the matrix. */
static double determinant(double *a, uint64_t n) {
  double det = 1;
  for (uint64_t c = 0; c < n; ++c) {
    uint64_t best = c;
    for (uint64_t r = c + 1; r < n; ++r) {
      if (fabs(a[r * n + c]) > fabs(a[best * n + c])) best = r;
    }
    double pivot = a[best * n + c];
    det *= best == c ? pivot : -pivot;
    if (pivot == 0) return 0;
    for (uint64_t j = c; best != c && j < n; ++j) {
      double t = a[c * n + j];
      a[c * n + j] = a[best * n + j];
      a[best * n + j] = t;
    }
    for (uint64_t r = c + 1; r < n; ++r) {
      double by = a[r * n + c] / pivot;
      for (uint64_t j = c + 1; j < n; ++j) a[r * n + j] -= by * a[c * n + j];
    }
  }
  return det;
}

surg__kstatus surg__k_det(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  if (!k->wanted[0]) return SURG__K_OK;
  if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2]) {
    return surg__k_invalid(k, "no square matrices");
  }
  uint64_t n = (uint64_t)x->dims[x->rank - 1];
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank - 2));
  SURG__K_TRY(surg__k_work_product(k, (uint64_t[]){o->count, n + 1, n + 1, n + 1}, 4));
  double *matrix = surg__k_scratch(k, (size_t)(n * n), sizeof *matrix);
  if (!matrix) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < o->count; ++i) {
    for (uint64_t j = 0; j < n * n; ++j) matrix[j] = surg__real_at(x, i * n * n + j);
    surg__real_put(o, i, determinant(matrix, n));
  }
  return SURG__K_OK;
}
