/* SPDX-License-Identifier: Apache-2.0 */
/* Writes inferred types and shapes into the model as value_info, and corrects wrong declarations:
 * an entry that contradicts inference is replaced, an output of the main graph or of a subgraph
 * becomes as specific as the proven type (unless `outputs=false`), a negative dimension becomes
 * unknown. With `clear`, value_info is removed instead.
 *
 *   before: (float[N,4] x) => (float[N,?] y) { t = Relu (x)   y = Neg (t) }
 *   after:  (float[N,4] x) => (float[N,4] y) <float[N,4] t> { t = Relu (x)   y = Neg (t) }
 *
 * Declarations more specific than the proven type stay. Types that would make a node fail that need
 * not run are not written (surg_node_sheltered). With `expr`, an unknown dimension is written as an
 * expression of the symbols of the inputs (doc/shapes.md): float[N,2] becomes float["2*N",2] after
 * a concatenation. With `unify`, a symbol that no input has is replaced by its proven value; this
 * may rename dimensions of outputs. Functions have value_info from IR version 10 on. Needs types.
 * Keeps sorted, types. Exact. */
#include "../util/declared.h"

#include <string.h>

/* Counts the change, and notes it unless value_info only became more specific. */
static void tell(surg_pass_ctx *p, const surg_value *v, const surg_type *before,
                 const surg_type *after, bool output, bool contradicts) {
  if (output) {
    declared_note(p, v, "output", before, after);
    surg_pass_count(p, "outputs refined", 1);
  } else if (contradicts) {
    declared_note(p, v, "value", before, after);
    surg_pass_count(p, "claims corrected", 1);
  } else {
    surg_pass_count(p, before ? "types refined" : "types written", 1);
  }
}

#define MOST_DIMS 64

static bool plain(const surg_type *t) {
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) &&
         surg_type_rank(t) <= MOST_DIMS;
}

/* The proven type with expressions as dimension names; the type itself if it has no expressions. */
static const surg_type *spelled(surg_model *m, const surg_type *proven) {
  surg_dim dims[MOST_DIMS];
  bool any = false;
  if (!plain(proven)) return proven;
  for (size_t i = 0; i < surg_type_rank(proven); i++) {
    dims[i] = *surg_type_dim(proven, i);
    if (dims[i].value >= 0 || dims[i].param || !dims[i].expr) continue;
    dims[i].param = surg_dim_text(m, &dims[i]);
    any = true;
  }
  return any ? surg_type_tensor(m, surg_type_dtype(proven), dims, surg_type_rank(proven)) : proven;
}

static bool type_names(const surg_type *t, const char *symbol) {
  for (size_t i = 0; plain(t) && i < surg_type_rank(t); i++) {
    const char *param = surg_type_dim(t, i)->param;
    if (param && strcmp(param, symbol) == 0) return true;
  }
  return false;
}

static bool input_has(const surg_model *m, const char *symbol) {
  const surg_graph *g = surg_model_graph(m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    if (type_names(surg_value_declared_type(surg_graph_input(g, i)), symbol)) return true;
  return false;
}

/* The text of a dimension without unnamed symbols; NULL: there is none. */
static const char *said(surg_model *m, surg_dim d) {
  if (d.param) return d.param;
  const char *text = d.value < 0 && d.expr ? surg_dim_text(m, &d) : NULL;
  return text && !strstr(text, "dim(\"") ? text : NULL;
}

/* The type with symbols that no input has replaced by what they are proven equal to. */
static const surg_type *unified(surg_model *m, const surg_type *t, const surg_type *proven) {
  surg_dim dims[MOST_DIMS];
  bool any = false;
  if (!plain(t) || !plain(proven) || surg_type_rank(t) != surg_type_rank(proven)) return t;
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    dims[i] = *surg_type_dim(t, i);
    if (!dims[i].param) continue;
    const char *text = said(m, *surg_type_dim(proven, i));
    if (!text || strcmp(text, dims[i].param) == 0 || input_has(m, dims[i].param)) continue;
    dims[i].param = text;
    any = true;
  }
  return any ? surg_type_tensor(m, surg_type_dtype(t), dims, surg_type_rank(t)) : t;
}

/* Whether a node that need not run would fail on the value: engines check the types of all nodes
 * when they load a model, and reject it once the type is written. */
static bool sheltered(const surg_value *v) {
  const surg_node *n = surg_value_producer(v, NULL);
  if (n) return surg_node_sheltered(n);
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_node_sheltered(surg_use_node(u))) return true;
  return false;
}

static surg_pass_result write_one(surg_pass_ctx *p, surg_value *v) {
  surg_model *m = surg_pass_model(p);
  const surg_type *before = NULL;
  bool contradicts = false, input = surg_value_is_input(v);
  bool output = !input && surg_value_is_output(v) && declared_at_output(v, &before);
  if (!*surg_value_name(v) || (output && !surg_pass_bool(p, "outputs")) || sheltered(v))
    return SURG_PASS_UNCHANGED;
  if (!output) before = surg_value_declared_type(v);
  /* An initializer needs no value_info: its tensor has the type. */
  if (!before && (input || (!output && surg_value_is_initializer(v)))) return SURG_PASS_UNCHANGED;
  bool axiom = input && surg_graph_get_kind(surg_value_graph(v)) == SURG_GRAPH_MAIN;
  const surg_type *proven = axiom ? NULL : surg_value_type(v);
  const surg_type *words = surg_pass_bool(p, "expr") && !axiom ? spelled(m, proven) : proven;
  const surg_type *after = surg_type_refine(m, before, words, &contradicts);
  if (surg_pass_bool(p, "unify") && !axiom) after = unified(m, after, proven);
  if (surg_model_status(m)) return SURG_PASS_FAILED;
  if (after == before || !surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (surg_value_set_declared_type(v, after)) return SURG_PASS_FAILED;
  tell(p, v, before, after, output, contradicts);
  return SURG_PASS_CHANGED;
}

static surg_pass_result clear_one(surg_pass_ctx *p, surg_value *v) {
  if (!surg_value_has_info(v) || !surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (surg_value_drop_info(v)) return SURG_PASS_FAILED;
  surg_pass_count(p, "types removed", 1);
  return SURG_PASS_CHANGED;
}

/* Removes value_info entries of values that do not exist. They are counted afterwards, so the
 * limit of rewrites does not apply to them. */
static surg_pass_result clear_strays(surg_pass_ctx *p, surg_graph *g) {
  uint64_t before = surg_model_epoch(surg_pass_model(p));
  size_t n = surg_graph_drop_strays(g);
  if (surg_model_epoch(surg_pass_model(p)) == before) return SURG_PASS_UNCHANGED;
  surg_pass_count(p, "types removed", n);
  return SURG_PASS_CHANGED;
}

static surg_pass_result one_graph(surg_pass_ctx *p, surg_graph *g) {
  bool clear = surg_pass_bool(p, "clear"), left = false;
  surg_pass_result result = SURG_PASS_UNCHANGED;
  if (!clear && surg_graph_get_kind(g) == SURG_GRAPH_FUNCTION &&
      surg_model_ir_version(surg_pass_model(p)) < 10)
    return SURG_PASS_UNCHANGED;
  for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    surg_pass_result one = clear ? clear_one(p, v) : write_one(p, v);
    if (one < result) result = one;
    if (one == SURG_PASS_FAILED) return one;
    left = left || surg_value_has_info(v);
  }
  if (!clear || left) return result;
  surg_pass_result strays = clear_strays(p, g);
  return strays < result ? strays : result;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *none) {
  surg_model *m = surg_pass_model(p);
  surg_pass_result result = SURG_PASS_UNCHANGED;
  (void)none;
  /* Once: what is sheltered does not depend on what this pass writes. */
  if (!surg_pass_bool(p, "clear") && surg_model_shelter(m) != SURG_OK) return SURG_PASS_FAILED;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    const surg_pass_result one = one_graph(p, g);
    if (one < result) result = one;
    if (one == SURG_PASS_FAILED) return one;
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(BOOL, "clear", NULL, "remove value_info instead"),
    SURG_OPTION(BOOL, "expr", NULL, "write unknown dimensions as expressions of symbols"),
    SURG_OPTION(BOOL, "unify", NULL, "replace symbols that no input declares"),
    SURG_OPTION(BOOL, "outputs", "true", "narrow declared outputs to proven shapes"),
};

const surg_pass surg__pass_shapes = {
    SURG_PASS_HEAD(MODEL, "shapes", "write inferred types and shapes into the model"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .run = run,
};
