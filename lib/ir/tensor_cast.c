/* SPDX-License-Identifier: Apache-2.0 */
/* Converting the elements of a tensor to another float type, in pieces. */
#include "base/limits.h"
#include "base/real.h"
#include "ir/tensor.h"

#define PIECE ((size_t)SURG_LIMIT_PIECE / sizeof(double)) /* elements */

static bool takes(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16 ||
         dtype == SURG_BFLOAT16;
}

surg_tensor *surg_tensor_cast(surg_model *m, const surg_tensor *t, int dtype) {
  if (!surg__model_ok(m)) return NULL;
  const uint64_t count = surg_tensor_count(t);
  const int from = surg_tensor_dtype(t);
  size_t bytes = 0;
  if (!takes(dtype) || !takes(from) || surg_tensor_is_sparse(t)) {
    surg__fail(m, SURG_EUNSUPPORTED);
    return NULL;
  }
  const size_t in_size = surg__dtype_bits(from) / 8, size = surg__dtype_bits(dtype) / 8;
  assert(in_size > 0 && size > 0);
  if (count > SIZE_MAX || !surg__mul((size_t)count, size, &bytes)) {
    surg__fail(m, SURG_ELIMIT);
    return NULL;
  }
  uint8_t *in = surg__alloc(m->ctx, PIECE * in_size);
  uint8_t *out = surg__alloc(m->ctx, bytes ? bytes : 1);
  surg_status s = in && out ? SURG_OK : surg__alloc_status(m->ctx);
  for (uint64_t at = 0; s == SURG_OK && at < count; at += PIECE) {
    const size_t n = count - at < PIECE ? (size_t)(count - at) : PIECE;
    s = surg_tensor_read(t, at * in_size, in, n * in_size);
    for (size_t i = 0; s == SURG_OK && i < n; i++)
      surg__store_f64(dtype, out, at + i, surg__load_f64(from, in, i));
  }
  surg_tensor *made = NULL;
  if (s == SURG_OK)
    made = surg_tensor_new(m, dtype, surg_tensor_dims(t), surg_tensor_rank(t), out, bytes);
  else
    surg__fail(m, s);
  surg__free(m->ctx, in);
  surg__free(m->ctx, out);
  return made;
}
