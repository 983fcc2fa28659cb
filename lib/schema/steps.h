/* SPDX-License-Identifier: Apache-2.0 */
/* The steps between versions of an operator, from lib/schema/steps.table: where a node means the
 * same on both sides as it stands. Signatures are compared apart (lib/measure/floor.c). */
#ifndef SURG_STEPS_H
#define SURG_STEPS_H

#include <onnxsurg/onnxsurg.h>

/* The conditions of steps.table, which explains them. */
typedef enum surg__condition_kind {
  SURG__IF_IS,
  SURG__IF_ISNT,
  SURG__IF_LEAST,
  SURG__IF_DROP,
  SURG__IF_LAST,
  SURG__IF_GIVEN,
  SURG__IF_ABSENT,
  SURG__IF_UNUSED,
  SURG__IF_INDICES,
  SURG__IF_SCALAR,
  SURG__IF_ONE,
  SURG__IF_RANK,
  SURG__IF_SAME_SHAPES,
  SURG__IF_SAME_BRANCHES,
  SURG__IF_SAME_CARRIED
} surg__condition_kind;

typedef struct surg__condition {
  surg__condition_kind kind;
  const char *attr;  /* or NULL */
  int64_t n, m;      /* the numbers, in order */
  const char *value; /* of is() and isnt(): text, or NULL for the number n */
} surg__condition;

/* One direction of a step: `possible` and no conditions is free. */
typedef struct surg__step_side {
  bool possible;
  const surg__condition *conditions; /* all must hold */
  uint32_t count;
} surg__step_side;

typedef struct surg__opset_step {
  int op, since; /* the step to version `since` of operator `op` from the one before */
  surg__step_side up, down;
  const char *note; /* what changed that signatures do not tell, or NULL */
} surg__opset_step;

/* By operator, then version. */
extern const surg__opset_step surg__steps[];
extern const size_t surg__step_count;
/* NULL for a first version. */
const surg__opset_step *surg__step_find(int op, int since);

#endif
