/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: sizes, names, the packed layout, and every code of every small float format
 * against a slow search for the nearest value. */
#include <math.h>
#include <onnxsurg/onnxsurg.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "../unit.h"

START_TEST(sizes) {
  uint64_t n = 0;
  ck_assert_uint_eq(surg__dtype_bits(SURG_FLOAT), 32);
  ck_assert_uint_eq(surg__dtype_bits(SURG_INT4), 4);
  ck_assert_uint_eq(surg__dtype_bits(SURG_UINT2), 2);
  ck_assert_uint_eq(surg__dtype_bits(SURG_COMPLEX128), 128);
  ck_assert_uint_eq(surg__dtype_bits(SURG_STRING), 0);
  ck_assert_uint_eq(surg__dtype_bits(SURG_UNDEFINED), 0);
  ck_assert_uint_eq(surg__dtype_bits(-1), 0);
  ck_assert_uint_eq(surg__dtype_bits(SURG_DTYPE_COUNT), 0);
  ck_assert_int_eq(surg_dtype_ir_version(SURG_FLOAT), 1);
  ck_assert_int_eq(surg_dtype_ir_version(SURG_BFLOAT16), 4);
  ck_assert_int_eq(surg_dtype_ir_version(SURG_FLOAT8E5M2), 9);
  ck_assert_int_eq(surg_dtype_ir_version(SURG_INT4), 10);
  ck_assert_int_eq(surg_dtype_ir_version(SURG_UINT2), 13);
  ck_assert_int_eq(surg_dtype_ir_version(SURG_UNDEFINED), 1);
  ck_assert_int_eq(surg_dtype_ir_version(SURG_DTYPE_COUNT), 1);
  ck_assert_uint_eq(surg__dtype_unpacked(SURG_INT2), 1);
  ck_assert_uint_eq(surg__dtype_unpacked(SURG_BFLOAT16), 2);
  ck_assert_uint_eq(surg__dtype_unpacked(SURG_STRING), sizeof(surg_str));
  ck_assert(surg__dtype_bytes(SURG_INT4, 3, &n));
  ck_assert_uint_eq(n, 2);
  ck_assert(surg__dtype_bytes(SURG_UINT2, 5, &n));
  ck_assert_uint_eq(n, 2);
  ck_assert(surg__dtype_bytes(SURG_DOUBLE, 0, &n));
  ck_assert_uint_eq(n, 0);
  ck_assert(surg__dtype_bytes(SURG_FLOAT4E2M1, UINT64_MAX, &n));
  ck_assert(n == UINT64_MAX / 2 + 1);
  ck_assert(!surg__dtype_bytes(SURG_DOUBLE, UINT64_MAX / 4, &n));
  ck_assert(!surg__dtype_bytes(SURG_STRING, 1, &n));
}
END_TEST

START_TEST(names) {
  for (int d = 1; d < SURG_DTYPE_COUNT; ++d) {
    const char *name = surg__dtype_name(d);
    ck_assert_ptr_nonnull(name);
    ck_assert_int_eq(surg__dtype_from_name(name, strlen(name)), d);
  }
  ck_assert_ptr_null(surg__dtype_name(0));
  ck_assert_ptr_null(surg__dtype_name(SURG_DTYPE_COUNT));
  ck_assert_int_eq(surg__dtype_from_name("float16", 5), SURG_FLOAT);
  ck_assert_int_eq(surg__dtype_from_name("floats", 6), 0);
  ck_assert_int_eq(surg__dtype_from_name("", 0), 0);
}
END_TEST

START_TEST(kinds) {
  int floats = 0, signeds = 0, unsigneds = 0;
  for (int d = 0; d < SURG_DTYPE_COUNT; ++d) {
    int n = surg__dtype_is_float(d) + surg__dtype_is_signed_int(d) + surg__dtype_is_unsigned_int(d);
    ck_assert_int_le(n, 1);
    floats += surg__dtype_is_float(d);
    signeds += surg__dtype_is_signed_int(d);
    unsigneds += surg__dtype_is_unsigned_int(d);
  }
  ck_assert_int_eq(floats, 10);
  ck_assert_int_eq(signeds, 6);
  ck_assert_int_eq(unsigneds, 6);
  ck_assert(!surg__dtype_is_unsigned_int(SURG_BOOL));
}
END_TEST

/* The decimal meaning of some codes, taken from the definitions of the formats. */
START_TEST(known_values) {
  ck_assert(surg__half_to_float(0x3c00) == 1.0f);
  ck_assert(surg__half_to_float(0x0001) == 0x1p-24f);
  ck_assert(surg__half_to_float(0x7bff) == 65504.0f);
  ck_assert(surg__half_to_float(0xc000) == -2.0f);
  ck_assert(isinf(surg__half_to_float(0x7c00)) && isnan(surg__half_to_float(0x7e00)));
  ck_assert(surg__bf16_to_float(0x3f80) == 1.0f);
  ck_assert(surg__fp8_to_float(SURG_FLOAT8E4M3FN, 0x7e) == 448.0f);
  ck_assert(surg__fp8_to_float(SURG_FLOAT8E4M3FN, 0x01) == 0x1p-9f);
  ck_assert(isnan(surg__fp8_to_float(SURG_FLOAT8E4M3FN, 0x7f)));
  ck_assert(isnan(surg__fp8_to_float(SURG_FLOAT8E4M3FN, 0xff)));
  ck_assert(surg__fp8_to_float(SURG_FLOAT8E4M3FNUZ, 0x7f) == 240.0f);
  ck_assert(isnan(surg__fp8_to_float(SURG_FLOAT8E4M3FNUZ, 0x80)));
  ck_assert(surg__fp8_to_float(SURG_FLOAT8E5M2, 0x7b) == 57344.0f);
  ck_assert(isinf(surg__fp8_to_float(SURG_FLOAT8E5M2, 0xfc)));
  ck_assert(isnan(surg__fp8_to_float(SURG_FLOAT8E5M2, 0x7d)));
  ck_assert(surg__fp8_to_float(SURG_FLOAT8E5M2FNUZ, 0x7f) == 57344.0f);
  ck_assert(isnan(surg__fp8_to_float(SURG_FLOAT8E5M2FNUZ, 0x80)));
  ck_assert(surg__fp8_to_float(SURG_FLOAT8E8M0, 0) == 0x1p-127f);
  ck_assert(surg__fp8_to_float(SURG_FLOAT8E8M0, 0xfe) == 0x1p127f);
  ck_assert(isnan(surg__fp8_to_float(SURG_FLOAT8E8M0, 0xff)));
  static const float fp4[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (uint8_t i = 0; i < 8; ++i) {
    ck_assert(surg__fp4_to_float(i) == fp4[i]);
    ck_assert(surg__fp4_to_float(i | 8) == -fp4[i]);
  }
}
END_TEST

START_TEST(special_values) {
  ck_assert_uint_eq(surg__float_to_half(INFINITY), 0x7c00);
  ck_assert_uint_eq(surg__float_to_half(65519.0f), 0x7bff);
  ck_assert_uint_eq(surg__float_to_half(65520.0f), 0x7c00);
  ck_assert_uint_eq(surg__float_to_half(-0.0f), 0x8000);
  ck_assert_uint_eq(surg__float_to_half(0x1p-25f), 0);
  ck_assert_uint_eq(surg__float_to_half(0x1.000002p-25f), 1);
  ck_assert_uint_eq(surg__float_to_bf16(3.4028235e38f), 0x7f80);
  ck_assert(isnan(surg__half_to_float(surg__float_to_half(NAN))));
  ck_assert(isnan(surg__bf16_to_float(surg__float_to_bf16(NAN))));
  /* Rounded once: through float this double would become a tie and round down. */
  ck_assert_uint_eq(surg__double_to_half(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  ck_assert_uint_eq(surg__double_to_bf16(1 + 0x1p-8 + 0x1p-40), 0x3f81);
  ck_assert_uint_eq(surg__double_to_half(1 + 0x1p-11), 0x3c00);

  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E4M3FN, 1e9f, true), 0x7e);
  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E4M3FN, -1e9f, false), 0xff);
  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E4M3FN, INFINITY, true), 0x7e);
  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E4M3FN, INFINITY, false), 0x7f);
  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E4M3FNUZ, -1e9f, true), 0xff);
  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E4M3FNUZ, -1e9f, false), 0x80);
  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E4M3FNUZ, -0.0f, false), 0);
  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E5M2, INFINITY, false), 0x7c);
  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E5M2, INFINITY, true), 0x7b);
  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E5M2FNUZ, NAN, true), 0x80);
  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E8M0, 0x1p127f * 1.9f, true), 0xfe);
  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E8M0, 3.0f, true), 129);
  ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E8M0, 2.9f, true), 128);
  ck_assert_uint_eq(surg__float_to_fp4(100), 7);
  ck_assert_uint_eq(surg__float_to_fp4(-INFINITY), 15);
  ck_assert_uint_eq(surg__float_to_fp4(5), 6);
  ck_assert_uint_eq(surg__float_to_fp4(2.5f), 4);
}
END_TEST

/* --- every code, and every tie between neighbours --- */

typedef struct format {
  const char *name;
  unsigned codes; /* positive finite codes: 0 .. codes - 1 */
  double (*decode)(unsigned code);
  unsigned (*encode)(double v);
} format;

static double half_d(unsigned c) {
  return surg__half_to_float((uint16_t)c);
}
static unsigned half_e(double v) {
  return surg__double_to_half(v);
}
static double bf16_d(unsigned c) {
  return surg__bf16_to_float((uint16_t)c);
}
static unsigned bf16_e(double v) {
  return surg__double_to_bf16(v);
}
#define FP8(name, type)                              \
  static double name##_d(unsigned c) {               \
    return surg__fp8_to_float(type, (uint8_t)c);     \
  }                                                  \
  static unsigned name##_e(double v) {               \
    return surg__float_to_fp8(type, (float)v, true); \
  }
FP8(e4m3fn, SURG_FLOAT8E4M3FN)
FP8(e4m3fnuz, SURG_FLOAT8E4M3FNUZ)
FP8(e5m2, SURG_FLOAT8E5M2)
FP8(e5m2fnuz, SURG_FLOAT8E5M2FNUZ)
static double fp4_d(unsigned c) {
  return surg__fp4_to_float((uint8_t)c);
}
static unsigned fp4_e(double v) {
  return surg__float_to_fp4((float)v);
}

static const format formats[] = {
    {"half", 0x7c00, half_d, half_e},
    {"bfloat16", 0x7f80, bf16_d, bf16_e},
    {"e4m3fn", 0x7f, e4m3fn_d, e4m3fn_e},
    {"e4m3fnuz", 0x80, e4m3fnuz_d, e4m3fnuz_e},
    {"e5m2", 0x7c, e5m2_d, e5m2_e},
    {"e5m2fnuz", 0x80, e5m2fnuz_d, e5m2fnuz_e},
    {"fp4", 8, fp4_d, fp4_e},
};

START_TEST(every_code) {
  const format *f = &formats[_i];
  for (unsigned c = 0; c < f->codes; ++c) {
    double v = f->decode(c);
    ck_assert_msg(f->encode(v) == c, "%s: code %x", f->name, c);
    if (c + 1 == f->codes) break;
    double next = f->decode(c + 1), middle = (v + next) / 2;
    ck_assert_msg(next > v, "%s: code %x is not in order", f->name, c);
    unsigned even = c % 2 == 0 ? c : c + 1;
    ck_assert_msg(f->encode(middle) == even, "%s: the tie above %x", f->name, c);
    double below = nextafterf((float)middle, 0), past = nextafterf((float)middle, INFINITY);
    ck_assert_msg(f->encode(below) == c, "%s: below the tie above %x", f->name, c);
    ck_assert_msg(f->encode(past) == c + 1, "%s: past the tie above %x", f->name, c);
  }
}
END_TEST

START_TEST(negative_codes) {
  for (unsigned c = 1; c < 0x7c00; ++c) {
    ck_assert_uint_eq(surg__float_to_half(surg__half_to_float((uint16_t)(c | 0x8000))), c | 0x8000);
  }
  for (unsigned c = 1; c < 0x7f; ++c) {
    float v = surg__fp8_to_float(SURG_FLOAT8E4M3FN, (uint8_t)(c | 0x80));
    ck_assert_uint_eq(surg__float_to_fp8(SURG_FLOAT8E4M3FN, v, false), c | 0x80);
  }
}
END_TEST

START_TEST(packing) {
  static const int types[] = {SURG_UINT4, SURG_INT4, SURG_FLOAT4E2M1, SURG_UINT2, SURG_INT2};
  for (size_t t = 0; t < SURG_COUNT(types); ++t) {
    unsigned bits = surg__dtype_bits(types[t]);
    bool extend = surg__dtype_is_signed_int(types[t]);
    for (unsigned n = 0; n <= 9; ++n) {
      uint8_t in[9], packed[9], out[9];
      for (unsigned i = 0; i < n; ++i) {
        uint8_t v = (uint8_t)((i * 7 + 5) & ((1u << bits) - 1));
        bool negative = extend && v >> (bits - 1);
        in[i] = negative ? (uint8_t)(v | (0xffu << bits)) : v;
      }
      memset(packed, 0xee, sizeof packed);
      surg__pack(types[t], n, in, packed);
      uint64_t bytes = 0;
      ck_assert(surg__dtype_bytes(types[t], n, &bytes));
      ck_assert_uint_eq(packed[bytes], 0xee);
      memset(out, 0x55, sizeof out);
      surg__unpack(types[t], n, packed, out);
      ck_assert_int_eq(memcmp(in, out, n), 0);
    }
  }
  uint8_t two[2] = {1, 2}, byte = 0;
  surg__pack(SURG_UINT4, 2, two, &byte);
  ck_assert_uint_eq(byte, 0x21);
  uint8_t one = 0xff;
  surg__pack(SURG_INT4, 1, &one, &byte);
  ck_assert_uint_eq(byte, 0x0f);
  int32_t wide = 0x01020304, copy = 0;
  uint8_t stored[4];
  surg__pack(SURG_INT32, 1, &wide, stored);
  ck_assert_uint_eq(stored[0], 4);
  surg__unpack(SURG_INT32, 1, stored, &copy);
  ck_assert_int_eq(copy, wide);
}
END_TEST

int main(void) {
  Suite *s = suite_create("dtype");
  TCase *t = tcase_create("dtype");
  tcase_add_test(t, sizes);
  tcase_add_test(t, names);
  tcase_add_test(t, kinds);
  tcase_add_test(t, known_values);
  tcase_add_test(t, special_values);
  tcase_add_loop_test(t, every_code, 0, (int)SURG_COUNT(formats));
  tcase_add_test(t, negative_codes);
  tcase_add_test(t, packing);
  suite_add_tcase(s, t);
  return unit_run(s);
}
