/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz targets share: a context with all that is built in, small models, and what a model owes
 * after an edit. */
#ifndef SURG_TEST_FUZZ_H
#define SURG_TEST_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "pass/pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define require(condition)                                                      \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                  \
    }                                                                           \
  } while (0)

static inline bool fuzz_resource(surg_status s) {
  return s == SURG_ELIMIT || s == SURG_ENOMEM;
}

/* A new context with the built-in passes. */
static inline surg_context *fuzz_context(void) {
  surg_config config = {.size = sizeof config, .max_memory = 256u << 20, .seed = 1};
  surg_context *ctx = surg_context_new(&config);
  require(ctx != NULL);
  require(surg_context_passes(ctx) != NULL);
  return ctx;
}

/* One context for many runs, for targets that do not change it: to make one costs more than most
 * runs. */
static inline surg_context *fuzz_shared_context(void) {
  enum { RUNS = 256 };
  static surg_context *ctx;
  static unsigned runs;
  if (runs++ % RUNS == 0) {
    surg_context_free(ctx);
    ctx = fuzz_context();
  }
  surg_context_clear_error(ctx);
  return ctx;
}

/* A model from its text, or from a file; NULL: it does not load. */
static inline surg_model *fuzz_model(surg_context *ctx, const void *data, size_t n) {
  const surg_load_options options = {.size = sizeof options, .no_external = true};
  surg_model *m = NULL;
  const surg_status s = surg_model_load_memory(ctx, data, n, "model", &options, &m);
  require(s != SURG_EINTERNAL && (s == SURG_OK) == (m != NULL));
  return m;
}

/* The model verifies, is saved, and loads again. */
static inline void fuzz_saved(surg_context *ctx, surg_model *m) {
  require(surg_model_verify(m) == SURG_OK);
  void *bytes = NULL;
  size_t n = 0;
  const surg_status s = surg_model_save_memory(m, &bytes, &n);
  require(s == SURG_OK || fuzz_resource(s));
  if (s != SURG_OK) return;
  const surg_load_options options = {.size = sizeof options, .no_external = true};
  surg_model *again = NULL;
  const surg_status loaded = surg_model_load_memory(ctx, bytes, n, "again", &options, &again);
  if (loaded != SURG_OK) fprintf(stderr, "%s\n", surg_context_error(ctx));
  require(loaded == SURG_OK || fuzz_resource(loaded));
  surg_model_free(again);
  surg_context_free_bytes(ctx, bytes);
}

/* Runs a pipeline on a model and frees it. A failure is one that has a reason. The number of outputs
 * does not change. */
static inline void fuzz_run(surg_context *ctx, surg_model *m, const char *pipeline) {
  const size_t outputs = surg_graph_output_count(surg_model_graph(m));
  surg__pipeline *p = NULL;
  const surg__run_options run = {.verify_each = true, .has_allow = true, .allow = SURG_LOSSY};
  require(surg__pipeline_parse(ctx, pipeline, "fuzz", &p) == SURG_OK);
  const surg_status s = surg__run(&m, p, &run, NULL);
  require(s != SURG_EINTERNAL && s != SURG_EERASED);
  require(s == SURG_OK || surg_context_error(ctx));
  if (s == SURG_OK) {
    require(surg_graph_output_count(surg_model_graph(m)) == outputs);
    fuzz_saved(ctx, m);
  }
  surg_model_free(m);
  surg__pipeline_free(p);
  surg_context_clear_error(ctx);
}

/* Operators of several families, a branch, a function, symbolic sizes and weights. */
static const char fuzz_sample[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"com.acme\" : 1, \"d\" : 1]>\n"
    "g (float[N, 3, 2, 2] x, bool c) => (float[N, 2] y, float[N, 3, 2, 2] z, float[N, K] q)\n"
    "<float[1, 3, 1, 1] w = {1, 2, -1}, float[1] b = {0.5}, float s = {2.0}, int64[2] k = {0, "
    "-1},\n"
    " float[4, 2] v = {1, 2, 3, 4, 5, 6, 7, 8}> {\n"
    "  a = Conv (x, w, b)\n"
    "  r = Relu (a)\n"
    "  t = Transpose <perm = [0, 2, 3, 1]> (r)\n"
    "  u = Transpose <perm = [0, 3, 1, 2]> (t)\n"
    "  f = Reshape (u, k)\n"
    "  h = MatMul (f, v)\n"
    "  y = Softmax <axis = -1> (h)\n"
    "  m = Mul (x, s)\n"
    "  e = Div (m, s)\n"
    "  z = If (c) <\n"
    "    then_branch = yes () => (float[N, 3, 2, 2] i) { i = Add (e, e) },\n"
    "    else_branch = no () => (float[N, 3, 2, 2] j) { j = d.F (m) }\n"
    "  >\n"
    "  q = com.acme.Custom <alpha = 0.5, mode = \"a\", n = 3> (x, b)\n"
    "}\n"
    "<domain: \"d\", opset_import: [\"\" : 17]>\n"
    "F (a) => (b) { t = Abs (a)  b = Identity (t) }\n";

#endif
