/* SPDX-License-Identifier: Apache-2.0 */
/* What the guards of a rule say about its names, so that models are drawn that fit them. */
#ifndef SURG_TEST_RULES_HINTS_H
#define SURG_TEST_RULES_HINTS_H

#include "rules.h"

#define HINTS 12

typedef struct hints {
  int dtypes[SURG__RULE_VARS][HINTS]; /* that dtype(x) is compared with */
  uint8_t n_dtypes[SURG__RULE_VARS];
  int8_t ranks[SURG__RULE_VARS]; /* that rank(x) is compared with; -1: none */
  surg__rvalue values[SURG__RULE_VARS]
                     [HINTS]; /* that an attribute, or a constant, is compared with */
  uint8_t n_values[SURG__RULE_VARS];
  bool ranges; /* some guard asks for the range of a value */
  bool constant[SURG__RULE_VARS], absent[SURG__RULE_VARS], present[SURG__RULE_VARS];
} hints;

/* Of the pattern and of one emission. `m` has an arena and the rule. */
void hints_of(hints *h, surg__match *m, const surg_rule *r, const surg__rblock *target);

#endif
