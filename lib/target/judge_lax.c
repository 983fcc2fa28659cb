/* SPDX-License-Identifier: Apache-2.0 */
/* What ONNX forbids and an engine reads in a way of its own: attributes without a type and those
 * that are given twice, where the target accepts them (E117/untyped, E118); and, with the key
 * `lax_attributes`, references to attributes of a function outside functions, and to attributes
 * that their function does not have, Constant nodes of other attributes than ONNX defines, and
 * overloads of operators that are no functions, which are ignored. The model is judged on copies
 * that have what the engine reads in their place.
 *
 * A reference beside a value: the value is read. A reference without a value: shape inference
 * finds no value and uses the default, the kernel reads 0 or an empty string; of a list, both read
 * an empty one. What holds of both readings holds of the engine; where they differ, the verdict is
 * unknown. */
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "ir/ir.h"
#include "target/judge.h"
#include "target/verdict.h"

bool surg__judge_stray_reference(const surg__defect *d) {
  return d->kind == SURG__DEFECT_STRAY && d->node && d->attr;
}

/* Whether the defect is a reference in a function to an attribute that the function does not have:
 * the node is read without the attribute. */
bool surg__judge_unset_reference(const surg__defect *d) {
  return d->kind == SURG__DEFECT_UNSET && d->node && d->attr;
}

static bool is_valueless(const surg_attr *a) {
  return a->kind == SURG_ATTR_UNDEFINED;
}

bool surg__judge_is_checked_reference(const surg_model *m, const surg__defect *d) {
  return surg__judge_stray_reference(d) && !is_valueless(d->attr) && d->node->graph != m->graph;
}

static bool has_repeated_names(const surg_node *n) {
  for (uint32_t i = 0; i < n->n_attr; i++)
    for (uint32_t k = 0; k < i; k++)
      if (n->attrs[i]->name == n->attrs[k]->name) return true;
  return false;
}

/* Whether the defect is an attribute that is given twice, outside functions: the last one is
 * used. */
static bool is_repeated(const surg__defect *d) {
  return strcmp(d->code, "E118") == 0 && !surg_graph_function(d->node->graph) &&
         !surg__judge_is_constant(d->node);
}

/* Whether the defect is an attribute without a type that the engine reads by its value. */
static bool is_untyped(const surg__target *t, const surg__defect *d) {
  return d->kind == SURG__DEFECT_UNTYPED && d->attr && !is_valueless(d->attr) &&
         surg__judge_accepts_some(t, "E117/untyped");
}

/* Whether the engine accepts the defect of a node, which then is one of its operator: the loader
 * read what the engine reads. */
static bool is_resolved(const surg__target *t, const surg__defect *d) {
  static const char *const codes[] = {"E107", "E113", "E115", "E117"};
  for (size_t i = 0; i < SURG_COUNT(codes); i++)
    if (!strcmp(codes[i], d->code)) return surg__judge_is_among(t, d) && d->node->opaque;
  return false;
}

/* Whether the defect is a default of another type than its input, and the engine treats it as a
 * constant. */
static bool is_other_default(const surg__target *t, const surg__defect *d) {
  return t->defaults && !d->cured && !strcmp(d->code, "E127") && d->value && d->value->tensor &&
         !d->value->erased && surg__target_finding(t, "E127") == SURG__LEGAL;
}

/* Gives the input of a copy the type of its default. */
static bool retype_default(surg_value *v) {
  const surg_tensor *c = v->tensor;
  surg_dim dims[SURG_LIMIT_RANK];
  if (c->shapeless || c->rank > SURG_LIMIT_RANK) return false;
  for (uint32_t i = 0; i < c->rank; i++) dims[i] = (surg_dim){c->dims[i], NULL, NULL};
  const surg_type *type = surg_type_tensor(v->graph->model, c->dtype, dims, c->rank);
  return type && surg_value_set_declared_type(v, type) == SURG_OK;
}

/* Gives the node of a copy its operator. */
static void resolve(surg_node *n) {
  n->faulty = n->opaque = n->resolved = false;
  n->types_stale = true;
  surg__touch_node(n);
}

static bool is_lax(const surg__target *t, const surg_model *m, const surg__defect *d) {
  if (is_other_default(t, d)) return true;
  if (d->cured || !d->node || d->node->erased) return false;
  if (is_repeated(d)) return surg__target_finding(t, "E118") == SURG__LEGAL;
  if (is_untyped(t, d) || surg__judge_converts(t, d) || is_resolved(t, d)) return true;
  if (!t->lax_attributes) return false;
  if (surg__judge_unset_reference(d)) return !has_repeated_names(d->node);
  if (!surg__judge_stray_reference(d)) return surg__judge_made_value(t, d);
  return !has_repeated_names(d->node) && !surg__judge_is_checked_reference(m, d) &&
         (!is_valueless(d->attr) || d->attr->lost);
}

/* The attribute as a kernel reads it that finds no value. False: this kind has no such value. */
static bool set_empty(surg_node *n, const char *name, surg_attr_kind kind) {
  switch (kind) {
    case SURG_ATTR_INT:
      return surg_node_set_int(n, name, 0) == SURG_OK;
    case SURG_ATTR_FLOAT:
      return surg_node_set_float(n, name, 0) == SURG_OK;
    case SURG_ATTR_STRING:
      return surg_node_set_string(n, name, "") == SURG_OK;
    case SURG_ATTR_INTS:
      return surg_node_set_ints(n, name, NULL, 0) == SURG_OK;
    case SURG_ATTR_FLOATS:
      return surg_node_set_floats(n, name, NULL, 0) == SURG_OK;
    case SURG_ATTR_STRINGS:
      return surg_node_set_strings(n, name, NULL, 0) == SURG_OK;
    default:
      return false;
  }
}

/* Whether no engine reads a default in place of the attribute: the operator requires it or does not
 * have it, or it is the value of a Constant. */
static bool is_needed(const surg_node *n, const char *name) {
  const int64_t opset = surg_graph_opset(surg_node_graph(n), surg_node_domain(n));
  const surg_schema *s = surg_schema_find(surg_node_domain(n), surg_node_op_type(n), opset);
  const surg__attr_def *a = s ? surg__schema_attr(s, name) : NULL;
  return s && (!a || a->required || surg__judge_is_constant(n));
}

static bool is_list(surg_attr_kind kind) {
  return kind == SURG_ATTR_INTS || kind == SURG_ATTR_FLOATS || kind == SURG_ATTR_STRINGS;
}

/* Removes all but the last attribute of each name. */
static void keep_last(surg_node *n) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < n->n_attr; i++) {
    bool later = false;
    for (uint32_t k = i + 1; k < n->n_attr; k++)
      later = later || n->attrs[k]->name == n->attrs[i]->name;
    if (!later) n->attrs[kept++] = n->attrs[i];
  }
  n->n_attr = kept;
  n->attrs_dirty = true;
  surg__touch_node(n);
}

/* Replaces the attribute by an equal one, with the type of its value. */
static bool type_attribute(surg_node *n, const surg_attr *a) {
  surg_attr *typed = surg__arena_zalloc(&n->graph->model->arena, sizeof *typed);
  if (!typed) return false;
  *typed = *a;
  typed->dirty = n->attrs_dirty = true;
  for (uint32_t i = 0; i < n->n_attr; i++)
    if (n->attrs[i] == a) n->attrs[i] = typed;
  for (uint32_t i = 0; i < typed->count; i++)
    if (surg_attr_graph(typed, i)) typed->u.graphs[i]->parent_attr = typed;
  surg__touch_node(n);
  return true;
}

/* Replaces what the defect of a copy is about by what the engine reads; false: not possible. */
static bool apply(surg__defect *d, bool empty) {
  surg_node *n = d->node;
  if (!strcmp(d->code, "E116") && d->attr && !surg__judge_is_constant(n))
    return surg__judge_convert(d);
  if (d->kind == SURG__DEFECT_UNTYPED) return type_attribute(n, d->attr);
  if (is_repeated(d)) {
    keep_last(n);
    return true;
  }
  if (surg__judge_unset_reference(d)) return surg_node_remove_attr(n, d->attr->name) == SURG_OK;
  if (!surg__judge_stray_reference(d)) return surg__judge_make_value(d);
  if (!is_valueless(d->attr)) {
    d->attr->dirty = n->attrs_dirty = true;
    surg__touch_node(n);
    return true;
  }
  const char *name = d->attr->name;
  const surg_attr_kind kind = d->attr->lost;
  const bool needed = is_needed(n, name);
  if (surg_node_remove_attr(n, name) != SURG_OK) return false;
  if (!empty && !needed && !is_list(kind)) return true;
  /* Without an empty value of this kind, the operator lacks what it needs. */
  return set_empty(n, name, kind) || (needed && !empty);
}

/* Whether the node has an overload that selects no function and that the engine ignores: there is
 * no function of that name. */
static bool is_overloaded(const surg__target *t, const surg_node *n) {
  if (!n->overload[0] || surg_node_class(n) == SURG_OP_CLASS_FUNCTION) return false;
  const surg_function *f = surg_model_find_function(n->graph->model, n->domain, n->op_type, "");
  return !f || surg__judge_hides(t, f);
}

/* The next such node after n (NULL: the first); NULL: none. */
static surg_node *next_overloaded(const surg__target *t, surg_model *m, const surg_node *n) {
  const surg_graph *g = n ? surg_node_graph(n) : surg_model_next_graph(m, NULL);
  const surg_node *k = n ? surg_node_next(n) : surg_graph_first_node(g);
  for (;;) {
    for (; k; k = surg_node_next(k))
      if (is_overloaded(t, k)) return (surg_node *)(uintptr_t)k;
    g = surg_model_next_graph(m, g);
    if (!g) return NULL;
    k = surg_graph_first_node(g);
  }
}

static void drop_overloads(const surg__target *t, surg_model *m) {
  const char *none = surg__intern(m, "", 0);
  for (surg_node *n = none ? next_overloaded(t, m, NULL) : NULL; n; n = next_overloaded(t, m, n)) {
    n->overload = none;
    n->op_dirty = n->types_stale = true;
    n->resolved = false;
    surg__touch_node(n);
  }
}

void surg__judge_hear(void *user, const surg__objection *o) {
  surg__judge_heard *h = user;
  if (o->verdict == SURG__LEGAL || h->worst == SURG__ILLEGAL || o->verdict == h->worst) return;
  h->worst = o->verdict;
  snprintf(h->text, sizeof h->text, "%s", o->text ? o->text : "");
}

/* The index of the first such defect; the number of defects: there is none. */
static size_t first_lax(const surg__target *t, const surg_model *m, bool valueless) {
  size_t i = 0;
  for (; i < m->defects.count; i++) {
    const surg__defect *d = &m->defects.items[i];
    if (is_lax(t, m, d) && (!valueless || (d->attr && is_valueless(d->attr)))) break;
  }
  return i;
}

static surg_status judge_copy(const surg__target *t, const surg_model *m, bool empty,
                              surg__judge_model_fn judge, surg__judge_heard *h) {
  *h = (surg__judge_heard){.worst = SURG__LEGAL};
  surg_model *copy = surg_model_clone(m);
  if (!copy) return surg__alloc_status(t->ctx);
  bool possible = true, emptied = false;
  surg__target lists = *t; /* what is no list in the file is not rejected as an empty one */
  for (size_t i = 0; possible && i < m->defects.count; i++) {
    const surg__defect *d = &m->defects.items[i];
    if (!is_lax(t, m, d)) continue;
    if (surg__judge_stray_reference(d) && is_valueless(d->attr) && is_list(d->attr->lost))
      emptied = true;
    if (is_other_default(t, d))
      possible = retype_default(copy->defects.items[i].value);
    else if (!is_resolved(t, d))
      possible = apply(&copy->defects.items[i], empty);
  }
  if (t->lax_attributes) drop_overloads(t, copy);
  surg_model_open_findings(copy); /* tests which are cured, and finds those that they hid */
  for (size_t i = 0; i < m->defects.count; i++)
    if (m->defects.items[i].node && is_resolved(t, &m->defects.items[i]))
      resolve(copy->defects.items[i].node);
  surg_status s = copy->status;
  if (emptied) lists.empty_lists = SURG__YES;
  /* A type 0 is one that shape inference does not find here. */
  if (!empty && first_lax(t, m, true) < m->defects.count) lists.undefined_types.n = 0;
  if (s == SURG_OK && possible) s = judge(&lists, copy, surg__judge_hear, h);
  if (h->worst == SURG__LEGAL && (!possible || emptied))
    *h = (surg__judge_heard){.worst = SURG__UNKNOWN,
                             .text = "whether its kernel accepts that is unknown"};
  surg_model_free(copy);
  return s;
}

/* Reports that the model is not supported as the engine reads it, or that this is unknown. */
static void doubt(const surg__target *t, const surg_node *n, const surg__judge_heard *h,
                  surg__objection_fn fn, void *user) {
  char text[500];
  snprintf(text, sizeof text, "overload %s is ignored; as the engine reads it: %s",
           surg__q(t->ctx, n->overload), h->text);
  fn(user, &(surg__objection){.verdict = h->worst,
                              .cause = SURG__C_INVALID,
                              .node = n,
                              .text = text,
                              .source = t->source});
}

/* Reports that no reading of the model is supported, or that this is unknown: judging the model
 * itself may find nothing, as a node with a defect has no schema. */
static void refuse(const surg__target *t, surg_model *m, size_t defect, const surg__judge_heard *h,
                   surg__verdict verdict, surg__objection_fn fn, void *user) {
  char text[500];
  surg_finding f = {.size = sizeof f};
  if (!surg_model_finding(m, defect, &f)) return;
  snprintf(text, sizeof text, "%s; as the engine reads it: %s", f.text, h->text);
  fn(user, &(surg__objection){.verdict = verdict,
                              .cause = SURG__C_INVALID,
                              .code = f.code,
                              .where = f.where ? f.where : "model",
                              .text = text,
                              .source = t->source});
}

/* Passes objections on. */
typedef struct relay {
  surg__objection_fn fn;
  void *user;
  bool objected;
} relay;

/* Passes warnings on: of a model that is supported as the engine reads it. */
static void pass_warning(void *user, const surg__objection *o) {
  const relay *r = user;
  if (o->verdict == SURG__LEGAL) r->fn(r->user, o);
}

static void pass_on(void *user, const surg__objection *o) {
  relay *r = user;
  r->objected = r->objected || o->verdict != SURG__LEGAL;
  r->fn(r->user, o);
}

surg_status surg__judge_lax(const surg__target *t, surg_model *m, surg__judge_model_fn judge,
                            surg__objection_fn fn, void *user) {
  const size_t d = first_lax(t, m, false);
  const surg_node *overloaded = t->lax_attributes ? next_overloaded(t, m, NULL) : NULL;
  if (d == m->defects.count && !overloaded) return judge(t, m, fn, user);
  surg__judge_heard absent, empty;
  surg_status s = judge_copy(t, m, false, judge, &absent);
  if (s != SURG_OK) return s;
  empty = absent;
  if (first_lax(t, m, true) < m->defects.count &&
      (s = judge_copy(t, m, true, judge, &empty)) != SURG_OK)
    return s;
  relay r = {.fn = fn, .user = user};
  if (absent.worst == SURG__LEGAL && empty.worst == SURG__LEGAL)
    return judge(t, m, pass_warning, &r);
  if (d == m->defects.count)
    doubt(t, overloaded, &absent, pass_on, &r);
  else if (absent.worst == SURG__ILLEGAL && empty.worst != SURG__LEGAL)
    refuse(t, m, d, &absent, SURG__ILLEGAL, pass_on, &r);
  s = judge(t, m, pass_on, &r);
  if (s == SURG_OK && !r.objected)
    refuse(t, m, d, absent.worst == SURG__LEGAL ? &empty : &absent, SURG__UNKNOWN, fn, user);
  return s;
}
