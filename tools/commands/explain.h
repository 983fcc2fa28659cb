/* SPDX-License-Identifier: Apache-2.0 */
/* Reads messages of importers and prints explanations; shared by several commands. */
#ifndef SURG_EXPLAIN_H
#define SURG_EXPLAIN_H

#include <onnxsurg/explain.h>

#include "cli.h"

/* Reads a message: from standard input ("-"), from a file, or `argument` itself. *text is for
 * the caller to free. */
int explain_text(const char *argument, char **text, size_t *n);
/* Loads the known messages: those of a file (or NULL), then the built-in ones. */
int explain_messages(surg_context *ctx, const char *file, surg_messages **out);
/* Expands $in, $out and $target in a template. The words are inserted unescaped; NULL inserts
 * IN, OUT or TARGET. */
void explain_put(cli_text *b, const char *text, const char *in, const char *out,
                 const char *target);

#endif
