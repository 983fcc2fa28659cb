/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the facts about a model as JSON. doc/info.md describes the keys. */
#include <onnxsurg/names.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "info.h"

static json_t *number(uint64_t n) {
  return n <= INT64_MAX ? json_integer((json_int_t)n) : json_real((double)n);
}

static json_t *buf_json(surg__buf *b) {
  surg__buf_putc(b, 0);
  json_t *j = cli_text_json(b->failed || !b->p ? "?" : b->p);
  surg__buf_free(b);
  return j;
}

/* An integer, or an expression as text. */
static json_t *amount_json(const info_facts *f, surg__amount a) {
  if (!a.expr) return json_integer((json_int_t)a.k);
  surg__buf b;
  surg__buf_init(&b, f->ctx);
  surg__expr_print(&b, a.expr);
  return buf_json(&b);
}

/* A sum as an integer or expression; null if it is too large to represent. */
static json_t *sum_json(const info_facts *f, const surg__poly *sum) {
  if (sum->bad) return json_null();
  surg__amount a = {sum->k, NULL};
  if (!sum->n) return amount_json(f, a);
  a.expr = surg__poly_expr(sum->args[0]->set, sum);
  return a.expr ? amount_json(f, a) : json_null();
}

static json_t *type_json(surg_context *ctx, const surg_type *t) {
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__check_put_type(&b, t);
  return buf_json(&b);
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
    if (!f->weights[d].tensors) continue;
    json_t *e = json_object();
    json_object_set_new(e, "tensors", number(f->weights[d].tensors));
    json_object_set_new(e, "parameters", number(f->weights[d].parameters));
    json_object_set_new(e, "bytes", number(f->weights[d].bytes));
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

static json_t *floor_json(const info_facts *f) {
  json_t *j = json_object(), *opsets = json_object();
  for (size_t i = 0; i < f->floor_count; i++) {
    const info_floor *x = &f->floors[i];
    json_t *e = json_object();
    surg__buf why;
    surg__buf_init(&why, f->ctx);
    surg__node_oldest(x->node, &why);
    json_object_set_new(e, "opset", json_integer(x->opset));
    json_object_set_new(e, "node", node_json(x->node));
    json_object_set_new(e, "why", buf_json(&why));
    json_object_set_new(opsets, x->domain, e);
  }
  json_object_set_new(j, "opsets", opsets);
  json_object_set_new(j, "ir_version", json_integer((json_int_t)f->ir_floor));
  json_object_set_new(j, "ir_why", *f->ir_what ? cli_text_json(f->ir_what) : json_null());
  return j;
}

static json_t *uncounted_json(const info_facts *f) {
  json_t *j = json_object();
  json_object_set_new(j, "size_unknown", number(f->size_unknown));
  json_object_set_new(j, "operator_unknown", number(f->operator_unknown));
  json_object_set_new(j, "calls", number(f->calls_unknown));
  return j;
}

static json_t *peak_json(const info_facts *f) {
  json_t *j = json_object();
  json_object_set_new(j, "bytes", number(f->peak.bytes));
  json_object_set_new(j, "node", node_json(f->peak.node));
  json_object_set_new(j, "unknown_values", number(f->peak.unknown));
  return j;
}

static json_t *files_json(const surg_model *m) {
  json_t *list = json_array();
  for (const surg__datafile *d = m->files; d; d = d->next) {
    json_t *e = json_object();
    json_object_set_new(e, "name", cli_text_json(d->location));
    json_object_set_new(e, "bytes", d->absent ? json_null() : number(d->size));
    json_array_append_new(list, e);
  }
  return list;
}

static json_t *top_json(const info_facts *f, size_t top) {
  json_t *list = json_array();
  for (size_t i = 0; i < f->cost_count && i < top; i++) {
    const info_cost *c = &f->costs[i];
    json_t *e = json_object();
    json_object_set_new(e, "node", node_json(c->node));
    json_object_set_new(e, "name", cli_text_json(surg_node_name(c->node)));
    json_object_set_new(e, "op", cli_text_json(surg_node_op_type(c->node)));
    json_object_set_new(e, "macs", amount_json(f, c->macs));
    json_object_set_new(e, "flops", amount_json(f, c->flops));
    json_array_append_new(list, e);
  }
  return list;
}

/* --- graphs and values: streamed, as there may be millions --- */

#define FLUSH_BYTES (64u << 10)

typedef struct writer {
  surg__buf b;
  bool one_line; /* drop newlines and indentation; JSON strings contain no newline */
  bool indent;   /* inside indentation */
} writer;

static void flush(writer *w, size_t at) {
  surg__buf *b = &w->b;
  if (b->n < at || !b->p) return;
  size_t n = w->one_line ? 0 : b->n;
  for (size_t i = 0; w->one_line && i < b->n; i++) {
    w->indent = b->p[i] == '\n' || (w->indent && b->p[i] == ' ');
    if (!w->indent) b->p[n++] = b->p[i];
  }
  fwrite(b->p, 1, n, stdout);
  b->n = 0;
}

static void put_text(surg__buf *b, const char *key, const char *text) {
  surg__buf_printf(b, "\"%s\": ", key);
  surg__buf_json(b, text, strlen(text));
}

static void put_graphs(writer *w, const info_facts *f) {
  surg__buf *b = &w->b;
  static const char *const kinds[] = {[SURG_GRAPH_MAIN] = "main",
                                      [SURG_GRAPH_SUBGRAPH] = "subgraph",
                                      [SURG_GRAPH_FUNCTION] = "function"};
  _Static_assert(CLI_COUNT(kinds) == SURG_GRAPH_FUNCTION + 1, "a word for each kind");
  size_t i = 0;
  for (surg_graph *g = f->m->graph; g; g = g->next) g->work = (void *)(uintptr_t)i++;
  surg__buf_puts(b, ",\n  \"graphs\": [");
  for (surg_graph *g = f->m->graph; g; g = g->next) {
    const surg_graph *parent = surg_graph_parent(g);
    surg__buf_printf(b, "%s\n    {\"kind\": \"%s\", ", g == f->m->graph ? "" : ",",
                     kinds[surg_graph_get_kind(g)]);
    put_text(b, "name", surg_graph_name(g));
    surg__buf_printf(b, ", \"nodes\": %zu, \"parent\": ", surg_graph_node_count(g));
    if (parent)
      surg__buf_printf(b, "%zu}", (size_t)(uintptr_t)parent->work);
    else
      surg__buf_puts(b, "null}");
    flush(w, FLUSH_BYTES);
  }
  for (surg_graph *g = f->m->graph; g; g = g->next) g->work = NULL;
  surg__buf_puts(b, "\n  ]");
}

static void put_shape(surg__buf *b, const surg_type *t) {
  if (!t || !surg_type_has_rank(t)) {
    surg__buf_puts(b, "null");
    return;
  }
  surg__buf_putc(b, '[');
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    const surg_dim d = *surg_type_dim(t, i);
    if (i) surg__buf_puts(b, ", ");
    const char *text = d.value < 0 && (d.param || d.expr) ? surg_dim_text(t->model, &d) : NULL;
    if (d.value >= 0)
      surg__buf_printf(b, "%lld", (long long)d.value);
    else if (text)
      surg__buf_json(b, text, strlen(text));
    else
      surg__buf_puts(b, "null");
  }
  surg__buf_putc(b, ']');
}

static void put_value(surg__buf *b, const surg_value *v, size_t graph) {
  const surg_type *t = surg_value_type(v);
  if (!t) t = surg_value_declared_type(v);
  const surg_type_kind kind = t ? surg_type_get_kind(t) : SURG_TYPE_UNKNOWN;
  const char *dtype = kind == SURG_TYPE_TENSOR ? surg_dtype_name(surg_type_dtype(t)) : NULL;
  surg__buf_putc(b, '{');
  put_text(b, "name", surg_value_name(v));
  surg__buf_printf(b, ", \"graph\": %zu, \"dtype\": %s%s%s, \"shape\": ", graph, dtype ? "\"" : "",
                   dtype ? dtype : "null", dtype ? "\"" : "");
  put_shape(b, kind == SURG_TYPE_TENSOR ? t : NULL);
  if (kind != SURG_TYPE_TENSOR && kind != SURG_TYPE_UNKNOWN) {
    surg__buf type;
    surg__buf_init(&type, b->ctx);
    surg__check_put_type(&type, t);
    surg__buf_putc(&type, 0);
    surg__buf_puts(b, ", ");
    put_text(b, "type", type.failed ? "?" : type.p);
    surg__buf_free(&type);
  }
  surg__buf_putc(b, '}');
}

static void put_values(writer *w, const info_facts *f) {
  surg__buf *b = &w->b;
  size_t graph = 0, n = 0;
  surg__buf_puts(b, ",\n  \"values\": [");
  for (surg_graph *g = NULL; (g = surg_model_next_graph(f->m, g)); graph++)
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));) {
      if (!*surg_value_name(v)) continue;
      surg__buf_puts(b, n++ ? ",\n    " : "\n    ");
      put_value(b, v, graph);
      flush(w, FLUSH_BYTES);
    }
  surg__buf_puts(b, "\n  ]\n}\n");
  flush(w, 0);
}

void info_print_json(const info_facts *f, size_t top, bool one_line) {
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
            "{s:s,s:o}", "name", f->target->name, "opsets",
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
  json_object_set_new(j, "macs", sum_json(f, &f->macs));
  json_object_set_new(j, "flops", sum_json(f, &f->flops));
  json_object_set_new(j, "uncounted", uncounted_json(f));
  json_object_set_new(j, "peak", peak_json(f));
  json_object_set_new(j, "bytes", number(f->bytes));
  json_object_set_new(j, "external_files", files_json(f->m));
  json_object_set_new(j, "absent",
                      json_pack("{s:o, s:o}", "tensors", number(f->absent.tensors), "bytes",
                                number(f->absent.bytes)));
  const size_t open = surg_model_open_findings(f->m);
  if (open) json_object_set_new(j, "errors", number(open));
  if (top) json_object_set_new(j, "top", top_json(f, top));
  char *text = json_dumps(j, JSON_INDENT(2));
  json_decref(j);
  writer w = {.one_line = one_line};
  surg__buf_init(&w.b, f->ctx);
  /* Drop the final "}": more members follow. */
  const size_t n = text ? strlen(text) : 0;
  if (n > 2) surg__buf_put(&w.b, text, n - 2);
  free(text);
  put_graphs(&w, f);
  put_values(&w, f);
  surg__buf_free(&w.b);
  if (one_line) putchar('\n');
}
