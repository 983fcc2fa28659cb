/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a node against one fact of a target. Only what is proven counts as rejected: if a type or
 * shape is unknown, the requirement is undecided and reported as unknown. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include <onnxsurg/ops.h>

#include "base/context.h"
#include "base/dtype.h"
#include "infer/infer.h"
#include "ir/ir.h"
#include "measure/measure.h"
#include "schema/text.h"
#include "target/judge.h"
#include "target/verdict.h"

bool surg__judge_object(surg__judge *j, surg__verdict v, surg__cause cause, const surg_value *about,
                        const char *fmt, ...) {
  if (v <= j->worst) return false;
  j->worst = v;
  if (j->o) {
    *j->o = (surg__objection){.verdict = v, .cause = cause, .node = j->n, .value = about};
    j->o->source = j->f ? j->f->source : j->t->source;
  }
  if (j->why && !j->t->silent) {
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    j->why->n = 0;
    surg__buf_puts(j->why, text);
  }
  return v == SURG__ILLEGAL;
}

const char *surg__judge_name(const surg__judge *j, const surg_value *v) {
  return j->t->silent ? "" : surg__q(j->t->ctx, v ? surg_value_name(v) : "");
}

/* --- operators and versions --- */

static int by_name(const void *key, const void *element) {
  return strcmp(key, ((const surg__op_facts *)element)->name);
}

const surg__op_facts *surg__target_op(const surg__target *t, const char *domain,
                                      const char *op_type) {
  char full[256];
  if (domain[0]) {
    if ((size_t)snprintf(full, sizeof full, "%s.%s", domain, op_type) >= sizeof full) return NULL;
    op_type = full;
  }
  if (!t->ops.count) return NULL;
  return bsearch(op_type, t->ops.items, t->ops.count, sizeof *t->ops.items, by_name);
}

bool surg__judge_speaks_of(const surg__tfact *f, int since) {
  for (size_t i = 0; i < f->n_versions; i++)
    if (since >= f->versions[i].low && since <= f->versions[i].high) return true;
  return f->n_versions == 0;
}

bool surg__target_takes_version(const surg__op_facts *op, int since) {
  for (size_t i = 0; i < op->n; i++)
    if (!op->facts[i].refused && !op->facts[i].misread &&
        surg__judge_speaks_of(&op->facts[i], since))
      return true;
  return false;
}

bool surg__target_misreads(const surg__target *t) {
  if (t->fixed == SURG__MISREAD || t->empty == SURG__MISREAD) return true;
  for (size_t i = 0; i < t->ops.count; i++)
    for (size_t k = 0; k < t->ops.items[i].n; k++)
      if (t->ops.items[i].facts[k].misread) return true;
  return false;
}

static int by_low(const void *x, const void *y) {
  const surg__tspan *a = x, *b = y;
  return (a->low > b->low) - (a->low < b->low);
}

void surg__target_put_versions(surg__buf *b, const surg__op_facts *op, bool misread) {
  surg__tspan list[64];
  size_t n = 0;
  for (size_t i = 0; i < op->n; i++) {
    const surg__tfact *f = &op->facts[i];
    if (f->refused || (f->misread && !misread)) continue;
    for (size_t k = 0; k < f->n_versions; k++)
      if (n < SURG_COUNT(list)) list[n++] = f->versions[k];
  }
  qsort(list, n, sizeof *list, by_low);
  const char *comma = "";
  for (size_t i = 0; i < n; i++) {
    if (i && list[i].low == list[i - 1].low && list[i].high == list[i - 1].high) continue;
    surg__buf_printf(b, "%s%lld", comma, (long long)list[i].low);
    if (list[i].high == INT64_MAX)
      surg__buf_putc(b, '+');
    else if (list[i].high != list[i].low)
      surg__buf_printf(b, "-%lld", (long long)list[i].high);
    comma = ", ";
  }
}

void surg__target_put_types(surg__buf *b, uint32_t mask) {
  const char *comma = "";
  for (int d = 1; d < SURG__DTYPES; d++)
    if (mask >> d & 1) {
      surg__buf_printf(b, "%s%s", comma, surg__dtype_name(d));
      comma = ", ";
    }
}

/* --- one fact --- */

int surg__judge_element(const surg_value *v) {
  const surg_tensor *c = surg_value_constant(v);
  const surg_type *t = !c ? surg_value_type(v) : NULL;
  if (t && surg_type_get_kind(t) == SURG_TYPE_OPTIONAL) t = t->elem;
  if (!c && (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR)) return 0;
  const int d = c ? surg_tensor_dtype(c) : surg_type_dtype(t);
  return d <= 0 || d >= SURG__DTYPES ? 0 : d;
}

/* Whether the engine does not convert types for this operator in a model of this opset. */
static bool is_apart(const surg__judge *j) {
  if (!j->s || j->s->domain[0]) return false;
  for (size_t i = 0; i < j->t->apart.count; i++) {
    const surg__tapart *a = &j->t->apart.items[i];
    if (strcmp(a->name, j->s->name) != 0) continue;
    const int64_t opset = surg_graph_opset(surg_node_graph(j->n), "");
    for (size_t k = 0; k < a->n; k++)
      if (opset >= a->opsets[k].low && opset <= a->opsets[k].high) return true;
  }
  return false;
}

/* The element type of the tensors of a sequence, or of an optional one; 0: not a sequence, or not
 * known. */
static int sequence_element(const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  if (t && surg_type_get_kind(t) == SURG_TYPE_OPTIONAL) t = t->elem;
  if (!t || surg_type_get_kind(t) != SURG_TYPE_SEQUENCE) return 0;
  t = t->elem;
  const int d = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : 0;
  return d <= 0 || d >= SURG__DTYPES ? 0 : d;
}

/* The element type as facts about types state it. Kernels of an operator that accepts sequences
 * have them of the types of its tensors. */
static int dtype_of(const surg__judge *j, const surg_value *v) {
  int d = v ? surg__judge_element(v) : 0;
  if (v && !d) d = sequence_element(v);
  if (v && !d && !surg_value_type(v)) d = surg__infer_stated_dtype(v);
  return j->t->as[d] && !is_apart(j) ? j->t->as[d] : d;
}

/* Checks the element type of a value against a mask. False: the type is not allowed, which is
 * recorded. `other`: the mask lists the types that are rejected. */
static bool fits_type(surg__judge *j, const surg_value *v, uint32_t mask, bool other) {
  const int d = dtype_of(j, v);
  if (other) mask = ~mask;
  if (!v || (d && mask >> d & 1)) return true;
  const surg_type *t = !d ? surg_value_type(v) : NULL;
  if (t && surg_type_get_kind(t) == SURG_TYPE_SPARSE_TENSOR)
    return !surg__judge_object(j, SURG__ILLEGAL, SURG__C_TYPE, v,
                               "%s is a sparse tensor, which no operator accepts",
                               surg__judge_name(j, v));
  if (!d && j->t->absent_arguments == SURG__YES && surg__judge_is_left_out(v)) return true;
  if (!d) {
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_TYPE, v, "the type of %s is not known",
                       surg__judge_name(j, v));
    return true;
  }
  surg__buf b;
  surg__buf_init(&b, j->t->ctx);
  if (!j->t->silent) surg__target_put_types(&b, mask);
  surg__buf_putc(&b, 0);
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_TYPE, v,
                     other ? "%s is %s, which is not supported" : "%s is %s; supported: %s",
                     surg__judge_name(j, v), surg__dtype_name(d), b.failed ? "others" : b.p);
  surg__buf_free(&b);
  return false;
}

/* Checks all inputs or outputs that have this type parameter or this formal name. */
static bool fits_param(surg__judge *j, const surg__type_facts *t, bool output, bool other) {
  const size_t n = output ? surg_node_output_count(j->n) : surg_node_input_count(j->n);
  for (size_t i = 0; i < n; i++) {
    const surg__param *p = surg__schema_formal(j->s, output, i);
    if (!p || (strcmp(p->type, t->name) != 0 && strcmp(p->name, t->name) != 0)) continue;
    const surg_value *v = output ? surg_node_output(j->n, i) : surg_node_input(j->n, i);
    if (!fits_type(j, v, t->mask, other)) return false;
  }
  return true;
}

static bool fits_type_list(surg__judge *j, const surg__type_facts *list, size_t n, bool other) {
  for (size_t i = 0; i < n; i++) {
    const surg__type_facts *t = &list[i];
    const bool out = !strcmp(t->name, "out");
    if (out || !strcmp(t->name, "0")) {
      const surg_value *v = out || !surg_node_input_count(j->n) ? surg_node_output(j->n, 0)
                                                                : surg_node_input(j->n, 0);
      if (!fits_type(j, v, t->mask, other)) return false;
    } else if (j->s && (!fits_param(j, t, false, other) || !fits_param(j, t, true, other))) {
      return false;
    }
  }
  return true;
}

static bool fits_types(surg__judge *j) {
  return fits_type_list(j, j->f->types, j->f->n_types, false) &&
         fits_type_list(j, j->f->not_types, j->f->n_not_types, true);
}

const surg_value *surg__judge_formal(const surg__judge *j, const char *name, bool output) {
  const size_t n = output ? surg_node_output_count(j->n) : surg_node_input_count(j->n);
  if (name[0] >= '0' && name[0] <= '9') {
    const unsigned long i = strtoul(name, NULL, 10);
    return !output && i < n ? surg_node_input(j->n, i) : NULL;
  }
  const surg__param *list = !j->s ? NULL : output ? j->s->outputs : j->s->inputs;
  const size_t count = !j->s ? 0 : output ? j->s->n_outputs : j->s->n_inputs;
  for (size_t i = 0; i < count && i < n; i++)
    if (!strcmp(list[i].name, name))
      return output ? surg_node_output(j->n, i) : surg_node_input(j->n, i);
  return NULL;
}

/* True: the value is constant, or that is undecided and recorded as unknown. */
static bool must_be_constant(surg__judge *j, const surg_value *v, const char *name) {
  const surg__tri is = surg__judge_constant(j, v);
  if (is == SURG__YES) return true;
  if (is == SURG__NO)
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v, "%s %s must be a constant", name,
                       surg__judge_name(j, v));
  else
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_CONSTANT, v,
                       "%s %s must be a constant; too many nodes compute it to decide", name,
                       surg__judge_name(j, v));
  return is != SURG__NO;
}

static bool fits_constants(surg__judge *j) {
  for (size_t i = 0; i < j->f->constants.n; i++) {
    const char *name = j->f->constants.items[i];
    const bool all = !strcmp(name, "*");
    for (size_t k = 0; k < (all ? surg_node_input_count(j->n) : 1); k++) {
      const surg_value *v = all ? surg_node_input(j->n, k) : surg__judge_formal(j, name, false);
      if (!v || must_be_constant(j, v, all ? "input" : name)) continue;
      return false;
    }
  }
  return true;
}

/* Checks the inputs that must not be constant: some importers support constant inputs for a few
 * operators only. */
static bool fits_fed(surg__judge *j) {
  for (size_t i = 0; i < j->f->variable.n; i++) {
    const char *name = j->f->variable.items[i];
    const bool all = !strcmp(name, "*");
    for (size_t k = 0; k < (all ? surg_node_input_count(j->n) : 1); k++) {
      const surg_value *v = all ? surg_node_input(j->n, k) : surg__judge_formal(j, name, false);
      if (!v || surg__judge_constant(j, v) != SURG__YES) continue;
      surg__judge_object(j, SURG__ILLEGAL, SURG__C_FED, v, "%s must not be constant",
                         surg__judge_name(j, v));
      return false;
    }
  }
  bool any = false;
  if (!j->f->fed) return true;
  for (size_t i = 0; i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    if (v && surg__judge_constant(j, v) != SURG__YES) return true;
    any |= v != NULL;
  }
  return !any ||
         !surg__judge_object(j, SURG__ILLEGAL, SURG__C_FED, NULL, "all of its inputs are constant");
}

/* Whether the name is of an output alone; a place ("0") is of an input. */
static bool is_output(const surg_schema *s, const char *name) {
  for (size_t i = 0; s && i < s->n_inputs; i++)
    if (!strcmp(s->inputs[i].name, name)) return false;
  for (size_t i = 0; s && i < s->n_outputs; i++)
    if (!strcmp(s->outputs[i].name, name)) return true;
  return false;
}

/* Checks inputs of which all must be given or none, and all be constant or none. */
static bool fits_together(surg__judge *j) {
  const char *missing = NULL, *has = NULL, *constant = NULL, *computed = NULL;
  for (size_t i = 0; i < j->f->together.n; i++) {
    const char *name = j->f->together.items[i];
    const surg_value *v = surg__judge_formal(j, name, false);
    *(v ? &has : &missing) = name;
    if (v) *(surg__judge_constant(j, v) == SURG__YES ? &constant : &computed) = name;
  }
  if (has && missing)
    return surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, NULL,
                              "input %s is given, but not %s", has, missing),
           false;
  if (constant && computed)
    return surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, NULL,
                              "input %s is constant, but not %s", constant, computed),
           false;
  return true;
}

/* Whether a node of an operator of the engine itself has that output, with or without a name or
 * readers: releases that do not know it count outputs. */
static bool has_output(const surg__judge *j, const char *name) {
  if (!j->s || !(j->s->flags & SURG__OP_CONTRIB)) return false;
  for (size_t i = 0; i < j->s->n_outputs; i++)
    if (!strcmp(j->s->outputs[i].name, name)) return surg_node_output_count(j->n) > i;
  return false;
}

static bool fits_places(surg__judge *j) {
  for (size_t i = 0; i < j->f->given.n; i++) {
    const char *name = j->f->given.items[i];
    const bool output = is_output(j->s, name);
    if (surg__judge_formal(j, name, output)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, NULL, "%s %s must be given",
                       output ? "output" : "input", name);
    return false;
  }
  if (!fits_together(j)) return false;
  for (size_t i = 0; j->f->whole && i < surg_node_input_count(j->n); i++) {
    if (surg_node_input(j->n, i)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, NULL, "input %zu is absent", i);
    return false;
  }
  for (size_t i = 0; i < j->f->absent.n; i++) {
    const char *name = j->f->absent.items[i];
    const surg_value *in = surg__judge_formal(j, name, false),
                     *out = surg__judge_formal(j, name, true);
    if (out && !surg_value_use_count(out, 1)) out = NULL;
    if (!in && !out && !has_output(j, name)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, in ? in : out, "%s %s is not supported",
                       is_output(j->s, name) ? "output" : "input", name);
    return false;
  }
  return true;
}

/* --- attributes --- */

/* Writes an attribute or its default as text, lists with commas; nothing if it has neither. False:
 * its kind has no text form here, or it refers to an attribute of the enclosing function. */
static bool put_attr(const surg__judge *j, const char *name, surg__buf *out) {
  const surg_attr *a = surg_node_attr(j->n, name);
  const surg__attr_def *d = j->s && !a ? surg__schema_attr(j->s, name) : NULL;
  if (!a && (!d || !d->has_default)) return true;
  if (a && surg_attr_ref(a)) return false;
  size_t n = d ? d->n : 0;
  const int64_t *ints = a ? surg_attr_ints(a, &n) : d->ints;
  switch (a ? surg_attr_get_kind(a) : d->kind) {
    case SURG_ATTR_INT:
      surg__buf_printf(out, "%lld", (long long)(a ? surg_attr_int(a) : d->i));
      return true;
    case SURG_ATTR_FLOAT:
      surg__put_float(out, a ? surg_attr_float(a) : d->f);
      return true;
    case SURG_ATTR_STRING:
      if (!a) surg__buf_puts(out, d->s);
      if (a) surg__buf_escape(out, surg_attr_string(a).p, surg_attr_string(a).n, 0);
      return true;
    case SURG_ATTR_INTS:
      for (size_t i = 0; i < n; i++)
        surg__buf_printf(out, "%s%lld", i ? "," : "", (long long)ints[i]);
      return true;
    default:
      return false;
  }
}

/* Whether two texts are equal as strings or as numbers. */
static bool same_text(const char *x, const char *y) {
  char *end_x, *end_y;
  if (!strcmp(x, y)) return true;
  const float a = strtof(x, &end_x), b = strtof(y, &end_y);
  return *x && *y && !*end_x && !*end_y && a == b;
}

static bool is_among(const surg__tlist *list, const char *text) {
  for (size_t i = 0; i < list->n; i++)
    if (same_text(list->items[i], text)) return true;
  return false;
}

static void refuse_attr(surg__judge *j, const surg__tattr *a, const char *text) {
  surg__buf taken;
  surg__buf_init(&taken, j->t->ctx);
  for (size_t i = 0; i < a->values.n; i++)
    surg__buf_printf(&taken, "%s%s", i ? ", " : "", a->values.items[i]);
  surg__buf_putc(&taken, 0);
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL, "%s is %s; supported %s %s", a->name,
                     text, a->values.n == 1 ? "is" : "are",
                     taken.failed || !a->values.n ? "none" : taken.p);
  surg__buf_free(&taken);
}

/* Whether the engine reads any integer but 0 as 1. */
static bool is_flag(const surg__judge *j, const char *attr) {
  char name[128];
  const int put = snprintf(name, sizeof name, "%s.%s", surg_node_op_type(j->n), attr);
  return !surg_node_domain(j->n)[0] && put > 0 && (size_t)put < sizeof name &&
         surg__listed(&j->t->flags, name);
}

static bool fits_attr(surg__judge *j, const surg__tattr *a) {
  surg__buf text;
  surg__buf_init(&text, j->t->ctx);
  const bool known = put_attr(j, a->name, &text),
             none = text.n == 0 && !surg_node_attr(j->n, a->name);
  surg__buf_putc(&text, 0);
  const bool read = !text.failed && known && !none;
  const bool set = read && strcmp(text.p, "0") != 0 && is_flag(j, a->name);
  const bool fits = !read || is_among(&a->values, set ? "1" : text.p);
  if (!known)
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_ATTR, NULL, "the value of %s is unknown", a->name);
  if (!fits) refuse_attr(j, a, text.p);
  surg__buf_free(&text);
  return fits;
}

/* Whether an attribute without a default in the schema has the value that its absence means:
 * strides of 1, pads of 0. */
static bool says_nothing(const surg_attr *a) {
  static const struct {
    const char *name;
    int64_t value;
  } rows[] = {{"dilations", 1}, {"strides", 1}, {"pads", 0}, {"output_padding", 0}};
  size_t n = 0;
  const int64_t *list =
      surg_attr_get_kind(a) == SURG_ATTR_INTS && !surg_attr_ref(a) ? surg_attr_ints(a, &n) : NULL;
  for (size_t i = 0; i < SURG_COUNT(rows) && list; i++) {
    if (strcmp(rows[i].name, surg_attr_name(a)) != 0) continue;
    for (size_t k = 0; k < n; k++)
      if (list[k] != rows[i].value) return false;
    return true;
  }
  return false;
}

bool surg__judge_fits_attrs(surg__judge *j) {
  for (size_t i = 0; i < j->f->n_attrs; i++)
    if (!fits_attr(j, &j->f->attrs[i])) return false;
  for (size_t i = 0; i < j->f->no_attrs.n; i++) {
    const surg_attr *a = surg_node_attr(j->n, j->f->no_attrs.items[i]);
    const surg__attr_def *d = j->s ? surg__schema_attr(j->s, j->f->no_attrs.items[i]) : NULL;
    if (!a || surg__attr_says_default(a, d) || says_nothing(a)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL, "attribute %s is not supported",
                       surg_attr_name(a));
    return false;
  }
  return true;
}

/* Checks attributes that must be written even at their default, or must not be present at all. */
static bool fits_spelling(surg__judge *j) {
  for (size_t i = 0; i < j->f->written.n; i++) {
    if (surg_node_attr(j->n, j->f->written.items[i])) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL, "attribute %s must be written out",
                       j->f->written.items[i]);
    return false;
  }
  for (size_t i = 0; i < j->f->unwritten.n; i++) {
    if (!surg_node_attr(j->n, j->f->unwritten.items[i])) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL,
                       "attribute %s must be absent, even if it equals its default",
                       j->f->unwritten.items[i]);
    return false;
  }
  return true;
}

/* Checks the opset of ONNX that the model or function of the node imports. Other domains have no
 * opsets worth comparing: the engine expresses their operators in those of ONNX. */
static bool fits_opset(surg__judge *j) {
  if (!j->f->n_opsets) return true;
  const int64_t have = surg_graph_opset(surg_node_graph(j->n), "");
  for (size_t i = 0; i < j->f->n_opsets; i++)
    if (have >= j->f->opsets[i].low && have <= j->f->opsets[i].high) return true;
  return !have ||
         !surg__judge_object(j, SURG__ILLEGAL, SURG__C_VERSION, NULL,
                             "it is not supported at opset %lld; the least is %lld",
                             (long long)have, (long long)j->f->opsets[0].low);
}

bool surg__judge_keeps_to(surg__judge *j) {
  if (j->f->refused) {
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_OP, NULL, "%s",
                       j->f->says ? j->f->says : "it is not supported");
    return false;
  }
  static bool (*const checks[])(surg__judge *) = {
      fits_opset,    fits_types,        fits_constants,
      fits_fed,      fits_places,       surg__judge_fits_attrs,
      fits_spelling, surg__judge_forms, surg__judge_shapes};
  for (j->passed = 0; j->passed < SURG_COUNT(checks); j->passed++)
    if (!checks[j->passed](j)) return false;
  if (j->f->says)
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_SAYS, NULL, "supported with a limit: %s",
                       j->f->says);
  surg__judge_open_types(j);
  return true;
}
