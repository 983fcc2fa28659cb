/* SPDX-License-Identifier: Apache-2.0 */
/* What `onnxsurg info` prints of a model. */
#ifndef SURG_TOOLS_INFO_H
#define SURG_TOOLS_INFO_H

#include <onnxsurg/info.h>
#include <onnxsurg/target.h>

#include "cli.h"

typedef struct info_facts {
  surg_context *ctx;
  surg_model *m;
  const char *path;
  uint64_t bytes; /* file size; 0: unknown */
  cli_stats stats;
  surg_info *info;
  surg_info_summary sum;
  const surg_target *target; /* target of --target, or NULL */
} info_facts;

void info_print_text(const info_facts *f, size_t top, bool values);
/* Prints one JSON object, on one line or indented. */
void info_print_json(const info_facts *f, size_t top, bool one_line);

/* The range of default-domain opsets from the oldest one that has all operators of the model to
 * the newest one that the target supports; empty if *low > *high. Returns the node that requires
 * *low, or NULL. */
const surg_node *info_window(const info_facts *f, int64_t *low, int64_t *high);

#endif
