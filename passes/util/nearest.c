/* SPDX-License-Identifier: Apache-2.0 */
/* See nearest.h. */
#include "nearest.h"

#include <stdio.h>
#include <string.h>

#include "domains.h"

#define TYPES_MOST 64 /* above the number of every element type */

void nearest_offer(nearest *x, const char *name) {
  const char *const both[] = {x->best, name};
  if (!name || !*name || strlen(name) >= sizeof x->best) return;
  if (surg_pass_nearest(x->name, both + !*x->best, *x->best ? 2 : 1) == name)
    snprintf(x->best, sizeof x->best, "%s", name);
}

void nearest_offer_operator(nearest *x, const char *domain, const char *op) {
  char full[NEAREST_NAME];
  const bool bare = domains_default(domain);
  const int n = snprintf(full, sizeof full, "%s%s%s", bare ? "" : domain, bare ? "" : ".", op);
  if (n > 0 && (size_t)n < sizeof full) nearest_offer(x, full);
}

void nearest_offer_list(nearest *x, const char *const *list, size_t n) {
  for (size_t i = 0; i < n; i++) nearest_offer(x, list[i]);
}

void nearest_offer_types(nearest *x) {
  for (int dtype = SURG_FLOAT; dtype < TYPES_MOST; dtype++)
    if (surg_dtype_from_name(surg_dtype_name(dtype)) == dtype)
      nearest_offer(x, surg_dtype_name(dtype));
}

const char *nearest_hint(nearest *x) {
  x->hint[0] = 0;
  if (*x->best) snprintf(x->hint, sizeof x->hint, "; did you mean '%s'?", x->best);
  return x->hint;
}
