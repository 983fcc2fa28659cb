/* SPDX-License-Identifier: Apache-2.0 */
/* Adds opset imports for the domains of nodes that rules create. */
#include "rewrite/lang/rule.h"

#include "ir/ir.h"

static bool has_attr(const surg_schema *s, const surg_attr *a) {
  const surg__attr_def *d = surg__schema_attr(s, surg_attr_name(a));
  return d && d->kind == surg_attr_get_kind(a);
}

/* Whether this version of the operator defines every attribute of the node, and the node
 * has every required one. */
static bool fits(const surg_node *n, const surg_schema *s) {
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    if (!has_attr(s, surg_node_attr_at(n, i))) return false;
  for (size_t i = 0; i < surg_schema_attr_count(s); i++)
    if (surg_schema_attr_required(s, i) && !surg_node_attr(n, surg_schema_attr_name(s, i)))
      return false;
  return true;
}

/* Returns the oldest version of the operator that the node is valid in; 1 for
 * operators without a schema. */
static int64_t oldest(const surg_node *n) {
  const char *domain = surg_node_domain(n);
  const int64_t newest = surg_schema_newest(domain);
  for (int64_t v = 1; v <= newest; v++) {
    const surg_schema *s = surg_schema_find(domain, surg_node_op_type(n), v);
    if (s && fits(n, s)) return v;
  }
  return 1;
}

surg_status surg__rimport(surg_node *n) {
  surg_graph *g = surg_node_graph(n);
  const char *domain = surg_node_domain(n);
  if (!*domain || surg_graph_opset(g, domain) > 0) return SURG_OK;
  surg_function *f = surg_graph_function(g);
  return f ? surg_function_set_opset(f, domain, oldest(n))
           : surg_model_set_opset(surg_graph_model(g), domain, oldest(n));
}
