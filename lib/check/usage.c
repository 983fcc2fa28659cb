/* SPDX-License-Identifier: Apache-2.0 */
/* What is doubtful though it runs (warnings), and what nothing needs (notes). */
#include <stdlib.h>

#include "base/dtype.h"
#include "check/check.h"
#include "ir/ir.h"

/* --- warnings --- */

static void check_names(surg__checker *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next) {
      if (!n->name[0]) continue;
      const surg_node *first = surg_graph_find_node(g, n->name);
      if (!first || first == n) continue;
      const bool told = surg__check_told(c);
      surg__check_found(c, "W212", told ? surg__locate_node(n) : NULL,
                        "another node of this graph, %s, bears the name",
                        told ? surg__locate_node(first) : "");
    }
}

static void check_dims(surg__checker *c, const surg_graph *g, const surg_type *t,
                       const char *name) {
  for (int level = 0; t && t->elem && level < 16; level++) t = t->elem;
  if (!t || !t->raw_values) return;
  for (uint32_t i = 0; i < t->rank; i++) {
    if (t->raw_values[i] >= 0) continue;
    const bool told = surg__check_told(c);
    surg__check_found(c, "W213", told ? surg__locate_graph(g) : NULL,
                      "dimension %u of %s is declared as %lld; an unknown one has no value", i,
                      told ? surg__q(c->ctx, name) : "", (long long)t->raw_values[i]);
    return;
  }
}

static void check_all_dims(surg__checker *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next) {
    for (surg_value *v = g->first_value; v; v = v->next) check_dims(c, g, v->decl.type, v->name);
    for (size_t i = 0; i < g->n_out; i++)
      if (g->out[i]->decl.type != g->out[i]->use.value->decl.type)
        check_dims(c, g, g->out[i]->decl.type, g->out[i]->use.value->name);
  }
}

/* The IR version that brought an element type in; 0: all have it. */
static int64_t needs_ir(int dtype) {
  switch (dtype) {
    case SURG_FLOAT8E4M3FN:
    case SURG_FLOAT8E4M3FNUZ:
    case SURG_FLOAT8E5M2:
    case SURG_FLOAT8E5M2FNUZ:
      return 9;
    case SURG_UINT4:
    case SURG_INT4:
      return 10;
    case SURG_FLOAT4E2M1:
      return 11;
    case SURG_FLOAT8E8M0:
      return 12;
    case SURG_UINT2:
    case SURG_INT2:
      return 13;
    default:
      return 0;
  }
}

static void check_ir(surg__checker *c) {
  uint32_t told = 0;
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (surg_value *v = g->first_value; v; v = v->next) {
      const surg_type *t = surg_value_type(v);
      const int dtype = t && t->kind == SURG_TYPE_TENSOR ? t->dtype : SURG_UNDEFINED;
      const int64_t ir = needs_ir(dtype);
      if (ir <= c->m->ir_version || (told >> dtype & 1)) continue;
      told |= UINT32_C(1) << dtype;
      surg__check_found(c, "W214", surg__locate_graph(v->graph),
                        "%s is of type %s, which came with IR version %lld; this is %lld",
                        surg__q(c->ctx, v->name), surg__dtype_name(dtype), (long long)ir,
                        (long long)c->m->ir_version);
    }
  if (c->m->functions.count && c->m->ir_version < 8)
    surg__check_found(c, "W215", "model",
                      "has functions, which came with IR version 8; this is %lld",
                      (long long)c->m->ir_version);
}

void surg__check_warnings(surg__checker *c) {
  check_names(c);
  check_all_dims(c);
  check_ir(c);
  if (c->m->graph->n_out == 0)
    surg__check_found(c, "W216", surg__locate_graph(c->m->graph), "has no outputs");
}

/* --- what nothing needs --- */

typedef SURG_VEC(surg_node *) worklist;
static const char needed_mark; /* its address marks a node in `scratch` */

static bool need(surg__checker *c, worklist *w, const surg_value *v) {
  surg_node *n = v ? v->producer : NULL;
  if (!n || n->scratch) return true;
  n->scratch = (void *)(uintptr_t)&needed_mark;
  return surg__vec_push(c->ctx, w, n);
}

static bool need_outputs(surg__checker *c, worklist *w, const surg_graph *g) {
  for (size_t i = 0; g && i < g->n_out; i++)
    if (!need(c, w, g->out[i]->use.value)) return false;
  return true;
}

/* Bodies of a needed node are needed; what their outputs do not read is not. */
static bool need_inside(surg__checker *c, worklist *w, const surg_node *n) {
  for (uint32_t i = 0; i < n->n_in; i++)
    if (!need(c, w, n->in[i].value)) return false;
  for (size_t k = 0;; k++) {
    surg_graph *g = surg_node_subgraph(n, k);
    if (!g) return true;
    if (!need_outputs(c, w, g)) return false;
  }
}

static bool mark_needed(surg__checker *c) {
  worklist w = {0};
  bool ok = true;
  for (surg_graph *g = c->m->graph; g && ok; g = g->next) {
    if (!g->parent_node) ok = need_outputs(c, &w, g);
    for (surg_value *v = g->first_value; v && ok; v = v->next)
      if (v->pinned) ok = need(c, &w, v);
  }
  while (ok && w.count) ok = need_inside(c, &w, w.items[--w.count]);
  surg__vec_free(c->ctx, &w);
  return ok;
}

static void note_nodes(surg__checker *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next) {
    if (g->parent_node && !g->parent_node->scratch) continue;
    for (surg_node *n = g->first; n; n = n->next)
      if (!n->scratch)
        surg__check_found(c, "N302", surg__check_told(c) ? surg__locate_node(n) : NULL,
                          "no output of the model needs it");
  }
}

static void unmark(surg__checker *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next) n->scratch = NULL;
}

static void note_initializers(surg__checker *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (surg_value *v = g->first_init; v; v = v->init_next) {
      if (v->uses || v->pinned || (v->input && c->m->ir_version >= 4)) continue;
      const bool told = surg__check_told(c);
      surg__check_found(c, "N304", told ? surg__locate_graph(v->graph) : NULL,
                        "nothing reads initializer %s of %llu bytes",
                        told ? surg__q(c->ctx, v->name) : "",
                        (unsigned long long)(v->tensor ? v->tensor->bytes : 0));
    }
}

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (const char *const *)a;
  const uintptr_t y = (uintptr_t) * (const char *const *)b;
  return x < y ? -1 : x > y;
}

/* Domains are interned, so an address stands for one; "ai.onnx" is told as "". */
static const char *canonical(const surg_model *m, const char *domain) {
  return strcmp(domain, "ai.onnx") == 0 ? m->none : domain;
}

/* Imports that no node asks for, of functions' nodes either. */
static bool note_imports(surg__checker *c) {
  const size_t n = c->m->imports.count;
  if (!n) return true;
  const char **domains = surg__calloc(c->ctx, n, sizeof *domains);
  bool *used = surg__calloc(c->ctx, n, sizeof *used);
  bool ok = domains && used;
  for (size_t i = 0; ok && i < n; i++) domains[i] = canonical(c->m, c->m->imports.items[i].domain);
  if (ok) qsort(domains, n, sizeof *domains, by_address);
  const char *last = NULL;
  for (surg_graph *g = c->m->graph; ok && g; g = g->next)
    for (surg_node *node = g->first; node; node = node->next) {
      if (node->domain == last) continue;
      last = node->domain;
      const char *key = canonical(c->m, last);
      const char **at = bsearch(&key, domains, n, sizeof *domains, by_address);
      if (at) used[at - domains] = true;
    }
  for (size_t i = 0; ok && i < n; i++)
    if (!used[i])
      surg__check_found(c, "N303", "model", "no node needs the import of domain %s",
                        surg__q(c->ctx, domains[i]));
  surg__free(c->ctx, domains);
  surg__free(c->ctx, used);
  return ok;
}

void surg__check_notes(surg__checker *c) {
  unmark(c);
  const bool marked = mark_needed(c);
  if (marked && c->m->graph->n_out) note_nodes(c);
  unmark(c);
  if (!marked || !note_imports(c)) {
    c->failed = surg__alloc_status(c->ctx);
    return;
  }
  note_initializers(c);
}
