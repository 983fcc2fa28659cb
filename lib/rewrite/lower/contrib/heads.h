/* SPDX-License-Identifier: Apache-2.0 */
/* What the attention operators of com.microsoft share when they become products and a softmax. */
#ifndef SURG_HEADS_H
#define SURG_HEADS_H

#include "rewrite/lower/native.h"

/* An attention, computed in float. A tensor with v NULL is absent. */
typedef struct surg__heads {
  surg__builder *b;
  const surg_node *n;
  int64_t count, kv_count; /* heads of queries; of keys and values, a divisor of it */
  int type;                /* of the output */
  surg__built q, k, v;     /* [batch, heads, positions, size] of float */
  surg__built bias;        /* added to the scores */
  surg__built hides;       /* bool: keys to whose scores `filter` is added */
  surg__built visible;     /* bool: the scores of other keys become -inf */
  surg__built sink;        /* [1, heads, 1, 1] of float: a score that is part of the sum only */
  double scale, softcap, filter; /* softcap 0: none */
  bool shows;                    /* the scores are the result qk */
} surg__heads;

bool surg__heads_is_float(int dtype);
/* Reads the attribute scale; 0 or absent: 1 / sqrt(size). */
double surg__heads_scale(const surg_node *n, int64_t size);
/* [batch, positions, heads * size] as [batch, heads, positions, size], in float. */
surg__built surg__heads_apart(surg__builder *b, surg__built x, int64_t heads);
/* Makes x, cast to the type of the output, the result `name`; use what it returns from then on. */
surg__built surg__heads_present(const surg__heads *h, const char *name, surg__built x);
/* Builds the result y. */
surg_status surg__heads_attend(const surg__heads *h);
/* x [batch, heads, positions, size] with pairs of elements rotated; cos and sin broadcast to
 * [batch, heads, positions, half]. Elements beyond 2 * half are kept. */
surg__built surg__heads_rotate(surg__builder *b, surg__built x, surg__built cos, surg__built sin,
                               bool interleaved);

#endif
