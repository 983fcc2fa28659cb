/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg probe --import CMD -o T.target`: determines what an engine supports by running its
 * importer on small models. */
#include <errno.h>
#include <onnxsurg/probe.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli.h"
#include "run/run_cli.h"

static const char help[] =
    "usage: onnxsurg probe --import CMD [options] -o NAME.target\n"
    "Learns what an engine supports: runs its importer on models of one node, for\n"
    "every version, element type and form of every operator, and writes the answers\n"
    "as a target for check --target and repair --target. CMD runs without a shell.\n"
    "  --import CMD        command that imports the file {}; exit code 0: accepted.\n"
    "                      With {...} it gets many files at once and prints a line\n"
    "                      FILE<TAB>ok or FILE<TAB>MESSAGE for each. Or: ort, opencv\n"
    "                      (the packages of python3), npm:PACKAGE@VERSION\n"
    "  -o FILE             target file to write; its name becomes the target's name\n"
    "  --log FILE          write every question and answer, one per line\n"
    "  --inherit T         built-in target to build on; only differences are written\n"
    "  --ops A+B           ask about these operators only\n"
    "  --outputs           write inputs and expected outputs, too: input_K.pb and\n"
    "                      output_K.pb in FILE.data; CMD with {...} then prints\n"
    "                      FILE<TAB>differs: MESSAGE if it computes something else\n"
    "  --title TEXT        name of the engine, for people\n"
    "  --import-timeout S  time limit for one run of CMD, in seconds (60); a longer\n"
    "                      run counts as rejected\n"
    "  --import-memory N   memory limit for one run of CMD, such as 4GiB\n"
    "  --timeout S         stop asking after this time, and write what was learned\n"
    "  --quiet             print no counts at the end\n"
    "exit codes: 0 done, 2 usage error, 3 file error, 4 limit\n"
    "next: onnxsurg check --target ./NAME.target IN\n";

enum {
  OPT_IMPORT = OPT_OWN,
  OPT_INHERIT,
  OPT_TITLE,
  OPT_LOG,
  OPT_OPS,
  OPT_OUTPUTS,
  OPT_ASK_TIMEOUT,
  OPT_ASK_MEMORY
};

typedef struct job {
  surg_command_options limits;
  surg_probe_options how;
  const char *command, *inherit, *out, *log_name;
  uint64_t seconds;
  bool quiet;
  surg_context *ctx;
  surg_importer *im;
  surg_target *target; /* the target to inherit from */
  FILE *log;           /* log of answers; NULL: none */
} job;

/* Writes a line of the log: operator, version, question, answer. */
static void note(void *user, const surg_probe_answer *a) {
  const job *j = user;
  if (!j->log) return;
  fprintf(j->log, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", a->op ? a->op : "-", a->since, a->question,
          a->name, a->value, a->model ? a->model : "", a->accepted ? "ok" : a->message);
}

static void progress(void *user, size_t asked, size_t all) {
  static char doing[60];
  (void)user;
  snprintf(doing, sizeof doing, "asked of %zu of %zu", asked, all);
  cli_progress(doing);
}

static void print_counts(const job *j, const surg_probe_report *r) {
  fprintf(stderr, "%zu models: %zu accepted, %zu rejected\n", r->asked, r->accepted,
          r->asked - r->accepted);
  if (j->target)
    fprintf(stderr, "%s covers %zu of them, and is right about %zu\n", surg_target_name(j->target),
            r->known, r->right);
  if (r->left) fprintf(stderr, "onnxsurg: note: stopped; %zu more were not asked\n", r->left);
}

/* The name of a target: its file name without ".target". */
static void name_of(const char *path, char *out, size_t size) {
  snprintf(out, size, "%s", cli_base_name(path));
  const size_t n = strlen(out);
  if (n > 7 && !strcmp(out + n - 7, ".target")) out[n - 7] = 0;
}

static int run(job *j) {
  char name[256], *text = NULL;
  size_t n = 0;
  surg_probe_report report = {.size = sizeof report};
  name_of(j->out, name, sizeof name);
  cli_progress_start("asking");
  const surg_status s = surg_probe(j->im, name, &j->how, &text, &n, &report);
  cli_progress_stop();
  if (s != SURG_OK) return s == SURG_EINVALID ? EXIT_USAGE : cli_exit_code(s);
  if (!j->quiet) print_counts(j, &report);
  const int code = cli_exit_code(surg_file_write(j->ctx, j->out, text, n));
  surg_context_free_bytes(j->ctx, text);
  return code;
}

static int open_all(job *j) {
  surg_status s = j->inherit ? surg_target_open(j->ctx, j->inherit, &j->target) : SURG_OK;
  if (s == SURG_OK && j->log_name && !(j->log = surg__os_fopen(j->log_name, "w"))) {
    cli_error(NULL, "--log: %s", strerror(errno));
    return EXIT_IO;
  }
  if (s == SURG_OK) s = surg_importer_new(j->ctx, j->command, &j->limits, &j->im);
  j->how.inherit = j->target;
  return cli_exit_code(s);
}

static int take(void *user, int o, char *arg) {
  job *j = user;
  switch (o) {
    case 'o':
      j->out = arg;
      return EXIT_DONE;
    case OPT_IMPORT:
      j->command = arg;
      return EXIT_DONE;
    case OPT_INHERIT:
      j->inherit = arg;
      return EXIT_DONE;
    case OPT_TITLE:
      j->how.title = arg;
      return EXIT_DONE;
    case OPT_LOG:
      j->log_name = arg;
      return EXIT_DONE;
    case OPT_OPS:
      j->how.ops = arg;
      return EXIT_DONE;
    case OPT_OUTPUTS:
      j->how.outputs = true;
      return EXIT_DONE;
    case OPT_ASK_TIMEOUT:
      if (cli_number(arg, &j->limits.seconds)) return EXIT_DONE;
      return cli_usage("--import-timeout expects seconds");
    default: /* OPT_ASK_MEMORY */
      if (cli_number(arg, &j->limits.memory)) return EXIT_DONE;
      return cli_usage("--import-memory expects bytes");
  }
}

int cmd_probe(int argc, char **argv) {
  static const struct option options[] = {
      {"import", required_argument, NULL, OPT_IMPORT},
      {"inherit", required_argument, NULL, OPT_INHERIT},
      {"title", required_argument, NULL, OPT_TITLE},
      {"log", required_argument, NULL, OPT_LOG},
      {"ops", required_argument, NULL, OPT_OPS},
      {"outputs", no_argument, NULL, OPT_OUTPUTS},
      {"import-timeout", required_argument, NULL, OPT_ASK_TIMEOUT},
      {"import-memory", required_argument, NULL, OPT_ASK_MEMORY},
      CLI_COMMON_OPTIONS,
      {0}};
  cli_common common;
  job j = {.limits = {.size = sizeof j.limits, .cancel = cli_interrupted},
           .how = {.size = sizeof j.how, .progress = progress, .answer = note, .user = &j}};
  int code;
  const cli_command command = {options, "o:", help, take, &j, &common, true};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (!j.command || !j.out || argc != optind)
    return cli_usage("probe needs --import CMD and -o NAME.target");
  if (cli_check_folder(j.out) != EXIT_DONE) return EXIT_IO;
  j.ctx = cli_context(&common);
  j.quiet = common.quiet;
  j.how.timeout_ms = cli_milliseconds(common.timeout_seconds);
  cli_stop_on_signals();
  code = j.ctx ? open_all(&j) : EXIT_LIMIT;
  if (code == EXIT_DONE) code = run(&j);
  if (j.log && fclose(j.log) && code == EXIT_DONE) code = EXIT_IO;
  surg_importer_free(j.im);
  surg_target_free(j.target);
  surg_context_free(j.ctx);
  return cli_flush(code);
}
