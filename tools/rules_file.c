/* SPDX-License-Identifier: Apache-2.0 */
/* Loads text files of the user: `--rules FILE`, `--schema FILE`, targets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli.h"

int cli_read_text(const char *path, size_t most, char **text, size_t *n) {
  FILE *f = strcmp(path, "-") ? surg__os_fopen(path, "r") : stdin;
  *text = f ? malloc(most + 1) : NULL;
  int bad = f ? *text ? 0 : ENOMEM : errno;
  /* One byte more than permitted reveals a file that is too long. */
  *n = *text ? fread(*text, 1, most + 1, f) : 0;
  if (*text && ferror(f)) bad = errno ? errno : EIO;
  if (f && f != stdin) fclose(f);
  if (!bad) return EXIT_DONE;
  free(*text);
  *text = NULL;
  cli_error(path, "cannot read: %s", strerror(bad));
  return bad == ENOMEM ? EXIT_LIMIT : EXIT_IO;
}

/* Invalid text is a usage error; limits and lack of memory keep their exit code. */
static int code_of(surg_status s) {
  return s == SURG_EINVALID ? EXIT_USAGE : cli_exit_code(s);
}

int cli_rules_load(surg_context *ctx, const char *path) {
  return code_of(surg_context_load_rules_file(ctx, path));
}

int cli_schemas_load(surg_context *ctx, const char *path) {
  return code_of(surg_context_load_schemas_file(ctx, path));
}
