/* SPDX-License-Identifier: Apache-2.0 */
/* Duplicate names, and invalid dims. */
#include "check/check.h"
#include "ir/ir.h"

static void check_names(surg__checker *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next) {
      if (!n->name_next || n->tabled) continue; /* unnamed, or the first node of that name */
      const bool described = surg__check_has_text(c);
      const surg_node *first = described ? surg_graph_find_node(g, n->name) : NULL;
      c->node = n;
      surg__check_found(c, "W212", described ? surg__locate_node(n) : NULL,
                        "another node of this graph, %s, has the same name",
                        first ? surg__locate_node(first) : "");
    }
  c->node = NULL;
}

static void check_dims(surg__checker *c, const surg_graph *g, const char *list, const surg_type *t,
                       const char *name) {
  for (int level = 0; t && t->elem && level < 16; level++) t = t->elem;
  if (!t || !t->raw_values) return;
  for (uint32_t i = 0; i < t->rank; i++) {
    if (t->raw_values[i] >= 0) continue;
    const bool described = surg__check_has_text(c);
    surg__check_found(c, "W213", described ? surg__check_place(c, g, list, name) : NULL,
                      "dimension %u is declared as %lld; an unknown one has no value", i,
                      (long long)t->raw_values[i]);
    return;
  }
}

static void check_all_dims(surg__checker *c) {
  for (surg_graph *g = c->m->graph; g; g = g->next) {
    for (surg_value *v = g->first_value; v; v = v->next)
      check_dims(c, g, v->input ? "input" : "value_info", v->decl.type, v->name);
    for (size_t i = 0; i < g->n_out; i++)
      if (g->out[i]->decl.type != g->out[i]->use.value->decl.type)
        check_dims(c, g, "output", g->out[i]->decl.type, g->out[i]->use.value->name);
  }
}

void surg__check_usage(surg__checker *c) {
  check_names(c);
  check_all_dims(c);
}
