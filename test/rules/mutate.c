/* SPDX-License-Identifier: Apache-2.0 */
/* Small mistakes, as one makes them: a constant off, operands the wrong way round, a neighbouring
 * operator, a guard forgotten. */
#include <stdio.h>
#include <string.h>

#include "rules.h"

static const char *const siblings[][2] = {
    {"Add", "Sub"},
    {"Mul", "Div"},
    {"Less", "Greater"},
    {"And", "Or"},
    {"Max", "Min"},
    {"Floor", "Ceil"},
    {"Sqrt", "Neg"},
    {"Exp", "Neg"},
    {"Not", "Identity"},
    {"ReduceMean", "ReduceMax"},
    {"ReduceSum", "ReduceMax"},
    {"Xor", "Or"},
    {"Sigmoid", "Tanh"},
    {"Softplus", "Relu"},
    {"Round", "Floor"},
    {"Abs", "Neg"},
    {"Identity", "Neg"},
    {"Reciprocal", "Neg"},
    {"Erf", "Tanh"},
    {"Relu", "Abs"},
    {"Log", "Abs"},
    {"Equal", "Less"},
    {"Pow", "Mul"},
    {"Elu", "Relu"},
    {"MatMul", "Mul"},
    {"Softmax", "LogSoftmax"},
    {"ArgMax", "ArgMin"},
    {"IsNaN", "IsInf"},
};

static bool save(mutant *m, void *at, size_t size) {
  if (size > sizeof m->old) return false;
  m->at = at;
  m->size = size;
  memcpy(m->old, at, size);
  return true;
}

/* The literals of an expression, counted; the `k`-th of them. */
static const surg__rexpr *literal(const surg__rexpr *e, unsigned *k) {
  if (!e) return NULL;
  if (e->op == SURG__E_LITERAL &&
      (e->literal.kind == SURG__R_INT || e->literal.kind == SURG__R_FLOAT))
    return (*k)-- == 0 ? e : NULL;
  for (uint16_t i = 0; i < e->n; i++) {
    const surg__rexpr *found = literal(e->args[i], k);
    if (found) return found;
  }
  return NULL;
}

static const surg__rexpr *literal_of(const surg__rblock *b, unsigned k) {
  for (uint16_t i = 0; i < b->n; i++) {
    const surg__rstmt *s = &b->stmts[i];
    const surg__rexpr *e = literal(s->expr, &k);
    for (uint16_t j = 0; !e && s->kind == SURG__S_NODE && j < s->n_in; j++)
      e = literal(s->in[j].expr, &k);
    for (uint16_t j = 0; !e && s->kind == SURG__S_NODE && j < s->n_attrs; j++)
      e = literal(s->attrs[j].expr, &k);
    if (e) return e;
  }
  return NULL;
}

static bool change_literal(surg__rblock *b, dice *d, mutant *m, char *what) {
  unsigned n = 0;
  while (literal_of(b, n)) n++;
  if (!n) return false;
  surg__rexpr *e = (surg__rexpr *)(uintptr_t)literal_of(b, roll(d, n));
  if (!save(m, &e->literal.one, sizeof e->literal.one)) return false;
  if (e->literal.kind == SURG__R_INT) {
    const int64_t old = e->literal.one.i;
    e->literal.one.i = old == INT64_MAX || old == INT64_MIN ? 1 : chance(d, 50) ? old + 1 : old - 1;
    snprintf(what, 100, "%s: %lld becomes %lld", m->where, (long long)old,
             (long long)e->literal.one.i);
  } else {
    const double old = e->literal.one.f;
    e->literal.one.f = old * 1.5 + 0.25;
    snprintf(what, 100, "%s: %g becomes %g", m->where, old, e->literal.one.f);
  }
  return true;
}

static surg__rstmt *node_of(surg__rblock *b, dice *d) {
  for (int i = 0; i < 20 && b->n; i++) {
    surg__rstmt *s = &b->stmts[roll(d, b->n)];
    if (s->kind == SURG__S_NODE) return s;
  }
  return NULL;
}

static bool swap_inputs(surg__rblock *b, dice *d, mutant *m, char *what) {
  surg__rstmt *s = node_of(b, d);
  if (!s || s->n_in < 2 || sizeof(surg__rarg) * 2 > sizeof m->old) return false;
  /* The order says nothing there. */
  static const char *const free[] = {"Add",   "Mul", "And", "Or", "Xor",
                                     "Equal", "Max", "Min", "Sum"};
  for (size_t i = 0; i < SURG_COUNT(free); i++)
    if (!strcmp(s->op_type, free[i])) return false;
  if (s->in[0].kind == s->in[1].kind && s->in[0].kind == SURG__A_VALUE &&
      s->in[0].var == s->in[1].var)
    return false;
  if (!save(m, s->in, 2 * sizeof *s->in)) return false;
  const surg__rarg t = s->in[0];
  s->in[0] = s->in[1];
  s->in[1] = t;
  snprintf(what, 100, "%s: inputs of %s swapped", m->where, s->op_type);
  return true;
}

static bool change_op(surg__rblock *b, dice *d, mutant *m, char *what) {
  surg__rstmt *s = node_of(b, d);
  if (!s || *s->domain) return false;
  const size_t start = roll(d, SURG_COUNT(siblings));
  for (size_t i = 0; i < 2 * SURG_COUNT(siblings); i++) {
    const char *const *pair = siblings[(start + i / 2) % SURG_COUNT(siblings)];
    if (strcmp(s->op_type, pair[i % 2])) continue;
    const char *other = pair[1 - i % 2];
    /* The other one may take more or fewer inputs. */
    const surg_schema *x = surg_schema_find("", s->op_type, 21),
                      *y = surg_schema_find("", other, 21);
    if (!x || !y || x->n_inputs != y->n_inputs) continue;
    if (!save(m, &s->op_type, sizeof s->op_type)) return false;
    snprintf(what, 100, "%s: %s becomes %s", m->where, s->op_type, other);
    m->stmt = s;
    m->old_op = s->op;
    s->op_type = other;
    s->op = surg_schema_op(y);
    return true;
  }
  return false;
}

/* Types alone: operators are asked for them again when they are made. */
static bool types_only(const surg__rexpr *e) {
  if (e->op == SURG__E_CALL && e->fn->about_value) return !strcmp(e->fn->name, "dtype");
  if (e->op == SURG__E_VAR) return false;
  for (uint16_t i = 0; i < e->n; i++)
    if (!types_only(e->args[i])) return false;
  return true;
}

/* One of the conditions that `and` joins, or the whole guard. */
static bool drop_guard(surg__rblock *b, dice *d, mutant *m, char *what) {
  if (!b->guard || types_only(b->guard)) return false;
  if (!save(m, &b->guard, sizeof b->guard)) return false;
  if (b->guard->op == SURG__E_AND) {
    const unsigned keep = roll(d, 2);
    if (types_only(b->guard->args[!keep])) return false;
    b->guard = b->guard->args[keep];
    snprintf(what, 100, "%s: the %s half of the guard dropped", m->where,
             keep ? "left" : "right");
  } else {
    b->guard = NULL;
    snprintf(what, 100, "%s: the guard dropped", m->where);
  }
  return true;
}

/* A condition of the pattern on an attribute no longer holds the rule back. */
static bool free_attr(surg__rblock *b, dice *d, mutant *m, char *what) {
  surg__rstmt *s = node_of(b, d);
  if (!s || s->more_attrs || s->n_attrs == 0) return false;
  const surg_schema *schema =
      surg_schema_find(s->domain, s->op_type, surg_schema_newest(s->domain));
  if (!schema || schema->n_attrs <= s->n_attrs) return false;
  if (!save(m, &s->more_attrs, sizeof s->more_attrs)) return false;
  s->more_attrs = true;
  snprintf(what, 100, "%s: other attributes of %s let through", m->where, s->op_type);
  return true;
}

/* Parts of the pattern's guard are asked before it, as soon as a value is known. */
static void swap_early(mutant *m) {
  for (uint16_t i = 0; m->rule && i < m->rule->n_vars && i < SURG_COUNT(m->early); i++) {
    const surg__rexpr *was = m->rule->vars[i].early;
    m->rule->vars[i].early = m->early[i];
    m->early[i] = was;
  }
}

bool mutant_make(surg_context *ctx, surg_rule *r, dice *d, mutant *m, char *what) {
  (void)ctx;
  memset(m, 0, sizeof *m);
  for (int i = 0; i < 30; i++) {
    m->emit = roll(d, r->n_emits);
    surg__rblock *b = &r->emits[m->emit];
    const unsigned how = roll(d, 10);
    surg__rblock *guarded = how == 8 && chance(d, 20) ? &r->match : b;
    snprintf(m->where, sizeof m->where, "emission %u", m->emit + 1);
    if (how == 9 || guarded == &r->match) snprintf(m->where, sizeof m->where, "pattern");
    if (how < 3 && change_literal(b, d, m, what)) return true;
    if (how >= 3 && how < 5 && swap_inputs(b, d, m, what)) return true;
    if (how >= 5 && how < 8 && change_op(b, d, m, what)) return true;
    if (how == 8 && drop_guard(guarded, d, m, what)) {
      m->rule = guarded == &r->match ? r : NULL;
      swap_early(m);
      return true;
    }
    if (how == 9 && free_attr(&r->match, d, m, what)) return true;
  }
  return false;
}

void mutant_swap(mutant *m) {
  unsigned char was[sizeof m->old];
  memcpy(was, m->at, m->size);
  memcpy(m->at, m->old, m->size);
  memcpy(m->old, was, m->size);
  swap_early(m);
  if (!m->stmt) return;
  const int op = m->stmt->op;
  m->stmt->op = m->old_op;
  m->old_op = op;
}
