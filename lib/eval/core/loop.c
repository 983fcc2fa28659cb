/* SPDX-License-Identifier: Apache-2.0 */
/* Iteration over several arrays with different strides and one shape. */
#include "eval/core/loop.h"

#include "eval/core/number.h"

/* Whether axis d can be merged with the last merged axis, for every array. */
static bool continues(const surg__loop *l, int64_t dim, const int64_t *const *strides, uint32_t d) {
  for (uint32_t a = 0; a < l->n; ++a) {
    int64_t joined;
    if (!surg__mul_i64(strides[a][d], dim, &joined)) return false;
    if (l->strides[a][l->rank - 1] != joined) return false;
  }
  return true;
}

void surg__loop_init(surg__loop *l, const int64_t *dims, uint32_t rank, uint32_t n,
                     const int64_t *const *strides) {
  assert(n <= SURG__LOOP_ARRAYS && rank <= SURG_LIMIT_RANK);
  *l = (surg__loop){.n = n, .inner = 1};
  for (uint32_t d = 0; d < rank; ++d) {
    if (dims[d] == 0) l->done = true;
    if (dims[d] == 1) continue;
    if (l->rank > 0 && !l->done && continues(l, dims[d], strides, d)) {
      l->dims[l->rank - 1] *= dims[d];
    } else {
      l->dims[l->rank++] = dims[d];
    }
    for (uint32_t a = 0; a < n; ++a) l->strides[a][l->rank - 1] = strides[a][d];
  }
  if (l->done || l->rank == 0) return;
  --l->rank;
  l->inner = l->dims[l->rank];
  for (uint32_t a = 0; a < n; ++a) l->step[a] = l->strides[a][l->rank];
}

void surg__loop_next(surg__loop *l) {
  for (uint32_t d = l->rank; d-- > 0;) {
    for (uint32_t a = 0; a < l->n; ++a) l->at[a] += l->strides[a][d];
    if (++l->index[d] < l->dims[d]) return;
    for (uint32_t a = 0; a < l->n; ++a) l->at[a] -= l->strides[a][d] * l->dims[d];
    l->index[d] = 0;
  }
  l->done = true;
}

void surg__loop_rewind(surg__loop *l) {
  memset(l->index, 0, sizeof l->index);
  memset(l->at, 0, sizeof l->at);
  l->done = false;
}

void surg__dense_strides(const int64_t *dims, uint32_t rank, int64_t *strides) {
  int64_t step = 1;
  bool empty = false;
  for (uint32_t d = 0; d < rank; ++d) empty = empty || dims[d] == 0;
  for (uint32_t d = rank; d-- > 0;) {
    strides[d] = step;
    if (!empty) step *= dims[d];
  }
}

const void *surg__k_widen(surg_kctx *k, const surg__array *a) {
  if (a->dtype == SURG_DOUBLE) return a->data;
  if (surg__is_real(a->dtype)) {
    double *out = surg__k_scratch(k, (size_t)a->count, sizeof *out);
    if (!out) return NULL;
    for (uint64_t i = 0; i < a->count; ++i) out[i] = surg__load_f64(a->dtype, a->data, i);
    return out;
  }
  uint64_t *out = surg__k_scratch(k, (size_t)a->count, sizeof *out);
  if (!out) return NULL;
  for (uint64_t i = 0; i < a->count; ++i) out[i] = surg__load_int(a->dtype, a->data, i);
  return out;
}

bool surg__aligned_strides(const surg__array *a, const surg__array *b, int64_t axis,
                           int64_t *strides) {
  for (uint32_t d = 0; d < a->rank; ++d) strides[d] = 0;
  if (b->count == 1) return true;
  if (b->rank > a->rank || axis < 0 || axis > (int64_t)(a->rank - b->rank)) return false;
  for (uint32_t d = 0; d < b->rank; ++d) {
    if (b->dims[d] != 1 && b->dims[d] != a->dims[axis + d]) return false;
  }
  surg__broadcast_strides(b, NULL, b->rank, strides + axis);
  return true;
}

/* Broadcasting before opset 7. */
static surg__kstatus old_pair(surg_kctx *k, int64_t *strides) {
  const surg__array *a = &k->in[0], *b = &k->in[1];
  bool same = a->rank == b->rank;
  for (uint32_t d = 0; same && d < a->rank; ++d) same = a->dims[d] == b->dims[d];
  if (!same && surg_node_int(k->node, "broadcast", 0) == 0) {
    return surg__k_invalid(k, "the shapes differ and broadcast is not set");
  }
  int64_t axis = (int64_t)a->rank - (int64_t)b->rank;
  if (!same && surg_node_attr(k->node, "axis")) {
    axis = surg_node_int(k->node, "axis", axis);
    if (axis < 0 && axis >= -(int64_t)a->rank) axis += a->rank;
  }
  if (b->rank <= a->rank && surg__aligned_strides(a, b, axis, strides)) return SURG__K_OK;
  return surg__k_invalid(k, "the second shape does not fit into the first");
}

surg__kstatus surg__k_pair(surg_kctx *k, int dtype, surg__loop *l) {
  const surg__array *in[2] = {&k->in[0], &k->in[1]};
  int64_t dims[SURG_LIMIT_RANK], sa[SURG_LIMIT_RANK], sb[SURG_LIMIT_RANK], so[SURG_LIMIT_RANK];
  uint32_t rank = in[0]->rank;
  if (k->since < 7) {
    SURG__K_TRY(old_pair(k, sb));
    if (rank > 0) memcpy(dims, in[0]->dims, rank * sizeof *dims);
  } else {
    if (!surg__broadcast_dims(in, 2, dims, &rank)) {
      return surg__k_invalid(k, "the shapes do not broadcast");
    }
    surg__broadcast_strides(in[1], dims, rank, sb);
  }
  surg__broadcast_strides(in[0], dims, rank, sa);
  surg__dense_strides(dims, rank, so);
  SURG__K_TRY(surg__k_out(k, 0, dtype, dims, rank));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  surg__loop_init(l, dims, rank, 3, (const int64_t *const[]){so, sa, sb});
  return SURG__K_OK;
}
