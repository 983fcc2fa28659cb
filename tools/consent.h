/* SPDX-License-Identifier: Apache-2.0 */
/* `--allow` of the commands that repair: the worst class of rewrites, and whether inputs and
 * outputs may change. */
#ifndef SURG_CONSENT_H
#define SURG_CONSENT_H

#include <onnxsurg/types.h>

typedef struct repair_consent {
  surg_exactness most;
  bool interface;
} repair_consent;
#define REPAIR_NO_CONSENT ((repair_consent){SURG_ROUNDING, false})

/* "approx,interface" (what is left out stays as it is); an exit code after a line. */
int consent_take(const char *words, repair_consent *c);
/* "--allow approx,interface", or nothing where none is needed. */
void consent_spell(char *out, size_t size, repair_consent c);

#endif
