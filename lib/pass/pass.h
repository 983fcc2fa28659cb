/* SPDX-License-Identifier: Apache-2.0 */
/* Registry, pipelines, runner and plugins: the internal interface that the tools use in addition to
 * the public API. */
#ifndef SURG_PASS_INTERNAL_H
#define SURG_PASS_INTERNAL_H

#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/run.h>

#include "base/base.h"

/* --- registry (registry.c): passes in order of registration, and presets --- */

/* The registry of the context, created on first use. NULL: out of memory. */
surg_registry *surg__registry(surg_context *ctx);
size_t surg__pass_count(const surg_registry *r);
const surg_pass *surg__pass_at(const surg_registry *r, size_t i);
/* The pass with this name, or with this former name; NULL: none. */
const surg_pass *surg__pass_find(const surg_registry *r, const char *name);
/* The name of the plugin that registered a pass; NULL: a built-in pass. */
const char *surg__pass_origin(const surg_registry *r, const surg_pass *pass);

/* A preset is a named pipeline. Strings are borrowed and must outlive the context. */
typedef struct surg__preset {
  const char *name, *pipeline, *help;
} surg__preset;
surg_status surg__register_preset(surg_registry *r, const surg__preset *preset);
size_t surg__preset_count(const surg_registry *r);
const surg__preset *surg__preset_at(const surg_registry *r, size_t i);

/* The name of a built-in pass in an earlier version, and its current name. */
typedef struct surg__former {
  const char *former, *name;
} surg__former;
/* The table is borrowed and must outlive the context. */
void surg__register_former(surg_registry *r, const surg__former *table, size_t count);

/* Registers the passes of passes/passes.def and the presets of passes/presets.def. Defined in
 * passes/builtin.c, so that lib/ does not depend on any pass by name. */
surg_status surg__register_builtins(surg_registry *r);

/* --- plugins (plugin.c) --- */

/* Loads a plugin once, permanently, and registers its passes. A path without '/' is relative to the
 * working folder. SURG_EPLUGIN with one located line: missing file, no entry function, other ABI,
 * duplicate pass, failed init. */
surg_status surg__plugin_load(surg_context *ctx, const char *path);

/* --- pipelines (pipeline.c) --- */

typedef surg_pipeline surg__pipeline;
/* Parses `fold{max-growth=1MiB},repeat{max=8}(simplify,prune)`; '' is valid and does nothing.
 * `where` ("--pass", or the file name) and the column are in the diagnostic. SURG_EUSAGE: invalid
 * text, unknown names, options or values. */
surg_status surg__pipeline_parse(surg_context *ctx, const char *text, const char *where,
                                 surg__pipeline **out);
void surg__pipeline_free(surg__pipeline *p);
/* Prints the canonical text: presets are expanded, given options are included. It parses to the
 * same pipeline. */
void surg__pipeline_print(const surg__pipeline *p, surg__buf *out);
/* Appends a word as pipeline text, quoted if necessary. For tools that build pipelines. */
void surg__pipeline_quote(surg__buf *out, const char *word);
/* Appends the name of a pair, quoted if necessary, and prefixed with the option (`attribute.to`) if
 * another option of the pass has this name. */
void surg__pipeline_put_pair_name(surg__buf *out, const surg_pass *pass, const char *option,
                                  const char *name);
/* Removes passes by name, and groups that become empty. SURG_EUSAGE, located at `where`: unknown
 * pass. */
surg_status surg__pipeline_leave_out(surg__pipeline *p, const char *where, const char *const *names,
                                     size_t n);
/* Whether the pipeline contains guard{saved}. */
bool surg__pipeline_spends(const surg__pipeline *p);
/* Whether the pipeline contains a pass, also inside groups. */
bool surg__pipeline_has(const surg__pipeline *p, const char *pass);

/* --- runner (runner.c) --- */

/* Called after a pass that print_after selects, with the current model. */
typedef void (*surg__print_fn)(void *user, const char *pass, surg_model *model);

typedef struct surg__pass_report surg__pass_report;

/* The effect of a pass on a clone of the model, before the pass runs on the model itself. Both
 * models are borrowed from the runner. The callback sets *keep to false to skip the pass; a status
 * other than SURG_OK fails the run. */
typedef struct surg__trial {
  const surg_pass *pass;
  const char *title; /* for messages */
  surg_model *before, *after;
  surg_exactness used, worst; /* worst class of this run of the pass; and including all passes
                               * before it */
  bool interface;             /* names of model inputs or outputs changed */
} surg__trial;
typedef surg_status (*surg__trial_fn)(void *user, const surg__trial *t, bool *keep);

/* Options of a run. All zero: run, and verify after passes of plugins only. Lists are of
 * NUL-terminated strings and borrowed. */
typedef struct surg__run_options {
  bool verify_each; /* verify after every pass; after those of plugins always */
  bool dry_run;     /* run on a clone; *model is unchanged */
  bool has_rewrite_limit;
  uint64_t rewrite_limit;  /* most rewrites of the whole run; reaching it is no failure */
  const char *const *skip; /* passes to skip; unknown names are SURG_EUSAGE */
  size_t n_skip;
  const char *const *keep; /* NAME, /regex/ (POSIX extended) or op=TYPE: protected from passes */
  size_t n_keep;
  bool keep_weights; /* weights keep their names, and are not folded */
  bool unchecked_edits; /* as in surg_run_options */
  bool isolate_plugins; /* passes of plugins run in child processes */
  const char *const *print_after; /* pass names, or "changed": every pass that changed the model */
  size_t n_print_after;
  surg__print_fn print;
  void *print_user;
  void (*progress)(void *user, const char *pass); /* called before each pass; the name is static */
  void *progress_user;
  bool (*cancel)(void *user); /* true ends the run, as the timeout does; NULL: never */
  void *cancel_user;
  const char *log_path; /* JSON lines: passes, rewrites, notes; NULL: none */
  const char *map_path; /* JSON: map from old to new names; NULL: none */
  const char *certificate_path; /* as in surg_run_options */
  uint64_t timeout_ms;  /* 0: none; SURG_ELIMIT when exceeded */
  uint64_t max_memory;  /* 0: the limit of the context */
  uint64_t max_growth;  /* as in surg_run_options */
  const char *const *dims; /* assumptions about symbolic dimensions; see surg_model_assume_dim */
  size_t n_dims;
  const char *const *ranges; /* assumptions about values; see surg_model_assume_range */
  size_t n_ranges;
  bool trust_declared; /* see surg_model_trust_declared */
  bool has_allow;      /* else SURG_ROUNDING, or the limits of allow{...} groups */
  surg_exactness allow; /* worst class of rewrites */
  /* If set, a pass runs on a clone first, and on the model only if the trial keeps it. */
  surg__trial_fn trial; /* NULL: no trials */
  void *trial_user;
  bool trial_all; /* try every pass; else only those that may change the interface */
} surg__run_options;

typedef struct surg__counter {
  char *what;
  uint64_t n;
} surg__counter;

/* A cell of surg__row. */
typedef struct surg__cell {
  const char *name;
  char *text; /* NULL: `number` */
  double number;
} surg__cell;

/* A row of a report: surg_pass_row. */
typedef struct surg__row {
  const char *table;
  surg__cell *cells;
  size_t n;
} surg__row;

/* The report on one pass, over all its runs. */
struct surg__pass_report {
  const surg_pass *pass;
  uint64_t runs, ns, rewrites; /* calls by the runner (not of run()), time in ns, accepted
                                * surg_pass_allow() calls */
  bool changed;
  surg_exactness used; /* worst class of its changes */
  SURG_VEC(surg__counter) counters;
  SURG_VEC(char *) notes; /* located lines, at most SURG__NOTES */
  uint64_t n_notes;
  SURG_VEC(surg__row) rows; /* at most SURG__NOTES */
  uint64_t n_rows;
};

#define SURG__NOTES 1000u

/* A request of the user that was not met: a name that does not exist, or a node that a pass left
 * unchanged. During a run the list also contains names that were found. */
typedef struct surg__undone {
  const struct surg__pipeline_step *step; /* step of the pipeline that reported it */
  const surg_pass *pass;
  char *text;  /* a line, located if it is about a node */
  bool node;   /* a node, valid for the last call of the step; else a name, for all its calls */
  bool found;  /* for a name: it exists */
} surg__undone;

/* The report on a run; free it with surg__run_report_free. */
typedef struct surg__run_report {
  surg_context *ctx;
  SURG_VEC(surg__pass_report) passes; /* in order of their first run */
  uint64_t ns, rewrites;
  SURG_VEC(surg__undone) undone; /* unmet requests; printed by surg__undone_print */
  uint64_t n_undone;  /* including those beyond SURG__NOTES */
  bool changed;       /* whether the model's epoch changed */
  bool limit_reached; /* work was left because of the rewrite limit */
  bool interface;     /* names of model inputs or outputs changed */
  bool grows;         /* work was left because a constant would have been duplicated */
  surg_exactness worst;
  const char *failed; /* name of the pass that failed, or NULL */
} surg__run_report;

/* The internal form of the options of a run, and of a report (public.c). */
surg__run_options surg__run_options_of(const surg_run_options *o);
const surg__run_report *surg__run_report_of(const surg_run_report *r);

/* SURG_OK if the lenient load left no open finding of severity error; else reports the first one
 * with its cure. */
surg_status surg__refuse_defects(surg_model *m);
/* Runs a pipeline. On success *model is the result. On failure one located line is reported, and
 * *model is freed and set to NULL (with dry_run it is kept): SURG_EPLUGIN or SURG_EINTERNAL if a
 * pass left an invalid model or reported "unchanged" after a change, SURG_EINVALID if a pass
 * rejected the model, SURG_ELIMIT and SURG_ENOMEM for limits, SURG_EIO for log and map, SURG_EUSAGE
 * for options. `report` may be NULL; else it is filled in also on failure, and freed with
 * surg__run_report_free. */
surg_status surg__run(surg_model **model, const surg__pipeline *pipeline,
                      const surg__run_options *options, surg__run_report *report);
/* The number of nodes in all graphs except Constant nodes, which are used instead of initializers
 * in functions and old files. */
uint64_t surg__node_count(const surg_model *m);
void surg__run_report_free(surg__run_report *report);
/* Prints the text of --stats and --time-passes: one line for each pass, with its counters and
 * notes. */
void surg__run_report_print(const surg__run_report *report, bool stats, bool time, surg__buf *out);
/* Prints the report as one JSON object, for --json. */
void surg__run_report_json(const surg__run_report *report, surg__buf *out);
/* Prints `pass "map-op": the model has no node of operator acme.Foo`, escaped. */
void surg__undone_print(const surg__undone *u, surg__buf *out);
const char *surg__exactness_name(surg_exactness e); /* "exact" "ulp" "rounding" ... */
bool surg__exactness_from_name(const char *name, surg_exactness *out);

/* --- consent (context.c) --- */
/* The worst class of rewrites that the pass may use now. */
surg_exactness surg__pass_limit(const surg_pass_ctx *p);
/* Whether the user set a limit for the pass. Without one, rules that the user wrote need no
 * consent. */
bool surg__pass_limited(const surg_pass_ctx *p);
/* As surg_pass_used, for a rule that the user wrote. */
void surg__pass_used_own(surg_pass_ctx *p, surg_exactness e);
/* surg_model_shelter at the first call by a pass; later calls keep the marks. They stay valid for
 * the next graph, as they do within one, if what the pass edits keeps all values and no marked
 * node changes: the other nodes were searched with what is known of their inputs. A search after
 * each graph would be quadratic in the number of graphs. */
surg_status surg__pass_shelter(surg_pass_ctx *p);

/* --- check_each.c: compares the original model with the result by running both --- */

/* How to compare the results, and the limits of one computation. */
typedef struct surg__proof_options {
  unsigned seeds;
  bool each;   /* compare after every pass; passes that change results are skipped */
  double rtol; /* relative tolerance of floats; negative: derived from the exactness classes of the
                * passes */
  uint64_t max_bytes, max_work, max_turns;
  void (*progress)(void *user, const char *what);
  void *progress_user;
  bool (*cancel)(void *user); /* once it is true it must stay true; NULL: never */
  void *cancel_user;
} surg__proof_options;

/* The result of the comparison. */
typedef struct surg__proof {
  unsigned checked, skipped; /* numbers of input sets */
  char why[250];             /* the reason why input sets were skipped */
  unsigned silent;           /* outputs whose comparison proves nothing, over all segments */
  char silent_why[250];      /* the first such output and the reason */
  unsigned left_out;         /* runs of passes that were skipped */
} surg__proof;

/* As surg__run, and compares results. SURG_EINVALID, reported with the pass, if outputs differ;
 * *model is then freed and NULL. A model that cannot be run is no failure: proof->checked is 0. */
surg_status surg__run_proven(surg_model **model, const surg__pipeline *pipeline,
                             const surg__run_options *options, const surg__proof_options *how,
                             surg__run_report *report, surg__proof *proof);

/* --- the plugin table (api_table.c) --- */
const surg_api *surg__api(void);

#endif
