/* SPDX-License-Identifier: Apache-2.0 */
/* One data set of ONNX's backend test suite through the interpreter. */
#include <stdio.h>
#include <stdlib.h>

#include "suite.h"

#define MAX_BYTES (1ull << 31)
#define MAX_WORK (1ull << 36)

static suite_match give_up(char *why, size_t n, const char *text) {
  snprintf(why, n, "%s", text);
  return SUITE_DIFFERS;
}

static const surg_type *output_type(const surg_graph *g, size_t i) {
  const surg_type *t = surg_graph_output_type(g, i);
  return t ? t : surg_value_declared_type(surg_graph_output(g, i));
}

static suite_match read_inputs(surg_context *ctx, const surg_graph *g, const char *set,
                               surg__array *in, char *why, size_t n) {
  for (size_t i = 0; i < surg_graph_input_count(g); ++i) {
    const surg_value *v = surg_graph_input(g, i);
    char *path = suite_file(set, "input", i);
    surg_status s = suite_read(ctx, path, surg_value_declared_type(v), &in[i]);
    free(path);
    if (s == SURG_OK || (s == SURG_ENOTFOUND && surg_value_is_initializer(v))) continue;
    return give_up(why, n, s == SURG_ENOTFOUND ? "an input has no data" : "an input is no value");
  }
  return SUITE_SAME;
}

static suite_match compare(surg_context *ctx, const surg_graph *g, const char *set,
                           const surg__array *out, char *why, size_t n) {
  suite_match kind = SUITE_SAME;
  for (size_t i = 0; i < surg_graph_output_count(g); ++i) {
    surg__array want = {0};
    char text[200], *path = suite_file(set, "output", i);
    surg_status s = suite_read(ctx, path, output_type(g, i), &want);
    free(path);
    if (s != SURG_OK) return give_up(why, n, "an output file is no value");
    suite_match match = suite_compare(&out[i], &want, text, sizeof text);
    surg__array_drop(&want);
    if (match == SUITE_SAME) continue;
    snprintf(why, n, "output %zu: %s", i, text);
    if (match == SUITE_DIFFERS) return SUITE_DIFFERS;
    kind = SUITE_CLOSE;
  }
  return kind;
}

suite_match suite_run_in(surg_context *ctx, const surg__engine *engine, surg_model *m,
                         const char *set, bool *taken, char *why, size_t n) {
  surg_graph *g = surg_model_graph(m);
  size_t n_in = surg_graph_input_count(g), n_out = surg_graph_output_count(g);
  surg__array *in = calloc(n_in + 1, sizeof *in), *out = calloc(n_out + 1, sizeof *out);
  surg__exec exec;
  if (!in || !out) abort();
  suite_match kind = read_inputs(ctx, g, set, in, why, n);
  *taken = kind == SUITE_SAME;
  if (kind == SUITE_SAME) {
    surg_status s = surg__exec_open(&exec, engine, m);
    *taken = s == SURG_OK;
    if (s == SURG_OK) s = surg__exec_run(&exec, in, out);
    *taken &= s != SURG_EUNSUPPORTED;
    if (s != SURG_OK) {
      kind = SUITE_DIFFERS;
      snprintf(why, n, "%s", *exec.why ? exec.why : surg_status_name(s));
    } else {
      kind = compare(ctx, g, set, out, why, n);
    }
    surg__exec_close(&exec);
  }
  for (size_t i = 0; i < n_in; ++i) surg__array_drop(&in[i]);
  for (size_t i = 0; i < n_out; ++i) surg__array_drop(&out[i]);
  free(in);
  free(out);
  return kind;
}

suite_match suite_run(surg_context *ctx, surg_model *m, const char *set, char *why, size_t n) {
  const surg__engine engine = {.max_bytes = MAX_BYTES, .max_work = MAX_WORK};
  bool taken;
  return suite_run_in(ctx, &engine, m, set, &taken, why, n);
}
