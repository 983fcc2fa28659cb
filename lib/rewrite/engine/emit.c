/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the emission of a rule. Everything that may fail because of the rule (a number
 * out of range of its type, an attribute of another kind) is computed first; the graph
 * is edited after that. */
#include <math.h>
#include <stdlib.h>

#include "base/counted.h"
#include "base/dtype.h"
#include "infer/infer.h"
#include "ir/ir.h" /* for surg__node_inherit alone */
#include "rewrite/lang/rule.h"
#include "schema/kernels.h"

typedef struct plan {
  surg__match *m;
  const surg__rblock *b;
  /* indexed by statement of the emission: */
  bool *live; /* to be created: its results are read, and no matched node is kept for it */
  surg_tensor ***consts; /* constants among the inputs, in order */
  surg__rvalue **attrs;
  surg_tensor ***tensors; /* the attributes that are tensors */
  surg_value **made;      /* values of the emission, indexed by variable */
} plan;

/* --- attributes --- */

static bool numbers_known(const surg__rvalue *v) {
  for (size_t i = 0; i < v->n; i++)
    if (!v->items[i].known) return false;
  return true;
}

/* Whether the value can become an attribute. For built-in operators it must have the kind
 * that the schema defines. */
static bool settable(const surg__rvalue *v) {
  switch (v->kind) {
    case SURG__R_INT:
      return v->one.known;
    case SURG__R_BOOL:
    case SURG__R_DTYPE:
    case SURG__R_FLOAT:
    case SURG__R_STRING:
    case SURG__R_STRINGS:
      return true;
    case SURG__R_INTS:
    case SURG__R_FLOATS:
      return numbers_known(v);
    default:
      return false;
  }
}

static surg_attr_kind kind_wanted(const surg__rstmt *s, const char *name, int64_t opset) {
  const int64_t newest = surg_schema_newest(s->domain);
  if (s->domain[0] || opset > newest) opset = newest;
  const surg__attr_def *d = surg__schema_attr(surg_schema_find(s->domain, s->op_type, opset), name);
  return d ? d->kind : SURG_ATTR_UNDEFINED;
}

static surg_status set_ints(surg__match *m, surg_node *n, const char *name, const surg__rvalue *v) {
  assert(v->kind == SURG__R_INTS);
  int64_t *p = surg__arena_array(m->arena, v->n + 1, sizeof *p);
  if (!p) return SURG_ENOMEM;
  for (size_t i = 0; i < v->n; i++) p[i] = v->items[i].i;
  return surg_node_set_ints(n, name, p, v->n);
}

static surg_status set_floats(surg__match *m, surg_node *n, const char *name,
                              const surg__rvalue *v) {
  assert(v->kind == SURG__R_INTS || v->kind == SURG__R_FLOATS);
  float *p = surg__arena_array(m->arena, v->n + 1, sizeof *p);
  if (!p) return SURG_ENOMEM;
  for (size_t i = 0; i < v->n; i++)
    p[i] = (float)(v->kind == SURG__R_FLOATS ? v->items[i].f : (double)v->items[i].i);
  return surg_node_set_floats(n, name, p, v->n);
}

static surg_status set_attr(surg__match *m, surg_node *n, const surg__rstmt *s, const char *name,
                            const surg__rvalue *v) {
  const surg_attr_kind want = kind_wanted(s, name, m->emit->lo);
  const bool real = v->kind == SURG__R_FLOAT;
  switch (v->kind) {
    case SURG__R_STRING: {
      char *text = surg__arena_strn(m->arena, v->s.p, v->s.n);
      return text ? surg_node_set_string(n, name, text) : SURG_ENOMEM;
    }
    case SURG__R_STRINGS:
      return surg_node_set_strings(n, name, v->strings, v->n);
    case SURG__R_INTS:
      if (want != SURG_ATTR_FLOATS) return set_ints(m, n, name, v);
      return set_floats(m, n, name, v);
    case SURG__R_FLOATS:
      return set_floats(m, n, name, v);
    default:
      break;
  }
  assert(v->one.known); /* checked by `settable` */
  if (want == SURG_ATTR_FLOAT || (real && want != SURG_ATTR_INT))
    return surg_node_set_float(n, name, real ? (float)v->one.f : (float)v->one.i);
  return surg_node_set_int(n, name, v->one.i);
}

/* Returns the attribute to copy for `k = v` without a type, where the pattern binds v to an
 * attribute named k; else NULL. */
static const surg_attr *handed_on(const surg__match *m, const surg__rattr *a) {
  if (!a->expr || a->dtype || a->expr->op != SURG__E_VAR) return NULL;
  const surg_attr *from = m->attrs[a->expr->var];
  return from && !strcmp(surg_attr_name(from), a->name) ? from : NULL;
}

static bool is_graph(const surg_attr *a) {
  return surg_attr_get_kind(a) == SURG_ATTR_GRAPH || surg_attr_get_kind(a) == SURG_ATTR_GRAPHS;
}

/* --- planning --- */

static bool listed_in_pattern(const surg__rstmt *s, const char *name) {
  for (uint16_t i = 0; i < s->n_attrs; i++)
    if (!strcmp(s->attrs[i].name, name)) return true;
  return false;
}

static plan *new_plan(surg__match *m, const surg__rblock *b) {
  surg__arena *a = m->arena;
  plan *p = surg__arena_alloc(a, sizeof *p);
  if (!p) return NULL;
  *p = (plan){.m = m, .b = b};
  p->live = surg__arena_array(a, (size_t)b->n + 1, sizeof *p->live);
  p->consts = surg__arena_array(a, (size_t)b->n + 1, sizeof *p->consts);
  p->attrs = surg__arena_array(a, (size_t)b->n + 1, sizeof *p->attrs);
  p->tensors = surg__arena_array(a, (size_t)b->n + 1, sizeof *p->tensors);
  p->made = surg__arena_array(a, (size_t)m->rule->n_vars + 1, sizeof *p->made);
  return p->live && p->consts && p->attrs && p->tensors && p->made ? p : NULL;
}

static bool plan_node(plan *p, uint16_t k) {
  surg__match *m = p->m;
  const surg__rstmt *s = &p->b->stmts[k];
  assert(k < p->b->n && s->kind == SURG__S_NODE);
  uint16_t n = 0;
  p->consts[k] = surg__arena_array(m->arena, (size_t)s->n_in + 1, sizeof *p->consts[k]);
  if (!p->consts[k]) return false;
  for (uint16_t i = 0; i < s->n_in; i++) {
    if (s->in[i].kind != SURG__A_CONST) continue;
    p->consts[k][n] = surg__rtensor(m, s->in[i].expr, s->in[i].dtype);
    if (!p->consts[k][n++]) return false;
  }
  p->attrs[k] = surg__arena_array(m->arena, (size_t)s->n_attrs + 1, sizeof *p->attrs[k]);
  p->tensors[k] = surg__arena_array(m->arena, (size_t)s->n_attrs + 1, sizeof *p->tensors[k]);
  if (!p->attrs[k] || !p->tensors[k]) return false;
  for (uint16_t i = 0; i < s->n_attrs; i++) {
    const surg_attr *a = handed_on(m, &s->attrs[i]);
    if (a && is_graph(a)) return false;
    if (a) continue;
    if (s->attrs[i].dtype) {
      p->tensors[k][i] = surg__rtensor(m, s->attrs[i].expr, s->attrs[i].dtype);
      if (!p->tensors[k][i]) return false;
      continue;
    }
    p->attrs[k][i] = surg__reval(m, s->attrs[i].expr);
    if (!settable(&p->attrs[k][i])) return false;
  }
  if (!s->more_attrs) return true;
  const surg_node *from = m->nodes[m->rule->more];
  assert(from); /* `...` also occurs in the pattern, whose nodes are all matched */
  const surg_schema *schema = *s->domain ? NULL : surg_schema_find("", s->op_type, m->opset);
  for (size_t i = 0; i < surg_node_attr_count(from); i++) {
    const surg_attr *a = surg_node_attr_at(from, i);
    if (listed_in_pattern(&m->rule->match.stmts[m->rule->more], surg_attr_name(a))) continue;
    if (is_graph(a) || (schema && !surg__schema_attr(schema, surg_attr_name(a)))) return false;
  }
  return true;
}

/* Whether an output of a statement is bound by the pattern, or read by a later
 * statement that is created. */
static bool wanted(const plan *p, uint16_t k, uint16_t var) {
  if (var < p->b->bound && p->m->values[var]) return true;
  for (uint16_t j = (uint16_t)(k + 1); j < p->b->n; j++) {
    const surg__rstmt *s = &p->b->stmts[j];
    if (!p->live[j]) continue;
    if (s->kind == SURG__S_FORWARD && s->var == var) return true;
    for (uint16_t i = 0; s->kind == SURG__S_NODE && i < s->n_in; i++)
      if (s->in[i].kind == SURG__A_VALUE && s->in[i].var == var) return true;
  }
  return false;
}

/* Marks the statements to create. Statements that only feed absent optional outputs are omitted. */
static void find_live(plan *p) {
  for (uint16_t k = p->b->n; k-- > 0;) {
    const surg__rstmt *s = &p->b->stmts[k];
    p->live[k] = s->more_out;
    if (surg__match_stands(p->m, p->b, k)) {
      p->live[k] = false;
      continue;
    }
    for (uint16_t i = 0; s->kind != SURG__S_LET && i < s->n_out && !p->live[k]; i++)
      p->live[k] = s->out[i].kind == SURG__A_VALUE && wanted(p, k, s->out[i].var);
  }
}

/* --- element types --- */

/* Element types of the values of a plan, by variable, as far as they can be inferred. */
typedef struct dtypes {
  int of[SURG__RULE_VARS];
  bool known[SURG__RULE_VARS];
} dtypes;

static int dtype_of_value(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : 0;
}

static int dtype_of_arg(const plan *p, const dtypes *d, uint16_t k, const surg__rarg *a,
                        uint16_t *consts) {
  assert(p->consts[k] && (a->kind != SURG__A_VALUE || a->var < p->m->rule->n_vars));
  if (a->kind == SURG__A_CONST) return surg_tensor_dtype(p->consts[k][(*consts)++]);
  if (a->kind != SURG__A_VALUE) return 0;
  if (d->known[a->var]) return d->of[a->var];
  return a->var < p->b->bound ? dtype_of_value(p->m->values[a->var]) : 0;
}

/* Whether a formal parameter supports an element type, given the bound type parameters. */
static bool takes(const surg_schema *s, const surg__param *formal, int dtype, int *bound) {
  const surg__type_param *param = surg__schema_type_param(s, formal);
  if (!param || dtype <= 0 || dtype >= 32) return true;
  if (!(param->tensor_mask >> dtype & 1)) return false;
  const size_t i = (size_t)(param - s->params);
  if (i >= SURG__RULE_NODES || (formal->option == SURG__VARIADIC && !formal->homogeneous))
    return true;
  if (bound[i] && bound[i] != dtype) return false;
  bound[i] = dtype;
  return true;
}

/* Returns the element type that a Cast produces. */
static int cast_to(const plan *p, uint16_t k) {
  const surg__rstmt *s = &p->b->stmts[k];
  for (uint16_t i = 0; i < s->n_attrs; i++)
    if (!strcmp(s->attrs[i].name, "to") && p->attrs[k][i].kind == SURG__R_INT)
      return (int)p->attrs[k][i].one.i;
  return 0;
}

static int dtype_of_output(const plan *p, uint16_t k, const surg_schema *s,
                           const surg__param *formal, const int *bound) {
  if (s->op == SURG_OP_Cast) return cast_to(p, k);
  const surg__type_param *param = surg__schema_type_param(s, formal);
  if (param) return param - s->params < (long)SURG__RULE_NODES ? bound[param - s->params] : 0;
  const size_t n = strlen(formal->type);
  return n > 8 && !strncmp(formal->type, "tensor(", 7)
             ? surg__dtype_from_name(formal->type + 7, n - 8)
             : 0;
}

/* --- kernels --- */

static int first_dtype(const int *bound) {
  for (size_t i = 0; i < SURG__RULE_NODES; i++)
    if (bound[i]) return bound[i];
  return 0;
}

/* Whether ONNX Runtime lacks a kernel for a new node, and has one for what it replaces. Recorded as
 * the reason. */
static bool no_kernel(surg__match *m, const surg_schema *s, const int *bound) {
  if (m->any_kernel || !surg__kernel_missing(s, bound, SURG__RULE_NODES) ||
      !surg__match_has_kernels(m))
    return false;
  m->lacked = true;
  surg__match_failed(m, "ONNX Runtime has no kernel for %s of %s", s->name,
                     surg_dtype_name(first_dtype(bound)));
  return true;
}

bool surg__b_no_kernel(surg__builder *b, const char *op_type, int dtype) {
  const int bound[SURG__RULE_NODES] = {dtype};
  return no_kernel(b->m, surg_schema_find("", op_type, b->m->opset), bound);
}

static bool node_types(const plan *p, uint16_t k, dtypes *d) {
  const surg__rstmt *s = &p->b->stmts[k];
  const int64_t newest = surg_schema_newest(s->domain);
  const surg_schema *schema =
      surg_schema_find(s->domain, s->op_type, s->domain[0] ? newest : p->m->opset);
  int bound[SURG__RULE_NODES] = {0};
  uint16_t consts = 0;
  if (!schema) return true;
  for (uint16_t i = 0; i < s->n_in; i++) {
    const surg__param *formal = surg__schema_formal(schema, false, i);
    const int dtype = dtype_of_arg(p, d, k, &s->in[i], &consts);
    if (formal && !takes(schema, formal, dtype, bound)) return false;
  }
  for (uint16_t i = 0; i < s->n_out; i++) {
    const surg__param *formal = surg__schema_formal(schema, true, i);
    if (s->out[i].kind != SURG__A_VALUE || !formal) continue;
    const uint16_t var = s->out[i].var;
    const int old = var < p->b->bound ? dtype_of_value(p->m->values[var]) : 0;
    int made = dtype_of_output(p, k, schema, formal, bound);
    if (made && !takes(schema, formal, made, bound)) return false;
    if (made && old && made != old) return false;
    d->of[var] = made ? made : old;
    d->known[var] = true;
  }
  return !no_kernel(p->m, schema, bound);
}

/* If forwarding requires an Identity, checks that it supports the element type. */
static bool forward_types(const plan *p, uint16_t k, dtypes *d) {
  const surg__rstmt *s = &p->b->stmts[k];
  assert(s->n_out == 1 && s->out[0].kind == SURG__A_VALUE);
  surg_value *y = p->m->values[s->out[0].var];
  const bool old = s->var < p->b->bound && !d->known[s->var];
  surg_value *x = old ? p->m->values[s->var] : NULL;
  const int dtype = old ? dtype_of_value(x) : d->of[s->var];
  const surg_replace how = x ? surg_value_can_replace(y, x) : SURG_REPLACE_NEEDS_IDENTITY;
  const surg_schema *schema = surg_schema_find("", "Identity", p->m->opset);
  int bound[SURG__RULE_NODES] = {0};
  d->of[s->out[0].var] = dtype;
  d->known[s->out[0].var] = true;
  if (how == SURG_REPLACE_YES || how == SURG_REPLACE_BY_LABEL) return true;
  return schema && takes(schema, &schema->inputs[0], dtype, bound);
}

/* Whether every operator supports its element types in the target opset. */
static bool types_hold(const plan *p) {
  dtypes d = {{0}, {false}};
  for (uint16_t k = 0; k < p->b->n; k++) {
    if (!p->live[k]) continue;
    if (p->b->stmts[k].kind == SURG__S_NODE && !node_types(p, k, &d)) return false;
    if (p->b->stmts[k].kind == SURG__S_FORWARD && !forward_types(p, k, &d)) return false;
  }
  return true;
}

/* --- editing --- */

/* Returns the stem for new names: the name of the node's first output still
 * present, else of the node. */
static const char *stem_of(const surg_node *n) {
  const size_t count = surg_node_output_count(n);
  for (size_t i = 0; i < count; i++)
    if (surg_node_output(n, i)) return surg_value_name(surg_node_output(n, i));
  return *surg_node_name(n) ? surg_node_name(n) : surg_node_op_type(n);
}

const char *surg__rname(surg__match *m, const char *word) {
  const char *stem = stem_of(m->last);
  surg__buf b;
  surg__buf_init(&b, m->ctx);
  surg__buf_printf(&b, "%s_%s", stem, word);
  const char *name = b.failed ? NULL : surg_graph_fresh_name(m->g, b.p);
  surg__buf_free(&b);
  return name;
}

/* Splits an integer that double cannot represent into two that it can, in out[0] and out[1].
 * Returns false if out[0] alone is exact. */
static bool split_int(bool is_signed, int64_t i, double out[2]) {
  const uint64_t u = (uint64_t)i, high = u & ~UINT64_C(0xffffffff);
  const double whole = is_signed ? (double)i : (double)u;
  out[0] = whole;
  out[1] = 0;
  const double end = is_signed ? 0x1p63 : 0x1p64;
  if (whole < end && (is_signed ? (int64_t)whole == i : (uint64_t)whole == u)) return false;
  out[0] = is_signed ? (double)(int64_t)high : (double)high;
  out[1] = (double)(u & UINT64_C(0xffffffff));
  return true;
}

static bool read_ints(const surg_tensor *t, size_t n, int64_t *ints) {
  if (surg_tensor_dtype(t) != SURG_UINT64) return surg__read_ints(t, ints, n) == (int64_t)n;
  return surg_tensor_read_numbers(t, 0, ints, n) == SURG_OK;
}

bool surg__rdoubles(surg__match *m, surg_tensor *t, surg_tensor *out[2]) {
  const uint64_t count = surg_tensor_count(t);
  const int dtype = surg_tensor_dtype(t);
  out[0] = out[1] = NULL;
  if (count > SURG__RULE_LIST || surg__dtype_is_float(dtype) || dtype == SURG_STRING) return false;
  const size_t n = (size_t)count;
  int64_t *ints = surg__arena_array(m->arena, n + 1, 8);
  double *parts = surg__arena_array(m->arena, 2 * n + 1, 8);
  if (!ints || !parts || !read_ints(t, n, ints)) return false;
  bool two = false;
  for (size_t i = 0; i < n; i++) {
    double of[2];
    two |= split_int(dtype != SURG_UINT64, ints[i], of);
    parts[i] = of[0];
    parts[n + i] = of[1];
  }
  for (int k = 0; k < 1 + two; k++)
    out[k] = surg_tensor_new_numbers(m->m, SURG_DOUBLE, surg_tensor_dims(t), surg_tensor_rank(t),
                                     parts + n * (size_t)k, n);
  return out[0] && (out[1] || !two);
}

bool surg__rinitializers(const surg__match *m) {
  return surg_model_ir_version(m->m) >= 4 && !surg_graph_function(m->g);
}

/* Inserts a node with one output before another; its name derives from the value replaced. */
static surg_value *put_node(surg__match *m, surg_graph *g, surg_node *before, const char *op_type,
                            const char *word, surg_value *a, surg_value *b) {
  assert(a && (!before || surg_node_graph(before) == g));
  surg_node *n = surg_graph_add_node(g, before, "", op_type, 1);
  const char *name = n ? surg__rname(m, word) : NULL;
  if (!name || surg_node_set_name(n, name) || surg_node_set_input(n, 0, a) ||
      (b && surg_node_set_input(n, 1, b)))
    return NULL;
  name = surg__rname(m, "const");
  return name && !surg_value_rename(surg_node_output(n, 0), name) ? surg_node_output(n, 0) : NULL;
}

/* Infers the type of a new constant: guards of later rewrites query it. */
static surg_value *typed(surg_value *constant) {
  surg_node *n = constant ? surg_value_producer(constant, NULL) : NULL;
  if (n) surg__infer_one(n);
  return constant;
}

surg_status surg__rcast_to(surg_node *cast, int64_t opset, int dtype) {
  char name[32];
  size_t i = 0;
  if (opset >= 6) return surg_node_set_int(cast, "to", dtype);
  for (const char *c = surg__dtype_name(dtype); c && *c && i + 1 < sizeof name; c++)
    name[i++] = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
  name[i] = 0;
  return surg_node_set_string(cast, "to", name);
}

surg_value *surg__rconstant(surg__match *m, surg_graph *g, surg_node *before, const char *name,
                            surg_tensor *t) {
  assert(!before || surg_node_graph(before) == g);
  surg_tensor *doubles[2];
  surg_value *parts[2] = {NULL, NULL};
  if (!name) return NULL;
  if (m->opset >= 9 || surg__rinitializers(m) || !surg__rdoubles(m, t, doubles))
    return typed(surg_graph_constant(g, before, name, t));
  for (int k = 0; k < 2 && doubles[k]; k++) {
    if (k) name = surg__rname(m, "const");
    surg_value *v = name ? surg_graph_constant(g, before, name, doubles[k]) : NULL;
    parts[k] = v ? put_node(m, g, before, "Cast", "cast", v, NULL) : NULL;
    if (!parts[k] ||
        surg__rcast_to(surg_value_producer(parts[k], NULL), m->opset, surg_tensor_dtype(t)))
      return NULL;
  }
  return parts[1] ? put_node(m, g, before, "Add", "sum", parts[0], parts[1]) : parts[0];
}

static surg_status put_attrs(plan *p, uint16_t k, surg_node *n) {
  surg__match *m = p->m;
  const surg__rstmt *s = &p->b->stmts[k];
  surg_status status = SURG_OK;
  if (s->more_attrs) {
    const surg_node *from = m->nodes[m->rule->more];
    assert(from);
    const surg__rstmt *pattern = &m->rule->match.stmts[m->rule->more];
    for (size_t i = 0; i < surg_node_attr_count(from) && !status; i++) {
      const surg_attr *a = surg_node_attr_at(from, i);
      if (listed_in_pattern(pattern, surg_attr_name(a))) continue;
      status = surg_node_copy_attr(n, a);
    }
  }
  for (uint16_t i = 0; i < s->n_attrs && !status; i++) {
    const surg_attr *a = handed_on(m, &s->attrs[i]);
    if (p->tensors[k][i])
      status = surg_node_set_tensor(n, s->attrs[i].name, p->tensors[k][i]);
    else
      status = a ? surg_node_copy_attr(n, a) : set_attr(m, n, s, s->attrs[i].name, &p->attrs[k][i]);
  }
  return status;
}

static surg_status put_inputs(plan *p, uint16_t k, surg_node *n) {
  surg__match *m = p->m;
  const surg__rstmt *s = &p->b->stmts[k];
  uint16_t consts = 0;
  surg_status status = SURG_OK;
  for (uint16_t i = 0; i < s->n_in && !status; i++) {
    const surg__rarg *a = &s->in[i];
    surg_value *v = NULL;
    if (a->kind == SURG__A_CONST) {
      assert(p->consts[k][consts]); /* plan_node created each of them */
      v = surg__rconstant(m, m->g, n, surg__rname(m, "const"), p->consts[k][consts++]);
      if (!v) return SURG_ENOMEM;
    } else if (a->kind == SURG__A_VALUE) {
      v = p->made[a->var] ? p->made[a->var] : m->values[a->var];
    }
    if (v) status = surg_node_set_input(n, i, v);
  }
  if (!s->more_in) return status;
  const surg_node *from = m->nodes[m->rule->more];
  assert(from);
  const uint16_t skip = m->rule->match.stmts[m->rule->more].n_in;
  for (size_t i = skip; i < surg_node_input_count(from) && !status; i++)
    if (surg_node_input(from, i))
      status = surg_node_set_input(n, s->n_in + i - skip, surg_node_input(from, i));
  return status;
}

/* Moves outputs bound by the pattern to the new node; other outputs are new, with a new name. */
static surg_status put_outputs(plan *p, uint16_t k, surg_node *n) {
  surg__match *m = p->m;
  const surg__rstmt *s = &p->b->stmts[k];
  surg_status status = SURG_OK;
  for (uint16_t i = 0; i < s->n_out && !status; i++) {
    const surg__rarg *a = &s->out[i];
    if (a->kind != SURG__A_VALUE) continue;
    surg_value *old = a->var < p->b->bound ? m->values[a->var] : NULL;
    if (a->var < p->b->bound && !old && !wanted(p, k, a->var)) continue; /* absent in the match */
    if (old) {
      status = surg_node_take_output(n, i, old);
      p->made[a->var] = old;
    } else {
      surg_value *v = surg_node_add_output(n, i);
      const char *name = v ? surg__rname(m, m->rule->vars[a->var].name) : NULL;
      if (!name) return SURG_ENOMEM;
      status = surg_value_rename(v, name);
      p->made[a->var] = v;
    }
  }
  if (!s->more_out) return status;
  surg_node *from = m->nodes[m->rule->more];
  assert(from);
  const uint16_t skip = m->rule->match.stmts[m->rule->more].n_out;
  for (size_t i = surg_node_output_count(from); i-- > skip && !status;)
    if (surg_node_output(from, i))
      status = surg_node_take_output(n, s->n_out + i - skip, surg_node_output(from, i));
  return status;
}

static surg_status make_node(plan *p, uint16_t k, surg__made *made) {
  surg__match *m = p->m;
  const surg__rstmt *s = &p->b->stmts[k];
  assert(p->live[k] && p->consts[k] && p->attrs[k]);
  surg_node *n = surg_graph_add_node(m->g, m->last, s->domain, s->op_type, 0);
  const char *name = n ? surg__rname(m, s->op_type) : NULL;
  if (!name || surg_node_set_name(n, name)) return SURG_ENOMEM;
  surg_status status = put_attrs(p, k, n);
  if (!status) status = put_inputs(p, k, n);
  if (!status) status = put_outputs(p, k, n);
  if (!status && s->domain[0]) status = surg__rimport(n);
  if (!status && made && !surg__vec_push(m->ctx, made, n)) status = SURG_ENOMEM;
  return status;
}

/* Forwards y = x: the readers of y read x. Inserts an Identity where only that keeps the
 * name of a graph output. */
static surg_status forward(plan *p, uint16_t k, surg__made *made) {
  surg__match *m = p->m;
  const surg__rstmt *s = &p->b->stmts[k];
  assert(s->n_out == 1 && s->out[0].kind == SURG__A_VALUE);
  surg_value *y = m->values[s->out[0].var];
  surg_value *x = p->made[s->var] ? p->made[s->var] : m->values[s->var];
  const surg_replace how = surg_value_can_replace(y, x);
  p->made[s->out[0].var] = x;
  if (how == SURG_REPLACE_YES || how == SURG_REPLACE_BY_LABEL) return surg_value_replace(y, x);
  surg_node *n = surg_graph_add_node(m->g, m->last, "", "Identity", 0);
  surg_status status = n ? surg_node_set_input(n, 0, x) : SURG_ENOMEM;
  if (!status) status = surg_node_take_output(n, 0, y);
  p->made[s->out[0].var] = y;
  if (!status && made && !surg__vec_push(m->ctx, made, n)) status = SURG_ENOMEM;
  return status;
}

static int later_first(const void *x, const void *y) {
  surg_node *const *a = x, *const *b = y;
  return *a == *b ? 0 : surg_node_before(*a, *b) ? 1 : -1;
}

/* Erases a constant that has no readers left, unless it is an input, pinned or protected. */
static surg_status drop_constant(const surg__match *m, surg_value *v) {
  if (surg_value_erased(v) || surg_value_use_count(v, 1) || !surg_value_constant(v) ||
      surg_value_is_input(v) || surg_value_is_pinned(v) ||
      (m->pass && surg_pass_keeps_value(m->pass, v)))
    return SURG_OK;
  surg_node *n = surg_value_producer(v, NULL);
  if (!n) return surg_value_first_use(v) ? SURG_OK : surg_value_erase_initializer(v);
  return m->pass && surg_pass_keeps_node(m->pass, n) ? SURG_OK : surg_node_erase(n);
}

/* Erases a node, and the constants that it alone read. */
static surg_status erase_node(const surg__match *m, surg_node *n) {
  const size_t count = surg_node_input_count(n);
  surg_value **in = surg__arena_array(m->arena, count + 1, sizeof *in);
  if (!in) return SURG_ENOMEM;
  for (size_t i = 0; i < count; i++) in[i] = surg_node_input(n, i);
  surg_status status = surg_node_erase(n);
  for (size_t i = 0; i < count && !status; i++)
    if (in[i]) status = drop_constant(m, in[i]);
  return status;
}

/* Whether the outputs of a node have no readers and are neither pinned nor protected. */
static bool idle(const surg__match *m, const surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (v && (surg_value_first_use(v) || surg_value_is_pinned(v) ||
              (m->pass && surg_pass_keeps_value(m->pass, v))))
      return false;
  }
  return true;
}

/* Erases the matched nodes that the emission does not keep, and kept nodes
 * whose readers are erased. An emission in C may leave inner nodes that have other readers. */
static surg_status erase_matched(surg__match *m) {
  surg_node *nodes[SURG__RULE_NODES];
  bool kept[SURG__RULE_NODES];
  size_t n = 0;
  surg_status status = SURG_OK;
  for (uint16_t k = 0; k < m->rule->match.n; k++)
    if (m->nodes[k]) nodes[n++] = m->nodes[k];
  assert(n > 0); /* the anchor is always matched */
  qsort(nodes, n, sizeof *nodes, later_first);
  for (size_t i = 0; i < n; i++)
    kept[i] = surg__match_keeps(m, m->emit, nodes[i]) ||
              (m->emit->native && nodes[i] != m->nodes[m->rule->anchor]);
  for (size_t i = 0; i < n && !status; i++)
    if (!surg_node_erased(nodes[i]) && (!kept[i] || idle(m, nodes[i])))
      status = erase_node(m, nodes[i]);
  return status;
}

/* Whether an emission that only forwards is useless: the value cannot be replaced, or an Identity
 * would be replaced by an Identity, endlessly. */
static bool futile(const surg__match *m) {
  const surg__rblock *b = m->emit;
  if (b->n != 1 || b->stmts[0].kind != SURG__S_FORWARD) return false;
  assert(b->stmts[0].n_out == 1);
  surg_value *y = m->values[b->stmts[0].out[0].var], *x = m->values[b->stmts[0].var];
  const surg_replace how = surg_value_can_replace(y, x);
  if (how == SURG_REPLACE_YES || how == SURG_REPLACE_BY_LABEL) return false;
  return how == SURG_REPLACE_NO || surg_node_op(m->nodes[m->rule->anchor]) == SURG_OP_Identity;
}

/* Whether an emission in C may meet bfloat16 before opset 13, when most operators began to support
 * it. Element types of emissions in C are not checked otherwise. */
static bool too_new(const surg__match *m) {
  for (uint16_t i = 0; i < m->emit->bound && m->opset < 13; i++)
    if (m->rule->vars[i].value && dtype_of_value(m->values[i]) == SURG_BFLOAT16) return true;
  return false;
}

static surg_status not_made(surg__match *m, const char *why) {
  m->why = why;
  m->why_stmt = -1;
  return SURG_EUNSUPPORTED;
}

surg_status surg__emit_rule(surg__match *m, surg__made *made) {
  const surg__rblock *b = m->emit;
  assert(b && m->last); /* `surroundings` found the position of new nodes */
  surg_status status = SURG_OK;
  m->why = NULL;
  if (b->native) {
    surg__builder builder = {.m = m, .made = made, .g = m->g, .before = m->last};
    if (too_new(m)) return surg__b_decline(&builder, "bfloat16 requires opset 13");
    status = b->native->make(&builder);
    if (!status) status = builder.status;
    if (status == SURG_EUNSUPPORTED && !m->why)
      surg__match_failed(m, "this form or size is unsupported; it makes %s", b->native->help);
    return status ? status : erase_matched(m);
  }
  if (futile(m)) return not_made(m, "an Identity would replace it");
  const surg_status memory = m->m->ctx->alloc_status;
  plan *p = new_plan(m, b);
  if (!p) return SURG_ENOMEM;
  find_live(p);
  for (uint16_t k = 0; k < b->n; k++)
    if (b->stmts[k].kind == SURG__S_NODE && p->live[k] && !plan_node(p, k)) {
      if (surg_model_status(m->m)) return surg_model_status(m->m);
      if (!memory && m->m->ctx->alloc_status) return m->m->ctx->alloc_status;
      return not_made(m, "a number or attribute that it computes is unknown or out of range");
    }
  m->why_text[0] = 0;
  if (!types_hold(p))
    return not_made(
        m, m->why_text[0] ? m->why_text : "what it makes does not support these element types");
  for (uint16_t k = 0; k < b->n && !status; k++) {
    if (!p->live[k]) continue;
    if (b->stmts[k].kind == SURG__S_NODE) status = make_node(p, k, made);
    if (b->stmts[k].kind == SURG__S_FORWARD) status = forward(p, k, made);
  }
  return status ? status : erase_matched(m);
}

/* Returns the first output of a node that is present. Its new producer inherits the metadata
 * of the matched node. */
static surg_value *first_result(const surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    if (surg_node_output(n, i)) return surg_node_output(n, i);
  return NULL;
}

/* Removes what an emission made before it declined, where nothing reads it. */
static surg_status unmake(surg__match *m, surg__made *made, size_t from) {
  surg_status s = SURG_OK;
  while (made && made->count > from && !s) {
    surg_node *n = made->items[--made->count];
    if (!surg_node_erased(n) && idle(m, n)) s = erase_node(m, n);
  }
  return s;
}

/* Reports an error of an emission, if no call that it made has done so. */
static surg_status stopped(const surg__match *m, surg_status s) {
  surg_context *ctx = m->m->ctx;
  if (s == SURG_ENOMEM || s == SURG_ELIMIT || surg_context_error(ctx)) return s;
  return surg__error(ctx, s, surg_model_path(m->m), "rule %s stopped: %s", m->rule->name,
                     surg_status_name(s));
}

surg_status surg__emit_any(surg__match *m, surg__made *made) {
  const surg_node *root = m->nodes[m->rule->anchor];
  assert(root);
  const surg_value *result = first_result(root);
  const size_t from = made ? made->count : 0;
  for (;;) {
    surg_status s = surg__emit_rule(m, made);
    if (s == SURG_EUNSUPPORTED) {
      const surg_status undone = unmake(m, made, from);
      if (undone) s = undone;
    }
    if (s && s != SURG_EUNSUPPORTED) return stopped(m, s);
    if (s == SURG_EUNSUPPORTED) { /* keep this reason: surg__match_next has a general one */
      const char *why = m->why;
      char text[sizeof m->why_text];
      memcpy(text, m->why_text, sizeof text);
      if (surg__match_next(m)) continue;
      m->why = why;
      m->why_stmt = -1;
      memcpy(m->why_text, text, sizeof text);
    }
    surg_node *now = !s && result ? surg_value_producer(result, NULL) : NULL;
    if (now && now != root) surg__node_inherit(now, root);
    return s;
  }
}
