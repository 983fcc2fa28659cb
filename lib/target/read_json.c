/* SPDX-License-Identifier: Apache-2.0 */
/* Values of targets in JSON: text, lists, ranges, versions, element types. */
#include "target/read.h"

#include <stdio.h>

#include "base/context.h"
#include "base/diag.h"
#include "base/dtype.h"

bool surg__read_fail(surg__reader *r, const char *where, const char *what) {
  if (!r->failed) surg__error(r->ctx, SURG_EINVALID, r->file, "%s: %s", where, what);
  r->failed = true;
  return false;
}

void *surg__read_room(surg__reader *r, size_t n, size_t size) {
  void *p = surg__arena_array(&r->t->arena, n + 1, size);
  if (!p && !r->failed) surg__oom(r->ctx, r->file);
  r->failed |= !p;
  if (p) memset(p, 0, (n + 1) * size);
  return p;
}

const char *surg__read_copy(surg__reader *r, const char *s) {
  const size_t n = strlen(s);
  char *p = surg__read_room(r, n, 1);
  if (p) memcpy(p, s, n + 1);
  return p;
}

const char *surg__read_text_of(surg__reader *r, const json_t *j, const char *where) {
  if (!json_is_string(j)) {
    surg__read_fail(r, where, "must be a string");
    return NULL;
  }
  return surg__read_copy(r, json_string_value(j));
}

bool surg__read_list(surg__reader *r, const json_t *j, const char *where, surg__tlist *out) {
  if (!json_is_array(j)) return surg__read_fail(r, where, "must be a list");
  out->n = json_array_size(j);
  out->items = surg__read_room(r, out->n, sizeof *out->items);
  for (size_t i = 0; out->items && i < out->n; i++) {
    const json_t *e = json_array_get(j, i);
    char number[40];
    if (json_is_integer(e)) {
      snprintf(number, sizeof number, "%lld", (long long)json_integer_value(e));
      out->items[i] = surg__read_copy(r, number);
    } else if (json_is_boolean(e)) {
      out->items[i] = json_is_true(e) ? "1" : "0";
    } else {
      out->items[i] = surg__read_text_of(r, e, where);
    }
    if (!out->items[i]) return false;
  }
  return out->items != NULL;
}

/* Reads a bound of a span: a number, or null for no limit (`open`). */
static bool read_end(const json_t *j, int64_t open, int64_t *out) {
  *out = json_is_integer(j) ? (int64_t)json_integer_value(j) : open;
  return json_is_integer(j) || json_is_null(j);
}

bool surg__read_span(surg__reader *r, const json_t *j, const char *where, surg__tspan *out) {
  if (!json_is_array(j) || json_array_size(j) != 2 ||
      !read_end(json_array_get(j, 0), INT64_MIN, &out->low) ||
      !read_end(json_array_get(j, 1), INT64_MAX, &out->high))
    return surg__read_fail(r, where, "must be [low, high], either of them a number or null");
  return true;
}

bool surg__read_spans(surg__reader *r, const json_t *j, const char *where, const surg__tspan **out,
                      size_t *n) {
  const char *key;
  json_t *v;
  if (!json_is_object(j)) return surg__read_fail(r, where, "must be an object of [low, high]");
  surg__tspan *list = surg__read_room(r, json_object_size(j), sizeof *list);
  *n = 0;
  *out = list;
  json_object_foreach((json_t *)(uintptr_t)j, key, v) {
    if (!list || !(list[*n].name = surg__read_copy(r, key)) ||
        !surg__read_span(r, v, where, &list[*n]))
      return false;
    ++*n;
  }
  return list != NULL;
}

/* Reads supported versions: "7-10,13,16+". */
bool surg__read_versions(surg__reader *r, const json_t *j, const char *where,
                         const surg__tspan **out, size_t *n) {
  const char *s = json_string_value(j);
  if (!s) return surg__read_fail(r, where, "versions must be text such as \"7-10,13\"");
  surg__tspan *list = surg__read_room(r, strlen(s), sizeof *list);
  if (!list) return false;
  while (*s) {
    char *end;
    surg__tspan *v = &list[(*n)++];
    v->low = strtol(s, &end, 10);
    v->high = v->low;
    if (end == s || v->low < 1)
      return surg__read_fail(r, where, "versions must be such as \"7-10,13,16+\"");
    s = end;
    if (*s == '+') {
      v->high = INT64_MAX;
      s++;
    } else if (*s == '-') {
      v->high = strtol(s + 1, &end, 10);
      if (end == s + 1 || v->high < v->low)
        return surg__read_fail(r, where, "a range of versions is empty");
      s = end;
    }
    if (*s == ',')
      s++;
    else if (*s)
      return surg__read_fail(r, where, "versions must be such as \"7-10,13,16+\"");
  }
  *out = list;
  return true;
}

bool surg__read_mask(surg__reader *r, const json_t *j, const char *where, uint32_t *mask) {
  size_t i;
  json_t *v;
  if (!json_is_array(j)) return surg__read_fail(r, where, "must be a list of element types");
  json_array_foreach((json_t *)(uintptr_t)j, i, v) {
    const int dtype = json_is_string(v) ? surg_dtype_from_name(json_string_value(v)) : 0;
    if (dtype <= 0 || dtype >= SURG__DTYPES)
      return surg__read_fail(r, where, "there is no such element type");
    *mask |= UINT32_C(1) << dtype;
  }
  return true;
}
