/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a model, and its last bytes pick a pipeline, so that any model serves
 * as seed. What loads must survive the passes, verify, save, and load again with the same
 * interface. */
#include <stdlib.h>

#include "base/context.h"
#include "pass/pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const pipelines[] = {
    "fold,prune",          "prune{inputs},names",
    "identity,prune",      "toposort,fold{max-growth=inf,max-bytes=1MiB}",
    "ir{to=8},fold,prune", "repeat{max=3}(fold,identity,prune)",
    "ir{to=3},prune",      "fold,fold,identity,names{all},prune,toposort"};

static void require(bool holds) {
  if (!holds) abort();
}

static void check_result(surg_context *ctx, surg_model *m, size_t outputs) {
  require(surg_model_verify(m) == SURG_OK);
  require(surg_graph_output_count(surg_model_graph(m)) == outputs);
  void *bytes = NULL;
  size_t n = 0;
  surg_status s = surg_model_save_memory(m, &bytes, &n);
  if (s == SURG_ELIMIT || s == SURG_ENOMEM) return;
  require(s == SURG_OK);
  surg_load_options options = {.size = sizeof options, .no_external = true};
  surg_model *again = NULL;
  s = surg_model_load_memory(ctx, bytes, n, "again", &options, &again);
  require(s == SURG_OK || s == SURG_ELIMIT || s == SURG_ENOMEM);
  surg_model_free(again);
  surg_context_free_bytes(ctx, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4) return 0;
  surg_config config = {.size = sizeof config, .max_memory = 256u << 20, .seed = 1};
  surg_context *ctx = surg_context_new(&config);
  require(ctx != NULL);
  surg_load_options options = {.size = sizeof options, .no_external = true};
  surg_model *m = NULL;
  if (surg_model_load_memory(ctx, data, size, "fuzz", &options, &m) == SURG_OK) {
    surg_registry *r = surg__registry(ctx);
    surg__pipeline *p = NULL;
    require(r && surg__register_builtins(r) == SURG_OK);
    unsigned pick = data[size - 1] + 3u * data[size - 2] + 7u * data[size - 3] + (unsigned)size;
    const char *text = pipelines[pick % SURG_COUNT(pipelines)];
    require(surg__pipeline_parse(ctx, text, "fuzz", &p) == SURG_OK);
    size_t outputs = surg_graph_output_count(surg_model_graph(m));
    surg__run_options run = {.verify_each = true};
    surg_status s = surg__run(&m, p, &run, NULL);
    require(s != SURG_EINTERNAL && s != SURG_EERASED);
    if (s == SURG_OK) check_result(ctx, m, outputs);
    surg_model_free(m);
    surg__pipeline_free(p);
  }
  surg_context_free(ctx);
  return 0;
}
