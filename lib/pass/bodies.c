/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations in bodies after a pipeline: the shapes of outputs, which some runtimes require, are
 * added; descriptions of outer values that are no longer true are dropped. */
#include <onnxsurg/precision.h> /* only for surg_model_infer_calls */

#include "ir/refine.h"
#include "pass/internal.h"

#define SHAPED_BODIES 16 /* the first opset whose Loop needs no output shapes in ONNX Runtime */

/* Whether ONNX Runtime rejects the body of a node of this operator if no shape is known for one of
 * its outputs. */
static bool needs_shapes(const surg_graph *body) {
  const surg_node *n = surg_graph_parent_node(body);
  const int op = n ? surg_node_op(n) : 0;
  if (op == SURG_OP_Scan) return true;
  return op == SURG_OP_Loop && surg_graph_opset(body, "") < SHAPED_BODIES;
}

/* Whether an output of a body is a tensor computed in it that declares no shape. */
static bool lacks_shape(const surg_graph *g, const surg_value *o) {
  const surg_type *said = o ? surg_value_declared_type(o) : NULL;
  if (!o || surg_value_graph(o) != g || surg_value_is_input(o)) return false;
  return !said || (surg_type_get_kind(said) == SURG_TYPE_TENSOR && !surg_type_has_rank(said));
}

/* Declares the inferred shape; sizes that are symbols in it are left out, as names of dimensions
 * have no meaning in a body. */
static surg_status declare(surg_model *m, surg_value *o) {
  const surg_type *t = surg_value_type(o);
  surg_dim dims[SURG_LIMIT_RANK];
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) return SURG_OK;
  const size_t rank = surg_type_rank(t);
  if (rank > SURG_LIMIT_RANK) return SURG_OK;
  for (size_t k = 0; k < rank; k++) dims[k] = (surg_dim){.value = surg_type_dim(t, k)->value};
  const surg_type *now = surg_type_tensor(m, surg_type_dtype(t), dims, rank);
  return now ? surg_value_set_declared_type(o, now) : surg_model_status(m);
}

static surg_status infer(surg_model *m) {
  return surg_model_function_count(m) ? surg_model_infer_calls(m) : surg_model_infer(m);
}

surg_status surg__declare_bodies(surg_model *m) {
  bool typed = false;
  surg_status s = SURG_OK;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g && !s; g = surg_model_next_graph(m, g)) {
    if (!needs_shapes(g)) continue;
    for (size_t i = 0; i < surg_graph_output_count(g) && !s; i++) {
      surg_value *o = surg_graph_output(g, i);
      if (!lacks_shape(g, o)) continue;
      if (!typed) s = infer(m);
      typed = true;
      if (!s) s = declare(m, o);
    }
  }
  return s;
}

surg_status surg__renew_outer(surg_model *m) {
  if (!surg__describes_outer(m)) return SURG_OK;
  const surg_status s = infer(m);
  if (!s) surg__drop_outdated(m);
  return s ? s : surg_model_status(m);
}
