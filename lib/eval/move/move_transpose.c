/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are a single strided copy: Transpose, DepthToSpace, SpaceToDepth, Expand, Tile,
 * Slice. */
#include "eval/core/stream.h"
#include "eval/move/move.h"

/* Creates output 0 with the given dimensions from a view that starts at element `offset` of
 * input 0. A view of the whole input in memory order becomes an alias. */
static surg__kstatus view(surg_kctx *k, const surg__walk *w, const int64_t *dims, uint32_t rank,
                          int64_t offset) {
  const surg__array *a = &k->in[0];
  uint64_t count;
  if (!surg__dims_product(dims, rank, &count)) return SURG__K_BUDGET;
  if (count == a->count && (count == 0 || surg__walk_plain(w)))
    return surg__k_alias(k, 0, 0, dims, rank);
  SURG__K_TRY(surg__k_out(k, 0, a->dtype, dims, rank));
  SURG__K_TRY(surg__k_work(k, count));
  size_t size = surg__element_size(a);
  if (k->out[0].data && count > 0)
    surg__walk_copy(w, (const uint8_t *)a->data + offset * (int64_t)size, size, k->out[0].data);
  return SURG__K_OK;
}

/* Creates output 0 from input 0, reshaped to `shape` and transposed by `perm`, with dimensions
 * `dims`. */
static surg__kstatus permuted(surg_kctx *k, const int64_t *shape, const uint32_t *perm, uint32_t n,
                              const int64_t *dims, uint32_t rank) {
  int64_t strides[SURG_LIMIT_RANK];
  surg__walk w = {0};
  surg__row_strides(shape, n, strides);
  if (k->in[0].count > 0) {
    for (uint32_t i = 0; i < n; i++) surg__walk_axis(&w, shape[perm[i]], strides[perm[i]]);
  }
  return view(k, &w, dims, rank, 0);
}

surg__kstatus surg__k_transpose(surg_kctx *k) {
  const int64_t *perm;
  uint64_t n;
  bool given;
  SURG__K_TRY(surg__need(k, 0));
  SURG__K_TRY(surg__ints_attr(k, "perm", &perm, &n, &given));
  const surg__array *a = &k->in[0];
  if (n != 0 && n != a->rank) return surg__k_invalid(k, "perm is not a permutation of the axes");
  uint32_t order[SURG_LIMIT_RANK];
  int64_t dims[SURG_LIMIT_RANK];
  bool seen[SURG_LIMIT_RANK] = {false};
  for (uint32_t i = 0; i < a->rank; i++) {
    int64_t p = n ? perm[i] : (int64_t)(a->rank - 1 - i);
    if (p < 0 || p >= (int64_t)a->rank || seen[p])
      return surg__k_invalid(k, "perm is not a permutation of the axes");
    seen[p] = true;
    order[i] = (uint32_t)p;
    dims[i] = a->dims[p];
  }
  if (a->stream) return surg__k_turned(k);
  return permuted(k, a->dims, order, a->rank, dims, a->rank);
}

/* Reads the block size, and checks that input 0 is NCHW. */
static surg__kstatus block_size(surg_kctx *k, int64_t *b) {
  SURG__K_TRY(surg__need(k, 0));
  if (k->in[0].rank != 4) return surg__k_invalid(k, "the input does not have four dimensions");
  *b = surg_node_int(k->node, "blocksize", 0);
  if (*b < 1 || *b > INT32_MAX) return surg__k_invalid(k, "the blocksize is out of range");
  return SURG__K_OK;
}

surg__kstatus surg__k_depth_to_space(surg_kctx *k) {
  static const uint32_t dcr[6] = {0, 3, 4, 1, 5, 2}, crd[6] = {0, 1, 4, 2, 5, 3};
  int64_t b;
  SURG__K_TRY(block_size(k, &b));
  const int64_t *d = k->in[0].dims;
  bool columns = false;
  if (k->since >= 11) {
    surg_str mode = surg_node_string(k->node, "mode", "DCR");
    columns = mode.n == 3 && memcmp(mode.p, "CRD", 3) == 0;
    if (!columns && !(mode.n == 3 && memcmp(mode.p, "DCR", 3) == 0))
      return surg__k_invalid(k, "the mode is unknown");
  }
  if (d[1] % (b * b) != 0) return surg__k_invalid(k, "the depth does not divide evenly");
  int64_t c = d[1] / (b * b);
  int64_t dims[4] = {d[0], c, 0, 0};
  if (!surg__mul_i64(d[2], b, &dims[2]) || !surg__mul_i64(d[3], b, &dims[3])) return SURG__K_BUDGET;
  int64_t by_block[6] = {d[0], b, b, c, d[2], d[3]}, by_column[6] = {d[0], c, b, b, d[2], d[3]};
  return columns ? permuted(k, by_column, crd, 6, dims, 4) : permuted(k, by_block, dcr, 6, dims, 4);
}

surg__kstatus surg__k_space_to_depth(surg_kctx *k) {
  static const uint32_t perm[6] = {0, 3, 5, 1, 2, 4};
  int64_t b;
  SURG__K_TRY(block_size(k, &b));
  const int64_t *d = k->in[0].dims;
  if (d[2] % b != 0 || d[3] % b != 0) return surg__k_invalid(k, "the space does not divide evenly");
  int64_t shape[6] = {d[0], d[1], d[2] / b, b, d[3] / b, b};
  int64_t dims[4] = {d[0], 0, d[2] / b, d[3] / b};
  if (!surg__mul_i64(d[1], b * b, &dims[1])) return SURG__K_BUDGET;
  return permuted(k, shape, perm, 6, dims, 4);
}

surg__kstatus surg__k_expand(surg_kctx *k) {
  const int64_t *shape;
  uint64_t n;
  SURG__K_TRY(surg__shape_input(k, &shape, &n));
  if (n > SURG_LIMIT_RANK) return surg__k_cannot(k, "the rank is too high");
  for (uint64_t i = 0; i < n; i++) {
    if (shape[i] < 0) return surg__k_invalid(k, "a dimension is negative");
  }
  surg__array target = {SURG_FLOAT, (uint32_t)n, shape, 0, NULL};
  const surg__array *both[2] = {&k->in[0], &target};
  int64_t dims[SURG_LIMIT_RANK], strides[SURG_LIMIT_RANK];
  uint32_t rank;
  if (!surg__broadcast_dims(both, 2, dims, &rank))
    return surg__k_invalid(k, "the shapes do not broadcast");
  uint64_t count;
  surg__walk w = {0};
  if (surg__dims_product(dims, rank, &count) && count > 0) {
    surg__broadcast_strides(&k->in[0], dims, rank, strides);
    for (uint32_t i = 0; i < rank; i++) surg__walk_axis(&w, dims[i], strides[i]);
  }
  return view(k, &w, dims, rank, 0);
}

static surg__kstatus tiled(surg_kctx *k, const int64_t *repeats) {
  const surg__array *a = &k->in[0];
  int64_t dims[SURG_LIMIT_RANK], strides[SURG_LIMIT_RANK];
  for (uint32_t i = 0; i < a->rank; i++) {
    if (repeats[i] < 0) return surg__k_invalid(k, "a repeat is negative");
    if (!surg__mul_i64(a->dims[i], repeats[i], &dims[i])) return SURG__K_BUDGET;
  }
  uint64_t count;
  surg__walk w = {0};
  surg__row_strides(a->dims, a->rank, strides);
  if (surg__dims_product(dims, a->rank, &count) && count > 0) {
    for (uint32_t i = 0; i < a->rank; i++) {
      surg__walk_axis(&w, repeats[i], 0);
      surg__walk_axis(&w, a->dims[i], strides[i]);
    }
  }
  return view(k, &w, dims, a->rank, 0);
}

surg__kstatus surg__k_tile(surg_kctx *k) {
  const int64_t *repeats;
  uint64_t n;
  bool given;
  SURG__K_TRY(surg__need(k, 0));
  SURG__K_TRY(surg__ints_input(k, 1, &repeats, &n, &given));
  if (!given || n != k->in[0].rank)
    return surg__k_invalid(k, "there is not one repeat for each axis");
  return tiled(k, repeats);
}

/* Tile-1: repeats along one axis. Its inputs tiles and axis have the float type of the data. */
surg__kstatus surg__k_tile_axis(surg_kctx *k) {
  int64_t tiles, axis, repeats[SURG_LIMIT_RANK];
  uint32_t at;
  for (uint32_t i = 0; i < 3; i++) SURG__K_TRY(surg__need(k, i));
  if (k->in[1].count != 1 || !surg__as_int(&k->in[1], 0, &tiles) || k->in[2].count != 1 ||
      !surg__as_int(&k->in[2], 0, &axis))
    return surg__k_invalid(k, "tiles or axis is not a single integer");
  SURG__K_TRY(surg__need_axis(k, axis, k->in[0].rank, 6, &at));
  for (uint32_t i = 0; i < k->in[0].rank; i++) repeats[i] = i == at ? tiles : 1;
  return tiled(k, repeats);
}

/* The first index and element count of a slice along one axis. `step` is not 0. Cannot overflow,
 * as the clamped bounds are in -1..dim. */
static void slice_axis(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *first,
                       int64_t *n) {
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
  start = start < 0 ? 0 : start > high ? high : start;
  end = end < low ? low : end > high ? high : end;
  uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
  int64_t span = step > 0 ? end - start : start - end;
  *first = start;
  *n = span <= 0 || dim == 0 ? 0 : (int64_t)(1 + ((uint64_t)span - 1) / stride);
}

typedef struct slice_params {
  const int64_t *starts, *ends, *axes, *steps;
  uint64_t n, n_ends, n_axes, n_steps;
  bool has_axes, has_steps;
} slice_params;

static surg__kstatus slice_read(surg_kctx *k, slice_params *p) {
  bool has_starts, has_ends;
  if (k->since < 10) {
    SURG__K_TRY(surg__ints_attr(k, "starts", &p->starts, &p->n, &has_starts));
    SURG__K_TRY(surg__ints_attr(k, "ends", &p->ends, &p->n_ends, &has_ends));
    SURG__K_TRY(surg__ints_attr(k, "axes", &p->axes, &p->n_axes, &p->has_axes));
  } else {
    SURG__K_TRY(surg__ints_input(k, 1, &p->starts, &p->n, &has_starts));
    SURG__K_TRY(surg__ints_input(k, 2, &p->ends, &p->n_ends, &has_ends));
    SURG__K_TRY(surg__ints_input(k, 3, &p->axes, &p->n_axes, &p->has_axes));
    SURG__K_TRY(surg__ints_input(k, 4, &p->steps, &p->n_steps, &p->has_steps));
  }
  if (!has_starts || !has_ends) return surg__k_invalid(k, "starts or ends are not given");
  if (p->n != p->n_ends || (p->has_axes && p->n != p->n_axes) ||
      (p->has_steps && p->n != p->n_steps))
    return surg__k_invalid(k, "starts, ends, axes and steps differ in length");
  return SURG__K_OK;
}

surg__kstatus surg__k_slice(surg_kctx *k) {
  slice_params p = {0};
  SURG__K_TRY(surg__need(k, 0));
  SURG__K_TRY(slice_read(k, &p));
  const surg__array *a = &k->in[0];
  if (p.n > a->rank) return surg__k_invalid(k, "there are more slices than axes");
  int64_t dims[SURG_LIMIT_RANK], strides[SURG_LIMIT_RANK], offset = 0;
  bool seen[SURG_LIMIT_RANK] = {false}, empty = a->count == 0;
  surg__row_strides(a->dims, a->rank, strides);
  for (uint32_t i = 0; i < a->rank; i++) dims[i] = a->dims[i];
  for (uint32_t i = 0; i < p.n; i++) {
    uint32_t axis;
    int64_t first, step = p.has_steps ? p.steps[i] : 1;
    SURG__K_TRY(surg__need_axis(k, p.has_axes ? p.axes[i] : (int64_t)i, a->rank, 10, &axis));
    if (seen[axis]) return surg__k_invalid(k, "an axis is given twice");
    if (step == 0) return surg__k_invalid(k, "a step is 0");
    /* The largest integer means "to the end": in ONNX only for positive steps, in ONNX Runtime
     * for both. */
    if (step < 0 && (p.ends[i] == INT32_MAX || p.ends[i] == INT64_MAX))
      SURG__K_TRY(surg__k_disputed(k, "a slice backwards to the largest number"));
    seen[axis] = true;
    slice_axis(a->dims[axis], p.starts[i], p.ends[i], step, &first, &dims[axis]);
    if (dims[axis] == 0) empty = true;
    if (empty) continue;
    offset += first * strides[axis];
    /* A single element needs no stride, and stride * step could overflow. */
    strides[axis] = dims[axis] == 1 ? 0 : strides[axis] * step;
  }
  surg__walk w = {0};
  for (uint32_t i = 0; i < a->rank && !empty; i++) surg__walk_axis(&w, dims[i], strides[i]);
  return view(k, &w, dims, a->rank, offset);
}
