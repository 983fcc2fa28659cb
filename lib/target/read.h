/* SPDX-License-Identifier: Apache-2.0 */
/* Reading targets from JSON: what read.c, read_fact.c and read_json.c share. */
#ifndef SURG_TARGET_READ_H
#define SURG_TARGET_READ_H

#include <jansson.h>

#include "target/target.h"

/* The state of reading one target. */
typedef struct surg__reader {
  surg__target *t;
  surg_context *ctx;
  const char *file;
  const char *source; /* of the facts being read */
  int op;             /* the id of their operator; 0: it has no schema */
  unsigned depth;     /* of inheritance */
  bool is_host;       /* reads the host of another target */
  bool failed;        /* a diagnostic was given */
} surg__reader;

/* --- values (read_json.c). `where` names the place for diagnostics; what is read lives in the
 * arena of the target. False or NULL after a diagnostic. --- */

/* Reports the first failure only. False. */
bool surg__read_fail(surg__reader *r, const char *where, const char *what);
/* n + 1 elements of `size` bytes, all 0. */
void *surg__read_room(surg__reader *r, size_t n, size_t size);
const char *surg__read_copy(surg__reader *r, const char *s);
const char *surg__read_text_of(surg__reader *r, const json_t *j, const char *where);
/* A list of strings, numbers and booleans, as strings. */
bool surg__read_list(surg__reader *r, const json_t *j, const char *where, surg__tlist *out);
/* [low, high], null for no limit. */
bool surg__read_span(surg__reader *r, const json_t *j, const char *where, surg__tspan *out);
/* An object of such ranges by name. */
bool surg__read_spans(surg__reader *r, const json_t *j, const char *where, const surg__tspan **out,
                      size_t *n);
/* Versions such as "7-10,13,16+". */
bool surg__read_versions(surg__reader *r, const json_t *j, const char *where,
                         const surg__tspan **out, size_t *n);
/* A list of element types, as bits of *mask, which are added. */
bool surg__read_mask(surg__reader *r, const json_t *j, const char *where, uint32_t *mask);

/* --- facts (read_fact.c) --- */

/* Reads one fact of the operator r->op, which is written `op`. */
bool surg__read_fact(surg__reader *r, const json_t *j, const char *op, surg__tfact *f);

#endif
