/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the facts about a model as JSON. doc/info.md describes the keys. */
#include <onnxsurg/names.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"

static json_t *number(uint64_t n) {
  return n <= INT64_MAX ? json_integer((json_int_t)n) : json_real((double)n);
}

/* An integer, or an expression as text; null if it is not known. */
static json_t *amount_json(const info_facts *f, surg_dim a) {
  if (a.value >= 0) return json_integer((json_int_t)a.value);
  const char *text = a.expr ? surg_dim_text(f->m, &a) : NULL;
  return text ? cli_text_json(text) : json_null();
}

/* A sum as an integer or expression; null if it is too large to represent. */
static json_t *sum_json(const info_facts *f, bool flops) {
  surg_dim sum;
  return surg_info_total(f->info, flops, &sum) == SURG_OK ? amount_json(f, sum) : json_null();
}

static json_t *type_json(surg_context *ctx, const surg_type *t) {
  char *text = NULL;
  json_t *j = cli_text_json(surg_type_text(ctx, t, &text) == SURG_OK ? text : "?");
  surg_context_free_bytes(ctx, text);
  return j;
}

static json_t *interface_json(const info_facts *f, bool output) {
  surg_graph *g = surg_model_graph(f->m);
  json_t *list = json_array();
  const size_t n = output ? surg_graph_output_count(g) : surg_graph_input_count(g);
  for (size_t i = 0; i < n; i++) {
    const surg_value *v = output ? surg_graph_output(g, i) : surg_graph_input(g, i);
    const surg_type *t = output ? surg_graph_output_type(g, i) : surg_value_declared_type(v);
    if (output && !t) t = surg_value_type(v);
    json_t *e = json_object();
    json_object_set_new(e, "name", cli_text_json(surg_value_name(v)));
    json_object_set_new(e, "type", type_json(f->ctx, t));
    if (!output) json_object_set_new(e, "default", json_boolean(surg_value_is_initializer(v)));
    json_array_append_new(list, e);
  }
  return list;
}

static json_t *imports_json(const surg_model *m) {
  json_t *imports = json_object();
  for (size_t i = 0; i < surg_model_import_count(m); i++)
    json_object_set_new_nocheck(imports, surg_model_import_domain(m, i),
                                json_integer((json_int_t)surg_model_import_version(m, i)));
  return imports;
}

static json_t *weights_json(const info_facts *f) {
  json_t *j = json_object();
  for (int d = 0; d < SURG_DTYPE_COUNT; d++) {
    surg_info_weights w = {.size = sizeof w};
    if (surg_info_weights_of(f->info, d, &w) != SURG_OK) continue;
    json_t *e = json_object();
    json_object_set_new(e, "tensors", number(w.tensors));
    json_object_set_new(e, "parameters", number(w.parameters));
    json_object_set_new(e, "bytes", number(w.bytes));
    json_object_set_new(j, surg_dtype_name(d), e);
  }
  return j;
}

/* The operators that are custom (`custom`) or have subgraphs, with their counts: {"If": 2}. */
static json_t *some_ops(const cli_stats *s, bool custom) {
  json_t *all = json_object();
  for (size_t i = 0; i < s->op_count; i++) {
    const cli_op_count *op = &s->ops[i];
    if (custom ? op->op_class == SURG_OP_CLASS_CUSTOM : op->control) cli_add_op_json(all, op);
  }
  return all;
}

static json_t *node_json(const surg_node *n) {
  return n ? cli_text_json(surg_node_where(n)) : json_null();
}

static json_t *one_floor_json(const info_facts *f, const surg_info_floor_of *x) {
  const surg_schema *schema;
  char *why = NULL;
  json_t *e = json_object();
  const surg_status s = surg_node_oldest(x->node, &schema, &why);
  json_object_set_new(e, "opset", json_integer((json_int_t)x->opset));
  json_object_set_new(e, "node", node_json(x->node));
  json_object_set_new(e, "why", cli_text_json(s == SURG_OK ? why : "?"));
  surg_context_free_bytes(f->ctx, why);
  return e;
}

static json_t *floor_json(const info_facts *f) {
  json_t *j = json_object(), *opsets = json_object();
  surg_info_floor_of x = {.size = sizeof x};
  for (size_t i = 0; surg_info_floor(f->info, i, &x) == SURG_OK; i++)
    json_object_set_new(opsets, x.domain, one_floor_json(f, &x));
  json_object_set_new(j, "opsets", opsets);
  json_object_set_new(j, "ir_version", json_integer((json_int_t)f->sum.ir_floor));
  json_object_set_new(j, "ir_why", *f->sum.ir_why ? cli_text_json(f->sum.ir_why) : json_null());
  return j;
}

static json_t *uncounted_json(const info_facts *f) {
  json_t *j = json_object();
  json_object_set_new(j, "size_unknown", number(f->sum.size_unknown));
  json_object_set_new(j, "operator_unknown", number(f->sum.operator_unknown));
  json_object_set_new(j, "calls", number(f->sum.calls_unknown));
  return j;
}

static json_t *peak_json(const info_facts *f) {
  json_t *j = json_object();
  json_object_set_new(j, "bytes", number(f->sum.peak_bytes));
  json_object_set_new(j, "node", node_json(f->sum.peak_node));
  json_object_set_new(j, "unknown_values", number(f->sum.peak_unknown));
  return j;
}

static json_t *files_json(const info_facts *f) {
  json_t *list = json_array();
  surg_info_data d = {.size = sizeof d};
  for (size_t i = 0; surg_info_file(f->info, i, &d) == SURG_OK; i++) {
    json_t *e = json_object();
    json_object_set_new(e, "name", cli_text_json(d.location));
    json_object_set_new(e, "bytes", d.absent ? json_null() : number(d.bytes));
    json_array_append_new(list, e);
  }
  return list;
}

static json_t *top_json(const info_facts *f, size_t top) {
  json_t *list = json_array();
  surg_info_node c = {.size = sizeof c};
  for (size_t i = 0; i < top && surg_info_cost(f->info, i, &c) == SURG_OK; i++) {
    json_t *e = json_object();
    json_object_set_new(e, "node", node_json(c.node));
    json_object_set_new(e, "name", cli_text_json(surg_node_name(c.node)));
    json_object_set_new(e, "op", cli_text_json(surg_node_op_type(c.node)));
    json_object_set_new(e, "macs", amount_json(f, c.macs));
    json_object_set_new(e, "flops", amount_json(f, c.flops));
    json_array_append_new(list, e);
  }
  return list;
}

/* --- graphs and values: streamed, as there may be millions --- */

#define FLUSH_BYTES (64u << 10)

typedef struct writer {
  cli_text b;
  bool one_line; /* drop newlines and indentation; JSON strings contain no newline */
  bool indent;   /* inside indentation */
} writer;

static void flush(writer *w, size_t at) {
  cli_text *b = &w->b;
  if (b->n < at || !b->p) return;
  size_t n = w->one_line ? 0 : b->n;
  for (size_t i = 0; w->one_line && i < b->n; i++) {
    w->indent = b->p[i] == '\n' || (w->indent && b->p[i] == ' ');
    if (!w->indent) b->p[n++] = b->p[i];
  }
  fwrite(b->p, 1, n, stdout);
  cli_text_cut(b, 0);
}

static void put_text(cli_text *b, const char *key, const char *text) {
  cli_text_printf(b, "\"%s\": ", key);
  cli_text_json_string(b, text);
}

/* A graph and its number in the list. */
typedef struct numbered {
  const surg_graph *graph;
  size_t number;
} numbered;

static int by_graph(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t)((const numbered *)a)->graph;
  const uintptr_t y = (uintptr_t)((const numbered *)b)->graph;
  return x < y ? -1 : x > y;
}

/* The graphs of a model sorted by address, to find the number of one; NULL: out of memory. */
static numbered *number_graphs(const surg_model *m, size_t *n) {
  *n = 0;
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) ++*n;
  numbered *all = calloc(*n + 1, sizeof *all);
  size_t i = 0;
  for (const surg_graph *g = NULL; all && (g = surg_model_next_graph(m, g)); i++)
    all[i] = (numbered){g, i};
  if (all) qsort(all, *n, sizeof *all, by_graph);
  return all;
}

static void put_graphs(writer *w, const info_facts *f) {
  cli_text *b = &w->b;
  static const char *const kinds[] = {[SURG_GRAPH_MAIN] = "main",
                                      [SURG_GRAPH_SUBGRAPH] = "subgraph",
                                      [SURG_GRAPH_FUNCTION] = "function"};
  _Static_assert(CLI_COUNT(kinds) == SURG_GRAPH_FUNCTION + 1, "a word for each kind");
  size_t n, i = 0;
  numbered *all = number_graphs(f->m, &n);
  if (!all) cli_text_fail(b);
  cli_text_puts(b, ",\n  \"graphs\": [");
  for (surg_graph *g = NULL; all && (g = surg_model_next_graph(f->m, g)); i++) {
    const numbered key = {.graph = surg_graph_parent(g)};
    const numbered *parent = key.graph ? bsearch(&key, all, n, sizeof *all, by_graph) : NULL;
    cli_text_printf(b, "%s\n    {\"kind\": \"%s\", ", i ? "," : "", kinds[surg_graph_get_kind(g)]);
    put_text(b, "name", surg_graph_name(g));
    cli_text_printf(b, ", \"nodes\": %zu, \"parent\": ", surg_graph_node_count(g));
    if (parent)
      cli_text_printf(b, "%zu}", parent->number);
    else
      cli_text_puts(b, "null}");
    flush(w, FLUSH_BYTES);
  }
  free(all);
  cli_text_puts(b, "\n  ]");
}

static void put_shape(cli_text *b, surg_model *m, const surg_type *t) {
  if (!t || !surg_type_has_rank(t)) {
    cli_text_puts(b, "null");
    return;
  }
  cli_text_putc(b, '[');
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    const surg_dim d = *surg_type_dim(t, i);
    if (i) cli_text_puts(b, ", ");
    const char *text = d.value < 0 && (d.param || d.expr) ? surg_dim_text(m, &d) : NULL;
    if (d.value >= 0)
      cli_text_printf(b, "%lld", (long long)d.value);
    else if (text)
      cli_text_json_string(b, text);
    else
      cli_text_puts(b, "null");
  }
  cli_text_putc(b, ']');
}

static void put_value(cli_text *b, surg_model *m, const surg_value *v, size_t graph) {
  const surg_type *t = surg_value_type(v);
  if (!t) t = surg_value_declared_type(v);
  const surg_type_kind kind = t ? surg_type_get_kind(t) : SURG_TYPE_UNKNOWN;
  const char *dtype = kind == SURG_TYPE_TENSOR ? surg_dtype_name(surg_type_dtype(t)) : NULL;
  cli_text_putc(b, '{');
  put_text(b, "name", surg_value_name(v));
  cli_text_printf(b, ", \"graph\": %zu, \"dtype\": %s%s%s, \"shape\": ", graph, dtype ? "\"" : "",
                  dtype ? dtype : "null", dtype ? "\"" : "");
  put_shape(b, m, kind == SURG_TYPE_TENSOR ? t : NULL);
  if (kind != SURG_TYPE_TENSOR && kind != SURG_TYPE_UNKNOWN) {
    cli_text type = {0};
    cli_text_type(&type, surg_model_context(m), t);
    cli_text_puts(b, ", ");
    put_text(b, "type", type.failed ? "?" : cli_text_of(&type));
    cli_text_free(&type);
  }
  cli_text_putc(b, '}');
}

static void put_values(writer *w, const info_facts *f) {
  cli_text *b = &w->b;
  size_t graph = 0, n = 0;
  cli_text_puts(b, ",\n  \"values\": [");
  for (surg_graph *g = NULL; (g = surg_model_next_graph(f->m, g)); graph++)
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));) {
      if (!*surg_value_name(v)) continue;
      cli_text_puts(b, n++ ? ",\n    " : "\n    ");
      put_value(b, f->m, v, graph);
      flush(w, FLUSH_BYTES);
    }
  cli_text_puts(b, "\n  ]\n}\n");
  flush(w, 0);
}

void info_print_json(const info_facts *f, const info_more *more, bool one_line) {
  json_t *j = json_object();
  json_object_set_new(j, "schema", json_integer(1));
  json_object_set_new(j, "file", cli_text_json(f->path));
  json_object_set_new(j, "ir_version", json_integer((json_int_t)surg_model_ir_version(f->m)));
  json_object_set_new(j, "opset_imports", imports_json(f->m));
  json_object_set_new(j, "floor", floor_json(f));
  if (f->target) {
    int64_t low, high;
    info_window(f, &low, &high);
    json_object_set_new(
        j, "target",
        json_pack(
            "{s:s,s:o}", "name", surg_target_name(f->target), "opsets",
            low <= high ? json_pack("[I,I]", (json_int_t)low, (json_int_t)high) : json_null()));
  }
  json_object_set_new(j, "inputs", interface_json(f, false));
  json_object_set_new(j, "outputs", interface_json(f, true));
  json_object_set_new(j, "nodes", number(f->stats.nodes));
  json_object_set_new(j, "subgraphs", number(f->stats.subgraphs));
  json_object_set_new(j, "functions", number(f->stats.functions));
  json_object_set_new(j, "ops", cli_ops_json(&f->stats));
  json_object_set_new(j, "control_flow", some_ops(&f->stats, false));
  json_object_set_new(j, "custom_ops", some_ops(&f->stats, true));
  json_object_set_new(j, "initializers", number(f->stats.initializers));
  json_object_set_new(j, "parameters", number(f->stats.parameters));
  json_object_set_new(j, "weight_bytes", number(f->stats.weight_bytes));
  json_object_set_new(j, "weights", weights_json(f));
  json_object_set_new(j, "macs", sum_json(f, false));
  json_object_set_new(j, "flops", sum_json(f, true));
  json_object_set_new(j, "uncounted", uncounted_json(f));
  json_object_set_new(j, "peak", peak_json(f));
  json_object_set_new(j, "bytes", number(f->bytes));
  json_object_set_new(j, "external_files", files_json(f));
  json_object_set_new(j, "absent",
                      json_pack("{s:o, s:o}", "tensors", number(f->sum.absent_tensors), "bytes",
                                number(f->sum.absent_bytes)));
  const size_t open = surg_model_open_findings(f->m);
  if (open) json_object_set_new(j, "errors", number(open));
  if (more->top) json_object_set_new(j, "top", top_json(f, more->top));
  if (more->weights) json_object_set_new(j, "tensors", info_weights_json(f));
  if (more->modules) json_object_set_new(j, "modules", info_modules_json(f, more->modules));
  cli_stdout_used();
  char *text = json_dumps(j, JSON_INDENT(2));
  json_decref(j);
  writer w = {.one_line = one_line};
  /* Drop the final "}": more members follow. */
  const size_t n = text ? strlen(text) : 0;
  if (n > 2) cli_text_put(&w.b, text, n - 2);
  free(text);
  put_graphs(&w, f);
  put_values(&w, f);
  cli_text_free(&w.b);
  if (one_line) putchar('\n');
}
