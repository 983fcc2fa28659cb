/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of `onnxsurg info`: models, weights, folders of names. */
#include <stdlib.h>
#include <string.h>

#include "info.h"

#define SYMBOLS_NOTE "\nwith 1 for each symbol of a dimension (--dim NAME=SIZE)"
#define ELEMENTS_MOST (UINT64_C(1) << 24) /* of a weight that are read */

/* ---- weights -----------------------------------------------------------------------------------
 */

/* Calls `fn` for each constant of the model. */
typedef void (*weight_fn)(void *user, const surg_value *v, const surg_tensor *t);
static void each_weight(const info_facts *f, weight_fn fn, void *user) {
  for (surg_graph *g = NULL; (g = surg_model_next_graph(f->m, g));) {
    for (surg_value *v = NULL; (v = surg_graph_next_initializer(g, v));)
      if (surg_value_initializer(v)) fn(user, v, surg_value_initializer(v));
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      const surg_value *v = surg_node_output(n, 0);
      if (v && surg_value_constant(v)) fn(user, v, surg_value_constant(v));
    }
  }
}

static bool measure(const surg_tensor *t, surg_tensor_statistics *s) {
  *s = (surg_tensor_statistics){.size = sizeof *s};
  return surg_tensor_measure(t, ELEMENTS_MOST, s) == SURG_OK && s->count;
}

/* A histogram as one letter for each bin, darker for more elements. */
static void put_bins(cli_table *t, const surg_tensor_statistics *s) {
  static const char shades[] = " .:-=+*#%@";
  char text[SURG_STATISTICS_BINS + 1] = "";
  uint64_t most = 1;
  for (size_t i = 0; i < SURG_STATISTICS_BINS; i++)
    if (s->bins[i] > most) most = s->bins[i];
  for (size_t i = 0; i < SURG_STATISTICS_BINS && s->low < s->high; i++) {
    const size_t last = sizeof shades - 2;
    const size_t level = (size_t)((double)s->bins[i] / (double)most * (double)last);
    text[i] = shades[s->bins[i] && !level ? 1 : level];
  }
  if (t->markdown && *text)
    cli_table_printf(t, "`%s`", text); /* which keeps blanks */
  else
    cli_table_put(t, text);
}

static void put_type(cli_table *t, const surg_tensor *x, size_t columns) {
  const char *type = surg_dtype_name(surg_tensor_dtype(x));
  cli_text b = {0};
  cli_text_printf(&b, "%s[", type ? type : "?");
  for (size_t i = 0; i < surg_tensor_rank(x); i++)
    cli_text_printf(&b, "%s%lld", i ? "," : "", (long long)surg_tensor_dims(x)[i]);
  cli_text_putc(&b, ']');
  if (!t->markdown && b.n > columns) {
    cli_text_cut(&b, columns - 3);
    cli_text_puts(&b, "...");
  }
  cli_table_put(t, cli_text_of(&b));
  cli_text_free(&b);
}

typedef struct weight_table {
  cli_table *t;
  cli_text *notes;
} weight_table;

/* Groups of four elements of which two are 0: where at least half of them are so. */
static void add_groups(weight_table *w, const char *name, const surg_value *v) {
  surg_groups g = {.size = sizeof g};
  if (surg_value_groups(v, ELEMENTS_MOST, &g) != SURG_OK || g.fit < g.read - g.fit) return;
  cli_text_puts(w->notes, "  ");
  cli_text_escape(w->notes, name, CLI_NAME_PRINT);
  cli_text_printf(w->notes, ": 2:4 along axis %zu: %llu of %llu groups of four have two zeros\n",
                  g.axis, (unsigned long long)g.fit, (unsigned long long)g.read);
}

static void add_weight(void *user, const surg_value *v, const surg_tensor *x) {
  weight_table *w = user;
  const char *name = surg_value_name(v);
  surg_tensor_statistics s;
  cli_table_name(w->t, name, 22);
  put_type(w->t, x, 17);
  if (!measure(x, &s)) {
    for (int i = 0; i < 2; i++) cli_table_put(w->t, "-");
    cli_table_put(w->t, surg_tensor_count(x) ? "not read" : "no elements");
    return;
  }
  cli_table_printf(w->t, s.finite ? "%.4g" : "-", s.low);
  cli_table_printf(w->t, s.finite ? "%.4g" : "-", s.high);
  put_bins(w->t, &s);
  add_groups(w, name, v);
  if (!s.nans && !s.infinities && s.read == s.count) return;
  cli_text_puts(w->notes, "  ");
  cli_text_escape(w->notes, name, CLI_NAME_PRINT);
  cli_text_puts(w->notes, ":");
  const char *between = " ";
  if (s.nans) cli_text_printf(w->notes, "%s%llu NaN", between, (unsigned long long)s.nans);
  if (s.nans) between = ", ";
  if (s.infinities)
    cli_text_printf(w->notes, "%s%llu infinite", between, (unsigned long long)s.infinities);
  if (s.infinities) between = ", ";
  if (s.read < s.count)
    cli_text_printf(w->notes, "%s%llu of %llu elements were read", between,
                    (unsigned long long)s.read, (unsigned long long)s.count);
  cli_text_putc(w->notes, '\n');
}

void info_print_weights(const info_facts *f, bool markdown) {
  cli_table t = {.markdown = markdown,
                 .titles = {"weight", "type", ">least", ">largest", "histogram"}};
  cli_text notes = {0};
  weight_table w = {&t, &notes};
  each_weight(f, add_weight, &w);
  cli_table_print(&t);
  if (notes.n && markdown) putchar('\n');
  cli_text_print(&notes);
}

static void add_groups_json(json_t *j, const surg_value *v) {
  surg_groups g = {.size = sizeof g};
  if (surg_value_groups(v, ELEMENTS_MOST, &g) == SURG_OK)
    json_object_set_new(j, "groups_of_four",
                        json_pack("{s:I,s:I,s:I,s:I}", "axis", (json_int_t)g.axis, "groups",
                                  (json_int_t)g.groups, "read", (json_int_t)g.read, "two_zeros",
                                  (json_int_t)g.fit));
}

static void add_weight_json(void *user, const surg_value *v, const surg_tensor *x) {
  surg_tensor_statistics s;
  const char *type = surg_dtype_name(surg_tensor_dtype(x));
  json_t *dims = json_array(), *j = json_object();
  for (size_t i = 0; i < surg_tensor_rank(x); i++)
    json_array_append_new(dims, json_integer(surg_tensor_dims(x)[i]));
  json_object_set_new(j, "name", cli_text_json(surg_value_name(v)));
  json_object_set_new(j, "type", json_string(type ? type : ""));
  json_object_set_new(j, "dims", dims);
  if (measure(x, &s)) {
    json_t *bins = json_array();
    for (size_t i = 0; i < SURG_STATISTICS_BINS; i++)
      json_array_append_new(bins, json_integer((json_int_t)s.bins[i]));
    json_object_set_new(j, "read", json_integer((json_int_t)s.read));
    json_object_set_new(j, "zeros", json_integer((json_int_t)s.zeros));
    json_object_set_new(j, "nan", json_integer((json_int_t)s.nans));
    json_object_set_new(j, "infinite", json_integer((json_int_t)s.infinities));
    if (s.finite) {
      json_object_set_new(j, "low", json_real(s.low));
      json_object_set_new(j, "high", json_real(s.high));
      json_object_set_new(j, "mean", json_real(s.mean));
      json_object_set_new(j, "deviation", json_real(s.deviation));
      json_object_set_new(j, "histogram", bins);
    } else {
      json_decref(bins);
    }
    add_groups_json(j, v);
  }
  json_array_append_new(user, j);
}

json_t *info_weights_json(const info_facts *f) {
  json_t *list = json_array();
  each_weight(f, add_weight_json, list);
  return list;
}

/* ---- folders -----------------------------------------------------------------------------------
 */

surg_status info_print_modules(const info_facts *f, size_t depth, bool markdown) {
  surg_modules *ms = NULL;
  surg_info_module m = {.size = sizeof m};
  cli_table t = {.markdown = markdown,
                 .titles = {">MACs", ">ops", ">%", ">parameters", ">nodes", "folder of names"}};
  enum { COLUMNS = 6 };
  const surg_status s = surg_modules_new(f->info, depth, &ms);
  for (size_t i = 0; s == SURG_OK && surg_modules_at(ms, i, &m) == SURG_OK; i++) {
    const double all = (double)f->sum.flops_at_1;
    const char *slash = strrchr(m.name, '/');
    cli_text name = {0};
    cli_table_put(&t, info_amount(m.macs_at_1));
    cli_table_put(&t, info_amount(m.flops_at_1));
    if (m.flops_at_1 < 0 || all <= 0)
      cli_table_put(&t, "-");
    else
      cli_table_printf(&t, "%.1f", 100.0 * (double)m.flops_at_1 / all);
    cli_table_put(&t, m.parameters ? cli_count(m.parameters) : "-");
    cli_table_printf(&t, "%zu", m.nodes);
    if (!markdown) cli_text_printf(&name, "%*s", 2 * (int)m.depth, "");
    cli_text_escape(&name, !*m.name ? "(all)" : markdown || !slash ? m.name : slash + 1, 0);
    if (!markdown && name.n > 36) cli_text_cut(&name, 36);
    cli_table_put(&t, cli_text_of(&name));
    cli_text_free(&name);
  }
  surg_modules_free(ms);
  if (s != SURG_OK) return s;
  const bool none = t.n == COLUMNS;
  cli_table_print(&t);
  if (none && !markdown) puts("no name of a node or value has a folder");
  if (info_is_symbolic(f)) puts(&SYMBOLS_NOTE[markdown ? 0 : 1]);
  return s;
}

json_t *info_modules_json(const info_facts *f, size_t depth) {
  surg_modules *ms = NULL;
  surg_info_module m = {.size = sizeof m};
  json_t *list = json_array();
  const surg_status s = surg_modules_new(f->info, depth, &ms);
  for (size_t i = 0; s == SURG_OK && surg_modules_at(ms, i, &m) == SURG_OK; i++)
    json_array_append_new(
        list, json_pack("{s:o,s:I,s:I,s:I,s:I}", "name", cli_text_json(m.name), "nodes",
                        (json_int_t)m.nodes, "parameters", (json_int_t)m.parameters, "macs",
                        (json_int_t)m.macs_at_1, "flops", (json_int_t)m.flops_at_1));
  surg_modules_free(ms);
  return list;
}

/* ---- models ------------------------------------------------------------------------------------
 */

static void put_total(cli_table *t, const info_facts *f) {
  int64_t macs = 0;
  surg_info_node c = {.size = sizeof c};
  for (size_t i = 0; macs >= 0 && surg_info_cost(f->info, i, &c) == SURG_OK; i++)
    if (c.macs_at_1 < 0)
      macs = -1;
    else if (__builtin_add_overflow(macs, c.macs_at_1, &macs))
      macs = INT64_MAX;
  cli_text b = {0};
  cli_text_printf(&b, "%s%s", info_amount(macs), info_is_symbolic(f) ? "*" : "");
  cli_table_put(t, cli_text_of(&b));
  cli_text_free(&b);
}

void info_table_start(cli_table *t, bool markdown) {
  *t = (cli_table){.markdown = markdown,
                   .titles = {"model", ">IR", ">opset", ">nodes", ">parameters", ">weights",
                              ">MACs", ">memory"}};
}

void info_table_add(cli_table *t, const info_facts *f) {
  const int64_t opset = surg_model_opset(f->m, "");
  cli_table_name(t, cli_base_name(f->path), INFO_NAME);
  cli_table_printf(t, "%lld", (long long)surg_model_ir_version(f->m));
  cli_table_printf(t, opset ? "%lld" : "-", (long long)opset);
  cli_table_printf(t, "%zu", f->stats.nodes);
  cli_table_put(t, cli_count(f->stats.parameters));
  cli_table_put(t, cli_bytes(f->stats.weight_bytes));
  put_total(t, f);
  cli_table_put(t, cli_bytes(f->sum.peak_bytes));
}
