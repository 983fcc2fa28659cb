/* SPDX-License-Identifier: Apache-2.0 */
/* JSON with Jansson: writing, and reading what others wrote. */
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

/* JSON that was read; all zero: none. */
typedef struct surg__json_doc {
  json_t *value;
  uint64_t charged; /* bytes counted against the memory limit while it exists */
} surg__json_doc;
/* Reads n bytes of JSON. Jansson needs up to 50 times as much memory, outside of the context: what
 * the values need is estimated from above and counted first. SURG_ELIMIT, reported: it exceeds the
 * limit. SURG_OK with the value NULL: the text is no JSON (*why; may be NULL). */
surg_status surg__json_read(surg_context *ctx, const char *where, const char *text, size_t n,
                            size_t flags, json_error_t *why, surg__json_doc *out);
void surg__json_drop(surg_context *ctx, surg__json_doc *doc);

#endif
