/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about a file: from the loader and from lib/check (onnxsurg/check.h). */
#include "diagnose/checked.h"

#include "base/context.h"
#include "check/check.h"
#include "io/io.h"

/* --- diagnostics as findings --- */

/* The colon that ends the location at the start of a diagnostic, outside quotes; NULL: no
 * location. */
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

static void tell(surg_checked *c, surg_check_finding f) {
  const surg__rule_info *rule = surg__check_rule(f.code);
  f.size = sizeof f;
  f.severity = (int32_t)surg__check_severity(f.code);
  f.hint = rule->hint;
  c->sum.errors += f.severity == SURG_ERROR;
  c->sum.warnings += f.severity == SURG_WARNING;
  c->sum.notes += f.severity == SURG_NOTE;
  c->told += f.text != NULL;
  if (c->fn) c->fn(c->user, &f);
}

/* Appends the place in ONNX text, which is after the name of the file: `:4:1: error: ...`. */
static void put_line(surg__buf *b, const char *s) {
  static const char digits[] = "0123456789";
  const size_t line = *s == ':' ? strspn(s + 1, digits) : 0;
  if (!line || s[1 + line] != ':') return;
  const size_t column = strspn(s + 2 + line, digits);
  if (!column || s[2 + line + column] != ':') return;
  surg__buf_printf(b, "line %.*s, column %.*s", (int)line, s + 1, (int)column, s + 2 + line);
}

/* Converts a diagnostic, `FILE: SEVERITY: LOCATION: TEXT`, to a finding. */
static void hear(void *user, surg_severity severity, const char *line) {
  static const char *const words[] = {
      [SURG_NOTE] = "note: ", [SURG_WARNING] = "warning: ", [SURG_ERROR] = "error: "};
  _Static_assert(SURG_COUNT(words) == SURG_ERROR + 1, "a word for each severity");
  surg_checked *c = user;
  const char *code = c->code ? c->code : surg__check_load_code(c->ctx, severity);
  const size_t name = strlen(c->name); /* the file name may contain such a word */
  const char *text = strstr(strncmp(line, c->name, name) ? line : line + name, words[severity]);
  text = text ? text + strlen(words[severity]) : line;
  if (severity != SURG_ERROR && strstr(text, "more ") && strstr(text, " are not shown")) {
    c->sum.hidden++;
    return;
  }
  const char *end = location_end(text);
  if (c->code && !end && c->sum.errors) return; /* only repeats that the pass failed */
  if (!end && severity == SURG_ERROR && c->ctx->line_status != SURG_EINVALID) {
    /* The file could not be read: this is not a defect of the model. */
    tell(c, (surg_check_finding){.code = "E001", .text = text, .line = line});
    return;
  }
  surg__buf where;
  surg__buf_init(&where, c->ctx);
  if (end)
    surg__buf_put(&where, text, (size_t)(end - text));
  else if (strncmp(line, c->name, name) == 0)
    put_line(&where, line + name);
  const bool split = end && !where.failed;
  tell(c, (surg_check_finding){.code = code,
                               .where = where.n && !where.failed ? where.p : NULL,
                               .text = split ? end + 2 : text,
                               .pass = surg__check_rule(code)->pass,
                               .loaded = !c->code});
  surg__buf_free(&where);
}

/* From now on diagnostics of the context are findings. */
static void listen(surg_checked *c) {
  c->diag = c->ctx->config.diag;
  c->diag_user = c->ctx->config.diag_user;
  c->ctx->config.diag = hear;
  c->ctx->config.diag_user = c;
}

static void unlisten(surg_checked *c) {
  c->ctx->config.diag = c->diag;
  c->ctx->config.diag_user = c->diag_user;
}

static void found(void *user, const surg__finding *f) {
  tell(user,
       (surg_check_finding){.code = f->code, .where = f->where, .text = f->text, .pass = f->pass});
}

/* --- the object --- */

static surg_status open_file(surg_checked *c) {
  surg_load_options options = c->load;
  options.max_findings = c->most > UINT32_MAX ? UINT32_MAX : (uint32_t)c->most;
  const char *name = c->bytes && strcmp(c->path, "-") == 0 ? "standard input" : c->path;
  listen(c);
  const surg_status s =
      surg__load_check_file(c->ctx, name, c->bytes, c->n_bytes, &options, &c->sum.partial, &c->m);
  unlisten(c);
  c->sum.status = (int32_t)s;
  if (c->m) surg_context_clear_error(c->ctx); /* later errors are not from loading */
  return s == SURG_ENOMEM ? s : SURG_OK;
}

static bool set_up(surg_checked *c, const char *path, const surg_check_options *o) {
  surg__buf name;
  surg__buf_init(&name, c->ctx);
  surg__buf_escape(&name, path, strlen(path), 0);
  c->path = surg__strdup(c->ctx, path);
  c->most = o->most ? o->most : SURG_LIMIT_FINDINGS;
  c->bytes = o->bytes;
  c->n_bytes = o->n_bytes;
  c->fn = o->fn;
  c->user = o->user;
  surg__struct_in(&c->load, sizeof c->load, o->load);
  c->load.size = sizeof c->load;
  return surg__buf_give(&name, &c->name) == SURG_OK && c->path;
}

surg_status surg_check_file(surg_context *ctx, const char *path, const surg_check_options *options,
                            surg_checked **out) {
  surg_check_options o;
  if (out) *out = NULL;
  if (!ctx || !path || !out) return SURG_EUSAGE;
  surg__struct_in(&o, sizeof o, options);
  if (o.n_bytes && !o.bytes) return SURG_EUSAGE;
  surg_checked *c = surg__calloc(ctx, 1, sizeof *c);
  if (!c) return surg__oom(ctx, NULL);
  c->ctx = ctx;
  c->sum.size = sizeof c->sum;
  const surg_status s = set_up(c, path, &o) ? open_file(c) : surg__oom(ctx, NULL);
  if (s == SURG_OK)
    *out = c;
  else
    surg_checked_free(c);
  return s;
}

surg_model *surg_checked_model(const surg_checked *c) {
  return c ? c->m : NULL;
}

surg_status surg_checked_look(surg_checked *c) {
  if (!c) return SURG_EUSAGE;
  if (!c->m) return SURG_OK;
  listen(c);
  const surg_status s =
      surg__check_model(c->m, !c->sum.partial, c->told < c->most ? c->most - c->told : 0, found, c);
  unlisten(c);
  return s;
}

surg_status surg_checked_try(surg_checked *c, const char *pipeline, const char *where,
                             const surg_run_options *options, bool *possible) {
  if (possible) *possible = false;
  if (!c || !c->m || !pipeline) return SURG_EUSAGE;
  surg_run_options o;
  surg_pipeline *p = NULL;
  surg__struct_in(&o, sizeof o, options);
  o.size = sizeof o;
  o.dry_run = true;
  listen(c);
  c->code = "E135";
  surg_status s = surg_pipeline_parse(c->ctx, pipeline, where, &p);
  if (s == SURG_OK) s = surg_pipeline_run(p, &c->m, &o, NULL);
  c->code = NULL;
  unlisten(c);
  surg_pipeline_free(p);
  if (possible) *possible = s == SURG_OK;
  return s;
}

surg_status surg_checked_get(const surg_checked *c, surg_checked_summary *out) {
  if (!c || !out) return SURG_EUSAGE;
  surg__struct_out(out, &c->sum, sizeof c->sum);
  return SURG_OK;
}

surg_status surg__checked_load(const surg_checked *c, surg_model **out) {
  surg_load_options options = c->load;
  options.policy = SURG_LOAD_LENIENT;
  return c->bytes ? surg_model_load_memory(c->ctx, c->bytes, c->n_bytes, c->name, &options, out)
                  : surg_model_load(c->ctx, c->path, &options, out);
}

void surg_checked_free(surg_checked *c) {
  if (!c) return;
  surg_model_free(c->m);
  surg__free(c->ctx, c->path);
  surg__free(c->ctx, c->name);
  surg__free(c->ctx, c);
}
