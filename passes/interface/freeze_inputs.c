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

#include <stdio.h>
#include <string.h>

static bool is_excepted(surg_pass_ctx *p, const surg_value *v) {
  for (size_t i = 0; i < surg_pass_list_count(p, "except"); i++)
    if (!strcmp(surg_pass_list_at(p, "except", i), surg_value_name(v))) return true;
  return false;
}

/* Reports names of `except` that are no inputs. */
static void find_names(surg_pass_ctx *p, const surg_graph *g) {
  for (size_t i = 0; i < surg_pass_list_count(p, "except"); i++) {
    const char *name = surg_pass_list_at(p, "except", i);
    const surg_value *v = surg_graph_find_value(g, name);
    char what[300];
    snprintf(what, sizeof what, "input '%.200s' to leave", name);
    surg_pass_named(p, what, v && surg_value_is_input(v));
  }
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  surg_model *m = surg_pass_model(p);
  surg_graph *g = surg_model_graph(m);
  surg_pass_result result = SURG_PASS_UNCHANGED;
  find_names(p, g);
  if (surg_model_ir_version(m) < 4) return result;
  for (size_t i = surg_graph_input_count(g); i-- > 0;) {
    surg_value *v = surg_graph_input(g, i);
    if (!surg_value_is_initializer(v) || surg_pass_keeps_value(p, v) || is_excepted(p, v)) continue;
    if (!surg_pass_allow(p)) return result;
    if (surg_graph_remove_input(g, i) != SURG_OK) return SURG_PASS_FAILED;
    surg_pass_count(p, "inputs settled", 1);
    result = SURG_PASS_CHANGED;
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "except", NULL, "inputs to leave unchanged"),
};

const surg_pass surg__pass_freeze_inputs = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_MODEL,
    .name = "freeze-inputs",
    .help = "turn inputs with a default value into constants",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
