/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX text of models: connects the codec of print.c and parse.c with loading and
 * saving. */
#include <onnxsurg/edit.h>
#include <onnxsurg/onnxsurg.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "io/text/codec.h"

/* The folder of external data: that of the text, if the text is a file. */
static char *folder_of(const char *name) {
  surg__stat st;
  char *dir = NULL, *base = NULL;
  if (surg__os_stat(name, &st) != 0 || !st.regular) return NULL;
  if (surg__os_split(name, &dir, &base) != 0) return NULL;
  free(base);
  return dir;
}

surg_status surg_model_load_text(surg_context *ctx, const char *text, size_t n, const char *name,
                           surg_model **out) {
  surg__buf wire;
  if (!out) return SURG_EUSAGE;
  *out = NULL;
  if (!ctx || (!text && n)) return SURG_EUSAGE;
  if (!name) name = "text";
  surg__buf_init(&wire, ctx);
  surg_status s = surg__text_parse(ctx, text ? text : "", n, name, &wire);
  if (!s) {
    char *dir = folder_of(name);
    surg_load_options options = {.size = sizeof options, .external_root = dir};
    s = surg_model_load_memory(ctx, wire.p ? wire.p : "", wire.n, name, &options, out);
    free(dir);
  }
  surg__buf_free(&wire);
  return s;
}

static surg_status print(surg_model *model, bool strict, const uint64_t *most, char **text,
                         size_t *n) {
  void *bytes;
  size_t size;
  surg__buf out;
  surg_context *ctx = surg_model_context(model);
  surg_status s = surg_model_save_memory(model, &bytes, &size);
  if (s) return s;
  surg__buf_init(&out, ctx);
  const char *name = surg_model_path(model);
  s = most ? surg__text_preview(ctx, bytes, size, *most, name, &out)
           : surg__text_print(ctx, bytes, size, strict, name, &out);
  surg_context_free_bytes(ctx, bytes);
  if (s) {
    surg__buf_free(&out);
    return s;
  }
  *text = out.p; /* never NULL: even an empty model is `<>` */
  *n = out.n;
  return SURG_OK;
}

surg_status surg_model_save_text(surg_model *model, bool strict, char **text, size_t *n) {
  return model && text && n ? print(model, strict, NULL, text, n) : SURG_EUSAGE;
}

surg_status surg_model_preview(surg_model *model, uint64_t elements, char **text, size_t *n) {
  return model && text && n ? print(model, false, &elements, text, n) : SURG_EUSAGE;
}
