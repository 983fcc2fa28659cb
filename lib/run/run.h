/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into a run of a model and what comes out of it: files of values, and made-up inputs. */
#ifndef SURG_RUN_H
#define SURG_RUN_H

#include "eval/core/value.h"

/* Reads a file: NumPy's .npy by its head, else the message that `type` asks for (NULL: a tensor).
 * Reported with the path in front: SURG_EIO, SURG_EINVALID for what does not hold,
 * SURG_EUNSUPPORTED (reported too) for element types of NumPy that ONNX lacks. The caller drops
 * *out. */
surg_status surg__value_load(surg_context *ctx, const char *path, const surg_type *type,
                             surg__array *out);
/* An array from the n bytes of an .npy file, versions 1 to 3, either byte order and layout. */
surg_status surg__npy_read(surg_context *ctx, const char *name, const void *bytes, size_t n,
                           surg__array *out);
/* Hands out every array of an .npz archive, under its name; `take` refers to what it keeps.
 * Reported; a status of `take` other than SURG_OK ends it. */
typedef surg_status (*surg__npz_member)(void *user, const char *name, const surg__array *a);
surg_status surg__npz_each(surg_context *ctx, const char *path, surg__npz_member take, void *user);
/* The whole of a regular file, in memory of the context. Reported. */
surg_status surg__file_read(surg_context *ctx, const char *path, uint8_t **bytes, size_t *n);
/* The bytes of an .npy file; b->failed: out of memory. SURG_EUNSUPPORTED: NumPy has no such type.
 */
surg_status surg__npy_write(const surg__array *a, surg__buf *b);
/* The bytes of a TensorProto, SequenceProto, OptionalProto or MapProto, as the value asks for.
 * SURG_EUNSUPPORTED: its parts have no form there. */
surg_status surg__value_message(const surg__array *a, const char *name, surg__buf *b);

typedef enum surg__fill {
  SURG__FILL_RANDOM,
  SURG__FILL_ZEROS,
  SURG__FILL_ONES,
  SURG__FILL_ARANGE,
  SURG__FILL_ADVERSARIAL /* random, with NaN, infinities, signed zeros, huge and tiny numbers */
} surg__fill;

#define SURG__MADE_BELOW 5 /* what random whole numbers are below at first */

/* How many elements a symbolic dim has; false: the default. */
typedef bool (*surg__dim_of)(void *user, const char *symbol, int64_t *out);

typedef struct surg__maker {
  surg__fill fill;
  uint64_t state;       /* the seed; moves on */
  int64_t below;        /* random whole numbers are from 0 to below - 1: often they are indices */
  int64_t size;         /* of dims that nothing else says */
  surg__dim_of dim_of;  /* may be NULL; *out comes in as `size` */
  void *user;
  double low, high;      /* of random floats; both 0: -1 and 1 */
  int64_t whole;         /* in place of `below`, if above 0 */
  double huge;           /* the largest finite adversarial number; 0: 1e30 */
  uint64_t most;         /* elements of an input with open dims; 0: any number */
  bool open;             /* set: the length of a dim was chosen here */
  const surg_type *also; /* says how long dims are that the type leaves open; may be NULL */
} surg__maker;

/* An input of a declared type; a sequence has two elements, an optional has one. SURG_EUNSUPPORTED:
 * it is a map, or tensors of unknown rank; SURG_ELIMIT:
 * it would have more than m->most elements. */
surg_status surg__input_make(surg_context *ctx, surg__maker *m, const surg_type *type,
                             surg__array *out);

/* Floats agree within absolute + relative * |want|, or within `ulp` steps of their type; NaN equals
 * NaN; all else is exact. */
typedef struct surg__tolerance {
  double relative, absolute;
  bool signs;  /* a zero has the sign of the other one, too */
  bool scaled; /* `absolute` counts in units of the largest finite element of `want`, if above 1 */
  uint64_t ulp;
} surg__tolerance;
typedef struct surg__distance {
  bool other_shape; /* or another type, or another number of items */
  uint64_t elements, differing,
      first;               /* differing: by more than allowed; first: the first of them */
  double max_abs, max_rel; /* over finite floats, the allowed ones too */
  uint64_t max_ulp;
  double cosine; /* of both as vectors of their finite floats; 1 where there are none */
  char why[200]; /* where they first differ and by what; "" */
} surg__distance;
/* Whether they agree. */
bool surg__value_compare(const surg__array *got, const surg__array *want, const surg__tolerance *t,
                         surg__distance *out);

/* Appends the value as text: type, shape, and at most `most` elements. */
void surg__value_print(const surg__array *a, uint64_t most, surg__buf *b);
/* Appends element i of a tensor. */
void surg__element_print(const surg__array *a, uint64_t i, surg__buf *b);

#endif
