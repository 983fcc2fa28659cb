/* SPDX-License-Identifier: Apache-2.0 */
/* Which models arguments name; see fleet.h. */
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "fleet.h"

/* What is searched: the folders that are still to be read, and what they were given as. */
typedef struct search {
  fleet_list *list;
  const char *to;
  surg__stat skipped; /* the folder `to` */
  bool skips;
  char **folders;
  size_t n, room;
} search;

bool fleet_is_folder(const char *path) {
  surg__stat st;
  return surg__os_stat(path, &st) == 0 && st.directory;
}

bool fleet_is_many(const cli_common *c, char **args, int n) {
  return n > 1 || (n == 1 && (c->jobs || fleet_is_folder(args[0])));
}

static char *joined(const char *folder, const char *name) {
  const size_t n = strlen(folder), room = n + strlen(name) + 2;
  char *path = malloc(room);
  const bool slash = n && folder[n - 1] == '/';
  if (path) snprintf(path, room, "%s%s%s", folder, slash ? "" : "/", name);
  return path;
}

static int report(fleet_list *list, const char *path, const char *text) {
  cli_error(path, "%s", text);
  list->code = cli_worse(list->code, EXIT_IO);
  return EXIT_DONE;
}

/* Appends a model, whose path the list then owns. `skip`: bytes of the path before its name. */
static int add(search *s, char *path, size_t skip, bool found) {
  fleet_list *list = s->list;
  if (path && list->n == FLEET_MODELS_MOST) {
    free(path);
    return cli_usage("more than %u models", FLEET_MODELS_MOST);
  }
  if (path && list->n == list->room) {
    const size_t room = list->room ? list->room * 2 : 64;
    fleet_model *grown = realloc(list->items, room * sizeof *grown);
    if (grown) list->items = grown;
    if (grown) list->room = room;
  }
  if (!path || list->n == list->room) {
    free(path);
    return cli_no_memory();
  }
  char *out = s->to ? joined(s->to, path + skip) : NULL;
  list->items[list->n++] = (fleet_model){path, out, path + skip, found};
  return !s->to || out ? EXIT_DONE : cli_no_memory();
}

static int push(search *s, char *folder) {
  if (folder && s->n == s->room) {
    const size_t room = s->room ? s->room * 2 : 16;
    char **grown = realloc(s->folders, room * sizeof *grown);
    if (grown) s->folders = grown;
    if (grown) s->room = room;
  }
  if (!folder || s->n == s->room) {
    free(folder);
    return cli_no_memory();
  }
  s->folders[s->n++] = folder;
  return EXIT_DONE;
}

static bool is_model(const char *name) {
  static const char suffix[] = ".onnx";
  const size_t n = strlen(name), k = sizeof suffix - 1;
  return n > k && strcmp(name + n - k, suffix) == 0;
}

/* Handles an entry of a folder: a folder to be read, a model, or another file. */
static int take_entry(search *s, const char *folder, const char *name, size_t skip) {
  surg__stat here, st;
  char *path = joined(folder, name);
  if (!path) return cli_no_memory();
  int why = surg__os_lstat(path, &here);
  if (!why && here.directory) {
    const bool skipped = s->skips && here.dev == s->skipped.dev && here.ino == s->skipped.ino;
    if (!skipped) return push(s, path);
  } else if (!why && is_model(name)) {
    why = surg__os_stat(path, &st);
    if (why || st.regular) return add(s, path, skip, true); /* a broken link is reported later */
    s->list->others++;
  } else {
    s->list->others++;
  }
  free(path);
  return EXIT_DONE;
}

static int read_folder(search *s, const char *folder, size_t skip) {
  surg__os_folder *f = NULL;
  const char *name;
  int code = EXIT_DONE;
  const int why = surg__os_folder_open(folder, &f);
  if (why) return report(s->list, folder, strerror(why));
  while (code == EXIT_DONE && (name = surg__os_folder_next(f)))
    code = take_entry(s, folder, name, skip);
  surg__os_folder_close(f);
  return code;
}

static int by_path(const void *a, const void *b) {
  const fleet_model *x = a, *y = b;
  return strcmp(x->in, y->in);
}

/* Adds the models in a folder and in all folders below it. */
static int take_folder(search *s, const char *root) {
  const bool slash = *root && root[strlen(root) - 1] == '/';
  const size_t from = s->list->n, skip = strlen(root) + !slash;
  const int before = s->list->code;
  int code = push(s, strdup(root));
  while (code == EXIT_DONE && s->n) {
    char *folder = s->folders[--s->n];
    code = read_folder(s, folder, skip);
    free(folder);
  }
  fleet_list *list = s->list;
  if (list->n > from) qsort(list->items + from, list->n - from, sizeof *list->items, by_path);
  if (code == EXIT_DONE && list->n == from && list->code == before)
    report(list, root, "no file *.onnx in this folder, nor below it");
  return code;
}

int fleet_find(char **args, int n, const char *to, fleet_list *list) {
  search s = {.list = list, .to = to};
  int code = EXIT_DONE;
  *list = (fleet_list){0};
  s.skips = to && surg__os_stat(to, &s.skipped) == 0;
  for (int i = 0; i < n && code == EXIT_DONE; i++) {
    surg__stat st;
    const bool folder = surg__os_stat(args[i], &st) == 0 && st.directory;
    list->folders |= folder;
    if (folder && s.skips && st.dev == s.skipped.dev && st.ino == s.skipped.ino) {
      list->same = true;
      s.skips = false;
    }
    if (folder)
      code = take_folder(&s, args[i]);
    else
      code = add(&s, strdup(args[i]), (size_t)(cli_base_name(args[i]) - args[i]), false);
  }
  for (size_t i = 0; i < s.n; i++) free(s.folders[i]);
  free(s.folders);
  return code;
}

void fleet_free(fleet_list *list) {
  for (size_t i = 0; i < list->n; i++) {
    free(list->items[i].in);
    free(list->items[i].out);
  }
  free(list->items);
  *list = (fleet_list){0};
}

static int by_out(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int fleet_distinct(const fleet_list *list) {
  const char **sorted = list->n ? calloc(list->n, sizeof *sorted) : NULL;
  size_t n = 0;
  int code = EXIT_DONE;
  if (list->n && !sorted) return cli_no_memory();
  if (list->same) code = cli_usage("the folder of the models is that of the results");
  for (size_t i = 0; i < list->n; i++)
    if (list->items[i].out) sorted[n++] = list->items[i].out;
  if (n) qsort(sorted, n, sizeof *sorted, by_out);
  for (size_t i = 1; i < n && code == EXIT_DONE; i++) {
    if (strcmp(sorted[i - 1], sorted[i]) != 0) continue;
    char *name = cli_escaped(sorted[i], CLI_NAME_PRINT);
    code = cli_usage("two models would be written to one file: %s", name ? name : "");
    free(name);
  }
  free(sorted);
  return code;
}
