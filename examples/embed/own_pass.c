/* SPDX-License-Identifier: Apache-2.0 */
/* Registers a pass of the program itself and runs it in a pipeline: own_pass IN OUT. */
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/run.h>
#include <stdio.h>
#include <string.h>

/* Removes nodes named "debug...", whose outputs nothing reads. */
static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (surg_node *n = surg_graph_last_node(g), *prev; n; n = prev) {
    prev = surg_node_prev(n);
    const surg_value *out = surg_node_output(n, 0);
    if (strncmp(surg_node_name(n), "debug", 5) != 0 || !out) continue;
    if (surg_value_use_count(out, 1) > 0 || surg_pass_keeps_node(p, n)) continue;
    if (!surg_pass_allow(p)) break;
    if (surg_node_erase(n) != SURG_OK) return SURG_PASS_FAILED;
    result = SURG_PASS_CHANGED;
  }
  return result;
}

static const surg_pass drop_debug = {
    SURG_PASS_HEAD(GRAPH, "drop-debug", "remove unused nodes whose names begin with debug"),
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .run = run,
};

int main(int argc, char **argv) {
  surg_context *ctx = surg_context_new(NULL);
  surg_model *model = NULL;
  const surg_run_options options = {.size = sizeof options, .verify_each = true};
  surg_status s = argc == 3 ? SURG_OK : SURG_EUSAGE;
  if (s == SURG_OK) s = surg_registry_add_pass(surg_context_passes(ctx), &drop_debug);
  if (s == SURG_OK) s = surg_model_load(ctx, argv[1], NULL, &model);
  if (s == SURG_OK) s = surg_run(&model, "drop-debug,simplify", &options, NULL);
  if (s == SURG_OK) s = surg_model_save(model, argv[2], NULL);
  if (s != SURG_OK && surg_context_error(ctx)) fprintf(stderr, "%s\n", surg_context_error(ctx));
  surg_model_free(model);
  surg_context_free(ctx);
  return s == SURG_OK ? 0 : 1;
}
