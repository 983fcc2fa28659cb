/* SPDX-License-Identifier: Apache-2.0 */
/* Converts between integers and constant tensors. */
#ifndef SURG_PASSES_NUMBERS_H
#define SURG_PASSES_NUMBERS_H

#include <onnxsurg/onnxsurg.h>

#define NUMBERS 1024 /* most elements of a tensor; inference tracks no more */

/* A new tensor of int64, int32 or bool with `count` elements, the product of `dims`. NULL:
 * another type, more than NUMBERS elements, or out of memory (then the model has failed). */
surg_tensor *numbers_tensor(surg_model *m, int dtype, const int64_t *dims, size_t rank,
                            const int64_t *v, size_t count);
/* A new int64 vector constant, visible to `before` and later nodes; `name` as in
 * surg_graph_constant. */
surg_value *numbers_vector(surg_node *before, const char *name, const int64_t *v, size_t count);
surg_value *numbers_scalar(surg_node *before, const char *name, int dtype, int64_t v);
/* Sets the sizes of the outputs of a Split: the attribute before opset 13, the input from then
 * on. */
surg_status numbers_sizes(surg_node *split, const int64_t *sizes, size_t count);
/* Reads the only element of v; false: it is unknown, or v has another number of elements. */
bool numbers_one(const surg_value *v, int64_t *out);
/* surg_tensor_read_ints: the number of elements, or -1 if they are not in `out`. */
int64_t numbers_of(const surg_tensor *t, int64_t *out, size_t cap);
/* surg_value_elements: the number of elements, or -1 if they are not in `out`. */
int64_t numbers_known(const surg_value *v, surg_elem *out, size_t cap);

#endif
