/* SPDX-License-Identifier: Apache-2.0 */
/* CumSum and CumProd. Floats are accumulated in double in index order and rounded when stored;
 * integers wrap. */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/number.h"

typedef struct cumulation {
  const surg__array *x, *o;
  uint64_t length, step;
  bool product, exclusive, reverse;
} cumulation;

static void cumulate_reals(const cumulation *c, uint64_t start) {
  double acc = c->product;
  for (uint64_t i = 0; i < c->length; ++i) {
    const uint64_t at = start + (c->reverse ? c->length - 1 - i : i) * c->step;
    const double v = surg__real_at(c->x, at), after = c->product ? acc * v : acc + v;
    const double r = c->exclusive ? acc : after;
    surg__real_put(c->o, at, isnan(r) ? NAN : r);
    acc = after;
  }
}

static void cumulate_wholes(const cumulation *c, uint64_t start) {
  uint64_t acc = c->product;
  for (uint64_t i = 0; i < c->length; ++i) {
    const uint64_t at = start + (c->reverse ? c->length - 1 - i : i) * c->step;
    const uint64_t v = surg__load_int(c->x->dtype, c->x->data, at);
    const uint64_t after = c->product ? acc * v : acc + v;
    surg__store_int(c->o->dtype, c->o->data, at, c->exclusive ? acc : after);
    acc = after;
  }
}

surg__kstatus surg__k_cumulate(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  uint32_t axis;
  uint64_t n = 0;
  if (!k->wanted[0]) return SURG__K_OK;
  const int64_t *list = surg__k_ints(k, 1, &n);
  if (!list) return SURG__K_NOMEM;
  if (n != 1 || !surg__k_axis(list[0], x->rank, &axis)) {
    return surg__k_invalid(k, "axis is not a single axis of the input");
  }
  SURG__K_TRY(surg__k_out(k, 0, x->dtype, x->dims, x->rank));
  SURG__K_TRY(surg__k_work(k, x->count));
  if (x->count == 0) return SURG__K_OK;
  cumulation c = {.x = x, .o = &k->out[0], .length = (uint64_t)x->dims[axis], .step = 1};
  c.product = k->op == SURG_OP_CumProd;
  c.exclusive = surg_node_int(k->node, "exclusive", 0) != 0;
  c.reverse = surg_node_int(k->node, "reverse", 0) != 0;
  for (uint32_t d = axis + 1; d < x->rank; ++d) c.step *= (uint64_t)x->dims[d];
  for (uint64_t i = 0; i < x->count / c.length; ++i) {
    const uint64_t start = i / c.step * c.step * c.length + i % c.step;
    if (surg__is_real(x->dtype))
      cumulate_reals(&c, start);
    else
      cumulate_wholes(&c, start);
  }
  return SURG__K_OK;
}
