/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a model from nothing: a function with an attribute, an If with two subgraphs that capture
 * a value, weights in memory of the program, documentation and metadata. Then checks and saves it.
 *
 *     cc -o build build.c $(pkg-config --cflags --libs onnxsurg)
 *     ./build out.onnx
 */
#include <onnxsurg/check.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>

static void print_line(void *user, surg_severity severity, const char *line) {
  (void)user;
  (void)severity;
  fprintf(stderr, "%s\n", line);
}

/* Calls print what went wrong; here it is enough to know whether all succeeded. */
#define TRY(call)                        \
  do {                                   \
    if ((call) != SURG_OK) return false; \
  } while (0)

/* function mine.Shift <by> (x) => (y) { c = Constant <value_float = @by> ()  y = Add (x, c) } */
static bool add_function(surg_model *m) {
  surg_function *f = surg_model_add_function(m, "mine", "Shift", NULL);
  if (!f) return false;
  surg_graph *body = surg_function_graph(f);
  TRY(surg_function_set_opset(f, "", 17));
  TRY(surg_function_add_attr(f, "by"));
  TRY(surg_function_set_doc(f, "x shifted by a number"));
  surg_value *x = surg_graph_add_input(body, "x", NULL);
  surg_node *c = surg_graph_add_node(body, NULL, NULL, "Constant", 1);
  surg_node *add = surg_graph_add_node(body, NULL, NULL, "Add", 1);
  TRY(surg_node_set_attr_ref(c, "value_float", SURG_ATTR_FLOAT, "by"));
  TRY(surg_node_set_input(add, 0, x));
  TRY(surg_node_set_input(add, 1, surg_node_output(c, 0)));
  TRY(surg_value_rename(surg_node_output(add, 0), "y"));
  TRY(surg_graph_add_output(body, surg_node_output(add, 0), NULL));
  return true;
}

/* A branch of one node that reads a value of the graph around it. */
static bool add_branch(surg_node *n, const char *attribute, const char *op, surg_value *captured,
                       const surg_type *type) {
  surg_graph *branch = surg_node_set_graph(n, attribute, attribute);
  surg_node *inner = surg_graph_add_node(branch, NULL, NULL, op, 1);
  TRY(surg_node_set_input(inner, 0, captured));
  TRY(surg_graph_add_output(branch, surg_node_output(inner, 0), type));
  return true;
}

static bool add_nodes(surg_model *m) {
  static const float weights[3] = {0.5f, 1, 2}; /* borrowed: it outlives the model */
  const int64_t shape[1] = {3};
  const surg_dim dims[2] = {{-1, "N", NULL}, {3, NULL, NULL}};
  surg_graph *g = surg_model_graph(m);
  const surg_type *type = surg_type_tensor(m, SURG_FLOAT, dims, 2);
  surg_value *x = surg_graph_add_input(g, "x", type);
  surg_value *negative =
      surg_graph_add_input(g, "negative", surg_type_tensor(m, SURG_BOOL, NULL, 0));
  surg_tensor *t = surg_tensor_borrow(m, SURG_FLOAT, shape, 1, weights, sizeof weights, NULL, NULL);
  surg_value *w = surg_graph_constant(g, NULL, "w", t);
  surg_node *mul = surg_graph_add_node(g, NULL, NULL, "Mul", 1);
  surg_node *shift = surg_graph_add_node(g, NULL, "mine", "Shift", 1);
  surg_node *choose = surg_graph_add_node(g, NULL, NULL, "If", 1);
  TRY(surg_node_set_input(mul, 0, x));
  TRY(surg_node_set_input(mul, 1, w));
  TRY(surg_node_set_doc(mul, "scales each column"));
  TRY(surg_node_set_input(shift, 0, surg_node_output(mul, 0)));
  TRY(surg_node_set_float(shift, "by", 0.25f));
  TRY(surg_node_set_input(choose, 0, negative));
  if (!add_branch(choose, "then_branch", "Neg", surg_node_output(shift, 0), type) ||
      !add_branch(choose, "else_branch", "Identity", surg_node_output(shift, 0), type))
    return false;
  TRY(surg_value_rename(surg_node_output(choose, 0), "y"));
  TRY(surg_graph_add_output(g, surg_node_output(choose, 0), type));
  TRY(surg_value_set_doc(x, "rows of three numbers"));
  return true;
}

static bool build(surg_model *m) {
  TRY(surg_model_set_opset(m, "mine", 1));
  TRY(surg_graph_set_name(surg_model_graph(m), "choice"));
  TRY(surg_model_set_text(m, SURG_MODEL_PRODUCER, "build.c"));
  TRY(surg_model_set_text(m, SURG_MODEL_DOC, "scales, shifts and perhaps negates"));
  TRY(surg_model_set_version(m, 3));
  TRY(surg_model_set_metadata(m, "license", "Apache-2.0"));
  return add_function(m) && add_nodes(m);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: build OUT\n");
    return 2;
  }
  surg_config config = {.size = sizeof config, .diag = print_line};
  surg_check_counts counts = {.size = sizeof counts};
  surg_context *ctx = surg_context_new(&config);
  surg_model *m = surg_model_new(ctx, 8, 17);
  bool ok = m && build(m) && surg_model_verify(m) == SURG_OK;
  ok = ok && surg_check(m, 0, NULL, NULL, &counts) == SURG_OK && counts.errors == 0;
  ok = ok && surg_model_save(m, argv[1], NULL) == SURG_OK;
  if (ok)
    printf("%zu nodes, %zu warnings\n", surg_graph_node_count(surg_model_graph(m)),
           counts.warnings);
  surg_model_free(m);
  surg_context_free(ctx);
  return ok ? 0 : 1;
}
