/* SPDX-License-Identifier: Apache-2.0 */
/* What a conversion of element types needs to know: of operators, of targets, of weights, and of
 * calls of functions. Since 0.2. */
#ifndef ONNXSURG_PRECISION_H
#define ONNXSURG_PRECISION_H

#include <onnxsurg/target.h>
#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an operator is to a conversion to a narrower float type. */
typedef enum surg_narrow {
  SURG_NARROW_ANY = 0,        /* nothing is known against it, and it gains little */
  SURG_NARROW_GAIN = 1,       /* products that engines add up in a wider type: it gains most */
  SURG_NARROW_WIDE = 2,       /* it loses digits or overflows in 16 bits, or few engines have it */
  SURG_NARROW_QUANTIZE = 3,   /* from floats to quantized integers */
  SURG_NARROW_DEQUANTIZE = 4, /* from quantized integers to floats */
  SURG_NARROW_BITS = 5,       /* it reads the bits of elements */
  SURG_NARROW_RARE = 6        /* as WIDE, and hardly any engine has it in 16 bits */
} surg_narrow;
/* What the operator of a schema is; SURG_NARROW_ANY for NULL and custom operators. */
SURG_EXPORT surg_narrow surg_schema_narrow(const surg_schema *s);
/* Whether integers that fit 32 bits, operands and results, are the same if it computes in them. */
SURG_EXPORT bool surg_schema_fits_word(const surg_schema *s);
/* Whether the operator clamps the elements of input i, integers, to the size of an axis. */
SURG_EXPORT bool surg_schema_clamps(const surg_schema *s, size_t i);
/* Whether input i, or output i if `output`, accepts the type `like` with elements of `dtype` in
 * place of its own: tensors, sequences and optionals of tensors. */
SURG_EXPORT bool surg_schema_accepts(const surg_schema *s, bool output, size_t i,
                                     const surg_type *like, int dtype);
/* The element types, bit d for type d, that a target states for input i, or output i if `output`,
 * of a node in its version, with its attributes; all, if it limits none of an operator of ONNX. 0:
 * the target, with its host, does not list the operator, supports no version of it with these
 * attributes, or states no types of a runtime's own operator. Where it states types without a limit
 * in words, only these. Other limits of the target do not count. */
SURG_EXPORT uint64_t surg_target_types(const surg_target *t, const surg_node *n, bool output,
                                       size_t i);
/* Infers types so that values in function bodies have the types common to all calls in the model,
 * until the next inference or edit. */
SURG_EXPORT surg_status surg_model_infer_calls(surg_model *m);

/* Elements of a float tensor. */
typedef struct surg_extent {
  uint32_t size;         /* set by the caller: sizeof(surg_extent) */
  bool nan, inf;         /* there are such elements */
  double least, largest; /* absolute values of finite elements other than 0; 0: there are none */
  double low, high;      /* of finite elements and 0 */
} surg_extent;
/* Reads a tensor of float, double, float16, bfloat16 or int64, in pieces; integers are rounded.
 * SURG_EUNSUPPORTED: another element type, a sparse tensor, or missing data. O(bytes). */
SURG_EXPORT surg_status surg_tensor_extent(const surg_tensor *t, surg_extent *out);
/* As surg_tensor_cast, but numbers stay numbers, and other than 0: one beyond the range of the type
 * becomes its largest number, one that would be 0 its smallest number with all digits. *clamped:
 * whether there was one. */
SURG_EXPORT surg_tensor *surg_tensor_narrow(surg_model *m, const surg_tensor *t, int dtype,
                                            bool *clamped);

/* A uint8 tensor as int8, or the other way round: every element minus 128, or plus 128. In pieces.
 * SURG_EUNSUPPORTED, sticky: another element type, or a sparse tensor. O(bytes) */
SURG_EXPORT surg_tensor *surg_tensor_flip_sign(surg_model *m, const surg_tensor *t);

/* Gives n bytes of a tensor, from offset `at` on, in the format of raw_data. */
typedef surg_status (*surg_bytes_fn)(void *user, uint64_t at, void *out, size_t n);
/* Creates a tensor whose bytes `fn` gives, in pieces and in order, so that memory does not grow
 * with it. A status of `fn` other than SURG_OK fails the model. NULL on failure. O(bytes) */
SURG_EXPORT surg_tensor *surg_tensor_new_pieces(surg_model *m, int dtype, const int64_t *dims,
                                                size_t rank, surg_bytes_fn fn, void *user);

/* How the elements of a tensor are quantized: q = round (x / scale) + zero point. */
typedef struct surg_quantization {
  uint32_t size;  /* set by the caller: sizeof(surg_quantization) */
  int32_t dtype;  /* INT8, UINT8, INT16, UINT16, INT4, UINT4, or FLOAT8E4M3FN, always symmetric */
  bool symmetric; /* zero points are 0, or the middle of an unsigned type */
  bool reduced;   /* integers of one bit less, so that sums of two products fit 16 bits */
  bool each;      /* a scale for each slice of `axis`; else one for the tensor */
  size_t axis;
  uint64_t block; /* with `each`: a scale for so many elements along the axis; 0: for a slice */
  double signal;  /* set: the sum of the squares of the elements, */
  double noise;   /* ... and of the errors */
} surg_quantization;
/* Quantizes a tensor of float, float16 or bfloat16, in pieces. A scale has the type of the tensor
 * and covers 0 and the elements that share it; it is 1 where all are 0. Scales and zero points have
 * the shape that QuantizeLinear expects. A restored element differs by at most half a scale, but
 * for the rounding of the float types. SURG_EINVALID, not reported: an element is NaN or infinite.
 * SURG_EUNSUPPORTED: another element type, a sparse tensor, missing data, no elements, no such
 * axis, or more than 2^24 scales of a tensor, or of a block. O(bytes) */
SURG_EXPORT surg_status surg_tensor_quantize(surg_model *m, const surg_tensor *t,
                                             surg_quantization *how, surg_tensor **q,
                                             surg_tensor **scale, surg_tensor **zero);
/* Restores a tensor from what surg_tensor_quantize makes, or another producer of integers of up to
 * 32 bits or float8: (q - zero) * scale, of the type of the scales, as DequantizeLinear computes it
 * with this axis and block (0: slices). `zero` may be NULL. SURG_EINVALID: shapes do not fit.
 * SURG_EUNSUPPORTED as above. O(bytes) */
SURG_EXPORT surg_status surg_tensor_dequantize(surg_model *m, const surg_tensor *q,
                                               const surg_tensor *scale, const surg_tensor *zero,
                                               size_t axis, uint64_t block, surg_tensor **out);

/* Limits of a float type; elements are rounded to nearest. */
typedef struct surg_float_limits {
  uint32_t size; /* set by the caller: sizeof(surg_float_limits) */
  double top;    /* the largest number */
  double normal; /* the smallest number with all digits */
  double zero;   /* numbers up to this become 0 */
  double unit;   /* half the distance of 1 to the next number */
} surg_float_limits;
/* The limits of float, double, float16 or bfloat16. SURG_EUNSUPPORTED: another type. */
SURG_EXPORT surg_status surg_dtype_limits(int dtype, surg_float_limits *out);

/* A cell of a row of a report: text, or if that is NULL a number; NaN: there is none. */
typedef struct surg_cell {
  const char *name; /* of the column; a string that is never freed */
  const char *text;
  double number;
} surg_cell;
/* In a pass: adds a row to the report, which --stats prints in columns and --json as an object.
 * Rows of one table, a name that is never freed, have the same cells. The last cell is text of any
 * length, printed on a line of its own where it is not empty; the first may be a name of any
 * length. At most 1000 rows of a pass are kept. */
SURG_EXPORT void surg_pass_row(surg_pass_ctx *p, const char *table, const surg_cell *cells,
                               size_t n);

#ifdef __cplusplus
}
#endif
#endif
