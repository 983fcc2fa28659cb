/* SPDX-License-Identifier: Apache-2.0 */
/* Isolated nodes as public objects (onnxsurg/isolate.h). */
#include <onnxsurg/isolate.h>

#include "base/diag.h"
#include "ir/ir.h"
#include "run/isolate.h"
#include "run/public.h"

struct surg_isolated {
  surg_context *ctx;
  surg__isolated x;
};

surg_status surg_node_select(surg_model *model, const char *text, surg_node **out) {
  if (out) *out = NULL;
  return model && text && out ? surg__find_node(model, text, out) : SURG_EUSAGE;
}

static surg_status isolate(surg_node *n, const surg_engine *engine, surg_inputs *in, uint64_t turn,
                           surg__isolated *out) {
  const surg__engine own = surg__engine_default();
  surg__maker maker = in->maker;
  return surg__isolate(n, engine ? &engine->e : &own, &maker, turn, in->given, in->in, out);
}

surg_status surg_isolate(surg_node *n, const surg_engine *engine, surg_inputs *in, uint64_t turn,
                         surg_isolated **out) {
  if (out) *out = NULL;
  if (!n || !out || surg_node_erased(n)) return SURG_EUSAGE;
  surg_model *m = surg_graph_model(surg_node_graph(n));
  surg_context *ctx = surg_model_context(m);
  if ((in && in->m != m) || (engine && (engine->ctx != ctx || engine->e.ort))) return SURG_EUSAGE;
  surg_inputs *own = NULL;
  surg_isolated *x = surg__calloc(ctx, 1, sizeof *x);
  surg_status s = x ? SURG_OK : surg__oom(ctx, NULL);
  if (x) x->ctx = ctx;
  if (s == SURG_OK && !in) s = surg_inputs_new(m, NULL, &own);
  if (s == SURG_OK) s = isolate(n, engine, in ? in : own, turn, &x->x);
  surg_inputs_free(own);
  if (s == SURG_OK)
    *out = x;
  else
    surg_isolated_free(x);
  return s;
}

surg_status surg_isolated_get(const surg_isolated *x, surg_isolated_summary *out) {
  if (!x || !out) return SURG_EUSAGE;
  const surg_isolated_summary all = {.size = sizeof all,
                                     .inputs = x->x.n_in,
                                     .outputs = x->x.n_out,
                                     .reached = x->x.reached,
                                     .computed = x->x.computed,
                                     .why = x->x.why};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_model *surg_isolated_model(const surg_isolated *x) {
  return x ? x->x.model : NULL;
}

surg_status surg_isolated_value(const surg_isolated *x, bool outputs, size_t i, surg_array **out) {
  if (!x || !out) return SURG_EUSAGE;
  *out = NULL;
  const bool known = outputs ? x->x.computed : x->x.reached;
  if (!known || i >= (outputs ? x->x.n_out : x->x.n_in)) return SURG_ENOTFOUND;
  return surg__array_handle(x->ctx, outputs ? &x->x.out[i] : &x->x.in[i], out);
}

void surg_isolated_free(surg_isolated *x) {
  if (!x) return;
  surg__isolated_free(x->ctx, &x->x);
  surg__free(x->ctx, x);
}
