/* SPDX-License-Identifier: Apache-2.0 */
/* Smaller parts of a model whose nodes are reduced: weights and sizes. */
#ifndef SURG_SHRINK_H
#define SURG_SHRINK_H

#include <onnxsurg/types.h>

/* What judges candidates. */
typedef struct surg__shrinking {
  surg_model **best;
  /* Whether the candidate, which the callee owns, replaces *best. */
  bool (*keep)(void *user, surg_model *candidate);
  bool (*late)(void *user);
  void *user;
} surg__shrinking;

/* Replaces weights by inputs, and makes sizes of inputs 1. False: nothing became smaller. */
bool surg__shrink(const surg__shrinking *s);

#endif
