/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a user or an annotation names. */
#ifndef SURG_PASSES_VALUES_H
#define SURG_PASSES_VALUES_H

#include <onnxsurg/onnxsurg.h>

/* What a name that graph g has no value of may be instead, as the end of a line; or nothing. */
void values_hint(surg_pass_ctx *p, const surg_graph *g, const char *name, char *out, size_t size);
/* Whether an entry of quantization_annotation speaks of the value by its name: it would be lost. */
bool values_annotated(const surg_value *v);

#endif
