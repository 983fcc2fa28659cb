/* SPDX-License-Identifier: Apache-2.0 */
/* Images in files, as ImageDecoder reads them: BMP, PNM, PNG and TIFF, those forms that say each
 * pixel exactly. */
#ifndef SURG_DECODE_H
#define SURG_DECODE_H

#include "eval/core/eval.h"

/* Bytes of a file; reading past the end gives 0 and is noted. */
typedef struct surg__bytes {
  const uint8_t *p;
  uint64_t n;
} surg__bytes;

/* A picture of 8 bits a channel: 1 (gray) or 3 (red, green, blue) of them, rows from the top. */
typedef struct surg__picture {
  uint64_t width, height;
  uint32_t channels;
  uint8_t *pixels;
} surg__picture;

/* Room for the pixels, within the budget; INVALID for an empty or absurd picture. */
surg__kstatus surg__picture_make(surg_kctx *k, uint64_t width, uint64_t height, uint32_t channels,
                                 surg__picture *out);
surg__kstatus surg__decode_png(surg_kctx *k, surg__bytes file, surg__picture *out);

#endif
