/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines with options and a report, for programs that embed the library. */
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/run.h>
#include <string.h>

#include "../unit.h"

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[2] x) => (float[2] y) { a = Identity (x)  b = Abs (a)  c = Exp (b)  y = Neg (b) }\n";

static surg_context *ctx;
static surg_model *model;

static void ignore(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

static void setup(void) {
  const surg_config config = {.size = sizeof config, .diag = ignore};
  ctx = surg_context_new(&config);
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

static void hear(void *user, const char *pass) {
  strcat(user, pass);
  strcat(user, " ");
}

START_TEST(a_run_is_reported) {
  char heard[100] = "", *json = NULL;
  uint64_t n = 0;
  surg_run_options options = {.size = sizeof options, .progress = hear, .user = heard, .check = 2};
  surg_run_report *r = NULL;
  surg_run_summary all = {.size = sizeof all};
  surg_run_pass_summary pass = {.size = sizeof pass};
  ck_assert_int_eq(surg_run(&model, "identity,prune", &options, &r), SURG_OK);
  ck_assert_uint_eq(nodes(), 2);
  ck_assert_int_eq(surg_run_get(r, &all), SURG_OK);
  ck_assert(all.changed && !all.interface_changed && !all.limit_reached);
  ck_assert_int_eq(all.used, SURG_EXACT);
  ck_assert_uint_eq(all.passes, 2);
  ck_assert_uint_eq(all.undone, 0);
  ck_assert_ptr_null(all.failed);
  ck_assert_uint_gt(all.checked, 0);
  ck_assert_uint_eq(all.skipped, 0);
  ck_assert_str_eq(all.unchecked, "");
  ck_assert_int_eq(surg_run_pass(r, 1, &pass), SURG_OK);
  ck_assert_str_eq(pass.name, "prune");
  ck_assert(pass.changed);
  ck_assert_uint_eq(pass.runs, 1);
  for (size_t k = 0; k < pass.counters; k++) ck_assert_ptr_nonnull(surg_run_counter(r, 1, k, &n));
  ck_assert_ptr_null(surg_run_counter(r, 1, pass.counters, &n));
  ck_assert_ptr_null(surg_run_note(r, 1, pass.notes));
  ck_assert_int_eq(surg_run_pass(r, 2, &pass), SURG_ENOTFOUND);
  ck_assert_ptr_nonnull(strstr(heard, "identity "));
  ck_assert_int_eq(surg_run_print(r, true, &json), SURG_OK);
  ck_assert_ptr_nonnull(strstr(json, "\"prune\""));
  surg_context_free_bytes(ctx, json);
  ck_assert_int_eq(surg_run_print(r, false, &json), SURG_OK);
  ck_assert_ptr_nonnull(strstr(json, "prune"));
  surg_context_free_bytes(ctx, json);
  surg_run_report_free(r);
}
END_TEST

START_TEST(options_hold) {
  const char *const skip[] = {"prune"}, *const keep[] = {"op=Exp"};
  surg_run_options options = {.size = sizeof options, .skip = skip, .n_skip = 1};
  ck_assert_int_eq(surg_run(&model, "identity,prune", &options, NULL), SURG_OK);
  ck_assert_uint_eq(nodes(), 3); /* Exp stays */
  options = (surg_run_options){.size = sizeof options, .keep = keep, .n_keep = 1};
  ck_assert_int_eq(surg_run(&model, "prune", &options, NULL), SURG_OK);
  ck_assert_uint_eq(nodes(), 3);
  options = (surg_run_options){.size = sizeof options, .dry_run = true};
  ck_assert_int_eq(surg_run(&model, "prune", &options, NULL), SURG_OK);
  ck_assert_uint_eq(nodes(), 3);
  options = (surg_run_options){.size = sizeof options, .has_rewrite_limit = true};
  ck_assert_int_eq(surg_run(&model, "prune", &options, NULL), SURG_OK);
  ck_assert_uint_eq(nodes(), 3);
  ck_assert_int_eq(surg_run(&model, "prune", NULL, NULL), SURG_OK);
  ck_assert_uint_eq(nodes(), 2);
}
END_TEST

START_TEST(what_is_not_there_is_undone) {
  surg_run_report *r = NULL;
  surg_run_summary all = {.size = sizeof all};
  char *line = NULL;
  ck_assert_int_eq(surg_run(&model, "remove-op{op=Sin}", NULL, &r), SURG_OK);
  ck_assert_int_eq(surg_run_get(r, &all), SURG_OK);
  ck_assert_uint_eq(all.undone, 1);
  ck_assert_int_eq(surg_run_undone(r, 0, &line), SURG_OK);
  ck_assert_ptr_nonnull(strstr(line, "Sin"));
  surg_context_free_bytes(ctx, line);
  ck_assert_int_eq(surg_run_undone(r, 1, &line), SURG_ENOTFOUND);
  surg_run_report_free(r);
}
END_TEST

START_TEST(runs_fail) {
  surg_run_report *r = NULL;
  surg_run_summary all = {.size = sizeof all};
  surg_model *none = NULL, *before = model;
  ck_assert_int_eq(surg_run(NULL, "prune", NULL, &r), SURG_EUSAGE);
  ck_assert_int_eq(surg_run(&none, "prune", NULL, &r), SURG_EUSAGE);
  ck_assert_int_eq(surg_run(&model, NULL, NULL, &r), SURG_EUSAGE);
  ck_assert_int_eq(surg_run(&model, "no-such-pass", NULL, &r), SURG_EUSAGE);
  ck_assert_ptr_null(r);
  ck_assert_ptr_eq(model, before);
  ck_assert_uint_eq(nodes(), 4);
  ck_assert_int_eq(surg_run_get(NULL, &all), SURG_EUSAGE);
  ck_assert_int_eq(surg_run_print(NULL, true, &(char *){NULL}), SURG_EUSAGE);
  ck_assert_ptr_null(surg_run_note(NULL, 0, 0));
  surg_run_report_free(NULL);
  ck_assert_int_eq(surg_run(&model, "outputs{keep=missing}", NULL, &r), SURG_EUSAGE);
  ck_assert_ptr_null(model);
  ck_assert_int_eq(surg_run_get(r, &all), SURG_OK);
  ck_assert_str_eq(all.failed, "outputs");
  surg_run_report_free(r);
}
END_TEST

static Suite *run_suite(void) {
  Suite *s = suite_create("run");
  TCase *c = tcase_create("all");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, a_run_is_reported);
  tcase_add_test(c, options_hold);
  tcase_add_test(c, what_is_not_there_is_undone);
  tcase_add_test(c, runs_fail);
  suite_add_tcase(s, c);
  return s;
}

int main(void) {
  return unit_run(run_suite());
}
