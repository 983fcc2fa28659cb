/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg check IN...`: every finding about a model, one line each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "check_target.h"
#include "io/io.h"
#include "pass/pass.h"

static const char help[] =
    "usage: onnxsurg check [--strict] [--target T] [--json|--sarif] IN...\n"
    "Lists what is wrong with models: one line a finding, nothing for a clean model.\n"
    "doc/check.md explains each code.\n"
    "  --strict            warnings count as errors do\n"
    "  --target T          what the engine T does not take; see onnxsurg targets\n"
    "  --quiet             errors alone\n"
    "  --json              the findings of all files as one JSON object, with hints\n"
    "  --sarif             the same as SARIF 2.1.0, for code scanning\n"
    "  --opset [DOMAIN=]N  what keeps the model from moving to opset N; nothing is\n"
    "                      changed (--allow CLASS: the worst that rewrites may be)\n"
    "  --max-findings N    of a file that are told (100); the rest is counted\n"
    "exit codes: 0 no error, 1 an error was found, 3 a file cannot be read, 4 limit\n";

enum { OPT_STRICT = OPT_OWN, OPT_SARIF, OPT_MAX_FINDINGS, OPT_TARGET, OPT_OPSET, OPT_ALLOW };

typedef struct checking {
  cli_common common;
  surg_context *ctx;
  report *now;
  const surg__target *target; /* NULL: what holds for every engine */
  bool strict;
  const char *target_name;
  const char *opset; /* of --opset; NULL: none */
  const char *code;  /* of what is heard; NULL: the loader's */
  surg__run_options run;
  output out;
} checking;

/* Where the location at the front of a loader's line ends: its colon, outside quotes; NULL: none.
 */
static const char *location_end(const char *line) {
  static const char *const starts[] = {"graph", "function",      "model",        "subgraph",
                                       "byte ", "training_info", "opset_import", "metadata"};
  size_t i = 0;
  while (i < SURG_COUNT(starts) && strncmp(line, starts[i], strlen(starts[i])) != 0) i++;
  if (i == SURG_COUNT(starts)) return NULL;
  bool quoted = false;
  for (const char *p = line; *p; p++) {
    if (*p == '\\' && p[1])
      p++;
    else if (*p == '"')
      quoted = !quoted;
    else if (*p == ':' && p[1] == ' ' && !quoted)
      return p;
  }
  return NULL;
}

/* A line of the loader, `FILE: SEVERITY: PLACE: TEXT`. */
static void heard(void *user, surg_severity severity, const char *line) {
  static const char *const words[] = {"note: ", "warning: ", "error: "};
  const checking *c = user;
  report *r = c->now;
  const char *code = c->code ? c->code : surg__check_load_code(c->ctx, severity);
  const size_t name = r->name ? strlen(r->name) : 0; /* may hold such a word itself */
  const bool named = name && strncmp(line, r->name, name) == 0;
  const char *text = strstr(named ? line + name : line, words[severity]);
  text = text ? text + strlen(words[severity]) : line;
  if (severity != SURG_ERROR && strstr(text, "more ") && strstr(text, " are not shown")) {
    r->hidden++;
    return;
  }
  const char *end = location_end(text);
  if (c->code && !end && r->counts[SURG_ERROR]) return; /* that the pass failed: said by nodes */
  if (!end && severity == SURG_ERROR && c->ctx->line_status != SURG_EINVALID) {
    /* Not the model but reading it has failed. */
    if (!report_lines(r)) fprintf(stderr, "%s\n", line);
    if (report_lines(r)) report_show(r, "E001", NULL, text, NULL);
    return;
  }
  char *where = end ? strndup(text, (size_t)(end - text)) : NULL;
  report_show(r, code, where, where ? end + 2 : text, surg__check_rule(code)->pass);
  free(where);
}

static void found(void *user, const surg__finding *f) {
  report_show(user, f->code, f->where, f->text, f->pass);
}

/* All of standard input or a pipe, which cannot be read twice; NULL after a line. */
static char *slurp(const checking *c, const char *path, size_t *n, int *code) {
  const uint64_t most = c->common.max_memory ? c->common.max_memory : SURG_LIMIT_MEMORY;
  FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
  char *p = NULL;
  size_t capacity = 0;
  int bad = f ? 0 : errno;
  *n = 0;
  while (f && !bad && !feof(f)) {
    if (*n == capacity) {
      const size_t grown = capacity ? 2 * capacity : 1u << 16;
      char *q = grown <= 2 * most ? realloc(p, grown) : NULL;
      if (!q) {
        bad = ENOMEM;
        break;
      }
      p = q;
      capacity = grown;
    }
    *n += fread(p + *n, 1, capacity - *n, f);
    if (ferror(f)) bad = errno ? errno : EIO;
  }
  if (f && f != stdin) fclose(f);
  if (!bad) return p;
  free(p);
  *code = bad == ENOMEM ? EXIT_LIMIT : EXIT_IO;
  cli_put(stderr, path);
  fprintf(stderr, ": error: cannot read: %s\n", strerror(bad));
  return NULL;
}

/* The move is made on a clone; what stands in its way is heard. */
static surg_status try_move(checking *c, surg_context *ctx, surg_model *m) {
  surg__pipeline *p = NULL;
  surg__run_report told = {.ctx = ctx};
  surg__buf text;
  surg__buf_init(&text, ctx);
  surg_status s = cli_moves(&text, &c->opset, 1, NULL) == EXIT_DONE ? SURG_OK : SURG_EUSAGE;
  if (s == SURG_OK && (!surg_context_passes(ctx) || text.failed)) s = SURG_ENOMEM;
  if (s == SURG_OK) s = surg__pipeline_parse(ctx, text.p, "--opset", &p);
  c->run.dry_run = true;
  c->code = "E135";
  if (s == SURG_OK) s = surg__run(&m, p, &c->run, &told);
  c->code = NULL;
  surg__run_report_free(&told);
  surg__pipeline_free(p);
  surg__buf_free(&text);
  return s;
}

/* Loads for the findings of the loader, and looks into what model came of it. */
static surg_status examine(checking *c, surg_context *ctx, report *r, const char *bytes,
                           size_t n) {
  surg_load_options options = c->common.load;
  options.max_findings = r->out->most;
  const char *name = bytes && strcmp(r->path, "-") == 0 ? "standard input" : r->path;
  surg_model *m = NULL;
  bool partial;
  const surg_status s = surg__load_check_file(ctx, name, bytes, n, &options, &partial, &m);
  if (!m) return s;
  surg_context_clear_error(ctx); /* what comes now is news */
  const size_t left = r->shown < r->out->most ? r->out->most - r->shown : 0;
  const surg_status again = c->target ? check_target(r, c->target, m)
                                      : surg__check_model(m, !partial, left, found, r);
  surg_status moved = SURG_OK;
  if (c->opset && !partial && again == SURG_OK && s == SURG_OK) moved = try_move(c, ctx, m);
  surg_model_free(m);
  return again != SURG_OK ? again : s != SURG_OK ? s : moved;
}

static int check_file(checking *c, const char *path) {
  report r;
  report_start(&r, &c->out, path);
  struct stat st;
  const bool once = strcmp(path, "-") == 0 || (stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
  char *bytes = NULL;
  size_t n = 0;
  int code = EXIT_DONE;
  if (once && !(bytes = slurp(c, path, &n, &code))) {
    report_finish(&r, code);
    return code;
  }
  const surg_config config = {.size = sizeof config,
                              .diag = heard,
                              .diag_user = c,
                              .max_memory = c->common.max_memory,
                              .max_depth = c->common.max_depth};
  surg_context *ctx = surg_context_new(&config);
  r.name = cli_escaped(path, 0);
  c->now = &r;
  c->ctx = ctx;
  const bool ready = ctx && cli_schemas(ctx, &c->common) == EXIT_DONE;
  surg_status s = ready ? examine(c, ctx, &r, bytes, n) : SURG_ENOMEM;
  code = cli_exit_code(s);
  if (!ready) cli_no_memory();
  if (code <= EXIT_MODEL)
    code = r.counts[SURG_ERROR] || (c->strict && r.counts[SURG_WARNING]) ? EXIT_MODEL : EXIT_DONE;
  surg_context_free(ctx);
  free(bytes);
  free(r.name);
  report_finish(&r, code);
  return code;
}

static int take(void *user, int o, char *arg) {
  checking *c = user;
  uint64_t n;
  switch (o) {
    case OPT_STRICT:
      c->strict = true;
      return EXIT_DONE;
    case OPT_TARGET:
      c->target_name = arg;
      return EXIT_DONE;
    case OPT_SARIF:
      c->out.form = FORM_SARIF;
      return EXIT_DONE;
    case OPT_MAX_FINDINGS:
      if (!cli_number(arg, &n) || n < 1 || n > UINT32_MAX)
        return cli_usage("--max-findings takes a number from 1 on, not \"%s\"", arg);
      c->out.most = (uint32_t)n;
      return EXIT_DONE;
    case OPT_OPSET:
      c->opset = arg;
      return EXIT_DONE;
    default:
      return cli_take_allow(&c->run, arg); /* OPT_ALLOW */
  }
}

static int check_files(checking *c, char **files, int n) {
  int code = EXIT_DONE;
  output_start(&c->out);
  for (int i = 0; i < n; i++) {
    const int one = check_file(c, files[i]);
    if (one > code) code = one;
  }
  output_finish(&c->out, code);
  return code;
}

int cmd_check(int argc, char **argv) {
  static const struct option options[] = {
      {"strict", no_argument, NULL, OPT_STRICT},
      {"sarif", no_argument, NULL, OPT_SARIF},
      {"target", required_argument, NULL, OPT_TARGET},
      {"max-findings", required_argument, NULL, OPT_MAX_FINDINGS},
      {"opset", required_argument, NULL, OPT_OPSET},
      {"allow", required_argument, NULL, OPT_ALLOW},
      CLI_COMMON_OPTIONS,
      {0}};
  checking c = {.out = {.most = SURG_LIMIT_FINDINGS}};
  int code;
  const cli_command command = {options, NULL, help, take, &c, &c.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (optind == argc) return cli_usage("check takes a model: `onnxsurg check IN`");
  if (c.common.json && c.out.form == FORM_SARIF)
    return cli_usage("--json and --sarif are two forms: choose one");
  if (c.common.json) c.out.form = FORM_JSON;
  c.out.quiet = c.common.quiet;
  surg_context *ctx = c.target_name ? cli_context(&c.common) : NULL;
  surg__target *t = ctx ? cli_target(ctx, c.target_name, &code) : NULL;
  if (c.target_name && !ctx) code = EXIT_LIMIT;
  c.target = t;
  if (code == EXIT_DONE) code = check_files(&c, argv + optind, argc - optind);
  surg__target_free(t);
  surg_context_free(ctx);
  return cli_flush(code);
}
