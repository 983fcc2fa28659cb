/* SPDX-License-Identifier: Apache-2.0 */
/* Imports the domains that nodes are of and nobody imports, each with a note: some optimizers
 * write such models, which others then refuse. The version is the oldest that has the operators
 * with their attributes, where it is known, else 1. ONNX's own domain is left: what its operators
 * mean depends on the version.
 *
 *   before: <opset_import: ["" : 17]> g (x) => (y) { y = com.microsoft.Gelu (x) }
 *   after:  <opset_import: ["" : 17, "com.microsoft" : 1]> ...
 *
 * Needs nothing. Keeps sorted. Exact. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#include "../util/domains.h"
#include "../util/table.h"

#define DOMAINS 1000 /* imported in one model or function: with more it would not load again */

typedef struct missing {
  struct missing *next; /* in the order in which they were met */
  surg_node *node;      /* the first one of the domain */
  surg_function *in;    /* NULL: in the model */
  int64_t version;      /* the least that has all nodes of the domain */
} missing;

/* The oldest version in which the node is one; 1 where nothing is known of it. */
static int64_t oldest(const surg_node *n) {
  const char *domain = surg_node_domain(n);
  const int64_t newest = surg_schema_newest(domain);
  char why[256];
  for (int64_t v = 1; v <= newest; v++) {
    const surg_schema *s = surg_schema_find(domain, surg_node_op_type(n), v);
    if (s && domains_attrs_fit(n, s, why, sizeof why)) return v;
  }
  return 1;
}

static int same_missing(void *user, const void *a, const void *b) {
  const missing *x = a, *y = b;
  (void)user;
  return x->in == y->in && strcmp(surg_node_domain(x->node), surg_node_domain(y->node)) == 0;
}

static uint64_t hash_missing(const missing *m) {
  uint64_t hash = (uint64_t)(uintptr_t)m->in;
  for (const char *c = surg_node_domain(m->node); *c; c++) hash = table_mix(hash, (uint8_t)*c);
  return hash;
}

static bool lacks(const surg_node *n) {
  const char *domain = surg_node_domain(n);
  return !domains_default(domain) && surg_graph_opset(surg_node_graph(n), domain) == 0;
}

static size_t count_nodes(const surg_model *m) {
  size_t count = 0;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) count += lacks(n);
  return count;
}

/* What is missing, each once; false: it failed. */
static bool collect(surg_pass_ctx *p, table *seen, missing **list) {
  const surg_model *m = surg_pass_model(p);
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      missing one = {.node = n, .in = surg_graph_function(g)}, *first;
      if (!lacks(n)) continue;
      one.version = oldest(n);
      missing *made = surg_pass_alloc(p, sizeof *made);
      if (!made) return false;
      *made = one;
      first = table_meet(seen, hash_missing(made), made, same_missing, NULL);
      if (!first) return false;
      if (first->version < one.version) first->version = one.version;
      if (first != made) continue;
      *list = made;
      list = &made->next;
    }
  }
  return true;
}

static surg_status import(surg_pass_ctx *p, const missing *m) {
  const char *domain = surg_node_domain(m->node);
  char text[256];
  snprintf(text, sizeof text, "imports domain '%.100s' in version %lld, which nobody did", domain,
           (long long)m->version);
  surg_pass_note(p, m->node, text);
  surg_pass_count(p, "domains", 1);
  return m->in ? surg_function_set_opset(m->in, domain, m->version)
               : surg_model_set_opset(surg_pass_model(p), domain, m->version);
}

static bool room(const surg_pass_ctx *p, const missing *m) {
  return DOMAINS > (m->in ? surg_function_import_count(m->in)
                          : surg_model_import_count(surg_pass_model(p)));
}

static void tell_left(surg_pass_ctx *p, size_t left) {
  char text[128];
  if (left == 0) return;
  snprintf(text, sizeof text, "domains left without an import: %zu, for there are %d imports", left,
           DOMAINS);
  surg_report(surg_pass_context(p), SURG_WARNING, surg_model_path(surg_pass_model(p)), text);
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  const size_t count = count_nodes(surg_pass_model(p));
  surg_pass_result result = SURG_PASS_UNCHANGED;
  missing *list = NULL;
  size_t left = 0;
  table seen;
  (void)unused;
  if (count == 0) return result;
  if (!table_make(&seen, p, count) || !collect(p, &seen, &list)) return SURG_PASS_FAILED;
  for (const missing *m = list; m; m = m->next) {
    const bool has_room = room(p, m);
    left += !has_room;
    if (!has_room || !surg_pass_allow(p)) continue;
    if (import(p, m) != SURG_OK) return SURG_PASS_FAILED;
    result = SURG_PASS_CHANGED;
  }
  tell_left(p, left);
  return result;
}

const surg_pass surg__pass_imports = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_MODEL,
    .name = "imports",
    .help = "add missing opset imports",
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
