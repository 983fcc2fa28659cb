/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all commands: exit codes, the context that prints diagnostics, common options, text. */
#ifndef SURG_CLI_H
#define SURG_CLI_H

#include <getopt.h>
#include <jansson.h>
#include <onnxsurg/context.h>
#include <onnxsurg/info.h>
#include <onnxsurg/names.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/repair.h>
#include <onnxsurg/run.h>
#include <stdio.h>

#include "errors.h"
#include "text.h"

#define CLI_COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CLI_NAME_PRINT 120u /* most bytes of a name that are printed */

enum {
  EXIT_DONE = 0,
  EXIT_MODEL = 1,
  EXIT_USAGE = 2,
  EXIT_IO = 3,
  EXIT_LIMIT = 4,
  EXIT_INTERNAL = 5,
  EXIT_UNKNOWN = 6 /* support by the target is unknown */
};

/* The exit code for a status of the library. */
int cli_exit_code(surg_status status);

#define CLI_SCHEMAS 32     /* most --schema files */
#define CLI_PLUGINS 32     /* most --plugin files */
#define CLI_JOBS_MOST 256u /* most models at a time */

#ifdef __EMSCRIPTEN__
#define CLI_DEPTH_MOST 400u /* the stack of WebAssembly cannot grow */
#else
#define CLI_DEPTH_MOST SURG_DEPTH_MOST
#endif

/* Options that every command accepts. */
typedef struct cli_common {
  bool quiet, json, summary, isolate_plugins;
  uint64_t max_memory, timeout_seconds;
  uint32_t max_depth, jobs; /* jobs: models at a time; 0: --jobs is not given */
  surg_load_options load;
  const char *schemas[CLI_SCHEMAS]; /* --schema files loaded so far */
  size_t n_schemas;
  const char *plugins[CLI_PLUGINS]; /* --plugin files loaded so far */
  size_t n_plugins;
  const surg_pass *pass; /* the pass that is the command; messages spell its options so; or NULL */
} cli_common;

/* Creates a context that prints diagnostics on standard error: errors always, notes and warnings
 * unless --quiet is given. Returns NULL after printing an error when memory runs out. */
surg_context *cli_context(const cli_common *common);
/* Whether the context ever ran out of memory, so that generated output may be incomplete. Prints
 * an error if so. */
bool cli_out_of_memory(surg_context *ctx);

/* Loads a model leniently: defects become findings, and missing data files are no error. For
 * commands that inspect or mend a model. */
surg_status cli_load_any(surg_context *ctx, const cli_common *common, const char *path,
                         surg_model **out);
/* As cli_load, for commands that run a model: fails if weights are missing. */
surg_status cli_load_whole(surg_context *ctx, const cli_common *common, const char *path,
                           surg_model **out);
/* As cli_load_any, for commands that transform a model: fails if any finding is an error. */
surg_status cli_load(surg_context *ctx, const cli_common *common, const char *path,
                     surg_model **out);

/* Parses a non-negative integer with an optional unit: "12", "4KiB", "3MiB", "1GiB". No
 * fractions. */
bool cli_number(const char *text, uint64_t *out);
/* Parses a non-negative real number, such as a tolerance. */
bool cli_real(const char *text, double *out);
/* The more severe of two exit codes. "Support unknown" ranks above success and below all others. */
int cli_worse(int a, int b);
/* Names the command for the end of usage errors, where no help text does. */
void cli_command_named(const char *name);
/* Prints a usage error that ends in "try `onnxsurg --help`". Returns EXIT_USAGE. */
int cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints "WHERE: warning: TEXT" unless --quiet is given. `text` is escaped already. `common` may be
 * NULL for a warning that --quiet does not silence. */
void cli_warn(const cli_common *common, const char *where, const char *text);
/* Prints an out-of-memory error. Returns EXIT_LIMIT. */
int cli_no_memory(void);
/* Writes untrusted text to a stream, escaped. */
void cli_put(FILE *f, const char *text);
/* The escaped text of at most `max` bytes (0: all), for the caller to free. NULL: out of memory. */
char *cli_escaped(const char *text, size_t max);
/* A JSON string. Bytes that are not UTF-8 (only paths contain them) are escaped. */
json_t *cli_text_json(const char *text);
/* Prints a JSON value and frees it. */
void cli_print_json(json_t *j);
/* Fails with EXIT_IO, after printing an error, when the folder that would contain `path` is
 * missing. */
int cli_check_folder(const char *path);

/* Rejects --certificate of files that tools/certify cannot read, before a run. `one`: there is one
 * model, and it is written; certificate, out: NULL if not given. */
int cli_check_certificate(const char *certificate, bool one, const char *in, const char *out);
/* Makes all folders that `path` names before its last `/`; returns 0 or an errno. */
int cli_make_folders(const char *path);
/* Fails with EXIT_IO, after printing an error, when `dir` is not a folder. `option` is the
 * option that names it, or NULL; with `make` a missing folder is made. */
int cli_need_folder(const char *dir, const char *option, bool make);
/* The last component of a path. */
const char *cli_base_name(const char *path);
/* Flushes standard output and returns `code`. If writing failed, prints an error and returns
 * EXIT_IO in place of EXIT_DONE. */
int cli_flush(int code);

/* Installs signal handlers: the first SIGINT (Ctrl-C) or SIGTERM makes cli_interrupted true, the
 * second one ends the program. */
void cli_stop_on_signals(void);
/* States that an error is printed next, and whether that was stated: the end of time is then not
 * reported again. */
void cli_reports(void);
bool cli_reported(void);
/* Ends the program with EXIT_LIMIT when --timeout has passed from now on, in any phase, unless an
 * output was written before. cli_options does it for commands; one that works on several models
 * does it again for each. */
void cli_limit_time(const cli_common *c);
/* Ends the time limit, for a command that sets one for each of its models. */
void cli_unlimit_time(void);
bool cli_interrupted(void *user); /* user: unused; a callback of the library */
/* Converts seconds to milliseconds; UINT64_MAX on overflow. */
uint64_t cli_milliseconds(uint64_t seconds);

/* Shows a progress line on a terminal once work lasts over half a second. `what` describes the
 * current step and must outlive the run. Call cli_progress_clear before printing anything else. */
void cli_progress_start(const char *what);
void cli_progress(const char *what);
void cli_progress_clear(void);
void cli_progress_stop(void);

/* Budgets of commands that run models; others are the library's. */
#define CLI_CHECK_TURNS \
  (UINT64_C(1) << 20) /* iterations of all loops, for commands with many runs */
#define CLI_RUN_MEMORY (UINT64_C(8) << 30) /* memory limit of a run; live values count */

/* The values of `--dim NAME=N`. Names point into the argument strings. */
typedef struct cli_dims {
  surg_size *items;
  size_t n;
} cli_dims;
bool cli_dims_take(cli_dims *d, char *arg);
void cli_dims_free(cli_dims *d);

/* Reads a file, or standard input for "-", into *text, for the caller to free. Reads at most
 * `most` + 1 bytes; *n above `most` means that the file is too long. Returns an exit code, after
 * printing an error if reading failed. */
int cli_read_text(const char *path, size_t most, char **text, size_t *n);
/* Loads definitions of custom operators into the context. Returns EXIT_DONE, or another exit
 * code after printing an error. */
int cli_schemas_load(surg_context *ctx, const char *path);
/* Loads all --schema and --plugin files into a context that cli_context did not create. */
int cli_schemas(surg_context *ctx, const cli_common *common);
/* Loads the plugins that arguments name, before options are parsed; reports nothing. */
void cli_plugins_ahead(surg_context *ctx, int argc, char **argv);
/* Appends a word as a pipeline spells it. `word` NULL: as if memory ran out. */
void cli_put_word(surg_context *ctx, cli_text *to, const char *word);
/* Appends to pipeline text the passes for `--opset N` and `--opset DOMAIN=N`, and the one for
 * `--ir` (`ir`, or NULL). Returns EXIT_USAGE after printing an error. */
int cli_moves(surg_context *ctx, cli_text *to, const char *const *opsets, size_t n, const char *ir);
/* Applies `--external-data NAME`. */
int cli_take_external(surg_save_options *save, const char *name);
/* Applies `--allow CLASS`. */
int cli_take_allow(surg_run_options *run, const char *word);
/* Loads rewrite rules into the context. Returns EXIT_DONE, or another exit code after printing
 * an error. */
int cli_rules_load(surg_context *ctx, const char *path);

/* Values that getopt returns for the common options. The option table of every command contains
 * CLI_COMMON_OPTIONS. */
enum {
  OPT_QUIET = 1000,
  OPT_JSON,
  OPT_MAX_MEMORY,
  OPT_MAX_DEPTH,
  OPT_TIMEOUT,
  OPT_NO_EXTERNAL,
  OPT_STRICT_EXTERNAL,
  OPT_EXTERNAL_ROOT,
  OPT_FREEZE_INPUTS,
  OPT_SUMMARY,
  OPT_SCHEMA,
  OPT_PLUGIN,
  OPT_ISOLATE_PLUGINS,
  OPT_HELP,
  OPT_FIX_DIM, /* of CLI_SIZE_OPTIONS */
  OPT_FIX_SHAPE,
  OPT_JOBS, /* of CLI_JOBS_OPTION */
  OPT_OWN   /* first value free for a command's options */
};
#define CLI_COMMON_OPTIONS                                                        \
  {"quiet", no_argument, NULL, OPT_QUIET}, {"json", no_argument, NULL, OPT_JSON}, \
      {"summary", no_argument, NULL, OPT_SUMMARY},                                \
      {"max-memory", required_argument, NULL, OPT_MAX_MEMORY},                    \
      {"max-depth", required_argument, NULL, OPT_MAX_DEPTH},                      \
      {"timeout", required_argument, NULL, OPT_TIMEOUT},                          \
      {"no-external", no_argument, NULL, OPT_NO_EXTERNAL},                        \
      {"strict-external", no_argument, NULL, OPT_STRICT_EXTERNAL},                \
      {"external-root", required_argument, NULL, OPT_EXTERNAL_ROOT},              \
      {"schema", required_argument, NULL, OPT_SCHEMA},                            \
      {"plugin", required_argument, NULL, OPT_PLUGIN},                            \
      {"isolate-plugins", no_argument, NULL, OPT_ISOLATE_PLUGINS},                \
      {"freeze-inputs", no_argument, NULL, OPT_FREEZE_INPUTS}, {                  \
    "help", no_argument, NULL, OPT_HELP                                           \
  }

/* `--jobs N`, a common option of the commands that work on several models (fleet.h). */
#define CLI_JOBS_OPTION \
  { "jobs", required_argument, NULL, OPT_JOBS }
#define CLI_JOBS_HELP                                                               \
  "  --jobs N            process N models at a time (1; 0: one per processor); a\n" \
  "                      folder means the .onnx files in it (doc/fleets.md)\n"

/* Arguments of an option that may be repeated. Points into the argument strings. */
typedef struct cli_words {
  const char **items;
  size_t n;
} cli_words;
int cli_words_take(cli_words *w, const char *word); /* or EXIT_LIMIT, with an error */

/* Whether a --dim argument fixes a size ("N=4"). All others are assumptions ("N=1..64", "N%8"). */
bool cli_is_size(const char *dim);
/* Appends the pass `freeze` that fixes the sizes in `dims` and `shapes` (of --input-shape), or
 * nothing if there are none. Returns EXIT_DONE, or another exit code after printing an error. */
int cli_sizes(surg_context *ctx, cli_text *to, const cli_words *dims, const cli_words *shapes);

/* Sizes of inputs that a command fixes before it does anything else: `--dim` and
 * `--input-shape` of the commands whose option table contains CLI_SIZE_OPTIONS, or CLI_SHAPE_OPTION
 * alone. cli_fixed_take returns EXIT_DONE, or another exit code after printing an error. */
typedef struct cli_fixed {
  cli_words dims, shapes;
} cli_fixed;
#define CLI_SHAPE_OPTION \
  { "input-shape", required_argument, NULL, OPT_FIX_SHAPE }
#define CLI_SIZE_OPTIONS {"dim", required_argument, NULL, OPT_FIX_DIM}, CLI_SHAPE_OPTION
#define CLI_SHAPE_HELP                                                         \
  "  --input-shape NAME:SIZE,...\n"                                            \
  "                      fix the shape of an input; ? leaves a dimension as\n" \
  "                      it is\n"
#define CLI_SIZE_HELP                                                          \
  "  --dim NAME=N        fix a dimension of the inputs; NAME is a symbol or\n" \
  "                      input.axis\n" CLI_SHAPE_HELP
int cli_fixed_take(cli_fixed *f, int option, const char *arg);
/* Runs `freeze` on the model with these sizes. Returns EXIT_DONE, or another exit code after
 * printing an error. *m is NULL after a failure of the run. */
int cli_fixed_apply(surg_context *ctx, surg_model **m, const cli_fixed *f);
/* Appends to `to` what the shapes fix in dimensions of m that are open, as "input.axis" sizes; the
 * names are in *names, for the caller to free with cli_fixed_free_names. Returns EXIT_DONE, or
 * EXIT_USAGE after printing that m has no such input or contradicts a size. */
int cli_fixed_sizes(const surg_model *m, const cli_words *shapes, cli_dims *to, cli_words *names);
void cli_fixed_free_names(cli_words *names);
void cli_fixed_free(cli_fixed *f);

/* Returned by `take` when the option completes the command, as --help does. */
#define CLI_STOP (-2)

/* The options of a command. */
typedef struct cli_command {
  const struct option *options; /* own options, CLI_COMMON_OPTIONS, an empty one */
  const char *letters;          /* short options, as for getopt; NULL: none */
  const char *help;             /* NULL: `take` handles OPT_HELP */
  /* Applies an option of the command: EXIT_DONE, CLI_STOP, or another exit code after printing
   * an error. NULL if the command has no options of its own. */
  int (*take)(void *user, int option, char *argument);
  void *user;
  cli_common *common; /* initialized here; receives the common options */
  bool ends_itself;   /* --timeout ends the search and keeps what it found */
  const char *name;   /* for the hint "try `onnxsurg NAME --help`"; NULL: the one in `help` */
} cli_command;
/* Parses all options. Returns true if the command must run; its arguments start at argv[optind].
 * Returns false if the command is finished, with its exit code in *code. */
bool cli_options(int argc, char **argv, const cli_command *c, int *code);

/* Operator counts and sizes of a model, for summaries and `info`. */
typedef struct cli_op_count {
  const char *domain, *op;
  size_t count;
  surg_op_class op_class; /* class of the first such node */
  bool control;           /* has subgraphs */
} cli_op_count;
typedef struct cli_stats {
  size_t nodes; /* including subgraphs and functions */
  size_t subgraphs, functions, initializers;
  uint64_t parameters, weight_bytes; /* of initializers and constants */
  cli_op_count *ops;                 /* by count, then name */
  size_t op_count;
  surg_stats *counts; /* owns the strings */
} cli_stats;
bool cli_stats_of(const surg_model *m, cli_stats *out);
void cli_stats_free(cli_stats *s);
int cli_by_operator(const void *a, const void *b); /* for qsort: cli_op_count by name, then
                                                    * domain */
/* A JSON object such as {"Conv": 3, "com.acme.Foo": 1}, in order of count. */
json_t *cli_ops_json(const cli_stats *s);
void cli_add_op_json(json_t *all, const cli_op_count *op);
/* Formats a size in bytes ("2.5 MiB"). Returns one of a few static buffers that later calls
 * reuse. */
const char *cli_bytes(uint64_t n);
/* Formats a count with three digits and a unit of thousands, millions, ... ("812", "4.09 G").
 * Returns a static buffer, as cli_bytes. */
const char *cli_count(uint64_t n);

int cmd_surgery(int argc, char **argv);
/* Runs the pass or preset named argv[0]. Returns an exit code, or -1 if there is none of that
 * name. */
int cmd_pass(int argc, char **argv);
/* Whether a pass or preset has this name, also one of a plugin that the arguments name. */
bool cmd_pass_known(const char *word, int argc, char **argv);
/* The built-in pass with the most similar name, or NULL. */
const char *cmd_pass_nearest(const char *word);
int cmd_bisect(int argc, char **argv);
int cmd_cat(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_data(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_edit(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_find(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_isolate(int argc, char **argv);
int cmd_nodes(int argc, char **argv);
int cmd_ops(int argc, char **argv);
int cmd_passes(int argc, char **argv);
int cmd_patch(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_reduce(int argc, char **argv);
int cmd_repair(int argc, char **argv);
int cmd_rules(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_split(int argc, char **argv);
int cmd_strip(int argc, char **argv);
int cmd_targets(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_weights(int argc, char **argv);

#endif
