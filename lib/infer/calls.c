/* SPDX-License-Identifier: Apache-2.0 */
/* What inference knows of the values in function bodies, once the main graph is walked: what is
 * true for any call, or, on request, what is true for all calls that the model makes. In the second
 * mode the types of each walk of a body are joined with those of the walks before it. A call that
 * could not be walked makes the body of its function, and of the functions that it calls,
 * unknown. */
#include "infer/infer.h"
#include "infer/rules.h"

static const surg_type *join(surg__infer *c, const surg_type *a, const surg_type *b) {
  surg_dim dims[SURG_LIMIT_RANK];
  if (!a || !b || a->kind != b->kind) return NULL;
  if (surg__type_same(a, b)) return a;
  if (a->kind != SURG_TYPE_TENSOR || a->dtype != b->dtype) return NULL;
  if (!a->has_rank || !b->has_rank || a->rank != b->rank || a->rank > SURG_LIMIT_RANK)
    return surg_type_tensor_unranked(c->m, a->dtype);
  for (uint32_t i = 0; i < a->rank; i++) dims[i] = surg__dim_join(a->dims[i], b->dims[i]);
  return surg_type_tensor(c->m, a->dtype, dims, a->rank);
}

static bool same_elems(const surg__elems *a, const surg__elems *b) {
  if (a == b) return true;
  if (!a || !b || a->n != b->n || a->real != b->real) return false;
  for (uint32_t i = 0; i < a->n; i++)
    if (a->e[i].known != b->e[i].known || a->e[i].value != b->e[i].value ||
        a->e[i].expr != b->e[i].expr)
      return false;
  return true;
}

static void join_value(surg__infer *c, const surg_value *v) {
  surg__istate *s = v->scratch;
  if (!s->joined) {
    s->joined = true;
    s->all = v->inferred;
    s->all_elems = s->elems;
    return;
  }
  const surg_type *all = join(c, s->all, v->inferred);
  if (all != s->all || !same_elems(s->all_elems, s->elems)) s->all_elems = NULL;
  s->all = all;
}

static void keep_value(surg_value *v) {
  surg__istate *s = v->scratch;
  assert(s->joined); /* set by each walk of a call; a function without one is in `missed` */
  v->inferred = s->all;
  s->elems = s->all_elems;
}

/* Joins or stores the types of all values of a body, nested graphs included, except initializers,
 * which are axioms. Recursion is bounded by how deep graphs nest (SURG_LIMIT_DEPTH). */
static void each_value(surg__infer *c, surg_graph *g, bool keep) {
  for (surg_value *v = g->first_value; v; v = v->next) {
    if (!v->producer && !v->input) continue;
    if (keep)
      keep_value(v);
    else
      join_value(c, v);
  }
  for (surg_node *n = g->first; n; n = n->next) {
    surg_graph *inner;
    for (size_t k = 0; n->n_attr && (inner = surg_node_subgraph(n, k)); k++)
      each_value(c, inner, keep);
  }
}

void surg__infer_called(surg__infer *c, surg_function *f) {
  f->walked = true;
  if (c->of_calls && !f->missed && f->body) each_value(c, f->body, false);
}

void surg__infer_missed(surg__infer *c, surg_function *f) {
  if (f->missed || (!c->of_calls && !c->no_calls)) return;
  f->missed = true;
  if (!surg__vec_push(c->m->ctx, &c->missed, f)) c->nomem = true;
}

void surg__infer_settle_functions(surg__infer *c) {
  surg_function **list = c->m->functions.items;
  const size_t count = c->m->functions.count;
  c->no_calls = true;
  for (size_t i = 0; i < count; i++)
    if (!c->of_calls || !list[i]->walked) surg__infer_missed(c, list[i]);
  /* Forgetting one function adds the functions that it calls to the list. */
  for (size_t i = 0; i < c->missed.count && !c->nomem; i++) {
    surg_graph *body = c->missed.items[i]->body;
    if (!body) continue;
    surg__infer_forget(c, body);
    surg__infer_walk(c, body);
  }
  for (size_t i = 0; i < count; i++) {
    if (!list[i]->missed && list[i]->body && !c->nomem) each_value(c, list[i]->body, true);
    list[i]->walked = list[i]->missed = false;
  }
  surg__vec_free(c->m->ctx, &c->missed);
}
