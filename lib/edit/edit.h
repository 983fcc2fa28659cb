/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lib/edit. */
#ifndef SURG_EDIT_H
#define SURG_EDIT_H

#include <onnxsurg/edit.h>

#include "base/context.h"
#include "ir/ir.h"

typedef SURG_VEC(surg_node *) surg__nodes;
typedef SURG_VEC(surg_value *) surg__values;

/* A search for an address. One of the two lists is the result. */
typedef struct surg__search {
  surg_context *ctx;
  surg_model *m;
  const char *text;
  bool want_values;
  surg__nodes nodes;
  surg__values values;
  char *why; /* receives the reason of a failure; NULL: none */
  size_t room;
} surg__search;

/* Fills in the list. SURG_ENOTFOUND and SURG_EUSAGE with a reason. */
surg_status surg__search_run(surg__search *s);
void surg__search_free(surg__search *s);
/* Writes a reason; returns `status`. */
surg_status surg__search_why(surg__search *s, surg_status status, const char *fmt, ...)
    SURG_PRINTF(3, 4);


/* Writes an error line `pattern:1:5: error: TEXT` (NULL: out of memory) as `pattern:1:5: TEXT`. */
void surg__reason(const char *line, char *why, size_t room);
/* Copies a tensor of another model of the context. NULL: out of memory, or elements that cannot be
 * read. */
surg_tensor *surg__tensor_copy(surg_model *m, const surg_tensor *t);
/* The numbers of t, an int64 or double tensor, as a tensor of `dtype`. NULL: a number is not one of
 * the type (then *bad is its index), or out of memory (SIZE_MAX). */
surg_tensor *surg__literal_as(surg_model *m, const surg_tensor *t, int dtype, const int64_t *dims,
                              size_t rank, size_t *bad);

#endif
