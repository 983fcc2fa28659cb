/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of models: all structs are new, payloads are shared. During the copy, `work` of each old
 * graph, node and value points to the new one. */
#include "base/counted.h"
#include "ir/about.h"
#include "ir/copy.h"
#include "ir/edit.h"
#include "sym/expr.h"

typedef struct cloner {
  const surg_model *from;
  surg_model *to;
  bool apart; /* share no payloads: read and write the elements */
} cloner;

static const char *name_of(cloner *c, const char *s) {
  return s ? surg__intern(c->to, s, surg__name_of(s)->len) : NULL;
}

/* Copies text that is not interned; *out is NULL if s is. */
static bool text_of(cloner *c, const char *s, const char **out) {
  *out = NULL;
  if (!s) return true;
  surg_str copy;
  if (!surg__copy_str(c->to, (surg_str){s, strlen(s)}, &copy)) return false;
  *out = copy.p;
  return true;
}

/* --- types --- */

static surg_type *copy_level(cloner *c, const surg_type *t) {
  surg_model *m = c->to;
  surg_type *n = surg__type_new(m, t->kind);
  if (!n) return NULL;
  *n = *t;
  n->model = m;
  if (!text_of(c, t->denotation, &n->denotation) ||
      !text_of(c, t->opaque_domain, &n->opaque_domain) ||
      !text_of(c, t->opaque_name, &n->opaque_name))
    return NULL;
  if (t->dims) {
    surg_dim *dims = surg__copy(m, t->dims, t->rank, sizeof *dims);
    for (uint32_t i = 0; dims && i < t->rank; i++)
      if (!text_of(c, t->dims[i].param, &dims[i].param)) return NULL;
    for (uint32_t i = 0; dims && i < t->rank; i++) dims[i].expr = NULL; /* see copy_proofs */
    if (!dims) return NULL;
    n->dims = dims;
  }
  if (t->dim_denotations) {
    const char **names = surg__array(m, t->rank, sizeof *names);
    for (uint32_t i = 0; names && i < t->rank; i++)
      if (!text_of(c, t->dim_denotations[i], &names[i])) return NULL;
    if (!names) return NULL;
    n->dim_denotations = names;
  }
  if (t->raw_values) {
    n->raw_values = surg__copy(m, t->raw_values, t->rank, sizeof *t->raw_values);
    if (!n->raw_values) return NULL;
  }
  return n;
}

static bool copy_type(cloner *c, const surg_type *t, const surg_type **out) {
  surg_type *outer = NULL;
  *out = NULL;
  for (; t; t = t->elem) {
    surg_type *n = copy_level(c, t);
    if (!n) return false;
    n->elem = NULL;
    if (outer)
      outer->elem = n;
    else
      *out = n;
    outer = n;
  }
  return true;
}

static bool copy_decl(cloner *c, const surg__decl *d, surg__decl *out) {
  out->src = d->src;
  out->dirty = d->dirty;
  if (!surg__about_copy(c->to, d->about, &out->about)) return false;
  return copy_type(c, d->type, &out->type);
}

/* --- tensors and attributes --- */

static bool copy_strings(cloner *c, const surg_str *s, uint64_t n, const surg_str **out) {
  surg_str *copy = surg__array(c->to, n, sizeof *copy);
  for (uint64_t i = 0; copy && i < n; i++)
    if (!surg__copy_str(c->to, s[i], &copy[i])) return false;
  *out = copy;
  return copy != NULL;
}

#define CHUNK ((size_t)1 << 20)

static bool copy_bytes(surg_model *m, const surg_tensor *t, surg__blob *b) {
  void *chunk = surg__alloc(m->ctx, CHUNK);
  surg_status s = chunk ? SURG_OK : SURG_ENOMEM;
  for (uint64_t at = 0; s == SURG_OK && at < t->bytes; at += CHUNK) {
    const size_t n = t->bytes - at < CHUNK ? (size_t)(t->bytes - at) : CHUNK;
    s = surg_tensor_read(t, at, chunk, n);
    if (s == SURG_OK) s = surg__blob_write(b, at, chunk, n);
  }
  surg__free(m->ctx, chunk);
  if (s != SURG_OK) surg__fail(m, s);
  return s == SURG_OK;
}

/* Whether the elements can stay in the data file, of which m then refers to a range. Two files of
 * one name cannot both be beside a model. */
static bool stays_in_file(const surg_model *m, const surg_tensor *t) {
  for (const surg__datafile *f = m->files; t->view == SURG__VIEW_EXTERNAL && f; f = f->next)
    if (strcmp(f->location, t->file->location) == 0 &&
        (f->dev != t->file->dev || f->ino != t->file->ino || f->absent || f->loan))
      return false;
  return t->view == SURG__VIEW_EXTERNAL && !t->codec && t->file->loan == SURG__LOAN_NONE &&
         !t->file->absent && !t->defective && t->data.len == t->bytes;
}

static bool share_file(surg_model *m, const surg_tensor *t, surg_tensor **out) {
  surg__datafile *f = surg__datafile_share(m, t->file);
  *out = f ? surg__tensor_in_file(m, t->dtype, t->dims, t->rank, f, t->data.off) : NULL;
  return *out != NULL;
}

/* Copies a tensor for models that share no payloads: a reference to a data file, or the elements.
 */
static bool rewrite_tensor(surg_model *m, const surg_tensor *t, surg_tensor **out) {
  if (t->view == SURG__VIEW_SPARSE) {
    surg__fail(m, surg__error(m->ctx, SURG_EINVALID, surg_model_path(m),
                              "a sparse tensor of another model cannot be copied"));
    return false;
  }
  if (t->dtype == SURG_STRING) {
    const surg_str *strings = surg__strings(t);
    *out = strings || !t->count ? surg_tensor_new_strings(m, t->dims, t->rank, strings) : NULL;
    return *out ? true : surg__failed(m) != NULL;
  }
  if (stays_in_file(m, t)) return share_file(m, t, out);
  surg_tensor *n = surg__tensor_alloc(m, t->dtype, t->dims, t->rank);
  if (!n) return false;
  *out = n;
  if (!n->bytes) return true;
  n->blob = surg__blob_new(m, n->bytes);
  n->view = SURG__VIEW_OWNED;
  return n->blob && copy_bytes(m, t, n->blob);
}

/* Interns a text of the source in the copy; NULL stays. */
static bool copy_name(cloner *c, const char *text, const char **out) {
  *out = text ? surg__intern(c->to, text, strlen(text)) : NULL;
  return !text || *out;
}

static bool copy_tensor(cloner *c, const surg_tensor *t, surg_tensor **out) {
  *out = NULL;
  if (!t) return true;
  if (c->apart) return rewrite_tensor(c->to, t, out);
  surg_tensor *n = surg__zalloc(c->to, sizeof *n);
  if (!n) return false;
  *n = *t;
  n->model = c->to;
  n->dims = surg__copy(c->to, t->dims, t->rank, sizeof *t->dims);
  if (!n->dims) return false;
  if (!copy_name(c, t->odd_key, &n->odd_key) || !copy_name(c, t->location, &n->location))
    return false;
  if (t->codec) n->codec = surg__codec_copy(c->to, t->codec);
  if (t->codec && !n->codec) return surg__failed(c->to) != NULL;
  if (t->strings && !copy_strings(c, t->strings, t->count, &n->strings)) return false;
  *out = n;
  return true;
}

static bool copy_payload(cloner *c, const surg_attr *a, surg_attr *n) {
  surg_model *m = c->to;
  switch (a->kind) {
    case SURG_ATTR_STRING:
      return !a->u.s.p || surg__copy_str(m, a->u.s, &n->u.s);
    case SURG_ATTR_INTS:
      return (n->u.ints = surg__copy(m, a->u.ints, a->count, sizeof *a->u.ints)) != NULL;
    case SURG_ATTR_FLOATS:
      return (n->u.floats = surg__copy(m, a->u.floats, a->count, sizeof *a->u.floats)) != NULL;
    case SURG_ATTR_STRINGS:
      return copy_strings(c, a->u.strings, a->count, &n->u.strings);
    case SURG_ATTR_TENSOR:
    case SURG_ATTR_TENSORS:
    case SURG_ATTR_SPARSE_TENSOR:
    case SURG_ATTR_SPARSE_TENSORS:
      n->u.tensors = surg__array(m, a->count, sizeof *n->u.tensors);
      for (uint32_t i = 0; n->u.tensors && i < a->count; i++)
        if (!copy_tensor(c, a->u.tensors[i], &n->u.tensors[i])) return false;
      return n->u.tensors != NULL;
    case SURG_ATTR_TYPE_PROTO:
    case SURG_ATTR_TYPE_PROTOS: {
      const surg_type **types = surg__array(m, a->count, sizeof *types);
      for (uint32_t i = 0; types && i < a->count; i++)
        if (!copy_type(c, a->u.types[i], &types[i])) return false;
      n->u.types = types;
      return types != NULL;
    }
    case SURG_ATTR_GRAPH:
    case SURG_ATTR_GRAPHS:
      n->u.graphs = surg__array(m, a->count, sizeof *n->u.graphs);
      for (uint32_t i = 0; n->u.graphs && i < a->count; i++)
        if (a->u.graphs[i]) n->u.graphs[i] = a->u.graphs[i]->work;
      return n->u.graphs != NULL;
    default:
      n->u = a->u;
      return true;
  }
}

static bool fill_attr(cloner *c, const surg_attr *a, surg_attr *n, surg_node *node) {
  n->name = name_of(c, a->name);
  n->untyped = a->untyped;
  n->fields = a->fields;
  n->stray = a->stray;
  n->lost = a->lost;
  n->ref = name_of(c, a->ref);
  n->kind = a->kind;
  n->dirty = a->dirty;
  n->src = a->src;
  n->count = a->count;
  if (c->to->status != SURG_OK || !copy_payload(c, a, n)) return false;
  for (uint32_t i = 0; surg__attr_has_graphs(a) && i < a->count; i++) {
    if (!n->u.graphs[i]) continue;
    n->u.graphs[i]->parent_attr = n;
    n->u.graphs[i]->parent_node = node;
  }
  return true;
}

/* --- graphs --- */

static bool copy_values(cloner *c, surg_graph *g) {
  surg_graph *to = g->work;
  for (surg_value *v = g->first_value; v; v = v->next) {
    const char *name = name_of(c, v->name);
    surg_value *n = name ? surg__value_new(to, name) : NULL;
    if (!n) return false;
    v->work = n;
    n->pinned = v->pinned;
    n->undefined = v->undefined;
    n->named_here = v->named_here;
    n->init_dirty = v->init_dirty;
    n->init_src = v->init_src;
    n->in_value_info = v->in_value_info;
    if (!copy_decl(c, &v->decl, &n->decl)) return false;
  }
  for (const surg_value *v = g->first_init; v; v = v->init_next) {
    surg_tensor *t;
    if (!copy_tensor(c, v->tensor, &t)) return false;
    surg__graph_push_initializer(to, v->work, t);
  }
  return true;
}

static void copy_node_flags(const surg_node *n, surg_node *k) {
  k->order = n->order;
  k->src = n->src;
  k->dirty = n->dirty;
  k->faulty = n->faulty;
  k->kept = n->kept;
  k->opaque = n->opaque;
  k->types_stale = n->types_stale;
  k->io_dirty = n->io_dirty;
  k->name_dirty = n->name_dirty;
  k->op_dirty = n->op_dirty;
  k->attrs_dirty = n->attrs_dirty;
  k->named_here = n->named_here;
}

/* Copies a node without linking its inputs: link_uses links them value by value, to preserve the
 * order of the use lists. */
static bool copy_node(cloner *c, surg_graph *to, surg_node *n) {
  const char *domain = name_of(c, n->domain), *op = name_of(c, n->op_type);
  const char *overload = name_of(c, n->overload), *name = name_of(c, n->name);
  if (c->to->status != SURG_OK) return false;
  surg_node *k = surg__node_new(to, NULL, domain, op, overload, name);
  if (!k || !surg__node_reserve(k, n->n_in, n->n_out, n->n_attr)) return false;
  if (!surg__about_copy(c->to, n->about, &k->about)) return false;
  n->work = k;
  copy_node_flags(n, k);
  assert(!k->prev || k->prev->order < k->order); /* keys increase as in the original model */
  k->n_in = n->n_in;
  for (uint32_t i = 0; i < n->n_out; i++)
    if (!surg__node_link_output(k, i, n->out[i] ? n->out[i]->work : NULL)) return false;
  for (uint32_t i = 0; i < n->n_attr; i++) {
    const char *attr = name_of(c, n->attrs[i]->name);
    surg_attr *a = attr ? surg__node_push_attr(k, attr, n->attrs[i]->kind) : NULL;
    if (!a || !fill_attr(c, n->attrs[i], a, k)) return false;
  }
  return true;
}

static bool copy_interface(cloner *c, surg_graph *g) {
  surg_graph *to = g->work;
  for (size_t i = 0; i < g->n_in; i++)
    if (!surg__graph_push_input(to, g->in[i]->work)) return false;
  for (size_t i = 0; i < g->n_out; i++) {
    const char *name = name_of(c, g->out[i]->name);
    surg__output *o = name ? surg__graph_push_output(to, NULL, name) : NULL;
    if (!o || !copy_decl(c, &g->out[i]->decl, &o->decl)) return false;
  }
  return true;
}

static bool copy_strays(cloner *c, surg_graph *g) {
  surg__stray **tail = &((surg_graph *)g->work)->strays;
  for (const surg__stray *s = g->strays; s; s = s->next) {
    surg__stray *n = surg__zalloc(c->to, sizeof *n);
    if (!n) return false;
    n->src = s->src;
    n->dropped = s->dropped;
    n->name = name_of(c, s->name);
    if (s->type && !copy_type(c, s->type, &n->type)) return false;
    *tail = n;
    tail = &n->next;
  }
  return c->to->status == SURG_OK;
}

static bool copy_graph(cloner *c, surg_graph *g) {
  surg_graph *to = g->work;
  to->name = name_of(c, g->name);
  to->dirty = g->dirty;
  to->sorted_on_load = g->sorted_on_load;
  to->cyclic = g->cyclic;
  to->name_dirty = g->name_dirty;
  to->src = g->src;
  if (!to->name || !surg__about_copy(c->to, g->about, &to->about)) return false;
  for (surg_node *n = g->first; n; n = n->next)
    if (!copy_node(c, to, n)) return false;
  return copy_interface(c, g) && copy_strays(c, g);
}

/* --- uses --- */

static void link_uses(surg_value *v) {
  surg_value *to = v->work;
  assert(to && !to->uses);
  /* Linking an output of the value's own graph puts it first: link in reverse to keep their
   * order. */
  for (surg_use *u = v->last_output; u; u = u->prev)
    if (u->user.graph == v->graph)
      surg__use_link(&((surg_graph *)u->user.graph->work)->out[u->index]->use, to);
  for (surg_use *u = v->uses; u && u != v->first_soft; u = u->next) {
    if (u->kind == SURG_USE_NODE)
      surg__use_link(&((surg_node *)u->user.node->work)->in[u->index], to);
    else if (u->user.graph != v->graph)
      surg__use_link(&((surg_graph *)u->user.graph->work)->out[u->index]->use, to);
  }
}

static surg__soft *copy_soft(cloner *c, const surg__soft *s) {
  surg_value *v = s->use.value;
  surg__soft *n = surg__soft_new(c->to, s->kind, v ? v->work : NULL);
  if (!n) return NULL;
  n->graph = s->graph ? s->graph->work : NULL;
  n->node = s->node ? s->node->work : NULL;
  n->written = name_of(c, s->written);
  n->use.index = s->use.index;
  return n;
}

static bool copy_soft_list(cloner *c, const surg__soft *s, surg__annotation *a, surg__soft **tail) {
  for (; s; s = s->next) {
    surg__soft *n = copy_soft(c, s);
    if (!n) return false;
    n->annotation = a;
    *tail = n;
    tail = &n->next;
  }
  return true;
}

static bool copy_softs(cloner *c, surg_graph *g) {
  surg__annotation **tail = &((surg_graph *)g->work)->annotations;
  for (const surg__annotation *a = g->annotations; a; a = a->next) {
    surg__annotation *n = surg__zalloc(c->to, sizeof *n);
    if (!n) return false;
    n->src = a->src;
    n->dirty = a->dirty;
    n->dropped = a->dropped;
    if (a->subject) {
      n->subject = copy_soft(c, a->subject);
      if (!n->subject) return false;
      n->subject->annotation = n;
    }
    if (!copy_soft_list(c, a->params, n, &n->params)) return false;
    *tail = n;
    tail = &n->next;
  }
  for (const surg_node *n = g->first; n; n = n->next)
    if (!copy_soft_list(c, n->softs, NULL, &((surg_node *)n->work)->softs)) return false;
  return true;
}

/* --- the model --- */

static bool copy_imports(cloner *c, const surg__imports *from, surg__imports *to) {
  for (size_t i = 0; i < from->count; i++) {
    surg__import e = from->items[i];
    e.domain = name_of(c, e.domain);
    if (!e.domain) return false;
    if (!surg__vec_push(c->to->ctx, to, e)) return surg__failed(c->to) != NULL;
  }
  return true;
}

static bool copy_function(cloner *c, surg_function *f) {
  const char *domain = name_of(c, f->domain), *name = name_of(c, f->name);
  const char *overload = name_of(c, f->overload);
  if (c->to->status != SURG_OK) return false;
  surg_function *n = surg__function_new(c->to, domain, name, overload);
  if (!n) return false;
  f->body->work = n->body;
  n->src = f->src;
  n->dirty = f->dirty;
  n->imports_dirty = f->imports_dirty;
  n->attrs_dirty = f->attrs_dirty;
  n->given = f->given ? name_of(c, f->given) : NULL;
  if (!surg__about_copy(c->to, f->about, &n->about)) return false;
  if (!copy_imports(c, &f->imports, &n->imports)) return false;
  for (size_t i = 0; i < f->attrs.count; i++) {
    const char *attr = name_of(c, f->attrs.items[i]);
    if (!attr || !surg__vec_push(c->to->ctx, &n->attrs, attr)) return surg__failed(c->to) != NULL;
  }
  return true;
}

/* Called when all graphs exist, since default attributes may contain graphs. */
static bool copy_defaults(cloner *c, const surg_function *f, surg_function *n) {
  for (size_t i = 0; i < f->defaults.count; i++) {
    surg_attr *a = surg__zalloc(c->to, sizeof *a);
    if (!a || !fill_attr(c, f->defaults.items[i], a, NULL)) return false;
    if (!surg__vec_push(c->to->ctx, &n->defaults, a)) return surg__failed(c->to) != NULL;
  }
  return true;
}

/* Creates all graphs and reorders them as in the original: functions, created first, come too
 * early. */
static bool make_graphs(cloner *c) {
  surg_model *m = c->to;
  for (size_t i = 0; i < c->from->functions.count; i++)
    if (!copy_function(c, c->from->functions.items[i])) return false;
  surg_graph *tail = NULL;
  for (surg_graph *g = c->from->graph; g; g = g->next) {
    surg_graph *n =
        g->kind == SURG_GRAPH_FUNCTION ? g->work : surg__graph_new(m, g->kind, NULL, NULL);
    if (!n) return false;
    assert(n->kind == g->kind);
    g->work = n;
    n->prev = tail;
    tail = n;
  }
  m->graphs_tail = tail;
  for (surg_graph *n = tail, *next = NULL; n; next = n, n = n->prev) n->next = next;
  return true;
}

/* Copies the texts of the model that were set. */
static bool copy_texts(cloner *c) {
  surg__header *h = &c->to->header;
  *h = c->from->header;
  for (size_t i = 0; i < SURG_COUNT(h->texts); i++) {
    const char *text = c->from->header.texts[i];
    h->texts[i] = text ? surg__intern(c->to, text, strlen(text)) : NULL;
    if (text && !h->texts[i]) return false;
  }
  return true;
}

static bool copy_header(cloner *c) {
  const surg_model *f = c->from;
  surg_model *m = c->to;
  m->options = f->options;
  m->freeze_inputs = f->freeze_inputs;
  m->ir_version = f->ir_version;
  m->has_ir_version = f->has_ir_version;
  m->dirty = f->dirty;
  m->header_dirty = f->header_dirty;
  m->epoch = f->epoch;
  m->fresh = f->fresh;
  m->inferred_epoch = f->inferred_epoch;
  m->trust_declared = f->trust_declared;
  m->decoded = f->decoded;
  m->absent = f->absent;
  m->lenient = f->lenient;
  m->read_epoch = f->read_epoch;
  m->owned_resident = f->owned_resident;
  if (!text_of(c, f->options.external_root, &m->options.external_root)) return false;
  if (!copy_texts(c) || !copy_imports(c, &f->imports, &m->imports)) return false;
  for (size_t i = 0; i < f->metadata.count; i++) {
    surg__metadata e = f->metadata.items[i];
    if (!text_of(c, e.key, &e.key) || !text_of(c, e.value, &e.value)) return false;
    if (!surg__vec_push(m->ctx, &m->metadata, e)) return surg__failed(m) != NULL;
  }
  return true;
}

static bool share_payloads(cloner *c) {
  const surg_model *f = c->from;
  surg_model *m = c->to;
  if (!surg__vec_reserve(m->ctx, &m->blobs, f->blobs.count)) return surg__failed(m) != NULL;
  for (size_t i = 0; i < f->blobs.count; i++)
    m->blobs.items[m->blobs.count++] = surg__blob_ref(f->blobs.items[i]);
  m->spill = surg__spill_ref(f->spill);
  m->source = surg__source_ref(f->source);
  /* Lists share a tail: a model adds new files only at the head of its list. */
  m->files = f->files;
  for (surg__datafile *d = f->files; d; d = d->next) surg__datafile_ref(d);
  return true;
}

static bool copy_training(cloner *c) {
  return copy_soft_list(c, c->from->training, NULL, &c->to->training);
}

/* Copies the expressions of a type's dims. They refer to values, so all values must exist. */
static bool copy_exprs(cloner *c, const surg_type *t, const surg_type *n) {
  for (; t && n; t = t->elem, n = n->elem) {
    for (uint32_t i = 0; n->dims && i < n->rank; i++) {
      surg_dim *d = (surg_dim *)(uintptr_t)&n->dims[i]; /* the copy is not shared yet */
      d->expr = surg__expr_copy(c->to, t->dims[i].expr);
    }
  }
  return c->to->status == SURG_OK;
}

static bool copy_elems(cloner *c, const surg_value *v, surg_value *n) {
  const surg__elems *e = v->elems;
  if (!e) return true;
  surg__elems *copy = surg__arena_alloc(&c->to->elems, surg__elems_size(e->n));
  if (!copy) return surg__failed(c->to) != NULL;
  memcpy(copy, e, surg__elems_size(e->n));
  for (uint32_t i = 0; i < e->n; i++) copy->e[i].expr = surg__expr_copy(c->to, e->e[i].expr);
  n->elems = copy;
  return c->to->status == SURG_OK;
}

static bool copy_said(cloner *c, const surg_value *v, surg_value *n) {
  if (!v->said) return true;
  surg_range *r = surg__arena_alloc(&c->to->arena, sizeof *r);
  if (!r) return surg__failed(c->to) != NULL;
  *r = *v->said;
  n->said = r;
  return true;
}

/* Copies inferred types and elements, and the ranges that the user assumed. */
static bool copy_proofs(cloner *c) {
  if (!surg__exprs_copy(c->to, c->from)) return false;
  for (const surg_graph *g = c->from->graph; g; g = g->next) {
    for (const surg_value *v = g->first_value; v; v = v->next) {
      surg_value *n = v->work;
      if (!copy_type(c, v->inferred, &n->inferred) || !copy_exprs(c, v->inferred, n->inferred) ||
          !copy_elems(c, v, n) || !copy_said(c, v, n))
        return false;
    }
  }
  return true;
}

static surg_attr *same_attr(const surg_node *n, const surg_attr *a, const surg_node *copy) {
  assert(!n || n->n_attr == copy->n_attr);
  for (uint32_t i = 0; n && a && i < n->n_attr; i++)
    if (n->attrs[i] == a) return copy->attrs[i];
  return NULL;
}

/* The copy of a tensor of an attribute or initializer; NULL: neither refers to it any more. */
static surg_tensor *same_tensor(const surg__defect *d, const surg__defect *copy) {
  if (copy->value && d->value->tensor == d->tensor) return copy->value->tensor;
  for (uint32_t i = 0; d->attr && copy->attr && i < d->attr->count; i++)
    if (d->attr->u.tensors[i] == d->tensor) return copy->attr->u.tensors[i];
  return NULL;
}

/* Whether the object of a defect was erased, which cures the defect: it has no counterpart in the
 * copy. */
static bool went(const surg__defect *d) {
  return (d->graph && d->graph->erased) || (d->node && d->node->erased) ||
         (d->value && d->value->erased) || (d->function && d->function->erased);
}

static bool copy_defects(cloner *c) {
  const surg_model *f = c->from;
  surg_model *m = c->to;
  m->open_defects = f->open_defects;
  m->unlisted = f->unlisted;
  m->judged_gen = f->judged_gen;
  if (!surg__vec_reserve(m->ctx, &m->defects, f->defects.count)) return surg__failed(m) != NULL;
  for (size_t i = 0; i < f->defects.count; i++) {
    const surg__defect *d = &f->defects.items[i];
    surg__defect n = *d;
    if (!text_of(c, d->text, &n.text) || !text_of(c, d->where, &n.where)) return false;
    n.cured = d->cured || went(d);
    n.domain = name_of(c, d->domain);
    /* `work` of erased objects is stale. */
    n.graph = d->graph && !d->graph->erased ? d->graph->work : NULL;
    n.node = d->node && !d->node->erased ? d->node->work : NULL;
    n.value = d->value && !d->value->erased ? d->value->work : NULL;
    n.first = d->first && !d->first->erased ? d->first->work : NULL;
    n.attr = n.node ? same_attr(d->node, d->attr, n.node) : NULL;
    n.tensor = d->tensor ? same_tensor(d, &n) : NULL;
    n.function = NULL;
    for (size_t k = 0; d->function && k < f->functions.count; k++)
      if (f->functions.items[k] == d->function) n.function = m->functions.items[k];
    m->defects.items[m->defects.count++] = n;
  }
  return true;
}

static bool copy_all(cloner *c) {
  const surg_model *f = c->from;
  if (!share_payloads(c) || !copy_header(c) || !make_graphs(c)) return false;
  for (surg_graph *g = f->graph; g; g = g->next)
    if (!copy_values(c, g)) return false;
  for (surg_graph *g = f->graph; g; g = g->next)
    if (!copy_graph(c, g)) return false;
  if (!copy_proofs(c)) return false;
  for (surg_graph *g = f->graph; g; g = g->next)
    for (surg_value *v = g->first_value; v; v = v->next) link_uses(v);
  for (surg_graph *g = f->graph; g; g = g->next)
    if (!copy_softs(c, g)) return false;
  for (size_t i = 0; i < f->functions.count; i++)
    if (!copy_defaults(c, f->functions.items[i], c->to->functions.items[i])) return false;
  return copy_training(c) && copy_defects(c);
}

static void clear_work(const surg_model *m) {
  for (surg_graph *g = m->graph; g; g = g->next) {
    g->work = NULL;
    for (surg_node *n = g->first; n; n = n->next) n->work = NULL;
    for (surg_value *v = g->first_value; v; v = v->next) v->work = NULL;
  }
}

surg_model *surg_model_clone(const surg_model *model) {
  if (!surg__model_ok(model)) return NULL;
  cloner c = {.from = model, .to = surg__model_alloc(model->ctx)};
  if (!c.to) return NULL;
  bool ok = copy_all(&c);
  clear_work(model);
  if (ok && c.to->status == SURG_OK) return c.to;
  surg_model_free(c.to);
  return NULL;
}

/* --- parts, for lib/ir/splice.c --- */

bool surg__copy_type(surg_model *to, const surg_type *t, const surg_type **out) {
  return copy_type(&(cloner){.to = to, .apart = true}, t, out);
}

bool surg__copy_tensor(surg_model *to, const surg_tensor *t, surg_tensor **out) {
  return copy_tensor(&(cloner){.to = to, .apart = true}, t, out);
}

bool surg__copy_payload(surg_model *to, const surg_attr *a, surg_attr *n) {
  return copy_payload(&(cloner){.to = to, .apart = true}, a, n);
}
