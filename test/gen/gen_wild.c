/* SPDX-License-Identifier: Apache-2.0 */
/* Wild models: views of one value as outputs, constants that overflow, absent optional inputs,
 * bounds that cross, modes of Pad and Resize, ties, shapes computed by nodes, sizes that elements
 * decide. */
#include <string.h>

#include "gen_core.h"

static gen_value last(gen *g) {
  return g->scope->values[g->scope->count - 1];
}

static gen_value one_input(gen *g, const char *op, const gen_value *x, const gen_value *like) {
  surg_node *n = gen_node(g, op, 1);
  if (n) {
    gen_in(g, n, 0, x);
    gen_out(g, n, 0, like);
  }
  return last(g);
}

/* A value and what only looks at it otherwise are outputs, both or one of them. */
static bool views(gen *g, const gen_op *op) {
  gen_value x, y;
  if (!gen_pick(g, GEN_ANY, 0, 4, true, &x)) return false;
  y = x;
  int64_t perm[GEN_RANK], flat = -1;
  surg_node *n;
  (void)op;
  switch (gen_below(g, 4)) {
    case 0:
      if (!(n = gen_node(g, "Transpose", 1))) return false;
      for (unsigned i = 0; i < x.rank; i++) {
        perm[i] = x.rank - 1 - i;
        y.dims[i] = x.dims[perm[i]];
      }
      gen_in(g, n, 0, &x);
      gen_set_ints(g, n, "perm", perm, x.rank);
      gen_out(g, n, 0, &y);
      break;
    case 1:
      if (!gen_static(&x) || x.empty) return false;
      y.rank = 1;
      y.dims[0] = gen_size((int64_t)gen_elements(&x));
      if (!(n = gen_node(g, "Reshape", 1))) return false;
      gen_in(g, n, 0, &x);
      gen_in_value(g, n, 1, gen_ints(g, &flat, 1));
      gen_out(g, n, 0, &y);
      break;
    case 2:
      (void)one_input(g, "Identity", &x, &x);
      break;
    default:
      if (!(1u << x.dtype & (g->opset < 12 ? GEN_FLOAT : GEN_ANY & ~GEN_BOOL))) return false;
      (void)one_input(g, g->opset < 8 ? "Identity" : "Max", &x, &x);
  }
  if (g->failed || g->depth) return !g->failed;
  y = last(g);
  gen_keep(g, y.v);
  if (gen_chance(g, 70)) gen_keep(g, x.v);
  return true;
}

/* One constant in many places: x + c - c, x * c / c, with constants at which these are not x. */
static bool chain(gen *g, const gen_op *op) {
  static const char *const pairs[][2] = {{"Add", "Sub"}, {"Sub", "Add"}, {"Mul", "Div"},
                                         {"Add", "Add"}, {"Mul", "Mul"}, {"Div", "Mul"},
                                         {"Max", "Min"}, {"Min", "Max"}};
  gen_value x;
  uint8_t bytes[8] = {0};
  if (!gen_pick(g, GEN_FLOAT | GEN_INT, 0, GEN_RANK, true, &x)) return false;
  const unsigned p = gen_below(g, g->opset < 12 && 1u << x.dtype & GEN_INT ? 6 : 8);
  const bool divides = (1u << x.dtype & GEN_INT) && (p == 2 || p == 5);
  (void)op;
  surg_value *c[2];
  for (unsigned i = 0; i < 2; i++) {
    if (i && gen_chance(g, 50)) {
      c[1] = c[0];
      continue;
    }
    if (divides || gen_chance(g, 40)) {
      c[i] = gen_scalar(g, x.dtype, 1 + (double)gen_below(g, 7));
      continue;
    }
    gen_put_extreme(g, x.dtype, bytes);
    c[i] = gen_constant_value(
        g, surg_tensor_new(g->model, x.dtype, NULL, 0, bytes, gen_element_size(x.dtype)));
  }
  for (unsigned i = 0; i < 2 && !g->failed; i++) {
    surg_node *n = gen_node(g, pairs[p][i], 1);
    if (!n) return false;
    const bool swap = (p == 0 || p == 3 || p == 4 || p > 5) && gen_chance(g, 30);
    gen_in(g, n, swap, &x);
    gen_in_value(g, n, !swap, c[i]);
    gen_out(g, n, 0, &x);
    x = last(g);
  }
  return true;
}

static surg_value *bound(gen *g, int dtype) {
  uint8_t bytes[8] = {0};
  if (gen_chance(g, 60)) return gen_scalar(g, dtype, (double)gen_below(g, 9) - 4);
  gen_put_extreme(g, dtype, bytes);
  if (dtype == SURG_FLOAT && bytes[3] == 0x7f && bytes[2] == 0xc0) memset(bytes, 0, 4);
  return gen_constant_value(
      g, surg_tensor_new(g->model, dtype, NULL, 0, bytes, gen_element_size(dtype)));
}

/* Bounds that cross, are missing, absent at the end, equal, infinite. Not of int64: ONNX Runtime
 * 1.30 leaves -4294967296 as it is where the lower bound is -3. */
static bool clip(gen *g, const gen_op *op) {
  gen_value x;
  const uint32_t set = 1u << SURG_FLOAT | (g->opset < 12 ? 0 : 1u << SURG_INT32);
  if (!gen_pick(g, set, 0, GEN_RANK, true, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  static const float ends[] = {
      -3.4028234663852886e38f, 3.4028234663852886e38f, 0, 6, -1, 2, 1e-40f};
  if (g->opset < 11) {
    if (gen_chance(g, 60)) gen_set_float(g, n, "min", ends[gen_below(g, 7)]);
    if (gen_chance(g, 60)) gen_set_float(g, n, "max", ends[gen_below(g, 7)]);
  } else {
    for (unsigned i = 1; i < 3; i++)
      if (gen_chance(g, 60))
        gen_in_value(g, n, i, bound(g, x.dtype));
      else if (gen_chance(g, 30) && surg_node_set_input(n, i, NULL) != SURG_OK)
        g->failed = true;
  }
  gen_out(g, n, 0, &x);
  return true;
}

/* Reductions without axes, with an absent input of axes, of none, over empty axes. */
static bool reduce(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 0, 4, true, &x)) return false;
  const bool input = g->opset >= (int)op->arg, keep = gen_chance(g, 50);
  const unsigned kind = gen_below(g, 3);
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_set_int(g, n, "keepdims", keep);
  if (input && kind == 1 && surg_node_set_input(n, 1, NULL) != SURG_OK) g->failed = true;
  if (input && kind == 2) gen_in_value(g, n, 1, gen_ints(g, NULL, 0));
  const bool noop = input && kind == 2 && gen_chance(g, 50);
  if (noop) gen_set_int(g, n, "noop_with_empty_axes", 1);
  for (unsigned i = x.rank; !noop && i-- > 0;) {
    if (keep)
      x.dims[i] = gen_size(1);
    else
      gen_remove_dim(&x, i);
  }
  gen_out(g, n, 0, &x);
  return true;
}

/* All modes; pads of either sign. ONNX Runtime wraps once: beyond, it reads what is not there. */
static bool pad(gen *g, const gen_op *op) {
  static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
  gen_value x;
  int64_t pads[2 * GEN_RANK];
  if (!gen_pick(g, 1u << SURG_FLOAT, 1, 4, false, &x)) return false;
  const unsigned mode = gen_below(g, g->opset < 19 ? 3 : 4), rank = x.rank;
  gen_value r = x;
  for (unsigned i = 0; i < rank; i++) {
    const int64_t n = x.dims[i].n;
    const bool still = x.dims[i].symbol || gen_chance(g, 40);
    for (unsigned k = 0; k < 2; k++) {
      int64_t most = mode == 2 ? n - 1 : mode == 3 ? n : 2;
      int64_t p = still ? 0 : gen_below(g, (uint32_t)most + 1);
      if (!still && n > 2 && gen_chance(g, 20)) p = -1;
      pads[k * rank + i] = p;
      r.dims[i].n += p;
    }
  }
  if (gen_elements(&r) > GEN_ELEMENTS) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  if (surg_node_set_string(n, "mode", modes[mode]) != SURG_OK) g->failed = true;
  if (g->opset < 11) {
    gen_set_ints(g, n, "pads", pads, 2 * rank);
    if (gen_chance(g, 50)) gen_set_float(g, n, "value", -0.0f);
  } else {
    gen_in_value(g, n, 1, gen_ints(g, pads, 2 * rank));
    if (gen_chance(g, 50))
      gen_in_value(g, n, 2, bound(g, x.dtype));
    else if (gen_chance(g, 30) && surg_node_set_input(n, 2, NULL) != SURG_OK)
      g->failed = true;
  }
  gen_out(g, n, 0, &r);
  return true;
}

static const char *one_of(gen *g, const char *const *words, unsigned n) {
  return words[gen_below(g, n)];
}

static surg_value *floats(gen *g, const float *v, size_t count) {
  const int64_t dim = (int64_t)count;
  return gen_constant_value(g, surg_tensor_new(g->model, SURG_FLOAT, &dim, 1, v, 4 * count));
}

/* The attributes that say where a sample is taken. */
static void sampling(gen *g, surg_node *n, const char *mode) {
  static const char *const coords[] = {"half_pixel", "asymmetric", "pytorch_half_pixel",
                                       "align_corners", "half_pixel_symmetric"};
  static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  surg_status s = SURG_OK;
  if (gen_chance(g, 80))
    s = surg_node_set_string(n, "coordinate_transformation_mode",
                             one_of(g, coords, g->opset < 19 ? 4 : 5));
  if (s == SURG_OK && *mode == 'n' && gen_chance(g, 80))
    s = surg_node_set_string(n, "nearest_mode", one_of(g, nearest, 4));
  if (s != SURG_OK) g->failed = true;
}

/* Resize by scales or to sizes; Upsample by scales. */
static bool resize(gen *g, const gen_op *op) {
  static const char *const modes[] = {"nearest", "linear", "cubic"};
  static const float factors[] = {1, 2, 0.5f, 1.5f, 3, 0.6f, 2.5f};
  gen_value x, r;
  float scales[4] = {1, 1, 1, 1};
  int64_t sizes[4];
  if (!gen_pick(g, 1u << SURG_FLOAT, 4, 4, false, &x)) return false;
  const bool up = op->name[0] == 'U',
             by_size = op->since > 10 && gen_chance(g, 40) && gen_static(&x);
  const char *mode = modes[gen_below(g, op->since > 10 ? 3 : 2)];
  r = x;
  for (unsigned i = 2; i < 4; i++) {
    if (x.dims[i].symbol) continue;
    do scales[i] = factors[gen_below(g, 7)];
    while (up && scales[i] < 1);
    r.dims[i] = gen_size((int64_t)((float)x.dims[i].n * scales[i]));
    if (by_size) r.dims[i] = gen_size(1 + gen_below(g, 6));
    if (!r.dims[i].n) return false;
  }
  if (gen_elements(&r) > GEN_ELEMENTS) return false;
  for (unsigned i = 0; i < 4; i++) sizes[i] = r.dims[i].n;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  if (surg_node_set_string(n, "mode", mode) != SURG_OK) g->failed = true;
  if (up && g->opset < 9) {
    if (surg_node_set_floats(n, "scales", scales, 4) != SURG_OK) g->failed = true;
  } else if (op->since < 11) {
    gen_in_value(g, n, 1, floats(g, scales, 4));
  } else {
    sampling(g, n, mode);
    if (g->opset < 13) gen_in_value(g, n, 1, floats(g, NULL, 0));
    if (g->opset < 13 && by_size) gen_in_value(g, n, 2, floats(g, NULL, 0));
    gen_in_value(g, n, by_size ? 3 : 2, by_size ? gen_ints(g, sizes, 4) : floats(g, scales, 4));
  }
  gen_out(g, n, 0, &r);
  return true;
}

/* Of values of which many are equal. */
static bool ties(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, 1u << SURG_FLOAT, 1, 4, false, &x)) return false;
  const unsigned axis = gen_below(g, x.rank);
  if (x.dims[axis].symbol || g->opset < 9) return false;
  const int64_t k = gen_below(g, (uint32_t)x.dims[axis].n + 1);
  x = one_input(g, "Sign", &x, &x);
  const bool top = op->name[0] == 'T';
  surg_node *n = gen_node(g, op->name, top ? 2 : 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_set_int(g, n, "axis", axis);
  if (!top) {
    if (g->opset >= 12 && gen_chance(g, 40)) gen_set_int(g, n, "select_last_index", 1);
    x.dims[axis] = gen_size(1);
    x.dtype = SURG_INT64;
    gen_out(g, n, 0, &x);
    return true;
  }
  if (g->opset < 10)
    gen_set_int(g, n, "k", k ? k : 1);
  else
    gen_in_value(g, n, 1, gen_ints(g, &k, 1));
  if (g->opset >= 11 && gen_chance(g, 40)) gen_set_int(g, n, "largest", 0);
  x.dims[axis] = gen_size(g->opset < 10 && !k ? 1 : k);
  gen_out(g, n, 0, &x);
  x.dtype = SURG_INT64;
  gen_out(g, n, 1, &x);
  return true;
}

/* Shape (x), and Reshape or Expand by what is made of it. */
static bool by_shape(gen *g, const gen_op *op) {
  gen_value x, shape = {.dtype = SURG_INT64, .rank = 1};
  const int64_t back = -1, zero = 0;
  (void)op;
  if (!gen_pick(g, GEN_ANY & ~GEN_BOOL, 1, 4, true, &x) || g->opset < 8) return false;
  shape.dims[0] = gen_size(x.rank);
  gen_value s = one_input(g, "Shape", &x, &shape);
  const unsigned kind = gen_below(g, 4);
  gen_value from = x;
  surg_node *n;
  if (kind == 0) { /* to one dim and back */
    gen_value flat = {
        .dtype = x.dtype, .rank = 1, .dims = {{1, g->next_symbol++}}, .empty = x.empty};
    if (x.empty || !(n = gen_node(g, "Reshape", 1))) return false;
    gen_in(g, n, 0, &x);
    gen_in_value(g, n, 1, gen_ints(g, &back, 1));
    gen_out(g, n, 0, &flat);
    from = last(g);
  } else if (kind == 1) { /* times one, plus zero, through other types */
    if (!(n = gen_node(g, gen_chance(g, 50) ? "Add" : "Sub", 1))) return false;
    gen_in(g, n, 0, &s);
    gen_in_value(g, n, 1, gen_ints(g, &zero, 1));
    gen_out(g, n, 0, &shape);
    s = last(g);
  } else if (kind == 2) {
    if (!(n = gen_node(g, "Cast", 1))) return false;
    gen_in(g, n, 0, &s);
    gen_set_int(g, n, "to", SURG_FLOAT);
    shape.dtype = SURG_FLOAT;
    gen_out(g, n, 0, &shape);
    gen_value f = last(g);
    if (!(n = gen_node(g, "Cast", 1))) return false;
    gen_in(g, n, 0, &f);
    gen_set_int(g, n, "to", SURG_INT64);
    shape.dtype = SURG_INT64;
    gen_out(g, n, 0, &shape);
    s = last(g);
  }
  if (kind != 3 && x.empty) return true;
  if (!(n = gen_node(g, kind == 3 ? "Expand" : "Reshape", 1))) return false;
  gen_in(g, n, 0, &from);
  gen_in(g, n, 1, &s);
  gen_out(g, n, 0, &x);
  return true;
}

/* What has as many elements as its input decides. */
static bool by_elements(gen *g, const gen_op *op) {
  gen_value x, y;
  if (!gen_pick(g, op->arg == 2 ? 1u << SURG_FLOAT : GEN_FLOAT | GEN_INT | GEN_BOOL, 1, 3, false,
                &x))
    return false;
  gen_value mask = {.dtype = SURG_BOOL, .rank = 1};
  if (op->arg == 1) {
    if (!gen_static(&x) || g->opset < 9) return false;
    mask.dims[0] = gen_size((int64_t)gen_elements(&x));
    if (!gen_constant(g, SURG_BOOL, mask.dims, 1, false, &mask)) return false;
  }
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  if (op->arg == 1) gen_in(g, n, 1, &mask);
  y = (gen_value){.dtype = op->arg ? x.dtype : SURG_INT64, .rank = op->arg ? 1 : 2};
  y.dims[0] = gen_size(x.rank);
  y.dims[op->arg ? 0 : 1] = (gen_dim){1, g->next_symbol++};
  gen_out(g, n, 0, &y);
  return true;
}

/* Two sums of products over letters; sizes of one broadcast in some runtimes. */
static bool einsum(gen *g, const gen_op *op) {
  static const char *const texts[] = {"ij,jk->ik", "ij,ij->ij", "ij,kj->ki", "ij,ij->", "ij,j->i"};
  gen_value x, y, r;
  const unsigned t = gen_below(g, 5);
  if (!gen_pick(g, 1u << SURG_FLOAT, 2, 2, false, &x)) return false;
  bool found = false;
  for (unsigned i = 0; i < 8 && !found; i++) {
    const unsigned rank = t == 4 ? 1 : 2;
    if (!gen_pick(g, 1u << SURG_FLOAT, rank, rank, false, &y)) break;
    const gen_dim k = y.dims[t == 0 || t == 4 ? 0 : 1], j = x.dims[1];
    found = k.n == j.n && k.symbol == j.symbol;
    if (t == 1 || t == 3) found = found && gen_same_shape(&x, &y);
  }
  if (!found) y = x;
  if (!found && t != 1 && t != 3) return false;
  r = x;
  if (t == 0) r.dims[1] = y.dims[1];
  if (t == 2) r.dims[0] = y.dims[0], r.dims[1] = x.dims[0];
  r.rank = t == 3 ? 0 : t == 4 ? 1 : 2;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in(g, n, 1, &y);
  if (surg_node_set_string(n, "equation", texts[t]) != SURG_OK) g->failed = true;
  gen_out(g, n, 0, &r);
  return true;
}

/* Shifts up to the full width; Cast of floats within what integers have. */
static bool shift(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, 1u << SURG_UINT8, 0, GEN_RANK, true, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, gen_scalar(g, SURG_UINT8, gen_below(g, 12)));
  if (surg_node_set_string(n, "direction", gen_chance(g, 50) ? "LEFT" : "RIGHT")) g->failed = true;
  gen_out(g, n, 0, &x);
  return true;
}

/* Two numbers apart in the last axis: a slice with open ends, far ones, steps back, absent axes. */
static bool slice(gen *g, const gen_op *op) {
  gen_value x, r;
  if (!gen_pick(g, GEN_ANY, 1, 3, true, &x) || g->opset < 10 || x.dims[0].symbol) return false;
  static const int64_t far[] = {INT64_MAX, INT64_MIN, INT32_MAX, 0, 1, -1, 2, -100, 100};
  const bool back = gen_chance(g, 40);
  const int64_t step = back ? -1 - (int64_t)gen_below(g, 2) : 1 + (int64_t)gen_below(g, 3);
  int64_t from = far[gen_below(g, 9)], to = far[gen_below(g, 9)];
  const int64_t d = x.dims[0].n, start = from, end = to;
  if (from < 0) from = from < -d ? -1 : from + d;
  if (to < 0) to = to < -d ? -1 : to + d;
  const int64_t low = back ? -1 : 0, high = back ? d - 1 : d;
  from = from < 0 ? 0 : from > high ? high : from;
  to = to < low ? low : to > high && !back ? d : to > d ? d : to;
  int64_t count = back ? (from - to - step - 1) / -step : (to - from + step - 1) / step;
  if (back ? from <= to : from >= to) count = 0;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, gen_ints(g, &start, 1));
  gen_in_value(g, n, 2, gen_ints(g, &end, 1));
  if (gen_chance(g, 50)) gen_in_value(g, n, 3, gen_ints(g, &(int64_t){0}, 1));
  gen_in_value(g, n, 4, gen_ints(g, &step, 1));
  r = x;
  r.dims[0] = gen_size(count);
  gen_out(g, n, 0, &r);
  return true;
}

/* A constant is an output, and the same constant is read. */
static bool constant_out(gen *g, const gen_op *op) {
  gen_value x;
  (void)op;
  if (g->depth) return false;
  gen_dim d[2] = {gen_size(1 + gen_below(g, 3)), gen_size(1)};
  if (!gen_constant(g, SURG_FLOAT, d, gen_below(g, 3), false, &x)) return false;
  gen_keep(g, x.v);
  return true;
}

/* There and back through integers of eight bits. */
static bool quantized(gen *g, const gen_op *op) {
  gen_value x, q;
  if (g->opset < 10 || !gen_pick(g, 1u << SURG_FLOAT, 0, 4, true, &x)) return false;
  surg_value *scale = gen_scalar(g, SURG_FLOAT, gen_chance(g, 50) ? 0.25 : 1.0);
  surg_value *zero = gen_chance(g, 70) ? gen_scalar(g, SURG_UINT8, gen_below(g, 2) * 128) : NULL;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, scale);
  if (zero) gen_in_value(g, n, 2, zero);
  q = x;
  q.dtype = SURG_UINT8;
  gen_out(g, n, 0, &q);
  q = last(g);
  if (!(n = gen_node(g, "DequantizeLinear", 1))) return false;
  gen_in(g, n, 0, &q);
  gen_in_value(g, n, 1, scale);
  if (zero) gen_in_value(g, n, 2, zero);
  gen_out(g, n, 0, &x);
  return true;
}

const gen_op gen_wild[] = {{"views", 7, 0, views, 0},
                           {"views", 7, 0, views, 0},
                           {"chain", 7, 0, chain, 0},
                           {"chain", 7, 0, chain, 0},
                           {"Clip", 7, 0, clip, 0},
                           {"ReduceSum", 7, 0, reduce, 13},
                           {"ReduceMax", 7, 0, reduce, 18},
                           {"ReduceProd", 7, 0, reduce, 18},
                           {"ReduceMean", 7, 0, reduce, 18},
                           {"Pad", 7, 0, pad, 0},
                           {"Upsample", 7, 9, resize, 0},
                           {"Resize", 10, 10, resize, 0},
                           {"Resize", 11, 0, resize, 0},
                           {"TopK", 7, 0, ties, 0},
                           {"ArgMax", 7, 0, ties, 0},
                           {"ArgMin", 7, 0, ties, 0},
                           {"by_shape", 8, 0, by_shape, 0},
                           {"NonZero", 9, 0, by_elements, 0},
                           {"Compress", 9, 0, by_elements, 1},
                           {"Unique", 11, 0, by_elements, 2},
                           {"Einsum", 12, 0, einsum, 0},
                           {"BitShift", 11, 0, shift, 0},
                           {"Slice", 10, 0, slice, 0},
                           {"constant", 7, 0, constant_out, 0},
                           {"QuantizeLinear", 10, 0, quantized, 0},
                           {NULL, 0, 0, NULL, 0}};
