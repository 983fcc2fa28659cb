/* SPDX-License-Identifier: Apache-2.0 */
/* Checks inputs against the schema of their operator, with inferred types only, so that a stale
 * declaration is reported at its own location and not at the nodes around it. */
#include <stdio.h>

#include "base/counted.h"
#include "check/check.h"
#include "check/forms.h"
#include "infer/infer.h"

bool surg__check_allowed(const surg_schema *s, const surg__param *p, int dtype) {
  const surg__type_param *t = surg__schema_type_param(s, p);
  if (t) return t->tensor_mask >> dtype & 1;
  const size_t n = strlen(p->type);
  if (n < 9 || strncmp(p->type, "tensor(", 7)) return strchr(p->type, '(') == NULL;
  return surg__dtype_from_name(p->type + 7, n - 8) == dtype;
}

/* Appends `float, double or int64`; long sets are truncated. */
void surg__check_put_allowed(surg__buf *b, const surg_schema *s, const surg__param *p) {
  const surg__type_param *t = surg__schema_type_param(s, p);
  if (!t) {
    surg__buf_puts(b, p->type);
    return;
  }
  for (size_t i = 0; t->types[i]; i++) {
    if (i == 6) {
      surg__buf_puts(b, ", ...");
      return;
    }
    surg__buf_printf(b, "%s%s", i ? ", " : "", t->types[i]);
  }
}

#define WRAPS 2 /* nested wrappers: no operator has more */

/* Writes a type in the notation of the operator table, whose types all fit; false: the type is
 * not completely known, or no operator has such a type. */
static bool spell(const surg_type *t, char out[64]) {
  static const char *const wraps[] = {
      [SURG_TYPE_SEQUENCE] = "seq(", [SURG_TYPE_OPTIONAL] = "optional("};
  _Static_assert(SURG_COUNT(wraps) > SURG_TYPE_SEQUENCE && SURG_COUNT(wraps) > SURG_TYPE_OPTIONAL,
                 "both wrappers are in the table");
  const char *outer[WRAPS + 1] = {"", "", ""};
  size_t depth = 0;
  for (; t && (t->kind == SURG_TYPE_SEQUENCE || t->kind == SURG_TYPE_OPTIONAL); t = t->elem) {
    if (depth == WRAPS) return false;
    outer[depth++] = wraps[t->kind];
  }
  const char *name = t ? surg__dtype_name(t->dtype) : NULL;
  const surg_type *value = name && t->kind == SURG_TYPE_MAP ? t->elem : NULL;
  const char *of = value && value->kind == SURG_TYPE_TENSOR ? surg__dtype_name(value->dtype) : NULL;
  if (!name || (t->kind != SURG_TYPE_TENSOR && !of)) return false;
  const int n = snprintf(out, 64, "%s%s%s%s%s%s)%.*s", outer[0], outer[1], of ? "map(" : "tensor(",
                         name, of ? ", " : "", of ? of : "", (int)depth, "))");
  return n > 0 && n < 64;
}

/* Whether parameter p of the operator accepts a value that is not a tensor, of type `type`. */
static bool takes(const surg_schema *s, const surg__param *p, const char *type) {
  const surg__type_param *t = surg__schema_type_param(s, p);
  if (!t) return strcmp(p->type, type) == 0;
  for (size_t i = 0; t->types[i]; i++)
    if (strcmp(t->types[i], type) == 0) return true;
  return false;
}

static const char *input_name(surg__checker *c, const surg_node *n, size_t i) {
  return surg__q(c->ctx, surg_value_name(surg_node_input(n, i)));
}

static void bad_type(surg__checker *c, const surg_node *n, size_t i, const surg__param *p,
                     const char *type) {
  if (!surg__check_has_text(c)) {
    surg__check_found(c, "E201", NULL, "more");
    return;
  }
  surg__buf b;
  surg__buf_init(&b, c->ctx);
  surg__check_put_allowed(&b, n->schema, p);
  surg__buf_putc(&b, 0);
  surg__check_found(c, "E201", surg__locate_node(n), "input %zu %s is %s; %s-%d accepts %s as %s",
                    i, input_name(c, n, i), type, n->schema->name, n->schema->since,
                    b.failed ? "another type" : b.p, p->name);
  surg__buf_free(&b);
}

/* Reports two inputs of one type parameter with different types; `first` is the input that bound
 * it. */
static void bad_pair(surg__checker *c, const surg_node *n, size_t i, size_t first) {
  if (!surg__check_has_text(c)) {
    surg__check_found(c, "E202", NULL, "more");
    return;
  }
  const char *a = surg__dtype_name(surg_value_type(surg_node_input(n, first))->dtype);
  const char *b = surg__dtype_name(surg_value_type(surg_node_input(n, i))->dtype);
  surg__check_found(c, "E202", surg__locate_node(n),
                    "input %zu %s is tensor(%s) and input %zu %s is tensor(%s); %s-%d expects one "
                    "type for both",
                    first, input_name(c, n, first), a, i, input_name(c, n, i), b, n->schema->name,
                    n->schema->since);
}

/* The element type of a tensor, or of the tensors of a sequence; SURG_UNDEFINED: unknown. */
static int element_type(const surg_type *t) {
  if (t && t->kind == SURG_TYPE_SEQUENCE) t = t->elem;
  const bool known = t && t->kind == SURG_TYPE_TENSOR && surg__dtype_name(t->dtype);
  return known ? t->dtype : SURG_UNDEFINED;
}

/* Checks that SequenceInsert gets a tensor of the type that the sequence has; the schema has a type
 * parameter for each. False: reported a finding. */
static bool check_inserted(surg__checker *c, const surg_node *n) {
  const int held = element_type(surg_value_type(surg_node_input(n, 0)));
  const int added = element_type(surg_value_type(surg_node_input(n, 1)));
  if (!held || !added || held == added) return true;
  if (!surg__check_has_text(c)) {
    surg__check_found(c, "E202", NULL, "more");
    return false;
  }
  surg__check_found(c, "E202", surg__locate_node(n),
                    "input 0 %s is seq(tensor(%s)) and input 1 %s is tensor(%s); %s-%d expects one "
                    "element type for both",
                    input_name(c, n, 0), surg__dtype_name(held), input_name(c, n, 1),
                    surg__dtype_name(added), n->schema->name, n->schema->since);
  return false;
}

/* Checks the input types; false: reported a finding. */
static bool check_inputs(surg__checker *c, const surg_node *n) {
  const surg_schema *s = n->schema;
  size_t bound[16];
  for (size_t k = 0; k < SURG_COUNT(bound); k++) bound[k] = SIZE_MAX;
  bool clean = true;
  for (size_t i = 0; i < n->n_in; i++) {
    const surg__param *p = surg__schema_formal(s, false, i);
    const surg_type *type = surg_value_type(n->in[i].value);
    char text[64];
    if (!p || !type) continue;
    const bool tensor = type->kind == SURG_TYPE_TENSOR;
    const int dtype = type->dtype;
    if (tensor && (dtype <= 0 || dtype >= SURG_DTYPE_COUNT)) continue;
    const bool allowed = tensor ? surg__check_allowed(s, p, dtype) /* needs no text */
                                : !spell(type, text) || takes(s, p, text);
    if (!allowed && spell(type, text)) {
      bad_type(c, n, i, p, text);
      clean = false;
    }
    if (!tensor || !allowed) continue;
    const surg__type_param *t = surg__schema_type_param(s, p);
    if (!t || (p->option == SURG__VARIADIC && !p->homogeneous)) continue;
    const size_t k = (size_t)(t - s->params);
    if (k >= SURG_COUNT(bound)) continue;
    if (bound[k] == SIZE_MAX) {
      bound[k] = i;
    } else if (surg_value_type(n->in[bound[k]].value)->dtype != dtype) {
      bad_pair(c, n, i, bound[k]);
      clean = false;
    }
  }
  return n->schema->op == SURG_OP_SequenceInsert ? check_inserted(c, n) && clean : clean;
}

static void put_input(surg__buf *b, const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  if (b->n) surg__buf_puts(b, ", ");
  if (!t || t->kind != SURG_TYPE_TENSOR) {
    surg__buf_putc(b, '?');
    return;
  }
  surg__put_type(b, t);
  int64_t elements[8];
  const surg_tensor *constant = surg_value_constant(v);
  const int64_t count = constant ? surg__read_ints(constant, elements, 8) : 0;
  for (int64_t i = 0; i < count; i++)
    surg__buf_printf(b, "%s%lld", i ? ", " : " {", (long long)elements[i]);
  if (count > 0) surg__buf_putc(b, '}');
}

/* Whether input i is an operand, of which the shape decides, not the elements: it is of the type of
 * input 0 (Concat, Add), or may be of floats, too (a mask). */
static bool is_operand(const surg_node *n, size_t i) {
  const surg__param *first = surg__schema_formal(n->schema, false, 0);
  const surg__param *p = surg__schema_formal(n->schema, false, i);
  return first && p &&
         (strcmp(first->type, p->type) == 0 || surg__check_allowed(n->schema, p, SURG_FLOAT));
}

bool surg__check_computed(const surg_node *n) {
  for (size_t i = 1; i < n->n_in; i++) {
    const surg_value *v = n->in[i].value;
    const surg_type *t = surg_value_type(v);
    if (!v || !v->producer || surg_value_constant(v) || !t || t->kind != SURG_TYPE_TENSOR) continue;
    if (is_operand(n, i)) continue;
    if ((t->dtype == SURG_INT64 || t->dtype == SURG_INT32) && (!t->has_rank || t->rank < 2))
      return true;
  }
  return false;
}

static void bad_shapes(surg__checker *c, const surg_node *n) {
  const char *code = surg__check_computed(n) ? "W206" : "E203";
  c->since = surg__check_since(n);
  if (!surg__check_has_text(c)) {
    surg__check_found(c, code, NULL, "more");
    return;
  }
  surg__buf b;
  surg__buf_init(&b, c->ctx);
  for (size_t i = 0; i < n->n_in && i < 8; i++) put_input(&b, n->in[i].value);
  surg__buf_putc(&b, 0);
  surg__check_found(c, code, surg__locate_node(n),
                    "%s-%d does not accept inputs or attributes of this shape: (%s)",
                    n->schema->name, n->schema->since, b.failed ? "?" : b.p);
  surg__buf_free(&b);
}

/* Reports an inferred element type that the operator cannot produce. Constant below 9 lists float
 * types only, and importers read what it contains all the same. */
static void check_outputs(surg__checker *c, const surg_node *n) {
  for (size_t i = 0; i < n->n_out; i++) {
    const surg_type *t = n->out[i] ? surg_value_type(n->out[i]) : NULL;
    const surg__param *p = surg__schema_formal(n->schema, true, i);
    if (!p || !t || t->kind != SURG_TYPE_TENSOR || t->dtype <= 0 || t->dtype >= SURG_DTYPE_COUNT)
      continue;
    if (surg__check_allowed(n->schema, p, t->dtype)) continue;
    const bool described = surg__check_has_text(c);
    const bool harmless = surg_node_op(n) == SURG_OP_Constant;
    surg__check_found(c, harmless ? "W226" : "E205", described ? surg__locate_node(n) : NULL,
                      "output %zu would be tensor(%s), which %s-%d does not produce as %s", i,
                      surg__dtype_name(t->dtype), n->schema->name, n->schema->since, p->name);
  }
}

/* Whether the next checks of a node are made: one finding is enough, unless some engines overlook
 * it. They may not overlook another one. */
static bool goes_on(const surg__checker *c, size_t before) {
  return c->count == before || c->overlooked;
}

void surg__check_types(surg__checker *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next) {
      const surg_schema *s = surg_node_schema(n);
      if (!s || (s->flags & SURG__OP_DEPRECATED) || (c->believed && n->scratch)) continue;
      const size_t before = c->count;
      c->node = n;
      c->graph = g;
      c->overlooked = false;
      if (check_inputs(c, n) && surg__infer_contradicts(n)) bad_shapes(c, n);
      if (goes_on(c, before)) surg__check_forms(c, n);
      if (goes_on(c, before)) surg__check_forms_inputs(c, n);
      if (goes_on(c, before)) surg__check_values(c, n);
      if (goes_on(c, before)) surg__check_ranges(c, n);
      if (goes_on(c, before)) check_outputs(c, n);
      if (c->count != before) n->scratch = n; /* do not compare its declared types */
    }
  c->node = NULL;
  c->graph = NULL;
}
