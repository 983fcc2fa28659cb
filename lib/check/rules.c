/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules, and the rule code of a line that the loader reports. */
#include <string.h>

#include "base/context.h"
#include "check/check.h"

static const surg__rule_info rules[] = {
#define SURG_RULE(code, finding, hint, pass) {#code, finding, hint, pass},
#include "check/rules.def"
#undef SURG_RULE
};

size_t surg__check_rules(const surg__rule_info **all) {
  *all = rules;
  return SURG_COUNT(rules);
}

const surg__rule_info *surg__check_rule(const char *code) {
  for (size_t i = 0; i < SURG_COUNT(rules); i++)
    if (strcmp(rules[i].code, code) == 0) return &rules[i];
  return &rules[1];
}

surg_severity surg__check_severity(const char *code) {
  return code[0] == 'E' ? SURG_ERROR : code[0] == 'W' ? SURG_WARNING : SURG_NOTE;
}

const char *surg__check_load_code(const surg_context *ctx, surg_severity severity) {
  if (ctx->code) return ctx->code;
  return severity == SURG_ERROR ? "E100" : severity == SURG_WARNING ? "W200" : "N399";
}
