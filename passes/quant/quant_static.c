/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes and values static quantization concerns. */
#include "quant_static.h"

#include <onnxsurg/evaluate.h>
#include <onnxsurg/ops.h>
#include <stdio.h>
#include <stdlib.h>

#include "../util/give.h"

#define MOST_ROUNDS 64 /* of leaving members whose values have no range */

static const struct {
  int op;
  uint8_t role;
  uint8_t operands; /* bit i: input i is quantized; movers have one */
} members[] = {
    {SURG_OP_MatMul, QUANT_PRODUCT, 3},     {SURG_OP_Gemm, QUANT_PRODUCT, 3},
    {SURG_OP_Conv, QUANT_PRODUCT, 3},       {SURG_OP_ConvTranspose, QUANT_PRODUCT, 3},
    {SURG_OP_Add, QUANT_MATH, 3},           {SURG_OP_Mul, QUANT_MATH, 3},
    {SURG_OP_AveragePool, QUANT_MATH, 1},   {SURG_OP_GlobalAveragePool, QUANT_MATH, 1},
    {SURG_OP_LeakyRelu, QUANT_MATH, 1},     {SURG_OP_Sigmoid, QUANT_MATH, 1},
    {SURG_OP_Concat, QUANT_MATH, 255},      {SURG_OP_Relu, QUANT_LIMITER, 1},
    {SURG_OP_Clip, QUANT_LIMITER, 1},       {SURG_OP_MaxPool, QUANT_MOVER, 1},
    {SURG_OP_Reshape, QUANT_MOVER, 1},      {SURG_OP_Flatten, QUANT_MOVER, 1},
    {SURG_OP_Transpose, QUANT_MOVER, 1},    {SURG_OP_Squeeze, QUANT_MOVER, 1},
    {SURG_OP_Unsqueeze, QUANT_MOVER, 1},    {SURG_OP_Slice, QUANT_MOVER, 1},
    {SURG_OP_Split, QUANT_MOVER, 1},        {SURG_OP_Gather, QUANT_MOVER, 1},
    {SURG_OP_DepthToSpace, QUANT_MOVER, 1}, {SURG_OP_SpaceToDepth, QUANT_MOVER, 1},
    {SURG_OP_Expand, QUANT_MOVER, 1},       {SURG_OP_Tile, QUANT_MOVER, 1},
};

bool quant_is_operand(const quant_member *m, size_t i) {
  for (size_t k = 0; k < sizeof members / sizeof *members; k++)
    if (members[k].op == surg_node_op(m->n))
      return members[k].operands == 255 || (i < 8 && (members[k].operands >> i & 1));
  return false;
}

/* --- values --- */

static int by_handle(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t)(*(const quant_value *const *)a)->v;
  const uintptr_t y = (uintptr_t)(*(const quant_value *const *)b)->v;
  return x < y ? -1 : x > y;
}

/* Whether v is a constant, or a Transpose of one. */
static bool is_fixed(const surg_value *v) {
  return surg_value_constant(v) || quant_turn(v);
}

static bool is_activation(const surg_value *v) {
  return v && quant_dtype(v) == SURG_FLOAT && !is_fixed(v);
}

static bool list_values(quant_static_state *s) {
  size_t n = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(s->c->m, g));)
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));) n += is_activation(v);
  s->values = surg_pass_alloc(s->c->p, (n + 1) * sizeof *s->values);
  s->order = surg_pass_alloc(s->c->p, (n + 1) * sizeof *s->order);
  if (!s->values || !s->order) return false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(s->c->m, g));)
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));) {
      if (!is_activation(v)) continue;
      quant_value *x = &s->values[s->n_values++];
      *x = (quant_value){.v = v, .like = QUANT_NONE};
      s->order[x - s->values] = x;
    }
  qsort(s->order, s->n_values, sizeof *s->order, by_handle);
  return true;
}

quant_value *quant_value_of(quant_static_state *s, const surg_value *v) {
  const quant_value probe = {.v = (surg_value *)(uintptr_t)v}, *key = &probe;
  if (!v || !s->n_values) return NULL;
  quant_value **found = bsearch(&key, s->order, s->n_values, sizeof *s->order, by_handle);
  return found ? *found : NULL;
}

quant_value *quant_operand(quant_static_state *s, const quant_member *m, size_t i) {
  const surg_value *x = surg_node_input(m->n, i);
  quant_value *v = quant_value_of(s, x);
  const surg_node *d = x ? surg_value_producer(x, NULL) : NULL;
  if (v || !d || surg_schema_narrow(surg_node_schema(d)) != SURG_NARROW_DEQUANTIZE) return v;
  const surg_node *q = surg_value_producer(surg_node_input(d, 0), NULL);
  return q ? quant_value_of(s, surg_node_input(q, 0)) : NULL;
}

/* --- nodes --- */

/* The operand of a member that bounds or shifts it; the other one of two is constant. */
static surg_value *limited(const surg_node *n) {
  surg_value *x = surg_node_input(n, 0);
  return x && surg_value_constant(x) ? surg_node_input(n, 1) : x;
}

/* An Add or Mul with a constant, such as a bias, is computed in floats with the operator before. */
static bool has_constant(const surg_node *n) {
  const int op = surg_node_op(n);
  const surg_value *a = surg_node_input(n, 0), *b = surg_node_input(n, 1);
  return (op == SURG_OP_Add || op == SURG_OP_Mul) && a && b &&
         !surg_value_constant(a) != !surg_value_constant(b);
}

static quant_why role_why(const quant_static_state *s, const surg_node *n, quant_role role) {
  const surg_graph *g = surg_node_graph(n);
  const quant_why why = quant_user_why(s->c, n);
  if (why != QUANT_FREE) return why;
  if (surg_graph_opset(g, "") < (s->activations == SURG_FLOAT8E4M3FN ? 19 : 10) ||
      !give_builtin(g, "QuantizeLinear"))
    return QUANT_OPSET;
  if (quant_in_region(n)) return QUANT_REGION;
  if (table_has(&s->c->phases.products, n)) return QUANT_WHOLE;
  if (role == QUANT_PRODUCT) return QUANT_FREE;
  return is_activation(limited(n)) ? QUANT_FREE : QUANT_FORM;
}

/* Why the operands of a member cannot be quantized. */
static quant_why operands_why(const quant_static_state *s, const quant_member *m) {
  const quant *c = s->c;
  size_t constants = 0;
  for (size_t i = 0; i < surg_node_input_count(m->n); i++) {
    const surg_value *x = surg_node_input(m->n, i);
    if (!quant_is_operand(m, i)) continue;
    if (!x || quant_dtype(x) != SURG_FLOAT) return QUANT_DTYPE;
    if (surg_pass_keeps_value(c->p, x)) return QUANT_KEPT;
    constants += is_fixed(x);
  }
  if (m->role == QUANT_LIMITER) return QUANT_FREE;
  if (m->role != QUANT_PRODUCT) return constants ? QUANT_FORM : QUANT_FREE;
  if (constants > 1) return QUANT_FORM;
  if (m->site == QUANT_NONE && constants) return QUANT_FORM;
  if (m->site == QUANT_NONE)
    return m->kind == QUANT_MATMUL || m->kind == QUANT_GEMM ? QUANT_FREE : QUANT_COMPUTED;
  return (quant_why)(c->sites[m->site].why ? c->sites[m->site].why
                                           : c->weights[c->sites[m->site].weight].why);
}

/* Adds a node, if it is a member; *site: the first one that may belong to it or a later node. */
static void list_member(quant_static_state *s, surg_node *n, uint32_t *site) {
  quant_member m = {.n = n, .kind = (uint8_t)quant_kind_of(n), .site = QUANT_NONE};
  for (size_t k = 0; surg_node_schema(n) && k < sizeof members / sizeof *members; k++)
    if (members[k].op == surg_node_op(n)) m.role = members[k].role;
  if (m.role == QUANT_MATH && has_constant(n)) m.role = QUANT_LIMITER;
  for (; *site < s->c->n_sites && s->c->sites[*site].n == n; ++*site)
    if (m.site == QUANT_NONE) m.site = *site;
  if (m.role == QUANT_OUTSIDE) return;
  m.why = (uint8_t)role_why(s, n, (quant_role)m.role);
  if (m.why == QUANT_FREE) m.why = (uint8_t)operands_why(s, &m);
  if (m.why == QUANT_FREE && s->skip && s->skip[s->n_members]) m.why = QUANT_ERROR;
  s->members[s->n_members++] = m;
}

size_t quant_node_count(const surg_model *m) {
  size_t n = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) n += surg_graph_node_count(g);
  return n;
}

static bool list_members(quant_static_state *s) {
  uint32_t site = 0;
  s->members = surg_pass_alloc(s->c->p, (quant_node_count(s->c->m) + 1) * sizeof *s->members);
  if (!s->members) return false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(s->c->m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      list_member(s, n, &site);
  return true;
}

/* --- marks --- */

static void mark(quant_static_state *s, const surg_value *v) {
  quant_value *x = quant_value_of(s, v);
  if (x) x->marked = true;
}

/* Whether v has no reader but this one. */
static bool read_once(const surg_value *v) {
  return surg_value_use_count(v, 2) == 1;
}

/* A limiter completes the result of the node before, which then needs no scale of its own. */
static void mark_limiter(quant_static_state *s, const quant_member *m) {
  quant_value *x = quant_value_of(s, limited(m->n));
  if (!x || !x->marked) return;
  if (surg_value_producer(x->v, NULL) && read_once(x->v) && x->like == QUANT_NONE)
    x->marked = false;
  mark(s, surg_node_output(m->n, 0));
}

static void mark_mover(quant_static_state *s, const quant_member *m) {
  const quant_value *x = quant_value_of(s, surg_node_input(m->n, 0));
  if (!x || !x->marked) return;
  for (size_t i = 0; i < surg_node_output_count(m->n); i++) {
    quant_value *y = quant_value_of(s, surg_node_output(m->n, i));
    if (!y) continue;
    y->marked = true;
    y->like = x->like == QUANT_NONE ? (uint32_t)(x - s->values) : x->like;
  }
}

/* Leaves the operand of a Softmax in floats whose result is quantized: between integers, ONNX
 * Runtime 1.30 computes wrong results of an operand with a small scale. An operand that was moved
 * has the scale of another value: then the result stays instead. */
static void unmark_softmax(quant_static_state *s) {
  for (size_t i = 0; i < s->n_values; i++) {
    quant_value *y = &s->values[i];
    const surg_node *n = y->marked ? surg_value_producer(y->v, NULL) : NULL;
    if (!n || !surg_node_schema(n) || surg_node_op(n) != SURG_OP_Softmax) continue;
    quant_value *x = quant_value_of(s, surg_node_input(n, 0));
    if (!x || !x->marked) continue;
    if (x->like == QUANT_NONE)
      x->marked = false;
    else
      y->marked = false;
  }
}

static void mark_all(quant_static_state *s) {
  for (size_t i = 0; i < s->n_values; i++) {
    s->values[i].marked = false;
    s->values[i].like = QUANT_NONE;
  }
  for (size_t i = 0; i < s->n_members; i++) {
    const quant_member *m = &s->members[i];
    if (m->why != QUANT_FREE || (s->operands && m->role != QUANT_PRODUCT)) continue;
    if (m->role == QUANT_MOVER) mark_mover(s, m);
    if (m->role == QUANT_LIMITER) mark_limiter(s, m);
    if (m->role != QUANT_PRODUCT && m->role != QUANT_MATH) continue;
    for (size_t k = 0; k < surg_node_input_count(m->n); k++)
      if (quant_is_operand(m, k)) mark(s, surg_node_input(m->n, k));
    if (!s->operands) mark(s, surg_node_output(m->n, 0));
  }
}

/* Why the range of a marked value cannot be quantized. */
static quant_why range_why(const quant_static_state *s, const quant_value *x) {
  if (!x || !x->marked) return QUANT_FREE;
  if (x->like != QUANT_NONE) x = &s->values[x->like];
  if (!x->seen || x->broken) return QUANT_RANGE;
  return x->far ? QUANT_FAR : x->fine ? QUANT_FINE : x->whole ? QUANT_WHOLE : QUANT_FREE;
}

/* Leaves a member that reads or makes a value without a range. Whether it was not left before. */
static bool leave_unranged(quant_static_state *s, quant_member *m) {
  quant_why why = QUANT_FREE;
  if (m->why != QUANT_FREE) return false;
  for (size_t k = 0; k < surg_node_input_count(m->n) && why == QUANT_FREE; k++)
    if (quant_is_operand(m, k)) why = range_why(s, quant_value_of(s, surg_node_input(m->n, k)));
  for (size_t k = 0; k < surg_node_output_count(m->n) && why == QUANT_FREE; k++)
    why = range_why(s, quant_value_of(s, surg_node_output(m->n, k)));
  m->why = (uint8_t)why;
  return why != QUANT_FREE;
}

/* Marks values of which the ranges are known. */
static void mark_ranged(quant_static_state *s) {
  mark_all(s);
  for (size_t i = 0; i < s->n_values; i++)
    if (range_why(s, &s->values[i]) != QUANT_FREE) s->values[i].marked = false;
  unmark_softmax(s);
}

/* Leaves members without ranges. Where a limiter stays, the value before it is marked instead, and
 * may be without a range, too; after some rounds such values are just not quantized. */
static void leave_all_unranged(quant_static_state *s) {
  bool any = true;
  for (int round = 0; any && round < MOST_ROUNDS; round++) {
    any = false;
    for (size_t i = 0; i < s->n_members; i++) any = leave_unranged(s, &s->members[i]) || any;
    mark_all(s);
  }
  mark_ranged(s);
}

/* --- the whole --- */

static bool is_selected(const quant *c, const quant_site *s) {
  return table_has(c->selected, s->n);
}

/* Whether a Gather reads the weight of a product that is quantized (the embedding of a language
 * model and its head): with the restored weight the floats need not be stored, too. `chosen`: the
 * nodes whose weights are restored; NULL: some may be. */
static bool is_tied(const quant *c, const quant_site *s, const table *chosen) {
  if (s->kind != QUANT_GATHER || s->why != QUANT_FREE) return false;
  for (uint32_t i = c->weights[s->weight].sites; i != QUANT_NONE; i = c->sites[i].next)
    if (c->sites[i].kind != QUANT_GATHER && c->sites[i].why == QUANT_FREE &&
        (!chosen || table_has(chosen, c->sites[i].n)))
      return true;
  return false;
}

/* Products whose weight is restored read it; the others stay. */
static bool restore(quant_static_state *s) {
  quant *c = s->c;
  table chosen = {0};
  if (!table_make(&chosen, c->p, s->n_members + c->n_sites + 1)) return false;
  for (size_t i = 0; i < s->n_members; i++)
    if (s->members[i].why == QUANT_FREE && !table_put(&chosen, s->members[i].n)) return false;
  for (uint32_t i = 0; i < c->n_sites; i++)
    if (is_tied(c, &c->sites[i], &chosen) && !table_has(&chosen, c->sites[i].n) &&
        !table_put(&chosen, c->sites[i].n))
      return false;
  c->selected = &chosen;
  const bool ok = quant_restore_weights(c, is_selected);
  c->selected = NULL;
  for (size_t i = 0; i < s->n_members && ok; i++) {
    quant_member *m = &s->members[i];
    if (m->why != QUANT_FREE || m->site == QUANT_NONE) continue;
    const quant_weight *w = &c->weights[c->sites[m->site].weight];
    if (!w->restored) m->why = w->why ? w->why : QUANT_LIMIT;
  }
  mark_ranged(s);
  for (size_t i = 0; i < s->n_members && ok; i++)
    if (s->members[i].role == QUANT_PRODUCT && s->members[i].why == QUANT_FREE) {
      quant_value *y = quant_value_of(s, surg_node_output(s->members[i].n, 0));
      if (y) y->layer = true;
    }
  return ok;
}

static void count_members(quant_static_state *s) {
  s->c->left[QUANT_COMPUTED] = 0; /* products of two values are counted here */
  for (size_t i = 0; i < s->n_members; i++) {
    const quant_member *m = &s->members[i];
    if (m->role != QUANT_PRODUCT) continue;
    if (m->site != QUANT_NONE)
      s->c->sites[m->site].why = m->why; /* the report counts sites */
    else if (m->why != QUANT_FREE)
      s->c->left[m->why]++;
    else
      s->c->nodes++;
  }
}

/* Operators with weights that are no members. */
static void leave_others(quant_static_state *s) {
  for (uint32_t i = 0; i < s->c->n_sites; i++) {
    quant_site *x = &s->c->sites[i];
    if (x->why == QUANT_FREE && !is_tied(s->c, x, NULL) &&
        (x->kind == QUANT_GATHER || x->kind == QUANT_RECURRENT))
      x->why = QUANT_FORM;
  }
}

static void search_line(quant_static_state *s) {
  char line[QUANT_TEXT];
  if (s->tolerance < 0) return;
  snprintf(line, sizeof line, "error of outputs: %g; %llu node%s left in floats, by %llu trial%s",
           quant_worst_output(s), (unsigned long long)s->left, s->left == 1 ? "" : "s",
           (unsigned long long)s->trials, s->trials == 1 ? "" : "s");
  surg_pass_note(s->c->p, NULL, line);
}

static void value_lines(quant_static_state *s) {
  char line[QUANT_TEXT], loss[64];
  const uint64_t samples = s->runs->samples;
  if (!s->ranged) return;
  snprintf(line, sizeof line, "ranges of %llu run%s on %s inputs%s", (unsigned long long)samples,
           samples == 1 ? "" : "s", s->drawn ? "drawn" : "given",
           s->drawn ? ", which may be far from real ones (inputs)" : "");
  surg_pass_note(s->c->p, NULL, line);
  for (size_t i = 0; i < s->n_values; i++) {
    const quant_value *x = &s->values[i];
    if (!x->done && !(x->noise > 0)) continue;
    const quant_value *r = x->like == QUANT_NONE ? x : &s->values[x->like];
    loss[0] = 0;
    if (x->noise > 0)
      snprintf(loss, sizeof loss, "; SQNR %.1f dB", quant_decibels(x->signal, x->noise));
    if (!x->done) {
      snprintf(line, sizeof line, "value '%.200s': float%s", surg_value_name(x->v), loss);
      surg_pass_note(s->c->p, NULL, line);
      continue;
    }
    snprintf(line, sizeof line, "value '%.200s': %s; %g to %g; scale %g, zero point %lld%s",
             surg_value_name(x->v), surg_dtype_name(s->activations), r->cut_low, r->cut_high,
             r->scale, (long long)r->zero, loss);
    surg_pass_note(s->c->p, NULL, line);
  }
}

static bool any_marked(const quant_static_state *s) {
  for (size_t i = 0; i < s->n_values; i++)
    if (s->values[i].marked) return true;
  return false;
}

bool quant_static_apply(quant_static_state *s) {
  leave_others(s);
  if (!list_values(s) || !list_members(s)) return false;
  mark_all(s);
  if (!any_marked(s)) {
    count_members(s);
    return true;
  }
  if (!quant_calibrate(s)) return false;
  leave_all_unranged(s);
  if (!restore(s) || !quant_place(s)) return false;
  count_members(s);
  return true;
}

bool quant_static(quant *c) {
  quant_runs runs = {0};
  quant_static_state s = {.c = c, .g = surg_model_graph(c->m), .runs = &runs};
  if (!quant_static_options(&s)) return false;
  if (s.weights) {
    if (!c->trial)
      surg_pass_note(c->p, NULL, "the target quantizes no values to integers: weights alone are");
    return quant_restore_weights(c, NULL);
  }
  bool ok = quant_runs_make(&runs, c) && (s.tolerance < 0 || quant_search(&s));
  ok = ok && quant_static_apply(&s);
  if (ok && c->values) ok = quant_compare(&s);
  if (ok) search_line(&s);
  if (ok) value_lines(&s);
  quant_runs_free(&runs);
  return ok;
}
