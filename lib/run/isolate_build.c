/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the model of an isolated node: it is written as a message and loaded, so that the node
 * is copied as it is in its file, with its subgraphs. */
#include "base/context.h"
#include "base/diag.h"
#include "base/hash.h"
#include "io/save/save.h"
#include "run/isolate.h"

#define OLDEST_IR 4 /* below it, initializers must be inputs too */

/* --- what the node reads --- */

typedef struct seen {
  const surg_value *value;
  UT_hash_handle hh;
} seen;

typedef struct walk {
  surg_context *ctx;
  surg_node *node;
  surg__needs *needs;
  seen *seen;
} walk;

static bool inside(const surg_node *n, const surg_graph *g) {
  for (; g; g = surg_graph_parent(g))
    if (surg_graph_parent_node(g) == n) return true;
  return false;
}

static surg_status need(walk *w, const surg_value *v) {
  SURG_HASH_LOCALS(w->ctx);
  seen *s;
  if (!v || inside(w->node, surg_value_graph(v))) return SURG_OK;
  HASH_FIND(hh, w->seen, &v, sizeof v, s);
  if (s) return SURG_OK;
  const bool constant = surg_value_constant(v) ||
                        (surg_value_is_initializer(v) && !surg_value_is_input(v));
  s = surg__calloc(w->ctx, 1, sizeof *s);
  if (!s) return surg__alloc_status(w->ctx);
  s->value = v;
  HASH_ADD(hh, w->seen, value, sizeof v, s);
  if (surg__hash_failed) surg__free(w->ctx, s);
  if (surg__hash_failed ||
      !surg__vec_push(w->ctx, w->needs, ((surg__need){.value = v, .constant = constant})))
    return surg__alloc_status(w->ctx);
  return SURG_OK;
}

static surg_status need_all(walk *w, const surg_node *n, unsigned depth);

/* Collects what a graph reads. The depth limit is that of messages. */
static surg_status need_graph(walk *w, const surg_graph *g, unsigned depth) {
  surg_status s = depth > SURG_LIMIT_DEPTH ? SURG_ELIMIT : SURG_OK;
  for (surg_node *n = surg_graph_first_node(g); n && s == SURG_OK; n = surg_node_next(n))
    s = need_all(w, n, depth + 1);
  for (size_t i = 0; i < surg_graph_output_count(g) && s == SURG_OK; i++)
    s = need(w, surg_graph_output(g, i));
  return s;
}

/* Rejects a node with references to function attributes: they have values only while the
 * function runs. */
static surg_status check_attrs(const walk *w, const surg_node *n) {
  for (uint32_t i = 0; i < n->n_attr; i++)
    if (n->attrs[i]->ref)
      return surg__node_error(n, SURG_EINVALID, "attribute %s refers to one of the function",
                              surg__q(w->ctx, n->attrs[i]->name));
  return SURG_OK;
}

static surg_status need_all(walk *w, const surg_node *n, unsigned depth) {
  surg_status s = n == w->node ? SURG_OK : check_attrs(w, n);
  for (size_t i = 0; i < surg_node_input_count(n) && s == SURG_OK; i++)
    s = need(w, surg_node_input(n, i));
  const surg_graph *g;
  for (size_t k = 0; s == SURG_OK && (g = surg_node_subgraph(n, k)); k++)
    s = need_graph(w, g, depth);
  return s;
}

surg_status surg__isolate_needs(surg_node *n, surg__needs *out) {
  walk w = {.ctx = surg_model_context(surg_graph_model(surg_node_graph(n))), .node = n,
            .needs = out};
  SURG_HASH_LOCALS(w.ctx);
  const surg_status s = need_all(&w, n, 0);
  for (seen *e = w.seen, *next; e; e = next) {
    next = e->hh.next;
    HASH_DEL(w.seen, e);
    surg__free(w.ctx, e);
  }
  return s;
}

/* --- types --- */

static const surg_type *type_of_content(surg_model *m, surg__content c) {
  if (c.kind == SURG__V_MAP) {
    surg_type *t = surg__type_new(m, SURG_TYPE_MAP);
    if (!t) return NULL;
    t->dtype = c.key;
    t->elem = surg_type_tensor_unranked(m, c.dtype);
    return t->elem ? t : NULL;
  }
  if (c.kind == SURG__V_SEQUENCE)
    return surg_type_wrap(m, SURG_TYPE_SEQUENCE, surg_type_tensor_unranked(m, c.dtype));
  return surg_type_tensor_unranked(m, c.kind ? c.kind : SURG_FLOAT);
}

const surg_type *surg__type_of_array(surg_model *m, const surg__array *a) {
  surg_dim dims[SURG_LIMIT_RANK] = {{0}};
  if (a->dtype == SURG__V_MAP) return type_of_content(m, surg__content_of(a));
  if (surg__array_is_list(a)) {
    const surg__list *l = surg__list_of(a);
    const surg__content c = a->count ? surg__content_of(&l->items[0]) : l->elem;
    return surg_type_wrap(
        m, a->dtype == SURG__V_SEQUENCE ? SURG_TYPE_SEQUENCE : SURG_TYPE_OPTIONAL,
        type_of_content(m, c));
  }
  for (uint32_t i = 0; i < a->rank; i++) dims[i].value = a->dims[i];
  return surg_type_tensor(m, a->dtype, dims, a->rank);
}

/* --- functions --- */

typedef struct calls {
  surg_context *ctx;
  SURG_VEC(const surg_function *) list;
  bool *taken; /* indexed by their position in the model */
  const surg_model *m;
} calls;

static surg_status follow_graph(calls *c, const surg_graph *g, unsigned depth);

static surg_status follow(calls *c, const surg_node *n, unsigned depth) {
  const surg_function *f = surg_node_function(n);
  surg_status s = SURG_OK;
  size_t i = 0;
  const surg_graph *g;
  while (f && i < c->m->functions.count && c->m->functions.items[i] != f) i++;
  if (f && i < c->m->functions.count && !c->taken[i]) {
    c->taken[i] = true;
    if (!surg__vec_push(c->ctx, &c->list, f)) return surg__alloc_status(c->ctx);
  }
  for (size_t k = 0; s == SURG_OK && (g = surg_node_subgraph(n, k)); k++)
    s = follow_graph(c, g, depth + 1);
  return s;
}

static surg_status follow_graph(calls *c, const surg_graph *g, unsigned depth) {
  surg_status s = depth > SURG_LIMIT_DEPTH ? SURG_ELIMIT : SURG_OK;
  for (surg_node *n = surg_graph_first_node(g); n && s == SURG_OK; n = surg_node_next(n))
    s = follow(c, n, depth);
  return s;
}

static surg_status put_functions(surg__saver *s, surg_node *n) {
  calls c = {.ctx = s->ctx, .m = s->m};
  c.taken = surg__calloc(s->ctx, s->m->functions.count + 1, sizeof *c.taken);
  surg_status status = c.taken ? follow(&c, n, 0) : surg__alloc_status(s->ctx);
  for (size_t i = 0; i < c.list.count && status == SURG_OK; i++) /* the list grows during the
                                                                  * loop */
    status = follow_graph(&c, surg_function_graph(c.list.items[i]), 0);
  for (size_t i = 0; i < c.list.count && status == SURG_OK; i++)
    surg__save_function(s, c.list.items[i]);
  surg__vec_free(s->ctx, &c.list);
  surg__free(s->ctx, c.taken);
  return status;
}

/* --- the message --- */

static void put_text(surg__saver *s, uint32_t number, const char *text) {
  surg__rope_string(&s->rope, number, text, strlen(text));
}

/* Writes an attribute. A reference to a function attribute has the value of the call while the
 * node runs; it is written under the name that it has in the node. */
static void put_attr(surg__saver *s, const surg_attr *a, const surg__machine *m) {
  surg_attr copy = *a;
  if (m && surg__session_caller(m)) {
    copy.dirty = true;
    copy.src = (surg__src){0};
  }
  surg__save_attr(s, NODE_ATTRIBUTE, &copy);
}

static void put_node(surg__saver *s, const surg_node *n, const surg__machine *m) {
  surg__open open = surg__save_begin(s, GRAPH_NODE);
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    put_text(s, NODE_INPUT, v ? surg_value_name(v) : "");
  }
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    put_text(s, NODE_OUTPUT, v ? surg_value_name(v) : "");
  }
  if (*n->name) put_text(s, NODE_NAME, n->name);
  put_text(s, NODE_OP_TYPE, n->op_type);
  for (uint32_t i = 0; i < n->n_attr; i++) put_attr(s, n->attrs[i], m);
  if (*n->domain) put_text(s, NODE_DOMAIN, n->domain);
  if (*n->overload) put_text(s, NODE_OVERLOAD, n->overload);
  surg__save_end(s, open);
}

static surg_status put_need(surg__saver *s, const surg__need *x, bool reached) {
  const char *name = surg_value_name(x->value);
  if (x->constant) {
    surg__buf b;
    surg__buf_init(&b, s->ctx);
    const surg_status status = surg__value_message(&x->array, name, &b);
    if (status == SURG_OK) surg__rope_string(&s->rope, GRAPH_INITIALIZER, b.p, b.n);
    surg__buf_free(&b);
    return status;
  }
  const surg_type *t = x->array.dtype ? surg__type_of_array(s->m, &x->array) : NULL;
  if (!t && !x->array.dtype) {
    t = surg_value_type(x->value);
    if (!t) t = surg_value_declared_type(x->value);
    if (!t)
      return surg__error(s->ctx, SURG_EINVALID, surg_model_path(s->m),
                         "the type of %s is unknown%s", surg__q(s->ctx, name),
                         reached ? "" : ", and the run fails before the node that reads it");
  }
  if (!t) return surg__alloc_status(s->ctx);
  surg__open open = surg__save_begin(s, GRAPH_INPUT);
  put_text(s, INFO_NAME, name);
  surg__save_type(s, INFO_TYPE, t);
  surg__save_end(s, open);
  return SURG_OK;
}

static surg_status put_model(surg__saver *s, surg_node *n, const surg__machine *m,
                             const surg__needs *needs) {
  const surg_function *f = surg_graph_function(surg_node_graph(n));
  const surg__imports *imports = f ? &f->imports : &s->m->imports;
  surg_status status = SURG_OK;
  for (uint32_t i = 0; i < n->n_attr && !m; i++)
    if (n->attrs[i]->ref)
      return surg__node_error(n, SURG_EINVALID, "its function does not run: %s is not known",
                              surg__q(s->ctx, n->attrs[i]->name));
  surg__rope_varint(&s->rope, MODEL_IR_VERSION,
                    (uint64_t)(s->m->ir_version < OLDEST_IR ? OLDEST_IR : s->m->ir_version));
  surg__open open = surg__save_begin(s, MODEL_GRAPH);
  put_node(s, n, m);
  put_text(s, GRAPH_NAME, "isolated");
  for (size_t i = 0; i < needs->count && status == SURG_OK; i++)
    status = put_need(s, &needs->items[i], m != NULL);
  surg__save_end(s, open);
  for (size_t i = 0; i < imports->count; i++)
    surg__save_import(s, MODEL_IMPORT, &imports->items[i]);
  if (status == SURG_OK) status = put_functions(s, n);
  if (status == SURG_OK) status = s->status;
  if (status == SURG_OK && s->rope.failed) status = surg__oom(s->ctx, surg_model_path(s->m));
  if (status == SURG_OK && s->rope.total > SURG_LIMIT_OUTPUT_BYTES)
    status = surg__error(s->ctx, SURG_ELIMIT, surg_model_path(s->m),
                         "the node with its constants exceeds 2 GiB");
  return status;
}

surg_status surg__isolate_build(surg_node *n, const surg__machine *m, const surg__needs *needs,
                                surg_context *to, surg_model **out) {
  surg_model *from = surg_graph_model(surg_node_graph(n));
  surg__saver s = {.m = from, .ctx = surg_model_context(from), .where = surg_model_path(from)};
  surg__rope_init(&s.rope, s.ctx, from->source);
  surg_status status = put_model(&s, n, m, needs);
  uint8_t *p = NULL;
  if (status == SURG_OK) {
    p = surg__alloc(s.ctx, (size_t)s.rope.total + 1);
    if (!p) status = surg__oom(s.ctx, s.where);
  }
  if (status == SURG_OK) status = surg__rope_write(&s.rope, &(surg__sink){s.where, -1, false, p});
  if (status == SURG_OK) {
    surg_load_options options = {.size = sizeof options};
    options.external_root = from->options.external_root;
    if (!options.external_root && from->source) options.external_root = from->source->dir;
    status = surg_model_load_memory(to, p, (size_t)s.rope.total, surg_model_path(from), &options,
                                    out);
  }
  surg__free(s.ctx, p);
  surg__rope_free(&s.rope);
  return status;
}
