/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that make small errors of elements large. */
#ifndef SURG_PASSES_MAGNIFY_H
#define SURG_PASSES_MAGNIFY_H

#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/ops.h>

/* Whether a small element of input i makes a large result, with the relative error that it has. */
static inline bool magnifies(const surg_node *n, size_t i) {
  const int op = surg_node_op(n);
  return op == SURG_OP_Log || op == SURG_OP_Reciprocal || (op == SURG_OP_Div && i == 1);
}

/* Whether the result is a small difference of large products of elements. */
static inline bool cancels(const surg_node *n) {
  return surg_node_op(n) == SURG_OP_Det;
}

/* Whether the result is at least input i, a small constant, where other operands are not negative.
 */
static inline bool guards(const surg_node *n, size_t i) {
  const int op = surg_node_op(n);
  return op == SURG_OP_Add || op == SURG_OP_Max || (op == SURG_OP_Clip && i == 1);
}

/* The number that v is, of another type or shape: a constant, or what a Constant of a function
 * gives by an attribute of the call. NULL: it is none. */
static inline const surg_value *number_of(const surg_value *v) {
  for (int steps = 0; v && steps < 8; steps++) {
    const surg_node *n = surg_value_producer(v, NULL);
    if (surg_value_constant(v)) return v;
    if (!n || !surg_node_schema(n)) return NULL;
    switch (surg_node_op(n)) {
      case SURG_OP_Constant:
        return v;
      case SURG_OP_Cast:
      case SURG_OP_CastLike:
      case SURG_OP_Expand:
      case SURG_OP_Identity:
      case SURG_OP_Reshape:
      case SURG_OP_Unsqueeze:
        v = surg_node_input(n, 0);
        break;
      default:
        return NULL;
    }
  }
  return NULL;
}

#endif
