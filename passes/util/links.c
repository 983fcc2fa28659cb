/* SPDX-License-Identifier: Apache-2.0 */
/* See links.h. */
#include "links.h"

#include <onnxsurg/ops.h>
#include <stdlib.h>

#include "bodies.h"

static bool pass(links_fn fn, void *user, surg_value *from, surg_value *to) {
  return !from || !to || fn(user, from, to);
}

static bool visit_call(const surg_node *n, links_fn fn, void *user) {
  const surg_graph *g = surg_function_graph(surg_node_function(n));
  const size_t in = surg_graph_input_count(g), out = surg_graph_output_count(g);
  bool ok = true;
  for (size_t i = 0; ok && i < surg_node_input_count(n) && i < in; i++)
    ok = pass(fn, user, surg_node_input(n, i), surg_graph_input(g, i));
  for (size_t i = 0; ok && i < surg_node_output_count(n) && i < out; i++)
    ok = pass(fn, user, surg_graph_output(g, i), surg_node_output(n, i));
  return ok;
}

static bool visit_loop(const bodies_loop *l, links_fn fn, void *user) {
  const size_t end_in = l->first_in + l->states + l->slices;
  const size_t end_out = surg_graph_output_count(l->body);
  bool ok = true;
  for (size_t i = l->first_in; ok && i < end_in; i++)
    ok = pass(fn, user, surg_node_input(l->n, i), surg_graph_input(l->body, i));
  for (size_t i = l->first_out; ok && i < end_out; i++) {
    surg_value *x = surg_graph_output(l->body, i);
    ok = pass(fn, user, x, surg_node_output(l->n, i - l->first_out));
    if (ok && i < l->first_out + l->states)
      ok = pass(fn, user, x, surg_graph_input(l->body, i - l->first_out + l->first_in));
  }
  return ok;
}

bool links_visit(surg_node *n, links_fn fn, void *user) {
  bodies_loop l;
  surg_graph *g;
  bool ok = true;
  if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION) return visit_call(n, fn, user);
  const int op = surg_node_op(n);
  if (op == SURG_OP_Loop || op == SURG_OP_Scan)
    return !bodies_loop_of(&l, n) || visit_loop(&l, fn, user);
  for (size_t k = 0; op == SURG_OP_If && (g = surg_node_subgraph(n, k)); k++)
    for (size_t i = 0; ok && i < surg_graph_output_count(g) && i < surg_node_output_count(n); i++)
      ok = pass(fn, user, surg_graph_output(g, i), surg_node_output(n, i));
  return ok;
}

/* --- by value --- */

static bool add(void *user, surg_value *from, surg_value *to) {
  links *l = user;
  if (l->all) l->all[l->n] = (link){to, from};
  l->n++;
  return true;
}

static void visit_all(links *l, surg_model *m) {
  l->n = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) links_visit(n, add, l);
}

static int by_to(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t)((const link *)a)->to, y = (uintptr_t)((const link *)b)->to;
  return x < y ? -1 : x > y;
}

bool links_find(links *l, surg_pass_ctx *p, surg_model *m) {
  *l = (links){0};
  visit_all(l, m);
  l->all = surg_pass_alloc(p, (l->n + 1) * sizeof *l->all);
  if (!l->all) return false;
  visit_all(l, m);
  qsort(l->all, l->n, sizeof *l->all, by_to);
  return true;
}

surg_value *links_next(const links *l, const surg_value *v, size_t *at) {
  if (*at == 0) { /* the first one, by bisection; *at is its place + 1 */
    size_t low = 0, high = l->n;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if ((uintptr_t)l->all[middle].to < (uintptr_t)v)
        low = middle + 1;
      else
        high = middle;
    }
    *at = low + 1;
  }
  const size_t i = *at - 1;
  if (i >= l->n || l->all[i].to != v) return NULL;
  ++*at;
  return l->all[i].from;
}
