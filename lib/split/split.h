/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lib/split. */
#ifndef SURG_SPLIT_H
#define SURG_SPLIT_H

#include <onnxsurg/split.h>

#include "ir/ir.h"

struct surg_split {
  surg_context *ctx;
  surg_model *m;
  uint32_t *part; /* of each node of the main graph, in order */
  size_t n_nodes, n_parts;
  bool *dead; /* of each node: no output of the model depends on it */
};

/* A node of the main graph that does nothing but hold a constant: each part that reads it has its
 * own. */
bool surg__split_constant(const surg_node *n);
/* The node of the main graph that is, or contains, the user of a NODE or OUTPUT use; NULL: the main
 * graph itself, or another graph. */
surg_node *surg__split_user(const surg_use *u, const surg_graph *main);

/* Merges `b` into `m` as parts of one model: what both have under one name with equal content is
 * one again (share.c). `b` is left changed. */
surg_status surg__split_join(surg_model *m, surg_model *b);

#endif
