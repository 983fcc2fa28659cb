/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and MultiHeadAttention of com.microsoft as products and a softmax, computed in float,
 * equivalent to lib/eval/contrib/contrib_attention.c. */
#include <math.h>

#include "rewrite/lower/native.h"

typedef struct heads {
  surg__builder *b;
  const surg_node *n;
  int64_t count;
  int type; /* of the output */
  surg__built q, k, v, bias; /* [batch, length, width]; bias: added to scores */
  surg__built mask;          /* v NULL: absent (bias, too) */
} heads;

static bool is_float(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16;
}

static bool read_heads(heads *h) {
  h->n = surg__b_matched(h->b);
  h->count = surg_node_int(h->n, "num_heads", 0);
  if (!surg__b_attrs_known(h->b) || h->count < 1 || h->b->m->opset < 13) return false;
  return !surg__b_get(h->b, "ab") || (surg__built_get(h->b, "ab", &h->bias) && h->bias.rank == 4);
}

static bool fits(const heads *h, int64_t q, int64_t k, int64_t v) {
  return q > 0 && k == q && v > 0 && q % h->count == 0 && v % h->count == 0;
}

/* Splits the heads: [batch, length, heads * size] to [batch, heads, length, size]. */
static surg__built apart(const heads *h, surg__built x) {
  assert(h->b->status || x.d[2].n % h->count == 0); /* checked by `fits` */
  const surg__bdim d[4] = {x.d[0], x.d[1], surg__bdim_fixed(h->count),
                           surg__bdim_fixed(x.d[2].n / h->count)};
  return surg__built_swap(h->b, surg__built_reshape(h->b, x, d, 4), 1, 2);
}

/* Reads the mask: lengths [batch], ends and then starts [2 batch], or booleans [batch, keys] or
 * [batch, queries, keys]. For rank 1 the size decides which form it is. */
static bool read_mask(heads *h, const surg__bdim *batch, const surg__bdim *keys,
                      const surg__bdim *queries) {
  const surg__built *m = &h->mask;
  if (!surg__b_get(h->b, "mask")) return true;
  if (!surg__built_get(h->b, "mask", &h->mask) || m->dtype != SURG_INT32) return false;
  if (m->rank == 1)
    return surg__bdim_same(&m->d[0], batch) ||
           (batch->n > 0 && batch->n <= INT32_MAX && m->d[0].n == 2 * batch->n);
  if (m->rank < 2 || m->rank > 3 || !surg__bdim_same(&m->d[0], batch)) return false;
  return surg__bdim_same(&m->d[m->rank - 1], keys) &&
         (m->rank == 2 || surg__bdim_same(&m->d[1], queries));
}

/* [batch, 1, 1 or queries, keys]: which keys are visible. */
static surg__built in_sight(const heads *h) {
  surg__builder *b = h->b;
  const surg__bdim batch = h->q.d[0];
  surg__built sees = h->mask;
  if (sees.rank > 1) {
    sees = surg__built_number(b, "Greater", sees, 0);
    if (sees.rank == 2) sees = surg__built_unsqueeze(b, sees, 1);
    return surg__built_unsqueeze(b, sees, 1);
  }
  const bool starts = !surg__bdim_same(&sees.d[0], &batch);
  const surg__built j = surg__built_range(b, h->k.d[1], SURG_INT32);
  const surg__built ends =
      starts ? surg__built_slice(b, h->mask, 0, surg__bdim_fixed(0), batch) : h->mask;
  sees = surg__built_binary(b, "Less", j, surg__built_unsqueeze(b, ends, 1));
  if (starts) {
    const surg__built from = surg__built_slice(b, h->mask, 0, batch, surg__bdim_fixed(2 * batch.n));
    const surg__built early = surg__built_binary(b, "Less", j, surg__built_unsqueeze(b, from, 1));
    sees = surg__built_binary(b, "And", sees, surg__built_unary(b, "Not", early));
  }
  return surg__built_unsqueeze(b, surg__built_unsqueeze(b, sees, 1), 1);
}

/* Adds the filter value to the scores of masked keys. */
static surg__built filtered(const heads *h, surg__built scores) {
  surg__builder *b = h->b;
  const double filter = surg_node_float(h->n, "mask_filter_value", -10000);
  const surg__built none = surg__built_scalar(b, SURG_FLOAT, 0);
  const surg__built hidden = surg__built_scalar(b, SURG_FLOAT, filter);
  const surg__built sees = in_sight(h), more = surg__built_where(b, sees, none, hidden);
  return surg__built_binary(b, "Add", scores, more);
}

static surg__built hidden_later(const heads *h, surg__built scores) {
  surg__builder *b = h->b;
  const surg__built i = surg__built_range(b, h->q.d[1], SURG_INT64);
  const surg__built j = surg__built_range(b, h->k.d[1], SURG_INT64);
  const surg__built later = surg__built_binary(b, "Less", surg__built_unsqueeze(b, i, 1), j);
  return surg__built_where(b, later, surg__built_scalar(b, SURG_FLOAT, -INFINITY), scores);
}

static surg_status attend(const heads *h) {
  surg__builder *b = h->b;
  const surg__bdim whole[3] = {h->q.d[0], h->q.d[1], h->v.d[2]};
  double scale = surg_node_float(h->n, "scale", 0);
  if (scale == 0) scale = 1 / sqrt((double)(h->q.d[2].n / h->count));
  const surg__built q = surg__built_number(b, "Mul", apart(h, h->q), scale);
  const surg__built k = surg__built_swap(b, apart(h, h->k), 2, 3);
  surg__built scores = surg__built_matmul(b, q, k);
  if (h->mask.v) scores = filtered(h, scores);
  if (h->bias.v)
    scores = surg__built_binary(b, "Add", scores, surg__built_cast(b, h->bias, SURG_FLOAT));
  if (surg_node_int(h->n, "unidirectional", 0)) scores = hidden_later(h, scores);
  const surg__built weights = surg__built_softmax(b, scores);
  surg__built y = surg__built_swap(b, surg__built_matmul(b, weights, apart(h, h->v)), 1, 2);
  y = surg__built_reshape(b, y, whole, 3);
  surg__built_result(b, "y", surg__built_cast(b, y, h->type));
  return b->status;
}

/* x as float, plus `n` elements of the bias starting at `from`. */
static surg__built biased(const heads *h, surg__built x, const surg__built *bias, int64_t from) {
  surg__builder *b = h->b;
  x = surg__built_cast(b, x, SURG_FLOAT);
  if (!bias->v) return x;
  const surg__built part =
      surg__built_slice(b, *bias, 0, surg__bdim_fixed(from), surg__bdim_fixed(from + x.d[2].n));
  return surg__built_binary(b, "Add", x, part);
}

/* Whether the sizes permit `unidirectional`: it requires as many queries as keys. */
static bool may_hide(const heads *h, const surg__bdim *q, const surg__bdim *k) {
  return !surg_node_int(h->n, "unidirectional", 0) || surg__bdim_same(q, k);
}

/* y = MultiHeadAttention (q, k, v, bias, mask, ab) */
static surg_status heads_to_products(surg__builder *b) {
  heads h = {.b = b};
  surg__built q, k, v, bias = {0};
  if (!read_heads(&h) || !surg__built_get(b, "q", &q) || !surg__built_get(b, "k", &k) ||
      !surg__built_get(b, "v", &v) || surg__b_bad(b, q.rank != 3, "q: expected rank 3") ||
      surg__b_bad(b, k.rank != 3, "k: expected rank 3") ||
      surg__b_bad(b, v.rank != 3, "v: expected rank 3"))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b, !is_float(q.dtype), "q: expected floats") ||
      surg__b_bad(b, !fits(&h, q.d[2].n, k.d[2].n, v.d[2].n),
                  "the hidden sizes are unknown or no multiple of num_heads") ||
      !may_hide(&h, &q.d[1], &k.d[1]) || !read_mask(&h, &q.d[0], &k.d[1], &q.d[1]))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b,
                  surg__b_get(b, "bias") && (!surg__built_get(b, "bias", &bias) || bias.rank != 1 ||
                                             bias.d[0].n != q.d[2].n + k.d[2].n + v.d[2].n),
                  "bias: expected rank 1 and the sum of the hidden sizes"))
    return SURG_EUNSUPPORTED;
  bias = bias.v ? surg__built_cast(b, bias, SURG_FLOAT) : bias;
  h.type = q.dtype;
  h.q = biased(&h, q, &bias, 0);
  h.k = biased(&h, k, &bias, q.d[2].n);
  h.v = biased(&h, v, &bias, q.d[2].n + k.d[2].n);
  return attend(&h);
}

/* y = Attention <qkv_hidden_sizes> (x, w, bias, mask, , ab) */
static surg_status attention_of_weights(surg__builder *b) {
  heads h = {.b = b};
  surg__built x, w, bias = {0};
  size_t n = 0;
  if (!read_heads(&h) || !surg__built_get(b, "x", &x) || !surg__built_get(b, "w", &w) ||
      surg__b_bad(b, x.rank != 3, "x: expected rank 3") ||
      surg__b_bad(b, w.rank != 2, "w: expected rank 2") ||
      surg__b_bad(b, !is_float(x.dtype), "x: expected floats") ||
      surg__b_bad(b, w.d[1].n < 1, "w: a size is unknown or 0") ||
      surg__b_bad(b, surg_node_int(h.n, "do_rotary", 0), "do_rotary is unsupported") ||
      !read_mask(&h, &x.d[0], &x.d[1], &x.d[1]))
    return SURG_EUNSUPPORTED;
  const int64_t columns = w.d[1].n, third[3] = {columns / 3, columns / 3, columns / 3};
  const int64_t *sizes = surg_node_ints(h.n, "qkv_hidden_sizes", &n);
  if (!sizes) sizes = third, n = 3;
  if (surg__b_bad(b, n != 3, "qkv_hidden_sizes: expected 3 integers") ||
      surg__b_bad(b, !fits(&h, sizes[0], sizes[1], sizes[2]),
                  "the hidden sizes are no multiple of num_heads") ||
      surg__b_bad(b, sizes[0] > columns, "the hidden sizes do not fit the weights") ||
      surg__b_bad(b, sizes[2] > columns, "the hidden sizes do not fit the weights") ||
      surg__b_bad(b, 2 * sizes[0] + sizes[2] != columns, "the hidden sizes do not fit the weights"))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b,
                  surg__b_get(b, "bias") && (!surg__built_get(b, "bias", &bias) || bias.rank != 1 ||
                                             bias.d[0].n != columns),
                  "bias: expected rank 1 and the columns of the weights"))
    return SURG_EUNSUPPORTED;
  h.type = x.dtype;
  x = surg__built_cast(b, x, SURG_FLOAT);
  x = surg__built_matmul(b, x, surg__built_cast(b, w, SURG_FLOAT));
  if (bias.v) x = surg__built_binary(b, "Add", x, surg__built_cast(b, bias, SURG_FLOAT));
  const int64_t key = sizes[0], value = 2 * sizes[0];
  h.q = surg__built_slice(b, x, 2, surg__bdim_fixed(0), surg__bdim_fixed(key));
  h.k = surg__built_slice(b, x, 2, surg__bdim_fixed(key), surg__bdim_fixed(value));
  h.v = surg__built_slice(b, x, 2, surg__bdim_fixed(value), surg__bdim_fixed(columns));
  return attend(&h);
}

const surg__native surg__natives_heads[] = {
    {"ms_heads", heads_to_products, "MultiHeadAttention of ONNX Runtime as products"},
    {"ms_attention", attention_of_weights, "Attention of ONNX Runtime as products"},
    {NULL, NULL, NULL},
};
