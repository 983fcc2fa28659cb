/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 and simple case mapping. */
#include "eval/text/unicode.h"

uint32_t surg__utf8_get(const char *p, size_t n, size_t *length) {
  const uint8_t *b = (const uint8_t *)p;
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  *length = 1;
  if (b[0] < 0x80) return b[0];
  size_t need = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
  if (b[0] < 0xc2 || b[0] > 0xf4 || n < need) return SURG__NO_CHAR;
  uint32_t c = b[0] & (0x7fu >> need);
  for (size_t i = 1; i < need; ++i) {
    if ((b[i] & 0xc0) != 0x80) return SURG__NO_CHAR;
    c = c << 6 | (b[i] & 0x3f);
  }
  if (c < least[need] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return SURG__NO_CHAR;
  *length = need;
  return c;
}

size_t surg__utf8_put(char *out, uint32_t c) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = n; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
  out[0] = (char)((0xf00u >> n & 0xf0) | c);
  return n;
}

/* Ranges of upper-case letters and their lower-case letters: at a fixed distance, or (step 0)
 * alternating, starting with an upper-case letter. */
static const struct {
  uint16_t first, last, step;
} ranges[] = {
    {0x41, 0x5a, 32},   {0xc0, 0xd6, 32},    {0xd8, 0xde, 32},    {0x100, 0x12e, 0},
    {0x132, 0x136, 0},  {0x139, 0x147, 0},   {0x14a, 0x176, 0},   {0x179, 0x17d, 0},
    {0x386, 0x386, 38}, {0x388, 0x38a, 37},  {0x38c, 0x38c, 64},  {0x38e, 0x38f, 63},
    {0x391, 0x3a1, 32}, {0x3a3, 0x3ab, 32},  {0x400, 0x40f, 80},  {0x410, 0x42f, 32},
    {0x460, 0x480, 0},  {0x48a, 0x4be, 0},   {0x4c1, 0x4cd, 0},   {0x4d0, 0x52e, 0},
    {0x531, 0x556, 48}, {0x1e00, 0x1e94, 0}, {0x1ea0, 0x1efe, 0},
};

/* Letters whose partner is outside these ranges. */
static const struct { uint16_t lower, upper; } singles[] = {{0xff, 0x178}, {0x4cf, 0x4c0}};
static const struct {
  uint16_t lower, upper;
} to_upper_only[] = {{0xb5, 0x39c}, {0x131, 0x49}, {0x17f, 0x53}, {0x3c2, 0x3a3}};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

uint32_t surg__char_lower(uint32_t c) {
  for (size_t i = 0; i < COUNT(ranges); ++i) {
    if (c < ranges[i].first || c > ranges[i].last) continue;
    if (ranges[i].step) return c + ranges[i].step;
    return (c - ranges[i].first) % 2 == 0 ? c + 1 : c;
  }
  for (size_t i = 0; i < COUNT(singles); ++i) {
    if (c == singles[i].upper) return singles[i].lower;
  }
  return c;
}

uint32_t surg__char_upper(uint32_t c) {
  for (size_t i = 0; i < COUNT(ranges); ++i) {
    uint32_t step = ranges[i].step ? ranges[i].step : 1;
    if (c < ranges[i].first + step || c > ranges[i].last + step) continue;
    if (ranges[i].step || (c - ranges[i].first) % 2 == 1) return c - step;
  }
  for (size_t i = 0; i < COUNT(singles); ++i) {
    if (c == singles[i].lower) return singles[i].upper;
  }
  for (size_t i = 0; i < COUNT(to_upper_only); ++i) {
    if (c == to_upper_only[i].lower) return to_upper_only[i].upper;
  }
  return c;
}
