/* SPDX-License-Identifier: Apache-2.0 */
/* Bit operators by integer arithmetic: BitwiseAnd, BitwiseOr, BitwiseXor, BitShift, BitCast. They
 * compute in int64, which wraps around; uint64 is reinterpreted as int64. */
#include <math.h>

#include "rewrite/lower/terms.h"

/* Binary digits summed at once: ONNX Runtime sums int64 in double, which is exact up to 53 bits. */
#define HALF 32u

/* 2^k modulo 2^64. */
static int64_t power(unsigned k) {
  assert(k < 64);
  const uint64_t u = UINT64_C(1) << k;
  int64_t i;
  memcpy(&i, &u, sizeof i);
  return i;
}

static int of_width(unsigned bits, bool sign) {
  switch (bits) {
    case 8:
      return sign ? SURG_INT8 : SURG_UINT8;
    case 16:
      return sign ? SURG_INT16 : SURG_UINT16;
    case 32:
      return sign ? SURG_INT32 : SURG_UINT32;
    case 64:
      return sign ? SURG_INT64 : SURG_UINT64;
    default:
      return 0;
  }
}

/* x as int64: not negative for narrower types, the same bits for 64-bit types. */
static val as_int64(surg__builder *b, val x, int dtype) {
  const unsigned bits = surg__dtype_bits(dtype);
  if (bits < 64 && surg__dtype_is_signed_int(dtype)) x = cast(b, x, of_width(bits, false));
  return dtype == SURG_INT64 ? x : cast(b, x, SURG_INT64);
}

static val from_int64(surg__builder *b, val x, int dtype) {
  return dtype == SURG_INT64 ? x : cast(b, x, dtype);
}

static val table_of(surg__builder *b, const int64_t *v, size_t n) {
  const int64_t dims[1] = {(int64_t)n};
  return int64s(b, v, dims, 1);
}

static val look_up(surg__builder *b, val table, val at) {
  return surg__b_binary(b, "Gather", table, at);
}

/* --- BitwiseAnd, BitwiseOr, BitwiseXor --- */

/* Exclusive or of digits. */
static val differ(surg__builder *b, val x, val y) {
  val both = mul(b, x, y);
  both = mul(b, both, int64(b, 2));
  return sub(b, add(b, x, y), both);
}

/* The binary digits of x along a new last axis. A negative x has the inverted digits of -1 - x. */
static val digits(surg__builder *b, val x, int dtype, val powers) {
  val one = unsqueeze(b, as_int64(b, x, dtype), (int64_t)surg_type_rank(type_of(x)));
  val sign = NULL;
  if (surg__dtype_bits(dtype) == 64) {
    sign = less(b, one, int64(b, 0));
    one = where(b, sign, sub(b, int64(b, -1), one), one);
  }
  val q = divide(b, one, powers);
  val half = divide(b, q, int64(b, 2));
  val d = sub(b, q, mul(b, half, int64(b, 2)));
  return sign ? differ(b, d, cast(b, sign, SURG_INT64)) : d;
}

/* Digits from ... from + count - 1 of the result, as a number below 2^count. */
static val some_bits(surg__builder *b, int op, val x, val y, int dtype, unsigned from,
                     unsigned count, size_t rank) {
  assert(count <= HALF && from + count <= 64);
  int64_t at[HALF], weight[HALF];
  for (unsigned k = 0; k < count; k++) {
    at[k] = power(from + k);
    weight[k] = power(k);
  }
  val powers = table_of(b, at, count);
  val dx = digits(b, x, dtype, powers), dy = digits(b, y, dtype, powers), r;
  if (op == SURG_OP_BitwiseAnd) {
    r = mul(b, dx, dy);
  } else if (op == SURG_OP_BitwiseXor) {
    r = differ(b, dx, dy);
  } else {
    val both = mul(b, dx, dy);
    r = sub(b, add(b, dx, dy), both);
  }
  val weights = from ? table_of(b, weight, count) : powers;
  return reduce_sum(b, mul(b, r, weights), (int64_t)rank);
}

static surg_status bits(surg__builder *b) {
  val x = surg__b_get(b, "a"), y = surg__b_get(b, "b");
  const int dtype = dtype_of(x), op = surg_node_op(b->m->nodes[b->m->rule->anchor]);
  const unsigned width = surg__dtype_bits(dtype);
  if (surg__b_bad(b, !surg__dtype_is_int(dtype), "an element type is unknown or unsupported") ||
      surg__b_bad(b, !of_width(width, true), "expected integers of 8, 16, 32 or 64 bits") ||
      surg__b_bad(b, dtype_of(y) != dtype, "an element type is unknown or unsupported"))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b, width == 64 && b->m->opset < 9, "the rewrite requires opset 9"))
    return SURG_EUNSUPPORTED;
  if (surg__b_bad(b, !surg_type_has_rank(type_of(x)), "the rank of an input is unknown") ||
      surg__b_bad(b, !surg_type_has_rank(type_of(y)), "the rank of an input is unknown"))
    return SURG_EUNSUPPORTED;
  const size_t rx = surg_type_rank(type_of(x)), ry = surg_type_rank(type_of(y));
  const size_t rank = rx > ry ? rx : ry;
  val r = some_bits(b, op, x, y, dtype, 0, width < HALF ? width : HALF, rank);
  if (width > HALF) {
    val high = some_bits(b, op, x, y, dtype, HALF, width - HALF, rank);
    r = add(b, mul(b, high, int64(b, power(HALF))), r);
  }
  surg__b_result(b, "y", from_int64(b, r, dtype));
  return b->status;
}

/* --- BitShift --- */

/* Clears the highest bit of 64; *sign: whether it was set. */
static val without_sign(surg__builder *b, val x, val *sign) {
  *sign = less(b, x, int64(b, 0));
  return where(b, *sign, add(b, x, int64(b, INT64_MIN)), x);
}

/* Where the shift n, as int64 `at`, is not less than the width, so that no bit remains; NULL:
 * nowhere. *ok is false if this cannot be computed. */
static val beyond(surg__builder *b, val n, val at, unsigned width, bool *ok) {
  surg_range range;
  *ok = true;
  if (surg_value_range(n, &range) == SURG_OK && range.high < (double)width) return NULL;
  *ok = b->m->opset >= 9;
  if (!*ok) return NULL;
  val all = less(b, int64(b, (int64_t)width - 1), at);
  /* uint64 values from 2^63 on are negative as int64. */
  return width == 64 ? either(b, all, less(b, at, int64(b, 0))) : all;
}

/* x * 2^n or x / 2^n. The highest bit of uint64 is cleared first, and added to
 * the result after that. */
static surg_status shift(surg__builder *b) {
  val x = surg__b_get(b, "x"), n = surg__b_get(b, "n");
  const int dtype = dtype_of(x);
  const unsigned width = surg__dtype_bits(dtype);
  const surg__rvalue d = surg__b_data(b, "d");
  if (surg__b_bad(b, !surg__dtype_is_unsigned_int(dtype),
                  "an element type is unknown or unsupported") ||
      surg__b_bad(b, !of_width(width, true), "expected integers of 8, 16, 32 or 64 bits") ||
      surg__b_bad(b, d.kind != SURG__R_STRING, "an attribute is unknown"))
    return SURG_EUNSUPPORTED;
  const bool left = d.s.n == 4;
  if (surg__b_bad(b, !left && width == 64 && b->m->opset < 9, "the rewrite requires opset 9"))
    return SURG_EUNSUPPORTED;
  int64_t p[64], top[64];
  assert(width <= SURG_COUNT(p));
  for (unsigned k = 0; k < width; k++) {
    p[k] = power(k);
    top[k] = power(width - 1 - k);
  }
  bool ok;
  val at = cast(b, n, SURG_INT64), none = beyond(b, n, at, width, &ok);
  if (surg__b_bad(b, !ok, "the shift is not proven to be below the width"))
    return SURG_EUNSUPPORTED;
  if (none) at = where(b, none, int64(b, 0), at);
  val by = look_up(b, table_of(b, p, width), at);
  val i = as_int64(b, x, dtype), sign = NULL, y;
  if (!left && width == 64) i = without_sign(b, i, &sign);
  y = surg__b_binary(b, left ? "Mul" : "Div", i, by);
  if (sign) {
    val bit = look_up(b, table_of(b, top, width), at);
    y = add(b, y, where(b, sign, bit, int64(b, 0)));
  }
  if (none) y = where(b, none, int64(b, 0), y);
  surg__b_result(b, "y", from_int64(b, y, dtype));
  return b->status;
}

/* --- BitCast --- */

/* A float format: `digits` bits of mantissa after the implicit one, exponents 0 .. 2 * bias + 1. */
typedef struct format {
  int dtype, work; /* `work`: type of the computation */
  unsigned width, digits;
  int bias;
} format;

static const format *format_of(int dtype) {
  static const format formats[] = {
      {SURG_FLOAT16, SURG_FLOAT, 16, 10, 15},
      {SURG_BFLOAT16, SURG_FLOAT, 16, 7, 127},
      {SURG_FLOAT, SURG_FLOAT, 32, 23, 127},
      {SURG_DOUBLE, SURG_DOUBLE, 64, 52, 1023},
  };
  for (size_t i = 0; i < SURG_COUNT(formats); i++)
    if (formats[i].dtype == dtype) return &formats[i];
  return NULL;
}

/* 2^e; exact in double. */
static double power_of_two(int e) {
  double v = 1;
  for (; e > 0; e--) v *= 2;
  for (; e < 0; e++) v /= 2;
  return v;
}

/* (1 + mantissa / 2^digits) * 2^(exponent - bias), from the bits without the sign. Subnormal
 * numbers have exponent 0, no implicit bit, and the scale of exponent 1. */
static val of_finite(surg__builder *b, const format *f, val mantissa, val exponent) {
  const size_t n = 2 * (size_t)f->bias + 2;
  double *scale = surg__arena_array(b->m->arena, n, sizeof *scale);
  int64_t *hidden = surg__arena_array(b->m->arena, n, sizeof *hidden);
  if (!scale || !hidden) return no_memory(b);
  for (size_t e = 0; e < n; e++) {
    const bool special = e + 1 == n;
    scale[e] = special ? 1 : power_of_two((int)(e ? e : 1) - f->bias - (int)f->digits);
    hidden[e] = e ? power(f->digits) : 0;
  }
  val h = look_up(b, table_of(b, hidden, n), exponent);
  val whole_part = cast(b, add(b, mantissa, h), f->work);
  return mul(b, whole_part,
             look_up(b, numbers(b, f->work, scale, &(int64_t){(int64_t)n}, 1), exponent));
}

static val to_float(surg__builder *b, val x, int dtype, const format *f) {
  const int64_t top = power(f->width - 1);
  if (surg__dtype_is_unsigned_int(dtype)) x = cast(b, x, of_width(f->width, true));
  if (f->width < 64) x = cast(b, x, SURG_INT64);
  val sign = less(b, x, int64(b, 0));
  val rest = where(b, sign, add(b, x, int64(b, top)), x);
  val digit = int64(b, power(f->digits));
  val e = divide(b, rest, digit);
  val m = sub(b, rest, mul(b, e, digit));
  val v = of_finite(b, f, m, e);
  val none = equal(b, m, int64(b, 0));
  val special = equal(b, e, int64(b, 2 * (int64_t)f->bias + 1));
  val inf = number(b, f->work, HUGE_VAL);
  v = where(b, special, where(b, none, inf, number(b, f->work, NAN)), v);
  v = where(b, sign, surg__b_unary(b, "Neg", v), v);
  return f->work == f->dtype ? v : cast(b, v, f->dtype);
}

/* For x >= 1 in double, returns x / 2^e in [1, 2) and sets *e. Binary search over the exponents. */
static val normalize(surg__builder *b, val x, const format *f, val *e) {
  *e = int64(b, 0);
  for (int step = (f->bias + 1) / 2; step >= 1; step /= 2) {
    val small = less(b, x, number(b, SURG_DOUBLE, power_of_two(step)));
    val y = mul(b, x, number(b, SURG_DOUBLE, power_of_two(-step)));
    x = where(b, small, x, y);
    val zero = int64(b, 0);
    *e = add(b, *e, where(b, small, zero, int64(b, step)));
  }
  return x;
}

/* The bits of a finite number that is not negative, as int64. Subnormal numbers are scaled to
 * integer multiples of the smallest one, in two steps, since double cannot represent the factor. */
static val bits_of_finite(surg__builder *b, const format *f, val x) {
  const int low = 1 - f->bias;
  val tiny = less(b, x, number(b, SURG_DOUBLE, power_of_two(low)));
  val less_one = less(b, x, number(b, SURG_DOUBLE, 1));
  val raised = mul(b, x, number(b, SURG_DOUBLE, power_of_two(-low)));
  val least = mul(b, raised, number(b, SURG_DOUBLE, power_of_two((int)f->digits)));
  val one = number(b, SURG_DOUBLE, 1), e;
  val start = where(b, tiny, one, where(b, less_one, raised, x));
  val m = normalize(b, start, f, &e);
  val lowest = int64(b, 1);
  e = add(b, e, where(b, less_one, lowest, int64(b, f->bias)));
  m = mul(b, m, number(b, SURG_DOUBLE, power_of_two((int)f->digits)));
  e = sub(b, e, int64(b, 1));
  e = mul(b, e, int64(b, power(f->digits)));
  val normal = add(b, cast(b, m, SURG_INT64), e);
  return where(b, tiny, cast(b, where(b, tiny, least, one), SURG_INT64), normal);
}

static val from_float(surg__builder *b, val x, const format *f, int dtype) {
  const int64_t inf = (2 * (int64_t)f->bias + 1) * power(f->digits);
  val zero = number(b, SURG_DOUBLE, 0), one = number(b, SURG_DOUBLE, 1);
  if (f->dtype != SURG_DOUBLE) x = cast(b, x, SURG_DOUBLE);
  val nan = surg__b_unary(b, "IsNaN", x);
  val size = surg__b_unary(b, "Abs", x);
  val below = less(b, size, number(b, SURG_DOUBLE, HUGE_VAL));
  val r = bits_of_finite(b, f, where(b, below, size, one));
  r = where(b, below, r, int64(b, inf));
  r = where(b, nan, int64(b, inf + power(f->digits - 1)), r);
  val under = less(b, divide(b, one, x), zero);
  val sign = either(b, less(b, x, zero), under);
  const int64_t top = f->width == 64 ? INT64_MIN : -power(f->width - 1);
  val high = int64(b, top);
  r = add(b, r, where(b, sign, high, int64(b, 0)));
  return from_int64(b, r, dtype);
}

/* BitCast between a float type and an integer of the same width. */
static surg_status bit_cast(surg__builder *b) {
  val x = surg__b_get(b, "x"), y;
  const int from = dtype_of(x), to = (int)surg__b_data(b, "to").one.i;
  const format *f = format_of(from), *t = format_of(to);
  if (b->m->opset < 13) return surg__b_decline(b, "the rewrite requires opset 13");
  if (f && surg__dtype_is_int(to) && surg__dtype_bits(to) == f->width)
    y = from_float(b, x, f, to);
  else if (t && surg__dtype_is_int(from) && surg__dtype_bits(from) == t->width)
    y = to_float(b, x, from, t);
  else
    return SURG_EUNSUPPORTED;
  surg__b_result(b, "y", y);
  return b->status;
}

const surg__native surg__natives_bits[] = {
    {"bits", bits, "a and b digit by digit"},
    {"shift", shift, "x times, or divided by, the n-th power of two"},
    {"bit_cast", bit_cast, "the bits of x as a number of another type"},
    {NULL, NULL, NULL},
};
