/* SPDX-License-Identifier: Apache-2.0 */
/* Loop and Scan. Inference first assumes that a state (loop-carried value) keeps its initial shape.
 * If the walk of the body gives another one, the dimensions that differ become symbols of the
 * body's input; in the last round only the element type stays. After each change the body is walked
 * again. */
#include "infer/rules.h"

/* Positions of the states of a loop: the first state among the inputs of the node, and among the
 * inputs and outputs of the body. State k is output k of the node. */
typedef struct plan {
  surg_graph *body;
  size_t states, node, in, out;
  size_t batch; /* leading dimensions hidden from the body: 1 in version 8 of Scan */
} plan;

/* The number of states among `inputs` inputs of a Scan; false: the node is invalid. */
static bool scan_states(const surg__infer *c, size_t inputs, size_t *states) {
  const int64_t scanned = surg_node_int(c->n, "num_scan_inputs", 0);
  if (scanned < 1 || (uint64_t)scanned > inputs) return false;
  *states = inputs - (size_t)scanned;
  assert(*states < inputs);
  return true;
}

static bool plan_of(const surg__infer *c, plan *p) {
  const size_t inputs = surg_node_input_count(c->n);
  *p = (plan){.body = surg__infer_body(c, "body")};
  if (!p->body) return false;
  if (c->op == SURG_OP_Loop) {
    p->node = p->in = 2;
    p->out = 1;
    p->states = inputs > 2 ? inputs - 2 : 0;
    return true;
  }
  p->batch = p->node = c->since < 9;
  return inputs >= p->node && scan_states(c, inputs - p->node, &p->states);
}

/* Entry i of a list attribute; 0 if the list is absent or short. */
static int64_t list_at(const surg__infer *c, const char *attr, size_t i) {
  size_t n = 0;
  const int64_t *v = surg_node_ints(c->n, attr, &n);
  return v && i < n ? v[i] : 0;
}

/* The fact about input i of the node, without its first `skip` dimensions. */
static surg__fact input_fact(surg__infer *c, size_t i, size_t skip) {
  surg__fact f = surg__infer_value(c, surg_node_input(c->n, i), 0);
  if (!skip || f.kind != SURG_TYPE_TENSOR || !f.ranked) return f;
  f.type = NULL;
  if (f.rank < skip) return (surg__fact){0};
  f.rank -= (uint32_t)skip;
  f.dims += skip;
  return f;
}

/* --- outputs --- */

/* States output k, the final value of state k: the initial value, or an output of the body. */
static void put_carried(surg__infer *c, const plan *p, size_t k) {
  assert(k < p->states);
  surg_dim inner[SURG_LIMIT_RANK], dims[SURG_LIMIT_RANK];
  const surg__fact first = surg__infer_value(c, surg_node_input(c->n, p->node + k), 0);
  surg__fact next =
      surg__infer_outside_fact(c, surg_graph_output(p->body, p->out + k), p->body, 1, inner);
  if (next.kind == SURG_TYPE_UNKNOWN && first.kind == SURG_TYPE_TENSOR)
    surg__infer_put_unranked(c, k, first.dtype); /* a state keeps its element type */
  if (first.kind != next.kind) return;
  if (p->batch && next.kind == SURG_TYPE_TENSOR && next.ranked && first.ranked && first.rank &&
      next.rank < SURG_LIMIT_RANK) {
    dims[0] = first.dims[0];
    memcpy(dims + 1, inner, next.rank * sizeof *dims);
    next.dims = dims;
    next.rank++;
    next.type = NULL;
  }
  surg__infer_put_join(c, k, &first, &next);
}

/* Output k stacks an output of the body along a new axis of length `steps`, after a leading
 * dimension `batch` where the plan has one. */
static void put_stacked(surg__infer *c, const plan *p, size_t k, int64_t axis, surg_dim steps,
                        surg_dim batch) {
  assert(k >= p->states);
  surg_dim inner[SURG_LIMIT_RANK], dims[SURG_LIMIT_RANK];
  const surg__fact one =
      surg__infer_outside_fact(c, surg_graph_output(p->body, p->out + k), p->body, 0, inner);
  size_t at, n = 0, to = 0;
  if (one.kind != SURG_TYPE_TENSOR) return;
  if (!one.ranked || one.rank + p->batch >= SURG_LIMIT_RANK) {
    surg__infer_put_unranked(c, k, one.dtype);
    return;
  }
  if (!surg__infer_axis(c, axis, (size_t)one.rank + 1, &at)) return;
  if (p->batch) dims[to++] = batch;
  for (size_t i = 0; i <= one.rank; i++) dims[to++] = i == at ? steps : one.dims[n++];
  surg__infer_put(c, k, one.dtype, dims, to);
}

/* The single element of a value as a boolean; -1: unknown. */
static int truth(surg__infer *c, const surg_value *v) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  const surg__elem *e = v ? surg__infer_value_elems(c, v, buf, &n) : NULL;
  return e && n == 1 && e[0].known ? e[0].value != 0 : -1;
}

/* The number of iterations of a Loop: its first input if the condition is proven to stay true; 0 if
 * the condition is false at the start; otherwise unknown. */
static surg_dim trips(surg__infer *c, const plan *p) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  const surg_value *start = surg_node_input(c->n, 1);
  const int first = start ? truth(c, start) : 1;
  if (first == 0) return surg__dim(0);
  if (first < 0 || truth(c, surg_graph_output(p->body, 0)) != 1) return surg__dim_unknown();
  const surg__elem *e = surg__infer_elems(c, 0, buf, &n);
  if (!e || n != 1) return surg__dim_unknown();
  return surg__expr_dim(surg__expr_max(surg__elem_expr(c, e[0]), surg__expr_num(c->m, 0)));
}

void surg__infer_loop(surg__infer *c) {
  plan p;
  const size_t outputs = surg_node_output_count(c->n);
  if (!plan_of(c, &p)) return;
  if (surg_graph_output_count(p.body) < outputs + 1) {
    surg__infer_bad(c);
    return;
  }
  const surg_dim steps = trips(c, &p), none = surg__dim_unknown();
  for (size_t k = 0; k < outputs; k++) {
    if (k < p.states)
      put_carried(c, &p, k);
    else
      put_stacked(c, &p, k, 0, steps, none);
  }
}

/* The axis along which a Scan slices its scanned input i, of the given rank; false: none. */
static bool scan_axis(const surg__infer *c, const plan *p, size_t i, uint32_t rank, size_t *at) {
  const int64_t given = p->batch ? 1 : list_at(c, "scan_input_axes", i);
  const int64_t axis = given < 0 ? given + rank : given;
  *at = (size_t)axis;
  return axis >= 0 && axis < (int64_t)rank;
}

/* The length of the axis that a Scan iterates over, shared by all scanned inputs, and the batch
 * size; false: inputs disagree. */
static bool scan_length(surg__infer *c, const plan *p, surg_dim *steps, surg_dim *batch) {
  const size_t inputs = surg_node_input_count(c->n);
  *steps = *batch = surg__dim_unknown();
  for (size_t i = p->node; i < inputs; i++) {
    surg__fact x;
    size_t axis;
    if (!surg__infer_ranked(c, i, &x)) continue;
    if (p->batch && (!x.rank || !surg__dim_unify(*batch, x.dims[0], batch))) return false;
    if (i < p->node + p->states) continue;
    if (!scan_axis(c, p, i - p->node - p->states, x.rank, &axis)) return false;
    if (!surg__dim_unify(*steps, x.dims[axis], steps)) return false;
  }
  return true;
}

void surg__infer_scan(surg__infer *c) {
  plan p;
  surg_dim steps, batch;
  const size_t outputs = surg_node_output_count(c->n);
  if (!surg__infer_body(c, "body")) return;
  if (!plan_of(c, &p) || surg_graph_output_count(p.body) < outputs ||
      !scan_length(c, &p, &steps, &batch)) {
    surg__infer_bad(c);
    return;
  }
  for (size_t k = 0; k < outputs; k++) {
    const int64_t axis = p.batch ? 0 : list_at(c, "scan_output_axes", k - p.states);
    if (k < p.states)
      put_carried(c, &p, k);
    else
      put_stacked(c, &p, k, axis, steps, batch);
  }
}

/* --- inputs of bodies --- */

/* States only the element type of a state. */
static void seed_open(surg__infer *c, surg_value *v, const surg__fact *x) {
  if (!v) return;
  if (x->kind == SURG_TYPE_TENSOR) surg__infer_set_unranked(c, v, x->dtype);
  if (x->kind == SURG_TYPE_SEQUENCE && x->type->elem && x->type->elem->kind == SURG_TYPE_TENSOR) {
    const surg__fact any = {.kind = SURG_TYPE_TENSOR, .dtype = x->type->elem->dtype};
    surg__infer_set_wrapped(c, v, SURG_TYPE_SEQUENCE, &any);
  }
}

/* Whether the body declares the rank of a state, and engines rely on it. */
static bool declares(const surg__infer *c, const surg_value *v, const surg__fact *x) {
  const surg_type *t = c->m->trust_bodies ? surg_value_declared_type(v) : NULL;
  return t && t->kind == SURG_TYPE_TENSOR && t->has_rank && x->kind == SURG_TYPE_TENSOR &&
         x->dtype == t->dtype;
}

static void seed_states(surg__infer *c, const plan *p, bool open) {
  const size_t n = surg_graph_input_count(p->body);
  for (size_t k = 0; k < p->states && p->in + k < n; k++) {
    const surg__fact x = input_fact(c, p->node + k, p->batch);
    surg_value *v = surg_graph_input(p->body, p->in + k);
    if (!v) continue;
    if (declares(c, v, &x))
      surg__infer_state_declared(c, v, surg_value_declared_type(v), SURG__SYMBOL_DECLARED);
    else if (!open && x.kind == SURG_TYPE_TENSOR && x.ranked)
      surg__infer_set(c, v, x.dtype, x.dims, x.rank);
    else
      seed_open(c, v, &x);
  }
}

/* The iteration counter: runtimes give it the rank that the body declares, 0 or 1. */
static void seed_counter(surg__infer *c, surg_value *v) {
  const surg_type *t = surg_value_declared_type(v);
  const surg_dim one = surg__dim(1);
  if (surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) && surg_type_rank(t) < 2)
    surg__infer_set(c, v, SURG_INT64, &one, surg_type_rank(t));
  else
    surg__infer_set_unranked(c, v, SURG_INT64);
}

/* The condition has the shape of the node's condition in every iteration, whatever shape the body
 * returns, unless the body declares another rank, on which runtimes do not agree. */
static void seed_condition(surg__infer *c, surg_value *v) {
  const surg__fact x = surg__infer_has(c, 1) ? input_fact(c, 1, 0) : (surg__fact){0};
  const surg_type *t = surg_value_declared_type(v);
  const bool ranked = surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t);
  if (x.kind == SURG_TYPE_TENSOR && x.ranked && (!ranked || surg_type_rank(t) == x.rank))
    surg__infer_set(c, v, SURG_BOOL, x.dims, x.rank);
  else
    surg__infer_set_unranked(c, v, SURG_BOOL);
}

/* The body runs only while the condition is true. */
static void seed_loop(surg__infer *c) {
  const surg__elem yes = surg__elem_int(1);
  surg_graph *body = surg__infer_body(c, "body");
  surg_value *counter = surg_graph_input(body, 0), *on = surg_graph_input(body, 1);
  if (counter) seed_counter(c, counter);
  if (!on) return;
  seed_condition(c, on);
  if (!((surg__istate *)on->scratch)->refuted) surg__infer_set_elems(c, on, &yes, 1);
}

/* States the inputs of a Scan's body that are slices of scanned inputs. */
static void seed_slices(surg__infer *c, const plan *p) {
  const size_t inputs = surg_node_input_count(c->n), n = surg_graph_input_count(p->body);
  for (size_t i = p->node + p->states; i < inputs && i - p->node < n; i++) {
    surg_value *v = surg_graph_input(p->body, i - p->node);
    surg__fact x = input_fact(c, i, 0);
    surg_dim dims[SURG_LIMIT_RANK];
    size_t left = 0, at;
    if (!x.ranked || x.kind != SURG_TYPE_TENSOR) {
      seed_open(c, v, &x);
      continue;
    }
    if (!scan_axis(c, p, i - p->node - p->states, x.rank, &at)) continue;
    for (size_t k = p->batch; k < x.rank; k++)
      if (k != at) dims[left++] = x.dims[k];
    surg__infer_set(c, v, x.dtype, dims, left);
  }
}

static void seed_others(surg__infer *c, const plan *p) {
  if (c->op == SURG_OP_Loop)
    seed_loop(c);
  else
    seed_slices(c, p);
}

static bool is_loop(const surg__infer *c) {
  return c->op == SURG_OP_Loop || c->op == SURG_OP_Scan;
}

void surg__infer_seed_bodies(surg__infer *c) {
  plan p;
  surg_graph *body = surg__infer_body(c, "body");
  if (!body || !c->states) return;
  if (c->op == SURG_OP_SequenceMap) surg__infer_seed_sequence_map(c, body);
  if (!is_loop(c) || !plan_of(c, &p)) return;
  surg_value *on = c->op == SURG_OP_Loop ? surg_graph_input(body, 1) : NULL;
  if (on) ((surg__istate *)on->scratch)->refuted = false;
  seed_others(c, &p);
  seed_states(c, &p, !c->work_left);
}

/* --- further rounds --- */

/* The type of an input of the body that covers both the assumed type and the type that the body
 * returned. */
static const surg_type *widened(surg__infer *c, surg_value *v, const surg__fact *was,
                                const surg__fact *now, bool open) {
  surg_dim dims[SURG_LIMIT_RANK];
  if (was->kind != SURG_TYPE_TENSOR || !was->ranked) return v->inferred;
  if (open || now->kind != SURG_TYPE_TENSOR || !now->ranked || now->rank != was->rank)
    return surg_type_tensor_unranked(c->m, was->dtype);
  bool same = true;
  for (uint32_t i = 0; i < was->rank; i++) {
    const surg_expr *own = surg__expr_anonymous(c->m, v, i);
    dims[i] = was->dims[i];
    if (surg__dim_same(was->dims[i], now->dims[i]) || (own && was->dims[i].expr == own)) continue;
    dims[i] = surg__expr_dim(own);
    same = false;
  }
  return same ? v->inferred : surg_type_tensor(c->m, was->dtype, dims, was->rank);
}

/* Whether the assumption that the condition is true is correct. A node without an initial condition
 * depends on the body alone. */
static bool condition_holds(surg__infer *c, const plan *p) {
  surg_value *on = c->op == SURG_OP_Loop ? surg_graph_input(p->body, 1) : NULL;
  surg__istate *s = on ? on->scratch : NULL;
  if (!s || s->refuted || surg__infer_has(c, 1)) return true;
  if (truth(c, surg_graph_output(p->body, 0)) == 1) return true;
  s->refuted = true;
  return false;
}

/* Stores the possible types of the states after this walk in their seeds; true: the assumption was
 * correct. */
static bool widen_all(surg__infer *c, const plan *p, bool open) {
  const size_t n = surg_graph_input_count(p->body);
  bool same = true;
  for (size_t k = 0; k < p->states && p->in + k < n; k++) {
    surg_value *v = surg_graph_input(p->body, p->in + k);
    if (!v) return false; /* the model has failed */
    const surg__fact was = surg__infer_value(c, v, 0);
    const surg__fact now = surg__infer_value(c, surg_graph_output(p->body, p->out + k), 1);
    surg__istate *s = v->scratch;
    s->seed = widened(c, v, &was, &now, open);
    same &= s->seed == v->inferred;
  }
  return same;
}

bool surg__infer_settled(surg__infer *c, unsigned round) {
  plan p;
  if (!is_loop(c) || !plan_of(c, &p) || round >= SURG__ROUNDS || c->m->trust_bodies) return true;
  const size_t n = surg_graph_input_count(p.body);
  const bool holds = condition_holds(c, &p);
  if (widen_all(c, &p, false) && holds) return true;
  if (round + 1 == SURG__ROUNDS) (void)widen_all(c, &p, true);
  surg__infer_forget(c, p.body);
  if (!c->work_left) return true; /* the budget is spent: nothing is known of the body */
  for (size_t k = 0; k < p.states && p.in + k < n; k++) {
    surg_value *v = surg_graph_input(p.body, p.in + k);
    if (v) v->inferred = ((surg__istate *)v->scratch)->seed;
  }
  seed_others(c, &p);
  return false;
}
