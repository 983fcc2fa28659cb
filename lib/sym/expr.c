/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: the table that makes equal ones one object, symbols, sums and products. */
#include "sym/expr.h"

#include "ir/edit.h"

/* An assumption about the symbol of a name. */
typedef struct assumption {
  const char *name;
  int64_t lo, hi, divisor;
  struct assumption *next;
} assumption;

typedef struct surg__exprs {
  surg_model *m;
  const surg_expr **buckets; /* in the model's arena; old tables are freed with it */
  size_t n_buckets, count;
  assumption *assumed;
  uint32_t round; /* of notes; see surg__expr_note_filled */
} surg__exprs;

#define FIRST_BUCKETS 64u

static surg__exprs *set_of(surg_model *m) {
  if (m->status != SURG_OK) return NULL;
  if (m->exprs) return m->exprs;
  surg__exprs *set = surg__zalloc(m, sizeof *set);
  if (!set) return NULL;
  set->m = m;
  set->buckets = surg__array(m, FIRST_BUCKETS, sizeof *set->buckets);
  if (!set->buckets) return NULL;
  set->n_buckets = FIRST_BUCKETS;
  set->round = 1;
  return m->exprs = set;
}

/* --- the table --- */

static uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v;
  h *= UINT64_C(0x9E3779B97F4A7C15);
  return h ^ h >> 29;
}

static uint64_t hash_of(const surg_expr *e) {
  uint64_t h = mix(e->kind, (uint64_t)e->k);
  if (e->kind == SURG__EXPR_SYM) {
    h = mix(h, (uintptr_t)e->name);
    h = mix(h, (uintptr_t)e->value + e->axis);
    h = mix(h, (uint64_t)e->lo);
    h = mix(h, (uint64_t)e->hi);
    return mix(h, (uint64_t)e->divisor + ((uint64_t)e->symbol << 62));
  }
  for (uint16_t i = 0; i < e->n; i++) {
    h = mix(h, e->args[i]->id);
    if (e->kind == SURG__EXPR_SUM) h = mix(h, (uint64_t)e->coeffs[i]);
  }
  return h;
}

static bool same(const surg_expr *a, const surg_expr *b) {
  if (a->hash != b->hash || a->kind != b->kind || a->k != b->k || a->n != b->n) return false;
  if (a->kind == SURG__EXPR_SYM)
    return a->symbol == b->symbol && a->name == b->name && a->value == b->value &&
           a->axis == b->axis && a->lo == b->lo && a->hi == b->hi && a->divisor == b->divisor;
  for (uint16_t i = 0; i < a->n; i++)
    if (a->args[i] != b->args[i] || (a->kind == SURG__EXPR_SUM && a->coeffs[i] != b->coeffs[i]))
      return false;
  return true;
}

static void grow(surg__exprs *set) {
  const size_t n = set->n_buckets * 4;
  const surg_expr **buckets = surg__array(set->m, n, sizeof *buckets);
  if (!buckets) return;
  for (size_t i = 0; i < set->n_buckets; i++) {
    for (const surg_expr *e = set->buckets[i], *next; e; e = next) {
      surg_expr *own = (surg_expr *)(uintptr_t)e; /* the table owns it */
      next = e->next;
      own->next = buckets[e->hash & (n - 1)];
      buckets[e->hash & (n - 1)] = e;
    }
  }
  set->buckets = buckets;
  set->n_buckets = n;
}

/* Computes depth and size of an expression; false: beyond the limits. */
static bool measure(surg_expr *key) {
  uint32_t depth = 0, size = key->n == 0;
  const bool deeper =
      key->kind == SURG__EXPR_DIV || key->kind == SURG__EXPR_MIN || key->kind == SURG__EXPR_MAX;
  for (uint16_t i = 0; i < key->n; i++) {
    if (key->args[i]->depth > depth) depth = key->args[i]->depth;
    size += key->args[i]->size;
  }
  depth += deeper;
  if (depth > SURG_LIMIT_EXPR_DEPTH || size > SURG_LIMIT_EXPR_SIZE) return false;
  key->depth = (uint8_t)depth;
  key->size = size;
  return true;
}

static const surg_expr *find(const surg__exprs *set, surg_expr *key) {
  key->hash = hash_of(key);
  const surg_expr *e = set->buckets[key->hash & (set->n_buckets - 1)];
  while (e && !same(e, key)) e = e->next;
  return e;
}

const surg_expr *surg__expr_intern(surg__exprs *set, surg_expr *key) {
  const surg_expr *found = find(set, key);
  if (found) return found;
  if (set->count >= SURG_LIMIT_EXPRS || !measure(key)) return NULL;
  surg_expr *e = surg__zalloc(set->m, sizeof *e);
  if (!e) return NULL;
  *e = *key;
  e->set = set;
  e->id = (uint32_t)set->count;
  if (key->n) e->args = surg__copy(set->m, key->args, key->n, sizeof *key->args);
  if (key->kind == SURG__EXPR_SUM)
    e->coeffs = surg__copy(set->m, key->coeffs, key->n, sizeof *key->coeffs);
  if (set->m->status != SURG_OK) return NULL;
  if (set->count++ >= set->n_buckets) grow(set);
  e->next = set->buckets[e->hash & (set->n_buckets - 1)];
  set->buckets[e->hash & (set->n_buckets - 1)] = e;
  return e;
}

static const surg_expr *number(surg__exprs *set, int64_t v) {
  surg_expr key = {.kind = SURG__EXPR_NUM, .k = v, .lo = v, .hi = v};
  return surg__expr_intern(set, &key);
}

const surg_expr *surg__expr_num(surg_model *m, int64_t v) {
  surg__exprs *set = set_of(m);
  return set ? number(set, v) : NULL;
}

surg_model *surg__expr_model(const surg_expr *e) {
  return e->set->m;
}

/* --- symbols --- */

static assumption *find_assumption(const surg__exprs *set, const char *name) {
  assumption *a = set->assumed;
  while (a && a->name != name) a = a->next;
  return a;
}

bool surg__expr_assume(surg_model *m, const char *name, int64_t lo, int64_t hi, int64_t divisor) {
  surg__exprs *set = set_of(m);
  assumption *a = set ? find_assumption(set, name) : NULL;
  if (set && !a) {
    a = surg__zalloc(m, sizeof *a);
    if (!a) return false;
    a->next = set->assumed;
    set->assumed = a;
  }
  if (!a) return false;
  *a = (assumption){name, lo, hi, divisor, a->next};
  return true;
}

/* Returns the current assumption, so that --dim 'N=1..64' and --dim 'N%8' can be combined. */
void surg__expr_assumed(surg_model *m, const char *name, int64_t *lo, int64_t *hi,
                        int64_t *divisor) {
  const assumption *a = m->exprs ? find_assumption(m->exprs, name) : NULL;
  *lo = a ? a->lo : 0;
  *hi = a ? a->hi : SURG_LIMIT_SYMBOL;
  *divisor = a ? a->divisor : 1;
}

bool surg__exprs_copy(surg_model *to, const surg_model *from) {
  for (const assumption *a = from->exprs ? from->exprs->assumed : NULL; a; a = a->next) {
    const char *name = surg__intern(to, a->name, strlen(a->name));
    if (!name || !surg__expr_assume(to, name, a->lo, a->hi, a->divisor)) return false;
  }
  return true;
}

const surg_expr *surg__expr_named(surg_model *m, const char *name, surg__symbol symbol) {
  surg__exprs *set = set_of(m);
  int64_t lo, hi, d;
  if (!set) return NULL;
  surg__expr_assumed(m, name, &lo, &hi, &d);
  if (lo == hi) return number(set, lo);
  surg_expr key = {.kind = SURG__EXPR_SYM, .symbol = symbol, .name = name, .divisor = d};
  key.lo = surg__floor_div(lo + (d - 1), d);
  key.hi = hi / d;
  if (symbol == SURG__SYMBOL_DECLARED) {
    /* If an input has a symbol of this name, use that symbol. */
    surg_expr input = key;
    input.symbol = SURG__SYMBOL_INPUT;
    const surg_expr *known = find(set, &input);
    if (known) return surg__expr_scale(known, d);
  }
  return surg__expr_scale(surg__expr_intern(set, &key), d);
}

const surg_expr *surg__expr_anonymous(surg_model *m, const surg_value *v, uint32_t axis) {
  surg__exprs *set = set_of(m);
  surg_expr key = {.kind = SURG__EXPR_SYM, .symbol = SURG__SYMBOL_ANONYMOUS, .value = v};
  key.axis = axis;
  key.divisor = 1;
  key.hi = SURG_LIMIT_SYMBOL;
  return set ? surg__expr_intern(set, &key) : NULL;
}

const char *surg__expr_name(const surg_expr *e) {
  if (!e) return NULL;
  const surg_expr *s = e;
  int64_t k = 1;
  if (e->kind == SURG__EXPR_SUM && e->n == 1 && e->k == 0) {
    s = e->args[0];
    k = e->coeffs[0];
  }
  return s->kind == SURG__EXPR_SYM && s->symbol == SURG__SYMBOL_INPUT && s->divisor == k ? s->name
                                                                                         : NULL;
}

bool surg__expr_is_num(const surg_expr *e, int64_t *v) {
  if (!e || e->kind != SURG__EXPR_NUM) return false;
  *v = e->k;
  return true;
}

bool surg__expr_born_in(const surg_expr *e, const surg_graph *g) {
  if (e->kind == SURG__EXPR_SYM) {
    if (e->symbol != SURG__SYMBOL_ANONYMOUS) return false;
    const surg_graph *at = e->value->graph;
    while (at && at != g) at = at->parent_node ? at->parent_node->graph : NULL;
    return at != NULL;
  }
  for (uint16_t i = 0; i < e->n; i++)
    if (surg__expr_born_in(e->args[i], g)) return true;
  return false;
}

/* --- order: symbols by name, so that printed expressions do not depend on traversal order --- */

static int by_number(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int symbol_order(const surg_expr *a, const surg_expr *b) {
  const bool x = a->symbol == SURG__SYMBOL_ANONYMOUS, y = b->symbol == SURG__SYMBOL_ANONYMOUS;
  if (x != y) return x ? 1 : -1;
  const int names = strcmp(x ? a->value->name : a->name, x ? b->value->name : b->name);
  if (names) return names;
  if (a->axis != b->axis) return by_number(a->axis, b->axis);
  return by_number(a->id, b->id);
}

static int atom_order(const surg_expr *a, const surg_expr *b) {
  if (a == b) return 0;
  if (a->kind != b->kind)
    return a->kind == SURG__EXPR_SYM   ? -1
           : b->kind == SURG__EXPR_SYM ? 1
                                       : by_number(a->kind, b->kind);
  if (a->kind == SURG__EXPR_SYM) return symbol_order(a, b);
  for (uint16_t i = 0; i < a->n && i < b->n; i++) {
    const int o = surg__expr_order(a->args[i], b->args[i]);
    if (o) return o;
  }
  if (a->n != b->n) return by_number(a->n, b->n);
  return by_number(a->id, b->id);
}

/* Orders longer products first, then products of equal length by their first atoms that differ;
 * sums by their terms. */
int surg__expr_order(const surg_expr *a, const surg_expr *b) {
  uint32_t na, nb;
  if (a == b) return 0;
  if (a->kind == SURG__EXPR_NUM || b->kind == SURG__EXPR_NUM)
    return a->kind != b->kind ? (a->kind == SURG__EXPR_NUM ? 1 : -1) : by_number(a->k, b->k);
  if (a->kind == SURG__EXPR_SUM || b->kind == SURG__EXPR_SUM) {
    const int o = surg__expr_order(a->kind == SURG__EXPR_SUM ? a->args[0] : a,
                                   b->kind == SURG__EXPR_SUM ? b->args[0] : b);
    if (o || a->kind != b->kind) return o ? o : by_number(a->kind, b->kind);
    for (uint16_t i = 0; i < a->n && i < b->n; i++) {
      const int t = surg__expr_order(a->args[i], b->args[i]);
      if (t) return t;
      if (a->coeffs[i] != b->coeffs[i]) return by_number(b->coeffs[i], a->coeffs[i]);
    }
    return a->n != b->n ? by_number(a->n, b->n) : by_number(a->k, b->k);
  }
  const surg_expr *const *fa = surg__expr_factors(&a, &na), *const *fb =
                                                                surg__expr_factors(&b, &nb);
  if (na != nb) return na > nb ? -1 : 1;
  for (uint32_t i = 0; i < na; i++) {
    const int o = atom_order(fa[i], fb[i]);
    if (o) return o;
  }
  return by_number(a->id, b->id);
}

const surg_expr *const *surg__expr_factors(const surg_expr *const *e, uint32_t *n) {
  *n = (*e)->kind == SURG__EXPR_PROD ? (*e)->n : 1;
  return (*e)->kind == SURG__EXPR_PROD ? (*e)->args : e;
}

/* --- ranges --- */

/* The product of two bounds; INT64_MIN and INT64_MAX are infinities, and 0 times infinity is 0. */
static int64_t bound_mul(int64_t a, int64_t b) {
  if (!a || !b) return 0;
  const bool inf = a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX;
  int64_t product;
  if (!inf && !__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

static int64_t bound_add(int64_t a, int64_t b) {
  if (a == INT64_MIN || a == INT64_MAX) return a;
  if (b == INT64_MIN || b == INT64_MAX) return b;
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

static void range_mul(int64_t *lo, int64_t *hi, int64_t lo2, int64_t hi2) {
  const int64_t v[4] = {bound_mul(*lo, lo2), bound_mul(*lo, hi2), bound_mul(*hi, lo2),
                        bound_mul(*hi, hi2)};
  *lo = *hi = v[0];
  for (int i = 1; i < 4; i++) {
    if (v[i] < *lo) *lo = v[i];
    if (v[i] > *hi) *hi = v[i];
  }
}

void surg__poly_range(const surg__poly *p, int64_t *lo, int64_t *hi) {
  *lo = *hi = p->k;
  for (uint32_t i = 0; i < p->n; i++) {
    int64_t l = p->args[i]->lo, h = p->args[i]->hi;
    range_mul(&l, &h, p->coeffs[i], p->coeffs[i]);
    *lo = bound_add(*lo, l);
    *hi = bound_add(*hi, h);
  }
}

/* --- sums --- */

void surg__poly_of(surg__poly *p, const surg_expr *e) {
  p->bad = !e;
  p->n = 0;
  p->k = 0;
  if (e) surg__poly_add(p, 1, e);
}

void surg__poly_term(surg__poly *p, int64_t k, const surg_expr *product) {
  uint32_t at = 0;
  if (!product) p->bad = true;
  if (p->bad || !k) return;
  for (; at < p->n; at++) {
    if (p->args[at] != product) continue;
    if (!surg__add_i64(p->coeffs[at], k, &k)) p->bad = true;
    p->coeffs[at] = k;
    if (k) return;
    p->n--;
    memmove(&p->coeffs[at], &p->coeffs[at + 1], (p->n - at) * sizeof *p->coeffs);
    memmove(&p->args[at], &p->args[at + 1], (p->n - at) * sizeof *p->args);
    return;
  }
  if (p->n == SURG_LIMIT_EXPR_TERMS) {
    p->bad = true;
    return;
  }
  for (at = p->n; at > 0 && surg__expr_order(product, p->args[at - 1]) < 0; at--) {
    p->args[at] = p->args[at - 1];
    p->coeffs[at] = p->coeffs[at - 1];
  }
  p->args[at] = product;
  p->coeffs[at] = k;
  p->n++;
}

void surg__poly_add(surg__poly *p, int64_t k, const surg_expr *e) {
  int64_t c;
  if (!e) p->bad = true;
  if (p->bad) return;
  const bool constant = e->kind == SURG__EXPR_NUM || e->kind == SURG__EXPR_SUM;
  if (constant && (!surg__mul_i64(e->k, k, &c) || !surg__add_i64(p->k, c, &p->k))) p->bad = true;
  if (e->kind == SURG__EXPR_NUM) return;
  if (e->kind != SURG__EXPR_SUM) {
    surg__poly_term(p, k, e);
    return;
  }
  for (uint16_t i = 0; i < e->n; i++) {
    if (!surg__mul_i64(e->coeffs[i], k, &c)) p->bad = true;
    surg__poly_term(p, c, e->args[i]);
    if (p->bad) return;
  }
}

const surg_expr *surg__poly_expr(surg__exprs *set, const surg__poly *p) {
  if (p->bad) return NULL;
  if (!p->n) return number(set, p->k);
  if (p->n == 1 && p->coeffs[0] == 1 && !p->k) return p->args[0];
  surg_expr key = {.kind = SURG__EXPR_SUM, .k = p->k, .n = (uint16_t)p->n};
  key.args = p->args;
  key.coeffs = p->coeffs;
  surg__poly_range(p, &key.lo, &key.hi);
  return surg__expr_intern(set, &key);
}

const surg_expr *surg__expr_product(surg__exprs *set, const surg_expr **atoms, uint32_t n) {
  if (!n) return number(set, 1);
  for (uint32_t i = 1; i < n; i++) {
    const surg_expr *e = atoms[i];
    uint32_t at = i;
    for (; at > 0 && surg__expr_order(e, atoms[at - 1]) < 0; at--) atoms[at] = atoms[at - 1];
    atoms[at] = e;
  }
  if (n == 1) return atoms[0];
  surg_expr key = {.kind = SURG__EXPR_PROD, .n = (uint16_t)n, .args = atoms};
  key.lo = atoms[0]->lo;
  key.hi = atoms[0]->hi;
  for (uint32_t i = 1; i < n; i++) range_mul(&key.lo, &key.hi, atoms[i]->lo, atoms[i]->hi);
  return surg__expr_intern(set, &key);
}

static const surg_expr *sum(const surg_expr *a, int64_t k, const surg_expr *b) {
  surg__poly p;
  if (!a || !b) return NULL;
  assert(a->set == b->set);
  surg__poly_of(&p, a);
  surg__poly_add(&p, k, b);
  return surg__poly_expr(a->set, &p);
}

const surg_expr *surg__expr_add(const surg_expr *a, const surg_expr *b) {
  return sum(a, 1, b);
}
const surg_expr *surg__expr_sub(const surg_expr *a, const surg_expr *b) {
  return sum(a, -1, b);
}

const surg_expr *surg__expr_add_num(const surg_expr *a, int64_t k) {
  surg__poly p;
  if (!a || !k) return a;
  surg__poly_of(&p, a);
  if (!surg__add_i64(p.k, k, &p.k)) return NULL;
  return surg__poly_expr(a->set, &p);
}

const surg_expr *surg__expr_scale(const surg_expr *a, int64_t k) {
  surg__poly p = {0};
  if (!a || k == 1) return a;
  surg__poly_add(&p, k, a);
  return surg__poly_expr(a->set, &p);
}

/* --- products --- */

/* p += k * a * b, where a and b are atoms or products. */
static void add_product(surg__exprs *set, surg__poly *p, int64_t k, const surg_expr *a,
                        const surg_expr *b) {
  const surg_expr *atoms[2 * SURG_LIMIT_EXPR_FACTORS];
  uint32_t na, nb;
  const surg_expr *const *fa = surg__expr_factors(&a, &na), *const *fb =
                                                                surg__expr_factors(&b, &nb);
  if (na + nb > SURG_LIMIT_EXPR_FACTORS) {
    p->bad = true;
    return;
  }
  for (uint32_t i = 0; i < na; i++) atoms[i] = fa[i];
  for (uint32_t i = 0; i < nb; i++) atoms[na + i] = fb[i];
  surg__poly_term(p, k, surg__expr_product(set, atoms, na + nb));
}

const surg_expr *surg__expr_mul(const surg_expr *a, const surg_expr *b) {
  surg__poly x, y, p = {0};
  int64_t c;
  if (!a || !b) return NULL;
  assert(a->set == b->set);
  if (a->kind == SURG__EXPR_NUM) return surg__expr_scale(b, a->k);
  if (b->kind == SURG__EXPR_NUM) return surg__expr_scale(a, b->k);
  surg__poly_of(&x, a);
  surg__poly_of(&y, b);
  if (!surg__mul_i64(x.k, y.k, &p.k)) return NULL;
  for (uint32_t i = 0; i < x.n && !p.bad; i++) {
    if (!surg__mul_i64(x.coeffs[i], y.k, &c)) return NULL;
    surg__poly_term(&p, c, x.args[i]);
    for (uint32_t k = 0; k < y.n && !p.bad; k++) {
      if (!surg__mul_i64(x.coeffs[i], y.coeffs[k], &c)) return NULL;
      add_product(a->set, &p, c, x.args[i], y.args[k]);
    }
  }
  for (uint32_t k = 0; k < y.n && !p.bad; k++) {
    if (!surg__mul_i64(y.coeffs[k], x.k, &c)) return NULL;
    surg__poly_term(&p, c, y.args[k]);
  }
  return surg__poly_expr(a->set, &p);
}

/* --- what is at least 1 --- */

static bool noted(const surg_expr *e) {
  return e->noted == e->set->round;
}

static void note(const surg_expr *e) {
  surg_expr *own = (surg_expr *)(uintptr_t)e; /* the table owns it */
  if (e->lo >= 0) own->noted = e->set->round;
}

void surg__exprs_forget_filled(surg_model *m) {
  if (m->exprs) m->exprs->round++;
}

void surg__expr_note_filled(const surg_expr *e) {
  uint32_t n;
  if (!e || e->kind == SURG__EXPR_NUM || e->lo < 0) return;
  note(e);
  const surg_expr *product = e;
  if (e->kind == SURG__EXPR_SUM) {
    if (e->n != 1 || e->k != 0) return;
    product = e->args[0]; /* e is a multiple of it */
    note(product);
  }
  const surg_expr *const *factors = surg__expr_factors(&product, &n);
  for (uint32_t i = 0; i < n; i++) note(factors[i]);
}

bool surg__expr_filled(const surg_expr *e) {
  if (e->lo >= 1 || noted(e)) return true;
  if (e->kind == SURG__EXPR_SYM || e->kind == SURG__EXPR_NUM || e->kind == SURG__EXPR_DIV)
    return false;
  if (e->kind == SURG__EXPR_SUM && e->k < 0) return false;
  const bool each = e->kind == SURG__EXPR_PROD || e->kind == SURG__EXPR_MIN;
  bool some = false;
  for (uint16_t i = 0; i < e->n; i++) {
    const bool filled = surg__expr_filled(e->args[i]);
    if (each && !filled) return false;
    /* Every summand must be 0 or more. */
    if (e->kind == SURG__EXPR_SUM && (e->coeffs[i] < 0 || (!filled && e->args[i]->lo < 0)))
      return false;
    some = some || filled;
  }
  return some;
}
