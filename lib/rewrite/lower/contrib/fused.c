/* SPDX-License-Identifier: Apache-2.0 */
/* Products of com.microsoft with an activation, a residual or transposed operands: FusedConv,
 * FusedGemm, FusedMatMul, TransposeMatMul and FusedMatMulActivation. */
#include "rewrite/lower/native.h"

/* An activation, and how it uses its numbers. */
typedef struct activation {
  const char *op; /* NULL: none */
  float alpha, beta;
  unsigned numbers; /* attributes that they become: alpha, then beta */
  bool bounds;      /* both are required, and are the bounds of Clip */
} activation;

static bool is_word(surg_str s, const char *word) {
  return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

/* Reads `activation` of values of this type; `given`: its numbers. False: unknown, or Clip without
 * its bounds. */
static bool read_activation(surg__builder *b, int dtype, const float *given, size_t n,
                            activation *a) {
  static const activation known[] = {{.op = "Relu"},
                                     {.op = "Tanh"},
                                     {.op = "Sigmoid"},
                                     {"LeakyRelu", 0.01f, 0, 1, false},
                                     {.op = "Softplus"},
                                     {.op = "Softsign"},
                                     {"Elu", 1, 0, 1, false},
                                     {"ThresholdedRelu", 1, 0, 1, false},
                                     {"HardSigmoid", 0.2f, 0.5f, 2, false},
                                     {.op = "Clip", .bounds = true}};
  const surg_str word = surg_node_string(surg__b_matched(b), "activation", "");
  *a = (activation){0};
  if (word.n == 0) return true;
  for (size_t i = 0; i < SURG_COUNT(known); i++) {
    if (!is_word(word, known[i].op)) continue;
    *a = known[i];
    if (surg__b_bad(b, !surg__b_takes(b, a->op, 0, dtype),
                    "the activation does not accept this type in this opset"))
      return false;
    if (n > 0) a->alpha = given[0];
    if (n > 1) a->beta = given[1];
    return !surg__b_bad(b, n < 2 && a->bounds, "Clip without its bounds");
  }
  return !surg__b_bad(b, true, "the activation is unknown");
}

/* x limited to [low, high]; a NaN stays. */
static surg_value *clipped(surg__builder *b, surg_value *x, int dtype, const activation *a) {
  if (b->m->opset < 11) {
    surg_value *y = surg__b_unary(b, "Clip", x);
    surg__b_set_float(b, y, "min", a->alpha);
    surg__b_set_float(b, y, "max", a->beta);
    return y;
  }
  surg_value *low = surg__b_scalar(b, dtype, (double)a->alpha);
  surg_value *const in[3] = {x, low, surg__b_scalar(b, dtype, (double)a->beta)};
  return surg__b_node(b, "Clip", in, 3);
}

/* Attributes that the operator adds to those of the one that it fuses (prefix). */
static const char *const own[] = {"activation", NULL};

static surg_value *activated(surg__builder *b, surg_value *x, int dtype, const activation *a) {
  if (!a->op) return x;
  if (a->bounds) return clipped(b, x, dtype, a);
  surg_value *y = surg__b_unary(b, a->op, x);
  if (a->numbers > 0) surg__b_set_float(b, y, "alpha", a->alpha);
  if (a->numbers > 1) surg__b_set_float(b, y, "beta", a->beta);
  return y;
}

/* y = FusedConv <activation, activation_params, ...> (x, w, b, z) */
static surg_status conv_and_more(surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  const surg_attr *params = surg_node_attr(n, "activation_params");
  size_t count = 0;
  const float *given = params ? surg_attr_floats(params, &count) : NULL;
  const int dtype = surg__b_dtype(surg__b_get(b, "x"));
  activation a;
  if (!surg__b_attrs_known(b) || surg__b_bad(b, !dtype, "the element type of x is unknown") ||
      !read_activation(b, dtype, given, given ? count : 0, &a))
    return SURG_EUNSUPPORTED;
  surg_value *const in[3] = {surg__b_get(b, "x"), surg__b_get(b, "w"), surg__b_get(b, "b")};
  surg_value *y = surg__b_node(b, "Conv", in, in[2] ? 3 : 2);
  surg__b_copy_attrs(b, y, surg__b_matched(b), own);
  if (surg__b_get(b, "z")) y = surg__b_binary(b, "Add", y, surg__b_get(b, "z"));
  surg__b_result(b, "y", activated(b, y, dtype, &a));
  return b->status;
}

/* y = FusedGemm <activation, activation_alpha, activation_beta, ...> (a, b, c) */
static surg_status gemm_and_more(surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  const bool alpha = surg_node_attr(n, "activation_alpha"),
             beta = surg_node_attr(n, "activation_beta");
  const float given[2] = {surg_node_float(n, "activation_alpha", 0),
                          surg_node_float(n, "activation_beta", 0)};
  const int dtype = surg__b_dtype(surg__b_get(b, "a"));
  activation a;
  if (!surg__b_attrs_known(b) || surg__b_bad(b, !dtype, "the element type of a is unknown") ||
      surg__b_bad(b, !surg__b_takes(b, "Gemm", 0, dtype),
                  "Gemm does not accept this type in this opset") ||
      surg__b_bad(b, beta && !alpha, "activation_beta without activation_alpha") ||
      surg__b_bad(b, !surg__b_get(b, "c") && b->m->opset < 11,
                  "Gemm without c requires opset 11") ||
      !read_activation(b, dtype, given, (size_t)alpha + (size_t)beta, &a))
    return SURG_EUNSUPPORTED;
  surg_value *const in[3] = {surg__b_get(b, "a"), surg__b_get(b, "b"), surg__b_get(b, "c")};
  surg_value *y = surg__b_node(b, "Gemm", in, in[2] ? 3 : 2);
  surg__b_copy_attrs(b, y, surg__b_matched(b), own);
  surg__b_result(b, "y", activated(b, y, dtype, &a));
  return b->status;
}

/* An operand with rows and columns as MatMul expects them. `batch`: the rows are the first axis and
 * the batches follow. */
static surg__built turned(surg__builder *b, surg__built x, bool trans, bool batch) {
  int64_t perm[SURG__BT_RANK];
  if (x.rank < 2) return x;
  for (uint32_t i = 0; i < x.rank; i++) perm[i] = i;
  if (batch)
    for (uint32_t i = 0; i + 1 < x.rank; i++) perm[i] = i + 2 < x.rank ? i + 1 : 0;
  if (trans) {
    const int64_t last = perm[x.rank - 1];
    perm[x.rank - 1] = perm[x.rank - 2];
    perm[x.rank - 2] = last;
  }
  return surg__built_transpose(b, x, perm);
}

/* y = FusedMatMul <alpha, transA, transB, transBatchA, transBatchB> (a, b) */
static surg_status matmul_and_more(surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  const float given[2] = {surg_node_float(n, "activation_alpha", 0),
                          surg_node_float(n, "activation_beta", 0)};
  const size_t count = surg_node_attr(n, "activation_beta")    ? 2
                       : surg_node_attr(n, "activation_alpha") ? 1
                                                               : 0;
  activation f;
  surg__built x, y;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "a", &x) || !surg__built_get(b, "b", &y) ||
      surg__b_bad(b, x.rank < 1 || y.rank < 1, "a and b: expected rank 1 or more") ||
      !read_activation(b, x.dtype, given, count, &f))
    return SURG_EUNSUPPORTED;
  x = turned(b, x, surg_node_int(n, "transA", 0), surg_node_int(n, "transBatchA", 0));
  y = turned(b, y, surg_node_int(n, "transB", 0), surg_node_int(n, "transBatchB", 0));
  surg_value *made = surg__b_binary(b, "MatMul", x.v, y.v);
  const float alpha = surg_node_float(n, "alpha", 1);
  if (alpha < 1 || alpha > 1)
    made = surg__b_binary(b, "Mul", made, surg__b_scalar(b, x.dtype, (double)alpha));
  surg__b_result(b, "y", activated(b, made, x.dtype, &f));
  return b->status;
}

const surg__native surg__natives_fused[] = {
    {"ms_fused_conv", conv_and_more, "FusedConv as Conv, Add and an activation"},
    {"ms_fused_gemm", gemm_and_more, "FusedGemm as Gemm and an activation"},
    {"ms_fused_matmul", matmul_and_more, "FusedMatMul as Transpose, MatMul and Mul"},
    {NULL, NULL, NULL},
};
