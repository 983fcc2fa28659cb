/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that are compared with inferred types. */
#ifndef SURG_IR_REFINE_H
#define SURG_IR_REFINE_H

#include <onnxsurg/onnxsurg.h>

/* Whether a subgraph has value_info entries for values that are not its own, as exporters write
 * them for what a branch reads from outside. O(graphs). */
bool surg__describes_outer(const surg_model *m);
/* Drops those that describe an outer value as another type than it is inferred to have: runtimes
 * merge both and reject the model. Types must be up to date. */
void surg__drop_outdated(surg_model *m);

#endif
