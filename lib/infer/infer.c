/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of inference: walks a model once in node order, outer graphs before what stands after
 * their bodies, and runs one rule a node. Linear in the model. */
#include "infer/infer.h"
#include "infer/rules.h"

/* --- one node --- */

/* Whether attributes stand for attributes of a function: their values are not known then. */
static bool has_refs(const surg_node *n) {
  for (uint32_t i = 0; i < n->n_attr; i++)
    if (n->attrs[i]->ref) return true;
  return false;
}

/* The index of the type parameter a formal input or output names, or -1. */
static int type_param(const surg_schema *s, const surg__param *p) {
  if (p->option == SURG__VARIADIC && !p->homogeneous) return -1;
  for (uint32_t i = 0; i < s->n_params; i++)
    if (!strcmp(s->params[i].name, p->type)) return (int)i;
  return -1;
}

static bool tensors_only(const surg__type_param *p) {
  size_t n = 0;
  while (p->types[n]) n++;
  return n == (size_t)__builtin_popcount(p->tensor_mask);
}

/* Narrows the type parameters by the element types of the inputs; false: they contradict. */
static bool bind_types(surg__infer *c) {
  const surg_schema *s = c->schema;
  assert(s->n_params <= SURG_COUNT(c->mask));
  for (uint32_t i = 0; i < s->n_params; i++)
    c->mask[i] = tensors_only(&s->params[i]) ? s->params[i].tensor_mask : 0;
  const size_t inputs = surg_node_input_count(c->n);
  int param = -1;
  for (size_t i = 0; i < inputs && s->n_inputs; i++) {
    if (i < s->n_inputs) param = type_param(s, &s->inputs[i]);
    if (param < 0) continue;
    const surg__fact f = surg__i_in(c, i);
    if (f.kind != SURG_TYPE_TENSOR || f.dtype <= 0 || f.dtype >= 32) continue;
    const uint32_t bit = UINT32_C(1) << f.dtype;
    if (!(s->params[param].tensor_mask & bit)) return false;
    if (c->mask[param] && !(c->mask[param] & bit)) return false;
    c->mask[param] = bit;
  }
  return true;
}

static bool prepare(surg__infer *c, const surg_node *n) {
  c->n = n;
  c->bad = false;
  c->schema = surg_node_schema(n);
  if (!c->schema || (c->schema->flags & SURG__OP_DEPRECATED) || has_refs(n)) return false;
  c->op = c->schema->op;
  c->since = c->schema->since;
  c->bad = !bind_types(c);
  return true;
}

/* Outputs the rule said nothing about still have the element type the schema gives them. */
static void finish_outputs(surg__infer *c) {
  const size_t n = surg_node_output_count(c->n);
  for (size_t k = 0; k < n; k++) {
    surg_value *v = surg_node_output(c->n, k);
    if (!v) continue;
    if (c->bad) {
      surg__istate *s = v->scratch;
      v->inferred = NULL;
      s->elems = NULL;
    } else if (!v->inferred) {
      const int dtype = surg__i_dtype(c, k);
      if (dtype) surg__i_put_unranked(c, k, dtype);
    }
  }
}

static void infer_node(surg__infer *c, surg_node *n) {
  n->types_stale = false;
  if (!prepare(c, n)) return;
  const surg__rule rule = surg__rule_find(c->op);
  if (rule && !c->bad) rule(c);
  finish_outputs(c);
}

/* --- the model --- */

typedef struct frame {
  surg_node *node; /* the next one */
  bool entered;    /* its bodies are inferred */
} frame;
typedef SURG_VEC(frame) frames;

/* Puts the bodies of a node on the stack; false: it has none, or memory ran out. */
static bool push_bodies(surg__infer *c, frames *stack, const surg_node *n) {
  bool any = false;
  for (uint32_t i = 0; i < n->n_attr && !c->nomem; i++) {
    const surg_attr *a = n->attrs[i];
    if (a->kind != SURG_ATTR_GRAPH && a->kind != SURG_ATTR_GRAPHS) continue;
    for (uint32_t k = 0; k < a->count && !c->nomem; k++) {
      surg_graph *g = a->u.graphs[k];
      if (!g || !g->first) continue;
      if (surg__vec_push(c->m->ctx, stack, ((frame){g->first, false})))
        any = true;
      else
        c->nomem = true;
    }
  }
  return any;
}

static void infer_graph(surg__infer *c, surg_graph *g) {
  frames stack = {0};
  if (!surg__vec_push(c->m->ctx, &stack, ((frame){g->first, false}))) c->nomem = true;
  while (stack.count && !c->nomem) {
    frame *f = &stack.items[stack.count - 1];
    surg_node *n = f->node;
    if (!n) {
      stack.count--;
      continue;
    }
    if (!f->entered) {
      f->entered = true;
      if (n->n_attr && prepare(c, n)) surg__i_seed_bodies(c);
      if (push_bodies(c, &stack, n)) continue;
    }
    infer_node(c, n);
    f = &stack.items[stack.count - 1];
    f->node = n->next;
    f->entered = false;
  }
  surg__vec_free(c->m->ctx, &stack);
}

static void state_tensor(surg__infer *c, surg_value *v, const surg_tensor *t) {
  surg_dim dims[SURG_LIMIT_RANK];
  if (t->rank > SURG_LIMIT_RANK) {
    surg__i_set_unranked(c, v, t->dtype);
    return;
  }
  for (uint32_t i = 0; i < t->rank; i++) dims[i] = surg__dim(t->dims[i]);
  surg__i_set(c, v, t->dtype, dims, t->rank);
}

/* Dims of an input as a file declares them: numbers, and symbols by their names. */
static void bind_dims(surg__infer *c, const surg_dim *declared, surg_dim *dims, size_t rank) {
  for (size_t i = 0; i < rank; i++) {
    dims[i] = surg__dim(declared[i].value);
    if (declared[i].param)
      dims[i] = surg__expr_dim(surg__expr_named(c->m, declared[i].param, SURG__SYMBOL_INPUT));
  }
}

/* The types inside of a sequence or an optional with their symbols bound, from inside out. */
static const surg_type *bind_wrapped(surg__infer *c, const surg_type *t) {
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
  bind_dims(c, inner->dims, dims, inner->rank);
  const surg_type *bound = surg_type_tensor(c->m, inner->dtype, dims, inner->rank);
  while (bound && n > 0) bound = surg_type_wrap(c->m, kinds[--n], bound);
  return bound;
}

/* An input's declared type, without what is not a matter of inference (denotations). */
static void state_declared(surg__infer *c, surg_value *v, const surg_type *t) {
  surg_dim dims[SURG_LIMIT_RANK];
  if (t->kind == SURG_TYPE_TENSOR && (t->dtype <= 0 || t->dtype >= SURG_DTYPE_COUNT)) return;
  if (t->kind == SURG_TYPE_TENSOR && t->has_rank && t->rank <= SURG_LIMIT_RANK) {
    bind_dims(c, t->dims, dims, t->rank);
    surg__i_set(c, v, t->dtype, dims, t->rank);
  } else if (t->kind == SURG_TYPE_TENSOR && !t->has_rank) {
    surg__i_set_unranked(c, v, t->dtype);
  } else if (t->kind == SURG_TYPE_TENSOR) {
    v->inferred = t;
  } else {
    const surg_type *old = ((surg__istate *)v->scratch)->old, *bound = bind_wrapped(c, t);
    v->inferred = old && bound && surg_type_equal(old, bound) ? old : bound;
    if (!bound) c->nomem = true;
  }
}

static void state_axiom(surg__infer *c, surg_value *v) {
  if (v->producer || v->erased) return;
  const surg_tensor *t = surg_value_constant(v);
  if (t && t->view == SURG__VIEW_SPARSE) return;
  if (t) {
    state_tensor(c, v, t);
  } else if (v->input && v->graph->kind == SURG_GRAPH_MAIN) {
    const surg_type *declared = surg_value_declared_type(v);
    if (declared) state_declared(c, v, declared);
  }
}

static size_t count_values(const surg_model *m) {
  size_t n = 0;
  for (const surg_graph *g = m->graph; g; g = g->next)
    for (const surg_value *v = g->first_value; v; v = v->next) n++;
  return n;
}

/* Gives every value its state, forgets what was inferred before and states the axioms. */
static void attach_states(surg__infer *c) {
  surg__istate *s = c->states;
  for (surg_graph *g = c->m->graph; g; g = g->next) {
    for (surg_value *v = g->first_value; v && !c->nomem; v = v->next) {
      s->old = v->inferred;
      v->inferred = NULL;
      v->elems = NULL;
      v->scratch = s++;
      state_axiom(c, v);
    }
  }
}

/* Takes the states off again; what is known of elements stays with the values. */
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

surg_status surg_model_infer(surg_model *m) {
  if (!m) return SURG_EUSAGE;
  if (m->status != SURG_OK) return m->status;
  if (m->inferred_epoch == m->epoch + 1) return SURG_OK;
  surg__infer c = {.m = m, .elems_left = SURG__ELEMS_TOTAL};
  const size_t n = count_values(m);
  c.states = surg__calloc(m->ctx, n ? n : 1, sizeof *c.states);
  if (!c.states) return surg__fail(m, surg__alloc_status(m->ctx));
  surg__arena_init(&c.keep, m->ctx);
  attach_states(&c);
  if (!c.nomem) infer_graph(&c, m->graph);
  for (size_t i = 0; i < m->functions.count && !c.nomem; i++)
    if (m->functions.items[i]->body) infer_graph(&c, m->functions.items[i]->body);
  detach_states(&c);
  surg__free(m->ctx, c.states);
  if (c.nomem || m->status != SURG_OK)
    return m->status != SURG_OK ? m->status : surg__fail(m, surg__alloc_status(m->ctx));
  m->inferred_epoch = m->epoch + 1;
  return SURG_OK;
}

static bool result_sizes(const surg_node *n, uint64_t *bytes, uint64_t *in_file) {
  if (!n || !bytes || n->erased) return false;
  surg__infer c = {.m = n->graph->model, .as_file = in_file != NULL};
  const surg__rule rule = prepare(&c, n) && !c.bad ? surg__rule_find(c.op) : NULL;
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

bool surg_node_result_bytes(const surg_node *n, uint64_t *bytes) {
  return result_sizes(n, bytes, NULL);
}

bool surg_node_result_sizes(const surg_node *n, uint64_t *bytes, uint64_t *in_file) {
  return in_file && result_sizes(n, bytes, in_file);
}

bool surg__infer_contradicts(const surg_node *n) {
  surg__infer c = {.m = n->graph->model};
  if (!prepare(&c, n)) return false;
  const surg__rule rule = c.bad ? NULL : surg__rule_find(c.op);
  if (rule) rule(&c);
  return c.bad;
}
