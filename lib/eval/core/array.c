/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between tensors of a model and the unpacked arrays that kernels use. */
#include "base/context.h"
#include "base/counted.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "eval/core/eval.h"

static surg_status read_elements(surg_context *ctx, surg__arena *arena, const surg_tensor *t,
                                 surg__array *out) {
  size_t unpacked;
  if (out->count > SIZE_MAX ||
      !surg__mul((size_t)out->count, surg__dtype_unpacked(out->dtype), &unpacked)) {
    return SURG_ELIMIT;
  }
  out->data = surg__arena_alloc(arena, unpacked > 0 ? unpacked : 1);
  if (!out->data) return surg__alloc_status(ctx);
  return surg_tensor_read_numbers(t, 0, out->data, (size_t)out->count);
}

surg_status surg__array_from_tensor(surg_context *ctx, surg__arena *arena, const surg_tensor *t,
                                    surg__array *out) {
  *out = (surg__array){.dtype = surg_tensor_dtype(t),
                       .rank = (uint32_t)surg_tensor_rank(t),
                       .dims = surg_tensor_dims(t),
                       .count = surg_tensor_count(t)};
  if (surg_tensor_is_sparse(t)) return SURG_EUNSUPPORTED;
  if (out->dtype == SURG_STRING) {
    const surg_str *strings = surg__strings(t);
    out->data = (void *)(uintptr_t)strings;
    if (!strings && out->count > 0) return surg__alloc_status(ctx);
    if (!strings) out->data = surg__arena_alloc(arena, 1);
    return out->data ? SURG_OK : surg__alloc_status(ctx);
  }
  if (surg__dtype_bits(out->dtype) == 0) return SURG_EUNSUPPORTED;
  surg_status s = read_elements(ctx, arena, t, out);
  if (s == SURG_OK && out->dtype == SURG_BOOL) {
    uint8_t *b = out->data;
    for (uint64_t i = 0; i < out->count; ++i) b[i] = b[i] != 0;
  }
  return s;
}

surg_tensor *surg__array_to_tensor(surg_model *m, const surg__array *a) {
  if (a->dtype == SURG_STRING) return surg_tensor_new_strings(m, a->dims, a->rank, a->data);
  if (a->count > SIZE_MAX) return NULL;
  return surg_tensor_new_numbers(m, a->dtype, a->dims, a->rank, a->data, (size_t)a->count);
}
