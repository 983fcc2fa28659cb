/* SPDX-License-Identifier: Apache-2.0 */
/* Compares nodes and attributes. Results: 1 equal, 0 different or unknown, -1 failure. */
#ifndef SURG_PASSES_SAME_H
#define SURG_PASSES_SAME_H

#include <onnxsurg/onnxsurg.h>

/* Compares the values of two attributes, not their names. */
int same_attr(const surg_attr *a, const surg_attr *b);
/* Compares inputs, number of outputs, overload and attributes of two nodes of one operator; an
 * absent attribute equals its default. */
int same_parts(const surg_node *a, const surg_node *b);

#endif
