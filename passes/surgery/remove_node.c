/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the named nodes, as remove-op does for all nodes of an operator. A node without a name,
 * or whose name is not unique, is given by its position, such as graph.node[5].
 *
 *   before: (x) => (y) { [a] t = Abs (x)   [r] y = Relu (t) }
 *   after:  (x) => (y) { [a] y = Abs (x) }                          remove-node{name=r}
 *
 * Needs sorted, types. Keeps sorted. Lossy: the computation of the node is removed. */
#include <stdio.h>

#include "../util/bypass.h"

/* The node name nearest to `text`, for "did you mean"; NULL: none. */
static const char *nearest(surg_pass_ctx *p, const char *text) {
  const surg_model *m = surg_pass_model(p);
  size_t count = 0, i = 0;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    count += surg_graph_node_count(g);
  const char **names = surg_pass_alloc(p, (count + 1) * sizeof *names);
  if (!names) return NULL;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (*surg_node_name(n)) names[i++] = surg_node_name(n);
  return surg_pass_nearest(text, names, i);
}

static surg_node *find(surg_pass_ctx *p, const char *text) {
  char line[1000];
  size_t count;
  surg_node *n = surg_model_find_node(surg_pass_model(p), text, &count);
  if (count == 1) return n;
  if (count > 1) {
    snprintf(line, sizeof line,
             "is the first of %zu nodes named '%.300s': select one by its position, as in "
             "name='graph.node[0]'",
             count, text);
    surg_pass_fail(p, n, line);
    return NULL;
  }
  const char *near = nearest(p, text);
  snprintf(line, sizeof line, "there is no node '%.300s'%s%.300s%s", text,
           near ? "; did you mean '" : ", and no such place", near ? near : "", near ? "'?" : "");
  surg_pass_usage(p, line);
  return NULL;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  const size_t n = surg_pass_list_count(p, "name");
  surg_pass_result result = SURG_PASS_UNCHANGED;
  if (n == 0) return surg_pass_usage(p, "needs name=: the name of a node, or its place");
  if (bypass_check_map(p) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  surg_node **nodes = surg_pass_alloc(p, n * sizeof *nodes);
  /* Find all nodes first: removal shifts positions. */
  for (size_t i = 0; i < n; i++)
    if (!nodes || !(nodes[i] = find(p, surg_pass_list_at(p, "name", i)))) return SURG_PASS_FAILED;
  for (size_t i = 0; i < n; i++) {
    if (surg_node_erased(nodes[i])) continue; /* named twice, or inside a removed node */
    const char *domain = surg_node_domain(nodes[i]);
    surg_pass_result one = bypass_node(p, nodes[i]);
    if (one == SURG_PASS_CHANGED && bypass_drop_import(p, domain) == SURG_PASS_FAILED)
      one = SURG_PASS_FAILED;
    if (one < result) result = one;
    if (one == SURG_PASS_FAILED) break;
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(LIST, "name", NULL, "nodes by name or position: conv1+\"graph.node[5]\""),
    BYPASS_MAP,
};

const surg_pass surg__pass_remove_node = {
    .size = sizeof(surg_pass),
    .scope = SURG_SCOPE_MODEL,
    .name = "remove-node",
    .help = "remove single nodes; an input replaces the output",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_LOSSY,
    .run = run,
    .edits = true,
};
