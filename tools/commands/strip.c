/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg strip` and `onnxsurg restore`: weights replaced by digests, and back. */
#include <onnxsurg/weights.h>
#include <string.h>

#include "base/os/program.h"
#include "cli.h"

static const char strip_help[] =
    "usage: onnxsurg strip [OPTION]... IN OUT\n"
    "Replaces weights by a digest, their range and their spread: OUT is a few KiB. It\n"
    "can be inspected, checked and edited, but not run until `onnxsurg restore` fills\n"
    "in the weights.\n"
    "\n"
    "  --threshold N       keep tensors below N bytes (256)\n"
    "  --no-fsync          do not wait until the disk has the data\n"
    "  --summary, --quiet  always or never print what was replaced (default: on a\n"
    "                      terminal)\n"
    "  --json              print it as JSON\n";

static const char restore_help[] =
    "usage: onnxsurg restore [OPTION]... IN OUT\n"
    "Fills in the elements of weights that `onnxsurg strip` replaced.\n"
    "\n"
    "  --from MODEL        copy from tensors of MODEL with the same digest, type and\n"
    "                      shape\n"
    "  --draw              generate random elements where MODEL has none, with the\n"
    "                      range and spread of the original ones\n"
    "  --seed N            seed for --draw (0)\n"
    "  --external-data NAME\n"
    "                      write large weights to file NAME in the folder of OUT\n"
    "  --no-fsync          do not wait until the disk has the data\n"
    "  --summary, --quiet  always or never print what was restored (default: on a\n"
    "                      terminal)\n"
    "  --json              print it as JSON\n";

enum { OPT_THRESHOLD = OPT_OWN, OPT_FROM, OPT_DRAW, OPT_SEED, OPT_EXTERNAL_DATA, OPT_NO_FSYNC };

typedef struct stripping {
  cli_common common;
  surg_save_options save;
  surg_restore_options how;
  uint64_t threshold;
  const char *from;
  bool restore;
} stripping;

static int take(void *user, int o, char *arg) {
  stripping *j = user;
  switch (o) {
    case OPT_THRESHOLD:
      if (cli_number(arg, &j->threshold) && j->threshold) return EXIT_DONE;
      return cli_usage("--threshold expects bytes, such as 1KiB");
    case OPT_FROM:
      j->from = arg;
      return EXIT_DONE;
    case OPT_DRAW:
      j->how.draw = true;
      return EXIT_DONE;
    case OPT_SEED:
      return cli_number(arg, &j->how.seed) ? EXIT_DONE : cli_usage("--seed expects a number");
    case OPT_NO_FSYNC:
      j->save.no_fsync = true;
      return EXIT_DONE;
    default: /* OPT_EXTERNAL_DATA */
      return cli_take_external(&j->save, arg);
  }
}

static void report(const stripping *j, const char *out, const surg_weights_report *r) {
  const char *what = j->restore ? "restored" : "stripped";
  if (j->common.json)
    cli_print_json(json_pack("{s:i,s:o,s:I,s:I,s:I,s:I}", "schema", 1, "out", cli_text_json(out),
                             "tensors", (json_int_t)r->tensors, "bytes", (json_int_t)r->bytes,
                             "original", (json_int_t)r->equal, "skipped", (json_int_t)r->skipped));
  if (j->common.quiet || !(j->common.summary || surg__os_is_terminal(fileno(stderr)))) return;
  cli_put(stderr, out);
  fprintf(stderr, ": %llu tensor%s %s, %s", (unsigned long long)r->tensors,
          r->tensors == 1 ? "" : "s", what, cli_bytes(r->bytes));
  if (j->restore && r->equal < r->tensors)
    fprintf(stderr, "; %llu drawn", (unsigned long long)(r->tensors - r->equal));
  if (r->skipped) fprintf(stderr, "; %llu not available", (unsigned long long)r->skipped);
  fputc('\n', stderr);
}

static surg_status run(const stripping *j, surg_context *ctx, char **args) {
  surg_model *m = NULL, *original = NULL;
  surg_weights_report r = {.size = sizeof r};
  cli_common quiet = j->common;
  quiet.quiet = true;
  surg_status s = cli_load(ctx, &j->common, args[0], &m);
  if (s == SURG_OK && j->from) s = cli_load_any(ctx, &quiet, j->from, &original);
  if (s == SURG_OK)
    s = j->restore ? surg_weights_restore(m, original, &j->how, &r)
                   : surg_weights_strip(m, j->threshold, &r);
  if (s == SURG_OK) s = surg_model_save(m, args[1], &j->save);
  if (s == SURG_OK) report(j, args[1], &r);
  surg_model_free(original);
  surg_model_free(m);
  return s;
}

static int start(int argc, char **argv, stripping *j, const struct option *options,
                 const char *help) {
  int code;
  j->save.size = sizeof j->save;
  j->how.size = sizeof j->how;
  const cli_command command = {options, NULL, help, take, j, &j->common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  char **args = argv + optind;
  if (argc - optind != 2) return cli_usage("%s expects IN and OUT", argv[0]);
  if (j->restore && !j->from && !j->how.draw)
    return cli_usage("restore expects --from MODEL, --draw, or both");
  if (j->common.json && strcmp(args[1], "-") == 0) return cli_stdout_twice("--json");
  code = cli_check_folder(args[1]);
  if (code != EXIT_DONE) return code;
  surg_context *ctx = cli_context(&j->common);
  if (!ctx) return EXIT_LIMIT;
  const surg_status s = run(j, ctx, args);
  if (s != SURG_OK && !surg_context_error(ctx)) cli_error(NULL, "%s", surg_status_name(s));
  surg_context_free(ctx);
  return cli_flush(cli_exit_code(s));
}

int cmd_strip(int argc, char **argv) {
  static const struct option options[] = {{"threshold", required_argument, NULL, OPT_THRESHOLD},
                                          {"no-fsync", no_argument, NULL, OPT_NO_FSYNC},
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  stripping j = {.restore = false};
  return start(argc, argv, &j, options, strip_help);
}

int cmd_restore(int argc, char **argv) {
  static const struct option options[] = {
      {"from", required_argument, NULL, OPT_FROM},
      {"draw", no_argument, NULL, OPT_DRAW},
      {"seed", required_argument, NULL, OPT_SEED},
      {"external-data", required_argument, NULL, OPT_EXTERNAL_DATA},
      {"no-fsync", no_argument, NULL, OPT_NO_FSYNC},
      CLI_COMMON_OPTIONS,
      {0}};
  stripping j = {.restore = true};
  return start(argc, argv, &j, options, restore_help);
}
