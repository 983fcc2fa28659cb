/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the nodes, weights and operators of a model. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "schema/schema.h"

int cli_by_operator(const void *a, const void *b) {
  const cli_op_count *x = a, *y = b;
  int c = strcmp(x->op, y->op);
  return c ? c : strcmp(x->domain, y->domain);
}

static int by_count(const void *a, const void *b) {
  const cli_op_count *x = a, *y = b;
  if (x->count != y->count) return x->count < y->count ? 1 : -1;
  return cli_by_operator(a, b);
}

static void add_tensor(cli_stats *s, const surg_tensor *t) {
  if (!t) return;
  s->parameters += surg_tensor_count(t);
  s->weight_bytes += surg_tensor_bytes(t);
}

/* Merges equal operators of a list sorted by operator, and copies their strings. */
static bool merge(cli_stats *s, size_t n) {
  size_t out = 0;
  for (size_t i = 0; i < n; i++) {
    if (out && cli_by_operator(&s->ops[out - 1], &s->ops[i]) == 0) {
      s->ops[out - 1].count++;
    } else {
      s->ops[out++] = s->ops[i];
    }
  }
  for (size_t i = 0; i < out; i++) {
    s->ops[i].op = strdup(s->ops[i].op);
    s->ops[i].domain = strdup(s->ops[i].domain);
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

bool cli_stats_of(const surg_model *m, cli_stats *s) {
  *s = (cli_stats){.functions = surg_model_function_count(m)};
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) {
    s->nodes += surg_graph_node_count(g);
    s->subgraphs += surg_graph_get_kind(g) == SURG_GRAPH_SUBGRAPH;
    s->initializers += surg_graph_initializer_count(g);
    for (surg_value *v = NULL; (v = surg_graph_next_initializer(g, v));)
      add_tensor(s, surg_value_initializer(v));
  }
  s->ops = calloc(s->nodes + 1, sizeof *s->ops);
  if (!s->ops) return false;
  size_t n = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) {
    for (surg_node *node = surg_graph_first_node(g); node && n < s->nodes;
         node = surg_node_next(node)) {
      const char *domain = surg_node_domain(node);
      if (strcmp(domain, "ai.onnx") == 0) domain = "";
      const surg_schema *schema = surg_node_schema(node);
      s->ops[n++] = (cli_op_count){domain, surg_node_op_type(node), 1, class_of(node, domain),
                                   schema && schema->flags & SURG__OP_CONTROL_FLOW};
      if (surg_node_op(node) == SURG_OP_Constant)
        add_tensor(s, surg_attr_tensor(surg_node_attr(node, "value"), 0));
    }
  }
  qsort(s->ops, n, sizeof *s->ops, cli_by_operator);
  if (!merge(s, n)) {
    cli_stats_free(s);
    return false;
  }
  qsort(s->ops, s->op_count, sizeof *s->ops, by_count);
  return true;
}

void cli_stats_free(cli_stats *s) {
  for (size_t i = 0; i < s->op_count; i++) {
    free((char *)(uintptr_t)s->ops[i].op);
    free((char *)(uintptr_t)s->ops[i].domain);
  }
  free(s->ops);
  *s = (cli_stats){0};
}

void cli_add_op_json(json_t *all, const cli_op_count *op) {
  size_t n = strlen(op->domain) + strlen(op->op) + 2;
  char *key = malloc(n);
  if (!key) return;
  snprintf(key, n, "%s%s%s", op->domain, op->domain[0] ? "." : "", op->op);
  json_object_set_new_nocheck(all, key, json_integer((json_int_t)op->count));
  free(key);
}

json_t *cli_ops_json(const cli_stats *s) {
  json_t *ops = json_object();
  for (size_t i = 0; i < s->op_count; i++) cli_add_op_json(ops, &s->ops[i]);
  return ops;
}

/* Returns one of a few static buffers in rotation. */
static char *next_buffer(size_t *size) {
  static _Thread_local char buffers[4][32];
  static _Thread_local unsigned next;
  *size = sizeof buffers[0];
  return buffers[next++ % 4];
}

const char *cli_count(uint64_t n) {
  static const char units[] = " kMGTPE";
  size_t size;
  char *b = next_buffer(&size);
  double v = (double)n;
  size_t u = 0;
  while (v >= 999.5 && u + 1 < sizeof units - 1) {
    v /= 1000;
    u++;
  }
  if (u)
    snprintf(b, size, "%.*f %c", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[u]);
  else
    snprintf(b, size, "%.0f", v);
  return b;
}

const char *cli_bytes(uint64_t n) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t size;
  char *b = next_buffer(&size);
  double v = (double)n;
  size_t u = 0;
  while (v >= 1024 && u < 4) {
    v /= 1024;
    u++;
  }
  snprintf(b, size, u ? "%.1f %s" : "%.0f %s", v, units[u]);
  return b;
}
