/* SPDX-License-Identifier: Apache-2.0 */
/* What `onnxsurg info` finds out about a model, and how it is shown. */
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
  int64_t macs_at_1, flops_at_1; /* with every symbol as 1 */
} info_cost;

/* The node that needs the newest opset of a domain. */
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
  uint64_t bytes; /* of the file; 0: not known */
  cli_stats stats;
  info_weights weights[SURG_DTYPE_COUNT]; /* by element type; strings by 8 */
  info_weights absent; /* those whose data cannot be read */
  size_t values, values_ranked, values_sized;
  info_cost *costs; /* of nodes that cost something, the greatest first */
  size_t cost_count;
  surg__poly macs, flops; /* sums; `bad`: more than can be told */
  int64_t flops_at_1;
  size_t size_unknown;     /* nodes not counted */
  size_t operator_unknown; /* nodes not counted */
  size_t calls_unknown;    /* calls of functions not counted */
  surg__peak peak;
  int64_t ir_floor;
  const surg_node *ir_node;
  char ir_what[512];
  const surg__target *target; /* --target, or NULL */
  info_floor floors[INFO_DOMAINS];
  size_t floor_count;
  char symbols[128]; /* of the inputs, that are no numbers; "" for none */
} info_facts;

/* Types are inferred. On failure a line has been said or the status is SURG_ENOMEM. */
surg_status info_gather(info_facts *f);
void info_free(info_facts *f);

void info_print_text(const info_facts *f, size_t top, bool values);
/* One JSON object: on one line, or over many. */
void info_print_json(const info_facts *f, size_t top, bool one_line);

/* The opsets of the default domain from the oldest the content fits to the newest the target takes;
 * empty where *low is above *high. The result is the node that needs the oldest one, or NULL. */
const surg_node *info_window(const info_facts *f, int64_t *low, int64_t *high);

#endif
