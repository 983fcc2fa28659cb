/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands share: exit codes, the context with its printer, common options, text. */
#ifndef SURG_CLI_H
#define SURG_CLI_H

#include <getopt.h>
#include <jansson.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/repair.h>
#include <stdio.h>

#include "base/base.h"

enum {
  EXIT_DONE = 0,
  EXIT_MODEL = 1,
  EXIT_USAGE = 2,
  EXIT_IO = 3,
  EXIT_LIMIT = 4,
  EXIT_INTERNAL = 5,
  EXIT_UNKNOWN = 6 /* of an engine: support unknown */
};

/* The exit code that a failure of the library stands for. */
int cli_exit_code(surg_status status);

#define CLI_SCHEMAS 32 /* most of --schema */

/* Options that every command takes. */
typedef struct cli_common {
  bool quiet, json, summary;
  uint64_t max_memory, timeout_seconds;
  uint32_t max_depth;
  surg_load_options load;
  const char *schemas[CLI_SCHEMAS]; /* files of --schema that hold */
  size_t n_schemas;
} cli_common;

/* A context that prints diagnostics on standard error: errors always, notes and warnings unless
 * quiet. NULL after a line when memory is short. */
surg_context *cli_context(const cli_common *common);
/* Whether memory of the context ran out since it was made, so that what was built for output may
 * lack something; then after a line. */
bool cli_out_of_memory(surg_context *ctx);

/* Loads a model leniently: with its defects as findings, and without data files that are missing.
 * The commands that show or mend a model take what comes. */
surg_status cli_load_any(surg_context *ctx, const cli_common *common, const char *path,
                         surg_model **out);
/* The same for commands that make something of a model: one with an error finding is refused. */
surg_status cli_load(surg_context *ctx, const cli_common *common, const char *path,
                     surg_model **out);

/* "12", "4KiB", "1.5GiB"-less: whole numbers with an optional KiB, MiB, GiB. */
bool cli_number(const char *text, uint64_t *out);
/* A number that is not negative, such as a tolerance. */
bool cli_real(const char *text, double *out);
/* The graver of two exit codes: unknown is graver than done and less than everything else. */
int cli_worse(int a, int b);
/* One line on standard error that ends in "try `onnxsurg --help`"; returns EXIT_USAGE. */
int cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A line on standard error; returns EXIT_LIMIT. */
int cli_no_memory(void);
/* Untrusted text, escaped, to a stream. */
void cli_put(FILE *f, const char *text);
/* The same as a heap string of at most `max` bytes of it (0: all); NULL: out of memory. */
char *cli_escaped(const char *text, size_t max);
/* Words of `text` in lines of at most CLI_WIDTH and a newline; the first line starts after `start`
 * columns, the others are indented. */
#define CLI_WIDTH 80
void cli_put_wrapped(surg__buf *b, const char *text, size_t start, size_t indent);
/* As a JSON string; what is not UTF-8 (only paths can be) is escaped. */
json_t *cli_text_json(const char *text);
/* Prints and frees. */
void cli_print_json(json_t *j);
/* EXIT_IO after a line when the folder in which `path` should be made is not there. */
int cli_check_folder(const char *path);
/* EXIT_IO after a line when `dir`, which the option (or NULL) names, is no folder; `make`: where it
 * is not there the line says how to make it. */
int cli_need_folder(const char *dir, const char *option, bool make);
/* The name of a file without its folders. */
const char *cli_base_name(const char *path);
/* Flushes standard output; EXIT_IO after a line when that fails. */
int cli_flush(int code);

/* From now on the first Ctrl-C or SIGTERM only makes cli_interrupted true; the second ends the
 * program. */
void cli_stop_on_signals(void);
bool cli_interrupted(void *user); /* user: unused; for callbacks of the library */
/* Seconds as milliseconds, UINT64_MAX where they are too many. */
uint64_t cli_milliseconds(uint64_t seconds);

/* A line on a terminal for work that takes over half a second: what is done now. `what` must
 * outlive the run. Clear it before printing anything else. */
void cli_progress_start(const char *what);
void cli_progress(const char *what);
void cli_progress_clear(void);
void cli_progress_stop(void);

/* Budgets of commands that run models. */
#define CLI_RUN_BYTES (UINT64_C(1) << 32)  /* of the results of one node */
#define CLI_RUN_WORK (UINT64_C(1) << 42)   /* operations of a run */
#define CLI_RUN_TURNS (UINT64_C(1) << 24)  /* of all loops of a run */
#define CLI_CHECK_WORK (UINT64_C(1) << 36) /* ... where many runs are made on the way */
#define CLI_CHECK_TURNS (UINT64_C(1) << 20)
/* In a surg__proof_options. */
#define CLI_PROOF_BUDGET \
  .max_bytes = CLI_RUN_BYTES, .max_work = CLI_CHECK_WORK, .max_turns = CLI_CHECK_TURNS
#define CLI_RUN_MEMORY (UINT64_C(8) << 30) /* values in flight count against the memory of a run */

/* `--dim NAME=N`; names stay where the arguments are. cli_dim_of is a surg__dim_of. */
typedef struct cli_dims {
  surg_size *items;
  size_t n;
} cli_dims;
bool cli_dims_take(cli_dims *d, char *arg);
bool cli_dim_of(void *user, const char *symbol, int64_t *out);
void cli_dims_free(cli_dims *d);

/* The text of a file, to free(), of at most `most` bytes and one more where it is longer. An exit
 * code after a line when it cannot be read. */
int cli_read_text(const char *path, size_t most, char **text, size_t *n);
/* Reads custom operators into the context: EXIT_DONE, or another code after a line. */
int cli_schemas_load(surg_context *ctx, const char *path);
/* The same with all files of --schema, for contexts that cli_context does not make. */
int cli_schemas(surg_context *ctx, const cli_common *common);
/* Appends passes to pipeline text: those that `--opset N` and `--opset DOMAIN=N` stand for, and
 * that of `--ir` (or NULL). EXIT_USAGE after a line. */
int cli_moves(surg__buf *to, const char *const *opsets, size_t n, const char *ir);
struct surg__run_options;
/* `--external-data NAME`. */
int cli_take_external(surg_save_options *save, const char *name);
/* `--allow CLASS`. */
int cli_take_allow(struct surg__run_options *run, const char *word);
/* Reads rewrite rules into the context: EXIT_DONE, or another code after a line. */
int cli_rules_load(surg_context *ctx, const char *path);

/* Common options by their getopt values; every command puts CLI_COMMON_OPTIONS in its table. */
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
  OPT_HELP,
  OPT_OWN /* a command's own start here */
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
      {"freeze-inputs", no_argument, NULL, OPT_FREEZE_INPUTS}, {                  \
    "help", no_argument, NULL, OPT_HELP                                           \
  }

/* Arguments of an option that may stand again; the strings stay where they are. */
typedef struct cli_words {
  const char **items;
  size_t n;
} cli_words;
int cli_words_take(cli_words *w, const char *word); /* EXIT_DONE, or EXIT_LIMIT after a line */

/* Whether a word of --dim fixes a size ("N=4"); else it is an assumption ("N=1..64", "N%8"). */
bool cli_is_size(const char *dim);
/* The fixed sizes among `dims`, and `shapes` (of --input-shape), as the pass that fixes them;
 * nothing where there are none. EXIT_DONE, or another code after a line. */
int cli_sizes(surg__buf *to, const cli_words *dims, const cli_words *shapes);

/* What `take` returns when the option was all that was asked for, as with --help. */
#define CLI_STOP (-2)

/* The options of a command. */
typedef struct cli_command {
  const struct option *options; /* its own, CLI_COMMON_OPTIONS, and an empty one */
  const char *letters;          /* those of one letter, as for getopt; NULL: none */
  const char *help;             /* NULL: `take` answers OPT_HELP */
  /* Takes an option of its own: EXIT_DONE, CLI_STOP, or another code after a line. NULL where the
   * command has none. */
  int (*take)(void *user, int option, char *argument);
  void *user;
  cli_common *common; /* is set up, and takes the common ones */
} cli_command;
/* Takes all options. True: the command is to be done, its arguments start at argv[optind]. False:
 * there is nothing more to do, and *code is the exit code. */
bool cli_options(int argc, char **argv, const cli_command *c, int *code);

/* What a model holds, for summaries and `info`. */
typedef struct cli_op_count {
  const char *domain, *op;
  size_t count;
  surg_op_class op_class; /* of the first one */
  bool control;           /* runs subgraphs */
} cli_op_count;
typedef struct cli_stats {
  size_t nodes; /* with subgraphs and functions */
  size_t subgraphs, functions, initializers;
  uint64_t parameters, weight_bytes; /* of initializers and constants */
  cli_op_count *ops;                 /* by count, then name; strings are heap copies */
  size_t op_count;
} cli_stats;
bool cli_stats_of(const surg_model *m, cli_stats *out);
void cli_stats_free(cli_stats *s);
int cli_by_operator(const void *a, const void *b); /* qsort: cli_op_count by name, then domain */
/* {"Conv": 3, "com.acme.Foo": 1}, by count. */
json_t *cli_ops_json(const cli_stats *s);
void cli_add_op_json(json_t *all, const cli_op_count *op);
/* "2.5 MiB" into one of a few rotating buffers. */
const char *cli_bytes(uint64_t n);
/* "812", "4.09 G": three digits and a thousand, million, ... likewise. */
const char *cli_count(uint64_t n);

int cmd_surgery(int argc, char **argv);
/* argv[0] names a pass or preset; -1: it does not. */
int cmd_pass(int argc, char **argv);
/* The built-in pass whose name is nearest to `word`, or NULL. */
const char *cmd_pass_nearest(const char *word);
int cmd_cat(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_isolate(int argc, char **argv);
int cmd_ops(int argc, char **argv);
int cmd_passes(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_reduce(int argc, char **argv);
int cmd_repair(int argc, char **argv);
int cmd_rules(int argc, char **argv);
int cmd_targets(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_verify(int argc, char **argv);

#endif
