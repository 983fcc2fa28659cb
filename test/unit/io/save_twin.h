/* SPDX-License-Identifier: Apache-2.0 */
/* One model with something of everything, built with or without an edit, so that a test of saving
 * can compare an edited model with the file that its twin is. */
#ifndef SURG_TEST_SAVE_TWIN_H
#define SURG_TEST_SAVE_TWIN_H

#include <onnxsurg/onnxsurg.h>

#include "../unit.h"
#include "wire_build.h"

extern surg_context *ctx;

void setup(void);
void teardown(void);

typedef struct twin {
  const char *w, *y, *z, *inner, *node, *op, *meta, *fn_input, *branch;
  int64_t ir, opset, axis;
} twin;

extern const twin original;

/* The file of a model, and parts of files. The caller frees them. */
wire model(const twin *t);
wire entry(const char *key, const char *value);
wire import(const char *domain, int64_t version);
wire graph_attr(const char *name, wire g);
wire value_info(const char *name, int dtype, bool odd);

/* Loads and frees the file. */
surg_model *load(wire w);
/* Saves and frees the model; the result must be `want`. */
void expect(surg_model *m, wire want);
/* The value of that name in the main graph. */
surg_value *value(surg_model *m, const char *name);

/* Adds the tests of models and parts that are made, not loaded (save_made.c). */
void add_made_tests(TCase *c);

#endif
