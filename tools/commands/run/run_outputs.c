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
      json_array_append_new(list, cli_value_json(output_name(j, i), j->result[i], SHOWN));
      continue;
    }
    char *text = NULL;
    const surg_status s = surg_array_text(j->result[i], SHOWN, &text);
    cli_put(stdout, output_name(j, i));
    printf(": %s\n", s == SURG_OK ? text : "");
    surg_context_free_bytes(j->ctx, text);
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

static bool as_messages(const run_job *j) {
  return j->format && strcmp(j->format, "pb") == 0;
}

typedef struct named_file {
  char *path;
  size_t output;
} named_file;

static int by_path(const void *a, const void *b) {
  return strcmp(((const named_file *)a)->path, ((const named_file *)b)->path);
}

static int same_file(const run_job *j, const named_file *a, const named_file *b) {
  const bool first = a->output < b->output;
  cli_text t = {0};
  cli_text_puts(&t, "outputs ");
  cli_text_escape(&t, output_name(j, (first ? a : b)->output), 0);
  cli_text_puts(&t, " and ");
  cli_text_escape(&t, output_name(j, (first ? b : a)->output), 0);
  cli_text_puts(&t, " would be the same file: rename one of them");
  cli_error_text(surg_model_path(j->m), &t);
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
  char *path = output_path(j, i, pb ? "pb" : "npy");
  if (!path) return cli_no_memory();
  const surg_status s =
      surg_array_save(j->result[i], path, pb ? SURG_ARRAY_PB : SURG_ARRAY_NPY, name);
  free(path);
  if (s != SURG_EUNSUPPORTED) return cli_exit_code(s);
  cli_text t = {0};
  cli_text_puts(&t, "output ");
  cli_text_escape(&t, name, 0);
  cli_text_puts(&t, pb ? ": is nothing" : ": has a type that NumPy lacks: try --format pb");
  cli_error_text(surg_model_path(j->m), &t);
  return EXIT_MODEL;
}

int run_write(const run_job *j) {
  int code = EXIT_DONE;
  for (size_t i = 0; i < j->n_out && code == EXIT_DONE; i++) code = write_one(j, i);
  return code;
}

/* --- comparison with expected outputs --- */

static void tell(const run_job *j, const char *name, const surg_distance *d) {
  if (d->same && j->common.quiet) return;
  cli_put(stdout, name);
  if (d->other_shape) {
    printf(": differs: %s\n", d->why);
    return;
  }
  if (d->same)
    printf(": as expected");
  else
    printf(": differs: %llu of %llu elements, the first at %llu: %s",
           (unsigned long long)d->differing, (unsigned long long)d->elements,
           (unsigned long long)d->first, d->why);
  printf("; max abs %.3g, max rel %.3g, max ulp %llu\n", d->max_abs, d->max_rel,
         (unsigned long long)d->max_ulp);
}

static json_t *distance_json(const char *name, const surg_distance *d) {
  json_t *o = json_object();
  json_object_set_new(o, "name", cli_text_json(name));
  json_object_set_new(o, "same", json_boolean(d->same));
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
  surg_array *want = NULL;
  surg_distance d = {.size = sizeof d};
  if (!t) t = surg_value_type(surg_graph_output(j->g, i));
  surg_status s = surg_array_load(j->ctx, path, t, &want);
  if (s == SURG_OK) s = surg_array_compare(j->result[i], want, &j->how.tolerance, &d);
  surg_array_free(want);
  if (s != SURG_OK) return cli_exit_code(s);
  if (list)
    json_array_append_new(list, distance_json(output_name(j, i), &d));
  else
    tell(j, output_name(j, i), &d);
  return d.same ? EXIT_DONE : EXIT_MODEL;
}

static int lacks(const run_job *j, size_t i) {
  cli_text t = {0};
  cli_text_printf(&t, "contains no output_%zu.pb for output ", i);
  cli_text_escape(&t, output_name(j, i), 0);
  cli_error_text(j->expect, &t);
  return EXIT_MODEL;
}

int run_compare(const run_job *j) {
  int code = EXIT_DONE;
  json_t *list = j->json ? json_array() : NULL;
  for (size_t i = 0; i < j->own_out; i++) {
    char *path = NULL;
    const surg_status s = surg_data_file(j->ctx, j->expect, "output", i, &path);
    const int one = s == SURG_OK          ? compare_one(j, i, path, list)
                    : s == SURG_ENOTFOUND ? lacks(j, i)
                                          : cli_exit_code(s);
    if (one > code) code = one;
    surg_context_free_bytes(j->ctx, path);
  }
  if (list) json_object_set_new(j->json, "compared", list);
  return code;
}
