/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the fold pass: replaces an If by one branch when the other branch always leads to an
 * error. Exporters write such code: "squeeze if that dimension is 1, else forward it", followed by
 * a node that only accepts the squeezed rank. For inputs that would select the other branch the
 * model has no result, before and after.
 *
 *   before: n = Equal (d, 1)   t = If (n) {Squeeze (x, 2)} {Identity (x)}   y = Gemm (t, w)
 *   after:  t = Squeeze (x, 2)   y = Gemm (t, w)
 *
 * An output of the graph must depend on the node that fails: engines need not run other nodes. */
#include "../util/bodies.h"
#include "fold.h"

#include <assert.h>

/* --- whether an output depends on a node --- */

/* The nodes of a graph that its outputs depend on. */
typedef struct live {
  const surg_graph *graph; /* NULL: not collected */
  table seen;
  surg_node **queue;
  size_t count;
} live;

/* Adds the producer of a value, if it is in the graph. False: out of memory. */
static bool meet(live *l, const surg_value *v) {
  surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
  if (!n || surg_node_graph(n) != l->graph || table_has(&l->seen, n)) return true;
  if (!table_put(&l->seen, n)) return false;
  assert(l->count < surg_graph_node_count(l->graph)); /* each node is added once */
  l->queue[l->count++] = n;
  return true;
}

/* Adds what a node reads, itself and in its subgraphs. Recursion is bounded by how deep graphs
 * nest. */
static bool meet_inputs(live *l, const surg_node *n) {
  const surg_graph *inner;
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    if (!meet(l, surg_node_input(n, i))) return false;
  for (size_t k = 0; (inner = surg_node_subgraph(n, k)) != NULL; k++) {
    for (size_t i = 0; i < surg_graph_output_count(inner); i++)
      if (!meet(l, surg_graph_output(inner, i))) return false;
    for (const surg_node *x = surg_graph_first_node(inner); x; x = surg_node_next(x))
      if (!meet_inputs(l, x)) return false;
  }
  return true;
}

/* Whether an output of its graph depends on n. On out of memory sets `failed`. */
static bool matters(fold_state *f, live *l, surg_node *n) {
  const surg_graph *g = surg_node_graph(n);
  if (l->graph != g) {
    const size_t nodes = surg_graph_node_count(g);
    *l = (live){.graph = g, .queue = surg_pass_alloc(f->pass, nodes * sizeof *l->queue)};
    bool ok = l->queue && table_make(&l->seen, f->pass, nodes);
    for (size_t i = 0; ok && i < surg_graph_output_count(g); i++)
      ok = meet(l, surg_graph_output(g, i));
    for (size_t i = 0; ok && i < l->count; i++) ok = meet_inputs(l, l->queue[i]);
    if (!ok) return !(f->failed = true);
  }
  return table_has(&l->seen, n);
}

/* --- selecting the branch --- */

/* Whether the types of the branches differ; if not, inference cannot distinguish the branches. */
static bool differ(const surg_node *n) {
  const surg_graph *x = bodies_graph(n, "then_branch"), *y = bodies_graph(n, "else_branch");
  for (size_t k = 0; x && y && k < surg_node_output_count(n); k++) {
    const surg_value *v = surg_graph_output(x, k), *w = surg_graph_output(y, k);
    const surg_type *s = v ? surg_value_type(v) : NULL, *t = w ? surg_value_type(w) : NULL;
    if (s != t && !(s && t && surg_type_equal(s, t))) return true;
  }
  return false;
}

/* An If and the branch that is left. */
typedef struct choice {
  surg_node *n;
  bool taken;
} choice;

typedef struct search {
  live live;
  const surg_graph *graph; /* of the last condition that was tried */
  const surg_value *condition;
  surg_node *fails[2]; /* what fails if it is false, and if it is true */
} search;

/* Whether exactly one branch of n fails; *taken: the other one is then_branch. */
static bool decided(fold_state *f, search *s, surg_node *n, bool *taken) {
  const surg_value *condition = surg_node_input(n, 0);
  if (s->condition != condition || s->graph != surg_node_graph(n)) {
    for (int is = 0; is < 2; is++) s->fails[is] = surg_node_branch_fails(n, is != 0);
    s->condition = condition;
    s->graph = surg_node_graph(n);
  }
  if (surg_model_status(f->model) != SURG_OK) return !(f->failed = true);
  *taken = s->fails[0] != NULL;
  if (!s->fails[0] == !s->fails[1]) return false;
  return matters(f, &s->live, s->fails[0] ? s->fails[0] : s->fails[1]);
}

static size_t count_ifs(const fold_state *f) {
  size_t count = 0;
  for (surg_graph *g = surg_model_next_graph(f->model, NULL); g;
       g = surg_model_next_graph(f->model, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      count += surg_node_op(n) == SURG_OP_If;
  return count;
}

/* All Ifs are decided before the first is folded: what is proven of one stays true for the inputs
 * for which the model has a result, and types are inferred once. */
bool fold_doomed(fold_state *f) {
  const size_t ifs = count_ifs(f);
  choice *found = surg_pass_alloc(f->pass, (ifs + 1) * sizeof *found);
  search s = {0};
  size_t count = 0;
  bool any = false;
  if (!found) f->failed = true;
  if (!ifs || f->failed) return false;
  if (surg_model_infer(f->model) != SURG_OK) return !(f->failed = true);
  for (surg_graph *g = surg_model_next_graph(f->model, NULL); g && !f->failed;
       g = surg_model_next_graph(f->model, g))
    for (surg_node *n = surg_graph_first_node(g); n && !f->failed; n = surg_node_next(n)) {
      if (surg_node_op(n) != SURG_OP_If || fold_keeps(f, n) || surg_node_nondeterministic(n))
        continue;
      choice c = {n, false};
      if (differ(n) && decided(f, &s, n, &c.taken)) found[count++] = c;
    }
  for (size_t i = 0; i < count && !f->failed && !f->done; i++) {
    surg_node *next = NULL;
    if (!surg_node_erased(found[i].n) && fold_branch(f, found[i].n, found[i].taken, &next))
      any = true;
  }
  return any;
}
