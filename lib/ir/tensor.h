/* SPDX-License-Identifier: Apache-2.0 */
/* Interface between tensor.c and tensor/typed.c. */
#ifndef SURG_IR_TENSOR_H
#define SURG_IR_TENSOR_H

#include "ir/edit.h"

/* Decode the typed list (float_data, int32_data ...) of a tensor's TensorProto into the format of
 * raw_data. */
surg_status surg__typed_read(const surg_tensor *t, void *out);
surg_status surg__typed_to_blob(const surg_tensor *t, surg__blob *b);
/* Reports why a tensor cannot be made; NULL. */
void *surg__tensor_refuse(surg_model *m, const char *why);
/* Lets the decoder of a tensor compute all elements. */
surg_status surg__codec_to_blob(const surg_tensor *t, surg__blob *b);
/* Returns string_data as an array in the arena; NULL when memory runs out or the list is
 * invalid. */
const surg_str *surg__typed_strings(const surg_tensor *t, uint64_t *bytes);

#endif
