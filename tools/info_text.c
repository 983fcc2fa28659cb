/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the facts about a model as a page of text. */
#include <onnxsurg/names.h>
#include <string.h>

#include "check/check.h"
#include "info.h"
#include "wrap_buf.h"

#define SHOWN_OPS 12

static const surg_type *interface_type(surg_graph *g, bool output, size_t i) {
  const surg_type *t =
      output ? surg_graph_output_type(g, i) : surg_value_declared_type(surg_graph_input(g, i));
  return t || !output ? t : surg_value_type(surg_graph_output(g, i));
}

/* Appends "1 node" or "2 nodes". */
static void put_count(surg__buf *b, size_t n, const char *what) {
  surg__buf_printf(b, "%zu %s%s", n, what, n == 1 ? "" : "s");
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
static void put_name(surg__buf *b, const char *name, size_t width) {
  const size_t start = b->n;
  surg__buf_escape(b, name, strlen(name), 0);
  if (b->failed || b->n - start <= width) return;
  b->n = start + (width > 3 ? width - 3 : 0);
  surg__buf_puts(b, "...");
}

/* Appends blanks up to `column` of the line that begins at `start`, but at least one. */
static void put_gap(surg__buf *b, size_t start, size_t column) {
  do surg__buf_putc(b, ' ');
  while (!b->failed && b->n - start < column);
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
    put_gap(b, start, (size_t)width + 2);
    surg__check_put_type(b, interface_type(g, output, i));
    if (!output && surg_value_is_initializer(surg_graph_input(g, i)))
      surg__buf_puts(b, "  (has a default)");
    surg__buf_putc(b, '\n');
  }
  if (shown < n) {
    surg__buf_printf(b, "%-12s", shown ? "" : "inputs");
    put_count(b, n - shown, "weight");
    surg__buf_puts(b, " in the input list (IR < 4)\n");
  }
}

static void put_op(surg__buf *b, const cli_op_count *op) {
  if (op->domain[0]) {
    surg__buf_escape(b, op->domain, strlen(op->domain), SURG_LIMIT_NAME_PRINT);
    surg__buf_putc(b, '.');
  }
  surg__buf_escape(b, op->op, strlen(op->op), SURG_LIMIT_NAME_PRINT);
}

static void put_ops(surg__buf *b, const cli_stats *s) {
  for (size_t i = 0; i < s->op_count && i < SHOWN_OPS; i++) {
    surg__buf_printf(b, "%-12s%8zu  ", i ? "" : "operators", s->ops[i].count);
    put_op(b, &s->ops[i]);
    surg__buf_putc(b, '\n');
  }
  if (s->op_count > SHOWN_OPS)
    surg__buf_printf(b, "%-12s%8s  and %zu more (--json lists all)\n", "", "",
                     s->op_count - SHOWN_OPS);
}

/* Appends a line with the operators of one kind: `2 If, 1 Loop`. */
static void put_some_ops(surg__buf *b, const cli_stats *s, const char *title,
                         bool (*which)(const cli_op_count *op)) {
  size_t shown = 0, left = 0;
  for (size_t i = 0; i < s->op_count; i++) {
    if (!which(&s->ops[i])) continue;
    if (shown == SHOWN_OPS / 2) {
      left++;
      continue;
    }
    if (shown++)
      surg__buf_puts(b, ", ");
    else
      surg__buf_printf(b, "%-12s", title);
    surg__buf_printf(b, "%zu ", s->ops[i].count);
    put_op(b, &s->ops[i]);
  }
  if (left) surg__buf_printf(b, " and %zu more", left);
  if (shown) surg__buf_putc(b, '\n');
}
static bool is_control(const cli_op_count *op) {
  return op->control;
}
static bool is_custom(const cli_op_count *op) {
  return op->op_class == SURG_OP_CLASS_CUSTOM;
}

static void put_weights(surg__buf *b, const info_facts *f) {
  size_t kinds = 0, tensors = 0;
  const char *only = NULL;
  for (int d = 0; d < SURG_DTYPE_COUNT; d++) {
    if (!f->weights[d].tensors) continue;
    tensors += f->weights[d].tensors;
    only = kinds++ ? NULL : surg_dtype_name(d);
  }
  surg__buf_printf(b, "%-12s%llu in ", "weights", (unsigned long long)f->stats.parameters);
  put_count(b, tensors, "tensor");
  surg__buf_printf(b, ", %s%s%s\n", cli_bytes(f->stats.weight_bytes), only ? " of " : "",
                   only ? only : "");
  for (int d = 0; d < SURG_DTYPE_COUNT && kinds > 1; d++)
    if (f->weights[d].tensors)
      surg__buf_printf(b, "%-12s%8llu  %-14s %12s in %llu\n", "",
                       (unsigned long long)f->weights[d].parameters, surg_dtype_name(d),
                       cli_bytes(f->weights[d].bytes), (unsigned long long)f->weights[d].tensors);
}

/* Appends `4.09 G*N + 12 k`. Long sums are printed only as JSON. */
static void put_sum(surg__buf *b, const surg__poly *sum) {
  const size_t start = b->n;
  bool first = true;
  for (uint32_t i = 0; i < sum->n && !sum->bad; i++) {
    const int64_t k = sum->coeffs[i];
    surg__buf_puts(b, first ? (k < 0 ? "-" : "") : k < 0 ? " - " : " + ");
    surg__buf_printf(b, "%s*", cli_count(k < 0 ? -(uint64_t)k : (uint64_t)k));
    surg__expr_print(b, sum->args[i]);
    first = false;
  }
  if (sum->k || first)
    surg__buf_printf(b, "%s%s",
                     first        ? ""
                     : sum->k < 0 ? " - "
                                  : " + ",
                     cli_count(sum->k < 0 ? -(uint64_t)sum->k : (uint64_t)sum->k));
  if (!b->failed && !sum->bad && b->n - start <= CLI_WIDTH - 36) return;
  b->n = start;
  surg__buf_puts(b, sum->bad ? "too large to count" : "a long expression (--json) of");
}

static void put_compute(surg__buf *b, const info_facts *f) {
  surg__buf_printf(b, "%-12s", "compute");
  put_sum(b, &f->macs);
  const bool symbolic = f->macs.n || f->flops.n;
  surg__buf_printf(b, " multiply-accumulates,%s", symbolic ? "\n            " : " ");
  put_sum(b, &f->flops);
  surg__buf_puts(b, " operations\n");
  if (f->size_unknown) {
    surg__buf_printf(b, "%-12snot counted: ", "");
    put_count(b, f->size_unknown, "node");
    surg__buf_puts(b, " of unknown size\n");
  }
  if (f->operator_unknown) {
    surg__buf_printf(b, "%-12snot counted: ", "");
    put_count(b, f->operator_unknown, "node");
    surg__buf_puts(b, " whose operator has no rule\n");
  }
  if (f->calls_unknown) {
    surg__buf_printf(b, "%-12snot counted: ", "");
    put_count(b, f->calls_unknown, "call");
    surg__buf_puts(b, " of functions\n");
  }
}

/* Appends `Conv "name"`. */
static void put_node(surg__buf *b, const surg_node *n, size_t width) {
  const char *name = surg_node_name(n);
  surg__buf_escape(b, surg_node_op_type(n), strlen(surg_node_op_type(n)), 40);
  if (!*name) return;
  surg__buf_puts(b, " \"");
  put_name(b, name, width);
  surg__buf_putc(b, '"');
}

static void put_memory(surg__buf *b, const info_facts *f) {
  surg__buf_printf(b, "%-12s%s of values at most", "memory", cli_bytes(f->peak.bytes));
  if (f->peak.node && f->peak.bytes) {
    surg__buf_puts(b, ", at ");
    put_node(b, f->peak.node, 24);
  }
  surg__buf_putc(b, '\n');
  if (*f->symbols) surg__buf_printf(b, "%-12swith %s as 1 (--dim gives sizes)\n", "", f->symbols);
  if (f->peak.unknown)
    surg__buf_printf(b, "%-12snot counted: %zu of %zu values of unknown size\n", "",
                     f->peak.unknown, f->values);
}

static void put_floors(surg__buf *b, const info_facts *f) {
  const char *title = "fits from";
  for (size_t i = 0; i < f->floor_count; i++) {
    const info_floor *x = &f->floors[i];
    surg__buf_printf(b, "%-12s%s%sopset %d, for ", title, x->domain, *x->domain ? " " : "",
                     x->opset);
    surg__buf why;
    surg__buf_init(&why, f->ctx);
    surg__node_oldest(x->node, &why);
    surg__buf_putc(&why, 0);
    put_node(b, x->node, 24);
    surg__buf_printf(b, ":\n%14s", "");
    cli_put_wrapped(b, why.failed ? "?" : why.p, 14, 14);
    surg__buf_free(&why);
    title = "";
  }
  surg__buf_printf(b, "%-12sIR %lld", title, (long long)f->ir_floor);
  if (*f->ir_what && f->ir_floor > 3) {
    surg__buf_puts(b, ", for ");
    put_name(b, f->ir_what, CLI_WIDTH - 26);
  }
  surg__buf_putc(b, '\n');
}

/* Prints the opsets that both the model's operators and the target support. */
static void put_window(surg__buf *b, const info_facts *f) {
  if (!f->target) return;
  int64_t low, high;
  const surg_node *floor = info_window(f, &low, &high);
  surg__buf_printf(b, "%-12s%s: ", "target", f->target->name);
  if (low <= high) {
    surg__buf_printf(b, "opset %lld to %lld\n", (long long)low, (long long)high);
    return;
  }
  surg__buf_printf(b, "no opset fits: it supports up to %lld, the content needs %lld",
                   (long long)high, (long long)low);
  if (floor) surg__buf_printf(b, "\n%-14sfor %s", "", surg_node_where(floor));
  surg__buf_printf(b, "\n%-14sonnxsurg repair --target %s\n", "", f->target->name);
}

static void put_files(surg__buf *b, const info_facts *f) {
  const char *title = "external";
  size_t shown = 0;
  for (const surg__datafile *d = f->m->files; d; d = d->next) {
    if (shown++ == SHOWN_OPS) continue;
    surg__buf_printf(b, "%-12s", title);
    put_name(b, d->location, 50);
    surg__buf_printf(b, "  %s\n", d->absent ? "cannot be read" : cli_bytes(d->size));
    title = "";
  }
  if (shown > SHOWN_OPS) surg__buf_printf(b, "%-12sand %zu more\n", "", shown - SHOWN_OPS);
  if (!f->absent.tensors) return;
  surg__buf_printf(b, "%-12s%llu weights, %s: their elements are not there\n", "not seen",
                   (unsigned long long)f->absent.tensors, cli_bytes(f->absent.bytes));
}

static void put_top(surg__buf *b, const info_facts *f, size_t top) {
  if (!top || !f->cost_count) return;
  surg__buf_printf(b, "\n      MACs       ops      %%  node and what it makes%s\n",
                   f->flops.n ? "   (each symbol as 1)" : "");
  for (size_t i = 0; i < f->cost_count && i < top; i++) {
    const info_cost *c = &f->costs[i];
    const size_t start = b->n;
    const double share = f->flops_at_1 ? 100.0 * (double)c->flops_at_1 / (double)f->flops_at_1 : 0;
    surg__buf_printf(b, "%10s %9s  %5.1f  ", c->macs_at_1 ? cli_count((uint64_t)c->macs_at_1) : "-",
                     cli_count((uint64_t)c->flops_at_1), share);
    put_node(b, c->node, 22);
    put_gap(b, start, 56);
    for (size_t k = 0; k < surg_node_output_count(c->node); k++) {
      const surg_value *v = surg_node_output(c->node, k);
      if (!v) continue;
      surg__check_put_type(b, surg_value_type(v));
      break;
    }
    surg__buf_putc(b, '\n');
  }
}

static void put_values(surg__buf *b, const info_facts *f) {
  surg__buf_puts(b, "\nvalues\n");
  for (surg_graph *g = NULL; (g = surg_model_next_graph(f->m, g));) {
    if (surg_graph_get_kind(g) != SURG_GRAPH_MAIN)
      surg__buf_printf(b, "  of %s\n", surg__locate_graph(g));
    for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));) {
      if (!*surg_value_name(v)) continue;
      const size_t start = b->n;
      surg__buf_puts(b, "  ");
      put_name(b, surg_value_name(v), 40);
      put_gap(b, start, 44);
      const surg_type *t = surg_value_type(v);
      surg__check_put_type(b, t ? t : surg_value_declared_type(v));
      surg__buf_putc(b, '\n');
    }
  }
}

static void put_format(surg__buf *b, const surg_model *m) {
  surg__buf line;
  surg__buf_init(&line, b->ctx);
  surg__buf_printf(&line, "IR %lld, opset", (long long)surg_model_ir_version(m));
  for (size_t i = 0; i < surg_model_import_count(m); i++) {
    const char *domain = surg_model_import_domain(m, i);
    surg__buf_puts(&line, i ? ", " : " ");
    if (domain[0]) {
      surg__buf_escape(&line, domain, strlen(domain), SURG_LIMIT_NAME_PRINT);
      surg__buf_putc(&line, ' ');
    }
    surg__buf_printf(&line, "%lld", (long long)surg_model_import_version(m, i));
  }
  surg__buf_putc(&line, 0);
  surg__buf_printf(b, "%-12s", "format");
  cli_put_wrapped(b, line.failed ? "?" : line.p, 12, 12);
  surg__buf_free(&line);
}

void info_print_text(const info_facts *f, size_t top, bool values) {
  surg__buf b;
  surg__buf_init(&b, f->ctx);
  put_format(&b, f->m);
  const size_t open = surg_model_open_findings(f->m);
  if (open)
    surg__buf_printf(&b, "%-12s%zu error%s (onnxsurg check lists them)\n", "invalid", open,
                     open == 1 ? "" : "s");
  put_floors(&b, f);
  put_window(&b, f);
  put_interface(&b, f->m, false);
  put_interface(&b, f->m, true);
  surg__buf_printf(&b, "%-12s%8zu", "nodes", f->stats.nodes);
  const char *between = "  (";
  for (int functions = 0; functions < 2; functions++) {
    const size_t n = functions ? f->stats.functions : f->stats.subgraphs;
    if (!n) continue;
    surg__buf_puts(&b, between);
    put_count(&b, n, functions ? "function" : "subgraph");
    between = ", ";
  }
  if (*between == ',') surg__buf_putc(&b, ')');
  surg__buf_putc(&b, '\n');
  put_ops(&b, &f->stats);
  put_some_ops(&b, &f->stats, "control", is_control);
  put_some_ops(&b, &f->stats, "custom", is_custom);
  surg__buf_printf(&b, "%-12s%8zu  (%zu of known rank, %zu of known size)\n", "values", f->values,
                   f->values_ranked, f->values_sized);
  put_weights(&b, f);
  put_compute(&b, f);
  put_memory(&b, f);
  if (f->bytes) surg__buf_printf(&b, "%-12s%s\n", "file", cli_bytes(f->bytes));
  put_files(&b, f);
  put_top(&b, f, top);
  if (values) put_values(&b, f);
  if (b.p && !b.failed) fwrite(b.p, 1, b.n, stdout);
  surg__buf_free(&b);
}
