/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of a model for summaries, and numbers as text. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int cli_by_operator(const void *a, const void *b) {
  const cli_op_count *x = a, *y = b;
  int c = strcmp(x->op, y->op);
  return c ? c : strcmp(x->domain, y->domain);
}

/* Copies the operators into an array that the caller may sort. */
static bool copy_ops(cli_stats *s, size_t n) {
  s->ops = calloc(n + 1, sizeof *s->ops);
  if (!s->ops) return false;
  surg_stats_op_count op = {.size = sizeof op};
  for (; surg_stats_op(s->counts, s->op_count, &op) == SURG_OK; s->op_count++)
    s->ops[s->op_count] =
        (cli_op_count){op.domain, op.op, op.count, (surg_op_class)op.op_class, op.control};
  return true;
}

bool cli_stats_of(const surg_model *m, cli_stats *s) {
  surg_stats_summary sum = {.size = sizeof sum};
  *s = (cli_stats){0};
  if (surg_stats_new(m, &s->counts) != SURG_OK) return false;
  surg_stats_get(s->counts, &sum);
  s->nodes = sum.nodes;
  s->subgraphs = sum.subgraphs;
  s->functions = sum.functions;
  s->initializers = sum.initializers;
  s->parameters = sum.parameters;
  s->weight_bytes = sum.weight_bytes;
  if (copy_ops(s, sum.ops)) return true;
  cli_stats_free(s);
  return false;
}

void cli_stats_free(cli_stats *s) {
  free(s->ops);
  surg_stats_free(s->counts);
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
