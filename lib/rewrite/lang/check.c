/* SPDX-License-Identifier: Apache-2.0 */
/* Checks rules before they run: operators exist in every version of the rule's opset range, with
 * these inputs and attributes, and names are defined before they are read. */
#include "rewrite/lang/rule.h"

typedef struct checker {
  surg_context *ctx;
  surg_rule *r;
  surg__buf *why;
  uint32_t *line;
} checker;

#define FAIL(c, at, ...) (*(c)->line = (at), surg__buf_printf((c)->why, __VA_ARGS__), false)

static const char *title(const surg__rstmt *s) {
  return s->op_type;
}

static const surg_schema *schema_at(const surg__rstmt *s, int64_t opset) {
  const int64_t newest = surg_schema_newest(s->domain);
  if (s->domain[0] || opset > newest) opset = newest;
  return surg_schema_find(s->domain, s->op_type, opset);
}

/* Returns the schema in force at `opset`, given the previous one (NULL: none). Versions of an
 * operator are adjacent in the table, so this is O(1) after the first lookup. */
static const surg_schema *schema_after(const surg__rstmt *s, const surg_schema *before,
                                       int64_t opset) {
  if (!before) return schema_at(s, opset);
  const surg_schema *next = before + 1;
  const bool newer = (size_t)(next - surg__schemas) < surg__schema_count &&
                     next->op == before->op && next->since <= opset;
  return newer ? next : before;
}

/* Calls fn for each version of the operator in lo..hi; the schema is NULL
 * where it does not exist. */
typedef bool (*per_version)(checker *c, surg__rstmt *s, const surg_schema *schema, int64_t opset);
static bool each_version(checker *c, surg__rstmt *s, int64_t lo, int64_t hi, per_version fn) {
  const int64_t newest = surg_schema_newest("");
  const surg_schema *last = NULL, *raw = NULL;
  if (hi > newest) hi = newest;
  if (s->domain[0]) lo = hi;
  for (int64_t v = lo; v <= hi; v++) {
    const surg_schema *schema = raw = schema_after(s, raw, v);
    if (schema && surg_schema_deprecated(schema)) schema = NULL;
    if (v != lo && schema == last) continue;
    last = schema;
    if (!fn(c, s, schema, v)) return false;
  }
  return true;
}

/* Whether a node is matched by name only: its domain has no schemas, or ONNX withdrew the operator.
 * Nodes of such domains can be emitted, too. */
static bool custom(const surg__rstmt *s) {
  return surg_schema_newest(s->domain) == 0 || surg__schema_withdrawn(s->domain, s->op_type);
}

static bool custom_node(checker *c, const surg__rstmt *s, bool emitted) {
  *c->line = s->line;
  return surg__rule_check_custom(c->ctx, s, emitted, c->why);
}

/* --- patterns --- */

static bool version_accepts(const surg__rstmt *s, const surg_schema *schema) {
  if (!schema || s->n_in > surg_schema_max_inputs(schema)) return false;
  if (s->n_out > surg_schema_max_outputs(schema)) return false;
  for (uint16_t i = 0; i < s->n_attrs; i++)
    if (!surg__schema_attr(schema, s->attrs[i].name)) return false;
  return true;
}

static const char *op_at(const void *list, size_t i) {
  (void)list;
  return surg__op_name((int)i + 1);
}

/* Requires that at least one version in the range supports this form; nodes of other
 * versions do not match. */
static bool pattern_node(checker *c, surg__rstmt *s) {
  if (custom(s)) return custom_node(c, s, false);
  const int64_t newest = surg_schema_newest("");
  const int64_t hi = c->r->match.hi > newest ? newest : c->r->match.hi;
  const surg_schema *any = NULL;
  bool accepts = false;
  for (int64_t v = s->domain[0] ? hi : c->r->match.lo; v <= hi; v++) {
    const surg_schema *schema = schema_after(s, any, v);
    if (!schema || schema == any) continue;
    any = schema;
    s->op = surg_schema_op(schema);
    /* Older versions may not be commutative; the matcher checks the version of each node. */
    s->commutative |= (schema->flags & SURG__OP_COMMUTATIVE) && s->n_in == 2 && !s->more_in;
    accepts |= version_accepts(s, schema);
  }
  if (accepts) return true;
  if (!any) {
    const char *near = surg__nearest(s->op_type, c->ctx, SURG_OP_COUNT - 1, op_at);
    return FAIL(c, s->line, "no operator %s in these opsets%s%s%s", title(s),
                near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
  }
  return FAIL(c, s->line,
              "no version of %s in these opsets has these inputs, outputs and attributes",
              title(s));
}

static bool bind_outputs(checker *c, uint16_t k) {
  surg__rstmt *s = &c->r->match.stmts[k];
  for (uint16_t i = 0; i < s->n_out; i++) {
    if (s->out[i].kind != SURG__A_VALUE) continue;
    assert(s->out[i].var < c->r->n_vars);
    surg__rvar *v = &c->r->vars[s->out[i].var];
    if (v->match_node >= 0) return FAIL(c, s->line, "%s is defined twice", v->name);
    v->match_node = (int16_t)k;
    v->match_out = (int16_t)i;
  }
  return true;
}

/* Whether shared names connect every node of the pattern with the anchor. */
static bool connected(checker *c) {
  const surg__rblock *b = &c->r->match;
  assert(c->r->anchor < b->n);
  bool seen[SURG__RULE_VARS] = {false}, in[SURG__RULE_NODES] = {false}, more = true;
  in[c->r->anchor] = true;
  while (more) {
    more = false;
    for (uint16_t k = 0; k < b->n; k++) {
      const surg__rstmt *s = &b->stmts[k];
      bool touches = in[k];
      if (s->kind != SURG__S_NODE) continue;
      for (uint16_t i = 0; i < s->n_in + s->n_out && !touches; i++) {
        const surg__rarg *a = i < s->n_in ? &s->in[i] : &s->out[i - s->n_in];
        touches = a->kind == SURG__A_VALUE && seen[a->var];
      }
      if (!touches) continue;
      more |= !in[k];
      in[k] = true;
      for (uint16_t i = 0; i < s->n_in + s->n_out; i++) {
        const surg__rarg *a = i < s->n_in ? &s->in[i] : &s->out[i - s->n_in];
        if (a->kind != SURG__A_VALUE || seen[a->var]) continue;
        seen[a->var] = more = true;
      }
    }
  }
  for (uint16_t k = 0; k < b->n; k++)
    if (b->stmts[k].kind == SURG__S_NODE && !in[k])
      return FAIL(c, b->stmts[k].line, "%s shares no name with the rest", title(&b->stmts[k]));
  return true;
}

static bool pattern(checker *c) {
  surg_rule *r = c->r;
  bool any = false;
  r->more = SURG__NO_VAR;
  for (uint16_t k = 0; k < r->match.n; k++) {
    surg__rstmt *s = &r->match.stmts[k];
    if (s->kind != SURG__S_NODE) continue;
    any = true;
    r->anchor = k;
    if (!pattern_node(c, s) || !bind_outputs(c, k)) return false;
    r->swaps = (uint16_t)(r->swaps + s->commutative);
    if (!s->more_in && !s->more_out && !s->more_attrs) continue;
    if (r->more != SURG__NO_VAR && r->n_emits)
      return FAIL(c, s->line, "`...` is allowed at one operator only");
    r->more = k;
  }
  if (!any) return FAIL(c, r->match.line, "the pattern contains no operator");
  return connected(c);
}

/* --- emissions --- */

static bool attr_given(const surg__rstmt *s, const char *name) {
  for (uint16_t i = 0; i < s->n_attrs; i++)
    if (!strcmp(s->attrs[i].name, name)) return true;
  return false;
}

static bool emitted_attrs(checker *c, const surg__rstmt *s, const surg_schema *schema, int64_t at) {
  for (uint16_t i = 0; i < s->n_attrs; i++)
    if (!surg__schema_attr(schema, s->attrs[i].name))
      return FAIL(c, s->line, "%s of opset %d has no attribute %s", title(s), (int)at,
                  s->attrs[i].name);
  for (uint32_t i = 0; i < schema->n_attrs && !s->more_attrs; i++)
    if (schema->attrs[i].required && !attr_given(s, schema->attrs[i].name))
      return FAIL(c, s->line, "%s of opset %d needs the attribute %s", title(s), (int)at,
                  schema->attrs[i].name);
  return true;
}

static bool emitted_version(checker *c, surg__rstmt *s, const surg_schema *schema, int64_t at) {
  if (!schema) return FAIL(c, s->line, "there is no %s in opset %d", title(s), (int)at);
  s->op = surg_schema_op(schema);
  if (s->n_in > surg_schema_max_inputs(schema) ||
      (!s->more_in && s->n_in < surg_schema_min_inputs(schema)))
    return FAIL(c, s->line, "%s of opset %d does not accept %u inputs", title(s), (int)at, s->n_in);
  if (s->n_out > surg_schema_max_outputs(schema))
    return FAIL(c, s->line, "%s of opset %d has no %u outputs", title(s), (int)at, s->n_out);
  for (uint16_t i = 0; i < s->n_in && schema->n_inputs; i++) {
    const uint32_t k = i < schema->n_inputs ? i : schema->n_inputs - 1;
    const bool single = schema->inputs[k].option == SURG__SINGLE;
    if (single && (s->in[i].kind == SURG__A_ABSENT || s->in[i].optional))
      return FAIL(c, s->line, "input %u of %s of opset %d may not be absent", i, title(s), (int)at);
  }
  if (s->n_in > 1 && surg__schema_attr(schema, "broadcast") && !attr_given(s, "broadcast"))
    return FAIL(c, s->line, "%s broadcasts from opset 7 on", title(s));
  return emitted_attrs(c, s, schema, at);
}

static bool dots_given(checker *c, const surg__rstmt *s) {
  const surg_rule *r = c->r;
  if (!s->more_in && !s->more_out && !s->more_attrs) return true;
  if (r->more == SURG__NO_VAR) return FAIL(c, s->line, "the pattern has no `...`");
  assert(r->more < r->match.n);
  const surg__rstmt *from = &r->match.stmts[r->more];
  if ((s->more_in && !from->more_in) || (s->more_out && !from->more_out) ||
      (s->more_attrs && !from->more_attrs))
    return FAIL(c, s->line, "the pattern has no `...` there");
  return true;
}

/* Whether statement k may read a variable: an outer value, or one defined by an earlier statement
 * of the emission. */
static bool readable(checker *c, const surg__rblock *b, uint16_t k, uint16_t var) {
  assert(var < c->r->n_vars);
  const surg__rvar *v = &c->r->vars[var];
  if (v->emit_node >= 0 && v->emit_node < (int16_t)k) return true;
  if (var >= b->bound || v->emit_node >= (int16_t)k || v->match_node >= 0)
    return FAIL(c, b->stmts[k].line, "%s is not made before it is read", v->name);
  return true;
}

static bool emitted_reads(checker *c, const surg__rblock *b, uint16_t k) {
  const surg__rstmt *s = &b->stmts[k];
  if (s->kind == SURG__S_FORWARD) return readable(c, b, k, s->var);
  for (uint16_t i = 0; i < s->n_in; i++)
    if (s->in[i].kind == SURG__A_VALUE && !readable(c, b, k, s->in[i].var)) return false;
  return true;
}

static bool emitted_writes(checker *c, const surg__rblock *b, uint16_t k) {
  const surg__rstmt *s = &b->stmts[k];
  for (uint16_t i = 0; i < s->n_out; i++) {
    if (s->out[i].kind != SURG__A_VALUE) continue;
    surg__rvar *v = &c->r->vars[s->out[i].var];
    if (v->emit_node >= 0) return FAIL(c, s->line, "%s is defined twice", v->name);
    if (s->out[i].var < b->bound && v->match_node < 0)
      return FAIL(c, s->line, "%s is an input of the pattern and cannot be produced", v->name);
    v->emit_node = (int16_t)k;
  }
  return true;
}

/* Checks that a guard reads only matched values: it is evaluated before nodes are created. */
static bool guard_reads(checker *c, const surg__rblock *b, const surg__rexpr *e) {
  if (!e) return true;
  if (e->op == SURG__E_CALL && e->fn->about_value && e->var >= b->bound)
    return FAIL(c, b->line, "the guard asks about a value that is not matched");
  for (uint16_t i = 0; i < e->n; i++)
    if (!guard_reads(c, b, e->args[i])) return false;
  return true;
}

static bool emission(checker *c, surg__rblock *b) {
  bool any = false;
  for (uint16_t i = 0; i < c->r->n_vars; i++) c->r->vars[i].emit_node = -1;
  if (b->native) return guard_reads(c, b, b->guard);
  for (uint16_t k = 0; k < b->n; k++)
    if (b->stmts[k].kind != SURG__S_LET && !emitted_writes(c, b, k)) return false;
  for (uint16_t k = 0; k < b->n; k++) {
    surg__rstmt *s = &b->stmts[k];
    if (s->kind == SURG__S_LET) continue;
    if (!emitted_reads(c, b, k)) return false;
    if (s->kind == SURG__S_NODE &&
        (!dots_given(c, s) || (custom(s) ? !custom_node(c, s, true)
                                         : !each_version(c, s, b->lo, b->hi, emitted_version))))
      return false;
  }
  for (uint16_t i = 0; i < c->r->n_vars; i++)
    any |= c->r->vars[i].match_node >= 0 && c->r->vars[i].emit_node >= 0;
  for (uint16_t k = 0; k < b->n; k++) any |= b->stmts[k].more_out;
  if (!any) return FAIL(c, b->line, "the emission defines no output of the pattern");
  return guard_reads(c, b, b->guard);
}

bool surg__rule_check(surg_context *ctx, surg_rule *r, surg__buf *why, uint32_t *line) {
  checker c = {.ctx = ctx, .r = r, .why = why, .line = line};
  if (!pattern(&c)) return false;
  for (uint16_t i = 0; i < r->n_emits; i++)
    if (!emission(&c, &r->emits[i])) return false;
  return true;
}
