/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as a patch for a small model. A patch is rejected, or it makes a file that
 * loads or is no model; what it makes is in its folder. */
#include <ftw.h>
#include <onnxsurg/context.h>
#include <onnxsurg/diff.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-patch-XXXXXX";
static char model[64], patch[64], made[64];

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> {\n"
    "  a = Add (x, w)\n"
    "  y = Relu (a)\n"
    "}\n";

static void require(int holds) {
  if (!holds) abort();
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw) {
  (void)st, (void)type, (void)ftw;
  return remove(path);
}

static void clear(void) {
  nftw(folder, drop, 8, FTW_PHYS | FTW_DEPTH);
}

/* Writes the model that all patches are for: the bytes that this text makes. */
static void prepare(void) {
  if (*model) return;
  require(mkdtemp(folder) != NULL);
  snprintf(model, sizeof model, "%s/a.onnx", folder);
  snprintf(patch, sizeof patch, "%s/p", folder);
  snprintf(made, sizeof made, "%s/b.onnx", folder);
  surg_context *ctx = surg_context_new(NULL);
  surg_model *m = NULL;
  require(ctx && surg_model_load_text(ctx, text, sizeof text - 1, "a", &m) == SURG_OK);
  require(surg_model_save(m, model, NULL) == SURG_OK);
  surg_model_free(m);
  surg_context_free(ctx);
  atexit(clear);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const surg_config config = {.size = sizeof config, .max_memory = 512u << 20, .seed = 1};
  surg_model *a = NULL, *b = NULL;
  prepare();
  FILE *f = fopen(patch, "wb");
  require(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
  surg_context *ctx = surg_context_new(&config);
  require(ctx && surg_model_load(ctx, model, NULL, &a) == SURG_OK);
  const surg_status s = surg_patch_apply(a, patch, made);
  if (s == SURG_OK && surg_model_load(ctx, made, NULL, &b) == SURG_OK) surg_model_free(b);
  require((s == SURG_OK) == (access(made, F_OK) == 0));
  unlink(made);
  surg_model_free(a);
  surg_context_free(ctx);
  return 0;
}
