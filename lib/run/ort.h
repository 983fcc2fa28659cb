/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime as an engine, from a shared library loaded at run time: it is not needed to
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

/* Loads the library at `path`; NULL: searches as the dynamic loader does. Reported: SURG_EUSAGE
 * if the library is missing or is not ONNX Runtime. The library remains loaded until the process
 * ends. */
surg_status surg__ort_open(surg_context *ctx, const char *path, surg__ort **out);
void surg__ort_close(surg__ort *o);

#define SURG__ORT_WHY 400 /* bytes kept of a message of the runtime, on one line */

typedef struct surg__ort_options {
  int level;    /* graph optimization level: 0, 1, 2 or 99 */
  unsigned threads;
} surg__ort_options;

/* Creates a session for a model. `why` (SURG__ORT_WHY bytes): the reason of a failure.
 * SURG_EINVALID: the runtime rejects the model; SURG_EUNSUPPORTED: it does not implement a part
 * of it. */
surg_status surg__ort_session(surg__ort *o, surg_model *m, const surg__ort_options *options,
                              void **session, char *why);
void surg__ort_session_free(surg__ort *o, void *session);
/* As surg__session_run: inputs that are UNDEFINED have their default. */
surg_status surg__ort_run(surg__ort *o, void *session, const surg_model *m, const surg__array *in,
                          surg__array *out, char *why);

/* --- ort_value.c --- */
/* Converts a status of the runtime and releases it; NULL is SURG_OK. `why` (may be NULL) is the
 * message. */
surg_status surg__ort_status(surg__ort *o, void *status, char *why);
surg_status surg__ort_give(surg__ort *o, const surg__array *a, void **value, char *why);
surg_status surg__ort_take(surg__ort *o, const void *value, surg__array *a, char *why);

#endif
