/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a file in a context of its own. */
#ifndef SURG_FINDINGS_H
#define SURG_FINDINGS_H

#include <onnxsurg/check.h>

#include "cli.h"

/* The content of standard input or of a pipe, which cannot be read twice; p NULL: of another file.
 */
typedef struct file_bytes {
  char *p;
  size_t n;
} file_bytes;
/* Reads standard input or a pipe; nothing for other files. Returns EXIT_DONE, or another exit code
 * after printing an error. */
int file_bytes_read(file_bytes *b, const cli_common *common, const char *path);

typedef struct findings {
  surg_check_fn fn;
  void *user;
  size_t most; /* most findings reported; 0: the library's limit */
  /* results */
  surg_context *ctx;
  surg_checked *file; /* NULL: out of memory, or the content could not be read */
  surg_model *m;      /* NULL: the file cannot be loaded as a model */
  surg_checked_summary sum;
  file_bytes bytes;
} findings;

/* Loads a file ("-": standard input) and reports the findings of the loader. Returns an exit
 * code: EXIT_MODEL if the model is invalid, EXIT_IO or EXIT_LIMIT if it could not be read. */
int findings_open(findings *f, const cli_common *common, const char *path);
/* Runs the checker on the loaded model and reports its findings. */
surg_status findings_look(findings *f);
void findings_close(findings *f);

#endif
