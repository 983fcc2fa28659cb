/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs the IR version and the opset imports: a missing IR version becomes that of the model's
 * opset, and one that is too old for the imports or the initializers is raised; the default domain
 * is spelled one way; unused imports of training domains are removed; missing imports of other
 * domains are added. See mend.h. */
#include <string.h>

#include "../util/domains.h"
#include "../util/missing.h"
#include "mend.h"

#define FIRST_WITH_IMPORTS 3
#define FIRST_WITH_WEIGHTS 4 /* first IR version whose initializers need not be inputs */
#define TEXT 256

/* The IR version of the release with an opset of the default domain. */
static int64_t ir_of(int64_t opset) {
  static const struct {
    uint8_t opset, ir;
  } steps[] = {{25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}, {15, 8},
               {12, 7},  {11, 6},  {10, 5},  {9, 4},   {0, 3}};
  size_t i = 0;
  while (opset < steps[i].opset) i++;
  return steps[i].ir;
}

/* Whether an initializer of the main graph is no input, which IR version 3 does not allow. */
static bool has_own_weights(surg_graph *g) {
  for (surg_value *v = surg_graph_next_initializer(g, NULL); v;
       v = surg_graph_next_initializer(g, v))
    if (!surg_value_is_input(v)) return true;
  return false;
}

/* The imported version of the default domain, whatever the IR version; 0: none. */
static int64_t imported(const surg_model *m) {
  for (size_t i = 0; i < surg_model_import_count(m); i++)
    if (domains_default(surg_model_import_domain(m, i))) return surg_model_import_version(m, i);
  return 0;
}

/* Whether the main graph or a graph inside it has a node of ONNX's own domain. */
static bool uses_onnx(const surg_model *m) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n && !surg_graph_function(g);
         n = surg_node_next(n))
      if (domains_default(surg_node_domain(n)) && !surg_node_function(n)) return true;
  return false;
}

/* The IR version that the content needs, at least that of the opset. */
static int64_t ir_needed(const mending *k, int64_t opset) {
  const surg_node *where;
  char what[TEXT];
  int64_t ir = ir_of(opset > 0 ? opset : 1);
  const int64_t least = surg_model_ir_floor(k->m, &where, what, sizeof what);
  if (ir < least) ir = least;
  if (ir < FIRST_WITH_WEIGHTS && has_own_weights(surg_model_graph(k->m))) ir = FIRST_WITH_WEIGHTS;
  return ir;
}

/* Removes initializers from the inputs: from IR version 4 on, a caller could override them. */
static bool keep_constant(surg_graph *g) {
  for (size_t i = surg_graph_input_count(g); i-- > 0;)
    if (surg_value_is_initializer(surg_graph_input(g, i)) &&
        surg_graph_remove_input(g, i) != SURG_OK)
      return false;
  return true;
}

bool mend_ir(mending *k, int64_t opset, surg_exactness e) {
  if (surg_model_ir_version(k->m) > 0 || !mend_may(k, e)) return true;
  const int64_t ir = ir_needed(k, opset);
  if (surg_model_set_ir_version(k->m, ir) != SURG_OK) return false;
  mend_did(k, NULL, e,
           "the IR version is missing or out of range: now %lld, which the content needs",
           (long long)ir);
  return true;
}

/* Sets a missing IR version, unless the opset is missing too: then mend_opsets selects both. */
static bool set_ir(mending *k) {
  const int64_t opset = imported(k->m);
  return opset || !uses_onnx(k->m) ? mend_ir(k, opset, SURG_EXACT) : true;
}

/* Raises an IR version that has no opset imports, or requires initializers to be inputs. */
static bool raise_ir(mending *k) {
  surg_graph *g = surg_model_graph(k->m);
  const int64_t now = surg_model_ir_version(k->m);
  if (now <= 0) return true;
  const bool weights = now == FIRST_WITH_IMPORTS && has_own_weights(g);
  if (!weights && (now >= FIRST_WITH_IMPORTS || !surg_model_import_count(k->m))) return true;
  const surg_exactness e =
      weights || mend_opset_agrees(k, imported(k->m), 1) ? SURG_EXACT : SURG_APPROX;
  const int64_t ir = weights ? FIRST_WITH_WEIGHTS : ir_needed(k, imported(k->m));
  if (!mend_allows(k, e))
    mend_leaves(k, NULL,
                "IR version %lld implies opset 1, but the model imports opset %lld, which gives "
                "the nodes other meanings; --allow approx selects the import",
                (long long)now, (long long)imported(k->m));
  if (!mend_may(k, e)) return true;
  if (ir >= FIRST_WITH_WEIGHTS && !keep_constant(g)) return false;
  if (surg_model_set_ir_version(k->m, ir) != SURG_OK) return false;
  mend_did(k, NULL, e, "IR version %lld has no %s: now %lld", (long long)now,
           weights ? "initializers besides the inputs" : "opset imports", (long long)ir);
  return true;
}

/* --- the default domain by its long name --- */

static bool is_long(const char *domain) {
  return *domain && domains_default(domain);
}

static size_t rename_nodes(mending *k, surg_node **first) {
  size_t count = 0;
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      if (!is_long(surg_node_domain(n)) || !*surg_node_op_type(n) || surg_node_function(n) ||
          !mend_may(k, SURG_EXACT))
        continue;
      char *op = surg_pass_alloc(k->p, strlen(surg_node_op_type(n)) + 1);
      if (!op || surg_node_set_op(n, "", strcpy(op, surg_node_op_type(n))) != SURG_OK)
        return SIZE_MAX;
      if (!count++) *first = n;
    }
  return count;
}

static surg_status set_opset(mending *k, surg_function *f, const char *domain, int64_t version) {
  return f ? surg_function_set_opset(f, domain, version)
           : surg_model_set_opset(k->m, domain, version);
}

/* Writes the import of the default domain of a model or function once, by the short name. */
static bool respell(mending *k, surg_function *f, size_t count, bool forced) {
  int64_t version = 0;
  bool found = false;
  for (size_t i = 0; i < count; i++) {
    const char *domain = f ? surg_function_import_domain(f, i) : surg_model_import_domain(k->m, i);
    if (!is_long(domain) && !(forced && !*domain)) continue;
    version = f ? surg_function_import_version(f, i) : surg_model_import_version(k->m, i);
    found = true;
  }
  if (!found || !mend_may(k, SURG_EXACT)) return true;
  if (set_opset(k, f, "", 0) != SURG_OK || set_opset(k, f, "", version) != SURG_OK) return false;
  mend_did(k, NULL, SURG_EXACT,
           "domain ai.onnx is imported by its empty name, with opset %lld",
           (long long)version);
  return true;
}

static bool short_names(mending *k) {
  surg_node *first = NULL;
  const size_t count = rename_nodes(k, &first);
  if (count == SIZE_MAX) return false;
  if (count)
    mend_did(k, first, SURG_EXACT,
             "%zu node%s of domain ai.onnx: the domain is now empty, which means the same", count,
             count == 1 ? "" : "s");
  if (surg_model_ir_version(k->m) < 3) return true;
  if (!respell(k, NULL, surg_model_import_count(k->m), count > 0)) return false;
  for (size_t i = 0; i < surg_model_function_count(k->m); i++) {
    surg_function *f = surg_model_function(k->m, i);
    if (!respell(k, f, surg_function_import_count(f), false)) return false;
  }
  return true;
}

/* --- training --- */

static bool uses_domain(const surg_model *m, const char *domain) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (strcmp(surg_node_domain(n), domain) == 0) return true;
  for (size_t i = 0; i < surg_model_function_count(m); i++)
    if (strcmp(surg_function_domain(surg_model_function(m, i)), domain) == 0) return true;
  return false;
}

static bool training_imports(mending *k) {
  static const char *const domains[] = {"ai.onnx.training", "ai.onnx.preview.training"};
  for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
    if (surg_model_opset(k->m, domains[i]) == 0 || uses_domain(k->m, domains[i])) continue;
    if (!mend_may(k, SURG_EXACT)) continue;
    if (surg_model_set_opset(k->m, domains[i], 0) != SURG_OK) return false;
    mend_did(k, NULL, SURG_EXACT, "import of domain %s removed: no node uses it", domains[i]);
  }
  return true;
}

/* --- other domains --- */

static bool other_domains(mending *k) {
  missing *list;
  if (!missing_imports(k->p, &list)) return false;
  for (const missing *m = list; m; m = m->next) {
    if (!missing_room(k->p, m) || !mend_may(k, SURG_EXACT)) continue;
    if (missing_import(k->p, m) != SURG_OK) return false;
    mend_did(k, m->node, SURG_EXACT, "domain '%.100s' is not imported: now in version %lld",
             surg_node_domain(m->node), (long long)m->version);
  }
  return true;
}

/* --- operators without their domain --- */

/* Whether ONNX's default domain has, or had, an operator of this name. */
static bool is_onnx(const char *op_type) {
  for (int64_t v = surg_schema_newest(""); v >= 1; v--)
    if (surg_schema_find("", op_type, v)) return true;
  return false;
}

static bool matches(const surg_node *n, const char *domain) {
  char why[TEXT];
  const surg_schema *s = surg_schema_find(domain, surg_node_op_type(n), surg_schema_newest(domain));
  const size_t in = surg_node_input_count(n), out = surg_node_output_count(n);
  return s && in >= surg_schema_min_inputs(s) && in <= surg_schema_max_inputs(s) &&
         out >= surg_schema_min_outputs(s) && out <= surg_schema_max_outputs(s) &&
         domains_attrs_fit(n, s, why, sizeof why);
}

/* The only domain, of those known and those of the model's functions, that has an operator of this
 * name and form; NULL: none, or several. */
static const char *home_of(const mending *k, const surg_node *n) {
  static const char *const known[] = {"com.microsoft", "ai.onnx.ml", "ai.onnx.training",
                                      "ai.onnx.preview.training"};
  const char *found = NULL;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!matches(n, known[i])) continue;
    if (found) return NULL;
    found = known[i];
  }
  /* A call inside of a function could make it call itself. */
  const bool calls = !surg_graph_function(surg_node_graph(n));
  for (size_t i = 0; calls && i < surg_model_function_count(k->m); i++) {
    const surg_function *f = surg_model_function(k->m, i);
    if (strcmp(surg_function_name(f), surg_node_op_type(n)) != 0 || !*surg_function_domain(f))
      continue;
    if (found) return NULL;
    found = surg_function_domain(f);
  }
  return found;
}

/* Gives a node of the default domain that ONNX never had the domain that has its operator. */
static bool home(mending *k, surg_node *n) {
  if (surg_node_class(n) != SURG_OP_CLASS_CUSTOM || !domains_default(surg_node_domain(n)) ||
      !*surg_node_op_type(n) || is_onnx(surg_node_op_type(n)) || surg_pass_keeps_node(k->p, n))
    return true;
  const char *domain = home_of(k, n);
  if (!domain) return true;
  if (!mend_allows(k, SURG_APPROX))
    mend_leaves(k, n,
                "ONNX has no such operator; --allow approx moves it to domain '%.100s', "
                "which has one",
                domain);
  if (!mend_may(k, SURG_APPROX)) return true;
  char *op = surg_pass_alloc(k->p, strlen(surg_node_op_type(n)) + 1);
  const int64_t newest = surg_schema_newest(domain);
  if (!op || domains_import(surg_node_graph(n), domain, newest > 0 ? newest : 1) != SURG_OK ||
      surg_node_set_op(n, domain, strcpy(op, surg_node_op_type(n))) != SURG_OK)
    return false;
  mend_did(k, n, SURG_APPROX, "an operator that ONNX does not have is moved to domain '%.100s'",
           domain);
  return true;
}

static bool homes(mending *k) {
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!home(k, n)) return false;
  return true;
}

bool mend_versions(mending *k) {
  if (!short_names(k) || !training_imports(k) || !set_ir(k) || !raise_ir(k)) return false;
  return surg_model_ir_version(k->m) < 3 || (homes(k) && other_domains(k));
}
