/* SPDX-License-Identifier: Apache-2.0 */
/* Whether nodes and attributes are equal. 1: equal, 0: they are not, or it is not known, -1: the
 * comparison failed. */
#ifndef SURG_PASSES_SAME_H
#define SURG_PASSES_SAME_H

#include <onnxsurg/onnxsurg.h>

/* Two attributes that are written, whatever their names. */
int same_attr(const surg_attr *a, const surg_attr *b);
/* Inputs, number of outputs, overload and attributes of two nodes of one operator; an attribute
 * that is absent equals its default. */
int same_parts(const surg_node *a, const surg_node *b);

#endif
