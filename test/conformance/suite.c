/* SPDX-License-Identifier: Apache-2.0 */
/* Walking, reading and comparing the data of ONNX's backend test suite. */
#include "suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/run.h"

#define MAX_PATH 4096
#define MAX_DEPTH 4

/* --- folders --- */

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static void walk(const char *dir, int depth, void (*visit)(void *, const char *, const char *),
                 void *user) {
  char model[MAX_PATH], path[MAX_PATH];
  struct stat st;
  struct dirent **list;
  int n = scandir(dir, &list, NULL, by_name);
  if (n < 0) return;
  snprintf(model, sizeof model, "%s/model.onnx", dir);
  bool is_case = stat(model, &st) == 0;
  for (int i = 0; i < n; ++i) {
    const char *name = list[i]->d_name;
    int wrote = snprintf(path, sizeof path, "%s/%s", dir, name);
    bool fits = name[0] != '.' && wrote > 0 && wrote < (int)sizeof path;
    if (fits && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
      if (!is_case && depth > 0) walk(path, depth - 1, visit, user);
      if (is_case && strncmp(name, "test_data_set_", 14) == 0) visit(user, model, path);
    }
    free(list[i]);
  }
  free(list);
}

void suite_walk(const char *dir, void (*visit)(void *, const char *, const char *), void *user) {
  walk(dir, MAX_DEPTH, visit, user);
}

void suite_walk_list(const char *dirs, void (*visit)(void *, const char *, const char *),
                     void *user) {
  char dir[MAX_PATH];
  while (*dirs) {
    size_t n = strcspn(dirs, ":");
    if (n > 0 && n < sizeof dir) {
      memcpy(dir, dirs, n);
      dir[n] = '\0';
      walk(dir, MAX_DEPTH, visit, user);
    }
    dirs += n + (dirs[n] == ':');
  }
}

/* --- files --- */

char *suite_file(const char *set, const char *stem, size_t i) {
  char *path;
  if (asprintf(&path, "%s/%s_%zu.pb", set, stem, i) < 0) abort();
  return path;
}

surg_status suite_read(surg_context *ctx, const char *path, const surg_type *type,
                       surg__array *out) {
  if (access(path, F_OK) != 0) return SURG_ENOTFOUND;
  surg_status s = surg__value_load(ctx, path, type, out);
  if (s == SURG_OK && out->dtype == SURG_UINT16 && surg_type_dtype(type) == SURG_BFLOAT16) {
    out->dtype = SURG_BFLOAT16;
  }
  return s;
}

suite_match suite_compare(const surg__array *got, const surg__array *want, char *why, size_t n) {
  surg__tolerance t = {.relative = 1e-3, .absolute = 1e-7};
  surg__distance d;
  if (surg__value_compare(got, want, &t, &d)) return SUITE_SAME;
  snprintf(why, n, "%s", d.why);
  t.scaled = true;
  return surg__value_compare(got, want, &t, &d) ? SUITE_CLOSE : SUITE_DIFFERS;
}

/* --- cases apart --- */

static const struct {
  const char *name, *why;
} apart[] = {
    {"bernoulli", "numbers of one random generator"},
    {"FLOAT_to_BFLOAT16", "before onnx 1.13 the expected result was cut off, not rounded"},
    {"test_adam_multiple", "before onnx 1.13 the model lacks the epsilon of its expected result"},
    {"test_image_decoder_decode_jpeg", "JPEG is not decoded"},
    {"test_image_decoder_decode_webp", "WebP is not decoded"},
};

const char *suite_apart(const char *set) {
  for (size_t i = 0; i < SURG_COUNT(apart); ++i) {
    if (strstr(set, apart[i].name)) return apart[i].why;
  }
  return NULL;
}
