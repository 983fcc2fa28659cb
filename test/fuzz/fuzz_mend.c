/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as a model that may be invalid, loaded leniently and given to `mend` without
 * and with consent. What `mend` finishes verifies, and is saved as a file that a strict load
 * accepts. */
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "pass/pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define require(condition)                                                      \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                  \
    }                                                                           \
  } while (0)

static bool resource(surg_status s) {
  return s == SURG_ELIMIT || s == SURG_ENOMEM;
}

static void check_result(surg_context *ctx, surg_model *m) {
  void *bytes = NULL;
  size_t n = 0;
  require(surg_model_verify(m) == SURG_OK);
  require(surg_model_open_findings(m) == 0);
  surg_status s = surg_model_save_memory(m, &bytes, &n);
  if (resource(s)) return;
  require(s == SURG_OK);
  surg_load_options options = {.size = sizeof options, .no_external = true};
  surg_model *again = NULL;
  s = surg_model_load_memory(ctx, bytes, n, "again", &options, &again);
  if (s != SURG_OK) fprintf(stderr, "%s\n", surg_context_error(ctx));
  require(s == SURG_OK || resource(s));
  surg_model_free(again);
  surg_context_free_bytes(ctx, bytes);
}

static void mend(surg_context *ctx, surg_model *m, const char *text, surg_exactness allow) {
  surg__pipeline *p = NULL;
  const surg__run_options run = {.verify_each = true, .has_allow = true, .allow = allow};
  require(surg__pipeline_parse(ctx, text, "fuzz", &p) == SURG_OK);
  const surg_status s = surg__run(&m, p, &run, NULL);
  require(s != SURG_EINTERNAL && s != SURG_EERASED && s != SURG_EUSAGE);
  if (s == SURG_OK) check_result(ctx, m);
  surg_model_free(m);
  surg__pipeline_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const texts[] = {"mend", "mend{interface}"};
  surg_config config = {.size = sizeof config, .max_memory = 256u << 20, .seed = 1};
  surg_context *ctx = surg_context_new(&config);
  require(ctx != NULL);
  const surg_load_options options = {
      .size = sizeof options, .policy = SURG_LOAD_LENIENT, .no_external = true};
  surg_registry *r = surg__registry(ctx);
  require(r && surg__register_builtins(r) == SURG_OK);
  for (unsigned i = 0; i < 4; i++) {
    surg_model *m = NULL;
    if (surg_model_load_memory(ctx, data, size, "fuzz", &options, &m) != SURG_OK) break;
    mend(ctx, m, texts[i & 1], i & 2 ? SURG_LOSSY : SURG_EXACT);
    surg_context_clear_error(ctx);
  }
  surg_context_free(ctx);
  return 0;
}
