/* SPDX-License-Identifier: Apache-2.0 */
/* See patch_text.h. The library reads and writes patches as files, so the bytes pass through a
 * temporary one. */
#include "patch_text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"

#define PATH_BYTES 4096u

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* --- base64 --- */

static void encode(cli_text *out, FILE *f) {
  unsigned char in[3];
  size_t n;
  while ((n = fread(in, 1, 3, f)) > 0) {
    const uint32_t x = (uint32_t)in[0] << 16 | (n > 1 ? (uint32_t)in[1] << 8 : 0) |
                       (n > 2 ? (uint32_t)in[2] : 0);
    char four[4] = {digits[x >> 18], digits[x >> 12 & 63], '=', '='};
    if (n > 1) four[2] = digits[x >> 6 & 63];
    if (n > 2) four[3] = digits[x & 63];
    cli_text_put(out, four, 4);
  }
}

/* Writes what the text encodes. False: it is no base64, or the file cannot be written. */
static bool decode(const char *text, FILE *f) {
  for (; *text; text += 4) {
    uint32_t x = 0;
    int n = 0, pad = 0;
    for (int i = 0; i < 4; i++) {
      const char *at = text[i] ? strchr(digits, text[i]) : NULL;
      if (!text[i] || (!at && text[i] != '=') || (at && pad)) return false;
      pad += !at;
      n += at != NULL;
      x = x << 6 | (at ? (uint32_t)(at - digits) : 0);
    }
    if (n < 2 || (pad && text[4])) return false;
    for (int i = 0; i < n - 1; i++)
      if (fputc((int)(x >> (16 - 8 * i) & 255), f) == EOF) return false;
  }
  return true;
}

/* --- the temporary file --- */

typedef struct place {
  char folder[PATH_BYTES - 32], path[PATH_BYTES];
} place;

static int open_place(place *p) {
  const int e = surg__os_temp_folder("onnxsurg-patch", p->folder, sizeof p->folder);
  if (e) cli_error(NULL, "no temporary folder in $TMPDIR: %s", strerror(e));
  if (e) return EXIT_IO;
  snprintf(p->path, sizeof p->path, "%s/patch", p->folder);
  return EXIT_DONE;
}

static void close_place(const place *p) {
  surg__os_unlink(p->path);
  surg__os_remove_folder(p->folder);
}

json_t *patch_text_make(surg_model *a, surg_model *b, surg_status *status) {
  place p;
  json_t *j = NULL;
  cli_text t = {0};
  *status = SURG_EIO;
  if (open_place(&p) != EXIT_DONE) return NULL;
  *status = surg_patch_make(a, b, p.path);
  FILE *f = *status == SURG_OK ? surg__os_fopen(p.path, "rb") : NULL;
  if (*status == SURG_OK && !f) {
    cli_error(p.path, "cannot read: %s", strerror(errno));
    *status = SURG_EIO;
  }
  if (f) {
    encode(&t, f);
    fclose(f);
    if (!t.failed) j = json_string(t.n ? cli_text_of(&t) : "");
    if (!j) *status = SURG_ENOMEM;
  }
  cli_text_free(&t);
  close_place(&p);
  return j;
}

/* --- applying --- */

/* Writes the patch of the JSON to the place. */
static int unpack(const char *json, place *p) {
  json_error_t why;
  json_t *j = json_load_file(json, 0, &why);
  const char *text = json_string_value(json_object_get(j, "patch"));
  int code = EXIT_MODEL;
  if (!j) {
    cli_error(json, "is not JSON: line %d: %s", why.line, why.text);
  } else if (!text) {
    cli_error(json, "contains no patch; make one with `onnxsurg diff --json --patch - A B`");
  } else if ((code = open_place(p)) == EXIT_DONE) {
    FILE *f = surg__os_fopen(p->path, "wb");
    const bool good = f && decode(text, f);
    if (f && fclose(f) != 0) code = EXIT_IO;
    if (!f || code != EXIT_DONE) {
      cli_error(p->path, "cannot write: %s", strerror(errno));
      code = EXIT_IO;
    } else if (!good) {
      cli_error(json, "its patch is damaged");
      code = EXIT_MODEL;
    }
    if (code != EXIT_DONE) close_place(p);
  }
  json_decref(j);
  return code;
}

static bool is_json(const char *path) {
  FILE *f = surg__os_fopen(path, "rb");
  const int c = f ? fgetc(f) : EOF;
  if (f) fclose(f);
  return c == '{';
}

int patch_text_apply(surg_model *a, const char *patch, const char *out) {
  place p;
  if (!is_json(patch)) return cli_exit_code(surg_patch_apply(a, patch, out));
  int code = unpack(patch, &p);
  if (code != EXIT_DONE) return code;
  code = cli_exit_code(surg_patch_apply(a, p.path, out));
  close_place(&p);
  return code;
}
