/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about a model that loads: what contradicts its operators, what is stale, what nothing
 * needs. Loading itself finds what does not hold together (SURG_LOAD_CHECK); its lines get their
 * codes here too. doc/check.md lists every code. */
#ifndef SURG_CHECK_H
#define SURG_CHECK_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"

/* Findings of a model that are told in full; naming the place of one costs a walk. */
#define SURG__CHECK_MOST 100u

typedef struct surg__finding {
  surg_severity severity;
  const char *code;  /* "E201"; a code keeps its meaning for good */
  const char *where; /* `graph.node[3] "a" (Add)`, escaped; NULL beyond SURG__CHECK_MOST */
  const char *text;  /* one line, escaped; NULL beyond SURG__CHECK_MOST */
} surg__finding;
/* The strings last until the callback returns. */
typedef void (*surg__check_fn)(void *user, const surg__finding *f);

/* Reports every finding: errors, then warnings, then notes. Infers types. Linear in the model. The
 * result is SURG_OK whatever was found; otherwise memory ran out. */
surg_status surg__check_model(surg_model *m, surg__check_fn fn, void *user);

/* The code of a line of the loader without its file and severity. The severity of the code may be
 * milder than that of the line. */
const char *surg__check_load_code(surg_severity severity, const char *line);
surg_severity surg__check_severity(const char *code);

/* --- inside lib/check --- */
typedef struct surg__checker {
  surg_model *m;
  surg_context *ctx;
  surg__check_fn fn;
  void *user;
  size_t count;
  surg_status failed; /* memory ran out */
} surg__checker;
/* Whether a finding is still told in full: past that, its place and text need not be made. */
bool surg__check_told(const surg__checker *c);
void surg__check_found(surg__checker *c, const char *code, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void surg__check_put_type(surg__buf *b, const surg_type *t); /* `float[N, 3, ?]` */
void surg__check_types(surg__checker *c);    /* types.c: inputs against the schema */
void surg__check_declared(surg__checker *c); /* declared.c: value_info, outputs */
void surg__check_warnings(surg__checker *c); /* usage.c */
void surg__check_notes(surg__checker *c);    /* usage.c */

#endif
