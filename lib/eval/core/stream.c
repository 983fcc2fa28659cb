/* SPDX-License-Identifier: Apache-2.0 */
/* See stream.h. */
#include "eval/core/stream.h"

#include "base/dtype.h"
#include "eval/core/number.h"

bool surg__streams(const surg_node *n, size_t i, int dtype) {
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN) return false;
  switch (surg_node_op(n)) {
    case SURG_OP_MatMul:
    case SURG_OP_Gemm:
      return i < 2 && surg__is_real(dtype);
    case SURG_OP_MatMulInteger:
      return i < 2;
    case SURG_OP_DequantizeLinear:
    case SURG_OP_Gather:
      return i == 0;
    default:
      return false;
  }
}

static surg_status read_tensor(const surg__stream *s, uint64_t at, uint64_t n, void *out) {
  return surg_tensor_read_numbers(s->tensor, at, out, (size_t)n);
}

bool surg__stream_of_tensor(surg_context *ctx, const surg_tensor *t, uint64_t least,
                            surg__array *out) {
  const int dtype = surg_tensor_dtype(t);
  surg__stream *s;
  if (surg_tensor_count(t) < least || surg_tensor_is_sparse(t) || dtype == SURG_STRING ||
      dtype == SURG_BOOL || surg__dtype_bits(dtype) == 0)
    return false;
  const surg_status made = surg__array_stream(ctx, dtype, surg_tensor_dims(t),
                                              (uint32_t)surg_tensor_rank(t), out, &s);
  if (made != SURG_OK) return false;
  s->read = read_tensor;
  s->tensor = t;
  return true;
}

surg_status surg__array_load(surg_context *ctx, surg__array *a) {
  surg__array whole;
  if (!a->stream) return SURG_OK;
  surg_status s = surg__array_make(ctx, a->dtype, a->dims, a->rank, &whole);
  if (s != SURG_OK) return s;
  s = surg__stream_read(a, 0, a->count, whole.data);
  surg__array_drop(s == SURG_OK ? a : &whole);
  if (s == SURG_OK) *a = whole;
  return s;
}

surg__kstatus surg__k_stream(surg_kctx *k, uint32_t i, int dtype, surg__stream **s) {
  const surg__array *x = &k->in[0];
  *s = NULL;
  if (!k->wanted[i]) return SURG__K_OK;
  return surg__array_stream(k->ctx, dtype, x->dims, x->rank, &k->out[i], s) == SURG_OK
             ? SURG__K_OK
             : SURG__K_NOMEM;
}

void surg__k_unread(surg_kctx *k, surg_status s) {
  if (s != SURG_OK && k->stopped == SURG_OK) k->stopped = s;
}
