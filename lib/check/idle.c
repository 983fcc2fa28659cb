/* SPDX-License-Identifier: Apache-2.0 */
/* Unused parts of a model: nodes that no output depends on; unused initializers, inputs, imports
 * and functions; and outputs that every run computes alike. */
#include <stdlib.h>

#include "check/check.h"
#include "ir/ir.h"

/* --- backward, from the outputs --- */

typedef SURG_VEC(surg_node *) worklist;
static const char needed_mark, reached_mark; /* their addresses mark a node in `scratch` */

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

/* Marks what a needed node depends on: its inputs and the outputs of its bodies. Other nodes of
 * the bodies remain unmarked. */
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

static void note_initializers(surg__checker *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (surg_value *v = g->first_init; v; v = v->init_next) {
      if (v->uses || v->pinned || (v->input && c->m->ir_version >= 4)) continue;
      const bool described = surg__check_has_text(c);
      surg__check_found(
          c, "N304", described ? surg__check_place(c, v->graph, "initializer", v->name) : NULL,
          "nothing reads it (%llu bytes)", (unsigned long long)(v->tensor ? v->tensor->bytes : 0));
    }
}

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (const char *const *)a;
  const uintptr_t y = (uintptr_t) * (const char *const *)b;
  return x < y ? -1 : x > y;
}

/* The domain in canonical form, "" for "ai.onnx". Domains are interned, so they are compared by
 * address. */
static const char *canonical(const surg_model *m, const char *domain) {
  return strcmp(domain, "ai.onnx") == 0 ? m->none : domain;
}

/* --- one walk over all nodes --- */

static const char called_mark; /* its address marks a body in `scratch` */

typedef struct usage {
  size_t n;             /* number of imports of the model */
  const char **domains; /* the imported domains, sorted by address */
  bool *used;
  const char *last; /* cache of the last lookup: most nodes have the same domain */
  bool outputs;     /* the model has outputs: nodes that none depends on are reported */
} usage;

static void use_domain(const surg_model *m, usage *u, const char *domain) {
  if (domain == u->last) return;
  u->last = domain;
  const char *key = canonical(m, domain);
  const char **at = u->n ? bsearch(&key, u->domains, u->n, sizeof *u->domains, by_address) : NULL;
  if (at) u->used[at - u->domains] = true;
}

/* Reports unused nodes, and records the domains and functions that nodes use. */
static void walk_nodes(surg__checker *c, usage *u) {
  for (surg_graph *g = c->m->graph; g; g = g->next) {
    const bool idle = !u->outputs || (g->parent_node && !g->parent_node->scratch);
    for (surg_node *n = g->first; n; n = n->next) {
      if (!n->scratch && !idle)
        surg__check_found(c, "N302", surg__check_has_text(c) ? surg__locate_node(n) : NULL,
                          "no output of the model needs it");
      use_domain(c->m, u, n->domain);
      const surg_function *f = surg_node_function(n);
      if (f) f->body->scratch = (void *)(uintptr_t)&called_mark;
    }
  }
}

/* Reports unused nodes, and imports that no node uses, including nodes of functions. */
static bool note_nodes(surg__checker *c) {
  const size_t n = c->m->imports.count;
  usage u = {.n = n, .outputs = c->m->graph->n_out > 0};
  u.domains = surg__calloc(c->ctx, n + 1, sizeof *u.domains);
  u.used = surg__calloc(c->ctx, n + 1, sizeof *u.used);
  const bool ok = u.domains && u.used;
  for (size_t i = 0; ok && i < n; i++)
    u.domains[i] = canonical(c->m, c->m->imports.items[i].domain);
  if (ok) {
    qsort(u.domains, n, sizeof *u.domains, by_address);
    walk_nodes(c, &u);
  }
  for (size_t i = 0; ok && i < n; i++)
    if (!u.used[i])
      surg__check_found(c, "N303", "model", "no node needs the import of domain %s",
                        surg__q(c->ctx, u.domains[i]));
  surg__free(c->ctx, u.domains);
  surg__free(c->ctx, u.used);
  return ok;
}

static void note_inputs(surg__checker *c) {
  const surg_graph *g = c->m->graph;
  for (size_t i = 0; i < g->n_in; i++) {
    const surg_value *v = g->in[i];
    if (v->uses || v->pinned || (v->initializer && c->m->ir_version < 4)) continue;
    const bool described = surg__check_has_text(c);
    surg__check_found(c, "N306", described ? surg__check_place(c, g, "input", v->name) : NULL,
                      "nothing reads it");
  }
}

static void note_functions(surg__checker *c) {
  for (size_t i = 0; i < c->m->functions.count; i++) {
    surg_function *f = c->m->functions.items[i];
    if (!f->body->scratch)
      surg__check_found(c, "N308", surg__check_has_text(c) ? surg__locate_graph(f->body) : NULL,
                        "no node calls the function");
    f->body->scratch = NULL;
  }
}

/* --- forward, from the inputs --- */

/* Marks the readers of a value and the nodes whose bodies contain them: all their results depend
 * on the value. */
static bool reach_value(surg__checker *c, worklist *w, const surg_value *v) {
  for (const surg_use *u = v->uses; u; u = u->next) {
    surg_node *n = u->kind == SURG_USE_NODE     ? u->user.node
                   : u->kind == SURG_USE_OUTPUT ? u->user.graph->parent_node
                                                : NULL;
    for (; n && n->scratch != &reached_mark; n = n->graph->parent_node) {
      n->scratch = (void *)(uintptr_t)&reached_mark;
      if (!surg__vec_push(c->ctx, w, n)) return false;
    }
  }
  return true;
}

static bool reach_node(surg__checker *c, worklist *w, const surg_node *n) {
  for (uint32_t i = 0; i < n->n_out; i++)
    if (n->out[i] && !reach_value(c, w, n->out[i])) return false;
  for (size_t k = 0;; k++) {
    const surg_graph *g = surg_node_subgraph(n, k);
    if (!g) return true;
    for (size_t i = 0; i < g->n_in; i++)
      if (!reach_value(c, w, g->in[i])) return false;
  }
}

/* Marks all nodes of the main graph whose results may differ from run to run: those that depend on
 * inputs of the model or on nondeterministic nodes (Random*, custom operators). */
static bool reach_varying(surg__checker *c) {
  worklist w = {0};
  bool ok = true;
  const surg_graph *g = c->m->graph;
  for (size_t i = 0; i < g->n_in && ok; i++) ok = reach_value(c, &w, g->in[i]);
  for (surg_node *n = g->first; n && ok; n = n->next) {
    if (n->scratch == &reached_mark || !surg_node_nondeterministic(n)) continue;
    n->scratch = (void *)(uintptr_t)&reached_mark;
    ok = surg__vec_push(c->ctx, &w, n);
  }
  while (ok && w.count) ok = reach_node(c, &w, w.items[--w.count]);
  surg__vec_free(c->ctx, &w);
  return ok;
}

/* Reports outputs that are equal in every run. A model without inputs is exempt: it is meant to
 * produce constants. */
static bool note_outputs(surg__checker *c) {
  const surg_graph *g = c->m->graph;
  size_t free_inputs = 0;
  for (size_t i = 0; i < g->n_in; i++) free_inputs += !surg_value_constant(g->in[i]);
  if (!free_inputs) return true;
  const bool ok = reach_varying(c);
  for (size_t i = 0; i < g->n_out && ok; i++) {
    const surg_value *v = g->out[i]->use.value;
    if (v->input || (v->producer && v->producer->scratch == &reached_mark)) continue;
    const bool described = surg__check_has_text(c);
    surg__check_found(c, "N305", described ? surg__check_place(c, g, "output", v->name) : NULL,
                      "no input of the model reaches it");
  }
  return ok;
}

void surg__check_idle(surg__checker *c) {
  surg__check_unmark(c->m);
  bool ok = mark_needed(c) && note_nodes(c);
  if (ok) {
    note_initializers(c);
    note_inputs(c);
    note_functions(c);
    ok = note_outputs(c);
  }
  if (!ok) c->failed = surg__alloc_status(c->ctx);
}
