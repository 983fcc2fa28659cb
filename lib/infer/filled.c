/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that are at least 1 in every run that succeeds.
 *
 * Reshape with a -1 in its target fails if the other dimensions multiply to 0, since the -1 could
 * be anything. A node of the main graph runs in every run, so that a symbol that such a node needs
 * to be at least 1 is so for all nodes, also for those before it:
 *
 *   y = Reshape (x, {0, 12, -1})     x float[N, 12, H, W]: N >= 1
 *
 * Only nodes count that an output of the model depends on: what is not needed may not run. */
#include "base/counted.h"
#include "infer/infer.h"

static const char live; /* its address marks a value whose node is needed, in `scratch` */

/* Whether an output of the model is the value, or depends on it outside of subgraphs. Later nodes
 * are marked. */
static bool needed(const surg_model *m, const surg_value *v) {
  for (const surg_use *u = v->uses; u && u->kind != SURG_USE_SOFT; u = u->next) {
    if (u->kind == SURG_USE_OUTPUT && u->user.graph == m->graph) return true;
    const surg_node *n = u->kind == SURG_USE_NODE ? u->user.node : NULL;
    for (uint32_t i = 0; n && n->graph == m->graph && i < n->n_out; i++)
      if (n->out[i] && n->out[i]->scratch) return true;
  }
  return false;
}

/* Marks from the last node to the first: a node that is not in its order stays unmarked. */
static void mark_live(const surg_model *m) {
  for (const surg_node *n = m->graph->last; n; n = n->prev) {
    bool any = false;
    for (uint32_t i = 0; i < n->n_out && !any; i++) any = n->out[i] && needed(m, n->out[i]);
    for (uint32_t i = 0; i < n->n_out && any; i++)
      if (n->out[i]) n->out[i]->scratch = (void *)(uintptr_t)&live;
  }
}

static void unmark(const surg_model *m) {
  for (const surg_node *n = m->graph->first; n; n = n->next)
    for (uint32_t i = 0; i < n->n_out; i++)
      if (n->out[i]) n->out[i]->scratch = NULL;
}

/* The elements of the target of a Reshape that must find the size of a -1; 0: there is none. */
static size_t open_target(const surg_node *n, surg_elem *e) {
  if (surg_node_op(n) != SURG_OP_Reshape || n->n_in < 2 || n->n_out < 1 || !n->out[0]) return 0;
  const int64_t count = surg__known_elements(n->in[1].value, e, SURG_LIMIT_RANK);
  size_t opens = 0;
  for (int64_t i = 0; i < count; i++) opens += e[i].known && e[i].value == -1;
  return opens == 1 ? (size_t)count : 0;
}

/* Notes the dimensions beside the -1. An element that may be 0 would copy the dimension of the
 * input instead, so it must be 0 only where that is, too. */
static void note(const surg_node *n, const surg_elem *e, size_t count) {
  const surg_type *x = n->in[0].value ? surg_value_type(n->in[0].value) : NULL;
  if (!x || !surg_type_has_rank(x)) return;
  for (size_t i = 0; i < count; i++) {
    const surg_dim *d = i < surg_type_rank(x) ? surg_type_dim(x, i) : NULL;
    const surg_dim size = {.value = -1, .expr = e[i].known ? NULL : e[i].expr};
    if (e[i].known && e[i].value == 0 && d && d->value < 0) surg__expr_note_filled(d->expr);
    if (size.expr && (!d || surg_dim_equal(&size, d))) surg__expr_note_filled(size.expr);
  }
}

void surg__infer_filled(surg_model *m) {
  surg_elem e[SURG_LIMIT_RANK];
  const surg_node *first = m->graph->first;
  while (first && !open_target(first, e)) first = first->next;
  if (!first) return;
  mark_live(m);
  for (const surg_node *n = first; n; n = n->next) {
    const size_t count = n->n_out && n->out[0] && n->out[0]->scratch ? open_target(n, e) : 0;
    if (count) note(n, e, count);
  }
  unmark(m);
}
