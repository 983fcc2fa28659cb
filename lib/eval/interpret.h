/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model on given inputs, for tests and checks: what a pass did is compared by what the model
 * computes before and after. Handles If, Loop and calls of model functions; nothing that is
 * nondeterministic. */
#ifndef SURG_INTERPRET_H
#define SURG_INTERPRET_H

#include "eval/eval.h"

/* Computes every output of the main graph. `inputs` has an entry for each graph input (dtype
 * SURG_UNDEFINED: take the initializer that bears its name); `outputs` one for each graph output.
 * Arrays made live in `arena`. SURG_EUNSUPPORTED: some node cannot be computed here; SURG_ELIMIT:
 * over budget; SURG_EINVALID: the inputs do not fit the model. *why is static text and *at the node
 * (both may be NULL). The model must be in topological order. */
surg_status surg__interpret(surg_model *m, surg__arena *arena, const surg__array *inputs,
                            surg__array *outputs, uint64_t max_bytes, uint64_t max_work,
                            const char **why, const surg_node **at);

#endif
