/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines with options, a proof by running, and a report. surg_model_run of onnxsurg.h runs
 * one without. Since 0.2. */
#ifndef ONNXSURG_RUN_H
#define ONNXSURG_RUN_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pipeline that was read from text. It belongs to a context and is freed before it. */
typedef struct surg_pipeline surg_pipeline;

/* Reads `fold{max-growth=1MiB},repeat{max=8}(simplify,prune)`; "" is a pipeline that does nothing.
 * `where` ("--pass", a file name) is the place in messages. SURG_EUSAGE, reported with the column:
 * the text is wrong, or a pass, option or value is unknown. Free *out with surg_pipeline_free. */
SURG_EXPORT surg_status surg_pipeline_parse(surg_context *ctx, const char *text, const char *where,
                                            surg_pipeline **out);
/* Frees a pipeline; NULL is allowed. */
SURG_EXPORT void surg_pipeline_free(surg_pipeline *p);
/* Removes passes by name, and groups that are empty then. SURG_EUSAGE, reported at `where`: no such
 * pass is registered. */
SURG_EXPORT surg_status surg_pipeline_skip(surg_pipeline *p, const char *where,
                                           const char *const *names, size_t n);
/* The pipeline as text, presets expanded; it reads as the same pipeline. To free with
 * surg_context_free_bytes. SURG_ENOMEM */
SURG_EXPORT surg_status surg_pipeline_text(const surg_pipeline *p, char **text);

/* All zero but `size`: as surg_model_run. Lists and texts are borrowed for the call. */
typedef struct surg_run_options {
  uint32_t size;    /* sizeof(surg_run_options) */
  bool dry_run;     /* on a clone: the model stays as it was */
  bool verify_each; /* surg_model_verify after every pass; after a plugin's always */
  bool has_allow;   /* else SURG_ROUNDING, and what the pipeline allows its parts */
  int32_t allow;    /* the worst class of rewrites, for every pass; surg_exactness */
  bool has_rewrite_limit;
  uint64_t rewrite_limit;  /* rewrites of the whole run; what is left undone is no failure */
  uint64_t timeout_ms;     /* 0: none; SURG_ELIMIT when time is up */
  uint64_t max_memory;     /* 0: that of the context */
  const char *const *skip; /* names of passes that are not run */
  size_t n_skip;
  const char *const *keep; /* nodes and values to protect: NAME, /regex/ or op=TYPE */
  size_t n_keep;
  bool keep_weights;       /* weights keep their names, and nothing is computed from them */
  const char *const *dims; /* assumptions, as for surg_model_assume_dim: "N=1..64" */
  size_t n_dims;
  const char *const *ranges; /* assumptions, as for surg_model_assume_range: "x=0..1" */
  size_t n_ranges;
  bool trust_declared; /* declared types of unknown operators are true */
  uint32_t check;      /* seeds of inputs on which results are compared; 0: no proof */
  bool check_each;     /* after every pass; one that changes results is left out */
  bool has_check_rtol; /* else as exact as the passes report */
  double check_rtol;
  const char *log_path; /* JSON lines: passes, rewrites, notes; NULL: none */
  const char *map_path; /* JSON: former and present names; NULL: none */
  void (*progress)(void *user, const char *pass); /* before each pass; may be NULL */
  void *user;                                     /* of all callbacks */
  /* Asked before each rewrite, after each pass and between nodes of a proof; true ends the run with
   * SURG_ECANCELLED. May be NULL. */
  bool (*cancel)(void *user);
  const char *const *print_after; /* passes after which `print` is called; "changed": after each
                                   * that changed the model */
  size_t n_print_after;
  void (*print)(void *user, const char *pass, surg_model *model); /* it must not edit the model */
  /* Each pass of a plugin runs in a child process, which hands the changed model back: a crash, an
   * endless loop (with timeout_ms) or overwritten memory ends the child, and the run fails with
   * SURG_EPLUGIN or SURG_ELIMIT. *model is another handle after such a change, listeners of the
   * model are not called, and map_path is not possible. O(bytes of the model in its file) for each
   * such pass. Since 0.2. See surg_context_isolate_plugins. */
  bool isolate_plugins;
  /* Bytes that one new constant may add to the file, for passes that let nothing grow by default
   * and whose option max-growth the pipeline does not set. Since 0.2. */
  uint64_t max_growth;
  /* JSON lines that prove the run, for tools/certify; NULL: none. The model must come from a file,
   * and passes must not run apart. Call surg_certificate_seal after saving. Since 0.2. */
  const char *certificate_path;
  /* Edits may leave an invalid model, for callers that make several and compare what they made with
   * a surg_check_base. Since 0.3. */
  bool unchecked_edits;
} surg_run_options;

/* What a run did. Belongs to the context of the model, and is freed before it. */
typedef struct surg_run_report surg_run_report;

/* The whole run. Texts last as long as the report. */
typedef struct surg_run_summary {
  uint32_t size;          /* set by the caller: sizeof(surg_run_summary) */
  bool changed;           /* the model */
  bool interface_changed; /* by a pass that may change inputs or outputs */
  bool limit_reached;     /* the rewrite limit left work undone */
  int32_t used;           /* the worst class of what was done; surg_exactness */
  uint64_t rewrites, ns;
  size_t passes;             /* for surg_run_pass */
  size_t undone;             /* requests by name that were not done, for surg_run_undone */
  const char *failed;        /* the pass that failed, or NULL */
  uint32_t checked, skipped; /* sets of inputs that were compared, and that were not */
  const char *unchecked;     /* why sets were skipped, or nothing was compared; "": none was */
  uint32_t silent;           /* outputs whose comparison proves nothing */
  const char *silent_why;    /* the first of them, and why; "": there is none */
  uint32_t left_out;         /* runs of passes that changed results, by check_each */
  uint64_t all_undone;       /* requests that were not done, also those that were not kept */
} surg_run_summary;

/* One pass over all its runs. Texts last as long as the report. */
typedef struct surg_run_pass_summary {
  uint32_t size; /* set by the caller: sizeof(surg_run_pass_summary) */
  const char *name;
  bool changed;
  int32_t used; /* surg_exactness */
  uint64_t runs, rewrites, ns;
  size_t counters, notes; /* for surg_run_counter, surg_run_note */
  uint64_t all_notes;     /* also those that were not kept */
} surg_run_pass_summary;

/* Runs a pipeline on a model, `fold{max-growth=1MiB},prune`. *model may become another handle.
 * After a failure of a pass it is freed and NULL (with dry_run it stays); after SURG_EUSAGE for
 * the text or the options it stays as it was. *report (may be NULL) is there after failures of
 * passes too. `options` may be NULL. SURG_EINVALID: a pass or the proof rejects the model.
 * SURG_EPLUGIN, SURG_EINTERNAL: a pass that broke the model. SURG_ELIMIT, SURG_ENOMEM, SURG_EIO.
 * All are reported. A pass must not call this. Free *report with surg_run_report_free. */
SURG_EXPORT surg_status surg_run(surg_model **model, const char *pipeline,
                                 const surg_run_options *options, surg_run_report **report);
/* The same with a pipeline that was parsed in the context of the model. Errors and ownership as of
 * surg_run; SURG_EUSAGE for a pipeline of another context. */
SURG_EXPORT surg_status surg_pipeline_run(const surg_pipeline *p, surg_model **model,
                                          const surg_run_options *options,
                                          surg_run_report **report);
/* Fills in what the run did as a whole. SURG_EUSAGE for NULL. */
SURG_EXPORT surg_status surg_run_get(const surg_run_report *r, surg_run_summary *out);
/* Fills in what pass i did, in the order of first runs. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_run_pass(const surg_run_report *r, size_t i,
                                      surg_run_pass_summary *out);
/* Counter k of pass i: its name, and *n how much. NULL: there is none. Valid as long as the
 * report. */
SURG_EXPORT const char *surg_run_counter(const surg_run_report *r, size_t i, size_t k, uint64_t *n);
/* Note k of pass i, a located line; NULL: there is none. The first 1000 of a pass are kept. Valid
 * as long as the report. */
SURG_EXPORT const char *surg_run_note(const surg_run_report *r, size_t i, size_t k);
/* Request i that was not done, as a line to free with surg_context_free_bytes: `pass "map-op": the
 * model has no node of operator acme.Foo`. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_run_undone(const surg_run_report *r, size_t i, char **text);
/* The report as one JSON object, or (`json` false) as lines for people; to free with
 * surg_context_free_bytes. SURG_EUSAGE for NULL, SURG_ENOMEM. */
SURG_EXPORT surg_status surg_run_print(const surg_run_report *r, bool json, char **text);
/* The lines of --stats (counters and notes of each pass) and --time-passes; to free with
 * surg_context_free_bytes. SURG_EUSAGE for NULL, SURG_ENOMEM. */
SURG_EXPORT surg_status surg_run_lines(const surg_run_report *r, bool stats, bool time,
                                       char **text);
/* What a larger file would win: see surg_run_growth. */
typedef struct surg_growth {
  uint32_t size;       /* set by the caller: sizeof(surg_growth) */
  uint64_t nodes;      /* nodes fewer than in the result of the run; 0: nothing to win */
  uint64_t bytes;      /* by which the file would be larger */
  uint64_t max_growth; /* the budget: max_growth of the run options */
} surg_growth;

/* Finds out by a second run what a budget would win, if a pass of the run that `r` reports left
 * work because the file would have grown. `original` is the model before the run (a clone), and
 * `result` the model after it; neither is changed. `options` are those of the run. Costs
 * one or two runs; models of more than SURG_LIMIT_GROWTH_NODES nodes are left out. SURG_EUSAGE for
 * NULL, SURG_ENOMEM; a second run that fails wins nothing. Since 0.2. */
SURG_EXPORT surg_status surg_run_growth(const surg_pipeline *p, const surg_model *original,
                                        surg_model *result, const surg_run_options *options,
                                        const surg_run_report *r, surg_growth *out);
/* Ends a certificate with the digest of the file that the result was saved to. SURG_EIO, reported;
 * SURG_ENOMEM, SURG_EUSAGE for NULL. Since 0.2. */
SURG_EXPORT surg_status surg_certificate_seal(surg_context *ctx, const char *certificate,
                                              const char *output);
/* Frees a report; NULL is allowed. */
SURG_EXPORT void surg_run_report_free(surg_run_report *r);

#ifdef __cplusplus
}
#endif
#endif
