/* SPDX-License-Identifier: Apache-2.0 */
/* Random valid models: elementwise operators, logic, comparison, reductions. */
#include "gen_core.h"

/* Which element types an operator takes here: not all the standard allows. */
enum { FLOATS, FLOAT_ONLY, FLOAT_DOUBLE, SIGNED, NUMBERS, INTS, BOOLS, ALL, SMALL };

static uint32_t set_of(unsigned which) {
  switch (which) {
    case FLOATS:
      return GEN_FLOAT;
    case FLOAT_ONLY:
      return 1u << SURG_FLOAT;
    case FLOAT_DOUBLE:
      return 1u << SURG_FLOAT | 1u << SURG_DOUBLE;
    case SIGNED:
    case NUMBERS:
      return GEN_FLOAT | GEN_INT;
    case INTS:
      return GEN_INT;
    case BOOLS:
      return GEN_BOOL;
    case SMALL:
      return 1u << SURG_UINT8;
    default:
      return GEN_ANY;
  }
}

/* Softplus is not of float16: ONNX Runtime has no kernel for it, and expands it from opset 18 on into
 * an Exp that overflows. */
static bool unary(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, set_of(op->arg), 0, GEN_RANK, true, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_out(g, n, 0, &x);
  return true;
}

static bool unary_alpha(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, set_of(op->arg), 0, GEN_RANK, true, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  if (gen_chance(g, 60)) gen_set_float(g, n, "alpha", 0.25f + (float)gen_below(g, 8) / 4);
  gen_out(g, n, 0, &x);
  return true;
}

static bool to_bool(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, set_of(op->arg), 0, GEN_RANK, true, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  x.dtype = SURG_BOOL;
  gen_out(g, n, 0, &x);
  return true;
}

/* A chain of Identity, which passes should take out. */
static bool identities(gen *g, const gen_op *op) {
  gen_value x;
  (void)op;
  if (!gen_pick(g, GEN_ANY, 0, GEN_RANK, true, &x)) return false;
  for (uint32_t i = 1 + gen_below(g, 3); i > 0 && !g->failed; i--) {
    surg_node *n = gen_node(g, "Identity", 1);
    if (!n) return false;
    gen_in(g, n, 0, &x);
    gen_out(g, n, 0, &x);
    x = g->scope->values[g->scope->count - 1];
  }
  return true;
}

/* Two values that broadcast: another one here, the same one, or a constant. */
static bool second(gen *g, gen_value *x, gen_value *y, bool nonzero) {
  gen_value r;
  for (int i = 0; !nonzero && i < 6; i++) {
    if (!gen_pick(g, 1u << x->dtype, 0, GEN_RANK, true, y)) break;
    r = *x;
    if (gen_broadcast(&r, y)) return true;
  }
  /* Trailing dims of x, or ones for what has a symbol: a constant has no symbols. */
  unsigned rank = gen_below(g, x->rank + 1);
  gen_dim dims[GEN_RANK];
  for (unsigned i = 0; i < rank; i++) {
    dims[i] = x->dims[x->rank - rank + i];
    if (dims[i].symbol || gen_chance(g, 30)) dims[i] = gen_size(1);
  }
  return gen_constant(g, x->dtype, dims, rank, nonzero, y);
}

static bool emit_binary(gen *g, const gen_op *op, int result, bool nonzero) {
  gen_value x, y, r;
  /* A remainder of floats shows what rounded before it: wild models are compared with a runtime. */
  const bool whole = g->options->wild && op->arg != SMALL && nonzero && op->name[0] == 'M';
  const uint32_t set = set_of(op->arg) & ~(whole ? (uint32_t)GEN_FLOAT : 0);
  if (!gen_pick(g, set, 0, GEN_RANK, true, &x) || !second(g, &x, &y, nonzero)) return false;
  r = x;
  if (!gen_broadcast(&r, &y)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  bool swap = !nonzero && gen_chance(g, 30);
  gen_in(g, n, 0, swap ? &y : &x);
  gen_in(g, n, 1, swap ? &x : &y);
  if (op->arg != SMALL && nonzero && (1u << x.dtype & GEN_FLOAT) && op->name[0] == 'M')
    gen_set_int(g, n, "fmod", 1);
  if (result) r.dtype = result;
  gen_out(g, n, 0, &r);
  return true;
}

static bool binary(gen *g, const gen_op *op) {
  return emit_binary(g, op, 0, false);
}

static bool divide(gen *g, const gen_op *op) {
  return emit_binary(g, op, 0, true);
}

static bool compare(gen *g, const gen_op *op) {
  return emit_binary(g, op, SURG_BOOL, false);
}

static bool shift(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, 1u << SURG_UINT8, 0, GEN_RANK, true, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, gen_scalar(g, SURG_UINT8, gen_below(g, 8)));
  if (surg_node_set_string(n, "direction", gen_chance(g, 50) ? "LEFT" : "RIGHT")) g->failed = true;
  gen_out(g, n, 0, &x);
  return true;
}

/* Min, Max, Sum, Mean: one to four inputs; before opset 8 all of one shape. */
static bool variadic(gen *g, const gen_op *op) {
  gen_value x[4], r;
  uint32_t count = 1 + gen_below(g, 4), found = 1;
  if (!gen_pick(g, g->opset < 8 ? GEN_FLOAT : set_of(op->arg), 0, GEN_RANK, true, &x[0]))
    return false;
  r = x[0];
  while (found < count) {
    gen_value next = r;
    if (!gen_pick(g, 1u << r.dtype, 0, GEN_RANK, true, &x[found])) break;
    if (g->opset < 8 ? !gen_same_shape(&r, &x[found]) : !gen_broadcast(&next, &x[found])) break;
    r = next;
    found++;
  }
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  for (uint32_t i = 0; i < found; i++) gen_in(g, n, i, &x[i]);
  gen_out(g, n, 0, &r);
  return true;
}

static bool where(gen *g, const gen_op *op) {
  gen_value c, x, y, r;
  if (!gen_pick(g, GEN_BOOL, 0, GEN_RANK, true, &c)) return false;
  if (!gen_pick(g, GEN_FLOAT | GEN_INT, 0, GEN_RANK, true, &x)) return false;
  r = x;
  if (!gen_broadcast(&r, &c) || !second(g, &r, &y, false) || !gen_broadcast(&r, &y)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &c);
  gen_in(g, n, 1, &x);
  gen_in(g, n, 2, &y);
  gen_out(g, n, 0, &r);
  return true;
}

static bool prelu(gen *g, const gen_op *op) {
  gen_value x, slope;
  if (!gen_pick(g, GEN_FLOAT, 1, GEN_RANK, false, &x)) return false;
  gen_dim d = x.dims[x.rank - 1].symbol ? gen_size(1) : x.dims[x.rank - 1];
  if (!gen_constant(g, x.dtype, &d, 1, false, &slope)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in(g, n, 1, &slope);
  gen_out(g, n, 0, &x);
  return true;
}

/* Bounds are attributes before opset 11, inputs (either may be absent) since. */
static bool clip(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, g->opset < 12 ? GEN_FLOAT : GEN_FLOAT | GEN_INT, 0, GEN_RANK, true, &x))
    return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  bool low = gen_chance(g, 70), high = gen_chance(g, 70);
  if (g->opset < 11) {
    if (low) gen_set_float(g, n, "min", -1);
    if (high) gen_set_float(g, n, "max", 2);
  } else {
    if (low) gen_in_value(g, n, 1, gen_scalar(g, x.dtype, -1));
    if (high) gen_in_value(g, n, 2, gen_scalar(g, x.dtype, 2));
  }
  gen_out(g, n, 0, &x);
  return true;
}

static bool cast(gen *g, const gen_op *op) {
  static const int to[] = {SURG_FLOAT, SURG_DOUBLE, SURG_FLOAT16,
                           SURG_BOOL,  SURG_INT64,  SURG_INT32};
  gen_value x;
  if (!gen_pick(g, GEN_ANY, 0, GEN_RANK, true, &x)) return false;
  /* Floats do not become integers: NaN and large ones have no defined result. */
  uint32_t choices = 1u << x.dtype & GEN_FLOAT ? 4 : 6;
  int dtype = to[gen_below(g, choices)];
  if (g->options->float_only && 1u << dtype & GEN_FLOAT) dtype = SURG_FLOAT;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_set_int(g, n, "to", dtype);
  x.dtype = dtype;
  gen_out(g, n, 0, &x);
  return true;
}

static bool cast_like(gen *g, const gen_op *op) {
  gen_value x, like;
  if (!gen_pick(g, GEN_INT | GEN_BOOL, 0, GEN_RANK, true, &x) ||
      !gen_pick(g, GEN_FLOAT, 0, GEN_RANK, true, &like))
    return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in(g, n, 1, &like);
  x.dtype = like.dtype;
  gen_out(g, n, 0, &x);
  return true;
}

/* arg: the opset from which axes are an input; 0: never here, one axis (ArgMax). */
static bool reduce(gen *g, const gen_op *op) {
  gen_value x;
  int64_t axes[GEN_RANK];
  size_t count = 0;
  bool picked[GEN_RANK] = {false}, keep = gen_chance(g, 60), all = gen_chance(g, 15);
  if (!gen_pick(g, 1u << SURG_FLOAT | (op->arg == 13 ? GEN_INT : 0), 1, GEN_RANK, false, &x))
    return false;
  for (unsigned i = 0; i < x.rank; i++)
    if (all || gen_chance(g, 40)) picked[i] = true;
  picked[gen_below(g, x.rank)] = true;
  for (unsigned i = 0; i < x.rank; i++)
    if (picked[i] || all)
      axes[count++] = g->opset >= 11 && gen_chance(g, 40) ? (int64_t)i - x.rank : (int64_t)i;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  if (g->opset < (int)op->arg && !all) gen_set_ints(g, n, "axes", axes, count);
  if (g->opset >= (int)op->arg && !all) gen_in_value(g, n, 1, gen_ints(g, axes, count));
  if (!keep || gen_chance(g, 50)) gen_set_int(g, n, "keepdims", keep);
  for (unsigned i = x.rank; i-- > 0;) {
    if (!picked[i] && !all) continue;
    if (keep) x.dims[i] = gen_size(1);
    else gen_remove_dim(&x, i);
  }
  gen_out(g, n, 0, &x);
  return true;
}

static bool arg_reduce(gen *g, const gen_op *op) {
  gen_value x;
  bool keep = gen_chance(g, 50);
  if (!gen_pick(g, 1u << SURG_FLOAT | 1u << SURG_INT32, 1, GEN_RANK, false, &x)) return false;
  unsigned axis = gen_below(g, x.rank);
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_set_int(g, n, "axis", axis);
  gen_set_int(g, n, "keepdims", keep);
  if (keep) x.dims[axis] = gen_size(1);
  else gen_remove_dim(&x, axis);
  x.dtype = SURG_INT64;
  gen_out(g, n, 0, &x);
  return true;
}

static bool softmax(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, GEN_FLOAT, 2, GEN_RANK, false, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_set_int(g, n, "axis", gen_below(g, x.rank));
  gen_out(g, n, 0, &x);
  return true;
}

static bool cumsum(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 1, GEN_RANK, true, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, gen_scalar(g, SURG_INT64, gen_below(g, x.rank)));
  if (gen_chance(g, 40)) gen_set_int(g, n, "exclusive", 1);
  if (gen_chance(g, 40)) gen_set_int(g, n, "reverse", 1);
  gen_out(g, n, 0, &x);
  return true;
}

const gen_op gen_math[] = {
    {"Abs", 7, 0, unary, NUMBERS}, {"Neg", 7, 0, unary, SIGNED}, {"Ceil", 7, 0, unary, FLOATS},
    {"Floor", 7, 0, unary, FLOATS}, {"Sqrt", 7, 0, unary, FLOATS}, {"Exp", 7, 0, unary, FLOATS},
    {"Log", 7, 0, unary, FLOATS}, {"Sin", 7, 0, unary, FLOATS}, {"Cos", 7, 0, unary, FLOATS},
    {"Tan", 7, 0, unary, FLOATS}, {"Asin", 7, 0, unary, FLOATS}, {"Acos", 7, 0, unary, FLOATS},
    {"Atan", 7, 0, unary, FLOATS}, {"Sinh", 9, 0, unary, FLOATS}, {"Cosh", 9, 0, unary, FLOATS},
    {"Asinh", 9, 0, unary, FLOATS}, {"Acosh", 9, 0, unary, FLOATS},
    {"Atanh", 9, 0, unary, FLOATS}, {"Tanh", 7, 0, unary, FLOATS},
    {"Sigmoid", 7, 0, unary, FLOATS}, {"Relu", 7, 0, unary, FLOATS},
    {"Softplus", 7, 0, unary, FLOAT_DOUBLE}, {"Softsign", 7, 0, unary, FLOATS},
    {"Selu", 7, 0, unary, FLOATS}, {"Erf", 9, 0, unary, FLOATS},
    {"Reciprocal", 7, 0, unary, FLOATS}, {"Round", 11, 0, unary, FLOATS},
    {"Sign", 9, 0, unary, NUMBERS}, {"HardSwish", 14, 0, unary, FLOATS},
    {"Mish", 18, 0, unary, FLOATS}, {"Gelu", 20, 0, unary, FLOATS}, {"Not", 7, 0, unary, BOOLS},
    {"BitwiseNot", 18, 0, unary, INTS}, {"Identity", 7, 0, identities, ALL},
    {"LeakyRelu", 7, 0, unary_alpha, FLOATS}, {"Elu", 7, 0, unary_alpha, FLOATS},
    {"HardSigmoid", 7, 0, unary_alpha, FLOATS}, {"Celu", 12, 0, unary_alpha, FLOAT_ONLY},
    {"ThresholdedRelu", 10, 0, unary_alpha, FLOATS}, {"IsNaN", 9, 0, to_bool, FLOATS},
    {"IsInf", 10, 0, to_bool, FLOAT_DOUBLE}, {"Add", 7, 0, binary, NUMBERS},
    {"Sub", 7, 0, binary, NUMBERS}, {"Mul", 7, 0, binary, NUMBERS},
    {"Div", 7, 0, divide, NUMBERS}, {"Mod", 10, 0, divide, NUMBERS},
    {"Pow", 7, 0, binary, FLOATS}, {"And", 7, 0, binary, BOOLS}, {"Or", 7, 0, binary, BOOLS},
    {"Xor", 7, 0, binary, BOOLS}, {"BitwiseAnd", 18, 0, binary, INTS},
    {"BitwiseOr", 18, 0, binary, INTS}, {"BitwiseXor", 18, 0, binary, INTS},
    {"BitShift", 11, 0, shift, SMALL}, {"Equal", 7, 10, compare, INTS},
    {"Equal", 11, 0, compare, NUMBERS}, {"Less", 7, 8, compare, FLOATS},
    {"Less", 9, 0, compare, NUMBERS}, {"Greater", 7, 8, compare, FLOATS},
    {"Greater", 9, 0, compare, NUMBERS}, {"LessOrEqual", 12, 0, compare, NUMBERS},
    {"GreaterOrEqual", 12, 0, compare, NUMBERS}, {"Min", 7, 11, variadic, FLOATS},
    {"Min", 12, 0, variadic, NUMBERS}, {"Max", 7, 11, variadic, FLOATS},
    {"Max", 12, 0, variadic, NUMBERS}, {"Sum", 7, 0, variadic, FLOATS},
    {"Mean", 7, 0, variadic, FLOATS}, {"Where", 9, 0, where, 0}, {"PRelu", 7, 0, prelu, 0},
    {"Clip", 7, 0, clip, 0}, {"Cast", 7, 0, cast, 0}, {"CastLike", 15, 0, cast_like, 0},
    {"ReduceSum", 7, 0, reduce, 13}, {"ReduceMean", 7, 0, reduce, 18},
    {"ReduceMax", 7, 0, reduce, 18}, {"ReduceMin", 7, 0, reduce, 18},
    {"ReduceProd", 7, 0, reduce, 18}, {"ReduceL1", 7, 0, reduce, 18},
    {"ReduceL2", 7, 0, reduce, 18}, {"ReduceSumSquare", 7, 0, reduce, 18},
    {"ReduceLogSum", 7, 0, reduce, 18}, {"ReduceLogSumExp", 7, 0, reduce, 18},
    {"ArgMax", 7, 0, arg_reduce, 0}, {"ArgMin", 7, 0, arg_reduce, 0},
    {"Softmax", 7, 0, softmax, 0}, {"LogSoftmax", 7, 0, softmax, 0},
    {"Hardmax", 7, 0, softmax, 0}, {"CumSum", 11, 0, cumsum, 0}, {NULL, 0, 0, NULL, 0}};
