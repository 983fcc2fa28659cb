/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a tensor, readable as long as the origin exists: without its model. */
#ifndef SURG_IR_TENSOR_ORIGIN_H
#define SURG_IR_TENSOR_ORIGIN_H

#include "ir/ir.h"

typedef struct surg__origin {
  surg_context *ctx;
  surg__source *source; /* one of the three, with a reference */
  surg__datafile *file;
  surg__blob *blob;
  uint64_t off; /* of the first byte */
} surg__origin;

/* False: the elements are typed lists or strings, encoded, sparse, absent, memory of the caller, or
 * computed as they are read. */
bool surg__origin_of(surg__origin *o, const surg_tensor *t);
surg_status surg__origin_read(const surg__origin *o, uint64_t at, void *out, size_t n);
void surg__origin_drop(surg__origin *o);

#endif
