/* SPDX-License-Identifier: Apache-2.0 */
/* A load, an inference, a pipeline, an evaluation and a save that are cancelled at every question
 * of the library, and the progress that they report. */
#include <check.h>
#include <onnxsurg/evaluate.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/run.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit.h"

#define NODES 1200

typedef struct hooks {
  size_t blocks, asked, cancel_at; /* cancel_at 0: never */
  size_t slow; /* this question takes 1.05 s; 0: none */
  int32_t phase;
  uint64_t done, total;
  size_t calls[3], finished[3]; /* of each phase: calls, and those with done == total */
  bool backwards;
  char line[256];
} hooks;

static char *text;
static char folder[] = "/tmp/cancel-XXXXXX", in[64], out[64], data[64];

static void *allocate(void *user, void *block, size_t bytes) {
  hooks *h = user;
  h->blocks += !block && bytes;
  h->blocks -= block && !bytes;
  if (bytes) return realloc(block, bytes);
  free(block);
  return NULL;
}

static bool cancel(void *user) {
  hooks *h = user;
  if (++h->asked == h->slow) usleep(1050000);
  return h->asked >= h->cancel_at && h->cancel_at;
}

static void progress(void *user, int32_t phase, uint64_t done, uint64_t total) {
  hooks *h = user;
  if (phase < 0 || phase > 2 || (total && done > total)) h->backwards = true;
  if (h->backwards) return;
  if (h->calls[phase] && h->phase == phase && h->total == total && done < h->done)
    h->backwards = true;
  h->phase = phase;
  h->done = done;
  h->total = total;
  h->calls[phase]++;
  h->finished[phase] += total && done == total;
}

static void keep_line(void *user, surg_severity severity, const char *line) {
  hooks *h = user;
  if (severity == SURG_ERROR) snprintf(h->line, sizeof h->line, "%s", line);
}

static surg_context *context(hooks *h) {
  const surg_config config = {.size = sizeof config,
                              .diag = keep_line,
                              .diag_user = h,
                              .user = h,
                              .allocate = allocate,
                              .cancel = cancel,
                              .progress = progress};
  return surg_context_new(&config);
}

/* A chain of nodes, and an initializer of 4 MiB. */
static bool write_model(void) {
  hooks h = {0};
  surg_context *ctx = context(&h);
  surg_model *m = NULL;
  size_t n = 0;
  text = malloc(64 * NODES + 4096);
  n += (size_t)sprintf(text + n,
                       "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                       "g (float[N] x) => (float[N] y) {\n");
  n += (size_t)sprintf(text + n, "  v0 = Cos (x)\n");
  for (int i = 1; i < NODES; i++)
    n += (size_t)sprintf(text + n, "  v%d = %s (v%d)\n", i, i % 2 ? "Sin" : "Cos", i - 1);
  sprintf(text + n, "  y = Neg (v%d)\n}\n", NODES - 1);
  if (!ctx || surg_model_load_text(ctx, text, strlen(text), "m", &m) != SURG_OK) return false;
  surg_graph *g = surg_model_graph(m);
  const int64_t dims[] = {1 << 20};
  float *zeros = calloc(1 << 20, sizeof *zeros);
  surg_tensor *t = surg_tensor_new(m, SURG_FLOAT, dims, 1, zeros, sizeof *zeros << 20);
  bool ok = surg_graph_constant(g, NULL, "w", t) != NULL;
  free(zeros);
  ok = ok && surg_model_save(m, in, NULL) == SURG_OK;
  surg_model_free(m);
  surg_context_free(ctx);
  return ok;
}

/* Loads, infers, renames and saves; the first status that is not SURG_OK. */
static surg_status work(surg_context *ctx, bool external) {
  const surg_save_options save = {.size = sizeof save, .external_data = external ? "w.data" : NULL};
  surg_model *m = NULL;
  surg_status s = surg_model_load(ctx, in, NULL, &m);
  if (s == SURG_OK) s = surg_model_infer(m);
  if (s == SURG_OK) {
    const surg_value *v = surg_graph_output(surg_model_graph(m), 0);
    ck_assert_int_eq(surg_type_dtype(surg_value_type(v)), SURG_FLOAT);
    s = surg_model_run(&m, "toposort");
  }
  if (s == SURG_OK) s = surg_model_set_metadata(m, "k", "v");
  if (s == SURG_OK) s = surg_model_save(m, out, &save);
  surg_model_free(m);
  return s;
}

START_TEST(everywhere) {
  for (int external = 0; external < 2; external++) {
    hooks h = {0};
    surg_context *ctx = context(&h);
    ck_assert_int_eq(work(ctx, external), SURG_OK);
    surg_context_free(ctx);
    const size_t all = h.asked;
    ck_assert_uint_gt(all, 40);
    ck_assert_int_eq(access(out, F_OK), 0);
    for (size_t n = 1; n <= all; n++) {
      unlink(out);
      unlink(data);
      h = (hooks){.cancel_at = n};
      ctx = context(&h);
      ck_assert_int_eq(work(ctx, external), SURG_ECANCELLED);
      ck_assert_msg(strstr(h.line, "cancelled"), "%zu of %zu: \"%s\"", n, all, h.line);
      surg_context_free(ctx);
      ck_assert_uint_eq(h.blocks, 0);
      ck_assert_int_ne(access(out, F_OK), 0);
      ck_assert_int_ne(access(data, F_OK), 0);
    }
  }
}
END_TEST

START_TEST(phases) {
  hooks h = {0};
  surg_context *ctx = context(&h);
  ck_assert_int_eq(work(ctx, true), SURG_OK);
  surg_context_free(ctx);
  ck_assert(!h.backwards);
  ck_assert_uint_gt(h.calls[SURG_PHASE_READ], 2);
  ck_assert_uint_gt(h.calls[SURG_PHASE_BUILD], 4);
  ck_assert_uint_ge(h.calls[SURG_PHASE_WRITE], 2);
  ck_assert_uint_ge(h.finished[SURG_PHASE_READ], 1);
  ck_assert_uint_ge(h.finished[SURG_PHASE_BUILD], 1);
  ck_assert_uint_eq(h.finished[SURG_PHASE_WRITE], 2); /* data file, model */
}
END_TEST

/* An inference that is cancelled leaves no types, and can be repeated. */
START_TEST(inference) {
  hooks h = {0};
  surg_context *ctx = context(&h);
  surg_model *m = NULL;
  ck_assert_int_eq(surg_model_load(ctx, in, NULL, &m), SURG_OK);
  h.asked = 0;
  h.cancel_at = 5;
  ck_assert_int_eq(surg_model_infer(m), SURG_ECANCELLED);
  h.cancel_at = 0;
  const surg_value *first = surg_node_output(surg_graph_first_node(surg_model_graph(m)), 0);
  ck_assert_ptr_null(surg_value_type(first));
  ck_assert_int_eq(surg_model_status(m), SURG_OK);
  ck_assert_int_eq(surg_model_infer(m), SURG_OK);
  ck_assert_int_eq(surg_type_dtype(surg_value_type(first)), SURG_FLOAT);
  surg_model_free(m);
  surg_context_free(ctx);
  ck_assert_uint_eq(h.blocks, 0);
}
END_TEST

/* One node that computes for long: questions are asked while it does. */
static const struct {
  const char *name, *text;
} nodes[] = {
    {"MatMul",
     "g (float[300, 6000] a, float[6000, 300] b) => (float[300, 300] y)\n"
     "{ y = MatMul (a, b) }\n"},
    {"Conv",
     "g (float[1, 64, 40, 40] a, float[64, 64, 3, 3] b) => (float[1, 64, 38, 38] y)\n"
     "{ y = Conv (a, b) }\n"},
    {"Conv by channel",
     "g (float[1, 32, 80, 80] a, float[32, 1, 5, 5] b)\n"
     "=> (float[1, 32, 76, 76] y) { y = Conv <group = 32> (a, b) }\n"},
    {"Einsum",
     "g (float[20, 30] a, float[30, 20] b) => (float[20, 20] y)\n"
     "{ y = Einsum <equation = \"ij,jk->ik\"> (a, b) }\n"},
    {"LSTM",
     "g (float[20, 2, 8] a, float[1, 32, 8] b, float[1, 32, 8] c)\n"
     "=> (float[20, 1, 2, 8] y) { y = LSTM <hidden_size = 8> (a, b, c) }\n"},
};

START_TEST(one_node) {
  char model[512];
  snprintf(model, sizeof model, "<ir_version: 8, opset_import: [\"\" : 17]>\n%s", nodes[_i].text);
  hooks h = {0};
  surg_context *ctx = context(&h);
  surg_model *m = NULL;
  surg_engine *e = NULL;
  surg_inputs *inputs = NULL;
  surg_session *s = NULL;
  surg_array *y = NULL;
  ck_assert_int_eq(surg_model_load_text(ctx, model, strlen(model), "m", &m), SURG_OK);
  ck_assert_int_eq(surg_engine_new(ctx, NULL, &e), SURG_OK);
  ck_assert_int_eq(surg_inputs_new(m, NULL, &inputs), SURG_OK);
  ck_assert_int_eq(surg_session_new(e, m, &s), SURG_OK);
  h.asked = 0;
  ck_assert_int_eq(surg_session_run(s, inputs, &y, 1), SURG_OK);
  surg_array_free(y);
  const size_t all = h.asked;
  ck_assert_msg(all >= 5, "%s: asked %zu times", nodes[_i].name, all);
  for (size_t n = 1; n <= all; n++) {
    h.asked = 0;
    h.cancel_at = n;
    ck_assert_int_eq(surg_session_run(s, inputs, &y, 1), SURG_ECANCELLED);
    ck_assert_ptr_null(y);
    ck_assert_ptr_nonnull(strstr(surg_session_why(s), "cancelled"));
  }
  h.cancel_at = 0;
  surg_session_free(s);
  surg_inputs_free(inputs);
  surg_engine_free(e);
  surg_model_free(m);
  surg_context_free(ctx);
  ck_assert_uint_eq(h.blocks, 0);
}
END_TEST

/* The time limit of a run ends the kernel that is running: at its next question, all its other ones
 * are left out. */
START_TEST(out_of_time_in_a_kernel) {
  static const char model[] =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[1] x) => (float[1] y)\n"
      "<int64[2] s = {1200, 1200}>\n"
      "{ a = ConstantOfShape <value = float[1] {1}> (s)\n"
      "  p = MatMul (a, a)\n  q = ReduceSum <keepdims = 0> (p)\n  y = Add (x, q) }\n";
  static const char fold[] = "fold{max-work=inf,max-bytes=inf,max-growth=inf,max-total=inf}";
  size_t asked[2];
  for (int limited = 0; limited < 2; limited++) {
    const surg_run_options o = {.size = sizeof o, .timeout_ms = limited ? 1000 : 0};
    hooks h = {0};
    surg_context *ctx = context(&h);
    surg_model *m = NULL;
    ck_assert_int_eq(surg_model_load_text(ctx, model, sizeof model - 1, "m", &m), SURG_OK);
    h.asked = 0;
    h.slow = limited ? asked[0] / 2 : 0;
    ck_assert_int_eq(surg_run(&m, fold, &o, NULL), limited ? SURG_ELIMIT : SURG_OK);
    asked[limited] = h.asked;
    surg_model_free(m);
    surg_context_free(ctx);
    ck_assert_uint_eq(h.blocks, 0);
  }
  ck_assert_msg(asked[1] < asked[0] / 2 + asked[0] / 4, "asked %zu times, without a limit %zu", asked[1], asked[0]);
}
END_TEST

int main(void) {
  if (!mkdtemp(folder)) return 2;
  snprintf(in, sizeof in, "%s/in.onnx", folder);
  snprintf(out, sizeof out, "%s/out.onnx", folder);
  snprintf(data, sizeof data, "%s/w.data", folder);
  if (!write_model()) return 2;
  Suite *s = suite_create("cancel");
  TCase *t = tcase_create("cancel");
  tcase_set_timeout(t, 120);
  tcase_add_test(t, everywhere);
  tcase_add_test(t, phases);
  tcase_add_test(t, inference);
  tcase_add_test(t, out_of_time_in_a_kernel);
  tcase_add_loop_test(t, one_node, 0, sizeof nodes / sizeof *nodes);
  suite_add_tcase(s, t);
  const int code = unit_run(s);
  unlink(in);
  unlink(out);
  unlink(data);
  rmdir(folder);
  free(text);
  return code;
}
