/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from a `--log` file which values were renamed. A value may be renamed several times, so
 * entries are hashed by their latest name while reading, and by their first name at the end. */
#include "run_renames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cli.h"

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

static int bad(const char *path, size_t line) {
  cli_put(stderr, path);
  fprintf(stderr, ":%zu: error: is no line of a log\n", line);
  return EXIT_MODEL;
}

static int read_all(surg_context *ctx, FILE *f, const char *path, rename_t **by_last) {
  char *text = NULL;
  size_t cap = 0, line = 0;
  int code = EXIT_DONE;
  while (code == EXIT_DONE && getline(&text, &cap, f) >= 0) {
    line++;
    json_t *j = json_loads(text, 0, NULL);
    if (!json_is_object(j)) {
      code = bad(path, line);
    } else if (!read_line(ctx, by_last, j)) {
      code = cli_no_memory();
    }
    json_decref(j);
  }
  free(text);
  return code;
}

int cli_renames_load(surg_context *ctx, const char *path, cli_renames *out) {
  SURG_HASH_LOCALS(ctx);
  FILE *f = fopen(path, "re");
  if (!f) {
    const int why = errno;
    cli_put(stderr, path);
    fprintf(stderr, ": error: cannot read: %s\n", strerror(why));
    return EXIT_IO;
  }
  rename_t *by_last = NULL, *by_first = NULL;
  int code = read_all(ctx, f, path, &by_last);
  fclose(f);
  for (rename_t *e = by_last, *next; e; e = next) {
    next = e->hh.next;
    HASH_DEL(by_last, e);
    HASH_ADD_KEYPTR(hh, by_first, e->before, strlen(e->before), e);
    if (!surg__hash_failed) continue;
    free_one(e);
    if (code != EXIT_LIMIT) code = cli_no_memory();
  }
  *out = (cli_renames){ctx, by_first};
  return code;
}

void cli_renames_free(cli_renames *r) {
  if (!r->ctx) return;
  SURG_HASH_LOCALS(r->ctx);
  for (rename_t *e = r->first, *next; e; e = next) {
    next = e->hh.next;
    HASH_DEL(r->first, e);
    free_one(e);
  }
}

const char *cli_renamed(const void *renames, const char *name) {
  const cli_renames *r = renames;
  SURG_HASH_LOCALS(r->ctx);
  rename_t *e;
  HASH_FIND_STR(r->first, name, e);
  return e ? e->after : name;
}
