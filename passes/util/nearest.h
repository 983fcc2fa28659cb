/* SPDX-License-Identifier: Apache-2.0 */
/* The most similar of many names, for "did you mean". */
#ifndef SURG_PASSES_NEAREST_H
#define SURG_PASSES_NEAREST_H

#include <onnxsurg/onnxsurg.h>

#define NEAREST_NAME 304 /* longer names are never the nearest */

typedef struct nearest {
  const char *name;        /* what the user typed */
  char best[NEAREST_NAME]; /* the most similar name so far, or "" */
  char hint[NEAREST_NAME + 24];
} nearest;

/* Compares one more name. */
void nearest_offer(nearest *x, const char *name);
/* The same for an operator, as users write it: Relu, com.acme.Foo. */
void nearest_offer_operator(nearest *x, const char *domain, const char *op);
/* Compares the words of a list, and the names of all element types. */
void nearest_offer_list(nearest *x, const char *const *list, size_t n);
void nearest_offer_types(nearest *x);
/* "; did you mean 'NAME'?", or "" if none is similar; borrowed from x. */
const char *nearest_hint(nearest *x);

#endif
