/* SPDX-License-Identifier: Apache-2.0 */
/* Random valid models: products, convolution, pooling, normalization, control flow. */
#include <stdlib.h>

#include "gen_core.h"

static bool matmul(gen *g, const gen_op *op) {
  gen_value x, w, r;
  if (!gen_pick(g, GEN_FLOAT, 1, 4, false, &x)) return false;
  gen_dim k = x.dims[x.rank - 1], dims[2] = {k, gen_size(1 + gen_below(g, 4))};
  bool found = false;
  for (int i = 0; i < 6 && !found; i++)
    found = gen_pick(g, 1u << x.dtype, 2, 2, false, &w) && w.dims[0].n == k.n &&
            w.dims[0].symbol == k.symbol;
  if (!found && (k.symbol || !gen_constant(g, x.dtype, dims, 2, false, &w))) return false;
  r = x;
  r.dims[r.rank - 1] = w.dims[1];
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in(g, n, 1, &w);
  gen_out(g, n, 0, &r);
  return true;
}

static bool gemm(gen *g, const gen_op *op) {
  gen_value x, w, c, r;
  if (!gen_pick(g, GEN_FLOAT, 2, 2, false, &x)) return false;
  bool ta = gen_chance(g, 40), tb = gen_chance(g, 40), with_c = g->opset < 11 || gen_chance(g, 70);
  gen_dim k = x.dims[ta ? 0 : 1], m = x.dims[ta ? 1 : 0], o = gen_size(1 + gen_below(g, 4));
  gen_dim dims[2] = {tb ? o : k, tb ? k : o};
  if (k.symbol || !gen_constant(g, x.dtype, dims, 2, false, &w)) return false;
  if (with_c && !gen_constant(g, x.dtype, &o, gen_below(g, 2), false, &c)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in(g, n, 1, &w);
  if (with_c) gen_in(g, n, 2, &c);
  if (ta) gen_set_int(g, n, "transA", 1);
  if (tb) gen_set_int(g, n, "transB", 1);
  if (gen_chance(g, 40)) gen_set_float(g, n, "alpha", 0.5f);
  if (gen_chance(g, 40)) gen_set_float(g, n, "beta", 2.0f);
  r = x;
  r.dims[0] = m;
  r.dims[1] = o;
  gen_out(g, n, 0, &r);
  return true;
}

/* Size of a window's result, or 0. */
static int64_t windows(int64_t size, int64_t kernel, int64_t pads, int64_t stride) {
  return size + pads < kernel ? 0 : (size + pads - kernel) / stride + 1;
}

/* An image: rank 4, and its last two dims are numbers. */
static bool image(gen *g, gen_value *x) {
  return gen_pick(g, 1u << SURG_FLOAT, 4, 4, false, x) && !x->dims[2].symbol && !x->dims[3].symbol;
}

static bool conv(gen *g, const gen_op *op) {
  gen_value x, w, b;
  if (!image(g, &x) || x.dims[1].symbol) return false;
  int64_t kernel[2], pads[4], strides[2];
  bool depthwise = gen_chance(g, 30), biased = gen_chance(g, 60);
  int64_t channels = x.dims[1].n, out = depthwise ? channels : 1 + gen_below(g, 4);
  gen_value r = x;
  for (unsigned i = 0; i < 2; i++) {
    kernel[i] = 1 + gen_below(g, 3);
    pads[i] = gen_below(g, 2);
    pads[2 + i] = gen_below(g, 2);
    strides[i] = 1 + gen_below(g, 2);
    r.dims[2 + i] =
        gen_size(windows(x.dims[2 + i].n, kernel[i], pads[i] + pads[2 + i], strides[i]));
    if (!r.dims[2 + i].n) return false;
  }
  r.dims[1] = gen_size(out);
  gen_dim dims[4] = {gen_size(out), gen_size(depthwise ? 1 : channels), gen_size(kernel[0]),
                     gen_size(kernel[1])};
  if (!gen_constant(g, x.dtype, dims, 4, false, &w)) return false;
  if (biased && !gen_constant(g, x.dtype, dims, 1, false, &b)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in(g, n, 1, &w);
  if (biased) gen_in(g, n, 2, &b);
  if (gen_chance(g, 60)) gen_set_ints(g, n, "kernel_shape", kernel, 2);
  gen_set_ints(g, n, "pads", pads, 4);
  gen_set_ints(g, n, "strides", strides, 2);
  if (depthwise) gen_set_int(g, n, "group", channels);
  gen_out(g, n, 0, &r);
  return true;
}

static bool pool(gen *g, const gen_op *op) {
  gen_value x;
  int64_t kernel[2], strides[2];
  if (!image(g, &x)) return false;
  gen_value r = x;
  for (unsigned i = 0; i < 2; i++) {
    kernel[i] = 1 + gen_below(g, 2);
    strides[i] = 1 + gen_below(g, 2);
    r.dims[2 + i] = gen_size(windows(x.dims[2 + i].n, kernel[i], 0, strides[i]));
    if (!r.dims[2 + i].n) return false;
  }
  bool indices = op->arg && g->opset >= 8 && gen_chance(g, 30);
  surg_node *n = gen_node(g, op->name, indices ? 2 : 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_set_ints(g, n, "kernel_shape", kernel, 2);
  gen_set_ints(g, n, "strides", strides, 2);
  gen_out(g, n, 0, &r);
  r.dtype = SURG_INT64;
  if (indices) gen_out(g, n, 1, &r);
  return true;
}

static bool global_pool(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, 1u << SURG_FLOAT, 4, 4, false, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  x.dims[2] = x.dims[3] = gen_size(1);
  gen_out(g, n, 0, &x);
  return true;
}

/* BatchNormalization and InstanceNormalization (arg 1): a vector for each parameter. */
static bool channel_norm(gen *g, const gen_op *op) {
  gen_value x, p[4];
  if (!gen_pick(g, 1u << SURG_FLOAT, 3, 4, false, &x) || x.dims[1].symbol) return false;
  unsigned count = op->arg ? 2 : 4;
  for (unsigned i = 0; i < count; i++)
    if (!gen_constant(g, x.dtype, &x.dims[1], 1, false, &p[i])) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  for (unsigned i = 0; i < count; i++) gen_in(g, n, 1 + i, &p[i]);
  if (gen_chance(g, 40)) gen_set_float(g, n, "epsilon", 0.001f);
  gen_out(g, n, 0, &x);
  return true;
}

static bool layer_norm(gen *g, const gen_op *op) {
  gen_value x, scale, bias;
  if (!gen_pick(g, 1u << SURG_FLOAT, 2, 4, false, &x) || x.dims[x.rank - 1].symbol) return false;
  gen_dim *d = &x.dims[x.rank - 1];
  if (!gen_constant(g, x.dtype, d, 1, false, &scale)) return false;
  if (!gen_constant(g, x.dtype, d, 1, false, &bias)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_in(g, n, 1, &scale);
  if (gen_chance(g, 70)) gen_in(g, n, 2, &bias);
  gen_out(g, n, 0, &x);
  return true;
}

/* Without training: y is x; the mask is there and unused, more often than not. */
static bool dropout(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, GEN_FLOAT, 1, GEN_RANK, false, &x)) return false;
  bool mask = g->opset >= 12 && gen_chance(g, 40);
  surg_node *n = gen_node(g, op->name, mask ? 2 : 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_out(g, n, 0, &x);
  x.dtype = SURG_BOOL;
  if (mask) gen_out(g, n, 1, &x);
  return true;
}

static bool lrn(gen *g, const gen_op *op) {
  gen_value x;
  if (!gen_pick(g, 1u << SURG_FLOAT, 4, 4, false, &x)) return false;
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &x);
  gen_set_int(g, n, "size", 3);
  gen_out(g, n, 0, &x);
  return true;
}

/* --- control flow --- */

/* One output of a subgraph, of the shape of *x: x itself through a node or two, among others that
 * read what is around. */
static void branch(gen *g, surg_graph *graph, const gen_value *x) {
  gen_scope scope = {.outer = g->scope, .graph = graph};
  if (!graph) {
    g->failed = true;
    return;
  }
  g->scope = &scope;
  g->depth++;
  for (uint32_t i = gen_below(g, 4); i > 0 && !g->failed; i--) (void)gen_random_node(g);
  surg_node *n = gen_node(g, gen_chance(g, 50) ? "Neg" : "Abs", 1);
  if (n) {
    gen_in(g, n, 0, x);
    gen_out(g, n, 0, x);
    surg_value *y = surg_node_output(n, 0);
    if (surg_graph_add_output(graph, y, gen_weak_type(g, x)) != SURG_OK) g->failed = true;
  }
  gen_report(g);
  g->depth--;
  g->scope = scope.outer;
  free(scope.values);
}

static bool if_node(gen *g, const gen_op *op) {
  gen_value cond, x;
  if (g->depth > 1 || g->options->no_subgraphs) return false;
  if (!gen_pick(g, GEN_FLOAT | GEN_INT, 0, GEN_RANK, true, &x)) return false;
  if (gen_chance(g, 30)) {
    if (!gen_constant(g, SURG_BOOL, NULL, 0, false, &cond)) return false;
  } else if (!gen_pick(g, GEN_BOOL, 0, 0, false, &cond)) {
    return false;
  }
  surg_node *n = gen_node(g, op->name, 1);
  if (!n) return false;
  gen_in(g, n, 0, &cond);
  branch(g, surg_node_set_graph(n, "then_branch", "then"), &x);
  branch(g, surg_node_set_graph(n, "else_branch", "otherwise"), &x);
  gen_out(g, n, 0, &x);
  return true;
}

static gen_value body_input(gen *g, const char *stem, const gen_value *like) {
  gen_value v = *like;
  surg_graph *graph = g->scope->graph;
  v.v = surg_graph_add_input(graph, surg_graph_fresh_name(graph, stem), gen_type(g, like));
  if (!v.v) g->failed = true;
  return v;
}

static void body_output(gen *g, const char *op, const gen_value *x, const gen_value *y) {
  surg_node *n = gen_node(g, op, 1);
  if (!n) return;
  gen_in_value(g, n, 0, x->v);
  if (y) gen_in_value(g, n, 1, y->v);
  if (surg_graph_add_output(g->scope->graph, surg_node_output(n, 0), gen_weak_type(g, x)) !=
      SURG_OK)
    g->failed = true;
}

/* A Loop of three rounds: a state that grows by a captured value, and every state as a list. */
static bool loop(gen *g, const gen_op *op) {
  gen_value x, r, cond = {.dtype = SURG_BOOL}, round = {.dtype = SURG_INT64};
  if (g->depth > 1 || g->options->no_subgraphs) return false;
  if (!gen_pick(g, 1u << SURG_FLOAT | GEN_INT, 0, 3, false, &x)) return false;
  surg_value *trips = gen_scalar(g, SURG_INT64, 3);
  surg_node *n = gen_node(g, op->name, 2);
  if (!n) return false;
  gen_in_value(g, n, 0, trips);
  gen_in(g, n, 2, &x);
  gen_scope scope = {.outer = g->scope, .graph = surg_node_set_graph(n, "body", "body")};
  if (!scope.graph) return g->failed = true, false;
  g->scope = &scope;
  (void)body_input(g, "round", &round);
  gen_value go = body_input(g, "go", &cond), state = body_input(g, "state", &x);
  body_output(g, "Identity", &go, NULL);
  body_output(g, "Add", &state, &x);
  body_output(g, "Neg", &state, NULL);
  g->scope = scope.outer;
  free(scope.values);
  gen_out(g, n, 0, &x);
  r = x;
  gen_insert_dim(&r, 0, gen_size(3));
  gen_out(g, n, 1, &r);
  return true;
}

const gen_op gen_nn[] = {{"MatMul", 7, 0, matmul, 0},
                         {"Gemm", 7, 0, gemm, 0},
                         {"Conv", 7, 0, conv, 0},
                         {"MaxPool", 7, 0, pool, 1},
                         {"AveragePool", 7, 0, pool, 0},
                         {"GlobalAveragePool", 7, 0, global_pool, 0},
                         {"GlobalMaxPool", 7, 0, global_pool, 0},
                         {"BatchNormalization", 9, 0, channel_norm, 0},
                         {"InstanceNormalization", 7, 0, channel_norm, 1},
                         {"LayerNormalization", 17, 0, layer_norm, 0},
                         {"Dropout", 7, 0, dropout, 0},
                         {"LRN", 7, 0, lrn, 0},
                         {"If", 7, 0, if_node, 0},
                         {"Loop", 7, 0, loop, 0},
                         {NULL, 0, 0, NULL, 0}};
