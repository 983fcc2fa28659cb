/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a running model: tensors, sequences, optionals and maps, and who keeps them.
 *
 * An array made while a model runs stands in a cell, which counts its bearers; copying a
 * surg__array without surg__array_ref borrows it. A view (Reshape) shares the elements of another
 * cell, a list holds its items. Nothing in a cell changes once the node that made it is done. */
#ifndef SURG_VALUE_H
#define SURG_VALUE_H

#include "eval/core/eval.h"

typedef struct surg__cell surg__cell;

/* What a sequence or optional holds: `kind` is a dtype, SURG__V_SEQUENCE or SURG__V_MAP; 0: not
 * known. `dtype` is that of the tensors in a sequence, or of the values of a map; `key` that of its
 * keys. */
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

/* An array of its own cell, elements not cleared (handles of strings are). The cell's text may
 * stand elsewhere until surg__array_settle. */
surg_status surg__array_make(surg_context *ctx, int dtype, const int64_t *dims, uint32_t rank,
                             surg__array *out);
/* The elements of `a` under another shape of as many elements. */
surg_status surg__array_view(surg_context *ctx, const surg__array *a, const int64_t *dims,
                             uint32_t rank, surg__array *out);
/* `count` absent items: put arrays there that the list is to keep. */
surg_status surg__list_make(surg_context *ctx, int kind, surg__content elem, uint64_t count,
                            surg__array *out);
/* One bearer more; one less (and *a is absent then). */
surg__array surg__array_ref(const surg__array *a);
void surg__array_drop(surg__array *a);
/* Makes an array of any origin keep all it refers to: text that stands in a kernel's arena or in
 * another array is copied, and what is in no cell gets one. */
surg_status surg__array_settle(surg_context *ctx, surg__array *a);
/* A copy in an arena, whole. */
surg_status surg__array_copy(surg__arena *arena, const surg__array *a, surg__array *out);
/* A tensor of the model in a cell. */
surg_status surg__array_read(surg_context *ctx, const surg_tensor *t, surg__array *out);

/* What a list of such arrays holds. */
surg__content surg__content_of(const surg__array *a);
surg__content surg__content_of_type(const surg_type *t);
bool surg__content_equal(surg__content a, surg__content b); /* what is not known is equal to all */
/* Whether a type string of the schema ("seq(tensor(float))") is the type of the array. */
bool surg__array_is(const surg__array *a, const char *type);

/* --- for kernels (lib/eval/core/kctx.c) --- */
/* Makes output i a list of `count` absent items; *items NULL: it is not wanted. */
surg__kstatus surg__k_list(surg_kctx *k, uint32_t i, int kind, surg__content elem, uint64_t count,
                           surg__array **items);
/* Makes an array to put into a list, within the budget of the node. */
surg__kstatus surg__k_item(surg_kctx *k, int dtype, const int64_t *dims, uint32_t rank,
                           surg__array *out);

#endif
