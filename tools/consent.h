/* SPDX-License-Identifier: Apache-2.0 */
/* `--allow` of the commands that repair: the least exact class of rewrites that is permitted,
 * and whether inputs and outputs may change. */
#ifndef SURG_CONSENT_H
#define SURG_CONSENT_H

#include <onnxsurg/types.h>

typedef struct repair_consent {
  surg_exactness most;
  bool interface;
} repair_consent;
#define REPAIR_NO_CONSENT ((repair_consent){SURG_ROUNDING, false})

/* Parses "approx,interface". Parts that are not given keep their value in *c. Returns EXIT_DONE,
 * or another exit code after printing an error. */
int consent_take(const char *words, repair_consent *c);
/* Writes "--allow approx,interface", or "" if no consent is required. */
void consent_spell(char *out, size_t size, repair_consent c);

#endif
