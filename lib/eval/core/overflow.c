/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether a result of class "rounding" may depend on the range of intermediate results.
 *
 * Kernels add and multiply in double; engines do it in float, where the square of 1e30 is infinity:
 * InstanceNormalization of such values returns its bias in an engine, and another result here. The
 * error bound of the class (k x eps x the sum of absolute terms) is valid only if no partial sum or
 * product leaves the range of the element type; otherwise the node is not folded. */
#include "eval/core/overflow.h"

#include <float.h>
#include <math.h>

#include "base/dtype.h"
#include "eval/core/number.h"
#include "ir/ir.h"

/* Squares of floats below this value underflow. */
#define LEAST_SQUARED 1e-18

typedef struct magnitudes {
  double largest;     /* largest finite magnitude in all inputs */
  double up, down;    /* sums of |log2| of the elements above and below 1 */
  uint64_t count;     /* element count of the largest input */
  bool wide;          /* some input is DOUBLE */
} magnitudes;

static void look(const surg__array *a, bool product, magnitudes *m) {
  if (a->count > m->count) m->count = a->count;
  m->wide = m->wide || a->dtype == SURG_DOUBLE;
  for (uint64_t i = 0; i < a->count; i++) {
    const double v = fabs(surg__load_f64(a->dtype, a->data, i));
    if (!(v <= DBL_MAX)) continue;
    if (v > m->largest) m->largest = v;
    if (product && v > 1) m->up += log2(v);
    if (product && v > 0 && v < 1) m->down -= log2(v);
  }
}

static bool squares(int op) {
  return op == SURG_OP_ReduceL2 || op == SURG_OP_LpNormalization || op == SURG_OP_LpPool ||
         op == SURG_OP_GlobalLpPool;
}

surg__kstatus surg__k_overflow(surg_kctx *k) {
  magnitudes m = {0};
  const bool product = k->op == SURG_OP_ReduceProd;
  const int dtype = k->n_out ? k->out[0].dtype : SURG_UNDEFINED;
  if (k->running || !surg__is_real(dtype) ||
      surg_node_result_exactness(k->node, dtype) != SURG_ROUNDING)
    return SURG__K_OK;
  for (uint32_t i = 0; i < k->n_in; i++)
    if (k->in[i].data && surg__is_real(k->in[i].dtype)) look(&k->in[i], product, &m);
  const double most = m.wide ? DBL_MAX : (double)FLT_MAX;
  bool leaves = m.largest > 1 && !(m.largest * m.largest * (double)m.count < most);
  const double least = m.wide ? DBL_MIN : (double)FLT_MIN;
  if (product) leaves = !(m.up < log2(most)) || !(m.down < -log2(least));
  if (squares(k->op)) leaves = leaves || (m.largest > 0 && m.largest < LEAST_SQUARED && !m.wide);
  return leaves ? surg__k_cannot(k, "partial results may leave the range of the type") : SURG__K_OK;
}
