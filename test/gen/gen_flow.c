/* SPDX-License-Identifier: Apache-2.0 */
/* Wild models: branches and bodies that do not run and would fail if they did, loops of no, one or
 * some rounds, Scan, sequences, functions. */
#include <stdlib.h>
#include <string.h>

#include "gen_core.h"
#include "ir/ir.h"

static surg_node *maker(const surg_value *v) {
  return surg_value_producer(v, NULL);
}

/* The last of n_out outputs of a node that reads what is there already. */
static surg_value *apply_to(gen *g, const char *op, size_t n_out, surg_value *const *in,
                            size_t n_in) {
  surg_node *n = gen_node(g, op, n_out);
  if (!n) return NULL;
  for (size_t i = 0; i < n_in; i++) gen_in_value(g, n, i, in[i]);
  return surg_node_output(n, n_out - 1);
}

static surg_value *apply(gen *g, const char *op, surg_value *x, surg_value *y) {
  return apply_to(g, op, 1, (surg_value *const[]){x, y}, y ? 2 : 1);
}

static surg_value *cast(gen *g, surg_value *x, int dtype) {
  surg_value *y = apply(g, "Cast", x, NULL);
  if (y) gen_set_int(g, maker(y), "to", dtype);
  return y;
}

/* Integers as a constant that shape inference at load does not look through, or as it is. */
static surg_value *hidden(gen *g, const int64_t *v, size_t count) {
  int64_t minus[8];
  if (gen_chance(g, 10)) return gen_ints(g, v, count);
  for (size_t i = 0; i < count; i++) minus[i] = -v[i];
  return apply(g, "Neg", gen_ints(g, minus, count), NULL);
}

/* A value of the shape that the integers give: of x, or of a constant. */
static surg_value *shaped(gen *g, const gen_value *x, const int64_t *v, size_t count) {
  int64_t elements = 1;
  for (size_t i = 0; i < count; i++) elements *= v[i];
  surg_value *from = x->dtype == SURG_FLOAT && gen_chance(g, 40) ? x->v : NULL;
  if (!from) {
    gen_value c;
    gen_dim d = gen_size(elements);
    if (!gen_constant(g, SURG_FLOAT, &d, 1, false, &c)) return NULL;
    from = c.v;
  }
  return apply(g, "Reshape", from, hidden(g, v, count));
}

static void put_axis(gen *g, surg_value *y, int64_t axis) {
  surg_node *n = maker(y);
  if (g->opset < 13)
    gen_set_ints(g, n, "axes", &axis, 1);
  else
    gen_in_value(g, n, 1, gen_ints(g, &axis, 1));
}

/* What would fail, were it computed: of no shape that is known. NULL: none of this opset. */
static surg_value *bomb(gen *g, const gen_value *x) {
  const int64_t zero = 0, two = 2, minus = -3, six = 6, nine = 9, a[] = {2, 3}, b[] = {3, 2},
                far[] = {7};
  surg_value *y, *in[5];
  switch (gen_below(g, 15)) {
    case 0:
      return apply(g, "Div", gen_ints(g, &six, 1), hidden(g, &zero, 1));
    case 1:
      return g->opset < 10 ? NULL : apply(g, "Mod", gen_ints(g, &six, 1), hidden(g, &zero, 1));
    case 2: /* of elements that are not there */
      return apply(g, "Gather", hidden(g, a, 2), hidden(g, far, 1));
    case 3:
      y = apply(g, "Squeeze", shaped(g, x, a, 2), NULL);
      if (y) put_axis(g, y, 0);
      return y;
    case 4:
      return g->opset < 8 ? NULL : apply(g, "Expand", shaped(g, x, a, 2), hidden(g, b, 2));
    case 5:
      return apply(g, "MatMul", shaped(g, x, a, 2), shaped(g, x, a, 2));
    case 6:
      return apply(g, "Add", shaped(g, x, a, 2), shaped(g, x, b, 2));
    case 7:
      y = apply(g, "Concat", shaped(g, x, a, 2), shaped(g, x, b, 2));
      if (y) gen_set_int(g, maker(y), "axis", 0);
      return y;
    case 8:
      if (g->opset < 10) return NULL;
      in[0] = shaped(g, x, a, 2);
      in[1] = hidden(g, &nine, 1);
      return apply_to(g, "TopK", 2, in, 2);
    case 9:
      if (g->opset < 13) return NULL;
      in[0] = shaped(g, x, a, 2);
      in[1] = hidden(g, b, 2);
      return apply_to(g, "Split", 2, in, 2);
    case 10:
      return g->opset < 9 ? NULL : apply(g, "ConstantOfShape", hidden(g, &minus, 1), NULL);
    case 11:
      return apply(g, "Reshape", x->v, hidden(g, (const int64_t[]){7, 11, 13}, 3));
    case 12:
      if (g->opset < 11) return NULL;
      in[0] = gen_scalar(g, SURG_INT64, 0);
      in[1] = gen_scalar(g, SURG_INT64, 5);
      in[2] = hidden(g, &zero, 1);
      in[2] = apply(g, "Reshape", in[2], gen_ints(g, NULL, 0));
      return apply_to(g, "Range", 1, in, 3);
    case 13:
      return apply(g, "Tile", shaped(g, x, a, 2), hidden(g, (const int64_t[]){-1, 2}, 2));
    default:
      if (g->opset < 10) return NULL;
      in[0] = shaped(g, x, a, 2);
      in[1] = gen_ints(g, &zero, 1);
      in[2] = gen_ints(g, &two, 1);
      in[3] = hidden(g, &zero, 1);
      in[4] = hidden(g, &zero, 1);
      return apply_to(g, "Slice", 1, in, 5);
  }
}

/* x, and the sum of what a bomb gives with it: of the shape and type of x. */
static surg_value *with_bomb(gen *g, const gen_value *x) {
  surg_value *y = bomb(g, x);
  if (!y || g->failed) return NULL;
  y = apply(g, "ReduceMax", cast(g, y, SURG_FLOAT), NULL);
  if (!y) return NULL;
  gen_set_int(g, maker(y), "keepdims", 0);
  return apply(g, "Add", x->v, x->dtype == SURG_FLOAT ? y : cast(g, y, x->dtype));
}

/* A condition, and in *is what it is for certain: 0 false, 1 true, 2 an input decides. */
static surg_value *condition(gen *g, unsigned *is) {
  gen_value c;
  if (gen_chance(g, 25) && gen_pick(g, GEN_BOOL, 0, 0, false, &c)) return *is = 2, c.v;
  *is = gen_below(g, 2);
  const double v = *is;
  if (gen_chance(g, 50)) return gen_scalar(g, SURG_BOOL, v);
  if (gen_chance(g, 50)) return apply(g, "Not", gen_scalar(g, SURG_BOOL, 1 - v), NULL);
  return apply(g, "Equal", gen_scalar(g, SURG_INT64, 4), gen_scalar(g, SURG_INT64, v ? 4 : 5));
}

static void open_scope(gen *g, gen_scope *scope, surg_graph *graph) {
  *scope = (gen_scope){.outer = g->scope, .graph = graph};
  if (!graph) g->failed = true;
  g->scope = scope;
  g->depth++;
}

static void close_scope(gen *g) {
  gen_scope *scope = g->scope;
  g->scope = scope->outer;
  g->depth--;
  free(scope->values);
}

static void output(gen *g, surg_value *y, const gen_value *like) {
  if (!y || surg_graph_add_output(g->scope->graph, y, gen_weak_type(g, like)) != SURG_OK)
    g->failed = true;
}

/* A branch that gives x as it is, x through a node, or x and what would fail. */
static void branch(gen *g, surg_graph *graph, const gen_value *x, bool dead) {
  gen_scope scope;
  open_scope(g, &scope, graph);
  for (uint32_t i = gen_below(g, 3); i > 0 && !g->failed; i--) (void)gen_random_node(g);
  surg_value *y = dead && gen_chance(g, 80) ? with_bomb(g, x) : NULL;
  if (!y)
    y = apply(g, gen_chance(g, 40) ? "Identity" : gen_chance(g, 50) ? "Neg" : "Abs", x->v, NULL);
  output(g, y, x);
  close_scope(g);
}

static bool dead_if(gen *g, const gen_op *op) {
  gen_value x;
  unsigned is;
  if (g->depth > 1 || !gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 0, 4, true, &x)) return false;
  surg_value *c = condition(g, &is);
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in_value(g, n, 0, c);
  const bool risky = is == 2 && gen_chance(g, 30);
  branch(g, surg_node_set_graph(n, "then_branch", "then"), &x, is == 0 || risky);
  branch(g, surg_node_set_graph(n, "else_branch", "otherwise"), &x, is == 1);
  gen_out(g, n, 0, &x);
  return !g->failed;
}

/* Runtimes want the rank of what they make themselves: the number of a round, the condition. */
static gen_value body_input(gen *g, const char *stem, const gen_value *like, bool made) {
  gen_value v = *like;
  surg_graph *graph = g->scope->graph;
  const surg_type *type = made ? gen_type(g, like) : gen_weak_type(g, like);
  v.v = surg_graph_add_input(graph, surg_graph_fresh_name(graph, stem), type);
  if (!v.v) g->failed = true;
  return v;
}

/* Divides by the number of the round, in a branch that the first round does not take. */
static surg_value *by_round(gen *g, surg_value *round, const gen_value *state) {
  gen_value x = *state;
  gen_scope scope;
  surg_value *zero = gen_scalar(g, SURG_INT64, 0);
  surg_value *first = apply(g, "Equal", round, zero);
  surg_node *n = gen_node(g, "If", 1);
  if (!n) return NULL;
  gen_in_value(g, n, 0, first);
  branch(g, surg_node_set_graph(n, "then_branch", "first"), &x, false);
  open_scope(g, &scope, surg_node_set_graph(n, "else_branch", "later"));
  surg_value *d = apply(g, gen_chance(g, 50) || g->opset < 10 ? "Div" : "Mod",
                        gen_scalar(g, SURG_INT64, 6), round);
  output(g, apply(g, "Add", x.v, x.dtype == SURG_INT64 ? d : cast(g, d, x.dtype)), &x);
  close_scope(g);
  return surg_node_output(n, 0);
}

/* The body of a loop: rounds end by the trip count, or by a condition of the body. */
static void body(gen *g, surg_graph *graph, const gen_value *x, bool dead, unsigned stop) {
  gen_value round = {.dtype = SURG_INT64}, cond = {.dtype = SURG_BOOL};
  gen_scope scope;
  open_scope(g, &scope, graph);
  const gen_value k = body_input(g, "round", &round, true), go = body_input(g, "go", &cond, true);
  const gen_value s = body_input(g, "state", x, false);
  for (uint32_t i = gen_below(g, 2); i > 0 && !g->failed; i--) (void)gen_random_node(g);
  surg_value *y = dead ? with_bomb(g, &s) : NULL;
  if (!y && gen_chance(g, 30)) y = by_round(g, k.v, &s);
  if (!y) y = apply(g, gen_chance(g, 30) ? "Identity" : "Neg", s.v, NULL);
  surg_value *next = stop == 0 ? apply(g, "Identity", go.v, NULL) : NULL;
  if (stop == 1) next = apply(g, "Not", go.v, NULL);
  if (stop == 2 && g->opset >= 9) next = apply(g, "Less", k.v, gen_scalar(g, SURG_INT64, 1));
  if (!next) next = apply(g, "Identity", gen_scalar(g, SURG_BOOL, 0), NULL);
  output(g, next, &cond);
  output(g, y, x);
  output(g, gen_chance(g, 50) ? apply(g, "Abs", s.v, NULL) : apply(g, "Identity", s.v, NULL), x);
  close_scope(g);
}

static bool dead_loop(gen *g, const gen_op *op) {
  static const int64_t trips[] = {0, 0, 1, 2, 3, -1, INT64_MAX};
  gen_value x, r;
  if (g->depth > 1 || !gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 0, 3, true, &x)) return false;
  const bool off = gen_chance(g, 20), endless = gen_chance(g, 15);
  const int64_t most = trips[gen_below(g, 6)];
  const unsigned stop = endless ? 1 + gen_below(g, 3) : gen_below(g, 4);
  surg_value *m = NULL, *c = NULL;
  if (!endless) m = gen_chance(g, 70) ? gen_scalar(g, SURG_INT64, (double)most) : NULL;
  if (!endless && !m) m = apply(g, "Reshape", hidden(g, &most, 1), gen_ints(g, NULL, 0));
  if (off || stop == 1 || gen_chance(g, 30) || (stop == 0 && gen_chance(g, 50)))
    c = gen_scalar(g, SURG_BOOL, !off);
  surg_node *n = gen_node(g, op->name, 2);
  if (!n) return false;
  if (m) gen_in_value(g, n, 0, m);
  if (c) gen_in_value(g, n, 1, c);
  gen_in(g, n, 2, &x);
  const int64_t rounds = off || (m && most <= 0)          ? 0
                         : stop == 0 || (stop == 1 && !c) ? most
                         : stop == 2 && g->opset >= 9     ? (m && most < 2 ? most : 2)
                                                          : 1;
  body(g, surg_node_set_graph(n, "body", "body"), &x, rounds == 0 && gen_chance(g, 70), stop);
  gen_out(g, n, 0, &x);
  r = x;
  gen_insert_dim(
      &r, 0,
      gen_chance(g, 90) && stop != 1 ? gen_size(rounds) : (gen_dim){rounds, g->next_symbol++});
  gen_out(g, n, 1, &r);
  return !g->failed;
}

/* One state, one list that is read along its first axis, forwards or backwards; perhaps of no
 * rounds. */
static bool scan(gen *g, const gen_op *op) {
  gen_value x, row;
  gen_scope scope;
  if (g->depth > 1 || !gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 1, 3, true, &x)) return false;
  row = x;
  gen_remove_dim(&row, 0);
  row.empty = gen_elements(&row) == 0;
  gen_value state = {.dtype = x.dtype};
  surg_value *start = gen_scalar(g, x.dtype, 2);
  surg_node *n = gen_node(g, op->name, 2);
  if (!n) return false;
  gen_in_value(g, n, 0, start);
  gen_in(g, n, 1, &x);
  const int64_t back = gen_chance(g, 30), back_out = gen_chance(g, 30);
  gen_set_int(g, n, "num_scan_inputs", 1);
  if (back) gen_set_ints(g, n, "scan_input_directions", &back, 1);
  if (back_out) gen_set_ints(g, n, "scan_output_directions", &back_out, 1);
  open_scope(g, &scope, surg_node_set_graph(n, "body", "body"));
  const gen_value s = body_input(g, "state", &state, false), e = body_input(g, "row", &row, false);
  output(g, apply(g, "Neg", s.v, NULL), &state);
  output(g, apply(g, gen_chance(g, 50) ? "Add" : "Mul", e.v, s.v), &row);
  close_scope(g);
  gen_out(g, n, 0, &state);
  gen_out(g, n, 1, &x);
  return !g->failed;
}

/* A list of two, and one of them, or both joined. */
static bool sequence(gen *g, const gen_op *op) {
  gen_value x, r;
  if (!gen_pick(g, GEN_ANY & ~(1u << SURG_UINT8), 1, 4, true, &x) || x.dims[0].symbol) return false;
  const unsigned kind = gen_below(g, 3);
  surg_value *other = apply(g, "Identity", x.v, NULL);
  surg_value *list = apply(g, op->name, x.v, other);
  r = x;
  if (!list) return false;
  if (kind == 0) {
    const int at = (int)gen_below(g, 4) - 2;
    surg_value *y = apply(g, "SequenceAt", list, gen_scalar(g, SURG_INT64, at));
    if (y) gen_out(g, maker(y), 0, &r);
  } else if (kind == 1) {
    r.dims[0].n *= 2;
    surg_value *y = apply(g, "ConcatFromSequence", list, NULL);
    if (!y) return false;
    gen_set_int(g, maker(y), "axis", 0);
    gen_out(g, maker(y), 0, &r);
  } else {
    surg_value *y = apply(g, "SequenceLength", list, NULL);
    r = (gen_value){.dtype = SURG_INT64};
    if (y) gen_out(g, maker(y), 0, &r);
  }
  return !g->failed;
}

/* A call of a function of this model: a few nodes of one input, made at its first call. */
static bool call(gen *g, const gen_op *op) {
  static const char *const names[] = {"twice", "bent"};
  gen_value x;
  if (g->ir < 8 || !gen_pick(g, 1u << SURG_FLOAT, 0, 4, true, &x)) return false;
  const unsigned which = gen_below(g, 2);
  const char *domain = surg__intern(g->model, "local", 5);
  const char *name = surg__intern(g->model, names[which], strlen(names[which]));
  const char *none = surg__intern(g->model, "", 0);
  (void)op;
  if (!(g->functions & 1u << which)) {
    gen_scope scope = {0}, *outer = g->scope;
    surg_function *f = surg__function_new(g->model, domain, name, none);
    if (!f || surg_function_set_opset(f, "", g->opset) != SURG_OK ||
        surg_model_set_opset(g->model, "local", 1) != SURG_OK)
      return g->failed = true, false;
    g->functions |= 1u << which;
    scope.graph = surg_function_graph(f);
    g->scope = &scope;
    surg_value *in = surg_graph_add_input(scope.graph, "a", NULL);
    surg_value *y = apply(g, which ? "Relu" : "Add", in, which ? NULL : in);
    y = apply(g, "Clip", y, NULL);
    y = apply(g, "Mul", y, y);
    if (!y || surg_graph_add_output(scope.graph, y, NULL) != SURG_OK) g->failed = true;
    g->scope = outer;
    free(scope.values);
  }
  surg_node *n = surg_graph_add_node(g->scope->graph, NULL, "local", names[which], 1);
  if (!n) return g->failed = true, false;
  gen_in(g, n, 0, &x);
  gen_out(g, n, 0, &x);
  return !g->failed;
}

/* What is not as it is through a node with absent inputs at the end. */
static bool absent(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, 1u << SURG_FLOAT, 0, 4, true, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  for (unsigned i = 1; i <= op->arg; i++)
    if (surg_node_set_input(n, i, NULL) != SURG_OK) g->failed = true;
  gen_out(g, n, 0, &x);
  return true;
}

const gen_op gen_flow[] = {{"If", 7, 0, dead_if, 0},
                           {"If", 7, 0, dead_if, 0},
                           {"If", 7, 0, dead_if, 0},
                           {"Loop", 7, 0, dead_loop, 0},
                           {"Loop", 7, 0, dead_loop, 0},
                           {"Scan", 9, 0, scan, 0},
                           {"SequenceConstruct", 11, 0, sequence, 0},
                           {"call", 7, 0, call, 0},
                           {"Dropout", 12, 0, absent, 2},
                           {"Clip", 11, 0, absent, 2},
                           {"Dropout", 12, 0, absent, 1},
                           {NULL, 0, 0, NULL, 0}};
