/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the pass dynamic. */
#ifndef SURG_PASSES_DYNAMIC_H
#define SURG_PASSES_DYNAMIC_H

#include <onnxsurg/onnxsurg.h>

#define RANK 32 /* of tensors that are followed */

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
  size_t sample; /* what surg_dim_eval is asked about */
  bool changed;
} state;

/* Whether a type has another size where a symbol has another value. */
bool dynamic_type_varies(state *s, const surg_type *t);
/* Reports constants, and values that follow from constants alone, that may contain the old size of
 * a symbol: `proven`: as notes, since the model was computed at other sizes; else as not done.
 * False: out of memory. */
bool dynamic_left(state *s, bool proven);

#endif
