/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model on given inputs. `onnxsurg run` and the comparison of a model before and after a
 * pass use it. It supports If, Loop, Scan, SequenceMap and calls of model functions, and values
 * that are tensors, sequences, optionals and maps. A value is freed after its last use. */
#ifndef SURG_INTERPRET_H
#define SURG_INTERPRET_H

#include "eval/core/value.h"

typedef struct surg__machine surg__machine; /* the state of a run */

/* Settings of a run, and its results. */
typedef struct surg__session {
  uint64_t max_bytes;         /* limit on the results of one node */
  uint64_t max_work;          /* limit on operations of the whole run */
  uint64_t max_turns;         /* limit on iterations of all loops; 0: none */
  uint64_t deadline;          /* in ns, as surg__os_now_ns; checked between nodes; 0: none */
  bool (*cancel)(void *user); /* asked between nodes; NULL: never true */
  void *cancel_user;
  uint64_t stream_from; /* elements from which weights are streamed; 0: SURG__STREAM_FROM */
  const uint64_t *seed; /* NULL: random operators are not computed */
  /* Called for every value that a node computes, in subgraphs and functions too. To keep the array,
   * reference it (surg__array_ref) or copy it. A result other than SURG_OK stops the run. */
  surg_status (*watch)(void *user, const surg_node *n, size_t output, const surg__array *a);
  bool arrays_only; /* it is not called with streams; otherwise these are loaded for it */
  /* As watch, before it; may replace the array, which it then drops. */
  surg_status (*change)(void *user, const surg_node *n, size_t output, surg__array *a);
  /* As watch, for every input that a subgraph or function receives. */
  surg_status (*enter)(void *user, const surg_value *v, const surg__array *a);
  /* Called before and after each node, in subgraphs and functions too. surg__session_read reads its
   * inputs; its attributes are those of the current call. A result other than SURG_OK stops the
   * run. */
  surg_status (*before)(void *user, surg_node *n, surg__machine *m);
  void (*after)(void *user, const surg_node *n);
  void *user;
  /* Computes the outputs of a node without a kernel, with the limits that remain; NULL: such a node
   * stops the run. SURG_EUNSUPPORTED: it cannot either. On success the caller drops `out`. */
  surg_status (*otherwise)(void *other, surg_node *n, surg__machine *m,
                           struct surg__session *limits, surg__array *out);
  void *other;
  uint64_t work, turns; /* set: operations and loop iterations used */
  const char *open;     /* set: the first result the standard leaves undefined; or NULL */
  const char *why;      /* set on failure: static text, may be NULL */
  const surg_node *at;  /* set on failure: the node that failed, may be NULL */
} surg__session;

/* Computes every output of the main graph. `inputs` has an entry for each graph input (dtype
 * SURG_UNDEFINED: use the initializer of the same name); `outputs` has one for each graph output,
 * set to arrays that the caller drops (surg__array_drop). SURG_EUNSUPPORTED: some node is not
 * supported; SURG_ELIMIT: over budget; SURG_EINVALID: the inputs do not match the model. The model
 * must be in topological order. */
surg_status surg__session_run(surg__session *session, surg_model *m, const surg__array *inputs,
                              surg__array *outputs);

/* For use in `before`: borrows the array of a value that the node reads; and returns the call of
 * the function whose body contains the node (NULL: none). */
surg_status surg__session_read(surg__machine *m, const surg_value *v, surg__array *out);
const surg_node *surg__session_caller(const surg__machine *m);

/* As surg__session_run, with the outputs copied into `arena`. `why` and `at` may be NULL. */
surg_status surg__interpret(surg_model *m, surg__arena *arena, const surg__array *inputs,
                            surg__array *outputs, uint64_t max_bytes, uint64_t max_work,
                            const char **why, const surg_node **at);

#endif
