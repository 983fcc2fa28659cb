/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the built-in target for a name that the user gives: "tensorrt-8.6", "trt8.6", "ort". */
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "target/target.h"

/* Common names of targets and the names they are aliases of. */
static const struct alias {
  const char *said, *name;
} aliases[] = {
    {"ort", "onnxruntime"},
    {"onnx-runtime", "onnxruntime"},
    {"trt", "tensorrt"},
    {"nvidia", "tensorrt"},
    {"ov", "openvino"},
    {"opencv", "opencv-dnn"},
    {"cv", "opencv-dnn"},
    {"cv2", "opencv-dnn"},
    {"rknn", "rknn-toolkit2"},
    {"ncnn", "ncnn-onnx2ncnn"},
    {"pnnx", "ncnn-pnnx"},
    {"barracuda", "unity-barracuda"},
    {"sentis", "unity-sentis"},
    {"coreml", "coreml-onnx"},
    {"tvm", "tvm-relax"},
    {"qnn", "qualcomm-qairt"},
    {"snpe", "qualcomm-qairt"},
    {"onnx-mlir", "onnx-mlir-cpu"},
    {"onnxruntime-web", "onnxruntime-web-wasm"},
    {"ort-web", "onnxruntime-web-wasm"},
    {"webgl", "onnxruntime-web-webgl"},
    {"webgpu", "onnxruntime-web-webgpu"},
    {"webnn", "onnxruntime-web-webnn"},
    {"ort-cuda", "onnxruntime-cuda"},
    {"ort-dml", "onnxruntime-dml"},
    {"directml", "onnxruntime-dml"},
};

/* A name split into stem and version: "tensorrt" and "8.6". The version may be empty. */
typedef struct split {
  char stem[104];
  char version[104];
} split;

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Splits a name at the first "-" that a digit follows, otherwise at a digit:
 * "rknn-toolkit2-2.0.0-beta0", "trt8.6". Converts to lower case and replaces aliases of the
 * stem. */
static void split_name(const char *name, split *s) {
  char low[104];
  size_t n = 0;
  for (; name[n] && n + 1 < sizeof low; n++)
    low[n] = (char)(name[n] >= 'A' && name[n] <= 'Z' ? name[n] - 'A' + 'a' : name[n]);
  low[n] = 0;
  size_t at = n, skip = 0;
  for (size_t i = 1; i < n && at == n; i++)
    if (is_digit(low[i]) && low[i - 1] == '-') at = i, skip = 1;
  /* No dash before a digit: the version starts at a digit that has a dot or two more characters
   * after it; a name such as "cv2" has no version. */
  for (size_t i = 1; i < n && at == n; i++)
    if (is_digit(low[i]) && (strchr(low + i, '.') || i + 3 <= n)) at = i;
  snprintf(s->stem, sizeof s->stem, "%.*s", (int)(at - skip), low);
  snprintf(s->version, sizeof s->version, "%s", low + at);
  for (size_t i = 0; i < SURG_COUNT(aliases); i++)
    if (!strcmp(s->stem, aliases[i].said)) {
      snprintf(s->stem, sizeof s->stem, "%s", aliases[i].name);
      return;
    }
}

/* Compares versions number by number. A version with a suffix ("1.25-dev") precedes the same
 * version without one. */
static int compare_versions(const char *a, const char *b) {
  while (*a || *b) {
    while (*a && !is_digit(*a) && *a != '-') a++;
    while (*b && !is_digit(*b) && *b != '-') b++;
    if (*a == '-' || *b == '-') break;
    const long x = strtol(a, (char **)(uintptr_t)&a, 10), y = strtol(b, (char **)(uintptr_t)&b, 10);
    if (x != y) return x < y ? -1 : 1;
  }
  if (!*a || !*b) return (*b == '-') - (*a == '-');
  const int rest = strcmp(a, b);
  return (rest > 0) - (rest < 0);
}

/* The newest target of the stem that is not newer than the requested version (if any). */
static const surg__target_text *best(const split *want, bool *exact) {
  const surg__target_text *found = NULL;
  split have, best_have = {"", ""};
  *exact = false;
  for (size_t i = 0; i < surg__target_count; i++) {
    split_name(surg__target_texts[i].name, &have);
    if (strcmp(have.stem, want->stem) != 0) continue;
    const int order = want->version[0] ? compare_versions(have.version, want->version) : -1;
    if (order > 0) continue;
    if (order == 0) *exact = true;
    if (!found || compare_versions(have.version, best_have.version) >= 0) {
      found = &surg__target_texts[i];
      best_have = have;
    }
  }
  return found;
}

/* The oldest target of the stem that is newer than the requested version, and of the same major
 * version; NULL: none. A major version is often another program. */
static const surg__target_text *next(const split *want) {
  const surg__target_text *found = NULL;
  split have, found_have = {"", ""};
  for (size_t i = 0; i < surg__target_count; i++) {
    split_name(surg__target_texts[i].name, &have);
    if (strcmp(have.stem, want->stem) != 0) continue;
    if (strtol(have.version, NULL, 10) != strtol(want->version, NULL, 10)) continue;
    if (compare_versions(have.version, want->version) <= 0) continue;
    if (!found || compare_versions(have.version, found_have.version) < 0) {
      found = &surg__target_texts[i];
      found_have = have;
    }
  }
  return found;
}

static const char *name_at(const void *ctx, size_t i) {
  return surg_context_target(ctx, i);
}

static const char *stem_at(const void *stems, size_t i) {
  return ((const split *)stems)[i].stem;
}

/* The target of the context with the most similar name, else the newest one whose name without
 * version is most similar ("tensort" is near "tensorrt", not near "tensorrt-8.6"); or NULL. */
static const char *nearest(surg_context *ctx, const char *name, const split *want) {
  size_t n = surg__target_count;
  while (surg_context_target(ctx, n)) n++;
  const char *near = surg__nearest(name, ctx, n, name_at);
  const size_t words = surg__target_count + SURG_COUNT(aliases);
  split *stems = near ? NULL : surg__calloc(ctx, words, sizeof *stems);
  if (!stems) return near;
  for (size_t i = 0; i < surg__target_count; i++) split_name(surg__target_texts[i].name, &stems[i]);
  for (size_t i = 0; i < SURG_COUNT(aliases); i++)
    snprintf(stems[surg__target_count + i].stem, sizeof stems->stem, "%s", aliases[i].said);
  const char *stem = surg__nearest(want->stem, stems, words, stem_at);
  split newest = {"", ""};
  bool exact;
  if (stem) split_name(stem, &newest);
  newest.version[0] = 0;
  const surg__target_text *found = stem ? best(&newest, &exact) : NULL;
  surg__free(ctx, stems);
  return found ? found->name : NULL;
}

static surg__target *none(surg_context *ctx, const char *name, const split *want) {
  const char *near = NULL;
  split have, oldest = {"", ""};
  for (size_t i = 0; i < surg__target_count; i++) {
    split_name(surg__target_texts[i].name, &have);
    if (strcmp(have.stem, want->stem) != 0) continue;
    if (near && compare_versions(have.version, oldest.version) >= 0) continue;
    near = surg__target_texts[i].name;
    oldest = have;
  }
  if (near) {
    surg__error(ctx, SURG_EUSAGE, name,
                "nothing is known of a version that old; the oldest known is %s", near);
    return NULL;
  }
  near = nearest(ctx, name, want);
  surg__error(ctx, SURG_EUSAGE, name, "there is no such target%s%s%s (onnxsurg targets lists all)",
              near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
  return NULL;
}

static surg__target *read_text(surg_context *ctx, const surg__target_text *text) {
  return surg__target_read(ctx, text->text, strlen(text->text), text->name);
}

/* The target of a version that is not known: the facts of the next lower one, `low`, its own name,
 * and the next newer one beside it. */
static surg__target *between(surg_context *ctx, const char *name, const split *want,
                             const surg__target_text *low) {
  const surg__target_text *high = next(want);
  if (high)
    surg__note(ctx, name, "unknown version; judged by %s and %s", low->name, high->name);
  else
    surg__note(ctx, name,
               "unknown version; judged by %s, the newest known before it: what that rejects is "
               "unknown",
               low->name);
  surg__target *t = read_text(ctx, low);
  if (!t) return NULL;
  split have;
  char full[208];
  split_name(low->name, &have);
  const size_t version = strlen(have.version), all = strlen(low->name);
  snprintf(full, sizeof full, "%.*s%s", (int)(all > version ? all - version : 0), low->name,
           want->version);
  t->between = true;
  t->older = low->name;
  t->name = surg__arena_strn(&t->arena, full, strlen(full));
  t->newer = high ? read_text(ctx, high) : NULL;
  if (t->name && (!high || t->newer)) return t;
  if (!t->name) surg__oom(ctx, NULL);
  surg__target_free(t);
  return NULL;
}

surg__target *surg__target_find(surg_context *ctx, const char *name) {
  for (size_t i = 0; i < surg__target_count; i++)
    if (!strcmp(surg__target_texts[i].name, name)) return read_text(ctx, &surg__target_texts[i]);
  split want;
  bool exact;
  split_name(name, &want);
  const surg__target_text *text = best(&want, &exact);
  if (!text) return none(ctx, name, &want);
  if (want.version[0] && !exact) return between(ctx, name, &want, text);
  if (!want.version[0]) surg__note(ctx, name, "using %s, the newest known version", text->name);
  return read_text(ctx, text);
}
