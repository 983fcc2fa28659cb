/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for the names of values: hints for misspelled names, annotations, and size in the
 * file. */
#ifndef SURG_PASSES_VALUES_H
#define SURG_PASSES_VALUES_H

#include <onnxsurg/onnxsurg.h>

#include "nearest.h"

/* Writes a hint for a name that is not a value of g: a similar name, or that a subgraph or
 * function has it. Empty if there is none. */
void values_hint(surg_pass_ctx *p, const surg_graph *g, const char *name, char *out, size_t size);
/* "; did you mean 'NAME'?" for the input of g that is nearest to x->name, or "". */
const char *values_near_input(nearest *x, const surg_graph *g);
/* Whether an entry of quantization_annotation refers to the value by name; a rename would lose
 * it. */
bool values_annotated(const surg_value *v);
/* The most bytes that the file grows by when `by` replaces `old` (how: YES or BY_LABEL) and the
 * kept name is longer than the other: it is stored at the producer and in every use. */
uint64_t values_respelling(const surg_value *old, const surg_value *by, surg_replace how);
/* Whether a Constant in g, or in a function that has the opset of g, holds elements of a type.
 * Before opset 9 the standard says floats only: models have always had integers too, and engines
 * check it in functions alone. */
bool values_constant_holds(const surg_graph *g, bool in_function, int dtype);
/* Whether a constant of that type can be added to g, as an initializer or as a node. */
bool values_takes_constant(const surg_graph *g, int dtype);
/* Whether the initializers of subgraph `from` can move to g, as initializers or as nodes. */
bool values_takes_initializers(const surg_graph *g, const surg_graph *from);

#endif
