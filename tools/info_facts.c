/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the facts that `onnxsurg info` prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"

static void add_weight(info_facts *f, const surg_tensor *t) {
  const int dtype = t ? surg_tensor_dtype(t) : 0;
  if (dtype <= 0 || dtype >= SURG_DTYPE_COUNT) return;
  info_weights *w = &f->weights[dtype];
  w->tensors++;
  w->parameters += surg_tensor_count(t);
  w->bytes += surg_tensor_bytes(t);
  if (t->view != SURG__VIEW_ABSENT || !t->lost) return;
  f->absent.tensors++;
  f->absent.parameters += surg_tensor_count(t);
  f->absent.bytes += surg_tensor_bytes(t);
}

static void add_weights(info_facts *f, const surg_graph *g) {
  for (surg_value *v = NULL; (v = surg_graph_next_initializer(g, v));)
    add_weight(f, surg_value_initializer(v));
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (surg_node_op(n) == SURG_OP_Constant)
      add_weight(f, surg_attr_tensor(surg_node_attr(n, "value"), 0));
}

static void count_values(info_facts *f, const surg_graph *g) {
  for (surg_value *v = NULL; (v = surg_graph_next_value(g, v));) {
    const surg_type *t = surg_value_type(v);
    f->values++;
    f->values_ranked += t && surg_type_has_rank(t);
    f->values_sized += t && surg_type_static(t, NULL);
  }
}

/* Evaluates every named symbol as 1. A size that only a run determines has no value. */
static bool as_one(void *user, const char *name, const surg_value *v, size_t axis, int64_t *out) {
  (void)user, (void)v, (void)axis;
  *out = 1;
  return name != NULL;
}

static bool at_one(surg__amount a, int64_t *out) {
  *out = a.k;
  return !a.expr || surg_dim_eval(&(surg_dim){-1, NULL, a.expr}, as_one, NULL, out) == SURG_OK;
}

static void add_amount(surg__poly *sum, surg__amount a) {
  if (a.expr)
    surg__poly_add(sum, 1, a.expr);
  else if (!surg__add_i64(sum->k, a.k, &sum->k))
    sum->bad = true;
}

static void add_known(info_facts *f, info_cost c) {
  if (!at_one(c.macs, &c.macs_at_1) || !at_one(c.flops, &c.flops_at_1)) {
    f->size_unknown++;
    return;
  }
  if (!c.flops.expr && !c.flops.k) return;
  f->costs[f->cost_count++] = c;
  add_amount(&f->macs, c.macs);
  add_amount(&f->flops, c.flops);
  if (!surg__add_i64(f->flops_at_1, c.flops_at_1, &f->flops_at_1)) f->flops_at_1 = INT64_MAX;
}

static void add_cost(info_facts *f, const surg_node *n) {
  info_cost c = {.node = n};
  if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION) {
    f->calls_unknown++; /* decremented when the cost of the call is known */
    return;
  }
  const surg_status s = surg__node_cost(n, &c.macs, &c.flops);
  if (s == SURG_OK)
    add_known(f, c);
  else if (s == SURG_EUNSUPPORTED)
    f->operator_unknown++;
  else
    f->size_unknown++;
}

static void add_call(void *user, const surg_node *call, const surg__call_cost *cost) {
  info_facts *f = user;
  f->calls_unknown--;
  f->size_unknown += cost->size_unknown;
  f->operator_unknown += cost->operator_unknown;
  add_known(f, (info_cost){.node = call, .macs = cost->macs, .flops = cost->flops});
}

/* Sorts by decreasing cost; nodes of equal cost stay in model order. */
static int by_cost(const void *a, const void *b) {
  const info_cost *x = a, *y = b;
  if (x->flops_at_1 != y->flops_at_1) return x->flops_at_1 < y->flops_at_1 ? 1 : -1;
  return x->node->order < y->node->order ? -1 : x->node->order > y->node->order;
}

static void raise_floor(info_facts *f, const surg_node *n) {
  const surg_schema *s = surg__node_oldest(n, NULL);
  if (!s) return;
  size_t i = 0;
  while (i < f->floor_count && strcmp(f->floors[i].domain, s->domain) != 0) i++;
  if (i == INFO_DOMAINS) return;
  if (i == f->floor_count) f->floors[f->floor_count++] = (info_floor){s->domain, 0, NULL};
  if (s->since > f->floors[i].opset) f->floors[i] = (info_floor){s->domain, s->since, n};
}

/* Lists the first 4 symbolic dimensions of the inputs, each once. */
static void list_symbols(info_facts *f) {
  const surg_graph *g = surg_model_graph(f->m);
  surg__buf b;
  surg__buf_init(&b, f->ctx);
  const char *seen[4];
  size_t n = 0;
  for (size_t i = 0; i < surg_graph_input_count(g) && n < CLI_COUNT(seen); i++) {
    const surg_type *t = surg_value_type(surg_graph_input(g, i));
    for (size_t k = 0; t && k < surg_type_rank(t) && n < CLI_COUNT(seen); k++) {
      const char *name = surg_type_dim(t, k)->param;
      bool known = !name || surg_type_dim(t, k)->value >= 0;
      for (size_t j = 0; j < n; j++) known = known || strcmp(seen[j], name) == 0;
      if (known) continue;
      seen[n++] = name;
      if (b.n) surg__buf_puts(&b, ", ");
      surg__buf_escape(&b, name, strlen(name), 24);
    }
  }
  surg__buf_putc(&b, 0);
  snprintf(f->symbols, sizeof f->symbols, "%s", b.failed || !b.p ? "" : b.p);
  surg__buf_free(&b);
}

surg_status info_gather(info_facts *f) {
  if (!cli_stats_of(f->m, &f->stats)) return SURG_ENOMEM;
  f->costs = calloc(f->stats.nodes + 1, sizeof *f->costs);
  if (!f->costs) return SURG_ENOMEM;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(f->m, g));) {
    const bool in_function = surg_graph_function(g) != NULL;
    add_weights(f, g);
    count_values(f, g);
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      raise_floor(f, n);
      if (!in_function) add_cost(f, n);
    }
  }
  const surg_status s = surg__model_calls(f->m, add_call, f);
  if (s != SURG_OK) return s;
  qsort(f->costs, f->cost_count, sizeof *f->costs, by_cost);
  f->ir_floor = surg_model_ir_floor(f->m, &f->ir_node, f->ir_what, sizeof f->ir_what);
  list_symbols(f);
  return surg__model_peak(f->m, as_one, NULL, &f->peak);
}

void info_free(info_facts *f) {
  cli_stats_free(&f->stats);
  free(f->costs);
  f->costs = NULL;
}

const surg_node *info_window(const info_facts *f, int64_t *low, int64_t *high) {
  const surg_node *floor = NULL;
  *low = 1;
  *high = surg_schema_newest("");
  for (size_t i = 0; i < f->floor_count; i++)
    if (!f->floors[i].domain[0]) {
      *low = f->floors[i].opset;
      floor = f->floors[i].node;
    }
  for (size_t i = 0; i < f->target->opsets.count; i++) {
    const surg__tspan *w = &f->target->opsets.items[i];
    if (w->name[0]) continue;
    if (w->high < *high) *high = w->high;
    if (w->low > *low) *low = w->low;
  }
  return floor;
}
