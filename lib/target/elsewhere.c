/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that run on the host when an execution provider supports only a part of a model. */
#include <onnxsurg/ops.h>

#include "base/context.h"
#include "ir/ir.h"
#include "target/judge.h"

/* Whether the node still exists when the host partitions the graph: constants and function calls do
 * not, nor nodes that the host folds. */
static bool runs(const surg__target *host, const surg_node *n) {
  const surg__judge j = {.t = host};
  if (surg_node_op(n) == SURG_OP_Constant || surg_node_class(n) == SURG_OP_CLASS_FUNCTION)
    return false;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (v && surg__judge_constant(&j, v) != SURG__YES) return true;
  }
  return false;
}

static const surg_value *open_value(const surg_value *v) {
  const surg_type *t = v && !surg_value_constant(v) ? surg_value_type(v) : NULL;
  return t && (surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_static(t, NULL)) ? v : NULL;
}

/* A value of the node that has no fixed size; NULL: none. */
static const surg_value *open_at(const surg_node *n) {
  const surg_value *v = NULL;
  for (size_t i = 0; !v && i < surg_node_input_count(n); i++) v = open_value(surg_node_input(n, i));
  for (size_t i = 0; !v && i < surg_node_output_count(n); i++)
    v = open_value(surg_node_output(n, i));
  return v;
}

static surg__verdict judge_place(const surg__target *t, const surg_node *n, surg__buf *why,
                                 surg__objection *o) {
  const surg__verdict v = surg__judge_own(t, n, why, o);
  const surg_value *open =
      v != SURG__ILLEGAL && t->dynamic == SURG__D_NONE ? open_at(n) : NULL;
  if (!open) return v;
  *o = (surg__objection){.cause = SURG__C_DYNAMIC, .value = open, .source = t->source};
  why->n = 0;
  surg__buf_printf(why, "%s has no fixed size", surg__q(t->ctx, surg_value_name(open)));
  return SURG__ILLEGAL;
}

surg_status surg__target_elsewhere(const surg__target *t, surg_model *m, surg__objection_fn fn,
                                   void *user, size_t *nodes) {
  surg__buf why;
  surg_status s = surg_model_infer(m);
  *nodes = 0;
  if (s || !t->host) return s;
  surg__target host = *t->host, own = *t;
  host.folds = own.folds = true; /* hosts fold constants before they partition the graph */
  surg__buf_init(&why, t->ctx);
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      surg__objection o = {0};
      if (!runs(&host, n)) continue;
      ++*nodes;
      why.n = 0;
      o.verdict = judge_place(&own, n, &why, &o);
      if (o.verdict == SURG__LEGAL) continue;
      surg__buf_putc(&why, 0);
      o.node = n;
      o.text = why.failed ? "" : why.p;
      if (!o.source) o.source = t->source;
      fn(user, &o);
    }
  if (why.failed) s = surg__alloc_status(t->ctx);
  surg__buf_free(&why);
  return s;
}
