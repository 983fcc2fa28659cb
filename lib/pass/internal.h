/* SPDX-License-Identifier: Apache-2.0 */
/* Internal declarations shared by the files of lib/pass. */
#ifndef SURG_PASS_PRIVATE_H
#define SURG_PASS_PRIVATE_H

#include <regex.h>

#include "base/context.h"
#include "pass/pass.h"

typedef struct surg__plugin {
  void *handle;     /* of dlopen; never closed */
  const char *name; /* owned by the plugin */
} surg__plugin;

typedef struct surg__entry {
  const surg_pass *pass;
  const char *origin; /* plugin name, or NULL */
  surg_pass *copy;    /* `pass`, if it is a copy; owned */
} surg__entry;

/* An extension of presets: `pipeline` is inserted at a point of `preset` (NULL: of every built-in
 * one). Strings are borrowed. */
typedef struct surg__extension {
  const char *preset, *pass, *pipeline; /* `pass`: for BEFORE and AFTER */
  enum { SURG__AT_FIRST, SURG__AT_LAST, SURG__AT_BEFORE, SURG__AT_AFTER } at;
} surg__extension;

struct surg_registry {
  surg_context *ctx;
  SURG_VEC(surg__entry) passes;
  SURG_VEC(surg__preset *) owned_presets; /* those of plugins; also in `presets` */
  SURG_VEC(surg__extension) extensions;
  SURG_VEC(const surg__preset *) presets;
  SURG_VEC(surg__plugin) plugins;
  const surg__former *former; /* former names of built-in passes; borrowed */
  size_t n_former;
  const char *origin; /* the plugin whose init function is running */
  const char *path;   /* its file, for messages */
  bool refused;       /* a registration failed since origin was set */
  bool builtins;      /* surg_context_passes has registered the built-in passes */
  bool lacking;       /* ... and failed */
  bool running;       /* a pipeline is running: runs do not nest */
};

/* One pair of a PAIRS option: a name and its words. */
typedef struct surg__named_words {
  const char *name;
  const char **list;
  size_t n;
} surg__named_words;

#define SURG__PAIRS 1000u /* most pairs of one pass in a pipeline */

/* The value of one option of one scheduled pass. */
typedef struct surg__optval {
  bool given;       /* set by the user; else `fallback` of the option */
  const char *text; /* canonical text, for printing; NULL: unset */
  int64_t i;        /* BOOL and INT */
  const char *s;    /* STRING */
  const char **list;
  size_t n;
  surg__named_words *pairs; /* PAIRS; allocated for SURG__PAIRS entries with the first one */
  size_t n_pairs;
} surg__optval;

/* One step of a pipeline: a pass with its options, or a group (repeat, guard, allow) with a
 * body. */
typedef struct surg__pipeline_step {
  struct surg__pipeline_step *next;
  const surg_pass *pass; /* NULL: repeat, guard or allow */
  surg__optval *options; /* one for each option the pass declares */
  struct surg__pipeline_step *body;
  int64_t max; /* most rounds of a repeat; 0: guard or allow */
  bool size;   /* guard: also compares file sizes */
  bool saved;  /* guard: may spend the bytes that the run has saved */
  bool allows; /* allow{...}: `allow` is the class its body may use */
  surg_exactness allow;
} surg__pipeline_step;

struct surg_pipeline {
  surg_context *ctx;
  surg__arena arena;
  surg__pipeline_step *first;
};

/* One word of pipeline text: a bare or quoted string. */
typedef struct surg__word {
  const char *s;
  bool quoted;
} surg__word;

/* --- teach.c --- */
/* What a registry and its context know, to take back what a plugin registered that fails. */
typedef struct surg__lesson {
  size_t passes, presets, owned_presets, extensions, operators, targets, messages, rules, schemas,
      decoders;
} surg__lesson;
surg__lesson surg__lesson_begin(const surg_registry *r);
void surg__lesson_undo(surg_registry *r, const surg__lesson *before);
/* Whether a pass, preset or group has this name. */
bool surg__name_taken(const surg_registry *r, const char *name);
/* Whether the preset is one of a plugin. */
bool surg__preset_owned(const surg_registry *r, const surg__preset *preset);

/* --- options.c --- */
/* Parses the words of `name=a+b` into `out`; n is 0 for `name` without a value. Copies into the
 * arena. Returns NULL, a static text that describes the fault, or surg__opt_nomem. */
const char *surg__option_parse(surg__arena *arena, const surg_option *opt, const surg__word *words,
                               size_t n, surg__optval *out);
extern const char surg__opt_nomem[];
/* Adds the pair `name=a+b` to a PAIRS option. Returns as surg__option_parse; the fault may be in
 * the name. */
const char *surg__option_pair(surg__arena *arena, const char *name, const surg__word *words,
                              size_t n, surg__optval *out);
/* Parses the option's default into `out`. Returns as surg__option_parse. */
const char *surg__option_fallback(surg__arena *arena, const surg_option *opt, surg__optval *out);
bool surg__name_valid(const char *s); /* whether it is a valid name of a pass, preset or option */

/* --- keep.c: nodes and values that the user protects from passes --- */
/* The names, operators and patterns of --keep. */
typedef struct surg__keep {
  surg_context *ctx;
  SURG_VEC(const char *) names; /* sorted */
  SURG_VEC(const char *) ops;   /* sorted; "Type" or "domain.Type" */
  SURG_VEC(regex_t *) patterns;
} surg__keep;
/* Parses the specifications of --keep, which are borrowed. SURG_EUSAGE: an invalid regular
 * expression; `k` is then already freed. */
surg_status surg__keep_init(surg__keep *k, surg_context *ctx, const char *const *specs, size_t n);
void surg__keep_free(surg__keep *k);
/* Marks the nodes that are named by a place or pattern (onnxsurg/edit.h), until the run ends, as
 * passes move places. Warns of names that nothing has. SURG_EUSAGE, reported: an invalid pattern.
 */
surg_status surg__keep_mark(surg__keep *k, surg_model *m);
void surg__keep_unmark(surg_model *m); /* NULL is allowed */
/* Whether a node or value of this name is protected. */
bool surg__keep_name(const surg__keep *k, const char *name);
/* Pins the weights of a model: initializers of rank 1 or more, except booleans, strings, int32,
 * int64, and scales of Resize. */
void surg__pin_weights(surg_model *m);
void surg__unpin_weights(surg_model *m);
/* Whether the operator of the node is protected. */
bool surg__keep_op(const surg__keep *k, const surg_node *n);

/* --- log.c: --log and --map, written from the events of the model --- */
typedef struct surg__log surg__log;
/* Opens the files and subscribes to the events of the model. *out is NULL if both paths are
 * NULL. */
surg_status surg__log_open(surg_model *m, const char *log_path, const char *map_path,
                           surg__log **out);
/* Log the begin and the end of a pass, and a note. All three accept NULL. */
void surg__log_pass(surg__log *l, const char *pass, uint64_t round);
void surg__log_pass_end(surg__log *l, const char *result, uint64_t ns);
void surg__log_note(surg__log *l, const char *text);
/* Switches to another model and discards the events for the map. False: out of memory. */
bool surg__log_restart(surg__log *l, surg_model *m);
/* Writes what is buffered to the file. Returns the errno value of the first failed write, or 0. */
int surg__log_flush(surg__log *l);
/* Notes that another process could not write to the log, with the errno value; 0: it could. */
void surg__log_failed(surg__log *l, int error);
/* Unsubscribes, writes the map if `ok`, closes the files and frees `l`. The model must still
 * exist. */
surg_status surg__log_close(surg__log *l, bool ok);

/* --- check_plugin.c --- */
/* The errors of `check` on a model, as hashes of code and text. */
typedef struct surg__errors {
  SURG_VEC(uint64_t) hashes;
  bool doubled_names; /* a graph has two nodes of one name */
} surg__errors;
surg_status surg__errors_collect(surg_model *m, surg__errors *out);
/* Writes the first error that `before` does not contain to `line`; empty: there is none. After an
 * edit, nodes of one name are an error if there were none before, and nodes that cannot run. */
surg_status surg__errors_compare(surg_model *m, const surg__errors *before, bool edit, char *line,
                                 size_t room);

/* --- runner.c, context.c --- */
/* The state of one run. */
typedef struct surg__runner {
  surg_context *ctx;
  surg_registry *registry;
  surg_model *model;
  const surg__run_options *options;
  surg__run_report *report;
  surg__keep keep;
  surg__log *log;
  struct surg__certificate *certificate; /* NULL: none */
  uint64_t deadline; /* in ns; 0: none */
  bool timed_out, cancelled;
  bool apart;     /* this is the child process of surg__run_apart */
  bool sorted;    /* every graph is known to be sorted */
  uint64_t epoch; /* epoch of the model at the start of the run */
  uint64_t bytes; /* of the file at the start of the run, if a step asks; else 0 */
  bool thrifty;   /* inside guard{size}: saved bytes are not spent */
  bool has_allow; /* inside allow{...}; `allow` is the strictest of the enclosing ones */
  surg_exactness allow;
} surg__runner;

/* The state of one call of a pass. */
struct surg_pass_ctx {
  surg__runner *run;
  const surg_pass *pass;
  const surg__pipeline_step *step;
  size_t report; /* index of its surg__pass_report */
  surg__arena scratch;
  surg_status failed; /* status of the first surg_pass_fail or surg_pass_usage; else SURG_OK */
  bool told_used;     /* surg_pass_used was called */
  surg_exactness used, needs; /* worst class used, and the part of it that requires consent */
  const surg__errors *errors; /* of the model before a plugin or an edit; else NULL */
  uint64_t types;             /* with `errors`: a hash of the types of inputs and outputs */
  bool no_memory;             /* a call by the pass ran out of memory */
  bool sheltered;             /* surg__pass_shelter has marked nodes */
  char undeclared[64];        /* an option it read without declaring it, or empty */
};

/* Checks that each name is a pass or `also` (NULL: none); else SURG_EUSAGE, located at `flag`. */
surg_status surg__check_pass_names(const surg_registry *r, const char *flag,
                                   const char *const *names, size_t n, const char *also);
/* Whether a pass left work because of its option max-growth. */
bool surg__left_work(const surg__run_report *r);
/* Whether the deadline has passed or the user cancels; recorded in r->timed_out, r->cancelled. */
bool surg__run_late(surg__runner *r);
/* `pass "x"`, or `pass "x" of plugin "p"`, in one of the context's rotating buffers. */
const char *surg__pass_title(surg__runner *r, const surg_pass *pass);
/* Checks the model after a pass: node order, cycles, and surg_model_verify; after one of a plugin,
 * that it has no error that is not in `before` (NULL: not checked). */
surg_status surg__check_after(surg__runner *r, const surg_pass *pass, const surg__errors *before);
/* Sorts all graphs of the model unless they are known to be sorted. */
surg_status surg__sort_all(surg__runner *r);
/* Declares the inferred shapes of outputs of bodies of Scan, and of Loop below opset 16, that
 * declare none: ONNX Runtime rejects such a body if its own inference finds no shape, and what it
 * finds depends on the opset and on declarations that a rewrite may have removed. O(graphs) if all
 * declare a shape; else types are inferred. */
surg_status surg__declare_bodies(surg_model *m);
/* Drops value_info entries of subgraphs that describe an outer value as another type than it has
 * now: runtimes merge both and reject the model. Types are inferred if a subgraph has entries for
 * values that are not its own. */
surg_status surg__renew_outer(surg_model *m);

/* Runs one step that is a pass; *changed is set if it changed the model. */
surg_status surg__run_pass(surg__runner *r, const surg__pipeline_step *step, bool *changed);
/* The title of a pass, then `what`, as an error of its plugin. */
surg_status surg__misbehaved(surg__runner *r, const surg_pass *pass, const char *what);
/* The error of a run that is over time or cancelled. */
surg_status surg__stopped(surg__runner *r, const surg_pass *pass);
/* Prints the model if the user wants to see it after this pass. */
void surg__print_after(surg__runner *r, const surg_pass *pass, bool changed);
/* Whether the pass must run in a child process. */
bool surg__runs_apart(const surg__runner *r, const surg_pass *pass);

/* --- apart.c --- */
/* As surg__run_pass, in a child process. The result replaces r->model, whose handles are then
 * invalid. */
surg_status surg__run_apart(surg__runner *r, const surg__pipeline_step *step, bool *changed);

/* Suppresses notes and warnings of the context; errors are still reported. For trial runs, whose
 * messages the real run repeats. `m` must outlive the suppression. */
typedef struct surg__mute {
  surg_context *ctx;
  surg_diag_fn diag;
  void *user;
} surg__mute;
void surg__mute_begin(surg_context *ctx, surg__mute *m);
void surg__mute_end(const surg__mute *m);

/* --- report.c --- */
/* Finds or adds the entry of a pass; false: out of memory. */
bool surg__report_entry(surg__run_report *report, const surg_pass *pass, size_t *index);
bool surg__report_count(surg__run_report *report, size_t index, const char *what, uint64_t by);
bool surg__report_note(surg__run_report *report, size_t index, const char *line);
/* Adds a copy of `one`; a repeated name is merged. False: out of memory. */
bool surg__report_undone(surg__run_report *report, const surg__undone *one);
/* Removes the nodes that the last call of the step left undone, as the step now runs again. */
void surg__report_begin(surg__run_report *report, const surg__pipeline_step *step);
/* Removes the counters of a pass and all that a step reported as undone: what the step reports in
 * another process replaces them. */
void surg__report_forget(surg__run_report *report, size_t index, const surg__pipeline_step *step);
/* Ends a run: removes the names that were found. */
void surg__report_end(surg__run_report *report);

/* --- rows (report_rows.c) --- */

struct json_t;
/* Frees the rows of a report. */
void surg__rows_free(surg_context *ctx, surg__pass_report *r);
/* Prints the rows in columns. */
void surg__rows_print(const surg__pass_report *r, surg__buf *out);
/* Adds "tables", an array of objects for each table, and "row_count". */
void surg__rows_json(surg_context *ctx, const surg__pass_report *r, struct json_t *all);

#endif
