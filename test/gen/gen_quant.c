/* SPDX-License-Identifier: Apache-2.0 */
/* Wild models: chains of quantized values. Scales are powers of two or not, zero points of both
 * types or absent, of one number or one for each channel. */
#include <string.h>

#include "gen_core.h"

/* How a value is quantized: one number, or one for each index of an axis. */
typedef struct grid {
  surg_value *scale, *zero; /* zero NULL: absent, uint8 */
  int dtype, axis;          /* axis -1: one number */
} grid;

static surg_value *vector(gen *g, int dtype, const double *v, size_t count) {
  uint8_t bytes[4 * 8];
  const int64_t dim = (int64_t)count;
  const size_t size = gen_element_size(dtype);
  for (size_t i = 0; i < count; i++) {
    const float f = (float)v[i];
    const int8_t k = (int8_t)v[i];
    if (dtype == SURG_FLOAT)
      memcpy(bytes + 4 * i, &f, 4);
    else
      memcpy(bytes + i, &k, 1);
  }
  return gen_constant_value(g, surg_tensor_new(g->model, dtype, &dim, 1, bytes, size * count));
}

static double some_scale(gen *g) {
  static const double scales[] = {0.25, 1, 0.5, 0.1, 0.0039215689, 2, 0.3};
  return scales[gen_below(g, 7)];
}

/* Of x, whose axis `axis` may have a scale for each index. */
static grid choose(gen *g, const gen_value *x, int axis, bool one) {
  grid q = {.dtype = gen_chance(g, 50) ? SURG_UINT8 : SURG_INT8, .axis = -1};
  double scales[8], zeros[8];
  size_t count = 1;
  if (!one && g->opset >= 13 && axis >= 0 && x->rank && !x->dims[axis].symbol &&
      x->dims[axis].n <= 8 && x->dims[axis].n > 0 && gen_chance(g, 30)) {
    count = (size_t)x->dims[axis].n;
    q.axis = axis;
  }
  for (size_t i = 0; i < count; i++) {
    scales[i] = some_scale(g);
    zeros[i] = q.dtype == SURG_UINT8 ? gen_below(g, 2) * 100.0 : (double)gen_below(g, 5) - 2;
  }
  q.scale =
      q.axis < 0 ? gen_scalar(g, SURG_FLOAT, scales[0]) : vector(g, SURG_FLOAT, scales, count);
  if (q.dtype == SURG_UINT8 && gen_chance(g, 30)) return q;
  q.zero = q.axis < 0 ? gen_scalar(g, q.dtype, zeros[0]) : vector(g, q.dtype, zeros, count);
  return q;
}

/* QuantizeLinear or DequantizeLinear. */
static surg_value *step(gen *g, const char *op, surg_value *x, const grid *q) {
  surg_value *y = gen_apply(g, op, q->zero ? 3 : 2, (surg_value *const[]){x, q->scale, q->zero});
  if (y && q->axis >= 0) gen_set_int(g, gen_maker(y), "axis", q->axis);
  return y;
}

static surg_value *there(gen *g, surg_value *x, const grid *q) {
  return step(g, "QuantizeLinear", x, q);
}

static surg_value *back(gen *g, surg_value *x, const grid *q) {
  return step(g, "DequantizeLinear", x, q);
}

/* An operator that is computed of dequantized values, and quantized again. */
static surg_value *between(gen *g, surg_value *y, gen_value *x) {
  const int64_t perm[] = {3, 2, 1, 0}, flat = -1;
  surg_node *n;
  switch (gen_below(g, 7)) {
    case 0:
      return gen_one(g, "Relu", y);
    case 1:
      return gen_two(g, "Add", y, gen_scalar(g, SURG_FLOAT, 0.5));
    case 2:
      return gen_two(g, "Mul", y, y);
    case 3: {
      y = gen_one(g, "Transpose", y);
      if (!y) return NULL;
      gen_value r = *x;
      gen_set_ints(g, gen_maker(y), "perm", perm + 4 - x->rank, x->rank);
      for (unsigned i = 0; i < x->rank; i++) r.dims[i] = x->dims[x->rank - 1 - i];
      *x = r;
      return y;
    }
    case 4:
      if (!gen_static(x) || x->empty) return y;
      y = gen_two(g, "Reshape", y, gen_ints(g, &flat, 1));
      x->dims[0] = gen_size((int64_t)gen_elements(x));
      x->rank = 1;
      return y;
    case 5:
      if (x->rank != 4) return y;
      y = gen_one(g, gen_chance(g, 50) ? "GlobalAveragePool" : "MaxPool", y);
      if (!y) return NULL;
      n = gen_maker(y);
      if (strcmp(surg_node_op_type(n), "MaxPool") == 0) {
        gen_set_ints(g, n, "kernel_shape", (const int64_t[]){1, 1}, 2);
        return y;
      }
      x->dims[2] = x->dims[3] = gen_size(1);
      return y;
    default:
      return y;
  }
}

/* Quantize, dequantize, an operator, and that again; perhaps on another grid. */
static bool chain(gen *g, const gen_op *op) {
  gen_value x;
  (void)op;
  if (!gen_pick(g, 1u << SURG_FLOAT, 0, 4, false, &x)) return false;
  grid q = choose(g, &x, x.rank > 1 ? 1 : (int)x.rank - 1, false);
  surg_value *y = x.v;
  for (unsigned i = 0; i < 1 + gen_below(g, 3) && y && !g->failed; i++) {
    if (i && (gen_chance(g, 50) || q.axis >= 0)) q = choose(g, &x, 0, true);
    y = back(g, there(g, y, &q), &q);
    y = y ? between(g, y, &x) : NULL;
  }
  if (gen_chance(g, 60)) return gen_done(g, y, &x);
  q = choose(g, &x, 0, true);
  x.dtype = q.zero ? q.dtype : SURG_UINT8;
  return gen_done(g, y ? there(g, y, &q) : NULL, &x);
}

/* From one grid to another and back to the first. */
static bool regrid(gen *g, const gen_op *op) {
  gen_value x;
  (void)op;
  if (!gen_pick(g, 1u << SURG_FLOAT, 0, 4, true, &x)) return false;
  const grid a = choose(g, &x, 0, true), b = gen_chance(g, 30) ? a : choose(g, &x, 0, true);
  surg_value *y = there(g, x.v, &a);
  y = there(g, back(g, y, &a), &b);
  const bool again = gen_chance(g, 50);
  if (again) y = there(g, back(g, y, &b), &a);
  if (gen_chance(g, 50)) return gen_done(g, back(g, y, again ? &a : &b), &x);
  return !g->failed && y != NULL;
}

/* Weights that are stored as integers. */
static bool weights(gen *g, const gen_op *op) {
  gen_value x, w;
  (void)op;
  if (!gen_pick(g, 1u << SURG_FLOAT, 2, 3, false, &x) || x.dims[x.rank - 1].symbol) return false;
  const gen_dim d[2] = {x.dims[x.rank - 1], gen_size(1 + gen_below(g, 4))};
  const bool of8 = gen_chance(g, 50);
  if (!gen_constant(g, of8 ? SURG_UINT8 : SURG_INT8, d, 2, false, &w)) return false;
  w.used = true;
  grid q = choose(g, &w, 1, false);
  while (!q.zero || (q.dtype == SURG_UINT8) != of8) q = choose(g, &w, 1, false);
  surg_value *f = back(g, w.v, &q);
  surg_value *y = gen_two(g, "MatMul", x.v, f);
  if (gen_chance(g, 40)) y = gen_one(g, "Relu", y);
  x.dims[x.rank - 1] = d[1];
  return gen_done(g, y, &x);
}

/* A product of integers on a grid. */
static bool product(gen *g, const gen_op *op) {
  gen_value x, w;
  (void)op;
  if (!gen_pick(g, 1u << SURG_FLOAT, 2, 3, false, &x) || x.dims[x.rank - 1].symbol) return false;
  const gen_dim d[2] = {x.dims[x.rank - 1], gen_size(1 + gen_below(g, 4))};
  if (!gen_constant(g, SURG_UINT8, d, 2, false, &w)) return false;
  grid a = choose(g, &x, 0, true), y = choose(g, &x, 0, true);
  while (!a.zero || a.dtype != SURG_UINT8) a = choose(g, &x, 0, true);
  while (!y.zero || y.dtype != SURG_UINT8) y = choose(g, &x, 0, true);
  surg_value *const in[8] = {there(g, x.v, &a),
                             a.scale,
                             a.zero,
                             w.v,
                             gen_scalar(g, SURG_FLOAT, some_scale(g)),
                             gen_scalar(g, SURG_UINT8, gen_below(g, 20)),
                             y.scale,
                             y.zero};
  surg_value *r = gen_apply(g, "QLinearMatMul", 8, in);
  x.dims[x.rank - 1] = d[1];
  return gen_done(g, r ? back(g, r, &y) : NULL, &x);
}

/* A convolution of integers, with and without bias; and one that sums into int32. */
static bool convolution(gen *g, const gen_op *op) {
  gen_value x, w, bias;
  if (!gen_pick(g, 1u << SURG_FLOAT, 4, 4, false, &x) || x.dims[1].symbol) return false;
  const gen_dim d[4] = {gen_size(1 + gen_below(g, 3)), x.dims[1], gen_size(1), gen_size(1)};
  if (!gen_constant(g, SURG_UINT8, d, 4, false, &w)) return false;
  grid a = choose(g, &x, 0, true), y = choose(g, &x, 0, true);
  while (!a.zero || a.dtype != SURG_UINT8) a = choose(g, &x, 0, true);
  while (!y.zero || y.dtype != SURG_UINT8) y = choose(g, &x, 0, true);
  surg_value *q = there(g, x.v, &a), *r;
  x.dims[1] = d[0];
  if (op->name[0] == 'C') {
    x.dtype = SURG_INT32;
    surg_value *const in[4] = {q, w.v, a.zero, gen_scalar(g, SURG_UINT8, gen_below(g, 9))};
    return gen_done(g, gen_apply(g, op->name, 2 + gen_below(g, 3), in), &x);
  }
  /* No extreme: what a sum beyond int32 gives, the standard leaves open. */
  const unsigned extreme = g->extreme;
  g->extreme = 0;
  const bool made = gen_constant(g, SURG_INT32, d, 1, false, &bias);
  g->extreme = extreme;
  if (!made) return false;
  surg_value *const in[9] = {q,
                             a.scale,
                             a.zero,
                             w.v,
                             gen_scalar(g, SURG_FLOAT, some_scale(g)),
                             gen_scalar(g, SURG_UINT8, gen_below(g, 20)),
                             y.scale,
                             y.zero,
                             bias.v};
  r = gen_apply(g, op->name, 8 + gen_below(g, 2), in);
  return gen_done(g, r ? back(g, r, &y) : NULL, &x);
}

/* A grid that the elements decide, and what is computed on it. */
static bool dynamic(gen *g, const gen_op *op) {
  gen_value x, q, one = {.dtype = SURG_FLOAT};
  if (!gen_pick(g, 1u << SURG_FLOAT, 1, 3, false, &x)) return false;
  surg_node *n = gen_node(g, op->name, 3);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  q = x;
  q.dtype = SURG_UINT8;
  surg_value *const in[3] = {surg_node_output(n, 0), surg_node_output(n, 1),
                             surg_node_output(n, 2)};
  if (gen_chance(g, 50)) return gen_done(g, gen_apply(g, "DequantizeLinear", 3, in), &x);
  gen_out(g, n, 0, &q);
  gen_out(g, n, 1, &one);
  return !g->failed;
}

const gen_op gen_quant[] = {{"QuantizeLinear", 10, 0, chain, 0},
                            {"QuantizeLinear", 10, 0, chain, 0},
                            {"QuantizeLinear", 10, 0, regrid, 0},
                            {"DequantizeLinear", 10, 0, weights, 0},
                            {"QLinearMatMul", 10, 0, product, 0},
                            {"QLinearConv", 10, 0, convolution, 0},
                            {"ConvInteger", 10, 0, convolution, 0},
                            {"DynamicQuantizeLinear", 11, 0, dynamic, 0},
                            {NULL, 0, 0, NULL, 0}};
