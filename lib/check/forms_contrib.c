/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints of operators of com.microsoft: ranks and sizes of inputs, values of attributes. ONNX
 * Runtime compares them when it infers shapes or makes the kernel; those here are rejected by 1.10,
 * 1.14, 1.22 and 1.30, as far as they have the operator, and those of MoE by 1.30
 * (test/conformance/exports/limits.py asks). */
#include <inttypes.h>
#include <math.h>

#include "check/forms.h"

/* --- ranks --- */

#define RANK(r) (1u << (r))
#define FROM(r) (~0u << (r))

static const struct {
  int op;
  uint8_t input;
  uint32_t ranks; /* a bit for each allowed rank */
} ranks[] = {{SURG_OP_ms_Attention, 0, RANK(3)},
             {SURG_OP_ms_Attention, 2, RANK(1)},
             {SURG_OP_ms_QAttention, 0, RANK(3)},
             {SURG_OP_ms_QAttention, 2, RANK(1)},
             {SURG_OP_ms_QAttention, 8, RANK(5)},
             {SURG_OP_ms_MultiHeadAttention, 0, RANK(3) | RANK(5)},
             {SURG_OP_ms_MultiHeadAttention, 2, FROM(3)},
             {SURG_OP_ms_DecoderMaskedMultiHeadAttention, 0, RANK(3) | RANK(5)},
             {SURG_OP_ms_DecoderMaskedMultiHeadAttention, 2, RANK(3) | RANK(4)},
             {SURG_OP_ms_DecoderMaskedMultiHeadAttention, 5, RANK(4)},
             {SURG_OP_ms_GroupQueryAttention, 0, RANK(3)},
             {SURG_OP_ms_GroupQueryAttention, 3, RANK(4)},
             {SURG_OP_ms_EmbedLayerNormalization, 0, RANK(2)},
             {SURG_OP_ms_EmbedLayerNormalization, 1, RANK(2)},
             {SURG_OP_ms_QEmbedLayerNormalization, 0, RANK(2)},
             {SURG_OP_ms_QEmbedLayerNormalization, 1, RANK(2)},
             {SURG_OP_ms_CropAndResize, 0, RANK(4)},
             {SURG_OP_ms_CropAndResize, 1, RANK(2)},
             {SURG_OP_ms_CropAndResize, 2, RANK(1)},
             {SURG_OP_ms_CropAndResize, 3, RANK(1)},
             {SURG_OP_ms_QLinearAdd, 1, RANK(0)},
             {SURG_OP_ms_QLinearAdd, 2, RANK(0)},
             {SURG_OP_ms_QLinearAdd, 4, RANK(0)},
             {SURG_OP_ms_QLinearAdd, 5, RANK(0)},
             {SURG_OP_ms_QLinearAdd, 6, RANK(0)},
             {SURG_OP_ms_QLinearAdd, 7, RANK(0)},
             {SURG_OP_ms_QLinearMul, 1, RANK(0)},
             {SURG_OP_ms_QLinearMul, 2, RANK(0)},
             {SURG_OP_ms_QLinearMul, 4, RANK(0)},
             {SURG_OP_ms_QLinearMul, 5, RANK(0)},
             {SURG_OP_ms_QLinearMul, 6, RANK(0)},
             {SURG_OP_ms_QLinearMul, 7, RANK(0)},
             {SURG_OP_ms_QLinearAveragePool, 1, RANK(0)},
             {SURG_OP_ms_QLinearAveragePool, 2, RANK(0)},
             {SURG_OP_ms_QLinearAveragePool, 3, RANK(0)},
             {SURG_OP_ms_QLinearAveragePool, 4, RANK(0)},
             {SURG_OP_ms_Tokenizer, 0, RANK(1) | RANK(2)},
             {SURG_OP_ms_GatherBlockQuantized, 0, FROM(2)},
             {SURG_OP_ms_Trilu, 0, FROM(2)},
             {SURG_OP_ms_Inverse, 0, FROM(2)}};

static void check_ranks(surg__checker *c, const surg_node *n) {
  for (size_t i = 0; i < SURG_COUNT(ranks); i++) {
    if (ranks[i].op != n->schema->op) continue;
    const surg_type *t = surg__check_ranked(n, ranks[i].input);
    if (!t || t->rank > 31 || ranks[i].ranks & RANK(t->rank)) continue;
    surg__check_wrong(c, n, "input %u has rank %" PRIu32 ", which %s does not accept",
                      (unsigned)ranks[i].input, t->rank, n->schema->name);
    return;
  }
}

/* --- attributes --- */

/* Integer attributes that must be positive, where they are present. */
static const struct {
  int op;
  const char *attr;
} positive[] = {{SURG_OP_ms_Attention, "num_heads"},
                {SURG_OP_ms_QAttention, "num_heads"},
                {SURG_OP_ms_MultiHeadAttention, "num_heads"},
                {SURG_OP_ms_DecoderMaskedMultiHeadAttention, "num_heads"},
                {SURG_OP_ms_GroupQueryAttention, "num_heads"},
                {SURG_OP_ms_GroupQueryAttention, "kv_num_heads"},
                {SURG_OP_ms_MoE, "k"},
                {SURG_OP_ms_QMoE, "k"},
                {SURG_OP_ms_Tokenizer, "mincharnum"}};

static void check_positive(surg__checker *c, const surg_node *n) {
  for (size_t i = 0; i < SURG_COUNT(positive); i++) {
    const int64_t value =
        positive[i].op == n->schema->op ? surg_node_int(n, positive[i].attr, 1) : 1;
    if (value < 1) surg__check_bad_int(c, n, positive[i].attr, value);
  }
}

static bool is(surg_str s, const char *word) {
  return strlen(word) == s.n && memcmp(word, s.p, s.n) == 0;
}

/* Activations of FusedGemm; those with parameters read them from attributes of the node. */
static void fused_gemm(surg__checker *c, const surg_node *n) {
  static const char *const plain[] = {"Relu", "Tanh", "Sigmoid", "Softplus", "Softsign"};
  static const char *const more[] = {"Elu",  "HardSigmoid",     "LeakyRelu", "ParametricSoftplus",
                                     "Selu", "ThresholdedRelu", "ScaledTanh"};
  const surg_attr *a = surg_node_attr(n, "activation");
  if (a && (a->ref || a->kind != SURG_ATTR_STRING)) return;
  const surg_str s = surg_node_string(n, "activation", "");
  for (size_t i = 0; i < SURG_COUNT(plain); i++)
    if (is(s, plain[i])) return;
  for (size_t i = 0; i < SURG_COUNT(more); i++)
    if (is(s, more[i])) {
      if (!surg_node_attr(n, "activation_alpha"))
        surg__check_wrong(c, n, "attribute \"activation_alpha\" is missing");
      return;
    }
  if (!a)
    surg__check_wrong(c, n, "attribute \"activation\" is missing");
  else
    surg__check_bad_value(c, n, "activation", surg__qn(c->ctx, s.p, s.n));
}

/* Activations of FusedConv, with as many parameters as each has. */
static void fused_conv(surg__checker *c, const surg_node *n) {
  static const struct {
    const char *name;
    int params; /* -1: they are not read */
  } known[] = {{"Relu", -1}, {"Tanh", -1},     {"Sigmoid", -1},   {"HardSwish", -1},
               {"Clip", 2},  {"LeakyRelu", 1}, {"HardSigmoid", 2}};
  const surg_attr *a = surg_node_attr(n, "activation"), *p = surg_node_attr(n, "activation_params");
  if (!a || a->ref || a->kind != SURG_ATTR_STRING || (p && p->ref)) return;
  for (size_t i = 0; i < SURG_COUNT(known); i++) {
    if (!is(a->u.s, known[i].name)) continue;
    const int found = p ? (int)p->count : 0;
    if (known[i].params >= 0 && found != known[i].params)
      surg__check_wrong(c, n, "length of attribute \"activation_params\": %d, expected %d", found,
                        known[i].params);
    return;
  }
  surg__check_bad_value(c, n, "activation", surg__qn(c->ctx, a->u.s.p, a->u.s.n));
}

static void tokenizer(surg__checker *c, const surg_node *n) {
  const surg_attr *words = surg_node_attr(n, "separators"), *e = surg_node_attr(n, "tokenexp");
  if (!e && (!words || (!words->ref && words->kind == SURG_ATTR_STRINGS && !words->count)))
    surg__check_wrong(c, n, "attribute \"separators\" or \"tokenexp\" is missing");
  else if (e && !e->ref && e->kind == SURG_ATTR_STRING && !e->u.s.n)
    surg__check_bad_value(c, n, "tokenexp", "empty");
}

/* --- sizes --- */

/* Embeddings are matrices of one hidden size, which must be known, and the other weights are
 * vectors of that size. */
static void embeddings(surg__checker *c, const surg_node *n) {
  const float least = surg_node_float(n, "epsilon", 0);
  const int64_t hidden = surg__check_dim(surg__check_ranked(n, 2), 1);
  if (!(least >= 0)) surg__check_bad_value(c, n, "epsilon", "negative or NaN");
  for (size_t i = 2; i < 7; i++) {
    const surg_type *t = surg__check_ranked(n, i);
    if (!t) continue;
    if (i < 6 && !surg__rank_is(c, n, i, i < 5 ? 2 : 1)) return;
    const int64_t size = surg__check_dim(t, i < 5); /* more axes of the last one are not compared */
    if (size >= 0 && (hidden < 0 || size == hidden)) continue;
    surg__check_wrong(c, n, "the last dimension of input %zu is not the hidden size", i);
    return;
  }
}

/* The last size of input 0 is K; a bias has N elements. Numbers of columns and codes of the type
 * are compared, too. */
static void packed_weights(surg__checker *c, const surg_node *n) {
  const bool bits = n->schema->op == SURG_OP_ms_MatMulNBits;
  const surg_type *x = surg__check_ranked(n, 0);
  const int64_t k = surg_node_int(n, "K", -1), rows = surg_node_int(n, "N", -1);
  const int64_t found = x && x->rank > 1 ? surg__check_dim(x, x->rank - 1u) : -1;
  const int64_t type = surg_node_int(n, "quant_type", 0);
  if (bits && rows < -1) surg__check_bad_int(c, n, "N", rows);
  if (!bits && (type < 0 || type > 1)) surg__check_bad_int(c, n, "quant_type", type);
  if (!bits && !surg_node_int(n, "transB", 1)) return;
  if (surg_node_attr(n, "K") && !surg_node_attr(n, "K")->ref && found >= 0 && found != k) {
    surg__check_wrong(c, n,
                      "the last dimension of input 0 is %" PRId64 ", attribute \"K\" is %" PRId64,
                      found, k);
    return;
  }
  if (bits && surg_node_attr(n, "N") && surg_node_input(n, 5)) (void)surg__list_is(c, n, 5, rows);
}

static void inverse(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const int64_t rows = x && x->rank > 1 ? surg__check_dim(x, x->rank - 2u) : -1;
  const int64_t columns = x && x->rank > 1 ? surg__check_dim(x, x->rank - 1u) : -1;
  if (rows >= 0 && columns >= 0 && rows != columns)
    surg__check_wrong(c, n, "the matrices of input 0 have %" PRId64 " rows and %" PRId64 " columns",
                      rows, columns);
}

/* Scales and zero points have the rank of the data. */
static void block_ranks(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  for (size_t i = 2; x && i < 4; i++)
    if (!surg__rank_is(c, n, i, x->rank)) return;
}

/* Another rank of data, weights or pads: which releases compare it depends on the attributes. */
static void dynamic_pads(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0), *w = surg__check_ranked(n, 1);
  const bool pads = surg_value_constant(surg_node_input(n, 2)) != NULL;
  c->since = (surg__since){0, UINT8_MAX};
  if (!surg__rank_from(c, n, 0, 3) || !surg__rank_from(c, n, 1, 3)) return;
  if (x && w && !surg__rank_is(c, n, 1, x->rank)) return;
  if (!x || !pads || surg__list_is(c, n, 2, 2 * ((int64_t)x->rank - 2)))
    c->since = (surg__since){0};
}

/* Constant parameters of a lookup table: scalars, or lists of one element. */
static void table_params(surg__checker *c, const surg_node *n) {
  uint64_t count;
  for (size_t i = 1; i < surg_node_input_count(n); i++) {
    const surg_type *t = surg__check_ranked(n, i);
    if (!t || t->rank > 1 || !surg_value_constant(surg_node_input(n, i))) continue;
    if (!surg_type_static(t, &count) || count == 1) continue;
    surg__check_wrong(c, n, "input %zu has %" PRIu64 " elements, expected 1", i, count);
    return;
  }
}

static void softmax_axis(surg__checker *c, const surg_node *n) {
  const surg_type *x = surg__check_ranked(n, 0);
  const int64_t axis = surg_node_int(n, "axis", 0);
  if (x && (axis < -(int64_t)x->rank || axis >= (int64_t)x->rank))
    surg__check_bad_int(c, n, "axis", axis);
}

static const struct form {
  int op;
  void (*check)(surg__checker *c, const surg_node *n);
} forms[] = {{SURG_OP_ms_FusedGemm, fused_gemm},
             {SURG_OP_ms_FusedConv, fused_conv},
             {SURG_OP_ms_Tokenizer, tokenizer},
             {SURG_OP_ms_EmbedLayerNormalization, embeddings},
             {SURG_OP_ms_QEmbedLayerNormalization, embeddings},
             {SURG_OP_ms_MatMulNBits, packed_weights},
             {SURG_OP_ms_MatMulBnb4, packed_weights},
             {SURG_OP_ms_Inverse, inverse},
             {SURG_OP_ms_GatherBlockQuantized, block_ranks},
             {SURG_OP_ms_ConvTransposeWithDynamicPads, dynamic_pads},
             {SURG_OP_ms_QLinearSigmoid, table_params},
             {SURG_OP_ms_QLinearLeakyRelu, table_params},
             {SURG_OP_ms_QLinearSoftmax, softmax_axis}};

void surg__check_forms_contrib(surg__checker *c, const surg_node *n) {
  const size_t before = c->count;
  check_ranks(c, n);
  check_positive(c, n);
  for (size_t i = 0; i < SURG_COUNT(forms) && c->count == before; i++)
    if (forms[i].op == n->schema->op) forms[i].check(c, n);
}
