/* SPDX-License-Identifier: Apache-2.0 */
/* Regions: items about nodes that are connected get one number. */
#include "diff/diff.h"

/* A forest over the items (union by index). */
static size_t root_of(const surg_diff *d, size_t *parent, size_t i) {
  (void)d;
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

static void join(const surg_diff *d, size_t *parent, size_t i, size_t j) {
  const size_t a = root_of(d, parent, i), b = root_of(d, parent, j);
  if (a < b)
    parent[b] = a;
  else
    parent[a] = b;
}

/* Joins the item of a node that only one model has with those of its neighbors. */
static void join_neighbors(const surg_diff *d, size_t *parent, int k, const surg__dnode *n) {
  const surg__dside *s = &d->side[k];
  for (uint32_t i = 0; i < n->n->n_in; i++) {
    const surg__dvalue *v = surg__dvalue_of(s, n->n->in[i].value);
    const surg__dnode *m = v ? surg__dnode_of(s, v->v->producer) : NULL;
    if (m && m->item != SURG__NO_TWIN) join(d, parent, n->item, m->item);
    if (v && v->item != SURG__NO_TWIN) join(d, parent, n->item, v->item);
  }
}

void surg__diff_regions(surg_diff *d) {
  const size_t n = d->items.count;
  size_t *parent = surg__calloc(d->ctx, n + 1, sizeof *parent), regions = 0;
  if (!parent) {
    surg__diff_fail(d);
    return;
  }
  for (size_t i = 0; i < n; i++) parent[i] = i;
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < d->side[k].nodes.count; i++)
      if (d->side[k].nodes.items[i].item != SURG__NO_TWIN)
        join_neighbors(d, parent, k, &d->side[k].nodes.items[i]);
  /* Items about one node, and what another item implies, follow. */
  for (size_t i = 0; i < n; i++) {
    const surg_diff_item *x = &d->items.items[i];
    if (x->cause != SURG_DIFF_NO_ITEM) join(d, parent, i, x->cause);
    if (i && x->node[0] && x->node[1] && x->level == SURG_DIFF_EDIT &&
        d->items.items[i - 1].level == SURG_DIFF_EDIT &&
        d->items.items[i - 1].node[0] == x->node[0] && d->items.items[i - 1].node[1] == x->node[1])
      join(d, parent, i, i - 1);
  }
  for (size_t i = 0; i < n; i++) { /* the root has the smallest index of its region */
    surg_diff_item *x = &d->items.items[i];
    const size_t root = root_of(d, parent, i);
    x->region = root == i ? regions++ : d->items.items[root].region;
  }
  surg__free(d->ctx, parent);
}
