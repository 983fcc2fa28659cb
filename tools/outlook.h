/* SPDX-License-Identifier: Apache-2.0 */
/* What `onnxsurg mend` makes of an invalid model, found on copies; for `check` and `doctor`. */
#ifndef SURG_OUTLOOK_H
#define SURG_OUTLOOK_H

#include "findings.h"
#include "consent.h"

typedef enum outlook_kind {
  OUTLOOK_NONE, /* it changes nothing that the checker finds */
  OUTLOOK_SOME, /* errors remain, or warnings alone are cured */
  OUTLOOK_ALL   /* no error remains */
} outlook_kind;

typedef struct outlook {
  outlook_kind kind;
  repair_consent needed; /* the least with which that much is cured */
  size_t errors;         /* that remain */
  size_t warnings;       /* that are cured, where there is no error */
} outlook;

/* Tries `mend` with growing consent on the model of the findings, which is loaded anew; `errors`:
 * how many of them are errors; 0: whether warnings are cured. SURG_OK unless memory runs out. */
surg_status outlook_find(outlook *o, const cli_common *common, const findings *f, const char *path,
                         size_t errors);
/* "onnxsurg mend --allow approx IN OUT cures all errors"; nothing for OUTLOOK_NONE. */
void outlook_put(surg__buf *b, const outlook *o, const char *path);
/* {"cures": "all", "consent": "", "remain": 0} */
json_t *outlook_json(const outlook *o);

#endif
