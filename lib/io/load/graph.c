/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the definitions of a graph: inputs, initializers, nodes with their outputs and
 * attributes. Each name has one definition, except that an initializer can be the default of an
 * input. */
#include "io/load/load.h"

/* Codes of a second definition: of any value, and of an initializer with the same type and dims. */
#define NAME_TWICE "E113"
#define INIT_TWICE "E136"

typedef struct fields {
  uint32_t node, input, initializer, sparse; /* 0: no such field */
} fields;

static const fields graph_fields = {1, 11, 5, 15};
static const fields function_fields = {7, 4, 0, 0};

surg_value *surg__load_lookup(const surg_graph *g, const char *name, surg_graph **where) {
  while (g) {
    surg_value *v = surg__find_value(g, name);
    if (v) {
      *where = v->graph;
      return v;
    }
    g = g->parent_node ? g->parent_node->graph : NULL;
  }
  return NULL;
}

static bool clash(surg__loader *L, uint64_t off, const surg_value *v, const char *code) {
  surg__mark mark = surg__arena_mark(&L->scratch);
  bool go_on = surg__load_bad(L, off, code, "%s is already %s", surg__q(L->ctx, v->name),
                              !strcmp(code, INIT_TWICE) ? "an initializer"
                                                        : surg__load_definition(L, v));
  surg__load_about(L, &(surg__defect){.graph = v->graph, .reading = SURG_READING_GUESS});
  surg__arena_reset(&L->scratch, mark);
  return go_on;
}

static bool same_message(surg__loader *L, surg__span a, surg__span b) {
  if (a.len != b.len) return false;
  return surg__source_need(L->src, a.off, a.len) == SURG_OK &&
         surg__source_need(L->src, b.off, b.len) == SURG_OK &&
         memcmp(L->src->base + a.off, L->src->base + b.off, (size_t)a.len) == 0;
}

/* Drops a second definition with identical content, if the policy permits it. */
static bool drop_twin(surg__loader *L, surg_graph *g, const surg__field *f, surg__span first,
                      const char *code) {
  if (L->policy != SURG_LOAD_REPAIR && !L->lenient) return false;
  if (!same_message(L, first, f->body)) return false;
  if (L->lenient) {
    surg__load_bad(L, f->off, code, "an equal entry is before it");
    surg__load_about(L, &(surg__defect){.graph = g, .reading = SURG_READING_CERTAIN});
  } else {
    surg__load_repaired(L, f->off, "duplicate of an earlier entry: dropped");
  }
  surg__touch_graph(g);
  return true;
}

/* The value to define under the name of `v` (or NULL). `taken`: the code of the finding if the
 * name is already defined; a lenient load then creates a separate value for the second
 * definition. Returns NULL on failure or after a finding; see L->status. */
static surg_value *to_define(surg__loader *L, surg_graph *g, const surg__field *f, surg_value *v,
                             const char *taken, const char *name) {
  if (taken) {
    if (!clash(L, f->off, v, taken) || !L->lenient) return NULL;
    surg_value *first = v;
    v = surg__load_twin(L, v);
    surg__load_about(L, &(surg__defect){.value = v, .first = first});
    return v;
  }
  if (!v && !(v = surg__value_new(g, name))) surg__load_oom(L);
  return v;
}

/* Reports a definition without a name. A lenient load creates a value that cannot be read. */
static surg_value *nameless(surg__loader *L, surg_graph *g, const surg__field *f,
                            const char *what) {
  if (!surg__load_bad(L, f->off, "E129", "%s without a name", what) || !L->lenient) return NULL;
  surg_value *v = surg__value_new(g, L->m->none);
  if (!v) surg__load_oom(L);
  surg__load_about(L, &(surg__defect){.graph = g, .value = v});
  return v;
}

/* Whether two tensors have the same element type and dims. */
static bool same_kind(const surg_tensor *a, const surg_tensor *b) {
  if (!a || !b || a->dtype != b->dtype || a->rank != b->rank) return false;
  for (uint32_t i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

static bool define_initializer(surg__loader *L, surg_graph *g, const surg__field *f, bool sparse) {
  const char *name;
  const size_t found = L->m->defects.count;
  surg_tensor *t = sparse ? surg__load_sparse(L, f, &name) : surg__load_tensor(L, f, &name);
  if (L->status != SURG_OK) return false;
  surg_value *v = *name ? surg__find_value(g, name) : NULL;
  const bool twice = v && v->initializer && same_kind(v->tensor, t);
  if (twice && drop_twin(L, g, f, v->init_src.body, INIT_TWICE)) return L->status == SURG_OK;
  const char *taken = twice                                  ? INIT_TWICE
                      : v && (v->producer || v->initializer) ? NAME_TWICE
                                                             : NULL;
  v = *name ? to_define(L, g, f, v, taken, name)
            : nameless(L, g, f, "an initializer");
  if (!v) return L->status == SURG_OK;
  if (t) surg__graph_push_initializer(g, v, t);
  v->initializer = true;
  v->init_src = surg__load_src(f);
  surg__load_own(L, found, v, NULL);
  if (t && t->defective) {
    v->init_dirty = true;
    surg__touch_graph(g);
  }
  return true;
}

static bool push_input(surg__loader *L, surg_graph *g, const surg__field *f, const char *name,
                       const surg_type *type) {
  surg_value *v = *name ? surg__find_value(g, name) : NULL;
  /* Calls of a function pass inputs by their place. */
  const bool drops = v && v->input && v->decl.src.body.len && g->kind != SURG_GRAPH_FUNCTION;
  if (drops && drop_twin(L, g, f, v->decl.src.body, NAME_TWICE))
    return L->status == SURG_OK;
  v = *name ? to_define(L, g, f, v, v && (v->producer || v->input) ? NAME_TWICE : NULL, name)
            : nameless(L, g, f, "an input");
  if (!v) return L->status == SURG_OK;
  if (!surg__graph_push_input(g, v)) return surg__load_oom(L);
  v->decl.src = surg__load_src(f);
  v->decl.type = type;
  return true;
}

static bool define_input(surg__loader *L, surg_graph *g, const surg__field *f) {
  if (g->kind == SURG_GRAPH_FUNCTION) {
    const char *name = surg__load_name(L, f);
    return name && push_input(L, g, f, name, NULL);
  }
  surg__mark mark = surg__arena_mark(&L->scratch);
  const Onnx__ValueInfoProto *p =
      surg__load_leaf(L, &onnx__value_info_proto__descriptor, f->body, 0);
  const char *name = p ? surg__load_intern(L, p->name) : NULL;
  const surg_type *type = name ? surg__load_type(L, p->type) : NULL;
  bool ok = name && L->status == SURG_OK && push_input(L, g, f, name, type);
  const size_t found = L->m->defects.count, n_in = surg_graph_input_count(g);
  if (ok && g->kind == SURG_GRAPH_MAIN) ok = surg__load_check_interface(L, f->off, type, true);
  if (ok && n_in) surg__load_own(L, found, surg_graph_input(g, n_in - 1), NULL);
  if (ok) surg__load_check_dims(L, f->off, p->type);
  surg__arena_reset(&L->scratch, mark);
  return ok;
}

typedef struct node_head {
  const char *name, *op_type, *domain, *overload;
  size_t n_in, n_out, n_attr;
} node_head;

static bool read_head(surg__loader *L, const surg__field *node, node_head *h) {
  const char *empty = surg__load_intern(L, "");
  if (!empty) return false;
  *h = (node_head){empty, empty, empty, empty, 0, 0, 0};
  surg__cursor c = surg__load_cursor(L, node->body);
  surg__field f;
  while (surg__load_next(L, &c, &f)) {
    const char **slot = NULL;
    switch (f.number) {
      case 1:
        h->n_in++;
        break;
      case 2:
        h->n_out++;
        break;
      case 3:
        slot = &h->name;
        break;
      case 4:
        slot = &h->op_type;
        break;
      case 5:
        h->n_attr++;
        break;
      case 7:
        slot = &h->domain;
        break;
      case 8:
        slot = &h->overload;
        break;
      default:
        break;
    }
    if (slot && !(*slot = surg__load_name(L, &f))) return false;
  }
  return L->status == SURG_OK;
}

/* Whether the value of an outer graph is defined before the node that contains g. */
static bool visible(const surg_value *v, const surg_graph *at, const surg_graph *g) {
  while (g->parent_node->graph != at) g = g->parent_node->graph;
  return !v->producer || v->producer->order < g->parent_node->order;
}

bool surg__load_hides(const surg_value *inner) {
  surg_graph *at;
  const surg_graph *g = inner->graph;
  if (!g->parent_node) return false;
  const surg_value *v = surg__load_lookup(g->parent_node->graph, inner->name, &at);
  return v && visible(v, at, g);
}

/* Checks that the output of a node in a subgraph does not have the name of a value visible from
 * the enclosing graphs, as ONNX requires. */
static bool check_hiding(surg__loader *L, const surg_graph *g, surg_value *inner, const char *name,
                         const surg__field *f) {
  surg_graph *at;
  if (!L->all || !g->parent_node) return true;
  const surg_value *v = surg__load_lookup(g->parent_node->graph, name, &at);
  if (v && visible(v, at, g)) {
    const bool go_on = surg__load_unclean(L, f->off, "E132", "hides a value of an outer graph");
    surg__load_about(L, &(surg__defect){.value = inner});
    return go_on;
  }
  if (v && !L->lenient)
    surg__load_warn(L, f->off, "W205", "has the name of a later value of an outer graph");
  return true;
}

static bool define_output(surg__loader *L, surg_node *n, size_t i, const surg__field *f) {
  const char *name = surg__load_name(L, f);
  if (!name) return false;
  surg_value *v = NULL;
  if (*name) {
    v = surg__find_value(n->graph, name);
    const bool first = !v;
    v = to_define(L, n->graph, f, v, v ? NAME_TWICE : NULL, name);
    if (L->status != SURG_OK) return false;
    /* Under CHECK the second definition is left out. */
    if (first && !check_hiding(L, n->graph, v, name, f)) return false;
  }
  return surg__node_link_output(n, i, v) || surg__load_oom(L);
}

static bool define_node(surg__loader *L, surg_graph *g, const surg__field *node) {
  node_head h;
  if (!read_head(L, node, &h)) return false;
  if (!*h.op_type && !surg__load_bad(L, node->off, "E129", "has no op_type")) return false;
  surg_node *n = surg__node_new(g, NULL, h.domain, h.op_type, h.overload, h.name);
  if (!n || !surg__node_reserve(n, h.n_in, h.n_out, h.n_attr)) return surg__load_oom(L);
  n->src = surg__load_src(node);
  L->node = n;
  if (!*h.op_type) {
    n->faulty = true;
    surg__load_about(L, &(surg__defect){.graph = g, .node = n});
  }
  surg__cursor c = surg__load_cursor(L, node->body);
  surg__field f;
  size_t i = 0;
  while (surg__load_next(L, &c, &f)) {
    if (f.number == 2 && !define_output(L, n, i++, &f)) return false;
    if (f.number == 5 && !surg__load_attr(L, &f, n, NULL)) return false;
  }
  return L->status == SURG_OK;
}

/* Adds a field to the ranges of initializers. */
static bool pass_over(surg__loader *L, uint64_t from, uint64_t to) {
  surg__span *last = L->inits.count ? &L->inits.items[L->inits.count - 1] : NULL;
  if (last && last->off + last->len == from) {
    last->len = to - last->off;
    return true;
  }
  const surg__span range = {from, to - from};
  return surg__vec_push(L->ctx, &L->inits, range) || surg__load_oom(L);
}

bool surg__load_define(surg__loader *L, surg_graph *g) {
  const fields *number = g->kind == SURG_GRAPH_FUNCTION ? &function_fields : &graph_fields;
  surg__cursor c = surg__load_cursor(L, g->src.body);
  surg__field f;
  bool ok = true;
  L->inits.count = 0;
  while (ok && surg__load_next(L, &c, &f)) {
    if (g->kind == SURG_GRAPH_MAIN) surg__source_drop(L->src);
    if (f.number == number->initializer) ok = pass_over(L, f.off, c.pos);
    if (!ok) return false;
    L->node = g->parent_node; /* a finding in a body is a finding of its node */
    if (f.number == number->node)
      ok = define_node(L, g, &f);
    else if (f.number == number->input)
      ok = define_input(L, g, &f);
    else if (f.number == number->initializer)
      ok = define_initializer(L, g, &f, false);
    else if (f.number == number->sparse)
      ok = define_initializer(L, g, &f, true);
    else if (f.number == 2 && g->kind != SURG_GRAPH_FUNCTION)
      ok = (g->name = surg__load_name(L, &f)) != NULL;
  }
  return ok && L->status == SURG_OK;
}
