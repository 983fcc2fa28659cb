/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as a model. What loads holds together, saves, and the saved model loads; a
 * model that loading did not change saves to the same bytes. Whatever does not load is checked as
 * far as it goes. */
#include <onnxsurg/onnxsurg.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "io/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
  if (!holds) abort();
}

static bool resource(surg_status s) {
  return s == SURG_ELIMIT || s == SURG_ENOMEM;
}

static void check_saved(surg_context *ctx, surg_model *m, uint64_t epoch, const uint8_t *data,
                        size_t size) {
  void *bytes = NULL;
  size_t n = 0;
  surg_status s = surg_save_memory(m, &bytes, &n);
  if (resource(s)) return;
  require(s == SURG_OK);
  if (epoch == 0 && data[0] != '<') require(n == size && memcmp(bytes, data, n) == 0);
  surg_load_options options = {.size = sizeof options, .no_external = true};
  surg_model *again = NULL;
  s = surg_load_memory(ctx, bytes, n, "again", &options, &again);
  require(s == SURG_OK || resource(s));
  surg_model_free(again);
  surg_bytes_free(ctx, bytes);
}

static void finding(void *errors, const surg__finding *f) {
  require(f->code && f->where && f->text);
  *(size_t *)errors += f->severity == SURG_ERROR;
}

/* The whole of `check`: a model that loads under SURG_LOAD_STRICT is no partial one. */
static void check_all(surg_context *ctx, const uint8_t *data, size_t size, surg_status strict) {
  surg_load_options options = {.size = sizeof options, .no_external = true};
  surg_model *m = NULL;
  bool partial = false;
  size_t errors = 0;
  const surg_status s = surg__load_check_file(ctx, "fuzz", data, size, &options, &partial, &m);
  require(s != SURG_EINTERNAL && (s != SURG_OK || m));
  if (strict == SURG_OK && !resource(s)) require(m && !partial);
  if (!m) return;
  const surg_status checked = surg__check_model(m, !partial, SIZE_MAX, finding, &errors);
  require(checked == SURG_OK || resource(checked));
  surg_model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  surg_config config = {.size = sizeof config, .max_memory = 256u << 20, .seed = 1};
  surg_context *ctx = surg_context_new(&config);
  require(ctx != NULL);
  surg_load_options options = {.size = sizeof options, .no_external = true};
  surg_model *m = NULL;
  surg_status s = surg_load_memory(ctx, data, size, "fuzz", &options, &m);
  require((s == SURG_OK) == (m != NULL));
  require(s == SURG_OK || surg_context_error(ctx));
  require(s != SURG_EINTERNAL);
  if (m) {
    require(surg_model_verify(m) == SURG_OK);
    check_saved(ctx, m, surg_model_epoch(m), data, size);
    surg_model_free(m);
  }
  check_all(ctx, data, size, s);
  options.policy = SURG_LOAD_CHECK;
  require(surg_load_memory(ctx, data, size, "fuzz", &options, &m) != SURG_EINTERNAL && !m);
  options.policy = SURG_LOAD_REPAIR;
  require(surg_load_memory(ctx, data, size, "fuzz", &options, &m) != SURG_EINTERNAL);
  surg_model_free(m);
  surg_context_free(ctx);
  return 0;
}
