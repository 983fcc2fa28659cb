/* SPDX-License-Identifier: Apache-2.0 */
/* The opset imports of a model as an engine reads them: the last of two imports of a domain, its
 * newest version of a domain that the model uses without an import, and for the bodies of functions
 * the imports of the model if it inlines them. */
#include "base/context.h"
#include "ir/ir.h"
#include "target/judge.h"
#include "target/verdict.h"

/* Exchanges the imported versions with those the engine uses, or back: of two imports of one domain
 * the engine uses the last, a lenient load the newest. Returns whether something changed. */
static bool swap(surg_model *m) {
  bool changed = false;
  for (size_t i = 0; i < m->imports.count; i++) {
    surg__import *import = &m->imports.items[i];
    if (!import->last || import->last == import->version) continue;
    const int64_t other = import->version;
    import->version = import->last;
    import->last = other;
    changed = true;
  }
  return changed;
}

static bool same_domain(const char *have, const char *domain) {
  return strcmp(strcmp(have, "ai.onnx") == 0 ? "" : have, domain) == 0;
}

static bool is_imported(const surg_model *m, const char *domain) {
  for (size_t i = 0; i < m->imports.count; i++)
    if (same_domain(m->imports.items[i].domain, domain)) return true;
  return false;
}

/* Whether a node of the main graph or its subgraphs is of the domain. Functions have imports of
 * their own. */
static bool is_used(const surg__target *t, surg_model *m, const char *domain) {
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) {
    const surg_function *f = surg_graph_function(g);
    if (f && !(t->inlined && f->called)) continue;
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (same_domain(surg_node_domain(n), domain)) return true;
  }
  return false;
}

bool surg__judge_idle_import(surg_model *m, const surg__defect *d) {
  if (!d->domain || same_domain(d->domain, "")) return false;
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if ((!d->function || surg_graph_function(g) == d->function) &&
          same_domain(surg_node_domain(n), d->domain))
        return false;
  return true;
}

/* Adds imports of the domains that the model uses and does not import, at the newest version of
 * the engine. */
static surg_status supply(const surg__target *t, surg_model *m) {
  if (!m->imports.count) return SURG_OK; /* an engine that accepts this chooses another version */
  for (size_t i = 0; i < t->opsets.count; i++) {
    const surg__tspan *span = &t->opsets.items[i];
    if (span->high == INT64_MAX || is_imported(m, span->name)) continue;
    if (!is_used(t, m, span->name)) continue;
    const char *domain = surg__intern(m, span->name, strlen(span->name));
    const surg__import import = {.domain = domain, .version = span->high};
    if (!domain || !surg__vec_push(m->ctx, &m->imports, import)) return surg__alloc_status(t->ctx);
  }
  return SURG_OK;
}

bool surg__imports_replaced(const surg_model *m, const char *domain) {
  for (size_t i = 0; i < m->imports.count; i++) {
    const surg__import *import = &m->imports.items[i];
    if (!same_domain(import->domain, domain)) continue;
    return import->last > import->version || (!import->dirty && !import->src.body.len);
  }
  return false;
}

/* Replaces the imports of functions by those of the model. */
static surg_status inline_imports(surg_model *m, surg__imports_as_read *kept) {
  for (size_t i = 0; i < m->functions.count; i++) {
    surg_function *f = m->functions.items[i];
    for (size_t k = 0; k < f->imports.count; k++) {
      surg__import *import = &f->imports.items[k];
      const int64_t used = surg_model_opset(m, import->domain);
      const surg__import_kept one = {f, k, import->version};
      if (!used || used == import->version) continue;
      if (!surg__vec_push(m->ctx, &kept->bodies, one)) return surg__alloc_status(m->ctx);
      import->version = used;
    }
  }
  return SURG_OK;
}

static bool is_open(const surg__defect *d) {
  return d->node && !d->node->erased && !d->cured && d->severity == SURG_ERROR;
}

static void mark(surg_node *n, bool faulty) {
  n->faulty = n->opaque = faulty;
  n->resolved = false;
  n->types_stale = true;
}

/* With `faulty` false, nodes whose only error is the missing import get a schema, so that they can
 * be judged; with true they are as they were loaded. */
static void mark_unimported(surg_model *m, bool faulty) {
  for (size_t i = 0; i < m->defects.count; i++) {
    const surg__defect *d = &m->defects.items[i];
    if (is_open(d) && strcmp(d->code, "E104") == 0) mark(d->node, faulty);
  }
  for (size_t i = 0; i < m->defects.count && !faulty; i++) {
    const surg__defect *d = &m->defects.items[i];
    if (is_open(d) && strcmp(d->code, "E104") != 0) mark(d->node, true);
  }
}

static void reread(surg_model *m) {
  surg__model_unresolve(m);
  m->inferred_epoch = 0;
}

surg_status surg__imports_begin(const surg__target *t, surg_model *m, surg__imports_as_read *kept) {
  *kept = (surg__imports_as_read){.count = m->imports.count};
  kept->swapped = t->last_import && swap(m);
  surg_status s = surg__target_finding(t, "E104") == SURG__LEGAL ? supply(t, m) : SURG_OK;
  if (s == SURG_OK && t->inlined) s = inline_imports(m, kept);
  if (m->imports.count != kept->count) mark_unimported(m, false);
  if (kept->swapped || kept->bodies.count || m->imports.count != kept->count) reread(m);
  return s;
}

void surg__imports_end(surg_model *m, surg__imports_as_read *kept) {
  for (size_t i = kept->bodies.count; i--;) {
    const surg__import_kept *one = &kept->bodies.items[i];
    one->function->imports.items[one->index].version = one->version;
  }
  if (m->imports.count != kept->count) mark_unimported(m, true);
  if (kept->swapped || kept->bodies.count || m->imports.count != kept->count) {
    m->imports.count = kept->count;
    if (kept->swapped) swap(m);
    reread(m);
  }
  surg__vec_free(m->ctx, &kept->bodies);
}
