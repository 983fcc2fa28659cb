/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors in element-wise nodes of engines whose matrices have two axes at least: OpenCV 4.10 stores
 * a computed vector with one axis, and repeats its first element beside operands of more. */
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
  FORM_UNKNOWN
} form;

/* A constant has no form of its own. */
static bool is_vector(const surg__judge *j, const surg_value *v) {
  const surg_type *t = surg__judge_shape(v);
  return t && surg_type_rank(t) == 1 && surg__judge_constant(j, v) != SURG__YES;
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

/* The form of a vector, by the vectors that it is computed from. */
static form form_of(const surg__judge *j, const surg_value *v) {
  const surg_value *list[TRACED_MOST];
  form found = FORM_FED;
  size_t count = 0;
  list[count++] = v;
  for (size_t at = 0; at < count; at++) {
    const surg_node *n = surg_value_producer(list[at], NULL);
    const size_t before = count;
    if (!n) continue;
    count = push_vectors(j, n, list, count);
    if (count == TRACED_MOST) return FORM_UNKNOWN;
    if (count == before) return FORM_BARE;
    if (!keeps_places(n)) found = FORM_TURNED;
  }
  return found;
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
  const bool constant = c || surg__judge_constant(j, v) == SURG__YES;
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

bool surg__judge_vectors(surg__judge *j) {
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
