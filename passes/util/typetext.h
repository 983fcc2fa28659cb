/* SPDX-License-Identifier: Apache-2.0 */
/* Types in the text form that users write. */
#ifndef SURG_PASSES_TYPETEXT_H
#define SURG_PASSES_TYPETEXT_H

#include <onnxsurg/onnxsurg.h>

/* Parses a type: "float[N,3]", "int64" (rank 0), "float[]" (unknown rank), "seq(float[N])".
 * NULL: invalid text, or out of memory. */
const surg_type *typetext_parse(surg_pass_ctx *p, const char *text);
/* A copy of t for an input or output of the model: dimensions are fixed, symbolic or unknown,
 * without expressions. NULL: the type is unknown, or out of memory. */
const surg_type *typetext_plain(surg_pass_ctx *p, const surg_type *t);

#endif
