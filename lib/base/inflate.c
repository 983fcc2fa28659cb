/* SPDX-License-Identifier: Apache-2.0 */
#include "base/inflate.h"

#include <zlib.h>

#define STEP (1u << 30) /* bytes at a time: zlib counts are 32 bits */

surg_status surg__inflate(const void *from, uint64_t packed, bool raw, void *to, uint64_t n) {
  Bytef none;
  z_stream s = {.next_in = (Bytef *)(uintptr_t)from, .next_out = to ? to : &none};
  if (inflateInit2(&s, raw ? -MAX_WBITS : MAX_WBITS) != Z_OK) return SURG_ENOMEM;
  int got = Z_OK;
  while (got == Z_OK) {
    const uInt give = packed > STEP ? STEP : (uInt)packed, room = n > STEP ? STEP : (uInt)n;
    s.avail_in = give;
    s.avail_out = room;
    got = inflate(&s, Z_NO_FLUSH);
    packed -= give - s.avail_in;
    n -= room - s.avail_out;
  }
  inflateEnd(&s);
  if (got == Z_MEM_ERROR) return SURG_ENOMEM;
  return got == Z_STREAM_END && n == 0 ? SURG_OK : SURG_EINVALID;
}
