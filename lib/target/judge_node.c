/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a node against a target: selects the facts that apply to it, and handles operators that
 * the target does not list. */
#include <stdio.h>
#include <stdlib.h>

#include <onnxsurg/ops.h>

#include "base/context.h"
#include "base/dtype.h"
#include "ir/ir.h"
#include "schema/custom.h"
#include "schema/text.h"
#include "target/judge.h"
#include "target/verdict.h"

/* --- a node --- */

static void no_version(surg__judge *j, const surg__op_facts *op) {
  surg__buf b;
  surg__buf_init(&b, j->t->ctx);
  surg__target_put_versions(&b, op, j->t->lenient);
  surg__buf_putc(&b, 0);
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_VERSION, NULL,
                     "version %d is not supported; supported: %s", surg_schema_since(j->s),
                     b.failed || !b.p[0] ? "none" : b.p);
  surg__buf_free(&b);
}

/* Whether the node fits a fact that is marked `misread`: it is imported, and computed
 * differently. */
static bool is_misread(const surg__judge *j, const surg__op_facts *op, int since) {
  surg__judge each = *j;
  each.why = NULL;
  each.o = NULL;
  for (size_t i = 0; i < op->n; i++) {
    if (!op->facts[i].misread || (since && !surg__judge_speaks_of(&op->facts[i], since))) continue;
    each.f = &op->facts[i];
    each.worst = SURG__LEGAL;
    surg__judge_keeps_to(&each);
    if (each.worst != SURG__ILLEGAL) return true;
  }
  return false;
}

/* Whether the results of a node are outputs of the model at most. What an engine makes of a misread
 * node, its shape above all, decides whether the nodes that read it can be imported. */
static bool is_last(const surg_node *n) {
  if (n->graph->kind != SURG_GRAPH_MAIN) return false;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    for (const surg_use *u = v ? v->uses : NULL; u; u = u->next)
      if (u->kind == SURG_USE_NODE) return false;
  }
  return true;
}

static void note_misread(surg__judge *j) {
  surg__buf text;
  if (j->o) j->o->misread = true;
  if (j->o) j->o->fed = !is_last(j->n);
  if (!j->why) return;
  surg__buf_init(&text, j->t->ctx);
  surg__buf_puts(&text, SURG__JUDGE_OTHERWISE);
  surg__buf_put(&text, j->why->p, j->why->n);
  j->why->n = 0;
  if (!text.failed) surg__buf_put(j->why, text.p, text.n);
  surg__buf_free(&text);
}

static bool misreads_shapes(const surg__target *t) {
  const surg__op_facts *shape = surg__target_op(t, "", "Shape");
  for (size_t i = 0; shape && i < shape->n; i++)
    if (shape->facts[i].misread) return true;
  return false;
}

/* Notes a constant that the node lacks, and that an engine which misreads open sizes has: it
 * computes it from such sizes. It may import the model then. */
static void note_sizes(surg__judge *j) {
  if (!j->o || j->o->misread || j->o->cause != SURG__C_CONSTANT || !j->o->value) return;
  if (!misreads_shapes(j->t) || surg__judge_constant(j, j->o->value) != SURG__NO) return;
  if (!surg__judge_of_sizes(j, j->o->value)) return;
  j->o->misread = j->o->fed = true;
}

static void judge_listed(surg__judge *j, const surg__op_facts *op) {
  int since = surg__node_early(j->n) ? 1 : j->s ? surg_schema_since(j->s) : 0;
  if (since == 1 && !surg__target_takes_version(op, 1)) since = surg_schema_since(j->s);
  surg__objection first = {0};
  uint32_t causes = 0;
  unsigned passed = 0;
  bool any = false;
  surg__judge each = *j;
  surg__buf text;
  surg__buf_init(&text, j->t->ctx);
  each.why = j->why ? &text : NULL;
  for (size_t i = 0; i < op->n; i++) {
    if (since && !surg__judge_speaks_of(&op->facts[i], since)) continue;
    if (op->facts[i].misread && !(j->t->lenient && is_last(j->n))) continue;
    surg__objection o = {0};
    each.f = &op->facts[i];
    each.o = &o;
    each.worst = SURG__LEGAL;
    text.n = 0;
    surg__judge_keeps_to(&each);
    if (each.worst == SURG__ILLEGAL) causes |= UINT32_C(1) << o.cause;
    /* Of the facts that apply to this version, the one with the mildest verdict decides; of equal
     * ones that which the node contradicts in its last condition: it fits most of them. */
    const bool is_milder = !any || each.worst < j->worst;
    if (!is_milder && (each.worst > j->worst || each.passed <= passed)) continue;
    any = true;
    j->worst = each.worst;
    passed = each.passed;
    first = o;
    if (j->why) {
      j->why->n = 0;
      surg__buf_put(j->why, text.p, text.n);
    }
    if (j->worst == SURG__LEGAL) break;
  }
  surg__buf_free(&text);
  first.causes = j->worst == SURG__ILLEGAL ? causes : 0;
  if (any && j->o) *j->o = first;
  if (!any) no_version(j, op);
  if (j->worst == SURG__ILLEGAL && is_misread(j, op, since)) note_misread(j);
  if (j->worst == SURG__ILLEGAL) note_sizes(j);
}

/* Whether the engine has this version of the operator and can expand it to its function body in the
 * ONNX standard. */
static bool has_body(const surg__judge *j, const char *domain) {
  if (!j->s || j->t->bodies != SURG__YES || !(j->s->flags & SURG__OP_HAS_BODY)) return false;
  for (size_t i = 0; i < j->t->opsets.count; i++)
    if (!strcmp(j->t->opsets.items[i].name, domain))
      return surg_schema_since(j->s) <= j->t->opsets.items[i].high;
  return true;
}

/* Whether the target lists operators of the domain, so that an unlisted one is covered by
 * `rest`. */
static bool speaks_of_domain(const surg__judge *j, const char *domain) {
  const size_t n = strlen(domain);
  if (n == 0) return true;
  for (size_t i = 0; i < j->t->ops.count; i++) {
    const char *name = j->t->ops.items[i].name;
    if (!strncmp(name, domain, n) && name[n] == '.' && !strchr(name + n + 1, '.')) return true;
  }
  return surg_schema_newest(domain) > 0 && strcmp(domain, "com.microsoft") != 0;
}

/* Whether the user registered the operator with the engine (--registered). */
static bool is_registered(const surg__judge *j, const char *domain) {
  const size_t n = strlen(domain);
  for (size_t i = 0; i < j->t->n_registered; i++) {
    const char *said = j->t->registered[i];
    if (strncmp(said, domain, n) != 0) continue;
    if (!said[n] || (said[n] == ':' && !strcmp(said + n + 1, surg_node_op_type(j->n)))) return true;
  }
  return false;
}

/* Judges a call in the body of a function. */
static void judge_nested(surg__judge *j, const char *domain) {
  const surg_graph *g = surg_node_graph(j->n);
  if (surg_graph_get_kind(g) != SURG_GRAPH_FUNCTION || j->t->functions != SURG__YES) return;
  if (j->t->outside != SURG__YES && !surg_model_opset(surg_graph_model(g), domain))
    surg__judge_object(j, j->t->outside == SURG__NO ? SURG__ILLEGAL : SURG__UNKNOWN,
                       SURG__C_FUNCTION, NULL,
                       "the model does not import %s, whose function is "
                       "called by another function",
                       surg__q(j->t->ctx, domain));
  for (size_t i = 0; j->t->nested != SURG__YES && i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    if (!v || !surg_value_producer(v, NULL)) continue;
    surg__judge_object(
        j, j->t->nested == SURG__NO ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_FUNCTION, v,
        "a call in a function reads %s, which the function computes%s", surg__judge_name(j, v),
        j->t->nested == SURG__NO ? "" : "; whether that is supported is unknown");
    return;
  }
}

/* Judges the arguments of a call for which the engine uses another function than that of its
 * overload. */
static void judge_call(surg__judge *j) {
  const surg_function *f = surg_node_function(j->n);
  if (!f || j->t->overloads != SURG__NO) return;
  if (surg_node_input_count(j->n) > surg_graph_input_count(surg_function_graph(f)) ||
      surg_node_output_count(j->n) > surg_graph_output_count(surg_function_graph(f)))
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_FUNCTION, NULL,
                       "the function that is called has fewer inputs or outputs");
}

static void judge_function(surg__judge *j, const char *domain) {
  judge_nested(j, domain);
  judge_call(j);
  if (j->t->functions == SURG__YES && !surg_graph_opset(surg_node_graph(j->n), domain))
    surg__judge_object(j, j->t->import_calls ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_FUNCTION,
                       NULL, "the model does not import the domain of the function");
  if (j->t->functions == SURG__NO)
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_FUNCTION, NULL,
                       "functions of the model are not supported");
  if (j->t->functions == SURG__UNSAID)
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_FUNCTION, NULL,
                       "support for functions of the model is unknown");
}

/* Judges an operator of a domain of which the target lists no operator. */
static void judge_custom(surg__judge *j, const char *domain) {
  if (j->t->custom == SURG__NO)
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CUSTOM, NULL,
                       "custom operators are not supported");
  else if (j->t->closed)
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CUSTOM, NULL,
                       "the engine has no operators of domain %s, unless they are registered with "
                       "it (--registered %.80s)",
                       surg__q(j->t->ctx, domain), domain);
  else
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_CUSTOM, NULL, "custom operator%s",
                       j->t->custom == SURG__YES ? ": it must be registered with the engine" : "");
}

/* Reports an operator that the engine does not have. */
static void judge_absent(surg__judge *j, const char *domain) {
  const char *name = surg_node_op_type(j->n);
  surg__buf b;
  surg__buf_init(&b, j->t->ctx);
  surg__buf_escape(&b, domain, strlen(domain), SURG_LIMIT_NAME_PRINT);
  if (domain[0]) surg__buf_putc(&b, '.');
  surg__buf_escape(&b, name, strlen(name), SURG_LIMIT_NAME_PRINT);
  surg__buf_putc(&b, 0);
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_OP, NULL, "%.80s has no operator %s", j->t->name,
                     b.failed ? "of this name" : b.p);
  surg__buf_free(&b);
}

static bool lists_type(const surg__tfact *f, const char *name, int dtype) {
  for (size_t i = 0; i < f->n_types; i++)
    if (!strcmp(f->types[i].name, name)) return f->types[i].mask >> dtype & 1;
  return true;
}

/* Judges a CastLike that the engine expands to a Cast by the facts of that operator. Other bodies
 * begin and end with operators that depend on attributes. */
static void judge_expanded(surg__judge *j) {
  const surg_schema *s =
      surg_node_op(j->n) != SURG_OP_CastLike
          ? NULL
          : surg_schema_find("", "Cast", surg_graph_opset(surg_node_graph(j->n), ""));
  const surg__op_facts *cast = s ? surg__target_op(j->t, "", "Cast") : NULL;
  const surg_value *like = surg_node_input(j->n, 1);
  const int from = surg__judge_element(surg_node_input(j->n, 0)), to = surg__judge_element(like);
  if (!cast || from <= 0 || to <= 0 || from >= SURG__DTYPES || to >= SURG__DTYPES) return;
  for (size_t i = 0; i < cast->n; i++) {
    const surg__tfact *f = &cast->facts[i];
    if (!f->refused && surg__judge_speaks_of(f, surg_schema_since(s)) &&
        lists_type(f, "T1", from) && lists_type(f, "T2", to))
      return;
  }
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_TYPE, like,
                     "it becomes a Cast of %s to %s, which is not supported",
                     surg__dtype_name(from), surg__dtype_name(to));
}

static void judge_stranger(surg__judge *j, const char *domain) {
  if (surg_node_class(j->n) == SURG_OP_CLASS_FUNCTION)
    judge_function(j, domain);
  else if (is_registered(j, domain))
    return;
  else if (has_body(j, domain))
    judge_expanded(j);
  else if (!speaks_of_domain(j, domain))
    judge_custom(j, domain);
  else if (j->t->rest_refused)
    judge_absent(j, domain);
  else
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_OP, NULL, "support for the operator is unknown");
}

/* Whether inputs of one type parameter have two element types: no engine accepts such an invalid
 * node. The objection is recorded. */
static bool mixes_types(surg__judge *j) {
  const surg_value *first[16] = {NULL};
  for (size_t i = 0; j->s && i < surg_node_input_count(j->n); i++) {
    const surg__param *p = surg__schema_formal(j->s, false, i);
    const surg__type_param *param = p ? surg__schema_type_param(j->s, p) : NULL;
    const surg_value *v = surg_node_input(j->n, i);
    const size_t k = param ? (size_t)(param - j->s->params) : SURG_COUNT(first);
    const int d = v ? surg__judge_element(v) : 0;
    if (!d || k >= SURG_COUNT(first) || (p->option == SURG__VARIADIC && !p->homogeneous)) continue;
    if (!first[k]) first[k] = v;
    if (surg__judge_element(first[k]) == d) continue;
    return surg__judge_object(j, j->t->unchecked ? SURG__UNKNOWN : SURG__ILLEGAL, SURG__C_TYPE, v,
                              "%s is %s and %s is %s; both must be of one type",
                              surg__q(j->t->ctx, surg_value_name(first[k])),
                              surg__dtype_name(surg__judge_element(first[k])),
                              surg__q(j->t->ctx, surg_value_name(v)), surg__dtype_name(d));
  }
  return false;
}

/* Whether two floating inputs of an operator with a function body have different element types. No
 * kernel has such types, and the body does not cast one to the other, except that of CastLike. The
 * objection is recorded. */
static bool mixes_floats(surg__judge *j, const char *domain) {
  const surg_value *first = NULL;
  if (surg_node_op(j->n) == SURG_OP_CastLike || !has_body(j, domain)) return false;
  for (size_t i = 0; i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const int d = v ? surg__judge_element(v) : 0;
    if (!surg__dtype_is_float(d)) continue;
    if (!first) first = v;
    if (surg__judge_element(first) == d) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_TYPE, v,
                       "%s is %s and %s is %s; its function computes with one type",
                       surg__q(j->t->ctx, surg_value_name(first)),
                       surg__dtype_name(surg__judge_element(first)),
                       surg__q(j->t->ctx, surg_value_name(v)), surg__dtype_name(d));
    return true;
  }
  return false;
}

/* Whether a required input is missing: later releases add inputs, and make required ones optional,
 * never the reverse. Inputs that the schema does not list are unknown. The objection is
 * recorded. */
static bool misses_input(surg__judge *j) {
  const size_t n = surg_node_input_count(j->n);
  for (size_t i = 0; i < j->s->n_inputs; i++) {
    const surg__param *p = &j->s->inputs[i];
    if (p->option != SURG__SINGLE || (i < n && surg_node_input(j->n, i))) continue;
    return surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, NULL, "input %s must be given",
                              p->name);
  }
  if (n && !surg__schema_formal(j->s, false, n - 1))
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_PLACE, NULL, "input %zu is not known", n - 1);
  return false;
}

/* Whether the node has fewer outputs than the operator requires; a named or absent one counts. The
 * objection is recorded. */
static bool misses_output(surg__judge *j) {
  size_t least = 0;
  for (size_t i = 0; i < j->s->n_outputs; i++)
    if (j->s->outputs[i].option == SURG__SINGLE) least = i + 1;
  return surg_node_output_count(j->n) < least &&
         surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, NULL,
                            "it has %zu output%s; the least is %zu", surg_node_output_count(j->n),
                            surg_node_output_count(j->n) == 1 ? "" : "s", least);
}

/* Whether the result is of the type of the operands: a sequence of them is not. */
static bool gives_operand(const surg_schema *s, const surg__param *p) {
  return s->n_outputs && !strcmp(s->outputs[0].type, p->type);
}

/* Reports an absent input of those that an operator combines (Concat, Sum). The first one gives the
 * result its type. */
static void judge_operands(surg__judge *j) {
  const size_t n = surg_node_input_count(j->n);
  for (size_t i = 0; j->s && i < n; i++) {
    const surg__param *p = surg__schema_formal(j->s, false, i);
    if (!p || p->option != SURG__VARIADIC || !p->homogeneous || surg_node_input(j->n, i)) continue;
    const bool first = i < j->s->n_inputs && p == &j->s->inputs[i];
    if (!first && j->t->absent_operands && gives_operand(j->s, p)) continue;
    surg__judge_object(
        j, first ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_PLACE, NULL,
        first ? "input %zu must be given" : "whether input %zu may be absent is unknown", i);
    return;
  }
}

/* Judges a node of an operator that the engine itself defines (com.microsoft). Such operators are
 * extended without a new version: attributes missing from the schema are unknown, those it requires
 * are required. */
static void judge_contrib(surg__judge *j) {
  if (!j->s || !(j->s->flags & SURG__OP_CONTRIB) || misses_input(j) || misses_output(j)) return;
  for (size_t i = 0; i < j->s->n_attrs; i++) {
    const surg__attr_def *a = &j->s->attrs[i];
    if (!a->required || surg_node_attr(j->n, a->name)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL, "attribute %s is missing", a->name);
    return;
  }
  const size_t n_out = surg_node_output_count(j->n);
  if (n_out && !surg__schema_formal(j->s, true, n_out - 1))
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, NULL, "it has %zu outputs; the most is %zu",
                       n_out, (size_t)j->s->n_outputs);
  for (size_t i = 0; i < surg_node_attr_count(j->n); i++) {
    const surg_attr *a = surg_node_attr_at(j->n, i);
    const char *name = surg_attr_name(a);
    const surg__attr_def *d = surg__schema_attr(j->s, name);
    if (d && !surg_attr_ref(a) && surg_attr_get_kind(a) != d->kind)
      surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL, "attribute %s is of another kind",
                         name);
    if (!d)
      surg__judge_object(j, SURG__UNKNOWN, SURG__C_ATTR, NULL, "attribute %s is not known",
                         surg__q(j->t->ctx, name));
  }
}

/* Reports a listed operator of a known domain of the engine of which only the name is known. */
static void judge_unsigned(surg__judge *j, const char *domain) {
  const int newest = surg_schema_newest(domain);
  const char *name = surg_node_op_type(j->n);
  if (j->s || !domain[0] || newest <= 0 || is_registered(j, domain)) return;
  if (surg_schema_find(domain, name, newest) || surg__custom_find(j->t->ctx, domain, name)) return;
  surg__judge_object(j, SURG__UNKNOWN, SURG__C_OP, NULL,
                     "which inputs, types and attributes the operator has is not known");
}

/* Whether another node reads a result. */
static bool is_read_on(const surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    for (const surg_use *u = v ? surg_value_first_use(v) : NULL; u; u = surg_use_next(u))
      if (surg_use_get_kind(u) == SURG_USE_NODE) return true;
  }
  return false;
}

/* Reports a `keepdims` other than 0 and 1: inference of engines compares it with 1, their kernels
 * with 0. */
static void judge_keepdims(surg__judge *j) {
  const surg_attr *a = surg_node_attr(j->n, "keepdims");
  if (!a || surg_attr_ref(a) || surg_attr_get_kind(a) != SURG_ATTR_INT) return;
  const int64_t keep = surg_attr_int(a);
  if (keep == 0 || keep == 1 || (j->t->onnx_inference && !is_read_on(j->n))) return;
  surg__judge_object(j, SURG__UNKNOWN, SURG__C_ATTR, NULL,
                     "keepdims is %lld; whether that keeps dimensions is unknown", (long long)keep);
}

/* Checks a node against the version that the engine uses, if the loader checked it against another
 * one or none. */
static void judge_replaced(surg__judge *j, const char *domain) {
  const surg_schema *s = j->s;
  const size_t n = surg_node_input_count(j->n);
  if (!s || !surg__imports_replaced(surg_graph_model(surg_node_graph(j->n)), domain)) return;
  for (size_t i = 0; i < surg_node_attr_count(j->n); i++) {
    const char *name = surg_attr_name(surg_node_attr_at(j->n, i));
    if (surg__schema_attr(s, name)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL, "version %d has no attribute %s",
                       surg_schema_since(s), surg__q(j->t->ctx, name));
    return;
  }
  bool fits = !n || surg__schema_formal(s, false, n - 1);
  for (size_t i = 0; i < s->n_inputs && fits; i++)
    fits = s->inputs[i].option != SURG__SINGLE || (i < n && surg_node_input(j->n, i));
  for (size_t i = 0; i < s->n_attrs && fits; i++)
    fits = !s->attrs[i].required || surg_node_attr(j->n, s->attrs[i].name);
  if (!fits)
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, NULL,
                       "its inputs or attributes are not those of version %d",
                       surg_schema_since(s));
}

static bool limits(const surg__tfact *f, const char *name) {
  for (size_t k = 0; k < f->n_attrs; k++)
    if (!strcmp(f->attrs[k].name, name)) return true;
  for (size_t k = 0; k < f->no_attrs.n; k++)
    if (!strcmp(f->no_attrs.items[k], name)) return true;
  return false;
}

/* Whether a fact of the operator limits an attribute, but none of those for this version. */
static bool is_limited(const surg__op_facts *op, const char *name, int since) {
  bool any = false;
  for (size_t i = 0; i < op->n; i++) {
    if (!limits(&op->facts[i], name)) continue;
    if (surg__judge_speaks_of(&op->facts[i], since)) return false;
    any = true;
  }
  return any;
}

/* Reports an attribute that the version does not have and that the engine limits in another
 * version: engines read attributes by name. */
static void judge_stray(surg__judge *j, const surg__op_facts *op) {
  for (size_t i = 0; j->s && i < surg_node_attr_count(j->n); i++) {
    const char *name = surg_attr_name(surg_node_attr_at(j->n, i));
    if (surg__schema_attr(j->s, name) || !is_limited(op, name, surg_schema_since(j->s))) continue;
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_ATTR, NULL,
                       "version %d has no attribute %s; whether the engine reads it is unknown",
                       surg_schema_since(j->s), surg__q(j->t->ctx, name));
    return;
  }
}

/* Whether it is a list without elements. A reference to an attribute of a function is no list. */
static bool is_empty_list(const surg_attr *a) {
  size_t n = 1;
  if (surg_attr_ref(a)) return false;
  switch (surg_attr_get_kind(a)) {
    case SURG_ATTR_INTS:
      surg_attr_ints(a, &n);
      break;
    case SURG_ATTR_FLOATS:
      surg_attr_floats(a, &n);
      break;
    case SURG_ATTR_STRINGS:
      surg_attr_strings(a, &n);
      break;
    default:
      break;
  }
  return n == 0;
}

/* Importers read Constant nodes in a way of their own. */
static void judge_lists(surg__judge *j) {
  if (j->t->empty_lists != SURG__NO || surg_node_op(j->n) == SURG_OP_Constant) return;
  for (size_t i = 0; i < surg_node_attr_count(j->n); i++) {
    const surg_attr *a = surg_node_attr_at(j->n, i);
    if (!is_empty_list(a)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL, "attribute %s is an empty list",
                       surg__q(j->t->ctx, surg_attr_name(a)));
    return;
  }
}

/* Whether the engine has the operator at this opset although ONNX adds it later. */
static bool is_early(const surg__judge *j, int64_t opset) {
  for (size_t i = 0; i < j->t->n_early; i++) {
    const surg__tspan *e = &j->t->early[i];
    if (!strcmp(e->name, surg_node_op_type(j->n))) return opset >= e->low && opset <= e->high;
  }
  return false;
}

/* Judges an operator that does not exist in the imported opset, so that its version is undefined.
 * Skipped for engine domains, which are extended without a new version, and for opsets newer than
 * the schema tables. */
static void judge_presence(surg__judge *j, const char *domain) {
  if ((j->s && !surg__node_early(j->n)) || !strncmp(domain, "com.", 4)) return;
  const int64_t opset = surg_graph_opset(surg_node_graph(j->n), domain);
  if (opset > surg_schema_newest(domain)) return;
  if (!domain[0] && is_early(j, opset)) {
    if (surg__judge_function_around(surg_node_graph(j->n)))
      surg__judge_object(j, SURG__ILLEGAL, SURG__C_OP, NULL,
                         "opset %lld has no such operator; the engine has it only outside of "
                         "functions",
                         (long long)opset);
    return;
  }
  /* Nodes with a loader finding have no schema although their operator exists. */
  if (opset > 0 && !j->s && surg_schema_find(domain, surg_node_op_type(j->n), opset)) return;
  const surg_model *m = surg_graph_model(surg_node_graph(j->n));
  const bool none = !domain[0] && !surg_model_import_count(m) && surg_model_ir_version(m) >= 3;
  surg__verdict v = surg__target_finding(j->t, opset > 0 ? "E103" : none ? "E121" : "E104");
  if (opset <= 0 && !domain[0] && j->t->unimported.n)
    v = surg__listed(&j->t->unimported, surg_node_op_type(j->n)) ? SURG__UNKNOWN : SURG__ILLEGAL;
  /* which version the engine uses is unknown */
  if (v == SURG__LEGAL && !domain[0] && opset <= 0) v = SURG__UNKNOWN;
  if (v == SURG__LEGAL) return;
  if (opset > 0)
    surg__judge_object(j, v, SURG__C_OP, NULL, "opset %lld has no such operator", (long long)opset);
  else
    surg__judge_object(j, v, SURG__C_OP, NULL,
                       "the model does not import the domain of the operator");
}

surg__target surg__judge_host(const surg__target *t) {
  surg__target host = *t->host;
  host.lenient = t->lenient;
  host.registered = t->registered;
  host.n_registered = t->n_registered;
  return host;
}

surg__verdict surg__judge_own(const surg__target *t, const surg_node *n, surg__buf *why,
                              surg__objection *o) {
  surg__judge j = {.t = t, .n = n, .s = surg_node_schema(n), .why = why, .o = o};
  const char *domain = surg_node_domain(n);
  const bool spelled = !strcmp(domain, "ai.onnx");
  if (spelled) domain = "";
  const bool body = surg_graph_get_kind(surg_node_graph(n)) == SURG_GRAPH_SUBGRAPH;
  if (spelled && body && t->short_domain) {
    surg__judge_object(&j, SURG__ILLEGAL, SURG__C_OP, NULL,
                       "the domain of a node of a body is spelled \"ai.onnx\"");
    return j.worst;
  }
  const surg__op_facts *op =
      surg_node_function(n) ? NULL : surg__target_op(t, domain, surg_node_op_type(n));
  /* Signatures of other domains are extended without a new version. */
  if (op && !domain[0] && mixes_types(&j)) return j.worst;
  if (!domain[0] && mixes_floats(&j, domain)) return j.worst;
  if (op)
    judge_listed(&j, op);
  else
    judge_stranger(&j, domain);
  if (j.worst != SURG__ILLEGAL) surg__judge_arguments(&j);
  if (op && j.worst != SURG__ILLEGAL) judge_presence(&j, domain);
  if (op && j.worst != SURG__ILLEGAL) judge_unsigned(&j, domain);
  if (op && !domain[0] && j.worst != SURG__ILLEGAL) judge_operands(&j);
  if (j.worst != SURG__ILLEGAL) judge_contrib(&j);
  if (j.worst != SURG__ILLEGAL && !domain[0]) judge_keepdims(&j);
  if (j.worst != SURG__ILLEGAL) surg__judge_sizes(&j);
  if (op && j.worst != SURG__ILLEGAL) judge_replaced(&j, domain);
  if (op && !domain[0] && j.worst != SURG__ILLEGAL) judge_stray(&j, op);
  if (j.worst != SURG__ILLEGAL) judge_lists(&j);
  if (j.worst != SURG__ILLEGAL) surg__judge_half(&j);
  if (j.worst != SURG__ILLEGAL) surg__judge_shape_files(&j);
  return j.worst;
}

surg__verdict surg__target_node(const surg__target *t, const surg_node *n, surg__buf *why,
                                surg__objection *o) {
  if (!t->host) return surg__judge_own(t, n, why, o);
  const surg__target host = surg__judge_host(t);
  return surg__judge_own(&host, n, why, o);
}
