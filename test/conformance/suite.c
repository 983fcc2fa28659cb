/* SPDX-License-Identifier: Apache-2.0 */
/* Walking, reading and comparing the data of ONNX's backend test suite. */
#include "suite.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "eval/number.h"

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

static void *read_all(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  char *p = NULL;
  size_t have = 0, room = 0;
  for (;;) {
    if (have == room) {
      room = room ? room * 2 : 1u << 16;
      char *grown = realloc(p, room);
      if (!grown) abort();
      p = grown;
    }
    size_t got = fread(p + have, 1, room - have, f);
    if (got == 0) break;
    have += got;
  }
  fclose(f);
  *n = have;
  return p;
}

surg_status suite_read(surg_context *ctx, const char *path, const surg_type *type,
                       surg__array *out) {
  size_t n;
  void *bytes = read_all(path, &n);
  if (!bytes) return SURG_ENOTFOUND;
  surg_status s = surg__value_from_message(ctx, path, bytes, n, type, out);
  free(bytes);
  if (s == SURG_OK && out->dtype == SURG_UINT16 && surg_type_dtype(type) == SURG_BFLOAT16) {
    out->dtype = SURG_BFLOAT16;
  }
  return s;
}

/* --- comparing --- */

static double largest_of(const surg__array *a) {
  double largest = 1;
  for (uint64_t i = 0; surg__dtype_is_float(a->dtype) && i < a->count; ++i) {
    double v = fabs(surg__load_f64(a->dtype, a->data, i));
    if (v > largest && isfinite(v)) largest = v;
  }
  return largest;
}

static suite_match same_float(double got, double want, double largest) {
  if (isnan(got) || isnan(want)) return isnan(got) && isnan(want) ? SUITE_SAME : SUITE_DIFFERS;
  if (isinf(got) || isinf(want)) return got == want ? SUITE_SAME : SUITE_DIFFERS;
  double apart = fabs(got - want), allowed = 1e-3 * fabs(want);
  if (apart <= allowed + 1e-7) return SUITE_SAME;
  return apart <= allowed + 1e-7 * largest ? SUITE_CLOSE : SUITE_DIFFERS;
}

static bool is_complex(int dtype) {
  return dtype == SURG_COMPLEX64 || dtype == SURG_COMPLEX128;
}

static suite_match same_complex(int dtype, const void *x, const void *y, uint64_t i) {
  suite_match m = SUITE_SAME;
  int part = dtype == SURG_COMPLEX64 ? SURG_FLOAT : SURG_DOUBLE;
  for (uint64_t k = 2 * i; k < 2 * i + 2; ++k) {
    suite_match one = same_float(surg__load_f64(part, x, k), surg__load_f64(part, y, k), 1);
    if (one < m) m = one;
  }
  return m;
}

static suite_match same_element(const surg__array *got, const surg__array *want, uint64_t i,
                                double largest) {
  int dtype = got->dtype;
  const void *x = got->data, *y = want->data;
  if (surg__dtype_is_float(dtype)) {
    return same_float(surg__load_f64(dtype, x, i), surg__load_f64(dtype, y, i), largest);
  }
  if (is_complex(dtype)) return same_complex(dtype, x, y, i);
  if (dtype == SURG_STRING) {
    surg_str s = ((const surg_str *)x)[i], t = ((const surg_str *)y)[i];
    return s.n == t.n && (s.n == 0 || memcmp(s.p, t.p, s.n) == 0) ? SUITE_SAME : SUITE_DIFFERS;
  }
  size_t size = surg__dtype_unpacked(dtype);
  bool same = memcmp((const char *)x + i * size, (const char *)y + i * size, size) == 0;
  return same ? SUITE_SAME : SUITE_DIFFERS;
}

static void tell(const surg__array *got, const surg__array *want, uint64_t i, char *why, size_t n) {
  unsigned long long at = i;
  if (surg__dtype_is_float(got->dtype)) {
    snprintf(why, n, "element %llu is %.9g, not %.9g", at, surg__load_f64(got->dtype, got->data, i),
             surg__load_f64(want->dtype, want->data, i));
  } else if (got->dtype == SURG_STRING) {
    surg_str s = ((const surg_str *)got->data)[i], t = ((const surg_str *)want->data)[i];
    snprintf(why, n, "element %llu is '%.*s', not '%.*s'", at, (int)s.n, s.p, (int)t.n, t.p);
  } else if (is_complex(got->dtype)) {
    snprintf(why, n, "element %llu differs", at);
  } else {
    snprintf(why, n, "element %llu is %lld, not %lld", at,
             (long long)surg__load_int(got->dtype, got->data, i),
             (long long)surg__load_int(want->dtype, want->data, i));
  }
}

static suite_match same_tensor(const surg__array *got, const surg__array *want, char *why,
                               size_t n) {
  suite_match all = SUITE_SAME;
  if (got->rank != want->rank) {
    snprintf(why, n, "rank %u, not %u", got->rank, want->rank);
    return SUITE_DIFFERS;
  }
  for (uint32_t d = 0; d < got->rank; ++d) {
    if (got->dims[d] == want->dims[d]) continue;
    snprintf(why, n, "dim %u is %lld, not %lld", d, (long long)got->dims[d],
             (long long)want->dims[d]);
    return SUITE_DIFFERS;
  }
  double largest = largest_of(want);
  for (uint64_t i = 0; i < got->count; ++i) {
    suite_match one = same_element(got, want, i, largest);
    if (one >= all) continue;
    all = one;
    tell(got, want, i, why, n);
    if (all == SUITE_DIFFERS) break;
  }
  return all;
}

suite_match suite_compare(const surg__array *got, const surg__array *want, char *why, size_t n) {
  suite_match all = SUITE_SAME;
  if (got->dtype != want->dtype) {
    snprintf(why, n, "type %d, not %d", got->dtype, want->dtype);
    return SUITE_DIFFERS;
  }
  if (!surg__array_is_list(got)) return same_tensor(got, want, why, n);
  if (got->count != want->count) {
    snprintf(why, n, "%llu items, not %llu", (unsigned long long)got->count,
             (unsigned long long)want->count);
    return SUITE_DIFFERS;
  }
  for (uint64_t i = 0; i < got->count && all != SUITE_DIFFERS; ++i) {
    suite_match one =
        suite_compare(&surg__list_of(got)->items[i], &surg__list_of(want)->items[i], why, n);
    if (one < all) all = one;
  }
  return all;
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
