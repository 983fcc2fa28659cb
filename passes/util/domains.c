/* SPDX-License-Identifier: Apache-2.0 */
/* See domains.h. */
#include "domains.h"

#include <onnxsurg/ops.h>
#include <onnxsurg/schema.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"

bool domains_default(const char *d) {
  return !*d || strcmp(d, "ai.onnx") == 0;
}

bool domains_onnx(const char *d) {
  return domains_default(d) || strncmp(d, "ai.onnx.", 8) == 0;
}

bool domains_named(const char *spec, const char *domain, const char *name) {
  const size_t n = strlen(domain);
  if (domains_default(domain)) {
    if (strncmp(spec, "ai.onnx.", 8) == 0) spec += 8;
    return strcmp(spec, name) == 0;
  }
  return strncmp(spec, domain, n) == 0 && spec[n] == '.' && strcmp(spec + n + 1, name) == 0;
}

bool domains_listed(const surg_pass_ctx *p, const char *option, const char *domain,
                    const char *name) {
  for (size_t i = 0; i < surg_pass_list_count(p, option); i++)
    if (domains_named(surg_pass_list_at(p, option, i), domain, name)) return true;
  return false;
}

const char *domains_split(surg_pass_ctx *p, const char *spec, const char **op) {
  const char *dot = strrchr(spec, '.');
  *op = dot ? dot + 1 : spec;
  const size_t n = dot ? (size_t)(dot - spec) : 0;
  char *domain = surg_pass_alloc(p, n + 1);
  if (!domain) return NULL;
  memcpy(domain, spec, n);
  return domains_default(domain) ? "" : domain;
}

surg_status domains_import(surg_graph *g, const char *domain, int64_t version) {
  surg_function *f = surg_graph_function(g);
  if (surg_graph_opset(g, domain) != 0) return SURG_OK;
  return f ? surg_function_set_opset(f, domain, version)
           : surg_model_set_opset(surg_graph_model(g), domain, version);
}

static size_t attr_of(const surg_schema *s, const char *name) {
  size_t i = 0;
  while (i < surg_schema_attr_count(s) && strcmp(surg_schema_attr_name(s, i), name) != 0) i++;
  return i;
}

bool domains_counts_fit(const surg_node *n, const surg_schema *s, char *text, size_t size) {
  const size_t in = surg_node_input_count(n), out = surg_node_output_count(n);
  if (in >= surg_schema_min_inputs(s) && in <= surg_schema_max_inputs(s) &&
      out >= surg_schema_min_outputs(s) && out <= surg_schema_max_outputs(s)) {
    size_t i = 0;
    while (i < surg_schema_min_inputs(s) && surg_node_input(n, i)) i++;
    if (i == surg_schema_min_inputs(s)) return true;
    snprintf(text, size, "%s requires input %zu", surg_schema_name(s), i);
    return false;
  }
  snprintf(text, size, "%s does not accept %zu input%s and %zu output%s", surg_schema_name(s), in,
           in == 1 ? "" : "s", out, out == 1 ? "" : "s");
  return false;
}

bool domains_attrs_fit(const surg_node *n, const surg_schema *s, char *text, size_t size) {
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    const size_t k = attr_of(s, surg_attr_name(a));
    if (k == surg_schema_attr_count(s)) {
      nearest near = {.name = surg_attr_name(a)};
      for (size_t j = 0; j < k; j++) nearest_offer(&near, surg_schema_attr_name(s, j));
      snprintf(text, size, "%s has no attribute '%.100s'%s", surg_schema_name(s),
               surg_attr_name(a), nearest_hint(&near));
      return false;
    }
    if (surg_schema_attr_kind(s, k) != surg_attr_get_kind(a)) {
      snprintf(text, size, "attribute '%.100s' is of another kind than %s expects",
               surg_attr_name(a), surg_schema_name(s));
      return false;
    }
  }
  for (size_t k = 0; k < surg_schema_attr_count(s); k++) {
    if (!surg_schema_attr_required(s, k) || surg_node_attr(n, surg_schema_attr_name(s, k)))
      continue;
    snprintf(text, size, "%s needs attribute '%s'", surg_schema_name(s),
             surg_schema_attr_name(s, k));
    return false;
  }
  return true;
}

static bool has_call(surg_function *f) {
  const surg_graph *body = surg_function_graph(f);
  for (surg_graph *g = NULL; (g = surg_graph_next_inner(body, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (surg_node_function(n)) return true;
  return false;
}

/* Whether n may call f. Inside a function the call must not be recursive: f must not be that
 * function. f's own calls are not searched, so f must not call any function. */
static bool call_fits(const surg_node *n, surg_function *f, char *text, size_t size) {
  const surg_graph *body = surg_function_graph(f);
  const surg_function *around = surg_graph_function(surg_node_graph(n));
  if (around && (around == f || has_call(f))) {
    snprintf(text, size, "function %.100s cannot be called here: %s", surg_function_name(f),
             around == f ? "it would call itself" : "it calls functions, which may call this one");
    return false;
  }
  if (surg_node_input_count(n) <= surg_graph_input_count(body) &&
      surg_node_output_count(n) <= surg_graph_output_count(body))
    return true;
  snprintf(text, size, "function %.100s: inputs %zu, outputs %zu; the node has %zu and %zu",
           surg_function_name(f), surg_graph_input_count(body), surg_graph_output_count(body),
           surg_node_input_count(n), surg_node_output_count(n));
  return false;
}

/* The operator of the domain in this opset whose name is nearest; NULL: none is. */
static const char *nearest_operator(const char *domain, int64_t opset, const char *name) {
  const char *list[SURG_OP_COUNT];
  size_t n = 0;
  const surg_schema *s;
  for (int op = 0; op < SURG_OP_COUNT; op++)
    if ((s = surg_schema_version(op, 0)) != NULL &&
        strcmp(surg_schema_domain(s), domains_default(domain) ? "" : domain) == 0 &&
        surg_schema_find(domain, surg_schema_name(s), opset))
      list[n++] = surg_schema_name(s);
  return surg_pass_nearest(name, list, n);
}

static void put_no_operator(const surg_node *n, char *text, size_t size) {
  const char *domain = surg_node_domain(n), *op = surg_node_op_type(n);
  const int64_t opset = surg_graph_opset(surg_node_graph(n), domain);
  const char *near = nearest_operator(domain, opset, op);
  snprintf(text, size, "there is no operator %.100s%s%.100s in opset %lld%s%.60s%s", domain,
           *domain ? "." : "", op, (long long)opset, near ? "; did you mean " : "",
           near ? near : "", near ? "?" : "");
}

/* Whether another node of the model has the operator of n: it is a custom operator that the model
 * uses, not one that was misspelled. */
static bool used_elsewhere(const surg_node *n) {
  const surg_model *m = surg_graph_model(surg_node_graph(n));
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *o = surg_graph_first_node(g); o; o = surg_node_next(o))
      if (o != n && strcmp(surg_node_op_type(o), surg_node_op_type(n)) == 0 &&
          strcmp(surg_node_domain(o), surg_node_domain(n)) == 0)
        return true;
  return false;
}

/* Whether an operator without a definition may be meant: not where it looks like a function that
 * the model does not have. */
static bool is_custom(const surg_node *n, char *text, size_t size) {
  const surg_model *m = surg_graph_model(surg_node_graph(n));
  const char *domain = surg_node_domain(n), *op = surg_node_op_type(n);
  char name[NEAREST_NAME];
  const surg_function *same = NULL;
  snprintf(name, sizeof name, "%.100s%s%.100s", domain, *domain ? "." : "", op);
  nearest near = {.name = name};
  for (size_t i = 0; i < surg_model_function_count(m); i++) {
    const surg_function *f = surg_model_function(m, i);
    nearest_offer_operator(&near, surg_function_domain(f), surg_function_name(f));
    if (!same && strcmp(surg_function_domain(f), domain) == 0) same = f;
  }
  if ((!same && !*near.best) || used_elsewhere(n)) return true;
  snprintf(text, size, "the model has no function %s%s", name, nearest_hint(&near));
  if (!*near.best)
    snprintf(text, size,
             "the model has no function %s; the domain has %.100s; a custom operator needs another "
             "domain",
             name, surg_function_name(same));
  return false;
}

bool domains_takes(const surg_node *n, char *text, size_t size) {
  const surg_schema *s = surg_node_schema(n);
  const char *domain = surg_node_domain(n);
  surg_function *f = surg_node_function(n);
  if (f) return call_fits(n, f, text, size);
  if (!s && surg_node_class(n) == SURG_OP_CLASS_CUSTOM && surg_schema_newest(domain) > 0) {
    put_no_operator(n, text, size);
    return false;
  }
  if (!s) return is_custom(n, text, size);
  return domains_counts_fit(n, s, text, size) && domains_attrs_fit(n, s, text, size);
}

static bool has_node(const surg_graph *g, const char *spec) {
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (domains_named(spec, surg_node_domain(n), surg_node_op_type(n))) return true;
  return false;
}

/* Appends a hint to the message for an unknown operator: the same name in another domain, else the
 * nearest one. */
static void near_node(const surg_model *m, const char *spec, char *text, size_t size) {
  const char *dot = strrchr(spec, '.'), *bare = dot ? dot + 1 : spec;
  nearest near = {.name = spec};
  for (surg_graph *g = surg_model_next_graph(m, NULL); g && !*text; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n && !*text; n = surg_node_next(n))
      if (strcmp(surg_node_op_type(n), bare) == 0)
        snprintf(text, size, "; there is %.100s.%.100s",
                 domains_default(surg_node_domain(n)) ? "ai.onnx" : surg_node_domain(n), bare);
      else
        nearest_offer_operator(&near, surg_node_domain(n), surg_node_op_type(n));
  if (!*text) snprintf(text, size, "%s", nearest_hint(&near));
}

static void report_name(surg_pass_ctx *p, const char *spec, bool found) {
  char what[600], near[NEAREST_NAME + 24] = "";
  if (!found) near_node(surg_pass_model(p), spec, near, sizeof near);
  snprintf(what, sizeof what, "node of '%.200s'%s", spec, near);
  surg_pass_named(p, what, found);
}

void domains_found(surg_pass_ctx *p, const surg_graph *g, const char *spec) {
  /* No hint: it would differ between graphs, and one name would be reported as several. */
  char what[300];
  snprintf(what, sizeof what, "node of '%.200s'", spec);
  surg_pass_named(p, what, has_node(g, spec));
}

void domains_found_anywhere(surg_pass_ctx *p, const char *spec) {
  const surg_model *m = surg_pass_model(p);
  bool found = false;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g && !found; g = surg_model_next_graph(m, g))
    found = has_node(g, spec);
  report_name(p, spec, found);
}
