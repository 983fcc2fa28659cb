/* SPDX-License-Identifier: Apache-2.0 */
/* Two contexts in two threads that do everything at the same time, each with the same plugins.
 * Made for thread sanitizers and helgrind (doc/embedding.md); without them it tests that results
 * do not depend on the other thread. */
#include <check.h>
#include <onnxsurg/check.h>
#include <onnxsurg/context.h>
#include <onnxsurg/evaluate.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/repair.h>
#include <onnxsurg/run.h>
#include <onnxsurg/target.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit.h"

#define THREADS 2
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *plugins[2];
static char folder[] = "/tmp/threads-XXXXXX";

static const char clip[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"com.acme\" : 1]>\n"
    "g (float[N, 3] x) => (float[N, 3] y, float[2] k) <float[2] c = {-1, 5}> {\n"
    "  a = com.acme.LeakyClip <limit = 1.0> (x)\n"
    "  p = com.acme.Probe (a)\n"
    "  y = Abs (p)\n"
    "  k = com.acme.LeakyClip <limit = 2.0, slope = 0.5> (c)\n"
    "}\n";
static const char net[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[1, 2, 6, 6] x, bool c) => (float[1, 2] y)\n"
    "<float[2, 2, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5,\n"
    "  6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, float[2] b = {1, -1}, int64[2] s = {1, 2}> {\n"
    "  a = Conv (x, w, b)\n"
    "  m = Sigmoid (a)\n"
    "  h = Mul (a, m)\n"
    "  d = Dropout (h)\n"
    "  q = HardSwish (d)\n"
    "  e = If (c) <\n"
    "    then_branch = t () => (float[1, 2, 4, 4] u) { u = Exp (q) },\n"
    "    else_branch = f () => (float[1, 2, 4, 4] v) { v = Softmax <axis = 1> (q) }\n"
    "  >\n"
    "  z = GlobalAveragePool (e)\n"
    "  y = Reshape (z, s)\n"
    "}\n";

/* The steps, as a mask of those that succeeded. */
enum {
  LOADED = 1,
  CHECKED = 2,
  JUDGED = 4,
  REPAIRED = 8,
  RUN = 16,
  SIMPLIFIED = 32,
  SAVED = 64,
  ALL = 127
};

typedef struct worker {
  int id;
  pthread_barrier_t *start;
  unsigned done[2]; /* for each model */
  size_t bytes[2];  /* of the saved model */
  double sum[2];    /* of the outputs */
} worker;

static const char *source(size_t i) {
  return i ? net : clip;
}

static void note(void *user, const surg_check_finding *f) {
  *(size_t *)user += f->severity == SURG_ERROR;
}

static bool compute(surg_context *ctx, surg_model *m, double *sum) {
  surg_engine *e = NULL;
  surg_session *s = NULL;
  surg_inputs *in = NULL;
  surg_array *out[2] = {NULL, NULL};
  const size_t n = surg_graph_output_count(surg_model_graph(m));
  const surg_inputs_options fill = {.size = sizeof fill, .fill = SURG_FILL_ARANGE};
  bool ok = surg_engine_new(ctx, NULL, &e) == SURG_OK && n <= COUNT(out);
  ok = ok && surg_inputs_new(m, &fill, &in) == SURG_OK;
  ok = ok && surg_session_new(e, m, &s) == SURG_OK;
  ok = ok && surg_session_run(s, in, out, n) == SURG_OK;
  for (size_t i = 0; ok && i < n; i++)
    for (uint64_t k = 0; k < surg_array_count(out[i]); k++) *sum += surg_array_real(out[i], k);
  for (size_t i = 0; i < COUNT(out); i++) surg_array_free(out[i]);
  surg_session_free(s);
  surg_inputs_free(in);
  surg_engine_free(e);
  return ok;
}

static bool judge(surg_context *ctx, const surg_model *m, unsigned *done) {
  surg_target *t = NULL;
  surg_repair *found = NULL;
  surg_judgement j = {.size = sizeof j};
  surg_repair_result r = {.size = sizeof r};
  if (surg_target_open(ctx, "onnxruntime-1.4", &t) != SURG_OK) return false;
  surg_model *copy = surg_model_clone(m);
  if (copy && surg_target_judge(t, copy, NULL, NULL, &j) == SURG_OK) *done |= JUDGED;
  surg_model_free(copy);
  if (surg_repair_find(m, t, NULL, &found) == SURG_OK && surg_repair_get(found, &r) == SURG_OK)
    *done |= REPAIRED;
  surg_repair_free(found);
  surg_target_free(t);
  return true;
}

static void work(worker *w, surg_context *ctx, size_t i) {
  surg_load_options lenient = {.size = sizeof lenient, .policy = SURG_LOAD_LENIENT};
  char path[64];
  surg_model *m = NULL;
  size_t findings = 0;
  snprintf(path, sizeof path, "%s/%d-%zu.onnx", folder, w->id, i);
  if (surg_model_load_text(ctx, source(i), strlen(source(i)), "m", &m) != SURG_OK) return;
  if (surg_model_save(m, path, NULL) == SURG_OK) w->done[i] |= LOADED;
  surg_model_free(m);
  if (surg_model_load(ctx, path, &lenient, &m) != SURG_OK) return;
  if (surg_check(m, 0, note, &findings, NULL) == SURG_OK) w->done[i] |= CHECKED;
  judge(ctx, m, &w->done[i]);
  /* com.acme.Probe has no kernel: `forward` removes it. */
  if (surg_model_run(&m, "forward{op=com.acme.Probe}") != SURG_OK) return;
  if (compute(ctx, m, &w->sum[i])) w->done[i] |= RUN;
  if (surg_model_run(&m, "simplify,lower-leaky-clip,opset{to=13}") == SURG_OK)
    w->done[i] |= SIMPLIFIED;
  void *bytes = NULL;
  if (m && surg_model_save(m, path, NULL) == SURG_OK &&
      surg_model_save_memory(m, &bytes, &w->bytes[i]) == SURG_OK)
    w->done[i] |= SAVED;
  surg_context_free_bytes(ctx, bytes);
  surg_model_free(m);
  unlink(path);
}

static void *run(void *user) {
  worker *w = user;
  surg_config config = {.size = sizeof config};
  pthread_barrier_wait(w->start);
  surg_context *ctx = surg_context_new(&config);
  bool ok = ctx && surg_context_passes(ctx);
  for (size_t i = 0; ok && i < COUNT(plugins); i++)
    ok = surg_context_load_plugin(ctx, plugins[i]) == SURG_OK;
  /* One thread takes the models in one order, the other in the other. */
  for (size_t i = 0; ok && i < 2; i++) work(w, ctx, w->id ? i : 1 - i);
  surg_context_free(ctx);
  return NULL;
}

START_TEST(two_contexts) {
  pthread_t threads[THREADS];
  pthread_barrier_t start;
  worker w[THREADS] = {{.id = 0, .start = &start}, {.id = 1, .start = &start}};
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(pthread_barrier_init(&start, NULL, THREADS), 0);
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run, &w[i]), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&start);
  rmdir(folder);
  for (int i = 0; i < THREADS; i++)
    for (size_t k = 0; k < 2; k++) {
      ck_assert_int_eq(w[i].done[k], ALL);
      ck_assert_uint_eq(w[i].bytes[k], w[0].bytes[k]);
      ck_assert_double_eq(w[i].sum[k], w[0].sum[k]);
      ck_assert_double_gt(w[i].sum[k], 0);
    }
}
END_TEST

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  plugins[0] = argv[1];
  plugins[1] = argv[2];
  Suite *s = suite_create("threads");
  TCase *t = tcase_create("threads");
  tcase_set_timeout(t, 250);
  tcase_add_test(t, two_contexts);
  suite_add_tcase(s, t);
  return unit_run(s);
}
