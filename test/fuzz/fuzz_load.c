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
  surg_status s = surg_model_save_memory(m, &bytes, &n);
  if (resource(s)) return;
  require(s == SURG_OK);
  /* Not text, and no field has a form that ONNX does not define: of such a file the model has a
   * plain copy. */
  if (epoch == 0 && !m->source->elsewhere)
    require(n == size && memcmp(bytes, data, n) == 0);
  surg_load_options options = {.size = sizeof options, .no_external = true};
  surg_model *again = NULL;
  if (epoch == 0) options.policy = SURG_LOAD_LENIENT; /* it may be invalid as it was */
  s = surg_model_load_memory(ctx, bytes, n, "again", &options, &again);
  require(s == SURG_OK || resource(s));
  surg_model_free(again);
  surg_context_free_bytes(ctx, bytes);
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

/* A lenient load: the model and its copy hold together, it is written as it was read, and once
 * every finding that has a reading is accepted and none is open, a strict load takes what is
 * written. */
static void check_lenient(surg_context *ctx, const uint8_t *data, size_t size, surg_status strict) {
  surg_load_options options = {
      .size = sizeof options, .policy = SURG_LOAD_LENIENT, .no_external = true};
  surg_model *m = NULL;
  const surg_status s = surg_model_load_memory(ctx, data, size, "fuzz", &options, &m);
  require(s != SURG_EINTERNAL && (s == SURG_OK) == (m != NULL));
  if (strict == SURG_OK) require(resource(s) || (m && surg_model_open_findings(m) == 0));
  if (!m) return;
  surg_model *copy = surg_model_clone(m);
  require(surg_model_verify(m) == SURG_OK);
  if (copy) {
    const surg_status inferred = surg_model_infer(copy);
    require(inferred == SURG_OK || resource(inferred));
    require(resource(inferred) || surg_model_verify(copy) == SURG_OK);
    if (inferred == SURG_OK) check_saved(ctx, copy, 0, data, size);
  }
  surg_model_free(copy);
  for (size_t i = 0; i < surg_model_finding_count(m); i++) {
    surg_finding f = {.size = sizeof f};
    require(surg_model_finding(m, i, &f) && f.code && f.where && f.text && f.cure);
    const surg_status a = surg_model_accept_finding(m, i);
    require(resource(a) || a == (f.reading || f.cured ? SURG_OK : SURG_EUNSUPPORTED));
  }
  if (surg_model_status(m) == SURG_OK) require(surg_model_verify(m) == SURG_OK);
  if (surg_model_status(m) == SURG_OK && !surg_model_open_findings(m))
    check_saved(ctx, m, 1, data, size);
  surg_model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  surg_config config = {.size = sizeof config, .max_memory = 256u << 20, .seed = 1};
  surg_context *ctx = surg_context_new(&config);
  require(ctx != NULL);
  surg_load_options options = {.size = sizeof options, .no_external = true};
  surg_model *m = NULL;
  surg_status s = surg_model_load_memory(ctx, data, size, "fuzz", &options, &m);
  require((s == SURG_OK) == (m != NULL));
  require(s == SURG_OK || surg_context_error(ctx));
  require(s != SURG_EINTERNAL);
  if (m) {
    require(surg_model_verify(m) == SURG_OK);
    check_saved(ctx, m, surg_model_epoch(m), data, size);
    surg_model_free(m);
  }
  check_all(ctx, data, size, s);
  check_lenient(ctx, data, size, s);
  options.policy = SURG_LOAD_CHECK;
  require(surg_model_load_memory(ctx, data, size, "fuzz", &options, &m) != SURG_EINTERNAL && !m);
  options.policy = SURG_LOAD_REPAIR;
  require(surg_model_load_memory(ctx, data, size, "fuzz", &options, &m) != SURG_EINTERNAL);
  surg_model_free(m);
  surg_context_free(ctx);
  return 0;
}
