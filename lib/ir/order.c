/* SPDX-License-Identifier: Apache-2.0 */
/* The node list of a graph and its order keys. A key is a label in [0, 2^62). If two neighbours
 * leave no gap, the smallest aligned label range around them whose density is low enough is
 * relabelled evenly. Inserting is O(log n) amortized anywhere; comparing is O(1). */
#include "ir/edit.h"

#define GAP ((uint64_t)1 << 20)
#define LABEL_BITS 62
#define LABEL_END ((uint64_t)1 << LABEL_BITS)
#define FIRST_LABEL (LABEL_END / 2)

/* Relabels the nodes around `at` so that every gap there is at least 3. The bound on the number of
 * nodes in a range of 2^i labels grows by 3/2 each step, slower than the range: so a range is
 * relabelled only after a proportional number of insertions since the last time. */
static void spread(surg_node *at) {
  surg_node *first = at, *last = at;
  uint64_t count = 1, bound = 1;
  for (unsigned i = 1; i <= LABEL_BITS; i++) {
    uint64_t size = (uint64_t)1 << i;
    uint64_t low = at->order & ~(size - 1);
    while (first->prev && first->prev->order >= low) first = first->prev, count++;
    while (last->next && last->next->order - low < size) last = last->next, count++;
    bound += bound / 2 + (bound == 1);
    uint64_t step = size / count;
    if ((count > bound || step < 4) && i < LABEL_BITS) continue;
    assert(step >= 4);
    uint64_t label = low + step / 2;
    for (surg_node *n = first;; n = n->next, label += step) {
      n->order = label;
      if (n == last) return;
    }
  }
}

/* Computes a label strictly between the neighbours; false if there is none. */
static bool between(const surg_node *prev, const surg_node *next, uint64_t *label) {
  if (!prev && !next) {
    *label = FIRST_LABEL;
  } else if (!next) {
    uint64_t room = LABEL_END - prev->order;
    if (room < 2) return false;
    *label = prev->order + (room > GAP ? GAP : room / 2);
  } else if (!prev) {
    if (next->order == 0) return false;
    *label = next->order >= GAP ? next->order - GAP : next->order / 2;
  } else {
    uint64_t room = next->order - prev->order;
    if (room < 2) return false;
    *label = prev->order + room / 2;
  }
  return true;
}

void surg__order_insert(surg_node *n, surg_node *before) {
  surg_graph *g = n->graph;
  surg_node *prev = before ? before->prev : g->last;
  assert(!before || before->graph == g);
  if (!between(prev, before, &n->order)) {
    spread(prev ? prev : before);
    bool room = between(prev, before, &n->order);
    assert(room);
    (void)room;
  }
  n->prev = prev;
  n->next = before;
  if (prev)
    prev->next = n;
  else
    g->first = n;
  if (before)
    before->prev = n;
  else
    g->last = n;
  g->n_nodes++;
  assert((!prev || prev->order < n->order) && (!before || n->order < before->order));
}

void surg__order_remove(surg_node *n) {
  surg_graph *g = n->graph;
  assert(g->n_nodes > 0);
  assert((n->prev ? n->prev->next : g->first) == n && (n->next ? n->next->prev : g->last) == n);
  if (n->prev)
    n->prev->next = n->next;
  else
    g->first = n->next;
  if (n->next)
    n->next->prev = n->prev;
  else
    g->last = n->prev;
  n->prev = n->next = NULL;
  g->n_nodes--;
}

bool surg_node_before(const surg_node *a, const surg_node *b) {
  return surg__node_ok(a) && surg__node_ok(b) && a->graph == b->graph && a->order < b->order;
}

surg_status surg_node_move(surg_node *n, surg_node *before) {
  surg_status s = surg__node_ready(n);
  if (s == SURG_OK && before) s = surg__node_ready(before);
  if (s != SURG_OK) return s;
  if (before && before->graph != n->graph)
    return surg__node_error(n, SURG_EUSAGE, "cannot move before a node of another graph");
  if (before == n || n->next == before) return SURG_OK;
  surg__order_remove(n);
  surg__order_insert(n, before);
  surg__touch_graph(n->graph);
  surg__emit(n->graph->model, SURG_EVENT_MOVE, n->graph, n, NULL, NULL, NULL);
  return SURG_OK;
}
