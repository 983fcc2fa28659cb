/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of calls of model functions. The types in a function's body belong to one call, so the
 * costs of its nodes are added while inference walks the body for that call. */
#include "infer/infer.h"
#include "measure/measure.h"

typedef struct state {
  surg_model *m;
  surg__arena records; /* records of calls; node->scratch points to them */
  SURG_VEC(const surg_graph *) todo;
  bool failed;
} state;

static void add(state *s, surg__call_cost *sum, const surg__call_cost *one, size_t nodes) {
  surg__amount macs, flops;
  sum->operator_unknown += one->operator_unknown;
  sum->size_unknown += one->size_unknown;
  if (surg__amount_add(s->m, sum->macs, one->macs, &macs) &&
      surg__amount_add(s->m, sum->flops, one->flops, &flops)) {
    sum->macs = macs;
    sum->flops = flops;
  } else {
    sum->size_unknown += nodes;
  }
}

/* Adds the cost of one node; a call whose body was not walked counts as a node of unknown size. */
static void add_node(state *s, surg__call_cost *sum, const surg_node *n) {
  surg__call_cost one = {0};
  if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION) {
    one.size_unknown = 1;
    add(s, sum, n->scratch ? n->scratch : &one, 1);
    return;
  }
  const surg_status status = surg__node_cost(n, &one.macs, &one.flops);
  one.operator_unknown = status == SURG_EUNSUPPORTED;
  one.size_unknown = status != SURG_OK && status != SURG_EUNSUPPORTED;
  add(s, sum, &one, 1);
}

static void add_graph(state *s, surg__call_cost *sum, const surg_graph *g) {
  for (const surg_node *n = g->first; n && !s->failed; n = n->next) {
    add_node(s, sum, n);
    surg_graph *inner;
    for (size_t k = 0; n->n_attr && (inner = surg_node_subgraph(n, k)); k++)
      if (!surg__vec_push(s->m->ctx, &s->todo, inner)) s->failed = true;
  }
}

/* Called several times for a call; the last time replaces the earlier ones. */
static void on_call(void *user, const surg_node *call) {
  state *s = user;
  surg__call_cost sum = {0};
  s->todo.count = 0;
  add_graph(s, &sum, surg_function_graph(surg_node_function(call)));
  while (s->todo.count && !s->failed) {
    const surg_graph *g = s->todo.items[--s->todo.count];
    add_graph(s, &sum, g);
  }
  surg_node *n = (surg_node *)(uintptr_t)call;
  if (!n->scratch) n->scratch = surg__arena_alloc(&s->records, sizeof sum);
  if (n->scratch)
    *(surg__call_cost *)n->scratch = sum;
  else
    s->failed = true;
}

static void forget(surg_model *m) {
  for (surg_graph *g = m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next) n->scratch = NULL;
}

surg_status surg__model_calls(surg_model *m, surg__call_cost_fn tell, void *user) {
  if (!m->functions.count) return SURG_OK;
  state s = {.m = m};
  surg__arena_init(&s.records, m->ctx);
  forget(m);
  surg_status status = surg__infer_calls(m, on_call, &s);
  if (status == SURG_OK && s.failed) status = surg__alloc_status(m->ctx);
  for (surg_graph *g = m->graph; g && status == SURG_OK; g = g->next) {
    if (surg_graph_function(g)) continue;
    for (surg_node *n = g->first; n; n = n->next)
      if (n->scratch) tell(user, n, n->scratch);
  }
  forget(m);
  surg__vec_free(m->ctx, &s.todo);
  surg__arena_free(&s.records);
  return status;
}
