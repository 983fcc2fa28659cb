/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the one node that a user means: an address, or the number of a node of the main graph. */
#include <onnxsurg/edit.h>

#include "base/diag.h"
#include "ir/ir.h"
#include "run/isolate.h"

#define WHY 1024

/* Node `text`, a number, of the main graph; NULL: it is no number, or there is none. */
static surg_node *node_at(const surg_model *m, const char *text) {
  size_t i = 0;
  const char *c = text;
  for (; *c >= '0' && *c <= '9' && i < SIZE_MAX / 20; c++) i = 10 * i + (size_t)(*c - '0');
  if (*c || c == text) return NULL;
  surg_node *n = surg_graph_first_node(surg_model_graph(m));
  while (n && i-- > 0) n = surg_node_next(n);
  return n;
}

static bool is_name(const surg_model *m, const char *text) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    if (surg_graph_find_node(g, text)) return true;
  return false;
}

surg_status surg__find_node(surg_model *m, const char *text, surg_node **out) {
  surg_context *ctx = surg_model_context(m);
  char why[WHY];
  size_t n;
  *out = is_name(m, text) ? NULL : node_at(m, text);
  if (*out) return SURG_OK;
  surg_status s = surg_select_nodes(m, text, out, 1, &n, why, sizeof why);
  if (s == SURG_OK) return s;
  const char *path = surg_model_path(m);
  *out = NULL;
  if (s == SURG_ELIMIT && n > 1)
    return surg__error(ctx, SURG_EUSAGE, path, "%s selects %zu nodes: name one", surg__q(ctx, text),
                       n);
  if (s == SURG_ENOTFOUND) s = SURG_EUSAGE;
  if (s == SURG_EUSAGE) return surg__error(ctx, s, path, "%s", why);
  return surg__oom_reported(ctx, s, path);
}
