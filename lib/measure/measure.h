/* SPDX-License-Identifier: Apache-2.0 */
/* What a model costs and needs, found without running it: arithmetic of nodes, memory of a plain
 * plan, the oldest versions it fits. Types are inferred by the caller. The public calls stand in
 * api.def. */
#ifndef SURG_MEASURE_H
#define SURG_MEASURE_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "schema/schema.h"

/* How much of something: a number, or an expression of the symbols of dims. */
typedef struct surg__amount {
  int64_t k;             /* where `expr` is NULL */
  const surg_expr *expr; /* never a number */
} surg__amount;
/* surg_node_cost with expressions: only what has no expression is SURG_ENOTFOUND. */
surg_status surg__node_cost(const surg_node *n, surg__amount *macs, surg__amount *flops);

/* What one run of a call costs: the nodes of the function's body, of bodies in it and of the
 * functions it calls, with the types of this call. */
typedef struct surg__call_cost {
  surg__amount macs, flops;
  size_t size_unknown, operator_unknown; /* nodes not counted */
} surg__call_cost;
typedef void (*surg__call_cost_fn)(void *user, const surg_node *call, const surg__call_cost *cost);
/* Tells of every call outside of functions that could be followed. Infers types anew. Sums that are
 * more than can be counted leave nodes uncounted. */
surg_status surg__model_calls(surg_model *m, surg__call_cost_fn tell, void *user);
/* a + b; false: more than can be counted. */
bool surg__amount_add(surg_model *m, surg__amount a, surg__amount b, surg__amount *out);

/* The oldest version of a node's operator that the node fits as it stands, and in `why` (NULL, or
 * empty) what keeps it from the one before. NULL for a node whose operator nobody knows. */
const surg_schema *surg__node_oldest(const surg_node *n, surg__buf *why);

/* Whether an attribute says its default, so that the node means the same without it. False where a
 * function's attribute decides. */
bool surg__attr_says_default(const surg_attr *a, const surg__attr_def *d);

/* Whether a node of version `from` means the same as one of the neighbouring version `to`, once
 * attributes that `to` does not know are left out; else why not, in `why` (NULL, or empty). */
bool surg__node_fits(const surg_node *n, const surg_schema *from, const surg_schema *to,
                     surg__buf *why);
/* The same but for its types. */
bool surg__node_fits_in_form(const surg_node *n, const surg_schema *from, const surg_schema *to,
                             surg__buf *why);

/* Memory of a plan that runs nodes in their order, one at a time: each value is there from the node
 * that makes it to the last one that reads it, inputs from the start, outputs to the end; weights
 * are not counted, nothing is written in place. */
typedef struct surg__peak {
  uint64_t bytes;       /* of the values there at the worst moment, of known size */
  const surg_node *node; /* the node that runs then; NULL: the graph has none */
  size_t unknown;       /* values whose size is not known */
} surg__peak;
/* Of the main graph with its subgraphs, each counted as if run once at a time. `symbol_of` (or
 * NULL) says what symbols stand for. O(n log n). */
surg_status surg__model_peak(surg_model *m, surg_symbol_fn symbol_of, void *user, surg__peak *out);

#endif
