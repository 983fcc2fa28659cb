/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a model: counts, weights, arithmetic, memory, the oldest versions it fits. Since 0.2.
 */
#ifndef ONNXSURG_INFO_H
#define ONNXSURG_INFO_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* SURG_OK if the elements of all weights can be read; SURG_EIO, reported with the first weight that
 * lacks its data file: "WHAT needs it". O(model) */
SURG_EXPORT surg_status surg_model_require_weights(surg_model *model, const char *what);
/* Reports a note with the weights whose elements were asked for and cannot be read, so that an edit
 * was left undone. Nothing if there are none. O(model) */
SURG_EXPORT void surg_model_note_weights(surg_model *model);
/* Records in `to` which weights were asked for in `from`, a changed copy of it: by name, in the
 * main graph. O(weights) */
SURG_EXPORT void surg_model_learn_weights(surg_model *to, const surg_model *from);

/* ---- counts --------------------------------------------------------------------------------- */

/* Counts of a model, which need no inference. They belong to its context, and outlive the model. */
typedef struct surg_stats surg_stats;

typedef struct surg_stats_summary {
  uint32_t size; /* set by the caller: sizeof(surg_stats_summary) */
  size_t nodes;  /* of subgraphs and functions, too */
  size_t subgraphs, functions, initializers;
  uint64_t parameters, weight_bytes; /* of initializers and constants */
  size_t ops;                        /* for surg_stats_op */
} surg_stats_summary;

/* An operator and how often it occurs. Texts last as long as the counts. */
typedef struct surg_stats_op_count {
  uint32_t size;      /* set by the caller: sizeof(surg_stats_op_count) */
  const char *domain; /* "" is the default domain */
  const char *op;
  size_t count;
  int32_t op_class; /* surg_op_class of the first node; an invalid node of ONNX is BUILTIN */
  bool control;     /* it has subgraphs */
} surg_stats_op_count;

/* Counts a model. SURG_ENOMEM, SURG_ELIMIT. Free *out with surg_stats_free. O(nodes + weights) */
SURG_EXPORT surg_status surg_stats_new(const surg_model *model, surg_stats **out);
/* Fills in the sums. SURG_EUSAGE for NULL. */
SURG_EXPORT surg_status surg_stats_get(const surg_stats *s, surg_stats_summary *out);
/* Fills in operator i, by decreasing count, then by name. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_stats_op(const surg_stats *s, size_t i, surg_stats_op_count *out);
/* Frees counts; NULL is allowed. */
SURG_EXPORT void surg_stats_free(surg_stats *s);

/* ---- elements of weights --------------------------------------------------------------------- */

#define SURG_STATISTICS_BINS 20

/* What the elements of a tensor are. low ... deviation are of the finite ones that were read. */
typedef struct surg_tensor_statistics {
  uint32_t size;  /* set by the caller: sizeof(surg_tensor_statistics) */
  uint64_t count; /* all elements */
  uint64_t read;  /* how many were read: all, or parts at equal distances */
  uint64_t finite, zeros, nans, infinities; /* of those */
  double low, high, mean, deviation;        /* 0 if none is finite */
  uint64_t bins[SURG_STATISTICS_BINS];      /* how many are in each of the equal parts of low to
                                             * high; the first has all if low is high */
} surg_tensor_statistics;

/* Fills in statistics of numbers and bools, from at most about `most` elements (0: all); twice as
 * many are read. SURG_EUNSUPPORTED: strings, complex numbers, sparse tensors, missing data. O(read)
 */
SURG_EXPORT surg_status surg_tensor_measure(const surg_tensor *t, uint64_t most,
                                            surg_tensor_statistics *out);

/* Whether a product (MatMul, Gemm, Conv, ConvTranspose, LSTM, GRU, RNN) sums over an axis of its
 * input of that rank: *axis. */
SURG_EXPORT bool surg_node_summed_axis(const surg_node *n, size_t input, size_t rank,
                                       size_t *axis);

/* Groups of four successive elements of a weight along the axis that a product sums over. With two
 * zeros in each, engines can use sparse products (2:4). */
typedef struct surg_groups {
  uint32_t size;   /* set by the caller: sizeof(surg_groups) */
  size_t axis;     /* that the first product which reads the value sums over */
  uint64_t groups; /* all whole ones */
  uint64_t read;   /* how many were read: all, or parts at equal distances */
  uint64_t fit;    /* of those: with two zeros or more */
} surg_groups;
/* Counts the groups of a constant or default, from about `most` elements (0: all). SURG_ENOTFOUND:
 * no product reads it, or the axis has no whole group. SURG_EUNSUPPORTED: as of
 * surg_tensor_measure. O(read) */
SURG_EXPORT surg_status surg_value_groups(const surg_value *v, uint64_t most, surg_groups *out);

/* ---- what it costs and needs ----------------------------------------------------------------- */

/* Facts about a model. They belong to its context, refer to the model and are freed before it; an
 * edit makes them invalid. */
typedef struct surg_info surg_info;

typedef struct surg_info_summary {
  uint32_t size;                              /* set by the caller: sizeof(surg_info_summary) */
  size_t values, values_ranked, values_sized; /* all; of known rank; of known size */
  size_t weight_tensors;
  uint64_t absent_tensors, absent_parameters, absent_bytes; /* weights that cannot be read */
  size_t costs, floors, files; /* for surg_info_cost, surg_info_floor, surg_info_file */
  int64_t flops_at_1;          /* operations with 1 for every symbol; INT64_MAX: too many */
  size_t size_unknown;         /* nodes that are not counted: of unknown size */
  size_t operator_unknown;     /* ... whose operator has no rule */
  size_t calls_unknown;        /* calls of functions that are not counted */
  uint64_t peak_bytes;         /* values that exist at once at most, with 1 for every symbol */
  const surg_node *peak_node;  /* where; NULL: there are no nodes */
  size_t peak_unknown;         /* values of unknown size, which are not counted there */
  int64_t ir_floor;            /* the lowest IR version that supports the content */
  const char *ir_why;          /* why; "": nothing needs it. Lasts as long as the facts */
} surg_info_summary;

/* Weights of one element type. */
typedef struct surg_info_weights {
  uint32_t size; /* set by the caller: sizeof(surg_info_weights) */
  uint64_t tensors, parameters, bytes;
} surg_info_weights;

/* Arithmetic of one run of a node, as numbers or expressions (`value` below 0: `expr`). */
typedef struct surg_info_node {
  uint32_t size;                 /* set by the caller: sizeof(surg_info_node) */
  const surg_node *node;         /* or the call of a function */
  surg_dim macs, flops;          /* a multiply-accumulate is two operations */
  int64_t macs_at_1, flops_at_1; /* with 1 for every symbol; below 0: a size would be negative */
} surg_info_node;

/* The node that requires the newest opset of a domain. */
typedef struct surg_info_floor_of {
  uint32_t size; /* set by the caller: sizeof(surg_info_floor_of) */
  const char *domain;
  int64_t opset;
  const surg_node *node;
} surg_info_floor_of;

/* A file of external data. */
typedef struct surg_info_data {
  uint32_t size; /* set by the caller: sizeof(surg_info_data) */
  const char *location;
  uint64_t bytes;
  bool absent; /* it cannot be read; bytes is 0 */
} surg_info_data;

/* Gathers the facts; infers types. SURG_EUSAGE, SURG_ENOMEM, SURG_ELIMIT. Free *out with
 * surg_info_free. O(n log n) */
SURG_EXPORT surg_status surg_info_new(surg_model *model, surg_info **out);
/* Fills in the sums. SURG_EUSAGE for NULL. */
SURG_EXPORT surg_status surg_info_get(const surg_info *info, surg_info_summary *out);
/* The counts of the model, borrowed. */
SURG_EXPORT const surg_stats *surg_info_stats(const surg_info *info);
/* Fills in the weights of an element type, of strings 8 bytes each. SURG_ENOTFOUND: there are none.
 */
SURG_EXPORT surg_status surg_info_weights_of(const surg_info *info, int dtype,
                                             surg_info_weights *out);
/* Fills in node i with a cost, by decreasing operations. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_info_cost(const surg_info *info, size_t i, surg_info_node *out);
/* The sum of multiply-accumulates (`flops` false) or operations. SURG_ELIMIT: too large to
 * represent. */
SURG_EXPORT surg_status surg_info_total(const surg_info *info, bool flops, surg_dim *out);
/* Term i of that sum: *factor times *expr; the last one has *expr NULL, and is absent where it is 0
 * beside others. SURG_ENOTFOUND past the end, SURG_ELIMIT as for surg_info_total. */
SURG_EXPORT surg_status surg_info_term(const surg_info *info, bool flops, size_t i, int64_t *factor,
                                       const surg_expr **expr);
/* Fills in the oldest opset of domain i. SURG_ENOTFOUND: there is none; 8 domains are kept. */
SURG_EXPORT surg_status surg_info_floor(const surg_info *info, size_t i, surg_info_floor_of *out);
/* Fills in data file i. SURG_ENOTFOUND: there is none. O(i) */
SURG_EXPORT surg_status surg_info_file(const surg_info *info, size_t i, surg_info_data *out);
/* Frees facts; NULL is allowed. */
SURG_EXPORT void surg_info_free(surg_info *info);

/* ---- by folder of names ---------------------------------------------------------------------- */

/* Sums by folder of the names of nodes, as exporters write modules: `/encoder/layer.0/Add`. They
 * belong to the context, and outlive facts and model. */
typedef struct surg_modules surg_modules;

/* A folder, with the folders in it. */
typedef struct surg_info_module {
  uint32_t size;                 /* set by the caller: sizeof(surg_info_module) */
  const char *name;              /* "encoder/layer.0"; "": the model */
  size_t depth;                  /* components of the name */
  size_t nodes;                  /* of subgraphs and functions, too */
  uint64_t parameters;           /* elements of constants; each counts where it is read first */
  int64_t macs_at_1, flops_at_1; /* as surg_info_node; INT64_MAX: too many */
} surg_info_module;

/* Adds up by folders of at most `depth` components, 1 to 64. The path of a node without a folder in
 * its name is the name of an output. SURG_EUSAGE, SURG_ENOMEM, SURG_ELIMIT. Free *out with
 * surg_modules_free. O(n log n) */
SURG_EXPORT surg_status surg_modules_new(const surg_info *info, size_t depth, surg_modules **out);
/* Fills in row i: the model, then each folder before those in it, numbers in names in their order.
 * SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_modules_at(const surg_modules *ms, size_t i, surg_info_module *out);
/* Frees them; NULL is allowed. */
SURG_EXPORT void surg_modules_free(surg_modules *ms);

/* The oldest version of its operator in which the unchanged node is valid: *out, and in *why (may
 * be NULL) what the version before it lacks, to free with surg_context_free_bytes. Types must be
 * inferred. SURG_ENOTFOUND: the operator is unknown. */
SURG_EXPORT surg_status surg_node_oldest(const surg_node *n, const surg_schema **out, char **why);

#ifdef __cplusplus
}
#endif
#endif
