/* SPDX-License-Identifier: Apache-2.0 */
/* Restores floats: weights that are stored in integers, and values that are rounded to integers.
 *
 *   before: q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)
 *           e = DequantizeLinear (w, t, u)  y = MatMul (d, e)
 *   after:  y = MatMul (x, e), where e is a constant
 *
 * Operators of quantized values (QLinearConv and others) are replaced first, by rules. A pair that
 * cuts negative numbers off, as a Relu would, becomes a Relu.
 *
 * Needs sorted, types. Keeps sorted. Weights: exact. Values: approx. */
#include <math.h>
#include <onnxsurg/ops.h>
#include <onnxsurg/precision.h>
#include <stdio.h>
#include <string.h>

#include "../util/give.h"
#include "quant.h"

typedef struct unquant {
  surg_pass_ctx *p;
  surg_model *m;
  bool clip, values;
  uint64_t weights, pairs, relus, left;
} unquant;

/* com.microsoft has the operators for more types. */
static bool is_quantize(const surg_node *n) {
  const int op = n ? surg_node_op(n) : 0;
  return op == SURG_OP_QuantizeLinear || op == SURG_OP_ms_QuantizeLinear;
}

static bool is_dequantize(const surg_node *n) {
  const int op = n ? surg_node_op(n) : 0;
  return op == SURG_OP_DequantizeLinear || op == SURG_OP_ms_DequantizeLinear;
}

/* --- weights --- */

static bool constant_dequantize(const surg_node *n, surg_tensor *in[3]) {
  for (size_t i = 0; i < 3; i++) {
    const surg_value *v = surg_node_input(n, i);
    in[i] = v ? surg_value_settled(v) : NULL;
    if (v && !in[i]) return false;
  }
  return in[0] && in[1];
}

/* Makes a restored constant a constant of floats. FAILED: out of memory. */
static surg_pass_result restore_weight(unquant *u, surg_node *n) {
  surg_tensor *in[3], *made;
  surg_value *y = surg_node_output(n, 0);
  if (!y || !constant_dequantize(n, in) || surg_pass_keeps_node(u->p, n) ||
      surg_node_int(n, "output_dtype", 0))
    return SURG_PASS_UNCHANGED;
  const int64_t rank = (int64_t)surg_tensor_rank(in[0]);
  int64_t axis = surg_node_int(n, "axis", 1);
  const int64_t block = surg_node_int(n, "block_size", 0);
  if (axis < 0) axis += rank;
  if (block < 0 || axis < 0) return SURG_PASS_UNCHANGED;
  if (!surg_graph_takes_constants(surg_node_graph(n)) || !surg_pass_allow(u->p))
    return SURG_PASS_UNCHANGED;
  const surg_status s =
      surg_tensor_dequantize(u->m, in[0], in[1], in[2], (size_t)axis, (uint64_t)block, &made);
  if (s == SURG_OK && surg_value_become_constant(y, made) == SURG_OK) {
    surg_value *used[3];
    for (size_t i = 0; i < 3; i++) used[i] = surg_node_input(n, i);
    if (surg_node_erase(n)) return SURG_PASS_FAILED;
    for (size_t i = 0; i < 3; i++)
      if (!quant_drop_constant(used[i])) return SURG_PASS_FAILED;
    u->weights++;
    return SURG_PASS_CHANGED;
  }
  surg_pass_give_back(u->p);
  return surg_model_status(u->m) ? SURG_PASS_FAILED : SURG_PASS_UNCHANGED;
}

/* --- pairs --- */

static bool same_value(const surg_value *a, const surg_value *b) {
  bool same = false;
  if (a == b) return true;
  const surg_tensor *s = a ? surg_value_constant(a) : NULL, *t = b ? surg_value_constant(b) : NULL;
  return s && t && surg_tensor_same(s, t, &same) == SURG_OK && same;
}

/* Whether d restores what q rounds. */
static bool is_pair(const surg_node *q, const surg_node *d) {
  return is_quantize(q) && same_value(surg_node_input(q, 1), surg_node_input(d, 1)) &&
         same_value(surg_node_input(q, 2), surg_node_input(d, 2)) &&
         surg_node_int(q, "axis", 1) == surg_node_int(d, "axis", 1) &&
         surg_node_int(q, "block_size", 0) == surg_node_int(d, "block_size", 0) &&
         quant_dtype(surg_node_input(q, 0)) != 0 &&
         quant_dtype(surg_node_input(q, 0)) == quant_dtype(surg_node_output(d, 0));
}

/* The range of a type of integers. */
static bool range_of(int dtype, double *low, double *high) {
  const bool is_signed = dtype == SURG_INT8 || dtype == SURG_INT16 || dtype == SURG_INT4;
  const double size = dtype == SURG_INT4 || dtype == SURG_UINT4     ? 16
                      : dtype == SURG_INT8 || dtype == SURG_UINT8   ? 256
                      : dtype == SURG_INT16 || dtype == SURG_UINT16 ? 65536
                                                                    : 0;
  *low = is_signed ? -size / 2 : 0;
  *high = *low + size - 1;
  return size > 0;
}

/* What the integers of a pair bound. */
typedef struct span {
  double low, high; /* in steps from the zero point */
  double scale;     /* NaN: there are several, or it is not constant */
} span;

/* False: there are several zero points, it is not constant, or the integers are of another type. */
static bool span_of(const surg_node *q, span *b) {
  const surg_tensor *s = surg_value_settled(surg_node_input(q, 1));
  const surg_value *zv = surg_node_input(q, 2);
  const surg_tensor *z = zv ? surg_value_settled(zv) : NULL;
  float f;
  int64_t zero = 0;
  int dtype = z ? surg_tensor_dtype(z) : (int)surg_node_int(q, "output_dtype", SURG_UINT8);
  if (dtype == 0) dtype = SURG_UINT8;
  if (zv && !z) return false;
  if (z && (surg_tensor_count(z) != 1 || surg_tensor_read_ints(z, &zero, 1, NULL))) return false;
  if (!range_of(dtype, &b->low, &b->high)) return false;
  b->low -= (double)zero;
  b->high -= (double)zero;
  const bool one = s && surg_tensor_count(s) == 1 && surg_tensor_dtype(s) == SURG_FLOAT &&
                   surg_tensor_read_numbers(s, 0, &f, 1) == SURG_OK;
  b->scale = one ? (double)f : (double)NAN;
  return true;
}

/* Whether it is known what the integers cut off, as far as that is replaced. Signed ones are taken
 * for symmetric if their zero point is not known. */
static bool is_known(const unquant *u, const surg_node *q) {
  const surg_value *z = surg_node_input(q, 2);
  const surg_type *t = z ? surg_value_type(z) : NULL;
  const int dtype = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : 0;
  span b;
  if (dtype == SURG_FLOAT8E4M3FN || dtype == SURG_FLOAT8E5M2) return true;
  if (span_of(q, &b)) return !u->clip || !isnan(b.scale);
  return !u->clip && (dtype == SURG_INT8 || dtype == SURG_INT16 || dtype == SURG_INT4);
}

/* A node on x before d: Relu, or Clip to the range of the integers. */
static surg_value *bounded(unquant *u, surg_node *d, surg_value *x, const char *op, float low,
                           float high) {
  surg_graph *g = surg_node_graph(d);
  const float bounds[] = {low, high};
  surg_node *n = surg_graph_add_node(g, d, "", op, 1);
  if (!n || surg_node_set_input(n, 0, x)) return NULL;
  if (!(low < high)) return surg_node_output(n, 0);
  for (size_t i = 0; i < 2; i++) {
    surg_tensor *t = surg_tensor_new_numbers(u->m, SURG_FLOAT, NULL, 0, &bounds[i], 1);
    surg_value *v = t ? surg_graph_constant(g, n, i ? "high" : "low", t) : NULL;
    if (!v || surg_node_set_input(n, i + 1, v)) return NULL;
  }
  return surg_node_output(n, 0);
}

/* What replaces the pair: x, or x bounded where the integers bound it. NULL: out of memory. */
static surg_value *unrounded(unquant *u, const surg_node *q, surg_node *d) {
  surg_value *x = surg_node_input(q, 0);
  span b;
  surg_range r;
  const surg_graph *g = surg_node_graph(d);
  if (!span_of(q, &b)) return x;
  const bool known = surg_value_range(x, &r) == SURG_OK;
  const double low = b.low * b.scale, high = b.high * b.scale;
  if (known && r.low >= low && r.high <= high) return x;
  if (u->clip && surg_graph_opset(g, "") >= 11 && give_builtin(g, "Clip"))
    return bounded(u, d, x, "Clip", (float)low, (float)high);
  if (b.low < 0 || (known && r.low >= 0)) return x;
  if (quant_dtype(x) != SURG_FLOAT || !give_builtin(g, "Relu")) return x;
  u->relus++;
  return bounded(u, d, x, "Relu", 0, 0);
}

static surg_pass_result remove_pair(unquant *u, surg_node *d) {
  surg_node *q = surg_value_producer(surg_node_input(d, 0), NULL);
  if (!u->values || !is_pair(q, d) || !is_known(u, q) || surg_pass_keeps_node(u->p, d) ||
      surg_pass_keeps_node(u->p, q) || !surg_pass_allow(u->p))
    return SURG_PASS_UNCHANGED;
  surg_value *used[] = {surg_node_input(d, 1), surg_node_input(d, 2), surg_node_input(q, 1),
                        surg_node_input(q, 2)};
  surg_value *by = unrounded(u, q, d), *y = surg_node_output(d, 0);
  if (!by) return SURG_PASS_FAILED;
  if (surg_value_producer(by, NULL) &&
      surg_node_graph(surg_value_producer(by, NULL)) == surg_node_graph(d) &&
      by != surg_node_input(q, 0)) {
    /* The new node makes the result itself. */
    if (surg_node_take_output(surg_value_producer(by, NULL), 0, y)) return SURG_PASS_FAILED;
  } else {
    const surg_status s = give_uses(u->p, d, y, by);
    if (s == SURG_EUNSUPPORTED) {
      surg_pass_give_back(u->p);
      return SURG_PASS_UNCHANGED;
    }
    if (s != SURG_OK) return SURG_PASS_FAILED;
  }
  if (surg_node_erase(d)) return SURG_PASS_FAILED;
  if (!surg_value_use_count(surg_node_output(q, 0), 1) && surg_node_erase(q))
    return SURG_PASS_FAILED;
  for (size_t i = 0; i < 4; i++)
    if (!quant_drop_constant(used[i])) return SURG_PASS_FAILED;
  u->pairs++;
  return SURG_PASS_CHANGED;
}

/* --- the whole --- */

/* Rules that replace an operator of quantized values by QuantizeLinear and DequantizeLinear, or
 * leave quantization at run time out. */
static bool wanted(void *user, const surg_rule *r) {
  (void)user;
  const char *group = surg_rule_group(r);
  if (strcmp(group, "unquantized") == 0) return true;
  return strcmp(group, "substitute") == 0 && surg_rule_makes(r, "", "DequantizeLinear");
}

static surg_pass_result visit_graph(unquant *u, surg_graph *g) {
  surg_pass_result r = SURG_PASS_UNCHANGED;
  for (surg_node *n = surg_graph_first_node(g), *next; n; n = next) {
    next = surg_node_next(n);
    if (!is_dequantize(n)) continue;
    surg_pass_result one = restore_weight(u, n);
    if (one == SURG_PASS_UNCHANGED) one = remove_pair(u, n);
    if (one == SURG_PASS_FAILED) return one;
    if (one < r) r = one;
  }
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    const surg_narrow kind = surg_schema_narrow(surg_node_schema(n));
    u->left += kind == SURG_NARROW_QUANTIZE || kind == SURG_NARROW_DEQUANTIZE;
  }
  return r;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  unquant u = {.p = p, .m = surg_pass_model(p), .clip = surg_pass_bool(p, "clip")};
  surg_pass_result r = SURG_PASS_UNCHANGED;
  u.values = surg_pass_allows(p, SURG_APPROX);
  for (surg_graph *g = NULL; u.values && (g = surg_model_next_graph(u.m, g));) {
    const surg_pass_result one = surg_pass_rewrite_graph(p, g, wanted, NULL);
    if (one == SURG_PASS_FAILED) return one;
    if (one < r) r = one;
  }
  if (surg_model_infer_calls(u.m)) return SURG_PASS_FAILED;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(u.m, g));) {
    const surg_pass_result one = visit_graph(&u, g);
    if (one == SURG_PASS_FAILED) return one;
    if (one < r) r = one;
  }
  if (u.pairs) surg_pass_used(p, SURG_APPROX);
  if (u.weights) surg_pass_used(p, SURG_EXACT);
  surg_pass_count(p, "weights restored", u.weights);
  surg_pass_count(p, "values no longer rounded", u.pairs);
  if (u.relus) surg_pass_count(p, "Relus in place of unsigned integers", u.relus);
  surg_pass_count(p, "quantized nodes left", u.left);
  if (!u.values)
    surg_pass_note(p, NULL,
                   "only weights are restored: values no longer rounded need --allow approx");
  return r;
}

static const surg_option options[] = {
    SURG_OPTION(BOOL, "clip", "false", "keep the integer range by Clip (opset 11)"),
};

const surg_pass surg__pass_unquantize = {
    SURG_PASS_HEAD(MODEL, "unquantize", "restore floats from quantized weights and values"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_APPROX,
    .run = run,
};
