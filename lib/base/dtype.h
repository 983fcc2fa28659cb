/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: sizes, names, and all conversions of numbers between them. */
#ifndef SURG_DTYPE_H
#define SURG_DTYPE_H

#include "base/base.h"

#define SURG__BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* Bits of one stored element (4 for INT4 ...); 0 for STRING, UNDEFINED and unknown types. */
unsigned surg__dtype_bits(int dtype);
/* The first IR version with this type; 1 if all versions have it. */
int64_t surg__dtype_ir(int dtype);
/* Bytes of one unpacked element (1 for sub-byte types, sizeof(surg_str) for STRING). */
size_t surg__dtype_unpacked(int dtype);
/* Bytes of n elements as stored in raw_data, rounded up; false on overflow or unknown type. */
bool surg__dtype_bytes(int dtype, uint64_t n, uint64_t *out);
const char *surg__dtype_name(int dtype);   /* "float", "int64" ... as in ONNX text; NULL: unknown */
int surg__dtype_from_name(const char *s, size_t n); /* 0 when unknown */
bool surg__dtype_is_float(int dtype);    /* FLOAT DOUBLE FLOAT16 BFLOAT16 FLOAT8* FLOAT4 */
bool surg__dtype_is_signed_int(int dtype); /* INT2 .. INT64 */
bool surg__dtype_is_unsigned_int(int dtype); /* UINT2 .. UINT64, not BOOL */
bool surg__dtype_is_int(int dtype); /* signed or unsigned integer */

/* Small float formats as bits. Conversion to float is exact; conversion from float rounds once, to
 * nearest even. `saturate` as the attribute of Cast: true maps values out of range to the largest
 * finite value, false to infinity or NaN. */
uint16_t surg__double_to_half(double d); /* rounded once */
uint16_t surg__double_to_bf16(double d);
float surg__fp8_to_float(int dtype, uint8_t b); /* the four FLOAT8 and FLOAT8E8M0 */
uint8_t surg__float_to_fp8(int dtype, float f, bool saturate);
float surg__fp4_to_float(uint8_t nibble);
uint8_t surg__float_to_fp4(float f);

static inline uint32_t surg__float_bits(float f) {
  uint32_t x;
  memcpy(&x, &f, sizeof x);
  return x;
}

static inline float surg__bits_float(uint32_t x) {
  float f;
  memcpy(&f, &x, sizeof f);
  return f;
}

/* Weights are converted by the gigabyte: these have no branches, so that loops become vectors. */

/* Normal halves: the exponent is rebiased and the mantissa rounded in one addition. Denormal ones:
 * adding 0.5 lets the addition of floats round. */
static inline uint16_t surg__float_to_half(float f) {
  const uint32_t sign = surg__float_bits(f) >> 16 & 0x8000, x = surg__float_bits(f) & 0x7fffffff;
  const uint32_t small = surg__float_bits(surg__bits_float(x) + 0.5f) - 0x3f000000;
  const uint32_t normal = (x + 0xc8000fff + (x >> 13 & 1)) >> 13;
  const uint32_t beyond = x > 0x7f800000 ? 0x7e00 : 0x7c00; /* from 65536 on; NaN */
  return (uint16_t)(sign | (x < 0x38800000 ? small : x < 0x47800000 ? normal : beyond));
}

static inline float surg__half_to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, m = (uint32_t)h & 0x3ff;
  const uint32_t x = (uint32_t)(h & 0x7fff) << 13, e = (uint32_t)h & 0x7c00;
  const uint32_t small = surg__float_bits((float)(int32_t)m * 0x1p-24f);
  const uint32_t normal = x + (e == 0x7c00 ? 0x70000000 : 0x38000000);
  return surg__bits_float(sign | (e == 0 ? small : normal));
}

static inline uint16_t surg__float_to_bf16(float f) {
  const uint32_t x = surg__float_bits(f), rounded = (x + 0x7fff + (x >> 16 & 1)) >> 16;
  const uint32_t nan = (x >> 16 & 0x8000) | 0x7fc0;
  return (uint16_t)((x & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

static inline float surg__bf16_to_float(uint16_t h) {
  return surg__bits_float((uint32_t)h << 16);
}

/* Convert between packed elements as stored (first element in the low bits) and one byte per
 * element, sign-extended for INT4 and INT2. Other types are copied between little-endian and native
 * byte order. Not for STRING. */
void surg__unpack(int dtype, uint64_t n, const void *packed, void *out);
void surg__pack(int dtype, uint64_t n, const void *unpacked, void *out);
/* As surg__unpack and surg__pack, without a copy where elements are stored as the machine has them:
 * then the result is `from`, else `room`, which has the size of the elements. */
const void *surg__unpacked(int dtype, uint64_t n, const void *from, void *room);
const void *surg__packed(int dtype, uint64_t n, const void *from, void *room);

#endif
