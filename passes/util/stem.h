/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are made of a part of another one. */
#ifndef SURG_PASSES_STEM_H
#define SURG_PASSES_STEM_H

#include <string.h>

/* The bytes of the whole characters among the first `most` bytes of a text in UTF-8, for "%.*s". */
static inline int stem_bytes(const char *text, size_t most) {
  size_t n = strlen(text);
  if (n <= most) return (int)n;
  for (n = most; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--) continue;
  return (int)n;
}

#endif
