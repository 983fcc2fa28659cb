/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine believes that merges declared types into those it infers, as ONNX Runtime does.
 * Where nothing is inferred, the declared type is used. A dimension that only one of the two states
 * is that one. Where they contradict each other, only what they have in common remains.
 *
 * Findings about such types tell what the engine reports; they prove nothing about the model. */
#include "infer/infer.h"

/* Whether both are tensors of known rank and the same element type. */
static bool is_comparable(const surg_type *a, const surg_type *b) {
  return a->kind == SURG_TYPE_TENSOR && b->kind == SURG_TYPE_TENSOR && a->dtype == b->dtype &&
         a->has_rank && b->has_rank && a->rank <= SURG_LIMIT_RANK;
}

static bool contradict(const surg_type *a, const surg_type *b) {
  if (a->rank != b->rank) return true;
  for (uint32_t i = 0; i < a->rank; i++) {
    const int64_t x = a->dims[i].value, y = b->dims[i].value;
    if (x >= 0 && y >= 0 && x != y) return true;
  }
  return false;
}

/* The inferred dimensions, completed by the declared ones; of types that contradict each other only
 * equal sizes. */
static void merge(surg__infer *c, surg_value *v, const surg_type *is, const surg_type *said) {
  surg_dim dims[SURG_LIMIT_RANK];
  surg__istate *s = v->scratch;
  const bool differ = contradict(is, said);
  bool same = !differ;
  if (is->rank != said->rank) {
    s->elems = NULL;
    surg__infer_set_unranked(c, v, is->dtype);
    return;
  }
  for (uint32_t i = 0; i < is->rank; i++) {
    const int64_t x = is->dims[i].value, y = said->dims[i].value;
    dims[i] = is->dims[i];
    if (differ && x != y) dims[i] = surg__dim_unknown();
    if (!differ && x < 0 && y >= 0) dims[i] = surg__dim(y);
    same = same && dims[i].value == x;
  }
  if (same) return;
  if (differ) s->elems = NULL;
  surg__infer_set(c, v, is->dtype, dims, is->rank);
}

static void believe_declared(surg__infer *c, surg_value *v, const surg_type *said) {
  ((surg__istate *)v->scratch)->elems = NULL;
  surg__infer_state_declared(c, v, said, SURG__SYMBOL_DECLARED);
}

/* Leaves the element type of a tensor. */
static void forget_shape(surg__infer *c, surg_value *v) {
  ((surg__istate *)v->scratch)->elems = NULL;
  if (v->inferred && v->inferred->kind == SURG_TYPE_TENSOR && v->inferred->has_rank)
    surg__infer_set_unranked(c, v, v->inferred->dtype);
}

static void believe_output(surg__infer *c, surg_value *v, bool hidden) {
  const surg__istate *s = v ? v->scratch : NULL;
  const surg_type *said = !v ? NULL : c->beliefs.again && s ? s->old : surg_value_declared_type(v);
  if (v && v->scratch && hidden && c->beliefs.least) forget_shape(c, v);
  if (!said || !v->scratch || v->graph->kind == SURG_GRAPH_FUNCTION) return;
  const surg_type *is = v->inferred;
  const bool weaker = is && is->kind == SURG_TYPE_TENSOR && said->kind == SURG_TYPE_TENSOR &&
                      is->dtype == said->dtype && !is->has_rank && said->has_rank;
  const bool other = is && is_comparable(is, said);
  const bool differ = other && contradict(is, said);
  if (!is || weaker || (differ && hidden))
    believe_declared(c, v, said);
  else if (other && (!differ || c->beliefs.merge))
    merge(c, v, is, said);
}

void surg__infer_believe_bodies(surg__infer *c, const surg_node *n) {
  if (!c->beliefs.complete) return;
  for (size_t i = 0; surg_node_subgraph(n, i); i++) {
    const surg_graph *g = surg_node_subgraph(n, i);
    for (size_t k = 0; k < surg_graph_input_count(g); k++) {
      surg_value *v = surg_graph_input(g, k);
      if (v && v->scratch && c->beliefs.least) forget_shape(c, v);
      if (v) believe_output(c, v, false);
    }
  }
}

void surg__infer_believe(surg__infer *c, const surg_node *n) {
  const bool hidden = c->beliefs.merge && c->beliefs.hides && c->beliefs.hides(n);
  if (!c->beliefs.complete) return;
  for (uint32_t k = 0; k < n->n_out; k++) believe_output(c, n->out[k], hidden);
}

bool surg__infer_is_contradicted(const surg_value *v) {
  const surg_type *said = surg_value_declared_type(v), *is = v->inferred;
  return v->producer && said && is && said != is && is_comparable(is, said) && contradict(is, said);
}

bool surg__infer_is_completed(const surg_value *v) {
  const surg_type *said = v->initializer ? NULL : surg_value_declared_type(v), *is = v->inferred;
  if (!said || said->kind == SURG_TYPE_UNKNOWN || said == is) return false;
  if (!is || is->kind == SURG_TYPE_UNKNOWN) return true;
  if (is->kind != SURG_TYPE_TENSOR || said->kind != SURG_TYPE_TENSOR || !said->has_rank)
    return false;
  if (!is->has_rank) return true;
  if (is->rank != said->rank) return false;
  for (uint32_t i = 0; i < is->rank; i++)
    if (is->dims[i].value < 0 && said->dims[i].value >= 0) return true;
  return false;
}
