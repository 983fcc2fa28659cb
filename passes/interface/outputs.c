/* SPDX-License-Identifier: Apache-2.0 */
/* Changes which values are outputs of the model: `keep` only those named, `drop` those named, `add`
 * any value of the main graph. Nodes that compute a dropped output stay until `prune`.
 *
 *   before: (x) => (y, z) { t = Abs (x)   y = Relu (t)   z = Neg (t) }     outputs{drop=z,add=t}
 *   after:  (x) => (y, t) { t = Abs (x)   y = Relu (t)   z = Neg (t) }
 *
 * Needs nothing. Keeps sorted, types. Exact; changes the interface. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>

#include "../util/select.h"

#define TEXT 1024

/* The values of an option, found before anything changes. */
typedef struct choice {
  surg_value **items;
  size_t n;
} choice;

typedef struct changing {
  surg_pass_ctx *p;
  surg_graph *g;
  choice keep, drop, add;
} changing;

static bool listed(const choice *c, const surg_value *v) {
  for (size_t i = 0; i < c->n; i++)
    if (c->items[i] == v) return true;
  return false;
}

static bool is_output(const surg_graph *g, const surg_value *v) {
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    if (surg_graph_output(g, i) == v) return true;
  return false;
}

static bool choose(changing *c, const char *option, choice *out) {
  out->items = select_value_list(c->p, option, &out->n);
  return out->items != NULL;
}

/* Each address of `keep` and `drop` must select an output. */
static bool check(changing *c, const char *option) {
  for (size_t i = 0; i < surg_pass_list_count(c->p, option); i++) {
    const char *address = surg_pass_list_at(c->p, option, i);
    size_t n;
    surg_value **all = select_values(c->p, option, address, &n);
    bool any = false;
    for (size_t k = 0; all && k < n; k++) any |= is_output(c->g, all[k]);
    if (any) continue;
    char text[TEXT];
    snprintf(text, sizeof text,
             "%s: the model has no output '%.300s'; add= makes the value one, extract ends the "
             "model there",
             option, address);
    if (all) surg_pass_usage(c->p, text);
    return false;
  }
  return true;
}

static bool stays(const changing *c, const surg_value *v) {
  if (c->keep.n) return listed(&c->keep, v) || listed(&c->add, v);
  return !listed(&c->drop, v);
}

/* Removes the outputs that are not kept, last first, so that indices stay valid. */
static surg_pass_result take_away(changing *c) {
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (size_t i = surg_graph_output_count(c->g); i-- > 0;) {
    if (stays(c, surg_graph_output(c->g, i))) continue;
    if (!surg_pass_allow(c->p)) break;
    if (surg_graph_remove_output(c->g, i)) return SURG_PASS_FAILED;
    surg_pass_count(c->p, "outputs removed", 1);
    result = SURG_PASS_CHANGED;
  }
  return result;
}

/* The type that an output declares: the inferred, else the declared one. NULL: none that is known,
 * or a tensor without a rank, which an output must have. */
static const surg_type *output_type(const surg_value *v) {
  const surg_type *const types[] = {surg_value_type(v), surg_value_declared_type(v)};
  for (size_t i = 0; i < 2; i++) {
    const surg_type *t = types[i];
    if (!t || surg_type_get_kind(t) == SURG_TYPE_UNKNOWN) continue;
    if (surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_has_rank(t)) return t;
  }
  return NULL;
}

static surg_pass_result no_type(surg_pass_ctx *p, const surg_value *v) {
  char text[TEXT];
  snprintf(text, sizeof text,
           "add: the type or the rank of '%.300s' is not known and the model does not declare it; "
           "an output needs both (set{value=...,type=...} declares it)",
           surg_value_name(v));
  return surg_pass_fail(p, surg_value_producer(v, NULL), text);
}

static surg_pass_result add_one(surg_pass_ctx *p, surg_graph *g, surg_value *v) {
  if (is_output(g, v)) return SURG_PASS_UNCHANGED;
  if (!select_in_main(p, "add", v)) return SURG_PASS_FAILED;
  const surg_type *type = output_type(v);
  if (!type) return no_type(p, v);
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (surg_graph_add_output(g, v, type)) return SURG_PASS_FAILED;
  surg_pass_count(p, "outputs added", 1);
  return SURG_PASS_CHANGED;
}

/* Adds every value that a node of the main graph computes and whose type is known. */
static bool add_all(changing *c) {
  size_t n = 0;
  if (surg_model_infer(surg_pass_model(c->p))) return false;
  for (surg_node *x = surg_graph_first_node(c->g); x; x = surg_node_next(x))
    n += surg_node_output_count(x);
  surg_value **all = surg_pass_alloc(c->p, (n + c->add.n + 1) * sizeof *all);
  if (!all) return false;
  for (size_t i = 0; i < c->add.n; i++) all[i] = c->add.items[i];
  for (surg_node *x = surg_graph_first_node(c->g); x; x = surg_node_next(x))
    for (size_t i = 0; i < surg_node_output_count(x); i++) {
      surg_value *v = surg_node_output(x, i);
      if (v && output_type(v)) all[c->add.n++] = v;
    }
  c->add.items = all;
  return true;
}

/* Whether the model would still have an output. */
static bool some_left(const changing *c) {
  if (c->add.n) return true;
  for (size_t i = 0; i < surg_graph_output_count(c->g); i++)
    if (stays(c, surg_graph_output(c->g, i))) return true;
  return surg_graph_output_count(c->g) == 0;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  changing c = {.p = p, .g = surg_model_graph(surg_pass_model(p))};
  const size_t keep = surg_pass_list_count(p, "keep"), drop = surg_pass_list_count(p, "drop");
  const size_t add = surg_pass_list_count(p, "add");
  if (keep && drop) return surg_pass_usage(p, "keep and drop exclude each other");
  const bool all = surg_pass_bool(p, "all");
  if (!keep && !drop && !add && !all) return surg_pass_usage(p, "needs keep=, drop=, add= or all");
  if (!check(&c, "keep") || !check(&c, "drop") || !choose(&c, "keep", &c.keep) ||
      !choose(&c, "drop", &c.drop) || !choose(&c, "add", &c.add))
    return SURG_PASS_FAILED;
  if (all && !add_all(&c)) return SURG_PASS_FAILED;
  if (!some_left(&c)) return surg_pass_usage(p, "no output would be left");
  if ((add || all) && surg_model_infer(surg_pass_model(p))) return SURG_PASS_FAILED;
  surg_pass_result result = SURG_PASS_UNCHANGED;
  for (size_t i = 0; i < c.add.n; i++) {
    surg_pass_result one = add_one(p, c.g, c.add.items[i]);
    if (one == SURG_PASS_FAILED) return one;
    if (one < result) result = one;
  }
  if (!keep && !drop) return result;
  surg_pass_result taken = take_away(&c);
  return taken < result ? taken : result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "keep", NULL, "outputs to keep (addresses); all others are removed"),
    SURG_OPTION(LIST, "drop", NULL, "outputs to remove"),
    SURG_OPTION(BOOL, "all", NULL, "make all values that nodes compute outputs"),
    SURG_OPTION(LIST, "add", NULL, "values to make outputs (addresses)"),
};

const surg_pass surg__pass_outputs = {
    SURG_PASS_HEAD(MODEL, "outputs", "add and remove outputs of the model"),
    SURG_PASS_OPTIONS(options),
    .keeps = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .exactness = SURG_EXACT,
    .changes_interface = true,
    .run = run,
};
