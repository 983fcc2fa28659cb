/* SPDX-License-Identifier: Apache-2.0 */
/* Decompression of deflated data with zlib. */
#ifndef SURG_INFLATE_H
#define SURG_INFLATE_H

#include <onnxsurg/onnxsurg.h>

/* Decompresses `packed` bytes into exactly `n` bytes at `to`. `raw`: the data has no zlib header,
 * as in zip archives. SURG_EINVALID: corrupt, or not exactly n bytes; SURG_ENOMEM. */
surg_status surg__inflate(const void *from, uint64_t packed, bool raw, void *to, uint64_t n);

#endif
