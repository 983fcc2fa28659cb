/* SPDX-License-Identifier: Apache-2.0 */
/* The difference of two texts, line by line. */
#ifndef SURG_TOOLS_LINE_DIFF_H
#define SURG_TOOLS_LINE_DIFF_H

#include <stdbool.h>

/* Prints the lines that differ with some lines around them, as a unified diff without file names.
 * False: out of memory. */
bool line_diff_print(const char *before, const char *after);

#endif
