/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about a model: what ONNX forbids, what is doubtful, what is unused. doc/check.md
 * explains every code. Since 0.2. */
#ifndef ONNXSURG_CHECK_H
#define ONNXSURG_CHECK_H

#include <onnxsurg/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One finding. Texts last until the callback returns. */
typedef struct surg_check_finding {
  uint32_t size;     /* set by the library */
  int32_t severity;  /* surg_severity */
  const char *code;  /* "E201"; a code keeps its meaning */
  const char *where; /* `graph.node[3] "a" (Add)`, escaped; NULL: past `most` */
  const char *text;  /* one line, escaped; NULL: past `most` */
  const char *hint;  /* what to do about it */
  const char *pass;  /* a pass that cures it, or NULL */
  bool loaded;       /* found by loading, so it is in surg_model_finding too */
  const char *line;  /* E001, the file cannot be read: the whole line of the error; else NULL */
} surg_check_finding;
typedef void (*surg_check_fn)(void *user, const surg_check_finding *f);

/* How many findings there are. */
typedef struct surg_check_counts {
  uint32_t size; /* set by the caller: sizeof(surg_check_counts) */
  size_t errors, warnings, notes;
} surg_check_counts;

/* Calls `fn` (may be NULL) for the findings of a model: those of a lenient load that are not cured,
 * then those of the checker: errors, warnings, notes; `most` of them (0: 100) with a place and a
 * text, as naming a place costs a walk. A strict load refuses models with most errors and keeps no
 * findings: load with SURG_LOAD_LENIENT. Infers types. SURG_OK whatever was found; SURG_EUSAGE,
 * SURG_ENOMEM, SURG_ELIMIT. O(model) */
SURG_EXPORT surg_status surg_check(surg_model *model, size_t most, surg_check_fn fn, void *user,
                                   surg_check_counts *counts);

/* ---- before and after edits ------------------------------------------------------------------ */

/* The errors of a model at one moment, to find those that edits make. It belongs to a context and
 * is freed before it. Since 0.3. */
typedef struct surg_check_base surg_check_base;
/* Notes the errors of a model; NULL: none, so that a comparison finds any. SURG_EUSAGE,
 * SURG_ENOMEM, SURG_ELIMIT. Free *out with surg_check_base_free. O(model) */
SURG_EXPORT surg_status surg_check_base_new(surg_context *ctx, surg_model *model,
                                            surg_check_base **out);
/* *line is the first error that the model did not have then, with its place and code, and lasts
 * until the next call; NULL: it has none. As after an edit by a pass, nodes that cannot run (W206),
 * that contradict a declared shape (W227) or, unless `model` was NULL, that got a name which
 * another node has (W212) are errors, too. SURG_OK whatever was found; SURG_EUSAGE, SURG_ENOMEM,
 * SURG_ELIMIT. O(model) */
SURG_EXPORT surg_status surg_check_base_compare(surg_check_base *base, surg_model *model,
                                                const char **line);
/* Frees it; NULL is allowed. */
SURG_EXPORT void surg_check_base_free(surg_check_base *base);

/* ---- files, valid or not --------------------------------------------------------------------- */

/* A file that was checked. It belongs to a context and is freed before it. */
typedef struct surg_checked surg_checked;

typedef struct surg_check_options {
  uint32_t size;                 /* sizeof(surg_check_options) */
  size_t most;                   /* findings with a place and a text; 0: 100 */
  const void *bytes;             /* the content, where the file is no file; else NULL */
  size_t n_bytes;                /* `bytes` stay as long as the surg_checked */
  const surg_load_options *load; /* without `policy`. NULL: the defaults */
  surg_check_fn fn;              /* receives each finding; may be NULL */
  void *user;
} surg_check_options;

/* What was found so far. */
typedef struct surg_checked_summary {
  uint32_t size; /* set by the caller: sizeof(surg_checked_summary) */
  size_t errors, warnings, notes;
  size_t hidden;  /* calls that left findings out, as there were more than `most` */
  bool partial;   /* loading found errors: the model lacks the invalid parts */
  int32_t status; /* of loading: a surg_status; SURG_EINVALID: the model is invalid */
} surg_checked_summary;

/* Loads a file and calls `fn` for each finding of that, E001 among them: it cannot be read. What a
 * surg_load_options.policy of SURG_LOAD_CHECK reports as lines becomes findings, and is not
 * reported. SURG_OK whatever was found; `options` may be NULL. SURG_EUSAGE, SURG_ENOMEM. Free *out
 * with surg_checked_free. O(file) */
SURG_EXPORT surg_status surg_check_file(surg_context *ctx, const char *path,
                                        const surg_check_options *options, surg_checked **out);
/* The model as far as it could be built, borrowed; NULL: nothing of it. Nodes with an error have no
 * schema in it, and it must not be saved. */
SURG_EXPORT surg_model *surg_checked_model(const surg_checked *c);
/* Runs the checker on that model: as surg_check, with the findings of loading left out. Does
 * nothing without a model. */
SURG_EXPORT surg_status surg_checked_look(surg_checked *c);
/* Runs a pipeline on a copy of that model, and calls `fn` with what prevents it as findings E135:
 * whether a model can be converted to an opset. `where` is its place in messages. *possible (may be
 * NULL): it runs. SURG_EUSAGE: the text is wrong, or there is no model. */
SURG_EXPORT surg_status surg_checked_try(surg_checked *c, const char *pipeline, const char *where,
                                         const surg_run_options *options, bool *possible);
/* Fills in what was found. SURG_EUSAGE for NULL. */
SURG_EXPORT surg_status surg_checked_get(const surg_checked *c, surg_checked_summary *out);
/* Frees it with its model; NULL is allowed. */
SURG_EXPORT void surg_checked_free(surg_checked *c);

/* A rule of the checker, which every finding of its code is from. Static. */
typedef struct surg_check_rule {
  uint32_t size;              /* set by the caller: sizeof(surg_check_rule) */
  const char *code;           /* "E201" */
  int32_t severity;           /* surg_severity */
  const char *finding, *hint; /* what it finds in general; what to do about it */
  const char *pass;           /* the pass that cures it, or NULL */
} surg_check_rule;
/* Fills in rule i, in the order of codes. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_check_rule_at(size_t i, surg_check_rule *out);
/* Fills in the rule of a code, and its number. SURG_ENOTFOUND: there is none. `i` may be NULL. */
SURG_EXPORT surg_status surg_check_find_rule(const char *code, size_t *i, surg_check_rule *out);

/* SURG_OK if no finding of a lenient load is an open error; else reports the first one with its
 * cure and returns SURG_EINVALID. What transforms a model (passes, saving) requires this itself. */
SURG_EXPORT surg_status surg_model_require_valid(surg_model *model);

#ifdef __cplusplus
}
#endif
#endif
