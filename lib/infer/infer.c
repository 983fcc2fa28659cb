/* SPDX-License-Identifier: Apache-2.0 */
/* Entry points of inference: states the axioms, walks the graphs (walk.c), and stores the
 * results. */
#include <onnxsurg/precision.h>

#include "infer/infer.h"
#include "infer/rules.h"

static void state_tensor(surg__infer *c, surg_value *v, const surg_tensor *t) {
  assert(surg__dtype_name(t->dtype)); /* the loader rejects others, or marks them shapeless */
  surg_dim dims[SURG_LIMIT_RANK];
  if (t->rank > SURG_LIMIT_RANK) {
    surg__infer_set_unranked(c, v, t->dtype);
    return;
  }
  for (uint32_t i = 0; i < t->rank; i++) dims[i] = surg__dim(t->dims[i]);
  surg__infer_set(c, v, t->dtype, dims, t->rank);
}

/* Replaces the dimensions that a file declares for an input: names become symbols. */
static void bind_dims(surg__infer *c, const surg_dim *declared, surg_dim *dims, size_t rank,
                      surg__symbol symbol) {
  for (size_t i = 0; i < rank; i++) {
    dims[i] = surg__dim(declared[i].value);
    if (declared[i].param)
      dims[i] = surg__expr_dim(surg__expr_named(c->m, declared[i].param, symbol));
  }
}

/* Binds the symbols of the types nested in a sequence or an optional, innermost first. */
static const surg_type *bind_wrapped(surg__infer *c, const surg_type *t, surg__symbol symbol) {
  surg_type_kind kinds[SURG_LIMIT_DEPTH];
  surg_dim dims[SURG_LIMIT_RANK];
  size_t n = 0;
  const surg_type *inner = t;
  for (; inner && (inner->kind == SURG_TYPE_SEQUENCE || inner->kind == SURG_TYPE_OPTIONAL);
       inner = inner->elem) {
    if (n == SURG_COUNT(kinds)) return t;
    kinds[n++] = inner->kind;
  }
  if (!inner || inner->kind != SURG_TYPE_TENSOR || !inner->has_rank ||
      inner->rank > SURG_LIMIT_RANK || !inner->dtype)
    return t;
  bind_dims(c, inner->dims, dims, inner->rank, symbol);
  const surg_type *bound = surg_type_tensor(c->m, inner->dtype, dims, inner->rank);
  while (bound && n > 0) bound = surg_type_wrap(c->m, kinds[--n], bound);
  assert(!bound || n == 0);
  return bound;
}

void surg__infer_state_declared(surg__infer *c, surg_value *v, const surg_type *t,
                                surg__symbol symbol) {
  assert(v->scratch && t->model == c->m);
  surg_dim dims[SURG_LIMIT_RANK];
  if (t->kind == SURG_TYPE_TENSOR && (t->dtype <= 0 || t->dtype >= SURG_DTYPE_COUNT)) return;
  if (t->kind == SURG_TYPE_TENSOR && t->has_rank && t->rank <= SURG_LIMIT_RANK) {
    bind_dims(c, t->dims, dims, t->rank, symbol);
    surg__infer_set(c, v, t->dtype, dims, t->rank);
  } else if (t->kind == SURG_TYPE_TENSOR && !t->has_rank) {
    surg__infer_set_unranked(c, v, t->dtype);
  } else if (t->kind == SURG_TYPE_TENSOR) {
    v->inferred = t;
  } else {
    const surg_type *old = ((surg__istate *)v->scratch)->old, *bound = bind_wrapped(c, t, symbol);
    v->inferred = old && bound && surg__type_same(old, bound) ? old : bound;
    if (!bound) c->nomem = true;
  }
}

/* States the type of the default of an input, whose elements a caller may replace. */
static void state_default(surg__infer *c, surg_value *v) {
  const surg_tensor *t = v->tensor;
  if (t && !t->shapeless && surg__dtype_name(t->dtype)) state_tensor(c, v, t);
}

static void state_axiom(surg__infer *c, surg_value *v) {
  if (v->producer || v->erased) return;
  const surg_tensor *t = surg_value_constant(v);
  /* A sparse initializer has the type of the dense tensor; its elements are not read. */
  if (!t && !v->input && v->tensor && v->tensor->view == SURG__VIEW_SPARSE && !v->tensor->shapeless)
    t = v->tensor;
  if (t) {
    state_tensor(c, v, t);
  } else if (v->input && v->graph->kind == SURG_GRAPH_MAIN) {
    const surg_type *declared = surg_value_declared_type(v);
    if (declared)
      surg__infer_state_declared(c, v, declared, SURG__SYMBOL_INPUT);
    else
      state_default(c, v);
  }
}

static size_t count_values(const surg_model *m) {
  size_t n = 0;
  for (const surg_graph *g = m->graph; g; g = g->next)
    for (const surg_value *v = g->first_value; v; v = v->next) n++;
  return n;
}

/* Attaches an inference state to every value, clears earlier results and states the axioms. */
static void attach_states(surg__infer *c) {
  surg__istate *s = c->states;
  for (surg_graph *g = c->m->graph; g; g = g->next) {
    for (surg_value *v = g->first_value; v && !c->nomem; v = v->next) {
      s->old = v->inferred;
      v->inferred = NULL;
      v->elems = NULL;
      v->found = NULL;
      v->scratch = s++;
      state_axiom(c, v);
    }
  }
}

/* Detaches the states; facts about elements stay with the values. */
static void detach_states(surg__infer *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next) {
    for (surg_value *v = g->first_value; v; v = v->next) {
      const surg__istate *s = v->scratch;
      if (s && !c->nomem) v->elems = s->elems;
      v->scratch = NULL;
    }
  }
  surg__arena_free(&c->m->elems);
  c->m->elems = c->keep;
}

/* Removes what an inference that was cancelled found. */
static surg_status drop_results(surg__infer *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (surg_value *v = g->first_value; v; v = v->next) {
      v->inferred = NULL;
      v->elems = NULL;
    }
  c->m->inferred_epoch = 0;
  return surg__error(c->m->ctx, SURG_ECANCELLED, surg_model_path(c->m), "cancelled");
}

/* Infers the whole model. */
static surg_status infer_all(surg__infer *c) {
  surg_model *m = c->m;
  const size_t n = count_values(m);
  c->states = surg__calloc(m->ctx, n ? n : 1, sizeof *c->states);
  if (!c->states) return surg__fail(m, surg__alloc_status(m->ctx));
  surg__arena_init(&c->keep, m->ctx);
  surg__arena_init(&c->scratch, m->ctx);
  surg__exprs_forget_filled(m);
  attach_states(c);
  c->work_left = surg__infer_work(m);
  if (!c->nomem) surg__infer_walk(c, m->graph);
  if (!c->nomem && !c->cancelled) surg__infer_settle_functions(c);
  detach_states(c);
  surg__arena_free(&c->scratch);
  surg__free(m->ctx, c->states);
  if (c->nomem || m->status != SURG_OK)
    return m->status != SURG_OK ? m->status : surg__fail(m, surg__alloc_status(m->ctx));
  if (c->cancelled) return drop_results(c);
  surg__infer_filled(m);
  m->inferred_epoch = c->of_calls ? 0 : m->epoch + 1;
  return SURG_OK;
}

surg_status surg__infer_calls(surg_model *m, surg__call_fn on_call, void *user) {
  if (!m) return SURG_EUSAGE;
  if (m->status != SURG_OK) return m->status;
  surg__infer c = {.m = m, .elems_left = SURG__ELEMS_TOTAL, .on_call = on_call, .user = user};
  return infer_all(&c);
}

surg_status surg__infer_functions(surg_model *m) {
  if (!m) return SURG_EUSAGE;
  if (m->status != SURG_OK) return m->status;
  surg__infer c = {.m = m, .elems_left = SURG__ELEMS_TOTAL, .of_calls = true};
  return infer_all(&c);
}

surg_status surg__infer_believed(surg_model *m, surg__beliefs beliefs) {
  if (!m) return SURG_EUSAGE;
  if (m->status != SURG_OK) return m->status;
  surg__infer c = {
      .m = m, .elems_left = SURG__ELEMS_TOTAL, .of_calls = beliefs.of_calls, .beliefs = beliefs};
  return infer_all(&c);
}

surg_status surg_model_infer_calls(surg_model *m) {
  return surg__infer_functions(m);
}

surg_status surg_model_infer(surg_model *m) {
  if (m && m->status == SURG_OK && m->inferred_epoch == m->epoch + 1) return SURG_OK;
  return surg__infer_calls(m, NULL, NULL);
}

static bool result_sizes(const surg_node *n, uint64_t *bytes, uint64_t *in_file) {
  if (!n || !bytes || n->erased) return false;
  surg__infer c = {.m = n->graph->model, .as_file = in_file != NULL};
  const surg__infer_fn rule = surg__infer_prepare(&c, n) && !c.bad ? surg__infer_find(c.op) : NULL;
  if (!rule) return false;
  rule(&c);
  size_t present = 0;
  const size_t outputs = surg_node_output_count(n);
  for (size_t k = 0; k < outputs; k++) present += surg_node_output(n, k) != NULL;
  if (c.bad || c.measured != present) return false;
  *bytes = c.bytes;
  if (in_file) *in_file = c.in_file;
  return true;
}

surg_status surg_model_trust_declared(surg_model *m, bool trust) {
  if (!m) return SURG_EUSAGE;
  if (m->status != SURG_OK) return m->status;
  if (m->trust_declared != trust) m->inferred_epoch = 0;
  m->trust_declared = trust;
  return SURG_OK;
}

bool surg_node_result_bytes(const surg_node *n, uint64_t *bytes) {
  return result_sizes(n, bytes, NULL);
}

bool surg_node_result_sizes(const surg_node *n, uint64_t *bytes, uint64_t *in_file) {
  return in_file && result_sizes(n, bytes, in_file);
}

int surg__infer_stated_dtype(const surg_value *v) {
  surg__infer c = {.m = v->graph->model};
  if (!v->producer || !surg__infer_prepare(&c, v->producer) || c.bad) return 0;
  const int dtype = surg__infer_dtype(&c, v->output);
  return dtype > 0 ? dtype : 0;
}

bool surg__infer_contradicts(const surg_node *n) {
  surg__infer c = {.m = n->graph->model};
  if (!surg__infer_prepare(&c, n)) return false;
  const surg__infer_fn rule = c.bad ? NULL : surg__infer_find(c.op);
  if (rule) rule(&c);
  return c.bad;
}
