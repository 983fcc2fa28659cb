/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays whose elements are read when a kernel needs them: large weights of a model, and what
 * DequantizeLinear and Transpose compute of them. A run needs memory for a piece of them, not for
 * all.
 *
 * The `data` of such an array is NULL. Only the kernels that surg__streams lists get one; for all
 * other readers surg__array_load makes it an ordinary array. */
#ifndef SURG_STREAM_H
#define SURG_STREAM_H

#include "eval/core/value.h"

/* Initializers of at least this many elements are streams. Results of DequantizeLinear have four
 * bytes an element. */
#define SURG__STREAM_FROM (UINT64_C(8) << 20)

typedef struct surg__stream surg__stream;
struct surg__stream {
  /* Reads n elements from `at` on, unpacked as in arrays. */
  surg_status (*read)(const surg__stream *s, uint64_t at, uint64_t n, void *out);
  const surg_tensor *tensor; /* of a weight; else NULL */
  bool turned;               /* it is from[0], a matrix, with its axes exchanged */
  surg__array from[3];       /* what a result is computed from; released with the stream */
  uint64_t numbers[8];       /* of `read` */
};

static inline surg_status surg__stream_read(const surg__array *a, uint64_t at, uint64_t n,
                                            void *out) {
  return a->stream->read(a->stream, at, n, out);
}

/* Whether the kernel of the node reads this stream as input i. */
bool surg__streams(const surg_node *n, size_t i, const surg__array *a);
/* Makes a stream of the elements of a weight if it has `least` elements or more, of a numeric
 * type. False: it is to be read whole. */
bool surg__stream_of_tensor(surg_context *ctx, const surg_tensor *t, uint64_t least,
                            surg__array *out);
/* Makes *a an array with all elements, if it is a stream. On failure it is unchanged. */
surg_status surg__array_load(surg_context *ctx, surg__array *a);

/* --- for kernels --- */
/* Makes output i a stream with the shape of input 0 (in `*s`, without `read`): the caller sets the
 * rest, and references what it keeps in `from`. */
surg__kstatus surg__k_stream(surg_kctx *k, uint32_t i, int dtype, surg__stream **s);
/* Makes output 0 input 0, a stream of a matrix, with its axes exchanged. */
surg__kstatus surg__k_turned(surg_kctx *k);
/* Notes that the elements of a stream cannot be read: the run ends. */
void surg__k_unread(surg_kctx *k, surg_status s);

#endif
