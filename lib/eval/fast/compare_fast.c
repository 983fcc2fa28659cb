/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons, Where, IsNaN and IsInf of whole runs of numbers. */
#include "eval/fast/compare_fast.h"

#include <math.h>

#include "eval/fast/cast_fast.h"
#include "eval/fast/hot.h"

#define COMPARE(name, type, expression)                                                         \
  SURG__HOT(name##_loop, (uint8_t *out, const type *p, int64_t sa, const type *q, int64_t sb,   \
                          int64_t n), (out, p, sa, q, sb, n)) {                                 \
    if (sa == 1 && sb == 1) {                                                                   \
      for (int64_t i = 0; i < n; ++i) {                                                         \
        const type x = p[i], y = q[i];                                                          \
        out[i] = (expression);                                                                  \
      }                                                                                         \
    } else if (sa == 1 && sb == 0) {                                                            \
      const type y = *q;                                                                        \
      for (int64_t i = 0; i < n; ++i) {                                                         \
        const type x = p[i];                                                                    \
        out[i] = (expression);                                                                  \
      }                                                                                         \
    } else {                                                                                    \
      for (int64_t i = 0; i < n; ++i) {                                                         \
        const type x = p[i * sa], y = q[i * sb];                                                \
        out[i] = (expression);                                                                  \
      }                                                                                         \
    }                                                                                           \
  }                                                                                             \
  static void name(uint8_t *out, const void *a, int64_t sa, const void *b, int64_t sb,          \
                   int64_t n) {                                                                 \
    name##_loop(out, a, sa, b, sb, n);                                                          \
  }
#define ORDER(suffix, type)                      \
  COMPARE(equal_##suffix, type, x == y)          \
  COMPARE(less_##suffix, type, x < y)            \
  COMPARE(greater_##suffix, type, x > y)         \
  COMPARE(less_equal_##suffix, type, x <= y)     \
  COMPARE(greater_equal_##suffix, type, x >= y)
ORDER(i8, int8_t)
ORDER(u8, uint8_t)
ORDER(i16, int16_t)
ORDER(u16, uint16_t)
ORDER(i32, int32_t)
ORDER(u32, uint32_t)
ORDER(i64, int64_t)
ORDER(u64, uint64_t)
ORDER(f32, float)
ORDER(f64, double)

/* Truth values, whatever their bytes are. */
COMPARE(and_bool, uint8_t, (x != 0) & (y != 0))
COMPARE(or_bool, uint8_t, (x | y) != 0)
COMPARE(xor_bool, uint8_t, (x != 0) != (y != 0))

/* 16-bit floats are compared as floats. */
#define PIECE 1024
static void pieces(int dtype, surg__compare_fn fn, uint8_t *out, const uint16_t *a, int64_t sa,
                   const uint16_t *b, int64_t sb, int64_t n) {
  float x[PIECE], y[PIECE];
  uint16_t p[PIECE], q[PIECE];
  for (int64_t at = 0; at < n; at += PIECE) {
    const int64_t m = n - at < PIECE ? n - at : PIECE;
    for (int64_t i = 0; i < m; ++i) {
      p[i] = a[(at + i) * sa];
      q[i] = b[(at + i) * sb];
    }
    surg__widen_halves(dtype, p, x, (uint64_t)m);
    surg__widen_halves(dtype, q, y, (uint64_t)m);
    fn(out + at, x, 1, y, 1, m);
  }
}
#define HALVES(name)                                                                            \
  static void name##_f16(uint8_t *out, const void *a, int64_t sa, const void *b, int64_t sb,    \
                         int64_t n) {                                                           \
    pieces(SURG_FLOAT16, name##_f32, out, a, sa, b, sb, n);                                     \
  }                                                                                             \
  static void name##_bf16(uint8_t *out, const void *a, int64_t sa, const void *b, int64_t sb,   \
                          int64_t n) {                                                          \
    pieces(SURG_BFLOAT16, name##_f32, out, a, sa, b, sb, n);                                    \
  }
HALVES(equal)
HALVES(less)
HALVES(greater)
HALVES(less_equal)
HALVES(greater_equal)

#define ROW(name)                                                                           \
  {                                                                                         \
    [SURG_INT8] = name##_i8, [SURG_UINT8] = name##_u8, [SURG_BOOL] = name##_u8,             \
    [SURG_INT16] = name##_i16, [SURG_UINT16] = name##_u16, [SURG_INT32] = name##_i32,       \
    [SURG_UINT32] = name##_u32, [SURG_INT64] = name##_i64, [SURG_UINT64] = name##_u64,      \
    [SURG_FLOAT] = name##_f32, [SURG_DOUBLE] = name##_f64, [SURG_FLOAT16] = name##_f16,     \
    [SURG_BFLOAT16] = name##_bf16                                                           \
  }

surg__compare_fn surg__compare_fast(int op, int dtype) {
  if (op == SURG_OP_And) return and_bool;
  if (op == SURG_OP_Or) return or_bool;
  if (op == SURG_OP_Xor) return xor_bool;
  static const surg__compare_fn rows[5][SURG_DTYPE_COUNT] = {
      ROW(equal), ROW(less), ROW(greater), ROW(less_equal), ROW(greater_equal)};
  static const int ops[5] = {SURG_OP_Equal, SURG_OP_Less, SURG_OP_Greater, SURG_OP_LessOrEqual,
                             SURG_OP_GreaterOrEqual};
  for (int i = 0; i < 5; ++i)
    if (ops[i] == op) return rows[i][dtype];
  return NULL;
}

/* --- Where --- */

#define WHERE(type)                                                                              \
  SURG__HOT(where_##type, (type *out, const uint8_t *c, int64_t sc, const type *p, int64_t sx,   \
                           const type *q, int64_t sy, int64_t n),                                \
            (out, c, sc, p, sx, q, sy, n)) {                                                     \
    if (sc == 1 && sx == 1 && sy == 1) {                                                         \
      for (int64_t i = 0; i < n; ++i) {                                                          \
        const type x = p[i], y = q[i];                                                           \
        out[i] = c[i] ? x : y;                                                                   \
      }                                                                                          \
    } else if (sc == 1 && sx == 0 && sy == 1) {                                                  \
      const type x = *p;                                                                         \
      for (int64_t i = 0; i < n; ++i) {                                                          \
        const type y = q[i];                                                                     \
        out[i] = c[i] ? x : y;                                                                   \
      }                                                                                          \
    } else if (sc == 1 && sx == 1 && sy == 0) {                                                  \
      const type y = *q;                                                                         \
      for (int64_t i = 0; i < n; ++i) {                                                          \
        const type x = p[i];                                                                     \
        out[i] = c[i] ? x : y;                                                                   \
      }                                                                                          \
    } else {                                                                                     \
      for (int64_t i = 0; i < n; ++i) out[i] = c[i * sc] ? p[i * sx] : q[i * sy];                \
    }                                                                                            \
  }
WHERE(uint8_t)
WHERE(uint16_t)
WHERE(uint32_t)
WHERE(uint64_t)

void surg__where_fast(void *out, const uint8_t *c, int64_t sc, const void *x, int64_t sx,
                      const void *y, int64_t sy, int64_t n, size_t size) {
  switch (size) {
    case 1:
      where_uint8_t(out, c, sc, x, sx, y, sy, n);
      break;
    case 2:
      where_uint16_t(out, c, sc, x, sx, y, sy, n);
      break;
    case 4:
      where_uint32_t(out, c, sc, x, sx, y, sy, n);
      break;
    default:
      assert(size == 8);
      where_uint64_t(out, c, sc, x, sx, y, sy, n);
  }
}

/* --- IsNaN, IsInf: by the bits, less their sign, beside those of infinity --- */

#define CLASSIFY(type, sign)                                                                     \
  SURG__HOT(nan_##type, (const type *x, type infinity, uint8_t *out, uint64_t n),                \
            (x, infinity, out, n)) {                                                             \
    for (uint64_t i = 0; i < n; ++i) out[i] = (x[i] & (type)~(sign)) > infinity;                 \
  }                                                                                              \
  SURG__HOT(inf_##type, (const type *x, type one, type other, uint8_t *out, uint64_t n),         \
            (x, one, other, out, n)) {                                                           \
    for (uint64_t i = 0; i < n; ++i) out[i] = (x[i] == one) | (x[i] == other);                   \
  }                                                                                              \
  static void classify_##type(const surg__array *x, type infinity, bool nan, bool positive,      \
                              bool negative, uint8_t *out) {                                     \
    const type below = infinity | (type)(sign);                                                  \
    if (nan)                                                                                     \
      nan_##type(x->data, infinity, out, x->count);                                              \
    else if (positive || negative)                                                               \
      inf_##type(x->data, positive ? infinity : below, negative ? below : infinity, out,         \
                 x->count);                                                                      \
    else if (x->count > 0)                                                                       \
      memset(out, 0, (size_t)x->count);                                                          \
  }
CLASSIFY(uint16_t, 0x8000u)
CLASSIFY(uint32_t, 0x80000000u)
CLASSIFY(uint64_t, 0x8000000000000000u)

bool surg__classify_fast(const surg__array *x, bool nan, bool positive, bool negative,
                         uint8_t *out) {
  switch (x->dtype) {
    case SURG_FLOAT16:
      classify_uint16_t(x, 0x7c00u, nan, positive, negative, out);
      return true;
    case SURG_BFLOAT16:
      classify_uint16_t(x, 0x7f80u, nan, positive, negative, out);
      return true;
    case SURG_FLOAT:
      classify_uint32_t(x, 0x7f800000u, nan, positive, negative, out);
      return true;
    case SURG_DOUBLE:
      classify_uint64_t(x, 0x7ff0000000000000u, nan, positive, negative, out);
      return true;
    default:
      return false;
  }
}
