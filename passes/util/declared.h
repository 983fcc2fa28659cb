/* SPDX-License-Identifier: Apache-2.0 */
/* Declared types as the passes that refine them see them. */
#ifndef SURG_PASSES_DECLARED_H
#define SURG_PASSES_DECLARED_H

#include <onnxsurg/onnxsurg.h>

#define DECLARED_TEXT 256

/* Whether the value is an output of its own graph, where a type is declared with the output. */
bool declared_at_output(const surg_value *v, const surg_type **type);
/* What a value declares: an output what stands there, else its input or value_info. */
const surg_type *declared_type(const surg_value *v);
/* A type as ONNX text, cut where it is too long. `out` holds DECLARED_TEXT. */
const char *declared_text(const surg_type *t, char *out);
/* Notes that a declaration was replaced: `what 'name': before is now after`. */
void declared_note(surg_pass_ctx *p, const surg_value *v, const char *what,
                   const surg_type *before, const surg_type *after);

#endif
