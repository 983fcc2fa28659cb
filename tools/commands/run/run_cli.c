/* SPDX-License-Identifier: Apache-2.0 */
/* Options and engines of the commands that run models. */
#include "run_cli.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void cli_run_init(cli_run *r) {
  *r = (cli_run){.seed = 1,
                 .engine = {.size = sizeof r->engine},
                 .tolerance = {.size = sizeof r->tolerance, .relative = 1e-3, .absolute = 1e-5}};
}

void cli_run_free(cli_run *r) {
  free(r->inputs);
  cli_dims_free(&r->dims);
  cli_fixed_free(&r->fixed);
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
  static const char *const words[] = {[SURG_FILL_RANDOM] = "random",
                                      [SURG_FILL_ZEROS] = "zeros",
                                      [SURG_FILL_ONES] = "ones",
                                      [SURG_FILL_ARANGE] = "arange",
                                      [SURG_FILL_ADVERSARIAL] = "adversarial"};
  _Static_assert(CLI_COUNT(words) == SURG_FILL_ADVERSARIAL + 1, "a word for each filling");
  for (size_t i = 0; i < CLI_COUNT(words); i++) {
    if (strcmp(word, words[i]) != 0) continue;
    r->fill = (int32_t)i;
    r->filled = true;
    return EXIT_DONE;
  }
  return cli_usage("--fill expects random, zeros, ones, arange or adversarial");
}

static int take_level(cli_run *r, const char *word) {
  static const char *const words[] = {[SURG_OPTIMIZE_ALL] = "all",
                                      [SURG_OPTIMIZE_NONE] = "none",
                                      [SURG_OPTIMIZE_BASIC] = "basic",
                                      [SURG_OPTIMIZE_EXTENDED] = "extended"};
  _Static_assert(CLI_COUNT(words) == SURG_OPTIMIZE_EXTENDED + 1, "a word for each level");
  for (size_t i = 0; i < CLI_COUNT(words); i++) {
    if (strcmp(word, words[i]) != 0) continue;
    r->engine.optimize = (int32_t)i;
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

static int take_turns(cli_run *r, const char *arg) {
  const int code = take_number("max-turns", arg, &r->engine.max_turns);
  if (code == EXIT_DONE && !r->engine.max_turns) r->engine.max_turns = UINT64_MAX; /* no limit */
  return code;
}

static int take_threads(cli_run *r, const char *arg) {
  uint64_t n;
  if (!cli_number(arg, &n) || n < 1 || n > 1024) return cli_usage("--threads expects 1 to 1024");
  r->engine.threads = (uint32_t)n;
  return EXIT_DONE;
}

int cli_run_option(cli_run *r, int option, char *argument) {
  switch (option) {
    case OPT_ENGINE:
      return take_engine(r, argument);
    case OPT_ORT:
      r->engine.library = argument;
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
      return take_number("max-bytes", argument, &r->engine.max_bytes);
    case OPT_MAX_WORK:
      return take_number("max-work", argument, &r->engine.max_work);
    case OPT_MAX_TURNS:
      return take_turns(r, argument);
    case OPT_RTOL:
      return take_bound(r, "rtol", argument, &r->tolerance.relative);
    case OPT_ATOL:
      return take_bound(r, "atol", argument, &r->tolerance.absolute);
    case OPT_ULP:
      /* --ulp alone replaces the default bounds; --rtol and --atol add theirs. */
      if (!r->bounds) r->tolerance = (surg_tolerance){.size = sizeof r->tolerance};
      return take_number("ulp", argument, &r->tolerance.ulp);
    case OPT_SIZE:
      return cli_dims_take(&r->dims, argument) ? EXIT_DONE
                                               : cli_usage("--dim expects NAME=N, such as batch=4");
    case OPT_FIX_SHAPE:
      return cli_fixed_take(&r->fixed, option, argument);
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

/* --- engines and inputs --- */

int cli_engine_open(const cli_run *r, const cli_common *c, surg_context *ctx, size_t k,
                    surg_engine **out) {
  surg_engine_options o = r->engine;
  o.runtime = k < r->n_engines && !strcmp(r->engines[k], "ort");
  o.seed = r->seed;
  o.timeout_ms = cli_milliseconds(c->timeout_seconds);
  return cli_exit_code(surg_engine_new(ctx, &o, out));
}

surg_status cli_load_parts(surg_context *ctx, const cli_common *common, const char *path,
                           surg_manifest **parts, surg_model **m) {
  *parts = NULL;
  bool is;
  surg_status s = surg_manifest_detect(ctx, path, &is);
  if (s == SURG_OK && !is) return cli_load_whole(ctx, common, path, m);
  if (s == SURG_OK) s = surg_manifest_load(ctx, path, &common->load, parts);
  return s == SURG_OK ? surg_manifest_merge(*parts, m) : s;
}

int cli_inputs_load(const cli_run *r, surg_model *m, bool lacks, surg_inputs **out) {
  const surg_inputs_options o = {.size = sizeof o,
                                 .fill = r->fill,
                                 .seed = r->seed,
                                 .sizes = r->dims.items,
                                 .n_sizes = r->dims.n};
  surg_status s = surg_inputs_new(m, &o, out);
  if (s == SURG_OK && r->inputs_dir) s = surg_inputs_read_all(*out, r->inputs_dir);
  for (size_t k = 0; k < r->n_inputs && s == SURG_OK; k++)
    s = surg_inputs_read(*out, r->inputs[k].name, r->inputs[k].text);
  if (s == SURG_OK && r->inputs_dir && !lacks && !r->filled)
    s = surg_inputs_require_all(*out, r->inputs_dir);
  return cli_exit_code(s);
}

int cli_run_failed(const surg_model *m, const surg_session *s, surg_status status,
                   const char *hint) {
  /* The reason is empty if the library ran out of memory. */
  const char *why = surg_session_why(s);
  cli_reports();
  cli_error(surg_model_path(m), "%s%s", *why ? why : surg_status_name(status), hint ? hint : "");
  return cli_exit_code(status);
}

/* --- values --- */

static json_t *number_json(double v) {
  return isfinite(v) ? json_real(v) : json_string(isnan(v) ? "NaN" : v > 0 ? "inf" : "-inf");
}

static json_t *complex_json(const surg_array *a, uint64_t i) {
  if (surg_array_dtype(a) == SURG_COMPLEX64) {
    const float *p = surg_array_data(a);
    return json_pack("[o, o]", number_json(p[2 * i]), number_json(p[2 * i + 1]));
  }
  const double *p = surg_array_data(a);
  return json_pack("[o, o]", number_json(p[2 * i]), number_json(p[2 * i + 1]));
}

static json_t *element_json(const surg_array *a, uint64_t i) {
  const int64_t v = surg_array_int(a, i);
  switch (surg_array_dtype(a)) {
    case SURG_BOOL:
      return json_boolean(v);
    case SURG_STRING: {
      const surg_str s = ((const surg_str *)surg_array_data(a))[i];
      json_t *j = json_stringn(s.n ? s.p : "", s.n);
      return j ? j : json_null();
    }
    case SURG_COMPLEX64:
    case SURG_COMPLEX128:
      return complex_json(a, i);
    case SURG_UINT64:
      return v < 0 ? json_real((double)(uint64_t)v) : json_integer(v);
    case SURG_INT2:
    case SURG_INT4:
    case SURG_INT8:
    case SURG_INT16:
    case SURG_INT32:
    case SURG_INT64:
    case SURG_UINT2:
    case SURG_UINT4:
    case SURG_UINT8:
    case SURG_UINT16:
    case SURG_UINT32:
      return json_integer(v);
    default:
      return number_json(surg_array_real(a, i));
  }
}

static json_t *item_json(const surg_array *a, uint64_t i, uint64_t most) {
  surg_array *item = NULL;
  if (surg_array_item(a, i, &item) != SURG_OK) return json_null();
  json_t *j = cli_value_json(NULL, item, most);
  surg_array_free(item);
  return j;
}

json_t *cli_value_json(const char *name, const surg_array *a, uint64_t most) {
  static const char *const kinds[SURG_TYPE_OPAQUE + 1] = {[SURG_TYPE_UNKNOWN] = "nothing",
                                                          [SURG_TYPE_SEQUENCE] = "sequence",
                                                          [SURG_TYPE_OPTIONAL] = "optional",
                                                          [SURG_TYPE_MAP] = "map"};
  const int32_t kind = surg_array_kind(a);
  const bool list = kind != SURG_TYPE_TENSOR && kind != SURG_TYPE_UNKNOWN;
  json_t *j = json_object(), *shape = json_array(), *elements = json_array();
  if (name) json_object_set_new(j, "name", cli_text_json(name));
  json_object_set_new(
      j, "type",
      json_string(kind == SURG_TYPE_TENSOR ? surg_dtype_name(surg_array_dtype(a)) : kinds[kind]));
  for (size_t i = 0; i < surg_array_rank(a); i++)
    json_array_append_new(shape, json_integer(surg_array_dims(a)[i]));
  for (uint64_t i = 0; i < surg_array_count(a) && i < most; i++)
    json_array_append_new(elements, list ? item_json(a, i, most) : element_json(a, i));
  if (list)
    json_decref(shape);
  else
    json_object_set_new(j, "shape", shape);
  json_object_set_new(j, "count", json_integer((json_int_t)surg_array_count(a)));
  json_object_set_new(j, list ? "items" : "elements", elements);
  return j;
}
