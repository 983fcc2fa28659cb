/* SPDX-License-Identifier: Apache-2.0 */
/* A model against a target. Only what is proven counts as refused: an unknown type or shape leaves
 * a demand undecided, and that is said as unknown. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include <onnxsurg/ops.h>

#include "base/context.h"
#include "base/dtype.h"
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
  if (j->why) {
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
  return surg__q(j->t->ctx, v ? surg_value_name(v) : "");
}

static const char otherwise[] = "imported, and computed otherwise: ";

/* --- operators and versions --- */

static int by_name(const void *key, const void *element) {
  return strcmp(key, ((const surg__top *)element)->name);
}

const surg__top *surg__target_op(const surg__target *t, const char *domain, const char *op_type) {
  char full[256];
  if (domain[0]) {
    if ((size_t)snprintf(full, sizeof full, "%s.%s", domain, op_type) >= sizeof full) return NULL;
    op_type = full;
  }
  if (!t->ops.count) return NULL;
  return bsearch(op_type, t->ops.items, t->ops.count, sizeof *t->ops.items, by_name);
}

static bool speaks_of(const surg__tfact *f, int since) {
  for (size_t i = 0; i < f->n_versions; i++)
    if (since >= f->versions[i].low && since <= f->versions[i].high) return true;
  return f->n_versions == 0;
}

bool surg__target_takes_version(const surg__top *op, int since) {
  for (size_t i = 0; i < op->n; i++)
    if (!op->facts[i].refused && !op->facts[i].misread && speaks_of(&op->facts[i], since))
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

void surg__target_put_versions(surg__buf *b, const surg__top *op, bool misread) {
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

/* Of a tensor; 0: not known. */
static int element_of(const surg_value *v) {
  const surg_tensor *c = surg_value_constant(v);
  const surg_type *t = !c ? surg_value_type(v) : NULL;
  if (!c && (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR)) return 0;
  const int d = c ? surg_tensor_dtype(c) : surg_type_dtype(t);
  return d <= 0 || d >= SURG__DTYPES ? 0 : d;
}

static int dtype_of(const surg__judge *j, const surg_value *v) {
  const int d = v ? element_of(v) : 0;
  return j->t->as[d] ? j->t->as[d] : d;
}

/* A type against a mask; says what is wrong. False: it does not fit. `other`: the mask is of types
 * that are rejected. */
static bool fits_type(surg__judge *j, const surg_value *v, uint32_t mask, bool other) {
  const int d = dtype_of(j, v);
  if (other) mask = ~mask;
  if (!v || (d && mask >> d & 1)) return true;
  if (!d) {
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_TYPE, v, "the type of %s is not known",
                       surg__judge_name(j, v));
    return true;
  }
  surg__buf b;
  surg__buf_init(&b, j->t->ctx);
  surg__target_put_types(&b, mask);
  surg__buf_putc(&b, 0);
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_TYPE, v,
                     other ? "%s is %s, which is not supported" : "%s is %s; taken are %s",
                     surg__judge_name(j, v), surg__dtype_name(d), b.failed ? "others" : b.p);
  surg__buf_free(&b);
  return false;
}

/* Inputs or outputs of that type parameter, or of that name. */
static bool fits_param(surg__judge *j, const surg__ttypes *t, bool output, bool other) {
  const size_t n = output ? surg_node_output_count(j->n) : surg_node_input_count(j->n);
  for (size_t i = 0; i < n; i++) {
    const surg__param *p = surg__schema_formal(j->s, output, i);
    if (!p || (strcmp(p->type, t->name) != 0 && strcmp(p->name, t->name) != 0)) continue;
    const surg_value *v = output ? surg_node_output(j->n, i) : surg_node_input(j->n, i);
    if (!fits_type(j, v, t->mask, other)) return false;
  }
  return true;
}

static bool fits_type_list(surg__judge *j, const surg__ttypes *list, size_t n, bool other) {
  for (size_t i = 0; i < n; i++) {
    const surg__ttypes *t = &list[i];
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

/* True: it is, or that is not known; then a note says so. */
static bool must_be_constant(surg__judge *j, const surg_value *v, const char *name) {
  const surg__tri is = surg__judge_constant(j, v);
  if (is == SURG__YES) return true;
  if (is == SURG__NO)
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CONSTANT, v, "%s %s must be a constant", name,
                       surg__judge_name(j, v));
  else
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_CONSTANT, v,
                       "%s %s must be a constant; too many nodes compute it to tell", name,
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

/* Some importers know what to do with constants in few operators alone. */
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
         !surg__judge_object(j, SURG__ILLEGAL, SURG__C_FED, NULL, "all that it reads is constant");
}

static bool fits_places(surg__judge *j) {
  for (size_t i = 0; i < j->f->given.n; i++) {
    if (surg__judge_formal(j, j->f->given.items[i], false)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, NULL, "input %s must be given",
                       j->f->given.items[i]);
    return false;
  }
  for (size_t i = 0; j->f->whole && i < surg_node_input_count(j->n); i++) {
    if (surg_node_input(j->n, i)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, NULL, "input %zu is left blank", i);
    return false;
  }
  for (size_t i = 0; i < j->f->absent.n; i++) {
    const char *name = j->f->absent.items[i];
    const surg_value *in = surg__judge_formal(j, name, false),
                     *out = surg__judge_formal(j, name, true);
    if (out && !surg_value_use_count(out, 1)) out = NULL;
    if (!in && !out) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_PLACE, in ? in : out, "%s %s is not taken",
                       in ? "input" : "output", name);
    return false;
  }
  return true;
}

/* --- attributes --- */

/* An attribute or its default as text, lists with commas. False: it is of no such kind, or a
 * function's attribute decides. Nothing is put where there is neither. */
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

/* Numbers are equal however they are written. */
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
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL, "%s is %s; taken %s %s", a->name, text,
                     a->values.n == 1 ? "is" : "are",
                     taken.failed || !a->values.n ? "none" : taken.p);
  surg__buf_free(&taken);
}

static bool fits_attr(surg__judge *j, const surg__tattr *a) {
  surg__buf text;
  surg__buf_init(&text, j->t->ctx);
  const bool known = put_attr(j, a->name, &text),
             none = text.n == 0 && !surg_node_attr(j->n, a->name);
  surg__buf_putc(&text, 0);
  const bool fits = text.failed || !known || none || is_among(&a->values, text.p);
  if (!known)
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_ATTR, NULL, "what %s is, is not known", a->name);
  if (!fits) refuse_attr(j, a, text.p);
  surg__buf_free(&text);
  return fits;
}

/* Whether an attribute without a default in the table is what its absence means: steps of 1, no
 * padding. */
static bool says_nothing(const surg_attr *a) {
  static const struct {
    const char *name;
    int64_t value;
  } rows[] = {{"dilations", 1}, {"strides", 1}, {"pads", 0}, {"output_padding", 0}};
  size_t n = 0;
  const int64_t *list = surg_attr_get_kind(a) == SURG_ATTR_INTS && !surg_attr_ref(a)
                            ? surg_attr_ints(a, &n)
                            : NULL;
  for (size_t i = 0; i < SURG_COUNT(rows) && list; i++) {
    if (strcmp(rows[i].name, surg_attr_name(a)) != 0) continue;
    for (size_t k = 0; k < n; k++)
      if (list[k] != rows[i].value) return false;
    return true;
  }
  return false;
}

static bool fits_attrs(surg__judge *j) {
  for (size_t i = 0; i < j->f->n_attrs; i++)
    if (!fits_attr(j, &j->f->attrs[i])) return false;
  for (size_t i = 0; i < j->f->no_attrs.n; i++) {
    const surg_attr *a = surg_node_attr(j->n, j->f->no_attrs.items[i]);
    const surg__attr_def *d = j->s ? surg__schema_attr(j->s, j->f->no_attrs.items[i]) : NULL;
    if (!a || surg__attr_says_default(a, d) || says_nothing(a)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_ATTR, NULL, "attribute %s is not taken",
                       surg_attr_name(a));
    return false;
  }
  return true;
}

/* Engines that look for an attribute where its default is meant, or stumble over one. */
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
                       "attribute %s must not be written, be it its default",
                       j->f->unwritten.items[i]);
    return false;
  }
  return true;
}

/* Of the model or function that the node is in. */
static bool fits_opset(surg__judge *j) {
  const int64_t have = surg_graph_opset(surg_node_graph(j->n), surg_node_domain(j->n));
  for (size_t i = 0; i < j->f->n_opsets; i++)
    if (have >= j->f->opsets[i].low && have <= j->f->opsets[i].high) return true;
  return j->f->n_opsets == 0 ||
         !surg__judge_object(j, SURG__ILLEGAL, SURG__C_VERSION, NULL,
                             "it is not supported at opset %lld; the least is %lld",
                             (long long)have, (long long)j->f->opsets[0].low);
}

/* Whether the node keeps to a fact; else the verdict and its reason are noted. */
static bool keeps_to(surg__judge *j) {
  if (j->f->refused) {
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_OP, NULL, "%s",
                       j->f->says ? j->f->says : "it is not taken");
    return false;
  }
  if (!fits_opset(j) || !fits_types(j) || !fits_constants(j) || !fits_fed(j) || !fits_places(j) || !fits_attrs(j) ||
      !fits_spelling(j) || !surg__judge_forms(j) || !surg__judge_shapes(j))
    return false;
  if (j->f->says)
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_SAYS, NULL, "taken with a limit: %s", j->f->says);
  return true;
}

/* --- a node --- */

static void no_version(surg__judge *j, const surg__top *op) {
  surg__buf b;
  surg__buf_init(&b, j->t->ctx);
  surg__target_put_versions(&b, op, j->t->lenient);
  surg__buf_putc(&b, 0);
  surg__judge_object(j, SURG__ILLEGAL, SURG__C_VERSION, NULL,
                     "version %d of it is not taken; taken are %s", surg_schema_since(j->s),
                     b.failed || !b.p[0] ? "none" : b.p);
  surg__buf_free(&b);
}

/* Whether a form that is imported and computed otherwise is all that speaks for the node. */
static bool is_misread(const surg__judge *j, const surg__top *op, int since) {
  surg__judge each = *j;
  each.why = NULL;
  each.o = NULL;
  for (size_t i = 0; i < op->n; i++) {
    if (!op->facts[i].misread || (since && !speaks_of(&op->facts[i], since))) continue;
    each.f = &op->facts[i];
    each.worst = SURG__LEGAL;
    keeps_to(&each);
    if (each.worst != SURG__ILLEGAL) return true;
  }
  return false;
}

static void note_misread(surg__judge *j) {
  surg__buf text;
  if (j->o) j->o->misread = true;
  if (!j->why) return;
  surg__buf_init(&text, j->t->ctx);
  surg__buf_puts(&text, otherwise);
  surg__buf_put(&text, j->why->p, j->why->n);
  j->why->n = 0;
  if (!text.failed) surg__buf_put(j->why, text.p, text.n);
  surg__buf_free(&text);
}

static void judge_listed(surg__judge *j, const surg__top *op) {
  const int since = j->s ? surg_schema_since(j->s) : 0;
  surg__objection first = {0};
  bool any = false;
  surg__judge each = *j;
  surg__buf text;
  surg__buf_init(&text, j->t->ctx);
  each.why = j->why ? &text : NULL;
  for (size_t i = 0; i < op->n; i++) {
    if ((since && !speaks_of(&op->facts[i], since)) || (op->facts[i].misread && !j->t->lenient))
      continue;
    surg__objection o = {0};
    each.f = &op->facts[i];
    each.o = &o;
    each.worst = SURG__LEGAL;
    text.n = 0;
    keeps_to(&each);
    /* The mildest of the rows that speak of this version decides. */
    if (any && each.worst >= j->worst) continue;
    any = true;
    j->worst = each.worst;
    first = o;
    if (j->why) {
      j->why->n = 0;
      surg__buf_put(j->why, text.p, text.n);
    }
    if (j->worst == SURG__LEGAL) break;
  }
  surg__buf_free(&text);
  if (any && j->o) *j->o = first;
  if (!any) no_version(j, op);
  if (j->worst == SURG__ILLEGAL && is_misread(j, op, since)) note_misread(j);
}

/* Whether the engine knows the operator, and takes it apart by the body the standard gives it. */
static bool has_body(const surg__judge *j, const char *domain) {
  if (!j->s || j->t->bodies != SURG__YES || !(j->s->flags & SURG__OP_HAS_BODY)) return false;
  for (size_t i = 0; i < j->t->opsets.count; i++)
    if (!strcmp(j->t->opsets.items[i].name, domain))
      return surg_schema_since(j->s) <= j->t->opsets.items[i].high;
  return true;
}

/* Whether the target says which operators of a domain it takes. */
static bool speaks_of_domain(const surg__judge *j, const char *domain) {
  const size_t n = strlen(domain);
  if (n == 0) return true;
  for (size_t i = 0; i < j->t->ops.count; i++) {
    const char *name = j->t->ops.items[i].name;
    if (!strncmp(name, domain, n) && name[n] == '.' && !strchr(name + n + 1, '.')) return true;
  }
  return surg_schema_newest(domain) > 0 && strcmp(domain, "com.microsoft") != 0;
}

/* Whether the user said that this engine was given the operator (--registered). */
static bool is_registered(const surg__judge *j, const char *domain) {
  const size_t n = strlen(domain);
  for (size_t i = 0; i < j->t->n_registered; i++) {
    const char *said = j->t->registered[i];
    if (strncmp(said, domain, n) != 0) continue;
    if (!said[n] || (said[n] == ':' && !strcmp(said + n + 1, surg_node_op_type(j->n)))) return true;
  }
  return false;
}

static void judge_function(surg__judge *j) {
  if (j->t->functions == SURG__NO)
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_FUNCTION, NULL,
                       "functions of the model are not supported");
  if (j->t->functions == SURG__UNSAID)
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_FUNCTION, NULL,
                       "support for functions of the model is unknown");
}

/* An operator of a domain of which the target lists none. */
static void judge_custom(surg__judge *j, const char *domain) {
  if (j->t->custom == SURG__NO)
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CUSTOM, NULL, "custom operators are not supported");
  else if (j->t->closed)
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_CUSTOM, NULL,
                       "the engine has no operators of domain %s, unless they are registered with it "
                       "(--registered %.80s)",
                       surg__q(j->t->ctx, domain), domain);
  else
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_CUSTOM, NULL, "custom operator%s",
                       j->t->custom == SURG__YES ? ": it must be registered with the engine" : "");
}

static void judge_stranger(surg__judge *j, const char *domain) {
  if (surg_node_class(j->n) == SURG_OP_CLASS_FUNCTION)
    judge_function(j);
  else if (is_registered(j, domain) || has_body(j, domain))
    return;
  else if (!speaks_of_domain(j, domain))
    judge_custom(j, domain);
  else if (j->t->rest_refused)
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_OP, NULL, "there is no such operator");
  else
    surg__judge_object(j, SURG__UNKNOWN, SURG__C_OP, NULL, "support for the operator is unknown");
}

/* Inputs of one type parameter that are of two types: no engine takes what is no model of ONNX. */
static bool mixes_types(surg__judge *j) {
  const surg_value *first[16] = {NULL};
  for (size_t i = 0; j->s && i < surg_node_input_count(j->n); i++) {
    const surg__param *p = surg__schema_formal(j->s, false, i);
    const surg__type_param *param = p ? surg__schema_type_param(j->s, p) : NULL;
    const surg_value *v = surg_node_input(j->n, i);
    const size_t k = param ? (size_t)(param - j->s->params) : SURG_COUNT(first);
    const int d = v ? element_of(v) : 0;
    if (!d || k >= SURG_COUNT(first) || (p->option == SURG__VARIADIC && !p->homogeneous)) continue;
    if (!first[k]) first[k] = v;
    if (element_of(first[k]) == d) continue;
    return surg__judge_object(j, SURG__ILLEGAL, SURG__C_TYPE, v,
                              "%s is %s and %s is %s; both must be of one type",
                              surg__q(j->t->ctx, surg_value_name(first[k])),
                              surg__dtype_name(element_of(first[k])),
                              surg__q(j->t->ctx, surg_value_name(v)), surg__dtype_name(d));
  }
  return false;
}

/* Opsets in which the engine has an operator that ONNX does not have there. */
static bool is_early(const surg__judge *j, int64_t opset) {
  for (size_t i = 0; i < j->t->n_early; i++) {
    const surg__tspan *e = &j->t->early[i];
    if (!strcmp(e->name, surg_node_op_type(j->n))) return opset >= e->low && opset <= e->high;
  }
  return false;
}

/* An operator that the imported opset does not have: versions cannot be compared then. Domains of
 * engines grow without a new version, and an opset newer than the table may have it. */
static void judge_presence(surg__judge *j, const char *domain) {
  if (j->s || !strncmp(domain, "com.", 4)) return;
  const int64_t opset = surg_graph_opset(surg_node_graph(j->n), domain);
  if (opset > surg_schema_newest(domain) || (!domain[0] && is_early(j, opset))) return;
  /* Nodes with a finding of the loader have no schema either. */
  if (opset > 0 && surg_schema_find(domain, surg_node_op_type(j->n), opset)) return;
  const surg__verdict v = surg__target_finding(j->t, opset > 0 ? "E103" : "E104");
  if (v == SURG__LEGAL) return;
  if (opset > 0)
    surg__judge_object(j, v, SURG__C_OP, NULL, "opset %lld has no such operator", (long long)opset);
  else
    surg__judge_object(j, v, SURG__C_OP, NULL, "the model does not import the domain of the operator");
}

/* The host as it judges for the target. */
static surg__target as_host(const surg__target *t) {
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
  if (!strcmp(domain, "ai.onnx")) domain = "";
  const surg__top *op =
      surg_node_function(n) ? NULL : surg__target_op(t, domain, surg_node_op_type(n));
  /* Signatures of other domains grow without a new version. */
  if (op && !domain[0] && mixes_types(&j)) return j.worst;
  if (op)
    judge_listed(&j, op);
  else
    judge_stranger(&j, domain);
  if (op && j.worst != SURG__ILLEGAL) judge_presence(&j, domain);
  return j.worst;
}

surg__verdict surg__target_node(const surg__target *t, const surg_node *n, surg__buf *why,
                                surg__objection *o) {
  if (!t->host) return surg__judge_own(t, n, why, o);
  const surg__target host = as_host(t);
  return surg__judge_own(&host, n, why, o);
}

/* --- a model --- */

typedef struct walk {
  const surg__target *t;
  surg_model *m;
  surg__objection_fn fn;
  void *user;
  surg__buf text;
} walk;

static void tell(walk *w, surg__objection o) {
  surg__buf_putc(&w->text, 0);
  o.text = w->text.failed ? "" : w->text.p;
  if (!o.source) o.source = w->t->source;
  w->fn(w->user, &o);
  w->text.n = 0;
}

static void judge_window(walk *w, const char *what, int64_t have, const surg__tspan *want,
                         surg__cause cause) {
  if (have >= want->low && have <= want->high) return;
  const bool above = have > want->high;
  surg__buf_printf(&w->text, "%s %lld is %s what is taken: %s %lld", what, (long long)have,
                   above ? "above" : "below", above ? "at most" : "at least",
                   (long long)(above ? want->high : want->low));
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = cause});
}

static void judge_opsets(walk *w) {
  for (size_t i = 0; i < surg_model_import_count(w->m); i++) {
    const char *domain = surg_model_import_domain(w->m, i);
    if (!strcmp(domain, "ai.onnx")) domain = "";
    for (size_t k = 0; k < w->t->opsets.count; k++) {
      const surg__tspan *want = &w->t->opsets.items[k];
      char what[120];
      if (strcmp(want->name, domain) != 0) continue;
      snprintf(what, sizeof what, "opset%s%.80s", domain[0] ? " of " : "", domain);
      judge_window(w, what, surg_model_import_version(w->m, i), want, SURG__C_OPSET);
    }
  }
}

/* Inputs without a type: no engine can make room for them. */
static void judge_untyped(walk *w) {
  const surg_graph *g = surg_model_graph(w->m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    if (surg_value_is_initializer(v) || surg_value_declared_type(v)) continue;
    surg__buf_printf(&w->text, "input %s declares no type",
                     surg__q(w->t->ctx, surg_value_name(v)));
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_TYPE, .value = v});
  }
}

/* Inputs of open size, where the engine takes none (or only an open batch). */
static void judge_inputs(walk *w) {
  const surg_graph *g = surg_model_graph(w->m);
  if (w->t->dynamic != SURG__D_NONE && w->t->dynamic != SURG__D_BATCH) return;
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    if (surg_value_is_initializer(v) || !t || surg_type_get_kind(t) != SURG_TYPE_TENSOR) continue;
    bool open = !surg_type_has_rank(t);
    for (size_t k = w->t->dynamic == SURG__D_BATCH; !open && k < surg_type_rank(t); k++)
      open = surg_type_dim(t, k).value < 0;
    if (!open) continue;
    surg__buf_printf(&w->text, "input %s has a size that is not fixed",
                     surg__q(w->t->ctx, surg_value_name(v)));
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_DYNAMIC, .value = v});
  }
}

/* Whether the engine does not take it, or not as ONNX means it. */
static bool is_against(const surg__target *t, surg__tri how) {
  return how == SURG__NO || (how == SURG__MISREAD && !t->lenient);
}

static void judge_empty(walk *w) {
  const surg_graph *g = surg_model_graph(w->m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    uint64_t n = 1;
    if (surg_value_is_initializer(v) || !t || surg_type_get_kind(t) != SURG_TYPE_TENSOR ||
        !surg_type_static(t, &n) || n)
      continue;
    const bool misread = w->t->empty == SURG__MISREAD;
    surg__buf_printf(&w->text, "%sinput %s has no elements", misread ? otherwise : "",
                     surg__q(w->t->ctx, surg_value_name(v)));
    tell(w, (surg__objection){
                .verdict = SURG__ILLEGAL, .cause = SURG__C_RANGE, .misread = misread, .value = v});
  }
}

static void judge_weight_type(walk *w, const surg_value *v, int d) {
  surg__buf taken;
  surg__buf_init(&taken, w->t->ctx);
  surg__target_put_types(&taken, w->t->weights);
  surg__buf_putc(&taken, 0);
  surg__buf_printf(&w->text, "constant %s is %s; taken are %s",
                   surg__q(w->t->ctx, surg_value_name(v)), surg__dtype_name(d),
                   taken.failed ? "others" : taken.p);
  surg__buf_free(&taken);
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_TYPE, .value = v});
}

/* The first element that is not within; false: all are, or they are of no 64 bits. */
static bool is_beyond(const surg_tensor *c, const surg__tspan *want, int64_t *out) {
  int64_t part[512];
  const int d = surg_tensor_dtype(c);
  if ((d != SURG_INT64 && d != SURG_UINT64) || surg_tensor_is_sparse(c)) return false;
  const uint64_t bytes = surg_tensor_bytes(c);
  for (uint64_t at = 0; at < bytes; at += sizeof part) {
    const size_t n = bytes - at < sizeof part ? (size_t)(bytes - at) : sizeof part;
    if (surg_tensor_read(c, at, part, n) != SURG_OK) return false;
    for (size_t i = 0; i < n / sizeof *part; i++) {
      const uint64_t element = surg__le64(&part[i]);
      const bool large = d == SURG_UINT64 && element > INT64_MAX;
      *out = large ? INT64_MAX : (int64_t)element;
      if (*out > want->high || *out < want->low) return true;
    }
  }
  return false;
}

/* The node that reads it is the one that a rule may start from. */
static void judge_weight_values(walk *w, const surg_value *v, const surg_tensor *c, int d) {
  const surg_use *use = surg_value_first_use(v);
  int64_t element;
  if (!is_beyond(c, &w->t->within[d], &element)) return;
  surg__buf_printf(&w->text,
                   "constant %s has the element %lld; what is taken of %s is %lld to %lld",
                   surg__q(w->t->ctx, surg_value_name(v)), (long long)element, surg__dtype_name(d),
                   (long long)w->t->within[d].low, (long long)w->t->within[d].high);
  tell(w, (surg__objection){.verdict = SURG__ILLEGAL,
                            .cause = SURG__C_RANGE,
                            .node = use ? surg_use_node(use) : NULL,
                            .value = v});
}

static void judge_weights(walk *w, const surg_graph *g) {
  for (const surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    const surg_tensor *c = surg_value_initializer(v);
    if (!c) c = surg_value_constant(v);
    const int d = c ? surg_tensor_dtype(c) : 0;
    if (d <= 0 || d >= SURG__DTYPES) continue;
    if (w->t->weights && !(w->t->weights >> d & 1)) judge_weight_type(w, v, d);
    if (w->t->within[d].name) judge_weight_values(w, v, c, d);
  }
}

/* Told once: one cure is for all of them. */
static bool judge_external(walk *w, const surg_graph *g) {
  for (const surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    const surg_tensor *c = surg_value_initializer(v);
    if (!c || !surg_tensor_is_external(c)) continue;
    surg__buf_printf(&w->text, "%s stands in a data file", surg__q(w->t->ctx, surg_value_name(v)));
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_EXTERNAL, .value = v});
    return true;
  }
  return false;
}

static void judge_order(walk *w, const surg_graph *g) {
  const bool body = w->t->unsorted_main && g != surg_model_graph(w->m);
  if (!g->sorted_on_load || (w->t->unsorted == SURG__YES && !body)) return;
  surg__buf_puts(&w->text, "nodes stand before others that they read");
  tell(w, (surg__objection){.verdict = w->t->unsorted == SURG__NO || body ? SURG__ILLEGAL
                                                                          : SURG__UNKNOWN,
                            .cause = SURG__C_ORDER});
}

static void judge_outputs(walk *w) {
  const surg_graph *g = surg_model_graph(w->m);
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const surg_value *v = surg_graph_output(g, i);
    const surg__judge j = {.t = w->t};
    const bool bare = w->t->bare == SURG__NO && !surg_value_producer(v, NULL);
    if (!bare && (!is_against(w->t, w->t->fixed) || surg__judge_constant(&j, v) != SURG__YES)) continue;
    const bool misread = !bare && w->t->fixed == SURG__MISREAD;
    surg__buf_printf(&w->text, "%soutput %s is %s", misread ? otherwise : "",
                     surg__q(w->t->ctx, surg_value_name(v)), bare ? "made by no node" : "constant");
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL,
                              .cause = SURG__C_PLACE,
                              .misread = misread,
                              .value = v});
  }
}

/* An input or output of the model, with the type it declares. */
typedef struct model_end {
  bool in;
  const surg_value *v;
  const surg_type *t;
} model_end;

/* The i-th, inputs first; false behind the last. */
static bool end_at(const surg_model *m, size_t i, model_end *out) {
  const surg_graph *g = surg_model_graph(m);
  const size_t inputs = surg_graph_input_count(g);
  if (i >= inputs + surg_graph_output_count(g)) return false;
  out->in = i < inputs;
  out->v = out->in ? surg_graph_input(g, i) : surg_graph_output(g, i - inputs);
  out->t = out->in ? surg_value_declared_type(out->v) : surg_graph_output_type(g, i - inputs);
  return true;
}

static void judge_optional(walk *w) {
  model_end e;
  for (size_t i = 0; end_at(w->m, i, &e); i++) {
    if (!e.t || surg_type_get_kind(e.t) != SURG_TYPE_OPTIONAL) continue;
    surg__buf_printf(&w->text, "%s %s is of an optional type", e.in ? "input" : "output",
                     surg__q(w->t->ctx, surg_value_name(e.v)));
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_TYPE, .value = e.v});
  }
}

static void judge_declared(walk *w) {
  model_end e;
  for (size_t i = 0; end_at(w->m, i, &e); i++) {
    const surg_value *v = e.v;
    const surg_type *t = e.t;
    const bool in = e.in;
    const bool tensor = !t || surg_type_get_kind(t) == SURG_TYPE_TENSOR;
    if (t && tensor && surg_type_has_rank(t)) continue;
    surg__buf_printf(&w->text, "%s %s %s", in ? "input" : "output",
                     surg__q(w->t->ctx, surg_value_name(v)),
                     tensor ? "says no shape" : "is no tensor");
    tell(w, (surg__objection){.verdict = SURG__ILLEGAL, .cause = SURG__C_DYNAMIC, .value = v});
  }
}

static surg_status judge_model(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user) {
  surg_status s = surg__target_facts(t, m, fn, user);
  if (s) return s;
  walk w = {.t = t, .m = m, .fn = fn, .user = user};
  surg__buf_init(&w.text, t->ctx);
  if (!t->declared) judge_untyped(&w);
  if (w.text.failed) s = surg__alloc_status(t->ctx);
  surg__buf_free(&w.text);
  return s == SURG_OK ? surg__target_valid(t, m, fn, user) : s;
}

surg_status surg__target_facts(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user) {
  surg_status s = surg_model_infer(m);
  if (s) return s;
  walk w = {.t = t, .m = m, .fn = fn, .user = user};
  surg__buf_init(&w.text, t->ctx);
  judge_window(&w, "IR version", surg_model_ir_version(m), &t->ir, SURG__C_IR);
  judge_opsets(&w);
  judge_inputs(&w);
  if (t->declared) judge_declared(&w);
  if (is_against(t, t->empty)) judge_empty(&w);
  judge_outputs(&w);
  if (t->optional == SURG__NO) judge_optional(&w);
  bool outside = t->external != SURG__NO;
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) {
    judge_order(&w, g);
    judge_weights(&w, g);
    if (!outside) outside = judge_external(&w, g);
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      surg__objection o = {0};
      w.text.n = 0;
      if (surg__target_node(t, n, &w.text, &o) == SURG__LEGAL) continue;
      o.node = n;
      tell(&w, o);
    }
  }
  if (w.text.failed) s = surg__alloc_status(t->ctx);
  surg__buf_free(&w.text);
  return s;
}

surg_status surg__target_model(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user) {
  if (!t->host) return judge_model(t, m, fn, user);
  const surg__target host = as_host(t);
  return judge_model(&host, m, fn, user);
}
