/* SPDX-License-Identifier: Apache-2.0 */
/* Inference rules of the attention operators of ONNX Runtime (com.microsoft). */
#include "infer/rules.h"

static surg_dim times(surg_dim a, surg_dim b) {
  const surg_dim both[2] = {a, b};
  return surg__dim_product(both, 2);
}

/* The width of the values: the last of qkv_hidden_sizes, else a third of the columns of the
 * weights, which are those of query, key and value side by side. */
static surg_dim value_width(surg__infer *c) {
  surg__fact w;
  size_t n = 0;
  const bool given = surg_node_attr(c->n, "qkv_hidden_sizes") != NULL;
  const int64_t *sizes = surg_node_ints(c->n, "qkv_hidden_sizes", &n);
  if (sizes && n == 3) return sizes[2] >= 0 ? surg__dim(sizes[2]) : surg__dim_unknown();
  if ((given && n) || !surg__infer_ranked(c, 1, &w) || w.rank != 2) return surg__dim_unknown();
  return surg__dim_over(w.dims[1], 3);
}

/* States the output `present`: key and value of all steps, (2, batch, heads, steps, size). */
static void put_present(surg__infer *c, size_t past, surg_dim batch, surg_dim steps,
                        surg_dim width) {
  surg__fact f;
  const int64_t heads = surg_node_int(c->n, "num_heads", 0);
  const bool has_past = surg__infer_has(c, past);
  const int dtype = surg__infer_dtype(c, 1);
  if (heads < 1 || !dtype) return;
  surg_dim dims[5] = {surg__dim(2), batch, surg__dim(heads), steps, surg__dim_over(width, heads)};
  if (has_past) {
    const bool known = surg__infer_ranked(c, past, &f) && f.rank == 5;
    dims[3] = known ? surg__dim_sum(f.dims[3], steps) : surg__dim_unknown();
    /* A buffer shared by past and present has the length of the past. */
    if (surg_node_int(c->n, "past_present_share_buffer", 0) != 0)
      dims[3] = known ? f.dims[3] : surg__dim_unknown();
  }
  surg__infer_put(c, 1, dtype, dims, 5);
}

/* Attention and QAttention: query, key and value are products of one input and the weights. */
void surg__infer_ms_attention(surg__infer *c) {
  surg__fact x;
  const bool quantized = c->op == SURG_OP_ms_QAttention;
  if (!surg__infer_ranked(c, 0, &x) || x.rank != 3) return;
  const surg_dim batch = x.dims[0], steps = x.dims[1], width = value_width(c);
  const surg_dim dims[3] = {batch, steps, width};
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, 3);
  /* `present` exists only where heads of keys and values have one size. */
  if (!surg_node_attr(c->n, "qkv_hidden_sizes"))
    put_present(c, quantized ? 8 : 4, batch, steps, width);
}

void surg__infer_ms_packed_attention(surg__infer *c) {
  surg__fact x;
  if (!surg__infer_ranked(c, 0, &x) || x.rank != 2) return;
  const surg_dim dims[2] = {x.dims[0], value_width(c)};
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, 2);
}

void surg__infer_ms_packed_multi_head(surg__infer *c) {
  surg__fact q, v;
  if (!surg__infer_ranked(c, 0, &q)) return;
  surg_dim dims[2] = {q.dims[0], surg__dim_unknown()};
  if (q.rank == 4)
    dims[1] = times(q.dims[1], q.dims[3]); /* tokens, heads, 3, size */
  else if (q.rank != 2)
    return;
  else if (surg__infer_ranked(c, 2, &v) && v.rank == 2)
    dims[1] = v.dims[1];
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, 2);
}

/* --- MultiHeadAttention --- */

/* Steps and sizes of key and value. */
typedef struct memory {
  surg_dim steps, key_size, value_size; /* size: of one head */
} memory;

/* Reads the sizes of key and value; false: they have a form that is not supported. */
static bool read_memory(surg__infer *c, const surg__fact *q, int64_t heads, memory *m) {
  surg__fact k, v;
  if (q->rank == 5) { /* batch, steps, heads, 3, size: query, key and value in one tensor */
    *m = (memory){q->dims[1], q->dims[4], q->dims[4]};
    return !surg__infer_has(c, 1) && !surg__infer_has(c, 2);
  }
  if (q->rank != 3 || !surg__infer_ranked(c, 1, &k)) return false;
  if (k.rank == 5) { /* batch, steps, heads, 2, size: key and value in one tensor */
    *m = (memory){k.dims[1], k.dims[4], k.dims[4]};
    return !surg__infer_has(c, 2);
  }
  if (!surg__infer_ranked(c, 2, &v) || v.rank != k.rank) return false;
  if (k.rank == 3)
    *m = (memory){k.dims[1], surg__dim_over(k.dims[2], heads), surg__dim_over(v.dims[2], heads)};
  else
    *m = (memory){k.dims[2], k.dims[3], v.dims[3]};
  return k.rank == 3 || k.rank == 4;
}

static void put_memory(surg__infer *c, size_t k, size_t past, surg_dim batch, int64_t heads,
                       surg_dim steps, surg_dim size) {
  assert(heads > 0);
  surg__fact f;
  const int dtype = surg__infer_dtype(c, k);
  if (!dtype) return;
  if (surg__infer_has(c, past))
    steps = surg__infer_ranked(c, past, &f) && f.rank == 4 ? surg__dim_sum(f.dims[2], steps)
                                                       : surg__dim_unknown();
  const surg_dim dims[4] = {batch, surg__dim(heads), steps, size};
  surg__infer_put(c, k, dtype, dims, 4);
}

void surg__infer_ms_multi_head(surg__infer *c) {
  surg__fact q;
  memory m;
  const int64_t heads = surg_node_int(c->n, "num_heads", 0);
  if (!surg__infer_ranked(c, 0, &q) || heads < 1 || !read_memory(c, &q, heads, &m)) return;
  const surg_dim batch = q.dims[0];
  const surg_dim dims[3] = {batch, q.dims[1], surg__dim_times(m.value_size, heads)};
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, 3);
  /* No shape for `present` in two cases: with past_sequence_length the buffer has room for all
   * steps, and keys of rank 4 are those of another sequence. */
  surg__fact k;
  if (surg__infer_has(c, 8) || (surg__infer_ranked(c, 1, &k) && k.rank == 4)) return;
  put_memory(c, 1, 6, batch, heads, m.steps, m.key_size);
  put_memory(c, 2, 7, batch, heads, m.steps, m.value_size);
}

/* --- GroupQueryAttention --- */

void surg__infer_ms_group_query(surg__infer *c) {
  surg__fact q, k, past;
  const int64_t heads = surg_node_int(c->n, "num_heads", 0);
  const int64_t kv_heads = surg_node_int(c->n, "kv_num_heads", 0);
  if (!surg__infer_ranked(c, 0, &q) || q.rank != 3 || heads < 1 || kv_heads < 1) return;
  if (heads > INT32_MAX || kv_heads > INT32_MAX) return;
  const surg_dim batch = q.dims[0], steps = q.dims[1];
  const bool packed = !surg__infer_has(c, 1);
  const surg_dim size = surg__dim_over(q.dims[2], packed ? heads + 2 * kv_heads : heads);
  const surg_dim dims[3] = {batch, steps, packed ? surg__dim_times(size, heads) : q.dims[2]};
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, 3);
  /* The length of `present` depends on the size of the buffer of `past`. */
  surg_dim kept[4] = {batch, surg__dim(kv_heads), surg__dim_unknown(), size};
  const bool has_past = surg__infer_has(c, 3);
  if (has_past) {
    if (!surg__infer_ranked(c, 3, &past) || past.rank != 4) return;
    kept[3] = past.dims[3];
  } else if (!packed && surg__infer_ranked(c, 1, &k) && k.rank == 3) {
    kept[3] = surg__dim_over(k.dims[2], kv_heads);
  }
  for (size_t i = 1; i < 3; i++) {
    int dtype = surg__infer_dtype(c, i);
    if (!has_past && !surg_node_attr(c->n, "k_quant_type") && !surg_node_attr(c->n, "v_quant_type"))
      dtype = q.dtype; /* a new cache that is not quantized */
    if (dtype) surg__infer_put(c, i, dtype, kept, 4);
  }
}

/* --- biases by position --- */

void surg__infer_ms_position_bias(surg__infer *c) {
  surg__fact table;
  int64_t n;
  surg_dim dims[4] = {surg__dim(1), surg__dim_unknown(), surg__dim_unknown(), surg__dim_unknown()};
  if (surg__infer_ranked(c, 0, &table) && table.rank == 2) dims[1] = table.dims[1];
  for (size_t i = 1; i < 3; i++)
    if (surg__infer_int(c, i, &n) && n >= 0) dims[i + 1] = surg__dim(n);
  if (surg__infer_dtype(c, 0)) surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, 4);
}

void surg__infer_ms_gated_position_bias(surg__infer *c) {
  surg__fact q;
  const int64_t heads = surg_node_int(c->n, "num_heads", 0);
  /* With token_offset, batch and steps are those before packing. */
  if (!surg__infer_ranked(c, 0, &q) || q.rank != 3 || heads < 1 || surg__infer_has(c, 6)) return;
  const surg_dim dims[4] = {q.dims[0], surg__dim(heads), q.dims[1], q.dims[1]};
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, 4);
}
