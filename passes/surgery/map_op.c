/* SPDX-License-Identifier: Apache-2.0 */
/* Changes nodes of one operator to another one, with the same inputs and outputs. Attributes can be
 * renamed (`old=new`) and dropped. If the new operator is an ONNX operator, it must accept the
 * inputs and attributes of the nodes; the meaning is not compared.
 *
 *   before: (x) => (y) { y = acme.Leaky <slope = 0.1> (x) }
 *   after:  (x) => (y) { y = LeakyRelu <alpha = 0.1> (x) }
 *                                       map-op{from=acme.Leaky,to=LeakyRelu,slope=alpha}
 *
 * Needs nothing. Keeps sorted. Lossy: the two operators are not known to be equivalent. */
#include <stdio.h>
#include <string.h>

#include "../util/bypass.h"
#include "../util/domains.h"

#define TEXT 800

typedef struct mapping {
  surg_pass_ctx *p;
  surg_model *m;
  const char *domain, *op; /* the new operator */
  int64_t version;
} mapping;

static bool dropped(const mapping *x, const char *name) {
  for (size_t i = 0; i < surg_pass_list_count(x->p, "drop"); i++)
    if (strcmp(surg_pass_list_at(x->p, "drop", i), name) == 0) return true;
  return false;
}

static const char *renamed(const mapping *x, const char *name) {
  for (size_t i = 0; i < surg_pass_pair_count(x->p); i++)
    if (strcmp(surg_pass_pair_name(x->p, i), name) == 0) return surg_pass_pair_value(x->p, i, 0);
  return NULL;
}

static surg_status map_attrs(const mapping *x, surg_node *n) {
  for (size_t i = surg_node_attr_count(n); i-- > 0;) {
    const char *name = surg_attr_name(surg_node_attr_at(n, i));
    const char *to = renamed(x, name);
    surg_status s = SURG_OK;
    if (dropped(x, name))
      s = surg_node_remove_attr(n, name);
    else if (to && strcmp(to, name) != 0)
      s = surg_node_rename_attr(n, name, to);
    if (s != SURG_OK) return s;
  }
  return SURG_OK;
}

static surg_pass_result map_node(const mapping *x, surg_node *n) {
  char text[TEXT];
  if (surg_pass_keeps_node(x->p, n)) {
    surg_pass_note(x->p, n, "left: it is protected");
    return SURG_PASS_UNCHANGED;
  }
  if (!surg_pass_allow(x->p)) return SURG_PASS_UNCHANGED;
  surg_graph *g = surg_node_graph(n);
  if (domains_import(g, x->domain, x->version) != SURG_OK || map_attrs(x, n) != SURG_OK ||
      surg_node_set_op(n, x->domain, x->op) != SURG_OK)
    return SURG_PASS_FAILED;
  if (!domains_takes(n, text, sizeof text)) return surg_pass_fail(x->p, n, text);
  surg_pass_count(x->p, "nodes", 1);
  return SURG_PASS_CHANGED;
}

static surg_pass_result map_all(const mapping *x, const char *from) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  domains_found_anywhere(x->p, from);
  for (surg_graph *g = surg_model_next_graph(x->m, NULL); g; g = surg_model_next_graph(x->m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      if (!domains_named(from, surg_node_domain(n), surg_node_op_type(n))) continue;
      const surg_pass_result one = map_node(x, n);
      if (one == SURG_PASS_FAILED) return one;
      if (one < result) result = one;
    }
  return result;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  const char *from = surg_pass_string(p, "from"), *to = surg_pass_string(p, "to");
  mapping x = {.p = p, .m = surg_pass_model(p), .version = surg_pass_int(p, "version")};
  if (!from || !*from || !to || !*to) return surg_pass_usage(p, "needs from= and to=");
  for (size_t i = 0; i < surg_pass_pair_count(p); i++)
    if (!surg_pass_pair_value(p, i, 0) || !*surg_pass_pair_value(p, i, 0) ||
        surg_pass_pair_value(p, i, 1))
      return surg_pass_usage(p, "an attribute has one new name: old=new");
  const char *old = domains_split(p, from, &x.op), *domain = domains_split(p, to, &x.op);
  if (!old || !domain) return SURG_PASS_FAILED;
  x.domain = domain;
  const surg_pass_result result = map_all(&x, from);
  if (result == SURG_PASS_CHANGED && bypass_drop_import(p, old) == SURG_PASS_FAILED)
    return SURG_PASS_FAILED;
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(STRING, "from", NULL, "operator to change: com.acme.Foo"),
    SURG_OPTION(STRING, "to", NULL, "new operator"),
    SURG_OPTION(LIST, "drop", NULL, "attributes to remove"),
    SURG_OPTION(INT, "version", "1", "version of the new domain if it is not imported"),
    SURG_OPTION(PAIRS, "attribute", NULL, "OLD=NEW: rename an attribute"),
};

const surg_pass surg__pass_map_op = {
    SURG_PASS_HEAD(MODEL, "map-op", "rename an operator, its domain and attributes"),
    SURG_PASS_OPTIONS(options),
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_LOSSY,
    .edits = true,
    .run = run,
};
