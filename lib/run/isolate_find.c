/* SPDX-License-Identifier: Apache-2.0 */
/* Finds nodes by name and by path. */
#include <ctype.h>
#include <stdlib.h>

#include "base/diag.h"
#include "ir/ir.h"
#include "run/isolate.h"

/* --- by path --- */

static bool take_word(const char **at, const char *word) {
  const size_t n = strlen(word);
  if (strncmp(*at, word, n) != 0) return false;
  *at += n;
  return true;
}

static bool take_index(const char **at, size_t *out) {
  char *end;
  if (**at != '[' || !isdigit((unsigned char)(*at)[1])) return false;
  *out = strtoull(*at + 1, &end, 10);
  if (*end != ']') return false;
  *at = end + 1;
  return true;
}

/* Skips ` "name" (Op)`, which is redundant after an index. */
static bool skip_names(const char **at) {
  const char *p = *at;
  if (p[0] == ' ' && p[1] == '"') {
    for (p += 2; *p && *p != '"'; p++)
      if (*p == '\\' && p[1]) p++;
    if (!*p) return false;
    p++;
  }
  if (p[0] == ' ' && p[1] == '(') {
    p = strchr(p, ')');
    if (!p) return false;
    p++;
  }
  *at = p;
  return true;
}

static surg_node *node_at(const surg_graph *g, size_t i) {
  surg_node *n = surg_graph_first_node(g);
  while (n && i-- > 0) n = surg_node_next(n);
  return n;
}

/* Parses `.then_branch` or `.branches[1]` of a node. */
static surg_graph *take_graph(const char **at, const surg_node *n) {
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    const char *p = *at;
    size_t k = 0;
    if (!surg_attr_graph(a, 0) || !take_word(&p, surg_attr_name(a))) continue;
    if (*p == '[' && !take_index(&p, &k)) continue;
    if (*p != '.' || !surg_attr_graph(a, k)) continue;
    *at = p;
    return surg_attr_graph(a, k);
  }
  return NULL;
}

static surg_node *by_place(surg_model *m, const char *text) {
  const char *at = text;
  size_t i;
  surg_graph *g = surg_model_graph(m);
  if (isdigit((unsigned char)*text)) {
    char *end;
    const unsigned long long n = strtoull(text, &end, 10);
    return *end ? NULL : node_at(g, n);
  }
  if (take_word(&at, "function")) {
    if (!take_index(&at, &i) || !skip_names(&at)) return NULL;
    g = surg_function_graph(surg_model_function(m, i));
  } else if (!take_word(&at, "graph")) {
    return NULL;
  }
  while (g && take_word(&at, ".node") && take_index(&at, &i) && skip_names(&at)) {
    surg_node *n = node_at(g, i);
    if (!n || !*at) return n;
    if (!take_word(&at, ".")) return NULL;
    g = take_graph(&at, n);
  }
  return NULL;
}

/* --- by name --- */

static const char *name_at(const void *list, size_t i) {
  return ((const char *const *)list)[i];
}

static surg_status no_node(surg_model *m, const char *text) {
  surg_context *ctx = surg_model_context(m);
  SURG_VEC(const char *) names = {0};
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (*surg_node_name(n)) (void)surg__vec_push(ctx, &names, surg_node_name(n));
  const char *near = surg__nearest(text, names.items, names.count, name_at);
  const surg_status s =
      near ? surg__error(ctx, SURG_EUSAGE, surg_model_path(m), "no node %s: did you mean %s?",
                         surg__q(ctx, text), surg__q(ctx, near))
           : surg__error(ctx, SURG_EUSAGE, surg_model_path(m),
                         "no node %s: name one, or its place, such as graph.node[3]",
                         surg__q(ctx, text));
  surg__vec_free(ctx, &names);
  return s;
}

surg_status surg__find_node(surg_model *m, const char *text, surg_node **out) {
  surg_context *ctx = surg_model_context(m);
  surg_node *maker = NULL;
  size_t found = 0;
  *out = NULL;
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g)) {
    for (surg_node *n = *text ? surg_graph_find_node(g, text) : NULL; n;
         n = surg_node_next_named(n)) {
      if (!*out) *out = n;
      found++;
    }
    const surg_value *v = *text ? surg_graph_find_value(g, text) : NULL;
    if (v && !maker) maker = surg_value_producer(v, NULL);
  }
  if (found > 1)
    return surg__error(ctx, SURG_EUSAGE, surg_model_path(m),
                       "%zu nodes are named %s: select one by its position; the first is %s", found,
                       surg__q(ctx, text), surg__locate_node(*out));
  if (!*out) *out = by_place(m, text);
  if (!*out) *out = maker;
  return *out ? SURG_OK : no_node(m, text);
}
