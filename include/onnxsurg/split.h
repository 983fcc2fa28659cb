/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting a model into parts that run one after another, the manifest that lists them, and the
 * way back: one model, or a run part by part. Since 0.4. */
#ifndef ONNXSURG_SPLIT_H
#define ONNXSURG_SPLIT_H

#include <onnxsurg/evaluate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What surg_split_new balances. */
typedef enum surg_split_by {
  SURG_SPLIT_BYTES = 0, /* bytes of weights; each counts where it is read first */
  SURG_SPLIT_NODES = 1  /* nodes, without Constant */
} surg_split_by;

/* How to split: exactly one of n_cuts, parts and max_bytes is set. */
typedef struct surg_split_options {
  uint32_t size; /* sizeof(surg_split_options) */
  /* At values: cut i lists n_values[i] values of the main graph, cuts[i]. What computes them is
   * before the cut, everything else after it. */
  surg_value *const *const *cuts;
  const size_t *n_values;
  size_t n_cuts;
  size_t parts;       /* this number of parts; cuts are where the fewest values cross */
  uint64_t max_bytes; /* as few parts as possible with at most these bytes of weights in each */
  int32_t by;         /* with `parts`: a surg_split_by */
} surg_split_options;

/* Parts of a language model that surg_split_find looks for. */
typedef enum surg_split_what {
  SURG_SPLIT_EMBEDDINGS = 0, /* lookups of integers of an input in a constant table */
  SURG_SPLIT_HEAD = 1        /* products with a constant matrix that outputs are computed from */
} surg_split_what;

/* Values of the main graph at which a part is cut off, for surg_split_options: what it computes, or
 * for the head, what it reads and all outputs that are computed without it. `out` receives at most
 * `room` of them (NULL: none), *count their number. Infers types. SURG_ENOTFOUND, reported: the
 * model has no such part. SURG_ELIMIT: there are more than `room`; *count is set. Since 0.5.
 * O(nodes) */
SURG_EXPORT surg_status surg_split_find(surg_model *model, int32_t what, surg_value **out,
                                        size_t room, size_t *count);

/* A division of the nodes of a model's main graph. It refers to the model, which must not be edited
 * before it is freed. */
typedef struct surg_split surg_split;

/* Plans a division. Infers types; graphs must be sorted. Reported: SURG_EUSAGE: the options are
 * wrong, or a part would have no nodes; SURG_EUNSUPPORTED: a node alone exceeds `max_bytes`. Free
 * *out with surg_split_free. O(nodes + uses) */
SURG_EXPORT surg_status surg_split_new(surg_model *model, const surg_split_options *options,
                                       surg_split **out);
/* Number of parts. */
SURG_EXPORT size_t surg_split_count(const surg_split *s);
/* Part i as a model, to free with surg_model_free. Its inputs are inputs of the model and values of
 * earlier parts, its outputs are outputs of the model and values that later parts read. Names are
 * those of the model. Weights are shared with the model; those that several parts read are in each.
 * SURG_EUNSUPPORTED, reported: the type of a value between parts is unknown, or training refers to
 * the value. O(model) */
SURG_EXPORT surg_status surg_split_part(const surg_split *s, size_t i, surg_model **out);
/* Frees a plan; NULL is allowed. */
SURG_EXPORT void surg_split_free(surg_split *s);

/* Parts of a model in the order of their run; values of the same name are connected. It owns its
 * models. */
typedef struct surg_manifest surg_manifest;

/* The parts as text in JSON (doc/surgery.md): `files` are their paths relative to the manifest, in
 * the order of the run; `parts` are the models. Free with surg_context_free_bytes. */
SURG_EXPORT surg_status surg_manifest_text(surg_model *whole, surg_model *const *parts,
                                           const char *const *files, size_t n, char **text);
/* Whether a file is a manifest, by its first bytes. False, too: it cannot be read. */
SURG_EXPORT bool surg_manifest_is(const char *path);
/* The same in *is, for a caller that reads the file next: false if there is none, or if it is a
 * pipe, of which nothing is read. SURG_EIO, reported: it cannot be read. */
SURG_EXPORT surg_status surg_manifest_detect(surg_context *ctx, const char *path, bool *is);
/* Reads a manifest and loads its parts with `options` (may be NULL), as surg_model_load. Reported:
 * SURG_EINVALID: it is no manifest, or a part does not have the inputs and outputs that it lists;
 * statuses of surg_model_load. Paths that leave the folder of the manifest are invalid. Free *out
 * with surg_manifest_free. */
SURG_EXPORT surg_status surg_manifest_load(surg_context *ctx, const char *path,
                                           const surg_load_options *options, surg_manifest **out);
/* Number of parts. */
SURG_EXPORT size_t surg_manifest_count(const surg_manifest *x);
/* Part i, borrowed; NULL past the end. */
SURG_EXPORT surg_model *surg_manifest_part(const surg_manifest *x, size_t i);
/* One model of all parts, with the inputs and outputs that the manifest lists, in their order. It
 * is to be freed with surg_model_free, before the manifest. Weights and constants that several
 * parts have under one name, with equal elements, are one again. Weights in data files are not
 * read. O(parts) */
SURG_EXPORT surg_status surg_manifest_merge(surg_manifest *x, surg_model **out);
/* Lets sessions of the engine for `whole`, a result of surg_manifest_merge, run the parts one after
 * another instead. Both must outlive the sessions. `x` NULL: no more. */
SURG_EXPORT surg_status surg_engine_chain(surg_engine *e, surg_manifest *x, surg_model *whole);
/* Frees a manifest and its parts; NULL is allowed. */
SURG_EXPORT void surg_manifest_free(surg_manifest *x);

#ifdef __cplusplus
}
#endif
#endif
