/* SPDX-License-Identifier: Apache-2.0 */
/* A program of your own around the library: loads a model, runs a pipeline, counts what is left,
 * saves. Build it against the installed library:
 *
 *     cc -o embed embed.c $(pkg-config --cflags --libs onnxsurg)
 *     ./embed in.onnx out.onnx
 */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>

static void print_line(void *user, surg_severity severity, const char *line) {
  (void)user;
  (void)severity;
  fprintf(stderr, "%s\n", line);
}

static size_t count_nodes(const surg_model *m, int op) {
  size_t n = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (surg_node *node = surg_graph_first_node(g); node; node = surg_node_next(node))
      n += op == 0 || surg_node_op(node) == op;
  return n;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: embed IN OUT\n");
    return 2;
  }
  surg_config config = {.size = sizeof config, .diag = print_line};
  surg_context *ctx = surg_context_new(&config);
  surg_model *model = NULL;
  surg_status s = surg_model_load(ctx, argv[1], NULL, &model);
  if (s == SURG_OK) s = surg_model_run(&model, "fold,prune");
  if (s == SURG_OK) {
    printf("%zu nodes, %zu of them MatMul\n", count_nodes(model, 0),
           count_nodes(model, SURG_OP_MatMul));
    s = surg_model_save(model, argv[2], NULL);
  }
  surg_model_free(model);
  surg_context_free(ctx);
  return s == SURG_OK ? 0 : 1;
}
