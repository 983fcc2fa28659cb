/* SPDX-License-Identifier: Apache-2.0 */
/* States of loops that are added to: the error grows with iterations, whose number no run on drawn
 * inputs shows, and a sum stops growing where a term is below half its last digit (2048 + 1 in
 * float16, 256 + 1 in bfloat16). They stay, with what computes the next state from them. */
#include <onnxsurg/ops.h>
#include <onnxsurg/schema.h>

#include "../util/bodies.h"
#include "precision.h"

#define FROM_STATE 1 /* computed from a state */
#define SUMMED 2     /* ... by a sum */

typedef struct states {
  prec *c;
  uint8_t *reached; /* by value: of the bits above; a value is of one body */
  prec_value **stack;
  size_t depth;
} states;

static bool adds(const surg_node *n) {
  const int op = surg_node_op(n);
  return op == SURG_OP_Add || op == SURG_OP_Sub || op == SURG_OP_Sum;
}

/* Whether a sum that n reads is in its result as it is, scaled or selected: not so after Tanh, a
 * normalization or a product of matrices. */
static bool carries(const surg_node *n) {
  if (!surg_node_schema(n) || surg_node_subgraph(n, 0)) return false;
  if (adds(n) || (surg_schema_flags(surg_node_schema(n)) & SURG_SCHEMA_DATA_MOVER)) return true;
  switch (surg_node_op(n)) {
    case SURG_OP_Mul:
    case SURG_OP_Div:
    case SURG_OP_Neg:
    case SURG_OP_Where:
    case SURG_OP_Max:
    case SURG_OP_Min:
    case SURG_OP_Clip:
    case SURG_OP_Relu:
      return true;
    default:
      return false;
  }
}

static void reach(states *w, prec_value *x, uint8_t bits) {
  uint8_t *at = x ? &w->reached[x - w->c->values] : NULL;
  if (!x || x->made == PREC_NONE || (*at & bits) == bits) return;
  *at |= bits;
  w->stack[w->depth++] = x; /* at most twice a value: the stack has room */
}

/* Follows the values on the stack within the body. */
static void spread(states *w, const surg_graph *body) {
  const prec *c = w->c;
  while (w->depth > 0) {
    const prec_value *x = w->stack[--w->depth];
    const uint8_t bits = w->reached[x - c->values];
    for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next) {
      const surg_node *n = c->reads[r].n;
      if (!n || surg_node_graph(n) != body || !carries(n)) continue;
      for (size_t i = 0; i < surg_node_output_count(n); i++)
        reach(w, prec_find(c, surg_node_output(n, i)), adds(n) ? bits | SUMMED : bits);
    }
  }
}

/* Pins what the next state is computed from, back to states. */
static void pin_sum(states *w, const prec_value *x) {
  prec *c = w->c;
  w->stack[w->depth++] = &c->values[x - c->values];
  w->reached[x - c->values] = 0;
  while (w->depth > 0) {
    x = w->stack[--w->depth];
    prec_pin(c, x->made, PREC_STATE);
    const surg_node *n = prec_producer(c, x);
    for (size_t i = 0; n && i < surg_node_input_count(n); i++) {
      prec_value *y = prec_find(c, surg_node_input(n, i));
      if (!y || !w->reached[y - c->values]) continue;
      w->reached[y - c->values] = 0; /* at most once a value: the stack has room */
      w->stack[w->depth++] = y;
    }
  }
}

static void pin_loop(states *w, const bodies_loop *l) {
  for (size_t i = 0; i < l->states; i++)
    reach(w, prec_find(w->c, surg_graph_input(l->body, l->first_in + i)), FROM_STATE);
  spread(w, l->body);
  for (size_t i = 0; i < l->states; i++) {
    const prec_value *x = prec_find(w->c, surg_graph_output(l->body, l->first_out + i));
    if (x && w->reached[x - w->c->values] & SUMMED) pin_sum(w, x);
  }
}

bool prec_pin_states(prec *c) {
  states w = {.c = c};
  w.reached = surg_pass_alloc(c->p, (size_t)c->n_values + 1);
  w.stack = surg_pass_alloc(c->p, ((size_t)c->n_values * 2 + 1) * sizeof *w.stack);
  if (!w.reached || !w.stack) return false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(c->m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      bodies_loop l;
      const int op = surg_node_op(n);
      if (surg_node_schema(n) && (op == SURG_OP_Loop || op == SURG_OP_Scan) &&
          bodies_loop_of(&l, n))
        pin_loop(&w, &l);
    }
  return true;
}
