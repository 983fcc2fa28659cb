/* SPDX-License-Identifier: Apache-2.0 */
/* Registry, pipelines, runner and plugins: what the tools use beside the public API. */
#ifndef SURG_PASS_INTERNAL_H
#define SURG_PASS_INTERNAL_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"

/* --- registry (registry.c): passes in the order they were registered, and presets --- */

/* The registry of the context, made on first use. NULL: out of memory. */
surg_registry *surg__registry(surg_context *ctx);
size_t surg__pass_count(const surg_registry *r);
const surg_pass *surg__pass_at(const surg_registry *r, size_t i);
/* The pass of that name, or the pass that had this name formerly; NULL if there is none. */
const surg_pass *surg__pass_find(const surg_registry *r, const char *name);
/* The name of the plugin a pass came from; NULL for a built-in one. */
const char *surg__pass_origin(const surg_registry *r, const surg_pass *pass);

/* A preset is a pipeline under a name. Strings are borrowed and must outlive the context. */
typedef struct surg__preset {
  const char *name, *pipeline, *help;
} surg__preset;
surg_status surg__register_preset(surg_registry *r, const surg__preset *preset);
size_t surg__preset_count(const surg_registry *r);
const surg__preset *surg__preset_at(const surg_registry *r, size_t i);

/* A name that a built-in pass had in an earlier version. */
typedef struct surg__former {
  const char *former, *name;
} surg__former;
/* The table is borrowed and must outlive the context. */
void surg__register_former(surg_registry *r, const surg__former *table, size_t count);

/* Registers what passes/passes.def and passes/presets.def list. Defined in passes/builtin.c, so
 * that nothing in lib/ knows a pass by name. */
surg_status surg__register_builtins(surg_registry *r);

/* --- plugins (plugin.c) --- */

/* Loads a plugin, once, for good, and registers its passes. A path without '/' is taken in the
 * working folder. SURG_EPLUGIN with one located line: missing, no symbol, other ABI, duplicate
 * pass, init failed. */
surg_status surg__plugin_load(surg_context *ctx, const char *path);

/* --- pipelines (pipeline.c) --- */

typedef struct surg__pipeline surg__pipeline;
/* Parses `fold{max-growth=1MiB},repeat{max=8}(simplify,prune)`; '' is valid and does nothing.
 * `where` ("--pass", or the file the text is from) stands in the diagnostic, with the column.
 * SURG_EUSAGE for bad text, unknown names, options or values. */
surg_status surg__pipeline_parse(surg_context *ctx, const char *text, const char *where,
                                 surg__pipeline **out);
void surg__pipeline_free(surg__pipeline *p);
/* The canonical text: presets expanded, options as given. Parses back to the same pipeline. */
void surg__pipeline_print(const surg__pipeline *p, surg__buf *out);
/* Appends a word as pipeline text, quoted where it must be: for tools that build pipelines. */
void surg__pipeline_quote(surg__buf *out, const char *word);
/* The same for the name of a pair: with the name of the option in front (`attribute.to`) where
 * another option of the pass is called so. */
void surg__pipeline_put_pair_name(surg__buf *out, const surg_pass *pass, const char *option,
                                  const char *name);
/* Removes passes by name. SURG_EUSAGE, located at `where`: there is no such pass. */
surg_status surg__pipeline_leave_out(surg__pipeline *p, const char *where, const char *const *names,
                                     size_t n);
/* Whether a pass is scheduled anywhere in it. */
bool surg__pipeline_has(const surg__pipeline *p, const char *pass);

/* --- runner (runner.c) --- */

/* Called with the model as it is after a pass that print_after names. */
typedef void (*surg__print_fn)(void *user, const char *pass, surg_model *model);

typedef struct surg__pass_report surg__pass_report;

/* What a pass did to a copy of the model, before it may do it to the model. Both are the
 * runner's. *keep false: the pass is left out. Not SURG_OK: the
 * run fails. */
typedef struct surg__trial {
  const surg_pass *pass;
  const char *title; /* for messages */
  surg_model *before, *after;
  surg_exactness used, worst; /* by this run of the pass; with all before it */
  bool interface;             /* names of inputs or outputs changed */
} surg__trial;
typedef surg_status (*surg__trial_fn)(void *user, const surg__trial *t, bool *keep);

/* All zero: run and verify plugins only. Lists are of NUL-terminated strings, borrowed. */
typedef struct surg__run_options {
  bool verify_each; /* verify after every pass; after a plugin's always */
  bool dry_run;     /* on a clone; *model stays as it was */
  bool has_rewrite_limit;
  uint64_t rewrite_limit;  /* over the whole run; what is left undone is no failure */
  const char *const *skip; /* passes not to run; unknown names are SURG_EUSAGE */
  size_t n_skip;
  const char *const *keep; /* NAME, /regex/ (POSIX extended) or op=TYPE: protects from passes */
  size_t n_keep;
  bool keep_weights; /* weights stay under their names, and nothing is computed from them */
  const char *const *print_after; /* pass names, or "changed": each pass that changed anything */
  size_t n_print_after;
  surg__print_fn print;
  void *print_user;
  void (*progress)(void *user, const char *pass); /* before each pass; the text is static */
  void *progress_user;
  const char *log_path; /* JSON lines: passes, rewrites, notes; NULL: none */
  const char *map_path; /* JSON: old to new names; NULL: none */
  uint64_t timeout_ms;  /* 0: none; SURG_ELIMIT when passed */
  uint64_t max_memory;  /* 0: the context's */
  const char *const *dims; /* what may be assumed of symbols; see surg_model_assume_dim */
  size_t n_dims;
  const char *const *ranges; /* of values; see surg_model_assume_range */
  size_t n_ranges;
  bool trust_declared; /* see surg_model_trust_declared */
  bool has_allow;      /* else SURG_ROUNDING, and what a pipeline allows its parts */
  surg_exactness allow; /* the worst that rewrites may be */
  /* Passes run on a clone first, and on the model when the trial keeps what came out. */
  surg__trial_fn trial; /* NULL: no trials */
  void *trial_user;
  bool trial_all; /* every pass; else those that may change inputs or outputs */
} surg__run_options;

typedef struct surg__counter {
  char *what;
  uint64_t n;
} surg__counter;

/* One pass over all its runs. */
struct surg__pass_report {
  const surg_pass *pass;
  uint64_t runs, ns, rewrites; /* calls of the runner (not of run()), time, surg_pass_allow() */
  bool changed;
  surg_exactness used; /* the worst class of its changes */
  SURG_VEC(surg__counter) counters;
  SURG_VEC(char *) notes; /* located lines, the first SURG__NOTES of them */
  uint64_t n_notes;
};

#define SURG__NOTES 1000u

/* Something that was asked for by name and not done. While the run goes on, also what was. */
typedef struct surg__undone {
  const struct surg__pipeline_step *step; /* of the pipeline */
  const surg_pass *pass;
  char *text;  /* a line, located where it is a node's */
  bool node;   /* of the last call of the step; else a name over all calls of it */
  bool found;  /* of a name */
} surg__undone;

typedef struct surg__run_report {
  surg_context *ctx;
  SURG_VEC(surg__pass_report) passes; /* in order of first run */
  uint64_t ns, rewrites;
  SURG_VEC(surg__undone) undone; /* asked for by name and not done; surg__undone_print */
  uint64_t n_undone;  /* with those past SURG__NOTES */
  bool changed;       /* of the model, by its epoch */
  bool limit_reached; /* the rewrite limit left work undone */
  bool interface;     /* a pass that may change inputs or outputs changed something */
  surg_exactness worst;
  const char *failed; /* name of the pass that failed, or NULL */
} surg__run_report;

/* SURG_OK where no error finding of a lenient load is open; else the first one is reported, with
 * what to do about it. */
surg_status surg__refuse_defects(surg_model *m);
/* Runs a pipeline. On success *model is the result. On failure a located line is in the context,
 * and *model is freed and NULL (with dry_run it stays): SURG_EPLUGIN or SURG_EINTERNAL for a pass
 * that broke the model or lied about "unchanged", SURG_EINVALID for one that refused the model,
 * SURG_ELIMIT and SURG_ENOMEM for budgets, SURG_EIO for log and map, SURG_EUSAGE for options.
 * `report` may be NULL; else it is filled also on failure, and freed with surg__run_report_free. */
surg_status surg__run(surg_model **model, const surg__pipeline *pipeline,
                      const surg__run_options *options, surg__run_report *report);
void surg__run_report_free(surg__run_report *report);
/* Text for --stats and --time-passes: one line a pass, then its counters and notes. */
void surg__run_report_print(const surg__run_report *report, bool stats, bool time, surg__buf *out);
/* The same as one JSON object, for --json. */
void surg__run_report_json(const surg__run_report *report, surg__buf *out);
/* `pass "map-op": the model has no node of operator acme.Foo`, escaped. */
void surg__undone_print(const surg__undone *u, surg__buf *out);
const char *surg__exactness_name(surg_exactness e); /* "exact" "ulp" "rounding" ... */
bool surg__exactness_from_name(const char *name, surg_exactness *out);

/* --- consent (context.c) --- */
/* The worst class that the pass may use now. */
surg_exactness surg__pass_limit(const surg_pass_ctx *p);
/* Whether the user said what the pass may use. Rules the user wrote need no other consent. */
bool surg__pass_limited(const surg_pass_ctx *p);
/* surg_pass_used for a rule that the user wrote. */
void surg__pass_used_own(surg_pass_ctx *p, surg_exactness e);

/* --- check_each.c: the model as it was against what came out, by running both --- */

typedef struct surg__proof_options {
  unsigned seeds;
  bool each;   /* after every pass; one that changes outputs is left out */
  double rtol; /* by how much floats may differ; negative: by what the passes say they are */
  uint64_t max_bytes, max_work, max_turns;
  void (*progress)(void *user, const char *what);
  void *progress_user;
} surg__proof_options;

typedef struct surg__proof {
  unsigned checked, skipped; /* sets of inputs */
  char why[250];             /* nothing was checked, or sets were skipped: the reason */
  unsigned silent;           /* outputs whose comparison says nothing, over all stretches */
  char silent_why[250];      /* the first of them and why */
  unsigned left_out;         /* runs of passes */
} surg__proof;

/* surg__run, and then the proof. SURG_EINVALID with a line that names the pass when outputs differ;
 * *model is then freed and NULL. What cannot be run is no failure: proof->checked is 0. */
surg_status surg__run_proven(surg_model **model, const surg__pipeline *pipeline,
                             const surg__run_options *options, const surg__proof_options *how,
                             surg__run_report *report, surg__proof *proof);

/* --- the plugin table (api_table.c) --- */
const surg_api *surg__api(void);

#endif
