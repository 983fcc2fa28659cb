/* SPDX-License-Identifier: Apache-2.0 */
/* What quantizing and dequantizing share: which scale an element has, and elements in pieces. */
#ifndef SURG_IR_TENSOR_SCALED_H
#define SURG_IR_TENSOR_SCALED_H

#include <onnxsurg/precision.h>

#include "base/limits.h"
#include "base/real.h"
#include "ir/tensor.h"

#define SURG__SCALED_PIECE ((uint64_t)SURG_LIMIT_PIECE) /* elements; even, for types of 4 bits */
#define SURG__SCALED_KEYS (UINT64_C(1) << 24)           /* most scales in memory at a time */

/* A tensor as [outer][length][inner], where `length` is the axis. It is read in regions: the whole
 * tensor, or with blocks the rows of one block. Each has its own scales, numbered by keys. */
typedef struct surg__scaled {
  uint64_t outer, length, inner, count;
  uint64_t block;  /* rows of a region; 0: the tensor is one region */
  uint64_t groups; /* regions of an outer index; 1 without blocks */
  uint64_t keys;   /* scales of a region */
  bool each;
} surg__scaled;

/* Elements from `at` on that follow one rule: `key` is the scale of the first; it grows by `step`
 * for each further one. */
typedef struct surg__scaled_run {
  uint64_t n, key, step;
} surg__scaled_run;

/* False: there is no such axis, or there are too many keys. */
static inline bool surg__scaled_of(surg__scaled *s, const surg_tensor *t, bool each, size_t axis,
                                   uint64_t block) {
  const int64_t *d = surg_tensor_dims(t);
  *s = (surg__scaled){.outer = 1, .length = 1, .inner = 1, .groups = 1, .keys = 1, .each = each};
  s->count = surg_tensor_count(t);
  if (!each) return true;
  if (axis >= surg_tensor_rank(t)) return false;
  s->length = (uint64_t)d[axis];
  for (size_t i = 0; i < axis; i++) s->outer *= (uint64_t)d[i];
  for (size_t i = axis + 1; i < surg_tensor_rank(t); i++) s->inner *= (uint64_t)d[i];
  s->block = block;
  s->keys = block ? s->inner : s->length;
  if (block) s->groups = s->length / block + (s->length % block != 0);
  return s->keys <= SURG__SCALED_KEYS;
}

static inline uint64_t surg__scaled_regions(const surg__scaled *s) {
  if (!s->count) return 0;
  return s->block ? s->outer * s->groups : 1;
}

/* Elements [*from, *to) of a region. Without blocks there is one. */
static inline void surg__scaled_region(const surg__scaled *s, uint64_t region, uint64_t *from,
                                       uint64_t *to) {
  *from = 0;
  *to = s->count;
  if (!s->block) return;
  const uint64_t o = region / s->groups, row = region % s->groups * s->block;
  const uint64_t rows = s->length - row < s->block ? s->length - row : s->block;
  *from = (o * s->length + row) * s->inner;
  *to = *from + rows * s->inner;
}

/* The run at `at`, which ends before `end`. */
static inline surg__scaled_run surg__scaled_at(const surg__scaled *s, uint64_t at, uint64_t end) {
  surg__scaled_run r = {.n = end - at};
  uint64_t most = r.n;
  if (!s->each) return r;
  if (s->block) {
    r.key = at % s->inner;
    r.step = s->inner > 1;
    if (s->inner > 1) most = s->inner - r.key;
  } else if (s->inner == 1) {
    r.key = at % s->length;
    r.step = 1;
    most = s->length - r.key;
  } else {
    r.key = at / s->inner % s->length;
    most = s->inner - at % s->inner;
  }
  if (most < r.n) r.n = most;
  return r;
}

#endif
