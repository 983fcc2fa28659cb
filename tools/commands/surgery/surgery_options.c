/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the main form. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "surgery.h"

#define PIPELINE_FILE_MAX (1u << 20)

enum {
  OPT_PASS = OPT_OWN,
  OPT_PASS_FILE,
  OPT_PRINT_PIPELINE,
  OPT_OUT_DIR,
  OPT_RULES,
  OPT_OPSET,
  OPT_IR,
  OPT_ALLOW,
  OPT_EXACT_ONLY,
  OPT_CHECK,
  OPT_CHECK_RTOL,
  OPT_VERIFY_EACH,
  OPT_STATS,
  OPT_TIME,
  OPT_PRINT_AFTER,
  OPT_REWRITE_LIMIT,
  OPT_SKIP,
  OPT_KEEP,
  OPT_KEEP_WEIGHTS,
  OPT_DIM,
  OPT_INPUT_SHAPE,
  OPT_RANGE,
  OPT_TRUST,
  OPT_LOG,
  OPT_CERTIFICATE,
  OPT_GROWTH,
  OPT_MAP,
  OPT_DRY_RUN,
  OPT_EXTERNAL_DATA,
  OPT_EXTERNAL_THRESHOLD,
  OPT_NO_FSYNC,
  OPT_RECORD,
  OPT_VERSION
};

const struct option surgery_table[] = {
    {"pass", required_argument, NULL, OPT_PASS},
    {"pass-file", required_argument, NULL, OPT_PASS_FILE},
    {"print-pipeline", no_argument, NULL, OPT_PRINT_PIPELINE},
    {"in-place", no_argument, NULL, 'i'},
    {"output", required_argument, NULL, 'o'},
    {"out-dir", required_argument, NULL, OPT_OUT_DIR},
    {"rules", required_argument, NULL, OPT_RULES},
    {"opset", required_argument, NULL, OPT_OPSET},
    {"ir", required_argument, NULL, OPT_IR},
    {"allow", required_argument, NULL, OPT_ALLOW},
    {"exact-only", no_argument, NULL, OPT_EXACT_ONLY},
    {"check", optional_argument, NULL, OPT_CHECK},
    {"check-rtol", required_argument, NULL, OPT_CHECK_RTOL},
    {"verify-each", no_argument, NULL, OPT_VERIFY_EACH},
    {"stats", no_argument, NULL, OPT_STATS},
    {"time-passes", no_argument, NULL, OPT_TIME},
    {"print-after", optional_argument, NULL, OPT_PRINT_AFTER},
    {"rewrite-limit", required_argument, NULL, OPT_REWRITE_LIMIT},
    {"skip-pass", required_argument, NULL, OPT_SKIP},
    {"keep", required_argument, NULL, OPT_KEEP},
    {"keep-weights", no_argument, NULL, OPT_KEEP_WEIGHTS},
    {"dim", required_argument, NULL, OPT_DIM},
    {"input-shape", required_argument, NULL, OPT_INPUT_SHAPE},
    {"range", required_argument, NULL, OPT_RANGE},
    {"trust", required_argument, NULL, OPT_TRUST},
    {"max-growth", required_argument, NULL, OPT_GROWTH},
    {"log", required_argument, NULL, OPT_LOG},
    {"certificate", required_argument, NULL, OPT_CERTIFICATE},
    {"map", required_argument, NULL, OPT_MAP},
    {"dry-run", no_argument, NULL, OPT_DRY_RUN},
    {"external-data", required_argument, NULL, OPT_EXTERNAL_DATA},
    {"external-threshold", required_argument, NULL, OPT_EXTERNAL_THRESHOLD},
    {"no-fsync", no_argument, NULL, OPT_NO_FSYNC},
    {"record", no_argument, NULL, OPT_RECORD},
    {"version", no_argument, NULL, OPT_VERSION},
    CLI_JOBS_OPTION,
    CLI_COMMON_OPTIONS,
    {0}};

static const char help[] =
    "usage: onnxsurg [--pass PIPELINE] IN OUT\n"
    "       onnxsurg [--pass PIPELINE] -i IN...\n"
    "       onnxsurg [--pass PIPELINE] --out-dir DIR IN...\n"
    "       onnxsurg check|repair|doctor|explain|info|nodes|find|cat|ops|passes|rules\n"
    "       onnxsurg run|verify|targets|probe|profile|isolate|reduce|bisect\n"
    "       onnxsurg edit|attach|merge|split|data|weights|strip|restore\n"
    "       onnxsurg diff|patch|view   (each has --help)\n"
    "       onnxsurg mend IN OUT      (repair an invalid model)\n"
    "       onnxsurg set|insert|delete|region|swap|rename|reorder|extract|outputs|...\n"
    "       onnxsurg PASS ... IN OUT  (one pass; `onnxsurg passes` lists them)\n"
    "\n"
    "Edits a model and writes it back. Parts that no pass changes keep their bytes.\n"
    "`-` is standard input or output; a file name ending in .onnxtxt is ONNX text.\n"
    "\n"
    "  --pass PIPELINE         passes to run: 'fold,prune', 'fold{max-growth=1MiB}';\n"
    "                          default: the preset `simplify`; `onnxsurg passes`\n"
    "                          lists passes and presets\n"
    "  --pass-file FILE        read the pipeline from a file; # starts a comment\n"
    "  --print-pipeline        print the pipeline with presets expanded, and exit\n"
    "  -i, --in-place          overwrite each IN\n"
    "  -o, --output OUT        the output file, or an existing folder as --out-dir\n"
    "  --out-dir DIR           write each output to DIR, under the name of its input;\n"
    "                          an IN may be a folder: all .onnx files in and below it\n"
    "  --jobs N                process N models at a time (1; 0: one per processor)\n"
    "  --dry-run               do everything except writing\n"
    "  --plugin FILE           load passes from a shared object\n"
    "  --isolate-plugins       run each pass of a plugin in a child process\n"
    "  --opset [DOMAIN=]N      convert the model to opset N, after the passes\n"
    "                          (repeatable, once per domain)\n"
    "  --ir N                  set the IR version, after all passes\n"
    "  --allow CLASS           permit rewrites up to this class in all passes: exact,\n"
    "                          ulp, rounding, approx, lossy (rounding)\n"
    "  --exact-only            the same as --allow exact\n"
    "  --rules FILE            load rewrite rules; without --pass, only they run\n"
    "  --schema FILE           load the schema of custom operators\n"
    "  --keep NAME|/REGEX/|op=TYPE\n"
    "                          protect nodes and values from passes (repeatable)\n"
    "  --keep-weights          do not change or rename weights\n"
    "  --dim NAME=N            fix a dimension of the inputs before all passes; NAME\n"
    "                          is a symbol or input.axis (repeatable)\n"
    "  --dim NAME=LOW..HIGH, NAME%N\n"
    "                          assume the range of a dimension, or that it is a\n"
    "                          multiple of N\n"
    "  --input-shape NAME:N,N,...\n"
    "                          fix the shape of one input; ? leaves a dimension open\n"
    "  --range NAME=LOW..HIGH  assume that all elements of a value are in this range\n"
    "                          and none is NaN (repeatable)\n"
    "  --trust declared        use the declared output types of unknown operators\n"
    "                          (--trust inferred: do not)\n"
    "  --skip-pass PASS        remove a pass from the pipeline\n"
    "  --rewrite-limit N       stop after N rewrites\n"
    "  --max-growth N          bytes that a new constant may add to the file, such\n"
    "                          as 12KiB, or inf (0)\n"
    "\n"
    "  --external-data NAME    write large weights to file NAME in the folder of OUT\n"
    "  --external-threshold N  ... weights of at least N bytes (1KiB)\n"
    "  --external-root DIR     folder of the external data of IN (the folder of IN)\n"
    "  --no-external           reject models with external data\n"
    "  --strict-external       reject external data files with several hard links\n"
    "  --freeze-inputs         treat inputs with a default value as constants\n"
    "  --no-fsync              do not wait until the disk has the data\n"
    "  --record                record pipeline and version in the model's metadata\n"
    "\n"
    "  --summary, --quiet      always or never print a summary of the changes\n"
    "                          (default: on a terminal)\n"
    "  --json                  print a report as JSON on standard output; of several\n"
    "                          models, one per line\n"
    "  --stats, --time-passes  print what each pass changed, and its time\n"
    "  --check[=N]             run the model before and after on generated inputs (N\n"
    "                          seeds); if outputs differ, write nothing and name the\n"
    "                          pass\n"
    "  --check=each            the same after every pass; skip passes that change\n"
    "                          results\n"
    "  --check-rtol X          relative tolerance of floats (default: by the class of\n"
    "                          the passes; exact passes must keep every bit)\n"
    "  --verify-each           verify the graph after every pass\n"
    "  --print-after[=PASS]    print the model as text after PASS, or after each pass\n"
    "                          that changed it\n"
    "  --log FILE              write each rewrite as a line of JSON\n"
    "  --certificate FILE      write what tools/certify needs to prove the result\n"
    "  --map FILE              write old and new names as JSON\n"
    "  --max-memory N          memory limit, such as 512MiB (2GiB)\n"
    "  --max-depth N           limit for nested messages (110)\n"
    "  --timeout SECONDS       time limit for each IN\n"
    "  --help, --version\n"
    "\n"
    "exit codes: 0 success, 1 the model is invalid or a requested change was not\n"
    "made, 2 usage error, 3 file or system error, 4 limit reached or out of memory,\n"
    "5 internal error or faulty plugin, 6 support of the target is unknown\n";

/* Options whose argument is stored as given: how, and at which offset of `surgery`. */
typedef enum keeping { FLAG, TEXT, WORD } keeping;
static const struct {
  int option;
  keeping how;
  size_t at;
} kept[] = {
#define KEPT(option, how, member) \
  { option, how, offsetof(surgery, member) }
    KEPT('i', FLAG, in_place),
    KEPT('o', WORD, outputs),
    KEPT(OPT_OUT_DIR, TEXT, out_dir),
    KEPT(OPT_PRINT_PIPELINE, FLAG, print_pipeline),
    KEPT(OPT_RULES, WORD, rules),
    KEPT(OPT_OPSET, WORD, opsets),
    KEPT(OPT_IR, TEXT, ir),
    KEPT(OPT_VERIFY_EACH, FLAG, run.verify_each),
    KEPT(OPT_STATS, FLAG, stats),
    KEPT(OPT_TIME, FLAG, time),
    KEPT(OPT_SKIP, WORD, skip),
    KEPT(OPT_KEEP, WORD, keep),
    KEPT(OPT_KEEP_WEIGHTS, FLAG, run.keep_weights),
    KEPT(OPT_DIM, WORD, dims),
    KEPT(OPT_INPUT_SHAPE, WORD, shapes),
    KEPT(OPT_RANGE, WORD, ranges),
    KEPT(OPT_LOG, TEXT, run.log_path),
    KEPT(OPT_CERTIFICATE, TEXT, run.certificate_path),
    KEPT(OPT_MAP, TEXT, run.map_path),
    KEPT(OPT_DRY_RUN, FLAG, run.dry_run),
    KEPT(OPT_NO_FSYNC, FLAG, save.no_fsync),
    KEPT(OPT_RECORD, FLAG, record),
#undef KEPT
};

static int keep(surgery *j, size_t i, const char *arg) {
  char *at = (char *)j + kept[i].at;
  if (kept[i].how == WORD) return cli_words_take((cli_words *)(void *)at, arg);
  if (kept[i].how == TEXT)
    *(const char **)(void *)at = arg;
  else
    *(bool *)at = true;
  return EXIT_DONE;
}

/* Reads a pipeline file. A newline is white space, and `#` starts a comment. */
static int read_pipeline(surgery *j, const char *path) {
  FILE *f = surg__os_fopen(path, "r");
  if (!f) {
    cli_error(path, "cannot open: %s", strerror(errno));
    return EXIT_IO;
  }
  j->pipeline_text = malloc(PIPELINE_FILE_MAX + 1);
  size_t n = j->pipeline_text ? fread(j->pipeline_text, 1, PIPELINE_FILE_MAX + 1, f) : 0;
  int bad = ferror(f) ? errno : 0;
  fclose(f);
  if (!j->pipeline_text) return cli_no_memory();
  if (bad || n > PIPELINE_FILE_MAX || memchr(j->pipeline_text, 0, n)) {
    cli_error(path, "%s", bad ? strerror(bad) : "is not the text of a pipeline");
    return EXIT_IO;
  }
  char *t = j->pipeline_text;
  t[n] = 0;
  for (bool comment = false; *t; t++) {
    comment = *t == '#' || (comment && *t != '\n');
    if (comment || *t == '\n' || *t == '\r') *t = ' ';
  }
  while (n && j->pipeline_text[n - 1] == ' ') j->pipeline_text[--n] = 0;
  j->pipeline = j->pipeline_text + strspn(j->pipeline_text, " ");
  j->pipeline_where = path;
  return EXIT_DONE;
}

static int take_pipeline(surgery *j, const char *arg, bool file) {
  if (j->pipeline) return cli_usage("one pipeline at a time: join passes with a comma");
  if (file) return read_pipeline(j, arg);
  j->pipeline = arg;
  j->pipeline_where = "--pass";
  return EXIT_DONE;
}

static int take_check(surgery *j, const char *arg) {
  uint64_t n = 1;
  j->check = true;
  if (arg && strcmp(arg, "each") == 0) {
    j->run.check_each = true;
    return EXIT_DONE;
  }
  if ((arg && !cli_number(arg, &n)) || n < 1 || n > 1000)
    return cli_usage("--check expects a number of seeds, 1 to 1000, or `each`");
  j->seeds = (uint32_t)n;
  return EXIT_DONE;
}

static int take_check_rtol(surgery *j, const char *arg) {
  if (!cli_real(arg, &j->run.check_rtol))
    return cli_usage("--check-rtol expects a number, such as 1e-3");
  j->run.has_check_rtol = true;
  j->check = true;
  return EXIT_DONE;
}

static int take_limit(surgery *j, const char *arg) {
  if (!cli_number(arg, &j->run.rewrite_limit)) return cli_usage("--rewrite-limit expects a number");
  j->run.has_rewrite_limit = true;
  return EXIT_DONE;
}

static int take_growth(surgery *j, const char *arg) {
  if (strcmp(arg, "inf") == 0)
    j->run.max_growth = UINT64_MAX;
  else if (!cli_number(arg, &j->run.max_growth))
    return cli_usage("--max-growth expects bytes, such as 12KiB, or inf");
  return EXIT_DONE;
}

static int take_trust(surgery *j, const char *arg) {
  j->run.trust_declared = !strcmp(arg, "declared");
  if (j->run.trust_declared || !strcmp(arg, "inferred")) return EXIT_DONE;
  return cli_usage("--trust expects `declared` or `inferred`");
}

static int take_threshold(surgery *j, const char *arg) {
  uint64_t n;
  if (!cli_number(arg, &n)) return cli_usage("--external-threshold expects bytes, such as 1KiB");
  j->save.external_threshold = n ? n : 1;
  return EXIT_DONE;
}

static int answer(const surgery *j, int o) {
  if (o == OPT_VERSION)
    printf("onnxsurg %s\n", surg_version());
  else if (j->form)
    pass_form_help(j->form);
  else
    fputs(help, stdout);
  return CLI_STOP;
}

static int take(void *user, int o, char *arg) {
  surgery *j = user;
  if (o >= OPT_OF_PASS) return pass_form_take(j->form, o, arg);
  for (size_t i = 0; i < CLI_COUNT(kept); i++)
    if (kept[i].option == o) return keep(j, i, arg);
  switch (o) {
    case OPT_PASS:
      return take_pipeline(j, arg, false);
    case OPT_PASS_FILE:
      return take_pipeline(j, arg, true);
    case OPT_CHECK:
      return take_check(j, arg);
    case OPT_CHECK_RTOL:
      return take_check_rtol(j, arg);
    case OPT_ALLOW:
      return cli_take_allow(&j->run, arg);
    case OPT_EXACT_ONLY:
      return cli_take_allow(&j->run, "exact");
    case OPT_PRINT_AFTER:
      return cli_words_take(&j->print_after, arg ? arg : "changed");
    case OPT_REWRITE_LIMIT:
      return take_limit(j, arg);
    case OPT_GROWTH:
      return take_growth(j, arg);
    case OPT_TRUST:
      return take_trust(j, arg);
    case OPT_EXTERNAL_DATA:
      return cli_take_external(&j->save, arg);
    case OPT_EXTERNAL_THRESHOLD:
      return take_threshold(j, arg);
    default:
      return answer(j, o);
  }
}

/* Builds the pipeline: the pass given as a command, then --pass or --pass-file. */
static int take_form(surgery *j) {
  char *text = pass_form_pipeline(j->form, j->pipeline);
  free(j->pipeline_text);
  j->pipeline = j->pipeline_text = text;
  j->pipeline_where = j->form->name;
  return j->pipeline ? EXIT_DONE : cli_no_memory();
}

bool surgery_options(surgery *j, int *argc, char **argv, int *code) {
  const cli_command command = {.options = j->form ? j->form->options : surgery_table,
                               .letters = "io:",
                               .take = take,
                               .user = j,
                               .common = &j->common,
                               .name = j->form ? j->form->name : NULL};
  if (j->form) cli_command_named(j->form->name);
  *code = j->form ? pass_form_pairs(j->form, argc, argv) : EXIT_DONE;
  if (*code != EXIT_DONE || !cli_options(*argc, argv, &command, code)) return false;
  if (j->form) *code = take_form(j);
  return *code == EXIT_DONE;
}

void surgery_free(surgery *j) {
  for (size_t i = 0; i < CLI_COUNT(kept); i++)
    if (kept[i].how == WORD) free(((cli_words *)(void *)((char *)j + kept[i].at))->items);
  free(j->print_after.items);
  free(j->assumed.items);
  free(j->pipeline_text);
}
