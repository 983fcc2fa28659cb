/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that cover only padding, and sizes that overflow 64 bits. */
#include <inttypes.h>

#include "base/counted.h"
#include "check/forms.h"

#define AXES_MAX 64

static int64_t entry(const surg_attr *a, uint32_t i, int64_t otherwise) {
  return a && i < a->count ? a->u.ints[i] : otherwise;
}

/* Checks that the pads are smaller than the window on each side, and that the window fits in the
 * padded input. */
static void window(surg__checker *c, const surg_node *n, uint32_t i, int64_t in) {
  const surg_attr *kernel = surg__check_ints(n, "kernel_shape");
  const surg_attr *pads = surg__check_ints(n, "pads");
  const uint32_t axes = kernel->count;
  const int64_t k = kernel->u.ints[i], step = entry(surg__check_ints(n, "strides"), i, 1);
  const int64_t apart = entry(surg__check_ints(n, "dilations"), i, 1);
  const int64_t before = entry(pads, i, 0), after = entry(pads, i + axes, 0);
  int64_t reach, padded;
  if (before >= k || after >= k) {
    surg__check_wrong(
        c, n, "padding %" PRId64 " of axis %" PRIu32 " is not smaller than the window of %" PRId64,
        before >= k ? before : after, i, k);
    return;
  }
  if (in < 0 || step < 1 || apart < 1 || !surg__mul_i64(k - 1, apart, &reach) ||
      !surg__add_i64(in, before + after, &padded))
    return;
  if (padded - reach - 1 <= -step)
    surg__check_wrong(c, n,
                      "the window of %" PRId64 " along axis %" PRIu32
                      " is larger than the padded input of %" PRId64,
                      reach + 1, i, padded);
}

void surg__check_pool(surg__checker *c, const surg_node *n) {
  const surg_attr *kernel = surg__check_ints(n, "kernel_shape");
  const surg_attr *pads = surg__check_ints(n, "pads");
  const surg_type *x = surg__check_ranked(n, 0);
  if (!kernel || kernel->count > AXES_MAX || (pads && pads->count != 2 * kernel->count)) return;
  const bool given = !surg_node_attr(n, "auto_pad");
  for (uint32_t i = 0; i < kernel->count; i++)
    if (kernel->u.ints[i] > 0)
      window(c, n, i, given && x && x->rank == kernel->count + 2 ? surg__check_dim(x, i + 2) : -1);
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
