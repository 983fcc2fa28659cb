/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a model, and its last bytes pick a pipeline, so that any model serves
 * as seed. What loads must survive the passes, verify, save, and load again with the same
 * interface. */
#include "fuzz.h"

static const char *const pipelines[] = {
    "fold,prune",          "prune{inputs},names",
    "identity,prune",      "toposort,fold{max-growth=inf,max-bytes=1MiB}",
    "ir{to=8},fold,prune", "repeat{max=3}(fold,identity,prune)",
    "ir{to=3},prune",      "fold,fold,identity,names{all},prune,toposort",
    "simplify",            "small",
    "shapes",              "dedup,cse,merge-shapes,prune",
    "quantize{dynamic}",   "quantize{weights=int8}",
    "to-float16",          "to-bfloat16",
    "matmul-bits",         "inline,outline,inline",
    "normalize",           "hoist-initializers,hoist-loop-state,unroll",
    "sequence,constants",  "transposes,merge-slices,merge-matmuls,recurrent",
    "standard",            "decompose{all}"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4) return 0;
  surg_context *ctx = fuzz_shared_context();
  surg_model *m = fuzz_model(ctx, data, size);
  if (!m) return 0;
  const unsigned pick = data[size - 1] + 3u * data[size - 2] + 7u * data[size - 3] + (unsigned)size;
  fuzz_run(ctx, m, pipelines[pick % SURG_COUNT(pipelines)]);
  return 0;
}
