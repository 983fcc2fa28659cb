/* SPDX-License-Identifier: Apache-2.0 */
/* The facts that `onnxsurg info` collects about a model, and the functions that print them. */
#ifndef SURG_TOOLS_INFO_H
#define SURG_TOOLS_INFO_H

#include "base/base.h"
#include "cli.h"
#include "sym/expr.h"
#include "measure/measure.h"
#include "target/target.h"

typedef struct info_weights {
  uint64_t tensors, parameters, bytes;
} info_weights;

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

#define INFO_DOMAINS 8u

typedef struct info_facts {
  surg_context *ctx;
  surg_model *m;
  const char *path;
  uint64_t bytes; /* file size; 0: unknown */
  cli_stats stats;
  info_weights weights[SURG_DTYPE_COUNT]; /* by element type; a string counts as 8 bytes */
  info_weights absent; /* weights whose data cannot be read */
  size_t values, values_ranked, values_sized;
  info_cost *costs; /* nodes with a cost, the largest first */
  size_t cost_count;
  surg__poly macs, flops; /* sums; `bad`: too large to represent */
  int64_t flops_at_1;
  size_t size_unknown;     /* nodes not counted: unknown operator */
  size_t operator_unknown; /* function calls not counted */
  size_t calls_unknown;    /* calls of functions not counted */
  surg__peak peak;
  int64_t ir_floor;
  const surg_node *ir_node;
  char ir_what[512];
  const surg__target *target; /* target of --target, or NULL */
  info_floor floors[INFO_DOMAINS];
  size_t floor_count;
  char symbols[128]; /* symbolic dimensions of the inputs; "" for none */
} info_facts;

/* Collects the facts; infers types first. On failure an error was printed, or the status is
 * SURG_ENOMEM. */
surg_status info_gather(info_facts *f);
void info_free(info_facts *f);

void info_print_text(const info_facts *f, size_t top, bool values);
/* Prints one JSON object, on one line or indented. */
void info_print_json(const info_facts *f, size_t top, bool one_line);

/* The range of default-domain opsets from the oldest one that has all operators of the model to
 * the newest one that the target supports; empty if *low > *high. Returns the node that requires
 * *low, or NULL. */
const surg_node *info_window(const info_facts *f, int64_t *low, int64_t *high);

#endif
