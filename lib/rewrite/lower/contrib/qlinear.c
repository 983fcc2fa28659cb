/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized operators of com.microsoft in float: operands are dequantized, and the result is
 * quantized. Sums of products of bytes are computed as integers. Scales and zero points of one
 * element may have any rank. */
#include "base/counted.h"
#include "rewrite/lower/native.h"

static bool is_byte(int dtype) {
  return dtype == SURG_INT8 || dtype == SURG_UINT8;
}

/* --- tensors with a scale and a zero point --- */

/* The names of a tensor, its scale and its zero point in a rule. */
typedef struct coded {
  const char *x, *scale, *zero;
} coded;

/* Whether the scale is one float, and the zero point is one number or absent. */
static bool is_single(surg__builder *b, const char *name) {
  surg__built x;
  uint64_t n;
  if (!surg__b_get(b, name)) return true;
  if (!surg__built_get(b, name, &x)) return false;
  return !surg__b_bad(b, !surg__built_count(&x, INT32_MAX, &n) || n != 1,
                      "a scale or zero point is not known to be one number");
}

static bool is_coded(surg__builder *b, const coded *c) {
  return !surg__b_bad(b, !is_byte(surg__b_dtype(surg__b_get(b, c->x))),
                      "expected 8-bit integers") &&
         !surg__b_bad(b, surg__b_dtype(surg__b_get(b, c->scale)) != SURG_FLOAT,
                      "expected scales of float") &&
         is_single(b, c->scale) && is_single(b, c->zero);
}

static surg_value *one_of(surg__builder *b, const char *name) {
  surg_value *v = surg__b_get(b, name);
  return v ? surg__b_single(b, v) : NULL;
}

static surg_value *real(surg__builder *b, const coded *c) {
  surg_value *scale = one_of(b, c->scale);
  surg_value *const in[3] = {surg__b_get(b, c->x), scale, one_of(b, c->zero)};
  return surg__b_node(b, "DequantizeLinear", in, in[2] ? 3 : 2);
}

/* Quantizes v to the type, which an absent zero point does not state, and makes it the result y. */
static surg_status give(surg__builder *b, surg_value *v, const char *scale, const char *zero,
                        int dtype) {
  surg_value *z = one_of(b, zero);
  if (!z && dtype != SURG_UINT8) z = surg__b_scalar(b, dtype, 0);
  surg_value *s = one_of(b, scale);
  surg_value *const in[3] = {v, s, z};
  surg__b_result(b, "y", surg__b_node(b, "QuantizeLinear", in, z ? 3 : 2));
  return b->status;
}

/* y = QLinearAdd or QLinearMul (a, as, az, b, bs, bz, cs, cz) */
static surg_status pair_in_floats(surg__builder *b) {
  static const coded left = {"a", "as", "az"}, right = {"b", "bs", "bz"};
  const bool adds = surg_node_op(surg__b_matched(b)) == SURG_OP_ms_QLinearAdd;
  if (!surg__b_attrs_known(b) || !is_coded(b, &left) || !is_coded(b, &right) ||
      !is_single(b, "cs") || !is_single(b, "cz"))
    return SURG_EUNSUPPORTED;
  surg_value *x = real(b, &left);
  surg_value *y = surg__b_binary(b, adds ? "Add" : "Mul", x, real(b, &right));
  return give(b, y, "cs", "cz", surg__b_dtype(surg__b_get(b, "a")));
}

/* y = QLinearWhere (c, a, as, az, b, bs, bz, cs, cz) */
static surg_status choice_in_floats(surg__builder *b) {
  static const coded left = {"a", "as", "az"}, right = {"b", "bs", "bz"};
  if (!surg__b_attrs_known(b) || !is_coded(b, &left) || !is_coded(b, &right) ||
      !is_single(b, "cs") || !is_single(b, "cz"))
    return SURG_EUNSUPPORTED;
  surg_value *x = real(b, &left);
  surg_value *const in[3] = {surg__b_get(b, "c"), x, real(b, &right)};
  return give(b, surg__b_node(b, "Where", in, 3), "cs", "cz", surg__b_dtype(surg__b_get(b, "a")));
}

/* --- one operand --- */

/* The channels of x, of this rank, moved from the last axis to axis 1 (`first`), or back. */
static surg_value *channels(surg__builder *b, surg_value *x, uint32_t rank, bool first) {
  int64_t perm[SURG__BT_RANK];
  for (uint32_t i = 0; i < rank; i++) {
    if (first)
      perm[i] = i == 0 ? 0 : i == 1 ? (int64_t)rank - 1 : (int64_t)i - 1;
    else
      perm[i] = i == 0 ? 0 : i + 1 == rank ? 1 : (int64_t)i + 1;
  }
  surg_value *y = surg__b_unary(b, "Transpose", x);
  surg__b_set_ints(b, y, "perm", perm, rank);
  return y;
}

static const char *const own[] = {"channels_last", NULL}; /* not of the standard operator */

/* Softmax over one axis, or below opset 13 over all from the axis on. */
static surg_value *softmax(surg__builder *b, const surg__built *x, surg_value *v) {
  const surg_node *n = surg__b_matched(b);
  const bool flat = surg_node_int(n, "opset", 13) < 13;
  const int64_t rank = x->rank, wish = surg_node_int(n, "axis", -1);
  const int64_t axis = wish < 0 ? wish + rank : wish;
  if (!flat || axis + 1 == rank) {
    if (b->m->opset >= 13 || axis + 1 == rank) {
      v = surg__b_unary(b, "Softmax", v);
      surg__b_set_int(b, v, "axis", axis);
      return v;
    }
    surg__built y = {.v = v, .dtype = SURG_FLOAT, .rank = x->rank};
    memcpy(y.d, x->d, sizeof y.d);
    y = surg__built_swap(b, y, (uint32_t)axis, x->rank - 1);
    return surg__built_swap(b, surg__built_softmax(b, y), (uint32_t)axis, x->rank - 1).v;
  }
  surg__built y = {.v = v, .dtype = SURG_FLOAT, .rank = x->rank};
  memcpy(y.d, x->d, sizeof y.d);
  surg__bdim d[2] = {surg__bdim_fixed(1), surg__bdim_fixed(1)};
  for (int64_t i = 0; i < rank; i++) d[i >= axis] = surg__bdim_mul(b, d[i >= axis], x->d[i]);
  y = surg__built_softmax(b, surg__built_reshape(b, y, d, 2));
  return surg__built_reshape(b, y, x->d, x->rank).v;
}

static surg_value *averaged(surg__builder *b, const surg__built *x, surg_value *v, bool global) {
  const bool last = surg_node_int(surg__b_matched(b), "channels_last", 0) != 0;
  if (last) v = channels(b, v, x->rank, true);
  v = surg__b_unary(b, global ? "GlobalAveragePool" : "AveragePool", v);
  if (!global) surg__b_copy_attrs(b, v, surg__b_matched(b), own);
  return last ? channels(b, v, x->rank, false) : v;
}

static surg_value *mean(surg__builder *b, surg_value *v) {
  size_t n = 0;
  const int64_t *axes = surg_node_ints(surg__b_matched(b), "axes", &n);
  v = surg__b_over(b, "ReduceMean", v, axes, n);
  surg__b_set_int(b, v, "keepdims", surg_node_int(surg__b_matched(b), "keepdims", 1));
  return v;
}

static bool fits_one(surg__builder *b, int op, const surg__built *x) {
  const surg_node *n = surg__b_matched(b);
  size_t axes = 0;
  const int64_t rank = x->rank, axis = surg_node_int(n, "axis", -1);
  if (op == SURG_OP_ms_QLinearSoftmax)
    return !surg__b_bad(b, rank < 1 || axis < -rank || axis >= rank, "the axis is out of range");
  if (op == SURG_OP_ms_QLinearReduceMean)
    return !surg__b_bad(b, !surg_node_ints(n, "axes", &axes) || !axes, "axes are absent");
  const bool pool =
      op == SURG_OP_ms_QLinearAveragePool || op == SURG_OP_ms_QLinearGlobalAveragePool;
  if (surg__b_bad(b, pool && x->rank < 3, "x: expected rank 3 or more")) return false;
  return !surg__b_bad(
      b,
      op == SURG_OP_ms_QLinearAveragePool && surg_node_int(n, "ceil_mode", 0) && b->m->opset < 19,
      "ceil_mode requires opset 19 to count pads correctly");
}

/* y = an operator of one operand (x, s, z, t, v) */
static surg_status single_in_floats(surg__builder *b) {
  static const coded from = {"x", "s", "z"};
  const surg_node *n = surg__b_matched(b);
  const int op = surg_node_op(n);
  surg__built x;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) || !is_coded(b, &from) ||
      !is_single(b, "t") || !is_single(b, "v") || !fits_one(b, op, &x))
    return SURG_EUNSUPPORTED;
  surg_value *v = real(b, &from);
  switch (op) {
    case SURG_OP_ms_QLinearSigmoid:
      v = surg__b_unary(b, "Sigmoid", v);
      break;
    case SURG_OP_ms_QLinearLeakyRelu:
      v = surg__b_unary(b, "LeakyRelu", v);
      surg__b_set_float(b, v, "alpha", surg_node_float(n, "alpha", 0.01f));
      break;
    case SURG_OP_ms_QLinearSoftmax:
      v = softmax(b, &x, v);
      break;
    case SURG_OP_ms_QLinearReduceMean:
      v = mean(b, v);
      break;
    case SURG_OP_ms_QLinearAveragePool:
      v = averaged(b, &x, v, false);
      break;
    default:
      v = averaged(b, &x, v, true);
      break;
  }
  return give(b, v, "t", "v", x.dtype);
}

/* y = QLinearConv <channels_last> (x, xs, xz, w, ws, wz, ys, yz, bias) */
static surg_status conv_of_channels(surg__builder *b) {
  static const char *const names[] = {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "bias"};
  const bool last = surg_node_int(surg__b_matched(b), "channels_last", 0) != 0;
  surg_value *in[9];
  surg__built x;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) ||
      surg__b_bad(b, x.rank < 3, "x: expected rank 3 or more"))
    return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < SURG_COUNT(names); i++) in[i] = surg__b_get(b, names[i]);
  if (last) in[0] = channels(b, in[0], x.rank, true);
  surg_value *y = surg__b_node(b, "QLinearConv", in, in[8] ? 9 : 8);
  surg__b_copy_attrs(b, y, surg__b_matched(b), own);
  surg__b_result(b, "y", last ? channels(b, y, x.rank, false) : y);
  return b->status;
}

/* y = NhwcMaxPool (x) */
static surg_status pool_of_channels(surg__builder *b) {
  surg__built x;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) ||
      surg__b_bad(b, x.rank < 3, "x: expected rank 3 or more"))
    return SURG_EUNSUPPORTED;
  surg_value *y = surg__b_unary(b, "MaxPool", channels(b, x.v, x.rank, true));
  surg__b_copy_attrs(b, y, surg__b_matched(b), own);
  surg__b_result(b, "y", channels(b, y, x.rank, false));
  return b->status;
}

/* --- sums of products of bytes --- */

/* A scale or zero point of columns: one number, or a vector of them. */
static bool of_columns(surg__builder *b, const char *name, const surg__built *w, surg__built *out) {
  uint64_t n;
  *out = (surg__built){0};
  if (!surg__b_get(b, name)) return true;
  if (!surg__built_get(b, name, out)) return false;
  const bool one = surg__built_count(out, INT32_MAX, &n) && n == 1;
  const bool each = out->rank == 1 && w->rank == 2 && !one;
  return !surg__b_bad(b, !one && !each,
                      "a scale or zero point is neither one number nor one a column");
}

static surg__built as_vector(surg__builder *b, surg__built x) {
  const surg__bdim one = surg__bdim_fixed(1);
  return x.rank == 1 ? x : surg__built_reshape(b, x, &one, 1);
}

/* A zero point as MatMulInteger expects it. */
static surg_value *zero_of(surg__builder *b, surg__built z) {
  return z.v && z.rank == 1 && z.d[0].n == 1 ? surg__b_single(b, z.v) : z.v;
}

/* The sums as int32, with the sizes of the result. */
static surg__built sums(surg__builder *b, surg_value *a, const surg__built *like, surg__built w,
                        surg_value *a_zero, surg__built w_zero, int a_dtype) {
  if (w_zero.v && !a_zero) a_zero = surg__b_scalar(b, a_dtype, 0);
  surg_value *const in[4] = {a, w.v, a_zero, zero_of(b, w_zero)};
  surg__built y = *like;
  y.dtype = SURG_INT32;
  y.v = surg__b_node(b, "MatMulInteger", in, w_zero.v ? 4 : a_zero ? 3 : 2);
  y.d[y.rank - 1] = w.d[w.rank - 1];
  return y;
}

/* The sums times the scales, plus the bias. */
static surg__built scaled(surg__builder *b, surg__built y, surg__built step) {
  surg__built bias = {0};
  y = surg__built_binary(b, "Mul", surg__built_cast(b, y, SURG_FLOAT), step);
  if (surg__b_get(b, "bias") && surg__built_get(b, "bias", &bias))
    y = surg__built_binary(b, "Add", y, surg__built_cast(b, bias, SURG_FLOAT));
  return y;
}

static bool read_product(surg__builder *b, surg__built *a, surg__built *w) {
  surg__built bias;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "a", a) || !surg__built_get(b, "b", w))
    return false;
  return !surg__b_bad(b, a->rank < 1 || w->rank < 2 || (w->rank > 2 && w->rank > a->rank),
                      "b: expected rank 2 or more, and that of a at most") &&
         !surg__b_bad(b, !is_byte(w->dtype), "b: expected 8-bit integers") &&
         (!surg__b_get(b, "bias") || surg__built_get(b, "bias", &bias));
}

/* y = MatMulIntegerToFloat (a, b, as, bs, az, bz, bias) */
static surg_status product_to_float(surg__builder *b) {
  surg__built a, w, as, bs, bz;
  if (!read_product(b, &a, &w) || !surg__built_get(b, "as", &as) || !is_single(b, "as") ||
      !is_single(b, "az") || !of_columns(b, "bs", &w, &bs) || !of_columns(b, "bz", &w, &bz) ||
      surg__b_bad(b, !is_byte(a.dtype), "a: expected 8-bit integers"))
    return SURG_EUNSUPPORTED;
  const int dtype = as.dtype;
  as = surg__built_cast(b, as_vector(b, as), SURG_FLOAT);
  bs = surg__built_cast(b, as_vector(b, bs), SURG_FLOAT);
  surg__built y = sums(b, a.v, &a, w, one_of(b, "az"), bz, a.dtype);
  y = scaled(b, y, surg__built_binary(b, "Mul", as, bs));
  surg__built_result(b, "y", surg__built_cast(b, y, dtype));
  return b->status;
}

/* y = DynamicQuantizeMatMul (a, b, bs, bz, bias) */
static surg_status dynamic_product(surg__builder *b) {
  surg__built a, w, bs, bz;
  if (!read_product(b, &a, &w) || !of_columns(b, "bs", &w, &bs) || !of_columns(b, "bz", &w, &bz) ||
      surg__b_bad(b, a.dtype != SURG_FLOAT, "a: expected float"))
    return SURG_EUNSUPPORTED;
  surg_value *codes = surg__b_unary(b, "DynamicQuantizeLinear", a.v);
  const surg__built scale = {.v = surg__b_output(b, codes, 1), .dtype = SURG_FLOAT};
  bs = as_vector(b, bs);
  surg__built y = sums(b, codes, &a, w, surg__b_output(b, codes, 2), bz, SURG_UINT8);
  y = scaled(b, y, surg__built_binary(b, "Mul", bs, scale));
  surg__built_result(b, "y", y);
  return b->status;
}

static surg__built turned(surg__builder *b, surg__built x, bool turns) {
  return turns ? surg__built_swap(b, x, 0, 1) : x;
}

/* y = QGemm <alpha, transA, transB> (a, as, az, b, bs, bz, c, ys, yz) */
static surg_status gemm_in_integers(surg__builder *b) {
  const surg_node *n = surg__b_matched(b);
  surg__built a, w, as, bs, bz, c = {0};
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "a", &a) || !surg__built_get(b, "b", &w) ||
      surg__b_bad(b, a.rank != 2 || w.rank != 2, "a and b: expected rank 2") ||
      !surg__built_get(b, "as", &as) || !is_single(b, "as") || !is_single(b, "az") ||
      !of_columns(b, "bs", &w, &bs) || !of_columns(b, "bz", &w, &bz) || !is_single(b, "ys") ||
      !is_single(b, "yz") ||
      surg__b_bad(b, !is_byte(a.dtype) || !is_byte(w.dtype), "expected 8-bit integers"))
    return SURG_EUNSUPPORTED;
  if (surg__b_get(b, "c") && !surg__built_get(b, "c", &c)) return SURG_EUNSUPPORTED;
  a = turned(b, a, surg_node_int(n, "transA", 0));
  w = turned(b, w, surg_node_int(n, "transB", 0));
  surg__built y = sums(b, a.v, &a, w, one_of(b, "az"), bz, a.dtype);
  if (c.v) y = surg__built_binary(b, "Add", y, c);
  bs = as_vector(b, bs);
  surg__built step = surg__built_binary(b, "Mul", as_vector(b, as), bs);
  const double alpha = surg_node_float(n, "alpha", 1);
  if (alpha < 1 || alpha > 1) step = surg__built_number(b, "Mul", step, alpha);
  y = surg__built_binary(b, "Mul", surg__built_cast(b, y, SURG_FLOAT), step);
  if (surg__b_get(b, "ys")) return give(b, y.v, "ys", "yz", a.dtype);
  surg__built_result(b, "y", y);
  return b->status;
}

/* --- QuantizeLinear and DequantizeLinear of com.microsoft --- */

typedef struct steps {
  surg__built x, scale, zero; /* zero: v NULL: absent */
  int code;                   /* the integer type */
  bool one;                   /* one scale */
  int64_t axis;
} steps;

static bool read_steps(surg__builder *b, steps *s, bool codes) {
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &s->x) ||
      !surg__built_get(b, "s", &s->scale) ||
      (surg__b_get(b, "z") && !surg__built_get(b, "z", &s->zero)))
    return false;
  const int64_t rank = s->x.rank, wish = surg_node_int(surg__b_matched(b), "axis", 1);
  uint64_t n;
  s->axis = wish < 0 ? wish + rank : wish;
  s->one = surg__built_count(&s->scale, INT32_MAX, &n) && n == 1;
  s->code = codes ? s->x.dtype : s->zero.v ? s->zero.dtype : SURG_UINT8;
  return !surg__b_bad(b, !s->one && (s->scale.rank != 1 || s->axis < 0 || s->axis >= rank),
                      "the scale is neither one number nor one along an axis") &&
         !surg__b_bad(b, s->zero.v && s->zero.rank != s->scale.rank,
                      "scale and zero point have different ranks") &&
         !surg__b_bad(b,
                      !is_byte(s->code) && s->code != SURG_INT16 && s->code != SURG_UINT16 &&
                          s->code != SURG_INT32,
                      "expected integers of 8, 16 or 32 bits");
}

/* A scale or zero point that broadcasts with x. */
static surg__built along(surg__builder *b, const steps *s, surg__built v) {
  surg__bdim d[SURG__BT_RANK];
  const uint32_t rank = (uint32_t)(s->x.rank - s->axis);
  if (s->one) return surg__built_reshape(b, v, NULL, 0);
  for (uint32_t i = 0; i < rank; i++) d[i] = i ? surg__bdim_fixed(1) : v.d[0];
  return surg__built_reshape(b, v, d, rank);
}

/* Whether the standard's operator of this opset accepts the types and the axis. */
static bool is_standard(const surg__builder *b, const steps *s, const char *op, bool codes) {
  const bool wide = s->code == SURG_INT16 || s->code == SURG_UINT16;
  return (!wide || b->m->opset >= 21) && (s->one || b->m->opset >= 13) &&
         (codes ? surg__b_takes(b, op, 0, s->code) && surg__b_takes(b, op, 1, s->scale.dtype)
                : surg__b_takes(b, op, 0, s->x.dtype));
}

static surg_status as_standard(surg__builder *b, const steps *s, const char *op) {
  surg_value *scale = s->one ? surg__b_single(b, s->scale.v) : s->scale.v;
  surg_value *zero = s->zero.v && s->one ? surg__b_single(b, s->zero.v) : s->zero.v;
  surg_value *const in[3] = {s->x.v, scale, zero};
  surg_value *y = surg__b_node(b, op, in, zero ? 3 : 2);
  if (!s->one) surg__b_set_int(b, y, "axis", s->axis);
  surg__b_result(b, "y", y);
  return b->status;
}

/* y = QuantizeLinear <axis> (x, s, z): round(x / s) + z, limited to the type */
static surg_status quantize(surg__builder *b) {
  steps s = {.axis = 0};
  if (!read_steps(b, &s, false) ||
      surg__b_bad(b, s.code == SURG_INT32, "expected integers of 8 or 16 bits") ||
      surg__b_bad(b, s.x.dtype != SURG_FLOAT, "x: expected float"))
    return SURG_EUNSUPPORTED;
  if (is_standard(b, &s, "QuantizeLinear", false)) return as_standard(b, &s, "QuantizeLinear");
  if (surg__b_bad(b, b->m->opset < 11, "the rewrite requires opset 11")) return SURG_EUNSUPPORTED;
  const bool is_signed = s.code == SURG_INT8 || s.code == SURG_INT16;
  const double span = is_byte(s.code) ? 256 : 65536, low = is_signed ? -span / 2 : 0;
  surg__built y = surg__built_cast(b, s.x, SURG_FLOAT);
  y = surg__built_binary(b, "Div", y, surg__built_cast(b, along(b, &s, s.scale), SURG_FLOAT));
  y = surg__built_unary(b, "Round", y);
  if (s.zero.v)
    y = surg__built_binary(b, "Add", y, surg__built_cast(b, along(b, &s, s.zero), SURG_FLOAT));
  surg_value *least = surg__b_scalar(b, SURG_FLOAT, low);
  surg_value *const in[3] = {y.v, least, surg__b_scalar(b, SURG_FLOAT, low + span - 1)};
  y.v = surg__b_node(b, "Clip", in, 3);
  y = surg__built_cast(b, surg__built_cast(b, y, SURG_INT32), s.code);
  surg__built_result(b, "y", y);
  return b->status;
}

/* Whether all numbers of a constant are 0. */
static bool is_zero(surg__builder *b, const surg__built *x) {
  const surg_tensor *t = surg_value_constant(x->v);
  uint64_t n;
  if (!t || !surg__built_count(x, SURG_LIMIT_EMIT_CONSTANT, &n)) return false;
  int64_t *v = surg__arena_array(b->m->arena, (size_t)n + 1, sizeof *v);
  if (!v || surg__read_ints(t, v, (size_t)n) != (int64_t)n) return false;
  while (n > 0 && v[n - 1] == 0) n--;
  return n == 0;
}

/* y = DequantizeLinear <axis> (x, s, z): (x - z) * s */
static surg_status dequantize(surg__builder *b) {
  steps s = {.axis = 0};
  if (!read_steps(b, &s, true)) return SURG_EUNSUPPORTED;
  if (s.code == SURG_INT32 && s.zero.v) {
    if (surg__b_bad(b, !is_zero(b, &s.zero), "32-bit integers with a zero point that may not be 0"))
      return SURG_EUNSUPPORTED;
    s.zero.v = NULL;
  }
  if (is_standard(b, &s, "DequantizeLinear", true)) return as_standard(b, &s, "DequantizeLinear");
  surg__built y = surg__built_cast(b, s.x, SURG_INT32);
  if (s.zero.v)
    y = surg__built_binary(b, "Sub", y, surg__built_cast(b, along(b, &s, s.zero), SURG_INT32));
  const surg__built scale = surg__built_cast(b, along(b, &s, s.scale), SURG_FLOAT);
  y = surg__built_binary(b, "Mul", surg__built_cast(b, y, SURG_FLOAT), scale);
  surg__built_result(b, "y", surg__built_cast(b, y, s.scale.dtype));
  return b->status;
}

const surg__native surg__natives_qlinear[] = {
    {"ms_qpair", pair_in_floats, "QLinearAdd and QLinearMul in floats"},
    {"ms_qwhere", choice_in_floats, "QLinearWhere in floats"},
    {"ms_qsingle", single_in_floats, "quantized operators of one operand in floats"},
    {"ms_max_pool", pool_of_channels, "NhwcMaxPool with the channels as axis 1"},
    {"ms_qconv", conv_of_channels, "QLinearConv with the channels as axis 1"},
    {"ms_product_to_float", product_to_float, "MatMulIntegerToFloat as MatMulInteger"},
    {"ms_dynamic_product", dynamic_product, "DynamicQuantizeMatMul as MatMulInteger"},
    {"ms_qgemm", gemm_in_integers, "QGemm as MatMulInteger"},
    {"ms_quantize", quantize, "QuantizeLinear of ONNX Runtime"},
    {"ms_dequantize", dequantize, "DequantizeLinear of ONNX Runtime"},
    {NULL, NULL, NULL},
};
