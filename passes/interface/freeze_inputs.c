/* SPDX-License-Identifier: Apache-2.0 */
/* Removes inputs that have a default value (an initializer of the same name): the initializer
 * becomes a constant that no caller can override, unless `except` names it. Old exporters list
 * every weight as an input.
 *
 *   before: (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }
 *   after:  (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }
 *
 * Below IR version 4 an initializer must be listed as an input and is a constant already, so it
 * stays. Needs nothing. Keeps sorted. Exact for callers that pass no value; changes the
 * interface. */
#include <onnxsurg/onnxsurg.h>

#include "../util/except.h"

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  surg_model *m = surg_pass_model(p);
  surg_graph *g = surg_model_graph(m);
  surg_pass_result result = SURG_PASS_UNCHANGED;
  except_check(p, g, false);
  if (surg_model_ir_version(m) < 4) return result;
  for (size_t i = surg_graph_input_count(g); i-- > 0;) {
    surg_value *v = surg_graph_input(g, i);
    if (!surg_value_is_initializer(v) || surg_pass_keeps_value(p, v) || except_has(p, v)) continue;
    if (!surg_pass_allow(p)) return result;
    if (surg_graph_remove_input(g, i) != SURG_OK) return SURG_PASS_FAILED;
    surg_pass_count(p, "inputs settled", 1);
    result = SURG_PASS_CHANGED;
  }
  return result;
}

static const surg_option options[] = {
    EXCEPT_OPTION("inputs to leave unchanged"),
};

const surg_pass surg__pass_freeze_inputs = {
    SURG_PASS_HEAD(MODEL, "freeze-inputs", "turn inputs with a default value into constants"),
    SURG_PASS_OPTIONS(options),
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
