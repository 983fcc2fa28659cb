/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about a model: what ONNX forbids, what is doubtful, what is unused. doc/check.md
 * explains every code. Since 0.2. */
#ifndef ONNXSURG_CHECK_H
#define ONNXSURG_CHECK_H

#include <onnxsurg/types.h>

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

/* SURG_OK if no finding of a lenient load is an open error; else reports the first one with its
 * cure and returns SURG_EINVALID. What transforms a model (passes, saving) requires this itself. */
SURG_EXPORT surg_status surg_model_require_valid(surg_model *model);

#ifdef __cplusplus
}
#endif
#endif
