/* SPDX-License-Identifier: Apache-2.0 */
/* Runs models on inputs: values, engines, inputs that are given, read from files or made up. The
 * built-in evaluator needs nothing else; ONNX Runtime is loaded where it is installed. Since 0.2.
 */
#ifndef ONNXSURG_EVALUATE_H
#define ONNXSURG_EVALUATE_H

#include <onnxsurg/sizes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- values --------------------------------------------------------------------------------- */

/* A value of a run: a tensor, sequence, optional or map. It belongs to a context and is freed
 * before it. It never changes; elements are shared with others and freed with the last of them. */
typedef struct surg_array surg_array;

/* A tensor of elements in native byte order, bool and types below a byte in one byte each. `data`
 * is copied; NULL: all zero. SURG_EUSAGE: no such type, a negative dimension, or a string type.
 * SURG_ENOMEM, SURG_ELIMIT. Free *out with surg_array_free. O(elements) */
SURG_EXPORT surg_status surg_array_new(surg_context *ctx, int dtype, const int64_t *dims,
                                       size_t rank, const void *data, surg_array **out);
/* A tensor of strings, which are copied. Free *out with surg_array_free. Errors as of
 * surg_array_new. */
SURG_EXPORT surg_status surg_array_new_strings(surg_context *ctx, const int64_t *dims, size_t rank,
                                               const surg_str *strings, surg_array **out);
/* Reads a value from a file: .npy by its header, else the message for `type` (NULL:
 * TensorProto). uint16 becomes bfloat16 where `type` is bfloat16. Reported: SURG_EIO;
 * SURG_EINVALID: not such a file; SURG_EUNSUPPORTED: ONNX has no such element type. Free *out
 * with surg_array_free. O(bytes) */
SURG_EXPORT surg_status surg_array_load(surg_context *ctx, const char *path, const surg_type *type,
                                        surg_array **out);
/* How surg_array_save writes a value. */
typedef enum surg_array_format {
  SURG_ARRAY_NPY = 0, /* NumPy's; tensors of types that NumPy has */
  SURG_ARRAY_PB = 1   /* TensorProto, SequenceProto, OptionalProto or MapProto */
} surg_array_format;
/* Writes a value to a file, which is replaced at once or stays as it is; `format` is a
 * surg_array_format, `name` is written into a message (NULL: ""). SURG_EUNSUPPORTED, not reported:
 * the format cannot express the value. SURG_EIO, SURG_ENOMEM, reported. O(bytes) */
SURG_EXPORT surg_status surg_array_save(const surg_array *a, const char *path, int32_t format,
                                        const char *name);
/* Frees a value; NULL is allowed. */
SURG_EXPORT void surg_array_free(surg_array *a);
/* A surg_type_kind: TENSOR, SEQUENCE, OPTIONAL or MAP; UNKNOWN for NULL and for an output that was
 * not computed. */
SURG_EXPORT int32_t surg_array_kind(const surg_array *a);
/* Element type of a tensor; 0 for others. */
SURG_EXPORT int surg_array_dtype(const surg_array *a);
/* Number of dimensions of a tensor. */
SURG_EXPORT size_t surg_array_rank(const surg_array *a);
/* Dimensions of a tensor; their number is surg_array_rank. Borrowed. */
SURG_EXPORT const int64_t *surg_array_dims(const surg_array *a);
/* Number of elements of a tensor, or of items of a sequence, optional (0 or 1) or map (2: tensors
 * of keys and of values). */
SURG_EXPORT uint64_t surg_array_count(const surg_array *a);
/* Elements of a tensor in the form of surg_array_new; strings are surg_str. Borrowed; NULL for
 * others. */
SURG_EXPORT const void *surg_array_data(const surg_array *a);
/* Element i of a tensor as a number: any type but strings and complex numbers, rounded to double. 0
 * past the end. */
SURG_EXPORT double surg_array_real(const surg_array *a, uint64_t i);
/* Element i of an integer or bool tensor, sign-extended; UINT64 as its bits. 0 past the end. */
SURG_EXPORT int64_t surg_array_int(const surg_array *a, uint64_t i);
/* Item i of a sequence, optional or map, to free. SURG_ENOTFOUND past the end. */
SURG_EXPORT surg_status surg_array_item(const surg_array *a, uint64_t i, surg_array **out);
/* The value as text: type, shape, and at most `most` elements. To free with
 * surg_context_free_bytes. SURG_ENOMEM */
SURG_EXPORT surg_status surg_array_text(const surg_array *a, uint64_t most, char **text);

/* ---- engines -------------------------------------------------------------------------------- */

/* What runs models, and its budgets. It belongs to a context, and is freed before it, after its
 * sessions. */
typedef struct surg_engine surg_engine;

/* How much ONNX Runtime optimizes a model. */
typedef enum surg_optimize {
  SURG_OPTIMIZE_ALL = 0,
  SURG_OPTIMIZE_NONE = 1,
  SURG_OPTIMIZE_BASIC = 2,
  SURG_OPTIMIZE_EXTENDED = 3
} surg_optimize;

typedef struct surg_engine_options {
  uint32_t size;       /* sizeof(surg_engine_options) */
  bool runtime;        /* ONNX Runtime; else the built-in evaluator */
  const char *library; /* path of ONNX Runtime; NULL: the dynamic loader searches */
  int32_t optimize;    /* a surg_optimize, of ONNX Runtime */
  uint32_t threads;    /* of ONNX Runtime; 0: 1 */
  uint64_t max_bytes;  /* of the results of one node, for the built-in evaluator; 0: 4 GiB */
  uint64_t max_work;   /* operations of a run; 0: 2^42 */
  uint64_t max_turns;  /* iterations of all loops of a run; 0: 2^24; UINT64_MAX: no limit */
  uint64_t timeout_ms; /* of all runs together, from now on; checked between nodes; 0: none */
  uint64_t seed;       /* of random operators */
  bool no_random;      /* they are not computed */
  bool (*cancel)(void *user); /* asked between nodes; true ends the run with SURG_ECANCELLED. May be
                               * NULL */
  void *user;
} surg_engine_options;

/* An engine; `options` may be NULL. SURG_EUSAGE, reported: ONNX Runtime is not found, or is none.
 * The library stays loaded until the process ends. Free *out with surg_engine_free. */
SURG_EXPORT surg_status surg_engine_new(surg_context *ctx, const surg_engine_options *options,
                                        surg_engine **out);
/* Frees an engine; NULL is allowed. */
SURG_EXPORT void surg_engine_free(surg_engine *e);
/* "builtin" or "ort". Static text. */
SURG_EXPORT const char *surg_engine_name(const surg_engine *e);

/* ---- inputs --------------------------------------------------------------------------------- */

/* The inputs of a model for a run, some of them given. It refers to the model and is freed before
 * it. */
typedef struct surg_inputs surg_inputs;

/* What inputs contain that are not given and have no default. */
typedef enum surg_fill {
  SURG_FILL_RANDOM = 0,
  SURG_FILL_ZEROS = 1,
  SURG_FILL_ONES = 2,
  SURG_FILL_ARANGE = 3,
  SURG_FILL_ADVERSARIAL =
      4 /* random, with NaN, infinities, -0, very large and very small numbers */
} surg_fill;

typedef struct surg_inputs_options {
  uint32_t size;          /* sizeof(surg_inputs_options) */
  int32_t fill;           /* a surg_fill */
  uint64_t seed;          /* of random inputs */
  const surg_size *sizes; /* of symbols; other symbols are 2. Copied */
  size_t n_sizes;
} surg_inputs_options;

/* Inputs of which none is given; `options` may be NULL. SURG_EUSAGE, reported: no input has a
 * dimension of that name. Free *out with surg_inputs_free. */
SURG_EXPORT surg_status surg_inputs_new(surg_model *model, const surg_inputs_options *options,
                                        surg_inputs **out);
/* Frees inputs; NULL is allowed. */
SURG_EXPORT void surg_inputs_free(surg_inputs *in);
/* Gives an input by name; the value is shared. Reported: SURG_EUSAGE: there is no such input, with
 * the nearest name; SURG_EINVALID: it does not match the declared type. */
SURG_EXPORT surg_status surg_inputs_set(surg_inputs *in, const char *name, const surg_array *a);
/* Gives an input from a file: .npy, .pb, or .npz (the member of that name, or the only one).
 * Failures as for surg_array_load and surg_inputs_set. */
SURG_EXPORT surg_status surg_inputs_read(surg_inputs *in, const char *name, const char *path);
/* Gives inputs from a folder (input_0.pb or input_0.npy, input_1.pb ... in the order of the model's
 * inputs) or an .npz file (by name, or arr_0, arr_1 ...). SURG_EINVALID, reported: a file is for no
 * input. SURG_EIO, reported: it is no folder. */
SURG_EXPORT surg_status surg_inputs_read_all(surg_inputs *in, const char *path);
/* SURG_OK if no input would be made up; SURG_EINVALID, reported: an input is not given and has no
 * default; `path`, where it was looked for, is in the message. */
SURG_EXPORT surg_status surg_inputs_require_all(const surg_inputs *in, const char *path);
/* Value i, in the order of the model's inputs, to free: given, or made up by a run.
 * SURG_ENOTFOUND: neither. */
SURG_EXPORT surg_status surg_inputs_get(const surg_inputs *in, size_t i, surg_array **out);
/* Whether the last run made values up. */
SURG_EXPORT bool surg_inputs_made(const surg_inputs *in);
/* "DIR/STEM_i.pb" or "DIR/STEM_i.npy", whichever exists: the i-th file of a folder of test data, to
 * free with surg_context_free_bytes. SURG_ENOTFOUND: neither exists; SURG_EIO, reported. */
SURG_EXPORT surg_status surg_data_file(surg_context *ctx, const char *dir, const char *stem,
                                       size_t i, char **path);
/* Whether a folder has only files STEM_i of the first n of a model; SURG_EINVALID, reported: it has
 * others, so its data is for another model. SURG_EIO, reported: it is no folder. */
SURG_EXPORT surg_status surg_data_folder(const surg_model *model, const char *dir, const char *stem,
                                         size_t n);

/* ---- runs ----------------------------------------------------------------------------------- */

/* A model that is prepared for runs by an engine. It refers to both and is freed before them; the
 * model must not be edited. */
typedef struct surg_session surg_session;

/* A session; graphs of the model must be sorted. SURG_EINVALID, SURG_EUNSUPPORTED, reported: the
 * engine rejects the model. Free *out with surg_session_free. */
SURG_EXPORT surg_status surg_session_new(const surg_engine *e, surg_model *model,
                                         surg_session **out);
/* Frees a session; NULL is allowed. */
SURG_EXPORT void surg_session_free(surg_session *s);
/* Runs the model. `in` may be NULL: all inputs are made up. out[i] receives output i, n_out of
 * them, each to free; on failure all are NULL. Inputs that were made up stay for later runs.
 * Failures are not reported, see surg_session_why: SURG_EINVALID: the inputs do not fit the model;
 * SURG_EUNSUPPORTED: an operator or input is not supported; SURG_ELIMIT: a budget or time;
 * SURG_ECANCELLED; SURG_ENOMEM. */
SURG_EXPORT surg_status surg_session_run(surg_session *s, surg_inputs *in, surg_array **out,
                                         size_t n_out);
/* Why the last run failed, one line with the place; "": it did not. Until the next run. */
SURG_EXPORT const char *surg_session_why(const surg_session *s);
/* Called after each node of the main graph with its time in ns, that of its subgraphs included;
 * NULL: no more. The built-in evaluator alone does. */
typedef void (*surg_node_time_fn)(void *user, const surg_node *n, uint64_t ns);
/* Sets what is called with the time of each node. */
SURG_EXPORT void surg_session_watch(surg_session *s, surg_node_time_fn fn, void *user);
/* Called with each value that a node computes, and each input that a subgraph or a function
 * receives, in the order of the run: once in each iteration of a loop and each call of a function.
 * Not with what DequantizeLinear and Transpose make of large weights alone: no run needs it whole.
 * The array is valid during the call. */
typedef void (*surg_value_fn)(void *user, const surg_value *v, const surg_array *a);
/* Sets what is called with the values of all graphs of the model; NULL: nothing. The built-in
 * evaluator alone does. */
SURG_EXPORT void surg_session_observe(surg_session *s, surg_value_fn fn, void *user);
/* The number of runs that the built-in evaluator began: more than one for a surg_session_run whose
 * model rejects inputs that are drawn for it, since others are drawn then. */
SURG_EXPORT uint64_t surg_session_runs(const surg_session *s);
/* A copy of a model whose outputs are its own, then all values that nodes of its main graph
 * compute; to free with surg_model_free. SURG_EUSAGE for NULL, SURG_ENOMEM. O(model) */
SURG_EXPORT surg_status surg_model_all_outputs(const surg_model *model, surg_model **out);

#ifdef __cplusplus
}
#endif
#endif
