/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the fold pass: running the kernel of a node within the budgets, and what the result is
 * worth: its size in the file and how exact it is. */
#include "fold.h"

/* Work of a whole run, as fold_compute counts it: up to 16 times what was done. */
#define RUN_WORK (UINT64_C(1) << 36)

static bool is_float(int dtype) {
  switch (dtype) {
    case SURG_FLOAT:
    case SURG_DOUBLE:
    case SURG_FLOAT16:
    case SURG_BFLOAT16:
    case SURG_COMPLEX64:
    case SURG_COMPLEX128:
      return true;
    default:
      return false;
  }
}

/* Whether every engine computes the same bits: elements that only move, and operations that IEEE
 * 754 defines to the last bit. Others differ by rounding. */
static bool same_bits(int op) {
  switch (op) {
    case SURG_OP_Abs:
    case SURG_OP_Add:
    case SURG_OP_Cast:
    case SURG_OP_CastLike:
    case SURG_OP_Ceil:
    case SURG_OP_CenterCropPad:
    case SURG_OP_Clip:
    case SURG_OP_Compress:
    case SURG_OP_Concat:
    case SURG_OP_ConstantOfShape:
    case SURG_OP_DepthToSpace:
    case SURG_OP_Div:
    case SURG_OP_Expand:
    case SURG_OP_EyeLike:
    case SURG_OP_Flatten:
    case SURG_OP_Floor:
    case SURG_OP_Gather:
    case SURG_OP_GatherElements:
    case SURG_OP_GatherND:
    case SURG_OP_Max:
    case SURG_OP_MaxUnpool:
    case SURG_OP_Min:
    case SURG_OP_Mul:
    case SURG_OP_Neg:
    case SURG_OP_OneHot:
    case SURG_OP_Pad:
    case SURG_OP_Range:
    case SURG_OP_ReduceMax:
    case SURG_OP_ReduceMin:
    case SURG_OP_Relu:
    case SURG_OP_Reshape:
    case SURG_OP_ReverseSequence:
    case SURG_OP_Round:
    case SURG_OP_Scatter:
    case SURG_OP_ScatterElements:
    case SURG_OP_ScatterND:
    case SURG_OP_Sign:
    case SURG_OP_Slice:
    case SURG_OP_SpaceToDepth:
    case SURG_OP_Split:
    case SURG_OP_Sqrt:
    case SURG_OP_Squeeze:
    case SURG_OP_Sub:
    case SURG_OP_TensorScatter:
    case SURG_OP_Tile:
    case SURG_OP_TopK:
    case SURG_OP_Transpose:
    case SURG_OP_Trilu:
    case SURG_OP_Unique:
    case SURG_OP_Unsqueeze:
    case SURG_OP_Where:
      return true;
    default:
      return false;
  }
}

void fold_used(fold_state *f, const surg_node *n, surg_tensor *const *results, size_t count) {
  surg_exactness e = SURG_EXACT;
  for (size_t i = 0; i < count && !same_bits(surg_node_op(n)); i++)
    if (is_float(surg_tensor_dtype(results[i]))) e = SURG_ULP;
  surg_pass_used(f->pass, e);
}

/* The work is asked for in steps, so that the guard on the whole run counts about what was done. */
static surg_status evaluate(fold_state *f, surg_node *n, surg_tensor *const *in, uint64_t bytes,
                            surg_tensor **out, size_t count, const char **why) {
  surg_status s = SURG_ELIMIT;
  for (uint64_t work = 1 << 12; s == SURG_ELIMIT; work *= 16) {
    if (work > f->max_work) work = f->max_work;
    s = surg_node_evaluate_on(n, in, bytes, work, out, count, why);
    if (s == SURG_OK) f->work = fold_plus(f->work, work);
    if (work == f->max_work || work > UINT64_MAX / 16) break;
  }
  return s;
}

surg_tensor **fold_compute(fold_state *f, surg_node *n, surg_tensor *const *in, uint64_t bytes) {
  size_t count = surg_node_output_count(n);
  const char *why = "the run has done as much work as it may";
  surg_status s = SURG_ELIMIT;
  surg_tensor **out = surg_pass_alloc(f->pass, (count + 1) * sizeof *out);
  if (bytes > f->max_bytes) bytes = f->max_bytes;
  if (out && f->work <= RUN_WORK) s = evaluate(f, n, in, bytes, out, count, &why);
  /* What cannot be read now cannot be read by whoever runs the model either. */
  if (!out || s == SURG_ENOMEM || s == SURG_EIO || surg_model_status(f->model) != SURG_OK)
    f->failed = true;
  else if (s != SURG_OK)
    fold_leave(f, n, why);
  return s == SURG_OK && !f->failed ? out : NULL;
}

uint64_t fold_bytes(const surg_node *n, surg_tensor *const *results, size_t count) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; i++) {
    const surg_value *v = surg_node_output(n, i);
    if (results[i] && v && surg_value_use_count(v, 1) > 0)
      bytes = fold_plus(bytes, surg_graph_constant_bytes(surg_node_graph(n), surg_value_name(v),
                                                         results[i]));
  }
  return bytes;
}
