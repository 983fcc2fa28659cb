/* SPDX-License-Identifier: Apache-2.0 */
/* Stripped tensors: external data without a file, whose entries are a digest of the elements and
 * what is known of their values. */
#ifndef SURG_STRIP_H
#define SURG_STRIP_H

#include "weights/weights.h"

#define SURG__DIGEST_TEXT 33u /* 128 bits as hexadecimal digits, and NUL */

/* What is known of the elements of a tensor. */
typedef struct surg__spread {
  double low, high, mean, deviation; /* of finite numbers, where the type is a float or complex */
  int64_t least, most;               /* of other types */
} surg__spread;

/* The digest of the elements in the format of raw_data: XXH3, 128 bits, without a seed. */
surg_status surg__tensor_digest(const surg_tensor *t, char text[SURG__DIGEST_TEXT]);
surg_status surg__tensor_spread(const surg_tensor *t, surg__spread *out);
/* Fills the blob of a tensor with numbers that are distributed about so. */
surg_status surg__tensor_draw(surg_tensor *t, surg__blob *b, const surg__spread *x, uint64_t seed);

#endif
