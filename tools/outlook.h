/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what `onnxsurg mend` fixes in an invalid model. For `check` and `doctor`. */
#ifndef SURG_OUTLOOK_H
#define SURG_OUTLOOK_H

#include <onnxsurg/doctor.h>

#include "cli.h"
#include "consent.h"

/* Appends "onnxsurg mend --allow approx IN OUT cures all errors"; nothing if it cures none. */
void outlook_put(cli_text *b, const surg_outlook *o, const char *path);
/* The outlook as JSON: {"cures": "all", "consent": "", "remain": 0}. */
json_t *outlook_json(const surg_outlook *o);

#endif
