/* SPDX-License-Identifier: Apache-2.0 */
/* QuantizeLinear and DequantizeLinear in vectors. */
#include "eval/fast/quantize_fast.h"

#include <math.h>

#include "eval/fast/hot.h"

/* A quotient that is no integer of 32 bits any more is cut before it becomes one. */
#define QUANTIZE(name, type, low, high)                                                         \
  SURG__HOT(name, (const float *x, type *o, uint64_t n, float scale, int zero, bool *whole),    \
            (x, o, n, scale, zero, whole)) {                                                    \
    int bad = 0;                                                                                \
    for (uint64_t i = 0; i < n; ++i) {                                                          \
      float q = nearbyintf(x[i] / scale);                                                       \
      bad |= q != q;                                                                            \
      q = q > -200000 ? q : -200000;                                                            \
      q = q < 200000 ? q : 200000;                                                              \
      int v = (int)q + zero;                                                                    \
      v = v < (low) ? (low) : v;                                                                \
      o[i] = (type)(v > (high) ? (high) : v);                                                   \
    }                                                                                           \
    *whole = bad == 0;                                                                          \
  }
QUANTIZE(to_int8, int8_t, INT8_MIN, INT8_MAX)
QUANTIZE(to_uint8, uint8_t, 0, UINT8_MAX)
QUANTIZE(to_int16, int16_t, INT16_MIN, INT16_MAX)
QUANTIZE(to_uint16, uint16_t, 0, UINT16_MAX)

bool surg__quantize_run(const surg__array *in, const surg__array *out, uint64_t at, uint64_t n,
                        float scale, int64_t zero) {
  if (in->dtype != SURG_FLOAT) return false;
  const float *x = (const float *)in->data + at;
  bool whole = true;
  switch (out->dtype) {
    case SURG_INT8:
      to_int8(x, (int8_t *)out->data + at, n, scale, (int)zero, &whole);
      return whole;
    case SURG_UINT8:
      to_uint8(x, (uint8_t *)out->data + at, n, scale, (int)zero, &whole);
      return whole;
    case SURG_INT16:
      to_int16(x, (int16_t *)out->data + at, n, scale, (int)zero, &whole);
      return whole;
    case SURG_UINT16:
      to_uint16(x, (uint16_t *)out->data + at, n, scale, (int)zero, &whole);
      return whole;
    default:
      return false;
  }
}

#define DEQUANTIZE(name, type)                                                            \
  SURG__HOT(name, (const type *x, float *o, uint64_t n, float scale, int zero),           \
            (x, o, n, scale, zero)) {                                                     \
    for (uint64_t i = 0; i < n; ++i) o[i] = (float)((int)x[i] - zero) * scale;            \
  }
DEQUANTIZE(of_int8, int8_t)
DEQUANTIZE(of_uint8, uint8_t)
DEQUANTIZE(of_int16, int16_t)
DEQUANTIZE(of_uint16, uint16_t)

bool surg__dequantize_run(const surg__array *in, const surg__array *out, uint64_t at, uint64_t n,
                          float scale, int64_t zero) {
  if (out->dtype != SURG_FLOAT) return false;
  float *o = (float *)out->data + at;
  switch (in->dtype) {
    case SURG_INT8:
      of_int8((const int8_t *)in->data + at, o, n, scale, (int)zero);
      return true;
    case SURG_UINT8:
      of_uint8((const uint8_t *)in->data + at, o, n, scale, (int)zero);
      return true;
    case SURG_INT16:
      of_int16((const int16_t *)in->data + at, o, n, scale, (int)zero);
      return true;
    case SURG_UINT16:
      of_uint16((const uint16_t *)in->data + at, o, n, scale, (int)zero);
      return true;
    default:
      return false;
  }
}
