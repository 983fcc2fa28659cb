/* SPDX-License-Identifier: Apache-2.0 */
/* Converts `--dim NAME=N` and `--input-shape NAME:N,N,...` to the pass `freeze`, or to sizes of
 * dimensions. */
#include <ctype.h>
#include <onnxsurg/run.h>
#include <stdio.h>
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

/* The start of the sizes in "x:1,3,?,320", or NULL after printing an error. */
static const char *sizes_of(const char *shape) {
  const char *colon = strrchr(shape, ':');
  if (colon && colon != shape) return colon + 1;
  cli_usage("--input-shape expects NAME:SIZE,SIZE,...");
  return NULL;
}

/* Reads one size at *p and advances past it and the separator, ',' or 'x'. '?' and -1 leave an axis
 * as it is: *digits is 0. False: no size, after printing an error. */
static bool next_size(const char **p, const char **text, size_t *digits) {
  const size_t n = strspn(*p, "0123456789");
  const size_t skipped = **p == '?' ? 1 : strncmp(*p, "-1", 2) == 0 ? 2 : 0;
  const size_t length = n ? n : skipped;
  const char end = length ? (*p)[length] : 'e';
  *text = *p;
  *digits = n;
  if (end && ((end != ',' && end != 'x') || !(*p)[length + 1])) {
    cli_usage(
        "--input-shape expects NAME:SIZE,SIZE,..., such as x:1,3,224,224 (? leaves an "
        "axis as it is)");
    return false;
  }
  *p += length + (end != 0);
  return true;
}

/* Appends "x=1+3+?+320". */
static int put_shape(surg_context *ctx, cli_text *to, const char *shape, char open) {
  const char *p = sizes_of(shape), *text;
  size_t n;
  if (!p) return EXIT_USAGE;
  put_name(ctx, to, shape, (size_t)(p - 1 - shape), open);
  char sign = '=';
  do {
    if (!next_size(&p, &text, &n)) return EXIT_USAGE;
    cli_text_putc(to, sign);
    cli_text_put(to, n ? text : "?", n ? n : 1);
    sign = '+';
  } while (*p);
  return EXIT_DONE;
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

int cli_fixed_take(cli_fixed *f, int option, const char *arg) {
  if (option == OPT_FIX_SHAPE) return cli_words_take(&f->shapes, arg);
  if (!cli_is_size(arg)) return cli_usage("--dim expects NAME=N, not \"%s\"", arg);
  return cli_words_take(&f->dims, arg);
}

int cli_fixed_apply(surg_context *ctx, surg_model **m, const cli_fixed *f) {
  const surg_run_options options = {.size = sizeof options};
  cli_text b = {0};
  int code = cli_sizes(ctx, &b, &f->dims, &f->shapes);
  char *text = code == EXIT_DONE && (b.n || b.failed) ? cli_text_give(&b) : NULL;
  if (code == EXIT_DONE && b.failed) code = cli_no_memory();
  if (text) code = cli_exit_code(surg_run(m, text, &options, NULL));
  cli_text_free(&b);
  free(text);
  return code;
}

/* Appends the size of one axis, if the model leaves it open. */
static int add_axis(const surg_value *v, size_t axis, const char *size, cli_dims *to,
                    cli_words *names) {
  const int64_t d = surg_type_dim(surg_value_declared_type(v), axis)->value;
  const int64_t n = strtoll(size, NULL, 10);
  if (d >= 0 && d != n) {
    char *name = cli_escaped(surg_value_name(v), 0);
    const int code = cli_usage("--input-shape: dimension %zu of input %s is %lld, not %lld", axis,
                               name ? name : "?", (long long)d, (long long)n);
    free(name);
    return code;
  }
  if (d >= 0) return EXIT_DONE;
  const size_t room = strlen(surg_value_name(v)) + 2 * 24;
  char *item = malloc(room);
  if (!item) return cli_no_memory();
  snprintf(item, room, "%s.%zu=%lld", surg_value_name(v), axis, (long long)n);
  const int code = cli_words_take(names, item);
  if (code != EXIT_DONE) free(item);
  if (code != EXIT_DONE) return code;
  return cli_dims_take(to, item) ? EXIT_DONE : cli_usage("--input-shape: %s is too large", size);
}

static int add_shape(const surg_model *m, const char *shape, cli_dims *to, cli_words *names) {
  const char *p = sizes_of(shape), *text;
  size_t axis = 0, n;
  if (!p) return EXIT_USAGE;
  char *name = strndup(shape, (size_t)(p - 1 - shape));
  if (!name) return cli_no_memory();
  const surg_value *v = surg_graph_find_value(surg_model_graph(m), name);
  const surg_type *t = v && surg_value_is_input(v) ? surg_value_declared_type(v) : NULL;
  const bool ranked = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t);
  int code =
      ranked ? EXIT_DONE : cli_usage("--input-shape: the model has no input %s with a rank", name);
  free(name);
  while (code == EXIT_DONE && *p) {
    if (!next_size(&p, &text, &n)) return EXIT_USAGE;
    if (n && axis < surg_type_rank(t)) code = add_axis(v, axis, text, to, names);
    axis++;
  }
  if (code == EXIT_DONE && axis != surg_type_rank(t))
    code = cli_usage("--input-shape: %s has %zu sizes, the input has rank %zu", shape, axis,
                     surg_type_rank(t));
  return code;
}

int cli_fixed_sizes(const surg_model *m, const cli_words *shapes, cli_dims *to, cli_words *names) {
  int code = EXIT_DONE;
  for (size_t i = 0; i < shapes->n && code == EXIT_DONE; i++)
    code = add_shape(m, shapes->items[i], to, names);
  return code;
}

void cli_fixed_free_names(cli_words *names) {
  for (size_t i = 0; i < names->n; i++) free((char *)(uintptr_t)names->items[i]);
  free(names->items);
}

void cli_fixed_free(cli_fixed *f) {
  free(f->dims.items);
  free(f->shapes.items);
}
