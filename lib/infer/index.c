/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that select elements by index or by value. */
#include "infer/ranges.h"
#include "infer/rules.h"

void surg__infer_gather(surg__infer *c) {
  surg__fact data, index;
  size_t axis, n = 0;
  surg_dim dims[SURG_LIMIT_RANK];
  if (!surg__infer_ranked(c, 0, &data) || !surg__infer_ranked(c, 1, &index)) return;
  if (!surg__infer_axis(c, surg_node_int(c->n, "axis", 0), data.rank, &axis)) return;
  const size_t rank = (size_t)data.rank - 1 + index.rank;
  if (rank > SURG_LIMIT_RANK) return;
  for (size_t i = 0; i < axis; i++) dims[n++] = data.dims[i];
  for (size_t i = 0; i < index.rank; i++) dims[n++] = index.dims[i];
  for (size_t i = axis + 1; i < data.rank; i++) dims[n++] = data.dims[i];
  assert(n == rank);
  surg__infer_put(c, 0, data.dtype, dims, rank);
  if (c->states) surg__infer_gather_elems(c, &data, axis);
}

void surg__infer_gather_elements(surg__infer *c) {
  const surg__fact index = surg__infer_in(c, 1);
  surg__infer_put_like(c, 0, surg__infer_dtype(c, 0), &index);
  surg__fact data;
  if (!c->states || index.rank != 1 || !surg__infer_ranked(c, 0, &data) || data.rank != 1) return;
  surg__infer_gather_elems(c, &data, 0); /* of a list it is equal to Gather */
}

void surg__infer_gather_nd(surg__infer *c) {
  surg__fact data, index;
  surg_dim dims[SURG_LIMIT_RANK];
  if (!surg__infer_ranked(c, 0, &data) || !surg__infer_ranked(c, 1, &index)) return;
  const int64_t batch = c->since >= 12 ? surg_node_int(c->n, "batch_dims", 0) : 0;
  if (index.rank < 1 || data.rank < 1 || batch < 0 || batch >= index.rank || batch >= data.rank) {
    surg__infer_bad(c);
    return;
  }
  const surg_dim tuple = index.dims[index.rank - 1];
  if (!surg__dim_known(tuple)) return;
  if (tuple.value > (int64_t)data.rank - batch || tuple.value < 1) {
    surg__infer_bad(c);
    return;
  }
  const size_t skip = (size_t)(batch + tuple.value);
  if (index.rank - 1 + data.rank - skip > SURG_LIMIT_RANK) return;
  size_t n = 0;
  for (size_t i = 0; i + 1 < index.rank; i++) {
    dims[n] = index.dims[i];
    if ((int64_t)i < batch && !surg__dim_unify(index.dims[i], data.dims[i], &dims[n])) {
      surg__infer_bad(c);
      return;
    }
    n++;
  }
  for (size_t i = skip; i < data.rank; i++) dims[n++] = data.dims[i];
  surg__infer_put(c, 0, data.dtype, dims, n);
}

void surg__infer_one_hot(surg__infer *c) {
  surg__fact index;
  size_t axis, n = 0;
  surg_dim dims[SURG_LIMIT_RANK], depth = surg__dim_unknown();
  surg__elem buf[SURG__ELEMS];
  uint32_t count;
  bool negative = false;
  const int dtype = surg__infer_dtype(c, 0);
  if (!surg__infer_ranked(c, 0, &index) || index.rank >= SURG_LIMIT_RANK) return;
  const size_t rank = (size_t)index.rank + 1;
  if (!surg__infer_axis(c, surg_node_int(c->n, "axis", -1), rank, &axis)) return;
  const surg__elem *e = surg__infer_elems(c, 1, buf, &count);
  if (e && count == 1) depth = surg__dim_of(e[0], &negative);
  if (negative) {
    surg__infer_bad(c);
    return;
  }
  for (size_t i = 0; i < rank; i++) dims[i] = i == axis ? depth : index.dims[n++];
  assert(n == index.rank);
  surg__infer_put(c, 0, dtype, dims, rank);
}

/* The indices of the nonzero elements of a list; false: some element is unknown. */
static bool places(surg__infer *c, surg__elem out[SURG__ELEMS], uint32_t *count) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  const surg__elem *e = surg__infer_elems(c, 0, buf, &n);
  *count = 0;
  if (!e) return false;
  for (uint32_t i = 0; i < n; i++) {
    const bool some =
        e[i].known ? e[i].value != 0
                   : surg__expr_at_least_num(e[i].expr, 1) || surg__expr_at_most_num(e[i].expr, -1);
    if (!some && !e[i].known) return false;
    if (some) out[(*count)++] = surg__elem_int(i);
  }
  return true;
}

/* Whether no element of input 0 is 0: its producer fills it with one number. A NaN counts as 0
 * here, because engines may differ. */
static bool filled_with_nonzero(const surg__infer *c) {
  const surg_node *fill = surg_value_producer(surg_node_input(c->n, 0), NULL);
  if (!fill || surg_node_op(fill) != SURG_OP_ConstantOfShape) return false;
  const surg_attr *a = surg_node_attr(fill, "value");
  const surg_tensor *t = a ? surg_attr_tensor(a, 0) : NULL;
  surg_range r;
  if (!t || surg_tensor_is_sparse(t) || !surg__range_of_tensor(t, &r)) return false;
  return !r.nan && (r.low > 0 || r.high < 0);
}

void surg__infer_nonzero(surg__infer *c) {
  surg__fact x;
  surg_dim dims[2] = {surg__dim_unknown(), surg__dim_unknown()};
  surg__elem at[SURG__ELEMS];
  uint32_t n = 0;
  /* Runtimes differ on the result for a scalar. */
  const bool ranked = surg__infer_ranked(c, 0, &x) && x.rank > 0;
  if (ranked) dims[0] = surg__dim(x.rank);
  const bool decided = c->states && ranked && x.rank == 1 && places(c, at, &n);
  if (decided) {
    dims[1] = surg__dim(n);
  } else if (ranked && filled_with_nonzero(c)) {
    dims[1] = surg__dim_product(x.dims, x.rank);
  }
  surg__infer_put(c, 0, SURG_INT64, dims, 2);
  if (decided) surg__infer_put_elems(c, 0, at, n);
}

void surg__infer_compress(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg_dim dims[SURG_LIMIT_RANK] = {surg__dim_unknown()};
  size_t axis;
  if (x.kind != SURG_TYPE_TENSOR) return;
  if (!surg_node_attr(c->n, "axis")) {
    surg__infer_put(c, 0, x.dtype, dims, 1);
    return;
  }
  if (!x.ranked || !surg__infer_axis(c, surg_node_int(c->n, "axis", 0), x.rank, &axis)) return;
  memcpy(dims, x.dims, x.rank * sizeof *dims);
  dims[axis] = surg__dim_unknown();
  surg__infer_put(c, 0, x.dtype, dims, x.rank);
}

void surg__infer_unique(surg__infer *c) {
  surg__infer_compress(c);
  const surg_dim unknown = surg__dim_unknown();
  for (size_t k = 1; k < 4; k++) surg__infer_put(c, k, SURG_INT64, &unknown, 1);
}

void surg__infer_nms(surg__infer *c) {
  const surg_dim dims[2] = {surg__dim_unknown(), surg__dim(3)};
  surg__infer_put(c, 0, SURG_INT64, dims, 2);
}

void surg__infer_topk(surg__infer *c) {
  surg__fact x;
  size_t axis;
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  bool negative = false;
  surg_dim k = surg__dim_unknown();
  if (!surg__infer_ranked(c, 0, &x)) return;
  if (!surg__infer_axis(c, surg_node_int(c->n, "axis", -1), x.rank, &axis)) return;
  surg_dim dims[SURG_LIMIT_RANK];
  memcpy(dims, x.dims, x.rank * sizeof *dims);
  if (c->since < 10) {
    k = surg__dim_of(surg__elem_int(surg_node_int(c->n, "k", -1)), &negative);
  } else {
    const surg__elem *e = surg__infer_elems(c, 1, buf, &n);
    if (e && n == 1) k = surg__dim_of(e[0], &negative);
  }
  if (negative ||
      (surg__dim_known(k) && surg__dim_known(dims[axis]) && k.value > dims[axis].value)) {
    surg__infer_bad(c);
    return;
  }
  dims[axis] = k;
  surg__infer_put(c, 0, x.dtype, dims, x.rank);
  surg__infer_put(c, 1, SURG_INT64, dims, x.rank);
}
