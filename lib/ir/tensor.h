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
/* Reads bytes of a data file of the model at `path`; reports why it cannot. */
surg_status surg__external_read(surg_context *ctx, const char *path, const surg__datafile *f,
                                uint64_t off, void *out, size_t n);
/* Lets the decoder of a tensor compute all elements. */
surg_status surg__codec_to_blob(const surg_tensor *t, surg__blob *b);
/* Returns string_data as an array in the arena; NULL when memory runs out or the list is
 * invalid. */
const surg_str *surg__typed_strings(const surg_tensor *t, uint64_t *bytes);

#endif
