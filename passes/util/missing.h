/* SPDX-License-Identifier: Apache-2.0 */
/* Domains of nodes that are not imported, for the passes that import them. ONNX's own domain is not
 * among them: what its operators mean depends on the version. */
#ifndef SURG_PASSES_MISSING_H
#define SURG_PASSES_MISSING_H

#include <onnxsurg/onnxsurg.h>

#define MISSING_DOMAINS \
  1000 /* imported in one model or function: with more it would not load again */

typedef struct missing {
  struct missing *next; /* in the order of the nodes */
  surg_node *node;      /* the first one of the domain */
  surg_function *in;    /* NULL: in the model */
  int64_t version;      /* the least that has all nodes of the domain; 1 without a schema */
} missing;

/* What is missing, each once; memory of the pass. False: out of memory. */
bool missing_imports(surg_pass_ctx *p, missing **list);
/* Whether another import fits. */
bool missing_room(const surg_pass_ctx *p, const missing *m);
surg_status missing_import(surg_pass_ctx *p, const missing *m);

#endif
