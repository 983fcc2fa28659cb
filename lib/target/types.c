/* SPDX-License-Identifier: Apache-2.0 */
/* The element types that a target states for one input or output of a node
 * (onnxsurg/precision.h), and what follows from the lack of a statement. */
#include <onnxsurg/precision.h>

#include "base/dtype.h"
#include "target/judge.h"

/* Whether a row of types is about the formal parameter `p`, input or output i of schema `s`. */
static bool is_about(const surg__type_facts *t, const surg_schema *s, const surg__param *p,
                     bool output, size_t i) {
  const bool out = !strcmp(t->name, "out");
  if (!out && strcmp(t->name, "0") != 0)
    return !strcmp(t->name, p->type) || !strcmp(t->name, p->name);
  if (i == 0 && output == out) return true;
  const surg__param *first = surg__schema_formal(s, out, 0);
  return first && surg__schema_type_param(s, p) && !strcmp(first->type, p->type);
}

static bool has_float(const surg_schema *s, const surg__param *p) {
  const surg__type_param *param = surg__schema_type_param(s, p);
  return param && param->tensor_mask >> SURG_FLOAT & 1;
}

static uint32_t types_of_fact(const surg__target *t, const surg__tfact *f, const surg_schema *s,
                              const surg__param *p, bool output, size_t i) {
  uint32_t mask = UINT32_MAX;
  bool stated = false;
  for (size_t k = 0; k < f->n_types; k++) {
    if (!is_about(&f->types[k], s, p, output, i)) continue;
    mask &= f->types[k].mask;
    stated = true;
  }
  /* A runtime's own operator has kernels for some of the types of its schema. */
  if (!stated && surg_schema_contrib(s)) return 0;
  if (!stated && t->elements && has_float(s, p)) mask = t->elements;
  for (size_t k = 0; k < f->n_not_types; k++)
    if (is_about(&f->not_types[k], s, p, output, i)) mask &= ~f->not_types[k].mask;
  return mask;
}

static bool states_type(const surg__tfact *f, const surg_schema *s, const surg__param *p,
                        bool output, size_t i) {
  for (size_t k = 0; k < f->n_types; k++)
    if (is_about(&f->types[k], s, p, output, i)) return true;
  return false;
}

/* Whether the element type of input or output i is one that the fact leaves open. Parameters that
 * have no float at all (indices, conditions, shapes) are part of the operator: an engine that has
 * it has one of their types. */
static bool is_open(const surg__judge *j, const surg_value *v, bool output, size_t i) {
  const surg__param *p = surg__schema_formal(j->s, output, i);
  if (!v || !p || !has_float(j->s, p)) return false;
  const int d = surg__judge_element(v);
  return !(d && j->t->elements >> d & 1) && !states_type(j->f, j->s, p, output, i);
}

void surg__judge_open_types(surg__judge *j) {
  /* What reads a constant decides whether the engine has its type. */
  if (!j->t->elements || !j->s || j->s->op == SURG_OP_Constant) return;
  for (int output = 0; output < 2; output++) {
    const size_t n = output ? surg_node_output_count(j->n) : surg_node_input_count(j->n);
    for (size_t i = 0; i < n; i++) {
      const surg_value *v = output ? surg_node_output(j->n, i) : surg_node_input(j->n, i);
      if (!is_open(j, v, output, i)) continue;
      const int d = surg__judge_element(v);
      surg__judge_object(j, SURG__UNKNOWN, SURG__C_TYPE, v,
                         "%s is %s; whether the engine supports that here is not stated",
                         surg__judge_name(j, v), d ? surg__dtype_name(d) : "of unknown type");
      return;
    }
  }
}

uint64_t surg_target_types(const surg_target *t, const surg_node *n, bool output, size_t i) {
  const surg_schema *s = surg_node_schema(n);
  const surg__param *p = s ? surg__schema_formal(s, output, i) : NULL;
  /* A host has no host of its own. */
  for (; t && p; t = t->host) {
    const surg__op_facts *op = surg__target_op(t, s->domain, s->name);
    uint32_t mask = 0, limited = 0; /* with a limit in words */
    for (size_t k = 0; op && k < op->n; k++) {
      const surg__tfact *f = &op->facts[k];
      surg__judge j = {.t = t, .n = n, .s = s, .f = f};
      if (f->refused || f->misread || !surg__judge_speaks_of(f, s->since)) continue;
      if (surg__judge_fits_attrs(&j))
        *(f->says ? &limited : &mask) |= types_of_fact(t, f, s, p, output, i);
    }
    if (mask || limited) return mask ? mask : limited;
  }
  return 0;
}
