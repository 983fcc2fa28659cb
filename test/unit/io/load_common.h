/* SPDX-License-Identifier: Apache-2.0 */
/* Loading models from wire bytes and looking at what was said. */
#ifndef SURG_TEST_LOAD_COMMON_H
#define SURG_TEST_LOAD_COMMON_H

#include <check.h>
#include <stdio.h>

#include "ir/ir.h"
#include "model_build.h"

static surg_context *ctx;
static char lines[1 << 16];
static unsigned errors, warnings, notes;
static surg_load_options options;

static void remember(void *user, surg_severity severity, const char *line) {
  (void)user;
  if (severity == SURG_ERROR)
    errors++;
  else if (severity == SURG_WARNING)
    warnings++;
  else
    notes++;
  size_t n = strlen(lines);
  snprintf(lines + n, sizeof lines - n, "%s\n", line);
}

static void forget(void) {
  surg_context_clear_error(ctx);
  ctx->warnings = 0;
  lines[0] = 0;
  errors = warnings = notes = 0;
}

static void setup(void) {
  surg_config config = {.size = sizeof config, .diag = remember};
  ctx = surg_context_new(&config);
  options = (surg_load_options){.size = sizeof options};
  forget();
}

static void teardown(void) {
  surg_context_free(ctx); /* asserts that nothing is left */
}

/* Loads a model and frees its bytes. */
static inline surg_model *load_as(wire w, surg_status want) {
  surg_model *m = NULL;
  forget();
  surg_status got = surg_model_load_memory(ctx, w.p, w.n, "m", &options, &m);
  free(w.p);
  ck_assert_msg(got == want, "%s instead of %s\n%s", surg_status_name(got), surg_status_name(want),
                lines);
  ck_assert_int_eq(m != NULL, got == SURG_OK && options.policy != SURG_LOAD_CHECK);
  if (m) ck_assert_int_eq(surg_model_verify(m), SURG_OK);
  return m;
}

static inline void said(const char *text) {
  ck_assert_msg(strstr(lines, text) != NULL, "no \"%s\" in:\n%s", text, lines);
}

static inline void load_ok(wire w) {
  surg_model_free(load_as(w, SURG_OK));
}

/* The model is refused, in one line that holds `text`. */
static inline void refused(wire w, const char *text) {
  ck_assert_ptr_null(load_as(w, SURG_EINVALID));
  ck_assert_msg(errors == 1, "%u errors:\n%s", errors, lines);
  said(text);
}

static inline int run_tests(Suite *s) {
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}

#endif
