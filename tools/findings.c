/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a file in a context of its own. */
#include "findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"

/* Reads all of standard input or a pipe, which cannot be read twice. Returns NULL after printing
 * an error. */
static char *slurp(const cli_common *c, const char *path, size_t *n, int *code) {
  const uint64_t most = c->max_memory ? c->max_memory : UINT64_C(2) << 30;
  FILE *f = strcmp(path, "-") == 0 ? stdin : surg__os_fopen(path, "r");
  char *p = NULL;
  size_t capacity = 0;
  int bad = f ? 0 : errno;
  *n = 0;
  while (f && !bad && !feof(f)) {
    if (*n == capacity) {
      const size_t grown = capacity ? 2 * capacity : 1u << 16;
      char *q = grown <= 2 * most ? realloc(p, grown) : NULL;
      if (!q) {
        bad = ENOMEM;
        break;
      }
      p = q;
      capacity = grown;
    }
    *n += fread(p + *n, 1, capacity - *n, f);
    if (ferror(f)) bad = errno ? errno : EIO;
  }
  if (f && f != stdin) fclose(f);
  if (!bad) return p;
  free(p);
  *code = bad == ENOMEM ? EXIT_LIMIT : EXIT_IO;
  cli_error(path, "cannot read: %s", strerror(bad));
  return NULL;
}

int file_bytes_read(file_bytes *b, const cli_common *common, const char *path) {
  surg__stat st;
  const bool once = strcmp(path, "-") == 0 || (surg__os_stat(path, &st) == 0 && st.fifo);
  int code = EXIT_DONE;
  if (once) b->p = slurp(common, path, &b->n, &code);
  return code;
}

int findings_open(findings *f, const cli_common *common, const char *path) {
  f->sum.size = sizeof f->sum;
  const int code = file_bytes_read(&f->bytes, common, path);
  if (code != EXIT_DONE) return code;
  const surg_check_options o = {.size = sizeof o,
                                .most = f->most,
                                .bytes = f->bytes.p,
                                .n_bytes = f->bytes.n,
                                .load = &common->load,
                                .fn = f->fn,
                                .user = f->user};
  f->ctx = cli_context(common);
  if (!f->ctx) return EXIT_LIMIT;
  const surg_status s = surg_check_file(f->ctx, path, &o, &f->file);
  if (s != SURG_OK) return cli_exit_code(s);
  surg_checked_get(f->file, &f->sum);
  f->m = surg_checked_model(f->file);
  return cli_exit_code((surg_status)f->sum.status);
}

surg_status findings_look(findings *f) {
  const surg_status s = surg_checked_look(f->file);
  surg_checked_get(f->file, &f->sum);
  return s;
}

void findings_close(findings *f) {
  surg_checked_free(f->file);
  surg_context_free(f->ctx);
  free(f->bytes.p);
  f->file = NULL;
  f->m = NULL;
  f->ctx = NULL;
  f->bytes = (file_bytes){0};
}
