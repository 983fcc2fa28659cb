/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that keep or broadcast shapes, and arithmetic on tracked elements. */
#include "infer/rules.h"

void surg__infer_same(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg__infer_put_like(c, 0, surg__infer_dtype(c, 0), &x);
}

/* The broadcast shape of all inputs from `first`; false: unknown. In versions with an attribute
 * `broadcast` it is the shape of the first input. */
static bool broadcast_shape(surg__infer *c, size_t first, surg_dim dims[SURG_LIMIT_RANK],
                            size_t *rank) {
  const bool to_first = surg__schema_attr(c->schema, "broadcast") != NULL;
  const size_t n = to_first ? first + 1 : surg_node_input_count(c->n);
  *rank = 0;
  for (size_t i = first; i < n; i++) {
    surg__fact f;
    if (!surg__infer_ranked(c, i, &f)) return false;
    if (!surg__dims_broadcast(dims, rank, f.dims, f.rank)) {
      surg__infer_bad(c);
      return false;
    }
  }
  return true;
}

void surg__infer_broadcast(surg__infer *c) {
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank;
  /* PRelu broadcasts only its slope: the shape is that of the first input. */
  if (c->op == SURG_OP_PRelu) {
    surg__infer_same(c);
    return;
  }
  if (surg_node_input_count(c->n) == 1) {
    surg__infer_same(c);
    return;
  }
  if (broadcast_shape(c, 0, dims, &rank))
    surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, rank);
}

void surg__infer_arith(surg__infer *c) {
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank;
  if (!broadcast_shape(c, 0, dims, &rank)) return;
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, rank);
  if (!c->states) return;
  surg__infer_arith_elems(c, dims, rank);
  surg__infer_real_arith(c, dims, rank);
}

void surg__infer_compare(surg__infer *c) {
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank;
  if (!broadcast_shape(c, 0, dims, &rank)) return;
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, rank);
  if (c->states) surg__infer_compare_elems(c, dims, rank);
}

void surg__infer_identity(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  if (x.kind != SURG_TYPE_TENSOR) {
    surg__infer_put_type(c, 0, x.type);
    return;
  }
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  surg__infer_put_like(c, 0, x.dtype, &x);
  const surg__elem *e = surg__infer_any_elems(c, 0, buf, &n);
  if (e) surg__infer_put_any_elems(c, 0, e, n);
}

static bool is_real(int64_t dtype) { return dtype == SURG_FLOAT || dtype == SURG_DOUBLE; }

void surg__infer_cast(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  int64_t to = 0;
  if (c->op == SURG_OP_CastLike) {
    const surg__fact like = surg__infer_in(c, 1);
    if (like.kind == SURG_TYPE_TENSOR) to = like.dtype;
  } else if (c->since >= 6) {
    to = surg_node_int(c->n, "to", 0);
  }
  if (to <= 0 || to >= SURG_DTYPE_COUNT) return;
  surg__infer_put_like(c, 0, (int)to, &x);
  const bool to_int = to == SURG_INT64 || to == SURG_INT32, to_real = is_real(to);
  const bool from_int = x.dtype == SURG_INT64 || x.dtype == SURG_INT32 || x.dtype == SURG_BOOL;
  if (!c->states) return;
  if ((is_real(x.dtype) && (to_int || to_real)) || (from_int && to_real)) {
    surg__infer_real_cast(c, x.dtype, (int)to);
    return;
  }
  if (!to_int) return;
  surg__elem buf[SURG__ELEMS], out[SURG__ELEMS];
  uint32_t n;
  const surg__elem *e = surg__infer_elems(c, 0, buf, &n);
  if (!e) return;
  for (uint32_t i = 0; i < n; i++) {
    const bool wraps = e[i].known && to == SURG_INT32 &&
                       (e[i].value < INT32_MIN || e[i].value > INT32_MAX);
    out[i] = wraps ? surg__elem_unknown() : e[i];
  }
  surg__infer_put_elems(c, 0, out, n);
}

void surg__infer_where(surg__infer *c) {
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank;
  if (!broadcast_shape(c, 0, dims, &rank)) return;
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, rank);
  if (c->states) surg__infer_where_elems(c, dims, rank);
}

void surg__infer_quantize(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0), zero = surg__infer_in(c, 2);
  int dtype = SURG_UINT8;
  const int64_t wanted = surg_node_int(c->n, "output_dtype", 0);
  if (surg__infer_has(c, 2))
    dtype = zero.kind == SURG_TYPE_TENSOR ? zero.dtype : 0;
  else if (surg__schema_attr(c->schema, "output_dtype") && wanted)
    dtype = wanted > 0 && wanted < SURG_DTYPE_COUNT ? (int)wanted : 0;
  surg__infer_put_like(c, 0, dtype, &x);
}

void surg__infer_dynamic_quantize(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg__infer_put_like(c, 0, SURG_UINT8, &x);
  surg__infer_put(c, 1, SURG_FLOAT, NULL, 0);
  surg__infer_put(c, 2, SURG_UINT8, NULL, 0);
}

void surg__infer_dequantize(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0), scale = surg__infer_in(c, 1);
  int64_t dtype = SURG_FLOAT;
  if (c->since >= 19) dtype = scale.kind == SURG_TYPE_TENSOR ? scale.dtype : 0;
  if (surg__schema_attr(c->schema, "output_dtype") && surg_node_int(c->n, "output_dtype", 0))
    dtype = surg_node_int(c->n, "output_dtype", 0);
  if (dtype > 0 && dtype < SURG_DTYPE_COUNT) surg__infer_put_like(c, 0, (int)dtype, &x);
}

void surg__infer_random_like(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  int64_t dtype = x.dtype;
  if (surg_node_attr(c->n, "dtype")) dtype = surg_node_int(c->n, "dtype", 0);
  if (dtype > 0 && dtype < SURG_DTYPE_COUNT) surg__infer_put_like(c, 0, (int)dtype, &x);
}

void surg__infer_dropout(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg__infer_put_like(c, 0, x.dtype, &x);
  surg__infer_put_like(c, 1, surg__infer_dtype(c, 1), &x);
}

void surg__infer_bool_scalar(surg__infer *c) {
  const int dtype = c->op == SURG_OP_SequenceLength ? SURG_INT64 : SURG_BOOL;
  surg__infer_put(c, 0, dtype, NULL, 0);
}
