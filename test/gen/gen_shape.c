/* SPDX-License-Identifier: Apache-2.0 */
/* Random valid models: operators that move elements or ask for shapes. */
#include <string.h>

#include "gen_core.h"

static int64_t signed_axis(gen *g, unsigned axis, unsigned rank) {
  return g->opset >= 11 && gen_chance(g, 30) ? (int64_t)axis - rank : (int64_t)axis;
}

static bool reshape(gen *g, const gen_op *op) {
  gen_value x, y;
  int64_t shape[3];
  if (!gen_pick(g, GEN_ANY, 0, GEN_RANK, false, &x) || !gen_static(&x)) return false;
  int64_t rest = (int64_t)gen_elements(&x);
  y = x;
  y.rank = gen_below(g, 4);
  if (y.rank == 0 && rest != 1) y.rank = 1;
  for (unsigned i = 0; i < y.rank; i++) {
    int64_t d = i + 1 == y.rank ? rest : 1 + gen_below(g, 4);
    if (rest % d) d = 1;
    rest /= d;
    y.dims[i] = gen_size(shape[i] = d);
  }
  if (y.rank && gen_chance(g, 40)) shape[gen_below(g, y.rank)] = -1;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, gen_ints(g, shape, y.rank));
  gen_out(g, n, 0, &y);
  return true;
}

/* As exporters do it: the shape is taken apart and put together by nodes. */
static bool reshape_computed(gen *g, const gen_op *op) {
  gen_value x, shape = {.dtype = SURG_INT64, .rank = 1};
  const int64_t zero = 0, minus = -1;
  if (!gen_pick(g, GEN_FLOAT, 2, 4, false, &x)) return false;
  surg_node *s = gen_node(g, "Shape", 1);
  if (!s) return false;
  gen_in(g, s, 0, &x);
  shape.dims[0] = gen_size(x.rank);
  gen_out(g, s, 0, &shape);
  surg_node *first = gen_node(g, "Gather", 1);
  if (!first) return false;
  gen_in_value(g, first, 0, surg_node_output(s, 0));
  gen_in_value(g, first, 1, gen_ints(g, &zero, 1));
  shape.dims[0] = gen_size(1);
  gen_out(g, first, 0, &shape);
  surg_node *cat = gen_node(g, "Concat", 1);
  if (!cat) return false;
  gen_set_int(g, cat, "axis", 0);
  gen_in_value(g, cat, 0, surg_node_output(first, 0));
  gen_in_value(g, cat, 1, gen_ints(g, &minus, 1));
  shape.dims[0] = gen_size(2);
  gen_out(g, cat, 0, &shape);
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, surg_node_output(cat, 0));
  gen_value tail = x;
  gen_remove_dim(&tail, 0);
  /* With symbols behind the first dim the size of the last is none of the generator's symbols. */
  bool known = gen_static(&tail);
  gen_dim last = gen_size((int64_t)gen_elements(&tail));
  x.rank = 2;
  x.dims[1] = last;
  if (known) gen_out(g, n, 0, &x);
  return true;
}

static bool flatten(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, g->opset < 9 ? GEN_FLOAT : GEN_ANY, 1, GEN_RANK, false, &x)) return false;
  if (!gen_static(&x)) return false;
  unsigned axis = gen_below(g, x.rank + 1);
  int64_t a = 1, b = 1;
  for (unsigned i = 0; i < x.rank; i++) *(i < axis ? &a : &b) *= x.dims[i].n;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  if (axis != 1 || gen_chance(g, 50)) gen_set_int(g, n, "axis", axis);
  x.rank = 2;
  x.dims[0] = gen_size(a);
  x.dims[1] = gen_size(b);
  gen_out(g, n, 0, &x);
  return true;
}

static bool transpose(gen *g, const gen_op *op) {
  gen_value x, y;
  int64_t perm[GEN_RANK];
  if (!gen_pick(g, GEN_ANY, 0, GEN_RANK, true, &x)) return false;
  bool reversed = gen_chance(g, 25);
  for (unsigned i = 0; i < x.rank; i++) perm[i] = reversed ? x.rank - 1 - i : i;
  for (unsigned i = x.rank; !reversed && i > 1; i--) {
    unsigned k = gen_below(g, i);
    int64_t t = perm[i - 1];
    perm[i - 1] = perm[k];
    perm[k] = t;
  }
  y = x;
  for (unsigned i = 0; i < x.rank; i++) y.dims[i] = x.dims[perm[i]];
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  if (!reversed) gen_set_ints(g, n, "perm", perm, x.rank);
  gen_out(g, n, 0, &y);
  return true;
}

/* Axes as attribute before opset 13, as input since. */
static void put_axes(gen *g, surg_node *n, const int64_t *axes, size_t count) {
  if (g->opset < 13) gen_set_ints(g, n, "axes", axes, count);
  else gen_in_value(g, n, 1, gen_ints(g, axes, count));
}

static bool unsqueeze(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, GEN_ANY, 0, 4, true, &x)) return false;
  unsigned at = gen_below(g, x.rank + 1);
  int64_t axis = signed_axis(g, at, x.rank + 1);
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  put_axes(g, n, &axis, 1);
  gen_insert_dim(&x, at, gen_size(1));
  gen_out(g, n, 0, &x);
  return true;
}

static bool squeeze(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, GEN_ANY, 1, GEN_RANK, true, &x)) return false;
  unsigned at = gen_below(g, x.rank);
  if (x.dims[at].symbol || x.dims[at].n != 1) return false;
  int64_t axis = signed_axis(g, at, x.rank);
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  put_axes(g, n, &axis, 1);
  gen_remove_dim(&x, at);
  gen_out(g, n, 0, &x);
  return true;
}

static bool concat(gen *g, const gen_op *op) {
  gen_value x, y, r;
  if (!gen_pick(g, GEN_ANY, 1, GEN_RANK, true, &x)) return false;
  unsigned axis = gen_below(g, x.rank);
  if (x.dims[axis].symbol) return false;
  gen_dim dims[GEN_RANK];
  memcpy(dims, x.dims, sizeof dims);
  y = x;
  for (int i = 0; i < 6; i++) {
    gen_value z;
    if (!gen_pick(g, 1u << x.dtype, x.rank, x.rank, true, &z)) break;
    gen_value a = x, b = z;
    if (z.dims[axis].symbol) continue;
    a.dims[axis] = b.dims[axis] = gen_size(1);
    if (gen_same_shape(&a, &b)) y = z;
  }
  if (gen_static(&x) && gen_chance(g, 30)) {
    dims[axis] = gen_size(1 + gen_below(g, 3));
    if (!gen_constant(g, x.dtype, dims, x.rank, false, &y)) return false;
  }
  r = x;
  r.dims[axis].n += y.dims[axis].n;
  if (gen_elements(&r) > GEN_ELEMENTS) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_set_int(g, n, "axis", signed_axis(g, axis, x.rank));
  gen_in(g, n, 0, &x);
  gen_in(g, n, 1, &y);
  gen_out(g, n, 0, &r);
  return true;
}

/* Two or three parts; sizes as attribute, as input since 13; num_outputs from 18 on. */
static bool split(gen *g, const gen_op *op) {
  gen_value x;
  int64_t sizes[3];
  if (!gen_pick(g, GEN_ANY, 1, GEN_RANK, true, &x)) return false;
  unsigned axis = gen_below(g, x.rank), parts = 2 + gen_below(g, 2);
  int64_t left = x.dims[axis].n;
  if (x.dims[axis].symbol || left < parts) return false;
  bool even = left % parts == 0 && gen_chance(g, 50);
  for (unsigned i = 0; i < parts; i++) {
    sizes[i] = even ? x.dims[axis].n / parts
                    : i + 1 == parts ? left : 1 + gen_below(g, (uint32_t)(left - parts + i + 1));
    left -= sizes[i];
  }
  surg_node *n = gen_node(g, op->name, parts);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_set_int(g, n, "axis", signed_axis(g, axis, x.rank));
  if (even && g->opset >= 18) gen_set_int(g, n, "num_outputs", parts);
  if (!even && g->opset < 13) gen_set_ints(g, n, "split", sizes, parts);
  if (!even && g->opset >= 13) gen_in_value(g, n, 1, gen_ints(g, sizes, parts));
  for (unsigned i = 0; i < parts; i++) {
    x.dims[axis] = gen_size(sizes[i]);
    gen_out(g, n, i, &x);
  }
  return true;
}

/* One or two axes; starts and ends beyond the dim and negative ones are meant. */
static bool slice(gen *g, const gen_op *op) {
  gen_value x, r;
  int64_t starts[2], ends[2], axes[2], steps[2] = {1, 1};
  if (!gen_pick(g, GEN_ANY, 1, GEN_RANK, false, &x)) return false;
  unsigned axis = gen_below(g, x.rank), count = 0;
  bool stepped = g->opset >= 10 && gen_chance(g, 40);
  r = x;
  for (unsigned i = 0; i < 2 && axis + i < x.rank; i++) {
    gen_dim *d = &r.dims[axis + i];
    if (d->symbol) break;
    int64_t from = gen_below(g, (uint32_t)d->n),
            to = from + 1 + gen_below(g, (uint32_t)(d->n - from));
    int64_t step = stepped ? 1 + gen_below(g, 2) : 1;
    starts[i] = gen_chance(g, 30) ? from - d->n : from;
    ends[i] = to == d->n && gen_chance(g, 50) ? INT32_MAX : to;
    axes[i] = axis + i;
    steps[i] = step;
    *d = gen_size((to - from + step - 1) / step);
    count++;
    if (gen_chance(g, 50)) break;
  }
  if (!count) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  if (g->opset < 10) {
    gen_set_ints(g, n, "starts", starts, count);
    gen_set_ints(g, n, "ends", ends, count);
    gen_set_ints(g, n, "axes", axes, count);
  } else {
    gen_in_value(g, n, 1, gen_ints(g, starts, count));
    gen_in_value(g, n, 2, gen_ints(g, ends, count));
    gen_in_value(g, n, 3, gen_ints(g, axes, count));
    if (stepped) gen_in_value(g, n, 4, gen_ints(g, steps, count));
  }
  gen_out(g, n, 0, &r);
  return true;
}

static bool gather(gen *g, const gen_op *op) {
  gen_value x;
  int64_t index[3];
  if (!gen_pick(g, GEN_ANY, 1, 5, false, &x)) return false;
  unsigned axis = gen_below(g, x.rank), count = gen_below(g, 4);
  int64_t size = x.dims[axis].symbol ? 1 : x.dims[axis].n;
  for (unsigned i = 0; i < count; i++) {
    index[i] = gen_below(g, (uint32_t)size);
    if (g->opset >= 11 && gen_chance(g, 25)) index[i] -= size;
  }
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, count ? gen_ints(g, index, count) : gen_scalar(g, SURG_INT64, 0));
  gen_set_int(g, n, "axis", axis);
  if (count) x.dims[axis] = gen_size(count);
  else gen_remove_dim(&x, axis);
  gen_out(g, n, 0, &x);
  return true;
}

/* A constant of indices below `size` and of the shape of *like. */
static surg_value *indices(gen *g, const gen_value *like, int64_t size) {
  int64_t v[16], dims[GEN_RANK];
  uint64_t count = gen_elements(like);
  if (count > 16) return NULL;
  for (uint64_t i = 0; i < count; i++) v[i] = (int64_t)(i % (uint64_t)size);
  for (unsigned i = 0; i < like->rank; i++) dims[i] = like->dims[i].n;
  surg_tensor *t = surg_tensor_new(g->model, SURG_INT64, dims, like->rank, v, 8 * count);
  if (!t) g->failed = true;
  return t ? surg_graph_constant(g->scope->graph, NULL, "indices", t) : NULL;
}

/* GatherElements, ScatterElements; arg: 1 scatters. */
static bool elements(gen *g, const gen_op *op) {
  gen_value x, idx, updates;
  if (!gen_pick(g, GEN_FLOAT | GEN_INT, 1, 3, false, &x) || !gen_static(&x)) return false;
  unsigned axis = gen_below(g, x.rank);
  idx = x;
  idx.dtype = SURG_INT64;
  for (unsigned i = 0; i < x.rank; i++) idx.dims[i] = gen_size(x.dims[i].n > 2 ? 2 : x.dims[i].n);
  surg_value *iv = indices(g, &idx, x.dims[axis].n);
  if (!iv) return false;
  if (op->arg && !gen_constant(g, x.dtype, idx.dims, x.rank, false, &updates)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, iv);
  if (op->arg) gen_in(g, n, 2, &updates);
  gen_set_int(g, n, "axis", axis);
  idx.dtype = x.dtype;
  gen_out(g, n, 0, op->arg ? &x : &idx);
  return true;
}

/* GatherND, ScatterND over whole rows of the first dim; arg: 1 scatters. */
static bool rows(gen *g, const gen_op *op) {
  gen_value x, r, idx = {.dtype = SURG_INT64, .rank = 2}, updates;
  if (!gen_pick(g, GEN_FLOAT | GEN_INT, 1, 4, false, &x) || !gen_static(&x)) return false;
  idx.dims[0] = gen_size(1 + gen_below(g, (uint32_t)x.dims[0].n));
  idx.dims[1] = gen_size(1);
  surg_value *iv = indices(g, &idx, x.dims[0].n);
  if (!iv) return false;
  r = x;
  r.dims[0] = idx.dims[0];
  if (op->arg && !gen_constant(g, x.dtype, r.dims, r.rank, false, &updates)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, iv);
  if (op->arg) gen_in(g, n, 2, &updates);
  gen_out(g, n, 0, op->arg ? &x : &r);
  return true;
}

static bool expand(gen *g, const gen_op *op) {
  gen_value x;
  int64_t shape[GEN_RANK];
  if (!gen_pick(g, GEN_ANY, 0, 4, true, &x)) return false;
  if (gen_chance(g, 40)) gen_insert_dim(&x, 0, gen_size(1 + gen_below(g, 3)));
  gen_value from = x;
  for (unsigned i = 0; i < x.rank; i++) {
    bool one = !x.dims[i].symbol && x.dims[i].n == 1;
    shape[i] = one ? 1 + gen_below(g, 3) : 1;
    if (one) x.dims[i] = gen_size(shape[i]);
    else if (!x.dims[i].symbol) shape[i] = gen_chance(g, 50) || i == 0 ? x.dims[i].n : 1;
  }
  if (gen_elements(&x) > GEN_ELEMENTS || !from.rank) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &from);
  gen_in_value(g, n, 1, gen_ints(g, shape, x.rank));
  gen_out(g, n, 0, &x);
  return true;
}

static bool tile(gen *g, const gen_op *op) {
  gen_value x;
  int64_t repeats[GEN_RANK];
  if (!gen_pick(g, GEN_ANY, 1, 4, true, &x)) return false;
  gen_value r = x;
  for (unsigned i = 0; i < x.rank; i++) {
    repeats[i] = x.dims[i].symbol ? 1 : 1 + gen_below(g, 2);
    r.dims[i].n *= repeats[i];
  }
  if (gen_elements(&r) > GEN_ELEMENTS) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, gen_ints(g, repeats, x.rank));
  gen_out(g, n, 0, &r);
  return true;
}

static bool shape_of(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, GEN_ANY, 0, GEN_RANK, true, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  x.dims[0] = gen_size(x.rank);
  x.rank = op->arg;
  x.dtype = SURG_INT64;
  gen_out(g, n, 0, &x);
  return true;
}

static bool pad(gen *g, const gen_op *op) {
  gen_value x;
  int64_t pads[2 * GEN_RANK];
  static const char *const modes[] = {"constant", "edge"};
  if (!gen_pick(g, GEN_FLOAT, 1, 5, false, &x)) return false;
  gen_value r = x;
  unsigned rank = x.rank;
  for (unsigned i = 0; i < rank; i++) {
    pads[i] = x.dims[i].symbol ? 0 : gen_below(g, 2);
    pads[rank + i] = x.dims[i].symbol ? 0 : gen_below(g, 3);
    r.dims[i].n += pads[i] + pads[rank + i];
  }
  if (gen_elements(&r) > GEN_ELEMENTS) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  unsigned mode = gen_below(g, 2);
  if (surg_node_set_string(n, "mode", modes[mode]) != SURG_OK) g->failed = true;
  if (g->opset < 11) {
    gen_set_ints(g, n, "pads", pads, 2 * rank);
    if (!mode) gen_set_float(g, n, "value", 1.5f);
  } else {
    gen_in_value(g, n, 1, gen_ints(g, pads, 2 * rank));
    if (!mode && gen_chance(g, 50)) gen_in_value(g, n, 2, gen_scalar(g, x.dtype, 1.5));
  }
  gen_out(g, n, 0, &r);
  return true;
}

static bool constant_of_shape(gen *g, const gen_op *op) {
  gen_value x, r;
  if (!gen_pick(g, GEN_ANY, 0, 4, true, &x)) return false;
  surg_node *s = gen_node(g, "Shape", 1);
  if (!s) return false;
  gen_in(g, s, 0, &x);
  r = (gen_value){.dtype = SURG_INT64, .rank = 1};
  r.dims[0] = gen_size(x.rank);
  gen_out(g, s, 0, &r);
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in_value(g, n, 0, surg_node_output(s, 0));
  x.dtype = SURG_FLOAT;
  if (gen_chance(g, 60)) {
    const int64_t one = 1, seven = 7;
    surg_tensor *t = surg_tensor_new(g->model, SURG_INT64, &one, 1, &seven, sizeof seven);
    if (!t || surg_node_set_tensor(n, "value", t) != SURG_OK) g->failed = true;
    x.dtype = SURG_INT64;
  }
  gen_out(g, n, 0, &x);
  return true;
}

static bool range(gen *g, const gen_op *op) {
  int64_t from = gen_below(g, 5), count = gen_below(g, 6), step = 1 + gen_below(g, 3);
  gen_value r = {.dtype = SURG_INT64, .rank = 1, .dims = {{.n = count}}};
  if (g->options->no_empty && !count) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in_value(g, n, 0, gen_scalar(g, SURG_INT64, (double)from));
  gen_in_value(g, n, 1, gen_scalar(g, SURG_INT64, (double)(from + count * step)));
  gen_in_value(g, n, 2, gen_scalar(g, SURG_INT64, (double)step));
  gen_out(g, n, 0, &r);
  return true;
}

/* Indices out of range give rows of the off value, so any integers will do. */
static bool one_hot(gen *g, const gen_op *op) {
  gen_value x;
  const int64_t depth = 1 + gen_below(g, 4);
  static const float values[] = {0.5f, 2.0f};
  static const int64_t two = 2;
  if (!gen_pick(g, 1u << SURG_INT64, 1, 3, false, &x)) return false;
  surg_tensor *t = surg_tensor_new(g->model, SURG_FLOAT, &two, 1, values, sizeof values);
  surg_node *n = gen_node(g, op->name, 1);
  if (!n || !t) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, gen_scalar(g, SURG_INT64, (double)depth));
  gen_in_value(g, n, 2, surg_graph_constant(g->scope->graph, NULL, "values", t));
  unsigned axis = gen_below(g, x.rank + 1);
  gen_set_int(g, n, "axis", axis);
  gen_insert_dim(&x, axis, gen_size(depth));
  x.dtype = SURG_FLOAT;
  gen_out(g, n, 0, &x);
  return true;
}

static bool eye_like(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, GEN_FLOAT | GEN_INT, 2, 2, false, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  if (gen_chance(g, 50)) gen_set_int(g, n, "k", (int64_t)gen_below(g, 3) - 1);
  gen_out(g, n, 0, &x);
  return true;
}

static bool trilu(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, GEN_FLOAT | GEN_INT, 2, 4, false, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  if (gen_chance(g, 50)) gen_in_value(g, n, 1, gen_scalar(g, SURG_INT64, 1));
  gen_set_int(g, n, "upper", gen_below(g, 2));
  gen_out(g, n, 0, &x);
  return true;
}

/* DepthToSpace, SpaceToDepth (arg 1) with blocks of two. */
static bool depth_space(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, 1u << SURG_FLOAT, 4, 4, false, &x) || !gen_static(&x)) return false;
  bool to_depth = op->arg;
  if (to_depth ? x.dims[2].n % 2 || x.dims[3].n % 2 : x.dims[1].n % 4) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_set_int(g, n, "blocksize", 2);
  x.dims[1] = gen_size(to_depth ? x.dims[1].n * 4 : x.dims[1].n / 4);
  for (unsigned i = 2; i < 4; i++)
    x.dims[i] = gen_size(to_depth ? x.dims[i].n / 2 : x.dims[i].n * 2);
  gen_out(g, n, 0, &x);
  return true;
}

/* k as attribute before opset 10; both outputs, of which one is often unused. */
static bool top_k(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, 1u << SURG_FLOAT, 1, GEN_RANK, false, &x)) return false;
  unsigned axis = gen_below(g, x.rank);
  if (x.dims[axis].symbol) return false;
  int64_t k = 1 + gen_below(g, (uint32_t)x.dims[axis].n);
  surg_node *n = gen_node(g, op->name, 2);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_set_int(g, n, "axis", signed_axis(g, axis, x.rank));
  if (g->opset < 10) gen_set_int(g, n, "k", k);
  else gen_in_value(g, n, 1, gen_ints(g, &k, 1));
  if (g->opset >= 11 && gen_chance(g, 40)) gen_set_int(g, n, "largest", 0);
  x.dims[axis] = gen_size(k);
  gen_out(g, n, 0, &x);
  x.dtype = SURG_INT64;
  gen_out(g, n, 1, &x);
  return true;
}

static bool reverse_sequence(gen *g, const gen_op *op) {
  gen_value x;
  int64_t lengths[8];
  if (!gen_pick(g, GEN_FLOAT | GEN_INT, 2, 4, false, &x)) return false;
  if (x.dims[0].symbol || x.dims[1].symbol || x.dims[1].n > 8) return false;
  for (int64_t i = 0; i < x.dims[1].n; i++) lengths[i] = 1 + gen_below(g, (uint32_t)x.dims[0].n);
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in_value(g, n, 1, gen_ints(g, lengths, (size_t)x.dims[1].n));
  gen_out(g, n, 0, &x);
  return true;
}

const gen_op gen_shape[] = {
    {"Reshape", 7, 0, reshape, 0}, {"Reshape", 7, 0, reshape_computed, 0},
    {"Flatten", 7, 0, flatten, 0}, {"Transpose", 7, 0, transpose, 0},
    {"Unsqueeze", 7, 0, unsqueeze, 0}, {"Squeeze", 7, 0, squeeze, 0},
    {"Concat", 7, 0, concat, 0}, {"Split", 7, 0, split, 0}, {"Slice", 7, 0, slice, 0},
    {"Gather", 7, 0, gather, 0}, {"GatherElements", 11, 0, elements, 0},
    {"ScatterElements", 11, 0, elements, 1}, {"GatherND", 11, 0, rows, 0},
    {"ScatterND", 11, 0, rows, 1}, {"Expand", 8, 0, expand, 0}, {"Tile", 7, 0, tile, 0},
    {"Shape", 7, 0, shape_of, 1}, {"Size", 7, 0, shape_of, 0}, {"Pad", 7, 0, pad, 0},
    {"ConstantOfShape", 9, 0, constant_of_shape, 0}, {"Range", 11, 0, range, 0},
    {"OneHot", 11, 0, one_hot, 0}, {"EyeLike", 9, 0, eye_like, 0}, {"Trilu", 14, 0, trilu, 0},
    {"DepthToSpace", 7, 0, depth_space, 0}, {"SpaceToDepth", 7, 0, depth_space, 1},
    {"TopK", 7, 0, top_k, 0}, {"ReverseSequence", 10, 0, reverse_sequence, 0},
    {NULL, 0, 0, NULL, 0}};
