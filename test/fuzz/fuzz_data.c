/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as a file of values or weights. The first byte chooses what the rest is: a
 * value (.npy or a message), values (.npz), weights (.npz, .safetensors), adapters, or a manifest of
 * parts. A value that is read is written and read again with the same bytes. A model that got
 * weights verifies, is saved and loads; one that did not is unchanged. */
#include <ftw.h>
#include <onnxsurg/evaluate.h>
#include <onnxsurg/split.h>
#include <onnxsurg/weights.h>
#include <unistd.h>

#include "fuzz.h"
#include "run/run.h"

static char folder[] = "/tmp/fuzz-data-XXXXXX";

static const char *path_of(const char *name) {
  static char path[100];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

/* A model with weights; the first one is large enough to become a reference to a file. */
static char weights[2048];
static size_t weights_size;

static void make_weights(void) {
  size_t n = (size_t)snprintf(
      weights, sizeof weights,
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2, 16] x) => (float[2, 16] y, float16[3] z, int64[2] q, bool[4] r, float[0] s)\n"
      "<float16[3] h = {1, 2, 3}, int64[2] i = {4, 5}, float[0] e = {}, bool[4] b = {1, 0, 1, 0},\n"
      " float[16, 16] aw = {0");
  for (int i = 1; i < 256; i++)
    n += (size_t)snprintf(weights + n, sizeof weights - n, ", %d", i % 7);
  n += (size_t)snprintf(weights + n, sizeof weights - n,
                        "}> {\n  y = MatMul (x, aw)  z = Neg (h)  q = Neg (i)  r = Not (b)\n"
                        "  s = Neg (e)\n}\n");
  require(n < sizeof weights);
  weights_size = n;
}

static const char part[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[N] x) => (float[N] y) { y = Neg (x) }\n";

static const char rest[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[N] y) => (float[N] z) { z = Abs (y) }\n";

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw) {
  (void)st, (void)type, (void)ftw;
  return remove(path);
}

static void clear(void) {
  nftw(folder, drop, 8, FTW_PHYS | FTW_DEPTH);
}

static void put(const char *name, const void *bytes, size_t n) {
  FILE *f = fopen(path_of(name), "wb");
  require(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

static void prepare(void) {
  static bool done;
  if (done) return;
  done = true;
  require(mkdtemp(folder) != NULL);
  atexit(clear);
  put("part.onnxtxt", part, sizeof part - 1);
  put("rest.onnxtxt", rest, sizeof rest - 1);
  make_weights();
}

static void has_reason(surg_context *ctx, surg_status s) {
  require(s != SURG_EINTERNAL && s != SURG_EERASED);
  require(s == SURG_OK || surg_context_error(ctx));
}

/* --- values --- */

/* Writes a value in a format and reads it: the same bytes are written then. */
static void again(surg_context *ctx, const surg_array *a, int32_t format) {
  static const char *const names[] = {"first", "second"};
  uint8_t *bytes[2] = {0};
  size_t n[2] = {0};
  surg_array *b = NULL;
  surg_status s = surg_array_save(a, path_of(names[0]), format, "v");
  require(s == SURG_OK || s == SURG_EUNSUPPORTED || fuzz_resource(s));
  if (s != SURG_OK || surg_array_kind(a) != SURG_TYPE_TENSOR) return;
  s = surg_array_load(ctx, path_of(names[0]), NULL, &b);
  require(s == SURG_OK || fuzz_resource(s));
  if (s == SURG_OK) s = surg_array_save(b, path_of(names[1]), format, "v");
  require(s == SURG_OK || fuzz_resource(s));
  for (int i = 0; i < 2 && s == SURG_OK; i++) {
    s = surg__file_read(ctx, path_of(names[i]), &bytes[i], &n[i]);
    require(s == SURG_OK || fuzz_resource(s));
  }
  require(s != SURG_OK || (n[0] == n[1] && memcmp(bytes[0], bytes[1], n[0]) == 0));
  for (int i = 0; i < 2; i++) surg__free(ctx, bytes[i]);
  surg_array_free(b);
}

static void value(surg_context *ctx) {
  surg_array *a = NULL;
  const surg_status s = surg_array_load(ctx, path_of("value"), NULL, &a);
  has_reason(ctx, s);
  require((s == SURG_OK) == (a != NULL));
  if (!a) return;
  char *text = NULL;
  require(surg_array_text(a, 10, &text) != SURG_EINTERNAL);
  surg_context_free_bytes(ctx, text);
  again(ctx, a, SURG_ARRAY_NPY);
  again(ctx, a, SURG_ARRAY_PB);
  surg_array_free(a);
}

static surg_status member(void *user, const char *name, const surg__array *a) {
  (void)user;
  require(name && a->dtype != SURG_UNDEFINED);
  return SURG_OK;
}

static void values(surg_context *ctx) {
  has_reason(ctx, surg__npz_each(ctx, path_of("values.npz"), member, NULL));
}

/* --- weights --- */

static uint8_t *saved(surg_context *ctx, surg_model *m, size_t *n) {
  void *bytes = NULL;
  const surg_status s = surg_model_save_memory(m, &bytes, n);
  (void)ctx;
  require(s == SURG_OK || s == SURG_EIO || fuzz_resource(s));
  return s == SURG_OK ? bytes : NULL;
}

static surg_status change(surg_model **m, const char *path, uint8_t how, bool adapters) {
  const surg_weights_options o = {
      .size = sizeof o, .skip = how & 1, .cast = how & 2, .link = how & 4};
  const surg_lora_options lora = {.size = sizeof lora, .skip = how & 1, .lift = how & 2,
                                  .alpha = how & 4 ? 2 : 0};
  return adapters ? surg_weights_lora(m, path, &lora, NULL)
                  : surg_weights_import(*m, path, &o, NULL);
}

static void import(surg_context *ctx, const char *name, uint8_t how, bool adapters) {
  surg_model *m = fuzz_model(ctx, weights, weights_size);
  if (!m) fprintf(stderr, "%s\n", surg_context_error(ctx));
  require(m != NULL);
  size_t n = 0, n_after = 0;
  uint8_t *before = saved(ctx, m, &n);
  const surg_status s = change(&m, path_of(name), how, adapters);
  has_reason(ctx, s);
  require(surg_model_status(m) != SURG_OK || surg_model_verify(m) == SURG_OK);
  uint8_t *after = surg_model_status(m) == SURG_OK ? saved(ctx, m, &n_after) : NULL;
  if (s != SURG_OK && before && after) require(n == n_after && memcmp(before, after, n) == 0);
  if (s == SURG_OK && after) {
    const surg_load_options options = {.size = sizeof options, .external_root = folder};
    surg_model *back = NULL;
    const surg_status loaded =
        surg_model_load_memory(ctx, after, n_after, "after", &options, &back);
    if (loaded != SURG_OK) fprintf(stderr, "%s\n", surg_context_error(ctx));
    require(loaded == SURG_OK || fuzz_resource(loaded));
    surg_model_free(back);
  }
  surg_context_free_bytes(ctx, before);
  surg_context_free_bytes(ctx, after);
  surg_model_free(m);
}

/* --- parts --- */

static void parts(surg_context *ctx) {
  surg_manifest *x = NULL;
  surg_model *whole = NULL;
  surg_status s = surg_manifest_load(ctx, path_of("parts.json"), NULL, &x);
  has_reason(ctx, s);
  require((s == SURG_OK) == (x != NULL));
  if (!x) return;
  s = surg_manifest_merge(x, &whole);
  has_reason(ctx, s);
  require((s == SURG_OK) == (whole != NULL));
  if (whole) fuzz_saved(ctx, whole);
  surg_model_free(whole);
  surg_manifest_free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const names[] = {"value", "values.npz", "w.npz", "w.safetensors",
                                      "w.safetensors", "parts.json"};
  if (size == 0) return 0;
  prepare();
  const unsigned kind = data[0] % SURG_COUNT(names);
  const uint8_t how = data[0] / SURG_COUNT(names);
  surg_context *ctx = fuzz_shared_context();
  put(names[kind], data + 1, size - 1);
  switch (kind) {
    case 0: value(ctx); break;
    case 1: values(ctx); break;
    case 5: parts(ctx); break;
    default: import(ctx, names[kind], how, kind == 4);
  }
  return 0;
}
