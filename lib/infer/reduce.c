/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of reductions and products. */
#include "infer/rules.h"

/* States the shape after the axes in `set` are reduced. */
static void put_reduced(surg__infer *c, int dtype, const surg__fact *x, uint64_t set, bool keep) {
  assert(x->rank >= 64 || set >> x->rank == 0);
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (!(set >> i & 1))
      dims[rank++] = x->dims[i];
    else if (keep)
      dims[rank++] = surg__dim(1);
  }
  surg__infer_put(c, 0, dtype, dims, rank);
}

static uint64_t all_axes(uint32_t rank) {
  return rank >= 64 ? UINT64_MAX : (UINT64_C(1) << rank) - 1;
}

void surg__infer_reduce(surg__infer *c) {
  surg__fact x;
  uint64_t set;
  bool absent;
  const bool keep = surg_node_int(c->n, "keepdims", 1) == 1;
  const bool noop = surg_node_int(c->n, "noop_with_empty_axes", 0) == 1;
  const int dtype = surg__infer_dtype(c, 0);
  if (!surg__infer_ranked(c, 0, &x)) return;
  if (surg__infer_axes(c, 1, x.rank, &set, &absent)) {
    if (!set && !noop) set = all_axes(x.rank);
    put_reduced(c, dtype, &x, set, keep);
    surg__infer_reduce_elems(c, &x, set);
  } else if (keep && !c->bad) {
    surg_dim dims[SURG_LIMIT_RANK];
    for (uint32_t i = 0; i < x.rank; i++)
      dims[i] = x.dims[i].value == 1 ? x.dims[i] : surg__dim_unknown();
    surg__infer_put(c, 0, dtype, dims, x.rank);
  }
}

void surg__infer_arg(surg__infer *c) {
  surg__fact x;
  size_t axis;
  if (!surg__infer_ranked(c, 0, &x)) return;
  if (!surg__infer_axis(c, surg_node_int(c->n, "axis", 0), x.rank, &axis)) return;
  put_reduced(c, SURG_INT64, &x, UINT64_C(1) << axis, surg_node_int(c->n, "keepdims", 1) == 1);
}

/* The shape of a matrix product under numpy rules; false: the shapes do not match. */
static bool product_dims(const surg__fact *a, const surg__fact *b, surg_dim *dims, size_t *rank) {
  if (a->rank == 0 || b->rank == 0) return false;
  surg_dim inner;
  const surg_dim b_inner = b->rank == 1 ? b->dims[0] : b->dims[b->rank - 2];
  if (!surg__dim_unify(a->dims[a->rank - 1], b_inner, &inner)) return false;
  const size_t na = a->rank < 2 ? 0 : a->rank - 2u, nb = b->rank < 2 ? 0 : b->rank - 2u;
  *rank = na;
  if (na) memcpy(dims, a->dims, na * sizeof *dims);
  if (!surg__dims_broadcast(dims, rank, b->dims, nb)) return false;
  if (a->rank > 1) dims[(*rank)++] = a->dims[a->rank - 2];
  if (b->rank > 1) dims[(*rank)++] = b->dims[b->rank - 1];
  assert(*rank <= SURG_LIMIT_RANK); /* both operands were broadcast without their last two axes */
  return true;
}

static bool asks(const surg__infer *c, const char *attr) {
  return surg__schema_attr(c->schema, attr) && surg_node_int(c->n, attr, 0) != 0;
}

/* Orders the axes of an operand as a product reads them: if attribute `batch` is set, its first
 * axis precedes its last one, and if `trans` is set, its last two are swapped. False: it has too
 * few axes for that. */
static bool turned(const surg__infer *c, const char *trans, const char *batch, surg__fact *f,
                   surg_dim buf[SURG_LIMIT_RANK]) {
  const bool swaps = asks(c, trans), moves = asks(c, batch);
  if (!swaps && !moves) return true;
  if (f->rank < 2) return false;
  const size_t row = f->rank - 2, column = f->rank - 1;
  memcpy(buf, f->dims, f->rank * sizeof *buf);
  if (moves) {
    memmove(buf, buf + 1, row * sizeof *buf);
    buf[row] = f->dims[0];
  }
  if (swaps) {
    const surg_dim last = buf[column];
    buf[column] = buf[row];
    buf[row] = last;
  }
  f->dims = buf;
  return true;
}

/* The element type of a product; for 16-bit integers it is known only for signed operands. */
static int product_dtype(const surg__infer *c, const surg__fact *a, const surg__fact *b) {
  if (c->op != SURG_OP_ms_MatMulInteger16) return surg__infer_dtype(c, 0);
  return a->dtype == SURG_INT16 && b->dtype == SURG_INT16 ? SURG_INT32 : 0;
}

void surg__infer_matmul(surg__infer *c) {
  surg__fact a, b;
  surg_dim dims[SURG_LIMIT_RANK + 2], a_dims[SURG_LIMIT_RANK], b_dims[SURG_LIMIT_RANK];
  size_t rank;
  if (!surg__infer_ranked(c, 0, &a)) return;
  if (!surg__infer_ranked(c, c->op == SURG_OP_QLinearMatMul ? 3 : 1, &b)) return;
  if (!turned(c, "transA", "transBatchA", &a, a_dims) ||
      !turned(c, "transB", "transBatchB", &b, b_dims))
    return;
  const int dtype = product_dtype(c, &a, &b);
  if (product_dims(&a, &b, dims, &rank))
    surg__infer_put(c, 0, dtype, dims, rank);
  else
    surg__infer_bad(c);
}

/* The element type of the zero point; without one the result is float. */
static int quantized_dtype(surg__infer *c, size_t zero_point) {
  if (!surg__infer_has(c, zero_point)) return SURG_FLOAT;
  const surg__fact f = surg__infer_in(c, zero_point);
  return f.kind == SURG_TYPE_TENSOR ? f.dtype : 0;
}

void surg__infer_gemm(surg__infer *c) {
  surg__fact a, b;
  const bool ta = surg_node_int(c->n, "transA", 0) != 0, tb = surg_node_int(c->n, "transB", 0) != 0;
  surg_dim dims[2] = {surg__dim_unknown(), surg__dim_unknown()};
  surg_dim inner[2] = {surg__dim_unknown(), surg__dim_unknown()}, same;
  const bool quantized = c->op == SURG_OP_ms_QGemm;
  const bool has_a = surg__infer_ranked(c, 0, &a),
             has_b = surg__infer_ranked(c, quantized ? 3 : 1, &b);
  if ((has_a && a.rank != 2) || (has_b && b.rank != 2)) {
    surg__infer_bad(c);
    return;
  }
  if (has_a) {
    dims[0] = a.dims[ta];
    inner[0] = a.dims[!ta];
  }
  if (has_b) {
    dims[1] = b.dims[!tb];
    inner[1] = b.dims[tb];
  }
  if (!surg__dim_unify(inner[0], inner[1], &same)) {
    surg__infer_bad(c);
    return;
  }
  surg__infer_put(c, 0, quantized ? quantized_dtype(c, 8) : surg__infer_dtype(c, 0), dims, 2);
}

void surg__infer_loss(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0), labels = surg__infer_in(c, 1);
  const int dtype = surg__infer_dtype(c, 0);
  const surg_str how = surg_node_string(c->n, "reduction", "mean");
  if (how.n == 4 && !memcmp(how.p, "none", 4))
    surg__infer_put_like(c, 0, dtype, &labels);
  else
    surg__infer_put(c, 0, dtype, NULL, 0);
  surg__infer_put_like(c, 1, dtype, &x);
}

void surg__infer_det(surg__infer *c) {
  surg__fact x;
  if (!surg__infer_ranked(c, 0, &x)) return;
  if (x.rank < 2)
    surg__infer_bad(c);
  else
    surg__infer_put(c, 0, x.dtype, x.dims, x.rank - 2);
}
