/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a node by its name, or by its location in the format of messages. */
#include "ir/edit.h"

/* Parses `[NUMBER]` and advances *p past it. */
static bool index_of(const char **p, size_t *out) {
  const char *s = *p;
  uint64_t n = 0;
  if (*s++ != '[' || *s < '0' || *s > '9') return false;
  for (; *s >= '0' && *s <= '9'; s++)
    if (!surg__mul_u64(n, 10, &n) || !surg__add_u64(n, (uint64_t)(*s - '0'), &n)) return false;
  if (*s++ != ']' || n > SIZE_MAX) return false;
  *out = (size_t)n;
  *p = s;
  return true;
}

/* Skips the description after an index: ` "name" (Op)`. */
static void skip_description(const char **p) {
  const char *s = *p;
  if (s[0] == ' ' && s[1] == '"') {
    for (s += 2; *s && *s != '"'; s++)
      if (*s == '\\' && s[1]) s++;
    if (*s++ != '"') return;
    *p = s;
  }
  if (s[0] != ' ' || s[1] != '(') return;
  s = strchr(s, ')');
  if (s) *p = s + 1;
}

static bool word(const char **p, const char *w) {
  const size_t n = strlen(w);
  if (strncmp(*p, w, n) != 0) return false;
  *p += n;
  return true;
}

/* Parses `.then_branch`, or `.branches[1]` if the attribute has several graphs. */
static surg_graph *subgraph_at(const surg_node *n, const char **p) {
  if (**p != '.') return NULL;
  for (uint32_t i = 0; i < n->n_attr; i++) {
    const surg_attr *a = n->attrs[i];
    const size_t len = strlen(a->name);
    const char *s = *p + 1;
    size_t k = 0;
    if (!surg__attr_has_graphs(a) || strncmp(s, a->name, len) != 0) continue;
    s += len;
    if (a->kind == SURG_ATTR_GRAPHS ? !index_of(&s, &k) : *s == '[') continue;
    if (*s != '.' || k >= a->count) continue;
    *p = s;
    return a->u.graphs[k];
  }
  return NULL;
}

static surg_graph *root_at(const surg_model *m, const char **p) {
  size_t k;
  if (word(p, "graph")) return m->graph;
  if (!word(p, "function") || !index_of(p, &k) || k >= m->functions.count) return NULL;
  skip_description(p);
  return m->functions.items[k]->body;
}

static surg_node *node_at(const surg_model *m, const char *p) {
  surg_graph *g = root_at(m, &p);
  while (g) {
    size_t k;
    if (!word(&p, ".node") || !index_of(&p, &k)) return NULL;
    surg_node *n = g->first;
    while (n && k-- > 0) n = n->next;
    if (!n) return NULL;
    skip_description(&p);
    if (!*p) return n;
    g = subgraph_at(n, &p);
  }
  return NULL;
}

surg_node *surg_model_find_node(const surg_model *m, const char *text, size_t *count) {
  surg_node *first = NULL;
  size_t n = 0;
  if (count) *count = 0;
  if (!surg__model_ok(m) || !text || !*text) return NULL;
  for (surg_graph *g = m->graph; g; g = g->next)
    for (surg_node *x = surg_graph_find_node(g, text); x; x = surg_node_next_named(x), n++)
      if (!first) first = x;
  if (n == 0 && (first = node_at(m, text)) != NULL) n = 1;
  if (count) *count = n;
  return first;
}
