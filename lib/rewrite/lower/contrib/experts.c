/* SPDX-License-Identifier: Apache-2.0 */
/* Mixtures of experts of com.microsoft (MoE, QMoE) as products of all experts, of which those of
 * highest score are summed, and MatMulBnb4. Weights of few bits are unpacked by integer arithmetic.
 */
#include "rewrite/lower/native.h"

enum { IN, OUT, GATE, LAYERS };
enum { RELU, SILU, GELU, IDENTITY, SWIGLU, ACTIVATIONS };

typedef struct layer {
  surg__built w, bias, scales, zeros; /* v NULL: absent */
} layer;

typedef struct experts {
  surg__builder *b;
  const surg_node *n;
  surg__built x, scores; /* [..., hidden]; [rows, experts] */
  layer layers[LAYERS];
  surg__bdim rows, hidden;
  int64_t count, chosen, bits, block; /* block 0: one scale for each row of weights */
  int activation;
  bool quantized;
} experts;

static bool optional(const surg__builder *b, const char *name, surg__built *out) {
  return !surg__b_get(b, name) || surg__built_get(b, name, out);
}

static bool word_is(const surg_node *n, const char *name, const char *word) {
  const surg_str s = surg_node_string(n, name, "");
  return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

/* --- reading --- */

static bool read_layer(experts *e, int i) {
  static const char *const names[LAYERS][4] = {
      [IN] = {"w1", "b1", "s1", "z1"},
      [OUT] = {"w2", "b2", "s2", "z2"},
      [GATE] = {"w3", "b3", "s3", "z3"},
  };
  surg__builder *b = e->b;
  layer *l = &e->layers[i];
  if (!optional(b, names[i][0], &l->w) || !optional(b, names[i][1], &l->bias)) return false;
  if (e->quantized &&
      (!optional(b, names[i][2], &l->scales) || !optional(b, names[i][3], &l->zeros)))
    return false;
  if (!l->w.v) return !surg__b_bad(b, l->bias.v != NULL, "a bias without its weights");
  const bool ranks = l->w.rank == 3 && (!l->bias.v || l->bias.rank == 2);
  if (surg__b_bad(b, !ranks, "weights: expected rank 3, a bias of rank 2") ||
      surg__b_bad(b, l->w.d[0].n != e->count, "weights: expected those of all experts"))
    return false;
  if (!e->quantized) return true;
  const uint32_t rank = e->block ? 3 : 2;
  return !surg__b_bad(b, l->w.dtype != SURG_UINT8 || l->w.d[1].n < 1 || l->w.d[2].n < 1,
                      "weights: expected bytes of known sizes") &&
         !surg__b_bad(b, !l->scales.v || l->scales.rank != rank,
                      "scales: absent, or of an unexpected rank") &&
         !surg__b_bad(b, e->block && l->w.d[2].n * 8 / e->bits % e->block,
                      "the weights are not a multiple of block_size");
}

static bool read_activation(experts *e) {
  static const char *const words[ACTIVATIONS] = {
      [RELU] = "relu",         [SILU] = "silu",     [GELU] = "gelu",
      [IDENTITY] = "identity", [SWIGLU] = "swiglu",
  };
  const int64_t fused = surg_node_int(e->n, "swiglu_fusion", 0);
  const surg__bdim *wide = &e->layers[IN].w.d[1];
  if (!surg_node_attr(e->n, "activation_type")) return true;
  while (e->activation < ACTIVATIONS && !word_is(e->n, "activation_type", words[e->activation]))
    e->activation++;
  return !surg__b_bad(e->b, e->activation == ACTIVATIONS, "the activation is unknown") &&
         !surg__b_bad(e->b, e->activation == SWIGLU && fused != 1 && fused != 2,
                      "swiglu_fusion: expected 1 or 2") &&
         !surg__b_bad(e->b, e->activation == SWIGLU && (wide->n < 2 || wide->n % 2),
                      "swiglu: expected an even number of columns");
}

static bool read_experts(experts *e) {
  surg__builder *b = e->b;
  const surg_node *n = e->n;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &e->x) ||
      !surg__built_get(b, "r", &e->scores) ||
      surg__b_bad(b, e->x.rank != 2 && e->x.rank != 3, "x: expected rank 2 or 3") ||
      surg__b_bad(b, e->scores.rank != 2 || e->scores.d[1].n < 1,
                  "router_probs: expected rank 2 and a known number of experts"))
    return false;
  e->count = e->scores.d[1].n;
  e->chosen = surg_node_int(n, "k", 1);
  e->bits = surg_node_int(n, "expert_weight_bits", 4);
  e->block = surg_node_int(n, "block_size", 0);
  if (surg__b_bad(b, e->chosen < 1 || e->chosen > e->count, "k is out of range") ||
      surg__b_bad(b, surg_node_int(n, "use_sparse_mixer", 0) != 0,
                  "use_sparse_mixer is unsupported") ||
      surg__b_bad(b, e->quantized && e->bits != 4 && e->bits != 8,
                  "expert_weight_bits: expected 4 or 8") ||
      surg__b_bad(b, e->block < 0 || e->block > INT32_MAX, "block_size is out of range") ||
      surg__b_bad(b, e->quantized && surg_node_int(n, "weights_prepacked", 0) > 0,
                  "weights in a layout of the runtime are unsupported") ||
      surg__b_bad(
          b, e->quantized && surg_node_attr(n, "quant_type") && !word_is(n, "quant_type", "int"),
          "quant_type: expected int"))
    return false;
  for (int i = 0; i < LAYERS; i++)
    if (!read_layer(e, i)) return false;
  e->hidden = e->x.d[e->x.rank - 1];
  return !surg__b_bad(b, e->layers[GATE].w.v != NULL, "a third layer is unsupported") &&
         read_activation(e);
}

/* --- weights --- */

/* The numbers of bytes along the last axis as int32, the low 4 bits first, and those that are left
 * of `size`. */
static surg__built codes(const experts *e, surg__built x, int64_t size) {
  surg__builder *b = e->b;
  x = surg__built_cast(b, x, SURG_INT32);
  return e->bits == 4 ? surg__built_nibbles(b, x, size) : x;
}

/* x [experts, rows, blocks] or [experts, rows] with axes of 1, as factors of blocks of weights. */
static surg__built of_blocks(const experts *e, surg__built x, surg__bdim rows, surg__bdim blocks) {
  const surg__bdim d[4] = {surg__bdim_fixed(e->count), rows, blocks, surg__bdim_fixed(1)};
  return surg__built_reshape(e->b, surg__built_cast(e->b, x, SURG_FLOAT), d, 4);
}

/* The weights of a layer, turned: [experts, inputs, outputs] of float. */
static surg__built weights(const experts *e, const layer *l) {
  surg__builder *b = e->b;
  if (!e->quantized) return surg__built_swap(b, surg__built_cast(b, l->w, SURG_FLOAT), 1, 2);
  const int64_t per = 8 / e->bits, inputs = l->w.d[2].n * per;
  const int64_t count = e->block ? inputs / e->block : 1;
  const surg__bdim rows = l->w.d[1], blocks = surg__bdim_fixed(count);
  const surg__bdim apart[4] = {l->w.d[0], rows, blocks, surg__bdim_fixed(inputs / count)};
  const surg__bdim whole[3] = {l->w.d[0], rows, surg__bdim_fixed(inputs)};
  surg__built w = surg__built_cast(b, codes(e, l->w, inputs), SURG_FLOAT);
  w = surg__built_reshape(b, w, apart, 4);
  if (l->zeros.v) {
    const surg__built z = codes(e, l->zeros, e->block ? count : rows.n);
    w = surg__built_binary(b, "Sub", w, of_blocks(e, z, rows, blocks));
  } else {
    w = surg__built_number(b, "Sub", w, (double)(1 << (e->bits - 1)));
  }
  w = surg__built_binary(b, "Mul", w, of_blocks(e, l->scales, rows, blocks));
  return surg__built_swap(b, surg__built_reshape(b, w, whole, 3), 1, 2);
}

static surg__built applied(const experts *e, surg__built x, const layer *l) {
  surg__builder *b = e->b;
  x = surg__built_matmul(b, x, weights(e, l));
  if (!l->bias.v) return x;
  const surg__built bias = surg__built_cast(b, l->bias, SURG_FLOAT);
  return surg__built_binary(b, "Add", x, surg__built_unsqueeze(b, bias, 1));
}

/* --- activations --- */

static surg__built sigmoid_times(surg__builder *b, surg__built x, double alpha) {
  const surg__built scaled = alpha == 1 ? x : surg__built_number(b, "Mul", x, alpha);
  return surg__built_binary(b, "Mul", x, surg__built_unary(b, "Sigmoid", scaled));
}

/* x * (1 + tanh(0.79788456 * (x + 0.044715 * x * x * x))) / 2, as the runtime computes it. */
static surg__built gelu(surg__builder *b, surg__built x) {
  surg__built t = surg__built_binary(b, "Mul", surg__built_binary(b, "Mul", x, x), x);
  t = surg__built_binary(b, "Add", x, surg__built_number(b, "Mul", t, 0.044715));
  t = surg__built_unary(b, "Tanh", surg__built_number(b, "Mul", t, 0.79788456080286536));
  t = surg__built_number(b, "Add", t, 1);
  return surg__built_binary(b, "Mul", surg__built_number(b, "Mul", x, 0.5), t);
}

static surg__built at_most(surg__builder *b, surg__built x, double limit) {
  return surg__built_binary(b, "Min", x, surg__built_scalar(b, SURG_FLOAT, limit));
}

/* Half i of the columns: every second one, or a run of them. */
static surg__built half_of(const experts *e, surg__built x, int64_t i) {
  surg__builder *b = e->b;
  const int64_t half = x.d[2].n / 2;
  if (surg_node_int(e->n, "swiglu_fusion", 0) == 2)
    return surg__built_slice(b, x, 2, surg__bdim_fixed(i * half), surg__bdim_fixed((i + 1) * half));
  const surg__bdim pairs[4] = {x.d[0], x.d[1], surg__bdim_fixed(half), surg__bdim_fixed(2)};
  x = surg__built_reshape(b, x, pairs, 4);
  return surg__built_gather(b, x, surg__built_scalar(b, SURG_INT64, (double)i), 3);
}

static surg__built swiglu(const experts *e, surg__built x) {
  surg__builder *b = e->b;
  surg__built gate = half_of(e, x, 0), linear = half_of(e, x, 1);
  if (surg_node_attr(e->n, "swiglu_limit")) {
    const double limit = surg_node_float(e->n, "swiglu_limit", 0);
    gate = at_most(b, gate, limit);
    linear = at_most(b, linear, limit);
    linear = surg__built_binary(b, "Max", linear, surg__built_scalar(b, SURG_FLOAT, -limit));
  }
  gate = sigmoid_times(b, gate, surg_node_float(e->n, "activation_alpha", 1));
  linear = surg__built_number(b, "Add", linear, surg_node_float(e->n, "activation_beta", 0));
  return surg__built_binary(b, "Mul", gate, linear);
}

static surg__built activated(const experts *e, surg__built x) {
  surg__builder *b = e->b;
  switch (e->activation) {
    case RELU:
      return surg__built_unary(b, "Relu", x);
    case SILU:
      return sigmoid_times(b, x, 1);
    case GELU:
      return gelu(b, x);
    case SWIGLU:
      return swiglu(e, x);
    default:
      return x;
  }
}

/* --- routing --- */

/* The share of each expert: [experts, rows, 1], 0 for all but the `chosen` of highest score. */
static surg__built shares(const experts *e) {
  surg__builder *b = e->b;
  const surg__built scores = surg__built_cast(b, e->scores, SURG_FLOAT);
  surg_value *const in[2] = {scores.v, surg__b_ints(b, &e->chosen, 1)};
  surg__built best = {.dtype = SURG_FLOAT, .rank = 2, .d = {e->rows, surg__bdim_fixed(e->chosen)}},
              places = best;
  best.v = surg__b_node(b, "TopK", in, 2);
  surg__b_set_int(b, best.v, "axis", 1);
  places.dtype = SURG_INT64;
  places.v = surg__b_output(b, best.v, 1);
  /* Shares of all experts, or of those that are chosen: MoE has an attribute for it. */
  const bool of_all = !e->quantized && surg_node_int(e->n, "normalize_routing_weights", 0) == 0;
  surg__built share = surg__built_softmax(b, of_all ? scores : best);
  share = surg__built_unsqueeze(b, share, of_all ? 1 : 2);
  const surg__built all = surg__built_range(b, surg__bdim_fixed(e->count), SURG_INT64);
  const surg__built is = surg__built_binary(b, "Equal", surg__built_unsqueeze(b, places, 2), all);
  share = surg__built_where(b, is, share, surg__built_scalar(b, SURG_FLOAT, 0));
  share = surg__built_reduce(b, "ReduceSum", share, 1, false);
  return surg__built_unsqueeze(b, surg__built_swap(b, share, 0, 1), 2);
}

static surg_status mixed(surg__builder *b, bool quantized) {
  experts e = {.b = b, .n = surg__b_matched(b), .quantized = quantized};
  if (!read_experts(&e)) return SURG_EUNSUPPORTED;
  if (b->m->opset < 11) return surg__b_decline(b, "the rewrite requires opset 11");
  e.rows = e.x.rank == 2 ? e.x.d[0] : surg__bdim_mul(b, e.x.d[0], e.x.d[1]);
  const surg__bdim flat[3] = {surg__bdim_fixed(1), e.rows, e.hidden};
  const surg__built x = surg__built_reshape(b, surg__built_cast(b, e.x, SURG_FLOAT), flat, 3);
  surg__built y = activated(&e, applied(&e, x, &e.layers[IN]));
  y = applied(&e, y, &e.layers[OUT]);
  const surg__built share = shares(&e), none = surg__built_scalar(b, SURG_FLOAT, 0);
  /* Experts that are not chosen may overflow. */
  const surg__built idle = surg__built_binary(b, "Equal", share, none);
  y = surg__built_where(b, idle, none, surg__built_binary(b, "Mul", y, share));
  y.rank = 3;
  y = surg__built_reduce(b, "ReduceSum", y, 0, false);
  y = surg__built_reshape(b, y, e.x.d, e.x.rank);
  surg__built_result(b, "y", surg__built_cast(b, y, e.x.dtype));
  return b->status;
}

static surg_status moe(surg__builder *b) {
  return mixed(b, false);
}

static surg_status quantized_moe(surg__builder *b) {
  return mixed(b, true);
}

/* --- MatMulBnb4 --- */

/* The numbers of the codes of bitsandbytes: FP4 (sign, two bits of exponent, one of mantissa, as
 * its kernels decode them) and NF4 (quantiles of the normal distribution). */
static const double code_numbers[2][16] = {
    {0, 0.00520833333, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25, -0.0, -0.00520833333,
     -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25},
    {-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
     -0.18477343022823334, -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725,
     0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
     0.7229568362236023, 1},
};

/* The weights [N, K] of float. Bytes have the high 4 bits first. */
static surg__built bnb4_weights(surg__builder *b, surg__built w, surg__built most, int64_t kind,
                                int64_t rows, int64_t columns, int64_t block) {
  const int64_t all = rows * columns, sixteen = 16;
  const surg__bdim bytes[2] = {surg__bdim_fixed(all / 2), surg__bdim_fixed(1)};
  const surg__bdim blocks[2] = {surg__bdim_fixed(all / block), surg__bdim_fixed(block)};
  const surg__bdim column[2] = {blocks[0], surg__bdim_fixed(1)};
  const surg__bdim matrix[2] = {surg__bdim_fixed(rows), surg__bdim_fixed(columns)};
  w = surg__built_cast(b, surg__built_reshape(b, w, bytes, 2), SURG_INT32);
  const surg__built high = surg__built_number(b, "Div", w, 16);
  const surg__built low = surg__built_binary(b, "Sub", w, surg__built_number(b, "Mul", high, 16));
  const surg__built both[2] = {high, low};
  w = surg__built_reshape(b, surg__built_concat(b, both, 2, 1), blocks, 2);
  const surg__built table = surg__built_numbers(b, SURG_FLOAT, &sixteen, 1, code_numbers[kind]);
  w = surg__built_gather(b, table, w, 0);
  most = surg__built_reshape(b, surg__built_cast(b, most, SURG_FLOAT), column, 2);
  return surg__built_reshape(b, surg__built_binary(b, "Mul", w, most), matrix, 2);
}

/* y = MatMulBnb4 <K, N, block_size, quant_type> (a, w, most) */
static surg_status product_of_bnb4(surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  const int64_t k = surg_node_int(n, "K", 0), rows = surg_node_int(n, "N", 0);
  const int64_t block = surg_node_int(n, "block_size", 0),
                kind = surg_node_int(n, "quant_type", -1);
  surg__built a, w, most;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "a", &a) || !surg__built_get(b, "w", &w) ||
      !surg__built_get(b, "s", &most) ||
      surg__b_bad(b, k < 1 || rows < 1 || k > INT32_MAX || rows > INT32_MAX,
                  "K and N: expected 1 or more") ||
      surg__b_bad(b, block < 1 || k * rows % block || k * rows % 2,
                  "the weights are not a multiple of block_size") ||
      surg__b_bad(b, kind != 0 && kind != 1, "quant_type: expected 0 or 1") ||
      surg__b_bad(b, surg_node_int(n, "transB", 1) != 1, "transB: expected 1") ||
      surg__b_bad(b, a.rank < 1 || a.d[a.rank - 1].n != k, "a: expected K columns") ||
      surg__b_bad(b, w.dtype != SURG_UINT8, "b: expected bytes"))
    return SURG_EUNSUPPORTED;
  if (b->m->opset < 9) return surg__b_decline(b, "the rewrite requires opset 9");
  const surg__built turned =
      surg__built_swap(b, bnb4_weights(b, w, most, kind, rows, k, block), 0, 1);
  surg__built y = surg__built_cast(b, a, SURG_FLOAT);
  y.v = surg__b_binary(b, "MatMul", y.v, turned.v);
  y.d[y.rank - 1] = surg__bdim_fixed(rows);
  surg__built_result(b, "y", surg__built_cast(b, y, a.dtype));
  return b->status;
}

const surg__native surg__natives_experts[] = {
    {"ms_moe", moe, "MoE as the products of all experts"},
    {"ms_qmoe", quantized_moe, "QMoE as the products of all experts, their weights unpacked"},
    {"ms_matmul_bnb4", product_of_bnb4, "MatMulBnb4 as a MatMul with unpacked weights"},
    {NULL, NULL, NULL},
};
