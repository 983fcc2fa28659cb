/* SPDX-License-Identifier: Apache-2.0 */
/* Swaps two connections: of two inputs of nodes (`add.input[0]`) what they read; of two other
 * values, all their consumers.
 *
 *   before: (x, k) => (y) { y = Sub (x, k) }
 *   after:  (x, k) => (y) { y = Sub (k, x) }                                       swap{of=x+k}
 *
 * Needs sorted. Keeps sorted. Lossy: the model computes something else. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/declared.h"
#include "../util/select.h"

#define TEXT 600

/* An input of a node, as NODE.input[k] names it; node NULL: the address is another one. */
typedef struct place {
  surg_node *node;
  size_t index;
} place;

static bool find_place(surg_pass_ctx *p, const char *address, place *out) {
  static const char word[] = ".input[";
  const size_t n = strlen(address);
  const char *at = NULL;
  *out = (place){.node = NULL};
  for (const char *s = strstr(address, word); s; s = strstr(s + 1, word)) at = s;
  if (!at || address[n - 1] != ']') return true;
  char *end, *name = surg_pass_alloc(p, n + 1);
  if (!name) return false;
  memcpy(name, address, (size_t)(at - address));
  const unsigned long k = strtoul(at + sizeof word - 1, &end, 10);
  if (end != address + n - 1 || strcmp(name, "graph") == 0) return true;
  out->node = select_node(p, "of", name);
  out->index = k;
  if (!out->node || k < surg_node_input_count(out->node)) return out->node != NULL;
  const size_t inputs = surg_node_input_count(out->node);
  char text[TEXT];
  snprintf(text, sizeof text, "of: no input '%.200s': the node has %zu input%s", address, inputs,
           inputs == 1 ? "" : "s");
  return surg_pass_usage(p, text) != SURG_PASS_FAILED;
}

static bool swap_places(const place *a, const place *b) {
  surg_value *x = surg_node_input(a->node, a->index), *y = surg_node_input(b->node, b->index);
  return surg_node_set_input(a->node, a->index, y) == SURG_OK &&
         surg_node_set_input(b->node, b->index, x) == SURG_OK;
}

/* The uses of a value by nodes and graph outputs, as they are before anything changes. */
typedef struct uses {
  surg_use **items;
  size_t n;
} uses;

static bool collect(surg_pass_ctx *p, const surg_value *v, uses *out) {
  out->items = surg_pass_alloc(p, (surg_value_use_count(v, SIZE_MAX) + 1) * sizeof *out->items);
  if (!out->items) return false;
  for (surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_use_get_kind(u) == SURG_USE_NODE) out->items[out->n++] = u;
  return true;
}

static bool swap_values(surg_pass_ctx *p, surg_value *a, surg_value *b) {
  uses of[2] = {{0}, {0}};
  char text[TEXT];
  snprintf(text, sizeof text, "of: no node reads '%.200s' or '%.200s'", surg_value_name(a),
           surg_value_name(b));
  if (!collect(p, a, &of[0]) || !collect(p, b, &of[1])) return false;
  if (of[0].n + of[1].n == 0) return surg_pass_usage(p, text) != SURG_PASS_FAILED;
  /* A use moves with its value, so nodes and indices are read before they change. */
  place *all = surg_pass_alloc(p, (of[0].n + of[1].n) * sizeof *all);
  for (size_t i = 0; all && i < of[0].n + of[1].n; i++) {
    const surg_use *u = i < of[0].n ? of[0].items[i] : of[1].items[i - of[0].n];
    all[i] = (place){surg_use_node(u), surg_use_index(u)};
  }
  for (size_t i = 0; all && i < of[0].n + of[1].n; i++)
    if (surg_node_set_input(all[i].node, all[i].index, i < of[0].n ? b : a) != SURG_OK)
      return false;
  return all != NULL;
}

/* Sorts the graphs of what was swapped, as readers may precede their new producers. */
static bool sort(surg_model *m) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    if (surg_graph_toposort(g, NULL) != SURG_OK) return false;
  return true;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  place a, b;
  const char *first = surg_pass_list_at(p, "of", 0), *second = surg_pass_list_at(p, "of", 1);
  if (surg_pass_list_count(p, "of") != 2) return surg_pass_usage(p, "needs of= with two addresses");
  if (!find_place(p, first, &a) || !find_place(p, second, &b)) return SURG_PASS_FAILED;
  if (!a.node != !b.node) {
    /* A misspelled place gets the nearest name. */
    if (!select_value(p, "of", a.node ? second : first)) return SURG_PASS_FAILED;
    return surg_pass_usage(p, "of: expected two inputs of nodes, or two values");
  }
  surg_value *x = a.node ? NULL : select_value(p, "of", first);
  surg_value *y = x ? select_value(p, "of", second) : NULL;
  if (!a.node && !y) return SURG_PASS_FAILED;
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  const uint64_t epoch = surg_model_epoch(surg_pass_model(p));
  if (!(a.node ? swap_places(&a, &b) : x == y || swap_values(p, x, y))) return SURG_PASS_FAILED;
  if (!sort(surg_pass_model(p)) || !declared_fit_outputs(p)) return SURG_PASS_FAILED;
  return surg_model_epoch(surg_pass_model(p)) == epoch ? SURG_PASS_UNCHANGED : SURG_PASS_CHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "of", NULL, "two inputs of nodes (add.input[0]), or two values"),
};

const surg_pass surg__pass_swap = {
    SURG_PASS_HEAD(MODEL, "swap", "swap what two inputs read, or the consumers of two values"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_LOSSY,
    .changes_interface = true,
    .edits = true,
    .run = run,
};
