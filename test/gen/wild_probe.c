/* SPDX-License-Identifier: Apache-2.0 */
/* Wild models, edited to find out why an output differs: values that NaN or rounding decide. */
#include <stdio.h>
#include <string.h>

#include "wild.h"

/* --- what orders NaN --- */

/* Operators whose result for NaN, of pools for -Infinity, or of ReduceSum for large integers,
 * differs from runtime to runtime, and within one from kernel to kernel. */
static bool orders(const surg_node *n) {
  static const int ops[] = {SURG_OP_ArgMax,
                            SURG_OP_ArgMin,
                            SURG_OP_TopK,
                            SURG_OP_ReduceMax,
                            SURG_OP_ReduceMin,
                            SURG_OP_MaxPool,
                            SURG_OP_GlobalMaxPool,
                            SURG_OP_Max,
                            SURG_OP_Min,
                            SURG_OP_Clip,
                            SURG_OP_Relu,
                            SURG_OP_Sign,
                            SURG_OP_Unique,
                            SURG_OP_Hardmax,
                            SURG_OP_Cast,
                            SURG_OP_QuantizeLinear,
                            SURG_OP_DynamicQuantizeLinear,
                            SURG_OP_ReduceSum};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (surg_node_op(n) == ops[i]) return true;
  return false;
}

/* Whether a reduction counts axes from the last: of an empty tensor, ONNX Runtime keeps those. */
static bool counts_back(const surg_node *n) {
  static const int ops[] = {SURG_OP_ReduceL1,     SURG_OP_ReduceL2,        SURG_OP_ReduceLogSum,
                            SURG_OP_ReduceLogSumExp, SURG_OP_ReduceMean,   SURG_OP_ReduceProd,
                            SURG_OP_ReduceSumSquare, SURG_OP_ReduceSum,       SURG_OP_ReduceMax,
                            SURG_OP_ReduceMin};
  bool back = false;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) back = back || surg_node_op(n) == ops[i];
  size_t count = 0;
  const int64_t *axes = surg_node_ints(n, "axes", &count);
  surg_elem e[8];
  if (back && axes)
    for (size_t i = 0; i < count; i++)
      if (axes[i] < 0) return true;
  if (!back || axes || surg_node_input_count(n) < 2 ||
      surg_value_elements(surg_node_input(n, 1), e, 8, &count) != SURG_OK)
    return false;
  for (size_t i = 0; i < count; i++)
    if (e[i].known && e[i].value < 0) return true;
  return false;
}

typedef struct slice {
  surg_value *items[4096];
  size_t count;
} slice;

static void reach(slice *s, surg_value *v) {
  if (!v || surg_graph_parent(surg_value_graph(v))) return;
  for (size_t i = 0; i < s->count; i++)
    if (s->items[i] == v) return;
  if (s->count < 4096) s->items[s->count++] = v;
}

/* The inputs of a node, and what its graphs capture. */
static void reach_inputs(slice *s, const surg_node *n) {
  surg_graph *inner;
  for (size_t i = 0; i < surg_node_input_count(n); i++) reach(s, surg_node_input(n, i));
  for (size_t k = 0; (inner = surg_node_subgraph(n, k)) != NULL; k++) {
    for (size_t o = 0; o < surg_graph_output_count(inner); o++)
      reach(s, surg_graph_output(inner, o));
    for (const surg_node *i = surg_graph_first_node(inner); i; i = surg_node_next(i))
      reach_inputs(s, i);
  }
}

static void probe_node(surg_graph *g, const surg_node *n, bool *any) {
  const bool back = counts_back(n);
  surg_value *x = orders(n) || back ? surg_node_input(n, 0) : NULL;
  for (size_t i = 0; x && i < surg_node_input_count(n); i++) {
    if (!(x = surg_node_input(n, i))) break;
    const surg_type *t = surg_value_type(x);
    if (surg_graph_parent(surg_value_graph(x)) || !t) continue;
    printf("%s", *any ? "," : "");
    *any = true;
    wild_quoted(surg_value_name(x));
    printf(":\"%s%s\"", back ? "back " : "", surg_node_op_type(n));
    if (!surg_value_is_output(x)) (void)surg_graph_add_output(g, x, t);
  }
}

/* --- rounding --- */

/* Eight units in the last place: what rules of class rounding or ulp may move a value by. */
static double part(int dtype) {
  return dtype == SURG_FLOAT16 ? 0x1p-7 : dtype == SURG_FLOAT ? 0x1p-20 : 0x1p-49;
}

static surg_value *before(surg_node *n, const char *op, surg_value *x, surg_value *y) {
  surg_graph *g = surg_node_graph(n);
  surg_node *made = surg_graph_add_node(g, n, NULL, op, 1);
  if (!made || surg_node_set_input(made, 0, x) != SURG_OK) return NULL;
  if (y && surg_node_set_input(made, 1, y) != SURG_OK) return NULL;
  return surg_node_output(made, 0);
}

/* x times 1 + what a generator draws, in each run of a session something else. */
static surg_value *nudged(surg_node *n, surg_value *x, int dtype) {
  const int drawn = dtype == SURG_DOUBLE ? SURG_DOUBLE : SURG_FLOAT;
  surg_value *r = before(n, "RandomUniformLike", x, NULL);
  surg_node *maker = r ? surg_value_producer(r, NULL) : NULL;
  const float most = dtype == SURG_DOUBLE ? 1 : (float)part(dtype);
  if (!maker || surg_node_set_int(maker, "dtype", drawn) != SURG_OK ||
      surg_node_set_float(maker, "low", (dtype == SURG_DOUBLE ? 0 : 1) - most) != SURG_OK ||
      surg_node_set_float(maker, "high", (dtype == SURG_DOUBLE ? 0 : 1) + most) != SURG_OK)
    return NULL;
  if (dtype == SURG_DOUBLE) {
    const double scale = part(dtype), one = 1;
    surg_graph *g = surg_node_graph(n);
    surg_model *m = surg_graph_model(g);
    surg_value *s = surg_graph_constant(
        g, n, NULL, surg_tensor_new(m, dtype, NULL, 0, (const uint8_t *)&scale, sizeof scale));
    surg_value *c = surg_graph_constant(
        g, n, NULL, surg_tensor_new(m, dtype, NULL, 0, (const uint8_t *)&one, sizeof one));
    r = before(n, "Add", before(n, "Mul", r, s), c);
  } else if (dtype == SURG_FLOAT16) {
    r = before(n, "Cast", r, NULL);
    if (!r || surg_node_set_int(surg_value_producer(r, NULL), "to", dtype) != SURG_OK) return NULL;
  }
  return r ? before(n, "Mul", x, r) : NULL;
}

/* Operators whose result jumps, or turns, where the input moves by little: an input of the model,
 * which no rewrite moves, is not nudged for them. */
static bool steep(const surg_node *n) {
  static const int ops[] = {SURG_OP_Sin,           SURG_OP_Cos,     SURG_OP_Tan,
                            SURG_OP_Exp,           SURG_OP_Sinh,    SURG_OP_Cosh,
                            SURG_OP_Floor,         SURG_OP_Ceil,    SURG_OP_Round,
                            SURG_OP_Sign,          SURG_OP_Cast,    SURG_OP_Mod,
                            SURG_OP_Equal,         SURG_OP_Greater, SURG_OP_GreaterOrEqual,
                            SURG_OP_Less,          SURG_OP_TopK,    SURG_OP_ArgMax,
                            SURG_OP_LessOrEqual,   SURG_OP_ArgMin,  SURG_OP_Unique,
                            SURG_OP_QuantizeLinear};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (surg_node_op(n) == ops[i]) return true;
  return false;
}

static void nudge_inputs(surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    surg_value *x = surg_node_input(n, i);
    const surg_type *t = x ? surg_value_type(x) : NULL;
    if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_value_constant(x)) continue;
    if (surg_value_is_input(x) && steep(n)) continue;
    const int dtype = surg_type_dtype(t);
    if (!(dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16)) continue;
    surg_value *y = nudged(n, x, dtype);
    if (y) (void)surg_node_set_input(n, i, y);
  }
}

void wild_probe(surg_model *m, const char *output, bool nudge, const char *name) {
  static slice s;
  bool any = false;
  surg_graph *g = surg_model_graph(m);
  s.count = 0;
  (void)surg_model_infer(m);
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    if (strcmp(surg_value_name(surg_graph_output(g, i)), output) == 0)
      reach(&s, surg_graph_output(g, i));
  printf(nudge ? "{\"model\":\"%s\"" : "{\"model\":\"%s\",\"probe\":{", name);
  for (size_t i = 0; i < s.count; i++) {
    surg_node *n = surg_value_producer(s.items[i], NULL);
    if (!n) continue;
    reach_inputs(&s, n);
    if (!nudge) probe_node(g, n, &any);
  }
  for (size_t i = 0; nudge && i < s.count; i++) {
    surg_node *n = surg_value_producer(s.items[i], NULL);
    if (n) nudge_inputs(n);
  }
  printf(nudge ? "}\n" : "}}\n");
}
