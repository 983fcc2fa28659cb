/* SPDX-License-Identifier: Apache-2.0 */
/* Static quantization: values that are quantized with scales that are known in advance. */
#ifndef SURG_PASSES_QUANT_STATIC_H
#define SURG_PASSES_QUANT_STATIC_H

#include "../util/samples.h"
#include "quant.h"

/* What a node is to static quantization. */
typedef enum quant_role {
  QUANT_OUTSIDE = 0, /* it stays */
  QUANT_PRODUCT,     /* a product of matrices or a convolution */
  QUANT_MATH,        /* engines compute it in integers, with a scale of its own for the result */
  QUANT_LIMITER,     /* Relu, Clip, a bias: it completes the result of the node before */
  QUANT_MOVER        /* it only moves elements: the result has the scale of the operand */
} quant_role;

/* How ranges are found. */
typedef enum quant_method {
  QUANT_MINMAX = 0,
  QUANT_PERCENTILE,
  QUANT_ENTROPY, /* least Kullback-Leibler divergence */
  QUANT_MSE      /* least mean square of the errors */
} quant_method;

typedef struct quant_member {
  surg_node *n;
  uint8_t role;  /* quant_role */
  uint8_t why;   /* if it stays */
  uint8_t kind;  /* of a product */
  uint32_t site; /* of its weight; QUANT_NONE: none */
} quant_member;

#define QUANT_BINS 2048

/* A float value. */
typedef struct quant_value {
  surg_value *v;
  bool marked;              /* it is to be quantized */
  bool seen, broken;        /* a run computed it; it was NaN or infinite */
  bool far;                 /* the range is that of numbers that mask others */
  bool fine;                /* an operator magnifies errors of its small elements */
  bool whole;               /* an integer is computed from it */
  bool kept;                /* an epsilon keeps it from 0, for a divisor */
  uint64_t sizes[2];        /* the exponents of elements other than 0: bit e / 2 of both */
  uint32_t like;            /* the value whose scale it has; QUANT_NONE: its own */
  double low, high;         /* of all runs, 0 included */
  uint64_t *bins;           /* the elements between them; NULL: not counted */
  double cut_low, cut_high; /* the range that is quantized */
  double scale;
  int64_t zero;
  surg_value *scale_v, *zero_v; /* constants; NULL: not made */
  surg_value *restored;         /* if readers read another value than v */
  bool done, met;               /* met: mark_fine was here */
  bool layer;                   /* it is the result of a product that is quantized */
  double signal, noise;         /* of the quantized model, compared with the floats */
} quant_value;

/* Runs of the model as it was, which trials of a search share. */
typedef struct quant_runs {
  surg_model *m;  /* its outputs also are the values that quant_compare compares */
  samples_runs r; /* its results are those of the last sample */
  uint64_t samples;
  bool redrawn;        /* the model rejected drawn inputs, and others were drawn */
  quant_value *ranges; /* all values, with what the first runs measured; NULL: none ran */
} quant_runs;

/* A value of quant_runs.m. */
typedef struct quant_twin {
  const surg_value *v;
  quant_value *x;
} quant_twin;

typedef struct quant_static_state {
  quant *c;
  surg_graph *g;
  quant_member *members;
  quant_value *values;
  size_t n_members, n_values;
  quant_value **order; /* by handle */
  quant_method method;
  double percentile;
  int activations;  /* SURG_UINT8 or SURG_INT8 */
  bool symmetric;   /* zero points of activations are 0, or the middle */
  bool operands;    /* only the operands of products are quantized */
  bool weights;     /* only weights are: the target quantizes no values */
  bool ranged;      /* quant_calibrate was needed */
  bool drawn;       /* on drawn inputs */
  double tolerance; /* below 0: none */
  quant_runs *runs;
  quant_twin *twins; /* by handle; NULL: no run of this state was needed */
  size_t n_twins;
  bool *skip;            /* by member: it stays because of the tolerance; NULL: none */
  uint64_t trials, left; /* of the search, and members that stay because of it */
  bool unknown;          /* the errors are not known */
} quant_static_state;    /* see quant_static */

/* Whether input i of a member is quantized. */
bool quant_is_operand(const quant_member *m, size_t i);
/* The value of the original model that input i of a member reads, whose entry has its errors. */
quant_value *quant_operand(quant_static_state *s, const quant_member *m, size_t i);
/* The nodes of all graphs. */
size_t quant_node_count(const surg_model *m);
/* Finds members, measures ranges, and rewrites the model. */
bool quant_static_apply(quant_static_state *s);
/* The entry of a float value; NULL: v is none. */
quant_value *quant_value_of(quant_static_state *s, const surg_value *v);

/* --- quant_calibrate.c --- */
/* Reads the options of static quantization. False: reported. */
bool quant_static_options(quant_static_state *s);
/* Makes a copy of the model for runs, without running it. Weights that are computed from constants
 * are no outputs: they may be larger than memory. False: reported. */
bool quant_runs_make(quant_runs *r, const quant *c);
void quant_runs_free(quant_runs *r);
/* Runs the model as it was, unless the results are known, and sets ranges of values. False:
 * reported. */
bool quant_calibrate(quant_static_state *s);
/* Runs the model as it is, and compares values of the main graph that have the same name with
 * those of the model as it was, which runs again if there are several samples. */
bool quant_compare(quant_static_state *s);

/* --- quant_search.c --- */
/* Sets `skip` so that no output is off by more, relative to its size. False: failure. */
bool quant_search(quant_static_state *s);
/* The largest error of an output of the model, after quant_compare: the root of the ratio of
 * squares of errors to those of elements. */
double quant_worst_output(quant_static_state *s);

/* --- quant_range.c --- */
/* Chooses cut_low and cut_high from the bins of a value. */
void quant_choose_range(const quant_static_state *s, quant_value *v);

/* --- quant_place.c --- */
/* Puts QuantizeLinear and DequantizeLinear at marked values. */
bool quant_place(quant_static_state *s);

#endif
