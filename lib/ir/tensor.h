/* SPDX-License-Identifier: Apache-2.0 */
/* Between tensor.c and tensor_typed.c. */
#ifndef SURG_IR_TENSOR_H
#define SURG_IR_TENSOR_H

#include "ir/edit.h"

/* Decodes the typed list of the TensorProto a tensor was read from, as raw_data would hold it. */
surg_status surg__typed_read(const surg_tensor *t, void *out);
surg_status surg__typed_to_blob(const surg_tensor *t, surg__blob *b);
/* The strings of string_data, in the arena; NULL when memory ran out or they do not hold. */
const surg_str *surg__typed_strings(const surg_tensor *t, uint64_t *bytes);

#endif
