/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs order and names: unsorted nodes are sorted; of nodes with one name all but the first
 * are renamed, and so is a value of a body that hides an outer one; a graph without a name gets
 * one. See mend.h. */
#include <stdio.h>
#include <string.h>

#include "../util/stem.h"
#include "mend.h"

#define TEXT 256
#define STEM 200 /* most bytes of a name in a name that is made of it */

/* --- order --- */

bool mend_is_cyclic(const mending *k, const surg_graph *g) {
  for (size_t i = 0; i < surg_model_finding_count(k->m); i++) {
    surg_finding f = {.size = sizeof f};
    if (surg_model_finding(k->m, i, &f) && !f.cured && f.graph == g && strcmp(f.code, "E114") == 0)
      return true;
  }
  return false;
}

static bool sort(mending *k, surg_graph *g) {
  bool moved = false;
  if (mend_is_cyclic(k, g)) return true;
  if (surg_graph_toposort(g, &moved) != SURG_OK) return false;
  if (moved)
    mend_did(k, surg_graph_parent_node(g), SURG_EXACT, "nodes of the graph '%.100s' are sorted",
             surg_graph_name(g));
  return true;
}

/* --- nodes --- */

/* Gives the node a name that is unique in its graph. */
static bool christen(surg_node *n, size_t number) {
  char name[TEXT];
  surg_graph *g = surg_node_graph(n);
  const char *stem = surg_node_name(n);
  snprintf(name, sizeof name, "%.*s_%zu", stem_bytes(stem, STEM), stem, number);
  const char *fresh = surg_graph_find_node(g, name) ? surg_graph_fresh_name(g, name) : name;
  return fresh && surg_node_set_name(n, fresh) == SURG_OK;
}

static bool node_names(mending *k, surg_graph *g) {
  size_t number = 0, count = 0;
  surg_node *first = NULL;
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
    number++;
    if (!*surg_node_name(n) || surg_graph_find_node(g, surg_node_name(n)) == n) continue;
    if (surg_pass_keeps_node(k->p, n) || !mend_may(k, SURG_EXACT)) continue;
    if (!christen(n, number)) return false;
    if (!count++) first = n;
  }
  if (count)
    mend_did(k, first, SURG_EXACT, "%zu node%s had the name of another node: renamed", count,
             count == 1 ? "" : "s");
  return true;
}

/* --- values of bodies --- */

/* Whether `outer` is produced before the node that contains the body g. */
static bool is_visible(const surg_value *outer, const surg_graph *g) {
  const surg_node *made = surg_value_producer(outer, NULL);
  while (surg_graph_parent(g) != surg_value_graph(outer)) g = surg_graph_parent(g);
  return !made || surg_node_before(made, surg_graph_parent_node(g));
}

static bool hidden_names(mending *k, surg_graph *g) {
  surg_graph *around = surg_graph_parent(g);
  if (!around) return true;
  for (surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    const char *name = surg_value_name(v);
    if (surg_value_erased(v) || !*name || surg_value_is_input(v)) continue;
    const surg_value *outer = surg_graph_lookup_value(around, name);
    if (!outer || !is_visible(outer, g)) continue;
    if (surg_pass_keeps_value(k->p, v) || !mend_may(k, SURG_EXACT)) continue;
    char was[TEXT];
    snprintf(was, sizeof was, "%s", name);
    const char *fresh = surg_graph_fresh_name(g, was);
    if (!fresh || surg_value_rename(v, fresh) != SURG_OK) return false;
    mend_did(k, surg_graph_parent_node(g), SURG_EXACT,
             "a value of its body has the name '%.100s' of an outer value: now '%.100s'", was,
             surg_value_name(v));
  }
  return true;
}

/* --- graphs --- */

static bool graph_name(mending *k, surg_graph *g) {
  if (*surg_graph_name(g) || surg_graph_get_kind(g) == SURG_GRAPH_FUNCTION) return true;
  if (!mend_may(k, SURG_EXACT)) return true;
  if (surg_graph_set_name(g, "graph") != SURG_OK) return false;
  mend_did(k, surg_graph_parent_node(g), SURG_EXACT, "the graph had no name: now 'graph'");
  return true;
}

bool mend_names(mending *k) {
  for (surg_graph *g = surg_model_next_graph(k->m, NULL); g; g = surg_model_next_graph(k->m, g))
    if (!sort(k, g) || !graph_name(k, g) || !node_names(k, g) || !hidden_names(k, g)) return false;
  return true;
}
