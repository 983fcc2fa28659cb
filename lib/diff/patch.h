/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that make and apply patches. */
#ifndef SURG_PATCH_H
#define SURG_PATCH_H

#include <onnxsurg/diff.h>

#include "base/context.h"
#include "ir/ir.h"

/* A sequence of bytes: the source of a model, or a data file. */
typedef struct surg__bytes {
  const void *of;
  uint64_t size;
  uint32_t number; /* of the file in its model: 0 is the model */
  surg_status (*read)(const void *of, uint64_t at, void *out, size_t n);
} surg__bytes;

/* Bytes of a new file: a range of an old one, or (copy false) of the new one itself. */
typedef struct surg__op {
  bool copy;
  uint32_t number; /* of the old file */
  uint64_t from, n;
} surg__op;
typedef SURG_VEC(surg__op) surg__ops;

/* Appends to `out` how `new` is made from `old`. O(bytes of both); memory does not depend on them
 * beyond an index of at most 32 MiB. */
surg_status surg__delta(surg_context *ctx, const surg__bytes *old, const surg__bytes *new,
                        surg__ops *out);

/* XXH3, 128 bits, as hexadecimal digits. */
#define SURG__PATCH_DIGEST 33u
surg_status surg__patch_digest(surg_context *ctx, const surg__bytes *b,
                               char text[SURG__PATCH_DIGEST]);
/* The bytes of a model as it was loaded. SURG_EINVALID, reported: it was edited. */
surg_status surg__patch_source(const surg_model *m, surg__bytes *out);
/* Data file i of a model, in the order of their first use; false: there is none. */
bool surg__patch_file(const surg_model *m, size_t i, surg__bytes *out, const char **name);

#define SURG__PATCH_MAGIC "onnxsurg-patch 1 "
#define SURG__PATCH_HEADER (256u << 20) /* bytes of the header of a patch, at most */

#endif
