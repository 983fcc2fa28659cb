/* SPDX-License-Identifier: Apache-2.0 */
/* Removes values that control flow only forwards. A state of a Loop or Scan that the body returns
 * unchanged is read from the outer graph instead; an output that both branches of an If forward
 * from one outer value is replaced by that value; a node of a body whose inputs do not depend on
 * the iteration moves before the loop, if it cannot fail there (the loop may run no iteration).
 *
 *   before: y, z = Loop <body = b (i, c, s, t) => (c, s, u) { u = Add (t, s) }> (n, "", x, w)
 *   after:  z = Loop <body = b (i, c, t) => (c, u) { u = Add (t, x) }> (n, "", w)     y is x
 *
 * Needs sorted, types. Keeps sorted. Exact. */
#include <assert.h>
#include <onnxsurg/onnxsurg.h>

#include "../util/bodies.h"
#include "../util/declared.h"
#include "../util/each.h"
#include "../util/give.h"
#include "../util/table.h"
#include "../util/values.h"

/* ---- common ---------------------------------------------------------------------------------- */

/* Whether output i of n can be replaced by `by`, which is visible in the graph of n. */
static bool can_give(surg_pass_ctx *p, const surg_node *n, size_t i, const surg_value *by) {
  const surg_value *old = surg_node_output(n, i);
  if (!old) return true;
  if (surg_value_is_pinned(old) || values_annotated(old)) return false;
  if (!surg_value_is_output(old)) return !surg_pass_keeps_value(p, old);
  return give_identity_stands(surg_node_graph(n), by, old);
}

static bool give(surg_pass_ctx *p, surg_node *n, size_t i, surg_value *by) {
  surg_value *old = surg_node_output(n, i);
  return !old || !surg_value_use_count(old, 1) || give_uses(p, n, old, by) == SURG_OK;
}

/* ---- If -------------------------------------------------------------------------------------- */

/* Whether v is visible in g: it belongs to g or a graph around it. */
static bool seen(const surg_value *v, const surg_graph *g) {
  for (; g; g = surg_graph_parent(g))
    if (surg_value_graph(v) == g) return true;
  return false;
}

static surg_pass_result branches(surg_pass_ctx *p, surg_node *n) {
  surg_graph *a = bodies_graph(n, "then_branch"), *b = bodies_graph(n, "else_branch");
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (size_t i = 0; a && b && i < surg_node_output_count(n); i++) {
    surg_value *v = bodies_origin(surg_graph_output(a, i));
    if (!v || v != bodies_origin(surg_graph_output(b, i)) || !seen(v, surg_node_graph(n)) ||
        !bodies_read(n, i) || !can_give(p, n, i, v) || !surg_pass_allow(p))
      continue;
    if (!give(p, n, i, v)) return SURG_PASS_FAILED;
    surg_pass_count(p, "outputs of branches", 1);
    result = SURG_PASS_CHANGED;
  }
  return result;
}

/* ---- Loop and Scan --------------------------------------------------------------------------- */

/* Whether the body returns v at another output than `but`, which would then be a captured value. */
static bool given_elsewhere(const bodies_loop *l, const surg_value *v, size_t but) {
  for (size_t i = 0; i < surg_graph_output_count(l->body); i++)
    if (i != but && surg_graph_output(l->body, i) == v) return true;
  return false;
}

/* Whether a node of the body, which may not run, would fail if input `at` were the constant
 * `init`. */
static bool fails_on(surg_pass_ctx *p, const bodies_loop *l, size_t at, const surg_value *init) {
  surg_tensor *t = surg_value_settled(init);
  if (!t) return false;
  surg_tensor **in = surg_pass_alloc(p, (surg_graph_input_count(l->body) + 1) * sizeof *in);
  if (!in) return true;
  assert(at < surg_graph_input_count(l->body) || !surg_graph_input_count(l->body));
  in[at] = t;
  return surg_graph_would_fail(l->body, in, true, NULL);
}

static bool ranked(const surg_type *t) {
  return surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t);
}

/* Whether the state declares a shape and its initial value has none: runtimes would not find the
 * shapes of what the body computes from it. */
static bool declares_more(const surg_value *in, const surg_value *init) {
  return ranked(surg_value_declared_type(in)) && !ranked(surg_value_type(init));
}

static bool unchanged(surg_pass_ctx *p, const bodies_loop *l, size_t i) {
  assert(l->body && i < l->states);
  surg_value *in = surg_graph_input(l->body, l->first_in + i);
  surg_value *init = surg_node_input(l->n, l->first_in + i);
  const surg_schema *s = surg_node_schema(l->n);
  if (!in || !init || surg_value_is_initializer(in) || values_annotated(in)) return false;
  if (declares_more(in, init) ||
      bodies_origin(surg_graph_output(l->body, l->first_out + i)) != in ||
      given_elsewhere(l, in, l->first_out + i))
    return false;
  return surg_node_input_count(l->n) > surg_schema_min_inputs(s) &&
         surg_node_output_count(l->n) > surg_schema_min_outputs(s) && can_give(p, l->n, i, init) &&
         !fails_on(p, l, l->first_in + i, init);
}

/* Declares the shapes of what the iterations give, where a state that declares its shape is
 * removed: runtimes infer a body from its inputs, and a Loop without iterations gives a result of
 * another rank if they find none. */
static bool keep_shapes(const bodies_loop *l, const surg_value *in) {
  if (!ranked(surg_value_declared_type(in))) return true;
  for (size_t i = l->first_out + l->states; i < surg_graph_output_count(l->body); i++) {
    surg_value *v = surg_graph_output(l->body, i);
    if (v && surg_value_graph(v) == l->body && !declared_shape(v)) return false;
  }
  return true;
}

static bool drop_input(surg_node *n, size_t i) {
  const size_t count = surg_node_input_count(n);
  for (; i + 1 < count; i++)
    if (surg_node_set_input(n, i, surg_node_input(n, i + 1)) != SURG_OK) return false;
  return surg_node_trim_inputs(n, count - 1) == SURG_OK;
}

static bool take_out(surg_pass_ctx *p, bodies_loop *l, size_t i) {
  assert(i < l->states); /* each is removed once */
  surg_value *in = surg_graph_input(l->body, l->first_in + i);
  surg_value *init = surg_node_input(l->n, l->first_in + i);
  if (!keep_shapes(l, in) || !give(p, l->n, i, init) ||
      surg_graph_remove_output(l->body, l->first_out + i) != SURG_OK)
    return false;
  if (surg_value_use_count(in, 1) && surg_value_replace(in, init) != SURG_OK) return false;
  if (surg_graph_remove_input(l->body, l->first_in + i) != SURG_OK ||
      surg_node_remove_output(l->n, i) != SURG_OK || !drop_input(l->n, l->first_in + i))
    return false;
  l->states--;
  surg_pass_count(p, "states of loops", 1);
  return true;
}

/* Removes unchanged states, last first, so that the remaining indices stay valid. */
static surg_pass_result states(surg_pass_ctx *p, surg_node *n) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  bodies_loop l;
  if (surg_pass_keeps_node(p, n) || !bodies_loop_of(&l, n) || surg_node_output_count(n) < l.states)
    return result;
  for (size_t i = l.states; i-- > 0;) {
    assert(i < l.states); /* removal only shifts indices above i */
    if (!unchanged(p, &l, i) || !surg_pass_allow(p)) continue;
    if (!take_out(p, &l, i)) return SURG_PASS_FAILED;
    result = SURG_PASS_CHANGED;
  }
  return result;
}

/* ---- loop-invariant nodes -------------------------------------------------------------------- */

/* Whether all inputs of n are defined outside of its graph, or by nodes of it that move. */
static bool from_outside(const surg_node *n, const table *moving) {
  bool any = false;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_node *by = v ? surg_value_producer(v, NULL) : NULL;
    if (v && surg_value_graph(v) == surg_node_graph(n) && !(by && table_has(moving, by)))
      return false;
    any |= v != NULL;
  }
  return any;
}

static bool invariant(surg_pass_ctx *p, surg_node *n, const table *moving) {
  if (!from_outside(n, moving) || surg_node_subgraph(n, 0) || surg_pass_keeps_node(p, n) ||
      surg_node_nondeterministic(n) || !surg_node_cannot_fail(n))
    return false;
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    if (surg_attr_ref(surg_node_attr_at(n, i))) return false;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (v && (surg_value_is_output(v) || surg_value_is_pinned(v) || values_annotated(v) ||
              surg_pass_keeps_value(p, v)))
      return false;
  }
  return true;
}

/* Moves n before the loop: adds a copy there, with the name of n and of its first output. */
static bool move_out(surg_node *n, surg_node *loop) {
  const size_t outputs = surg_node_output_count(n);
  assert(n != loop && surg_node_graph(n) != surg_node_graph(loop));
  surg_node *made = surg_graph_add_node(surg_node_graph(loop), loop, surg_node_domain(n),
                                        surg_node_op_type(n), outputs);
  surg_status s = made ? surg_node_set_name(made, surg_node_name(n)) : SURG_ENOMEM;
  for (size_t i = 0; i < surg_node_attr_count(n) && !s; i++)
    s = surg_node_copy_attr(made, surg_node_attr_at(n, i));
  for (size_t i = 0; i < surg_node_input_count(n) && !s; i++)
    if (surg_node_input(n, i)) s = surg_node_set_input(made, i, surg_node_input(n, i));
  for (size_t i = 0; i < outputs && !s; i++) {
    surg_value *v = surg_node_output(n, i);
    if (v && surg_value_use_count(v, 1)) s = surg_value_replace(v, surg_node_output(made, i));
  }
  const surg_value *first = outputs ? surg_node_output(n, 0) : NULL;
  const char *name = first ? surg_value_name(first) : "";
  if (!s) s = surg_node_erase(n);
  if (!s && *name && surg_value_can_rename(surg_node_output(made, 0), name))
    s = surg_value_rename(surg_node_output(made, 0), name);
  return s == SURG_OK;
}

/* Nodes are judged before one moves, by the types that are inferred in the body. */
static surg_pass_result invariants(surg_pass_ctx *p, surg_node *loop) {
  surg_graph *body = bodies_graph(loop, "body");
  surg_pass_result result = SURG_PASS_UNCHANGED;
  table moving;
  if (!body || !surg_graph_first_node(body)) return result;
  if (!table_make(&moving, p, surg_graph_node_count(body))) return SURG_PASS_FAILED;
  for (surg_node *n = surg_graph_first_node(body); n; n = surg_node_next(n))
    if (invariant(p, n, &moving) && !table_put(&moving, n)) return SURG_PASS_FAILED;
  for (surg_node *n = surg_graph_first_node(body), *next; n; n = next) {
    next = surg_node_next(n);
    if (!table_has(&moving, n)) continue;
    if (!surg_pass_allow(p)) break;
    if (!move_out(n, loop)) return SURG_PASS_FAILED;
    surg_pass_count(p, "nodes before loops", 1);
    result = SURG_PASS_CHANGED;
  }
  /* Loops around this one are judged by the types of what moved. */
  if (result == SURG_PASS_CHANGED && surg_model_infer(surg_pass_model(p)) != SURG_OK)
    return SURG_PASS_FAILED;
  return result;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static surg_pass_result visit(surg_pass_ctx *p, surg_node *n) {
  const int op = surg_node_op(n);
  if (op == SURG_OP_If) return branches(p, n);
  if (op != SURG_OP_Loop && op != SURG_OP_Scan) return SURG_PASS_UNCHANGED;
  const surg_pass_result one = states(p, n);
  if (one == SURG_PASS_FAILED) return one;
  const surg_pass_result other = invariants(p, n);
  return other < one ? other : one;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  const int ops[] = {SURG_OP_If, SURG_OP_Loop, SURG_OP_Scan};
  return each_has(g, ops, 3) ? each_node(p, g, visit) : SURG_PASS_UNCHANGED;
}

const surg_pass surg__pass_hoist_loop_state = {
    SURG_PASS_HEAD(GRAPH, "hoist-loop-state", "remove values that loops and branches only forward"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
