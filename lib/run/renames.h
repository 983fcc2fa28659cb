/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a model that a run renamed, from its log. */
#ifndef SURG_RENAMES_H
#define SURG_RENAMES_H

#include <onnxsurg/onnxsurg.h>

typedef struct surg__renames {
  surg_context *ctx;
  struct rename *first; /* hashed by the name before the run */
} surg__renames;

/* Reads the log. Reported: SURG_EIO, SURG_EINVALID, SURG_ENOMEM. */
surg_status surg__renames_load(surg_context *ctx, const char *path, surg__renames *out);
void surg__renames_free(surg__renames *r);
/* The name of a value after the run; `name` itself if unchanged. */
const char *surg__renamed(const void *renames, const char *name);

#endif
