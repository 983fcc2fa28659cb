/* SPDX-License-Identifier: Apache-2.0 */
/* Computes a node of an operator that a plugin registered. Inputs and results are tensors of a
 * scratch model, which is freed with the call. */
#include "base/taught.h"
#include "base/calling.h"
#include "base/dtype.h"
#include "eval/core/kernels.h"
#include "eval/core/value.h"
#include "ir/ir.h" /* only for the status of a model */

#define SCRATCH_IR 10

static const char not_a_tensor[] = "an input of a custom operator is not a tensor";

static surg__kstatus make_inputs(surg_kctx *k, surg_model *scratch, surg_tensor **in) {
  for (uint32_t i = 0; i < k->n_in; ++i) {
    in[i] = NULL;
    if (k->in[i].dtype == SURG_UNDEFINED) continue;
    if (surg__array_is_list(&k->in[i])) return surg__k_cannot(k, not_a_tensor);
    in[i] = surg__array_to_tensor(scratch, &k->in[i]);
    if (!in[i]) return SURG__K_NOMEM;
  }
  return SURG__K_OK;
}

/* Copies the text of strings to the arena of the evaluation. */
static surg__kstatus copy_strings(surg_kctx *k, const surg_str *from, surg_str *to, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    const char *p = surg__arena_strn(k->arena, from[i].p ? from[i].p : "", from[i].n);
    if (!p) return SURG__K_NOMEM;
    to[i] = (surg_str){p, from[i].n};
  }
  return SURG__K_OK;
}

static surg__kstatus take_output(surg_kctx *k, uint32_t i, const surg_tensor *t) {
  surg__array a;
  const int dtype = surg_tensor_dtype(t);
  if (surg_tensor_is_sparse(t) || surg_tensor_rank(t) > SURG_LIMIT_RANK)
    return surg__k_cannot(k, "a custom operator gave a result that is not supported");
  SURG__K_TRY(surg__k_out(k, i, dtype, surg_tensor_dims(t), (uint32_t)surg_tensor_rank(t)));
  if (surg__array_from_tensor(k->ctx, k->arena, t, &a) != SURG_OK) return SURG__K_NOMEM;
  if (dtype == SURG_STRING) return copy_strings(k, a.data, k->out[i].data, a.count);
  const size_t size = surg__dtype_unpacked(dtype);
  if (a.count) memcpy(k->out[i].data, a.data, (size_t)a.count * size);
  return SURG__K_OK;
}

static surg__kstatus take_outputs(surg_kctx *k, const surg_model *scratch,
                                  surg_tensor *const *out) {
  for (uint32_t i = 0; i < k->n_out; ++i) {
    if (!k->wanted[i]) continue;
    if (!out[i]) return surg__k_cannot(k, "a custom operator did not compute an output");
    if (out[i]->model != scratch)
      return surg__k_cannot(k, "a custom operator gave a tensor of another model");
    SURG__K_TRY(take_output(k, i, out[i]));
  }
  return SURG__K_OK;
}

static surg__kstatus call(surg_kctx *k, const surg__taught_operator *o, surg_model *scratch) {
  surg_tensor **in = surg__k_scratch(k, (size_t)k->n_in + 1, sizeof *in);
  surg_tensor **out = surg__k_scratch(k, (size_t)k->n_out + 1, sizeof *out);
  if (!in || !out) return SURG__K_NOMEM;
  SURG__K_TRY(make_inputs(k, scratch, in));
  for (uint32_t i = 0; i < k->n_out; ++i) out[i] = NULL;
  const surg__calling before = surg__calling_begin(o->plugin, "operator", o->op.op_type);
  const surg_status s = o->op.evaluate(o->op.user, k->node, scratch, in, k->n_in, out, k->n_out);
  surg__calling_end(before);
  if (scratch->status != SURG_OK) return SURG__K_NOMEM;
  switch (s) {
    case SURG_OK:
      return take_outputs(k, scratch, out);
    case SURG_EINVALID:
      return surg__k_invalid(k, "a custom operator rejects its inputs");
    case SURG_ELIMIT:
      return SURG__K_BUDGET;
    case SURG_ENOMEM:
      return SURG__K_NOMEM;
    default:
      return surg__k_cannot(k, "a custom operator cannot be computed here");
  }
}

surg__kstatus surg__taught_kernel(surg_kctx *k, const surg__taught_operator *o) {
  surg_model *scratch = surg_model_new(k->ctx, SCRATCH_IR, surg_schema_newest(""));
  if (!scratch) return SURG__K_NOMEM;
  const surg__kstatus s = call(k, o, scratch);
  surg_model_free(scratch);
  return s;
}
