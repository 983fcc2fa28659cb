/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by rename.c and rename_all.c: the changes of one run of the pass `rename`. */
#ifndef SURG_PASSES_RENAME_H
#define SURG_PASSES_RENAME_H

#include <onnxsurg/onnxsurg.h>

typedef enum rename_what {
  RENAME_INPUT,
  RENAME_OUTPUT,
  RENAME_VALUE,
  RENAME_NODE,
  RENAME_DIM,
  RENAME_KINDS
} rename_what;

typedef struct rename_change {
  rename_what what;
  const char *from, *to;
  surg_value *value;
  surg_node *node;
} rename_change;

/* Lists the changes of the options prefix, suffix, match and by, in memory of the pass; *n is 0
 * without these options. False after an error. */
bool rename_all(surg_pass_ctx *p, rename_change **list, size_t *n);

#endif
