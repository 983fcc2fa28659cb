/* SPDX-License-Identifier: Apache-2.0 */
/* Sets parts of nodes (`node`), of values (`value`), or of the model: attributes, operator, name,
 * elements of weights and constants, declared types, doc strings, metadata, imports, texts.
 *
 *   before: (x) => (y) { [c] y = Clip (x, low, high) }         with float low = {0.0}
 *   after:  (x) => (y) { [c] y = Clip (x, low, high) }         with float low = {-1.0}
 *                                                              set{value=low,data=-1}
 *
 * Needs nothing. Keeps sorted. Lossy: the model computes something else; exact where only names and
 * texts are set. */
#include <onnxsurg/edit.h>
#include <onnxsurg/names.h>
#include <onnxsurg/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/attrs.h"
#include "../util/declared.h"
#include "../util/domains.h"
#include "../util/nearest.h"
#include "../util/select.h"
#include "../util/typetext.h"

#define TEXT 1000

typedef struct setting {
  surg_pass_ctx *p;
  surg_model *m;
  bool computes; /* something is set that changes results */
} setting;

static const char *given(const setting *s, const char *option) {
  return surg_pass_string(s->p, option);
}

/* Refuses options that do not apply to what is set. */
static bool only(const setting *s, const char *what, const char *const *allowed, size_t n) {
  static const char *const all[] = {
      "op",       "name",   "overload",         "data",      "type", "version",
      "producer", "domain", "producer-version", "graph-name"};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    bool fits = given(s, all[i]) == NULL;
    for (size_t k = 0; k < n && !fits; k++) fits = strcmp(allowed[k], all[i]) == 0;
    char text[TEXT];
    snprintf(text, sizeof text, "%s: %s has none", all[i], what);
    if (!fits) return surg_pass_usage(s->p, text) != SURG_PASS_FAILED;
  }
  return true;
}

/* ---- metadata -------------------------------------------------------------------------------- */

typedef surg_status (*put_entry)(void *object, const char *key, const char *value);

static surg_status put_node(void *n, const char *key, const char *value) {
  return surg_node_set_metadata(n, key, value);
}
static surg_status put_value(void *v, const char *key, const char *value) {
  return surg_value_set_metadata(v, key, value);
}
static surg_status put_model(void *m, const char *key, const char *value) {
  return surg_model_set_metadata(m, key, value);
}

/* Sets the entries `KEY=VALUE`; `KEY=` removes one. */
static bool set_metadata(setting *s, void *object, put_entry put) {
  for (size_t i = 0; i < surg_pass_list_count(s->p, "metadata"); i++) {
    const char *entry = surg_pass_list_at(s->p, "metadata", i), *equals = strchr(entry, '=');
    char text[TEXT];
    snprintf(text, sizeof text, "metadata: expected KEY=VALUE, found '%.300s'", entry);
    const size_t n = equals ? (size_t)(equals - entry) : 0;
    char *key = n ? surg_pass_alloc(s->p, n + 1) : NULL;
    if (!n) return surg_pass_usage(s->p, text) != SURG_PASS_FAILED;
    if (!key) return false;
    memcpy(key, entry, n);
    const surg_status status = put(object, key, equals[1] ? equals + 1 : NULL);
    if (status == SURG_EUNSUPPORTED)
      return surg_pass_usage(s->p, "metadata: the value has no declaration; set its type too") !=
             SURG_PASS_FAILED;
    if (status != SURG_OK && status != SURG_ENOTFOUND) return false;
  }
  return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Refuses an attribute that the operator does not have. */
static bool check_attr(setting *s, const surg_node *n, const char *name) {
  const surg_schema *schema = surg_node_schema(n);
  if (!schema || surg_schema_contrib(schema)) return true;
  const size_t count = surg_schema_attr_count(schema);
  const char **names = surg_pass_alloc(s->p, (count + 1) * sizeof *names);
  if (!names) return false;
  for (size_t i = 0; i < count; i++) {
    names[i] = surg_schema_attr_name(schema, i);
    if (strcmp(names[i], name) == 0) return true;
  }
  char text[TEXT];
  const char *near = surg_pass_nearest(name, names, count);
  snprintf(text, sizeof text, "%s of opset %lld has no attribute '%.200s'%s%.100s%s",
           surg_node_op_type(n),
           (long long)surg_graph_opset(surg_node_graph(n), surg_node_domain(n)), name,
           near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  surg_pass_usage(s->p, text);
  return false;
}

static bool remove_attrs(setting *s, surg_node *n) {
  for (size_t i = 0; i < surg_pass_list_count(s->p, "remove"); i++) {
    const char *name = surg_pass_list_at(s->p, "remove", i);
    char text[TEXT];
    const surg_status status = surg_node_remove_attr(n, name);
    snprintf(text, sizeof text, "remove: %.100s sets no attribute '%.200s'", surg_node_op_type(n),
             name);
    if (status == SURG_ENOTFOUND) return surg_pass_usage(s->p, text) != SURG_PASS_FAILED;
    if (status != SURG_OK) return false;
    s->computes = true;
  }
  return true;
}

static bool set_op(setting *s, surg_node *n) {
  const char *op, *spec = given(s, "op");
  if (!spec) return true;
  const char *domain = *spec ? domains_split(s->p, spec, &op) : NULL;
  if (!*spec) return surg_pass_usage(s->p, "op: an empty name") != SURG_PASS_FAILED;
  s->computes = true;
  return domain && domains_import(surg_node_graph(n), domain, 1) == SURG_OK &&
         surg_node_set_op(n, domain, op) == SURG_OK;
}

static bool set_node(setting *s, surg_node *n) {
  const char *name = given(s, "name"), *doc = given(s, "doc"), *overload = given(s, "overload");
  char text[TEXT];
  if (!set_op(s, n) || !remove_attrs(s, n)) return false;
  for (size_t i = 0; i < surg_pass_pair_count(s->p); i++)
    if (!check_attr(s, n, surg_pass_pair_name(s->p, i))) return false;
  if (surg_pass_pair_count(s->p)) s->computes = true;
  if (attrs_set(s->p, n) == SURG_PASS_FAILED) return false;
  if (name && surg_node_set_name(n, name) != SURG_OK) return false;
  if (doc && surg_node_set_doc(n, *doc ? doc : NULL) != SURG_OK) return false;
  if (overload && (s->computes = true, surg_node_set_overload(n, overload)) != SURG_OK)
    return false;
  if (!set_metadata(s, n, put_node)) return false;
  if (!s->computes || domains_takes(n, text, sizeof text)) return true;
  surg_pass_fail(s->p, n, text);
  return false;
}

static bool set_nodes(setting *s) {
  static const char *const allowed[] = {"op", "name", "overload"};
  const char *name = given(s, "name");
  size_t n;
  surg_node **nodes = select_nodes(s->p, "node", given(s, "node"), &n);
  if (!nodes || !only(s, "a node", allowed, sizeof allowed / sizeof *allowed)) return false;
  if (name && *name && !select_node(s->p, "node", given(s, "node"))) return false;
  for (size_t i = 0; i < n; i++)
    if (!set_node(s, nodes[i])) return false;
  return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_file(const char *text) {
  const char *dot = strrchr(text, '.');
  return dot && (strcmp(dot, ".npy") == 0 || strcmp(dot, ".pb") == 0);
}

/* The new elements: a file, or text in the type and shape of the old ones. A new default of an
 * input has its declared element type. */
static surg_tensor *read_data(setting *s, const surg_value *v, const surg_tensor *old) {
  const char *data = given(s, "data");
  const surg_type *t = surg_value_declared_type(v);
  const bool typed = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_dtype(t);
  surg_tensor *out = NULL;
  char why[400], text[TEXT];
  if (is_file(data)) return surg_tensor_load(s->m, data);
  const surg_status status = surg_tensor_from_text(
      s->m, data,
      old     ? surg_tensor_dtype(old)
      : typed ? surg_type_dtype(t)
              : SURG_FLOAT,
      old ? surg_tensor_dims(old) : NULL, old ? surg_tensor_rank(old) : 0, &out, why, sizeof why);
  snprintf(text, sizeof text, "data: %s", why);
  if (status == SURG_EUSAGE) surg_pass_usage(s->p, text);
  return out;
}

/* The Constant node of a value, or NULL. */
static surg_node *constant_node(const surg_value *v) {
  surg_node *n = surg_value_producer(v, NULL);
  return n && surg_node_op(n) == SURG_OP_Constant ? n : NULL;
}

/* Removes the other forms of a Constant's value. */
static surg_status set_constant(surg_node *n, surg_tensor *t) {
  surg_status status = SURG_OK;
  for (size_t i = surg_node_attr_count(n); i-- > 0 && status == SURG_OK;) {
    const char *name = surg_attr_name(surg_node_attr_at(n, i));
    if (strcmp(name, "value") != 0) status = surg_node_remove_attr(n, name);
  }
  return status == SURG_OK ? surg_node_set_tensor(n, "value", t) : status;
}

static const surg_type *type_of_tensor(setting *s, const surg_tensor *t) {
  const size_t rank = surg_tensor_rank(t);
  surg_dim *dims = surg_pass_alloc(s->p, (rank + 1) * sizeof *dims);
  for (size_t i = 0; dims && i < rank; i++) dims[i] = (surg_dim){.value = surg_tensor_dims(t)[i]};
  return dims ? surg_type_tensor(s->m, surg_tensor_dtype(t), dims, rank) : NULL;
}

/* Whether a default fits the declaration of its input; else after an error. */
static bool fits_input(setting *s, const surg_value *v) {
  const surg_tensor *t = surg_value_initializer(v);
  const surg_type *type = t ? type_of_tensor(s, t) : NULL, *said = surg_value_declared_type(v);
  bool bad = false;
  char *a = NULL, *b = NULL, text[TEXT];
  if (!t || !surg_value_is_input(v) || !said) return true;
  if (!type) return false;
  (void)surg_type_refine(s->m, said, type, &bad);
  if (!bad) return true;
  surg_context *ctx = surg_model_context(s->m);
  if (surg_type_text(ctx, type, &a) == SURG_OK && surg_type_text(ctx, said, &b) == SURG_OK) {
    snprintf(text, sizeof text, "data: '%.200s' is declared as %.200s, the elements are %.200s",
             surg_value_name(v), b, a);
    surg_pass_usage(s->p, text);
  }
  surg_context_free_bytes(ctx, a);
  surg_context_free_bytes(ctx, b);
  return false;
}

static bool set_data(setting *s, surg_value *v) {
  surg_node *constant = constant_node(v);
  char text[TEXT];
  if (!given(s, "data")) return true;
  s->computes = true;
  const surg_tensor *old = constant ? surg_value_constant(v) : surg_value_initializer(v);
  snprintf(text, sizeof text, "data: '%.300s' is neither an initializer, a constant nor an input",
           surg_value_name(v));
  if (!constant && !surg_value_is_initializer(v) && !surg_value_is_input(v))
    return surg_pass_usage(s->p, text) != SURG_PASS_FAILED;
  surg_tensor *t = read_data(s, v, old);
  if (!t) return false;
  if (constant) return set_constant(constant, t) == SURG_OK;
  const surg_type *type = type_of_tensor(s, t);
  if (!type || surg_value_set_initializer(v, t) != SURG_OK) return false;
  /* The declaration of a weight that a caller may replace describes the old one. */
  const bool declared = old && surg_value_declared_type(v);
  return !declared || given(s, "type") || surg_value_set_declared_type(v, type) == SURG_OK;
}

/* Refuses a type that contradicts what inference proves. */
static bool check_type(setting *s, const surg_value *v, const surg_type *t) {
  bool bad = false;
  char text[TEXT];
  if (!t || !surg_value_producer(v, NULL)) return true;
  if (surg_model_infer(s->m) != SURG_OK) return false;
  if (surg_value_type(v)) (void)surg_type_refine(s->m, t, surg_value_type(v), &bad);
  char *proven = NULL;
  if (bad && surg_type_text(surg_model_context(s->m), surg_value_type(v), &proven) != SURG_OK)
    return false;
  snprintf(text, sizeof text, "type: '%.300s' is %.200s", surg_value_name(v),
           proven ? proven : "another type");
  surg_context_free_bytes(surg_model_context(s->m), proven);
  return !bad || surg_pass_usage(s->p, text) != SURG_PASS_FAILED;
}

static bool set_value(setting *s, surg_value *v) {
  const char *type = given(s, "type"), *doc = given(s, "doc");
  char text[TEXT];
  if (!set_data(s, v)) return false;
  if (type) {
    const surg_type *t = *type ? typetext_parse(s->p, type) : NULL;
    char word[32];
    nearest near = {.name = word};
    snprintf(word, sizeof word, "%.*s", (int)strcspn(type, "[("), type);
    if (!t) nearest_offer_types(&near);
    snprintf(text, sizeof text, "type: '%.200s' is not a type, such as 'float[N,3]'%s", type,
             nearest_hint(&near));
    if (*type && !t) return surg_pass_usage(s->p, text) != SURG_PASS_FAILED;
    if (surg_value_set_declared_type(v, t) != SURG_OK || !check_type(s, v, t)) return false;
    s->computes |= surg_value_is_input(v);
  }
  if (doc) {
    const surg_status status = surg_value_set_doc(v, *doc ? doc : NULL);
    if (status == SURG_EUNSUPPORTED)
      return surg_pass_usage(s->p, "doc: the value has no declaration; set its type too") !=
             SURG_PASS_FAILED;
    if (status != SURG_OK) return false;
  }
  return (!s->computes || fits_input(s, v)) && set_metadata(s, v, put_value);
}

static bool set_values(setting *s) {
  static const char *const allowed[] = {"data", "type"};
  size_t n;
  surg_value **values = select_values(s->p, "value", given(s, "value"), &n);
  if (!values || !only(s, "a value", allowed, sizeof allowed / sizeof *allowed)) return false;
  for (size_t i = 0; i < n; i++)
    if (!set_value(s, values[i])) return false;
  return true;
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool set_text(setting *s, const char *option, surg_model_field field) {
  const char *text = given(s, option);
  return !text || surg_model_set_text(s->m, field, *text ? text : NULL) == SURG_OK;
}

/* Refuses to remove an import that a node needs. */
static bool unused_domain(setting *s, const char *domain) {
  for (surg_graph *g = surg_model_next_graph(s->m, NULL); g; g = surg_model_next_graph(s->m, g))
    for (surg_node *n = surg_graph_first_node(g); n && !surg_graph_function(g);
         n = surg_node_next(n)) {
      const char *of = surg_node_domain(n);
      char text[TEXT];
      if (strcmp(of, domain) != 0 && !(domains_default(of) && domains_default(domain))) continue;
      snprintf(text, sizeof text, "import: %s needs domain '%.200s'", surg_node_where(n), domain);
      return surg_pass_usage(s->p, text) != SURG_PASS_FAILED;
    }
  return true;
}

/* Sets the imports `DOMAIN=VERSION`; version 0 removes one. */
static bool set_imports(setting *s) {
  for (size_t i = 0; i < surg_pass_list_count(s->p, "import"); i++) {
    const char *entry = surg_pass_list_at(s->p, "import", i), *equals = strrchr(entry, '=');
    char text[TEXT], *end = NULL;
    const long long version = equals ? strtoll(equals + 1, &end, 10) : -1;
    snprintf(text, sizeof text, "import: expected DOMAIN=VERSION, found '%.300s'", entry);
    if (!equals || version < 0 || end == equals + 1 || *end)
      return surg_pass_usage(s->p, text) != SURG_PASS_FAILED;
    char *domain = surg_pass_alloc(s->p, (size_t)(equals - entry) + 1);
    if (!domain) return false;
    memcpy(domain, entry, (size_t)(equals - entry));
    s->computes = true;
    if (version == 0 && !unused_domain(s, domain)) return false;
    if (surg_model_set_opset(s->m, domain, version) != SURG_OK) return false;
  }
  return true;
}

static bool set_version(setting *s) {
  const char *text = given(s, "version");
  char *end;
  if (!text) return true;
  const long long version = strtoll(text, &end, 10);
  if (end == text || *end)
    return surg_pass_usage(s->p, "version: expected an integer") != SURG_PASS_FAILED;
  return surg_model_set_version(s->m, version) == SURG_OK;
}

extern const surg_pass surg__pass_set;

/* Refuses an attribute where no node is named: a misspelled option looks like one. */
static bool needs_node(const setting *s) {
  const char *name = surg_pass_pair_count(s->p) ? surg_pass_pair_name(s->p, 0) : "remove";
  nearest near = {.name = name};
  char text[TEXT];
  for (size_t i = 0; i + 1 < surg__pass_set.option_count; i++) /* the last one is the attribute */
    if (strcmp(surg__pass_set.options[i].name, name) != 0)
      nearest_offer(&near, surg__pass_set.options[i].name);
  snprintf(text, sizeof text, "'%.200s' is no option; an attribute needs node=%s", name,
           nearest_hint(&near));
  return surg_pass_usage(s->p, text) != SURG_PASS_FAILED;
}

static bool set_model(setting *s) {
  static const char *const allowed[] = {"version", "producer", "producer-version", "domain",
                                        "graph-name"};
  const char *name = given(s, "graph-name");
  if (!only(s, "the model", allowed, sizeof allowed / sizeof *allowed)) return false;
  if (surg_pass_pair_count(s->p) || surg_pass_list_count(s->p, "remove"))
    return needs_node(s);
  if (name && !*name)
    return surg_pass_usage(s->p, "graph-name: a graph needs a name") != SURG_PASS_FAILED;
  if (name && surg_graph_set_name(surg_model_graph(s->m), name) != SURG_OK) return false;
  return set_text(s, "doc", SURG_MODEL_DOC) && set_text(s, "producer", SURG_MODEL_PRODUCER) &&
         set_text(s, "producer-version", SURG_MODEL_PRODUCER_VERSION) &&
         set_text(s, "domain", SURG_MODEL_DOMAIN) && set_version(s) && set_imports(s) &&
         set_metadata(s, s->m, put_model);
}

/* Whether an option other than node and value is given. */
static bool sets_anything(const setting *s) {
  static const char *const texts[] = {
      "op",       "name",       "overload",         "data",    "type",  "doc",
      "producer", "graph-name", "producer-version", "version", "domain"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (given(s, texts[i])) return true;
  return surg_pass_pair_count(s->p) || surg_pass_list_count(s->p, "remove") ||
         surg_pass_list_count(s->p, "metadata") || surg_pass_list_count(s->p, "import");
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  setting s = {.p = p, .m = surg_pass_model(p)};
  const uint64_t epoch = surg_model_epoch(s.m);
  const bool node = given(&s, "node") != NULL, value = given(&s, "value") != NULL;
  if (node && value) return surg_pass_usage(p, "node and value exclude each other");
  if (!sets_anything(&s)) return surg_pass_usage(p, "nothing to set is given");
  if ((node || value) && surg_pass_list_count(p, "import"))
    return surg_pass_usage(p, "import: only the model has imports");
  if (value && (surg_pass_pair_count(p) || surg_pass_list_count(p, "remove")))
    return needs_node(&s) ? SURG_PASS_UNCHANGED : SURG_PASS_FAILED;
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (!(node ? set_nodes(&s) : value ? set_values(&s) : set_model(&s))) return SURG_PASS_FAILED;
  if (!s.computes) surg_pass_used(p, SURG_EXACT);
  if (s.computes && !declared_fit_outputs(p)) return SURG_PASS_FAILED;
  return surg_model_epoch(s.m) == epoch ? SURG_PASS_UNCHANGED : SURG_PASS_CHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(STRING, "node", NULL, "nodes to change (an address)"),
    SURG_OPTION(STRING, "value", NULL, "values to change (an address); neither: the model"),
    SURG_OPTION(STRING, "op", NULL, "of a node: operator, Relu or com.acme.Foo"),
    SURG_OPTION(STRING, "name", NULL, "of a node: name"),
    SURG_OPTION(STRING, "overload", NULL, "of a node: overload"),
    SURG_OPTION(LIST, "remove", NULL, "of a node: attributes to remove"),
    SURG_OPTION(STRING, "data", NULL, "of a weight or constant: 1.5, {1, 2}, a file"),
    SURG_OPTION(STRING, "type", NULL, "of a value: declared type, float[N,3]; empty: none"),
    SURG_OPTION(STRING, "doc", NULL, "doc string; empty: none"),
    SURG_OPTION(LIST, "metadata", NULL, "metadata KEY=VALUE; KEY= removes it"),
    SURG_OPTION(LIST, "import", NULL, "of the model: import DOMAIN=VERSION; 0: none"),
    SURG_OPTION(STRING, "graph-name", NULL, "of the model: name of the graph"),
    SURG_OPTION(STRING, "producer", NULL, "of the model: producer_name"),
    SURG_OPTION(STRING, "producer-version", NULL, "of the model: producer_version"),
    SURG_OPTION(STRING, "domain", NULL, "of the model: domain"),
    SURG_OPTION(STRING, "version", NULL, "of the model: model_version"),
    SURG_OPTION(PAIRS, "attribute", NULL, "attribute of the node: axis=1 or axes=0+1"),
};

const surg_pass surg__pass_set = {
    SURG_PASS_HEAD(MODEL, "set", "set attributes, weights, types, names, texts"),
    SURG_PASS_OPTIONS(options),
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_LOSSY,
    .changes_interface = true,
    .edits = true,
    .run = run,
};
