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
    }
  L.node = NULL;
  if (m->status == SURG_OK) judge_interface(&L, m->graph);
  surg__arena_free(&L.scratch);
  surg__vec_free(m->ctx, &L.missing);
  return m->status != SURG_OK ? m->status : L.status;
}
