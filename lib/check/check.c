/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the checks, and how a finding becomes text. */
#include "check/check.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/diag.h"
#include "ir/ir.h"

#define TEXT_BYTES 2048

surg_severity surg__check_severity(const char *code) {
  return code[0] == 'E' ? SURG_ERROR : code[0] == 'W' ? SURG_WARNING : SURG_NOTE;
}

bool surg__check_told(const surg__checker *c) {
  return c->count < SURG__CHECK_MOST;
}

void surg__check_found(surg__checker *c, const char *code, const char *where, const char *fmt,
                       ...) {
  char text[TEXT_BYTES];
  surg__finding f = {.severity = surg__check_severity(code), .code = code};
  if (surg__check_told(c)) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    f.where = where;
    f.text = text;
  }
  c->count++;
  c->fn(c->user, &f);
}

/* Passes a failure on, with a line if nobody has said one. */
static surg_status spent(surg_model *m, surg_status s) {
  if (s != SURG_OK && !surg_context_error(m->ctx)) surg__oom(m->ctx, surg_model_path(m));
  return s;
}

surg_status surg__check_model(surg_model *m, surg__check_fn fn, void *user) {
  if (!m || !fn) return SURG_EUSAGE;
  surg_status s = surg_model_infer(m);
  if (s != SURG_OK) return spent(m, s);
  surg__checker c = {.m = m, .ctx = m->ctx, .fn = fn, .user = user};
  surg__check_types(&c);
  surg__check_declared(&c);
  surg__check_warnings(&c);
  surg__check_notes(&c);
  return spent(m, m->status != SURG_OK ? m->status : c.failed);
}

/* What loading says, by words of it. A line that is none of these speaks of a file that does not
 * hold together. */
static const struct {
  const char *words, *code;
} load_codes[] = {
    {"reads a value that is made after it", "E101"},
    {"is deprecated in opset", "E102"},
    {"no such operator in opset", "E103"},
    {"the model does not import domain", "E104"},
    {"the model imports no opset of its domain", "E104"},
    {"has no such attribute", "E105"},
    {"hides a value of an outer graph", "W205"},
    {"is a value of an outer graph", "E106"},
    {"gives no attribute", "E107"},
    {"has no attribute", "E107"},
    {"has no type", "E108"},
    {"has no name", "E109"},
    {": not defined", "E110"},
    {"external data \"", "E111"},
    {"is an output twice", "W201"},
    {"is described twice", "W202"},
    {"describes no value of this graph", "W203"},
    {"wants initializers among the inputs", "W204"},
    {"newer than the newest known", "N301"},
};

const char *surg__check_load_code(surg_severity severity, const char *line) {
  for (size_t i = 0; i < SURG_COUNT(load_codes); i++)
    if (surg__check_severity(load_codes[i].code) <= severity && strstr(line, load_codes[i].words))
      return load_codes[i].code;
  return severity == SURG_ERROR ? "E100" : severity == SURG_WARNING ? "W200" : "N300";
}
