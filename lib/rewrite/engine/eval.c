/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates expressions of guards and emissions. Three-valued: the result is unknown if
 * an operand is, unless the other operand decides. Total: overflow, division by zero and
 * the like give unknown. */
#include "infer/infer.h"
#include "rewrite/lang/rule.h"

static const surg__rvalue unknown = {.kind = SURG__R_UNKNOWN};

static surg__rvalue boolean(bool b) {
  return (surg__rvalue){.kind = SURG__R_BOOL, .one = {.known = true, .i = b}};
}

static bool is_true(const surg__rvalue *v) { return v->kind == SURG__R_BOOL && v->one.i; }
static bool is_false(const surg__rvalue *v) { return v->kind == SURG__R_BOOL && !v->one.i; }

static bool is_list(const surg__rvalue *v) {
  return v->kind == SURG__R_INTS || v->kind == SURG__R_FLOATS;
}
static bool is_number(const surg__rvalue *v) {
  return v->kind == SURG__R_INT || v->kind == SURG__R_FLOAT;
}

/* --- attributes --- */

static surg__rvalue ints_value(surg__match *m, const int64_t *v, size_t n) {
  surg__rnum *items =
      n <= SURG__RULE_LIST ? surg__arena_array(m->arena, n + 1, sizeof *items) : NULL;
  if (!items) return unknown;
  for (size_t i = 0; i < n; i++) items[i] = (surg__rnum){.known = true, .i = v[i]};
  return (surg__rvalue){.kind = SURG__R_INTS, .items = items, .n = n};
}

static surg__rvalue floats_value(surg__match *m, const float *v, size_t n) {
  surg__rnum *items =
      n <= SURG__RULE_LIST ? surg__arena_array(m->arena, n + 1, sizeof *items) : NULL;
  if (!items) return unknown;
  for (size_t i = 0; i < n; i++) items[i] = (surg__rnum){.known = true, .f = (double)v[i]};
  return (surg__rvalue){.kind = SURG__R_FLOATS, .items = items, .n = n};
}

surg__rvalue surg__rvalue_of_attr(surg__match *m, const surg_attr *a) {
  surg__rvalue v = {.kind = SURG__R_OPAQUE};
  if (surg_attr_ref(a)) return v; /* the referenced value is unknown here */
  switch (surg_attr_get_kind(a)) {
    case SURG_ATTR_INT:
      v.kind = SURG__R_INT;
      v.one = (surg__rnum){.known = true, .i = surg_attr_int(a)};
      break;
    case SURG_ATTR_FLOAT:
      v.kind = SURG__R_FLOAT;
      v.one = (surg__rnum){.known = true, .f = (double)surg_attr_float(a)};
      break;
    case SURG_ATTR_STRING:
      v.kind = SURG__R_STRING;
      v.s = surg_attr_string(a);
      break;
    case SURG_ATTR_INTS: {
      size_t n;
      const int64_t *p = surg_attr_ints(a, &n);
      return ints_value(m, p, n);
    }
    case SURG_ATTR_FLOATS: {
      size_t n;
      const float *p = surg_attr_floats(a, &n);
      return floats_value(m, p, n);
    }
    case SURG_ATTR_TENSOR: {
      const surg_tensor *t = surg_attr_tensor(a, 0);
      const surg__rvalue list = t ? surg__rvalue_of_tensor(m, t) : unknown;
      return list.kind == SURG__R_UNKNOWN ? v : list;
    }
    case SURG_ATTR_STRINGS:
      v.kind = SURG__R_STRINGS;
      v.strings = surg_attr_strings(a, &v.n);
      break;
    default: break;
  }
  return v;
}

surg__rvalue surg__rvalue_of_default(surg__match *m, const surg__attr_def *d) {
  surg__rvalue v = unknown;
  if (!d || !d->has_default) return v;
  v.one.known = true;
  switch (d->kind) {
    case SURG_ATTR_INT:
      v.kind = SURG__R_INT;
      v.one.i = d->i;
      break;
    case SURG_ATTR_FLOAT:
      v.kind = SURG__R_FLOAT;
      v.one.f = (double)d->f;
      break;
    case SURG_ATTR_STRING:
      v.kind = SURG__R_STRING;
      v.s = (surg_str){d->s, d->s ? strlen(d->s) : 0};
      break;
    case SURG_ATTR_INTS: return ints_value(m, d->ints, d->n);
    case SURG_ATTR_FLOATS: return floats_value(m, d->floats, d->n);
    default: break;
  }
  return v;
}

/* --- equality --- */

static bool num_equal(surg__rkind kind, const surg__rnum *a, const surg__rnum *b, bool *known) {
  *known = true;
  if (a->known && b->known) return kind == SURG__R_FLOATS ? a->f == b->f : a->i == b->i;
  if (!a->known && !b->known && surg__dim_same(a->dim, b->dim)) return true;
  *known = false;
  return false;
}

static double as_float(surg__rkind kind, const surg__rnum *n) {
  return kind == SURG__R_FLOAT || kind == SURG__R_FLOATS ? n->f : (double)n->i;
}

bool surg__rvalue_equal(const surg__rvalue *a, const surg__rvalue *b, bool *known) {
  *known = a->kind != SURG__R_UNKNOWN && b->kind != SURG__R_UNKNOWN &&
           a->kind != SURG__R_OPAQUE && b->kind != SURG__R_OPAQUE;
  if (!*known) return false;
  if (is_number(a) && is_number(b) && a->kind != b->kind) {
    *known = a->one.known && b->one.known;
    return *known && as_float(a->kind, &a->one) == as_float(b->kind, &b->one);
  }
  if (a->kind != b->kind) {
    /* `[]` may be a list of integers or of floats. */
    if (is_list(a) && is_list(b)) return a->n == 0 && b->n == 0;
    return false;
  }
  switch (a->kind) {
    case SURG__R_STRING: return a->s.n == b->s.n && (!a->s.n || !memcmp(a->s.p, b->s.p, a->s.n));
    case SURG__R_FLOAT: return num_equal(SURG__R_FLOATS, &a->one, &b->one, known);
    case SURG__R_INT: return num_equal(SURG__R_INTS, &a->one, &b->one, known);
    case SURG__R_BOOL:
    case SURG__R_DTYPE: return a->one.i == b->one.i;
    case SURG__R_STRINGS: *known = false; return false;
    default: break;
  }
  if (a->n != b->n) return false;
  bool all = true;
  for (size_t i = 0; i < a->n; i++) {
    bool one;
    const bool same = num_equal(a->kind, &a->items[i], &b->items[i], &one);
    if (one && !same) return false; /* one pair that is known to differ decides */
    all &= one;
  }
  *known = all;
  return all;
}

/* --- arithmetic --- */

static bool int_arith(surg__rop op, int64_t a, int64_t b, int64_t *r) {
  switch (op) {
    case SURG__E_ADD: return surg__add_i64(a, b, r);
    case SURG__E_SUB: return surg__sub_i64(a, b, r);
    case SURG__E_MUL: return surg__mul_i64(a, b, r);
    default: break;
  }
  assert(op == SURG__E_DIV || op == SURG__E_MOD);
  if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
  int64_t q = a / b, rest = a % b;
  if (rest && (rest < 0) != (b < 0)) q--, rest += b;
  *r = op == SURG__E_DIV ? q : rest;
  return true;
}

static surg__rnum num_arith(surg__rop op, bool real, surg__rkind ka, const surg__rnum *a,
                            surg__rkind kb, const surg__rnum *b) {
  surg__rnum r = {.dim = {.value = -1}};
  if (!a->known || !b->known) return r;
  if (!real) {
    r.known = int_arith(op, a->i, b->i, &r.i);
    return r;
  }
  const double x = as_float(ka, a), y = as_float(kb, b);
  r.known = true;
  switch (op) {
    case SURG__E_ADD: r.f = x + y; break;
    case SURG__E_SUB: r.f = x - y; break;
    case SURG__E_MUL: r.f = x * y; break;
    case SURG__E_DIV: r.f = x / y; break;
    default: r.known = false;
  }
  return r;
}

/* Element-wise arithmetic of numbers and of lists of one length; a number broadcasts to a list. */
static surg__rvalue arith(surg__match *m, surg__rop op, const surg__rvalue *a,
                          const surg__rvalue *b) {
  const bool lists = is_list(a) || is_list(b);
  if ((!is_number(a) && !is_list(a)) || (!is_number(b) && !is_list(b))) return unknown;
  const bool real = a->kind == SURG__R_FLOAT || a->kind == SURG__R_FLOATS ||
                    b->kind == SURG__R_FLOAT || b->kind == SURG__R_FLOATS;
  if (!lists) {
    surg__rvalue v = {.kind = real ? SURG__R_FLOAT : SURG__R_INT};
    v.one = num_arith(op, real, a->kind, &a->one, b->kind, &b->one);
    return v.one.known ? v : unknown;
  }
  if (is_list(a) && is_list(b) && a->n != b->n) return unknown;
  const size_t n = is_list(a) ? a->n : b->n;
  surg__rnum *items = surg__arena_array(m->arena, n + 1, sizeof *items);
  if (!items) return unknown;
  for (size_t i = 0; i < n; i++)
    items[i] = num_arith(op, real, a->kind, is_list(a) ? &a->items[i] : &a->one, b->kind,
                         is_list(b) ? &b->items[i] : &b->one);
  return (surg__rvalue){.kind = real ? SURG__R_FLOATS : SURG__R_INTS, .items = items, .n = n};
}

static surg__rvalue compare(surg__rop op, const surg__rvalue *a, const surg__rvalue *b) {
  bool known;
  assert(op >= SURG__E_EQ && op <= SURG__E_GE);
  if (op == SURG__E_EQ || op == SURG__E_NE) {
    const bool same = surg__rvalue_equal(a, b, &known);
    return known ? boolean(same == (op == SURG__E_EQ)) : unknown;
  }
  if (!is_number(a) || !is_number(b) || !a->one.known || !b->one.known) return unknown;
  bool less, more;
  if (a->kind == SURG__R_INT && b->kind == SURG__R_INT) {
    less = a->one.i < b->one.i;
    more = a->one.i > b->one.i;
  } else {
    const double x = as_float(a->kind, &a->one), y = as_float(b->kind, &b->one);
    if (x != x || y != y) return boolean(false);
    less = x < y;
    more = x > y;
  }
  switch (op) {
    case SURG__E_LT: return boolean(less);
    case SURG__E_LE: return boolean(!more);
    case SURG__E_GT: return boolean(more);
    default: return boolean(!less);
  }
}

/* Returns element i of a list. An unknown float has no symbolic value, so the result is unknown. */
static surg__rvalue item(const surg__rvalue *list, size_t i) {
  assert(i < list->n);
  if (list->kind == SURG__R_STRINGS)
    return (surg__rvalue){.kind = SURG__R_STRING, .s = list->strings[i]};
  if (list->kind == SURG__R_FLOATS && !list->items[i].known) return unknown;
  return (surg__rvalue){.kind = list->kind == SURG__R_INTS ? SURG__R_INT : SURG__R_FLOAT,
                        .one = list->items[i]};
}

/* Evaluates `x in [..]`; the list is a literal list or an expression. */
static surg__rvalue member(surg__match *m, const surg__rvalue *a, const surg__rexpr *list) {
  bool all = true, known;
  if (list->op == SURG__E_LIST) {
    for (uint16_t i = 0; i < list->n; i++) {
      const surg__rvalue b = surg__reval(m, list->args[i]);
      if (surg__rvalue_equal(a, &b, &known)) return boolean(true);
      all &= known;
    }
    return all ? boolean(false) : unknown;
  }
  const surg__rvalue v = surg__reval(m, list);
  if (!is_list(&v) && v.kind != SURG__R_STRINGS) return unknown;
  for (size_t i = 0; i < v.n; i++) {
    const surg__rvalue b = item(&v, i);
    if (surg__rvalue_equal(a, &b, &known)) return boolean(true);
    all &= known;
  }
  return all ? boolean(false) : unknown;
}

static surg__rvalue make_list(surg__match *m, const surg__rexpr *e) {
  surg__rnum *items = surg__arena_array(m->arena, (size_t)e->n + 1, sizeof *items);
  surg__rkind kind = SURG__R_INTS;
  if (!items) return unknown;
  for (uint16_t i = 0; i < e->n; i++) {
    const surg__rvalue v = surg__reval(m, e->args[i]);
    if (v.kind == SURG__R_UNKNOWN) {
      items[i] = (surg__rnum){.dim = {.value = -1}};
      continue;
    }
    if (!is_number(&v)) return unknown;
    if (v.kind == SURG__R_FLOAT) kind = SURG__R_FLOATS;
    items[i] = v.one;
    if (v.kind == SURG__R_INT) items[i].f = (double)v.one.i;
  }
  return (surg__rvalue){.kind = kind, .items = items, .n = e->n};
}

static surg__rvalue at_index(const surg__rvalue *list, const surg__rvalue *i) {
  if ((!is_list(list) && list->kind != SURG__R_STRINGS) || i->kind != SURG__R_INT || !i->one.known)
    return unknown;
  const int64_t k = i->one.i < 0 ? i->one.i + (int64_t)list->n : i->one.i;
  return k < 0 || (uint64_t)k >= list->n ? unknown : item(list, (size_t)k);
}

static surg__rvalue negative(surg__match *m, const surg__rvalue *v) {
  const surg__rvalue zero = {.kind = SURG__R_INT, .one = {.known = true}};
  if (v->kind == SURG__R_FLOAT) {
    surg__rvalue r = *v;
    r.one.f = -r.one.f;
    return r;
  }
  return arith(m, SURG__E_SUB, &zero, v);
}

static surg__rvalue call(surg__match *m, const surg__rexpr *e) {
  surg__rvalue args[8];
  assert(e->n <= SURG_COUNT(args));
  assert(e->n >= e->fn->min && e->n <= e->fn->max); /* checked by the parser */
  for (uint16_t i = 0; i < e->n; i++) args[i] = surg__reval(m, e->args[i]);
  assert(!e->fn->about_value || (e->var < SURG__RULE_VARS && m->rule->vars[e->var].value));
  const surg_value *v = e->fn->about_value ? m->values[e->var] : NULL;
  return e->fn->call(m, v, args, e->n);
}

/* Recursion is limited by the depth of expressions, SURG__RULE_EXPR. */
surg__rvalue surg__reval(surg__match *m, const surg__rexpr *e) {
  surg__rvalue a, b;
  assert(e->op != SURG__E_VAR || e->var < SURG__RULE_VARS);
  switch (e->op) {
    case SURG__E_LITERAL: return e->literal;
    case SURG__E_VAR: return m->data[e->var];
    case SURG__E_CALL: return call(m, e);
    case SURG__E_LIST: return make_list(m, e);
    default: break;
  }
  assert(e->n == (e->op == SURG__E_NEG || e->op == SURG__E_NOT ? 1 : 2));
  a = surg__reval(m, e->args[0]);
  switch (e->op) {
    case SURG__E_NEG: return negative(m, &a);
    case SURG__E_NOT: return a.kind == SURG__R_BOOL ? boolean(!a.one.i) : unknown;
    case SURG__E_IN: return member(m, &a, e->args[1]);
    case SURG__E_AND:
      if (is_false(&a)) return a;
      b = surg__reval(m, e->args[1]);
      return is_false(&b) ? b : is_true(&a) && is_true(&b) ? a : unknown;
    case SURG__E_OR:
      if (is_true(&a)) return a;
      b = surg__reval(m, e->args[1]);
      return is_true(&b) ? b : is_false(&a) && is_false(&b) ? a : unknown;
    default: break;
  }
  b = surg__reval(m, e->args[1]);
  switch (e->op) {
    case SURG__E_INDEX: return at_index(&a, &b);
    case SURG__E_ADD:
    case SURG__E_SUB:
    case SURG__E_MUL:
    case SURG__E_DIV:
    case SURG__E_MOD: return arith(m, e->op, &a, &b);
    default: return compare(e->op, &a, &b);
  }
}

/* Whether a guard is known to be true; unknown counts as false. Evaluates only as many operands of
 * `and` and `or` as needed. */
bool surg__rtrue(surg__match *m, const surg__rexpr *e) {
  if (!e) return true;
  if (e->op == SURG__E_AND) return surg__rtrue(m, e->args[0]) && surg__rtrue(m, e->args[1]);
  if (e->op == SURG__E_OR) return surg__rtrue(m, e->args[0]) || surg__rtrue(m, e->args[1]);
  const surg__rvalue v = surg__reval(m, e);
  return is_true(&v);
}
