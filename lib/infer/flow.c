/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of If, Loop and Scan. Their bodies are inferred before the rule runs, with what
 * surg__i_seed_bodies says of the inputs of the bodies. */
#include "infer/rules.h"

static surg_graph *graph_of(const surg__infer *c, const char *attr) {
  const surg_attr *a = surg_node_attr(c->n, attr);
  return a ? surg_attr_graph(a, 0) : NULL;
}

/* A fact about an output of a body, as it holds outside: without what hangs on the inside. */
static surg__fact outside(surg__infer *c, surg_value *v, const surg_graph *body, size_t slot,
                          surg_dim dims[SURG_LIMIT_RANK]) {
  surg__fact f = surg__i_value(c, v, slot);
  if (f.kind == SURG_TYPE_TENSOR && f.ranked) {
    bool all = true;
    for (uint32_t i = 0; i < f.rank; i++) {
      dims[i] = surg__dim_outside(f.dims[i], body);
      all &= dims[i].expr == f.dims[i].expr;
    }
    if (!all) f.type = NULL;
    f.dims = dims;
  } else if (f.kind != SURG_TYPE_TENSOR && f.type) {
    f.type = surg__i_outside(c, f.type, body);
    if (!f.type) f.kind = SURG_TYPE_UNKNOWN;
  }
  return f;
}

/* Output k is one of two sequences: of tensors of one element type, at least. */
static void put_sequences(surg__infer *c, size_t k, const surg_type *a, const surg_type *b) {
  if (!a || !b || a->kind != SURG_TYPE_TENSOR || b->kind != a->kind || b->dtype != a->dtype) return;
  const surg__fact any = {.kind = SURG_TYPE_TENSOR, .dtype = a->dtype};
  surg__i_put_wrapped(c, k, SURG_TYPE_SEQUENCE, &any);
}

/* Output k is what a body gives, and has its elements. */
static void put_decided(surg__infer *c, size_t k, surg_value *v, const surg_graph *body) {
  surg_dim dims[SURG_LIMIT_RANK];
  const surg__fact f = outside(c, v, body, 0, dims);
  if (f.kind == SURG_TYPE_TENSOR)
    surg__i_put_like(c, k, f.dtype, &f);
  else if (f.kind != SURG_TYPE_UNKNOWN)
    surg__i_put_type(c, k, f.type);
  surg__i_put_elems_outside(c, k, v, NULL, body);
}

/* Output k is one of two values, one cannot say which. */
static void put_join(surg__infer *c, size_t k, const surg__fact *a, const surg__fact *b) {
  surg_dim dims[SURG_LIMIT_RANK];
  if (a->kind != b->kind || a->kind == SURG_TYPE_UNKNOWN) return;
  if (a->kind != SURG_TYPE_TENSOR) {
    if (surg_type_equal(a->type, b->type))
      surg__i_put_type(c, k, a->type);
    else if (a->kind == SURG_TYPE_SEQUENCE)
      put_sequences(c, k, a->type->elem, b->type->elem);
    return;
  }
  if (a->dtype != b->dtype) return;
  if (!a->ranked || !b->ranked || a->rank != b->rank) {
    surg__i_put_unranked(c, k, a->dtype);
    return;
  }
  for (uint32_t i = 0; i < a->rank; i++) dims[i] = surg__dim_join(a->dims[i], b->dims[i]);
  surg__i_put(c, k, a->dtype, dims, a->rank);
}

void surg__i_if(surg__infer *c) {
  const surg_graph *a = graph_of(c, "then_branch"), *b = graph_of(c, "else_branch");
  const size_t n = surg_node_output_count(c->n);
  surg_dim da[SURG_LIMIT_RANK], db[SURG_LIMIT_RANK];
  if (!a || !b) return;
  if (surg_graph_output_count(a) < n || surg_graph_output_count(b) < n) {
    surg__i_bad(c);
    return;
  }
  int64_t decided;
  if (surg__i_int(c, 0, &decided)) {
    const surg_graph *taken = decided ? a : b;
    for (size_t k = 0; k < n; k++) put_decided(c, k, surg_graph_output(taken, k), taken);
    return;
  }
  for (size_t k = 0; k < n; k++) {
    const surg__fact x = outside(c, surg_graph_output(a, k), a, 0, da);
    const surg__fact y = outside(c, surg_graph_output(b, k), b, 1, db);
    put_join(c, k, &x, &y);
    surg__i_put_elems_outside(c, k, surg_graph_output(a, k), surg_graph_output(b, k), a);
  }
}

/* State k of a loop: what goes in at first or what a body gives. */
static void put_carried(surg__infer *c, size_t k, size_t input, const surg_graph *body, size_t at) {
  surg_dim dims[SURG_LIMIT_RANK];
  const surg__fact first = surg__i_value(c, surg_node_input(c->n, input), 0);
  const surg__fact next = outside(c, surg_graph_output(body, at), body, 1, dims);
  if (first.kind == next.kind) put_join(c, k, &first, &next);
}

/* Output k stacks what the body gives along a new axis of length `steps`. */
static void put_stacked(surg__infer *c, size_t k, const surg_graph *body, size_t from,
                        int64_t axis, surg_dim steps) {
  surg_dim inner[SURG_LIMIT_RANK];
  const surg__fact one = outside(c, surg_graph_output(body, from), body, 0, inner);
  surg_dim dims[SURG_LIMIT_RANK];
  size_t at, n = 0;
  if (one.kind != SURG_TYPE_TENSOR) return;
  if (!one.ranked || one.rank >= SURG_LIMIT_RANK) {
    surg__i_put_unranked(c, k, one.dtype);
    return;
  }
  if (!surg__i_axis(c, axis, (size_t)one.rank + 1, &at)) return;
  for (size_t i = 0; i <= one.rank; i++) dims[i] = i == at ? steps : one.dims[n++];
  surg__i_put(c, k, one.dtype, dims, (size_t)one.rank + 1);
}

void surg__i_loop(surg__infer *c) {
  const surg_graph *body = graph_of(c, "body");
  const size_t inputs = surg_node_input_count(c->n), outputs = surg_node_output_count(c->n);
  if (!body) return;
  const size_t carried = inputs > 2 ? inputs - 2 : 0;
  if (surg_graph_output_count(body) < outputs + 1) {
    surg__i_bad(c);
    return;
  }
  for (size_t k = 0; k < outputs; k++) {
    if (k < carried)
      put_carried(c, k, k + 2, body, k + 1);
    else
      put_stacked(c, k, body, k + 1, 0, surg__dim_unknown());
  }
}

/* Entry i of a list attribute, or 0. */
static int64_t list_at(const surg__infer *c, const char *attr, size_t i) {
  size_t n = 0;
  const int64_t *v = surg_node_ints(c->n, attr, &n);
  return v && i < n ? v[i] : 0;
}

/* How many of the inputs of a Scan are states; false: the node is wrong. */
static bool scan_states(const surg__infer *c, size_t *states) {
  const size_t inputs = surg_node_input_count(c->n);
  const int64_t scanned = surg_node_int(c->n, "num_scan_inputs", 0);
  if (scanned < 1 || (uint64_t)scanned > inputs) return false;
  *states = inputs - (size_t)scanned;
  return true;
}

void surg__i_scan(surg__infer *c) {
  const surg_graph *body = graph_of(c, "body");
  const size_t inputs = surg_node_input_count(c->n), outputs = surg_node_output_count(c->n);
  size_t states;
  surg_dim steps = surg__dim_unknown();
  if (!body || c->since < 9) return;
  if (!scan_states(c, &states) || surg_graph_output_count(body) < outputs) {
    surg__i_bad(c);
    return;
  }
  for (size_t i = states; i < inputs; i++) {
    surg__fact x;
    size_t axis;
    if (!surg__i_ranked(c, i, &x)) continue;
    if (!surg__i_axis(c, list_at(c, "scan_input_axes", i - states), x.rank, &axis)) return;
    if (!surg__dim_unify(steps, x.dims[axis], &steps)) {
      surg__i_bad(c);
      return;
    }
  }
  for (size_t k = 0; k < outputs; k++) {
    if (k < states)
      put_carried(c, k, k, body, k);
    else
      put_stacked(c, k, body, k, list_at(c, "scan_output_axes", k - states), steps);
  }
}

/* --- inputs of bodies --- */

/* A state keeps its element type; its shape may change from step to step, and that of the elements
 * of a sequence. */
static void seed_state(surg__infer *c, surg_value *v, size_t input) {
  const surg__fact x = surg__i_value(c, surg_node_input(c->n, input), 0);
  if (v && x.kind == SURG_TYPE_TENSOR) surg__i_set_unranked(c, v, x.dtype);
  if (v && x.kind == SURG_TYPE_SEQUENCE && x.type->elem && x.type->elem->kind == SURG_TYPE_TENSOR) {
    const surg__fact any = {.kind = SURG_TYPE_TENSOR, .dtype = x.type->elem->dtype};
    surg__i_set_wrapped(c, v, SURG_TYPE_SEQUENCE, &any);
  }
}

static void seed_loop(surg__infer *c, const surg_graph *body) {
  const size_t inputs = surg_node_input_count(c->n), n = surg_graph_input_count(body);
  /* Runtimes give the counter and the condition the rank the body declares: 0 or 1. */
  if (n > 0) surg__i_set_unranked(c, surg_graph_input(body, 0), SURG_INT64);
  if (n > 1) surg__i_set_unranked(c, surg_graph_input(body, 1), SURG_BOOL);
  for (size_t i = 2; i < inputs && i < n; i++) seed_state(c, surg_graph_input(body, i), i);
}

static void seed_scan(surg__infer *c, const surg_graph *body) {
  const size_t inputs = surg_node_input_count(c->n), n = surg_graph_input_count(body);
  size_t states;
  if (!scan_states(c, &states)) return;
  for (size_t i = 0; i < inputs && i < n; i++) {
    surg_value *v = surg_graph_input(body, i);
    if (i < states) {
      seed_state(c, v, i);
      continue;
    }
    surg__fact x;
    surg_dim dims[SURG_LIMIT_RANK];
    const int64_t axis = list_at(c, "scan_input_axes", i - states);
    size_t left = 0;
    if (!surg__i_ranked(c, i, &x)) {
      seed_state(c, v, i);
      continue;
    }
    const int64_t at = axis < 0 ? axis + x.rank : axis;
    if (at < 0 || at >= (int64_t)x.rank) continue;
    for (int64_t k = 0; k < (int64_t)x.rank; k++)
      if (k != at) dims[left++] = x.dims[k];
    surg__i_set(c, v, x.dtype, dims, left);
  }
}

void surg__i_seed_bodies(surg__infer *c) {
  const surg_graph *body = graph_of(c, "body");
  if (!body || !c->states) return;
  if (c->op == SURG_OP_Loop) seed_loop(c, body);
  if (c->op == SURG_OP_SequenceMap) surg__i_seed_sequence_map(c, body);
  if (c->op == SURG_OP_Scan && c->since >= 9) seed_scan(c, body);
}
