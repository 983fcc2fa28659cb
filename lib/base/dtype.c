/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: sizes and names, the small float formats, and the packed storage format. All
 * conversions between a small format and float or double in the program are here. */
#include "base/dtype.h"

#include <float.h>
#include <math.h>

#if FLT_EVAL_METHOD != 0
#error "float and double must be computed in their own precision, as on x86 by -mfpmath=sse"
#endif

static const struct {
  const char *name;
  uint8_t bits;
  uint8_t ir; /* first IR version with the type; 0: all have it */
} types[SURG_DTYPE_COUNT] = {
    [SURG_FLOAT] = {"float", 32},
    [SURG_UINT8] = {"uint8", 8},
    [SURG_INT8] = {"int8", 8},
    [SURG_UINT16] = {"uint16", 16},
    [SURG_INT16] = {"int16", 16},
    [SURG_INT32] = {"int32", 32},
    [SURG_INT64] = {"int64", 64},
    [SURG_STRING] = {"string", 0},
    [SURG_BOOL] = {"bool", 8},
    [SURG_FLOAT16] = {"float16", 16},
    [SURG_DOUBLE] = {"double", 64},
    [SURG_UINT32] = {"uint32", 32},
    [SURG_UINT64] = {"uint64", 64},
    [SURG_COMPLEX64] = {"complex64", 64},
    [SURG_COMPLEX128] = {"complex128", 128},
    [SURG_BFLOAT16] = {"bfloat16", 16, 4},
    [SURG_FLOAT8E4M3FN] = {"float8e4m3fn", 8, 9},
    [SURG_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 8, 9},
    [SURG_FLOAT8E5M2] = {"float8e5m2", 8, 9},
    [SURG_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 8, 9},
    [SURG_UINT4] = {"uint4", 4, 10},
    [SURG_INT4] = {"int4", 4, 10},
    [SURG_FLOAT4E2M1] = {"float4e2m1", 4, 11},
    [SURG_FLOAT8E8M0] = {"float8e8m0", 8, 12},
    [SURG_UINT2] = {"uint2", 2, 13},
    [SURG_INT2] = {"int2", 2, 13},
};

static bool known(int dtype) {
  return dtype > SURG_UNDEFINED && dtype < SURG_DTYPE_COUNT;
}

unsigned surg__dtype_bits(int dtype) {
  return known(dtype) ? types[dtype].bits : 0;
}

int64_t surg__dtype_ir(int dtype) {
  return known(dtype) && types[dtype].ir ? types[dtype].ir : 1;
}

size_t surg__dtype_unpacked(int dtype) {
  if (dtype == SURG_STRING) return sizeof(surg_str);
  return (surg__dtype_bits(dtype) + 7) / 8;
}

bool surg__dtype_bytes(int dtype, uint64_t n, uint64_t *out) {
  unsigned bits = surg__dtype_bits(dtype);
  if (bits == 0) return false;
  if (bits >= 8) return surg__mul_u64(n, bits / 8, out);
  unsigned per_byte = 8 / bits;
  *out = n / per_byte + (n % per_byte != 0);
  return true;
}

const char *surg__dtype_name(int dtype) {
  return known(dtype) ? types[dtype].name : NULL;
}

int surg__dtype_from_name(const char *s, size_t n) {
  for (int d = 1; d < SURG_DTYPE_COUNT; ++d) {
    if (strlen(types[d].name) == n && memcmp(types[d].name, s, n) == 0) return d;
  }
  return SURG_UNDEFINED;
}

bool surg__dtype_is_float(int dtype) {
  switch (dtype) {
    case SURG_FLOAT:
    case SURG_DOUBLE:
    case SURG_FLOAT16:
    case SURG_BFLOAT16:
    case SURG_FLOAT8E4M3FN:
    case SURG_FLOAT8E4M3FNUZ:
    case SURG_FLOAT8E5M2:
    case SURG_FLOAT8E5M2FNUZ:
    case SURG_FLOAT8E8M0:
    case SURG_FLOAT4E2M1:
      return true;
    default:
      return false;
  }
}

bool surg__dtype_is_signed_int(int dtype) {
  return dtype == SURG_INT2 || dtype == SURG_INT4 || dtype == SURG_INT8 || dtype == SURG_INT16 ||
         dtype == SURG_INT32 || dtype == SURG_INT64;
}

bool surg__dtype_is_unsigned_int(int dtype) {
  return dtype == SURG_UINT2 || dtype == SURG_UINT4 || dtype == SURG_UINT8 ||
         dtype == SURG_UINT16 || dtype == SURG_UINT32 || dtype == SURG_UINT64;
}

bool surg__dtype_is_int(int dtype) {
  return surg__dtype_is_signed_int(dtype) || surg__dtype_is_unsigned_int(dtype);
}

/* --- small floats --- */

/* Encodes the magnitude of a finite double in a format with `mant` mantissa bits, rounded once to
 * nearest even. On overflow the result exceeds the largest finite code of the format. */
static uint32_t encode(double d, int mant, int bias) {
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  int exponent = (int)(bits >> 52 & 0x7ff);
  if (exponent == 0) return 0; /* below 2^-1022: 0 in every small format */
  uint64_t sig = (bits & 0xfffffffffffffull) | 1ull << 52;
  int e = exponent - 1023, shift = 52 - mant;
  if (e < 1 - bias) {
    shift += 1 - bias - e;
    e = 1 - bias;
  }
  if (shift > 54) return 0;
  uint64_t q = sig >> shift, rest = sig & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  if (rest > half || (rest == half && (q & 1))) ++q;
  /* A carry out of the mantissa correctly increments the exponent. */
  return (uint32_t)((uint64_t)(e + bias - 1) << mant) + (uint32_t)q;
}

/* Decodes magnitude bits that are not a special code. Exact. */
static float decode(uint32_t code, int mant, int bias) {
  uint32_t e = code >> mant, m = code & ((1u << mant) - 1);
  if (e == 0) return ldexpf((float)m, 1 - bias - mant);
  return ldexpf((float)(m | 1u << mant), (int)e - bias - mant);
}

static uint16_t double_to_16(double d, int mant, int bias, uint16_t inf) {
  uint16_t sign = signbit(d) ? 0x8000 : 0;
  if (isnan(d)) return (uint16_t)(sign | inf | 1u << (mant - 1));
  if (isinf(d)) return sign | inf;
  uint32_t code = encode(d, mant, bias);
  return (uint16_t)(sign | (code > inf ? inf : code));
}

uint16_t surg__double_to_half(double d) {
  return double_to_16(d, 10, 15, 0x7c00);
}

uint16_t surg__double_to_bf16(double d) {
  return double_to_16(d, 7, 127, 0x7f80);
}

/* A float8 format with a sign. The UZ formats have no infinity, no -0, and NaN at 0x80. */
typedef struct format8 {
  int mant, bias;
  uint8_t max; /* largest finite code */
  bool inf, uz;
} format8;

static format8 format_of(int dtype) {
  switch (dtype) {
    case SURG_FLOAT8E4M3FN:
      return (format8){3, 7, 0x7e, false, false};
    case SURG_FLOAT8E4M3FNUZ:
      return (format8){3, 8, 0x7f, false, true};
    case SURG_FLOAT8E5M2:
      return (format8){2, 15, 0x7b, true, false};
    default:
      assert(dtype == SURG_FLOAT8E5M2FNUZ);
      return (format8){2, 16, 0x7f, false, true};
  }
}

float surg__fp8_to_float(int dtype, uint8_t b) {
  if (dtype == SURG_FLOAT8E8M0) return b == 0xff ? NAN : ldexpf(1.0f, (int)b - 127);
  format8 f = format_of(dtype);
  if (f.uz && b == 0x80) return NAN;
  uint8_t code = b & 0x7f;
  bool negative = b & 0x80;
  float v;
  if (code <= f.max) {
    v = decode(code, f.mant, f.bias);
  } else {
    v = f.inf && code == f.max + 1 ? INFINITY : NAN;
  }
  return negative ? -v : v;
}

/* FLOAT8E8M0, a power of two: rounds the exponent to nearest and drops the sign. */
static uint8_t float_to_e8m0(float v, bool saturate) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  uint32_t e = bits >> 23 & 0xff, m = bits & 0x7fffff;
  if (e == 0xff) return 0xff;
  bool up = m > 0x400000 || (m == 0x400000 && e > 0);
  if (up && !(saturate && e == 0xfe)) ++e;
  return (uint8_t)e;
}

uint8_t surg__float_to_fp8(int dtype, float v, bool saturate) {
  if (dtype == SURG_FLOAT8E8M0) return float_to_e8m0(v, saturate);
  format8 f = format_of(dtype);
  uint8_t sign = signbit(v) ? 0x80 : 0;
  uint8_t nan = f.uz ? 0x80 : (uint8_t)(sign | 0x7f);
  if (isnan(v)) return nan;
  uint32_t code = isinf(v) ? 0x100 : encode((double)v, f.mant, f.bias);
  if (code > f.max) {
    if (saturate) return sign | f.max;
    return f.inf ? (uint8_t)(sign | (f.max + 1)) : nan;
  }
  if (f.uz && code == 0) return 0;
  return (uint8_t)(sign | code);
}

float surg__fp4_to_float(uint8_t nibble) {
  float v = decode(nibble & 7, 1, 1);
  return nibble & 8 ? -v : v;
}

/* The format has no infinity and no NaN: both become the largest value, as specified for Cast. */
uint8_t surg__float_to_fp4(float v) {
  uint8_t sign = signbit(v) && !isnan(v) ? 8 : 0;
  if (!isfinite(v)) return sign | 7;
  uint32_t code = encode((double)v, 1, 1);
  return (uint8_t)(sign | (code > 7 ? 7 : code));
}

/* --- packed layout --- */

static bool is_signed_small(int dtype) {
  return dtype == SURG_INT4 || dtype == SURG_INT2;
}

#if SURG__BIG_ENDIAN
static void copy_swapped(int dtype, uint64_t n, const void *from, void *to) {
  size_t unit = surg__dtype_unpacked(dtype);
  uint64_t total = n * unit;
  if (dtype == SURG_COMPLEX64 || dtype == SURG_COMPLEX128) unit /= 2;
  const uint8_t *in = from;
  uint8_t *out = to;
  for (uint64_t i = 0; i < total; i += unit) {
    for (size_t k = 0; k < unit; ++k) out[i + k] = in[i + unit - 1 - k];
  }
}
#else
static void copy_swapped(int dtype, uint64_t n, const void *from, void *to) {
  if (n > 0) memcpy(to, from, (size_t)(n * surg__dtype_unpacked(dtype)));
}
#endif

void surg__unpack(int dtype, uint64_t n, const void *packed, void *out) {
  unsigned bits = surg__dtype_bits(dtype);
  assert(bits != 0);
  if (bits >= 8) {
    copy_swapped(dtype, n, packed, out);
    return;
  }
  const uint8_t *in = packed;
  uint8_t *to = out, mask = (uint8_t)((1u << bits) - 1), top = (uint8_t)(1u << (bits - 1));
  bool extend = is_signed_small(dtype);
  unsigned per_byte = 8 / bits;
  for (uint64_t i = 0; i < n; ++i) {
    uint8_t v = in[i / per_byte] >> (unsigned)(i % per_byte) * bits & mask;
    to[i] = extend && (v & top) ? (uint8_t)(v | (uint8_t)~mask) : v;
  }
}

void surg__pack(int dtype, uint64_t n, const void *unpacked, void *out) {
  unsigned bits = surg__dtype_bits(dtype);
  assert(bits != 0);
  if (bits >= 8) {
    copy_swapped(dtype, n, unpacked, out);
    return;
  }
  const uint8_t *in = unpacked;
  uint8_t *to = out, mask = (uint8_t)((1u << bits) - 1);
  unsigned per_byte = 8 / bits;
  uint64_t i = 0;
  for (; bits == 4 && i + 2 <= n; i += 2)
    to[i / 2] = (uint8_t)((in[i] & 0xf) | in[i + 1] << 4);
  for (; i < n; ++i) {
    unsigned at = (unsigned)(i % per_byte) * bits;
    uint8_t v = (uint8_t)((in[i] & mask) << at);
    to[i / per_byte] = at == 0 ? v : (uint8_t)(to[i / per_byte] | v);
  }
}

static bool is_native(int dtype) {
  return !SURG__BIG_ENDIAN && surg__dtype_bits(dtype) >= 8;
}

const void *surg__unpacked(int dtype, uint64_t n, const void *from, void *room) {
  if (is_native(dtype)) return from;
  surg__unpack(dtype, n, from, room);
  return room;
}

const void *surg__packed(int dtype, uint64_t n, const void *from, void *room) {
  if (is_native(dtype)) return from;
  surg__pack(dtype, n, from, room);
  return room;
}
