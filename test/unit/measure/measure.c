/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes cost, which opset they fit, what a model keeps in memory: rows of (opset, inputs,
 * weights, nodes) with what must be said of the first node. */
#include "measure/measure.h"

#include <stdio.h>
#include <stdlib.h>

#include "sym/expr.h"
#include "schema/text.h"
#include "../unit.h"

typedef struct model {
  surg_context *ctx;
  surg_model *m;
} model;

static model load(int opset, const char *inputs, const char *weights, const char *nodes) {
  char text[2048];
  model x = {.ctx = surg_context_new(NULL)};
  snprintf(text, sizeof text,
           "<ir_version: 8, opset_import: [\"\" : %d, \"ai.onnx.ml\" : 3, \"com.microsoft\" : "
           "1]>\ng (%s) => () <%s> {%s}",
           opset, inputs, weights, nodes);
  if (surg_model_load_text(x.ctx, text, strlen(text), "row", &x.m) != SURG_OK)
    ck_abort_msg("%s: %s", nodes, surg_context_error(x.ctx));
  ck_assert_int_eq(surg_model_infer(x.m), SURG_OK);
  return x;
}
static void drop(model x) {
  surg_model_free(x.m);
  surg_context_free(x.ctx);
}
static surg_node *first(model x) {
  return surg_graph_first_node(surg_model_graph(x.m));
}

/* --- axes --- */

static const struct axes_row {
  int opset;
  const char *nodes;
  surg_axes_effect effect;
} axes[] = {
    {7, "y = Add(x, x)", SURG_AXES_UNKNOWN},
    {8, "y = Add(x, x)", SURG_AXES_BROADCAST},
    {8, "y = Relu(x)", SURG_AXES_UNARY},
    {9, "y = Slice<starts = [0], ends = [1]>(x)", SURG_AXES_UNKNOWN},
    {10, "y = Slice(x, i, i)", SURG_AXES_SLICE},
    {12, "y = Softmax(x)", SURG_AXES_UNKNOWN},
    {13, "y = Softmax(x)", SURG_AXES_AXIS},
    {13, "y = ArgMin(x)", SURG_AXES_ARG},
    {13, "y = Tile(x, i)", SURG_AXES_TILE},
    {13, "y = MatMul(x, x)", SURG_AXES_UNKNOWN},
    {13, "y = RandomNormalLike(x)", SURG_AXES_UNKNOWN},
    {13, "y = com.microsoft.Gelu(x)", SURG_AXES_UNKNOWN},
};

START_TEST(axes_row) {
  const struct axes_row *r = &axes[_i];
  model x = load(r->opset, "float[2,2] x, int64[2] i", "", r->nodes);
  ck_assert_msg(surg_node_axes_effect(first(x)) == r->effect, "opset %d: %s", r->opset, r->nodes);
  drop(x);
}
END_TEST

START_TEST(axes_of_nothing) {
  ck_assert_int_eq(surg_node_axes_effect(NULL), SURG_AXES_UNKNOWN);
}
END_TEST

/* --- the oldest opset --- */

typedef struct floor_row {
  int opset;
  const char *inputs, *weights, *nodes;
  int floor;
  const char *why; /* what keeps it there */
} floor_row;

static const floor_row floors[] = {
    {28, "float[N] x", "", "y = Relu(x)", 1, "the operator is new"},
    {28, "double[N] x", "", "y = Relu(x)", 1, "the operator is new"},
    {28, "int32[N] x", "", "y = Relu(x)", 14, "element type int32 of X is new"},
    {28, "bfloat16[N] x", "", "y = Relu(x)", 13, "element type bfloat16 of X is new"},
    {28, "float[2] x", "", "y = Trilu(x)", 14, "the operator is new"},
    /* broadcasting */
    {28, "float[N] a, float[N] b", "", "y = Add(a, b)", 1, "the operator is new"},
    {28, "float[N] a, float[M] b", "", "y = Add(a, b)", 7,
     "inputs are broadcast both ways; before, B only, and only where `broadcast` asked for it; the "
     "same only where all inputs have one shape"},
    {28, "float[N] a, float[1] b", "", "y = Add(a, b)", 7, NULL},
    {28, "float[] a, float[] b", "", "y = Add(a, b)", 7, NULL},
    {28, "float[N] a, float[N] b", "", "y = Sum(a, b)", 1, NULL},
    {28, "float[N] a, float[1] b", "", "y = Sum(a, b)", 8, NULL},
    {28, "float[2] a", "", "y = Sum(a)", 1, NULL},
    {28, "int64[N] a, int64[N] b", "", "y = Max(a, b)", 12, "element type int64 of data_0 is new"},
    /* attributes */
    {28, "float[2,3] x", "", "y = ArgMax(x)", 1, NULL},
    {28, "float[2,3] x", "", "y = ArgMax<axis = -1>(x)", 11, NULL},
    {28, "float[2,3] x", "", "y = ArgMax<select_last_index = 0>(x)", 1, NULL},
    {28, "float[2,3] x", "", "y = ArgMax<select_last_index = 1>(x)", 12,
     "attribute select_last_index is new"},
    {28, "float[2,3] x", "", "y = Shape(x)", 1, NULL},
    {28, "float[2,3] x", "", "y = Shape<start = 0>(x)", 1, NULL},
    {28, "float[2,3] x", "", "y = Shape<start = 1>(x)", 15, "attribute start is new"},
    {28, "float[2,3] x", "", "y = Shape<end = 0>(x)", 15, "attribute end is new"},
    {28, "float[2,3] x", "", "y = Softmax<axis = 1>(x)", 1, NULL},
    {28, "float[2,3] x", "", "y = Softmax<axis = -1>(x)", 11, NULL},
    {28, "float[2,3] x", "", "y = Softmax(x)", 13, "the default of attribute axis is new"},
    {28, "float[2,3] x", "", "y = Softmax<axis = 0>(x)", 13, NULL},
    {28, "float[] x", "", "y = Softmax<axis = 1>(x)", 13, NULL},
    {12, "float[2,3] x", "", "y = Softmax(x)", 1, NULL},
    {28, "float[2] x", "", "y = Cast<to = 6>(x)", 6, "attribute to as int is new"},
    {28, "string[2] x", "", "y = Cast<to = 6>(x)", 9, "element type string of input is new"},
    {28, "float[2] x", "", "y = Cast<to = 8>(x)", 9, "element type string of output is new"},
    {28, "float[2] x", "", "y = Cast<to = 17>(x)", 19,
     "element type float8e4m3fn of output is new"},
    {28, "float[2,3] x", "", "y = LeakyRelu(x)", 1, NULL},
    {28, "float[2,3] x", "", "y = Selu(x)", 6, "the default of attribute alpha is new"},
    {28, "float[2,3] x", "", "y = Constant<value_ints = [1, 2]>()", 12,
     "attribute value_ints is new"},
    /* inputs */
    {28, "float[2,3] x", "int64[1] s = {1}", "y = ReduceSum(x, s)", 13, "input 1 is new"},
    {28, "float[2,3] x", "int64[1] s = {1}", "y = ReduceMean(x, s)", 18, "input 1 is new"},
    {28, "float[2,3] x", "", "y = ReduceMean(x)", 1, NULL},
    {17, "float[2,3] x", "", "y = ReduceMean<axes = [1]>(x)", 1, NULL},
    {17, "float[2,3] x", "", "y = ReduceMean<axes = [1, -2]>(x)", 11, NULL},
    {28, "float[2,3] x", "int64[2] s = {3, 2}", "y = Reshape(x, s)", 5, "input 1 is new"},
    {28, "float[2,3] x, float[3,4] w", "", "y = Gemm(x, w)", 11, "input C had to be given"},
    {28, "float[2,3] x, float[3,4] w, float[4] b", "", "y = Gemm(x, w, b)", 7, NULL},
    {28, "float[2,3] x", "float l = {0}", "y = Clip(x, l)", 11, "input 1 is new"},
    {28, "float[2,3] x", "float h = {0}", "y = Clip(x, , h)", 11, "input 1 is new"},
    {28, "float[2,3] x", "", "y = Clip(x)", 11, NULL},
    {28, "float[4,3] x", "int64[2] i = {0, 3}", "y = Gather(x, i)", 1, NULL},
    {28, "float[4,3] x", "int64[2] i = {0, -1}", "y = Gather(x, i)", 11, NULL},
    {28, "float[4,3] x, int64[2] i", "", "y = Gather(x, i)", 11, NULL},
    {28, "float[4,3] x, float s", "", "y = QuantizeLinear(x, s)", 10, NULL},
    {28, "float[4,3] x, float[4] s", "", "y = QuantizeLinear<axis = 0>(x, s)", 13, NULL},
    {28, "float[4,3] x, float[3] s", "", "y = QuantizeLinear(x, s)", 13, NULL},
    {28, "float[4,3] x, float[1] s", "", "y = PRelu(x, s)", 1, NULL},
    {28, "float[4,3] x, float[3] s", "", "y = PRelu(x, s)", 7, NULL},
    /* outputs */
    {28, "float[2] x", "", "y, m = Dropout(x)", 10, NULL},
    {28, "float[2] x", "", "y = Dropout(x)", 7, NULL},
    {28, "float[1,2,4,4] x", "", "y = MaxPool<kernel_shape = [2, 2]>(x)", 1, NULL},
    {28, "float[1,2,4,4] x", "", "y, i = MaxPool<kernel_shape = [2, 2]>(x)", 8, "output 1 is new"},
    {28, "float[1,2,4,4] x", "", "y = MaxPool<ceil_mode = 1, kernel_shape = [2, 2]>(x)", 10,
     "attribute ceil_mode is new"},
    {28, "float[1,2,n,4] x", "",
     "y = MaxPool<ceil_mode = 1, kernel_shape = [2, 2], strides = [3, 1]>(x)", 22, NULL},
    {28, "float[1,2,4,4] x", "",
     "y = MaxPool<ceil_mode = 1, kernel_shape = [2, 2], strides = [3, 1]>(x)", 10,
     "attribute ceil_mode is new"},
    {28, "float[1,2,3,4] x", "",
     "y = MaxPool<ceil_mode = 1, kernel_shape = [1, 1], strides = [3, 1], pads = [0, 0, 1, 0]>(x)",
     22, NULL},
    {21, "float[1,2,4,4] x", "", "y = MaxPool<ceil_mode = 1, kernel_shape = [2, 2]>(x)", 10,
     "attribute ceil_mode is new"},
    /* types of their own */
    {28, "float[2,3] x, float[3] s, float[3] b, float[3] m, float[3] v", "",
     "y = BatchNormalization(x, s, b, m, v)", 7, NULL},
    {28, "float[2,3] x, float[3] s, float[3] b, double[3] m, double[3] v", "",
     "y = BatchNormalization(x, s, b, m, v)", 14, "a separate type for input_mean is new"},
    {28, "float16[2,3] x, float[3] s, float[3] b, float[3] m, float[3] v", "",
     "y = BatchNormalization(x, s, b, m, v)", 15, "a separate type for scale is new"},
    {28, "float[2] x, int32[2] e", "", "y = Pow(x, e)", 12, NULL},
    {28, "float[2] x, float[2] e", "", "y = Pow(x, e)", 1, NULL},
    /* nothing known */
    {28, "seq(float[]) s", "", "y = Identity(s)", 14, NULL},
    {28, "float[N] x", "", "y = SequenceConstruct(x)", 11, "the operator is new"},
};

START_TEST(floor_rows) {
  const floor_row *r = &floors[_i];
  model x = load(r->opset, r->inputs, r->weights, r->nodes);
  surg__buf why;
  surg__buf_init(&why, x.ctx);
  const surg_schema *s = surg__node_oldest(first(x), &why);
  surg__buf_putc(&why, 0);
  ck_assert_ptr_nonnull(s);
  ck_assert_msg(s->since == r->floor, "%s: %d, not %d (%s)", r->nodes, s->since, r->floor, why.p);
  ck_assert_int_eq(surg_node_floor(first(x)), r->floor);
  ck_assert(why.n > 1);
  if (r->why) ck_assert_str_eq(why.p, r->why);
  surg__buf_free(&why);
  drop(x);
}
END_TEST

/* A node that fits an older opset is one of that version when the model imports it. */
START_TEST(floor_resolves) {
  const floor_row *r = &floors[_i];
  model x = load(r->opset, r->inputs, r->weights, r->nodes);
  if (surg_model_set_opset(x.m, "", r->floor) == SURG_OK) {
    ck_assert_int_eq(surg_schema_since(surg_node_schema(first(x))), r->floor);
    ck_assert_int_eq(surg_model_infer(x.m), SURG_OK);
    ck_assert_int_eq(surg_node_floor(first(x)), r->floor);
  }
  drop(x);
}
END_TEST

/* --- cost --- */

typedef struct cost_row {
  int opset;
  const char *inputs, *nodes;
  int64_t macs, flops; /* -1: a size is not known; -2: unknown operator */
  const char *info;    /* what is declared of values, or NULL */
} cost_row;

static const cost_row costs[] = {
    {17, "float[1,3,224,224] x, float[64,3,7,7] w",
     "y = Conv<strides = [2, 2], pads = [3, 3, 3, 3]>(x, w)", 118013952, 236027904},
    {17, "float[1,3,224,224] x, float[64,3,7,7] w, float[64] b",
     "y = Conv<strides = [2, 2], pads = [3, 3, 3, 3]>(x, w, b)", 118013952, 236830720},
    {17, "float[1,8,4,4] x, float[8,1,3,3] w", "y = Conv<group = 8, pads = [1, 1, 1, 1]>(x, w)",
     8 * 16 * 9, 2 * 8 * 16 * 9},
    {17, "float[N,3,4,4] x, float[2,3,1,1] w", "y = Conv(x, w)", -1, -1},
    {17, "float[1,4,5,5] x, float[4,6,2,2] w", "y = ConvTranspose(x, w)", 4 * 25 * 6 * 4,
     2 * 4 * 25 * 6 * 4},
    {17, "float[2,3] a, float[3,4] b, float[4] c", "y = Gemm(a, b, c)", 24, 56},
    {17, "float[3,2] a, float[4,3] b", "y = Gemm<transA = 1, transB = 1>(a, b)", 24, 48},
    {17, "float[5,2,3] a, float[3,4] b", "y = MatMul(a, b)", 120, 240},
    {17, "float[3] a, float[3] b", "y = MatMul(a, b)", 3, 6},
    {17, "float[0,3] a, float[3,4] b", "y = MatMul(a, b)", 0, 0},
    {17, "int8[2,3] a, int8[3,4] b", "y = MatMulInteger(a, b)", 24, 48},
    {17, "float[7,2,3] x, float[1,20,3] w, float[1,20,5] r", "y = LSTM<hidden_size = 5>(x, w, r)",
     14 * (60 + 100), 28 * (60 + 100)},
    {17, "float[2,3] a, float[3,4] b", "y = Einsum<equation = \"ij,jk->ik\">(a, b)", 24, 48},
    {17, "float[5,2,3] a, float[3,4] b", "y = Einsum<equation = \"...ij,jk->...ik\">(a, b)", 120,
     240},
    {17, "float[3,3] a", "y = Einsum<equation = \"ii->i\">(a)", 0, 3},
    {17, "float[2,3] a, float[N,4] b", "y = Einsum<equation = \"ij,jk->ik\">(a, b)", 24, 48},
    {17, "float[2,3] a, float[2,4] b", "y = Einsum<equation = \"ij,jk->ik\">(a, b)", -1, -1},
    {17, "float[2,3] a, float[] b", "y = Einsum<equation = \"ij,jk->ik\">(a, b)", -1, -1},
    {23, "float[2,4,6,8] q, float[2,4,10,8] k, float[2,4,10,16] v", "y = Attention(q, k, v)",
     2 * 4 * 6 * 10 * (8 + 16), 2 * 2 * 4 * 6 * 10 * (8 + 16) + 5 * 2 * 4 * 6 * 10},
    {23, "float[2,6,32] q, float[2,10,32] k, float[2,10,64] v",
     "y = Attention<q_num_heads = 4, kv_num_heads = 4>(q, k, v)", 2 * 4 * 6 * 10 * (8 + 16),
     2 * 2 * 4 * 6 * 10 * (8 + 16) + 5 * 2 * 4 * 6 * 10},
    {17, "float[2,3] x", "y = Relu(x)", 0, 6},
    {17, "float[2,3] x, float[3] b", "y = Add(x, b)", 0, 6},
    {6, "float[2,3] x, float[3] b", "y = Add<broadcast = 1>(x, b)", 0, 6},
    {17, "float[2] a, float[2] b, float[2] c", "y = Sum(a, b, c)", 0, 4},
    {17, "float[2,3] x", "y = Softmax(x)", 0, 30},
    {17, "float[2,3] x", "y = ReduceMean(x)", 0, 6},
    {17, "float[1,2,4,4] x", "y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)", 0, 32},
    {17, "float[1,2,4,4] x", "y = GlobalAveragePool(x)", 0, 32},
    {17, "float[2,3] x", "y = Transpose(x)", 0, 0},
    {17, "float[2,3] x", "y = Identity(x)", 0, 0},
    {17, "float[N] x", "y = Shape(x)", 0, 0},
    {17, "float[N] x", "y = Cast<to = 6>(x)", 0, 0},
    {17, "float[N] x", "y = Relu(x)", -1, -1},
    {17, "float[3,3] x", "y = Det(x)", 9, 18},
    {17, "float[5,2,2] x", "y = Det(x)", 10, 20},
    {17, "float[5,0,0] x", "y = Det(x)", 0, 0},
    {17, "float[N,2,2] x", "y = Det(x)", -1, -1},
    {17, "float[3,8,1] x", "y = DFT(x)", 0, 3 * 5 * 8 * 3},
    {17, "float[8,3,2] x", "y = DFT<axis = 0>(x)", 0, 3 * 5 * 8 * 3},
    {20, "float[3,8,1] x", "y = DFT(x)", 0, 3 * 5 * 8 * 3},
    {20, "float[3,6,1] x, int64 n", "y = DFT(x, n)", -1, -1},
    {17, "float[3,N,1] x", "y = DFT(x)", -1, -1},
    {17, "float[2,16,1] x, float[4] w", "y = STFT(x, s, w)", 0, 2 * 5 * (5 * 4 * 2 + 4),
     "int64 s = {3}"},
    {17, "float[2,16,1] x", "y = STFT(x, s, , l)", 0, 2 * 5 * 5 * 4 * 2,
     "int64 s = {3}, int64 l = {4}"},
    {17, "float[2,3] x", "y = com.microsoft.FastGelu(x)", 0, 6, "float[2,3] y"},
    {17, "float[2,3] x", "y = com.microsoft.Thing(x)", -2, -2, "float[2,3] y"},
    {17, "float[2,3] x, float[3,4] w", "y = com.microsoft.FusedMatMul(x, w)", 24, 48,
     "float[2,4] y"},
    {17, "float[1,4,5,5] x, float[8,4,1,1] w", "y = com.microsoft.FusedConv(x, w)", 800, 1600,
     "float[1,8,5,5] y"},
    {17, "float[2,6,8] x, float[8,24] w, float[24] b",
     "y = com.microsoft.Attention<num_heads = 2>(x, w, b)", 12 * 192 + 2 * 96 * 6,
     2 * (12 * 192 + 2 * 96 * 6) + 5 * 2 * 2 * 6 * 6, "float[2,6,8] y"},
    {17, "float[4,3] x",
     "y = ai.onnx.ml.TreeEnsembleRegressor<nodes_treeids = [0, 0, 0, 0, 0, 1]>(x)", 0,
     4 * (2 + 1 + 0 + 1)},
    {17, "float[3] x", "y = ai.onnx.ml.TreeEnsembleRegressor<nodes_treeids = [0, 0, 0]>(x)", 0, 2},
    {17, "float[4,3] x", "y = ai.onnx.ml.TreeEnsembleRegressor(x)", -1, -1},
    {17, "float[4,3] x", "y = ai.onnx.ml.SVMRegressor<support_vectors = [1.0, 2.0, 3.0]>(x)", 12,
     24},
    {17, "float[2,3] x", "y = ai.onnx.ml.LinearRegressor<coefficients = [1.0, 2.0, 3.0]>(x)", 6,
     12},
    {17, "float[4294967296,4294967296,4] a, float[4,4] b", "y = MatMul(a, b)", -1, -1},
};

START_TEST(cost_rows) {
  const cost_row *r = &costs[_i];
  model x = load(r->opset, r->inputs, r->info ? r->info : "", r->nodes);
  uint64_t macs = 77, flops = 77;
  const surg_status s = surg_node_cost(first(x), &macs, &flops);
  if (r->macs < 0) {
    ck_assert_msg(s == (r->macs == -1 ? SURG_ENOTFOUND : SURG_EUNSUPPORTED), "%s: %d", r->nodes, s);
    ck_assert_uint_eq(macs, 77);
  } else {
    ck_assert_msg(s == SURG_OK, "%s: %d", r->nodes, s);
    ck_assert_msg(macs == (uint64_t)r->macs && flops == (uint64_t)r->flops, "%s: %llu %llu",
                  r->nodes, (unsigned long long)macs, (unsigned long long)flops);
  }
  drop(x);
}
END_TEST

typedef struct symbolic_row {
  const char *inputs, *nodes, *macs, *flops; /* as expressions; NULL: not known */
} symbolic_row;

static const symbolic_row symbolic[] = {
    {"float[N,3,4,4] x, float[2,3,1,1] w", "y = Conv(x, w)", "96*N", "192*N"},
    {"float[N,3,H,W] x, float[2,3,1,1] w", "y = Conv(x, w)", "6*H*N*W", "12*H*N*W"},
    {"float[B,S,8] x, float[8,4] w", "y = MatMul(x, w)", "32*B*S", "64*B*S"},
    {"float[B,S,8] x, float[B,8,S] w", "y = MatMul(x, w)", "8*B*S*S", "16*B*S*S"},
    {"float[N,3] x, float[3] b", "y = Add(x, b)", "0", "3*N"},
    {"float[N,3] x", "y = Softmax(x)", "0", "15*N"},
    {"float[N,3] x, float[K] b", "y = Add(x, b)", "0", "3*N"},
    {"float[N,3] a, float[K,4] b", "y = Einsum<equation = \"ij,jk->ik\">(a, b)", "12*N", "24*N"},
    {"float[] x", "y = Relu(x)", NULL, NULL},
    {"float[N,4611686018427387904] x", "y = Softmax(x)", NULL, NULL},
};

static void same_amount(model x, surg__amount a, const char *want, const char *nodes) {
  surg__buf b;
  surg__buf_init(&b, x.ctx);
  if (a.expr)
    surg__expr_print(&b, a.expr);
  else
    surg__buf_printf(&b, "%lld", (long long)a.k);
  surg__buf_putc(&b, 0);
  ck_assert_msg(strcmp(b.p, want) == 0, "%s: %s", nodes, b.p);
  surg__buf_free(&b);
}

START_TEST(symbolic_rows) {
  const symbolic_row *r = &symbolic[_i];
  model x = load(17, r->inputs, "", r->nodes);
  surg__amount macs, flops;
  const surg_status s = surg__node_cost(first(x), &macs, &flops);
  ck_assert_int_eq(s, r->macs ? SURG_OK : SURG_ENOTFOUND);
  if (r->macs) {
    same_amount(x, macs, r->macs, r->nodes);
    same_amount(x, flops, r->flops, r->nodes);
  }
  drop(x);
}
END_TEST

/* --- calls --- */

typedef struct call_row {
  const char *inputs, *nodes, *functions; /* `f`, of domain "f" */
  int calls;                              /* told of */
  int64_t flops;                          /* of all of them */
  size_t size_unknown, operator_unknown;
} call_row;

#define HEAD "<domain: \"f\", opset_import: [\"\" : 17, \"f\" : 1]>\n"
static const call_row calls[] = {
    {"float[2,3] x", "y = f.f(x)", HEAD "f (a) => (b) { c = Relu(a) b = Relu(c) }", 1, 12, 0, 0},
    /* The same function for two shapes. */
    {"float[2,3] x, float[4,5] z", "y = f.f(x) v = f.f(z)", HEAD "f (a) => (b) { b = Relu(a) }", 2,
     6 + 20, 0, 0},
    /* A function that calls another one twice, for two shapes. */
    {"float[2,3] x", "y = f.f(x)",
     HEAD
     "f (a) => (b, e) { b = f.g(a) c = Transpose(a) d = Concat<axis = 0>(c, c) e = f.g(d) }\n" HEAD
     "g (a) => (b) { b = Relu(a) }",
     1, 6 + 12, 0, 0},
    /* Bodies in it, and a call in a loop, which is walked more than once. */
    {"float[2,3] x, bool c", "y = f.f(x, c)",
     HEAD "f (a, c) => (b) { b = If (c) <then_branch = t () => (z) { z = Relu(a) }, else_branch = "
          "e () => (z) { w = Relu(a) z = Relu(w) }> }",
     1, 18, 0, 0},
    {"float[2,3] x, int64 n, bool c",
     "y = Loop (n, c, x) <body = b (int64 i, bool k, float[2,3] s) => (k, t) { t = f.f(s) }>",
     HEAD "f (a) => (b) { b = Relu(a) }", 1, 6, 0, 0},
    /* What is not known is said. */
    {"float[] x", "y = f.f(x)", HEAD "f (a) => (b) { c = Relu(a) b = RoiAlign(c, a, a) }", 1, 0, 1,
     1},
    {"float[2,3] x", "y = f.f(x)", HEAD "f (a) => (a) {}", 1, 0, 0, 0},
    {"float[2,3] x", "y = Relu(x)", "", 0, 0, 0, 0},
};

typedef struct told {
  int calls;
  int64_t flops;
  size_t size_unknown, operator_unknown;
} told;

static void tell(void *user, const surg_node *call, const surg__call_cost *cost) {
  told *t = user;
  ck_assert_int_eq(surg_node_class(call), SURG_OP_CLASS_FUNCTION);
  ck_assert_ptr_null(cost->flops.expr);
  t->calls++;
  t->flops += cost->flops.k;
  t->size_unknown += cost->size_unknown;
  t->operator_unknown += cost->operator_unknown;
}

START_TEST(call_rows) {
  const call_row *r = &calls[_i];
  char text[2048];
  told t = {0};
  model x = {.ctx = surg_context_new(NULL)};
  snprintf(text, sizeof text,
           "<ir_version: 10, opset_import: [\"\" : 17, \"f\" : 1]>\ng (%s) => () {%s}\n%s",
           r->inputs, r->nodes, r->functions);
  if (surg_model_load_text(x.ctx, text, strlen(text), "row", &x.m) != SURG_OK)
    ck_abort_msg("%s: %s", text, surg_context_error(x.ctx));
  for (int again = 0; again < 2; again++) {
    t = (told){0};
    ck_assert_int_eq(surg__model_calls(x.m, tell, &t), SURG_OK);
    ck_assert_msg(t.flops == r->flops, "%s: %lld", text, (long long)t.flops);
    ck_assert_int_eq(t.calls, r->calls);
    ck_assert_uint_eq(t.size_unknown, r->size_unknown);
    ck_assert_uint_eq(t.operator_unknown, r->operator_unknown);
  }
  drop(x);
}
END_TEST

/* --- memory --- */

typedef struct peak_row {
  const char *inputs, *nodes;
  uint64_t bytes, unknown;
} peak_row;

static const peak_row peaks[] = {
    {"float[4] x", "", 16, 0},
    {"float[4] x", "a = Relu(x)", 32, 0},
    /* x is free once a is made, a once b is. */
    {"float[4] x", "a = Relu(x) b = Relu(a) c = Relu(b)", 32, 0},
    /* x is read again at the end. */
    {"float[4] x", "a = Relu(x) b = Relu(a) c = Add(b, x)", 48, 0},
    {"float[4] x", "a = Constant<value = float[4] {1, 2, 3, 4}>() b = Add(a, x)", 32, 0},
    {"float[N] x", "a = Relu(x) b = Shape(a)", 8, 2},
    {"int4[3] x", "", 2, 0},
    {"string[3] x", "", 0, 1},
    /* Both branches are there, one at a time; what they capture lives as long. */
    {"bool c, float[4] x",
     "y = If (c) <then_branch = t () => (z) {a = Relu(x) z = Relu(a)}, "
     "else_branch = e () => (z) {z = Relu(x)}>",
     1 + 16 + 16 + 32, 0},
};

START_TEST(peak_rows) {
  const peak_row *r = &peaks[_i];
  model x = load(25, r->inputs, "", r->nodes);
  surg__peak p;
  ck_assert_int_eq(surg__model_peak(x.m, NULL, NULL, &p), SURG_OK);
  ck_assert_msg(p.bytes == r->bytes, "%s: %llu", r->nodes, (unsigned long long)p.bytes);
  ck_assert_uint_eq(p.unknown, r->unknown);
  ck_assert_int_eq(p.node != NULL, *r->nodes != 0);
  drop(x);
}
END_TEST

/* --- the table of steps, and what is said of them --- */

START_TEST(every_step_is_there) {
  size_t steps = 0;
  for (size_t i = 0; i < surg__schema_count; i++) {
    const surg_schema *s = &surg__schemas[i];
    size_t n;
    const surg_schema *v = surg__schema_versions(s->op, &n);
    const surg__opset_step *step = surg__step_find(s->op, s->since);
    ck_assert_int_eq(step != NULL, s > v);
    ck_assert(s >= v && s < v + n);
    steps += step != NULL;
    for (int output = 0; output < 2; output++) {
      surg__type_set set;
      const surg__param *p;
      for (size_t k = 0; k < 20 && (p = surg__schema_formal(s, output, k)); k++) {
        surg__type_set_of(s, p, &set);
        ck_assert(surg__type_set_within(&set, &set));
      }
    }
  }
  ck_assert_uint_eq(steps, surg__step_count);
  ck_assert_uint_eq(steps, 415);
}
END_TEST

typedef struct change_row {
  const char *op;
  int since;
  const char *text;
} change_row;

static const change_row changes[] = {
    {"Conv", 11, ""},
    {"Softmax", 13,
     "default of axis is -1, was 1\ninput, output also of bfloat16\nhas a function "
     "body\n"},
    {"Squeeze", 13,
     "an input now, was an attribute: axes: ints\ndata, squeezed also of bfloat16\n"},
    {"TopK", 10, "an input now, was an attribute: k: int, required\n"},
    {"Gemm", 11, "input C may be left out\n"},
    {"Concat", 4,
     "attribute axis must be given\ninputs, concat_result also of integers, complex, "
     "string, bool\n"},
    {"Cast", 6, "attribute to is int, was string\n"},
    {"Upsample", 10, "deprecated: there is no such operator from here on\n"},
    {"Loop", 11, "needs 2 inputs or more, was 3\n"},
    {"GridSample", 20, "default of mode is \"linear\", was \"bilinear\"\n"},
};

START_TEST(change_rows) {
  const change_row *r = &changes[_i];
  surg_context *ctx = surg_context_new(NULL);
  const surg_schema *to = surg_schema_find("", r->op, r->since);
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__put_changes(&b, to - 1, to);
  surg__buf_putc(&b, 0);
  ck_assert_str_eq(b.p, r->text);
  surg__buf_free(&b);
  surg_context_free(ctx);
}
END_TEST

int main(void) {
  Suite *s = suite_create("measure");
  TCase *t = tcase_create("measure");
  tcase_add_loop_test(t, axes_row, 0, (int)SURG_COUNT(axes));
  tcase_add_test(t, axes_of_nothing);
  tcase_add_loop_test(t, floor_rows, 0, (int)SURG_COUNT(floors));
  tcase_add_loop_test(t, floor_resolves, 0, (int)SURG_COUNT(floors));
  tcase_add_loop_test(t, cost_rows, 0, (int)SURG_COUNT(costs));
  tcase_add_loop_test(t, symbolic_rows, 0, (int)SURG_COUNT(symbolic));
  tcase_add_loop_test(t, call_rows, 0, (int)SURG_COUNT(calls));
  tcase_add_loop_test(t, peak_rows, 0, (int)SURG_COUNT(peaks));
  tcase_add_test(t, every_step_is_there);
  tcase_add_loop_test(t, change_rows, 0, (int)SURG_COUNT(changes));
  suite_add_tcase(s, t);
  return unit_run(s);
}
