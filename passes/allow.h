/* SPDX-License-Identifier: Apache-2.0 */
/* The option `allow` of passes that rewrite by rules. */
#ifndef SURG_ALLOW_H
#define SURG_ALLOW_H

#include <onnxsurg/onnxsurg.h>
#include <string.h>

#define ALLOW_OPTION                                                                               \
  {"allow", SURG_OPTION_STRING, "", "worst class of rewrites: exact, ulp, approx, lossy"}

/* FAILED with a line where its word is none. */
static inline surg_pass_result allow_check(surg_pass_ctx *p) {
  static const char *const words[] = {"", "exact", "ulp", "approx", "lossy"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(surg_pass_string(p, "allow"), words[i]) == 0) return SURG_PASS_UNCHANGED;
  return surg_pass_usage(p, "option allow: exact, ulp, approx or lossy");
}

#endif
