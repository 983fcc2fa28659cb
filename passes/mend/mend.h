/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the pass mend: each file cures one family of defects. A part returns false when the
 * pass has failed; what it changed is in `changed`. */
#ifndef SURG_PASSES_MEND_H
#define SURG_PASSES_MEND_H

#include <onnxsurg/onnxsurg.h>

typedef struct mending {
  surg_pass_ctx *p;
  surg_model *m;
  const char *family; /* of the part that runs */
  bool interface;     /* inputs and outputs of the model may be added and removed */
  bool last;          /* nothing is left to cure: parts report what they leave, and why */
  bool changed;
  size_t open; /* in the last round: defects that keep the model from being written */
  size_t tried; /* values of attributes, so far */
} mending;

/* Whether a cure of the class may be made: the user consents to it, and --rewrite-limit is not
 * reached. The cure must follow. */
bool mend_may(mending *k, surg_exactness e);
/* Whether the class has consent, without taking anything. */
bool mend_allows(const mending *k, surg_exactness e);
/* Notes a cure, with its class. `at` may be NULL. */
void mend_did(mending *k, const surg_node *at, surg_exactness e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Notes, in the last round, a defect that stays. */
void mend_leaves(mending *k, const surg_node *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The schema that a node of ONNX has by its name, whatever is wrong with it; NULL: none. */
const surg_schema *mend_schema(const surg_node *n);
/* A node `op_type` before `before`, which reads in[0..n_in); NULL: it failed. */
surg_node *mend_add(surg_node *before, const char *op_type, surg_value *const *in, size_t n_in);
/* A constant of int64 of rank 0 (`count` SIZE_MAX: one element) or 1. NULL: it failed. */
surg_value *mend_ints(surg_node *before, const int64_t *items, size_t count);

bool mend_findings(mending *k); /* readings that a lenient load found */
bool mend_versions(mending *k); /* IR version, opset imports */
bool mend_opsets(mending *k);   /* opset imports that are missing or older than a node needs */
/* Whether two imports of the default domain, with the versions that `text` ends with, leave one
 * meaning: that of the newer one. */
bool mend_opset_certain(const mending *k, const char *text);
/* Whether the nodes of the graph form a cycle, which a lenient load has found. */
bool mend_is_cyclic(const mending *k, const surg_graph *g);
bool mend_names(mending *k);      /* names that are missing, repeated or hide others */
bool mend_attributes(mending *k); /* kinds, forms and absence of attributes */
/* Sets a required attribute that is missing where one value alone is possible, or says why not. */
bool mend_required(mending *k, surg_node *n, const char *name, surg_attr_kind kind);
bool mend_bodies(mending *k);     /* inputs of branches, absent inputs and outputs of nodes */
bool mend_interface(mending *k);  /* inputs and outputs of the model */
bool mend_declared(mending *k);   /* types that are declared and are others */
bool mend_elements(mending *k);   /* scalars and tensors of one element */
bool mend_types(mending *k);      /* element types and ranks that meet */
/* Whether inputs that must be of one type are not: what is inferred behind them proves nothing. */
bool mend_mixes(const surg_model *m);
bool mend_withdrawn(mending *k); /* operators that ONNX took back */

#endif
