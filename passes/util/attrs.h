/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes from the pairs of an option: axis=1, axes=0+1, value="float[2] {1, 2}". */
#ifndef SURG_PASSES_ATTRS_H
#define SURG_PASSES_ATTRS_H

#include <onnxsurg/onnxsurg.h>

/* Sets an attribute of n for each pair. The kind is that of the schema, otherwise that of the
 * present attribute, otherwise derived from the text. */
surg_pass_result attrs_set(surg_pass_ctx *p, surg_node *n);

#endif
