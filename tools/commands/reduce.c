/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg reduce --test CMD IN OUT`: finds a small part of the model for which CMD still exits
 * with the same code as for IN. */
#include <onnxsurg/command.h>
#include <onnxsurg/reduce.h>
#include <onnxsurg/weights.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "base/os/program.h"

#include "cli.h"

#define TEST_SECONDS 60
#define PATH_BYTES 4096u

static const char help[] =
    "usage: onnxsurg reduce --test CMD [OPTION...] IN OUT\n"
    "Reduces IN while CMD exits with the same code as for IN. The path of a candidate\n"
    "replaces {} in CMD, or is its last argument. CMD runs without a shell; its\n"
    "output is not printed.\n"
    "\n"
    "  --code N            exit code to keep, instead of the one for IN\n"
    "  --test-timeout S    time limit for one run of CMD, in seconds (60)\n"
    "  --test-memory N     memory limit for one run of CMD\n"
    "  --timeout S         stop after S seconds (Ctrl-C stops at once): OUT is the\n"
    "                      smallest model so far\n"
    "  --shrink            also replace weights by inputs, make sizes of inputs 1,\n"
    "                      and convert to the oldest opset possible (at least 7)\n"
    "  --strip             replace weights of OUT by digests (`onnxsurg restore`)\n" CLI_SIZE_HELP
    "  --json              report as JSON on standard output\n"
    "\n"
    "  onnxsurg reduce --test 'python3 crashes.py' big.onnx small.onnx\n";

typedef struct reduction {
  surg_context *ctx, *printer; /* the second one prints diagnostics */
  const char *test;            /* argument of --test */
  surg_command_options limits;
  surg_command *command;
  int code;        /* exit code that reproduces the problem */
  bool has_code;   /* `code` is valid: from --code or from the first test */
  bool tested;     /* the first test, of the whole model, is done */
  char *candidate; /* path of the model under test */
  bool quiet, strip, shrink;
  cli_fixed fixed;
  int failed; /* exit code of a failure whose error is printed */
} reduction;

/* Evaluates the first test, which runs on the whole model. */
static bool first_test(reduction *r, int code) {
  r->tested = true;
  if (cli_interrupted(NULL)) {
    cli_error(NULL, "interrupted in the first test; nothing is written");
    r->failed = EXIT_LIMIT;
  } else if (code == SURG_COMMAND_ENDED && !r->has_code) {
    cli_error(NULL,
              "--test runs over %llu seconds on the whole model; give it more with --test-timeout",
              (unsigned long long)r->limits.seconds);
    r->failed = EXIT_LIMIT;
  } else if (r->has_code && code != r->code) {
    cli_error(NULL, "--test exits with %d on the whole model, not %d (--code)", code, r->code);
    r->failed = EXIT_USAGE;
  } else {
    r->code = code;
  }
  return !r->failed;
}

/* Whether the problem is still reproduced with model m; a surg_reduce_test. */
static bool test(void *user, surg_model *m) {
  reduction *r = user;
  const surg_save_options save = {.size = sizeof save, .no_fsync = true};
  const bool first = !r->tested;
  int code;
  surg_status s = surg_model_save(m, r->candidate, &save);
  if (s != SURG_OK && first && surg_context_error(r->ctx))
    cli_error_line(surg_context_error(r->ctx));
  if (s == SURG_OK) s = surg_command_run(r->command, r->candidate, &code);
  if (s != SURG_OK) {
    if (first) r->failed = cli_exit_code(s);
    return false;
  }
  return first ? first_test(r, code) : code == r->code && !cli_interrupted(NULL);
}

static void progress(void *user, size_t nodes, size_t tests) {
  const reduction *r = user;
  if (!r->quiet && surg__os_is_terminal(fileno(stderr)))
    fprintf(stderr, "\r%zu nodes, %zu tests  ", nodes, tests);
}

static void tell(const reduction *r, const cli_common *common, const surg_reduce_report *done) {
  const bool terminal = !r->quiet && surg__os_is_terminal(fileno(stderr));
  if (terminal) fputs("\r\033[K", stderr);
  if (done->stopped && !r->quiet)
    fprintf(stderr, "onnxsurg: note: stopped; OUT is the smallest model so far\n");
  if (common->json)
    printf("{\"schema\": 1, \"before\": %zu, \"after\": %zu, \"tests\": %zu, \"code\": %d}\n",
           done->before, done->after, done->tests, r->code);
  if (common->summary || terminal)
    fprintf(stderr, "%zu nodes -> %zu after %zu tests (exit code %d kept)\n", done->before,
            done->after, done->tests, r->code);
}

/* Returns EXIT_DONE, or another exit code after printing an error. */
static int reduce(reduction *r, const cli_common *common, char **args) {
  const surg_reduce_options options = {.size = sizeof options,
                                       .timeout_ms = cli_milliseconds(common->timeout_seconds),
                                       .cancel = cli_interrupted,
                                       .progress = progress,
                                       .user = r,
                                       .shrink = r->shrink};
  surg_reduce_report done = {.size = sizeof done};
  surg_model *m = NULL;
  surg_status s = cli_load_whole(r->ctx, common, args[0], &m);
  if (s == SURG_OK) r->failed = cli_fixed_apply(r->ctx, &m, &r->fixed);
  if (r->failed && surg_context_error(r->ctx)) cli_error_line(surg_context_error(r->ctx));
  if (r->failed) s = SURG_EUSAGE;
  if (s == SURG_OK) s = surg_reduce(&m, test, r, &options, &done);
  if (s == SURG_OK) {
    tell(r, common, &done);
    const surg_save_options save = {.size = sizeof save};
    if (r->strip) s = surg_weights_strip(m, 0, NULL);
    if (s == SURG_OK) s = surg_model_save(m, args[1], &save);
  }
  if (s != SURG_OK && !r->failed && surg_context_error(r->ctx))
    cli_error_line(surg_context_error(r->ctx));
  surg_model_free(m);
  return r->failed ? r->failed : cli_exit_code(s);
}

/* Drops diagnostics: invalid candidates are expected, so their errors are not printed. */
static void swallow(void *user, surg_severity severity, const char *line) {
  (void)user;
  (void)severity;
  (void)line;
}

static int run(reduction *r, const cli_common *common, char **args) {
  surg_config config = {.size = sizeof config, .diag = swallow, .max_memory = common->max_memory};
  char folder[PATH_BYTES - 32], path[PATH_BYTES];
  r->ctx = surg_context_new(&config);
  if (!r->ctx) return cli_no_memory();
  int code = cli_schemas(r->ctx, common) == EXIT_DONE ? EXIT_DONE : EXIT_USAGE;
  const int e =
      code == EXIT_DONE ? surg__os_temp_folder("onnxsurg-reduce", folder, sizeof folder) : 0;
  if (e) {
    cli_error(NULL, "no temporary folder in $TMPDIR: %s", strerror(e));
    code = EXIT_IO;
  }
  if (code == EXIT_DONE) {
    snprintf(path, sizeof path, "%s/candidate.onnx", folder);
    r->candidate = path;
    code = reduce(r, common, args);
    surg__os_unlink(path);
    snprintf(path, sizeof path, "%s/candidate.onnx.data", folder);
    surg__os_unlink(path);
    surg__os_remove_folder(folder);
  }
  surg_context_free(r->ctx);
  return cli_flush(code);
}

enum { OPT_TEST = OPT_OWN, OPT_TEST_TIMEOUT, OPT_TEST_MEMORY, OPT_CODE, OPT_STRIP, OPT_SHRINK };

static int take(void *user, int o, char *arg) {
  reduction *r = user;
  uint64_t n;
  switch (o) {
    case OPT_TEST:
      r->test = arg;
      return EXIT_DONE;
    case OPT_TEST_TIMEOUT:
      if (cli_number(arg, &r->limits.seconds)) return EXIT_DONE;
      return cli_usage("--test-timeout expects seconds");
    case OPT_TEST_MEMORY:
      if (cli_number(arg, &r->limits.memory)) return EXIT_DONE;
      return cli_usage("--test-memory expects bytes");
    case OPT_SHRINK:
      r->shrink = true;
      return EXIT_DONE;
    case OPT_STRIP:
      r->strip = true;
      return EXIT_DONE;
    case OPT_FIX_DIM:
    case OPT_FIX_SHAPE:
      return cli_fixed_take(&r->fixed, o, arg);
    default: /* OPT_CODE */
      if (!cli_number(arg, &n) || n > 255) return cli_usage("--code expects 0 to 255");
      r->has_code = true;
      r->code = (int)n;
      return EXIT_DONE;
  }
}

static int with_context(reduction *r, const cli_common *common, char **files) {
  cli_stop_on_signals();
  r->limits.cancel = cli_interrupted;
  r->printer = cli_context(common);
  if (!r->printer) return EXIT_LIMIT;
  int code = cli_exit_code(surg_command_new(r->printer, r->test, &r->limits, &r->command));
  if (code == EXIT_DONE) code = run(r, common, files);
  surg_command_free(r->command);
  surg_context_free(r->printer);
  return code;
}

int cmd_reduce(int argc, char **argv) {
  static const struct option options[] = {
      {"test", required_argument, NULL, OPT_TEST},
      {"test-timeout", required_argument, NULL, OPT_TEST_TIMEOUT},
      {"test-memory", required_argument, NULL, OPT_TEST_MEMORY},
      {"code", required_argument, NULL, OPT_CODE},
      {"shrink", no_argument, NULL, OPT_SHRINK},
      {"strip", no_argument, NULL, OPT_STRIP},
      CLI_SIZE_OPTIONS,
      CLI_COMMON_OPTIONS,
      {0}};
  cli_common common;
  reduction r = {.limits = {.size = sizeof r.limits, .seconds = TEST_SECONDS}};
  int code;
  const cli_command command = {options, NULL, help, take, &r, &common, true};
  if (!cli_options(argc, argv, &command, &code)) return code;
  r.quiet = common.quiet;
  code = !r.test              ? cli_usage("reduce needs --test CMD")
         : argc - optind != 2 ? cli_usage("reduce expects IN and OUT")
                              : cli_check_folder(argv[optind + 1]);
  if (code == EXIT_DONE) code = with_context(&r, &common, argv + optind);
  cli_fixed_free(&r.fixed);
  return code;
}
