/* SPDX-License-Identifier: Apache-2.0 */
/* See domains.h. */
#include "domains.h"

#include <onnxsurg/ops.h>
#include <onnxsurg/schema.h>
#include <stdio.h>
#include <string.h>

#define FUNCTION_NAME 204 /* bytes of "domain.name" that messages have */

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

bool domains_attrs_fit(const surg_node *n, const surg_schema *s, char *text, size_t size) {
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    const size_t k = attr_of(s, surg_attr_name(a));
    if (k == surg_schema_attr_count(s)) {
      snprintf(text, size, "%s has no attribute '%.100s'", surg_schema_name(s), surg_attr_name(a));
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
  const surg_model *m = surg_graph_model(surg_function_graph(f));
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    if (surg_graph_function(g) != f) continue;
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (surg_node_function(n)) return true;
  }
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
  snprintf(text, size, "function %.100s has %zu inputs and %zu outputs; the node has %zu and %zu",
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

/* Writes "local.f", cut to what messages have. */
static void put_operator(char *text, size_t size, const char *domain, const char *op) {
  snprintf(text, size, "%.100s%s%.100s", domain, *domain ? "." : "", op);
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

/* The function of the model whose name is nearest to that of the operator, which it lacks: "" if
 * none is near. Sets *same if it has functions of this domain, and `first` to one. */
static void near_function(const surg_node *n, char *near, char *first, size_t size, bool *same) {
  const surg_model *m = surg_graph_model(surg_node_graph(n));
  const size_t count = surg_model_function_count(m);
  char name[FUNCTION_NAME], full[FUNCTION_NAME];
  *near = *first = 0;
  *same = false;
  put_operator(name, sizeof name, surg_node_domain(n), surg_node_op_type(n));
  for (size_t i = 0; i < count; i++) {
    const surg_function *f = surg_model_function(m, i);
    put_operator(full, sizeof full, surg_function_domain(f), surg_function_name(f));
    const char *one = full, *best[2] = {near, full};
    const bool here = strcmp(surg_function_domain(f), surg_node_domain(n)) == 0;
    if (here && !*same) snprintf(first, size, "%s", full);
    *same |= here;
    if (!surg_pass_nearest(name, &one, 1)) continue;
    if (!*near || surg_pass_nearest(name, best, 2) == full) snprintf(near, size, "%s", full);
  }
}

/* Whether an operator without a definition may be meant: not where it looks like a function that
 * the model does not have. */
static bool is_custom(const surg_node *n, char *text, size_t size) {
  char near[FUNCTION_NAME], first[FUNCTION_NAME], name[FUNCTION_NAME];
  bool same;
  near_function(n, near, first, sizeof near, &same);
  if ((!same && !*near) || used_elsewhere(n)) return true;
  put_operator(name, sizeof name, surg_node_domain(n), surg_node_op_type(n));
  if (*near)
    snprintf(text, size, "the model has no function %s; did you mean %s?", name, near);
  else
    snprintf(text, size,
             "the model has no function %s; it has %s; a custom operator needs another domain", name,
             first);
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
  const size_t in = surg_node_input_count(n), out = surg_node_output_count(n);
  if (in < surg_schema_min_inputs(s) || in > surg_schema_max_inputs(s) ||
      out < surg_schema_min_outputs(s) || out > surg_schema_max_outputs(s)) {
    snprintf(text, size, "%s expects another number of inputs or outputs than %zu and %zu",
             surg_schema_name(s), in, out);
    return false;
  }
  return domains_attrs_fit(n, s, text, size);
}

static bool has_node(const surg_graph *g, const char *spec) {
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (domains_named(spec, surg_node_domain(n), surg_node_op_type(n))) return true;
  return false;
}

/* Appends a hint to the message for an unknown operator: the same name in another domain. */
static void near_node(const surg_model *m, const char *spec, char *text, size_t size) {
  const char *dot = strrchr(spec, '.'), *bare = dot ? dot + 1 : spec;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g && !*text; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n && !*text; n = surg_node_next(n))
      if (strcmp(surg_node_op_type(n), bare) == 0)
        snprintf(text, size, "; there is %.100s.%.100s",
                 domains_default(surg_node_domain(n)) ? "ai.onnx" : surg_node_domain(n), bare);
}

static void report_name(surg_pass_ctx *p, const char *spec, bool found) {
  char what[500], near[220] = "";
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
