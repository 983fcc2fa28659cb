/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of engines whose matrices have two axes at least: OpenCV stores some with one axis. In
 * element-wise nodes, 4.10 repeats the first element of such a vector beside operands of more. */
#include <onnxsurg/ops.h>

#include "ir/ir.h"
#include "target/judge.h"

#define TRACED_MOST 64 /* vectors that are traced back for one operand, at most */

/* What the importer has for a vector. */
typedef enum form {
  FORM_OTHER,  /* it is a constant, has one element, or is no vector */
  FORM_FED,    /* an input of the model, or computed from such element by element: the caller gives
                * it two axes */
  FORM_TURNED, /* computed from such inputs otherwise, which a row would not permit: a column */
  FORM_BARE,   /* computed from values of other ranks: one axis */
  FORM_TWO,    /* a constant, or a value of rank 0 with another axis: a matrix */
  FORM_UNKNOWN
} form;

/* Constants, and what the importer computes of sizes, have no form of their own. */
static bool is_vector(const surg__judge *j, const surg_value *v) {
  const surg_type *t = surg__judge_shape(v);
  return t && surg_type_rank(t) == 1 && !surg__judge_elements(j, v) && !surg__judge_of_sizes(j, v);
}

static bool is_longer(const surg_value *v) {
  return surg_type_dim(surg__judge_shape(v), 0)->value != 1;
}

/* Whether the node computes each element of a vector from the element at its place. */
static bool keeps_places(const surg_node *n) {
  const surg_schema *s = surg_node_schema(n);
  switch (surg_node_op(n)) {
    case SURG_OP_Identity:
    case SURG_OP_Cast:
    case SURG_OP_Dropout:
    case SURG_OP_Clip:
    case SURG_OP_Transpose:
      return true;
    default:
      return s && s->flags & SURG__OP_ELEMENTWISE;
  }
}

/* Adds the vectors that the node reads. */
static size_t push_vectors(const surg__judge *j, const surg_node *n, const surg_value **list,
                           size_t count) {
  for (size_t i = 0; i < surg_node_input_count(n) && count < TRACED_MOST; i++)
    if (is_vector(j, surg_node_input(n, i))) list[count++] = surg_node_input(n, i);
  return count;
}

/* The form of a result that does not depend on that of an operand; FORM_OTHER: it may. Values of
 * rank 0 have one axis, so that Unsqueeze gives two, and element-wise nodes of these and constant
 * vectors as well. */
static form own_form(const surg_node *n, bool of_vectors) {
  const surg_type *t = surg__judge_shape(surg_node_input(n, 0));
  switch (surg_node_op(n)) {
    case SURG_OP_Reshape:
      return FORM_BARE;
    case SURG_OP_Expand:
      return FORM_UNKNOWN;
    case SURG_OP_Unsqueeze:
      return t && !surg_type_rank(t) ? FORM_TWO : FORM_BARE;
    default:
      return of_vectors ? FORM_OTHER : keeps_places(n) ? FORM_TWO : FORM_BARE;
  }
}

#define BIT(f) (1u << (f))

/* The form of a vector, by the vectors that it is computed from. */
static form form_of(const surg__judge *j, const surg_value *v) {
  const surg_value *list[TRACED_MOST];
  unsigned found = 0;
  bool turned = false;
  size_t count = 0;
  list[count++] = v;
  for (size_t at = 0; at < count; at++) {
    const surg_node *n = surg_value_producer(list[at], NULL);
    const size_t more = n ? push_vectors(j, n, list, count) : count;
    const form own = n ? own_form(n, more > count) : FORM_FED;
    if (more == TRACED_MOST) return FORM_UNKNOWN;
    if (own != FORM_OTHER) {
      found |= BIT(own);
      continue;
    }
    count = more;
    turned |= !keeps_places(n);
  }
  return found == BIT(FORM_BARE)             ? FORM_BARE
         : found == BIT(FORM_TWO) && !turned ? FORM_TWO
         : found != BIT(FORM_FED)            ? FORM_UNKNOWN
         : turned                            ? FORM_TURNED
                                             : FORM_FED;
}

static form operand_form(const surg__judge *j, const surg_value *v) {
  return is_vector(j, v) && is_longer(v) ? form_of(j, v) : FORM_OTHER;
}

/* Whether an operand may be beside one of that form: beside vectors with one axis only what the
 * importer computes of at most one axis, beside columns no constant of more than one element and
 * nothing of more axes. */
static bool may_be_beside(const surg__judge *j, const surg_value *v, form beside) {
  const surg_type *t = surg__judge_shape(v);
  const surg_tensor *c = surg__judge_elements(j, v);
  const bool constant = c || surg__judge_of_sizes(j, v);
  if (beside == FORM_TURNED && constant) return c && surg_tensor_count(c) == 1;
  if (constant || (t && surg_type_rank(t) > 1)) return false;
  return beside == FORM_TURNED || (t && !surg_type_rank(t)) || form_of(j, v) == FORM_BARE;
}

/* The first operand that is a vector of a form that matters, and its form. */
static const surg_value *formed(const surg__judge *j, form *of) {
  const surg_value *column = NULL;
  for (size_t i = 0; i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const form f = v ? operand_form(j, v) : FORM_OTHER;
    if (f == FORM_BARE || f == FORM_UNKNOWN) return *of = f, v;
    if (f == FORM_TURNED) column = v;
  }
  return *of = FORM_TURNED, column;
}

/* The kind of an operand of Concat. A constant of the model is a matrix. */
static form kind_of(const surg__judge *j, const surg_value *v) {
  const surg_type *t = surg__judge_shape(v);
  if (surg__judge_elements(j, v)) return FORM_TWO;
  if (!t || surg__judge_of_sizes(j, v)) return FORM_UNKNOWN;
  const form f = form_of(j, v);
  return f == FORM_TURNED ? FORM_FED : f;
}

/* Checks operands of rank 1 that the importer must have in one form. */
static bool fits_alike(surg__judge *j) {
  const surg_value *first = NULL;
  form all = FORM_OTHER;
  for (size_t i = 0; j->f->vectors_alike && i < surg_node_input_count(j->n); i++) {
    const surg_value *v = surg_node_input(j->n, i);
    const form f = v ? kind_of(j, v) : FORM_OTHER;
    if (!v) continue;
    if (f == FORM_UNKNOWN) {
      surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, v,
                         "how many axes the importer has for %s is not known",
                         surg__judge_name(j, v));
      return true;
    }
    if (!first) first = v, all = f;
    if (f == all) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v,
                       "the importer has %s with other axes than %s", surg__judge_name(j, v),
                       surg__judge_name(j, first));
    return false;
  }
  return true;
}

static bool fits_lone(surg__judge *j) {
  form of;
  const surg_value *v = j->f->lone_vectors ? formed(j, &of) : NULL;
  for (size_t i = 0; v && i < surg_node_input_count(j->n); i++) {
    const surg_value *w = surg_node_input(j->n, i);
    if (!w || w == v) continue;
    if (of == FORM_UNKNOWN || (!surg__judge_shape(w) && !surg__judge_elements(j, w))) {
      surg__judge_object(j, SURG__UNKNOWN, SURG__C_RANGE, v,
                         "whether the importer has the vector %s with one axis is not known",
                         surg__judge_name(j, v));
      return true;
    }
    if (may_be_beside(j, w, of)) continue;
    surg__judge_object(j, SURG__ILLEGAL, SURG__C_RANGE, v,
                       "%s is a computed vector; %s is not, and the importer repeats one element",
                       surg__judge_name(j, v), surg__judge_name(j, w));
    return false;
  }
  return true;
}

bool surg__judge_vectors(surg__judge *j) {
  return fits_alike(j) && fits_lone(j);
}
