/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a running model: tensors, sequences, optionals and maps, with their ownership.
 *
 * Arrays that are made during a run are in cells, which are reference-counted. A copy of a
 * surg__array without surg__array_ref is borrowed. A view (as from Reshape) shares the elements of
 * another cell; a list owns its items. A cell is immutable once the node that made it is
 * finished. */
#ifndef SURG_VALUE_H
#define SURG_VALUE_H

#include "eval/core/eval.h"

typedef struct surg__cell surg__cell;

/* The element type of a sequence or optional: `kind` is a dtype, SURG__V_SEQUENCE or SURG__V_MAP;
 * 0: unknown. `dtype` is the type of the tensors in a sequence, or of the values of a map; `key` is
 * the type of its keys. */
typedef struct surg__content {
  int kind, dtype, key;
} surg__content;

typedef struct surg__list {
  surg__content elem;
  surg__array items[];
} surg__list;

static inline bool surg__array_is_list(const surg__array *a) {
  return a->dtype >= SURG__V_SEQUENCE;
}
static inline surg__list *surg__list_of(const surg__array *a) {
  assert(surg__array_is_list(a));
  return a->data;
}

/* Makes an array in a new cell. Elements are uninitialised, except strings, which are empty. String
 * data may be in other memory until surg__array_settle. */
surg_status surg__array_make(surg_context *ctx, int dtype, const int64_t *dims, uint32_t rank,
                             surg__array *out);
/* A view of `a` with another shape of the same element count. */
surg_status surg__array_view(surg_context *ctx, const surg__array *a, const int64_t *dims,
                             uint32_t rank, surg__array *out);
/* Makes a list of `count` absent items; the list owns the arrays stored in it. */
surg_status surg__list_make(surg_context *ctx, int kind, surg__content elem, uint64_t count,
                            surg__array *out);
/* Adds a reference; removes one, and makes *a absent. */
surg__array surg__array_ref(const surg__array *a);
void surg__array_drop(surg__array *a);
/* Makes an array own all it refers to: copies strings from a kernel's arena or from another array,
 * and copies an array without a cell into one. */
surg_status surg__array_settle(surg_context *ctx, surg__array *a);
/* A deep copy in an arena. */
surg_status surg__array_copy(surg__arena *arena, const surg__array *a, surg__array *out);
/* Reads a tensor of the model into a new cell. */
surg_status surg__array_read(surg_context *ctx, const surg_tensor *t, surg__array *out);
/* Makes an array without elements, and the stream, all 0, that it reads them from. */
surg_status surg__array_stream(surg_context *ctx, int dtype, const int64_t *dims, uint32_t rank,
                               surg__array *out, struct surg__stream **s);

/* The content type of a list whose items are like `a`, or have the type t. */
surg__content surg__content_of(const surg__array *a);
surg__content surg__content_of_type(const surg_type *t);
bool surg__content_equal(surg__content a, surg__content b); /* unknown types are equal to all */
/* Whether the array has a type of the schema, such as "seq(tensor(float))". */
bool surg__array_is(const surg__array *a, const char *type);

/* --- for kernels (lib/eval/core/kctx.c) --- */
/* Makes output i a list of `count` absent items; *items NULL: the output is not wanted. */
surg__kstatus surg__k_list(surg_kctx *k, uint32_t i, int kind, surg__content elem, uint64_t count,
                           surg__array **items);
/* Makes an array to store in a list, within the budget of the node. */
surg__kstatus surg__k_item(surg_kctx *k, int dtype, const int64_t *dims, uint32_t rank,
                           surg__array *out);

#endif
