/* SPDX-License-Identifier: Apache-2.0 */
/* See stream.h. */
#include "eval/core/stream.h"

#include "base/dtype.h"
#include "eval/core/number.h"
#include "eval/core/piece.h"

/* Whether a Transpose of a matrix exchanges its axes. */
static bool turns(const surg_node *n) {
  size_t count;
  const int64_t *perm = surg_node_ints(n, "perm", &count);
  return !perm || (count == 2 && perm[0] == 1 && perm[1] == 0);
}

bool surg__streams(const surg_node *n, size_t i, const surg__array *a) {
  const int dtype = a->dtype;
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN) return false;
  switch (surg_node_op(n)) {
    case SURG_OP_MatMul:
    case SURG_OP_Gemm:
      return i < 2 && surg__is_real(dtype);
    case SURG_OP_MatMulInteger:
      return i < 2;
    case SURG_OP_Transpose:
      return a->rank == 2 && turns(n);
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

/* Reads runs of adjacent elements of the matrix, for as many rows of the result as fit. */
static surg_status read_turned(const surg__stream *s, uint64_t at, uint64_t n, void *out) {
  const surg__array *x = &s->from[0];
  const uint64_t rows = (uint64_t)x->dims[1], columns = (uint64_t)x->dims[0], end = at + n;
  const size_t size = surg__dtype_unpacked(x->dtype);
  surg__numbers piece; /* of any type */
  surg_status status = SURG_OK;
  if (n == 0) return status;
  const uint64_t last = (end - 1) / columns + 1;
  for (uint64_t p = at / columns; p < last && status == SURG_OK; p += SURG__PIECE) {
    const uint64_t left = last - p;
    const uint64_t m = left < SURG__PIECE ? left : SURG__PIECE;
    for (uint64_t q = 0; q < columns && status == SURG_OK; q++) {
      status = surg__stream_read(x, q * rows + p, m, &piece);
      for (uint64_t i = 0; i < m && status == SURG_OK; i++) {
        const uint64_t to = (p + i) * columns + q;
        if (to < at || to >= end) continue;
        memcpy((char *)out + (size_t)(to - at) * size, (const char *)&piece + i * size, size);
      }
    }
  }
  return status;
}

surg__kstatus surg__k_turned(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  surg__stream *s;
  if (!k->wanted[0]) return SURG__K_OK;
  if (x->stream->turned) {
    k->out[0] = surg__array_ref(&x->stream->from[0]);
    return SURG__K_OK;
  }
  const int64_t dims[] = {x->dims[1], x->dims[0]};
  if (surg__array_stream(k->ctx, x->dtype, dims, 2, &k->out[0], &s) != SURG_OK)
    return SURG__K_NOMEM;
  s->read = read_turned;
  s->turned = true;
  s->from[0] = surg__array_ref(x);
  return SURG__K_OK;
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
