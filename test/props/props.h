/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the property test. */
#ifndef SURG_TEST_PROPS_H
#define SURG_TEST_PROPS_H

#include <onnxsurg/onnxsurg.h>

/* Equal for models that differ in names and in the order of independent nodes only. The model must
 * be in topological order. */
uint64_t props_signature(const surg_model *m);

#endif
