/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg nodes IN [ADDRESS]...`: a table of nodes, without weights. */
#include <onnxsurg/edit.h>
#include <stdlib.h>
#include <string.h>

#include "node_row.h"

static const char help[] =
    "usage: onnxsurg nodes [--json] IN [ADDRESS]...\n"
    "Lists nodes, one a line: place, name, operator, outputs and inputs with their\n"
    "types, attributes; those of an address only, if any is given (doc/surgery.md:\n"
    "a name, graph.node[5], op=Conv, /regex/, a pattern). On a terminal lines are cut\n"
    "at 80 columns. Does not read weights; their files may be missing.\n"
    "\n"
    "  --json    print a JSON object {\"schema\", \"file\", \"nodes\"}\n";

static int by_pointer(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (surg_node *const *)a, y = (uintptr_t) * (surg_node *const *)b;
  return x < y ? -1 : x > y;
}

/* Puts the nodes in the order of the model, each once. */
static size_t in_order(surg_model *m, surg_node **list, size_t n) {
  surg_node **sorted = calloc(n + 1, sizeof *sorted);
  size_t k = 0;
  if (!sorted) return SIZE_MAX;
  if (n) memcpy(sorted, list, n * sizeof *list);
  qsort(sorted, n, sizeof *sorted, by_pointer);
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *x = surg_graph_first_node(g); x && k < n; x = surg_node_next(x))
      if (bsearch(&x, sorted, n, sizeof *sorted, by_pointer)) list[k++] = x;
  free(sorted);
  return k;
}

/* Appends the nodes of an address. */
static int add(surg_model *m, const char *address, surg_node ***list, size_t *n) {
  char why[1024];
  size_t more = 0;
  surg_status s = surg_select_nodes(m, address, NULL, 0, &more, why, sizeof why);
  surg_node **all = s == SURG_OK ? realloc(*list, (*n + more + 1) * sizeof *all) : NULL;
  if (s == SURG_OK && !all) return cli_no_memory();
  if (s == SURG_OK) {
    *list = all;
    s = surg_select_nodes(m, address, all + *n, more, &more, why, sizeof why);
    *n += more;
    return cli_exit_code(s);
  }
  cli_error(surg_model_path(m), "%s", why);
  return s == SURG_ENOTFOUND ? EXIT_MODEL : EXIT_USAGE;
}

static int list(surg_context *ctx, const cli_common *common, surg_model *m, char **addresses,
                int count) {
  surg_node **only = NULL;
  size_t n = 0;
  int code = EXIT_DONE;
  for (int i = 0; i < count && code == EXIT_DONE; i++) code = add(m, addresses[i], &only, &n);
  if (code == EXIT_DONE && count) n = in_order(m, only, n);
  if (n == SIZE_MAX) code = cli_no_memory();
  if (code == EXIT_DONE && common->json)
    cli_print_json(json_pack("{s:i,s:o,s:o}", "schema", 1, "file",
                             cli_text_json(surg_model_path(m)), "nodes",
                             node_table_json(ctx, m, only, n)));
  else if (code == EXIT_DONE)
    code = node_table_print(ctx, m, only, n);
  free(only);
  return code;
}

int cmd_nodes(int argc, char **argv) {
  static const struct option options[] = {CLI_COMMON_OPTIONS, {0}};
  cli_common common;
  int code;
  const cli_command command = {options, NULL, help, NULL, NULL, &common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (optind == argc) return cli_usage("nodes expects a model: `onnxsurg nodes IN`");
  surg_context *ctx = cli_context(&common);
  if (!ctx) return EXIT_LIMIT;
  surg_model *m = NULL;
  code = cli_exit_code(cli_load_any(ctx, &common, argv[optind], &m));
  if (m && surg_model_infer(m) == SURG_ENOMEM)
    code = surg_context_error(ctx) ? EXIT_LIMIT : cli_no_memory();
  if (m && code == EXIT_DONE) code = list(ctx, &common, m, argv + optind + 1, argc - optind - 1);
  surg_model_free(m);
  surg_context_free(ctx);
  return cli_flush(code);
}
