/* SPDX-License-Identifier: Apache-2.0 */
/* Wild models: functions with attributes by reference, lists and optionals through loops and
 * branches, the same given out twice, tensors without elements, weights that are inputs and
 * outputs at once. */
#include <string.h>

#include "gen_core.h"
#include "ir/ir.h"

/* --- attributes by reference --- */

/* The attribute of a node of a function is the attribute `from` of the call. */
static void refer(gen *g, surg_value *y, const char *name, surg_attr_kind kind, const char *from) {
  surg_node *n = y ? gen_maker(y) : NULL;
  if (!n || !surg__node_reserve(n, 0, 0, 4)) {
    g->failed = true;
    return;
  }
  surg_attr *a = surg__node_push_attr(n, surg__intern(g->model, name, strlen(name)), kind);
  if (a)
    a->ref = surg__intern(g->model, from, strlen(from));
  else
    g->failed = true;
}

/* A default of the attribute of a function; an attribute without one comes before. */
static void declare(gen *g, surg_function *f, const char *name, const int64_t *i, const float *v) {
  const char *word = surg__intern(g->model, name, strlen(name));
  if (!i && !v) {
    if (!surg__vec_push(g->ctx, &f->attrs, word)) g->failed = true;
    return;
  }
  surg_attr *a = surg__arena_array(&g->model->arena, 1, sizeof *a);
  if (!a) {
    g->failed = true;
    return;
  }
  *a = (surg_attr){.name = word, .kind = i ? SURG_ATTR_INT : SURG_ATTR_FLOAT, .dirty = true};
  a->count = 1;
  if (i)
    a->u.i = *i;
  else
    a->u.f = *v;
  if (!surg__vec_push(g->ctx, &f->attrs, word) || !surg__vec_push(g->ctx, &f->defaults, a))
    g->failed = true;
}

static surg_function *function(gen *g, const char *name) {
  surg_function *f =
      surg__function_new(g->model, surg__intern(g->model, "rare", 4),
                         surg__intern(g->model, name, strlen(name)), surg__intern(g->model, "", 0));
  if (!f || surg_function_set_opset(f, "", g->opset) != SURG_OK ||
      surg_function_set_opset(f, "rare", 1) != SURG_OK ||
      surg_model_set_opset(g->model, "rare", 1) != SURG_OK)
    return g->failed = true, NULL;
  return f;
}

/* "bend" (a): an Elu with the alpha of the call, an Add of a Constant of it, and a branch that has
 * it too; keepdims is by reference, with a default. "turn" (a): calls bend, passing its alpha. */
static void define(gen *g) {
  const int64_t keep = 1;
  const float slope = 0.5f;
  gen_scope scope = {0}, branch, *before = g->scope;
  surg_function *f = function(g, "bend");
  if (!f) return;
  declare(g, f, "alpha", NULL, NULL);
  declare(g, f, "keep", &keep, NULL);
  declare(g, f, "slope", NULL, &slope);
  scope.graph = surg_function_graph(f);
  g->scope = &scope;
  surg_value *a = surg_graph_add_input(scope.graph, "a", NULL), *y = gen_one(g, "Elu", a), *c, *d;
  refer(g, y, "alpha", SURG_ATTR_FLOAT, "alpha");
  y = gen_one(g, "LeakyRelu", y);
  refer(g, y, "alpha", SURG_ATTR_FLOAT, "slope");
  c = gen_one(g, "ReduceMax", y);
  refer(g, c, "keepdims", SURG_ATTR_INT, "keep");
  d = gen_one(g, "Cast", gen_scalar(g, SURG_FLOAT, 1));
  if (d) gen_set_int(g, gen_maker(d), "to", SURG_BOOL);
  surg_node *choice = gen_node(g, "If", 1);
  for (unsigned i = 0; choice && y && i < 2; i++) {
    if (!i) gen_in_value(g, choice, 0, d);
    gen_enter(g, &branch, surg_node_set_graph(choice, i ? "else_branch" : "then_branch", "of"));
    surg_value *in = gen_one(g, i ? "Elu" : "LeakyRelu", y);
    refer(g, in, "alpha", SURG_ATTR_FLOAT, "alpha");
    gen_give(g, in, NULL);
    gen_leave(g);
  }
  gen_give(g, gen_two(g, "Add", choice ? surg_node_output(choice, 0) : NULL, c), NULL);
  gen_give(g, c, NULL);
  scope = (gen_scope){0};
  if (!(f = function(g, "turn"))) return;
  declare(g, f, "alpha", NULL, NULL);
  scope.graph = surg_function_graph(f);
  a = surg_graph_add_input(scope.graph, "a", NULL);
  surg_node *n = surg_graph_add_node(scope.graph, NULL, "rare", "bend", 2);
  if (!n || surg_node_set_input(n, 0, a) != SURG_OK) g->failed = true;
  if (n) refer(g, surg_node_output(n, 0), "alpha", SURG_ATTR_FLOAT, "alpha");
  gen_give(g, n ? gen_one(g, "Neg", surg_node_output(n, 0)) : NULL, NULL);
  g->scope = before;
}

#define DEFINED 8u /* in gen.functions */

static bool call(gen *g, const gen_op *op) {
  static const float slopes[] = {0.5f, 0, 1, 2, -1};
  gen_value x;
  (void)op;
  if (g->ir < 8 || g->depth || !gen_pick(g, 1u << SURG_FLOAT, 0, 3, false, &x)) return false;
  if (!(g->functions & DEFINED)) define(g);
  g->functions |= DEFINED;
  if (g->failed) return false;
  const bool turn = gen_chance(g, 40);
  surg_node *n =
      surg_graph_add_node(g->scope->graph, NULL, "rare", turn ? "turn" : "bend", turn ? 1 : 2);
  if (!n) return g->failed = true, false;
  gen_in(g, n, 0, &x);
  gen_set_float(g, n, "alpha", slopes[gen_below(g, 5)]);
  if (!turn && gen_chance(g, 50)) gen_set_int(g, n, "keep", 1);
  if (!turn && gen_chance(g, 50)) gen_set_float(g, n, "slope", slopes[gen_below(g, 5)]);
  gen_out(g, n, 0, &x);
  return !g->failed;
}

/* --- one value twice --- */

/* A branch, or the body of a loop, gives out the same twice, of two nodes: ONNX Runtime 1.30 leaves
 * an output undefined where a graph lists one name twice. */
static bool twice(gen *g, const gen_op *op) {
  gen_value x, flag = {.dtype = SURG_BOOL}, number = {.dtype = SURG_INT64};
  gen_scope scope;
  if (g->depth > 1 || !gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 0, 3, true, &x)) return false;
  const bool loop = op->name[0] == 'L';
  const int64_t rounds = gen_below(g, 4);
  surg_value *c = loop ? NULL : gen_scalar(g, SURG_BOOL, gen_below(g, 2));
  if (c && gen_chance(g, 50)) c = gen_one(g, "Not", c);
  surg_node *n = gen_node(g, op->name, loop ? 3 : 2);
  if (!n) return false;
  if (loop) {
    gen_in_value(g, n, 0, gen_scalar(g, SURG_INT64, (double)rounds));
    gen_in(g, n, 2, &x);
    gen_in(g, n, 3, &x);
  } else {
    gen_in_value(g, n, 0, c);
  }
  for (unsigned i = 0; i < (loop ? 1 : 2) && !g->failed; i++) {
    gen_enter(g, &scope,
              surg_node_set_graph(n,
                                  loop ? "body"
                                  : i  ? "else_branch"
                                       : "then_branch",
                                  "of"));
    surg_value *y = x.v, *go = NULL;
    if (loop) {
      (void)gen_take(g, "round", gen_type(g, &number));
      go = gen_take(g, "go", gen_type(g, &flag));
      y = gen_take(g, "state", gen_weak_type(g, &x));
      (void)gen_take(g, "other", gen_weak_type(g, &x));
      gen_give(g, gen_one(g, "Identity", go), gen_type(g, &flag));
    }
    surg_value *z = gen_one(g, i ? "Neg" : "Abs", y);
    gen_give(g, z, gen_weak_type(g, &x));
    gen_give(g, gen_one(g, i ? "Neg" : "Abs", y), gen_weak_type(g, &x));
    if (loop) gen_give(g, gen_one(g, "Identity", z), gen_weak_type(g, &x));
    gen_leave(g);
  }
  gen_out(g, n, 0, &x);
  gen_out(g, n, 1, &x);
  if (loop) {
    gen_insert_dim(&x, 0, gen_size(rounds));
    gen_out(g, n, 2, &x);
  }
  return !g->failed;
}

/* --- lists and optionals --- */

/* A loop that collects x, or what it makes of x, in a list; then one of the list, or all. */
static bool collect(gen *g, const gen_op *op) {
  gen_value x, flag = {.dtype = SURG_BOOL}, number = {.dtype = SURG_INT64};
  gen_scope scope;
  if (g->depth > 1 || g->opset < 13 || !gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 1, 3, false, &x) ||
      x.dims[0].symbol)
    return false;
  const int64_t rounds = 1 + gen_below(g, 3);
  const surg_type *list = surg_type_wrap(g->model, SURG_TYPE_SEQUENCE, gen_type(g, &x));
  surg_value *m = gen_scalar(g, SURG_INT64, (double)rounds), *start;
  if (gen_chance(g, 50)) m = gen_one(g, "Abs", m);
  surg_node *empty = gen_node(g, "SequenceEmpty", 1);
  if (!empty) return false;
  gen_set_int(g, empty, "dtype", x.dtype);
  start = surg_node_output(empty, 0);
  const bool full = gen_chance(g, 40);
  if (full) start = gen_one(g, "SequenceConstruct", x.v);
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in_value(g, n, 0, m);
  gen_in_value(g, n, 2, start);
  gen_enter(g, &scope, surg_node_set_graph(n, "body", "body"));
  surg_value *k = gen_take(g, "round", gen_type(g, &number));
  surg_value *go = gen_take(g, "go", gen_type(g, &flag)), *s = gen_take(g, "list", list);
  surg_value *y = gen_one(g, "Cast", k);
  if (y) gen_set_int(g, gen_maker(y), "to", x.dtype);
  y = gen_two(g, "Add", x.v, y);
  y = gen_chance(g, 50) ? gen_two(g, "SequenceInsert", s, y)
                        : gen_apply(g, "SequenceInsert", 3,
                                    (surg_value *const[]){s, y, gen_scalar(g, SURG_INT64, 0)});
  gen_give(g, gen_one(g, "Identity", go), gen_type(g, &flag));
  gen_give(g, y, list);
  gen_leave(g);
  y = surg_node_output(n, 0);
  const int64_t count = rounds + full;
  if (gen_chance(g, 40)) {
    y = gen_two(g, "SequenceAt", y, gen_scalar(g, SURG_INT64, gen_chance(g, 50) ? -1 : 0));
    return gen_done(g, y, &x);
  }
  if (gen_chance(g, 30)) return gen_done(g, gen_one(g, "SequenceLength", y), &number);
  x.dims[0].n *= count;
  y = gen_one(g, "ConcatFromSequence", y);
  if (y) gen_set_int(g, gen_maker(y), "axis", 0);
  return gen_elements(&x) <= GEN_ELEMENTS ? gen_done(g, y, &x) : !g->failed;
}

/* Branches that give lists. */
static bool lists(gen *g, const gen_op *op) {
  gen_value x;
  gen_scope scope;
  if (g->depth > 1 || g->opset < 13 || !gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 0, 3, true, &x))
    return false;
  const surg_type *list = surg_type_wrap(g->model, SURG_TYPE_SEQUENCE, gen_type(g, &x));
  gen_value c;
  surg_value *cond = gen_pick(g, GEN_BOOL, 0, 0, false, &c) && gen_chance(g, 50)
                         ? c.v
                         : gen_scalar(g, SURG_BOOL, gen_below(g, 2));
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in_value(g, n, 0, cond);
  for (unsigned i = 0; i < 2; i++) {
    gen_enter(g, &scope, surg_node_set_graph(n, i ? "else_branch" : "then_branch", "of"));
    surg_value *y = gen_one(g, i ? "Neg" : "Abs", x.v);
    gen_give(g, gen_two(g, "SequenceConstruct", y, i ? y : gen_one(g, "Neg", x.v)), list);
    gen_leave(g);
  }
  surg_value *at = gen_scalar(g, SURG_INT64, gen_below(g, 2));
  return gen_done(g, gen_two(g, "SequenceAt", surg_node_output(n, 0), at), &x);
}

/* A function over a list. */
static bool map(gen *g, const gen_op *op) {
  gen_value x;
  gen_scope scope;
  if (g->depth > 1 || !gen_pick(g, 1u << SURG_FLOAT, 0, 3, true, &x)) return false;
  surg_value *list = gen_two(g, "SequenceConstruct", x.v, gen_one(g, "Neg", x.v));
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in_value(g, n, 0, list);
  const bool second = gen_chance(g, 40);
  if (second) gen_in_value(g, n, 1, x.v);
  gen_enter(g, &scope, surg_node_set_graph(n, "body", "body"));
  surg_value *e = gen_take(g, "element", gen_type(g, &x));
  surg_value *o = second ? gen_take(g, "other", gen_type(g, &x)) : x.v;
  gen_give(g, gen_two(g, gen_chance(g, 50) ? "Add" : "Mul", e, o), gen_type(g, &x));
  gen_leave(g);
  surg_value *at = gen_scalar(g, SURG_INT64, gen_below(g, 2));
  return gen_done(g, gen_two(g, "SequenceAt", surg_node_output(n, 0), at), &x);
}

/* --- captures --- */

/* A Scan that reads values around it, and two lists, one along another axis. */
static bool scan(gen *g, const gen_op *op) {
  gen_value x, row, near;
  gen_scope scope;
  if (g->depth > 1 || !gen_pick(g, 1u << SURG_FLOAT, 2, 3, true, &x)) return false;
  const int64_t axes[2] = {0, gen_chance(g, 50) ? 0 : -(int64_t)x.rank};
  row = x;
  gen_remove_dim(&row, 0);
  if (!gen_pick(g, 1u << SURG_FLOAT, 0, 0, false, &near)) near.v = gen_scalar(g, SURG_FLOAT, 2);
  surg_node *n = gen_node(g, op->name, 2);
  if (!n) return false;
  gen_in_value(g, n, 0, gen_scalar(g, SURG_FLOAT, 3));
  gen_in(g, n, 1, &x);
  gen_in(g, n, 2, &x);
  gen_set_int(g, n, "num_scan_inputs", 2);
  gen_set_ints(g, n, "scan_input_axes", axes, 2);
  gen_value state = {.dtype = SURG_FLOAT};
  gen_enter(g, &scope, surg_node_set_graph(n, "body", "body"));
  surg_value *s = gen_take(g, "state", gen_type(g, &state));
  surg_value *a = gen_take(g, "a", gen_weak_type(g, &row));
  surg_value *b = gen_take(g, "b", gen_weak_type(g, &row));
  gen_give(g, gen_two(g, "Add", s, near.v), gen_type(g, &state));
  gen_give(g, gen_two(g, "Sub", gen_two(g, "Mul", a, near.v), gen_chance(g, 50) ? b : s),
           gen_weak_type(g, &row));
  gen_leave(g);
  gen_out(g, n, 0, &state);
  gen_out(g, n, 1, &x);
  return !g->failed;
}

/* --- no elements --- */

static surg_value *nothing(gen *g, int dtype, const gen_value *like, unsigned axis) {
  int64_t dims[GEN_RANK];
  for (unsigned i = 0; i < like->rank; i++) dims[i] = i == axis ? 0 : like->dims[i].n;
  return gen_constant_value(g, surg_tensor_new(g->model, dtype, dims, like->rank, NULL, 0));
}

/* x and nothing: joined, split off, sliced off, gathered, multiplied, reduced. */
static bool empty(gen *g, const gen_op *op) {
  gen_value x, r;
  (void)op;
  if (g->opset < 13 || !gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 1, 3, true, &x) || !gen_static(&x))
    return false;
  const unsigned axis = gen_below(g, x.rank);
  const int64_t at = axis, zero = 0, parts[2] = {x.dims[axis].n, 0}, back[2] = {0, -1};
  surg_value *y;
  surg_node *n;
  r = x;
  r.dims[axis] = gen_size(0);
  switch (gen_below(g, 8)) {
    case 0:
      y = nothing(g, x.dtype, &x, axis);
      y = gen_chance(g, 50) ? gen_two(g, "Concat", x.v, y) : gen_two(g, "Concat", y, x.v);
      if (y) gen_set_int(g, gen_maker(y), "axis", at);
      return gen_done(g, y, &x);
    case 1:
      if (!(n = gen_node(g, "Split", 2))) return false;
      gen_in(g, n, 0, &x);
      gen_in_value(g, n, 1, gen_ints(g, parts, 2));
      gen_set_int(g, n, "axis", at);
      gen_out(g, n, 0, &x);
      gen_out(g, n, 1, &r);
      return !g->failed;
    case 2:
      y = gen_apply(g, "Slice", 4,
                    (surg_value *const[]){x.v, gen_ints(g, &zero, 1), gen_ints(g, &zero, 1),
                                          gen_ints(g, &at, 1)});
      return gen_done(g, y, &r);
    case 3:
      y = gen_two(g, "Gather", x.v, gen_ints(g, NULL, 0));
      if (y) gen_set_int(g, gen_maker(y), "axis", at);
      return x.dims[axis].n ? gen_done(g, y, &r) : !g->failed;
    case 4: /* a sum of nothing */
      y = nothing(g, x.dtype, &x, axis);
      y = gen_two(g, "ReduceSum", y, gen_ints(g, &at, 1));
      r.dims[axis] = gen_size(1);
      return gen_done(g, gen_chance(g, 50) ? y : gen_two(g, "Add", y, gen_one(g, "Abs", y)), &r);
    case 5: /* a product over nothing */
      if (x.rank != 2 || x.dtype != SURG_FLOAT) return false;
      y = gen_two(g, "MatMul", nothing(g, x.dtype, &x, 1), nothing(g, x.dtype, &x, 0));
      return gen_done(g, y, &x);
    case 6:
      if (x.rank != 2 || x.empty) return false;
      y = nothing(g, x.dtype, &x, 0);
      y = gen_two(g, "Reshape", y, gen_ints(g, back, x.dims[1].n ? 1 : 2));
      r.rank = 1;
      r.dims[0] = gen_size(0);
      return gen_done(g, y, &r);
    default: /* with what broadcasts */
      y = nothing(g, x.dtype, &x, axis);
      if (x.dims[axis].n != 1) return false;
      return gen_done(g, gen_two(g, gen_chance(g, 50) ? "Add" : "Mul", x.v, y), &r);
  }
}

/* --- the interface --- */

/* A weight that is an output, is read, and may be an input too (gen.c makes inputs of weights). */
static bool weight_out(gen *g, const gen_op *op) {
  gen_value w;
  (void)op;
  if (g->depth) return false;
  const gen_dim d[2] = {gen_size(1 + gen_below(g, 3)), gen_size(gen_below(g, 3))};
  if (!gen_constant(g, SURG_FLOAT, d, 2, false, &w)) return false;
  gen_keep(g, w.v);
  surg_value *y = gen_one(g, gen_chance(g, 50) ? "Neg" : "Identity", w.v);
  return gen_done(g, y, &w);
}

const gen_op gen_rare[] = {
    {"call", 7, 0, call, 0},        {"call", 7, 0, call, 0},         {"If", 7, 0, twice, 0},
    {"Loop", 7, 0, twice, 0},       {"Loop", 13, 0, collect, 0},     {"If", 13, 0, lists, 0},
    {"SequenceMap", 17, 0, map, 0}, {"Scan", 9, 0, scan, 0},         {"empty", 13, 0, empty, 0},
    {"empty", 13, 0, empty, 0},     {"weight", 7, 0, weight_out, 0}, {NULL, 0, 0, NULL, 0}};
