/* SPDX-License-Identifier: Apache-2.0 */
/* Reading small text files into memory: targets, rules, messages. */
#ifndef SURG_FILE_H
#define SURG_FILE_H

#include "base/base.h"

/* Reads at most `most` bytes of a file, NUL-terminated; the caller calls free(). For a longer file
 * *n is most + 1, so that the parser can reject it. Reports SURG_EIO and SURG_ENOMEM. */
surg_status surg__read_text(surg_context *ctx, const char *path, size_t most, char **text,
                            size_t *n);

#endif
