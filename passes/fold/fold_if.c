/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the fold pass: replaces an If with a constant condition by the nodes of its branch.
 *
 *   before: y = If <then_branch = g1 () => (t) { t = Neg (x) }, else_branch = ...> (true)
 *   after:  y = Neg (x)
 *
 * An output of the branch can be any value: of a node or initializer of the branch, a captured
 * value, an input of the model, the same value twice. If the If produces an output of its graph and
 * the value cannot get its name, an Identity is inserted. */
#include "../util/bodies.h"
#include "../util/give.h"
#include "../util/numbers.h"
#include "../util/values.h"
#include "fold.h"

#include <assert.h>

/* The condition (0 or 1) if it is one boolean, constant or known by inference; else -1. */
static int condition(const surg_node *n) {
  const surg_value *v = surg_node_input(n, 0);
  const surg_tensor *t = v ? surg_value_constant(v) : NULL;
  int64_t b;
  if (!v || (t ? surg_tensor_dtype(t) : surg_type_dtype(surg_value_type(v))) != SURG_BOOL)
    return -1;
  return numbers_one(v, &b) ? b != 0 : -1;
}

static surg_graph *branch_of(const surg_node *n, bool taken) {
  surg_graph *g = bodies_graph(n, taken ? "then_branch" : "else_branch");
  return g && surg_graph_input_count(g) == 0 &&
                 surg_graph_output_count(g) >= surg_node_output_count(n)
             ? g
             : NULL;
}

static size_t output_entries(const surg_value *v) {
  size_t count = 0;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    count += surg_use_get_kind(u) == SURG_USE_OUTPUT;
  return count;
}

/* Whether every output of the If can be replaced by the branch's value, if needed by an
 * Identity. Checked before anything changes. A value produced in the branch and returned once
 * can get any name. */
static bool can_give_all(const fold_state *f, const surg_node *n, const surg_graph *branch,
                         surg_value *const *outs, size_t count) {
  const surg_graph *g = surg_node_graph(n);
  for (size_t i = 0; i < count; i++) {
    assert(outs[i]); /* branch_outputs checked it */
    const surg_value *old = surg_node_output(n, i);
    if (!old || !surg_value_is_output(old) || give_identity_stands(g, outs[i], old)) continue;
    if (surg_value_graph(outs[i]) != branch || surg_pass_keeps_value(f->pass, outs[i]) ||
        output_entries(outs[i]) > 1)
      return false;
  }
  return true;
}

/* The outputs of the branch, read before it is emptied; NULL: one is missing, or out of memory. */
static surg_value **branch_outputs(fold_state *f, const surg_graph *branch, size_t count) {
  surg_value **outs = surg_pass_alloc(f->pass, (count + 1) * sizeof *outs);
  if (!outs) f->failed = true;
  for (size_t i = 0; outs && i < count; i++) {
    outs[i] = surg_graph_output(branch, i);
    if (!outs[i]) return NULL;
  }
  return outs;
}

/* The shape that the branch, or else the If, declares for output i, where inference has none; NULL:
 * there is none to keep. Engines may need it: a Scan that reads the value, for example. */
static const surg_type *claim_of(const surg_node *n, const surg_graph *branch, const surg_value *v,
                                 size_t i) {
  const surg_type *is = surg_value_type(v), *own = surg_graph_output_type(branch, i);
  const surg_type *said =
      own && surg_type_has_rank(own) ? own : surg_value_declared_type(surg_node_output(n, i));
  const bool known = is && (surg_type_get_kind(is) != SURG_TYPE_TENSOR || surg_type_has_rank(is));
  if (known || surg_value_graph(v) != branch || surg_value_is_input(v)) return NULL;
  if (surg_graph_get_kind(surg_node_graph(n)) == SURG_GRAPH_FUNCTION) return NULL;
  return said && surg_type_get_kind(said) == SURG_TYPE_TENSOR && surg_type_has_rank(said) ? said
                                                                                          : NULL;
}

static const surg_type **claims(fold_state *f, const surg_node *n, const surg_graph *branch,
                                surg_value *const *outs, size_t count) {
  const surg_type **all = surg_pass_alloc(f->pass, (count + 1) * sizeof *all);
  for (size_t i = 0; all && i < count; i++) all[i] = claim_of(n, branch, outs[i], i);
  return all;
}

/* Moves the nodes of the branch to the outer graph and replaces the outputs of the If. The
 * output list of the branch is removed first, because its entries would keep names in use. */
static bool inline_branch(fold_state *f, surg_node *n, surg_graph *branch, surg_value **outs,
                          size_t count) {
  f->changed = true;
  assert(branch != surg_node_graph(n));
  const surg_type **said = claims(f, n, branch, outs, count);
  if (!said || !fold_remember_inputs(f, n) || surg_graph_hoist(branch, n) != SURG_OK) return false;
  for (size_t i = surg_graph_output_count(branch); i-- > 0;) {
    if (surg_graph_remove_output(branch, i) != SURG_OK) return false;
  }
  for (size_t i = 0; i < count; i++) {
    surg_value *old = surg_node_output(n, i);
    assert(outs[i]);
    if (old && surg_value_use_count(old, 1) > 0 && give_uses(f->pass, n, old, outs[i]) != SURG_OK)
      return false;
    if (said[i] && !surg_value_declared_type(outs[i]) &&
        surg_value_set_declared_type(outs[i], said[i]) != SURG_OK)
      return false;
  }
  return surg_node_erase(n) == SURG_OK;
}

bool fold_if(fold_state *f, surg_node *n, surg_node **next) {
  const int taken = condition(n);
  if (taken < 0) return false;
  if (surg_node_sheltered(n)) return fold_leave(f, n, "a node that need not run would fail on it");
  return fold_branch(f, n, taken != 0, next);
}

bool fold_branch(fold_state *f, surg_node *n, bool taken, surg_node **next) {
  if (fold_keeps(f, n)) return false;
  surg_graph *g = surg_node_graph(n), *branch = branch_of(n, taken);
  if (!branch) return fold_leave(f, n, "its branch does not fit its outputs");
  if (surg_node_nondeterministic(n)) return fold_leave(f, n, "it is random");
  const char *why = fold_pinned(n);
  if (why) return fold_leave(f, n, why);
  size_t count = surg_node_output_count(n);
  surg_value **outs = branch_outputs(f, branch, count);
  if (!outs) return false;
  if (!values_takes_initializers(g, branch))
    return fold_leave(f, n, "its graph cannot have the initializers of the branch");
  if (!can_give_all(f, n, branch, outs, count))
    return fold_leave(f, n, "no Identity can replace its output");
  if (!fold_allow(f)) return false;
  surg_node *before = surg_node_prev(n);
  const char *name = surg_node_op_type(n);
  if (!inline_branch(f, n, branch, outs, count)) return !(f->failed = true);
  /* Continue with the nodes of the branch, after the node that was before the If. */
  *next = before ? surg_node_next(before) : surg_graph_first_node(g);
  fold_bury(f);
  fold_count(f, name, 0);
  return true;
}
