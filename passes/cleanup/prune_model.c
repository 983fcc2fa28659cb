/* SPDX-License-Identifier: Apache-2.0 */
/* prune: removes model functions that no call reaches, and imports of unused domains. The import
 * of the default domain always stays: later passes may add constants. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "prune.h"

/* Whether the model has training graphs. They are not parsed, and may call functions and
 * operators. */
static bool has_training(const surg_model *m) {
  const surg_graph *g = surg_model_graph(m);
  for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
    if (surg_value_is_pinned(v)) return true;
  return false;
}

/* ---- functions ------------------------------------------------------------------------------- */

#define NONE SIZE_MAX

typedef struct member {
  const surg_function *f;
  size_t place;      /* index in the model's function list */
  size_t first_call; /* first edge of its body, in calls.edges */
  bool reached;
} member;

/* The call graph. Members are sorted by address for binary search. */
typedef struct calls {
  member *members;
  size_t count;
  struct {
    size_t callee, next;
  } * edges;
  size_t *queue;
  size_t queued;
} calls;

static int by_address(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)((const member *)a)->f, y = (uintptr_t)((const member *)b)->f;
  return x < y ? -1 : x > y;
}

static size_t find(const calls *c, const surg_function *f) {
  member key = {.f = f};
  const member *m = f ? bsearch(&key, c->members, c->count, sizeof key, by_address) : NULL;
  return m ? (size_t)(m - c->members) : NONE;
}

static void reach(calls *c, size_t i) {
  if (i == NONE || c->members[i].reached) return;
  assert(i < c->count && c->queued < c->count); /* each is queued once */
  c->members[i].reached = true;
  c->queue[c->queued++] = i;
}

static size_t count_calls(const surg_model *m) {
  size_t n = 0;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *x = surg_graph_first_node(g); x; x = surg_node_next(x))
      n += surg_node_class(x) == SURG_OP_CLASS_FUNCTION;
  return n;
}

static bool alloc_calls(prune *pr, calls *c) {
  size_t n_edges = count_calls(pr->m);
  c->count = surg_model_function_count(pr->m);
  c->members = surg_pass_alloc(pr->p, c->count * sizeof *c->members);
  c->queue = surg_pass_alloc(pr->p, c->count * sizeof *c->queue);
  c->edges = surg_pass_alloc(pr->p, n_edges * sizeof *c->edges);
  if (!c->members || !c->queue || !c->edges) return false;
  for (size_t i = 0; i < c->count; i++)
    c->members[i] = (member){surg_model_function(pr->m, i), i, NONE, false};
  qsort(c->members, c->count, sizeof *c->members, by_address);
  return true;
}

/* Builds the call graph: calls in the main graph are roots, the others edges. */
static void gather(prune *pr, calls *c) {
  size_t n = 0;
  for (surg_graph *g = surg_model_next_graph(pr->m, NULL); g; g = surg_model_next_graph(pr->m, g)) {
    size_t caller = find(c, surg_graph_function(g));
    for (surg_node *x = surg_graph_first_node(g); x; x = surg_node_next(x)) {
      if (surg_node_class(x) != SURG_OP_CLASS_FUNCTION) continue;
      size_t callee = find(c, surg_node_function(x));
      if (caller == NONE) {
        reach(c, callee);
        continue;
      }
      assert(caller < c->count && (callee == NONE || callee < c->count));
      c->edges[n].callee = callee;
      c->edges[n].next = c->members[caller].first_call;
      c->members[caller].first_call = n++;
    }
  }
}

void prune_functions(prune *pr) {
  calls c = {0};
  if (surg_model_function_count(pr->m) == 0 || has_training(pr->m)) return;
  if (!alloc_calls(pr, &c)) {
    pr->stop = pr->failed = true;
    return;
  }
  gather(pr, &c);
  assert(c.queued <= c.count);
  for (size_t i = 0; i < c.queued; i++)
    for (size_t e = c.members[c.queue[i]].first_call; e != NONE; e = c.edges[e].next)
      reach(&c, c.edges[e].callee);
  for (size_t i = surg_model_function_count(pr->m); i-- > 0 && !pr->stop;) {
    surg_function *f = surg_model_function(pr->m, i);
    const size_t at = find(&c, f);
    if (at == NONE || c.members[at].reached || !prune_may(pr)) continue; /* NONE: f is NULL */
    prune_did(pr, surg_model_remove_function(pr->m, f), "functions");
  }
}

/* ---- imports --------------------------------------------------------------------------------- */

static bool default_domain(const char *d) {
  return !*d || strcmp(d, "ai.onnx") == 0;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The imported domains of one scope, sorted, with a mark for those that nodes use. */
typedef struct domains {
  const char **names;
  bool *used;
  size_t count;
  const char *last; /* domain marked last: a shortcut for runs of one domain */
} domains;

static void mark(domains *d, const char *domain) {
  if (domain == d->last || default_domain(domain)) return;
  d->last = domain;
  const char **hit = bsearch(&domain, d->names, d->count, sizeof *d->names, by_text);
  assert(!hit || (size_t)(hit - d->names) < d->count);
  if (hit) d->used[hit - d->names] = true;
}

static void mark_graph(domains *d, const surg_graph *g) {
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    mark(d, surg_node_domain(n));
}

/* Marks the domains in g and its subgraphs; false: nested too deeply. */
static bool mark_tree(domains *d, const surg_graph *g, unsigned depth) {
  assert(depth <= PRUNE_NESTING);
  bool whole = depth < PRUNE_NESTING;
  mark_graph(d, g);
  for (surg_node *n = surg_graph_first_node(g); n && whole; n = surg_node_next(n))
    for (size_t a = 0; a < surg_node_attr_count(n) && whole; a++) {
      const surg_attr *attr = surg_node_attr_at(n, a);
      const surg_graph *sub;
      for (size_t i = 0; whole && (sub = surg_attr_graph(attr, i)); i++)
        whole = mark_tree(d, sub, depth + 1);
    }
  return whole;
}

/* Copies a name, because removing an import frees the strings of the others. */
static const char *copy_of(prune *pr, const char *s) {
  size_t size = strlen(s) + 1;
  char *copy = surg_pass_alloc(pr->p, size);
  return copy ? memcpy(copy, s, size) : NULL;
}

/* Lists the imports of f, or of the model if f is NULL. */
static bool start(prune *pr, const surg_function *f, domains *d) {
  size_t n = f ? surg_function_import_count(f) : surg_model_import_count(pr->m);
  *d = (domains){.names = surg_pass_alloc(pr->p, n * sizeof *d->names),
                 .used = surg_pass_alloc(pr->p, n * sizeof *d->used)};
  if (!d->names || !d->used) return false;
  for (size_t i = 0; i < n; i++) {
    const char *name = f ? surg_function_import_domain(f, i) : surg_model_import_domain(pr->m, i);
    if (default_domain(name) || (pr->domain && strcmp(pr->domain, name) != 0)) continue;
    d->names[d->count] = copy_of(pr, name);
    if (!d->names[d->count++]) return false;
  }
  assert(d->count <= n);
  if (d->count) qsort(d->names, d->count, sizeof *d->names, by_text);
  return true;
}

static void finish(prune *pr, surg_function *f, const domains *d) {
  size_t left = f ? surg_function_import_count(f) : surg_model_import_count(pr->m);
  for (size_t i = 0; i < d->count && !pr->stop && left > 1; i++) {
    if (d->used[i] || !prune_may(pr)) continue;
    assert(d->names[i] && !default_domain(d->names[i])); /* start() added no other */
    prune_did(pr,
              f ? surg_function_set_opset(f, d->names[i], 0)
                : surg_model_set_opset(pr->m, d->names[i], 0),
              "imports");
    left--;
  }
}

static bool prune_scope(prune *pr, surg_function *f) {
  domains d;
  if (!start(pr, f, &d)) return false;
  if (d.count == 0) return true;
  if (f) {
    if (!mark_tree(&d, surg_function_graph(f), 0)) return true;
  } else { /* nodes of functions count too: readers look their operators up here */
    for (surg_graph *g = surg_model_next_graph(pr->m, NULL); g; g = surg_model_next_graph(pr->m, g))
      mark_graph(&d, g);
    for (size_t i = 0; i < surg_model_function_count(pr->m); i++)
      mark(&d, surg_function_domain(surg_model_function(pr->m, i)));
  }
  finish(pr, f, &d);
  return true;
}

void prune_imports(prune *pr) {
  if (has_training(pr->m)) return;
  bool ok = prune_scope(pr, NULL);
  for (size_t i = 0; i < surg_model_function_count(pr->m) && ok && !pr->stop; i++)
    ok = prune_scope(pr, surg_model_function(pr->m, i));
  if (!ok) pr->stop = pr->failed = true;
}
