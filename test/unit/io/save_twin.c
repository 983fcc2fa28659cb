/* SPDX-License-Identifier: Apache-2.0 */
/* See save_twin.h. */
#include "save_twin.h"

#include <stdlib.h>

surg_context *ctx;

void setup(void) {
  surg_config config = {.size = sizeof config, .seed = 5};
  ctx = surg_context_new(&config);
}

void teardown(void) {
  ck_assert_ptr_null(surg_context_error(ctx));
  surg_context_free(ctx); /* asserts that nothing was leaked */
}

/* --- one model with something of everything; each edit has its twin here --- */

const twin original = {.w = "w",
                       .y = "y",
                       .z = "z",
                       .inner = "t",
                       .node = "second",
                       .op = "Relu",
                       .meta = "old",
                       .fn_input = "a",
                       .branch = "y",
                       .ir = 8,
                       .opset = 17,
                       .axis = 1};

wire entry(const char *key, const char *value) {
  wire e = {0};
  wire_str(&e, 1, key);
  wire_str(&e, 2, value);
  return e;
}

wire value_info(const char *name, int dtype, bool odd) {
  wire info = {0}, type = {0}, tensor = {0}, shape = {0}, dim = {0};
  wire_str(&info, 1, name);
  wire_int(&tensor, 1, (uint64_t)dtype);
  wire_int(&dim, 1, 2);
  wire_message(&shape, 1, dim);
  wire_message(&tensor, 2, shape);
  wire_message(&type, 1, tensor);
  if (odd) wire_str_long(&type, 6, "TENSOR");
  wire_message(&info, 2, type);
  if (odd) wire_str(&info, 3, "documented");
  if (odd) wire_str(&info, 77, "unknown");
  return info;
}

static wire first_node(const twin *t) {
  wire n = {0};
  wire_str(&n, 98, "unknown before");
  wire_str(&n, 1, "x");
  wire_str(&n, 1, t->w);
  wire_str(&n, 2, t->y);
  wire_str_long(&n, 4, "Add");
  wire_str(&n, 6, "doc");
  wire_str(&n, 99, "unknown behind");
  return n;
}

static wire second_node(const twin *t) {
  wire n = {0}, devices = {0}, spec = {0};
  wire_str(&n, 1, t->y);
  wire_str(&n, 2, t->z);
  wire_str(&n, 3, t->node);
  wire_str(&n, 4, t->op);
  wire_str(&devices, 1, "config");
  wire_str(&spec, 1, t->y);
  wire_int(&spec, 2, 0);
  wire_message(&devices, 2, spec);
  wire_int(&devices, 3, 4);
  wire_message(&n, 10, devices);
  return n;
}

static wire branch(const twin *t, const char *name) {
  wire g = {0}, n = {0};
  wire_str(&n, 1, t->branch);
  wire_str(&n, 2, t->inner);
  wire_str(&n, 4, "Identity");
  wire_message(&g, 1, n);
  wire_str(&g, 2, name);
  wire_message(&g, 12, value_info(t->inner, 1, false));
  return g;
}

wire graph_attr(const char *name, wire g) {
  wire a = {0};
  wire_str(&a, 1, name);
  wire_message(&a, 6, g);
  wire_str(&a, 13, "branch");
  wire_int(&a, 20, 5);
  return a;
}

static wire if_node(const twin *t) {
  wire n = {0};
  wire_str(&n, 1, "c");
  wire_str(&n, 2, "chosen");
  wire_str(&n, 4, "If");
  wire_message(&n, 5, graph_attr("then_branch", branch(t, "then")));
  wire_message(&n, 5, graph_attr("else_branch", branch(t, "else")));
  return n;
}

static wire softmax_node(const twin *t) {
  wire n = {0}, a = {0};
  wire_str(&a, 1, "axis");
  wire_int(&a, 3, (uint64_t)t->axis);
  wire_str(&a, 13, "axis doc");
  wire_int(&a, 20, 2);
  wire_str(&n, 1, "chosen");
  wire_str(&n, 2, "soft");
  wire_str(&n, 4, "Softmax");
  wire_message(&n, 5, a);
  return n;
}

static wire call_node(const twin *t) {
  wire n = {0};
  wire_str(&n, 1, t->z);
  wire_str(&n, 2, "called");
  wire_str(&n, 4, "f");
  wire_str(&n, 7, "dom");
  return n;
}

static wire initializer(const twin *t) {
  static const float data[2] = {1, -0.0f};
  wire w = {0};
  wire_int(&w, 1, 2);
  wire_int(&w, 2, 1);
  wire_str(&w, 8, t->w);
  wire_bytes(&w, 9, data, sizeof data);
  wire_str(&w, 12, "weights");
  wire_str(&w, 50, "unknown");
  return w;
}

static wire annotation(const twin *t) {
  wire a = {0};
  wire_str(&a, 1, t->y);
  wire_message(&a, 2, entry("SCALE_TENSOR", t->w));
  wire_message(&a, 2, entry("ZERO_POINT_TENSOR", "nowhere"));
  return a;
}

static wire graph(const twin *t) {
  wire g = {0};
  wire_message(&g, 1, first_node(t));
  wire_message(&g, 1, second_node(t));
  wire_message(&g, 1, if_node(t));
  wire_message(&g, 1, softmax_node(t));
  wire_message(&g, 1, call_node(t));
  wire_str(&g, 2, "main");
  wire_message(&g, 5, initializer(t));
  wire_str(&g, 10, "graph doc");
  wire_message(&g, 11, value_info("x", 1, true));
  wire_message(&g, 11, value_info("c", 9, false));
  wire_message(&g, 12, value_info(t->z, 1, true));
  wire_message(&g, 12, value_info("soft", 1, false));
  wire_message(&g, 12, value_info("called", 1, false));
  wire_message(&g, 13, value_info("chosen", 1, true)); /* not in the order of the nodes */
  wire_message(&g, 13, value_info("names nothing", 1, true));
  wire_message(&g, 13, value_info(t->y, 1, true));
  wire_message(&g, 14, annotation(t));
  wire_message(&g, 16, entry("graph", "metadata"));
  wire_str(&g, 70, "unknown");
  return g;
}

wire import(const char *domain, int64_t version) {
  wire i = {0};
  wire_str(&i, 1, domain);
  wire_int(&i, 2, (uint64_t)version);
  return i;
}

static wire function(const twin *t) {
  wire f = {0}, n = {0};
  wire_str(&f, 1, "f");
  wire_str(&f, 4, t->fn_input);
  wire_str(&f, 5, "b");
  wire_str(&n, 1, t->fn_input);
  wire_str(&n, 2, "b");
  wire_str(&n, 4, "Abs");
  wire_message(&f, 7, n);
  wire_str(&f, 8, "function doc");
  wire_message(&f, 9, import("", 17));
  wire_str(&f, 10, "dom");
  wire_str(&f, 60, "unknown");
  return f;
}

wire model(const twin *t) {
  wire m = {0};
  wire_int(&m, 1, (uint64_t)t->ir);
  wire_str_long(&m, 2, "producer");
  wire_message(&m, 7, graph(t));
  wire_message(&m, 8, import("", t->opset));
  wire_message(&m, 8, import("dom", 1));
  wire_message(&m, 14, entry("key", t->meta));
  wire_message(&m, 14, entry("other", "stays"));
  wire_message(&m, 25, function(t));
  wire_str(&m, 200, "unknown");
  return m;
}

surg_model *load(wire w) {
  surg_model *m = NULL;
  surg_status s = surg_model_load_memory(ctx, w.p, w.n, "test", NULL, &m);
  ck_assert_msg(s == SURG_OK, "%s", surg_context_error(ctx));
  free(w.p);
  return m;
}

void expect(surg_model *m, wire want) {
  void *p;
  size_t n;
  surg_status s = surg_model_save_memory(m, &p, &n);
  ck_assert_msg(s == SURG_OK, "%s", surg_context_error(ctx));
  size_t at = 0;
  while (at < n && at < want.n && ((uint8_t *)p)[at] == want.p[at]) at++;
  ck_assert_msg(n == want.n && at == n, "%zu bytes for %zu, the first other one is %zu", n, want.n,
                at);
  surg_context_free_bytes(ctx, p);
  surg_model_free(m);
  free(want.p);
}

surg_value *value(surg_model *m, const char *name) {
  surg_value *v = surg_graph_find_value(surg_model_graph(m), name);
  ck_assert_ptr_nonnull(v);
  return v;
}
