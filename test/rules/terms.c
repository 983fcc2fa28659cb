/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of the absolute terms of a model, as a model: what a rule of class rounding is held
 * against. Every leaf is replaced by its magnitude and every difference by a sum, so that each
 * result is the sum of |terms| of the expression multiplied out. No value counts less than the
 * smallest normal number of its type: below it elements are not relative to their size any more. */
#include <string.h>

#include "eval/core/number.h"
#include "rules.h"
#include "schema/schema.h"

/* How an operator becomes one of magnitudes; those that are not listed have no such form. */
static const struct {
  const char *op, *as; /* NULL: as it is */
} forms[] = {
    {"Abs", NULL},         {"Add", NULL},           {"AveragePool", NULL},
    {"BatchNormalization", NULL}, {"Concat", NULL}, {"Constant", NULL},
    {"ConstantOfShape", NULL},    {"Conv", NULL},   {"ConvTranspose", NULL},
    {"CumSum", NULL},      {"Div", NULL},           {"Einsum", NULL},
    {"Expand", NULL},      {"Flatten", NULL},       {"Gather", NULL},
    {"Gemm", NULL},        {"GlobalAveragePool", NULL}, {"Identity", NULL},
    {"MatMul", NULL},      {"Mean", NULL},          {"Mul", NULL},
    {"Neg", "Abs"},        {"Pad", NULL},           {"ReduceMean", NULL},
    {"ReduceSum", NULL},   {"Relu", "Identity"},    {"Reshape", NULL},
    {"Shape", NULL},       {"Slice", NULL},         {"Split", NULL},
    {"Squeeze", NULL},     {"Sub", "Add"},          {"Sum", NULL},
    {"Tile", NULL},        {"Transpose", NULL},     {"Unsqueeze", NULL},
};

/* FLOAT, DOUBLE, or 0: integers; -1: not known, or a narrow float. */
static int real(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  const int d = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : 0;
  if (d == SURG_FLOAT || d == SURG_DOUBLE) return d;
  return surg__is_int(d) || d == SURG_BOOL ? 0 : -1;
}

/* Of what a node gives: of its first input, where the type of the output is not known. */
static int kind(const surg_node *n, const surg_node *const *all, const int *kinds, size_t count) {
  const int own = surg_node_output_count(n) ? real(surg_node_output(n, 0)) : 0;
  const surg_value *v = surg_node_input(n, 0);
  const surg_node *from = v ? surg_value_producer(v, NULL) : NULL;
  if (own >= 0) return own;
  for (size_t i = 0; i < count; i++)
    if (all[i] == from) return kinds[i];
  return v && !from ? real(v) : -1;
}

/* A divisor or a root changes how errors grow: only what is made of parameters without a sum of
 * many elements, such as sqrt(variance + epsilon). */
static bool constant(const surg_value *v) {
  static const uint16_t way[] = {SURG_OP_Add,  SURG_OP_Cast, SURG_OP_Identity, SURG_OP_Reshape,
                                 SURG_OP_Sqrt, SURG_OP_Div,  SURG_OP_Unsqueeze};
  for (int depth = 0; v && depth < 8; depth++) {
    if (surg_value_constant(v)) return true;
    const surg_node *n = surg_value_producer(v, NULL);
    bool known = false;
    for (size_t i = 0; n && i < SURG_COUNT(way); i++) known |= surg_node_op(n) == way[i];
    v = known ? surg_node_input(n, 0) : NULL;
  }
  return false;
}

static bool to_magnitudes(surg_node *n) {
  const char *op = surg_node_op_type(n);
  if (surg_node_op(n) == SURG_OP_BatchNormalization && surg_node_output_count(n) > 1) return false;
  if (!strcmp(op, "Sqrt")) return constant(surg_node_input(n, 0));
  for (size_t i = 0; i < SURG_COUNT(forms); i++) {
    if (strcmp(op, forms[i].op)) continue;
    if (!strcmp(op, "Div") && !constant(surg_node_input(n, 1))) return false;
    if (!strcmp(op, "Sub") && constant(surg_node_input(n, 0)) && constant(surg_node_input(n, 1)))
      return !surg_node_set_op(n, "", "Add");
    if (forms[i].as && surg_node_set_op(n, "", forms[i].as)) return false;
    return true;
  }
  return false;
}

static surg_value *through(surg_graph *g, surg_node *before, const char *op, surg_value *v) {
  surg_node *n = surg_graph_add_node(g, before, "", op, 1);
  if (!n || surg_node_set_input(n, 0, v)) return NULL;
  return surg_node_output(n, 0);
}

/* Leaves become magnitudes; the mean of a normalization is taken away, so it is negative. */
static bool leaves(surg_graph *g, surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    surg_value *v = surg_node_input(n, i);
    if (!v || (!surg_value_producer(v, NULL) && real(v) == 0)) continue;
    const bool mean = i == 3 && surg_node_op(n) == SURG_OP_BatchNormalization;
    if (!surg_value_producer(v, NULL)) v = through(g, n, "Abs", v);
    if (v && mean) v = through(g, n, "Neg", v);
    if (!v || surg_node_set_input(n, i, v)) return false;
  }
  static const char *const factors[] = {"alpha", "beta"};
  for (size_t i = 0; i < SURG_COUNT(factors); i++) {
    const float f = surg_node_float(n, factors[i], 1);
    if (surg_node_attr(n, factors[i]) && f < 0 && surg_node_set_float(n, factors[i], -f))
      return false;
  }
  return true;
}

/* y = node + the smallest normal number. */
static bool floors(surg_graph *g, surg_node *n, bool wide) {
  surg_node *next = surg_node_next(n);
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *v = surg_node_output(n, i);
    const float f = 0x1p-126f;
    const double d = 0x1p-1022;
    surg_tensor *t = surg_tensor_new(surg_graph_model(g), wide ? SURG_DOUBLE : SURG_FLOAT, NULL, 0,
                                     wide ? (const void *)&d : &f, wide ? sizeof d : sizeof f);
    surg_value *least = t ? surg_graph_constant(g, next, NULL, t) : NULL;
    surg_node *sum = least ? surg_graph_add_node(g, next, "", "Add", 1) : NULL;
    if (!sum || surg_node_take_output(sum, 0, v)) return false;
    surg_value *own = surg_node_add_output(n, i);
    if (!own || surg_node_set_input(sum, 0, own) || surg_node_set_input(sum, 1, least))
      return false;
  }
  return true;
}

surg_model *terms_of(const surg_model *m) {
  surg_model *sums = surg_model_clone(m);
  surg_graph *g = sums ? surg_model_graph(sums) : NULL;
  bool ok = g && !surg_model_infer(sums) && surg_graph_opset(g, "") >= 7;
  surg_node *all[64]; /* that give floats; edits leave their types open */
  int dtypes[64];
  size_t n = 0;
  for (surg_node *at = ok ? surg_graph_first_node(g) : NULL; at && ok; at = surg_node_next(at)) {
    dtypes[n] = kind(at, (const surg_node *const *)all, dtypes, n);
    ok = dtypes[n] >= 0 && n + 1 < SURG_COUNT(all);
    if (dtypes[n]) all[n++] = at;
  }
  for (size_t i = 0; i < n && ok; i++) ok = leaves(g, all[i]);
  for (size_t i = 0; i < n && ok; i++) ok = to_magnitudes(all[i]);
  for (size_t i = 0; i < n && ok; i++) ok = floors(g, all[i], dtypes[i] == SURG_DOUBLE);
  if (ok) return sums;
  surg_model_free(sums);
  return NULL;
}
