/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that keep the elements and change the shape, or that read only the shape: Identity,
 * Reshape, Flatten, Squeeze, Unsqueeze, Shape, Size. Also Constant and ConstantOfShape. */
#include "eval/move/move.h"

#include "base/dtype.h"

surg__kstatus surg__k_identity(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  return surg__k_alias(k, 0, 0, k->in[0].dims, k->in[0].rank);
}

/* Output 0 as an alias of input 0 with new dimensions, whose product must be its element count. */
static surg__kstatus reshaped(surg_kctx *k, const int64_t *dims, uint32_t rank) {
  uint64_t n;
  if (!surg__dims_product(dims, rank, &n)) return surg__k_invalid(k, "a shape is out of range");
  if (n != k->in[0].count) return surg__k_invalid(k, "the shape has another number of elements");
  return surg__k_alias(k, 0, 0, dims, rank);
}

/* Resolves the target shape of Reshape. `copy_zero`: a 0 copies the dimension of the input. */
static surg__kstatus reshape_to(surg_kctx *k, const int64_t *target, uint64_t n, bool copy_zero) {
  const surg__array *a = &k->in[0];
  if (n > SURG_LIMIT_RANK) return surg__k_cannot(k, "the rank is too high");
  int64_t dims[SURG_LIMIT_RANK];
  int64_t unknown = -1;
  uint64_t known = 1;
  bool zero = false;
  for (uint32_t i = 0; i < n; i++) {
    dims[i] = target[i];
    if (target[i] == -1) {
      if (unknown >= 0) return surg__k_invalid(k, "more than one dimension is -1");
      unknown = i;
      continue;
    }
    if (target[i] < -1) return surg__k_invalid(k, "a dimension is below -1");
    if (target[i] == 0 && copy_zero) {
      if (i >= a->rank) return surg__k_invalid(k, "a dimension 0 has nothing to copy");
      dims[i] = a->dims[i];
    }
    if (dims[i] == 0)
      zero = true;
    else if (!surg__mul_u64(known, (uint64_t)dims[i], &known))
      return surg__k_invalid(k, "a shape is out of range");
  }
  if (unknown >= 0) {
    if (zero) return surg__k_cannot(k, "a dimension -1 beside one of 0 is not determined");
    if (a->count % known != 0) return surg__k_invalid(k, "the elements do not divide evenly");
    dims[unknown] = (int64_t)(a->count / known);
  }
  return reshaped(k, dims, (uint32_t)n);
}

surg__kstatus surg__k_reshape_attr(surg_kctx *k) {
  const int64_t *shape;
  uint64_t n;
  bool given;
  SURG__K_TRY(surg__need(k, 0));
  SURG__K_TRY(surg__ints_attr(k, "shape", &shape, &n, &given));
  if (!given) return surg__k_cannot(k, "the shape is not given");
  return reshape_to(k, shape, n, true);
}

surg__kstatus surg__k_reshape(surg_kctx *k) {
  const int64_t *shape;
  uint64_t n;
  SURG__K_TRY(surg__shape_input(k, &shape, &n));
  if (k->in[1].rank != 1) return surg__k_invalid(k, "the shape is not a list");
  bool allow_zero = k->since >= 14 && surg_node_int(k->node, "allowzero", 0) != 0;
  return reshape_to(k, shape, n, !allow_zero);
}

surg__kstatus surg__k_flatten(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  const surg__array *a = &k->in[0];
  int64_t axis = surg_node_int(k->node, "axis", 1);
  if (axis < 0 && k->since < 11)
    return surg__k_cannot(k, "a negative axis has no meaning in this opset");
  if (axis < -(int64_t)a->rank || axis > (int64_t)a->rank)
    return surg__k_invalid(k, "an axis is out of range");
  uint32_t at = (uint32_t)(axis < 0 ? axis + (int64_t)a->rank : axis);
  uint64_t head, tail;
  if (!surg__dims_product(a->dims, at, &head) ||
      !surg__dims_product(a->dims + at, a->rank - at, &tail) || head > INT64_MAX ||
      tail > INT64_MAX)
    return surg__k_cannot(k, "a shape is out of range");
  int64_t dims[2] = {(int64_t)head, (int64_t)tail};
  return surg__k_alias(k, 0, 0, dims, 2);
}

/* Reads the axes of Squeeze and Unsqueeze, which require input 0: an attribute before opset 13, an
 * input from 13 on. */
static surg__kstatus axes_of(surg_kctx *k, const int64_t **axes, uint64_t *n, bool *given) {
  SURG__K_TRY(surg__need(k, 0));
  if (k->since < 13) return surg__ints_attr(k, "axes", axes, n, given);
  return surg__ints_input(k, 1, axes, n, given);
}

surg__kstatus surg__k_squeeze(surg_kctx *k) {
  const int64_t *axes;
  uint64_t n;
  bool given;
  SURG__K_TRY(axes_of(k, &axes, &n, &given));
  const surg__array *a = &k->in[0];
  bool drop[SURG_LIMIT_RANK] = {false};
  for (uint64_t i = 0; i < n; i++) {
    uint32_t axis;
    SURG__K_TRY(surg__need_axis(k, axes[i], a->rank, 11, &axis));
    if (a->dims[axis] != 1) return surg__k_invalid(k, "a squeezed dimension is not 1");
    drop[axis] = true;
  }
  int64_t dims[SURG_LIMIT_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < a->rank; i++) {
    if (given && n == 0 && a->dims[i] == 1)
      return surg__k_cannot(k, "engines disagree on an empty list of axes");
    if (given ? drop[i] : a->dims[i] == 1) continue;
    dims[rank++] = a->dims[i];
  }
  return surg__k_alias(k, 0, 0, dims, rank);
}

surg__kstatus surg__k_unsqueeze(surg_kctx *k) {
  const int64_t *axes;
  uint64_t n;
  bool given;
  SURG__K_TRY(axes_of(k, &axes, &n, &given));
  const surg__array *a = &k->in[0];
  if (!given) return surg__k_invalid(k, "the axes are not given");
  if (n > SURG_LIMIT_RANK - a->rank) return surg__k_cannot(k, "the rank is too high");
  uint32_t rank = a->rank + (uint32_t)n;
  bool added[SURG_LIMIT_RANK] = {false};
  for (uint64_t i = 0; i < n; i++) {
    uint32_t axis;
    SURG__K_TRY(surg__need_axis(k, axes[i], rank, 11, &axis));
    if (added[axis]) return surg__k_invalid(k, "an axis is given twice");
    added[axis] = true;
  }
  int64_t dims[SURG_LIMIT_RANK];
  for (uint32_t i = 0, from = 0; i < rank; i++) dims[i] = added[i] ? 1 : a->dims[from++];
  return surg__k_alias(k, 0, 0, dims, rank);
}

/* Clamps a bound of Shape (start or end) to 0..rank. */
static int64_t shape_bound(int64_t at, uint32_t rank) {
  if (at < 0) at += (int64_t)rank;
  return at < 0 ? 0 : at > (int64_t)rank ? (int64_t)rank : at;
}

surg__kstatus surg__k_shape(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  const surg__array *a = &k->in[0];
  int64_t start = 0, end = (int64_t)a->rank;
  if (k->since >= 15) {
    start = shape_bound(surg_node_int(k->node, "start", 0), a->rank);
    end = shape_bound(surg_node_int(k->node, "end", end), a->rank);
  }
  int64_t n = end > start ? end - start : 0;
  SURG__K_TRY(surg__k_out(k, 0, SURG_INT64, &n, 1));
  if (k->out[0].data && n > 0) memcpy(k->out[0].data, a->dims + start, (size_t)n * sizeof(int64_t));
  return SURG__K_OK;
}

surg__kstatus surg__k_size(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  SURG__K_TRY(surg__k_out(k, 0, SURG_INT64, NULL, 0));
  if (k->out[0].data) *(int64_t *)k->out[0].data = (int64_t)k->in[0].count;
  return SURG__K_OK;
}

/* Output 0 from a tensor attribute. */
static surg__kstatus constant_tensor(surg_kctx *k, const surg_tensor *t) {
  if (!t || surg_tensor_is_sparse(t)) return surg__k_cannot(k, "the constant is sparse");
  surg__array a;
  SURG__K_TRY(
      surg__k_out(k, 0, surg_tensor_dtype(t), surg_tensor_dims(t), (uint32_t)surg_tensor_rank(t)));
  surg_status s = surg__array_from_tensor(k->ctx, k->arena, t, &a);
  if (s == SURG_ENOMEM || s == SURG_ELIMIT) return SURG__K_NOMEM;
  if (s != SURG_OK) return surg__k_cannot(k, "the constant cannot be read");
  if (k->out[0].data && a.count > 0)
    memcpy(k->out[0].data, a.data, a.count * surg__element_size(&a));
  return SURG__K_OK;
}

/* Output 0 as a scalar or vector of elements that are in memory in array format. */
static surg__kstatus constant_list(surg_kctx *k, int dtype, const void *p, size_t n, bool list) {
  int64_t dim = (int64_t)n;
  SURG__K_TRY(surg__k_out(k, 0, dtype, &dim, list ? 1 : 0));
  if (k->out[0].data && n > 0) memcpy(k->out[0].data, p, n * surg__dtype_unpacked(dtype));
  return SURG__K_OK;
}

surg__kstatus surg__k_constant(surg_kctx *k) {
  if (surg_node_attr_count(k->node) != 1)
    return surg__k_invalid(k, "a Constant has exactly one attribute");
  const surg_attr *a = surg_node_attr_at(k->node, 0);
  if (strcmp(surg_attr_name(a), "value") != 0 && k->since < 12)
    return surg__k_cannot(k, "the attribute is not of this opset");
  size_t n = 0;
  switch (surg_attr_get_kind(a)) {
    case SURG_ATTR_TENSOR:
      return constant_tensor(k, surg_attr_tensor(a, 0));
    case SURG_ATTR_FLOAT: {
      float f = surg_attr_float(a);
      return constant_list(k, SURG_FLOAT, &f, 1, false);
    }
    case SURG_ATTR_INT: {
      int64_t i = surg_attr_int(a);
      return constant_list(k, SURG_INT64, &i, 1, false);
    }
    case SURG_ATTR_STRING: {
      surg_str s = surg_attr_string(a);
      return constant_list(k, SURG_STRING, &s, 1, false);
    }
    case SURG_ATTR_FLOATS: {
      const float *p = surg_attr_floats(a, &n);
      return constant_list(k, SURG_FLOAT, p, n, true);
    }
    case SURG_ATTR_INTS: {
      const int64_t *p = surg_attr_ints(a, &n);
      return constant_list(k, SURG_INT64, p, n, true);
    }
    case SURG_ATTR_STRINGS: {
      const surg_str *p = surg_attr_strings(a, &n);
      return constant_list(k, SURG_STRING, p, n, true);
    }
    default:
      return surg__k_cannot(k, "the constant is sparse");
  }
}

surg__kstatus surg__k_constant_of_shape(surg_kctx *k) {
  const int64_t *dims;
  uint64_t n;
  bool given;
  SURG__K_TRY(surg__ints_input(k, 0, &dims, &n, &given));
  if (!given) return surg__k_invalid(k, "a required input is absent");
  if (n > SURG_LIMIT_RANK) return surg__k_cannot(k, "the rank is too high");
  for (uint64_t i = 0; i < n; i++) {
    if (dims[i] < 0) return surg__k_invalid(k, "a dimension is negative");
  }
  const surg_attr *attr = surg_node_attr(k->node, "value");
  static const float zero = 0;
  surg__array value = {SURG_FLOAT, 0, NULL, 1, (void *)(uintptr_t)&zero};
  if (attr) {
    const surg_tensor *t = surg_attr_tensor(attr, 0);
    if (!t || surg_tensor_is_sparse(t) || surg_tensor_count(t) != 1)
      return surg__k_invalid(k, "the value is not a tensor of one element");
    const surg_status s = surg__array_from_tensor(k->ctx, k->arena, t, &value);
    if (s == SURG_ENOMEM || s == SURG_ELIMIT) return SURG__K_NOMEM;
    if (s != SURG_OK) return surg__k_cannot(k, "the value cannot be read");
  }
  SURG__K_TRY(surg__k_out(k, 0, value.dtype, dims, (uint32_t)n));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  if (k->out[0].data)
    surg__fill(k->out[0].data, k->out[0].count, value.data, surg__element_size(&value));
  return SURG__K_OK;
}
