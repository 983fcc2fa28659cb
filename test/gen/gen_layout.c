/* SPDX-License-Identifier: Apache-2.0 */
/* Wild models: what exporters write for stack, unfold, channel shuffle and padding, bounds in turn
 * whose constant is in any place, targets of Reshape that are computed in part. */
#include "gen_core.h"

static surg_value *unsqueezed(gen *g, surg_value *x, int64_t axis) {
  if (g->opset >= 13) return gen_two(g, "Unsqueeze", x, gen_ints(g, &axis, 1));
  surg_value *y = gen_one(g, "Unsqueeze", x);
  if (y) gen_set_ints(g, gen_maker(y), "axes", &axis, 1);
  return y;
}

static surg_value *along(gen *g, surg_value *y, const char *name, int64_t axis) {
  if (y) gen_set_int(g, gen_maker(y), name, axis);
  return y;
}

static int64_t either(gen *g, unsigned axis, unsigned rank) {
  return g->opset >= 11 && gen_chance(g, 30) ? (int64_t)axis - rank : (int64_t)axis;
}

/* Two or three values of one shape along a new axis; one of them may be an output as well. */
static bool stacked(gen *g, const gen_op *op) {
  gen_value x;
  surg_value *in[3];
  const unsigned n = 2 + gen_below(g, 2);
  if (!gen_pick(g, GEN_FLOAT | GEN_INT, 0, GEN_RANK - 1, true, &x)) return false;
  if (n * gen_elements(&x) > GEN_ELEMENTS) return false;
  const unsigned axis = gen_below(g, x.rank + 1);
  for (unsigned i = 0; i < n; i++) {
    surg_value *v = gen_chance(g, 50) ? x.v : gen_one(g, "Neg", x.v);
    if (!v || !(in[i] = unsqueezed(g, v, either(g, axis, x.rank + 1)))) return false;
  }
  surg_value *y = along(g, gen_apply(g, op->name, n, in), "axis", either(g, axis, x.rank + 1));
  if (!g->depth && gen_chance(g, 10)) gen_keep(g, in[0]);
  gen_insert_dim(&x, axis, gen_size(n));
  return gen_done(g, y, &x);
}

/* One group of a channel shuffle, or a Split of all. */
static bool shuffled(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, GEN_FLOAT, 3, 4, false, &x) || !gen_static(&x)) return false;
  const int64_t channels = x.dims[1].n, groups = channels % 3 ? 2 : 3;
  if (channels < 1 || channels % groups) return false;
  int64_t rest = 1, to[3], back[GEN_RANK + 1] = {groups, x.dims[0].n, channels / groups};
  static const int64_t perm[] = {1, 0, 2};
  for (unsigned i = 2; i < x.rank; i++) rest *= back[i + 1] = x.dims[i].n;
  to[0] = gen_chance(g, 50) ? -1 : x.dims[0].n * channels / groups;
  to[1] = groups;
  to[2] = rest;
  if (gen_chance(g, 40)) back[gen_below(g, x.rank + 1)] = -1;
  surg_value *r = gen_two(g, "Reshape", x.v, gen_ints(g, to, 3));
  surg_value *t = r ? gen_one(g, "Transpose", r) : NULL;
  if (!t) return false;
  gen_set_ints(g, gen_maker(t), "perm", perm, 3);
  surg_value *q = gen_two(g, "Reshape", t, gen_ints(g, back, x.rank + 1));
  x.dims[1] = gen_size(channels / groups);
  for (int64_t i = 0; q && i < groups; i++) {
    const double at = (double)(g->opset >= 11 && gen_chance(g, 20) ? i - groups : i);
    surg_value *k = gen_scalar(g, SURG_INT64, at);
    if (!gen_done(g, along(g, gen_two(g, op->name, q, k), "axis", 0), &x)) return false;
  }
  return q != NULL;
}

/* One number beside a value, as many as a part of the value has: a border. */
static bool bordered(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 1, 4, true, &x)) return false;
  const unsigned axis = gen_below(g, x.rank);
  const int64_t from = 0, step = 1, at = axis, n = gen_below(g, 3);
  if (x.dims[axis].symbol || x.dims[axis].n < n || 2 * gen_elements(&x) > GEN_ELEMENTS)
    return false;
  surg_value *part = gen_apply(g, "Slice", 5,
                               (surg_value *const[]){x.v, gen_ints(g, &from, 1), gen_ints(g, &n, 1),
                                                     gen_ints(g, &at, 1), gen_ints(g, &step, 1)});
  surg_value *s = part ? gen_one(g, "Shape", part) : NULL;
  surg_value *k = gen_scalar(g, x.dtype, (double)gen_below(g, 5) - 2);
  surg_value *t = !s                                           ? NULL
                  : x.dtype == SURG_FLOAT && gen_chance(g, 30) ? gen_one(g, "ConstantOfShape", s)
                                                               : gen_two(g, "Expand", k, s);
  if (!t) return false;
  surg_value *y = gen_chance(g, 50) ? gen_two(g, op->name, x.v, t) : gen_two(g, op->name, t, x.v);
  along(g, y, "axis", either(g, axis, x.rank));
  x.dims[axis] = gen_size(x.dims[axis].n + n);
  return gen_done(g, y, &x);
}

/* Max, Min and Relu in turn, the constant in either place, of one element or of a row. */
static bool bounded(gen *g, const gen_op *op) {
  static const char *const ops[] = {"Max", "Min", "Relu"};
  gen_value x, row;
  (void)op;
  if (!gen_pick(g, 1u << SURG_FLOAT, 1, 4, true, &x)) return false;
  const bool rows = !x.dims[x.rank - 1].symbol && gen_chance(g, 40);
  surg_value *y = x.v;
  for (unsigned i = 0; y && i < 2 + gen_below(g, 2); i++) {
    const unsigned o = gen_below(g, 3);
    surg_value *k = gen_scalar(g, SURG_FLOAT, (double)gen_below(g, 9) / 2 - 2);
    if (rows && gen_chance(g, 70)) {
      if (!gen_constant(g, SURG_FLOAT, &x.dims[x.rank - 1], 1, false, &row)) return false;
      k = row.v;
    }
    y = o == 2              ? gen_one(g, ops[o], y)
        : gen_chance(g, 50) ? gen_two(g, ops[o], y, k)
                            : gen_two(g, ops[o], k, y);
    if (y && !g->depth && gen_chance(g, 8)) gen_keep(g, y);
  }
  return gen_done(g, y, &x);
}

/* A target of Reshape: the first dimension computed, -1, the last one. */
static bool targeted(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, GEN_FLOAT, 2, 4, false, &x)) return false;
  for (unsigned i = 1; i < x.rank; i++)
    if (x.dims[i].symbol) return false;
  const int64_t last = x.dims[x.rank - 1].n, open = -1;
  surg_value *s = gen_one(g, "Shape", x.v);
  surg_value *d = s ? gen_two(g, "Gather", s, gen_scalar(g, SURG_INT64, 0)) : NULL;
  surg_value *u = d ? unsqueezed(g, d, 0) : NULL;
  if (!u) return false;
  surg_value *to = gen_apply(
      g, "Concat", 3, (surg_value *const[]){u, gen_ints(g, &open, 1), gen_ints(g, &last, 1)});
  along(g, to, "axis", 0);
  surg_value *y = to ? gen_two(g, op->name, x.v, to) : NULL;
  int64_t middle = 1;
  for (unsigned i = 1; i + 1 < x.rank; i++) middle *= x.dims[i].n;
  while (x.rank > 2) gen_remove_dim(&x, 1);
  gen_insert_dim(&x, 1, gen_size(middle));
  return gen_done(g, y, &x);
}

/* Windows of one row, as unfold is written. */
static bool unfolded(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, GEN_FLOAT, 1, 3, false, &x) || !gen_static(&x)) return false;
  const int64_t width = x.dims[x.rank - 1].n, flat = -1, zero = 0,
                count = (int64_t)gen_elements(&x);
  if (width < 1 || count < 1 || 4 * count > GEN_ELEMENTS) return false;
  int64_t at[4];
  for (unsigned i = 0; i < 4; i++) at[i] = gen_below(g, (uint32_t)width);
  surg_value *row = unsqueezed(g, x.v, 0);
  surg_value *first = row ? unsqueezed(g, gen_ints(g, &zero, 1), 0) : NULL;
  surg_value *t = first ? along(g, gen_two(g, op->name, row, first), "axis", 0) : NULL;
  surg_value *u = t ? gen_two(g, op->name, t, gen_ints(g, at, 4)) : NULL;
  surg_value *y =
      u ? gen_two(g, "Reshape", along(g, u, "axis", x.rank + 1), gen_ints(g, &flat, 1)) : NULL;
  x.rank = 1;
  x.dims[0] = gen_size(count / width * 4);
  return gen_done(g, y, &x);
}

const gen_op gen_layout[] = {{"Concat", 7, 0, stacked, 0},   {"Concat", 7, 0, stacked, 0},
                             {"Gather", 7, 0, shuffled, 0},  {"Concat", 10, 0, bordered, 0},
                             {"Concat", 10, 0, bordered, 0}, {"bounds", 8, 0, bounded, 0},
                             {"bounds", 8, 0, bounded, 0},   {"Reshape", 7, 0, targeted, 0},
                             {"Gather", 7, 0, unfolded, 0},  {NULL, 0, 0, NULL, 0}};
