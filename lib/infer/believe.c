/* SPDX-License-Identifier: Apache-2.0 */
/* Declared shapes as engines with the shape inference of ONNX use them: a declaration fills in what
 * inference leaves open. Where the two contradict, engines keep what they have in common. */
#include "infer/infer.h"
#include "ir/ir.h"

static bool is_ranked(const surg_type *t) {
  return t && t->kind == SURG_TYPE_TENSOR && t->has_rank && t->rank <= SURG_LIMIT_RANK;
}

/* Whether an engine would use the declaration: it is a tensor of the inferred element type. */
static bool is_usable(const surg_type *said, const surg_type *is) {
  if (!is_ranked(said) || said->dtype <= 0 || said->dtype >= SURG_DTYPE_COUNT) return false;
  return !is || is->kind == SURG_TYPE_UNKNOWN ||
         (is->kind == SURG_TYPE_TENSOR && (!is->dtype || is->dtype == said->dtype));
}

bool surg__infer_is_open(const surg_value *v) {
  const surg_type *said = surg_value_declared_type(v), *is = v->inferred;
  if (!v->producer || !is_usable(said, is)) return false;
  if (!is_ranked(is) || is->rank != said->rank) return true;
  for (uint32_t i = 0; i < is->rank; i++)
    if (said->dims[i].value >= 0 && said->dims[i].value != is->dims[i].value) return true;
  return false;
}

void surg__infer_believe(surg__infer *c, surg_value *v) {
  if (!surg__infer_is_open(v)) return;
  const surg_type *said = surg_value_declared_type(v), *is = v->inferred;
  surg_dim dims[SURG_LIMIT_RANK];
  if (!is_ranked(is)) {
    surg__infer_state_declared(c, v, said, SURG__SYMBOL_DECLARED);
    return;
  }
  if (is->rank != said->rank) {
    v->inferred = surg_type_tensor_unranked(c->m, said->dtype);
  } else {
    for (uint32_t i = 0; i < is->rank; i++) {
      const bool fixed = is->dims[i].value >= 0, open = said->dims[i].value < 0;
      const bool same = fixed && said->dims[i].value == is->dims[i].value;
      dims[i] = open || same ? is->dims[i]
                : fixed      ? surg__dim_unknown()
                             : surg__dim(said->dims[i].value);
    }
    v->inferred = surg_type_tensor(c->m, said->dtype, dims, is->rank);
  }
  if (!v->inferred) c->nomem = true;
}
