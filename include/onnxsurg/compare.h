/* SPDX-License-Identifier: Apache-2.0 */
/* Compares values, and models by running both on the same inputs. Since 0.2. */
#ifndef ONNXSURG_COMPARE_H
#define ONNXSURG_COMPARE_H

#include <onnxsurg/evaluate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of equality. Floats agree within absolute + relative * |want|, or within `ulp` units in
 * the last place of their type; NaN equals NaN; everything else must be equal. */
typedef struct surg_tolerance {
  uint32_t size; /* sizeof(surg_tolerance) */
  double relative, absolute;
  uint64_t ulp;
  bool signs; /* zeros must have the same sign */
} surg_tolerance;

/* How far two values are apart. */
typedef struct surg_distance {
  uint32_t size;                       /* set by the caller: sizeof(surg_distance) */
  bool same;                           /* within the tolerance */
  bool other_shape;                    /* or another type, or another number of items */
  uint64_t elements, differing, first; /* differing: beyond the tolerance; first: index of one */
  double max_abs, max_rel;             /* of all finite floats */
  uint64_t max_ulp;
  double cosine; /* similarity of the finite floats; 1 if there are none */
  char why[200]; /* the first difference: where and how; "" if there is none */
} surg_distance;

/* Compares two values; `tolerance` NULL: exactly. SURG_OK whatever they are. O(elements) */
SURG_EXPORT surg_status surg_array_compare(const surg_array *got, const surg_array *want,
                                           const surg_tolerance *tolerance, surg_distance *out);

typedef struct surg_compare_options {
  uint32_t size;                   /* sizeof(surg_compare_options) */
  const surg_tolerance *tolerance; /* NULL: 1e-3 relative, 1e-5 absolute */
  uint32_t runs;                   /* seeds for each kind of input; 0: 2 */
  uint64_t seed;                   /* the first one */
  bool has_fill;                   /* one kind of input; else random, then adversarial */
  int32_t fill;                    /* a surg_fill */
  const surg_size *sizes;          /* of symbols; others are 2, then 3, then mixed */
  size_t n_sizes;
  const surg_inputs *given;      /* inputs of the first model; those not given are made up */
  const surg_engine *engines[2]; /* of the first and second model; NULL: the built-in one */
  bool layers;                   /* where outputs differ, look for the first value that does */
  bool ties; /* indices of ArgMax, ArgMin and TopK may differ where they point at equal elements */
  const char *log; /* log_path of the run that made the second model from the first: renamed values
                    * are compared; NULL: none */
} surg_compare_options;

/* What a comparison found. It belongs to the context of the models, and refers to the first one: it
 * is freed before both. */
typedef struct surg_compare_report surg_compare_report;

/* The whole comparison. Texts last as long as the report. */
typedef struct surg_compare_summary {
  uint32_t size;             /* set by the caller: sizeof(surg_compare_summary) */
  bool same;                 /* all outputs agree, in at least one informative run */
  bool informative;          /* an output had two different numbers, or depends on no input */
  bool redrawn;              /* inputs were drawn from other ranges, too, to make outputs vary */
  bool open_dims;            /* the size of a dimension was made up */
  uint32_t checked, skipped; /* runs that were compared; that the first model does not run, or whose
                              * result ONNX leaves open */
  size_t outputs;            /* for surg_compare_output */
  const char *skip_why;      /* of the first skipped run; "": none was */
  const char *failure;       /* the second model does not run where the first does, or lacks an
                              * output; "": it does */
  const char *computed;      /* the first input of the second model that the first computes: it is
                              * given that value. NULL: none. Lasts as long as the model */
} surg_compare_summary;

/* One output of the first model. */
typedef struct surg_compare_result {
  uint32_t size;    /* set by the caller: sizeof(surg_compare_result) */
  const char *name; /* lasts as long as the model */
  uint32_t differs; /* runs in which it differs */
  uint32_t tied;    /* runs in which all differences are indices of equal elements */
  bool comparable;  /* false: it rests on random draws that the other model does not share */
  bool compared;    /* in at least one run */
  bool informative; /* comparing it is evidence: it had two different numbers, or depends on no
                     * input */
  bool any, number; /* it had an element; one that is no NaN, and `first` is that */
  double first;
  surg_distance worst; /* each field over all runs; `why` is the first difference */
} surg_compare_result;

/* The first value, in the order of nodes, that both models have and that differs. Texts last as
 * long as the report. */
typedef struct surg_compare_layer {
  uint32_t size;           /* set by the caller: sizeof(surg_compare_layer) */
  bool looked, found;      /* looked false: a model does not run with all values kept */
  uint32_t matched, equal; /* values of one name; those of them that agree */
  const char *name;        /* the value, quoted; "": none was found */
  const char *at[2];       /* where it is computed in each model */
  surg_distance distance;
} surg_compare_layer;

/* Runs both models on the same inputs and compares outputs by name, else by position; the models
 * may be the same one. Graphs must be sorted. SURG_OK whatever the result; `options` may be NULL.
 * SURG_EUSAGE, SURG_EIO, SURG_EINVALID, reported: options, the log. SURG_ENOMEM. Free *out with
 * surg_compare_free. */
SURG_EXPORT surg_status surg_compare(surg_model *a, surg_model *b,
                                     const surg_compare_options *options,
                                     surg_compare_report **out);
/* Fills in the whole. SURG_EUSAGE for NULL. */
SURG_EXPORT surg_status surg_compare_get(const surg_compare_report *r, surg_compare_summary *out);
/* Fills in output i. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_compare_output(const surg_compare_report *r, size_t i,
                                            surg_compare_result *out);
/* Fills in the first value that differs. SURG_ENOTFOUND: it was not looked for, as nothing differs
 * or `layers` was not set. */
SURG_EXPORT surg_status surg_compare_first(const surg_compare_report *r, surg_compare_layer *out);
/* Frees a report; NULL is allowed. */
SURG_EXPORT void surg_compare_free(surg_compare_report *r);

#ifdef __cplusplus
}
#endif
#endif
