/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime as an engine, from a shared library that is there or not: nothing of it is needed to
 * build. */
#ifndef SURG_ORT_H
#define SURG_ORT_H

#include "eval/core/value.h"
#include "run/ort_api.h"

typedef struct surg__ort {
  surg_context *ctx;
  const surg__ort_slot *api;
  const char *version; /* "1.30.0" */
  void *env, *allocator;
} surg__ort;

/* Loads the library: the file at `path`; NULL: what the loader finds. Reported: SURG_EUSAGE when it
 * is not there or is something else. The library itself stays loaded until the process ends. */
surg_status surg__ort_open(surg_context *ctx, const char *path, surg__ort **out);
void surg__ort_close(surg__ort *o);

#define SURG__ORT_WHY 400 /* bytes of a message of the runtime that are kept, in one line */

typedef struct surg__ort_options {
  int level;    /* of its graph optimizations: 0, 1, 2 or 99 */
  unsigned threads;
} surg__ort_options;

/* A model in the runtime; `why` (SURG__ORT_WHY bytes) says what went wrong. SURG_EINVALID: the
 * runtime refuses it; SURG_EUNSUPPORTED: it lacks something. */
surg_status surg__ort_session(surg__ort *o, surg_model *m, const surg__ort_options *options,
                              void **session, char *why);
void surg__ort_session_free(surg__ort *o, void *session);
/* As surg__session_run: inputs that are UNDEFINED are left to their defaults. */
surg_status surg__ort_run(surg__ort *o, void *session, const surg_model *m, const surg__array *in,
                          surg__array *out, char *why);

/* --- ort_value.c --- */
/* SURG_OK for no status, else what it stands for; releases it. `why` NULL: nobody asks. */
surg_status surg__ort_status(surg__ort *o, void *status, char *why);
surg_status surg__ort_give(surg__ort *o, const surg__array *a, void **value, char *why);
surg_status surg__ort_take(surg__ort *o, const void *value, surg__array *a, char *why);

#endif
