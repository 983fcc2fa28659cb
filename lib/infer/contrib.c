/* SPDX-License-Identifier: Apache-2.0 */
/* Inference rules of the com.microsoft operators of ONNX Runtime. Their signatures grow from
 * release to release: where a rule does not recognise the form of a node it states nothing, and
 * does not report the node as wrong. An operator that is an ONNX operator with other inputs uses
 * the rule of that one. */
#include "infer/rules.h"

/* Applies `rule`, that of an ONNX operator, as of opset `since`. */
static void as_since(surg__infer *c, int since, surg__infer_fn rule) {
  const int own = c->since;
  c->since = since;
  rule(c);
  c->since = own;
}

void surg__infer_ms_pad(surg__infer *c) {
  as_since(c, 13, surg__infer_pad);
}

void surg__infer_ms_dequantize(surg__infer *c) {
  as_since(c, 19, surg__infer_dequantize);
}

void surg__infer_ms_range(surg__infer *c) {
  if (surg__infer_has(c, 2)) surg__infer_range(c);
}

/* --- kept shapes --- */

/* Outputs 0 and `also` have the shape of input 0. */
static void same_and(surg__infer *c, size_t also) {
  const surg__fact x = surg__infer_in(c, 0);
  surg__infer_put_like(c, 0, surg__infer_dtype(c, 0), &x);
  surg__infer_put_like(c, also, surg__infer_dtype(c, also), &x);
}

void surg__infer_ms_skip_layer_norm(surg__infer *c) {
  same_and(c, 3);
}

void surg__infer_ms_skip_group_norm(surg__infer *c) {
  same_and(c, 1);
}

void surg__infer_ms_simple_layer_norm(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg_dim dims[SURG_LIMIT_RANK];
  size_t axis;
  surg__infer_put_like(c, 0, surg__infer_dtype(c, 0), &x);
  if (!x.ranked || !surg__infer_axis(c, surg_node_int(c->n, "axis", -1), x.rank, &axis)) return;
  const int64_t dtype = surg_node_int(c->n, "stash_type", SURG_FLOAT);
  if (dtype != SURG_FLOAT && dtype != SURG_DOUBLE) return;
  for (size_t i = 0; i < x.rank; i++) dims[i] = i < axis ? x.dims[i] : surg__dim(1);
  surg__infer_put(c, 1, (int)dtype, dims, x.rank);
}

void surg__infer_ms_dropout(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  surg__infer_put_like(c, 0, surg__infer_dtype(c, 0), &x);
  if (c->op == SURG_OP_ms_BiasDropout) {
    surg__infer_put_like(c, 1, SURG_BOOL, &x);
  } else if (x.ranked) {
    const surg_dim words = surg__dim_over_up(surg__dim_product(x.dims, x.rank), 32);
    surg__infer_put(c, 1, SURG_UINT32, &words, 1);
  }
}

void surg__infer_ms_hash(surg__infer *c) {
  const surg__fact x = surg__infer_in(c, 0);
  const bool positive = surg_node_int(c->n, "positive", 1) != 0;
  surg__infer_put_like(c, 0, positive ? SURG_UINT32 : SURG_INT32, &x);
}

void surg__infer_ms_ngram(surg__infer *c) {
  const surg__fact scores = surg__infer_in(c, 1);
  surg__infer_put_like(c, 0, SURG_FLOAT, &scores);
}

/* --- broadcasting and concatenation of quantized tensors --- */

static void broadcast_of(surg__infer *c, const size_t *inputs, size_t n) {
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank = 0;
  for (size_t i = 0; i < n; i++) {
    surg__fact f;
    if (!surg__infer_ranked(c, inputs[i], &f)) return;
    if (!surg__dims_broadcast(dims, &rank, f.dims, f.rank)) {
      surg__infer_bad(c);
      return;
    }
  }
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, rank);
}

void surg__infer_ms_qlinear_binary(surg__infer *c) {
  broadcast_of(c, (const size_t[]){0, c->op == SURG_OP_ms_MulInteger ? 2 : 3}, 2);
}

void surg__infer_ms_qlinear_where(surg__infer *c) {
  broadcast_of(c, (const size_t[]){0, 1, 4}, 3);
}

/* Inputs: scale and zero point of the result, then tensor, scale and zero point of each part. */
void surg__infer_ms_qlinear_concat(surg__infer *c) {
  surg__fact f;
  surg_dim dims[SURG_LIMIT_RANK];
  const size_t n = surg_node_input_count(c->n);
  size_t axis;
  if (n < 5 || !surg__infer_ranked(c, 2, &f)) return;
  const uint32_t rank = f.rank;
  if (!surg__infer_axis(c, surg_node_int(c->n, "axis", 0), rank, &axis)) return;
  memcpy(dims, f.dims, rank * sizeof *dims);
  for (size_t i = 5; i < n; i += 3) {
    if (!surg__infer_ranked(c, i, &f)) return;
    bool fits = f.rank == rank;
    for (uint32_t k = 0; k < rank && fits; k++) {
      if (k == axis)
        dims[k] = surg__dim_sum(dims[k], f.dims[k]);
      else
        fits = surg__dim_unify(dims[k], f.dims[k], &dims[k]);
    }
    if (!fits) {
      surg__infer_bad(c);
      return;
    }
  }
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, rank);
}

/* --- products --- */

/* A product with weights of N columns that are stored in blocks. */
void surg__infer_ms_matmul_blocks(surg__infer *c) {
  surg__fact a;
  surg_dim dims[SURG_LIMIT_RANK];
  const int64_t columns = surg_node_int(c->n, "N", -1);
  if (!surg__infer_ranked(c, 0, &a) || a.rank < 1 || columns < 0) return;
  if (c->op == SURG_OP_ms_MatMulBnb4 && surg_node_int(c->n, "transB", 1) != 1) return;
  memcpy(dims, a.dims, a.rank * sizeof *dims);
  dims[a.rank - 1] = surg__dim(columns);
  surg__infer_put(c, 0, a.dtype, dims, a.rank);
}

void surg__infer_ms_cdist(surg__infer *c) {
  surg__fact a, b;
  if (!surg__infer_ranked(c, 0, &a) || !surg__infer_ranked(c, 1, &b) || a.rank != 2 || b.rank != 2)
    return;
  const surg_dim dims[2] = {a.dims[0], b.dims[0]};
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, 2);
}

/* --- layers --- */

void surg__infer_ms_bias_split_gelu(surg__infer *c) {
  surg__fact x;
  if (!surg__infer_ranked(c, 0, &x) || x.rank != 3) return;
  const surg_dim dims[3] = {x.dims[0], x.dims[1], surg__dim_over(x.dims[2], 2)};
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, 3);
}

void surg__infer_ms_embed_layer_norm(surg__infer *c) {
  surg__fact ids, words;
  if (!surg__infer_ranked(c, 0, &ids) || !surg__infer_ranked(c, 2, &words)) return;
  if (ids.rank != 2 || words.rank != 2) return;
  const surg_dim dims[3] = {ids.dims[0], ids.dims[1], words.dims[1]};
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, 3);
  /* The mask as an index: of the form that mask_index_type selects. Only form 0 has a known
   * length. */
  if (surg_node_int(c->n, "mask_index_type", 0) == 0) surg__infer_put(c, 1, SURG_INT32, dims, 1);
  if (surg__infer_dtype(c, 2)) surg__infer_put(c, 2, surg__infer_dtype(c, 2), dims, 3);
}

/* An LSTM whose weights are (directions, input, 4 * hidden). */
void surg__infer_ms_quantized_lstm(surg__infer *c) {
  surg__fact x, r;
  const surg_str way = surg_node_string(c->n, "direction", "forward");
  if (!surg__infer_ranked(c, 0, &x) || x.rank != 3) return;
  const bool both = way.n == 13 && !memcmp(way.p, "bidirectional", 13);
  const bool one = way.n == 7 && (!memcmp(way.p, "forward", 7) || !memcmp(way.p, "reverse", 7));
  const surg_dim dirs = both ? surg__dim(2) : one ? surg__dim(1) : surg__dim_unknown();
  const surg_dim steps = x.dims[0], batch = x.dims[1];
  const int64_t size = surg_node_int(c->n, "hidden_size", -1);
  surg_dim hidden = size > 0 ? surg__dim(size) : surg__dim_unknown();
  if (size <= 0 && surg__infer_ranked(c, 2, &r) && r.rank == 3) hidden = r.dims[1];
  const surg_dim y[4] = {steps, dirs, batch, hidden}, last[3] = {dirs, batch, hidden};
  surg__infer_put(c, 0, SURG_FLOAT, y, 4);
  surg__infer_put(c, 1, SURG_FLOAT, last, 3);
  surg__infer_put(c, 2, SURG_FLOAT, last, 3);
}

/* Transposed convolution whose pads are an input: spatial sizes are unknown before it runs. */
void surg__infer_ms_conv_transpose(surg__infer *c) {
  surg__fact x, w;
  surg_dim dims[SURG_LIMIT_RANK];
  if (!surg__infer_ranked(c, 0, &x) || x.rank < 2) return;
  const uint32_t rank = x.rank;
  const int64_t group = surg_node_int(c->n, "group", 1);
  dims[0] = x.dims[0];
  for (uint32_t i = 1; i < rank; i++) dims[i] = surg__dim_unknown();
  if (surg__infer_ranked(c, 1, &w) && w.rank == rank && group > 0)
    dims[1] = surg__dim_times(w.dims[1], group);
  surg__infer_put(c, 0, x.dtype, dims, rank);
}

void surg__infer_ms_crop_and_resize(surg__infer *c) {
  surg__fact x, rois;
  int64_t size[2];
  uint32_t n = 0;
  if (!surg__infer_ranked(c, 0, &x) || !surg__infer_ranked(c, 1, &rois) || x.rank != 4 ||
      rois.rank != 2)
    return;
  surg_dim dims[4] = {rois.dims[0], x.dims[1], surg__dim_unknown(), surg__dim_unknown()};
  if (surg__infer_ints(c, 3, size, 2, &n) && n == 2 && size[0] > 0 && size[1] > 0) {
    dims[2] = surg__dim(size[0]);
    dims[3] = surg__dim(size[1]);
  }
  surg__infer_put(c, 0, x.dtype, dims, 4);
}

/* --- indices, text --- */

void surg__infer_ms_expand_dims(surg__infer *c) {
  surg__fact x;
  int64_t axis;
  surg_dim dims[SURG_LIMIT_RANK + 1];
  if (!surg__infer_ranked(c, 0, &x) || !surg__infer_int(c, 1, &axis)) return;
  if (axis < 0) axis += (int64_t)x.rank + 1;
  if (axis < 0 || axis > (int64_t)x.rank) return;
  for (uint32_t i = 0, k = 0; k <= x.rank; k++)
    dims[k] = (int64_t)k == axis ? surg__dim(1) : x.dims[i++];
  surg__infer_put(c, 0, x.dtype, dims, x.rank + 1u);
}

void surg__infer_ms_unique(surg__infer *c) {
  surg__fact x;
  const surg_dim unknown = surg__dim_unknown();
  if (!surg__infer_ranked(c, 0, &x) || x.rank != 1) return;
  surg__infer_put(c, 0, x.dtype, &unknown, 1);
  surg__infer_put(c, 1, SURG_INT64, x.dims, 1);
  const surg_value *y = surg_node_output(c->n, 0);
  surg__fact found = y ? surg__infer_value(c, y, 1) : (surg__fact){0};
  if (!c->states || !found.ranked)
    surg__infer_put(c, 2, SURG_INT64, &unknown, 1);
  else
    surg__infer_put(c, 2, SURG_INT64, found.dims, 1);
}

/* Splits text into words: each row has as many columns as the longest one has words. */
void surg__infer_ms_tokenizer(surg__infer *c) {
  surg__fact x;
  surg_dim dims[3];
  if (!surg__infer_ranked(c, 0, &x) || x.rank < 1 || x.rank > 2) return;
  memcpy(dims, x.dims, x.rank * sizeof *dims);
  dims[x.rank] = surg__dim_unknown();
  surg__infer_put(c, 0, SURG_STRING, dims, x.rank + 1u);
}

/* Gather of data that is quantized in blocks. Elements below 8 bits share bytes along the last
 * axis. */
void surg__infer_ms_gather_blocks(surg__infer *c) {
  surg__fact data, indices;
  surg_dim dims[2 * SURG_LIMIT_RANK];
  size_t axis, n = 0;
  if (!surg__infer_ranked(c, 0, &data) || !surg__infer_ranked(c, 1, &indices) || data.rank < 1)
    return;
  if (!surg__infer_axis(c, surg_node_int(c->n, "gather_axis", 0), data.rank, &axis)) return;
  const int64_t bits = surg_node_int(c->n, "bits", 4);
  const bool packed = data.dtype == SURG_UINT8 && bits != 8;
  if (packed && (bits < 1 || 8 % bits != 0 || axis + 1 == data.rank)) return;
  for (uint32_t i = 0; i < data.rank; i++) {
    const bool last = i + 1 == data.rank;
    if (i == axis) {
      memcpy(dims + n, indices.dims, indices.rank * sizeof *dims);
      n += indices.rank;
    } else {
      dims[n++] = packed && last ? surg__dim_times(data.dims[i], 8 / bits) : data.dims[i];
    }
  }
  assert(n == data.rank - 1u + indices.rank && n < SURG_COUNT(dims));
  surg__infer_put(c, 0, surg__infer_dtype(c, 0), dims, n);
}
