/* SPDX-License-Identifier: Apache-2.0 */
/* Casts from float16 to float16, in engines that compute most float16 operators in float. Such an
 * engine inserts casts around these operators, and takes away those that meet. If both neighbors of
 * a cast to the same type are such operators, the cast is given float, still states float16, and
 * the engine rejects its own model. */
#include <onnxsurg/ops.h>

#include "ir/ir.h"
#include "target/judge.h"

/* Whether the engine computes the node in float if its inputs are float16. */
static surg__tri in_float(const surg__target *t, const surg_node *n) {
  if (surg_node_domain(n)[0] || surg_node_subgraph(n, 0) || surg_node_function(n))
    return SURG__UNSAID;
  for (size_t i = 0; i < t->half.n; i++)
    if (!strcmp(t->half.items[i], surg_node_op_type(n))) return SURG__NO;
  return SURG__YES;
}

/* The number of nodes that read the value, and of those that are not surely computed in float;
 * model and subgraph outputs count as the latter. */
static size_t readers(const surg__target *t, const surg_value *v, size_t *other) {
  size_t n = 0;
  *other = 0;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *reader = surg_use_node(u);
    n += reader != NULL;
    *other += !reader || in_float(t, reader) != SURG__YES;
  }
  return n;
}

void surg__judge_half(surg__judge *j) {
  if (!j->t->half.n || surg_node_op(j->n) != SURG_OP_Cast) return;
  const surg_value *x = surg_node_input(j->n, 0), *y = surg_node_output(j->n, 0);
  if (!x || !y || surg__judge_element(x) != SURG_FLOAT16 || surg__judge_element(y) != SURG_FLOAT16)
    return;
  const surg_node *maker = surg_value_producer(x, NULL);
  const surg__tri made = maker ? in_float(j->t, maker) : SURG__NO;
  size_t other;
  if (made == SURG__NO || !readers(j->t, y, &other)) return;
  const bool sure = made == SURG__YES && !other;
  if (!sure && made == SURG__YES && !j->t->half_any) return;
  surg__judge_object(j, sure ? SURG__ILLEGAL : SURG__UNKNOWN, SURG__C_OP, x,
                     sure ? "it casts float16 to float16 between nodes that the engine computes in "
                            "float"
                          : "it casts float16 to float16 after a node that the engine computes in "
                            "float; whether it accepts that is unknown");
}
