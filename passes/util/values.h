/* SPDX-License-Identifier: Apache-2.0 */
/* Names of values: what speaks of them, and what they take in the file. */
#ifndef SURG_PASSES_VALUES_H
#define SURG_PASSES_VALUES_H

#include <onnxsurg/onnxsurg.h>

/* What a name that graph g has no value of may be instead, as the end of a line; or nothing. */
void values_hint(surg_pass_ctx *p, const surg_graph *g, const char *name, char *out, size_t size);
/* Whether an entry of quantization_annotation speaks of the value by its name: it would be lost. */
bool values_annotated(const surg_value *v);
/* What the file grows by at most where `by` gets the uses of `old` in this way (YES, BY_LABEL): a
 * longer name stands where the value is made and in every use. */
uint64_t values_respelling(const surg_value *old, const surg_value *by, surg_replace how);

#endif
