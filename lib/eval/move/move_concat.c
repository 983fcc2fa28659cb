/* SPDX-License-Identifier: Apache-2.0 */
/* Concat and Split. */
#include "eval/move/move.h"

/* Checks that all inputs match the first one except along `axis`. *total is the sum of their
 * sizes there. */
static surg__kstatus concat_check(surg_kctx *k, const surg__array *in, uint64_t n, uint32_t axis,
                                  int64_t *total) {
  const surg__array *a = &in[0];
  *total = 0;
  for (uint64_t i = 0; i < n; i++) {
    const surg__array *b = &in[i];
    if (b->rank != a->rank || b->dtype != a->dtype)
      return surg__k_invalid(k, "the inputs differ in rank or type");
    for (uint32_t d = 0; d < a->rank; d++) {
      if (d != axis && b->dims[d] != a->dims[d])
        return surg__k_invalid(k, "the inputs differ beside the axis");
    }
    if (!surg__add_i64(*total, b->dims[axis], total)) return SURG__K_BUDGET;
  }
  return SURG__K_OK;
}

surg__kstatus surg__concat(surg_kctx *k, const surg__array *in, uint64_t n, uint32_t axis) {
  const surg__array *a = &in[0];
  int64_t dims[SURG_LIMIT_RANK], total;
  SURG__K_TRY(concat_check(k, in, n, axis, &total));
  memcpy(dims, a->dims, a->rank * sizeof *dims);
  dims[axis] = total;
  SURG__K_TRY(surg__k_out(k, 0, a->dtype, dims, a->rank));
  if (!k->out[0].data || k->out[0].count == 0) return SURG__K_OK;
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  uint64_t outer = surg__span_product(dims, 0, axis);
  uint64_t row = surg__span_product(dims, axis, a->rank) * surg__element_size(a), at = 0;
  for (uint64_t i = 0; i < n; i++) {
    const surg__array *b = &in[i];
    if (b->count == 0) continue;
    uint64_t run = b->count / outer * surg__element_size(b);
    for (uint64_t o = 0; o < outer; o++)
      memcpy((uint8_t *)k->out[0].data + o * row + at, (const uint8_t *)b->data + o * run, run);
    at += run;
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_concat(surg_kctx *k) {
  for (uint32_t i = 0; i < k->n_in || i == 0; i++) SURG__K_TRY(surg__need(k, i));
  const surg__array *a = &k->in[0];
  if (k->since >= 4 && !surg_node_attr(k->node, "axis"))
    return surg__k_invalid(k, "the axis is not given");
  uint32_t axis;
  SURG__K_TRY(surg__need_axis(k, surg_node_int(k->node, "axis", 1), a->rank, 11, &axis));
  if (k->n_in == 1) return surg__k_alias(k, 0, 0, a->dims, a->rank);
  return surg__concat(k, k->in, k->n_in, axis);
}

/* The sizes of the parts if only their number is given. From opset 18 on the last part may be
 * smaller; before, all parts must be equal. */
static surg__kstatus split_evenly(surg_kctx *k, int64_t dim, int64_t *sizes) {
  int64_t n = k->n_out, each = dim / n;
  if (k->since >= 18) {
    const surg_attr *a = surg_node_attr(k->node, "num_outputs");
    if (!a) return surg__k_cannot(k, "neither split nor num_outputs is given");
    if (surg_attr_int(a) != n) return surg__k_invalid(k, "num_outputs is not the output count");
    if (dim % n != 0) each++;
    if (each * (n - 1) > dim) return surg__k_cannot(k, "there are more parts than elements");
  } else if (dim % n != 0) {
    return surg__k_invalid(k, "the axis does not divide evenly");
  }
  for (int64_t i = 0; i < n - 1; i++) sizes[i] = each;
  sizes[n - 1] = dim - each * (n - 1);
  return SURG__K_OK;
}

/* Reads the sizes of the parts: an attribute before opset 13, an input from 13 on; opset 1 has
 * both. *given is false if they are absent. */
static surg__kstatus split_given(surg_kctx *k, int64_t dim, int64_t *sizes, bool *given) {
  const int64_t *p;
  uint64_t n;
  if (k->since < 13) SURG__K_TRY(surg__ints_attr(k, "split", &p, &n, given));
  if (k->since >= 13 || (k->since == 1 && !*given))
    SURG__K_TRY(surg__ints_input(k, 1, &p, &n, given));
  if (!*given) return SURG__K_OK;
  if (k->since >= 18 && surg_node_attr(k->node, "num_outputs"))
    return surg__k_invalid(k, "both split and num_outputs are given");
  if (n != k->n_out) return surg__k_invalid(k, "there is not one size for each output");
  int64_t sum = 0;
  for (uint32_t i = 0; i < k->n_out; i++) {
    if (p[i] < 0 || !surg__add_i64(sum, p[i], &sum))
      return surg__k_invalid(k, "a size is out of range");
    sizes[i] = p[i];
  }
  if (sum != dim) return surg__k_invalid(k, "the sizes do not add up to the axis");
  return SURG__K_OK;
}

surg__kstatus surg__k_split(surg_kctx *k) {
  uint32_t axis;
  bool given = false;
  SURG__K_TRY(surg__need(k, 0));
  if (k->n_out == 0) return SURG__K_OK;
  const surg__array *a = &k->in[0];
  SURG__K_TRY(surg__need_axis(k, surg_node_int(k->node, "axis", 0), a->rank, 11, &axis));
  int64_t *sizes = surg__k_scratch(k, k->n_out, sizeof *sizes), dims[SURG_LIMIT_RANK];
  if (!sizes) return SURG__K_NOMEM;
  SURG__K_TRY(split_given(k, a->dims[axis], sizes, &given));
  if (!given) SURG__K_TRY(split_evenly(k, a->dims[axis], sizes));
  SURG__K_TRY(surg__k_work(k, a->count));
  uint64_t outer = surg__span_product(a->dims, 0, axis), at = 0;
  uint64_t inner = surg__span_product(a->dims, axis + 1, a->rank) * surg__element_size(a);
  uint64_t row = (uint64_t)a->dims[axis] * inner;
  memcpy(dims, a->dims, a->rank * sizeof *dims);
  for (uint32_t i = 0; i < k->n_out; i++) {
    dims[axis] = sizes[i];
    SURG__K_TRY(surg__k_out(k, i, a->dtype, dims, a->rank));
    uint64_t n = (uint64_t)sizes[i] * inner;
    for (uint64_t o = 0; k->out[i].data && k->out[i].count > 0 && o < outer; o++)
      memcpy((uint8_t *)k->out[i].data + o * n, (const uint8_t *)a->data + o * row + at, n);
    at += n;
  }
  return SURG__K_OK;
}
