/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers as constants, and constants as whole numbers. */
#ifndef SURG_PASSES_NUMBERS_H
#define SURG_PASSES_NUMBERS_H

#include <onnxsurg/onnxsurg.h>

#define NUMBERS 1024 /* elements of one tensor; inference follows no more */

/* A tensor of int64, int32 or bool; `dims` multiply to `count`. NULL: another type, too many
 * elements, or no memory, and then the model failed. */
surg_tensor *numbers_tensor(surg_model *m, int dtype, const int64_t *dims, size_t rank,
                            const int64_t *v, size_t count);
/* A vector of int64 for what stands at or behind `before`; `name` as surg_graph_constant takes it.
 */
surg_value *numbers_vector(surg_node *before, const char *name, const int64_t *v, size_t count);
surg_value *numbers_scalar(surg_node *before, const char *name, int dtype, int64_t v);
/* What each output of a Split takes of its axis, where the version in force has it. */
surg_status numbers_sizes(surg_node *split, const int64_t *sizes, size_t count);
/* The only element of a value; false: it is not known, or there are others. */
bool numbers_one(const surg_value *v, int64_t *out);

#endif
