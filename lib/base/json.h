/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON with Jansson. */
#ifndef SURG_JSON_H
#define SURG_JSON_H

#include <jansson.h>

#include "base/base.h"

/* A JSON string; bytes that are not UTF-8 are escaped as in messages. NULL: text is NULL, or no
 * memory. */
json_t *surg__json_text(surg_context *ctx, const char *text);
/* Sets a member to a string, or to null if text is NULL. */
void surg__json_set(surg_context *ctx, json_t *object, const char *key, const char *text);
/* Appends the value on one line, without blanks, and releases it. A NULL value fails the buffer. */
void surg__json_put(surg__buf *b, json_t *value);

#endif
