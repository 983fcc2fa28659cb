/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines as text, from a program that links the library. */
#include <onnxsurg/check.h>
#include <onnxsurg/context.h>
#include <onnxsurg/info.h>
#include <onnxsurg/names.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/run.h>
#include <string.h>

#include "../unit.h"

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

/* What a plugin may call although it makes no sense: test/fuzz/fuzz_plugin.c looks for more. */

static surg_pass_result moves_far(surg_pass_ctx *p, surg_graph *g) {
  bool blocked[1] = {true};
  (void)g;
  const bool far = surg_pass_move_blocked(p, "", INT32_MAX, blocked) == SURG_OK;
  const bool none = surg_pass_move_blocked(p, "", INT64_MAX, blocked) == SURG_EUSAGE &&
                    surg_pass_move_blocked(p, "", 0, blocked) == SURG_EUSAGE;
  return far && none ? SURG_PASS_UNCHANGED : SURG_PASS_FAILED;
}

START_TEST(opsets_far_away) {
  static const char called[] =
      "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
      "g (float[2] x) => (float[2] y) { y = d.F (x) }\n"
      "<domain: \"d\", opset_import: [\"\" : 17]>\n"
      "F (a) => (b) { b = Abs (a) }\n";
  static const surg_pass pass = {.size = sizeof pass,
                                 .scope = SURG_SCOPE_MODEL,
                                 .name = "far",
                                 .help = "asks about opsets that there will never be",
                                 .run = moves_far};
  surg_model *m = NULL;
  ck_assert_int_eq(surg_registry_add_pass(surg_context_passes(ctx), &pass), SURG_OK);
  ck_assert_int_eq(surg_model_load_text(ctx, called, strlen(called), "m", &m), SURG_OK);
  ck_assert_int_eq(surg_model_run(&m, "far"), SURG_OK);
  surg_model_free(m);
}
END_TEST

START_TEST(arguments_without_sense) {
  static const char batch[] =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[N] x) => (float[N] y) { y = Abs (x) }\n";
  static const char *const symbols[] = {"N"};
  const int64_t most[] = {INT64_MAX};
  surg_model *m = NULL;
  char why[80];
  ck_assert_ptr_null(surg_tensor_cast(model, NULL, SURG_FLOAT));
  ck_assert_int_eq(surg_model_status(model), SURG_OK);
  ck_assert_int_eq(surg_model_load_text(ctx, batch, strlen(batch), "m", &m), SURG_OK);
  ck_assert_int_eq(surg_model_stacks(m, symbols, most, 1, 0, why, sizeof why), SURG_EUSAGE);
  surg_model_free(m);
}
END_TEST

/* A branch that reads a value around it has no meaning in a function, nor in another model. */
START_TEST(copy_of_a_branch_that_captures) {
  static const char branches[] =
      "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
      "g (float[2] x, bool c) => (float[2] y, float[2] z) {\n"
      "  e = d.F (x)\n"
      "  y = If (c) <then_branch = t () => (float[2] p) { p = Abs (e) },\n"
      "              else_branch = o () => (float[2] e) { }>\n"
      "  z = Neg (e)\n"
      "}\n"
      "<domain: \"d\", opset_import: [\"\" : 17]>\n"
      "F (a) => (b) { b = Abs (a) }\n";
  surg_model *m = NULL;
  surg_value *out = NULL;
  ck_assert_int_eq(surg_model_load_text(ctx, branches, strlen(branches), "m", &m), SURG_OK);
  surg_graph *g = surg_model_graph(m), *body = surg_function_graph(surg_model_function(m, 0));
  for (size_t i = 0; i < 2; i++) {
    surg_graph *branch = surg_node_subgraph(surg_node_next(surg_graph_first_node(g)), i);
    ck_assert_int_eq(surg_graph_splice(body, NULL, branch, NULL, 0, NULL, &out, 1), SURG_EUSAGE);
    surg_graph *other = surg_model_graph(model);
    ck_assert_int_eq(surg_graph_splice(other, NULL, branch, NULL, 0, NULL, &out, 1), SURG_EUSAGE);
    ck_assert_int_eq(surg_graph_splice(g, NULL, branch, NULL, 0, NULL, &out, 1), SURG_OK);
  }
  ck_assert_int_eq(surg_model_verify(m), SURG_OK);
  surg_model_free(m);
}
END_TEST

/* A function lists its inputs by name; a type that is declared for one becomes a value_info. */
START_TEST(type_of_an_input_of_a_function) {
  static const char called[] =
      "<ir_version: 10, opset_import: [\"\" : 17, \"d\" : 1]>\n"
      "g (float[2] x) => (float[2] y) { y = d.F (x) }\n"
      "<domain: \"d\", opset_import: [\"\" : 17]>\n"
      "F (a) => (b) { b = Abs (a) }\n";
  surg_model *m = NULL, *again = NULL;
  void *bytes = NULL;
  size_t n = 0;
  ck_assert_int_eq(surg_model_load_text(ctx, called, strlen(called), "m", &m), SURG_OK);
  surg_graph *body = surg_function_graph(surg_model_function(m, 0));
  const surg_type *type = surg_type_tensor_unranked(m, SURG_FLOAT);
  ck_assert_int_eq(surg_value_set_declared_type(surg_graph_input(body, 0), type), SURG_OK);
  ck_assert_int_eq(surg_model_save_memory(m, &bytes, &n), SURG_OK);
  ck_assert_int_eq(surg_model_load_memory(ctx, bytes, n, "again", NULL, &again), SURG_OK);
  surg_context_free_bytes(ctx, bytes);
  surg_model_free(again);
  surg_model_free(m);
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
  ck_assert_int_eq(surg_model_run(&model, "outputs{keep=missing}"), SURG_EUSAGE);
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

/* --- what a context lists --- */

START_TEST(passes_and_presets_are_listed) {
  const surg_registry *r = surg_context_passes(ctx);
  const size_t n = surg_registry_pass_count(r);
  surg_preset preset = {.size = sizeof preset};
  ck_assert_uint_gt(n, 20);
  ck_assert_ptr_null(surg_registry_pass(r, n));
  const surg_pass *first = surg_registry_pass(r, 0);
  ck_assert_ptr_eq(surg_registry_find(r, first->name), first);
  ck_assert_ptr_null(surg_registry_plugin_of(r, first));
  ck_assert_ptr_null(surg_registry_find(r, "missing"));
  ck_assert_ptr_null(surg_registry_find(NULL, "prune"));
  ck_assert_int_eq(surg_registry_preset(r, 0, &preset), SURG_OK);
  ck_assert_int_eq(surg_registry_preset(r, 1000, &preset), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_registry_find_preset(r, "simplify", &preset), SURG_OK);
  ck_assert_str_eq(preset.name, "simplify");
  ck_assert_int_eq(surg_registry_find_preset(r, "prune", &preset), SURG_ENOTFOUND);
  ck_assert_int_eq(surg_registry_find_preset(r, NULL, &preset), SURG_EUSAGE);
  ck_assert_int_eq(surg_context_load_plugin(ctx, "/no/such/plugin.so"), SURG_EPLUGIN);
  ck_assert_int_eq(surg_context_error_status(ctx), SURG_EPLUGIN);
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg_context_error_status(ctx), SURG_OK);
  ck_assert_int_eq(surg_context_memory_status(ctx), SURG_OK);
  ck_assert_int_eq(surg_context_load_rules_file(ctx, "/no/such/file"), SURG_EIO);
  ck_assert_int_eq(surg_context_load_schemas_file(ctx, "/no/such/file"), SURG_EIO);
  ck_assert_int_eq(surg_context_load_rules_file(NULL, "x"), SURG_EUSAGE);
}
END_TEST

/* --- names --- */

static const char *word_at(const void *list, size_t i) {
  return ((const char *const *)list)[i];
}

START_TEST(texts) {
  static const char *const words[] = {"fold", "prune", "simplify"};
  char out[8], *type = NULL;
  const surg_graph *g = surg_model_graph(model);
  ck_assert_uint_eq(surg_text_escape("a\n\"\x01", 4, 0, NULL, 0), 9);
  ck_assert_uint_eq(surg_text_escape("a\n\"\x01", 4, 0, out, sizeof out), 9);
  ck_assert_str_eq(out, "a\\n\\\"\\x"); /* cut to the room */
  ck_assert_uint_eq(surg_text_escape("abcdef", 6, 2, out, sizeof out), 5);
  ck_assert_str_eq(out, "ab...");
  ck_assert_uint_eq(surg_text_escape("ab\xc3\xa9yz", 6, 3, out, sizeof out), 7);
  ck_assert_str_eq(out, "ab\xc3\xa9..."); /* a character is not cut */
  ck_assert_uint_eq(surg_text_escape("", 0, 0, out, 1), 0);
  ck_assert_str_eq(out, "");
  ck_assert_str_eq(surg_nearest_name("prnue", words, 3, word_at), "prune");
  ck_assert_ptr_null(surg_nearest_name("zzzzzz", words, 3, word_at));
  static const char *const names[] = {"/net/layer.0/Add_1", "/net/layer.0/Add",
                                      "gr\xc3\xb6\xc3\x9f", "w"};
  ck_assert_str_eq(surg_nearest_name("Add_1", names, 4, word_at), names[0]); /* a part */
  ck_assert_str_eq(surg_nearest_name("Add", names, 4, word_at), names[1]);
  ck_assert_str_eq(surg_nearest_name("/net/layer.1/Add_1", names, 4, word_at), names[0]);
  ck_assert_str_eq(surg_nearest_name("gros", names, 4, word_at), names[2]); /* two characters */
  ck_assert_ptr_null(surg_nearest_name("ayer", names, 4, word_at));
  ck_assert_ptr_null(surg_nearest_name("v", names, 4, word_at));
  ck_assert_str_eq(surg_graph_where(g), "graph");
  ck_assert_ptr_null(surg_graph_where(NULL));
  ck_assert_int_eq(surg_type_text(ctx, surg_value_declared_type(surg_graph_input(g, 0)), &type),
                   SURG_OK);
  ck_assert_str_eq(type, "float[2]");
  surg_context_free_bytes(ctx, type);
  ck_assert_int_eq(surg_type_text(ctx, NULL, &type), SURG_OK);
  ck_assert_str_eq(type, "?");
  surg_context_free_bytes(ctx, type);
  ck_assert_int_eq(surg_type_text(NULL, NULL, &type), SURG_EUSAGE);
}
END_TEST

/* --- pipelines as objects --- */

static void count_prints(void *user, const char *pass, surg_model *m) {
  size_t *n = user;
  ck_assert_str_eq(pass, "prune");
  ck_assert_ptr_nonnull(m);
  ++*n;
}

START_TEST(pipelines_run_on_many_models) {
  static const char *const skipped[] = {"fold"}, *const after[] = {"changed"};
  size_t prints = 0;
  const surg_run_options options = {.size = sizeof options,
                                    .check = 1,
                                    .print_after = after,
                                    .n_print_after = 1,
                                    .print = count_prints,
                                    .user = &prints};
  surg_run_summary sum = {.size = sizeof sum};
  surg_run_report *report = NULL;
  surg_pipeline *p = NULL;
  char *words = NULL;
  ck_assert_int_eq(surg_pipeline_parse(ctx, "fold,prune", "--mine", &p), SURG_OK);
  ck_assert_int_eq(surg_pipeline_skip(p, "--not", skipped, 1), SURG_OK);
  ck_assert_int_eq(surg_pipeline_text(p, &words), SURG_OK);
  ck_assert_str_eq(words, "prune");
  surg_context_free_bytes(ctx, words);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(surg_pipeline_run(p, &model, &options, &report), SURG_OK);
    ck_assert_uint_eq(nodes(), 2);
    ck_assert_int_eq(surg_run_get(report, &sum), SURG_OK);
    ck_assert_uint_eq(sum.checked, i ? sum.checked : 4);
    ck_assert_str_eq(sum.silent_why, "");
    ck_assert_uint_eq(sum.all_undone, 0);
    ck_assert_int_eq(surg_run_lines(report, true, true, &words), SURG_OK);
    ck_assert_ptr_nonnull(strstr(words, "prune: 1 run"));
    surg_context_free_bytes(ctx, words);
    surg_run_report_free(report);
  }
  ck_assert_uint_eq(prints, 1); /* the second run changes nothing */
  surg_pipeline_free(p);
  surg_pipeline_free(NULL);
  ck_assert_int_eq(surg_pipeline_parse(ctx, "nothing", "--mine", &p), SURG_EUSAGE);
  ck_assert_ptr_null(p);
  ck_assert_str_eq(surg_context_error(ctx),
                   "--mine: error: column 1: unknown pass \"nothing\"; see `onnxsurg passes`");
  ck_assert_int_eq(surg_pipeline_run(NULL, &model, NULL, NULL), SURG_EUSAGE);
}
END_TEST

START_TEST(a_pipeline_stays_in_its_context) {
  surg_context *other = surg_context_new(NULL);
  surg_pipeline *p = NULL;
  ck_assert_int_eq(surg_pipeline_parse(other, "prune", NULL, &p), SURG_OK);
  ck_assert_int_eq(surg_pipeline_run(p, &model, NULL, NULL), SURG_EUSAGE);
  ck_assert_ptr_nonnull(model);
  surg_pipeline_free(p);
  surg_context_free(other);
}
END_TEST

static bool enough(void *user) {
  size_t *left = user;
  return *left ? --*left, false : true;
}

START_TEST(a_run_is_cancelled) {
  size_t left = 0;
  const surg_run_options options = {
      .size = sizeof options, .dry_run = true, .cancel = enough, .user = &left};
  ck_assert_int_eq(surg_run(&model, "prune,simplify", &options, NULL), SURG_ECANCELLED);
  ck_assert_str_eq(surg_context_error(ctx), "m: error: cancelled in pass \"prune\"");
  ck_assert_uint_eq(nodes(), 3); /* a dry run keeps the model */
  left = 1000000;
  ck_assert_int_eq(surg_run(&model, "prune,simplify", &options, NULL), SURG_OK);
  ck_assert_uint_lt(left, 1000000);
}
END_TEST

START_TEST(models_are_required_to_be_whole) {
  static const char lacks[] =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2] x) => (float[2] y) { y = Add (x, nowhere) }\n";
  const surg_load_options lenient = {.size = sizeof lenient, .policy = SURG_LOAD_LENIENT};
  surg_model *bad = NULL;
  ck_assert_int_eq(surg_model_require_valid(model), SURG_OK);
  ck_assert_int_eq(surg_model_require_weights(model, "a test"), SURG_OK);
  surg_model_note_weights(model);
  surg_model_note_weights(NULL);
  surg_model_learn_weights(model, model);
  surg_model_learn_weights(NULL, model);
  ck_assert_int_eq(surg_model_require_valid(NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_model_load_text(ctx, lacks, strlen(lacks), "c", &bad), SURG_EINVALID);
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg_model_load_memory(ctx, lacks, strlen(lacks), "c", &lenient, &bad), SURG_OK);
  ck_assert_int_eq(surg_model_require_valid(bad), SURG_EINVALID);
  ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "nowhere"));
  surg_model_free(bad);
}
END_TEST

int main(void) {
  Suite *s = suite_create("embed");
  TCase *t = tcase_create("embed");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, opsets_far_away);
  tcase_add_test(t, arguments_without_sense);
  tcase_add_test(t, copy_of_a_branch_that_captures);
  tcase_add_test(t, type_of_an_input_of_a_function);
  tcase_add_test(t, runs_again_and_again);
  tcase_add_test(t, bad_text_leaves_the_model);
  tcase_add_test(t, a_failing_pass_takes_the_model);
  tcase_add_test(t, runs_do_not_nest);
  tcase_add_test(t, passes_and_presets_are_listed);
  tcase_add_test(t, texts);
  tcase_add_test(t, pipelines_run_on_many_models);
  tcase_add_test(t, a_pipeline_stays_in_its_context);
  tcase_add_test(t, a_run_is_cancelled);
  tcase_add_test(t, models_are_required_to_be_whole);
  suite_add_tcase(s, t);
  return unit_run(s);
}
