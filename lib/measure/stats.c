/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the nodes, weights and operators of a model (onnxsurg/info.h). */
#include <onnxsurg/info.h>
#include <stdlib.h>

#include "base/diag.h"
#include "ir/ir.h"
#include "schema/schema.h"

struct surg_stats {
  surg_context *ctx;
  surg_stats_summary sum;
  surg_stats_op_count *ops; /* by count, then name; owns its strings */
  size_t op_count;
};

static int by_operator(const void *a, const void *b) {
  const surg_stats_op_count *x = a, *y = b;
  int c = strcmp(x->op, y->op);
  return c ? c : strcmp(x->domain, y->domain);
}

static int by_count(const void *a, const void *b) {
  const surg_stats_op_count *x = a, *y = b;
  if (x->count != y->count) return x->count < y->count ? 1 : -1;
  return by_operator(a, b);
}

static void add_tensor(surg_stats *s, const surg_tensor *t) {
  if (!t) return;
  s->sum.parameters += surg_tensor_count(t);
  s->sum.weight_bytes += surg_tensor_bytes(t);
}

/* Merges equal operators of a list sorted by operator, and copies their strings. */
static bool merge(surg_stats *s, size_t n) {
  size_t out = 0;
  for (size_t i = 0; i < n; i++) {
    if (out && by_operator(&s->ops[out - 1], &s->ops[i]) == 0)
      s->ops[out - 1].count++;
    else
      s->ops[out++] = s->ops[i];
  }
  for (size_t i = 0; i < out; i++) {
    s->ops[i].op = surg__strdup(s->ctx, s->ops[i].op);
    s->ops[i].domain = surg__strdup(s->ctx, s->ops[i].domain);
    s->op_count = i + 1;
    if (!s->ops[i].op || !s->ops[i].domain) return false;
  }
  return true;
}

/* The class of a node's operator. An invalid node is resolved as a custom operator; here a
 * standard operator counts as standard even if the node is invalid. */
static surg_op_class class_of(const surg_node *n, const char *domain) {
  const surg_op_class class = surg_node_class(n);
  const int64_t opset = surg_graph_opset(surg_node_graph(n), domain);
  const bool known = class == SURG_OP_CLASS_CUSTOM && opset &&
                     surg_schema_find(domain, surg_node_op_type(n), opset);
  return known ? SURG_OP_CLASS_BUILTIN : class;
}

static void add_node(surg_stats *s, const surg_node *n, surg_stats_op_count *out) {
  const surg_schema *schema = surg_node_schema(n);
  const char *domain = surg_node_domain(n);
  if (strcmp(domain, "ai.onnx") == 0) domain = "";
  *out = (surg_stats_op_count){.size = sizeof *out,
                               .domain = domain,
                               .op = surg_node_op_type(n),
                               .count = 1,
                               .op_class = class_of(n, domain),
                               .control = schema && schema->flags & SURG__OP_CONTROL_FLOW};
  if (surg_node_op(n) == SURG_OP_Constant)
    add_tensor(s, surg_attr_tensor(surg_node_attr(n, "value"), 0));
}

static bool count(surg_stats *s, const surg_model *m) {
  s->sum.functions = surg_model_function_count(m);
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) {
    s->sum.nodes += surg_graph_node_count(g);
    s->sum.subgraphs += surg_graph_get_kind(g) == SURG_GRAPH_SUBGRAPH;
    s->sum.initializers += surg_graph_initializer_count(g);
    for (surg_value *v = NULL; (v = surg_graph_next_initializer(g, v));)
      add_tensor(s, surg_value_initializer(v));
  }
  s->ops = surg__calloc(s->ctx, s->sum.nodes + 1, sizeof *s->ops);
  if (!s->ops) return false;
  size_t n = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (surg_node *node = surg_graph_first_node(g); node && n < s->sum.nodes;
         node = surg_node_next(node))
      add_node(s, node, &s->ops[n++]);
  qsort(s->ops, n, sizeof *s->ops, by_operator);
  if (!merge(s, n)) return false;
  qsort(s->ops, s->op_count, sizeof *s->ops, by_count);
  s->sum.ops = s->op_count;
  return true;
}

surg_status surg_stats_new(const surg_model *model, surg_stats **out) {
  if (out) *out = NULL;
  if (!model || !out) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(model);
  surg_stats *s = surg__calloc(ctx, 1, sizeof *s);
  if (!s) return surg__oom(ctx, NULL);
  s->ctx = ctx;
  s->sum.size = sizeof s->sum;
  if (count(s, model)) {
    *out = s;
    return SURG_OK;
  }
  surg_stats_free(s);
  return surg__alloc_status(ctx);
}

surg_status surg_stats_get(const surg_stats *s, surg_stats_summary *out) {
  if (!s || !out) return SURG_EUSAGE;
  surg__struct_out(out, &s->sum, sizeof s->sum);
  return SURG_OK;
}

surg_status surg_stats_op(const surg_stats *s, size_t i, surg_stats_op_count *out) {
  if (!s || !out) return SURG_EUSAGE;
  if (i >= s->op_count) return SURG_ENOTFOUND;
  surg__struct_out(out, &s->ops[i], sizeof s->ops[i]);
  return SURG_OK;
}

void surg_stats_free(surg_stats *s) {
  if (!s) return;
  for (size_t i = 0; i < s->op_count; i++) {
    surg__free(s->ctx, (char *)(uintptr_t)s->ops[i].op);
    surg__free(s->ctx, (char *)(uintptr_t)s->ops[i].domain);
  }
  surg__free(s->ctx, s->ops);
  surg__free(s->ctx, s);
}
