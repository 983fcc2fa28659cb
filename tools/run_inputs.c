/* SPDX-License-Identifier: Apache-2.0 */
/* Given inputs: named files, numbered files of a folder, members of an archive; each must fit what
 * the model declares. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* The input of that name; v->n: there is none. */
static size_t find_input(const cli_values *v, const char *name) {
  size_t i = 0;
  while (i < v->n && strcmp(input_name(v, i), name) != 0) i++;
  return i;
}

static int no_input(const cli_values *v, const char *name) {
  const char *near = surg__nearest(name, v, v->n, name_at);
  fprintf(stderr, "%s: error: the model has no input ", surg_model_path(v->m));
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

/* What was given must be what the model declares. */
static int check_input(const cli_values *values, size_t i) {
  const surg_value *v = surg_graph_input(surg_model_graph(values->m), i);
  const surg_type *t = surg_value_declared_type(v);
  const surg__array *a = &values->in[i];
  char text[200];
  if (surg__array_is_list(a)) return EXIT_DONE;
  if (!t) return EXIT_DONE;
  if (surg_type_get_kind(t) != SURG_TYPE_TENSOR)
    return fail(values, surg_value_name(v), "is a tensor, the model takes another kind of value");
  if (surg_type_dtype(t) && a->dtype != surg_type_dtype(t)) {
    snprintf(text, sizeof text, "is %s, the model takes %s", surg_dtype_name(a->dtype),
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
    const int64_t d = surg_type_dim(t, k).value;
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
  const char *only; /* the member that is wanted, for input `to`; NULL: all, by name */
  size_t to, members;
  surg__array last; /* a single member may bear any name */
  bool found;
  int code;
} archive;

/* NumPy calls arrays without a name arr_0, arr_1 ...: those are inputs by place. */
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
      fprintf(stderr, ": error: holds no array of the name ");
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
  /* Old test suites keep the bits of bfloat16 as uint16. */
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
  for (size_t k = 0; path && k < SURG_COUNT(ends); k++) {
    snprintf(path, n, "%s/%s_%zu.%s", dir, stem, i, ends[k]);
    if (access(path, F_OK) == 0) return path;
  }
  free(path);
  return NULL;
}

static int load_folder(cli_values *v, const char *dir) {
  struct stat st;
  int code = EXIT_DONE;
  if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode)) {
    cli_put(stderr, dir);
    fprintf(stderr, ": error: cannot read: %s\n", errno ? strerror(errno) : "is no folder");
    return EXIT_IO;
  }
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

int cli_values_load(const cli_run *r, surg_model *m, bool lacks, cli_values *out) {
  const size_t n = surg_graph_input_count(surg_model_graph(m));
  *out = (cli_values){.ctx = surg_model_context(m), .m = m, .n = n};
  out->in = calloc(n + 1, sizeof *out->in);
  out->given = calloc(n + 1, sizeof *out->given);
  int code = out->in && out->given ? EXIT_DONE : cli_no_memory();
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
