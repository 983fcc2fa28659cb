/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions in RE2 syntax, matched in time linear in the length of the text. */
#ifndef SURG_REGEX_H
#define SURG_REGEX_H

#include "eval/core/eval.h"

typedef struct surg__regex surg__regex;

/* Compiles a pattern. INVALID: a syntax error. CANNOT: an unsupported feature (Unicode classes,
 * \C). The result is in scratch memory of the kernel. */
surg__kstatus surg__regex_compile(surg_kctx *k, surg_str pattern, surg__regex **out);
/* Matches a text. *out: whether the whole text matches. */
surg__kstatus surg__regex_full(surg_kctx *k, surg__regex *re, surg_str text, bool *out);

#endif
