/* SPDX-License-Identifier: Apache-2.0 */
/* Moves operators of one domain to another one; names and everything else stay. For custom
 * operators that an engine defines in another domain. Calls of model functions are not moved.
 *
 *   before: <"acme" : 1> (x) => (y) { y = acme.Foo (x) }
 *   after:  <"com.acme" : 1> (x) => (y) { y = com.acme.Foo (x) } move-domain{from=acme,to=com.acme}
 *
 * Needs nothing. Keeps sorted. Lossy: the two operators are not known to be equivalent. */
#include <stdio.h>
#include <string.h>

#include "../util/bypass.h"
#include "../util/domains.h"
#include "../util/nearest.h"

static bool same_domain(const char *a, const char *b) {
  if (strcmp(a, "ai.onnx") == 0) a = "";
  if (strcmp(b, "ai.onnx") == 0) b = "";
  return strcmp(a, b) == 0;
}

static bool listed(const surg_pass_ctx *p, const surg_node *n) {
  const size_t count = surg_pass_list_count(p, "op");
  for (size_t i = 0; i < count; i++)
    if (strcmp(surg_pass_list_at(p, "op", i), surg_node_op_type(n)) == 0) return true;
  return count == 0;
}

static surg_pass_result move_node(surg_pass_ctx *p, surg_node *n, const char *to) {
  char text[400];
  surg_graph *g = surg_node_graph(n);
  if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION || surg_pass_keeps_node(p, n)) {
    surg_pass_note(p, n,
                   surg_pass_keeps_node(p, n) ? "left: it is protected"
                                              : "left: it calls a function of the model");
    return SURG_PASS_UNCHANGED;
  }
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  const int64_t given = surg_pass_int(p, "version");
  const int64_t version = given > 0 ? given : surg_graph_opset(g, surg_node_domain(n));
  if (domains_import(g, to, version > 0 ? version : 1) != SURG_OK) return SURG_PASS_FAILED;
  const char *op = surg_node_op_type(n);
  if (surg_node_set_op(n, to, op) != SURG_OK) return SURG_PASS_FAILED;
  if (!domains_takes(n, text, sizeof text)) return surg_pass_fail(p, n, text);
  surg_pass_count(p, "nodes", 1);
  return SURG_PASS_CHANGED;
}

/* Reports whether the domain, or each operator named, has nodes in the model. */
static void find_names(surg_pass_ctx *p, const char *from) {
  const surg_model *m = surg_pass_model(p);
  const size_t count = surg_pass_list_count(p, "op");
  for (size_t i = 0; i < (count ? count : 1); i++) {
    const char *op = count ? surg_pass_list_at(p, "op", i) : NULL;
    char what[700];
    bool found = false;
    nearest domain = {.name = from}, type = {.name = op ? op : ""};
    for (surg_graph *g = surg_model_next_graph(m, NULL); g && !found;
         g = surg_model_next_graph(m, g))
      for (surg_node *n = surg_graph_first_node(g); n && !found; n = surg_node_next(n)) {
        const bool here = same_domain(surg_node_domain(n), from);
        found = here && (!op || strcmp(op, surg_node_op_type(n)) == 0);
        const char *of = surg_node_domain(n);
        nearest_offer(&domain, domains_default(of) ? "ai.onnx" : of);
        if (here) nearest_offer(&type, surg_node_op_type(n));
      }
    snprintf(what, sizeof what, "node of %s'%.150s%s%.150s'%s", op ? "" : "domain ", from,
             op ? "." : "", op ? op : "",
             found ? "" : nearest_hint(*type.best ? &type : &domain));
    surg_pass_named(p, what, found);
  }
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  const char *from = surg_pass_string(p, "from"), *to = surg_pass_string(p, "to");
  surg_model *m = surg_pass_model(p);
  surg_pass_result result = SURG_PASS_UNCHANGED;
  if (!from || !to) return surg_pass_usage(p, "needs from= and to=, such as from=acme,to=com.acme");
  if (same_domain(from, to)) return surg_pass_usage(p, "from and to are one domain");
  if (same_domain(to, "")) to = "";
  find_names(p, from);
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      if (!same_domain(surg_node_domain(n), from) || !listed(p, n)) continue;
      const surg_pass_result one = move_node(p, n, to);
      if (one == SURG_PASS_FAILED) return one;
      if (one < result) result = one;
    }
  if (result == SURG_PASS_CHANGED && bypass_drop_import(p, from) == SURG_PASS_FAILED)
    return SURG_PASS_FAILED;
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(STRING, "from", NULL, "present domain; ai.onnx is the default domain"),
    SURG_OPTION(STRING, "to", NULL, "new domain"),
    SURG_OPTION(LIST, "op", NULL, "only these operators: Foo+Bar"),
    SURG_OPTION(INT, "version", "0", "version of the new domain; 0: unchanged"),
};

const surg_pass surg__pass_move_domain = {
    SURG_PASS_HEAD(MODEL, "move-domain", "move operators to another domain"),
    SURG_PASS_OPTIONS(options),
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_LOSSY,
    .edits = true,
    .run = run,
};
