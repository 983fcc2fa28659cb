/* SPDX-License-Identifier: Apache-2.0 */
/* Finds domains that nodes use but the model or function does not import. ONNX's own domain is
 * not included, because the meaning of its operators depends on the version. */
#ifndef SURG_PASSES_MISSING_H
#define SURG_PASSES_MISSING_H

#include <onnxsurg/onnxsurg.h>

#define MISSING_DOMAINS \
  1000 /* most imports of a model or function: the loader rejects more */

typedef struct missing {
  struct missing *next; /* in the order of nodes */
  surg_node *node;      /* the first node of the domain */
  surg_function *in;    /* the function that lacks the import; NULL: the model */
  int64_t version;      /* lowest version that fits all nodes; 1 without a schema */
  surg_node *unfit;     /* the first node that its operator of this version does not accept, or
                         * NULL: with the import the model would be invalid */
} missing;

/* Lists each missing import once per model or function; memory of the pass. False: out of
 * memory. */
bool missing_imports(surg_pass_ctx *p, missing **list);
/* Whether one more import stays within MISSING_DOMAINS. */
bool missing_room(const surg_pass_ctx *p, const missing *m);
surg_status missing_import(surg_pass_ctx *p, const missing *m);

#endif
