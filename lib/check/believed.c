/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that contradict declared shapes of values of which less is inferred. Runtimes use the
 * actual shapes, but engines that infer shapes when they import a model believe declarations. */
#include "check/check.h"
#include "infer/infer.h"
#include "ir/ir.h"

static bool has_completed(const surg_model *m) {
  for (const surg_graph *g = m->graph; g; g = g->next) {
    if (surg_graph_function(g)) continue; /* types there depend on the call */
    for (const surg_value *v = g->first_value; v; v = v->next)
      if (surg__infer_is_completed(v) || surg__infer_is_contradicted(v)) return true;
  }
  return false;
}

void surg__check_believed(surg__checker *c) {
  surg_model *m = c->m;
  if (!has_completed(m)) return;
  surg_status s = surg__infer_believed(m, (surg__beliefs){.complete = true, .merge = true});
  c->believed = true;
  if (s == SURG_OK) surg__check_types(c);
  c->believed = false;
  m->inferred_epoch = 0;
  if (s == SURG_OK) s = surg_model_infer(m);
  if (s != SURG_OK) c->failed = s;
}
