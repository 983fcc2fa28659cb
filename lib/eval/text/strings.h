/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels on strings. */
#ifndef SURG_STRINGS_H
#define SURG_STRINGS_H

#include "eval/core/eval.h"

bool surg__str_equal(surg_str a, surg_str b);
bool surg__str_is(surg_str s, const char *word);
bool surg__str_ascii(surg_str s);
/* Allocates n bytes for the text of a result, within the budget of the node. */
surg__kstatus surg__k_text(surg_kctx *k, size_t n, char **out);

#endif
