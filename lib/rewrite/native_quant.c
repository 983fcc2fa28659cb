/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised operators before opset 10, in floats: sums of products in double, which holds them all,
 * then rounded as the operators say. Also Erf before 9. */
#include "rewrite/native.h"
#include "rewrite/terms.h"

/* --- rounding --- */

/* Halves to even: what is left above the floor decides, at a half whether the floor is odd. */
static val round_even(surg__builder *b, val x, int dtype) {
  if (b->m->opset >= 11) return surg__b_unary(b, "Round", x);
  val half = number(b, dtype, 0.5), low = surg__b_unary(b, "Floor", x), rest = sub(b, x, low);
  val above = surg__b_binary(b, "Greater", rest, half);
  val halves = mul(b, low, half);
  val odd = surg__b_binary(b, "Greater", halves, surg__b_unary(b, "Floor", halves));
  val tie = surg__b_binary(b, "And", surg__b_unary(b, "Not", less(b, rest, half)), odd);
  val up = either(b, above, tie);
  val r = where(b, up, surg__b_unary(b, "Ceil", x), low);
  return where(b, surg__b_unary(b, "IsNaN", rest), x, r);
}

static val clip(surg__builder *b, val x, double low, double high) {
  if (b->m->opset >= 11) {
    const val in[3] = {x, number(b, SURG_FLOAT, low), number(b, SURG_FLOAT, high)};
    return surg__b_node(b, "Clip", in, 3);
  }
  val y = surg__b_unary(b, "Clip", x);
  surg__b_set_float(b, y, "min", (float)low);
  surg__b_set_float(b, y, "max", (float)high);
  return y;
}

/* Rounded, plus zero (or NULL), cut to int8 or uint8. */
static val narrowed(surg__builder *b, val x, val zero, int dtype) {
  const bool sign = dtype == SURG_INT8;
  val r = round_even(b, x, SURG_FLOAT);
  if (zero) r = add(b, r, cast(b, zero, SURG_FLOAT));
  return cast(b, clip(b, r, sign ? -128 : 0, sign ? 127 : 255), dtype);
}

static bool byte(int dtype) {
  return dtype == SURG_INT8 || dtype == SURG_UINT8;
}

static surg_status quantize(surg__builder *b) {
  val x = surg__b_get(b, "x"), s = surg__b_get(b, "s"), z = surg__b_get(b, "z");
  const int to = z ? dtype_of(z) : SURG_UINT8;
  if (b->m->opset < 9 || !byte(to) || (dtype_of(x) != SURG_FLOAT && dtype_of(x) != SURG_INT32))
    return SURG_EUNSUPPORTED;
  if (dtype_of(x) == SURG_INT32) x = cast(b, x, SURG_FLOAT);
  surg__b_result(b, "y", narrowed(b, divide(b, x, s), z, to));
  return b->status;
}

/* --- sums of products --- */

static bool single(const surg_value *v) {
  uint64_t count;
  const surg_type *t = type_of(v);
  return !v || (t && surg_type_has_rank(t) &&
                (surg_type_rank(t) == 0 ||
                 (surg_type_rank(t) == 1 && surg_type_static(t, &count) && count == 1)));
}

/* x less its zero point, in double. */
static val centred(surg__builder *b, const char *x, const char *zero) {
  val v = cast(b, surg__b_get(b, x), SURG_DOUBLE), z = surg__b_get(b, zero);
  return z ? sub(b, v, cast(b, z, SURG_DOUBLE)) : v;
}

static void copy_attrs(surg__builder *b, val y) {
  const surg_node *from = b->m->nodes[b->m->rule->anchor];
  surg_node *to = b->status ? NULL : surg_value_producer(y, NULL);
  for (size_t i = 0; to && i < surg_node_attr_count(from) && !b->status; i++)
    b->status = surg_node_copy_attr(to, surg_node_attr_at(from, i));
}

/* The node's own product; `bias` may be NULL. */
static val product(surg__builder *b, bool conv, val x, val w, val bias) {
  const val in[3] = {x, w, bias};
  val y = surg__b_node(b, conv ? "Conv" : "MatMul", in, bias ? 3 : 2);
  if (conv) copy_attrs(b, y);
  return y;
}

static bool is_conv(const surg__builder *b) {
  const int op = surg_node_op(b->m->nodes[b->m->rule->anchor]);
  return op == SURG_OP_QLinearConv || op == SURG_OP_ConvInteger;
}

static surg_status integer_product(surg__builder *b) {
  val x = surg__b_get(b, "a"), w = surg__b_get(b, "b");
  if (!byte(dtype_of(x)) || !byte(dtype_of(w)) || !single(surg__b_get(b, "az")) ||
      !single(surg__b_get(b, "bz")))
    return SURG_EUNSUPPORTED;
  val y = product(b, is_conv(b), centred(b, "a", "az"), centred(b, "b", "bz"), NULL);
  surg__b_result(b, "y", cast(b, y, SURG_INT32));
  return b->status;
}

/* The scales make one number, in float; the sum becomes a float before it is scaled. */
static surg_status scaled_product(surg__builder *b) {
  static const char *const singles[] = {"as", "az", "bs", "bz", "ys", "yz"};
  val yz = surg__b_get(b, "yz"), bias = is_conv(b) ? surg__b_get(b, "bias") : NULL;
  if (b->m->opset < 9 || !byte(dtype_of(surg__b_get(b, "a"))) ||
      !byte(dtype_of(surg__b_get(b, "b"))) || !byte(dtype_of(yz)))
    return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < SURG_COUNT(singles); i++)
    if (!single(surg__b_get(b, singles[i]))) return SURG_EUNSUPPORTED;
  if (dtype_of(surg__b_get(b, "as")) != SURG_FLOAT) return SURG_EUNSUPPORTED;
  if (bias) bias = cast(b, bias, SURG_DOUBLE);
  val y = product(b, is_conv(b), centred(b, "a", "az"), centred(b, "b", "bz"), bias);
  val scale = mul(b, surg__b_get(b, "as"), surg__b_get(b, "bs"));
  scale = divide(b, scale, surg__b_get(b, "ys"));
  y = mul(b, cast(b, y, SURG_FLOAT), scale);
  surg__b_result(b, "y", narrowed(b, y, yz, dtype_of(yz)));
  return b->status;
}

/* --- Erf --- */

#define TERMS 72 /* enough up to 4, where the rest is below what a float tells from 1 */

/* x exp(-x^2) 2 / sqrt(pi) (1 + 2x^2/3 (1 + 2x^2/5 (1 + ...))), in which nothing cancels. */
static surg_status erf_series(surg__builder *b) {
  val x = surg__b_get(b, "x");
  const int dtype = dtype_of(x);
  val d = surg__b_unary(b, "Clip", x);
  surg__b_set_float(b, d, "min", -4);
  surg__b_set_float(b, d, "max", 4);
  d = cast(b, d, SURG_DOUBLE);
  val square = mul(b, d, d), one = number(b, SURG_DOUBLE, 1), sum = one;
  for (int k = TERMS; k >= 1; k--) {
    val by = mul(b, square, number(b, SURG_DOUBLE, 2.0 / (2 * k + 1)));
    sum = add(b, mul(b, by, sum), one);
  }
  val e = surg__b_unary(b, "Exp", surg__b_unary(b, "Neg", square));
  val y = mul(b, mul(b, mul(b, d, number(b, SURG_DOUBLE, 1.12837916709551257390)), e), sum);
  surg__b_result(b, "y", cast(b, y, dtype));
  return b->status;
}

const surg__native surg__natives_quant[] = {
    {"quantize", quantize, "x / s, rounded, plus z"},
    {"integer_product", integer_product,
     "the product in double, of numbers less their zero points"},
    {"scaled_product", scaled_product, "the same, scaled and rounded"},
    {"erf", erf_series, "a series in double"},
    {NULL, NULL, NULL},
};
