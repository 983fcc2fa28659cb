/* SPDX-License-Identifier: Apache-2.0 */
/* Why an engine rejects a model, point by point, and what cures it. Since 0.2. */
#ifndef ONNXSURG_DOCTOR_H
#define ONNXSURG_DOCTOR_H

#include <onnxsurg/check.h>
#include <onnxsurg/repair.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How much of what `check` finds the pass `mend` cures. */
typedef enum surg_mended {
  SURG_MENDED_NONE = 0,
  SURG_MENDED_SOME = 1, /* errors stay, or only warnings are cured */
  SURG_MENDED_ALL = 2   /* all errors are cured */
} surg_mended;

typedef struct surg_outlook {
  uint32_t size;  /* set by the caller: sizeof(surg_outlook) */
  int32_t mended; /* a surg_mended */
  int32_t allow;  /* the consent that it needs: a surg_exactness */
  bool allow_interface;
  size_t errors;   /* that stay */
  size_t warnings; /* that are cured, in a model without errors */
} surg_outlook;

/* Tries `mend` on copies of the model of a file, with as little consent as possible; loads the file
 * again for that. Nothing is reported. SURG_OK where nothing can be loaded or cured, too.
 * SURG_EUSAGE, SURG_ENOMEM, SURG_ELIMIT */
SURG_EXPORT surg_status surg_checked_outlook(surg_checked *c, surg_outlook *out);

/* What was found of a model. It belongs to a context and is freed before it; it refers to the
 * target. */
typedef struct surg_diagnosis surg_diagnosis;

typedef struct surg_doctor_options {
  uint32_t size;             /* sizeof(surg_doctor_options) */
  const surg_target *target; /* the engine; NULL: ONNX alone */
  const char *message;       /* what the engine printed; NULL: nothing is known */
  size_t message_length;
  const surg_messages *messages; /* known messages; NULL: the built-in ones */
  const void *bytes;             /* as in surg_check_options */
  size_t n_bytes;
  const surg_load_options *load; /* as in surg_check_options */
} surg_doctor_options;

/* State of a point. */
typedef enum surg_point_state {
  SURG_POINT_OK = 0,
  SURG_POINT_NOTE = 1,       /* nothing is wrong for certain */
  SURG_POINT_OPEN = 2,       /* a problem */
  SURG_POINT_UNKNOWN = 3,    /* not judged: parts of the model are invalid */
  SURG_POINT_NOT_REACHED = 4 /* the model does not load, or no message was given */
} surg_point_state;

/* One point of the diagnosis. Texts last as long as it. */
typedef struct surg_point {
  uint32_t size;      /* set by the caller: sizeof(surg_point) */
  const char *title;  /* "message", "loads", "valid", "types and shapes", ... */
  int32_t state;      /* a surg_point_state */
  size_t open, notes; /* problems; observations that may be none */
  size_t more;        /* ... beside the first */
  const char *first;  /* the first problem, else the first note, with its place; NULL: none */
  const char *pass;   /* a pipeline that cures the first one, or NULL */
  const char *cure;   /* else advice, or NULL */
} surg_point;

/* The whole diagnosis. Texts last as long as it. */
typedef struct surg_diagnosis_summary {
  uint32_t size;        /* set by the caller: sizeof(surg_diagnosis_summary) */
  size_t points, open;  /* for surg_diagnosis_point; of them open */
  bool loaded, partial; /* there is a model; it lacks invalid parts */
  int32_t status;       /* of loading: a surg_status */
  const char *pipeline; /* passes that cure open points; "": none */
  surg_outlook outlook; /* what `mend` cures, where there are errors */
  bool judged;          /* the target judged the model: `assessment` is set */
  int32_t assessment;   /* a surg_assessment */
} surg_diagnosis_summary;

/* Examines the model of a file: whether it loads and is valid, its types, shapes, versions and
 * operators, what the target objects to, what the message means. Writes nothing. SURG_OK whatever
 * is found; that the file cannot be read is reported, and the point `loads` is open. `options` may
 * be NULL. SURG_EUSAGE, SURG_ENOMEM, SURG_ELIMIT. Cost: a check, and with a target
 * surg_repair_assess. Free *out with surg_diagnosis_free. */
SURG_EXPORT surg_status surg_doctor(surg_context *ctx, const char *path,
                                    const surg_doctor_options *options, surg_diagnosis **out);
/* Fills in the whole. SURG_EUSAGE for NULL. */
SURG_EXPORT surg_status surg_diagnosis_get(const surg_diagnosis *d, surg_diagnosis_summary *out);
/* Fills in point i. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_diagnosis_point(const surg_diagnosis *d, size_t i, surg_point *out);
/* What the search for a repair found, borrowed; NULL: nothing was judged. */
SURG_EXPORT const surg_repair *surg_diagnosis_repair(const surg_diagnosis *d);
/* Frees a diagnosis; NULL is allowed. */
SURG_EXPORT void surg_diagnosis_free(surg_diagnosis *d);

#ifdef __cplusplus
}
#endif
#endif
