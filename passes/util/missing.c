/* SPDX-License-Identifier: Apache-2.0 */
/* See missing.h. */
#include "missing.h"

#include <stdint.h>
#include <string.h>

#include "domains.h"
#include "table.h"

/* The oldest opset version that has the operator with these attributes; 1 if it is unknown. */
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

static void judge_node(missing *m, surg_node *n) {
  char why[256];
  const surg_schema *s = surg_schema_find(surg_node_domain(n), surg_node_op_type(n), m->version);
  if (m->unfit || !s || surg_node_function(n)) return;
  if (!domains_counts_fit(n, s, why, sizeof why) || !domains_attrs_fit(n, s, why, sizeof why))
    m->unfit = n;
}

/* Finds nodes that the chosen versions do not accept. */
static bool judge(surg_pass_ctx *p, table *seen, missing *list) {
  const surg_model *m = surg_pass_model(p);
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      missing one = {.node = n, .in = surg_graph_function(g)};
      if (!lacks(n)) continue;
      missing *first = table_meet(seen, hash_missing(&one), &one, same_missing, NULL);
      if (!first) return false;
      if (first != &one) judge_node(first, n); /* else the table has no room for it */
    }
  }
  for (; list; list = list->next) judge_node(list, list->node);
  return true;
}

bool missing_imports(surg_pass_ctx *p, missing **list) {
  const size_t count = count_nodes(surg_pass_model(p));
  table seen;
  *list = NULL;
  return count == 0 || (table_make(&seen, p, count) && collect(p, &seen, list) &&
                        judge(p, &seen, *list));
}

bool missing_room(const surg_pass_ctx *p, const missing *m) {
  return MISSING_DOMAINS >
         (m->in ? surg_function_import_count(m->in) : surg_model_import_count(surg_pass_model(p)));
}

surg_status missing_import(surg_pass_ctx *p, const missing *m) {
  const char *domain = surg_node_domain(m->node);
  return m->in ? surg_function_set_opset(m->in, domain, m->version)
               : surg_model_set_opset(surg_pass_model(p), domain, m->version);
}
