/* SPDX-License-Identifier: Apache-2.0 */
/* Option parsing, output and error handling shared by all commands. */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <onnxsurg/check.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/copies.h"
#include "base/os/os.h"
#include "base/os/program.h"
#include "pass_form.h"

int cli_worse(int a, int b) {
  if (a == EXIT_UNKNOWN) return b == EXIT_DONE ? a : b;
  if (b == EXIT_UNKNOWN) return a == EXIT_DONE ? b : a;
  return a > b ? a : b;
}

int cli_exit_code(surg_status status) {
  switch (status) {
    case SURG_OK:
      return EXIT_DONE;
    case SURG_EINVALID:
      return EXIT_MODEL;
    case SURG_EUSAGE:
      return EXIT_USAGE;
    case SURG_EIO:
      return EXIT_IO;
    case SURG_ELIMIT:
    case SURG_ENOMEM:
    case SURG_ECANCELLED:
      return EXIT_LIMIT;
    case SURG_ENOTFOUND:
    case SURG_EUNSUPPORTED:
      return EXIT_MODEL;
    case SURG_EINTERNAL:
    case SURG_EPLUGIN:
    case SURG_EERASED:
      break;
  }
  return EXIT_INTERNAL;
}

static volatile sig_atomic_t reported; /* read by the thread that limits the time */

bool cli_reported(void) {
  return reported != 0;
}

void cli_reports(void) {
  reported = 1;
}

static void print_diagnostic(void *user, surg_severity severity, const char *line) {
  const cli_common *c = user;
  if (c->quiet && severity != SURG_ERROR) return;
  if (severity == SURG_ERROR) {
    cli_text t = {0};
    cli_reports();
    if (c->pass) pass_form_spell(c->pass, line, &t);
    cli_error_line(t.n && !t.failed ? t.p : line);
    cli_text_free(&t);
    return;
  }
  cli_progress_clear();
  fprintf(stderr, "%s\n", line);
}

surg_context *cli_context(const cli_common *common) {
  surg_config config = {.size = sizeof config,
                        .diag = print_diagnostic,
                        .diag_user = (void *)(uintptr_t)common,
                        .max_memory = common->max_memory,
                        .max_depth = common->max_depth};
  surg_context *ctx = surg_context_new(&config);
  if (!ctx) cli_no_memory();
  if (ctx && cli_schemas(ctx, common) != EXIT_DONE) {
    surg_context_free(ctx);
    return NULL;
  }
  return ctx;
}

int cli_schemas(surg_context *ctx, const cli_common *common) {
  int code = EXIT_DONE;
  surg_context_isolate_plugins(ctx, common->isolate_plugins);
  for (size_t i = 0; code == EXIT_DONE && i < common->n_schemas; i++)
    code = cli_schemas_load(ctx, common->schemas[i]);
  if (code == EXIT_DONE && common->n_plugins && !surg_context_passes(ctx)) code = EXIT_LIMIT;
  /* A plugin that does not load is a usage error, unless memory ran out; one that fails later is
   * not. */
  for (size_t i = 0; code == EXIT_DONE && i < common->n_plugins; i++) {
    const int status = cli_exit_code(surg_context_load_plugin(ctx, common->plugins[i]));
    if (status != EXIT_DONE) code = status == EXIT_LIMIT ? EXIT_LIMIT : EXIT_USAGE;
  }
  return code;
}

/* Loads a --plugin file together with the --schema and --plugin files given before it, as
 * take_schema. */
static int take_plugin(cli_common *c, const char *path) {
  if (c->n_plugins == CLI_PLUGINS) return cli_usage("--plugin is given too often");
  const cli_common plain = {.quiet = c->quiet, .max_memory = c->max_memory};
  surg_context *ctx = cli_context(&plain);
  c->plugins[c->n_plugins++] = path;
  const int code = ctx ? cli_schemas(ctx, c) : EXIT_LIMIT;
  surg_context_free(ctx);
  return code;
}

void cli_plugins_ahead(surg_context *ctx, int argc, char **argv) {
  static const char option[] = "--plugin";
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strncmp(argv[i], option, sizeof option - 1) != 0) continue;
    const char *rest = argv[i] + sizeof option - 1;
    const char *path = *rest == '=' ? rest + 1 : *rest || i + 1 == argc ? NULL : argv[i + 1];
    if (path) surg_context_load_plugin(ctx, path);
  }
}

/* Loads a --schema file together with those given before it. Files are loaded while options are
 * parsed, so that an invalid file is a usage error. */
static int take_schema(cli_common *c, const char *path) {
  if (c->n_schemas == CLI_SCHEMAS) return cli_usage("--schema is given too often");
  const cli_common plain = {.quiet = c->quiet, .max_memory = c->max_memory};
  surg_context *ctx = cli_context(&plain);
  c->schemas[c->n_schemas++] = path;
  const int code = ctx ? cli_schemas(ctx, c) : EXIT_LIMIT;
  surg_context_free(ctx);
  return code;
}

surg_status cli_load_any(surg_context *ctx, const cli_common *common, const char *path,
                         surg_model **out) {
  surg_load_options options = common->load;
  options.policy = SURG_LOAD_LENIENT;
  return surg_model_load(ctx, path, &options, out);
}

surg_status cli_load(surg_context *ctx, const cli_common *common, const char *path,
                     surg_model **out) {
  surg_status s = cli_load_any(ctx, common, path, out);
  if (s == SURG_OK) s = surg_model_require_valid(*out);
  if (s == SURG_OK) return s;
  surg_model_free(*out);
  *out = NULL;
  return s;
}

/* Whether weights are in data files that are missing or too short. */
static bool lacks_data(surg_model *m) {
  const size_t n = surg_model_finding_count(m);
  for (size_t i = 0; i < n; i++) {
    surg_finding f = {.size = sizeof f};
    if (surg_model_finding(m, i, &f) && !f.cured && strcmp(f.code, "E111") == 0) return true;
  }
  return false;
}

surg_status cli_load_whole(surg_context *ctx, const cli_common *common, const char *path,
                           surg_model **out) {
  surg_status s = cli_load(ctx, common, path, out);
  if (s != SURG_OK || !lacks_data(*out)) return s;
  surg_model_free(*out);
  *out = NULL;
  return surg_model_load(ctx, path, &common->load, out); /* reports the first file as an error */
}

bool cli_out_of_memory(surg_context *ctx) {
  if (surg_context_memory_status(ctx) != SURG_OK) {
    surg_context_report_memory(ctx, "onnxsurg");
    return true;
  }
  if (cli_text_failed()) cli_no_memory();
  return cli_text_failed();
}

bool cli_real(const char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  return *text && !*end && *out >= 0;
}

bool cli_number(const char *text, uint64_t *out) {
  static const struct {
    const char *suffix;
    unsigned shift;
  } units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  if (!isdigit((unsigned char)text[0])) return false;
  char *end;
  errno = 0;
  unsigned long long n = strtoull(text, &end, 10);
  if (errno) return false;
  for (size_t i = 0; i < CLI_COUNT(units); i++) {
    if (strcmp(end, units[i].suffix) != 0) continue;
    return !__builtin_mul_overflow((uint64_t)n, 1ull << units[i].shift, out);
  }
  return false;
}

/* The command whose options are parsed, for its help hint; "" is the main form. */
static char command_name[32];

void cli_command_named(const char *name) {
  snprintf(command_name, sizeof command_name, "%s", strlen(name) < sizeof command_name ? name : "");
}

/* Reads the command name from its help, which starts with "usage: onnxsurg NAME", or with a
 * bracket for the main form, which has no name. */
static void note_command(const char *help) {
  static const char start[] = "usage: onnxsurg ";
  if (!help) return; /* a pass as a command, named before, or the main form */
  *command_name = 0;
  if (strncmp(help, start, sizeof start - 1) != 0) return;
  const char *name = help + sizeof start - 1;
  const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz-");
  if (n < sizeof command_name) snprintf(command_name, sizeof command_name, "%.*s", (int)n, name);
}

int cli_usage(const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char *p = NULL;
  const int n = vasprintf(&p, fmt, args);
  va_end(args);
  if (n < 0) return cli_no_memory();
  cli_error(NULL, "%s (try `onnxsurg %s%s--help`)", p, command_name, *command_name ? " " : "");
  free(p);
  return EXIT_USAGE;
}

void cli_warn(const cli_common *common, const char *where, const char *text) {
  if (common && common->quiet) return;
  cli_progress_clear();
  fprintf(stderr, "%s: warning: %s\n", where, text);
}

int cli_no_memory(void) {
  cli_error_line("onnxsurg: error: out of memory");
  return EXIT_LIMIT;
}

static const char *option_at(const void *list, size_t i) {
  return ((const struct option *)list)[i].name;
}

/* Reports an option that getopt_long rejected. optopt is the value of a known option whose
 * argument is missing or unexpected, an unknown letter, or 0 for an unknown long option. In a
 * group of letters (-qx) argv[optind - 1] may be the word before the group. */
static int bad_option(char **argv, const struct option *known) {
  const char letter[] = {'-', (char)optopt, 0};
  const char *given = optopt ? letter : argv[optind - 1];
  size_t n = 0;
  for (; known[n].name; n++) {
    if (!optopt || known[n].val != optopt) continue;
    return known[n].has_arg == no_argument ? cli_usage("option --%s has no value", known[n].name)
                                           : cli_usage("option --%s needs a value", known[n].name);
  }
  char word[128];
  snprintf(word, sizeof word, "%s", given + strspn(given, "-"));
  word[strcspn(word, "=")] = 0;
  const char *near = optopt ? NULL : surg_nearest_name(word, known, n, option_at);
  char *shown = cli_escaped(given, 0);
  const int code = !shown ? cli_no_memory()
                   : near ? cli_usage("unknown option %s: did you mean --%s?", shown, near)
                          : cli_usage("unknown option %s", shown);
  free(shown);
  return code;
}

char *cli_escaped(const char *text, size_t max) {
  cli_text t = {0};
  cli_text_escape(&t, text, max);
  return cli_text_give(&t);
}

void cli_put(FILE *f, const char *text) {
  char *escaped = cli_escaped(text, 0);
  if (escaped) fputs(escaped, f);
  free(escaped);
}

json_t *cli_text_json(const char *text) {
  json_t *j = json_string(text);
  if (j) return j;
  char *escaped = cli_escaped(text, 0);
  j = escaped ? json_string(escaped) : NULL;
  free(escaped);
  return j ? j : json_null();
}

void cli_print_json(json_t *j) {
  cli_stdout_used();
  json_dumpf(j, stdout, JSON_INDENT(2));
  putchar('\n');
  json_decref(j);
}

const char *cli_base_name(const char *path) {
  return surg__os_base_name(path);
}

int cli_check_folder(const char *path) {
  size_t n = (size_t)(cli_base_name(path) - path);
  surg__stat st;
  char *folder = n ? strndup(path, n > 1 ? n - 1 : n) : NULL;
  int code = EXIT_DONE;
  if (folder && surg__os_stat(folder, &st) == ENOENT) {
    cli_text t = {0};
    cli_text_puts(&t, "its folder does not exist; make it with `mkdir -p ");
    cli_text_escape(&t, folder, 0);
    cli_text_putc(&t, '`');
    cli_error_text(path, &t);
    code = EXIT_IO;
  }
  free(folder);
  return code;
}

static bool is_text(const char *path) {
  static const char suffix[] = ".onnxtxt";
  const size_t n = strlen(path);
  return n >= sizeof suffix - 1 && strcmp(path + n - (sizeof suffix - 1), suffix) == 0;
}

int cli_check_certificate(const char *certificate, bool one, const char *in, const char *out) {
  if (!certificate) return EXIT_DONE;
  if (!one || !out || strcmp(in, "-") == 0 || strcmp(out, "-") == 0)
    return cli_usage("--certificate needs one input file and another output file");
  const char *text = is_text(in) ? in : is_text(out) ? out : NULL;
  if (!text) return EXIT_DONE;
  return cli_usage(
      "--certificate needs two .onnx files, and `%s` is text: `onnxsurg --pass '' "
      "IN.onnxtxt OUT.onnx` converts it",
      text);
}

int cli_make_folders(const char *path) {
  char *copy = strdup(path);
  int why = copy ? 0 : ENOMEM;
  for (char *p = copy; !why && *p && (p = strchr(p + 1, '/')); *p = '/') {
    *p = 0;
    surg__stat st;
    if (surg__os_stat(copy, &st) != 0) why = surg__os_make_folder(copy);
    if (why == EEXIST) why = 0;
  }
  free(copy);
  return why;
}

int cli_need_folder(const char *dir, const char *option, bool make) {
  surg__stat st;
  int why = surg__os_stat(dir, &st);
  if (why == ENOENT && make && *dir) {
    cli_text path = {0};
    cli_text_printf(&path, "%s/", dir);
    why = path.failed ? ENOMEM : cli_make_folders(cli_text_of(&path));
    cli_text_free(&path);
    if (!why) why = surg__os_stat(dir, &st);
  }
  if (!why && st.directory) return EXIT_DONE;
  cli_text t = {0};
  cli_text_puts(&t, why ? strerror(why) : "is not a folder");
  if (option) cli_text_printf(&t, " (%s)", option);
  cli_error_text(dir, &t);
  return EXIT_IO;
}

/* The errno of an earlier failed write to stdout, whose error flag is still set. `last` may be
 * the errno of a later call (isatty sets ENOTTY), so only codes that a write can set are
 * accepted. */
static int write_error(int last) {
  static const int of_writes[] = {ENOSPC, EDQUOT, EFBIG, EIO, EPIPE, EBADF};
  for (size_t i = 0; i < CLI_COUNT(of_writes); i++)
    if (last == of_writes[i]) return last;
  return surg__os_pipe_broken(fileno(stdout)) ? EPIPE : EIO;
}

int cli_flush(int code) {
  const int last = errno;
  const bool failed = fflush(stdout) != 0;
  if (!failed && !ferror(stdout)) return code;
  const int why = failed ? errno : write_error(last);
  if (why != EPIPE) cli_error(NULL, "cannot write: %s", strerror(why));
  return code == EXIT_DONE ? EXIT_IO : code;
}

/* Applies a common option. Returns -1 for any other option, else EXIT_DONE or, after printing an
 * error, another exit code. */
static int common_option(cli_common *c, int option, const char *argument) {
  uint64_t n = 0;
  switch (option) {
    case OPT_QUIET:
      c->quiet = true;
      return EXIT_DONE;
    case OPT_JSON:
      c->json = true;
      cli_json_asked(); /* it may be abbreviated */
      return EXIT_DONE;
    case OPT_SUMMARY:
      c->summary = true;
      return EXIT_DONE;
    case OPT_NO_EXTERNAL:
      c->load.no_external = true;
      return EXIT_DONE;
    case OPT_STRICT_EXTERNAL:
      c->load.strict_external = true;
      return EXIT_DONE;
    case OPT_FREEZE_INPUTS:
      c->load.freeze_inputs = true;
      return EXIT_DONE;
    case OPT_SCHEMA:
      return take_schema(c, argument);
    case OPT_PLUGIN:
      return take_plugin(c, argument);
    case OPT_ISOLATE_PLUGINS:
      c->isolate_plugins = true;
      return EXIT_DONE;
    case OPT_EXTERNAL_ROOT:
      c->load.external_root = argument;
      return EXIT_DONE;
    case OPT_MAX_MEMORY:
      if (!cli_number(argument, &c->max_memory) || !c->max_memory)
        return cli_usage("--max-memory expects bytes, such as 512MiB");
      return EXIT_DONE;
    case OPT_MAX_DEPTH:
      if (!cli_number(argument, &n) || n < 1 || n > CLI_DEPTH_MOST)
        return cli_usage("--max-depth expects 1 to %u", CLI_DEPTH_MOST);
      c->max_depth = (uint32_t)n;
      return EXIT_DONE;
    case OPT_JOBS:
      if (!cli_number(argument, &n) || n > CLI_JOBS_MOST)
        return cli_usage("--jobs expects 0 to %u", CLI_JOBS_MOST);
      c->jobs = n ? (uint32_t)n : surg__os_processors();
      if (c->jobs > CLI_JOBS_MOST) c->jobs = CLI_JOBS_MOST;
      return EXIT_DONE;
    case OPT_TIMEOUT:
      if (!cli_number(argument, &c->timeout_seconds) || !c->timeout_seconds ||
          c->timeout_seconds > UINT32_MAX)
        return cli_usage("--timeout expects seconds");
      return EXIT_DONE;
    default:
      return -1;
  }
}

int cli_words_take(cli_words *w, const char *word) {
  const char **grown = realloc(w->items, (w->n + 1) * sizeof *grown);
  if (!grown) return cli_no_memory();
  w->items = grown;
  w->items[w->n++] = word;
  return EXIT_DONE;
}

int cli_take_external(surg_save_options *save, const char *name) {
  if (!*name || surg__os_base_name(name) != name)
    return cli_usage("--external-data expects a plain file name");
  save->external_data = name;
  return EXIT_DONE;
}

/* Whether --json is among the words, also behind one that is wrong. */
static bool has_json(int argc, char **argv, const struct option *known) {
  bool is = false, has = false;
  for (; known->name; known++) is |= strcmp(known->name, "json") == 0;
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) has |= !strcmp(argv[i], "--json");
  return is && has;
}

#define LETTERS 16 /* one-letter options of a command, with their colons */

bool cli_options(int argc, char **argv, const cli_command *c, int *code) {
  *c->common = (cli_common){.load = {.size = sizeof(surg_load_options)}};
  opterr = 0;
  *code = EXIT_DONE;
  note_command(c->help);
  if (c->name) snprintf(command_name, sizeof command_name, "%s", c->name);
  if (has_json(argc, argv, c->options)) cli_json_asked();
  char letters[LETTERS];
  snprintf(letters, sizeof letters, "%sh", c->letters ? c->letters : "");
  while (*code == EXIT_DONE) {
    int o = getopt_long(argc, argv, letters, c->options, NULL);
    if (o == 'h') o = OPT_HELP;
    if (o == -1) {
      /* Without a limit, one that is set goes on: a step of `edit` is read with options, too. */
      if (!c->ends_itself && c->common->timeout_seconds) cli_limit_time(c->common);
      return true;
    }
    if (o == '?') {
      *code = bad_option(argv, c->options);
    } else if (o == OPT_HELP && c->help) {
      fputs(c->help, stdout);
      *code = CLI_STOP;
    } else {
      *code = common_option(c->common, o, optarg);
      if (*code < 0) *code = c->take(c->user, o, optarg);
    }
  }
  if (*code == CLI_STOP) *code = cli_flush(EXIT_DONE);
  return false;
}
