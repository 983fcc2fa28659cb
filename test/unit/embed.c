/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines as text, from a program that links the library. */
#include <onnxsurg/onnxsurg.h>
#include <string.h>

#include "unit.h"

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[2] x) => (float[2] y) { a = Identity (x)  b = Abs (a)  y = Neg (a) }\n";

static surg_context *ctx;
static surg_model *model;

static void setup(void) {
  ctx = surg_context_new(NULL);
  ck_assert_ptr_nonnull(ctx);
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &model), SURG_OK);
}

static void teardown(void) {
  surg_model_free(model);
  surg_context_free(ctx);
}

static size_t nodes(void) {
  return surg_graph_node_count(surg_model_graph(model));
}

START_TEST(runs_again_and_again) {
  ck_assert_int_eq(surg_model_run(&model, "prune"), SURG_OK);
  ck_assert_uint_eq(nodes(), 2);
  ck_assert_int_eq(surg_model_run(&model, "simplify"), SURG_OK);
  ck_assert_uint_eq(nodes(), 1);
  ck_assert_int_eq(surg_model_run(&model, ""), SURG_OK);
  ck_assert_uint_eq(nodes(), 1);
}
END_TEST

START_TEST(bad_text_leaves_the_model) {
  surg_model *before = model;
  ck_assert_int_eq(surg_model_run(&model, "prune,nothing"), SURG_EUSAGE);
  ck_assert_ptr_eq(model, before);
  ck_assert_uint_eq(nodes(), 3);
  ck_assert_str_eq(surg_context_error(ctx),
                   "pipeline: error: column 7: unknown pass \"nothing\"; see `onnxsurg passes`");
  surg_model *none = NULL;
  ck_assert_int_eq(surg_model_run(&none, "prune"), SURG_EUSAGE);
  ck_assert_int_eq(surg_model_run(NULL, "prune"), SURG_EUSAGE);
  ck_assert_int_eq(surg_model_run(&model, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_model_run(&model, "prune"), SURG_OK);
}
END_TEST

START_TEST(a_failing_pass_takes_the_model) {
  ck_assert_int_eq(surg_model_run(&model, "outputs{keep=nobody}"), SURG_EUSAGE);
  ck_assert_ptr_null(model);
}
END_TEST

static surg_status inner;

static surg_pass_result nests(surg_pass_ctx *p, surg_graph *g) {
  (void)g;
  surg_model *m = surg_pass_model(p);
  inner = surg_model_run(&m, "prune");
  return surg_context_error(surg_pass_context(p)) ? SURG_PASS_FAILED : SURG_PASS_UNCHANGED;
}

START_TEST(runs_do_not_nest) {
  static const surg_pass pass = {.size = sizeof pass,
                                 .scope = SURG_SCOPE_MODEL,
                                 .name = "nest",
                                 .help = "nests",
                                 .run = nests};
  surg_registry *r = surg_context_passes(ctx);
  ck_assert_ptr_nonnull(r);
  ck_assert_ptr_eq(surg_context_passes(ctx), r);
  ck_assert_int_eq(surg_registry_add_pass(r, &pass), SURG_OK);
  ck_assert_int_eq(surg_model_run(&model, "nest"), SURG_EUSAGE);
  ck_assert_int_eq(inner, SURG_EUSAGE);
  ck_assert_str_eq(surg_context_error(ctx), "m: error: a pass cannot run a pipeline");
  /* And the next run is not supported for a nested one. */
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &model), SURG_OK);
  ck_assert_int_eq(surg_model_run(&model, "prune"), SURG_OK);
}
END_TEST

int main(void) {
  Suite *s = suite_create("embed");
  TCase *t = tcase_create("embed");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, runs_again_and_again);
  tcase_add_test(t, bad_text_leaves_the_model);
  tcase_add_test(t, a_failing_pass_takes_the_model);
  tcase_add_test(t, runs_do_not_nest);
  suite_add_tcase(s, t);
  return unit_run(s);
}
