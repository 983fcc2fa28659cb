/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces graph outputs that are sequences of maps, one map from labels to scores per row, by the
 * matrix of scores, for engines and callers without maps. Exporters of scikit-learn models write
 * them by default. The labels are reported.
 *
 *   before: (...) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap <labels> (scores) }
 *   after:  (...) => (float[N, C] y) { y = Identity (scores) }
 *
 * A ZipMap stays if a node reads its output, or if the type of its input is unknown. Needs sorted,
 * types. Keeps sorted. Exact; changes the interface. */
#include "../util/give.h"

#include <onnxsurg/ops.h>
#include <stdio.h>

#define MOST_LABELS 8 /* labels that the note quotes */

/* Whether nothing but outputs of the graph uses the value. */
static bool only_output(const surg_value *v) {
  size_t outputs = 0;
  for (surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    if (surg_use_get_kind(u) == SURG_USE_NODE) return false;
    outputs += surg_use_get_kind(u) == SURG_USE_OUTPUT;
  }
  return outputs > 0;
}

static bool is_matrix(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_dtype(t);
}

/* Reports the labels of the columns. */
static void note_labels(surg_pass_ctx *p, const surg_node *n) {
  char text[400];
  size_t count = 0, words = 0;
  const surg_attr *a = surg_node_attr(n, "classlabels_strings");
  const surg_str *s = a ? surg_attr_strings(a, &words) : NULL;
  const surg_attr *b = surg_node_attr(n, "classlabels_int64s");
  const int64_t *i = b ? surg_attr_ints(b, &count) : NULL;
  const size_t all = s ? words : i ? count : 0;
  size_t used = (size_t)snprintf(text, sizeof text, "a matrix replaces the maps; its columns are");
  for (size_t k = 0; k < all && k < MOST_LABELS; k++)
    used += s ? (size_t)snprintf(text + used, sizeof text - used, "%s \"%.*s\"", k ? "," : "",
                                 s[k].n < 24 ? (int)s[k].n : 24, s[k].p)
              : (size_t)snprintf(text + used, sizeof text - used, "%s %lld", k ? "," : "",
                                 (long long)i[k]);
  if (all > MOST_LABELS) snprintf(text + used, sizeof text - used, ", ... (%zu in all)", all);
  if (all) surg_pass_note(p, n, text);
}

/* Removes an attribute, if it is present. */
static bool drop(surg_node *n, const char *name) {
  return !surg_node_attr(n, name) || surg_node_remove_attr(n, name) == SURG_OK;
}

static surg_pass_result unwrap(surg_pass_ctx *p, surg_graph *g, surg_value *v) {
  surg_node *n = surg_value_producer(v, NULL);
  if (!n || surg_node_op(n) != SURG_OP_ml_ZipMap || !only_output(v)) return SURG_PASS_UNCHANGED;
  const surg_value *x = surg_node_input(n, 0);
  if (!x || !is_matrix(x) || surg_pass_keeps_node(p, n) || surg_pass_keeps_value(p, v) ||
      !give_builtin(g, "Identity") || !surg_pass_allow(p))
    return SURG_PASS_UNCHANGED;
  note_labels(p, n);
  const surg_type *t = surg_value_type(x);
  if (!drop(n, "classlabels_strings") || !drop(n, "classlabels_int64s") ||
      surg_node_set_op(n, "", "Identity") != SURG_OK ||
      surg_value_set_declared_type(v, t) != SURG_OK)
    return SURG_PASS_FAILED;
  surg_pass_count(p, "outputs", 1);
  return SURG_PASS_CHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  surg_graph *g = surg_model_graph(surg_pass_model(p));
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const surg_pass_result r = unwrap(p, g, surg_graph_output(g, i));
    if (r == SURG_PASS_FAILED) return r;
    if (r == SURG_PASS_CHANGED) result = r;
  }
  return result;
}

const surg_pass surg__pass_unwrap_maps = {
    SURG_PASS_HEAD(MODEL, "unwrap-maps", "replace maps from labels to scores by the scores"),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
