/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: division, minimum and maximum, and proofs based on ranges. */
#include "sym/expr.h"

int64_t surg__floor_div(int64_t a, int64_t b) {
  assert(b > 0);
  return a / b - (a % b < 0);
}

/* --- ranges of atoms --- */

/* A bound of floor(a / b), where b is at least 1 wherever it is computed. An infinite a gives the
 * same infinity. */
static int64_t bound_div(int64_t a, int64_t b) {
  if (a == INT64_MIN || a == INT64_MAX) return a;
  if (b == INT64_MAX) return a < 0 ? -1 : 0;
  return surg__floor_div(a, b);
}

static void div_range(surg_expr *key) {
  const surg_expr *a = key->args[0], *b = key->args[1];
  const int64_t least = b->lo > 1 ? b->lo : 1, most = b->hi > least ? b->hi : least;
  key->lo = bound_div(a->lo, a->lo >= 0 ? most : least);
  key->hi = bound_div(a->hi, a->hi >= 0 ? least : most);
}

/* --- division by a constant --- */

/* Splits a into k*q + r, where the coefficients of r are in 0 .. k-1. */
static void split(const surg__poly *a, int64_t k, surg__poly *q, surg__poly *r) {
  *q = *r = (surg__poly){0};
  q->k = surg__floor_div(a->k, k);
  r->k = a->k - q->k * k;
  for (uint32_t i = 0; i < a->n; i++) {
    const int64_t c = surg__floor_div(a->coeffs[i], k);
    surg__poly_term(q, c, a->args[i]);
    surg__poly_term(r, a->coeffs[i] - c * k, a->args[i]);
  }
}

/* floor(r / k) of a remainder r, as an atom or a number. */
static const surg_expr *div_rest(struct surg__exprs *set, surg_model *m, surg__poly *r, int64_t k) {
  int64_t lo, hi, g = k;
  surg__poly_range(r, &lo, &hi);
  if (lo > INT64_MIN && hi < INT64_MAX && surg__floor_div(lo, k) == surg__floor_div(hi, k))
    return surg__expr_num(m, surg__floor_div(lo, k));
  for (uint32_t i = 0; i < r->n; i++) g = surg__gcd(g, r->coeffs[i]);
  for (uint32_t i = 0; i < r->n; i++) r->coeffs[i] /= g;
  r->k = surg__floor_div(r->k, g);
  k /= g;
  const surg_expr *e = surg__poly_expr(set, r);
  if (!e || k == 1) return e;
  if (r->n == 1 && r->coeffs[0] == 1 && r->args[0]->kind == SURG__EXPR_DIV &&
      r->args[0]->args[1]->kind == SURG__EXPR_NUM) {
    /* floor((floor(x/d) + c) / k) = floor((x + c*d) / (d*k)) */
    const surg_expr *x = r->args[0]->args[0];
    const int64_t d = r->args[0]->args[1]->k;
    int64_t c, by;
    if (surg__mul_i64(r->k, d, &c) && surg__mul_i64(d, k, &by))
      return surg__expr_div_num(surg__expr_add_num(x, c), by);
  }
  const surg_expr *args[2] = {e, surg__expr_num(m, k)};
  if (!args[1]) return NULL;
  surg_expr key = {.kind = SURG__EXPR_DIV, .n = 2, .args = args};
  div_range(&key);
  return surg__expr_intern(set, &key);
}

/* floor(a / k). The recursion removes one floor of the dividend per step; their depth is
 * bounded. */
static const surg_expr *div_by(surg_model *m, const surg_expr *a, int64_t k) {
  surg__poly p, q, r;
  surg__poly_of(&p, a);
  split(&p, k, &q, &r);
  if (q.bad || r.bad) return NULL;
  const surg_expr *whole = surg__poly_expr(a->set, &q);
  return r.n ? surg__expr_add(whole, div_rest(a->set, m, &r, k)) : whole;
}

/* --- division by an expression --- */

/* a / b for two products; NULL if b does not divide a. */
static const surg_expr *div_product(struct surg__exprs *set, const surg_expr *a,
                                    const surg_expr *b) {
  const surg_expr *left[SURG_LIMIT_EXPR_FACTORS];
  uint32_t na, nb, n = 0, used = 0;
  const surg_expr *const *fa = surg__expr_factors(&a, &na), *const *fb =
                                                                surg__expr_factors(&b, &nb);
  for (uint32_t k = 0; k < nb; k++) {
    uint32_t i = 0;
    while (i < na && (fa[i] != fb[k] || used >> i & 1)) i++;
    if (i == na) return NULL;
    used |= 1u << i;
  }
  for (uint32_t i = 0; i < na; i++)
    if (!(used >> i & 1)) left[n++] = fa[i];
  return surg__expr_product(set, left, n);
}

/* Finds q and r with a = b*q + r, for b = c * product: terms divisible by b are added to q. */
static void div_terms(struct surg__exprs *set, const surg__poly *a, int64_t c, const surg_expr *b,
                      surg__poly *q, surg__poly *r) {
  *q = *r = (surg__poly){0};
  r->k = a->k;
  for (uint32_t i = 0; i < a->n; i++) {
    const surg_expr *p = a->coeffs[i] % c ? NULL : div_product(set, a->args[i], b);
    if (!p)
      surg__poly_term(r, a->coeffs[i], a->args[i]);
    else if (p->kind != SURG__EXPR_NUM)
      surg__poly_term(q, a->coeffs[i] / c, p);
    else if (!surg__add_i64(q->k, a->coeffs[i] / c, &q->k))
      q->bad = true;
  }
}

/* Long division by a sum: returns q with a == b * q, or NULL. */
static const surg_expr *div_sum(const surg_expr *a, const surg_expr *b) {
  surg__poly rest, q = {0};
  surg__poly_of(&rest, a);
  for (uint32_t step = 0; step < SURG_LIMIT_EXPR_TERMS && !rest.bad; step++) {
    uint32_t i = 0;
    const surg_expr *p = NULL;
    for (; i < rest.n && !p; i++)
      if (rest.coeffs[i] % b->coeffs[0] == 0) p = div_product(a->set, rest.args[i], b->args[0]);
    if (!p) return NULL;
    const surg_expr *term = surg__expr_scale(p, rest.coeffs[i - 1] / b->coeffs[0]);
    surg__poly_add(&q, 1, term);
    surg__poly_add(&rest, -1, surg__expr_mul(term, b));
    if (!rest.bad && !rest.n && !rest.k) return surg__poly_expr(a->set, &q);
  }
  return NULL;
}

/* Decomposes b into c * product; false: b is a sum of several terms. */
static bool as_product(const surg_expr *b, int64_t *c, const surg_expr **product) {
  const bool scaled = b->kind == SURG__EXPR_SUM && b->n == 1 && b->k == 0;
  if (b->kind == SURG__EXPR_SUM && !scaled) return false;
  *c = scaled ? b->coeffs[0] : 1;
  *product = scaled ? b->args[0] : b;
  return *c > 0;
}

const surg_expr *surg__expr_div_exact(const surg_expr *a, const surg_expr *b) {
  surg__poly p, q, r;
  int64_t c = 0;
  const surg_expr *product;
  if (!a || !b) return NULL;
  if (b->kind == SURG__EXPR_NUM) {
    if (b->k == 0 || b->k == INT64_MIN) return NULL;
    surg__poly_of(&p, b->k < 0 ? surg__expr_scale(a, -1) : a);
    if (p.bad) return NULL;
    split(&p, b->k < 0 ? -b->k : b->k, &q, &r);
    return r.n || r.k ? NULL : surg__poly_expr(a->set, &q);
  }
  if (a == b) return surg__expr_num(surg__expr_model(a), 1);
  if (!as_product(b, &c, &product)) return b->kind == SURG__EXPR_SUM && b->n ? div_sum(a, b) : NULL;
  surg__poly_of(&p, a);
  div_terms(a->set, &p, c, product, &q, &r);
  return r.bad || r.n || r.k ? NULL : surg__poly_expr(a->set, &q);
}

/* Cancels the atoms and the integer factor that a and b have in common, if b is a number times a
 * product. */
static void reduce(const surg_expr **a, const surg_expr **b) {
  int64_t c, g;
  const surg_expr *product;
  surg__poly p;
  uint32_t n;
  surg__poly_of(&p, *a);
  if (p.bad || p.k || !as_product(*b, &c, &product)) return;
  const surg_expr *const *f = surg__expr_factors(&product, &n);
  for (uint32_t i = 0; i < n; i++) {
    const surg_expr *x = surg__expr_div_exact(*a, f[i]);
    const surg_expr *y = x ? surg__expr_div_exact(*b, f[i]) : NULL;
    if (!y) continue;
    *a = x;
    *b = y;
  }
  if (!as_product(*b, &c, &product) || c == 1) return;
  surg__poly_of(&p, *a);
  g = c;
  for (uint32_t i = 0; i < p.n; i++)
    g = surg__gcd(g, p.coeffs[i] < 0 ? -(p.coeffs[i] % c) : p.coeffs[i]);
  const surg_expr *by = surg__expr_num(surg__expr_model(*a), g);
  const surg_expr *x = surg__expr_div_exact(*a, by), *y = surg__expr_div_exact(*b, by);
  if (x && y) {
    *a = x;
    *b = y;
  }
}

static const surg_expr *div_expr(const surg_expr *a, const surg_expr *b) {
  surg__poly p, q, r;
  int64_t c;
  const surg_expr *product, *whole = NULL;
  const surg_expr *exact = surg__expr_div_exact(a, b);
  if (exact) return exact;
  reduce(&a, &b);
  if (b->kind == SURG__EXPR_NUM) return surg__expr_div(a, b);
  if (as_product(b, &c, &product)) {
    surg__poly_of(&p, a);
    div_terms(a->set, &p, c, product, &q, &r);
    if (q.bad || r.bad) return NULL;
    if (q.n || q.k) whole = surg__poly_expr(a->set, &q);
    if (whole) a = surg__poly_expr(a->set, &r);
  }
  if (!a) return NULL;
  const surg_expr *rest;
  const surg_expr *zero = surg__expr_num(surg__expr_model(b), 0);
  if (surg__expr_at_least(a, zero) && surg__expr_at_least(b, surg__expr_add_num(a, 1))) {
    rest = zero;
  } else {
    const surg_expr *args[2] = {a, b};
    surg_expr key = {.kind = SURG__EXPR_DIV, .n = 2, .args = args};
    div_range(&key);
    rest = surg__expr_intern(a->set, &key);
  }
  return whole ? surg__expr_add(whole, rest) : rest;
}

const surg_expr *surg__expr_div_num(const surg_expr *a, int64_t k) {
  return !a || k < 1 ? NULL : k == 1 ? a : div_by(surg__expr_model(a), a, k);
}

const surg_expr *surg__expr_div(const surg_expr *a, const surg_expr *b) {
  if (!a || !b) return NULL;
  if (b->kind == SURG__EXPR_NUM) return surg__expr_div_num(a, b->k);
  return b->hi < 1 ? NULL : div_expr(a, b);
}

const surg_expr *surg__expr_mod(const surg_expr *a, const surg_expr *b) {
  return surg__expr_sub(a, surg__expr_mul(b, surg__expr_div(a, b)));
}

/* --- proofs --- */

static bool nonneg(const surg__poly *p, uint32_t *fuel);

/* Whether rest + k*by is provably nonnegative; rest is a poly without its term k*atom. */
static bool with(const surg__poly *rest, int64_t k, const surg_expr *by, uint32_t *fuel) {
  surg__poly p = *rest;
  surg__poly_add(&p, k, by);
  return !p.bad && nonneg(&p, fuel);
}

/* For k < 0, k * floor(x/d) is at least k/d * x; for k > 0, at least k/d * (x - d + 1). The poly is
 * multiplied by d. */
static bool nonneg_div(const surg__poly *rest, int64_t k, const surg_expr *atom, uint32_t *fuel) {
  surg__poly p = {0};
  const surg_expr *d = atom->args[1];
  if (d->kind != SURG__EXPR_NUM) return false;
  if (!surg__mul_i64(rest->k, d->k, &p.k)) return false;
  for (uint32_t i = 0; i < rest->n; i++) {
    int64_t c;
    if (!surg__mul_i64(rest->coeffs[i], d->k, &c)) return false;
    surg__poly_term(&p, c, rest->args[i]);
  }
  return with(&p, k, k < 0 ? atom->args[0] : surg__expr_add_num(atom->args[0], 1 - d->k), fuel);
}

/* For k > 0, a maximum is at least each arg, so one arg that gives a proof suffices; for k < 0 the
 * same applies to a minimum. In the other cases all args must. */
static bool nonneg_choice(const surg__poly *rest, int64_t k, const surg_expr *atom,
                          uint32_t *fuel) {
  const bool any = (atom->kind == SURG__EXPR_MAX) == (k > 0);
  for (uint16_t i = 0; i < atom->n; i++)
    if (with(rest, k, atom->args[i], fuel) == any) return any;
  return !any;
}

static bool nonneg(const surg__poly *p, uint32_t *fuel) {
  int64_t lo, hi;
  surg__poly_range(p, &lo, &hi);
  if (lo >= 0) return true;
  for (uint32_t i = 0; i < p->n; i++) {
    const surg_expr *a = p->args[i];
    const int64_t k = p->coeffs[i];
    if (a->kind != SURG__EXPR_DIV && a->kind != SURG__EXPR_MIN && a->kind != SURG__EXPR_MAX)
      continue;
    if (!*fuel) return false;
    --*fuel;
    surg__poly rest = *p;
    rest.n--;
    memmove(&rest.coeffs[i], &rest.coeffs[i + 1], (rest.n - i) * sizeof *rest.coeffs);
    memmove(&rest.args[i], &rest.args[i + 1], (rest.n - i) * sizeof *rest.args);
    if (a->kind == SURG__EXPR_DIV ? nonneg_div(&rest, k, a, fuel)
                                  : nonneg_choice(&rest, k, a, fuel))
      return true;
  }
  return false;
}

bool surg__expr_at_least(const surg_expr *a, const surg_expr *b) {
  surg__poly p;
  uint32_t fuel = SURG_LIMIT_EXPR_FUEL;
  if (!a || !b) return false;
  if (a->lo >= b->hi) return true;
  surg__poly_of(&p, a);
  surg__poly_add(&p, -1, b);
  return !p.bad && nonneg(&p, &fuel);
}

bool surg__expr_at_least_num(const surg_expr *a, int64_t k) {
  surg__poly p;
  uint32_t fuel = SURG_LIMIT_EXPR_FUEL;
  if (!a) return false;
  if (a->lo >= k) return true;
  surg__poly_of(&p, a);
  return !p.bad && surg__sub_i64(p.k, k, &p.k) && nonneg(&p, &fuel);
}

bool surg__expr_at_most_num(const surg_expr *a, int64_t k) {
  return a &&
         (a->hi <= k || (k > INT64_MIN && surg__expr_at_least_num(surg__expr_scale(a, -1), -k)));
}

/* --- minimum and maximum --- */

/* Adds e to the n args unless an arg makes it redundant; drops args that e makes redundant. */
static bool choose(surg__expr_kind kind, const surg_expr **args, uint32_t *n, const surg_expr *e) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < *n; i++) {
    const surg_expr *a = args[i];
    if (kind == SURG__EXPR_MIN ? surg__expr_at_least(e, a) : surg__expr_at_least(a, e)) return true;
  }
  for (uint32_t i = 0; i < *n; i++) {
    const surg_expr *a = args[i];
    if (!(kind == SURG__EXPR_MIN ? surg__expr_at_least(a, e) : surg__expr_at_least(e, a)))
      args[kept++] = a;
  }
  if (kept == SURG_LIMIT_EXPR_FACTORS) return false;
  args[kept++] = e;
  *n = kept;
  return true;
}

static bool choose_all(surg__expr_kind kind, const surg_expr **args, uint32_t *n,
                       const surg_expr *e) {
  if (e->kind != kind) return choose(kind, args, n, e);
  for (uint16_t i = 0; i < e->n; i++)
    if (!choose(kind, args, n, e->args[i])) return false;
  return true;
}

static const surg_expr *extreme(surg__expr_kind kind, const surg_expr *a, const surg_expr *b) {
  const surg_expr *args[SURG_LIMIT_EXPR_FACTORS];
  uint32_t n = 0;
  if (!a || !b) return NULL;
  if (!choose_all(kind, args, &n, a) || !choose_all(kind, args, &n, b)) return NULL;
  if (n == 1) return args[0];
  for (uint32_t i = 1; i < n; i++) {
    const surg_expr *e = args[i];
    uint32_t at = i;
    for (; at > 0 && surg__expr_order(e, args[at - 1]) < 0; at--) args[at] = args[at - 1];
    args[at] = e;
  }
  surg_expr key = {.kind = (uint8_t)kind, .n = (uint16_t)n, .args = args};
  key.lo = args[0]->lo;
  key.hi = args[0]->hi;
  for (uint32_t i = 1; i < n; i++) {
    const bool low = kind == SURG__EXPR_MIN;
    if (low ? args[i]->lo < key.lo : args[i]->lo > key.lo) key.lo = args[i]->lo;
    if (low ? args[i]->hi < key.hi : args[i]->hi > key.hi) key.hi = args[i]->hi;
  }
  return surg__expr_intern(a->set, &key);
}

const surg_expr *surg__expr_min(const surg_expr *a, const surg_expr *b) {
  return extreme(SURG__EXPR_MIN, a, b);
}

const surg_expr *surg__expr_max(const surg_expr *a, const surg_expr *b) {
  return extreme(SURG__EXPR_MAX, a, b);
}
