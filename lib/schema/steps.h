/* SPDX-License-Identifier: Apache-2.0 */
/* Steps between consecutive versions of an operator, from lib/schema/steps.table: the conditions
 * under which an unchanged node has the same meaning in both versions. lib/measure/floor.c compares
 * the signatures. */
#ifndef SURG_STEPS_H
#define SURG_STEPS_H

#include <onnxsurg/onnxsurg.h>

/* The kinds of conditions; steps.table explains them. */
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
  SURG__IF_ONE_OF,
  SURG__IF_INSIDE,
  SURG__IF_SAME_SHAPES,
  SURG__IF_SAME_BRANCHES,
  SURG__IF_SAME_CARRIED
} surg__condition_kind;

typedef struct surg__condition {
  surg__condition_kind kind;
  const char *attr;  /* or NULL */
  int64_t n, m;      /* the numbers, in order */
  const char *value; /* string of is() and isnt(); NULL: compare with the number n */
} surg__condition;

/* One direction of a step. `possible` without conditions: always valid. */
typedef struct surg__step_side {
  bool possible;
  const surg__condition *conditions; /* all are required */
  uint32_t count;
} surg__step_side;

typedef struct surg__opset_step {
  int op, since; /* from the previous version of operator `op` to version `since` */
  surg__step_side up, down;
  const char *note; /* a change that is not visible in the signatures, or NULL */
} surg__opset_step;

/* Sorted by operator, then version. */
extern const surg__opset_step surg__steps[];
extern const size_t surg__step_count;
/* The step to version `since`; NULL for a first version. */
const surg__opset_step *surg__step_find(int op, int since);

#endif
