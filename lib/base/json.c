/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <string.h>

json_t *surg__json_text(surg_context *ctx, const char *text) {
  if (!text) return NULL;
  json_t *j = json_string(text);
  if (j) return j;
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_escape(&b, text, strlen(text), 0);
  j = b.failed ? NULL : json_stringn(b.p ? b.p : "", b.n);
  surg__buf_free(&b);
  return j;
}

void surg__json_set(surg_context *ctx, json_t *object, const char *key, const char *text) {
  json_object_set_new(object, key, text ? surg__json_text(ctx, text) : json_null());
}

static int append(const char *bytes, size_t n, void *buf) {
  surg__buf_put(buf, bytes, n);
  return 0;
}

void surg__json_put(surg__buf *b, json_t *value) {
  if (!value || json_dump_callback(value, append, b, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
    b->failed = true;
  json_decref(value);
}
