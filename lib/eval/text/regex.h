/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions as RE2 writes them, matched in time linear in the text. */
#ifndef SURG_REGEX_H
#define SURG_REGEX_H

#include "eval/core/eval.h"

typedef struct surg__regex surg__regex;

/* INVALID: no expression; CANNOT: it asks for what is not known here (Unicode classes, \C). The
 * result lives in the kernel's scratch memory. */
surg__kstatus surg__regex_compile(surg_kctx *k, surg_str pattern, surg__regex **out);
/* Whether all of the text matches. */
surg__kstatus surg__regex_full(surg_kctx *k, surg__regex *re, surg_str text, bool *out);

#endif
