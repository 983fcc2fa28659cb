/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes as rows of a table and as JSON, for `nodes`, `find` and `info --nodes`. */
#ifndef SURG_TOOLS_NODE_ROW_H
#define SURG_TOOLS_NODE_ROW_H

#include "cli.h"

/* Prints a table of the nodes: those of `only` (in the order of the model), or all if it is NULL.
 * Lines are cut at 80 columns on a terminal. Types must be inferred. */
int node_table_print(surg_context *ctx, surg_model *m, surg_node *const *only, size_t n);
/* The same as an array of JSON objects. */
json_t *node_table_json(surg_context *ctx, surg_model *m, surg_node *const *only, size_t n);
/* One node as a JSON object. */
json_t *node_json(surg_context *ctx, const surg_node *n);

#endif
