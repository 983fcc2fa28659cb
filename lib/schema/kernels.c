/* SPDX-License-Identifier: Apache-2.0 */
/* Which element types ONNX Runtime supports: lookup. */
#include "schema/kernels.h"

#include <assert.h>

/* The index of the first row of a version, or of the first one after it. */
static size_t first_row(const surg_schema *s) {
  size_t low = 0, high = surg__kernel_row_count;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    const surg__kernel_row *r = &surg__kernel_rows[mid];
    if (r->op < s->op || (r->op == s->op && r->since < s->since))
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

static bool supports(const surg__kernel_row *r, const int *bound, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (bound[i] > 0 && bound[i] < 32 && !(r->types[i] >> bound[i] & 1)) return false;
  return true;
}

bool surg__kernel_missing(const surg_schema *s, const int *bound, size_t n) {
  assert(bound || !n);
  if (!s || s->flags & SURG__OP_HAS_BODY) return false;
  if (n > s->n_params) n = s->n_params;
  if (n > SURG__KERNEL_PARAMS) return false;
  size_t i = first_row(s);
  bool any = false;
  for (; i < surg__kernel_row_count; i++) {
    const surg__kernel_row *r = &surg__kernel_rows[i];
    if (r->op != s->op || r->since != s->since) break;
    if (supports(r, bound, n)) return false;
    any = true;
  }
  return any;
}
