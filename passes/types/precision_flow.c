/* SPDX-License-Identifier: Apache-2.0 */
/* What is computed from a value, and from what it is computed: across nodes, and across the
 * interfaces of subgraphs and functions, where both sides share one slot.
 * Pins along these ways: numbers beyond the range, and epsilons. */
#include <math.h>
#include <onnxsurg/ops.h>
#include <onnxsurg/schema.h>

#include "../util/magnify.h"
#include "precision.h"

/* Whether values pass the slot unchanged: that of an interface, of control flow or of a call. */
static bool is_passage(const prec *c, uint32_t slot) {
  const surg_node *n = c->slots[slot].n;
  return !n || surg_node_subgraph(n, 0);
}

bool prec_flow(prec *c) {
  c->made_in = surg_pass_alloc(c->p, ((size_t)c->n_slots + 1) * sizeof *c->made_in);
  c->read_in = surg_pass_alloc(c->p, ((size_t)c->n_slots + 1) * sizeof *c->read_in);
  if (!c->made_in || !c->read_in) return false;
  for (uint32_t i = 0; i < c->n_slots; i++) c->made_in[i] = c->read_in[i] = PREC_NONE;
  for (uint32_t i = 0; i < c->n_values; i++) {
    prec_value *x = &c->values[i];
    if (x->made == PREC_NONE) continue;
    x->sibling = c->made_in[x->made];
    c->made_in[x->made] = i;
  }
  for (uint32_t i = 0; i < c->n_reads; i++) {
    prec_read *r = &c->reads[i];
    r->sibling = c->read_in[r->slot];
    c->read_in[r->slot] = i;
  }
  return true;
}

prec_value *prec_next_result(const prec *c, const prec_read *r, prec_step *at) {
  if (is_passage(c, r->slot)) {
    at->place = at->begun ? c->values[at->place].sibling : c->made_in[r->slot];
    at->begun = true;
    return at->place == PREC_NONE ? NULL : &c->values[at->place];
  }
  prec_value *y = NULL;
  while (!y && r->n && surg_node_schema(r->n) && at->index < surg_node_output_count(r->n))
    y = prec_find(c, surg_node_output(r->n, at->index++));
  return y;
}

static const surg_value *value_read(const prec_read *r) {
  return r->n ? surg_node_input(r->n, r->index) : surg_graph_output(r->g, r->index);
}

const surg_node *prec_producer(const prec *c, const prec_value *x) {
  if (x->made == PREC_NONE || is_passage(c, x->made)) return NULL;
  const surg_node *n = surg_value_producer(x->v, NULL);
  return n && surg_node_schema(n) ? n : NULL;
}

prec_value *prec_next_source(const prec *c, const prec_value *x, prec_step *at) {
  if (x->made == PREC_NONE) return NULL;
  prec_value *y = NULL;
  if (is_passage(c, x->made)) {
    while (!y && (!at->begun || at->place != PREC_NONE)) {
      at->place = at->begun ? c->reads[at->place].sibling : c->read_in[x->made];
      at->begun = true;
      if (at->place != PREC_NONE) y = prec_find(c, value_read(&c->reads[at->place]));
    }
    return y;
  }
  const surg_node *n = prec_producer(c, x);
  while (!y && n && at->index < surg_node_input_count(n)) {
    y = prec_find(c, surg_node_input(n, at->index));
    at->index++;
  }
  return y;
}

/* --- numbers beyond the range --- */

/* Whether a value of the new type is computed in the old one, since its node has mixed types. */
static bool leaves(prec *c, const prec_value *y) {
  return y->made != PREC_NONE && prec_impossible((prec_why)c->slots[prec_root(c, y->made)].why);
}

/* Whether a large operand makes a large result, as far as is known: not where it is a limit, and
 * not of operators that are computed in a wider type, such as Softmax, or that give no floats. */
static bool passes_on(prec *c, const prec_read *r, const prec_value *y) {
  if (y->why != PREC_FREE || y->clamped || (y->dtype == c->kind->to && !leaves(c, y))) return false;
  if (is_passage(c, r->slot)) return true;
  const int op = surg_node_op(r->n);
  const surg_narrow kind = surg_schema_narrow(surg_node_schema(r->n));
  /* Sums of clamped numbers pass the range again. */
  if (c->saturate && kind == SURG_NARROW_GAIN) return false;
  return op != SURG_OP_Clip && op != SURG_OP_Min && kind <= SURG_NARROW_GAIN;
}

void prec_pin_results(prec *c, prec_value *x, prec_value **stack) {
  size_t depth = 1;
  stack[0] = x;
  while (depth > 0) {
    x = stack[--depth];
    for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next) {
      prec_step at = {0};
      for (prec_value *y; (y = prec_next_result(c, &c->reads[r], &at));) {
        surg_range range;
        if (!passes_on(c, &c->reads[r], y)) continue;
        if (surg_value_range(y->v, &range) == SURG_OK && range.low >= -c->limits.top &&
            range.high <= c->limits.top)
          continue;
        y->clamped = c->saturate;
        if (!c->saturate) prec_pin_value(c, y, PREC_BOUND); /* at most once a value */
        stack[depth++] = y;
      }
    }
  }
}

/* --- what keeps a divisor from 0 --- */

/* The exponent of a Pow; 0: not known. */
static double exponent_of(const surg_node *n) {
  const surg_tensor *t = surg_value_constant(surg_node_input(n, 1));
  surg_extent e = {.size = sizeof e};
  if (!t || surg_tensor_count(t) != 1 || surg_tensor_extent(t, &e) != SURG_OK) return 0;
  return e.low < 0 ? e.low : e.high;
}

/* What a node makes of the number v of its first operand; 0: not known. */
static double made_of(const surg_node *n, double v) {
  switch (surg_node_op(n)) {
    case SURG_OP_Sqrt:
      return sqrt(v);
    case SURG_OP_Reciprocal:
      return 1 / v;
    case SURG_OP_Pow: {
      const double k = exponent_of(n);
      return k < 0 || k > 0 ? pow(v, k) : 0;
    }
    case SURG_OP_Identity:
    case SURG_OP_Abs:
    case SURG_OP_Expand:
    case SURG_OP_Reshape:
    case SURG_OP_Squeeze:
    case SURG_OP_Transpose:
    case SURG_OP_Unsqueeze:
      return v;
    default:
      return 0;
  }
}

/* Pins a value that may be the number v. Products of matrices may read a small one, which is then
 * one of many. */
static void pin_guard(prec *c, prec_value *y, double v) {
  if (v > c->limits.top) {
    prec_pin_value(c, y, PREC_BOUND);
    return;
  }
  prec_pin(c, y->made, PREC_FINE);
  for (uint32_t r = y->reads; r != PREC_NONE; r = c->reads[r].next) {
    const surg_schema *by = c->reads[r].n ? surg_node_schema(c->reads[r].n) : NULL;
    if (by && surg_schema_narrow(by) != SURG_NARROW_GAIN) prec_pin(c, c->reads[r].slot, PREC_FINE);
  }
}

/* Pins the results of a reading that may be as small (or large) as v, and puts them on the stack.
 */
static void push_guarded(prec *c, const prec_read *r, double v, prec_value **stack, size_t *depth) {
  prec_step at = {0};
  for (prec_value *y; (y = prec_next_result(c, r, &at));) {
    if (y->made == PREC_NONE || y->guard > 0 || prec_holds(c, y)) continue;
    if (v >= c->limits.normal && v <= c->limits.top) continue;
    pin_guard(c, y, v);
    y->guard = v; /* at most once a value: the stack has room */
    stack[(*depth)++] = y;
  }
}

void prec_pin_epsilon(prec *c, const prec_value *x, double v, prec_value **stack) {
  size_t depth = 0;
  for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next)
    if (c->reads[r].n && guards(c->reads[r].n, c->reads[r].index))
      push_guarded(c, &c->reads[r], v, stack, &depth);
  while (depth > 0) {
    const prec_value *y = stack[--depth];
    for (uint32_t r = y->reads; r != PREC_NONE; r = c->reads[r].next) {
      const prec_read *by = &c->reads[r];
      const bool plain = by->n && by->index == 0 && surg_node_schema(by->n);
      const double made = is_passage(c, by->slot) ? y->guard : plain ? made_of(by->n, y->guard) : 0;
      if (made > 0) push_guarded(c, by, made, stack, &depth);
    }
  }
}
