/* SPDX-License-Identifier: Apache-2.0 */
/* Reorders the inputs and outputs of a graph. */
#include <onnxsurg/order.h>

#include "ir/edit.h"

/* Whether each number below n is in the list once. `seen` has n entries, all false. */
static bool is_permutation(const size_t *order, size_t n, bool *seen) {
  for (size_t i = 0; i < n; i++) {
    if (order[i] >= n || seen[order[i]]) return false;
    seen[order[i]] = true;
  }
  return true;
}

static void permute(void **items, void **old, const size_t *order, size_t n) {
  memcpy(old, items, n * sizeof *old);
  for (size_t i = 0; i < n; i++) items[i] = old[order[i]];
}

static bool is_identity(const size_t *order, size_t n) {
  size_t i = 0;
  while (i < n && order[i] == i) i++;
  return i == n;
}

surg_status surg_graph_reorder(surg_graph *g, bool outputs, const size_t *order, size_t n) {
  surg_status s = g ? surg__graph_ready(g) : SURG_EUSAGE;
  if (s != SURG_OK) return s;
  if (n != (outputs ? g->n_out : g->n_in) || (n && !order)) return SURG_EUSAGE;
  surg_context *ctx = g->model->ctx;
  bool *seen = surg__calloc(ctx, n + 1, sizeof *seen);
  void **old = surg__calloc(ctx, n + 1, sizeof *old);
  if (!seen || !old) surg__failed(g->model);
  s = g->model->status;
  if (s == SURG_OK && !is_permutation(order, n, seen)) s = SURG_EUSAGE;
  if (s == SURG_OK && !is_identity(order, n)) {
    permute(outputs ? (void **)g->out : (void **)g->in, old, order, n);
    for (size_t i = 0; outputs && i < n; i++) g->out[i]->use.index = (uint32_t)i;
    surg__touch_graph(g);
    surg__emit(g->model, SURG_EVENT_INTERFACE, g, NULL, NULL, NULL, NULL);
  }
  surg__free(ctx, seen);
  surg__free(ctx, old);
  return s;
}
