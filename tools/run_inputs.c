/* SPDX-License-Identifier: Apache-2.0 */
/* Reads given inputs: named files, numbered files of a folder, members of an archive. Each must
 * match the declared type of its input. */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "run_cli.h"

static int fail(const cli_values *v, const char *name, const char *why) {
  fprintf(stderr, "%s: error: input ", surg_model_path(v->m));
  cli_put(stderr, name);
  fprintf(stderr, ": %s\n", why);
  return EXIT_MODEL;
}

static const char *input_name(const cli_values *v, size_t i) {
  return surg_value_name(surg_graph_input(surg_model_graph(v->m), i));
}

static const char *name_at(const void *list, size_t i) {
  return input_name(list, i);
}

/* Index of the input with that name; v->n: there is none. */
static size_t find_input(const cli_values *v, const char *name) {
  size_t i = 0;
  while (i < v->n && strcmp(input_name(v, i), name) != 0) i++;
  return i;
}

/* Ends an error about an unknown name, with the nearest known name (or NULL) as a suggestion. */
static int near_or_not(const char *name, const char *near) {
  cli_put(stderr, name);
  if (near) {
    fprintf(stderr, ": did you mean ");
    cli_put(stderr, near);
    fprintf(stderr, "?\n");
  } else {
    fprintf(stderr, " (try `onnxsurg info`)\n");
  }
  return EXIT_USAGE;
}

static int no_input(const cli_values *v, const char *name) {
  fprintf(stderr, "%s: error: the model has no input ", surg_model_path(v->m));
  return near_or_not(name, surg__nearest(name, v, v->n, name_at));
}

/* Checks a given array against the declared type of its input. */
static int check_input(const cli_values *values, size_t i) {
  const surg_value *v = surg_graph_input(surg_model_graph(values->m), i);
  const surg_type *t = surg_value_declared_type(v);
  const surg__array *a = &values->in[i];
  char text[200];
  if (surg__array_is_list(a)) return EXIT_DONE;
  if (!t) return EXIT_DONE;
  if (surg_type_get_kind(t) != SURG_TYPE_TENSOR)
    return fail(values, surg_value_name(v), "is a tensor; the model expects another kind of value");
  if (surg_type_dtype(t) && a->dtype != surg_type_dtype(t)) {
    snprintf(text, sizeof text, "is %s; the model expects %s", surg_dtype_name(a->dtype),
             surg_dtype_name(surg_type_dtype(t)));
    return fail(values, surg_value_name(v), text);
  }
  if (!surg_type_has_rank(t)) return EXIT_DONE;
  if (surg_type_rank(t) != a->rank) {
    snprintf(text, sizeof text, "has another shape than the model declares: rank %u, not %zu",
             a->rank, surg_type_rank(t));
    return fail(values, surg_value_name(v), text);
  }
  for (size_t k = 0; k < a->rank; k++) {
    const int64_t d = surg_type_dim(t, k)->value;
    if (d < 0 || d == a->dims[k]) continue;
    snprintf(text, sizeof text,
             "has another shape than the model declares: dim %zu is %lld, not %lld", k,
             (long long)a->dims[k], (long long)d);
    return fail(values, surg_value_name(v), text);
  }
  return EXIT_DONE;
}

/* --- archives --- */

typedef struct archive {
  cli_values *v;
  const char *only; /* member to load, for input `to`; NULL: all members, by name */
  size_t to, members;
  surg__array last; /* used if the archive has one member, whatever its name */
  bool found;
  int code;
} archive;

/* The input for a member name. NumPy names unnamed arrays arr_0, arr_1, ...: these match inputs
 * by index. */
static size_t place_of(const cli_values *v, const char *name) {
  const size_t i = find_input(v, name);
  char *end;
  if (i < v->n || strncmp(name, "arr_", 4) != 0 || !name[4]) return i;
  const unsigned long n = strtoul(name + 4, &end, 10);
  return *end || n > v->n ? v->n : n;
}

static void put(cli_values *v, size_t i, const surg__array *a) {
  surg__array_drop(&v->in[i]);
  v->in[i] = surg__array_ref(a);
  v->given[i] = true;
}

static surg_status take_member(void *user, const char *name, const surg__array *a) {
  archive *x = user;
  x->members++;
  if (x->only) {
    if (x->members == 1) x->last = surg__array_ref(a);
    if (strcmp(name, x->only) != 0) return SURG_OK;
    x->found = true;
    put(x->v, x->to, a);
    return SURG_OK;
  }
  const size_t i = place_of(x->v, name);
  if (i == x->v->n)
    x->code = no_input(x->v, name);
  else
    put(x->v, i, a);
  if (x->code == EXIT_DONE) x->code = i < x->v->n ? check_input(x->v, i) : EXIT_DONE;
  return x->code == EXIT_DONE ? SURG_OK : SURG_EINVALID;
}

static int load_archive(cli_values *v, const char *path, const char *only, size_t to) {
  archive x = {.v = v, .only = only, .to = to};
  const surg_status s = surg__npz_each(v->ctx, path, take_member, &x);
  int code = x.code != EXIT_DONE ? x.code : s == SURG_OK ? EXIT_DONE : cli_exit_code(s);
  if (code == EXIT_DONE && only && !x.found) {
    if (x.members == 1) {
      put(v, to, &x.last);
    } else {
      cli_put(stderr, path);
      fprintf(stderr, ": error: contains no array named ");
      cli_put(stderr, only);
      fprintf(stderr, "\n");
      code = EXIT_MODEL;
    }
  }
  surg__array_drop(&x.last);
  if (code == EXIT_DONE && only) code = check_input(v, to);
  return code;
}

static bool is_archive(const char *path) {
  const size_t n = strlen(path);
  return n > 4 && strcmp(path + n - 4, ".npz") == 0;
}

/* --- files --- */

static int load_input(cli_values *v, size_t i, const char *path) {
  const surg_value *x = surg_graph_input(surg_model_graph(v->m), i);
  if (is_archive(path)) return load_archive(v, path, surg_value_name(x), i);
  surg__array a = {0};
  const surg_status s = surg__value_load(v->ctx, path, surg_value_declared_type(x), &a);
  if (s != SURG_OK) return cli_exit_code(s);
  /* Old test suites store bfloat16 bits as uint16. */
  if (a.dtype == SURG_UINT16 && surg_type_dtype(surg_value_declared_type(x)) == SURG_BFLOAT16)
    a.dtype = SURG_BFLOAT16;
  surg__array_drop(&v->in[i]);
  v->in[i] = a;
  v->given[i] = true;
  return check_input(v, i);
}

char *cli_numbered(const char *dir, const char *stem, size_t i) {
  static const char *const ends[] = {"pb", "npy"};
  const size_t n = strlen(dir) + 64;
  char *path = malloc(n);
  for (size_t k = 0; path && k < CLI_COUNT(ends); k++) {
    snprintf(path, n, "%s/%s_%zu.%s", dir, stem, i, ends[k]);
    if (access(path, F_OK) == 0) return path;
  }
  free(path);
  return NULL;
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

int cli_check_numbered(const surg_model *m, const char *dir, const char *stem, size_t n) {
  int code = cli_need_folder(dir, NULL, false);
  DIR *d = code == EXIT_DONE ? opendir(dir) : NULL;
  for (const struct dirent *e; d && code == EXIT_DONE && (e = readdir(d));) {
    const size_t k = number_of(e->d_name, stem);
    if (k == SIZE_MAX || k < n) continue;
    cli_put(stderr, dir);
    fprintf(stderr, ": error: contains %s, but %s has %zu %s%s\n", e->d_name, surg_model_path(m), n,
            stem, n == 1 ? "" : "s");
    code = EXIT_MODEL;
  }
  if (d) closedir(d);
  return code;
}

static int load_folder(cli_values *v, const char *dir) {
  int code = cli_check_numbered(v->m, dir, "input", v->n);
  for (size_t i = 0; i < v->n && code == EXIT_DONE; i++) {
    char *path = cli_numbered(dir, "input", i);
    if (!path) continue;
    code = load_input(v, i, path);
    free(path);
  }
  return code;
}

static int check_all_given(const cli_values *v, const char *dir) {
  for (size_t i = 0; i < v->n; i++) {
    if (v->given[i]) continue;
    if (surg_value_is_initializer(surg_graph_input(surg_model_graph(v->m), i))) continue;
    char text[64];
    snprintf(text, sizeof text, "is missing: there is no input_%zu.pb in ", i);
    fprintf(stderr, "%s: error: input ", surg_model_path(v->m));
    cli_put(stderr, input_name(v, i));
    fprintf(stderr, ": %s", is_archive(dir) ? "is missing in " : text);
    cli_put(stderr, dir);
    fprintf(stderr, "; give it with --input\n");
    return EXIT_MODEL;
  }
  return EXIT_DONE;
}

/* --- dims --- */

static const surg_type *innermost(const surg_type *t) {
  while (surg_type_get_kind(t) == SURG_TYPE_SEQUENCE || surg_type_get_kind(t) == SURG_TYPE_OPTIONAL)
    t = surg_type_elem(t);
  return t;
}

static const char *word_at(const void *list, size_t i) {
  return ((const cli_words *)list)->items[i];
}

/* Collects the symbolic dimensions of all inputs. */
static int dims_of(const cli_values *v, cli_words *out) {
  int code = EXIT_DONE;
  for (size_t i = 0; i < v->n; i++) {
    const surg_graph *g = surg_model_graph(v->m);
    const surg_type *t = innermost(surg_value_declared_type(surg_graph_input(g, i)));
    if (surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) continue;
    for (size_t k = 0; k < surg_type_rank(t) && code == EXIT_DONE; k++) {
      const surg_dim d = *surg_type_dim(t, k);
      if (d.value < 0 && d.param) code = cli_words_take(out, d.param);
    }
  }
  return code;
}

static int check_dims(const cli_values *v, const cli_dims *asked) {
  cli_words known = {0};
  int code = asked->n ? dims_of(v, &known) : EXIT_DONE;
  for (size_t i = 0; i < asked->n && code == EXIT_DONE; i++) {
    const char *name = asked->items[i].name;
    size_t k = 0;
    while (k < known.n && strcmp(known.items[k], name) != 0) k++;
    if (k < known.n) continue;
    fprintf(stderr, "%s: error: no input of the model has a dim ", surg_model_path(v->m));
    code = near_or_not(name, surg__nearest(name, &known, known.n, word_at));
  }
  free(known.items);
  return code;
}

/* --- all --- */

int cli_values_load(const cli_run *r, surg_model *m, bool lacks, cli_values *out) {
  const size_t n = surg_graph_input_count(surg_model_graph(m));
  *out = (cli_values){.ctx = surg_model_context(m), .m = m, .n = n};
  out->in = calloc(n + 1, sizeof *out->in);
  out->given = calloc(n + 1, sizeof *out->given);
  int code = out->in && out->given ? EXIT_DONE : cli_no_memory();
  if (code == EXIT_DONE) code = check_dims(out, &r->dims);
  if (code == EXIT_DONE && r->inputs_dir)
    code = is_archive(r->inputs_dir) ? load_archive(out, r->inputs_dir, NULL, 0)
                                     : load_folder(out, r->inputs_dir);
  for (size_t k = 0; k < r->n_inputs && code == EXIT_DONE; k++) {
    const size_t i = find_input(out, r->inputs[k].name);
    code = i == n ? no_input(out, r->inputs[k].name) : load_input(out, i, r->inputs[k].text);
  }
  if (code == EXIT_DONE && r->inputs_dir && !lacks && !r->filled)
    code = check_all_given(out, r->inputs_dir);
  return code;
}

void cli_values_free(cli_values *v) {
  for (size_t i = 0; v->in && i < v->n; i++) surg__array_drop(&v->in[i]);
  free(v->in);
  free(v->given);
}
