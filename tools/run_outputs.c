/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of `onnxsurg run`: prints them, writes them to files, compares them with files. */
#include <stdlib.h>
#include <string.h>

#include "run_job.h"

static const char *output_name(const run_job *j, size_t i) {
  return surg_value_name(surg_graph_output(j->g, i));
}

void run_print(const run_job *j) {
  json_t *list = j->json ? json_array() : NULL;
  for (size_t i = 0; i < j->n_out; i++) {
    if (list) {
      json_array_append_new(list, cli_value_json(output_name(j, i), &j->result[i], SHOWN));
      continue;
    }
    surg__buf b;
    surg__buf_init(&b, j->ctx);
    surg__value_print(&j->result[i], SHOWN, &b);
    cli_put(stdout, output_name(j, i));
    printf(": %s\n", b.failed || !b.p ? "" : b.p);
    surg__buf_free(&b);
  }
  if (list) json_object_set_new(j->json, "outputs", list);
}

/* --- files --- */

/* The file path for an output, for the caller to free. '/' and control characters in the name
 * are replaced by '_'. */
static char *output_path(const run_job *j, size_t i, const char *end) {
  const char *name = output_name(j, i);
  const size_t n = strlen(j->out) + strlen(name) + 16;
  char *path = malloc(n);
  if (!path) return NULL;
  snprintf(path, n, "%s/%s.%s", j->out, name, end);
  for (char *c = path + strlen(j->out) + 1; *c; c++)
    if (*c == '/' || (unsigned char)*c < 32) *c = '_';
  return path;
}

static bool as_messages(const run_job *j) { return j->format && strcmp(j->format, "pb") == 0; }

typedef struct named_file {
  char *path;
  size_t output;
} named_file;

static int by_path(const void *a, const void *b) {
  return strcmp(((const named_file *)a)->path, ((const named_file *)b)->path);
}

static int same_file(const run_job *j, const named_file *a, const named_file *b) {
  const bool first = a->output < b->output;
  fprintf(stderr, "%s: error: outputs ", surg_model_path(j->m));
  cli_put(stderr, output_name(j, (first ? a : b)->output));
  fputs(" and ", stderr);
  cli_put(stderr, output_name(j, (first ? b : a)->output));
  fputs(" would be the same file: rename one of them\n", stderr);
  return EXIT_MODEL;
}

int run_check_files(const run_job *j) {
  named_file *all = calloc(j->n_out + 1, sizeof *all);
  int code = all ? EXIT_DONE : cli_no_memory();
  size_t n = 0;
  for (; n < j->n_out && code == EXIT_DONE; n++) {
    all[n] = (named_file){output_path(j, n, as_messages(j) ? "pb" : "npy"), n};
    if (!all[n].path) code = cli_no_memory();
  }
  if (code == EXIT_DONE && n) qsort(all, n, sizeof *all, by_path);
  for (size_t i = 1; i < n && code == EXIT_DONE; i++)
    if (!by_path(&all[i - 1], &all[i])) code = same_file(j, &all[i - 1], &all[i]);
  for (size_t i = 0; i < n; i++) free(all[i].path);
  free(all);
  return code;
}

static int write_one(const run_job *j, size_t i) {
  const bool pb = as_messages(j);
  const char *name = output_name(j, i);
  surg__buf b;
  surg__buf_init(&b, j->ctx);
  surg_status s = pb ? surg__value_message(&j->result[i], name, &b)
                     : surg__npy_write(&j->result[i], &b);
  char *path = output_path(j, i, pb ? "pb" : "npy");
  int code;
  if (s == SURG_EUNSUPPORTED) {
    fprintf(stderr, "%s: error: output ", surg_model_path(j->m));
    cli_put(stderr, name);
    fprintf(stderr, pb ? ": is nothing\n" : ": has a type that NumPy lacks: try --format pb\n");
    code = EXIT_MODEL;
  } else if (s != SURG_OK || !path) {
    code = cli_no_memory();
  } else {
    code = cli_write_file(path, &b);
  }
  free(path);
  surg__buf_free(&b);
  return code;
}

int run_write(const run_job *j) {
  int code = EXIT_DONE;
  for (size_t i = 0; i < j->n_out && code == EXIT_DONE; i++) code = write_one(j, i);
  return code;
}

/* --- comparison with expected outputs --- */

static void tell(const run_job *j, const char *name, const surg__distance *d, bool same) {
  if (same && j->common.quiet) return;
  cli_put(stdout, name);
  if (d->other_shape) {
    printf(": differs: %s\n", d->why);
    return;
  }
  if (same)
    printf(": as expected");
  else
    printf(": differs: %llu of %llu elements, the first at %llu: %s",
           (unsigned long long)d->differing, (unsigned long long)d->elements,
           (unsigned long long)d->first, d->why);
  printf("; max abs %.3g, max rel %.3g, max ulp %llu\n", d->max_abs, d->max_rel,
         (unsigned long long)d->max_ulp);
}

static json_t *distance_json(const char *name, const surg__distance *d, bool same) {
  json_t *o = json_object();
  json_object_set_new(o, "name", cli_text_json(name));
  json_object_set_new(o, "same", json_boolean(same));
  json_object_set_new(o, "elements", json_integer((json_int_t)d->elements));
  json_object_set_new(o, "differing", json_integer((json_int_t)d->differing));
  json_object_set_new(o, "max_abs", json_real(d->max_abs));
  json_object_set_new(o, "max_rel", json_real(d->max_rel));
  json_object_set_new(o, "max_ulp", json_integer((json_int_t)d->max_ulp));
  json_object_set_new(o, "cosine", json_real(d->cosine));
  if (*d->why) json_object_set_new(o, "first", cli_text_json(d->why));
  return o;
}

static int compare_one(const run_job *j, size_t i, const char *path, json_t *list) {
  const surg_type *t = surg_graph_output_type(j->g, i);
  surg__array want = {0};
  surg__distance d;
  if (!t) t = surg_value_type(surg_graph_output(j->g, i));
  const surg_status s = surg__value_load(j->ctx, path, t, &want);
  if (s != SURG_OK) return cli_exit_code(s);
  if (want.dtype == SURG_UINT16 && j->result[i].dtype == SURG_BFLOAT16) want.dtype = SURG_BFLOAT16;
  const bool same = surg__value_compare(&j->result[i], &want, &j->how.tolerance, &d);
  if (list)
    json_array_append_new(list, distance_json(output_name(j, i), &d, same));
  else
    tell(j, output_name(j, i), &d, same);
  surg__array_drop(&want);
  return same ? EXIT_DONE : EXIT_MODEL;
}

static int lacks(const run_job *j, size_t i) {
  cli_put(stderr, j->expect);
  fprintf(stderr, ": error: contains no output_%zu.pb for output ", i);
  cli_put(stderr, output_name(j, i));
  fputc('\n', stderr);
  return EXIT_MODEL;
}

int run_compare(const run_job *j) {
  int code = EXIT_DONE;
  json_t *list = j->json ? json_array() : NULL;
  for (size_t i = 0; i < j->own_out; i++) {
    char *path = cli_numbered(j->expect, "output", i);
    const int one = path ? compare_one(j, i, path, list) : lacks(j, i);
    if (one > code) code = one;
    free(path);
  }
  if (list) json_object_set_new(j->json, "compared", list);
  return code;
}
