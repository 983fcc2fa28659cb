/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the facts about a model as a page of text. */
#include <onnxsurg/names.h>
#include <string.h>

#include "info.h"

#define SHOWN_OPS 12

static const surg_type *interface_type(surg_graph *g, bool output, size_t i) {
  const surg_type *t =
      output ? surg_graph_output_type(g, i) : surg_value_declared_type(surg_graph_input(g, i));
  return t || !output ? t : surg_value_type(surg_graph_output(g, i));
}

/* Appends "1 node" or "2 nodes". */
static void put_count(cli_text *b, size_t n, const char *what) {
  cli_text_printf(b, "%zu %s%s", n, what, n == 1 ? "" : "s");
}

static const char *interface_name(surg_graph *g, bool output, size_t i) {
  return surg_value_name(output ? surg_graph_output(g, i) : surg_graph_input(g, i));
}

/* Whether the graph input is an initializer. Below IR 4 every initializer is also an input;
 * these are not inputs that a caller provides. */
static bool is_weight(surg_model *m, surg_graph *g, bool output, size_t i) {
  return !output && surg_model_ir_version(m) < 4 &&
         surg_value_is_initializer(surg_graph_input(g, i));
}

/* Appends `name`, escaped and cut to `width` columns. */
static void put_name(cli_text *b, const char *name, size_t width) {
  const size_t start = b->n;
  cli_text_escape(b, name, 0);
  if (b->failed || b->n - start <= width) return;
  cli_text_cut(b, start + (width > 3 ? width - 3 : 0));
  cli_text_puts(b, "...");
}

static void put_interface(cli_text *b, surg_model *m, bool output) {
  surg_context *ctx = surg_model_context(m);
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
    cli_text_printf(b, "%-12s", shown++ ? "" : output ? "outputs" : "inputs");
    size_t start = b->n;
    cli_text_escape(b, name, CLI_NAME_PRINT);
    cli_text_gap(b, start, (size_t)width + 2);
    cli_text_type(b, ctx, interface_type(g, output, i));
    if (!output && surg_value_is_initializer(surg_graph_input(g, i)))
      cli_text_puts(b, "  (has a default)");
    cli_text_putc(b, '\n');
  }
  if (shown < n) {
    cli_text_printf(b, "%-12s", shown ? "" : "inputs");
    put_count(b, n - shown, "weight");
    cli_text_puts(b, " in the input list (IR < 4)\n");
  }
}

static void put_op(cli_text *b, const cli_op_count *op) {
  if (op->domain[0]) {
    cli_text_escape(b, op->domain, CLI_NAME_PRINT);
    cli_text_putc(b, '.');
  }
  cli_text_escape(b, op->op, CLI_NAME_PRINT);
}

static void put_ops(cli_text *b, const cli_stats *s) {
  for (size_t i = 0; i < s->op_count && i < SHOWN_OPS; i++) {
    cli_text_printf(b, "%-12s%8zu  ", i ? "" : "operators", s->ops[i].count);
    put_op(b, &s->ops[i]);
    cli_text_putc(b, '\n');
  }
  if (s->op_count > SHOWN_OPS)
    cli_text_printf(b, "%-12s%8s  and %zu more (--json lists all)\n", "", "",
                    s->op_count - SHOWN_OPS);
}

/* Appends a line with the operators of one kind: `2 If, 1 Loop`. */
static void put_some_ops(cli_text *b, const cli_stats *s, const char *title,
                         bool (*which)(const cli_op_count *op)) {
  size_t shown = 0, left = 0;
  for (size_t i = 0; i < s->op_count; i++) {
    if (!which(&s->ops[i])) continue;
    if (shown == SHOWN_OPS / 2) {
      left++;
      continue;
    }
    if (shown++)
      cli_text_puts(b, ", ");
    else
      cli_text_printf(b, "%-12s", title);
    cli_text_printf(b, "%zu ", s->ops[i].count);
    put_op(b, &s->ops[i]);
  }
  if (left) cli_text_printf(b, " and %zu more", left);
  if (shown) cli_text_putc(b, '\n');
}
static bool is_control(const cli_op_count *op) {
  return op->control;
}
static bool is_custom(const cli_op_count *op) {
  return op->op_class == SURG_OP_CLASS_CUSTOM;
}

static void put_weights(cli_text *b, const info_facts *f) {
  surg_info_weights w = {.size = sizeof w};
  size_t kinds = 0;
  const char *only = NULL;
  for (int d = 0; d < SURG_DTYPE_COUNT; d++)
    if (surg_info_weights_of(f->info, d, &w) == SURG_OK) only = kinds++ ? NULL : surg_dtype_name(d);
  cli_text_printf(b, "%-12s%llu in ", "weights", (unsigned long long)f->stats.parameters);
  put_count(b, f->sum.weight_tensors, "tensor");
  cli_text_printf(b, ", %s%s%s\n", cli_bytes(f->stats.weight_bytes), only ? " of " : "",
                  only ? only : "");
  for (int d = 0; d < SURG_DTYPE_COUNT && kinds > 1; d++)
    if (surg_info_weights_of(f->info, d, &w) == SURG_OK)
      cli_text_printf(b, "%-12s%8llu  %-14s %12s in %llu\n", "", (unsigned long long)w.parameters,
                      surg_dtype_name(d), cli_bytes(w.bytes), (unsigned long long)w.tensors);
}

/* Whether a sum depends on symbols. */
static bool is_symbolic(const info_facts *f, bool flops) {
  int64_t k;
  const surg_expr *e = NULL;
  return surg_info_term(f->info, flops, 0, &k, &e) == SURG_OK && e;
}

const char *info_amount(int64_t n) {
  return !n ? "-" : n < 0 ? "?" : n == INT64_MAX ? "too many" : cli_count((uint64_t)n);
}

bool info_is_symbolic(const info_facts *f) {
  return is_symbolic(f, false) || is_symbolic(f, true);
}

static const char *magnitude(int64_t k) {
  return cli_count(k < 0 ? -(uint64_t)k : (uint64_t)k);
}

/* Appends `4.09 G*N + 12 k`. Long sums are printed only as JSON. */
static void put_sum(cli_text *b, const info_facts *f, bool flops) {
  const size_t start = b->n;
  int64_t k;
  const surg_expr *e;
  surg_status s;
  for (size_t i = 0; (s = surg_info_term(f->info, flops, i, &k, &e)) == SURG_OK; i++) {
    if (e)
      cli_text_puts(b, !i ? (k < 0 ? "-" : "") : k < 0 ? " - " : " + ");
    else
      cli_text_puts(b, !i ? "" : k < 0 ? " - " : " + ");
    cli_text_puts(b, magnitude(k));
    const char *text = e ? surg_dim_text(f->m, &(surg_dim){.value = -1, .expr = e}) : NULL;
    if (e) cli_text_printf(b, "*%s", text ? text : "?");
  }
  const bool large = s == SURG_ELIMIT;
  if (!b->failed && !large && b->n - start <= CLI_WIDTH - 36) return;
  cli_text_cut(b, start);
  cli_text_puts(b, large ? "too large to count" : "a long expression (--json) of");
}

static void put_uncounted(cli_text *b, size_t n, const char *what, const char *why) {
  if (!n) return;
  cli_text_printf(b, "%-12snot counted: ", "");
  put_count(b, n, what);
  cli_text_puts(b, why);
}

static void put_compute(cli_text *b, const info_facts *f) {
  const bool symbolic = info_is_symbolic(f);
  cli_text_printf(b, "%-12s", "compute");
  put_sum(b, f, false);
  cli_text_printf(b, " multiply-accumulates,%s", symbolic ? "\n            " : " ");
  put_sum(b, f, true);
  cli_text_puts(b, " operations\n");
  put_uncounted(b, f->sum.size_unknown, "node", " of unknown size\n");
  put_uncounted(b, f->sum.operator_unknown, "node", " whose operator has no rule\n");
  put_uncounted(b, f->sum.calls_unknown, "call", " of functions\n");
}

/* Appends `Conv "name"`. */
static void put_node(cli_text *b, const surg_node *n, size_t width) {
  const char *name = surg_node_name(n);
  cli_text_escape(b, surg_node_op_type(n), 40);
  if (!*name) return;
  cli_text_puts(b, " \"");
  put_name(b, name, width);
  cli_text_putc(b, '"');
}

#define SHOWN_SYMBOLS 4

/* Appends the first symbolic dimensions of the inputs, each once. */
static void put_symbols(cli_text *b, const surg_model *m) {
  const surg_graph *g = surg_model_graph(m);
  const char *seen[SHOWN_SYMBOLS];
  size_t n = 0;
  for (size_t i = 0; i < surg_graph_input_count(g) && n < SHOWN_SYMBOLS; i++) {
    const surg_type *t = surg_value_type(surg_graph_input(g, i));
    for (size_t k = 0; t && k < surg_type_rank(t) && n < SHOWN_SYMBOLS; k++) {
      const surg_dim *d = surg_type_dim(t, k);
      bool known = !d->param || d->value >= 0;
      for (size_t j = 0; j < n && !known; j++) known = strcmp(seen[j], d->param) == 0;
      if (known) continue;
      if (n) cli_text_puts(b, ", ");
      cli_text_escape(b, d->param, 24);
      seen[n++] = d->param;
    }
  }
}

static void put_memory(cli_text *b, const info_facts *f) {
  cli_text symbols = {0};
  put_symbols(&symbols, f->m);
  cli_text_printf(b, "%-12s%s of values at most", "memory", cli_bytes(f->sum.peak_bytes));
  if (f->sum.peak_node && f->sum.peak_bytes) {
    cli_text_puts(b, ", at ");
    put_node(b, f->sum.peak_node, 24);
  }
  cli_text_putc(b, '\n');
  if (symbols.n)
    cli_text_printf(b, "%-12swith %s = 1 (--dim sets sizes)\n", "", cli_text_of(&symbols));
  if (f->sum.peak_unknown)
    cli_text_printf(b, "%-12snot counted: %zu of %zu values of unknown size\n", "",
                    f->sum.peak_unknown, f->sum.values);
  cli_text_free(&symbols);
}

static void put_floors(cli_text *b, const info_facts *f) {
  const char *title = "needs";
  surg_info_floor_of x = {.size = sizeof x};
  for (size_t i = 0; surg_info_floor(f->info, i, &x) == SURG_OK; i++) {
    const surg_schema *schema;
    char *why = NULL;
    cli_text_printf(b, "%-12s%s%sopset %lld, for ", title, x.domain, *x.domain ? " " : "",
                    (long long)x.opset);
    const surg_status s = surg_node_oldest(x.node, &schema, &why);
    put_node(b, x.node, 24);
    cli_text_printf(b, ":\n%14s", "");
    cli_text_wrap(b, s == SURG_OK ? why : "?", 14, 14);
    surg_context_free_bytes(f->ctx, why);
    title = "";
  }
  cli_text_printf(b, "%-12sIR %lld", title, (long long)f->sum.ir_floor);
  if (*f->sum.ir_why && f->sum.ir_floor > 3) {
    cli_text_puts(b, ", for ");
    put_name(b, f->sum.ir_why, CLI_WIDTH - 26);
  }
  cli_text_putc(b, '\n');
}

const surg_node *info_window(const info_facts *f, int64_t *low, int64_t *high) {
  surg_info_floor_of x = {.size = sizeof x};
  const surg_node *floor = NULL;
  int64_t oldest, newest;
  *low = 1;
  *high = surg_schema_newest("");
  for (size_t i = 0; surg_info_floor(f->info, i, &x) == SURG_OK; i++)
    if (!x.domain[0]) {
      *low = x.opset;
      floor = x.node;
    }
  if (!surg_target_opset(f->target, "", &oldest, &newest)) return floor;
  if (newest < *high) *high = newest;
  if (oldest > *low) *low = oldest;
  return floor;
}

/* Prints the opsets that both the model's operators and the target support. */
static void put_window(cli_text *b, const info_facts *f) {
  if (!f->target) return;
  int64_t low, high;
  const surg_node *floor = info_window(f, &low, &high);
  cli_text_printf(b, "%-12s%s: ", "target", surg_target_name(f->target));
  if (low <= high) {
    cli_text_printf(b, "opset %lld to %lld\n", (long long)low, (long long)high);
    return;
  }
  cli_text_printf(b, "no opset fits: it supports up to %lld, the content needs %lld",
                  (long long)high, (long long)low);
  if (floor) cli_text_printf(b, "\n%-14sfor %s", "", surg_node_where(floor));
  cli_text_printf(b, "\n%-14sonnxsurg repair --target %s\n", "", surg_target_name(f->target));
}

static void put_files(cli_text *b, const info_facts *f) {
  const char *title = "external";
  surg_info_data d = {.size = sizeof d};
  size_t i = 0;
  for (; i < SHOWN_OPS && surg_info_file(f->info, i, &d) == SURG_OK; i++) {
    cli_text_printf(b, "%-12s", title);
    put_name(b, d.location, 50);
    cli_text_printf(b, "  %s\n", d.absent ? "cannot be read" : cli_bytes(d.bytes));
    title = "";
  }
  if (f->sum.files > i) cli_text_printf(b, "%-12sand %zu more\n", "", f->sum.files - i);
  if (!f->sum.absent_tensors) return;
  const unsigned long long n = f->sum.absent_tensors;
  cli_text_printf(b, "%-12s%llu weight%s, %s: data files are missing or too short\n", "missing", n,
                  n == 1 ? "" : "s", cli_bytes(f->sum.absent_bytes));
}

/* Appends the type of the first output of a node. */
static void put_first_output(cli_text *b, surg_context *ctx, const surg_node *n) {
  for (size_t k = 0; k < surg_node_output_count(n); k++) {
    const surg_value *v = surg_node_output(n, k);
    if (!v) continue;
    cli_text_type(b, ctx, surg_value_type(v));
    return;
  }
}

static void put_top(cli_text *b, const info_facts *f, size_t top) {
  surg_info_node c = {.size = sizeof c};
  const double all = (double)f->sum.flops_at_1;
  if (!top || !f->sum.costs) return;
  cli_text_printf(b, "\n      MACs       ops      %%  node and its output%s\n",
                  is_symbolic(f, true) ? "   (each symbol as 1)" : "");
  for (size_t i = 0; i < top && surg_info_cost(f->info, i, &c) == SURG_OK; i++) {
    const size_t start = b->n;
    const double share = all && c.flops_at_1 > 0 ? 100.0 * (double)c.flops_at_1 / all : 0;
    cli_text_printf(b, "%10s %9s  %5.1f  ", info_amount(c.macs_at_1), info_amount(c.flops_at_1),
                    share);
    put_node(b, c.node, 22);
    cli_text_gap(b, start, 56);
    put_first_output(b, f->ctx, c.node);
    cli_text_putc(b, '\n');
  }
}

static void put_values(cli_text *b, const info_facts *f) {
  cli_text_puts(b, "\nvalues\n");
  for (surg_graph *g = NULL; (g = surg_model_next_graph(f->m, g));) {
    if (surg_graph_get_kind(g) != SURG_GRAPH_MAIN)
      cli_text_printf(b, "  of %s\n", surg_graph_where(g));
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));) {
      if (!*surg_value_name(v)) continue;
      const size_t start = b->n;
      cli_text_puts(b, "  ");
      put_name(b, surg_value_name(v), 40);
      cli_text_gap(b, start, 44);
      const surg_type *t = surg_value_type(v);
      cli_text_type(b, f->ctx, t ? t : surg_value_declared_type(v));
      cli_text_putc(b, '\n');
    }
  }
}

static void put_format(cli_text *b, const surg_model *m) {
  cli_text line = {0};
  cli_text_printf(&line, "IR %lld, opset", (long long)surg_model_ir_version(m));
  for (size_t i = 0; i < surg_model_import_count(m); i++) {
    const char *domain = surg_model_import_domain(m, i);
    cli_text_puts(&line, i ? ", " : " ");
    if (domain[0]) {
      cli_text_escape(&line, domain, CLI_NAME_PRINT);
      cli_text_putc(&line, ' ');
    }
    cli_text_printf(&line, "%lld", (long long)surg_model_import_version(m, i));
  }
  cli_text_printf(b, "%-12s", "format");
  cli_text_wrap(b, line.failed ? "?" : cli_text_of(&line), 12, 12);
  cli_text_free(&line);
}

void info_print_text(const info_facts *f, size_t top, bool values) {
  cli_text b = {0};
  put_format(&b, f->m);
  const size_t open = surg_model_open_findings(f->m);
  if (open)
    cli_text_printf(&b, "%-12s%zu error%s (onnxsurg check lists them)\n", "invalid", open,
                    open == 1 ? "" : "s");
  put_floors(&b, f);
  put_window(&b, f);
  put_interface(&b, f->m, false);
  put_interface(&b, f->m, true);
  cli_text_printf(&b, "%-12s%8zu", "nodes", f->stats.nodes);
  const char *between = "  (";
  for (int functions = 0; functions < 2; functions++) {
    const size_t n = functions ? f->stats.functions : f->stats.subgraphs;
    if (!n) continue;
    cli_text_puts(&b, between);
    put_count(&b, n, functions ? "function" : "subgraph");
    between = ", ";
  }
  if (*between == ',') cli_text_putc(&b, ')');
  cli_text_putc(&b, '\n');
  put_ops(&b, &f->stats);
  put_some_ops(&b, &f->stats, "control", is_control);
  put_some_ops(&b, &f->stats, "custom", is_custom);
  cli_text_printf(&b, "%-12s%8zu  (%zu of known rank, %zu of known size)\n", "values",
                  f->sum.values, f->sum.values_ranked, f->sum.values_sized);
  put_weights(&b, f);
  put_compute(&b, f);
  put_memory(&b, f);
  if (f->bytes) cli_text_printf(&b, "%-12s%s\n", "file", cli_bytes(f->bytes));
  put_files(&b, f);
  put_top(&b, f, top);
  if (values) put_values(&b, f);
  cli_text_print(&b);
}
