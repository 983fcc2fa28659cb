/* SPDX-License-Identifier: Apache-2.0 */
/* Marks nodes that must not be folded, and the nodes that they are computed from.
 *
 * A graph that may never run (a branch of If, the body of a loop, a function) may contain a node
 * that fails when it runs: it divides by zero, or squeezes an axis of three elements. Engines fold
 * nodes of constants when they load a model, and check shapes, so a valid model is rejected as soon
 * as the inputs of such a node become constants or values of known shapes. The search evaluates,
 * beside the model, every small node whose inputs are constants or would become constants. A node
 * of such a graph that fails, or whose inputs contradict its operator, is marked as sheltered with
 * all nodes that it is computed from. */
#include "base/counted.h"
#include "infer/infer.h"
#include "ir/ir.h" /* for facts stored in values, which the search replaces */

#define MOST_ELEMENTS 4096u           /* limit on a computed tensor */
#define MOST_WORK (UINT64_C(1) << 16) /* limit for one node */
#define ALL_WORK (UINT64_C(1) << 26)  /* limit for one search; nodes beyond it are not evaluated */

/* The fact about a value before the search replaced it by a tensor. */
typedef struct saved {
  surg_value *v;
  const surg_type *inferred;
  const struct surg__elems *elems;
} saved;

typedef struct trial {
  surg_model *m;
  surg_context *ctx;
  surg__arena arena;
  SURG_VEC(saved) saved; /* values whose `scratch` points to their tensor */
  SURG_VEC(surg_node *) queue;
  uint64_t work;
  bool mark;   /* mark nodes; else stop at the first node that fails */
  bool found;  /* some node fails */
  bool failed; /* out of memory */
} trial;

/* --- values with tensors --- */

static surg_tensor *tensor_of(const surg_value *v) {
  return v->scratch ? v->scratch : surg_value_settled(v);
}

static const surg__elems *elements_of(trial *t, const surg_tensor *c) {
  const int dtype = surg_tensor_dtype(c);
  int64_t ints[SURG__ELEMS];
  if (dtype != SURG_INT64 && dtype != SURG_INT32 && dtype != SURG_BOOL) return NULL;
  if (surg_tensor_count(c) > SURG__ELEMS) return NULL;
  const int64_t n = surg__read_ints(c, ints, SURG__ELEMS);
  surg__elems *e = n < 0 ? NULL : surg__arena_alloc(&t->arena, surg__elems_size((uint32_t)n));
  if (!e) return NULL;
  e->n = (uint32_t)n;
  e->real = false;
  for (int64_t i = 0; i < n; i++) e->e[i] = (surg_elem){.known = true, .value = ints[i]};
  return e;
}

static void put(trial *t, surg_value *v, surg_tensor *c) {
  surg_dim dims[SURG_LIMIT_RANK];
  const size_t rank = surg_tensor_rank(c);
  if (!v || t->failed || rank > SURG_LIMIT_RANK) return;
  for (size_t i = 0; i < rank; i++) dims[i] = surg__dim(surg_tensor_dims(c)[i]);
  const surg_type *type = surg_type_tensor(t->m, surg_tensor_dtype(c), dims, rank);
  const saved old = {v, v->inferred, v->elems};
  t->failed = !type || (!v->scratch && !surg__vec_push(t->ctx, &t->saved, old));
  if (t->failed) return;
  v->scratch = c;
  v->inferred = type;
  v->elems = elements_of(t, c);
}

static void finish(trial *t) {
  /* From the last: a value that was saved twice gets back what it had first. */
  for (size_t i = t->saved.count; i-- > 0;) {
    const saved *s = &t->saved.items[i];
    s->v->scratch = NULL;
    s->v->inferred = s->inferred;
    s->v->elems = s->elems;
  }
  surg__vec_free(t->ctx, &t->saved);
  surg__vec_free(t->ctx, &t->queue);
  surg__arena_free(&t->arena);
}

/* A tensor of the elements that inference tracks, for a small value; NULL: some are unknown. */
static surg_tensor *known_elements(trial *t, const surg_value *v) {
  const surg_type *type = v ? surg_value_type(v) : NULL;
  surg_elem e[SURG__ELEMS];
  uint8_t raw[SURG__ELEMS * 8];
  int64_t dims[SURG_LIMIT_RANK];
  uint64_t count;
  if (!type || surg_type_get_kind(type) != SURG_TYPE_TENSOR || !surg_type_static(type, &count) ||
      count > SURG__ELEMS || surg_type_rank(type) > SURG_LIMIT_RANK ||
      surg__known_elements(v, e, SURG__ELEMS) != (int64_t)count)
    return NULL;
  const int dtype = surg_type_dtype(type);
  const size_t size = dtype == SURG_INT64 ? 8 : dtype == SURG_INT32 ? 4 : 1;
  assert(count * size <= sizeof raw);
  if (size == 1 && dtype != SURG_BOOL) return NULL;
  for (size_t i = 0; i < count; i++) {
    if (!e[i].known) return NULL;
    for (size_t k = 0; k < size; k++)
      raw[i * size + k] = (uint8_t)((uint64_t)e[i].value >> (8 * k));
  }
  for (size_t i = 0; i < surg_type_rank(type); i++) dims[i] = surg_type_dim(type, i)->value;
  return surg_tensor_new(t->m, dtype, dims, surg_type_rank(type), raw, count * size);
}

/* --- one node --- */

/* Whether all inputs are small tensors, and there is at least one; in[i] is the tensor of an input
 * that is not constant in the model. */
static bool all_tensors(const surg_node *n, surg_tensor **in) {
  bool any = false;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_tensor *c = v ? tensor_of(v) : NULL;
    if (!v) continue;
    if (!c || surg_tensor_is_sparse(c) || surg_tensor_count(c) > MOST_ELEMENTS) return false;
    in[i] = v->scratch;
    any = true;
  }
  return any;
}

/* Evaluates a node; false: it fails. Outputs stay unknown beyond the work limit. */
static bool compute(trial *t, surg_node *n, surg_tensor *const *in) {
  const size_t count = surg_node_output_count(n);
  const char *why;
  surg_tensor **out = surg__arena_array(&t->arena, count + 1, sizeof *out);
  if (!out) return !(t->failed = true);
  if (t->work < MOST_WORK) return true;
  t->work -= MOST_WORK;
  const surg_status s =
      surg_node_evaluate_on(n, in, MOST_ELEMENTS * 8, MOST_WORK, out, count, &why);
  if (s == SURG_ENOMEM || t->m->status != SURG_OK) return !(t->failed = true);
  if (s == SURG_ELIMIT || s == SURG_EIO) return true;
  for (size_t i = 0; i < count && s == SURG_OK; i++) {
    surg_value *v = surg_node_output(n, i);
    if (v && out[i]) put(t, v, out[i]);
  }
  return s == SURG_OK;
}

static void found(trial *t, surg_node *n) {
  t->found = true;
  if (!t->mark || n->sheltered) return;
  n->sheltered = true;
  if (!surg__vec_push(t->ctx, &t->queue, n)) t->failed = true;
}

/* Whether attributes refer to attributes of the function: calls are not followed. */
static bool has_refs(const surg_node *n) {
  for (uint32_t i = 0; i < n->n_attr; i++)
    if (n->attrs[i]->ref) return true;
  return false;
}

/* Whether a node divides integers by a constant 0: engines reject that whatever the dividend is. */
static bool divides_by_zero(const surg_node *n) {
  const int op = surg_node_op(n);
  const surg_value *v = surg_node_input_count(n) > 1 ? surg_node_input(n, 1) : NULL;
  const surg_tensor *c = v && (op == SURG_OP_Div || op == SURG_OP_Mod) ? tensor_of(v) : NULL;
  int64_t ints[SURG__ELEMS];
  const int64_t count = c && surg__dtype_is_int(surg_tensor_dtype(c)) && !surg_tensor_is_sparse(c)
                            ? surg__read_ints(c, ints, SURG__ELEMS)
                            : 0;
  for (int64_t i = 0; i < count; i++)
    if (ints[i] == 0) return true;
  return false;
}

/* Gives the result of a Reshape the requested shape even if the element counts differ: engines do
 * so, and check the consumers by that shape. */
static void assume_shape(trial *t, const surg_node *n) {
  surg_value *v = surg_node_output_count(n) ? surg_node_output(n, 0) : NULL;
  const surg_value *shape = surg_node_input_count(n) > 1 ? surg_node_input(n, 1) : NULL;
  const surg_tensor *c = shape ? tensor_of(shape) : NULL;
  const int dtype = surg_node_op(n) == SURG_OP_Reshape
                        ? surg_type_dtype(surg_value_type(surg_node_input(n, 0)))
                        : SURG_UNDEFINED;
  int64_t ints[SURG__ELEMS];
  surg_dim dims[SURG__ELEMS];
  const int64_t count = c && v && dtype && !v->scratch && surg_tensor_rank(c) == 1
                            ? surg__read_ints(c, ints, SURG__ELEMS)
                            : -1;
  if (count < 0 || count > (int64_t)SURG__ELEMS || count > SURG_LIMIT_RANK || t->failed) return;
  for (int64_t i = 0; i < count; i++) {
    if (ints[i] <= 0) return;
    dims[i] = surg__dim(ints[i]);
  }
  const surg_type *type = surg_type_tensor(t->m, dtype, dims, (size_t)count);
  const saved old = {v, v->inferred, v->elems};
  t->failed = !type || !surg__vec_push(t->ctx, &t->saved, old);
  if (!t->failed) v->inferred = type;
}

/* `optional`: the graph of the node may never run. */
static void visit(trial *t, surg_node *n, bool optional) {
  const size_t count = surg_node_input_count(n);
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN || surg_node_op(n) == SURG_OP_Constant ||
      surg_node_nondeterministic(n) || has_refs(n))
    return;
  if (optional && (surg__infer_contradicts(n) || divides_by_zero(n))) {
    found(t, n);
    assume_shape(t, n);
    return;
  }
  if (surg_node_subgraph(n, 0)) return;
  surg_tensor **in = surg__arena_array(&t->arena, count + 1, sizeof *in);
  if (!in) {
    t->failed = true;
  } else if (!all_tensors(n, in)) {
    surg_tensor *c =
        surg_node_output_count(n) == 1 ? known_elements(t, surg_node_output(n, 0)) : NULL;
    if (c) put(t, surg_node_output(n, 0), c);
  } else if (!compute(t, n, in) && optional) {
    found(t, n);
  }
}

/* --- graphs --- */

/* Visits all nodes of a graph and of its subgraphs. Recursion is bounded by SURG_LIMIT_DEPTH. */
static void walk(trial *t, surg_graph *g, bool optional) {
  for (surg_node *n = g->first; n && !t->failed && (t->mark || !t->found); n = n->next) {
    surg_graph *inner;
    visit(t, n, optional);
    for (size_t k = 0; (inner = surg_node_subgraph(n, k)) != NULL; k++) walk(t, inner, true);
  }
}

static bool begin(trial *t, surg_model *m, bool mark) {
  *t = (trial){.m = m, .ctx = m->ctx, .work = ALL_WORK, .mark = mark};
  surg__arena_init(&t->arena, m->ctx);
  return m->status == SURG_OK;
}

/* --- the producers of a node --- */

static void shelter(trial *t, surg_node *n) {
  if (!n || n->sheltered || t->failed) return;
  n->sheltered = true;
  if (!surg__vec_push(t->ctx, &t->queue, n)) t->failed = true;
}

/* Shelters the producer of a value, or for an input of a body the node around it. */
static void shelter_maker(trial *t, const surg_value *v) {
  if (v && v->producer)
    shelter(t, v->producer);
  else if (v && v->input && v->graph->kind == SURG_GRAPH_SUBGRAPH)
    shelter(t, v->graph->parent_node);
}

static void spread(trial *t) {
  for (size_t i = 0; i < t->queue.count && !t->failed; i++) {
    const surg_node *n = t->queue.items[i];
    const surg_graph *inner;
    for (size_t k = 0; k < surg_node_input_count(n); k++) shelter_maker(t, surg_node_input(n, k));
    for (size_t k = 0; (inner = surg_node_subgraph(n, k)) != NULL; k++)
      for (size_t o = 0; o < surg_graph_output_count(inner); o++)
        shelter_maker(t, surg_graph_output(inner, o));
  }
}

/* --- public functions --- */

surg_status surg_model_shelter(surg_model *m) {
  trial t;
  if (!m) return SURG_EUSAGE;
  if (m->status != SURG_OK) return m->status;
  if (m->sheltered_epoch == m->epoch + 1) return SURG_OK;
  bool inner = false;
  for (surg_graph *g = m->graph; g; g = g->next) {
    inner = inner || g->kind != SURG_GRAPH_MAIN;
    for (surg_node *n = g->first; n; n = n->next) n->sheltered = false;
  }
  surg_status s = inner && begin(&t, m, true) ? surg_model_infer(m) : SURG_OK;
  if (inner) {
    for (surg_graph *g = m->graph; g && s == SURG_OK; g = g->next)
      if (g->kind != SURG_GRAPH_SUBGRAPH) walk(&t, g, g->kind != SURG_GRAPH_MAIN);
    if (s == SURG_OK) spread(&t);
    finish(&t);
    if (t.failed && m->status == SURG_OK) s = surg__fail(m, surg__alloc_status(m->ctx));
  }
  if (s == SURG_OK && m->status == SURG_OK) m->sheltered_epoch = m->epoch + 1;
  return s == SURG_OK ? m->status : s;
}

bool surg_node_sheltered(const surg_node *n) {
  return n && !n->erased && n->sheltered;
}

bool surg_graph_would_fail(surg_graph *g, surg_tensor *const *in, bool optional,
                           surg_tensor **out) {
  trial t;
  if (!g || g->erased || !begin(&t, g->model, false)) return true;
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    if (in[i]) put(&t, surg_graph_input(g, i), in[i]);
  walk(&t, g, optional);
  for (size_t i = 0; i < surg_graph_output_count(g) && out; i++) {
    const surg_value *v = surg_graph_output(g, i);
    out[i] = v ? tensor_of(v) : NULL;
  }
  finish(&t);
  return t.found || t.failed;
}
