/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs of model runs: files of values, made-up inputs, comparison and printing of
 * values. */
#ifndef SURG_RUN_H
#define SURG_RUN_H

#include "eval/core/value.h"

/* Reads a value from a file: .npy if it has NumPy's header, else the message for `type` (NULL: a
 * TensorProto). Reported with the path: SURG_EIO, SURG_EINVALID for invalid content,
 * SURG_EUNSUPPORTED for NumPy element types without an ONNX equivalent. The caller drops *out. */
surg_status surg__value_load(surg_context *ctx, const char *path, const surg_type *type,
                             surg__array *out);
/* As surg__value_load; uint16 becomes bfloat16 where the type says so, as old test suites store it
 * that way. */
surg_status surg__value_load_as(surg_context *ctx, const char *path, const surg_type *type,
                                surg__array *out);
#define SURG__NPY_HEAD 4096u /* bytes of a header that is read, with its magic */
/* The header of an .npy file. */
typedef struct surg__npy_head {
  int dtype;
  size_t size;       /* bytes of an element */
  bool big, fortran; /* big-endian; column-major */
  uint32_t rank;
  int64_t dims[SURG_LIMIT_RANK];
  uint64_t count;
  size_t start;    /* of the elements */
  const char *why; /* the error, if parsing failed; or NULL */
} surg__npy_head;
/* Parses the header at the start of an .npy file; false: it is invalid or not complete. */
bool surg__npy_parse(const void *bytes, size_t n, surg__npy_head *h);
/* Appends the header of an .npy file; its size is a multiple of 64. False: the format has no such
 * element type or rank. */
bool surg__npy_put_head(int dtype, const int64_t *dims, uint32_t rank, surg__buf *b);
/* Reads an array from the n bytes of an .npy file, versions 1 to 3, either byte order and
 * layout. */
surg_status surg__npy_read(surg_context *ctx, const char *name, const void *bytes, size_t n,
                           surg__array *out);
/* Calls `take` for every array of an .npz archive, with its name; `take` adds a reference to
 * each array it keeps. Failures are reported; a status of `take` other than SURG_OK ends the
 * walk. */
typedef surg_status (*surg__npz_member)(void *user, const char *name, const surg__array *a);
surg_status surg__npz_each(surg_context *ctx, const char *path, surg__npz_member take, void *user);
/* Reads a whole regular file into memory of the context. Failures are reported. */
surg_status surg__file_read(surg_context *ctx, const char *path, uint8_t **bytes, size_t *n);
/* Appends the bytes of an .npy file; b->failed: out of memory. SURG_EUNSUPPORTED: NumPy has no
 * such type. */
surg_status surg__npy_write(const surg__array *a, surg__buf *b);
/* Appends the bytes of a TensorProto, SequenceProto, OptionalProto or MapProto, depending on the
 * value. SURG_EUNSUPPORTED: the messages cannot express a part of the value. */
surg_status surg__value_message(const surg__array *a, const char *name, surg__buf *b);

typedef enum surg__fill {
  SURG__FILL_RANDOM,
  SURG__FILL_ZEROS,
  SURG__FILL_ONES,
  SURG__FILL_ARANGE,
  SURG__FILL_ADVERSARIAL /* random, with NaN, infinities, signed zeros, very large and very small
                          * numbers */
} surg__fill;

#define SURG__MADE_BELOW 5 /* initial upper bound of random integers, exclusive */

/* The size of a symbolic dimension; false: the default size. */
typedef bool (*surg__dim_of)(void *user, const char *symbol, int64_t *out);

typedef struct surg__maker {
  surg__fill fill;
  uint64_t state;      /* the seed; advances with each draw */
  int64_t below;       /* random integers above 16 bits are from 0 to below - 1 (often indices) */
  int64_t size;        /* default size of open dimensions */
  surg__dim_of dim_of; /* may be NULL; *out is initially `size` */
  void *user;
  double low, high;      /* range of random floats; both 0: -1 to 1 */
  int64_t whole;         /* replaces `below` if above 0 */
  double huge;           /* the largest finite adversarial number; 0: 1e30 */
  uint64_t most;         /* limit on the elements of an input with open dimensions; 0: none */
  bool open;             /* set: the size of a dimension was chosen here */
  const surg_type *also; /* supplies sizes that the declared type leaves open; may be NULL */
} surg__maker;

/* Makes an input by its declared type; a sequence has two elements, an optional has one. Elements
 * are in the range that the user assumes for the input, and random ones are drawn from all of it.
 * SURG_EUNSUPPORTED: the type is a map, or has tensors of unknown rank; SURG_ELIMIT: the input
 * would have more than m->most elements. */
surg_status surg__input_make(surg_context *ctx, surg__maker *m, const surg_value *v,
                             surg__array *out);
/* Why surg__input_make failed with s, as what follows the name of the input in a sentence. */
const char *surg__input_unmade(const surg_value *v, surg_status s);
/* Makes an input that has the default t: its elements; `vary`: floats moved by up to an eighth. */
surg_status surg__input_near(surg_context *ctx, surg__maker *m, const surg_tensor *t, bool vary,
                             surg__array *out);
/* Clamps the elements of a made-up input to the range that the user assumes for v; NULL: none. */
void surg__input_limit(const surg_value *v, const surg__array *in);

/* Limits of equality. Floats agree within absolute + relative * |want|, or within `ulp` units in
 * the last place of their type; NaN equals NaN; everything else must be equal. */
typedef struct surg__tolerance {
  double relative, absolute;
  bool signs;  /* zeros must have the same sign */
  bool scaled; /* `absolute` is multiplied by the largest finite element of `want`, if that is
                * above 1 */
  uint64_t ulp;
} surg__tolerance;
typedef struct surg__distance {
  bool other_shape;                    /* or another type, or another number of items */
  uint64_t elements, differing, first; /* differing: by more than the tolerance; first: index of the
                                        * first of them */
  double max_abs, max_rel; /* over finite floats, including those within the tolerance */
  uint64_t max_ulp;
  double cosine; /* cosine similarity of the finite floats of both; 1 if there are none */
  char why[200]; /* the first difference: where and how; "" if none */
} surg__distance;
/* Compares two values; returns whether they agree. */
bool surg__value_compare(const surg__array *got, const surg__array *want, const surg__tolerance *t,
                         surg__distance *out);

/* Appends the value as text: type, shape, and at most `most` elements. */
void surg__value_print(const surg__array *a, uint64_t most, surg__buf *b);
/* Appends element i of a tensor. */
void surg__element_print(const surg__array *a, uint64_t i, surg__buf *b);

#endif
