/* SPDX-License-Identifier: Apache-2.0 */
/* What `onnxsurg info` prints of a model. */
#ifndef SURG_TOOLS_INFO_H
#define SURG_TOOLS_INFO_H

#include <onnxsurg/info.h>
#include <onnxsurg/target.h>

#include "cli.h"
#include "grid.h"

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

/* What `info` prints beyond the page. */
typedef struct info_more {
  size_t top, modules; /* modules: components of folders; 0: not asked for */
  bool weights, markdown;
} info_more;

/* Prints the range and the histogram of each constant. */
void info_print_weights(const info_facts *f, bool markdown);
json_t *info_weights_json(const info_facts *f);
/* Prints cost, parameters and nodes by folder of names. */
surg_status info_print_modules(const info_facts *f, size_t depth, bool markdown);
json_t *info_modules_json(const info_facts *f, size_t depth);
/* A table of models: a row each. */
#define INFO_NAME 24u /* bytes of a name in it */
void info_table_start(cli_table *t, bool markdown);
void info_table_add(cli_table *t, const info_facts *f);

/* A number of operations: "4.09 G", "-" for 0, "?" below 0. As cli_count. */
const char *info_amount(int64_t n);
/* Whether the number of operations depends on symbols. */
bool info_is_symbolic(const info_facts *f);

void info_print_text(const info_facts *f, size_t top, bool values);
/* Prints one JSON object, on one line or indented. */
void info_print_json(const info_facts *f, const info_more *more, bool one_line);

/* The range of default-domain opsets from the oldest one that has all operators of the model to
 * the newest one that the target supports; empty if *low > *high. Returns the node that requires
 * *low, or NULL. */
const surg_node *info_window(const info_facts *f, int64_t *low, int64_t *high);

#endif
