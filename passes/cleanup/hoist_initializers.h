/* SPDX-License-Identifier: Apache-2.0 */
/* Moves initializers out of inner graphs, for passes that copy those graphs. */
#ifndef SURG_PASSES_LIFT_H
#define SURG_PASSES_LIFT_H

#include <onnxsurg/onnxsurg.h>

/* Moves the initializers of the subgraph g to the main graph, under the same name where it is
 * free: CHANGED, UNCHANGED or FAILED. */
surg_pass_result lift_initializers(surg_pass_ctx *p, surg_graph *g);

#endif
