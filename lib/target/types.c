/* SPDX-License-Identifier: Apache-2.0 */
/* The element types that a target states for one input or output of a node
 * (onnxsurg/precision.h). */
#include <onnxsurg/precision.h>

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

static uint32_t types_of_fact(const surg__tfact *f, const surg_schema *s, const surg__param *p,
                              bool output, size_t i) {
  uint32_t mask = UINT32_MAX;
  bool stated = false;
  for (size_t k = 0; k < f->n_types; k++) {
    if (!is_about(&f->types[k], s, p, output, i)) continue;
    mask &= f->types[k].mask;
    stated = true;
  }
  /* A runtime's own operator has kernels for some of the types of its schema. */
  if (!stated && surg_schema_contrib(s)) return 0;
  for (size_t k = 0; k < f->n_not_types; k++)
    if (is_about(&f->not_types[k], s, p, output, i)) mask &= ~f->not_types[k].mask;
  return mask;
}

uint64_t surg_target_types(const surg_target *t, const surg_node *n, bool output, size_t i) {
  const surg_schema *s = surg_node_schema(n);
  const surg__param *p = s ? surg__schema_formal(s, output, i) : NULL;
  /* A host has no host of its own. */
  for (; t && p; t = t->host) {
    const surg__op_facts *op = surg__target_op(t, s->domain, s->name);
    uint32_t mask = 0;
    for (size_t k = 0; op && k < op->n; k++) {
      const surg__tfact *f = &op->facts[k];
      if (f->refused || f->misread || !surg__judge_speaks_of(f, s->since)) continue;
      mask |= types_of_fact(f, s, p, output, i);
    }
    if (mask) return mask;
  }
  return 0;
}
