/* SPDX-License-Identifier: Apache-2.0 */
#include "hints.h"

#include <string.h>

static bool is_call(const surg__rexpr *e, const char *name) {
  return e->op == SURG__E_CALL && !strcmp(e->fn->name, name);
}

/* Expressions that say the same of every model. */
static bool fixed(const surg__rexpr *e) {
  if (e->op == SURG__E_VAR || (e->op == SURG__E_CALL && e->fn->about_value)) return false;
  for (uint16_t i = 0; i < e->n; i++)
    if (!fixed(e->args[i])) return false;
  return true;
}

static void value_hint(hints *h, uint16_t var, surg__rvalue v) {
  if (v.kind != SURG__R_UNKNOWN && h->n_values[var] < HINTS) h->values[var][h->n_values[var]++] = v;
}

static void dtype_hint(hints *h, uint16_t var, const surg__rvalue *v) {
  if (h->n_dtypes[var] < HINTS && v->one.known) h->dtypes[var][h->n_dtypes[var]++] = (int)v->one.i;
}

/* `name OP literal` in either order. */
static void compared(hints *h, surg__match *m, const surg__rexpr *name, const surg__rexpr *with) {
  if (with->op == SURG__E_LIST) {
    for (uint16_t i = 0; i < with->n; i++) compared(h, m, name, with->args[i]);
    return;
  }
  if (!fixed(with)) return;
  const surg__rvalue v = surg__reval(m, with);
  if (name->op == SURG__E_VAR) value_hint(h, name->var, v);
  if (name->op != SURG__E_CALL) return;
  if (is_call(name, "dtype") && v.kind == SURG__R_DTYPE) dtype_hint(h, name->var, &v);
  if (is_call(name, "rank") && v.kind == SURG__R_INT) h->ranks[name->var] = (int8_t)v.one.i;
  if (is_call(name, "scalar")) value_hint(h, name->var, v);
  if ((is_call(name, "least") || is_call(name, "len")) && is_call(name->args[0], "ints"))
    value_hint(h, name->args[0]->var, v);
}

static void walk(hints *h, surg__match *m, const surg__rexpr *e, bool holds) {
  if (!e) return;
  /* Not that it is constant: then it need be none. */
  if (e->op == SURG__E_NOT && is_call(e->args[0], "const")) return;
  const bool compares = e->op >= SURG__E_EQ && e->op <= SURG__E_IN;
  if (compares && e->n == 2 && e->op != SURG__E_NE) {
    compared(h, m, e->args[0], e->args[1]);
    if (e->op != SURG__E_IN) compared(h, m, e->args[1], e->args[0]);
  }
  if (e->op == SURG__E_CALL && e->fn->about_value) {
    if (holds && is_call(e, "absent")) h->absent[e->var] = true;
    if (holds && is_call(e, "present")) h->present[e->var] = true;
    if (is_call(e, "low") || is_call(e, "high")) h->ranges = true;
    if (is_call(e, "const") || is_call(e, "finite") || is_call(e, "ints") ||
        is_call(e, "floats") || is_call(e, "scalar") || is_call(e, "all") ||
        is_call(e, "peak") || is_call(e, "tiniest"))
      h->constant[e->var] = true;
    if (is_call(e, "all") && e->n && fixed(e->args[0]))
      value_hint(h, e->var, surg__reval(m, e->args[0]));
  }
  for (uint16_t i = 0; i < e->n; i++) walk(h, m, e->args[i], holds && e->op == SURG__E_AND);
}

static void block(hints *h, surg__match *m, const surg__rblock *b) {
  walk(h, m, b->guard, true);
  if (b->guard && is_call(b->guard, "absent")) h->absent[b->guard->var] = true;
  for (uint16_t k = 0; k < b->n; k++) {
    const surg__rstmt *s = &b->stmts[k];
    walk(h, m, s->expr, false);
    for (uint16_t i = 0; s->kind == SURG__S_NODE && i < s->n_in; i++) {
      walk(h, m, s->in[i].expr, false);
      walk(h, m, s->in[i].dtype, false);
    }
    for (uint16_t i = 0; s->kind == SURG__S_NODE && i < s->n_attrs; i++)
      walk(h, m, s->attrs[i].expr, false);
  }
}

void hints_of(hints *h, surg__match *m, const surg_rule *r, const surg__rblock *target) {
  /* Lists are as long as their counts say: 100 KiB that need not be cleared. */
  memset(h->n_dtypes, 0, sizeof h->n_dtypes);
  memset(h->n_values, 0, sizeof h->n_values);
  memset(h->constant, 0, sizeof h->constant);
  memset(h->absent, 0, sizeof h->absent);
  memset(h->present, 0, sizeof h->present);
  h->ranges = false;
  memset(h->ranks, -1, sizeof h->ranks);
  block(h, m, &r->match);
  block(h, m, target);
}
