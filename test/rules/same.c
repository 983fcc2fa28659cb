/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes that are none: what the rule says there follows from the rest of it, or nothing that can
 * be made shows the difference. */
#include <fnmatch.h>
#include <stddef.h>

#include "rules.h"

#define ABSENT "what is absent cannot be read: the next one is made"
#define ONE "of a list of one the last is the first; the other zeros are found out"
#define PRESENT "the other one takes all that are present"
#define AXES "it is read where there are no axes, and there are"
#define NO_AXES "what was reduced to one number has no axes left"
#define NO_NUMBER "a dimension that is not known is no number"

static const struct {
  const char *rule, *what, *why; /* the first two are patterns of names of files */
} same[] = {
    {"layer-norm-*", "emission *: 0 becomes -1", ONE},
    {"rms-norm-*", "emission *: 0 becomes -1", ONE},
    {"average-pool-*", "pattern: the left half*", "a window has an axis: the rank is 3 or more"},
    {"max-pool-to-global", "pattern: the left half*", "likewise"},
    {"*-pool-*to-global", "pattern: other attributes*",
     "dilations of a window over all there is go beyond it, or are of one element; order is that "
     "of "
     "indices, which are not there"},
    {"move-quantized-*", "emission 1: the guard*",
     "where something else reads t, an emission without it is not made"},
    {"conv-[amsd]*", "emission 1: the guard*", ABSENT},
    {"conv-[amsd]*", "emission 2: the guard*", PRESENT},
    {"conv-transpose-[amsd]*", "emission 1: the guard*", ABSENT},
    {"conv-transpose-[amsd]*", "emission 2: the guard*", PRESENT},
    {"conv-*batch-norm", "emission 1: the left half*", "what is absent is not constant"},
    {"shift-conv-*", "emission 1: the guard*", ABSENT},
    {"shift-conv-*", "emission 2: the guard*", PRESENT},
    {"batch-norm-conv", "emission 1: the guard*", ABSENT},
    {"batch-norm-conv", "emission 2: the guard*", PRESENT},
    {"gemm-*", "emission 1: the guard*", ABSENT},
    {"gemm-*", "emission 2: the guard*", PRESENT},
    {"pad-pad", "emission 1: the guard*", ABSENT},
    {"pad-pad", "emission 2: the guard*", PRESENT},
    {"transpose-gemm*", "emission 1: the guard*", ABSENT},
    {"relu-clip", "emission 1: the left half*", "what is absent has no value to compare"},
    {"clip-relu", "emission 1: the left half*", "what is absent has no value to compare"},
    {"*cast*", "pattern: other attributes*",
     "they are of floats of 8 bits, which are not among the types"},
    {"nop-resize-10", "pattern: other attributes*", "there are none"},
    {"reduce-*squeeze-18-*", "pattern: other attributes*", AXES},
    {"reduce-reduce-18-*", "pattern: other attributes*", AXES},
    {"reduce-reduce-sums-18-*", "pattern: other attributes*", AXES},
    {"reduce-sum-*squeeze", "pattern: other attributes*", AXES},
    {"reduce-reduce-sums-13-*", "pattern: other attributes*", AXES},
    {"reduce-reduce-18-*", "pattern: the left half*", NO_AXES},
    {"reduce-reduce-1-*", "pattern: the left half*", NO_AXES},
    {"reduce-reduce-sums-*", "pattern: the left half*", NO_AXES},
    {"reduce-reduce-means-1-*", "pattern: the left half*", NO_AXES},
    {"flat-to-known-*", "pattern: the left half*", NO_NUMBER},
    {"known-unsqueeze*", "pattern: the left half*", NO_NUMBER},
    {"flat-transpose-*", "pattern: the left half*", NO_NUMBER},
    {"transpose-flat-*", "pattern: the left half*", NO_NUMBER},
    {"transpose-reshape", "emission 2: the left half*", NO_NUMBER},
    {"reshape-transpose", "emission 2: the left half*", NO_NUMBER},
    {"slice-slice", "emission 1: 0 becomes -1", ONE},
    {"slice-slice-known", "emission 1: 0 becomes -1", ONE},
    {"reshape-*squeeze*", "emission 1: 0 becomes -1", ONE},
    {"reshape-one-*", "emission *: the left half*",
     "as many elements in as many other dimensions: this one is 1"},
};

const char *same_anyway(const char *rule, const char *what) {
  for (size_t i = 0; i < SURG_COUNT(same); i++)
    if (!fnmatch(same[i].rule, rule, 0) && !fnmatch(same[i].what, what, 0)) return same[i].why;
  return NULL;
}
