/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4). */
#ifndef SURG_SHA256_H
#define SURG_SHA256_H

#include "base/base.h"

#define SURG__SHA256_TEXT 65 /* 64 digits and a NUL */

typedef struct surg__sha256 {
  uint32_t h[8];
  uint64_t bytes;
  uint8_t block[64];
} surg__sha256;

void surg__sha256_init(surg__sha256 *s);
void surg__sha256_add(surg__sha256 *s, const void *data, size_t n);
/* Writes the digest as lower-case hexadecimal digits. The state must be initialized again. */
void surg__sha256_text(surg__sha256 *s, char out[SURG__SHA256_TEXT]);

#endif
