/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the constants that products read, and why they stay. */
#include <onnxsurg/info.h>
#include <onnxsurg/ops.h>
#include <onnxsurg/schema.h>
#include <string.h>

#include "../util/domains.h"
#include "quant.h"

/* Products, and the inputs that may be weights: bit i for input i. */
static const struct {
  int op;
  uint8_t kind, inputs;
} products[] = {
    {SURG_OP_MatMul, QUANT_MATMUL, 3}, {SURG_OP_Gemm, QUANT_GEMM, 3},
    {SURG_OP_Conv, QUANT_CONV, 2},     {SURG_OP_ConvTranspose, QUANT_CONV_TRANSPOSE, 2},
    {SURG_OP_Gather, QUANT_GATHER, 1}, {SURG_OP_LSTM, QUANT_RECURRENT, 6},
    {SURG_OP_GRU, QUANT_RECURRENT, 6}, {SURG_OP_RNN, QUANT_RECURRENT, 6},
};

/* The place in the table; -1: none. */
static int product_of(const surg_node *n) {
  if (!surg_node_schema(n)) return -1;
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    if (surg_node_op(n) == products[i].op) return (int)i;
  return -1;
}

quant_kind quant_kind_of(const surg_node *n) {
  const int i = product_of(n);
  return i < 0 ? (quant_kind)0 : (quant_kind)products[i].kind;
}

int quant_dtype(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  if (surg_type_get_kind(t) == SURG_TYPE_UNKNOWN) t = surg_value_declared_type(v);
  return surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : 0;
}

quant_why quant_user_why(const quant *c, const surg_node *n) {
  surg_pass_ctx *p = c->p;
  if (surg_pass_keeps_node(p, n)) return QUANT_KEPT;
  const size_t nodes = surg_pass_list_count(p, "node");
  if (!surg_pass_list_count(p, "op") && !nodes) return QUANT_FREE;
  for (size_t i = 0; i < nodes; i++)
    if (c->chosen[i] == n) return QUANT_FREE;
  return domains_listed(p, "op", surg_node_domain(n), surg_node_op_type(n)) ? QUANT_FREE
                                                                            : QUANT_UNCHOSEN;
}

/* --- nodes --- */

static bool has_reference(const surg_node *n) {
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    if (surg_attr_ref(surg_node_attr_at(n, i))) return true;
  return false;
}

static bool produced_by(const surg_value *v, surg_narrow kind) {
  const surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
  return n && surg_schema_narrow(surg_node_schema(n)) == kind;
}

bool quant_in_region(const surg_node *n) {
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    if (produced_by(surg_node_input(n, i), SURG_NARROW_DEQUANTIZE)) return true;
  const surg_value *y = surg_node_output(n, 0);
  for (const surg_use *u = y ? surg_value_first_use(y) : NULL; u; u = surg_use_next(u)) {
    const surg_node *by = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    if (by && surg_schema_narrow(surg_node_schema(by)) == SURG_NARROW_QUANTIZE && by != n &&
        surg_node_op(by) != SURG_OP_DynamicQuantizeLinear)
      return true;
  }
  return false;
}

static quant_why node_why(const quant *c, const surg_node *n) {
  const quant_why why = quant_user_why(c, n);
  if (why != QUANT_FREE) return why;
  if (quant_in_region(n)) return QUANT_REGION;
  /* Static quantization measures how large other phases are. */
  if (table_has(c->fixed ? &c->phases.products : &c->phases.all, n)) return QUANT_WHOLE;
  return has_reference(n) ? QUANT_FORM : QUANT_FREE;
}

/* --- weights --- */

static quant_why weight_why(const quant *c, const surg_value *v) {
  const surg_tensor *t = surg_value_constant(v);
  if (surg_pass_keeps_value(c->p, v)) return QUANT_KEPT;
  if (!t) return QUANT_CALLER;
  if (!surg_value_settled(v)) return QUANT_PINNED;
  if (surg_tensor_is_sparse(t)) return QUANT_ABSENT;
  if (!surg_tensor_count(t)) return QUANT_EMPTY;
  return surg_tensor_rank(t) < 1 ? QUANT_SCALAR : QUANT_FREE;
}

bool quant_axes_of(const surg_node *n, quant_kind kind, size_t input, size_t rank, size_t *axis,
                   size_t *sum) {
  *axis = *sum = 0;
  const bool product = surg_node_summed_axis(n, input, rank, sum);
  switch (kind) {
    case QUANT_MATMUL:
      if (product) *axis = 2 * rank - 3 - *sum; /* the last two axes */
      return product;
    case QUANT_GEMM:
      *axis = 1 - *sum;
      return product;
    case QUANT_CONV_TRANSPOSE:
      *axis = 1;
      return product;
    case QUANT_GATHER: {
      const int64_t at = surg_node_int(n, "axis", 0), r = (int64_t)rank;
      *sum = rank - 1;
      if (at < -r || at >= r) return false;
      *axis = (size_t)(at < 0 ? at + r : at);
      return true;
    }
    case QUANT_RECURRENT:
      *axis = 1;
      return product;
    default:
      return product;
  }
}

/* The axis of the operand of a Transpose that becomes axis i. */
static size_t turned_axis(const surg_node *turn, size_t rank, size_t i) {
  size_t count;
  const int64_t *perm = surg_node_ints(turn, "perm", &count);
  return perm && i < count ? (size_t)perm[i] : rank - 1 - i;
}

bool quant_site_axes(const quant_site *s, size_t rank, size_t *axis, size_t *sum) {
  const bool each = quant_axes_of(s->n, (quant_kind)s->kind, s->input, rank, axis, sum);
  if (!s->turn) return each;
  *axis = turned_axis(s->turn, rank, *axis);
  *sum = turned_axis(s->turn, rank, *sum);
  return each;
}

static int same_value(void *user, const void *a, const void *b) {
  (void)user;
  return ((const quant_weight *)a)->v == ((const quant_weight *)b)->v;
}

/* The weight of a value, which is added at its first site. NULL: out of memory. */
static quant_weight *weight_of(quant *c, table *places, surg_value *v, const quant_site *s) {
  quant_weight *w = &c->weights[c->n_weights];
  *w = (quant_weight){.v = v, .sites = QUANT_NONE, .why = (uint8_t)weight_why(c, v)};
  quant_weight *found =
      table_meet(places, table_mix(0, (uint64_t)(uintptr_t)v), w, same_value, NULL);
  if (found != w) return found;
  const surg_tensor *t = surg_value_initializer(v);
  if (!t) t = surg_value_constant(v);
  const size_t rank = surg_tensor_rank(t);
  w->each = quant_site_axes(s, rank, &w->axis, &w->sum) && !c->whole;
  c->n_weights++;
  return w;
}

static bool is_float(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_FLOAT16 || dtype == SURG_BFLOAT16 ||
         dtype == SURG_DOUBLE;
}

/* Whether v is a weight, or would be one if no caller could replace it. */
static bool is_weight(const surg_value *v) {
  return v && (surg_value_constant(v) || surg_value_is_initializer(v)) && is_float(quant_dtype(v));
}

surg_node *quant_turn(const surg_value *v) {
  surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
  return n && surg_node_op(n) == SURG_OP_Transpose && surg_node_schema(n) &&
                 is_weight(surg_node_input(n, 0))
             ? n
             : NULL;
}

/* The Transpose through which a product may read its weight from DequantizeLinear: nothing else
 * notices. */
static surg_node *turn_of(const quant *c, const surg_value *v) {
  surg_node *n = quant_turn(v);
  return n && surg_value_use_count(v, 2) == 1 && !has_reference(n) &&
                 !surg_pass_keeps_node(c->p, n) && !surg_pass_keeps_value(c->p, v)
             ? n
             : NULL;
}

static bool collect_node(quant *c, table *places, surg_node *n) {
  const int at = product_of(n);
  bool any = false;
  for (size_t i = 0; i < 3 && at >= 0; i++) {
    surg_value *v = surg_node_input(n, i);
    if (!(products[at].inputs >> i & 1)) continue;
    surg_node *turn = is_weight(v) ? NULL : turn_of(c, v);
    if (turn) v = surg_node_input(turn, 0);
    if (!is_weight(v)) continue;
    quant_site *s = &c->sites[c->n_sites];
    *s = (quant_site){.n = n,
                      .turn = turn,
                      .input = i,
                      .kind = products[at].kind,
                      .why = (uint8_t)node_why(c, n)};
    quant_weight *w = weight_of(c, places, v, s);
    if (!w) return false;
    s->weight = (uint32_t)(w - c->weights);
    s->next = w->sites;
    w->sites = c->n_sites++;
    any = true;
  }
  if (at >= 0 && !any && is_float(quant_dtype(surg_node_output(n, 0)))) c->left[QUANT_COMPUTED]++;
  return true;
}

bool quant_collect(quant *c) {
  uint64_t count = 0;
  table places = {0};
  for (surg_graph *g = NULL; (g = surg_model_next_graph(c->m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (product_of(n) >= 0) count += 2;
  if (count >= QUANT_NONE || !table_make(&places, c->p, (size_t)count) ||
      !phases_find(&c->phases, c->p, c->m, QUANT_PHASE))
    return false;
  c->sites = surg_pass_alloc(c->p, ((size_t)count + 1) * sizeof *c->sites);
  c->weights = surg_pass_alloc(c->p, ((size_t)count + 1) * sizeof *c->weights);
  if (!c->sites || !c->weights) return false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(c->m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!collect_node(c, &places, n)) return false;
  return true;
}
