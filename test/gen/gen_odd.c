/* SPDX-License-Identifier: Apache-2.0 */
/* Wild models, rare structures: lists that change, optionals, text, captures through two graphs,
 * loop states that grow, one name in two branches, calls within calls, integers of quantized
 * sums. */
#include <stdlib.h>
#include <string.h>

#include "gen_core.h"
#include "ir/ir.h"

/* --- lists and optionals --- */

static surg_value *at(gen *g, surg_value *list, int64_t i) {
  return gen_two(g, "SequenceAt", list, gen_scalar(g, SURG_INT64, (double)i));
}

/* A list of x, -x and more, of which one goes; one is read, or all are joined. */
static bool list(gen *g, const gen_op *op) {
  gen_value x;
  (void)op;
  if (!gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 1, 3, true, &x) || x.dims[0].symbol) return false;
  surg_value *minus = gen_one(g, "Neg", x.v), *y;
  surg_node *n = gen_node(g, "SequenceEmpty", 1);
  if (!n || !minus) return false;
  if (x.dtype != SURG_FLOAT || gen_chance(g, 50)) gen_set_int(g, n, "dtype", x.dtype);
  y = gen_two(g, "SequenceInsert", surg_node_output(n, 0), x.v);
  y = gen_apply(g, "SequenceInsert", 3,
                (surg_value *const[]){y, minus, gen_scalar(g, SURG_INT64, 0)});
  int64_t count = 2;
  if (gen_chance(g, 50)) {
    y = gen_two(g, "SequenceInsert", y, x.v);
    count++;
  }
  if (gen_chance(g, 50)) {
    y = gen_two(g, "SequenceErase", y, gen_scalar(g, SURG_INT64, gen_chance(g, 50) ? -1 : 0));
    count--;
  }
  if (gen_chance(g, 50)) return gen_done(g, at(g, y, gen_below(g, (uint32_t)count)), &x);
  surg_value *all = gen_one(g, "ConcatFromSequence", y);
  if (!all) return false;
  gen_set_int(g, gen_maker(all), "axis", 0);
  if (gen_chance(g, 50)) {
    gen_set_int(g, gen_maker(all), "new_axis", 1);
    gen_insert_dim(&x, 0, gen_size(count));
  } else {
    x.dims[0].n *= count;
  }
  return gen_elements(&x) <= GEN_ELEMENTS ? gen_done(g, all, &x) : !g->failed;
}

/* The parts of x along its first axis, with and without that axis, one of them. */
static bool parts(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 1, 3, false, &x) || x.dims[0].symbol) return false;
  const bool flat = gen_chance(g, 40);
  const int64_t d = x.dims[0].n;
  surg_value *y = gen_one(g, op->name, x.v);
  if (!y) return false;
  gen_set_int(g, gen_maker(y), "axis", 0);
  if (flat) gen_set_int(g, gen_maker(y), "keepdims", 0);
  y = at(g, y, (int64_t)gen_below(g, (uint32_t)d) - (gen_chance(g, 50) ? d : 0));
  if (flat)
    gen_remove_dim(&x, 0);
  else
    x.dims[0] = gen_size(1);
  return gen_done(g, y, &x);
}

/* A tensor through an optional, or whether there is one. */
static bool optional(gen *g, const gen_op *op) {
  gen_value x, flag = {.dtype = SURG_BOOL};
  if (!gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 0, 3, true, &x)) return false;
  surg_value *o = gen_one(g, op->name, x.v);
  if (gen_chance(g, 40)) return gen_done(g, gen_one(g, "OptionalHasElement", o), &flag);
  return gen_done(g, gen_one(g, "OptionalGetElement", o), &x);
}

/* --- text --- */

/* Words that move, are joined and compared. */
static bool text(gen *g, const gen_op *op) {
  static const surg_str words[] = {{"a", 1}, {"", 0}, {"bc", 2}, {"a", 1}};
  const int64_t dims[2] = {2, 2};
  gen_value x = {.dtype = SURG_STRING, .rank = 2, .dims = {{2, 0}, {2, 0}}};
  (void)op;
  surg_value *c = gen_constant_value(g, surg_tensor_new_strings(g->model, dims, 2, words)), *y = c;
  const unsigned kind = gen_below(g, g->opset >= 19 ? 5 : 4);
  if (kind == 0) {
    y = gen_two(g, "Concat", c, gen_one(g, "Identity", c));
    if (!y) return false;
    gen_set_int(g, gen_maker(y), "axis", 0);
    x.dims[0].n = 4;
  } else if (kind == 1) {
    /* Along the last axis: ONNX Runtime takes one word of each row of others. */
    y = gen_two(g, "Gather", c, gen_ints(g, (const int64_t[]){1, 0, 1}, 3));
    if (!y) return false;
    gen_set_int(g, gen_maker(y), "axis", 1);
    x.dims[1].n = 3;
  } else if (kind == 2) {
    y = gen_two(g, "Reshape", gen_one(g, "Transpose", c), gen_ints(g, (const int64_t[]){-1}, 1));
    x.rank = 1;
    x.dims[0].n = 4;
  } else if (kind == 3) {
    y = gen_one(g, "Identity", c);
  } else {
    y = gen_two(g, "Equal", c, gen_one(g, "Transpose", c));
    x.dtype = SURG_BOOL;
  }
  return gen_done(g, y, &x);
}

/* --- graphs --- */

/* A state that grows by x in each round. */
static bool grow(gen *g, const gen_op *op) {
  gen_value x, r, flag = {.dtype = SURG_BOOL}, number = {.dtype = SURG_INT64};
  gen_scope scope;
  if (g->depth > 1 || !gen_pick(g, 1u << SURG_FLOAT, 1, 3, true, &x) || x.dims[0].symbol)
    return false;
  const int64_t rounds = gen_below(g, 4);
  surg_value *m = gen_scalar(g, SURG_INT64, (double)rounds);
  if (gen_chance(g, 50)) m = gen_one(g, "Abs", m);
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  r = x;
  r.dims[0] = (gen_dim){x.dims[0].n, GEN_SYMBOL_FIRST};
  gen_in_value(g, n, 0, m);
  gen_in(g, n, 2, &x);
  gen_enter(g, &scope, surg_node_set_graph(n, "body", "body"));
  (void)gen_take(g, "round", gen_type(g, &number));
  surg_value *go = gen_take(g, "go", gen_type(g, &flag)),
             *s = gen_take(g, "state", gen_weak_type(g, &r));
  surg_value *y = gen_two(g, "Concat", s, gen_chance(g, 50) ? x.v : gen_one(g, "Neg", x.v));
  if (y) gen_set_int(g, gen_maker(y), "axis", 0);
  gen_give(g, gen_one(g, "Identity", go), gen_type(g, &flag));
  gen_give(g, y, gen_weak_type(g, &r));
  gen_leave(g);
  r.dims[0] = gen_size(x.dims[0].n * (1 + rounds));
  if (gen_elements(&r) > GEN_ELEMENTS) return !g->failed;
  gen_out(g, n, 0, &r);
  return !g->failed;
}

/* A branch whose loop reads x from two graphs out and what the branch makes of it; the names of the
 * two branches are the same. */
static void deep_branch(gen *g, surg_graph *graph, const gen_value *x, bool loop) {
  gen_scope branch, body;
  gen_value flag = {.dtype = SURG_BOOL}, number = {.dtype = SURG_INT64};
  gen_enter(g, &branch, graph);
  surg_value *twice = gen_two(g, "Add", x->v, x->v), *y = twice;
  if (twice && surg_value_can_rename(twice, "inner")) (void)surg_value_rename(twice, "inner");
  surg_node *n = loop ? gen_node(g, "Loop", 1) : NULL;
  if (n) {
    gen_in_value(g, n, 0, gen_scalar(g, SURG_INT64, gen_below(g, 3)));
    gen_in_value(g, n, 2, twice);
    gen_enter(g, &body, surg_node_set_graph(n, "body", "body"));
    (void)gen_take(g, "round", gen_type(g, &number));
    surg_value *go = gen_take(g, "go", gen_type(g, &flag)),
               *s = gen_take(g, "state", gen_weak_type(g, x));
    gen_give(g, gen_one(g, "Identity", go), gen_type(g, &flag));
    gen_give(g, gen_two(g, "Sub", gen_two(g, "Add", s, x->v), twice), gen_weak_type(g, x));
    gen_leave(g);
    y = surg_node_output(n, 0);
  }
  gen_give(g, y, gen_weak_type(g, x));
  gen_leave(g);
}

static bool deep(gen *g, const gen_op *op) {
  gen_value x, c;
  if (g->depth || !gen_pick(g, 1u << SURG_FLOAT, 0, 3, true, &x)) return false;
  surg_value *cond = gen_chance(g, 50) && gen_pick(g, GEN_BOOL, 0, 0, false, &c)
                         ? c.v
                         : gen_one(g, "Not", gen_scalar(g, SURG_BOOL, gen_below(g, 2)));
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in_value(g, n, 0, cond);
  deep_branch(g, surg_node_set_graph(n, "then_branch", "then"), &x, true);
  deep_branch(g, surg_node_set_graph(n, "else_branch", "otherwise"), &x, gen_chance(g, 50));
  gen_out(g, n, 0, &x);
  return !g->failed;
}

/* --- functions --- */

/* One of: "inner" (a, b) = a - b, a; "outer" (a) = inner (relu (a), a), the second result unread,
 * in an If; "unused", which nothing calls. */
static void define(gen *g, const char *name, unsigned which) {
  gen_scope scope = {0}, branch, *before = g->scope;
  surg_function *f =
      surg__function_new(g->model, surg__intern(g->model, "odd", 3),
                         surg__intern(g->model, name, strlen(name)), surg__intern(g->model, "", 0));
  if (!f || surg_function_set_opset(f, "", g->opset) != SURG_OK ||
      surg_function_set_opset(f, "odd", 1) != SURG_OK ||
      surg_model_set_opset(g->model, "odd", 1) != SURG_OK) {
    g->failed = true;
    return;
  }
  scope.graph = surg_function_graph(f);
  g->scope = &scope;
  surg_value *a = surg_graph_add_input(scope.graph, "a", NULL);
  if (which != 1) {
    surg_value *b = surg_graph_add_input(scope.graph, "b", NULL);
    gen_give(g, gen_two(g, "Sub", a, b), NULL);
    if (!which) gen_give(g, gen_one(g, "Identity", a), NULL);
  } else {
    /* Below opset 9 a Constant is of floats. */
    surg_value *relu = gen_one(g, "Relu", a), *c = gen_one(g, "Cast", gen_scalar(g, SURG_FLOAT, 1));
    if (c) gen_set_int(g, gen_maker(c), "to", SURG_BOOL);
    surg_node *n = surg_graph_add_node(scope.graph, NULL, "odd", "inner", 2);
    if (n) {
      gen_in_value(g, n, 0, relu);
      gen_in_value(g, n, 1, a);
    }
    surg_value *y = n ? surg_node_output(n, 0) : NULL;
    surg_node *choice = gen_node(g, "If", 1);
    for (unsigned i = 0; choice && y && i < 2; i++) {
      if (!i) gen_in_value(g, choice, 0, c);
      gen_enter(g, &branch, surg_node_set_graph(choice, i ? "else_branch" : "then_branch", "of"));
      gen_give(g, gen_one(g, i ? "Identity" : "Neg", y), NULL);
      gen_leave(g);
    }
    gen_give(g, choice ? surg_node_output(choice, 0) : NULL, NULL);
  }
  g->scope = before;
  free(scope.values);
}

static bool call(gen *g, const gen_op *op) {
  static const char *const names[] = {"inner", "outer", "unused"};
  gen_value x;
  (void)op;
  if (g->ir < 8 || g->depth || !gen_pick(g, 1u << SURG_FLOAT, 0, 3, true, &x)) return false;
  for (unsigned i = 0; i < 3 && !(g->functions & 4); i++) define(g, names[i], i);
  g->functions |= 4;
  if (g->failed) return false;
  surg_node *n = surg_graph_add_node(g->scope->graph, NULL, "odd", "outer", 1);
  if (!n) return g->failed = true, false;
  gen_in(g, n, 0, &x);
  gen_out(g, n, 0, &x);
  return !g->failed;
}

/* --- integers --- */

/* The product of x in eight bits with a constant, without and with zero points. */
static bool integers(gen *g, const gen_op *op) {
  gen_value x, w;
  if (!gen_pick(g, 1u << SURG_UINT8, 2, 3, false, &x) || x.dims[x.rank - 1].symbol) return false;
  const gen_dim d[2] = {x.dims[x.rank - 1], gen_size(1 + gen_below(g, 3))};
  if (!gen_constant(g, SURG_UINT8, d, 2, false, &w)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in(g, n, 1, &w);
  if (gen_chance(g, 50)) gen_in_value(g, n, 2, gen_scalar(g, SURG_UINT8, gen_below(g, 4)));
  x.dims[x.rank - 1] = d[1];
  x.dtype = SURG_INT32;
  gen_out(g, n, 0, &x);
  return !g->failed;
}

const gen_op gen_odd[] = {{"SequenceEmpty", 11, 0, list, 0},
                          {"SplitToSequence", 11, 0, parts, 0},
                          {"Optional", 15, 0, optional, 0},
                          {"text", 8, 0, text, 0},
                          {"Loop", 11, 0, grow, 0},
                          {"If", 7, 0, deep, 0},
                          {"call", 7, 0, call, 0},
                          {"MatMulInteger", 10, 0, integers, 0},
                          {NULL, 0, 0, NULL, 0}};
