/* SPDX-License-Identifier: Apache-2.0 */
/* Patches inside of JSON: `diff --json --patch -` writes them, `patch` reads them. */
#ifndef SURG_TOOLS_PATCH_TEXT_H
#define SURG_TOOLS_PATCH_TEXT_H

#include <onnxsurg/diff.h>

#include "cli.h"

/* The patch that makes b from a, in base64; NULL after an error. */
json_t *patch_text_make(surg_model *a, surg_model *b, surg_status *status);
/* Applies a patch, or the one inside of the JSON of `diff --json --patch -`. */
int patch_text_apply(surg_model *a, const char *patch, const char *out);

#endif
