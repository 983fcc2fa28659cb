/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines for nodes of element types that an engine does not support: computed in another type
 * between Casts, or without quantization. */
#include "repair/repair.h"

#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "pass/pass.h"

typedef struct wraps {
  const surg__target *t;
  surg_context *ctx;
  surg__repair_texts *texts;
} wraps;

static void note_wrap(wraps *w, const surg_node *n, const surg__type_facts *types) {
  surg__buf b;
  surg__buf_init(&b, w->ctx);
  const char *domain = surg_node_domain(n);
  surg__buf_printf(&b, "wrap-casts{op=%s%s", domain, domain[0] ? "." : "");
  surg__buf_printf(&b, "%s,param=%s,types=", surg_node_op_type(n), types->name);
  for (int d = 1, any = 0; d < SURG__DTYPES; d++)
    if (types->mask >> d & 1) surg__buf_printf(&b, "%s%s", any++ ? "+" : "", surg_dtype_name(d));
  surg__buf_puts(&b, "}");
  surg__buf_putc(&b, 0);
  bool fresh = !b.failed && types->mask && w->texts->n < SURG_COUNT(w->texts->items);
  for (size_t i = 0; i < w->texts->n && fresh; i++) fresh = strcmp(w->texts->items[i], b.p) != 0;
  char *text = fresh ? strdup(b.p) : NULL;
  if (text) w->texts->items[w->texts->n++] = text;
  surg__buf_free(&b);
}

static void note_types(void *user, const surg__objection *o) {
  wraps *w = user;
  if (o->verdict != SURG__ILLEGAL || !o->node ||
      !surg__repair_may_be_for(surg__repair_causes(o), SURG__C_TYPE))
    return;
  const surg__op_facts *op =
      surg__target_op(w->t, surg_node_domain(o->node), surg_node_op_type(o->node));
  for (size_t i = 0; op && i < op->n; i++)
    for (size_t k = 0; k < op->facts[i].n_types; k++)
      if (strcmp(op->facts[i].types[k].name, "out") != 0)
        note_wrap(w, o->node, &op->facts[i].types[k]);
}

void surg__repair_wraps(const surg__target *t, surg_model *m, surg__repair_texts *texts) {
  wraps w = {.t = t, .ctx = surg_model_context(m), .texts = texts};
  surg__target_model(t, m, note_types, &w);
}

/* Whether the operator computes quantized numbers from quantized ones, with their scales as inputs:
 * QLinearConv, and those of that name that ONNX Runtime adds. */
static bool is_quantized(const surg_node *n) {
  static const char prefix[] = "QLinear";
  return strncmp(surg_node_op_type(n), prefix, sizeof prefix - 1) == 0;
}

bool surg__repair_unquantized(surg_model *m, surg__buf *out) {
  surg__repair_ops ops;
  surg__repair_ops_init(&ops, surg_model_context(m));
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (is_quantized(n)) surg__repair_add_op(&ops, n);
  const bool any = ops.names.n > 0;
  surg__buf_putc(&ops.names, 0);
  if (any && !ops.names.failed)
    surg__buf_printf(out,
                     "dedup,replace{op=%s},fold{dequantize,max-growth=inf},"
                     "rewrite{rule=quantization-left-out},prune",
                     ops.names.p);
  surg__buf_putc(out, 0);
  const bool made = any && !ops.names.failed && !out->failed;
  surg__repair_ops_free(&ops);
  return made;
}

/* The objections that a trial leaves; SIZE_MAX: it fails, or changes nothing. */
static size_t left_by(surg__repair *r, const char *text) {
  surg__repair_counts after;
  surg__consent needed;
  surg_model *copy = surg__repair_try(r, text, r->given, SIZE_MAX, &after, &needed);
  if (!copy) return SIZE_MAX;
  surg_model_free(copy);
  return after.all;
}

bool surg__repair_rounds(surg__repair *r) {
  static const char *const ops[] = {"QuantizeLinear", "DequantizeLinear",
                                    "com.microsoft.QuantizeLinear",
                                    "com.microsoft.DequantizeLinear"};
  static const char exact[] =
      "replace{op=QuantizeLinear+DequantizeLinear+"
      "com.microsoft.QuantizeLinear+com.microsoft.DequantizeLinear}";
  surg__repair_ops rejected;
  surg__repair_counts unused;
  bool any = false;
  surg__repair_ops_init(&rejected, r->ctx);
  if (surg__repair_count(r->t, r->m, &unused, &rejected) == SURG_OK)
    for (size_t i = 0; i < SURG_COUNT(ops); i++) any |= surg__repair_has_op(&rejected, ops[i]);
  surg__repair_ops_free(&rejected);
  return any && left_by(r, SURG__UNQUANTIZE) < left_by(r, exact);
}
