/* SPDX-License-Identifier: Apache-2.0 */
/* See nearest.h. */
#include "nearest.h"

#include <stdio.h>
#include <string.h>

#include "domains.h"

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

const char *nearest_hint(nearest *x) {
  x->hint[0] = 0;
  if (*x->best) snprintf(x->hint, sizeof x->hint, "; did you mean '%s'?", x->best);
  return x->hint;
}
