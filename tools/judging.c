/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the commands that compute a verdict for a target. */
#include "judging.h"

#include <stdlib.h>
#include <string.h>

int judging_take(judging *j, int option, char *arg) {
  if (option == OPT_REGISTERED) {
    if (!arg[0] || arg[0] == ':' || arg[strlen(arg) - 1] == ':')
      return cli_usage("--registered expects DOMAIN or DOMAIN:OP, not \"%s\"", arg);
    return cli_words_take(&j->registered, arg);
  }
  if (option != OPT_ASSUME_UNKNOWN) return EXIT_DONE;
  j->unknown = !strcmp(arg, "yes") ? ASSUME_YES : !strcmp(arg, "no") ? ASSUME_NO : ASSUME_NOTHING;
  return j->unknown ? EXIT_DONE : cli_usage("--assume-unknown expects yes or no, not \"%s\"", arg);
}

void judging_free(judging *j) {
  free(j->registered.items);
  *j = (judging){0};
}

surg_status judging_apply(const judging *j, surg_target *t) {
  surg_status s = SURG_OK;
  for (size_t i = 0; t && i < j->registered.n && s == SURG_OK; i++)
    s = surg_target_register(t, j->registered.items[i]);
  return s;
}

int judging_exit(const judging *j, surg_verdict v) {
  if (v == SURG_SUPPORT_UNKNOWN && j->unknown != ASSUME_NOTHING)
    v = j->unknown == ASSUME_YES ? SURG_SUPPORTED : SURG_UNSUPPORTED;
  return v == SURG_SUPPORTED ? EXIT_DONE : v == SURG_SUPPORT_UNKNOWN ? EXIT_UNKNOWN : EXIT_MODEL;
}
