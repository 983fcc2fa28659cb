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

/* --- JSON --- */

/* JSON as a stream: differences may be large, and only one member of them is needed. */
typedef struct reader {
  FILE *f;
  size_t line;
} reader;

enum { STRING_END = -1, BROKEN = -2 };

static int next(reader *r) {
  const int c = fgetc(r->f);
  r->line += c == '\n';
  return c == EOF ? BROKEN : c;
}

static int next_visible(reader *r) {
  int c;
  do c = next(r);
  while (c == ' ' || c == '\t' || c == '\r' || c == '\n');
  return c;
}

/* The next character of a string. Escapes other than of ASCII are '?', as neither names nor base64
 * that are looked for have any. */
static int next_in_string(reader *r) {
  static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
  int c = next(r);
  if (c == '"') return STRING_END;
  if (c != '\\') return c;
  c = next(r);
  const char *at = c > 0 ? strchr(names, c) : NULL;
  if (at) return values[at - names];
  if (c != 'u') return c;
  char hex[5] = "";
  for (int i = 0; i < 4; i++) {
    if ((c = next(r)) < 0) return BROKEN;
    hex[i] = (char)c;
  }
  const unsigned long x = strtoul(hex, NULL, 16);
  return x < 0x80 ? (int)x : '?';
}

/* Reads the rest of a string; true: it is `word`. */
static bool string_is(reader *r, const char *word, int *end) {
  bool same = true;
  while ((*end = next_in_string(r)) >= 0) {
    same = same && *word && *end == *word;
    if (same) word++;
  }
  return same && !*word;
}

/* Goes to the first character of the text of the member "patch" of the outermost object. 1: found;
 * 0: the object has none; BROKEN. */
static int find_patch(reader *r) {
  int depth = 1, c;
  for (bool key = true; depth > 0;) {
    c = next_visible(r);
    if (c < 0) return BROKEN;
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (c == ',' && depth == 1) key = true;
    if (c != '"') continue;
    const bool found = string_is(r, "patch", &c) && depth == 1 && key;
    if (c == BROKEN) return BROKEN;
    if (!found) {
      if (depth == 1) key = false;
      continue;
    }
    if (next_visible(r) != ':') return BROKEN;
    c = next_visible(r);
    return c == '"' ? 1 : c == BROKEN ? BROKEN : 0;
  }
  return 0;
}

/* Writes what the rest of the string encodes. False: it is no base64, or the file cannot be
 * written. */
static bool decode(reader *r, FILE *f) {
  int c = next_in_string(r);
  while (c != STRING_END) {
    uint32_t x = 0;
    int n = 0, pad = 0;
    for (int i = 0; i < 4; i++, c = next_in_string(r)) {
      const char *at = c > 0 ? strchr(digits, c) : NULL;
      if ((!at && c != '=') || (at && pad)) return false;
      pad += !at;
      n += at != NULL;
      x = x << 6 | (at ? (uint32_t)(at - digits) : 0);
    }
    if (n < 2 || (pad && c != STRING_END)) return false;
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

/* Writes the patch of the JSON, of which the first brace is read, to the place. */
static int unpack(const char *json, FILE *in, place *p) {
  reader r = {in, 1};
  const int found = find_patch(&r);
  if (found == BROKEN) cli_error(json, "is not JSON: line %zu: it ends too early", r.line);
  if (!found)
    cli_error(json, "contains no patch; make one with `onnxsurg diff --json --patch - A B`");
  if (found != 1) return EXIT_MODEL;
  int code = open_place(p);
  if (code != EXIT_DONE) return code;
  FILE *f = surg__os_fopen(p->path, "wb");
  const bool good = f && decode(&r, f);
  if (!f || fclose(f) != 0) {
    cli_error(p->path, "cannot write: %s", strerror(errno));
    code = EXIT_IO;
  } else if (!good) {
    cli_error(json, "its patch is damaged");
    code = EXIT_MODEL;
  }
  if (code != EXIT_DONE) close_place(p);
  return code;
}

/* Writes what comes from a pipe to the place; `first` was read. */
static int spool(int first, FILE *in, place *p) {
  static char bytes[1 << 16];
  int code = open_place(p);
  if (code != EXIT_DONE) return code;
  FILE *f = surg__os_fopen(p->path, "wb");
  bool good = f && (first == EOF || fputc(first, f) != EOF);
  for (size_t n; good && (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
    good = fwrite(bytes, 1, n, f) == n;
  if (f && fclose(f) != 0) good = false;
  if (good) return EXIT_DONE;
  cli_error(p->path, "cannot write: %s", strerror(errno));
  close_place(p);
  return EXIT_IO;
}

int patch_text_apply(surg_model *a, const char *patch, const char *out) {
  place p;
  const bool piped = strcmp(patch, "-") == 0;
  FILE *f = piped ? stdin : surg__os_fopen(patch, "rb");
  const int first = f ? fgetc(f) : EOF;
  int code = EXIT_DONE;
  const bool json = first == '{', file = !f || (!piped && fseek(f, 0, SEEK_END) == 0);
  if (json && file && f) rewind(f), fgetc(f);
  if (json)
    code = unpack(patch, f, &p);
  else if (!file)
    code = spool(first, f, &p);
  if (f && !piped) fclose(f);
  if (code != EXIT_DONE) return code;
  if (!json && file) return cli_exit_code(surg_patch_apply(a, patch, out));
  code = cli_exit_code(surg_patch_apply(a, p.path, out));
  close_place(&p);
  return code;
}
