/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of inference: node after node; the bodies of a node before its rule; the body of a
 * function for each call, with what is known of the arguments. Loop bodies are walked again until
 * the assumptions about their states are correct. The number of visited nodes is bounded, so that
 * nested loops and nested calls cost at most a multiple of the size of the model. */
#include "infer/infer.h"
#include "infer/rules.h"

/* --- one node --- */

/* Whether attributes refer to attributes of the enclosing function: their values are unknown. */
static bool has_refs(const surg_node *n) {
  for (uint32_t i = 0; i < n->n_attr; i++)
    if (n->attrs[i]->ref) return true;
  return false;
}

static bool has_bodies(const surg_node *n) {
  for (uint32_t i = 0; i < n->n_attr; i++)
    if (n->attrs[i]->kind == SURG_ATTR_GRAPH || n->attrs[i]->kind == SURG_ATTR_GRAPHS) return true;
  return false;
}

/* The index of the type parameter of a formal input or output, or -1. */
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

/* Narrows the type parameters by the element types of the inputs; false: a contradiction. */
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
    const surg__fact f = surg__infer_in(c, i);
    if (f.kind != SURG_TYPE_TENSOR || f.dtype <= 0 || f.dtype >= 32) continue;
    const uint32_t bit = UINT32_C(1) << f.dtype;
    if (!(s->params[param].tensor_mask & bit)) return false;
    if (c->mask[param] && !(c->mask[param] & bit)) return false;
    c->mask[param] = bit;
  }
  return true;
}

/* Whether the schema allows the number of inputs and outputs; otherwise the node is of another
 * release. */
static bool fits(const surg_node *n, const surg_schema *s) {
  return n->n_in >= s->min_in && n->n_in <= s->max_in && n->n_out >= s->min_out &&
         n->n_out <= s->max_out;
}

bool surg__infer_prepare(surg__infer *c, const surg_node *n) {
  c->n = n;
  c->bad = false;
  c->schema = surg_node_schema(n);
  if (!c->schema || (c->schema->flags & SURG__OP_DEPRECATED) || has_refs(n)) return false;
  if ((c->schema->flags & SURG__OP_CONTRIB) && !fits(n, c->schema)) return false;
  c->op = c->schema->op;
  c->since = c->schema->since;
  assert(c->op > 0 && c->op < SURG_OP_COUNT);
  c->bad = !bind_types(c);
  return true;
}

/* Outputs without a stated type get the element type of the schema. */
static void finish_outputs(surg__infer *c) {
  if (c->bad && c->watched == c->n->graph && !c->failing) c->failing = (surg_node *)c->n;
  const size_t n = surg_node_output_count(c->n);
  for (size_t k = 0; k < n; k++) {
    surg_value *v = surg_node_output(c->n, k);
    if (!v) continue;
    assert(v->scratch); /* attached by infer_all or surg__infer_one */
    if (c->bad) {
      surg__istate *s = v->scratch;
      v->inferred = NULL;
      s->elems = NULL;
    } else if (!v->inferred) {
      const int dtype = surg__infer_dtype(c, k);
      if (dtype) surg__infer_put_unranked(c, k, dtype);
    }
  }
}

/* States the declared types of the outputs, for nodes that cannot be inferred. */
static void trust(surg__infer *c) {
  const size_t n = surg_node_output_count(c->n);
  for (size_t k = 0; k < n; k++) {
    surg_value *v = surg_node_output(c->n, k);
    const surg_type *t = v && !v->inferred ? surg_value_declared_type(v) : NULL;
    if (t) surg__infer_state_declared(c, v, t, SURG__SYMBOL_DECLARED);
  }
}

static void infer_node(surg__infer *c, const surg_node *n) {
  surg__infer_fn rule = NULL;
  if (c->work_left) c->work_left--;
  if (n && surg__infer_prepare(c, n)) {
    rule = surg__infer_find(c->op);
    if (rule && !c->bad) rule(c);
    finish_outputs(c);
  }
  if (!rule && n && c->m->ctx->customs && surg_node_class(n) == SURG_OP_CLASS_CUSTOM) {
    const bool described = surg__infer_custom(c, n);
    if (surg__infer_taught(c, n) || described) return;
  }
  if (!rule && n && c->m->trust_declared && !surg_node_function(n)) {
    c->n = n;
    trust(c);
  }
}

/* --- one node of an inferred model --- */

void surg__infer_attach(surg_value *v, surg__istate *s, bool output) {
  if (!v || v->scratch) return;
  const bool known = surg_value_type(v) != NULL;
  *s = (surg__istate){.old = known || !output ? v->inferred : NULL};
  if (known && v->elems) {
    s->elems = v->elems;
    s->has_elems = true;
  }
  if (!known) v->inferred = NULL;
  v->scratch = s;
}

/* Detaches a state: an input gets its facts back; an output keeps what was known before, else gets
 * what was found. */
static void detach(surg_value *v, bool output) {
  if (!v || !v->scratch) return;
  const surg__istate *s = v->scratch;
  v->scratch = NULL;
  if (!output || s->old)
    v->inferred = s->old;
  else
    v->elems = s->elems;
}

static bool all_known(const surg_node *n) {
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] && !surg_value_type(n->out[k])) return false;
  return true;
}

void surg__infer_one(surg_node *n) {
  surg_model *m = n->graph->model;
  const size_t inputs = n->n_in, outputs = n->n_out;
  if (m->status != SURG_OK || all_known(n) || has_bodies(n) || surg_node_function(n)) return;
  assert(outputs > 0); /* nothing is known yet of at least one output */
  surg__infer c = {.m = m, .elems_left = 4 * SURG__ELEMS, .work_left = 1};
  c.states = surg__calloc(m->ctx, inputs + outputs, sizeof *c.states);
  if (!c.states) {
    surg__fail(m, surg__alloc_status(m->ctx));
    return;
  }
  c.keep = m->elems;
  surg__arena_init(&c.scratch, m->ctx);
  for (size_t i = 0; i < inputs; i++)
    surg__infer_attach(surg_node_input(n, i), &c.states[i], false);
  for (size_t k = 0; k < outputs; k++) surg__infer_attach(n->out[k], &c.states[inputs + k], true);
  n->types_stale = false;
  infer_node(&c, n);
  for (size_t k = 0; k < outputs; k++) detach(n->out[k], true);
  for (size_t i = 0; i < inputs; i++) detach(surg_node_input(n, i), false);
  m->elems = c.keep;
  surg__arena_free(&c.scratch);
  surg__free(m->ctx, c.states);
  if (c.nomem) surg__fail(m, surg__alloc_status(m->ctx));
}

/* --- facts in bodies --- */

static void forget_value(surg_value *v) {
  surg__istate *s = v->scratch;
  if (!v->producer && !v->input) return; /* an initializer */
  v->inferred = NULL;
  s->elems = NULL;
  s->has_elems = false;
}

/* Recursion is bounded by how deep graphs nest (SURG_LIMIT_DEPTH). */
void surg__infer_forget(surg__infer *c, surg_graph *g) {
  for (surg_value *v = g->first_value; v; v = v->next) forget_value(v);
  for (surg_node *n = g->first; n; n = n->next) {
    for (uint32_t i = 0; i < n->n_attr; i++) {
      const surg_attr *a = n->attrs[i];
      if (a->kind != SURG_ATTR_GRAPH && a->kind != SURG_ATTR_GRAPHS) continue;
      for (uint32_t k = 0; k < a->count; k++)
        if (a->u.graphs[k]) surg__infer_forget(c, a->u.graphs[k]);
    }
  }
}

/* --- the walk --- */

typedef struct frame {
  surg_node *node;               /* the next node to visit */
  const surg_node *call;         /* the call that the body is walked for; NULL: none */
  const surg_function *function; /* the function of that call */
  uint32_t calls;                /* number of enclosing calls */
  unsigned round;                /* number of walks of the bodies of `node` */
  bool entered;                  /* the bodies of `node` are being walked */
  bool called;                   /* the function of `node` is being walked */
} frame;
typedef SURG_VEC(frame) frames;

/* The attribute of the call that `ref` refers to, or the function's default. */
static const surg_attr *actual(const frame *f, const char *ref) {
  assert(f->call && f->function);
  const surg_attr *a = surg_node_attr(f->call, ref);
  for (size_t i = 0; i < f->function->defaults.count && !a; i++)
    if (f->function->defaults.items[i]->name == ref) a = f->function->defaults.items[i];
  return a;
}

/* A copy of the node with references replaced by the attributes of the call. NULL: unknown. */
static const surg_node *effective(surg__infer *c, const frame *f, const surg_node *n) {
  if (!has_refs(n)) return n;
  if (!f->call || c->nomem) return NULL;
  surg_node *copy = surg__arena_alloc(&c->scratch, sizeof *copy);
  surg_attr **list = surg__arena_array(&c->scratch, n->n_attr, sizeof *list);
  surg_attr *attrs = surg__arena_array(&c->scratch, n->n_attr, sizeof *attrs);
  if (!copy || !list || !attrs) {
    c->nomem = true;
    return NULL;
  }
  *copy = *n;
  copy->attrs = list;
  copy->n_attr = 0;
  for (uint32_t i = 0; i < n->n_attr; i++) {
    const surg_attr *a = n->attrs[i], *by = a->ref ? actual(f, a->ref) : a;
    if (!by) continue; /* absent in the call and without default: absent here */
    if (by->ref || by->kind != a->kind) return NULL;
    attrs[i] = *by;
    attrs[i].name = a->name;
    list[copy->n_attr++] = &attrs[i];
  }
  return copy;
}

static bool push(surg__infer *c, frames *stack, surg_graph *g, const frame *around) {
  frame f = {.node = g->first};
  if (around) {
    f.call = around->call;
    f.function = around->function;
    f.calls = around->calls;
  }
  if (!surg__vec_push(c->m->ctx, stack, f)) c->nomem = true;
  return !c->nomem;
}

/* Pushes the bodies of a node on the stack; false: there are none, or memory ran out. */
static bool push_bodies(surg__infer *c, frames *stack, const surg_node *n) {
  assert(stack->count > 0);
  const frame around = stack->items[stack->count - 1];
  bool any = false;
  for (uint32_t i = 0; i < n->n_attr && !c->nomem; i++) {
    const surg_attr *a = n->attrs[i];
    if (a->ref || (a->kind != SURG_ATTR_GRAPH && a->kind != SURG_ATTR_GRAPHS)) continue;
    for (uint32_t k = 0; k < a->count && !c->nomem; k++) {
      surg_graph *g = a->u.graphs[k];
      if (g && g->first && push(c, stack, g, &around)) any = true;
    }
  }
  return any;
}

static bool is_active(const frames *stack, const surg_function *f) {
  for (size_t i = 0; i < stack->count; i++)
    if (stack->items[i].function == f) return true;
  return false;
}

/* Copies what is known of an argument to an input of a function. */
static void bind(surg__infer *c, surg_value *to, const surg_value *from) {
  assert(to->input && to->scratch && (!from || from->scratch));
  surg__elem buf[SURG__ELEMS];
  surg__istate *s = to->scratch;
  uint32_t n;
  const surg__fact f = surg__infer_value(c, from, 0);
  if (f.kind == SURG_TYPE_TENSOR && f.ranked)
    surg__infer_set(c, to, f.dtype, f.dims, f.rank);
  else if (f.kind == SURG_TYPE_TENSOR)
    surg__infer_set_unranked(c, to, f.dtype);
  else
    to->inferred = f.type;
  (void)surg__infer_value_elems(c, from, buf, &n); /* elements of a constant are read here */
  if (from) s->elems = ((surg__istate *)from->scratch)->elems;
  s->has_elems = true;
}

/* Pushes the function that a node calls; false: it cannot be walked for this call. */
static bool push_call(surg__infer *c, frames *stack, const surg_node *n) {
  const surg_function *fn = surg_node_function(n);
  frame around = stack->items[stack->count - 1];
  if (!fn || !fn->body || !n || c->no_calls || !c->work_left) return false;
  if (around.calls == SURG_LIMIT_CALL_DEPTH || is_active(stack, fn)) return false;
  surg__infer_forget(c, fn->body);
  for (size_t i = 0; i < fn->body->n_in; i++) bind(c, fn->body->in[i], surg_node_input(n, i));
  around.call = n;
  around.function = fn;
  around.calls++;
  assert(around.calls <= SURG_LIMIT_CALL_DEPTH);
  return push(c, stack, fn->body, &around);
}

static void finish_call(surg__infer *c, const surg_node *n) {
  const surg_function *fn = surg_node_function(n);
  if (!fn) return; /* the model has failed */
  const surg_graph *body = fn->body;
  assert(!body->erased && body->kind == SURG_GRAPH_FUNCTION);
  const size_t outputs = surg_node_output_count(n);
  c->n = n;
  c->schema = NULL;
  c->bad = false;
  for (size_t k = 0; k < outputs && k < body->n_out; k++)
    surg__infer_put_from_body(c, k, surg_graph_output(body, k), body);
}

/* Whether the bodies have to be walked again. */
static bool again(surg__infer *c, frames *stack, const surg_node *n) {
  frame *f = &stack->items[stack->count - 1];
  assert(f->round <= SURG__ROUNDS);
  if (!n || f->called || !surg__infer_prepare(c, n)) return false;
  /* A body without nodes needs no walk: its rounds finish here. */
  while (!surg__infer_settled(c, ++f->round))
    if (push_bodies(c, stack, n)) return true;
  return false;
}

/* Pushes the bodies or the function that must be walked before the node; false: there are none. */
static bool enter(surg__infer *c, frames *stack, const surg_node *n) {
  frame *f = &stack->items[stack->count - 1];
  f->entered = true;
  f->called = false;
  f->round = 0;
  if (!n) return false;
  if (surg_node_function(n)) {
    const size_t at = stack->count - 1;
    const bool called = push_call(c, stack, n);
    stack->items[at].called = called;
    return called;
  }
  if (!has_bodies(n)) return false;
  if (surg__infer_prepare(c, n)) surg__infer_seed_bodies(c);
  surg__infer_believe_bodies(c, n);
  return push_bodies(c, stack, n) || again(c, stack, n);
}

static void step(surg__infer *c, frames *stack) {
  assert(stack->count > 0);
  frame *f = &stack->items[stack->count - 1];
  surg_node *node = f->node;
  if (!node) {
    stack->count--;
    return;
  }
  const surg_node *n = effective(c, f, node);
  if (!f->entered ? enter(c, stack, n) : again(c, stack, n)) return;
  f = &stack->items[stack->count - 1];
  node->types_stale = false;
  if (f->called && c->on_call) c->on_call(c->user, node);
  surg_function *fn = surg_node_function(node);
  if (fn && f->called)
    surg__infer_called(c, fn);
  else if (fn)
    surg__infer_missed(c, fn);
  if (f->called)
    finish_call(c, n);
  else
    infer_node(c, n);
  surg__infer_believe(c, node);
  f->node = node->next;
  f->entered = false;
}

#define TICK 64u /* visits between two questions whether to cancel */

static bool goes_on(surg__infer *c) {
  if (++c->ticks % TICK == 0) c->cancelled = surg__cancelled(c->m->ctx);
  return !c->nomem && !c->cancelled && c->m->status == SURG_OK;
}

void surg__infer_walk(surg__infer *c, surg_graph *g) {
  frames stack = {0};
  push(c, &stack, g, NULL);
  while (stack.count && goes_on(c)) step(c, &stack);
  surg__vec_free(c->m->ctx, &stack);
}

void surg__infer_again(surg__infer *c, surg_node *n, bool bodies) {
  frames stack = {0};
  surg_graph *body;
  if (!bodies || !has_bodies(n)) {
    infer_node(c, n);
    return;
  }
  for (size_t k = 0; (body = surg_node_subgraph(n, k)) != NULL; k++) surg__infer_forget(c, body);
  if (!surg__vec_push(c->m->ctx, &stack, (frame){.node = n})) c->nomem = true;
  while ((stack.count > 1 || (stack.count && stack.items[0].node == n)) && goes_on(c))
    step(c, &stack);
  surg__vec_free(c->m->ctx, &stack);
}

size_t surg__infer_work(const surg_model *m) {
  size_t n = 0, work;
  for (const surg_graph *g = m->graph; g; g = g->next) n += g->n_nodes;
  return surg__mul(n, SURG__WORK, &work) && surg__add(work, SURG__WORK_LEAST, &work) ? work : n;
}
