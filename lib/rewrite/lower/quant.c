/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized operators before opset 10, computed in floats: sums of products are exact (in float or
 * double), then rounded as the operators require. Also Erf before opset 9. */
#include "base/counted.h"
#include "rewrite/lower/terms.h"

/* --- rounding --- */

/* Rounds half to even: the remainder above the floor decides; for one half,
 * whether the floor is odd. */
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
    const val least = number(b, SURG_FLOAT, low), in[3] = {x, least, number(b, SURG_FLOAT, high)};
    return surg__b_node(b, "Clip", in, 3);
  }
  val y = surg__b_unary(b, "Clip", x);
  surg__b_set_float(b, y, "min", (float)low);
  surg__b_set_float(b, y, "max", (float)high);
  return y;
}

static bool bounds(int dtype, double *low, double *high) {
  switch (dtype) {
    case SURG_INT8:
      *low = -128, *high = 127;
      return true;
    case SURG_UINT8:
      *low = 0, *high = 255;
      return true;
    case SURG_INT16:
      *low = -32768, *high = 32767;
      return true;
    case SURG_UINT16:
      *low = 0, *high = 65535;
      return true;
    default:
      return false;
  }
}

/* x rounded, plus zero (may be NULL), saturated to the type; NaN becomes the lowest value. */
static val narrowed(surg__builder *b, val x, val zero, int dtype) {
  double low = 0, high = 0;
  bounds(dtype, &low, &high);
  val r = round_even(b, x, SURG_FLOAT);
  if (zero) r = add(b, r, cast(b, zero, SURG_FLOAT));
  val nan = surg__b_unary(b, "IsNaN", r);
  r = where(b, nan, number(b, SURG_FLOAT, low), r);
  return cast(b, clip(b, r, low, high), dtype);
}

static bool byte(int dtype) {
  return dtype == SURG_INT8 || dtype == SURG_UINT8;
}

static bool single(const surg_value *v) {
  uint64_t count;
  const surg_type *t = type_of(v);
  return !v || (t && surg_type_has_rank(t) &&
                (surg_type_rank(t) == 0 ||
                 (surg_type_rank(t) == 1 && surg_type_static(t, &count) && count == 1)));
}

/* How scales and zero points are aligned with x: per tensor, per axis or in blocks. */
typedef struct lie {
  size_t axis, rank;
  int64_t block, length; /* block 0: per axis or per tensor */
} lie;

static bool find_lie(const surg_node *n, const surg_type *x, const surg_value *s, lie *l) {
  int64_t axis = surg_node_int(n, "axis", 1);
  *l = (lie){.block = surg_node_int(n, "block_size", 0)};
  if (single(s) && l->block == 0) return true;
  if (!x || !surg_type_has_rank(x) || !type_of(s) || !surg_type_has_rank(type_of(s))) return false;
  l->rank = surg_type_rank(x);
  if (axis < 0) axis += (int64_t)l->rank;
  if (axis < 0 || axis >= (int64_t)l->rank) return false;
  l->axis = (size_t)axis;
  l->length = surg_type_dim(x, l->axis)->value;
  return l->block ? l->block > 0 && l->length > 0 && l->length <= SURG__RULE_LIST
                  : surg_type_rank(type_of(s)) == 1;
}

/* A scale or zero point (may be NULL), reshaped to broadcast to x. */
static val laid(surg__builder *b, val s, const lie *l) {
  if (!s || !l->rank) return s;
  const size_t n = l->block ? (size_t)l->length : l->rank;
  int64_t *at = surg__arena_array(b->m->arena, n + 1, sizeof *at);
  if (!at) return no_memory(b);
  if (l->block) {
    for (size_t i = 0; i < n; i++) at[i] = (int64_t)i / l->block;
    return gather(b, s, surg__b_ints(b, at, n), (int64_t)l->axis);
  }
  for (size_t i = 0; i < n; i++) at[i] = i == l->axis ? -1 : 1;
  return surg__b_binary(b, "Reshape", s, surg__b_ints(b, at, n));
}

static surg_status quantize(surg__builder *b) {
  val x = surg__b_get(b, "x"), s = surg__b_get(b, "s"), z = surg__b_get(b, "z");
  const surg_node *n = b->m->nodes[b->m->rule->anchor];
  const int wish = (int)surg_node_int(n, "output_dtype", 0);
  const int to = z ? dtype_of(z) : wish ? wish : SURG_UINT8;
  double low, high;
  lie l;
  if (surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9") || !surg__b_attrs_known(b) ||
      surg__b_bad(b, surg_node_int(n, "precision", 0), "precision is unsupported") ||
      !bounds(to, &low, &high) ||
      surg__b_bad(b, dtype_of(s) != SURG_FLOAT, "an element type is unknown or unsupported") ||
      !find_lie(n, type_of(x), s, &l) ||
      surg__b_bad(b, dtype_of(x) != SURG_FLOAT && dtype_of(x) != SURG_INT32,
                  "an element type is unknown or unsupported"))
    return SURG_EUNSUPPORTED;
  if (dtype_of(x) == SURG_INT32) x = cast(b, x, SURG_FLOAT);
  val q = divide(b, x, laid(b, s, &l));
  surg__b_result(b, "y", narrowed(b, q, laid(b, z, &l), to));
  return b->status;
}

static surg_status dequantize(surg__builder *b) {
  val x = surg__b_get(b, "x"), s = surg__b_get(b, "s"), z = surg__b_get(b, "z");
  const surg_node *n = b->m->nodes[b->m->rule->anchor];
  double low, high;
  lie l;
  if (!surg__b_attrs_known(b) ||
      surg__b_bad(b, surg_node_int(n, "output_dtype", 0),
                  "an element type is unknown or unsupported") ||
      surg__b_bad(b, dtype_of(s) != SURG_FLOAT, "an element type is unknown or unsupported") ||
      surg__b_bad(b, dtype_of(x) == SURG_INT32 ? z != NULL : !bounds(dtype_of(x), &low, &high),
                  "an element type is unknown or unsupported") ||
      !find_lie(n, type_of(x), s, &l))
    return SURG_EUNSUPPORTED;
  x = cast(b, x, SURG_FLOAT);
  if (z) x = sub(b, x, cast(b, laid(b, z, &l), SURG_FLOAT));
  surg__b_result(b, "y", mul(b, x, laid(b, s, &l)));
  return b->status;
}

/* Makes v the replacement of the value bound to `name`. Returns the value to use from then on. */
static val result(surg__builder *b, const char *name, val v) {
  val old = surg__b_get(b, name);
  surg__b_result(b, name, v);
  return old ? old : v;
}

/* y, scale and zero point of x. The range is extended to include 0. */
static surg_status dynamic_quantize(surg__builder *b) {
  val x = surg__b_get(b, "x");
  if (surg__b_bad(b, dtype_of(x) != SURG_FLOAT, "an element type is unknown or unsupported") ||
      surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9") ||
      surg__b_bad(b, b->m->opset > 10, "the rewrite is for opset 10 and older"))
    return SURG_EUNSUPPORTED;
  val high = surg__b_unary(b, "ReduceMax", x), low = surg__b_unary(b, "ReduceMin", x);
  surg__b_set_int(b, high, "keepdims", 0);
  surg__b_set_int(b, low, "keepdims", 0);
  high = surg__b_binary(b, "Max", high, number(b, SURG_FLOAT, 0));
  low = surg__b_binary(b, "Min", low, number(b, SURG_FLOAT, 0));
  const val range = sub(b, high, low);
  val scale = divide(b, range, number(b, SURG_FLOAT, 255));
  /* If all elements are 0, the scale is 1; that of a range below 255 * 2^-150 is 0. Equal does not
   * support floats before opset 11. */
  val none = surg__b_unary(b, "Not", cast(b, range, SURG_BOOL));
  scale = result(b, "ys", surg__b_binary(b, "Add", scale, cast(b, none, SURG_FLOAT)));
  val zero = divide(b, sub(b, number(b, SURG_FLOAT, 0), low), scale);
  zero = result(b, "yz", narrowed(b, zero, NULL, SURG_UINT8));
  surg__b_result(b, "y", narrowed(b, divide(b, x, scale), zero, SURG_UINT8));
  return b->status;
}

/* --- sums of products --- */

#define MOST_RANK 8

/* The number of products per sum; 0: not known. */
static uint64_t terms_of(const surg__builder *b, bool conv) {
  const surg_type *t = type_of(surg__b_get(b, "b"));
  const size_t rank = t && surg_type_has_rank(t) ? surg_type_rank(t) : 0;
  uint64_t n = rank ? 1 : 0;
  const size_t from = conv ? 1 : rank > 1 ? rank - 2 : 0;
  for (size_t i = from; i < (conv || rank < 2 ? rank : rank - 1); i++) {
    const int64_t d = surg_type_dim(t, i)->value;
    if (d < 0 || !surg__mul_u64(n, (uint64_t)d, &n)) return 0;
  }
  return n;
}

/* The largest distance of a byte from its zero point. */
static uint64_t reach(const surg__builder *b, const char *x, const char *zero) {
  const int64_t low = dtype_of(surg__b_get(b, x)) == SURG_INT8 ? -128 : 0, high = low + 255;
  const surg_value *v = surg__b_get(b, zero);
  const surg_tensor *t = v ? surg_value_constant(v) : NULL;
  int64_t z = 0;
  if (v && (!t || surg__read_ints(t, &z, 1) != 1)) return 255;
  return (uint64_t)(high - z > z - low ? high - z : z - low);
}

/* How sums of products of bytes are computed exactly, in any order: in float, of the operands or of
 * their parts of 4 bits, or in double. float is preferred: few runtimes support Conv for double. */
typedef struct plan {
  int dtype;
  uint32_t x, w; /* parts of each operand: 1 or 2 */
} plan;

#define PART 16u /* x = 16 * high + low; neither is larger than 16 */

static plan plan_of(const surg__builder *b, bool conv) {
  static const plan plans[] = {{SURG_FLOAT, 1, 1}, {SURG_FLOAT, 1, 2}, {SURG_FLOAT, 2, 2}};
  const uint64_t n = terms_of(b, conv), x = reach(b, "a", "az"), w = reach(b, "b", "bz");
  /* Sums of parts times 16 * 16 must not wrap where the sums do not. */
  const size_t most_plans = !conv ? 1 : n <= 1u << 15 ? SURG_COUNT(plans) : 2;
  for (size_t i = 0; n > 0 && i < most_plans; i++) {
    const uint64_t most = (plans[i].x == 1 ? x : PART) * (plans[i].w == 1 ? w : PART);
    if (n <= (1u << 24) / most) return plans[i];
  }
  return (plan){SURG_DOUBLE, 1, 1};
}

/* Whether a zero point has a supported shape: one number, or one per output channel of
 * the weights of a ConvInteger, per row of A or per column of B of a MatMulInteger.
 * False: also if not known. */
static bool zero_lies(surg__builder *b, const char *name, bool conv, bool second) {
  const val z = surg__b_get(b, name);
  const surg_type *t = type_of(z), *w = type_of(surg__b_get(b, second ? "b" : "a"));
  if (single(z)) return true;
  return t && surg_type_has_rank(t) && surg_type_rank(t) == 1 && w && surg_type_has_rank(w) &&
         surg_type_rank(w) > 1 && surg_type_rank(w) <= MOST_RANK && (second || !conv);
}

static val zero_of(surg__builder *b, const char *name, bool conv, bool second) {
  static const int64_t ones[MOST_RANK] = {-1, 1, 1, 1, 1, 1, 1, 1};
  const val z = surg__b_get(b, name);
  if (!z || single(z) || (second && !conv)) return z;
  return surg__bint_reshape(b, z, ones, conv ? surg_type_rank(type_of(surg__b_get(b, "b"))) : 2);
}

/* x minus its zero point. */
static val centred(surg__builder *b, const char *x, val z, int dtype) {
  val v = cast(b, surg__b_get(b, x), dtype);
  return z ? sub(b, v, cast(b, z, dtype)) : v;
}

/* The Conv or MatMul of the node; `bias` may be NULL. */
static val product(surg__builder *b, bool conv, val x, val w, val bias) {
  const val in[3] = {x, w, bias};
  val y = surg__b_node(b, conv ? "Conv" : "MatMul", in, bias ? 3 : 2);
  if (conv) surg__b_copy_attrs(b, y, surg__b_matched(b), NULL);
  return y;
}

static bool is_conv(const surg__builder *b) {
  const int op = surg_node_op(b->m->nodes[b->m->rule->anchor]);
  return op == SURG_OP_QLinearConv || op == SURG_OP_ConvInteger;
}

/* The parts of x, the higher one last; 0 has parts of 0. */
static void parts_of(surg__builder *b, val x, uint32_t n, val out[2]) {
  out[0] = out[1] = x;
  if (n < 2) return;
  const val part = number(b, SURG_FLOAT, PART);
  out[1] = surg__b_unary(b, "Floor", divide(b, x, part));
  out[0] = sub(b, x, mul(b, out[1], part));
}

/* The sums, int32. */
static val exact_product(surg__builder *b, const plan *p, val x, val w) {
  val xs[2], ws[2], y = NULL;
  parts_of(b, x, p->x, xs);
  parts_of(b, w, p->w, ws);
  for (uint32_t i = 0; i < p->x; i++)
    for (uint32_t j = 0; j < p->w; j++) {
      val one = cast(b, product(b, is_conv(b), xs[i], ws[j], NULL), SURG_INT32);
      if (i + j > 0) one = mul(b, one, number(b, SURG_INT32, i + j == 1 ? PART : PART * PART));
      y = y ? add(b, y, one) : one;
    }
  return y;
}

static surg_status integer_product(surg__builder *b) {
  val x = surg__b_get(b, "a"), w = surg__b_get(b, "b");
  const bool conv = is_conv(b);
  if (surg__b_bad(b, !byte(dtype_of(x)), "an element type is unknown or unsupported") ||
      surg__b_bad(b, !byte(dtype_of(w)), "an element type is unknown or unsupported") ||
      surg__b_bad(b, !zero_lies(b, "az", conv, false),
                  "the zero point of the first operand is unsupported") ||
      surg__b_bad(b, !zero_lies(b, "bz", conv, true),
                  "the zero point of the second operand is unsupported"))
    return SURG_EUNSUPPORTED;
  const plan p = plan_of(b, conv);
  if (surg__b_no_kernel(b, conv ? "Conv" : "MatMul", p.dtype)) return SURG_EUNSUPPORTED;
  x = centred(b, "a", zero_of(b, "az", conv, false), p.dtype);
  w = centred(b, "b", zero_of(b, "bz", conv, true), p.dtype);
  surg__b_result(b, "y", exact_product(b, &p, x, w));
  return b->status;
}

/* The product of the scales is one factor, in float; the sum is converted to
 * float before scaling. */
static surg_status scaled_product(surg__builder *b) {
  static const char *const singles[] = {"as", "az", "bs", "bz", "ys", "yz"};
  val yz = surg__b_get(b, "yz"), bias = is_conv(b) ? surg__b_get(b, "bias") : NULL;
  if (surg__b_bad(b, b->m->opset < 9, "the rewrite requires opset 9") ||
      surg__b_bad(b, !byte(dtype_of(surg__b_get(b, "a"))),
                  "an element type is unknown or unsupported") ||
      surg__b_bad(b, !byte(dtype_of(surg__b_get(b, "b"))),
                  "an element type is unknown or unsupported") ||
      surg__b_bad(b, !byte(dtype_of(yz)), "an element type is unknown or unsupported"))
    return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < SURG_COUNT(singles); i++)
    if (surg__b_bad(b, !single(surg__b_get(b, singles[i])),
                    "a scale or zero point is not known to be one element"))
      return SURG_EUNSUPPORTED;
  if (surg__b_bad(b, dtype_of(surg__b_get(b, "as")) != SURG_FLOAT,
                  "an element type is unknown or unsupported"))
    return SURG_EUNSUPPORTED;
  const surg_type *t = type_of(surg__b_get(b, "b"));
  const bool ranked = t && surg_type_has_rank(t) && surg_type_rank(t) <= MOST_RANK;
  const plan p = !bias || ranked ? plan_of(b, is_conv(b)) : (plan){SURG_DOUBLE, 1, 1};
  if (surg__b_no_kernel(b, is_conv(b) ? "Conv" : "MatMul", p.dtype)) return SURG_EUNSUPPORTED;
  if (bias) bias = cast(b, bias, SURG_DOUBLE);
  val x = centred(b, "a", surg__b_get(b, "az"), p.dtype);
  val w = centred(b, "b", surg__b_get(b, "bz"), p.dtype);
  const bool apart = bias && p.dtype == SURG_FLOAT; /* the bias may not be exact in float */
  val y = p.x * p.w > 1 ? exact_product(b, &p, x, w)
                        : product(b, is_conv(b), x, w, apart ? NULL : bias);
  if (apart) {
    int64_t dims[MOST_RANK] = {-1};
    for (size_t i = 1; i + 1 < surg_type_rank(t); i++) dims[i] = 1;
    bias = surg__bint_reshape(b, bias, dims, surg_type_rank(t) - 1);
    y = add(b, cast(b, y, SURG_DOUBLE), bias);
  }
  val scale = mul(b, surg__b_get(b, "as"), surg__b_get(b, "bs"));
  scale = divide(b, scale, surg__b_get(b, "ys"));
  y = mul(b, cast(b, y, SURG_FLOAT), scale);
  surg__b_result(b, "y", narrowed(b, y, yz, dtype_of(yz)));
  return b->status;
}

/* --- Erf --- */

#define TERMS 72 /* terms for |x| up to 4; beyond that erf rounds to 1 */

/* x exp(-x^2) 2 / sqrt(pi) (1 + 2x^2/3 (1 + 2x^2/5 (1 + ...))): all terms have one sign, so there
 * is no cancellation. */
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
    {"dequantize", dequantize, "x less z, times s"},
    {"dynamic_quantize", dynamic_quantize, "x by the scale of its own range"},
    {"integer_product", integer_product,
     "the product in double, of numbers less their zero points"},
    {"scaled_product", scaled_product, "the same, scaled and rounded"},
    {"erf", erf_series, "a series in double"},
    {NULL, NULL, NULL},
};
