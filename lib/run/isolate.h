/* SPDX-License-Identifier: Apache-2.0 */
/* One node of a model as a model of its own, with the values that reach it in a run. */
#ifndef SURG_ISOLATE_H
#define SURG_ISOLATE_H

#include "run/run_engine.h"

/* The node of that name, or of that place: "5", "graph.node[5]", or as messages spell it,
 * `graph.node[5] "If_5" (If).then_branch.node[2]`; or the one that makes a value of that name.
 * Reported: SURG_EUSAGE when there is none, or more than one of the name. */
surg_status surg__find_node(surg_model *m, const char *text, surg_node **out);

typedef struct surg__isolated {
  surg_model *model;       /* its inputs are the values that are no constants */
  surg__array *in, *out;   /* of the model, when the run came so far */
  size_t n_in, n_out;
  bool reached, computed;  /* inputs are there; outputs are, too */
  char why[SURG__ORT_WHY + 300]; /* why not */
} surg__isolated;

/* Runs the model on inputs, made up where they are not given, up to the `turn`-th time (from 0)
 * that the node runs. What the node is built of: itself with its subgraphs, functions that it
 * calls, and constants. When the run does not come to the node, values are as inference says.
 * Reported. */
surg_status surg__isolate(surg_node *n, const surg__engine *e, surg__maker *maker, uint64_t turn,
                          const bool *given, surg__array *in, surg__isolated *out);
void surg__isolated_free(surg_context *ctx, surg__isolated *x);

/* --- isolate_build.c: for isolate.c --- */
/* A value that the node or what stands in it reads. */
typedef struct surg__need {
  const surg_value *value;
  surg__array array; /* UNDEFINED: not known */
  bool constant;
} surg__need;
typedef SURG_VEC(surg__need) surg__needs;
surg_status surg__isolate_needs(surg_node *n, surg__needs *out);
/* While the node is about to run (`m` not NULL), its attributes are those it runs with. The model
 * has no outputs yet. */
surg_status surg__isolate_build(surg_node *n, const surg__machine *m, const surg__needs *needs,
                                surg_model **out);
/* The type of an array, in a model. NULL: out of memory. */
const surg_type *surg__type_of_array(surg_model *m, const surg__array *a);

#endif
