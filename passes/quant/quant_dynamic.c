/* SPDX-License-Identifier: Apache-2.0 */
/* Products of integers, with operands that are quantized at run time:
 *
 *   before: y = MatMul (x, w)
 *   after:  q, s, z = DynamicQuantizeLinear (x)
 *           i = MatMulInteger (q, w_quantized, z, w_zero_point)
 *           f = Cast <to = 1> (i)  t = Mul (s, w_scale)  y = Mul (f, t)
 *
 * Gemm and a bias add an Add. Scales of channels are constants, so t is one product for each. */
#include <onnxsurg/ops.h>

#include "../util/give.h"
#include "../util/numbers.h"
#include "quant.h"

#define OPSET_DYNAMIC 11 /* DynamicQuantizeLinear */
#define MOST_USES 64     /* of an operand, looked through for one that is quantized already */
#define FLIP_BYTES (UINT64_C(1) << 25) /* of a weight that is transposed in advance */
#define BIAS_BYTES (UINT64_C(1) << 24) /* of a constant bias that is stored in another shape */
#define FLIP_WORK (UINT64_C(1) << 30)

/* --- what can be rewritten --- */

static bool same_number(float a, float b) {
  return !(a < b) && !(a > b);
}

static bool gemm_fits(const surg_node *n) {
  return same_number(surg_node_float(n, "alpha", 1), 1) &&
         same_number(surg_node_float(n, "beta", 1), 1) && !surg_node_int(n, "transA", 0);
}

/* Whether a site has a form with integers. */
static bool has_form(const quant *c, const quant_site *s) {
  const surg_tensor *t = surg_value_constant(c->weights[s->weight].v);
  if (s->turn && (s->kind == QUANT_CONV || !t || surg_tensor_rank(t) != 2)) return false;
  return s->kind == QUANT_MATMUL || s->kind == QUANT_GEMM || s->kind == QUANT_CONV;
}

static bool has_no_form(const quant *c, const quant_site *s) {
  return !has_form(c, s);
}

static const char *operator_of(const quant_site *s) {
  return s->kind == QUANT_CONV ? "ConvInteger" : "MatMulInteger";
}

/* uint8, unless the user or the target wants int8: processors that add pairs of products in 16 bits
 * saturate for uint8 beside int8, and ConvInteger of int8 weights has few kernels. */
static int type_of(quant *c, const quant_site *s) {
  const quant_weight *w = &c->weights[s->weight];
  if (w->q) return w->dtype;
  if (c->dtype) return c->dtype;
  const uint64_t stated = quant_target_types(c, surg_node_graph(s->n), operator_of(s), false, 1);
  return stated >> SURG_UINT8 & 1 || !(stated >> SURG_INT8 & 1) ? SURG_UINT8 : SURG_INT8;
}

static bool target_takes(quant *c, const quant_site *s) {
  const surg_graph *g = surg_node_graph(s->n);
  return (quant_target_types(c, g, operator_of(s), false, 0) >> SURG_UINT8 & 1) &&
         (quant_target_types(c, g, operator_of(s), false, 1) >> type_of(c, s) & 1) &&
         (quant_target_types(c, g, "DynamicQuantizeLinear", false, 0) >> SURG_FLOAT & 1);
}

/* Whether the scales of a weight belong to the results of this reader. */
static bool along_results(const quant_weight *w, const quant_site *s) {
  size_t axis, sum;
  const size_t rank = surg_tensor_rank(surg_value_constant(w->v));
  return !w->each || (quant_site_axes(s, rank, &axis, &sum) && axis == w->axis);
}

static quant_why why_of(quant *c, const quant_site *s) {
  const surg_graph *g = surg_node_graph(s->n);
  const size_t operand = s->input == 0 ? 1 : 0;
  const quant_weight *w = &c->weights[s->weight];
  if (s->why != QUANT_FREE) return (quant_why)s->why;
  if (w->why != QUANT_FREE) return (quant_why)w->why;
  if (surg_graph_opset(g, "") < OPSET_DYNAMIC || !give_builtin(g, "DynamicQuantizeLinear") ||
      !give_builtin(g, operator_of(s)) || !give_builtin(g, "Mul") || !give_builtin(g, "Cast") ||
      !give_builtin(g, "Add"))
    return QUANT_OPSET;
  if (quant_dtype(w->v) != SURG_FLOAT || quant_dtype(surg_node_input(s->n, operand)) != SURG_FLOAT)
    return QUANT_DTYPE;
  if (operand == 1 || (s->kind == QUANT_GEMM && !gemm_fits(s->n)) || !along_results(w, s))
    return QUANT_FORM;
  if (surg_value_constant(surg_node_input(s->n, operand))) return QUANT_FORM;
  return target_takes(c, s) ? QUANT_FREE : QUANT_TARGET;
}

/* --- parts --- */

/* The DynamicQuantizeLinear of x in the graph of n, before it: one that is there, or a new one. */
static surg_node *quantized(quant *c, surg_node *n, surg_value *x) {
  static const char *const suffixes[] = {"_quantized", "_scale", "_zero_point"};
  surg_graph *g = surg_node_graph(n);
  size_t seen = 0;
  for (surg_use *u = surg_value_first_use(x); u && seen < MOST_USES; u = surg_use_next(u), seen++) {
    surg_node *by = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    if (by && surg_node_op(by) == SURG_OP_DynamicQuantizeLinear && surg_node_graph(by) == g &&
        surg_node_before(by, n))
      return by;
  }
  surg_node *q = surg_graph_add_node(g, n, "", "DynamicQuantizeLinear", 3);
  if (!q || surg_node_set_input(q, 0, x)) return NULL;
  for (size_t i = 0; i < 3; i++) {
    const char *stem = quant_stem(c, x, suffixes[i]);
    const char *name = stem ? surg_graph_fresh_name(g, stem) : NULL;
    if (!name || surg_value_rename(surg_node_output(q, i), name)) return NULL;
  }
  const char *stem = quant_stem(c, x, "_quantized_DynamicQuantizeLinear");
  const char *name = stem ? surg_graph_fresh_name(g, stem) : NULL;
  return name && surg_node_set_name(q, name) == SURG_OK ? q : NULL;
}

/* The floats of a tensor, a vector, with dimensions [count, 1, 1 ...]. NULL: out of memory. */
static surg_tensor *column_of(quant *c, const surg_tensor *t, size_t rank) {
  const size_t count = (size_t)surg_tensor_count(t), bytes = count * sizeof(float);
  int64_t *d = surg_pass_alloc(c->p, (rank + 1) * sizeof *d);
  float *values = surg_pass_alloc(c->p, bytes + 1);
  if (!d || !values || surg_tensor_read(t, 0, values, bytes)) return NULL;
  for (size_t i = 1; i < rank; i++) d[i] = 1;
  d[0] = (int64_t)count;
  return surg_tensor_new(c->m, SURG_FLOAT, d, rank, values, bytes);
}

/* The scales of a site: along its last axis, or for a Conv of `rank` dimensions along axis 0. */
static surg_value *scales_of(quant *c, quant_weight *w, size_t rank) {
  if (!w->each || rank <= 1) return quant_scale(c, w);
  if (!w->column) w->column = quant_constant(c, w, "_scale", column_of(c, w->scales, rank));
  return w->column;
}

/* A zero point of channels is one number where all are equal: not every engine accepts others. */
static surg_value *zero_of(quant *c, quant_weight *w) {
  uint8_t z = 0;
  bool none;
  if (!w->each || !w->symmetric) return quant_zero(c, w, &none);
  if (w->flat || surg_tensor_read(w->zeros, 0, &z, 1)) return w->flat;
  w->flat = quant_constant(c, w, "_zero_point", surg_tensor_new(c->m, w->dtype, NULL, 0, &z, 1));
  return w->flat;
}

/* The quantized weight, transposed: a constant, or a Transpose of a large one. */
static surg_value *flipped(quant *c, quant_weight *w) {
  static const int64_t turn[] = {1, 0};
  if (w->flipped) return w->flipped;
  surg_node *n = quant_node(c, surg_value_graph(w->v), quant_after(w->last), "Transpose", w->v,
                            "_quantized_transposed");
  if (!n || surg_node_set_input(n, 0, w->q) || surg_node_set_ints(n, "perm", turn, 2)) return NULL;
  w->last = w->flipped = surg_node_output(n, 0);
  if (surg_tensor_bytes(surg_value_constant(w->q)) > FLIP_BYTES) return w->flipped;
  surg_tensor *made = NULL;
  const char *why;
  const surg_status s = surg_node_evaluate(n, FLIP_BYTES, FLIP_WORK, &made, 1, &why);
  if (s == SURG_ENOMEM) return NULL;
  if (s != SURG_OK || surg_value_become_constant(w->flipped, made)) return w->flipped;
  return surg_node_erase(n) == SURG_OK ? w->flipped : NULL;
}

/* --- rewriting --- */

/* A node after the operator of a site, named after its result. */
static surg_node *part(quant *c, const quant_site *s, const char *op, const char *suffix,
                       surg_value *a, surg_value *b) {
  surg_node *n = quant_node(c, surg_node_graph(s->n), s->n, op, surg_node_output(s->n, 0), suffix);
  if (!n || surg_node_set_input(n, 0, a)) return NULL;
  return !b || surg_node_set_input(n, 1, b) == SURG_OK ? n : NULL;
}

/* The bias of a Conv as [count, 1, 1 ...] of `rank` dimensions. */
static surg_value *bias_of(quant *c, const quant_site *s, surg_value *bias, size_t rank) {
  int64_t *to = surg_pass_alloc(c->p, (rank + 1) * sizeof *to);
  if (!to) return NULL;
  const surg_tensor *t = surg_value_settled(bias);
  if (t && surg_tensor_dtype(t) == SURG_FLOAT && surg_tensor_rank(t) == 1 &&
      surg_tensor_bytes(t) <= BIAS_BYTES && !surg_tensor_is_sparse(t))
    return surg_graph_constant(surg_value_graph(bias), quant_after(bias), surg_value_name(bias),
                               column_of(c, t, rank));
  for (size_t i = 1; i < rank; i++) to[i] = 1;
  to[0] = -1;
  surg_value *shape = numbers_vector(s->n, NULL, to, rank);
  surg_node *n = shape ? part(c, s, "Reshape", "_bias", bias, shape) : NULL;
  return n ? surg_node_output(n, 0) : NULL;
}

/* Whether the product of a site reads the weight transposed: by transB, a Transpose, not by both.
 */
static bool reads_turned(const quant *c, const quant_site *s) {
  const bool flag = s->kind == QUANT_GEMM && surg_node_int(s->n, "transB", 0);
  if (!s->turn) return flag;
  const size_t rank = surg_tensor_rank(surg_value_constant(c->weights[s->weight].v));
  size_t axis, sum, same, other;
  (void)quant_site_axes(s, rank, &axis, &sum);
  (void)quant_axes_of(s->n, (quant_kind)s->kind, s->input, rank, &same, &other);
  return flag != (axis != same); /* a Transpose may leave the axes where they are */
}

/* The integer product of a site. */
static surg_node *product(quant *c, const quant_site *s, const surg_node *q) {
  quant_weight *w = &c->weights[s->weight];
  const bool conv = s->kind == QUANT_CONV;
  surg_value *weight = reads_turned(c, s) ? flipped(c, w) : w->q, *zero = zero_of(c, w);
  if (!weight || !zero) return NULL;
  surg_node *n = part(c, s, operator_of(s), "_integer", surg_node_output(q, 0), weight);
  if (!n || surg_node_set_input(n, 2, surg_node_output(q, 2)) || surg_node_set_input(n, 3, zero))
    return NULL;
  for (size_t i = 0; conv && i < surg_node_attr_count(s->n); i++)
    if (surg_node_copy_attr(n, surg_node_attr_at(s->n, i))) return NULL;
  return n;
}

/* The float product: the integers, scaled, and the bias. The last node makes the result of the
 * site, which is erased. */
static bool scaled(quant *c, const quant_site *s, const surg_node *q, surg_node *i) {
  quant_weight *w = &c->weights[s->weight];
  const size_t rank = surg_tensor_rank(surg_value_constant(w->v));
  surg_value *bias = s->kind == QUANT_MATMUL ? NULL : surg_node_input(s->n, 2), *old = bias;
  surg_value *scales = scales_of(c, w, s->kind == QUANT_CONV ? rank - 1 : 1);
  surg_node *f = scales ? part(c, s, "Cast", "_float", surg_node_output(i, 0), NULL) : NULL;
  if (!f || surg_node_set_int(f, "to", SURG_FLOAT)) return false;
  surg_node *t = part(c, s, "Mul", "_scales", surg_node_output(q, 1), scales);
  surg_node *y =
      t ? part(c, s, "Mul", "_scaled", surg_node_output(f, 0), surg_node_output(t, 0)) : NULL;
  if (y && bias) {
    if (s->kind == QUANT_CONV) bias = bias_of(c, s, bias, rank - 1);
    y = bias ? part(c, s, "Add", "_biased", surg_node_output(y, 0), bias) : NULL;
  }
  return y && surg_node_take_output(y, 0, surg_node_output(s->n, 0)) == SURG_OK &&
         surg_node_erase(s->n) == SURG_OK && quant_drop_constant(old) &&
         (!s->turn || surg_node_erase(s->turn) == SURG_OK);
}

/* Quantizes the weight of a site, as its product needs it. */
static bool prepare(quant *c, const quant_site *s) {
  quant_weight *w = &c->weights[s->weight];
  const bool conv = s->kind == QUANT_CONV;
  const bool asymmetric = c->asymmetric && !conv;
  if (!w->q && asymmetric && surg_tensor_rank(surg_value_constant(w->v)) > 2) w->each = false;
  return quant_weight_make(c, w, type_of(c, s), asymmetric);
}

static bool rewrite(quant *c, quant_site *s) {
  quant_weight *w = &c->weights[s->weight];
  if (!surg_pass_allow(c->p)) {
    s->why = QUANT_LIMIT;
    return true;
  }
  if (!prepare(c, s)) return false;
  if (!w->q) {
    surg_pass_give_back(c->p);
    return true;
  }
  surg_node *q = quantized(c, s->n, surg_node_input(s->n, 0));
  surg_node *i = q ? product(c, s, q) : NULL;
  if (!i) return false;
  if (!scaled(c, s, q, i)) return false;
  c->nodes++;
  return true;
}

/* Removes constants that were replaced by other forms. */
static bool drop_unused(quant_weight *w) {
  surg_value *const made[] = {w->q, w->scale, w->zero, w->flat, w->flipped, w->column};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++)
    if (!quant_drop_constant(made[i])) return false;
  return true;
}

bool quant_dynamic(quant *c) {
  for (uint32_t i = 0; i < c->n_sites; i++) {
    quant_site *s = &c->sites[i];
    if (!has_form(c, s)) continue;
    s->why = (uint8_t)why_of(c, s);
    if (s->why == QUANT_FREE && !rewrite(c, s)) return false;
  }
  if (!quant_restore_weights(c, has_no_form)) return false;
  for (uint32_t i = 0; i < c->n_weights; i++)
    if (!quant_drop_constant(c->weights[i].v) || !drop_unused(&c->weights[i])) return false;
  return surg_model_status(c->m) == SURG_OK;
}
