/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg diff A B`: what two models have in common and where they differ. */
#include <onnxsurg/diff.h>
#include <string.h>

#include "diff_report.h"
#include "diff_run.h"
#include "patch_text.h"

#define MOST_SHOWN 100u

static const char help[] =
    "usage: onnxsurg diff [OPTION]... A B\n"
    "Compares two models by structure, then by names, then by weights, and prints\n"
    "what was removed (-), added (+) and changed (~). Models that differ only in\n"
    "names are the same. Exit code 0: the same up to names; 1: different; 6: the\n"
    "same in all that was compared, but something was not compared.\n"
    "\n"
    "  --names             list nodes, values and dimensions whose names differ\n"
    "  --all               list names and what does not affect results: doc strings,\n"
    "                      declared types of inner values, order of nodes\n"
    "  --strict            exit code 1 also for what --all lists\n"
    "  --read N            read at most N bytes of weights (1GiB); weights that both\n"
    "                      models store at the same place of one file are equal and\n"
    "                      not read\n"
    "  --no-weights        read no weights\n"
    "  --most N            differences that the text and the page list (100)\n"
    "  --html FILE         write a page without references to other files\n"
    "  --patch FILE        write a patch: `onnxsurg patch A FILE OUT` makes B; with\n"
    "                      --json, - puts it into the JSON, which `patch` reads, too\n"
    "  --log FILE          log that `onnxsurg --log` wrote when it made B from A:\n"
    "                      name the pass and the rule of each difference\n"
    "  --run               run both on the same inputs, and name the first value that\n"
    "                      differs; with --input, --inputs, --fill, --seed, --dim,\n"
    "                      --rtol, --atol and --ulp as of `onnxsurg verify`\n"
    "  --json              print JSON\n"
    "  --sarif             print SARIF, for viewers of code\n";

enum {
  OPT_NAMES = OPT_OWN,
  OPT_ALL,
  OPT_STRICT,
  OPT_READ,
  OPT_NO_WEIGHTS,
  OPT_MOST,
  OPT_HTML,
  OPT_PATCH,
  OPT_RUN,
  OPT_LOG,
  OPT_SARIF
};

typedef struct job {
  cli_common common;
  surg_diff_options o;
  diff_view view;
  bool strict, sarif, run, how_given;
  const char *html, *patch, *log;
  cli_run how;
  diff_runs runs;
} job;

static int take(void *user, int o, char *arg) {
  job *j = user;
  switch (o) {
    case OPT_NAMES:
      j->view.names = true;
      return EXIT_DONE;
    case OPT_ALL:
      j->view.names = j->view.remarks = true;
      return EXIT_DONE;
    case OPT_STRICT:
      j->strict = true;
      return EXIT_DONE;
    case OPT_READ:
      if (cli_number(arg, &j->o.read_limit) && j->o.read_limit) return EXIT_DONE;
      return cli_usage("--read expects bytes, such as 20GiB; --no-weights reads none");
    case OPT_NO_WEIGHTS:
      j->o.no_weights = true;
      return EXIT_DONE;
    case OPT_MOST:
      if (cli_number(arg, &j->view.most)) return EXIT_DONE;
      return cli_usage("--most expects a number");
    case OPT_HTML:
      j->html = arg;
      return EXIT_DONE;
    case OPT_PATCH:
      j->patch = arg;
      return EXIT_DONE;
    case OPT_RUN:
      j->run = true;
      return EXIT_DONE;
    case OPT_LOG:
      j->log = arg;
      return EXIT_DONE;
    case OPT_SARIF:
      j->sarif = true;
      return EXIT_DONE;
    default:
      j->how_given = true;
      return cli_run_option(&j->how, o, arg);
  }
}

static int verdict(const job *j) {
  surg_diff_summary s = {.size = sizeof s};
  surg_diff_get(j->view.diff, &s);
  if (s.edits || (j->strict && (s.names || s.remarks))) return EXIT_MODEL;
  return s.unknown ? EXIT_UNKNOWN : EXIT_DONE;
}

static int show(const job *j) {
  int code = verdict(j);
  if (j->common.json)
    diff_print_json(&j->view, j->run ? diff_run_json(&j->runs) : NULL);
  else if (j->sarif)
    diff_print_sarif(&j->view, code);
  else if (!j->common.quiet)
    diff_print_text(&j->view);
  if (j->run && !j->common.json && !j->sarif) diff_run_print(&j->runs);
  const int wrote = j->html ? diff_write_html(&j->view, j->html) : EXIT_DONE;
  if (cli_text_failed()) return cli_no_memory();
  return wrote != EXIT_DONE ? wrote : code;
}

static int compare(job *j, surg_context *ctx, char **args) {
  surg_model *m[2] = {NULL, NULL};
  surg_diff *d = NULL;
  surg_status s = cli_load_any(ctx, &j->common, args[0], &m[0]);
  if (s == SURG_OK) s = cli_load_any(ctx, &j->common, args[1], &m[1]);
  if (s == SURG_OK) s = surg_diff_new(m[0], m[1], &j->o, &d);
  if (s == SURG_OK && j->patch && strcmp(j->patch, "-") == 0)
    j->view.patch = patch_text_make(m[0], m[1], &s);
  else if (s == SURG_OK && j->patch)
    s = surg_patch_make(m[0], m[1], j->patch);
  j->view.diff = d;
  j->view.paths[0] = args[0];
  j->view.paths[1] = args[1];
  int code = cli_exit_code(s);
  if (code == EXIT_DONE && j->log) code = diff_log_load(&j->view.log, j->log);
  if (code == EXIT_DONE && j->run) code = diff_run(ctx, m, d, &j->how, &j->common, &j->runs);
  if (code == EXIT_DONE) code = show(j);
  surg_diff_free(d);
  diff_log_free(&j->view.log);
  json_decref(j->view.patch);
  for (int k = 0; k < 2; k++) surg_model_free(m[k]);
  return code;
}

static int check_options(job *j, int models) {
  if (models != 2) return cli_usage("diff expects two models: `onnxsurg diff A B`");
  if (j->sarif && j->common.json) return cli_usage("--json and --sarif exclude each other");
  if (j->patch && strcmp(j->patch, "-") == 0 && !j->common.json)
    return cli_usage("--patch - needs --json: the patch is a part of it");
  if (j->how_given && !j->run) return cli_usage("options of runs are for --run");
  if (j->run && !j->common.max_memory) j->common.max_memory = CLI_RUN_MEMORY;
  return EXIT_DONE;
}

int cmd_diff(int argc, char **argv) {
  static const struct option options[] = {{"names", no_argument, NULL, OPT_NAMES},
                                          {"all", no_argument, NULL, OPT_ALL},
                                          {"strict", no_argument, NULL, OPT_STRICT},
                                          {"read", required_argument, NULL, OPT_READ},
                                          {"no-weights", no_argument, NULL, OPT_NO_WEIGHTS},
                                          {"most", required_argument, NULL, OPT_MOST},
                                          {"html", required_argument, NULL, OPT_HTML},
                                          {"patch", required_argument, NULL, OPT_PATCH},
                                          {"run", no_argument, NULL, OPT_RUN},
                                          {"log", required_argument, NULL, OPT_LOG},
                                          {"sarif", no_argument, NULL, OPT_SARIF},
                                          CLI_RUN_OPTIONS,
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  job j = {.o = {.size = sizeof j.o}, .view = {.most = MOST_SHOWN}};
  int code;
  cli_run_init(&j.how);
  const cli_command command = {options, NULL, help, take, &j, &j.common};
  if (cli_options(argc, argv, &command, &code)) {
    code = check_options(&j, argc - optind);
    surg_context *ctx = code == EXIT_DONE ? cli_context(&j.common) : NULL;
    if (code == EXIT_DONE) code = ctx ? compare(&j, ctx, argv + optind) : EXIT_LIMIT;
    surg_context_free(ctx);
  }
  cli_run_free(&j.how);
  return cli_flush(code);
}
