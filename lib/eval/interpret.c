/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model node by node. A value's array stays until the end of the run; a Loop body's values
 * are overwritten on each turn, which is right because nothing outside reads them. Recursion goes
 * over the nesting of graphs and calls alone, and is bounded. */
#include "eval/interpret.h"

#include "base/context.h"
#include "base/dtype.h"
#include "base/hash.h"

typedef struct slot {
  UT_hash_handle hh;
  const surg_value *value;
  surg__array array;
} slot;

/* Values that are live in one graph activation and those it can see. A function call starts a
 * fresh one, since a recursive shape of calls may run one body twice at a time. */
typedef struct frame {
  slot *values;
} frame;

typedef struct machine {
  surg_context *ctx;
  surg_model *model;
  surg__arena *arena;
  uint64_t max_bytes, max_work;
  const char *why;
  const surg_node *at;
  unsigned depth;
} machine;

static surg_status run_graph(machine *m, frame *f, surg_graph *g);

static surg_status stop(machine *m, surg_status s, const char *why) {
  if (!m->why) m->why = why;
  return s;
}

static const surg__array *get(machine *m, frame *f, const surg_value *v) {
  SURG_HASH_LOCALS(m->ctx);
  slot *s;
  HASH_FIND(hh, f->values, &v, sizeof v, s);
  return s ? &s->array : NULL;
}

static surg_status set(machine *m, frame *f, const surg_value *v, const surg__array *a) {
  SURG_HASH_LOCALS(m->ctx);
  slot *s;
  HASH_FIND(hh, f->values, &v, sizeof v, s);
  if (!s) {
    s = surg__arena_zalloc(m->arena, sizeof *s);
    if (!s) return surg__alloc_status(m->ctx);
    s->value = v;
    HASH_ADD(hh, f->values, value, sizeof v, s);
    if (surg__hash_failed) return surg__alloc_status(m->ctx);
  }
  s->array = *a;
  return SURG_OK;
}

static void forget(machine *m, frame *f) {
  SURG_HASH_LOCALS(m->ctx);
  HASH_CLEAR(hh, f->values);
}

/* The array of an input of a node; absent ones have dtype UNDEFINED. */
static surg_status input_of(machine *m, frame *f, const surg_node *n, size_t i, surg__array *out) {
  const surg_value *v = surg_node_input(n, i);
  *out = (surg__array){.dtype = SURG_UNDEFINED};
  if (!v) return SURG_OK;
  const surg__array *a = get(m, f, v);
  if (!a) return stop(m, SURG_EINVALID, "a value is read before it is made");
  *out = *a;
  return SURG_OK;
}

static surg_status set_output(machine *m, frame *f, const surg_node *n, size_t i,
                              const surg__array *a) {
  const surg_value *v = surg_node_output(n, i);
  return v ? set(m, f, v, a) : SURG_OK;
}

static surg_status truth(machine *m, const surg__array *a, bool *out) {
  if (a->dtype != SURG_BOOL || a->count != 1) return stop(m, SURG_EINVALID, "a condition is no single bool");
  *out = *(const uint8_t *)a->data != 0;
  return SURG_OK;
}

static surg_status run_if(machine *m, frame *f, surg_node *n) {
  surg__array cond;
  bool taken = false;
  surg_status s = input_of(m, f, n, 0, &cond);
  if (s == SURG_OK) s = truth(m, &cond, &taken);
  if (s != SURG_OK) return s;
  surg_graph *g = surg_attr_graph(surg_node_attr(n, taken ? "then_branch" : "else_branch"), 0);
  if (!g) return stop(m, SURG_EINVALID, "a branch is missing");
  s = run_graph(m, f, g);
  for (size_t i = 0; s == SURG_OK && i < surg_node_output_count(n); i++) {
    const surg__array *a = get(m, f, surg_graph_output(g, i));
    s = a ? set_output(m, f, n, i, a) : stop(m, SURG_EINVALID, "a branch lacks an output");
  }
  return s;
}

/* Scan output k of all turns, stacked along a new first axis. */
static surg_status stack(machine *m, const surg__array *turns, size_t count, surg__array *out) {
  if (!count) return stop(m, SURG_EUNSUPPORTED, "a Loop of no turns has scan outputs");
  const surg__array *first = &turns[0];
  size_t unit = surg__dtype_unpacked(first->dtype), each, total;
  if (!surg__mul(first->count, unit, &each) || !surg__mul(each, count, &total) || total > m->max_bytes)
    return stop(m, SURG_ELIMIT, "scan outputs are over the limit");
  int64_t *dims = surg__arena_array(m->arena, (size_t)first->rank + 1, sizeof *dims);
  uint8_t *data = surg__arena_alloc(m->arena, total);
  if (!dims || !data) return surg__alloc_status(m->ctx);
  dims[0] = (int64_t)count;
  for (uint32_t i = 0; i < first->rank; i++) dims[i + 1] = first->dims[i];
  for (size_t i = 0; i < count; i++) {
    bool same = turns[i].dtype == first->dtype && turns[i].rank == first->rank;
    for (uint32_t k = 0; same && k < first->rank; k++) same = turns[i].dims[k] == first->dims[k];
    if (!same) return stop(m, SURG_EINVALID, "scan outputs differ in shape");
    memcpy(data + i * each, turns[i].data, each);
  }
  *out = (surg__array){first->dtype, first->rank + 1, dims, first->count * count, data};
  return SURG_OK;
}

typedef struct loop {
  surg_graph *body;
  uint64_t trips; /* UINT64_MAX: no bound given */
  bool going;
  size_t carried, scans;
  surg__array *state;           /* carried values */
  SURG_VEC(surg__array) turns;  /* scan outputs, turn after turn */
} loop;

static surg_status start_loop(machine *m, frame *f, surg_node *n, loop *l) {
  surg__array trips, cond;
  l->body = surg_attr_graph(surg_node_attr(n, "body"), 0);
  size_t inputs = surg_node_input_count(n);
  if (!l->body || inputs < 2) return stop(m, SURG_EINVALID, "a Loop lacks its body");
  l->carried = inputs - 2;
  if (surg_graph_input_count(l->body) != l->carried + 2 ||
      surg_graph_output_count(l->body) < l->carried + 1)
    return stop(m, SURG_EINVALID, "a Loop and its body do not match");
  l->scans = surg_graph_output_count(l->body) - 1 - l->carried;
  surg_status s = input_of(m, f, n, 0, &trips);
  if (s == SURG_OK) s = input_of(m, f, n, 1, &cond);
  l->trips = UINT64_MAX;
  l->going = true;
  if (s == SURG_OK && trips.dtype == SURG_INT64 && trips.count == 1) {
    int64_t t = *(const int64_t *)trips.data;
    l->trips = t < 0 ? 0 : (uint64_t)t;
  }
  if (s == SURG_OK && cond.dtype != SURG_UNDEFINED) s = truth(m, &cond, &l->going);
  if (s != SURG_OK) return s;
  l->state = surg__arena_array(m->arena, l->carried + 1, sizeof *l->state);
  if (!l->state) return surg__alloc_status(m->ctx);
  for (size_t i = 0; s == SURG_OK && i < l->carried; i++) s = input_of(m, f, n, i + 2, &l->state[i]);
  return s;
}

static surg_status turn(machine *m, frame *f, loop *l, uint64_t index) {
  int64_t *number = surg__arena_alloc(m->arena, sizeof *number);
  uint8_t *yes = surg__arena_alloc(m->arena, 1);
  if (!number || !yes) return surg__alloc_status(m->ctx);
  *number = (int64_t)index;
  *yes = 1;
  surg__array i = {SURG_INT64, 0, NULL, 1, number}, c = {SURG_BOOL, 0, NULL, 1, yes};
  surg_status s = set(m, f, surg_graph_input(l->body, 0), &i);
  if (s == SURG_OK) s = set(m, f, surg_graph_input(l->body, 1), &c);
  for (size_t k = 0; s == SURG_OK && k < l->carried; k++)
    s = set(m, f, surg_graph_input(l->body, k + 2), &l->state[k]);
  if (s == SURG_OK) s = run_graph(m, f, l->body);
  for (size_t k = 0; s == SURG_OK && k < 1 + l->carried + l->scans; k++) {
    const surg__array *a = get(m, f, surg_graph_output(l->body, k));
    if (!a) return stop(m, SURG_EINVALID, "a Loop body lacks an output");
    if (k == 0)
      s = truth(m, a, &l->going);
    else if (k <= l->carried)
      l->state[k - 1] = *a;
    else if (!surg__vec_push(m->ctx, &l->turns, *a))
      s = surg__alloc_status(m->ctx);
  }
  return s;
}

static surg_status finish_loop(machine *m, frame *f, surg_node *n, loop *l, uint64_t turns) {
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < l->carried; i++) s = set_output(m, f, n, i, &l->state[i]);
  for (size_t k = 0; s == SURG_OK && k < l->scans; k++) {
    if (!surg_node_output(n, l->carried + k)) continue;
    surg__array *column = surg__arena_array(m->arena, turns + 1, sizeof *column), all;
    if (!column) return surg__alloc_status(m->ctx);
    for (uint64_t i = 0; i < turns; i++) column[i] = l->turns.items[i * l->scans + k];
    s = stack(m, column, turns, &all);
    if (s == SURG_OK) s = set_output(m, f, n, l->carried + k, &all);
  }
  return s;
}

static surg_status run_loop(machine *m, frame *f, surg_node *n) {
  loop l = {0};
  uint64_t turns = 0;
  surg_status s = start_loop(m, f, n, &l);
  for (; s == SURG_OK && l.going && turns < l.trips; turns++) {
    if (m->max_work == 0) s = stop(m, SURG_ELIMIT, "a Loop takes too many turns");
    if (s == SURG_OK) m->max_work--;
    if (s == SURG_OK) s = turn(m, f, &l, turns);
  }
  if (s == SURG_OK) s = finish_loop(m, f, n, &l, turns);
  surg__vec_free(m->ctx, &l.turns);
  return s;
}

static surg_status run_call(machine *m, frame *f, surg_node *n) {
  surg_graph *body = surg_function_graph(surg_node_function(n));
  frame own = {0};
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < surg_graph_input_count(body); i++) {
    surg__array a;
    s = input_of(m, f, n, i, &a);
    if (s == SURG_OK) s = set(m, &own, surg_graph_input(body, i), &a);
  }
  if (s == SURG_OK) s = run_graph(m, &own, body);
  for (size_t i = 0; s == SURG_OK && i < surg_node_output_count(n); i++) {
    const surg__array *a = get(m, &own, surg_graph_output(body, i));
    s = a ? set_output(m, f, n, i, a) : stop(m, SURG_EINVALID, "a function lacks an output");
  }
  forget(m, &own);
  return s;
}

static surg_status run_plain(machine *m, frame *f, surg_node *n) {
  size_t n_in = surg_node_input_count(n), n_out = surg_node_output_count(n);
  surg__array *in = surg__arena_array(m->arena, n_in + 1, sizeof *in);
  surg__array *out = surg__arena_array(m->arena, n_out + 1, sizeof *out);
  if (!in || !out) return surg__alloc_status(m->ctx);
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < n_in; i++) s = input_of(m, f, n, i, &in[i]);
  uint64_t work = 0;
  if (s == SURG_OK)
    s = surg__node_compute(n, m->arena, in, out, m->max_bytes, m->max_work, &work, &m->why);
  m->max_work -= work < m->max_work ? work : m->max_work;
  for (size_t i = 0; s == SURG_OK && i < n_out; i++) s = set_output(m, f, n, i, &out[i]);
  return s;
}

static surg_status run_node(machine *m, frame *f, surg_node *n) {
  switch (surg_node_op(n)) {
    case SURG_OP_If: return run_if(m, f, n);
    case SURG_OP_Loop: return run_loop(m, f, n);
    default: break;
  }
  return surg_node_class(n) == SURG_OP_CLASS_FUNCTION ? run_call(m, f, n) : run_plain(m, f, n);
}

static surg_status run_graph(machine *m, frame *f, surg_graph *g) {
  if (m->depth >= SURG_LIMIT_CALL_DEPTH) return stop(m, SURG_ELIMIT, "graphs are nested too deep");
  m->depth++;
  surg_status s = SURG_OK;
  for (surg_value *v = NULL; s == SURG_OK && (v = surg_graph_next_initializer(g, v));) {
    if (get(m, f, v)) continue; /* given by the caller, or read on an earlier turn */
    surg__array a;
    const surg_tensor *t = surg_value_initializer(v);
    s = t ? surg__array_from_tensor(m->ctx, m->arena, t, &a)
          : stop(m, SURG_EUNSUPPORTED, "an initializer is sparse");
    if (s == SURG_OK) s = set(m, f, v, &a);
  }
  for (surg_node *n = surg_graph_first_node(g); s == SURG_OK && n; n = surg_node_next(n)) {
    s = run_node(m, f, n);
    if (s != SURG_OK && !m->at) m->at = n;
  }
  m->depth--;
  return s;
}

surg_status surg__interpret(surg_model *model, surg__arena *arena, const surg__array *inputs,
                            surg__array *outputs, uint64_t max_bytes, uint64_t max_work,
                            const char **why, const surg_node **at) {
  machine m = {.ctx = surg_model_context(model), .model = model, .arena = arena,
               .max_bytes = max_bytes, .max_work = max_work};
  frame f = {0};
  surg_graph *g = surg_model_graph(model);
  surg_status s = surg_model_status(model);
  for (size_t i = 0; s == SURG_OK && i < surg_graph_input_count(g); i++) {
    surg_value *v = surg_graph_input(g, i);
    if (inputs[i].dtype != SURG_UNDEFINED)
      s = set(&m, &f, v, &inputs[i]);
    else if (!surg_value_is_initializer(v))
      s = stop(&m, SURG_EINVALID, "a graph input has no value");
  }
  if (s == SURG_OK) s = run_graph(&m, &f, g);
  for (size_t i = 0; s == SURG_OK && i < surg_graph_output_count(g); i++) {
    const surg__array *a = get(&m, &f, surg_graph_output(g, i));
    if (a)
      outputs[i] = *a;
    else
      s = stop(&m, SURG_EINVALID, "an output has no value");
  }
  forget(&m, &f);
  if (why) *why = m.why;
  if (at) *at = m.at;
  return s;
}
