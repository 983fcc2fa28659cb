/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of control flow, of calls of functions, and of the interface of the model. What passes from
 * one graph to another is made or read in a slot that both sides share. */
#include <onnxsurg/ops.h>

#include "../util/bodies.h"
#include "precision.h"

/* --- functions --- */

static size_t function_index(const prec *c, const surg_function *f) {
  size_t i = 0;
  const size_t n = surg_model_function_count(c->m);
  while (i < n && surg_model_function(c->m, i) != f) i++;
  return i;
}

/* An input or output of a function, with the same types in all calls, is one slot. */
bool prec_functions(prec *c) {
  const size_t n = surg_model_function_count(c->m);
  c->functions = surg_pass_alloc(c->p, (n + 1) * sizeof *c->functions);
  for (size_t k = 0; c->functions && k < n; k++) {
    surg_graph *g = surg_function_graph(surg_model_function(c->m, k));
    const size_t in = surg_graph_input_count(g), out = surg_graph_output_count(g);
    uint32_t *slots = surg_pass_alloc(c->p, (in + out + 1) * sizeof *slots);
    if (!slots) return false;
    c->functions[k] = slots;
    for (size_t i = 0; i < in + out; i++) {
      surg_value *v = i < in ? surg_graph_input(g, i) : surg_graph_output(g, i - in);
      slots[i] = prec_slot_new(c, NULL);
      /* The calls differ, or none is known. */
      if (!prec_find(c, v)) prec_pin(c, slots[i], PREC_TYPES);
      if (i < in)
        prec_made(c, v, slots[i]);
      else
        prec_reads(c, v, slots[i], NULL, g, i - in);
    }
  }
  return c->functions != NULL;
}

void prec_call(prec *c, surg_node *n) {
  const surg_function *f = surg_node_function(n);
  const size_t k = function_index(c, f);
  const surg_graph *g = surg_function_graph(f);
  const size_t in = surg_graph_input_count(g), out = surg_graph_output_count(g);
  for (size_t i = 0; i < surg_node_input_count(n) && i < in; i++)
    prec_reads(c, surg_node_input(n, i), c->functions[k][i], n, NULL, i);
  for (size_t i = 0; i < surg_node_output_count(n) && i < out; i++)
    prec_made(c, surg_node_output(n, i), c->functions[k][in + i]);
}

/* --- control flow --- */

/* The slot of a value that passes through control flow, by formal parameter i of the node. */
static uint32_t passage(prec *c, surg_node *n, bool output, size_t i, const surg_value *like) {
  const uint32_t slot = prec_slot_new(c, n);
  if (prec_find(c, like)) prec_check_formal(c, slot, n, output, i, prec_type(like));
  return slot;
}

/* A value of no type of the conversion passes where others are converted. */
static void agree(prec *c, uint32_t slot, const surg_value *v) {
  if (v && !prec_find(c, v)) prec_pin(c, slot, PREC_TYPES);
}

static void add_if(prec *c, surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *v = surg_node_output(n, i);
    surg_graph *g;
    const uint32_t slot = passage(c, n, true, i, v);
    prec_made(c, v, slot);
    for (size_t k = 0; (g = surg_node_subgraph(n, k)); k++) {
      surg_value *w = surg_graph_output(g, i);
      prec_reads(c, w, slot, NULL, g, i);
      agree(c, slot, w);
    }
    agree(c, slot, v);
  }
}

static void add_state(prec *c, const bodies_loop *l, size_t i) {
  surg_value *in = surg_node_input(l->n, l->first_in + i);
  surg_value *inner = surg_graph_input(l->body, l->first_in + i);
  surg_value *next = surg_graph_output(l->body, l->first_out + i);
  surg_value *out = surg_node_output(l->n, i);
  const uint32_t slot = passage(c, l->n, false, l->first_in + i, in);
  prec_reads(c, in, slot, l->n, NULL, l->first_in + i);
  prec_made(c, inner, slot);
  prec_reads(c, next, slot, NULL, l->body, l->first_out + i);
  prec_made(c, out, slot);
  agree(c, slot, in);
  agree(c, slot, inner);
  agree(c, slot, next);
  agree(c, slot, out);
}

static void add_loop(prec *c, const bodies_loop *l) {
  for (size_t i = 0; i < l->states; i++) add_state(c, l, i);
  for (size_t i = 0; i < l->slices; i++) {
    const size_t at = l->first_in + l->states + i;
    surg_value *in = surg_node_input(l->n, at), *inner = surg_graph_input(l->body, at);
    const uint32_t slot = passage(c, l->n, false, at, in);
    prec_reads(c, in, slot, l->n, NULL, at);
    prec_made(c, inner, slot);
    agree(c, slot, in);
    agree(c, slot, inner);
  }
  for (size_t i = l->first_out + l->states; i < surg_graph_output_count(l->body); i++) {
    surg_value *inner = surg_graph_output(l->body, i);
    surg_value *out = surg_node_output(l->n, i - l->first_out);
    const uint32_t slot = passage(c, l->n, true, i - l->first_out, inner);
    prec_reads(c, inner, slot, NULL, l->body, i);
    prec_made(c, out, slot);
    agree(c, slot, inner);
    agree(c, slot, out);
  }
}

/* A slot of an input or output that keeps its type. Values of a node that is not understood share
 * none: one that is of the new type already would take the others along. */
static uint32_t fixed(prec *c, surg_node *n) {
  const uint32_t slot = prec_slot_new(c, n);
  prec_pin(c, slot, PREC_OPERATOR);
  return slot;
}

void prec_opaque(prec *c, surg_node *n) {
  surg_graph *g;
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    if (prec_find(c, surg_node_input(n, i)))
      prec_reads(c, surg_node_input(n, i), fixed(c, n), n, NULL, i);
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    if (prec_find(c, surg_node_output(n, i))) prec_made(c, surg_node_output(n, i), fixed(c, n));
  for (size_t k = 0; (g = surg_node_subgraph(n, k)); k++) {
    for (size_t i = 0; i < surg_graph_input_count(g); i++)
      if (prec_find(c, surg_graph_input(g, i))) prec_made(c, surg_graph_input(g, i), fixed(c, n));
    for (size_t i = 0; i < surg_graph_output_count(g); i++)
      if (prec_find(c, surg_graph_output(g, i)))
        prec_reads(c, surg_graph_output(g, i), fixed(c, n), NULL, g, i);
  }
}

bool prec_control(prec *c, surg_node *n) {
  bodies_loop l;
  if (!surg_node_subgraph(n, 0)) return false;
  const int op = surg_node_op(n);
  if (op == SURG_OP_If)
    add_if(c, n);
  else if ((op == SURG_OP_Loop || op == SURG_OP_Scan) && bodies_loop_of(&l, n))
    add_loop(c, &l);
  else
    prec_opaque(c, n);
  return true;
}

/* --- the model --- */

static uint32_t interface_slot(prec *c, const surg_value *v) {
  const uint32_t slot = prec_slot_new(c, NULL);
  c->slots[slot].io = true;
  c->slots[slot].weight = 1;
  const bool kept = surg_pass_keeps_value(c->p, v);
  if (!c->io || kept) prec_pin(c, slot, kept ? PREC_KEPT : PREC_INTERFACE);
  return slot;
}

/* An output keeps the type that it is declared with, even if it is computed in another: that is
 * what callers expect. */
static void add_output(prec *c, surg_graph *g, size_t i, surg_value *v) {
  const uint32_t slot = interface_slot(c, v);
  const int declared = prec_dtype(surg_value_declared_type(v));
  prec_reads(c, v, slot, NULL, g, i);
  if (declared == c->kind->to)
    c->slots[slot].holds = true;
  else if (declared > 0 && declared < 64 && (c->from >> declared & 1) && !c->io)
    c->slots[slot].holds = false;
}

void prec_interface(prec *c, surg_graph *g) {
  if (surg_graph_get_kind(g) != SURG_GRAPH_MAIN) return;
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    surg_value *v = surg_graph_input(g, i);
    if (prec_find(c, v) && !surg_value_constant(v)) prec_made(c, v, interface_slot(c, v));
  }
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    surg_value *v = surg_graph_output(g, i);
    if (prec_find(c, v)) add_output(c, g, i, v);
  }
}
