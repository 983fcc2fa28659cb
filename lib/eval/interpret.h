/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model on given inputs: what a pass did is compared by what the model computes before and
 * after, and `run` shows it. If, Loop, Scan, SequenceMap and calls of model functions; tensors,
 * sequences, optionals and maps. A value is freed after its last use. */
#ifndef SURG_INTERPRET_H
#define SURG_INTERPRET_H

#include "eval/value.h"

/* How to run, and what came of it. */
typedef struct surg__session {
  uint64_t max_bytes;   /* of the results of one node */
  uint64_t max_work;    /* operations of the whole run */
  const uint64_t *seed; /* NULL: random operators are not computed */
  /* Called with every value a node has made, as it is made, in subgraphs and functions too; what
   * it is to keep it takes by surg__array_ref or copies. Not SURG_OK: the run stops. */
  surg_status (*watch)(void *user, const surg_node *n, size_t output, const surg__array *a);
  void *user;
  uint64_t work;        /* set: operations spent */
  const char *why;      /* set on failure: static text, may be NULL */
  const surg_node *at;  /* set on failure: the node, may be NULL */
} surg__session;

/* Computes every output of the main graph. `inputs` has an entry for each graph input (dtype
 * SURG_UNDEFINED: take the initializer that bears its name); `outputs` one for each graph output,
 * set to arrays the caller drops (surg__array_drop). SURG_EUNSUPPORTED: some node cannot be
 * computed here; SURG_ELIMIT: over budget; SURG_EINVALID: the inputs do not fit the model. The
 * model must be in topological order. */
surg_status surg__session_run(surg__session *session, surg_model *m, const surg__array *inputs,
                              surg__array *outputs);

/* The same with outputs copied into `arena`. *why and *at may be NULL. */
surg_status surg__interpret(surg_model *m, surg__arena *arena, const surg__array *inputs,
                            surg__array *outputs, uint64_t max_bytes, uint64_t max_work,
                            const char **why, const surg_node **at);

#endif
