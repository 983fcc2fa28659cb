/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model on given inputs: what a pass did is compared by what the model computes before and
 * after, and `run` shows it. If, Loop, Scan, SequenceMap and calls of model functions; tensors,
 * sequences, optionals and maps. A value is freed after its last use. */
#ifndef SURG_INTERPRET_H
#define SURG_INTERPRET_H

#include "eval/core/value.h"

typedef struct surg__machine surg__machine; /* a run under way */

/* How to run, and what came of it. */
typedef struct surg__session {
  uint64_t max_bytes;   /* of the results of one node */
  uint64_t max_work;    /* operations of the whole run */
  uint64_t max_turns;   /* of all loops together; 0: as many as they like */
  uint64_t deadline;    /* by surg__os_now_ns, looked at between nodes; 0: none */
  const uint64_t *seed; /* NULL: random operators are not computed */
  /* Called with every value a node has made, as it is made, in subgraphs and functions too; what
   * it is to keep it takes by surg__array_ref or copies. Not SURG_OK: the run stops. */
  surg_status (*watch)(void *user, const surg_node *n, size_t output, const surg__array *a);
  /* Called around each node, those of subgraphs and functions too. What the node reads can be had
   * by surg__session_read, and its attributes are those it runs with. Not SURG_OK: the run stops.
   */
  surg_status (*before)(void *user, surg_node *n, surg__machine *m);
  void (*after)(void *user, const surg_node *n);
  void *user;
  uint64_t work, turns; /* set: operations and turns spent */
  const char *open;     /* set: the first result that the standard leaves open; NULL: none */
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

/* While a node is about to run: borrows the array of a value that it reads, and the call of the
 * function in whose body it stands (NULL: none). */
surg_status surg__session_read(surg__machine *m, const surg_value *v, surg__array *out);
const surg_node *surg__session_caller(const surg__machine *m);

/* The same with outputs copied into `arena`. *why and *at may be NULL. */
surg_status surg__interpret(surg_model *m, surg__arena *arena, const surg__array *inputs,
                            surg__array *outputs, uint64_t max_bytes, uint64_t max_work,
                            const char **why, const surg_node **at);

#endif
