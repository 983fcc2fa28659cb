/* SPDX-License-Identifier: Apache-2.0 */
/* Image files that ImageDecoder reads: the lossless forms of BMP, PNM, PNG and TIFF. */
#ifndef SURG_DECODE_H
#define SURG_DECODE_H

#include "eval/core/eval.h"

/* The content of a file. */
typedef struct surg__bytes {
  const uint8_t *p;
  uint64_t n;
} surg__bytes;

/* An image with 8 bits per channel and 1 (gray) or 3 (red, green, blue) channels; rows from the
 * top. */
typedef struct surg__picture {
  uint64_t width, height;
  uint32_t channels;
  uint8_t *pixels;
} surg__picture;

/* Allocates the pixels in scratch memory, within the budget. INVALID if the image is empty or
 * too large. */
surg__kstatus surg__picture_make(surg_kctx *k, uint64_t width, uint64_t height, uint32_t channels,
                                 surg__picture *out);
surg__kstatus surg__decode_png(surg_kctx *k, surg__bytes file, surg__picture *out);

#endif
