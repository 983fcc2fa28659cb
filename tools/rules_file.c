/* SPDX-License-Identifier: Apache-2.0 */
/* `--rules FILE`: rewrite rules read into a context. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "cli.h"

int cli_rules_load(surg_context *ctx, const char *path) {
  FILE *f = fopen(path, "re");
  char *text = f ? malloc(SURG_LIMIT_RULES_BYTES + 1) : NULL;
  if (!text) {
    const int why = f ? ENOMEM : errno;
    cli_put(stderr, path);
    fprintf(stderr, ": error: cannot read: %s\n", strerror(why));
    if (f) fclose(f);
    return f ? EXIT_LIMIT : EXIT_IO;
  }
  const size_t n = fread(text, 1, SURG_LIMIT_RULES_BYTES + 1, f);
  const int bad = ferror(f) ? errno : 0;
  fclose(f);
  int code = EXIT_IO;
  if (bad) {
    cli_put(stderr, path);
    fprintf(stderr, ": error: cannot read: %s\n", strerror(bad));
  } else {
    /* Rules that do not hold are wrong usage; limits and memory keep their code. */
    const surg_status s = surg_rules_load(ctx, text, n, path);
    code = s == SURG_EINVALID ? EXIT_USAGE : cli_exit_code(s);
  }
  free(text);
  return code;
}
