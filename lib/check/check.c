/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the checks in order, and converts findings to text. */
#include "check/check.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/diag.h"
#include "infer/infer.h"
#include "ir/ir.h"

#define TEXT_BYTES 2048

bool surg__check_has_text(const surg__checker *c) {
  return c->count < c->most;
}

void surg__check_found(surg__checker *c, const char *code, const char *where, const char *fmt,
                       ...) {
  char text[TEXT_BYTES];
  if (c->believed && surg__check_severity(code) != SURG_ERROR) {
    c->since = (surg__since){0};
    c->pass = c->attr = NULL;
    return;
  }
  const int put = c->believed ? snprintf(text, sizeof text, "with its declared shapes, ") : 0;
  if (c->believed) code = "W227";
  surg__finding f = {.severity = surg__check_severity(code),
                     .code = code,
                     .node = c->node,
                     .graph = c->graph,
                     .value = c->value,
                     .attr = c->attr,
                     .since = c->since};
  c->overlooked = f.since.from != 0;
  c->since = (surg__since){0};
  f.pass = c->pass ? c->pass : surg__check_rule(code)->pass;
  c->pass = NULL;
  c->attr = NULL;
  if (surg__check_has_text(c)) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(text + put, sizeof text - (size_t)put, fmt, args);
    va_end(args);
    f.where = where;
    f.text = text;
  }
  c->count++;
  c->fn(c->user, &f);
}

const char *surg__check_place(surg__checker *c, const surg_graph *g, const char *list,
                              const char *name) {
  snprintf(c->place, sizeof c->place, "%s.%s %s", surg__locate_graph(g), list,
           surg__q(c->ctx, name));
  return c->place;
}

void surg__check_unmark(surg_model *m) {
  for (surg_graph *g = m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next) n->scratch = NULL;
}

/* Forwards a failure; reports it as out of memory if no error was reported yet. */
static surg_status spent(surg_model *m, surg_status s) {
  if (s != SURG_OK && !surg_context_error(m->ctx)) surg__oom(m->ctx, surg_model_path(m));
  return s;
}

surg_status surg__check_calls(surg_model *m, size_t most, surg__check_fn fn, void *user) {
  if (!m || !fn) return SURG_EUSAGE;
  surg_status s = surg__infer_functions(m);
  if (s != SURG_OK) return spent(m, s);
  surg__checker c = {.m = m, .ctx = m->ctx, .fn = fn, .user = user, .most = most};
  surg__check_unmark(m);
  surg__check_types(&c);
  return spent(m, m->status != SURG_OK ? m->status : c.failed);
}

static void ignore(void *user, const surg__finding *f) {
  (void)user;
  (void)f;
}

surg_status surg__check_mark(surg_model *m) {
  surg__checker c = {.m = m, .ctx = m->ctx, .fn = ignore};
  surg__check_unmark(m);
  surg__check_types(&c);
  return spent(m, m->status != SURG_OK ? m->status : c.failed);
}

surg_status surg__check_model(surg_model *m, bool whole, size_t most, surg__check_fn fn,
                              void *user) {
  if (!m || !fn) return SURG_EUSAGE;
  surg_status s = surg_model_infer(m);
  if (s != SURG_OK) return spent(m, s);
  surg__checker c = {.m = m, .ctx = m->ctx, .fn = fn, .user = user, .most = most};
  surg__check_unmark(m);
  surg__check_types(&c);
  surg__check_custom(&c);
  surg__check_declared(&c);
  surg__check_usage(&c);
  surg__check_versions(&c);
  surg__check_domains(&c);
  if (whole) {
    surg__check_believed(&c);
    if (!m->graph->n_out)
      surg__check_found(&c, "W216", surg__locate_graph(m->graph), "has no outputs");
    surg__check_idle(&c);
    surg__check_baked(&c);
  }
  return spent(m, m->status != SURG_OK ? m->status : c.failed);
}
