/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of attention operators and of layers with state inputs and outputs. */
#include "infer/rules.h"

/* dim / by; a dimension that is not divisible makes the node invalid. */
static surg_dim divided(surg__infer *c, surg_dim d, int64_t by) {
  if (surg__dim_known(d) && by > 0 && d.value % by) surg__infer_bad(c);
  return surg__dim_over(d, by);
}

static surg_dim times(surg_dim a, surg_dim b) {
  const surg_dim both[2] = {a, b};
  return surg__dim_product(both, 2);
}

/* A query, key or value tensor split into heads: rank 4, or rank 3 as (batch, length, heads *
 * size). */
typedef struct heads {
  surg_dim batch, count, length, size;
} heads;

static heads heads_of(surg__infer *c, const surg__fact *f, int64_t count) {
  assert(f->rank == 3 || f->rank == 4);
  if (f->rank == 4) return (heads){f->dims[0], f->dims[1], f->dims[2], f->dims[3]};
  return (heads){f->dims[0], surg__dim(count), f->dims[1], divided(c, f->dims[2], count)};
}

/* The length of keys or values including those of the past. */
static surg_dim with_past(surg__infer *c, size_t past, surg_dim length) {
  surg__fact f;
  if (!surg__infer_has(c, past)) return length;
  if (!surg__infer_ranked(c, past, &f)) return surg__dim_unknown();
  if (f.rank != 4) {
    surg__infer_bad(c);
    return length;
  }
  return surg__dim_sum(f.dims[2], length);
}

static void put_heads(surg__infer *c, size_t k, surg_dim batch, surg_dim count, surg_dim length,
                      surg_dim size) {
  const surg_dim dims[4] = {batch, count, length, size};
  if (surg__infer_dtype(c, k)) surg__infer_put(c, k, surg__infer_dtype(c, k), dims, 4);
}

static bool all_of_rank(const surg__fact *f, size_t n, uint32_t rank) {
  for (size_t i = 0; i < n; i++)
    if (f[i].rank != rank) return false;
  return true;
}

void surg__infer_attention(surg__infer *c) {
  surg__fact f[3];
  const int64_t q_heads = surg_node_int(c->n, "q_num_heads", 0);
  const int64_t kv_heads = surg_node_int(c->n, "kv_num_heads", 0);
  for (size_t i = 0; i < 3; i++)
    if (!surg__infer_ranked(c, i, &f[i])) return;
  const bool flat = all_of_rank(f, 3, 3);
  for (size_t i = 0; i < 3; i++)
    if (f[i].rank != 3 && f[i].rank != 4) surg__infer_bad(c);
  if (!flat && !all_of_rank(f, 3, 4)) return;
  if (flat && (q_heads < 1 || kv_heads < 1)) {
    surg__infer_bad(c);
    return;
  }
  const heads q = heads_of(c, &f[0], q_heads), k = heads_of(c, &f[1], kv_heads);
  const heads v = heads_of(c, &f[2], kv_heads);
  const surg_dim keys = with_past(c, 4, k.length), values = with_past(c, 5, v.length);
  surg_dim batch;
  if (c->bad || !surg__dim_unify(q.batch, k.batch, &batch)) {
    surg__infer_bad(c);
    return;
  }
  if (flat) {
    const surg_dim y[3] = {q.batch, q.length, times(q.count, v.size)};
    surg__infer_put(c, 0, surg__infer_dtype(c, 0), y, 3);
  } else {
    put_heads(c, 0, q.batch, q.count, q.length, v.size);
  }
  if (c->op == SURG_OP_preview_FlexAttention) return;
  put_heads(c, 1, k.batch, k.count, keys, k.size);
  put_heads(c, 2, v.batch, v.count, values, v.size);
  put_heads(c, 3, q.batch, q.count, q.length, keys);
}

void surg__infer_linear_attention(surg__infer *c) {
  surg__fact f[3], past;
  const int64_t q_heads = surg_node_int(c->n, "q_num_heads", 0);
  const int64_t kv_heads = surg_node_int(c->n, "kv_num_heads", 0);
  for (size_t i = 0; i < 3; i++)
    if (!surg__infer_ranked(c, i, &f[i])) return;
  if (!all_of_rank(f, 3, 3) || q_heads < 1 || kv_heads < 1) {
    surg__infer_bad(c);
    return;
  }
  const heads q = heads_of(c, &f[0], q_heads), v = heads_of(c, &f[2], kv_heads);
  if (c->bad) return;
  const surg_dim y[3] = {q.batch, q.length, times(q.count, v.size)};
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), y, 3);
  if (!surg__infer_has(c, 3)) {
    /* The type of the new state is known only for float. */
    const surg_dim state[4] = {q.batch, v.count, q.size, v.size};
    if (f[0].dtype == SURG_FLOAT) surg__infer_put(c, 1, SURG_FLOAT, state, 4);
    return;
  }
  past = surg__infer_in(c, 3);
  if (past.kind == SURG_TYPE_TENSOR) surg__infer_put_like(c, 1, past.dtype, &past);
}

void surg__infer_causal_conv(surg__infer *c) {
  surg__fact x, w;
  const bool has_x = surg__infer_ranked(c, 0, &x), has_w = surg__infer_ranked(c, 1, &w);
  const int dtype = surg__infer_dtype(c, 0);
  if ((has_x && x.rank != 3) || (has_w && (w.rank != 3 || w.dims[2].value == 0))) {
    surg__infer_bad(c);
    return;
  }
  if (!has_x) return;
  surg__infer_put_like(c, 0, dtype, &x);
  surg_dim state[3] = {x.dims[0], x.dims[1], surg__dim_unknown()};
  if (has_w) state[2] = surg__dim_add(w.dims[2], -1);
  surg__infer_put(c, 1, dtype, state, 3);
}

void surg__infer_swiglu(surg__infer *c) {
  surg__fact a = surg__infer_in(c, 0), b = surg__infer_in(c, 1);
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank = a.rank;
  if (!a.ranked || !b.ranked) return;
  memcpy(dims, a.dims, rank * sizeof *dims);
  if (surg__dims_broadcast(dims, &rank, b.dims, b.rank))
    surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, rank);
  else
    surg__infer_bad(c);
}
