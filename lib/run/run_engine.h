/* SPDX-License-Identifier: Apache-2.0 */
/* One way to run a model, whatever computes it: the interpreter or ONNX Runtime. */
#ifndef SURG_RUN_ENGINE_H
#define SURG_RUN_ENGINE_H

#include "eval/core/interpret.h"
#include "run/ort.h"
#include "run/run.h"

typedef struct surg__engine {
  surg__ort *ort; /* NULL: the interpreter */
  surg__ort_options ort_options;
  uint64_t max_bytes, max_work, max_turns; /* of the interpreter, as in surg__session */
  uint64_t deadline; /* by surg__os_now_ns, of all runs together; 0: none */
  const uint64_t *seed;         /* NULL: random operators are not computed */
} surg__engine;
const char *surg__engine_name(const surg__engine *e);

/* A model made ready to run, many times. */
typedef struct surg__exec {
  surg_model *model;
  const surg__engine *engine;
  void *session;         /* of the runtime */
  surg__session watched; /* before, after, watch and user are the caller's; set after opening */
  bool foreign; /* the last run of the interpreter met an operator that ONNX does not define */
  const char *open;      /* of the last run of the interpreter, as in surg__session */
  char why[SURG__ORT_WHY + 300]; /* of the last failure, in one line; located where a node failed */
} surg__exec;

/* Failures are not reported but left in `why`, except for those of the system. */
surg_status surg__exec_open(surg__exec *r, const surg__engine *e, surg_model *m);
void surg__exec_close(surg__exec *r);
/* As surg__session_run, but for tensors that the engine cannot be given (SURG_EUNSUPPORTED). */
surg_status surg__exec_run(surg__exec *r, const surg__array *in, surg__array *out);

/* Makes inputs with `maker`; *made: one was. */
typedef surg_status (*surg__make)(void *user, surg__maker *maker, surg__array *in, bool *made);
/* Runs the model on inputs that `make` makes. Whole numbers are often indices, so while the model
 * refuses them they are drawn from ever smaller ranges. */
surg_status surg__run_drawn(surg__exec *r, surg__maker *maker, surg__make make, void *user,
                            surg__array *in, surg__array *out, bool *made);
/* The same on inputs made up where nobody gave one, unless they have a default. given NULL: none
 * was given. *made (may be NULL): whether one was made up. */
surg_status surg__run_made(surg__exec *r, surg__maker *maker, const bool *given, surg__array *in,
                           surg__array *out, bool *made);

/* A copy of the model whose outputs are, behind its own, all values that nodes of its main graph
 * make. NULL: out of memory. */
surg_model *surg__all_outputs(const surg_model *m);

#endif
