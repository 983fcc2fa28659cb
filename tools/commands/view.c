/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg view IN`: a model as an HTML page, SVG, or a graph for Graphviz. */
#include <onnxsurg/edit.h>
#include <onnxsurg/view.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_target.h"
#include "cli.h"

static const char help[] =
    "usage: onnxsurg view [--target T] [--graph PLACE] [--fold] [--against B] IN\n"
    "                     [-o FILE]\n"
    "       onnxsurg view --svg|--dot [--graph PLACE] [--fold] IN [-o FILE]\n"
    "Draws a model as an HTML page without outside references (doc/view.md): click a\n"
    "node for its attributes and weights, double-click to open a subgraph, function\n"
    "or folder. Data files may be missing.\n"
    "\n"
    "  -o FILE           output (IN with the ending .html, .svg or .dot); \"-\" is\n"
    "                    standard output\n"
    "  --svg             write a picture of one graph\n"
    "  --dot             write one graph in the language of Graphviz\n"
    "  --target T        mark and list what engine T does not support\n"
    "  --against B       show model B beside IN, and mark what differs\n"
    "  --graph PLACE     show this graph first: `graph.node[5].then_branch`, a\n"
    "                    function (`domain.Name`), or a node that calls\n"
    "                    one or has one subgraph\n"
    "  --fold            fold nodes by the folders of their names, also in small\n"
    "                    graphs; graphs of more than 2500 nodes always are\n"
    "  --limit N         most nodes of the page (10000)\n"
    "  --layout L        auto, own or dot: dot is Graphviz; auto uses it for graphs\n"
    "                    of up to 400 nodes where it is installed\n"
    "  --no-weights      do not read weights: no statistics\n";

enum {
  OPT_SVG = OPT_OWN,
  OPT_DOT,
  OPT_TARGET,
  OPT_GRAPH,
  OPT_FOLD,
  OPT_LIMIT,
  OPT_LAYOUT,
  OPT_NO_WEIGHTS,
  OPT_AGAINST
};

typedef struct request {
  cli_common common;
  surg_view_options o;
  const char *target_name, *graph, *against, *out;
} request;

static int take_layout(request *r, const char *arg) {
  static const char *const names[] = {[SURG_VIEW_LAYOUT_AUTO] = "auto",
                                      [SURG_VIEW_LAYOUT_OWN] = "own",
                                      [SURG_VIEW_LAYOUT_DOT] = "dot"};
  for (size_t i = 0; i < CLI_COUNT(names); i++)
    if (strcmp(arg, names[i]) == 0) {
      r->o.layout = (int32_t)i;
      return EXIT_DONE;
    }
  return cli_usage("--layout expects auto, own or dot, not \"%s\"", arg);
}

static int take(void *user, int o, char *arg) {
  request *r = user;
  uint64_t n;
  switch (o) {
    case 'o':
      r->out = arg;
      return EXIT_DONE;
    case OPT_SVG:
    case OPT_DOT:
      if (r->o.form != SURG_VIEW_HTML) return cli_usage("--svg and --dot exclude each other");
      r->o.form = o == OPT_SVG ? SURG_VIEW_SVG : SURG_VIEW_DOT;
      return EXIT_DONE;
    case OPT_TARGET:
      r->target_name = arg;
      return EXIT_DONE;
    case OPT_GRAPH:
      r->graph = arg;
      return EXIT_DONE;
    case OPT_AGAINST:
      r->against = arg;
      return EXIT_DONE;
    case OPT_FOLD:
      r->o.fold = true;
      return EXIT_DONE;
    case OPT_LIMIT:
      if (!cli_number(arg, &n) || !n || n > UINT32_MAX)
        return cli_usage("--limit expects a number of nodes from 1 on, not \"%s\"", arg);
      r->o.most_nodes = (size_t)n;
      return EXIT_DONE;
    case OPT_LAYOUT:
      return take_layout(r, arg);
    default: /* OPT_NO_WEIGHTS */
      r->o.no_weights = true;
      return EXIT_DONE;
  }
}

/* The only graph in a node: its subgraph, or the body of the function that it calls. */
static surg_graph *graph_of(surg_node *n) {
  surg_function *f = surg_node_function(n);
  return f ? surg_function_graph(f) : surg_node_subgraph(n, 1) ? NULL : surg_node_subgraph(n, 0);
}

/* The body of the function `domain.name`; NULL: there is none, or several overloads. */
static surg_graph *function_named(surg_model *m, const char *text) {
  surg_graph *found = NULL;
  for (size_t i = 0; i < surg_model_function_count(m); i++) {
    surg_function *f = surg_model_function(m, i);
    const char *domain = surg_function_domain(f);
    const size_t n = strlen(domain);
    if (strncmp(text, domain, n) != 0 || text[n] != '.') continue;
    if (strcmp(text + n + 1, surg_function_name(f)) != 0) continue;
    if (found) return NULL;
    found = surg_function_graph(f);
  }
  return found;
}

/* Finds the graph of --graph: a place of a graph, a function, or an address of a node that
 * contains a graph. */
static int find_graph(surg_model *m, const char *text, surg_graph **out) {
  char why[1024];
  surg_node *n = NULL;
  size_t count = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    if (strcmp(surg_graph_where(g), text) == 0) {
      *out = g;
      return EXIT_DONE;
    }
  const char *dot = strrchr(text, '.');
  char *place = dot ? strndup(text, (size_t)(dot - text)) : NULL;
  n = place ? surg_model_find_node(m, place, &count) : NULL;
  for (size_t k = 0; n && surg_node_subgraph(n, k) && !*out; k++)
    if (strcmp(surg_graph_parent_attr(surg_node_subgraph(n, k)), dot + 1) == 0)
      *out = surg_node_subgraph(n, k);
  free(place);
  if (!*out && !surg_graph_find_node(surg_model_graph(m), text)) *out = function_named(m, text);
  if (*out) return EXIT_DONE;
  const surg_status s = surg_select_nodes(m, text, &n, 1, &count, why, sizeof why);
  if (s != SURG_OK && s != SURG_ELIMIT) {
    cli_error(surg_model_path(m), "--graph: %s", why);
    return s == SURG_ENOTFOUND ? EXIT_MODEL : EXIT_USAGE;
  }
  *out = count == 1 ? graph_of(n) : NULL;
  if (*out) return EXIT_DONE;
  cli_text t = {0};
  cli_text_puts(&t, "--graph: ");
  cli_text_escape(&t, text, 0);
  cli_text_puts(&t, count == 1 ? " contains no graph, or several: name one, as in"
                                 " `graph.node[5].then_branch`"
                               : " is several nodes; expected one");
  cli_error_text(surg_model_path(m), &t);
  return EXIT_USAGE;
}

/* The file to write: that of -o, or the model's with another ending. For the caller to free. */
static char *output_of(const request *r, const char *in) {
  static const char *const endings[] = {
      [SURG_VIEW_HTML] = ".html", [SURG_VIEW_SVG] = ".svg", [SURG_VIEW_DOT] = ".dot"};
  if (r->out || strcmp(in, "-") == 0) return strdup(r->out ? r->out : "-");
  cli_text t = {0};
  const char *base = cli_base_name(in), *dot = strrchr(base, '.');
  cli_text_put(&t, in, dot && dot != base ? (size_t)(dot - in) : strlen(in));
  cli_text_puts(&t, endings[r->o.form]);
  return cli_text_give(&t);
}

static int draw(surg_context *ctx, request *r, surg_model *m, const char *in) {
  char *text = NULL, *path = output_of(r, in);
  size_t n = 0;
  int code = r->graph ? find_graph(m, r->graph, &r->o.graph) : EXIT_DONE;
  if (!path) code = cli_no_memory();
  if (code == EXIT_DONE) {
    const surg_status s = surg_view(m, &r->o, &text, &n);
    code = cli_exit_code(s);
    if (s == SURG_EUNSUPPORTED) code = EXIT_USAGE;
  }
  if (code == EXIT_DONE && strcmp(path, "-") == 0)
    fwrite(text, 1, n, stdout);
  else if (code == EXIT_DONE)
    code = cli_exit_code(surg_file_write(ctx, path, text, n));
  if (code == EXIT_DONE && strcmp(path, "-") != 0 && !r->out && !r->common.quiet) {
    cli_put(stdout, path);
    putchar('\n');
  }
  surg_context_free_bytes(ctx, text);
  free(path);
  return code;
}

int cmd_view(int argc, char **argv) {
  static const struct option options[] = {{"svg", no_argument, NULL, OPT_SVG},
                                          {"dot", no_argument, NULL, OPT_DOT},
                                          {"target", required_argument, NULL, OPT_TARGET},
                                          {"graph", required_argument, NULL, OPT_GRAPH},
                                          {"fold", no_argument, NULL, OPT_FOLD},
                                          {"limit", required_argument, NULL, OPT_LIMIT},
                                          {"layout", required_argument, NULL, OPT_LAYOUT},
                                          {"no-weights", no_argument, NULL, OPT_NO_WEIGHTS},
                                          {"against", required_argument, NULL, OPT_AGAINST},
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  request r = {.o = {.size = sizeof r.o}};
  int code;
  const cli_command command = {options, "o:", help, take, &r, &r.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (argc - optind != 1) return cli_usage("view expects one model: `onnxsurg view IN`");
  if (r.against && r.o.form != SURG_VIEW_HTML)
    return cli_usage("--against expects a page: not --svg, not --dot");
  surg_context *ctx = cli_context(&r.common);
  if (!ctx) return EXIT_LIMIT;
  surg_model *m = NULL;
  surg_target *t = r.target_name ? cli_target(ctx, r.target_name, &code) : NULL;
  surg_load_options lenient = r.common.load;
  lenient.policy = SURG_LOAD_LENIENT;
  lenient.inspect = true;
  if (code == EXIT_DONE) code = cli_exit_code(surg_model_load(ctx, argv[optind], &lenient, &m));
  if (r.against && code == EXIT_DONE)
    code = cli_exit_code(surg_model_load(ctx, r.against, &lenient, &r.o.against));
  r.o.target = t;
  if (m && code == EXIT_DONE) code = draw(ctx, &r, m, argv[optind]);
  surg_model_free(r.o.against);
  surg_model_free(m);
  surg_target_free(t);
  surg_context_free(ctx);
  return cli_flush(code);
}
