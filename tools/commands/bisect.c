/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg bisect IN`: which rewrite of a pipeline changes results, makes an importer reject the
 * model, or makes a command fail. */
#include <onnxsurg/bisect.h>
#include <onnxsurg/command.h>
#include <onnxsurg/compare.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "diff/diff_report.h"

#define TEST_SECONDS 60
#define PATH_BYTES 4096u
#define MOST_SHOWN 20u

static const char help[] =
    "usage: onnxsurg bisect [--pass PIPELINE] [OPTION...] IN\n"
    "Finds the first rewrite of a pipeline (simplify) after which results differ from\n"
    "those of IN, and prints its pass and what it changed. Exit code 0: found; 1: IN\n"
    "itself fails the test, or the result of the whole pipeline passes it.\n"
    "\n"
    "  --pass PIPELINE     the pipeline, as for `onnxsurg --pass`\n"
    "  --rules FILE        load rewrite rules; without --pass, only they run\n"
    "  --import COMMAND    instead of results: whether the importer accepts the model\n"
    "                      (ort, opencv, or a command; see `onnxsurg probe --help`)\n"
    "  --test CMD          instead of results: whether CMD exits with 0; the path of\n"
    "                      the model replaces {}, or is the last argument\n"
    "  --test-timeout S    time limit for one run of CMD, in seconds (60)\n"
    "  --before FILE       write the last model that passes\n"
    "  --after FILE        write the first model that fails\n"
    "  --allow CLASS       permit rewrites up to this class (see `onnxsurg --help`)\n"
    "  --rtol X, --atol X  tolerances of results (1e-3, 1e-5)\n"
    "  --seed N            the first seed of the inputs (1)\n"
    "  --json              print JSON\n";

enum {
  OPT_PASS = OPT_OWN,
  OPT_IMPORT,
  OPT_TEST,
  OPT_TEST_TIMEOUT,
  OPT_BEFORE,
  OPT_AFTER,
  OPT_ALLOW,
  OPT_RTOL,
  OPT_ATOL,
  OPT_SEED,
  OPT_RULES
};

typedef struct job {
  cli_common common;
  surg_context *ctx;
  surg_model *m; /* IN */
  const char *pipeline, *import, *test, *before, *after;
  surg_command_options limits;
  surg_command *command;
  surg_importer *importer;
  char candidate[PATH_BYTES]; /* for --test */
  surg_run_options run;
  surg_tolerance tolerance;
  uint64_t seed;
  cli_words rules;
  int failed; /* exit code of a failure in a test, whose error is printed */
} job;

static int take_allow(job *j, const char *arg) {
  surg_exactness e;
  if (!surg_exactness_from_name(arg, &e))
    return cli_usage("--allow expects exact, ulp, rounding, approx or lossy");
  j->run.has_allow = true;
  j->run.allow = e;
  return EXIT_DONE;
}

static int take(void *user, int o, char *arg) {
  job *j = user;
  const char **const words[] = {&j->pipeline, &j->import, &j->test};
  switch (o) {
    case OPT_PASS:
    case OPT_IMPORT:
    case OPT_TEST:
      *words[o - OPT_PASS] = arg;
      return EXIT_DONE;
    case OPT_RULES:
      return cli_words_take(&j->rules, arg);
    case OPT_BEFORE:
      j->before = arg;
      return EXIT_DONE;
    case OPT_AFTER:
      j->after = arg;
      return EXIT_DONE;
    case OPT_TEST_TIMEOUT:
      if (cli_number(arg, &j->limits.seconds)) return EXIT_DONE;
      return cli_usage("--test-timeout expects seconds");
    case OPT_ALLOW:
      return take_allow(j, arg);
    case OPT_RTOL:
      return cli_real(arg, &j->tolerance.relative) ? EXIT_DONE
                                                   : cli_usage("--rtol expects a number");
    case OPT_ATOL:
      return cli_real(arg, &j->tolerance.absolute) ? EXIT_DONE
                                                   : cli_usage("--atol expects a number");
    default: /* OPT_SEED */
      return cli_number(arg, &j->seed) ? EXIT_DONE : cli_usage("--seed expects a number");
  }
}

/* --- tests --- */

static bool fail(job *j, surg_status s) {
  if (j->failed == EXIT_DONE) j->failed = cli_exit_code(s);
  return false;
}

static bool same_results(job *j, surg_model *m) {
  const surg_compare_options o = {.size = sizeof o, .tolerance = &j->tolerance, .seed = j->seed};
  surg_compare_report *report = NULL;
  surg_compare_summary sum = {.size = sizeof sum};
  surg_status s = surg_compare(j->m, m, &o, &report);
  if (s == SURG_OK) s = surg_compare_get(report, &sum);
  const bool idle = s == SURG_OK && sum.checked == 0;
  if (idle && j->failed == EXIT_DONE) {
    cli_error(surg_model_path(j->m), "results cannot be compared: %s (--test CMD judges otherwise)",
              sum.skip_why);
    j->failed = EXIT_MODEL;
  }
  /* Equal numbers in all runs are no difference, even where they prove nothing. */
  bool same = s == SURG_OK && !idle && !*sum.failure;
  surg_compare_result r = {.size = sizeof r};
  for (size_t i = 0; same && surg_compare_output(report, i, &r) == SURG_OK; i++) same = !r.differs;
  surg_compare_free(report);
  return s == SURG_OK ? same : fail(j, s);
}

static bool imports(job *j, surg_model *m) {
  bool accepted = false;
  const surg_status s = surg_importer_ask(j->importer, m, &accepted, NULL);
  return s == SURG_OK ? accepted : fail(j, s);
}

static bool command_passes(job *j, surg_model *m) {
  const surg_save_options save = {.size = sizeof save, .no_fsync = true};
  int code = 0;
  surg_status s = surg_model_save(m, j->candidate, &save);
  if (s == SURG_OK) s = surg_command_run(j->command, j->candidate, &code);
  return s == SURG_OK ? code == 0 : fail(j, s);
}

static bool passes(void *user, surg_model *m) {
  job *j = user;
  return j->test ? command_passes(j, m) : j->import ? imports(j, m) : same_results(j, m);
}

/* --- output --- */

static json_t *found_json(const surg_bisect_summary *sum) {
  return json_pack("{s:{s:I, s:I, s:o, s:o, s:I}}", "bisect", "rewrite", (json_int_t)sum->first,
                   "rewrites", (json_int_t)sum->rewrites, "pass", cli_text_json(sum->pass), "rule",
                   *sum->rule ? cli_text_json(sum->rule) : json_null(), "tests",
                   (json_int_t)sum->tests);
}

static surg_status show(const job *j, const surg_bisection *b) {
  surg_bisect_summary sum = {.size = sizeof sum};
  surg_diff *d = NULL;
  surg_bisection_get(b, &sum);
  const surg_status s =
      surg_diff_new(surg_bisection_model(b, false), surg_bisection_model(b, true), NULL, &d);
  const diff_view view = {
      .diff = d,
      .paths = {j->before ? j->before : "before", j->after ? j->after : "after"},
      .most = MOST_SHOWN};
  if (s == SURG_OK && j->common.json) {
    diff_print_json(&view, found_json(&sum));
  } else if (s == SURG_OK) {
    if (sum.first)
      printf("rewrite %llu of %llu, of pass %s%s%s:\n", (unsigned long long)sum.first,
             (unsigned long long)sum.rewrites, sum.pass, *sum.rule ? ", rule " : "", sum.rule);
    else
      printf("the pipeline changes the model without a rewrite:\n");
    diff_print_text(&view);
  }
  surg_diff_free(d);
  return s;
}

static surg_status save_both(const job *j, const surg_bisection *b) {
  const surg_save_options save = {.size = sizeof save};
  surg_status s = SURG_OK;
  if (j->before) s = surg_model_save(surg_bisection_model(b, false), j->before, &save);
  if (s == SURG_OK && j->after) s = surg_model_save(surg_bisection_model(b, true), j->after, &save);
  return s;
}

static void progress(void *user, uint64_t rewrites, bool passed) {
  const job *j = user;
  if (!j->common.quiet && !j->common.json)
    fprintf(stderr, "%llu rewrites: %s\n", (unsigned long long)rewrites,
            passed ? "passes" : "fails");
}

/* Reports that no result can be compared: a search would call that a failed test. */
static int require_results(job *j) {
  if (!j->test && !j->import) same_results(j, j->m);
  return j->failed;
}

static int search(job *j) {
  const surg_bisect_options o = {
      .size = sizeof o, .run = &j->run, .cancel = cli_interrupted, .progress = progress, .user = j};
  surg_bisection *b = NULL;
  if (require_results(j) != EXIT_DONE) return j->failed;
  surg_status s = surg_bisect(j->m, j->pipeline, passes, j, &o, &b);
  if (j->failed == EXIT_DONE && s == SURG_ENOTFOUND && !j->common.quiet)
    printf("the result of the whole pipeline passes the test\n");
  if (j->failed == EXIT_DONE && s == SURG_OK) s = show(j, b);
  if (j->failed == EXIT_DONE && s == SURG_OK) s = save_both(j, b);
  surg_bisection_free(b);
  return j->failed ? j->failed : cli_exit_code(s);
}

static int open_test(job *j, char *folder, size_t room) {
  j->limits.cancel = cli_interrupted;
  if (j->import)
    return cli_exit_code(surg_importer_new(j->ctx, j->import, &j->limits, &j->importer));
  if (!j->test) return EXIT_DONE;
  const int code = cli_exit_code(surg_command_new(j->ctx, j->test, &j->limits, &j->command));
  if (code != EXIT_DONE) return code;
  const int e = surg__os_temp_folder("onnxsurg-bisect", folder, room);
  if (e) {
    cli_error(NULL, "no temporary folder in $TMPDIR: %s", strerror(e));
    return EXIT_IO;
  }
  snprintf(j->candidate, sizeof j->candidate, "%s/candidate.onnx", folder);
  return EXIT_DONE;
}

static void close_test(job *j, const char *folder) {
  surg_command_free(j->command);
  surg_importer_free(j->importer);
  if (!*folder) return;
  surg__os_unlink(j->candidate);
  snprintf(j->candidate, sizeof j->candidate, "%s/candidate.onnx.data", folder);
  surg__os_unlink(j->candidate);
  surg__os_remove_folder(folder);
}

static int load_rules(job *j) {
  int code = EXIT_DONE;
  for (size_t i = 0; code == EXIT_DONE && i < j->rules.n; i++)
    code = cli_rules_load(j->ctx, j->rules.items[i]);
  if (!j->pipeline) j->pipeline = j->rules.n ? "rewrite" : "simplify";
  return code;
}

int cmd_bisect(int argc, char **argv) {
  static const struct option options[] = {
      {"pass", required_argument, NULL, OPT_PASS},
      {"import", required_argument, NULL, OPT_IMPORT},
      {"test", required_argument, NULL, OPT_TEST},
      {"test-timeout", required_argument, NULL, OPT_TEST_TIMEOUT},
      {"before", required_argument, NULL, OPT_BEFORE},
      {"after", required_argument, NULL, OPT_AFTER},
      {"allow", required_argument, NULL, OPT_ALLOW},
      {"rtol", required_argument, NULL, OPT_RTOL},
      {"atol", required_argument, NULL, OPT_ATOL},
      {"seed", required_argument, NULL, OPT_SEED},
      {"rules", required_argument, NULL, OPT_RULES},
      CLI_COMMON_OPTIONS,
      {0}};
  job j = {.limits = {.size = sizeof j.limits, .seconds = TEST_SECONDS},
           .run = {.size = sizeof j.run},
           .tolerance = {.size = sizeof j.tolerance, .relative = 1e-3, .absolute = 1e-5},
           .seed = 1};
  char folder[PATH_BYTES - 32] = "";
  int code;
  const cli_command command = {options, NULL, help, take, &j, &j.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (argc - optind != 1) return cli_usage("bisect expects one model: `onnxsurg bisect IN`");
  if (j.import && j.test) return cli_usage("--import and --test exclude each other");
  cli_stop_on_signals();
  j.ctx = cli_context(&j.common);
  if (!j.ctx) return EXIT_LIMIT;
  code = load_rules(&j);
  if (code == EXIT_DONE)
    code = cli_exit_code(cli_load_whole(j.ctx, &j.common, argv[optind], &j.m));
  if (code == EXIT_DONE) code = open_test(&j, folder, sizeof folder);
  if (code == EXIT_DONE) code = search(&j);
  close_test(&j, folder);
  surg_model_free(j.m);
  surg_context_free(j.ctx);
  free(j.rules.items);
  return cli_flush(code);
}
