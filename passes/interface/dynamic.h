/* SPDX-License-Identifier: Apache-2.0 */
/* Shared declarations of the pass dynamic. */
#ifndef SURG_PASSES_DYNAMIC_H
#define SURG_PASSES_DYNAMIC_H

#include <onnxsurg/onnxsurg.h>

#define RANK 32 /* largest rank that is handled */

typedef struct key {
  const char *name, *symbol;
  surg_value *input;
  size_t axis;
  int64_t old;
} key;

typedef struct state {
  surg_pass_ctx *p;
  surg_model *m;
  key *keys;
  size_t n;
  size_t sample; /* sample index for surg_dim_eval */
  bool changed;
} state;

/* Whether the size of a type depends on a new symbol. */
bool dynamic_type_varies(state *s, const surg_type *t);
/* Reports constants, and values computed only from constants, that may contain the old size of a
 * symbol: as notes if `proven` (the model is verified at other sizes), else as not done. False:
 * out of memory. */
bool dynamic_left(state *s, bool proven);

#endif
