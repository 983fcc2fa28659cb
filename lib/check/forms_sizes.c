/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that cover only padding, and sizes that overflow 64 bits. */
#include <inttypes.h>

#include "base/counted.h"
#include "check/forms.h"

#define AXES_MAX 64

static int64_t entry(const surg_attr *a, uint32_t i, int64_t otherwise) {
  return a && i < a->count ? a->u.ints[i] : otherwise;
}

/* What attributes say of a spatial axis. */
typedef struct spatial {
  int64_t step, before, after; /* stride, pads */
  int64_t reach;               /* of the window, from its first element to its last */
} spatial;

/* Reads axis i of a window of k elements. False: an attribute is invalid, or the sum exceeds 64
 * bits. */
static bool read_axis(const surg_node *n, uint32_t i, int64_t k, spatial *out) {
  const surg_attr *pads = surg__check_ints(n, "pads");
  const int64_t apart = entry(surg__check_ints(n, "dilations"), i, 1);
  out->step = entry(surg__check_ints(n, "strides"), i, 1);
  out->before = entry(pads, i, 0);
  out->after = entry(pads, i + (pads ? pads->count / 2 : 0), 0);
  return k > 0 && out->step > 0 && apart > 0 && surg__mul_i64(k - 1, apart, &out->reach);
}

/* Checks that a window of k elements fits in the padded input along spatial axis i. A pool of a
 * window that fits nowhere gives no elements, as long as the size of its result, rounded up or
 * down, is not negative; no run of a convolution succeeds. */
static bool fits(surg__checker *c, const surg_node *n, uint32_t i, int64_t in, int64_t k,
                 bool pool) {
  spatial a;
  int64_t padded, room;
  if (in < 0 || !read_axis(n, i, k, &a) || !surg__add_i64(in, a.before, &padded) ||
      !surg__add_i64(padded, a.after, &padded) || !surg__sub_i64(padded, a.reach, &room) ||
      !surg__sub_i64(room, 1, &room) || (pool ? room / a.step >= -1 : room >= 0))
    return true;
  c->since = surg__check_since(n);
  surg__check_wrong(c, n,
                    "the window of %" PRId64 " along axis %" PRIu32
                    " is larger than the padded input of %" PRId64,
                    a.reach + 1, i, padded);
  return false;
}

/* Checks that the pads of a pool are smaller than its window on each side. */
static bool pads_fit(surg__checker *c, const surg_node *n, uint32_t i, int64_t k) {
  spatial a;
  if (!read_axis(n, i, k, &a) || (a.before < k && a.after < k)) return true;
  c->since = surg__check_since(n);
  surg__check_wrong(
      c, n, "padding %" PRId64 " of axis %" PRIu32 " is not smaller than the window of %" PRId64,
      a.before >= k ? a.before : a.after, i, k);
  return false;
}

static bool has_pads(const surg_node *n, uint32_t axes) {
  const surg_attr *pads = surg__check_ints(n, "pads");
  return !pads || pads->count == 2 * axes;
}

void surg__check_pool(surg__checker *c, const surg_node *n) {
  const surg_attr *kernel = surg__check_ints(n, "kernel_shape");
  const surg_type *x = surg__check_ranked(n, 0);
  if (!kernel || kernel->count > AXES_MAX || !has_pads(n, kernel->count)) return;
  const bool given = !surg_node_attr(n, "auto_pad") && x && x->rank == kernel->count + 2;
  for (uint32_t i = 0; i < kernel->count; i++) {
    const int64_t k = kernel->u.ints[i];
    if (pads_fit(c, n, i, k)) (void)fits(c, n, i, given ? surg__check_dim(x, i + 2) : -1, k, true);
  }
}

/* Checks that the pads of a transposed convolution leave a size. */
static bool leaves(surg__checker *c, const surg_node *n, uint32_t i, int64_t in, int64_t k) {
  spatial a;
  int64_t size;
  if (in < 1 || !read_axis(n, i, k, &a) || !surg__mul_i64(in - 1, a.step, &size) ||
      !surg__add_i64(size, a.reach, &size) || !surg__add_i64(size, 1, &size) ||
      !surg__add_i64(size, entry(surg__check_ints(n, "output_padding"), i, 0), &size) ||
      !surg__sub_i64(size, a.before, &size) || !surg__sub_i64(size, a.after, &size) || size >= 0)
    return true;
  c->since = surg__check_since(n);
  surg__check_wrong(c, n, "the pads along axis %" PRIu32 " leave %" PRId64 " elements", i, size);
  return false;
}

void surg__check_kernel(surg__checker *c, const surg_node *n) {
  const surg_attr *kernel = surg__check_ints(n, "kernel_shape");
  const surg_type *x = surg__check_ranked(n, 0);
  const surg_type *w = surg__check_ranked(n, surg_node_op(n) == SURG_OP_QLinearConv ? 3 : 1);
  const uint32_t axes = x && x->rank > 2 ? x->rank - 2u : 0;
  if (!axes || surg_node_attr(n, "auto_pad") || !has_pads(n, axes)) return;
  if ((kernel && kernel->count != axes) || (!kernel && (!w || w->rank != x->rank))) return;
  for (uint32_t i = 0; i < axes; i++) {
    const int64_t k = kernel ? kernel->u.ints[i] : surg__check_dim(w, i + 2);
    const int64_t in = surg__check_dim(x, i + 2);
    const bool back = surg_node_op(n) == SURG_OP_ConvTranspose;
    if (back ? !leaves(c, n, i, in, k) : !fits(c, n, i, in, k, false)) return;
  }
}

static int64_t numbers(const surg_node *n, size_t i, int64_t *out) {
  const surg_tensor *t = surg_value_constant(surg_node_input(n, i));
  const int64_t count = t ? surg__read_ints(t, out, AXES_MAX) : -1;
  return count > AXES_MAX ? -1 : count;
}

void surg__check_tile(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  int64_t repeats[AXES_MAX], size;
  const int64_t count = numbers(n, 1, repeats);
  for (int64_t i = 0; x && i < count && i < x->rank; i++) {
    const int64_t d = surg__check_dim(x, (size_t)i);
    if (d < 0 || surg__mul_i64(d, repeats[i], &size)) continue;
    surg__check_wrong(c, n, "the size of axis %" PRId64 " exceeds 64 bits: %" PRId64 " x %" PRId64,
                      i, d, repeats[i]);
    return;
  }
}

void surg__check_padded(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  int64_t pads[AXES_MAX], size;
  const int64_t count = numbers(n, 1, pads);
  if (!x || surg_node_input(n, 3) || count != 2 * (int64_t)x->rank) return;
  for (uint32_t i = 0; i < x->rank; i++) {
    const int64_t d = surg__check_dim(x, i);
    if (d < 0) continue;
    if (surg__add_i64(d, pads[i], &size) && surg__add_i64(size, pads[i + x->rank], &size)) continue;
    surg__check_wrong(c, n, "the size of axis %" PRIu32 " exceeds 64 bits", i);
    return;
  }
}

void surg__check_requested(surg__checker *c, const surg_node *n, size_t i) {
  int64_t dims[AXES_MAX], product = 1;
  const int64_t count = numbers(n, i, dims);
  for (int64_t k = 0; k < count; k++)
    if (dims[k] == 0) return;
  for (int64_t k = 0; k < count; k++) {
    if (dims[k] < 0 || surg__mul_i64(product, dims[k], &product)) continue;
    surg__check_wrong(c, n, "the number of elements of the shape in input %zu exceeds 64 bits", i);
    return;
  }
}
