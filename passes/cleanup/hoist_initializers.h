/* SPDX-License-Identifier: Apache-2.0 */
/* Initializers of inner graphs, for passes that copy those graphs. */
#ifndef SURG_PASSES_LIFT_H
#define SURG_PASSES_LIFT_H

#include <onnxsurg/onnxsurg.h>

/* Moves the initializers of an inner graph to the main graph where they can stand there under their
 * names: CHANGED, UNCHANGED or FAILED. */
surg_pass_result lift_initializers(surg_pass_ctx *p, surg_graph *g);

#endif
