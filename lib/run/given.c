/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of a run as public objects (onnxsurg/evaluate.h): values, named files, numbered files of a
 * folder, members of an archive. Each must match the declared type of its input. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/diag.h"
#include "base/os/os.h"
#include "base/sizes.h"
#include "ir/ir.h"
#include "run/public.h"

_Static_assert((int)SURG_FILL_RANDOM == SURG__FILL_RANDOM &&
                   (int)SURG_FILL_ADVERSARIAL == SURG__FILL_ADVERSARIAL,
               "the public kinds of inputs are the internal ones");

/* A text for people in a buffer, escaped. */
static const char *shown(surg_context *ctx, const char *text, surg__buf *b) {
  surg__buf_init(b, ctx);
  surg__buf_escape(b, text, strlen(text), 0);
  return b->failed || !b->p ? "" : b->p;
}

/* Reports `MODEL: error: input NAME: WHY`. */
static surg_status fail(const surg_inputs *in, const char *name, const char *fmt, ...)
    SURG_PRINTF(3, 4);
static surg_status fail(const surg_inputs *in, const char *name, const char *fmt, ...) {
  char why[400];
  va_list args;
  va_start(args, fmt);
  vsnprintf(why, sizeof why, fmt, args);
  va_end(args);
  surg__buf b;
  const surg_status s = surg__error(in->ctx, SURG_EINVALID, surg_model_path(in->m), "input %s: %s",
                                    shown(in->ctx, name, &b), why);
  surg__buf_free(&b);
  return s;
}

static const surg_value *input_at(const surg_inputs *in, size_t i) {
  return surg_graph_input(surg_model_graph(in->m), i);
}

static const char *name_at(const void *list, size_t i) {
  return surg_value_name(input_at(list, i));
}

/* Index of the input with that name; in->n: there is none. */
static size_t find_input(const surg_inputs *in, const char *name) {
  size_t i = 0;
  while (i < in->n && strcmp(name_at(in, i), name) != 0) i++;
  return i;
}

/* Reports an unknown name, with the nearest known name (or NULL). */
static surg_status unknown(const surg_inputs *in, const char *what, const char *name,
                           const char *near) {
  surg__buf a, b;
  const char *word = shown(in->ctx, name, &a), *other = shown(in->ctx, near ? near : "", &b);
  const surg_status s = near ? surg__error(in->ctx, SURG_EUSAGE, surg_model_path(in->m),
                                           "%s %s: did you mean %s?", what, word, other)
                             : surg__error(in->ctx, SURG_EUSAGE, surg_model_path(in->m),
                                           "%s %s (try `onnxsurg info`)", what, word);
  surg__buf_free(&a);
  surg__buf_free(&b);
  return s;
}

static surg_status no_input(const surg_inputs *in, const char *name) {
  return unknown(in, "the model has no input", name, surg__nearest(name, in, in->n, name_at));
}

/* Checks an array against the declared type of its input. */
static surg_status check(const surg_inputs *in, size_t i, const surg__array *a) {
  const surg_value *v = input_at(in, i);
  const surg_type *t = surg_value_declared_type(v);
  const char *name = surg_value_name(v);
  if (surg__array_is_list(a) || !t) return SURG_OK;
  if (surg_type_get_kind(t) != SURG_TYPE_TENSOR)
    return fail(in, name, "is a tensor; the model expects another kind of value");
  if (surg_type_dtype(t) && a->dtype != surg_type_dtype(t))
    return fail(in, name, "is %s; the model expects %s", surg_dtype_name(a->dtype),
                surg_dtype_name(surg_type_dtype(t)));
  if (!surg_type_has_rank(t)) return SURG_OK;
  if (surg_type_rank(t) != a->rank)
    return fail(in, name, "has another shape than the model declares: rank %u, not %zu", a->rank,
                surg_type_rank(t));
  for (size_t k = 0; k < a->rank; k++) {
    const int64_t d = surg_type_dim(t, k)->value;
    if (d < 0 || d == a->dims[k]) continue;
    return fail(in, name, "has another shape than the model declares: dim %zu is %lld, not %lld", k,
                (long long)a->dims[k], (long long)d);
  }
  return SURG_OK;
}

/* Gives input i a reference to an array. */
static surg_status put(surg_inputs *in, size_t i, const surg__array *a) {
  const surg_status s = check(in, i, a);
  if (s != SURG_OK) return s;
  surg__array_drop(&in->in[i]);
  in->in[i] = surg__array_ref(a);
  in->given[i] = true;
  return SURG_OK;
}

/* --- archives --- */

typedef struct archive {
  surg_inputs *in;
  const char *only; /* member to load, for input `to`; NULL: all members, by name */
  size_t to, members;
  surg__array last; /* used if the archive has one member, whatever its name */
  bool found;
} archive;

/* The input for a member name. NumPy names unnamed arrays arr_0, arr_1, ...: these match inputs
 * by index. */
static size_t place_of(const surg_inputs *in, const char *name) {
  const size_t i = find_input(in, name);
  char *end;
  if (i < in->n || strncmp(name, "arr_", 4) != 0 || !name[4]) return i;
  const unsigned long n = strtoul(name + 4, &end, 10);
  return *end || n > in->n ? in->n : n;
}

static surg_status take_member(void *user, const char *name, const surg__array *a) {
  archive *x = user;
  x->members++;
  if (x->only) {
    if (x->members == 1) x->last = surg__array_ref(a);
    if (strcmp(name, x->only) != 0) return SURG_OK;
    x->found = true;
    return put(x->in, x->to, a);
  }
  const size_t i = place_of(x->in, name);
  return i == x->in->n ? no_input(x->in, name) : put(x->in, i, a);
}

static surg_status load_archive(surg_inputs *in, const char *path, const char *only, size_t to) {
  archive x = {.in = in, .only = only, .to = to};
  surg_status s = surg__npz_each(in->ctx, path, take_member, &x);
  if (s == SURG_OK && only && !x.found) {
    surg__buf file, name;
    if (x.members == 1)
      s = put(in, to, &x.last);
    else
      s = surg__error(in->ctx, SURG_EINVALID, shown(in->ctx, path, &file),
                      "contains no array named %s", shown(in->ctx, only, &name));
    if (x.members != 1) {
      surg__buf_free(&file);
      surg__buf_free(&name);
    }
  }
  surg__array_drop(&x.last);
  return s;
}

static bool is_archive(const char *path) {
  const size_t n = strlen(path);
  return n > 4 && strcmp(path + n - 4, ".npz") == 0;
}

/* --- files --- */

static surg_status load_input(surg_inputs *in, size_t i, const char *path) {
  const surg_value *x = input_at(in, i);
  if (is_archive(path)) return load_archive(in, path, surg_value_name(x), i);
  surg__array a = {0};
  surg_status s = surg__value_load_as(in->ctx, path, surg_value_declared_type(x), &a);
  if (s == SURG_OK) s = put(in, i, &a);
  surg__array_drop(&a);
  return s;
}

surg_status surg_data_file(surg_context *ctx, const char *dir, const char *stem, size_t i,
                           char **path) {
  static const char *const ends[] = {"pb", "npy"};
  surg__stat st;
  if (!ctx || !dir || !stem || !path) return SURG_EUSAGE;
  *path = NULL;
  for (size_t k = 0; k < SURG_COUNT(ends); k++) {
    surg__buf b;
    surg__buf_init(&b, ctx);
    surg__buf_printf(&b, "%s/%s_%zu.%s", dir, stem, i, ends[k]);
    const int why = b.failed ? 0 : surg__os_stat(b.p, &st);
    if (!why) return surg__oom_reported(ctx, surg__buf_give(&b, path), dir);
    surg__buf_free(&b);
    if (why != ENOENT && why != ENOTDIR)
      return surg__error(ctx, SURG_EIO, dir, "cannot look for %s_%zu.%s: %s", stem, i, ends[k],
                         strerror(why));
  }
  return SURG_ENOTFOUND;
}

/* The number k of "stem_k.pb" or "stem_k.npy"; SIZE_MAX: another name. */
static size_t number_of(const char *name, const char *stem) {
  const size_t n = strlen(stem);
  char *end;
  if (strncmp(name, stem, n) != 0 || name[n] != '_' || !isdigit((unsigned char)name[n + 1]))
    return SIZE_MAX;
  const unsigned long k = strtoul(name + n + 1, &end, 10);
  return strcmp(end, ".pb") == 0 || strcmp(end, ".npy") == 0 ? k : SIZE_MAX;
}

surg_status surg_data_folder(const surg_model *model, const char *dir, const char *stem, size_t n) {
  if (!model || !dir || !stem) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(model);
  surg__buf name, file;
  const char *where = shown(ctx, dir, &name);
  surg_status s = SURG_OK;
  surg__os_folder *d;
  const int e = surg__os_folder_open(dir, &d);
  if (e)
    s = surg__error(ctx, SURG_EIO, where, "%s", e == ENOTDIR ? "is not a folder" : strerror(e));
  for (const char *entry; d && s == SURG_OK && (entry = surg__os_folder_next(d));) {
    const size_t k = number_of(entry, stem);
    if (k == SIZE_MAX || k < n) continue;
    s = surg__error(ctx, SURG_EINVALID, where, "contains %s, but %s has %zu %s%s",
                    shown(ctx, entry, &file), surg_model_path(model), n, stem,
                    n == 1 ? "" : "s");
    surg__buf_free(&file);
  }
  surg__os_folder_close(d);
  surg__buf_free(&name);
  return s;
}

static surg_status load_folder(surg_inputs *in, const char *dir) {
  surg_status s = surg_data_folder(in->m, dir, "input", in->n);
  for (size_t i = 0; i < in->n && s == SURG_OK; i++) {
    char *path = NULL;
    s = surg_data_file(in->ctx, dir, "input", i, &path);
    if (s == SURG_OK) s = load_input(in, i, path);
    surg_context_free_bytes(in->ctx, path);
    if (s == SURG_ENOTFOUND) s = SURG_OK;
  }
  return s;
}

static surg_status check_all_given(const surg_inputs *in, const char *dir) {
  for (size_t i = 0; i < in->n; i++) {
    const surg_value *v = input_at(in, i);
    if (in->given[i] || surg_value_is_initializer(v)) continue;
    char text[64] = "";
    if (!is_archive(dir)) snprintf(text, sizeof text, "there is no input_%zu.pb in ", i);
    surg__buf b;
    const surg_status s = fail(in, surg_value_name(v), "is missing%s %s%s; give it with --input",
                               is_archive(dir) ? " in" : ":", text, shown(in->ctx, dir, &b));
    surg__buf_free(&b);
    return s;
  }
  return SURG_OK;
}

/* --- sizes --- */

static const surg_type *innermost(const surg_type *t) {
  while (surg_type_get_kind(t) == SURG_TYPE_SEQUENCE || surg_type_get_kind(t) == SURG_TYPE_OPTIONAL)
    t = surg_type_elem(t);
  return t;
}

typedef SURG_VEC(const char *) symbols;

static const char *symbol_at(const void *list, size_t i) {
  return ((const symbols *)list)->items[i];
}

/* Collects the symbolic dimensions of all inputs. */
static bool symbols_of(const surg_inputs *in, symbols *out) {
  for (size_t i = 0; i < in->n; i++) {
    const surg_type *t = innermost(surg_value_declared_type(input_at(in, i)));
    if (surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) continue;
    for (size_t k = 0; k < surg_type_rank(t); k++) {
      const surg_dim d = *surg_type_dim(t, k);
      if (d.value < 0 && d.param && !surg__vec_push(in->ctx, out, d.param)) return false;
    }
  }
  return true;
}

static surg_status check_sizes(const surg_inputs *in) {
  symbols known = {0};
  surg_status s = symbols_of(in, &known) ? SURG_OK : surg__oom(in->ctx, NULL);
  for (size_t i = 0; i < in->n_sizes && s == SURG_OK; i++) {
    const char *name = in->sizes[i].name;
    size_t k = 0;
    while (k < known.count && strcmp(known.items[k], name) != 0) k++;
    if (k == known.count)
      s = unknown(in, "no input of the model has a dim", name,
                  surg__nearest(name, &known, known.count, symbol_at));
  }
  surg__vec_free(in->ctx, &known);
  return s;
}

bool surg__size_of(const surg_size *sizes, size_t n, const char *symbol, int64_t *out) {
  for (size_t i = 0; i < n; i++) {
    const surg_size *s = surg__size_at(sizes, i);
    if (strcmp(s->name, symbol) != 0) continue;
    *out = s->value;
    return true;
  }
  return false;
}

bool surg__inputs_dim_of(void *inputs, const char *symbol, int64_t *out) {
  const surg_inputs *in = inputs;
  return surg__size_of(in->sizes, in->n_sizes, symbol, out);
}

static surg_status copy_sizes(surg_inputs *in, const surg_inputs_options *o) {
  for (size_t i = 0; i < o->n_sizes; i++) {
    const surg_size *s = surg__size_at(o->sizes, i);
    if (!s->name || s->value < 0) return SURG_EUSAGE;
  }
  in->sizes = surg__calloc(in->ctx, o->n_sizes + 1, sizeof *in->sizes);
  if (!in->sizes) return surg__oom(in->ctx, NULL);
  for (; in->n_sizes < o->n_sizes; in->n_sizes++) {
    const surg_size *s = surg__size_at(o->sizes, in->n_sizes);
    char *name = surg__strdup(in->ctx, s->name);
    if (!name) return surg__oom(in->ctx, NULL);
    in->sizes[in->n_sizes] =
        (surg_size){.size = sizeof(surg_size), .name = name, .value = s->value};
  }
  return check_sizes(in);
}

/* --- the object --- */

surg_status surg_inputs_new(surg_model *model, const surg_inputs_options *options,
                            surg_inputs **out) {
  surg_inputs_options o;
  if (out) *out = NULL;
  if (!model || !out) return SURG_EUSAGE;
  surg__struct_in(&o, sizeof o, options);
  if (o.fill < SURG_FILL_RANDOM || o.fill > SURG_FILL_ADVERSARIAL || (o.n_sizes && !o.sizes))
    return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(model);
  surg_inputs *in = surg__calloc(ctx, 1, sizeof *in);
  if (!in) return surg__oom(ctx, NULL);
  in->ctx = ctx;
  in->m = model;
  in->n = surg_graph_input_count(surg_model_graph(model));
  in->maker = (surg__maker){.fill = (surg__fill)o.fill,
                            .state = o.seed,
                            .size = 2,
                            .dim_of = surg__inputs_dim_of,
                            .user = in};
  in->in = surg__calloc(ctx, in->n + 1, sizeof *in->in);
  in->given = surg__calloc(ctx, in->n + 1, sizeof *in->given);
  surg_status s = in->in && in->given ? SURG_OK : surg__oom(ctx, NULL);
  if (s == SURG_OK && o.n_sizes) s = copy_sizes(in, &o);
  if (s == SURG_OK)
    *out = in;
  else
    surg_inputs_free(in);
  return s;
}

void surg_inputs_free(surg_inputs *in) {
  if (!in) return;
  for (size_t i = 0; in->in && i < in->n; i++) surg__array_drop(&in->in[i]);
  for (size_t i = 0; i < in->n_sizes; i++)
    surg__free(in->ctx, (char *)(uintptr_t)in->sizes[i].name);
  surg__free(in->ctx, in->sizes);
  surg__free(in->ctx, in->in);
  surg__free(in->ctx, in->given);
  surg__free(in->ctx, in);
}

surg_status surg_inputs_set(surg_inputs *in, const char *name, const surg_array *a) {
  if (!in || !name || !a || a->ctx != in->ctx) return SURG_EUSAGE;
  const size_t i = find_input(in, name);
  in->complete = false;
  return i == in->n ? no_input(in, name) : put(in, i, &a->a);
}

surg_status surg_inputs_read(surg_inputs *in, const char *name, const char *path) {
  if (!in || !name || !path) return SURG_EUSAGE;
  const size_t i = find_input(in, name);
  in->complete = false;
  return i == in->n ? no_input(in, name) : load_input(in, i, path);
}

surg_status surg_inputs_read_all(surg_inputs *in, const char *path) {
  if (!in || !path) return SURG_EUSAGE;
  in->complete = false;
  return is_archive(path) ? load_archive(in, path, NULL, 0) : load_folder(in, path);
}

surg_status surg_inputs_require_all(const surg_inputs *in, const char *path) {
  return in && path ? check_all_given(in, path) : SURG_EUSAGE;
}

surg_status surg_inputs_get(const surg_inputs *in, size_t i, surg_array **out) {
  if (!in || !out) return SURG_EUSAGE;
  *out = NULL;
  if (i >= in->n || !in->in[i].dtype) return SURG_ENOTFOUND;
  return surg__array_handle(in->ctx, &in->in[i], out);
}

bool surg_inputs_made(const surg_inputs *in) {
  return in && in->made;
}
