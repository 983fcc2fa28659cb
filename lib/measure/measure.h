/* SPDX-License-Identifier: Apache-2.0 */
/* Static measures of a model: arithmetic operations of nodes, peak memory of a simple execution
 * plan, the oldest versions a model is valid for. The caller infers types first. The public
 * functions are declared in api.def. */
#ifndef SURG_MEASURE_H
#define SURG_MEASURE_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "schema/schema.h"

/* An amount: a number, or an expression of the symbols of dimensions. */
typedef struct surg__amount {
  int64_t k;             /* valid if `expr` is NULL */
  const surg_expr *expr; /* NULL, or an expression that is not a constant */
} surg__amount;
/* Element i of unpacked elements of a type of numbers or bools. */
double surg__number_at(int dtype, const void *p, size_t i);
/* Whether elements of the type are such. */
bool surg__is_measured(int dtype);
/* As surg_node_cost, with symbolic results. SURG_ENOTFOUND: no expression is known. */
surg_status surg__node_cost(const surg_node *n, surg__amount *macs, surg__amount *flops);

/* The cost of one run of a call: the nodes of the function's body, of its subgraphs and of the
 * functions it calls, with the types of this call. */
typedef struct surg__call_cost {
  surg__amount macs, flops;
  size_t size_unknown, operator_unknown; /* nodes not counted */
} surg__call_cost;
typedef void (*surg__call_cost_fn)(void *user, const surg_node *call, const surg__call_cost *cost);
/* Calls `tell` for every call outside of functions whose body could be walked. Runs inference
 * again. A node whose cost would overflow a sum is not counted. */
surg_status surg__model_calls(surg_model *m, surg__call_cost_fn tell, void *user);
/* Sets *out to a + b; false: overflow. */
bool surg__amount_add(surg_model *m, surg__amount a, surg__amount b, surg__amount *out);

/* The model of the facts. */
struct surg_info;
surg_model *surg__info_model(const struct surg_info *info);

/* The oldest version of a node's operator that the unchanged node is valid for. `why` (NULL, or an
 * empty buffer) receives why the version before is not. NULL: the operator is unknown. */
const surg_schema *surg__node_oldest(const surg_node *n, surg__buf *why);

/* Whether an attribute is equal to its default, so that it may be omitted. False if it refers to an
 * attribute of a function. */
bool surg__attr_says_default(const surg_attr *a, const surg__attr_def *d);

/* Whether a node of version `from` has the same meaning in the adjacent version `to`, once
 * attributes unknown to `to` are removed. Otherwise `why` (NULL, or an empty buffer) receives the
 * reason. */
bool surg__node_fits(const surg_node *n, const surg_schema *from, const surg_schema *to,
                     surg__buf *why);
/* As surg__node_fits, ignoring types. */
bool surg__node_fits_in_form(const surg_node *n, const surg_schema *from, const surg_schema *to,
                             surg__buf *why);

/* Peak memory of a plan that runs nodes in graph order, one at a time: each value exists from its
 * producer to its last consumer, inputs from the start, outputs to the end. Initializers are not
 * counted, and nothing is computed in place. */
typedef struct surg__peak {
  uint64_t bytes;       /* bytes of the values of known size that exist at the peak */
  const surg_node *node; /* the node that runs at the peak; NULL: the graph has no nodes */
  size_t unknown;       /* number of values of unknown size */
} surg__peak;
/* The peak of the main graph; each subgraph runs once, one at a time. `symbol_of` (or NULL) gives
 * the values of symbols. O(n log n). */
surg_status surg__model_peak(surg_model *m, surg_symbol_fn symbol_of, void *user, surg__peak *out);

#endif
