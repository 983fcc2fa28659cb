/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4, section 6.2). */
#include "base/sha256.h"

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotated(uint32_t x, unsigned n) {
  return x >> n | x << (32 - n);
}

static void add_block(uint32_t h[8], const uint8_t *p) {
  uint32_t w[64], v[8];
  for (size_t i = 0; i < 16; i++)
    w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 |
           p[4 * i + 3];
  for (size_t i = 16; i < 64; i++) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) +
           (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
  }
  memcpy(v, h, sizeof v);
  for (size_t i = 0; i < 64; i++) {
    const uint32_t s1 = rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25);
    const uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
    const uint32_t s0 = rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22);
    const uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += t1;
    v[0] = t1 + t2;
  }
  for (size_t i = 0; i < 8; i++) h[i] += v[i];
}

void surg__sha256_init(surg__sha256 *s) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(s->h, start, sizeof start);
  s->bytes = 0;
}

void surg__sha256_add(surg__sha256 *s, const void *data, size_t n) {
  const uint8_t *p = data;
  while (n) {
    const size_t at = s->bytes % 64, room = 64 - at, part = n < room ? n : room;
    if (part == 64) {
      add_block(s->h, p);
    } else {
      memcpy(s->block + at, p, part);
      if (part == room) add_block(s->h, s->block);
    }
    s->bytes += part;
    p += part;
    n -= part;
  }
}

void surg__sha256_text(surg__sha256 *s, char out[SURG__SHA256_TEXT]) {
  static const char digits[] = "0123456789abcdef";
  static const uint8_t padding[64] = {0x80};
  const uint64_t bits = s->bytes * 8;
  uint8_t length[8];
  surg__sha256_add(s, padding, (119 - s->bytes % 64) % 64 + 1);
  for (size_t i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  surg__sha256_add(s, length, sizeof length);
  assert(s->bytes % 64 == 0);
  for (size_t i = 0; i < 64; i++) out[i] = digits[s->h[i / 8] >> (28 - 4 * (i % 8)) & 15];
  out[64] = 0;
}
