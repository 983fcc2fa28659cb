/* SPDX-License-Identifier: Apache-2.0 */
/* See node_row.h. */
#include "node_row.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/program.h"

#define LIST_SHOWN 8   /* elements of a list attribute */
#define TEXT_SHOWN 24u /* bytes of a string attribute */
#define NAME_WIDE 24u  /* columns that a name may have on a terminal */
#define VALUES_WIDE 36u

/* ---- attributes ------------------------------------------------------------------------------ */

static void put_string(cli_text *t, surg_str s) {
  char *copy = strndup(s.p ? s.p : "", s.p ? s.n : 0);
  cli_text_putc(t, '"');
  if (copy)
    cli_text_escape(t, copy, TEXT_SHOWN);
  else
    cli_text_fail(t);
  cli_text_putc(t, '"');
  free(copy);
}

static void put_list(cli_text *t, const surg_attr *a) {
  size_t n = 0;
  const int64_t *ints = surg_attr_ints(a, &n);
  const float *floats = ints || n ? NULL : surg_attr_floats(a, &n);
  const surg_str *strings = ints || floats || n ? NULL : surg_attr_strings(a, &n);
  cli_text_putc(t, '[');
  for (size_t i = 0; i < n && i < LIST_SHOWN; i++) {
    if (i) cli_text_putc(t, ',');
    if (ints)
      cli_text_printf(t, "%lld", (long long)ints[i]);
    else if (floats)
      cli_text_printf(t, "%g", (double)floats[i]);
    else if (strings)
      put_string(t, strings[i]);
  }
  cli_text_puts(t, n > LIST_SHOWN ? ",...]" : "]");
}

static void put_tensor(cli_text *t, const surg_tensor *x) {
  const char *type = surg_dtype_name(surg_tensor_dtype(x));
  cli_text_puts(t, type ? type : "?");
  cli_text_putc(t, '[');
  for (size_t i = 0; i < surg_tensor_rank(x); i++)
    cli_text_printf(t, "%s%lld", i ? "," : "", (long long)surg_tensor_dims(x)[i]);
  cli_text_putc(t, ']');
}

static void put_graph(cli_text *t, const surg_graph *g) {
  const size_t n = surg_graph_node_count(g);
  cli_text_printf(t, "{%zu node%s}", n, n == 1 ? "" : "s");
}

static void put_attr(cli_text *t, surg_context *ctx, const surg_attr *a) {
  const char *ref = surg_attr_ref(a);
  cli_text_escape(t, surg_attr_name(a), CLI_NAME_PRINT);
  cli_text_putc(t, '=');
  if (ref) {
    cli_text_putc(t, '@');
    cli_text_escape(t, ref, CLI_NAME_PRINT);
    return;
  }
  switch (surg_attr_get_kind(a)) {
    case SURG_ATTR_INT:
      cli_text_printf(t, "%lld", (long long)surg_attr_int(a));
      break;
    case SURG_ATTR_FLOAT:
      cli_text_printf(t, "%g", (double)surg_attr_float(a));
      break;
    case SURG_ATTR_STRING:
      put_string(t, surg_attr_string(a));
      break;
    case SURG_ATTR_INTS:
    case SURG_ATTR_FLOATS:
    case SURG_ATTR_STRINGS:
      put_list(t, a);
      break;
    case SURG_ATTR_TENSOR:
      put_tensor(t, surg_attr_tensor(a, 0));
      break;
    case SURG_ATTR_GRAPH:
      put_graph(t, surg_attr_graph(a, 0));
      break;
    case SURG_ATTR_TYPE_PROTO:
      cli_text_type(t, ctx, surg_attr_type(a, 0));
      break;
    default:
      cli_text_puts(t, "...");
  }
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef enum column { PLACE, NAME, OPERATOR, OUTPUTS, INPUTS, ATTRIBUTES, COLUMNS } column;
static const char *const titles[] = {
    [PLACE] = "node",      [NAME] = "name",     [OPERATOR] = "operator",
    [OUTPUTS] = "outputs", [INPUTS] = "inputs", [ATTRIBUTES] = "attributes"};
_Static_assert(CLI_COUNT(titles) == COLUMNS, "a title for each column");

typedef struct table {
  surg_context *ctx;
  bool terminal;
  size_t wide[COLUMNS];
} table;

/* The inferred type, or the declared one where it says more. */
static const surg_type *type_of(const surg_value *v) {
  const surg_type *t = surg_value_type(v), *declared = surg_value_declared_type(v);
  if (!t || surg_type_get_kind(t) == SURG_TYPE_UNKNOWN) return declared;
  const bool open = surg_type_get_kind(t) == SURG_TYPE_TENSOR && !surg_type_has_rank(t);
  return open && declared && surg_type_has_rank(declared) ? declared : t;
}

static void put_value(cli_text *t, surg_context *ctx, const surg_value *v) {
  if (!v) {
    cli_text_puts(t, "\"\"");
    return;
  }
  cli_text_escape(t, surg_value_name(v), CLI_NAME_PRINT);
  const surg_type *type = type_of(v);
  if (!type || surg_type_get_kind(type) == SURG_TYPE_UNKNOWN) return;
  cli_text_putc(t, ' ');
  cli_text_type(t, ctx, type);
}

static void put_cell(cli_text *t, const table *x, const surg_node *n, size_t place, column c) {
  const size_t count = c == OUTPUTS  ? surg_node_output_count(n)
                       : c == INPUTS ? surg_node_input_count(n)
                                     : surg_node_attr_count(n);
  switch (c) {
    case PLACE:
      cli_text_printf(t, "%zu", place);
      return;
    case NAME:
      cli_text_escape(t, surg_node_name(n), CLI_NAME_PRINT);
      return;
    case OPERATOR:
      if (*surg_node_domain(n) && strcmp(surg_node_domain(n), "ai.onnx") != 0) {
        cli_text_escape(t, surg_node_domain(n), CLI_NAME_PRINT);
        cli_text_putc(t, '.');
      }
      cli_text_escape(t, surg_node_op_type(n), CLI_NAME_PRINT);
      return;
    default:
      break;
  }
  for (size_t i = 0; i < count; i++) {
    if (i) cli_text_puts(t, c == ATTRIBUTES ? " " : ", ");
    if (c == ATTRIBUTES)
      put_attr(t, x->ctx, surg_node_attr_at(n, i));
    else
      put_value(t, x->ctx, c == OUTPUTS ? surg_node_output(n, i) : surg_node_input(n, i));
  }
}

/* Calls `fn` for each node that is listed, with its index in its graph. */
typedef void (*row_fn)(void *user, const surg_node *n, size_t place, bool first);
static void each_row(surg_model *m, surg_node *const *only, size_t n, row_fn fn, void *user) {
  size_t k = 0;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    size_t place = 0;
    bool first = true;
    for (surg_node *x = surg_graph_first_node(g); x; x = surg_node_next(x), place++) {
      if (only && (k == n || only[k] != x)) continue;
      if (only) k++;
      fn(user, x, place, first);
      first = false;
    }
  }
}

static void measure(void *user, const surg_node *n, size_t place, bool first) {
  table *x = user;
  (void)first;
  for (column c = PLACE; c < ATTRIBUTES; c++) {
    cli_text t = {0};
    put_cell(&t, x, n, place, c);
    const size_t most = c >= OUTPUTS ? VALUES_WIDE : NAME_WIDE;
    size_t wide = cli_text_columns(&t);
    if (wide > most) wide = most; /* longer cells move the rest of their line */
    if (wide > x->wide[c]) x->wide[c] = wide;
    cli_text_free(&t);
  }
}

/* Prints a line, cut on a terminal. */
static void put_line(const table *x, cli_text *t) {
  while (t->n && t->p[t->n - 1] == ' ') cli_text_cut(t, t->n - 1);
  if (x->terminal && cli_text_columns(t) > CLI_WIDTH) {
    cli_text_cut(t, cli_bytes_of_columns(t->p, t->n, CLI_WIDTH - 3));
    cli_text_puts(t, "...");
  }
  cli_text_putc(t, '\n');
  cli_text_print(t);
}

static void gap(const table *x, cli_text *t, size_t start, column c) {
  size_t at = start;
  for (column i = PLACE; i <= c; i++) at += x->wide[i] ? x->wide[i] + 2 : 0;
  if (x->wide[c]) cli_text_gap(t, 0, at);
}

static void print_row(void *user, const surg_node *n, size_t place, bool first) {
  const table *x = user;
  const surg_graph *g = surg_node_graph(n);
  if (first && surg_graph_get_kind(g) != SURG_GRAPH_MAIN) printf("%s:\n", surg_graph_where(g));
  cli_text t = {0};
  for (column c = PLACE; c < COLUMNS; c++) {
    put_cell(&t, x, n, place, c);
    if (c < ATTRIBUTES) gap(x, &t, 0, c);
  }
  put_line(x, &t);
}

static void print_titles(table *x) {
  cli_text t = {0};
  for (column c = PLACE; c < COLUMNS; c++) {
    const size_t n = strlen(titles[c]);
    if (c < ATTRIBUTES && x->wide[c] && x->wide[c] < n) x->wide[c] = n;
    if (c < ATTRIBUTES && !x->wide[c]) continue; /* no node has one */
    cli_text_puts(&t, titles[c]);
    if (c < ATTRIBUTES) gap(x, &t, 0, c);
  }
  put_line(x, &t);
}

int node_table_print(surg_context *ctx, surg_model *m, surg_node *const *only, size_t n) {
  table x = {.ctx = ctx, .terminal = surg__os_is_terminal(fileno(stdout))};
  each_row(m, only, n, measure, &x);
  print_titles(&x);
  each_row(m, only, n, print_row, &x);
  return cli_text_failed() ? cli_no_memory() : EXIT_DONE;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *value_json(surg_context *ctx, const surg_value *v) {
  if (!v) return json_null();
  const surg_type *type = type_of(v);
  cli_text t = {0};
  if (type && surg_type_get_kind(type) != SURG_TYPE_UNKNOWN) cli_text_type(&t, ctx, type);
  json_t *j = json_pack("{s:o}", "name", cli_text_json(surg_value_name(v)));
  if (t.n) json_object_set_new(j, "type", cli_text_json(cli_text_of(&t)));
  cli_text_free(&t);
  return j;
}

json_t *node_json(surg_context *ctx, const surg_node *n) {
  json_t *in = json_array(), *out = json_array(), *attrs = json_object();
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    json_array_append_new(in, value_json(ctx, surg_node_input(n, i)));
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    json_array_append_new(out, value_json(ctx, surg_node_output(n, i)));
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    const size_t skip = strlen(surg_attr_name(a)) + 1;
    cli_text t = {0};
    put_attr(&t, ctx, a);
    const char *equals = strchr(cli_text_of(&t), '=');
    const char *text = strlen(cli_text_of(&t)) >= skip && equals ? equals + 1 : "";
    json_object_set_new(attrs, surg_attr_name(a), cli_text_json(text));
    cli_text_free(&t);
  }
  return json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "where", surg_node_where(n), "name",
                   cli_text_json(surg_node_name(n)), "domain", cli_text_json(surg_node_domain(n)),
                   "operator", cli_text_json(surg_node_op_type(n)), "inputs", in, "outputs", out,
                   "attributes", attrs);
}

typedef struct rows {
  surg_context *ctx;
  json_t *list;
} rows;

static void add_row(void *user, const surg_node *n, size_t place, bool first) {
  rows *r = user;
  (void)place, (void)first;
  json_array_append_new(r->list, node_json(r->ctx, n));
}

json_t *node_table_json(surg_context *ctx, surg_model *m, surg_node *const *only, size_t n) {
  rows r = {ctx, json_array()};
  each_row(m, only, n, add_row, &r);
  return r.list;
}
