/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors from arrays of C and back. Files are little-endian, a machine need not be: elements of
 * more than a byte cross here, and in the decoders of files. */
#include "ir/tensor.h"

#include "base/diag.h"
#include "base/dtype.h"

#define SMALL 512 /* bytes that are converted on the stack */

/* Whether an array holds elements as a file does. */
static bool as_stored(int dtype) {
  const unsigned bits = surg__dtype_bits(dtype);
  return SURG__BIG_ENDIAN ? bits == 8 : bits >= 8;
}

surg_tensor *surg_tensor_new_numbers(surg_model *m, int dtype, const int64_t *dims, size_t rank,
                                     const void *numbers, size_t count) {
  uint64_t bytes, elements;
  uint8_t small[SMALL];
  if (!surg__model_ok(m)) return NULL;
  if (surg__dtype_bits(dtype) == 0) return surg__tensor_refuse(m, "no such element type");
  if ((rank && !dims) || !surg__dims_product(dims, rank, &elements) || elements != count ||
      (count && !numbers))
    return surg__tensor_refuse(m, "its data do not fit its dims");
  if (!surg__dtype_bytes(dtype, count, &bytes) || bytes > SIZE_MAX)
    return surg__tensor_refuse(m, "its size is invalid");
  if (as_stored(dtype)) return surg_tensor_new(m, dtype, dims, rank, numbers, (size_t)bytes);
  uint8_t *stored = bytes <= SMALL ? small : surg__alloc(m->ctx, (size_t)bytes);
  if (!stored) return surg__failed(m);
  surg__pack(dtype, count, numbers, stored);
  surg_tensor *t = surg_tensor_new(m, dtype, dims, rank, stored, (size_t)bytes);
  if (stored != small) surg__free(m->ctx, stored);
  return t;
}

/* Reads elements that begin at a byte. */
static surg_status from_byte(const surg_tensor *t, uint64_t first, void *out, size_t count) {
  const unsigned bits = surg__dtype_bits(t->dtype);
  const uint64_t at = first / 8 * bits + first % 8 * bits / 8;
  uint64_t bytes = 0;
  uint8_t small[SMALL];
  assert(first % 8 * bits % 8 == 0);
  surg__dtype_bytes(t->dtype, count, &bytes); /* `out` has room for them: they fit a size_t */
  if (as_stored(t->dtype)) return surg_tensor_read(t, at, out, (size_t)bytes);
  surg_context *ctx = t->model->ctx;
  uint8_t *stored = bytes <= SMALL ? small : surg__alloc(ctx, (size_t)bytes);
  if (!stored) return surg__alloc_status(ctx);
  const surg_status s = surg_tensor_read(t, at, stored, (size_t)bytes);
  if (s == SURG_OK) surg__unpack(t->dtype, count, stored, out);
  if (stored != small) surg__free(ctx, stored);
  return s;
}

surg_status surg_tensor_read_numbers(const surg_tensor *t, uint64_t first, void *out,
                                     size_t count) {
  if (!t || (count && !out)) return SURG_EUSAGE;
  const surg_model *m = t->model;
  if (m->status != SURG_OK) return m->status;
  if (surg__dtype_bits(t->dtype) == 0 || surg_tensor_is_sparse(t)) return SURG_EUNSUPPORTED;
  if (first > t->count || count > t->count - first)
    return surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m), "read past the end of a tensor");
  const unsigned bits = surg__dtype_bits(t->dtype), inside = bits < 8 ? 8 / bits : 1;
  const size_t skip = (size_t)(first % inside);
  size_t done = 0;
  if (skip && count) { /* the rest of a byte that begins before the first element */
    uint8_t wide[8];
    const uint64_t left = t->count - (first - skip);
    const size_t there = left < inside ? (size_t)left : inside;
    const surg_status s = from_byte(t, first - skip, wide, there);
    if (s != SURG_OK) return s;
    done = there - skip < count ? there - skip : count;
    memcpy(out, wide + skip, done);
  }
  if (done == count) return SURG_OK;
  const size_t size = surg__dtype_unpacked(t->dtype);
  return from_byte(t, first + done, (uint8_t *)out + done * size, count - done);
}
