/* SPDX-License-Identifier: Apache-2.0 */
/* A file that was checked, for the files of lib/diagnose. */
#ifndef SURG_CHECKED_H
#define SURG_CHECKED_H

#include <onnxsurg/check.h>

#include "base/base.h"

struct surg_checked {
  surg_context *ctx;
  surg_model *m; /* NULL: the file cannot be loaded as a model */
  char *path;
  char *name; /* the path as the loader prints it */
  const void *bytes;
  size_t n_bytes;
  surg_load_options load;
  size_t most, told; /* findings with a text: the limit, and how many there were */
  surg_check_fn fn;
  void *user;
  const char *code;  /* of diagnostics of passes; NULL: those of the loader have their own */
  surg_diag_fn diag; /* of the context while this object hears the diagnostics */
  void *diag_user;
  surg_checked_summary sum;
};

/* Loads the model of the file with its defects. */
surg_status surg__checked_load(const surg_checked *c, surg_model **out);

#endif
