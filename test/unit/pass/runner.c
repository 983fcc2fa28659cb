/* SPDX-License-Identifier: Apache-2.0 */
/* The runner: options, repetition, consent, misbehaving passes, reports. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/context.h"
#include "sample_passes.h"

/* x -> Abs -> Neg -> y, nodes without names. */
static surg_model *make(void) {
  surg_model *m = surg_model_new(ctx, 8, 17);
  surg_graph *g = surg_model_graph(m);
  const surg_type *t = surg_type_tensor_unranked(m, SURG_FLOAT);
  surg_value *x = surg_graph_add_input(g, "x", t);
  surg_node *a = surg_graph_add_node(g, NULL, NULL, "Abs", 1);
  surg_node *b = surg_graph_add_node(g, NULL, NULL, "Neg", 1);
  ck_assert_ptr_nonnull(b);
  surg_node_set_name(a, "");
  surg_node_set_name(b, "");
  surg_node_set_input(a, 0, x);
  surg_node_set_input(b, 0, surg_node_output(a, 0));
  surg_value_rename(surg_node_output(b, 0), "y");
  ck_assert_int_eq(surg_graph_add_output(g, surg_node_output(b, 0), t), SURG_OK);
  ck_assert_int_eq(surg_model_verify(m), SURG_OK);
  n_lines = 0;
  return m;
}

static surg_status run(const char *text, const surg__run_options *options, surg__run_report *report,
                       surg_model **kept) {
  surg_model *m = make();
  surg__pipeline *p = parse(text);
  surg_status s = surg__run(&m, p, options, report);
  surg__pipeline_free(p);
  ck_assert((m == NULL) == (s != SURG_OK && !(options && options->dry_run)));
  if (kept)
    *kept = m;
  else
    surg_model_free(m);
  return s;
}

static void expect_failure(const char *text, const surg__run_options *o, surg_status status,
                           const char *line) {
  surg__run_report report;
  n_lines = 0;
  surg_status got = run(text, o, &report, NULL);
  ck_assert_msg(got == status, "'%s': %d: %s", text, got, n_lines ? lines[0] : "no line");
  surg__run_report_free(&report);
  ck_assert_int_eq(n_lines, 1);
  ck_assert_msg(strstr(lines[0], line), "'%s' lacks '%s'", lines[0], line);
}

START_TEST(options_reach_the_pass) {
  ck_assert_int_eq(run("look", NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(seen_int, 7);
  ck_assert(!seen_bool);
  ck_assert_str_eq(seen_string, "(none)");
  ck_assert_str_eq(seen_list, "|a|b");
  ck_assert_int_eq(run("look{n=-3KiB,flag,text='a+b',list=x+''+y}", NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(seen_int, -3072);
  ck_assert(seen_bool);
  ck_assert_str_eq(seen_string, "a+b");
  ck_assert_str_eq(seen_list, "|x||y");
  ck_assert_int_eq(run("look{n=inf}", NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(seen_int, INT64_MAX);
  ck_assert_int_eq(run("look{n=-9223372036854775808}", NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(seen_int, INT64_MIN);
  ck_assert_int_eq(run("look{n=2GiB}", NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(seen_int, (int64_t)2 << 30);
}
END_TEST

START_TEST(pairs_reach_the_pass) {
  calls = 0;
  ck_assert_int_eq(run("pairs{N=1,n=3,x.2=a+b}", NULL, NULL, NULL), SURG_OK);
  ck_assert_int_eq(calls, 1);
}
END_TEST

START_TEST(pairs_are_bounded) {
  static char text[20000] = "pairs{";
  for (int i = 0; i < 1000; i++) snprintf(text + strlen(text), 20, "%sk%d=1", i ? "," : "", i);
  size_t n = strlen(text);
  strcpy(text + n, "}");
  surg__pipeline_free(parse(text));
  strcpy(text + n, ",one-more=1}");
  surg__pipeline *p;
  ck_assert_int_eq(surg__pipeline_parse(ctx, text, "--pass", &p), SURG_EUSAGE);
  ck_assert_ptr_nonnull(strstr(lines[n_lines - 1], "option \"one-more\" is one too many"));
}
END_TEST

START_TEST(empty_pipeline_changes_nothing) {
  surg__run_report report;
  ck_assert_int_eq(run("", NULL, &report, NULL), SURG_OK);
  ck_assert(!report.changed);
  ck_assert_uint_eq(report.passes.count, 0);
  surg__run_report_free(&report);
}
END_TEST

START_TEST(repeat_runs_to_the_fixpoint) {
  surg__run_report report;
  surg_model *m;
  ck_assert_int_eq(run("repeat(name-one)", NULL, &report, &m), SURG_OK);
  ck_assert_int_eq(calls, 3); /* two changes, one look that finds nothing */
  ck_assert(report.changed);
  ck_assert_uint_eq(report.rewrites, 2);
  ck_assert_uint_eq(report.passes.count, 1);
  ck_assert_uint_eq(report.passes.items[0].runs, 3);
  ck_assert_uint_eq(report.passes.items[0].counters.count, 1);
  ck_assert_uint_eq(report.passes.items[0].counters.items[0].n, 2);
  ck_assert_uint_eq(report.passes.items[0].notes.count, 2);
  ck_assert_ptr_nonnull(strstr(report.passes.items[0].notes.items[0], "has a\\nname"));
  ck_assert_int_eq(report.worst, SURG_ULP);
  ck_assert(!report.interface && !report.limit_reached);
  surg__run_report_free(&report);
  surg_model_free(m);
}
END_TEST

/* No pass exceeds what the user allows, whatever it says of itself. */
START_TEST(consent) {
  static const struct {
    const char *pipeline;
    int allow; /* -1: not given */
    surg_status status;
  } rows[] = {
      {"name-one", -1, SURG_OK},
      {"name-one", SURG_ULP, SURG_OK},
      {"name-one", SURG_EXACT, SURG_EINVALID},
      {"allow{exact}(name-one)", -1, SURG_EINVALID},
      {"allow{lossy}(allow{exact}(name-one))", -1, SURG_EINVALID},
      {"allow{exact}(allow{lossy}(name-one))", -1, SURG_EINVALID},
      {"allow{exact}(quiet),name-one", -1, SURG_OK},
      {"bold", -1, SURG_EINVALID},
      {"bold", SURG_APPROX, SURG_EINVALID},
      {"bold", SURG_LOSSY, SURG_OK},
      {"bold{allow=lossy}", -1, SURG_OK},
      {"bold{allow=lossy}", SURG_APPROX, SURG_EINVALID},
      {"bold{allow=approx}", -1, SURG_EINVALID},
      {"allow{lossy}(bold)", -1, SURG_OK},
      {"allow{lossy}(bold)", SURG_APPROX, SURG_EINVALID},
      {"edit", -1, SURG_OK},
      {"edit", SURG_APPROX, SURG_EINVALID},
      {"allow{approx}(edit)", -1, SURG_EINVALID},
  };
  for (size_t i = 0; i < SURG_COUNT(rows); i++) {
    surg__run_options options = {.has_allow = rows[i].allow >= 0,
                                 .allow = (surg_exactness)(rows[i].allow < 0 ? 0 : rows[i].allow)};
    surg__run_report report;
    surg_model *m = NULL;
    ck_assert_msg(run(rows[i].pipeline, &options, &report, &m) == rows[i].status, "%zu: %s", i,
                  rows[i].pipeline);
    surg__run_report_free(&report);
    surg_model_free(m);
  }
}
END_TEST

START_TEST(repeat_stops_at_max) {
  surg__run_report report;
  ck_assert_int_eq(run("repeat{max=1}(name-one)", NULL, &report, NULL), SURG_OK);
  ck_assert_int_eq(calls, 1);
  ck_assert_int_eq(n_lines, 1);
  ck_assert_ptr_nonnull(strstr(lines[0], "repeat stopped after 1 rounds, still changing"));
  surg__run_report_free(&report);
}
END_TEST

START_TEST(rewrite_limit_leaves_work_undone) {
  surg__run_report report;
  surg__run_options o = {.has_rewrite_limit = true, .rewrite_limit = 1};
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, NULL), SURG_OK);
  ck_assert_uint_eq(report.rewrites, 1);
  ck_assert(report.limit_reached);
  surg__run_report_free(&report);
  o.rewrite_limit = 0;
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, NULL), SURG_OK);
  ck_assert(!report.changed && report.limit_reached);
  surg__run_report_free(&report);
}
END_TEST

START_TEST(skipping) {
  static const char *const skip[] = {"name-one"};
  surg__run_options o = {.skip = skip, .n_skip = 1};
  surg__run_report report;
  ck_assert_int_eq(run("quiet,name-one", &o, &report, NULL), SURG_OK);
  ck_assert(!report.changed);
  ck_assert_uint_eq(report.passes.count, 1);
  surg__run_report_free(&report);
  static const char *const wrong[] = {"name-two"};
  o.skip = wrong;
  expect_failure("quiet", &o, SURG_EUSAGE,
                 "--skip-pass: error: unknown pass \"name-two\"; did you mean \"name-one\"?");
}
END_TEST

START_TEST(keeping) {
  static const char *const by_op[] = {"op=Abs"}, *const by_value[] = {"y"};
  static const char *const by_regex[] = {"/^(y|z)$/"}, *const bad[] = {"/(/"};
  static const char *const all[] = {"op=Abs", "y"}, *const strange[] = {"no_such"};
  surg__run_report report;
  surg__run_options o = {.keep = by_op, .n_keep = 1};
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, NULL), SURG_OK);
  ck_assert_uint_eq(report.rewrites, 1);
  surg__run_report_free(&report);
  o.keep = by_value;
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, NULL), SURG_OK);
  ck_assert_uint_eq(report.rewrites, 1);
  surg__run_report_free(&report);
  o.keep = by_regex;
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, NULL), SURG_OK);
  ck_assert_uint_eq(report.rewrites, 1);
  surg__run_report_free(&report);
  o.keep = all, o.n_keep = 2;
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, NULL), SURG_OK);
  ck_assert_uint_eq(report.rewrites, 0);
  surg__run_report_free(&report);
  o.keep = bad, o.n_keep = 1;
  expect_failure("quiet", &o, SURG_EUSAGE, "--keep: error: \"/(/\": ");
  o.keep = strange;
  ck_assert_int_eq(run("quiet", &o, NULL, NULL), SURG_OK);
  ck_assert_ptr_nonnull(strstr(lines[0], "the model has no node \"no_such\""));
}
END_TEST

START_TEST(misbehaving_passes) {
  expect_failure("lie", NULL, SURG_EINTERNAL,
                 "pass \"lie\" reported no change, and changed the model");
  expect_failure("add-output", NULL, SURG_EINTERNAL, "changed inputs or outputs of the model");
  expect_failure("mute", NULL, SURG_EINTERNAL, "pass \"mute\" failed without a reason");
  expect_failure("nonsense", NULL, SURG_EINTERNAL, "returned no result that there is");
  expect_failure("undeclared", NULL, SURG_EINTERNAL,
                 "asked for option \"no-such\", which it does not declare");
  expect_failure("fails", NULL, SURG_EINVALID, "(Abs): does not like this");
  surg__run_options o = {.verify_each = true};
  expect_failure("disorder", &o, SURG_EINTERNAL, "pass \"disorder\" left the model broken: ");
  expect_failure("greedy", NULL, SURG_ELIMIT, "memory");
}
END_TEST

START_TEST(what_is_said_may_be_done) {
  surg__run_report report;
  surg__run_options o = {.verify_each = true};
  surg_model *m;
  ck_assert_int_eq(run("add-output-said", &o, &report, NULL), SURG_OK);
  ck_assert(report.interface && report.changed);
  surg__run_report_free(&report);
  ck_assert_int_eq(run("disorder-said", &o, &report, &m), SURG_OK);
  surg_node *first = surg_graph_first_node(surg_model_graph(m));
  ck_assert_str_eq(surg_node_op_type(first), "Abs"); /* the runner has put it in order */
  surg__run_report_free(&report);
  surg_model_free(m);
}
END_TEST

START_TEST(the_failing_pass_is_named) {
  surg__run_report report;
  ck_assert_int_eq(run("quiet,fails,quiet", NULL, &report, NULL), SURG_EINVALID);
  ck_assert_str_eq(report.failed, "fails");
  ck_assert_int_eq(calls, 1);
  surg__run_report_free(&report);
}
END_TEST

START_TEST(dry_run_keeps_the_model) {
  surg__run_report report;
  surg__run_options o = {.dry_run = true};
  surg_model *m;
  ck_assert_int_eq(run("repeat(name-one)", &o, &report, &m), SURG_OK);
  ck_assert(report.changed);
  ck_assert_str_eq(surg_node_name(surg_graph_first_node(surg_model_graph(m))), "");
  surg__run_report_free(&report);
  surg_model_free(m);
  ck_assert_int_eq(run("fails", &o, &report, &m), SURG_EINVALID);
  ck_assert_ptr_nonnull(m);
  surg__run_report_free(&report);
  surg_model_free(m);
}
END_TEST

START_TEST(timeouts) {
  surg__run_options o = {.timeout_ms = 5};
  expect_failure("slow,quiet", &o, SURG_ELIMIT, "out of time in pass \"slow\" (--timeout)");
  ck_assert_int_eq(calls, 1);
}
END_TEST

static char printed[256];

static void print(void *user, const char *pass, surg_model *model) {
  (void)user;
  (void)model;
  strncat(printed, pass, sizeof printed - strlen(printed) - 2);
  strcat(printed, ";");
}

START_TEST(printing_after) {
  static const char *const changed[] = {"changed"}, *const quiet_only[] = {"quiet"};
  static const char *const wrong[] = {"quit"};
  surg__run_options o = {.print = print, .print_after = changed, .n_print_after = 1};
  printed[0] = 0;
  ck_assert_int_eq(run("quiet,repeat(name-one)", &o, NULL, NULL), SURG_OK);
  ck_assert_str_eq(printed, "name-one;name-one;");
  printed[0] = 0;
  o.print_after = quiet_only;
  ck_assert_int_eq(run("quiet,repeat(name-one)", &o, NULL, NULL), SURG_OK);
  ck_assert_str_eq(printed, "quiet;");
  o.print_after = wrong;
  expect_failure("quiet", &o, SURG_EUSAGE, "--print-after: error: unknown pass \"quit\"");
}
END_TEST

static char *slurp(const char *path) {
  FILE *f = fopen(path, "r");
  char *text = calloc(1, 65536);
  ck_assert(f && text);
  ck_assert_uint_lt(fread(text, 1, 65535, f), 65535);
  fclose(f);
  return text;
}

START_TEST(log_and_map) {
  char log[] = "/tmp/onnxsurg_log_XXXXXX", map[] = "/tmp/onnxsurg_map_XXXXXX";
  close(mkstemp(log));
  close(mkstemp(map));
  surg__run_options o = {.log_path = log, .map_path = map};
  ck_assert_int_eq(run("quiet,name-one,add-output-said", &o, NULL, NULL), SURG_OK);
  char *text = slurp(log);
  ck_assert_ptr_nonnull(strstr(text, "{\"event\":\"run\",\"schema\":1,"));
  ck_assert_ptr_nonnull(strstr(text, "{\"event\":\"pass-begin\",\"pass\":\"quiet\",\"run\":1}\n"));
  ck_assert_ptr_nonnull(strstr(text,
                               "{\"event\":\"rename-node\",\"pass\":\"name-one\","
                               "\"graph\":\"main\",\"node\":\"node"));
  ck_assert_ptr_nonnull(strstr(text, "\"result\":\"changed\""));
  ck_assert_ptr_nonnull(strstr(text, "{\"event\":\"interface\",\"pass\":\"add-output-said\""));
  free(text);
  text = slurp(map);
  ck_assert_str_eq(text,
                   "{\"schema\":1,\n \"values\":[],\n \"nodes\":[]}\n"); /* "" has no old name */
  free(text);
  unlink(log);
  unlink(map);
  o.map_path = "/nonexistent/map";
  expect_failure("quiet", &o, SURG_EIO, "/nonexistent/map: error: cannot write: ");
  unlink(log);
  o = (surg__run_options){.log_path = "/dev/full"};
  expect_failure("quiet", &o, SURG_EIO, "/dev/full: error: cannot write: ");
}
END_TEST

START_TEST(report_texts) {
  surg__run_report report;
  surg__buf out;
  ck_assert_int_eq(run("repeat(name-one),quiet", NULL, &report, NULL), SURG_OK);
  surg__buf_init(&out, ctx);
  surg__run_report_print(&report, true, false, &out);
  ck_assert_ptr_nonnull(strstr(out.p, "name-one: 3 runs, 2 rewrites, changed, ulp\n  named: 2\n"));
  ck_assert_ptr_nonnull(strstr(out.p, "quiet: 1 run, 0 rewrites, unchanged\n"));
  surg__buf_free(&out);
  surg__run_report_json(&report, &out);
  ck_assert_ptr_nonnull(strstr(out.p, "{\"changed\":true,\"exactness\":\"ulp\""));
  ck_assert_ptr_nonnull(strstr(out.p, "\"counters\":{\"named\":2}"));
  surg__buf_free(&out);
  surg__run_report_free(&report);
}
END_TEST

START_TEST(running_survives_lack_of_memory) {
  surg__pipeline *p = parse("repeat(name-one),look,add-output-said");
  int refused = 0, done = 0;
  for (uint64_t room = 0; room < 40000; room += 256) {
    surg_model *m = make();
    surg__run_report report;
    surg__run_options o = {.verify_each = true,
                           .max_memory = surg_context_memory(ctx, NULL) + room};
    surg_status s = surg__run(&m, p, &o, &report);
    ck_assert_msg(s == SURG_OK || s == SURG_ELIMIT, "%d: %s", s, n_lines ? lines[0] : "");
    ck_assert_int_eq(m == NULL, s != SURG_OK);
    refused += s != SURG_OK;
    done += s == SURG_OK;
    surg__run_report_free(&report);
    surg_model_free(m);
  }
  surg__pipeline_free(p);
  ck_assert_int_gt(refused, 0);
  ck_assert_int_gt(done, 0);
}
END_TEST

TCase *runner_tests(void) {
  TCase *runner = tcase_create("runner");
  tcase_add_checked_fixture(runner, setup, teardown);
  tcase_set_timeout(runner, 60);
  tcase_add_test(runner, options_reach_the_pass);
  tcase_add_test(runner, pairs_reach_the_pass);
  tcase_add_test(runner, pairs_are_bounded);
  tcase_add_test(runner, empty_pipeline_changes_nothing);
  tcase_add_test(runner, repeat_runs_to_the_fixpoint);
  tcase_add_test(runner, consent);
  tcase_add_test(runner, repeat_stops_at_max);
  tcase_add_test(runner, rewrite_limit_leaves_work_undone);
  tcase_add_test(runner, skipping);
  tcase_add_test(runner, keeping);
  tcase_add_test(runner, misbehaving_passes);
  tcase_add_test(runner, what_is_said_may_be_done);
  tcase_add_test(runner, the_failing_pass_is_named);
  tcase_add_test(runner, dry_run_keeps_the_model);
  tcase_add_test(runner, timeouts);
  tcase_add_test(runner, printing_after);
  tcase_add_test(runner, log_and_map);
  tcase_add_test(runner, report_texts);
  tcase_add_test(runner, running_survives_lack_of_memory);
  return runner;
}
