/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of image operators whose output size is given by an input or follows from windows. */
#include "infer/rules.h"

/* Reads the elements of input i as dimensions: *n of them, at most `cap`. False: unknown, or the
 * node is invalid. */
static bool read_dims(surg__infer *c, size_t i, surg_dim *dims, uint32_t cap, uint32_t *n) {
  surg__elem buf[SURG__ELEMS];
  bool negative = false;
  const surg__elem *e = surg__infer_elems(c, i, buf, n);
  if (!e || *n > cap) return false;
  for (uint32_t k = 0; k < *n; k++) dims[k] = surg__dim_of(e[k], &negative);
  if (negative) surg__infer_bad(c);
  return !negative;
}

/* As read_dims; where only the number of elements is known, all dimensions are unknown. */
static bool read_sizes(surg__infer *c, size_t i, surg_dim *dims, uint32_t cap, uint32_t *n) {
  surg__fact f;
  if (read_dims(c, i, dims, cap, n)) return true;
  if (c->bad || !surg__infer_ranked(c, i, &f) || f.rank != 1 || !surg__dim_known(f.dims[0]) ||
      f.dims[0].value > (int64_t)cap)
    return false;
  *n = (uint32_t)f.dims[0].value;
  for (uint32_t k = 0; k < *n; k++) dims[k] = surg__dim_unknown();
  return true;
}

void surg__infer_affine_grid(surg__infer *c) {
  surg_dim size[5], dims[5];
  uint32_t n;
  const int dtype = surg__infer_dtype(c, 0);
  if (!read_sizes(c, 1, size, 5, &n)) return;
  if (n != 4 && n != 5) {
    surg__infer_bad(c);
    return;
  }
  dims[0] = size[0];
  for (uint32_t i = 2; i < n; i++) dims[i - 1] = size[i];
  dims[n - 1] = surg__dim(n - 2);
  surg__infer_put(c, 0, dtype, dims, n);
}

void surg__infer_col2im(surg__infer *c) {
  surg__fact x;
  surg_dim image[SURG_LIMIT_RANK], block[SURG_LIMIT_RANK], dims[SURG_LIMIT_RANK];
  uint32_t n, blocks;
  if (!surg__infer_ranked(c, 0, &x)) return;
  if (x.rank != 3) {
    surg__infer_bad(c);
    return;
  }
  dims[0] = x.dims[0];
  surg_dim channels = x.dims[1];
  if (!read_sizes(c, 1, image, SURG_LIMIT_RANK - 2, &n)) return;
  dims[1] = surg__dim_unknown();
  if (read_dims(c, 2, block, SURG_LIMIT_RANK, &blocks)) {
    const surg_dim by = surg__dim_product(block, blocks);
    if (blocks != n || by.value == 0) {
      surg__infer_bad(c);
      return;
    }
    if (by.value == 1) {
      dims[1] = channels;
    } else if (surg__dim_known(by)) {
      if (surg__dim_known(channels) && channels.value % by.value) surg__infer_bad(c);
      dims[1] = surg__dim_over(channels, by.value);
    }
  }
  memcpy(dims + 2, image, n * sizeof *dims);
  surg__infer_put(c, 0, x.dtype, dims, (size_t)n + 2);
}

void surg__infer_center_crop_pad(surg__infer *c) {
  surg__fact x;
  surg_dim size[SURG_LIMIT_RANK], dims[SURG_LIMIT_RANK];
  uint32_t n;
  size_t count, axis;
  if (!surg__infer_ranked(c, 0, &x)) return;
  memcpy(dims, x.dims, x.rank * sizeof *dims);
  const bool some = surg_node_attr(c->n, "axes") != NULL;
  const int64_t *axes = some ? surg_node_ints(c->n, "axes", &count) : NULL;
  if (!some) count = x.rank;
  if (some && (!axes || count > x.rank)) return;
  const bool known = read_sizes(c, 1, size, SURG_LIMIT_RANK, &n);
  if (c->bad || (known && n != count)) {
    surg__infer_bad(c);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    if (!surg__infer_axis(c, some ? axes[i] : (int64_t)i, x.rank, &axis)) return;
    dims[axis] = known ? size[i] : surg__dim_unknown();
  }
  surg__infer_put(c, 0, x.dtype, dims, x.rank);
}

/* Entry i of a list attribute of n entries, or `otherwise` when it is absent; false: wrong length
 * or the value is out of range. */
static bool list_entry(const surg__infer *c, const char *name, size_t n, size_t i,
                       int64_t otherwise, int64_t *out) {
  assert(i < n);
  size_t count = 0;
  *out = otherwise;
  if (!surg_node_attr(c->n, name)) return true;
  const int64_t *v = surg_node_ints(c->n, name, &count);
  if (!v || count != n || v[i] < 0 || v[i] > INT32_MAX) return false;
  *out = v[i];
  return true;
}

void surg__infer_max_unpool(surg__infer *c) {
  surg__fact x;
  surg_dim dims[SURG_LIMIT_RANK];
  uint32_t n;
  if (!surg__infer_ranked(c, 0, &x) || x.rank < 3) return;
  const size_t rank = x.rank, spatial = rank - 2;
  const int dtype = x.dtype;
  dims[0] = x.dims[0];
  dims[1] = x.dims[1];
  for (size_t i = 0; i < spatial; i++) {
    const surg_dim d = x.dims[i + 2];
    int64_t kernel, stride, begin, end;
    dims[i + 2] = surg__dim_unknown();
    if (!list_entry(c, "kernel_shape", spatial, i, -1, &kernel) || kernel < 0 ||
        !list_entry(c, "strides", spatial, i, 1, &stride) ||
        !list_entry(c, "pads", 2 * spatial, i, 0, &begin) ||
        !list_entry(c, "pads", 2 * spatial, i + spatial, 0, &end))
      return;
    if (surg__dim_known(d) && d.value < 1) continue;
    dims[i + 2] = surg__dim_add(surg__dim_times(d, stride), kernel - begin - end - stride);
  }
  if (surg__infer_has(c, 2)) {
    surg_dim wanted[SURG_LIMIT_RANK];
    const bool known = read_dims(c, 2, wanted, SURG_LIMIT_RANK, &n);
    if (c->bad || (known && n != rank)) {
      surg__infer_bad(c);
      return;
    }
    for (size_t i = 0; i < rank; i++) dims[i] = known ? wanted[i] : surg__dim_unknown();
  }
  surg__infer_put(c, 0, dtype, dims, rank);
}

void surg__infer_max_roi_pool(surg__infer *c) {
  surg__fact x, rois;
  size_t n = 0;
  const int64_t *pooled = surg_node_ints(c->n, "pooled_shape", &n);
  const bool has_x = surg__infer_ranked(c, 0, &x), has_rois = surg__infer_ranked(c, 1, &rois);
  if (!pooled || n != 2 || pooled[0] < 0 || pooled[1] < 0) return;
  if ((has_x && x.rank != 4) || (has_rois && rois.rank != 2)) {
    surg__infer_bad(c);
    return;
  }
  const surg_dim dims[4] = {has_rois ? rois.dims[0] : surg__dim_unknown(),
                            has_x ? x.dims[1] : surg__dim_unknown(), surg__dim(pooled[0]),
                            surg__dim(pooled[1])};
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, 4);
}

/* The offsets have the spatial size of the output. */
void surg__infer_deform_conv(surg__infer *c) {
  surg__fact x, w, offset;
  surg_dim dims[SURG_LIMIT_RANK];
  if (!surg__infer_ranked(c, 0, &x) || !surg__infer_ranked(c, 1, &w) ||
      !surg__infer_ranked(c, 2, &offset))
    return;
  if (x.rank < 3 || w.rank != x.rank || offset.rank != x.rank) {
    surg__infer_bad(c);
    return;
  }
  dims[0] = x.dims[0];
  dims[1] = w.dims[0];
  for (uint32_t i = 2; i < x.rank; i++) dims[i] = offset.dims[i];
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, x.rank);
}

void surg__infer_image_decoder(surg__infer *c) {
  const surg_str format = surg_node_string(c->n, "pixel_format", "RGB");
  surg_dim dims[3] = {surg__dim_unknown(), surg__dim_unknown(), surg__dim_unknown()};
  if (format.n == 3 && (!memcmp(format.p, "RGB", 3) || !memcmp(format.p, "BGR", 3)))
    dims[2] = surg__dim(3);
  else if (format.n == 9 && !memcmp(format.p, "Grayscale", 9))
    dims[2] = surg__dim(1);
  surg__infer_put(c, 0, SURG_UINT8, dims, 3);
}
