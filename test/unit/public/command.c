/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the user, importers among them, and models made smaller by a test. */
#include <onnxsurg/command.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/reduce.h>
#include <string.h>

#include "../unit.h"

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[2] x) => (float[2] y, float[2] z) {\n"
    "  a = Abs (x)  b = Neg (a)  c = Exp (b)  y = Sqrt (c)  z = Tanh (b) }\n";

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

/* --- commands --- */

static int code_of(const char *command) {
  surg_command *c = NULL;
  int code = -1;
  ck_assert_int_eq(surg_command_new(ctx, command, NULL, &c), SURG_OK);
  ck_assert_int_eq(surg_command_run(c, "/dev/null", &code), SURG_OK);
  surg_command_free(c);
  return code;
}

START_TEST(a_command_runs) {
  ck_assert_int_eq(code_of("true"), 0);
  ck_assert_int_eq(code_of("test -e {} -a 1 = 1"), 0);
  ck_assert_int_eq(code_of("test -e"), 0);
  ck_assert_int_eq(code_of("test -d"), 1);
  ck_assert_int_eq(code_of("sh -c 'exit 7'"), 7);
  ck_assert_int_eq(code_of("sh -c 'kill -KILL $$'"), 128 + 9);
}
END_TEST

static bool always(void *user) {
  ++*(int *)user;
  return true;
}

START_TEST(a_command_can_be_cancelled) {
  int asked = 0;
  const surg_command_options options = {
      .size = sizeof options, .seconds = 50, .cancel = always, .user = &asked};
  surg_command *c = NULL;
  int code;
  ck_assert_int_eq(surg_command_new(ctx, "sleep", &options, &c), SURG_OK);
  ck_assert_str_eq(surg_command_program(c), "sleep");
  ck_assert_int_eq(surg_command_run(c, "40", &code), SURG_OK);
  ck_assert_int_eq(code, SURG_COMMAND_ENDED);
  ck_assert_int_gt(asked, 0);
  surg_command_free(c);
}
END_TEST

START_TEST(commands_refuse) {
  surg_command *c = NULL;
  int code;
  ck_assert_int_eq(surg_command_new(NULL, "true", NULL, &c), SURG_EUSAGE);
  ck_assert_int_eq(surg_command_new(ctx, NULL, NULL, &c), SURG_EUSAGE);
  ck_assert_int_eq(surg_command_new(ctx, "true", NULL, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_command_new(ctx, "grep 'x", NULL, &c), SURG_EUSAGE);
  ck_assert_ptr_null(c);
  ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "a quote is not closed"));
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg_command_new(ctx, " \t", NULL, &c), SURG_EUSAGE);
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg_command_run(NULL, "x", &code), SURG_EUSAGE);
  ck_assert_int_eq(surg_command_new(ctx, "/no/such/program", NULL, &c), SURG_OK);
  ck_assert_int_eq(surg_command_run(c, NULL, &code), SURG_EUSAGE);
  ck_assert_int_eq(surg_command_run(c, "x", &code), SURG_EUSAGE);
  ck_assert_str_eq(surg_context_error(ctx),
                   "onnxsurg: error: cannot run /no/such/program: is it "
                   "there, and executable?");
  surg_command_free(c);
  surg_command_free(NULL);
  ck_assert_ptr_null(surg_command_program(NULL));
}
END_TEST

/* --- importers --- */

START_TEST(an_importer_answers) {
  surg_importer *im = NULL;
  bool accepted = false;
  const char *message = "unset";
  ck_assert_int_eq(surg_importer_new(ctx, "grep -q Tanh {}", NULL, &im), SURG_OK);
  ck_assert_int_eq(surg_importer_ask(im, model, &accepted, &message), SURG_OK);
  ck_assert(accepted);
  ck_assert_ptr_null(message);
  surg_importer_free(im);

  ck_assert_int_eq(surg_importer_new(ctx, "sh -c 'echo no  good: $0; exit 3' {}", NULL, &im),
                   SURG_OK);
  ck_assert_int_eq(surg_importer_ask(im, model, &accepted, &message), SURG_OK);
  ck_assert(!accepted);
  ck_assert_str_eq(message, "no good: FILE");
  ck_assert_int_eq(surg_importer_ask_file(im, "/dev/null", &accepted, NULL), SURG_OK);
  ck_assert(!accepted);
  surg_importer_free(im);

  ck_assert_int_eq(surg_importer_new(ctx, "sh -c 'printf \"%s\\tnot me\\n\" $0' {...}", NULL, &im),
                   SURG_OK);
  ck_assert_int_eq(surg_importer_ask(im, model, &accepted, &message), SURG_OK);
  ck_assert(!accepted);
  ck_assert_str_eq(message, "not me");
  surg_importer_free(im);
}
END_TEST

START_TEST(importers_refuse) {
  surg_importer *im = NULL;
  bool accepted = true;
  int asked = 0;
  const surg_command_options cancelled = {
      .size = sizeof cancelled, .cancel = always, .user = &asked};
  ck_assert_int_eq(surg_importer_new(NULL, "true", NULL, &im), SURG_EUSAGE);
  ck_assert_int_eq(surg_importer_new(ctx, "'", NULL, &im), SURG_EUSAGE);
  ck_assert_ptr_null(im);
  ck_assert_int_eq(surg_importer_ask(NULL, model, &accepted, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_importer_new(ctx, "/no/such/program", NULL, &im), SURG_OK);
  ck_assert_int_eq(surg_importer_ask(im, NULL, &accepted, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_importer_ask(im, model, NULL, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_importer_ask(im, model, &accepted, NULL), SURG_EUSAGE);
  ck_assert(!accepted);
  surg_importer_free(im);
  ck_assert_int_eq(surg_importer_new(ctx, "true {...}", NULL, &im), SURG_OK);
  ck_assert_int_eq(surg_importer_ask(im, model, &accepted, NULL), SURG_EUSAGE);
  surg_importer_free(im);
  ck_assert_int_eq(surg_importer_new(ctx, "true", &cancelled, &im), SURG_OK);
  ck_assert_int_eq(surg_importer_ask(im, model, &accepted, NULL), SURG_ELIMIT);
  surg_importer_free(im);
  surg_importer_free(NULL);
}
END_TEST

/* --- reduction --- */

static bool has_exp(void *user, surg_model *m) {
  ++*(size_t *)user;
  return surg_graph_has_op(surg_model_graph(m), SURG_OP_Exp);
}

START_TEST(reduces_to_the_operator) {
  size_t tests = 0;
  surg_reduce_report report = {.size = sizeof report};
  ck_assert_int_eq(surg_reduce(&model, has_exp, &tests, NULL, &report), SURG_OK);
  ck_assert_uint_eq(surg_graph_node_count(surg_model_graph(model)), 1);
  ck_assert_uint_eq(report.before, 5);
  ck_assert_uint_eq(report.after, 1);
  ck_assert_uint_eq(report.tests + 1, tests);
  ck_assert(!report.stopped);
  ck_assert_int_eq(surg_model_verify(model), SURG_OK);
  ck_assert_ptr_null(surg_context_error(ctx));
}
END_TEST

static bool never(void *user, surg_model *m) {
  (void)user, (void)m;
  return false;
}

START_TEST(a_test_that_is_false_changes_nothing) {
  surg_model *before = model;
  ck_assert_int_eq(surg_reduce(&model, never, NULL, NULL, NULL), SURG_EINVALID);
  ck_assert_ptr_eq(model, before);
  ck_assert_uint_eq(surg_graph_node_count(surg_model_graph(model)), 5);
  ck_assert_str_eq(surg_context_error(ctx), "m: error: the test is false of the whole model");
}
END_TEST

START_TEST(reductions_stop) {
  size_t tests = 0;
  int asked = 0;
  const surg_reduce_options options = {.size = sizeof options, .cancel = always, .user = &asked};
  surg_reduce_report report = {.size = sizeof report};
  ck_assert_int_eq(surg_reduce(&model, has_exp, &tests, &options, &report), SURG_OK);
  ck_assert(report.stopped);
  ck_assert_uint_eq(report.after, 5);
  ck_assert_uint_eq(tests, 1);
  surg_model *none = NULL;
  ck_assert_int_eq(surg_reduce(&none, has_exp, &tests, NULL, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_reduce(NULL, has_exp, &tests, NULL, NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_reduce(&model, NULL, &tests, NULL, NULL), SURG_EUSAGE);
}
END_TEST

/* A caller of an older header gives a shorter struct, and gets no more back. */
START_TEST(shorter_structs) {
  struct {
    surg_reduce_report report;
    size_t beyond;
  } r = {.report = {.size = offsetof(surg_reduce_report, tests), .tests = 77}, .beyond = 78};
  size_t tests = 0;
  ck_assert_int_eq(surg_reduce(&model, has_exp, &tests, NULL, &r.report), SURG_OK);
  ck_assert_uint_eq(r.report.after, 1);
  ck_assert_uint_eq(r.report.tests, 77);
  ck_assert_uint_eq(r.beyond, 78);
  ck_assert_uint_eq(r.report.size, offsetof(surg_reduce_report, tests));
}
END_TEST

static Suite *command_suite(void) {
  Suite *s = suite_create("command");
  TCase *c = tcase_create("all");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_set_timeout(c, 60);
  tcase_add_test(c, a_command_runs);
  tcase_add_test(c, a_command_can_be_cancelled);
  tcase_add_test(c, commands_refuse);
  tcase_add_test(c, an_importer_answers);
  tcase_add_test(c, importers_refuse);
  tcase_add_test(c, reduces_to_the_operator);
  tcase_add_test(c, a_test_that_is_false_changes_nothing);
  tcase_add_test(c, reductions_stop);
  tcase_add_test(c, shorter_structs);
  suite_add_tcase(s, c);
  return s;
}

int main(void) {
  return unit_run(command_suite());
}
