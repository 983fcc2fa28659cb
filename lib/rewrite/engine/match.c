/* SPDX-License-Identifier: Apache-2.0 */
/* Matches a rule at a node: upstream from the anchor through producers, then downstream through
 * readers for the other nodes of the pattern. Commutative nodes are tried in both orders. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/counted.h"
#include "ir/ir.h" /* for surg__node_early alone */
#include "rewrite/lang/rule.h"

/* State of a search over the input orders of commutative nodes. Bit i refers to the i-th
 * commutative statement of the pattern. */
typedef struct finder {
  surg__match *m;
  uint32_t swapped, asked; /* nodes with swapped inputs; nodes whose order was used so far */
} finder;

bool surg__match_failed(surg__match *m, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(m->why_text, sizeof m->why_text, fmt, args);
  va_end(args);
  m->why = m->why_text;
  m->why_stmt = -1;
  return false;
}

/* Records that the guard is not known to be true, and if `explain` is set, which part of it. */
static void guard_failed(surg__match *m, const surg__rexpr *e) {
  assert(e); /* only a guard can fail */
  m->why = "the guard is not proven";
  m->why_stmt = -1;
  if (!m->explain) return;
  while (e->op == SURG__E_AND) e = e->args[surg__rtrue(m, e->args[0]) ? 1 : 0];
  if (!e->text.n) return;
  char text[160];
  size_t n = 0;
  for (size_t i = 0; i < e->text.n && n + 1 < sizeof text; i++) {
    const char c = e->text.p[i];
    const bool blank = c == ' ' || c == '\n' || c == '\t';
    if (!blank || (n && text[n - 1] != ' ')) text[n++] = blank ? ' ' : c;
  }
  text[n] = 0;
  surg__match_failed(m, "the guard is not proven: %s", text);
}

static bool fail(surg__match *m, uint16_t stmt, const char *why) {
  m->why = why;
  m->why_stmt = stmt;
  return false;
}

static bool same_op(const surg__rstmt *s, const surg_node *n) {
  if (s->op) return surg_node_op(n) == s->op && surg_node_class(n) == SURG_OP_CLASS_BUILTIN;
  return !strcmp(s->op_type, surg_node_op_type(n)) && !strcmp(s->domain, surg_node_domain(n));
}

/* --- attributes --- */

static const surg__rattr *listed(const surg__rstmt *s, const char *name) {
  for (uint16_t i = 0; i < s->n_attrs; i++)
    if (!strcmp(s->attrs[i].name, name)) return &s->attrs[i];
  return NULL;
}

/* Returns the definition of an attribute. Versions that lack it behave like its default
 * in the newest version. */
static const surg__attr_def *known_attr(const surg_schema *s, const char *name) {
  const surg__attr_def *d = surg__schema_attr(s, name);
  if (d || s->domain[0]) return d;
  const surg_schema *newest = surg_schema_find("", s->name, surg_schema_newest(""));
  d = newest ? surg__schema_attr(newest, name) : NULL;
  return d && d->has_default ? d : NULL;
}

static bool bind_attr(surg__match *m, const surg_node *n, const surg__rattr *p) {
  assert(p->expr || (p->var < m->rule->n_vars && !m->rule->vars[p->var].value));
  const surg_attr *a = surg_node_attr(n, p->name);
  const surg_schema *schema = surg_node_schema(n);
  const surg__attr_def *def = schema ? known_attr(schema, p->name) : NULL;
  surg__rvalue v = {.kind = SURG__R_UNKNOWN};
  bool known;
  if (schema && !def) return false;
  if (a)
    v = surg__rvalue_of_attr(m, a);
  else if (p->or_default || p->expr)
    v = schema ? surg__rvalue_of_default(m, def) : surg__rvalue_of_custom(m, n, p->name);
  if (p->expr) {
    const surg__rvalue want = surg__reval(m, p->expr);
    return surg__rvalue_equal(&v, &want, &known);
  }
  if (!a && v.kind == SURG__R_UNKNOWN) return false;
  m->data[p->var] = v;
  m->attrs[p->var] = a;
  return true;
}

/* Whether no version of an operator of ONNX's own domain defines the attribute. Few operators
 * accept such attributes (LayerNormalization any, all of them names that start with "__"); they
 * have no effect. */
static bool is_idle(const surg_schema *s, const char *name) {
  if (s->domain[0] || surg__schema_attr(s, name)) return false;
  const surg_schema *v = surg_schema_find("", s->name, surg_schema_newest(""));
  while (v && !surg__schema_attr(v, name))
    v = v->since > 1 ? surg_schema_find("", s->name, v->since - 1) : NULL;
  return !v;
}

/* Whether every attribute that the pattern does not list is absent, equal to its default, or
 * without effect. */
static bool rest_default(surg__match *m, const surg_node *n, const surg__rstmt *s) {
  const surg_schema *schema = surg_node_schema(n);
  const size_t count = surg_node_attr_count(n);
  for (size_t i = 0; i < count; i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    bool known;
    if (listed(s, surg_attr_name(a))) continue;
    if (!schema) return false;
    if (is_idle(schema, surg_attr_name(a))) continue;
    const surg__rvalue v = surg__rvalue_of_attr(m, a);
    const surg__rvalue d = surg__rvalue_of_default(m, surg__schema_attr(schema, surg_attr_name(a)));
    if (!surg__rvalue_equal(&v, &d, &known)) return false;
    /* -0.0 differs from a default of 0.0. */
    if (v.kind == SURG__R_FLOAT && signbit(v.one.f) != signbit(d.one.f)) return false;
  }
  return true;
}

static bool match_attrs(surg__match *m, uint16_t k, const surg_node *n) {
  const surg__rstmt *s = &m->rule->match.stmts[k];
  for (uint16_t i = 0; i < s->n_attrs; i++)
    if (!bind_attr(m, n, &s->attrs[i])) return fail(m, k, "an attribute has another value");
  if (!s->more_attrs && !rest_default(m, n, s))
    return fail(m, k, "an attribute that the pattern does not list is set");
  return true;
}

/* --- inputs and outputs --- */

static bool bind_value(surg__match *m, uint16_t k, uint16_t var, surg_value *v, const char *why) {
  assert(var < m->rule->n_vars && m->rule->vars[var].value);
  if (m->bound[var]) return m->values[var] == v || fail(m, k, why);
  m->bound[var] = true;
  m->values[var] = v;
  const surg__rexpr *early = m->rule->vars[var].early;
  if (!v || !early || surg__rtrue(m, early)) return true;
  fail(m, k, "the guard is not proven");
  guard_failed(m, early);
  m->why_stmt = k;
  return false;
}

static const surg_type *ranked(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}

/* Whether v is a constant of one element equal to the number, and does not raise the rank of the
 * other inputs of the node. */
static bool is_number(const surg_node *n, const surg_value *v, double number) {
  const surg_tensor *t = v ? surg_value_settled(v) : NULL;
  double d = 0;
  int64_t i;
  if (!t || surg_tensor_count(t) != 1) return false;
  switch (surg_tensor_dtype(t)) {
    case SURG_FLOAT: {
      float f;
      if (surg_tensor_read_numbers(t, 0, &f, 1)) return false;
      d = (double)f;
      /* A decimal such as 0.1 means the float nearest to it. */
      if (d != number && (double)(float)number == d) number = d;
      break;
    }
    case SURG_DOUBLE:
      if (surg_tensor_read_numbers(t, 0, &d, 1)) return false;
      break;
    case SURG_FLOAT16:
    case SURG_BFLOAT16: {
      uint16_t h;
      const bool half = surg_tensor_dtype(t) == SURG_FLOAT16;
      if (surg_tensor_read_numbers(t, 0, &h, 1)) return false;
      d = (double)(half ? surg__half_to_float(h) : surg__bf16_to_float(h));
      if ((half ? surg__double_to_half(number) : surg__double_to_bf16(number)) == h) number = d;
      break;
    }
    default:
      if (surg__read_ints(t, &i, 1) != 1 || (double)i != number) return false;
      d = number;
  }
  /* x + 0.0 and x + -0.0 differ, so the sign of zero matters. */
  if (d != number || signbit(d) != signbit(number)) return false;
  if (surg_tensor_rank(t) == 0) return true;
  for (size_t k = 0; k < surg_node_input_count(n); k++) {
    const surg_type *other = ranked(surg_node_input(n, k));
    if (surg_node_input(n, k) != v && other && surg_type_rank(other) >= surg_tensor_rank(t))
      return true;
  }
  return false;
}

static bool match_node(finder *f, uint16_t k, surg_node *n);

static bool match_input(finder *f, uint16_t k, const surg_node *n, const surg__rarg *a,
                        surg_value *v) {
  surg__match *m = f->m;
  switch (a->kind) {
    case SURG__A_ABSENT:
      return !v || fail(m, k, "an input is there");
    case SURG__A_CONST:
      return is_number(n, v, a->number) || fail(m, k, "an input is not that number");
    case SURG__A_VALUE:
      break;
  }
  assert(a->var < m->rule->n_vars);
  const surg__rvar *var = &m->rule->vars[a->var];
  if (!v && !a->optional) return fail(m, k, "an input is absent");
  if (var->match_node < 0 || !v)
    return bind_value(m, k, a->var, v, "an input is a different value");
  size_t index;
  surg_node *producer = surg_value_producer(v, &index);
  if (!producer || surg_node_graph(producer) != m->g || index != (size_t)var->match_out)
    return fail(m, k, "an input is computed by another operator");
  return match_node(f, (uint16_t)var->match_node, producer);
}

static bool unused(const surg_value *v) {
  return !v || (surg_value_use_count(v, 1) == 0 && !surg_value_is_pinned(v));
}

static bool match_outputs(surg__match *m, uint16_t k, const surg_node *n) {
  const surg__rstmt *s = &m->rule->match.stmts[k];
  const size_t count = surg_node_output_count(n);
  for (size_t i = 0; i < count || i < s->n_out; i++) {
    surg_value *v = surg_node_output(n, i);
    const surg__rarg *a = i < s->n_out ? &s->out[i] : NULL;
    if (!a && s->more_out) continue;
    if (!a || a->kind == SURG__A_ABSENT) {
      if (!unused(v)) return fail(m, k, "an output that the pattern does not name is used");
      continue;
    }
    if (!v && !a->optional) return fail(m, k, "an output is absent");
    if (!bind_value(m, k, a->var, v, "an output is a different value")) return false;
  }
  return true;
}

/* Returns the index of a statement among the commutative ones. */
static uint32_t swap_bit(const surg_rule *r, uint16_t k) {
  uint32_t bit = 0;
  for (uint16_t i = 0; i < k; i++) bit += r->match.stmts[i].commutative;
  return bit;
}

static bool match_inputs(finder *f, uint16_t k, const surg_node *n) {
  surg__match *m = f->m;
  const surg__rstmt *s = &m->rule->match.stmts[k];
  const surg_schema *schema = surg_node_schema(n);
  const bool either = s->commutative && schema && schema->flags & SURG__OP_COMMUTATIVE;
  const uint32_t place = swap_bit(m->rule, k);
  const uint32_t bit = either && place < SURG__RULE_SWAPS ? UINT32_C(1) << place : 0;
  const bool swap = f->swapped & bit;
  assert(!swap || s->n_in == 2);
  f->asked |= bit;
  const size_t count = surg_node_input_count(n);
  for (size_t i = 0; i < s->n_in; i++)
    if (!match_input(f, k, n, &s->in[swap ? 1 - i : i], surg_node_input(n, i))) return false;
  for (size_t i = s->n_in; i < count && !s->more_in; i++)
    if (surg_node_input(n, i))
      return fail(m, k, "an input that the pattern does not name is there");
  return true;
}

/* Matches statement k at node n and its producers. Recursion is at most as deep as the number of
 * statements of the pattern. */
static bool match_node(finder *f, uint16_t k, surg_node *n) {
  surg__match *m = f->m;
  const surg__rblock *b = &m->rule->match;
  assert(k < b->n && b->stmts[k].kind == SURG__S_NODE && surg_node_graph(n) == m->g);
  if (m->nodes[k]) return m->nodes[k] == n || fail(m, k, "the node differs");
  if (!same_op(&b->stmts[k], n)) return fail(m, k, "the operator differs");
  for (uint16_t i = 0; i < b->n; i++)
    if (m->nodes[i] == n) return fail(m, k, "the node is bound to another node of the pattern");
  if (m->pass && surg_pass_keeps_node(m->pass, n)) return fail(m, k, "the node is protected");
  m->nodes[k] = n;
  return match_attrs(m, k, n) && match_outputs(m, k, n) && match_inputs(f, k, n);
}

/* --- nodes that the anchor does not read --- */

/* Finds an unmatched statement that reads a bound value; *arg is the index of that input. */
static bool open_statement(const surg__match *m, uint16_t *stmt, uint16_t *arg) {
  const surg__rblock *b = &m->rule->match;
  for (uint16_t k = 0; k < b->n; k++) {
    if (b->stmts[k].kind != SURG__S_NODE || m->nodes[k]) continue;
    for (uint16_t i = 0; i < b->stmts[k].n_in; i++) {
      const surg__rarg *a = &b->stmts[k].in[i];
      if (a->kind != SURG__A_VALUE || !m->bound[a->var] || !m->values[a->var]) continue;
      *stmt = k;
      *arg = i;
      return true;
    }
  }
  return false;
}

static bool all_matched(const surg__match *m) {
  const surg__rblock *b = &m->rule->match;
  for (uint16_t k = 0; k < b->n; k++)
    if (b->stmts[k].kind == SURG__S_NODE && !m->nodes[k]) return false;
  return true;
}

/* Matches the remaining statements downstream. Uses the first reader that matches; the bindings of
 * a failed attempt are undone. */
static bool match_readers(finder *f) {
  surg__match *m = f->m;
  uint16_t k, arg;
  surg__match *saved = NULL;
  while (open_statement(m, &k, &arg)) {
    assert(!m->nodes[k] && arg < m->rule->match.stmts[k].n_in);
    if (!saved) saved = surg__arena_alloc(m->arena, sizeof *saved);
    if (!saved) return false;
    *saved = *m;
    const surg_value *v = m->values[m->rule->match.stmts[k].in[arg].var];
    const surg_use *u = surg_value_first_use(v);
    bool found = false;
    for (size_t seen = 0; u && seen < SURG__RULE_USERS && !found; u = surg_use_next(u), seen++) {
      if (surg_use_get_kind(u) != SURG_USE_NODE || surg_use_graph(u) != m->g) continue;
      found = match_node(f, k, surg_use_node(u));
      if (!found) *m = *saved;
    }
    if (!found) return fail(m, k, "no reader fits");
  }
  return all_matched(m);
}

/* --- conditions on the surrounding graph --- */

/* Returns the node of graph g that contains the use, directly or in a subgraph;
 * NULL: an output of g. */
static const surg_node *reader_in(const surg_use *u, const surg_graph *g) {
  const surg_graph *at = surg_use_graph(u);
  const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
  while (at && at != g) {
    n = surg_graph_parent_node(at);
    at = n ? surg_node_graph(n) : NULL;
  }
  return n;
}

static bool is_matched(const surg__match *m, const surg_node *n) {
  for (uint16_t k = 0; n && k < m->rule->match.n; k++)
    if (m->nodes[k] == n) return true;
  return false;
}

/* Whether a value may be erased: it is not protected, and only matched nodes use it. */
static bool may_go(const surg__match *m, const surg_value *v) {
  if (surg_value_is_pinned(v) || (m->pass && surg_pass_keeps_value(m->pass, v))) return false;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_use_get_kind(u) != SURG_USE_NODE || !is_matched(m, surg_use_node(u))) return false;
  return true;
}

/* Whether every reader of a value that is created anew is after the insertion position. */
static bool readers_behind(const surg__match *m, const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *n = surg_use_get_kind(u) == SURG_USE_SOFT ? NULL : reader_in(u, m->g);
    if (n && !is_matched(m, n) && surg_node_before(n, m->last)) return false;
  }
  return true;
}

/* Whether the emission creates the value anew. An emission in C creates every value with readers
 * outside the match, or leaves it with its node. */
static bool makes(const surg__match *m, const surg__rblock *b, uint16_t var) {
  assert(var < b->bound);
  if (b->native) return !may_go(m, m->values[var]);
  for (uint16_t k = 0; k < b->n; k++)
    for (uint16_t i = 0; i < b->stmts[k].n_out; i++)
      if (b->stmts[k].out[i].kind == SURG__A_VALUE && b->stmts[k].out[i].var == var) return true;
  return false;
}

/* Whether an argument of the emission equals that of the pattern; an input must also be produced
 * outside the match. */
static bool same_arg(const surg_rule *r, const surg__rarg *a, const surg__rarg *b, bool input) {
  if (a->kind != b->kind || a->kind == SURG__A_CONST) return false;
  if (a->kind == SURG__A_ABSENT) return true;
  return a->var == b->var && (!input || r->vars[a->var].match_node < 0);
}

/* Whether a statement of the emission is identical to a statement of the pattern. */
static bool same_node(const surg_rule *r, uint16_t k, const surg__rstmt *s) {
  assert(k < r->match.n);
  const surg__rstmt *t = &r->match.stmts[k];
  if (s->kind != SURG__S_NODE || t->kind != SURG__S_NODE || s->n_in != t->n_in ||
      s->n_out != t->n_out || s->n_attrs != t->n_attrs || strcmp(s->op_type, t->op_type) != 0 ||
      strcmp(s->domain, t->domain) != 0)
    return false;
  const bool more = s->more_in || s->more_out || s->more_attrs;
  if (s->more_in != t->more_in || s->more_out != t->more_out || s->more_attrs != t->more_attrs ||
      (more && r->more != k))
    return false;
  for (uint16_t i = 0; i < s->n_in; i++)
    if (!same_arg(r, &s->in[i], &t->in[i], true)) return false;
  for (uint16_t i = 0; i < s->n_out; i++)
    if (!same_arg(r, &s->out[i], &t->out[i], false)) return false;
  for (uint16_t i = 0; i < s->n_attrs; i++) {
    const surg__rexpr *e = s->attrs[i].expr;
    if (!e || e->op != SURG__E_VAR || s->attrs[i].dtype || t->attrs[i].var == SURG__NO_VAR ||
        e->var != t->attrs[i].var || strcmp(s->attrs[i].name, t->attrs[i].name) != 0)
      return false;
  }
  return true;
}

bool surg__match_stands(const surg__match *m, const surg__rblock *b, uint16_t k) {
  for (uint16_t i = 0; i < m->rule->match.n; i++)
    if (same_node(m->rule, i, &b->stmts[k])) return true;
  return false;
}

bool surg__match_keeps(const surg__match *m, const surg__rblock *b, const surg_node *n) {
  for (uint16_t k = 0; n && k < m->rule->match.n; k++) {
    if (m->nodes[k] != n) continue;
    for (uint16_t i = 0; i < b->n; i++)
      if (same_node(m->rule, k, &b->stmts[i])) return true;
  }
  return false;
}

/* Counts the roots, the nodes of the match whose outputs the emission creates; m->last is the last
 * in node order. */
static size_t find_roots(surg__match *m, const surg__rblock *b) {
  size_t roots = 0;
  m->last = NULL;
  for (uint16_t v = 0; v < b->bound; v++) {
    const surg__rvar *var = &m->rule->vars[v];
    if (var->match_node < 0 || !m->values[v]) continue;
    surg_node *n = m->nodes[var->match_node];
    assert(n); /* outputs are bound together with their node */
    if (!makes(m, b, v) || surg__match_keeps(m, b, n)) continue;
    roots += n != m->last;
    if (!m->last || surg_node_before(m->last, n)) m->last = n;
  }
  const uint16_t more = m->rule->more;
  if (!m->last && more != SURG__NO_VAR) m->last = m->nodes[more];
  return roots;
}

/* Whether no outer value of the pattern is produced by a matched node, which will be erased. */
static bool from_outside(surg__match *m) {
  const uint16_t more = m->rule->more;
  for (uint16_t v = 0; v < m->rule->n_vars; v++)
    if (m->rule->vars[v].match_node < 0 && m->values[v] &&
        is_matched(m, surg_value_producer(m->values[v], NULL)))
      return false;
  const surg_node *n = more != SURG__NO_VAR ? m->nodes[more] : NULL;
  const surg__rstmt *s = n ? &m->rule->match.stmts[more] : NULL;
  for (size_t i = n && s->more_in ? s->n_in : SIZE_MAX; n && i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (v && is_matched(m, surg_value_producer(v, NULL))) return false;
  }
  return true;
}

static bool surroundings(surg__match *m, const surg__rblock *b) {
  const size_t roots = find_roots(m, b);
  if (!m->last) return false;
  if (!from_outside(m))
    return fail(m, m->rule->anchor, "an input is what another of its nodes makes");
  for (uint16_t v = 0; v < b->bound; v++) {
    const surg__rvar *var = &m->rule->vars[v];
    if (var->match_node < 0 || !m->values[v]) continue;
    const bool made = makes(m, b, v);
    if (!made && !may_go(m, m->values[v]))
      return fail(m, (uint16_t)var->match_node, "an inner value has a reader outside");
    if (made && roots > 1 && !surg__match_keeps(m, b, m->nodes[var->match_node]) &&
        !readers_behind(m, m->values[v]))
      return fail(m, (uint16_t)var->match_node, "a consumer precedes the last node");
  }
  return true;
}

/* Whether a model-local function has the name of an emitted operator, and
 * would be called instead. Constants are nodes where they cannot be initializers. */
static bool shadowed(const surg__match *m, const surg__rblock *b) {
  if (!surg_model_function_count(m->m)) return false;
  if (!surg__rinitializers(m) && surg_model_find_function(m->m, "", "Constant", "")) return true;
  for (uint16_t k = 0; k < b->n; k++)
    if (b->stmts[k].kind == SURG__S_NODE && b->stmts[k].op &&
        surg_model_find_function(m->m, b->stmts[k].domain, b->stmts[k].op_type, ""))
      return true;
  return false;
}

/* Whether every value that the emission reads without `?` is present. */
static bool inputs_there(const surg__match *m, const surg__rblock *b) {
  for (uint16_t k = 0; k < b->n; k++) {
    const surg__rstmt *s = &b->stmts[k];
    if (s->kind == SURG__S_FORWARD && s->var < b->bound && !m->values[s->var]) return false;
    for (uint16_t i = 0; s->kind == SURG__S_NODE && i < s->n_in; i++) {
      const surg__rarg *a = &s->in[i];
      const bool outside =
          a->kind == SURG__A_VALUE && a->var < b->bound && m->rule->vars[a->var].match_node < 0;
      if (outside && !a->optional && !m->values[a->var]) return false;
    }
  }
  return true;
}

static void lets(surg__match *m, const surg__rblock *b) {
  for (uint16_t k = 0; k < b->n; k++)
    if (b->stmts[k].kind == SURG__S_LET)
      m->data[b->stmts[k].var] = surg__reval(m, b->stmts[k].expr);
}

static bool choose_emission(surg__match *m, uint16_t from) {
  const surg_rule *r = m->rule;
  assert(from <= r->n_emits);
  const int64_t opset = m->opset;
  m->why = "no emission is for this opset";
  m->why_stmt = -1;
  for (uint16_t i = from; i < r->n_emits; i++) {
    const surg__rblock *b = &r->emits[i];
    if (opset < b->lo || opset > b->hi) continue;
    lets(m, b);
    if (!surg__rtrue(m, b->guard)) {
      guard_failed(m, b->guard);
      continue;
    }
    m->why = "a function of the model is called like an operator that it makes";
    m->why_stmt = -1;
    if (shadowed(m, b)) continue;
    m->why = "an input that it reads is absent";
    if (!inputs_there(m, b)) continue;
    m->why = "the values and names around it are in its way";
    if (!surroundings(m, b)) continue;
    m->emit = b;
    return true;
  }
  return false;
}

bool surg__match_next(surg__match *m) {
  assert(m->emit >= m->rule->emits && m->emit < m->rule->emits + m->rule->n_emits);
  return choose_emission(m, (uint16_t)(m->emit - m->rule->emits + 1));
}

static void clear(surg__match *m) {
  assert(m->rule->match.n <= SURG__RULE_NODES && m->rule->n_vars <= SURG__RULE_VARS);
  memset(m->nodes, 0, m->rule->match.n * sizeof *m->nodes);
  memset(m->values, 0, m->rule->n_vars * sizeof *m->values);
  memset(m->bound, 0, m->rule->n_vars * sizeof *m->bound);
  memset(m->data, 0, m->rule->n_vars * sizeof *m->data);
  memset(m->attrs, 0, m->rule->n_vars * sizeof *m->attrs);
  m->emit = NULL;
}

/* An input order that failed, and the nodes whose order mattered for that. */
typedef struct failed {
  uint32_t swapped, asked;
} failed;

static bool fails_again(const failed *before, uint32_t n, uint32_t swapped) {
  for (uint32_t i = 0; i < n; i++)
    if (((before[i].swapped ^ swapped) & before[i].asked) == 0) return true;
  return false;
}

/* The opset whose operators the pattern describes: that of the graph. An operator used before the
 * opset that adds it (runtimes fuse LayerNormalization in models of opset 12) has the meaning of
 * its first version; emissions are still for the opset of the graph. */
static int64_t meant_opset(const surg_rule *r, const surg_node *n, const surg_graph *g) {
  const int64_t opset = surg_graph_opset(g, "");
  return r->match.n == 1 && surg__node_early(n) ? surg_schema_since(surg_node_schema(n)) : opset;
}

bool surg__match_at(surg__match *m, surg_node *n, int64_t opset) {
  const surg_rule *r = m->rule;
  if (!surg__rule_read(r)) {
    m->why_stmt = -1;
    m->why = "the rule could not be read";
    return false;
  }
  assert(r->read && r->anchor < r->match.n);
  const uint32_t swaps = r->swaps < SURG__RULE_SWAPS ? r->swaps : SURG__RULE_SWAPS;
  m->g = surg_node_graph(n);
  m->m = surg_graph_model(m->g);
  m->opset = opset;
  const int64_t import = meant_opset(r, n, m->g);
  if (import < r->match.lo || import > r->match.hi) {
    m->why_stmt = -1;
    m->why = "the pattern is for other opsets";
    return false;
  }
  const char *why = NULL;
  int why_stmt = -1;
  failed before[1u << SURG__RULE_SWAPS];
  uint32_t tried = 0;
  for (uint32_t swapped = 0; swapped < 1u << swaps; swapped++) {
    finder f = {.m = m, .swapped = swapped};
    if (fails_again(before, tried, swapped)) continue;
    clear(m);
    if (match_node(&f, r->anchor, n) && match_readers(&f)) {
      lets(m, &r->match);
      if (!surg__rtrue(m, r->match.guard)) {
        guard_failed(m, r->match.guard);
      } else if (r->n_emits == 0 || choose_emission(m, 0)) {
        return true;
      }
    }
    assert(tried < SURG_COUNT(before));
    before[tried++] = (failed){swapped, f.asked};
    if (!why) why = m->why, why_stmt = m->why_stmt;
  }
  m->why = why;
  m->why_stmt = why_stmt;
  return false;
}
