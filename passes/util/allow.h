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
    case SURG_ULP:
      return "its class is ulp, which needs --allow ulp";
    case SURG_ROUNDING:
      return "its class is rounding, which needs --allow rounding";
    case SURG_APPROX:
      return "its class is approx, which needs --allow approx";
    case SURG_LOSSY:
      return "its class is lossy, which needs --allow lossy";
    default:
      return "its class is exact";
  }
}

/* Whether a rule that `want` with `user` accepts applies to n: then not a lack of consent but
 * protection or the rewrite limit keeps n. */
static inline bool allow_waits(surg_pass_ctx *p, bool (*want)(void *, const surg_rule *),
                               void *user, surg_node *n) {
  surg_context *ctx = surg_pass_context(p);
  for (size_t k = 0; k < surg_context_rule_count(ctx); k++) {
    const surg_rule *r = surg_context_rule(ctx, k);
    if (strcmp(surg_rule_op_type(r), surg_node_op_type(n)) == 0 && want(user, r) &&
        !surg_rule_explain(r, n))
      return true;
  }
  return false;
}

/* Checks the value of `allow`: FAILED, after a usage message, if it is not a class. */
static inline surg_pass_result allow_check(surg_pass_ctx *p) {
  static const char *const words[] = {"", "exact", "ulp", "rounding", "approx", "lossy"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(surg_pass_string(p, "allow"), words[i]) == 0) return SURG_PASS_UNCHANGED;
  return surg_pass_usage(p, "option allow: expected exact, ulp, rounding, approx or lossy");
}

#endif
