/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs the opset of the default domain if it is missing, or older or newer than a node needs. It
 * is certain if all opsets that support every node, with its inputs and attributes, give the nodes
 * the same meaning. The comparison uses a copy of the model. See mend.h. */
#include <stdio.h>
#include <string.h>

#include "../util/domains.h"
#include "mend.h"

#define WIDELY_SUPPORTED 17 /* opset preferred for a model without any version */
#define IR_OF_COPY 8        /* of a copy without an IR version: any that has imports */

/* The newest opset of the ONNX releases with an IR version. */
static int64_t newest_of(int64_t ir) {
  static const uint8_t newest[] = {[3] = 8, 9, 10, 11, 14, 18, 20, 22, 23, 24};
  const int64_t all = surg_schema_newest("");
  if (ir < 3 || (size_t)ir >= sizeof newest) return all;
  return newest[ir] < all ? newest[ir] : all;
}

/* --- nodes of a model or function --- */

typedef struct scope {
  surg_model *m;
  surg_function *f;   /* NULL: the main graph and its subgraphs */
  bool lacks_allowed; /* a missing required attribute is a defect of its node, not of the opset */
} scope;

/* The first subgraph of the nodes from n on, or NULL. */
static surg_graph *subgraph_from(surg_node *n) {
  while (n && !surg_node_subgraph(n, 0)) n = surg_node_next(n);
  return n ? surg_node_subgraph(n, 0) : NULL;
}

/* The graph after g in the scope, outer before inner; NULL: g is the last one. Does not visit other
 * scopes: a model may have thousands of functions. */
static surg_graph *next_graph(const surg_graph *g) {
  surg_graph *next = subgraph_from(surg_graph_first_node(g));
  while (!next && surg_graph_parent_node(g)) {
    surg_node *n = surg_graph_parent_node(g);
    size_t k = 0;
    while (surg_node_subgraph(n, k) != g) k++;
    next = surg_node_subgraph(n, k + 1);
    if (!next) next = subgraph_from(surg_node_next(n));
    g = surg_node_graph(n);
  }
  return next;
}

static surg_node *next_node(const scope *s, surg_node *n) {
  surg_graph *g = n      ? surg_node_graph(n)
                  : s->f ? surg_function_graph(s->f)
                         : surg_model_graph(s->m);
  bool first = !n;
  do {
    n = n ? surg_node_next(n) : first ? surg_graph_first_node(g) : NULL;
    first = false;
    while (!n && (g = next_graph(g))) n = surg_graph_first_node(g);
  } while (n && (!domains_default(surg_node_domain(n)) || surg_node_function(n)));
  return n;
}

static int64_t opset_of(const scope *s) {
  return s->f ? surg_function_opset(s->f, "") : surg_model_opset(s->m, "");
}

static surg_status set_opset(const scope *s, int64_t v) {
  return s->f ? surg_function_set_opset(s->f, "", v) : surg_model_set_opset(s->m, "", v);
}

static size_t inputs_of(const surg_node *n) {
  size_t count = surg_node_input_count(n);
  while (count && !surg_node_input(n, count - 1)) count--;
  return count;
}

static bool knows_attr(const surg_schema *s, const char *name) {
  for (size_t i = 0; i < surg_schema_attr_count(s); i++)
    if (strcmp(surg_schema_attr_name(s, i), name) == 0) return true;
  return false;
}

/* Whether the node matches that version, by inputs, outputs and names of attributes. */
static bool is_written_for(const surg_node *n, const surg_schema *s, bool lacks_allowed) {
  const size_t in = inputs_of(n), out = surg_node_output_count(n);
  if (!s || surg_schema_deprecated(s)) return false;
  if (in < surg_schema_min_inputs(s) || in > surg_schema_max_inputs(s)) return false;
  if (out < surg_schema_min_outputs(s) || out > surg_schema_max_outputs(s)) return false;
  for (size_t i = 0; i < surg_schema_min_inputs(s); i++)
    if (!surg_node_input(n, i)) return false;
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    if (!knows_attr(s, surg_attr_name(surg_node_attr_at(n, i)))) return false;
  for (size_t i = 0; !lacks_allowed && i < surg_schema_attr_count(s); i++)
    if (surg_schema_attr_required(s, i) && !surg_node_attr(n, surg_schema_attr_name(s, i)))
      return false;
  return true;
}

/* Whether the version accepts the element types of the inputs, as far as they are known. */
static bool takes_types(const surg_node *n, const surg_schema *s) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_type *t = v ? surg_value_type(v) : NULL;
    const int dtype =
        t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : SURG_UNDEFINED;
    if (dtype != SURG_UNDEFINED && !surg_schema_takes(s, i, dtype)) return false;
  }
  return true;
}

static bool matches(const scope *s, const surg_node *n, int64_t v) {
  const surg_schema *schema = surg_schema_find("", surg_node_op_type(n), v);
  return is_written_for(n, schema, s->lacks_allowed) && takes_types(n, schema);
}

/* Whether the node matches any version of ONNX; if not, it does not restrict the opset. */
static bool is_known(const scope *s, const surg_node *n) {
  for (int64_t v = surg_schema_newest(""); v >= 1; v--)
    if (matches(s, n, v)) return true;
  return false;
}

/* The first node that matches some opset but not v, or NULL. */
static const surg_node *misfit(const scope *s, int64_t v) {
  for (surg_node *n = next_node(s, NULL); n; n = next_node(s, n))
    if (!matches(s, n, v) && is_known(s, n)) return n;
  return NULL;
}

/* Whether opset v broadcasts only by attributes that the node lacks: its inputs then have one
 * shape, for which all versions compute the same. */
static bool is_plain(const surg_node *n, int64_t v) {
  const surg_schema *s = surg_schema_find("", surg_node_op_type(n), v);
  return s && knows_attr(s, "broadcast") && !surg_node_attr(n, "broadcast") &&
         !surg_node_attr(n, "axis");
}

/* Whether the node means something at opset `now`, from which it moves to v: it matches it, or the
 * operator is deprecated there, which engines still run, and defined anew at v. */
static bool has_meaning(const scope *s, const surg_node *n, int64_t now, int64_t v) {
  const surg_schema *schema = surg_schema_find("", surg_node_op_type(n), now);
  return (v > now && schema && surg_schema_deprecated(schema)) || matches(s, n, now);
}

/* The first node whose meaning at opset v differs from that at the current opset, or NULL. */
static const surg_node *differing(const scope *s, int64_t v) {
  const int64_t now = opset_of(s);
  for (surg_node *n = next_node(s, NULL); n; n = next_node(s, n))
    if (surg_node_class(n) == SURG_OP_CLASS_BUILTIN && !is_plain(n, v) && !surg_node_fits(n, v) &&
        has_meaning(s, n, now, v))
      return n;
  return NULL;
}

/* --- selecting the opset --- */

/* The newest opset from `least` to `most` that all nodes match; 0: none. */
static int64_t newest_fit(const scope *s, int64_t least, int64_t most) {
  while (most >= least && misfit(s, most)) most--;
  return most >= least ? most : 0;
}

/* A copy of the scope with opset v and types inferred; copy.m is NULL on failure. Free copy.m. */
static scope copy_at(const mending *k, const surg_function *f, int64_t v) {
  surg_model_open_findings(k->m); /* updates findings of erased nodes, which have no copy */
  scope s = {.m = surg_model_clone(k->m)};
  for (size_t i = 0; f && s.m && i < surg_model_function_count(k->m); i++)
    if (surg_model_function(k->m, i) == f) s.f = surg_model_function(s.m, i);
  if (!s.m) return s;
  const bool known = surg_model_ir_version(s.m) > 0;
  if ((known || surg_model_set_ir_version(s.m, IR_OF_COPY) == SURG_OK) &&
      set_opset(&s, v) == SURG_OK) {
    surg_model_open_findings(s.m); /* updates the class of nodes that the opset makes valid */
    if (surg_model_infer(s.m) == SURG_OK) return s;
  }
  surg_model_free(s.m);
  return (scope){.m = NULL};
}

/* The newest opset up to `most` that all nodes match and that gives some node another meaning than
 * v; 0: none, -1: failure. */
static int64_t contested(const mending *k, const surg_function *f, int64_t v, int64_t most) {
  const scope s = copy_at(k, f, v);
  int64_t other = s.m ? 0 : -1;
  for (int64_t w = most; w >= 1 && other == 0; w--)
    if (w != v && !misfit(&s, w) && differing(&s, w)) other = w;
  surg_model_free(s.m);
  return other;
}

bool mend_opset_agrees(const mending *k, int64_t this, int64_t other) {
  const scope now = {.m = k->m};
  if (other < 1 || misfit(&now, this)) return false;
  if (misfit(&now, other)) return true;
  const scope s = copy_at(k, NULL, this);
  const bool same = s.m && !differing(&s, other);
  surg_model_free(s.m);
  return same;
}

bool mend_opset_certain(const mending *k, const char *text) {
  const char *numbers = strstr(text, "versions ");
  const int64_t now = surg_model_opset(k->m, "");
  long long a = 0, b = 0;
  if (!numbers || sscanf(numbers, "versions %lld and %lld", &a, &b) != 2) return false;
  const int64_t high = a > b ? a : b, low = a > b ? b : a;
  return high == now && mend_opset_agrees(k, high, low);
}

static bool import(mending *k, const scope *s, int64_t v, surg_exactness e, const char *why,
                   const char *fit) {
  if (mend_allows(k, e) && !mend_ir(k, v, e)) return false;
  if (surg_model_ir_version(k->m) <= 0 || !mend_may(k, e)) return true;
  if (set_opset(s, v) != SURG_OK) return false;
  mend_did(k, NULL, e, "%s: now opset %lld, which %s", why, (long long)v, fit);
  return true;
}

/* The oldest opset above `above` that all nodes match; 0: none. */
static int64_t oldest_fit(const scope *s, int64_t above) {
  const int64_t newest = surg_schema_newest("");
  int64_t v = above + 1;
  while (v <= newest && misfit(s, v)) v++;
  return v <= newest ? v : 0;
}

/* No opset has all nodes as they are: the newest one that has them once required attributes are
 * given is a guess. */
static bool missing_and_lacking(mending *k, const scope *s, int64_t most) {
  scope lacking = *s;
  lacking.lacks_allowed = true;
  const int64_t v = newest_fit(&lacking, 1, most);
  if (!v) {
    mend_leaves(k, misfit(s, most), "the opset import is missing, and no opset has all nodes");
    return true;
  }
  if (mend_allows(k, SURG_APPROX))
    return import(k, s, v, SURG_APPROX, "the opset import is missing",
                  "has all nodes except for missing attributes");
  mend_leaves(k, misfit(s, v),
              "the opset import and a required attribute are missing; --allow approx selects opset "
              "%lld, which has all other nodes",
              (long long)v);
  return true;
}

static bool missing(mending *k, const scope *s) {
  const int64_t ir = surg_model_ir_version(k->m), most = newest_of(ir);
  int64_t wanted = ir > 0 ? most : WIDELY_SUPPORTED;
  if (k->opset > 0 && k->opset < wanted) wanted = k->opset;
  int64_t v = newest_fit(s, 1, wanted);
  if (!v) v = oldest_fit(s, wanted);
  if (!v || v > most) return missing_and_lacking(k, s, most);
  const int64_t other = contested(k, s->f, v, most);
  if (other < 0) return surg_model_status(k->m) == SURG_OK;
  const surg_exactness e = other ? SURG_APPROX : SURG_EXACT;
  if (!mend_allows(k, e))
    mend_leaves(
        k, NULL,
        "the opset import is missing, and opsets %lld and %lld give the nodes other meanings; "
        "--allow approx selects %lld",
        (long long)(other < v ? other : v), (long long)(other < v ? v : other), (long long)v);
  return import(k, s, v, e, "the opset import is missing", "has all nodes unchanged");
}

/* Whether the node has the form of another version: `now` has no such operator, or not one of the
 * attributes. A node that merely lacks something is no such sign. */
static bool is_other_form(const surg_node *n, int64_t now) {
  const surg_schema *s = surg_schema_find("", surg_node_op_type(n), now);
  if (!s || surg_schema_deprecated(s)) return true;
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    if (!knows_attr(s, surg_attr_name(surg_node_attr_at(n, i)))) return true;
  return false;
}

/* Whether all nodes that do not match `now` have the form of another version. */
static bool all_other_forms(const scope *s, int64_t now) {
  for (surg_node *n = next_node(s, NULL); n; n = next_node(s, n))
    if (!matches(s, n, now) && is_known(s, n) && !is_other_form(n, now)) return false;
  return true;
}

/* The opset that all nodes match if some node does not match `now`: the oldest above it, else the
 * newest below it; 0: none is needed, or there is none. */
static int64_t needed(const scope *s, int64_t now) {
  if (now > surg_schema_newest("") || !misfit(s, now)) return 0;
  const int64_t v = oldest_fit(s, now);
  return v || !all_other_forms(s, now) ? v : newest_fit(s, 1, now - 1);
}

static bool moved(mending *k, const scope *s, int64_t now) {
  scope lacking = *s;
  lacking.lacks_allowed = true;
  const int64_t strict = needed(s, now), v = strict ? strict : needed(&lacking, now);
  if (!v) return true;
  const surg_node *n = differing(s, v);
  if (n)
    mend_leaves(
        k, n,
        "a node needs opset %lld, in which this node has another meaning than in the imported "
        "opset %lld",
        (long long)v, (long long)now);
  return n ? true
           : import(k, s, v, SURG_EXACT,
                    v > now ? "a node is newer than the opset import"
                            : "a node is older than the opset import",
                    strict ? "has all nodes unchanged"
                           : "has all nodes except for missing attributes");
}

static bool one_scope(mending *k, surg_function *f) {
  const scope s = {.m = k->m, .f = f};
  const int64_t ir = surg_model_ir_version(k->m);
  if (ir > 0 && ir < 3) return true;
  /* Without an IR version there is no import: mend_versions has set it otherwise. */
  const int64_t now = ir > 0 || f ? opset_of(&s) : 0;
  if (now > 0) return moved(k, &s, now);
  const bool empty = !f && surg_model_import_count(k->m) == 0;
  return next_node(&s, NULL) || empty ? missing(k, &s) : true;
}

bool mend_opsets(mending *k) {
  if (surg_model_infer(k->m) != SURG_OK) return false;
  if (!one_scope(k, NULL)) return false;
  for (size_t i = 0; i < surg_model_function_count(k->m); i++)
    if (!one_scope(k, surg_model_function(k->m, i))) return false;
  return true;
}
