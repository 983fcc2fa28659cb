/* SPDX-License-Identifier: Apache-2.0 */
/* Isolates one node: builds a model of the node alone, with the input values that it has in a
 * run. */
#ifndef SURG_ISOLATE_H
#define SURG_ISOLATE_H

#include "run/run_engine.h"

/* Finds the node with a name, an index or path ("5", "graph.node[5]", or as messages print it,
 * `graph.node[5] "If_5" (If).then_branch.node[2]`), or the producer of the value with that name.
 * Reported: SURG_EUSAGE if there is none, or if several have the name. */
surg_status surg__find_node(surg_model *m, const char *text, surg_node **out);

typedef struct surg__isolated {
  surg_model *model;       /* its inputs are the values that are not constants */
  surg__array *in, *out;   /* inputs and outputs of the model, if the run reached the node */
  size_t n_in, n_out;
  bool reached, computed;  /* inputs are set; outputs are set too */
  char why[SURG__ORT_WHY + 300]; /* the reason if not */
} surg__isolated;

/* Runs the model on the given inputs, with made-up values for the others, until the node runs
 * for the `turn`-th time (counted from 0). The isolated model contains the node with its
 * subgraphs, the functions it calls, and constants. If the run does not reach the node, the
 * inputs of the isolated model have inferred types and no values. Failures are reported. */
surg_status surg__isolate(surg_node *n, const surg__engine *e, surg__maker *maker, uint64_t turn,
                          const bool *given, surg__array *in, surg__isolated *out);
void surg__isolated_free(surg_context *ctx, surg__isolated *x);

/* --- isolate_build.c: for isolate.c --- */
/* A value that the node or its subgraphs read. */
typedef struct surg__need {
  const surg_value *value;
  surg__array array; /* dtype UNDEFINED: not known */
  bool constant;
} surg__need;
typedef SURG_VEC(surg__need) surg__needs;
surg_status surg__isolate_needs(surg_node *n, surg__needs *out);
/* Builds the isolated model, without outputs. `m` not NULL: the node is about to run there, so
 * references to function attributes are resolved. The model belongs to context `to`. */
surg_status surg__isolate_build(surg_node *n, const surg__machine *m, const surg__needs *needs,
                                surg_context *to, surg_model **out);
/* The type of an array, as a type of model m. NULL: out of memory. */
const surg_type *surg__type_of_array(surg_model *m, const surg__array *a);

#endif
