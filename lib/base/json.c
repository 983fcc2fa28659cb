/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <string.h>

#include "base/charge.h"
#include "base/diag.h"

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

/* The bytes that the values of a text need at most, with those of allocator and tables that grow:
 * each number is after a comma, a colon or a bracket, and each key is a string before a colon. */
static uint64_t cost(const char *text, size_t n) {
  uint64_t sum = 1024 + (uint64_t)n;
  for (size_t i = 0; i < n; i++) switch (text[i]) {
      case '{':
        sum += 256;
        break;
      case '[':
        sum += 128;
        break;
      case ':':
        sum += 64;
        break;
      case ',':
        sum += 48;
        break;
      case '"':
        sum += 80;
        for (i++; i < n && text[i] != '"'; i++) i += text[i] == '\\';
        break;
      default:
        break;
    }
  return sum;
}

surg_status surg__json_read(surg_context *ctx, const char *where, const char *text, size_t n,
                            size_t flags, json_error_t *why, surg__json_doc *out) {
  const uint64_t bytes = cost(text, n);
  *out = (surg__json_doc){0};
  if (!surg__charge(ctx, bytes)) return surg__oom(ctx, where);
  out->charged = bytes;
  out->value = json_loadb(text, n, flags, why);
  if (!out->value) surg__json_drop(ctx, out);
  return SURG_OK;
}

void surg__json_drop(surg_context *ctx, surg__json_doc *doc) {
  json_decref(doc->value);
  surg__uncharge(ctx, doc->charged);
  *doc = (surg__json_doc){0};
}
