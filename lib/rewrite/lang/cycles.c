/* SPDX-License-Identifier: Apache-2.0 */
/* Finds rules that would be applied in an endless cycle: each emits what the next one matches, and
 * none reduces the number of nodes. Only certain cycles are reported: single-node patterns without
 * a guard, and emissions without one. All others are stopped by the budget of rewrites. */
#include "rewrite/lang/rule.h"

static uint16_t nodes_of(const surg__rblock *b) {
  uint16_t n = 0;
  for (uint16_t k = 0; k < b->n; k++) n += b->stmts[k].kind == SURG__S_NODE;
  return n;
}

static const surg__rattr *attr_of(const surg__rstmt *s, const char *name) {
  for (uint16_t i = 0; i < s->n_attrs; i++)
    if (!strcmp(s->attrs[i].name, name)) return &s->attrs[i];
  return NULL;
}

/* Whether both expressions are literals that are known to be equal. */
static bool same_literal(const surg__rexpr *a, const surg__rexpr *b) {
  bool known = false;
  if (a->op != SURG__E_LITERAL || b->op != SURG__E_LITERAL) return false;
  return surg__rvalue_equal(&a->literal, &b->literal, &known) && known;
}

/* Whether the emitted node has exactly the attributes that the pattern lists. */
static bool attrs_certain(const surg__rstmt *made, const surg__rstmt *pattern) {
  if (made->more_attrs) return false;
  for (uint16_t i = 0; i < pattern->n_attrs; i++) {
    const surg__rattr *want = &pattern->attrs[i], *have = attr_of(made, want->name);
    if (want->expr && !(have && have->expr && same_literal(have->expr, want->expr))) return false;
    if (!want->expr && !want->or_default && !have) return false;
  }
  for (uint16_t i = 0; i < made->n_attrs && !pattern->more_attrs; i++)
    if (!attr_of(pattern, made->attrs[i].name)) return false;
  return true;
}

static bool number_certain(const surg__rarg *made, const surg__rarg *want) {
  const surg__rexpr *e = made->expr;
  if (made->kind != SURG__A_CONST || !e || e->op != SURG__E_LITERAL) return false;
  const double v = e->literal.kind == SURG__R_FLOAT ? e->literal.one.f : (double)e->literal.one.i;
  return v == want->number;
}

/* Whether the emitted node has every input of the pattern, and inputs with equal names in the
 * pattern are equal values. */
static bool inputs_certain(const surg__rstmt *made, const surg__rstmt *pattern) {
  if (made->more_in || made->n_in < pattern->n_in) return false;
  if (made->n_in > pattern->n_in && !pattern->more_in) return false;
  for (uint16_t i = 0; i < pattern->n_in; i++) {
    const surg__rarg *want = &pattern->in[i], *have = &made->in[i];
    if (want->kind == SURG__A_ABSENT ? have->kind != SURG__A_ABSENT : have->kind == SURG__A_ABSENT)
      return false;
    if (want->kind == SURG__A_CONST && !number_certain(have, want)) return false;
    for (uint16_t j = 0; want->kind == SURG__A_VALUE && j < i; j++)
      if (pattern->in[j].kind == SURG__A_VALUE && pattern->in[j].var == want->var &&
          !(have->kind == SURG__A_VALUE && made->in[j].kind == SURG__A_VALUE &&
            made->in[j].var == have->var))
        return false;
  }
  return true;
}

static bool feeds(const surg__rblock *emit, const surg_rule *to) {
  const surg__rstmt *pattern = &to->match.stmts[to->anchor];
  if (emit->hi < to->match.lo || emit->lo > to->match.hi) return false;
  for (uint16_t k = 0; k < emit->n; k++) {
    const surg__rstmt *s = &emit->stmts[k];
    if (s->kind == SURG__S_NODE && !strcmp(s->op_type, pattern->op_type) &&
        !strcmp(s->domain, pattern->domain) && s->n_out == pattern->n_out &&
        attrs_certain(s, pattern) && inputs_certain(s, pattern))
      return true;
  }
  return false;
}

/* The emission built wherever the pattern matches, with no fewer nodes than the pattern;
 * NULL: none is certain. */
static const surg__rblock *always(const surg_rule *r) {
  assert(r->read); /* rules of users are parsed completely */
  if (r->match.guard || nodes_of(&r->match) != 1 || r->n_emits == 0) return NULL;
  const surg__rblock *b = &r->emits[0];
  return b->guard || b->native || nodes_of(b) < nodes_of(&r->match) ? NULL : b;
}

/* Whether a chain of certain steps from `start` returns to it. At most n steps. */
static bool comes_back(surg_rule *const *rules, const bool *certain, size_t n, size_t start,
                       uint8_t *seen, size_t *last) {
  size_t at = start;
  assert(start < n && certain[start]);
  memset(seen, 0, n);
  for (;;) {
    const surg__rblock *emit = &rules[at]->emits[0];
    size_t next = n;
    for (size_t k = 0; k < n && next == n; k++)
      if (certain[k] && !strcmp(rules[k]->group, rules[start]->group) && feeds(emit, rules[k]))
        next = k;
    if (next == n || (seen[next] && next != start)) return false;
    *last = at;
    if (next == start) return true;
    seen[next] = 1;
    at = next;
  }
}

/* Whether the rules of this group are applied until none matches. `substitute` and `opset` rules
 * are applied one at a time, by operator or by version, so a cycle of them is harmless. */
static bool greedy(const surg_rule *r) {
  return strcmp(r->group, "substitute") && strcmp(r->group, "opset");
}

bool surg__rules_cyclic(surg__rules *r, size_t from, const surg_rule **a, const surg_rule **b) {
  assert(from <= r->list.count);
  const size_t n = r->list.count - from;
  bool *certain = surg__calloc(r->ctx, n + 1, sizeof *certain);
  uint8_t *seen = surg__calloc(r->ctx, n + 1, 1);
  surg_rule *const *rules = r->list.items + from;
  bool found = false;
  size_t last = 0;
  for (size_t i = 0; certain && seen && i < n; i++)
    certain[i] = greedy(rules[i]) && always(rules[i]);
  for (size_t i = 0; certain && seen && i < n && !found; i++) {
    found = certain[i] && comes_back(rules, certain, n, i, seen, &last);
    if (found) *a = rules[i], *b = rules[last];
  }
  surg__free(r->ctx, certain);
  surg__free(r->ctx, seen);
  return found;
}
