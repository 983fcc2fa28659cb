/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on several models: folders are searched, each model is processed in a process of its
 * own, --jobs of them at a time, and what they print appears in the order of the models. */
#ifndef SURG_TOOLS_FLEET_H
#define SURG_TOOLS_FLEET_H

#include "cli.h"

#define FLEET_MODELS_MOST (1u << 20) /* most models of one command */

typedef struct fleet_model {
  char *in, *out;   /* out: where the result is written, or the counterpart; NULL: none */
  const char *name; /* part of `in`: its path below the folder that was given, or its last part */
  bool found;       /* in a folder that was given */
} fleet_model;

typedef struct fleet_list {
  fleet_model *items;
  size_t n, room;
  size_t others; /* files in folders that are no models */
  bool folders;  /* a folder is among the arguments */
  bool same;     /* a folder is that of the counterparts */
  int code;      /* worst exit code of what could not be listed */
} fleet_list;

/* Whether a path is that of a folder. */
bool fleet_is_folder(const char *path);
/* Whether arguments are processed as several models: more than one, a folder, or with --jobs. */
bool fleet_is_many(const cli_common *c, char **args, int n);
/* Lists the models that arguments name: files, and the files *.onnx in folders, with those in
 * folders therein, sorted by path; links to folders are not followed. With `to` each model gets the
 * path of its counterpart in that folder, which itself is not searched. Returns EXIT_DONE, or
 * another exit code after printing an error; free the list in any case. */
int fleet_find(char **args, int n, const char *to, fleet_list *list);
void fleet_free(fleet_list *list);
/* Fails with EXIT_USAGE, after printing an error, if two models have the same `out`, or
 * models are in the folder of the results. */
int fleet_distinct(const fleet_list *list);

/* Returned by `work` for success in place of EXIT_DONE if the result equals the model. */
#define FLEET_UNCHANGED 64

typedef struct fleet {
  const cli_common *common;
  const char *good, *bad; /* what EXIT_DONE and EXIT_MODEL mean, in the total: "ok", "invalid" */
  bool writes;            /* folders of `out` are made */
  bool no_json;           /* `take` handles output also with --json */
  /* Processes a model and returns its exit code, in a process of its own where there is one. */
  int (*work)(void *user, const fleet_model *m);
  /* Gets what `work` printed on standard output, model by model in their order, instead of standard
   * output. NULL: it is printed; with --json as one line a model, with "file" and "exit". */
  void (*take)(void *user, const fleet_model *m, int code, const char *text, size_t n);
  void *user;
} fleet;

/* Processes all models of a list. Prints a total for folders, with --jobs, with --summary and on a
 * terminal, unless --quiet is given. Returns the worst exit code. */
int fleet_run(const fleet *f, const fleet_list *list);

#endif
