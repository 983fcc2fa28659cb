/* SPDX-License-Identifier: Apache-2.0 */
/* A common interface to the engines that run a model: the interpreter or ONNX Runtime. */
#ifndef SURG_RUN_ENGINE_H
#define SURG_RUN_ENGINE_H

#include "eval/core/interpret.h"
#include "run/lowered.h"
#include "run/ort.h"
#include "run/run.h"

/* Parts of a model that run one after another in its place; values are matched by name. */
typedef struct surg__chain {
  const surg_model *whole;
  surg_model *const *parts;
  size_t n;
} surg__chain;

typedef struct surg__engine {
  surg__ort *ort; /* NULL: the interpreter */
  surg__ort_options ort_options;
  uint64_t max_bytes, max_work, max_turns; /* of the interpreter, as in surg__session */
  uint64_t deadline;                       /* by surg__os_now_ns, for all runs together; 0: none */
  bool (*cancel)(void *user); /* asked between nodes, and before runs; NULL: never true */
  void *cancel_user;
  const uint64_t *seed;     /* NULL: random operators are not computed */
  const surg__chain *chain; /* sessions of its model run its parts; NULL: none */
} surg__engine;
const char *surg__engine_name(const surg__engine *e);

/* A model prepared for repeated runs. */
typedef struct surg__exec {
  surg_model *model;
  const surg__engine *engine;
  void *session;             /* session of the runtime */
  struct surg__links *links; /* run_chain.c: the sessions of the parts; NULL: there are none */
  surg__session watched;     /* before, after, watch and user belong to the caller, who sets them
                              * after opening */
  uint64_t runs;    /* of the interpreter, begun */
  bool foreign;     /* the last run of the interpreter met an operator that ONNX does not define */
  const char *open; /* of the last run of the interpreter, as in surg__session */
  surg__lowered *lowered; /* computes nodes without a kernel; NULL: there were none so far */
  uint64_t marks;         /* of the last run, and the first operator that was computed so */
  const char *marked;
  char why[SURG__ORT_WHY + 300]; /* the last failure, on one line; with a location if a node
                                  * failed */
} surg__exec;

/* Prepares a model. Failures are stored in `why` and not reported, except for system failures. */
surg_status surg__exec_open(surg__exec *r, const surg__engine *e, surg_model *m);
/* Whether the last surg__exec_open succeeded. */
bool surg__exec_opened(const surg__exec *r);
void surg__exec_close(surg__exec *r);
/* As surg__session_run; SURG_EUNSUPPORTED also for tensors that cannot be passed to the engine. */
surg_status surg__exec_run(surg__exec *r, const surg__array *in, surg__array *out);

/* Makes inputs with `maker`; *made: at least one was made up. */
typedef surg_status (*surg__make)(void *user, surg__maker *maker, surg__array *in, bool *made);
/* Runs the model on inputs that `make` makes. Integers are often indices, so while the model
 * rejects the inputs, integers are drawn again from smaller ranges. */
surg_status surg__run_drawn(surg__exec *r, surg__maker *maker, surg__make make, void *user,
                            surg__array *in, surg__array *out, bool *made);
/* As surg__run_drawn, with made-up values for inputs that are not given and have no default.
 * given NULL: none is given. *made (may be NULL): at least one was made up. */
surg_status surg__run_made(surg__exec *r, surg__maker *maker, const bool *given, surg__array *in,
                           surg__array *out, bool *made);

/* A copy of the model whose outputs are its own, followed by all values with a producer in its
 * main graph. NULL: out of memory. */
surg_model *surg__all_outputs(const surg_model *m);

/* --- run_chain.c: for run_engine.c --- */
surg_status surg__chain_open(surg__exec *r);
void surg__chain_close(surg__exec *r);
surg_status surg__chain_run(surg__exec *r, const surg__array *in, surg__array *out);

#endif
