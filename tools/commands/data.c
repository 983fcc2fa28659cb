/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg data IN OUT`: moves weights out of the model file, or into it. */
#include <onnxsurg/weights.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/program.h"
#include "cli.h"

static const char help[] =
    "usage: onnxsurg data [OPTION]... IN OUT\n"
    "       onnxsurg data [OPTION]... -i IN...\n"
    "       onnxsurg data [OPTION]... --out-dir DIR IN...\n"
    "Moves weights to data files beside the model, or into the model file. Everything\n"
    "else is copied. Equal tensors are stored once. No data file is overwritten: if\n"
    "the file exists with the same bytes, it is used, else a free name is chosen.\n"
    "\n"
    "  --file NAME         name of the data file (OUT.data)\n"
    "  --shard SIZE        files of at most SIZE bytes, such as 2GiB; a larger tensor\n"
    "                      has a file of its own\n"
    "  --per-tensor        a file for each tensor\n"
    "  --share NAME        one data file for all models, which are in one folder;\n"
    "                      equal tensors of all of them are stored once\n"
    "  --align N           place tensors at multiples of N bytes, such as 64KiB (64\n"
    "                      bytes; 4KiB for tensors of 1MiB or more)\n"
    "  --threshold N       leave tensors below N bytes in the model file (1KiB)\n"
    "  --attributes        move tensors of attributes, too\n"
    "  --keep              leave weights that are in data files where they are\n"
    "  --embed             store all weights in the model file\n"
    "  -i, --in-place      overwrite each IN; its data files stay\n"
    "  --out-dir DIR       write each output to DIR, under the name of its input\n"
    "  --no-fsync          do not wait until the disk has the data\n"
    "  --summary, --quiet  always or never print what was stored (default: on a\n"
    "                      terminal)\n"
    "  --json              print it as JSON\n";

enum {
  OPT_FILE = OPT_OWN,
  OPT_SHARD,
  OPT_PER_TENSOR,
  OPT_SHARE,
  OPT_ALIGN,
  OPT_THRESHOLD,
  OPT_ATTRIBUTES,
  OPT_KEEP,
  OPT_EMBED,
  OPT_OUT_DIR,
  OPT_NO_FSYNC
};

static const struct option options[] = {{"file", required_argument, NULL, OPT_FILE},
                                        {"shard", required_argument, NULL, OPT_SHARD},
                                        {"per-tensor", no_argument, NULL, OPT_PER_TENSOR},
                                        {"share", required_argument, NULL, OPT_SHARE},
                                        {"align", required_argument, NULL, OPT_ALIGN},
                                        {"threshold", required_argument, NULL, OPT_THRESHOLD},
                                        {"attributes", no_argument, NULL, OPT_ATTRIBUTES},
                                        {"keep", no_argument, NULL, OPT_KEEP},
                                        {"embed", no_argument, NULL, OPT_EMBED},
                                        {"in-place", no_argument, NULL, 'i'},
                                        {"out-dir", required_argument, NULL, OPT_OUT_DIR},
                                        {"no-fsync", no_argument, NULL, OPT_NO_FSYNC},
                                        CLI_COMMON_OPTIONS,
                                        {0}};

typedef struct moving {
  cli_common common;
  surg_data_options how;
  const char *out_dir, *share;
  bool in_place;
} moving;

static int take_bytes(const char *option, const char *arg, uint64_t least, uint64_t *to) {
  if (cli_number(arg, to) && *to >= least) return EXIT_DONE;
  return cli_usage("%s expects bytes, such as 64KiB", option);
}

static int take(void *user, int o, char *arg) {
  moving *j = user;
  switch (o) {
    case OPT_FILE:
      j->how.file = arg;
      return EXIT_DONE;
    case OPT_SHARE:
      j->share = arg;
      return EXIT_DONE;
    case OPT_OUT_DIR:
      j->out_dir = arg;
      return EXIT_DONE;
    case OPT_SHARD:
      return take_bytes("--shard", arg, 1, &j->how.shard);
    case OPT_THRESHOLD:
      return take_bytes("--threshold", arg, 1, &j->how.threshold);
    case OPT_ALIGN:
      if (!cli_number(arg, &j->how.align) || !j->how.align || j->how.align & (j->how.align - 1))
        return cli_usage("--align expects a power of 2, such as 4KiB");
      return EXIT_DONE;
    case OPT_PER_TENSOR:
      j->how.each = true;
      return EXIT_DONE;
    case OPT_ATTRIBUTES:
      j->how.attributes = true;
      return EXIT_DONE;
    case OPT_KEEP:
      j->how.keep = true;
      return EXIT_DONE;
    case OPT_EMBED:
      j->how.embed = true;
      return EXIT_DONE;
    case OPT_NO_FSYNC:
      j->how.no_fsync = true;
      return EXIT_DONE;
    default: /* 'i' */
      j->in_place = true;
      return EXIT_DONE;
  }
}

static int check_options(moving *j, char **args, int n) {
  const surg_data_options *o = &j->how;
  if (o->embed && (o->file || o->shard || o->each || o->align || o->threshold || o->keep ||
                   o->attributes || j->share))
    return cli_usage("--embed excludes the options of data files");
  if (o->shard && o->each) return cli_usage("--shard and --per-tensor exclude each other");
  if (o->file && j->share) return cli_usage("--file and --share exclude each other");
  if (j->in_place && j->out_dir) return cli_usage("-i and --out-dir exclude each other");
  if (n == 0) return cli_usage("no model given: `onnxsurg data IN OUT`");
  if (!j->in_place && !j->out_dir && n != 2)
    return cli_usage(n == 1 ? "no output given: `onnxsurg data IN OUT`, or -i"
                            : "several models need -i or --out-dir");
  for (int i = 0; i < n; i++)
    if (!*args[i] || strcmp(args[i], "-") == 0)
      return cli_usage("data expects names of files, found \"%s\"", args[i]);
  if (j->share) j->how.file = j->share;
  if (j->out_dir) return cli_need_folder(j->out_dir, "--out-dir", true);
  return j->in_place ? EXIT_DONE : cli_check_folder(args[1]);
}

static void report(const moving *j, const char *out, const surg_data_report *r) {
  if (j->common.json)
    cli_print_json(json_pack("{s:i,s:o,s:I,s:I,s:I,s:I,s:I,s:I}", "schema", 1, "out",
                             cli_text_json(out), "tensors", (json_int_t)r->tensors, "bytes",
                             (json_int_t)r->bytes, "equal", (json_int_t)r->equal, "equal_bytes",
                             (json_int_t)r->equal_bytes, "files", (json_int_t)r->files, "unchanged",
                             (json_int_t)r->unchanged));
  const bool tells = j->common.summary || surg__os_is_terminal(fileno(stderr));
  if (j->common.quiet || !tells) return;
  cli_put(stderr, out);
  if (j->how.embed) {
    fprintf(stderr, ": all weights are in the model file\n");
    return;
  }
  fprintf(stderr, ": %llu tensor%s, %s in %llu data file%s", (unsigned long long)r->tensors,
          r->tensors == 1 ? "" : "s", cli_bytes(r->bytes), (unsigned long long)r->files,
          r->files == 1 ? "" : "s");
  if (r->unchanged) fprintf(stderr, ", %llu unchanged", (unsigned long long)r->unchanged);
  if (r->equal)
    fprintf(stderr, "; %llu (%s) stored with an equal one", (unsigned long long)r->equal,
            cli_bytes(r->equal_bytes));
  fputc('\n', stderr);
}

static char *path_in(const char *dir, const char *in) {
  const char *base = cli_base_name(in);
  const size_t n = strlen(dir) + strlen(base) + 2;
  char *path = malloc(n);
  if (path) snprintf(path, n, "%s/%s", dir, base);
  return path;
}

/* Loads n models and writes them together. */
static surg_status move(const moving *j, surg_context *ctx, char **in, char **out, size_t n) {
  surg_model **models = calloc(n, sizeof *models);
  surg_status s = models ? SURG_OK : SURG_ENOMEM;
  surg_data_report r = {.size = sizeof r};
  if (!j->common.quiet) cli_progress_start("loading");
  for (size_t i = 0; s == SURG_OK && i < n; i++)
    s = cli_load_any(ctx, &j->common, in[i], &models[i]);
  cli_progress("saving");
  if (s == SURG_OK) s = surg_model_save_data(models, (const char *const *)out, n, &j->how, &r);
  cli_progress_stop();
  if (s == SURG_OK) report(j, out[0], &r);
  for (size_t i = 0; models && i < n; i++) surg_model_free(models[i]);
  free(models);
  return s;
}

static int run(const moving *j, surg_context *ctx, char **args, size_t n) {
  char **out = calloc(n, sizeof *out);
  int code = out ? EXIT_DONE : cli_no_memory();
  for (size_t i = 0; code == EXIT_DONE && i < n; i++) {
    out[i] = j->out_dir ? path_in(j->out_dir, args[i]) : strdup(j->in_place ? args[i] : args[1]);
    if (!out[i]) code = cli_no_memory();
    for (size_t k = 0; code == EXIT_DONE && k < i; k++)
      if (strcmp(out[i], out[k]) == 0)
        code = cli_usage("two models would be written to one file: %s", out[i]);
  }
  const size_t step = j->share ? n : 1;
  for (size_t i = 0; code == EXIT_DONE && i < n; i += step) {
    const surg_status s = move(j, ctx, args + i, out + i, step);
    if (s != SURG_OK && !surg_context_error(ctx)) {
      cli_error(args[i], "%s", surg_status_name(s));
    }
    code = cli_exit_code(s);
  }
  for (size_t i = 0; out && i < n; i++) free(out[i]);
  free(out);
  return code;
}

int cmd_data(int argc, char **argv) {
  moving j = {.how = {.size = sizeof j.how}};
  int code;
  const cli_command command = {options, "i", help, take, &j, &j.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  char **args = argv + optind;
  const int n = argc - optind;
  code = check_options(&j, args, n);
  if (code != EXIT_DONE) return code;
  surg_context *ctx = cli_context(&j.common);
  if (!ctx) return EXIT_LIMIT;
  code = run(&j, ctx, args, j.in_place || j.out_dir ? (size_t)n : 1);
  surg_context_free(ctx);
  return cli_flush(code);
}
