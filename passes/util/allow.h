/* SPDX-License-Identifier: Apache-2.0 */
/* The option `allow` of passes that apply rewrite rules: the least exact class that may be
 * applied. */
#ifndef SURG_ALLOW_H
#define SURG_ALLOW_H

#include <onnxsurg/onnxsurg.h>
#include <string.h>

#define ALLOW_OPTION SURG_OPTION(STRING, "allow", "", "exact, ulp, rounding, approx or lossy")

/* The reason, for a message, why a rewrite of class e was not tried. */
static inline const char *allow_cure(surg_exactness e) {
  switch (e) {
    case SURG_ULP: return "its class is ulp, not tried without --allow ulp";
    case SURG_ROUNDING: return "its class is rounding, not tried without --allow rounding";
    case SURG_APPROX: return "its class is approx, not tried without --allow approx";
    case SURG_LOSSY: return "its class is lossy, not tried without --allow lossy";
    default: return "its class is exact";
  }
}

/* Checks the value of `allow`: FAILED, after a usage message, if it is not a class. */
static inline surg_pass_result allow_check(surg_pass_ctx *p) {
  static const char *const words[] = {"", "exact", "ulp", "rounding", "approx", "lossy"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(surg_pass_string(p, "allow"), words[i]) == 0) return SURG_PASS_UNCHANGED;
  return surg_pass_usage(p, "option allow: expected exact, ulp, rounding, approx or lossy");
}

#endif
