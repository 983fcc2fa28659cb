/* SPDX-License-Identifier: Apache-2.0 */
/* Inverse and UnfoldTensor of com.microsoft. */
#include "rewrite/lower/native.h"

#define MOST_ROWS 16 /* of a matrix: a step of the elimination, about 16 nodes, for each row */

/* --- Inverse: elimination with the largest pivot of each column --- */

/* [rows, 1] of bool: true in row `at`, or in all from there on. */
static surg__built row_mask(surg__builder *b, int64_t rows, int64_t at, bool onwards) {
  double numbers[MOST_ROWS];
  const int64_t dims[2] = {rows, 1};
  for (int64_t i = 0; i < rows; i++) numbers[i] = i == at || (onwards && i > at);
  return surg__built_numbers(b, SURG_BOOL, dims, 2, numbers);
}

/* m [batch, rows, 2 * rows] after the step that makes column k a column of the identity. */
static surg__built eliminated(surg__builder *b, surg__built m, int64_t k) {
  const int64_t rows = m.d[1].n;
  const surg__built none = surg__built_scalar(b, m.dtype, 0);
  const surg__bdim from = surg__bdim_fixed(k), to = surg__bdim_fixed(k + 1);
  surg__built size = surg__built_unary(b, "Abs", surg__built_slice(b, m, 2, from, to));
  const surg__built left = row_mask(b, rows, k, true);
  size = surg__built_where(b, left, size, surg__built_scalar(b, m.dtype, -1));
  surg__built best = size;
  best.v = surg__b_unary(b, "ArgMax", size.v);
  surg__b_set_int(b, best.v, "axis", 1);
  best.dtype = SURG_INT64;
  best.d[1] = surg__bdim_fixed(1); /* [batch, 1, 1] */
  const surg__built i = surg__built_unsqueeze(b, surg__built_range(b, m.d[1], SURG_INT64), 1);
  const surg__built is_best = surg__built_binary(b, "Equal", i, best);
  surg__built pivot =
      surg__built_reduce(b, "ReduceSum", surg__built_where(b, is_best, m, none), 1, true);
  const surg__built row = surg__built_slice(b, m, 1, from, to), here = row_mask(b, rows, k, false);
  m = surg__built_where(b, is_best, row, m);
  pivot = surg__built_binary(b, "Div", pivot, surg__built_slice(b, pivot, 2, from, to));
  surg__built factor = surg__built_slice(b, m, 2, from, to);
  m = surg__built_binary(b, "Sub", m, surg__built_binary(b, "Mul", factor, pivot));
  return surg__built_where(b, here, pivot, m);
}

/* y = Inverse (x) */
static surg_status inverse(surg__builder *b) {
  surg__built x;
  if (!surg__built_get(b, "x", &x) || surg__b_bad(b, x.rank < 2, "x: expected rank 2 or more"))
    return SURG_EUNSUPPORTED;
  const int64_t rows = x.d[x.rank - 1].n;
  if (surg__b_bad(b, x.dtype != SURG_FLOAT && x.dtype != SURG_FLOAT16 && x.dtype != SURG_DOUBLE,
                  "x: expected floats") ||
      surg__b_bad(b, rows < 1 || rows > MOST_ROWS || x.d[x.rank - 2].n != rows,
                  "x: expected square matrices of at most 16 rows"))
    return SURG_EUNSUPPORTED;
  surg__bdim batch = surg__bdim_fixed(1);
  for (uint32_t i = 0; i + 2 < x.rank; i++) batch = surg__bdim_mul(b, batch, x.d[i]);
  const surg__bdim n = surg__bdim_fixed(rows), d[3] = {batch, n, n};
  double identity[MOST_ROWS * MOST_ROWS] = {0};
  const int64_t dims[3] = {1, rows, rows};
  for (int64_t i = 0; i < rows; i++) identity[i * rows + i] = 1;
  const int type = x.dtype == SURG_DOUBLE ? SURG_DOUBLE : SURG_FLOAT;
  surg__built m = surg__built_reshape(b, surg__built_cast(b, x, type), d, 3);
  const surg__built one = surg__built_numbers(b, type, dims, 3, identity);
  const surg__built both[2] = {m, surg__built_expand(b, one, d, 3)};
  m = surg__built_concat(b, both, 2, 2);
  for (int64_t k = 0; k < rows; k++) {
    m = eliminated(b, m, k);
    m.d[0] = batch;
  }
  m = surg__built_slice(b, m, 2, n, surg__bdim_fixed(2 * rows));
  m = surg__built_reshape(b, m, x.d, x.rank);
  surg__built_result(b, "y", surg__built_cast(b, m, x.dtype));
  return b->status;
}

/* --- UnfoldTensor: windows along an axis, which become the last axis --- */

/* y = UnfoldTensor <dim, size, step> (x) */
static surg_status unfold(surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  surg__built x;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) ||
      surg__b_bad(b, x.rank < 1 || x.rank >= SURG__BT_RANK, "x: expected rank 1 to 7"))
    return SURG_EUNSUPPORTED;
  const int64_t size = surg_node_int(n, "size", 0), step = surg_node_int(n, "step", 1);
  int64_t axis = surg_node_int(n, "dim", -1);
  if (axis < 0) axis += x.rank;
  if (surg__b_bad(b, axis < 0 || axis >= x.rank, "dim is out of range") ||
      surg__b_bad(b, size < 1 || step < 1 || x.d[axis].n < size, "the windows do not fit"))
    return SURG_EUNSUPPORTED;
  const int64_t dims[2] = {(x.d[axis].n - size) / step + 1, size};
  if (surg__b_bad(b, dims[0] > SURG_LIMIT_EMIT_CONSTANT / size, "there are too many windows"))
    return SURG_EUNSUPPORTED;
  double *at = surg__arena_array(b->m->arena, (size_t)(dims[0] * size) + 1, sizeof *at);
  if (!at) return SURG_ENOMEM;
  for (int64_t i = 0; i < dims[0] * size; i++) at[i] = (double)(i / size * step + i % size);
  surg__built y =
      surg__built_gather(b, x, surg__built_numbers(b, SURG_INT64, dims, 2, at), (uint32_t)axis);
  int64_t perm[SURG__BT_RANK];
  for (uint32_t i = 0; i < y.rank; i++) perm[i] = i <= axis ? i : i + 1 < y.rank ? i + 1 : axis + 1;
  surg__built_result(b, "y", surg__built_transpose(b, y, perm));
  return b->status;
}

const surg__native surg__natives_inverse[] = {
    {"ms_inverse", inverse, "Inverse by elimination"},
    {"ms_unfold", unfold, "UnfoldTensor as Gather and Transpose"},
    {NULL, NULL, NULL},
};
