/* SPDX-License-Identifier: Apache-2.0 */
/* Parses expressions of rules. Precedence, loosest first: or, and, not, comparisons and `in`, + and
 * -, * / %, unary -, then calls and [index]. */
#include <stdio.h>

#include "io/text/codec.h"
#include "rewrite/lang/rule.h"

static surg__rexpr *parse_or(surg__rparse *p);

/* --- element types --- */

static const struct {
  const char *word;
  int dtype;
} short_names[] = {{"f16", SURG_FLOAT16}, {"f32", SURG_FLOAT},  {"f64", SURG_DOUBLE},
                   {"bf16", SURG_BFLOAT16}, {"i8", SURG_INT8},  {"i16", SURG_INT16},
                   {"i32", SURG_INT32},   {"i64", SURG_INT64},  {"u8", SURG_UINT8},
                   {"u16", SURG_UINT16},  {"u32", SURG_UINT32}, {"u64", SURG_UINT64},
                   {"i4", SURG_INT4},     {"u4", SURG_UINT4}};

int surg__rdtype_of(surg_str name) {
  for (size_t i = 0; i < SURG_COUNT(short_names); i++)
    if (surg__text_word(name.p, name.n, short_names[i].word)) return short_names[i].dtype;
  return surg__dtype_from_name(name.p, name.n);
}

/* --- names --- */

uint16_t surg__rvar_find(const surg_rule *r, surg_str name) {
  for (uint16_t i = 0; i < r->n_vars; i++)
    if (!r->vars[i].hidden && surg__text_word(name.p, name.n, r->vars[i].name)) return i;
  return SURG__NO_VAR;
}

uint16_t surg__rvar_get(surg__rparse *p, surg_str name, bool value, bool *is_new) {
  surg_rule *r = p->rule;
  uint16_t i = surg__rvar_find(r, name);
  *is_new = i == SURG__NO_VAR;
  if (!*is_new) {
    if (r->vars[i].value == value) return i;
    surg__lex_error(p->t, name.p, "%s is %s", surg__q(p->t->ctx, r->vars[i].name),
                    value ? "no value of the graph; a constant of it is written `name : dtype`"
                          : "a value of the graph, not a number");
    return SURG__NO_VAR;
  }
  if (r->n_vars == SURG__RULE_VARS) {
    surg__lex_error(p->t, name.p, "more than %u names in a rule", SURG__RULE_VARS);
    return SURG__NO_VAR;
  }
  const char *copy = surg__arena_strn(&p->rules->arena, name.p, name.n);
  if (!copy) {
    p->t->status = surg__alloc_status(p->t->ctx);
    return SURG__NO_VAR;
  }
  i = r->n_vars++;
  r->vars[i] = (surg__rvar){.name = copy, .value = value, .match_node = -1, .emit_node = -1};
  return i;
}

bool surg__rlookahead(surg__rparse *p, const char *punct) {
  const size_t n = strlen(punct);
  (void)surg__lex_peek(p->t);
  return (size_t)(p->t->end - p->t->p) >= n && !memcmp(p->t->p, punct, n);
}

bool surg__rword(surg__rparse *p, const char *word) {
  surg_str s;
  if (!surg__lex_peek_ident(p->t, &s) || !surg__text_word(s.p, s.n, word)) return false;
  p->t->p += s.n;
  return true;
}

/* --- nodes of expressions --- */

static surg__rexpr *make(surg__rparse *p, surg__rop op, surg__rexpr *a, surg__rexpr *b) {
  assert(a || !b);
  surg__arena *arena = &p->rules->arena;
  surg__rexpr *e = surg__arena_zalloc(arena, sizeof *e);
  surg__rexpr **args = e && a ? surg__arena_array(arena, 2, sizeof *args) : NULL;
  if (!e || (a && !args)) {
    p->t->status = surg__alloc_status(p->t->ctx);
    return NULL;
  }
  e->op = op;
  e->var = SURG__NO_VAR;
  e->args = args;
  if (a) args[e->n++] = a;
  if (b) args[e->n++] = b;
  for (uint16_t i = 0; i < e->n; i++)
    if (args[i]->depth >= e->depth) e->depth = (uint16_t)(args[i]->depth + 1);
  if (e->depth < SURG__RULE_EXPR) return e;
  surg__lex_error(p->t, NULL, "the expression is too long");
  return NULL;
}

static surg__rexpr *literal(surg__rparse *p, surg__rkind kind) {
  surg__rexpr *e = make(p, SURG__E_LITERAL, NULL, NULL);
  if (e) e->literal.kind = kind;
  if (e) e->literal.one.known = true;
  return e;
}

static surg__rexpr *number(surg__rparse *p) {
  surg__num v;
  uint64_t bits;
  if (!surg__lex_number(p->t, &v)) return NULL;
  if (v.kind == SURG__NUM_INT) {
    surg__rexpr *e = literal(p, SURG__R_INT);
    return e && surg__num_i64(p->t, &v, &e->literal.one.i) ? e : NULL;
  }
  surg__rexpr *e = literal(p, SURG__R_FLOAT);
  if (!e || !surg__num_double(p->t, &v, &bits)) return NULL;
  memcpy(&e->literal.one.f, &bits, sizeof bits);
  return e;
}

static surg__rexpr *string(surg__rparse *p) {
  surg_str s;
  if (!surg__lex_string(p->t, &s)) return NULL;
  surg__rexpr *e = literal(p, SURG__R_STRING);
  if (!e) return NULL;
  char *copy = surg__arena_strn(&p->rules->arena, s.p, s.n);
  if (!copy) {
    p->t->status = surg__alloc_status(p->t->ctx);
    return NULL;
  }
  e->literal.s = (surg_str){copy, s.n};
  return e;
}

/* Parses expressions up to `close` as the arguments of `e`. */
static surg__rexpr *list_into(surg__rparse *p, surg__rexpr *e, char close) {
  SURG_VEC(surg__rexpr *) items = {0};
  bool ok = e != NULL;
  if (ok && !surg__lex_match(p->t, close)) {
    do {
      surg__rexpr *item = parse_or(p);
      ok = item && items.count < SURG__RULE_LIST && surg__vec_push(p->t->ctx, &items, item);
    } while (ok && surg__lex_match(p->t, ','));
    ok = ok && surg__lex_expect(p->t, close);
  }
  if (ok && items.count) {
    e->args = surg__arena_array(&p->rules->arena, items.count, sizeof *e->args);
    if (e->args) memcpy(e->args, items.items, items.count * sizeof *e->args);
    ok = e->args != NULL;
    assert(items.count <= SURG__RULE_LIST);
    e->n = (uint16_t)items.count;
    for (size_t i = 0; i < items.count; i++)
      if (items.items[i]->depth >= e->depth) e->depth = (uint16_t)(items.items[i]->depth + 1);
  }
  if (!ok && !p->t->status) p->t->status = surg__alloc_status(p->t->ctx);
  surg__vec_free(p->t->ctx, &items);
  return ok ? e : NULL;
}

static const char *fn_name(const void *list, size_t i) {
  return ((const surg__rule_fn *)list)[i].name;
}

static surg__rexpr *call(surg__rparse *p, surg_str name) {
  const surg__rule_fn *fn = surg__rule_fn_find(name);
  size_t count;
  if (!fn) {
    char text[64];
    const surg__rule_fn *all = surg__rfn_list(&count);
    snprintf(text, sizeof text, "%.*s", (int)(name.n < 60 ? name.n : 60), name.p);
    const char *near = all ? surg__nearest(text, all, count, fn_name) : NULL;
    surg__lex_error(p->t, name.p, "no function is named %s%s%s%s",
                    surg__qn(p->t->ctx, name.p, name.n), near ? "; did you mean " : "",
                    near ? near : "", near ? "?" : "");
    return NULL;
  }
  surg__rexpr *e = make(p, SURG__E_CALL, NULL, NULL);
  if (!e || !surg__lex_expect(p->t, '(')) return NULL;
  e->fn = fn;
  if (fn->about_value) {
    surg_str v;
    bool is_new;
    if (!surg__lex_quotable(p->t, &v, "the name of a value")) return NULL;
    e->var = surg__rvar_get(p, v, true, &is_new);
    if (e->var == SURG__NO_VAR) return NULL;
    if (is_new) {
      surg__lex_error(p->t, v.p, "%s is not bound", surg__qn(p->t->ctx, v.p, v.n));
      return NULL;
    }
    if (surg__lex_match(p->t, ')'))
      e->n = 0;
    else if (!surg__lex_expect(p->t, ',') || !list_into(p, e, ')'))
      return NULL;
  } else if (!list_into(p, e, ')')) {
    return NULL;
  }
  if (e->n >= fn->min && e->n <= fn->max) return e;
  surg__lex_error(p->t, name.p, "%s expects %u to %u arguments here", fn->name,
                  fn->min + (unsigned)fn->about_value, fn->max + (unsigned)fn->about_value);
  return NULL;
}

static surg__rexpr *word(surg__rparse *p) {
  surg_str s;
  if (!surg__lex_ident(p->t, &s)) return NULL;
  if (surg__text_word(s.p, s.n, "true") || surg__text_word(s.p, s.n, "false")) {
    surg__rexpr *e = literal(p, SURG__R_BOOL);
    if (e) e->literal.one.i = s.n == 4;
    return e;
  }
  if (surg__lex_peek(p->t) == '(') return call(p, s);
  const uint16_t var = surg__rvar_find(p->rule, s);
  if (var != SURG__NO_VAR && !p->rule->vars[var].value) {
    surg__rexpr *e = make(p, SURG__E_VAR, NULL, NULL);
    if (e) e->var = var;
    return e;
  }
  const int dtype = surg__rdtype_of(s);
  if (dtype) {
    surg__rexpr *e = literal(p, SURG__R_DTYPE);
    if (e) e->literal.one.i = dtype;
    return e;
  }
  surg__lex_error(p->t, s.p, var == SURG__NO_VAR ? "%s is not bound" : "%s is a value of the graph",
                  surg__qn(p->t->ctx, s.p, s.n));
  return NULL;
}

static surg__rexpr *primary(surg__rparse *p) {
  const char c = surg__lex_peek(p->t);
  if (c == '(') {
    surg__lex_match(p->t, '(');
    surg__rexpr *e = parse_or(p);
    return e && surg__lex_expect(p->t, ')') ? e : NULL;
  }
  if (c == '[') {
    surg__lex_match(p->t, '[');
    return list_into(p, make(p, SURG__E_LIST, NULL, NULL), ']');
  }
  if (c == '"') return string(p);
  surg_str s;
  if (surg__lex_peek_ident(p->t, &s) && surg__lex_at_number(p->t)) return number(p); /* inf, nan */
  if (c != '-' && surg__lex_at_number(p->t)) return number(p);
  return word(p);
}

static surg__rexpr *postfix(surg__rparse *p) {
  surg__rexpr *e = primary(p);
  while (e && surg__lex_match(p->t, '[')) {
    surg__rexpr *i = parse_or(p);
    e = i && surg__lex_expect(p->t, ']') ? make(p, SURG__E_INDEX, e, i) : NULL;
  }
  return e;
}

static surg__rexpr *unary(surg__rparse *p) {
  if (!surg__lex_match(p->t, '-')) return postfix(p);
  surg__rexpr *e = postfix(p);
  if (!e || e->op != SURG__E_LITERAL) return e ? make(p, SURG__E_NEG, e, NULL) : NULL;
  e->literal.one.f = -e->literal.one.f;
  e->literal.one.i = -e->literal.one.i;
  return e;
}

static surg__rexpr *product(surg__rparse *p) {
  surg__rexpr *e = unary(p);
  while (e) {
    const surg__rop op = surg__lex_match(p->t, '*')   ? SURG__E_MUL
                         : surg__lex_match(p->t, '/') ? SURG__E_DIV
                         : surg__lex_match(p->t, '%') ? SURG__E_MOD
                                                      : SURG__E_LITERAL;
    if (op == SURG__E_LITERAL) break;
    surg__rexpr *b = unary(p);
    e = b ? make(p, op, e, b) : NULL;
  }
  return e;
}

static surg__rexpr *sum(surg__rparse *p) {
  surg__rexpr *e = product(p);
  while (e) {
    const surg__rop op = surg__lex_match(p->t, '+')   ? SURG__E_ADD
                         : surg__lex_match(p->t, '-') ? SURG__E_SUB
                                                      : SURG__E_LITERAL;
    if (op == SURG__E_LITERAL) break;
    surg__rexpr *b = product(p);
    e = b ? make(p, op, e, b) : NULL;
  }
  return e;
}

static bool comparison_sign(surg__rparse *p, surg__rop *op) {
  static const struct {
    const char *sign;
    surg__rop op;
  } signs[] = {{"==", SURG__E_EQ}, {"!=", SURG__E_NE}, {"<=", SURG__E_LE},
               {">=", SURG__E_GE}, {"<", SURG__E_LT},  {">", SURG__E_GT}};
  for (size_t i = 0; i < SURG_COUNT(signs); i++) {
    if (!surg__rlookahead(p, signs[i].sign)) continue;
    p->t->p += strlen(signs[i].sign);
    *op = signs[i].op;
    return true;
  }
  *op = SURG__E_IN;
  return surg__rword(p, "in");
}

static surg__rexpr *comparison(surg__rparse *p) {
  surg__rop op;
  surg__rexpr *a = sum(p);
  if (!a || !comparison_sign(p, &op)) return a;
  surg__rexpr *b = sum(p);
  return b ? make(p, op, a, b) : NULL;
}

static surg__rexpr *negation(surg__rparse *p) {
  if (!surg__rword(p, "not")) return comparison(p);
  surg__rexpr *e = comparison(p);
  return e ? make(p, SURG__E_NOT, e, NULL) : NULL;
}

/* Parses one part of a guard, and keeps its text for reports. */
static surg__rexpr *part(surg__rparse *p) {
  (void)surg__lex_peek(p->t); /* skips blanks */
  const char *from = p->t->p;
  surg__rexpr *e = negation(p);
  if (!e) return NULL;
  size_t n = (size_t)(p->t->p - from);
  while (n > 0 && (from[n - 1] == ' ' || from[n - 1] == '\n')) n--;
  const char *text = surg__arena_strn(&p->rules->arena, from, n);
  if (text) e->text = (surg_str){text, n};
  return e;
}

static surg__rexpr *parse_and(surg__rparse *p) {
  surg__rexpr *e = part(p);
  while (e && surg__rword(p, "and")) {
    surg__rexpr *b = part(p);
    e = b ? make(p, SURG__E_AND, e, b) : NULL;
  }
  return e;
}

static surg__rexpr *parse_or(surg__rparse *p) {
  if (p->depth == SURG__RULE_DEPTH) {
    surg__lex_error(p->t, NULL, "nested more than %u deep", SURG__RULE_DEPTH);
    return NULL;
  }
  p->depth++;
  surg__rexpr *e = parse_and(p);
  while (e && surg__rword(p, "or")) {
    surg__rexpr *b = parse_and(p);
    e = b ? make(p, SURG__E_OR, e, b) : NULL;
  }
  assert(p->depth > 0);
  p->depth--;
  return e;
}

surg__rexpr *surg__rexpr_parse(surg__rparse *p) { return parse_or(p); }

surg__rexpr *surg__rexpr_parse_plain(surg__rparse *p) { return sum(p); }

surg__rexpr *surg__rdtype_parse(surg__rparse *p) { return word(p); }
