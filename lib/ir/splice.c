/* SPDX-License-Identifier: Apache-2.0 */
/* Copying the contents of a graph to another place: function bodies to their calls, graphs of one
 * model into another.
 *
 * During the copy, `work` of a copied graph is its copy (for `from`: the destination graph), and
 * `work` of a value is its replacement there, NULL for an absent input. A value of any other graph
 * is a capture and is not replaced. Within one model a copy keeps the source span, so that fields
 * unknown to this library are preserved; between models it has none. */
#include "ir/about.h"
#include "ir/copy.h"
#include "ir/edit.h"

typedef struct splice {
  surg_model *m;
  surg_graph *to;
  surg_node *before;
  const surg_graph *from;
  const surg_node *call;         /* or NULL */
  const surg_function *function; /* of which `from` is the body, or NULL */
  bool same;                     /* source and destination are one model */
} splice;

static bool copy_attr(splice *s, const surg_attr *a, surg_node *to);
static bool copy_given(splice *s, const surg_attr *a, const char *name, surg_node *to);

static const char *text_of(splice *s, const char *text) {
  return s->same ? text : surg__intern(s->m, text, surg__name_of(text)->len);
}

static surg_value *value_of(const surg_value *v) {
  return v && v->graph->work ? v->work : (surg_value *)(uintptr_t)v;
}

/* The name of a copy: that of the original if no other value has it, else a fresh name. A function
 * body and the graphs it is copied into do not see each other's names. What an operator may look
 * for by name keeps it, and shadows other values (surg__unshadow, if that changes a reader). */
static const char *label_of(splice *s, const surg_value *v) {
  const bool apart = s->same && s->from && s->from->kind == SURG_GRAPH_FUNCTION;
  const char *name = text_of(s, v->name);
  if (!name || !name[0] || surg_value_bound_by_name(v)) return name;
  return surg__name_of(name)->values <= (apart ? 1u : 0u) ? name : surg__fresh(s->m, name);
}

/* --- values --- */

static bool copy_initializer(splice *s, const surg_value *v, surg_value *to) {
  surg_tensor *t = v->tensor;
  if (!s->same && !surg__copy_tensor(s->m, t, &t)) return false;
  if (to->graph == s->to && !surg__takes_initializers(s->to))
    return surg__constant_output(to, s->before, t);
  if (s->same) to->init_src = v->init_src;
  to->init_dirty = true;
  surg__graph_push_initializer(to->graph, to, t);
  return true;
}

/* Within a model, what is immutable is shared. */
static bool copy_about(splice *s, const surg__about *a, const surg__about **out) {
  *out = a;
  return s->same || surg__about_copy(s->m, a, out);
}

static bool copy_decl(splice *s, const surg__decl *d, surg__decl *out) {
  *out = *d;
  if (s->same) return true;
  if (!copy_about(s, d->about, &out->about)) return false;
  out->src = (surg__src){0};
  out->dirty = true;
  return surg__copy_type(s->m, d->type, &out->type);
}

static bool copy_value(splice *s, surg_value *v, surg_graph *to) {
  const char *label = label_of(s, v);
  surg_value *n = label ? surg__value_new(to, label) : NULL;
  if (!n) return false;
  v->work = n;
  n->named_here = true;
  /* A declared type in a function may not be valid for every call. */
  if (v->graph->kind == SURG_GRAPH_FUNCTION) return true;
  n->in_value_info = v->in_value_info;
  return copy_decl(s, &v->decl, &n->decl);
}

static bool copy_values(splice *s, surg_graph *g) {
  assert(g->work); /* make_graphs has run */
  for (surg_value *v = g->first_value; v; v = v->next)
    if (!(g == s->from && v->input) && !copy_value(s, v, g->work)) return false;
  for (surg_value *v = g->first_init; v; v = v->init_next)
    if (!(g == s->from && v->input) && !copy_initializer(s, v, v->work)) return false;
  return true;
}

/* --- nodes --- */

/* Resolves a reference to an attribute of the function: the attribute of the call, or the default;
 * NULL: neither is set, and the attribute is omitted. */
static const surg_attr *resolve(const splice *s, const surg_attr *a) {
  if (!surg_attr_ref(a) || !s->function || !s->call) return a;
  const surg_attr *given = surg__attr_find(s->call, a->ref, NULL);
  for (size_t i = 0; !given && i < s->function->defaults.count; i++)
    if (strcmp(s->function->defaults.items[i]->name, a->ref) == 0)
      given = s->function->defaults.items[i];
  return given;
}

static const char *node_name(splice *s, const surg_node *n) {
  const surg_node *call = s->call;
  if (!n->name[0] || !call) return text_of(s, n->name);
  const char *lead = call->name;
  for (uint32_t i = 0; !lead[0] && i < call->n_out; i++)
    if (call->out[i]) lead = call->out[i]->name;
  surg__buf b;
  surg__buf_init(&b, s->m->ctx);
  surg__buf_printf(&b, "%s/%s", lead, n->name);
  const char *name = b.failed ? surg__failed(s->m) : surg__intern(s->m, b.p, b.n);
  surg__buf_free(&b);
  return name;
}

static bool copy_softs(splice *s, const surg_node *n, surg_node *to) {
  surg__soft **tail = &to->softs;
  for (const surg__soft *x = n->softs; x && s->same; x = x->next) {
    surg__soft *c = surg__soft_new(s->m, x->kind, value_of(x->use.value));
    if (!c) return false;
    c->node = to;
    c->written = x->written;
    c->use.index = x->use.index;
    *tail = c;
    tail = &c->next;
  }
  return true;
}

static bool copy_attrs(splice *s, const surg_node *n, surg_node *to) {
  for (uint32_t i = 0; i < n->n_attr; i++) {
    const surg_attr *own = n->attrs[i], *a = resolve(s, own);
    if (a && !(a == own ? copy_attr(s, a, to) : copy_given(s, a, own->name, to))) return false;
  }
  return true;
}

static bool copy_node(splice *s, const surg_node *n, surg_graph *to, surg_node *before) {
  const char *domain = text_of(s, n->domain), *op = text_of(s, n->op_type);
  const char *overload = text_of(s, n->overload);
  const char *name = to == s->to ? node_name(s, n) : text_of(s, n->name);
  if (!domain || !op || !overload || !name) return false;
  surg_node *k = surg__node_new(to, before, domain, op, overload, name);
  if (!k || !surg__node_reserve(k, n->n_in, n->n_out, n->n_attr)) return false;
  surg__node_mark_new(k);
  k->types_stale = true;
  if (s->same) k->src = n->src;
  if (!copy_about(s, n->about, &k->about)) return false;
  for (uint32_t i = 0; i < n->n_out; i++)
    if (!surg__node_link_output(k, i, n->out[i] ? n->out[i]->work : NULL)) return false;
  for (uint32_t i = 0; i < n->n_in; i++) {
    surg_value *v = value_of(n->in[i].value);
    if (!surg__node_link_input(k, i, v)) return false;
    if (v && v->graph != to && !surg__unshadow(v, v->name, to)) return false;
  }
  assert(k->graph == to && k->n_out == n->n_out && k->n_in == n->n_in);
  if (!copy_attrs(s, n, k) || !copy_softs(s, n, k)) return false;
  surg__touch_node(k);
  surg__emit(s->m, SURG_EVENT_CREATE_NODE, to, k, NULL, NULL, NULL);
  for (uint32_t i = 0; i < n->n_out && s->m->listeners.count; i++)
    if (k->out[i]) surg__emit(s->m, SURG_EVENT_CREATE_VALUE, to, k, k->out[i], NULL, NULL);
  return true;
}

/* --- graphs --- */

static bool copy_interface(splice *s, surg_graph *g) {
  surg_graph *to = g->work;
  for (size_t i = 0; i < g->n_in; i++)
    if (!surg__graph_push_input(to, g->in[i]->work)) return false;
  for (size_t i = 0; i < g->n_out; i++) {
    surg_value *v = value_of(g->out[i]->use.value);
    surg__output *o = surg__graph_push_output(to, v, v ? v->name : s->m->none);
    if (!o || !copy_decl(s, &g->out[i]->decl, &o->decl)) return false;
  }
  return true;
}

/* Creates empty copies of the graphs of a chain; for `from` it is s->to. */
static bool make_graphs(splice *s, surg_graph *chain) {
  for (surg_graph *g = chain; g; g = g->work_next) {
    if (g == s->from) {
      g->work = s->to;
      continue;
    }
    surg_graph *n = surg__graph_new(s->m, SURG_GRAPH_SUBGRAPH, NULL, NULL);
    if (!n) return false;
    n->name = text_of(s, g->name);
    n->dirty = true;
    if (s->same) n->src = g->src;
    if (!n->name || !copy_about(s, g->about, &n->about)) return false;
    g->work = n;
  }
  return true;
}

static bool fill_graphs(splice *s, surg_graph *chain) {
  for (surg_graph *g = chain; g; g = g->work_next)
    if (!copy_values(s, g)) return false;
  /* Outer graphs are first in the chain, and a node needs its subgraphs to exist, not to be
   * filled. */
  for (surg_graph *g = chain; g; g = g->work_next) {
    for (const surg_node *n = g->first; n; n = n->next)
      if (!copy_node(s, n, g->work, g == s->from ? s->before : NULL)) return false;
    if (g != s->from && !copy_interface(s, g)) return false;
  }
  return true;
}

static void clear(surg_graph *chain) {
  for (surg_graph *g = chain; g; g = g->work_next) {
    g->work = NULL;
    for (surg_value *v = g->first_value; v; v = v->next) v->work = NULL;
  }
}

/* --- attributes --- */

/* Points the graph attribute to the copies of its graphs. */
static bool link_graphs(splice *s, const surg_attr *a, surg_attr *to, surg_node *owner) {
  if (!surg__attr_has_graphs(a)) return true;
  surg_graph **list = surg__array(s->m, a->count, sizeof *list);
  for (uint32_t i = 0; list && i < a->count; i++) {
    list[i] = a->u.graphs[i] ? a->u.graphs[i]->work : NULL;
    if (!list[i]) continue;
    list[i]->parent_attr = to;
    list[i]->parent_node = owner;
  }
  to->u.graphs = list;
  to->dirty = true;
  return list != NULL;
}

static bool copy_attr(splice *s, const surg_attr *a, surg_node *to) {
  const char *name = text_of(s, a->name);
  const char *ref = a->ref ? text_of(s, a->ref) : NULL;
  surg_attr *c = name && (ref || !a->ref) ? surg__node_push_attr(to, name, a->kind) : NULL;
  if (!c) return false;
  c->ref = ref;
  c->count = a->count;
  if (s->same) {
    /* Values are immutable: within a model they are shared. */
    c->u = a->u;
    c->src = a->src;
    c->dirty = a->dirty;
  } else {
    c->dirty = true;
    if (!surg__attr_has_graphs(a) && !surg__copy_payload(s->m, a, c)) return false;
  }
  return link_graphs(s, a, c, to);
}

/* Copies an attribute of the call, or a default, under the operator's name for it. Its graphs are
 * not part of the chain being copied, so they are copied separately. */
static bool copy_given(splice *s, const surg_attr *a, const char *name, surg_node *to) {
  const bool call = s->call && surg__attr_find(s->call, a->name, NULL) == a;
  splice own = {.m = s->m, .to = to->graph, .same = call || s->same};
  surg_graph *chain = surg__chain_attr(a);
  const bool ok = make_graphs(&own, chain) && copy_attr(&own, a, to) && fill_graphs(&own, chain);
  clear(chain);
  if (!ok) return false;
  assert(to->n_attr > 0); /* copy_attr added one */
  surg_attr *c = to->attrs[to->n_attr - 1];
  c->name = text_of(s, name);
  c->dirty = true;
  c->src = (surg__src){0};
  return c->name != NULL;
}

/* --- the whole copy --- */

static bool copy_all(splice *s, surg_value *const *in, size_t n_in, surg_graph *chain) {
  const surg_graph *from = s->from;
  if (!make_graphs(s, chain)) return false;
  assert(from->work == s->to);
  for (size_t i = 0; i < from->n_in; i++) from->in[i]->work = i < n_in ? in[i] : NULL;
  return fill_graphs(s, chain);
}

/* Whether a subgraph reads a value that its copy would not see. */
static bool loses_captures(surg_graph *from, const surg_graph *to) {
  const surg_graph *reader;
  return from->kind == SURG_GRAPH_SUBGRAPH && surg__chain_unseen(from, to, true, &reader);
}

surg_status surg_graph_splice(surg_graph *to, surg_node *before, surg_graph *from,
                              surg_value *const *in, size_t n_in, const surg_node *call,
                              surg_value **out, size_t n_out) {
  surg_status s = surg__graph_ready(to);
  if (s == SURG_OK) s = surg__graph_ready(from);
  if (s != SURG_OK) return s;
  surg_model *m = to->model;
  if ((n_in && !in) || (n_out && !out) || (before && before->graph != to) ||
      surg__graph_inside(to, from) || m->ctx != from->model->ctx ||
      (call && call->graph->model != m))
    return SURG_EUSAGE;
  for (size_t i = 0; i < n_in; i++)
    if (in[i] && !surg__value_visible(in[i], to)) return SURG_EUSAGE;
  if (loses_captures(from, to)) return SURG_EUSAGE;
  if (!surg__initializers_fit(from, to))
    return surg__graph_error(to, SURG_EUNSUPPORTED, "cannot have the initializers of the copy");
  splice x = {.m = m,
              .to = to,
              .before = before,
              .from = from,
              .call = call,
              .function = surg_graph_function(from),
              .same = m == from->model};
  surg_graph *chain = surg__chain_graph(from);
  const bool ok = copy_all(&x, in, n_in, chain);
  for (size_t i = 0; ok && i < n_out; i++)
    out[i] = i < from->n_out ? value_of(from->out[i]->use.value) : NULL;
  clear(chain);
  surg__touch_graph(to);
  return ok ? SURG_OK : m->status;
}
