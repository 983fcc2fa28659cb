/* SPDX-License-Identifier: Apache-2.0 */
/* Weights: where their bytes are stored, and exchange by name with other formats. Since 0.3. */
#ifndef ONNXSURG_WEIGHTS_H
#define ONNXSURG_WEIGHTS_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where surg_model_save_data stores weights. Zero fields are the defaults. */
typedef struct surg_data_options {
  uint32_t size;   /* sizeof(surg_data_options) */
  bool embed;      /* in the model file; all fields below except no_fsync are ignored */
  bool keep;       /* weights in data files stay there; only those in the model file move */
  bool each;       /* in a data file for each tensor */
  bool attributes; /* tensors of attributes, too */
  bool no_fsync;
  const char *file;   /* name of the data file; NULL: OUT.data. Several files have names made from
                       * it: w-00001-of-00002.data, or w.TENSOR.data */
  uint64_t shard;     /* maximum bytes of a data file; a larger tensor has its own; 0: no maximum */
  uint64_t align;     /* of each tensor, a power of 2; 0: 64 bytes, 4096 from 1 MiB on */
  uint64_t threshold; /* minimum bytes of a tensor that moves out of the model file; 0: 1024 */
} surg_data_options;

/* What surg_model_save_data did. */
typedef struct surg_data_report {
  uint32_t size;               /* set by the caller: sizeof(surg_data_report) */
  uint64_t tensors, bytes;     /* in the data files that were requested, padding not included */
  uint64_t equal, equal_bytes; /* tensors whose bytes are stored once, with those of another */
  uint64_t files, unchanged;   /* data files; those of them that existed with the same bytes */
} surg_data_report;

/* Writes n models as surg_model_save does, with their weights where the options state. Data files
 * are shared: equal tensors of all models are stored once. The models belong to one context; with
 * n > 1 all paths are in one folder, and `file` is required. `report` may be NULL. No data file is
 * overwritten; one that has the same bytes is used. Weights that are not available, sparse, encoded
 * or strings keep their place. Memory does not depend on the size of the weights. */
SURG_EXPORT surg_status surg_model_save_data(surg_model *const *models, const char *const *paths,
                                             size_t n, const surg_data_options *options,
                                             surg_data_report *report);

/* Options of surg_weights_export and surg_weights_import. Zero fields are the defaults. */
typedef struct surg_weights_options {
  uint32_t size; /* sizeof(surg_weights_options) */
  bool skip;     /* leave out what the other side cannot have; otherwise it is an error */
  bool compress; /* export: deflate the members of an .npz file */
  bool link;     /* import: tensors of at least 1024 bytes become references to the file */
  bool cast;     /* import: convert float types to those of the model */
  bool no_fsync; /* export */
} surg_weights_options;

/* What surg_weights_export or surg_weights_import did. */
typedef struct surg_weights_report {
  uint32_t size;           /* set by the caller: sizeof(surg_weights_report) */
  uint64_t tensors, bytes; /* that were written, or that changed in the model */
  uint64_t equal;          /* import: tensors that had these elements; they are unchanged */
  uint64_t skipped;        /* tensors that were left out because of `skip` */
  uint64_t missing;        /* import: initializers that the file does not have */
} surg_weights_report;

/* Writes all initializers to a file, by name: .safetensors or .npz, according to its extension. An
 * initializer of an inner graph whose name is used before has a number after it: "w#2". An error,
 * or skipped: element types that the format lacks (strings; bfloat16, 8-bit floats and 4-bit types
 * in .npz), sparse tensors, and weights that are not available. `report` may be NULL. O(bytes). */
SURG_EXPORT surg_status surg_weights_export(surg_model *m, const char *path,
                                            const surg_weights_options *options,
                                            surg_weights_report *report);
/* Replaces initializers by the tensors of a file with their names, as surg_weights_export assigns
 * them. Types and shapes must agree. Without `link` the elements are copied when the model is
 * saved; the file must not change before. An error, or skipped: tensors that the model does not
 * have. On failure the model is unchanged, unless it has failed. `report` may be NULL. */
SURG_EXPORT surg_status surg_weights_import(surg_model *m, const char *path,
                                            const surg_weights_options *options,
                                            surg_weights_report *report);

/* Options of surg_weights_lora. Zero fields are the defaults. */
typedef struct surg_lora_options {
  uint32_t size; /* sizeof(surg_lora_options) */
  bool lift;     /* the matrices of the adapters become inputs of the model; else weights change */
  bool skip;     /* leave out tensors that are no adapter, and adapters that fit no weight */
  double scale;  /* factor of the products; 0: alpha / r */
  double alpha;  /* 0: the tensor NAME.alpha of the file */
} surg_lora_options;
/* Adds low-rank adapters of a .safetensors or .npz file to the weights of a model: w + scale B A,
 * for each pair NAME.lora_A and NAME.lora_B (or lora_down and lora_up). A pair belongs to the
 * weight whose name, or whose consumer's name, has the same numbers and the most trailing words in
 * common with NAME. Products are computed in float, of double weights in double, and rounded once
 * to the type of the weight. On failure, reported, *model is unchanged; otherwise another handle.
 * `report` may be NULL; its `tensors` are the weights that changed, its `skipped` the pairs without
 * one. */
SURG_EXPORT surg_status surg_weights_lora(surg_model **model, const char *path,
                                          const surg_lora_options *options,
                                          surg_weights_report *report);

/* Replaces the elements of tensors of at least `threshold` bytes (0: 256) by a digest, their range
 * and their spread: initializers and attributes, no sparse tensors and no strings. The model that
 * is saved has no weights and is small; it can be inspected, checked and edited, but not run.
 * `report` may be NULL; its `skipped` are weights that are not available. O(bytes). */
SURG_EXPORT surg_status surg_weights_strip(surg_model *m, uint64_t threshold,
                                           surg_weights_report *report);
/* Options of surg_weights_restore. */
typedef struct surg_restore_options {
  uint32_t size; /* sizeof(surg_restore_options) */
  bool draw;     /* draw elements that the original does not have */
  uint64_t seed; /* for them */
} surg_restore_options;
/* Gives stripped tensors elements: those of a tensor of `original` (may be NULL) with the digest,
 * type and shape, under any name; else, with `draw`, numbers drawn with the range and spread of
 * the original ones, the same on every system. Else it is an error. `report` may be NULL; its
 * `equal` are those from the original. */
SURG_EXPORT surg_status surg_weights_restore(surg_model *m, surg_model *original,
                                             const surg_restore_options *options,
                                             surg_weights_report *report);

#ifdef __cplusplus
}
#endif
#endif
