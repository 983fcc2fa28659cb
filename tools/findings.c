/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the findings of one file from the loader and from lib/check. */
#include "findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "io/io.h"

/* The colon that ends the location at the start of a diagnostic, outside quotes; NULL: no
 * location. */
static const char *location_end(const char *line) {
  static const char *const starts[] = {"graph", "function",      "model",        "subgraph",
                                       "byte ", "training_info", "opset_import", "metadata"};
  size_t i = 0;
  while (i < CLI_COUNT(starts) && strncmp(line, starts[i], strlen(starts[i])) != 0) i++;
  if (i == CLI_COUNT(starts)) return NULL;
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

static void tell(findings *f, const finding *what) {
  if (surg__check_severity(what->code) == SURG_ERROR) f->errors++;
  if (what->text) f->told++;
  f->fn(f->user, what);
}

/* Converts a diagnostic of the loader, `FILE: SEVERITY: LOCATION: TEXT`, to a finding. */
static void heard(void *user, surg_severity severity, const char *line) {
  static const char *const words[] = {
      [SURG_NOTE] = "note: ", [SURG_WARNING] = "warning: ", [SURG_ERROR] = "error: "};
  _Static_assert(CLI_COUNT(words) == SURG_ERROR + 1, "a word for each severity");
  findings *f = user;
  const char *code = f->code ? f->code : surg__check_load_code(f->ctx, severity);
  const size_t name = f->name ? strlen(f->name) : 0; /* the file name may contain such a word */
  const bool named = name && strncmp(line, f->name, name) == 0;
  const char *text = strstr(named ? line + name : line, words[severity]);
  text = text ? text + strlen(words[severity]) : line;
  if (severity != SURG_ERROR && strstr(text, "more ") && strstr(text, " are not shown")) {
    f->hidden++;
    return;
  }
  const char *end = location_end(text);
  if (f->code && !end && f->errors) return; /* only repeats that the pass failed */
  if (!end && severity == SURG_ERROR && f->ctx->line_status != SURG_EINVALID) {
    /* The file could not be read: this is not a defect of the model. */
    tell(f, &(finding){.code = "E001", .text = text, .line = line});
    return;
  }
  char *where = end ? strndup(text, (size_t)(end - text)) : NULL;
  tell(f, &(finding){.code = code,
                     .where = where,
                     .text = where ? end + 2 : text,
                     .pass = surg__check_rule(code)->pass});
  free(where);
}

static void found(void *user, const surg__finding *x) {
  tell(user, &(finding){.code = x->code, .where = x->where, .text = x->text, .pass = x->pass});
}

/* Reads all of standard input or a pipe, which cannot be read twice. Returns NULL after printing
 * an error. */
static char *slurp(const cli_common *c, const char *path, size_t *n, int *code) {
  const uint64_t most = c->max_memory ? c->max_memory : SURG_LIMIT_MEMORY;
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

int findings_open(findings *f, const cli_common *common, const char *path) {
  struct stat st;
  const bool once = strcmp(path, "-") == 0 || (stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
  int code = EXIT_DONE;
  if (!f->most) f->most = SURG_LIMIT_FINDINGS;
  if (once && !(f->bytes = slurp(common, path, &f->n_bytes, &code))) return code;
  const surg_config config = {.size = sizeof config,
                              .diag = heard,
                              .diag_user = f,
                              .max_memory = common->max_memory,
                              .max_depth = common->max_depth};
  f->ctx = surg_context_new(&config);
  f->name = cli_escaped(path, 0);
  if (!f->ctx || cli_schemas(f->ctx, common) != EXIT_DONE) {
    cli_no_memory();
    return EXIT_LIMIT;
  }
  surg_load_options options = common->load;
  options.max_findings = f->most;
  const char *name = f->bytes && strcmp(path, "-") == 0 ? "standard input" : path;
  const surg_status s =
      surg__load_check_file(f->ctx, name, f->bytes, f->n_bytes, &options, &f->partial, &f->m);
  if (f->m) surg_context_clear_error(f->ctx); /* later errors are not from loading */
  return cli_exit_code(s);
}

surg_status findings_look(findings *f) {
  const size_t left = f->told < f->most ? f->most - f->told : 0;
  return surg__check_model(f->m, !f->partial, left, found, f);
}

void findings_close(findings *f) {
  if (f->m) surg_model_free(f->m);
  surg_context_free(f->ctx);
  free(f->bytes);
  free(f->name);
  f->m = NULL;
  f->ctx = NULL;
  f->bytes = f->name = NULL;
}
