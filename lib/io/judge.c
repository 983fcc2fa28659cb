/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the rules of loading to a model that was edited: arity and attributes of nodes, imports,
 * types of inputs and outputs. */
#include "io/load/load.h"

static void judge_interface(surg__loader *L, const surg_graph *g) {
  for (size_t i = 0; i < g->n_in; i++)
    surg__load_check_interface(L, 0, surg_value_declared_type(g->in[i]), true);
  for (size_t i = 0; i < g->n_out; i++)
    surg__load_check_interface(L, 0, surg_graph_output_type(g, i), false);
}

/* Whether an output of a node in a subgraph has the name of a value of an enclosing graph that
 * exists before the node around, as loading finds it. */
static bool hides(const surg_value *inner) {
  const surg_graph *g = inner->graph;
  const surg_value *v =
      g->parent_node ? surg_graph_lookup_value(g->parent_node->graph, inner->name) : NULL;
  while (v && g->parent_node->graph != v->graph) g = g->parent_node->graph;
  return v && (!v->producer || surg_node_before(v->producer, g->parent_node));
}

static void judge_names(const surg_node *n, surg__judge_fn fn, void *user) {
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] && n->out[i]->name[0] && hides(n->out[i]))
      fn(user, n, "E132", "an output hides a value of an outer graph");
}

surg_status surg__model_judge(surg_model *m, surg__judge_fn fn, void *user) {
  surg__source none = {.name = (char *)(uintptr_t) "model", .fd = -1, .dirfd = -1};
  surg__loader L = {.ctx = m->ctx,
                    .src = m->source ? m->source : &none,
                    .m = m,
                    .policy = SURG_LOAD_LENIENT,
                    .all = true,
                    .probe = "",
                    .judge = fn,
                    .judge_user = user};
  surg__arena_init(&L.scratch, m->ctx);
  for (surg_graph *g = m->graph; g && m->status == SURG_OK; g = g->next)
    for (surg_node *n = g->first; n && m->status == SURG_OK; n = n->next) {
      L.node = n;
      surg__load_check_node(&L, n);
      if (g->parent_node) judge_names(n, fn, user);
    }
  L.node = NULL;
  if (m->status == SURG_OK) judge_interface(&L, m->graph);
  surg__arena_free(&L.scratch);
  surg__vec_free(m->ctx, &L.missing);
  return m->status != SURG_OK ? m->status : L.status;
}
