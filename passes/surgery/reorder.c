/* SPDX-License-Identifier: Apache-2.0 */
/* Puts inputs and outputs of the model in another order: those named come first, in the order of
 * the option, the others follow in their present order.
 *
 *   before: (x, k) => (y, z) { ... }
 *   after:  (k, x) => (z, y) { ... }                                 reorder{inputs=k,outputs=z+y}
 *
 * Needs nothing. Keeps sorted, types. Exact; changes the interface. */
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/order.h>
#include <stdio.h>

#include "../util/select.h"

#define TEXT 600

static size_t count_of(const surg_graph *g, bool outputs) {
  return outputs ? surg_graph_output_count(g) : surg_graph_input_count(g);
}

/* The first position of a value that is not taken yet, or SIZE_MAX. */
static size_t position(const surg_graph *g, bool outputs, const surg_value *v, const bool *taken) {
  const size_t n = count_of(g, outputs);
  for (size_t i = 0; i < n; i++)
    if (!taken[i] && (outputs ? surg_graph_output(g, i) : surg_graph_input(g, i)) == v) return i;
  return SIZE_MAX;
}

static bool reorder(surg_pass_ctx *p, surg_graph *g, bool outputs) {
  const char *option = outputs ? "outputs" : "inputs";
  const size_t n = count_of(g, outputs);
  size_t named, k = 0;
  surg_value **first = select_value_list(p, option, &named);
  size_t *order = surg_pass_alloc(p, (n + 1) * sizeof *order);
  bool *taken = surg_pass_alloc(p, n + 1);
  if (!first || !order || !taken) return false;
  for (size_t i = 0; i < named; i++) {
    const size_t at = position(g, outputs, first[i], taken);
    char text[TEXT];
    snprintf(text, sizeof text, "%s: '%.300s' is not an %s of the model, or is named twice", option,
             surg_value_name(first[i]), outputs ? "output" : "input");
    if (at == SIZE_MAX) return surg_pass_usage(p, text) != SURG_PASS_FAILED;
    taken[at] = true;
    order[k++] = at;
  }
  for (size_t i = 0; i < n; i++)
    if (!taken[i]) order[k++] = i;
  bool same = true;
  for (size_t i = 0; i < n; i++) same &= order[i] == i;
  return same || surg_graph_reorder(g, outputs, order, n) == SURG_OK;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  surg_graph *g = surg_model_graph(surg_pass_model(p));
  const uint64_t epoch = surg_model_epoch(surg_pass_model(p));
  if (!surg_pass_list_count(p, "inputs") && !surg_pass_list_count(p, "outputs"))
    return surg_pass_usage(p, "needs inputs= or outputs=");
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (!reorder(p, g, false) || !reorder(p, g, true)) return SURG_PASS_FAILED;
  return surg_model_epoch(surg_pass_model(p)) == epoch ? SURG_PASS_UNCHANGED : SURG_PASS_CHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "inputs", NULL, "inputs that come first, in this order"),
    SURG_OPTION(LIST, "outputs", NULL, "outputs that come first, in this order"),
};

const surg_pass surg__pass_reorder = {
    SURG_PASS_HEAD(MODEL, "reorder", "put inputs and outputs in another order"),
    SURG_PASS_OPTIONS(options),
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
