/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs scalars where an operator expects a tensor of one element, and vice versa: constants
 * are rewritten, computed values get a Reshape. See mend.h. */
#include "mend.h"

#define WIDEST 16       /* bytes of the largest element */
#define RESHAPE_OPSET 5 /* the first opset in which Reshape has a shape input */
#define BIT(i) (1u << (i))

typedef struct form {
  int op;
  uint32_t vectors, scalars; /* bit i: input i must have rank 1, or rank 0 */
} form;

static const form forms[] = {
    {SURG_OP_TopK, BIT(1), 0},
    {SURG_OP_Unsqueeze, BIT(1), 0},
    {SURG_OP_Squeeze, BIT(1), 0},
    {SURG_OP_Slice, BIT(1) | BIT(2) | BIT(3) | BIT(4), 0},
    {SURG_OP_Reshape, BIT(1), 0},
    {SURG_OP_Expand, BIT(1), 0},
    {SURG_OP_Tile, BIT(1), 0},
    {SURG_OP_ConstantOfShape, BIT(0), 0},
    {SURG_OP_Split, BIT(1), 0},
    {SURG_OP_Resize, BIT(2) | BIT(3), 0},
    {SURG_OP_ReduceSum, BIT(1), 0},
    {SURG_OP_ReduceMean, BIT(1), 0},
    {SURG_OP_ReduceMax, BIT(1), 0},
    {SURG_OP_ReduceMin, BIT(1), 0},
    {SURG_OP_ReduceProd, BIT(1), 0},
    {SURG_OP_ReduceL1, BIT(1), 0},
    {SURG_OP_ReduceL2, BIT(1), 0},
    {SURG_OP_ReduceLogSum, BIT(1), 0},
    {SURG_OP_ReduceLogSumExp, BIT(1), 0},
    {SURG_OP_ReduceSumSquare, BIT(1), 0},
    {SURG_OP_Compress, BIT(1), 0},
    {SURG_OP_Pad, BIT(1) | BIT(3), BIT(2)},
    {SURG_OP_Range, 0, BIT(0) | BIT(1) | BIT(2)},
    {SURG_OP_Clip, 0, BIT(1) | BIT(2)},
    {SURG_OP_Trilu, 0, BIT(1)},
    {SURG_OP_Dropout, 0, BIT(1) | BIT(2)},
    {SURG_OP_SequenceAt, 0, BIT(1)},
    {SURG_OP_SequenceErase, 0, BIT(1)},
    {SURG_OP_SequenceInsert, 0, BIT(2)},
};

static const surg_type *ranked(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t) ? t : NULL;
}

/* A copy of a one-element tensor with rank 1 or 0; NULL: not such a tensor, or failure. */
static surg_tensor *reshaped(surg_model *m, const surg_tensor *t, bool vector) {
  const int64_t one[1] = {1};
  uint8_t data[WIDEST];
  const uint64_t bytes = surg_tensor_bytes(t);
  if (surg_tensor_dtype(t) == SURG_STRING || surg_tensor_is_sparse(t)) return NULL;
  if (surg_tensor_count(t) != 1 || bytes > sizeof data) return NULL;
  if (surg_tensor_read(t, 0, data, (size_t)bytes) != SURG_OK) return NULL;
  return surg_tensor_new(m, surg_tensor_dtype(t), one, vector ? 1 : 0, data, (size_t)bytes);
}

static surg_value *in_form(mending *k, surg_node *n, surg_value *v, bool vector) {
  const int64_t one[1] = {1};
  surg_tensor *t = surg_value_constant(v);
  surg_tensor *made = t ? reshaped(k->m, t, vector) : NULL;
  if (made) return surg_graph_constant(surg_node_graph(n), n, surg_value_name(v), made);
  if (surg_model_status(k->m) != SURG_OK) return NULL;
  surg_value *in[2] = {v, mend_ints(n, one, vector ? 1 : 0)};
  surg_node *reshape = in[1] ? mend_add(n, "Reshape", in, 2) : NULL;
  return surg_node_output(reshape, 0);
}

static bool reform(mending *k, surg_node *n, size_t i, bool vector) {
  surg_value *v = surg_node_input(n, i);
  if (surg_graph_opset(surg_node_graph(n), "") < RESHAPE_OPSET) {
    mend_leaves(k, n, "input %zu has another rank than the operator expects", i);
    return true;
  }
  if (!surg_graph_takes_constants(surg_node_graph(n)) || !mend_may(k, SURG_EXACT)) return true;
  v = in_form(k, n, v, vector);
  if (!v || surg_node_set_input(n, i, v) != SURG_OK) return false;
  mend_did(k, n, SURG_EXACT, "input %zu %s", i,
           vector ? "was a scalar; the operator expects a tensor of rank 1"
                  : "was a tensor of one element; the operator expects a scalar");
  return surg_model_infer(k->m) == SURG_OK;
}

static bool listed(mending *k, surg_node *n, const form *f) {
  for (size_t i = 0; i < surg_node_input_count(n) && i < 32; i++) {
    const surg_type *t = ranked(surg_node_input(n, i));
    uint64_t count = 0;
    if (!t) continue;
    if ((f->vectors & BIT(i)) && surg_type_rank(t) == 0 && !reform(k, n, i, true)) return false;
    if (!(f->scalars & BIT(i)) || surg_type_rank(t) == 0) continue;
    /* A vector of unknown size must have size 1, or no run succeeds. */
    if (surg_type_static(t, &count) ? count != 1 : surg_type_rank(t) != 1) continue;
    if (!reform(k, n, i, false)) return false;
  }
  return true;
}

/* Makes scalars in a Concat vectors of one element, as scalars have no axis to concatenate. */
static bool joined(mending *k, surg_node *n) {
  bool any = false;
  const int64_t axis = surg_node_int(n, "axis", 0);
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_type *t = ranked(surg_node_input(n, i));
    if (!t || surg_type_rank(t) > 1) return true;
    any = any || surg_type_rank(t) == 0;
  }
  if (!any || axis < -1 || axis > 0) return true;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_type *t = ranked(surg_node_input(n, i));
    if (t && surg_type_rank(t) == 0 && !reform(k, n, i, true)) return false;
  }
  return true;
}

/* Gives the condition of a Loop the rank that the body declares. */
static bool condition(mending *k, surg_node *n) {
  const surg_graph *body = surg_node_subgraph(n, 0);
  const surg_value *in = body ? surg_graph_input(body, 1) : NULL;
  const surg_type *own = in ? surg_value_declared_type(in) : NULL;
  const surg_type *t = ranked(surg_node_input(n, 1));
  uint64_t count;
  if (!own || surg_type_get_kind(own) != SURG_TYPE_TENSOR || !surg_type_has_rank(own) || !t)
    return true;
  const size_t rank = surg_type_rank(own);
  if (rank == surg_type_rank(t) || rank > 1 || surg_type_rank(t) > 1) return true;
  if (rank == 0 && surg_type_static(t, &count) && count != 1) return true;
  return reform(k, n, 1, rank == 1);
}

/* Whether the node is a Tile before opset 6, whose inputs are scalars. */
static bool is_older(const surg_node *n) {
  return surg_node_op(n) == SURG_OP_Tile && surg_schema_since(surg_node_schema(n)) < 6;
}

static bool node(mending *k, surg_node *n) {
  const int op = surg_node_op(n);
  if (surg_pass_keeps_node(k->p, n)) return true;
  if (op == SURG_OP_Concat) return joined(k, n);
  if (op == SURG_OP_Loop) return condition(k, n);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if (forms[i].op == op) return is_older(n) || listed(k, n, &forms[i]);
  return true;
}

bool mend_elements(mending *k) {
  if (surg_model_infer(k->m) != SURG_OK) return false;
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!node(k, n)) return false;
  return true;
}
