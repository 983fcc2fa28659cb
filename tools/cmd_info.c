/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg info IN`: what a model is, in a page or as JSON. */
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"
#include "cli.h"

static const char help[] =
    "usage: onnxsurg info [--json] IN...\n"
    "Prints what a model holds: versions, inputs, outputs, operators, weights.\n"
    "  --json  one JSON object for each model\n";

#define SHOWN_OPS 12

/* `float[N, 3, 224, ?]`, appended. */
static void put_type(surg__buf *b, const surg_type *t) {
  static const char *const words[] = {"?", "", "sparse ", "seq", "map", "optional", "opaque"};
  /* Nesting is bounded by the reader; a few levels are all that is worth a line. */
  int closing = 0;
  while (t && surg_type_elem(t) && closing < 8) {
    surg__buf_printf(b, "%s(", words[surg_type_get_kind(t)]);
    if (surg_type_get_kind(t) == SURG_TYPE_MAP) {
      const char *key = surg_dtype_name(surg_type_dtype(t));
      surg__buf_printf(b, "%s, ", key ? key : "?");
    }
    t = surg_type_elem(t);
    closing++;
  }
  if (!t) {
    surg__buf_puts(b, "?");
  } else {
    const char *name = surg_dtype_name(surg_type_dtype(t));
    surg__buf_printf(b, "%s%s", words[surg_type_get_kind(t)], name ? name : "?");
    if (surg_type_has_rank(t)) {
      surg__buf_putc(b, '[');
      for (size_t i = 0; i < surg_type_rank(t); i++) {
        surg_dim d = surg_type_dim(t, i);
        if (i) surg__buf_puts(b, ", ");
        if (d.param)
          surg__buf_escape(b, d.param, strlen(d.param), SURG_LIMIT_NAME_PRINT);
        else if (d.value >= 0)
          surg__buf_printf(b, "%lld", (long long)d.value);
        else
          surg__buf_putc(b, '?');
      }
      surg__buf_putc(b, ']');
    }
  }
  while (closing--) surg__buf_putc(b, ')');
}

static const surg_type *interface_type(surg_graph *g, bool output, size_t i) {
  return output ? surg_graph_output_type(g, i) : surg_value_declared_type(surg_graph_input(g, i));
}

static const char *interface_name(surg_graph *g, bool output, size_t i) {
  return surg_value_name(output ? surg_graph_output(g, i) : surg_graph_input(g, i));
}

/* Below IR 4 every weight is listed as an input too; those are not for the caller to give. */
static bool is_weight(surg_model *m, surg_graph *g, bool output, size_t i) {
  return !output && surg_model_ir_version(m) < 4 &&
         surg_value_is_initializer(surg_graph_input(g, i));
}

static void put_interface(surg__buf *b, surg_model *m, bool output) {
  surg_graph *g = surg_model_graph(m);
  size_t n = output ? surg_graph_output_count(g) : surg_graph_input_count(g), shown = 0;
  int width = 4;
  for (size_t i = 0; i < n; i++) {
    int w = (int)strnlen(interface_name(g, output, i), 32);
    if (w > width && !is_weight(m, g, output, i)) width = w;
  }
  for (size_t i = 0; i < n; i++) {
    if (is_weight(m, g, output, i)) continue;
    const char *name = interface_name(g, output, i);
    surg__buf_printf(b, "%-12s", shown++ ? "" : output ? "outputs" : "inputs");
    size_t start = b->n;
    surg__buf_escape(b, name, strlen(name), SURG_LIMIT_NAME_PRINT);
    while (!b->failed && b->n - start < (size_t)width) surg__buf_putc(b, ' ');
    surg__buf_puts(b, "  ");
    put_type(b, interface_type(g, output, i));
    if (!output && surg_value_is_initializer(surg_graph_input(g, i)))
      surg__buf_puts(b, "  (has a default)");
    surg__buf_putc(b, '\n');
  }
  if (shown < n)
    surg__buf_printf(b, "%-12s%zu weights stand in the input list (IR < 4)\n",
                     shown ? "" : "inputs", n - shown);
}

static void put_ops(surg__buf *b, const cli_stats *s) {
  for (size_t i = 0; i < s->op_count && i < SHOWN_OPS; i++) {
    surg__buf_printf(b, "%-12s%8zu  ", i ? "" : "operators", s->ops[i].count);
    if (s->ops[i].domain[0]) {
      surg__buf_escape(b, s->ops[i].domain, strlen(s->ops[i].domain), SURG_LIMIT_NAME_PRINT);
      surg__buf_putc(b, '.');
    }
    surg__buf_escape(b, s->ops[i].op, strlen(s->ops[i].op), SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(b, '\n');
  }
  if (s->op_count > SHOWN_OPS)
    surg__buf_printf(b, "%-12s%8s  and %zu more (--json lists all)\n", "", "",
                     s->op_count - SHOWN_OPS);
}

static void print_text(surg_context *ctx, surg_model *m, const cli_stats *s, uint64_t bytes) {
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_printf(&b, "%-12sIR %lld, opset", "format", (long long)surg_model_ir_version(m));
  for (size_t i = 0; i < surg_model_import_count(m); i++) {
    const char *domain = surg_model_import_domain(m, i);
    surg__buf_puts(&b, i ? ", " : " ");
    if (domain[0]) {
      surg__buf_escape(&b, domain, strlen(domain), SURG_LIMIT_NAME_PRINT);
      surg__buf_putc(&b, ' ');
    }
    surg__buf_printf(&b, "%lld", (long long)surg_model_import_version(m, i));
  }
  surg__buf_putc(&b, '\n');
  put_interface(&b, m, false);
  put_interface(&b, m, true);
  surg__buf_printf(&b, "%-12s%8zu", "nodes", s->nodes);
  if (s->subgraphs) surg__buf_printf(&b, "  (%zu subgraphs)", s->subgraphs);
  if (s->functions) surg__buf_printf(&b, "  (%zu functions)", s->functions);
  surg__buf_putc(&b, '\n');
  put_ops(&b, s);
  surg__buf_printf(&b, "%-12s%llu in %zu initializers, %s\n", "weights",
                   (unsigned long long)s->parameters, s->initializers, cli_bytes(s->weight_bytes));
  if (bytes) surg__buf_printf(&b, "%-12s%s\n", "file", cli_bytes(bytes));
  if (b.p) fwrite(b.p, 1, b.n, stdout);
  surg__buf_free(&b);
}

static json_t *type_json(surg_context *ctx, const surg_type *t) {
  surg__buf b;
  surg__buf_init(&b, ctx);
  put_type(&b, t);
  json_t *j = cli_text_json(b.p && !b.failed ? b.p : "?");
  surg__buf_free(&b);
  return j;
}

static json_t *interface_json(surg_context *ctx, surg_graph *g, bool output) {
  json_t *list = json_array();
  size_t n = output ? surg_graph_output_count(g) : surg_graph_input_count(g);
  for (size_t i = 0; i < n; i++) {
    json_t *e = json_object();
    json_object_set_new(e, "name", cli_text_json(interface_name(g, output, i)));
    json_object_set_new(e, "type", type_json(ctx, interface_type(g, output, i)));
    if (!output)
      json_object_set_new(e, "default",
                          json_boolean(surg_value_is_initializer(surg_graph_input(g, i))));
    json_array_append_new(list, e);
  }
  return list;
}

static void print_json(surg_context *ctx, surg_model *m, const cli_stats *s, const char *path,
                       uint64_t bytes) {
  surg_graph *g = surg_model_graph(m);
  json_t *j = json_object(), *imports = json_object();
  for (size_t i = 0; i < surg_model_import_count(m); i++)
    json_object_set_new_nocheck(imports, surg_model_import_domain(m, i),
                                json_integer((json_int_t)surg_model_import_version(m, i)));
  json_object_set_new(j, "schema", json_integer(1));
  json_object_set_new(j, "file", cli_text_json(path));
  json_object_set_new(j, "ir_version", json_integer((json_int_t)surg_model_ir_version(m)));
  json_object_set_new(j, "opset_imports", imports);
  json_object_set_new(j, "inputs", interface_json(ctx, g, false));
  json_object_set_new(j, "outputs", interface_json(ctx, g, true));
  json_object_set_new(j, "nodes", json_integer((json_int_t)s->nodes));
  json_object_set_new(j, "subgraphs", json_integer((json_int_t)s->subgraphs));
  json_object_set_new(j, "functions", json_integer((json_int_t)s->functions));
  json_object_set_new(j, "ops", cli_ops_json(s));
  json_object_set_new(j, "initializers", json_integer((json_int_t)s->initializers));
  json_object_set_new(j, "parameters", json_integer((json_int_t)s->parameters));
  json_object_set_new(j, "weight_bytes", json_integer((json_int_t)s->weight_bytes));
  json_object_set_new(j, "bytes", json_integer((json_int_t)bytes));
  cli_print_json(j);
}

/* One model; `title`: with its name above. */
static int inform(surg_context *ctx, const cli_common *common, const char *path, bool title) {
  surg_model *m = NULL;
  cli_stats stats = {0};
  struct stat st;
  surg_context_clear_error(ctx);
  surg_status s = surg_load(ctx, path, &common->load, &m);
  uint64_t bytes = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
  if (s == SURG_OK && !cli_stats_of(m, &stats)) {
    fprintf(stderr, "onnxsurg: error: out of memory\n");
    s = SURG_ENOMEM;
  }
  if (s == SURG_OK && common->json) {
    print_json(ctx, m, &stats, path, bytes);
  } else if (s == SURG_OK) {
    if (title) {
      cli_put(stdout, path);
      putchar('\n');
    }
    print_text(ctx, m, &stats, bytes);
    if (title) putchar('\n');
  }
  cli_stats_free(&stats);
  surg_model_free(m);
  return cli_exit_code(s);
}

int cmd_info(int argc, char **argv) {
  static const struct option options[] = {CLI_COMMON_OPTIONS, {0}};
  cli_common common;
  cli_common_init(&common);
  opterr = 0;
  for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    if (o == OPT_HELP) {
      fputs(help, stdout);
      return cli_flush(EXIT_DONE);
    }
    int r = o == '?' ? cli_bad_option(argv, options) : cli_common_option(&common, o, optarg);
    if (r != EXIT_DONE) return r;
  }
  if (optind == argc) return cli_usage("info takes a model: `onnxsurg info IN`");
  surg_context *ctx = cli_context(&common);
  if (!ctx) return EXIT_LIMIT;
  int code = EXIT_DONE;
  for (int i = optind; i < argc; i++) {
    int c = inform(ctx, &common, argv[i], argc - optind > 1);
    if (c > code) code = c;
  }
  surg_context_free(ctx);
  return cli_flush(code);
}
