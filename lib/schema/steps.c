/* SPDX-License-Identifier: Apache-2.0 */
/* Lookup in the table of steps. */
#include "schema/steps.h"

#include "schema/index.h"

const surg__opset_step *surg__step_find(int op, int since) {
  size_t low = 0, high = surg__step_count;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    const surg__opset_step *s = &surg__steps[mid];
    if (s->op == op && s->since == since) return s;
    if (s->op < op || (s->op == op && s->since < since))
      low = mid + 1;
    else
      high = mid;
  }
  return NULL;
}
