/* SPDX-License-Identifier: Apache-2.0 */
/* Converts `--dim NAME=N` and `--input-shape NAME:N,N,...` to the pass `freeze`. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

bool cli_is_size(const char *dim) {
  const char *equals = strrchr(dim, '=');
  const char *digits = equals ? equals + 1 : "";
  return equals && equals != dim && *digits && !digits[strspn(digits, "0123456789")];
}

static void put_name(surg_context *ctx, cli_text *to, const char *name, size_t n, char open) {
  char *copy = strndup(name, n);
  cli_text_putc(to, open);
  cli_put_word(ctx, to, copy);
  free(copy);
}

/* Parses "x:1,3,?,320". Sizes are separated by ',' or 'x'; '?' and -1 leave an axis unchanged. */
static int put_shape(surg_context *ctx, cli_text *to, const char *shape, char open) {
  const char *colon = strrchr(shape, ':');
  if (!colon || colon == shape) return cli_usage("--input-shape expects NAME:SIZE,SIZE,...");
  put_name(ctx, to, shape, (size_t)(colon - shape), open);
  char sign = '=';
  for (const char *p = colon + 1;; p++) {
    const size_t n = strspn(p, "0123456789");
    const size_t skipped = *p == '?' ? 1 : strncmp(p, "-1", 2) == 0 ? 2 : 0;
    const size_t length = n ? n : skipped;
    if (!length || (p[length] && p[length] != ',' && p[length] != 'x'))
      return cli_usage(
          "--input-shape expects NAME:SIZE,SIZE,..., such as x:1,3,224,224 (? leaves an "
          "axis as it is)");
    cli_text_putc(to, sign);
    cli_text_put(to, n ? p : "?", n ? n : 1);
    sign = '+';
    p += length;
    if (!*p) return EXIT_DONE;
  }
}

int cli_sizes(surg_context *ctx, cli_text *to, const cli_words *dims, const cli_words *shapes) {
  static const char pass[] = "freeze";
  char open = '{';
  for (size_t i = 0; i < dims->n; i++) {
    if (!cli_is_size(dims->items[i])) continue;
    const char *equals = strrchr(dims->items[i], '=');
    if (open == '{') cli_text_puts(to, pass);
    put_name(ctx, to, dims->items[i], (size_t)(equals - dims->items[i]), open);
    cli_text_puts(to, equals);
    open = ',';
  }
  for (size_t i = 0; i < shapes->n; i++) {
    if (open == '{') cli_text_puts(to, pass);
    const int code = put_shape(ctx, to, shapes->items[i], open);
    if (code != EXIT_DONE) return code;
    open = ',';
  }
  if (open == ',') cli_text_putc(to, '}');
  return EXIT_DONE;
}
