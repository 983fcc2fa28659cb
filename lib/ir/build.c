/* SPDX-License-Identifier: Apache-2.0 */
/* Raw builders: they keep lists, tables and uses consistent and do nothing else. The loader calls
 * them, and the public mutations are built on them. */
#include "ir/edit.h"

surg_model *surg__model_alloc(surg_context *ctx) {
  surg_model *m = surg__calloc(ctx, 1, sizeof *m);
  if (!m) {
    surg__oom(ctx, NULL);
    return NULL;
  }
  m->ctx = ctx;
  surg__arena_init(&m->arena, ctx);
  surg__arena_init(&m->elems, ctx);
  m->nodes_by_name.of_nodes = true;
  m->next_custom_op = 65536;
  m->resolve_gen = 1;
  return m;
}

surg_graph *surg__graph_new(surg_model *m, surg_graph_kind kind, surg_node *parent,
                            surg_attr *attr) {
  if (m->status != SURG_OK) return NULL;
  surg_graph *g = surg__zalloc(m, sizeof *g);
  const char *none = g ? surg__intern(m, "", 0) : NULL;
  if (!none) return NULL;
  g->model = m;
  g->kind = kind;
  g->name = none;
  g->parent_node = parent;
  g->parent_attr = attr;
  if (kind == SURG_GRAPH_MAIN && !m->graph && m->graphs_tail) {
    /* The main graph is first in the list, even if functions were created before it. */
    surg_graph *head = m->graphs_tail;
    while (head->prev) head = head->prev;
    g->next = head;
    head->prev = g;
  } else {
    g->prev = m->graphs_tail;
    if (m->graphs_tail) m->graphs_tail->next = g;
    m->graphs_tail = g;
  }
  if (kind == SURG_GRAPH_MAIN && !m->graph) m->graph = g;
  return g;
}

void surg__value_append(surg_graph *g, surg_value *v) {
  assert(!v->erased);
  v->graph = g;
  v->prev = g->last_value;
  v->next = NULL;
  if (g->last_value)
    g->last_value->next = v;
  else
    g->first_value = v;
  g->last_value = v;
}

surg_value *surg__value_new(surg_graph *g, const char *name) {
  if (g->model->status != SURG_OK) return NULL;
  surg_value *v = surg__zalloc(g->model, sizeof *v);
  if (!v) return NULL;
  v->name = name;
  v->graph = g;
  if (!surg__value_index(v)) return NULL;
  surg__value_append(g, v);
  return v;
}

surg_node *surg__node_new(surg_graph *g, surg_node *before, const char *domain,
                          const char *op_type, const char *overload, const char *name) {
  if (g->model->status != SURG_OK) return NULL;
  surg_node *n = surg__zalloc(g->model, sizeof *n);
  if (!n) return NULL;
  n->graph = g;
  n->domain = domain;
  n->op_type = op_type;
  n->overload = overload;
  n->name = name;
  if (!surg__node_index(n)) return NULL;
  surg__order_insert(n, before);
  return n;
}

/* Computes the new capacity for `need` entries of an array: exact for the first allocation, then
 * doubled. */
static bool new_capacity(surg_model *m, uint32_t cap, size_t need, uint32_t *out) {
  if (need > UINT32_MAX / 2) {
    surg__fail(m, surg__error(m->ctx, SURG_ELIMIT, surg_model_path(m), "a list is too long"));
    return false;
  }
  *out = cap && (uint64_t)cap * 2 > need ? cap * 2 : (uint32_t)need;
  assert(*out >= need && *out > cap);
  return true;
}

/* Moves a use to another address and fixes the links to it. */
static void relocate(surg_use *to, surg_use *from) {
  *to = *from;
  if (!to->value) return;
  if (to->prev)
    to->prev->next = to;
  else
    to->value->uses = to;
  if (to->next)
    to->next->prev = to;
  else
    to->value->uses_tail = to;
}

static bool grow_inputs(surg_node *n, size_t need) {
  surg_model *m = n->graph->model;
  uint32_t cap;
  if (need <= n->cap_in) return true;
  if (!new_capacity(m, n->cap_in, need, &cap)) return false;
  surg_use *in = surg__array(m, cap, sizeof *in);
  if (!in) return false;
  for (uint32_t i = 0; i < n->n_in; i++) relocate(&in[i], &n->in[i]);
  for (uint32_t i = n->n_in; i < cap; i++)
    in[i] = (surg_use){.kind = SURG_USE_NODE, .index = i, .user.node = n};
  n->in = in;
  n->cap_in = cap;
  assert(n->n_in <= n->cap_in && need <= n->cap_in);
  return true;
}

static bool grow_outputs(surg_node *n, size_t need) {
  surg_model *m = n->graph->model;
  uint32_t cap;
  if (need <= n->cap_out) return true;
  if (!new_capacity(m, n->cap_out, need, &cap)) return false;
  surg_value **out = surg__array(m, cap, sizeof *out);
  if (!out) return false;
  if (n->n_out) memcpy(out, n->out, n->n_out * sizeof *out);
  n->out = out;
  n->cap_out = cap;
  return true;
}

static bool grow_attrs(surg_node *n, size_t need) {
  surg_model *m = n->graph->model;
  uint32_t cap;
  if (need <= n->cap_attr) return true;
  if (!new_capacity(m, n->cap_attr, need, &cap)) return false;
  surg_attr **attrs = surg__array(m, cap, sizeof *attrs);
  if (!attrs) return false;
  if (n->n_attr) memcpy(attrs, n->attrs, n->n_attr * sizeof *attrs);
  n->attrs = attrs;
  n->cap_attr = cap;
  return true;
}

bool surg__node_reserve(surg_node *n, size_t n_in, size_t n_out, size_t n_attr) {
  return n->graph->model->status == SURG_OK && grow_inputs(n, n_in) && grow_outputs(n, n_out) &&
         grow_attrs(n, n_attr);
}

bool surg__node_link_input(surg_node *n, size_t i, surg_value *v) {
  if (!surg__node_reserve(n, i + 1, 0, 0)) return false;
  /* Inputs between the old end and i are absent: they were removed before, or are new. */
  if (i >= n->n_in) n->n_in = (uint32_t)i + 1;
  assert(n->in[i].user.node == n && n->in[i].index == i);
  surg__use_unlink(&n->in[i]);
  surg__use_link(&n->in[i], v);
  return true;
}

bool surg__node_link_output(surg_node *n, size_t i, surg_value *v) {
  /* A value has one definition: a node of its graph, or an input or initializer. */
  assert(!v || (v->graph == n->graph && !v->input && !v->initializer));
  if (!surg__node_reserve(n, 0, i + 1, 0)) return false;
  for (; n->n_out <= i; n->n_out++) n->out[n->n_out] = NULL;
  n->out[i] = v;
  if (v) {
    v->producer = n;
    v->output = (uint32_t)i;
  }
  return true;
}

surg_attr *surg__node_push_attr(surg_node *n, const char *name, surg_attr_kind kind) {
  if (!surg__node_reserve(n, 0, 0, (size_t)n->n_attr + 1)) return NULL;
  surg_attr *a = surg__zalloc(n->graph->model, sizeof *a);
  if (!a) return NULL;
  a->name = name;
  a->kind = kind;
  assert(n->n_attr < n->cap_attr);
  n->attrs[n->n_attr++] = a;
  return a;
}

/* Ensures room for one more entry in an array of pointers of a graph. */
static bool grow_list(surg_model *m, void ***items, size_t *cap, size_t count) {
  if (count < *cap) return true;
  size_t bigger = *cap ? *cap * 2 : 4;
  if (bigger > UINT32_MAX) {
    surg__fail(m, surg__error(m->ctx, SURG_ELIMIT, surg_model_path(m), "a list is too long"));
    return false;
  }
  void **p = surg__array(m, bigger, sizeof *p);
  if (!p) return false;
  if (count) memcpy(p, *items, count * sizeof *p);
  *items = p;
  *cap = bigger;
  assert(count < *cap);
  return true;
}

bool surg__graph_push_input(surg_graph *g, surg_value *v) {
  if (g->model->status != SURG_OK) return false;
  if (!grow_list(g->model, (void ***)&g->in, &g->cap_in, g->n_in)) return false;
  assert(v->graph == g && !v->producer && !v->erased);
  g->in[g->n_in++] = v;
  v->input = true;
  return true;
}

surg__output *surg__graph_push_output(surg_graph *g, surg_value *v, const char *name) {
  surg_model *m = g->model;
  assert(!v || v->graph->model == m);
  if (m->status != SURG_OK) return NULL;
  if (!grow_list(m, (void ***)&g->out, &g->cap_out, g->n_out)) return NULL;
  surg__output *o = surg__zalloc(m, sizeof *o);
  if (!o) return NULL;
  o->name = name;
  o->use.kind = SURG_USE_OUTPUT;
  o->use.index = (uint32_t)g->n_out;
  o->use.user.graph = g;
  g->out[g->n_out++] = o;
  surg__use_link(&o->use, v);
  return o;
}

void surg__graph_push_initializer(surg_graph *g, surg_value *v, surg_tensor *t) {
  assert(!v->initializer);
  assert(v->graph == g && !v->producer && t && t->model == g->model);
  v->initializer = true;
  v->tensor = t;
  v->init_prev = g->last_init;
  v->init_next = NULL;
  if (g->last_init)
    g->last_init->init_next = v;
  else
    g->first_init = v;
  g->last_init = v;
  g->n_inits++;
}

surg__soft *surg__soft_new(surg_model *m, surg__soft_kind kind, surg_value *v) {
  assert(!v || v->graph->model == m);
  if (m->status != SURG_OK) return NULL;
  surg__soft *s = surg__zalloc(m, sizeof *s);
  if (!s) return NULL;
  s->kind = kind;
  s->use.kind = SURG_USE_SOFT;
  s->use.user.soft = s;
  if (v) s->written = v->name;
  surg__use_link(&s->use, v);
  if (v && kind == SURG__SOFT_TRAINING) v->pinned |= SURG__PIN_TRAINING;
  return s;
}

surg_function *surg__function_new(surg_model *m, const char *domain, const char *name,
                                  const char *overload) {
  SURG_HASH_LOCALS(m->ctx);
  if (m->status != SURG_OK || !surg__vec_reserve(m->ctx, &m->functions, m->functions.count + 1))
    return surg__failed(m);
  surg_function *f = surg__zalloc(m, sizeof *f);
  const char *none = f ? surg__intern(m, "", 0) : NULL;
  surg_graph *body = none ? surg__graph_new(m, SURG_GRAPH_FUNCTION, NULL, NULL) : NULL;
  if (!body) return NULL;
  *f = (surg_function){.model = m, .domain = domain, .name = name, .overload = overload,
                       .body = body};
  f->key[0] = surg__default_domain(domain) ? none : domain;
  f->key[1] = name;
  f->key[2] = overload;
  body->function = f;
  body->name = name;
  surg_function *same;
  HASH_FIND(hh, m->functions_by_key, f->key, sizeof f->key, same);
  if (!same) HASH_ADD_KEYPTR(hh, m->functions_by_key, f->key, sizeof f->key, f);
  if (surg__hash_failed) return surg__failed(m);
  m->functions.items[m->functions.count++] = f;
  surg__model_unresolve(m);
  return f;
}
