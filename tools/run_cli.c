/* SPDX-License-Identifier: Apache-2.0 */
/* Options and engines of the commands that run models. */
#include "run_cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/os.h"
#include "eval/core/number.h"

#include <math.h>

void cli_run_init(cli_run *r) {
  *r = (cli_run){.seed = 1,
                 .max_bytes = CLI_RUN_BYTES,
                 .max_work = CLI_RUN_WORK,
                 .max_turns = CLI_RUN_TURNS,
                 .ort = {.level = 99, .threads = 1},
                 .tolerance = {.relative = 1e-3, .absolute = 1e-5}};
}

void cli_run_free(cli_run *r) {
  free(r->inputs);
  cli_dims_free(&r->dims);
}

surg__maker cli_maker(cli_run *r) {
  return (surg__maker){
      .fill = r->fill, .state = r->seed, .size = 2, .dim_of = cli_dim_of, .user = &r->dims};
}

/* --- options --- */

static int take_engine(cli_run *r, const char *word) {
  if (strcmp(word, "builtin") != 0 && strcmp(word, "ort") != 0)
    return cli_usage("--engine expects builtin or ort");
  if (r->n_engines == CLI_COUNT(r->engines)) return cli_usage("there are two engines at most");
  r->engines[r->n_engines++] = word;
  return EXIT_DONE;
}

static int take_fill(cli_run *r, const char *word) {
  static const char *const words[] = {[SURG__FILL_RANDOM] = "random",
                                      [SURG__FILL_ZEROS] = "zeros",
                                      [SURG__FILL_ONES] = "ones",
                                      [SURG__FILL_ARANGE] = "arange",
                                      [SURG__FILL_ADVERSARIAL] = "adversarial"};
  _Static_assert(CLI_COUNT(words) == SURG__FILL_ADVERSARIAL + 1, "a word for each filling");
  for (size_t i = 0; i < CLI_COUNT(words); i++) {
    if (strcmp(word, words[i]) != 0) continue;
    r->fill = (surg__fill)i;
    r->filled = true;
    return EXIT_DONE;
  }
  return cli_usage("--fill expects random, zeros, ones, arange or adversarial");
}

static int take_level(cli_run *r, const char *word) {
  static const struct {
    const char *word;
    int level;
  } levels[] = {{"none", 0}, {"basic", 1}, {"extended", 2}, {"all", 99}};
  for (size_t i = 0; i < CLI_COUNT(levels); i++) {
    if (strcmp(word, levels[i].word) != 0) continue;
    r->ort.level = levels[i].level;
    return EXIT_DONE;
  }
  return cli_usage("--ort-optimize expects none, basic, extended or all");
}

/* Parses "NAME=FILE", split at the first '='. */
static int take_input(cli_run *r, char *arg) {
  char *eq = strchr(arg, '=');
  bool twice = false;
  cli_pair *grown = eq && eq != arg ? realloc(r->inputs, (r->n_inputs + 1) * sizeof *grown) : NULL;
  if (!eq || eq == arg) return cli_usage("--input expects NAME=FILE");
  if (!grown) return cli_no_memory();
  *eq = 0;
  for (size_t i = 0; i < r->n_inputs; i++)
    if (strcmp(grown[i].name, arg) == 0) twice = true;
  grown[r->n_inputs++] = (cli_pair){arg, eq + 1};
  r->inputs = grown;
  return twice ? cli_usage("--input gives the same input twice") : EXIT_DONE;
}

static int take_bound(cli_run *r, const char *option, const char *arg, double *out) {
  r->bounds = true;
  return cli_real(arg, out) ? EXIT_DONE : cli_usage("--%s expects a number", option);
}

static int take_number(const char *option, const char *arg, uint64_t *out) {
  return cli_number(arg, out) ? EXIT_DONE : cli_usage("--%s expects a number", option);
}

static int take_threads(cli_run *r, const char *arg) {
  uint64_t n;
  if (!cli_number(arg, &n) || n < 1 || n > 1024) return cli_usage("--threads expects 1 to 1024");
  r->ort.threads = (unsigned)n;
  return EXIT_DONE;
}

int cli_run_option(cli_run *r, int option, char *argument) {
  switch (option) {
    case OPT_ENGINE:
      return take_engine(r, argument);
    case OPT_ORT:
      r->library = argument;
      return EXIT_DONE;
    case OPT_ORT_LEVEL:
      return take_level(r, argument);
    case OPT_THREADS:
      return take_threads(r, argument);
    case OPT_FILL:
      return take_fill(r, argument);
    case OPT_SEED:
      return take_number("seed", argument, &r->seed);
    case OPT_MAX_BYTES:
      return take_number("max-bytes", argument, &r->max_bytes);
    case OPT_MAX_WORK:
      return take_number("max-work", argument, &r->max_work);
    case OPT_MAX_TURNS:
      return take_number("max-turns", argument, &r->max_turns);
    case OPT_RTOL:
      return take_bound(r, "rtol", argument, &r->tolerance.relative);
    case OPT_ATOL:
      return take_bound(r, "atol", argument, &r->tolerance.absolute);
    case OPT_ULP:
      /* --ulp alone replaces the default bounds; --rtol and --atol add theirs. */
      if (!r->bounds) r->tolerance = (surg__tolerance){0};
      return take_number("ulp", argument, &r->tolerance.ulp);
    case OPT_SIZE:
      return cli_dims_take(&r->dims, argument) ? EXIT_DONE
                                               : cli_usage("--dim expects NAME=N, such as batch=4");
    case OPT_INPUT:
      return take_input(r, argument);
    case OPT_INPUTS:
      r->inputs_dir = argument;
      return EXIT_DONE;
    default:
      assert(!"an option of the table without a handler");
      return EXIT_USAGE;
  }
}

/* --- engines --- */

int cli_engine_open(const cli_run *r, const cli_common *c, surg_context *ctx, size_t k,
                    surg__engine *out) {
  uint64_t ns = 0;
  *out = (surg__engine){.ort_options = r->ort,
                        .max_bytes = r->max_bytes,
                        .max_work = r->max_work,
                        .max_turns = r->max_turns,
                        .seed = &r->seed};
  if (c->timeout_seconds && surg__mul_u64(c->timeout_seconds, 1000000000, &ns) &&
      surg__add_u64(ns, surg__os_now_ns(), &ns))
    out->deadline = ns;
  if (k >= r->n_engines || strcmp(r->engines[k], "ort") != 0) return EXIT_DONE;
  const surg_status s = surg__ort_open(ctx, r->library, &out->ort);
  return s == SURG_OK ? EXIT_DONE : cli_exit_code(s);
}

void cli_engine_close(surg__engine *e) {
  surg__ort_close(e->ort);
  e->ort = NULL;
}

int cli_run_failed(const surg_model *m, const surg__exec *r, surg_status status, const char *hint) {
  /* `why` is empty if the library ran out of memory. */
  fprintf(stderr, "%s: error: %s%s\n", surg_model_path(m),
          *r->why ? r->why : surg_status_name(status), hint ? hint : "");
  return cli_exit_code(status);
}

/* --- values --- */

int cli_write_bytes(const char *path, const void *bytes, size_t n) {
  char *dir = NULL, *base = NULL, *temp = NULL;
  int fd = -1;
  int why = surg__os_split(path, &dir, &base);
  if (!why) why = surg__os_temp_in(dir, &fd, &temp);
  if (!why) why = surg__os_write(fd, bytes, n);
  if (!why)
    why = surg__os_publish(fd, temp, path);
  else if (fd >= 0)
    surg__os_discard(fd, temp);
  free(dir);
  free(base);
  if (!why) return EXIT_DONE;
  if (why == ENOMEM) return cli_no_memory();
  cli_put(stderr, path);
  fprintf(stderr, ": error: cannot write: %s\n", strerror(why));
  return EXIT_IO;
}

int cli_write_file(const char *path, const surg__buf *b) {
  return cli_write_bytes(path, b->p, b->n);
}

static json_t *number_json(double v) {
  return isfinite(v) ? json_real(v) : json_string(isnan(v) ? "NaN" : v > 0 ? "inf" : "-inf");
}

static json_t *element_json(const surg__array *a, uint64_t i) {
  const int dtype = a->dtype;
  if (dtype == SURG_BOOL) return json_boolean(((const uint8_t *)a->data)[i]);
  if (surg__dtype_is_float(dtype)) return number_json(surg__load_f64(dtype, a->data, i));
  if (dtype == SURG_STRING) {
    const surg_str s = ((const surg_str *)a->data)[i];
    json_t *j = json_stringn(s.n ? s.p : "", s.n);
    return j ? j : json_null();
  }
  if (dtype == SURG_COMPLEX64 || dtype == SURG_COMPLEX128) {
    const int part = dtype == SURG_COMPLEX64 ? SURG_FLOAT : SURG_DOUBLE;
    return json_pack("[o, o]", number_json(surg__load_f64(part, a->data, 2 * i)),
                     number_json(surg__load_f64(part, a->data, 2 * i + 1)));
  }
  const uint64_t v = surg__load_int(dtype, a->data, i);
  if (dtype == SURG_UINT64 && v > INT64_MAX) return json_real((double)v);
  return json_integer((json_int_t)v);
}

json_t *cli_value_json(const char *name, const surg__array *a, uint64_t most) {
  static const char *const kinds[] = {"sequence", "optional", "map"};
  const bool list = surg__array_is_list(a);
  const char *type = !a->dtype ? "nothing"
                     : list    ? kinds[a->dtype - SURG__V_SEQUENCE]
                               : surg__dtype_name(a->dtype);
  json_t *j = json_object(), *shape = json_array(), *elements = json_array();
  if (name) json_object_set_new(j, "name", cli_text_json(name));
  json_object_set_new(j, "type", json_string(type));
  for (uint32_t i = 0; i < a->rank; i++) json_array_append_new(shape, json_integer(a->dims[i]));
  for (uint64_t i = 0; i < a->count && i < most; i++)
    json_array_append_new(elements, list ? cli_value_json(NULL, &surg__list_of(a)->items[i], most)
                                         : element_json(a, i));
  if (list)
    json_decref(shape);
  else
    json_object_set_new(j, "shape", shape);
  json_object_set_new(j, "count", json_integer((json_int_t)a->count));
  json_object_set_new(j, list ? "items" : "elements", elements);
  return j;
}
