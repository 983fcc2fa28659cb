/* SPDX-License-Identifier: Apache-2.0 */
/* The generator: nodes in one call, and graphs of nodes. */
#include <stdlib.h>

#include "gen_core.h"

surg_node *gen_maker(const surg_value *v) {
  return surg_value_producer(v, NULL);
}

/* The first output of a node that reads `in`. */
surg_value *gen_apply(gen *g, const char *op, size_t n_in, surg_value *const *in) {
  surg_node *n = gen_node(g, op, 1);
  if (!n) return NULL;
  for (size_t i = 0; i < n_in; i++) gen_in_value(g, n, i, in[i]);
  return surg_node_output(n, 0);
}

surg_value *gen_one(gen *g, const char *op, surg_value *x) {
  return gen_apply(g, op, 1, &x);
}

surg_value *gen_two(gen *g, const char *op, surg_value *x, surg_value *y) {
  return gen_apply(g, op, 2, (surg_value *const[]){x, y});
}

/* A value that is made already is one of the graph's. */
bool gen_done(gen *g, surg_value *y, const gen_value *like) {
  if (!y || g->failed) return !(g->failed = true);
  size_t i;
  surg_node *n = surg_value_producer(y, &i);
  gen_out(g, n, i, like);
  return !g->failed;
}

void gen_enter(gen *g, gen_scope *scope, surg_graph *graph) {
  *scope = (gen_scope){.outer = g->scope, .graph = graph};
  if (!graph) g->failed = true;
  g->scope = scope;
  g->depth++;
}

void gen_leave(gen *g) {
  free(g->scope->values);
  g->scope = g->scope->outer;
  g->depth--;
}

void gen_give(gen *g, surg_value *y, const surg_type *type) {
  if (!y || surg_graph_add_output(g->scope->graph, y, type) != SURG_OK) g->failed = true;
}

surg_value *gen_take(gen *g, const char *stem, const surg_type *type) {
  surg_graph *graph = g->scope->graph;
  surg_value *v = surg_graph_add_input(graph, surg_graph_fresh_name(graph, stem), type);
  if (!v) g->failed = true;
  return v;
}
