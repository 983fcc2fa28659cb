/* SPDX-License-Identifier: Apache-2.0 */
/* ImageDecoder: detects the format of a file, decodes it, and converts to the requested
 * channels. */
#include "eval/image/decode.h"

#include "eval/core/kernels.h"

surg__kstatus surg__picture_make(surg_kctx *k, uint64_t width, uint64_t height, uint32_t channels,
                                 surg__picture *out) {
  uint64_t n;
  if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX) {
    return surg__k_invalid(k, "a picture has no size");
  }
  if (!surg__mul_u64(width * channels, height, &n) || n > k->max_bytes) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_work(k, n));
  *out = (surg__picture){width, height, channels, surg__k_scratch(k, (size_t)n, 1)};
  return out->pixels ? SURG__K_OK : SURG__K_NOMEM;
}

static surg__kstatus short_file(surg_kctx *k) {
  return surg__k_invalid(k, "a picture ends early");
}

static surg__kstatus unread(surg_kctx *k) {
  return surg__k_cannot(k, "a form of picture that is not read here");
}

/* --- BMP --- */

static uint32_t le16(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static surg__kstatus decode_bmp(surg_kctx *k, surg__bytes file, surg__picture *out) {
  if (file.n < 54) return short_file(k);
  int64_t width = (int32_t)surg__le32(file.p + 18), height = (int32_t)surg__le32(file.p + 22);
  uint64_t start = surg__le32(file.p + 10);
  uint32_t bits = le16(file.p + 28), step = bits / 8;
  bool down = height < 0;
  if ((bits != 24 && bits != 32) || surg__le32(file.p + 30) != 0) return unread(k);
  if (down) height = -height;
  if (width < 0) return surg__k_invalid(k, "a picture has no size");
  SURG__K_TRY(surg__picture_make(k, (uint64_t)width, (uint64_t)height, 3, out));
  uint64_t row = (out->width * step + 3) / 4 * 4, all;
  if (!surg__mul_u64(row, out->height, &all) || start > file.n || all > file.n - start) {
    return short_file(k);
  }
  for (uint64_t y = 0; y < out->height; ++y) {
    const uint8_t *from = file.p + start + (down ? y : out->height - 1 - y) * row;
    uint8_t *to = out->pixels + y * out->width * 3;
    for (uint64_t x = 0; x < out->width; ++x) {
      for (int c = 0; c < 3; ++c) to[3 * x + (uint64_t)c] = from[x * step + (uint64_t)(2 - c)];
    }
  }
  return SURG__K_OK;
}

/* --- PNM --- */

/* Parses a number after white space and comments, and advances *at past it. */
static bool number(surg__bytes file, uint64_t *at, uint64_t *out) {
  uint64_t i = *at;
  while (i < file.n && (file.p[i] <= ' ' || file.p[i] == '#')) {
    if (file.p[i] == '#') {
      while (i < file.n && file.p[i] != '\n') ++i;
    } else {
      ++i;
    }
  }
  uint64_t start = i;
  for (*out = 0; i < file.n && file.p[i] >= '0' && file.p[i] <= '9' && i - start < 10; ++i) {
    *out = *out * 10 + (uint64_t)(file.p[i] - '0');
  }
  *at = i;
  return i > start;
}

static surg__kstatus decode_pnm(surg_kctx *k, surg__bytes file, surg__picture *out) {
  uint64_t at = 2, width, height, most;
  if (!number(file, &at, &width) || !number(file, &at, &height) || !number(file, &at, &most)) {
    return surg__k_invalid(k, "the header of a PNM is invalid");
  }
  if (most != 255) return unread(k);
  uint32_t channels = file.p[1] == '6' ? 3 : 1;
  SURG__K_TRY(surg__picture_make(k, width, height, channels, out));
  uint64_t n = width * height * channels;
  ++at; /* one white space separates the header from the pixels */
  if (at > file.n || n > file.n - at) return short_file(k);
  memcpy(out->pixels, file.p + at, (size_t)n);
  return SURG__K_OK;
}

/* --- TIFF --- */

typedef struct tiff {
  surg__bytes file;
  bool big;
} tiff;

static uint64_t field(const tiff *f, uint64_t at, uint32_t bytes) {
  uint64_t v = 0;
  if (at > f->file.n || bytes > f->file.n - at) return UINT64_MAX;
  for (uint32_t i = 0; i < bytes; ++i) {
    v = v << 8 | f->file.p[at + (f->big ? i : bytes - 1 - i)];
  }
  return v;
}

/* Element i of the entry with the given tag in the first directory; `fallback` if there is no
 * such entry, UINT64_MAX if the file ends before it. */
static uint64_t entry(const tiff *f, uint32_t tag, uint64_t i, uint64_t fallback) {
  uint64_t at = field(f, 4, 4), n = field(f, at, 2);
  if (n == UINT64_MAX) return fallback;
  for (uint64_t e = 0; e < n; ++e) {
    uint64_t here = at + 2 + 12 * e;
    if (field(f, here, 2) != tag) continue;
    uint64_t type = field(f, here + 2, 2), count = field(f, here + 4, 4);
    uint32_t size = type == 3 ? 2 : type == 4 ? 4 : 1;
    if (i >= count) return fallback;
    uint64_t values = count * size <= 4 ? here + 8 : field(f, here + 8, 4);
    return values == UINT64_MAX ? UINT64_MAX : field(f, values + i * size, size);
  }
  return fallback;
}

enum { WIDTH = 256, HEIGHT = 257, BITS = 258, COMPRESSION = 259, PHOTOMETRIC = 262 };
enum { STRIPS = 273, SAMPLES = 277, STRIP_ROWS = 278, PLANAR = 284 };

static surg__kstatus decode_tiff(surg_kctx *k, surg__bytes file, surg__picture *out) {
  tiff f = {file, file.p[0] == 'M'};
  uint64_t samples = entry(&f, SAMPLES, 0, 1), photometric = entry(&f, PHOTOMETRIC, 0, 1);
  uint64_t height = entry(&f, HEIGHT, 0, 0), rows = entry(&f, STRIP_ROWS, 0, height);
  if (entry(&f, BITS, 0, 1) != 8 || entry(&f, COMPRESSION, 0, 1) != 1 ||
      entry(&f, PLANAR, 0, 1) != 1 || photometric < 1 || photometric > 2 || samples < 1 ||
      samples > 4 || (photometric == 2 && samples < 3) || rows == 0) {
    return unread(k);
  }
  uint32_t channels = photometric == 2 ? 3 : 1;
  SURG__K_TRY(surg__picture_make(k, entry(&f, WIDTH, 0, 0), height, channels, out));
  for (uint64_t y = 0; y < height; ++y) {
    SURG__K_TRY(surg__k_work(k, field(&f, field(&f, 4, 4), 2))); /* cost of the entry search */
    uint64_t start = entry(&f, STRIPS, y / rows, UINT64_MAX), n = out->width * samples;
    uint64_t skip = y % rows * n;
    if (start > file.n || skip > file.n - start || n > file.n - start - skip) {
      return short_file(k);
    }
    const uint8_t *from = file.p + start + skip;
    uint8_t *to = out->pixels + y * out->width * channels;
    for (uint64_t x = 0; x < out->width; ++x, from += samples, to += channels) {
      memcpy(to, from, channels);
    }
  }
  return SURG__K_OK;
}

/* --- the operator --- */

static bool starts(surg__bytes file, const char *with, size_t n) {
  return file.n >= n && memcmp(file.p, with, n) == 0;
}

static surg__kstatus decode(surg_kctx *k, surg__bytes file, surg__picture *out) {
  if (starts(file, "BM", 2)) return decode_bmp(k, file, out);
  if (starts(file, "P5", 2) || starts(file, "P6", 2)) return decode_pnm(k, file, out);
  if (starts(file, "\x89PNG\r\n\x1a\n", 8)) return surg__decode_png(k, file, out);
  if (starts(file, "II*\0", 4) || starts(file, "MM\0*", 4)) return decode_tiff(k, file, out);
  return unread(k);
}

/* Luminance with the weights of ITU-R BT.601, in 16-bit fixed point. */
static uint8_t gray_of(const uint8_t *p) {
  return (uint8_t)((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16);
}

static void convert(const surg__picture *p, int format, uint8_t *out) {
  uint64_t n = p->width * p->height;
  for (uint64_t i = 0; i < n; ++i) {
    const uint8_t *from = p->pixels + i * p->channels;
    if (format == 2) {
      out[i] = p->channels == 1 ? from[0] : gray_of(from);
      continue;
    }
    for (uint32_t c = 0; c < 3; ++c) {
      uint32_t at = format == 1 ? 2 - c : c;
      out[3 * i + c] = from[p->channels == 1 ? 0 : at];
    }
  }
}

surg__kstatus surg__k_image_decoder(surg_kctx *k) {
  static const char *const formats[] = {"RGB", "BGR", "Grayscale"};
  const surg__array *x = &k->in[0];
  surg__picture p;
  int format = surg__k_word(k, "pixel_format", "RGB", formats, 3);
  if (format == 3) return surg__k_invalid(k, "there is no such pixel_format");
  SURG__K_TRY(surg__k_disputed(k, "decoders differ"));
  SURG__K_TRY(decode(k, (surg__bytes){x->data, x->count}, &p));
  int64_t dims[3] = {(int64_t)p.height, (int64_t)p.width, format == 2 ? 1 : 3};
  SURG__K_TRY(surg__k_out(k, 0, SURG_UINT8, dims, 3));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  if (k->out[0].data) convert(&p, format, k->out[0].data);
  return SURG__K_OK;
}
