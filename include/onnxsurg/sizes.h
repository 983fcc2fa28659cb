/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of open dimensions. Since 0.2. */
#ifndef ONNXSURG_SIZES_H
#define ONNXSURG_SIZES_H

#include <onnxsurg/types.h>

/* The size of an open dimension of an input. Lists of them are arrays whose elements have the
 * `size` of the first one, so that the struct can grow. */
typedef struct surg_size {
  uint32_t size;    /* sizeof(surg_size) */
  const char *name; /* a symbol; where stated, "input.axis", too */
  int64_t value;    /* from 0 on; for repairs from 1 on */
} surg_size;

#endif
