/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin registers, and that nothing of it stays if its init fails. */
#include <check.h>
#include <onnxsurg/context.h>
#include <onnxsurg/explain.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/run.h>
#include <onnxsurg/target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"

static const char *path; /* of the plugin */

/* What a context knows that a plugin may add to. */
typedef struct known {
  size_t passes, rules, targets, messages;
  bool preset;
  char *simplify; /* the preset, expanded */
  bool schema;
} known;

static void count(void *user, const surg_explanation *e) {
  (void)e;
  ++*(size_t *)user;
}

static size_t messages_found(surg_context *ctx) {
  static const char text[] = "own: quota exceeded\n";
  surg_messages *all = NULL;
  size_t n = 0;
  ck_assert_int_eq(surg_messages_new(ctx, NULL, &all), SURG_OK);
  ck_assert_int_eq(surg_explain(all, text, strlen(text), NULL, count, &n, NULL), SURG_OK);
  surg_messages_free(all);
  return n;
}

/* Whether the type of a node of the plugin's operator is inferred. */
static bool inferred(surg_context *ctx) {
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17, \"own\" : 1]>\n"
      "g (float[2] x) => (float y) { a = own.Known (x)  y = ReduceSum (a) }\n";
  surg_model *m = NULL;
  ck_assert_int_eq(surg_model_load_text(ctx, text, strlen(text), "m", &m), SURG_OK);
  ck_assert_int_eq(surg_model_infer(m), SURG_OK);
  const surg_node *n = surg_graph_first_node(surg_model_graph(m));
  const int dtype = surg_type_dtype(surg_value_type(surg_node_output(n, 0)));
  surg_model_free(m);
  return dtype == SURG_FLOAT;
}

static known look(surg_context *ctx) {
  known k = {0};
  const surg_registry *r = surg_context_passes(ctx);
  surg_preset preset = {.size = sizeof preset};
  surg_pipeline *p = NULL;
  k.passes = surg_registry_pass_count(r);
  k.preset = surg_registry_find_preset(r, "own", &preset) == SURG_OK;
  k.rules = surg_context_rule_count(ctx);
  while (surg_context_target(ctx, k.targets)) k.targets++;
  k.messages = messages_found(ctx);
  k.schema = inferred(ctx);
  ck_assert_int_eq(surg_pipeline_parse(ctx, "simplify", "test", &p), SURG_OK);
  ck_assert_int_eq(surg_pipeline_text(p, &k.simplify), SURG_OK);
  surg_pipeline_free(p);
  return k;
}

/* `more` of everything than `before`. */
static void expect(const known *before, const known *after, size_t more) {
  ck_assert_uint_eq(after->passes, before->passes + 2 * more);
  ck_assert_uint_eq(after->rules, before->rules + more);
  ck_assert_uint_eq(after->targets, before->targets + more);
  ck_assert_uint_eq(after->messages, more);
  ck_assert_int_eq(after->preset, more > 0);
  ck_assert_int_eq(after->schema, more > 0);
  ck_assert_int_eq(strcmp(before->simplify, after->simplify) != 0, more > 0);
}

START_TEST(failed_init_is_taken_back) {
  for (int rules_listed = 0; rules_listed < 2; rules_listed++) {
    surg_context *ctx = surg_context_new(NULL), *fresh = surg_context_new(NULL);
    const known before = look(fresh);
    ck_assert_ptr_nonnull(surg_context_passes(ctx));
    if (rules_listed) ck_assert_uint_gt(surg_context_rule_count(ctx), 0);
    setenv("OWN_PLUGIN_FAILS", "1", 1);
    ck_assert_int_eq(surg_context_load_plugin(ctx, path), SURG_EPLUGIN);
    unsetenv("OWN_PLUGIN_FAILS");
    ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "its init failed (unsupported)"));
    const known failed = look(ctx);
    expect(&before, &failed, 0);
    surg_context_free_bytes(ctx, failed.simplify);
    surg_context_clear_error(ctx);
    ck_assert_int_eq(surg_context_load_plugin(ctx, path), SURG_OK);
    ck_assert_int_eq(surg_context_load_plugin(ctx, path), SURG_OK);
    const known good = look(ctx);
    expect(&before, &good, 1);
    ck_assert_str_eq(surg_context_target(ctx, before.targets), "own-npu");
    ck_assert_ptr_null(surg_context_target(NULL, 0));
    surg_context_free_bytes(ctx, good.simplify);
    surg_context_free_bytes(fresh, before.simplify);
    surg_context_free(ctx);
    surg_context_free(fresh);
  }
}
END_TEST

/* Schemas that are invalid leave those that were loaded before. */
START_TEST(invalid_schemas_leave_the_others) {
  static const char good[] = "domain own\nop Known\ninput x: float\noutput y: float\n";
  static const char bad[] = "domain own\nop Other\ninput x: float\noutput y: float\nnonsense\n";
  surg_context *ctx = surg_context_new(NULL);
  ck_assert_int_eq(surg_context_load_schemas(ctx, good, strlen(good), "good"), SURG_OK);
  ck_assert_int_eq(surg_context_load_schemas(ctx, bad, strlen(bad), "bad"), SURG_EINVALID);
  ck_assert_int_eq(surg_context_load_schemas(ctx, good, strlen(good), "again"), SURG_EINVALID);
  ck_assert(inferred(ctx));
  surg_context_free(ctx);
}
END_TEST

START_TEST(all_rules_are_checked) {
  surg_context *ctx = surg_context_new(NULL);
  ck_assert_int_eq(surg_context_check_rules(NULL), SURG_EUSAGE);
  ck_assert_int_eq(surg_context_check_rules(ctx), SURG_OK);
  surg_context_free(ctx);
}
END_TEST

/* --- passes in child processes --- */

typedef struct watch {
  surg_context *ctx;
  surg_model *m;
  size_t lines, printed, progress, asked, cancel_at;
  char line[256];
} watch;

static void keep_line(void *user, surg_severity severity, const char *line) {
  watch *w = user;
  w->lines += severity == SURG_WARNING;
  if (severity == SURG_ERROR) snprintf(w->line, sizeof w->line, "%s", line);
}

static void print(void *user, const char *pass, surg_model *m) {
  watch *w = user;
  ck_assert_str_eq(pass, "own-apart");
  w->printed += surg_graph_node_count(surg_model_graph(m));
}

static void progress(void *user, const char *pass) {
  (void)pass;
  ++((watch *)user)->progress;
}

static bool cancel(void *user) {
  watch *w = user;
  return ++w->asked == w->cancel_at;
}

static void open_watch(watch *w) {
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2] x) => (float[2] y) { a = Abs (x)  b = Sin (a)  y = Neg (b) }\n";
  const surg_config config = {.size = sizeof config, .diag = keep_line, .diag_user = w};
  *w = (watch){.ctx = surg_context_new(&config)};
  ck_assert_ptr_nonnull(surg_context_passes(w->ctx));
  ck_assert_int_eq(surg_context_load_plugin(w->ctx, path), SURG_OK);
  ck_assert_int_eq(surg_model_load_text(w->ctx, text, strlen(text), "m", &w->m), SURG_OK);
}

static void close_watch(watch *w) {
  surg_model_free(w->m);
  surg_context_free(w->ctx);
}

static surg_run_options apart_options(watch *w) {
  static const char *const after[] = {"own-apart"};
  return (surg_run_options){.size = sizeof(surg_run_options),
                            .isolate_plugins = true,
                            .has_rewrite_limit = true,
                            .rewrite_limit = 5,
                            .print_after = after,
                            .n_print_after = 1,
                            .print = print,
                            .progress = progress,
                            .cancel = cancel,
                            .user = w};
}

START_TEST(a_child_reports_as_a_pass_does) {
  for (int by_context = 0; by_context < 2; by_context++) {
    watch w;
    surg_run_report *r = NULL;
    surg_run_summary all = {.size = sizeof all};
    surg_run_pass_summary one = {.size = sizeof one};
    uint64_t n = 0;
    open_watch(&w);
    surg_run_options o = apart_options(&w);
    o.isolate_plugins = !by_context;
    surg_context_isolate_plugins(w.ctx, by_context);
    ck_assert_int_eq(surg_run(&w.m, "own-apart,own-apart,prune", &o, &r), SURG_OK);
    ck_assert_str_eq(surg_model_path(w.m), "m");
    ck_assert_uint_eq(surg_graph_node_count(surg_model_graph(w.m)), 1);
    ck_assert_str_eq(surg_value_name(surg_graph_output(surg_model_graph(w.m), 0)), "a");
    ck_assert_int_eq(surg_run_get(r, &all), SURG_OK);
    ck_assert(all.changed && all.interface_changed);
    ck_assert_uint_eq(all.rewrites, 2);
    ck_assert_int_eq(surg_run_pass(r, 0, &one), SURG_OK);
    ck_assert_uint_eq(one.runs, 2);
    ck_assert_uint_eq(one.rewrites, 2);
    ck_assert_uint_eq(one.notes, 2);
    ck_assert_str_eq(surg_run_note(r, 0, 0), "graph.node[2] (Neg): a note");
    ck_assert_str_eq(surg_run_note(r, 0, 1), "graph.node[1] (Sin): a note");
    ck_assert_str_eq(surg_run_counter(r, 0, 0, &n), "calls");
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(w.lines, 2);
    ck_assert_uint_eq(w.printed, 2 + 1);
    ck_assert_uint_eq(w.progress, 3);
    surg_run_report_free(r);
    close_watch(&w);
  }
}
END_TEST

START_TEST(a_crash_ends_the_child) {
  watch w;
  open_watch(&w);
  const surg_run_options o = apart_options(&w);
  ck_assert_int_eq(surg_run(&w.m, "own-apart{how=crash}", &o, NULL), SURG_EPLUGIN);
  ck_assert_ptr_null(w.m);
  ck_assert_str_eq(w.line,
                   "m: error: pass \"own-apart\" of plugin \"own\" aborted (abort or assert, "
                   "or a C++ exception left it)");
  ck_assert_uint_eq(w.lines, 1);
  close_watch(&w);
}
END_TEST

START_TEST(a_child_is_cancelled) {
  watch w;
  open_watch(&w);
  const surg_run_options o = apart_options(&w);
  w.cancel_at = 5;
  ck_assert_int_eq(surg_run(&w.m, "own-apart{how=loop}", &o, NULL), SURG_ECANCELLED);
  ck_assert_ptr_null(w.m);
  ck_assert_uint_eq(w.asked, 5);
  close_watch(&w);
}
END_TEST

START_TEST(a_child_is_out_of_time) {
  watch w;
  open_watch(&w);
  surg_run_options o = apart_options(&w);
  o.timeout_ms = 50;
  ck_assert_int_eq(surg_run(&w.m, "own-apart{how=loop}", &o, NULL), SURG_ELIMIT);
  ck_assert_str_eq(w.line, "m: error: out of time in pass \"own-apart\" (--timeout)");
  close_watch(&w);
}
END_TEST

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  path = argv[1];
  Suite *s = suite_create("plugins");
  TCase *t = tcase_create("plugins");
  tcase_add_test(t, failed_init_is_taken_back);
  tcase_add_test(t, invalid_schemas_leave_the_others);
  tcase_add_test(t, all_rules_are_checked);
  tcase_add_test(t, a_child_reports_as_a_pass_does);
  tcase_add_test(t, a_crash_ends_the_child);
  tcase_add_test(t, a_child_is_cancelled);
  tcase_add_test(t, a_child_is_out_of_time);
  suite_add_tcase(s, t);
  return unit_run(s);
}
