/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of importers, as commands take and tell them. */
#ifndef SURG_EXPLAIN_H
#define SURG_EXPLAIN_H

#include <onnxsurg/explain.h>

#include "cli.h"

/* A text that the user names: "-", a file, or the text itself; to free(). */
int explain_text(const char *argument, char **text, size_t *n);
/* The messages of a file (or NULL), then the built-in ones. */
int explain_messages(surg_context *ctx, const char *file, surg_messages **out);
/* A template with $in, $out and $target filled in by the words given (NULL: IN, OUT, TARGET);
 * words are taken as they are. */
void explain_put(surg__buf *b, const char *text, const char *in, const char *out,
                 const char *target);

#endif
