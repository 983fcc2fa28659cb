/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of an earlier conversion that cannot be undone: constants of the new type at the end of
 * its range, addends and divisors that are 0. They are reported: the original numbers are lost. */
#include <inttypes.h>
#include <onnxsurg/ops.h>
#include <onnxsurg/schema.h>
#include <stdio.h>

#include "precision.h"

#define NOTES 20 /* the most that are reported, of each kind */

/* Whether input i of n is a divisor, or must not be 0 for another reason. */
static bool fails_at_zero(const surg_node *n, size_t i) {
  const int op = surg_node_op(n);
  return op == SURG_OP_Log || op == SURG_OP_Reciprocal || (op == SURG_OP_Div && i == 1);
}

/* Whether the result of n is a divisor, directly or by way of a square root or a power. */
static bool divides_by(const surg_node *n) {
  const surg_value *v = surg_node_output(n, 0);
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *by = surg_use_node(u);
    if (!by) continue;
    const int op = surg_node_op(by);
    if (op == SURG_OP_Sqrt || op == SURG_OP_Pow || fails_at_zero(by, surg_use_index(u)))
      return true;
  }
  return false;
}

/* A constant 0 that is added where a divisor must not be 0: an epsilon that was rounded to 0. */
static const surg_node *lost_epsilon(const prec *c, const prec_value *x) {
  for (uint32_t r = x->reads; r != PREC_NONE; r = c->reads[r].next) {
    const surg_node *n = c->reads[r].n;
    const int op = n ? surg_node_op(n) : -1;
    if ((op == SURG_OP_Add || op == SURG_OP_Max) && divides_by(n)) return n;
  }
  return NULL;
}

static void note(prec *c, const surg_node *n, const prec_value *x, const char *what,
                 uint64_t *count) {
  char line[PREC_TEXT];
  if (++*count > NOTES) return;
  snprintf(line, sizeof line, "constant '%.80s' %s", surg_value_name(x->v), what);
  surg_pass_note(c->p, n, line);
}

void prec_report_damage(prec *c) {
  uint64_t ends = 0, zeros = 0;
  if (!c->kind->small) return;
  for (uint32_t i = 0; i < c->n_values; i++) {
    const prec_value *x = &c->values[i];
    const surg_tensor *t = x->made == PREC_NONE ? surg_value_constant(x->v) : NULL;
    surg_extent e = {.size = sizeof e};
    if (!t || x->dtype != c->kind->to || surg_tensor_extent(t, &e) != SURG_OK) continue;
    if (e.inf || e.largest >= c->limits.top)
      note(c, NULL, x,
           "has elements at the end of the range: an earlier conversion may have "
           "clamped them",
           &ends);
    const surg_node *n = e.largest > 0 || e.inf || e.nan ? NULL : lost_epsilon(c, x);
    if (n)
      note(c, n, x,
           "is 0 where it keeps a divisor from 0: an earlier conversion may have "
           "rounded an epsilon to 0",
           &zeros);
  }
  if (ends) surg_pass_count(c->p, "constants that may have been clamped", ends);
  if (zeros) surg_pass_count(c->p, "epsilons that are 0", zeros);
}
