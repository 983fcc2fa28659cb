/* SPDX-License-Identifier: Apache-2.0 */
/* Imports the domains that nodes are of and nobody imports, each with a note: some optimizers write
 * such models, which others then refuse. The version is the oldest that has the operators with their
 * attributes, where it is known, else 1. ONNX's own domain is left: what its operators mean depends
 * on the version.
 *
 *   before: <opset_import: ["" : 17]> g (x) => (y) { y = com.microsoft.Gelu (x) }
 *   after:  <opset_import: ["" : 17, "com.microsoft" : 1]> ...
 *
 * Needs nothing. Keeps sorted. Exact. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#include "domains.h"

#define DOMAINS 64 /* imported in one model */

typedef struct added {
  const surg_function *in; /* NULL: in the model */
  const char *domain;
} added;

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

static bool was_added(const added *list, size_t n, const surg_function *in, const char *domain) {
  for (size_t i = 0; i < n; i++)
    if (list[i].in == in && strcmp(list[i].domain, domain) == 0) return true;
  return false;
}

static surg_status import(surg_pass_ctx *p, surg_node *n, int64_t version) {
  surg_graph *g = surg_node_graph(n);
  surg_function *f = surg_graph_function(g);
  const char *domain = surg_node_domain(n);
  char text[256];
  snprintf(text, sizeof text, "imports domain '%.100s' in version %lld, which nobody did", domain,
           (long long)version);
  surg_pass_note(p, n, text);
  surg_pass_count(p, "domains", 1);
  return f ? surg_function_set_opset(f, domain, version)
           : surg_model_set_opset(surg_pass_model(p), domain, version);
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  surg_model *m = surg_pass_model(p);
  surg_pass_result result = SURG_PASS_UNCHANGED;
  added list[DOMAINS];
  size_t count = 0;
  (void)unused;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      const char *domain = surg_node_domain(n);
      if (domains_default(domain)) continue;
      const surg_function *in = surg_graph_function(g);
      const int64_t has = surg_graph_opset(g, domain);
      if (has != 0 && !(count && was_added(list, count, in, domain))) continue;
      const int64_t version = oldest(n);
      if (version <= has || (has == 0 && count == DOMAINS) || !surg_pass_allow(p)) continue;
      if (has == 0) list[count++] = (added){in, domain};
      if (import(p, n, version) != SURG_OK) return SURG_PASS_FAILED;
      result = SURG_PASS_CHANGED;
    }
  }
  return result;
}

const surg_pass surg__pass_imports = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_MODEL,
    .name = "imports",
    .help = "import the domains that nodes are of and nobody imports",
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
