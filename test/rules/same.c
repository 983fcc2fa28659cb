/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes that are none: what the rule says there follows from the rest of it, or nothing that can
 * be made shows the difference. */
#include <fnmatch.h>
#include <stddef.h>

#include "rules.h"

static const struct {
  const char *rule, *what, *why; /* the first two are patterns of names of files */
} same[] = {
    {"layer-norm-*", "emission *: 0 becomes -1", "epsilon is a list of one"},
    {"rms-norm-*", "emission *: 0 becomes -1", "epsilon is a list of one"},
    {"average-pool-*", "pattern: the left half*", "a window has an axis: the rank is 3 or more"},
    {"max-pool-to-global", "pattern: the left half*", "likewise"},
    {"*-pool-*to-global", "pattern: other attributes*",
     "dilations of a window over all there is go beyond it, or are of one element; order is that of "
     "indices, which are not there"},
    {"move-quantized-*", "emission 1: the guard*",
     "where something else reads t, an emission without it is not made"},
};

const char *same_anyway(const char *rule, const char *what) {
  for (size_t i = 0; i < SURG_COUNT(same); i++)
    if (!fnmatch(same[i].rule, rule, 0) && !fnmatch(same[i].what, what, 0)) return same[i].why;
  return NULL;
}
