/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg check IN...`: every finding about a model, one line each. */
#include "check/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "cli.h"

static const char help[] =
    "usage: onnxsurg check [--strict] [--json] IN...\n"
    "Lists what is wrong with models: one line a finding, nothing for a clean model.\n"
    "doc/check.md explains each code.\n"
    "  --strict      warnings count as errors do\n"
    "  --quiet       errors alone\n"
    "  --json        the findings of all files as one JSON object\n"
    "exit codes: 0 no error, 1 an error was found, 3 a file cannot be read, 4 limit\n";

enum { OPT_STRICT = OPT_OWN };

/* What becomes of the findings of one file. */
typedef struct reader {
  const cli_common *common;
  const char *path;
  char *name;       /* the path as the loader spells it; NULL: unknown */
  size_t counts[3]; /* by severity */
  size_t shown, hidden;
  bool deaf;    /* the model is loaded once more: all that is known */
  json_t *list; /* NULL: text */
} reader;

typedef struct checking {
  cli_common common;
  surg_context *ctx;
  reader *now;
  json_t *files;
  bool strict;
} checking;

static const char *const severities[] = {"note", "warning", "error"};

static void show(reader *r, surg_severity severity, const char *code, const char *where,
                 const char *text) {
  r->counts[severity]++;
  if (r->common->quiet && severity != SURG_ERROR) return;
  if (!text || r->shown >= SURG__CHECK_MOST) {
    r->hidden++;
    return;
  }
  r->shown++;
  if (!r->list) {
    cli_put(stdout, r->path);
    printf(": %s: %s%s%s [%s]\n", severities[severity], where ? where : "", where ? ": " : "", text,
           code);
    return;
  }
  json_t *f = json_object();
  json_object_set_new(f, "severity", json_string(severities[severity]));
  json_object_set_new(f, "code", json_string(code));
  json_object_set_new(f, "where", where ? cli_text_json(where) : json_null());
  json_object_set_new(f, "text", cli_text_json(text));
  json_array_append_new(r->list, f);
}

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
  const checking *c = user;
  reader *r = c->now;
  /* Of the second load only what the first did not meet: memory that ran out. */
  if (r->deaf && (severity != SURG_ERROR || c->ctx->error_status == SURG_EINVALID)) return;
  char word[16];
  snprintf(word, sizeof word, "%s: ", severities[severity]);
  const size_t name = r->name ? strlen(r->name) : 0; /* may hold such a word itself */
  const bool named = name && strncmp(line, r->name, name) == 0;
  const char *text = strstr(named ? line + name : line, word);
  text = text ? text + strlen(word) : line;
  if (severity != SURG_ERROR && strstr(text, "more ") && strstr(text, " are not shown")) {
    r->hidden++;
    return;
  }
  const char *code = surg__check_load_code(severity, text);
  const char *end = location_end(text);
  if (!end && severity == SURG_ERROR && c->ctx->error_status != SURG_EINVALID) {
    /* Not the model but reading it has failed. */
    if (!r->list) fprintf(stderr, "%s\n", line);
    if (r->list) show(r, severity, "E001", NULL, text);
    return;
  }
  severity = surg__check_severity(code);
  char *where = end ? strndup(text, (size_t)(end - text)) : NULL;
  show(r, severity, code, where, where ? end + 2 : text);
  free(where);
}

static void found(void *user, const surg__finding *f) {
  show(user, f->severity, f->code, f->where, f->text);
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

static surg_status load(const checking *c, surg_context *ctx, const char *path, const char *bytes,
                        size_t n, surg_load_policy policy, surg_model **m) {
  surg_load_options options = c->common.load;
  options.policy = policy;
  if (!bytes) return surg_load(ctx, path, &options, m);
  return surg_load_memory(ctx, bytes, n, strcmp(path, "-") ? path : "standard input", &options, m);
}

/* Loads for the findings of the loader, and where a model comes of it, looks into that too. */
static surg_status examine(const checking *c, surg_context *ctx, reader *r, const char *bytes,
                           size_t n) {
  surg_model *m = NULL;
  surg_status s = load(c, ctx, r->path, bytes, n, SURG_LOAD_CHECK, &m);
  surg_model_free(m);
  m = NULL;
  if (s != SURG_OK && s != SURG_EINVALID) return s;
  r->deaf = true;
  surg_context_clear_error(ctx);
  surg_status again = load(c, ctx, r->path, bytes, n, SURG_LOAD_STRICT, &m);
  if (again == SURG_OK) again = surg__check_model(m, found, r);
  if (again != SURG_OK && again != SURG_EINVALID) s = again;
  surg_model_free(m);
  return s;
}

static void finish(checking *c, reader *r, int code) {
  const bool bad = code != EXIT_DONE;
  if (!r->list) {
    if (!r->hidden) return;
    cli_put(stdout, r->path);
    printf(": note: %zu or more findings are not shown [N399]\n", r->hidden);
    return;
  }
  json_t *j = json_object();
  json_object_set_new(j, "file", cli_text_json(r->path));
  json_object_set_new(j, "findings", r->list);
  json_object_set_new(j, "hidden", json_integer((json_int_t)r->hidden));
  json_object_set_new(j, "errors", json_integer((json_int_t)r->counts[SURG_ERROR]));
  json_object_set_new(j, "warnings", json_integer((json_int_t)r->counts[SURG_WARNING]));
  json_object_set_new(j, "notes", json_integer((json_int_t)r->counts[SURG_NOTE]));
  json_object_set_new(j, "verdict",
                      json_string(code > EXIT_MODEL         ? "unread"
                                  : bad                     ? "bad"
                                  : r->counts[SURG_WARNING] ? "doubtful"
                                                            : "good"));
  json_array_append_new(c->files, j);
}

static int check_file(checking *c, const char *path) {
  reader r = {.common = &c->common, .path = path, .list = c->files ? json_array() : NULL};
  struct stat st;
  const bool once = strcmp(path, "-") == 0 || (stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
  char *bytes = NULL;
  size_t n = 0;
  int code = EXIT_DONE;
  if (once && !(bytes = slurp(c, path, &n, &code))) {
    finish(c, &r, code);
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
  surg_status s = ctx ? examine(c, ctx, &r, bytes, n) : SURG_ENOMEM;
  code = cli_exit_code(s);
  if (!ctx) fprintf(stderr, "onnxsurg: error: out of memory\n");
  if (code <= EXIT_MODEL)
    code = r.counts[SURG_ERROR] || (c->strict && r.counts[SURG_WARNING]) ? EXIT_MODEL : EXIT_DONE;
  surg_context_free(ctx);
  free(bytes);
  free(r.name);
  finish(c, &r, code);
  return code;
}

int cmd_check(int argc, char **argv) {
  static const struct option options[] = {
      {"strict", no_argument, NULL, OPT_STRICT}, CLI_COMMON_OPTIONS, {0}};
  checking c = {0};
  cli_common_init(&c.common);
  opterr = 0;
  for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    if (o == OPT_HELP) {
      fputs(help, stdout);
      return cli_flush(EXIT_DONE);
    }
    if (o == OPT_STRICT) {
      c.strict = true;
      continue;
    }
    int r = o == '?' ? cli_bad_option(argv, options) : cli_common_option(&c.common, o, optarg);
    if (r != EXIT_DONE) return r;
  }
  if (optind == argc) return cli_usage("check takes a model: `onnxsurg check IN`");
  if (c.common.json) c.files = json_array();
  int code = EXIT_DONE;
  for (int i = optind; i < argc; i++) {
    const int one = check_file(&c, argv[i]);
    if (one > code) code = one;
  }
  if (c.files) {
    json_t *j = json_object();
    json_object_set_new(j, "schema", json_integer(1));
    json_object_set_new(j, "files", c.files);
    json_dumpf(j, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(j);
  }
  return cli_flush(code);
}
