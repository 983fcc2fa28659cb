/* SPDX-License-Identifier: Apache-2.0 */
/* Shared declarations of the pass mend: each file repairs one family of defects. A part returns
 * false if the pass has failed; it sets `changed` if it changed the model. */
#ifndef SURG_PASSES_MEND_H
#define SURG_PASSES_MEND_H

#include <onnxsurg/onnxsurg.h>

/* A node with a constant that does not fit the type of what it meets. */
typedef struct mend_waiting {
  surg_node *n;
  size_t input;
  int from, to; /* the type of the constant, and the narrower one of what it meets */
  struct mend_waiting *next;
} mend_waiting;

typedef struct mending {
  surg_pass_ctx *p;
  surg_model *m;
  const char *family; /* of the running part, for messages */
  int64_t opset;      /* option: newest opset to import where the import is missing; 0: any */
  bool interface;     /* option: may add and remove model inputs and outputs */
  bool last;          /* last round: parts report remaining defects and the reason */
  bool changed;
  bool guessing; /* this round may guess: no certain repair is left */
  bool guessed;  /* a guess was made: what follows from it is no longer certain */
  size_t remain; /* errors of the checker in the result */
  size_t open;   /* in the last round: defects with which the model cannot be written */
  size_t tried;  /* attribute values tried so far */
  mend_waiting *waiting; /* for types that agree */
  bool declared_inputs; /* an undefined value became an input of its declared type */
} mending;

/* Whether a repair of the class may be made: it has consent, and --rewrite-limit is not reached.
 * Counts as a rewrite, so the repair must follow. */
bool mend_may(mending *k, surg_exactness e);
/* Whether the class has consent; counts nothing. */
bool mend_allows(const mending *k, surg_exactness e);
/* Notes a repair, with its class. `at` may be NULL. */
void mend_did(mending *k, const surg_node *at, surg_exactness e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Notes, in the last round only, a defect that remains. */
void mend_leaves(mending *k, const surg_node *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The schema of an ONNX node by name and opset, even if the node is invalid; NULL: none. */
const surg_schema *mend_schema(const surg_node *n);
/* Adds a node `op_type` before `before`, with inputs in[0..n_in); NULL: failure. */
surg_node *mend_add(surg_node *before, const char *op_type, surg_value *const *in, size_t n_in);
/* A constant of int64 of rank 1, or of rank 0 with one element if `count` is SIZE_MAX. NULL:
 * failure. */
surg_value *mend_ints(surg_node *before, const int64_t *items, size_t count);

bool mend_findings(mending *k); /* assumptions that a lenient load made */
bool mend_versions(mending *k); /* IR version, spelling of opset imports */
/* Sets the IR version, if it is missing, to one that has the opset. */
bool mend_ir(mending *k, int64_t opset, surg_exactness e);
bool mend_opsets(mending *k); /* missing opset imports, or older than a node needs */
/* Whether, of two imports of the default domain (versions at the end of `text`), only the newer
 * one makes sense or both mean the same. */
bool mend_opset_certain(const mending *k, const char *text);
/* Whether all nodes match opset `this`, and opset `other` does not have them all, or gives them the
 * same meaning. */
bool mend_opset_agrees(const mending *k, int64_t this, int64_t other);
/* Whether a lenient load found a cycle among the nodes of the graph. */
bool mend_is_cyclic(const mending *k, const surg_graph *g);
bool mend_names(mending *k);      /* missing, repeated or hiding names */
bool mend_attributes(mending *k); /* attributes of wrong kind or form, or missing */
/* Sets a missing required attribute if only one value is possible; else notes the reason. */
bool mend_required(mending *k, surg_node *n, const char *name, surg_attr_kind kind);
bool mend_bodies(mending *k);    /* inputs of branches, absent inputs and outputs */
bool mend_interface(mending *k); /* inputs and outputs of the model */
bool mend_defaults(mending *k);  /* inputs declared differently from their initializers */
bool mend_declared(mending *k);  /* declared types that contradict inference */
bool mend_elements(mending *k);  /* scalars versus tensors of one element */
bool mend_types(mending *k);     /* element types and ranks of inputs that differ */
/* Whether input i of n keeps its numbers in the element type `to`, but for digits, if it is a
 * constant with known elements; true for others. */
bool mend_fits(mending *k, const surg_node *n, size_t i, int to);
/* Whether a number of the float type `from` may not fit the float type `to`. */
bool mend_is_narrowed(int from, int to);
/* Notes that n has to be computed in the type of its input i, `from`, instead of `to`. */
bool mend_wait(mending *k, surg_node *n, size_t i, int from, int to);
/* Computes the noted nodes so, up to where their results fit again. `agrees`: whether the types of
 * a node agree. */
bool mend_agree(mending *k, bool (*agrees)(mending *, surg_node *));
/* Whether some node has an error, or inputs of several types where it requires one: types inferred
 * from it prove nothing. */
bool mend_doubts(surg_model *m);
bool mend_withdrawn(mending *k); /* operators that ONNX withdrew */

#endif
