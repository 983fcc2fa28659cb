/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from a `--log` file which values were renamed. A value may be renamed several times, so
 * entries are hashed by their latest name while reading, and by their first name at the end. */
#include "run/renames.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/hash.h"
#include "base/os/os.h"

typedef struct rename {
  char *before, *after;
  UT_hash_handle hh;
} rename_t;

static void free_one(rename_t *e) {
  free(e->before);
  free(e->after);
  free(e);
}

static bool apply(surg_context *ctx, rename_t **by_last, const char *old, const char *name) {
  SURG_HASH_LOCALS(ctx);
  rename_t *e;
  HASH_FIND_STR(*by_last, old, e);
  if (e) {
    HASH_DEL(*by_last, e);
  } else {
    e = calloc(1, sizeof *e);
    if (!e || !(e->before = strdup(old))) {
      free(e);
      return false;
    }
  }
  free(e->after);
  e->after = strdup(name);
  if (!e->after) {
    free_one(e);
    return false;
  }
  rename_t *other; /* a deleted value had the name before */
  HASH_FIND_STR(*by_last, e->after, other);
  if (other) {
    HASH_DEL(*by_last, other);
    free_one(other);
  }
  HASH_ADD_KEYPTR(hh, *by_last, e->after, strlen(e->after), e);
  if (surg__hash_failed) free_one(e);
  return !surg__hash_failed;
}

static bool read_line(surg_context *ctx, rename_t **by_last, const json_t *line) {
  const char *event = json_string_value(json_object_get(line, "event"));
  const char *graph = json_string_value(json_object_get(line, "graph"));
  const char *name = json_string_value(json_object_get(line, "value"));
  const char *old = json_string_value(json_object_get(line, "old"));
  if (!event || strcmp(event, "rename-value") != 0 || !graph || strcmp(graph, "main") != 0)
    return true;
  return !name || !old || apply(ctx, by_last, old, name);
}

/* Reports an error at `PATH` or `PATH:LINE`, the path escaped. */
static surg_status fail(surg_context *ctx, surg_status status, const char *path, size_t line,
                        const char *why) {
  surg__buf where;
  surg__buf_init(&where, ctx);
  surg__buf_escape(&where, path, strlen(path), 0);
  if (line) surg__buf_printf(&where, ":%zu", line);
  surg__error(ctx, status, where.failed || !where.p ? "log" : where.p, "%s", why);
  surg__buf_free(&where);
  return status;
}

static surg_status read_all(surg_context *ctx, FILE *f, const char *path, rename_t **by_last) {
  char *text = NULL;
  size_t cap = 0, line = 0;
  surg_status s = SURG_OK;
  while (s == SURG_OK && surg__os_read_line(f, &text, &cap)) {
    line++;
    json_t *j = json_loads(text, 0, NULL);
    if (!json_is_object(j))
      s = fail(ctx, SURG_EINVALID, path, line, "is not a line of a log");
    else if (!read_line(ctx, by_last, j))
      s = surg__oom(ctx, NULL);
    json_decref(j);
  }
  free(text);
  return s;
}

surg_status surg__renames_load(surg_context *ctx, const char *path, surg__renames *out) {
  SURG_HASH_LOCALS(ctx);
  FILE *f = surg__os_fopen(path, "r");
  if (!f) {
    char why[200];
    snprintf(why, sizeof why, "cannot read: %s", strerror(errno));
    return fail(ctx, SURG_EIO, path, 0, why);
  }
  rename_t *by_last = NULL, *by_first = NULL;
  surg_status s = read_all(ctx, f, path, &by_last);
  fclose(f);
  for (rename_t *e = by_last, *next; e; e = next) {
    next = e->hh.next;
    HASH_DEL(by_last, e);
    surg__hash_failed = false; /* an entry that follows one that failed may be added */
    HASH_ADD_KEYPTR(hh, by_first, e->before, strlen(e->before), e);
    if (!surg__hash_failed) continue;
    free_one(e);
    if (s == SURG_OK) s = surg__oom(ctx, NULL);
  }
  *out = (surg__renames){ctx, by_first};
  return s;
}

void surg__renames_free(surg__renames *r) {
  if (!r->ctx) return;
  SURG_HASH_LOCALS(r->ctx);
  for (rename_t *e = r->first, *next; e; e = next) {
    next = e->hh.next;
    HASH_DEL(r->first, e);
    free_one(e);
  }
}

const char *surg__renamed(const void *renames, const char *name) {
  const surg__renames *r = renames;
  SURG_HASH_LOCALS(r->ctx);
  rename_t *e;
  HASH_FIND_STR(r->first, name, e);
  return e ? e->after : name;
}
