/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of zip archives (.npz), as PKWARE's APPNOTE.TXT 6.3 defines them. */
#ifndef SURG_BASE_ZIP_H
#define SURG_BASE_ZIP_H

#include "base/base.h"

static inline unsigned surg__zip_le16(const uint8_t *p) {
  return (unsigned)(p[0] | p[1] << 8);
}

/* Reads 64-bit sizes from the zip64 extra field, which contains in this order those that do not
 * fit 32 bits. `wide`: the size, the packed size and the place of a member, as the entry has them.
 * False: the field is cut off. */
static inline bool surg__zip_wide(const uint8_t *extra, size_t n, uint64_t *const wide[3]) {
  while (n >= 4) {
    const size_t size = surg__zip_le16(extra + 2);
    if (size > n - 4) return false;
    const uint8_t *p = extra + 4;
    size_t left = surg__zip_le16(extra) == 1 ? size : 0;
    for (size_t i = 0; i < 3 && left >= 8; i++) {
      if (*wide[i] != UINT32_MAX) continue;
      *wide[i] = surg__le64(p);
      p += 8;
      left -= 8;
    }
    extra += 4 + size;
    n -= 4 + size;
  }
  return true;
}

#endif
