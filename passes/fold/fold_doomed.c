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

#define TRIALS (UINT64_C(1) << 18) /* most nodes inferred again for this, times four */

/* --- whether an output depends on a node --- */

typedef struct reach {
  const surg_graph *graph;
  table seen;
  surg_node **queue;
  size_t count;
} reach;

/* Adds a node to the queue once; false: out of memory. */
static bool meet(reach *r, surg_node *n) {
  if (table_has(&r->seen, n)) return true;
  if (!table_put(&r->seen, n)) return false;
  assert(r->count < surg_graph_node_count(r->graph)); /* each node is added once */
  r->queue[r->count++] = n;
  return true;
}

/* The node of the graph that contains the use, directly or in a subgraph; NULL: a graph output. */
static surg_node *reader(const reach *r, const surg_use *u) {
  const surg_graph *g = surg_use_graph(u);
  surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
  while (g != r->graph) {
    n = surg_graph_parent_node(g);
    assert(n); /* a use is in the value's graph or a subgraph */
    g = surg_node_graph(n);
  }
  return n;
}

/* Whether an output of its graph depends on n. On out of memory sets `failed`. */
static bool matters(fold_state *f, surg_node *n) {
  const surg_graph *g = surg_node_graph(n);
  const size_t nodes = surg_graph_node_count(g);
  reach r = {.graph = g, .queue = surg_pass_alloc(f->pass, nodes * sizeof *r.queue)};
  f->failed = f->failed || !r.queue || !table_make(&r.seen, f->pass, nodes) || !meet(&r, n);
  for (size_t i = 0; i < r.count && !f->failed; i++) {
    for (size_t k = 0; k < surg_node_output_count(r.queue[i]); k++) {
      const surg_value *v = surg_node_output(r.queue[i], k);
      for (const surg_use *u = v ? surg_value_first_use(v) : NULL; u; u = surg_use_next(u)) {
        if (surg_use_get_kind(u) == SURG_USE_SOFT) continue;
        surg_node *by = reader(&r, u);
        if (!by) return true;
        f->failed = f->failed || !meet(&r, by);
      }
    }
  }
  return false;
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

/* Folds n if exactly one of its branches fails. */
static bool try_branches(fold_state *f, surg_node *n) {
  surg_node *next = NULL, *fails[2];
  for (int taken = 0; taken < 2; taken++) fails[taken] = surg_node_branch_fails(n, taken != 0);
  if (surg_model_status(f->model) != SURG_OK) return !(f->failed = true);
  if (!fails[0] == !fails[1] || !matters(f, fails[0] ? fails[0] : fails[1])) return false;
  return fold_branch(f, n, fails[0] != NULL, &next);
}

bool fold_doomed(fold_state *f) {
  bool any = false;
  uint64_t nodes = 0, spent = 0;
  for (surg_graph *g = surg_model_next_graph(f->model, NULL); g;
       g = surg_model_next_graph(f->model, g))
    nodes += surg_graph_node_count(g);
  for (surg_graph *g = surg_model_next_graph(f->model, NULL); g && !any;
       g = surg_model_next_graph(f->model, g)) {
    for (surg_node *n = surg_graph_first_node(g), *next; n && !any && !f->failed; n = next) {
      next = surg_node_next(n);
      if (surg_node_op(n) != SURG_OP_If || fold_keeps(f, n) || surg_node_nondeterministic(n))
        continue;
      if (surg_model_infer(f->model) != SURG_OK) return !(f->failed = true);
      if (!differ(n) || (spent = fold_plus(spent, nodes)) > TRIALS) continue;
      any = try_branches(f, n);
    }
  }
  return any;
}
