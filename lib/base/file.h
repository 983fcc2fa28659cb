/* SPDX-License-Identifier: Apache-2.0 */
/* Small text files, read whole: targets, rules, messages. */
#ifndef SURG_FILE_H
#define SURG_FILE_H

#include "base/base.h"

/* The text of a file, NUL-terminated, to free(), of at most `most` bytes; a longer file has one
 * byte more, so that the reader of the text finds it too long. SURG_EIO, SURG_ENOMEM, reported. */
surg_status surg__read_text(surg_context *ctx, const char *path, size_t most, char **text,
                            size_t *n);

#endif
