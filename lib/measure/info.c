/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a model (onnxsurg/info.h). */
#include <onnxsurg/info.h>
#include <stdlib.h>

#include "base/diag.h"
#include "ir/ir.h"
#include "measure/measure.h"
#include "sym/expr.h"

#define FLOOR_DOMAINS 8u /* most domains of which the oldest opset is kept */

/* The arithmetic of one node. */
typedef struct info_cost {
  const surg_node *node;
  surg__amount macs, flops;
  int64_t macs_at_1, flops_at_1; /* with 1 for every symbol */
} info_cost;

/* The node that requires the newest opset of a domain. */
typedef struct info_floor {
  const char *domain;
  int opset;
  const surg_node *node;
} info_floor;

struct surg_info {
  surg_context *ctx;
  surg_model *m;
  surg_stats *stats;
  surg_info_weights weights[SURG_DTYPE_COUNT]; /* by element type; a string counts as 8 bytes */
  surg_info_weights absent;                    /* weights whose data cannot be read */
  size_t values, values_ranked, values_sized;
  info_cost *costs; /* nodes with a cost, the largest first */
  size_t cost_count;
  surg__poly macs, flops; /* sums; `bad`: too large to represent */
  int64_t flops_at_1;
  size_t size_unknown;     /* nodes not counted: of unknown size */
  size_t operator_unknown; /* ... of unknown operator */
  size_t calls_unknown;    /* calls of functions not counted */
  surg__peak peak;
  int64_t ir_floor;
  char ir_what[512];
  info_floor floors[FLOOR_DOMAINS];
  size_t floor_count;
};

static void add_weight(surg_info *f, const surg_tensor *t) {
  const int dtype = t ? surg_tensor_dtype(t) : 0;
  if (dtype <= 0 || dtype >= SURG_DTYPE_COUNT) return;
  surg_info_weights *w = &f->weights[dtype];
  w->tensors++;
  w->parameters += surg_tensor_count(t);
  w->bytes += surg_tensor_bytes(t);
  if (t->view != SURG__VIEW_ABSENT || !t->lost) return;
  f->absent.tensors++;
  f->absent.parameters += surg_tensor_count(t);
  f->absent.bytes += surg_tensor_bytes(t);
}

static void add_weights(surg_info *f, const surg_graph *g) {
  for (surg_value *v = NULL; (v = surg_graph_next_initializer(g, v));)
    add_weight(f, surg_value_initializer(v));
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    if (surg_node_op(n) == SURG_OP_Constant)
      add_weight(f, surg_attr_tensor(surg_node_attr(n, "value"), 0));
}

static void count_values(surg_info *f, const surg_graph *g) {
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

static void add_known(surg_info *f, info_cost c) {
  if (!at_one(c.macs, &c.macs_at_1) || !at_one(c.flops, &c.flops_at_1)) {
    f->size_unknown++;
    return;
  }
  if (!c.flops.expr && !c.flops.k) return;
  f->costs[f->cost_count++] = c;
  add_amount(&f->macs, c.macs);
  add_amount(&f->flops, c.flops);
  if (c.flops_at_1 > 0 && !surg__add_i64(f->flops_at_1, c.flops_at_1, &f->flops_at_1))
    f->flops_at_1 = INT64_MAX;
}

static void add_cost(surg_info *f, const surg_node *n) {
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
  surg_info *f = user;
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

static void raise_floor(surg_info *f, const surg_node *n) {
  const surg_schema *s = surg__node_oldest(n, NULL);
  if (!s) return;
  size_t i = 0;
  while (i < f->floor_count && strcmp(f->floors[i].domain, s->domain) != 0) i++;
  if (i == FLOOR_DOMAINS) return;
  if (i == f->floor_count) f->floors[f->floor_count++] = (info_floor){s->domain, 0, NULL};
  if (s->since > f->floors[i].opset) f->floors[i] = (info_floor){s->domain, s->since, n};
}

static surg_status gather(surg_info *f) {
  surg_stats_summary sum = {.size = sizeof sum};
  const surg_node *at;
  surg_status s = surg_model_infer(f->m);
  if (s == SURG_OK) s = surg_stats_new(f->m, &f->stats);
  if (s == SURG_OK) s = surg_stats_get(f->stats, &sum);
  if (s != SURG_OK) return s;
  f->costs = surg__calloc(f->ctx, sum.nodes + 1, sizeof *f->costs);
  if (!f->costs) return surg__alloc_status(f->ctx);
  for (surg_graph *g = NULL; (g = surg_model_next_graph(f->m, g));) {
    const bool in_function = surg_graph_function(g) != NULL;
    add_weights(f, g);
    count_values(f, g);
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n)) {
      raise_floor(f, n);
      if (!in_function) add_cost(f, n);
    }
  }
  s = surg__model_calls(f->m, add_call, f);
  if (s != SURG_OK) return s;
  if (f->cost_count) qsort(f->costs, f->cost_count, sizeof *f->costs, by_cost);
  f->ir_floor = surg_model_ir_floor(f->m, &at, f->ir_what, sizeof f->ir_what);
  return surg__model_peak(f->m, as_one, NULL, &f->peak);
}

surg_status surg_info_new(surg_model *model, surg_info **out) {
  if (out) *out = NULL;
  if (!model || !out) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(model);
  surg_info *f = surg__calloc(ctx, 1, sizeof *f);
  if (!f) return surg__oom(ctx, NULL);
  f->ctx = ctx;
  f->m = model;
  const surg_status s = gather(f);
  if (s == SURG_OK)
    *out = f;
  else
    surg_info_free(f);
  return s;
}

surg_model *surg__info_model(const surg_info *f) {
  return f->m;
}

void surg_info_free(surg_info *f) {
  if (!f) return;
  surg_stats_free(f->stats);
  surg__free(f->ctx, f->costs);
  surg__free(f->ctx, f);
}

const surg_stats *surg_info_stats(const surg_info *f) {
  return f ? f->stats : NULL;
}

/* --- getters --- */

static size_t count_files(const surg_model *m) {
  size_t n = 0;
  for (const surg__datafile *d = m->files; d; d = d->next) n++;
  return n;
}

surg_status surg_info_get(const surg_info *f, surg_info_summary *out) {
  if (!f || !out) return SURG_EUSAGE;
  surg_info_summary all = {.size = sizeof all,
                           .values = f->values,
                           .values_ranked = f->values_ranked,
                           .values_sized = f->values_sized,
                           .absent_tensors = f->absent.tensors,
                           .absent_parameters = f->absent.parameters,
                           .absent_bytes = f->absent.bytes,
                           .costs = f->cost_count,
                           .floors = f->floor_count,
                           .files = count_files(f->m),
                           .flops_at_1 = f->flops_at_1,
                           .size_unknown = f->size_unknown,
                           .operator_unknown = f->operator_unknown,
                           .calls_unknown = f->calls_unknown,
                           .peak_bytes = f->peak.bytes,
                           .peak_node = f->peak.node,
                           .peak_unknown = f->peak.unknown,
                           .ir_floor = f->ir_floor,
                           .ir_why = f->ir_what};
  for (int d = 0; d < SURG_DTYPE_COUNT; d++) all.weight_tensors += f->weights[d].tensors;
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_info_weights_of(const surg_info *f, int dtype, surg_info_weights *out) {
  if (!f || !out) return SURG_EUSAGE;
  if (dtype < 0 || dtype >= SURG_DTYPE_COUNT || !f->weights[dtype].tensors) return SURG_ENOTFOUND;
  surg__struct_out(out, &f->weights[dtype], sizeof *out);
  return SURG_OK;
}

/* An amount as a dimension; a negative number cannot occur. */
static surg_dim dim_of(surg__amount a) {
  return a.expr ? (surg_dim){.value = -1, .expr = a.expr} : (surg_dim){.value = a.k};
}

surg_status surg_info_cost(const surg_info *f, size_t i, surg_info_node *out) {
  if (!f || !out) return SURG_EUSAGE;
  if (i >= f->cost_count) return SURG_ENOTFOUND;
  const info_cost *c = &f->costs[i];
  const surg_info_node all = {.size = sizeof all,
                              .node = c->node,
                              .macs = dim_of(c->macs),
                              .flops = dim_of(c->flops),
                              .macs_at_1 = c->macs_at_1,
                              .flops_at_1 = c->flops_at_1};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_info_total(const surg_info *f, bool flops, surg_dim *out) {
  if (!f || !out) return SURG_EUSAGE;
  const surg__poly *sum = flops ? &f->flops : &f->macs;
  *out = (surg_dim){.value = -1};
  if (sum->bad) return SURG_ELIMIT;
  if (!sum->n) {
    out->value = sum->k;
    return SURG_OK;
  }
  out->expr = surg__poly_expr(sum->args[0]->set, sum);
  return out->expr ? SURG_OK : SURG_ELIMIT;
}

surg_status surg_info_term(const surg_info *f, bool flops, size_t i, int64_t *factor,
                           const surg_expr **expr) {
  if (!f || !factor || !expr) return SURG_EUSAGE;
  const surg__poly *sum = flops ? &f->flops : &f->macs;
  if (sum->bad) return SURG_ELIMIT;
  const bool last = i == sum->n && (sum->k || !sum->n);
  if (i >= sum->n && !last) return SURG_ENOTFOUND;
  *factor = last ? sum->k : sum->coeffs[i];
  *expr = last ? NULL : sum->args[i];
  return SURG_OK;
}

surg_status surg_info_floor(const surg_info *f, size_t i, surg_info_floor_of *out) {
  if (!f || !out) return SURG_EUSAGE;
  if (i >= f->floor_count) return SURG_ENOTFOUND;
  const surg_info_floor_of all = {.size = sizeof all,
                                  .domain = f->floors[i].domain,
                                  .opset = f->floors[i].opset,
                                  .node = f->floors[i].node};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_info_file(const surg_info *f, size_t i, surg_info_data *out) {
  if (!f || !out) return SURG_EUSAGE;
  const surg__datafile *d = f->m->files;
  while (d && i-- > 0) d = d->next;
  if (!d) return SURG_ENOTFOUND;
  const surg_info_data all = {.size = sizeof all,
                              .location = d->location,
                              .bytes = d->absent ? 0 : d->size,
                              .absent = d->absent};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_node_oldest(const surg_node *n, const surg_schema **out, char **why) {
  if (!n || !out) return SURG_EUSAGE;
  surg__buf text;
  surg__buf_init(&text, surg_model_context(surg_graph_model(surg_node_graph(n))));
  if (why) *why = NULL;
  *out = surg__node_oldest(n, why ? &text : NULL);
  if (*out && why) return surg__buf_give(&text, why);
  surg__buf_free(&text);
  return *out ? SURG_OK : SURG_ENOTFOUND;
}
