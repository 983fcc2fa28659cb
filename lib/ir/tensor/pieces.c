/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that are computed in pieces. */
#include <onnxsurg/precision.h>

#include "base/dtype.h"
#include "base/limits.h"
#include "ir/tensor.h"

static surg_status fill(surg_tensor *t, surg_bytes_fn fn, void *user) {
  surg_context *ctx = t->model->ctx;
  const uint64_t most = SURG_LIMIT_PIECE;
  uint8_t *piece = surg__alloc(ctx, t->bytes < most ? (size_t)t->bytes : (size_t)most);
  surg_status s = piece ? SURG_OK : surg__alloc_status(ctx);
  for (uint64_t at = 0; s == SURG_OK && at < t->bytes; at += most) {
    const size_t n = (size_t)(t->bytes - at < most ? t->bytes - at : most);
    s = fn(user, at, piece, n);
    if (s == SURG_OK) s = surg__blob_write(t->blob, at, piece, n);
  }
  surg__free(ctx, piece);
  return s;
}

surg_tensor *surg_tensor_new_pieces(surg_model *m, int dtype, const int64_t *dims, size_t rank,
                                    surg_bytes_fn fn, void *user) {
  if (!surg__model_ok(m)) return NULL;
  if (!fn || surg__dtype_bits(dtype) == 0) return surg__tensor_refuse(m, "it has no such elements");
  surg_tensor *t = surg__tensor_blank(m, dtype, dims, rank);
  const surg_status s = t && t->bytes ? fill(t, fn, user) : SURG_OK;
  if (s == SURG_OK) return t;
  surg__fail(m, s);
  return NULL;
}
