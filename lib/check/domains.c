/* SPDX-License-Identifier: Apache-2.0 */
/* Imported domains without any known operator, and the default domain under its long name: one
 * finding per domain. */
#include <stdlib.h>

#include "check/check.h"
#include "ir/ir.h"
#include "schema/custom.h"

typedef struct stranger {
  const char *domain; /* interned: compared by address */
  const surg_node *node;
  size_t at; /* index among all nodes */
} stranger;
typedef SURG_VEC(stranger) strangers;

static int by_domain(const void *a, const void *b) {
  const stranger *x = a, *y = b;
  if (x->domain != y->domain) return (uintptr_t)x->domain < (uintptr_t)y->domain ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

static bool unknown(const surg_node *n) {
  return n->domain[0] && !n->faulty && surg_node_class(n) == SURG_OP_CLASS_CUSTOM &&
         !surg__custom_find(n->graph->model->ctx, n->domain, n->op_type) &&
         surg_schema_newest(n->domain) == 0 && surg_graph_opset(n->graph, n->domain) > 0;
}

static bool imports_stranger(const surg__imports *imports) {
  for (size_t i = 0; i < imports->count; i++)
    if (imports->items[i].domain[0] && surg_schema_newest(imports->items[i].domain) == 0)
      return true;
  return false;
}

static bool collect(surg__checker *c, strangers *list) {
  size_t at = 0;
  bool any = imports_stranger(&c->m->imports);
  for (size_t i = 0; i < c->m->functions.count && !any; i++)
    any = imports_stranger(&c->m->functions.items[i]->imports);
  if (!any) return true;
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next, at++)
      if (unknown(n) && !surg__vec_push(c->ctx, list, ((stranger){n->domain, n, at}))) return false;
  return true;
}

/* Reports nodes that spell out the default domain. Older checkers look up the import by the
 * spelling of the node. */
static void check_spelling(surg__checker *c) {
  const surg_node *first = NULL;
  size_t count = 0;
  if (!surg__interned(c->m, "ai.onnx", 7)) return;
  for (size_t i = 0; i < c->m->imports.count; i++)
    if (strcmp(c->m->imports.items[i].domain, "ai.onnx") == 0) return; /* reported at the import */
  for (surg_graph *g = c->m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next) {
      if (!n->domain[0] || strcmp(n->domain, "ai.onnx") != 0) continue;
      if (count++ == 0) first = n;
    }
  if (first)
    surg__check_found(c, "W223", surg__locate_node(first),
                      "the default domain is spelled out (%zu node%s)", count,
                      count == 1 ? "" : "s");
}

static void tell(surg__checker *c, const stranger *first, size_t n) {
  const bool described = surg__check_has_text(c);
  surg__check_found(c, "W220", described ? surg__locate_node(first->node) : NULL,
                    "domain %s is unknown, so its nodes are not checked (%zu node%s)",
                    described ? surg__q(c->ctx, first->domain) : "", n, n == 1 ? "" : "s");
}

void surg__check_domains(surg__checker *c) {
  strangers list = {0};
  check_spelling(c);
  if (!collect(c, &list)) c->failed = surg__alloc_status(c->ctx);
  if (list.count) qsort(list.items, list.count, sizeof *list.items, by_domain);
  for (size_t i = 0, end; i < list.count; i = end) {
    for (end = i + 1; end < list.count && list.items[end].domain == list.items[i].domain;) end++;
    tell(c, &list.items[i], end - i);
  }
  surg__vec_free(c->ctx, &list);
}
