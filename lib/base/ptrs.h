/* SPDX-License-Identifier: Apache-2.0 */
/* A set of pointers, compared by identity. {0} is an empty set. Its order is never used, as
 * addresses differ between runs. */
#ifndef SURG_BASE_PTRS_H
#define SURG_BASE_PTRS_H

#include "base/base.h"

typedef struct surg__ptrs {
  const void **slots; /* NULL: free */
  size_t size;        /* a power of two, or 0 */
  size_t count;
} surg__ptrs;

bool surg__ptrs_has(const surg__ptrs *s, const void *p);
/* Adds p, which is not NULL; *added (may be NULL): it was not in the set. False: out of memory,
 * nothing has changed. */
bool surg__ptrs_add(surg_context *ctx, surg__ptrs *s, const void *p, bool *added);
void surg__ptrs_free(surg_context *ctx, surg__ptrs *s);

#endif
