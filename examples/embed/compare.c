/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model on an input of your own, and compares two models on generated ones.
 *
 *     cc -o compare compare.c $(pkg-config --cflags --libs onnxsurg)
 *     ./compare before.onnx after.onnx
 */
#include <onnxsurg/compare.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>

static void print_line(void *user, surg_severity severity, const char *line) {
  (void)user;
  (void)severity;
  fprintf(stderr, "%s\n", line);
}

/* Runs the model with ones in every input and prints the outputs. */
static surg_status evaluate(surg_context *ctx, surg_model *model) {
  enum { MOST = 8 };
  const surg_inputs_options ones = {.size = sizeof ones, .fill = SURG_FILL_ONES};
  const surg_graph *g = surg_model_graph(model);
  const size_t n = surg_graph_output_count(g);
  surg_array *out[MOST] = {NULL};
  surg_inputs *in = NULL;
  surg_session *session = NULL;
  if (n > MOST) return SURG_ELIMIT;
  surg_status s = surg_inputs_new(model, &ones, &in);
  if (s == SURG_OK) s = surg_session_new(NULL, model, &session);
  if (s == SURG_OK) {
    s = surg_session_run(session, in, out, n);
    if (s != SURG_OK) fprintf(stderr, "%s\n", surg_session_why(session));
  }
  for (size_t i = 0; i < n; i++) {
    char *text = NULL;
    if (out[i] && surg_array_text(out[i], 4, &text) == SURG_OK)
      printf("%s: %s\n", surg_value_name(surg_graph_output(g, i)), text);
    surg_context_free_bytes(ctx, text);
    surg_array_free(out[i]);
  }
  surg_session_free(session);
  surg_inputs_free(in);
  return s;
}

/* Compares the models; *same is true if all outputs agree and that is evidence. */
static surg_status compare(surg_model *a, surg_model *b, bool *same) {
  const surg_tolerance close = {.size = sizeof close, .relative = 1e-4, .absolute = 1e-6};
  const surg_compare_options options = {.size = sizeof options, .tolerance = &close};
  surg_compare_report *report = NULL;
  surg_compare_summary sum = {.size = sizeof sum};
  surg_compare_result one = {.size = sizeof one};
  surg_status s = surg_compare(a, b, &options, &report);
  if (s == SURG_OK) s = surg_compare_get(report, &sum);
  if (s == SURG_OK) {
    *same = sum.same;
    printf("%u runs compared: %s\n", sum.checked, sum.same ? "same" : "not the same");
    if (!sum.checked) printf("nothing was compared: %s\n", sum.skip_why);
  }
  for (size_t i = 0; s == SURG_OK && surg_compare_output(report, i, &one) == SURG_OK; i++)
    if (one.differs) printf("%s: %s\n", one.name, one.worst.why);
  surg_compare_free(report);
  return s;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: compare BEFORE AFTER\n");
    return 2;
  }
  surg_config config = {.size = sizeof config, .diag = print_line};
  surg_context *ctx = surg_context_new(&config);
  surg_model *a = NULL, *b = NULL;
  bool same = false;
  surg_status s = surg_model_load(ctx, argv[1], NULL, &a);
  if (s == SURG_OK) s = surg_model_load(ctx, argv[2], NULL, &b);
  if (s == SURG_OK) s = evaluate(ctx, a);
  if (s == SURG_OK) s = compare(a, b, &same);
  surg_model_free(a);
  surg_model_free(b);
  surg_context_free(ctx);
  return s == SURG_OK && same ? 0 : 1;
}
