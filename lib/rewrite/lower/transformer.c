/* SPDX-License-Identifier: Apache-2.0 */
/* Transformer operators other than Attention: RotaryEmbedding, CausalConvWithState and
 * TensorScatter, equivalent to lib/eval/nn/attention_linear.c. */
#include "rewrite/lower/native.h"

/* --- RotaryEmbedding: rotates pairs of elements --- */

typedef struct rotary {
  surg__builder *b;
  surg__built x, cos, sin, at; /* x: [B, H, S, D], or flat [B, S, H, D] */
  bool flat, interleaved, rest;
  int64_t heads, half;
} rotary;

static bool read_rotary(rotary *r) {
  surg__builder *b = r->b;
  const surg_node *n = surg__b_matched(b);
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &r->x) ||
      !surg__built_get(b, "cos", &r->cos) || !surg__built_get(b, "sin", &r->sin))
    return false;
  if (surg__b_get(b, "at") && (!surg__built_get(b, "at", &r->at) || r->at.rank != 2)) return false;
  const uint32_t rank = r->at.v ? 2 : 3;
  if (r->cos.rank != rank || r->sin.rank != rank || (r->x.rank != 3 && r->x.rank != 4))
    return false;
  r->flat = r->x.rank == 3;
  r->heads = surg_node_int(n, "num_heads", 0);
  r->interleaved = surg_node_int(n, "interleaved", 0) != 0;
  if (r->flat && (r->heads < 1 || r->x.d[2].n < 0 || r->x.d[2].n % r->heads)) return false;
  const int64_t size = r->flat ? r->x.d[2].n / r->heads : r->x.d[3].n;
  int64_t turning = surg_node_int(n, "rotary_embedding_dim", 0);
  const int64_t cached = r->cos.d[rank - 1].n;
  if (turning == 0) turning = size >= 0 ? size : cached < 0 ? -1 : 2 * cached;
  r->half = turning / 2;
  r->rest = turning != size && surg_node_int(n, "rotary_embedding_dim", 0) != 0;
  return turning > 0 && turning % 2 == 0 && (size < 0 || turning <= size) &&
         (cached < 0 || cached == r->half);
}

/* The cosines or sines, gathered by position ids if present: [B, S, half] with
 * an axis for the heads. */
static surg__built cache(const rotary *r, surg__built c, int dtype) {
  surg__builder *b = r->b;
  if (r->at.v) c = surg__built_gather(b, c, r->at, 0);
  return surg__built_unsqueeze(b, surg__built_cast(b, c, dtype), r->flat ? 2 : 1);
}

/* Element i of all pairs. */
static surg__built pair_part(const rotary *r, surg__built x, int64_t i) {
  surg__builder *b = r->b;
  if (!r->interleaved)
    return surg__built_slice(b, x, 3, surg__bdim_fixed(i * r->half),
                             surg__bdim_fixed((i + 1) * r->half));
  const surg__bdim apart[5] = {x.d[0], x.d[1], x.d[2], surg__bdim_fixed(r->half),
                               surg__bdim_fixed(2)};
  const surg__bdim d[4] = {x.d[0], x.d[1], x.d[2], surg__bdim_fixed(r->half)};
  x = surg__built_reshape(b, x, apart, 5);
  return surg__built_reshape(
      b, surg__built_slice(b, x, 4, surg__bdim_fixed(i), surg__bdim_fixed(i + 1)), d, 4);
}

static surg__built joined(const rotary *r, surg__built x, surg__built y, const surg__built *rest) {
  surg__builder *b = r->b;
  surg__built all[3] = {x, y};
  if (r->interleaved) {
    const surg__bdim d[4] = {x.d[0], x.d[1], x.d[2], surg__bdim_fixed(2 * r->half)};
    const surg__built first = surg__built_unsqueeze(b, x, 4);
    const surg__built pairs[2] = {first, surg__built_unsqueeze(b, y, 4)};
    all[0] = surg__built_reshape(b, surg__built_concat(b, pairs, 2, 4), d, 4);
    all[1] = *rest;
    return r->rest ? surg__built_concat(b, all, 2, 3) : all[0];
  }
  all[2] = *rest;
  return surg__built_concat(b, all, r->rest ? 3 : 2, 3);
}

static surg_status rotary_to_products(surg__builder *b) {
  rotary r = {.b = b};
  if (!read_rotary(&r)) return SURG_EUNSUPPORTED;
  const int dtype = SURG_FLOAT;
  surg__built x = r.x, rest = {0}, turned;
  if (r.flat) {
    const surg__bdim d[4] = {x.d[0], x.d[1], surg__bdim_fixed(r.heads),
                             surg__bdim_fixed(x.d[2].n / r.heads)};
    x = surg__built_reshape(b, x, d, 4);
  }
  turned = x;
  if (r.rest) {
    const int64_t size = x.d[3].n;
    rest = surg__built_slice(b, x, 3, surg__bdim_fixed(2 * r.half),
                             surg__bdim_fixed(size < 0 ? INT64_MAX : size));
    turned = surg__built_slice(b, x, 3, surg__bdim_fixed(0), surg__bdim_fixed(2 * r.half));
  }
  const surg__built c = cache(&r, r.cos, dtype), s = cache(&r, r.sin, dtype);
  turned = surg__built_cast(b, turned, dtype);
  const surg__built p = pair_part(&r, turned, 0), q = pair_part(&r, turned, 1);
  const surg__built cp = surg__built_binary(b, "Mul", c, p),
                    sq = surg__built_binary(b, "Mul", s, q);
  surg__built re = surg__built_binary(b, "Sub", cp, sq);
  const surg__built sp = surg__built_binary(b, "Mul", s, p),
                    cq = surg__built_binary(b, "Mul", c, q);
  surg__built im = surg__built_binary(b, "Add", sp, cq);
  for (uint32_t i = 0; i < 3; i++) re.d[i] = im.d[i] = x.d[i];
  re = surg__built_cast(b, re, r.x.dtype);
  im = surg__built_cast(b, im, r.x.dtype);
  const surg__built y = surg__built_reshape(b, joined(&r, re, im, &rest), r.x.d, r.x.rank);
  surg__built_result(b, "y", y);
  return b->status;
}

/* --- CausalConvWithState: a filter for each channel, over the past and the input --- */

/* Conv requires an input at least as long as its filter. If the input may be empty, one more result
 * is computed and sliced off. */
static surg__built filtered(surg__builder *b, surg__built all, surg__built w, surg__built bias,
                         surg__bdim length) {
  const bool empty = !surg__bdim_filled(&length);
  const surg__bdim one[3] = {all.d[0], w.d[0], surg__bdim_fixed(1)};
  if (empty) {
    const surg__built both[2] = {all, surg__built_fill(b, all.dtype, 0, one, 3)};
    all = surg__built_concat(b, both, 2, 2);
  }
  const surg__built wide = surg__built_cast(b, all, SURG_FLOAT),
                    filter = surg__built_cast(b, w, SURG_FLOAT);
  surg_value *const in[3] = {wide.v, filter.v,
                             bias.v ? surg__built_cast(b, bias, SURG_FLOAT).v : NULL};
  surg__built y = {.dtype = SURG_FLOAT, .rank = 3, .d = {all.d[0], w.d[0], length}};
  y.v = surg__b_node(b, "Conv", in, bias.v ? 3 : 2);
  surg__b_set_int(b, y.v, "group", w.d[0].n);
  if (!empty) return y;
  y.d[2] = surg__bdim_add(b, length, surg__bdim_fixed(1));
  return surg__built_slice(b, y, 2, surg__bdim_fixed(0), length);
}

static surg_status causal_to_conv(surg__builder *b) {
  surg__built x, w, past = {0}, bias = {0};
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) || !surg__built_get(b, "w", &w) ||
      surg__b_bad(b, x.rank != 3, "x: expected rank 3") ||
      surg__b_bad(b, w.rank != 3, "w: expected rank 3") ||
      surg__b_bad(b, w.d[0].n < 1, "w: a size is unknown or 0") ||
      surg__b_bad(b, w.d[2].n < 1, "w: a size is unknown or 0"))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b,
                  surg__b_get(b, "past") && (!surg__built_get(b, "past", &past) || past.rank != 3),
                  "past: expected rank 3"))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b,
                  surg__b_get(b, "bias") && (!surg__built_get(b, "bias", &bias) || bias.rank != 1),
                  "bias: expected rank 1"))
    return SURG_EUNSUPPORTED;
  const surg_str how = surg_node_string(surg__b_matched(b), "activation", "none");
  const bool silu = how.n != 4 || memcmp(how.p, "none", 4) != 0;
  const int64_t before = w.d[2].n - 1, channels = w.d[0].n;
  const surg__bdim d[3] = {x.d[0], surg__bdim_fixed(channels), surg__bdim_fixed(before)};
  if (!past.v) past = surg__built_fill(b, x.dtype, 0, d, 3);
  const surg__built both[2] = {past, x};
  const surg__built all = before ? surg__built_concat(b, both, 2, 2) : x;
  if (surg__b_get(b, "state")) {
    const int64_t from = before ? -before : INT64_MAX;
    surg__built state = surg__built_slice_from(b, all, 2, from);
    surg__built_result(b, "state", state);
  }
  if (!surg__b_get(b, "y")) return b->status;
  surg__built y = filtered(b, all, w, bias, x.d[2]);
  if (silu) y = surg__built_binary(b, "Mul", y, surg__built_unary(b, "Sigmoid", y));
  surg__built_result(b, "y", surg__built_cast(b, y, x.dtype));
  return b->status;
}

/* --- TensorScatter: a cache with new entries along an axis --- */

/* The source row of each result row: the cache has rows 0 .. L-1, the update has the rows after
 * them. The result is [B, 1, L], or [L] if all updates start at 0. Row j is new if (j - start) mod
 * L is less than S; without circular mode updates do not wrap around. */
static surg__built sources(surg__builder *b, const surg__built *starts, surg__bdim length,
                        surg__bdim fresh, int type) {
  const surg__built row = surg__built_range(b, length, type);
  const surg__built all = surg__bdim_scalar(b, length, type);
  surg__built behind = row;
  if (starts->v) {
    const surg__bdim d[3] = {starts->d[0], surg__bdim_fixed(1), surg__bdim_fixed(1)};
    const surg__built start = surg__built_reshape(b, surg__built_cast(b, *starts, type), d, 3);
    const surg__built round = surg__built_cast(b, surg__built_binary(b, "Less", row, start), type);
    behind = surg__built_binary(b, "Sub", row, start);
    behind = surg__built_binary(b, "Add", behind, surg__built_binary(b, "Mul", round, all));
  }
  const surg__built fresh_end = surg__bdim_scalar(b, fresh, type);
  const surg__built is_new =
      surg__built_cast(b, surg__built_binary(b, "Less", behind, fresh_end), type);
  const surg__built to =
      surg__built_binary(b, "Sub", surg__built_binary(b, "Add", behind, all), row);
  return surg__built_binary(b, "Add", row, surg__built_binary(b, "Mul", is_new, to));
}

static surg_status scatter_to_gather(surg__builder *b) {
  surg__built x, u, starts = {0};
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) || !surg__built_get(b, "u", &u) ||
      surg__b_bad(b, x.rank != u.rank, "x and u: expected equal ranks") ||
      surg__b_bad(b, x.rank < 2, "x: expected rank 2 or more") ||
      surg__b_bad(b, surg__b_get(b, "at") && !surg__built_get(b, "at", &starts),
                  "at: the rank is unknown"))
    return SURG_EUNSUPPORTED;
  const int64_t axis = surg_node_int(surg__b_matched(b), "axis", -2), rank = x.rank;
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (surg__b_bad(b, at < 1, "the axis is out of range") ||
      surg__b_bad(b, at >= rank, "the axis is out of range") ||
      surg__b_bad(b, starts.v && starts.rank != 1, "at: expected rank 1"))
    return SURG_EUNSUPPORTED;
  surg__bdim before = surg__bdim_fixed(1), behind = surg__bdim_fixed(1);
  for (int64_t i = 0; i < rank; i++) {
    if (i < at) before = surg__bdim_mul(b, before, x.d[i]);
    if (i > at) behind = surg__bdim_mul(b, behind, x.d[i]);
  }
  const surg__built both[2] = {x, u};
  const surg__bdim whole = surg__bdim_add(b, x.d[at], u.d[at]),
                   rows = surg__bdim_mul(b, before, whole);
  const int type = rows.n >= 0 && rows.n < INT32_MAX ? SURG_INT32 : SURG_INT64;
  surg__built all = surg__built_concat(b, both, 2, (uint32_t)at);
  surg__built from = sources(b, &starts, x.d[at], u.d[at], type);
  if (!starts.v) {
    surg__built_result(b, "y", surg__built_gather(b, all, from, (uint32_t)at));
    return b->status;
  }
  surg__bdim inner = surg__bdim_fixed(1);
  for (int64_t i = 1; i < at; i++) inner = surg__bdim_mul(b, inner, x.d[i]);
  const surg__bdim as_rows[2] = {rows, behind}, places[3] = {x.d[0], inner, surg__bdim_fixed(1)};
  const surg__built base =
      surg__built_reshape(b, surg__built_steps(b, before, whole, type), places, 3);
  from = surg__built_binary(b, "Add", base, from);
  all = surg__built_gather(b, surg__built_reshape(b, all, as_rows, 2), from, 0);
  surg__built_result(b, "y", surg__built_reshape(b, all, x.d, x.rank));
  return b->status;
}

const surg__native surg__natives_transformer[] = {
    {"rotary", rotary_to_products, "RotaryEmbedding as products"},
    {"causal_conv", causal_to_conv, "CausalConvWithState as Concat, Conv and Slice"},
    {"tensor_scatter", scatter_to_gather, "TensorScatter as Concat and Gather"},
    {NULL, NULL, NULL},
};
