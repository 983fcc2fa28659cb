/* SPDX-License-Identifier: Apache-2.0 */
/* Which NaN that a node computes depends on the order of a sum: inf - inf + 2 inf is NaN, and inf
 * after its factors were added first. */
#ifndef SURG_RUN_VERIFY_SUMS_H
#define SURG_RUN_VERIFY_SUMS_H

#include "eval/core/interpret.h"

/* What is known of the node that runs. Zero-initialize; surg__sums_end frees it. */
typedef struct surg__sums {
  surg_context *ctx;
  const surg_node *node; /* NULL: it adds nothing */
  bool tainted;          /* an input has a NaN: `pure` and `bounded` decide */
  surg__array *pure;     /* its outputs where each NaN of its inputs is 0; NULL: unknown */
  surg__array *bounded;  /* ... where each infinity is */
} surg__sums;

/* To be called before a node runs. SURG_ENOMEM, or SURG_OK. */
surg_status surg__sums_begin(surg__sums *u, surg_node *n, surg__machine *m);
/* Whether element e of an output of the node, which is NaN, may be an infinity in another order. */
bool surg__sums_open(const surg__sums *u, const surg_node *n, size_t output, uint64_t e);
void surg__sums_end(surg__sums *u);

#endif
