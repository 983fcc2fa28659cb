/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the objections of a target to a model, by cause, names the rejected operators, and asks
 * what inputs and outputs have. */
#include "repair/repair.h"

#include <stdio.h>
#include <string.h>

void surg__repair_ops_init(surg__repair_ops *ops, surg_context *ctx) {
  surg__buf_init(&ops->names, ctx);
  ops->seen = (surg__memo){0};
}

void surg__repair_ops_free(surg__repair_ops *ops) {
  surg__memo_free(ops->names.ctx, &ops->seen);
  surg__buf_free(&ops->names);
}

bool surg__repair_has_op(const surg__repair_ops *ops, const char *word) {
  size_t unused;
  return surg__memo_find(&ops->seen, surg__hash(ops->names.ctx, word, strlen(word)), &unused);
}

void surg__repair_add_op(surg__repair_ops *ops, const surg_node *n) {
  char name[256];
  surg__buf *b = &ops->names;
  const char *domain = surg_node_domain(n);
  snprintf(name, sizeof name, "%s%s%s", domain, domain[0] ? "." : "", surg_node_op_type(n));
  if (surg__repair_has_op(ops, name)) return;
  surg__memo_note(b->ctx, &ops->seen, surg__hash(b->ctx, name, strlen(name)), 0);
  if (!surg__repair_has_op(ops, name)) return;
  if (b->n) surg__buf_putc(b, '+');
  surg__buf_puts(b, name);
}

uint32_t surg__repair_causes(const surg__objection *o) {
  return o->causes | UINT32_C(1) << o->cause;
}

bool surg__repair_may_be_for(uint32_t causes, surg__cause cause) {
  return causes >> cause & 1;
}

/* Whether a node with this finding fails in every run. */
static bool is_failing(const char *code) {
  return code && (!strcmp(code, "E203") || !strcmp(code, "E206") || !strcmp(code, "W206"));
}

static void count_one(void *user, const surg__objection *o) {
  surg__repair_counts *all = user;
  if (o->verdict != SURG__ILLEGAL && is_failing(o->code)) all->failing++;
  if (o->verdict == SURG__LEGAL) return;
  if (o->cause == SURG__C_DATA) {
    all->data++;
    all->data_illegal += o->verdict == SURG__ILLEGAL;
    return;
  }
  if (o->verdict == SURG__UNKNOWN) {
    all->unknown++;
    all->doubts += o->node || o->cause == SURG__C_DYNAMIC;
    return;
  }
  all->count[o->cause]++;
  all->causes |= surg__repair_causes(o);
  all->all++;
  all->misread += o->misread;
  if (all->ops && o->node && o->cause != SURG__C_DYNAMIC) surg__repair_add_op(all->ops, o->node);
}

surg_status surg__repair_count(const surg__target *t, surg_model *m, surg__repair_counts *out,
                               surg__repair_ops *ops) {
  surg__target quiet = *t;
  *out = (surg__repair_counts){.ops = ops};
  quiet.silent = true;
  return surg__target_model(&quiet, m, count_one, out);
}

bool surg__repair_has_defaults(const surg_model *m) {
  const surg_graph *g = surg_model_graph(m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    if (surg_value_is_initializer(v) && !surg_value_constant(v)) return true;
  }
  return false;
}

bool surg__repair_has_maps(const surg_model *m) {
  const surg_graph *g = surg_model_graph(m);
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    const surg_type *t = surg_graph_output_type(g, i);
    if (t && surg_type_get_kind(t) == SURG_TYPE_SEQUENCE) t = surg_type_elem(t);
    if (t && surg_type_get_kind(t) == SURG_TYPE_MAP) return true;
  }
  return false;
}

bool surg__repair_draws(const surg_model *m) {
  for (const surg_node *n = surg_graph_first_node(surg_model_graph(m)); n; n = surg_node_next(n))
    if (surg_node_nondeterministic(n)) return true;
  return false;
}
