/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts what `onnxsurg mend` fixes in an invalid model, by trying it on copies. For `check`
 * and `doctor`. */
#ifndef SURG_OUTLOOK_H
#define SURG_OUTLOOK_H

#include "consent.h"
#include "findings.h"

typedef enum outlook_kind {
  OUTLOOK_NONE, /* fixes no finding */
  OUTLOOK_SOME, /* errors remain, or only warnings are fixed */
  OUTLOOK_ALL   /* fixes all errors */
} outlook_kind;

typedef struct outlook {
  outlook_kind kind;
  repair_consent needed; /* least consent for this result */
  size_t errors;         /* number that remain */
  size_t warnings;       /* number fixed, in a model without errors */
} outlook;

/* Loads the model of the findings again and tries `mend` with increasing consent. `errors` is
 * the number of findings that are errors; if it is 0, only warnings are considered. Returns
 * SURG_OK or SURG_ENOMEM. */
surg_status outlook_find(outlook *o, const cli_common *common, const findings *f, const char *path,
                         size_t errors);
/* Appends "onnxsurg mend --allow approx IN OUT cures all errors"; nothing for OUTLOOK_NONE. */
void outlook_put(cli_text *b, const outlook *o, const char *path);
/* The outlook as JSON: {"cures": "all", "consent": "", "remain": 0}. */
json_t *outlook_json(const outlook *o);

#endif
