/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the text of rules (grammar: doc/rules.md). */
#include <stdio.h>

#include "io/text/codec.h"
#include "rewrite/lang/rule.h"

typedef SURG_VEC(surg__rstmt) stmts;
typedef SURG_VEC(surg__rarg) args;
typedef SURG_VEC(surg__rattr) attrs;
typedef SURG_VEC(surg__rblock) blocks;

static bool no_memory(surg__rparse *p) {
  if (!p->t->status) p->t->status = surg__alloc_status(p->t->ctx);
  return false;
}

/* Copies a list into the arena of the rules. */
static bool keep(surg__rparse *p, void *out, const void *items, size_t count, size_t size) {
  void *copy = surg__arena_array(&p->rules->arena, count ? count : 1, size);
  if (!copy) return no_memory(p);
  if (count) memcpy(copy, items, count * size);
  memcpy(out, &copy, sizeof copy);
  return true;
}

static const char *copy_str(surg__rparse *p, surg_str s) {
  const char *copy = surg__arena_strn(&p->rules->arena, s.p, s.n);
  if (!copy) no_memory(p);
  return copy;
}

/* Returns the current line number. Counts from the position of the previous call, since text is
 * mostly read forwards. */
static uint32_t line_of(surg__rparse *p) {
  if (!p->line_at) {
    p->line_at = p->t->start;
    p->line = 1;
  }
  while (p->line_at > p->t->p)
    p->line -= *--p->line_at == '\n'; /* a rule is read again for each operator of `for` */
  for (const char *c; (c = memchr(p->line_at, '\n', (size_t)(p->t->p - p->line_at)));)
    p->line++, p->line_at = c + 1;
  p->line_at = p->t->p;
  return p->line;
}

static bool dots(surg__rparse *p, const char *what) {
  if (!surg__rlookahead(p, what)) return false;
  p->t->p += strlen(what);
  return true;
}

/* --- arguments --- */

/* Whether the next token is a plain argument: `x` or `x?` before ',' or ')'. */
static bool at_plain_name(surg__rparse *p) {
  const char *from = p->t->p;
  surg_str s;
  bool plain = false;
  if (surg__lex_peek(p->t) == '"') return true;
  if (surg__lex_peek_ident(p->t, &s)) {
    p->t->p += s.n;
    (void)surg__lex_match(p->t, '?');
    const char c = surg__lex_peek(p->t);
    plain = c == ',' || c == ')' || c == '=';
  }
  p->t->p = from;
  return plain;
}

static bool value_arg(surg__rparse *p, surg__rarg *a) {
  surg_str s;
  bool is_new;
  if (!surg__lex_quotable(p->t, &s, "a name")) return false;
  a->kind = SURG__A_VALUE;
  a->var = surg__rvar_get(p, s, true, &is_new);
  if (a->var == SURG__NO_VAR) return false;
  if (!p->in_match && is_new)
    return surg__lex_error(p->t, s.p, "%s is not bound", surg__qn(p->t->ctx, s.p, s.n));
  a->optional = surg__lex_match(p->t, '?');
  if (a->optional && p->in_match) p->rule->vars[a->var].optional = true;
  return true;
}

/* Whether an operator with its inputs is next: words joined by dots, then '<' or '('. */
static bool at_node(surg__rparse *p) {
  const char *from = p->t->p;
  surg_str s;
  bool is = false;
  while (surg__lex_peek_ident(p->t, &s)) {
    p->t->p += s.n;
    const char c = surg__lex_peek(p->t);
    is = c == '(' || c == '<';
    if (c != '.' || is) break;
    p->t->p++;
  }
  p->t->p = from;
  return is;
}

/* Names the result of a node that the pattern leaves unnamed: "(1)", which no pattern can write. */
static bool unnamed_value(surg__rparse *p, surg__rarg *a) {
  char name[16];
  bool is_new;
  const int n = snprintf(name, sizeof name, "(%u)", ++p->blanks);
  *a = (surg__rarg){.kind = SURG__A_VALUE};
  a->var = surg__rvar_get(p, (surg_str){name, (size_t)n}, true, &is_new);
  return a->var != SURG__NO_VAR;
}

static bool node_arg(surg__rparse *p, surg__rarg *a);

/* Parses `3.0` in a pattern, `expr : dtype` in an emission. */
static bool const_arg(surg__rparse *p, surg__rarg *a) {
  a->kind = SURG__A_CONST;
  if (p->in_match) {
    surg__num v;
    uint64_t bits;
    if (!surg__lex_at_number(p->t))
      return surg__lex_error(p->t, NULL, "expected a name before `,` or `)`, a number, or a node");
    if (!surg__lex_number(p->t, &v) || !surg__num_double(p->t, &v, &bits)) return false;
    memcpy(&a->number, &bits, sizeof bits);
    return true;
  }
  a->expr = surg__rexpr_parse(p);
  if (!a->expr || !surg__lex_expect(p->t, ':')) return false;
  a->dtype = surg__rdtype_parse(p);
  return a->dtype != NULL;
}

static bool input_list(surg__rparse *p, surg__rstmt *s) {
  args list = {0};
  bool ok = surg__lex_expect(p->t, '(');
  if (ok && !surg__lex_match(p->t, ')')) {
    do {
      surg__rarg a = {.kind = SURG__A_ABSENT, .var = SURG__NO_VAR};
      const char c = surg__lex_peek(p->t);
      if (dots(p, "...")) {
        s->more_in = true;
        break;
      }
      if (c != ',' && c != ')')
        ok = at_plain_name(p)            ? value_arg(p, &a)
             : p->in_match && at_node(p) ? node_arg(p, &a)
                                         : const_arg(p, &a);
      if (ok && list.count >= UINT16_MAX) ok = surg__lex_error(p->t, NULL, "too many inputs");
      if (ok && !surg__vec_push(p->t->ctx, &list, a)) ok = no_memory(p);
    } while (ok && surg__lex_match(p->t, ','));
    ok = ok && surg__lex_expect(p->t, ')');
  }
  s->n_in = (uint16_t)list.count;
  ok = ok && keep(p, &s->in, list.items, list.count, sizeof *list.items);
  surg__vec_free(p->t->ctx, &list);
  return ok;
}

/* --- attributes --- */

static bool attr(surg__rparse *p, surg__rattr *a) {
  surg_str name, s;
  bool is_new;
  if (!surg__lex_quotable(p->t, &name, "the name of an attribute")) return false;
  *a = (surg__rattr){.name = copy_str(p, name), .var = SURG__NO_VAR};
  if (!a->name) return false;
  a->or_default = surg__lex_match(p->t, '?');
  if (a->or_default && !p->in_match)
    return surg__lex_error(p->t, NULL, "`?=` is allowed in patterns only");
  if (!surg__lex_expect(p->t, '=')) return false;
  if (p->in_match && surg__lex_peek_ident(p->t, &s) && !surg__lex_at_number(p->t)) {
    const uint16_t known = surg__rvar_find(p->rule, s);
    const bool literal = surg__text_word(s.p, s.n, "true") || surg__text_word(s.p, s.n, "false");
    if (!literal) {
      p->t->p += s.n;
      a->var = surg__rvar_get(p, s, false, &is_new);
      if (a->var == SURG__NO_VAR) return false;
      if (known != SURG__NO_VAR)
        return surg__lex_error(p->t, s.p, "%s is bound already; compare it with `where`",
                               surg__qn(p->t->ctx, s.p, s.n));
      return true;
    }
  }
  if (a->or_default) return surg__lex_error(p->t, NULL, "`?=` binds a name");
  a->expr = surg__rexpr_parse_plain(p);
  if (!a->expr || p->in_match || !surg__lex_match(p->t, ':')) return a->expr != NULL;
  a->dtype = surg__rdtype_parse(p);
  return a->dtype != NULL;
}

static bool attr_list(surg__rparse *p, surg__rstmt *s) {
  attrs list = {0};
  bool ok = true;
  if (surg__lex_match(p->t, '<') && !surg__lex_match(p->t, '>')) {
    do {
      surg__rattr a;
      if (dots(p, "...")) {
        s->more_attrs = true;
        break;
      }
      ok = attr(p, &a);
      if (ok && list.count >= UINT16_MAX) ok = surg__lex_error(p->t, NULL, "too many attributes");
      if (ok && !surg__vec_push(p->t->ctx, &list, a)) ok = no_memory(p);
    } while (ok && surg__lex_match(p->t, ','));
    ok = ok && surg__lex_expect(p->t, '>');
  }
  s->n_attrs = (uint16_t)list.count;
  ok = ok && keep(p, &s->attrs, list.items, list.count, sizeof *list.items);
  surg__vec_free(p->t->ctx, &list);
  return ok;
}

/* --- statements --- */

static bool let(surg__rparse *p, surg__rstmt *s) {
  surg_str name;
  bool is_new;
  s->kind = SURG__S_LET;
  const char *at = p->t->p;
  if (!surg__lex_ident(p->t, &name)) return false;
  const surg_str kept = name;
  if (surg__rvar_find(p->rule, kept) != SURG__NO_VAR)
    return surg__lex_error(p->t, at, "%s is bound already", surg__qn(p->t->ctx, name.p, name.n));
  if (!surg__lex_expect(p->t, '=')) return false;
  s->expr = surg__rexpr_parse(p);
  if (!s->expr) return false;
  s->var = surg__rvar_get(p, kept, false, &is_new);
  return s->var != SURG__NO_VAR;
}

static bool output_list(surg__rparse *p, surg__rstmt *s) {
  args list = {0};
  bool ok = true;
  do {
    surg__rarg a = {.kind = SURG__A_ABSENT, .var = SURG__NO_VAR};
    surg_str name;
    bool is_new;
    if (dots(p, "...")) {
      s->more_out = true;
      break;
    }
    const char c = surg__lex_peek(p->t);
    if (c != ',' && c != '=') {
      ok = surg__lex_quotable(p->t, &name, "the name of an output");
      a.kind = SURG__A_VALUE;
      if (ok) a.var = surg__rvar_get(p, name, true, &is_new);
      ok = ok && a.var != SURG__NO_VAR;
      a.optional = ok && surg__lex_match(p->t, '?');
      if (a.optional && p->in_match) p->rule->vars[a.var].optional = true;
    }
    if (ok && list.count >= UINT16_MAX) ok = surg__lex_error(p->t, NULL, "too many outputs");
    if (ok && !surg__vec_push(p->t->ctx, &list, a)) ok = no_memory(p);
  } while (ok && surg__lex_match(p->t, ','));
  s->n_out = (uint16_t)list.count;
  ok = ok && keep(p, &s->out, list.items, list.count, sizeof *list.items);
  surg__vec_free(p->t->ctx, &list);
  return ok;
}

/* Parses an operator like `com.microsoft.Gelu`: the last word is the operator,
 * the rest its domain. */
static bool op_name(surg__rparse *p, surg__rstmt *s) {
  surg__buf domain;
  surg_str word;
  bool ok = surg__lex_ident(p->t, &word);
  surg__buf_init(&domain, p->t->ctx);
  while (ok && p->t->p < p->t->end && *p->t->p == '.' && !surg__rlookahead(p, "...")) {
    p->t->p++;
    if (domain.n) surg__buf_putc(&domain, '.');
    surg__buf_put(&domain, word.p, word.n);
    ok = surg__lex_ident(p->t, &word);
  }
  if (domain.failed) ok = no_memory(p);
  if (ok && p->each.n && word.n == p->each.n && !memcmp(word.p, p->each.p, word.n))
    word = p->each_op;
  if (ok) s->op_type = copy_str(p, word);
  if (ok) s->domain = copy_str(p, (surg_str){domain.p ? domain.p : "", domain.n});
  surg__buf_free(&domain);
  if (!ok || !s->op_type || !s->domain) return false;
  if (!strcmp(s->domain, "ai.onnx")) s->domain = "";
  return true;
}

/* Parses an operator with its inputs, without a name for its result. */
static bool unnamed(surg__rparse *p, surg__rstmt *s) {
  surg__rarg result;
  if (!unnamed_value(p, &result)) return false;
  s->n_out = 1;
  return keep(p, &s->out, &result, 1, sizeof result) && op_name(p, s) && attr_list(p, s) &&
         input_list(p, s);
}

static bool add_statement(surg__rparse *p, const surg__rstmt *s) {
  stmts *list = p->block;
  if (list->count == SURG__RULE_NODES)
    return surg__lex_error(p->t, NULL, "more than %u statements", SURG__RULE_NODES);
  return surg__vec_push(p->t->ctx, list, *s) || no_memory(p);
}

/* Parses a node as an argument: a statement before the one that reads it. */
static bool node_arg(surg__rparse *p, surg__rarg *a) {
  surg__rstmt s = {.line = line_of(p), .var = SURG__NO_VAR};
  if (p->nested == SURG__RULE_NODES)
    return surg__lex_error(p->t, NULL, "more than %u nodes inside each other", SURG__RULE_NODES);
  p->nested++;
  const bool ok = unnamed(p, &s) && add_statement(p, &s);
  p->nested--;
  if (ok) *a = s.out[0];
  return ok;
}

static bool statement(surg__rparse *p, surg__rstmt *s) {
  (void)surg__lex_peek(p->t);
  *s = (surg__rstmt){.line = line_of(p), .var = SURG__NO_VAR};
  if (surg__rword(p, "let")) return let(p, s);
  if (p->in_match && at_node(p)) return unnamed(p, s);
  if (!output_list(p, s) || !surg__lex_expect(p->t, '=')) return false;
  if (at_plain_name(p)) return surg__lex_error(p->t, NULL, "expected an operator with its inputs");
  const char *from = p->t->p;
  surg_str word;
  if (!surg__lex_peek_ident(p->t, &word))
    return surg__lex_error(p->t, NULL, "expected an operator or a value");
  /* In `y = x` the name ends the statement; an operator is followed by `.`, `<` or `(`. */
  p->t->p += word.n;
  const char c = surg__lex_peek(p->t);
  p->t->p = from;
  if (c != '(' && c != '<' && c != '.') {
    surg__rarg a;
    if (p->in_match) return surg__lex_error(p->t, NULL, "`y = x` is allowed in emissions only");
    s->kind = SURG__S_FORWARD;
    if (!value_arg(p, &a)) return false;
    if (a.optional || s->n_out != 1 || s->out[0].kind != SURG__A_VALUE || s->more_out)
      return surg__lex_error(p->t, from, "`y = x` has one name on each side");
    s->var = a.var;
    return true;
  }
  return op_name(p, s) && attr_list(p, s) && input_list(p, s);
}

static bool statements(surg__rparse *p, surg__rblock *b) {
  stmts list = {0};
  bool ok = surg__lex_expect(p->t, '{');
  p->block = &list;
  while (ok && !surg__lex_match(p->t, '}')) {
    surg__rstmt s;
    ok = statement(p, &s) && add_statement(p, &s);
    (void)surg__lex_match(p->t, ';');
  }
  p->block = NULL;
  assert(list.count <= SURG__RULE_NODES);
  b->n = (uint16_t)list.count;
  ok = ok && keep(p, &b->stmts, list.items, list.count, sizeof *list.items);
  surg__vec_free(p->t->ctx, &list);
  return ok;
}

/* --- blocks --- */

/* Parses digits only: a float would consume the first dot of `..`. */
static bool opset_number(surg__rparse *p, int64_t *out) {
  int64_t v = 0;
  size_t n = 0;
  (void)surg__lex_peek(p->t);
  while (p->t->p < p->t->end && *p->t->p >= '0' && *p->t->p <= '9' && n++ < 6)
    v = v * 10 + (*p->t->p++ - '0');
  if (!n || !v) return surg__lex_error(p->t, NULL, "an opset is a number from 1 on");
  *out = v;
  return true;
}

static bool range(surg__rparse *p, surg__rblock *b) {
  b->lo = 1;
  b->hi = INT64_MAX;
  if (!surg__rword(p, "opset")) return true;
  if (!opset_number(p, &b->lo)) return false;
  if (!dots(p, "..")) {
    b->hi = b->lo;
    return true;
  }
  const char c = surg__lex_peek(p->t);
  if (c < '0' || c > '9') return true;
  if (!opset_number(p, &b->hi)) return false;
  return b->lo <= b->hi || surg__lex_error(p->t, NULL, "the range is empty");
}

/* Parses `by NAME`: a C function of this library builds the emission. */
static bool native(surg__rparse *p, surg__rblock *b) {
  surg_str s;
  if (!surg__lex_ident(p->t, &s)) return false;
  b->native = surg__native_find(s);
  return b->native ||
         surg__lex_error(p->t, s.p, "there is no %s to make it by", surg__qn(p->t->ctx, s.p, s.n));
}

/* Parses a block. Its guard may use names that the statements after it bind, so it is skipped first
 * and parsed after them. */
static bool block(surg__rparse *p, surg__rblock *b) {
  b->line = line_of(p);
  b->bound = p->rule->n_vars;
  if (!range(p, b)) return false;
  assert(b->lo >= 1 && b->lo <= b->hi);
  const char *guard = NULL;
  if (surg__rword(p, "where")) {
    guard = p->t->p;
    /* Skip to the brace that opens the statements; guards have no braces outside of strings. */
    while (p->t->p < p->t->end && surg__lex_peek(p->t) != '{' && p->t->p < p->t->end) {
      surg_str s;
      if (*p->t->p == '"') {
        if (!surg__lex_string(p->t, &s)) return false;
      } else if (surg__lex_peek_ident(p->t, &s)) {
        if (!p->in_match && surg__text_word(s.p, s.n, "by")) break;
        p->t->p += s.n;
      } else {
        p->t->p++;
      }
    }
  }
  const char *by = p->t->p;
  if (!p->in_match && surg__rword(p, "by")) {
    if (!native(p, b)) return false;
  } else if (!statements(p, b)) {
    return false;
  }
  if (!guard) return true;
  const char *end = p->t->p;
  p->t->p = guard;
  b->guard = surg__rexpr_parse(p);
  if (!b->guard) return false;
  const bool ends = b->native ? (surg__lex_peek(p->t), p->t->p == by) : surg__lex_peek(p->t) == '{';
  if (!ends) return surg__lex_expect(p->t, '{');
  p->t->p = end;
  return true;
}

/* Whether an expression uses only one graph value, and is cheap to evaluate. */
static bool about_one(const surg__rexpr *e, uint16_t *var) {
  if (e->op == SURG__E_VAR || (e->op == SURG__E_CALL && !e->fn->quick)) return false;
  if (e->op == SURG__E_CALL && e->fn->about_value) {
    if (*var != SURG__NO_VAR && *var != e->var) return false;
    *var = e->var;
  }
  for (uint16_t i = 0; i < e->n; i++)
    if (!about_one(e->args[i], var)) return false;
  return true;
}

/* Attaches each conjunct of a guard that uses one value only to its variable: it is evaluated as
 * soon as that value is bound, before the rest is matched. */
static void ask_early(surg_rule *r, const surg__rexpr *e) {
  uint16_t var = SURG__NO_VAR;
  if (e->op == SURG__E_AND) {
    ask_early(r, e->args[0]);
    ask_early(r, e->args[1]);
  } else if (about_one(e, &var) && var != SURG__NO_VAR && !r->vars[var].early) {
    r->vars[var].early = e;
  }
}

/* Hides the names that an emission defines from the next one. */
static void forget(surg_rule *r, uint16_t from) {
  assert(from <= r->n_vars);
  for (uint16_t i = from; i < r->n_vars; i++) r->vars[i].hidden = true;
}

static bool exactness(surg__rparse *p, surg_rule *r) {
  static const struct {
    const char *word;
    surg_exactness e;
  } words[] = {{"exact", SURG_EXACT},
               {"ulp", SURG_ULP},
               {"rounding", SURG_ROUNDING},
               {"approx", SURG_APPROX},
               {"lossy", SURG_LOSSY}};
  for (size_t i = 0; i < SURG_COUNT(words); i++) {
    surg_str s;
    if (!surg__rword(p, words[i].word)) continue;
    r->exactness = words[i].e;
    const bool bound = words[i].e == SURG_ULP || words[i].e == SURG_ROUNDING;
    if (!bound && !surg__lex_match(p->t, '(')) return true;
    if (bound && !surg__lex_match(p->t, '('))
      return surg__lex_error(p->t, NULL, "expected the bound: %s(NUMBER)", words[i].word);
    if (!bound && surg__lex_peek(p->t) == '"') {
      if (!surg__lex_string(p->t, &s)) return false;
    } else {
      (void)surg__lex_peek(p->t);
      s = (surg_str){p->t->p, 0};
      while (p->t->p < p->t->end && *p->t->p >= '0' && *p->t->p <= '9') p->t->p++, s.n++;
      if (!s.n)
        return surg__lex_error(p->t, NULL, "expected a number%s", bound ? "" : " or a text");
    }
    r->reason = copy_str(p, s);
    return r->reason && surg__lex_expect(p->t, ')');
  }
  return true;
}

static bool body(surg__rparse *p, surg_rule *r) {
  blocks list = {0};
  bool ok = true;
  uint16_t bound;
  if (!surg__lex_expect(p->t, '{')) return false;
  if (!surg__rword(p, "match")) return surg__lex_error(p->t, NULL, "expected `match`");
  p->in_match = true;
  if (!block(p, &r->match)) return false;
  if (r->match.guard) ask_early(r, r->match.guard);
  p->in_match = false;
  bound = r->n_vars;
  while (ok && surg__rword(p, "emit")) {
    surg__rblock b = {0};
    ok = block(p, &b);
    forget(r, bound);
    if (ok && list.count >= 100) ok = surg__lex_error(p->t, NULL, "too many emissions");
    if (ok && !surg__vec_push(p->t->ctx, &list, b)) ok = no_memory(p);
  }
  if (ok && !list.count) ok = surg__lex_error(p->t, NULL, "expected `emit`");
  ok = ok && surg__lex_expect(p->t, '}');
  r->n_emits = (uint16_t)list.count;
  ok = ok && keep(p, &r->emits, list.items, list.count, sizeof *list.items);
  surg__vec_free(p->t->ctx, &list);
  return ok;
}

/* Parses statements up to the end of the text or `where GUARD`, which ends it. */
static bool open_statements(surg__rparse *p, surg__rblock *b) {
  stmts list = {0};
  bool ok = true, guard = false;
  p->block = &list;
  while (ok && surg__lex_peek(p->t) && !(guard = surg__rword(p, "where"))) {
    surg__rstmt s;
    ok = statement(p, &s) && add_statement(p, &s);
    (void)surg__lex_match(p->t, ';');
  }
  p->block = NULL;
  b->n = (uint16_t)list.count;
  ok = ok && keep(p, &b->stmts, list.items, list.count, sizeof *list.items);
  surg__vec_free(p->t->ctx, &list);
  if (!ok || !guard) return ok;
  b->guard = surg__rexpr_parse(p);
  if (b->guard && surg__lex_peek(p->t))
    return surg__lex_error(p->t, NULL, "the guard is the end of a pattern");
  return b->guard != NULL;
}

static bool query(surg__rparse *p, surg_rule *r, surg__rvar *vars) {
  uint32_t line;
  p->rule = r;
  p->in_match = true;
  r->vars = vars;
  r->match.line = 1;
  r->match.lo = 1;
  r->match.hi = INT64_MAX;
  if (!open_statements(p, &r->match)) return false;
  if (!keep(p, &r->vars, vars, r->n_vars, sizeof *vars)) return false;
  surg__buf why;
  surg__buf_init(&why, p->t->ctx);
  r->read = surg__rule_check(p->t->ctx, r, &why, &line);
  if (!r->read && why.failed) no_memory(p);
  if (!r->read) surg__lex_error(p->t, p->t->start, "%s", why.p ? why.p : "is invalid");
  surg__buf_free(&why);
  return r->read;
}

surg_rule *surg__rule_query(surg__rules *rules, const char *text, size_t n, const char *name) {
  surg__tparse t = {.ctx = rules->ctx, .name = name, .start = text, .p = text, .end = text + n};
  surg__rparse p = {.t = &t, .rules = rules};
  surg__rvar vars[SURG__RULE_VARS];
  surg_rule *r = surg__arena_zalloc(&rules->arena, sizeof *r);
  if (!r) return NULL;
  r->name = r->file = name;
  r->group = "";
  r->owner = rules;
  surg__buf_init(&t.s, rules->ctx);
  const bool ok = query(&p, r, vars);
  surg__buf_free(&t.s);
  if (!ok) return NULL;
  for (uint16_t k = 0; k < r->match.n; k++)
    r->match.stmts[k].more_attrs = r->match.stmts[k].more_out = true;
  const surg__rstmt *anchor = &r->match.stmts[r->anchor];
  r->domain = anchor->domain;
  r->op_type = anchor->op_type;
  r->op = anchor->op;
  return r;
}

static const char *joined(surg__rparse *p, surg_str a, surg_str b) {
  char *out = surg__arena_array(&p->rules->arena, a.n + b.n + 2, 1);
  if (!out) {
    no_memory(p);
    return NULL;
  }
  memcpy(out, a.p, a.n);
  out[a.n] = '-';
  memcpy(out + a.n + 1, b.p, b.n);
  return out;
}

static bool rule_name(surg__rparse *p, surg_str *name) {
  const char *from;
  (void)surg__lex_peek(p->t);
  from = p->t->p;
  while (p->t->p < p->t->end && (surg__text_ident_char(*p->t->p, false) || *p->t->p == '-'))
    p->t->p++;
  *name = (surg_str){from, (size_t)(p->t->p - from)};
  return name->n || surg__lex_error(p->t, NULL, "expected the name of a rule");
}

/* Parses a rule after its name and `for`; `vars` is temporary and copied at the end. */
static bool rest(surg__rparse *p, surg_rule *r, surg__rvar *vars) {
  surg__buf why;
  uint32_t line = r->line;
  p->rule = r;
  r->vars = vars;
  if (!exactness(p, r) || !body(p, r)) return false;
  if (!keep(p, &r->vars, vars, r->n_vars, sizeof *vars)) return false;
  surg__buf_init(&why, p->t->ctx);
  const bool holds = surg__rule_check(p->t->ctx, r, &why, &line);
  if (!holds) {
    const char *at = p->t->start;
    for (uint32_t k = 1; k < line && at < p->t->end; at++) k += *at == '\n';
    while (at < p->t->end && (*at == ' ' || *at == '\t')) at++;
    if (why.failed)
      no_memory(p);
    else
      surg__lex_error(p->t, at, "rule %s: %s", r->name, why.p ? why.p : "is invalid");
  }
  surg__buf_free(&why);
  const surg__rstmt *anchor = &r->match.stmts[r->anchor];
  assert(!holds || (r->anchor < r->match.n && anchor->kind == SURG__S_NODE));
  r->domain = holds ? anchor->domain : NULL;
  r->op_type = holds ? anchor->op_type : NULL;
  r->op = holds ? anchor->op : 0;
  r->read = holds;
  return holds;
}

/* Parses what follows `rule`; called once, or for each operator of `for OP in (A, B)`. */
static bool one_rule(surg__rparse *p, surg_str name, const char *start, const char *group,
                     const char *file) {
  surg_rule *r = surg__arena_zalloc(&p->rules->arena, sizeof *r);
  surg__rvar vars[SURG__RULE_VARS];
  if (!r) return no_memory(p);
  r->group = group;
  r->file = file;
  r->line = line_of(p);
  r->owner = p->rules;
  r->place = p->rules->list.count;
  r->name = p->each.n ? joined(p, name, p->each_op) : copy_str(p, name);
  if (!r->name) return false;
  /* A rule of the user may have the name of a built-in rule, which it replaces. embed.py checks
   * that built-in names are unique. */
  for (size_t i = p->rules->builtins; i < p->rules->list.count; i++)
    if (!strcmp(p->rules->list.items[i]->name, r->name))
      return surg__lex_error(p->t, name.p, "there is a rule %s already", r->name);
  if (!rest(p, r, vars)) return false;
  r->text = (surg_str){copy_str(p, (surg_str){start, (size_t)(p->t->p - start)}),
                       (size_t)(p->t->p - start)};
  if (!r->text.p) return false;
  return surg__vec_push(p->t->ctx, &p->rules->list, r) || no_memory(p);
}

/* Parses `for OP in (A, B)`, if present. */
static bool for_each(surg__rparse *p, surg_str *ops, size_t *n) {
  *n = 0;
  if (!surg__rword(p, "for")) return true;
  if (!surg__lex_ident(p->t, &p->each)) return false;
  if (!surg__rword(p, "in")) return surg__lex_error(p->t, NULL, "expected `in`");
  if (!surg__lex_expect(p->t, '(')) return false;
  do {
    if (*n == SURG__RULE_NODES) return surg__lex_error(p->t, NULL, "too many operators");
    if (!surg__lex_ident(p->t, &ops[(*n)++])) return false;
  } while (surg__lex_match(p->t, ','));
  return surg__lex_expect(p->t, ')');
}

static bool rule(surg__rparse *p, const char *start, const char *group, const char *file) {
  surg_str name, ops[SURG__RULE_NODES];
  size_t n;
  if (!rule_name(p, &name) || !for_each(p, ops, &n)) return false;
  if (n == 0) return one_rule(p, name, start, group, file);
  const char *body_start = p->t->p;
  for (size_t i = 0; i < n; i++) {
    p->t->p = body_start;
    p->each_op = ops[i];
    if (!one_rule(p, name, start, group, file)) return false;
  }
  p->each = (surg_str){NULL, 0};
  return true;
}

static bool same_text(const char *a, const char *b) {
  return a && b ? !strcmp(a, b) : a == b;
}

/* Whether the parsed rule agrees with the entry that embed.py generated for it. */
static bool as_listed(const surg_rule *r, const surg_rule *found) {
  return r->exactness == found->exactness && same_text(r->reason, found->reason) &&
         same_text(r->domain, found->domain) && same_text(r->op_type, found->op_type) &&
         r->op == found->op;
}

bool surg__rule_read(const surg_rule *r) {
  if (r->read) return true;
  surg__rules *rules = r->owner;
  assert(r->place < rules->list.count && rules->list.items[r->place] == r);
  surg__tparse t = {.ctx = rules->ctx,
                    .name = r->file,
                    .start = r->source,
                    .p = r->text.p,
                    .end = r->text.p + r->text.n};
  surg__rparse p = {.t = &t, .rules = rules, .line_at = r->text.p, .line = r->line};
  surg_str name, ops[SURG__RULE_NODES];
  surg__rvar vars[SURG__RULE_VARS];
  size_t n;
  surg_rule fresh = *r; /* keep *r unchanged until parsing succeeds */
  fresh.exactness = SURG_EXACT;
  fresh.reason = NULL;
  surg__buf_init(&t.s, rules->ctx);
  bool ok = surg__rword(&p, "rule") && rule_name(&p, &name) && for_each(&p, ops, &n);
  p.each_op = r->each_op;
  ok = ok && rest(&p, &fresh, vars);
  if (ok && (t.p != t.end || !as_listed(r, &fresh)))
    ok = surg__lex_error(&t, r->text.p, "rule %s is listed otherwise than it reads", r->name);
  surg__buf_free(&t.s);
  if (ok) *rules->list.items[r->place] = fresh;
  return ok;
}

surg_status surg__rules_parse(surg__rules *rules, const char *text, size_t n, const char *name) {
  surg__tparse t = {.ctx = rules->ctx, .name = name, .start = text, .p = text, .end = text + n};
  surg__rparse p = {.t = &t, .rules = rules};
  const size_t before = rules->list.count;
  const char *file = surg__arena_strn(&rules->arena, name, strlen(name)), *group = "user";
  if (!file) return surg__alloc_status(rules->ctx);
  surg__buf_init(&t.s, rules->ctx);
  while (!t.status && surg__lex_peek(&t)) {
    const char *start = t.p;
    if (surg__rword(&p, "group")) {
      surg_str s;
      group = rule_name(&p, &s) ? copy_str(&p, s) : group;
    } else if (surg__rword(&p, "rule")) {
      if (!rule(&p, start, group, file)) no_memory(&p); /* unless another error is reported */
    } else {
      surg__lex_error(&t, NULL, "expected `rule` or `group`");
    }
  }
  surg__buf_free(&t.s);
  const surg_rule *a, *b;
  if (!t.status && surg__rules_cyclic(rules, before, &a, &b))
    t.status =
        surg__error(rules->ctx, SURG_EINVALID, name,
                    a == b ? "rule %s (line %u): it matches what it makes, and nothing gets smaller"
                           : "rules %s (line %u) and %s: they undo each other, and nothing gets "
                             "smaller",
                    a->name, a->line, b->name);
  if (t.status) rules->list.count = before;
  return t.status;
}
