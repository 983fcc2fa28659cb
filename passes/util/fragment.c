/* SPDX-License-Identifier: Apache-2.0 */
/* See fragment.h. */
#include "fragment.h"

#include <stdio.h>

#include "domains.h"

#define WHY 1000
#define TEXT 1200

surg_fragment *fragment_read(surg_pass_ctx *p, surg_graph *g, const char *option,
                             const char *text) {
  char why[WHY], line[TEXT];
  surg_fragment *f = NULL;
  const surg_status s = surg_fragment_new(g, text, &f, why, sizeof why);
  snprintf(line, sizeof line, "%s: %s", option, why);
  if (s == SURG_EUSAGE) surg_pass_usage(p, line);
  return f;
}

static void later(const surg_graph *g, const surg_value *v, surg_node **last) {
  surg_node *n = v && surg_value_graph(v) == g ? surg_value_producer(v, NULL) : NULL;
  if (n && (!*last || surg_node_before(*last, n))) *last = n;
}

surg_node *fragment_place(const surg_fragment *f, const surg_graph *g, const surg_value *after) {
  surg_node *last = NULL;
  const surg_value *v;
  later(g, after, &last);
  for (size_t i = 0; (v = surg_fragment_read(f, i)) != NULL; i++) later(g, v, &last);
  return last ? surg_node_next(last) : surg_graph_first_node(g);
}

bool fragment_import(surg_pass_ctx *p, const surg_fragment *f, surg_graph *g, int64_t version) {
  char text[TEXT];
  const size_t names = fragment_names(f);
  for (size_t i = 0; i < names; i++) {
    const surg_node *n = surg_value_producer(surg_fragment_made(f, i), NULL);
    if (n && domains_import(g, surg_node_domain(n), version) != SURG_OK) return false;
    if (n && !domains_takes(n, text, sizeof text)) {
      surg_pass_fail(p, n, text);
      return false;
    }
  }
  return true;
}

bool fragment_sort(surg_graph *g) {
  for (; g; g = surg_graph_parent(g))
    if (surg_graph_toposort(g, NULL) != SURG_OK) return false;
  return true;
}

size_t fragment_names(const surg_fragment *f) {
  size_t n = 0;
  while (surg_fragment_name(f, n)) n++;
  return n;
}
