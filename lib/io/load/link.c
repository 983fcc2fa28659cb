/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves the names that a graph refers to: node inputs, graph outputs, declared types of
 * values, and references that renames must update (annotations, sharding). */
#include "io/load/load.h"

typedef struct linker {
  surg__loader *L;
  surg_graph *g;
  surg__annotation **annotations; /* link to the next list element */
  surg__stray **strays;
} linker;

/* The node of graph `at` that contains graph g, directly or nested. */
static const surg_node *holder(const surg_graph *g, const surg_graph *at) {
  while (g->parent_node->graph != at) g = g->parent_node->graph;
  return g->parent_node;
}

/* Records that graph `at` must be sorted if v's producer is not before the node that reads v.
 * `reader` is NULL for an output of g. */
static void note_order(linker *k, const surg_value *v, surg_graph *at, surg_node *reader) {
  if (!v->producer) return;
  const surg_node *n = at == k->g ? reader : holder(k->g, at);
  if (n && v->producer->order >= n->order && !at->scratch)
    at->scratch = reader ? reader : k->g->parent_node;
}

static bool link_input(linker *k, surg_node *n, size_t i, const surg__field *f) {
  surg__loader *L = k->L;
  const char *name = surg__load_name(L, f);
  if (!name) return false;
  surg_value *v = NULL;
  surg_graph *at = NULL;
  if (*name) {
    v = surg__load_lookup(k->g, name, &at);
    if (v && L->twins) v = surg__load_meant(L, v, at == k->g ? n : holder(k->g, at));
    if ((!v || v->undefined) && !surg__load_bad(L, f->off, "E110", "not defined")) return false;
    if (!v && L->lenient && !(v = surg__load_undefined(L, k->g, name))) return false;
    if (v && v->undefined)
      surg__load_about(L, &(surg__defect){.value = v});
    else if (v)
      note_order(k, v, at, n);
  }
  return surg__node_link_input(n, i, v) || surg__load_oom(L);
}

/* Reads the sharding specs of a node and links the values they name, so that renames update
 * them. */
static bool link_sharding(linker *k, surg_node *n, const surg__field *f) {
  surg__loader *L = k->L;
  surg__mark mark = surg__arena_mark(&L->scratch);
  const Onnx__NodeDeviceConfigurationProto *p =
      surg__load_leaf(L, &onnx__node_device_configuration_proto__descriptor, f->body, 0);
  for (size_t i = 0; p && i < p->n_sharding_spec && L->status == SURG_OK; i++) {
    const char *name = surg__load_intern(L, p->sharding_spec[i]->tensor_name);
    surg_graph *at;
    surg_value *v = name && *name ? surg__load_lookup(k->g, name, &at) : NULL;
    if (!v) continue;
    surg__soft *s = surg__soft_new(L->m, SURG__SOFT_SHARDING, v);
    if (!s) {
      surg__load_oom(L);
      break;
    }
    s->graph = k->g;
    s->node = n;
    s->next = n->softs;
    n->softs = s;
  }
  surg__arena_reset(&L->scratch, mark);
  return L->status == SURG_OK;
}

static bool link_node(linker *k, surg_node *n) {
  surg__cursor c = surg__load_cursor(k->L, n->src.body);
  surg__field f;
  size_t i = 0;
  while (surg__load_next(k->L, &c, &f)) {
    if (f.number == 1 && !link_input(k, n, i++, &f)) return false;
    if (f.number == 10 && !link_sharding(k, n, &f)) return false;
  }
  return k->L->status == SURG_OK;
}

static bool link_output(linker *k, const surg__field *f, const char *name, const surg_type *type) {
  surg__loader *L = k->L;
  surg_graph *at = NULL;
  surg_value *v = *name ? surg__load_lookup(k->g, name, &at) : NULL;
  if (v && L->twins) v = surg__load_meant(L, v, at == k->g ? NULL : holder(k->g, at));
  if (!v || v->undefined) {
    const bool go_on = *name ? surg__load_bad(L, f->off, "E110", "not defined")
                             : surg__load_bad(L, f->off, "E129", "an output without a name");
    if (!go_on || !L->lenient) return go_on;
    if (!v && !(v = surg__load_undefined(L, k->g, name))) return false;
    surg__load_about(L, &(surg__defect){.graph = k->g, .value = v});
  } else if (at != k->g) {
    if (!surg__load_unclean(L, f->off, "E106", "is a value of an outer graph")) return false;
    surg__load_about(L, &(surg__defect){.graph = k->g, .value = v});
    note_order(k, v, at, NULL);
  }
  if (v->scratch == k->g && k->g->kind != SURG_GRAPH_FUNCTION)
    surg__load_warn(L, f->off, "W201", "is an output twice");
  else if (v->scratch == k->g &&
           !surg__load_unclean(L, f->off, "E124", "is an output of the function twice"))
    return false;
  v->scratch = k->g;
  surg__output *o = surg__graph_push_output(k->g, v, name);
  if (!o) return surg__load_oom(L);
  const size_t found = L->m->defects.count;
  if (k->g->kind == SURG_GRAPH_MAIN && !surg__load_check_interface(L, f->off, type, false))
    return false;
  surg__load_own(L, found, v, NULL);
  if (k->g->kind != SURG_GRAPH_FUNCTION) {
    o->decl.src = surg__load_src(f);
    o->decl.type = type;
  }
  return true;
}

static bool add_stray(linker *k, const surg__field *f, const char *name, const surg_type *type,
                      const surg_value *v) {
  surg__loader *L = k->L;
  if (L->policy == SURG_LOAD_CHECK)
    surg__load_warn(L, f->off, v ? "W202" : "W203",
                    v ? "is described twice" : "describes no value of this graph");
  if (v && !v->input && L->policy == SURG_LOAD_REPAIR) {
    surg__load_repaired(L, f->off, "the value is described twice: dropped");
    surg__touch_graph(k->g);
    return true;
  }
  surg__stray *s = surg__arena_zalloc(&L->m->arena, sizeof *s);
  if (!s) return surg__load_oom(L);
  s->src = surg__load_src(f);
  s->name = name;
  s->type = type;
  *k->strays = s;
  k->strays = &s->next;
  return true;
}

static bool link_value_info(linker *k, const surg__field *f, const char *name,
                            const surg_type *type) {
  surg_graph *at = NULL;
  surg_value *v = *name ? surg__load_lookup(k->g, name, &at) : NULL;
  if (v && at != k->g) v = NULL;
  /* The inputs of a function have names only: value_info declares their types. */
  const bool declared = v && v->input && k->g->kind != SURG_GRAPH_FUNCTION;
  if (!v || declared || v->in_value_info) return add_stray(k, f, name, type, v);
  v->decl.src = surg__load_src(f);
  v->decl.type = type;
  v->in_value_info = true;
  return true;
}

typedef bool (*declare)(linker *k, const surg__field *f, const char *name, const surg_type *type);

static bool link_declared(linker *k, const surg__field *f, declare fn) {
  surg__loader *L = k->L;
  surg__mark mark = surg__arena_mark(&L->scratch);
  const Onnx__ValueInfoProto *p =
      surg__load_leaf(L, &onnx__value_info_proto__descriptor, f->body, 0);
  const char *name = p ? surg__load_intern(L, p->name) : NULL;
  const surg_type *type = name ? surg__load_type(L, p->type) : NULL;
  bool ok = name && L->status == SURG_OK && fn(k, f, name, type);
  if (ok) surg__load_check_dims(L, f->off, p->type);
  surg__arena_reset(&L->scratch, mark);
  return ok;
}

static surg__soft *annotate(linker *k, surg__annotation *a, const char *text) {
  const char *name = surg__load_intern(k->L, text);
  surg_graph *at;
  surg_value *v = name && *name ? surg__load_lookup(k->g, name, &at) : NULL;
  if (!v) return NULL;
  surg__soft *s = surg__soft_new(k->L->m, SURG__SOFT_ANNOTATION, v);
  if (!s) {
    surg__load_oom(k->L);
    return NULL;
  }
  s->graph = k->g;
  s->annotation = a;
  return s;
}

static bool link_annotation(linker *k, const surg__field *f) {
  surg__loader *L = k->L;
  surg__mark mark = surg__arena_mark(&L->scratch);
  const Onnx__TensorAnnotation *p =
      surg__load_leaf(L, &onnx__tensor_annotation__descriptor, f->body, 0);
  surg__annotation *a = p ? surg__arena_zalloc(&L->m->arena, sizeof *a) : NULL;
  if (p && !a) surg__load_oom(L);
  if (a) {
    a->src = surg__load_src(f);
    a->subject = annotate(k, a, p->tensor_name);
    surg__soft **tail = &a->params;
    for (size_t i = 0; i < p->n_quant_parameter_tensor_names && L->status == SURG_OK; i++) {
      surg__soft *s = annotate(k, a, p->quant_parameter_tensor_names[i]->value);
      if (!s) continue;
      *tail = s;
      tail = &s->next;
    }
    *k->annotations = a;
    k->annotations = &a->next;
  }
  surg__arena_reset(&L->scratch, mark);
  return L->status == SURG_OK;
}

static bool link_field(linker *k, const surg__field *f) {
  if (k->g->kind == SURG_GRAPH_FUNCTION) {
    if (f->number == 5) {
      const char *name = surg__load_name(k->L, f);
      return name && link_output(k, f, name, NULL);
    }
    return f->number != 12 || link_declared(k, f, link_value_info);
  }
  switch (f->number) {
    case 12:
      return link_declared(k, f, link_output);
    case 13:
      return link_declared(k, f, link_value_info);
    case 14:
      return link_annotation(k, f);
    default:
      return true;
  }
}

bool surg__load_link(surg__loader *L, surg_graph *g) {
  linker k = {L, g, &g->annotations, &g->strays};
  for (surg_node *n = g->first; n; n = n->next) {
    L->node = n;
    if (!surg__load_tick(L, n->src.body.off) || !link_node(&k, n)) return false;
  }
  L->node = g->parent_node;
  surg__cursor c = surg__load_cursor(L, g->src.body);
  surg__field f;
  bool ok = true;
  for (size_t i = 0; ok;) {
    const surg__span *inits = i < L->inits.count ? &L->inits.items[i] : NULL;
    if (inits && c.pos == inits->off) {
      c.pos += inits->len;
      i++;
    } else if (surg__load_next(L, &c, &f)) {
      ok = link_field(&k, &f);
    } else {
      break;
    }
  }
  for (size_t i = 0; i < g->n_out; i++)
    if (g->out[i]->use.value) g->out[i]->use.value->scratch = NULL;
  return ok && L->status == SURG_OK;
}
