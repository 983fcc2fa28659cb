/* SPDX-License-Identifier: Apache-2.0 */
/* PNG without interlacing, and the inflating it needs. */
#include <stdlib.h>

#include "eval/image/decode.h"

/* --- inflate --- */

#define CODES 288
#define LONGEST 15

typedef struct stream {
  surg_kctx *k;
  const uint8_t *p, *end;
  uint32_t bits, n_bits;
  uint8_t *out;
  size_t n, at;
  bool over; /* read past the end */
} stream;

/* A canonical Huffman code: how many codes of each length, and the symbols in order of code. */
typedef struct huffman {
  uint16_t count[LONGEST + 1], symbol[CODES];
} huffman;

static uint32_t bits(stream *s, uint32_t n) {
  while (s->n_bits < n) {
    uint32_t byte = 0;
    if (s->p < s->end)
      byte = *s->p++;
    else
      s->over = true;
    s->bits |= byte << s->n_bits;
    s->n_bits += 8;
  }
  uint32_t v = s->bits & ((1u << n) - 1);
  s->bits >>= n;
  s->n_bits -= n;
  return v;
}

/* False when the lengths are no code: more words than there is room for. */
static bool make_code(huffman *h, const uint8_t *lengths, uint32_t n) {
  uint16_t start[LONGEST + 2] = {0};
  int left = 1;
  memset(h->count, 0, sizeof h->count);
  for (uint32_t i = 0; i < n; ++i) ++h->count[lengths[i]];
  h->count[0] = 0;
  for (uint32_t l = 1; l <= LONGEST; ++l) {
    left = 2 * left - h->count[l];
    if (left < 0) return false;
    start[l + 1] = (uint16_t)(start[l] + h->count[l]);
  }
  for (uint32_t i = 0; i < n; ++i) {
    if (lengths[i]) h->symbol[start[lengths[i]]++] = (uint16_t)i;
  }
  return true;
}

/* The next symbol, or CODES. */
static uint32_t symbol(stream *s, const huffman *h) {
  uint32_t code = 0, first = 0, index = 0;
  for (uint32_t l = 1; l <= LONGEST; ++l) {
    code |= bits(s, 1);
    uint32_t count = h->count[l];
    if (code < first + count) return h->symbol[index + code - first];
    index += count;
    first = (first + count) << 1;
    code <<= 1;
  }
  return CODES;
}

static bool put(stream *s, uint8_t byte) {
  if (s->at == s->n) return false;
  s->out[s->at++] = byte;
  return true;
}

static bool copy(stream *s, size_t length, size_t distance) {
  if (distance > s->at || length > s->n - s->at) return false;
  for (; length > 0; --length, ++s->at) s->out[s->at] = s->out[s->at - distance];
  return true;
}

static bool inflate_codes(stream *s, const huffman *words, const huffman *distances) {
  static const uint16_t base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                  31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static const uint8_t more[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
  while (!s->over) {
    uint32_t c = symbol(s, words);
    if (c == 256) return true;
    if (c < 256) {
      if (!put(s, (uint8_t)c)) return false;
      continue;
    }
    c -= 257;
    if (c >= SURG_COUNT(base)) return false;
    size_t length = base[c] + bits(s, more[c]);
    uint32_t d = symbol(s, distances);
    if (d >= 30) return false;
    uint32_t extra = d < 2 ? 0 : d / 2 - 1;
    size_t distance = d < 2 ? d + 1 : 1 + ((size_t)(2 + d % 2) << extra) + bits(s, extra);
    if (!copy(s, length, distance)) return false;
  }
  return false;
}

static bool fixed_block(stream *s) {
  huffman words, distances;
  uint8_t lengths[CODES];
  for (uint32_t i = 0; i < CODES; ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  if (!make_code(&words, lengths, CODES)) return false;
  memset(lengths, 5, 30);
  return make_code(&distances, lengths, 30) && inflate_codes(s, &words, &distances);
}

static bool dynamic_block(stream *s) {
  static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  huffman words, distances;
  uint8_t lengths[320] = {0};
  uint32_t n_words = bits(s, 5) + 257, n_distances = bits(s, 5) + 1, n = bits(s, 4) + 4;
  if (n_words > 286 || n_distances > 30) return false;
  for (uint32_t i = 0; i < n; ++i) lengths[order[i]] = (uint8_t)bits(s, 3);
  if (!make_code(&words, lengths, 19)) return false;
  for (uint32_t at = 0; at < n_words + n_distances;) {
    uint32_t c = symbol(s, &words), times = 1, value = c;
    if (c > 18 || s->over) return false;
    if (c == 16 && at == 0) return false;
    if (c == 16) value = lengths[at - 1], times = 3 + bits(s, 2);
    if (c == 17) value = 0, times = 3 + bits(s, 3);
    if (c == 18) value = 0, times = 11 + bits(s, 7);
    if (times > n_words + n_distances - at) return false;
    while (times-- > 0) lengths[at++] = (uint8_t)value;
  }
  uint8_t tail[30];
  memcpy(tail, lengths + n_words, n_distances);
  return make_code(&words, lengths, n_words) && make_code(&distances, tail, n_distances) &&
         inflate_codes(s, &words, &distances);
}

static bool stored_block(stream *s) {
  s->bits = s->n_bits = 0;
  uint32_t n = bits(s, 16), inverse = bits(s, 16);
  if (n != (~inverse & 0xffff) || n > (size_t)(s->end - s->p)) return false;
  for (; n > 0; --n) {
    if (!put(s, *s->p++)) return false;
  }
  return true;
}

surg__kstatus surg__inflate(surg_kctx *k, surg__bytes from, uint8_t *out, size_t n) {
  stream s = {.k = k, .p = from.p, .end = from.p + from.n, .out = out, .n = n};
  bool last = false, good = true;
  SURG__K_TRY(surg__k_work(k, n));
  SURG__K_TRY(surg__k_work(k, from.n * 8));
  bits(&s, 16); /* the header of zlib */
  while (good && !last && !s.over) {
    last = bits(&s, 1) != 0;
    switch (bits(&s, 2)) {
      case 0:
        good = stored_block(&s);
        break;
      case 1:
        good = fixed_block(&s);
        break;
      case 2:
        good = dynamic_block(&s);
        break;
      default:
        good = false;
    }
  }
  if (!good || s.over || s.at != n) return surg__k_invalid(k, "compressed data does not hold");
  return SURG__K_OK;
}

/* --- PNG --- */

typedef struct png {
  uint64_t width, height;
  uint32_t depth, color, channels;
  surg__bytes palette;
  uint8_t *packed; /* all IDAT chunks, one behind the other */
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
    return surg__k_invalid(k, "the header of a PNG does not hold");
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

/* Takes back what was predicted of a row from the one above (NULL: zeros). */
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

/* Sample i of a row of `depth` bits each. */
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
      memcpy(out + 3 * x, row + x * f->channels, 3); /* alpha is left out */
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
  SURG__K_TRY(surg__inflate(k, (surg__bytes){f.packed, f.n_packed}, raw, (size_t)all));
  for (uint64_t y = 0; y < f.height; ++y, raw += row + 1) {
    if (!unfilter(raw[0], raw + 1, above, (size_t)row, step) ||
        !put_row(&f, raw + 1, out->pixels + y * f.width * channels)) {
      return surg__k_invalid(k, "the rows of a PNG do not hold");
    }
    above = raw + 1;
  }
  return SURG__K_OK;
}
