/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between tensors of a model and the unpacked arrays that kernels use. */
#include "base/context.h"
#include "base/counted.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "eval/core/eval.h"

/* Whether the stored form of a type is equal to its unpacked form on this machine. */
static bool same_form(int dtype) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return surg__dtype_bits(dtype) == 8;
#else
  return surg__dtype_bits(dtype) >= 8;
#endif
}

/* Reads the stored bytes of a tensor; sub-byte types are unpacked from a separate buffer. */
static surg_status read_elements(surg_context *ctx, surg__arena *arena, const surg_tensor *t,
                                 surg__array *out) {
  uint64_t stored;
  size_t unpacked;
  if (!surg__dtype_bytes(out->dtype, out->count, &stored) || stored > SIZE_MAX ||
      out->count > SIZE_MAX ||
      !surg__mul((size_t)out->count, surg__dtype_unpacked(out->dtype), &unpacked)) {
    return SURG_ELIMIT;
  }
  out->data = surg__arena_alloc(arena, unpacked > 0 ? unpacked : 1);
  if (!out->data) return surg__alloc_status(ctx);
  if (same_form(out->dtype)) return surg_tensor_read(t, 0, out->data, (size_t)stored);
  void *packed = surg__alloc(ctx, stored > 0 ? (size_t)stored : 1);
  if (!packed) return surg__alloc_status(ctx);
  surg_status s = surg_tensor_read(t, 0, packed, (size_t)stored);
  if (s == SURG_OK) surg__unpack(out->dtype, out->count, packed, out->data);
  surg__free(ctx, packed);
  return s;
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
  uint64_t stored;
  if (!surg__dtype_bytes(a->dtype, a->count, &stored) || stored > SIZE_MAX) return NULL;
  size_t n = (size_t)stored;
  if (same_form(a->dtype)) return surg_tensor_new(m, a->dtype, a->dims, a->rank, a->data, n);
  surg_context *ctx = surg_model_context(m);
  void *packed = surg__alloc(ctx, n > 0 ? n : 1);
  if (!packed) return NULL;
  surg__pack(a->dtype, a->count, a->data, packed);
  surg_tensor *t = surg_tensor_new(m, a->dtype, a->dims, a->rank, packed, n);
  surg__free(ctx, packed);
  return t;
}
