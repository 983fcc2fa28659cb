/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the commands that compute a verdict for a target: --registered, --assume-unknown. */
#ifndef SURG_JUDGING_H
#define SURG_JUDGING_H

#include <onnxsurg/target.h>

#include "cli.h"

typedef enum assumed { ASSUME_NOTHING = 0, ASSUME_YES, ASSUME_NO } assumed;

typedef struct judging {
  cli_words registered; /* "com.acme", "com.acme:Foo" */
  assumed unknown;
} judging;

enum { OPT_REGISTERED = OPT_OWN + 100, OPT_ASSUME_UNKNOWN };
#define JUDGING_OPTIONS                                \
  {"registered", required_argument, NULL, OPT_REGISTERED}, \
  {"assume-unknown", required_argument, NULL, OPT_ASSUME_UNKNOWN}
#define JUDGING_HELP                                                                  \
  "  --registered DOMAIN[:OP]  custom operators that the engine has\n"        \
  "  --assume-unknown yes|no   exit code if support is unknown: as supported or\n" \
  "                      unsupported (default: 6)\n"

/* Applies an option. Returns EXIT_DONE, or another exit code after printing an error. */
int judging_take(judging *j, int option, char *arg);
void judging_free(judging *j);
/* Registers the custom operators with the target (or NULL). Returns SURG_OK or SURG_ENOMEM. */
surg_status judging_apply(const judging *j, surg_target *t);
/* The exit code for a verdict: 0 supported, 1 unsupported, 6 unknown. --assume-unknown replaces
 * 6. */
int judging_exit(const judging *j, surg_verdict v);

#endif
