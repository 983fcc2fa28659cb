/* SPDX-License-Identifier: Apache-2.0 */
/* Quantization: what the parts of the pass `quantize` share.
 *
 * A *weight* is a constant that a product reads; a *site* is an input of a node that reads it. Each
 * weight is quantized once, whatever the number of its readers. */
#ifndef SURG_PASSES_QUANT_H
#define SURG_PASSES_QUANT_H

#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/precision.h>

#include "../util/phases.h"
#include "../util/table.h"

#define QUANT_NONE UINT32_MAX
#define QUANT_TEXT 400 /* bytes of a line of the report */
#define QUANT_STATED 16
#define QUANT_PHASE 8 /* angles up to here have an error of about 1/100 in 255 steps */

/* Why a weight or a node stays as it is. */
typedef enum quant_why {
  QUANT_FREE = 0, /* it may be quantized */
  QUANT_KEPT,     /* protected by the user */
  QUANT_UNCHOSEN, /* not among the nodes that the user chose */
  QUANT_CALLER,   /* an input of the model: a caller may replace the constant */
  QUANT_PINNED,   /* training, or a tool, sets it */
  QUANT_ABSENT,   /* the elements are not available */
  QUANT_EMPTY,
  QUANT_SCALAR,
  QUANT_DTYPE,    /* not of a type that can be quantized here */
  QUANT_NAN,      /* NaN or infinite elements */
  QUANT_REGION,   /* it computes on quantized values already */
  QUANT_OPSET,    /* the opset does not have the operators */
  QUANT_IR,       /* the IR version does not have the type */
  QUANT_TARGET,   /* the target does not support them */
  QUANT_FORM,     /* attributes that the quantized operator does not have */
  QUANT_COMPUTED, /* no input is constant */
  QUANT_RANGE,    /* no range of a value is known */
  QUANT_FAR,      /* a range is that of numbers that mask others */
  QUANT_FINE,     /* an operator magnifies errors of small elements */
  QUANT_WHOLE,    /* an integer, a phase or a remainder is computed from it */
  QUANT_ERROR,    /* the tolerance: it adds too large an error */
  QUANT_LIMIT,    /* --rewrite-limit */
  QUANT_WHYS
} quant_why;

/* What a product is, and so which forms it has. */
typedef enum quant_kind {
  QUANT_MATMUL = 1,
  QUANT_GEMM,
  QUANT_CONV,
  QUANT_CONV_TRANSPOSE,
  QUANT_GATHER,
  QUANT_RECURRENT
} quant_kind;

typedef struct quant_site {
  surg_node *n;
  surg_node *turn; /* the Transpose between the weight and n, which no other node reads; or NULL */
  size_t input;
  uint8_t kind; /* quant_kind */
  uint8_t why;
  uint32_t weight;
  uint32_t next; /* of the same weight */
} quant_site;

typedef struct quant_weight {
  surg_value *v;
  uint32_t sites; /* the first */
  uint8_t why;
  bool each;        /* a scale for each slice of `axis` */
  size_t axis, sum; /* the axis of scales; the one that is summed over */
  uint64_t block;
  int dtype; /* of the result */
  bool symmetric;
  bool narrowed;               /* it has one scale because of the opset */
  surg_tensor *scales, *zeros; /* NULL: it is not quantized */
  /* Constants and results, made where a reader needs them. NULL: not made. */
  surg_value *q, *scale, *zero, *restored;
  surg_value *flipped; /* q, transposed */
  surg_value *flat;    /* the zero point that all channels share */
  surg_value *column;  /* the scales as [count, 1, 1 ...] */
  surg_value *last;    /* the last of these: the next one follows it */
  double signal, noise;
  uint64_t before; /* bytes */
} quant_weight;

/* What a target states of an operator: kept, because asking takes a model. */
typedef struct quant_stated {
  const char *op;
  int64_t opset;
  bool output;
  size_t index;
  uint64_t types;
} quant_stated;

typedef struct quant {
  surg_pass_ctx *p;
  surg_model *m;
  surg_target *target;             /* NULL: none */
  bool borrowed;                   /* of another pass, with fewer options */
  bool trial;                      /* of a copy of the model: rewrites do not count */
  bool dynamic, fixed;             /* fixed: static quantization */
  bool asymmetric, reduced, whole; /* whole: one scale for a tensor */
  int dtype;                       /* of weights; 0: the default of each operator */
  uint64_t block;
  surg_node **chosen; /* nodes of the option `node` */
  quant_site *sites;
  quant_weight *weights;
  uint32_t n_sites, n_weights;
  phases phases;   /* what stays for the sake of angles and remainders */
  table *selected; /* the nodes whose weights static quantization wants; NULL: not asked */
  uint64_t values; /* that are quantized with scales that are known in advance */
  quant_stated stated[QUANT_STATED]; /* answers of quant_target_types */
  uint32_t n_stated;
  uint64_t nodes, left[QUANT_WHYS]; /* nodes that became integer products, or stay */
  bool failed;
} quant;

/* --- quantize.c --- */
/* The pass; with `fixed` static quantization with the options op, node, target, inputs, draws and
 * tolerance of another pass, and the defaults of others. */
surg_pass_result quant_run(surg_pass_ctx *p, bool fixed);
/* Finds the nodes of the option `node`. False: out of memory. */
bool quant_find_chosen(quant *c);
/* As surg_pass_allow and surg_pass_give_back, but not in a trial. */
bool quant_allow(quant *c);
void quant_give_back(quant *c);

/* --- quant_collect.c --- */
/* Finds sites and weights. False: out of memory. */
bool quant_collect(quant *c);
/* The kind of a product; 0: it is none. */
quant_kind quant_kind_of(const surg_node *n);
/* The axes of a weight: *axis, that of the results, if true is returned; *sum, which is summed
 * over. */
bool quant_axes_of(const surg_node *n, quant_kind kind, size_t input, size_t rank, size_t *axis,
                   size_t *sum);
/* As quant_axes_of, for the weight of a site, also behind a Transpose. */
bool quant_site_axes(const quant_site *s, size_t rank, size_t *axis, size_t *sum);
/* The Transpose of a float constant that makes v; NULL: v is made otherwise. */
surg_node *quant_turn(const surg_value *v);
/* Whether a node is in a quantized region: an operand is dequantized, or a result quantized. */
bool quant_in_region(const surg_node *n);
/* Whether the user leaves the node to the pass. */
quant_why quant_user_why(const quant *c, const surg_node *n);
/* The inferred element type of a value, otherwise the declared one; 0: unknown, or no tensor. */
int quant_dtype(const surg_value *v);

/* --- quant_weights.c --- */
/* Quantizes a weight once and makes its constants; w->why is the reason if it stays. False: out of
 * memory. */
bool quant_weight_make(quant *c, quant_weight *w, int dtype, bool asymmetric);
/* A constant beside those of the weight, named "<name of w><suffix>". NULL: out of memory. */
surg_value *quant_constant(quant *c, quant_weight *w, const char *suffix, surg_tensor *t);
/* The scales and the zero points as QuantizeLinear expects them. NULL: out of memory; the zero
 * points also where they need not be stored (*none). */
surg_value *quant_scale(quant *c, quant_weight *w);
surg_value *quant_zero(quant *c, quant_weight *w, bool *none);
/* The element types that the target states for input i, or output i, of an operator in a graph; all
 * without a target. */
uint64_t quant_target_types(quant *c, const surg_graph *g, const char *op, bool output, size_t i);
/* Lets the sites of all weights read DequantizeLinear; `want` selects sites (NULL: all). */
bool quant_restore_weights(quant *c, bool (*want)(const quant *c, const quant_site *s));
/* Removes a constant that has no uses any more; NULL is allowed. False: failure. */
bool quant_drop_constant(surg_value *v);
/* The node after the producer of v: where a node that reads it can be. */
surg_node *quant_after(const surg_value *v);
/* "<name of v><suffix>", in memory of the pass. */
const char *quant_stem(quant *c, const surg_value *v, const char *suffix);
/* A new node with one output named after v, before `before`. NULL: out of memory. */
surg_node *quant_node(quant *c, surg_graph *g, surg_node *before, const char *op,
                      const surg_value *v, const char *suffix);

/* --- quant_dynamic.c --- */
/* Rewrites products to integer ones on values that are quantized at run time. */
bool quant_dynamic(quant *c);

/* --- quant_report.c --- */
void quant_report(quant *c);
/* The ratio of two sums of squares, in decibels. */
double quant_decibels(double signal, double noise);

/* --- quant_static.c --- */
/* Quantizes values of the main graph with scales that runs of the model give. */
bool quant_static(quant *c);

#endif
