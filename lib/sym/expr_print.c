/* SPDX-License-Identifier: Apache-2.0 */
/* Printing expressions, evaluating them under a binding, and copying them for a clone. */
#include "sym/expr.h"

/* --- text: Python's integer arithmetic, see doc/shapes.md --- */

static bool letter(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the name needs no quotes: an identifier that is not a keyword. */
static bool plain(const char *s) {
  static const char *const taken[] = {"floor", "min", "max", "dim"};
  for (size_t i = 0; i < SURG_COUNT(taken); i++)
    if (!strcmp(s, taken[i])) return false;
  if (!letter(*s)) return false;
  while (letter(*s) || (*s >= '0' && *s <= '9')) s++;
  return !*s;
}

static void quoted(surg__buf *b, const char *s) {
  surg__buf_putc(b, '"');
  surg__buf_escape(b, s, strlen(s), 0);
  surg__buf_putc(b, '"');
}

static void symbol(surg__buf *b, const surg_expr *e) {
  if (e->symbol == SURG__SYMBOL_ANONYMOUS) {
    surg__buf_puts(b, "dim(");
    quoted(b, e->value->name);
    surg__buf_printf(b, ", %u)", (unsigned)e->axis);
  } else if (plain(e->name)) {
    surg__buf_puts(b, e->name);
  } else {
    quoted(b, e->name);
  }
}

static void print_atom(surg__buf *b, const surg_expr *e) {
  static const char *const names[SURG__EXPR_MAX + 1] = {
      [SURG__EXPR_MIN] = "min(", [SURG__EXPR_MAX] = "max("};
  if (e->kind == SURG__EXPR_SYM) {
    symbol(b, e);
  } else if (e->kind == SURG__EXPR_DIV) {
    const surg_expr *by = e->args[1];
    const bool sum = e->args[0]->kind == SURG__EXPR_SUM && (e->args[0]->n > 1 || e->args[0]->k);
    surg__buf_puts(b, sum ? "floor((" : "floor(");
    surg__expr_print(b, e->args[0]);
    surg__buf_puts(b, sum ? ")/" : "/");
    const bool single = by->kind != SURG__EXPR_SUM && by->kind != SURG__EXPR_PROD;
    if (!single) surg__buf_putc(b, '(');
    surg__expr_print(b, by);
    surg__buf_puts(b, single ? ")" : "))");
  } else {
    surg__buf_puts(b, names[e->kind]);
    for (uint16_t i = 0; i < e->n; i++) {
      if (i) surg__buf_puts(b, ", ");
      surg__expr_print(b, e->args[i]);
    }
    surg__buf_putc(b, ')');
  }
}

static uint64_t gcd(uint64_t a, uint64_t b) {
  while (b) {
    const uint64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

/* Prints k times a product, k > 0. A symbol with a divisor is printed as its whole dim, so the text
 * divides by the divisors: in floor(3*H/4) the remainder is 0. */
static void print_term(surg__buf *b, uint64_t k, const surg_expr *e) {
  uint32_t n;
  uint64_t over = 1;
  const surg_expr *const *f = surg__expr_factors(&e, &n);
  for (uint32_t i = 0; i < n; i++) {
    if (f[i]->kind != SURG__EXPR_SYM) continue;
    const uint64_t g = gcd(k, (uint64_t)f[i]->divisor);
    k /= g;
    if (!surg__mul_u64(over, (uint64_t)f[i]->divisor / g, &over)) b->failed = true;
  }
  if (over > 1) surg__buf_puts(b, "floor(");
  if (k > 1) surg__buf_printf(b, "%llu*", (unsigned long long)k);
  for (uint32_t i = 0; i < n; i++) {
    if (i) surg__buf_putc(b, '*');
    print_atom(b, f[i]);
  }
  if (over > 1) surg__buf_printf(b, "/%llu)", (unsigned long long)over);
}

static uint64_t magnitude(int64_t v) {
  return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* Prints e; the recursion depth is bounded by SURG_LIMIT_EXPR_DEPTH. */
void surg__expr_print(surg__buf *b, const surg_expr *e) {
  surg__poly p;
  bool any = false;
  surg__poly_of(&p, e);
  /* Print positive terms before negative ones. */
  for (int negative = 0; negative < 2; negative++) {
    for (uint32_t i = 0; i < p.n; i++) {
      if ((p.coeffs[i] < 0) != (negative == 1)) continue;
      surg__buf_puts(b, negative ? (any ? " - " : "-") : any ? " + " : "");
      print_term(b, magnitude(p.coeffs[i]), p.args[i]);
      any = true;
    }
    if (!p.k && any) continue;
    if ((p.k < 0) != (negative == 1)) continue;
    if (!negative && !p.k && p.n) continue; /* no positive term: start with a negative one */
    surg__buf_puts(b, negative ? (any ? " - " : "-") : any ? " + " : "");
    surg__buf_printf(b, "%llu", (unsigned long long)magnitude(p.k));
    any = true;
  }
}

surg_dim surg__expr_dim(const surg_expr *e) {
  int64_t v;
  if (!e) return (surg_dim){-1, NULL, NULL};
  if (surg__expr_is_num(e, &v)) return (surg_dim){v < 0 ? -1 : v, NULL, NULL};
  return (surg_dim){-1, surg__expr_name(e), e};
}

/* --- evaluation --- */

typedef struct binding {
  surg_symbol_fn fn;
  void *user;
  bool overflow; /* a result exceeded int64 */
} binding;

static bool evaluate(binding *s, const surg_expr *e, int64_t *out);

static bool evaluate_symbol(binding *s, const surg_expr *e, int64_t *out) {
  const bool anonymous = e->symbol == SURG__SYMBOL_ANONYMOUS;
  if (!s->fn(s->user, anonymous ? NULL : e->name, e->value, e->axis, out)) return false;
  if (*out % e->divisor) return false;
  *out /= e->divisor;
  return true;
}

static bool evaluate_div(binding *s, const surg_expr *e, int64_t *out) {
  int64_t a, b;
  if (!evaluate(s, e->args[0], &a) || !evaluate(s, e->args[1], &b) || b < 1) return false;
  *out = surg__floor_div(a, b);
  return true;
}

/* Records an overflow; false. */
static bool too_large(binding *s) {
  s->overflow = true;
  return false;
}

static bool evaluate(binding *s, const surg_expr *e, int64_t *out) {
  int64_t v;
  if (e->kind == SURG__EXPR_SYM) return evaluate_symbol(s, e, out);
  if (e->kind == SURG__EXPR_DIV) return evaluate_div(s, e, out);
  *out = e->kind == SURG__EXPR_PROD ? 1 : e->k;
  for (uint16_t i = 0; i < e->n; i++) {
    if (!evaluate(s, e->args[i], &v)) return false;
    if (e->kind == SURG__EXPR_PROD) {
      if (!surg__mul_i64(*out, v, out)) return too_large(s);
    } else if (e->kind == SURG__EXPR_SUM) {
      if (!surg__mul_i64(v, e->coeffs[i], &v) || !surg__add_i64(*out, v, out)) return too_large(s);
    } else if (i == 0 || (e->kind == SURG__EXPR_MIN ? v < *out : v > *out)) {
      *out = v;
    }
  }
  return true;
}

surg_status surg_dim_eval(const surg_dim *dim, surg_symbol_fn symbol_of, void *user, int64_t *out) {
  binding s = {symbol_of, user, false};
  if (!dim || !out) return SURG_EUSAGE;
  if (dim->value >= 0 || !dim->expr) {
    *out = dim->value;
    return dim->value >= 0 ? SURG_OK : SURG_ENOTFOUND;
  }
  if (symbol_of && evaluate(&s, dim->expr, out)) return SURG_OK;
  return s.overflow ? SURG_ELIMIT : SURG_ENOTFOUND;
}

/* --- the public calls --- */

const char *surg_dim_text(surg_model *m, const surg_dim *dim) {
  surg__buf b;
  if (!m || !dim || m->status != SURG_OK) return NULL;
  if (dim->value < 0 && !dim->expr && !(dim->param && *dim->param)) return "?";
  surg__buf_init(&b, m->ctx);
  if (dim->value >= 0)
    surg__buf_printf(&b, "%lld", (long long)dim->value);
  else if (dim->expr)
    surg__expr_print(&b, dim->expr);
  else if (plain(dim->param))
    surg__buf_puts(&b, dim->param);
  else
    quoted(&b, dim->param);
  const char *text = b.failed ? NULL : surg__intern(m, b.p, b.n);
  surg__buf_free(&b);
  return text;
}

bool surg_dim_equal(const surg_dim *a, const surg_dim *b) {
  if (!a || !b) return false;
  if (a->value >= 0 || b->value >= 0) return a->value == b->value;
  if (a->expr && b->expr) return a->expr == b->expr;
  return a->param && b->param && !strcmp(a->param, b->param);
}

bool surg_dim_range(const surg_dim *dim, int64_t *low, int64_t *high) {
  if (!dim || !low || !high) return false;
  const surg_expr *e = dim->value < 0 ? dim->expr : NULL;
  *low = dim->value >= 0 ? dim->value : !e ? 0 : e->lo > 0 ? e->lo : surg__expr_filled(e);
  *high = dim->value >= 0 ? dim->value : dim->expr ? dim->expr->hi : INT64_MAX;
  return dim->value >= 0 || dim->expr;
}

static const surg_expr *product_of(surg_model *m, const surg_dim *dims, size_t n) {
  const surg_expr *e = surg__expr_num(m, 1);
  for (size_t i = 0; e && i < n; i++)
    e = surg__expr_mul(e, dims[i].value >= 0 ? surg__expr_num(m, dims[i].value) : dims[i].expr);
  return e;
}

bool surg_dims_divide(surg_model *m, const surg_dim *dims, size_t n, const surg_dim *by, size_t k,
                      surg_dim *out) {
  if (!m || m->status != SURG_OK || (n && !dims) || (k && !by) || !out) return false;
  const surg_expr *e = surg__expr_div_exact(product_of(m, dims, n), product_of(m, by, k));
  if (e) *out = surg__expr_dim(e);
  return e && surg__expr_at_least_num(e, 0);
}

/* --- copies --- */

static const surg_expr *copy_symbol(surg_model *to, const surg_expr *e) {
  if (e->symbol == SURG__SYMBOL_ANONYMOUS) return surg__expr_anonymous(to, e->value->work, e->axis);
  const char *name = surg__intern(to, e->name, strlen(e->name));
  const surg_expr *named = name ? surg__expr_named(to, name, e->symbol) : NULL;
  const surg_expr *one = surg__expr_div_num(named, e->divisor);
  /* The symbol's range or divisor differs from when e was made: drop the expression. */
  const bool same = one && one->kind == SURG__EXPR_SYM && one->divisor == e->divisor &&
                    one->lo == e->lo && one->hi == e->hi;
  return same ? one : NULL;
}

static const surg_expr *copy_parts(surg_model *to, const surg_expr *e) {
  const surg_expr *sum = NULL;
  if (e->kind == SURG__EXPR_SYM) return copy_symbol(to, e);
  if (e->kind == SURG__EXPR_NUM) return surg__expr_num(to, e->k);
  if (e->kind == SURG__EXPR_SUM) sum = surg__expr_num(to, e->k);
  for (uint16_t i = 0; i < e->n; i++) {
    const surg_expr *arg = surg__expr_copy(to, e->args[i]);
    if (!arg) return NULL;
    if (e->kind == SURG__EXPR_SUM)
      sum = surg__expr_add(sum, surg__expr_scale(arg, e->coeffs[i]));
    else if (i == 0)
      sum = arg;
    else if (e->kind == SURG__EXPR_DIV)
      sum = surg__expr_div(sum, arg);
    else if (e->kind == SURG__EXPR_PROD)
      sum = surg__expr_mul(sum, arg);
    else
      sum = e->kind == SURG__EXPR_MIN ? surg__expr_min(sum, arg) : surg__expr_max(sum, arg);
  }
  return sum;
}

const surg_expr *surg__expr_copy(surg_model *to, const surg_expr *e) {
  if (!e) return NULL;
  const surg_expr *copy = copy_parts(to, e);
  if (e->kind != SURG__EXPR_NUM && surg__expr_filled(e)) surg__expr_note_filled(copy);
  return copy;
}
