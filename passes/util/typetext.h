/* SPDX-License-Identifier: Apache-2.0 */
/* Types that a user writes. */
#ifndef SURG_PASSES_TYPETEXT_H
#define SURG_PASSES_TYPETEXT_H

#include <onnxsurg/onnxsurg.h>

/* The type that ONNX text spells so: "float[N,3]", "int64" (rank 0), "float[]" (any rank),
 * "seq(float[N])". NULL: it spells none, or no memory. */
const surg_type *typetext_parse(surg_pass_ctx *p, const char *text);
/* What can stand as the type of an input or output of the model: dims are numbers, symbols, or not
 * known. NULL where the type says nothing, or no memory. */
const surg_type *typetext_plain(surg_pass_ctx *p, const surg_type *t);

#endif
