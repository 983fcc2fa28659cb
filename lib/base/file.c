/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/os/os.h"

surg_status surg__read_text(surg_context *ctx, const char *path, size_t most, char **text,
                            size_t *n) {
  FILE *f = surg__os_fopen(path, "r");
  *text = f ? malloc(most + 2) : NULL;
  int bad = f ? *text ? 0 : ENOMEM : errno ? errno : EIO;
  *n = *text ? fread(*text, 1, most + 1, f) : 0;
  if (*text && ferror(f)) bad = errno ? errno : EIO;
  if (f) fclose(f);
  if (!bad) {
    (*text)[*n] = 0;
    return SURG_OK;
  }
  free(*text);
  *text = NULL;
  surg__buf name;
  surg__buf_init(&name, ctx);
  surg__buf_escape(&name, path, strlen(path), 0);
  surg__buf_putc(&name, 0);
  const surg_status s =
      surg__error(ctx, bad == ENOMEM ? SURG_ENOMEM : SURG_EIO, name.failed ? "file" : name.p,
                  "cannot read: %s", strerror(bad));
  surg__buf_free(&name);
  return s;
}
