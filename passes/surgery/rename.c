/* SPDX-License-Identifier: Apache-2.0 */
/* Renames inputs, outputs, inner values, nodes and symbolic dimensions, all at once, so that names
 * can be swapped.
 *
 *   before: (float[N] x) => (float[N] y) { [r] y = Relu (x) }
 *   after:  (float[B] in) => (float[B] y) { [relu] y = Relu (in) }
 *                                             rename{input.x=in,node.r=relu,dim.N=B}
 *
 * Needs nothing. Keeps sorted. Exact; changes the interface. */
#include <onnxsurg/edit.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#include "../util/nearest.h"
#include "../util/select.h"
#include "../util/values.h"
#include "rename.h"

#define TEXT 1200

static const char *const words[] = {[RENAME_INPUT] = "input",
                                    [RENAME_OUTPUT] = "output",
                                    [RENAME_VALUE] = "value",
                                    [RENAME_NODE] = "node",
                                    [RENAME_DIM] = "dim"};
_Static_assert(sizeof words / sizeof *words == RENAME_KINDS, "a word for each option");

typedef rename_change change;

typedef struct renaming {
  surg_pass_ctx *p;
  surg_model *m;
  surg_graph *g;
  change *list;
  size_t n;
  const char **dim_from, **dim_to;
  size_t n_dims;
} renaming;

/* ---- reading the options --------------------------------------------------------------------- */

static surg_pass_result missing(renaming *r, const change *c) {
  char text[TEXT], more[TEXT / 2] = "";
  if (surg_graph_find_value(r->g, c->from))
    snprintf(more, sizeof more, "; it is another value of the main graph");
  else
    values_hint(r->p, r->g, c->from, more, sizeof more);
  snprintf(text, sizeof text, "the model has no %s '%.300s'%s", words[c->what], c->from, more);
  return surg_pass_usage(r->p, text);
}

/* The value of an input or output: by its name, or by its place (`graph.input[0]`). */
static surg_value *place_of_end(const renaming *r, const change *c) {
  surg_value *v = surg_graph_find_value(r->g, c->from);
  size_t n;
  if (!v && surg_select_values(r->m, c->from, &v, 1, &n, NULL, 0) != SURG_OK) return NULL;
  return v;
}

static surg_pass_result find_end(renaming *r, change *c) {
  surg_value *v = place_of_end(r, c);
  bool is = v && c->what == RENAME_INPUT && surg_value_is_input(v);
  for (size_t i = 0; v && !is && c->what == RENAME_OUTPUT && i < surg_graph_output_count(r->g); i++)
    is = surg_graph_output(r->g, i) == v;
  if (!is) return missing(r, c);
  c->value = v;
  return SURG_PASS_CHANGED;
}

static bool at_edge(const renaming *r, const surg_value *v) {
  if (surg_value_graph(v) != r->g) return false;
  if (surg_value_is_input(v)) return true;
  for (size_t i = 0; i < surg_graph_output_count(r->g); i++)
    if (surg_graph_output(r->g, i) == v) return true;
  return false;
}

/* Finds a value that is neither input nor output of the model. */
static surg_pass_result find_value(renaming *r, change *c) {
  c->value = select_value(r->p, "value", c->from);
  if (!c->value) return SURG_PASS_FAILED;
  if (at_edge(r, c->value)) {
    char text[TEXT];
    snprintf(text, sizeof text, "value '%.300s' is an %s of the model: name it as %s.%.300s",
             c->from, surg_value_is_input(c->value) ? "input" : "output",
             surg_value_is_input(c->value) ? "input" : "output", c->from);
    return surg_pass_usage(r->p, text);
  }
  return SURG_PASS_CHANGED;
}

static surg_pass_result find_node(renaming *r, change *c) {
  c->node = select_node(r->p, "node", c->from);
  return c->node ? SURG_PASS_CHANGED : SURG_PASS_FAILED;
}

static surg_pass_result read_dim(renaming *r, const change *c) {
  char text[TEXT];
  if (c->to[strspn(c->to, "0123456789")] == 0) {
    snprintf(text, sizeof text,
             "dim '%.300s' cannot be named '%.100s': freeze{'%.300s'=%.100s} "
             "makes it a number",
             c->from, c->to, c->from, c->to);
    return surg_pass_usage(r->p, text);
  }
  r->dim_from[r->n_dims] = c->from;
  r->dim_to[r->n_dims++] = c->to;
  return SURG_PASS_CHANGED;
}

/* Splits `input.old` into the kind and the name. */
static bool split(const char *name, change *c) {
  const char *dot = strchr(name, '.');
  for (int w = 0; dot && w < RENAME_KINDS; w++) {
    if (strlen(words[w]) != (size_t)(dot - name) || strncmp(words[w], name, (size_t)(dot - name)))
      continue;
    c->what = (rename_what)w;
    c->from = dot + 1;
    return true;
  }
  return false;
}

/* A hint for the name of a value without the kind before it. */
static void kind_of(const renaming *r, const char *name, char *out, size_t room) {
  const surg_value *v = surg_graph_find_value(r->g, name);
  if (!v) return;
  const char *kind = surg_value_is_input(v) ? "input" : at_edge(r, v) ? "output" : "value";
  snprintf(out, room, "; did you mean '%s.%.300s'?", kind, name);
}

static surg_pass_result read_change(renaming *r, size_t i, change *c) {
  char text[TEXT];
  const char *name = surg_pass_pair_name(r->p, i);
  c->to = surg_pass_pair_value(r->p, i, 0);
  if (!split(name, c) || !*c->from) {
    char kind[16];
    nearest near = {.name = kind};
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(name, "."), name);
    if (strchr(name, '.')) nearest_offer_list(&near, words, RENAME_KINDS);
    char typed[NEAREST_NAME + 40] = "";
    if (!*near.best) kind_of(r, name, typed, sizeof typed);
    snprintf(text, sizeof text,
             "'%.300s' is none of input.NAME, output.NAME, value.NAME, node.NAME, dim.NAME%s%s",
             name, nearest_hint(&near), typed);
    return surg_pass_usage(r->p, text);
  }
  if (!c->to || !*c->to || surg_pass_pair_value(r->p, i, 1)) {
    snprintf(text, sizeof text, "%.300s needs one new name", name);
    return surg_pass_usage(r->p, text);
  }
  switch (c->what) {
    case RENAME_INPUT:
    case RENAME_OUTPUT:
      return find_end(r, c);
    case RENAME_VALUE:
      return find_value(r, c);
    case RENAME_NODE:
      return find_node(r, c);
    default:
      return read_dim(r, c);
  }
}

/* ---- values and nodes ------------------------------------------------------------------------ */

static surg_pass_result taken(renaming *r, const change *c) {
  char text[TEXT];
  snprintf(text, sizeof text, "%s '%.300s' cannot be named '%.300s': %s", words[c->what], c->from,
           c->to,
           surg_value_is_pinned(c->value) ? "training_info refers to it"
                                          : "another value has that name");
  return surg_pass_fail(r->p, NULL, text);
}

static bool is_value(const change *c) {
  return c->what == RENAME_INPUT || c->what == RENAME_OUTPUT || c->what == RENAME_VALUE;
}

static surg_pass_result rename_values(renaming *r) {
  surg_value **values = surg_pass_alloc(r->p, (r->n + 1) * sizeof *values);
  const char **names = surg_pass_alloc(r->p, (r->n + 1) * sizeof *names);
  const change **of = surg_pass_alloc(r->p, (r->n + 1) * sizeof *of);
  size_t n = 0, failed = 0;
  if (!values || !names || !of) return SURG_PASS_FAILED;
  for (size_t i = 0; i < r->n; i++) {
    if (!is_value(&r->list[i])) continue;
    of[n] = &r->list[i];
    values[n] = r->list[i].value;
    names[n++] = r->list[i].to;
  }
  const surg_status s = surg_model_rename_values(r->m, values, names, n, &failed);
  if (s == SURG_EINVALID) return taken(r, of[failed]);
  return s == SURG_OK ? SURG_PASS_CHANGED : SURG_PASS_FAILED;
}

static surg_pass_result rename_nodes(renaming *r) {
  for (size_t i = 0; i < r->n; i++)
    if (r->list[i].what == RENAME_NODE &&
        surg_node_set_name(r->list[i].node, r->list[i].to) != SURG_OK)
      return SURG_PASS_FAILED;
  return SURG_PASS_CHANGED;
}

/* ---- dimensions ------------------------------------------------------------------------------ */

typedef struct dim_search {
  nearest near; /* of the name */
  bool found;
} dim_search;

static void search_type(dim_search *x, const surg_type *t) {
  for (; t; t = surg_type_elem(t))
    for (size_t i = 0; i < surg_type_rank(t); i++) {
      const char *param = surg_type_dim(t, i)->param;
      x->found |= param && strcmp(param, x->near.name) == 0;
      nearest_offer(&x->near, param);
    }
}

static bool dim_used(const renaming *r, dim_search *x) {
  for (surg_graph *g = surg_model_next_graph(r->m, NULL); g; g = surg_model_next_graph(r->m, g)) {
    for (size_t i = 0; i < surg_graph_output_count(g); i++)
      search_type(x, surg_graph_output_type(g, i));
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v))
      search_type(x, surg_value_declared_type(v));
  }
  return x->found;
}

static surg_pass_result check_dims(renaming *r) {
  for (size_t i = 0; i < r->n_dims; i++) {
    char text[TEXT];
    bool leaves = false;
    dim_search from = {.near.name = r->dim_from[i]}, to = {.near.name = r->dim_to[i]};
    if (!dim_used(r, &from)) {
      snprintf(text, sizeof text, "the model declares no dim '%.300s'%s", r->dim_from[i],
               nearest_hint(&from.near));
      return surg_pass_usage(r->p, text);
    }
    for (size_t k = 0; k < r->n_dims && !leaves; k++)
      leaves = strcmp(r->dim_from[k], r->dim_to[i]) == 0;
    for (size_t k = 0; k < i; k++)
      if (strcmp(r->dim_to[k], r->dim_to[i]) == 0) leaves = false;
    if (leaves || !dim_used(r, &to)) continue;
    snprintf(text, sizeof text,
             "dim '%.300s' cannot be named '%.300s': another one has it, and they may differ",
             r->dim_from[i], r->dim_to[i]);
    return surg_pass_fail(r->p, NULL, text);
  }
  return SURG_PASS_CHANGED;
}

static surg_pass_result rename_dims(renaming *r) {
  for (surg_graph *g = surg_model_next_graph(r->m, NULL); g && r->n_dims;
       g = surg_model_next_graph(r->m, g))
    for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
      const surg_type *t = surg_value_declared_type(v);
      if (!t) continue;
      const surg_type *now = surg_type_rename_dims(r->m, t, r->dim_from, r->dim_to, r->n_dims);
      if (!now || (now != t && surg_value_set_declared_type(v, now) != SURG_OK))
        return SURG_PASS_FAILED;
    }
  return SURG_PASS_CHANGED;
}

/* ---- all ------------------------------------------------------------------------------------- */

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  const size_t n = surg_pass_pair_count(p);
  renaming r = {.p = p, .m = surg_pass_model(p), .n = n};
  r.g = surg_model_graph(r.m);
  rename_change *all = NULL;
  size_t more;
  if (!rename_all(p, &all, &more)) return SURG_PASS_FAILED;
  if (n + more == 0 && !surg_pass_string(p, "prefix") && !surg_pass_string(p, "suffix") &&
      !surg_pass_string(p, "match"))
    return surg_pass_usage(p, "needs what to rename, such as input.old=new");
  r.list = surg_pass_alloc(p, (n + more + 1) * sizeof *r.list);
  r.dim_from = surg_pass_alloc(p, (n + 1) * sizeof *r.dim_from);
  r.dim_to = surg_pass_alloc(p, (n + 1) * sizeof *r.dim_to);
  if (!r.list || !r.dim_from || !r.dim_to) return SURG_PASS_FAILED;
  if (more) memcpy(r.list + n, all, more * sizeof *all);
  r.n = n + more;
  for (size_t i = 0; i < n; i++)
    if (read_change(&r, i, &r.list[i]) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  if (check_dims(&r) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  const uint64_t epoch = surg_model_epoch(r.m);
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (rename_values(&r) == SURG_PASS_FAILED || rename_nodes(&r) == SURG_PASS_FAILED ||
      rename_dims(&r) == SURG_PASS_FAILED)
    return SURG_PASS_FAILED;
  return surg_model_epoch(r.m) == epoch ? SURG_PASS_UNCHANGED : SURG_PASS_CHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(STRING, "prefix", NULL, "text before many names"),
    SURG_OPTION(STRING, "suffix", NULL, "text after many names"),
    SURG_OPTION(STRING, "match", NULL, "regular expression that selects names"),
    SURG_OPTION(STRING, "by", NULL, "what replaces its first match; \\1 is a group"),
    SURG_OPTION(LIST, "of", NULL, "of inputs, outputs, values, nodes (values+nodes)"),
    SURG_OPTION(PAIRS, "name", NULL, "input.OLD=NEW; or output., value., node., dim."),
};

const surg_pass surg__pass_rename = {
    SURG_PASS_HEAD(MODEL, "rename", "rename inputs, outputs, values, nodes, dimensions"),
    SURG_PASS_OPTIONS(options),
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
