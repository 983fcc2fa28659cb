/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of emissions: numbers of rules as elements of a type, each of which has to fit. */
#include <math.h>

#include "base/dtype.h"
#include "rewrite/lang/rule.h"

static bool int_fits(int dtype, int64_t v) {
  switch (dtype) {
    case SURG_INT64:
      return true;
    case SURG_INT32:
      return v >= INT32_MIN && v <= INT32_MAX;
    case SURG_INT16:
      return v >= INT16_MIN && v <= INT16_MAX;
    case SURG_INT8:
      return v >= INT8_MIN && v <= INT8_MAX;
    case SURG_UINT64:
      return v >= 0;
    case SURG_UINT32:
      return v >= 0 && v <= UINT32_MAX;
    case SURG_UINT16:
      return v >= 0 && v <= UINT16_MAX;
    case SURG_UINT8:
      return v >= 0 && v <= UINT8_MAX;
    case SURG_BOOL:
      return v == 0 || v == 1;
    default:
      return false;
  }
}

/* Writes one element in raw_data format. Returns false if the type cannot represent it. */
bool surg__rput_number(int dtype, bool real, const surg__rnum *n, uint8_t *out) {
  const double d = real ? n->f : (double)n->i;
  if (!n->known) return false;
  switch (dtype) {
    case SURG_FLOAT: {
      const float f = (float)d;
      surg__pack(dtype, 1, &f, out);
      return true;
    }
    case SURG_DOUBLE:
      surg__pack(dtype, 1, &d, out);
      return true;
    case SURG_FLOAT16:
    case SURG_BFLOAT16: {
      const uint16_t h = dtype == SURG_FLOAT16 ? surg__double_to_half(d) : surg__double_to_bf16(d);
      surg__pack(dtype, 1, &h, out);
      return true;
    }
    default:
      break;
  }
  if (real && (!(fabs(d) < 9e15) || d != floor(d))) return false;
  const int64_t v = real ? (int64_t)d : n->i;
  if (!int_fits(dtype, v)) return false;
  switch (surg__dtype_bits(dtype)) {
    case 8:
      *out = (uint8_t)v;
      return true;
    case 16:
      surg__pack(dtype, 1, &(uint16_t){(uint16_t)v}, out);
      return true;
    case 32:
      surg__pack(dtype, 1, &(uint32_t){(uint32_t)v}, out);
      return true;
    default:
      assert(surg__dtype_bits(dtype) == 64); /* `int_fits` accepts no other width */
      surg__pack(dtype, 1, &(uint64_t){(uint64_t)v}, out);
      return true;
  }
}

surg_tensor *surg__rtensor(surg__match *m, const surg__rexpr *expr, const surg__rexpr *type) {
  const surg__rvalue v = surg__reval(m, expr), d = surg__reval(m, type);
  const bool list = v.kind == SURG__R_INTS || v.kind == SURG__R_FLOATS;
  const bool real = v.kind == SURG__R_FLOAT || v.kind == SURG__R_FLOATS;
  const int64_t length = (int64_t)v.n;
  if (d.kind != SURG__R_DTYPE) return NULL;
  if (!list && v.kind != SURG__R_INT && v.kind != SURG__R_FLOAT && v.kind != SURG__R_BOOL)
    return NULL;
  const int dtype = (int)d.one.i;
  const int64_t *dims = v.dims ? v.dims : list ? &length : NULL;
  const size_t rank = v.dims ? v.rank : list ? 1 : 0;
  const size_t size = surg__dtype_bits(dtype) / 8;
  uint64_t count;
  if (!size || size > 8 || !surg__dims_product(dims, rank, &count)) return NULL;
  assert(!list || count == v.n); /* `tensor` of guards compares count and dims */
  uint8_t *raw = surg__arena_array(m->arena, (size_t)count + 1, size);
  if (!raw) return NULL;
  for (uint64_t i = 0; i < count; i++)
    if (!surg__rput_number(dtype, real, list ? &v.items[i] : &v.one, raw + i * size)) return NULL;
  return surg_tensor_new(m->m, dtype, dims, rank, raw, (size_t)count * size);
}
