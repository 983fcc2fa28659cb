/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of surg_size, whose elements may be of an older or newer header. */
#ifndef SURG_BASE_SIZES_H
#define SURG_BASE_SIZES_H

#include <onnxsurg/sizes.h>

/* Element i of a list. */
static inline const surg_size *surg__size_at(const surg_size *list, size_t i) {
  const size_t step = list->size ? list->size : sizeof *list;
  return (const surg_size *)(const void *)((const char *)list + i * step);
}

#endif
