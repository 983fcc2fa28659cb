/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a certificate, for certificate.c (events and steps) and certificate_json.c. */
#ifndef SURG_CERTIFICATE_INTERNAL_H
#define SURG_CERTIFICATE_INTERNAL_H

#include "pass/certificate.h"

/* A node, value or graph that has a name in the certificate. */
typedef struct surg__cert_thing {
  const void *handle;
  const char *name; /* of a value of the original, at the start */
  uint32_t graph;   /* of the original: number of its graph, or of the graph itself */
  uint32_t index;   /* of a node of the original; of what is new: its number */
  char kind;        /* 'n', 'v' or 'g' */
  bool original;
  bool touched; /* in this step */
  bool written; /* its content is known to the reader */
} surg__cert_thing;

typedef struct surg__cert_replaced {
  const surg_value *old, *by;
} surg__cert_replaced;

struct surg__certificate {
  surg_context *ctx;
  surg_model *model;
  const char *path, *pass;
  FILE *out;
  surg__buf line;
  int error;
  bool failed; /* out of memory */
  bool imports;   /* they may have changed */
  json_t *stated; /* imports that the reader knows */
  uint64_t steps;
  uint32_t made[3]; /* new nodes, values and graphs */
  SURG_VEC(surg__cert_thing) things;
  uint32_t *table; /* index + 1 into things, by address; 0: free */
  size_t room;     /* of the table: a power of two */
  SURG_VEC(uint32_t) touched;
  SURG_VEC(surg__cert_replaced) replaced;
};

/* Returns the entry of a handle, adding one if there is none. The entry moves when another is
 * added. NULL: out of memory. */
surg__cert_thing *surg__cert_thing_of(surg__certificate *c, const void *handle, char kind);
/* Marks what changed, so that the step in progress states it. */
void surg__cert_touch(surg__certificate *c, const void *handle, char kind);
/* The name of a graph. A graph that the reader does not know is touched with all its content. */
json_t *surg__cert_graph(surg__certificate *c, surg_graph *g);
/* Inputs, outputs and place of a graph. */
json_t *surg__cert_graph_content(surg__certificate *c, surg_graph *g);

#endif
