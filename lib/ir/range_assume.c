/* SPDX-License-Identifier: Apache-2.0 */
/* Assumptions of the user about the elements of a value: "x=0..1". */
#include <math.h>
#include <stdlib.h>

#include "ir/edit.h"
#include "sym/expr.h"

static surg_status wrong(const surg_model *m, const char *text, const char *what) {
  return surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m), "%s: %s", surg__q(m->ctx, text),
                     what);
}

/* Parses a number as strtod does, but rejects leading white space and NaN. */
static bool number(const char *p, double *out, const char **end) {
  char *stop;
  if (!*p || !strchr("+-.0123456789i", *p)) return false;
  *out = strtod(p, &stop);
  *end = stop;
  return stop != p && *out == *out;
}

/* Parses "LOW..HIGH". */
static bool bounds(const char *text, surg_range *r) {
  const char *dots = strstr(text, ".."), *end;
  char low[64];
  if (!dots) return false;
  const size_t n = (size_t)(dots - text);
  if (n == 0 || n >= sizeof low) return false;
  memcpy(low, text, n);
  low[n] = 0;
  return number(low, &r->low, &end) && !*end && number(dots + 2, &r->high, &end) && !*end &&
         r->low <= r->high;
}

static surg_value *find(surg_model *m, const char *text, size_t n) {
  char *name = surg__alloc(m->ctx, n + 1);
  if (!name) {
    surg__fail(m, surg__alloc_status(m->ctx));
    return NULL;
  }
  memcpy(name, text, n);
  name[n] = 0;
  surg_value *v = surg_graph_find_value(m->graph, name);
  surg__free(m->ctx, name);
  return v;
}

surg_status surg_model_assume_range(surg_model *m, const char *text) {
  surg_range r = {.assumed = true};
  const surg_status ready = surg__model_ready(m);
  if (ready != SURG_OK) return ready;
  if (!text) return SURG_EUSAGE;
  const char *eq = strrchr(text, '=');
  if (!eq || eq == text) return wrong(m, text, "expected NAME=LOW..HIGH");
  if (!bounds(eq + 1, &r)) return wrong(m, text, "expected two numbers LOW..HIGH, LOW <= HIGH");
  surg_value *v = find(m, text, (size_t)(eq - text));
  if (m->status) return m->status;
  if (!v) return wrong(m, text, "the main graph has no value of this name");
  if (surg_value_constant(v)) return wrong(m, text, "this value is a constant");
  surg_range *keep = surg__arena_alloc(&m->arena, sizeof *keep);
  if (!keep) return surg__fail(m, surg__alloc_status(m->ctx));
  assert(r.low <= r.high && v->graph == m->graph);
  r.minus_zero = r.low <= 0 && r.high >= 0;
  *keep = r;
  v->said = keep;
  m->inferred_epoch = 0; /* previous results did not use this assumption */
  return SURG_OK;
}

bool surg__assumptions_copy(surg_model *m, const surg_model *like) {
  for (const surg_value *v = like->graph->first_value; v; v = v->next) {
    surg_value *to = v->said && !v->erased ? surg_graph_find_value(m->graph, v->name) : NULL;
    if (!to) continue;
    surg_range *copy = surg__arena_alloc(&m->arena, sizeof *copy);
    if (!copy) return false;
    *copy = *v->said;
    to->said = copy;
  }
  return surg__exprs_copy(m, like);
}
