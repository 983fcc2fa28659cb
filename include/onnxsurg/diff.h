/* SPDX-License-Identifier: Apache-2.0 */
/* What two models have in common and where they differ. Since 0.3. */
#ifndef ONNXSURG_DIFF_H
#define ONNXSURG_DIFF_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an item of a difference is about. Index 0 of the pairs below is the first model. */
typedef enum surg_diff_kind {
  SURG_DIFF_IR_VERSION = 0, /* `text` are the numbers */
  SURG_DIFF_OPSET = 1,      /* `what` is the domain, `text` the versions */
  SURG_DIFF_METADATA = 2,   /* `what` is the key of a metadata_props entry of the model */
  SURG_DIFF_HEADER = 3,     /* `what` is another field of the model: producer_name, ... */
  SURG_DIFF_FUNCTION = 4,   /* a function that only one model has, or `what` differs */
  SURG_DIFF_INPUT = 5,      /* a graph input: it, its type, its default, or its place */
  SURG_DIFF_OUTPUT = 6,     /* a graph output: it, its type, or its place */
  SURG_DIFF_NODE = 7,       /* a node that only one model has */
  SURG_DIFF_OPERATOR = 8,   /* of a node */
  SURG_DIFF_ATTRIBUTE = 9,  /* `what` is its name */
  SURG_DIFF_EDGE = 10,      /* `what` ("input 1", "output 0") is another value */
  SURG_DIFF_RESULT = 11,    /* `what` ("output 1") of a node is absent in one model */
  SURG_DIFF_WEIGHT = 12,    /* a constant that only one model has, or its elements */
  SURG_DIFF_STORAGE = 13,   /* a constant is an initializer in one model, a node in the other */
  SURG_DIFF_NODE_NAME = 14,
  SURG_DIFF_VALUE_NAME = 15,
  SURG_DIFF_SYMBOL_NAME = 16, /* of a dimension */
  SURG_DIFF_TEXT = 17,        /* doc_string, metadata_props of a part, name of a graph */
  SURG_DIFF_DECLARED = 18,    /* the declared type of an inner value */
  SURG_DIFF_ORDER = 19,       /* of the nodes of a graph */
  SURG_DIFF_EXTRA = 20        /* `what` ("training_info", fields that ONNX does not define) */
} surg_diff_kind;

/* Which of the two models have the object. */
typedef enum surg_diff_change {
  SURG_DIFF_CHANGED = 0, /* both */
  SURG_DIFF_REMOVED = 1, /* the first */
  SURG_DIFF_ADDED = 2    /* the second */
} surg_diff_change;

/* How much an item means. */
typedef enum surg_diff_level {
  SURG_DIFF_EDIT = 0,   /* another model */
  SURG_DIFF_NAME = 1,   /* another name */
  SURG_DIFF_REMARK = 2, /* no run and no interface depends on it */
  SURG_DIFF_UNKNOWN = 3 /* it was not compared */
} surg_diff_level;

/* Marks of a node or value, combined by |. */
typedef enum surg_diff_mark {
  SURG_DIFF_MARK_ALONE = 1,   /* only its model has it */
  SURG_DIFF_MARK_CHANGED = 2, /* there is an item of level EDIT about it */
  SURG_DIFF_MARK_NAMED = 4    /* its name differs */
} surg_diff_mark;

typedef struct surg_diff_options {
  uint32_t size;       /* sizeof(surg_diff_options) */
  uint64_t read_limit; /* bytes of weights that may be read; 0: 1 GiB. Weights of both models at
                        * one place of one file are equal without being read */
  bool no_weights;     /* read none */
} surg_diff_options;

/* The difference of two models. It belongs to the context of the models and refers to both: it is
 * freed before them, and they must not be edited before. */
typedef struct surg_diff surg_diff;

typedef struct surg_diff_summary {
  uint32_t size; /* set by the caller: sizeof(surg_diff_summary) */
  bool same;     /* no item of level EDIT or UNKNOWN: the same up to names and remarks */
  uint64_t edits, names, remarks, unknown; /* items of each level */
  uint64_t nodes[2];     /* with those of subgraphs and functions, without Constant nodes */
  uint64_t paired_nodes; /* that both models have */
  uint64_t weights[2];   /* constants: initializers and results of Constant nodes */
  uint64_t paired_weights;
  uint64_t read; /* bytes of weights that were read to compare them */
} surg_diff_summary;

/* Number that means no item. */
#define SURG_DIFF_NO_ITEM SIZE_MAX

/* One difference. Texts are escaped, last as long as the difference, and are "" if there is
 * none. */
typedef struct surg_diff_item {
  uint32_t size;                /* set by the caller: sizeof(surg_diff_item) */
  int32_t kind, change, level;  /* a surg_diff_kind, surg_diff_change, surg_diff_level */
  const char *where[2];         /* the place of the object in each model */
  const char *what;             /* which part of it; see surg_diff_kind */
  const char *text[2];          /* the part in each model */
  const char *note;             /* more about the difference: "transposed {1, 0}" */
  surg_node *node[2];           /* the node it is about, or NULL */
  surg_value *value[2];         /* the value it is about, or NULL */
  size_t cause;                 /* item that implies this one, or SURG_DIFF_NO_ITEM: a consumer
                                 * of a removed node reads another value */
  size_t region;                /* items of one number are connected in the graph */
  uint64_t elements, differing; /* of a weight that differs in its elements; else 0 */
  double max_abs, max_rel;      /* of its finite numbers */
} surg_diff_item;

/* Compares two models of one context that have no open load errors. Objects are paired by structure
 * (operators, attributes and what they are connected to), where that leaves a choice by names and
 * by weights; all that is paired is then compared completely, so no item of level EDIT or UNKNOWN
 * means that the models are the same up to names. The number of items is not always the smallest
 * possible. `options` may be NULL. Diagnostics are reported. Memory does not depend on the size of
 * weights. O(n log n) for n nodes. Free *out with surg_diff_free. */
SURG_EXPORT surg_status surg_diff_new(surg_model *a, surg_model *b,
                                      const surg_diff_options *options, surg_diff **out);
/* Fills in the whole. SURG_EUSAGE for NULL. */
SURG_EXPORT surg_status surg_diff_get(const surg_diff *d, surg_diff_summary *out);
/* Fills in item i, in the order of the models. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_diff_item_at(const surg_diff *d, size_t i, surg_diff_item *out);
/* The node of the other model that is paired with n, a node of either model; NULL: none is. */
SURG_EXPORT surg_node *surg_diff_node(const surg_diff *d, const surg_node *n);
/* The same for values. */
SURG_EXPORT surg_value *surg_diff_value(const surg_diff *d, const surg_value *v);
/* The same for graphs: main graphs, subgraphs, function bodies. */
SURG_EXPORT surg_graph *surg_diff_graph(const surg_diff *d, const surg_graph *g);
/* Marks (SURG_DIFF_MARK_*) of a node of either model; 0: it is the same in both. */
SURG_EXPORT uint32_t surg_diff_node_marks(const surg_diff *d, const surg_node *n);
/* The same for values. */
SURG_EXPORT uint32_t surg_diff_value_marks(const surg_diff *d, const surg_value *v);
/* Frees a difference; NULL is allowed. */
SURG_EXPORT void surg_diff_free(surg_diff *d);

/* Writes to `path` how the file of b is made from the file of a: ranges of it and new bytes, for
 * the model and its data files, with digests of both. Both were loaded from files and not edited. A
 * data file that is the same file for both is not read. SURG_EINVALID, SURG_EIO, SURG_EUNSUPPORTED
 * (a data file in a folder of its own), SURG_ENOMEM, reported. O(bytes of both), memory does not
 * depend on them. */
SURG_EXPORT surg_status surg_patch_make(surg_model *a, surg_model *b, const char *path);
/* Writes to `out` the model that a patch makes from a, byte for byte, and data files to its folder.
 * SURG_EINVALID, reported: a is not the model that the patch is for, or the patch is damaged.
 * SURG_EIO: a file cannot be read or written, or a data file of another content exists. */
SURG_EXPORT surg_status surg_patch_apply(surg_model *a, const char *patch, const char *out);

#ifdef __cplusplus
}
#endif
#endif
