/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes PNG without interlacing. */
#include <stdlib.h>

#include "base/inflate.h"
#include "eval/image/decode.h"

typedef struct png {
  uint64_t width, height;
  uint32_t depth, color, channels;
  surg__bytes palette;
  uint8_t *packed; /* the contents of all IDAT chunks, concatenated */
  uint64_t n_packed;
} png;

static uint32_t be32(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static surg__kstatus read_header(surg_kctx *k, const uint8_t *p, png *f) {
  static const uint8_t channels[] = {1, 0, 3, 1, 2, 0, 4};
  f->width = be32(p);
  f->height = be32(p + 4);
  f->depth = p[8];
  f->color = p[9];
  if (p[12] != 0 || f->depth > 8) return surg__k_cannot(k, "a form of PNG that is not read here");
  f->channels = f->color < sizeof channels ? channels[f->color] : 0;
  bool small = f->depth == 1 || f->depth == 2 || f->depth == 4;
  if (f->channels == 0 || (f->depth != 8 && !(small && f->channels == 1))) {
    return surg__k_invalid(k, "the header of a PNG is invalid");
  }
  return SURG__K_OK;
}

static surg__kstatus read_chunks(surg_kctx *k, surg__bytes file, png *f) {
  bool header = false;
  f->packed = surg__k_scratch(k, (size_t)file.n, 1);
  if (!f->packed) return SURG__K_NOMEM;
  for (uint64_t at = 8; at + 12 <= file.n;) {
    const uint8_t *p = file.p + at;
    uint64_t n = be32(p);
    if (n > file.n - at - 12) return surg__k_invalid(k, "a PNG ends early");
    if (memcmp(p + 4, "IHDR", 4) == 0 && n == 13) {
      SURG__K_TRY(read_header(k, p + 8, f));
      header = true;
    } else if (memcmp(p + 4, "PLTE", 4) == 0) {
      f->palette = (surg__bytes){p + 8, n};
    } else if (memcmp(p + 4, "IDAT", 4) == 0) {
      memcpy(f->packed + f->n_packed, p + 8, (size_t)n);
      f->n_packed += n;
    }
    at += n + 12;
  }
  if (!header) return surg__k_invalid(k, "a PNG has no header");
  return f->color == 3 && f->palette.n == 0 ? surg__k_invalid(k, "a PNG has no palette")
                                            : SURG__K_OK;
}

static uint8_t paeth(int left, int up, int corner) {
  int p = left + up - corner, a = abs(p - left), b = abs(p - up), c = abs(p - corner);
  return (uint8_t)(a <= b && a <= c ? left : b <= c ? up : corner);
}

/* Undoes the row filter (PNG specification, section 9), which predicts bytes from the row above
 * (NULL: zeros). False if the filter type is unknown. */
static bool unfilter(int kind, uint8_t *row, const uint8_t *above, size_t n, size_t step) {
  for (size_t i = 0; i < n; ++i) {
    int left = i >= step ? row[i - step] : 0, up = above ? above[i] : 0;
    int corner = above && i >= step ? above[i - step] : 0;
    switch (kind) {
      case 0:
        break;
      case 1:
        row[i] = (uint8_t)(row[i] + left);
        break;
      case 2:
        row[i] = (uint8_t)(row[i] + up);
        break;
      case 3:
        row[i] = (uint8_t)(row[i] + (left + up) / 2);
        break;
      case 4:
        row[i] = (uint8_t)(row[i] + paeth(left, up, corner));
        break;
      default:
        return false;
    }
  }
  return true;
}

/* Sample i of a row with `depth` bits per sample. */
static uint32_t sample(const png *f, const uint8_t *row, uint64_t i) {
  uint32_t per = 8 / f->depth, shift = (uint32_t)(per - 1 - i % per) * f->depth;
  return row[i / per] >> shift & ((1u << f->depth) - 1);
}

static bool put_row(const png *f, const uint8_t *row, uint8_t *out) {
  uint32_t scale = 255 / ((1u << f->depth) - 1);
  for (uint64_t x = 0; x < f->width; ++x) {
    if (f->color == 3) {
      uint32_t entry = sample(f, row, x);
      if (3 * entry + 3 > f->palette.n) return false;
      memcpy(out + 3 * x, f->palette.p + (size_t)3 * entry, 3);
    } else if (f->channels < 3) {
      out[x] = (uint8_t)(sample(f, row, x * f->channels) * scale);
    } else {
      memcpy(out + 3 * x, row + x * f->channels, 3); /* alpha is dropped */
    }
  }
  return true;
}

surg__kstatus surg__decode_png(surg_kctx *k, surg__bytes file, surg__picture *out) {
  png f = {0};
  SURG__K_TRY(read_chunks(k, file, &f));
  uint32_t channels = f.color == 3 || f.channels >= 3 ? 3 : 1;
  SURG__K_TRY(surg__picture_make(k, f.width, f.height, channels, out));
  size_t step = f.depth < 8 ? 1 : f.channels;
  uint64_t row = (f.width * f.channels * f.depth + 7) / 8, all;
  if (!surg__mul_u64(row + 1, f.height, &all) || all > k->max_bytes) return SURG__K_BUDGET;
  uint8_t *raw = surg__k_scratch(k, (size_t)all, 1), *above = NULL;
  if (!raw) return SURG__K_NOMEM;
  SURG__K_TRY(surg__k_work(k, all));
  SURG__K_TRY(surg__k_work(k, f.n_packed * 8));
  const surg_status inflated = surg__inflate(f.packed, f.n_packed, false, raw, all);
  if (inflated == SURG_ENOMEM) return SURG__K_NOMEM;
  if (inflated != SURG_OK) return surg__k_invalid(k, "the compressed data of a PNG is corrupt");
  for (uint64_t y = 0; y < f.height; ++y, raw += row + 1) {
    if (!unfilter(raw[0], raw + 1, above, (size_t)row, step) ||
        !put_row(&f, raw + 1, out->pixels + y * f.width * channels)) {
      return surg__k_invalid(k, "a row of a PNG has an unknown filter or color");
    }
    above = raw + 1;
  }
  return SURG__K_OK;
}
