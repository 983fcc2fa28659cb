/* SPDX-License-Identifier: Apache-2.0 */
/* infer [NODES]...: how long inference takes, and all of `check`. Two models of each size: a
 * transformer with dynamic batch and sequence as PyTorch exports one, its reshapes computed from
 * shapes; and a chain of elementwise nodes. Prints milliseconds of the best of three first
 * inferences, of one after an edit, and bytes a value; of `check` what loading takes for it, and
 * what the rest. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check/check.h"
#include "io/io.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static surg_value *add(surg_graph *g, const char *op, surg_value *a, surg_value *b, surg_value *c) {
  surg_value *const in[] = {a, b, c};
  surg_node *n = surg_graph_add_node(g, NULL, "", op, 1);
  for (size_t i = 0; i < 3 && in[i]; i++)
    if (surg_node_set_input(n, i, in[i]) != SURG_OK) abort();
  if (!n) abort();
  return surg_node_output(n, 0);
}

static surg_value *attr(surg_value *v, const char *name, int64_t value) {
  if (surg_node_set_int(surg_value_producer(v, NULL), name, value) != SURG_OK) abort();
  return v;
}

static surg_value *attrs(surg_value *v, const char *name, const int64_t *values, size_t n) {
  if (surg_node_set_ints(surg_value_producer(v, NULL), name, values, n) != SURG_OK) abort();
  return v;
}

static surg_value *constant(surg_graph *g, int dtype, const int64_t *dims, size_t rank,
                            const void *data, size_t bytes) {
  surg_tensor *t = surg_tensor_new(surg_graph_model(g), dtype, dims, rank, data, bytes);
  surg_value *v = surg_graph_constant(g, NULL, "k", t);
  if (!v) abort();
  return v;
}

static surg_value *number(surg_graph *g, int64_t v, bool list) {
  const int64_t one = 1;
  return constant(g, SURG_INT64, &one, list, &v, sizeof v);
}

typedef struct weights {
  surg_value *square, *up, *down, *row, *wide;
  surg_value *zero, *first, *one, *heads, *size, *hidden, *axis;
} weights;

static surg_value *zeros(surg_graph *g, int64_t rows, int64_t columns) {
  static const float data[16 * 64];
  const int64_t dims[2] = {rows, columns};
  return rows ? constant(g, SURG_FLOAT, dims, 2, data, (size_t)(rows * columns) * 4)
              : constant(g, SURG_FLOAT, dims + 1, 1, data, (size_t)columns * 4);
}

/* (batch, sequence, 16) to (batch, 4 heads, sequence, 4), by a shape that is computed. */
static surg_value *split_heads(surg_graph *g, const weights *w, surg_value *x) {
  static const int64_t perm[] = {0, 2, 1, 3};
  surg_value *s = add(g, "Shape", x, NULL, NULL);
  surg_value *b =
      add(g, "Unsqueeze", attr(add(g, "Gather", s, w->zero, NULL), "axis", 0), w->axis, NULL);
  surg_value *q = add(g, "Shape", x, NULL, NULL);
  surg_value *l =
      add(g, "Unsqueeze", attr(add(g, "Gather", q, w->first, NULL), "axis", 0), w->axis, NULL);
  surg_node *n = surg_graph_add_node(g, NULL, "", "Concat", 1);
  surg_value *const in[] = {b, l, w->heads, w->size};
  for (size_t i = 0; i < 4; i++) surg_node_set_input(n, i, in[i]);
  surg_value *shape = attr(surg_node_output(n, 0), "axis", 0);
  return attrs(add(g, "Transpose", add(g, "Reshape", x, shape, NULL), NULL, NULL), "perm", perm, 4);
}

/* One layer: about 60 nodes. */
static surg_value *layer(surg_graph *g, const weights *w, surg_value *x) {
  static const int64_t back[] = {0, 2, 1, 3}, keys[] = {0, 1, 3, 2};
  surg_value *h[3];
  for (int i = 0; i < 3; i++)
    h[i] = split_heads(g, w, add(g, "Add", add(g, "MatMul", x, w->square, NULL), w->row, NULL));
  surg_value *k = attrs(add(g, "Transpose", h[1], NULL, NULL), "perm", keys, 4);
  surg_value *a = attr(add(g, "Softmax", add(g, "MatMul", h[0], k, NULL), NULL, NULL), "axis", -1);
  surg_value *o =
      attrs(add(g, "Transpose", add(g, "MatMul", a, h[2], NULL), NULL, NULL), "perm", back, 4);
  surg_value *s = add(g, "Slice", add(g, "Shape", o, NULL, NULL), w->axis, number(g, 2, true));
  surg_value *shape = attr(add(g, "Concat", s, w->hidden, NULL), "axis", 0);
  surg_value *y = add(g, "Add", x, add(g, "Reshape", o, shape, NULL), NULL);
  surg_value *n = add(g, "LayerNormalization", y, w->row, w->row);
  surg_value *up = add(g, "Add", add(g, "MatMul", n, w->up, NULL), w->wide, NULL);
  surg_value *act = add(g, "Mul", up, add(g, "Sigmoid", up, NULL, NULL), NULL);
  surg_value *down = add(g, "Add", add(g, "MatMul", act, w->down, NULL), w->row, NULL);
  return add(g, "LayerNormalization", add(g, "Add", n, down, NULL), w->row, w->row);
}

static void input(surg_graph *g, surg_value **x) {
  const surg_dim dims[] = {{-1, "batch", NULL}, {-1, "sequence", NULL}, {16, NULL, NULL}};
  surg_model *m = surg_graph_model(g);
  *x = surg_graph_add_input(g, "x", surg_type_tensor(m, SURG_FLOAT, dims, 3));
  if (!*x) abort();
}

static surg_value *transformer(surg_graph *g, size_t nodes) {
  surg_value *x;
  input(g, &x);
  const weights w = {.square = zeros(g, 16, 16),
                     .up = zeros(g, 16, 64),
                     .down = zeros(g, 64, 16),
                     .row = zeros(g, 0, 16),
                     .wide = zeros(g, 0, 64),
                     .zero = number(g, 0, false),
                     .first = number(g, 1, false),
                     .heads = number(g, 4, true),
                     .size = number(g, 4, true),
                     .hidden = number(g, 16, true),
                     .axis = number(g, 0, true)};
  while (surg_graph_node_count(g) < nodes) x = layer(g, &w, x);
  return x;
}

static surg_value *chain(surg_graph *g, size_t nodes) {
  surg_value *x;
  input(g, &x);
  while (surg_graph_node_count(g) < nodes)
    x = add(g, "Add", add(g, "Relu", x, NULL, NULL), x, NULL);
  return x;
}

static bool measure(const char *name, surg_value *(*make)(surg_graph *, size_t), size_t nodes) {
  double best = 1e9, after = 1e9;
  uint64_t bytes = 0;
  char type[256] = "";
  for (int round = 0; round < 3; round++) {
    surg_context *ctx = surg_context_new(NULL);
    surg_model *m = surg_model_new(ctx, 8, 17);
    surg_graph *g = surg_model_graph(m);
    surg_value *y = make(g, nodes);
    const uint64_t before = surg_context_memory(ctx, NULL);
    double t = now();
    if (surg_model_infer(m) != SURG_OK) abort();
    t = now() - t;
    if (t < best) best = t;
    bytes = surg_context_memory(ctx, NULL) - before;
    if (surg_node_set_name(surg_value_producer(y, NULL), "last") != SURG_OK) abort();
    t = now();
    if (surg_model_infer(m) != SURG_OK) abort();
    t = now() - t;
    if (t < after) after = t;
    const surg_type *proven = surg_value_type(y);
    for (size_t i = 0, at = 0; i < surg_type_rank(proven) && at < sizeof type; i++)
      at += (size_t)snprintf(type + at, sizeof type - at, "%s%s", i ? "," : "",
                             surg_dim_text(m, surg_type_dim(proven, i)));
    nodes = surg_graph_node_count(g);
    surg_model_free(m);
    surg_context_free(ctx);
  }
  printf("%-12s %8zu nodes: %8.1f ms, %6.0f ns a node, again %8.1f ms, %4.0f bytes a node: [%s]\n",
         name, nodes, best, best * 1e6 / (double)nodes, after, (double)bytes / (double)nodes, type);
  return !strcmp(type, "batch,sequence,16");
}

static void count_finding(void *user, const surg__finding *f) {
  size_t *n = user;
  *n += f->severity == SURG_ERROR;
}

/* What `onnxsurg check` does with the model as a file. */
static bool measure_check(const char *name, surg_value *(*make)(surg_graph *, size_t),
                          size_t nodes) {
  surg_context *ctx = surg_context_new(NULL);
  surg_model *m = surg_model_new(ctx, 8, 17);
  surg_graph *g = surg_model_graph(m);
  surg_value *y = make(g, nodes);
  void *bytes;
  size_t n, errors = 0;
  if (surg_model_infer(m) || surg_graph_add_output(g, y, surg_value_type(y)) ||
      surg_model_save_memory(m, &bytes, &n))
    abort();
  nodes = surg_graph_node_count(g);
  surg_model_free(m);
  bool partial;
  double load = now();
  const surg_load_options options = {.size = sizeof options};
  if (surg__load_check_file(ctx, "bench", bytes, n, &options, &partial, &m) || !m) abort();
  double check = now();
  load = check - load;
  if (surg__check_model(m, !partial, 100, count_finding, &errors)) abort();
  check = now() - check;
  printf("%-12s %8zu nodes: check %8.1f ms, of these %8.1f ms to load\n", name, nodes, load + check,
         load);
  surg_model_free(m);
  surg_context_free_bytes(ctx, bytes);
  surg_context_free(ctx);
  return errors == 0;
}

int main(int argc, char **argv) {
  static const char *const standard[] = {"10000", "100000", "1000000"};
  bool ok = true;
  for (int i = 0; i < (argc > 1 ? argc - 1 : 3); i++) {
    const size_t nodes = strtoul(argc > 1 ? argv[i + 1] : standard[i], NULL, 10);
    ok = measure("transformer", transformer, nodes) && ok;
    ok = measure("chain", chain, nodes) && ok;
    ok = measure_check("transformer", transformer, nodes) && ok;
  }
  return ok ? 0 : 1;
}
